"""`nbc_overlap` by hand: its help, what it refuses, the data it checks, and its numbers against postprocess."""

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest

from mpi_campaign import suites
from postprocess.load import load_record, validate_record
from postprocess.points import points_table
from tests.support import launch

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

ONE_POINT = ("--comm-times", "2ms", "--comp-times", "2ms", "--budget-seconds", "3", "--threads", "1")


def test_help_is_printed_once_and_names_every_collective(built: Path) -> None:
    done = launch(built / "nbc_overlap", "--help")
    assert done.returncode == 0
    assert done.stdout.count("--budget-seconds") >= 1
    assert len(re.findall(r"^usage", done.stdout, re.IGNORECASE | re.MULTILINE)) == 1
    assert launch(built / "nbc_overlap", "--list").stdout.split() == list(suites.COLLECTIVES)


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
def test_wrong_use_is_one_line_from_rank_0_and_exit_code_2(built: Path, words: list[str], says: str) -> None:
    done = launch(built / "nbc_overlap", *words)
    assert done.returncode == 2, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("nbc_overlap:")]
    assert len(lines) == 1
    assert says in lines[0]


def test_what_cannot_be_measured_is_one_line_and_a_record_that_says_so(built: Path, tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    refusals: list[tuple[int, tuple[str, ...], str]] = [
        (1, ONE_POINT, "at least 2"),
        (2, ("--comm-times", "64ms", "--comp-times", "64ms", "--budget-seconds", "0.05", "--threads", "1"), "budget"),
        (2, ("--comm-times", "64ms", "--comp-times", "1ms", "--max-message-bytes", "64", "--threads", "1"), "no size"),
    ]
    if cores <= 2:
        refusals.append((16 * cores + 1, ONE_POINT, "ranks per core"))
    for number, (ranks, words, says) in enumerate(refusals):
        record = tmp_path / f"{number}.jsonl"
        done = launch(built / "nbc_overlap", *words, "--quiet", "--record", str(record), ranks=ranks)
        assert done.returncode == 2, done.stderr
        assert [line for line in done.stderr.splitlines() if line.startswith("nbc_overlap:") and says in line]
        validate_record(record)
        assert says in load_record(record).incomplete


def test_the_start_and_the_cache_are_a_choice_that_the_record_tells(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    words = ("--collective", "ibcast", "--start", "barrier", "--cache", "cold", "--record", str(record))
    done = launch(built / "nbc_overlap", *ONE_POINT, *words)
    assert done.returncode == 0, done.stderr
    validate_record(record)
    loaded = load_record(record)
    assert loaded.header.cache == "cold"
    assert [(point.start_method, point.buffer_sets > 1) for point in loaded.points] == [("barrier", True)]


def test_sizes_that_nobody_looked_for_are_not_used(built: Path, tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.json"
    words = ("--comm-times", "64ms", "--comp-times", "64ms", "--threads", "1", "--collective", "ibcast", "--quiet")
    assert launch(built / "nbc_overlap", *words, "--budget-seconds", "0.05", "--save-sizes", str(sizes)).returncode == 2
    done = launch(built / "nbc_overlap", *words, "--sizes", str(sizes))
    if "not_searched" in sizes.read_text():
        assert done.returncode == 2
        assert "nothing was measured" in done.stderr
    else:
        assert done.returncode == 0


def test_given_sizes_are_used_and_nothing_is_calibrated(built: Path, tmp_path: Path) -> None:
    first, second, sizes = tmp_path / "first.jsonl", tmp_path / "second.jsonl", tmp_path / "sizes.json"
    words = (*ONE_POINT, "--collective", "ibcast", "--quiet")
    launch(built / "nbc_overlap", *words, "--record", str(first), "--save-sizes", str(sizes))
    # A time that the reference has not: it is reported as moved, and still nothing is calibrated.
    file = json.loads(sizes.read_text())
    file["computation"][0]["time_ns"] *= 3
    file["points"] = [
        {"collective": "ibcast", "comm_target_ns": 2000000, "comp_target_ns": 2000000, "message_bytes": 4096,
         "work_size": 77}
    ]  # fmt: skip
    sizes.write_text(json.dumps(file))
    done = launch(built / "nbc_overlap", *words, "--record", str(second), "--sizes", str(sizes))
    assert done.returncode == 0, done.stderr
    (point,) = load_record(second).points
    assert (point.message_bytes, point.work_size) == (4096, 77)
    assert (point.comp_calibration.status, point.recalibrations) == ("given", 0)
    assert point.comp_reference.moved_relative is not None
    assert point.comp_reference.moved_relative < -0.1


def test_a_record_is_never_written_over(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text("precious")
    assert launch(built / "nbc_overlap", *ONE_POINT, "--collective", "ibcast", "--record", str(record)).returncode != 0
    assert record.read_text() == "precious"


@pytest.mark.parametrize("collective", suites.COLLECTIVES)
def test_one_flipped_byte_on_one_rank_fails_the_run(built: Path, tmp_path: Path, collective: str) -> None:
    record = tmp_path / "record.jsonl"
    receiver = "0" if collective == "ireduce" else "1"  # a reduction's result is at its root
    corrupt = {"LD_PRELOAD": str(built / "corrupt_preload.so"), "CORRUPT_RANK": receiver, "CORRUPT_WAIT": "5"}
    done = launch(built / "nbc_overlap", *ONE_POINT, "--collective", collective, "--record", str(record), env=corrupt)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(rf"nbc_overlap: rank {receiver}\b.*{collective}", done.stderr, re.IGNORECASE), done.stderr
    assert not load_record(record).complete


def test_its_table_and_postprocess_agree(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    grid = ("--comm-times", "1ms,2ms", "--comp-times", "1ms,2ms", "--budget-seconds", "10", "--threads", "1")
    done = launch(
        built / "nbc_overlap", *grid, "--collective", "ibcast", "--collective", "iallreduce", "--record", str(record)
    )
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
