"""`nbc_overlap` by hand: its help, what it refuses, the data it checks, and its numbers against postprocess."""

import os
import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from mpi_campaign import libraries, suites, toolchains
from postprocess.load import load_record, validate_record
from postprocess.points import points_table
from tests.support import build_benchmarks

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

MPI = toolchains.DEFAULT_TOOLCHAINS[1]
ONE_POINT = ("--comm-times", "2ms", "--comp-times", "2ms", "--budget-seconds", "3", "--threads", "1")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_benchmarks(tmp_path_factory.mktemp("build"), MPI)


def launch(
    build: Path, *words: str, ranks: int = 2, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The program under MPICH's launcher, over shared memory."""
    mpi = toolchains.resolve(toolchains.parse(MPI), print)
    placement = libraries.Placement(ranks, 1, oversubscribed=True)
    request = libraries.Request(Path(mpi.prefix), mpi.version, "basic", "shm", placement)
    settings = libraries.launch(mpi.family, request)
    assert isinstance(settings, libraries.Settings)
    options = [word for name, value in (env or {}).items() for word in ("-genv", name, value)]
    return subprocess.run(
        [mpi.mpiexec, "-n", str(ranks), *settings.options, *options, str(build / "nbc_overlap"), *words],
        capture_output=True, text=True, check=False, timeout=240, env={**os.environ, **settings.env},
    )  # fmt: skip


def test_help_is_printed_once_and_names_every_collective(build: Path) -> None:
    done = launch(build, "--help")
    assert done.returncode == 0
    assert done.stdout.count("--budget-seconds") >= 1
    assert len(re.findall(r"^usage", done.stdout, re.IGNORECASE | re.MULTILINE)) == 1
    assert launch(build, "--list").stdout.split() == list(suites.COLLECTIVES)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--bogus"], "--bogus"),
        (["--collective", "bcast"], "ibcast"),
        (["--grid", "huge"], "smoke"),
        (["--comm-times", "fast"], "--comm-times"),
        (["--threads", "0"], "--threads"),
        (["--sizes", "/nonexistent"], "/nonexistent"),
        (["--metadata", "/dev/null"], "/dev/null"),
        (["--record", "/nonexistent/record.jsonl"], "/nonexistent"),
    ],
)
def test_wrong_use_is_one_line_from_rank_0_and_exit_code_2(build: Path, words: list[str], says: str) -> None:
    done = launch(build, *words)
    assert done.returncode == 2, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("nbc_overlap:")]
    assert len(lines) == 1
    assert says in lines[0]


def test_one_rank_is_refused(build: Path) -> None:
    done = launch(build, ranks=1)
    assert done.returncode == 2
    assert "at least 2" in done.stderr


def test_a_record_is_never_written_over(build: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text("precious")
    assert launch(build, *ONE_POINT, "--collective", "ibcast", "--record", str(record)).returncode != 0
    assert record.read_text() == "precious"


@pytest.mark.parametrize("collective", suites.COLLECTIVES)
def test_one_flipped_byte_on_one_rank_fails_the_run(build: Path, tmp_path: Path, collective: str) -> None:
    record = tmp_path / "record.jsonl"
    receiver = "0" if collective == "ireduce" else "1"  # a reduction's result is at its root
    corrupt = {"LD_PRELOAD": str(build / "corrupt_preload.so"), "CORRUPT_RANK": receiver, "CORRUPT_WAIT": "5"}
    done = launch(build, *ONE_POINT, "--collective", collective, "--record", str(record), env=corrupt)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(rf"nbc_overlap: rank {receiver}\b.*{collective}", done.stderr, re.IGNORECASE), done.stderr
    assert not load_record(record).complete


def test_its_table_and_postprocess_agree(build: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    grid = ("--comm-times", "1ms,2ms", "--comp-times", "1ms,2ms", "--budget-seconds", "10", "--threads", "1")
    done = launch(build, *grid, "--collective", "ibcast", "--collective", "iallreduce", "--record", str(record))
    assert done.returncode == 0, done.stderr
    validate_record(record)
    points = points_table([load_record(record)])
    heads, *rows = [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("#")]
    columns = heads.split()
    table = pd.DataFrame([row.split()[: len(columns)] for row in rows if row.split()[0] in suites.COLLECTIVES])
    assert len(table) == len(points) == 8
    for name in ("r_overhead", "r_comm", "r_comp"):
        printed = table[columns.index(name)].astype(float).to_numpy()
        ours = points["r_comp_slowdown" if name == "r_comp" else name].to_numpy()
        assert abs(printed - ours).max() <= 0.001, name  # it prints three decimals
