"""Facts about this machine: cores, compiler, network namespaces, the clone's commit."""

import contextlib
import os
import platform
import re
import shutil
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from mpi_campaign import ROOT
from mpi_campaign.children import asking, causes, environ, kernel
from mpi_campaign.errors import CampaignError, check_limits
from mpi_campaign.files import read
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.this_machine import host

SYS_CPU = Path("/sys/devices/system/cpu")
COMPILER_SECONDS = GIT_SECONDS = 120.0


@dataclass(frozen=True)
class Cores:
    """Processors that this process may use."""

    cpus: tuple[int, ...]
    physical: int

    @property
    def threads_per_core(self) -> int:
        return max(1, len(self.cpus) // self.physical)


@lru_cache(maxsize=1)
def cores() -> Cores:
    """The CPUs of this process's cpuset, and the number of physical cores that they belong to."""
    return Cores(tuple(sorted(os.sched_getaffinity(0))), len(cores_of_process()))


def cores_of_process() -> list[list[int]]:
    """The CPUs of this process's cpuset, by physical core."""
    cpus_of_core: dict[str, list[int]] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        core = read(SYS_CPU / f"cpu{cpu}" / "topology" / "thread_siblings_list") or str(cpu)
        cpus_of_core.setdefault(core, []).append(cpu)
    return list(cpus_of_core.values())


def core_cpus() -> tuple[tuple[int, ...], ...]:
    """The CPUs of each core of this process's cpuset, in the order in which ranks get cores. Cores are sorted by
    socket, then by shared cache, then by the number of their first CPU."""

    def first(cpu: int, *where: str) -> int:
        number = re.split("[,-]", read((SYS_CPU / f"cpu{cpu}").joinpath(*where)))[0]
        return int(number) if number.isdecimal() else 0

    def place(cpu: int) -> tuple[int, int, int]:
        return first(cpu, "topology", "package_cpus_list"), first(cpu, "cache", "index3", "shared_cpu_list"), cpu

    return tuple(sorted(map(tuple, cores_of_process()), key=lambda cpus: place(cpus[0])))


def cpu_model() -> str:
    """The processor's name as the kernel gives it."""
    named = re.search(r"^model name[^:\n]*:(.*)", read(Path("/proc/cpuinfo")), re.MULTILINE)
    return named[1].strip() if named else platform.processor() or platform.machine()


def limits() -> host.HostLimits:
    """The present limits of this process on the machine."""
    seen = host.look(Path("/"), cores().cpus)
    return replace(seen, refused_calls=", ".join(kernel.refused()) or None)


def memory_bytes() -> int:
    """The memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def allowed_memory_bytes(root: Path = Path("/")) -> int:
    """The memory that this process may use: that of the machine, or the limit of its control groups if that is less."""
    limit = host.memory_limit_bytes(root)
    return memory_bytes() if limit is None else min(memory_bytes(), limit)


def host_facts() -> dict[str, Any]:
    """The description of the machine in a manifest."""
    process_cores = cores()
    release: dict[str, str] = {}
    with contextlib.suppress(OSError):
        release = platform.freedesktop_os_release()
    return {
        "name": platform.node(),
        "cpu": cpu_model(),
        "kernel": platform.release(),
        "firmware": firmware(),
        "os": release.get("PRETTY_NAME", platform.system()),
        "cores": process_cores.physical,
        "cpus": len(process_cores.cpus),
        "memory_bytes": memory_bytes(),
        "python": platform.python_version(),
        **limits().as_facts(),
    }


def os_release() -> str:
    """Distribution and release, such as `debian 12`; empty where they are not known."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    return f"{release.get('ID', '')} {release.get('VERSION_ID', '')}".strip()


def firmware() -> str:
    """Versions of the CPU's microcode and of the firmware of mainboard and network adapters; empty without any."""
    microcode = re.search(r"^microcode[^:\n]*:(.*)", read(Path("/proc/cpuinfo")), re.MULTILINE)
    files = [("board", Path("/sys/class/dmi/id/bios_version"))]
    files += [(path.parent.name, path) for path in sorted(Path("/sys/class/infiniband").glob("*/fw_ver"))]
    versions = [("microcode", microcode[1] if microcode else ""), *((name, read(path)) for name, path in files)]
    return ", ".join(f"{name} {' '.join(version.split())}" for name, version in versions if version)


LEAST_PROCESSES = 16
"""A build starts so many processes and threads at once, and so does a launch of two ranks."""
_FULL = re.compile(r"(?P<file>/[^\s:]+): (?:No space left on device|Disk quota exceeded)")


def compiler() -> Path:
    """The C compiler: $CC, else cc, gcc or clang. Raises CampaignError where there is none, or where it cannot build a
    program."""
    check_limits()
    start_threads()
    requested = os.environ.get("CC")
    compilers = [
        path for name in ([requested] if requested else ["cc", "gcc", "clang"]) if (path := shutil.which(name))
    ]
    if not compilers and requested:
        raise CampaignError(f"CC='{requested}' is no program on PATH: set CC to one, without options, or unset it")
    if not compilers:
        raise CampaignError(
            "no C compiler (cc, gcc or clang) is on PATH: install one (Debian, Ubuntu: gcc and libc6-dev) or set CC"
        )
    program = next((path for path in compilers if not _links_mpi(path)), None)
    if program is None:
        raise CampaignError(
            f"{compilers[0]} links an MPI library of its own, and the benchmarks need that of each toolchain: set CC "
            "to the compiler behind it (gcc, clang, icx)"
        )
    trouble = build_trouble(program)
    if trouble is not None and "ulimit" in trouble:
        raise CampaignError(f"{program} does not work: {trouble}")
    if trouble is not None and (full := _FULL.search(trouble)):
        raise CampaignError(
            f"{program} cannot write its temporary files, {Path(full['file']).parent} is full ({trouble}): free some "
            "space there, or set TMPDIR to a folder that has some"
        )
    if trouble is not None and asking.LACKS.search(trouble):
        raise CampaignError(
            f"{program} does not work ({trouble}); no folder of LD_LIBRARY_PATH in this shell helps: load its module"
        )
    if trouble is not None:
        raise CampaignError(
            f"{program} cannot build an OpenMP program ({trouble}): install the C library's headers and OpenMP "
            "(Debian, Ubuntu: gcc and libc6-dev; for clang also libomp-dev) or set CC"
        )
    return Path(program).absolute()


def start_threads() -> None:
    """Raises RuntimeError where LEAST_PROCESSES threads cannot be started: compilers and CMake then do not say why."""
    over = threading.Event()
    threads = [threading.Thread(target=over.wait, daemon=True) for _ in range(LEAST_PROCESSES)]
    try:
        for thread in threads:
            thread.start()
    finally:
        over.set()


@lru_cache
def _links_mpi(compiler_path: str) -> bool:
    """Whether a compiler links an MPI library unasked, as an MPI library's wrapper does."""
    with tempfile.TemporaryDirectory() as folder:
        program = "int MPI_Finalize(void); int main(void) { return MPI_Finalize(); }\n"
        answer = _compile(compiler_path, program, Path(folder) / "probe")
    return answer.good or "-lmpi" in answer.text  # or it cannot find that library


def _compile(compiler_path: str, text: str, program: Path, *options: str) -> asking.Answer:
    source = program.with_suffix(".c")
    source.write_text(text)
    command = [compiler_path, *options, str(source), "-o", str(program)]
    return asking.ask(command, env=environ.built(environ.BUILD), seconds=COMPILER_SECONDS)


def build_trouble(compiler_path: str) -> str | None:
    """Let a compiler build a small OpenMP program. Returns its first error, or the shared library that the program
    lacks; None where it succeeds."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "probe"
        text = "#ifdef __cplusplus\n#error it compiles C++\n#endif\n#include <stdio.h>\n#include <omp.h>\n"
        text += "int main(void) { return omp_get_max_threads() < 1; }\n"
        answer = _compile(compiler_path, text, program, "-fopenmp")
        lacking = asking.LACKS.search(asking.ask([program]).text) if answer.good else None
    if lacking:
        return lacking[0].strip()
    if answer.good:
        return None
    if answer.trouble:
        return f"it {answer.trouble}"
    return causes.of_build(answer.stderr) or f"it ends with {answer.exit_code} and says nothing"


@lru_cache
def network_refusal(name: str) -> str | None:
    """Why a network cannot be made here, such as a wire; None where it can, or need not be made. A child process tries
    it."""
    launcher = NETWORKS[name].launcher
    return _refusal(launcher, "--rate", "1gbit") if launcher else None


@lru_cache(maxsize=1)
def nodes_refusal() -> str | None:
    """Why nodes with clocks of their own cannot be made here; None where they can. A child process tries it."""
    return _refusal("nodes", "--rate", "1gbit")


def _refusal(module: str, *options: str) -> str | None:
    command = [sys.executable, "-m", f"mpi_campaign.launching.{module}", *options, "--", "true"]
    answer = asking.ask(command, cwd=ROOT)
    if answer.good:
        return None
    lines = answer.stderr.strip().splitlines()
    reason = lines[-1].removeprefix(f"{module}: ") if lines else f"its trial ended with {answer.exit_code}"
    return f"its trial {answer.trouble}" if answer.trouble else reason


@dataclass(frozen=True)
class GitState:
    """The commit of a clone, and whether the clone has changes that are not committed. Where git does not tell:
    "unknown" and None, with the reason in `why_unknown`."""

    commit: str
    dirty: bool | None
    why_unknown: str = ""


class _GitError(Exception):
    """Git did not answer; the message says why."""


def _git(folder: Path, *arguments: str) -> str:
    """The output of a git command for the clone that contains a folder. Raises _GitError."""
    words = ["git", "-C", str(folder), *arguments]
    answer = asking.ask(words, env=environ.built(environ.NETWORK, {"LC_ALL": "C"}), seconds=GIT_SECONDS)
    if answer.trouble:
        raise _GitError("there is no git on PATH" if shutil.which("git") is None else f"git {answer.trouble}")
    if not answer.good:
        raise _GitError(_why_not(answer.stderr, folder))
    return answer.stdout


def commit_of(folder: Path) -> str:
    """The commit of the git clone that contains a folder; empty outside a clone."""
    try:
        return _git(folder, "rev-parse", "HEAD").strip()
    except _GitError:
        return ""


def git_state(root: Path = ROOT) -> GitState:
    """The state of the clone whose top folder is `root`. A folder within another repository counts as no clone."""
    try:
        top = Path(_git(root, "rev-parse", "--show-toplevel").removesuffix("\n"))
        if top.resolve() != root.resolve():
            return GitState("unknown", None, f"{root} is no clone, but a folder in the repository {top}")
        commit = _git(root, "rev-parse", "--verify", "HEAD").strip()
        return GitState(commit, bool(_git(root, "status", "--porcelain")))
    except _GitError as error:
        return GitState("unknown", None, str(error))


def _why_not(output: str, root: Path) -> str:
    """Why git failed, in this project's words where the reason is known."""
    if "dubious ownership" in output:
        return f"git refuses, since {root} is another user's: git config --global --add safe.directory {root}"
    if "not a git repository" in output:
        return f"{root} is no git clone"
    return f"git says: {' '.join((output.strip() or 'nothing').splitlines()[0].split())}"
