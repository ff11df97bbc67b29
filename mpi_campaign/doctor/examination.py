"""`campaign doctor`: what this machine lacks for a run, what disturbs one, and whether it can support conclusions."""

import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpi_campaign import STATE
from mpi_campaign.doctor import busy_clock, disturbances, selfcheck, wire_rate
from mpi_campaign.doctor.disturbances import Throttling
from mpi_campaign.doctor.load import Load
from mpi_campaign.doctor.selfcheck import Measured, Selfcheck
from mpi_campaign.errors import CampaignError
from mpi_campaign.networks import rates
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.planning import checks, placing
from mpi_campaign.processes.progress import duration
from mpi_campaign.systems import allocation
from mpi_campaign.this_machine import findings, host, machine
from mpi_campaign.this_machine.findings import GOOD, LACKING, NOTE, Finding, finding
from mpi_campaign.toolchains import resolving
from postprocess.drawing.text import duration as ns
from postprocess.drawing.text import plural, share
from postprocess.families.sampled import FEW_BUCKETS
from postprocess.families.timing_selfcheck import judgement
from postprocess.families.timing_selfcheck.judgement import NOT_MEASURED, Summary
from postprocess.families.timing_selfcheck.record import Clock, load_selfcheck
from postprocess.records.fields import RecordError

MACHINE = Path("/")
SETUP_BYTES = 3 * 10**9
LOAD_SECONDS = 1.0
WORST_CORES = 4
RATE_REPETITIONS, RATE_WITHIN = 11, 0.05


@dataclass
class Report:
    """The findings. `timing` is None where nothing was measured, `measured` is None where nothing could be launched."""

    findings: list[Finding] = field(default_factory=list)
    timing: Summary | None = None
    measured: Measured | None = None
    seconds: float = 0.0
    interrupted: bool = False

    def as_json(self) -> dict[str, Any]:
        """The report for programs: an object with the same keys, whatever is lacking."""
        timing = None
        if self.timing and self.measured:
            timing = {
                "toolchain": self.measured.toolchain,
                "network": selfcheck.NETWORK,
                "ranks": self.measured.placement.ranks,
                "threads_per_rank": self.measured.placement.threads_per_rank,
                "seconds": round(self.seconds, 1),
                "trouble": self.measured.trouble,
                **judgement.as_json(self.timing),
            }
        return {
            "findings": [vars(entry) for entry in self.findings],
            "timing": timing,
            "records": str(self.measured.folder) if self.measured else None,
        }

    def as_text(self) -> str:
        """The report for people."""
        parts = [findings.as_text(self.findings)]
        if self.timing and self.measured:
            parts.append(_conclusions(self.timing, self.measured, self.seconds))
        if self.measured:
            parts.append(f"records: {self.measured.folder}")
        return "\n\n".join(parts)


def examine(check: Selfcheck | None) -> Report:
    """Look at everything that a run depends on, and measure with `check`. An interrupt ends it with what was found."""
    report = Report()
    needs = 0
    watch = _Watch()
    try:
        report.findings += _needs()
        needs = len(report.findings)
        report.findings += _lasting()
        if check:
            _measure(check, watch, report)
        else:
            watch.begin()
    except KeyboardInterrupt:
        report.interrupted = True
        report.findings.append(Finding("timing", LACKING, "interrupted", "start again"))
    report.findings.insert(needs, _toolchains())  # only now: the measurement may have installed one
    report.seconds = watch.load.passed if watch.has_begun else 0.0
    report.findings += watch.findings()
    if report.timing:
        report.findings += _timing(report.timing)
    if report.measured:
        report.findings += busy_clock.findings(report.measured.beside_busy)
    return report


def _measure(check: Selfcheck, watch: "_Watch", report: Report) -> None:
    try:
        measured = report.measured = check.measure(watch.begin)
    except (CampaignError, OSError) as error:
        seen = f"not measured: {_said(error)}"
        report.findings.append(Finding("timing", LACKING, seen, "put that right, then start again"))
        watch.begin()
        return
    report.interrupted = measured.interrupted
    records, troubles = [], [measured.trouble] if measured.trouble else []
    for path in measured.record_paths:
        try:
            records.append(load_selfcheck(path))
        except RecordError as error:
            if not measured.stuck:  # else the reason is known
                troubles.append(str(error))
    if records:
        report.timing = judgement.summarise(records)
    if troubles:
        judged = report.timing and any(verdict.word != NOT_MEASURED for verdict in report.timing.verdicts)
        state = NOTE if judged and not measured.stuck else LACKING
        advice = f"what it said is in {measured.log or measured.folder}"
        if measured.stuck:
            advice = "put that right, then start again"
        elif measured.interrupted:
            advice = "start again"
        report.findings.append(Finding("timing", state, "; ".join(troubles), advice))


def _said(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or STATE}: {error.strerror or error}"
    return str(error)


class _Watch:
    """Watches what others take from the cores: just before `begin`, and between `begin` and `findings`."""

    def __init__(self) -> None:
        self.load = Load()
        self.has_begun = False
        self.throttling = Throttling(0, 0.0)

    def begin(self) -> None:
        """Begin to watch. This process sleeps for LOAD_SECONDS meanwhile."""
        self.load.look_before(LOAD_SECONDS)
        self.throttling = disturbances.throttling(MACHINE)
        self.has_begun = True

    def findings(self) -> Iterator[Finding]:
        """Since the machine started where hardly any time went by since `begin`, or it never was."""
        load = self.load
        now, throttling = disturbances.cpu_time(MACHINE, load.cpus), disturbances.throttling(MACHINE)
        passed, during, names = load.passed, "since boot", load.names_before
        shares = {f"in {duration(LOAD_SECONDS)} before": load.share_before} if self.has_begun else {}
        if self.has_begun and passed >= LOAD_SECONDS:
            during = f"in {duration(passed)} meanwhile"
            now, throttling = now - load.time, throttling - self.throttling
            shares[during] = load.others
            names = load.names if load.others > load.share_before else names
        if shares:
            yield disturbances.other_load(shares, names)
        yield disturbances.steal(now, during)
        yield disturbances.throttled(throttling, during)


def _needs() -> Iterator[Finding]:
    """Findings on what a run needs, except toolchains."""
    yield from _clone()
    yield from _compiler()
    yield from _cores()
    yield from filter(None, [allocation.finding()])
    yield from _networks()
    yield from _disk()


def _lasting() -> Iterator[Finding]:
    """Findings on what disturbs every measurement."""
    cores = machine.cores()
    yield from host.findings(machine.limits(), cores.physical, placing.USUAL_RANKS)
    yield from disturbances.steady(MACHINE, cores.cpus)


def _clone() -> Iterator[Finding]:
    try:
        checks.check_clone()
    except CampaignError as error:
        seen, _, advice = str(error).rpartition(": ")
        yield Finding("clone", LACKING, seen, advice)


def _compiler() -> Iterator[Finding]:
    try:
        yield Finding("compiler", GOOD, str(machine.compiler()))
    except CampaignError as error:
        yield Finding("compiler", LACKING, str(error), "install a C compiler with OpenMP")
    except OSError as error:
        yield Finding("compiler", LACKING, f"it could not be tried: {_said(error)}", "put that right, then start again")


def _cores() -> Iterator[Finding]:
    cores = machine.cores().physical
    seen = f"{machine.cpu_model()}, {plural(cores, 'physical core')} for this process"
    if cores < 2:
        yield Finding(
            "cores", LACKING, seen, "two ranks need two: ./campaign run --oversubscribe runs them, marked as such"
        )
    elif cores < 4:
        yield Finding(
            "cores",
            NOTE,
            seen,
            "a progress thread always shares a core with computation here; below 4 ms its figures mean little",
        )
    else:
        yield Finding("cores", GOOD, seen)


def _networks() -> Iterator[Finding]:
    for name, network in NETWORKS.items():
        if not network.launcher:
            continue
        refusal = machine.network_refusal(name)
        if refusal is None:
            yield Finding(name, GOOD, network.works)
            if network.usual_rate:
                yield from (_rate(name, rate) for rate in wire_rate.RATES)
        else:
            yield Finding(name, LACKING, refusal, f"runs use {network.without_it}")


def _rate(name: str, rate: str) -> Finding:
    """What the network makes of a rate. Only messages that its bucket hardly makes faster are judged."""
    try:
        seen = wire_rate.measure(rate, wire_rate.SIZES, RATE_REPETITIONS)
    except OSError as error:
        return Finding(f"{name} {rate}", NOTE, f"not measured: {error}", "put that right, then start again")
    each = "; ".join(f"{one.message_bytes >> 10} KiB {one.way} {one.ratio - 1:+.0%}" for one in seen)
    least = FEW_BUCKETS * rates.bucket_bytes(rate)
    off = [one for one in seen if one.message_bytes >= least and abs(one.ratio - 1) > RATE_WITHIN]
    return finding(
        f"{name} {rate}",
        f"times beside bytes / rate: {each}",
        bool(off),
        f"long messages should take that within {RATE_WITHIN:.0%}: something runs on the cores, or take a lower rate",
    )


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(STATE.parent).free
    yield finding(
        "disk",
        f"{free / 1e9:.1f} GB free at {STATE.parent}",
        free < SETUP_BYTES,
        f"set-up, toolchains and runs take up to {SETUP_BYTES / 1e9:.0f} GB",
    )


def _toolchains() -> Finding:
    try:
        names = ", ".join(toolchain.toolchain for toolchain in resolving.load())
    except CampaignError as error:
        return Finding("toolchains", LACKING, str(error), "put that right, then start again")
    return Finding("toolchains", GOOD, names or "none yet: they are installed from their wheels when first used")


def _timing(summary: Summary) -> Iterator[Finding]:
    """Findings on the measurement, compared with the aims for a quiet machine."""
    if summary.timer:
        timer = summary.timer
        seen = f"{timer.name}, resolution {ns(timer.resolution_ns)}, a reading takes {ns(timer.overhead_ns)}"
        if timer.backwards_ns > 0:
            seen += f", runs backwards by up to {ns(timer.backwards_ns)}"
            yield Finding("timer", LACKING, seen, "no time that is measured here can be trusted: another clock source")
        else:
            yield Finding("timer", GOOD, seen)
    if summary.clock:
        yield _clock(summary.clock)
    if summary.starts:
        yield _start(summary)
    if summary.cores:
        yield _noise(summary)


def _clock(clock: Clock) -> Finding:
    if clock.refusal or not clock.residuals:
        return Finding(
            "common clock",
            NOTE,
            clock.refusal or clock.reason or f"{clock.method}, its error is not known",
            "ranks start by a barrier, and only their own durations are known",
        )
    errors = ", ".join(
        f"{ns(residual.with_drift_ns)} "
        f"{'at once' if residual.after_seconds < 1 else f'after {residual.after_seconds:.0f} s'}"
        for residual in clock.residuals
    )
    off = any(judgement.residual_is_large(clock, residual) for residual in clock.residuals)
    if clock.method != "shared":  # which alone can be off
        seen = f"{clock.method}, off by {errors}"
        return finding("common clock", seen, off, "times over ranks are uncertain by as much")
    how = "delayed by" if off else "told to within"
    return finding(
        "common clock",
        f"one for all ranks, nothing to correct; its time was {how} {errors} when it was exchanged",
        off,
        "that is the exchange's error, not the clock's, and times over ranks are right: something runs on the cores, "
        "see noise and other load",
    )


def _start(summary: Summary) -> Finding:
    names = {"deadline": "deadline", "mpi_barrier": "MPI_Barrier", "dissemination": "dissemination"}
    seen = "; ".join(
        f"{names[start.method]} {ns(start.p50_ns)}, {ns(start.p95_ns)}, {ns(start.p99_ns)}"
        f"{f' ({start.late} late, apart)' if start.late else ''}"
        for start in summary.starts
    )
    deadline = next((start for start in summary.starts if start.method == "deadline"), None)
    p95 = deadline.p95_ns if deadline else math.nan
    return finding(
        "start",
        f"ranks begin apart by (p50, p95, p99): {seen}",
        not p95 <= judgement.START_AIM_NS,
        f"p95 of a deadline should be at most {ns(judgement.START_AIM_NS)}: something runs on the cores, see noise",
    )


def _noise(summary: Summary) -> Finding:
    cores = sorted(summary.cores, key=lambda core: -core.share)
    each = []
    configured = disturbances.tick_hz(MACHINE)
    for core in cores[:WORST_CORES]:
        is_known = core.tick_hz and configured in (0, core.tick_hz)
        tick = f", as often as a tick of {core.tick_hz} Hz" if is_known else ""
        cpu = f"CPU {core.cpu}" if core.cpu >= 0 else f"rank {core.rank}"
        each.append(
            f"{cpu}: {share(core.share)} of its time, {core.detours_per_second:.0f} detours/s{tick}, "
            f"p50 {ns(core.p50_ns)}, p99 {ns(core.p99_ns)}, longest {ns(core.longest_ns)}"
        )
    if len(cores) > WORST_CORES:
        each.append(f"{len(cores) - WORST_CORES} more with less")
    return finding(
        "noise",
        f"in {cores[0].seconds:.1f} s of each core: {'; '.join(each)}",
        cores[0].share > judgement.YES_LIMIT,
        "something runs beside the ranks: end it, or spare the ranks' cores (isolcpus=, nohz_full= of the kernel)",
    )


def _conclusions(summary: Summary, measured: Measured, seconds: float) -> str:
    place = measured.placement
    lines = [
        f"Can it support conclusions? {measured.toolchain} over {selfcheck.NETWORK}, {place.ranks} ranks x "
        f"{plural(place.threads_per_rank, 'thread')}, {plural(summary.launches, 'launch')}, {duration(seconds)}"
    ]
    rows = [("at", "verdict", "smallest difference", "because")]
    rows += [
        (
            ns(verdict.target_ns),
            verdict.word,
            "more than 100 %" if (least := verdict.smallest_difference_relative) > 1 else share(least),
            "; ".join(verdict.reasons),
        )
        for verdict in summary.verdicts
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row, advice in zip(rows, ["", *(verdict.advice for verdict in summary.verdicts)], strict=True):
        lines.append("  ".join(f"{cell:<{width}}" for cell, width in zip(row, [*widths, 0], strict=True)).rstrip())
        if advice:
            lines.append(f"{'':<{widths[0] + 2}}-> {advice}")
    lines += [
        f"yes: interval of the median, and variation of the medians of launches, at most "
        f"{share(judgement.YES_LIMIT)}; with care: at most {share(judgement.CARE_LIMIT)}.",
        f"Smallest difference: of {judgement.COMPARED_LAUNCHES} launches against {judgement.COMPARED_LAUNCHES}; less "
        "may be chance (95 %).",
    ]
    return "\n".join(lines)
