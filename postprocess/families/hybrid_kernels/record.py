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
    """One variant of a kernel.

    t_ns, t_compute_ns: int64, a value per valid repetition: from the first rank's begin to the last rank's end of a
    solve, and the computation of the rank that computed longest.
    lines: of source with which it makes, uses and frees what not all variants need; before method 2, uses.
    memory_bytes: PSS of the processes that compute, summed over the node that needs most; growth_bytes: how much of it
    the kernel's data added; shared_bytes: pages that several of them have. NaN where the kernel does not tell.
    replicated_bytes: what was allocated on that node for data that several of its ranks need.
    replicated_pss_bytes: how much less PSS the node has when these are freed; NaN likewise, and before method 2.
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
    """One kernel of one size, in all variants.

    error: what is left of the solution's error, as the kernel defines it.  digest: of all bits of the result, the same
    in all variants.  collective: that which is timed apart.  copy_bytes: one copy of the data that several
    ranks of a node need.  pinned: whether each thread of the variant `openmp` ran on one CPU of its own.
    t_mpi_again_ns: the times of the control, pure MPI once more with the same data.
    handover_least_ns, handover_most_ns: as in `families.handovers`.
    These three are int64, a value per valid repetition, and empty before method 2.
    """

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
    """A record of `hybrid_kernels`.

    shared_nodes: the groups of ranks that share a copy.  virtual_node_ranks: the ranks of a virtual node, of which the
    MPI library does not know; 0 without.  dgemm: the library that multiplies matrices.  ratings: the file of the
    ratings, or `generated`.  noise: their standard deviation about the model.  memory_only: points have no times.
    """

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
