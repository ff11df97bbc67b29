"""`campaign compare`: sides to launches, launches to verdicts, verdicts to a table or a file."""

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from mpi_campaign.archive import earlier_launches, matrices, run_folders, window
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, CampaignError
from mpi_campaign.verdicts import sides
from mpi_campaign.verdicts.sides import Side
from postprocess.drawing import page
from postprocess.drawing.matrix import sentences, wrapped
from postprocess.drawing.text import clean, plural, shortened
from postprocess.records import variables
from postprocess.records.fields import Json
from postprocess.records.host_limits import differences, starved_words
from postprocess.statistics.limits import LEAST_LAUNCHES, Limits
from postprocess.verdicts import compare_text, verdict_matrix
from postprocess.verdicts.compare import (
    FEWEST_STEPS,
    LAUNCH,
    METRICS,
    SLOWER,
    STEP,
    USUAL,
    Comparison,
    compare,
    confirmed,
    of_each_step,
    over_all,
    step_of,
)
from postprocess.verdicts.compare_text import Pairs
from postprocess.verdicts.verdict_page import comparisons_view, render

MOST_LINES = 5
MOST_MATRICES = 2
"""Of so many metrics the matrix is printed: those of the family that was measured first, as a rule."""
Manifest: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class ComparisonRequest:
    """What a person asked of a comparison: words of the sides, runs, metrics, and what counts as a difference.

    again: the name of a run that measured again what is slower in the second of two sides; empty where none did.
    """

    words: tuple[str, ...]
    within: str = ""
    metrics: tuple[str, ...] = ()
    least_ratio: float = Limits.least_ratio
    least_difference: float = Limits.least_difference
    rate: float = Limits.rate
    every: bool = False
    again: str = ""


@dataclass(frozen=True)
class Found:
    """What was found of a side: its launches, and the manifests of the runs that they are of, by name."""

    side: Side
    launches: pd.DataFrame
    manifests: Mapping[str, Manifest]


def limits(least_ratio: float, least_difference: float, rate: float) -> Limits:
    """The limits of what counts as a difference. Raises CampaignError where a number is out of bounds."""
    try:
        return Limits(least_ratio, least_difference, rate)
    except ValueError as error:
        raise CampaignError(str(error)) from error


def metrics(names: Sequence[str]) -> Sequence[str]:
    """The metrics that were asked for, else the usual ones. Raises CampaignError for an unknown name."""
    unknown = next((name for name in names if name not in METRICS), None)
    if unknown is not None:
        raise CampaignError(f"there is no metric '{unknown}' to compare; there are: {', '.join(METRICS)}")
    return names or USUAL


def run(asked: ComparisonRequest, root: Path, form: str, files: Mapping[str, Path]) -> int:
    """Print the comparison of all pairs of sides, and write it to files in other forms.

    form: what is printed, `json`, `markdown` or empty for text.  files: paths by form, `junit` and `html`.

    Returns 1 where anything is slower. Raises CampaignError.
    """
    check_apart(files)
    pairs, facts = of_sides(asked, root)
    if asked.again:
        pairs = _confirmed(asked, pairs, root)
    if all(comparison.rows.empty for comparison in pairs.values()):
        raise CampaignError(_why_nothing(asked, pairs))
    return show(pairs, facts, form, files, every=asked.every)


def pinned(asked: ComparisonRequest, root: Path) -> ComparisonRequest:
    """The request with the runs that `last` names now. Raises CampaignError."""
    words = tuple(sides.pinned(each, root) for each in asked.words)
    return replace(asked, words=words, within=sides.pinned(asked.within, root) if asked.within else "")


def show(
    pairs: Pairs, facts: Sequence[tuple[str, str]], form: str, files: Mapping[str, Path], *, every: bool = False
) -> int:
    """Print comparisons, and write them to files, as `run` does.  facts: what a page says of them beside.  every: every
    case, not only those that changed."""
    forms: Mapping[str, Callable[[Pairs], str]] = {
        "": partial(_as_text, every=every),
        "json": compare_text.comparisons_json,
        "markdown": partial(compare_text.comparisons_markdown, every=every),
        "junit": compare_text.comparisons_junit,
        "html": lambda pairs: render(comparisons_view(pairs, facts)),
    }
    for kind, path in files.items():
        write(path, forms[kind](pairs))
    print(forms[form](pairs).removesuffix("\n"))
    return EXIT_FAILED if any(comparison.count(SLOWER) for comparison in pairs.values()) else EXIT_GOOD


def _confirmed(asked: ComparisonRequest, pairs: Pairs, root: Path) -> Pairs:
    """The comparison, in which nothing is called slower that was the same or faster again. Where the library of A was
    measured again too, in turn with that of B, both are held against each other."""
    ((sides_, first),) = pairs.items()
    try:
        there = sides.toolchains_of([run_folders.find(asked.again, root)])
        parsed = [sides.parse(words, root) for words in asked.words]
        a, b = (",".join(filter(None, (asked.again, side.toolchain, side.configuration))) for side in parsed)
        both = sides.name_two_libraries(*parsed) and parsed[0].toolchain in there
        again, _ = of_sides(replace(asked, words=(a if both else asked.words[0], b), within="", again=""), root)
    except CampaignError as error:  # what was measured again failed
        return {sides_: replace(first, remarks=(*first.remarks, f"not confirmed by {asked.again}: {error}"))}
    return {sides_: confirmed(first, next(iter(again.values())), asked.again)}


def _as_text(pairs: Pairs, *, every: bool) -> str:
    """What is printed. Of two sides it begins with the matrices of the first metrics, and the sentences of the others;
    of more sides it begins with one matrix."""
    text = compare_text.comparisons_text(pairs, every=every)
    (sides, comparison), *others = pairs.items()
    if others or not comparison.decided:
        return text
    on, found = window.window(), verdict_matrix.cells_of(comparison, sides)
    blocks = [matrices.block(title, cells, on) for title, cells in found[:MOST_MATRICES]]
    rest = [f"{title}: {'; '.join(sentences(cells))}" for title, cells in found[MOST_MATRICES:]]
    return "\n".join([*(line for block in blocks for line in [*block, ""]), *wrapped(rest, on.width), text])


def _why_nothing(asked: ComparisonRequest, pairs: Pairs) -> str:
    """Why there was nothing to compare, in a line."""
    alone = [line for names, comparison in pairs.items() for line in compare_text.missing_lines(comparison, names)]
    if not alone:
        return f"no case of {' and '.join(asked.words)} has {' or '.join(metrics(asked.metrics))}: nothing was compared"
    return f"{' and '.join(asked.words)} have no case in common: {'; '.join(shortened(alone, MOST_LINES))}"


def complain(problems: Sequence[str]) -> None:
    """Print what could not be read, or does not go together: each problem once, and no more than a person reads."""
    for problem in shortened(filter(None, problems)):
        print(f"campaign: {problem}", file=sys.stderr)


def check_apart(files: Mapping[str, Path], *read: Path) -> None:
    """Raises CampaignError where two files to write are the same, or where a file to write is read too."""
    use_of_path = {path.resolve(): "what is read" for path in read}
    for kind, path in files.items():
        use = use_of_path.setdefault(path.resolve(), f"--{kind}")
        if use != f"--{kind}":
            raise CampaignError(f"--{kind} {path} is also {use}: give another file")


def write(path: Path, text: str) -> None:
    """Write a file that a person named; a regular file is written all or nothing. Raises CampaignError."""
    run_folders.check_outside(path)
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_text(text, encoding="utf-8")
        else:
            page.write(path, text)
    except OSError as error:
        raise CampaignError(f"{path} cannot be written ({error.strerror}): give another file") from error


def where_made(manifests: Sequence[Json]) -> list[str]:
    """Where runs were made, and with what, a line for each."""
    return [
        f"`{one['run']}`: {host.get('cpu', 'CPU unknown')}, {plural(host.get('cores', 0), 'core')}, "
        f"{host.get('os', 'system unknown')}, {str(one.get('started_utc'))[:10]}, "
        f"commit `{str((one.get('campaign') or {}).get('commit'))[:8]}`"
        for one in manifests
        for host in [one.get("host") or {}]
    ]


def of_sides(asked: ComparisonRequest, root: Path) -> tuple[Pairs, list[tuple[str, str]]]:
    """The comparison of every pair of sides, and the runs that they are from. Raises CampaignError."""
    if len(asked.words) < 2:
        raise CampaignError("two sides at least: ./campaign compare A B, such as last~1 and last, or two toolchains")
    chosen = metrics(asked.metrics)
    counts = limits(asked.least_ratio, asked.least_difference, asked.rate)
    parsed = [sides.parse(words, root) for words in asked.words]
    within = sides.parse(asked.within, root) if asked.within else None
    tables, problems = sides.load(parsed, within, root)
    complain([*(side.note for side in parsed), *problems])
    words = [side.words for side in parsed]
    facts = [
        (f"runs of {side}", ", ".join(f"{system}/{run}" for system, run in sorted(_runs(table))))
        for side, table in zip(words, tables, strict=True)
    ]
    named = [side for side in (*parsed, within) if side is not None]
    manifests = _manifests({run for side in named for run in side.runs or ()}, tables, root)
    earlier = earlier_launches.beside(tables, root)
    found = list(map(Found, parsed, tables, manifests))
    pairs = {
        (a.side.words, b.side.words): compared(a, b, chosen, counts, earlier)
        for a, b in itertools.combinations(found, 2)
    }
    return dict(zip(pairs, over_all(list(pairs.values())), strict=True)), facts


def compared(
    a: Found,
    b: Found,
    chosen: Sequence[str] = USUAL,
    counts: Limits | None = None,
    earlier: pd.DataFrame | None = None,
    *,
    of_maps: bool = False,
) -> Comparison:
    """The comparison of two sides, which says where they are not on the same terms.

    earlier: launches of the system's other runs, if they are to tell how much launches and runs differ.  of_maps: as of
    `compare`."""
    differ = sides.differ([a.side, b.side])
    return _with_terms(a, b, compare(a.launches, b.launches, differ, chosen, counts, earlier, of_maps=of_maps))


def compared_at_once(
    pairs: Mapping[tuple[str, str], tuple[Found, Found]],
    chosen: Sequence[str] = USUAL,
    *,
    earlier: pd.DataFrame | None = None,
    of_maps: bool = False,
) -> Pairs:
    """The comparisons of many pairs of sides, as `compared` makes each. Maps of pairs within one run are compared
    together: then all libraries tell how much launches of a case differ."""
    together: dict[object, list[tuple[str, str]]] = {}
    for names, both in pairs.items():
        runs = _runs(pd.concat([one.launches for one in both]))
        together.setdefault(runs.pop() if of_maps and len(runs) == 1 else names, []).append(names)
    found: dict[tuple[str, str], Comparison] = {}
    for of_run in together.values():
        libraries = {name for names in of_run for name in names}
        if len(libraries) - 1 < FEWEST_STEPS:
            each = {names: compared(*pairs[names], chosen, earlier=earlier, of_maps=of_maps) for names in of_run}
            found |= each
            continue
        steps = {step_of(*names): names for names in of_run}
        a, b = (
            pd.concat([pairs[names][side].launches.assign(**{STEP: step}) for step, names in steps.items()])
            for side in (0, 1)
        )
        differ = sides.differ([one.side for one in pairs[of_run[0]]])
        parts = of_each_step(compare(a, b, differ, chosen, of_maps=of_maps), steps)
        found |= {names: _with_terms(*pairs[names], parts[step]) for step, names in steps.items()}
    return {names: found[names] for names in pairs}


def _with_terms(a: Found, b: Found, comparison: Comparison) -> Comparison:
    """The comparison, which says where its sides are not on the same terms."""
    remarks = [*_machines(_runs(a.launches), _runs(b.launches)), *_terms(a.manifests, b.manifests)]
    return replace(comparison, remarks=(*comparison.remarks, *shortened(remarks)))


def tells_maps(table: pd.DataFrame) -> bool:
    """Whether there are enough launches to tell how much they differ: then all points of a map are compared together,
    for nobody decides by a single one."""
    return bool(LAUNCH in table and table[LAUNCH].nunique() >= LEAST_LAUNCHES)


def _manifests(
    runs_named: Iterable[RunFolder], tables: Sequence[pd.DataFrame], root: Path
) -> list[dict[str, Manifest]]:
    """For each side, the readable manifests of the runs of its launches, by the name of the run."""
    folders = {(run.system, run.run): run for run in (*run_folders.runs(root), *runs_named)}
    of_sides = [
        {name[1]: run_folders.manifest_or_none(folders[name]) for name in sorted(_runs(table))} for table in tables
    ]
    return [{name: manifest for name, manifest in of_side.items() if manifest} for of_side in of_sides]


def _machines(this: Iterable[tuple[str, str]], other: Iterable[tuple[str, str]]) -> list[str]:
    """A line where two sides are of different systems."""
    systems = [", ".join(sorted({clean(system) for system, _ in side})) for side in (this, other)]
    return [f"not of one system: {systems[0]} -> {systems[1]}"] * (systems[0] != systems[1])


def _terms(this: Mapping[str, Manifest], other: Mapping[str, Manifest]) -> list[str]:
    """Why two sides are not on the same terms: different machines or limits of their hosts, different variables that
    were let into their launches, or ranks that a CPU limit stopped."""
    hosts = ([manifest.get("host") or {} for manifest in side.values()] for side in (this, other))
    stopped = {
        f"run {clean(name)}: {why}"
        for name, manifest in {**this, **other}.items()
        for case in manifest.get("cases") or []
        if (why := starved_words(manifest, case))
    }
    others = [*differences(*hosts), *variables.differences(list(this.values()), list(other.values()))]
    return [f"not on the same terms: {clean(difference)}" for difference in others] + sorted(stopped)


def _runs(table: pd.DataFrame) -> set[tuple[str, str]]:
    return set(zip(table["system"], table["run"], strict=True))
