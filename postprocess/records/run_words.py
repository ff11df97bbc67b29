"""Words for a run and for the results of its cases."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from postprocess.drawing.text import clean, plural
from postprocess.records.header import Header
from postprocess.records.record import RecordFile
from postprocess.records.run import RESULTS, Run, cases_of

Reason = TypeVar("Reason", bound=Hashable)

RESULT_WORDS = dict(zip(RESULTS, ("passed", "skipped", "failed", "missing"), strict=True))
"""Words for people, by the result of a manifest's case."""


def run_name(run: Run) -> str:
    """The run's name."""
    return str(run.manifest.get("run") or run.path.name)


def ran_words(run: Run) -> str:
    """What a run measured, where, and how often: ``smoke, 2 ranks, 1 node, wire:2gbit, one launch each``."""
    headers = [record.header for record in run.records]
    launches: dict[str, int] = {}
    for case in cases_of(run.manifest):
        name, repeat = str(case.get("benchmark")), case.get("repeat")
        launches[name] = max(launches.get(name, 1), repeat if isinstance(repeat, int) else 1)
    fewest, most = min(launches.values(), default=1), max(launches.values(), default=1)
    several = f"{fewest} to {most} launches" if fewest < most else plural(most, "launch")
    parts = [
        str(run.manifest.get("suite") or ""),
        _each(headers, "ranks", "rank"),
        _each(headers, "nodes", "node"),
        ", ".join(dict.fromkeys(str(header.network) for header in headers)),
        f"{several if most > 1 else 'one launch'} each",
    ]
    return clean(", ".join(filter(None, parts)))


def _each(headers: Iterable[Header], name: str, noun: str) -> str:
    """The numbers of a thing that records have: ``2 and 4 ranks``."""
    *others, last = sorted({int(getattr(header, name)) for header in headers} - {0}) or [0]
    number = plural(last, noun)
    return f"{', '.join(map(str, others))} and {number}" if others else number * bool(last)


def provenance_words(run: Run, records: Iterable[RecordFile]) -> str:
    """The origin of a picture's numbers in a line: run, system, date, toolchains, placement, compilers, record."""
    every = list(records)
    headers, names = [record.header for record in every], list(dict.fromkeys(record.name for record in every))
    started = str(run.manifest.get("started_utc") or min((h.started_utc for h in headers), default=""))
    facts = {
        "run": [run_name(run)],
        "system": [str(run.manifest.get("system") or "")],
        "": [started],
        "toolchain": [f"{h.toolchain} ({h.provider})" for h in headers],
        "on": [f"{h.ranks} ranks of {h.threads_per_rank} threads, {plural(h.nodes, 'node')}" for h in headers],
        "built by": [str(h.build.get("compiler") or "") for h in headers],
        "record": names if len(names) == 1 else [],
    }
    known = ((name, ", ".join(dict.fromkeys(text for text in texts if text))) for name, texts in facts.items())
    return clean("; ".join(f"{name} {text}".strip() for name, text in known if text))


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
