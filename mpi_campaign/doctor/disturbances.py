"""What the kernel and the machine's other users take from a measurement, as /proc and /sys show it.

Every function takes the folder that stands for `/`, and where it matters the CPUs that ranks may use, so that tests can
show it any machine. It says so where something is not visible.

Shares of time have one limit, DISTURBING_SHARE: the width that the interval of a median may have. Others who take less
than that share move a median by less than its interval may be wide.
"""

import gzip
import os
import re
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign.files import groups, read
from mpi_campaign.this_machine.findings import GOOD, Finding, finding
from mpi_campaign.this_machine.host import SYS_CPU, cpu_list
from postprocess.drawing.text import clean, share
from postprocess.statistics.limits import CONCLUSIVE as DISTURBING_SHARE

# A few instructions of the processor read these clocks. Others need a device or the hypervisor.
FAST_CLOCKSOURCES = ("tsc", "arch_sys_counter", "timebase")
NAMED_PROCESSES = 3


@dataclass(frozen=True)
class CpuTime:
    """Ticks of some CPUs since the machine started: all, with work, and given to others by the hypervisor."""

    total: int
    busy: int
    stolen: int

    @property
    def busy_share(self) -> float:
        return self.busy / self.total if self.total > 0 else 0.0

    def __sub__(self, before: "CpuTime") -> "CpuTime":
        return CpuTime(self.total - before.total, self.busy - before.busy, self.stolen - before.stolen)


@dataclass(frozen=True)
class Throttling:
    """How often, and how long, the kernel stopped this process's group because it had used up its allowance."""

    times: int
    seconds: float

    def __sub__(self, before: "Throttling") -> "Throttling":
        return Throttling(self.times - before.times, self.seconds - before.seconds)


def steady(root: Path, cpus: Sequence[int]) -> list[Finding]:
    """The findings that do not change during a measurement."""
    return [
        siblings(root, cpus),
        governor(root, cpus),
        turbo(root),
        tick(root, cpus),
        autogroup(root),
        huge_pages(root),
        numa_balancing(root),
        swap(root),
        clocksource(root),
    ]


def throttling(root: Path) -> Throttling:
    """Throttling until now, of the control group that was stopped most often."""
    candidates = [Throttling(0, 0.0)]
    for folder in groups(root, "cpu"):
        rows = (line.split() for line in read(folder / "cpu.stat").splitlines())
        pairs = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
        seconds = pairs.get("throttled_usec", 0) / 1e6 + pairs.get("throttled_time", 0) / 1e9
        candidates.append(Throttling(pairs.get("nr_throttled", 0), seconds))
    return max(candidates, key=lambda candidate: (candidate.times, candidate.seconds))


def throttled(taken: Throttling, during: str) -> Finding:
    """The finding on throttling between two looks."""
    return finding(
        "throttling",
        f"stopped {taken.times} {'time' if taken.times == 1 else 'times'}, {taken.seconds:.2f} s in all, {during}"
        if taken.times
        else "never",
        taken.times > 0,
        "raise the cgroup's CPU limit: what it stops is lost",
    )


def siblings(root: Path, cpus: Sequence[int]) -> Finding:
    """Whether hardware threads share a core with one of these CPUs, whoever may use them."""
    counts = {len(cpu_list(read(root / SYS_CPU / f"cpu{cpu}/topology/thread_siblings_list"))) for cpu in cpus}
    most = max(counts, default=1)
    return finding(
        "SMT",
        f"{most} hardware threads per core" if most > 1 else "one hardware thread per core",
        most > 1,
        "one computing thread per physical core is used; other load on the siblings disturbs it",
    )


def governor(root: Path, cpus: Sequence[int]) -> Finding:
    """What chooses the cores' frequency."""
    names = {read(root / SYS_CPU / f"cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus} - {""}
    return finding(
        "frequency governor",
        ", ".join(sorted(names)) or "not visible (virtual, or no scaling)",
        bool(names - {"performance"}),
        "set it to performance: cpupower frequency-set -g performance",
    )


def turbo(root: Path) -> Finding:
    """Whether cores may run above their nominal frequency for as long as temperature and other cores let them."""
    intel, others = read(root / SYS_CPU / "intel_pstate/no_turbo"), read(root / SYS_CPU / "cpufreq/boost")
    name, off = ("intel_pstate/no_turbo", "1") if intel else ("cpufreq/boost", "0")
    value = intel or others
    if not value:
        return Finding("turbo", GOOD, "not visible (virtual, or none)")
    return finding(
        "turbo",
        "off" if value == off else "on",
        value != off,
        f"the frequency depends on how many cores are busy: echo {off} > /{SYS_CPU}/{name}",
    )


def tick(root: Path, cpus: Sequence[int]) -> Finding:
    """How often the kernel interrupts a busy core, and which cores it spares. The noise profile shows the price."""
    rate = tick_hz(root)
    spared = {
        what: cpu_list(read(root / SYS_CPU / file)) & set(cpus)
        for what, file in (("without tick (nohz_full)", "nohz_full"), ("isolated (isolcpus)", "isolated"))
    }
    seen = [f"{rate} Hz" if rate else "rate not visible"]
    seen += [f"{len(cpus_spared)} of {len(cpus)} CPUs {what}" for what, cpus_spared in spared.items() if cpus_spared]
    if not any(spared.values()):
        seen.append("no CPU is spared (nohz_full, isolcpus)")
    return Finding("tick", GOOD, ", ".join(seen))


def tick_hz(root: Path) -> int:
    """The tick's rate that the kernel was built with; 0 where it is not visible."""
    rate = re.search(r"^CONFIG_HZ=(\d+)$", kernel_configuration(root), re.MULTILINE)
    return int(rate.group(1)) if rate else 0


def kernel_configuration(root: Path) -> str:
    """The text that the kernel was configured with; empty where it is not visible."""
    try:
        return gzip.decompress((root / "proc/config.gz").read_bytes()).decode(errors="replace")
    except (OSError, EOFError):
        return read(root / f"boot/config-{read(root / 'proc/sys/kernel/osrelease')}")


def autogroup(root: Path) -> Finding:
    """Whether the scheduler shares cores among sessions, rather than among processes."""
    value = read(root / "proc/sys/kernel/sched_autogroup_enabled")
    return finding(
        "autogroup",
        {"": "not there", "0": "off"}.get(value, "on"),
        value not in ("", "0"),
        "whatever runs in another session gets as much of a core as a whole rank, nice or not: "
        "echo 0 > /proc/sys/kernel/sched_autogroup_enabled, or let nothing else run",
    )


def huge_pages(root: Path) -> Finding:
    """Whether the kernel puts memory on huge pages unasked."""
    match = re.search(r"\[(\w+)\]", read(root / "sys/kernel/mm/transparent_hugepage/enabled"))
    chosen = match.group(1) if match else "not visible"
    return finding(
        "huge pages",
        f"transparent: {chosen}",
        chosen == "always",
        "launches differ by which buffers get them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    )


def numa_balancing(root: Path) -> Finding:
    """Whether the kernel moves pages between memories while they are used."""
    nodes = len(list((root / "sys/devices/system/node").glob("node[0-9]*")))
    value = read(root / "proc/sys/kernel/numa_balancing")
    on = value not in ("", "0")
    return finding(
        "NUMA balancing",
        f"{'on' if on else 'off'}, {nodes or 1} memory {'nodes' if nodes > 1 else 'node'}",
        on and nodes > 1,
        "pages move in mid-measurement: echo 0 > /proc/sys/kernel/numa_balancing",
    )


def swap(root: Path) -> Finding:
    """Whether memory has been put on a disk."""
    rows = [line.split() for line in read(root / "proc/swaps").splitlines()[1:]]
    available, used = (sum(int(row[column]) for row in rows if len(row) > 3) / 2**20 for column in (2, 3))
    return finding(
        "swap",
        f"{used:.1f} of {available:.1f} GiB used" if available else "none",
        used > 0,
        "memory is or was short: end what fills it, then swapoff -a; swapon -a",
    )


def clocksource(root: Path) -> Finding:
    """What the kernel reads the time from."""
    folder = root / "sys/devices/system/clocksource/clocksource0"
    current, others = read(folder / "current_clocksource"), read(folder / "available_clocksource").split()
    better = next((source for source in FAST_CLOCKSOURCES if source in others), None)
    return finding(
        "clock source",
        current or "not visible",
        current not in ("", *FAST_CLOCKSOURCES),
        f"reading the time is slow: echo {better} > /sys/devices/system/clocksource/clocksource0/current_clocksource"
        if better
        else "reading the time is slow, and no better source is offered here: see the timer's overhead",
    )


def cpu_time(root: Path, cpus: Sequence[int]) -> CpuTime:
    """The sum of CPU time until now over these CPUs."""
    rows = [line.split() for line in read(root / "proc/stat").splitlines()]
    sum_of_cpus = CpuTime(0, 0, 0)
    for name, *ticks in rows:
        if re.fullmatch(r"cpu\d+", name) and int(name[3:]) in cpus:
            # user nice system idle iowait irq softirq steal; guest time is in user and nice already
            user, nice, system, idle, waiting, irq, softirq, stolen = (*map(int, ticks[:8]), *[0] * (8 - len(ticks)))
            busy = user + nice + system + irq + softirq
            sum_of_cpus = CpuTime(
                sum_of_cpus.total + busy + idle + waiting + stolen, sum_of_cpus.busy + busy, sum_of_cpus.stolen + stolen
            )
    return sum_of_cpus


def own_seconds() -> float:
    """CPU time of this process and of its children that have ended. Ranks count: this process adopts them."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))


def others_share(taken: CpuTime, own: float) -> float:
    """The share of the CPUs' time that other programs took between two looks. own: `own_seconds` between the looks."""
    others = taken.busy - own * os.sysconf("SC_CLK_TCK")
    return max(0.0, others / taken.total) if taken.total > 0 else 0.0


def steal(taken: CpuTime, during: str) -> Finding:
    """The finding on time that the hypervisor gave to others between two looks."""
    part = taken.stolen / taken.total if taken.total > 0 else 0.0
    return finding(
        "steal",
        f"{share(part)} of the cores' time {during}",
        part > DISTURBING_SHARE,
        "this virtual machine shares its cores: ask for dedicated ones, or measure when the host is quiet",
    )


def process_ticks(root: Path) -> dict[int, tuple[str, int]]:
    """Name and CPU time until now, in ticks, of every process that is visible."""
    ticks_of_pid = {}
    for entry in (root / "proc").glob("[0-9]*"):
        # pid (name) state ppid ...; the name may hold anything, a parenthesis too
        name, _, rest = read(entry / "stat").partition("(")[2].rpartition(")")
        fields = rest.split()
        if len(fields) > 12:
            ticks_of_pid[int(entry.name)] = name, int(fields[11]) + int(fields[12])
    return ticks_of_pid


def busiest(before: Mapping[int, tuple[str, int]], after: Mapping[int, tuple[str, int]], total: int) -> str:
    """The living processes that used most CPU time between two looks, in words; `total` is the ticks between the looks.
    This process is left out, and so are processes that used too little to disturb. Empty where none is left."""
    used = {pid: ticks - before.get(pid, ("", 0))[1] for pid, (_, ticks) in after.items() if pid != os.getpid()}
    most = sorted((pid for pid in used if used[pid] > DISTURBING_SHARE * total), key=lambda pid: -used[pid])
    return ", ".join(f"{clean(after[pid][0])} (process {pid})" for pid in most[:NAMED_PROCESSES])


def other_load(shares: Mapping[str, float], names: str) -> Finding:
    """The finding on other programs' load of these cores. shares: of the cores' time, by when."""
    return finding(
        "other load",
        f"{', '.join(f'{share(part)} {when}' for when, part in shares.items())}, of the cores' time",
        max(shares.values()) > DISTURBING_SHARE,
        f"it takes time from the ranks: wait until it ends, or stop it: {names}"
        if names
        else "it takes time from the ranks; which process it is cannot be seen from here, or it has ended since: "
        "start again when nothing else runs",
    )
