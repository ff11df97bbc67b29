"""The section of the report about programming for overlap: verdicts, charts, and the table of all points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.families.transfer_overlap.charts import charts
from postprocess.families.transfer_overlap.table import SHOWN
from postprocess.families.transfer_overlap.verdict import application_words, notes, verdicts


@dataclass(frozen=True)
class VerdictView:
    """The verdict on an application in words."""

    application: str
    words: str
    notes: list[str]


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report."""
    answers = [VerdictView(application_words(one.values), one.words, notes(one)) for one in verdicts(table)]
    return {"verdicts": answers, "points": SHOWN.view(table, most_rows)}


SECTION = CurveSection(charts, _view)
