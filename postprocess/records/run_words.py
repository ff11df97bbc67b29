"""Words for a run and for the results of its cases."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from postprocess.drawing.text import plural
from postprocess.records.run import RESULTS, Run

Reason = TypeVar("Reason", bound=Hashable)

RESULT_WORDS = dict(zip(RESULTS, ("passed", "skipped", "failed", "missing"), strict=True))
"""Words for people, by the result of a manifest's case."""


def run_name(run: Run) -> str:
    """The run's name."""
    return str(run.manifest.get("run") or run.path.name)


def together(named: Iterable[tuple[Reason, str]], noun: str) -> Iterator[tuple[str, Reason]]:
    """All that has the same reason, in words: ``3 cases, from A to C, each``; where only one has it, its name.

    named: the reason and the name of each thing.  noun: what the things are.  Yields the words with the reason, in the
    order in which the reasons first occur.
    """
    by_reason: dict[Reason, list[str]] = {}
    for reason, name in named:
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        alone = len(names) == 1
        yield names[0] if alone else f"{plural(len(names), noun)}, from {names[0]} to {names[-1]}, each", reason
