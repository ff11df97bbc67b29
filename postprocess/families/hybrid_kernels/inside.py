"""What the processes of records of this family observed about themselves, for `Family.inside`, `wrong`, `payload`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postprocess.drawing.text import plural
from postprocess.families import sampled_inside
from postprocess.families.family import Details
from postprocess.families.hybrid_kernels import validity
from postprocess.families.hybrid_kernels.record import KernelsRecord
from postprocess.families.hybrid_kernels.table import case_of, configuration_words
from postprocess.records.header import keeps_apart


def words(record: KernelsRecord) -> str:
    """The configuration of a record in words."""
    return f"{configuration_words(case_of(record))}, kernels"


def covered(records: Sequence[KernelsRecord]) -> Details:
    """The kernels that the records measured."""
    names = dict.fromkeys(f"{point.kernel} of size {point.size}" for record in records for point in record.points)
    return [("Kernels", ", ".join(names))] if names else []


def timing(records: Sequence[KernelsRecord]) -> Details:
    """Facts about starts, clocks, nodes and libraries, over the records of one configuration."""
    points = [point for record in records for point in record.points]
    groups = dict.fromkeys(
        f"{plural(record.shared_nodes, 'group')}, {case_of(record)['nodes_are']}" for record in records
    )
    return sampled_inside.timing(
        points,
        ("ranks that share a copy", "; ".join(groups)),
        ("matrices multiplied by", "; ".join(dict.fromkeys(record.dgemm for record in records))),
        ("ratings", "; ".join(dict.fromkeys(record.ratings for record in records))),
        ("threads of openmp", "each on one CPU" if all(point.pinned for point in points) else "not all pinned"),
    )


def wrong(record: KernelsRecord) -> Iterator[str]:
    """A phrase if a result of a record was wrong, or it is complete without a valid point."""
    errors = sum(point.data_errors for point in record.points)
    if errors:
        yield f"{errors} results were wrong"
    elif record.complete:
        yield from sampled_inside.none_valid(
            [validity.invalid_reasons(point, memory_only=record.memory_only) for point in record.points]
        )


def communicated_ns(record: KernelsRecord) -> float:
    """The time of all solves of a record, in ns."""
    return sum(float(variant.t_ns.sum()) for point in record.points for variant in point.variants.values())


def payload_bytes(record: KernelsRecord) -> int:
    """A lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    Each of the variants sends at least one copy of what every rank needs to each node but one. On a `wire` each rank of
    the variant `mpi` is a place of its own.
    """
    header = record.header
    wire = keeps_apart(header.network)
    places = header.ranks if wire else len({place.node for place in header.placement})
    return sum(point.repetitions * point.copy_bytes // header.ranks * (places - 1) for point in record.points)
