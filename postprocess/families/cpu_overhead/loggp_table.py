"""The LogGP parameters as a table: one row per size of messages of each record.

    round_trip_ns   PRTT(1, 0, s)
    o_send_ns       o of the sender for messages of this size (`loggp.Times.send_overhead`)
    o_recv_ns       o of the receiver: MPI_Recv of a message that has arrived, without reading the clock
    gap_ns          from a message to the next (`loggp.Times.gap`)

Each is the median over repetitions, with the distribution-free 95 % interval of a median. The columns of PARAMETERS
belong to all sizes together that were asked for of a pair of ranks (`loggp.fit`): every row of the pair has them. The
LogGP parameter o is that of the smallest size. These are of the pair, too:

    eager_bytes     the largest size that is sent without waiting for the receiver, below all others
    waiting_bytes   the smallest size that waits for the receiver: the eager threshold; NaN where none does
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from postprocess.drawing.text import percent
from postprocess.families import sampled
from postprocess.families.cpu_overhead.loggp_record import LogGPRecord, MessagePoint
from postprocess.statistics import loggp
from postprocess.statistics.metrics import Estimate, as_float, median_estimate

OF_SIZE = ("round_trip_ns", "o_send_ns", "o_recv_ns", "gap_ns")
PARAMETERS: Mapping[str, str] = {
    "L_ns": "latency",
    "o_ns": "",
    "g_ns": "gap",
    "G_ns_per_byte": "gap_per_byte",
    "gamma_hot_ns_per_byte": "gamma_hot",
    "gamma_cold_ns_per_byte": "gamma_cold",
}
"""By column, the estimate of `loggp.Fitted`. o is the mean of both of that: its ends are the means of theirs."""
WAITS = 0.5
"""A send to a late receiver that takes more than this share of the delay waits for the receiver (loggp.c says why)."""
MISFIT_LIMIT = 0.5
"""Gaps that differ by more from the fitted line are not those of one protocol."""
WIDEST_INTERVAL = 0.1
"""A point whose round trips have a wider interval, relative to their median, is not reliable."""


def corrected(point: MessagePoint, clock_ns: float) -> loggp.Times:
    """The times of a point without that of reading the clock, which is within each receive."""
    return replace(point.times, receive=point.times.receive - clock_ns)


def clock_ns_of(record: LogGPRecord) -> float:
    """The time of reading the clock; 0 where it is not known."""
    timer = record.header.timer
    return timer.overhead_ns if timer is not None and math.isfinite(timer.overhead_ns) else 0.0


def fits(record: LogGPRecord) -> dict[str, loggp.Fitted]:
    """The parameters by pair, from the valid points; pairs with fewer than two sizes have none."""
    found: dict[str, list[loggp.Times]] = {}
    for point in record.points:
        if point.is_asked and not sampled.invalid_reasons(point):
            found.setdefault(point.pair, []).append(corrected(point, clock_ns_of(record)))
    return {pair: loggp.fit(times) for pair, times in found.items() if len({one.message_bytes for one in times}) > 1}


def threshold_of(points: Sequence[MessagePoint]) -> tuple[float, float]:
    """The largest size that is sent without waiting for the receiver, below all that wait; and the smallest that waits.

    A size counts where its interval excludes `WAITS`; NaN where there is none.
    """
    sends = [(point.message_bytes, median_estimate(point.late_sends)) for point in points]
    waiting = min((size for size, send in sends if as_float(send.low) > WAITS), default=math.nan)
    eager = max((size for size, send in sends if as_float(send.high) < WAITS and not size > waiting), default=math.nan)
    return float(eager), float(waiting)


def estimates_of(times: loggp.Times) -> dict[str, Estimate]:
    """The estimates of OF_SIZE."""
    values = (times.round_trip, times.send_overhead, times.receive, times.gap)
    return {name: median_estimate(of) for name, of in zip(OF_SIZE, values, strict=True)}


def parameters_of(fitted: loggp.Fitted | None) -> dict[str, Estimate]:
    """The estimates of PARAMETERS; NaN without a fit."""
    if fitted is None:
        unknown = median_estimate([])
        return dict.fromkeys(PARAMETERS, unknown)
    ends = zip(_ends(fitted.send_overhead), _ends(fitted.receive_overhead), strict=True)
    overhead = Estimate(*(median_estimate([(one + two) / 2]).value for one, two in ends))
    return {name: getattr(fitted, field) if field else overhead for name, field in PARAMETERS.items()}


def unreliable_reasons(point: MessagePoint, fitted: loggp.Fitted | None, *, oversubscribed: bool) -> list[str]:
    """Reasons why a valid point is not reliable.  fitted: the parameters of its pair."""
    trip = median_estimate(point.times.round_trip)
    width = (as_float(trip.high) - as_float(trip.low)) / as_float(trip.value)
    known = fitted is not None and math.isfinite(as_float(fitted.latency.value))
    return [
        *(["oversubscribed: ranks share cores"] if oversubscribed else []),
        *([] if known else ["no line goes through the gaps: fewer than two sizes, or a gap that is not above 0"]),
        *([] if width <= WIDEST_INTERVAL else [f"the interval of the round trip is {percent(width)} of it wide"]),
    ]


def flags_of(fitted: loggp.Fitted | None, smallest: bool) -> list[str]:
    """What a reader should know of the parameters of a pair. smallest: the row has the smallest size."""
    if fitted is None or not smallest:
        return []
    return [
        *(["o is not shorter than the gap: g cannot be seen, and is at most this"] if fitted.hides_gap else []),
        *(
            [f"gaps differ by {percent(fitted.misfit)} from the line: no single protocol"]
            if fitted.misfit > MISFIT_LIMIT
            else []
        ),
    ]


def loggp_rows(record: LogGPRecord, failed: Sequence[str]) -> Iterator[tuple[dict[str, Any], dict[str, Estimate]]]:
    """Yield for each point the plain values and the estimates of its row.

    failed: why the case failed, if it did.
    """
    found = fits(record)
    thresholds = {
        pair: threshold_of([point for point in record.points if point.pair == pair])
        for pair in dict.fromkeys(point.pair for point in record.points)
    }
    for point in record.points:
        smallest = min(one.message_bytes for one in record.points)
        fitted = found.get(point.pair)
        invalid = sampled.invalid_reasons(point)
        doubts = unreliable_reasons(point, fitted, oversubscribed=record.header.oversubscribed) if not invalid else []
        reasons = [*failed, *invalid, *doubts]
        plain = {
            "pair": point.pair,
            "message_bytes": point.message_bytes,
            "communicator_ranks": 2,
            "repetitions": point.repetitions,
            "warmup_repetitions": point.warmup_repetitions,
            "late_repetitions": point.late_repetitions,
            "discarded_repetitions": point.discarded_repetitions,
            "data_errors": point.data_errors,
            "stop_reason": point.stop_reason,
            "interval_relative_reached": point.interval_relative_reached,
            "start_method": point.start_method,
            "index": point.index,
            **dict(zip(("eager_bytes", "waiting_bytes"), thresholds[point.pair], strict=True)),
            "g_hidden": fitted is not None and fitted.hides_gap,
            "misfit": fitted.misfit if fitted is not None else math.nan,
            "valid": not invalid,
            "reliable": not reasons,
            "unreliable_reasons": reasons,
            "flags": flags_of(fitted, point.message_bytes == smallest),
        }
        yield plain, {**estimates_of(corrected(point, clock_ns_of(record))), **parameters_of(fitted)}


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return as_float(estimate.value), as_float(estimate.low), as_float(estimate.high)


def numbers_of(record: LogGPRecord) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame: the parameters of the first pair of ranks, and its round trip with
    the smallest messages.

    Both are left out where the smallest size of that pair is not valid, so that the same pair and size is compared
    always. Numbers that are not finite are left out.
    """
    rows = list(loggp_rows(record, ()))
    first = rows[0][1] if rows and rows[0][0]["valid"] else {}  # sizes ascend
    numbers = {
        **{name: as_float(first[name].value) for name in ("round_trip_ns", *PARAMETERS) if name in first},
        "points": float(len(rows)),
        "points_valid": float(sum(plain["valid"] for plain, _ in rows)),
        "points_reliable": float(sum(plain["reliable"] for plain, _ in rows)),
    }
    return {name: value for name, value in numbers.items() if math.isfinite(value)}
