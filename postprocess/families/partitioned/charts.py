"""The curves of partitioned communication, as data: the counterparts of figures 4 to 8 of Gillis et al. 2023.

A chart has the points of one library, network, configuration, placement, noise, number of partitions and delay.

    time         without a delay, the time against the message size, a curve per approach: figures 4 (one thread, one
                 partition), 5 and 6 (many threads)
    aggregation  without a delay, the time of the approaches that send partitions together, a curve per aggregation:
                 figure 7
    gain         with a delay, the gain against the message size, a curve per approach, with the model's: figure 8

A mark is pale where its point is not reliable. Points without a value are left out, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.text import duration, interval, plural, ratio
from postprocess.families import axes
from postprocess.families.partitioned.axes import DELAY_RATIO
from postprocess.families.partitioned.table import approach_words, configuration_words
from postprocess.families.partitioned.verdict import SINGLE, Found, by_size, found_of
from postprocess.statistics import pipelining

TIME, AGGREGATION, GAIN = "time", "aggregation", "gain"
FIGURES: Mapping[str, str] = {TIME: "figures 4 to 6", AGGREGATION: "figure 7", GAIN: "figure 8"}
"""The figures of the paper that have the same curves."""
MEASURED, REFERENCE, MODEL, LIMIT = "measured", "reference", "model", "limit"
"""What a curve shows: an approach; one message in the same repetitions; the model for the measured times; the model
without latency, or the time by the bandwidth alone."""

_GROUP = [
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "threads_per_rank", "given_up_cores",
    axes.NAMED_CORES.name, "noise", "cache", "method", "partitions_send", "delay_ratio",
]  # fmt: skip
_SERIES = ["approach", "partitions_receive", "aggregation_bytes"]


@dataclass(frozen=True)
class Mark:
    """A value at a message size with its interval, over the launches that measured it: nanoseconds, or a gain."""

    message_bytes: int
    value: float
    low: float
    high: float
    words: str
    pale: bool = False


@dataclass(frozen=True)
class Series:
    """A curve. approach: the name by which it is coloured; empty for a curve that is no approach's."""

    name: str
    approach: str
    kind: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Chart:
    """A picture with curves against the message size.

    kind: one of FIGURES.  left_out: how many points have no value.  pale: how many marks are pale.
    """

    kind: str
    title: str
    series: tuple[Series, ...]
    left_out: int

    @property
    def y_name(self) -> str:
        """The name of the vertical axis."""
        return "gain over one message" if self.kind == GAIN else "time"

    @property
    def pale(self) -> int:
        """How many marks are pale."""
        return sum(mark.pale for series in self.series for mark in series.marks)

    @property
    def sizes(self) -> list[int]:
        """The message sizes in bytes, ascending."""
        return sorted({mark.message_bytes for series in self.series for mark in series.marks})

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value that is shown, intervals of reliable marks included."""
        shown = [
            number
            for series in self.series
            for mark in series.marks
            for number in ((mark.value,) if mark.pale else (mark.value, mark.low, mark.high))
            if math.isfinite(number)
        ]
        return min(shown), max(shown)

    @property
    def notes(self) -> list[str]:
        """What a reader should know of what is shown, a sentence each."""
        return [
            *([f"{plural(self.pale, 'mark')} pale: not reliable, the table says why"] if self.pale else []),
            *([f"{plural(self.left_out, 'point')} without a value left out"] if self.left_out else []),
        ]


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `partitioned_table`: for each group of points those that it has curves for."""
    for _, rows in table.groupby(_GROUP, sort=False):
        first = {str(name): value for name, value in rows.iloc[0].items()}
        known = rows[np.isfinite(rows["gain"].to_numpy(np.float64))]
        if known.empty:
            continue
        if first["delay_ratio"] > 0:
            yield _chart(GAIN, first, rows, known, _gain_series(first, known))
            continue
        apart = known[known["aggregation_bytes"] == 0]
        if not apart.empty:
            of_apart = rows[rows["aggregation_bytes"] == 0]
            yield _chart(TIME, first, of_apart, apart, _time_series(apart, apart))
        together = set(known.loc[known["aggregation_bytes"] > 0, "approach"])
        if together:
            of_together = rows[rows["approach"].isin([*together, SINGLE, "many"])]
            shown = known[known["approach"].isin([*together, SINGLE, "many"])]
            yield _chart(AGGREGATION, first, of_together, shown, _time_series(shown, known))


def _chart(
    kind: str, first: Mapping[str, Any], rows: pd.DataFrame, known: pd.DataFrame, series: Iterator[Series]
) -> Chart:
    return Chart(kind, title_of(kind, first), tuple(series), len(rows) - len(known))


def title_of(kind: str, row: Mapping[str, Any]) -> str:
    """The title of a chart: what all its points have in common."""
    threads = int(row["threads_per_rank"])
    parts = [
        f"{'Gain' if kind == GAIN else 'Time'}: {row['toolchain']}, {configuration_words(row)}, {row['network']}",
        plural(threads, "thread"),
        plural(int(row["partitions_send"]), "partition"),
        *([DELAY_RATIO.words(row["delay_ratio"])] if kind == GAIN else []),
    ]
    more = ", ".join(parts)
    return f"{more}, partitions sent together" if kind == AGGREGATION else more


def _gain_series(first: Mapping[str, Any], known: pd.DataFrame) -> Iterator[Series]:
    yield from _measured(known, "gain")
    partitions = int(first["partitions_send"])
    apart = known[(known["messages"] == partitions) & np.isfinite(known["gain_model"].to_numpy(np.float64))]
    if not apart.empty:
        predicted = [(size, found_of(of_size, "gain_model")) for size, of_size in by_size(apart)]
        marks = tuple(Mark(size, *_numbers(found), ratio(found.value)) for size, found in predicted)
        yield Series(f"model, {partitions} messages", "", MODEL, marks)
    limit = float(pipelining.gain_of_delay_rate(partitions, 1, first["delay_ratio"], 1.0))
    sizes = sorted(set(map(int, known["message_bytes"])))
    yield Series(
        f"model without latency, {ratio(limit)}",
        "",
        LIMIT,
        tuple(Mark(one, limit, math.nan, math.nan, ratio(limit)) for one in sizes),
    )


def _time_series(shown: pd.DataFrame, known: pd.DataFrame) -> Iterator[Series]:
    """The curves of the approaches that are shown, and those of one message and of the bandwidth, of all points."""
    yield from _measured(shown, "t_ns")
    sizes = by_size(known)
    yield Series(
        "one message, in the same repetitions",
        SINGLE,
        REFERENCE,
        tuple(_mark(size, of_size, "t_ref_ns") for size, of_size in sizes),
    )
    bandwidth = float(known["bytes_per_second"].median())
    if math.isfinite(bandwidth):
        least = float(known["t_ref_ns"].min()) / 2  # the line would leave most of the picture empty
        times = [(size, time) for size, _ in sizes if (time := 1e9 * size / bandwidth) >= least]
        yield Series(
            f"by the bandwidth alone, {bandwidth / 1e9:.3g} GB/s",
            "",
            LIMIT,
            tuple(Mark(size, time, math.nan, math.nan, duration(time)) for size, time in times),
        )


def _measured(rows: pd.DataFrame, name: str) -> Iterator[Series]:
    order = list(axes.APPROACH.values)

    def place(of_series: pd.DataFrame) -> tuple[int, str, int, int]:
        first = of_series.iloc[0]
        approach = str(first["approach"])
        known = order.index(approach) if approach in order else len(order)
        return known, approach, int(first["partitions_receive"]), int(first["aggregation_bytes"])

    for of_series in sorted((group for _, group in rows.groupby(_SERIES, sort=False)), key=place):
        first = {str(column): value for column, value in of_series.iloc[0].items()}
        marks = tuple(_mark(size, of_size, name) for size, of_size in by_size(of_series))
        yield Series(approach_words(first), str(first["approach"]), MEASURED, marks)


def _mark(message_bytes: int, rows: pd.DataFrame, name: str) -> Mark:
    """The mark of rows that differ in nothing but the launch; of those that are reliable, if there are any."""
    reliable = rows[rows["reliable"]]
    found = found_of(reliable if len(reliable) else rows, name)
    number = ratio(found.value) if name == "gain" else duration(found.value)
    bounds = interval(found.low, found.high) if name == "gain" else f"[{duration(found.low)}, {duration(found.high)}]"
    return Mark(message_bytes, *_numbers(found), words=f"{number} {bounds}", pale=reliable.empty)


def _numbers(found: Found) -> tuple[float, float, float]:
    return found.value, found.low, found.high


def shown_sizes(sizes: Sequence[int], most: int) -> list[int]:
    """At most so many of the sizes, evenly spread, for the labels of an axis; the first one is among them."""
    step = math.ceil(len(sizes) / most) if sizes else 1
    return list(sizes[::step])
