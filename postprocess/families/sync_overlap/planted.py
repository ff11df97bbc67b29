"""Planted cases: what must be found because of how the library was set. They show whether the answers are right.

The settings are those of the axis `protocol`, a progress thread, and the negative control. An expectation is made only
for sizes that are far below or far above the limit that was planted: between them, it depends on the library.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from postprocess.drawing.columns import Column, Columns, number, plain
from postprocess.drawing.text import plural
from postprocess.families import axes
from postprocess.records.header import keeps_apart
from postprocess.statistics import late_receiver
from postprocess.statistics.late_receiver import BOTH, FULL, INCOMPLETE, NEITHER, NONE, RECEIVER, UNCLEAR

SMALL_BYTES = 64
"""Up to this size a message is sent eagerly, however low the limit is."""
FLIPPED_BYTES = 65536
"""A message of this size is sent eagerly with the protocol `eager`, whose limit is four times as large, and not with
`rendezvous`."""
LARGE_BYTES = 1 << 20
"""From this size on no message is sent eagerly, within a node or over the wire."""
PULLS = "single_copy_by"
"""The key of a record's metadata that says which rank copies a large message, where the kernel copies it once."""
RIGHT, WRONG, CANNOT_TELL = "yes", "no", "unclear"

_NOTHING_EARLY = frozenset((NONE, INCOMPLETE))


@dataclass(frozen=True)
class Expected:
    """What a planted case must find.

    planted: what was planted, in words.  outcomes: the outcomes that are right.  who: who must be inside MPI; empty
    where nothing is expected of that.
    """

    planted: str
    outcomes: frozenset[str]
    who: str = ""

    @property
    def outcome_words(self) -> str:
        return " or ".join(name for name in late_receiver.OUTCOMES if name in self.outcomes)

    def answer(self, outcome: str, who: str) -> str:
        """Whether what was found is as expected: RIGHT, WRONG, or CANNOT_TELL where an answer is unclear."""
        wrong_outcome = outcome not in (*self.outcomes, UNCLEAR)
        if wrong_outcome or (self.who and who not in (self.who, UNCLEAR)):
            return WRONG
        return CANNOT_TELL if UNCLEAR in (outcome, who if self.who else "") else RIGHT


def _eagerly(planted: str) -> Expected:
    return Expected(planted, frozenset((FULL,)), RECEIVER)


def _by_rendezvous(planted: str) -> Expected:
    return Expected(planted, _NOTHING_EARLY, BOTH)


def expected(case: Mapping[str, Any], message_bytes: int, pulls: str) -> Expected | None:
    """What a point must find; None where nothing was planted.

    case: the columns of `sampled_table.case_of`.  pulls: which rank copies a large message within a node by itself,
    where the library says so (`PULLS`); else empty.
    """
    if case[axes.SEND.name] == axes.SENT_LATE:
        return Expected("sent late", frozenset((NONE,)))
    if not message_bytes:  # among them the point of SENT_NEVER
        return None
    if case["configuration"] != "basic":
        return Expected("progress thread", frozenset((FULL,)), NEITHER)
    if message_bytes <= SMALL_BYTES:
        return _eagerly("small message")
    return _of_protocol(str(case[axes.PROTOCOL.name]), str(case["network"]), message_bytes, pulls)


def _of_protocol(protocol: str, network: str, message_bytes: int, pulls: str) -> Expected | None:
    large = message_bytes >= LARGE_BYTES
    within_a_node = network == "shm"
    holds_less = within_a_node or keeps_apart(network)  # the sockets of other networks may hold a large message
    if protocol == "default":
        if not large:
            return None
        if not within_a_node:
            return _by_rendezvous("rendezvous") if holds_less else None
        return Expected("single copy", frozenset((FULL,)), pulls) if pulls else None
    if protocol == "copied":
        return _by_rendezvous("no single copy") if large else None
    if protocol == "eager":
        if large:
            return _by_rendezvous("above the raised limit") if holds_less else None
        return _eagerly("limit raised") if message_bytes <= FLIPPED_BYTES else None
    return _by_rendezvous("limit lowered") if message_bytes >= FLIPPED_BYTES else None


def planted_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The valid points of a table of `sync_table` that something was planted for, of the sizes that were asked for."""
    chosen: pd.DataFrame = _asked(table)[_asked(table)["as_expected"] != ""]
    return chosen


def _asked(table: pd.DataFrame) -> pd.DataFrame:
    """The valid points of the sizes that were asked for."""
    chosen: pd.DataFrame = table[table["valid"] & table["asked"].astype(bool)]
    return chosen


def planted_sentence(table: pd.DataFrame) -> str:
    """How many of the answers about planted cases are right, how many rest on points that are not reliable, and how
    many differ from the answer where nothing was set. Empty where there is none.
    """
    rows = planted_rows(table)
    if rows.empty:
        return ""
    found, unreliable = list(rows["as_expected"]), int((~rows["reliable"].astype(bool)).sum())
    parts = [f"{found.count(RIGHT)} as they must be"]
    parts += [f"{found.count(answer)} {words}" for answer, words in _OTHERS if answer in found]
    beside = f"; {unreliable} of the {len(found)} rest on points that are not reliable" if unreliable else ""
    changed, held = flipped(table)
    control = (
        f"; {changed} of {held} must differ from the answer of basic and default at their size, and the others would "
        "be right, too, if the setting did nothing"
        if held
        else ""
    )
    return f"of {plural(len(found), 'planted answer')}, {', '.join(parts)}{beside}{control}"


_SAME = [
    "toolchain", "provider", "network", "ranks", "nodes", "threads_per_rank", axes.NAMED_CORES.name, "message_bytes",
]  # fmt: skip


def flipped(table: pd.DataFrame) -> tuple[int, int]:
    """How many planted answers must differ from that of `basic` with the protocol `default` at the same size, and how
    many have such a one beside them. The others would be right, too, if the setting did nothing.

    An answer that is unclear is none that must differ.
    """
    rows = _asked(table)
    is_usual = (
        (rows["configuration"] == "basic")
        & (rows[axes.PROTOCOL.name] == axes.PROTOCOL.usual)
        & (rows[axes.SEND.name] == axes.SEND.usual)
    )
    usual = rows[is_usual].drop_duplicates(_SAME)[[*_SAME, "outcome", "who_progresses"]]
    both = rows[~is_usual & (rows["as_expected"] != "")].merge(usual, on=_SAME, suffixes=("", "_usual"))
    return sum(_must_differ(row) for row in both.to_dict("records")), len(both)


def _must_differ(row: Mapping[Any, Any]) -> bool:
    """Whether the answer of `basic` and `default`, `..._usual`, would be wrong where something was planted."""
    must = Expected(row["planted"], frozenset(row["expected_outcome"].split(" or ")), row["expected_who"])
    return must.answer(row["outcome_usual"], row["who_progresses_usual"]) == WRONG


_OTHERS = ((CANNOT_TELL, "unclear"), (WRONG, "wrong"))


SHOWN = Columns((
    plain("toolchain"),
    plain("network"),
    Column("configuration", lambda row: axes.configuration_words(row, (axes.SEND, axes.PROTOCOL))),
    plain("planted"),
    number("bytes", "message_bytes", "{:.0f}".format),
    plain("outcome, expected", "expected_outcome"),
    plain("found", "outcome"),
    plain("inside MPI, expected", "expected_who"),
    Column("found", lambda row: str(row["who_progresses"]) if row["expected_who"] else ""),
    plain("as expected", "as_expected"),
))  # fmt: skip
"""The table of planted cases, of rows of `sync_table`."""
