"""The section of the report about the CPU time of blocking collectives and LogGP: curves, and the tables of points."""

from __future__ import annotations

from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.families.cpu_overhead.charts import all_charts
from postprocess.families.cpu_overhead.claims import sentences_by_case, verdicts
from postprocess.families.cpu_overhead.shown import LOGGP_PARAMETERS, leading_columns, tables


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report. tables: each with its title, and whether a reader sees it without opening it."""
    shown = [
        (title, columns.narrow_view(rows, most_rows, leading_columns(columns)), columns is LOGGP_PARAMETERS)
        for title, columns, rows in tables(table)
    ]
    return {"verdicts": verdicts(table), "sentences": sentences_by_case(table), "tables": shown}


SECTION = CurveSection(all_charts, _view)
