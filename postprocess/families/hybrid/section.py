"""The section of the report about hybrid collectives: verdicts, curves, and the table of all points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from postprocess.drawing.columns import PointsView, rows_of
from postprocess.drawing.curve_view import ChartView, chart_view
from postprocess.drawing.text import size
from postprocess.families.hybrid.axes import WHOLE
from postprocess.families.hybrid.charts import charts
from postprocess.families.hybrid.table import CANNOT_TELL, FASTER, SHOWN, SLOWER


@dataclass(frozen=True)
class HybridView:
    """The section of the report. verdicts: a sentence per library, collective and variant. files: the addresses of the
    pictures."""

    verdicts: list[str]
    charts: list[ChartView]
    points: PointsView
    files: Sequence[str]


def hybrid_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> HybridView | None:
    """What the section shows; None for an empty table."""
    if table.empty:
        return None
    return HybridView(verdicts(table), list(map(chart_view, charts(table))), SHOWN.view(table, most_rows), files)


def verdicts(table: pd.DataFrame) -> list[str]:
    """For each library, collective and variant: at which sizes the whole of writing, collective and reading is faster
    or slower than with the MPI library, and where one cannot tell."""
    whole = table[table["timed"] == WHOLE]
    said = []
    for _, rows in whole.groupby(["toolchain", "configuration", "network", "operation", "variant"], sort=False):
        ordered = rows_of(rows.sort_values("message_bytes"))
        parts = [
            f"{words} at {', '.join(dict.fromkeys(size(row['message_bytes']) for row in chosen))}"
            for words, chosen in (
                (word, [row for row in ordered if row["verdict"] == word]) for word in (FASTER, SLOWER, CANNOT_TELL)
            )
            if chosen
        ]
        first = ordered[0]
        said.append(f"{first['toolchain']}, {first['operation']}, {first['variant']}: {'; '.join(parts)}")
    return said
