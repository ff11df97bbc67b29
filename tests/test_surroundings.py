"""One case of each MPI library where everything is against it at once, and one where nothing is.

No ssh and no launcher of a batch system on PATH, a mask of one CPU, a /dev/shm as small as containers have it, and a
shell in which a batch system, a site's modules and a tool have set what they set.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import resolving
from tests.support import launch_line
from tests.test_environ import OTHERS, POISON

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi")]

DEFAULT = resolving.DEFAULT_TOOLCHAINS
OTHER = ("openmpi@4.1.8", "intel@2021.18.1")
# Two ranks on one CPU take turns of some milliseconds: a message that is to be measured takes longer.
POINT = ("--collective", "ibcast", "--configuration", "basic", "--comm-time", "64ms", "--comp-time", "64ms")
STARTERS = ("ssh", "rsh", "slogin", "srun", "qrsh", "qsub", "sbatch", "mpirun_rsh")
LAST_CPU = machine.core_cpus()[-1][0]


def path_without_starters(folder: Path) -> str:
    """All that is on PATH, but for what starts processes elsewhere."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*") if Path(place).is_dir() else ():
            if program.name not in STARTERS and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return str(folder)


def measured(
    output: Path,
    *before: str,
    libraries: tuple[str, ...],
    budget_seconds: int,
    env: dict[str, str],
    more: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """The headers of the records of a run of these libraries over shared memory, every case of which passed."""
    words = [sys.executable, str(ROOT / "campaign"), "run", *POINT, *more, "--network", "shm"]
    words += ["--budget-seconds", str(budget_seconds)]
    words += [word for name in libraries for word in ("--toolchain", name)]
    done = subprocess.run(
        [*before, *words, "--output", str(output)], capture_output=True, text=True, cwd=ROOT, check=False, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = Path(next(line for line in done.stdout.splitlines() if line.startswith("run: ")).removeprefix("run: "))
    headers = [json.loads(path.read_text().splitlines()[0]) for path in sorted((run / "records").glob("*.jsonl"))]
    assert sorted(header["toolchain"] for header in headers) == sorted(libraries)
    return headers


@pytest.fixture(autouse=True)
def there(request: pytest.FixtureRequest) -> None:
    """Fetched beforehand: what is against a run here is not against its network."""
    for name in request.node.callspec.params["libraries"] if hasattr(request.node, "callspec") else DEFAULT:
        resolving.resolve(resolving.parse(name), print)


@pytest.mark.needs("mount")
@pytest.mark.parametrize(
    "libraries",
    [
        # The environment that a launch gets is tested piece by piece in test_environ.py.
        pytest.param(DEFAULT, id="default", marks=pytest.mark.rare),
        pytest.param(OTHER, id="others", marks=pytest.mark.rare),
    ],
)
def test_each_library_runs_where_everything_is_against_it(tmp_path: Path, libraries: tuple[str, ...]) -> None:
    other_library = Path(resolving.resolve(resolving.parse("mpich@5.0.2"), print).prefix) / "lib"
    poison = {**POISON, "LD_LIBRARY_PATH": str(other_library), "HOME": str(tmp_path / "home")}
    del poison["LD_PRELOAD"], poison["LD_AUDIT"]  # of files that are not there: every program complains
    (tmp_path / "home" / ".openmpi").mkdir(parents=True)
    (tmp_path / "home" / ".openmpi" / "mca-params.conf").write_text("btl = nosuch\nplm = nosuch\n")
    (tmp_path / "home" / ".mpiexec.hydra.conf").write_text("-launcher slurm\n")
    small = f'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec taskset -c {LAST_CPU} "$@"'
    headers = measured(
        tmp_path / "archive",
        *("unshare", "--mount", "--propagation", "private", "sh", "-c", small, "sh"),
        libraries=libraries,
        budget_seconds=45,
        env={**os.environ, **poison, **OTHERS, "PATH": path_without_starters(tmp_path / "bin")},
        more=("--oversubscribe",),
    )
    for header in headers:
        assert {rank["cpuset"] for rank in header["placement"]} == {str(LAST_CPU)}
        assert not header["environment"].items() & poison.items()  # libraries are told some of these otherwise
        kept_out = header["metadata"]["environment"]["kept_out"]
        assert kept_out.items() >= (poison.items() - {("HOME", poison["HOME"])})
        assert {"~/.openmpi/mca-params.conf", "~/.mpiexec.hydra.conf"} <= kept_out.keys()
        assert not kept_out.keys() & OTHERS.keys()


@pytest.mark.parametrize(
    "libraries",
    [
        # test_live.py looks at the libraries that a person gets who asks for none, test_collectives.py at the others.
        pytest.param(DEFAULT, id="default", marks=pytest.mark.rare),
        pytest.param(OTHER, id="others", marks=pytest.mark.rare),
    ],
)
def test_each_library_runs_where_nothing_is_against_it(tmp_path: Path, libraries: tuple[str, ...]) -> None:
    for header in measured(tmp_path, libraries=libraries, budget_seconds=45, env=dict(os.environ)):
        assert [rank["cpuset"] for rank in header["placement"]] == header["metadata"]["shares"]


@pytest.mark.needs("user-namespaces")
@pytest.mark.parametrize(
    "libraries",
    [*((one,) for one in DEFAULT), *(pytest.param((one,), marks=pytest.mark.rare) for one in OTHER)],
    ids=(*DEFAULT, *OTHER),
)
def test_what_a_killed_launcher_left_stops_no_later_one(tmp_path: Path, libraries: tuple[str]) -> None:
    """Its files may be named by its process number, and the first process of each container has the same one."""
    in_container = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")

    def starting(script: str) -> "subprocess.Popen[str]":
        line, environment = launch_line(Path("/bin/sh"), "-c", script, ranks=1, toolchain=libraries[0])
        environment["TMPDIR"] = str(tmp_path)
        return subprocess.Popen([*in_container, *line], stdout=subprocess.PIPE, text=True, env=environment)

    with starting("echo begun; sleep 60") as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "begun\n"
        killed.kill()
    with starting("echo begun") as later:
        assert later.communicate(timeout=60)[0] == "begun\n"
    assert later.returncode == 0
