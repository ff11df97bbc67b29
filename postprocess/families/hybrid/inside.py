"""What the processes of records of this family observed about themselves, for `Family.inside`, `wrong`, `payload`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postprocess.drawing.text import duration, plural
from postprocess.families import sampled
from postprocess.families.family import Details, Spent
from postprocess.families.hybrid.record import COMPUTATION, HybridRecord
from postprocess.families.hybrid.table import case_of, configuration_words
from postprocess.records.header import keeps_apart


def words(record: HybridRecord) -> str:
    """The configuration of a record in words."""
    return f"{configuration_words(case_of(record))}, hybrid collectives"


def spent(record: HybridRecord) -> list[Spent]:
    """The CPU times of a record's threads, over the whole launch; none for a record without a footer."""
    return sampled.spent(record.footer)


def covered(records: Sequence[HybridRecord]) -> Details:
    """The collectives that the records measured."""
    names = dict.fromkeys(point.operation for record in records for point in record.points)
    return [("Hybrid collectives", ", ".join(names))] if names else []


def timing(records: Sequence[HybridRecord]) -> Details:
    """Facts about starts, clocks and nodes, over the records of one configuration."""
    points = [point for record in records for point in record.points]
    starts = dict.fromkeys(point.start_method for point in points)
    residuals = [point.clock.residual_ns for point in points if point.clock.residual_ns is not None]
    late = sum(point.late_repetitions for point in points)
    groups = dict.fromkeys(
        f"{plural(record.shared_nodes, 'group')}, {case_of(record)['nodes_are']}" for record in records
    )
    facts = [
        ("start of a repetition", "; ".join(starts)),
        ("ranks that share a copy", "; ".join(groups)),
        ("largest residual of the clocks", duration(max(residuals)) if residuals else ""),
        ("warm-ups left out", str(sum(point.warmup_repetitions for point in points))),
        ("late repetitions thrown away", str(late) if late else ""),
    ]
    return [(name, value) for name, value in facts if value and points]


def wrong(record: HybridRecord) -> Iterator[str]:
    """A phrase if a record received wrong data, or is complete without a valid point."""
    errors = sum(point.data_errors for point in record.points)
    if errors:
        yield f"{errors} wrong values were received"
    elif record.complete:
        yield from sampled.none_valid([sampled.invalid_reasons(point) for point in record.points])


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
