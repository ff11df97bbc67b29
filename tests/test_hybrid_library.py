"""The library hybrid_collectives over real MPI libraries: results under delay, wrong calls, violations of its contract,
and an application that uses the installed library."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds, resolving
from mpi_campaign.toolchains.spack import environment
from tests.support import build_benchmarks, launch

# Not beside others: a rank that spins while another waits for a CPU makes a test of a second last a minute.
pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS
Build = Callable[[str], Path]
RARE = pytest.mark.rare
BLOCKS, IN_TURN = ({"MPIR_CVAR_NUM_CLIQUES": "2", "MPIR_CVAR_CLIQUES_BY_BLOCK": by} for by in ("1", "0"))


def truth(
    build: Path,
    toolchain: str,
    ranks: int,
    *words: str,
    program: str = "hybrid_truth",
    env: dict[str, str] | None = None,
) -> dict[str, Any]:
    """What the ranks found."""
    done = launch(build / program, *words, ranks=ranks, env=env, toolchain=toolchain)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return found


@pytest.mark.parametrize(
    ("toolchain", "ranks", "words", "nodes", "blocks"),
    [
        (MPICH, 2, ("late=any", "all-types", "rounds=2"), 1, True),
        (MPICH, 3, ("per-node=2", "late=reader"), 2, True),
        (MPICH, 2, ("buffers=1", "late=reader", "rounds=2"), 1, True),
        (MPICH, 2, ("tune", "rounds=1"), 1, True),
        pytest.param(OPENMPI, 2, ("tune", "rounds=1", "late=any"), 1, True, marks=RARE),
        pytest.param(OPENMPI, 2, ("tune", "rounds=1", "per-node=1", "barrier"), 2, True, marks=RARE),
        pytest.param(MPICH, 4, ("tune", "rounds=1", "per-node=2", "round-robin", "buffers=1"), 2, False, marks=RARE),
        pytest.param(MPICH, 2, ("buffers=8", "late=reader", "rounds=10"), 1, True, marks=RARE),
        pytest.param(OPENMPI, 3, ("buffers=8", "late=any", "rounds=10"), 1, True, marks=RARE),
        pytest.param(MPICH, 3, ("buffers=1", "per-node=2", "late=any"), 2, True, marks=RARE),
        pytest.param(MPICH, 4, ("buffers=1", "barrier", "per-node=2", "round-robin"), 2, False, marks=RARE),
        pytest.param(OPENMPI, 3, ("buffers=1", "per-node=2", "late=any", "all-types"), 2, True, marks=RARE),
        pytest.param(MPICH, 4, ("per-node=2", "round-robin", "late=any"), 2, False, marks=RARE),
        (OPENMPI, 2, ("per-node=1", "late=any", "rounds=2"), 2, True),
        pytest.param(OPENMPI, 3, ("per-node=2", "late=leader", "numa"), 2, True, marks=RARE),
        pytest.param(OPENMPI, 2, ("all-types", "rounds=1"), 1, True, marks=RARE),
        pytest.param(OPENMPI, 4, ("per-node=2", "round-robin", "late=writer", "table"), 2, False, marks=RARE),
        pytest.param(OPENMPI, 3, ("barrier", "per-node=2", "late=any"), 2, True, marks=RARE),
        pytest.param(MPICH, 1, (), 1, True, marks=RARE),
        pytest.param(MPICH, 4, ("barrier", "per-node=3", "late=any", "all-types", "rounds=2"), 2, True, marks=RARE),
        pytest.param(MPICH, 5, ("per-node=2", "late=reader", "table"), 3, True, marks=RARE),
        pytest.param(MPICH, 8, ("per-node=3", "late=any", "rounds=2"), 3, True, marks=RARE),
        pytest.param(MPICH, 8, ("per-node=3", "round-robin", "late=leader", "rounds=2"), 3, False, marks=RARE),
    ],
    ids=str,
)  # fmt: skip
def test_results_are_right_whoever_is_late(
    build_for: Build, toolchain: str, ranks: int, words: tuple[str, ...], nodes: int, blocks: bool
) -> None:
    found = truth(build_for(toolchain), toolchain, ranks, *words)
    assert found["faults"] == 0
    assert found["checked"] > 50_000
    assert (found["nodes"], found["blocks"]) == (nodes, blocks)


@pytest.mark.parametrize(
    ("env", "blocks"), [(IN_TURN, False), pytest.param(BLOCKS, True, marks=RARE)], ids=["in-turn", "blocks"]
)
def test_nodes_that_the_library_sees(built: Path, env: dict[str, str], blocks: bool) -> None:
    found = truth(built, MPICH, 4, "late=any", "rounds=2", env=env)
    assert (found["nodes"], found["node_ranks"], found["blocks"], found["faults"]) == (2, 2, blocks, 0)


@RARE
def test_ranks_in_blocks_are_translated_without_a_table(built: Path) -> None:
    searched = truth(built, MPICH, 3, "per-node=2", "rounds=1")
    table = truth(built, MPICH, 3, "per-node=2", "rounds=1", "table")
    assert searched["layout_bytes"] == 3 * 4  # where each of the two nodes begins, and the end
    assert table["layout_bytes"] == searched["layout_bytes"] + 3 * 3 * 4


WRONG = {
    "parent null": "MPI_ERR_COMM: the parent is MPI_COMM_NULL", "settings out of range": "MPI_ERR_ARG: settings: ",
    "settings differ": "MPI_ERR_ARG: settings: they differ between ranks",
    "nodes given twice": "MPI_ERR_ARG: settings: with nodes_of the nodes are given",
    "nodes of a comm that was freed": "MPI_ERR_COMM: the hybrid_comm does not exist, or was freed",
    "comm freed twice": "MPI_ERR_COMM: the hybrid_comm does not exist, or was freed",
    "comm freed twice by a copy": "MPI_ERR_COMM: the hybrid_comm does not exist, or was freed",
    "rank out of range": "MPI_ERR_RANK: rank 2: the parent has ranks 0 to 1",
    "cut-off of a method that has none": "MPI_ERR_ARG: hybrid_comm_find_cutoff: the methods with a cut-off are ",
    "cut-off without a place": "MPI_ERR_ARG: hybrid_comm_find_cutoff: the methods with a cut-off are ",
    "size overflows": "MPI_ERR_COUNT: 9223372036854775807 elements of 8 bytes: ",
    "buffers out of range": "MPI_ERR_ARG: 9 buffers: a memory has 1 to 8",
    "window too large": "MPI_ERR_NO_MEM: the window of node 0 has 2814749767",
    "comm with memories": "MPI_ERR_COMM: the hybrid_comm still has memories (1)",
    "collective before write": "MPI_ERR_RMA_SYNC: hybrid_broadcast: ",
    "read before collective": "MPI_ERR_RMA_SYNC: hybrid_read: ", "wait before start": "MPI_ERR_RMA_SYNC: hybrid_wait: ",
    "write too much": "MPI_ERR_BUFFER: 1048576 bytes are needed, and the memory has buffers of 512",
    "write for a root out of range": "MPI_ERR_ROOT: root 2: the parent has ranks 0 to 1",
    "write twice": "MPI_ERR_RMA_SYNC: hybrid_write_input: ",
    "root out of range": "MPI_ERR_ROOT: root 2: the parent has ranks 0 to 1",
    "root below 0": "MPI_ERR_ROOT: root -1: the parent has ranks 0 to 1",
    "too many elements": "MPI_ERR_BUFFER: 8388608 bytes are needed", "count overflows": "MPI_ERR_COUNT: ",
    "type null": "MPI_ERR_TYPE: ", "operation null": "MPI_ERR_OP: ",
    "operation does not fit": "MPI_ERR_OP: the operation does not fit the type: ",
    "method out of range": "MPI_ERR_ARG: method 99: ",
    "free between start and wait": "MPI_ERR_RMA_SYNC: a collective was started on this memory",
    "write before the read phase has ended": "MPI_ERR_RMA_SYNC: hybrid_write_input: ",
    "read after its end": "MPI_ERR_RMA_SYNC: hybrid_read: ",
    "tune without a round": "MPI_ERR_ARG: hybrid_memory_tune: a round, at most 6 methods and a place",
    "tune with a method out of range": "MPI_ERR_ARG: method 99: ",
    "tune with no round": "MPI_ERR_RMA_SYNC: hybrid_memory_tune: the function that was given makes no whole round",
    "tune with a round that fails": "MPI_ERR_BUFFER: 1048576 bytes are needed",
    "tune with half a round": "MPI_ERR_RMA_SYNC: hybrid_memory_tune: the function that was given makes no whole round",
    "tune in a phase": "MPI_ERR_RMA_SYNC: hybrid_memory_tune: the memory is in another phase: ",
    "memory freed twice": "MPI_ERR_ARG: the hybrid_memory does not exist, or was freed",
    "tune a memory that was freed": "MPI_ERR_ARG: hybrid_memory_tune: the hybrid_memory does not exist, or was freed",
    "memory freed twice by a copy": "MPI_ERR_ARG: the hybrid_memory does not exist, or was freed",
    "blocks overlap": "MPI_ERR_ARG: the blocks of two ranks overlap at element 1",
}  # fmt: skip


def _agree(stdout: str) -> None:
    said = dict(line.split(": ", 1) for line in stdout.splitlines() if ": " in line)
    assert list(said) == list(WRONG)
    assert {name: said[name] for name in WRONG if not said[name].startswith(WRONG[name])} == {}


@pytest.mark.parametrize("program", ["hybrid_truth", pytest.param("hybrid_truth_checked", marks=RARE)])
@pytest.mark.parametrize("toolchain", [MPICH, OPENMPI])
def test_a_wrong_call_is_an_mpi_error_and_one_line(build_for: Build, toolchain: str, program: str) -> None:
    done = launch(build_for(toolchain) / program, "wrong", toolchain=toolchain)
    assert done.returncode == 0, done.stdout + done.stderr
    _agree(done.stdout)


@pytest.mark.parametrize("buffers", [pytest.param(1, marks=RARE), 2])
@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("write-in-read", "rank 1 touched the node's memory against the contract: it is in its read phase"),
        ("read-after-end", "rank 1 touched the node's memory against the contract: it is in no phase"),
        ("write-unnamed", "rank 1 touched the node's memory against the contract: it is in its write phase"),
    ],
)
def test_the_checked_library_ends_a_process_that_breaks_the_contract(
    built: Path, how: str, says: str, buffers: int
) -> None:
    words = (f"violate={how}", f"buffers={buffers}")
    done = launch(built / "hybrid_truth_checked", *words, toolchain=MPICH)
    assert done.returncode != 0
    assert says in done.stdout + done.stderr
    unchecked = launch(built / "hybrid_truth", *words, toolchain=MPICH)
    assert unchecked.returncode == 0, unchecked.stderr


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("overlap", "MPI_ERR_RMA_CONFLICT: two ranks of node 0 may write the same bytes"),
        ("mismatch", "MPI_ERR_ARG: ranks of node 0 call different things: hybrid_allgather"),
    ],
)
def test_the_checked_library_compares_what_ranks_call(built: Path, how: str, says: str) -> None:
    done = launch(built / "hybrid_truth_checked", f"violate={how}", toolchain=MPICH)
    assert f"{how}: {says}" in done.stdout


@pytest.mark.rare
def test_results_are_right_with_every_access_checked(built: Path) -> None:
    for words in (("per-node=2", "late=any"), ("late=reader",), ("buffers=1", "late=any")):
        assert truth(built, MPICH, 3, *words, "rounds=2", program="hybrid_truth_checked")["faults"] == 0


@pytest.mark.rare
@pytest.mark.timeout(600)
def test_the_library_passes_under_the_sanitizers(tmp_path: Path) -> None:
    """MPI libraries leak, and their leaks are not looked for."""
    options = ("-DCAMPAIGN_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug")
    build = build_benchmarks(tmp_path, MPICH, *options, target="hybrid_truth")
    env = {"ASAN_OPTIONS": "detect_leaks=0"}
    for ranks, words in (
        (2, ("all-types", "rounds=1")),
        (3, ("per-node=2", "late=any")),
        (4, ("per-node=2", "round-robin")),
        (3, ("buffers=1", "per-node=2", "late=any", "rounds=2")),
        (2, ("tune", "rounds=1")),
    ):
        assert truth(build, MPICH, ranks, *words, env=env)["faults"] == 0
    done = launch(build / "hybrid_truth", "wrong", toolchain=MPICH, env=env)
    assert done.returncode == 0, done.stderr
    _agree(done.stdout)


APPLICATION = r"""
#include <hybrid_collectives.h>
#include <stdio.h>
int main(int argc, char **argv) {
    hybrid_comm *comm = NULL;
    hybrid_memory *memory = NULL;
    void *own = NULL;
    const void *all = NULL;
    int rank = 0, code = MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    code |= hybrid_comm_create(MPI_COMM_WORLD, NULL, &comm);
    code |= hybrid_memory_create(comm, 1, sizeof(int), HYBRID_PER_RANK, &memory);
    code |= hybrid_write_block(memory, sizeof(int), &own);
    *(int *)own = 40 + rank;
    code |= hybrid_allgather(memory, 1, MPI_INT);
    code |= hybrid_read(memory, &all);
    if (rank == 0) {
        printf("gathered %d %d, code %d\n", ((const int *)all)[0], ((const int *)all)[1], code);
    }
    hybrid_read_end(memory);
    hybrid_memory_free(&memory);
    hybrid_comm_free(&comm);
    return MPI_Finalize();
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(application C)
find_package(hybrid_collectives REQUIRED)
add_executable(application application.c)
target_link_libraries(application PRIVATE hybrid_collectives::hybrid_collectives)
"""


def _run(*words: str, env: dict[str, str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def recipes_files() -> tuple[str, ...]:
    """The files of the library that Spack's recipe looks for after it has installed."""
    tree = ast.parse(environment.RECIPE.read_text())
    (found,) = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["library"]
    ]
    names: tuple[str, ...] = ast.literal_eval(found)
    return names


@pytest.mark.parametrize("alone", [False, True], ids=["with the benchmarks", "alone"])
def test_an_application_uses_the_installed_library(built: Path, tmp_path: Path, alone: bool) -> None:
    """By CMake's package, and by the options that pkg-config prints; the library was built with the benchmarks or
    alone."""
    mpi = resolving.resolve(resolving.parse(MPICH), print)
    env = {**os.environ, **builds.environment(mpi.family, mpi.version, mpi.prefix)}
    prefix, source, cmake = tmp_path / "installed here", tmp_path / "source", str(ROOT / ".venv" / "bin" / "cmake")
    options = [
        "-GNinja", f"-DCMAKE_MAKE_PROGRAM={Path(cmake).with_name('ninja')}", f"-DCMAKE_C_COMPILER={machine.compiler()}",
        f"-DMPI_C_COMPILER={mpi.mpicc}",
    ]  # fmt: skip
    library = tmp_path / "library" if alone else built
    if alone:
        _run(cmake, "-S", str(ROOT / "benchmarks" / "hybrid" / "lib"), "-B", str(library), *options, env=env)
        _run(cmake, "--build", str(library), env=env)
    _run(cmake, "--install", str(library), "--prefix", str(prefix), env=env)
    installed = {path.name for path in prefix.rglob("*hybrid_collectives*") if path.is_file()}
    assert set(recipes_files()) == {name for name in installed if not re.search(r"-targets-\w+\.cmake$", name)}
    source.mkdir()
    (source / "application.c").write_text(APPLICATION)
    (source / "CMakeLists.txt").write_text(PROJECT)
    made = tmp_path / "made"
    _run(cmake, "-S", str(source), "-B", str(made), *options, f"-DCMAKE_PREFIX_PATH={prefix}", env=env)
    _run(cmake, "--build", str(made), env=env)
    assert "gathered 40 41, code 0" in launch(made / "application", toolchain=MPICH).stdout
    finder = shutil.which("pkg-config")
    if finder is not None:
        (folder,) = prefix.glob("lib*/pkgconfig")
        words = (finder, "--cflags", "--libs", "hybrid_collectives_checked")
        flags = shlex.split(_run(*words, env={**env, "PKG_CONFIG_PATH": str(folder)}))
        _run(mpi.mpicc, str(source / "application.c"), *flags, "-o", str(made / "by_pkg_config"), env=env)
        assert "gathered 40 41, code 0" in launch(made / "by_pkg_config", toolchain=MPICH).stdout
