"""The curves of the impact of an idle library: the counterpart of figure 9 of Denis et al. 2022.

For each network and computation a chart has the ratio of every library and configuration at the computation time of
figure 9, or the nearest that was measured. Another has a curve for each of them, over all computation times.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import circumstances, rows_of
from postprocess.drawing.curves import COLOURS, Chart, ChartAxis, Curve, Style, ratio_axis, sure_values
from postprocess.drawing.text import duration
from postprocess.families.launch_marks import marks_of
from postprocess.families.mpi_impact.table import AXES, FIGURE_9_NS, highlighted
from postprocess.families.sampled_table import having

RATIO = "r_mpi_impact"
BARS, TIMES = "figure 9", "times"
"""The kinds of charts."""
LEAST_HIGH = 1.5
_COLOURS: Mapping[str, str] = {
    "basic": "sky", "async": "red", "dedicated": "green", "apphelper": "pink", "dedicated_unbound": "orange",
    "basic_reduced": "blue",
}  # fmt: skip
"""A configuration keeps its colour in every picture."""
_MARKERS = ("o", "s", "D", "^", "v", "x")
"""Those of the libraries of a chart."""
_TIME = ChartAxis("computation time", log=True, words=duration)
_VERTICAL = ratio_axis("r_mpi_impact: idle MPI / without MPI")


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `impact_table`."""
    named = in_order(table).assign(name=[case_words(row) for row in rows_of(in_order(table))])
    for (network, computation), rows in named.groupby(["network", "computation"], sort=False):
        libraries = list(map(str, dict.fromkeys(rows["toolchain"])))
        near = in_order(having(highlighted(rows), RATIO))
        times = ", ".join(dict.fromkeys(map(duration, near["comp_target_ns"])))
        by_library = near.assign(place=near["toolchain"].map(libraries.index))
        what = f"{computation}, {network}"
        horizontal = ChartAxis("library", log=False, words=partial(_library, libraries), named=True)
        curves = tuple(
            _curve(str(name), of_name, "place", "o") for name, of_name in by_library.groupby("name", sort=False)
        )
        yield from _chart(BARS, f"Impact on a computation of {times}: {what}", "figure 9", horizontal, curves)
        if rows["comp_target_ns"].nunique() > 1:
            curves = tuple(
                _curve(
                    f"{library} {name}",
                    of_case,
                    "comp_target_ns",
                    _MARKERS[libraries.index(str(library)) % len(_MARKERS)],
                )
                for (library, name), of_case in having(rows, RATIO).groupby(["toolchain", "name"], sort=False)
            )
            yield from _chart(TIMES, f"Impact on every computation: {what}", "", _TIME, curves, float(FIGURE_9_NS))


def _chart(
    kind: str, title: str, figure: str, horizontal: ChartAxis, curves: tuple[Curve, ...], upright: float = np.nan
) -> Iterator[Chart]:
    if curves:
        low, high = sure_values(curves)
        yield Chart(
            kind=kind,
            title=title,
            figures=f"{figure} of Denis et al. 2022" if figure else "",
            horizontal=horizontal,
            vertical=_VERTICAL,
            low=min(0.0, low),
            high=max(LEAST_HIGH, 1.1 * high),
            curves=curves,
            level=1.0,
            upright=upright,
            values_are="geometric means over pairs of launches",
        )


def _curve(name: str, rows: pd.DataFrame, against: str, marker: str) -> Curve:
    style = Style(COLOURS[_COLOURS.get(rows["configuration"].iloc[0], "grey")], marker)
    return Curve(name, style, marks_of(rows, against, RATIO, _VERTICAL))


def _library(libraries: Sequence[str], place: float) -> str:
    return libraries[int(place)]


def case_words(row: Mapping[Any, Any]) -> str:
    """The configuration of a row with its circumstances: ``async (shared core)``."""
    around = ", ".join(circumstances(row))
    return f"{AXES.words(row)} ({around})" if around else AXES.words(row)


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """The rows sorted by library, then by configuration in the order of its colours; unknown ones come last."""
    known = list(_COLOURS)
    place = table["configuration"].map(lambda name: known.index(name) if name in known else len(known))
    ordered: pd.DataFrame = (
        table.assign(_place=place)
        .sort_values(["toolchain", "_place", "configuration", "record", "comp_target_ns"], kind="stable")
        .drop(columns="_place")
    )
    return ordered
