"""The matrix of the family: whether the hybrid variant of each kernel is faster than pure MPI."""

import pandas as pd

from postprocess.drawing.matrix import CANNOT_TELL, Cell, Word
from postprocess.families.hybrid_kernels.verdict import verdicts
from postprocess.families.matrix_rows import rows_in
from postprocess.statistics.control import FASTER, SLOWER

MEASURE = "x: the time of the hybrid variant / of pure MPI"
WORDS = {
    FASTER: Word(FASTER, "good", "takes {} of pure MPI's time", "take {} of pure MPI's time"),
    SLOWER: Word(SLOWER, "bad", "takes {} of pure MPI's time", "take {} of pure MPI's time"),
}


def cells_of(table: pd.DataFrame) -> list[Cell]:
    """A cell for each place and kernel of `kernels_table`."""
    place = rows_in(table, "hybrid_kernels")
    return [
        Cell(
            place(one.row),
            f"{one.kernel} {one.size}",
            WORDS.get(one.to_mpi.verdict, CANNOT_TELL),
            one.to_mpi.found.numbers,
            counted=0 if one.doubt else one.to_mpi.launches,
            points=one.to_mpi.launches,
            unit=" x",
            par=1.0,
            measure=MEASURE,
            noun="kernel",
            why=one.doubt or "the interval, widened by what its control is off, holds 1",
        )
        for one in verdicts(table)
    ]
