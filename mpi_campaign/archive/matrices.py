"""The first screen of a run: the matrix of each family, with a sentence for each library and what must be known."""

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from textwrap import wrap
from typing import Any

import click

from mpi_campaign.archive.run_folders import RunFolder
from postprocess.drawing.colour import class_colour
from postprocess.drawing.matrix import Cell, Halves, Paint, State, key, matrix_text, notes, remarks, sentences, wrapped
from postprocess.drawing.text import capitalised, clean, plural
from postprocess.families import registry
from postprocess.families.family import Family
from postprocess.records.run import Run
from postprocess.records.run_words import RESULT_WORDS, ran_words, run_name, together

LEAST_WIDTH = 80
COLOURS: dict[State, dict[str, Any]] = {
    "good": {"fg": "green", "bold": True},
    "even": {"fg": "blue", "bold": True},
    "bad": {"fg": "red", "bold": True},
    "unknown": {"dim": True},
}
MOST_NOTES = 4
"""The most notes of a family on the first screen."""


@dataclass(frozen=True)
class Window:
    """What is printed on.  width: its characters.  is_terminal: whether lines are cut to it.  paint: colours a word.
    halves: draws small maps; None where there are no colours."""

    width: int
    is_terminal: bool
    paint: Paint
    halves: Halves | None = None


def window() -> Window:
    """The window of standard output: at least LEAST_WIDTH wide; without colours where there are none, or none are
    wanted (https://no-color.org)."""
    is_terminal = sys.stdout.isatty()
    coloured = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = max(LEAST_WIDTH, shutil.get_terminal_size().columns)
    if not coloured:
        return Window(width, is_terminal, lambda text, _state: text)
    draws = "utf" in str(sys.stdout.encoding).lower()
    return Window(width, is_terminal, _coloured, _halves if draws else None)


def _halves(upper: str, lower: str) -> str:
    return click.style("\N{UPPER HALF BLOCK}", fg=_colour(upper), bg=_colour(lower) if lower else None)


def _colour(name: str) -> int:
    """The nearest of a terminal's 256 colours to that of a class."""
    red, green, blue = (round(5 * part) for part in class_colour(name))
    return 16 + 36 * red + 6 * green + blue


def _coloured(text: str, state: State) -> str:
    return click.style(text, **COLOURS[state])


def lines(run: Run, on: Window) -> list[str]:
    """The first screen: what ran; of each family its matrix, sentences and notes; what has no cell."""
    title = wrapped([f"{clean(run_name(run))}: {ran_words(run)}"], on.width)
    found, untold = [*title], []
    for family in registry.SHOWN:
        cells, without = registry.cells(run, family)
        untold += without
        if cells:
            heading = capitalised(family.title)
            told = list(filter(None, [key(cells), remarks(cells), *notes(cells)]))
            more = [f"and {plural(len(told) - MOST_NOTES, 'more note')}: --benchmark {family.name}"] * (
                len(told) > MOST_NOTES
            )
            found += ["", *block(heading, cells, on, [*told[:MOST_NOTES], *more])]
        elif not registry.found(run, family).table.empty:
            found += ["", f"{family.title}: {_command(run, family)}"]
    reasons = [((str(case["result"]), clean(case.get("reason"))), clean(case.get("case"))) for case in untold]
    for names, (result, reason) in together(reasons, "case"):
        found += wrapped([f"{names} {RESULT_WORDS[result]}: {reason}"], on.width)
    return found if len(found) > len(title) else [*found, "nothing was measured"]


def block(title: str, cells: Sequence[Cell], on: Window, more: Sequence[str] = ()) -> list[str]:
    """A matrix under its title, a sentence for each library, and more sentences."""
    shown = matrix_text(cells, on.width, on.paint, on.halves)
    return [title, *shown, "", *wrapped([*sentences(cells), *more], on.width)]


def so_far(run: Run, benchmarks: Collection[str], on: Window) -> list[str]:
    """What a run shows while it goes on: the matrix of the first family that has results of these benchmarks."""
    of_them = [family for family in registry.SHOWN if not set(family.benchmarks).isdisjoint(benchmarks)]
    without_cases = replace(run, manifest={**run.manifest, "cases": []})  # none has a result yet
    cells = next((cells for family in of_them if (cells := registry.cells(without_cases, family)[0])), [])
    return ["", *matrix_text(cells, on.width, on.paint, on.halves), ""] if cells else []


def fitted(text: str, width: int) -> list[str]:
    """Lines of at most this width. Of a table that is wider, columns that are the same in all rows stand above it, and
    its lines are cut, with an ellipsis. Sentences are wrapped."""
    found: list[str] = []
    for is_table, block in groupby(text.splitlines(), lambda line: line[:1] != " " and "  " in line.strip()):
        lines = list(block)
        if is_table and max(map(len, lines)) > width:
            found += [line if len(line) <= width else f"{line[: width - 1].rstrip()}…" for line in _narrowed(lines)]
        elif is_table:
            found += lines
        else:
            for line in lines:
                indent = " " * (len(line) - len(line.lstrip()) + 2)
                found += wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]
    return found


def _narrowed(lines: list[str]) -> list[str]:
    """A table of `columns.aligned` without the columns that are the same in all rows, which stand above it."""
    longest = max(map(len, lines))
    padded = [line.ljust(longest) for line in lines]
    free = "".join(" " if all(line[place] == " " for line in padded) else "x" for place in range(longest))
    ends = [0, *(gap.end() for gap in re.finditer("  +", free.rstrip())), longest]
    columns = [[line[first:last] for line in padded] for first, last in pairwise(ends)]
    same = [column for column in columns if len(lines) > 2 and len({text.strip() for text in column[1:]}) == 1]
    common = ", ".join(f"{column[0].strip()} {column[1].strip() or '-'}" for column in same)
    kept = [column for column in columns if column not in same]
    return [*([common] if common else []), *("".join(texts).rstrip() for texts in zip(*kept, strict=True))]


def _command(run: Run, family: Family) -> str:
    return f"./campaign show {run_name(run)} --benchmark {family.name}"


def next_words(folder: RunFolder, run: Run) -> Iterator[str]:
    """The report, and the commands that show more."""
    report = folder.report if folder.report.is_file() else f"./campaign report {run_name(run)}"
    yield f"report: {report}"
    yield f"every point: ./campaign show {run_name(run)} --points"
