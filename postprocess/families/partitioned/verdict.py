"""Which way of sending a buffer is fastest, whether sending its parts early pays, and from which size on.

A scenario is what a program has to take as it is: library, network, ranks and cores, noise, virtual interfaces, caches,
neighbours, partitions and planned delay. What a program can choose is an `Option`: an approach, in a configuration of
the library. Only reliable points count.

Which option. Within a scenario and a size, the fastest option is the one with the shortest time to solution, because
that is what a user waits for (Gillis et al. 2023, section 2.1). The time to solution is the computation and the time of
the transfer. A scenario has a fixed amount of work, the planned delay's. A progress thread that takes CPU time from it
makes the computation longer, which counts against the option. Launches differ from each other, so times of different
launches are not compared. In one configuration options are compared by their gains, each over the reference
beside it in its own repetitions. Between configurations, the transfer of an option takes the configuration's reference,
over all its launches, divided by the option's gain. One message after all partitions are ready (`single`) is always
among the options, with a gain of 1. An option whose interval begins below the end of the fastest one's interval cannot
be told from it. Between options of one configuration that is the interval of the gain, else the interval of the time.

Whether sending early pays. An option can be faster than one message for other reasons, such as another protocol. Then
it is as much faster without a delay. So sending early pays where the gain of the fastest option is surely above 1 and,
where the same option was measured without a delay, surely above its gain there as well (`Choice.pays_early`).

From which size. An option is faster than one message from its break-even size on. Gains are known at the measured sizes
only, and between two of them a protocol may change. So the break-even size is a bracket of two measured sizes, and no
line is drawn between them (`break_even`).

A gain that differs from 1 by less than LEAST_RATIO is too small to count, as in `compare`, even where its interval is
narrower than that: its interval is then taken to hold 1 (`counting`).

Several launches of a case count by `launches.over_launches`; with fewer than three an answer is `likely` at most.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import pandas as pd

from postprocess.drawing.columns import made_once, rows_of
from postprocess.drawing.text import plural, size, with_interval
from postprocess.families import axes
from postprocess.families.axes import NOISE
from postprocess.families.partitioned.axes import AXES, DELAY_RATIO
from postprocess.families.partitioned.table import approach_words, neighbours_words
from postprocess.families.sampled_table import ENDS, uncounted_words
from postprocess.statistics import launches
from postprocess.statistics.limits import LEAST_RATIO

SINGLE = "single"
SCENARIO = (
    "toolchain", "provider", "network", "ranks", "nodes", "cores_per_rank", "noise", "interfaces", "cache", "method",
    "neighbours", "partitions_send", "delay_ratio",
)  # fmt: skip
"""The columns that name a scenario. `cores_per_rank` counts cores that a rank gives up, too."""

_USED = dict.fromkeys((
    *SCENARIO, "configuration", "approach", "aggregation_bytes", "partitions_receive", "message_bytes", "threads",
    "record", "valid", "reliable", *(f"{name}{end}" for name in ("gain", "t_ref_ns", "t_delay_ns") for end in ENDS),
))  # fmt: skip
"""The columns of the table from which verdicts are made."""

Rows: TypeAlias = Sequence[Mapping[str, Any]]
"""Rows of the table with these columns. Of so few rows a group as a table of its own takes a hundred times as long."""

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
    without_delay: the gain of the same option without a delay; None where it was not measured, or nothing is late.
    launches: the smallest number of launches of an option that was compared.
    points, reliable: how many points of this size there are, and how many of them are reliable.
    most_gain: the upper end of the largest gain over one message, of any option in its configuration; NaN without one.
    """

    message_bytes: int
    best: tuple[Option, ...]
    gain: Found | None
    launches: int
    points: int
    reliable: int
    most_gain: float = math.nan
    without_delay: Found | None = None

    @property
    def gains_nothing(self) -> bool:
        """Whether surely no option of at least half of the points is faster than one message by what counts."""
        return self.is_single and self.most_gain < 1 + LEAST_RATIO and 2 * self.reliable >= self.points

    @property
    def is_single(self) -> bool:
        """Whether one message is the fastest, or cannot be told from the fastest."""
        return any(option.approach == SINGLE for option in self.best)

    @property
    def approaches(self) -> frozenset[str]:
        """Those of the fastest options."""
        return frozenset(option.approach for option in self.best)

    @property
    def is_faster(self) -> bool:
        """Whether the fastest option is surely faster than one message."""
        return bool(self.best) and not self.is_single

    @property
    def pays_early(self) -> bool:
        """Whether it is, and surely more so than without a delay."""
        if not self.is_faster or self.gain is None or self.without_delay is None:
            return self.is_faster
        usual = self.without_delay
        return self.gain.low > usual.high and self.gain.value >= (1 + LEAST_RATIO) * usual.value


@dataclass(frozen=True)
class BreakEven:
    """The size from which on an option is faster than one message, in bytes.

    state: CROSSES: it lies above `low`, the largest reliable size of those below where the option is surely not faster,
    and is at most `high`, the smallest reliable size from which on the option is surely faster at every measured size
    up to `surely`.  ALWAYS: it is surely faster at every measured size.  NEVER: it is surely faster at none, and surely
    not faster at the largest one.  BELOW: it is faster from `high` on, and below that it cannot be told.  ABOVE: it is
    surely faster at none, surely not at `low`, and above that it cannot be told.  CANNOT_TELL: `reason` says why.
    first, last: the smallest and the largest measured size; 0 where no point is reliable.
    surely: the largest size where the option is surely faster; NaN where that is the last one before `ends`.
    ends: the smallest size above all where it is faster at which it is surely not; NaN where there is none.
    """

    state: str
    first: int = 0
    last: int = 0
    low: float = math.nan
    high: float = math.nan
    reason: str = ""
    surely: float = math.nan
    ends: float = math.nan

    @property
    def words(self) -> str:
        """The break-even size for people."""
        end = f", surely up to {size(self.surely)}" if math.isfinite(self.surely) else ""
        end += f", and no longer at {size(self.ends)}" if math.isfinite(self.ends) else ""
        words = {
            CROSSES: f"faster from a size between {size(self.low)} and {size(self.high)} on{end}",
            ALWAYS: f"faster at every measured size from {size(self.first)}",
            NEVER: f"faster at no measured size up to {size(self.last)}",
            BELOW: f"faster from at most {size(self.high)} on{end}; whether below that too cannot be told",
            ABOVE: f"faster at no measured size up to {size(self.low)}; whether above that cannot be told",
        }
        return words.get(self.state, f"cannot tell: {self.reason}")


@dataclass(frozen=True)
class Verdict:
    """The answers for one scenario.

    values: the scenario's values, by the names in SCENARIO.  break_evens: those of the options other than `single`.
    unreliable: how many of its points do not count, of how many, and how many of them are
    valid and faster than one message.
    """

    values: Mapping[str, Any]
    choices: tuple[Choice, ...]
    break_evens: tuple[tuple[Option, BreakEven, int], ...]
    unreliable: tuple[int, int, int]

    @property
    def has_something_late(self) -> bool:
        """Whether one of several partitions is ready before another one, and can be sent early."""
        return bool(self.values["partitions_send"] > 1 and self.values["delay_ratio"] > 0)


@made_once
def verdicts(table: pd.DataFrame) -> tuple[Verdict, ...]:
    """The verdicts on a table of `partitioned_table`, one for each scenario, in the order of its rows."""
    cores = table["threads_per_rank"] + table["given_up_cores"]
    scenarios = _by(rows_of(table.assign(cores_per_rank=cores)[list(_USED)]), *SCENARIO)
    return tuple(
        _verdict(dict(zip(SCENARIO, key, strict=True)), of_scenario, scenarios.get(_undelayed(key) or ()))
        for key, of_scenario in scenarios.items()
    )


def _by(rows: Rows, *names: str) -> dict[tuple[Any, ...], Rows]:
    """The rows by their values in these columns, of which there are at least two, in their order."""
    grouped: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    values = itemgetter(*names)
    for row in rows:
        grouped.setdefault(values(row), []).append(row)
    return dict(grouped)


def _undelayed(key: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The key of the same scenario without a delay; None for one that has none."""
    place = SCENARIO.index(DELAY_RATIO.name)
    return (*key[:place], 0.0, *key[place + 1 :]) if key[place] > 0 else None


def _verdict(values: Mapping[str, Any], rows: Rows, undelayed: Rows | None) -> Verdict:
    """undelayed: the rows of the same scenario without a delay, where there are any."""
    good = _reliable(rows)
    of_undelayed = None if undelayed is None else _reliable(undelayed)
    chosen = (_choice(message_bytes, of_size) for message_bytes, of_size in _by_size(rows))
    reliable = {option: of_option for option, of_option in _by_option(good).items() if option.approach != SINGLE}
    return Verdict(
        values=values,
        choices=tuple(replace(choice, without_delay=_without_delay(choice, of_undelayed)) for choice in chosen),
        break_evens=tuple(
            (option, break_even(*_gains(of_option)), _launches(reliable[option]))
            for option, of_option in sorted(_by_option(rows).items())
            if option in reliable
        ),
        unreliable=(
            len(rows) - len(good),
            len(rows),
            sum(row["valid"] and not row["reliable"] and row["gain"] > 1 for row in rows),
        ),
    )


def _reliable(rows: Rows) -> Rows:
    return [row for row in rows if row["reliable"]]


def _without_delay(choice: Choice, undelayed: Rows | None) -> Found | None:
    """The gain of the fastest option of a choice in reliable rows without a delay; None where they do not have it."""
    if undelayed is None or choice.gain is None:
        return None
    of_size = [row for row in undelayed if row["message_bytes"] == choice.message_bytes]
    rows = _by_option(of_size).get(choice.best[0])
    return found_of(rows, "gain") if rows else None


def _by_option(rows: Rows) -> dict[Option, Rows]:
    names = ("configuration", "approach", "aggregation_bytes", "partitions_receive", "partitions_send")
    return {
        Option(str(configuration), str(approach), int(together), int(received), int(sent)): of_option
        for (configuration, approach, together, received, sent), of_option in _by(rows, *names).items()
    }


def _by_size(rows: Rows) -> list[tuple[int, Rows]]:
    sizes = sorted({int(row["message_bytes"]) for row in rows})
    return [(size_bytes, [row for row in rows if row["message_bytes"] == size_bytes]) for size_bytes in sizes]


def _launches(rows: Rows) -> int:
    return len({row["record"] for row in rows})


def found_of(rows: Rows, name: str) -> Found:
    """The number of a column over the launches of one option at one size."""
    estimates = ([row[f"{name}{end}"] for row in rows] for end in ENDS)
    return Found(*launches.over_launches(*estimates).numbers, _launches(rows))


def counting(gain: Found) -> Found:
    """A gain with an interval that holds 1 where it is too close to 1 to count."""
    if not 1 / (1 + LEAST_RATIO) < gain.value < 1 + LEAST_RATIO:
        return gain
    return replace(gain, low=min(gain.low, 1.0), high=max(gain.high, 1.0))


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


def _computation(rows: Rows) -> Found:
    """The time that a thread computes, in ns, from the delay between its first and its last partition.

    With the noise `last` it computes for the last partition only, else for each of its partitions, the first one too.
    """
    first = rows[0]
    each = int(first["partitions_send"]) / int(first["threads"])
    share = each / (each - 1) if first["noise"] != NOISE.usual and each > 1 else 1.0
    found = found_of(rows, "t_delay_ns")
    return Found(share * found.value, share * found.low, share * found.high, found.launches)


def _computation_of_single(rows: Rows) -> Found:
    """The computation beside one message: measured where `single` is an approach of its own, else the shortest one."""
    of_single = [row for row in rows if row["approach"] == SINGLE]
    if of_single:
        return _computation(of_single)
    return min(map(_computation, _by_option(rows).values()), key=lambda found: found.value)


def _choice(message_bytes: int, rows: Rows) -> Choice:
    """rows: those of one size."""
    good = _reliable(rows)
    speeds: dict[Option, _Speed] = {}
    for (configuration, sent), of_configuration in _by(good, "configuration", "partitions_send").items():
        reference = found_of(of_configuration, "t_ref_ns")
        alone = Option(str(configuration), SINGLE, 0, int(sent), int(sent))
        speeds[alone] = _Speed(Found(1, 1, 1, reference.launches), reference, _computation_of_single(of_configuration))
        for option, of_option in _by_option(of_configuration).items():
            if option.approach != SINGLE:
                gain = counting(found_of(of_option, "gain"))
                speeds[option] = _Speed(gain, reference, _computation(of_option))
    if not speeds:
        return Choice(message_bytes, (), None, 0, len(rows), 0)
    fastest, *others_in_order = sorted(speeds, key=lambda option: speeds[option].time_ns)
    best = (fastest, *(option for option in others_in_order if not _is_slower(option, fastest, speeds)))
    of_fastest = speeds[fastest].gain if fastest.approach != SINGLE else None
    of_launches = min(found.gain.launches for found in speeds.values())
    gains = [found.gain.high for option, found in speeds.items() if option.approach != SINGLE]
    return Choice(message_bytes, best, of_fastest, of_launches, len(rows), len(good), max(gains, default=math.nan))


def _is_slower(option: Option, fastest: Option, speeds: Mapping[Option, _Speed]) -> bool:
    """Whether an option is surely slower than the fastest one."""
    one, other = speeds[option], speeds[fastest]
    if option.configuration == fastest.configuration:
        return one.gain.high < other.gain.low
    return one.earliest_ns > other.latest_ns


def _gains(rows: Rows) -> tuple[list[int], list[Found | None]]:
    """The measured sizes of an option, each with its gain; None where no point is reliable."""
    found = [(message_bytes, _reliable(of_size)) for message_bytes, of_size in _by_size(rows)]
    gains = [counting(found_of(good, "gain")) if good else None for _, good in found]
    return [message_bytes for message_bytes, _ in found], gains


def break_even(sizes: Sequence[int], gains: Sequence[Found | None]) -> BreakEven:
    """From which size on a gain is above 1, from gains at the measured sizes, ascending, in bytes.

    gains: None where no point is reliable: such a size, and one where it cannot be told, lies within the bracket.

    Below the first size, and above the last one, nothing is said. It cannot be told where the option is surely not
    faster between two sizes where it surely is. Where it surely is not at a larger size than all of them, it is faster
    no longer there: what fits into buffers travels early, and is nothing of a long message.
    """
    if all(gain is None for gain in gains):
        return BreakEven(CANNOT_TELL, reason="no point is reliable")
    first, last, end = sizes[0], sizes[-1], len(sizes)
    faster = [place for place, gain in enumerate(gains) if gain and gain.low > 1]
    slow = [place for place, gain in enumerate(gains) if gain and gain.low <= 1 and gain.high < 1 + LEAST_RATIO]
    if len(faster) == end:
        return BreakEven(ALWAYS, first, last)
    if not faster:
        if not slow:
            return BreakEven(CANNOT_TELL, first, last, reason="all intervals of the gain hold 1")
        return (
            BreakEven(NEVER, first, last) if slow[-1] == end - 1 else BreakEven(ABOVE, first, last, low=sizes[slow[-1]])
        )
    before = [place for place in slow if place < faster[0]]
    behind = [place for place in slow if place > faster[-1]]
    if len(before) + len(behind) < len(slow):
        return BreakEven(CANNOT_TELL, first, last, reason="the gain crosses 1 more than once")
    start = next(place for place in faster if set(range(place, faster[-1])) <= set(faster))
    return BreakEven(
        CROSSES if before else BELOW,
        first,
        last,
        low=sizes[before[-1]] if before else math.nan,
        high=sizes[start],
        surely=sizes[faster[-1]] if faster[-1] + 1 not in (*behind[:1], end) else math.nan,
        ends=sizes[behind[0]] if behind else math.nan,
    )


def break_even_words(found: BreakEven, of_launches: int) -> str:
    """The break-even size of an option in words, with how sure it is."""
    return found.words if found.state == CANNOT_TELL else f"is {launches.likely(of_launches)}{found.words}"


def choice_words(choice: Choice, *, of_several: bool = False) -> str:
    """The answer for one size in words. of_several: it stands for several sizes, and its gain is of this one."""
    if not choice.best:
        return "cannot tell: no point is reliable"
    fastest, *others = choice.best
    if all(option.approach == SINGLE for option in choice.best):
        return f"{launches.likely(choice.launches)}one message: {', '.join(option.words for option in choice.best)}"
    if choice.is_single:
        names = ", ".join(option.words for option in choice.best if option.approach != SINGLE)
        return f"cannot tell one message from {names}"
    gain = choice.gain
    where = f"at {size(choice.message_bytes)} " if of_several else ""
    times = f", {where}{_gain_words(gain)} times as fast as one message there" if gain else ""
    usual = choice.without_delay
    same = "" if choice.pays_early or usual is None else f", but as much without a delay ({_gain_words(usual)})"
    beside = f"; not told from {', '.join(option.words for option in others)}" if others else ""
    return f"{launches.likely(choice.launches)}{fastest.words}{times}{same}{beside}"


def _gain_words(gain: Found) -> str:
    return with_interval(gain.value, gain.low, gain.high)


def choices_words(choices: Sequence[Choice]) -> list[tuple[str, str]]:
    """The answers of a scenario: a range of sizes and the answer for it. Neighbours with the same answer are joined.

    Of joined sizes the answer is that of the largest one, which is named beside its gain.
    """
    joined = []
    for _, same in groupby(choices, key=lambda choice: (choice.is_single, choice.pays_early, frozenset(choice.best))):
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
    return ", ".join(parts) + axes.unusual_words(values, AXES.beside)


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


def unreliable_words(*of: Verdict) -> str:
    """How many points of scenarios do not count; empty where all do."""
    count, of_all, faster = (sum(numbers) for numbers in zip(*(verdict.unreliable for verdict in of), strict=True))
    return uncounted_words(count, of_all, faster, "one message")
