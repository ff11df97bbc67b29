"""What the processes of records of this family observed about themselves, and what judges its records."""

from __future__ import annotations

from collections.abc import Sequence

from postprocess.drawing.text import plural
from postprocess.families import sampled_table
from postprocess.families.family import Audit, Details
from postprocess.families.hybrid.axes import AXES
from postprocess.families.hybrid.record import COMPUTATION, HybridRecord
from postprocess.families.hybrid.table import case_of
from postprocess.families.sampled_inside import different, observed, wrong
from postprocess.records.header import keeps_apart


def _words(record: HybridRecord) -> str:
    return f"{AXES.words(sampled_table.case_of(record.header, AXES))}, hybrid collectives"


def _covered(records: Sequence[HybridRecord]) -> Details:
    return [("Hybrid collectives", different((point.operation for record in records for point in record.points), ", "))]


def _facts(records: Sequence[HybridRecord]) -> Details:
    groups = (f"{plural(record.shared_nodes, 'group')}, {case_of(record)['nodes_are']}" for record in records)
    return [("ranks that share a copy", different(groups))]


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


INSIDE = observed(_words, _covered, _facts)
AUDIT = Audit(wrong, communicated_ns, payload_bytes)
