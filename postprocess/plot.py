"""Heat maps as in section 5.2, for papers and slides: SVG and PNG, drawn without pyplot and without a display."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from postprocess.colour import NO_VALUE, STOPS, colour, text_colour
from postprocess.load import Run
from postprocess.maps import MARKS, METRIC_TITLES, Cell, Sweep, side_by_side, sweeps_of
from postprocess.text import clean, duration

_INCHES_PER_CELL = 0.62
_LOW, _HIGH = STOPS[0][0], STOPS[-1][0]
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "svg.fonttype": "none",
    "svg.hashsalt": "mpi-campaign",
    "hatch.linewidth": 0.6,
}
_TICKS = {_LOW: "-0.5", 0: "0 overlap", 0.5: "0.5", 1: "1 serialised", 1.5: "1.5", _HIGH: "2 slower"}
_PNG_DPI = 150
_VALUE_POINTS, _MARK_POINTS = 9.5, 7.0


def map_figure(sweep: Sweep) -> Figure:
    """One sweep: its r_overhead, and beside it the one against basic's references where it is not basic itself."""
    return _figure([(sweep, metric, METRIC_TITLES[metric]) for metric in sweep.metrics], sweep.title, columns=2)


def overview_figure(sweeps: Sequence[Sweep], title: str, columns: int = 4) -> Figure:
    """Every sweep as small multiples on the one scale, configurations of one case side by side.

    What decides is shown: r_overhead of basic, and of the others the one against basic's references, which a progress
    thread that slows everything down cannot improve.
    """
    panels = []
    for sweep in side_by_side(sweeps):
        metric = sweep.metrics[-1]
        panels.append((sweep, metric, f"{sweep.title.replace(' ', chr(10), 1)}\n{METRIC_TITLES[metric]}"))
    return _figure(panels, title, columns)


def write_maps(run: Run, points: pd.DataFrame, folder: Path) -> dict[str, list[Path]]:
    """Draw every sweep of a run and the overview into `folder` (made if need be), as SVG and PNG.

    Returns the files by the sweep's record name and collective, ``"records/x.jsonl ibcast"``, the overview's by
    ``"overview"``. Each file is written whole or not at all. Raises OSError where that cannot be done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sweeps = sweeps_of(run, points)
    figures = {file_key(s): (_file_stem(s.title), map_figure(s)) for s in sweeps if s.cells}
    if figures:
        name = str(run.manifest.get("run") or run.path.name)
        figures["overview"] = ("overview", overview_figure([s for s in sweeps if s.cells], f"r_overhead, run {name}"))
    written: dict[str, list[Path]] = {}
    taken: set[str] = set()
    for key, (stem, figure) in figures.items():
        free = next(name for name in (stem, *(f"{stem}-{i}" for i in range(2, len(figures) + 2))) if name not in taken)
        taken.add(free)
        written[key] = [_save(figure, folder / f"{free}.{kind}") for kind in ("svg", "png")]
    return written


def file_key(sweep: Sweep) -> str:
    """The key of a sweep's files in what `write_maps` returns."""
    return f"{sweep.record.name} {sweep.case['collective']}"


def _figure(panels: Sequence[tuple[Sweep, str, str]], title: str, columns: int) -> Figure:
    columns = max(1, min(columns, len(panels)))
    rows = math.ceil(len(panels) / columns)
    across = max(len(s.comm_targets_ns) for s, _, _ in panels)
    up = max(len(s.comp_targets_ns) for s, _, _ in panels)
    marks = [letter for letter in MARKS if any(letter in s.marks for s, _, _ in panels)]
    width = columns * max(3.0, across * _INCHES_PER_CELL + 1.3) + 1.0
    height = rows * max(2.6, up * _INCHES_PER_CELL + 1.3) + 0.7 + 0.2 * (len(marks) + 1)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(clean(title), parse_math=False, fontsize="large", fontweight="bold")
        grid = figure.subplots(rows, columns, squeeze=False)
        for ax, (sweep, metric, name) in zip(grid.flat, panels, strict=False):
            _draw(ax, sweep, metric, name)
        for ax in grid.flat[len(panels) :]:
            ax.set_axis_off()
        bar = figure.colorbar(_scale(), ax=grid.ravel().tolist(), extend="both", aspect=30, ticks=list(_TICKS))
        bar.ax.set_yticklabels(list(_TICKS.values()))
        key = [f"{letter}  {MARKS[letter]}" for letter in marks] + ["grey: no value, and why"]
        figure.supxlabel("\n".join(key), x=0.01, ha="left", fontsize="small", parse_math=False)
    return figure


def _draw(ax: Axes, sweep: Sweep, metric: str, title: str) -> None:
    columns, rows = len(sweep.comm_targets_ns), len(sweep.comp_targets_ns)
    for x, comm in enumerate(sweep.comm_targets_ns):
        for y, comp in enumerate(sweep.comp_targets_ns):
            _draw_cell(ax, x, y, sweep.cells[comm, comp], metric)
    ax.set_xlim(0, columns)
    ax.set_ylim(0, rows)
    ax.set_aspect("equal")
    ax.set_xticks([x + 0.5 for x in range(columns)], [duration(t) for t in sweep.comm_targets_ns])
    ax.set_yticks([y + 0.5 for y in range(rows)], [duration(t) for t in sweep.comp_targets_ns])
    ax.tick_params(length=0, labelsize="small")
    if columns > 4:
        ax.tick_params(axis="x", rotation=45)
    ax.set_xlabel("communication time")
    ax.set_ylabel("computation time")
    ax.set_title("\n".join(clean(line) for line in title.split("\n")), fontsize="medium", parse_math=False)


def _draw_cell(ax: Axes, x: int, y: int, cell: Cell, metric: str) -> None:
    value = cell.value(metric)
    background = colour(value) if math.isfinite(value) else NO_VALUE
    ink = text_colour(background)
    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=background, edgecolor="white", linewidth=1.5))
    if "?" in cell.marks:
        ax.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor=(*ink, 0.35), hatch="////", linewidth=0))
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "parse_math": False}
    if not math.isfinite(value):
        ax.text(x + 0.5, y + 0.5, cell.label(metric).replace(" ", "\n"), fontsize=_MARK_POINTS, **style)
        return
    box = {"facecolor": background, "edgecolor": "none", "pad": 1.0} if "?" in cell.marks else None
    ax.text(x + 0.5, y + (0.58 if cell.marks else 0.5), cell.label(metric), fontsize=_VALUE_POINTS, bbox=box, **style)
    if cell.marks:
        ax.text(x + 0.5, y + 0.22, " ".join(cell.marks), fontsize=_MARK_POINTS, bbox=box, **style)


def _scale() -> ScalarMappable:
    stops = [((value - _LOW) / (_HIGH - _LOW), rgb) for value, rgb in STOPS]
    return ScalarMappable(Normalize(_LOW, _HIGH), LinearSegmentedColormap.from_list("overhead", stops))


def _file_stem(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9.@]+", "-", title.replace("@", "-")).strip("-.")[:120] or "map"


def _save(figure: Figure, path: Path) -> Path:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    kind = path.suffix[1:]
    try:
        with mpl.rc_context(_STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(partial, format=kind, dpi=_PNG_DPI, metadata={"Date": None} if kind == "svg" else None)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path
