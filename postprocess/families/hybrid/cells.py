"""The matrix of the family: which targets of the hybrid library each collective reaches."""

import pandas as pd

from postprocess.drawing.columns import first_of, rows_of
from postprocess.drawing.matrix import CANNOT_TELL, UNKNOWN, Cell, Word
from postprocess.families.hybrid.claims import HOLDS, MISSED, cases, of_claims, short_words
from postprocess.families.matrix_rows import rows_in

MEASURE = "the largest ratio of times, hybrid / library or the paper's own method"
WORDS = {
    HOLDS: Word(HOLDS, "good", "holds", "hold"),
    MISSED: Word(MISSED, "bad", "is missed", "are missed"),
}


def cells_of(table: pd.DataFrame) -> list[Cell]:
    """A cell for each case, collective and target of `hybrid_table`."""
    place = rows_in(table, "hybrid")
    found = []
    for points in cases(table):
        every, where = rows_of(points), place(first_of(points))
        for one in of_claims("", every):
            word = WORDS.get(one["verdict"], CANNOT_TELL)
            ratio = (one["ratio"], one["ratio_ci95_low"], one["ratio_ci95_high"])
            # What lacks other points would have a number that seems to tell it.
            is_told = word != CANNOT_TELL or ratio[1] <= one["bound"] <= ratio[2]
            found.append(
                Cell(
                    where,
                    column=f"{one['operation']}, {one['kind']}",
                    word=word,
                    estimate=ratio if is_told else UNKNOWN,
                    counted=one["counted"],
                    points=one["points"],
                    unit=" x",
                    par=1.0,
                    measure=MEASURE,
                    noun="target",
                    why=short_words(one),
                )
            )
    return found
