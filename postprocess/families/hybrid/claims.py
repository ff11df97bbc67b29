"""What a run says about the claims of Zhou et al. 2020 and about what the hybrid library is meant to reach.

Each is a bound of a ratio over a range of message sizes. It holds where the 95 % intervals of all points lie on its
side, and no point is doubtful. It does not hold where the interval of a point that is not doubtful lies on the other
side. Otherwise it cannot be told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.text import ratio, size
from postprocess.families.hybrid.axes import ALONE, WHOLE
from postprocess.families.hybrid.table import FASTER, PAPERS_OWN, SETTING, configuration_words

Column: TypeAlias = Literal["ratio_to_library", "ratio_to_best_library", "ratio_to_papers_own"]
HOLDS, DOES_NOT_HOLD, CANNOT_TELL = "holds", "does not hold", "cannot be told"
OWN_CHOICE = "spin"
"""The variant that is the hybrid library's own choice."""


@dataclass(frozen=True)
class Claim:
    """A ratio of the hybrid library's own choice is at most `bound` for messages of `least_bytes` up to `most_bytes`.

    column: the ratio.  setting: of the MPI library; empty where `column` already chooses one.
    """

    what: str
    column: Column
    timed: str
    operations: tuple[str, ...]
    bound: float
    least_bytes: int = 0
    most_bytes: float = math.inf
    setting: str = ""

    def covers(self, row: dict[str, Any]) -> bool:
        return (
            row["variant"] == OWN_CHOICE
            and row["timed"] == self.timed
            and row["operation"] in self.operations
            and self.least_bytes <= row["message_bytes"] <= self.most_bytes
            and self.setting in ("", row[SETTING])
        )


_BEST: Column = "ratio_to_best_library"
_PAPERS: Column = "ratio_to_papers_own"
_COPIES, _REDUCES = ("allgather", "bcast"), ("allreduce",)
CLAIMS = (
    Claim("from 4 KiB, at most 1.05 times the library at its best", _BEST, WHOLE, _COPIES, 1.05, 4096),
    Claim("below 1 KiB, at most 1.10 times the library at its best", _BEST, WHOLE, _REDUCES, 1.10, 0, 1023),
    Claim("from 1 KiB, at most 1.05 times the library at its best", _BEST, WHOLE, _REDUCES, 1.05, 1024),
    Claim("from 4 KiB, at least twice as fast as the library at its best", _BEST, ALONE, _COPIES, 1 / 2, 4096),
    Claim(
        "from 4 KiB, at least 1.3 times as fast as the library as it comes (the paper: 27 to 82 % faster)",
        "ratio_to_library", ALONE, _REDUCES, 1 / 1.3, 4096, setting="usual",
    ),
    Claim("never slower than by the paper's own method", _PAPERS, WHOLE, tuple(PAPERS_OWN), 1.0),
)  # fmt: skip
_GROUP = [
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "shared_nodes", "nodes_are",
    "virtual_node_ranks", "cache", "method",
]  # fmt: skip


def judged(rows: Sequence[dict[str, Any]], claim: Claim) -> str:
    """HOLDS, DOES_NOT_HOLD or CANNOT_TELL. rows: those that the claim covers."""
    low, high = f"{claim.column}_ci95_low", f"{claim.column}_ci95_high"
    if any(row[low] > claim.bound and not row["doubtful"] for row in rows):
        return DOES_NOT_HOLD
    sure = all(row[high] <= claim.bound and not row["doubtful"] for row in rows)
    return HOLDS if rows and sure else CANNOT_TELL


def sentences(table: pd.DataFrame) -> list[str]:
    """The sentences about a table of `hybrid_table`, in its order."""
    return [
        f"{_where(rows)}: {sentence}"
        for _, rows in table.groupby(_GROUP, sort=False)
        for sentence in (*_of_claims(rows_of(rows)), *_of_break_even(rows_of(rows)))
    ]


def _where(rows: pd.DataFrame) -> str:
    first = {str(name): value for name, value in rows.iloc[0].items()} | {SETTING: "usual"}
    return f"{first['toolchain']}, {configuration_words(first)}, {first['network']}"


def _of_claims(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    for claim in CLAIMS:
        for operation in claim.operations:
            covered = [row for row in rows if claim.covers(row) and row["operation"] == operation]
            of_column = [row for row in covered if math.isfinite(row[claim.column])]
            if of_column:
                worst = max(of_column, key=lambda row: float(row[claim.column]))
                timed = "alone" if claim.timed == ALONE else "written and read"
                yield f"{operation} {timed}, {claim.what}: {judged(covered, claim)}; {_worst(worst, claim)}"


def _worst(row: dict[str, Any], claim: Claim) -> str:
    value, low, high = (ratio(row[f"{claim.column}{end}"]) for end in ("", "_ci95_low", "_ci95_high"))
    best = f", setting {row['best_setting'].replace('_', ' ')}" if claim.column == _BEST else ""
    doubt = ", doubtful" if row["doubtful"] else ""
    return f"the largest ratio is {value} [{low}, {high}] at {size(row['message_bytes'])}{best}{doubt}"


def _of_break_even(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """From which size on writing, collective and reading are faster than with the library at its best."""
    for operation in PAPERS_OWN:
        own = [
            row
            for row in rows
            if (row["operation"], row["variant"], row["timed"]) == (operation, OWN_CHOICE, WHOLE) and row["valid"]
        ]
        not_faster = [row["message_bytes"] for row in own if row["best_verdict"] != FASTER]
        from_then_on = [row["message_bytes"] for row in own if row["message_bytes"] > max(not_faster, default=0)]
        if own:
            found = f"from {size(min(from_then_on))} on" if from_then_on else "at no size up to the largest"
            yield f"{operation} written and read: surely faster than the library at its best {found}"
