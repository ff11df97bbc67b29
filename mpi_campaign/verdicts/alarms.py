"""`campaign history`: since when a case is slower, what changed in that run, and which alarms are acknowledged."""

import functools
import itertools
import json
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mpi_campaign import files
from mpi_campaign.archive import consistency, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, CampaignError
from mpi_campaign.processes import locks
from mpi_campaign.verdicts import comparing, sides
from mpi_campaign.verdicts.sides import Side
from postprocess.drawing.text import clean, plural
from postprocess.statistics.limits import Limits
from postprocess.verdicts.compare import FASTER, METRICS
from postprocess.verdicts.compare_text import POINT_AXES, effect_words, names_of, target_words, value_words
from postprocess.verdicts.history import (
    FEWEST,
    WAVE,
    Change,
    Series,
    changes_of,
    manifest_changes,
    searched,
    series_of,
    standing,
)
from postprocess.verdicts.verdict_page import history_view, render

FILE = "acknowledged.json"


@dataclass(frozen=True)
class Alarm:
    """A change in a series, what changed with it in the manifests, and the words that acknowledge it, if any."""

    change: Change
    system: str
    explained: tuple[str, ...]
    acknowledged: str
    stands: bool

    @property
    def rings(self) -> bool:
        """Whether somebody should look at the change."""
        return self.stands and not self.acknowledged

    @property
    def state(self) -> str:
        """The state of the alarm in a word."""
        if self.change.verdict == FASTER:
            return "better"
        if self.change.verdict == WAVE:
            return "wave"
        return "ALARM" if self.rings else "acknowledged" if self.acknowledged else "past"


@dataclass(frozen=True)
class Acknowledged:
    """An acknowledged alarm: case and metric (`Change.own_key`), run, size of the change, and why it may be quiet."""

    name: str
    case: tuple[str, ...]
    run: str
    effect: float
    because: str

    def is_of(self, change: Change, runs: Sequence[str], limits: Limits) -> bool:
        """Whether a change of the same series is the acknowledged one.

        The place of a change may move by a few runs when more runs are known, but its size may not grow.
        """
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
    """Print the changes over the runs of a side, and write them as a page. Returns 1 where an alarm rings.

    Raises CampaignError.
    """
    alarms, series = find(asked, root)
    if html is not None:
        notes = [(alarm.change, alarm.state, "; ".join(alarm.explained)) for alarm in alarms]
        title = f"Since when is it slower? {asked.words or 'all runs'}"
        comparing.write(html, render(history_view(title, notes, series, answer(alarms), coverage(series))))
    print(as_json_text(alarms, series) if as_json else as_text(alarms, series))
    return EXIT_FAILED if any(alarm.rings for alarm in alarms) else EXIT_GOOD


def find(asked: HistoryRequest, root: Path) -> tuple[list[Alarm], list[Series]]:
    """The alarms of a side's runs, oldest first, and the series that were searched. Raises CampaignError."""
    metrics = comparing.metrics(asked.metrics)
    side = sides.parse(asked.words, root) if asked.words else Side("")
    whole = [run for run in run_folders.runs(root) if run.path == run.archived and side.may_hold(run)]
    if not whole:
        of = f" of '{asked.words}'" if asked.words else ""
        raise CampaignError(f"there is no complete run{of}: see what there is with ./campaign results list")
    runs, problems = consistency.together(whole)
    table, unread = sides.launches_of(runs)
    for problem in (*problems, *unread):
        print(f"campaign: {problem}", file=sys.stderr)
    launches = side.launches(table, runs)
    if launches.empty:
        of = f" of '{asked.words}'" if asked.words else ""
        raise CampaignError(f"no run has a launch{of}: see what they have with ./campaign results list")
    series = searched(series_of(launches, metrics))
    changes = changes_of(series, asked.limits)
    still = {change.name for change in standing(changes, series, asked.limits)}
    known = {system: _by_case(acknowledged(root, system)) for system in {run.system for run in runs}}
    by_key = {its_values.key: its_values for its_values in series}

    @functools.cache
    def explained(system: str, before: str, after: str, toolchains: tuple[str, str]) -> tuple[str, ...]:
        """What changed in the manifests between two runs. It is read once, though many cases may change in a night."""
        old, new = (_manifest(RunFolder(root, system, name)) for name in (before, after))
        return tuple(manifest_changes(old, new, toolchains)) if old and new else ("a manifest cannot be read",)

    def alarm(change: Change) -> Alarm:
        system, its = str(change.case["system"]), by_key[change.key]
        entries = itertools.chain.from_iterable(known[system].get(key, []) for key in its.own_keys)
        because = next((entry.because for entry in entries if entry.is_of(change, its.runs, asked.limits)), "")
        why = explained(system, change.before, change.run, change.toolchains)
        return Alarm(change, system, why, because, stands=change.name in still)

    return [alarm(change) for change in changes], series


def _by_case(entries: Iterable[Acknowledged]) -> dict[tuple[str, ...], list[Acknowledged]]:
    by_case: dict[tuple[str, ...], list[Acknowledged]] = defaultdict(list)
    for entry in entries:
        by_case[entry.case].append(entry)
    return by_case


def _manifest(run_: RunFolder) -> dict[str, Any]:
    try:
        return run_folders.read_manifest(run_)
    except CampaignError:
        return {}


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


def acknowledge(names: Sequence[str], because: str, asked: HistoryRequest, root: Path) -> list[Alarm]:
    """Acknowledge alarms, of those that the same history shows: they stay quiet. Raises CampaignError."""
    alarms, _ = find(asked, root)
    by_name = {alarm.change.name: alarm for alarm in alarms}
    missing = next((name for name in names if name not in by_name), None)
    if missing is not None:
        raise CampaignError(f"there is no alarm '{missing}'; there are: {', '.join(by_name) or 'none'}")
    chosen = [by_name[name] for name in names]
    for system in {alarm.system for alarm in chosen}:
        path = root / system / FILE
        try:
            with _locked(path.parent):
                known = {entry.name: entry for entry in acknowledged(root, system)}
                for alarm in chosen:
                    if alarm.system == system:
                        change = alarm.change
                        known[change.name] = Acknowledged(
                            change.name, change.own_key, change.run, change.effect, because
                        )
                document = {entry.pop("name"): entry for entry in map(asdict, known.values())}
                files.write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        except OSError as error:
            raise CampaignError(f"{path} cannot be written ({error.strerror})") from error
    return chosen


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


def as_text(alarms: Sequence[Alarm], series: Sequence[Series]) -> str:
    """What `history` prints."""
    lines = [coverage(series)]
    lines += [line for alarm in alarms for line in ("", *_alarm_lines(alarm))]
    return "\n".join([*lines, "", answer(alarms)])


def coverage(series: Sequence[Series]) -> str:
    """A line that says in how many series a change could be found."""
    looked = [case_series for case_series in series if case_series.values.size >= 2 * FEWEST]
    runs = len({run_ for case_series in series for run_ in case_series.runs})
    return f"{len(looked)} of {len(series)} series have the {2 * FEWEST} runs that it takes, of {runs} runs in all"


def answer(alarms: Sequence[Alarm]) -> str:
    """The alarms, counted in a line."""
    ringing = sum(alarm.rings for alarm in alarms)
    acknowledged_count = sum(bool(alarm.acknowledged) for alarm in alarms)
    return f"{plural(len(alarms), 'change')}, {plural(ringing, 'alarm')}, {acknowledged_count} acknowledged"


def _alarm_lines(alarm: Alarm) -> list[str]:
    change = alarm.change
    case = change.case
    targets = zip((axis.title for axis in POINT_AXES), target_words(case), strict=True)
    where = [f"{what} {target}" for what, target in targets if target]
    ends = [effect_words(change.metric, end) for end in (change.low, change.high)]
    lines = [
        f"{alarm.state} {change.name} {change.verdict} since {change.run}: {alarm.system} "
        f"{' '.join(filter(None, names_of(case)))}, {', '.join(where)}",
        f"      {METRICS[change.metric].title}: {value_words(change.metric, change.value_before)} -> "
        f"{value_words(change.metric, change.value_after)}, {effect_words(change.metric, change.effect)} "
        f"[{', '.join(ends)}], {change.nights_words}; adjusted p {change.q_value:.1g}",
    ]
    lines += [
        f"      changed after {change.before}: {explanation}"
        for explanation in alarm.explained or ("nothing that is known",)
    ]
    lines += [f"      acknowledged: {alarm.acknowledged}"] if alarm.acknowledged else []
    return list(map(clean, lines))


def as_json_text(alarms: Sequence[Alarm], series: Sequence[Series]) -> str:
    """What `history --json` prints."""
    entries = [
        {
            "name": alarm.change.name,
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
        }
        for alarm in alarms
    ]
    document = {"schema": "mpi-campaign.history", "schema_version": 1, "series": len(series), "changes": entries}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
