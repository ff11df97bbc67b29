"""The curves of `charts` as pictures for papers, with the line where nothing is gained or lost."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from postprocess.drawing.text import clean
from postprocess.families.nbc_overlap.charts import Chart, Series

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's colours, which colour-blind readers can tell apart; markers differ too."""

_MARKERS = ("o", "s", "D", "^", "v", "P", "X")


def chart_figure(chart: Chart, provenance: str, style: Any) -> Figure:
    """The picture of a chart, with its legend, its remarks and the provenance of its numbers."""
    width = max(5.5, 1.6 + 0.9 * len(chart.categories))
    titles = textwrap.wrap(clean(chart.title), int(width * 9.5))
    notes = _notes(chart)
    signs = [line for text in notes for line in textwrap.wrap(text, int(width * 16))]
    foot = signs + textwrap.wrap(clean(provenance), int(width * 16))
    names = math.ceil(len(chart.series) / 2)
    below = 0.6 + 0.22 * names + 0.18 * len(foot)
    height = 2.6 + below + 0.25 * len(titles)
    with mpl.rc_context(style):
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        for i, line in enumerate(titles):
            _write(figure, height - 0.08 - 0.25 * i, line, 11.0, "black", "bold")
        for i, line in enumerate(foot):
            _write(figure, 0.18 * (len(foot) - i) + 0.02, line, 7.5, "black" if i < len(signs) else "#57606a")
        ax = figure.add_axes((0.75 / width, below / height, 1 - 0.95 / width, 2.5 / height))
        _draw(ax, chart)
        figure.legend(
            *ax.get_legend_handles_labels(),
            loc="lower left",
            bbox_to_anchor=(0.05 / width, (0.18 * len(foot) + 0.05) / height),
            ncols=2,
            fontsize=8,
            frameon=False,
        )
    return figure


def _draw(ax: Axes, chart: Chart) -> None:
    ax.set_xlim(-0.6, len(chart.categories) - 0.4)
    ax.set_ylim(*chart.range)
    ax.axhline(chart.line, color="#c1272d", linewidth=1.4, zorder=1)
    colours = list(dict.fromkeys(series.name.partition(",")[0] for series in chart.series))
    for i, series in enumerate(chart.series):
        number = colours.index(series.name.partition(",")[0]) % len(COLOURS)
        shift = 0.04 * (i - (len(chart.series) - 1) / 2)
        _draw_series(ax, series, COLOURS[number], _MARKERS[number], shift)
    ax.set_xticks(range(len(chart.categories)), [clean(name) for name in chart.categories], fontsize=8)
    for tick in ax.get_xticklabels():
        tick.set_parse_math(False)
    ax.tick_params(axis="y", labelsize=8)
    ax.set_xlabel(chart.x_name, fontsize=9)
    ax.set_ylabel(chart.y_name, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_series(ax: Axes, series: Series, colour: str, marker: str, shift: float) -> None:
    places = [mark.place + shift for mark in series.marks]
    values = [mark.value for mark in series.marks]
    name = clean(series.name).replace("$", r"\$")
    line, dots = ("--", None) if series.predicted else ("-", marker)
    ax.plot(places, values, line, color=colour, linewidth=1.4, marker=dots, label=name)
    if series.predicted:
        return
    for place, mark in zip(places, series.marks, strict=True):
        if math.isfinite(mark.low) and math.isfinite(mark.high):
            ax.vlines(place, mark.low, mark.high, color=colour, linewidth=1.2, zorder=3)
        if mark.remarks:
            ax.plot([place], [mark.value], marker, markersize=9, color=colour, fillstyle="none")


def _notes(chart: Chart) -> list[str]:
    """The remarks on marks, each once, with the marks that it is about."""
    marked: dict[str, list[str]] = {}
    for series in chart.series:
        for mark in series.marks:
            if mark.remarks and not series.predicted:
                marked.setdefault(mark.remarks, []).append(f"{series.name} at {chart.categories[mark.place]}")
    return [clean(f"ringed: {words} ({', '.join(places)})") for words, places in marked.items()]


def _write(figure: Figure, y: float, line: str, points: float, colour: str, weight: str = "normal") -> None:
    width, height = figure.get_size_inches()
    figure.text(
        0.08 / width, y / height, line, va="top", fontsize=points, color=colour, fontweight=weight, parse_math=False
    )
