"""What families have in common whose points are sampled until they have enough repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from postprocess.families.family import Numbers, Spent, doubt_about
from postprocess.records.record import Footer
from postprocess.statistics.metrics import MIN_REPETITIONS


class SampledPoint(Protocol):
    """A point of a record."""

    @property
    def stop_reason(self) -> str: ...
    @property
    def repetitions(self) -> int: ...
    @property
    def data_errors(self) -> int: ...


def invalid_reasons(point: SampledPoint) -> list[str]:
    """Reasons why a point's medians cannot be used at all; empty if they can."""
    reasons = []
    if point.stop_reason == "not_measured":
        reasons.append("not measured")
    elif point.repetitions < MIN_REPETITIONS:
        reasons.append(f"fewer than {MIN_REPETITIONS} repetitions ({point.repetitions})")
    if point.data_errors:
        reasons.append(f"wrong data received ({point.data_errors} errors)")
    return reasons


def spent(end: Footer | None) -> list[Spent]:
    """The CPU times of a record's threads, over the whole launch; none for a record without a footer."""
    return [Spent(end.mpi_thread_cpu_ns, end.helper_thread_cpu_ns, end.wall_seconds, end.wall_seconds)] if end else []


def none_valid(reasons: Sequence[list[str]]) -> Iterator[str]:
    """A phrase if no point of a complete record is valid. reasons: `invalid_reasons` of each point."""
    if all(reasons):
        named = dict.fromkeys(reason for of_point in reasons for reason in of_point)
        yield f"none of its {len(reasons)} points is valid: {', '.join(named) or 'there is none'}"


def numbers_by(record_numbers: Callable[[Any], Mapping[str, float]]) -> Callable[[Any, Any], Numbers]:
    """The `numbers` of a family whose records say all themselves: what `record_numbers` finds in a record, with the
    doubt about it. The record of `basic` adds nothing."""

    def numbers(record: Any, _basic: Any) -> Numbers:
        values = record_numbers(record)
        return Numbers(values, doubt=doubt_about(values))

    return numbers


def points_or_ratio(name: str) -> str:
    """The unit of a number that sums up a record, in a family whose numbers are counts of points and ratios."""
    return "points" if name.startswith("points") else "ratio"


_SEEN_BY_THE_LIBRARY = "virtual, seen by the MPI library"
_VIRTUAL = "virtual"
VIRTUAL_NODES = (_VIRTUAL, _SEEN_BY_THE_LIBRARY)
"""Words of `nodes_are` for groups of ranks of one node: what crosses between them crosses memory."""


def nodes_are(nodes: int, shared_nodes: int, virtual_node_ranks: int, *, numa: bool = False) -> str:
    """What the nodes are on which a copy is shared: `real`; `NUMA domains`; or one of VIRTUAL_NODES.

    nodes: the nodes that the ranks find out by host and boot.  shared_nodes: the groups that share a copy.
    virtual_node_ranks: the ranks of a virtual node, of which the MPI library does not know; 0 without.  numa: whether a
    group is a NUMA domain.
    """
    if virtual_node_ranks:
        return _VIRTUAL
    if numa:
        return "NUMA domains"
    return "real" if shared_nodes == nodes else _SEEN_BY_THE_LIBRARY
