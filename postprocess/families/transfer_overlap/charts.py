"""The improvement of each version of the solver: the counterparts of tables I and II of White & Bova 1999.

A chart has the points of one library, network, placement and system, and two curves for each configuration: what each
version brought, and the bound that the measured times allow, where it stands.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import first_of
from postprocess.drawing.curves import COLOURS, DASHED, Chart, ChartAxis, Curve, Style, ratio_axis, sure_values
from postprocess.drawing.text import plural
from postprocess.families import axes
from postprocess.families.launch_marks import mark_of
from postprocess.families.sampled_table import having
from postprocess.families.transfer_overlap.axes import AXES, VARIANT
from postprocess.families.transfer_overlap.table import points_text

IMPROVEMENT = "improvement"
FIGURES = "tables I and II of White & Bova 1999"
_VERSIONS = tuple(VARIANT.values)
_SHORT = {"overlap_test": "with tests", "double_buffered": "buffered"}
_COLOURS = ("blue", "red", "green", "orange", "violet", "olive")
_GROUP = [
    "toolchain", "provider", "network", "ranks", "nodes", "threads_per_rank", axes.NAMED_CORES.name, "grid_points",
    "unknowns",
]  # fmt: skip


def _version_words(place: float) -> str:
    name = _VERSIONS[int(place)]
    return _SHORT.get(name, name)


_HORIZONTAL = ChartAxis("version", log=False, words=_version_words, named=True)
_VERTICAL = ratio_axis("improvement")


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `transfer_table`: one for each group of points that has a value."""
    for _, rows in table.groupby(_GROUP, sort=False):
        known = having(rows[rows["variant"].isin(_VERSIONS)], IMPROVEMENT)
        if known.empty:
            continue
        curves = tuple(_curves(known))
        low, high = sure_values(curves)
        yield Chart(
            kind=IMPROVEMENT,
            title=_title(first_of(rows)),
            figures=FIGURES,
            horizontal=_HORIZONTAL,
            vertical=_VERTICAL,
            low=min(low, 0.0) - 0.05,
            high=max(high, 0.0) + 0.05,
            curves=curves,
            level=0.0,
            left_out=len(rows) - len(known),
        )


def _title(first: Mapping[str, Any]) -> str:
    system = f"{points_text(first['grid_points'])} points, {plural(int(first['unknowns']), 'unknown')} each"
    return f"Improvement: {first['toolchain']}, {first['network']}, {plural(int(first['ranks']), 'rank')}, {system}"


def _curves(known: pd.DataFrame) -> Iterator[Curve]:
    for number, (_, rows) in enumerate(known.groupby(["configuration", "given_up_cores"], sort=False)):
        name = AXES.words(first_of(rows))
        colour = COLOURS[_COLOURS[number % len(_COLOURS)]]
        by_version = [(place, rows[rows["variant"] == version]) for place, version in enumerate(_VERSIONS)]
        shown = [(place, of_version) for place, of_version in by_version if len(of_version)]
        marks = tuple(mark_of(place, of_version, IMPROVEMENT, _VERTICAL) for place, of_version in shown)
        yield Curve(name, Style(colour), marks)
        bounds = tuple(
            mark_of(place, of_version, "bound", _VERTICAL)
            for place, of_version in shown
            if np.isfinite(of_version["bound"].to_numpy(np.float64)).all() and of_version["bound_stands"].all()
        )
        if bounds:
            yield Curve(f"{name}: bound", Style(colour, marker="", line=DASHED), bounds)
