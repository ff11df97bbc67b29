"""`curves.Chart`s with lengths in units of a picture, as the template `curves.html` draws them in SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from postprocess.drawing.curves import DASH_DOTTED, DASHED, DOTTED, PALE, SOLID, Chart, Curve, Mark

if TYPE_CHECKING:
    import pandas as pd

_LEFT, _RIGHT, _TOP, _WIDTH, _HEIGHT = 62.0, 12.0, 10.0, 620.0, 230.0
_MOST_LABELS = 10
DASHES = {SOLID: "", DASHED: "6 4", DASH_DOTTED: "8 3 2 3", DOTTED: "2 4"}
"""The dashes of lines, as SVG has them."""
SHAPES = {
    "o": "m-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z",
    "s": "m-3.2,-3.2h6.4v6.4h-6.4z",
    "^": "m0,-4.2l4.2,7.4h-8.4z",
    "v": "m0,4.2l4.2,-7.4h-8.4z",
    "D": "m0,-4.4l4.4,4.4l-4.4,4.4l-4.4,-4.4z",
    "x": "m-3.4,-3.4l6.8,6.8m-6.8,0l6.8,-6.8",
    "": "",
}
"""The markers, by their names in matplotlib, as paths that start at the mark."""


def chart_view(chart: Chart) -> SimpleNamespace:
    """What the template shows of a chart: its texts, and the places of all in it, -1 for what there is none of.

    level, upright: the lines across it.  places: the words of all places.  Of a curve, shape: that of its marks; it and
    `marks` are empty where only the line is drawn.  lines: the pieces of its line, the places of each as SVG has them
    and its opacity.  joined: whether a line joins its marks.  texts: the words of its marks at each of the places.
    """
    places, bottom = chart.places, _TOP + _HEIGHT

    def x(place: float) -> float:
        if chart.horizontal.named:
            return round(_LEFT + _WIDTH * (place - places[0] + 0.5) / (places[-1] - places[0] + 1.0), 1)
        if len(places) < 2:
            return round(_LEFT + 0.5 * _WIDTH, 1)
        if chart.horizontal.log:
            share = math.log(place / places[0]) / math.log(places[-1] / places[0])
        else:
            share = (place - places[0]) / (places[-1] - places[0])
        return round(_LEFT + _WIDTH * (0.03 + 0.94 * share), 1)

    def y(value: float) -> float:
        """The place of a value, at most at the edge of the picture; -1 for a value that has none."""
        if not math.isfinite(value):
            return -1.0
        low, high = chart.low, chart.high
        if not chart.vertical.log:
            share = (value - low) / (high - low)
        else:
            share = math.log(value / low) / math.log(high / low) if value > 0 else 0.0
        return round(bottom - _HEIGHT * min(max(share, 0.0), 1.0), 1)

    def mark_view(mark: Mark, shift: float, opacity: float) -> SimpleNamespace:
        return SimpleNamespace(
            x=x(mark.place + shift),
            **{end: y(value) for end, value in (("y", mark.value), ("low", mark.low), ("high", mark.high))},
            words=mark.words,
            opacity=PALE * opacity if mark.pale else opacity,
        )

    def curve_view(curve: Curve, shift: float) -> SimpleNamespace:
        style, words = curve.style, {mark.place: mark.words for mark in curve.marks}
        lines = [
            (" ".join(f"{x(mark.place)},{y(mark.value)}" for mark in marks), opacity)
            for pieces, opacity in zip(chart.lines(curve), (style.opacity, PALE * style.opacity), strict=True)
            for marks in pieces
        ]
        marks = [mark_view(mark, shift, style.opacity) for mark in curve.marks] if style.marker else []
        return SimpleNamespace(
            name=curve.name,
            colour=style.colour,
            shape=SHAPES[style.marker],
            opacity=style.opacity,
            dashes=DASHES[style.line],
            lines=lines,
            marks=marks,
            joined=chart.joins(curve),
            hollow=style.hollow,
            texts=[words.get(place, "") for place in places],
        )

    return SimpleNamespace(
        title=chart.title,
        figures=chart.figures,
        x_name=chart.horizontal.name,
        y_name=chart.vertical.name,
        width=_LEFT + _WIDTH + _RIGHT,
        height=bottom + 24,
        left=_LEFT,
        level=y(chart.level),
        upright=x(chart.upright) if chart.has_upright else -1.0,
        x_ticks=[(x(one), chart.horizontal.words(one)) for one in chart.shown_places(_MOST_LABELS)],
        y_ticks=[(y(value), chart.vertical.words(value)) for value in chart.ticks()],
        curves=[curve_view(curve, shift) for curve, shift in zip(chart.curves, chart.shifts(), strict=True)],
        notes=chart.notes,
        places=list(map(chart.horizontal.words, places)),
    )


@dataclass(frozen=True)
class CurveSection:
    """A section of the report with charts.

    charts: yields the charts of a table.
    own: makes what else its template reads, by name, of the table and the most rows of a table.
    more: likewise of the records, where the table does not tell all.
    """

    charts: Callable[[pd.DataFrame], Iterable[Chart]]
    own: Callable[[pd.DataFrame, int], Mapping[str, Any]]
    more: Callable[[Sequence[Any], int], Mapping[str, Any]] = lambda _records, _most_rows: {}

    def view(
        self, table: pd.DataFrame, files: Sequence[str], most_rows: int, records: Sequence[Any] = ()
    ) -> SimpleNamespace | None:
        """What its template reads; None for an empty table. files: the addresses of the pictures."""
        if table.empty:
            return None
        own = {**self.own(table, most_rows), **self.more(records, most_rows)}
        return SimpleNamespace(**own, charts=list(map(chart_view, self.charts(table))), files=files)
