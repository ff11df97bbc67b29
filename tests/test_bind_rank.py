"""`bind_rank`, by hand and under a launcher whose ranks it binds before the program begins."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mpi_campaign.this_machine import machine
from tests.support import launch

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi")]

CPUS = [core[0] for core in machine.core_cpus()]
MASK = "import os, json; print(json.dumps(sorted(os.sched_getaffinity(0))))"


def bound(built: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    line = [str(built / "bind_rank"), *words]
    env = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(line, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize("rank", [0, 1])
def test_the_program_begins_on_the_cpus_of_its_rank(built: Path, rank: int) -> None:
    done = bound(built, "RANK", f"{CPUS[1]}:{CPUS[0]},{CPUS[1]}", sys.executable, "-c", MASK, RANK=str(rank))
    assert json.loads(done.stdout) == ([CPUS[1]], CPUS[:2])[rank], done.stderr


def test_each_host_has_lists_of_its_own(built: Path) -> None:
    name = socket.gethostname()
    lists = f"{name}x={CPUS[0]}/{name}={CPUS[0]}:{CPUS[1]}/other={CPUS[0]}"
    done = bound(built, "RANK", lists, sys.executable, "-c", MASK, RANK="1")
    assert json.loads(done.stdout) == [CPUS[1]], done.stderr
    done = bound(built, "RANK", "other=0", "true", RANK="0")
    assert done.returncode != 0
    assert f"no lists of CPUs for this host, {name}, in 'other=0'" in done.stderr


def test_the_programs_words_and_its_exit_code_are_its_own(built: Path) -> None:
    done = bound(built, "RANK", str(CPUS[0]), "sh", "-c", 'echo "$0|$1"; exit 7', "a b", "$(c)", RANK="0")
    assert (done.stdout, done.returncode) == ("a b|$(c)\n", 7)


@pytest.mark.parametrize(
    ("words", "rank", "said"),
    [
        (["RANK", "0"], "0", "a variable, lists of CPUs and a program are needed"),
        (["RANK", "0", "true"], "", "RANK holds no number"),
        (["RANK", "0", "true"], "-1", "RANK holds no number"),
        (["RANK", "0", "true"], "1x", "RANK holds no number"),
        (["RANK", "0", "true"], "1", "no list for rank 1 in '0'"),
        (["RANK", "a", "true"], "0", "'a' is no list of CPUs"),
        (["RANK", "", "true"], "0", "'' is no list of CPUs"),
        (["RANK", "8000", "true"], "0", "cannot be bound to CPUs 8000: "),
        (["RANK", str(CPUS[0]), "/nonexistent"], "0", "/nonexistent cannot be started: No such file"),
    ],
)
def test_what_cannot_be_is_one_line(built: Path, words: list[str], rank: str, said: str) -> None:
    done = bound(built, *words, RANK=rank)
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("bind_rank: ")
    assert said in line


@pytest.mark.parametrize("toolchain", ["openmpi@5.0.11", "openmpi@4.1.8", "mpich@5.0.2", "intel@2021.18.1"])
def test_every_library_has_its_ranks_where_it_was_told(built: Path, tmp_path: Path, toolchain: str) -> None:
    """The program is no MPI program, so that one build of it does for all: a launcher starts what it is given."""
    program = tmp_path / "mask"
    program.write_text(f"#!{sys.executable}\n{MASK}\n")
    program.chmod(0o755)
    (tmp_path / "bind_rank").symlink_to(built / "bind_rank")
    done = launch(program, toolchain=toolchain, configuration="apphelper", ranks=2)
    assert done.returncode == 0, done.stderr
    assert sorted(map(json.loads, done.stdout.splitlines())) == [[cpu] for cpu in CPUS[:2]]
