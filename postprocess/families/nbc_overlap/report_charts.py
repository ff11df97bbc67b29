"""The curves of `charts` for the report: coordinates for an SVG, which the page styles, and a table of the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from postprocess.drawing.text import ratio
from postprocess.families.nbc_overlap.chart_plot import COLOURS
from postprocess.families.nbc_overlap.charts import Chart, Mark

_LEFT, _RIGHT, _TOP, _HEIGHT = 46, 12, 14, 190


@dataclass(frozen=True)
class MarkView:
    """A mark of a curve. ``x``, ``y`` and the interval's ends ``low`` and ``high`` are in units of the view box."""

    x: float
    y: float
    low: float
    high: float
    words: str
    doubtful: bool


@dataclass(frozen=True)
class SeriesView:
    """The marks of a curve, with the number of its colour."""

    name: str
    colour: int
    predicted: bool
    marks: list[MarkView]


@dataclass(frozen=True)
class ChartView:
    """A chart with lengths in units of its view box. ``table`` has a row per series and a cell per category."""

    chart: Chart
    width: float
    height: float
    left: float
    bottom: float
    line: float
    places: list[float]
    ticks: list[tuple[float, str]]
    series: list[SeriesView]
    table: list[tuple[str, list[str]]]


def chart_view(chart: Chart) -> ChartView:
    """The coordinates of everything in a chart."""
    step = max(80.0, 6.2 * max((len(name) for name in chart.categories), default=0))
    low, high = chart.range
    bottom = _TOP + _HEIGHT

    def y(value: float) -> float:
        return round(bottom - _HEIGHT * (min(max(value, low), high) - low) / (high - low), 1)

    def view(mark: Mark) -> MarkView:
        known = math.isfinite(mark.low) and math.isfinite(mark.high)
        ends = (mark.low, mark.high) if known else (mark.value, mark.value)
        place = round(_LEFT + step * (mark.place + 0.5), 1)
        return MarkView(place, y(mark.value), y(ends[0]), y(ends[1]), mark.words, bool(mark.remarks))

    names = list(dict.fromkeys(series.name.partition(",")[0] for series in chart.series))
    return ChartView(
        chart=chart,
        width=_LEFT + step * len(chart.categories) + _RIGHT,
        height=bottom + 22,
        left=_LEFT,
        bottom=bottom,
        line=y(chart.line),
        places=[round(_LEFT + step * (i + 0.5), 1) for i in range(len(chart.categories))],
        ticks=[(y(value), ratio(value)) for value in _ticks(low, high)],
        series=[
            SeriesView(
                s.name, names.index(s.name.partition(",")[0]) % len(COLOURS), s.predicted, [view(m) for m in s.marks]
            )
            for s in chart.series
        ],
        table=[(s.name, list(_cells(s.marks, len(chart.categories)))) for s in chart.series],
    )


def _cells(marks: tuple[Mark, ...], count: int) -> Iterator[str]:
    words = {mark.place: mark.words for mark in marks}
    return (words.get(place, "") for place in range(count))


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within the range, in steps of at most a quarter of it."""
    size = 10.0 ** math.floor(math.log10(high - low))
    step = next(s for s in (size, size / 2, size / 5, size / 10) if (high - low) / s >= 4)
    return [float(v) for v in np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step]
