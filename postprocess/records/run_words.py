"""A run and what became of its cases, as people read it."""

from __future__ import annotations

from postprocess.records.run import RESULTS, Run

RESULT_WORDS = dict(zip(RESULTS, ("passed", "skipped", "failed", "missing"), strict=True))
"""The results of a manifest's case."""


def run_name(run: Run) -> str:
    """The run's name."""
    return str(run.manifest.get("run") or run.path.name)
