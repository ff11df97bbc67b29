"""The section of the report about the CPU time of blocking collectives: curves, and the table of all points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from postprocess.drawing.text import duration, ratio, size
from postprocess.families.cpu_overhead.charts import FIGURES, SHARE, Chart, Mark, charts
from postprocess.families.cpu_overhead.plot import PALE, colour_of
from postprocess.families.cpu_overhead.table import HEADS, RIGHT, cells, rows_of

_LEFT, _RIGHT, _TOP, _WIDTH, _HEIGHT = 62.0, 12.0, 10.0, 620.0, 220.0
_MOST_LABELS = 10


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
    """A curve. `line` is the list of its places, as SVG has it; `dashes` are those of its line."""

    name: str
    colour: str
    dashes: str
    line: str
    marks: list[MarkView]


@dataclass(frozen=True)
class ChartView:
    """A chart with lengths in units of its picture. `zero` is the place of 0, -1 where the scale has none."""

    title: str
    figure: str
    y_name: str
    width: float
    height: float
    left: float
    zero: float
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    series: list[SeriesView]
    notes: list[str]


@dataclass(frozen=True)
class CpuView:
    """The section of the report.

    heads: the heads of the table, and whether their columns hold numbers.  rows: at most as many as the page has room
    for.  points: how many there are.
    """

    charts: list[ChartView]
    heads: list[tuple[str, bool]]
    rows: list[list[str]]
    points: int
    files: Sequence[str]


def cpu_view(table: pd.DataFrame, files: Sequence[str], room: int) -> CpuView | None:
    """What the section shows; None for an empty table.  files: the addresses of the pictures.  room: the most rows."""
    if table.empty:
        return None
    heads = [(head, number in RIGHT) for number, head in enumerate(HEADS)]
    rows = [cells(row) for row in rows_of(table.head(room))]
    return CpuView(list(map(chart_view, charts(table))), heads, rows, len(table), files)


def chart_view(chart: Chart) -> ChartView:
    """The places of everything in a chart."""
    sizes, bottom, log = chart.sizes, _TOP + _HEIGHT, chart.kind != SHARE
    first, last = math.log(sizes[0]), math.log(max(sizes[-1], sizes[0] + 1))

    def x(message_bytes: int) -> float:
        share = (math.log(message_bytes) - first) / (last - first) if len(sizes) > 1 else 0.5
        return round(_LEFT + _WIDTH * (0.03 + 0.94 * share), 1)

    def y(value: float) -> float:
        """The place of a value, at most at the edge of the picture; -1 for a value that has none."""
        if not math.isfinite(value):
            return -1.0
        if log and value <= 0:
            return round(bottom, 1)
        low, high = chart.low, chart.high
        share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        return round(bottom - _HEIGHT * min(max(share, 0.0), 1.0), 1)

    def mark_view(mark: Mark) -> MarkView:
        opacity = PALE if mark.pale else 1.0
        return MarkView(x(mark.message_bytes), y(mark.value), y(mark.low), y(mark.high), mark.words, opacity)

    series = []
    for one in chart.series:
        marks = [mark_view(mark) for mark in one.marks]
        line = " ".join(f"{mark.x},{mark.y}" for mark in marks)
        series.append(SeriesView(one.operation, colour_of(one), "6 4" if one.level else "", line, marks))
    step = math.ceil(len(sizes) / _MOST_LABELS)
    return ChartView(
        title=chart.title,
        figure=FIGURES[chart.kind],
        y_name=chart.y_name,
        width=_LEFT + _WIDTH + _RIGHT,
        height=bottom + 24,
        left=_LEFT,
        zero=-1.0 if log else y(0.0),
        x_ticks=[(x(one), size(one)) for one in sizes[::step]],
        y_ticks=[(y(value), duration(value) if log else ratio(value)) for value in _ticks(chart)],
        series=series,
        notes=chart.notes,
    )


def _ticks(chart: Chart) -> list[float]:
    """Powers of ten of a logarithmic scale, with 3 between them where they are few; steps of 0.2 or more of shares."""
    low, high = chart.low, chart.high
    if chart.kind == SHARE:
        step = next((one for one in (0.2, 0.5, 1.0) if (high - low) / one <= 8), math.ceil((high - low) / 8))
        return [float(number) for number in np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 3) if len(powers) <= 4 else (1,)
    return [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high]
