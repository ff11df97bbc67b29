"""`sync_overlap` under real MPI libraries: planted protocols, the negative control, broken on purpose; a run."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd
import pytest

from mpi_campaign.toolchains import resolving
from postprocess.families.sync_overlap.entry import wrong
from postprocess.families.sync_overlap.record import SyncRecord, load_sync_overlap
from postprocess.families.sync_overlap.table import sync_table
from postprocess.statistics.late_receiver import BOTH, FULL, INCOMPLETE, NEITHER, NONE, NOTHING, RECEIVER, UNCLEAR
from tests.support import check_record, launch, launch_line

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS
INTEL = "intel@2021.18.1"
BRIEF = ("--delay", "2ms", "--only-these", "--budget-seconds", "30", "--max-repetitions", "9", "--interval", "0.5")
WITHOUT = {INCOMPLETE, NONE}  # outcomes without full overlap
Build = Callable[[str], Path]


@dataclass(frozen=True)
class Way:
    """How a launch differs from the usual one."""

    network: str = "shm"
    configuration: str = "basic"
    protocol: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


USUAL = Way()


def measured(folder: Path, path: Path, toolchain: str, way: Way, *words: str) -> SyncRecord:
    """A record over shared memory or a wire."""
    line, environment = launch_line(
        folder / "sync_overlap", *BRIEF, *words, "--configuration", way.configuration, "--record", str(path),
        toolchain=toolchain, network=way.network, configuration=way.configuration, env=way.env,
        told={"protocol": way.protocol} if way.protocol else {},
    )  # fmt: skip
    if way.network != "shm":
        rate = way.network.partition(":")[2]
        line = [
            sys.executable, "-m", "mpi_campaign.launching.wire", "--rate", rate, "--report", os.devnull, "--", *line,
        ]  # fmt: skip
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    check_record(path)
    return load_sync_overlap(path)


def answers(
    folder: Path, tmp_path: Path, toolchain: str, sizes: str, *words: str, way: Way = USUAL
) -> tuple[list[str], list[str]]:
    """The outcomes and who progresses, by size, tried again where a crowded machine made some of them unclear."""
    table = pd.DataFrame()
    for _ in range(3):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        table = sync_table([measured(folder, path, toolchain, way, "--message-bytes", sizes, *words)])
        if UNCLEAR not in {*table["outcome"], *table["who_progresses"]}:
            break
    return list(table["outcome"]), list(table["who_progresses"])


def agree(found: list[str], *truth: str | set[str]) -> None:
    """Each answer is right, or one of those that are, or the program says that it does not know: on a crowded machine
    that is no fault."""
    assert len(found) == len(truth)
    for answer, right in zip(found, truth, strict=True):
        assert answer in {UNCLEAR, *({right} if isinstance(right, str) else right)}, (found, truth)


@pytest.mark.rare
@pytest.mark.parametrize("toolchain", [MPICH, OPENMPI, INTEL])
def test_without_a_single_copy_by_the_kernel_a_large_message_needs_both(
    build_for: Build, tmp_path: Path, toolchain: str
) -> None:
    """The first planted case: with CMA the receiver takes the message by itself; without, both must be inside MPI."""
    folder, sizes = build_for(toolchain), "64,4194304"
    outcomes, who = answers(folder, tmp_path, toolchain, sizes, way=Way(protocol="copied"))
    agree(outcomes, FULL, WITHOUT)
    agree(who, RECEIVER, BOTH)
    if toolchain != INTEL:  # it takes some sizes in pieces even so
        outcomes, who = answers(folder, tmp_path, toolchain, sizes)
        agree(outcomes, FULL, FULL)
        agree(who, RECEIVER, RECEIVER)


@pytest.mark.rare
@pytest.mark.parametrize("toolchain", [MPICH, OPENMPI, INTEL])
def test_the_eager_limit_decides_where_the_kernel_does_not_copy(
    build_for: Build, tmp_path: Path, toolchain: str
) -> None:
    """The second planted case: the same size, eager and by rendezvous. Intel MPI sends it eagerly by itself."""
    folder = build_for(toolchain)
    eager, rendezvous = (
        answers(folder, tmp_path, toolchain, "65536", way=Way(protocol=protocol))
        for protocol in ("" if toolchain == INTEL else "eager", "rendezvous")
    )
    agree(eager[0], FULL)
    agree(eager[1], RECEIVER)
    agree(rendezvous[0], WITHOUT)
    agree(rendezvous[1], BOTH)


@pytest.mark.rare
@pytest.mark.needs("wire")
def test_a_progress_thread_moves_the_data_while_both_compute(build_for: Build, tmp_path: Path) -> None:
    """The third planted case: Open MPI's progress thread of TCP is the third party of the paper."""
    folder, sizes, wire = build_for(OPENMPI), "4096,262144", Way(network="wire:2gbit")
    outcomes, who = answers(folder, tmp_path, OPENMPI, sizes, way=wire)
    agree(outcomes, FULL, WITHOUT)
    agree(who, RECEIVER, BOTH)
    thread = replace(wire, configuration="async")
    outcomes, who = answers(folder, tmp_path, OPENMPI, sizes, "--delay", "20ms", way=thread)
    agree(outcomes, FULL, FULL)
    agree(who, NEITHER, NEITHER)


@pytest.mark.rare
@pytest.mark.parametrize("toolchain", [MPICH, OPENMPI])
def test_the_negative_control_has_no_overlap_at_any_size(build_for: Build, tmp_path: Path, toolchain: str) -> None:
    outcomes, _ = answers(build_for(toolchain), tmp_path, toolchain, "0,64,65536", "--send", "late")
    agree(outcomes, NONE, NONE, NONE)


@pytest.mark.rare
def test_a_limit_is_found_between_the_sizes_that_were_asked_for(built: Path, tmp_path: Path) -> None:
    """MPICH without CMA: a message of more than a cell of its shared memory, of 8 KiB with its header, waits."""
    path = tmp_path / "record.jsonl"
    words = ("--message-bytes", "4096,16384", "--delay", "4ms", "--max-repetitions", "9", "--interval", "0.5")
    done = launch(
        built / "sync_overlap", *words, "--budget-seconds", "40", "--record", str(path), toolchain=MPICH,
        told={"protocol": "copied"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = load_sync_overlap(path)
    table = sync_table([found])
    assert found.asked == {4096, 16384}
    small = list(table[table["message_bytes"] <= 8000]["outcome"])
    agree(small, *[FULL] * len(small))
    between = [point.message_bytes for point in found.points if point.message_bytes not in found.asked]
    assert between
    assert all(4096 < size < 16384 and size % 8 == 0 for size in between)
    assert between[0] == 10240


@dataclass(frozen=True)
class Short:
    """A short launch of MPICH, and its record."""

    record: SyncRecord
    printed: str


@pytest.mark.rare
def test_the_memory_of_idle_ranks_is_measured_without_a_message(built: Path, tmp_path: Path) -> None:
    """Four ranks need no core each for that. A raised limit costs MPICH cells of shared memory."""
    totals: list[float] = []
    told: list[dict[str, str]] = [{}, {"protocol": "eager"}]
    for protocol in told:
        path = tmp_path / f"{len(totals)}.jsonl"
        words = ("--send", "never", "--record", str(path))
        done = launch(built / "sync_overlap", *words, ranks=4, toolchain=MPICH, told=protocol)
        assert done.returncode == 0, done.stdout + done.stderr
        check_record(path)
        record = load_sync_overlap(path)
        (point,) = record.points
        assert (record.complete, point.repetitions, list(wrong(record))) == (True, 0, [])
        assert 0 < point.idle_pss_shared_bytes < point.idle_pss_total_bytes
        totals.append(point.idle_pss_total_bytes)
    assert totals[1] > 2 * totals[0]


@pytest.fixture(scope="module")
def short(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Short:
    """A few repetitions of short delays: their times are whatever the machine allows."""
    path = tmp_path_factory.mktemp("sync") / "record.jsonl"
    words = ("--message-bytes", "0,64,65536", "--delay", "1ms", "--only-these", "--max-repetitions", "3")
    done = launch(
        built / "sync_overlap", *words, "--budget-seconds", "10", "--record", str(path), toolchain=MPICH,
        told={"protocol": "copied"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    check_record(path)
    return Short(load_sync_overlap(path), done.stdout)


def test_a_record_has_every_size_and_the_memory(short: Short) -> None:
    record = short.record
    assert (record.complete, record.sender, record.receiver, record.bisects) == (True, 0, 1, False)
    assert [point.message_bytes for point in record.points] == [0, 64, 65536]
    for point in record.points:
        assert point.data_errors == 0
        assert point.delay_ns >= 1_000_000
        assert point.t_recv_ns.size == point.repetitions <= 3
        assert 0 < point.idle_pss_largest_bytes <= point.idle_pss_total_bytes


def test_its_table_and_what_is_printed_have_a_row_for_each(short: Short) -> None:
    table = sync_table([short.record])
    assert list(table["message_bytes"]) == [0, 64, 65536]
    assert table["who_progresses"].iloc[0] == NOTHING
    assert not table["valid"].any()  # fewer than 6 repetitions
    rows = [line.split()[0] for line in short.printed.splitlines() if not line.startswith("#")]
    assert rows == ["bytes", "0", "64", "65536"]


def test_a_receive_that_was_posted_too_late_does_not_count(built: Path, tmp_path: Path) -> None:
    """The receiver is held up in MPI_Irecv, as if it were preempted, from its 20th receive on. Then it takes the
    message itself; it must not look as if the sender had moved it. Delays are made longer until it is held up for less
    than the sender waits."""
    path = tmp_path / "record.jsonl"
    late = {"LD_PRELOAD": str(built / "hang_preload.so"), "HANG_CALL": "MPI_Irecv", "HANG_WAIT": "20",
            "HANG_MICROSECONDS": "1000"}  # fmt: skip
    words = ("--message-bytes", "4096", "--delay", "2ms", "--only-these", "--max-repetitions", "12")
    done = launch(
        built / "sync_overlap", *words, "--budget-seconds", "3", "--record", str(path), env=late, toolchain=MPICH,
        told={"protocol": "copied"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (point,) = load_sync_overlap(path).points
    assert point.repetitions > 0
    # On a crowded machine transfers are slow, and the first delay, which is many of them long, is long enough.
    assert point.late_repetitions > 0 or point.delay_ns > 2_500_000
    assert point.delay_ns > 2_000_000
    assert not point.arrived_neither_bytes.any()
    assert not point.arrived_sender_bytes.any()


def test_a_delay_is_no_longer_than_the_budget_has_time_for(built: Path, tmp_path: Path) -> None:
    """Every transfer looks as if it took 20 ms, so that a delay would take 240 ms, and nine repetitions with it 17 s;
    the budget is 0.6 s. A short delay may have no valid repetition: then nothing could be measured."""
    path = tmp_path / "record.jsonl"
    slow = {"LD_PRELOAD": str(built / "hang_preload.so"), "HANG_CALL": "MPI_Wait", "HANG_RANK": "0",
            "HANG_MICROSECONDS": "20000"}  # fmt: skip
    words = ("--message-bytes", "64", "--delay", "1ms", "--only-these", "--max-repetitions", "1")
    done = launch(
        built / "sync_overlap", *words, "--budget-seconds", "0.6", "--record", str(path), env=slow, toolchain=MPICH
    )  # fmt: skip
    assert done.returncode in (0, 2), done.stdout + done.stderr
    (point,) = load_sync_overlap(path).points
    assert 8_000_000 < point.delay_ns < 8_400_000
