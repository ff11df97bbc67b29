"""The section of the report about kernels: verdicts, curves, and the table of all points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from postprocess.drawing.columns import PointsView, rows_of
from postprocess.drawing.curve_view import ChartView, chart_view
from postprocess.drawing.text import interval, ratio, size
from postprocess.families.hybrid_kernels.axes import VARIANT
from postprocess.families.hybrid_kernels.charts import charts
from postprocess.families.hybrid_kernels.record import MPI
from postprocess.families.hybrid_kernels.table import SHOWN


@dataclass(frozen=True)
class KernelsView:
    """The section of the report. verdicts: a sentence per library, kernel, size and variant. files: the addresses of
    the pictures."""

    verdicts: list[str]
    charts: list[ChartView]
    points: PointsView
    files: Sequence[str]


def kernels_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> KernelsView | None:
    """What the section shows; None for an empty table."""
    if table.empty:
        return None
    return KernelsView(verdicts(table), list(map(chart_view, charts(table))), SHOWN.view(table, most_rows), files)


def verdicts(table: pd.DataFrame) -> list[str]:
    """A sentence for each variant but pure MPI: whether it is faster than that, how much memory the data of the kernel
    take, and how many lines of code it needs."""
    said = []
    for _, rows in table.groupby(["record", "kernel", "size"], sort=False):
        by_variant = {str(row[VARIANT.name]): row for row in rows_of(rows)}
        base = by_variant[MPI]
        said += [_words(row, base) for name, row in by_variant.items() if name != MPI]
    return said


def _words(row: Mapping[Any, Any], base: Mapping[Any, Any]) -> str:
    to_mpi = f"{ratio(row['ratio_to_mpi'])} {interval(row['ratio_to_mpi_ci95_low'], row['ratio_to_mpi_ci95_high'])}"
    more = int(row["lines"]) - int(base["lines"])
    return (
        f"{row['toolchain']}, {row['kernel']} of size {row['size']}: {row[VARIANT.name]}: {row['verdict']}, "
        f"{to_mpi} of pure MPI's time; its data take {size(row['growth_bytes'])} on a node, pure MPI's "
        f"{size(base['growth_bytes'])}; {row['lines']} lines of its own, {more:+d}"
    )
