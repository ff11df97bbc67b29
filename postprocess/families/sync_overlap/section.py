"""The section of the report about messages to a late receiver: verdicts, curves, and the table of all points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from postprocess.drawing.columns import PointsView
from postprocess.drawing.curve_view import ChartView, chart_view
from postprocess.families.sync_overlap.charts import charts
from postprocess.families.sync_overlap.table import SHOWN
from postprocess.families.sync_overlap.verdict import Verdict, verdicts


@dataclass(frozen=True)
class SyncView:
    """The section of the report. files: the addresses of the pictures."""

    verdicts: list[Verdict]
    charts: list[ChartView]
    points: PointsView
    files: Sequence[str]


def sync_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> SyncView | None:
    """What the section shows; None for an empty table."""
    if table.empty:
        return None
    return SyncView(list(verdicts(table)), list(map(chart_view, charts(table))), SHOWN.view(table, most_rows), files)
