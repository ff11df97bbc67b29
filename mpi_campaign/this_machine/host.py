"""The limits of a process on its host: CPU time, CPUs and their speeds, memory, /dev/shm.

`doctor` and `run` use this module. Every function that reads the system takes the root folder `/`, so that tests can
give it the files of any machine.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mpi_campaign.files import groups, read
from mpi_campaign.this_machine.findings import GOOD, LACKING, NOTE, Finding, finding
from postprocess.drawing.text import plural, size
from postprocess.records.host_limits import is_starved
from postprocess.statistics.limits import CONCLUSIVE

SYS_CPU = "sys/devices/system/cpu"
SHM = "dev/shm"

# Measured with two to eight ranks: Open MPI 5.0.11 does not start with 16 MiB or less, whatever the number of ranks;
# MPICH 5.0.2 and Intel MPI 2021.18.1 use up to 8.5 MiB per rank.
SHM_LEAST_BYTES = 16 << 20
SHM_BYTES_PER_RANK = 16 << 20
# Measured with two ranks over shared memory: with 256 MiB per rank, Ialltoall reaches 20 to 28 ms instead of 64 ms.
MEMORY_BYTES_PER_RANK = 1 << 30
# Control groups of version 1 write the largest multiple of a page for "no limit". No machine has so much memory.
NO_LIMIT_BYTES = 1 << 62
# More CPUs than any kernel supports. Larger numbers in a list are ignored.
MOST_CPUS = 1 << 16

SPEEDS: Mapping[str, str] = {
    "capacity": "cpu_capacity",
    "kHz at most": "cpufreq/cpuinfo_max_freq",
    "highest performance": "acpi_cppc/highest_perf",
}
"""{unit: file in each CPU's folder} in which the kernel tells how fast a CPU can be."""
KINDS: Mapping[str, str] = {"P cores": "cpu_core", "E cores": "cpu_atom"}
"""{name: device} of Intel's two kinds of cores. Each device has a list of its CPUs."""


@dataclass(frozen=True)
class HostLimits:
    """The limits of a process; None: no limit, or no visible one. Lists of CPUs are as the kernel writes them.

    cgroup_cpus: CPU time, in cores.  allowed_cpus: the process's mask.  cpuset_cpus: the CPUs that the control group
    allows; the mask may have fewer.  smt: the kernel's switch, `on` or `off`.  core_speeds: which CPUs of the mask have
    which kind or speed, where these differ.  refused_calls: the system calls of MPI libraries that the kernel refuses.
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
    refused_calls: str | None = None

    def as_facts(self) -> dict[str, Any]:
        """The limits as a manifest's `host` stores them."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "HostLimits":
        """The limits in a manifest's `host`, which has other keys too."""
        return cls(**{field.name: facts[field.name] for field in fields(cls) if field.name in facts})


def look(root: Path, cpus: Iterable[int]) -> HostLimits:
    """The limits of this process. root: the folder `/`.  cpus: the CPUs of the process's mask."""
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
    """The findings on these limits. cores: all cores on which ranks compute.  ranks: the number of ranks."""
    return [
        cpu_limit(limits, cores),
        mask(limits),
        speeds(limits),
        memory(limits, ranks),
        shared_memory(limits, ranks),
        calls(limits),
    ]


def notes(all_findings: Iterable[Finding]) -> list[str]:
    """A line for each finding whose state is not `good`."""
    return [f"{finding.subject}: {finding.seen}: {finding.advice}" for finding in all_findings if finding.state != GOOD]


# -- what each limit means ---------------------------------------------------------------------------------------------


def cpu_limit(limits: HostLimits, cores: int) -> Finding:
    """The finding on a control group's limit of CPU time, compared with the number of cores on which ranks compute."""
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
    """A number of cores in the possessive case: ``1 core's``, ``2.5 cores'``."""
    return f"{number:g} core's" if number == 1 else f"{number:g} cores'"


def mask(limits: HostLimits) -> Finding:
    """The finding on the CPUs that this process may use, compared with those that the machine has."""
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
    """The finding on cores of different speeds."""
    return finding(
        "core speeds",
        limits.core_speeds or "no difference that is visible",
        limits.core_speeds is not None,
        "the slowest rank counts, and which one is on a slow core decides the times: start on CPUs of one kind only, "
        "by taskset or a control group's cpuset",
    )


def memory(limits: HostLimits, ranks: int) -> Finding:
    """The finding on a control group's limit of memory."""
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
    """The finding on /dev/shm, in which MPI libraries keep the shared memory of a node's ranks."""
    total, free = limits.shm_bytes, limits.shm_free_bytes
    if total is None or free is None:
        return Finding("/dev/shm", GOOD, "no limit that is visible")
    needed = max(2 * SHM_LEAST_BYTES, SHM_BYTES_PER_RANK * ranks)
    seen = f"{size(free)} free of {size(total)} for {plural(ranks, 'rank')}"
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


def calls(limits: HostLimits) -> Finding:
    """The finding on system calls of MPI libraries."""
    refused = limits.refused_calls
    return finding(
        "system calls",
        f"{refused} refused" if refused else "none of MPI libraries is refused",
        refused is not None,
        "messages within a node may be copied twice, and memory is on any NUMA node: allow them (docker run --cap-add "
        "SYS_PTRACE --cap-add SYS_NICE; sysctl kernel.yama.ptrace_scope=0), or compare with the like only",
    )


# -- what the kernel says ----------------------------------------------------------------------------------------------


def cgroup_cpus(root: Path) -> float | None:
    """The lowest limit of CPU time among the control groups of this process, in cores; None where there is none."""
    return min(filter(None, map(_cpu_limit_of, groups(root, "cpu"))), default=None)


def _cpu_limit_of(folder: Path) -> float | None:
    words = read(folder / "cpu.max").split()  # "200000 100000", or "max 100000"
    if not words:
        words = [read(folder / name) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]  # quota -1: none
    quota, period = ([*map(_number, words), None, None])[:2]
    return quota / period if quota and period else None


def memory_limit_bytes(root: Path) -> int | None:
    """The lowest limit of memory among the control groups of this process, in bytes; None where there is none.
    memory.high of version 2 is a limit too: above it, the kernel slows a process down to reclaim memory."""
    files = ("memory.max", "memory.high", "memory.limit_in_bytes")
    limits_ = [_number(read(folder / name)) for folder in groups(root, "memory") for name in files]
    return min((number for number in limits_ if number is not None and number < NO_LIMIT_BYTES), default=None)


def shm_bytes(root: Path) -> tuple[int | None, int | None]:
    """Size and free space of /dev/shm, in bytes; (0, 0) where there is none, (None, None) where it has no limit."""
    try:
        file_system = os.statvfs(root / SHM)
    except OSError:
        return 0, 0
    if not file_system.f_blocks:  # a tmpfs with size=0
        return None, None
    return file_system.f_blocks * file_system.f_frsize, file_system.f_bavail * file_system.f_frsize


def _cpuset(root: Path) -> str | None:
    """The CPUs that the innermost control group with a list of CPUs allows; None where no group has a list."""
    names = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
    lists = (_list_of(folder / name) for folder in groups(root, "cpuset") for name in names)
    return next(filter(None, lists), None)


def core_speeds(root: Path, cpus: Sequence[int]) -> str | None:
    """The CPUs by kind or speed, in words; None where the kernel shows no difference. Kinds are compared first, then
    the speeds in SPEEDS; a speed counts where it differs by more than CONCLUSIVE."""
    by_kind = {
        name: sorted(cpu_list(read(root / f"sys/devices/{kind}/cpus")) & set(cpus)) for name, kind in KINDS.items()
    }
    if all(by_kind.values()):
        return ", ".join(f"{name} {list_text(kind_cpus)}" for name, kind_cpus in by_kind.items())
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
    """The CPUs of a list as the kernel writes it: 0-3,8. Parts that are neither numbers nor ranges are left out."""
    return set(_cpu_list(text))


def _cpu_list(text: str) -> Iterator[int]:
    for part in text.split(","):
        ends = re.fullmatch(r"\s*([0-9]{1,6})(?:-([0-9]{1,6}))?\s*", part)
        if ends and int(ends[2] or ends[1]) < MOST_CPUS:
            yield from range(int(ends[1]), int(ends[2] or ends[1]) + 1)


def list_text(cpus: Iterable[int]) -> str:
    """The list of CPUs as the kernel writes it: 0-3,8."""
    spans: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,30}", text) else None
