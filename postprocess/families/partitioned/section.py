"""The section of the report about partitioned communication: verdicts, curves, and the table of all points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from postprocess.drawing.columns import PointsView
from postprocess.drawing.curve_view import ChartView, chart_view
from postprocess.families.partitioned.charts import charts
from postprocess.families.partitioned.summary import Summary, summaries
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


@dataclass(frozen=True)
class PartitionedView:
    """The section of the report, and its card. files: links to the pictures."""

    summaries: list[Summary]
    verdicts: list[VerdictView]
    charts: list[ChartView]
    points: PointsView
    files: Sequence[str]


def partitioned_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> PartitionedView | None:
    """The view of the table; None for an empty table."""
    if table.empty:
        return None
    return PartitionedView(
        summaries=summaries(table),
        verdicts=list(_verdicts(table)),
        charts=[chart_view(chart) for chart in charts(table)],
        points=SHOWN.view(table, most_rows),
        files=files,
    )


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
