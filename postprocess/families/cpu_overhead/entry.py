"""The family `cpu_overhead`: what a collective costs the CPU, and the LogGP parameters (Hoefler et al. 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import duration
from postprocess.families.cpu_overhead.axes import AXES, FAMILY
from postprocess.families.cpu_overhead.cells import cells_of
from postprocess.families.cpu_overhead.charts import charts, rank_charts
from postprocess.families.cpu_overhead.claims import sentences_by_case, verdicts
from postprocess.families.cpu_overhead.loggp_record import LOGGP, LogGPRecord
from postprocess.families.cpu_overhead.loggp_table import numbers_of
from postprocess.families.cpu_overhead.record import BLOCKING, WORKING, CpuRecord
from postprocess.families.cpu_overhead.shown import LOGGP_PARAMETERS, cpu_text, tables
from postprocess.families.cpu_overhead.table import COLUMNS, AnyRecord, any_record, cpu_table, record_numbers
from postprocess.families.family import Audit, Details, Metric
from postprocess.families.papers import HOEFLER_2006
from postprocess.families.sampled_family import Compared, sampled_family, shown, slower
from postprocess.families.sampled_inside import different, observed, wrong
from postprocess.records.header import keeps_apart
from postprocess.statistics.metrics import least_crossing_bytes


def _covered(records: Sequence[AnyRecord]) -> Details:
    names = (point.operation for record in records if isinstance(record, CpuRecord) for point in record.points)
    pairs = (
        point.pair.replace("_", " ") for record in records if isinstance(record, LogGPRecord) for point in record.points
    )
    return [("CPU time of collectives", different(names, ", ")), ("LogGP parameters", different(pairs, ", "))]


def _facts(records: Sequence[AnyRecord]) -> Details:
    steps = [record.cpu_clock_step_ns for record in records if isinstance(record, CpuRecord)]
    return [("largest step of the CPU clocks", duration(max(steps)) if steps else "")]


def communicated_ns(record: AnyRecord) -> float:
    """The time of all batches, or round trips, of a record, in ns."""
    if isinstance(record, LogGPRecord):
        return sum(point.part_ns for point in record.points)
    return sum(float(point.t_wall_ns.sum() + point.t_reference_wall_ns.sum()) for point in record.points)


def payload_bytes(record: AnyRecord) -> int:
    """A lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    Ranks of a node count as one place. On a `wire` each rank is a place of its own.
    """
    header = record.header
    on_wire = keeps_apart(header.network)
    places = [place.rank if on_wire else place.node for place in header.placement]
    if isinstance(record, LogGPRecord):
        # Of a repetition at least the round trips are messages, two each.
        return sum(
            2 * point.round_trips * point.repetitions * point.message_bytes
            for point in record.points
            if places[0] != places[point.partner_rank]
        )
    total = 0
    for point in record.points:
        taking_part = places[: point.communicator_ranks]
        groups = [taking_part.count(place) for place in dict.fromkeys(taking_part)]
        of_reference = point.reference_calls if point.t_reference_wall_ns.size else 0
        calls = point.repetitions * (point.calls + of_reference)
        total += calls * least_crossing_bytes(f"i{point.operation}", point.message_bytes, groups)
    return total


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report. tables: each with its title, and whether a reader sees it without opening it."""
    listed = [
        (title, columns.narrow_view(rows, most_rows, leading), columns is LOGGP_PARAMETERS)
        for title, columns, leading, rows in tables(table)
    ]
    return {"verdicts": verdicts(table), "sentences": sentences_by_case(table), "tables": listed}


INSIDE = observed(
    AXES,
    lambda record: "LogGP parameters" if isinstance(record, LogGPRecord) else "CPU time of collectives",
    _covered,
    _facts,
)
SECTION = CurveSection(lambda table: (*charts(table), *rank_charts(table)), _view)
LEAST_LATENCY_NS = 100.0
"""The least difference of L that matters. L may be near 0 or below, where there is no ratio."""
METRICS = (
    Metric("t_wall_ns", "time of a collective", ratio=True, usual=True, better_words="has faster collectives"),
    Metric("cpu_share", "CPU share of a collective", ratio=False, state="sound", usual=True,
           better_words="uses less CPU in a collective"),
    Metric("round_trip_ns", "time of a round trip of the smallest message", ratio=True, usual=True,
           better_words="sends a small message faster"),
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
    # All ways of a collective, ranks and size have the same availability: it is compared of blocking calls alone.
    compared=Compared(
        ("benchmark", "way", "message_bytes", "record"),
        _compared,
        {"availability": lambda table: table["way"] == BLOCKING},
    ),
    numbers=lambda record: numbers_of(record) if isinstance(record, LogGPRecord) else record_numbers(record),
    bounds=BOUNDS,
    text=(shown(cpu_text),),
    cells=cells_of,
    section=SECTION,
    inside=INSIDE,
    audit=Audit(wrong, communicated_ns, payload_bytes),
)
