"""`campaign findings`: what the papers found, judged on runs of this machine."""

from collections.abc import Sequence
from pathlib import Path

from mpi_campaign.archive import consistency, rendering, run_folders, window
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_GOOD, CampaignError
from mpi_campaign.verdicts.accepting import evidence
from mpi_campaign.verdicts.comparing import complain, where_made, write
from postprocess.verdicts import findings, findings_pictures, findings_text
from postprocess.verdicts.acceptance import troubles_of
from postprocess.verdicts.findings import Finding
from postprocess.verdicts.verdict_page import render


def run(
    named: Sequence[RunFolder], paper: str, html: Path | None, pages: Path | None, form: str, *, every: bool
) -> int:
    """Print the findings, and write them as a page. Raises CampaignError.

    pages: a folder for a page of each paper, in Markdown.  form: json, commands (that measure what was not), why (each
    in full), or empty: each in short.
    """
    asked = _of_paper(paper)
    folders, problems = consistency.together(dict.fromkeys(named))
    complain(problems)
    runs = [(folder, rendering.load(folder)) for folder in folders]
    tables, _ = evidence(runs)
    manifests = [run_folders.read_manifest(folder) for folder in folders]
    troubles = [case for manifest in manifests for case in troubles_of(manifest)]
    found = findings.judged(asked, tables, findings.machine_of(manifests), troubles)
    names = ", ".join(folder.run for folder in folders)
    if html is not None:
        maps = list(findings_pictures.maps(found, tables))
        charts = list(findings_pictures.charts(found, [loaded for _, loaded in runs]))
        write(html, render(findings_text.view(found, names, maps, charts)))
    if pages is not None:
        words = f"./campaign findings {' '.join(folder.run for folder in folders)} --markdown docs/papers"
        _make(pages)
        for key, text in findings_text.markdown(found, words, where_made(manifests)):
            write(pages / f"{key}.md", text)
    if form == "json":
        print(findings.as_json(found, [{"run": folder.run, "system": folder.system} for folder in folders]))
    elif form == "commands":
        print(*findings_text.commands(found), sep="\n")
    else:
        print(*findings_text.lines(found, window.window().width, every=every, why=form == "why"), sep="\n")
    return EXIT_GOOD


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CampaignError(f"{folder} cannot be made ({error.strerror}): give another folder") from error


def _of_paper(paper: str) -> list[Finding]:
    every = findings.read_all()
    keys = list(dict.fromkeys(one.paper_key for one in every))
    if paper and paper not in keys:
        raise CampaignError(f"--paper '{paper}': one of {', '.join(keys)}")
    return [one for one in every if paper in ("", one.paper_key)]
