"""`campaign compare`: sides to launches, launches to verdicts, verdicts to a table or a file."""

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from mpi_campaign import archive, sides
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, CampaignError
from postprocess import compare_text, junit, page
from postprocess.compare import FASTER, METRICS, SLOWER, USUAL, Comparison, compare, over_all
from postprocess.limits import Limits
from postprocess.table import aligned
from postprocess.verdict_page import comparison_view, render

AS_TEXT: Mapping[str, Callable[[Comparison, Sequence[str]], str]] = {
    "json": compare_text.comparison_json,
    "markdown": compare_text.comparison_markdown,
    "junit": compare_text.comparison_junit,
}
TOGETHER: Mapping[str, Callable[[Sequence[str]], str]] = {
    "json": lambda parts: "[\n{}\n]".format(",\n".join(parts)),
    "markdown": "\n".join,
    "junit": junit.suites,
}
"""Of several pairs of sides, one file: a list of objects, one table below the other, a test suite each."""

MOST_LINES = 4


@dataclass(frozen=True)
class Asked:
    """What a person asked of a comparison: the sides' words, of which runs, which metrics, what counts."""

    words: tuple[str, ...]
    within: str = ""
    metrics: tuple[str, ...] = ()
    least_ratio: float = Limits.least_ratio
    least_difference: float = Limits.least_difference
    rate: float = Limits.rate
    every: bool = False


def limits(least_ratio: float, least_difference: float, rate: float) -> Limits:
    """What counts as a difference. Raises CampaignError where a number is out of bounds."""
    try:
        return Limits(least_ratio, least_difference, rate)
    except ValueError as error:
        raise CampaignError(str(error)) from error


def metrics(names: Sequence[str]) -> Sequence[str]:
    """Those that were asked for, or the usual ones. Raises CampaignError for one that there is not."""
    unknown = next((name for name in names if name not in METRICS), None)
    if unknown is not None:
        raise CampaignError(f"there is no metric '{unknown}' to compare; there are: {', '.join(METRICS)}")
    return names or USUAL


def run(asked: Asked, root: Path, form: str, files: Mapping[str, Path]) -> int:
    """Print the comparison, as text or in a form of AS_TEXT, and write it to files, as such or as a page (`html`).

    Returns 1 where anything is slower. Raises CampaignError.
    """
    check_apart(files)
    pairs, facts = _compare(asked, root)
    if all(found.rows.empty for found in pairs.values()):
        raise CampaignError(_nothing(asked, pairs))
    if "html" in files and len(pairs) > 1:
        raise CampaignError("--html: a page is of two sides; --json, --markdown and --junit are of any number")
    for kind, path in files.items():
        ((names, found), *_) = pairs.items()
        write(path, render(comparison_view(found, names, facts)) if kind == "html" else in_form(kind, pairs, asked))
    shown = in_form(form, pairs, asked) if form else as_text(asked, pairs)
    print(shown.removesuffix("\n"))
    return EXIT_FAILED if any(found.count(SLOWER) for found in pairs.values()) else EXIT_GOOD


def _nothing(asked: Asked, pairs: Mapping[tuple[str, str], Comparison]) -> str:
    """Why nothing could be compared, in a line."""
    alone = [line for names, found in pairs.items() for line in compare_text.missing_lines(found, names)]
    if not alone:
        return f"no case of {' and '.join(asked.words)} has {' or '.join(metrics(asked.metrics))}: nothing was compared"
    more = f"; and {len(alone) - MOST_LINES} more" if len(alone) > MOST_LINES else ""
    return f"{' and '.join(asked.words)} have no case in common: {'; '.join(alone[:MOST_LINES])}{more}"


def check_apart(files: Mapping[str, Path], *read: Path) -> None:
    """Raises CampaignError where two files to write are one, or one of them is what is read."""
    seen = {path.resolve(): "what is read" for path in read}
    for kind, path in files.items():
        other = seen.setdefault(path.resolve(), f"--{kind}")
        if other != f"--{kind}":
            raise CampaignError(f"--{kind} {path} is also {other}: give another file")


def write(path: Path, text: str) -> None:
    """Write a file that a person named, whole or not at all where it is a regular one. Raises CampaignError."""
    archive.check_outside(path)
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_text(text, encoding="utf-8")
        else:
            page.write(path, text)
    except OSError as error:
        raise CampaignError(f"{path} cannot be written ({error.strerror}): give another file") from error


def _compare(asked: Asked, root: Path) -> tuple[dict[tuple[str, str], Comparison], list[tuple[str, str]]]:
    """Every pair of sides, each with those after it; and which runs they are of."""
    if len(asked.words) < 2:
        raise CampaignError("two sides at least: ./campaign compare A B, such as last~1 and last, or two toolchains")
    chosen = metrics(asked.metrics)
    counts = limits(asked.least_ratio, asked.least_difference, asked.rate)
    parsed = [sides.parse(words, root) for words in asked.words]
    within = sides.parse(asked.within, root) if asked.within else None
    tables, problems = sides.load(parsed, within, root)
    for problem in problems:
        print(f"campaign: {problem}", file=sys.stderr)
    facts = [
        (
            f"runs of {words}",
            ", ".join(f"{system}/{run}" for system, run in sorted(_runs(table))),
        )
        for words, table in zip(asked.words, tables, strict=True)
    ]
    pairs = {
        (asked.words[i], asked.words[j]): compare(
            tables[i], tables[j], sides.differ([parsed[i], parsed[j]]), chosen, counts
        )
        for i, j in itertools.combinations(range(len(parsed)), 2)
    }
    return dict(zip(pairs, over_all(list(pairs.values())), strict=True)), facts


def _runs(table: pd.DataFrame) -> set[tuple[str, str]]:
    return set(zip(table["system"], table["run"], strict=True))


def in_form(form: str, pairs: Mapping[tuple[str, str], Comparison], asked: Asked) -> str:
    """The comparison, or all of them, in a form of AS_TEXT."""
    forms = dict(AS_TEXT)
    forms["markdown"] = partial(compare_text.comparison_markdown, every=asked.every)
    parts = [forms[form](found, names) for names, found in pairs.items()]
    return parts[0] if len(parts) == 1 else TOGETHER[form](parts)


def as_text(asked: Asked, pairs: Mapping[tuple[str, str], Comparison]) -> str:
    """What is printed: of two sides all that is known, of more a matrix, and what changed in each pair."""
    several = len(pairs) > 1
    told = [
        compare_text.comparison_text(found, names, every=asked.every, maps=not several)
        for names, found in pairs.items()
    ]
    return "\n\n".join([*([matrix_text(asked.words, pairs)] if several else []), *told])


def matrix_text(words: Sequence[str], pairs: Mapping[tuple[str, str], Comparison]) -> str:
    """More than two sides: how the one in the column does against the one in the row."""
    lines = [[one, *(_cell(pairs[one, two]) if (one, two) in pairs else "" for two in words[1:])] for one in words[:-1]]
    key = "each cell: cases slower / faster / compared, of the column's side against the row's"
    return f"{aligned(['against', *words[1:]], lines, right=set())}\n{key}"


def _cell(found: Comparison) -> str:
    return f"{found.count(SLOWER)} / {found.count(FASTER)} / {len(found.rows)}"
