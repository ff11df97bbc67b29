"""The section of the report about partitioned communication: verdicts, curves, and the table of all points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.families.partitioned.charts import charts
from postprocess.families.partitioned.summary import summaries
from postprocess.families.partitioned.table import SHOWN
from postprocess.families.partitioned.verdict import (
    break_even_words,
    choices_words,
    scenario_words,
    unreliable_words,
    verdicts,
)


@dataclass(frozen=True)
class VerdictView:
    """The verdict of a scenario in words: answers by range of sizes, and break-even sizes by option."""

    scenario: str
    choices: list[tuple[str, str]]
    break_evens: list[tuple[str, str]]
    unreliable: str


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report, and its card."""
    return {"summaries": summaries(table), "verdicts": list(_verdicts(table)), "points": SHOWN.view(table, most_rows)}


def _verdicts(table: pd.DataFrame) -> Iterator[VerdictView]:
    for verdict in verdicts(table):
        yield VerdictView(
            scenario=scenario_words(verdict.values),
            choices=choices_words(verdict.choices),
            break_evens=[
                (option.words, break_even_words(found, launches)) for option, found, launches in verdict.break_evens
            ],
            unreliable=unreliable_words(verdict),
        )


SECTION = CurveSection(charts, _view)
