"""`campaign accept`: judge runs by the criteria of an acceptance document."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mpi_campaign.archive import consistency, rendering, run_folders, store
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, CampaignError
from mpi_campaign.processes.progress import Progress
from mpi_campaign.verdicts.comparing import check_apart, complain, write
from postprocess.drawing.columns import aligned
from postprocess.drawing.text import clean
from postprocess.families import registry
from postprocess.records.header import SIMULATED
from postprocess.records.host_limits import limits_words
from postprocess.records.run import Run
from postprocess.verdicts.acceptance import (
    FAIL,
    NOT_TESTED,
    PASS,
    Criteria,
    CriteriaError,
    Result,
    judge,
    read_criteria,
    troubles_of,
)
from postprocess.verdicts.junit import FAILURE, SKIPPED, TestCase, junit
from postprocess.verdicts.verdict_page import acceptance_answer, acceptance_view, measured_words, render


def run(named: Sequence[RunFolder], path: Path, files: Mapping[str, Path], *, as_json: bool) -> int:
    """Print the results, and write them as JUnit or as a page. Returns 1 unless all criteria pass. Several runs, of
    several libraries or of each node, are judged together as one acceptance. Raises CampaignError."""
    check_apart(files, path)
    try:
        criteria = read_criteria(path)
    except CriteriaError as error:
        raise CampaignError(str(error)) from error
    except OSError as error:
        raise CampaignError(f"{path} cannot be read: {error.strerror}") from error
    folders, problems = consistency.together(dict.fromkeys(named))
    complain(problems)
    progress = Progress(2 * len(folders), sys.stderr)
    runs = []
    for number, folder in enumerate(folders, 1):
        progress.status(f"checking run {folder.run}, {number} of {len(folders)}")
        runs.append(_whole(folder, progress))
    troubles = [case for folder in folders for case in troubles_of(run_folders.read_manifest(folder))]
    progress.status("computing the ratios and their intervals")
    tables, records = evidence(list(zip(folders, runs, strict=True)))
    progress.status("")
    results = judge(criteria, tables, records, troubles)
    names = ", ".join(folder.run for folder in folders)
    for kind, target in files.items():
        page = kind == "html"
        write(
            target,
            render(acceptance_view(criteria, results, names, [fact for folder in folders for fact in _facts(folder)]))
            if page
            else _junit(criteria, results),
        )
    print(_json(criteria, folders, results) if as_json else _text(criteria, results))
    return EXIT_GOOD if all(result.verdict == PASS for result in results) else EXIT_FAILED


def evidence(runs: Sequence[tuple[RunFolder, Run]]) -> tuple[dict[str, pd.DataFrame], list[Any]]:
    """What runs are judged by: the tables of each family, and the records whose nodes are compared."""
    tables = {
        # The archive's names of the systems, whatever the manifests say.
        family.name: _joined((registry.found(run, family).table, folder) for folder, run in runs)
        for family in registry.FAMILIES
        if family.metrics
    }
    by_node = [family for family in registry.FAMILIES if family.acceptance.by_node is not None]
    return tables, [record for family in by_node for _, run in runs for record in registry.read(run, family).records]


def _whole(folder: RunFolder, progress: Progress) -> Run:
    """A run in which every file is as it was archived, and no record is simulated. Raises CampaignError for any other:
    people sign the result."""
    run = rendering.load(folder)

    def tell(done: int, total: int) -> None:
        progress.status(f"checking run {folder.run}: {done} of {total} records")

    problems = rendering.problems(folder, run)
    wrong = next(store.faults(folder, tell, run), "") if folder.archived.is_dir() else next(iter(problems), "")
    if wrong:
        raise CampaignError(f"run {folder.run}: {wrong}; nothing is accepted of a run that is not whole")
    simulated = next((record for record in run.records if record.header.network == SIMULATED), None)
    if simulated is not None:
        raise CampaignError(f"run {folder.run}: {simulated.name} is simulated; only measured times are accepted")
    return run


def _joined(given: Iterable[tuple[pd.DataFrame, RunFolder]]) -> pd.DataFrame:
    """Tables as one, each with its run, and the archive's name of its system where it has one."""
    tables = [
        table.assign(run=folder.run, **({"system": folder.system} if "system" in table else {}))
        for table, folder in given
    ]
    joined: pd.DataFrame = pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)
    return joined


def _text(criteria: Criteria, results: Sequence[Result]) -> str:
    heads = ["verdict", "criterion", "measured", "95 %", "what it asks"]
    lines = [
        [result.verdict, result.criterion.name, *measured_words(result), result.criterion.words] for result in results
    ]
    evidence = [f"  {clean(result.criterion.name)}: {clean(line)}" for result in results for line in result.evidence]
    table = aligned(heads, lines, right={2})
    return "\n\n".join([clean(criteria.title), table, "\n".join(evidence), acceptance_answer(results)])


def _json(criteria: Criteria, folders: Sequence[RunFolder], results: Sequence[Result]) -> str:
    document = {
        "schema": "mpi-campaign.acceptance",
        "schema_version": 2,
        "title": criteria.title,
        "runs": [{"run": folder.run, "system": folder.system} for folder in folders],
        "criteria": [result.as_json() for result in results],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def _junit(criteria: Criteria, results: Sequence[Result]) -> str:
    """JUnit with a test case per criterion. A criterion that was not tested is skipped, which build servers show."""
    kinds = {PASS: "", FAIL: FAILURE, NOT_TESTED: SKIPPED}
    return junit(
        criteria.title,
        (
            TestCase(
                "acceptance",
                result.criterion.name,
                kinds[result.verdict],
                f"{result.criterion.words}: {' '.join(measured_words(result))}; {'; '.join(result.evidence)}",
            )
            for result in results
        ),
    )


def _facts(folder: RunFolder) -> list[tuple[str, str]]:
    """What the page says of the run."""
    manifest = run_folders.read_manifest(folder)
    host = manifest.get("host") or {}
    campaign = manifest.get("campaign") or {}
    facts = {
        "run": folder.run,
        "system": folder.system,
        "suite": manifest.get("suite"),
        "status": manifest.get("status"),
        "started": manifest.get("started_utc"),
        "finished": manifest.get("finished_utc"),
        "machine": ", ".join(str(host[name]) for name in ("name", "cpu", "os", "kernel") if name in host),
        "limits": limits_words(host),
        "toolchains": ", ".join(str(toolchain.get("toolchain")) for toolchain in manifest.get("toolchains") or []),
        "campaign": f"{campaign.get('version')}, commit {campaign.get('commit')}",
        "command": " ".join(map(str, manifest.get("command_line") or [])),
    }
    return [(name, str(value)) for name, value in facts.items() if value]
