"""Releases of a library side by side: what each case was with every one of them, and where it changed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from postprocess.drawing.matrix import wrapped
from postprocess.drawing.text import plural, short
from postprocess.records.header import Header, device_of
from postprocess.statistics.limits import Limits
from postprocess.verdicts.acceptance import finite
from postprocess.verdicts.compare import FASTER, METRICS, SLOWER, UNKNOWN
from postprocess.verdicts.compare_text import (
    MOST_MARKDOWN,
    POINT_AXES,
    Pairs,
    effect_words,
    interval_words,
    markdown_table,
    names_of,
    sides_of,
    target_words,
    value_words,
)
from postprocess.verdicts.verdict_page import Plot, Row, View, plot_of

OwnChanges: TypeAlias = Mapping[str, Sequence[str]]
"""What each release changed by itself, as far as it tells, by its name."""


@dataclass(frozen=True)
class Failure:
    """A case that failed with a release: why, and whether in every launch."""

    reason: str
    always: bool


Failures: TypeAlias = Mapping[str, Mapping[str, Failure]]
"""By the name that a case has with any release, and by the release."""

KEY = "[]: 95 % interval; (): against the last release before it that has the case; ?: whether it differs is not told"
TO_CONFIRM = "`./campaign judge` confirms a step, `./campaign reproduce --standalone` shows it in a file."
MOST_DRAWN = 40
"""The most cases that a page draws."""


@dataclass(frozen=True)
class Step:
    """A case with a release, against the one before it.  row: of `Comparison.rows`."""

    before: str
    after: str
    row: Mapping[Any, Any]

    @property
    def changed(self) -> bool:
        return self.row["verdict"] in (SLOWER, FASTER)

    @property
    def size(self) -> float:
        """How often it is what counts, so that steps of all metrics can be put in order."""
        return METRICS[self.row["metric"]].times_least(self.row["effect"], Limits())

    @property
    def mark(self) -> str:
        """What stands after a value."""
        if self.changed:
            effect = effect_words(self.row["metric"], self.row["effect"])
            return f" ({self.row['verdict']}, {effect} {interval_words(self.row)})"
        return " ?" if self.row["verdict"] == UNKNOWN else ""


@dataclass(frozen=True)
class Value:
    """What a case was with a release, and its 95 % interval, whose ends are NaN where it is not known."""

    metric: str
    value: float
    low: float
    high: float

    @classmethod
    def of(cls, row: Mapping[Any, Any], side: str) -> "Value":
        """The value of a side, `a` or `b`, of a row of `Comparison.rows`."""
        named = (f"value_{side}", *(f"value_{side}_ci95_{end}" for end in ("low", "high")))
        return cls(row["metric"], *(row[name] for name in named))

    @property
    def words(self) -> str:
        """The value with its interval."""
        value, *ends = (value_words(self.metric, one) for one in (self.value, self.low, self.high))
        return f"{value} [{ends[0]}, {ends[1]}]" if all(ends) else value


@dataclass(frozen=True)
class Case:
    """A case, or the map of one, by one metric.  names: network, configuration, collective or benchmark, the values of
    points, and the metric.  values: by release.  steps: by the release after it."""

    names: tuple[str, ...]
    metric: str
    values: dict[str, Value] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)

    @property
    def changes(self) -> list[Step]:
        return [step for step in self.steps.values() if step.changed]


def cases_of(pairs: Pairs) -> list[Case]:
    """The cases of the comparisons of releases, those with the largest steps first."""
    found: dict[tuple[str, ...], Case] = {}
    for (before, after), comparison in pairs.items():
        axes = [axis for axis in POINT_AXES if axis.name in comparison.rows]
        for row in comparison.rows.to_dict("records"):
            _toolchain, *names = names_of(row)
            key = (*names, " ".join(filter(None, target_words(row, axes))), METRICS[row["metric"]].title)
            case = found.setdefault(key, Case(key, row["metric"]))
            case.values.setdefault(before, Value.of(row, "a"))
            case.values[after] = Value.of(row, "b")
            case.steps[after] = Step(before, after, row)
    return sorted(found.values(), key=lambda case: -max((step.size for step in case.changes), default=0.0))


def own_changes(before: Mapping[str, Header], after: Mapping[str, Header]) -> list[str]:
    """What a release tells of itself that the one before it told otherwise: its device, the MPI standard, and the
    values of its control variables in the same cases.

    before, after: a header of each case, by the name that the case has with any release.
    """
    old, new = ({case: _told(header) for case, header in of_one.items()} for of_one in (before, after))
    names = {(case, name) for case in old.keys() & new.keys() for name in old[case].keys() | new[case].keys()}
    changes = {
        f"{name} {old[case].get(name, 'none')} -> {new[case].get(name, 'none')}"
        for case, name in names
        if old[case].get(name) != new[case].get(name)
    }
    return sorted(changes)


def _told(header: Header) -> dict[str, str]:
    """What a library tells of itself."""
    return {
        "device": device_of(header.mpi_library_version) or "none",
        "MPI": header.mpi_standard,
        **{name: value or "empty" for name, value in (header.mpi_variables or {}).items()},
    }


def summary(library: str, pairs: Pairs) -> str:
    """How many steps there are, and in how many cases nothing can be told."""
    cases = cases_of(pairs)
    releases = sides_of(pairs)
    steps = [step for case in cases for step in case.changes]
    slower = sum(step.row["verdict"] == SLOWER for step in steps)
    told = sum(step.row["verdict"] != UNKNOWN for case in cases for step in case.steps.values())
    every = sum(len(case.steps) for case in cases)
    return (
        f"{library}: {plural(len(releases), 'release')}, from {releases[0].partition('@')[2]} to "
        f"{releases[-1].partition('@')[2]}; of {plural(every, 'step')} {slower} slower, {len(steps) - slower} faster, "
        f"{told - len(steps)} too small to count, {every - told} cannot be told"
    )


def lines(
    library: str, pairs: Pairs, own: OwnChanges, width: int, *, failed: Sequence[str] = (), every: bool
) -> list[str]:
    """The summary, what failed, what releases changed by themselves, and a paragraph for each case with a step: its
    value with every release, and the steps.

    failed: `failure_words`.  every: also the cases without a step.
    """
    cases = cases_of(pairs)
    shown = cases if every else [case for case in cases if case.changes]
    parts = wrapped([summary(library, pairs), *failed, *own_words(own)], width)
    for case in shown:
        told = "; ".join(_cell(case, name) for name in sides_of(pairs) if name in case.values)
        parts += ["", *wrapped([f"{', '.join(filter(None, case.names))}: {told}"], width)]
    return [*parts, "", *wrapped([KEY if shown else "no step; --all shows every case"], width)]


def failure_words(failures: Failures, releases: Sequence[str]) -> list[str]:
    """A line for each case that failed, with the releases, and why with the last of them. Cases that failed with the
    same releases for the same reason share it.  releases: all that were measured, in order.
    """
    found: dict[str, list[str]] = {}
    place = {name: number for number, name in enumerate(releases)}
    for case, by_release in failures.items():
        failed = sorted(by_release, key=place.__getitem__)
        for always, how in ((True, "fails with"), (False, "fails in some launches with")):
            these = [name for name in failed if by_release[name].always is always]
            neighbours = groupby(enumerate(these), lambda one: place[one[1]] - one[0])
            runs = [[name.partition("@")[2] for _, name in run] for _, run in neighbours]
            ends = " and ".join(" to ".join(dict.fromkeys((run[0], run[-1]))) for run in runs)
            if these:
                why = short(by_release[these[-1]].reason)
                found.setdefault(f"{how} {ends} ({plural(len(these), 'release')}): {why}", []).append(case)
    return [f"{', '.join(cases)}: {words}" for words, cases in found.items()]


def own_words(own: OwnChanges) -> list[str]:
    """A line for each release that changed something by itself."""
    return [
        f"{name.partition('@')[2]} changed by itself: {'; '.join(changes)}" for name, changes in own.items() if changes
    ]


def _cell(case: Case, release: str) -> str:
    step = case.steps.get(release)
    return f"{release.partition('@')[2]} {case.values[release].words}{step.mark if step else ''}"


def as_json(library: str, pairs: Pairs, own: OwnChanges, runs: Sequence[str], failures: Failures) -> str:
    """One object with every case."""
    document = {
        "schema": "mpi-campaign.versions",
        "schema_version": 2,
        "library": library,
        "runs": list(runs),
        "releases": sides_of(pairs),
        "failed": {
            case: {name: {"reason": one.reason, "in_every_launch": one.always} for name, one in by_release.items()}
            for case, by_release in failures.items()
        },
        "own_changes": {name: list(changes) for name, changes in own.items()},
        "cases": [
            {
                "case": [name for name in case.names if name],
                "metric": case.metric,
                "values": {
                    name: {"value": finite(one.value), "ci95": [finite(one.low), finite(one.high)]}
                    for name, one in case.values.items()
                },
                "steps": [
                    {
                        "before": step.before,
                        "after": step.after,
                        "verdict": step.row["verdict"],
                        "effect": finite(step.row["effect"]),
                        "ci95": [finite(step.row[f"effect_ci95_{end}"]) for end in ("low", "high")],
                        "reason": step.row["reason"],
                    }
                    for step in case.steps.values()
                ],
            }
            for case in cases_of(pairs)
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def view(library: str, pairs: Pairs, own: OwnChanges, runs: str, failed: Sequence[str] = ()) -> View:
    """The page of a library's releases: each step, and the cases over the releases."""
    cases = cases_of(pairs)
    changed = [(case, step) for case in cases for step in case.changes]
    return View(
        title=f"{library}, release by release",
        subtitle=f"runs {runs}; each release against the one before it",
        answer=summary(library, pairs),
        table_title="Steps",
        heads=["verdict", "release", "case", "before", "after", "step", "95 %"],
        rows=[
            Row(
                step.row["verdict"],
                [
                    step.after, ", ".join(filter(None, case.names)),
                    *(Value.of(step.row, side).words for side in "ab"),
                    effect_words(case.metric, step.row["effect"]), interval_words(step.row),
                ],
                "-",
            )
            for case, step in changed
        ],
        nothing="No release changed anything that was measured.",
        remarks=[
            *failed, *own_words(own),
            *sorted({remark for comparison in pairs.values() for remark in comparison.remarks}),
        ],
        series=[_plot(case, number) for number, case in enumerate(_with_values(cases)[:MOST_DRAWN])],
    )  # fmt: skip


def markdown(page: View, command: str, where: Sequence[str]) -> str:
    """The page of `view` in Markdown, without its pictures.

    command: what writes it.  where: where the runs were made, a line for each.
    """
    rows = [[row.verdict, *row.cells] for row in page.rows]
    table = markdown_table(page.heads, rows, MOST_MARKDOWN) if rows else page.nothing
    parts = [f"# {page.title}", f"Written by `{command}`.", "\n".join(f"- {line}" for line in where)]
    parts += [f"{page.answer}. Each release is held against the one before it. {TO_CONFIRM}", table]
    return "\n\n".join([*parts, "\n".join(f"- {remark}" for remark in page.remarks)]).rstrip() + "\n"


def _with_values(cases: Sequence[Case]) -> list[Case]:
    """The cases that have a value with some release."""
    return [case for case in cases if any(np.isfinite(one.value) for one in case.values.values())]


def _plot(case: Case, number: int) -> Plot:
    known = {name: one for name, one in case.values.items() if np.isfinite(one.value)}
    values, lows, highs = np.array([(one.value, one.low, one.high) for one in known.values()]).T
    return plot_of(
        list(known), values, ", ".join(filter(None, case.names)), partial(value_words, case.metric),
        intervals=(lows, highs), id=f"v{number}",
    )  # fmt: skip
