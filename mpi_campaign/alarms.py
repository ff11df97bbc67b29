"""`campaign history`: since when a case is slower, what changed in that run, and which alarms somebody has seen to."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi_campaign import archive, comparing, sides
from mpi_campaign.archive import RunFolder
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, CampaignError
from mpi_campaign.sides import Side
from postprocess.compare import METRICS, Limits
from postprocess.compare_text import effect_words, value_words
from postprocess.history import FEWEST, Change, Series, changes_of, manifest_changes, series_of, standing, with_changes
from postprocess.launches import launch_table
from postprocess.points import configuration_words
from postprocess.text import clean, duration
from postprocess.verdict_page import history_view, render

FILE = "acknowledged.json"


@dataclass(frozen=True)
class Alarm:
    """A change, what changed with it in the manifests, and the words with which it was acknowledged, if it was."""

    change: Change
    system: str
    explained: tuple[str, ...]
    acknowledged: str
    stands: bool

    @property
    def rings(self) -> bool:
        """Whether somebody should look at it."""
        return self.stands and not self.acknowledged

    @property
    def state(self) -> str:
        """In a word."""
        return "ALARM" if self.rings else "acknowledged" if self.acknowledged else "past"


def run(words: str, metrics: Sequence[str], limits: Limits, root: Path, html: Path | None, *, as_json: bool) -> int:
    """Print what changed over the runs of a side, and write it as a page. Returns 1 where an alarm rings.

    Raises CampaignError.
    """
    chosen = comparing.metrics(metrics)
    side = sides.parse(words, root) if words else Side("all runs")
    alarms, series = find(side, chosen, limits, root)
    if html is not None:
        told = [(one.change, one.state, "; ".join(one.explained)) for one in alarms]
        comparing.write(
            html, render(history_view(f"Since when is it slower? {side.words}", told, series, answer(alarms)))
        )
    print(as_json_text(alarms, series) if as_json else as_text(alarms, series))
    return EXIT_FAILED if any(alarm.rings for alarm in alarms) else EXIT_GOOD


def find(side: Side, metrics: Sequence[str], limits: Limits, root: Path) -> tuple[list[Alarm], list[Series]]:
    """The alarms of a side's runs, oldest first, and the series in which they were looked for."""
    runs = [one for one in archive.runs(root) if one.path == one.archived and side.may_hold(one)]
    table, problems = launch_table(one.path for one in runs)
    for problem in problems:
        print(f"campaign: {problem}", file=sys.stderr)
    series = [with_changes(one) for one in series_of(side.launches(table, runs), metrics)]
    changes = changes_of(series, limits)
    still = standing(changes)
    known = {system: acknowledged(root, system) for system in {one.system for one in runs}}
    return [_alarm(one, root, known, stands=one in still) for one in changes], series


def _alarm(change: Change, root: Path, known: Mapping[str, Mapping[str, str]], *, stands: bool) -> Alarm:
    system = str(change.case["system"])
    manifests = [_manifest(RunFolder(root, system, name)) for name in (change.before, change.run)]
    explained = tuple(manifest_changes(*manifests)) if all(manifests) else ("a manifest cannot be read",)
    return Alarm(change, system, explained, known[system].get(change.name, ""), stands)


def _manifest(run_: RunFolder) -> dict[str, Any]:
    try:
        return archive.read_manifest(run_)
    except CampaignError:
        return {}


def acknowledged(root: Path, system: str) -> dict[str, str]:
    """Alarms that somebody has seen to: name -> why. Raises CampaignError where the file is not what was written."""
    path = root / system / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CampaignError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise CampaignError(f"{path} is not what `history --acknowledge` writes: names of alarms, and why")
    return found


def acknowledge(names: Sequence[str], why: str, root: Path) -> list[Alarm]:
    """Keep alarms quiet from now on. Raises CampaignError where there is no such alarm."""
    alarms, _ = find(Side("all runs"), tuple(METRICS), Limits(), root)
    by_name = {alarm.change.name: alarm for alarm in alarms}
    missing = next((name for name in names if name not in by_name), None)
    if missing is not None:
        raise CampaignError(f"there is no alarm '{missing}'; there are: {', '.join(by_name) or 'none'}")
    chosen = [by_name[name] for name in names]
    for system in {alarm.system for alarm in chosen}:
        known = acknowledged(root, system) | {one.change.name: why for one in chosen if one.system == system}
        try:
            archive.write_atomically(root / system / FILE, json.dumps(known, indent=1, ensure_ascii=False) + "\n")
        except OSError as error:
            raise CampaignError(f"{root / system / FILE} cannot be written ({error.strerror})") from error
    return chosen


def as_text(alarms: Sequence[Alarm], series: Sequence[Series]) -> str:
    """What `history` prints."""
    looked = [one for one in series if one.values.size >= 2 * FEWEST]
    runs = len({run_ for one in series for run_ in one.runs})
    lines = [f"{len(looked)} of {len(series)} series have the {2 * FEWEST} runs that it takes, of {runs} runs in all"]
    lines += [line for alarm in alarms for line in ("", *_alarm_lines(alarm))]
    return "\n".join([*lines, "", answer(alarms)])


def answer(alarms: Sequence[Alarm]) -> str:
    """In a line."""
    ringing = sum(alarm.rings for alarm in alarms)
    kept = sum(bool(alarm.acknowledged) for alarm in alarms)
    return f"{len(alarms)} change{'s' * (len(alarms) != 1)}, {ringing} alarm{'s' * (ringing != 1)}, {kept} acknowledged"


def _alarm_lines(alarm: Alarm) -> list[str]:
    change = alarm.change
    case = change.case
    ends = [effect_words(change.metric, end) for end in (change.low, change.high)]
    lines = [
        f"{alarm.state} {change.name} {change.verdict} since {change.run}: {alarm.system} {case['toolchain']} "
        f"{case['network']} {configuration_words(case)} {case['collective']}, communication "
        f"{duration(case['comm_target_ns'])}, computation {duration(case['comp_target_ns'])}",
        f"      {METRICS[change.metric].title}: {value_words(change.metric, change.value_before)} -> "
        f"{value_words(change.metric, change.value_after)}, {effect_words(change.metric, change.effect)} "
        f"[{', '.join(ends)}], {change.runs[0]} runs before, {change.runs[1]} since; "
        f"false-discovery rate {change.q_value:.1g}",
    ]
    lines += [f"      changed after {change.before}: {said}" for said in alarm.explained or ("nothing that is known",)]
    lines += [f"      acknowledged: {alarm.acknowledged}"] if alarm.acknowledged else []
    return list(map(clean, lines))


def as_json_text(alarms: Sequence[Alarm], series: Sequence[Series]) -> str:
    """What `history --json` prints."""
    found = [
        {
            "name": alarm.change.name,
            "rings": alarm.rings,
            "stands": alarm.stands,
            "acknowledged": alarm.acknowledged,
            "verdict": alarm.change.verdict,
            "first_run": alarm.change.run,
            "last_run_before": alarm.change.before,
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
    document = {"schema": "mpi-campaign.history", "schema_version": 1, "series": len(series), "changes": found}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
