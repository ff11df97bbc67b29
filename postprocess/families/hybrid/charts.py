"""The curves of hybrid collectives: the counterparts of figures 12 to 16 of Zhou et al. 2020.

A chart has the points of one library, placement and collective, timed alone or whole, against the message size: the
ratio to the MPI library with a curve per variant, or the times of one call with a curve for the MPI library, too. Where
a run has several settings of the MPI library, the ratio is that to the best of them, and the times are those with the
library as it comes (`usual`). As figure 12, a chart has the times against the number of nodes, where a run has several
such numbers. Where points of a run were measured in different states of the cores (`state`), a curve is of one state,
and the marks of all but the state with the shortest hand-overs are hollow.

The counterpart of figure 15 has the time of an allreduce by the paper's method 2 over that by its method 1, a curve per
setting of the MPI library, and the cut-off that the library had. The two times are those of two points of a launch, so
their ratio has no interval. Where the two were measured in different states of the cores, there is no mark.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import first_of
from postprocess.drawing.curves import (
    COLOURS,
    DASHED,
    MESSAGE,
    NODES,
    SOLID,
    Chart,
    ChartAxis,
    Curve,
    Mark,
    Style,
    edges_of_times,
    quotient_axis,
    sure_values,
    time_axis,
)
from postprocess.drawing.text import plural, quotient, size
from postprocess.families import axes
from postprocess.families.hybrid import state
from postprocess.families.hybrid.axes import ALONE, AXES
from postprocess.families.hybrid.operations import OPERATIONS
from postprocess.families.hybrid.table import SETTING, states_words, with_states
from postprocess.families.launch_marks import marks_of
from postprocess.families.sampled_table import case_words, having, names_of_estimates, nodes_words, same_case

RATIO, BEST, TIME, OVER_NODES = "ratio_to_library", "ratio_to_best_library", "t_ns", "over_nodes"
METHODS = "methods"
"""The kinds of charts. The first three are the column that they show, against the message size."""
METHOD_1, METHOD_2 = "method1", "method2"
"""The variants that are the paper's two methods."""
_OF_LIBRARY = "t_library_ns"
_VERTICAL: Mapping[str, ChartAxis] = {
    RATIO: quotient_axis("time of the hybrid library / of MPI"),
    BEST: quotient_axis("time of the hybrid library / of MPI at its best"),
    METHODS: quotient_axis("time by method 2 / by method 1"),
    TIME: time_axis("a call"),
}
_COLOURS = {
    "spin": "blue", "untuned": "green", "barrier": "sky", "paper": "red", "method1": "orange",
    "method1_barrier": "pink", "method2": "violet",
}  # fmt: skip
"""A variant keeps its colour in every picture."""
_SETTING_COLOURS = {"usual": "blue", "shared_memory": "orange", "point_to_point": "green"}
_PLACE = ["shared_nodes", "nodes_are", axes.VIRTUAL_NODE_RANKS.name]
_GROUP = [*same_case(AXES, SETTING, axes.VIRTUAL_NODE_RANKS.name), "operation", "timed"]
_DRAWN = frozenset((
    *_GROUP, *_PLACE, *AXES.case, SETTING, "message_bytes", "variant", "state", "best_state", "handover_ns",
    "best_handover_ns", "settings", "cutoff_bytes", "reliable", "record",
    *names_of_estimates((RATIO, BEST, TIME, _OF_LIBRARY)),
))  # fmt: skip
"""The columns that charts are drawn from. Tables of so few columns are cut sooner."""
PAPERS_BYTES = 800
"""The block of an allgather in figure 12."""


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `hybrid_table`, as far as there is a curve."""
    named = with_states(table)
    named = named[[name for name in named if name in _DRAWN]]
    for _, rows in named.groupby([*_GROUP, *_PLACE], sort=False):
        several = rows[SETTING].nunique() > 1
        usual = (rows[SETTING] == axes.INTRANODE.usual).any()
        first: pd.DataFrame = rows[rows[SETTING] == (axes.INTRANODE.usual if usual else rows[SETTING].iloc[0])]
        for kind in (BEST if several else RATIO, TIME):
            yield from _chart(kind, kind, first, "message_bytes", _title(kind, first))
        yield from _of_methods(rows)
    for _, rows in named.groupby([*_GROUP, SETTING], sort=False):
        closest = min(rows["message_bytes"].unique(), key=lambda one: abs(np.log(one / PAPERS_BYTES)))
        of_size: pd.DataFrame = rows[rows["message_bytes"] == closest]
        if rows["shared_nodes"].nunique() > 1:
            yield from _chart(OVER_NODES, TIME, of_size, "shared_nodes", _title_over_nodes(of_size))


def _chart(kind: str, column: str, rows: pd.DataFrame, against: str, title: str) -> Iterator[Chart]:
    drawn = having(rows, column)
    if drawn.empty:
        return
    of_state = "best_state" if kind == BEST else "state"
    curves = tuple(_curves(drawn, column, against, of_state))
    least, most = sure_values(curves)
    low, high = edges_of_times(curves) if column == TIME else (min(0.0, least), max(1.0, most) + 0.05)
    yield Chart(
        kind=kind,
        title=title,
        figures=OPERATIONS[str(rows["operation"].iloc[0])].figures,
        horizontal=MESSAGE if against == "message_bytes" else NODES,
        vertical=_VERTICAL[column],
        low=low,
        high=high,
        curves=curves,
        level=np.nan if column == TIME else 1.0,
        left_out=len(rows) - len(drawn),
        remarks=_remarks(drawn, of_state),
    )


def _remarks(drawn: pd.DataFrame, column: str) -> tuple[str, ...]:
    """What the marks of each state of the cores stand for; nothing where all are full."""
    hollow = set(drawn[column]) - {"", state.NEAR}
    return (*states_words(drawn, column), f"hollow marks: {state.joined(hollow)}") if hollow else ()


def _of_methods(rows: pd.DataFrame) -> Iterator[Chart]:
    """The chart of the paper's two methods of an allreduce, if both were measured. rows: of one case, all settings."""
    one, two = (rows[rows["variant"] == method] for method in (METHOD_1, METHOD_2))
    pairs: pd.DataFrame = two.merge(one, on=["record", "message_bytes"], suffixes=("", "_of_1"))
    alike = pairs[pairs["state"] == pairs["state_of_1"]]
    drawn = having(alike.copy().assign(ratio=alike["t_ns"] / alike["t_ns_of_1"]), "ratio")
    if drawn.empty:
        return
    curves = tuple(
        Curve(
            _curve_name(setting.replace("_", " "), named),
            _style(_SETTING_COLOURS.get(setting, "grey"), named),
            tuple(_mark_of_methods(int(str(place)), of_place) for place, of_place in of_state.groupby("message_bytes")),
        )
        for setting, named, of_state in _by_name_and_state(drawn, SETTING, "state")
    )
    low, high = sure_values(curves)
    first = first_of(rows) | {SETTING: axes.INTRANODE.usual}
    cutoff = float(drawn["cutoff_bytes"].iloc[0])
    yield Chart(
        kind=METHODS,
        title=f"Method 2 against method 1: {_where(first)}, {nodes_words(first)}",
        figures="figure 15 of Zhou et al. 2020",
        horizontal=MESSAGE,
        vertical=_VERTICAL[METHODS],
        low=min(0.0, low),
        high=max(1.0, high) + 0.05,
        curves=curves,
        level=1.0,
        left_out=len(pairs) - len(drawn),
        lost="of which the two methods were measured in different states of the cores",
        upright=cutoff,
        remarks=(f"upright line: the cut-off of {size(cutoff)}", "no intervals", *_remarks(drawn, "state")),
    )


def _mark_of_methods(place: int, rows: pd.DataFrame) -> Mark:
    value = float(rows["ratio"].median())
    pale = not (rows["reliable"].astype(bool) & rows["reliable_of_1"].astype(bool)).any()
    return Mark(place, value, np.nan, np.nan, quotient(value), pale=pale)


def _title(kind: str, rows: pd.DataFrame) -> str:
    what = {RATIO: "Ratio to the MPI library", BEST: "Ratio to the MPI library at its best", TIME: "Time of a call"}
    first = first_of(rows)
    settings = f" (of {str(first['settings']).replace('_', ' ')})" if kind == BEST else ""
    if kind == BEST:
        first[SETTING] = axes.INTRANODE.usual
    return f"{what[kind]}{settings}: {_where(first)}, {nodes_words(first)}"


def _title_over_nodes(rows: pd.DataFrame) -> str:
    first = first_of(rows) | {axes.VIRTUAL_NODE_RANKS.name: 0}
    kinds = ", ".join(dict.fromkeys(map(str, rows["nodes_are"])))
    return f"Time of a call over nodes: {_where(first)}, {size(first['message_bytes'])}, nodes are {kinds}"


def _where(first: Mapping[str, Any]) -> str:
    timed = "alone" if first["timed"] == ALONE else "with writing and reading"
    return f"{first['operation']} {timed}, {case_words(AXES, first)}, {plural(int(first['ranks']), 'rank')}"


def _curves(drawn: pd.DataFrame, column: str, against: str, of_state: str) -> Iterator[Curve]:
    if column == TIME:
        for name, named, rows in _by_name_and_state(drawn.assign(variant="MPI library"), "variant", of_state):
            marks = marks_of(rows, against, _OF_LIBRARY, _VERTICAL[TIME])
            yield Curve(_curve_name(name, named), _style("black", named, line=DASHED), marks)
    for variant, named, rows in _by_name_and_state(drawn, "variant", of_state):
        marks = marks_of(rows, against, column, _VERTICAL[column])
        yield Curve(_curve_name(variant, named), _style(_COLOURS.get(variant, "grey"), named), marks)


def _by_name_and_state(rows: pd.DataFrame, column: str, of_state: str) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Each value of a column, with each state of the cores that it has, the shortest hand-overs first, and their
    rows."""
    for name, of_name in rows.groupby(column, sort=False):
        there = set(of_name[of_state])
        for named in ("", *state.NAMES):
            if named in there:
                yield str(name), named, of_name[of_name[of_state] == named]


def _curve_name(name: str, of_state: str) -> str:
    return name if of_state in ("", state.NEAR) else f"{name}, {of_state}"


def _style(colour: str, of_state: str, line: str = SOLID) -> Style:
    return Style(COLOURS[colour], line=line, hollow=of_state not in ("", state.NEAR))
