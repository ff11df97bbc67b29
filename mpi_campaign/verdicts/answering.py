"""What a run answers at its end and in its report: its libraries, its configurations, the run before it and the
baseline, put to `compare`."""

import itertools
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pandas as pd

from mpi_campaign.archive import consistency, earlier_launches, references, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.versions import NEWER_THAN_ALL
from mpi_campaign.verdicts import sides
from mpi_campaign.verdicts.comparing import Found, Manifest, compared, tells_maps
from mpi_campaign.verdicts.sides import Side
from postprocess.records.run import Run
from postprocess.statistics.limits import Limits
from postprocess.verdicts.answers import Answers, Question
from postprocess.verdicts.compare import over_all
from postprocess.verdicts.compare_text import Pairs
from postprocess.verdicts.launches import methods_of

BASIC = "basic"
LIBRARIES = "Libraries against each other"
MOST_RELEASES = 3
"""The most releases of a library that are held against each other and against other libraries."""
LIMITS = Limits(rate=Limits.rate / 2)
"""Half of the false discoveries may be among the answers of the run alone, half among those beside other runs: so what
a run says of itself depends on no later run, and all answers together keep the rate of one comparison."""
ONE_SIDED = "one library in one configuration: there is nothing to compare within this run"
FIRST = "no earlier complete run of this system, machine and method has cases in common"
NEXT = ": the next one is compared with this"


def limits_of(manifest: Manifest) -> Limits:
    """What counts as a difference in the answers of a run. Of one that was asked several times, less counts."""
    return Limits(**manifest[run_folders.JUDGED]["limits"]) if run_folders.JUDGED in manifest else LIMITS


def of_run(folder: RunFolder, run: Run | None = None) -> Answers:
    """The answers of a run, finished or not.  run: the run, if it was read already."""
    table, _ = sides.launches_of([folder], run)
    if table.empty:
        return Answers()
    manifest = run_folders.manifest_or_none(folder)
    earlier = earlier_launches.of(folder.system, folder.root, folder.run)
    own = [*_libraries(folder, manifest, table, earlier), *_configurations(folder, manifest, table, earlier)]
    before = _before(folder, manifest, earlier)
    baseline, refused = _baseline(folder, manifest, earlier)
    counts_later = folder.is_complete and manifest.keys().isdisjoint(run_folders.MARKS)
    notes = [ONE_SIDED * (not own), (FIRST + NEXT * counts_later) * (before is None), refused]
    others = filter(None, [before, baseline])
    return Answers((*_controlled(own), *_controlled(others)), tuple(filter(None, notes)))


def _controlled(questions: Iterable[Question]) -> list[Question]:
    """The questions, with the false-discovery rate controlled over all of their comparisons together."""
    every = list(questions)
    judged = iter(over_all([one for question in every for one in question.pairs.values()]) if every else ())
    return [replace(question, pairs={names: next(judged) for names in question.pairs}) for question in every]


def _libraries(folder: RunFolder, manifest: Manifest, table: pd.DataFrame, earlier: pd.DataFrame) -> Iterator[Question]:
    """Libraries against each other, each of many releases by its newest one; then these, each against the one before
    it: all against all would be hundreds of pairs, of which nobody asks most. Branches and commits are no releases."""
    names = sorted(table["toolchain"].unique())
    by_library: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=lambda name: sides.release(name)[1]):
        library, (version, *_) = sides.release(name)
        if version != (NEWER_THAN_ALL,):
            by_library[library].append(name)
    many = {library: releases for library, releases in by_library.items() if len(releases) > MOST_RELEASES}
    older = {name for releases in many.values() for name in releases[:-1]}

    def question(title: str, names: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Question:
        asked = {name: Side(name, runs=(folder,), toolchain=name) for name in names}
        return _within(folder, manifest, table, title, asked, list(pairs), earlier)

    if len(newest := [name for name in names if name not in older]) > 1:
        yield question(LIBRARIES, newest, itertools.combinations(newest, 2))
    for library, releases in sorted(many.items()):
        in_turn = question(f"Releases of {library}, each against the one before it", releases, pairwise(releases))
        yield replace(in_turn, more=_command("versions", library, folder), in_turn=True)


def _configurations(
    folder: RunFolder, manifest: Manifest, table: pd.DataFrame, earlier: pd.DataFrame
) -> Iterator[Question]:
    for library, of_library in table.groupby("toolchain", observed=True, sort=True):
        names = list(dict.fromkeys(of_library["configuration"]))
        others = [name for name in names if name != BASIC]
        if others and BASIC in names:
            asked = {
                name: Side(f"{library},{name}", runs=(folder,), toolchain=str(library), configuration=name)
                for name in (BASIC, *others)
            }
            pairs = [(BASIC, name) for name in others]
            title = f"Configurations of {library} against {BASIC}"
            yield replace(_within(folder, manifest, table, title, asked, pairs, earlier), group=str(library))


def _within(
    folder: RunFolder,
    manifest: Manifest,
    table: pd.DataFrame,
    title: str,
    asked: Mapping[str, Side],
    pairs: Sequence[tuple[str, str]],
    earlier: pd.DataFrame,
) -> Question:
    """A question about sides of one run."""
    of_maps = tells_maps(table)
    found = {name: Found(side, side.launches(table, [folder]), {folder.run: manifest}) for name, side in asked.items()}
    more = _command("compare", *(side.words for side in asked.values()), "--within", folder)
    counts = limits_of(manifest)
    judged = {(a, b): compared(found[a], found[b], counts=counts, earlier=earlier, of_maps=of_maps) for a, b in pairs}
    return Question(title, more, judged)


def _command(*words: str | RunFolder) -> str:
    """The command, of whose words the last one is the run."""
    *first, folder = words
    assert isinstance(folder, RunFolder)
    return shlex.join(["./campaign", *map(str, first), folder.run]) + run_folders.elsewhere_words(folder.root)


def _before(folder: RunFolder, manifest: Manifest, earlier: pd.DataFrame) -> Question | None:
    """This run against the newest complete one before it that has cases in common, measured by the same methods on the
    same machine; None where there is none."""
    methods = methods_of(folder.path)
    runs = [one for one in run_folders.runs(folder.root) if one.system == folder.system and one.run < folder.run]
    for other, theirs in sides.manifests(reversed(runs)):
        if not theirs.keys().isdisjoint(run_folders.MARKS) or not (
            other.is_complete and _cases(theirs) & _cases(manifest) and _machine(theirs) == _machine(manifest)
        ):
            continue
        if not _share_a_method(methods, other):
            continue
        pairs = _beside(folder, manifest, Side(other.run, runs=(other,)), {other.run: theirs}, earlier)
        if pairs is not None:
            title = f"This run against {other.run}, the newest comparable one before it"
            return Question(title, _command("compare", other.run, folder), pairs, apart=True)
    return None


def _baseline(folder: RunFolder, manifest: Manifest, earlier: pd.DataFrame) -> tuple[Question | None, str]:
    """This run against the runs from which the references of its system were made; or why not, in a line."""
    if not references.path_of(folder.system).is_file() or folder.root.is_relative_to(run_folders.PUBLIC_COPIES):
        return None, ""
    words = f"{folder.system},{sides.BASELINE}"
    try:
        side = sides.parse(words, folder.root)
        runs = tuple(run for run in side.runs or () if run != folder)
        if not runs:  # it is the baseline
            return None, ""
        pairs = _beside(
            folder,
            manifest,
            replace(side, words="the baseline", runs=runs),
            {run.run: run_folders.read_manifest(run) for run in runs},
            earlier,
        )
    except CampaignError as error:
        return None, f"there is no answer about the baseline: {error}"
    if pairs is None:
        methods = methods_of(folder.path)
        older = not any(_share_a_method(methods, run) for run in runs)
        why = "was measured by other methods than" if older else "has no case in common with"
        return None, f"there is no answer about the baseline: it {why} this run"
    return Question("This run against the baseline", _command("compare", words, folder), pairs, apart=True), ""


def _beside(
    folder: RunFolder, manifest: Manifest, other: Side, manifests: Mapping[str, Manifest], earlier: pd.DataFrame
) -> Pairs | None:
    """The comparison of this run with others; None where they have no case in common."""
    this, runs = Side(folder.run, runs=(folder,)), other.runs or ()
    table, _ = sides.launches_of([*runs, folder])
    before = Found(other, other.launches(table, runs), manifests)
    now = Found(this, this.launches(table, [folder]), {folder.run: manifest})
    if before.launches.empty or now.launches.empty:
        return None
    comparison = compared(before, now, counts=limits_of(manifest), earlier=earlier)
    return {(other.words, this.words): comparison} if len(comparison.rows) else None


def _share_a_method(methods: Mapping[str, int], other: RunFolder) -> bool:
    """Whether a run measured a benchmark by one of these methods, of `methods_of`."""
    return not methods.items().isdisjoint(methods_of(other.path).items())


def _cases(manifest: Manifest) -> set[str]:
    """The names of the cases that a run has records of."""
    return {str(case.get("case")) for case in manifest.get("cases") or [] if case.get("record")}


def _machine(manifest: Manifest) -> list[Any]:
    return [(manifest.get("host") or {}).get(fact) for fact in consistency.MACHINE]
