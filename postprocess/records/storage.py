"""How files of a run lie on disk. Records are JSON Lines, or the same packed by gzip (`.jsonl.gz`) in public copies.

A record keeps its name, ``records/x.jsonl``, whichever of the two its file is.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

PLAIN, PACKED = ".jsonl", ".jsonl.gz"
LARGEST_BYTES = 2 << 30
"""The largest size of a packed record, unpacked, in bytes. A larger file is no record."""

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
    return sorted([*folder.glob(f"*{PLAIN}"), *folder.glob(f"*{PACKED}")], key=record_name)


def record_name(path: Path) -> str:
    """A record's path inside a run folder, as the manifest's cases name it."""
    return f"records/{path.name.removesuffix('.gz')}"


def record_file(path: Path) -> Path:
    """The file of a record: `path`, or the packed file beside it where only that exists."""
    packed = path.with_name(f"{path.name}.gz")
    return packed if path.name.endswith(PLAIN) and packed.is_file() and not path.is_file() else path


def read_record(path: Path) -> bytes:
    """All lines of a record file. Raises OSError, also where a packed one is damaged or too large."""
    if not path.name.endswith(PACKED):
        return path.read_bytes()
    return _unpacked(path, LARGEST_BYTES)


def first_line(path: Path) -> bytes:
    """The first line of a record file, without the others. Raises OSError."""
    if not path.name.endswith(PACKED):
        with path.open("rb") as stream:
            return stream.readline()
    try:
        with gzip.open(path) as stream:
            return stream.readline(LARGEST_BYTES)
    except (EOFError, zlib.error) as error:
        raise _damaged(error) from error


def packed(lines: bytes) -> bytes:
    """The lines, packed. The same lines always give the same bytes."""
    return gzip.compress(lines, compresslevel=9, mtime=0)


def _unpacked(path: Path, largest: int) -> bytes:
    try:
        with gzip.open(path) as stream:
            lines = stream.read(largest + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(error) from error
    if len(lines) > largest:
        raise OSError(0, f"it unpacks to more than {largest} bytes")
    return lines


def _damaged(error: Exception) -> OSError:
    return OSError(0, f"its gzip is damaged ({error})")
