"""`cpu_overhead` under real MPI libraries: whole, with a library that sleeps, and broken on purpose; a run of it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from mpi_campaign.toolchains import resolving
from postprocess.families import axes
from postprocess.families.cpu_overhead.record import CpuRecord, load_cpu_overhead
from postprocess.families.cpu_overhead.table import cpu_table
from tests.support import launch, recorded

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS
BRIEF = ("--min-repetitions", "6", "--max-repetitions", "6")
Build = Callable[[str], Path]
OPERATIONS = tuple(axes.OPERATION.values)


def measured(folder: Path, path: Path, toolchain: str, *words: str, env: Mapping[str, str] | None = None) -> CpuRecord:
    recorded(folder / "cpu_overhead", path, *words, *BRIEF, toolchain=toolchain, env=env)
    return load_cpu_overhead(path)


@pytest.mark.parametrize("toolchain", [MPICH, OPENMPI])
def test_every_collective_is_measured_in_batches_that_the_clock_resolves(
    build_for: Build, tmp_path: Path, toolchain: str
) -> None:
    words = ("--message-bytes", "8,65536", "--ways", "blocking")
    found = measured(build_for(toolchain), tmp_path / "record.jsonl", toolchain, *words)
    assert {(one.operation, one.message_bytes) for one in found.points} == {
        ("barrier", 0),
        *((name, size) for name in OPERATIONS if name != "barrier" for size in (8, 65536)),
    }
    assert found.batch_target_ns >= max(10_000_000, min(200 * found.cpu_clock_step_ns, 1_000_000_000))
    for one in found.points:
        assert one.data_errors == 0
        assert one.repetitions >= 5  # one may be warm-up
        # A machine that was busy while the calls were counted made them few.
        assert np.median(one.t_wall_ns) > 0.2 * found.batch_target_ns
        assert one.calls > 1
        assert (one.t_thread_cpu_ns <= one.t_cpu_ns + 1_000_000).all()
        assert np.median(one.t_cpu_ns) > 0


def test_a_library_that_polls_is_never_idle_and_a_wait_that_sleeps_is(built: Path, tmp_path: Path) -> None:
    """MPICH polls; the positive control is a wait of the program's own, which sleeps between its tests.

    A call must take much longer than the 20 us that are worth a sleep.
    """
    words = ("--collective", "alltoall", "--message-bytes", "1048576", "--ways", "blocking,sleeping")
    found = measured(built, tmp_path / "record.jsonl", MPICH, *words)
    polls, sleeps = cpu_table([found]).to_dict("records")
    assert (polls["way"], sleeps["way"]) == ("blocking", "sleeping")
    # What the process did not give up itself, others took: it is not called idle.
    assert polls["cpu_share"] > 0.95 or not polls["reliable"]
    first, second = found.points
    assert second.voluntary_switches.sum() > first.voluntary_switches.sum()
    assert sleeps["idle_share"] > 0.1


@pytest.mark.rare
def test_every_way_of_waiting_is_measured_beside_the_blocking_call(built: Path, tmp_path: Path) -> None:
    """On communicators of 2 and of all 3 ranks; ways other than `blocking` on all ranks only."""
    words = ("--collective", "bcast", "--message-bytes", "1024", *BRIEF)
    record = tmp_path / "record.jsonl"
    recorded(built / "cpu_overhead", record, *words, ranks=3, toolchain=MPICH)
    points = load_cpu_overhead(record).points
    steps = [one for one in points if one.way == "working"]
    assert [(one.communicator_ranks, one.way) for one in points if one not in steps] == [
        (2, "blocking"), (2, "once"), (3, "blocking"), (3, "nonblocking"), (3, "testing"), (3, "sleeping"),
        (3, "soaking"), (3, "once"),
    ]  # fmt: skip
    assert [one.calls for one in points if one.way == "once"] == [1, 1]
    assert [one.data_errors for one in points] == [0] * len(points)
    # The bisection begins in the middle, and each step does another amount of work.
    assert len({one.work_units for one in steps}) == len(steps) == 4
    assert all(np.median(one.t_work_ns) > 0 for one in steps)
    # A sleeping wait gives the CPU away, and an asleep process says so itself.
    (sleeping,) = [one for one in points if one.way == "sleeping"]
    assert sleeping.t_cpu_ns.sum() < sleeping.t_wall_ns.sum()
    (soaking,) = [one for one in points if one.way == "soaking"]
    assert (soaking.t_user_all_ranks_ns == 0).all()


def test_a_rank_comes_late_and_the_others_wait_for_it(built: Path, tmp_path: Path) -> None:
    """Of a broadcast no rank waits for the last one. The CPU time of the whole node is read on rank 0.

    A rank that leaves its calls early, as the root of a broadcast, is charged in the same window as all others: each
    has one thread, and no more CPU time than the window is long. MPICH that is told to yield sleeps in an alltoall,
    whose messages are waited for by its progress engine.
    """
    words = (
        "--collective", "barrier,bcast,alltoall", "--message-bytes", "8,64",
        "--ways", "blocking,late,late_working,once", "--lateness-ms", "12,30",
    )  # fmt: skip
    yields = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    found = measured(built, tmp_path / "record.jsonl", MPICH, *words, env=yields)
    first = max(12_000_000, found.batch_target_ns)
    times = dict.fromkeys((first, max(30_000_000, found.batch_target_ns)))
    late = [one for one in found.points if one.way == "late"]
    # The longer wait is measured with the smallest size.
    assert [(one.operation, one.message_bytes, one.lateness_ns) for one in late] == [
        *(("barrier", 0, time) for time in times), *(("alltoall", 8, time) for time in times), ("alltoall", 64, first),
    ]  # fmt: skip
    working = [one for one in found.points if one.way == "late_working"]
    assert [(one.operation, one.message_bytes, one.lateness_ns) for one in working] == [
        (one.operation, one.message_bytes, one.lateness_ns) for one in late
    ]
    assert [(one.operation, one.way) for one in found.points if one.lateness_ns == 0 and one.message_bytes <= 8] == [
        ("barrier", "blocking"), ("barrier", "once"), ("bcast", "blocking"), ("bcast", "once"),
        ("alltoall", "blocking"),
    ]  # fmt: skip
    for one in found.points:
        assert one.t_node_ranks_ns.sum() <= 1.1 * 2 * one.t_node_window_ns.sum()
        assert (one.t_node_window_ns > 0).all() == (one.way != "once")
    for one in working:  # all ranks work for as long, at the same time
        assert (one.t_wall_ns > 0.5 * one.lateness_ns).all()
        assert np.median(one.t_cpu_ns) > 0.5 * one.lateness_ns
    for one in late:
        assert one.calls == 1
        assert np.median(one.t_work_ns) > 0.5 * one.lateness_ns
        assert (one.t_wall_ns > 0.5 * one.lateness_ns).all()
        assert (one.t_node_window_ns > 0.5 * one.lateness_ns).all()
        assert 0 < one.t_node_busy_ns.sum() <= found.node_cpus * (one.t_node_window_ns + found.node_tick_ns).sum()
        if one.operation == "alltoall":
            assert np.median(one.t_cpu_ns / one.t_wall_ns) < 0.7


def test_ranks_out_of_step_do_the_same_work_beside_their_reference(built: Path, tmp_path: Path) -> None:
    words = ("--collective", "bcast,barrier,alltoall", "--message-bytes", "8,64", "--lateness-ms", "12,30")
    ways = ("even", "even_working", "skewed", "skewed_working")
    found = measured(built, tmp_path / "record.jsonl", MPICH, *words, "--ways", ",".join(ways))
    first = max(12_000_000, found.batch_target_ns)
    times = dict.fromkeys((first, max(30_000_000, found.batch_target_ns)))
    of_size = {(one.operation, one.message_bytes, one.lateness_ns) for one in found.points}
    assert of_size == {
        *(("barrier", 0, time) for time in times), *(("alltoall", 8, time) for time in times), ("alltoall", 64, first),
    }  # fmt: skip
    assert {one.way for one in found.points} == set(ways)
    assert len(found.points) == len(of_size) * len(ways)
    for one in found.points:
        assert one.calls == one.reference_calls == 16
        assert np.median(one.t_work_ns) > 0.5 * one.lateness_ns
        assert (one.t_wall_ns > 0.5 * one.lateness_ns).all()
        assert (one.t_reference_wall_ns > 0.5 * one.lateness_ns).all()


def test_the_papers_method_makes_its_number_of_calls(built: Path, tmp_path: Path) -> None:
    words = ("--collective", "barrier", "--method", "paper")
    found = measured(built, tmp_path / "record.jsonl", MPICH, *words)
    assert [(one.way, one.calls, one.reference_calls) for one in found.points] == [("blocking", 10000, 10000)]


def test_the_table_for_people_has_the_medians_of_the_record(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    words = ("--collective", "allreduce", "--message-bytes", "1024", "--ways", "blocking", "--record", str(record))
    done = launch(built / "cpu_overhead", *words, *BRIEF, toolchain=MPICH)
    assert done.returncode == 0, done.stderr
    name = "allreduce, 2 ranks, 1024 bytes, blocking "
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(name)]
    (point,) = load_cpu_overhead(record).points
    shown = list(map(int, line.removeprefix(name).split()[:3]))
    times = (point.t_wall_ns, point.t_reference_wall_ns, point.t_cpu_ns)
    assert shown == [int(np.median(time)) for time in times]
