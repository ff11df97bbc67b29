"""The section of the report about an idle library: bars for the time of figure 9, and the table of all times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from postprocess.drawing.text import duration, interval, percent, ratio
from postprocess.families.mpi_impact.plot import COLOURS, MARKS, OTHER_COLOUR, case_label, in_order
from postprocess.families.mpi_impact.table import HEADS, RIGHT, cells, highlighted, rows_of, verdict

_WIDTH = 260.0
_LEAST_END = 1.5


@dataclass(frozen=True)
class Bar:
    """A case as a horizontal bar. Lengths are in units of the picture; -1 for a value that is not known."""

    label: str
    value: str
    interval: str
    verdict: str
    computation: str
    busy: str
    colour: str
    length: float
    low: float
    high: float
    doubtful: bool
    incomplete: bool


@dataclass(frozen=True)
class ImpactView:
    """The section of the report.

    one: the place of the line at 1.  heads: the heads of the table, and whether their columns hold numbers.
    marks: the meanings of the letters behind a case.
    """

    bars: list[Bar]
    width: float
    one: float
    heads: list[tuple[str, bool]]
    rows: list[list[str]]
    marks: Mapping[str, str]
    files: Sequence[str]


def impact_view(table: pd.DataFrame, files: Sequence[str]) -> ImpactView | None:
    """The view of the table; None for an empty table. files: links to the pictures."""
    if table.empty:
        return None
    table = in_order(table)
    shown = rows_of(in_order(highlighted(table)))
    end = max([_LEAST_END, *(1.1 * row["r_mpi_impact"] for row in shown if math.isfinite(row["r_mpi_impact"]))])
    return ImpactView(
        bars=[_bar(row, end) for row in shown],
        width=_WIDTH,
        one=_WIDTH / end,
        heads=[(head, number in RIGHT) for number, head in enumerate(HEADS)],
        rows=[cells(row) for row in rows_of(table)],
        marks=MARKS,
        files=files,
    )


def _bar(row: Mapping[Any, Any], end: float) -> Bar:
    value, low, high = (row[f"r_mpi_impact{part}"] for part in ("", "_ci95_low", "_ci95_high"))
    return Bar(
        label=f"{case_label(row)}, {row['network']}, {row['computation']}".replace("\n", " "),
        value=ratio(value),
        interval=interval(low, high),
        verdict=verdict(row),
        computation=duration(row["comp_target_ns"]),
        busy=percent(row["progress_cpu_share"]),
        colour=COLOURS.get(row["configuration"], OTHER_COLOUR),
        length=_place(value, end),
        low=_place(low, end),
        high=_place(high, end),
        doubtful=not row["reliable"],
        incomplete=not row["complete"],
    )


def _place(value: float, end: float) -> float:
    """The place of a ratio on the picture, at most at its edge; -1 for NaN."""
    return round(_WIDTH * min(max(value, 0.0), end) / end, 1) if math.isfinite(value) else -1.0
