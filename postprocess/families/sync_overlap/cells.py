"""The matrix of the family: at each message size that was asked for, whether a message to a late receiver arrives while
the sender computes. Only reliable points count."""

import math
from collections.abc import Iterator

import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.matrix import CANNOT_TELL, Cell, Word
from postprocess.drawing.text import duration, size
from postprocess.families import axes
from postprocess.families.matrix_rows import rows_in
from postprocess.families.sampled_table import estimate_of
from postprocess.families.sync_overlap.verdict import over_launches
from postprocess.statistics.late_receiver import FULL, INCOMPLETE, NONE

MEASURE = "how long before (early) or after (late) the sender's MPI_Wait the receive ends"
WORDS = {
    FULL: Word("full overlap", "good", "overlaps fully", "overlap fully"),
    INCOMPLETE: Word("incomplete", "even", "overlaps incompletely", "overlap incompletely"),
    NONE: Word("no overlap", "bad", "does not overlap", "do not overlap"),
}
_CONTROL = {
    FULL: Word("wrong", "bad", "is wrong, as the control shows", "are wrong, as the control shows"),
    NONE: Word("as it must", "even", "does not overlap, as it must", "do not overlap, as they must"),
}
"""The words for the negative control, which must show no overlap."""


MEMORY = Word("measured", "even", "takes {}", "take {}")


def cells_of(table: pd.DataFrame) -> list[Cell]:
    """A cell for each case and message size of `sync_table`, and for the memory of idle ranks that never send."""
    never = table[table[axes.SEND.name] == axes.SENT_NEVER].drop_duplicates("record")
    return [*_messages(table), *_memory(never)]


def _memory(never: pd.DataFrame) -> Iterator[Cell]:
    place = rows_in(never, "sync_overlap")
    for row in rows_of(never):
        each = float(row["idle_pss_total_bytes"]) / int(row["ranks"])
        yield Cell(
            place(row),
            "memory of an idle rank",
            MEMORY if math.isfinite(each) else CANNOT_TELL,
            (each, math.nan, math.nan),
            words=size,
            measure="memory of an idle rank, read once",
            noun="launch",
            why="the kernel does not tell it",
        )


def _early_or_late(after_wait_ns: float) -> str:
    return f"{duration(abs(after_wait_ns))} {'early' if after_wait_ns < 0 else 'late'}"


def _messages(table: pd.DataFrame) -> list[Cell]:
    asked = table[table["asked"].astype(bool) & (table[axes.SEND.name] != axes.SENT_NEVER)]
    place = rows_in(asked, "sync_overlap")
    found = []
    for row in rows_of(over_launches(asked)):
        words = WORDS if axes.SEND.is_usual(row[axes.SEND.name]) else _CONTROL | {INCOMPLETE: _CONTROL[FULL]}
        reasons = row["unreliable_reasons"]
        found.append(
            Cell(
                place(row),
                column=size(row["message_bytes"]),
                word=words.get(row["outcome"], CANNOT_TELL) if row["reliable"] else CANNOT_TELL,
                estimate=estimate_of(row, "t_after_wait_ns").numbers,
                counted=int(row["reliable"]),
                points=1,
                words=_early_or_late,
                measure=MEASURE,
                noun="message size",
                why=reasons[0].partition(" (")[0] if reasons else "the outcome is not clear",
            )
        )
    return sorted(found, key=lambda cell: cell.row)
