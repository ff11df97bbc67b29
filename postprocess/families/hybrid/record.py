"""The records of `hybrid`: points with named fields, checked.

`benchmarks/hybrid/description.json` has the fields that only this family has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from postprocess.families.hybrid.operations import OPERATIONS
from postprocess.families.sampled import Sampling, point_as, times_of
from postprocess.records.fields import Fields, Nanoseconds, Positive, fail
from postprocess.records.reading import loads
from postprocess.records.record import Point, Record, RecordFile, check_family, record_as

FAMILY = "hybrid"
BATCHES = ("library_whole", "hybrid_whole", "library_alone", "hybrid_alone")
"""What is timed in turn in each repetition: a batch of calls of either library, whole and alone."""
LATER_BATCHES = ("papers_whole", "papers_alone")
"""The same by the paper's own method, which records before method 2 do not have."""
COMPUTATION = "computation"
BATCHES_OF_NODES = ("steps", COMPUTATION, "overlap")
"""Where there are several nodes: the two steps of the collective alone, start and wait; a computation alone; and this
computation between the two steps. Older records do not have them."""
WINDOW_BYTES: Mapping[str, int] = {
    "memory_create_8_bytes_ns": 8, "memory_create_64_kib_ns": 65536, "memory_create_1_mib_ns": 1048576,
}  # fmt: skip
"""The windows whose making is timed, ascending."""


@dataclass(frozen=True, kw_only=True)
class HybridPoint(Sampling):
    """One collective with one size, made by the MPI library, by a variant of the hybrid library and by the paper's own
    method in turn.

    message_bytes: the buffer, or the block of one rank (`Operation.per_rank`).
    calls, t_ns: by the names of BATCHES, LATER_BATCHES and BATCHES_OF_NODES, as far as the record has them, the calls
    of a batch, and the time of a batch from the first rank's begin to the last rank's end: int64, a value per valid
    repetition.
    handover_least_ns, handover_most_ns: the least and the most time in which ranks of a node handed a cache line to
    each other, of those that were timed after each batch: int64, a value per valid repetition, 0 where no two ranks
    share a node. Empty in records before method 2.
    evicts: whether ranks evicted what they had read from their caches (variants that try it).
    node_method, papers_node_method: how the node's memory was reduced, and in the batches by the paper's own method; ""
    where nothing is reduced, and in records that do not say.
    trials_ns: how long the trials of the variant took on the slowest rank; 0 where nothing is tried, NaN where the
    record does not say.
    choice_handover_ns: the time of a hand-over right after these trials; 0 where it is not known.
    """

    operation: str
    variant: str
    message_bytes: Positive
    calls: Mapping[str, int]
    t_ns: Mapping[str, Nanoseconds]
    handover_least_ns: Nanoseconds
    handover_most_ns: Nanoseconds
    evicts: bool
    node_method: str
    papers_node_method: str
    trials_ns: float
    choice_handover_ns: int


@dataclass(frozen=True)
class HybridRecord(RecordFile):
    """A record of `hybrid`.

    shared_nodes: the groups of ranks that share a copy.  virtual_node_ranks: the ranks of a virtual node, of which the
    MPI library does not know; 0 without.  numa: whether a group is a NUMA domain.  blocks: whether the ranks of each
    group are consecutive.
    node_ranks: the ranks of each group; () where an older record does not say.
    one_off_ns: what is paid once, by name, on the slowest rank; a value per repetition.
    one_off_of_fewer_ns: the same of the first ranks alone, by their number.
    """

    shared_nodes: Positive
    virtual_node_ranks: int
    numa: bool
    blocks: bool
    cutoff_bytes: int
    one_off_ns: Mapping[str, Nanoseconds]
    points: tuple[HybridPoint, ...]
    node_ranks: tuple[int, ...] = ()
    one_off_of_fewer_ns: Mapping[int, Mapping[str, Nanoseconds]] = field(default_factory=dict)

    @property
    def comm_create_ns(self) -> float:
        """The median time of making the communicators; NaN if it was not measured."""
        return _median(times for name, times in self.one_off_ns.items() if name == "comm_create_ns")

    def memory_create_ns(self, buffer_bytes: int) -> float:
        """The median time of making the memory of a node for a buffer of this size: that of the smallest window that
        was timed and has room for it, or of the largest one; NaN likewise."""
        name = next((name for name, room in WINDOW_BYTES.items() if room >= buffer_bytes), list(WINDOW_BYTES)[-1])
        return _median([self.one_off_ns[name]] if name in self.one_off_ns else [])


def _median(times: Iterable[Nanoseconds]) -> float:
    every = [value for one in times for value in one]
    return float(np.median(every)) if every else math.nan


def hybrid_record(record: Record) -> HybridRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    check_family(record, FAMILY)
    own = Fields({**_LACKING, **record.header.own}, record.header.where, "own.")
    return record_as(
        HybridRecord,
        record,
        FAMILY,
        lambda point: _point(point, record.header.method),
        _LACKING,
        one_off_ns=_one_off(own.inside("one_off"), own.mapping("one_off")),
        one_off_of_fewer_ns={
            times.positive("ranks"): _one_off(times, [name for name in names if name != "ranks"])
            for times, names in zip(own.each("one_off_of_fewer"), own.items("one_off_of_fewer"), strict=True)
        },
    )


load_hybrid = loads(hybrid_record)


_LACKING: Mapping[str, list[int]] = {"node_ranks": [], "one_off_of_fewer": []}
"""What older records do not have."""


def _one_off(times: Fields, names: Iterable[str]) -> Mapping[str, Nanoseconds]:
    return {name: times.times(name) for name in names}


def _point(point: Point, method: int) -> HybridPoint:
    parameters, own = Fields(dict(point.parameters), point.where, "parameters."), Fields(point.own, point.where)
    of_nodes = BATCHES_OF_NODES if f"t_{BATCHES_OF_NODES[0]}_ns" in point.series else ()
    batches = (*BATCHES, *(LATER_BATCHES if method > 1 else ()), *of_nodes)
    operation = parameters.text("operation")
    if operation not in OPERATIONS:
        fail(point.where, f"parameters.operation {operation!r}: one of {', '.join(OPERATIONS)}")
    return point_as(
        HybridPoint,
        point,
        ("operation", "variant", "message_bytes"),
        calls={batch: own.positive(f"{batch}_calls") for batch in batches},
        t_ns={batch: times_of(point, f"t_{batch}_ns") for batch in batches},
        handover_least_ns=_handovers(point, "handover_least_ns", method),
        handover_most_ns=_handovers(point, "handover_most_ns", method),
        evicts=method > 1 and own.flag("evicts"),
        node_method=_node_method(own, "node_method", operation, method),
        papers_node_method=_node_method(own, "papers_node_method", operation, method),
        trials_ns=own.count("trials_ns") if "trials_ns" in point.own else math.nan,
        choice_handover_ns=own.count("choice_handover_ns") if method > 3 else 0,
    )


def _node_method(own: Fields, name: str, operation: str, method: int) -> str:
    """In records of method 4 the own choice may have been the paper's own method, which was tried with long messages
    only: MPI_Reduce within the node."""
    if not OPERATIONS[operation].reduces or method < 4:
        return ""
    if method == 4:
        return "reduce" if name == "node_method" and own.flag("takes_papers") else ""
    return own.text(name)


def _handovers(point: Point, name: str, method: int) -> Nanoseconds:
    return np.zeros(0, np.int64) if method == 1 else times_of(point, name, above_0=False)
