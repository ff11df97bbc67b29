"""How files of a run lie on disk."""

from __future__ import annotations

import os
from pathlib import Path

RECORD = ".jsonl"
"""How the name of a record's file ends: it is JSON Lines."""

DEEPEST = 4
"""The largest number of parts of a file's path in an archive, the name of its run included."""


def run_files(run: Path) -> dict[str, Path]:
    """All files of a run's folder, by their names in it, sorted. Links to files and folders elsewhere are followed."""
    found: dict[str, Path] = {}
    for place, folders, names in os.walk(run, followlinks=True):
        inside = Path(place).relative_to(run)
        if len(inside.parts) >= DEEPEST - 2:
            folders.clear()  # no run has more: a link leads in a circle, or out of the archive
        found |= {str(inside / name): run / inside / name for name in names}
    return {name: path for name, path in sorted(found.items()) if path.is_file()}


def record_files(folder: Path) -> list[Path]:
    """The record files of a folder in the order of their names; none where there is no such folder."""
    return sorted(folder.glob(f"*{RECORD}"))


def record_name(path: Path) -> str:
    """A record's path inside a run folder, as the manifest's cases name it."""
    return f"records/{path.name}"
