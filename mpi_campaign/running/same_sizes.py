"""Sizes that a launch takes over instead of calibrating them, so that launches to be compared do the same work."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.launching import key_values
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.plan import Plan, Round

FOLDER = "sizes"
SUFFIX = run_folders.RECORD_FILES[run_folders.SIZES]
JSON = ".sizes.json"
"""What archived runs of older versions have."""


@dataclass(frozen=True)
class TakenOver:
    """The sizes that a case takes over: the first of the sources that is there is copied to the target.  case: the
    case's label."""

    case: str
    sources: tuple[Path, ...]
    target: Path


def taken_over(folder: RunFolder, plan: Plan, turn: Round, of: RunFolder | None) -> list[TakenOver]:
    """The sizes that the launches of a round take over. They are copied into the session's folder for sizes.

    of: a run whose sizes are taken over: those of the same case, else those of the same case of another toolchain.
    Without `of`, a case takes over the sizes of its first launch, on whatever nodes that was. Where sides take turns,
    it takes those of the first toolchain that measured the case.
    """
    first_environment = plan.rounds[0].environments[0]
    orders = []
    for case in plan.to_measure:
        if case != case.basic or not turn.has(case):
            continue
        # The first toolchain may lack a collective.
        environments = dict.fromkeys(
            (first_environment if plan.options.interleave else case.environment, case.environment)
        )
        launches = [
            replace(launch, environment=environment)
            for environment in environments
            for launch in plan.first_launches(case)
        ]
        sources = [folder.partial / "records" / f"{launch.stem}{SUFFIX}" for launch in launches]
        if of is not None and (source := _of_run(of, case)) is not None:
            sources.insert(0, source)
        orders.append(TakenOver(case.label, tuple(sources), folder.session / FOLDER / f"{case.stem}{SUFFIX}"))
    return orders


def hand_over(orders: Sequence[TakenOver]) -> list[str]:
    """Copy the sizes. Returns the labels of the cases without sizes to take over: they are calibrated.

    Raises CampaignError where an archived file cannot be read.
    """
    without = []
    for order in orders:
        order.target.parent.mkdir(exist_ok=True)
        source = next(filter(Path.is_file, order.sources), None)
        if source is None:
            without.append(order.case)
        elif source.name.endswith(JSON):
            order.target.write_text(key_values.from_json(source), encoding="utf-8")
        else:
            shutil.copyfile(source, order.target)
    return without


def _of_run(run: RunFolder, case: Case) -> Path | None:
    stem = replace(case, repeat=1).stem
    rest = stem.partition(".")[2]  # without the environment
    patterns = (f"{name}{suffix}" for name in (stem, f"*.{rest}") for suffix in (SUFFIX, JSON))
    return next((path for pattern in patterns for path in sorted(run.records_folder.glob(pattern))), None)
