"""The records of `hybrid_kernels`: points with named fields, checked.

`benchmarks/hybrid_kernels/description.json` has the fields that only this family has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from postprocess.families.sampled import LaterSeries, Sampling, point_as, times_of
from postprocess.records.fields import Fields, FloatOrNan, Nanoseconds, Positive
from postprocess.records.reading import loads
from postprocess.records.record import Point, Record, RecordFile, record_as

FAMILY = "hybrid_kernels"
MPI, OPENMP, HYBRID = "mpi", "openmp", "hybrid"
VARIANTS = (MPI, OPENMP, HYBRID)
"""Processes and the MPI library; a process per node with threads; processes and one copy per node. They run in each
repetition, in an order that changes from method 2 on."""


@dataclass(frozen=True)
class VariantOfKernel:
    """One variant of a kernel. Memory is NaN where the kernel does not tell, replicated_pss_bytes also before method 2.

    t_ns, t_compute_ns: int64, a value per valid repetition: a solve, and the computation of the rank that computed
    longest.
    """

    t_ns: Nanoseconds
    t_compute_ns: Nanoseconds
    lines: Positive
    memory_bytes: FloatOrNan
    growth_bytes: FloatOrNan
    shared_bytes: FloatOrNan
    replicated_bytes: int
    replicated_pss_bytes: FloatOrNan


@dataclass(frozen=True, kw_only=True)
class KernelPoint(Sampling):
    """One kernel of one size, in all variants. What is new in method 2 is empty before it."""

    kernel: str
    size: Positive
    iterations: Positive
    error: float
    digest: str
    collective: str
    copy_bytes: int
    pinned: bool
    t_mpi_again_ns: LaterSeries
    handover_least_ns: LaterSeries
    handover_most_ns: LaterSeries
    variants: Mapping[str, VariantOfKernel]


@dataclass(frozen=True)
class KernelsRecord(RecordFile):
    """A record of `hybrid_kernels`. memory_only: points have no times; not so before it was recorded."""

    shared_nodes: Positive
    virtual_node_ranks: int
    dgemm: str
    ratings: str
    noise: float
    memory_only: bool
    points: tuple[KernelPoint, ...]


def kernels_record(record: Record) -> KernelsRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    return record_as(KernelsRecord, record, FAMILY, _point, {"memory_only": False})


load_kernels = loads(kernels_record)


def _point(point: Point) -> KernelPoint:
    own = Fields(point.own, point.where)
    variants = {name: _variant(point, name, own.inside("variants").inside(name)) for name in VARIANTS}
    return point_as(KernelPoint, point, ("kernel", "size"), variants=variants)


def _variant(point: Point, name: str, own: Fields) -> VariantOfKernel:
    times = {"t_ns": times_of(point, f"t_{name}_ns"), "t_compute_ns": times_of(point, f"t_{name}_compute_ns")}
    return Fields({"replicated_pss_bytes": None, **own.value}, own.where, own.name).made(VariantOfKernel, **times)
