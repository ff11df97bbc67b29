"""Tables of points for the terminal and for the report, and the remarks that those of several families share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar
from weakref import ReferenceType, ref

import numpy as np
import pandas as pd

from postprocess.drawing.text import clean, interval, ratio

Made = TypeVar("Made")

OF_MANY = 40
"""The rows that a page shows of a table that it has no room for: enough to see what it has."""


def circumstances(point: Mapping[Any, Any], prefix: str = "") -> list[str]:
    """The remarks that every table makes on a point, reliable or not. `prefix` precedes the names of its columns."""
    return [
        *(["oversubscribed"] if point[f"{prefix}oversubscribed"] else []),
        *(["shared core"] if point[f"{prefix}shared_core"] else []),
        *([] if point[f"{prefix}complete"] else ["incomplete record"]),
    ]


def aligned(heads: Sequence[str], lines: Sequence[Sequence[str]], right: set[int]) -> str:
    """A table of lines of cells under heads, without a final newline. The columns in `right` are flushed right."""
    rows = [list(map(clean, row)) for row in (heads, *lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, as dictionaries of Python's own values. `DataFrame.to_dict` takes longer."""
    names = list(map(str, table.columns))
    values = table.to_numpy(dtype=object)  # all columns of a type at once
    foreign = [
        place
        for place, kind in enumerate(table.dtypes)
        if kind.kind == "O" and any(issubclass(one, np.generic) for one in set(map(type, values[:, place])))
    ]
    rows = values.tolist()
    for row in rows:
        for place in foreign:
            row[place] = _own(row[place])
    return [dict(zip(names, row, strict=True)) for row in rows]


def made_once(make: Callable[[pd.DataFrame], Made]) -> Callable[[pd.DataFrame], Made]:
    """The same function, which makes its result once for each table. Nobody may change the table afterwards."""
    known: dict[int, tuple[ReferenceType[pd.DataFrame], Made]] = {}

    @wraps(make)
    def of_table(table: pd.DataFrame) -> Made:
        place = id(table)
        if place not in known or known[place][0]() is not table:
            known[place] = (ref(table, lambda _: known.pop(place, None)), make(table))
        return known[place][1]

    return of_table


def first_of(rows: pd.DataFrame) -> dict[str, Any]:
    """The first row of a table, as a dictionary of Python's own values."""
    first = rows.iloc[:1].astype(object).iloc[0]
    return dict(zip(map(str, rows.columns), map(_own, first.tolist()), strict=True))


def _own(value: Any) -> Any:
    """Python's own value instead of NumPy's."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Column:
    """A column of a table of points.  cell: the text of a row.  right: whether it is flushed right, as numbers are.
    parts: the remarks of a row; a table of text has their numbers in the place of the cell, and each once below."""

    head: str
    cell: Callable[[Mapping[Any, Any]], str]
    right: bool = False
    parts: Callable[[Mapping[Any, Any]], Sequence[str]] | None = None


def remarked(parts: Callable[[Mapping[Any, Any]], Sequence[str]]) -> Column:
    """The column of the remarks on a row."""
    return Column("remarks", lambda row: "; ".join(parts(row)), parts=parts)


def _numbered(
    parts: Callable[[Mapping[Any, Any]], Sequence[str]], numbers: dict[str, int]
) -> Callable[[Mapping[Any, Any]], str]:
    """Writes the numbers of a row's remarks, which it adds to `numbers`."""
    return lambda row: " ".join(str(numbers.setdefault(remark, len(numbers) + 1)) for remark in parts(row))


def plain(head: str, name: str = "") -> Column:
    """A column of texts. name: that of the table's column, if not the head."""
    return Column(head, lambda row: str(row[name or head]))


def number(head: str, name: str = "", words: Callable[[Any], str] = str) -> Column:
    """A column of numbers. words: writes one."""
    return Column(head, lambda row: words(row[name or head]), right=True)


def estimate(
    head: str, name: str, words: Callable[[float], str] = ratio, *, right: bool = True
) -> tuple[Column, Column]:
    """A column of values, and one of their intervals. right: whether that is flushed right, too."""
    low, high = f"{name}_ci95_low", f"{name}_ci95_high"
    return number(head, name, words), Column("95 %", lambda row: interval(row[low], row[high], words=words), right)


@dataclass(frozen=True)
class Columns:
    """How a table of points is written."""

    columns: tuple[Column, ...]

    @property
    def heads(self) -> list[str]:
        """The heads of its columns."""
        return [column.head for column in self.columns]

    def cells(self, row: Mapping[Any, Any]) -> list[str]:
        """The texts of a row."""
        return [column.cell(row) for column in self.columns]

    def text(self, table: pd.DataFrame) -> str:
        """One line per row, and below them the remarks by their numbers; without a final newline. Empty for an empty
        table."""
        if table.empty:
            return ""
        right = {number for number, column in enumerate(self.columns) if column.right}
        numbers: dict[str, int] = {}
        columns = [replace(one, cell=_numbered(one.parts, numbers)) if one.parts else one for one in self.columns]
        shown = aligned(self.heads, [[one.cell(row) for one in columns] for row in rows_of(table)], right)
        return "\n".join([shown, *(f"  {number}: {clean(remark)}" for remark, number in numbers.items())])

    def view(self, table: pd.DataFrame, most_rows: int) -> PointsView:
        """The table as the template `curves.html` shows it: whole with at most so many rows, else its first OF_MANY."""
        heads = [(column.head, column.right) for column in self.columns]
        shown = table if len(table) <= most_rows else table.head(min(most_rows, OF_MANY))
        return PointsView(heads, list(map(self.cells, rows_of(shown))), len(table))

    def narrow_view(self, table: pd.DataFrame, most_rows: int, leading: int) -> PointsView:
        """The same without columns that are empty, and without those of the first `leading` ones that have the same
        text in all rows: these stand above the table. An interval may stand below its value."""
        full = self.view(table, most_rows)
        texts = [dict.fromkeys(column) for column in zip(*full.rows, strict=True)]
        same = [number for number, of_column in enumerate(texts) if number < leading and len(of_column) == 1]
        kept = [number for number, of_column in enumerate(texts) if number not in same and any(of_column)]
        return PointsView(
            [full.heads[number] for number in kept],
            [[row[number] for number in kept] for row in full.rows],
            full.count,
            [(full.heads[number][0], text) for number in same if (text := next(iter(texts[number])))],
            is_narrow=True,
        )


@dataclass(frozen=True)
class PointsView:
    """A table of points in a page.

    heads: the heads, and whether their columns hold numbers.  rows: at most as many as the page has room for.
    count: how many points there are.  common: heads and texts of columns that would be the same in all rows.
    is_narrow: its texts may be divided into lines.
    """

    heads: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[str]]
    count: int
    common: Sequence[tuple[str, str]] = ()
    is_narrow: bool = False
