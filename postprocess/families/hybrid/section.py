"""The section of the report about hybrid collectives: verdicts, curves, and the tables of points and of what is paid
once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import size
from postprocess.families import axes
from postprocess.families.hybrid import once, overlap
from postprocess.families.hybrid.axes import AXES, WHOLE
from postprocess.families.hybrid.charts import charts
from postprocess.families.hybrid.claims import GLANCE, OF_CASE, at_a_glance, break_evens, counts_words, targets
from postprocess.families.hybrid.record import HybridRecord
from postprocess.families.hybrid.table import SETTING, SHOWN, count_of_controls, states_words, with_states
from postprocess.statistics.control import CANNOT_TELL, FASTER, SLOWER


@dataclass(frozen=True)
class Summary:
    """What the card says of one case: how many targets hold, and from which size on each collective is faster."""

    library: str
    targets: str
    faster: list[str]


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report, and its card.

    states: how long hand-overs took in each state of the cores; empty where the run has one state.  control: how many
    controls are off.
    overlap: the points with a computation between start and wait.
    """
    of_claims = targets(table)
    summaries = [
        Summary(library, counts_words(of_claims[of_claims["library"] == library]), words)
        for library, words in break_evens(table)
    ]
    return {
        "summaries": summaries,
        "states": states_words(with_states(table)),
        "control": count_of_controls(table).words,
        "glance_heads": GLANCE,
        "glance": at_a_glance(table),
        "heads": OF_CASE.heads,
        "targets": [
            (str(case), list(map(OF_CASE.cells, rows_of(rows))))
            for case, rows in of_claims.groupby("library", sort=False)
        ],
        "verdict_heads": VERDICT_HEADS,
        "verdicts": verdicts(table),
        "points": SHOWN.view(table, most_rows),
        "overlap": overlap.SHOWN.view(overlap.overlapped(table), most_rows),
        "pays_back": once.pays_back(table),
    }


def _once(records: Sequence[HybridRecord], most_rows: int) -> dict[str, Any]:
    """What is paid once, which only the records tell."""
    return {"once": once.SHOWN.view(once.once_table(records), most_rows)}


_CASE = [
    "toolchain", "provider", "configuration", "network", "ranks", "shared_nodes", "nodes_are",
    axes.VIRTUAL_NODE_RANKS.name, axes.CACHE.name, axes.METHOD.name, "operation", "variant",
]  # fmt: skip
VERDICT_HEADS = ("library", "collective", "variant", f"{FASTER} at", f"{SLOWER} at", CANNOT_TELL)


def verdicts(table: pd.DataFrame) -> list[list[str]]:
    """For each library, collective and variant, under VERDICT_HEADS: at which sizes the whole of writing, collective
    and reading is faster or slower than with the MPI library at the best of its settings that were measured, and where
    one cannot tell."""
    whole = table[table["timed"] == WHOLE]
    said = []
    for _, rows in whole.groupby(_CASE, sort=False):
        ordered = rows_of(rows.sort_values("message_bytes"))
        sizes = {
            word: ", ".join(dict.fromkeys(size(row["message_bytes"]) for row in ordered if row["best_verdict"] == word))
            for word in (FASTER, SLOWER, CANNOT_TELL)
        }
        first = ordered[0] | {SETTING: axes.INTRANODE.usual}
        case = f"{first['toolchain']}, {AXES.words(first)}, {first['network']}, {first['ranks']} ranks"
        said.append([case, str(first["operation"]), str(first["variant"]), *sizes.values()])
    return said


SECTION = CurveSection(charts, _view, _once)
