"""The table of messages to a late receiver: one row per point, with its outcome and its validity.

Times of a repetition are combined within it. Their value is the median over repetitions, and the 95 % interval is that
of a median, distribution free, from order statistics (`metrics.series_estimate`).

    t_after_wait_ns   t_recv - t_wait                 negative: MPI_Recv completed before the sender called MPI_Wait
    t_whole_ns        t_whole_recv - t_whole_send     a transfer of which nothing can have moved before
    recv_over_wait    t_recv / t_wait                 the result of figure 2 in units of the sender's computation: 0.5
                                                      with full overlap, 1 with none
    outcome, moved_share, unseen_share, who_progresses, transfer        `statistics.late_receiver`
    range_bytes       the largest size up to which all outcomes of the case are full; NaN where the smallest is not
    range_ends        whether a larger size without full overlap was found
    planted, expected_outcome, expected_who, as_expected                `planted`; empty where nothing was planted
    planted_right     1 where as_expected is yes, 0 where it is no; NaN where it is unclear, and where nothing was
                      planted. The answers rest on intervals already: its interval is the value itself
    fragments, fragment_bytes       buffers that the library reserves for each rank in advance; NaN where not readable

`validity` says what a point may be used for.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Column, Columns, estimate, number, plain
from postprocess.drawing.text import duration, percent
from postprocess.families import axes, sampled, sampled_table
from postprocess.families.sampled_table import LAST, leading
from postprocess.families.sync_overlap import validity
from postprocess.families.sync_overlap.axes import AXES
from postprocess.families.sync_overlap.planted import PULLS, RIGHT, WRONG, Expected, expected
from postprocess.families.sync_overlap.record import SyncPoint, SyncRecord
from postprocess.records.header import NAMED, Header
from postprocess.statistics import late_receiver
from postprocess.statistics.metrics import Estimate, Floats, series_estimates

ESTIMATES = (
    "t_recv_ns", "t_wait_ns", "t_after_wait_ns", "t_whole_ns", "t_round_trip_ns", "recv_over_wait",
    "arrived_neither_bytes", "arrived_sender_bytes", "t_receiver_after_wait_ns", "planted_right",
)  # fmt: skip
_OF_POINT = ("t_isend_ns", "t_delay_ns")
COLUMNS = sampled_table.with_own(AXES.family, (
    *AXES.case, NAMED, "message_bytes", "asked", "outcome", "who_progresses", "transfer", "range_bytes", "range_ends",
    "planted", "expected_outcome", "expected_who", "as_expected",
    "eager_limit_bytes", "eager_limit_variable", "moved_share", "unseen_share",
    *sampled_table.names_of_estimates(ESTIMATES),
    *_OF_POINT, "fragments", "fragment_bytes", *sampled_table.LAST_COLUMNS,
))  # fmt: skip
"""The columns of `sync_table`, in order.

Times are medians in nanoseconds, sizes in bytes; shares have no unit. An unknown number is NaN. `asked` tells the sizes
that were asked for from those that were measured to find where the outcome changes.
"""


EAGER_LIMIT = "eager_limit_variable"
"""The key of a record's metadata that names the MPI_T control variable of the limit on the record's network."""
FRAGMENTS = "fragment_variables"
"""The key of a record's metadata that names the control variables with the number of buffers that the library reserves
for each rank in advance, and with their size."""


def values_of(point: SyncPoint) -> dict[str, Floats]:
    """The values of a point by the names of their columns, a value per repetition."""
    recv, wait = (np.asarray(times, dtype=np.float64) for times in (point.t_recv_ns, point.t_wait_ns))
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.where(wait > 0, recv / wait, np.nan)
    return {
        "t_recv_ns": recv,
        "t_wait_ns": wait,
        "t_after_wait_ns": recv - wait,
        "t_whole_ns": np.asarray(point.t_whole_recv_ns - point.t_whole_send_ns, dtype=np.float64),
        "t_round_trip_ns": np.asarray(point.t_round_trip_ns, dtype=np.float64),
        "recv_over_wait": quotient,
        "arrived_neither_bytes": np.asarray(point.arrived_neither_bytes, dtype=np.float64),
        "arrived_sender_bytes": np.asarray(point.arrived_sender_bytes, dtype=np.float64),
        "t_receiver_after_wait_ns": np.asarray(point.t_receiver_recv_ns - point.t_receiver_wait_ns, dtype=np.float64),
    }


def answers(message_bytes: int, found: Mapping[str, Estimate]) -> tuple[str, str]:
    """The outcome of messages of this size, and who must be inside MPI. found: ESTIMATES of them, by name."""
    outcome = late_receiver.outcome(found["t_after_wait_ns"], found["t_whole_ns"], found["t_round_trip_ns"])
    if not message_bytes:
        return outcome, late_receiver.NOTHING
    who = late_receiver.who_progresses(
        late_receiver.arrives(found["arrived_neither_bytes"], message_bytes),
        late_receiver.arrives(found["arrived_sender_bytes"], message_bytes),
        late_receiver.completes(found["t_receiver_after_wait_ns"]),
    )
    return outcome, who


def _rows(record: SyncRecord, failed: Sequence[str]) -> Iterator[dict[str, Any]]:
    header, case = record.header, sampled_table.case_of(record.header, AXES)
    control = not axes.SEND.is_usual(case[axes.SEND.name])
    limit, variable = eager_limit_of(header)
    fragments, fragment_bytes = fragments_of(header)
    pulls = str(header.metadata.get(PULLS, ""))
    points = sorted(record.points, key=lambda point: (point.message_bytes, point.index))
    found = [series_estimates(values_of(point)) for point in points]
    answered = [answers(point.message_bytes, of) for point, of in zip(points, found, strict=True)]
    known = [
        (point.message_bytes, answer)
        for point, (answer, _) in zip(points, answered, strict=True)
        if not sampled.invalid_reasons(point)
    ]
    full, ends = late_receiver.full_range(late_receiver.stretches(known))
    for point, of, (answer, who) in zip(points, found, answered, strict=True):
        unseen = late_receiver.unseen_share(of["t_after_wait_ns"], of["t_whole_ns"], of["t_round_trip_ns"])
        moved = late_receiver.moved_share(of["t_after_wait_ns"], of["t_whole_ns"])
        must = expected(case, point.message_bytes, pulls)
        estimates = {**of, "planted_right": _right(must, answer, who)}
        reasons = [
            *failed,
            *validity.unreliable_reasons(
                point, answer, who, of["t_whole_ns"], unseen, oversubscribed=header.oversubscribed
            ),
        ]
        flags = [
            *validity.flags(point, answer, control=control),
            *_unexpected(must, answer, who),
            *sampled.within_bucket(header, float(estimates["t_whole_ns"].value)),
        ]
        yield {
            **case,
            "message_bytes": point.message_bytes,
            "asked": point.message_bytes in record.asked,
            "outcome": answer,
            "who_progresses": who,
            "transfer": late_receiver.transfer_kind(who),
            "range_bytes": full,
            "range_ends": ends,
            "planted": must.planted if must else "",
            "expected_outcome": must.outcome_words if must else "",
            "expected_who": must.who if must else "",
            "as_expected": must.answer(answer, who) if must else "",
            "eager_limit_bytes": limit,
            "eager_limit_variable": variable,
            "moved_share": moved if answer in (late_receiver.INCOMPLETE, late_receiver.NONE) else math.nan,
            "unseen_share": unseen if answer == late_receiver.NONE else math.nan,
            **sampled_table.columns_of_estimates(estimates),
            **{name: getattr(point, name) for name in _OF_POINT},
            "fragments": fragments,
            "fragment_bytes": fragment_bytes,
            **sampled_table.columns_of_point(record, point, reasons, flags),
        }


def eager_limit_of(header: Header) -> tuple[float, str]:
    """The eager limit in bytes, and the control variable that has it; NaN and "" where it cannot be read.

    What the variable counts is the library's business: often the header of the message is included.
    """
    variable: Any = header.metadata.get(EAGER_LIMIT)
    limit = _value(header, variable)
    return (limit, str(variable)) if math.isfinite(limit) else (math.nan, "")


def fragments_of(header: Header) -> tuple[float, float]:
    """The number of buffers that the library reserves for a rank in advance, and their size in bytes; NaN where it
    cannot be read."""
    names: Any = header.metadata.get(FRAGMENTS)
    count, size = names if isinstance(names, list) and len(names) == 2 else (None, None)
    return _value(header, count), _value(header, size)


def _value(header: Header, variable: Any) -> float:
    text = (header.mpi_variables or {}).get(variable, "") if isinstance(variable, str) else ""
    return float(int(text)) if text.isdecimal() else math.nan


sync_table = sampled_table.maker(COLUMNS, _rows)
"""One row per point of each record, by message size; the columns are COLUMNS."""


def _right(must: Expected | None, answer: str, who: str) -> Estimate:
    right = {RIGHT: 1.0, WRONG: 0.0}.get(must.answer(answer, who), math.nan) if must else math.nan
    return Estimate(*[np.asarray(right)] * 3)


def _unexpected(must: Expected | None, answer: str, who: str) -> Iterator[str]:
    if must and must.answer(answer, who) == WRONG:
        in_mpi = f", and {must.who} inside MPI" if must.who else ""
        yield f"not as planted ({must.planted}): it must be {must.outcome_words}{in_mpi}"


def with_messages(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of launches that sent messages: those of SENT_NEVER have only the memory of idle ranks."""
    chosen: pd.DataFrame = table[table[axes.SEND.name] != axes.SENT_NEVER]
    return chosen


def record_numbers(record: SyncRecord) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame. Numbers that are not finite are left out.

    Over the `usable` points among the sizes that were asked for: the mean of recv_over_wait, in which a size weighs the
    same whatever its delay, and the geometric mean of t_whole_ns. Besides range_bytes, and counts of all points:
    points, points_valid, points_reliable.
    """
    table = sync_table([record])
    chosen = sampled_table.usable(table[table["asked"].astype(bool)])
    ranges = table["range_bytes"].to_numpy(dtype=np.float64)
    numbers = {
        "recv_over_wait": float(chosen["recv_over_wait"].mean()) if len(chosen) else math.nan,
        "t_whole_ns": sampled_table.geometric_mean(chosen["t_whole_ns"]),
        "range_bytes": float(ranges[0]) if ranges.size else math.nan,
    }
    return sampled_table.numbers_of(table, numbers)


def _arrived(name: str) -> Callable[[Mapping[Any, Any]], str]:
    return lambda row: percent(row[name] / row["message_bytes"]) if row["message_bytes"] else ""


SHOWN = Columns((
    *leading(AXES),
    number("bytes", "message_bytes", "{:.0f}".format),
    plain("outcome"),
    plain("inside MPI", "who_progresses"),
    plain("transfer"),
    *estimate("recv/wait", "recv_over_wait"),
    number("after wait", "t_after_wait_ns", duration),
    number("whole", "t_whole_ns", duration),
    number("delay", "t_delay_ns", duration),
    Column("arrived, neither", _arrived("arrived_neither_bytes"), right=True),
    Column("sender", _arrived("arrived_sender_bytes"), right=True),
    *LAST,
))  # fmt: skip
"""The columns of a table of `sync_table` for a reader."""
