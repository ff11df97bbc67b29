"""The section of the report about hybrid collectives: verdicts, curves, and the table of all points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from postprocess.drawing.columns import PointsView, rows_of
from postprocess.drawing.curve_view import ChartView, chart_view
from postprocess.drawing.text import size
from postprocess.families import axes
from postprocess.families.hybrid.axes import WHOLE
from postprocess.families.hybrid.charts import charts
from postprocess.families.hybrid.claims import HEADS, break_evens, cells, counts_words, targets
from postprocess.families.hybrid.table import CANNOT_TELL, FASTER, SETTING, SHOWN, SLOWER, configuration_words


@dataclass(frozen=True)
class Summary:
    """What the card says of one case: how many targets hold, and from which size on each collective is faster."""

    library: str
    targets: str
    faster: list[str]


@dataclass(frozen=True)
class HybridView:
    """The section of the report, and its card. targets: the texts under `heads` for each case. verdicts: a sentence per
    library, collective and variant. files: the addresses of the pictures."""

    summaries: list[Summary]
    heads: Sequence[str]
    targets: list[tuple[str, list[list[str]]]]
    verdicts: list[str]
    charts: list[ChartView]
    points: PointsView
    files: Sequence[str]


def hybrid_view(table: pd.DataFrame, files: Sequence[str], most_rows: int) -> HybridView | None:
    """What the section shows; None for an empty table."""
    if table.empty:
        return None
    of_claims = targets(table)
    summaries = [
        Summary(library, counts_words(of_claims[of_claims["library"] == library]), words)
        for library, words in break_evens(table)
    ]
    return HybridView(
        summaries=summaries,
        heads=HEADS,
        targets=[
            (str(case), list(map(cells, rows_of(rows)))) for case, rows in of_claims.groupby("library", sort=False)
        ],
        verdicts=verdicts(table),
        charts=list(map(chart_view, charts(table))),
        points=SHOWN.view(table, most_rows),
        files=files,
    )


_CASE = [
    "toolchain", "provider", "configuration", "network", "ranks", "shared_nodes", "nodes_are",
    axes.VIRTUAL_NODE_RANKS.name, axes.CACHE.name, axes.METHOD.name, "operation", "variant",
]  # fmt: skip


def verdicts(table: pd.DataFrame) -> list[str]:
    """For each library, collective and variant: at which sizes the whole of writing, collective and reading is faster
    or slower than with the MPI library at the best of its settings that were measured, and where one cannot tell."""
    whole = table[table["timed"] == WHOLE]
    said = []
    for _, rows in whole.groupby(_CASE, sort=False):
        ordered = rows_of(rows.sort_values("message_bytes"))
        parts = [
            f"{words} at {', '.join(dict.fromkeys(size(row['message_bytes']) for row in chosen))}"
            for words, chosen in (
                (word, [row for row in ordered if row["best_verdict"] == word])
                for word in (FASTER, SLOWER, CANNOT_TELL)
            )
            if chosen
        ]
        first = ordered[0] | {SETTING: axes.INTRANODE.usual}
        case = f"{first['toolchain']}, {configuration_words(first)}, {first['network']}"
        said.append(f"{case}, {first['operation']}, {first['variant']}: {'; '.join(parts)}")
    return said
