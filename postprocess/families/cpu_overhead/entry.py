"""The family `cpu_overhead`: what a collective costs the CPU, and the LogGP parameters (Hoefler et al. 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postprocess.families import sampled, sampled_inside
from postprocess.families.cpu_overhead import inside
from postprocess.families.cpu_overhead.axes import AXES, FAMILY
from postprocess.families.cpu_overhead.loggp_record import LOGGP, LogGPRecord
from postprocess.families.cpu_overhead.loggp_table import numbers_of
from postprocess.families.cpu_overhead.record import BLOCKING, WORKING
from postprocess.families.cpu_overhead.shown import cpu_text
from postprocess.families.cpu_overhead.table import COLUMNS, AnyRecord, any_record, cpu_table, record_numbers
from postprocess.families.family import Bound, Family, Inside, Metric, Numbers, TableFile, doubt_about
from postprocess.families.papers import HOEFLER_2006
from postprocess.statistics.limits import LEAST_RATIO

if TYPE_CHECKING:
    import pandas as pd

TITLE = "CPU time of collectives"
FILE = "cpu_overhead.parquet"
LEAST_LATENCY_NS = 100.0
"""The least difference of L that matters. L may be near 0 or below, where there is no ratio."""
METRICS = (
    Metric("t_wall_ns", "time of a collective", ratio=True, usual=True),
    Metric("cpu_share", "CPU share of a collective", ratio=False, state="reliable", usual=True),
    Metric("round_trip_ns", "time of a round trip of the smallest message", ratio=True, usual=True),
    Metric(
        "L_ns", "L, the latency of a message without overheads", ratio=False, usual=True, least=LEAST_LATENCY_NS,
        below_0="the overheads of sender and receiver overlap, so that L is no time of the network",
    ),
    Metric("o_ns", "o, the overhead of a message", ratio=True, usual=True),
    Metric("g_ns", "g, the gap between messages", ratio=True, usual=True),
    Metric("G_ns_per_byte", "G, the gap per byte", ratio=True, usual=True),
    Metric("availability", "available share of a collective's time", ratio=False, better="larger", usual=True),
)  # fmt: skip
BOUNDS = tuple(
    Bound(name, absolute=False, margin=LEAST_RATIO)
    for name in ("t_wall_ns", "t_cpu_ns", "round_trip_ns", "o_ns", "G_ns_per_byte")
)
"""What a regression shows in. t_wall: a call takes longer. t_cpu: a call costs more CPU time, because it takes longer
and polls, or because it polls where it slept before. The share alone would fall when a call only waits longer. Of
messages: the round trip of the smallest ones, o and G. L is what is left of the round trip; it may be near 0, where a
fraction bounds nothing."""


def _compared(table: pd.DataFrame) -> pd.Series[Any]:
    """Whether each row of the table is compared between launches.

    Steps of a search are not, since no two runs make the same ones. Of messages only the smallest size is: its row has
    the LogGP parameters, which all sizes share.
    """
    smallest = table.groupby("record", observed=True)["message_bytes"].transform("min")
    compared: pd.Series[Any] = table["way"] != WORKING
    return compared & ((table["benchmark"] != LOGGP) | (table["message_bytes"] == smallest))


def _blocking(table: pd.DataFrame) -> pd.Series[Any]:
    """Whether each row is of blocking calls. All ways of a collective, ranks and size have the same availability."""
    return table["way"] == BLOCKING


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
    papers=(HOEFLER_2006,),
    view=any_record,
    table=sampled.table_by(cpu_table),
    columns=COLUMNS,
    axes=AXES,
    metrics=METRICS,
    files=(TableFile(FILE),),
    launches=sampled.launches(
        FILE,
        AXES,
        METRICS,
        sampled.Compared(("benchmark", "way", "message_bytes", "record"), _compared, {"availability": _blocking}),
    ),
    text=lambda found: cpu_text(found.table),
    short_text=lambda found: cpu_text(found.table),
    nothing="no CPU time of collectives was measured",
    sections=sampled.sections(FAMILY, TITLE, 34),
    inside=Inside(inside.words, sampled_inside.spent, inside.covered, inside.timing),
    numbers=_numbers,
    unit_of=_unit_of,
    bounds=BOUNDS,
    wrong=sampled_inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
