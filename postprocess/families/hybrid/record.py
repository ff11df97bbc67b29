"""The records of `hybrid`: points with named fields, checked.

`benchmarks/hybrid/description.json` has the fields that only this family has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from postprocess.families.hybrid.operations import OPERATIONS
from postprocess.families.sampled import Sampling, calls_of, median, point_as, times_of
from postprocess.records.fields import Fields, Nanoseconds, Positive, fail
from postprocess.records.reading import loads
from postprocess.records.record import Point, Record, RecordFile, check_family, record_as

FAMILY = "hybrid"
BATCHES = ("library_whole", "hybrid_whole", "library_alone", "hybrid_alone", "papers_whole", "papers_alone")
"""What is timed in turn in each repetition: a batch of calls of either library and by the paper's own method, whole and
alone."""
COMPUTATION = "computation"
BATCHES_OF_NODES = ("steps", COMPUTATION, "overlap")
"""Where there are several nodes: the two steps of the collective alone, start and wait; a computation alone; and this
computation between the two steps."""
WINDOW_BYTES: Mapping[str, int] = {
    "memory_create_8_bytes_ns": 8, "memory_create_64_kib_ns": 65536, "memory_create_1_mib_ns": 1048576,
}  # fmt: skip
"""The windows whose making is timed, ascending."""

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True)
class HybridPoint(Sampling):
    """One collective with one size, made by the MPI library, by a variant of the hybrid library and by the paper's own
    method in turn.

    calls, t_ns: by the names of BATCHES and BATCHES_OF_NODES, as far as the record has them, the calls of a batch, and
    the time of a batch: int64, a value per valid repetition.  node_method, papers_node_method: empty where nothing is
    reduced.  trials_ns: NaN in records of method 5, which do not say it.
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

    one_off_ns: what is paid once, by name, on the slowest rank; a value per repetition.  one_off_of_fewer_ns: the same
    of the first ranks alone, by their number.
    """

    shared_nodes: Positive
    virtual_node_ranks: int
    numa: bool
    blocks: bool
    cutoff_bytes: int
    one_off_ns: Mapping[str, Nanoseconds]
    points: tuple[HybridPoint, ...]
    node_ranks: tuple[int, ...]
    one_off_of_fewer_ns: Mapping[int, Mapping[str, Nanoseconds]]

    @property
    def comm_create_ns(self) -> float:
        """The median time of making the communicators; NaN if it was not measured."""
        return median(self.one_off_ns.get("comm_create_ns", _NONE))

    def memory_create_ns(self, buffer_bytes: int) -> float:
        """The median time of making the memory of a node for a buffer of this size: that of the smallest window that
        was timed and has room for it, or of the largest one; NaN likewise."""
        name = next((name for name, room in WINDOW_BYTES.items() if room >= buffer_bytes), list(WINDOW_BYTES)[-1])
        return median(self.one_off_ns.get(name, _NONE))


def hybrid_record(record: Record) -> HybridRecord:
    """A record of this family from a record of any family. Raises RecordError where the record does not fit."""
    check_family(record, FAMILY)
    own = Fields(record.header.own, record.header.where, "own.")
    return record_as(
        HybridRecord,
        record,
        FAMILY,
        _point,
        one_off_ns=_one_off(own.inside("one_off"), own.mapping("one_off")),
        one_off_of_fewer_ns={
            times.positive("ranks"): _one_off(times, [name for name in names if name != "ranks"])
            for times, names in zip(own.each("one_off_of_fewer"), own.items("one_off_of_fewer"), strict=True)
        },
    )


load_hybrid = loads(hybrid_record)


def _one_off(times: Fields, names: Iterable[str]) -> Mapping[str, Nanoseconds]:
    return {name: times.times(name) for name in names}


def _point(point: Point) -> HybridPoint:
    parameters, own = Fields(dict(point.parameters), point.where, "parameters."), Fields(point.own, point.where)
    of_nodes = BATCHES_OF_NODES if f"t_{BATCHES_OF_NODES[0]}_ns" in point.series else ()
    batches = (*BATCHES, *of_nodes)
    operation = parameters.text("operation")
    if operation not in OPERATIONS:
        fail(point.where, f"parameters.operation {operation!r}: one of {', '.join(OPERATIONS)}")
    reduces = OPERATIONS[operation].reduces
    return point_as(
        HybridPoint,
        point,
        ("operation", "variant", "message_bytes"),
        calls={batch: calls_of(point, f"{batch}_calls") for batch in batches},
        t_ns={batch: times_of(point, f"t_{batch}_ns") for batch in batches},
        node_method=own.text("node_method") if reduces else "",
        papers_node_method=own.text("papers_node_method") if reduces else "",
        trials_ns=own.count("trials_ns") if "trials_ns" in point.own else math.nan,
    )
