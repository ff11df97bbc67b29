"""What the processes of records of this family observed about themselves, and what judges its records."""

from __future__ import annotations

from collections.abc import Sequence

from postprocess.families import sampled_table
from postprocess.families.family import Audit, Details
from postprocess.families.partitioned.axes import AXES
from postprocess.families.partitioned.record import PartitionedRecord
from postprocess.families.sampled_inside import different, observed, wrong
from postprocess.records.header import keeps_apart


def _words(record: PartitionedRecord) -> str:
    case = sampled_table.case_of(record.header, AXES)
    return f"{AXES.words(case)}, {record.approach}, partitioned"


def _covered(records: Sequence[PartitionedRecord]) -> Details:
    return [("Approaches", different((record.approach for record in records), ", "))]


def _facts(records: Sequence[PartitionedRecord]) -> Details:
    discarded = sum(point.discarded_repetitions for record in records for point in record.points)
    return [("other repetitions thrown away", str(discarded) if discarded else "")]


def communicated_ns(record: PartitionedRecord) -> float:
    """The time of the references, in which only one message is under way, summed over all repetitions, in ns."""
    return sum(float(point.t_ref_ns.sum()) for point in record.points)


def payload_bytes(record: PartitionedRecord) -> int:
    """A lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    Each rank of the first half sends to the rank of the same number in the second half, and with several neighbours to
    the next ones there. In each repetition it sends the buffer of each neighbour twice: by the approach, and as the
    reference. On a `wire` sender and receiver are always apart, on other networks where they are of different nodes.
    """
    return sum(
        2 * point.repetitions * point.message_bytes * _crossing(record, point.neighbours) for point in record.points
    )


def _crossing(record: PartitionedRecord, neighbours: int) -> int:
    """The pairs of a sender and a neighbour of it that are apart."""
    header, half = record.header, record.header.ranks // 2
    if keeps_apart(header.network):
        return half * neighbours
    nodes = [place.node for place in header.placement]
    return sum(
        nodes[sender] != nodes[half + (sender + step) % half] for sender in range(half) for step in range(neighbours)
    )


INSIDE = observed(_words, _covered, _facts)
AUDIT = Audit(wrong, communicated_ns, payload_bytes)
