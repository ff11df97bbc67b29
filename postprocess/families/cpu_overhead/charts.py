"""The curves of blocking collectives, as data: the counterparts of figures 1 and 3 of Hoefler et al. 2006.

A chart has the points of one library, network, configuration and placement, with a curve per collective, against the
message size: the idle share (figure 1 from above), or the idle time of a call (figure 3). Figure 2 has the same values
against the number of ranks, which is one number per run. A barrier has no size: its value is a level line.

A mark is pale where its point is not reliable. Idle times are drawn on a logarithmic scale; those at or below 0 are
left out, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.text import duration, interval, plural, ratio
from postprocess.families import axes
from postprocess.families.cpu_overhead.table import configuration_words

SHARE, TIME = "idle_share", "idle_ns"
FIGURES = {SHARE: "figure 1 (there the CPU share)", TIME: "figure 3"}
"""The kinds of charts, each the column that it shows, with the figures of the paper that have the same curves."""
_GROUP = [
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "threads_per_rank", "given_up_cores",
    axes.NAMED_CORES.name,
]  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """A value at a message size with its interval, over the launches that measured it: a share, or nanoseconds."""

    message_bytes: int
    value: float
    low: float
    high: float
    words: str
    pale: bool


@dataclass(frozen=True)
class Series:
    """The curve of a collective. level: it has no size, and is a line from the first size to the last one."""

    operation: str
    level: bool
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Chart:
    """A picture with curves against the message size.

    kind: one of FIGURES.  low, high: the lower and the upper edge.  left_out: how many points cannot be drawn.
    """

    kind: str
    title: str
    low: float
    high: float
    series: tuple[Series, ...]
    left_out: int

    @property
    def y_name(self) -> str:
        """The name of the vertical axis."""
        return "idle share" if self.kind == SHARE else "idle time of a call"

    @property
    def sizes(self) -> list[int]:
        """The message sizes in bytes, ascending."""
        return sorted({mark.message_bytes for series in self.series for mark in series.marks})

    @property
    def notes(self) -> list[str]:
        """What a reader should know of what is shown, a phrase each."""
        pale = sum(mark.pale for series in self.series for mark in series.marks)
        lost = "at or below 0, or not measured, left out" if self.kind == TIME else "without a value left out"
        return [
            *([f"{plural(pale, 'mark')} pale: not reliable, the table says why"] if pale else []),
            *([f"{plural(self.left_out, 'point')} {lost}"] if self.left_out else []),
        ]


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `cpu_table`: both kinds for each group of points, as far as there is a curve."""
    for _, rows in table.groupby(_GROUP, sort=False):
        for kind in FIGURES:
            values = rows[kind].to_numpy(np.float64)
            drawn = rows[np.isfinite(values) & ((values > 0) | (kind == SHARE))]
            sizes = sorted({int(size) for size in drawn["message_bytes"] if size > 0})
            if sizes:
                series = tuple(_series(drawn, kind, sizes))
                low, high = _edges(kind, [mark.value for one in series for mark in one.marks])
                yield Chart(kind, _title(kind, rows), low, high, series, len(rows) - len(drawn))


def _title(kind: str, rows: pd.DataFrame) -> str:
    first = {str(name): value for name, value in rows.iloc[0].items()}
    what = "Idle share" if kind == SHARE else "Idle time"
    where = f"{first['toolchain']}, {configuration_words(first)}, {first['network']}"
    return f"{what}: {where}, {plural(int(first['ranks']), 'rank')}"


def _edges(kind: str, values: list[float]) -> tuple[float, float]:
    if kind == SHARE:
        return min(0.0, *values) - 0.05, max(1.0, *values) + 0.05
    return min(values) / 1.5, max(values) * 1.5


def _series(drawn: pd.DataFrame, kind: str, sizes: list[int]) -> Iterator[Series]:
    for operation, rows in drawn.groupby("operation", sort=False):
        level = bool((rows["message_bytes"] == 0).all())
        if level:
            ends = tuple(_mark(kind, size, rows) for size in dict.fromkeys((sizes[0], sizes[-1])))
            yield Series(str(operation), True, ends)
            continue
        marks = tuple(_mark(kind, int(str(size)), of_size) for size, of_size in rows.groupby("message_bytes"))
        yield Series(str(operation), False, marks)


def _mark(kind: str, message_bytes: int, rows: pd.DataFrame) -> Mark:
    """The mark of rows that differ in nothing but the launch; of those that are reliable, if there are any.

    Its value is the median over launches, and its interval reaches from the lowest to the highest end of theirs.
    """
    reliable = rows[rows["reliable"]]
    shown: Any = reliable if len(reliable) else rows
    value = float(shown[kind].median())
    low, high = float(shown[f"{kind}_ci95_low"].min()), float(shown[f"{kind}_ci95_high"].max())
    known = math.isfinite(low) and math.isfinite(high)
    if kind == SHARE:
        words = f"{ratio(value)} {interval(low, high)}"
    else:
        words = f"{duration(value)} [{duration(low)}, {duration(high)}]" if known else duration(value)
    return Mark(message_bytes, value, low, high, words, pale=reliable.empty)
