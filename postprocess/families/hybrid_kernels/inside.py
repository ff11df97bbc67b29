"""What the processes of records of this family observed about themselves, and what judges its records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from postprocess.drawing.text import plural
from postprocess.families import sampled_inside, sampled_table
from postprocess.families.family import Audit, Details
from postprocess.families.hybrid_kernels import validity
from postprocess.families.hybrid_kernels.axes import AXES
from postprocess.families.hybrid_kernels.record import KernelsRecord
from postprocess.families.hybrid_kernels.table import case_of
from postprocess.families.sampled_inside import different
from postprocess.records.header import keeps_apart


def _words(record: KernelsRecord) -> str:
    return f"{AXES.words(sampled_table.case_of(record.header, AXES))}, kernels"


def _covered(records: Sequence[KernelsRecord]) -> Details:
    names = (f"{point.kernel} of size {point.size}" for record in records for point in record.points)
    return [("Kernels", different(names, ", "))]


def _facts(records: Sequence[KernelsRecord]) -> Details:
    groups = (f"{plural(record.shared_nodes, 'group')}, {case_of(record)['nodes_are']}" for record in records)
    pinned = all(point.pinned for record in records for point in record.points)
    return [
        ("ranks that share a copy", different(groups)),
        ("matrices multiplied by", different(record.dgemm for record in records)),
        ("ratings", different(record.ratings for record in records)),
        ("threads of openmp", "each on one CPU" if pinned else "not all pinned"),
    ]


def wrong(record: KernelsRecord) -> Iterator[str]:
    """A phrase if a result of a record was wrong, or it is complete without a valid point."""
    reasons = partial(validity.invalid_reasons, memory_only=record.memory_only)
    return sampled_inside.wrong(record, "results were wrong", reasons)


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


INSIDE = sampled_inside.observed(_words, _covered, _facts)
AUDIT = Audit(wrong, communicated_ns, payload_bytes)
