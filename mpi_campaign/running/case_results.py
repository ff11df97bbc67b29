"""The result of each planned case: pass, fail, skip or missing, with one sentence that says why."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import causes
from mpi_campaign.files import read
from mpi_campaign.libraries.settings import BIND_RANK
from mpi_campaign.networks import registry as networks
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.plan import Plan
from mpi_campaign.processes.progress import duration
from mpi_campaign.running import node_probe
from mpi_campaign.running.reframe_session import Outcome
from mpi_campaign.this_machine import host
from mpi_campaign.toolchains.spack import tool
from postprocess.drawing.text import first_of
from postprocess.records.run import PERFORMANCE
from postprocess.records.run_words import together

CUT_OFF = "the run was cut off"
"""How the reason begins why a case that can still be measured is missing."""
MOST_HOSTS = 8
"""A sentence names at most so many hosts."""


def results(
    folder: RunFolder,
    plan: Plan,
    outcomes: list[Outcome],
    *,
    interrupted: bool = False,
    cut_off: Mapping[str, str] = MappingProxyType({}),
    unchecked: Collection[str] = (),
) -> Iterator[dict[str, Any]]:
    """The manifest's `cases`: each planned case with its result, its reason and its record. Where its launch or its
    build ended early, it has the whole message too.

    A case is `missing` if it has no whole record, or none that was checked, because the run was cut off, or because a
    case that it needs failed. A case that an interrupt ended is `missing` too, not `fail`.

    cut_off: why cases were cut off, by stem, where that is known: of a job that the batch system ended, say.
    unchecked: stems of cases that an earlier campaign of the run did not find good; they pass once a test says so.
    """
    if interrupted:
        complete = {case.stem for case in plan.to_measure if run_folders.is_complete(_record(folder, case))}
        outcomes = [outcome for outcome in outcomes if outcome.stem in complete]
    for case in plan.cases:
        record = _record(folder, case)
        is_checked = case.stem not in unchecked or any(outcome.stem == case.stem for outcome in outcomes)
        result, reason, phase, message = _judge(
            folder, plan, case, outcomes, cut_off.get(case.stem, ""), is_checked=is_checked
        )
        yield {
            **case.as_dict(),
            "case": case.label,
            "result": result,
            "reason": reason,
            "fail_phase": phase,
            "record": str(record.relative_to(folder.partial)) if record.exists() else None,
            **({"message": message} if message else {}),
        }


def is_good(folder: RunFolder, outcomes: Sequence[Outcome], case: Case, *, unchecked: Collection[str] = ()) -> bool:
    """Whether a launch has a whole record, in which nothing was found wrong: it may have missed a reference.

    unchecked: as of `results`.
    """
    if case.stem in unchecked and not any(outcome.stem == case.stem for outcome in outcomes):
        return False
    faults = (outcome for outcome in outcomes if outcome.stem == case.stem and (outcome.failed or outcome.aborted))
    return run_folders.is_complete(_record(folder, case)) and all(one.fail_phase == PERFORMANCE for one in faults)


def known_early(folder: RunFolder, plan: Plan, case: Case) -> str:
    """Why a launch that has just failed did so, by its own output: ReFrame's report is not written yet. Empty where the
    launch ran to its end, so that only verification found a fault, and where its output says nothing."""
    return _reason(folder, plan, case, Outcome(case.stem, case.environment, False, "fail", "", "", ""))


def failure_lines(cases: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each case that failed or is missing, and one for all cases with the same result and reason.  cases: as
    `results` returns them."""
    bad = (case for case in cases if case["result"] in ("fail", "missing"))
    for what, (result, reason) in together((((case["result"], case["reason"]), case["case"]) for case in bad), "case"):
        yield f"{result.upper()} {what}: {reason}"


def _record(folder: RunFolder, case: Case) -> Path:
    return folder.partial / "records" / f"{case.stem}.jsonl"


def _judge(
    folder: RunFolder, plan: Plan, case: Case, outcomes: list[Outcome], cut_off: str, *, is_checked: bool
) -> tuple[str, str, str, str]:
    """Result, reason, ReFrame's phase in which the case failed, and the message of a launch or build that ended early.
    A case that failed in `performance` did run as it was asked to: it missed a reference."""
    if case.stem in plan.skipped:
        return "skip", plan.skipped[case.stem], "", ""
    build = next(
        (
            outcome
            for outcome in outcomes
            if outcome.failed and not outcome.stem and outcome.environment == case.environment
        ),
        None,
    )
    if build:
        message = causes.message(_build_output(build))
        return "fail", f"the build failed: {build_error(build)}", build.fail_phase, message
    failures = [outcome for outcome in outcomes if outcome.failed and outcome.stem == case.stem]
    if failures:
        worst = next((outcome for outcome in failures if outcome.fail_phase != PERFORMANCE), failures[0])
        return "fail", _reason(folder, plan, case, worst), worst.fail_phase, _message(folder, case)
    is_complete = run_folders.is_complete(_record(folder, case))
    if is_complete and is_checked and not any(outcome.aborted and outcome.stem == case.stem for outcome in outcomes):
        return "pass", "", "", ""
    basic = case.basic
    needed = next(
        (outcome for outcome in outcomes if outcome.failed and basic is not None and outcome.stem == basic.stem), None
    )
    if basic is not None and needed is not None:
        why = f"basic, whose sizes it needs, failed: {_reason(folder, plan, basic, needed)}"
        return "missing", why, "", _message(folder, basic)
    if any(outcome.result == "skip" and outcome.stem == case.stem for outcome in outcomes):
        return "skip", "ReFrame skipped it when it was its turn: logs/reframe.log says why", "", ""
    begun = sum('"type":"point"' in line for line in lines(_record(folder, case)))
    how_far = f"after {begun} of its points" if begun else "before it was measured"
    how_far = "before its record was checked" if is_complete else how_far
    why = f": {cut_off}" if cut_off else ""
    return "missing", f"{CUT_OFF} {how_far}{why}", "", ""


def _output_of(folder: RunFolder, case: Case) -> str:
    """The output of a case's launch, standard error first."""
    logs = folder.partial / "logs"
    return "\n".join(read(logs / f"{case.stem}{suffix}") for suffix in (".err", ".out"))


def _message(folder: RunFolder, case: Case) -> str:
    """The whole message of a launch that ended early; empty where it ran to its end."""
    return "" if run_folders.is_complete(_record(folder, case)) else causes.message(_output_of(folder, case))


def _reason(folder: RunFolder, plan: Plan, case: Case, outcome: Outcome) -> str:
    """Why a case failed: the benchmark's own sentence, else the cause that the launcher told, else ReFrame's reason."""
    output = _output_of(folder, case)
    reframe_says = outcome.fail_reason.removeprefix("sanity error: ").strip()
    hangs = _hangs(output, case, _hosts(_record(folder, case)))
    if hangs or "timed out" in reframe_says:
        where = "; ".join(hangs)
        limit = f"its limit of {duration(plan.case_limit_seconds)} (--case-limit-seconds)"
        return f"it hung: no end within {limit}{': ' * bool(where)}{where}"
    if run_folders.is_complete(_record(folder, case)):
        return reframe_says  # the launch ran to its end: only verification found a fault
    if from_program := causes.of_program(
        f"{output}\n{reframe_says}", (case.benchmark, networks.of(case.network).launcher or BIND_RANK, BIND_RANK)
    ):
        return from_program[-1]
    cause = causes.of_launch(output, _shm_free_bytes(folder, plan), here=plan.options.system == "local")
    hosts = list(dict.fromkeys(_hosts(_record(folder, case)).values()))
    unnamed = cause is not None and not any(name in cause.words for name in hosts)
    where = f"; it ran on {_some(hosts)}" if hosts and unnamed else ""
    return f"it ended early{cause.after_early_end}{where}" if cause else reframe_says


def _shm_free_bytes(folder: RunFolder, plan: Plan) -> int | None:
    """The free space of /dev/shm where launches ran, the least of all nodes; None where it is not known."""
    if plan.options.system == "local":
        return host.shm_bytes(Path("/"))[1]
    seen = [node for place in (folder.session, *folder.jobs.glob("*")) for node in node_probe.read(place)]
    free = [node.host.get("shm_free_bytes") for node in seen]
    return min((count for count in free if isinstance(count, int)), default=None)


def _hosts(record: Path) -> dict[int, str]:
    """The host of each rank by the header of a record; empty where there is no header, or only one node."""
    try:
        header = json.loads(next(iter(read(record).splitlines()), ""))
        return {place["rank"]: place["host"] for place in header["placement"]} if header["nodes"] > 1 else {}
    except (ValueError, KeyError, TypeError):
        return {}


def _some(hosts: Sequence[str]) -> str:
    return first_of(hosts, MOST_HOSTS, " and {} more nodes")


def _hangs(output: str, case: Case, hosts: Mapping[int, str]) -> list[str]:
    """What ranks of a hung launch said of themselves, and from which nodes nothing was heard.  hosts: of each rank,
    where there are several."""
    said = set(re.findall(rf"^\s*{case.benchmark}: rank (\d+) (hangs in .*?)\s*$", output, re.MULTILINE))
    hanging = sorted(
        f"rank {rank}{f' on {hosts[int(rank)]}' if int(rank) in hosts else ''} {where}" for rank, where in said
    )
    heard = {hosts.get(int(rank)) for rank, _ in said}
    silent = [host for host in dict.fromkeys(hosts.values()) if host not in heard]
    return [*hanging, f"nothing was heard from {_some(silent)}"] if hanging and silent else hanging


def build_error(outcome: Outcome) -> str:
    """Why a build failed, in one sentence; for a build by Spack, with what to do where that is known."""
    output = _build_output(outcome)
    first = causes.of_build(output) or causes.of_build(outcome.fail_reason)
    errors = [line for line in output.splitlines() if "rror" in line]
    todo = next(filter(None, map(tool.hint, errors)), "") if outcome.environment.endswith("-spack") else ""
    return f"{first} ({todo})" if todo else first


def _build_output(outcome: Outcome) -> str:
    return "\n".join(read(Path(outcome.folder) / f"rfm_build.{suffix}") for suffix in ("err", "out"))


def lines(path: Path) -> list[str]:
    """The lines of a log without blank ones and rules; empty where there is no such file."""
    return [line.strip() for line in read(path).splitlines() if line.strip(" -*\t")]
