"""The matrix of the family: whether programming for overlap pays, for each grid and number of unknowns."""

import pandas as pd

from postprocess.drawing.matrix import CANNOT_TELL, UNKNOWN, Cell, Word
from postprocess.drawing.text import percent_with_decimal, plural
from postprocess.families.matrix_rows import row_of
from postprocess.families.transfer_overlap.table import points_text
from postprocess.families.transfer_overlap.verdict import NOT, PAYS, Verdict, verdicts

MEASURE = "the share of a solve's time that the best version with overlap saves"
WORDS = {
    PAYS: Word(PAYS, "good", "gains {} by overlap", "gain {} by overlap"),
    NOT: Word(NOT, "even", "gains nothing by overlap", "gain nothing by overlap"),
}


def cells_of(table: pd.DataFrame) -> list[Cell]:
    """A cell for each application of `transfer_table`."""
    return [_cell(one) for one in verdicts(table)]


def _cell(one: Verdict) -> Cell:
    points, unknowns = one.values["grid_points"], int(one.values["unknowns"])
    bad, of_all, _ = one.unreliable
    return Cell(
        row_of(one.values, "transfer_overlap"),
        f"{points_text(points)} points x {plural(unknowns, 'unknown')}",
        WORDS.get(one.outcome, CANNOT_TELL),
        one.deciding.improvement.numbers if one.deciding else UNKNOWN,
        counted=of_all - bad,
        points=of_all,
        words=percent_with_decimal,
        measure=MEASURE,
        noun="application",
        why=one.disturbed or ("the interval holds both answers" if one.versions else "no point is reliable"),
        notes=("the reference drifts over the versions: what each brings stands, which brings most does not",)
        * bool(one.drifts),
    )
