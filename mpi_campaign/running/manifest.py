"""The manifest of a run while it grows, and what is archived beside it."""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mpi_campaign import __version__
from mpi_campaign.archive import provenance, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import environ
from mpi_campaign.planning.options import MANIFEST_VERSION, Options
from mpi_campaign.planning.placing import partition_of
from mpi_campaign.planning.plan import Plan
from mpi_campaign.systems import known_systems
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains.resolving import Toolchain
from mpi_campaign.toolchains.spack import matrix
from postprocess.records import host_limits


def of_run(
    folder: RunFolder,
    plan: Plan,
    resolved: Sequence[Toolchain],
    notes: Sequence[str],
    *,
    command_line: list[str],
    reframe_command: list[str],
    before: Mapping[str, Any],
    later_run: str,
) -> dict[str, Any]:
    """The manifest at the beginning.  before: what it was before the run was resumed; empty for a new run.  later_run:
    a run of a later time than now: then the clock was set back."""
    names = ("started_utc", "later_run", "command_line", "campaign", "host", "environment", *run_folders.MARKS)
    began: dict[str, Any] = {name: before[name] for name in names if name in before}
    now = of_session(command_line)
    # Of a run in jobs, `host` is a node.
    compared = ("campaign", *(["host"] if partition_of(plan.options, plan.network).here else []), "environment")
    moved = [name for name in compared if name in began and is_another(name, began[name], now[name])]
    if moved:
        notes = [*notes, f"resumed with another {' and another '.join(moved)}: see the sessions"]
    notes_before = map(str, before.get("notes") or [])  # they apply to what was measured before
    return {
        "schema": "mpi-campaign.manifest",
        "schema_version": MANIFEST_VERSION,
        "run": folder.run,
        "system": folder.system,
        "suite": plan.options.suite,
        "status": "incomplete",
        "started_utc": run_folders.now_utc(),
        "later_run": later_run,
        "finished_utc": None,
        **now,
        "reframe_command": shlex.join(reframe_command),
        "options": plan.options.as_dict(),
        "toolchains": [{**asdict(toolchain), "environment": toolchain.environment} for toolchain in resolved],
        "case_budget_seconds": plan.case_budget_seconds,
        "cases": [],
        "sessions": before.get("sessions", []),
        "jobs": before.get("jobs", []),
        "nodes": before.get("nodes", []),
        "notes": list(dict.fromkeys([*notes_before, *notes])),
        **began,
    }


def unchecked(before: Mapping[str, Any], plan: Plan) -> set[str]:
    """The stems of cases whose records an earlier campaign of the run did not check, or found bad. before: as of
    `of_run`."""
    bad = {case["case"] for case in before.get("cases", []) if case["result"] in ("missing", "fail")}
    return {case.stem for case in plan.cases if case.label in bad}


def of_session(command_line: list[str]) -> dict[str, Any]:
    """The command line, campaign, host and environment of one session. A resumed run has several sessions."""
    git = machine.git_state()
    campaign = {"version": __version__, "commit": git.commit, "dirty": git.dirty}
    if git.why_unknown:
        campaign["commit_unknown"] = git.why_unknown
    return {
        "command_line": command_line,
        "campaign": campaign,
        "host": machine.host_facts(),
        "environment": environ.as_recorded(),
    }


def is_another(part: str, before: Any, now: Mapping[str, Any]) -> bool:
    """Whether a part of a manifest differs from what the run began with."""
    if part != "host" or not isinstance(before, dict):
        return bool(before != now)
    host_before, host_now = host_limits.known_in_both(before, now)
    return host_before != host_now


def keep_sources(folder: RunFolder, resolved: Sequence[Toolchain]) -> None:
    """Archive what a run was made from: the system's description, unless every clone has it, and the files from which
    Spack builds the toolchains."""
    system_copy = folder.partial / provenance.SYSTEM_FOLDER
    if folder.system != Options.system:
        system_copy.mkdir(exist_ok=True)
        shutil.copyfile(known_systems.SYSTEMS / folder.system / "settings.py", system_copy / "settings.py")
    by_spack = [(toolchain.environment, toolchain.spack) for toolchain in resolved if toolchain.spack is not None]
    for environment, build in by_spack:
        (folder.partial / provenance.SPACK_FOLDER).mkdir(exist_ok=True)
        shutil.copyfile(build.folder / "spack.lock", folder.partial / provenance.lock_of(environment))
        shutil.copyfile(build.folder / "spack.yaml", folder.partial / provenance.manifest_of(environment))
    if by_spack:
        (system_copy / "spack").mkdir(parents=True, exist_ok=True)
        for path in matrix.scope_of(folder.system).glob("*.yaml"):
            shutil.copyfile(path, system_copy / "spack" / path.name)
