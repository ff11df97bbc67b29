"""The family `whole_machine`: which nodes, links and switches are slow, all measured at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Columns, number, plain
from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.matrix import CANNOT_TELL, Cell, Word
from postprocess.drawing.text import duration, ratio, size
from postprocess.families import sampled_table
from postprocess.families.family import Acceptance, Audit, ByNode, Metric, RankTimes
from postprocess.families.matrix_rows import rows_in
from postprocess.families.sampled import (
    Sampling,
    Times,
    flags_of_start,
    invalid_reasons,
    median,
    point_as,
    reasons_of_times,
)
from postprocess.families.sampled_family import sampled_family, shown
from postprocess.families.sampled_inside import observed, wrong
from postprocess.families.sampled_table import LAST, leading
from postprocess.families.whole_machine.grid import grids
from postprocess.families.whole_machine.verdict import ALONE, AXES, MESSAGE_BYTES, PAIR, Case, judged, sentences
from postprocess.records.fields import fail
from postprocess.records.record import Point, Record, RecordFile, record_as
from postprocess.statistics.control import count_by_halves
from postprocess.statistics.metrics import MIN_REPETITIONS
from postprocess.statistics.slow_parts import FEWEST

CLOCK_LIMIT = 0.01
"""The largest residual of the clocks, as a share of the time of the slowest node or pair."""
COLUMNS = (
    *AXES.case, "named_cores", "part", "round", "message_bytes", "host", "partner", "switch", "calls", "own_ns",
    "slower", *sampled_table.LAST_COLUMNS,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MachinePoint(Sampling):
    """All nodes alone, or a round of pairs.  own_ns: the median time of each rank."""

    part: str
    round: int
    message_bytes: int
    partners: tuple[int, ...]
    calls: int
    t_slowest_ns: Times
    own_ns: tuple[int, ...]


@dataclass(frozen=True)
class MachineRecord(RecordFile):
    """A record of this family."""

    points: tuple[MachinePoint, ...]


def _record(record: Record) -> MachineRecord:
    made = record_as(MachineRecord, record, AXES.family, _point)
    nodes = len({place.node for place in made.header.placement})
    if not isinstance(made.header.metadata.get("switches", {}), dict):
        fail(made.name, "metadata.switches is not a table")
    for point, own in zip(record.points, made.points, strict=True):
        if len(own.partners) != nodes:
            fail(point.where, f"{len(own.partners)} partners of {nodes} nodes")
        if max(own.partners) >= nodes:
            fail(point.where, f"partner {max(own.partners)} is none of {nodes} nodes")
    return made


def _point(point: Point) -> MachinePoint:
    own = point.rank_medians.get("t_own_ns")
    if own is None and point.repetitions:
        fail(point.where, "rank_medians.t_own_ns is missing")
    times = () if own is None else tuple(own.tolist())
    return point_as(MachinePoint, point, ("part", "round", "message_bytes"), own_ns=times)


def _rows(record: MachineRecord, failed: Sequence[str]) -> Iterator[sampled_table.Row]:
    """A row for each node that takes part in a point."""
    ranks_of: dict[int, list[int]] = {}
    for place in record.header.placement:
        ranks_of.setdefault(place.node, []).append(place.rank)
    hosts = [host for _, host in sorted({place.node: place.host for place in record.header.placement}.items())]
    switches = record.header.metadata.get("switches") or {}
    case = sampled_table.case_of(record.header, AXES)
    for point in record.points:
        reasons = [*failed, *invalid_reasons(point)]
        if point.repetitions:
            slowest_ns = median(point.t_slowest_ns)
            reasons += reasons_of_times(point, CLOCK_LIMIT, slowest_ns, oversubscribed=record.header.oversubscribed)
        last = sampled_table.columns_of_point(record, point, reasons, flags_of_start(point))
        active = [node for node, other in enumerate(point.partners) if point.part == ALONE or other != node]
        own_ns = point.own_ns if point.repetitions else (math.nan,) * record.header.ranks
        times = {node: float(max(own_ns[rank] for rank in ranks_of[node])) for node in active}
        usual_ns = median(np.array(list(times.values())))
        for node, time_ns in times.items():
            other = point.partners[node]
            yield {
                **case,
                "part": point.part, "round": point.round, "message_bytes": point.message_bytes, "host": hosts[node],
                "partner": hosts[other] if other != node else "", "switch": _switch(switches, hosts[node]),
                "calls": point.calls, "own_ns": time_ns, "slower": time_ns / usual_ns if usual_ns else math.nan, **last,
            }  # fmt: skip


def _switch(switches: Mapping[str, str], host: str) -> str:
    """That of a host, which a batch system may know by its short name."""
    return str(switches.get(host) or switches.get(host.partition(".")[0], ""))


machine_table = sampled_table.maker(COLUMNS, _rows)
POINTS = Columns(
    (
        *leading(AXES), plain("part"), number("round"), number("message", "message_bytes", size),
        plain("node", "host"), plain("with", "partner"),
        number("time", "own_ns", duration), number("of the median", "slower", ratio), *LAST,
    )
)  # fmt: skip
COLUMN_OF = {ALONE: "nodes alone", PAIR: "pairs of nodes"}
_SLOW = Word("slow", "bad", "has one that takes {} times as long", "have one that takes {} times as long")
_ALIKE = Word("alike", "good", "has no slow one", "have no slow one")


def _rank_times(record: MachineRecord, metric: str) -> Iterator[RankTimes]:
    """The times of every rank computing alone (own_ns), or in its pairs (pair_ns)."""
    part = ALONE if metric == "own_ns" else PAIR
    node_of = {place.rank: place.node for place in record.header.placement}
    for point in record.points:
        if point.part == part:
            free = {node for node, other in enumerate(point.partners) if part == PAIR and other == node}
            yield RankTimes(
                axes={"part": point.part, "round": point.round, "message_bytes": point.message_bytes},
                size=point.message_bytes,
                index=point.index,
                by_rank=[math.nan if node_of[rank] in free else time for rank, time in enumerate(point.own_ns)],
                good=not point.data_errors and point.repetitions >= MIN_REPETITIONS,
            )


def _cells(table: pd.DataFrame) -> Iterator[Cell]:
    """Of each case a cell for the nodes alone, and one for their pairs."""
    place = rows_in(table, AXES.family)
    for case in judged(table):
        for part, column in COLUMN_OF.items():
            yield _cell(case, part, Cell(place(case.row), column, CANNOT_TELL, noun="part"))


def _cell(case: Case, part: str, untold: Cell) -> Cell:
    rows = case.rows[case.rows["part"] == part]
    faults = case.of(part)
    points = case.measured.get(part, 0)
    if case.nodes < FEWEST:
        return replace(untold, points=points, why=f"{case.nodes} nodes are too few: {FEWEST} are needed")
    if rows.empty:
        return replace(untold, points=points, why="no point counts" if points else "it was not measured")
    worst = faults[0] if faults else None
    return replace(
        untold,
        word=_SLOW if worst else _ALIKE,
        estimate=worst.slower if worst else (float(rows["slower"].median()), math.nan, math.nan),
        counted=len(rows),
        points=points,
        unit=" x",
        measure="the time of the slowest over that of the others",
        why="; ".join(fault.words for fault in faults[:3]),
        notes=() if case.whole else ("nodes share cores, or clocks disagree: what is slow here may be the measuring",),
    )


def _control(records: Iterable[MachineRecord]) -> str:
    times = [point.t_slowest_ns for record in records for point in record.points]
    return count_by_halves(one for one in times if one.size >= 2 * MIN_REPETITIONS).words


def _section(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    worst_first = table.loc[table["slower"].sort_values(ascending=False, kind="stable").index]
    return {
        "sentences": list(sentences(table)),
        "grids": [grid for case in judged(table) for grid in grids(case)],
        "points": POINTS.narrow_view(worst_first, most_rows, len(leading(AXES))),
    }


WHOLE_MACHINE = sampled_family(
    AXES,
    "all nodes, links and switches of a machine",
    37,
    heading="The whole machine",
    papers=(),
    view=_record,
    table=machine_table,
    columns=COLUMNS,
    metrics=(Metric("slower", "time of a node or pair over the median one", ratio=True, usual=True),),
    numbers=lambda record: sampled_table.numbers_of(
        table := machine_table([record]), {"largest_ratio": float(table.loc[table["valid"], "slower"].max())}
    ),
    text=(shown(lambda table: "\n".join(sentences(table))),),
    cells=lambda table: list(_cells(table)),
    section=CurveSection(lambda _table: (), _section),
    inside=observed(
        AXES,
        "whole_machine",
        lambda records: [("nodes", str(max(one.header.nodes for one in records)))],
        lambda records: [("second half of the repetitions against the first", _control(records))],
    ),
    acceptance=Acceptance(by_node=ByNode(("own_ns", "pair_ns"), _rank_times, (MESSAGE_BYTES.name,))),
    audit=Audit(wrong),
)
