"""The first screen of a run: the matrix of each family, with a sentence for each library and what must be known."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from textwrap import wrap

from mpi_campaign.archive.window import Window
from postprocess.drawing.matrix import Cell, key, matrix_text, notes, remarks, sentences, wrapped
from postprocess.drawing.text import capitalised, clean, plural
from postprocess.families import registry
from postprocess.families.family import Family
from postprocess.records.run import Run
from postprocess.records.run_words import RESULT_WORDS, ran_words, run_name, together

MOST_NOTES = 4
"""The most notes of a family on the first screen."""


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
