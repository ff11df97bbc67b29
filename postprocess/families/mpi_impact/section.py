"""The section of the report about an idle library: verdicts at the time of figure 9, curves, and all times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import duration, interval, percent, ratio
from postprocess.families.mpi_impact.charts import RATIO, case_words, charts, in_order
from postprocess.families.mpi_impact.table import SHOWN, highlighted, verdict

HEADS = ("library and configuration", "computation", "r_mpi_impact [95 %]", "verdict", "CPU of progress threads")


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report, and its card.

    cases: their texts, under HEADS, and whether they are doubtful.
    """
    ordered = in_order(table)
    return {
        "heads": HEADS,
        "cases": [(_cells(row), not row["reliable"]) for row in rows_of(in_order(highlighted(table)))],
        "points": SHOWN.view(ordered, most_rows),
    }


def _cells(row: Mapping[Any, Any]) -> list[str]:
    again = f" ({row['repeat']})" if row["repeat"] > 1 else ""
    return [
        f"{row['toolchain']} {case_words(row)}{again}, {row['network']}, {row['computation']}",
        duration(row["comp_target_ns"]),
        f"{ratio(row[RATIO])} {interval(row[f'{RATIO}_ci95_low'], row[f'{RATIO}_ci95_high'])}",
        verdict(row),
        percent(row["progress_cpu_share"]),
    ]


SECTION = CurveSection(charts, _view)
