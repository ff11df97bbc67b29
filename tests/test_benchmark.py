"""`nbc_overlap` by hand: its help, what it refuses, the data it checks, and its numbers against postprocess."""

import json
import os
import re
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mpi_campaign.planning import suites
from mpi_campaign.toolchains import resolving
from postprocess.families.nbc_overlap.points import points_table
from postprocess.families.nbc_overlap.record import OverlapPoint, load_overlap
from tests.support import cannot_measure, check_record, launch

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

ONE_POINT = ("--comm-times", "2ms", "--comp-times", "2ms", "--max-repetitions", "9", "--threads", "1")


def test_help_is_printed_once_and_names_every_collective(built: Path) -> None:
    done = launch(built / "nbc_overlap", "--help")
    assert done.returncode == 0
    assert done.stdout.count("--budget-seconds") >= 1
    assert len(re.findall(r"^usage", done.stdout, re.IGNORECASE | re.MULTILINE)) == 1
    assert launch(built / "nbc_overlap", "--list").stdout.split() == list(suites.COLLECTIVES)
    assert len(launch(built / "nbc_overlap", "--version").stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--bogus"], "--bogus"),
        (["--collective", "bcast"], "ibcast"),
        (["--collective", "bcast"], suites.COLLECTIVES[-1]),  # the list is not cut off
        (["--sizes", "/nonexistent"], "/nonexistent"),
        (["--computation", "triad", "--threads", "4096"], "threads are the most"),
        (["--metadata", "/dev/null"], "/dev/null"),
        (["--record", "/nonexistent/record.jsonl"], "/nonexistent"),
    ],
)
def test_wrong_use_is_one_line_from_rank_0_and_exit_code_2(built: Path, words: list[str], says: str) -> None:
    cannot_measure(built / "nbc_overlap", says, *words)


def test_what_cannot_be_measured_is_one_line_and_a_record_that_says_so(built: Path, tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    refusals: list[tuple[int, tuple[str, ...], str]] = [
        (1, ONE_POINT, "at least 2"),
        (2, ("--comm-times", "64ms", "--comp-times", "64ms", "--budget-seconds", "0.05", "--threads", "1"), "budget"),
        (2, ("--comm-times", "64ms", "--comp-times", "1ms", "--max-message-bytes", "64", "--threads", "1"), "no size"),
    ]
    if cores <= 2:
        refusals.append((16 * cores + 1, ONE_POINT, "ranks per core"))
    metadata = tmp_path / "metadata.json"
    metadata.write_text('{"case": "refused"}')
    for number, (ranks, words, says) in enumerate(refusals):
        record = tmp_path / f"{number}.jsonl"
        files = ("--record", str(record), "--metadata", str(metadata))
        done = launch(built / "nbc_overlap", *words, "--quiet", *files, ranks=ranks)
        assert done.returncode == 2, done.stderr
        assert [line for line in done.stderr.splitlines() if line.startswith("nbc_overlap:") and says in line]
        check_record(record)
        assert says in load_overlap(record).incomplete
        assert json.loads(record.read_text().splitlines()[0])["metadata"] == {"case": "refused"}


def test_the_start_and_the_cache_are_a_choice_that_the_record_tells(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    words = ("--collective", "ibcast", "--start", "barrier", "--cache", "cold", "--record", str(record))
    done = launch(built / "nbc_overlap", *ONE_POINT, *words)
    assert done.returncode == 0, done.stderr
    check_record(record)
    loaded = load_overlap(record)
    assert loaded.cache == "cold"
    assert [(point.start_method, point.buffer_sets > 1) for point in loaded.points] == [("barrier", True)]


def test_sizes_that_nobody_looked_for_are_not_used(built: Path, tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.txt"
    words = ("--comm-times", "64ms", "--comp-times", "64ms", "--threads", "1", "--collective", "ibcast", "--quiet")
    assert launch(built / "nbc_overlap", *words, "--budget-seconds", "0.05", "--save-sizes", str(sizes)).returncode == 2
    done = launch(built / "nbc_overlap", *words, "--sizes", str(sizes))
    if "not_searched" in sizes.read_text():
        assert done.returncode == 2
        assert "nothing was measured" in done.stderr
    else:
        assert done.returncode == 0


def test_given_sizes_are_used_and_nothing_is_calibrated(built: Path, tmp_path: Path) -> None:
    first, second, sizes = tmp_path / "first.jsonl", tmp_path / "second.jsonl", tmp_path / "sizes.txt"
    words = (*ONE_POINT, "--collective", "ibcast", "--quiet")
    launch(built / "nbc_overlap", *words, "--record", str(first), "--save-sizes", str(sizes))
    # A time that the reference has not: it is reported as moved, and still nothing is calibrated.
    text = re.sub(r"(?m)^(work .*) (\d+)$", lambda found: f"{found[1]} {3 * int(found[2])}", sizes.read_text())
    sizes.write_text(re.sub(r"(?m)^point .*\n", "", text) + "point ibcast 2000000 2000000 4096 77\n")
    done = launch(built / "nbc_overlap", *words, "--record", str(second), "--sizes", str(sizes))
    assert done.returncode == 0, done.stderr
    (point,) = load_overlap(second).points
    assert (point.message_bytes, point.work_size) == (4096, 77)
    assert (point.comp_calibration.status, point.recalibrations) == ("given", 0)
    assert point.comp_reference.moved_relative is not None
    assert point.comp_reference.moved_relative < -0.1


# The repetitions that a point has had when its references are looked at for the first time.
FIRST_LOOK = 9


def slow_waits(
    built: Path, folder: Path, *words: str, wanted: Callable[[OverlapPoint], bool], **env: str
) -> OverlapPoint:
    """A point where MPI_Wait takes 5 ms longer at times; measured until it is as wanted, at most twelve times: a busy
    machine moves references of its own, and each of them may have the sizes looked for again."""
    seen = []
    for attempt in range(12):
        record, sizes = folder / f"{attempt}.jsonl", folder / f"{attempt}.json"
        given = {name: value.format(sizes=sizes) for name, value in env.items()}
        done = launch(
            built / "nbc_overlap", "--collective", "ibcast", "--comm-times", "8ms", "--quiet", *words,
            "--record", str(record), "--save-sizes", str(sizes),
            env={"LD_PRELOAD": str(built / "hang_preload.so"), "HANG_MICROSECONDS": "5000", **given},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (point,) = load_overlap(record).points
        seen.append((point.recalibrations, point.discarded_repetitions))
        if wanted(point):
            return point
    pytest.fail(f"recalibrations and discarded repetitions of each attempt: {seen}")


def test_a_reference_that_moved_is_seen_before_much_is_measured(built: Path, tmp_path: Path) -> None:
    """It takes longer once the sizes are known: they are looked for again, and the point is begun anew."""
    words = ("--comp-times", "2ms", "--max-repetitions", "40")

    def begun_anew_early(point: OverlapPoint) -> bool:
        return point.recalibrations > 0 and point.discarded_repetitions == FIRST_LOOK * point.recalibrations

    slow_waits(built, tmp_path, *words, wanted=begun_anew_early, HANG_FILE="{sizes}")


@pytest.mark.rare
def test_a_reference_that_is_another_one_only_beside_a_computation_is_kept(built: Path, tmp_path: Path) -> None:
    """It takes longer where a long computation came between: the size alone takes its time, and stays."""
    words = ("--comp-times", "100ms", "--max-repetitions", "20")

    def kept(point: OverlapPoint) -> bool:
        moved = point.comm_reference.moved_relative
        return moved is not None and moved > 0.1 and point.discarded_repetitions < FIRST_LOOK * point.recalibrations

    slow_waits(built, tmp_path, *words, wanted=kept, HANG_SPARSE="80")


@pytest.mark.parametrize(
    ("computation", "toolchain"),
    [
        # Each computation under one library; the other two pairs are rare.
        pytest.param(computation, toolchain, marks=() if number == other else pytest.mark.rare)
        for number, computation in enumerate(("dgemm", "triad"))
        for other, toolchain in enumerate(resolving.DEFAULT_TOOLCHAINS)
    ],
)
def test_what_threads_compute_and_how_often_they_test(
    build_for: Callable[[str], Path], tmp_path: Path, toolchain: str, computation: str
) -> None:
    program = build_for(toolchain) / "nbc_overlap"
    words = ("--comm-times", "2ms", "--comp-times", "2ms", "--budget-seconds", "30", "--max-repetitions", "5",
             "--threads", "1", "--collective", "ibcast", "--computation", computation)  # fmt: skip
    for interval_ns, interval in ((0, "0"), (100_000, "100us")):
        record = tmp_path / f"{interval}.jsonl"
        done = launch(program, *words, "--test-interval", interval, "--record", str(record), toolchain=toolchain)
        assert done.returncode == 0, done.stderr
        check_record(record)
        header, point, footer = (json.loads(line) for line in record.read_text().splitlines())
        assert header["plan"]["parameters"]["computation"] == [computation]
        assert header["plan"]["parameters"]["test_interval_ns"] == [interval_ns]
        assert (point["own"]["test_calls"] > 0) == (interval_ns > 0)
        assert all((time > 0) == (interval_ns > 0) for time in point["spreads"]["t_test_ns"]["max"])
        assert ("t_test" in done.stdout) == (interval_ns > 0)
        # One computing thread: its time is that of its rank, and MPI's time is what is in none of it.
        medians, threads = point["rank_medians"], point["thread_medians"]
        assert [[time] for time in medians["t_comp_ns"]] == threads["t_comp_ns"]
        assert [[time] for time in medians["t_comp_ref_ns"]] == threads["t_comp_ref_ns"]
        for rank, in_mpi in enumerate(medians["t_mpi_ns"]):
            terms = [point["rank_samples"][f"t_{term}_ns"][rank] for term in ("call", "test", "wait", "comp")]
            summed = [call + test + wait for call, test, wait, _ in zip(*terms, strict=True)]
            assert statistics.median_low(summed) <= in_mpi <= statistics.median_high(summed)
            whole = [sum(parts) for parts in zip(*terms, strict=True)]
            assert all(np.array(whole) <= 1.001 * np.array(point["series"]["t_measured_ns"]))
        assert 0 < footer["measured_seconds"] < footer["wall_seconds"]


@pytest.mark.parametrize(
    ("interval", "says", "called"), [("100ns", "not every 0.1 us", True), ("1s", "is not called in it", False)]
)
def test_an_interval_that_cannot_be_had_is_said_and_what_was_reached_is_recorded(
    built: Path, tmp_path: Path, interval: str, says: str, called: bool
) -> None:
    record = tmp_path / "record.jsonl"
    words = ("--collective", "ibcast", "--test-interval", interval, "--record", str(record), "--quiet")
    done = launch(built / "nbc_overlap", *ONE_POINT, *words)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "MPI_Test" in line]
    assert says in line
    (point,) = load_overlap(record).points
    assert (point.test_calls > 0) == called
    assert point.test_calls < 2_000_000 / 100


def test_sizes_of_other_work_are_refused(built: Path, tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.txt"
    words = (*ONE_POINT, "--collective", "ibcast", "--quiet")
    launch(built / "nbc_overlap", *words, "--save-sizes", str(sizes))
    good = re.sub(r"(?m)^point .*\n", "", sizes.read_text())
    many = good.replace("threads_per_rank 1", "threads_per_rank 256")
    refusals: list[tuple[str, tuple[str, ...], str]] = [
        (re.sub(r"\nwork (\d+) \d+", r"\nwork \1 20000", good), (), "at most 16384 is possible"),
        (re.sub(r"\nwork (\d+) \d+", r"\nwork \1 16000", many), ("--threads", "256"), "is the most"),
    ]
    for text, more, says in refusals:
        sizes.write_text(text)
        done = launch(built / "nbc_overlap", *words, *more, "--sizes", str(sizes))
        assert done.returncode == 2, done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("nbc_overlap:")]
        assert says in line


def test_its_table_and_postprocess_agree(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    grid = ("--comm-times", "1ms,2ms", "--comp-times", "2ms", "--max-repetitions", "9", "--threads", "1")
    done = launch(
        built / "nbc_overlap", *grid, "--collective", "ibcast", "--collective", "iallreduce", "--record", str(record)
    )
    assert done.returncode == 0, done.stderr
    check_record(record)
    points = points_table([load_overlap(record)])
    heads, *rows = [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("#")]
    columns = heads.split()
    table = pd.DataFrame([row.split()[: len(columns)] for row in rows if row.split()[0] in suites.COLLECTIVES])
    assert len(table) == len(points) == 4
    for name in ("r_overhead", "r_comm", "r_comp"):
        printed = table[columns.index(name)].astype(float).to_numpy()
        ours = points["r_comp_slowdown" if name == "r_comp" else name].to_numpy()
        assert abs(printed - ours).max() <= 0.001, name  # it prints three decimals
