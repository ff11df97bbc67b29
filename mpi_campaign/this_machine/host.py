"""What a process may use of its host: CPU time, CPUs and their speeds, memory, /dev/shm.

`doctor` and `run` both ask here. Every look is a function of the folder that stands for `/`, and of the CPUs of the
process's mask, so that it can be shown any machine.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mpi_campaign.this_machine.findings import GOOD, LACKING, NOTE, Finding, finding
from postprocess.drawing.text import plural, size
from postprocess.records.host_limits import is_starved
from postprocess.statistics.limits import CONCLUSIVE

SYS_CPU = "sys/devices/system/cpu"
SHM = "dev/shm"

# Seen with two to eight ranks: Open MPI 5.0.11 does not start with 16 MiB or less, whatever the number of ranks; MPICH
# 5.0.2 and Intel MPI 2021.18.1 use up to 8.5 MiB per rank. docs/doctor.md has the figures.
SHM_LEAST_BYTES = 16 << 20
SHM_BYTES_PER_RANK = 16 << 20
# Seen with two ranks over shared memory: with 256 MiB per rank, Ialltoall reaches 20 to 28 ms instead of 64 ms.
MEMORY_BYTES_PER_RANK = 1 << 30
# Version 1 writes the largest multiple of a page for "no limit"; nothing has so much.
NO_LIMIT_BYTES = 1 << 62
# More CPUs than any kernel has: a list that names them is not a list of CPUs.
MOST_CPUS = 1 << 16

SPEEDS: Mapping[str, str] = {
    "capacity": "cpu_capacity",
    "kHz at most": "cpufreq/cpuinfo_max_freq",
    "highest performance": "acpi_cppc/highest_perf",
}
"""What the kernel tells of how fast a CPU can be, by its unit: a file in each CPU's folder."""
KINDS: Mapping[str, str] = {"P cores": "cpu_core", "E cores": "cpu_atom"}
"""Devices of Intel's two kinds of cores, each with a list of its CPUs."""


@dataclass(frozen=True)
class HostLimits:
    """What a process may use; None: no limit, or none that is visible. Lists of CPUs are as the kernel writes them.

    cgroup_cpus: cores' worth of time.  cpuset_cpus: what the control group allows, of which the mask may be a part.
    smt: as the kernel's switch says, `on` or `off`.  core_speeds: which CPUs of the mask are of which kind or speed,
    where they differ.
    """

    cgroup_cpus: float | None = None
    memory_limit_bytes: int | None = None
    shm_bytes: int | None = None
    shm_free_bytes: int | None = None
    allowed_cpus: str = ""
    cpuset_cpus: str | None = None
    online_cpus: str | None = None
    offline_cpus: str | None = None
    smt: str | None = None
    core_speeds: str | None = None

    def as_facts(self) -> dict[str, Any]:
        """Its part of a manifest's host."""
        return asdict(self)


def look(root: Path, cpus: Iterable[int]) -> HostLimits:
    """The limits of this process on the machine whose `/` that folder is; cpus: those of its mask."""
    mask = sorted(set(cpus))
    shm, free = shm_bytes(root)
    return HostLimits(
        cgroup_cpus=cgroup_cpus(root),
        memory_limit_bytes=memory_limit_bytes(root),
        shm_bytes=shm,
        shm_free_bytes=free,
        allowed_cpus=list_text(mask),
        cpuset_cpus=_cpuset(root),
        online_cpus=_list_of(root / SYS_CPU / "online"),
        offline_cpus=_list_of(root / SYS_CPU / "offline"),
        smt=read(root / SYS_CPU / "smt/control") or None,
        core_speeds=core_speeds(root, mask),
    )


def findings(limits: HostLimits, cores: int, ranks: int) -> list[Finding]:
    """What these limits mean for so many ranks that compute on so many cores in all."""
    return [
        cpu_limit(limits, cores),
        mask(limits),
        speeds(limits),
        memory(limits, ranks),
        shared_memory(limits, ranks),
    ]


def notes(all_findings: Iterable[Finding]) -> list[str]:
    """The findings that are not good, a line each."""
    return [f"{finding.subject}: {finding.seen}: {finding.advice}" for finding in all_findings if finding.state != GOOD]


# -- what each limit means ---------------------------------------------------------------------------------------------


def cpu_limit(limits: HostLimits, cores: int) -> Finding:
    """A control group's limit of CPU time, beside the cores that ranks compute on."""
    allowed = limits.cgroup_cpus
    if allowed is None:
        return Finding("CPU limit", GOOD, "none")
    used = plural(cores, "core")
    return finding(
        "CPU limit",
        f"{cores_words(allowed)} worth of time for ranks on {used}",
        is_starved(allowed, cores),
        "it stops ranks in mid-measurement, as if they shared cores (oversubscribed): their times are not those of "
        f"the cores and make no reference; raise the control group's limit to {used}, or use fewer cores "
        "(--ranks, --threads-per-rank)",
    )


def cores_words(number: float) -> str:
    """A number of cores as the owner of what follows: ``1 core's``, ``2.5 cores'``."""
    return f"{number:g} core's" if number == 1 else f"{number:g} cores'"


def mask(limits: HostLimits) -> Finding:
    """The CPUs that this process may use, beside those that the machine has."""
    allowed, online = (cpu_list(text or "") for text in (limits.allowed_cpus, limits.online_cpus))
    offline = limits.offline_cpus if limits.smt not in ("off", "forceoff") else None
    seen = f"CPUs {limits.allowed_cpus or 'not known'}"
    advice = []
    if online - allowed:
        between = any(min(allowed, default=0) < cpu < max(allowed, default=0) for cpu in online - allowed)
        by_group = limits.cpuset_cpus is not None and cpu_list(limits.cpuset_cpus) == allowed
        seen += f" of {limits.online_cpus} that are online{', with holes' * between}"
        seen += ", by a control group" if by_group else ", by a mask such as taskset's"
        advice.append(
            "ranks stay on these; the machine's other CPUs may be in use, and share its memory and caches with them"
        )
    elif online:
        seen += ", all that are online"
    if offline:
        seen += f"; CPUs {offline} are switched off"
        advice.append(
            "a machine with CPUs switched off is another one: was it on purpose? "
            f"echo 1 > /{SYS_CPU}/cpuN/online switches one on"
        )
    return finding("CPU mask", seen, bool(advice), "; ".join(advice))


def speeds(limits: HostLimits) -> Finding:
    """Cores of which some are faster than others."""
    return finding(
        "core speeds",
        limits.core_speeds or "no difference that is visible",
        limits.core_speeds is not None,
        "the slowest rank counts, and which one is on a slow core decides the times: start on CPUs of one kind only, "
        "by taskset or a control group's cpuset",
    )


def memory(limits: HostLimits, ranks: int) -> Finding:
    """A control group's limit of memory."""
    allowed = limits.memory_limit_bytes
    if allowed is None:
        return Finding("memory limit", GOOD, "none")
    needed = MEMORY_BYTES_PER_RANK * ranks
    return finding(
        "memory limit",
        f"{size(allowed)} for {plural(ranks, 'rank')}",
        allowed < needed,
        "messages take at most half of a rank's share, so that long communication times may be out of reach: "
        f"raise the control group's limit to {size(needed)}",
    )


def shared_memory(limits: HostLimits, ranks: int) -> Finding:
    """/dev/shm, in which MPI libraries keep what ranks of one node share."""
    whole, free = limits.shm_bytes, limits.shm_free_bytes
    if whole is None or free is None:
        return Finding("/dev/shm", GOOD, "no limit that is visible")
    needed = max(2 * SHM_LEAST_BYTES, SHM_BYTES_PER_RANK * ranks)
    seen = f"{size(free)} free of {size(whole)} for {plural(ranks, 'rank')}"
    if free >= needed:
        return Finding("/dev/shm", GOOD, seen)
    starts = free > SHM_LEAST_BYTES
    return Finding(
        "/dev/shm",
        NOTE if starts else LACKING,
        seen,
        f"{'MPI libraries may' if starts else 'Open MPI 5 does not start, others may'} end with a bus error or a "
        f"segmentation fault: make it {size(needed)} at least (docker run --shm-size=, "
        "mount -o remount,size= /dev/shm), or delete what fills it",
    )


# -- what the kernel says ----------------------------------------------------------------------------------------------


def cgroup_cpus(root: Path) -> float | None:
    """The tightest limit of CPU time of the control groups that this process is in, in cores; None: none."""
    return min(filter(None, map(_cpu_limit_of, groups(root, "cpu"))), default=None)


def _cpu_limit_of(folder: Path) -> float | None:
    words = read(folder / "cpu.max").split()  # "200000 100000", or "max 100000"
    if not words:
        words = [read(folder / name) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]  # quota -1: none
    quota, period = ([*map(_number, words), None, None])[:2]
    return quota / period if quota and period else None


def memory_limit_bytes(root: Path) -> int | None:
    """The tightest limit of memory of the control groups that this process is in; None: none.

    Of version 2, memory.high too: above it, the kernel slows a process down to get memory back.
    """
    files = ("memory.max", "memory.high", "memory.limit_in_bytes")
    limits_ = [_number(read(folder / name)) for folder in groups(root, "memory") for name in files]
    return min((number for number in limits_ if number is not None and number < NO_LIMIT_BYTES), default=None)


def shm_bytes(root: Path) -> tuple[int | None, int | None]:
    """Size of /dev/shm and what is free of it; (0, 0) where there is none, None where it has no limit."""
    try:
        file_system = os.statvfs(root / SHM)
    except OSError:
        return 0, 0
    if not file_system.f_blocks:  # a tmpfs with size=0
        return None, None
    return file_system.f_blocks * file_system.f_frsize, file_system.f_bavail * file_system.f_frsize


def groups(root: Path, controller: str) -> list[Path]:
    """Folders of the control groups by which a controller limits this process: its own and every one above it."""
    folders: dict[Path, None] = {}
    for line in read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        mounts = [controllers, controller, "cpu,cpuacct"] if controllers else ["", "unified"]
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for mount in mounts:
            top = root / "sys/fs/cgroup" / mount
            here = top.joinpath(*parts)
            # A container sees its host's path but not the folders on it: what exists counts.
            folders.update(
                dict.fromkeys(
                    folder for folder in (here, *here.parents) if folder.is_relative_to(top) and _is_dir(folder)
                )
            )
    return list(folders)


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _cpuset(root: Path) -> str | None:
    """The CPUs that the closest control group allows which tells them."""
    names = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
    lists = (_list_of(folder / name) for folder in groups(root, "cpuset") for name in names)
    return next(filter(None, lists), None)


def core_speeds(root: Path, cpus: Sequence[int]) -> str | None:
    """Which of these CPUs are of another kind or speed than others; None where no difference is told.

    By the first of the kernel's measures that tells kinds apart, or speeds by more than what a median may be off.
    """
    by_kind = {
        name: sorted(cpu_list(read(root / f"sys/devices/{kind}/cpus")) & set(cpus)) for name, kind in KINDS.items()
    }
    if all(by_kind.values()):
        return ", ".join(f"{name} {list_text(those)}" for name, those in by_kind.items())
    for unit, file in SPEEDS.items():
        by_speed: dict[int, list[int]] = {}
        for cpu in cpus:
            if speed := _number(read(root / SYS_CPU / f"cpu{cpu}" / file)):
                by_speed.setdefault(speed, []).append(cpu)
        if by_speed and max(by_speed) > (1 + CONCLUSIVE) * min(by_speed):
            return f"{unit}: {', '.join(f'{speed} of CPUs {list_text(by_speed[speed])}' for speed in sorted(by_speed))}"
    return None


def _list_of(path: Path) -> str | None:
    return list_text(cpu_list(read(path))) or None


def cpu_list(text: str) -> set[int]:
    """The CPUs of a list as the kernel writes it: 0-3,8. What is none is left out."""
    return set(_cpu_list(text))


def _cpu_list(text: str) -> Iterator[int]:
    for part in text.split(","):
        ends = re.fullmatch(r"\s*([0-9]{1,6})(?:-([0-9]{1,6}))?\s*", part)
        if ends and int(ends[2] or ends[1]) < MOST_CPUS:
            yield from range(int(ends[1]), int(ends[2] or ends[1]) + 1)


def list_text(cpus: Iterable[int]) -> str:
    """CPUs as the kernel lists them."""
    spans: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,30}", text) else None


def read(path: Path) -> str:
    """A small file's text; empty where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
