"""Words for a run and for the results of its cases."""

from __future__ import annotations

from postprocess.records.run import RESULTS, Run

RESULT_WORDS = dict(zip(RESULTS, ("passed", "skipped", "failed", "missing"), strict=True))
"""Words for people, by the result of a manifest's case."""


def run_name(run: Run) -> str:
    """The run's name."""
    return str(run.manifest.get("run") or run.path.name)
