"""What this machine is and allows: cores, compiler, network namespaces."""

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mpi_campaign import ROOT, causes
from mpi_campaign.errors import CampaignError

SYS_CPU = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Cores:
    """Processors that this process may use."""

    cpus: tuple[int, ...]
    physical: int

    @property
    def threads_per_core(self) -> int:
        return max(1, len(self.cpus) // self.physical)


def _core_of(cpu: int) -> str:
    try:
        return (SYS_CPU / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


@lru_cache(maxsize=1)
def cores() -> Cores:
    """CPUs of this process's cpuset and how many physical cores they are."""
    return Cores(tuple(sorted(os.sched_getaffinity(0))), len(cores_of_process()))


def cores_of_process() -> list[list[int]]:
    """The CPUs of this process's cpuset, by physical core."""
    found: dict[str, list[int]] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        found.setdefault(_core_of(cpu), []).append(cpu)
    return list(found.values())


def core_cpus() -> tuple[int, ...]:
    """The first CPU of each core of this process's cpuset, in the order in which MPI launchers hand cores out.

    They go by the machine's tree: socket by socket, and there by shared cache, whatever the CPUs' numbers.
    """

    def first(cpu: int, *where: str) -> int:
        try:
            return int(re.split(r"[,-]", (SYS_CPU / f"cpu{cpu}").joinpath(*where).read_text().strip())[0])
        except (OSError, ValueError):
            return 0

    def place(cpu: int) -> tuple[int, int, int]:
        return first(cpu, "topology", "package_cpus_list"), first(cpu, "cache", "index3", "shared_cpu_list"), cpu

    return tuple(sorted((cpus[0] for cpus in cores_of_process()), key=place))


def cpu_model() -> str:
    """The processor's name as the kernel gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def host_facts() -> dict[str, str | int]:
    """The machine as the manifest describes it."""
    found = cores()
    release: dict[str, str] = {}
    with contextlib.suppress(OSError):
        release = platform.freedesktop_os_release()
    return {
        "name": platform.node(),
        "cpu": cpu_model(),
        "kernel": platform.release(),
        "firmware": firmware(),
        "os": release.get("PRETTY_NAME", platform.system()),
        "cores": found.physical,
        "cpus": len(found.cpus),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
    }


def os_release() -> str:
    """Distribution and release, such as `debian 12`; empty where it does not say."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    return f"{release.get('ID', '')} {release.get('VERSION_ID', '')}".strip()


def firmware() -> str:
    """Versions of the CPU's microcode, the mainboard's firmware and network adapters'; empty where none is told."""
    found = []
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found += [f"microcode {line.partition(':')[2].strip()}" for line in lines if line.startswith("microcode")][:1]
    named = [("board", Path("/sys/class/dmi/id/bios_version"))]
    named += [(path.parent.name, path) for path in sorted(Path("/sys/class/infiniband").glob("*/fw_ver"))]
    for name, path in named:
        with contextlib.suppress(OSError):
            found += [f"{name} {' '.join(path.read_text(errors='replace').split())}"]
    return ", ".join(found)


def compiler() -> Path:
    """The C compiler: $CC, else cc, gcc or clang.

    Raises CampaignError where there is none, or where it cannot build a program.
    """
    asked = os.environ.get("CC")
    names = [asked] if asked else ["cc", "gcc", "clang"]
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        what = f"CC='{asked}' is not one program on PATH" if asked else "no C compiler (cc, gcc or clang) is on PATH"
        raise CampaignError(f"{what}: install one (Debian, Ubuntu: gcc and libc6-dev) or set CC")
    trouble = build_trouble(found)
    if trouble is not None:
        raise CampaignError(
            f"{found} cannot build an OpenMP program ({trouble}): install the C library's headers and OpenMP "
            "(Debian, Ubuntu: gcc and libc6-dev; for clang also libomp-dev) or set CC"
        )
    return Path(found)


def build_trouble(compiler_path: str) -> str | None:
    """The first error of a compiler that builds a small OpenMP program; None where it can."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text('#include <stdio.h>\n#include <omp.h>\nint main(void) { return puts("") == EOF; }\n')
        command = [compiler_path, "-fopenmp", str(source), "-o", str(source.with_suffix(""))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return causes.of_build(done.stderr) or f"it ends with {done.returncode} and says nothing"


@lru_cache(maxsize=1)
def wire_refusal() -> str | None:
    """Why a rate-limited loopback cannot be made here; None where it can. Tried for real, in a process of its own."""
    return _refusal("wire", "--rate", "1gbit")


@lru_cache(maxsize=1)
def nodes_refusal() -> str | None:
    """Why nodes with clocks of their own cannot be made here; None where they can. Tried for real, as above."""
    return _refusal("nodes", "--rate", "1gbit")


def _refusal(module: str, *options: str) -> str | None:
    command = [sys.executable, "-m", f"mpi_campaign.{module}", *options, "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode == 0:
        return None
    lines = done.stderr.strip().splitlines()
    return lines[-1].removeprefix(f"{module}: ") if lines else f"its trial ended with {done.returncode}"


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        words = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def commit_of(folder: Path) -> str:
    """Of the git clone that a folder lies in; empty outside git."""
    return (_git(folder, "rev-parse", "HEAD") or "").strip()


def git_state() -> tuple[str, bool | None]:
    """Commit of the clone and whether it has changes; ("unknown", None) outside git."""
    commit = _git(ROOT, "rev-parse", "HEAD")
    status = _git(ROOT, "status", "--porcelain")
    return (commit.strip() if commit else "unknown", bool(status) if status is not None else None)


def shm_bytes(path: Path = Path("/dev/shm")) -> int | None:
    """The size of /dev/shm; None where there is none, or it has no bound."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize or None
