"""What the processes of records of this family observed about themselves, for `Family.inside`, `wrong`, `payload`."""

from __future__ import annotations

from collections.abc import Sequence

from postprocess.drawing.text import plural
from postprocess.families import sampled_inside
from postprocess.families.family import Details
from postprocess.families.hybrid.record import COMPUTATION, HybridRecord
from postprocess.families.hybrid.table import case_of, configuration_words
from postprocess.records.header import keeps_apart


def words(record: HybridRecord) -> str:
    """The configuration of a record in words."""
    return f"{configuration_words(case_of(record))}, hybrid collectives"


def covered(records: Sequence[HybridRecord]) -> Details:
    """The collectives that the records measured."""
    names = dict.fromkeys(point.operation for record in records for point in record.points)
    return [("Hybrid collectives", ", ".join(names))] if names else []


def timing(records: Sequence[HybridRecord]) -> Details:
    """Facts about starts, clocks and nodes, over the records of one configuration."""
    points = [point for record in records for point in record.points]
    groups = dict.fromkeys(
        f"{plural(record.shared_nodes, 'group')}, {case_of(record)['nodes_are']}" for record in records
    )
    return sampled_inside.timing(
        points,
        ("ranks that share a copy", "; ".join(groups)),
    )


def communicated_ns(record: HybridRecord) -> float:
    """The time of all batches of a record that communicate, in ns."""
    return sum(
        float(times.sum()) for point in record.points for batch, times in point.t_ns.items() if batch != COMPUTATION
    )


def payload_bytes(record: HybridRecord) -> int:
    """A lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    In one call of either library each node but one gets a broadcast once, or hands in a partial sum; of an allgather it
    gets at least one block. On a `wire` each rank of the MPI library's calls is a place of its own; what the hybrid
    library sends there is left out.
    """
    header = record.header
    wire = keeps_apart(header.network)
    places = header.ranks if wire else len({place.node for place in header.placement})
    return sum(
        point.repetitions * point.calls[batch] * point.message_bytes * (places - 1)
        for point in record.points
        for batch in (("library_whole", "library_alone") if wire else point.calls)
        if batch != COMPUTATION
    )
