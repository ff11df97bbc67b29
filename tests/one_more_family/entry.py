"""How long a message takes to another rank and back, as the registry of the copy has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from postprocess.drawing.columns import aligned
from postprocess.drawing.text import duration
from postprocess.families import axes
from postprocess.families.family import STATE, Axis, Family, Found, Launches, Metric, Page, Section, TableFile
from postprocess.records.header import repeat_of
from postprocess.records.record import Point, Record, RecordFile, check_family
from postprocess.records.run import Run

FAMILY = "round_trip"
PAIRS = Axis("pairs", "pairs", short="prs", usual=0, of="point", kind="integer", words="{} pairs".format)
AXES = (
    axes.BENCHMARK, axes.TOOLCHAIN, axes.PROVIDER, axes.CONFIGURATION, axes.NETWORK, axes.RANKS, axes.NODES,
    axes.THREADS, axes.GIVEN_UP, axes.LAUNCH, PAIRS,
)  # fmt: skip
COLUMNS = (*(one.name for one in AXES), "t_round_trip_ns", *STATE, "record")


@dataclass(frozen=True)
class RoundTrips(RecordFile):
    """A record of this family."""

    points: tuple[Point, ...]


def round_trips(record: Record) -> RoundTrips:
    """A record as this family sees it. Raises RecordError."""
    check_family(record, FAMILY)
    return RoundTrips(record.path, record.header, record.footer, record.incomplete, record.points)


def _table(_run: Run, records: Sequence[RoundTrips]) -> pd.DataFrame:
    rows = [
        {
            **{one.name: getattr(record.header, one.name) for one in AXES[:8]},
            "given_up_cores": record.header.progress.given_up_cores,
            "launch": repeat_of(record.header.metadata) or 1,
            "pairs": point.parameters["pairs"],
            "t_round_trip_ns": float(np.median(point.series["t_round_trip_ns"])),
            "valid": True,
            "reliable": True,
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
    lines = [[row["toolchain"], duration(row["t_round_trip_ns"])] for row in found.table.to_dict("records")]
    return aligned(("toolchain", "round trip"), lines, {1}) if lines else ""


def _view(_page: Page, found: Found) -> list[str] | None:
    return [duration(time) for time in found.table["t_round_trip_ns"]] or None


ROUND_TRIP = Family(
    name=FAMILY,
    title="a message there and back",
    benchmarks=(FAMILY,),
    view=round_trips,
    table=_table,
    columns=COLUMNS,
    axes=AXES,
    metrics=(Metric("t_round_trip_ns", "round trip", ratio=True, usual=True),),
    files=(TableFile("round_trip.parquet"),),
    launches=Launches({"round_trip.parquet": COLUMNS}, lambda _run, tables: tables[0], lambda table: table),
    text=_text,
    short_text=_text,
    nothing="no round trip was measured",
    sections=(Section("round-trip", "Round trips", 35, f"{FAMILY}/section.html", _view),),
)
