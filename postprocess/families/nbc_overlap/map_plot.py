"""Maps as in section 5.2, for papers and slides: SVG, PNG and PDF, drawn without pyplot and without a display."""

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from postprocess.drawing.colour import NO_VALUE, SCALES, Rgb, faded, text_colour
from postprocess.drawing.curve_plot import write_charts
from postprocess.drawing.look import PLAIN, Look
from postprocess.drawing.pictures import STYLE, save_figure
from postprocess.drawing.text import clean, duration
from postprocess.families.nbc_overlap.charts import charts
from postprocess.families.nbc_overlap.maps import (
    METRICS,
    Cell,
    MapRatio,
    Panel,
    Sweep,
    file_key,
    legend,
    panels_of,
    sweeps_of,
)
from postprocess.records.run import Run, cases_of
from postprocess.records.run_words import provenance_words, run_name

_LINE, _AXIS_NAME = 0.19, 0.3
_BAR = 1.25


def wants(look: Look, metric: MapRatio) -> bool:
    """Whether a metric is drawn: the metrics that the look names or, if it names none, all except the speed."""
    return metric.name in look.metrics if look.metrics else metric.family != "speed"


@dataclass(frozen=True)
class _Spot:
    """One place of a picture: a map of a metric under its heading, or words where there is no map."""

    heading: str
    panel: Panel | None
    metric: MapRatio | None

    @property
    def sweep(self) -> Sweep | None:
        return self.panel.sweep if self.panel is not None else None


@dataclass(frozen=True)
class _Geometry:
    """Sizes in a picture. Lengths are in inches: of a map, of the space left of and below it, of a line of its heading.

    ``value_points`` and ``sign_points`` are font sizes in points.
    """

    width: float
    height: float
    left: float
    bottom: float
    head_line: float
    value_points: float
    sign_points: float


def map_figures(run: Run, panel: Panel, look: Look = PLAIN) -> dict[str, Figure]:
    """The pictures of one sweep by family: its overhead ratios, and the pair of its concurrency ratios (figure 7)."""
    sweep = panel.sweep
    if sweep is None or not sweep.cells:
        return {}
    drawn = [metric for metric in sweep.metrics if wants(look, metric)]
    figures = {}
    for family in dict.fromkeys(metric.family for metric in drawn):
        row = [_Spot(metric.title, panel, metric) for metric in drawn if metric.family == family]
        figures[family] = _figure([row], sweep.title, provenance_words(run, [sweep.record]), look)
    return figures


def overview_figures(run: Run, panels: Sequence[Panel], look: Look = PLAIN) -> dict[str, Figure]:
    """All sweeps on one scale, a row per collective, a column per library and configuration (as figures 14 to 25).

    `overview` shows `Sweep.deciding`: for basic the ratio against its own references, for other configurations the
    ratio against basic's references. The other overviews are named by their metric.
    """
    shown = [panel for panel in panels if panel.sweep is not None]
    if not any(panel.sweep and panel.sweep.cells for panel in shown):
        return {}
    figures = {}
    overhead = [m for m in METRICS.values() if m.family == "overhead" and wants(look, m)]
    if overhead:
        figures["overview"] = _overview(run, panels, None, look)
    for metric in METRICS.values():
        if metric.family != "overhead" and wants(look, metric):
            figures[f"overview-{metric.name.replace('_', '-')}"] = _overview(run, panels, metric, look)
    return figures


def write_maps(run: Run, points: pd.DataFrame, folder: Path, look: Look = PLAIN) -> dict[str, list[Path]]:
    """Draw every sweep of a run and the overviews into `folder` (made if need be), in every format of the look.

    Returns the paths of the files: the maps of a sweep by its `file_key`, the overviews by ``"overview"``, and the
    curves by ``"charts"``. Curves are drawn only where the look names no metrics. Each file is written whole or not at
    all. Raises OSError where a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    panels = panels_of(sweeps_of(run, points), cases_of(run.manifest))
    written: dict[str, list[Path]] = {}
    taken: set[str] = set()

    def write(key: str, stem: str, figure: Figure) -> None:
        names = (stem, *(f"{stem}-{i}" for i in range(2, len(taken) + 3)))
        free = next(name for name in names if name not in taken)
        taken.add(free)
        written.setdefault(key, []).extend(save_figure(figure, folder / f"{free}.{kind}") for kind in look.kinds)

    for panel in panels:
        for family, figure in map_figures(run, panel, look).items():
            if panel.sweep is not None:
                suffix = "" if family == "overhead" else f"-{family}"
                write(file_key(panel.sweep), _file_stem(panel.sweep.title, suffix), figure)
    for name, figure in overview_figures(run, panels, look).items():
        write("overview", name, figure)
    if not look.metrics:
        provenance = provenance_words(run, [panel.sweep.record for panel in panels if panel.sweep is not None])
        written["charts"] = write_charts(charts(points), folder, "curves", look.kinds, provenance)
    return written


def _overview(run: Run, panels: Sequence[Panel], metric: MapRatio | None, look: Look) -> Figure:
    every = list(dict.fromkeys(panel.column for panel in panels))
    columns = list(dict.fromkeys(panel.column for panel in panels if not panel.skipped))
    nothing = ", ".join(" ".join(column) for column in every if column not in columns)
    collectives = list(dict.fromkeys(panel.collective for panel in panels))
    places = {(panel.collective, panel.column): panel for panel in reversed(panels)}  # those with a sweep are first
    rows: list[list[_Spot]] = []
    for collective in collectives:
        row = []
        for column in columns:
            panel = places.get((collective, column))
            shown = metric or (panel.sweep.deciding if panel and panel.sweep else METRICS["r_overhead"])
            row.append(_Spot("" if rows else "\n".join(column), panel, shown))
        rows.append(row)
    sweeps = [panel.sweep for panel in panels if panel.sweep is not None]
    what = metric.title if metric else "r_overhead, basic against its own references, others against basic's"
    provenance = provenance_words(run, [sweep.record for sweep in sweeps]) + (
        f"; skipped everywhere: {nothing}" if nothing else ""
    )
    return _figure(rows, f"{what}: run {run_name(run)}", provenance, look, collectives)


def _figure(
    rows: Sequence[Sequence[_Spot]], title: str, provenance: str, look: Look, names: Sequence[str] = ()
) -> Figure:
    """A picture of maps in rows and columns, with one scale per metric. `names` are the names of the rows, if any."""
    sweeps = [spot.sweep for row in rows for spot in row if spot.sweep is not None]
    g = _geometry(sweeps, bool(names))
    bars = [_bar_after(rows, j) for j in range(len(rows[0]))]
    widths = [g.left + g.width + (_BAR if bar else 0.2) for bar in bars]
    margin = 0.45 if names else 0.1
    width = max(sum(widths) + margin, 4.2)
    heads = [0.1 + g.head_line * max(len(_heading_lines(spot.heading, g.width)) for spot in row) for row in rows]
    heights = [head + g.height + g.bottom for head in heads]
    titles = textwrap.wrap(clean(title), max(20, int(width * 10.5)))
    signs = [line for sign, words in legend(sweeps, look.dim) for line in _wrapped(f"{sign}  {words}", width)]
    if names:
        signs.insert(0, "In each map communication time grows to the right, computation time upwards.")
    foot = signs + _wrapped(provenance, width)
    top = sum(heights) + _AXIS_NAME + _LINE * len(foot) + 0.15
    height = top + 0.15 + 0.24 * len(titles)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        for i, line in enumerate(titles):
            _write(figure, 0.1, height - 0.1 - 0.24 * i, line, 12.0, "bold")
        for i, line in enumerate(foot):
            y = _LINE * (len(foot) - i) + 0.05
            _write(figure, 0.1, y, line, 7.5, color="black" if i < len(signs) else "#57606a")
        for i, row in enumerate(rows):
            x, y = margin, top - sum(heights[: i + 1]) + g.bottom
            if names:
                _write(figure, 0.12, y + g.height / 2, names[i], 9.0, "bold", rotation=90, va="center")
            for j, spot in enumerate(row):
                x += g.left
                _draw(_axes(figure, x, y, g.width, g.height), spot, look, g, named=not names)
                if bars[j] and i == 0:
                    _draw_bar(_axes(figure, x + g.width + 0.15, y, 0.15, g.height), bars[j], look)
                x += widths[j] - g.left
    return figure


def _geometry(sweeps: Sequence[Sweep], small: bool) -> _Geometry:
    across = max(len(sweep.comm_targets_ns) for sweep in sweeps)
    up = max(len(sweep.comp_targets_ns) for sweep in sweeps)
    ticks = 0.45 if across > 4 else 0.25
    if small:
        return _Geometry(across * 0.42, up * 0.42, 0.62, ticks, 0.15, 7.0, 5.2)
    cell = 0.62 if across <= 6 else 0.5
    return _Geometry(across * cell, up * cell, 0.95, ticks, 0.2, 9.5, 7.0)


def _bar_after(rows: Sequence[Sequence[_Spot]], column: int) -> str:
    """The scale whose colour bar stands after a column; empty if the next column has the same scale."""
    scales = [spot.metric.scale if spot.metric else "" for spot in rows[0]]
    return scales[column] if column + 1 == len(scales) or scales[column + 1] != scales[column] else ""


def _axes(figure: Figure, x: float, y: float, width: float, height: float) -> Axes:
    """Axes at a place in inches from the bottom left."""
    whole_width, whole_height = figure.get_size_inches()
    return figure.add_axes((x / whole_width, y / whole_height, width / whole_width, height / whole_height))


def _write(figure: Figure, x: float, y: float, line: str, points: float, weight: str = "normal", **style: Any) -> None:
    """Write a line whose upper left corner is at (x, y), in inches from the bottom left of the figure."""
    width, height = figure.get_size_inches()
    style = {"va": "top", "fontsize": points, "fontweight": weight, "parse_math": False, **style}
    figure.text(x / width, y / height, clean(line), ha="left", **style)


def _wrapped(line: str, width: float) -> list[str]:
    return textwrap.wrap(clean(line), max(30, int(width * 16)), subsequent_indent="    ")


def _heading_lines(heading: str, width: float) -> list[str]:
    wide = max(16, int(width * 14))
    return [part for line in heading.split("\n") for part in textwrap.wrap(clean(line), wide)]


def _draw(ax: Axes, spot: _Spot, look: Look, g: _Geometry, *, named: bool) -> None:
    size: dict[str, Any] = {"fontsize": g.value_points, "parse_math": False}
    ax.set_title("\n".join(_heading_lines(spot.heading, g.width)), linespacing=1.15, pad=3, **size)
    ax.tick_params(length=0, labelsize=g.sign_points + 0.5, pad=2)
    sweep, metric = spot.sweep, spot.metric
    if sweep is None or metric is None or not sweep.cells:
        words = spot.panel.trouble if spot.panel else "not asked for"
        ax.set_xticks([])
        ax.set_yticks([])
        for side in ax.spines.values():
            side.set(color="#8c959f", linestyle=(0, (4, 3)))
        lines = textwrap.wrap(clean(words or "no point was measured"), max(12, int(g.width * 12)))
        room = max(1, int(g.height / 0.14))
        shown = [*lines[: room - 1], "…"] if len(lines) > room else lines
        ax.text(0.5, 0.5, "\n".join(shown), ha="center", va="center", transform=ax.transAxes, **size)
        return
    columns, rows = len(sweep.comm_targets_ns), len(sweep.comp_targets_ns)
    _draw_cells(ax, sweep, metric, look, g)
    ax.set_xlim(0, columns)
    ax.set_ylim(0, rows)
    ax.set_xticks([x + 0.5 for x in range(columns)], [duration(t) for t in sweep.comm_targets_ns])
    ax.set_yticks([y + 0.5 for y in range(rows)], [duration(t) for t in sweep.comp_targets_ns])
    ax.spines[:].set_visible(False)
    if columns > 4:
        ax.tick_params(axis="x", rotation=45)
    if named:
        ax.set_xlabel("communication time", fontsize=g.value_points)
        ax.set_ylabel("computation time", fontsize=g.value_points)


def _draw_cells(ax: Axes, sweep: Sweep, metric: MapRatio, look: Look, g: _Geometry) -> None:
    doubtful: dict[Rgb, list[Rectangle]] = {}
    boxes, colours = [], []
    for x, comm in enumerate(sweep.comm_targets_ns):
        for y, comp in enumerate(sweep.comp_targets_ns):
            cell = sweep.cells[comm, comp]
            background = _background(cell.value(metric.name), metric, look, far=sweep.far(comm, comp))
            boxes.append(Rectangle((x, y), 1, 1))
            colours.append(background)
            if "?" in cell.marks:
                doubtful.setdefault(text_colour(background), []).append(boxes[-1])
            _draw_words(ax, x, y, cell, metric, background, g)
    ax.add_collection(PatchCollection(boxes, facecolors=colours, edgecolors="white", linewidths=1.5))
    for ink, hatched in doubtful.items():
        ax.add_collection(
            PatchCollection(hatched, facecolors="none", edgecolors=(*ink, 0.35), hatch="////", linewidths=0)
        )


def _background(value: float, metric: MapRatio, look: Look, *, far: bool) -> Rgb:
    if not math.isfinite(value):
        return NO_VALUE
    rgb = SCALES[metric.scale].colour(value, look.palette)
    return faded(rgb) if look.dim and far else rgb


def _draw_words(ax: Axes, x: int, y: int, cell: Cell, metric: MapRatio, background: Rgb, g: _Geometry) -> None:
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": text_colour(background), "parse_math": False}
    if not math.isfinite(cell.value(metric.name)):
        label = cell.label(metric.name).replace(" ", "\n")
        ax.text(x + 0.5, y + 0.5, label, fontsize=g.sign_points, **style)
        return
    box = {"facecolor": background, "edgecolor": "none", "pad": 0.8} if "?" in cell.marks else None
    height = y + (0.6 if cell.signs else 0.5)
    ax.text(x + 0.5, height, cell.label(metric.name), fontsize=g.value_points, bbox=box, **style)
    if cell.signs:
        ax.text(x + 0.5, y + 0.22, " ".join(cell.signs), fontsize=g.sign_points, bbox=box, **style)


def _draw_bar(ax: Axes, name: str, look: Look) -> None:
    scale = SCALES[name]
    low, high = scale.low, scale.high
    stops = [((value - low) / (high - low), rgb) for value, rgb in scale.stops(look.palette)]
    mapping = ScalarMappable(Normalize(low, high), LinearSegmentedColormap.from_list(name, stops))
    figure = ax.get_figure()
    if not isinstance(figure, Figure):
        raise TypeError("a colour bar stands in a figure")
    bar = figure.colorbar(mapping, cax=ax, extend="both", ticks=list(scale.ticks))
    bar.ax.set_yticklabels(list(scale.ticks.values()), fontsize=7.5)


def _file_stem(title: str, suffix: str) -> str:
    name = re.sub(r"[^A-Za-z0-9.@]+", "-", title.replace("@", "-").replace("µ", "u")).strip("-.")[:120] or "map"
    return f"{name}{suffix}"
