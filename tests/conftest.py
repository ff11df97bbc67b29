"""Parts that a machine may lack, tests side by side or alone, and the command as a person types it."""

import ctypes
import fcntl
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from mpi_campaign import ROOT
from mpi_campaign.__main__ import answer
from mpi_campaign.commands.testing import PARTS, RARE_TOO
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import accounting, slurm
from mpi_campaign.processes import signals
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains.spack import tool
from tests.support import MPI, Command, another_python, as_another_user, build_benchmarks


def _browser() -> str | None:
    return None if any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))) else "no Chromium on PATH"


def _clang() -> str | None:
    path = shutil.which("clang")
    return machine.build_trouble(path) if path else "no clang on PATH"


def _git() -> str | None:
    return None if shutil.which("git") else "no git on PATH"


def _grid_engine() -> str | None:
    """Installed, or unpacked in the folder that $MPI_CAMPAIGN_GRID_ENGINE names: Debian installs either Grid Engine or
    Slurm's own qsub."""
    root = Path(os.environ.get("MPI_CAMPAIGN_GRID_ENGINE", "/"))
    if (root / "usr" / "lib" / "gridengine" / "sge_qmaster").is_file():
        return None if root == Path("/") or os.geteuid() == 0 else "only root mounts $MPI_CAMPAIGN_GRID_ENGINE"
    packages = "gridengine-master gridengine-exec gridengine-client gridengine-common libjemalloc2"
    return f"no Grid Engine (Debian: {packages}, or unpacked by dpkg -x in $MPI_CAMPAIGN_GRID_ENGINE)"


def _mpi() -> str | None:
    return None if machine.cores().physical >= 2 else "two ranks need two cores"


def _pmix() -> str | None:
    """What `srun --mpi=pmix` loads."""
    try:
        ctypes.CDLL("libpmix.so")
    except OSError:
        return "no libpmix.so (Debian, Ubuntu: libpmix-dev)"
    return None


def _simgrid() -> str | None:
    lacking = not (shutil.which("smpicc") and shutil.which("smpirun"))
    return "no SimGrid on PATH: smpicc, smpirun (Debian, Ubuntu: libsimgrid-dev)" if lacking else None


def _slurm() -> str | None:
    missing = ", ".join(slurm.lacking())
    return f"not installed: {missing} (Debian, Ubuntu: {slurm.PACKAGES})" if missing else machine.nodes_refusal()


def _slurm_accounting() -> str | None:
    missing = ", ".join(slurm.lacking(accounting.PROGRAMS))
    return f"not installed: {missing} (Debian, Ubuntu: {accounting.PACKAGES})" if missing else None


def _slurm_torque() -> str | None:
    """Slurm's own commands with the names of Torque's."""
    qsub = shutil.which("qsub")
    is_slurms = qsub and "Slurm" in Path(qsub).read_text(errors="replace")
    return None if is_slurms else "no qsub of Slurm on PATH (Debian, Ubuntu: slurm-wlm-torque)"


def _spack() -> str | None:
    """A Spack that has its packages: those of $MPI_CAMPAIGN_SPACK_PACKAGES, or what it cloned before."""
    try:
        found = tool.find()
    except CampaignError as error:
        return str(error)
    return None if found.packages is not None else tool.lacks_packages(found)


def _system_mpi() -> str | None:
    return None if shutil.which("mpicc") and shutil.which("mpiexec") else "no installed MPI (mpicc, mpiexec) on PATH"


def _works(*words: str, **how: Any) -> str | None:
    """Why a command does not end well; None where it does."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, **how)
    except OSError as error:
        return f"{words[0]}: {error.strerror}"
    said = done.stderr.strip().splitlines() or [f"{words[0]} ended with {done.returncode}"]
    return said[-1] if done.returncode != 0 else None


@functools.cache
def _mount() -> str | None:
    return _works("unshare", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /tmp")


@functools.cache
def _user_namespaces() -> str | None:
    return _works("unshare", "--user", "--map-root-user", "true")


@functools.cache
def _another_user() -> str | None:
    """An ordinary user who may start Python, read this clone, and make a user namespace."""
    if os.geteuid() != 0:
        return "this user cannot start anything as another one"
    if another_python() is None:
        return "no Python in /usr, which another user may start"
    words, environment = as_another_user("-c", "import pyroute2, mpi_campaign")
    unshare = [*words[: words.index("-c") - 1], "unshare", "--user", "true"]
    return _works(*words, env=environment, cwd="/") or _works(*unshare, env=environment, cwd="/")


WHY_NOT: dict[str, Callable[[], str | None]] = {
    "another-user": _another_user, "browser": _browser, "clang": _clang, "git": _git, "grid-engine": _grid_engine,
    "mount": _mount, "mpi": _mpi, "nodes": machine.nodes_refusal, "pmix": _pmix, "simgrid": _simgrid, "slurm": _slurm,
    "slurm-accounting": _slurm_accounting, "slurm-torque": _slurm_torque, "spack": _spack, "system-mpi": _system_mpi,
    "user-namespaces": _user_namespaces, "wire": functools.partial(machine.network_refusal, "wire"),
}  # fmt: skip
assert set(WHY_NOT) == set(PARTS)

# Tests that need one of these launch ranks on all cores, so that nothing else may run beside them. Those of a file that
# is marked BESIDE_OTHERS look at data, exit codes and messages only, which do not depend on what runs beside them: one
# worker has all of these, so that no two of them launch ranks at once, while the other workers run what launches none.
# A rare test in a file of others has the mark alone, and may run beside them.
ALONE = {"mpi", "nodes", "slurm", "system-mpi", "wire"}
BESIDE_OTHERS = "beside_others"
TURNS = ROOT / ".campaign" / "tests.lock"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(RARE_TOO, action="store_true", help="also tests that are slow and rarely fail")


def pytest_configure(config: pytest.Config) -> None:
    # What is started by `nohup`, or in the background of a shell, ignores signals, and so would all that tests start.
    for number in filter(signals.is_ignored, signals.ENDING):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    # No deadline: a busy machine is no failure. An example may find what another left in a folder.
    examples = 200 if config.getoption(RARE_TOO) else 30
    health = [hypothesis.HealthCheck.function_scoped_fixture]
    hypothesis.settings.register_profile("campaign", deadline=None, max_examples=examples, suppress_health_check=health)
    hypothesis.settings.load_profile("campaign")
    config.addinivalue_line("markers", "needs(part): skipped by name where this machine lacks the part")
    config.addinivalue_line("markers", "slow: launches MPI or builds; left out by --quick")
    config.addinivalue_line("markers", f"{BESIDE_OTHERS}: of a file that launches ranks, and times nothing")
    config.addinivalue_line("markers", "rare: slow, and fails rarely; only with `campaign test --all`")


def _alone(item: pytest.Item) -> bool:
    launches = any(mark.args[0] in ALONE for mark in item.iter_markers("needs"))
    return launches and item.get_closest_marker(BESIDE_OTHERS) is None


@functools.cache
def _launches_beside_others(path: Path) -> bool:
    """Whether all tests of a file launch ranks, and others may run beside them: it has the mark, not a test of it."""
    return re.search(rf"[^@]pytest\.mark\.{BESIDE_OTHERS}", path.read_text(encoding="utf-8")) is not None


@functools.cache
def _has_some_alone(path: Path) -> bool:
    """Whether a file has tests of ALONE."""
    text = path.read_text(encoding="utf-8")
    return BESIDE_OTHERS not in text and any(f'needs("{part}")' in text for part in ALONE)


@functools.cache
def _shares_fixtures(path: Path) -> bool:
    """Whether a file has fixtures that several of its tests share."""
    return 'scope="module"' in path.read_text(encoding="utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files whose tests all share the machine come first, and of these the ones that launch ranks: they take long."""
    items.sort(key=lambda item: (_has_some_alone(item.path), not _launches_beside_others(item.path)))


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Files whose tests launch ranks beside others all go to one worker, and so do files that want the machine alone.
    Others go to any worker: those that share a fixture together, so that it is made once, the rest test by test."""

    def _split_scope(self, nodeid: str) -> str:
        path = ROOT / nodeid.partition("::")[0]
        if _has_some_alone(path):
            return "alone"
        return "launching" if _launches_beside_others(path) else str(path) if _shares_fixtures(path) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that wants the machine alone waits for those of other workers, and they for it."""
    TURNS.parent.mkdir(exist_ok=True)
    with TURNS.open("w") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX if _alone(item) else fcntl.LOCK_SH)
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("rare") and not item.config.getoption(RARE_TOO):
        pytest.skip("rare: `./campaign test --all` runs it")
    required = os.environ.get("CAMPAIGN_TEST_REQUIRE", "").split(",")
    for mark in item.iter_markers("needs"):
        part = mark.args[0]
        reason = WHY_NOT[part]()
        if reason is not None:
            (pytest.fail if part in required else pytest.skip)(f"{part}: {reason}")


@pytest.fixture
def campaign() -> Command:
    """Run `./campaign ...` in the clone; output captured."""

    def call(*words: str, env: dict[str, str] | None = None, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "campaign"), *words],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            timeout=timeout,
            check=False,
        )

    return call


@pytest.fixture
def inside(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The same in this process, for commands that start no other: there are many, and Python starts slowly."""
    monkeypatch.chdir(ROOT)

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        code = answer(list(words))
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, said.out, said.err)

    return call


@pytest.fixture(scope="session")
def build_for(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Build folders by toolchain, made once for all workers: all programs, variants with an artificial clock, the fault
    injectors, the unit tests."""
    of_worker = tmp_path_factory.getbasetemp()
    of_suite = of_worker.parent if "PYTEST_XDIST_WORKER" in os.environ else of_worker

    @functools.cache
    def build(toolchain: str) -> Path:
        folder = of_suite / f"build-{toolchain.replace('@', '-')}"
        with folder.with_name(f"{folder.name}.lock").open("a+") as built_before:
            fcntl.flock(built_before, fcntl.LOCK_EX)
            built_before.seek(0)
            if not built_before.read():
                build_benchmarks(folder, toolchain)
                built_before.write("built")
        return folder

    return build


@pytest.fixture(scope="session")
def built(build_for: Callable[[str], Path]) -> Path:
    """The build folder for MPI."""
    return build_for(MPI)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A bare copy of what starts the campaign, without an environment."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in ("campaign", "requirements.lock", "requirements-test.lock"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("mpi_campaign", "postprocess", "systems"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (ROOT / "benchmarks").glob("*/*description.json"):
        place = folder / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    return folder
