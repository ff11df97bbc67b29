"""`partitioned`: every approach under real MPI libraries, whole and broken on purpose: data, exit codes, messages."""

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from mpi_campaign.launching import key_values
from mpi_campaign.toolchains import resolving
from postprocess.families import axes
from postprocess.families.partitioned.record import PartitionedRecord, load_partitioned
from tests.support import cannot_measure, launch, only_line, recorded, succeed

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS
# After a barrier no rank is late, so nothing is thrown away on a busy machine.
BRIEF = ("--start", "barrier", "--max-repetitions", "12", "--interval", "0.5", "--quiet")
Build = Callable[[str], Path]


def measured(
    folder: Path,
    path: Path,
    toolchain: str,
    *words: str,
    ranks: int = 2,
    budget_seconds: int = 60,
    env: Mapping[str, str] | None = None,
) -> PartitionedRecord:
    """The record of a launch that must end well. It ends long before its budget, unless the machine is busy."""
    words = (*words, *BRIEF, "--budget-seconds", str(budget_seconds))
    recorded(folder / "partitioned", path, *words, toolchain=toolchain, ranks=ranks, env=env)
    return load_partitioned(path)


# What is tested below: faults of the library, streams, more ranks.
WRONG = ((OPENMPI, "part_coarse"), (OPENMPI, "part_startall"), (OPENMPI, "part_polling"))
APART = ("streams", "part_neighbours", "part_neighbours_4", "part_neighbours_6")
EVERY = tuple(name for name in axes.APPROACH.values if name not in APART)
USUAL = {OPENMPI: ("part_parrived", "many", "rma_single_active"), MPICH: EVERY}


@pytest.mark.parametrize(
    ("toolchain", "approach"),
    [
        pytest.param(toolchain, approach, marks=() if approach in USUAL[toolchain] else pytest.mark.rare)
        for toolchain in (MPICH, OPENMPI)
        for approach in EVERY
        if (toolchain, approach) not in WRONG
    ],
)
def test_every_approach_sends_the_right_data(build_for: Build, tmp_path: Path, toolchain: str, approach: str) -> None:
    found = measured(
        build_for(toolchain), tmp_path / "record.jsonl", toolchain, "--approach", approach,
        "--message-bytes", "1024,65536", "--partitions-per-thread", "2,8", "--delay-ratios", "0,2",
    )  # fmt: skip
    assert found.approach == approach
    points = {(point.message_bytes, point.partitions_send, point.delay_ratio) for point in found.points}
    assert points == {(size, *rest) for size in (1024, 65536) for rest in ((2, 0), (2, 2), (8, 0), (8, 2))}
    for point in found.points:
        assert point.data_errors == 0
        assert point.stop_reason != "not_measured"
        assert not point.latency_ns <= 0  # NaN where others disturb so much that it could not be measured
        assert (point.delay_target_ns > 0) is (point.delay_ratio > 0)
        if point.repetitions:  # a point whose time was up has none; its data were checked
            assert point.t_ns.min() > 0
            assert bool(np.median(point.t_delay_ns) > 0) is (point.delay_ratio > 0)
        received = max(point.partitions_send // 2, 1) if approach == "part_coarse" else point.partitions_send
        assert point.partitions_receive == received
        each = 1 if approach == "single" else point.partitions_send
        assert (point.messages, point.neighbours) == (each * point.neighbours, 2 if approach == "part_startall" else 1)


@pytest.mark.parametrize(
    ("toolchain", "approach", "ranks"),
    [
        (MPICH, "part_neighbours", 4),
        pytest.param(OPENMPI, "part_neighbours", 4, marks=pytest.mark.rare),
        pytest.param(MPICH, "part_neighbours_4", 8, marks=pytest.mark.rare),
        pytest.param(MPICH, "part_neighbours_6", 4, marks=pytest.mark.rare),
    ],
)
def test_every_neighbour_gets_its_own_data(
    build_for: Build, tmp_path: Path, toolchain: str, approach: str, ranks: int
) -> None:
    """The contents of the messages differ by sender, and every receiver checks those of each of its senders."""
    found = measured(
        build_for(toolchain), tmp_path / "record.jsonl", toolchain, "--approach", approach,
        "--message-bytes", "1024,65536", "--partitions-per-thread", "2", "--delay-ratios", "0,2", ranks=ranks,
    )  # fmt: skip
    neighbours = {"part_neighbours_4": 4, "part_neighbours_6": 6}.get(approach, 2)
    for point in found.points:
        assert (point.data_errors, point.neighbours, point.messages) == (0, neighbours, 2 * neighbours)
        assert point.different_neighbours == min(neighbours, ranks // 2)


def test_streams_are_reserved_when_mpi_starts(built: Path, tmp_path: Path) -> None:
    words = ("--approach", "streams", "--message-bytes", "1024,65536", "--delay-ratios", "0,2")
    reserved = {"MPIR_CVAR_CH4_RESERVE_VCIS": "1"}
    found = measured(built, tmp_path / "record.jsonl", MPICH, *words, env=reserved)
    assert {point.messages for point in found.points} == {4}
    done = launch(built / "partitioned", *words, toolchain=MPICH)
    assert done.returncode == 2, done.stdout + done.stderr
    assert only_line("partitioned", done.stderr).endswith(
        "approach streams: MPIX_Stream_create makes 0 of 1 streams, one per thread; virtual interfaces to reserve: 1"
    )


def test_partitions_are_sent_together_up_to_a_size(built: Path, tmp_path: Path) -> None:
    """Section 3.2.1: each partition of both sides is in one message, and messages grow up to the aggregation size."""
    found = measured(
        built, tmp_path / "record.jsonl", MPICH, "--approach", "layer", "--message-bytes", "8192",
        "--partitions-per-thread", "16", "--receive-partitions", "8", "--aggregation-bytes", "0,1024,3000,5000,100000",
        "--delay-ratios", "0",
    )  # fmt: skip
    assert {point.aggregation_bytes: point.messages for point in found.points} == {
        0: 8, 1024: 8, 3000: 4, 5000: 2, 100000: 1,
    }  # fmt: skip


def delays_of(sizes: Path) -> list[list[int]]:
    return [list(map(int, values)) for values in key_values.lines_of(sizes)[key_values.DELAY]]


def test_sizes_are_taken_over(built: Path, tmp_path: Path) -> None:
    grid = ("--message-bytes", "65536", "--partitions-per-thread", "4", "--delay-ratios", "1,3")
    sizes = str(tmp_path / "sizes.txt")
    first = measured(built, tmp_path / "1.jsonl", MPICH, *grid, "--save-sizes", sizes)
    written = Path(sizes).read_text()
    assert ("\nbandwidth guessed\n" in written) is math.isnan(first.points[0].bytes_per_second)
    Path(sizes).write_text(written.replace("bandwidth measured", "bandwidth guessed"))
    second = measured(built, tmp_path / "2.jsonl", MPICH, *grid, "--sizes", sizes)
    for before, after in zip(first.points, second.points, strict=True):
        assert before.delay_guessed is math.isnan(before.bytes_per_second)
        assert after.delay_guessed
        assert before.work_size == after.work_size > 0
        assert before.delay_target_ns == after.delay_target_ns
    assert second.header.plan.sizes_given
    says = "has no delay for 65536 bytes in 4 partitions with gamma * beta = 7"
    cannot_measure(built / "partitioned", says, *grid[:-1], "7", "--sizes", sizes, toolchain=MPICH)


def test_a_delay_whose_work_was_not_found_is_not_measured(built: Path, tmp_path: Path) -> None:
    """The time was up before its work was found. Another work is no answer: the point would stand elsewhere."""
    words = ("--approach", "many", "--message-bytes", "65536", "--delay-ratios", "0,2")
    sizes = tmp_path / "sizes.txt"
    measured(built, tmp_path / "1.jsonl", MPICH, *words, "--save-sizes", str(sizes))
    sizes.write_text(re.sub(r"(?m)^(delay .*) \d+ \d+$", r"\1 0 0", sizes.read_text()))
    none, late = measured(built, tmp_path / "2.jsonl", MPICH, *words, "--sizes", str(sizes)).points
    assert (none.delay_ratio, none.stop_reason == "not_measured") == (0, False)
    assert (late.delay_ratio, late.stop_reason, late.repetitions) == (2, "not_measured", 0)
    # The search ends while the first of these delays is searched, of 6 times some milliseconds.
    large = ("--approach", "many", "--message-bytes", "1048576", "--delay-ratios", "100,500,1000")
    done = launch(
        built / "partitioned", *large, "--save-sizes", str(sizes), "--budget-seconds", "0.01", toolchain=MPICH
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert [work_size for *_, work_size, _ in delays_of(sizes)][1:] == [0, 0]


def test_a_grid_searches_the_delays_of_its_points_alone(built: Path, tmp_path: Path) -> None:
    """`nightly` delays 4 partitions per thread, and not 1 or 32."""
    sizes = tmp_path / "sizes.txt"
    words = ("--approach", "many", "--grid", "nightly", "--save-sizes", str(sizes))
    measured(built, tmp_path / "record.jsonl", MPICH, *words, budget_seconds=2)
    assert {partitions for _, partitions, ratio, *_ in delays_of(sizes) if ratio > 0} == {4}


def test_a_grid_leaves_out_messages_that_do_not_divide_into_the_partitions_of_the_receiver(
    built: Path, tmp_path: Path
) -> None:
    words = ("--approach", "layer", "--receive-partitions", "16384")
    found = measured(built, tmp_path / "record.jsonl", MPICH, *words, budget_seconds=2)
    assert {point.message_bytes for point in found.points} == {1048576}  # and not 16384


def test_one_partition_has_nobody_to_be_later_than(built: Path, tmp_path: Path) -> None:
    words = ("--partitions-per-thread", "1", "--delay-ratios", "0,2", "--message-bytes", "1024")
    (point,) = measured(built, tmp_path / "record.jsonl", MPICH, *words).points
    assert point.delay_ratio == 0


@pytest.mark.parametrize("received", [4, pytest.param(2, marks=pytest.mark.rare)])
def test_what_a_library_says_too_early_is_found_every_time(build_for: Build, tmp_path: Path, received: int) -> None:
    """Open MPI 5.0.11: where the receiver has fewer partitions, MPI_Parrived says yes before the data are there."""
    reproducer = tmp_path / "reproducer.c"
    for attempt in range(2):
        record = tmp_path / f"{attempt}.jsonl"
        done = launch(
            build_for(OPENMPI) / "partitioned", "--approach", "part_coarse", "--message-bytes", "1048576",
            "--partitions-per-thread", "8", "--receive-partitions", str(received), "--delay-ratios", "0",
            "--start", "barrier", "--limit-seconds", "30", "--record", str(record), "--reproducer", str(reproducer),
            toolchain=OPENMPI,
        )  # fmt: skip
        assert done.returncode == 1, done.stdout + done.stderr
        assert "when MPI_Parrived said that it had arrived" in only_line("partitioned", done.stderr)
        point = load_partitioned(record).points[-1]
        assert (point.partitions_send, point.partitions_receive) == (8, received)
        assert point.data_errors > 0
    # The program that was written shows it without anything of this project.
    mpi = resolving.resolve(resolving.parse(OPENMPI), print)
    succeed(mpi.mpicc, str(reproducer), "-o", str(tmp_path / "reproducer"))
    shown = launch(tmp_path / "reproducer", toolchain=OPENMPI)
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "MPI_Parrived said yes for partition" in shown.stdout
    assert "FAIL: wrong data" in shown.stdout.splitlines()


@pytest.mark.rare
def test_what_a_library_sends_too_late_is_told_every_time_it_happens(build_for: Build, tmp_path: Path) -> None:
    """Open MPI 5.0.11: while the sender makes progress and its last partition is not ready, the request completes.

    It is a race, which not every launch loses."""
    lost = 0
    for attempt in range(6):
        record = tmp_path / f"{attempt}.jsonl"
        done = launch(
            build_for(OPENMPI) / "partitioned", "--approach", "part_polling", "--message-bytes", "65536,131072",
            "--delay-ratios", "0", "--start", "barrier", "--limit-seconds", "20", "--record", str(record),
            toolchain=OPENMPI, timeout=90,
        )  # fmt: skip
        if done.returncode == 0:
            assert all(point.data_errors == 0 for point in load_partitioned(record).points)
            continue
        assert done.returncode == 1, done.stdout + done.stderr
        wrong = "part_polling: wrong data in partition 3 of 4" in done.stderr
        assert wrong or "hangs in MPI_Wait of part_polling" in done.stderr
        lost += 1
    if not lost:
        pytest.skip("no launch of six lost the race")


@pytest.mark.parametrize(
    ("words", "where", "limit_seconds"),
    [
        # where the receiver has more partitions and asks for each
        pytest.param(
            ("--approach", "part_parrived", "--partitions-per-thread", "2", "--receive-partitions", "8"), "MPI_Test",
            "20", marks=pytest.mark.rare,
        ),
        (("--approach", "part_startall"), "MPI_Wait", "6"),
    ],
)  # fmt: skip
def test_a_hang_of_the_library_is_ended_and_named(
    build_for: Build, tmp_path: Path, words: tuple[str, ...], where: str, limit_seconds: str
) -> None:
    """Open MPI 5.0.11 hangs."""
    record = tmp_path / "record.jsonl"
    done = launch(
        build_for(OPENMPI) / "partitioned", *words, "--message-bytes", "65536", "--delay-ratios", "0",
        "--start", "barrier", "--budget-seconds", "4", "--limit-seconds", limit_seconds, "--record", str(record),
        toolchain=OPENMPI, timeout=90,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"hangs in {where} of {words[1]}" in done.stderr
    assert "hangs" in load_partitioned(record).incomplete


def test_a_thread_level_that_is_too_low_is_refused(built: Path) -> None:
    env = {"LD_PRELOAD": str(built / "level_preload.so")}
    cannot_measure(built / "partitioned", "MPI_THREAD_MULTIPLE is needed", env=env, toolchain=MPICH)
