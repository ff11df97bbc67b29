"""What became of each planned case: pass, fail, skip or missing, with the one line that says why."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpi_campaign import archive
from mpi_campaign.archive import RunFolder
from mpi_campaign.cases import Case
from mpi_campaign.plan import Plan
from mpi_campaign.progress import duration
from mpi_campaign.reframe_session import Outcome
from mpi_campaign.spack import tool
from postprocess.load import PERFORMANCE

LONGEST_QUOTE = 300
# What a launcher says that tells why its ranks ended, among its banners and advice.
TELLING = re.compile(r"signal|killed|cannot|could not|not found|no such|error|abort|denied|fail", re.IGNORECASE)


def results(
    folder: RunFolder, plan: Plan, outcomes: list[Outcome], *, interrupted: bool = False
) -> Iterator[dict[str, Any]]:
    """The manifest's `cases`: each planned case with its result, reason and record.

    `missing` is a case that has no whole record because the run was cut off, or because what it needs failed. What an
    interrupt ended did not fail.
    """
    if interrupted:
        whole = {case.stem for case in plan.to_measure if archive.is_complete(_record(folder, case))}
        outcomes = [one for one in outcomes if one.stem in whole]
    for case in plan.cases:
        record = _record(folder, case)
        result, reason, phase = _judge(folder, plan, case, outcomes)
        yield {
            **case.as_dict(),
            "case": case.label,
            "result": result,
            "reason": reason,
            "fail_phase": phase,
            "record": str(record.relative_to(folder.partial)) if record.exists() else None,
        }


def _basic(plan: Plan, case: Case) -> Case | None:
    """The one that gave it its sizes; where sides take turns and `basic` is one, that is its first launch."""
    own = case.basic
    borrowed = plan.options.interleave and (case.environment, "basic") in plan.sides
    return replace(own, repeat=1) if own is not None and borrowed else own


def _record(folder: RunFolder, case: Case) -> Path:
    return folder.partial / "records" / f"{case.stem}.jsonl"


def _judge(folder: RunFolder, plan: Plan, case: Case, outcomes: list[Outcome]) -> tuple[str, str, str]:
    """Result, reason, and ReFrame's phase in which it failed: what did in `performance` was what was asked for."""
    if case.stem in plan.skipped:
        return "skip", plan.skipped[case.stem], ""
    build = next((one for one in outcomes if one.failed and not one.stem and one.environment == case.environment), None)
    if build:
        return "fail", f"the build failed: {build_error(build)}", build.fail_phase
    own = [one for one in outcomes if one.failed and one.stem == case.stem]
    if own:
        worst = next((one for one in own if one.fail_phase != PERFORMANCE), own[0])
        return "fail", _why(folder, plan, case, worst), worst.fail_phase
    if archive.is_complete(_record(folder, case)):
        return "pass", "", ""
    basic = _basic(plan, case)
    needed = next((one for one in outcomes if one.failed and basic is not None and one.stem == basic.stem), None)
    if basic is not None and needed is not None:
        return "missing", f"basic, whose sizes it needs, failed: {_why(folder, plan, basic, needed)}", ""
    if any(one.result == "skip" and one.stem == case.stem for one in outcomes):
        return "skip", "ReFrame skipped it when it was its turn: logs/reframe.log says why", ""
    begun = sum('"type":"point"' in line for line in lines(_record(folder, case)))
    how_far = f"after {begun} of its points" if begun else "before it was measured"
    return "missing", f"the run was cut off {how_far}", ""


def _why(folder: RunFolder, plan: Plan, case: Case, outcome: Outcome) -> str:
    """The line that a person needs: the benchmark's own, else ReFrame's with the launcher's last."""
    logs = folder.partial / "logs"
    said = [line for suffix in (".err", ".out") for line in lines(logs / f"{case.stem}{suffix}")]
    reframe_says = outcome.fail_reason.removeprefix("sanity error: ").strip()
    hangs = {line for line in said if re.match(rf"{case.benchmark}: rank \d+ hangs in ", line)}
    if hangs or "timed out" in reframe_says:
        where = "; ".join(line.partition(": ")[2] for line in sorted(hangs))  # of every rank: this is its last phase
        limit = f"its limit of {duration(plan.case_limit_seconds)} (--case-limit-seconds)"
        return f"it hung: no end within {limit}{': ' * bool(where)}{where}"
    if archive.is_complete(_record(folder, case)):
        return reframe_says  # it ran to its end: what was wrong is what verification found
    own = [line for line in (*said, reframe_says) if line.startswith((f"{case.benchmark}: ", "wire: "))]
    if own:
        return own[-1][:LONGEST_QUOTE]
    telling = [line for line in said if TELLING.search(line)] or said[-1:]
    return f"it ended early; the launcher said: {telling[0][:LONGEST_QUOTE]}" if telling else reframe_says


def build_error(outcome: Outcome) -> str:
    """The first line that says why a build failed; of a build by Spack, also what to do where that is known."""
    said = [line for name in ("rfm_build.err", "rfm_build.out") for line in lines(Path(outcome.folder) / name)]
    errors = [line for line in said if "rror" in line]
    first = (errors or said or [outcome.fail_reason])[0][:LONGEST_QUOTE]
    todo = next(filter(None, map(tool.hint, errors)), "") if outcome.environment.endswith("-spack") else ""
    return f"{first} ({todo})" if todo else first


def lines(path: Path) -> list[str]:
    """A log's lines that say something; none where there is no such file."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip(" -*\t")]
