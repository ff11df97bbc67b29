"""What families have in common whose points are sampled until they have enough repetitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from postprocess.drawing.text import duration, percent
from postprocess.records.fields import Fields, Json, Nanoseconds, fail
from postprocess.records.header import Header, bucket_ns, wire_bytes_per_second
from postprocess.records.record import Clock, Point
from postprocess.statistics import control
from postprocess.statistics.metrics import MIN_REPETITIONS, Estimate, Floats, as_float


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a point was repeated. The points of a family can derive from it.

    order: in which order the parts of each repetition ran, a decimal digit each, from 1.  late_starts: how many starts
    of each repetition a rank was late at. Both are int64, a value per valid repetition; empty in records that threw
    late repetitions away.  PARTS: the names of the series of the parts, in the order of their numbers.  part_times:
    these series.  own: the point's own part, as the record has it.
    """

    PARTS: ClassVar[tuple[str, ...]] = ()

    index: int
    start_method: str
    repetitions: int
    warmup_repetitions: int
    late_repetitions: int
    discarded_repetitions: int
    stop_reason: str
    interval_relative_reached: float
    data_errors: int
    clock: Clock
    own: Json
    order: LaterSeries
    late_starts: LaterSeries

    @property
    def part_times(self) -> tuple[ArrayLike, ...]:
        return tuple(getattr(self, name) for name in self.PARTS)


Times: TypeAlias = Nanoseconds
"""A series of times above 0, as `point_as` reads it."""
LaterSeries: TypeAlias = Nanoseconds
"""A series that is empty in records that lack it, likewise."""
_OF_START = ("order", "late_starts")


def sampling_of(point: Point) -> dict[str, Any]:
    """The fields of `Sampling`. Raises RecordError where the clock or the number of repetitions is null."""
    for name in ("clock", "repetitions"):
        if getattr(point, name) is None:
            fail(point.where, f"{name} is null")
    own = {one.name: getattr(point, one.name) for one in fields(Sampling) if one.name not in _OF_START}
    return own | {name: point.series.get(name, np.zeros(0, np.int64)) for name in _OF_START}


def check_starts(point: Point) -> None:
    """Raises RecordError where a point has an imbalance of starts without a clock, or a clock without it."""
    clocked = point.clock is not None and point.clock.method != "none"
    if clocked != ("start_imbalance_ns" in point.series):
        fail(point.where, f"series.start_imbalance_ns is {'missing' if clocked else 'there, without a clock'}")


def order_controls(points: Iterable[Sampling]) -> control.Count:
    """The count of the controls of what the points' parts find: each part against itself, of the repetitions in which
    it ran directly after the part before it in `PARTS`, and of the others. In truth the ratio is 1."""
    return control.count_by_order(
        (times, point.order, number)
        for point in points
        for number, times in enumerate(point.part_times, 1)
        if point.order.size and np.any(times)
    )


def times_of(point: Point, name: str, *, above_0: bool = True) -> Nanoseconds:
    """A series of a point. Raises RecordError where it is missing or, if its times are above 0, has a time of 0."""
    times = point.series.get(name)
    if times is None:
        fail(point.where, f"series.{name} is missing")
    if above_0 and times.size and not np.min(times) > 0:
        fail(point.where, f"series.{name} has a time of 0")
    return times


_SERIES: Mapping[str, Callable[[Point, str], Nanoseconds]] = {
    "Nanoseconds": lambda point, name: times_of(point, name, above_0=False),
    "Times": times_of,
    "LaterSeries": lambda point, name: point.series.get(name, np.zeros(0, np.int64)),
}
Sampled = TypeVar("Sampled", bound=Sampling)


def point_as(
    kind: type[Sampled],
    point: Point,
    parameters: Iterable[str],
    older: Mapping[str, Any] | None = None,
    /,
    **given: Any,
) -> Sampled:
    """A family's own type of point. What is not given is read: the series, the parameters of these names, and the rest
    of the point's own part, as `Fields.made` does.

    older: what older records lack. Raises RecordError where the point does not fit.
    """
    sampling = sampling_of(point)
    ways = {one.name: _SERIES[str(one.type)] for one in fields(kind) if str(one.type) in _SERIES}
    series = {name: way(point, name) for name, way in ways.items() if name not in {**given, **sampling}}
    check_starts(point)
    asked = Fields(dict(point.parameters), point.where, "parameters.")
    read = asked.read(kind, parameters)
    return Fields({**(older or {}), **point.own}, point.where).made(kind, **sampling, **series, **read, **given)


TOO_WIDE = "interval too wide"
"""How every reason begins that is about the width of an interval alone."""
NOT_MEASURED = "not measured"
"""The reason of a point without repetitions."""
WITHIN_BUCKET = "within_bucket"
FEW_BUCKETS = 12
"""A message that takes so many times the time of the bucket takes its bytes / rate within 5 %, one way."""
MOST_DRIFT_PPM = 500
"""As `clock_establish` has it."""


def invalid_reasons(point: Sampling) -> list[str]:
    """Reasons why a point's medians cannot be used at all; empty if they can."""
    reasons = []
    if point.stop_reason == "not_measured":
        reasons.append(NOT_MEASURED)
    elif point.repetitions < MIN_REPETITIONS:
        reasons.append(f"fewer than {MIN_REPETITIONS} repetitions ({point.repetitions})")
    if point.data_errors:
        reasons.append(f"wrong data received ({point.data_errors} errors)")
    return reasons


def wide_share(point: Sampling, what: str, share: Estimate, widest: float) -> list[str]:
    """The reason why a share, which may be near 0, is not known well; empty where it is, or where repetitions are too
    few for an interval."""
    width = as_float(share.high) - as_float(share.low)
    wide = point.repetitions >= MIN_REPETITIONS and not width <= widest
    return [f"{TOO_WIDE} ({width:.2f} around the {what}, more than {widest:.2f})"] if wide else []


def too_wide(ratio: Estimate, widest: float) -> list[str]:
    """The reason why a ratio is not known well; empty where it is. widest: of its interval, as a share of the ratio."""
    width = (as_float(ratio.high) - as_float(ratio.low)) / as_float(ratio.value)
    if not width > widest:  # there is no interval of too few repetitions, which is a reason of its own
        return []
    return [f"{TOO_WIDE} ({100 * width:.0f} % of the ratio, more than {100 * widest:.0f} %)"]


def beside_width(reasons: Iterable[str]) -> list[str]:
    """The reasons that are not about the width of an interval, the point's own or that of its `basic`."""
    return [reason for reason in reasons if TOO_WIDE not in reason]


def reasons_of_times(point: Sampling, share: float, of_ns: float, *, oversubscribed: bool = False) -> list[str]:
    """The reasons why times over ranks are not known: there was no common clock, its residual is not known, or above
    this share of the shortest of these times, or its drift is none of an oscillator; or ranks share cores."""
    reasons, residual_ns = [], point.clock.residual_ns
    if point.clock.method == "none":
        reasons.append("no common clock: times are the longest of the ranks' own durations")
    elif residual_ns is None:
        reasons.append("how far the clocks disagree is not known")
    elif residual_ns > share * of_ns:
        reasons.append(f"clocks disagree by {duration(residual_ns)}, more than {percent(share)} of {duration(of_ns)}")
    elif abs(point.clock.drift_ppm or 0) > MOST_DRIFT_PPM:
        reasons.append(f"a clock seems to drift by {point.clock.drift_ppm:.0f} ppm, as no oscillator does")
    return [*reasons, *(["oversubscribed: ranks share cores"] if oversubscribed else [])]


def calls_of(point: Point, name: str) -> int:
    """How many calls a batch of a point has; 1 where there was no time for the point. Raises RecordError."""
    own = Fields(point.own, point.where)
    return own.positive(name) if point.repetitions else max(1, own.count(name))


def median(values: Nanoseconds | Floats) -> float:
    """The median of a series; NaN for an empty one."""
    return float(np.median(values)) if values.size else math.nan


def within_bucket(header: Header, of_ns: float, sent_bytes: float = math.inf) -> list[str]:
    """The remark on a transfer that takes less than a few times what a wire lets pass at once after a pause: the
    content of its bucket, or all that is sent.

    of_ns: the time of the whole transfer.  sent_bytes: the most that a rank sends in it, where that is known.
    """
    at_once = min(float(bucket_ns(header)), 1e9 * sent_bytes / wire_bytes_per_second(header))
    if not 0 < of_ns < FEW_BUCKETS * at_once:
        return []
    return [
        f"{WITHIN_BUCKET}: {duration(of_ns)} is less than {FEW_BUCKETS} times the {duration(at_once)} that the wire's "
        "bucket lets pass at once after a pause"
    ]


def is_within_bucket(row: Mapping[Any, Any]) -> bool:
    """Whether a row's flags have the remark of `within_bucket`."""
    return any(flag.startswith(WITHIN_BUCKET) for flag in row["flags"])


def flags_of_start(point: Sampling) -> Iterator[str]:
    """The flags of late repetitions, and of a start at a barrier."""
    late = point.late_repetitions
    if point.stop_reason in ("late", "spoilt"):
        yield f"stopped because a rank came too late too often: {point.repetitions} repetitions kept"
    elif not point.late_starts.size and late > point.repetitions:
        yield f"{late} repetitions thrown away: a rank started late"
    elif point.late_starts.size and late > point.repetitions / 2:
        yield f"in {late} of {point.repetitions} repetitions a rank started late; their times run from the agreed start"
    if point.start_method == "barrier":
        yield "ranks started by a barrier, not by a clock"


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
