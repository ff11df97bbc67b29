"""`transfer_overlap` under real MPI libraries: the same residuals everywhere, and broken on purpose; a run of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mpi_campaign.toolchains import resolving
from postprocess.families.transfer_overlap.axes import NOTHING, PIPELINED, VARIANT
from postprocess.families.transfer_overlap.entry import wrong
from postprocess.families.transfer_overlap.record import TransferRecord, load_transfer_overlap
from tests.support import Command, check_record, launch, only_line, recorded

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS
BRIEF = ("--tolerance", "1e-3", "--budget-seconds", "2", "--max-repetitions", "9", "--interval", "0.5", "--quiet")
Build = Callable[[str], Path]
VERSIONS = tuple(VARIANT.values)


def measured(folder: Path, path: Path, toolchain: str, *words: str, ranks: int = 2) -> TransferRecord:
    recorded(folder / "transfer_overlap", path, *words, *BRIEF, toolchain=toolchain, ranks=ranks)
    return load_transfer_overlap(path)


def histories(folder: Path, toolchain: str, *words: str, ranks: int = 2) -> dict[tuple[int, str], tuple[int, str]]:
    """By unknowns and version: iterations and the digest of all residuals, each solved once."""
    done = launch(
        folder / "transfer_overlap", "--check", "--grid-points", "700", "--tolerance", "1e-3", *words,
        toolchain=toolchain, ranks=ranks,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    return {(int(unknowns), name): (int(count), digest) for _, unknowns, name, count, _, digest, *_ in lines}


def test_residuals_are_the_same_for_every_version_library_and_number_of_ranks(build_for: Build) -> None:
    """On 3 ranks a part is no subtree of the leaves."""
    words = ("--unknowns", "1,3")
    two, three = (histories(build_for(MPICH), MPICH, *words, ranks=ranks) for ranks in (2, 3))
    other = histories(build_for(OPENMPI), OPENMPI, *words)
    seeded = histories(build_for(MPICH), MPICH, *words, "--seed", "2", "--variant", "overlap")
    for unknowns in (1, 3):
        expected = two[unknowns, "nonoverlap"]
        assert seeded[unknowns, "overlap"] != expected
        for found in (two, three, other):
            assert {name for each, name in found if each == unknowns} == set(VERSIONS)
            same = [found[unknowns, name] for name in VERSIONS if name not in (PIPELINED, NOTHING)]
            assert set(same) == {expected}
            assert abs(found[unknowns, PIPELINED][0] - expected[0]) <= 2


@pytest.mark.rare
@pytest.mark.parametrize("partitioner", ["metis", "scotch", "bisection"])
def test_a_partitioner_divides_the_grid_always_alike(built: Path, partitioner: str) -> None:
    """It may be absent: then one line says so."""
    words = ("--check", "--grid-points", "2000", "--variant", "overlap", "--partitioner", partitioner)
    first, second = (launch(built / "transfer_overlap", *words, toolchain=MPICH) for _ in range(2))
    assert first.returncode == second.returncode
    if first.returncode:
        assert partitioner != "bisection"
        assert f"--partitioner {partitioner}: the program was built without it" in only_line(
            "transfer_overlap", first.stderr
        )
    else:
        assert first.stdout == second.stdout
        *_, name, cut = first.stdout.splitlines()[1].split()
        assert name == partitioner
        assert 40 < int(cut) < 200


def test_every_version_is_measured_beside_the_one_without_overlap(built: Path, tmp_path: Path) -> None:
    found = measured(built, tmp_path / "record.jsonl", MPICH, "--grid-points", "700")
    assert [point.variant for point in found.points] == list(VERSIONS)
    for point in found.points:
        assert point.data_errors == 0
        assert point.repetitions >= 9
        assert 0 < point.residual <= 1e-3
        nothing = point.variant == NOTHING
        assert (point.exchanged_bytes, point.messages) == ((0, 0) if nothing else (8 * point.interface_points, 2))
        assert point.t_comm_ns.max() > 0
        assert point.partitioner in ("metis", "scotch", "bisection")
        assert point.edge_cut > 0
        assert 1 <= point.imbalance < 1.1
    assert not list(wrong(found))


def test_a_refused_run_leaves_a_record_that_says_why(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    words = ("--grid-points", "900", "--max-iterations", "5", "--record", str(record))
    done = launch(built / "transfer_overlap", *words, toolchain=MPICH)
    assert "after 5 iterations the residual is 0." in only_line("transfer_overlap", done.stderr)
    check_record(record)
    assert load_transfer_overlap(record).incomplete.endswith("raise --max-iterations")


@pytest.mark.rare  # other families have a helper, too
def test_the_helper_of_the_application_may_help(built: Path, tmp_path: Path) -> None:
    words = ("--grid-points", "300", "--variant", "overlap,persistent", "--configuration", "apphelper")
    found = measured(built, tmp_path / "record.jsonl", MPICH, *words)
    assert found.header.thread_level_provided == "multiple"
    assert all(point.data_errors == 0 for point in found.points)


@pytest.mark.rare  # a run
@pytest.mark.timeout(600)
def test_a_solver_that_does_not_converge_fails_its_case_alone(tmp_path: Path, campaign: Command) -> None:
    """With one unknown per point it takes some 44 iterations, with 256 some 65."""
    done = campaign(
        "run", "--benchmark", "transfer_overlap", "--toolchain", MPICH, "--configuration", "basic", "--network", "shm",
        "--grid-points", "700", "--unknowns", "1", "--unknowns", "256", "--max-iterations", "52",
        "--output", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if "after 52 iterations the residual is" in line]
    assert said and all("700 points, 256 unknowns" in line for line in said)
    run = Path(next(line for line in done.stdout.splitlines() if line.startswith("run: ")).removeprefix("run: "))
    rows = json.loads(campaign("show", str(run), "--benchmark", "transfer_overlap", "--json").stdout)
    assert {(row["unknowns"], row["variant"]) for row in rows} == {(1, name) for name in VERSIONS}
