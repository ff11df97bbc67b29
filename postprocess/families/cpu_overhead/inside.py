"""What the processes of records of this family observed about themselves, and what judges its records."""

from __future__ import annotations

from collections.abc import Sequence

from postprocess.drawing.text import duration
from postprocess.families import sampled_table
from postprocess.families.cpu_overhead.axes import AXES
from postprocess.families.cpu_overhead.loggp_record import LogGPRecord
from postprocess.families.cpu_overhead.record import CpuRecord
from postprocess.families.cpu_overhead.table import AnyRecord
from postprocess.families.family import Audit, Details
from postprocess.families.sampled_inside import different, observed, wrong
from postprocess.records.header import keeps_apart
from postprocess.statistics.metrics import least_crossing_bytes


def _words(record: AnyRecord) -> str:
    what = "LogGP parameters" if isinstance(record, LogGPRecord) else "CPU time of collectives"
    return f"{AXES.words(sampled_table.case_of(record.header, AXES))}, {what}"


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


INSIDE = observed(_words, _covered, _facts)
AUDIT = Audit(wrong, communicated_ns, payload_bytes)
