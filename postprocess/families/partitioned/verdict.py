"""Which way of sending a buffer is fastest, and from which size on sending its parts early pays.

A scenario is what a program gives: library, network, ranks and cores, noise, virtual interfaces, caches, neighbours,
partitions and planned delay. What a program can choose is an `Option`: an approach, in a configuration of the library.
Only reliable points count.

Which option. Within a scenario and a size, the fastest option is the one with the shortest time to solution, because
that is what a user waits for (Gillis et al. 2023, section 2.1). The time to solution is the computation and the time of
the transfer. A scenario has a fixed amount of work, the planned delay's. A progress thread that takes CPU time from it
makes the computation longer, which counts against the option. Launches differ from each other, so times of different
launches are not compared. In one configuration options are compared by their gains, each over the reference
beside it in its own repetitions. Between configurations, the transfer of an option takes the configuration's reference,
over all its launches, divided by the option's gain. One message after all partitions are ready (`single`) is always
among the options, with a gain of 1. An option whose interval begins below the end of the fastest one's interval cannot
be told from it. Between options of one configuration that is the interval of the gain, else the interval of the time.

From which size. The gain of an option over its own reference crosses 1 at the break-even size (`break_even`).

A gain that differs from 1 by less than LEAST_RATIO is too small to count, as in `compare`, even where its interval is
narrower than that: its interval is then taken to hold 1 (`counting`).

Several launches of a case give the median of their medians, with an interval that holds all of theirs. An interval of
one launch does not include how much launches differ, so an answer is `likely` where it rests on a single launch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.text import interval, plural, ratio, size
from postprocess.families import axes
from postprocess.families.axes import NOISE
from postprocess.families.partitioned.axes import BESIDE, DELAY_RATIO
from postprocess.families.partitioned.table import approach_words, neighbours_words
from postprocess.statistics.limits import LEAST_RATIO
from postprocess.statistics.metrics import MIN_REPETITIONS, as_float, median_estimate

SINGLE = "single"
LEAST_LAUNCHES = 2
SCENARIO = (
    "toolchain", "provider", "network", "ranks", "nodes", "cores_per_rank", "noise", "interfaces", "cache", "method",
    "neighbours", "partitions_send", "delay_ratio",
)  # fmt: skip
"""The columns that name a scenario. `cores_per_rank` counts cores that a rank gives up, too."""

CROSSES, ALWAYS, NEVER, BELOW, ABOVE, CANNOT_TELL = "crosses", "always", "never", "below", "above", "cannot tell"


@dataclass(frozen=True)
class Found:
    """A number with its 95 % interval, and the launches that it comes from."""

    value: float
    low: float
    high: float
    launches: int


@dataclass(frozen=True, order=True)
class Option:
    """What a program can choose. `received` is the number of the receiver's partitions, `sent` of the sender's."""

    configuration: str
    approach: str
    aggregation_bytes: int
    received: int
    sent: int

    @property
    def words(self) -> str:
        """The option for people: ``layer, up to 4 KiB together (async)``."""
        row = {
            "approach": self.approach, "aggregation_bytes": self.aggregation_bytes,
            "partitions_receive": self.received, "partitions_send": self.sent,
        }  # fmt: skip
        return f"{approach_words(row)} ({self.configuration})"


@dataclass(frozen=True)
class Choice:
    """The answer for one size.

    best: the fastest option, and those that cannot be told from it, the fastest first; empty without reliable points.
    gain: that of the fastest option over one message in its configuration; None for `single`.
    launches: the smallest number of launches of an option that was compared.
    """

    message_bytes: int
    best: tuple[Option, ...]
    gain: Found | None
    launches: int

    @property
    def is_single(self) -> bool:
        """Whether one message is the fastest, or cannot be told from the fastest."""
        return any(option.approach == SINGLE for option in self.best)

    @property
    def approaches(self) -> frozenset[str]:
        """Those of the fastest options."""
        return frozenset(option.approach for option in self.best)

    @property
    def pays(self) -> bool:
        """Whether sending early is faster than one message."""
        return bool(self.best) and not self.is_single


@dataclass(frozen=True)
class BreakEven:
    """The size from which on sending parts early pays, in bytes.

    state: CROSSES: the gain crosses 1 at `value`, between `low` and `high`.  ALWAYS: it is surely above 1 at every size
    that was measured.  NEVER: it is surely above 1 at none, and surely too small to count at the largest one.  BELOW:
    it pays from `high` on, and below that it cannot be told.  ABOVE: it does not pay up to `low`, and above that it
    cannot be told.  CANNOT_TELL: `reason` says why.
    value: NaN where the gains cross 1 several times within the interval, and in the other states.
    first, last: the smallest and the largest size with a reliable point; 0 where there is none.
    ends: the smallest size above all that pay where the gain is surely too small to count; NaN where there is none.
    """

    state: str
    first: int = 0
    last: int = 0
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str = ""
    ends: float = math.nan

    @property
    def words(self) -> str:
        """The break-even size for people."""
        end = f", and no longer at {size(self.ends)}" if math.isfinite(self.ends) else ""
        if self.state == CROSSES:
            where = f"from {size(self.value)}" if math.isfinite(self.value) else "from within"
            return f"pays {where} [{size(self.low)}, {size(self.high)}]{end}"
        words = {
            ALWAYS: f"pays at every size from {size(self.first)}",
            NEVER: f"pays at no size up to {size(self.last)}",
            BELOW: f"pays from at most {size(self.high)}{end}; whether below that too cannot be told",
            ABOVE: f"does not pay up to {size(self.low)}; whether above that cannot be told",
        }
        return words.get(self.state, f"cannot tell: {self.reason}")


@dataclass(frozen=True)
class Verdict:
    """The answers for one scenario.

    values: the scenario's values, by the names in SCENARIO.  break_evens: those of the options other than `single`.
    unreliable: how many of its points do not count, of how many.
    """

    values: Mapping[str, Any]
    choices: tuple[Choice, ...]
    break_evens: tuple[tuple[Option, BreakEven, int], ...]
    unreliable: tuple[int, int]

    @property
    def has_something_late(self) -> bool:
        """Whether one of several partitions is ready before another one, and can be sent early."""
        return bool(self.values["partitions_send"] > 1 and self.values["delay_ratio"] > 0)


def verdicts(table: pd.DataFrame) -> tuple[Verdict, ...]:
    """The verdicts on a table of `partitioned_table`, one for each scenario, in the order of its rows."""
    rows = table.assign(cores_per_rank=table["threads_per_rank"] + table["given_up_cores"])
    return tuple(
        _verdict(dict(zip(SCENARIO, key, strict=True)), of_scenario)
        for key, of_scenario in rows.groupby(list(SCENARIO), sort=False)
    )


def _verdict(values: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    good = rows[rows["reliable"]]
    by_option = {option: found for option, found in _by_option(good) if option.approach != SINGLE}
    return Verdict(
        values=values,
        choices=tuple(_choice(message_bytes, good) for message_bytes, _ in by_size(rows)),
        break_evens=tuple(
            (option, break_even(*_gains(of_option)), _launches(of_option))
            for option, of_option in sorted(by_option.items())
        ),
        unreliable=(len(rows) - len(good), len(rows)),
    )


def _by_option(rows: pd.DataFrame) -> Iterator[tuple[Option, pd.DataFrame]]:
    names = ["configuration", "approach", "aggregation_bytes", "partitions_receive", "partitions_send"]
    for _, of_option in rows.groupby(names, sort=False):
        configuration, approach, together, received, sent = of_option.iloc[0][names]
        yield Option(str(configuration), str(approach), int(together), int(received), int(sent)), of_option


def by_size(rows: pd.DataFrame) -> list[tuple[int, pd.DataFrame]]:
    """The message sizes of rows in bytes, ascending, each with its rows."""
    sizes: list[int] = sorted(set(rows["message_bytes"].tolist()))
    return [(one, rows[rows["message_bytes"] == one]) for one in sizes]


def _launches(rows: pd.DataFrame) -> int:
    return int(rows["record"].nunique())


def found_of(rows: pd.DataFrame, name: str) -> Found:
    """The number of a column over the launches of one option at one size."""
    values, lows, highs = (rows[f"{name}{end}"].to_numpy(np.float64) for end in ("", "_ci95_low", "_ci95_high"))
    return Found(float(np.median(values)), float(lows.min()), float(highs.max()), _launches(rows))


def counting(gain: Found) -> Found:
    """A gain with an interval that holds 1 where it is too close to 1 to count."""
    if not 1 / (1 + LEAST_RATIO) < gain.value < 1 + LEAST_RATIO:
        return gain
    return replace(gain, low=min(gain.low, 1.0), high=max(gain.high, 1.0))


def _reference(rows: pd.DataFrame) -> Found:
    """The time of one message in a configuration, from the references of all its launches.

    With enough launches its interval is that of the median over them, else one that holds all of theirs.
    """
    if _launches(rows) < MIN_REPETITIONS:
        return found_of(rows, "t_ref_ns")
    found = median_estimate(rows["t_ref_ns"].to_numpy(np.float64))
    return Found(as_float(found.value), as_float(found.low), as_float(found.high), _launches(rows))


@dataclass(frozen=True)
class _Speed:
    """How fast an option is: its gain, the reference of its configuration, and its computation in ns."""

    gain: Found
    reference: Found
    computation: Found

    @property
    def time_ns(self) -> float:
        return self.computation.value + self.reference.value / self.gain.value

    @property
    def earliest_ns(self) -> float:
        return self.computation.low + self.reference.low / self.gain.high

    @property
    def latest_ns(self) -> float:
        return self.computation.high + self.reference.high / self.gain.low


def _computation(rows: pd.DataFrame) -> Found:
    """The time that a thread computes, in ns, from the delay between its first and its last partition.

    With the noise `last` it computes for the last partition only, else for each of its partitions, the first one too.
    """
    first = rows.iloc[0]
    each = int(first["partitions_send"]) / int(first["threads"])
    share = each / (each - 1) if first["noise"] != NOISE.usual and each > 1 else 1.0
    found = found_of(rows, "t_delay_ns")
    return Found(share * found.value, share * found.low, share * found.high, found.launches)


def _computation_of_single(rows: pd.DataFrame) -> Found:
    """The computation beside one message: measured where `single` is an approach of its own, else the shortest one."""
    of_single = rows[rows["approach"] == SINGLE]
    if len(of_single):
        return _computation(of_single)
    return min((_computation(of_option) for _, of_option in _by_option(rows)), key=lambda found: found.value)


def _choice(message_bytes: int, good: pd.DataFrame) -> Choice:
    rows = good[good["message_bytes"] == message_bytes]
    speeds: dict[Option, _Speed] = {}
    for (configuration, sent), of_configuration in rows.groupby(["configuration", "partitions_send"], sort=False):
        reference = _reference(of_configuration)
        alone = Option(str(configuration), SINGLE, 0, int(sent), int(sent))
        speeds[alone] = _Speed(Found(1, 1, 1, reference.launches), reference, _computation_of_single(of_configuration))
        for option, of_option in _by_option(of_configuration):
            if option.approach != SINGLE:
                gain = counting(found_of(of_option, "gain"))
                speeds[option] = _Speed(gain, reference, _computation(of_option))
    if not speeds:
        return Choice(message_bytes, (), None, 0)
    fastest, *others_in_order = sorted(speeds, key=lambda option: speeds[option].time_ns)
    best = (fastest, *(option for option in others_in_order if not _is_slower(option, fastest, speeds)))
    of_fastest = speeds[fastest].gain if fastest.approach != SINGLE else None
    return Choice(message_bytes, best, of_fastest, min(found.gain.launches for found in speeds.values()))


def _is_slower(option: Option, fastest: Option, speeds: Mapping[Option, _Speed]) -> bool:
    """Whether an option is surely slower than the fastest one."""
    one, other = speeds[option], speeds[fastest]
    if option.configuration == fastest.configuration:
        return one.gain.high < other.gain.low
    return one.earliest_ns > other.latest_ns


def _gains(rows: pd.DataFrame) -> tuple[list[int], list[Found]]:
    found = [(message_bytes, counting(found_of(of_size, "gain"))) for message_bytes, of_size in by_size(rows)]
    return [message_bytes for message_bytes, _ in found], [gain for _, gain in found]


def break_even(sizes: Sequence[int], gains: Sequence[Found]) -> BreakEven:
    """The size where the gain crosses 1, from gains at ascending sizes in bytes.

    Between two sizes, the logarithm of the gain is taken to be linear in the logarithm of the size. The interval begins
    where the upper ends of the gains' intervals cross 1, and ends where the lower ends do. Below the first size, and
    above the last one, nothing is said. It cannot be told where the gain is surely above 1 at a smaller size than one
    where it is surely below 1. Where it is surely too small to count at a larger size, it pays no longer there: what
    fits into buffers travels early, and is nothing of a long message.
    """
    if not sizes:
        return BreakEven(CANNOT_TELL, reason="no point is reliable")
    first, last = sizes[0], sizes[-1]
    above = [place for place, gain in enumerate(gains) if gain.low > 1]
    below = [place for place, gain in enumerate(gains) if gain.high < 1]
    if above and below and above[0] < below[-1]:
        return BreakEven(CANNOT_TELL, first, last, reason="the gain crosses 1 more than once")
    if len(above) == len(sizes):
        return BreakEven(ALWAYS, first, last)
    ends = _ends(sizes, gains, above[-1]) if above else math.nan
    if above and above[0] == 0:
        return BreakEven(BELOW, first, last, high=float(sizes[0]), ends=ends)
    if not above and gains[-1].high < 1 + LEAST_RATIO:
        return BreakEven(NEVER, first, last)
    low = _crossing(sizes, [gain.high for gain in gains], below[-1]) if below else math.nan
    high = _crossing(sizes, [gain.low for gain in gains], above[0] - 1) if above else math.nan
    if above and below:
        return BreakEven(
            CROSSES, first, last, value=_only_crossing(sizes, gains, below[-1], above[0]), low=low, high=high, ends=ends
        )
    if above:
        return BreakEven(BELOW, first, last, high=high, ends=ends)
    if below:
        return BreakEven(ABOVE, first, last, low=low)
    return BreakEven(CANNOT_TELL, first, last, reason="all intervals of the gain hold 1")


def _ends(sizes: Sequence[int], gains: Sequence[Found], last_above: int) -> float:
    """The smallest size behind a place where the gain is surely too small to count; NaN where there is none."""
    behind = zip(sizes[last_above + 1 :], gains[last_above + 1 :], strict=True)
    return next((float(message_bytes) for message_bytes, gain in behind if gain.high < 1 + LEAST_RATIO), math.nan)


def _only_crossing(sizes: Sequence[int], gains: Sequence[Found], first: int, last: int) -> float:
    """Where the gains themselves cross 1 between two places; NaN where they do so several times."""
    values = [gain.value for gain in gains]
    places = [place for place in range(first, last) if (values[place] < 1) != (values[place + 1] < 1)]
    return _crossing(sizes, values, places[0]) if len(places) == 1 else math.nan


def _crossing(sizes: Sequence[int], values: Sequence[float], place: int) -> float:
    """Where a line from one place to the next one crosses 1, in logarithms of both."""
    before, after = math.log(values[place]), math.log(values[place + 1])
    share = -before / (after - before)
    return math.exp(math.log(sizes[place]) + share * (math.log(sizes[place + 1]) - math.log(sizes[place])))


def likely(launches: int) -> str:
    """The word before an answer that rests on a single launch."""
    return "likely " if launches < LEAST_LAUNCHES else ""


def break_even_words(found: BreakEven, launches: int) -> str:
    """The break-even size of an option in words, with how sure it is."""
    return found.words if found.state == CANNOT_TELL else f"{likely(launches)}{found.words}"


def choice_words(choice: Choice, *, of_several: bool = False) -> str:
    """The answer for one size in words. of_several: it stands for several sizes, and its gain is of this one."""
    if not choice.best:
        return "cannot tell: no point is reliable"
    fastest, *others = choice.best
    if all(option.approach == SINGLE for option in choice.best):
        return f"{likely(choice.launches)}one message: {', '.join(option.words for option in choice.best)}"
    if choice.is_single:
        names = ", ".join(option.words for option in choice.best if option.approach != SINGLE)
        return f"cannot tell one message from {names}"
    gain = choice.gain
    where = f"at {size(choice.message_bytes)} " if of_several else ""
    found = f"{ratio(gain.value)} {interval(gain.low, gain.high)}" if gain else ""
    times = f", {where}{found} times as fast as one message there" if gain else ""
    beside = f"; not told from {', '.join(option.words for option in others)}" if others else ""
    return f"{likely(choice.launches)}{fastest.words}{times}{beside}"


def choices_words(choices: Sequence[Choice]) -> list[tuple[str, str]]:
    """The answers of a scenario: a range of sizes and the answer for it. Neighbours with the same answer are joined.

    Of joined sizes the answer is that of the largest one, which is named beside its gain.
    """
    joined = []
    for _, same in groupby(choices, key=lambda choice: (choice.is_single, frozenset(choice.best))):
        of_range = list(same)
        first, last = of_range[0].message_bytes, of_range[-1].message_bytes
        where = size(first) if first == last else f"{size(first)} to {size(last)}"
        joined.append((where, choice_words(of_range[-1], of_several=first != last)))
    return joined


def scenario_words(values: Mapping[str, Any]) -> str:
    """The scenario for people."""
    return f"{library_words(values)}, {setting_words(values)}"


def library_words(values: Mapping[str, Any]) -> str:
    """The library of a scenario and its network, for people."""
    return f"{values['toolchain']} over {values['network']}"


def setting_words(values: Mapping[str, Any]) -> str:
    """A scenario without its library and network, for people."""
    parts = [
        f"{plural(int(values['ranks']), 'rank')} of {plural(int(values['cores_per_rank']), 'core')}",
        *neighbours_words(values),
        plural(int(values["partitions_send"]), "partition"),
        DELAY_RATIO.words(values["delay_ratio"]),
    ]
    return ", ".join(parts) + axes.unusual_words(values, BESIDE)


def verdict_text(table: pd.DataFrame) -> str:
    """The verdicts for the terminal; empty for an empty table."""
    blocks = []
    for verdict in verdicts(table):
        lines = [f"{scenario_words(verdict.values)}:"]
        lines += [f"  {where}: {words}" for where, words in choices_words(verdict.choices)]
        lines += [f"  {option.words} {break_even_words(found, count)}" for option, found, count in verdict.break_evens]
        lines += [f"  {unreliable_words(verdict)}"] if verdict.unreliable[0] else []
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def unreliable_words(verdict: Verdict) -> str:
    """How many points of a scenario do not count; empty where all do."""
    return uncounted_words(*verdict.unreliable)


def uncounted_words(count: int, of_all: int) -> str:
    """How many points do not count, of how many; empty where all do."""
    return f"{count} of {plural(of_all, 'point')} are not reliable and do not count" if count else ""
