"""The end of a run: its manifest, tables and report are written, and what it found is printed."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, CampaignError
from mpi_campaign.planning.cases import Case
from mpi_campaign.processes import signals
from mpi_campaign.processes.progress import Progress
from mpi_campaign.running.case_results import CUT_OFF, failure_lines
from postprocess.drawing.matrix import wrapped
from postprocess.records.run import Run
from postprocess.statistics.limits import LEAST_LAUNCHES

WHOLE, FAILED, LEFT = "whole", "failed", "left"
"""How a launch ended: with a whole record, without one, or not yet."""


def is_complete(folder: RunFolder, cases: Sequence[Mapping[str, Any]]) -> bool:
    """Whether nothing of a run is left to be measured. Each launch has a whole record that was checked, or the case
    failed in all of its launches, of which there are LEAST_LAUNCHES: another one would fail too.  cases: as of
    `results`."""
    launches: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        launches[replace(Case.from_manifest(case), repeat=1).stem].append(_ending(folder, case))
    return all(
        set(endings) == {WHOLE} or (set(endings) == {FAILED} and len(endings) >= LEAST_LAUNCHES)
        for endings in launches.values()
    )


def _ending(folder: RunFolder, case: Mapping[str, Any]) -> str:
    if case["result"] == "missing":  # its record may be whole: the run was cut off before it was checked
        return LEFT if str(case["reason"]).startswith(CUT_OFF) else FAILED
    is_whole = case["record"] and run_folders.is_complete(folder.partial / case["record"])
    return WHOLE if case["result"] == "skip" or is_whole else FAILED


@signals.ignored()  # this takes a few seconds, and an interrupt would leave an archive with half of its files
def close(
    folder: RunFolder,
    manifest: dict[str, Any],
    progress: Progress,
    not_had: Collection[str],
    *,
    interrupted: bool,
    is_answered: bool = False,
) -> int:
    """Returns the exit code. not_had: a line for each library that the run was asked for and could not have.
    is_answered: who asked for the run tells what it found."""
    from mpi_campaign.archive import rendering  # noqa: PLC0415 - pandas and matplotlib take a second to load
    from postprocess.families import registry  # noqa: PLC0415 - likewise

    progress.step("archiving")
    cases = manifest["cases"]
    complete = is_complete(folder, cases)
    manifest["status"] = "complete" if complete else "incomplete"
    run_folders.write_manifest(folder, manifest)
    run = rendering.load(folder)
    manifest["seen"] = rendering.seen(run)
    run_folders.write_manifest(folder, manifest)
    registry.write_tables(run)
    if complete:
        run_folders.finish(folder, manifest)
    run = rendering.moved(run, folder)
    is_written, where = True, ""
    if not is_answered:
        is_written, where = _tell(folder, run, [case for case in cases if case["record"]], progress)
    progress.line(*failure_lines(cases), *not_had)
    if not complete:
        progress.line(f"incomplete, what was measured is kept: {run_folders.resume_words(folder)}")
    progress.line(*filter(None, [where]), f"run: {folder.path}")
    if interrupted:
        return EXIT_INTERRUPTED
    bad = any(case["result"] in ("fail", "missing") for case in cases)
    return EXIT_FAILED if bad or not_had or not is_written else EXIT_GOOD


def _tell(folder: RunFolder, run: Run, measured: Sequence[Mapping[str, Any]], progress: Progress) -> tuple[bool, str]:
    """Write the report and print what a run found. Returns whether the report could be written, and where it is or why
    there is none.  measured: the cases with a record."""
    from mpi_campaign.archive import earlier_launches, first_screen, rendering, window  # noqa: PLC0415 - as above
    from mpi_campaign.verdicts import answering  # noqa: PLC0415 - likewise
    from postprocess.verdicts.answers import lines  # noqa: PLC0415 - likewise
    from postprocess.verdicts.findings import of_run  # noqa: PLC0415 - likewise
    from postprocess.verdicts.findings_text import summary  # noqa: PLC0415 - likewise

    progress.step("writing the report")
    answers = answering.of_run(folder, run)
    try:
        is_written, where = True, f"report: {rendering.write_report(folder, run, answers)}"
    except CampaignError as error:
        is_written, where = False, f"no report: {error} (./campaign report {folder.run} -o FILE)"
    progress.line("")
    on = window.window()
    said = lines(answers)
    if measured:
        elsewhere = run_folders.elsewhere_words(folder.root)
        said += ["", *earlier_launches.tellable_lines(folder.system, folder.root, measured), ""]
        said += [f"{summary(of_run(run))}: ./campaign findings {folder.run}{elsewhere}"]
    progress.line(*first_screen.make(folder, run, on).lines, "")
    progress.line(*(wrapped(said, on.width) if on.is_terminal else said), "")
    return is_written, where
