"""The curves of `charts` as pictures for papers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from postprocess.drawing.pictures import STYLE, save_figure
from postprocess.drawing.text import clean, duration, size
from postprocess.families.partitioned.charts import FIGURES, GAIN, MEASURED, Chart, Series, charts, shown_sizes

# Okabe and Ito's colours, which colour-blind readers can tell apart. Approaches of one kind share a colour and differ
# in their markers; an approach keeps both in every picture.
COLOURS: Mapping[str, str] = {
    "part": "#0072b2",
    "part_parrived": "#0072b2",
    "part_coarse": "#0072b2",
    "part_neighbours": "#0072b2",
    "part_startall": "#0072b2",
    "single": "#000000",
    "many": "#d55e00",
    "persistent": "#e69f00",
    "layer": "#009e73",
    "rma_single_passive": "#cc79a7",
    "rma_many_passive": "#cc79a7",
    "rma_single_active": "#56b4e9",
    "rma_many_active": "#56b4e9",
    "rma_fence": "#56b4e9",
}
OTHER_COLOUR = "#777777"
MARKERS: Mapping[str, str] = {
    "part": "o", "part_parrived": "s", "part_coarse": "^", "part_neighbours": "D",
    "part_startall": "v", "single": "x", "many": "D", "persistent": "v", "layer": "o",
    "rma_single_passive": "o", "rma_many_passive": "s", "rma_single_active": "o", "rma_many_active": "s",
    "rma_fence": "^",
}  # fmt: skip
LINES: Mapping[str, str] = {"measured": "-", "reference": "--", "model": "-.", "limit": ":"}
"""Line styles by `Series.kind`."""
SHADES = (1.0, 0.75, 0.5, 0.3)
"""Opacity of the curves of one approach that differ in the aggregation or in the receiver's partitions."""
PALE = 0.3
_MOST_LABELS = 12


def colour_of(series: Series) -> str:
    """The colour of a curve."""
    return COLOURS.get(series.approach, OTHER_COLOUR)


def marker_of(series: Series) -> str:
    """The marker of a curve, as matplotlib names it; empty for a curve without marks."""
    return MARKERS.get(series.approach, "o") if series.kind == MEASURED else ""


def shades_of(series: Sequence[Series]) -> list[float]:
    """The opacity of each curve: those of one approach get the `SHADES` in turn."""
    seen: dict[str, int] = {}
    shades = []
    for one in series:
        key = one.approach if one.kind == MEASURED else f"{one.kind} {one.name}"
        shades.append(SHADES[seen.get(key, 0) % len(SHADES)])
        seen[key] = seen.get(key, 0) + 1
    return shades


def chart_figure(chart: Chart) -> Figure:
    """The picture of a chart, with its legend and what a reader should know of its marks."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(clean(chart.title), parse_math=False, fontsize="medium", fontweight="bold", wrap=True)
        ax = figure.subplots()
        ax.set_xscale("log", base=2)
        if chart.kind == GAIN:
            ax.axhline(1.0, color="#c1272d", linewidth=1.2, zorder=1.5)
        else:
            ax.set_yscale("log")
        for series, shade in zip(chart.series, shades_of(chart.series), strict=True):
            _draw(ax, series, shade)
        _axes(ax, chart)
        legend = figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", fontsize="small")
        for text in legend.get_texts():
            text.set_parse_math(False)
        figure.supxlabel(_key(chart), x=0.01, ha="left", fontsize="small", parse_math=False)
    return figure


def write_charts(table: pd.DataFrame, folder: Path, kinds: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Draw every chart of a run into `folder` (made if need be). Each file is written whole or not at all.

    Returns the paths. Raises OSError where a file cannot be written.
    """
    written: list[Path] = []
    stems: dict[str, int] = {}
    for chart in charts(table):
        stem = re.sub(r"[^A-Za-z0-9]+", "-", f"partitioned {chart.kind} {chart.title}").strip("-")[:150]
        stems[stem] = stems.get(stem, 0) + 1
        name = stem if stems[stem] == 1 else f"{stem}-{stems[stem]}"
        folder.mkdir(parents=True, exist_ok=True)
        figure = chart_figure(chart)
        written += [save_figure(figure, folder / f"{name}.{kind}") for kind in kinds]
    return written


def _draw(ax: Axes, series: Series, shade: float) -> None:
    colour, marker = colour_of(series), marker_of(series)
    sizes = [mark.message_bytes for mark in series.marks]
    values = [mark.value for mark in series.marks]
    ax.plot(sizes, values, LINES[series.kind], color=colour, alpha=shade, linewidth=1.3, zorder=2)
    ax.plot(
        [], [], LINES[series.kind], color=colour, alpha=shade, linewidth=1.3, marker=marker, markersize=5,
        label=clean(series.name),
    )  # fmt: skip
    if series.kind != MEASURED:
        return
    for mark in series.marks:
        opacity = PALE * shade if mark.pale else shade
        ax.plot([mark.message_bytes], [mark.value], marker, color=colour, alpha=opacity, markersize=5, zorder=3)
        if math.isfinite(mark.low) and math.isfinite(mark.high):
            ax.vlines(mark.message_bytes, mark.low, mark.high, color=colour, alpha=opacity, linewidth=1.1, zorder=3)


def _axes(ax: Axes, chart: Chart) -> None:
    labels = shown_sizes(chart.sizes, _MOST_LABELS)
    ax.set_xticks(labels, [size(one) for one in labels], rotation=45, fontsize="small")
    ax.set_xticks([], minor=True)
    ax.set_xlabel("message")
    ax.set_ylabel(chart.y_name)
    low, high = chart.range
    if chart.kind == GAIN:
        ax.set_ylim(0, 1.08 * max(high, 1.0))
    else:
        ax.set_ylim(low / 1.5, high * 1.5)
        ax.yaxis.set_major_formatter(lambda value, _place: duration(value))
    ax.grid(axis="y", color="0.9", linewidth=0.6, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)


def _key(chart: Chart) -> str:
    lines = [f"as {FIGURES[chart.kind]} of Gillis et al. 2023; medians with their 95 % intervals", *chart.notes]
    return "\n".join(map(clean, lines))
