"""The curves of hybrid collectives: the counterparts of figures 12 to 16 of Zhou et al. 2020.

A chart has the points of one library, placement and collective, timed alone or whole, against the message size: the
ratio to the MPI library with a curve per variant, or the times of one call with a curve for the MPI library, too.
Figure 12 has the same values against the number of nodes, which is one number per run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from postprocess.drawing.curves import (
    COLOURS,
    DASHED,
    MESSAGE,
    Axis,
    Chart,
    Curve,
    Style,
    mark_of,
    ratio_axis,
    sure_values,
    time_axis,
)
from postprocess.drawing.text import plural
from postprocess.families import axes
from postprocess.families.hybrid.axes import ALONE
from postprocess.families.hybrid.table import configuration_words

RATIO, TIME = "ratio_to_library", "t_ns"
"""The kinds of charts, each the column that it shows."""
_OF_LIBRARY = "t_library_ns"
_FIGURES: Mapping[str, str] = {
    "allgather": "figure 12 of Zhou et al. 2020",
    "bcast": "figure 13 of Zhou et al. 2020",
    "allreduce": "figures 14 to 16 of Zhou et al. 2020",
}
_VERTICAL: Mapping[str, Axis] = {RATIO: ratio_axis("time of the hybrid library / of MPI"), TIME: time_axis("a call")}
_COLOURS = {
    "spin": "blue",
    "barrier": "sky",
    "paper": "red",
    "method1": "orange",
    "method1_barrier": "pink",
    "method2": "violet",
}
"""A variant keeps its colour in every picture."""
_GROUP = [
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "shared_nodes", "nodes_are",
    "threads_per_rank", "given_up_cores", axes.NAMED_CORES.name, "operation", "timed",
]  # fmt: skip


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `hybrid_table`: both kinds for each group, as far as there is a curve."""
    for _, rows in table.groupby(_GROUP, sort=False):
        for kind in (RATIO, TIME):
            drawn = rows[np.isfinite(rows[kind].to_numpy(np.float64))]
            if len(drawn):
                curves = tuple(_curves(drawn, kind))
                low, high = sure_values(curves)
                yield Chart(
                    kind=kind,
                    title=_title(kind, rows),
                    figures=_FIGURES.get(str(rows["operation"].iloc[0]), ""),
                    horizontal=MESSAGE,
                    vertical=_VERTICAL[kind],
                    low=low / 1.5 if kind == TIME else min(0.0, low),
                    high=high * 1.5 if kind == TIME else max(1.0, high) + 0.05,
                    curves=curves,
                    level=1.0 if kind == RATIO else np.nan,
                    left_out=len(rows) - len(drawn),
                )


def _title(kind: str, rows: pd.DataFrame) -> str:
    first = {str(name): value for name, value in rows.iloc[0].items()}
    what = "Ratio to the MPI library" if kind == RATIO else "Time of a call"
    timed = "alone" if first["timed"] == ALONE else "with writing and reading"
    where = f"{first['toolchain']}, {configuration_words(first)}, {first['network']}"
    ranks = (
        f"{plural(int(first['ranks']), 'rank')}, {plural(int(first['shared_nodes']), 'node')} ({first['nodes_are']})"
    )
    return f"{what}: {first['operation']} {timed}, {where}, {ranks}"


def _curves(drawn: pd.DataFrame, kind: str) -> Iterator[Curve]:
    if kind == TIME:
        yield _curve("MPI library", Style(COLOURS["black"], line=DASHED), drawn, _OF_LIBRARY, kind)
    for variant, rows in drawn.groupby("variant", sort=False):
        yield _curve(str(variant), Style(COLOURS[_COLOURS.get(str(variant), "grey")]), rows, kind, kind)


def _curve(name: str, style: Style, rows: pd.DataFrame, column: str, kind: str) -> Curve:
    marks = tuple(
        mark_of(int(str(size)), of_size, column, _VERTICAL[kind]) for size, of_size in rows.groupby("message_bytes")
    )
    return Curve(name, style, marks)
