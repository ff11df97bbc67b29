"""The matrix of the family: for each collective, whether a library overlaps as it comes, and what a user gains by
another configuration.

As it comes the number is r_overhead, and the word is the verdict of `summary`. In any other configuration the number is
how many times as fast as the library as it comes the work is done; where a core was given up, by the work done. The
library gains, or is slower, where the interval of that lies on one side of 1, and the number is off 1 by at least the
least ratio that matters. It gains nothing where it surely gains less than that. It cannot be told where the verdict of
`summary` would have a question mark: then no number is shown, since too few points count for one.
"""

import math
from collections.abc import Iterator

from postprocess.drawing.colour import level_class
from postprocess.drawing.matrix import BY_RESULT, CANNOT_TELL, UNKNOWN, Cell, Row, Tile, Word
from postprocess.families.family import Found
from postprocess.families.matrix_rows import NOTES, rows_in
from postprocess.families.nbc_overlap import summary
from postprocess.families.nbc_overlap.diagnosis import BASIC_FAILED, is_reference
from postprocess.families.nbc_overlap.maps import METRICS, map_anchor
from postprocess.families.nbc_overlap.summary import Summary, place_of, summaries_of
from postprocess.statistics.limits import LEAST_RATIO
from postprocess.statistics.metrics import Estimate

OVERHEAD = "r_overhead of the median point (0: all is hidden, 1: nothing)"
SPEED_UP = "x: times as fast as the library as it comes"
GAINS = Word("gains", "good", "runs {} times as fast as without", "run {} times as fast as without")
NO_GAIN = Word("gains nothing", "even", "gains nothing", "gain nothing")
SLOWER = Word("slower", "bad", "runs {} times as fast as without", "run {} times as fast as without")
WORDS = {
    summary.OVERLAPS: Word(summary.OVERLAPS, "good", "overlaps", "overlap"),
    summary.PARTLY: Word(summary.PARTLY, "even", "partly overlaps", "partly overlap"),
    summary.SERIALISES: Word(summary.SERIALISES, "bad", "serialises", "serialise"),
    summary.SLOWER: Word(summary.SLOWER, "bad", "is slower than serialised", "are slower than serialised"),
    summary.MIXED: Word(summary.MIXED, "even", "is mixed", "are mixed"),
    summary.CANNOT_TELL: CANNOT_TELL,
}
MOVED = "already alone, computing or communicating takes more or less time than with the library as it comes"
_IN_WORDS = {"reference moved": MOVED, "shared core": NOTES["shared_core"]}
_LEFT_TO_COUNTS = ("left out", "few points reliable")
"""The beginnings of notes that the counts of a cell say."""


def cells_of(found: Found) -> list[Cell]:
    """A cell for each case of a run."""
    rows = rows_in(found.table, "nbc_overlap")
    return [_cell(one, rows(one.case)) for one in summaries_of(found)]


def _cell(one: Summary, row: Row) -> Cell:
    is_basic = is_reference(one.case)
    number = one.overhead if is_basic else one.gained
    word = CANNOT_TELL if not one.is_sure else WORDS[one.verdict] if is_basic else gained(number)
    if not one.able and any(note.startswith("failed: ") for note in one.notes):
        word = BY_RESULT["fail"]
    return Cell(
        row,
        column=str(one.case["collective"]),
        word=word,
        estimate=number.numbers if one.is_sure else UNKNOWN,
        counted=len(one.counting),
        points=one.points,
        unit="" if is_basic else " x",
        par=0.0 if is_basic else 1.0,
        measure=OVERHEAD if is_basic else SPEED_UP,
        noun="collective",
        why=_why(one),
        notes=tuple(_notes(one)),
        tiles=tiles_of(one),
        anchor=map_anchor(str(one.rows[0]["record"]), str(one.case["collective"])),
    )


def tiles_of(one: Summary) -> tuple[tuple[Tile, ...], ...]:
    """The map of r_overhead, against basic's references where the case is not `basic`: communication time grows to the
    right, computation time upwards."""
    metric = METRICS["r_overhead" if is_reference(one.case) else "r_overhead_vs_basic"]
    rows = {place_of(row): row for row in one.rows}
    comps, comms = (sorted({place[axis] for place in rows}) for axis in (0, 1))

    def tile(comp: int, comm: int) -> Tile:
        row = rows.get((comp, comm))
        able = row is not None and row["valid"] and not row["failed"]
        value = float(row[metric.name]) if row is not None and able else math.nan
        return Tile(level_class(metric.scale, value), (comp, comm) in one.counting)

    return tuple(tuple(tile(comp, comm) for comm in comms) for comp in reversed(comps))


def gained(speed_up: Estimate) -> Word:
    """The word for a speed-up."""
    value, low, high = speed_up.numbers
    if low > 1 and value >= 1 + LEAST_RATIO:
        return GAINS
    if high < 1 and value <= 1 / (1 + LEAST_RATIO):
        return SLOWER
    return NO_GAIN if high < 1 + LEAST_RATIO else CANNOT_TELL


def _why(one: Summary) -> str:
    """Why a case cannot be told, as far as the numbers do not say it."""
    failed = [note for note in one.notes if note.startswith("failed: ") or BASIC_FAILED in note]
    if not one.able:
        return failed[0].removeprefix("failed: ") if failed else one.because
    if one.together and not one.by_launch:
        return "less than half of the points are reliable, and launches are too few"
    return "too few points have a basic to compare with" if not one.is_sure else "the interval holds both answers"


def _notes(one: Summary) -> Iterator[str]:
    for note in one.notes:
        if not note.startswith((*_LEFT_TO_COUNTS, "failed: ")) and BASIC_FAILED not in note:
            yield _IN_WORDS.get(words := note.partition(" at ")[0], words)
