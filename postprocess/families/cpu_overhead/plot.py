"""The curves of `charts` as pictures for papers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from postprocess.drawing.pictures import STYLE, save_figure
from postprocess.drawing.text import clean, duration, size
from postprocess.families.cpu_overhead.charts import FIGURES, SHARE, Chart, Series, charts

# Okabe and Ito's colours, which colour-blind readers can tell apart. A collective keeps its own in every picture.
COLOURS = {
    "barrier": "#000000",
    "bcast": "#0072b2",
    "gather": "#e69f00",
    "scatter": "#cc79a7",
    "allgather": "#009e73",
    "alltoall": "#d55e00",
    "reduce": "#56b4e9",
    "allreduce": "#5d3a9b",
    "scan": "#8a8a00",
}
OTHER_COLOUR = "#777777"
PALE = 0.3


def colour_of(series: Series) -> str:
    """The colour of a curve."""
    return COLOURS.get(series.operation, OTHER_COLOUR)


def chart_figure(chart: Chart) -> Figure:
    """The picture of a chart, with its legend and what a reader should know of its marks."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.5, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(clean(chart.title), parse_math=False, fontsize="medium", fontweight="bold", wrap=True)
        ax = figure.subplots()
        ax.set_xscale("log", base=2)
        if chart.kind == SHARE:
            ax.axhline(0.0, color="0.4", linewidth=1.0, zorder=1.5)
        else:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, _place: duration(value))
            ax.yaxis.set_minor_formatter(lambda value, _place: duration(value))
            ax.tick_params(axis="y", which="minor", labelsize="small")
        for series in chart.series:
            _draw(ax, series)
        ax.set_xticks(chart.sizes, [size(one) for one in chart.sizes], rotation=45, fontsize="small")
        ax.set_xticks([], minor=True)
        ax.set_xlabel("message")
        ax.set_ylabel(chart.y_name)
        ax.set_ylim(chart.low, chart.high)
        ax.grid(axis="y", color="0.9", linewidth=0.6, zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
        legend = figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", fontsize="small")
        for text in legend.get_texts():
            text.set_parse_math(False)
        key = [f"as {FIGURES[chart.kind]} of Hoefler et al. 2006; medians with their 95 % intervals", *chart.notes]
        figure.supxlabel("\n".join(map(clean, key)), x=0.01, ha="left", fontsize="small", parse_math=False)
    return figure


def _draw(ax: Axes, series: Series) -> None:
    colour, line = colour_of(series), "--" if series.level else "-"
    sizes, values = [one.message_bytes for one in series.marks], [one.value for one in series.marks]
    ax.plot(sizes, values, line, color=colour, linewidth=1.3, label=clean(series.operation), zorder=2)
    for mark in series.marks:
        opacity = PALE if mark.pale else 1.0
        ax.plot([mark.message_bytes], [mark.value], "o", color=colour, alpha=opacity, markersize=4, zorder=3)
        if math.isfinite(mark.low) and math.isfinite(mark.high):
            ax.vlines(mark.message_bytes, mark.low, mark.high, color=colour, alpha=opacity, linewidth=1.1, zorder=3)


def write_charts(table: pd.DataFrame, folder: Path, kinds: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Draw every chart of a run into `folder` (made if need be). Each file is written whole or not at all.

    Returns the paths. Raises OSError where a file cannot be written.
    """
    written: list[Path] = []
    stems: dict[str, int] = {}
    for chart in charts(table):
        stem = re.sub(r"[^A-Za-z0-9]+", "-", f"cpu-overhead {chart.title}").strip("-")[:150]
        stems[stem] = stems.get(stem, 0) + 1
        name = stem if stems[stem] == 1 else f"{stem}-{stems[stem]}"
        folder.mkdir(parents=True, exist_ok=True)
        figure = chart_figure(chart)
        written += [save_figure(figure, folder / f"{name}.{kind}") for kind in kinds]
    return written
