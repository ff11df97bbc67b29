"""The LogGP parameters as a table: one row per size of messages of each record.

    round_trip_ns   PRTT(1, 0, s)
    o_send_ns       o of the sender for messages of this size (`loggp.Times.send_overhead`)
    o_recv_ns       o of the receiver: MPI_Recv of a message that has arrived, without reading the clock
    gap_ns          from a message to the next (`loggp.Times.gap`)

Each is the median over repetitions, with the distribution-free 95 % interval of a median. The columns of PARAMETERS
belong to all sizes together that were asked for of a pair of ranks (`loggp.fit`): every row of the pair has them. The
LogGP parameter o is that of the smallest size. These are of the pair, too:

    G_from_bytes, G_to_bytes    the smallest and the largest size of the line that G is the slope of
    eager_bytes     the largest size that is sent without waiting for the receiver, below all others
    waiting_bytes   the smallest size that waits for the receiver: the eager threshold; NaN where none does

A row is of one launch. Launches differ more than the repetitions of one, so what a run says is made of all its launches
of a case (`with_runs`). Every row of these has it, in columns that begin with `run_`:

    launches                the valid launches of the case
    launches_reliable       of them, the reliable ones
    run_o_send_ns, ...      `launches.over_launches`; of a single launch, what its own row says
    run_eager_bytes         the smallest `eager_bytes` of the launches
    run_waiting_bytes       the largest `waiting_bytes` of the launches
    run_g_hidden            whether g cannot be seen in at least half of the launches
    run_G_hidden            the same of G
    run_G_from_bytes, run_G_to_bytes    the smallest and the largest size that G of a launch is of
    run_misfit              the median of their misfits
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.text import percent, size
from postprocess.families import sampled, sampled_table
from postprocess.families.cpu_overhead.loggp_record import LogGPRecord, MessagePoint
from postprocess.statistics import loggp
from postprocess.statistics.launches import over_launches
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import UNKNOWN, Estimate, as_float, series_estimate, series_estimates

OF_SIZE = ("round_trip_ns", "o_send_ns", "o_recv_ns", "gap_ns")
PARAMETERS: Mapping[str, str] = {
    "L_ns": "latency", "o_ns": "", "g_ns": "gap", "G_ns_per_byte": "gap_per_byte",
    "gamma_hot_ns_per_byte": "gamma_hot", "gamma_cold_ns_per_byte": "gamma_cold",
}  # fmt: skip
"""By column, the estimate of `loggp.Fitted`. o is the mean of both of that: its ends are the means of theirs."""
OF_RUN = tuple(f"run_{name}" for name in (*OF_SIZE, *PARAMETERS))
"""The estimates over launches."""
PLAIN_OF_RUN = (
    "launches", "launches_reliable", "run_eager_bytes", "run_waiting_bytes", "run_g_hidden", "run_G_hidden",
    "run_G_from_bytes", "run_G_to_bytes", "run_misfit",
)  # fmt: skip
WAITS = 0.5
"""A send to a late receiver that takes more than this share of the delay waits for the receiver (loggp.c says why)."""
MISFIT_LIMIT = 0.5
"""Gaps that differ by more from the fitted line belong to several protocols: the slope of the line is not G."""
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
    thresholds = thresholds_of(record)
    return {
        pair: loggp.fit(times, thresholds[pair][1])
        for pair, times in found.items()
        if len({one.message_bytes for one in times}) > 1
    }


def thresholds_of(record: LogGPRecord) -> dict[str, tuple[float, float]]:
    """By pair: the largest size that is sent without waiting for the receiver, below all that wait; and the smallest
    that waits.

    A size counts where its interval excludes `WAITS`; NaN where there is none.
    """
    pairs: dict[str, list[MessagePoint]] = {}
    for point in record.points:
        pairs.setdefault(point.pair, []).append(point)
    return {pair: _threshold_of(points) for pair, points in pairs.items()}


def _threshold_of(points: Sequence[MessagePoint]) -> tuple[float, float]:
    sends = [(point.message_bytes, series_estimate(point.late_sends)) for point in points]
    waiting = min((size for size, send in sends if as_float(send.low) > WAITS), default=math.nan)
    eager = max((size for size, send in sends if as_float(send.high) < WAITS and not size > waiting), default=math.nan)
    return float(eager), float(waiting)


def estimates_of(times: loggp.Times) -> dict[str, Estimate]:
    """The estimates of OF_SIZE."""
    values = (times.round_trip, times.send_overhead, times.receive, times.gap)
    return series_estimates(dict(zip(OF_SIZE, values, strict=True)))


def parameters_of(fitted: loggp.Fitted | None) -> dict[str, Estimate]:
    """The estimates of PARAMETERS; NaN without a fit."""
    if fitted is None:
        return dict.fromkeys(PARAMETERS, UNKNOWN)
    ends = zip(fitted.send_overhead.numbers, fitted.receive_overhead.numbers, strict=True)
    overhead = Estimate(*(np.array((sent + received) / 2) for sent, received in ends))
    return {name: getattr(fitted, field) if field else overhead for name, field in PARAMETERS.items()}


def unreliable_reasons(point: MessagePoint, fitted: loggp.Fitted | None, *, oversubscribed: bool) -> list[str]:
    """Reasons why a valid point is not reliable.  fitted: the parameters of its pair."""
    trip = series_estimate(point.times.round_trip)
    width = (as_float(trip.high) - as_float(trip.low)) / as_float(trip.value)
    return [
        *(["oversubscribed: ranks share cores"] if oversubscribed else []),
        *doubts_about_line(fitted),
        *([] if width <= WIDEST_INTERVAL else [f"{sampled.TOO_WIDE} ({percent(width)} of the round trip)"]),
    ]


def doubts_about_line(fitted: loggp.Fitted | None) -> list[str]:
    """Reasons why G of a pair, and L, which rests on it, are not reliable."""
    if fitted is None or not math.isfinite(as_float(fitted.latency.value)):
        return ["no line goes through the gaps: fewer than two sizes, or a gap that is not above 0"]
    few = f"G is of a line through {len(fitted.fitted_bytes)} gaps: no third one tests it"
    return [
        *([few] if len(fitted.fitted_bytes) < loggp.LEAST_SIZES else []),
        *(
            ["G is surely below 0: the gaps do not grow with the size"]
            if as_float(fitted.gap_per_byte.high) < 0
            else []
        ),
        *misfit_words(fitted.misfit),
    ]


def misfit_words(misfit: float) -> list[str]:
    """Why a line is that of no protocol, if it is."""
    return [f"gaps differ by {percent(misfit)} from the line: no single protocol"] if misfit > MISFIT_LIMIT else []


def flags_of(row: Mapping[Any, Any], of: str = "") -> list[str]:
    """What a reader should know of the parameters of a pair. of: before the names of their columns."""
    return [
        *(["L is below 0: the overheads of sender and receiver overlap"] if row[f"{of}L_ns_ci95_high"] < 0 else []),
        *(["o is not shorter than the gap: g cannot be seen, and is at most this"] if row[f"{of}g_hidden"] else []),
        *(
            [
                f"o is not shorter than the gaps of messages of {size(row[f'{of}G_from_bytes'])} to "
                f"{size(row[f'{of}G_to_bytes'])}, which G is of: G is at most this"
            ]
            if row[f"{of}G_hidden"]
            else []
        ),
    ]


def loggp_rows(record: LogGPRecord, failed: Sequence[str]) -> Iterator[tuple[dict[str, Any], dict[str, Estimate]]]:
    """Yield for each point the plain values and the estimates of its row.

    failed: why the case failed, if it did.
    """
    found, smallest = fits(record), min((point.message_bytes for point in record.points), default=0)
    thresholds = thresholds_of(record)
    for point in record.points:
        fitted = found.get(point.pair)
        invalid = sampled.invalid_reasons(point)
        doubts = unreliable_reasons(point, fitted, oversubscribed=record.header.oversubscribed) if not invalid else []
        estimates = {**estimates_of(corrected(point, clock_ns_of(record))), **parameters_of(fitted)}
        sizes = (math.nan, math.nan) if fitted is None else (fitted.fitted_bytes[0], fitted.fitted_bytes[-1])
        plain = {
            "pair": point.pair,
            "message_bytes": point.message_bytes,
            "communicator_ranks": 2,
            **dict(zip(("eager_bytes", "waiting_bytes"), thresholds[point.pair], strict=True)),
            "g_hidden": fitted is not None and fitted.hides_gap,
            "G_hidden": fitted is not None and fitted.hides_gap_per_byte,
            **dict(zip(("G_from_bytes", "G_to_bytes"), map(float, sizes), strict=True)),
            "misfit": fitted.misfit if fitted is not None else math.nan,
        }
        of_fit = {**plain, **sampled_table.columns_of_estimates(estimates)}
        flags = flags_of(of_fit) if point.message_bytes == smallest else []
        yield {**plain, **sampled_table.columns_of_point(record, point, [*failed, *invalid, *doubts], flags)}, estimates


def with_runs(rows: Sequence[dict[str, Any]], case: Sequence[str]) -> list[dict[str, Any]]:
    """The rows, those of messages with what all launches of their case say of the same pair and size of messages.

    These are the columns PLAIN_OF_RUN and OF_RUN.  case: the columns that the launches of a case have in common.
    """
    alike: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    keys = [tuple(row[name] for name in (*case, "pair", "message_bytes")) for row in rows]
    for key, row in zip(keys, rows, strict=True):
        if row["pair"]:
            alike.setdefault(key, []).append(row)
    found = {key: _run_of(launches) for key, launches in alike.items()}
    return [{**row, **found.get(key, {})} for key, row in zip(keys, rows, strict=True)]


def _run_of(launches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of `with_runs` from the rows of one size of each launch."""
    valid = [row for row in launches if row["valid"]]
    found: dict[str, Any] = {"launches": len(valid), "launches_reliable": sum(row["reliable"] for row in valid)}
    for name in ("g_hidden", "G_hidden"):
        found[f"run_{name}"] = bool(valid) and 2 * sum(row[name] for row in valid) >= len(valid)
    for name, number in (
        ("eager_bytes", np.min),  # NaN where one is
        ("waiting_bytes", np.max),
        ("G_from_bytes", np.fmin.reduce),  # those of launches that have a line
        ("G_to_bytes", np.fmax.reduce),
        ("misfit", np.median),
    ):
        found[f"run_{name}"] = float(number([row[name] for row in valid])) if valid else math.nan
    for name in OF_RUN:
        parts = ([row[f"{name[4:]}{end}"] for row in valid] for end in sampled_table.ENDS)
        found |= sampled_table.columns_of_estimates({name: over_launches(*parts)})
    return found


def run_remarks(row: Mapping[Any, Any]) -> list[str]:
    """The remarks on what a run of several launches says, from the row of its smallest size."""
    launches, reliable = int(row["launches"]), int(row["launches_reliable"])
    return [
        *([f"unreliable: {launches - reliable} of {launches} launches"] if reliable < launches else []),
        *([] if launches >= LEAST_LAUNCHES else [f"of fewer than {LEAST_LAUNCHES} launches"]),
        *flags_of(row, "run_"),
        *misfit_words(float(row["run_misfit"])),
    ]


def numbers_of(record: LogGPRecord) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame: the parameters of the first pair of ranks, and its round trip with
    the smallest messages.

    Both are left out where the smallest size of that pair is not valid, so that the same pair and size is compared
    always. So are L and G where the line is in doubt, and numbers that are not finite.
    """
    rows = list(loggp_rows(record, ()))
    first = rows[0][1] if rows and rows[0][0]["valid"] else {}  # sizes ascend
    in_doubt = ("L_ns", "G_ns_per_byte") if rows and doubts_about_line(fits(record).get(rows[0][0]["pair"])) else ()
    names = [name for name in ("round_trip_ns", *PARAMETERS) if name in first and name not in in_doubt]
    table = pd.DataFrame([plain for plain, _ in rows], columns=["valid", "reliable"])
    return sampled_table.numbers_of(table, {name: as_float(first[name].value) for name in names})
