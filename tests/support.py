"""What tests of the commands share."""

import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import scipy_openblas32

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from mpi_campaign.launching import node_agent
from mpi_campaign.launching.nodes import Layout
from mpi_campaign.libraries import launches, registry
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Hosts, Request, Settings
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds, resolving
from mpi_campaign.toolchains.spack.build import Build
from postprocess.families import registry as families

# The library under which programs are launched by hand.
MPI = resolving.DEFAULT_TOOLCHAINS[1]

SLOW_WAIT = """#include <mpi.h>
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    const double began = PMPI_Wtime();
    const int code = PMPI_Wait(request, status);
    const double until = PMPI_Wtime() + (PMPI_Wtime() - began) * SLOWER;
    while (PMPI_Wtime() < until) {}
    return code;
}
"""
"""A layer of PMPI in which MPI_Wait takes longer than it needs, by a share of that, SLOWER."""

Command = Callable[..., subprocess.CompletedProcess[str]]

# A package registry that nobody answers at.
NOWHERE = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": "", "PIP_RETRIES": "0",
}  # fmt: skip


def refused(done: subprocess.CompletedProcess[str], *fragments: str) -> None:
    """Bad input: exit code 2, one line on standard error that has the fragments, no traceback."""
    assert done.returncode == 2, done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("set-up")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("campaign: ")
    for fragment in fragments:
        assert fragment in lines[0]


def running(pid: int) -> bool:
    """Whether a process is there and not over: whoever adopted it may not have asked for its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def another_python() -> str | None:
    """A Python that any user may start."""
    return shutil.which("python3", path="/usr/bin:/usr/local/bin")


def as_another_user(*words: str) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment of Python with these words, as an ordinary user; for root, `needs`
    another-user."""
    site = next(path for path in sys.path if path.endswith("site-packages"))
    python = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", another_python() or "python3", *words]
    return python, {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}:{site}", "HOME": "/nonexistent"}


def ignoring(*numbers: int) -> Callable[[], None]:
    """What `nohup`, `trap '' TERM` and `&` do between fork and exec."""

    def ignore() -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)

    return ignore


def succeed(*words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
    """Run a command that must end well; env: variables beside those there are."""
    environment = environ.built(environ.BUILD, env or {})
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


def build_benchmarks(
    folder: Path, toolchain: str, *options: str, compiler: str | None = None, target: str = "all"
) -> Path:
    """Configure and build the CMake project with its unit tests for one toolchain, or one target of it.

    Returns the build folder.
    """
    programs = ROOT / ".venv" / "bin"
    mpi = resolving.resolve(resolving.parse(toolchain), print)
    succeed(
        str(programs / "cmake"), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={programs / 'ninja'}",
        "-S", str(ROOT / "benchmarks"), "-B", str(folder), f"-DCMAKE_C_COMPILER={compiler or machine.compiler()}",
        f"-DMPI_C_COMPILER={mpi.mpicc}", f"-DBLAS_ROOT={Path(scipy_openblas32.__file__).parent}", *options,
        env=builds.environment(mpi.family, mpi.version, mpi.prefix),
    )  # fmt: skip
    succeed(
        str(programs / "cmake"), "--build", str(folder), "--target", target,
        env=builds.environment(mpi.family, mpi.version, mpi.prefix),
    )  # fmt: skip
    return folder


def each(*cpus: int) -> tuple[tuple[int, ...], ...]:
    """Cores of one CPU, as a placement has them."""
    return tuple((cpu,) for cpu in cpus)


def launch_line(
    program: Path,
    *words: str,
    ranks: int = 2,
    threads: int = 1,
    env: Mapping[str, str] | None = None,
    toolchain: str = MPI,
    configuration: str = "basic",
    network: str = "shm",
    told: Mapping[str, str] | None = None,
    layout: Layout | None = None,
) -> tuple[list[str], dict[str, str]]:
    """A program built for MPI under its launcher: its command line, and the launcher's environment.

    Ranks of `basic` are not bound, those of other configurations are where there are cores enough.  `threads` are the
    cores of each rank's share.  `env` reaches the ranks, not the launcher.  layout: nodes in a box, on which the ranks
    are, equally many on each; by default they are on this machine.
    """
    mpi = resolving.resolve(resolving.parse(toolchain), print)
    cpus = machine.core_cpus()
    bound = configuration != "basic" and ranks * threads <= len(cpus)
    hosts = Hosts(tuple(layout.hosts), str(node_agent.AGENT)) if layout else None
    on = len(hosts.names) if hosts else 1
    placement = Placement(on, ranks // on, threads, oversubscribed=not bound, cpus=cpus, crowding=True)
    request = Request(
        Path(mpi.prefix),
        mpi.version,
        configuration,
        "tcp" if hosts else network,
        placement,
        axes=told or {},
        hosts=hosts,
    )
    settings = launches.launch(mpi.family, request)
    assert isinstance(settings, Settings), settings
    launcher = registry.library(mpi.family).launcher(request.launcher, mpi.version)
    assert launcher is not None
    options = [word for name, value in (env or {}).items() for word in launcher.hand_over(name, value)]
    options += settings.launcher_options(program.parent)
    line = [mpi.mpiexec, "-n", str(ranks), *options, str(program), *settings.program, *words]
    beside = {"PYTHONPATH": str(ROOT)} if layout else {}
    return layout.command(line) if layout else line, environ.built(environ.LAUNCH, settings.env, beside)


def launch(program: Path, *words: str, timeout: float = 240, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run it. how: of `launch_line`."""
    line, environment = launch_line(program, *words, **how)
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=timeout, env=environment)


def example(run: str) -> Path:
    """The folder of a run that comes with the campaign."""
    return run_folders.find(f"{run_folders.EXAMPLE}/{run}", run_folders.RESULTS).path


def check_record(path: Path) -> None:
    """Every line as its program describes it, and as its family sees it. Raises RecordError."""
    families.validate(path)


def recorded(program: Path, record: Path, *words: str, **how: Any) -> str:
    """Launch a program, which must end well and write a sound record, and return what it printed. how: of `launch`."""
    done = launch(program, *words, "--record", str(record), **how)
    assert done.returncode == 0, done.stdout + done.stderr
    check_record(record)
    return done.stdout


def run_path(stdout: str) -> Path:
    """The archived run: what the last line of `run` names."""
    line = stdout.strip().splitlines()[-1]
    assert line.startswith("run: "), stdout
    return Path(line.removeprefix("run: "))


def corruption(build: Path, **settings: object) -> dict[str, str]:
    """The fault injector's environment."""
    chosen = {f"CORRUPT_{name.upper()}": str(value) for name, value in settings.items()}
    return {"LD_PRELOAD": str(build / "corrupt_preload.so"), **chosen}


def only_line(program: str, stderr: str) -> str:
    """The only line in which a program says what it refuses."""
    (line,) = [line for line in stderr.splitlines() if line.startswith(f"{program}: ")]
    return line


def cannot_measure(program: Path, says: str, *words: str, **how: Any) -> None:
    """Launch a program that must refuse it, in one line. how: of `launch`."""
    done = launch(program, *words, **how)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in only_line(program.name, done.stderr)


def spack_build(**fields: Any) -> Build:
    """What Spack built, with other values of these fields."""
    usual: dict[str, Any] = {
        "hash": "a" * 32, "spec": "mpi-overlap-benchmarks@main", "prefix": "/opt/benchmarks", "mpi_hash": "b" * 32,
        "external": False, "compiler": "gcc@12.2.0", "architecture": "linux-debian12-zen3", "spack_version": "1.1.0",
        "spack_commit": "c" * 40, "spack_executable": "/opt/spack/bin/spack", "lock_sha256": "e" * 64,
    }  # fmt: skip
    return Build(**{**usual, **fields})


_PARTS = (
    "benchmarks", "docs/benchmarks", "mpi_campaign", "postprocess", "reframe", "systems", "tests",
)  # fmt: skip


def copy_of_project(folder: Path) -> Path:
    """A copy of what runs, in which a test can write, with the packages of this clone."""
    left_out = ("__pycache__", ".mypy_cache", "tmp-*", "references.yaml")
    for name in _PARTS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(*left_out))
    for name in ("campaign", "requirements.lock", "requirements-test.lock", "spack.yaml"):
        shutil.copy(ROOT / name, folder / name)
    environment_of(folder)
    return folder


def environment_of(folder: Path) -> None:
    """A .venv with the packages of this clone, whose Python finds the copy's own modules first."""
    own = folder / ".venv"
    venv.create(own, symlinks=True)
    packages = next(own.glob("lib/python3*/site-packages"))
    shared = next((ROOT / ".venv").glob("lib/python3*/site-packages"))
    (packages / "campaign.pth").write_text(f"{folder}\nimport site; site.addsitedir({str(shared)!r})\n")
    for script in (ROOT / ".venv" / "bin").iterdir():
        copied = own / "bin" / script.name
        if not script.is_file() or copied.exists():
            continue
        if script.read_bytes()[:2] == b"#!":
            copied.write_text(script.read_text().replace(str(ROOT / ".venv"), str(own)))
            copied.chmod(0o755)
        else:
            copied.symlink_to(script)
