"""`campaign baseline`: references made from archived runs.

Every entry is one bound: [0, null, bound, unit] for a ratio that is 0 where all is well, [value, null, fraction, unit]
for any other metric, and [value, fraction, null, unit] for one whose larger values are better.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy
import yaml

from mpi_campaign import files
from mpi_campaign.archive import consistency, rendering, run_folders, store
from mpi_campaign.archive.references import INDEX, OWN, VERSION, key, path_of
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, POINT_CHOICES, points_name
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import Options, grid_of
from mpi_campaign.verdicts.comparing import complain
from postprocess.drawing.text import clean
from postprocess.families import registry
from postprocess.families.family import Bound, Family, Numbers
from postprocess.records.header import SIMULATED
from postprocess.records.host_limits import starved_words
from postprocess.records.run import is_as_asked
from postprocess.records.storage import record_name
from postprocess.statistics.limits import LEAST_LAUNCHES

CONFIDENCE = 0.95


Values: TypeAlias = dict[tuple[str, Bound, str, str], dict[str, list[float]]]
"""Values by run, by (ReFrame test, bound, key of the case, sizes). `sizes` is empty for a metric that runs on different
sizes have in common."""


@dataclass(frozen=True)
class RecordNumbers:
    """The part of a record from which references are made.

    key: of the case.  test: the ReFrame test that measures the case.  bounds: those of the record's family.
    why: the reason why its numbers cannot become references; empty where they can.
    """

    key: str
    test: str = ""
    bounds: tuple[Bound, ...] = ()
    numbers: Numbers = field(default_factory=lambda: Numbers({}))
    why: str = ""


@dataclass(frozen=True)
class References:
    """References as they are written.  document: the content of the file.  references: their number.  left_out: a line
    for each kind of omitted record."""

    document: dict[str, Any]
    references: int
    left_out: tuple[str, ...]


def make(runs: Sequence[RunFolder]) -> References:
    """References from the records of runs of one system. Raises CampaignError where none can be made."""
    systems = sorted({run.system for run in runs})
    if len(systems) != 1:
        raise CampaignError(f"references are of one system, these runs are of {', '.join(systems)}: name those of one")
    unfinished = next((run for run in runs if not run.archived.is_dir()), None)
    if unfinished is not None:
        raise CampaignError(f"run '{unfinished.run}' is incomplete: references are made of whole runs")
    runs, problems = consistency.together(runs)
    complain(problems)
    values, left_out = _values_of(runs)
    document: dict[str, Any] = {}
    few: dict[str, int] = defaultdict(int)
    made_of: dict[str, int] = {}
    sizes_of: dict[str, str] = {}
    # Where runs have different sizes, the sizes of most runs count.
    for (test, bound, name, sizes), by_run in sorted(
        values.items(), key=lambda item: (item[0][0], item[0][2], item[0][1].metric, -len(item[1]))
    ):
        if name in sizes_of and sizes and sizes != sizes_of[name]:
            left_out[f"{bound.metric} on other sizes than most runs have"] += sum(map(len, by_run.values()))
            continue
        if len(numbers := _units(by_run)) < LEAST_LAUNCHES:
            if sizes:
                left_out[f"{bound.metric}: fewer than {LEAST_LAUNCHES} launches have the same sizes"] += 1
            else:
                few[name] += 1
            continue
        if sizes:
            sizes_of[name] = sizes
        entry = document.setdefault(test, {"$index": [INDEX]}).setdefault(name, {})
        entry[bound.metric] = reference_of(bound, numbers)
        made_of[f"{name} {bound.metric}"] = len(by_run)
    if few:
        left_out[f"fewer than {LEAST_LAUNCHES} launches have it"] += len(few)
    if not made_of:
        why = "; ".join(f"{times} x {reason}" for reason, times in left_out.items()) or "no records"
        todo = ": measure longer (--budget-seconds)" if "reliable" in why else ""
        raise CampaignError(f"no reference can be made of these runs: {why}{todo}")
    provenance = {
        "schema_version": VERSION,
        "made_utc": run_folders.now_utc(),
        "runs": [run.run for run in runs],
        "toolchains": sorted(
            {
                str(toolchain.get("toolchain"))
                for run in runs
                for toolchain in run_folders.read_manifest(run).get("toolchains") or []
            }
        ),
        "confidence": CONFIDENCE,
        "margins": {bound.metric: bound.margin for family in registry.FAMILIES for bound in family.bounds},
        "runs_of": made_of,
        "sizes": sizes_of,
    }
    without = tuple(f"{times} x {reason}" for reason, times in left_out.items())
    return References({OWN: provenance, **document}, len(made_of), without)


def _values_of(runs: Sequence[RunFolder]) -> tuple[Values, dict[str, int]]:
    """The values that become references, and the number of records that do not, by reason. Raises CampaignError for a
    run that is not as it was archived."""
    values: Values = defaultdict(lambda: defaultdict(list))
    left_out: dict[str, int] = defaultdict(int)
    for run in runs:
        for record in _records_of(run):
            if record.why:
                left_out[record.why] += 1
                continue
            for bound in record.bounds:
                if bound.metric in record.numbers.values:
                    same = record.numbers.sizes if bound.of_sizes else ""
                    number = record.numbers.values[bound.metric]
                    values[record.test, bound, record.key, same][run.run].append(number)
    return values, left_out


def _units(by_run: Mapping[str, Sequence[float]]) -> list[float]:
    """The median of each run. Of fewer than three runs, as of one night, the launches: nights may differ by more."""
    if len(by_run) >= LEAST_LAUNCHES:
        return [float(np.median(launches)) for launches in by_run.values()]
    return [launch for launches in by_run.values() for launch in launches]


def reference_of(bound: Bound, values: Sequence[float]) -> list[Any]:
    """ReFrame's (reference, lower, upper, unit) from a value per run or launch. There is one bound only: better is no
    fault. It is the end of the interval in which the next value is expected, if values are normal (Student's t); with
    three values it is wide."""
    reach = scipy.special.stdtrit(len(values) - 1, CONFIDENCE) * np.std(values, ddof=1) * math.sqrt(1 + 1 / len(values))
    low, high = (float(np.mean(values) + side * reach) for side in (-1, 1))
    if bound.absolute:
        return [0, None, round(max(high, 0.0) + bound.margin, 4), "ratio"]  # ReFrame takes no bound below 0
    middle = float(np.median(values))
    if bound.better == "larger":
        least = max(low / (1 + bound.margin) / middle - 1, -1.0)  # nor one below nothing
        return [round(middle, 4), round(least, 4), None, "ratio"]
    return [round(middle, 4), None, round(high * (1 + bound.margin) / middle - 1, 4), "ratio"]


def _records_of(folder: RunFolder) -> Iterator[RecordNumbers]:
    """Every record of a run that has numbers, or the reason why a case has none.

    Raises CampaignError for a run that is not as it was archived.

    A case that missed its reference is included. Otherwise new references could never be worse than the old ones.
    """
    run = rendering.load(folder)
    if fault := next(store.faults(folder, loaded=run), ""):
        raise CampaignError(f"run {folder.run}: {fault}; references are made of what was archived")
    manifest = run_folders.read_manifest(folder)
    try:
        given = manifest.get("options", {})
        options = Options.of(suite=manifest["suite"], **{name: tuple(given.get(name, ())) for name in POINT_CHOICES})
        grid, points = grid_of(options)
        judged = [case for case in manifest["cases"] if case["result"] != "skip"]
        good = [case for case in judged if is_as_asked(case)]
        cases = [Case.from_manifest(case) for case in good]
    except (KeyError, TypeError, ValueError) as error:
        raise CampaignError(f"{folder.path / run_folders.MANIFEST} is not what a run writes: {error!r}") from error
    for case in judged:
        if case not in good:
            yield RecordNumbers(str(case.get("case")), why="failed, or was not measured")
    views = {
        (family.name, view.name): view for family in registry.FAMILIES for view in registry.read(run, family).records
    }
    for case in cases:
        if stopped := starved_words(manifest, case.as_dict()):
            yield RecordNumbers(case.label, why=stopped)
            continue
        family = registry.of_benchmark(case.benchmark)
        if family.numbers is None or not family.bounds:
            continue
        record = views.get((family.name, _record_name(case)))
        if record is None:
            raise CampaignError(f"{folder.run}: {_record_name(case)} is missing, or no record of {family.name}")
        of_basic = None if case.basic in (None, case) else views.get((family.name, _record_name(case.basic)))
        name = points_name(case.benchmark, grid, points)
        yield _numbers_of(case, family, record, family.numbers(record, of_basic), name)


def _record_name(case: Case) -> str:
    return record_name(Path(f"{case.stem}.jsonl"))


def _numbers_of(case: Case, family: Family, record: Any, numbers: Numbers, grid: str) -> RecordNumbers:
    """The part of a case's record from which references are made.  record: the family's view of it."""
    header = record.header
    name = key(case, grid, header.ranks, header.threads_per_rank + header.progress.given_up_cores)
    why = "oversubscribed" if header.oversubscribed else numbers.doubt if record.complete else "incomplete"
    why = SIMULATED if header.network == SIMULATED else why
    return RecordNumbers(name, BENCHMARKS[case.benchmark].test, family.bounds, numbers, why)


def write(system: str, made: References) -> Path:
    """Write a system's references, all or nothing. Raises CampaignError."""
    path = path_of(system)
    if not path.parent.is_dir():
        raise CampaignError(
            f"there is no systems/{clean(system)}/: describe that machine first, "
            f"./campaign systems init {clean(system)}"
        )
    text = (
        "# Made by `./campaign baseline` from archived runs; ReFrame's tests read it. Make it anew, do not edit it.\n"
    )
    try:
        files.write_atomically(path, text + yaml.safe_dump(made.document, sort_keys=False, allow_unicode=True))
    except OSError as error:
        raise CampaignError(f"{path} cannot be written ({error.strerror})") from error
    return path
