"""Up to which message size a sender need not wait for its receiver, and who must be inside MPI, in sentences.

Each launch of a case has its own sentences, from its valid points. A change lies between the largest size of one
outcome and the smallest of the next. The negative control has a sentence of its own: it must show no overlap at any
size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.text import plural, size
from postprocess.families import axes
from postprocess.families.sync_overlap.axes import CASE
from postprocess.families.sync_overlap.table import configuration_words
from postprocess.records.header import NAMED
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

_GOOD_CONTROL = "the negative control, a message sent when the computation is done, shows no overlap, as it must"


@dataclass(frozen=True)
class Verdict:
    """What holds of one launch of a case.

    sentences: all of it.  outcomes: those of `sentences` that a summary has; empty for a negative control that is as it
    must be (`good_control`).  unreliable: how many points are not reliable; empty where all are.
    """

    scenario: str
    sentences: tuple[str, ...]
    outcomes: tuple[str, ...]
    good_control: bool
    unreliable: str


def verdicts(table: pd.DataFrame) -> Iterator[Verdict]:
    """Yield what holds of each launch in a table of `sync_table`, in its order."""
    for _, rows in table.groupby([*CASE, NAMED], sort=False, dropna=False):
        every = rows_of(rows)
        points = [row for row in every if row["valid"]]
        outcomes = tuple(_outcomes(points)) if points else ()
        more = tuple(_more(points)) if points and _is_early(points[0]) else ()
        sentences = (*outcomes, *more, *_memory(every[0]))
        good_control = outcomes == (_GOOD_CONTROL,)
        bad = sum(not row["reliable"] for row in points)
        if sentences:
            yield Verdict(
                scenario=_scenario(every[0], many=int(rows["launch"].max()) > 1),
                sentences=sentences,
                outcomes=() if good_control else outcomes,
                good_control=good_control,
                unreliable=f"{bad} of {plural(len(points), 'point')} not reliable" if bad else "",
            )


def verdict_text(table: pd.DataFrame) -> str:
    """The verdicts for the terminal, without a final newline; empty where there is none."""
    lines = []
    for verdict in verdicts(table):
        lines.append(verdict.scenario)
        lines += [f"  {sentence}" for sentence in (*verdict.sentences, verdict.unreliable) if sentence]
    return "\n".join(lines)


def _scenario(row: dict[str, Any], *, many: bool) -> str:
    launch = f", launch {row['launch']}" if many else ""
    return f"{row['toolchain']}, {row['network']}, {configuration_words(row)}{launch}"


def _is_early(row: dict[str, Any]) -> bool:
    """Whether the message is sent before the computation: it is no negative control."""
    return axes.SEND.is_usual(row[axes.SEND.name])


def _outcomes(points: list[dict[str, Any]]) -> Iterator[str]:
    if not _is_early(points[0]):
        yield _control(points)
        return
    found = late_receiver.stretches([(int(row["message_bytes"]), str(row["outcome"])) for row in points])
    yield from _of_stretches(found)


def _more(points: list[dict[str, Any]]) -> Iterator[str]:
    unclear = sum(row["outcome"] == UNCLEAR for row in points)
    if unclear:
        yield f"{plural(unclear, 'size')} unclear"
    yield _eager_limit(points[0])
    yield from _who(points)


def _of_stretches(found: list[Stretch]) -> Iterator[str]:
    for number, stretch in enumerate(found):
        if number == 0:
            where = f"up to {_bytes(stretch.last)}"
        elif stretch.first == stretch.last:
            where = f"at {_bytes(stretch.first)}"
        else:
            where = f"from {_bytes(stretch.first)} to {_bytes(stretch.last)}"
        end = ", the largest that was measured" if number + 1 == len(found) else ""
        yield f"{_OUTCOME_WORDS[stretch.outcome]} {where}{end}"


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


def _control(points: list[dict[str, Any]]) -> str:
    bad = sorted(int(row["message_bytes"]) for row in points if row["outcome"] in (FULL, INCOMPLETE))
    if bad:
        shown = ", ".join(map(str, bad))
        return f"the negative control shows overlap, where there is none, at {shown} bytes: do not trust this run"
    return _GOOD_CONTROL
