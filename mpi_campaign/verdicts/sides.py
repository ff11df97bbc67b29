"""The sides of a comparison: what a person's words mean, and which launches of the archive they select.

    20261121T224108Z-554aa3, last, last~1, a run's folder     a run
    openmpi@5.0.11, openmpi                                   a toolchain; of a bare name the newest version there is
    async                                                     a configuration
    cluster                                                   a system of the archive
    2026-11-01..2026-11-20, 2026-11-01.., ..2026-11-20        a range of dates, both ends included
    baseline                                                  the runs from which the system's references were made

Where words are joined by commas, all must hold: ``mpich@5.0.2,async,2026-11-01..``. Beside a system, `last` is the
newest run of that system.
"""

import difflib
import itertools
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mpi_campaign import ROOT, STATE
from mpi_campaign.archive import consistency, references, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.versions import order
from mpi_campaign.processes.progress import Progress
from postprocess.drawing.text import clean, first_of, shortened
from postprocess.records.run import Run
from postprocess.verdicts.history import library_and_version
from postprocess.verdicts.kept_launches import KeptLaunches
from postprocess.verdicts.launches import launch_table

TOOLCHAIN = re.compile(r"[A-Za-z][\w.+-]*@[\w.+^~@-]+")
BASELINE = "baseline"
DATES = re.compile(r"(?P<first>\d{4}-\d{2}-\d{2})?\.\.(?P<last>\d{4}-\d{2}-\d{2})?")

MOST_NAMED = 5
"""The most names of a kind that a message lists."""
MOST_NEAR = 2
"""The most names that are suggested in the place of a wrong one."""
LOG_INTERVAL_S = 10.0

# By what a side may name, the columns that differ with it. Between such sides, these columns do not identify a case.
ALONG = {
    "toolchain": ("toolchain", "provider"),
    "configuration": ("configuration", "given_up_cores"),
    "system": ("system",),
}


@dataclass(frozen=True)
class Side:
    """words: as they were typed, a folder by its name.  runs: the folders of runs that were named, or None.  note: what
    a word stands for, if a person should know.  Other fields: values, or ""."""

    words: str
    runs: tuple[RunFolder, ...] | None = None
    toolchain: str = ""
    configuration: str = ""
    system: str = ""
    first_day: str = ""
    last_day: str = ""
    note: str = ""

    @property
    def of_systems(self) -> str:
        """The system that the side names, or the only system of the runs that it names; else empty."""
        systems = {run.system for run in self.runs or ()}
        return self.system or (systems.pop() if len(systems) == 1 else "")

    def may_hold(self, run: RunFolder) -> bool:
        """Whether a run can have launches of this side, judged by the run's name."""
        day = f"{run.run[:4]}-{run.run[4:6]}-{run.run[6:8]}"
        return (
            (self.runs is None or run in self.runs)
            and self.system in ("", run.system)
            and (not self.first_day or self.first_day <= day)
            and (not self.last_day or day <= self.last_day)
        )

    def may_be_of(self, manifest: Mapping[str, Any]) -> bool:
        """Whether a run with this manifest can have launches of this side: of its toolchain and its configuration."""
        toolchains, cases = (manifest.get(name) or [] for name in ("toolchains", "cases"))
        return all(
            not there or value in ("", *(entry.get(name) for entry in there))
            for there, name, value in (
                (toolchains, "toolchain", self.toolchain),
                (cases, "configuration", self.configuration),
            )
        )

    def launches(self, table: pd.DataFrame, runs: Iterable[RunFolder]) -> pd.DataFrame:
        """The rows of a table of launches that belong to this side, in these runs."""
        if table.empty:
            return table
        mine = {(run.system, run.run) for run in runs}
        systems, names = table["system"].cat, table["run"].cat
        held = [[(system, name) in mine for name in names.categories] for system in systems.categories]
        is_mine = np.array(held)[systems.codes, names.codes]
        for name in ("toolchain", "configuration"):
            if getattr(self, name):
                is_mine &= (table[name] == getattr(self, name)).to_numpy()
        mine_only: pd.DataFrame = table[is_mine]
        return mine_only


def name_two_libraries(one: Side, other: Side) -> bool:
    """Whether both sides name a library, different ones, of one system: they can be measured beside each other."""
    return "" not in (one.toolchain, other.toolchain) and (
        one.toolchain != other.toolchain and one.of_systems == other.of_systems
    )


def parse(words: str, root: Path) -> Side:
    """The side that words mean. Raises CampaignError, which lists what there is."""
    side = Side(words)
    systems = {run.system for run in run_folders.runs(root)}
    # What `last` and a library's bare name mean depends on systems and dates, wherever these stand.
    for word in sorted(
        filter(None, words.split(",")), key=lambda part: part not in systems and not DATES.fullmatch(part)
    ):
        side = _with(side, word, root, systems)
    if side == Side(words):
        raise CampaignError(f"'{words}' names no side: give a run, a toolchain, a configuration, a system or dates")
    names = (Path(part).resolve().name if part and Path(part).is_dir() else part for part in side.words.split(","))
    return replace(side, words=",".join(names))


def _with(side: Side, word: str, root: Path, systems: Collection[str]) -> Side:
    """A side narrowed by one more word. Raises CampaignError for a word without meaning, or with one that is taken."""
    if (dates := DATES.fullmatch(word)) and word != "..":
        for day in filter(None, dates.groups()):
            _check_day(day)
        if dates["first"] and dates["last"] and dates["first"] > dates["last"]:
            raise CampaignError(f"'{word}': the first date is after the last one")
        return _narrowed(side, word, first_day=dates["first"] or "", last_day=dates["last"] or "")
    if TOOLCHAIN.fullmatch(word):
        return _narrowed(side, word, toolchain=word)
    if word == BASELINE:
        return _narrowed(side, word, runs=_baseline(side, root))
    if word in CONFIGURATIONS:
        return _narrowed(side, word, configuration=word)
    if word in systems:
        return _narrowed(side, word, system=word)
    try:
        run = run_folders.find(word, root, side.system)
    except CampaignError as error:
        toolchains = toolchains_of(filter(side.may_hold, run_folders.runs(root)))
        if versions := [name for name in toolchains if name.partition("@")[0] == word]:
            return _of_library(side, word, max(versions, key=lambda name: (release(name)[0] == word, release(name)[1])))
        raise CampaignError(_no_side(word, toolchains, systems, error)) from error
    return _narrowed(side, word, runs=(run,))


def release(toolchain: str) -> tuple[str, tuple[tuple[int, ...], bool, str]]:
    """The library of a toolchain, with what tells its builds apart, and by what its releases are sorted: a candidate
    comes before its release."""
    library, version = library_and_version(toolchain)
    return library, order(version)


def pinned(words: str, root: Path) -> str:
    """The words of a side with the run that `last` names now, so that they name it later too. Raises CampaignError."""

    def is_last(part: str) -> bool:
        return run_folders.LAST.fullmatch(part.rpartition("/")[2]) is not None

    parts = words.split(",")
    if any(map(is_last, parts)):
        (run, *_) = parse(words, root).runs or ()
        parts = [f"{run.system}/{run.run}" if is_last(part) else part for part in parts]
    return ",".join(parts)


def _no_side(word: str, toolchains: Sequence[str], systems: Collection[str], error: CampaignError) -> str:
    """That a word names nothing; what is nearest to it, or else what there is, and how it is written."""
    libraries = dict.fromkeys(name.partition("@")[0] for name in toolchains)
    names = [*toolchains, *libraries, *CONFIGURATIONS, *sorted(systems), "last", BASELINE]
    near = difflib.get_close_matches(word, names, MOST_NEAR)
    if near and not run_folders.LAST.fullmatch(word):
        return f"'{word}' is no run, library, configuration or system here; did you mean {' or '.join(near)}?"
    return (
        f"{error}; or a library (there are: {first_of(toolchains, MOST_NAMED) or 'none'}), a configuration "
        f"({', '.join(CONFIGURATIONS)}), a system ({first_of(sorted(systems), MOST_NAMED) or 'none'}), or dates "
        "(2026-11-01..2026-11-20)"
    )


def _there_are(toolchains: Sequence[str], lacking: str) -> str:
    """The toolchains that there are, those first whose names are nearest to the one that is lacking."""
    near = difflib.get_close_matches(lacking, toolchains, MOST_NAMED)
    return f"there are: {first_of(dict.fromkeys([*near, *toolchains]), MOST_NAMED) or 'none'}"


def check_known(sides: Iterable[Side], runs: Iterable[RunFolder]) -> None:
    """Refuse a side with a toolchain that no run has. Raises CampaignError."""
    asked = [side.toolchain for side in sides if side.toolchain]
    toolchains = toolchains_of(runs) if asked else []
    if lacking := [toolchain for toolchain in asked if toolchain not in toolchains]:
        raise CampaignError(f"no run has {clean(lacking[0])}; {_there_are(toolchains, lacking[0])}")


def toolchains_of(runs: Iterable[RunFolder]) -> list[str]:
    """The toolchains of runs, by name. A person sees how far the reading is."""
    names: set[str] = set()
    for _run, manifest in manifests(runs):
        names |= {str(entry.get("toolchain")) for entry in manifest.get("toolchains") or []}
    return sorted(names)


def manifests(runs: Iterable[RunFolder]) -> Iterator[tuple[RunFolder, dict[str, Any]]]:
    """Yield runs with their manifests. Those in packs are unpacked when they are first read, and a person sees that."""
    progress, given = _progress(), list(runs)
    try:
        for number, run in enumerate(given, 1):
            progress.status(f"looking at run {run.run}, {number} of {len(given)}")
            yield run, run_folders.manifest_or_none(run)
    finally:
        progress.status("")


def _progress() -> Progress:
    """What a person sees of a reading that takes its time, also in a log."""
    return Progress(1, sys.stderr, log_interval_s=LOG_INTERVAL_S)


def _of_library(side: Side, library: str, newest: str) -> Side:
    """A side narrowed to the newest version of a library, which is told. Raises CampaignError."""
    words = ",".join(newest if part == library else part for part in side.words.split(","))
    narrowed = _narrowed(side, library, toolchain=newest)
    return replace(narrowed, words=words, note=f"{library} is {clean(newest)}, the newest version there is")


def _baseline(side: Side, root: Path) -> tuple[RunFolder, ...]:
    """The runs from which references were made, of a side's system or of the only system that has references. Raises
    CampaignError."""
    having = [path.parent.name for path in sorted((ROOT / "systems").glob(f"*/{references.FILE}"))]
    if not side.system and len(having) != 1:
        raise CampaignError(
            f"'baseline': {'several systems have' if having else 'no system has'} references "
            f"({', '.join(having) or './campaign baseline RUNS... makes them'}); name one, such as SYSTEM,baseline"
        )
    system = side.system or having[0]
    return tuple(run_folders.find(str(root / system / run), root) for run in references.runs_of(system))


def _narrowed(side: Side, word: str, **values: Any) -> Side:
    for name in values:
        if getattr(side, name):
            raise CampaignError(f"'{side.words}' names two of one kind, the second is '{word}': leave out one")
    return replace(side, **values)


def _check_day(day: str) -> None:
    try:
        date.fromisoformat(day)
    except ValueError as error:
        raise CampaignError(f"'{day}' is no date: {error}; write it as 2026-11-20") from error


def differ(sides: Sequence[Side]) -> tuple[str, ...]:
    """The columns in which the sides differ on purpose: every side names a value, and the values differ. A column that
    only some sides name selects their launches; launches of the other sides are matched by it."""
    differing = []
    for name in ALONG:
        values = [side.of_systems if name == "system" else getattr(side, name) for side in sides]
        if all(values) and len(set(values)) > 1:
            differing.append(name)
    return tuple(column for name in differing for column in ALONG[name])


def load(sides: Sequence[Side], within: Side | None, root: Path) -> tuple[list[pd.DataFrame], list[str]]:
    """The launches of each side, and what could not be read, a line each.

    Where neither a side nor `within` names runs or dates, the launches are from the newest run that has some of every
    side: times of different runs are compared only on request.  Raises CampaignError where a side has no launches.
    """
    if within is not None and (within.toolchain or within.configuration):
        raise CampaignError(f"--within '{within.words}' names more than runs: give a run, a system or dates")
    runs_named = [run for side in (*sides, *filter(None, [within])) for run in side.runs or ()]
    runs = list(dict.fromkeys([*run_folders.ended(root), *runs_named]))
    if within is not None:
        runs = [run for run in runs if within.may_hold(run)]
    if within is None and not any(side.runs is not None or side.first_day or side.last_day for side in sides):
        return _of_newest(sides, runs)
    kept, problems = consistency.together([run for run in runs if any(side.may_hold(run) for side in sides)])
    return _launches_in(sides, kept, problems)


def _launches_in(
    sides: Sequence[Side], kept: Sequence[RunFolder], problems: Sequence[str]
) -> tuple[list[pd.DataFrame], list[str]]:
    """The launches of each side in these runs, and the problems with those of reading them added."""
    table, unread = launches_of(kept)
    notes = [*problems, *not_whole(kept), *unread]
    return _apart(sides, [_launches(side, table, kept, notes) for side in sides]), notes


def not_whole(runs: Iterable[RunFolder]) -> list[str]:
    """A line about the runs that are not complete, if there are any. What they have counts, case by case."""
    names = [clean(run.run) for run in runs if not run.is_complete]
    if len(names) == 1:
        return [f"run {names[0]} is not complete: what it has counts"]
    return [f"{len(names)} runs are not complete, {names[0]} to {names[-1]}: what they have counts"] if names else []


def launches_of(
    runs: Collection[RunFolder], loaded: Run | None = None, *, every_method: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """The launches of runs, as `launch_table` has them. A person sees how far the reading is."""
    progress = _progress()
    kept = KeptLaunches(STATE / "launches")
    paths, damaged = [], []
    for run in runs:
        try:
            paths.append(run.path)
        except CampaignError as error:  # a pack that cannot be unpacked
            damaged.append(str(error))

    def tell(done: int, of: int) -> None:
        progress.status(f"reading {done} of {of} runs")

    table, unread = launch_table(paths, tell, kept, loaded, every_method=every_method)
    progress.status("")
    return table, [*damaged, *unread]


def _of_newest(sides: Sequence[Side], runs: Sequence[RunFolder]) -> tuple[list[pd.DataFrame], list[str]]:
    """The launches of the newest run with some of every side. Sides that are systems have their own newest run each."""
    if len({side.system for side in sides}) > 1:
        of_sides = [_newest([side], runs) for side in sides]
        newest, problems = consistency.together(list(dict.fromkeys(run for newest, _ in of_sides for run in newest)))
        return _launches_in(sides, newest, [*problems, *(line for _, unread in of_sides for line in unread)])
    newest, problems = _newest(sides, runs)
    if newest:
        return _launches_in(sides, newest, problems)
    check_known(sides, runs)
    words = " and ".join(side.words for side in sides)
    raise CampaignError(
        f"no run has launches of {words}; name runs with --within, or measure both in one: "
        "./campaign run --toolchain A --toolchain B --repeat 5"
    )


def _newest(sides: Sequence[Side], runs: Sequence[RunFolder]) -> tuple[list[RunFolder], list[str]]:
    """The newest run with launches of every side, as a list that may be empty; and what newer runs have unreadable."""
    problems: list[str] = []
    for run, manifest in manifests(run for run in reversed(runs) if all(side.may_hold(run) for side in sides)):
        if run_folders.AGAIN_OF in manifest or not all(side.may_be_of(manifest) for side in sides):
            continue  # what was measured again has a few cases of its night
        table, unread = launches_of([run])
        if all(len(side.launches(table, [run])) for side in sides):
            return [run], problems
        problems += unread
    return [], problems


def _launches(side: Side, table: pd.DataFrame, kept: Sequence[RunFolder], problems: Sequence[str]) -> pd.DataFrame:
    """The launches of a side. Raises CampaignError where there are none."""
    launches = side.launches(table, filter(side.may_hold, kept))
    if launches.empty:
        why = "".join(f"; {line}" for line in shortened(problems))
        toolchains = toolchains_of(kept)
        what = "see what there is with ./campaign results list"
        if side.toolchain and toolchains and side.toolchain not in toolchains:
            what = f"in these runs {_there_are(toolchains, side.toolchain)}"
        raise CampaignError(f"side '{side.words}' has no launches: {what}{why}")
    return launches


def _apart(sides: Sequence[Side], launches_of_sides: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """The launches of all sides, if no launch is on two sides. Raises CampaignError otherwise."""
    for (side, launches), (another, others) in itertools.combinations(zip(sides, launches_of_sides, strict=True), 2):
        common = launches.index.intersection(others.index)
        if len(common):
            raise CampaignError(
                f"sides '{side.words}' and '{another.words}' have {len(common)} launches in common, and nothing can be "
                "compared with itself: narrow them, such as by dates or by a second name after a comma"
            )
    return launches_of_sides
