"""The times and the memory of kernels: the counterparts of figures 17 to 19 of Zhou et al. 2020.

A chart has the variants of one kernel and size side by side: the whole time and the computation in it, which the paper
draws as bars, or the memory of a node. Where a run has nodes with several numbers of ranks, the memory is drawn over
that number, a curve per variant; so are the memory that the kernel's data added, and the copies of the data that
several ranks of a node need.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from postprocess.drawing.columns import first_of
from postprocess.drawing.curves import (
    COLOURS,
    DOTTED,
    SOLID,
    Chart,
    ChartAxis,
    Curve,
    Mark,
    Style,
    ratio_axis,
    sure_values,
)
from postprocess.drawing.text import duration, plural, ratio, size
from postprocess.families.hybrid_kernels.axes import AXES, VARIANT
from postprocess.families.hybrid_kernels.record import HYBRID, MPI, OPENMP, VARIANTS
from postprocess.families.launch_marks import mark_of
from postprocess.families.sampled_table import case_words, having, nodes_words, same_case

TIME, MEMORY, GROWTH, COPIES = "t_ns", "memory_bytes", "growth_bytes", "copies_per_node"
"""What charts show, each a column."""
OVER_RANKS = "over_ranks"
"""What the kinds of charts over the ranks of a node begin with."""
_FIGURES: Mapping[str, str] = {
    "summa": "figure 17 of Zhou et al. 2020",
    "poisson": "figure 18 of Zhou et al. 2020",
    "bpmf": "figure 19 of Zhou et al. 2020",
}
_VARIANT = ChartAxis("variant", log=False, words=lambda place: VARIANTS[int(place)], named=True)
_RANKS = ChartAxis("ranks per node", log=True, words=lambda place: str(int(place)))
_VERTICAL = {
    TIME: ChartAxis("time", log=False, words=duration),
    MEMORY: ChartAxis("memory of a node", log=False, words=size, binary=True),
    GROWTH: ChartAxis("memory of its data", log=False, words=size, binary=True),
    COPIES: ratio_axis("copies of the shared data per node"),
}
_WHAT = {
    TIME: "Time",
    MEMORY: "Memory of a node",
    GROWTH: "Memory of a node that the data of the kernel need",
    COPIES: "Copies of the data that ranks of a node share",
}
_CURVES = {
    TIME: (
        ("total", "t_ns", Style(COLOURS["blue"])),
        ("computation", "t_compute_ns", Style(COLOURS["orange"], marker="s")),
    ),
    MEMORY: (
        ("all", "memory_bytes", Style(COLOURS["violet"])),
        ("of its data", "growth_bytes", Style(COLOURS["green"], marker="s")),
        ("shared", "shared_bytes", Style(COLOURS["grey"], marker="^")),
    ),
}
_CURVES_OVER_RANKS = {
    MEMORY: (("", "memory_bytes", SOLID), (", shared", "shared_bytes", DOTTED)),
    GROWTH: (("", "growth_bytes", SOLID),),
    COPIES: (("", "copies_per_node", SOLID),),
}
_COLOURS = {MPI: "blue", OPENMP: "orange", HYBRID: "green"}
"""A variant keeps its colour in all pictures that have a curve for it."""
_WHERE = [*same_case(AXES, "ranks", "nodes"), "shared_nodes", "nodes_are", "kernel"]


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `kernels_table`, as far as there is a value: times for each kernel and size; the
    memory likewise, or over the ranks of a node where they differ."""
    numbered = table.assign(number=table.groupby(["record", "kernel"])["size"].rank(method="dense"))
    for _, of_size in numbered.groupby([*_WHERE, "number"], sort=False):
        several = of_size["ranks_per_node"].nunique() > 1
        for _, rows in of_size.groupby(["ranks", "nodes", "size"], sort=False):
            yield from _chart(TIME, rows)
            if not several:
                yield from _chart(MEMORY, rows)
        if several:
            for column in _CURVES_OVER_RANKS:
                yield from _chart_over_ranks(column, of_size)


def _chart(column: str, rows: pd.DataFrame) -> Iterator[Chart]:
    drawn = having(rows, column)
    if len(drawn):
        first = first_of(rows)
        ranks = plural(first["ranks"], "rank")
        title = f"{_WHAT[column]}: {_kernel(rows)}, {case_words(AXES, first)}, {ranks}, {nodes_words(first)}"
        figures = _FIGURES.get(first["kernel"], "") if column == TIME else ""
        yield _drawn(column, column, title, figures, _VARIANT, tuple(_curves(drawn, column)), len(rows) - len(drawn))


def _chart_over_ranks(column: str, rows: pd.DataFrame) -> Iterator[Chart]:
    """The sizes of some kernels grow with the ranks: the title has the smallest and the largest one."""
    drawn = having(rows, column)
    if len(drawn):
        first = first_of(rows)
        crowded = "; some ranks share cores, which needs no other memory" if rows["oversubscribed"].any() else ""
        title = f"{_WHAT[column]}: {_kernel(rows)}, {case_words(AXES, first)}, {nodes_words(first)}{crowded}"
        curves = tuple(_curves_over_ranks(drawn, column))
        yield _drawn(f"{OVER_RANKS}_{column}", column, title, "", _RANKS, curves, len(rows) - len(drawn))


def _drawn(
    kind: str, column: str, title: str, figures: str, horizontal: ChartAxis, curves: tuple[Curve, ...], left_out: int
) -> Chart:
    _, high = sure_values(curves)
    return Chart(
        kind=kind,
        title=title,
        figures=figures,
        horizontal=horizontal,
        vertical=_VERTICAL[column],
        low=0.0,
        high=1.1 * high,
        curves=curves,
        level=np.nan,
        left_out=left_out,
    )


def _kernel(rows: pd.DataFrame) -> str:
    low, high = int(rows["size"].min()), int(rows["size"].max())
    return f"{rows['kernel'].iloc[0]} of {f'size {low}' if low == high else f'sizes {low} to {high}'}"


def _curves(drawn: pd.DataFrame, column: str) -> Iterator[Curve]:
    for name, of_curve, style in _CURVES[column]:
        of_variants = [(place, drawn[drawn[VARIANT.name] == one]) for place, one in enumerate(VARIANTS)]
        marks = tuple(_mark(place, rows, of_curve, column) for place, rows in of_variants if len(rows))
        yield Curve(name, style, marks)


def _curves_over_ranks(drawn: pd.DataFrame, column: str) -> Iterator[Curve]:
    for variant in VARIANTS:
        of_variant = drawn[drawn[VARIANT.name] == variant]
        for name, of_curve, line in _CURVES_OVER_RANKS[column]:
            marks = tuple(
                _mark(float(count), rows, of_curve, column) for count, rows in of_variant.groupby("ranks_per_node")
            )
            yield Curve(f"{variant}{name}", Style(COLOURS[_COLOURS[variant]], line=line), marks)


def _mark(place: float, rows: pd.DataFrame, column: str, of: str) -> Mark:
    if of == TIME:
        return mark_of(place, rows, column, _VERTICAL[of])
    value = float(rows[column].median())  # it is read once per point, and has no interval
    words = ratio(value) if of == COPIES else size(value)
    return Mark(place, value, np.nan, np.nan, words)
