"""Up to which message size a sender need not wait for its receiver, and who must be inside MPI, in sentences.

The sentences are about a case, from its valid points over all launches; with fewer than three they are `likely` at
most. A change lies between the largest size of one outcome and the smallest of the next. The negative control has a
sentence of its own: it must show no overlap. It shows that by its reliable points alone; at others an overlap might not
have been seen.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.text import plural, size
from postprocess.families import axes, sampled_table
from postprocess.families.sync_overlap.axes import AXES
from postprocess.families.sync_overlap.table import ESTIMATES, answers
from postprocess.statistics import late_receiver
from postprocess.statistics.late_receiver import FULL, INCOMPLETE, NONE, NOTHING, UNCLEAR, Stretch

_OUTCOME_WORDS = {FULL: "full overlap", INCOMPLETE: "incomplete overlap", NONE: "no overlap"}
_WHO_WORDS = {
    late_receiver.NEITHER: "the transfer proceeds while neither rank is inside MPI (third party)",
    late_receiver.SENDER: "the sender alone must be inside MPI (one sided)",
    late_receiver.RECEIVER: "the receiver alone must be inside MPI (one sided)",
    late_receiver.EITHER: "one of both must be inside MPI, whichever (one sided)",
    late_receiver.BOTH: "both must be inside MPI (two sided)",
}

_GROUP = sampled_table.same_case(AXES)
_CONTROL = "the negative control, a message sent when the computation is done,"


@dataclass(frozen=True)
class Verdict:
    """What holds of a case.

    sentences: all of it.  outcomes: those of `sentences` that a summary has; empty for a negative control that is as it
    must be (`good_control`): it shows no overlap, and has a reliable point.  unreliable: how many points are not
    reliable; empty where all are, and where no point is valid, because a sentence says that.
    """

    scenario: str
    sentences: tuple[str, ...]
    outcomes: tuple[str, ...]
    good_control: bool
    unreliable: str


def verdicts(table: pd.DataFrame) -> Iterator[Verdict]:
    """Yield what holds of each case in a table of `sync_table`, in its order."""
    for _, rows in over_launches(table).groupby(_GROUP, sort=False, dropna=False):
        every = rows_of(rows)
        valid = [row for row in every if row["valid"]]
        outcomes = tuple(_outcomes(every))
        more = tuple(_more(valid)) if valid and _is_early(every[0]) else ()
        sentences = (*outcomes, *more, *_memory(every[0]))
        good_control = _is_good_control(every)
        if sentences:
            where = f"{every[0]['toolchain']}, {every[0]['network']}, {AXES.words(every[0])}"
            yield Verdict(
                scenario=f"{where}{sampled_table.few_launches_words(int(rows['launches'].max()))}",
                sentences=sentences,
                outcomes=() if good_control else outcomes,
                good_control=good_control,
                unreliable=_unreliable(every),
            )


def verdict_text(table: pd.DataFrame) -> str:
    """The verdicts for the terminal, without a final newline; empty where there is none."""
    lines = []
    for verdict in verdicts(table):
        lines.append(verdict.scenario)
        lines += [f"  {sentence}" for sentence in (*verdict.sentences, verdict.unreliable) if sentence]
    return "\n".join(lines)


def over_launches(table: pd.DataFrame) -> pd.DataFrame:
    """The points of each case over its launches, with the answers that their common intervals give."""
    points = sampled_table.over_launches(table, [*_GROUP, "message_bytes"], ESTIMATES)
    for index, row in points[points["launches"] > 1].iterrows():
        of = {name: sampled_table.estimate_of(row, name) for name in ESTIMATES}
        points.loc[index, ["outcome", "who_progresses"]] = answers(int(row["message_bytes"]), of)
    return points


def _is_early(row: dict[str, Any]) -> bool:
    """Whether the message is sent before the computation: it is no negative control."""
    return axes.SEND.is_usual(row[axes.SEND.name])


def _is_control(row: dict[str, Any]) -> bool:
    return bool(row[axes.SEND.name] == axes.SENT_LATE)


def _outcomes(every: list[dict[str, Any]]) -> Iterator[str]:
    """What became of the messages of a case, from all its points; nothing where no message was sent."""
    if _is_control(every[0]):
        yield _control(every)
    elif _is_early(every[0]):
        yield from _of_early(every)


def _of_early(every: list[dict[str, Any]]) -> Iterator[str]:
    valid = [(int(row["message_bytes"]), str(row["outcome"])) for row in every if row["valid"]]
    if not valid:
        yield f"no answer: {_no_point(every, 'valid')}"
        return
    found = late_receiver.stretches(valid)
    if not found:
        yield "no answer: no valid point has a clear outcome"
    yield from _of_stretches(found, sorted(int(row["message_bytes"]) for row in every))


def _no_point(every: list[dict[str, Any]], state: str) -> str:
    return f"none of its {len(every)} points is {state}" if len(every) > 1 else f"its only point is not {state}"


def _unreliable(every: list[dict[str, Any]]) -> str:
    bad = sum(not row["reliable"] for row in every)
    invalid = sum(not row["valid"] for row in every)
    if not bad or invalid == len(every):
        return ""
    beside = f", {invalid} of them not valid" if invalid else ""
    return f"{bad} of {plural(len(every), 'point')} not reliable{beside}"


def _more(points: list[dict[str, Any]]) -> Iterator[str]:
    unclear = sum(row["outcome"] == UNCLEAR for row in points)
    if unclear:
        yield f"{plural(unclear, 'size')} unclear"
    yield _eager_limit(points[0])
    yield from _who(points)


def _of_stretches(found: list[Stretch], sizes: list[int]) -> Iterator[str]:
    """A sentence per stretch. sizes: of all points of the case, sorted, also of those that are in no stretch."""
    for number, stretch in enumerate(found):
        if stretch.first == stretch.last:
            where = f"at {_bytes(stretch.first)}"
        elif stretch.first == sizes[0]:
            where = f"up to {_bytes(stretch.last)}"
        else:
            where = f"from {_bytes(stretch.first)} to {_bytes(stretch.last)}"
        end = _end(stretch.last, sizes) if number + 1 == len(found) else ""
        yield f"{_OUTCOME_WORDS[stretch.outcome]} {where}{end}"


def _end(last: int, sizes: list[int]) -> str:
    """What is known beyond the last stretch."""
    larger = sum(size > last for size in sizes)
    if larger:
        return f"; {'a larger size has' if larger == 1 else f'{larger} larger sizes have'} no valid and clear outcome"
    return f", the {'largest' if len(sizes) > 1 else 'only'} size that was measured"


def _bytes(count: int) -> str:
    """An exact number of bytes, and a round one beside it where that says more: ``65536 bytes (64 KiB)``."""
    return f"{count} bytes ({size(count)})" if count >= 1024 else f"{count} bytes"


def _eager_limit(row: dict[str, Any]) -> str:
    limit = row["eager_limit_bytes"]
    if not math.isfinite(limit):
        return "the library's eager limit is not readable"
    return f"the library's eager limit is {_bytes(int(limit))}, says {row['eager_limit_variable']}"


def _memory(row: dict[str, Any]) -> Iterator[str]:
    total, ranks = row["idle_pss_total_bytes"], int(row["ranks"])
    if math.isfinite(total) and _is_early(row):
        yield f"memory of {plural(ranks, 'idle rank')}: {size(total)}, {size(total / ranks)} each"


def _who(points: list[dict[str, Any]]) -> Iterator[str]:
    known = [row for row in points if row["who_progresses"] not in (UNCLEAR, NOTHING)]
    known.sort(key=lambda row: int(row["message_bytes"]))
    for who, rows in groupby(known, key=lambda row: str(row["who_progresses"])):
        sizes = [int(row["message_bytes"]) for row in rows]
        where = _bytes(sizes[0]) if len(sizes) == 1 else f"{_bytes(sizes[0])} to {_bytes(sizes[-1])}"
        yield f"{where}: {_WHO_WORDS[who]}"


def _overlapping(every: list[dict[str, Any]]) -> list[int]:
    """The sizes at which valid points show overlap, bytes."""
    return sorted(int(row["message_bytes"]) for row in every if row["valid"] and row["outcome"] in (FULL, INCOMPLETE))


def _is_good_control(every: list[dict[str, Any]]) -> bool:
    return _is_control(every[0]) and not _overlapping(every) and any(map(_shows_none, every))


def _shows_none(row: Mapping[str, Any]) -> bool:
    return bool(row["reliable"]) and row["outcome"] == NONE


def _control(every: list[dict[str, Any]]) -> str:
    bad = _overlapping(every)
    if bad:
        shown = ", ".join(map(str, bad))
        return f"the negative control shows overlap, where there is none, at {shown} bytes: do not trust this run"
    if not _is_good_control(every):
        state = "reliable" if any(row["valid"] for row in every) else "valid"
        state = "clear" if any(row["reliable"] for row in every) else state
        return f"{_CONTROL} tells nothing: {_no_point(every, state)}"
    return f"{_CONTROL} shows no overlap, as it must, at {sum(map(_shows_none, every))} of {plural(len(every), 'size')}"
