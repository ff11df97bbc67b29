"""The curves of blocking collectives: the counterparts of figures 1 to 3 of Hoefler et al. 2006.

A chart has the points of one library, network, configuration and placement, with a curve per collective, against the
message size: the CPU share in user mode (figure 1), the idle share, or the idle time of a call (figure 3). Against the
number of ranks, for the size that is nearest to 1 KiB, there is the idle time of a call (figure 2). A chart has three
sizes or communicators at least. A barrier has no size: against sizes its value is a level line.

Idle times are drawn on a logarithmic scale. Those that are not surely above 0 are left out, and counted.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from postprocess.drawing.columns import first_of
from postprocess.drawing.curves import (
    COLOURS,
    DASHED,
    MESSAGE,
    RANKS,
    Chart,
    ChartAxis,
    Curve,
    Style,
    ratio_axis,
    time_axis,
)
from postprocess.drawing.text import plural, size
from postprocess.families import axes
from postprocess.families.cpu_overhead.axes import AXES
from postprocess.families.cpu_overhead.claims import of_all_ranks
from postprocess.families.cpu_overhead.record import BLOCKING
from postprocess.families.launch_marks import mark_of, marks_of
from postprocess.families.sampled_table import case_words, having, same_case

USER, SHARE, TIME = "user_share", "idle_share", "idle_ns"
"""The kinds of charts, each the column that it shows."""
FIGURES: Mapping[str, str] = {
    USER: "figure 1 of Hoefler et al. 2006",
    SHARE: "figure 1 of Hoefler et al. 2006, but what is left of the CPU beside user and system time",
    TIME: "figure 3 of Hoefler et al. 2006",
}
RANKS_FIGURE = "figure 2 of Hoefler et al. 2006"
LEAST_PLACES = 3
"""Fewer sizes, or numbers of ranks, make no curve: the table has them."""
PAPERS_BYTES = 1024
"""The size of figure 2."""
_VERTICAL: Mapping[str, ChartAxis] = {
    USER: ratio_axis("CPU share in user mode"),
    SHARE: ratio_axis("idle share"),
    TIME: time_axis("idle time of a call"),
}
_TITLES = {USER: "CPU share in user mode", SHARE: "Idle share", TIME: "Idle time"}
_COLOURS = {
    "barrier": "black", "bcast": "blue", "gather": "orange", "scatter": "pink", "allgather": "green",
    "alltoall": "red", "reduce": "sky", "allreduce": "violet", "reduce_scatter_block": "grey", "scan": "olive",
}  # fmt: skip
"""A collective keeps its colour in every picture."""
_GROUP = same_case(AXES, axes.OPERATION.name)


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `cpu_table`: each kind for each group of points, as far as there is a curve."""
    for _, rows in of_all_ranks(table[table["way"] == BLOCKING]).groupby(_GROUP, sort=False):
        for kind in FIGURES:
            drawn = rows[_is_idle(rows)] if kind == TIME else having(rows, kind)
            sizes = sorted({int(size) for size in drawn["message_bytes"] if size > 0})
            if len(sizes) >= LEAST_PLACES:
                curves = tuple(_curves(drawn, kind, sizes))
                low, high = _edges(kind, [mark.value for curve in curves for mark in curve.marks])
                yield Chart(
                    kind=kind,
                    title=_title(kind, rows),
                    figures=FIGURES[kind],
                    horizontal=MESSAGE,
                    vertical=_VERTICAL[kind],
                    low=low,
                    high=high,
                    curves=curves,
                    level=np.nan if kind == TIME else 0.0,
                    left_out=len(rows) - len(drawn),
                    lost="not surely above 0, or not measured," if kind == TIME else "without a value",
                )


def rank_charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts against the number of ranks: one for each group of points with several communicators."""
    calls = table[table["way"] == BLOCKING]
    for _, rows in calls.groupby(_GROUP, sort=False):
        near = _nearest_size(rows)
        chosen = rows[rows["message_bytes"].isin([0, near]) & _is_idle(rows)]
        if chosen["communicator_ranks"].nunique() >= LEAST_PLACES:
            curves = tuple(_curves_of_ranks(chosen))
            low, high = _edges(TIME, [mark.value for curve in curves for mark in curve.marks])
            yield Chart(
                kind=TIME,
                title=f"{_title(TIME, rows)} and fewer, {size(near)}",
                figures=RANKS_FIGURE,
                horizontal=RANKS,
                vertical=_VERTICAL[TIME],
                low=low,
                high=high,
                curves=curves,
            )


def _is_idle(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether each row's idle time is surely above 0: its interval excludes 0."""
    sure: NDArray[np.bool_] = rows[f"{TIME}_ci95_low"].to_numpy(np.float64) > 0
    return sure


def _nearest_size(rows: pd.DataFrame) -> int:
    sizes = sorted({int(one) for one in rows["message_bytes"] if one > 0})
    return min(sizes, key=lambda one: abs(np.log(one / PAPERS_BYTES)), default=0)


def _curves_of_ranks(rows: pd.DataFrame) -> Iterator[Curve]:
    for operation, of_operation in rows.groupby("operation", sort=False):
        marks = marks_of(of_operation, "communicator_ranks", TIME, _VERTICAL[TIME])
        yield Curve(str(operation), Style(COLOURS[_COLOURS.get(str(operation), "grey")]), marks)


def _title(kind: str, rows: pd.DataFrame) -> str:
    first = first_of(rows)
    return f"{_TITLES[kind]}: {case_words(AXES, first)}, {plural(int(first['ranks']), 'rank')}"


def _edges(kind: str, values: list[float]) -> tuple[float, float]:
    if kind != TIME:
        return min(0.0, *values) - 0.05, max(1.0, *values) + 0.05
    return min(values) / 1.5, max(values) * 1.5


def _curves(drawn: pd.DataFrame, kind: str, sizes: list[int]) -> Iterator[Curve]:
    for operation, rows in drawn.groupby("operation", sort=False):
        colour = COLOURS[_COLOURS.get(str(operation), "grey")]
        if (rows["message_bytes"] == 0).all():
            ends = tuple(mark_of(size, rows, kind, _VERTICAL[kind]) for size in dict.fromkeys((sizes[0], sizes[-1])))
            yield Curve(str(operation), Style(colour, line=DASHED), ends)
            continue
        yield Curve(str(operation), Style(colour), marks_of(rows, "message_bytes", kind, _VERTICAL[kind]))
