"""The family `cpu_overhead`: what a collective costs the CPU, and the LogGP parameters (Hoefler et al. 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postprocess.families.cpu_overhead.axes import AXES, FAMILY
from postprocess.families.cpu_overhead.inside import AUDIT, INSIDE
from postprocess.families.cpu_overhead.loggp_record import LOGGP, LogGPRecord
from postprocess.families.cpu_overhead.loggp_table import numbers_of
from postprocess.families.cpu_overhead.record import BLOCKING, WORKING
from postprocess.families.cpu_overhead.shown import cpu_text
from postprocess.families.cpu_overhead.table import COLUMNS, any_record, cpu_table, record_numbers
from postprocess.families.family import Found, Metric
from postprocess.families.papers import HOEFLER_2006
from postprocess.families.sampled_family import Compared, sampled_family, slower

if TYPE_CHECKING:
    import pandas as pd

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
BOUNDS = slower("t_wall_ns", "t_cpu_ns", "round_trip_ns", "o_ns", "G_ns_per_byte")
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


def _text(found: Found) -> str:
    return cpu_text(found.table)


CPU_OVERHEAD = sampled_family(
    AXES,
    "CPU time of collectives",
    34,
    benchmarks=(FAMILY, LOGGP),
    papers=(HOEFLER_2006,),
    view=any_record,
    table=cpu_table,
    columns=COLUMNS,
    metrics=METRICS,
    compared=Compared(("benchmark", "way", "message_bytes", "record"), _compared, {"availability": _blocking}),
    numbers=lambda record: numbers_of(record) if isinstance(record, LogGPRecord) else record_numbers(record),
    bounds=BOUNDS,
    text=(_text,),
    short_text=_text,
    inside=INSIDE,
    audit=AUDIT,
)
