"""How long barriers take, as the registry has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from postprocess.drawing.columns import aligned
from postprocess.drawing.text import duration
from postprocess.families import axes
from postprocess.families.family import (
    STATE,
    Axis,
    Bound,
    Family,
    Found,
    Launches,
    Metric,
    Numbers,
    Page,
    Section,
    TableFile,
)  # fmt: skip
from postprocess.records.header import repeat_of
from postprocess.records.record import Point, Record, RecordFile, check_family
from postprocess.records.run import Run

FAMILY, TIME, FILE = "barrier_time", "t_barriers_ns", "barrier_time.parquet"
BARRIERS = Axis("barriers", "barriers", short="bars", usual=0, of="point", kind="integer", words="{} barriers".format)
AXES = (
    axes.BENCHMARK, axes.TOOLCHAIN, axes.PROVIDER, axes.CONFIGURATION, axes.NETWORK, axes.RANKS, axes.NODES,
    axes.THREADS, axes.GIVEN_UP, axes.LAUNCH, BARRIERS,
)  # fmt: skip
COLUMNS = (*(one.name for one in AXES), TIME, *STATE, "record")


@dataclass(frozen=True)
class BarrierRecord(RecordFile):
    """A record of this family."""

    points: tuple[Point, ...]


def _view(record: Record) -> BarrierRecord:
    check_family(record, FAMILY)
    return BarrierRecord(record.path, record.header, record.footer, record.incomplete, record.points)


def _time_ns(point: Point) -> float:
    return float(np.median(point.series[TIME])) if point.series[TIME].size else float("nan")


def _table(_run: Run, records: Sequence[BarrierRecord]) -> pd.DataFrame:
    rows = [
        {
            **{one.name: getattr(record.header, one.name) for one in AXES[:8]},
            "given_up_cores": record.header.progress.given_up_cores,
            "launch": repeat_of(record.header.metadata) or 1,
            "barriers": point.parameters["barriers"],
            TIME: _time_ns(point),
            "valid": point.series[TIME].size > 0,
            "reliable": point.series[TIME].size > 0 and not record.header.oversubscribed,
            "complete": record.complete,
            "oversubscribed": record.header.oversubscribed,
            "record": record.name,
        }
        for record in records
        for point in record.points
    ]
    table: pd.DataFrame = pd.DataFrame(rows, columns=list(COLUMNS))
    return table


def _text(found: Found) -> str:
    rows = found.table.to_dict("records")
    lines = [[row["toolchain"], row["configuration"], str(row["barriers"]), duration(row[TIME])] for row in rows]
    return aligned(("toolchain", "configuration", "barriers", "time"), lines, {2, 3}) if lines else ""


def _section(_page: Page, found: Found) -> list[tuple[int, str]] | None:
    return [(row["barriers"], duration(row[TIME])) for row in found.table.to_dict("records")] or None


def _numbers(record: BarrierRecord, _basic: BarrierRecord | None) -> Numbers:
    return Numbers({TIME: max(map(_time_ns, record.points))})


BARRIER_TIME = Family(
    name=FAMILY,
    title="how long barriers take",
    benchmarks=(FAMILY,),
    view=_view,
    table=_table,
    columns=COLUMNS,
    axes=AXES,
    metrics=(Metric(TIME, "barriers in a row", ratio=True, usual=True),),
    files=(TableFile(FILE),),
    launches=Launches({FILE: COLUMNS}, lambda _run, tables: tables[0], lambda table: table),
    text=_text,
    short_text=_text,
    nothing="no barrier was timed",
    sections=(Section("barriers", "Barriers", 35, f"{FAMILY}/section.html", _section),),
    numbers=_numbers,
    unit_of=lambda _name: "ns",
    bounds=(Bound(TIME, absolute=False, margin=0.05),),
)
