"""Memory and records of the programs where there are many ranks: measured on 32, computed for more."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign.toolchains import resolving
from tests.support import check_record, launch

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi")]

OPENMPI = resolving.DEFAULT_TOOLCHAINS[0]  # its ranks let others run where there are more ranks than cores
FEW, MORE = 4, 16  # ranks, on however few cores
LARGE = (64, 512, 4096)
MESSAGE_BYTES = 8192
REPETITIONS = 20
NUMBERS_OF_A_REPETITION = 2  # that a rank keeps of its own while a point's repetitions are gathered
NUMBERS_OF_AN_OVERLAP = 12  # likewise of `nbc_overlap`, which times more parts; warm-ups differ from launch to launch
FEWER = "one_off_of_fewer"  # of a header of `hybrid`: one entry for each of 2, 4, 8 ... ranks that is fewer than all
EVERY_RANK = ("rank_samples", "thread_medians")  # the parts of a point that only records of at most 64 ranks have

Build = Callable[[str], Path]


@dataclass(frozen=True)
class Used:
    """What a run took, in bytes. A record of more than 64 ranks has no `EVERY_RANK`: so `record` is without it. It is
    without `FEWER` too, which grows with the logarithm of the ranks, and not on a line."""

    ranks: int
    rank_0: int
    others: int  # the largest, without what repetitions take: how many a warm-up adds is chance
    record: int
    values: int  # in the record, as `record` counts it: no chance is in them, while bytes depend on the digits of times
    longest_line: int  # of the record, with `EVERY_RANK`


def at(ranks: int, fewer: Used, more: Used) -> Used:
    """What a run of so many ranks takes, on the straight line through two runs."""

    def line(name: str) -> int:
        low, high = getattr(fewer, name), getattr(more, name)
        return int(high + (high - low) / (more.ranks - fewer.ranks) * (ranks - more.ranks))

    return Used(ranks, line("rank_0"), line("others"), line("record"), line("values"), line("longest_line"))


def most_of_a_rank(fewer: Used, more: Used) -> float:
    """The most bytes that rank 0 may take for each other rank: a few numbers, the six times of every repetition, and
    both as text. A line of the record is made in a buffer that doubles: it has less than twice the line's length."""
    return 8 * (8 + 6 * REPETITIONS) + 2 * more.longest_line / (more.ranks - fewer.ranks)


def of_any_number_of_ranks(path: Path) -> list[dict[str, Any]]:
    """The lines of a record without `EVERY_RANK` and `FEWER`."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    of_fewer = lines[0].get("own", {}).pop(FEWER, None)
    assert of_fewer is None or [2 * one["ranks"] for one in of_fewer[-1:]] == [lines[0]["ranks"]]
    assert of_fewer is None or len(of_fewer) == lines[0]["ranks"].bit_length() - 2
    return [{name: value for name, value in line.items() if name not in EVERY_RANK} for line in lines]


def bytes_of(lines: list[dict[str, Any]]) -> int:
    return sum(len(json.dumps(line, separators=(",", ":"))) + 1 for line in lines)


def values_of(part: Any, name: str = "") -> int:
    """How many numbers and texts a part of a record has. Of a warm-up there are none, and of other repetitions
    REPETITIONS: one that is found to belong to no warm-up after all counts too."""
    if name == "warmup":
        return 0
    if isinstance(part, dict):
        return sum(values_of(value, key if name not in ("series", "spreads") else name) for key, value in part.items())
    if isinstance(part, list):
        return sum(map(values_of, part[:REPETITIONS] if name in ("series", "spreads") else part))
    return 1


def sizes(collective: str, ranks: int) -> str:
    """The sizes file of one point, so that nothing is calibrated."""
    return (
        f"schema mpi-campaign.sizes 4\nranks {ranks}\nthreads_per_rank 1\ncomputation dgemm\n"
        f"message {collective} 1000000 {MESSAGE_BYTES} off_target 1000000\nwork 1000000 100 off_target 1000000\n"
    )


def measure(build: Path, folder: Path, collective: str, ranks: int) -> Used:
    """A broadcast or another collective of `nbc_overlap`, at one point. Of two launches the one that held less: at its
    peak a rank may hold something more by chance, and never less."""
    given = folder / f"{collective}-{ranks}.sizes.txt"
    given.write_text(sizes(collective, ranks))
    words = ("--collective", collective, "--comm-times", "1ms", "--comp-times", "1ms", "--sizes", str(given))
    records = (folder / f"{collective}-{ranks}.{launch}.jsonl" for launch in range(2))
    program = build / "nbc_overlap"
    both = (used(program, record, words, ranks, NUMBERS_OF_AN_OVERLAP) for record in records)
    return min(both, key=lambda one: one.others)


def used(
    program: Path, record: Path, words: tuple[str, ...], ranks: int, numbers: int = NUMBERS_OF_A_REPETITION
) -> Used:
    """What a launch of a program took, with a fixed number of repetitions."""
    build = program.parent
    done = launch(
        program,
        *words,
        *("--min-repetitions", str(REPETITIONS), "--max-repetitions", str(REPETITIONS), "--start", "barrier"),
        *("--record", str(record)),
        ranks=ranks,
        toolchain=OPENMPI,
        env={"LD_PRELOAD": str(build / "memory_preload.so")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check_record(record)
    held = {int(rank): int(size) for rank, size in re.findall(r"rank (\d+) held at most (\d+) bytes", done.stderr)}
    assert sorted(held) == list(range(ranks))
    lines = record.read_text().splitlines()
    made = max(point.get("warmup_repetitions", 0) + point.get("repetitions", 0) for point in map(json.loads, lines))
    others = max(held[rank] for rank in range(1, ranks)) - numbers * 8 * made
    kept = of_any_number_of_ranks(record)
    return Used(ranks, held[0], others, bytes_of(kept), sum(map(values_of, kept)), max(map(len, lines)))


MESSAGE = ("--message-bytes", str(MESSAGE_BYTES))
POINTS_OF_A_RANK = 200


def one_point(family: str, ranks: int) -> tuple[str, ...]:
    """Options of a point at which each rank has as much to do on any number of ranks."""
    return {
        "partitioned": ("--approach", "many", "--delay-ratios", "0", *MESSAGE),
        "cpu_overhead": ("--collective", "bcast", "--communicators", str(ranks), "--ways", "blocking", *MESSAGE),
        "sync_overlap": ("--delay", "1ms", "--only-these", *MESSAGE),
        "hybrid": ("--operation", "bcast", "--variant", "barrier", *MESSAGE),
        "transfer_overlap": ("--variant", "overlap", "--grid-points", str(POINTS_OF_A_RANK * ranks)),
    }[family]


@pytest.mark.parametrize("numbers", [(4, 8, 16), pytest.param((8, 16, 32), marks=pytest.mark.rare)], ids=str)
def test_a_rank_takes_no_more_memory_where_there_are_more_ranks(
    build_for: Build, tmp_path: Path, numbers: tuple[int, int, int]
) -> None:
    """A broadcast needs one buffer, whatever the number of ranks."""
    few, more, most = (measure(build_for(OPENMPI), tmp_path, "ibcast", ranks) for ranks in numbers)
    computed = at(most.ranks, few, more)
    assert most.others == pytest.approx(computed.others, rel=0.01)  # the line holds
    assert most.values == computed.values
    for ranks in LARGE:
        large = at(ranks, few, most)
        print(f"{large}; bytes of the record for each rank: {large.record / ranks:.0f}")
        assert large.rank_0 - few.rank_0 < (ranks - few.ranks) * most_of_a_rank(few, most)
        # A rank keeps not even one number of each other rank.
        assert large.others - few.others < (ranks - few.ranks) * 8
        # A rank adds to the record its placement, four medians for each point, and the CPU time of MPI's threads.
        assert large.record - few.record < (ranks - few.ranks) * 320


@pytest.mark.rare
@pytest.mark.parametrize("collective", ["ialltoall", "ialltoallv", "ialltoallw"])
def test_an_exchange_takes_its_buffers_and_the_arrays_of_its_call(
    build_for: Build, tmp_path: Path, collective: str
) -> None:
    """One block for each rank, sent and received, with what the call takes of each block."""
    few, more = (measure(build_for(OPENMPI), tmp_path, collective, ranks) for ranks in (FEW, MORE))
    arrays = {"ialltoall": 0, "ialltoallv": 2 * 4, "ialltoallw": 2 * 4 + 4 + 8 + 8}[collective]
    of_a_rank = 2 * (1.125 * MESSAGE_BYTES + arrays)  # a buffer has an eighth more than it needs
    grown = (more.others - few.others) / (more.ranks - few.ranks)
    assert 2 * MESSAGE_BYTES < grown <= 1.05 * of_a_rank


@pytest.mark.rare
@pytest.mark.parametrize("family", ["partitioned", "cpu_overhead", "sync_overlap", "hybrid"])
def test_other_families_keep_no_messages_and_no_repetitions_of_other_ranks(
    build_for: Build, tmp_path: Path, family: str
) -> None:
    few, more = (
        used(build_for(OPENMPI) / family, tmp_path / f"{ranks}.jsonl", one_point(family, ranks), ranks)
        for ranks in (FEW, 2 * FEW)
    )
    for ranks in LARGE:
        large = at(ranks, few, more)
        print(f"{family}: {large}; bytes of the record for each rank: {large.record / ranks:.0f}")
        assert large.rank_0 - few.rank_0 < (ranks - few.ranks) * most_of_a_rank(few, more)
        assert large.others - few.others < (ranks - few.ranks) * 8 * 8  # eight numbers of each other rank
        assert large.record - few.record < (ranks - few.ranks) * 320


@pytest.mark.rare
def test_a_solver_keeps_the_whole_grid_only_as_numbers_of_its_parts(build_for: Build, tmp_path: Path) -> None:
    """While it is set up, every rank holds the leaf of each point of the whole grid, 2 bytes, and its own number of
    it, 4 bytes; rank 0 divides the grid. A grid of 200 points for each rank grows with the ranks, and so do these."""
    few, more = (
        used(
            build_for(OPENMPI) / "transfer_overlap",
            tmp_path / f"{ranks}.jsonl",
            one_point("transfer_overlap", ranks),
            ranks,
        )
        for ranks in (FEW, 2 * FEW)
    )
    grown = (more.others - few.others) / (more.ranks - few.ranks)
    print(f"{grown:.0f} bytes for each rank more; rank 0: {(more.rank_0 - few.rank_0) / (more.ranks - few.ranks):.0f}")
    of_the_grid = POINTS_OF_A_RANK * (2 + 4)
    assert of_the_grid / 2 < grown < of_the_grid + 8 * 8
    assert more.record - few.record < (more.ranks - few.ranks) * 320
