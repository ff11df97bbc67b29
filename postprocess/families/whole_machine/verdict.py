"""Which nodes, links, paths and switches of a machine are slower than the others, from all launches of a case.

A node's time is that of its slowest rank, a pair's time the mean of its two nodes'. Over launches it is
the shortest: what is slow is slow in every launch, and noise is not. `statistics.slow_parts` finds the causes, of each
message size on its own; a cause is told with the size at which it is largest. A node that computes slowly sends slowly,
too: its link is told only where it is slower still.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import first_of, made_once
from postprocess.drawing.text import clean, plural, size, with_interval
from postprocess.drawing.text import first_of as few
from postprocess.families.axes import FamilyAxes
from postprocess.families.family import Axis
from postprocess.families.sampled_table import case_words, same_case, sound
from postprocess.statistics.launches import likely
from postprocess.statistics.slow_parts import ALARMS, FEWEST, Cause, causes, slow_alone

FAMILY = "whole_machine"
PART = Axis("part", "part", usual="", of="point")
ROUND = Axis("round", "round", usual=0, of="point", kind="integer")
MESSAGE_BYTES = Axis("message_bytes", "message", usual=0, of="point", kind="integer", unit="bytes", words=size)
"""0: no messages."""
HOST = Axis("host", "node", usual="", of="point")
AXES = FamilyAxes(FAMILY, (PART, ROUND, MESSAGE_BYTES, HOST))
ALONE, PAIR = "alone", "pair"
NODE, LINK, PATH, SWITCH = "node", "link", "path", "switch"
MOST_NAMED = 8
_WHAT = {NODE: "{}", LINK: "the link of {}", PATH: "the path between {} and {}", SWITCH: "the uplink of switch {}"}


@dataclass(frozen=True)
class Fault:
    """What is slow. kind: NODE, LINK, PATH or SWITCH.  names: of the host, of both hosts, or of the switch or
    both.  slower: how many times as long it takes, with its 95 % interval.  message_bytes: at which size; 0:
    computing."""

    kind: str
    names: tuple[str, ...]
    slower: tuple[float, float, float]
    message_bytes: int = 0

    @property
    def what(self) -> str:
        """``the link of node3``."""
        return _WHAT[self.kind].format(*map(clean, self.names))

    @property
    def words(self) -> str:
        """``the link of node3 takes 1.98 [1.91, 2.05] times as long for messages of 256 KiB``."""
        doing = f"for messages of {size(self.message_bytes)}" if self.message_bytes else "to compute"
        return f"{self.what} takes {with_interval(*self.slower)} times as long {doing}"


@dataclass(frozen=True)
class Case:
    """What a case tells of a machine.  row: the first row of its table.  rows: those that count.  measured: how many
    rows each part has, also of those that do not count.  whole: whether these
    are sound; if not, as where ranks share cores, nothing better was measured.  faults: the largest first."""

    row: dict[str, Any]
    rows: pd.DataFrame
    measured: Mapping[str, int]
    whole: bool
    faults: tuple[Fault, ...]

    @property
    def nodes(self) -> int:
        return int(self.rows["host"].nunique())

    @property
    def launches(self) -> int:
        return int(self.rows["launch"].nunique())

    def of(self, part: str) -> tuple[Fault, ...]:
        """The faults that a part found."""
        return tuple(fault for fault in self.faults if (fault.kind == NODE) == (part == ALONE))


@made_once
def judged(table: pd.DataFrame) -> list[Case]:
    """What each case of the family's table tells. A case without valid points tells nothing."""
    is_sound = sound(table)
    found = []
    for _, its in table.groupby(same_case(AXES), sort=False, dropna=False):
        rows = its[is_sound[its.index]]
        whole = not rows.empty
        rows = rows if whole else its[its["valid"]]
        if not rows.empty:
            faults = sorted(_faults(rows), key=lambda fault: -fault.slower[0])
            found.append(Case(first_of(rows), rows, dict(Counter(its["part"])), whole, tuple(faults)))
    return found


def _faults(rows: pd.DataFrame) -> Iterator[Fault]:
    alone_rows = rows[rows["part"] == ALONE]
    alone = over_usual(alone_rows).groupby([alone_rows["host"], alone_rows["launch"]]).median().groupby("host").min()
    pairs = rows[rows["part"] == PAIR]
    alarms = ALARMS / (1 + pairs["message_bytes"].nunique())
    found = slow_alone(alone.to_numpy(np.float64), alarms=alarms)
    slow = [Fault(NODE, (str(alone.index[node]),), slower) for node, slower in found]
    yield from slow
    computes = {fault.names: fault.slower[2] for fault in slow}
    largest: dict[tuple[str, tuple[str, ...]], Fault] = {}
    for message_bytes, its in pairs.groupby("message_bytes"):
        for fault in _of_pairs(its, int(str(message_bytes)), alarms):
            known = largest.get((fault.kind, fault.names))
            is_more = fault.kind != LINK or fault.slower[1] > computes.get(fault.names, 0.0)
            if is_more and (known is None or fault.slower[0] > known.slower[0]):
                largest[fault.kind, fault.names] = fault
    yield from largest.values()


def over_usual(rows: pd.DataFrame) -> pd.Series[Any]:
    """The time of each row of a part, of one message in a pair, over the median of its launch and message size. What is
    computed alone, and how often messages are sent, differs from launch to launch, and the latter from round to
    round."""
    once = rows["own_ns"] / rows["calls"].clip(lower=1)
    usual: pd.Series[Any] = once / once.groupby([rows["launch"], rows["message_bytes"]]).transform("median")
    return usual


def pairs_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Of rows of pairs with one message size: a row per pair of a round, with `first` and `second`, the hosts, and
    `slower`, its time over the usual one."""
    hosts = np.sort(rows[["host", "partner"]].to_numpy(str), axis=1).T
    pairs = rows.assign(first=hosts[0], second=hosts[1], slower=over_usual(rows))
    keys = ["round", "first", "second"]
    of_launch = pairs.groupby([*keys, "launch"], as_index=False)["slower"].mean()
    over_launches: pd.DataFrame = of_launch.groupby(keys, as_index=False)["slower"].min()
    return over_launches


def _of_pairs(rows: pd.DataFrame, message_bytes: int, alarms: float) -> Iterator[Fault]:
    pairs = pairs_of(rows)
    switch_of = rows.groupby("host")["switch"].first()
    hosts = switch_of.index
    places = np.column_stack([hosts.get_indexer(pd.Index(pairs[name])) for name in ("first", "second")])
    numbers, switches = pd.factorize(switch_of)
    known = (switch_of != "").all()
    for cause in causes(
        places, pairs["slower"].to_numpy(np.float64), numbers if known else None, pairs["round"], alarms=alarms
    ):
        yield Fault(cause.kind, _names(cause, pairs, hosts, switches), cause.slower, message_bytes)


def _names(cause: Cause, pairs: pd.DataFrame, hosts: pd.Index[Any], switches: pd.Index[Any]) -> tuple[str, ...]:
    if cause.kind == SWITCH and len(switches) == 2:  # each pair across takes both uplinks
        return (" or ".join(map(str, switches)),)
    if cause.kind == PATH:
        row = pairs.iloc[cause.number]
        return str(row["first"]), str(row["second"])
    return (str((switches if cause.kind == SWITCH else hosts)[cause.number]),)


def _untold(case: Case) -> str:
    """The parts of which nothing counts, and why no switch is judged where some are known."""
    parts = {ALONE: "nodes alone", PAIR: "pairs"}
    nothing = [parts[part] for part in case.measured if part not in set(case.rows["part"])]
    hosts = case.rows.groupby("host")["switch"].first()
    without = hosts.index[hosts == ""]
    told = [f"nothing can be told of {' and '.join(nothing)}"] * bool(nothing)
    if 0 < len(without) < len(hosts):
        told.append(f"switches are not judged: that of {few([clean(name) for name in without], 3)} is not known")
    return "".join(f"; {one}" for one in told)


def sentences(table: pd.DataFrame) -> Iterator[str]:
    """What is slow in each case, or that nothing is."""
    for case in judged(table):
        doubt = "" if case.whole else "; NOT RELIABLE, as the remarks say"
        if case.nodes < FEWEST:
            told = f"nothing is told of {plural(case.nodes, 'node')}: {FEWEST} are needed"
        else:
            named = few([fault.words for fault in case.faults], MOST_NAMED, ", and {} more")
            what = named or "none is slower than the others"
            told = f"of {plural(case.nodes, 'node')}, {likely(case.launches)}{what}{_untold(case)}"
        yield f"{case_words(AXES, case.row)}: {told}{doubt}"
