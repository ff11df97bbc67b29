"""The rows of the matrix of a family: libraries in their configurations, in words that say what a user does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from postprocess.drawing.matrix import BY_RESULT, CONFIGURATIONS, Cell, Place, Row
from postprocess.drawing.text import short
from postprocess.families import axes
from postprocess.families.family import Axis
from postprocess.records.fields import Json
from postprocess.records.run import is_as_asked

if TYPE_CHECKING:
    import pandas as pd

NOTES = {
    "oversubscribed": "oversubscribed",
    "shared_core": "the library's thread may run on the cores that compute",
}
"""What a reader of a cell must know where the column is true in one of its rows."""
ROW = frozenset(("toolchain", "network", "configuration"))
"""The columns of a table, and fields of a case, that a row is made of at least."""
COLUMNS = (axes.COLLECTIVE, axes.OPERATION)
"""The axes of cases that are columns of a matrix by themselves."""
_NOT_IN_ROWS = (*COLUMNS, axes.APPROACH, axes.GRID_POINTS, axes.UNKNOWNS, axes.INTRANODE)
"""Axes that are columns, or over which a cell is."""
_IF_DIFFERENT = (axes.PROVIDER, axes.NODES, axes.RANKS)


def row_of(row: Mapping[Any, Any], family: str, different: Iterable[Axis] = ()) -> Row:
    """The row of the matrix of a row of a table or a case of a manifest.

    different: axes that are named, too.
    """
    name, own = str(row["configuration"]), (axes.NODE_SET, axes.NAMED_CORES, *axes.PARAMETERS.get(family, ()))
    in_row = [axis for axis in own if axis not in _NOT_IN_ROWS]
    also = "".join(f", {axis.words(row[axis.name])}" for axis in different)
    words = f"{CONFIGURATIONS.get(name, name)}{axes.unusual_words(row, in_row)}{also}"
    return Row(str(row["toolchain"]), str(row["network"]), words)


def rows_in(table: pd.DataFrame, family: str) -> Callable[[Mapping[Any, Any]], Row]:
    """`row_of` for the rows of a table, which names what else its rows differ in."""
    different = [axis for axis in _IF_DIFFERENT if axis.name in table and table[axis.name].nunique() > 1]
    return lambda row: row_of(row, family, different)


def with_cases(cells: Sequence[Cell], cases: Iterable[Json], family: str) -> tuple[list[Cell], list[Json]]:
    """The cells, with those of cases of a manifest that have no result; and those of these cases that have no cell.

    Such a cell replaces what a record left at its place, unless another launch was measured there. A case that is of
    no column in particular has cells where its row has none.
    """
    columns = list(dict.fromkeys(cell.column for cell in cells)) or [""]
    rows = {cell.row for cell in cells}
    every = [(case, *_places_of(case, columns, family)) for case in cases]
    measured = {place for case, _, places in every if is_as_asked(case) for place in places}
    found, untold = list(cells), []
    noun = cells[0].noun if cells else "case"
    for case, is_of_all, places in every:
        if is_as_asked(case):
            continue
        new = {place for place in places if place not in measured and not (is_of_all and place[0] in rows)}
        found = [cell for cell in found if cell.place not in new]
        why = short(case.get("reason") or "no reason was given")
        found += [Cell(*place, BY_RESULT[case["result"]], noun=noun, why=why) for place in places if place in new]
        untold += [] if new else [case]
    return found, untold


def _places_of(case: Json, columns: Sequence[str], family: str) -> tuple[bool, list[Place]]:
    """Whether a case is of every column, and where it stands."""
    numbers = {axis.name for axis in axes.UNUSUAL if axis.kind != "text"}
    sound = {name: value for name, value in case.items() if name not in numbers or isinstance(value, int | float)}
    row = row_of(sound, family)
    own = next((str(case[axis.name]) for axis in COLUMNS if case.get(axis.name)), "")
    named = [column for column in columns if column == own or column.startswith(f"{own},")] or [own]
    return not own, [(row, column) for column in (named if own else columns)]
