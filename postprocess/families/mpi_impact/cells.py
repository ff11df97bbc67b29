"""The matrix of the family: what an idle library costs a computation, at the time of figure 9 or the nearest one."""

import pandas as pd

from postprocess.drawing.columns import first_of
from postprocess.drawing.matrix import CANNOT_TELL, Cell, Word
from postprocess.drawing.text import duration
from postprocess.families.matrix_rows import NOTES, rows_in
from postprocess.families.mpi_impact.table import CASE, highlighted, verdict
from postprocess.families.sampled_table import columns_of_estimates
from postprocess.records.header import NAMED
from postprocess.statistics.launches import of_rows

MEASURE = "r_mpi_impact, x: the time of a computation beside an idle library / without one"
WORDS = {
    "slower": Word("slower", "bad", "takes {} times as long", "take {} times as long"),
    "no": Word("no slowdown", "good", "is not slowed down", "are not slowed down"),
    "faster": Word("disturbed", "unknown", "was disturbed", "were disturbed"),
}
"""The words by the first one of `table.verdict`."""


def cells_of(table: pd.DataFrame) -> list[Cell]:
    """A cell for each case of `impact_table`, over its repeats."""
    rows = rows_in(table, "mpi_impact")
    case = [*(name for name in CASE if name != "repeat"), NAMED]
    found = []
    for _, each in highlighted(table).groupby(case, sort=False):
        good = each[each["reliable"].astype(bool)]
        number = of_rows(good, "r_mpi_impact")
        row = first_of(each) | columns_of_estimates({"r_mpi_impact": number}) | {"reliable": len(good) > 0}
        told = verdict(row)
        reasons = [reason for one in each["unreliable_reasons"] for reason in one]
        found.append(
            Cell(
                rows(row),
                column=f"computing {duration(row['comp_target_ns'])}",
                word=WORDS.get(told.split()[0], CANNOT_TELL),
                estimate=number.numbers,
                counted=len(good),
                points=len(each),
                unit=" x",
                par=1.0,
                measure=MEASURE,
                noun="time",
                why=reasons[0] if reasons else told,
                notes=tuple(words for name, words in NOTES.items() if each[name].any()),
            )
        )
    return found
