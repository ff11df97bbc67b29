"""Cases that were measured night after night and are not any more, because they fail or because nobody asks for them.

A change of a time shows only where a time is measured, so a case that is not measured has an alarm of its own.
"""

import functools
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from postprocess.drawing.text import clean
from postprocess.records.run import cases_of
from postprocess.verdicts.compare import group_columns, placements
from postprocess.verdicts.history import FEWEST, library_and_version
from postprocess.verdicts.launches import numbered, with_keys

NIGHTS = 3
"""In so many nights in a row a case must be missing to be called silent: a bad night or two do not count."""
Manifests = Callable[[str, str], Mapping[str, Any]]
"""The manifest of a run, by system and run; empty where it cannot be read."""


@dataclass(frozen=True)
class Silence:
    """The cases of a map that are not measured any more.

    case: the columns that name the map.  last: the last run that measured it.  since: the first one that did not.
    nights: how many nights were without it.  reason: why it failed in the last of them; empty where none asked for it.
    acknowledged: the words that keep it quiet, if any.
    """

    case: Mapping[str, Any]
    last: str
    since: str
    nights: int
    reason: str
    acknowledged: str = ""

    @property
    def state(self) -> str:
        """The state of the alarm in a word."""
        return "acknowledged" if self.acknowledged else "FAILS" if self.reason else "SILENT"

    @property
    def why(self) -> str:
        """Why it is not measured."""
        return f"it failed: {self.reason}" if self.reason else "no run asked for it"

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that name the map, as ``name=value``, and no metric."""
        return (*(f"{name}={value}" for name, value in self.case.items() if name != "placement"), "not measured")

    def holds(self, case: Mapping[str, Any]) -> bool:
        """Whether a case of a series is on the map."""
        return all(case[name] == value for name, value in self.case.items() if name in case and name != "placement")

    @property
    def name(self) -> str:
        """A short lasting name for `--acknowledge`: it is another one when the case was measured again meanwhile."""
        return hashlib.sha256("\n".join([*self.key, self.last]).encode()).hexdigest()[:10]


def silences(launches: pd.DataFrame, nights: Mapping[str, Sequence[str]], manifest: Manifests) -> list[Silence]:
    """What is silent in the newest of the runs. A library that goes on with another version is not.

    launches: of all these runs.  nights: the runs of each system, oldest first.
    """
    valid = with_keys(launches[launches["valid"].to_numpy(bool)])
    columns = group_columns(valid)
    number, maps = numbered(valid, columns)
    maps = maps.assign(placement=placements(maps))
    runs = valid[["run"]].assign(number=number).drop_duplicates().astype({"run": str})
    measured = {int(which): sorted(of_map) for which, of_map in runs.groupby("number")["run"]}
    cases = {which: row for which, row in enumerate(maps.to_dict("records")) if measured[which]}
    of_library: dict[tuple[object, ...], set[str]] = defaultdict(set)  # the runs with it, whatever its version
    for which, case in cases.items():
        of_library[_library_of(case)].update(measured[which])
    manifest = functools.cache(manifest)
    return [
        found
        for which, case in cases.items()
        for found in _of_map(case, measured[which], nights[case["system"]], of_library[_library_of(case)], manifest)
    ]


def _library_of(case: Mapping[Any, Any]) -> tuple[object, ...]:
    library, _ = library_and_version(case["toolchain"])
    return (library, *(value for name, value in case.items() if name not in ("toolchain", "placement")))


def _of_map(
    case: Mapping[Any, Any], measured: Sequence[str], runs: Sequence[str], of_library: set[str], manifest: Manifests
) -> Iterator[Silence]:
    """Yield the silence of a map, if it is silent.

    measured: its runs.  runs: those of its system.  of_library: those that measured it with any version of the library.
    """
    last, newest = measured[-1], max(of_library)
    later = [run for run in runs if run > last]
    if len(_days(later)) < NIGHTS:
        return
    failed = {run: why for run in later if (why := _why(manifest(case["system"], run), case, alone=newest > last))}
    if len(_days(failed)) >= NIGHTS <= len(_days(measured)):
        yield Silence(case, last, min(failed), len(_days(failed)), failed[max(failed)])
    elif newest == last and len(_days(of_library)) >= FEWEST:
        suite = manifest(case["system"], last).get("suite")
        alike = [run for run in later if manifest(case["system"], run).get("suite") == suite]
        if len(_days(alike)) >= max(NIGHTS, _longest_gap(sorted(of_library), runs)):
            yield Silence(case, last, alike[0], len(_days(alike)), "")


def _days(runs: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(run[:8] for run in runs))


def _longest_gap(measured: Sequence[str], runs: Sequence[str]) -> int:
    """The most nights from one that measured a map to the next one that did."""
    place = {day: number for number, day in enumerate(_days(runs))}
    places = [place[day] for day in _days(measured)]
    return max((after - before for before, after in itertools.pairwise(places)), default=1)


def _why(manifest: Mapping[str, Any], case: Mapping[Any, Any], *, alone: bool) -> str:
    """Why a run that asked for the cases of a map measured none; empty where it did not ask for them.

    alone: whether another version of the library is measured, so that only the version of the map counts.
    """
    every = (entry for entry in cases_of(dict(manifest)) if entry.get("result") != "skip")
    asked = [entry for entry in every if _is_of(entry, case, alone=alone)]
    if not asked:
        return ""
    version = str(asked[-1].get("toolchain"))
    which = f"{version}: " if version != case["toolchain"] else ""
    return clean(f"{which}{asked[-1].get('reason') or 'no launch of it is valid'}")


def _is_of(entry: Mapping[str, Any], case: Mapping[Any, Any], *, alone: bool) -> bool:
    theirs, ours = str(entry.get("toolchain")), str(case["toolchain"])
    same = theirs == ours if alone else library_and_version(theirs)[0] == library_and_version(ours)[0]
    return same and all(str(entry[name]) == str(case[name]) for name in case if name in entry and name != "toolchain")
