"""The section of the report about messages to a late receiver: verdicts, planted cases, the memory of idle
ranks, curves, and the table of all points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from postprocess.drawing.columns import PointsView
from postprocess.drawing.curve_view import ChartView, chart_view
from postprocess.families.sync_overlap.charts import charts
from postprocess.families.sync_overlap.memory import SHOWN as MEMORY
from postprocess.families.sync_overlap.memory import growth_sentences, memory_table
from postprocess.families.sync_overlap.planted import SHOWN as PLANTED
from postprocess.families.sync_overlap.planted import planted_rows, planted_sentence
from postprocess.families.sync_overlap.table import SHOWN, with_messages
from postprocess.families.sync_overlap.verdict import Verdict, verdicts


@dataclass(frozen=True)
class SyncView:
    """The section of the report.

    planted: the table of planted cases, and `planted_sentence` what it shows; None and empty where there is none.
    memory, growth: likewise of the memory of idle ranks.  files: the addresses of the pictures.
    """

    verdicts: list[Verdict]
    planted: PointsView | None
    planted_sentence: str
    memory: PointsView | None
    growth: list[str]
    charts: list[ChartView]
    points: PointsView
    files: Sequence[str]


def sync_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> SyncView | None:
    """What the section shows; None for an empty table."""
    if table.empty:
        return None
    planted, memory = planted_rows(table), memory_table(table)
    return SyncView(
        verdicts=list(verdicts(table)),
        planted=None if planted.empty else PLANTED.view(planted, most_rows),
        planted_sentence=planted_sentence(table),
        memory=None if memory.empty else MEMORY.view(memory, most_rows),
        growth=list(growth_sentences(memory)),
        charts=list(map(chart_view, charts(table))),
        points=SHOWN.view(with_messages(table), most_rows),
        files=files,
    )
