"""`campaign findings`: what the papers found, judged on runs of this machine."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mpi_campaign.archive import consistency, matrices, rendering, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_GOOD, CampaignError
from mpi_campaign.verdicts.accepting import evidence, troubles_of
from mpi_campaign.verdicts.comparing import complain, write
from postprocess.drawing.text import plural
from postprocess.records.run import Run
from postprocess.verdicts import findings, findings_text
from postprocess.verdicts.findings import Finding, Judged, Machine
from postprocess.verdicts.verdict_page import render


def run(named: Sequence[RunFolder], paper: str, html: Path | None, form: str, *, every: bool) -> int:
    """Print the findings, and write them as a page. Raises CampaignError.

    form: json, markdown, commands (that measure what was not), why (each in full), or empty: each in short.
    """
    asked = _of_paper(paper)
    folders, problems = consistency.together(dict.fromkeys(named))
    complain(problems)
    found = _judged(asked, [(folder, rendering.load(folder)) for folder in folders])
    names = ", ".join(folder.run for folder in folders)
    if html is not None:
        write(html, render(findings_text.view(found, names)))
    if form == "json":
        print(findings.as_json(found, [{"run": folder.run, "system": folder.system} for folder in folders]))
    elif form == "markdown":
        print(*findings_text.markdown(found, " ".join(["./campaign", *sys.argv[1:]]), _where(folders)), sep="\n")
    elif form == "commands":
        print(*findings_text.commands(found), sep="\n")
    else:
        print(*findings_text.lines(found, matrices.window().width, every=every, why=form == "why"), sep="\n")
    return EXIT_GOOD


def in_short(folder: RunFolder, loaded: Run) -> str:
    """What a run says of the findings, in a line."""
    return findings_text.summary(_judged(findings.read_all(), [(folder, loaded)]))


def _of_paper(paper: str) -> list[Finding]:
    every = findings.read_all()
    keys = list(dict.fromkeys(one.paper_key for one in every))
    if paper and paper not in keys:
        raise CampaignError(f"--paper '{paper}': one of {', '.join(keys)}")
    return [one for one in every if paper in ("", one.paper_key)]


def _judged(asked: Sequence[Finding], runs: Sequence[tuple[RunFolder, Run]]) -> list[Judged]:
    tables, records = evidence(runs)
    troubles = [case for folder, _ in runs for case in troubles_of(folder)]
    return findings.judged(asked, tables, records, _machine(folder for folder, _ in runs), troubles)


def _where(folders: Sequence[RunFolder]) -> list[str]:
    """Where the runs were made, and with what, a line for each."""
    manifests = {folder.run: run_folders.read_manifest(folder) for folder in folders}
    return [
        f"`{run}`: {manifest['host']['cpu']}, {plural(manifest['host']['cores'], 'core')}, {manifest['host']['os']}, "
        f"{manifest['started_utc'][:10]}, commit `{manifest['campaign']['commit'][:8]}`"
        for run, manifest in manifests.items()
    ]


def _machine(folders: Iterable[RunFolder]) -> Machine:
    """The largest machine of the runs."""
    cores, nodes = 1, 1
    for folder in folders:
        manifest = run_folders.read_manifest(folder)
        cores = max(cores, int((manifest.get("host") or {}).get("cores") or 1))
        nodes = max([nodes, *(int(case.get("nodes") or 1) for case in manifest.get("cases") or [])])
    return Machine(cores, nodes)
