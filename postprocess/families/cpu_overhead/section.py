"""The section of the report about the CPU time of blocking collectives and LogGP: curves, and the tables of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from postprocess.drawing.columns import PointsView
from postprocess.drawing.curve_view import ChartView, chart_view
from postprocess.families.cpu_overhead.charts import all_charts
from postprocess.families.cpu_overhead.claims import sentences_by_case, verdicts
from postprocess.families.cpu_overhead.shown import LOGGP_PARAMETERS, leading_columns, tables


@dataclass(frozen=True)
class CpuView:
    """The section of the report.

    verdicts: of each case, in words, what its blocking collectives, and its messages, cost.  sentences: by case, what
    the tables say.  tables: each with its title, and whether a reader sees it without opening it.  files: the addresses
    of the pictures.
    """

    charts: list[ChartView]
    verdicts: list[tuple[str, str]]
    sentences: dict[str, list[str]]
    tables: list[tuple[str, PointsView, bool]]
    files: Sequence[str]


def cpu_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> CpuView | None:
    """What the section shows; None for an empty table."""
    if table.empty:
        return None
    shown = [
        (title, columns.narrow_view(rows, most_rows, leading_columns(columns)), columns is LOGGP_PARAMETERS)
        for title, columns, rows in tables(table)
    ]
    return CpuView(list(map(chart_view, all_charts(table))), verdicts(table), sentences_by_case(table), shown, files)
