"""The section of the report about programming for overlap: verdicts, charts, and the table of all points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from postprocess.drawing.columns import PointsView
from postprocess.drawing.curve_view import ChartView, chart_view
from postprocess.families.transfer_overlap.charts import charts
from postprocess.families.transfer_overlap.table import SHOWN
from postprocess.families.transfer_overlap.verdict import application_words, notes, verdicts


@dataclass(frozen=True)
class VerdictView:
    """The verdict on an application in words."""

    application: str
    words: str
    notes: list[str]


@dataclass(frozen=True)
class TransferView:
    """The section of the report. files: the addresses of the pictures."""

    verdicts: list[VerdictView]
    charts: list[ChartView]
    points: PointsView
    files: Sequence[str]


def transfer_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> TransferView | None:
    """What the section shows; None for an empty table."""
    if table.empty:
        return None
    answers = [VerdictView(application_words(one.values), one.words, notes(one)) for one in verdicts(table)]
    return TransferView(answers, list(map(chart_view, charts(table))), SHOWN.view(table, most_rows), files)
