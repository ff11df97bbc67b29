"""`campaign doctor`: what this machine lacks for a run, or what disturbs one, and what to do about it."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign import STATE, machine, toolchains
from mpi_campaign.errors import CampaignError

CGROUP = Path("/sys/fs/cgroup")
SETUP_BYTES = 3 * 10**9


@dataclass(frozen=True)
class Finding:
    """state: `good`; `note`, results need care; `lacking`, something cannot run. advice is empty when good."""

    subject: str
    state: str
    seen: str
    advice: str = ""


def examine() -> list[Finding]:
    """Look at everything that a run depends on."""
    looks = (_compiler, _cores, _quota, _siblings, _governor, _load, _wire, _disk, _toolchains)
    return [finding for look in looks for finding in look()]


def _compiler() -> Iterator[Finding]:
    try:
        yield Finding("compiler", "good", str(machine.compiler()))
    except CampaignError as error:
        yield Finding("compiler", "lacking", str(error), "install a C compiler with OpenMP")


def _cores() -> Iterator[Finding]:
    cores = machine.cores().physical
    seen = f"{machine.cpu_model()}, {cores} physical cores for this process"
    if cores < 2:
        yield Finding("cores", "lacking", seen, "two ranks need two cores: --oversubscribe runs them, marked as such")
    elif cores < 4:
        yield Finding(
            "cores",
            "note",
            seen,
            "a progress thread always shares a core with computation here; below 4 ms its figures mean little",
        )
    else:
        yield Finding("cores", "good", seen)


def _quota() -> Iterator[Finding]:
    text = _read(CGROUP / "cpu.max")
    quota, _, period = text.partition(" ")
    if not quota or quota == "max":
        yield Finding("cgroup limit", "good", "none")
        return
    allowed = int(quota) / int(period)
    state = "note" if allowed < machine.cores().physical else "good"
    yield Finding(
        "cgroup limit",
        state,
        f"{allowed:g} cores' worth of time",
        "ranks will be stopped in mid-measurement: raise the limit" if state == "note" else "",
    )


def _siblings() -> Iterator[Finding]:
    threads = machine.cores().threads_per_core
    if threads > 1:
        yield Finding(
            "SMT",
            "note",
            f"{threads} hardware threads per core",
            "one computing thread per physical core is used; other load on the siblings disturbs it",
        )
    else:
        yield Finding("SMT", "good", "one hardware thread per core")


def _governor() -> Iterator[Finding]:
    governor = _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
    if governor in ("", "performance"):
        yield Finding("frequency governor", "good", governor or "not visible (virtual, or no scaling)")
    else:
        yield Finding(
            "frequency governor", "note", governor, "set it to performance: cpupower frequency-set -g performance"
        )


def _load() -> Iterator[Finding]:
    load = os.getloadavg()[0]
    busy = load > 0.5
    yield Finding(
        "other load",
        "note" if busy else "good",
        f"load average {load:.2f} over the last minute",
        "wait for it to end, or stop it: it takes time from the ranks" if busy else "",
    )


def _wire() -> Iterator[Finding]:
    refusal = machine.wire_refusal()
    if refusal is None:
        yield Finding("wire", "good", "a rate-limited loopback in a namespace of its own works")
    else:
        yield Finding("wire", "lacking", refusal, "runs use shared memory, over which every library serialises")


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(STATE.parent).free
    low = free < SETUP_BYTES
    yield Finding(
        "disk",
        "note" if low else "good",
        f"{free / 1e9:.1f} GB free at {STATE.parent}",
        f"set-up, toolchains and runs take up to {SETUP_BYTES / 1e9:.0f} GB" if low else "",
    )


def _toolchains() -> Iterator[Finding]:
    names = ", ".join(one.toolchain for one in toolchains.load())
    yield Finding("toolchains", "good", names or "none yet: they are installed from their wheels when first used")


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def as_text(findings: list[Finding]) -> str:
    """One line per finding, and one with the advice below it."""
    width = max(len(one.subject) for one in findings)
    lines = []
    for one in findings:
        lines.append(f"{one.state:<8}{one.subject:<{width}}  {one.seen}")
        if one.advice:
            lines.append(f"{'':<{8 + width}}  -> {one.advice}")
    return "\n".join(lines)
