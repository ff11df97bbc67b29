"""`campaign publish`: the archive as a static site. One more night writes the pages that it changes, and no others."""

import functools
import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pandas as pd

from mpi_campaign import __version__
from mpi_campaign.archive import public_copy, rendering, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, CampaignError
from mpi_campaign.processes import locks
from mpi_campaign.processes.progress import Progress
from mpi_campaign.verdicts import alarms, answering, comparing, sides
from mpi_campaign.verdicts.alarms import HistoryRequest
from mpi_campaign.verdicts.comparing import ComparisonRequest
from postprocess.drawing import page
from postprocess.drawing.text import clean, plural, shortened
from postprocess.records.run import cases_of
from postprocess.statistics.limits import HISTORY_RATE, Limits
from postprocess.verdicts import published
from postprocess.verdicts.published import Night, Noted, System
from postprocess.verdicts.verdict_page import SMALL, comparisons_view
from postprocess.verdicts.verdict_page import render as render_verdicts

INDEX = "index.json"
LOCK = ".lock"
REPORTED = ".reported.json"
"""In the folder of a site: of which runs it has the report, and of which state of the run."""
PUBLIC = ".public"
"""In the folder of a site that never had names of hosts and users."""


@dataclass(frozen=True)
class PublishRequest:
    """What a person asked for.  system: of the archive; empty for all.  public: without names of hosts and users.
    base: the address that the site will have; empty where that is not known."""

    system: str = ""
    public: bool = False
    base: str = ""


def run(asked: PublishRequest, root: Path, site: Path) -> int:
    """Write or renew a site. Returns 1 where an alarm rings. Raises CampaignError."""
    base = _base(asked.base)
    progress = Progress(4)
    folders = _runs(root, asked.system)
    _check_site(site, public=asked.public)
    with _locked(site):
        _note_kind(site, public=asked.public)
        if asked.public:
            folders = _public_copies(folders, root, progress)
        progress.step(f"looking for changes in {plural(len(folders), 'run')}")
        systems = [_system(name, folders, root, progress) for name in dict.fromkeys(one.system for one in folders)]
        progress.step("writing the reports of runs")
        reported = _write_reports(folders, site, progress)
        systems = [_with_reports(each, reported) for each in systems]
        progress.step("comparing the newest versions")
        systems = [replace(each, compared=_write_comparison(each, folders, site, progress)) for each in systems]
        progress.step("writing pages")
        written = _write_pages(systems, site, base)
    progress.detail(f"{plural(written, 'page')} new or changed")
    for system in systems:
        print(f"{clean(system.name)}: {clean(system.words)}")
    print(f"site: {site / 'index.html'}")
    return EXIT_FAILED if any(system.ringing for system in systems) else EXIT_GOOD


def check(site: Path) -> int:
    """Say whether a site's newest nights are recent and no alarm rings. Returns 1 where not. Raises CampaignError."""
    path = site / INDEX
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        lines = published.silent(document, pd.Timestamp.now(tz="UTC"))
        lines += [f"{each['name']}: {each['words']}" for each in document["systems"] if each["state"] != published.GOOD]
        systems = len(document["systems"])
    except FileNotFoundError as error:
        raise CampaignError(f"{path} is not there: make the site with ./campaign publish {site}") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CampaignError(f"{path} is not what `publish` writes: {error}") from error
    print("\n".join(map(clean, lines)) or f"good: {plural(systems, 'system')}, no alarm, none is silent")
    return EXIT_FAILED if lines else EXIT_GOOD


def _base(text: str) -> str:
    """The address of the site, with a slash at its end. Raises CampaignError where it is none."""
    if text and not (urlparse(text).scheme in ("http", "https") and urlparse(text).netloc and text.isprintable()):
        raise CampaignError(f"--url '{clean(text)}' is no address: give one such as https://example.org/nights/")
    return text if not text or text.endswith("/") else f"{text}/"


def _runs(root: Path, system: str) -> list[RunFolder]:
    """The runs to publish. Raises CampaignError where there is none."""
    there = run_folders.ended(root)
    folders = [folder for folder in there if system in ("", folder.system) and _manifest(folder)]
    if not folders:
        names = shortened(sorted({folder.system for folder in there}))
        of = f" of system '{clean(system)}'; there are: {', '.join(names) or 'none'}" if system else f" in {root}"
        raise CampaignError(f"there is no run{of}: make one with ./campaign run")
    return folders


def _check_site(site: Path, *, public: bool) -> None:
    """Raises CampaignError where a folder has files that no site has, or a public site would have pages of another."""
    run_folders.check_outside(site)
    if site.exists() and not site.is_dir():
        raise CampaignError(f"{site} is no folder: give another one")
    others = site.is_dir() and any(path.name != LOCK for path in site.iterdir())
    if others and not (site / INDEX).exists() and not (site / REPORTED).exists():
        raise CampaignError(f"{site} has other files: give a new folder, or that of a site")
    if public and (site / INDEX).exists() and not (site / PUBLIC).exists():
        raise CampaignError(f"{site} was made without --public, and has names of hosts and users: give a new folder")


def _note_kind(site: Path, *, public: bool) -> None:
    """Raises OSError."""
    if public:
        (site / PUBLIC).touch()
    else:
        (site / PUBLIC).unlink(missing_ok=True)


@contextmanager
def _locked(site: Path) -> Iterator[None]:
    """Keep a site for this process alone. Raises CampaignError where it cannot be written."""
    try:
        site.mkdir(parents=True, exist_ok=True)
        with run_folders.open_lock(site / LOCK) as lock, locks.held(lock, f"another campaign writes {site}", print):
            if not (site / REPORTED).exists():
                page.write(site / REPORTED, "{}\n")  # from now on it is a site, even if this is interrupted
            yield
    except OSError as error:
        what = error.filename or site
        raise CampaignError(f"{what} cannot be written or read ({error.strerror})") from error


def _public_copies(folders: list[RunFolder], root: Path, progress: Progress) -> list[RunFolder]:
    """Public copies of runs that are complete. A copy is made once. Raises CampaignError where no run is complete."""
    copies: list[RunFolder] = []
    place = run_folders.PUBLIC_COPIES / hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]
    published = {(folder.system, folder.run) for folder in folders}
    for old in run_folders.runs(place):
        if old.system in {folder.system for folder in folders} and (old.system, old.run) not in published:
            shutil.rmtree(old.archived)  # its run was deleted
    for number, folder in enumerate(folders, 1):
        progress.status(f"public copy {number} of {len(folders)}")
        copy = RunFolder(place, folder.system, folder.run)
        if folder.is_complete and not copy.is_complete:
            copy.archived.parent.mkdir(parents=True, exist_ok=True)
            partial = copy.archived.with_name(f".{folder.run}.{os.getpid()}")
            try:
                public_copy.write(folder, partial)
                partial.rename(copy.archived)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        if copy.is_complete:
            copies.append(copy)
    progress.status("")
    if not copies:
        raise CampaignError("no run is complete, and only complete ones have public copies: end one with --resume")
    return copies


def _system(name: str, folders: list[RunFolder], root: Path, progress: Progress) -> System:
    """What is published of a system. A system whose runs have no launch to compare has nights and no history.

    root: the archive in which alarms were acknowledged. Public copies of its runs are elsewhere.
    """
    own = [folder for folder in folders if folder.system == name]
    nights = [_night(folder) for folder in own]
    try:
        request = HistoryRequest(name, (), Limits(rate=HISTORY_RATE))
        findings = alarms.find(request, own[0].root, acknowledged_in=root)
    except alarms.NoLaunchesError as error:
        progress.detail(f"{clean(name)} has no history: {error}")
        return System(name, nights, [], [], 0, "no history", "")
    noted = [
        Noted(alarm.change, alarm.state, alarm.last, "; ".join(alarm.explained), alarm.rings)
        for alarm in findings.alarms
    ]
    return System(
        name, nights, findings.series, noted, findings.ringing, alarms.answer(findings), alarms.coverage(findings),
        findings.unmeasured,
    )  # fmt: skip


@functools.cache
def _manifest(folder: RunFolder) -> dict[str, Any]:
    """The manifest of a run, which is read once; empty where it cannot be read."""
    return run_folders.manifest_or_none(folder)


def _night(folder: RunFolder) -> Night:
    manifest = _manifest(folder)
    results = [case.get("result") for case in cases_of(manifest)]
    toolchains = [str(entry.get("toolchain")) for entry in manifest.get("toolchains") or [] if isinstance(entry, dict)]
    began = str(manifest.get("started_utc") or "")
    return Night(
        folder.run,
        began or f"{pd.Timestamp(folder.run[:15]):%Y-%m-%dT%H:%M:%SZ}",
        str(manifest.get("status") or "incomplete"),
        results.count("pass"),
        results.count("fail"),
        str(manifest.get("suite") or ""),
        tuple(dict.fromkeys(toolchains)),
        aside=not manifest.keys().isdisjoint(run_folders.MARKS),
    )


def _with_reports(system: System, reported: Collection[str]) -> System:
    nights = [replace(night, reported=f"{system.name}/{night.name}" in reported) for night in system.nights]
    return replace(system, nights=nights)


def _write_reports(folders: list[RunFolder], site: Path, progress: Progress) -> Collection[str]:
    """Write the report of each run that the site has not, or that has changed since. That of the archive is copied,
    unless it leads to files beside it. Those of runs that are not published any more are deleted. Returns the names of
    the runs with a report."""
    reported = _without_others(folders, site)
    missing = [folder for folder in folders if reported.get(_name(folder)) != _state(folder)]
    for number, folder in enumerate(missing, 1):
        progress.status(f"report {number} of {len(missing)}: {folder.run}")
        try:
            target = site / folder.system / "runs" / f"{folder.run}.html"
            target.parent.mkdir(parents=True, exist_ok=True)
            if text := _archived_report(folder):
                page.write(target, text)
            else:
                run = rendering.load(folder)
                rendering.write_report(folder, run, answering.of_run(folder, run), target)
        except CampaignError as error:
            progress.detail(f"{clean(folder.run)} has no report: {error}")
            reported.pop(_name(folder), None)
            continue
        reported[_name(folder)] = _state(folder)
        page.write(site / REPORTED, json.dumps(reported, indent=1) + "\n")
    progress.status("")
    return reported.keys()


def _without_others(folders: list[RunFolder], site: Path) -> dict[str, str]:
    """Of which runs the site has the report, after those of other runs of the same systems were deleted."""
    reported, names = _reported(site), set(map(_name, folders))
    before = len(reported)
    for system in {folder.system for folder in folders}:
        for path in site.joinpath(system, "runs").glob("*.html"):
            if f"{system}/{path.stem}" not in names:
                path.unlink()
                reported.pop(f"{system}/{path.stem}", None)
    if len(reported) < before:
        page.write(site / REPORTED, json.dumps(reported, indent=1) + "\n")
    return reported


def _archived_report(folder: RunFolder) -> str:
    """The report in the archive; empty where there is none, or where it leads to files beside it."""
    try:
        text = folder.report.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    return "" if re.search(r'\b(?:href|src)="(?!#|https?:|data:)', text) else text


def _name(folder: RunFolder) -> str:
    return f"{folder.system}/{folder.run}"


def _state(folder: RunFolder) -> str:
    """What a report depends on: the run, as its manifest tells it, and the version of the campaign."""
    return f"{run_folders.manifest_digest(_manifest(folder))} {__version__}"


def _reported(site: Path) -> dict[str, str]:
    """Of which runs the site has the report."""
    try:
        document = json.loads((site / REPORTED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(state) for name, state in document.items()} if isinstance(document, dict) else {}


def _write_comparison(system: System, folders: list[RunFolder], site: Path, progress: Progress) -> tuple[str, ...]:
    """Compare the newest version of each library, in the newest night that has more than one library. Returns the
    versions; none where there is nothing to compare."""
    nights = (night for night in reversed(system.nights) if not night.aside)
    night = next((night for night in nights if len(_newest_versions(night)) > 1), None)
    if night is None:
        return ()
    folder = next(folder for folder in folders if (folder.system, folder.run) == (system.name, night.name))
    request = ComparisonRequest(tuple(_newest_versions(night)), within=str(folder.path))
    try:
        pairs, facts = comparing.of_sides(request, folder.root)
    except CampaignError as error:
        progress.detail(f"{clean(system.name)}: {error}")
        return ()
    view = comparisons_view(pairs, [(name, night.name) for name, _ in facts], SMALL)
    links = [("all systems", "../index.html"), (system.name, "index.html")]
    _put(site / system.name / published.COMPARISON, render_verdicts(replace(view, links=links)))
    return request.words


def _newest_versions(night: Night) -> list[str]:
    """The newest version of each library of a night."""
    newest: dict[str, str] = {}
    for toolchain in sorted(night.toolchains, key=lambda name: sides.release(name)[1]):
        newest[sides.release(toolchain)[0]] = toolchain
    return sorted(newest.values())


def _write_pages(systems: list[System], site: Path, base: str) -> int:
    """Write the pages of cases, systems and the site. Returns how many are new or changed."""
    made = max(system.newest.began_utc for system in systems)
    pages: dict[str, str] = {}
    for system in systems:
        pages |= {f"{system.name}/{address}": text for address, text in published.inner_pages(system).items()}
        pages[f"{system.name}/badge.svg"] = published.badge(system)
    pages["index.html"] = published.render(published.home(systems, made))
    pages["alarms.atom"] = published.feed(systems, made, base)
    pages[INDEX] = published.as_json(systems, made)
    return sum(_put(site / address, text) for address, text in pages.items())


def _put(path: Path, text: str) -> bool:
    """Write a file where it has another content. Returns whether it had."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    page.write(path, text)
    return True
