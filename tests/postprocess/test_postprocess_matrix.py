"""The matrix of a run: its sentences, its text and its notes, of cells and of runs whose answer is known."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from postprocess.drawing.matrix import (
    BY_RESULT,
    CANNOT_TELL,
    Cell,
    Row,
    Tile,
    Word,
    matrix_text,
    notes,
    remarks,
    sentences,
)
from postprocess.drawing.matrix_view import matrix_view
from postprocess.families import registry
from postprocess.records.run import load_run
from tests.postprocess import synthetic
from tests.postprocess.synthetic import NOISY, PERFECT, SERIALISED, Behaviour, sweep

GAINS = Word("gains", "good", "runs {} times as fast as without", "run {} times as fast as without")
SERIALISES = Word("serialises", "bad", "serialises", "serialise")
OVERLAPS = Word("overlaps", "good", "overlaps", "overlap")
BASIC, ASYNC = Row("openmpi@5.0.11", "shm", "as it comes"), Row("openmpi@5.0.11", "shm", "progress thread")
NAMES = ("ibcast", "ireduce", "iallgather", "ialltoall")


def cells(row: Row, *words: tuple[Word, float], names: Sequence[str] = NAMES, unit: str = "") -> list[Cell]:
    return [
        Cell(
            row,
            name,
            word,
            (value, value - 0.01, value + 0.01),
            8,
            9,
            unit=unit,
            noun="collective",
            par=float(bool(unit)),
        )
        for name, (word, value) in zip(names, words, strict=False)
    ]


def known(name: str) -> list[Cell]:
    """Cells by what is planted in them."""
    failed, missing = BY_RESULT["fail"], BY_RESULT["missing"]
    mixed = ((GAINS, 1.35), (CANNOT_TELL, 1.1), (GAINS, 1.2), (CANNOT_TELL, 0.9))
    planted = {
        "all": cells(BASIC, *[(OVERLAPS, value) for value in (0.01, 0.02, 0.02, 0.03)]),
        "none": cells(BASIC, *[(SERIALISES, 0.98)] * 4),
        "mixed": [*cells(BASIC, *[(SERIALISES, 0.98)] * 4), *cells(ASYNC, *mixed, unit=" x")],
        "unreliable": cells(BASIC, *[(CANNOT_TELL, 0.5)] * 4),
        "one failed": cells(BASIC, *[(failed, math.nan)] * 4),
        "one missing": cells(BASIC, *[(SERIALISES, 0.98)] * 3, (missing, math.nan)),
        "alike": [*cells(BASIC, (SERIALISES, 0.98)), *cells(ASYNC, (SERIALISES, 1.02))],
        "1": cells(BASIC, (SERIALISES, 0.98)),
        "40": cells(BASIC, *[(SERIALISES, 0.98)] * 39, (OVERLAPS, 0.1), names=[f"c{number}" for number in range(40)]),
    }
    return planted[name]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("all", "openmpi@5.0.11: as it comes, all 4 collectives overlap (0.01 to 0.03)"),
        ("none", "openmpi@5.0.11: as it comes, all 4 collectives serialise (0.98)"),
        (
            "mixed",
            "openmpi@5.0.11: as it comes, all 4 collectives serialise (0.98); with progress thread, 2 of 4 collectives "
            "run 1.20 to 1.35 times as fast as without, 2 cannot be told",
        ),
        ("unreliable", "openmpi@5.0.11: as it comes, nothing can be told of 4 collectives"),
        ("one failed", "openmpi@5.0.11: as it comes, all 4 collectives failed"),
        ("one missing", "openmpi@5.0.11: as it comes, 3 of 4 collectives serialise (0.98), 1 is missing"),
        ("alike", "openmpi@5.0.11: as it comes, with progress thread, ibcast serialises (0.98 to 1.02)"),
        ("1", "openmpi@5.0.11: as it comes, ibcast serialises (0.98)"),
        ("40", "openmpi@5.0.11: as it comes, 1 of 40 collectives overlaps (0.10), 39 serialise (0.98)"),
    ],
)
def test_the_sentence_of_a_library(name: str, said: str) -> None:
    other = [replace(cell, row=Row("mpich@5.0.2", *cell.row[1:])) for cell in known("none")]
    assert sentences(known(name)) == [said]
    assert sentences([*known(name), *other]) == ["mpich@5.0.2: as it comes, all 4 collectives serialise (0.98)", said]


@pytest.mark.parametrize("name", ["mixed", "one failed", "one missing", "1", "40"])
@pytest.mark.parametrize("width", [80, 120, 400])
def test_a_matrix_fits_its_window_and_has_every_cell(name: str, width: int) -> None:
    shown, every = matrix_text(known(name), width), known(name)
    assert max(map(len, shown)) <= width
    text = "\n".join(shown)
    for word in {cell.word.text for cell in every}:
        assert text.count(word) == sum(cell.word.text == word for cell in every)
    assert text.count(" 8/9") == len(every) and all(cell.column in text for cell in every)


def test_what_was_not_measured_is_said_and_only_words_are_painted() -> None:
    some = [*known("none"), *cells(ASYNC, (GAINS, 1.2))]
    painted = matrix_text(some, 200, lambda text, state: f"<{state}:{text}>")
    assert "\n".join(painted).count("<unknown:not measured>") == 3
    assert "<good:gains> 1.20" in "\n".join(painted)
    plain = [
        line.replace("<good:", "").replace("<bad:", "").replace("<unknown:", "").replace(">", "") for line in painted
    ]
    assert plain == matrix_text(some, 200)


def test_a_note_of_many_cells_is_told_once() -> None:
    shared = [replace(cell, notes=("shared core",)) for cell in cells(ASYNC, *[(GAINS, 1.2)] * 4)]
    told = remarks([*known("none"), *shared])
    assert told == "shared core (progress thread)"
    both = [replace(cell, notes=("shared core", "incomplete")) for cell in cells(ASYNC, *[(GAINS, 1.2)] * 4)]
    assert remarks(both) == "shared core (everywhere); incomplete (everywhere)"
    wide = [
        replace(cell, why=f"interval too wide (0.{number})") for number, cell in enumerate(known("unreliable"), start=6)
    ]
    assert notes(wide) == ["cannot tell: interval too wide (0.6) or so (everywhere)"]


GRID = (8, 16, 32)


@pytest.mark.parametrize(
    ("behaviour", "word", "basic"),
    [
        (PERFECT, "gains", "serialises"),
        (Behaviour(1.0), "gains nothing", "serialises"),
        (Behaviour(1.6), "slower", "serialises"),
    ],
    ids=("hides all", "hides nothing", "costs more"),
)
def test_a_configuration_beside_basic_is_told_by_what_a_user_gains(
    tmp_path: Path, behaviour: Behaviour, word: str, basic: str
) -> None:
    records = [sweep(SERIALISED, GRID), sweep(behaviour, GRID, configuration="async")]
    run = load_run(synthetic.run_folder(tmp_path / "run", records))
    as_it_comes, other = sorted(registry.cells(run, registry.MAIN)[0], key=lambda cell: cell.row.configuration)
    assert (as_it_comes.word.text, other.word.text) == (basic, word)
    value, low, high = other.estimate
    assert low <= value <= high and other.unit == " x" and not as_it_comes.unit
    assert (value > 1.03, value < 1 / 1.03) == (word == "gains", word == "slower")


@pytest.mark.parametrize("width", [80, 120])
def test_small_maps_stand_beside_what_is_said(width: int) -> None:
    tiles = tuple(tuple(Tile(f"overhead{x}{y}", counts=x != y) for x in range(5)) for y in range(5))
    every = [replace(cell, tiles=tiles) for cell in known("mixed")]
    drawn: list[tuple[str, str]] = []

    def halves(upper: str, lower: str) -> str:
        drawn.append((upper, lower))
        return "#"

    shown = matrix_text(every, width, halves=halves)
    assert max(map(len, shown)) <= width
    assert "\n".join(shown).count("#####") == 3 * len(every)
    assert drawn[0] == ("overhead00", "overhead01") and sum(not lower for _, lower in drawn) == 5 * len(every)
    picture = matrix_view("title", "there", every).rows[0][2][0]
    assert picture is not None and picture.map is not None and picture.number is None
    assert "".join(path for _, path in picture.map.squares).count("M") == 25
    assert "".join(path for _, path in picture.map.strokes).count("M") == 5


def test_numbers_of_a_measure_share_a_line() -> None:
    view = matrix_view("title", "", known("mixed"))
    ((library, configuration, _), (no_library, _, other)) = view.rows
    assert (library, configuration, no_library) == ("openmpi@5.0.11", "as it comes", "")
    pictures = [one.number for one in other if one is not None and one.number is not None]
    assert len(pictures) == 4 and len({one.par for one in pictures}) == 1
    assert [one.value > one.par for one in pictures] == [True, True, True, False]
    assert all(0 <= one.low < one.value < one.high <= 100 for one in pictures)
    missing = matrix_view("title", "", known("one missing")).rows[0][2][3]
    assert missing is not None and (missing.map, missing.number) == (None, None)


def test_a_row_that_was_skipped_takes_no_line() -> None:
    skipped = cells(ASYNC, *[(BY_RESULT["skip"], math.nan)] * 4)
    assert matrix_text([*known("none"), *skipped], 80) == matrix_text(known("none"), 80)
    assert "skipped: with progress thread" in sentences([*known("none"), *skipped])[0]
    assert "skipped" in "".join(matrix_text(skipped, 80))


def test_a_map_of_noise_cannot_be_told_and_has_no_number_though_its_median_is_clear(tmp_path: Path) -> None:
    run = load_run(synthetic.run_folder(tmp_path / "run", [sweep(NOISY, GRID)]))
    ((cell,), untold) = registry.cells(run, registry.MAIN)
    assert (cell.word, cell.counted, untold) == (CANNOT_TELL, 0, [])
    assert cell.points == len(GRID) ** 2 and not math.isfinite(cell.value) and cell.why


@pytest.mark.parametrize(("factor", "told"), [(1.3, False), (0.8, False), (0.2, True), (2.0, True)])
def test_sizes_that_a_busy_machine_found_are_told(tmp_path: Path, factor: float, told: bool) -> None:
    lines = sweep(replace(SERIALISED, reference_factor=factor), GRID)
    run = load_run(synthetic.run_folder(tmp_path / "run", [lines]))
    said = remarks(registry.cells(run, registry.MAIN)[0])
    assert ("--calibrate anew" in said) is told


@pytest.mark.parametrize(
    ("overheads", "word"),
    [
        ((1.8, 1.9, 2.0), "slower than serialised"),
        ((0.05, 0.1, 0.15), "overlaps"),
        ((0.1, 1.0, 1.9), "cannot tell"),
        ((1.9, 1.9), "cannot tell"),
    ],
)
def test_launches_that_agree_tell_of_maps_whose_points_are_noise(
    tmp_path: Path, overheads: tuple[float, ...], word: str
) -> None:
    launches = [sweep(replace(NOISY, overhead=overhead), GRID) for overhead in overheads]
    for number, lines in enumerate(launches, 1):
        lines[0]["metadata"] = {"case": {"repeat": number}}
    ((cell,), _) = registry.cells(load_run(synthetic.run_folder(tmp_path / "run", launches)), registry.MAIN)
    assert cell.word.text == word
    assert cell.counted == (len(GRID) ** 2 if len(overheads) > 2 else 0)


def test_cases_without_a_result_have_a_cell_or_are_named(tmp_path: Path) -> None:
    run = load_run(synthetic.smoke_run(tmp_path / "run"))
    found, untold = registry.cells(run, registry.MAIN)
    words = {(cell.row.library, cell.row.configuration, cell.column): cell.word for cell in found if not cell.points}
    assert words == {
        ("openmpi@5.0.11", "progress thread", "ibcast"): BY_RESULT["skip"],
        ("mpich@5.0.2", "as it comes", "ialltoall"): BY_RESULT["fail"],
    }
    assert not untold
    again = synthetic.case(sweep(SERIALISED, GRID), None, "fail", "the second launch died")
    run = load_run(synthetic.run_folder(tmp_path / "again", [sweep(SERIALISED, GRID)], [again]))
    ((cell,), (named,)) = registry.cells(run, registry.MAIN)
    assert (cell.word.text, named["reason"]) == ("serialises", "the second launch died")
    synthetic.said_of(run.path, 1, test_interval_ns="soon", cache=["cold"], collective=7)
    assert registry.cells(load_run(run.path), registry.MAIN)[0]
