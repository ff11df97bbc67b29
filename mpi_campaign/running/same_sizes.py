"""Sizes that a launch takes over instead of calibrating them, so that launches to be compared do the same work."""

import shutil
from dataclasses import replace
from pathlib import Path

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.plan import Plan, Round

FOLDER = "sizes"
SUFFIX = run_folders.RECORD_FILES[run_folders.SIZES]


def hand_over(folder: RunFolder, plan: Plan, turn: Round, of: RunFolder | None) -> list[Case]:
    """Copy the sizes that the launches of a round take over into the session's folder for sizes.

    of: a run whose sizes are taken over: those of the same case, else those of the same case of another toolchain.
    Without `of`, a case takes over the sizes of its first launch. Where sides take turns, it takes those of the first
    toolchain that measured the case. Returns the cases without sizes to take over: they are calibrated.
    """
    target = folder.session / FOLDER
    target.mkdir(exist_ok=True)
    first = plan.rounds[0].environments[0]
    without = []
    for case in plan.to_measure:
        if case != case.basic or not turn.has(case):
            continue
        source = _first_launch(folder, case, first if plan.options.interleave else case.environment)
        if not source.is_file():  # the first toolchain may lack a collective
            source = _first_launch(folder, case, case.environment)
        if of is not None:
            source = _of_run(of, case) or source
        if source.is_file():
            shutil.copyfile(source, target / f"{case.stem}{SUFFIX}")
        else:
            without.append(case)
    return without


def _first_launch(folder: RunFolder, case: Case, environment: str) -> Path:
    return folder.partial / "records" / f"{replace(case, environment=environment, repeat=1).stem}{SUFFIX}"


def _of_run(run: RunFolder, case: Case) -> Path | None:
    name = f"{replace(case, repeat=1).stem}{SUFFIX}"
    same = run.records_folder / name
    rest = name.partition(".")[2]  # without the environment
    return same if same.is_file() else next(iter(sorted(run.records_folder.glob(f"*.{rest}"))), None)
