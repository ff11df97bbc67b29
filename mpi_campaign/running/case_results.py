"""What became of each planned case: pass, fail, skip or missing, with the one sentence that says why."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import causes
from mpi_campaign.libraries.settings import BIND_RANK
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.plan import Plan
from mpi_campaign.processes.progress import duration
from mpi_campaign.running.reframe_session import Outcome
from mpi_campaign.this_machine import host
from mpi_campaign.toolchains.spack import tool
from postprocess.records.run import PERFORMANCE


def results(
    folder: RunFolder, plan: Plan, outcomes: list[Outcome], *, interrupted: bool = False
) -> Iterator[dict[str, Any]]:
    """The manifest's `cases`: each planned case with its result, reason, record and, where a launch or a build ended
    early, the whole message of what ended.

    `missing` is a case that has no whole record because the run was cut off, or because what it needs failed. What an
    interrupt ended did not fail.
    """
    if interrupted:
        whole = {case.stem for case in plan.to_measure if run_folders.is_complete(_record(folder, case))}
        outcomes = [one for one in outcomes if one.stem in whole]
    for case in plan.cases:
        record = _record(folder, case)
        result, reason, phase, message = _judge(folder, plan, case, outcomes)
        yield {
            **case.as_dict(),
            "case": case.label,
            "result": result,
            "reason": reason,
            "fail_phase": phase,
            "record": str(record.relative_to(folder.partial)) if record.exists() else None,
            **({"message": message} if message else {}),
        }


def _basic(plan: Plan, case: Case) -> Case | None:
    """The one that gave it its sizes; where sides take turns and `basic` is one, that is its first launch."""
    own = case.basic
    borrowed = plan.options.interleave and (case.environment, "basic") in plan.sides
    return replace(own, repeat=1) if own is not None and borrowed else own


def _record(folder: RunFolder, case: Case) -> Path:
    return folder.partial / "records" / f"{case.stem}.jsonl"


def _judge(folder: RunFolder, plan: Plan, case: Case, outcomes: list[Outcome]) -> tuple[str, str, str, str]:
    """Result, reason, ReFrame's phase in which it failed (what did in `performance` was what was asked for), and the
    message of what ended early."""
    if case.stem in plan.skipped:
        return "skip", plan.skipped[case.stem], "", ""
    build = next((one for one in outcomes if one.failed and not one.stem and one.environment == case.environment), None)
    if build:
        said = causes.message(_said_in_build(build))
        return "fail", f"the build failed: {build_error(build)}", build.fail_phase, said
    own = [one for one in outcomes if one.failed and one.stem == case.stem]
    if own:
        worst = next((one for one in own if one.fail_phase != PERFORMANCE), own[0])
        return "fail", _why(folder, plan, case, worst), worst.fail_phase, _message(folder, case)
    if run_folders.is_complete(_record(folder, case)):
        return "pass", "", "", ""
    basic = _basic(plan, case)
    needed = next((one for one in outcomes if one.failed and basic is not None and one.stem == basic.stem), None)
    if basic is not None and needed is not None:
        why = f"basic, whose sizes it needs, failed: {_why(folder, plan, basic, needed)}"
        return "missing", why, "", _message(folder, basic)
    if any(one.result == "skip" and one.stem == case.stem for one in outcomes):
        return "skip", "ReFrame skipped it when it was its turn: logs/reframe.log says why", "", ""
    begun = sum('"type":"point"' in line for line in lines(_record(folder, case)))
    how_far = f"after {begun} of its points" if begun else "before it was measured"
    return "missing", f"the run was cut off {how_far}", "", ""


def _said(folder: RunFolder, case: Case) -> str:
    """What its launch wrote, the errors first."""
    logs = folder.partial / "logs"
    return "\n".join(_text(logs / f"{case.stem}{suffix}") for suffix in (".err", ".out"))


def _message(folder: RunFolder, case: Case) -> str:
    """The whole message of a launch that ended early; empty of one that ran to its end."""
    return "" if run_folders.is_complete(_record(folder, case)) else causes.message(_said(folder, case))


def _why(folder: RunFolder, plan: Plan, case: Case, outcome: Outcome) -> str:
    """The sentence that a person needs: the benchmark's own, else the cause that the launcher told, else ReFrame's."""
    said = _said(folder, case)
    reframe_says = outcome.fail_reason.removeprefix("sanity error: ").strip()
    hangs = set(re.findall(rf"^\s*{case.benchmark}: (rank \d+ hangs in .*?)\s*$", said, re.MULTILINE))
    if hangs or "timed out" in reframe_says:
        where = "; ".join(sorted(hangs))  # of every rank: this is its last phase
        limit = f"its limit of {duration(plan.case_limit_seconds)} (--case-limit-seconds)"
        return f"it hung: no end within {limit}{': ' * bool(where)}{where}"
    if run_folders.is_complete(_record(folder, case)):
        return reframe_says  # it ran to its end: what was wrong is what verification found
    if own := causes.of_program(f"{said}\n{reframe_says}", (case.benchmark, "wire", BIND_RANK)):
        return own[-1]
    # Of another system than the one that this stands on, nothing is known of its nodes' memory.
    cause = causes.of_launch(said, host.shm_bytes(Path("/"))[0] if plan.options.system == "local" else None)
    return f"it ended early{cause.after_early_end}" if cause else reframe_says


def build_error(outcome: Outcome) -> str:
    """The sentence that says why a build failed; of a build by Spack, also what to do where that is known."""
    said = _said_in_build(outcome)
    first = causes.of_build(said) or causes.of_build(outcome.fail_reason)
    errors = [line for line in said.splitlines() if "rror" in line]
    todo = next(filter(None, map(tool.hint, errors)), "") if outcome.environment.endswith("-spack") else ""
    return f"{first} ({todo})" if todo else first


def _said_in_build(outcome: Outcome) -> str:
    return "\n".join(_text(Path(outcome.folder) / f"rfm_build.{suffix}") for suffix in ("err", "out"))


def lines(path: Path) -> list[str]:
    """A log's lines that say something; none where there is no such file."""
    return [line.strip() for line in _text(path).splitlines() if line.strip(" -*\t")]


def _text(path: Path) -> str:
    """A log; empty where there is no such file."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
