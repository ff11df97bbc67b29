"""How long barriers take, as the registry has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from postprocess.drawing.columns import Columns, number, rows_of
from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.matrix import Cell, Word
from postprocess.drawing.text import duration
from postprocess.families import sampled_table
from postprocess.families.axes import FamilyAxes
from postprocess.families.family import Audit, Axis, Metric
from postprocess.families.matrix_rows import rows_in
from postprocess.families.sampled import Sampling, Times, flags_of_start, invalid_reasons, point_as
from postprocess.families.sampled_family import sampled_family, shown, slower
from postprocess.families.sampled_inside import observed, wrong
from postprocess.families.sampled_table import estimate_of
from postprocess.records.fields import Positive
from postprocess.records.record import Record, RecordFile, record_as
from postprocess.statistics.metrics import series_estimate

TIME = "t_barriers_ns"
BARRIERS = Axis("barriers", "barriers", short="bars", usual=0, of="point", kind="integer", words="{} barriers".format)
AXES = FamilyAxes("barrier_time", (BARRIERS,))
COLUMNS = (
    *AXES.case, "named_cores", "barriers", *sampled_table.names_of_estimates([TIME]), *sampled_table.LAST_COLUMNS,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BarrierPoint(Sampling):
    """So many barriers in a row."""

    barriers: Positive
    t_barriers_ns: Times


@dataclass(frozen=True)
class BarrierRecord(RecordFile):
    """A record of this family."""

    points: tuple[BarrierPoint, ...]


def _record(record: Record) -> BarrierRecord:
    return record_as(BarrierRecord, record, AXES.family, lambda point: point_as(BarrierPoint, point, ("barriers",)))


def _rows(record: BarrierRecord, failed: Sequence[str]) -> Iterator[sampled_table.Row]:
    for point in record.points:
        reasons = [*failed, *invalid_reasons(point)]
        yield {
            **sampled_table.case_of(record.header, AXES),
            "barriers": point.barriers,
            **sampled_table.columns_of_estimates({TIME: series_estimate(point.t_barriers_ns)}),
            **sampled_table.columns_of_point(record, point, reasons, flags_of_start(point)),
        }


_table = sampled_table.maker(COLUMNS, _rows)
SHOWN = Columns((*sampled_table.leading(AXES), number("barriers"), number("time", TIME, duration)))
_MEASURED = Word("measured", "even", "takes {}", "take {}")


def _cells(table: pd.DataFrame) -> list[Cell]:
    row_of = rows_in(table, AXES.family)
    times = [(row, BARRIERS.words(row["barriers"]), estimate_of(row, TIME).numbers) for row in rows_of(table)]
    return [Cell(row_of(row), column, _MEASURED, time, words=duration) for row, column, time in times]


BARRIER_TIME = sampled_family(
    AXES,
    "how long barriers take",
    35,
    heading="Barriers",
    papers=(),
    view=_record,
    table=_table,
    columns=COLUMNS,
    metrics=(Metric(TIME, "barriers in a row", ratio=True, usual=True),),
    numbers=lambda record: sampled_table.numbers_of(table := _table([record]), {TIME: float(table[TIME].max())}),
    bounds=slower(TIME),
    text=(shown(SHOWN.text),),
    cells=_cells,
    section=CurveSection(lambda _table: (), lambda table, most_rows: {"points": SHOWN.view(table, most_rows)}),
    inside=observed(AXES, "barriers", lambda _records: ()),
    audit=Audit(wrong),
)
