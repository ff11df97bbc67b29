"""`hybrid` under real MPI libraries: every point, virtual nodes, wrong data, bad input; a run of it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mpi_campaign.toolchains import resolving
from postprocess.families.hybrid.operations import OPERATIONS
from postprocess.families.hybrid.record import HybridRecord, load_hybrid
from postprocess.families.hybrid.table import hybrid_table
from postprocess.families.sampled_table import having
from tests.support import launch, recorded

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS
BRIEF = ("--max-repetitions", "9", "--interval", "0.5")
Build = Callable[[str], Path]


def measured(folder: Path, path: Path, toolchain: str, *words: str, ranks: int = 2) -> tuple[HybridRecord, str]:
    """A record, and what the program printed."""
    printed = recorded(folder / "hybrid", path, *words, *BRIEF, toolchain=toolchain, ranks=ranks)
    return load_hybrid(path), printed


def assert_the_table_is_of_the_record(found: HybridRecord, printed: str) -> None:
    """What the program prints for people has the numbers of the record, in every row."""
    rows = [words for words in map(str.split, printed.splitlines()) if words and words[0] in OPERATIONS]
    assert len(rows) == len(found.points)
    for row, point in zip(rows, found.points, strict=True):
        assert row[:3] == [point.operation, point.variant, str(point.message_bytes)]
        for column, batch in ((3, "library_whole"), (4, "hybrid_whole"), (6, "library_alone"), (7, "hybrid_alone")):
            t_ns = np.median(point.t_ns[batch]) / point.calls[batch]
            assert int(row[column]) == pytest.approx(t_ns, abs=1), (point.operation, point.variant, batch)
        assert float(row[5]) == pytest.approx(int(row[4]) / int(row[3]), abs=0.02)
        assert float(row[8]) == pytest.approx(int(row[7]) / int(row[6]), abs=0.02)


METHODS = {
    "spin": {"each", "slices", "leader", "reduce"}, "untuned": {"auto"}, "barrier": {"auto"},
    "paper": {"leader", "reduce"}, "method1": {"reduce"}, "method1_barrier": {"reduce"}, "method2": {"leader"},
}  # fmt: skip
"""How each variant may reduce within a node."""


@pytest.mark.rare  # twenty points; the next test measures five
@pytest.mark.parametrize("toolchain", [MPICH, OPENMPI])
def test_every_collective_is_measured_in_every_way(build_for: Build, tmp_path: Path, toolchain: str) -> None:
    path = tmp_path / "record.jsonl"
    every = ("--operation", ",".join(OPERATIONS))
    found, printed = measured(build_for(toolchain), path, toolchain, *every, "--message-bytes", "800")
    ways, reductions = ("spin", "untuned", "barrier"), ("paper",)
    figures = ("method1", "method1_barrier", "method2")
    assert {(one.operation, one.variant, one.message_bytes) for one in found.points} == {
        (name, variant, 800)
        for name, operation in OPERATIONS.items()
        for variant in (
            *ways, *(reductions if operation.reduces else ()), *(figures if name == "allreduce" else ()),
        )
    }  # fmt: skip
    for one in found.points:
        assert one.data_errors == 0
        assert one.repetitions >= 9
        assert one.calls["hybrid_whole"] == one.calls["papers_whole"]
        assert one.node_method in (METHODS[one.variant] if OPERATIONS[one.operation].reduces else {""})
        assert one.papers_node_method in (METHODS["paper"] if OPERATIONS[one.operation].reduces else {""})
        if one.variant == "paper":
            assert one.node_method == one.papers_node_method
    assert all("overlap" not in one.calls for one in found.points)  # there is one node
    assert all(len(times) == 9 and (times > 0).all() for times in found.one_off_ns.values())
    table = hybrid_table([found])
    assert len(table) == 2 * len(found.points)
    assert set(table["nodes_are"]) == {"real"}
    assert_the_table_is_of_the_record(found, printed)


def test_batches_take_turns_and_trials_have_a_time(built: Path, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    asked = ("--operation", "bcast", "--variant", "spin,untuned", "--message-bytes", "800", "--method", "paper")
    found, _ = measured(built, path, MPICH, *asked)
    points = [line for line in map(json.loads, path.read_text().splitlines()) if line["type"] == "point"]
    assert all(len(set(point["series"]["order"])) > 3 for point in points)
    assert [point.trials_ns > 0 for point in found.points] == [True, False]
    table = hybrid_table([found])
    sure = table["pays_back_without_trials_calls"].notna()
    more = table["pays_back_calls"] > table["pays_back_without_trials_calls"]
    assert (more == (sure & (table["variant"] == "spin"))).all()


def test_virtual_nodes_are_said_and_never_reliable(built: Path, tmp_path: Path) -> None:
    asked = ("--operation", ",".join(OPERATIONS), "--variant", "spin", "--message-bytes", "800")
    words = ("--virtual-node-ranks", "1", *asked, "--method", "paper")
    found, printed = measured(built, tmp_path / "record.jsonl", MPICH, *words)
    assert_the_table_is_of_the_record(found, printed)
    assert (found.shared_nodes, found.header.nodes) == (2, 1)
    assert found.node_ranks == (1, 1)
    # As the paper's: 10,000 calls of each kind.
    assert {point.repetitions * calls for point in found.points for calls in point.calls.values()} == {10_000}
    table = hybrid_table([found])
    assert set(table["method"]) == {"paper"}
    assert set(table["nodes_are"]) == {"virtual"}
    assert not table["reliable"].any()
    assert set(table["verdict"]) == {"cannot tell"}
    # A computation between start and wait, of each collective.
    between = having(table, "r_overhead")
    assert list(between["operation"]) == list(OPERATIONS)
    assert set(between["timed"]) == {"collective"}
    assert (between["t_overlap_ns"] > 0.8 * between["t_computation_ns"]).all()
    assert (between["t_computation_ns"] > between["t_steps_ns"] / 2).all()


@pytest.mark.rare
def test_cold_caches_on_uneven_nodes(built: Path, tmp_path: Path) -> None:
    words = (
        "--virtual-node-ranks", "2", "--operation", ",".join(OPERATIONS), "--variant", "spin",
        "--message-bytes", "65536", "--cache", "cold",
    )  # fmt: skip
    found, _ = measured(built, tmp_path / "record.jsonl", MPICH, *words, ranks=3)
    assert found.node_ranks == (2, 1)
    assert set(found.one_off_of_fewer_ns) == {2}
    assert all(set(point.calls.values()) == {1} for point in found.points)
    # Nothing is tried.
    assert {(point.evicts, point.node_method, point.papers_node_method) for point in found.points} == {
        (False, "", ""),
        (False, "auto", "paper"),
    }


SETTINGS = {
    (MPICH, "usual"): ("MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM", "2"),
    (MPICH, "shared_memory"): ("MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM", "1"),
    (MPICH, "point_to_point"): ("MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM", "0"),
    (OPENMPI, "usual"): ("coll_sm_priority", "0"),
    (OPENMPI, "shared_memory"): ("coll_sm_priority", "100"),
    (OPENMPI, "point_to_point"): ("coll", "^sm,han,adapt,xhc,acoll,ucc,hcoll"),
}
"""A control variable by which a library says what it was told, and its value."""


@pytest.mark.rare
@pytest.mark.parametrize(("toolchain", "setting"), SETTINGS)
def test_a_setting_reaches_the_library_and_the_record(
    build_for: Build, tmp_path: Path, toolchain: str, setting: str
) -> None:
    variable, value = SETTINGS[toolchain, setting]
    told = {} if setting == "usual" else {"intranode": setting}
    words = ("--intranode", setting, "--record-controls", variable, "--record", str(tmp_path / "record.jsonl"))
    one = ("--variant", "spin", "--message-bytes", "65536", *BRIEF)
    done = launch(build_for(toolchain) / "hybrid", *words, *one, toolchain=toolchain, told=told)
    assert done.returncode == 0, done.stdout + done.stderr
    found = load_hybrid(tmp_path / "record.jsonl")
    assert found.header.mpi_variables is not None
    assert found.header.mpi_variables[variable] == value
    assert set(hybrid_table([found])["baseline"]) == {f"library, {setting.replace('_', ' ')}"}
