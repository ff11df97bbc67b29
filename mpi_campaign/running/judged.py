"""A run of two libraries in turn that ends as soon as it is known which of them is slower."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from mpi_campaign.archive import consistency, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_INTERRUPTED, CampaignError
from mpi_campaign.planning.options import Options
from mpi_campaign.running.case_results import CUT_OFF
from mpi_campaign.running.run import Campaign
from mpi_campaign.toolchains import resolving
from mpi_campaign.verdicts.judging import Asked
from mpi_campaign.verdicts.sides import toolchains_of
from postprocess.statistics.limits import Limits

SUITE = "judge"
NEWEST = "newest"
"""The search whose only step is the newest release: so one that was interrupted goes on."""


def of_sides(sides: tuple[str, str]) -> dict[str, Any]:
    """What is asked of a run of two toolchains, as keywords of `Options`. Raises CampaignError where they are one."""
    if sides[0] == sides[1]:
        raise CampaignError(f"both sides are {sides[0]}: give two libraries, versions or NAME@VERSION=PREFIX")
    return {"suite": SUITE, "toolchains": sides}


def measure(question: Asked, options: Options, root: Path, command_line: Sequence[str]) -> RunFolder:
    """Measure both sides of a question until it is answered. A step of a search that was interrupted goes on. Standard
    output stays free for the answer. Raises CampaignError where nothing can be measured."""
    begun = interrupted(question, root) if question.search else None
    if begun is not None:
        options = Options.from_manifest(run_folders.read_manifest(begun))
    with redirect_stdout(sys.stderr):
        campaign = Campaign(options, root, list(command_line), begun, question.marks)
        if campaign.run(dry_run=False) == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
    assert campaign.folder is not None
    return campaign.folder


def interrupted(question: Asked, root: Path) -> RunFolder | None:
    """The run of the same question that was interrupted, the newest one of today's methods; None where there is
    none. One that is incomplete since a launch failed has nothing to go on with."""
    asked = question.marks[run_folders.JUDGED]
    begun = (
        run
        for run in run_folders.runs(root)
        if not run.is_complete
        and (manifest := run_folders.manifest_or_none(run)).get(run_folders.JUDGED) == asked
        and any(str(case.get("reason")).startswith(CUT_OFF) for case in manifest.get("cases") or [])
        and not consistency.other_methods(run)
    )
    return max(begun, key=lambda run: run.run, default=None)


def newest(library: str, metrics: tuple[str, ...], root: Path, command_line: Sequence[str]) -> RunFolder | None:
    """A run of the newest release of a library beside the one before it; None unless the archive has a release of the
    library, and not this one, or where nothing can be had or measured, which is said. Raises CampaignError for a name
    of no library that has releases."""
    say = partial(print, file=sys.stderr)  # standard output is the answer's
    if library not in resolving.WHEELS:
        raise CampaignError(f"'{library}' is no library that has releases; choose from {', '.join(resolving.WHEELS)}")
    try:
        *_, before, last = ["", "", *resolving.expanded(f"{library}@*", say)]
    except CampaignError as error:  # no registry answers, and none was fetched
        say(f"{library}: {error}")
        return None
    question = Asked.among(1, Limits(), sides=(before, last), metrics=metrics, search=NEWEST)
    there = toolchains_of(run_folders.runs(root))
    is_new = last not in there and any(name.partition("@")[0] == library for name in there)
    if not before or not (is_new or interrupted(question, root)):
        return None
    try:
        return measure(question, Options(**of_sides((before, last))), root, command_line)
    except CampaignError as error:
        say(f"skipped {last}: {error}")
        return None
