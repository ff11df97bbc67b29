"""`campaign compare`: sides to launches, launches to verdicts, verdicts to a table or a file."""

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, CampaignError
from mpi_campaign.verdicts import sides
from postprocess.drawing import page
from postprocess.drawing.text import clean
from postprocess.records import let_in
from postprocess.records.host_limits import differences, starved_words
from postprocess.statistics.limits import Limits
from postprocess.verdicts import compare_text
from postprocess.verdicts.compare import METRICS, SLOWER, USUAL, compare, over_all
from postprocess.verdicts.compare_text import Pairs
from postprocess.verdicts.verdict_page import comparisons_view, render

MOST_LINES = 4
Manifest: TypeAlias = dict[str, Any]


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
    """Print the comparison of all pairs of sides, as text or in a form, and write it to files in others.

    form: `json`, `markdown` or empty.  files: of `junit`, `html`.

    Returns 1 where anything is slower. Raises CampaignError.
    """
    check_apart(files)
    pairs, facts = _compare(asked, root)
    if all(found.rows.empty for found in pairs.values()):
        raise CampaignError(_nothing(asked, pairs))
    forms: Mapping[str, Callable[[Pairs], str]] = {
        "": partial(compare_text.comparisons_text, every=asked.every),
        "json": compare_text.comparisons_json,
        "markdown": partial(compare_text.comparisons_markdown, every=asked.every),
        "junit": compare_text.comparisons_junit,
        "html": lambda pairs: render(comparisons_view(pairs, facts)),
    }
    for kind, path in files.items():
        write(path, forms[kind](pairs))
    print(forms[form](pairs).removesuffix("\n"))
    return EXIT_FAILED if any(found.count(SLOWER) for found in pairs.values()) else EXIT_GOOD


def _nothing(asked: Asked, pairs: Pairs) -> str:
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
    run_folders.check_outside(path)
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_text(text, encoding="utf-8")
        else:
            page.write(path, text)
    except OSError as error:
        raise CampaignError(f"{path} cannot be written ({error.strerror}): give another file") from error


def _compare(asked: Asked, root: Path) -> tuple[Pairs, list[tuple[str, str]]]:
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
    manifests = _manifests({run for side in parsed for run in side.runs or ()}, tables, root)
    pairs = {}
    for i, j in itertools.combinations(range(len(parsed)), 2):
        found = compare(tables[i], tables[j], sides.differ([parsed[i], parsed[j]]), chosen, counts)
        remarks = _terms(manifests[i], manifests[j])
        pairs[asked.words[i], asked.words[j]] = replace(found, remarks=(*found.remarks, *remarks))
    return dict(zip(pairs, over_all(list(pairs.values())), strict=True)), facts


def _manifests(named: Iterable[RunFolder], tables: Sequence[pd.DataFrame], root: Path) -> list[dict[str, Manifest]]:
    """Of each side's launches, the manifests of their runs that can be read, by the run's name."""
    folders = {(one.system, one.run): one for one in (*run_folders.runs(root), *named)}
    found: list[dict[str, Manifest]] = []
    for table in tables:
        of_side: dict[str, Manifest] = {}
        for name in sorted(_runs(table)):
            with suppress(CampaignError):
                of_side[name[1]] = run_folders.read_manifest(folders[name])
        found.append(of_side)
    return found


def _terms(one: Mapping[str, Manifest], other: Mapping[str, Manifest]) -> list[str]:
    """What stands against a comparison of two sides: other limits of their hosts, other variables that were let into
    their launches, ranks that were stopped."""
    hosts = ([manifest.get("host") or {} for manifest in side.values()] for side in (one, other))
    stopped = {
        f"run {clean(name)}: {why}"
        for name, manifest in {**one, **other}.items()
        for case in manifest.get("cases") or []
        if (why := starved_words(manifest, case))
    }
    others = [*differences(*hosts), *let_in.differences(list(one.values()), list(other.values()))]
    return [f"not on the same terms: {clean(said)}" for said in others] + sorted(stopped)


def _runs(table: pd.DataFrame) -> set[tuple[str, str]]:
    return set(zip(table["system"], table["run"], strict=True))
