"""What the programs of several families have in common: wrong data end a launch, what cannot be measured is one line,
`--list` has the values of the axis, and a run of each is shown, reported and archived."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign.toolchains import resolving
from postprocess.families.axes import OPERATION
from postprocess.families.cpu_overhead.record import load_cpu_overhead
from postprocess.families.guidelines.entry import GUIDELINES
from postprocess.families.hybrid.operations import PAPERS
from postprocess.families.hybrid.record import load_hybrid
from postprocess.families.hybrid_kernels.record import VARIANTS, load_kernels
from postprocess.families.partitioned.record import load_partitioned
from postprocess.families.sync_overlap.record import load_sync_overlap
from postprocess.families.transfer_overlap.axes import VARIANT
from postprocess.families.transfer_overlap.record import load_transfer_overlap
from postprocess.records.reading import load_record
from tests.support import Command, cannot_measure, check_record, corruption, launch, only_line, run_path

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

_, MPICH = resolving.DEFAULT_TOOLCHAINS
VERSIONS, OPERATIONS = tuple(VARIANT.values), tuple(OPERATION.values)
RARE = pytest.mark.rare
LOAD: dict[str, Callable[[Path], Any]] = {
    "cpu_overhead": load_cpu_overhead, "hybrid": load_hybrid, "hybrid_kernels": load_kernels,
    "guidelines": lambda path: GUIDELINES.view(load_record(path)),
    "partitioned": load_partitioned, "sync_overlap": load_sync_overlap, "transfer_overlap": load_transfer_overlap,
}  # fmt: skip
BRIEF = "--max-repetitions 9 --interval 0.5"
SIZES = "--delay 2ms --only-these --budget-seconds 30"
ONE = "--grid-points 300 --partitioner bisection --variant neighborhood"
SMALL = "--summa-order 24 --poisson-rows 9 --bpmf-items 101 --iterations 8 --min-repetitions 2 --max-repetitions 2"


@pytest.mark.parametrize(
    ("program", "words", "wrong", "says"),
    [
        ("cpu_overhead", f"--collective alltoall --message-bytes 1024 {BRIEF}", {"wait": 0, "byte": 800},
         ("rank 1 received wrong data from MPI_Alltoall", "the first at position 100 of 256")),
        ("guidelines", f"--guideline iallreduce_wait --message-bytes 1024 {BRIEF}", {"wait": 0},
         ("rank 1: MPI_Iallreduce, MPI_Wait and MPI_Allreduce of 1024 bytes differ in element 0",)),
        ("sync_overlap", f"--message-bytes 8192 {SIZES} {BRIEF}", {"wait": 0, "recv": 8192, "byte": 800},
         ("rank 1: wrong data in word 100 of 1024",)),
        ("partitioned", "--approach single --message-bytes 4096", {"wait": 200, "byte": 800},
         ("rank 1: single: wrong data in partition", "word 100", "when the transfer was complete")),
        # MPI_Reduce within the node, of which rank 0 is the root.
        *(("hybrid", f"--operation {operation} --variant {variant} --message-bytes 2048 {BRIEF}",
           {"wait": 0, "byte": 800, "reduce": 2048, "rank": rank},
           (f"rank {rank} received wrong data from the {whose} library ({operation}, 2048 bytes): ",))
          for operation, variant, whose, rank in (
              ("allgather", "spin", "MPI", 1), ("allreduce", "method1", "hybrid", 0), ("alltoall", "spin", "MPI", 1),
          )),
        # A byte that is changed once changes the residuals; in the last exchange of a solve, only ghosts.
        *(("transfer_overlap", f"{ONE} --tolerance 1e-3 {BRIEF}", {"wait": number}, (says, "wrong data were exchanged"))
          for number, says in ((5, "its residuals differ"), (37, "the solver ended after"), (60, "at the end of a"))),
        # Where no time is left for a repetition.
        ("transfer_overlap", f"{ONE} --tolerance 1e-3 --budget-seconds 0.001", {"wait": 5}, ("its residuals differ",)),
        # What the variant `mpi` gets from MPI's collectives: panels of 12 x 12 elements and of 12 x 24; of all ranks
        # where they must go on alike.
        *(("hybrid_kernels", f"--kernel {kernel} {SMALL}", {"byte": 6, "wait": 0, **wrong}, (" of size ", says))
          for kernel, wrong, says in (
              ("bpmf", {}, "its result differs from that of the first solve"),
              ("bpmf --memory-only", {}, "its result differs from that of the first solve"),
              ("summa", {"bcast": 1152}, "its result is wrong"),
              ("poisson", {"allreduce": 8, "rank": -1}, "its result is wrong"),
          )),
    ],
)  # fmt: skip
def test_wrong_data_end_the_run_and_are_told(
    built: Path, tmp_path: Path, program: str, words: str, wrong: dict[str, int], says: tuple[str, ...]
) -> None:
    record = tmp_path / "record.jsonl"
    env = corruption(built, **wrong)
    done = launch(built / program, *words.split(), "--record", str(record), env=env, toolchain=MPICH)
    assert done.returncode == 1, done.stdout + done.stderr
    line = only_line(program, done.stderr)
    assert [one for one in says if one not in line] == [], line
    check_record(record)
    assert LOAD[program](record).points[-1].data_errors > 0


LARGE = "--grid-points 100000000 --unknowns"


@pytest.mark.parametrize(
    ("program", "ranks", "words", "says"),
    [
        ("cpu_overhead", 2, "--communicators 4", "--communicators: 4 ranks are more than the 2 that there are"),
        ("cpu_overhead", 2, "--communicators 2,2", "--communicators: the values must ascend, 2 follows 2"),
        ("cpu_overhead", 2, "--method paper --ways testing", "with --method paper only blocking calls are measured"),
        ("cpu_overhead", 2, "--configuration apphelper", "a blocking collective has no request for the helper"),
        ("cpu_overhead", 8, "--collective alltoall --message-bytes 2147483640", "too many for alltoall on 8 ranks"),
        ("guidelines", 1, "", "1 rank: a collective needs at least 2"),
        ("guidelines", 2, "--guideline allreduce_of_half", "lacks a call of each of them, or 2 ranks are too few"),
        ("whole_machine", 2, "", "all ranks are on one node: nodes are compared with each other"),
        ("whole_machine", 2, "--message-bytes 12", "--message-bytes: 12 is no multiple of 8"),
        ("sync_overlap", 1, "", "1 rank: a message needs a sender and a receiver"),
        ("sync_overlap", 2, "--message-bytes 100", "--message-bytes: 100 is no multiple of 8"),
        ("sync_overlap", 2, "--delay 10us", "--delay: 10000 ns are too short; 1ms or more"),
        ("sync_overlap", 2, "--send never --message-bytes 8", "sends no message: leave out --message-bytes"),
        ("transfer_overlap", 3, "--grid-points 20",
         "20 points have at most 2 parts, of 8 points or more, and there are 3 ranks"),
        ("transfer_overlap", 2, f"{LARGE} 21", "of a rank, more than half of its share of memory"),
        ("transfer_overlap", 2, f"{LARGE} 1000", "more values than MPI counts"),
        ("hybrid", 1, "", "1 rank: a collective needs at least 2"),
        ("hybrid", 2, "--round-robin", "it deals ranks out to virtual nodes, which --virtual-node-ranks makes"),
        ("hybrid", 2, "--virtual-node-ranks 2", "2 ranks of a virtual node are all 2 ranks: give 1"),
        ("hybrid", 2, "--cache cold --method paper", "--cache cold: --method paper has batches of many calls"),
        ("hybrid", 8, "--message-bytes 2147483640", "bytes are too many for allgather on 8 ranks"),
        ("hybrid_kernels", 2, "--summa-order 363",
         "363 cannot be divided on a grid of 2 x 1 ranks; multiples of 2 can, such as 364"),
        ("hybrid_kernels", 2, "--ratings /nowhere/a.mtx", "--ratings: /nowhere/a.mtx: No such file or directory"),
        ("hybrid_kernels", 2, "--poisson-rows 100000000", "choose a smaller size"),
        ("hybrid_kernels", 3, "--poisson-rows 2", "2 rows cannot be divided among 3 ranks; at least 3"),
        ("hybrid_kernels", 2, "--bpmf-items 1000000000", "factors of 1000000000 items exceed MPI's counts"),
        ("hybrid_kernels", 2, "--summa-order 50000", "may exceed MPI's counts; at most 46340"),
        ("hybrid_kernels", 2, "--iterations 5", "--iterations"),
        ("hybrid_kernels", 2, "--ratings a.mtx --bpmf-items 64", "leave --bpmf-items out"),
        ("partitioned", 3, "", "3 ranks: partitioned communication is measured between pairs; start an even number"),
        ("partitioned", 2, "--message-bytes 16", "16 bytes do not divide into 4 partitions"),
        ("partitioned", 2, "--receive-partitions 3", "4 partitions cannot be received as 3"),
        ("partitioned", 2, "--approach many --receive-partitions 2", "both sides have the same partitions"),
        ("partitioned", 2, "--approach part --aggregation-bytes 512", "approach part does not aggregate"),
        ("partitioned", 2, "--save-sizes none/sizes.txt", "sizes file 'none/sizes.txt' cannot be written"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_one_line(built: Path, program: str, ranks: int, words: str, says: str) -> None:
    cannot_measure(built / program, says, *words.split(), ranks=ranks, toolchain=MPICH)


@pytest.mark.parametrize(("program", "values"), [("transfer_overlap", VERSIONS), ("cpu_overhead", OPERATIONS)])
def test_the_list_has_the_values_of_the_axis(built: Path, program: str, values: tuple[str, ...]) -> None:
    listed = launch(built / program, "--list", toolchain=MPICH).stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(values)


KERNELS = "--kernel poisson --poisson-rows 64 --virtual-node-ranks 1 --budget-seconds 15"


@RARE  # of the largest family there is one that is not
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("benchmark", "words", "rows", "columns"),
    [
        ("hybrid", "", {(one, timed) for one in PAPERS for timed in ("whole", "collective")},
         "operation timed variant baseline t_ns ratio_to_library ratio_to_library_ci95"),
        ("hybrid", "--operation bcast --operation alltoall --message-bytes 64 --message-bytes 8192 --budget-seconds 15",
         {(one, size) for one in ("bcast", "alltoall") for size in (64, 8192)}, "operation message_bytes nodes_are"),
        ("hybrid_kernels", "", {(kernel, one) for kernel in ("summa", "poisson", "bpmf") for one in VARIANTS},
         "kernel variant t_compute_ns t_collective_ns iterations error memory_bytes lines ratio_to_openmp"),
        ("hybrid_kernels", KERNELS, {("poisson", "virtual")}, "kernel nodes_are size virtual_node_ranks"),
        ("sync_overlap", "--protocol default --protocol copied",
         {(protocol, send) for protocol in ("default", "copied") for send in ("early", "late")},
         "protocol send message_bytes outcome range_bytes who_progresses"),
        ("transfer_overlap", "--grid-points 2000 --unknowns 1 --unknowns 4",
         {(unknowns, name) for unknowns in (1, 4) for name in VERSIONS},
         "unknowns variant grid_points improvement_ci95 bound"),
        ("cpu_overhead", "--operation bcast --configuration async --budget-seconds 20",
         {("async", "bcast"), ("basic", "bcast")}, "configuration operation cpu_share_ci95"),
    ],
)  # fmt: skip
def test_a_run_measures_shows_and_archives_it(
    tmp_path: Path, campaign: Command, benchmark: str, words: str, rows: set[tuple[object, object]], columns: str
) -> None:
    usual = ("--toolchain", MPICH, "--configuration", "basic", "--network", "shm", "--output", str(tmp_path))
    done = campaign("run", "--benchmark", benchmark, *words.split(), *usual, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    run = run_path(done.stdout)
    shown = json.loads(campaign("show", str(run), "--benchmark", benchmark, "--json").stdout)
    first, second, *more = columns.split()
    assert {(row[first], row[second]) for row in shown} == rows
    assert all({*more, "toolchain", "valid", "reliable"} <= set(row) for row in shown)
    assert campaign("results", "verify", str(run)).returncode == 0
    assert (tmp_path / "local" / "reports" / run.name / "report.html").is_file()
