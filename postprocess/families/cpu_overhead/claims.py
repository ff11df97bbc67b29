"""What a run says about the claims of Hoefler et al. 2006 and about ways of waiting, in sentences.

A sentence says that a share is below or above a threshold only where its whole interval is. Only reliable points count.
The interval of an average over the points of a launch reaches from the average of their lower ends to that of their
upper ends. That of an average user or system share is narrower (`cpu_use.average_of_tick_shares`). Over launches it is
`launches.over_launches`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import first_of
from postprocess.drawing.text import duration, percent, plural, ratio, size
from postprocess.families import axes, sampled_table
from postprocess.families.cpu_overhead.axes import AXES
from postprocess.families.cpu_overhead.loggp_table import PARAMETERS
from postprocess.families.cpu_overhead.record import (
    BLOCKING,
    EVEN_WORKING,
    LATE,
    ONCE,
    OUT_OF_STEP,
    SKEWED,
    SKEWED_WORKING,
    SOAKING,
    WITH_LATE,
    WORKING,
)
from postprocess.families.cpu_overhead.table import BY_TICKS
from postprocess.families.sampled_table import estimate_of, having
from postprocess.statistics import cpu_use, launches, limits
from postprocess.statistics.effects import sure_at
from postprocess.statistics.metrics import UNKNOWN, Estimate, as_float

PAPERS_COLLECTIVE = "allreduce"
PAPERS_NODES = 8
"""Its claims about MPI_Allreduce are of communicators of more nodes."""
LEAST_CHANGE = 0.05
"""A smaller change of the CPU share counts as none."""
MISSED_BY_CHANCE = 0.05
"""The share of 95 % intervals that do not contain the true value."""
WAITS = ("yielding", "blocking")
"""The library settings that are about waiting."""


CLAIMS: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "cpu_share": ("CPU", {"MPICH2 1.0.3": 0.30, "LAM/MPI 7.1.2": 0.10}),
    "user_share": ("CPU in user mode", {"MPICH2 1.0.3": 0.10, "LAM/MPI 7.1.2": 0.03}),
}
"""What the paper says of the shares of MPI_Allreduce over TCP (section 3): by column, its words, and below which share
that of each library is, on average."""
_GROUP = sampled_table.same_case(AXES, axes.OPERATION.name, axes.LIBRARY_SETTING.name)


def judged(share: Estimate, threshold: float) -> str:
    """below, above, or cannot tell: the interval contains the threshold, or is not known."""
    low, high = as_float(share.low), as_float(share.high)
    return "below" if high < threshold else "above" if low > threshold else "cannot tell"


def average(rows: pd.DataFrame, column: str) -> Estimate:
    """The average of a column over the points of each launch, and the median of these over launches; NaN without rows.

    Points that not every launch has are left out, where some are in all: launches are compared on the same points.
    """
    every = rows.groupby(_POINT, dropna=False)["launch"].transform("nunique") == rows["launch"].nunique()
    rows = rows[every] if every.any() else rows
    each = [_average_of_launch(of_launch, column).numbers for _, of_launch in rows.groupby("launch", sort=False)]
    return launches.over_launches(*np.transpose(each)) if each else UNKNOWN


def _average_of_launch(rows: pd.DataFrame, column: str) -> Estimate:
    ends = [rows[f"{column}{end}"].to_numpy(np.float64) for end in sampled_table.ENDS]
    if column in BY_TICKS:
        cpu_shares = sum(rows[name].to_numpy(np.float64) for name in BY_TICKS)
        return cpu_use.average_of_tick_shares(ends[0], np.asarray(cpu_shares), rows["cpu_ticks"].to_numpy(np.float64))
    return Estimate(*(values.mean() for values in ends))


def sentences(table: pd.DataFrame) -> list[str]:
    """The sentences about a table of `cpu_table`, in its order."""
    return [f"{case}: {sentence}" for case, of_case in _sentences_of_cases(table) for sentence in of_case]


def sentences_by_case(table: pd.DataFrame) -> dict[str, list[str]]:
    """The same sentences under the words for their case."""
    by_case: dict[str, list[str]] = {}
    for case, of_case in _sentences_of_cases(table):
        if of_case:
            by_case.setdefault(case, []).extend(of_case)
    return by_case


def _sentences_of_cases(table: pd.DataFrame) -> Iterator[tuple[str, list[str]]]:
    collectives = table[table["way"] != ""]
    for _, rows in collectives.groupby([*_GROUP, axes.LIBRARY_SETTING.name], sort=False):
        kinds = (_of_papers_claims, _of_ways, _of_late_ranks, _of_ranks_out_of_step, _of_availability, _of_nodes)
        yield _where(rows), [sentence for kind in kinds for sentence in kind(rows)]
    for _, rows in table.groupby(_GROUP, sort=False):
        yield _where(rows, setting=False), [*_of_control(rows), *_of_settings(rows), *_of_agreement(rows)]


def verdicts(table: pd.DataFrame) -> list[tuple[str, str]]:
    """For each case of a table of `cpu_table`: the case in words, and what blocking calls cost the CPU; and likewise
    what a message costs it by the LogGP parameters."""
    calls, messages = table[table["way"] == BLOCKING], table[table["pair"] != ""]
    return [
        (_where(rows), _of_idle_time(rows))
        for _, rows in calls.groupby([*_GROUP, axes.LIBRARY_SETTING.name], sort=False)
    ] + [
        (_where(rows, f", {str(pair).replace('_', ' ')}"), _of_messages(rows))
        for (*_, pair), rows in messages.groupby([*_GROUP, "pair"], sort=False)
    ]


def _left_out(rows: pd.DataFrame, column: str) -> str:
    """What the average of a column would be with the valid points that are not reliable; empty where there are none."""
    valid = rows[rows["valid"].astype(bool)]
    others = len(valid) - int(valid["reliable"].sum())
    with_them = f"with {plural(others, 'point')} more that {'is' if others == 1 else 'are'} valid but not reliable"
    return f" ({_share(average(valid, column))} {with_them})" if others else ""


def _of_idle_time(rows: pd.DataFrame) -> str:
    reliable = rows[rows["reliable"].astype(bool)]
    if reliable.empty:
        return "no blocking collective has a reliable point"
    idle = average(reliable, "idle_share")
    found = {
        "below": "blocking collectives leave no CPU time idle",
        "above": "blocking collectives leave CPU time idle, which nonblocking ones could give back",
        "cannot tell": (
            f"whether blocking collectives leave more than {percent(LEAST_CHANGE)} of CPU time idle cannot be told"
        ),
    }[judged(idle, LEAST_CHANGE)]
    count = plural(len(reliable), "reliable point")
    return f"{found}: {_share(idle)} of their time, on average over {count}{_left_out(rows, 'idle_share')}"


def _of_messages(rows: pd.DataFrame) -> str:
    """Whether a message takes more of the CPU's time than of the network's: o or L, of all launches.

    The paper assumes that o is longer in its section 2.1, and that L is in 2.2. An L below 0 is no time of the network.
    """
    row = rows.sort_values("message_bytes", kind="stable").iloc[0]
    overhead, latency = (estimate_of(row, f"run_{name}_ns") for name in ("o", "L"))
    doubtful = int(row["launches"] - row["launches_reliable"])
    of_launches = plural(int(row["launches"]), "valid launch") + (
        f", {doubtful} of them not reliable" if doubtful else ""
    )
    if not math.isfinite(as_float(latency.value)):
        return f"the LogGP parameters are not known, from {of_launches}"
    asked = "whether a message takes more of a CPU at each end than of the network cannot be told"
    found = {
        "below": "a message takes less of a CPU at each end than of the network",
        "above": "a message takes more of a CPU at each end than of the network",
        "cannot tell": asked,
    }[compared(overhead, latency)]
    if as_float(latency.value) < 0:
        sure = "L is" if as_float(latency.high) < 0 else "L may be"
        found = f"{asked}, since {sure} below 0: the overheads of sender and receiver overlap"
    several = "" if row["launches"] > 1 else ", whose interval does not contain what differs between launches"
    return f"{found}: o {_time(overhead)}, L {_time(latency)}, from {of_launches}{several}"


def compared(one: Estimate, other: Estimate) -> str:
    """below, above, or cannot tell: their intervals have a point in common, or are not known."""
    below = as_float(one.high) < as_float(other.low)
    above = as_float(one.low) > as_float(other.high)
    return "below" if below else "above" if above else "cannot tell"


def _time(estimate: Estimate) -> str:
    value, low, high = map(duration, estimate.numbers)
    return f"{value} [{low}, {high}]" if math.isfinite(as_float(estimate.low)) else f"{value}, no interval"


def _where(rows: pd.DataFrame, more: str = "", *, setting: bool = True) -> str:
    """The case of rows in words.  more: what else tells it.  setting: they are of one library setting."""
    first = first_of(rows)
    if not setting:
        first[axes.LIBRARY_SETTING.name] = axes.LIBRARY_SETTING.usual
    launches = rows.loc[rows["valid"].astype(bool), "launch"].nunique()
    return f"{sampled_table.case_words(AXES, first)}{more}{sampled_table.few_launches_words(launches)}"


def _share(estimate: Estimate) -> str:
    value, low, high = map(percent, estimate.numbers)
    return f"{value} [{low}, {high}]"


def _of_control(rows: pd.DataFrame) -> Iterator[str]:
    """In how many points the blocking call differs from itself. By their intervals, at most 5 % of them should."""
    calls = rows[(rows["way"] == BLOCKING) & rows["reliable"].astype(bool) & rows["slowdown_ci95_low"].notna()]
    if calls.empty:
        return
    differ = int(((calls["slowdown_ci95_low"] > 1) | (calls["slowdown_ci95_high"] < 1)).sum())
    share = cpu_use.binomial_share(differ, len(calls))
    doubt = "" if as_float(share.low) <= MISSED_BY_CHANCE else ": the times vary more than their intervals say"
    yield (
        f"the negative control, the blocking call against itself, differs in {differ} of "
        f"{plural(len(calls), 'reliable point')}, {_share(share)}; {percent(MISSED_BY_CHANCE)} are expected{doubt}"
    )


def _of_papers_claims(rows: pd.DataFrame) -> Iterator[str]:
    calls = rows[(rows["way"] == BLOCKING) & (rows[axes.OPERATION.name] == PAPERS_COLLECTIVE)]
    reliable = calls[calls["reliable"].astype(bool)]
    if calls.empty:
        return
    if reliable.empty:
        yield "no point of MPI_Allreduce is reliable, so nothing is said of the paper's claims about its CPU share"
        return
    for column, (what, thresholds) in CLAIMS.items():
        share = average(reliable, column)
        verdicts = (
            f"{judged(share, threshold)} the {percent(threshold)} of {library}"
            if judged(share, threshold) != "cannot tell"
            else f"whether it is below the {percent(threshold)} of {library} cannot be told"
            for library, threshold in thresholds.items()
        )
        yield (
            f"MPI_Allreduce takes {_share(share)} of the {what}, on average over "
            f"{plural(len(reliable), 'reliable point')}{_left_out(calls, column)}: {', '.join(verdicts)}; the paper "
            f"says so of more than {PAPERS_NODES} nodes, and these are {plural(int(rows['ranks'].iloc[0]), 'rank')}"
        )


def _cell(row: pd.Series[Any]) -> str:
    of = f" of {size(row['message_bytes'])}" if row["message_bytes"] else ""
    return f"{row[axes.OPERATION.name]}{of} on {row['communicator_ranks']} ranks"


def _of_ways(rows: pd.DataFrame) -> Iterator[str]:
    """A sentence per way: the largest saving of CPU time that is sure, or that there is none."""
    others = rows[~rows["way"].isin([BLOCKING, WORKING, ONCE, *WITH_LATE, *OUT_OF_STEP]) & rows["valid"].astype(bool)]
    for way, of_way in others.groupby("way", sort=False):
        known = of_way[of_way["cpu_change_ci95_high"].notna()]
        if way == SOAKING:
            yield from _of_soaking(of_way)
            continue
        if known.empty:
            continue
        ends = known[[f"cpu_change{end}" for end in sampled_table.ENDS]]
        sure = known[sure_at(ends, -LEAST_CHANGE) & (known["cpu_change"] < -LEAST_CHANGE).to_numpy()]
        if len(sure):
            best = sure.loc[sure["cpu_change_ci95_high"].idxmin()]
            change = estimate_of(best, "cpu_change")
            saved = _share(Estimate(-change.value, -change.high, -change.low))
            yield (
                f"waiting by '{way}' takes {saved} less CPU time than the blocking call, and "
                f"{best['slowdown']:.2f} times its time, in {_cell(best)}, where it saves most"
            )
        else:
            yield f"waiting by '{way}' saves no CPU time for sure, in {plural(len(known), 'point')}"


def _of_soaking(rows: pd.DataFrame) -> Iterator[str]:
    known = rows[rows["soaked_share_ci95_low"].notna()]
    if not known.empty:
        best = known.loc[known["soaked_share"].idxmax()]
        share = _share(estimate_of(best, "soaked_share"))
        yield (
            f"a thread of the lowest priority beside the blocking call gets {share} of its time, in {_cell(best)}, "
            "where it gets most"
        )


def _of_availability(rows: pd.DataFrame) -> Iterator[str]:
    cells = rows[rows["availability_ci95_low"].notna()].drop_duplicates(
        [axes.OPERATION.name, "communicator_ranks", "message_bytes"]
    )
    for ranks, of_ranks in cells.groupby("communicator_ranks", sort=False):
        found = (
            f"i{operation} {', '.join(_available(row) for _, row in of_operation.iterrows())}"
            for operation, of_operation in of_ranks.groupby(axes.OPERATION.name, sort=False)
        )
        yield (
            f"the work that fits beside a nonblocking collective on {ranks} ranks without making it longer, as a share "
            f"of its time: {'; '.join(found)}"
        )


def _available(row: pd.Series[Any]) -> str:
    low, high = row["availability_ci95_low"], row["availability_ci95_high"]
    ends = f"{percent(low)} to {percent(high)}" if math.isfinite(high) else f"at least {percent(low)}"
    return f"{ends} ({size(row['message_bytes'])})" if row["message_bytes"] else ends


def _of_late_ranks(rows: pd.DataFrame) -> Iterator[str]:
    """What waiting for a rank that comes late costs the others, for each time that it comes late by."""
    calls = rows[(rows["way"] == LATE) & rows["reliable"].astype(bool)]
    for lateness, of_lateness in calls.groupby("lateness_ns"):
        each = (
            f"{operation} {_share(average(of_operation, 'cpu_share'))}"
            for operation, of_operation in of_lateness.groupby(axes.OPERATION.name, sort=False)
        )
        yield (
            f"ranks that wait {duration(float(str(lateness)))} for one that comes late take so much of the CPU "
            f"meanwhile, in {plural(len(of_lateness), 'reliable point')}: {', '.join(each)}"
        )
    yield from _of_work_meanwhile(rows)


def _of_work_meanwhile(rows: pd.DataFrame) -> Iterator[str]:
    """How much longer it takes when the others work, beside a nonblocking call, while a rank is late."""
    reliable = rows[rows["reliable"].astype(bool)]
    waiting, working = (reliable[reliable["way"] == way] for way in WITH_LATE)
    both = working.merge(waiting, on=[name for name in _POINT if name != "way"], suffixes=("", "_waiting"))
    for lateness, of_lateness in both.groupby("lateness_ns"):
        ratios = of_lateness["t_wall_ns"] / of_lateness["t_wall_ns_waiting"]
        each = (
            f"{operation} {ratio(float(of_operation.median()))}"
            for operation, of_operation in ratios.groupby(of_lateness[axes.OPERATION.name], sort=False)
        )
        yield (
            f"while a rank is late by {duration(float(str(lateness)))}, as much work beside the nonblocking call "
            f"takes so many times as long as waiting in the blocking one, in "
            f"{plural(len(of_lateness), 'reliable point')} (2: nothing of it is hidden): {', '.join(each)}"
        )


_OUT_OF_STEP = {
    SKEWED: "where ranks do equal work out of step, {} in all, blocking collectives take so much of the time in step",
    SKEWED_WORKING: "work out of step, {} in all, takes beside nonblocking collectives so much of that before blocking",
    EVEN_WORKING: "work in step, {} in all, takes beside nonblocking collectives so much of that before blocking",
}
"""What is told of each way. The last one is what overlap alone gains."""


def _of_ranks_out_of_step(rows: pd.DataFrame) -> Iterator[str]:
    """What it costs that ranks are out of step, and how much of that nonblocking collectives hide."""
    reliable = rows[rows["reliable"].astype(bool)]
    for way, words in _OUT_OF_STEP.items():
        for lateness, points in reliable[reliable["way"] == way].groupby("lateness_ns"):
            each = ", ".join(
                f"{operation} {percent(float(of_operation.median()))}"
                for operation, of_operation in points["slowdown"].groupby(points[axes.OPERATION.name], sort=False)
            )
            told = words.format(duration(float(str(lateness))))
            yield f"{told}, in {plural(len(points), 'reliable point')}: {each}"


@dataclass(frozen=True)
class Effect:
    """A number that a library's setting for waits may change.

    column: in the table; what: in words.  ways: the points that have it.  least: a smaller change counts as none, a
    difference of shares or, of times, a ratio above 1.  words: of a value.
    """

    column: str
    what: str
    ways: tuple[str, ...]
    least: float
    words: Callable[[float], str]

    def change(self, both: pd.DataFrame) -> pd.Series[Any]:
        """How far each point's intervals without and with the setting are apart; below 0: they overlap.

        both: the columns of points without the setting, and with it under the same names that end with `_set`.
        """
        ends = [both[f"{self.column}_ci95_{end}"] for end in ("low", "high", "low_set", "high_set")]
        is_time = self.column.endswith("_ns")
        low, high, low_set, high_set = (np.log(end.clip(lower=TINY)) for end in ends) if is_time else ends
        apart: pd.Series[Any] = (low - high_set).combine(low_set - high, max)
        return apart


LEAST_RATIO = 1.25
"""Points with and without a setting are of different launches. A smaller ratio of their times tells nothing."""
TINY = np.finfo(np.float64).tiny
"""An interval of times over launches may reach below 0."""
_POINT = [axes.OPERATION.name, "way", "communicator_ranks", "message_bytes", "lateness_ns"]
EFFECTS = (
    Effect("cpu_share", "the CPU share", (BLOCKING, LATE), LEAST_CHANGE, percent),
    Effect("soaked_share", "the share of a thread of the lowest priority", (SOAKING,), LEAST_CHANGE, percent),
    Effect("t_wall_ns", "the time of a call", (BLOCKING,), math.log(LEAST_RATIO), duration),
)


def _of_settings(rows: pd.DataFrame) -> Iterator[str]:
    """Whether the library's settings for waits do anything, by the numbers of EFFECTS in reliable points."""
    setting = axes.LIBRARY_SETTING.name
    reliable = rows[rows["reliable"].astype(bool)]
    usual = _over_launches(reliable[reliable[setting] == axes.LIBRARY_SETTING.usual])
    for name in WAITS:
        both = usual.merge(_over_launches(reliable[reliable[setting] == name]), on=_POINT, suffixes=("", "_set"))
        changed, unchanged = [], []
        for effect in EFFECTS:
            points = both[both["way"].isin(effect.ways)]
            change = effect.change(points).dropna()
            if change.empty:
                continue
            if change.max() > effect.least:
                changed.append(_of_change(effect, name, points.loc[change.idxmax()]))
            else:
                unchanged.append(f"{effect.what} ({plural(len(change), 'point')}{_waits(points.loc[change.index])})")
        yield from changed
        if unchanged:
            nothing = "does not change" if changed else "changes nothing"
            yield f"setting the library to {name} waits {nothing} for sure: {', '.join(unchanged)}"


def _waits(points: pd.DataFrame) -> str:
    """How long ranks waited for a late one in points, if they did."""
    lengths = sorted(set(points.loc[points["way"] == LATE, "lateness_ns"]))
    return f"; waits of {', '.join(duration(float(one)) for one in lengths)} for a late rank" if lengths else ""


def _over_launches(rows: pd.DataFrame) -> pd.DataFrame:
    """A row per point: the columns of EFFECTS over its launches, and their number, `launches`.

    Values and intervals are `launches.over_launches`.
    """
    names = [effect.column for effect in EFFECTS]
    found = [
        dict(zip(_POINT, key, strict=True))
        | sampled_table.columns_of_estimates({name: launches.of_rows(of_point, name) for name in names})
        | {"launches": of_point["record"].nunique()}
        for key, of_point in rows.groupby(_POINT, sort=False)
    ]
    table: pd.DataFrame = pd.DataFrame(found, columns=[*_POINT, *sampled_table.names_of_estimates(names), "launches"])
    return table


def _of_change(effect: Effect, setting: str, best: pd.Series[Any]) -> str:
    before, after = best[effect.column], best[f"{effect.column}_set"]
    fewest = int(min(best["launches"], best["launches_set"]))
    doubt = (
        f"; that is from {plural(fewest, 'launch')} of each, and launches differ, so the cause cannot be told"
        if fewest < limits.LEAST_LAUNCHES
        else f"; that is over {fewest} launches or more of each"
    )
    late = f", for which a rank comes late by {duration(best['lateness_ns'])}" if best["way"] == LATE else ""
    return (
        f"with the library set to {setting} waits {effect.what} {'falls' if after < before else 'rises'} from "
        f"{effect.words(before)} to {effect.words(after)} in {_cell(best)}{late}, where it changes most{doubt}"
    )


def _of_nodes(rows: pd.DataFrame) -> Iterator[str]:
    """The CPU time of the node beside that of its ranks, over blocking calls on all ranks."""
    blocking = having(of_all_ranks(rows[rows["way"] == BLOCKING]), "node_cpus")
    calls = blocking[blocking["valid"].astype(bool)]
    if not calls.empty:
        node, softirq, ranks = (_cpus(average(calls, name)) for name in ("node_cpus", "softirq_cpus", "ranks_cpus"))
        yield (
            f"during blocking collectives {node} CPUs of the node are busy, {softirq} of them in soft interrupts; "
            f"{ranks} are charged to the ranks, on average over {plural(len(calls), 'point')}"
        )


def of_all_ranks(calls: pd.DataFrame) -> pd.DataFrame:
    """The calls on the largest communicator of their record."""
    largest = calls.groupby("record")["communicator_ranks"].transform("max")
    chosen: pd.DataFrame = calls[calls["communicator_ranks"] == largest]
    return chosen


def _cpus(estimate: Estimate) -> str:
    return "{:.2f} [{:.2f}, {:.2f}]".format(*estimate.numbers)


def _of_agreement(rows: pd.DataFrame) -> Iterator[str]:
    """In how many pairs of launches the intervals of each LogGP parameter have a point in common."""
    for pair, messages in rows[(rows["pair"] != "") & rows["valid"].astype(bool)].groupby("pair", sort=False):
        each = messages.drop_duplicates("record")
        each = each[each["L_ns_ci95_low"].notna()]  # a launch with one valid size has no parameters
        if len(each) < 2:
            continue
        letters = {name: name.replace("_ns", "").replace("_per_byte", "").replace("_", " ") for name in PARAMETERS}
        counts = (f"{letter} in {_agreeing(each, name)}" for name, letter in letters.items())
        pairs = len(each) * (len(each) - 1) // 2
        yield (
            f"of {plural(pairs, 'pair')} of launches of loggp, {str(pair).replace('_', ' ')}, the intervals agree for "
            f"{', '.join(counts)}"
        )


def _agreeing(launches: pd.DataFrame, name: str) -> int:
    """The number of pairs of launches whose intervals of a column have a point in common."""
    ends = zip(launches[f"{name}_ci95_low"], launches[f"{name}_ci95_high"], strict=True)
    return sum(
        low <= other_high and other_low <= high for (low, high), (other_low, other_high) in combinations(ends, 2)
    )
