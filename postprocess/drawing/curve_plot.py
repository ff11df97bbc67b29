"""`curves.Chart`s as pictures for papers."""

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from postprocess.drawing.curves import DASHED, PALE, Chart, Curve, Style
from postprocess.drawing.pictures import STYLE, save_figure
from postprocess.drawing.text import clean

_MOST_LABELS = 12
_LONGEST_LINE = 150


def chart_figure(chart: Chart, provenance: str = "") -> Figure:
    """The picture of a chart, with its legend, what a reader should know of its marks, and where they are from."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(clean(chart.title), parse_math=False, fontsize="medium", fontweight="bold", wrap=True)
        ax = figure.subplots()
        _axes(ax, chart)
        for curve, shift in zip(chart.curves, chart.shifts(), strict=True):
            _draw(ax, chart, curve, shift)
        legend = figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", fontsize="small")
        for text in legend.get_texts():
            text.set_parse_math(False)
        notes = (line for text in (*chart.notes, provenance) for line in textwrap.wrap(clean(text), _LONGEST_LINE))
        key = ["; ".join(_shown(chart)), *notes]
        figure.supxlabel("\n".join(map(clean, key)), x=0.01, ha="left", fontsize="small", parse_math=False)
    return figure


def _shown(chart: Chart) -> Iterator[str]:
    if chart.figures:
        yield f"as {chart.figures}"
    if any(math.isfinite(mark.low) for curve in chart.curves for mark in curve.marks):
        yield f"{chart.values_are} with their 95 % intervals"


def write_charts(
    charts: Iterable[Chart], folder: Path, prefix: str, kinds: Sequence[str] = ("svg", "png"), provenance: str = ""
) -> list[Path]:
    """Draw charts into `folder` (made if need be). Each file is written whole or not at all.

    prefix: what all names of files begin with.  provenance: the last line of each picture.
    Returns the paths. Raises OSError where a file cannot be written.
    """
    written: list[Path] = []
    stems: dict[str, int] = {}
    for chart in charts:
        stem = re.sub(r"[^A-Za-z0-9]+", "-", f"{prefix} {chart.title}".replace("µ", "u")).strip("-")[:150]
        stems[stem] = stems.get(stem, 0) + 1
        name = stem if stems[stem] == 1 else f"{stem}-{stems[stem]}"
        folder.mkdir(parents=True, exist_ok=True)
        figure = chart_figure(chart, provenance)
        written += [save_figure(figure, folder / f"{name}.{kind}") for kind in kinds]
    return written


def _axes(ax: Axes, chart: Chart) -> None:
    if chart.horizontal.log:
        ax.set_xscale("log", base=2)
    if chart.vertical.log:
        ax.set_yscale("log")
    labels = chart.shown_places(_MOST_LABELS)
    ax.set_xticks(labels, [chart.horizontal.words(label) for label in labels], rotation=45, fontsize="small")
    ax.set_xticks([], minor=True)
    ticks = chart.ticks()
    ax.set_yticks(ticks, [chart.vertical.words(one) for one in ticks])
    ax.set_yticks([], minor=True)
    if chart.horizontal.named and labels:
        ax.set_xlim(chart.places[0] - 0.5, chart.places[-1] + 0.5)
    ax.set_xlabel(chart.horizontal.name)
    ax.set_ylabel(chart.vertical.name)
    ax.set_ylim(chart.low, chart.high)
    if math.isfinite(chart.level):
        ax.axhline(chart.level, color="#c1272d", linewidth=1.2, zorder=1.5)
    if chart.has_upright:
        ax.axvline(chart.upright, color="0.4", linewidth=1.0, linestyle=DASHED, zorder=1.5)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color="0.9", linewidth=0.6, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)


def _inside(style: Style) -> str:
    """The colour within the outline of marks."""
    return "white" if style.hollow else style.colour


def _draw(ax: Axes, chart: Chart, curve: Curve, shift: float) -> None:
    style = curve.style
    joining = style.line if chart.joins(curve) else "none"
    for pieces, opacity in zip(chart.lines(curve), (style.opacity, PALE * style.opacity), strict=True):
        for marks in pieces:
            places, values = [one.place for one in marks], [one.value for one in marks]
            ax.plot(places, values, style.line, color=style.colour, alpha=opacity, linewidth=1.3, zorder=2)
    ax.plot(
        [], [], linestyle=joining, color=style.colour, alpha=style.opacity, linewidth=1.3, marker=style.marker,
        markersize=5, markerfacecolor=_inside(style), label=clean(curve.name),
    )  # fmt: skip
    if not style.marker:
        return
    for mark in curve.marks:
        opacity = PALE * style.opacity if mark.pale else style.opacity
        place = mark.place + shift
        ax.plot(
            [place], [mark.value], style.marker, color=style.colour, alpha=opacity, markersize=5,
            markerfacecolor=_inside(style), zorder=3,
        )  # fmt: skip
        if math.isfinite(mark.low) and math.isfinite(mark.high):
            ax.vlines(place, mark.low, mark.high, color=style.colour, alpha=opacity, linewidth=1.1, zorder=3)
