"""`campaign history`: since when a case is slower or silent, what changed in that run, what is acknowledged."""

import functools
import hashlib
import itertools
import json
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from mpi_campaign import files
from mpi_campaign.archive import consistency, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, CampaignError
from mpi_campaign.processes import locks
from mpi_campaign.verdicts import comparing, sides
from mpi_campaign.verdicts.sides import Side
from postprocess.drawing.text import clean, plural, short, shortened
from postprocess.statistics.limits import Limits
from postprocess.verdicts.compare import FASTER, METRICS
from postprocess.verdicts.compare_text import POINT_AXES, effect_words, names_of, target_words, value_words
from postprocess.verdicts.history import (
    FEWEST,
    WAVE,
    Change,
    Series,
    changes_of,
    library_and_version,
    manifest_changes,
    searched,
    series_of,
    standing,
    without_sizes,
)
from postprocess.verdicts.launches import of_newest_methods
from postprocess.verdicts.silence import Silence, silences
from postprocess.verdicts.verdict_page import history_view, render

T = TypeVar("T")
FILE = "acknowledged.json"
MOST_CAUSES, MOST_LINES = 20, 12
"""The most causes that are told, and the most lines about each of their parts: nobody reads more."""
IN_WHOLE = ", in --json and --html"
NOTHING_KNOWN = "no difference of the manifests explains it"


@dataclass(frozen=True)
class Alarm:
    """A change in a series, what changed with it in the manifests, and the words that acknowledge it, if any.  last:
    the last run of its series.  silent: whether nobody measures its case any more, which is told by itself."""

    change: Change
    system: str
    explained: tuple[str, ...]
    acknowledged: str
    stands: bool
    last: str
    silent: bool

    @property
    def rings(self) -> bool:
        """Whether somebody should look at the change."""
        return self.stands and not self.acknowledged and not self.silent

    @property
    def state(self) -> str:
        """The state of the alarm in a word."""
        if self.change.verdict == FASTER:
            return "better"
        if self.change.verdict == WAVE:
            return "wave"
        if self.acknowledged or not self.stands:
            return "acknowledged" if self.acknowledged else "past"
        return "silent" if self.silent else "ALARM"

    @property
    def cause(self) -> tuple[object, ...]:
        """What it has in common with other changes, which are told together."""
        change, others = self.change, (self.explained, self.acknowledged)
        return (self.state, self.system, change.verdict, change.before, change.run, *others)


@dataclass(frozen=True)
class Found:
    """What a history tells.  alarms: oldest first.  unmeasured: what is silent."""

    alarms: Sequence[Alarm]
    unmeasured: Sequence[Silence]
    series: Sequence[Series]

    @property
    def ringing(self) -> int:
        """At how many things somebody should look."""
        return sum(alarm.rings for alarm in self.alarms) + sum(not silence.acknowledged for silence in self.unmeasured)

    @property
    def causes(self) -> list[list[Alarm]]:
        """The changes with one cause, which began in one run; those that ring first, of these the newest."""
        newest_first = sorted(self.alarms, key=lambda alarm: alarm.change.run, reverse=True)
        return alike(sorted(newest_first, key=lambda alarm: not alarm.rings), lambda alarm: alarm.cause)

    @property
    def silent(self) -> list[list[Silence]]:
        """What is silent for one reason since one run; what nobody has acknowledged first."""
        by_words = sorted(self.unmeasured, key=lambda silence: silence.acknowledged)
        return alike(
            by_words,
            lambda silence: (silence.acknowledged, silence.case["system"], silence.last, silence.since, silence.reason),
        )


def alike(things: Iterable[T], by: Callable[[T], Hashable]) -> list[list[T]]:
    """The things in groups, in their order."""
    groups: dict[Hashable, list[T]] = defaultdict(list)
    for thing in things:
        groups[by(thing)].append(thing)
    return list(groups.values())


def name_of(names: Sequence[str]) -> str:
    """The name for `--acknowledge` of what is told together: its own, or one of all of them."""
    return names[0] if len(names) == 1 else hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:10]


@dataclass(frozen=True)
class Acknowledged:
    """An acknowledged alarm: case and metric (`Change.own_key`), run, size of the change, and why it may be quiet."""

    name: str
    case: tuple[str, ...]
    run: str
    effect: float
    because: str

    def is_of(self, change: Change, runs: Sequence[str], limits: Limits) -> bool:
        """Whether a change of the same series is the acknowledged one. The place of a change may move by a few runs
        when more runs are known, but its size may not grow."""
        if METRICS[change.metric].is_worse(change.effect, self.effect, limits):
            return False
        away = abs(bisect_left(runs, self.run) - bisect_left(runs, change.run))
        return away < FEWEST


@dataclass(frozen=True)
class HistoryRequest:
    """What a person asked of a history: the words of a side, or none; the metrics; what counts as a change."""

    words: str
    metrics: Sequence[str]
    limits: Limits


def run(asked: HistoryRequest, root: Path, html: Path | None, *, as_json: bool) -> int:
    """Print the changes over the runs of a side, and write them as a page. Returns 1 where an alarm rings. Raises
    CampaignError."""
    findings = find(asked, root)
    if html is not None:
        notes = [(alarm.change, alarm.state, alarm.last, "; ".join(alarm.explained)) for alarm in findings.alarms]
        title = f"Since when is it slower? {asked.words or 'all runs'}"
        view = history_view(title, notes, findings.series, answer(findings), coverage(findings), findings.unmeasured)
        comparing.write(html, render(view))
    print(as_json_text(findings) if as_json else as_text(findings))
    return EXIT_FAILED if findings.ringing else EXIT_GOOD


class NoLaunchesError(CampaignError):
    """There are runs, and none has a launch that can be looked at."""


def find(asked: HistoryRequest, root: Path, acknowledged_in: Path | None = None) -> Found:
    """The alarms of a side's runs. A run that is not complete counts with the cases that it has, unless it still
    grows. Raises CampaignError.

    acknowledged_in: the archive in which alarms were acknowledged; None: that of the runs.
    """
    metrics = comparing.metrics(asked.metrics)
    side = sides.parse(asked.words, root) if asked.words else Side("")
    of = f" of '{side.words}'" if side.words else ""
    runs, problems = consistency.together(filter(side.may_hold, run_folders.ended(root)))
    if not runs:
        raise CampaignError(f"there is no run{of}: see what there is with ./campaign results list")
    if not side.note:  # a name without a version is of all versions
        sides.check_known([side], runs)
    every, unread = sides.launches_of(runs, every_method=True)
    entries_of = {system: acknowledged(acknowledged_in or root, system) for system in {run.system for run in runs}}
    because_of = {entry.name: entry.because for entries in entries_of.values() for entry in entries}

    def manifest(system: str, name: str) -> dict[str, Any]:
        return run_folders.manifest_or_none(RunFolder(root, system, name))

    nights = {system: [run.run for run in runs if run.system == system] for system in entries_of}
    silent = [
        replace(silence, acknowledged=because_of.get(silence.name, ""))
        for silence in silences(every, nights, manifest)  # of every method: a case may end together with one
        if side.configuration in ("", silence.case.get("configuration", "")) and _is_of(side, silence.case["toolchain"])
    ]
    table, older = of_newest_methods(every)
    del every  # it may be as large as the table
    comparing.complain([*problems, *sides.not_whole(runs), *unread, *older])
    launches = replace(side, toolchain="").launches(table, runs)
    of_side = searched(series_of(launches, metrics)) if len(launches) else []
    series = [each for each in of_side if _is_of(side, *each.toolchains)]
    if not (series or silent):
        raise NoLaunchesError(f"no run has a launch{of}: see what they have with ./campaign results list")
    changes = changes_of(series, asked.limits)
    still = {change.name for change in standing(changes, series, asked.limits)}
    acknowledged_by_case = {system: _by_case(entries) for system, entries in entries_of.items()}
    by_key = {its_values.key: its_values for its_values in series}

    @functools.cache
    def explained(system: str, before: str, after: str, toolchains: tuple[str, str]) -> tuple[str, ...]:
        """What changed in the manifests between two runs. It is read once, though many cases may change in a night."""
        old, new = (manifest(system, name) for name in (before, after))
        return tuple(manifest_changes(old, new, toolchains)) if old and new else ("a manifest cannot be read",)

    def alarm(change: Change) -> Alarm:
        system, its = str(change.case["system"]), by_key[change.key]
        entries = itertools.chain.from_iterable(acknowledged_by_case[system].get(key, []) for key in its.own_keys)
        because = next((entry.because for entry in entries if entry.is_of(change, its.runs, asked.limits)), "")
        why = explained(system, change.before, change.run, change.toolchains)
        is_silent = any(silence.holds(its.case) for silence in silent if not silence.reason)
        return Alarm(change, system, why, because, change.name in still, its.runs[-1], is_silent)

    return Found([alarm(change) for change in changes], silent, series)


def _is_of(side: Side, *toolchains: str) -> bool:
    """Whether a series with these toolchains is of a side: of a version, or of any version of a bare name."""
    if side.note:
        return library_and_version(side.toolchain)[0] in {library_and_version(name)[0] for name in toolchains}
    return side.toolchain in ("", *toolchains)


def _by_case(entries: Iterable[Acknowledged]) -> dict[tuple[str, ...], list[Acknowledged]]:
    by_case: dict[tuple[str, ...], list[Acknowledged]] = defaultdict(list)
    for entry in entries:
        by_case[entry.case].append(entry)
    return by_case


def acknowledged(root: Path, system: str) -> list[Acknowledged]:
    """The acknowledged alarms of a system. Raises CampaignError where their file is not as it was written."""
    path = root / system / FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return [
            Acknowledged(
                str(name),
                tuple(map(str, entry["case"])),
                str(entry["run"]),
                float(entry["effect"]),
                str(entry["because"]),
            )
            for name, entry in document.items()
        ]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise CampaignError(f"{path} cannot be read: {error}") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise CampaignError(
            f"{path} is not what `history --acknowledge` writes: name, case, run, effect, why"
        ) from error


def acknowledge(names: Sequence[str], because: str, asked: HistoryRequest, root: Path) -> list[str]:
    """Acknowledge alarms, of those that the same history shows: they stay quiet. Returns a line about each name. A name
    may be that of a change, or of all that is told together. Raises CampaignError."""
    findings = find(asked, root)
    entries: dict[str, list[tuple[str, Acknowledged]]] = {}  # of a name: the systems, and what is kept there
    for together in (
        *([(alarm.system, _of_change(alarm.change, because)) for alarm in of_cause] for of_cause in findings.causes),
        *(
            [(silence.case["system"], _of_silence(silence, because)) for silence in silent]
            for silent in findings.silent
        ),
    ):
        entries[name_of([entry.name for _, entry in together])] = together
        entries |= {entry.name: [(system, entry)] for system, entry in together}
    missing = next((name for name in names if name not in entries), None)
    if missing is not None:
        names_of_all = "; ".join(shortened(list(entries))) or "none"
        raise CampaignError(f"there is no alarm '{missing}'; there are: {names_of_all}")
    chosen = [entry for name in names for entry in entries[name]]
    for system in {system for system, _ in chosen}:
        path = root / system / FILE
        try:
            with _locked(path.parent):
                by_name = {entry.name: entry for entry in acknowledged(root, system)}
                by_name |= {entry.name: entry for its, entry in chosen if its == system}
                document = {entry.pop("name"): entry for entry in map(asdict, by_name.values())}
                files.write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        except OSError as error:
            raise CampaignError(f"{path} cannot be written ({error.strerror})") from error
    return [f"{name}, since {entries[name][0][1].run}, {plural(len(entries[name]), 'case')}" for name in names]


def _of_change(change: Change, because: str) -> Acknowledged:
    return Acknowledged(change.name, change.own_key, change.run, change.effect, because)


def _of_silence(silence: Silence, because: str) -> Acknowledged:
    return Acknowledged(silence.name, silence.key, silence.since, 0.0, because)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a system's folder of the archive against changes by others. Raises OSError."""
    with (
        run_folders.open_lock(folder / ".lock") as lock,
        locks.held(
            lock, f"another campaign is changing what is in {folder}", lambda text: print(text, file=sys.stderr)
        ),
    ):
        yield


def as_text(findings: Found) -> str:
    """What `history` prints: what is silent, then the changes, by what they have in common."""
    blocks = [*map(_silence_lines, findings.silent), *map(_cause_lines, findings.causes)]
    parts = shortened(["\n".join(map(clean, lines)) for lines in blocks], MOST_CAUSES, IN_WHOLE)
    return "\n\n".join([coverage(findings), *parts, answer(findings)])


def coverage(findings: Found) -> str:
    """A line that says in how many series a change could be found, and why in others it cannot."""
    series, least = findings.series, 2 * FEWEST
    looked = sum(history.values.size >= least for history in series)
    runs = len({run for history in series for run in history.runs})
    words = f"{looked} of {len(series)} series have the {least} nights that it takes, of {runs} in all"
    if young := sum(history.values.size < least and history.newest is not None for history in series):
        words += f"; of {young} more the newest night is judged by how much nights differ"
    if looked == len(series):
        return words
    by_case: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for history in series:
        by_case[without_sizes(history)].append(history.values.size)
    own = [sizes for sizes in by_case.values() if sum(sizes) >= least > max(sizes)]
    if not own:
        return words
    return (
        f"in {len(own)} of {len(by_case)} cases no alarm can ring: runs calibrated sizes of their own, and at most "
        f"{max(map(max, own))} of {runs} have the same ({words})"
    )


def answer(findings: Found) -> str:
    """The alarms, counted in a line."""
    unmeasured = f"{len(findings.unmeasured)} not measured any more, " if findings.unmeasured else ""
    items: list[Alarm | Silence] = [*findings.alarms, *findings.unmeasured]
    quiet = sum(bool(item.acknowledged) for item in items)
    alarms = plural(findings.ringing, "alarm")
    return f"{plural(len(findings.alarms), 'change')}, {unmeasured}{alarms}, {quiet} acknowledged"


def _silence_lines(silent: Sequence[Silence]) -> list[str]:
    first = silent[0]
    return [
        f"{first.state} {name_of([silence.name for silence in silent])} not measured since {first.since}: "
        f"{first.case['system']}, {plural(first.nights, 'night')}; last measured in {first.last}; {short(first.why)}",
        *_indented(" ".join(filter(None, names_of(silence.case))) for silence in silent),
        *_indented([f"acknowledged: {first.acknowledged}"] * bool(first.acknowledged)),
    ]


def _cause_lines(alarms: Sequence[Alarm]) -> list[str]:
    """What changed in one run for one reason: what else changed, then a line for each map and metric."""
    first = alarms[0]
    change = first.change
    names = name_of([alarm.change.name for alarm in alarms])
    worst_first = sorted((alarm.change for alarm in alarms), key=lambda change: change.size, reverse=True)
    return [
        f"{first.state} {names} {change.verdict} since {change.run}: {first.system}, {plural(len(alarms), 'case')}; "
        f"last measured in {max(alarm.last for alarm in alarms)}",
        *_indented(f"changed after {change.before}: {short(why)}" for why in first.explained or [NOTHING_KNOWN]),
        *_indented([f"acknowledged: {first.acknowledged}"] * bool(first.acknowledged)),
        *_indented(map(_map_words, alike(worst_first, _map_of))),
    ]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"      {line}" for line in shortened(list(lines), MOST_LINES, IN_WHOLE)]


def _map_of(change: Change) -> str:
    return f"{' '.join(filter(None, names_of(change.case)))} {METRICS[change.metric].title}"


def _map_words(changes: Sequence[Change]) -> str:
    """The changes of a map in one metric, the largest one first: that one, and between what the others are."""
    most = changes[0]
    ends = [effect_words(most.metric, end) for end in (most.low, most.high)]
    targets = zip((axis.title for axis in POINT_AXES), target_words(most.case), strict=True)
    least = effect_words(most.metric, changes[-1].effect)
    several = f"{len(changes)} cases, from {least}; the largest: " if len(changes) > 1 else ""
    return f"{_map_of(most)}: {several}" + ", ".join(
        [
            *(f"{what} {target}" for what, target in targets if target),
            f"{value_words(most.metric, most.value_before)} -> {value_words(most.metric, most.value_after)}",
            f"{effect_words(most.metric, most.effect)} [{', '.join(ends)}]",
            most.nights_words,
            f"adjusted p {most.q_value:.1g}",
        ]
    )


def as_json_text(findings: Found) -> str:
    """What `history --json` prints."""
    causes = {
        alarm.change.name: name_of([each.change.name for each in alike]) for alike in findings.causes for alarm in alike
    }
    entries = [
        {
            "name": alarm.change.name,
            "cause": causes[alarm.change.name],
            "rings": alarm.rings,
            "stands": alarm.stands,
            "acknowledged": alarm.acknowledged,
            "verdict": alarm.change.verdict,
            "first_run": alarm.change.run,
            "last_run_before": alarm.change.before,
            "toolchain": alarm.change.toolchains[1],
            "toolchain_before": alarm.change.toolchains[0],
            "case": {name: _plain(value) for name, value in alarm.change.case.items()},
            "metric": alarm.change.metric,
            "value_before": alarm.change.value_before,
            "value_after": alarm.change.value_after,
            "effect": alarm.change.effect,
            "effect_ci95": [alarm.change.low, alarm.change.high],
            "q_value": alarm.change.q_value,
            "runs": alarm.change.runs,
            "changed": alarm.explained,
            "state": alarm.state,
            "last_run": alarm.last,
        }
        for alarm in findings.alarms
    ]
    silent = [
        {
            **vars(silence),
            "name": silence.name,
            "rings": not silence.acknowledged,
            "state": silence.state,
            "case": {name: _plain(value) for name, value in silence.case.items()},
        }
        for silence in findings.unmeasured
    ]
    document = {
        "schema": "mpi-campaign.history",
        "schema_version": 1,
        "series": len(findings.series),
        "coverage": coverage(findings),
        "answer": answer(findings),
        "changes": entries,
        "not_measured": silent,
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
