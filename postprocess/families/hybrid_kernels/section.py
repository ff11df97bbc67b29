"""The section of the report about kernels: verdicts, curves, and the tables of times and of memory."""

from __future__ import annotations

from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import size
from postprocess.families.hybrid_kernels.charts import charts
from postprocess.families.hybrid_kernels.record import HYBRID, MPI, OPENMP
from postprocess.families.hybrid_kernels.table import MEMORY, SHOWN, by_ranks, count_of_controls
from postprocess.families.hybrid_kernels.verdict import Verdict, places

HEADS = (
    "kernel", "size", "hybrid / pure MPI", "hybrid / MPI and OpenMP", "node memory", "of pure MPI", "of MPI and OpenMP",
    "lines (than pure MPI)", "doubt",
)  # fmt: skip


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report, and its card. answers: the verdicts of each place, under HEADS.  control: how many
    controls are off."""
    found = places(table)
    return {
        "places": found,
        "control": count_of_controls(table).words,
        "heads": HEADS,
        "answers": [(place.where, list(map(_cells, place.verdicts))) for place in found],
        "memory": MEMORY.view(by_ranks(table), most_rows),
        "points": SHOWN.view(table, most_rows),
    }


def _cells(one: Verdict) -> list[str]:
    return [
        one.kernel,
        str(one.size),
        *(f"{against.words}: {against.verdict}" for against in (one.to_mpi, one.to_openmp)),
        *(size(one.memory_bytes[variant]) for variant in (HYBRID, MPI, OPENMP)),
        f"{one.lines[HYBRID]} ({one.lines[HYBRID] - one.lines[MPI]:+d})",
        one.doubt,
    ]


SECTION = CurveSection(charts, _view)
