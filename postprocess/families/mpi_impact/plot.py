"""Pictures of the impact of an idle library: bars as in figure 9, and beside them all computation times."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from postprocess.drawing.pictures import STYLE, save_figure
from postprocess.drawing.text import clean, duration, ratio
from postprocess.families.mpi_impact.table import CASE, FIGURE_9_NS, configuration_words, highlighted, rows_of

# Okabe and Ito's colours, which colour-blind readers can tell apart; a configuration keeps its own in every picture.
COLOURS: Mapping[str, str] = {
    "basic": "#56b4e9",
    "async": "#d55e00",
    "dedicated": "#009e73",
    "apphelper": "#cc79a7",
    "dedicated_unbound": "#e69f00",
    "basic_reduced": "#0072b2",
}
OTHER_COLOUR = "#999999"
_LEAST_TOP = 1.5
MARKS: Mapping[str, str] = {
    "o": "oversubscribed",
    "s": "a progress thread on a core that computes",
    "i": "incomplete record: the measurement was cut off",
}
"""The letters behind the name of a case, and their meanings."""

_KEY = (
    "bars and points: geometric mean over pairs of launches, with its 95 % interval, which may leave the picture\n"
    "hatched, hollow: unreliable, see the table\n" + "; ".join(f"{letter}: {words}" for letter, words in MARKS.items())
)


def case_label(row: Mapping[Any, Any]) -> str:
    """The library and the configuration in a line each, with the letters of `MARKS` that apply."""
    applies = {"o": row["oversubscribed"], "s": row["shared_core"], "i": not row["complete"]}
    marks = "".join(letter for letter in MARKS if applies[letter])
    again = f" ({row['repeat']})" if row["repeat"] > 1 else ""
    return f"{clean(row['toolchain'])}\n{clean(configuration_words(row))}{again}{f' [{marks}]' if marks else ''}"


def pictures(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the title and the rows, `in_order`, of a picture for each network and computation."""
    for (network, computation), rows in in_order(table).groupby(["network", "computation"], sort=False):
        yield f"r_mpi_impact, {computation}, {network}", rows


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """The rows sorted by library, then by configuration in the order of COLOURS; unknown configurations come last."""
    known = list(COLOURS)
    place = table["configuration"].map(lambda name: known.index(name) if name in known else len(known))
    ordered: pd.DataFrame = (
        table.assign(_place=place)
        .sort_values(["toolchain", "_place", "configuration", "record", "comp_target_ns"], kind="stable")
        .drop(columns="_place")
    )
    return ordered


def impact_figure(table: pd.DataFrame, title: str) -> Figure:
    """The picture of one network and computation: on the left the time of figure 9, on the right all times."""
    shown = rows_of(in_order(highlighted(table)))
    top = max([_LEAST_TOP, *(1.15 * row["r_mpi_impact"] for row in rows_of(table) if row["valid"])])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(4.0, 0.9 * len(shown) + 1.5) + 8.6, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(clean(title), parse_math=False, fontsize="large", fontweight="bold")
        widths = [max(3.5, 0.9 * len(shown) + 1.0), 6.0]
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=widths)
        _bars(left, shown)
        _times(right, table)
        for ax in (left, right):
            ax.axhline(1.0, color="black", linewidth=1.0, zorder=2.5)
            ax.set_ylim(0, top)
            ax.spines[["top", "right"]].set_visible(False)
        left.set_ylabel("r_mpi_impact: idle MPI / without MPI")
        # The legend stands beside the axes, because a legend of many cases would hide the points.
        legend = figure.legend(*right.get_legend_handles_labels(), loc="outside right center", fontsize="small")
        for text in legend.get_texts():
            text.set_parse_math(False)
        figure.supxlabel(_KEY, x=0.01, ha="left", fontsize="small", parse_math=False)
    return figure


def write_impacts(table: pd.DataFrame, folder: Path, kinds: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Draw every picture of a run into `folder` (made if need be). Each file is written whole or not at all.

    Returns the paths. Raises OSError where a file cannot be written.
    """
    written = []
    for title, rows in pictures(table):
        stem = re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-")
        folder.mkdir(parents=True, exist_ok=True)
        figure = impact_figure(rows, title)
        written += [save_figure(figure, folder / f"{stem}.{kind}") for kind in kinds]
    return written


def _error(row: Mapping[Any, Any]) -> list[list[float]]:
    """The lengths of the error bar below and above the value, for matplotlib; 0 without an interval."""
    value, low, high = (row[f"r_mpi_impact{end}"] for end in ("", "_ci95_low", "_ci95_high"))
    known = math.isfinite(low) and math.isfinite(high)
    return [[value - low], [high - value]] if known else [[0.0], [0.0]]


def _bars(ax: Axes, rows: Sequence[Mapping[Any, Any]]) -> None:
    for x, row in enumerate(rows):
        value = row["r_mpi_impact"]
        if not math.isfinite(value):
            ax.text(x, 0.02, "no value", rotation=90, ha="center", va="bottom", fontsize="small")
            continue
        colour = COLOURS.get(row["configuration"], OTHER_COLOUR)
        hatch = None if row["reliable"] else "////"
        ax.bar(x, value, width=0.7, color=colour, hatch=hatch, edgecolor="white", zorder=2)
        ax.errorbar(x, value, yerr=_error(row), color="black", capsize=4, linewidth=1.2, zorder=3)
        ax.text(x, value / 2, ratio(value), ha="center", va="center", parse_math=False, zorder=4,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5})  # fmt: skip
    ax.set_xticks(range(len(rows)), [case_label(row) for row in rows], rotation=30, fontsize="small")
    for label in ax.get_xticklabels():
        label.set_parse_math(False)
    ax.set_xlim(-0.6, len(rows) - 0.4)
    times = dict.fromkeys(duration(row["comp_target_ns"]) for row in rows)
    ax.set_title(f"computation of {', '.join(times)}", fontsize="medium")


def _times(ax: Axes, table: pd.DataFrame) -> None:
    times = sorted(set(table["comp_target_ns"]))
    place = {time: x for x, time in enumerate(times)}
    if FIGURE_9_NS in place:
        ax.axvspan(place[FIGURE_9_NS] - 0.5, place[FIGURE_9_NS] + 0.5, color="0.92", zorder=0)
    cases = list(table.groupby([*CASE, "record"], sort=False, dropna=False))
    shifts = np.linspace(-0.3, 0.3, len(cases)) if len(cases) > 1 else [0.0]
    markers = "osD^v<>Pp*"
    libraries = {name: markers[i % len(markers)] for i, name in enumerate(dict.fromkeys(table["toolchain"]))}
    for shift, (_, of_case) in zip(shifts, cases, strict=True):
        rows = rows_of(of_case)
        colour = COLOURS.get(rows[0]["configuration"], OTHER_COLOUR)
        marker = libraries[rows[0]["toolchain"]]
        for row in rows:
            if math.isfinite(row["r_mpi_impact"]):
                ax.errorbar(place[row["comp_target_ns"]] + shift, row["r_mpi_impact"], yerr=_error(row), color=colour,
                            marker=marker, markersize=5, markerfacecolor=colour if row["reliable"] else "white",
                            linewidth=1.0, linestyle="none", zorder=2)  # fmt: skip
        name = case_label(rows[0]).replace("\n", " ")
        ax.plot([], [], color=colour, marker=marker, linestyle="none", label=name)
    ax.set_xticks(range(len(times)), [duration(time) for time in times], rotation=45, fontsize="small")
    ax.set_xlim(-0.6, len(times) - 0.4)
    ax.set_xlabel("computation time")
    ax.set_title("every computation time", fontsize="medium")
