"""The section of the report about messages to a late receiver: verdicts, planted cases, the memory of idle
ranks, curves, and the table of all points."""

from __future__ import annotations

from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.families.sync_overlap.charts import charts
from postprocess.families.sync_overlap.memory import SHOWN as MEMORY
from postprocess.families.sync_overlap.memory import growth_sentences, memory_table
from postprocess.families.sync_overlap.planted import SHOWN as PLANTED
from postprocess.families.sync_overlap.planted import planted_rows, planted_sentence
from postprocess.families.sync_overlap.table import SHOWN, with_messages
from postprocess.families.sync_overlap.verdict import verdicts


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report. planted, memory: tables; None where there is nothing to show."""
    planted, memory = planted_rows(table), memory_table(table)
    return {
        "verdicts": list(verdicts(table)),
        "planted": None if planted.empty else PLANTED.view(planted, most_rows),
        "planted_sentence": planted_sentence(table),
        "memory": None if memory.empty else MEMORY.view(memory, most_rows),
        "growth": list(growth_sentences(memory)),
        "points": SHOWN.view(with_messages(table), most_rows),
    }


SECTION = CurveSection(charts, _view)
