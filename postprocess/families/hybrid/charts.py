"""The curves of hybrid collectives: the counterparts of figures 12 to 16 of Zhou et al. 2020.

A chart has the points of one library, placement and collective, timed alone or whole, against the message size: the
ratio to the MPI library with a curve per variant, or the times of one call with a curve for the MPI library, too. Where
a run has several settings of the MPI library, the ratio is that to the best of them, and the times are those with the
library as it comes (`usual`). As figure 12, a chart has the times against the number of nodes, where a run has several
such numbers. Points that were measured in different states of the cores (`state`) are in charts of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.curves import (
    COLOURS,
    DASHED,
    MESSAGE,
    NODES,
    Axis,
    Chart,
    Curve,
    Style,
    mark_of,
    ratio_axis,
    sure_values,
    time_axis,
)
from postprocess.drawing.text import plural, size
from postprocess.families import axes
from postprocess.families.hybrid import state
from postprocess.families.hybrid.axes import ALONE
from postprocess.families.hybrid.table import SETTING, configuration_words

RATIO, BEST, TIME, OVER_NODES = "ratio_to_library", "ratio_to_best_library", "t_ns", "over_nodes"
"""The kinds of charts. All but the last are the column that they show, against the message size."""
_OF_LIBRARY = "t_library_ns"
_FIGURES: Mapping[str, str] = {
    "allgather": "figure 12 of Zhou et al. 2020",
    "bcast": "figure 13 of Zhou et al. 2020",
    "allreduce": "figures 14 to 16 of Zhou et al. 2020",
}
_VERTICAL: Mapping[str, Axis] = {
    RATIO: ratio_axis("time of the hybrid library / of MPI"),
    BEST: ratio_axis("time of the hybrid library / of MPI at its best"),
    TIME: time_axis("a call"),
}
_COLOURS = {
    "spin": "blue",
    "barrier": "sky",
    "paper": "red",
    "method1": "orange",
    "method1_barrier": "pink",
    "method2": "violet",
}
"""A variant keeps its colour in every picture."""
_PLACE = ["shared_nodes", "nodes_are", axes.VIRTUAL_NODE_RANKS.name]
_GROUP = [
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "threads_per_rank", "given_up_cores",
    axes.NAMED_CORES.name, axes.CACHE.name, axes.METHOD.name, "operation", "timed",
]  # fmt: skip
PAPERS_BYTES = 800
"""The block of an allgather in figure 12."""


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `hybrid_table`, as far as there is a curve."""
    for _, rows in table.groupby([*_GROUP, *_PLACE], sort=False):
        several = rows[SETTING].nunique() > 1
        usual = (rows[SETTING] == axes.INTRANODE.usual).any()
        first: pd.DataFrame = rows[rows[SETTING] == (axes.INTRANODE.usual if usual else rows[SETTING].iloc[0])]
        for kind in (BEST if several else RATIO, TIME):
            for of_state, words in _by_state(first, "best_handover_ns" if kind == BEST else "handover_ns"):
                yield from _chart(kind, kind, of_state, "message_bytes", _title(kind, of_state) + words)
    for _, rows in table.groupby([*_GROUP, SETTING], sort=False):
        closest = min(rows["message_bytes"].unique(), key=lambda one: abs(np.log(one / PAPERS_BYTES)))
        of_size: pd.DataFrame = rows[rows["message_bytes"] == closest]
        if rows["shared_nodes"].nunique() > 1:
            for of_state, words in _by_state(of_size, "handover_ns"):
                yield from _chart(OVER_NODES, TIME, of_state, "shared_nodes", _title_over_nodes(of_state) + words)


def _by_state(rows: pd.DataFrame, column: str) -> Iterator[tuple[pd.DataFrame, str]]:
    """The rows of each state of the cores, and words that name it; no words where there is one state."""
    number = np.asarray(state.states(rows[column].tolist()))
    for one in np.unique(number):
        of_state: pd.DataFrame = rows[number == one]
        least, most = (state.words(float(end)) for end in (of_state[column].min(), of_state[column].max()))
        yield of_state, f", hand-overs of {least} to {most}" if (number != one).any() else ""


def _chart(kind: str, column: str, rows: pd.DataFrame, against: str, title: str) -> Iterator[Chart]:
    drawn: pd.DataFrame = rows[np.isfinite(rows[column].to_numpy(np.float64))]
    if drawn.empty:
        return
    curves = tuple(_curves(drawn, column, against))
    low, high = sure_values(curves)
    yield Chart(
        kind=kind,
        title=title,
        figures=_FIGURES.get(str(rows["operation"].iloc[0]), ""),
        horizontal=MESSAGE if against == "message_bytes" else NODES,
        vertical=_VERTICAL[column],
        low=low / 1.5 if column == TIME else min(0.0, low),
        high=high * 1.5 if column == TIME else max(1.0, high) + 0.05,
        curves=curves,
        level=np.nan if column == TIME else 1.0,
        left_out=len(rows) - len(drawn),
    )


def _title(kind: str, rows: pd.DataFrame) -> str:
    what = {RATIO: "Ratio to the MPI library", BEST: "Ratio to the MPI library at its best", TIME: "Time of a call"}
    first = {str(name): value for name, value in rows.iloc[0].items()}
    settings = f" (of {str(first['settings']).replace('_', ' ')})" if kind == BEST else ""
    if kind == BEST:
        first[SETTING] = axes.INTRANODE.usual
    nodes = f"{plural(int(first['shared_nodes']), 'node')} ({first['nodes_are']})"
    return f"{what[kind]}{settings}: {_where(first)}, {nodes}"


def _title_over_nodes(rows: pd.DataFrame) -> str:
    first = {str(name): value for name, value in rows.iloc[0].items()} | {axes.VIRTUAL_NODE_RANKS.name: 0}
    kinds = ", ".join(dict.fromkeys(map(str, rows["nodes_are"])))
    return f"Time of a call over nodes: {_where(first)}, {size(first['message_bytes'])}, nodes are {kinds}"


def _where(first: Mapping[str, Any]) -> str:
    timed = "alone" if first["timed"] == ALONE else "with writing and reading"
    case = f"{first['toolchain']}, {configuration_words(first)}, {first['network']}"
    return f"{first['operation']} {timed}, {case}, {plural(int(first['ranks']), 'rank')}"


def _curves(drawn: pd.DataFrame, column: str, against: str) -> Iterator[Curve]:
    if column == TIME:
        yield _curve("MPI library", Style(COLOURS["black"], line=DASHED), drawn, _OF_LIBRARY, against)
    for variant, rows in drawn.groupby("variant", sort=False):
        yield _curve(str(variant), Style(COLOURS[_COLOURS.get(str(variant), "grey")]), rows, column, against)


def _curve(name: str, style: Style, rows: pd.DataFrame, column: str, against: str) -> Curve:
    vertical = _VERTICAL[TIME if column == _OF_LIBRARY else column]
    marks = tuple(mark_of(int(str(place)), of_place, column, vertical) for place, of_place in rows.groupby(against))
    return Curve(name, style, marks)
