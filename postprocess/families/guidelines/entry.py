"""The family `guidelines`: whether a call of an MPI library is slower than others that do the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Column, Columns, estimate, number, plain
from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.matrix import CANNOT_TELL, Cell, Word
from postprocess.drawing.text import duration, ratio
from postprocess.families import sampled_table
from postprocess.families.family import Audit, Metric
from postprocess.families.guidelines.verdict import (
    AXES,
    CONTROL,
    HOLDS,
    VIOLATED,
    advice,
    judged,
    message_words,
    sentences,
    violations,
)
from postprocess.families.matrix_rows import rows_in
from postprocess.families.sampled import (
    Sampling,
    Times,
    flags_of_start,
    invalid_reasons,
    median,
    point_as,
    reasons_of_times,
    within_bucket,
)
from postprocess.families.sampled_family import sampled_family, shown
from postprocess.families.sampled_inside import different, observed, wrong
from postprocess.families.sampled_table import estimate_of, leading
from postprocess.records.fields import Positive
from postprocess.records.record import Record, RecordFile, record_as
from postprocess.statistics.metrics import series_estimate

CLOCK_LIMIT = 0.01
"""The largest residual of the clocks, as a share of the shorter batch."""
ESTIMATES = ("guideline_ratio", "call_ns", "other_call_ns")
"""The time of the left side as a multiple of that of the right side, and the times of a call of each."""
OWN = ("guideline", "message_bytes", "kind", "left", "right", "allowed_percent", "vector_bytes", "calls")
COLUMNS = (
    *AXES.case, "named_cores", *OWN, *sampled_table.names_of_estimates(ESTIMATES), *sampled_table.LAST_COLUMNS,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GuidelinePoint(Sampling):
    """A guideline at a message size: batches of both sides, in turn."""

    PARTS: ClassVar[tuple[str, ...]] = ("t_left_ns", "t_right_ns")

    guideline: str
    message_bytes: int
    kind: str
    left: str
    right: str
    allowed_percent: Positive
    vector_bytes: int
    calls: int
    t_left_ns: Times
    t_right_ns: Times


@dataclass(frozen=True)
class GuidelineRecord(RecordFile):
    """A record of this family."""

    points: tuple[GuidelinePoint, ...]


def _record(record: Record) -> GuidelineRecord:
    parameters = ("guideline", "message_bytes")
    return record_as(GuidelineRecord, record, AXES.family, lambda point: point_as(GuidelinePoint, point, parameters))


def _reasons(point: GuidelinePoint, *, oversubscribed: bool) -> list[str]:
    reasons = invalid_reasons(point)
    if not point.repetitions:
        return reasons
    shorter_ns = min(median(point.t_left_ns), median(point.t_right_ns))
    return [*reasons, *reasons_of_times(point, CLOCK_LIMIT, shorter_ns, oversubscribed=oversubscribed)]


def _rows(record: GuidelineRecord, failed: Sequence[str]) -> Iterator[sampled_table.Row]:
    for point in record.points:
        reasons = [*failed, *_reasons(point, oversubscribed=record.header.oversubscribed)]
        calls = max(point.calls, 1)
        batch_ns = min(median(point.t_left_ns), median(point.t_right_ns)) if point.repetitions else 0
        bucket = within_bucket(record.header, batch_ns, point.vector_bytes * calls)
        found = (
            series_estimate(np.asarray(point.t_left_ns) / np.asarray(point.t_right_ns)),
            series_estimate(np.asarray(point.t_left_ns) / calls),
            series_estimate(np.asarray(point.t_right_ns) / calls),
        )
        yield {
            **sampled_table.case_of(record.header, AXES),
            **{name: getattr(point, name) for name in OWN},
            **sampled_table.columns_of_estimates(dict(zip(ESTIMATES, found, strict=True))),
            **sampled_table.columns_of_point(record, point, reasons, [*flags_of_start(point), *bucket]),
        }


guideline_table = sampled_table.maker(COLUMNS, _rows)
_SIDES = (
    plain("guideline"), plain("calls", "left"), plain("held against", "right"), Column("message", message_words),
    *estimate("times as long", "guideline_ratio"),
    number("allowed", "allowed_percent", lambda share: ratio(share / 100)),
)  # fmt: skip
JUDGED = Columns(
    (*leading(AXES), *_SIDES, number("time of a call", "call_ns", duration), number("launches"), plain("verdict"))
)
LOST = Columns((*leading(AXES), *_SIDES, number("launches"), Column("instead", advice)))


def _text(table: pd.DataFrame) -> str:
    lost = LOST.text(violations(table))
    return "\n".join([*sentences(table), *([f"\n{lost}"] if lost else [])])


_SLOWER = Word(
    "slower", "bad",
    "has a call that takes {} times as long as what does the same",
    "have calls that take {} times as long as what does the same",
)  # fmt: skip
_HOLDS = Word("holds", "good", "holds", "hold")


def _cells(table: pd.DataFrame) -> Iterator[Cell]:
    """A cell for each kind of guideline: its largest violation; where there is none, the largest ratio of those that
    hold."""
    points = judged(table)
    place = rows_in(points, AXES.family)
    case = sampled_table.same_case(AXES)
    for (*_, kind), rows in points[points["kind"] != CONTROL].groupby([*case, "kind"], sort=False, dropna=False):
        verdicts = rows["verdict"]
        violated, told = (verdicts == VIOLATED).sum(), (verdicts != CANNOT_TELL.text).sum()
        holds = 2 * int((verdicts == HOLDS).sum()) > len(rows)
        decisive = rows[verdicts == (VIOLATED if violated else HOLDS)] if violated or holds else rows
        row = decisive.loc[decisive["guideline_ratio"].idxmax()].to_dict()
        yield Cell(
            place(row),
            str(kind),
            _SLOWER if violated else _HOLDS if holds else CANNOT_TELL,
            estimate_of(row, "guideline_ratio").numbers,
            counted=int(told),
            points=len(rows),
            unit=" x",
            measure="the time of a call over that of calls that do the same, the largest",
            noun="kind",
            why=f"{row['left']} against {row['right']}, {violated} violated",
        )


def _section(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    lost, points = violations(table), judged(table)
    return {
        "sentences": list(sentences(table)),
        "lost": LOST.narrow_view(lost, most_rows, len(leading(AXES))) if len(lost) else None,
        "points": JUDGED.narrow_view(points, most_rows, len(leading(AXES))),
    }


GUIDELINES = sampled_family(
    AXES,
    "calls against others that do the same",
    36,
    heading="Guidelines",
    papers=(),
    view=_record,
    table=guideline_table,
    columns=COLUMNS,
    metrics=(
        Metric("call_ns", "time of a call", ratio=True, usual=True, better_words="has faster calls"),
        Metric("guideline_ratio", "time of a call over that of others that do the same", ratio=True),
    ),
    numbers=lambda record: sampled_table.numbers_of(
        table := guideline_table([record]), {"largest_ratio": float(table.loc[table["valid"], "guideline_ratio"].max())}
    ),
    text=(shown(_text),),
    cells=lambda table: list(_cells(table)),
    section=CurveSection(lambda _table: (), _section),
    inside=observed(
        AXES,
        "guidelines",
        lambda records: [("guidelines", different((point.kind for one in records for point in one.points), ", "))],
    ),
    audit=Audit(wrong),
)
