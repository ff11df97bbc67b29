"""The answer of a search for the first one of a series that is slower, or faster: which one, how much, how that was
found."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import pandas as pd

from postprocess.drawing.columns import aligned
from postprocess.drawing.text import plural
from postprocess.records.as_json import rows_as_json
from postprocess.verdicts.compare_text import names_of, value_cells

Row: TypeAlias = Mapping[Any, Any]
"""A row of a `Comparison`, by column."""


@dataclass(frozen=True)
class Step:
    """One question: how much slower or faster is `other` than `one`?

    why: why it has no answer.  run: in which it was measured; empty where it was not.  effect: what the run says of the
    case that is searched for; None where it was not narrowed to it yet.
    """

    one: str
    other: str
    verdict: str
    why: str = ""
    run: str = ""
    effect: Row | None = None


@dataclass(frozen=True)
class Blame:
    """sought: SLOWER or FASTER.  good, bad: the ends.  count: of the series.  why_none: why none is named, else empty.
    had: how many of them were installed or built.  between: those that could not be judged, each of which may be the
    one instead.  effect: the first bad one against the last good one.  rest: the last of all against the first bad one,
    where it differs likewise.
    """

    sought: str
    good: str
    bad: str
    count: int
    why_none: str
    steps: tuple[Step, ...]
    had: int
    launches: int
    last_good: str = ""
    first_bad: str = ""
    between: tuple[str, ...] = ()
    effect: Row | None = None
    rest: Row | None = None

    @property
    def is_found(self) -> bool:
        return self.effect is not None


def _cells(row: Row | None) -> list[str]:
    return value_cells(row)[1:] if row is not None else []


def lines(blame: Blame) -> list[str]:
    """The answer for a terminal: a sentence, the steps, what they took."""
    heads = ["against", "is", "verdict", "A", "B", "B against A", "95 %", "run, or why not"]
    cells = [
        [step.one, step.other, step.verdict, *(_cells(step.effect) or [""] * 4), step.run or step.why]
        for step in blame.steps
    ]
    took = f"{blame.had} of {blame.count} built or installed, {plural(blame.launches, 'launch')}"
    return [*_sentences(blame), "", aligned(heads, cells, right={3, 4, 5}), took]


def _sentences(blame: Blame) -> list[str]:
    if blame.effect is None:
        return [f"no one of {blame.count} made it {blame.sought}: {blame.why_none}"]
    metric, *_, effect, interval = value_cells(blame.effect)
    case = " ".join(filter(None, names_of(blame.effect)))
    by = f"{metric} {effect} {interval}"
    found = [f"{blame.first_bad} made it {blame.sought}: {by} against {blame.last_good}, in {case}"]
    if blame.between:
        found = [
            f"{blame.first_bad} is {blame.sought} than {blame.last_good}: {by}, in {case}",
            f"which of these made it {blame.sought} cannot be told: {', '.join((*blame.between, blame.first_bad))}",
        ]
    if blame.rest is not None:
        *_, effect, interval = value_cells(blame.rest)
        found.append(f"there is another one behind it: {blame.bad} is {effect} {interval} against {blame.first_bad}")
    return found


def as_json(blame: Blame) -> str:
    """The same for programs."""
    document = asdict(blame)
    for holder in (document, *document["steps"]):
        for name in ("effect", "rest"):
            if holder.get(name) is not None:
                holder[name] = rows_as_json(pd.DataFrame([holder[name]]))[0]
    head = {"schema": "mpi-campaign.bisection", "schema_version": 1}
    return json.dumps({**head, **document}, indent=1, ensure_ascii=False, allow_nan=False)
