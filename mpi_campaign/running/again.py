"""What a comparison finds slower is measured again, before it alarms anybody."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pandas as pd

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_INTERRUPTED, CampaignError
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, CHOICES
from mpi_campaign.planning.options import Options
from mpi_campaign.planning.suites import SUITES
from mpi_campaign.running.run import Campaign
from mpi_campaign.verdicts import comparing, sides
from mpi_campaign.verdicts.comparing import ComparisonRequest
from postprocess.drawing.text import clean
from postprocess.verdicts.compare import SLOWER

LAUNCHES = 3
"""The fewest launches of a case that is measured again: as many as a side needs."""


def measure(asked: ComparisonRequest, root: Path, seconds: float, command_line: Sequence[str]) -> str:
    """Measure the cases of B again, a run, that are slower than in A. Returns the name of the new run; empty where
    nothing is slower, or cannot be measured, which is said. Raises CampaignError where B is no single run of this
    campaign."""
    if len(asked.words) != 2:
        raise CampaignError("--again: give two sides, of which the second is a run")
    run = _run_of(asked.words[1], root)
    (comparison,) = comparing.of_sides(asked, root)[0].values()
    slower = comparison.rows[comparison.rows["verdict"] == SLOWER]
    if slower.empty:
        return ""
    try:
        options = Options.from_manifest(run_folders.read_manifest(run))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CampaignError(f"--again: what run {run.run} was asked for cannot be read: {error}") from error
    with redirect_stdout(sys.stderr):  # standard output has the comparison alone
        of = f"{run.system}/{run.run}" if run.root == root else str(run.stored)
        both = libraries(asked, options, root)
        options = narrowed(options, slower, seconds)
        options = replace(options, toolchains=both or options.toolchains, sizes_of=of)
        campaign = Campaign(options, root, list(command_line), marks={run_folders.AGAIN_OF: run.run})
        try:
            if campaign.run(dry_run=False) == EXIT_INTERRUPTED:
                raise KeyboardInterrupt
        except CampaignError as error:  # what was compared is told all the same
            print(f"campaign: not measured again: {error}", file=sys.stderr)
            return ""
    assert campaign.folder is not None
    return campaign.folder.run


def _run_of(words: str, root: Path) -> RunFolder:
    """The run that a side names. Raises CampaignError where it names none, or several."""
    runs = sides.parse(words, root).runs or ()
    if len(runs) != 1:
        raise CampaignError(f"--again measures a run again, and '{clean(words)}' is none: name one, such as last")
    return runs[0]


def libraries(asked: ComparisonRequest, options: Options, root: Path) -> tuple[str, ...]:
    """The libraries of two sides that name different ones: both are measured again, in turn. Empty where the sides do
    not. Raises CampaignError."""
    parsed = [sides.parse(words, root) for words in asked.words]
    if not sides.name_two_libraries(*parsed):
        return ()
    names = (side.toolchain for side in parsed)
    return tuple(next((word for word in options.toolchains if word.partition("=")[0] == name), name) for name in names)


def narrowed(options: Options, slower: pd.DataFrame, seconds: float) -> Options:
    """The options of a run with which only those of its cases are measured that are slower, in so many seconds.

    slower: rows of a `Comparison`. What they do not tell stays as it was asked for.
    """

    def values(name: str, rows: pd.DataFrame = slower) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(str, rows[name]))) if name in rows else ()

    asked = dict(options.asked)
    for name, choice in CHOICES.items():
        if choice.several and choice.axis.kind == "text" and name in slower:
            having = slower[slower["benchmark"].map(lambda one, axis=name: BENCHMARKS[one].has(axis))]
            asked |= {name: texts} if (texts := values(name, having)) else {}
    benchmarks = values("benchmark")
    asked = {name: texts for name, texts in asked.items() if any(BENCHMARKS[one].named(name) for one in benchmarks)}
    toolchains = values("toolchain")
    are_enough = (options.launches or SUITES[options.suite].launches) >= LAUNCHES
    named = tuple(word for word in options.toolchains if word.partition("=")[0] in toolchains)
    return replace(
        options,
        toolchains=named or toolchains or options.toolchains,
        configurations=values("configuration") or options.configurations,
        benchmarks=benchmarks,
        asked=asked,
        launches=options.launches if are_enough else LAUNCHES,
        budget_seconds=seconds,
        calibrate="",
        sizes_of="",
    )
