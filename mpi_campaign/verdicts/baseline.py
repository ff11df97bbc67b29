"""`campaign baseline`: references made from archived runs.

Every entry is an upper bound: [0, null, bound, unit] of a ratio that is 0 where all is well, [value, null, fraction,
unit] of another one.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import yaml

from mpi_campaign import files
from mpi_campaign.archive import consistency, run_folders, store
from mpi_campaign.archive.references import INDEX, OF_SIZES, OWN, VERSION, enough_reliable, key, path_of
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.plan import Options, grid_of
from postprocess.drawing.text import clean
from postprocess.families.mpi_impact.record import load_impact
from postprocess.families.mpi_impact.table import impact_metrics, shown_reliable
from postprocess.families.nbc_overlap.points import record_metrics
from postprocess.records.fields import RecordError
from postprocess.records.host_limits import starved_words
from postprocess.records.load import IMPACT_SCHEMA, is_as_asked, load_record, message_sizes, schema_of
from postprocess.records.storage import record_file
from postprocess.statistics.limits import LEAST_DIFFERENCE, LEAST_RATIO

QUANTILE = 0.95
FEWEST_RUNS = 3


@dataclass(frozen=True)
class Bound:
    """Which number of a record has a reference: `absolute`, because all is well at 0, or a fraction above its median.

    margin: what a difference must at least be to matter.
    """

    metric: str
    test: str
    absolute: bool
    margin: float


BOUNDS = (
    Bound("r_overhead", "nbc_overlap", absolute=True, margin=LEAST_DIFFERENCE),
    Bound("r_overhead_vs_basic", "nbc_overlap", absolute=True, margin=LEAST_DIFFERENCE),
    Bound(OF_SIZES, "nbc_overlap", absolute=False, margin=LEAST_RATIO),
    Bound("r_mpi_impact", "mpi_impact", absolute=False, margin=LEAST_RATIO),
)


Values: TypeAlias = dict[tuple[Bound, str, str], dict[str, list[float]]]


@dataclass(frozen=True)
class Made:
    """References that were made: `document` as it is written, how many, and what was left out, a line each."""

    document: dict[str, Any]
    references: int
    left_out: tuple[str, ...]


def make(runs: Sequence[RunFolder]) -> Made:
    """References from the records of runs of one system. Raises CampaignError where none can be made."""
    systems = sorted({run.system for run in runs})
    if len(systems) != 1:
        raise CampaignError(f"references are of one system, these runs are of {', '.join(systems)}: name those of one")
    unfinished = next((run for run in runs if not run.archived.is_dir()), None)
    if unfinished is not None:
        raise CampaignError(f"run '{unfinished.run}' is incomplete: references are made of whole runs")
    runs = _good(runs)
    values, left_out = _values_of(runs)
    document: dict[str, Any] = {}
    few: dict[str, int] = defaultdict(int)
    made_of: dict[str, int] = {}
    sizes_of: dict[str, str] = {}
    # Of several sizes those that most runs have.
    for (bound, name, sizes), by_run in sorted(
        values.items(), key=lambda item: (item[0][0].test, item[0][1], item[0][0].metric, -len(item[1]))
    ):
        if name in sizes_of and sizes:
            left_out[f"{OF_SIZES} on other sizes than most runs have"] += sum(map(len, by_run.values()))
            continue
        if len(by_run) < FEWEST_RUNS:
            if sizes:
                left_out[f"{OF_SIZES}: fewer than {FEWEST_RUNS} runs have the same sizes (--sizes-of)"] += 1
            else:
                few[name] += 1
            continue
        if sizes:
            sizes_of[name] = sizes
        entry = document.setdefault(bound.test, {"$index": [INDEX]}).setdefault(name, {})
        entry[bound.metric] = _reference(bound, [float(np.median(launches)) for launches in by_run.values()])
        made_of[f"{name} {bound.metric}"] = len(by_run)
    if few:
        left_out[f"fewer than {FEWEST_RUNS} runs have it"] += len(few)
    if not made_of:
        why = "; ".join(f"{times} x {reason}" for reason, times in left_out.items()) or "no records"
        more = f"; it takes {FEWEST_RUNS} runs or more" if len(runs) < FEWEST_RUNS and not few else ""
        todo = ": measure longer (--budget-seconds)" if "reliable" in why else ""
        raise CampaignError(f"no reference can be made of these runs: {why}{todo}{more}")
    own = {
        "schema_version": VERSION,
        "made_utc": run_folders.now_utc(),
        "runs": [run.run for run in runs],
        "toolchains": sorted(
            {
                str(one.get("toolchain"))
                for run in runs
                for one in run_folders.read_manifest(run).get("toolchains") or []
            }
        ),
        "quantile": QUANTILE,
        "margins": {bound.metric: bound.margin for bound in BOUNDS},
        "runs_of": made_of,
        "sizes": sizes_of,
    }
    without = tuple(f"{times} x {reason}" for reason, times in left_out.items())
    return Made({OWN: own, **document}, len(made_of), without)


def _values_of(runs: Sequence[RunFolder]) -> tuple[Values, dict[str, int]]:
    """What becomes references, by bound, key and, where only runs on the same sizes have it in common, sizes; and how
    many records do not, by reason.
    """
    values: Values = defaultdict(lambda: defaultdict(list))
    left_out: dict[str, int] = defaultdict(int)
    for run in runs:
        for name, numbers, sizes, why in _records_of(run):
            if why:
                left_out[why] += 1
            for bound in BOUNDS:
                if not why and bound.metric in numbers and bound.test == numbers_test(name):
                    same = sizes if bound.metric == OF_SIZES else ""
                    values[bound, name, same][run.run].append(numbers[bound.metric])
    return values, left_out


def _good(runs: Sequence[RunFolder]) -> list[RunFolder]:
    """Without copies. Raises CampaignError for a file that is not what was archived: the references would be of it."""
    kept, problems = consistency.together(runs)
    for problem in problems:
        print(f"campaign: {problem}", file=sys.stderr)
    for run in kept:
        fault = next(store.faults(run), "")
        if fault:
            raise CampaignError(f"run {run.run}: {fault}; references are made of what was archived")
    return kept


def numbers_test(name: str) -> str:
    """The ReFrame test of a key."""
    return "mpi_impact" if ".mpi_impact" in name else "nbc_overlap"


def _reference(bound: Bound, values: Sequence[float]) -> list[Any]:
    """ReFrame's (reference, lower, upper, unit), of a value per run; no lower bound: what is better is no fault."""
    high = float(np.quantile(values, QUANTILE))
    if bound.absolute:
        return [0, None, round(max(high, 0.0) + bound.margin, 4), "ratio"]  # ReFrame takes no bound below 0
    middle = float(np.median(values))
    return [round(middle, 4), None, round(high * (1 + bound.margin) / middle - 1, 4), "ratio"]


def _records_of(run: RunFolder) -> Iterable[tuple[str, Mapping[str, float], str, str]]:
    """Of every record of a run its key, its numbers, a digest of its sizes, and why it can be no reference; or "".

    A case that was worse than its reference was what was asked for all the same: without it, references would know only
    what they let pass.
    """
    manifest = run_folders.read_manifest(run)
    try:
        asked = manifest.get("options", {})
        comm, comp = (tuple(asked.get(name, ())) for name in ("comm_times", "comp_times"))
        grid = grid_of(Options(suite=manifest["suite"], comm_times=comm, comp_times=comp)).name
        judged = [case for case in manifest["cases"] if case["result"] != "skip"]
        good = [case for case in judged if is_as_asked(case)]
        cases = [Case(**{name: case[name] for name in Case.__dataclass_fields__ if name in case}) for case in good]
    except (KeyError, TypeError, ValueError) as error:
        raise CampaignError(f"{run.path / run_folders.MANIFEST} is not what a run writes: {error!r}") from error
    for case in judged:
        if case not in good:
            yield str(case.get("case")), {}, "", "failed, or was not measured"
    for case in cases:
        if stopped := starved_words(manifest, case.as_dict()):
            yield case.label, {}, "", stopped
            continue
        path = record_file(run.records / f"{case.stem}.jsonl")
        try:
            if schema_of(path) == IMPACT_SCHEMA:
                yield _impact_numbers(case, path, grid)
            elif case.benchmark == "nbc_overlap":
                yield _overlap_numbers(run, case, path, grid)
        except RecordError as error:
            raise CampaignError(f"{run.run}: {error}") from error


def _impact_numbers(case: Case, path: Path, grid: str) -> tuple[str, Mapping[str, float], str, str]:
    record = load_impact(path)
    header = record.header
    named = key(case, grid, header.ranks, header.threads_per_rank + header.progress.given_up_cores)
    why = "oversubscribed" if header.oversubscribed else "" if record.complete else "incomplete"
    if not why and not shown_reliable(record):
        why = "the impact of an idle library is not reliable"
    return named, impact_metrics(record), "", why


def _overlap_numbers(run: RunFolder, case: Case, path: Path, grid: str) -> tuple[str, Mapping[str, float], str, str]:
    record = load_record(path)
    header = record.header
    basic = case.basic
    beside = None if basic in (None, case) else record_file(run.records / f"{basic.stem}.jsonl")
    numbers = record_metrics(path, beside if beside is not None and beside.is_file() else None)
    named = key(case, grid, header.ranks, header.threads_per_rank + header.progress.given_up_cores)
    sizes = message_sizes(path)
    if header.oversubscribed:
        return named, numbers, sizes, "oversubscribed"
    if not record.complete:
        return named, numbers, sizes, "incomplete"
    if not enough_reliable(numbers):
        return named, numbers, sizes, "less than half of its points are reliable"
    return named, numbers, sizes, ""


def write(system: str, made: Made) -> Path:
    """Write a system's references, whole or not at all. Raises CampaignError."""
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
