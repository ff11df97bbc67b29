"""The section of the report about partitioned communication: verdicts, curves, and the table of all points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from postprocess.drawing.text import duration, ratio, size
from postprocess.families.partitioned.charts import FIGURES, GAIN, MEASURED, Chart, Mark, Series, charts, shown_sizes
from postprocess.families.partitioned.plot import PALE, colour_of, marker_of, shades_of
from postprocess.families.partitioned.table import HEADS, RIGHT, cells, rows_of
from postprocess.families.partitioned.verdict import (
    break_even_words,
    choices_words,
    scenario_words,
    unreliable_words,
    verdicts,
)

_LEFT, _RIGHT, _TOP, _WIDTH, _HEIGHT = 62.0, 12.0, 10.0, 620.0, 230.0
_MOST_LABELS = 10
DASHES = {"measured": "", "reference": "6 4", "model": "8 3 2 3", "limit": "2 4"}
"""The dashes of curves by `Series.kind`, as SVG has them."""
SHAPES = {
    "o": "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z",
    "s": "M-3.2,-3.2h6.4v6.4h-6.4z",
    "^": "M0,-4.2l4.2,7.4h-8.4z",
    "v": "M0,4.2l4.2,-7.4h-8.4z",
    "D": "M0,-4.4l4.4,4.4l-4.4,4.4l-4.4,-4.4z",
    "x": "M-3.4,-3.4l6.8,6.8M-3.4,3.4l6.8,-6.8",
}
"""The markers of `plot` as paths around the mark."""


@dataclass(frozen=True)
class MarkView:
    """A mark of a curve, in units of the picture; -1 for the ends of an interval that is not known."""

    x: float
    y: float
    low: float
    high: float
    words: str
    opacity: float


@dataclass(frozen=True)
class SeriesView:
    """A curve. `line` is the list of its places, and `shape` that of its marks, as SVG has them.

    `marks` and `shape` are empty where only the line is drawn."""

    name: str
    colour: str
    shape: str
    opacity: float
    dashes: str
    line: str
    marks: list[MarkView]


@dataclass(frozen=True)
class ChartView:
    """A chart with lengths in units of its picture. `one` is the place of the gain 1, -1 where times are shown."""

    title: str
    figures: str
    y_name: str
    width: float
    height: float
    left: float
    bottom: float
    one: float
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    series: list[SeriesView]
    notes: list[str]


@dataclass(frozen=True)
class VerdictView:
    """The verdict of a scenario in words: answers by range of sizes, and break-even sizes by option."""

    scenario: str
    choices: list[tuple[str, str]]
    break_evens: list[tuple[str, str]]
    unreliable: str


@dataclass(frozen=True)
class PartitionedView:
    """The section of the report.

    heads: the heads of the table, and whether their columns hold numbers.  rows: at most as many as the page has room
    for.  points: how many there are.
    """

    verdicts: list[VerdictView]
    charts: list[ChartView]
    heads: list[tuple[str, bool]]
    rows: list[list[str]]
    points: int
    files: Sequence[str]


def partitioned_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> PartitionedView | None:
    """The view of the table; None for an empty table. files: links to the pictures."""
    if table.empty:
        return None
    return PartitionedView(
        verdicts=list(_verdicts(table)),
        charts=[chart_view(chart) for chart in charts(table)],
        heads=[(head, number in RIGHT) for number, head in enumerate(HEADS)],
        rows=[cells(row) for row in rows_of(table.head(most_rows))],
        points=len(table),
        files=files,
    )


def _verdicts(table: pd.DataFrame) -> Iterator[VerdictView]:
    for verdict in verdicts(table):
        yield VerdictView(
            scenario=scenario_words(verdict.values),
            choices=choices_words(verdict.choices),
            break_evens=[
                (option.words, break_even_words(found, launches)) for option, found, launches in verdict.break_evens
            ],
            unreliable=unreliable_words(verdict),
        )


def chart_view(chart: Chart) -> ChartView:
    """The places of everything in a chart."""
    sizes, bottom = chart.sizes, _TOP + _HEIGHT
    first, last = math.log(sizes[0]), math.log(max(sizes[-1], sizes[0] + 1))
    low, high, log = *_ends(chart), chart.kind != GAIN

    def x(message_bytes: int) -> float:
        share = (math.log(message_bytes) - first) / (last - first) if len(sizes) > 1 else 0.5
        return round(_LEFT + _WIDTH * (0.03 + 0.94 * share), 1)

    def y(value: float) -> float:
        """The place of a value, at most at the edge of the picture; -1 for NaN."""
        if not math.isfinite(value) or (log and value <= 0):
            return -1.0
        share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        return round(bottom - _HEIGHT * min(max(share, 0.0), 1.0), 1)

    def mark_view(mark: Mark, shade: float) -> MarkView:
        opacity = round(PALE * shade if mark.pale else shade, 3)
        return MarkView(x(mark.message_bytes), y(mark.value), y(mark.low), y(mark.high), mark.words, opacity)

    def series_view(series: Series, shade: float) -> SeriesView:
        views = [mark_view(mark, shade) for mark in series.marks]
        line = " ".join(f"{view.x},{view.y}" for view in views)
        marks = views if series.kind == MEASURED else []
        shape = SHAPES.get(marker_of(series), "")
        return SeriesView(series.name, colour_of(series), shape, shade, DASHES[series.kind], line, marks)

    return ChartView(
        title=chart.title,
        figures=FIGURES[chart.kind],
        y_name=chart.y_name,
        width=_LEFT + _WIDTH + _RIGHT,
        height=bottom + 24,
        left=_LEFT,
        bottom=bottom,
        one=y(1.0) if chart.kind == GAIN else -1.0,
        x_ticks=[(x(one), size(one)) for one in shown_sizes(sizes, _MOST_LABELS)],
        y_ticks=[
            (y(value), ratio(value) if chart.kind == GAIN else duration(value)) for value in _ticks(low, high, log)
        ],
        series=[series_view(*each) for each in zip(chart.series, shades_of(chart.series), strict=True)],
        notes=chart.notes,
    )


def _ends(chart: Chart) -> tuple[float, float]:
    """The values at the lower and the upper edge of a chart."""
    low, high = chart.range
    return (0.0, 1.08 * max(high, 1.0)) if chart.kind == GAIN else (low / 1.5, high * 1.5)


def _ticks(low: float, high: float, log: bool) -> list[float]:
    """Round numbers between the ends: powers of ten, with 3 between them where they are few; or steps of 1, 2, 5."""
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        factors = (1, 3) if len(powers) <= 4 else (1,)
        return [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]
    magnitude = 10.0 ** math.floor(math.log10(high - low))
    step = next(s for s in (magnitude, magnitude / 2, magnitude / 5, magnitude / 10) if (high - low) / s >= 4)
    return [float(value) for value in np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step]
