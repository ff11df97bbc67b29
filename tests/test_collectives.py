"""Every collective of the table, under two real MPI libraries: right data pass, wrong data are found, barriers wait."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign.planning import suites
from mpi_campaign.toolchains import builds, resolving
from postprocess.families import axes
from postprocess.families.nbc_overlap.record import load_overlap
from tests.support import build_benchmarks, cannot_measure, check_record, corruption, launch

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi")]

REPETITIONS = 7  # more than a persistent form has requests
KNOWN, UNKNOWN = 2 << 30, 0
"""The memory that a rank may use, in bytes."""

both_libraries = pytest.mark.parametrize("toolchain", resolving.DEFAULT_TOOLCHAINS)
OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS
# What the tests themselves bring is tried with the other one in a nightly run.
either_library = pytest.mark.parametrize("toolchain", [MPICH, pytest.param(OPENMPI, marks=pytest.mark.rare)])
Build = Callable[[str], Path]
Found = Mapping[str, dict[str, Any]]


def exchange(build: Path, toolchain: str, ranks: int, *words: str, env: Mapping[str, str] | None = None) -> Found:
    """What `exchange_truth` found, by collective."""
    done = launch(build / "exchange_truth", *words, ranks=ranks, env=env, toolchain=toolchain)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["collective"]: line for line in lines}


@both_libraries
@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (2, ("40", str(REPETITIONS), "wait")),
        (3, ("40", str(REPETITIONS), "wait")),
        (2, ("40", str(REPETITIONS), "test")),
        (2, ("200008", "2", "wait")),
        (2, ("65536", "8", "wait", "cold")),
    ],
    ids=["wait", "three-ranks", "test", "large", "cold"],
)
def test_right_data_pass_and_barriers_wait(
    build_for: Build, toolchain: str, ranks: int, words: tuple[str, ...]
) -> None:
    found = exchange(build_for(toolchain), toolchain, ranks, *words)
    assert list(found) == list(suites.COLLECTIVES)
    assert {name for name, one in found.items() if any(one["faults"])} == set()
    assert {name for name, one in found.items() if one["left_early"]} == set()
    assert {name for name, one in found.items() if not any(one["received"])} == {"ibarrier", "barrier_init"}
    if ranks == 3:  # v- and w-forms differ by rank and keep the mean
        assert found["iscatter"]["received"] == [5, 5, 5]
        assert found["iscatterv"]["received"] == found["ireduce_scatter"]["received"] == [3, 7, 5]
        assert found["ialltoallv"]["received"] == found["ialltoall"]["received"] == [15, 15, 15]
        assert found["ineighbor_allgatherv"]["received"] == [12, 8, 10]


def largest_cache() -> int:
    """Bytes of CPU 0's largest cache, as the benchmarks see it."""
    sizes = [path.read_text().strip() for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max(
        (int(size[:-1]) * {"K": 1024, "M": 1 << 20}[size[-1]] for size in sizes if size[-1] in "KM"), default=32 << 20
    )


@pytest.mark.parametrize(
    ("collective", "memory"),
    [("igather", KNOWN), ("iscatterv", UNKNOWN), ("ibcast", KNOWN), ("iexscan", UNKNOWN), ("scatter_init", KNOWN)],
)
def test_cold_buffers_of_every_rank_are_more_than_the_caches_hold(built: Path, collective: str, memory: int) -> None:
    size = largest_cache() // 16
    found = exchange(built, resolving.DEFAULT_TOOLCHAINS[1], 3, str(size), "3", "wait", "cold", str(memory), collective)
    one = found[collective]
    sets, later = one["sets"]
    # All are there before anything is timed: one that is made later would be in the caches when it is used.
    assert sets == later
    cold = all(sets * own >= 2 * largest_cache() for own in one["buffers"] if own)
    assert cold or (sets + 2) * (max(one["buffers"]) * 1.2 + 16384) > (memory or 1 << 30)
    assert not any(one["faults"])


def test_cold_buffers_stay_within_the_memory(built: Path) -> None:
    found = exchange(built, resolving.DEFAULT_TOOLCHAINS[1], 3, "65536", "3", "wait", "cold", str(3 << 20))
    assert {name for name, one in found.items() if one["sets"][0] * max(one["buffers"]) > 3 << 20} == set()
    assert {name for name, one in found.items() if one["sets"][0] < 2} == set()


@both_libraries
@pytest.mark.parametrize(("ranks", "completion"), [(2, "wait"), (3, "wait"), (2, "test")])
def test_each_wrong_element_on_each_rank_is_found(
    build_for: Build, toolchain: str, ranks: int, completion: str
) -> None:
    build = build_for(toolchain)
    everywhere = corruption(build, rank=-1, wait=0, elements=60, barrier=1)
    found = exchange(build, toolchain, ranks, "40", str(REPETITIONS), completion, env=everywhere)
    # 60 elements are more than any rank receives here, gaps included: what is received is wrong from end to end.
    assert {name: one["faults"] for name, one in found.items()} == {
        name: [REPETITIONS * received for received in one["received"]] for name, one in found.items()
    }
    # A barrier that does not wait is seen as well: the test above can fail.
    assert found["ibarrier"]["left_early"] > 0
    assert found["barrier_init"]["left_early"] > 0


# Faults of a library, seen by a program of MPI calls alone as well: a persistent request of Intel MPI that is started
# again leaves blocks as they were.
WRONG_BY_ITSELF = {"intel@2021.18.1": {"gather_init", "allgather_init", "scatter_init"}}


@pytest.mark.rare
@pytest.mark.parametrize("toolchain", ["openmpi@4.1.8", "intel@2021.18.1"])
def test_other_libraries_are_held_to_the_same(build_for: Build, toolchain: str) -> None:
    """Open MPI 4 has the persistent forms by the name MPIX_."""
    build, by_itself = build_for(toolchain), WRONG_BY_ITSELF.get(toolchain, set())
    words = ("40", str(REPETITIONS), "wait")
    right = exchange(build, toolchain, 2, *words)
    assert list(right) == list(suites.COLLECTIVES)
    assert {name for name, one in right.items() if any(one["faults"]) or one["left_early"]} == by_itself
    wrong = exchange(build, toolchain, 2, *words, env=corruption(build, rank=-1, wait=0, elements=60))
    assert {name: one["faults"] for name, one in wrong.items()} == {
        name: [REPETITIONS * received for received in one["received"]] for name, one in right.items()
    }


@pytest.mark.parametrize("collective", ["ibcast", "gatherv_init"])
@either_library
def test_one_flipped_byte_on_one_rank_fails_the_run(
    build_for: Build, tmp_path: Path, toolchain: str, collective: str
) -> None:
    build = build_for(toolchain)
    record = tmp_path / "record.jsonl"
    receiver = 0 if collective == "gatherv_init" else 1
    words = ("--comm-times", "2ms", "--comp-times", "2ms", "--budget-seconds", "3", "--threads", "1")
    done = launch(
        build / "nbc_overlap", *words, "--collective", collective, "--record", str(record),
        env=corruption(build, rank=receiver, wait=5), toolchain=toolchain,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(rf"nbc_overlap: rank {receiver}\b.*MPI_{collective}", done.stderr, re.IGNORECASE), done.stderr
    assert not load_overlap(record).complete


def test_a_barrier_has_one_time_and_no_size(built: Path, tmp_path: Path) -> None:
    first, second, sizes = tmp_path / "first.jsonl", tmp_path / "second.jsonl", tmp_path / "sizes.txt"
    words = ("--collective", "ibarrier,iscan", "--comm-times", "1ms,2ms", "--comp-times", "1ms", "--threads", "1")
    program = (built / "nbc_overlap", *words, "--budget-seconds", "8")
    done = launch(*program, "--record", str(first), "--save-sizes", str(sizes))
    assert done.returncode == 0, done.stderr
    assert "ibarrier has no message" in done.stderr
    done = launch(*program, "--record", str(second), "--sizes", str(sizes))
    assert done.returncode == 0, done.stderr
    for record in (first, second):
        check_record(record)
        barrier, *scans = load_overlap(record).points
        assert (barrier.collective, barrier.message_bytes, barrier.comm_calibration.status) == (
            "ibarrier",
            0,
            "no_message",
        )
        assert barrier.comm_calibration.time_ns > 0
        assert [(scan.collective, scan.comm_target_ns) for scan in scans] == [("iscan", 1000000), ("iscan", 2000000)]


def test_a_sizes_file_cannot_take_a_message_away(built: Path, tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.txt"
    words = ("--comm-times", "1ms", "--comp-times", "1ms", "--threads", "1", "--budget-seconds", "5", "--quiet")
    program = (built / "nbc_overlap", "--collective", "ibarrier", *words)
    assert launch(*program, "--save-sizes", str(sizes)).returncode == 0
    sizes.write_text(sizes.read_text().replace("ibarrier", "ibcast"))
    cannot_measure(built / "nbc_overlap", "0 bytes of ibcast", "--collective", "ibcast", *words, "--sizes", str(sizes))


@pytest.mark.rare
def test_a_library_that_lacks_a_collective(tmp_path: Path) -> None:
    """Its header declares three functions by names that no library has."""
    lacking = {"MPI_Bcast_init", "MPI_Ialltoallw"}
    partitioned = {
        "MPI_Psend_init",
        "MPI_Precv_init",
        "MPI_Pready",
        "MPI_Parrived",
    }  # none is of use without the others
    toolchain = resolving.DEFAULT_TOOLCHAINS[1]
    elsewhere = " ".join(f"-D{function}={function}_elsewhere" for function in sorted(lacking | {"MPI_Psend_init"}))
    build = build_benchmarks(tmp_path, toolchain, f"-DCMAKE_C_FLAGS={elsewhere}", "-DCAMPAIGN_TESTS=OFF")
    assert builds.missing_functions(build) == lacking | partitioned
    listed = launch(build / "nbc_overlap", "--list", toolchain=toolchain).stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(suites.COLLECTIVES)
    assert {line.split()[-1] for line in listed if "this MPI library has no" in line} == lacking
    both = ("--collective", "ibcast,bcast_init")
    cannot_measure(build / "nbc_overlap", "this MPI library has no MPI_Bcast_init", *both, toolchain=toolchain)
    listed = launch(build / "partitioned", "--list", toolchain=toolchain).stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(axes.APPROACH.values)
    lacks = [line.split()[0] for line in listed if "this MPI library has no MPI_Psend_init" in line]
    assert lacks == [name for name in axes.APPROACH.values if name.partition("_")[0] == "part"]
    says = "this MPI library has no MPI_Psend_init, which approach part needs"
    cannot_measure(build / "partitioned", says, "--approach", "part", toolchain=toolchain)


@either_library
@pytest.mark.parametrize(
    ("completion", "chosen"),
    [("wait", ()), ("test", ("MPI_Ialltoall", "MPI_Start", "MPI_Test"))],
    ids=["usual", "three"],
)
def test_the_slow_library_slows_the_calls_that_are_chosen_and_no_other(
    build_for: Build, toolchain: str, completion: str, chosen: tuple[str, ...]
) -> None:
    build = build_for(toolchain)
    slow = {"LD_PRELOAD": str(build / "slow_preload.so"), "SLOW_PERCENT": "300", "SLOW_COUNTS": "1"}
    wanted = {"SLOW_CALLS": ",".join(chosen)} if chosen else {}
    done = launch(build / "exchange_truth", "40", "3", completion, env={**slow, **wanted}, toolchain=toolchain)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"slow_preload: (\w+): (\d+) calls, (\d+) ns, (\d+) ns longer", done.stderr)
    calls = [(name, *map(int, numbers)) for name, *numbers in said]
    started = {f"MPI_{name.capitalize()}" for name in suites.COLLECTIVES if not name.endswith("_init")}
    assert {name for name, *_ in calls} == {*started, "MPI_Start", "MPI_Wait", f"MPI_{completion.capitalize()}"}
    for name, count, took, longer in calls:
        assert count >= 3
        assert longer >= 3 * took - count if name in (chosen or ("MPI_Wait",)) else longer == 0, name


def test_the_slow_library_refuses_a_call_that_it_does_not_know(built: Path) -> None:
    slow = {"LD_PRELOAD": str(built / "slow_preload.so"), "SLOW_CALLS": "MPI_Wait,MPI_Weight"}
    done = launch(built / "exchange_truth", "40", "1", "wait", env=slow)
    assert done.returncode != 0
    assert "slow_preload: SLOW_CALLS has 'MPI_Weight': MPI_Wait, MPI_Waitall, MPI_Test, MPI_Start" in done.stderr
