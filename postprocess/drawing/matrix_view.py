"""The matrix of a family as a page shows it: each cell with a picture, its word and the number that decided it.

The picture is the cell's small map. A cell without one has its number with the interval, on a line that all cells of
the same measure share, with a mark where nothing is won or lost. It has none where all these numbers read the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from postprocess.drawing.colour import NO_LEVEL, scale_of, tick_classes
from postprocess.drawing.matrix import Cell, Grid, key, notes, remarks, sentences

WIDE = 100
"""The width of the picture of a number, in units of its own."""


@dataclass(frozen=True)
class MapPicture:
    """A small map.  across, up: how many points.

    squares, strokes: pairs of a colour's class and an SVG path, of unit squares and of the strokes through those that
    are not reliable.
    """

    across: int
    up: int
    squares: list[tuple[str, str]]
    strokes: list[tuple[str, str]]


@dataclass(frozen=True)
class NumberPicture:
    """A number with its interval, as places on a line from 0 to WIDE.  par: where nothing is won or lost."""

    value: float
    low: float
    high: float
    par: float


@dataclass(frozen=True)
class CellView:
    """A cell, and its picture; None where it has neither a map nor a number."""

    cell: Cell
    map: MapPicture | None
    number: NumberPicture | None


@dataclass(frozen=True)
class MatrixView:
    """The matrix of a family.  anchor: the place in the page that has all of it.

    sentences: a library, and what it does.  rows: library (empty where it is that of the row above), configuration, a
    cell for each column.  legend: what the colours of the small maps mean, by their classes; empty where there is no
    such map.  key: what the numbers are.  remarks: what else must be known of them.  notes: why cells
    have no result or cannot be told.
    """

    title: str
    anchor: str
    sentences: list[tuple[str, str]]
    columns: list[str]
    rows: list[tuple[str, str, list[CellView | None]]]
    legend: dict[str, str]
    key: str
    remarks: str
    notes: list[str]


def matrix_view(title: str, anchor: str, cells: Sequence[Cell]) -> MatrixView:
    """The matrix of these cells, of which there is at least one."""
    grid, scales = Grid(cells), _scales(cells)
    rows, before = [], ""
    for library, configuration, by_column in grid.rows():
        shown = [_view(cell, scales) if (cell := by_column.get(name)) else None for name in grid.columns]
        rows.append((library if library != before else "", configuration, shown))
        before = library
    told = [sentence.partition(": ") for sentence in sentences(cells)]
    said = [(library, words) for library, _, words in told]
    return MatrixView(title, anchor, said, grid.columns, rows, _legend(cells), key(cells), remarks(cells), notes(cells))


def _legend(cells: Sequence[Cell]) -> dict[str, str]:
    classes = {tile.css for cell in cells for line in cell.tiles for tile in line} - {NO_LEVEL}
    return {name: words for scale in sorted(map(scale_of, classes)) for name, words in tick_classes(scale).items()}


def _view(cell: Cell, scales: dict[str, tuple[float, float]]) -> CellView:
    if cell.tiles:
        return CellView(cell, _map(cell), None)
    if not math.isfinite(cell.value) or cell.measure not in scales:
        return CellView(cell, None, None)
    least, most = scales[cell.measure]
    value, low, high, par = (
        round(WIDE * (number - least) / (most - least), 1) for number in (*_numbers(cell), cell.par)
    )
    return CellView(cell, None, NumberPicture(value, low, high, par))


def _map(cell: Cell) -> MapPicture:
    squares: dict[str, list[str]] = {}
    strokes: dict[str, list[str]] = {}
    for y, line in enumerate(cell.tiles):
        for x, tile in enumerate(line):
            squares.setdefault(tile.css, []).append(f"M{x} {y}h1v1h-1z")
            if not tile.counts:
                strokes.setdefault(tile.css, []).append(f"M{x} {y + 1}l1-1")
    paths = ([(name, "".join(parts)) for name, parts in of.items()] for of in (squares, strokes))
    return MapPicture(len(cell.tiles[0]), len(cell.tiles), *paths)


def _numbers(cell: Cell) -> tuple[float, float, float]:
    """The number and the ends of its interval; the number again where an end is not known."""
    value, *ends = cell.estimate
    low, high = (end if math.isfinite(end) else value for end in ends)
    return value, low, high


def _scales(cells: Sequence[Cell]) -> dict[str, tuple[float, float]]:
    """The least and the largest number of each measure, with par and intervals, where these differ in words."""
    every: dict[str, dict[float, str]] = {}
    for cell in cells:
        if math.isfinite(cell.value):
            numbers = (*_numbers(cell), cell.par)
            every.setdefault(cell.measure, {}).update((number, cell.words(number)) for number in numbers)
    return {measure: (min(words), max(words)) for measure, words in every.items() if len(set(words.values())) > 1}
