"""The family `cpu_overhead`: what a collective costs the CPU, and the LogGP parameters (Hoefler et al. 2006)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from postprocess.families.cpu_overhead import inside
from postprocess.families.cpu_overhead.axes import AXES
from postprocess.families.cpu_overhead.loggp_record import LOGGP, LogGPRecord
from postprocess.families.cpu_overhead.loggp_table import numbers_of
from postprocess.families.cpu_overhead.record import FAMILY, WORKING
from postprocess.families.cpu_overhead.shown import cpu_text
from postprocess.families.cpu_overhead.table import COLUMNS, AnyRecord, any_record, cpu_table, record_numbers
from postprocess.families.family import (
    STATE,
    Bound,
    Family,
    Found,
    Inside,
    Launches,
    Metric,
    Numbers,
    Page,
    Section,
    TableFile,
    doubt_about,
)  # fmt: skip
from postprocess.records.run import Run, failed_records
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "CPU time of collectives"
FILE = "cpu_overhead.parquet"
METRICS = (
    Metric("t_wall_ns", "time of a collective", ratio=True, usual=True),
    Metric("cpu_share", "CPU share of a collective", ratio=False, state="reliable", usual=True),
    Metric("L_ns", "L, the latency of a message without overheads", ratio=True, usual=True),
    Metric("o_ns", "o, the overhead of a message", ratio=True, usual=True),
    Metric("g_ns", "g, the gap between messages", ratio=True, usual=True),
    Metric("G_ns_per_byte", "G, the gap per byte", ratio=True, usual=True),
    Metric("availability", "available share of a collective's time", ratio=False, better="larger", usual=True),
)
BOUNDS = tuple(
    Bound(name, absolute=False, margin=LEAST_RATIO)
    for name in ("t_wall_ns", "t_cpu_ns", "round_trip_ns", "o_ns", "G_ns_per_byte")
)
"""What a regression shows in. t_wall: a call takes longer. t_cpu: a call costs more CPU time, because it takes longer
and polls, or because it polls where it slept before. The share alone would fall when a call only waits longer. Of
messages: the round trip of the smallest ones, o and G. L is what is left of the round trip; it may be near 0, where a
fraction bounds nothing."""
_TEMPLATES = f"{FAMILY}/templates"


def _table(run: Run, records: Sequence[AnyRecord]) -> pd.DataFrame:
    return cpu_table(records, failed_records(run.manifest))


def _compared(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table that are compared between launches.

    Steps of a search are not, since no two runs make the same ones. Of messages only the smallest size is: its row has
    the LogGP parameters, which all sizes share.
    """
    smallest = table.groupby("record")["message_bytes"].transform("min")
    is_parameter = (table["benchmark"] != LOGGP) | (table["message_bytes"] == smallest)
    chosen: pd.DataFrame = table[(table["way"] != WORKING) & is_parameter]
    return chosen


def _text(found: Found) -> str:
    return cpu_text(found.table)


def _view(page: Page, found: Found) -> Any:
    from postprocess.families.cpu_overhead.section import cpu_view  # noqa: PLC0415 - it takes a second to load

    return page.once(FAMILY, lambda: cpu_view(found.table, page.links.get(FAMILY, ()), page.room.whole))


def _pictures(page: Page, found: Found, folder: Path) -> Mapping[str, list[Path]]:
    from postprocess.drawing.curve_plot import write_charts  # noqa: PLC0415 - likewise
    from postprocess.families.cpu_overhead.charts import all_charts  # noqa: PLC0415 - likewise

    drawn = write_charts(all_charts(found.table), folder, "cpu-overhead", page.look.kinds)
    return {FAMILY: drawn} if drawn else {}


def _numbers(record: AnyRecord, _basic: AnyRecord | None) -> Numbers:
    values = numbers_of(record) if isinstance(record, LogGPRecord) else record_numbers(record)
    return Numbers(values, doubt=doubt_about(values))


def _unit_of(name: str) -> str:
    if name.startswith("points"):
        return "points"
    return "ns" if name.endswith("_ns") else "ns/byte" if name.endswith("_ns_per_byte") else "ratio"


CPU_OVERHEAD = Family(
    name=FAMILY,
    title="CPU time of collectives",
    benchmarks=(FAMILY, LOGGP),
    view=any_record,
    table=_table,
    columns=COLUMNS,
    axes=AXES,
    metrics=METRICS,
    files=(TableFile(FILE),),
    launches=Launches(
        columns={FILE: (*(one.name for one in AXES), *(one.name for one in METRICS), *STATE)},
        of_files=lambda _run, tables: tables[0],
        of_table=_compared,
    ),
    text=_text,
    short_text=_text,
    nothing="no CPU time of collectives was measured",
    sections=(
        Section("cpu-overhead", TITLE, 34, f"{_TEMPLATES}/section.html", _view, pictures=_pictures),
        Section("cpu-overhead-verdicts", TITLE, 34, f"{_TEMPLATES}/card.html", _view, "found"),
        Section("cpu-overhead-reading", TITLE, 34, f"{_TEMPLATES}/reading.html", _view, "reading"),
    ),
    inside=Inside(inside.words, inside.spent, inside.covered, inside.timing),
    numbers=_numbers,
    unit_of=_unit_of,
    bounds=BOUNDS,
    wrong=inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
