"""The numbers of `precision` as pictures: SVG, on a light ground of their own, so that dark pages do not hide them.

Letters are at least 9 points at the width of a page. Colours are told apart by the colour-blind (Okabe and Ito 2008),
and never alone: line, marker or place differ too.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from postprocess.drawing.pictures import STYLE, save_figure
from postprocess.drawing.text import duration, share
from postprocess.families.timing_selfcheck.judgement import (
    RESIDUAL_AIM_WITHIN_NS,
    RESIDUAL_AIMS_BETWEEN_NS,
    START_AIM_NS,
    YES_LIMIT,
)
from postprocess.quality.precision import BETWEEN, WITHIN, ClockError, Known, Precision, Starts, Stops, Variation
from postprocess.quality.precision_text import CLOCK, LAUNCHES, METHODS, PLACES, RULE_TITLES, START, STOP
from postprocess.quality.stop_rules import NAMES

_WIDTH_INCHES = 8.4
_STYLE: Any = {
    **STYLE,
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_BLUE, _ORANGE, _GREEN, _PURPLE, _GREY = "#0072b2", "#d55e00", "#007d5a", "#a3487f", "#555555"
_METHOD_LINES = {
    "deadline": (_BLUE, "-"),
    "mpi_barrier": (_ORANGE, "--"),
    "dissemination": (_GREEN, "-."),
    "true deadline": (_PURPLE, ":"),
}
_RULE_MARKS = dict(zip(NAMES, ((_BLUE, "o"), (_ORANGE, "s"), (_PURPLE, "^"), (_GREEN, "D")), strict=True))
# Smaller values are drawn at these: a logarithmic axis has no 0.
_LEAST_NS = 5.0
_LEAST_ERROR_NS = 0.2
_LEGEND_LETTERS = 100
"""The number of letters that fit into a row or two of a legend."""


def write_pictures(precision: Precision, folder: Path) -> dict[str, Path]:
    """Draw every picture for which there are numbers into `folder`. Returns the files by name.

    The folder is made if need be. A picture is written whole or not at all. Raises OSError where it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawings: dict[str, tuple[bool, Callable[[Precision], Figure]]] = {
        START: (bool(precision.starts), start_figure),
        CLOCK: (bool(precision.clocks), clock_figure),
        STOP: (any(stop.replays for stop in precision.stops), stop_figure),
        LAUNCHES: (any(not math.isnan(variation.median.value) for variation in precision.variations), launches_figure),
    }
    with mpl.rc_context(_STYLE):
        return {
            name: save_figure(draw(precision), folder / f"{name}.svg")
            for name, (wanted, draw) in drawings.items()
            if wanted
        }


def start_figure(precision: Precision) -> Figure:
    """Start imbalance: the share of starts that are at most so far apart, a curve per method."""
    places = [place for place in (WITHIN, BETWEEN) if any(start.where == place for start in precision.starts)]
    figure, axes = _panels(len(places), height=3.4)
    for ax, place in zip(axes, places, strict=True):
        for start in precision.starts:
            if start.where == place and start.method in _METHOD_LINES:
                _draw_shares(ax, start)
        ax.axvline(START_AIM_NS, color=_GREY, linewidth=1.2, linestyle=(0, (1, 2)), label="95 % to reach")
        ax.axhline(0.95, color=_GREY, linewidth=1.2, linestyle=(0, (1, 2)))
        ax.set_xscale("log")
        ax.set_xlim(left=_LEAST_NS)
        _durations(ax.xaxis)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 0.95], ["0", "25 %", "50 %", "75 %", "95 %"])
        ax.set_title(PLACES[place])
        ax.set_xlabel(f"imbalance of a start (less than {duration(_LEAST_NS)}: at the edge)")
    axes[0].set_ylabel("starts that are at most so far apart")
    _legend(figure, axes)
    return figure


def _draw_shares(ax: Axes, one: Starts) -> None:
    colour, line = _METHOD_LINES[one.method]
    values = np.maximum(np.sort(one.imbalance_ns), _LEAST_NS)
    shares = np.arange(1, len(values) + 1) / len(values)
    ax.step(values, shares, where="post", color=colour, linestyle=line, linewidth=1.8, label=METHODS[one.method])


def clock_figure(precision: Precision) -> Figure:
    """Errors of the common clock, a line per kind of clocks and moment."""
    rows = list(precision.clocks)
    figure, (ax,) = _panels(1, height=0.9 + 0.42 * len(rows))
    marks: Sequence[tuple[str, str, str, float, Callable[[ClockError], Known]]] = (
        ("residual, drift corrected", _BLUE, "o", 0.0, lambda one: one.with_drift),
        ("residual, offset alone", _ORANGE, "s", 0.18, lambda one: one.without_drift),
        ("true error, drift corrected", _GREEN, "D", -0.18, lambda one: one.true),
    )
    for label, colour, marker, shift, of in marks:
        shown = [(number + shift, of(one)) for number, one in enumerate(rows) if not math.isnan(of(one).value)]
        if shown:
            places = [place for place, _ in shown]
            _draw_known(ax, [known for _, known in shown], places, label, colour, marker, across=True)
    for number, one in enumerate(rows):
        within = one.where == WITHIN and math.isnan(one.true.value)
        aim = RESIDUAL_AIM_WITHIN_NS if within else RESIDUAL_AIMS_BETWEEN_NS[one.after_seconds >= 1]
        name = "to reach" if number == 0 else None
        ax.plot([aim, aim], [number - 0.38, number + 0.38], color=_GREY, linewidth=1.6, label=name)
    ax.set_xscale("log")
    _durations(ax.xaxis)
    ax.set_yticks(range(len(rows)), [_clock_name(row) for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(left=_LEAST_ERROR_NS / 1.5)
    ax.set_xlabel("error of the common clock: median launch, best and worst")
    _legend(figure, [ax])
    return figure


def _clock_name(one: ClockError) -> str:
    what = "artificial clocks" if one.what.startswith("artificial") else one.what.partition(",")[0]
    return f"{PLACES[one.where]}, {what}, {one.moment}"


def stop_figure(precision: Precision) -> Figure:
    """Wall time of every rule; filled where most series reached the asked width."""
    works = list(dict.fromkeys((one.kind, one.target_ns) for one in precision.stops))
    figure, (ax,) = _panels(1, height=3.6)
    for number, rule in enumerate(NAMES):
        colour, marker = _RULE_MARKS[rule]
        shown: list[tuple[float, Stops]] = [
            (works.index((stop.kind, stop.target_ns)) + 0.17 * (number - 1.5), stop)
            for stop in precision.stops
            if stop.rule == rule and stop.replays
        ]
        for index, (place, one) in enumerate(shown):
            filled = 2 * one.narrow > len(one.replays)
            _draw_known(
                ax, [one.spread(lambda replay: replay.seconds)], [place], RULE_TITLES[rule] if index == 0 else None,
                colour, marker, fill=filled,
            )  # fmt: skip
    ax.set_yscale("log")
    _durations(ax.yaxis, 1e9)
    ax.set_xticks(range(len(works)), [f"{kind}\n{duration(target)}" for kind, target in works])
    ax.set_xlim(-0.5, len(works) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.set_ylabel("wall time until the rule stops")
    ax.set_title("hollow: on most series the interval of the median was wider than 2 %", fontsize=9)
    _legend(figure, [ax])
    return figure


def launches_figure(precision: Precision) -> Figure:
    """How launches differ: the variation of their medians, means and minima."""
    kinds = [kind for kind in ("computation", "communication") if any(one.kind == kind for one in precision.variations)]
    figure, axes = _panels(len(kinds), height=3.3)
    marks: Sequence[tuple[str, str, str, Callable[[Variation], Known]]] = (
        ("median", _BLUE, "o", lambda one: one.median),
        ("mean", _ORANGE, "s", lambda one: one.mean),
        ("minimum", _GREEN, "D", lambda one: one.minimum),
    )
    for ax, kind in zip(axes, kinds, strict=True):
        here = [variation for variation in precision.variations if variation.kind == kind]
        for number, (label, colour, marker, of) in enumerate(marks):
            shown = [(index + 0.2 * (number - 1), of(one)) for index, one in enumerate(here)]
            shown = [(place, known) for place, known in shown if not math.isnan(known.value)]
            _draw_known(ax, [known for _, known in shown], [place for place, _ in shown], label, colour, marker)
        ax.axhline(YES_LIMIT, color=_GREY, linewidth=1.2, linestyle=(0, (1, 2)), label=f"{share(YES_LIMIT)} to reach")
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: share(value)))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_xticks(range(len(here)), [duration(one.target_ns) for one in here])
        ax.set_xlim(-0.5, len(here) - 0.5)
        ax.grid(axis="x", visible=False)
        ax.set_title(kind)
        ax.set_xlabel("target time")
    axes[0].set_ylabel("variation of launches, 95 % interval")
    _legend(figure, axes)
    return figure


def _draw_known(
    ax: Axes, known: Sequence[Known], places: Sequence[float], label: str | None, colour: str, marker: str, *,
    across: bool = False, fill: bool = True,
) -> None:  # fmt: skip
    """Draw values as markers with their ranges.  places: on the other axis.  across: whether values lie along x."""
    values = np.array([number.value for number in known])
    if across:
        values = np.maximum(values, _LEAST_ERROR_NS)
    low = np.array([value.low if math.isfinite(value.low) else value.value for value in known])
    high = np.array([one.high if math.isfinite(one.high) else one.value for one in known])
    ranges = np.vstack([np.maximum(values - low, 0), np.maximum(high - values, 0)])
    style: dict[str, Any] = {
        "fmt": marker, "color": colour, "markersize": 6, "capsize": 3, "linewidth": 1.4, "label": label,
        "markerfacecolor": colour if fill else "white",
    }  # fmt: skip
    if across:
        ax.errorbar(values, list(places), xerr=ranges, **style)
    else:
        ax.errorbar(list(places), values, yerr=ranges, **style)


def _panels(count: int, height: float) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(_WIDTH_INCHES, height + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(1, count, squeeze=False, sharey=True).flat)


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    entries = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=2 if sum(map(len, entries)) > _LEGEND_LETTERS else min(3 if len(entries) == 5 else 4, len(entries)),
        frameon=False,
    )


def _durations(axis: Any, scale: float = 1.0) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: duration(scale * value)))
    axis.set_minor_formatter(NullFormatter())
