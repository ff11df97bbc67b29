"""The section of the report about kernels: verdicts, curves, and the tables of times and of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from postprocess.drawing.columns import PointsView
from postprocess.drawing.curve_view import ChartView, chart_view
from postprocess.drawing.text import size
from postprocess.families.hybrid_kernels.charts import charts
from postprocess.families.hybrid_kernels.record import HYBRID, MPI, OPENMP
from postprocess.families.hybrid_kernels.table import MEMORY, SHOWN, by_ranks
from postprocess.families.hybrid_kernels.verdict import Place, Verdict, places


@dataclass(frozen=True)
class KernelsView:
    """The section of the report, and its card.

    answers: the verdicts of each place as cells of a table whose heads are HEADS.  files: the addresses of the
    pictures.
    """

    places: list[Place]
    heads: Sequence[str]
    answers: list[tuple[str, list[list[str]]]]
    charts: list[ChartView]
    memory: PointsView
    points: PointsView
    files: Sequence[str]


HEADS = (
    "kernel", "size", "hybrid / pure MPI", "hybrid / MPI and OpenMP", "node memory", "of pure MPI", "of MPI and OpenMP",
    "lines (than pure MPI)", "doubt",
)  # fmt: skip


def kernels_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> KernelsView | None:
    """What the section shows; None for an empty table."""
    if table.empty:
        return None
    found = places(table)
    return KernelsView(
        places=found,
        heads=HEADS,
        answers=[(place.where, list(map(_cells, place.verdicts))) for place in found],
        charts=list(map(chart_view, charts(table))),
        memory=MEMORY.view(by_ranks(table), most_rows),
        points=SHOWN.view(table, most_rows),
        files=files,
    )


def _cells(one: Verdict) -> list[str]:
    return [
        one.kernel,
        str(one.size),
        *(f"{against.words}: {against.verdict}" for against in (one.to_mpi, one.to_openmp)),
        *(size(one.memory_bytes[variant]) for variant in (HYBRID, MPI, OPENMP)),
        f"{one.lines[HYBRID]} ({one.lines[HYBRID] - one.lines[MPI]:+d})",
        one.doubt,
    ]
