"""A case as a C program in one file: it builds with the compiler's warnings, and shows what the run showed."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mpi_campaign.standalone.programs import PROGRAMS, CannotShowError, call_of
from mpi_campaign.toolchains import resolving
from postprocess.families import registry
from postprocess.records.run import load_run
from tests.support import MPI, Command, example, refused, succeed

NIGHTLY, RECEIVED, PARTS, WAITED, IDLE, RELEASES = (
    "20261121T232206Z-d886ac", "20261126T104932Z-d8d782", "20261126T134811Z-27f947", "20261126T103625Z-2106dd",
    "20261124T180346Z-8d4bb0", "20261130T204539Z-aa5269",
)  # fmt: skip
CASES = {
    "nbc_overlap": (NIGHTLY, "mpich basic ibcast"),
    "sync_overlap": (RECEIVED, "mpich sync_overlap"),
    "partitioned": (PARTS, "mpich partitioned many"),
    "cpu_overhead": (WAITED, "mpich cpu_overhead allreduce"),
    "mpi_impact": (IDLE, "mpich async mpi_impact"),
}
QUICK = ("nbc_overlap", "sync_overlap")
MOST_LINES = 150


def written(inside: Command, folder: Path, family: str, *options: str) -> str:
    """Writes the program of a case, and returns what the run says of it."""
    run, words = CASES[family]
    done = inside("reproduce", str(example(run)), "--case", words, "--standalone", str(folder), *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def mpiexec_of(mpi: resolving.Toolchain) -> str:
    return str(Path(mpi.mpicc).with_name("mpiexec"))


def carried_out(folder: Path, **variables: str) -> tuple[str, str]:
    """Builds a program with the compiler's warnings, and its verdict, and what it printed."""
    source = folder / "reproducer.c"
    assert len(source.read_text().splitlines()) <= MOST_LINES
    mpi = resolving.resolve(resolving.parse(MPI), print)
    strict = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-fsyntax-only")
    succeed(mpi.mpicc, *strict, str(source))
    environment = {**os.environ, "MPICC": mpi.mpicc, "MPIEXEC": mpiexec_of(mpi), **variables}
    done = subprocess.run(
        [folder / "run.sh"], capture_output=True, text=True, check=False, env=environment, timeout=150
    )
    (verdict,) = re.findall(r"^(PASS|FAIL): ", done.stdout, re.MULTILINE)
    assert done.returncode == ("PASS", "FAIL").index(verdict), done.stdout + done.stderr
    return verdict, done.stdout


def test_every_family_with_a_program_has_a_case_here() -> None:
    assert CASES.keys() == PROGRAMS.keys()
    for name, program in PROGRAMS.items():
        assert {program.metric, program.time} <= {*registry.BY_NAME[name].columns, ""}


@pytest.mark.slow
@pytest.mark.needs("mpi")
@pytest.mark.needs("wire")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "family", [name if name in QUICK else pytest.param(name, marks=pytest.mark.rare) for name in CASES]
)
def test_the_program_needs_mpi_alone_and_shows_what_the_run_did(tmp_path: Path, inside: Command, family: str) -> None:
    folder = tmp_path / "reproducer"
    said = written(inside, folder, family)
    verdict, printed = carried_out(folder)
    if "cannot tell" not in said:
        assert f": {verdict} in this run" in said, printed


@pytest.mark.slow
@pytest.mark.needs("mpi")
@pytest.mark.needs("wire")
@pytest.mark.timeout(300)
def test_a_case_that_takes_longer_is_held_against_the_other_librarys_time(tmp_path: Path, inside: Command) -> None:
    folder = tmp_path / "reproducer"
    words = ("--case", "mpich@4.0.3 async cpu_overhead allreduce", "--against", "mpich@3.4.3.post1")
    assert inside("reproduce", str(example(RELEASES)), *words, "--standalone", str(folder)).returncode == 0
    assert subprocess.run([folder / "run.sh"], capture_output=True, check=False).returncode == 2, "no other library"
    mpi = resolving.resolve(resolving.parse(MPI), print)
    printed = carried_out(folder, BETTER_MPICC=mpi.mpicc, BETTER_MPIEXEC=mpiexec_of(mpi))[1]
    other, own = map(float, re.findall(r"^t_wall, all ranks (\S+) ms$", printed, re.MULTILINE))
    (slowdown,) = re.findall(r"slowdown (\S+),", printed)
    assert float(slowdown) == pytest.approx(own / other, abs=0.006)


def test_the_bound_against_a_better_library_is_in_the_middle_between_both(tmp_path: Path, inside: Command) -> None:
    said = written(inside, tmp_path / "one", "mpi_impact", "--against", "openmpi@5.0.11")
    assert said.endswith("FAIL in this run")
    readme = (tmp_path / "one" / "README.md").read_text()
    assert "r_mpi_impact of openmpi@5.0.11" in readme


def test_a_case_that_hung_is_shown_with_the_sizes_of_the_point_where_it_did(tmp_path: Path, inside: Command) -> None:
    place, collective = 5, "ibcast"
    run = shutil.copytree(example(NIGHTLY), tmp_path / NIGHTLY)
    manifest = json.loads((run / "manifest.json").read_text())
    for case in manifest["cases"]:
        if case["toolchain"] == MPI and (case["configuration"], case.get("collective")) == ("basic", collective):
            case |= {"result": "fail", "fail_phase": "sanity"}
            case["reason"] = (
                f"it hung: rank 0 hangs in the overlapped part of {collective}: point {place}, repetition 2"
            )
    (run / "manifest.json").write_text(json.dumps(manifest))
    words = ("reproduce", str(run), "--case", f"{MPI} basic {collective}", "--standalone", str(tmp_path / "one"))
    refused(inside(*words, "--against", "openmpi@5.0.11"), "it hung")
    assert inside(*words).stdout.splitlines()[-1].endswith("FAIL in this run")
    assert "it hung in the overlapped part" in (tmp_path / "one" / "README.md").read_text()
    source = (tmp_path / "one" / "reproducer.c").read_text()
    assert re.search('printf[(]"PASS: it ended', source) and "FAIL" not in source.partition("#define")[2]
    table = registry.found(load_run(run), registry.MAIN).table
    there = table[(table["index"] == place) & (table["collective"] == collective) & (table["configuration"] == "basic")]
    assert int(re.findall(r"WORDS = (\d+)", source)[0]) in set(there["message_bytes"] // 8)


@pytest.mark.parametrize(
    ("run", "options", "fragments"),
    [
        (NIGHTLY, ("--case", "mpich ibcast nonsense"), ["none has all of these words", "names 0 cases"]),
        (NIGHTLY, ("--case", "mpich ibcast"), ["not one", "mpich@5.0.2 wire:2gbit"]),
        (NIGHTLY, ("--case", ""), ["give words of its name"]),
        (NIGHTLY, ("--case", "mpich basic ibcast", "--against", "mvapich"), ["libraries are", "openmpi@5.0.11"]),
        (WAITED, ("--case", "mpich loggp"), ["cannot be shown in one file", "what can"]),
    ],
)
def test_what_cannot_be_shown_is_refused(
    tmp_path: Path, inside: Command, run: str, options: tuple[str, ...], fragments: list[str]
) -> None:
    refused(inside("reproduce", str(example(run)), *options, "--standalone", str(tmp_path / "new")), *fragments)
    assert not (tmp_path / "new").exists()


def test_a_folder_with_files_is_left_as_it_is(tmp_path: Path, inside: Command) -> None:
    (tmp_path / "kept").write_text("mine")
    words = ("--case", "mpich basic ibcast", "--standalone", str(tmp_path))
    refused(inside("reproduce", str(example(NIGHTLY)), *words), "is not empty")
    refused(inside("reproduce", str(example(NIGHTLY)), "--case", "mpich"), "--standalone")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_each_collective_has_the_call_of_the_standard_or_says_why_not() -> None:
    assert call_of("ibcast")[0] == "MPI_Ibcast"
    assert call_of("reduce_scatter_block_init")[::2] == ("MPI_Reduce_scatter_block_init", True)
    assert call_of("ibarrier")[1] == ""
    with pytest.raises(CannotShowError):
        call_of("ialltoallw")
