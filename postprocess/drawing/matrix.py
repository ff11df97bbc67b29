"""The matrix of a family in a run: rows are libraries in their configurations, columns what was measured; each cell has
one word, the one number that decided it, with its interval, and how many points counted.

All of it is made from cells alone: the text for a window, a sentence for each library, and the notes.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import Literal, NamedTuple, TypeAlias

from postprocess.drawing.text import clean, first_of, interval, plural, ratio

State: TypeAlias = Literal["good", "even", "bad", "unknown"]
"""What a word means for a user. It is the class of a cell in a page, and its colour in a terminal."""
STATES: Sequence[State] = ("good", "even", "bad", "unknown")
Paint: TypeAlias = Callable[[str, State], str]
"""Colours a text."""
Halves: TypeAlias = Callable[[str, str], str]
"""Draws two tiles, one above the other, as one character: from the classes of their colours. The lower one may be
empty."""


class Row(NamedTuple):
    """A row of the matrix.  configuration: in words: ``as it comes``, ``progress thread``."""

    library: str
    network: str
    configuration: str


CONFIGURATIONS: Mapping[str, str] = {
    "basic": "as it comes",
    "async": "progress thread",
    "dedicated": "dedicated core",
    "apphelper": "helper thread",
    "dedicated_unbound": "unbound progress thread",
    "basic_reduced": "one core fewer",
}
"""The configurations as a user would say, in the order of their rows. Another one has its own name, and comes last."""
AS_IT_COMES = CONFIGURATIONS["basic"]
Place: TypeAlias = tuple[Row, str]
"""A row, and a column."""
UNKNOWN = (math.nan, math.nan, math.nan)


class Word(NamedTuple):
    """The word of a cell.

    one, many: what one thing, or several, do, for a sentence: ``serialises`` and ``serialise``. `{}` stands for the
    numbers; without it these follow in brackets.
    """

    text: str
    state: State
    one: str
    many: str


CANNOT_TELL = Word("cannot tell", "unknown", "cannot be told", "cannot be told")
NOT_MEASURED = Word("not measured", "unknown", "was not measured", "were not measured")
BY_RESULT = {
    "fail": Word("failed", "bad", "failed", "failed"),
    "skip": Word("skipped", "unknown", "was skipped", "were skipped"),
    "missing": Word("missing", "unknown", "is missing", "are missing"),
}
"""The words for cases without a result, by the result in the manifest."""


class Tile(NamedTuple):
    """A point in the small map of a cell.  css: the class of its colour.  counts: whether the number rests on it."""

    css: str
    counts: bool


@dataclass(frozen=True)
class Cell:
    """What a library did in a configuration.

    column: what was measured.
    estimate: the number that decided the word, and the ends of its 95 % interval; NaN where they are not known.
    words, unit: write it.  measure: what the number is.  par: the number at which nothing is won or lost.
    counted: how many of `points` points the number rests on.
    noun: what a column is, for sentences: ``collective``.
    why: the evidence in a line.  notes: what else a reader must know; the same note of several cells is shown once.
    tiles: its points as a small map, the uppermost line first.  anchor: the place in the report that has all of it.
    """

    row: Row
    column: str
    word: Word
    estimate: tuple[float, float, float] = UNKNOWN
    counted: int = 0
    points: int = 0
    words: Callable[[float], str] = ratio
    unit: str = ""
    measure: str = ""
    noun: str = "case"
    why: str = ""
    notes: tuple[str, ...] = ()
    par: float = 0.0
    tiles: tuple[tuple[Tile, ...], ...] = ()
    anchor: str = ""

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.row, self.column

    @property
    def value(self) -> float:
        """The number that decided the word."""
        return self.estimate[0]

    @property
    def number(self) -> str:
        """The number with its unit: ``1.23 x``; empty where it is not known."""
        return f"{self.words(self.value)}{self.unit}" if math.isfinite(self.value) else ""

    @property
    def validity(self) -> str:
        """The interval, and how many points counted of how many: ``[1.19, 1.27] 5/9``."""
        known = interval(*self.estimate[1:], words=self.words) if self.number else "-"
        counts = f"{self.counted}/{self.points}" if self.points else ""
        return f"{known.strip('-')} {counts}".strip()


def matrix_text(
    cells: Sequence[Cell], width: int, paint: Paint = lambda text, _state: text, halves: Halves | None = None
) -> list[str]:
    """The matrix in lines of at most `width` characters, in blocks of columns where they do not fit; a cell has one
    line where all columns fit beside each other so, else two.

    halves: draws the small maps; None where they are not drawn.
    """
    grid = Grid(cells, halves)
    one_line = not any(grid.across.values()) and grid.width(grid.in_one_line, grid.columns) <= width
    shown = grid.in_one_line if one_line else grid.in_two_lines
    found: list[str] = []
    for columns in grid.blocks(shown, width):
        found += ["", *grid.lines(shown, columns, paint)] if found else grid.lines(shown, columns, paint)
    return found


_GAP = 2


class Grid:
    """Cells by their rows and columns. Where several are at one place, the row stands there as often. A row in which
    all was skipped is left out, if another one is there. Rows name a network that is not the usual one.

    columns: their names.  across: of each column, how many characters its small maps are wide; 0 where none is drawn.
    """

    def __init__(self, every: Sequence[Cell], halves: Halves | None = None) -> None:
        told = {cell.row for cell in every if cell.word != BY_RESULT["skip"]}
        cells = [cell for cell in every if cell.row in told] or every
        self._usual_network = usual_network(every)
        self._halves = halves
        self.columns = list(dict.fromkeys(cell.column for cell in cells))
        self.across = {
            name: max(len(line) for one in cells if one.column == name for line in one.tiles or ((),)) if halves else 0
            for name in self.columns
        }
        self._rows: dict[Row, dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
        for cell in cells:
            self._rows[cell.row][cell.column].append(cell)
        self.label = max((max(len(library), len(words) + _GAP) for library, words, _ in self.rows()), default=0)

    def rows(self) -> Iterator[tuple[str, str, dict[str, Cell]]]:
        """Yield library, configuration, and the cells by column."""
        for row in sorted(self._rows, key=lambda row: (row.library, _rank(row))):
            network = "" if row.network == self._usual_network else f", {row.network}"
            by_column = self._rows[row]
            for layer in range(max(map(len, by_column.values()))):
                cells = {name: each[layer] for name, each in by_column.items() if layer < len(each)}
                yield clean(row.library), clean(f"{row.configuration}{network}"), cells

    @staticmethod
    def in_two_lines(cell: Cell | None) -> list[str]:
        """The word and its number; below, interval and counts."""
        if cell is None:
            return [NOT_MEASURED.text, ""]
        return [f"{cell.word.text} {cell.number}".strip(), cell.validity]

    @staticmethod
    def in_one_line(cell: Cell | None) -> list[str]:
        return [" ".join(filter(None, Grid.in_two_lines(cell)))]

    def _width(self, shown: Callable[[Cell | None], list[str]], column: str) -> int:
        texts = [text for *_, cells in self.rows() for text in shown(cells.get(column))]
        picture = self.across[column] + bool(self.across[column])
        return max(len(clean(column)), *(picture + len(text) for text in texts)) + _GAP

    def width(self, shown: Callable[[Cell | None], list[str]], columns: Sequence[str]) -> int:
        """How wide the lines of these columns are."""
        return self.label + sum(self._width(shown, column) for column in columns)

    def blocks(self, shown: Callable[[Cell | None], list[str]], width: int) -> Iterator[list[str]]:
        """Yield columns that fit beside each other, at least one."""
        block: list[str] = []
        for column in self.columns:
            if block and self.width(shown, [*block, column]) > width:
                yield block
                block = []
            block.append(column)
        if block:
            yield block

    def lines(self, shown: Callable[[Cell | None], list[str]], columns: Sequence[str], paint: Paint) -> list[str]:
        """The lines of a block: heads, then each library with its configurations."""
        widths = {column: self._width(shown, column) for column in columns}
        heads = "".join(f"{' ' * _GAP}{clean(column)}".ljust(widths[column]) for column in columns)
        found, before = [f"{'':{self.label}}{heads}".rstrip()], ""
        for library, words, cells in self.rows():
            found += [library] if library != before else []
            before = library
            parts = [self._cell(cells.get(one), shown, one, paint) for one in columns]
            for line in range(max(map(len, parts))):
                texts = (
                    f"{' ' * _GAP}{part[line][1]}{' ' * (widths[one] - _GAP - part[line][0])}"
                    if line < len(part)
                    else " " * widths[one]
                    for one, part in zip(columns, parts, strict=True)
                )
                label = f"{' ' * _GAP}{words}" * (line == 0)
                found.append(f"{label:{self.label}}{''.join(texts)}".rstrip())
        return found

    def _cell(
        self, cell: Cell | None, shown: Callable[[Cell | None], list[str]], column: str, paint: Paint
    ) -> list[tuple[int, str]]:
        """The lines of a cell, each with its length as it is seen: its small map, and beside it what is said."""
        word, wide = cell.word if cell else NOT_MEASURED, self.across[column]
        first, *others = (text for text in shown(cell) if text)
        said = [(len(first), f"{paint(word.text, word.state)}{first[len(word.text) :]}")]
        said += [(len(text), text) for text in others]
        if not wide:
            return said
        maps, found = self._map(cell, wide), []
        for line in range(max(len(maps), len(said))):
            drawn = maps[line] if line < len(maps) else " " * wide
            length, text = said[line] if line < len(said) else (0, "")
            found.append((wide + 1 + length, f"{drawn} {text}"))
        return found

    def _map(self, cell: Cell | None, wide: int) -> list[str]:
        """The small map of a cell, of which each line has two lines of points."""
        if cell is None or not cell.tiles or self._halves is None:
            return []
        nothing, padding = (Tile("", True),) * wide, " " * (wide - len(cell.tiles[0]))
        pairs = zip_longest(cell.tiles[::2], cell.tiles[1::2], fillvalue=nothing)
        return [
            "".join(self._halves(up.css, low.css) for up, low in zip(*pair, strict=False)) + padding for pair in pairs
        ]


def _rank(row: Row) -> int:
    """The place of a row among those of its library."""
    known = [number for number, words in enumerate(CONFIGURATIONS.values()) if row.configuration.startswith(words)]
    return known[0] if known else len(CONFIGURATIONS)


def usual_network(cells: Sequence[Cell]) -> str:
    """The network of most cells, which rows and sentences need not name."""
    networks = Counter(cell.row.network for cell in cells)
    return networks.most_common(1)[0][0] if networks else ""


def sentences(cells: Sequence[Cell]) -> list[str]:
    """A sentence for each library: how many of its columns do what, in each configuration, and by how much. Then what
    holds of all of them: what was skipped, and the network where none is named."""
    usual = usual_network(cells)
    by_library: dict[str, dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in sorted(cells, key=lambda one: _rank(one.row)):
        by_library[cell.row.library][_row_words(cell.row, usual)].append(cell)
    told = {library: _told_rows(by_row) for library, by_row in sorted(by_library.items())}
    skipped = {library: _skipped_words(by_row) for library, by_row in by_library.items()}
    for_all = skipped[next(iter(told))] if len(set(skipped.values())) == 1 < len(told) and all(told.values()) else ""
    own = {library: [f"skipped: {words}"] if words and not for_all else [] for library, words in skipped.items()}
    found = [f"{library}: {'; '.join([*rows, *own[library]])}" for library, rows in told.items()]
    found += [f"skipped for all: {for_all}"] if for_all else []
    found += [f"where no network is named: {usual}"] if any(cell.row.network != usual for cell in cells) else []
    return [clean(sentence) for sentence in found]


def _skipped_words(by_row: Mapping[str, list[Cell]]) -> str:
    return ", ".join(where for where, row in by_row.items() if all(cell.word == BY_RESULT["skip"] for cell in row))


def _row_words(row: Row, usual: str) -> str:
    first, _, more = row.configuration.partition(", ")
    where = f"{'' if first == AS_IT_COMES else 'with '}{first}{f' ({more})' * bool(more)}"
    return where if row.network == usual else f"{where} over {row.network}"


def _told_rows(by_row: Mapping[str, list[Cell]]) -> list[str]:
    """What each row does that was not skipped, those together that have one cell and do the same."""
    alike: dict[object, tuple[list[str], list[Cell]]] = {}
    for where, row in by_row.items():
        if all(cell.word == BY_RESULT["skip"] for cell in row):
            continue
        places, same = alike.setdefault((row[0].column, row[0].word) if len(row) == 1 else where, ([], []))
        places.append(where)
        same += row
    return [f"{first_of(places, MOST_ALIKE)}, {_of_row(same)}" for places, same in alike.values()]


def _of_row(row: Sequence[Cell]) -> str:
    """What the cells of a row do, things of one kind after those of another."""
    nouns = dict.fromkeys(cell.noun for cell in row)
    return ", ".join(_of_things([cell for cell in row if cell.noun == noun]) for noun in nouns)


def _of_things(things: Sequence[Cell]) -> str:
    by_word: dict[Word, list[Cell]] = defaultdict(list)
    for cell in sorted(things, key=lambda one: STATES.index(one.word.state)):
        by_word[cell.word].append(cell)
    told = (_of_word(word, same, things, first=not place) for place, (word, same) in enumerate(by_word.items()))
    return ", ".join(told)


def _of_word(word: Word, same: Sequence[Cell], row: Sequence[Cell], *, first: bool) -> str:
    """How many cells of a row have a word, and their numbers."""
    count, of_all = len(same), len(row)
    does = word.one if len({cell.column for cell in same}) == 1 else word.many
    numbers = _range(same) if word.state != "unknown" else ""
    does = does.replace("{}", numbers) if "{}" in does else f"{does} ({numbers}{same[0].unit})" if numbers else does
    if len({cell.column for cell in row}) == 1:
        return f"{same[0].column or 'it'} {does}"
    if count == of_all:
        every = f"both {same[0].noun}s" if count == 2 else f"all {plural(count, same[0].noun)}"
        return f"nothing can be told of {plural(count, same[0].noun)}" if word == CANNOT_TELL else (
            f"{every} {does}"
        )  # fmt: skip
    return f"{count} of {plural(of_all, same[0].noun)} {does}" if first else f"{count} {does}"


def _range(same: Sequence[Cell]) -> str:
    """From the least to the largest number, without the unit; once where they are the same in words."""
    known = sorted((cell for cell in same if math.isfinite(cell.value)), key=lambda cell: cell.value)
    ends = dict.fromkeys(one.words(one.value) for one in (known[0], known[-1])) if known else {}
    return " to ".join(ends)


def key(cells: Sequence[Cell]) -> str:
    """What the numbers are; empty where there are none."""
    measures = "; ".join(dict.fromkeys(cell.measure for cell in _in_order(cells) if cell.measure))
    known = "[95 % interval]" if any(math.isfinite(cell.estimate[1]) for cell in cells) else ""
    counts = "points that count / all" if any(cell.points for cell in cells) else ""
    return f"numbers: {'; '.join(filter(None, [measures, ', '.join(filter(None, [known, counts]))]))}" * bool(measures)


def remarks(cells: Sequence[Cell]) -> str:
    """What else must be known of the numbers, such as that cores were oversubscribed; empty where there is nothing."""
    return "; ".join(_each_told([(cell, note) for cell in cells for note in cell.notes], cells))


def notes(cells: Sequence[Cell]) -> list[str]:
    """Why cells have no result or cannot be told: each reason once."""
    why = [(cell, f"{cell.word.text}: {cell.why}") for cell in cells if cell.word.state == "unknown" and cell.why]
    why += [(cell, f"failed: {cell.why}") for cell in cells if cell.word == BY_RESULT["fail"] and cell.why]
    return _each_told(why, cells)


def _in_order(cells: Sequence[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: _rank(cell.row))


def _each_told(noted: Iterable[tuple[Cell, str]], cells: Sequence[Cell]) -> list[str]:
    """Each note once, in words that say where it holds."""
    by_note: dict[str, list[tuple[str, Cell]]] = defaultdict(list)
    for cell, note in noted:
        by_note[re.sub(r"[\d.]+", "", note)].append((note, cell))
    return [_told(each, cells) for each in by_note.values()]


def _told(each: Sequence[tuple[str, Cell]], cells: Sequence[Cell]) -> str:
    """Notes that differ in their numbers alone, in a line."""
    of_note = list({id(cell): cell for _, cell in each}.values())
    like = " or so" * (len({note for note, _ in each}) > 1)
    return clean(f"{each[0][0]}{like} ({_where(of_note, cells)})")


def _where(of_note: Sequence[Cell], cells: Sequence[Cell]) -> str:
    """Which cells have a note: all, those of libraries or configurations as a whole, or named while they are few."""
    if len(of_note) == len(cells) > 1:
        return "everywhere"
    for names in (("library",), ("configuration",), ("library", "configuration")):
        whole = {tuple(getattr(cell.row, name) for name in names) for cell in of_note}
        if len(whole) <= MOST_ROWS and len(of_note) == sum(
            tuple(getattr(cell.row, name) for name in names) in whole for cell in cells
        ):
            return "; ".join(dict.fromkeys(" ".join(words) for words in sorted(whole)))
    if len(of_note) > MOST_NAMED:
        return f"{len(of_note)} of {plural(sum(cell.word != BY_RESULT['skip'] for cell in cells), 'cell')}"
    return "; ".join(f"{cell.row.library} {cell.row.configuration} {cell.column}" for cell in of_note)


MOST_ALIKE = 5
"""The most configurations that a sentence names of which it says the same."""
MOST_ROWS = 3
"""The most libraries or configurations that a note names."""
MOST_NAMED = 1
"""The most cells that a note names."""


def wrapped(lines: Iterable[str], width: int) -> list[str]:
    """Sentences in lines of at most this width; what follows the first line of each is indented."""
    return [
        part for line in lines for part in wrap(line, width, subsequent_indent="  ", break_on_hyphens=False) or [""]
    ]
