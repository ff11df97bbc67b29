"""The matrix of the family: the overlap that other benchmarks print for each collective. They print no interval and no
verdict, so none is shown."""

import math
from collections.abc import Iterator

import pandas as pd

from postprocess.drawing.columns import first_of
from postprocess.drawing.matrix import BY_RESULT, CANNOT_TELL, Cell, Word
from postprocess.families.matrix_rows import rows_in

MEASURE = "overlap in per cent as the program prints it, the median over its message sizes"
SAYS = Word("says", "even", "has {} % overlap, as it prints", "have {} % overlap, as it prints")


def cells_of(table: pd.DataFrame) -> list[Cell]:
    """A cell for each program, case and collective of `peers_table`."""
    return list(_cells(table))


def _cells(table: pd.DataFrame) -> Iterator[Cell]:
    place = rows_in(table, "peers")
    case = ["toolchain", "provider", "network", "configuration", "collective", "benchmark"]
    for _, rows in table.groupby(case, sort=False):
        first = first_of(rows)
        printed = rows[(rows["peer_failed"] == "") & rows["peer_overlap_percent"].notna()]
        failed = next((words for words in rows["peer_failed"] if words), "")
        yield Cell(
            place(first),
            column=f"{first['collective']}, {first['benchmark']}",
            word=SAYS if len(printed) else BY_RESULT["fail"] if failed else CANNOT_TELL,
            estimate=(float(printed["peer_overlap_percent"].median()), math.nan, math.nan),
            counted=len(printed),
            points=len(rows),
            words="{:.0f}".format,
            unit=" %",
            measure=MEASURE,
            noun="collective",
            why=failed or next((words for words in rows["peer_reason"] if words), ""),
        )
