"""The times and the memory of kernels: the counterparts of figures 17 to 19 of Zhou et al. 2020.

A chart has the variants of one kernel and size side by side: the whole time and the computation in it, which the paper
draws as bars, or the memory of a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.curves import COLOURS, DASHED, Axis, Chart, Curve, Mark, Style, mark_of, sure_values
from postprocess.drawing.text import duration, plural, size
from postprocess.families import axes
from postprocess.families.hybrid_kernels.axes import VARIANT
from postprocess.families.hybrid_kernels.record import VARIANTS
from postprocess.families.hybrid_kernels.table import configuration_words

TIME, MEMORY = "t_ns", "memory_bytes"
"""The kinds of charts, each the column that it shows."""
_FIGURES: Mapping[str, str] = {
    "summa": "figure 17 of Zhou et al. 2020",
    "poisson": "figure 18 of Zhou et al. 2020",
    "bpmf": "figure 19 of Zhou et al. 2020",
}
_HORIZONTAL = Axis("variant", log=False, words=lambda place: VARIANTS[int(place)])
_VERTICAL = {TIME: Axis("time", log=False, words=duration), MEMORY: Axis("memory of a node", log=False, words=size)}
_CURVES = {
    TIME: (
        ("total", "t_ns", Style(COLOURS["blue"])),
        ("computation", "t_compute_ns", Style(COLOURS["orange"], line=DASHED)),
    ),
    MEMORY: (
        ("all", "memory_bytes", Style(COLOURS["violet"])),
        ("of its data", "growth_bytes", Style(COLOURS["green"], line=DASHED)),
    ),
}
_GROUP = [
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "shared_nodes", "nodes_are",
    "threads_per_rank", "given_up_cores", axes.NAMED_CORES.name, axes.METHOD.name, "kernel", "size",
]  # fmt: skip


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `kernels_table`: both kinds for each kernel and size, as far as there is a
    value."""
    for _, rows in table.groupby(_GROUP, sort=False):
        for kind in (TIME, MEMORY):
            drawn = rows[np.isfinite(rows[kind].to_numpy(np.float64))]
            if len(drawn):
                curves = tuple(_curves(drawn, kind))
                _, high = sure_values(curves)
                yield Chart(
                    kind=kind,
                    title=_title(kind, {str(name): value for name, value in rows.iloc[0].items()}),
                    figures=_FIGURES.get(str(rows["kernel"].iloc[0]), "") if kind == TIME else "",
                    horizontal=_HORIZONTAL,
                    vertical=_VERTICAL[kind],
                    low=0.0,
                    high=1.1 * high,
                    curves=curves,
                    level=np.nan,
                    left_out=len(rows) - len(drawn),
                )


def _title(kind: str, first: Mapping[str, Any]) -> str:
    what = "Time" if kind == TIME else "Memory of a node"
    where = f"{first['toolchain']}, {configuration_words(first)}, {first['network']}"
    ranks = f"{plural(int(first['ranks']), 'rank')}, {plural(int(first['shared_nodes']), 'node')}"
    return f"{what}: {first['kernel']} of size {first['size']}, {where}, {ranks} ({first['nodes_are']})"


def _curves(drawn: pd.DataFrame, kind: str) -> Iterator[Curve]:
    for name, column, style in _CURVES[kind]:
        of_variants = [(place, drawn[drawn[VARIANT.name] == one]) for place, one in enumerate(VARIANTS)]
        marks = tuple(_mark(place, rows, column, kind) for place, rows in of_variants if len(rows))
        yield Curve(name, style, marks)


def _mark(place: float, rows: pd.DataFrame, column: str, kind: str) -> Mark:
    if kind == TIME:
        return mark_of(place, rows, column, _VERTICAL[kind])
    value = float(rows[column].median())  # memory is read once per point: it has no interval
    return Mark(place, value, value, value, size(value), pale=False)
