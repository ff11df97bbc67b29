"""`hybrid_kernels` under real MPI libraries: every variant ends with the same result, planted factors are found again,
wrong data, bad input; the reader of ratings; a run of it."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpi_campaign.toolchains import resolving
from postprocess.families.hybrid_kernels.record import VARIANTS, KernelsRecord, load_kernels
from postprocess.families.hybrid_kernels.table import count_of_controls, kernels_table
from tests.support import launch_line, only_line, recorded

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS
SMALL = ("--summa-order", "24", "--poisson-rows", "9", "--bpmf-items", "101", "--iterations", "8")
BRIEF = ("--min-repetitions", "2", "--max-repetitions", "2")
RARE = pytest.mark.rare
Build = Callable[[str], Path]


def measured(build: Path, path: Path, toolchain: str, *words: str, ranks: int = 2) -> KernelsRecord:
    return measured_and_printed(build, path, toolchain, *words, ranks=ranks)[0]


def measured_and_printed(
    build: Path, path: Path, toolchain: str, *words: str, ranks: int = 2
) -> tuple[KernelsRecord, str]:
    """A record, and what the program printed."""
    printed = recorded(build / "hybrid_kernels", path, *words, *BRIEF, toolchain=toolchain, ranks=ranks)
    return load_kernels(path), printed


def ends(found: KernelsRecord) -> dict[str, tuple[int, str, float]]:
    """How each kernel ended: iterations, digest of all bits of the result, error."""
    return {point.kernel: (point.iterations, point.digest, point.error) for point in found.points}


@pytest.fixture(scope="module")
def two_ranks(built: Path, tmp_path_factory: pytest.TempPathFactory) -> KernelsRecord:
    return measured(built, tmp_path_factory.mktemp("kernels") / "record.jsonl", MPICH, *SMALL)


def test_every_kernel_is_right_in_every_variant(two_ranks: KernelsRecord) -> None:
    assert [(point.kernel, point.size) for point in two_ranks.points] == [("summa", 24), ("poisson", 9), ("bpmf", 101)]
    by_kernel = {point.kernel: point for point in two_ranks.points}
    for point in two_ranks.points:
        assert point.data_errors == 0
        for name in VARIANTS:
            variant = point.variants[name]
            assert (variant.t_ns >= variant.t_compute_ns).all()
            # 0: so few data may lie in pages that are there already.
            assert 0 <= variant.growth_bytes < variant.memory_bytes
            assert variant.lines > 5
    assert by_kernel["summa"].error == 0
    assert 0 < by_kernel["poisson"].error < 1e-3
    assert by_kernel["bpmf"].iterations == 8
    # 10 factors of 102 rows and columns of two ranks, 101 of one process: in each process, or in one window.
    copies = {name: by_kernel["bpmf"].variants[name].replicated_bytes for name in VARIANTS}
    assert by_kernel["bpmf"].copy_bytes == 2 * 102 * 10 * 8
    assert (copies["mpi"], copies["openmp"]) == (2 * 2 * 102 * 10 * 8, 2 * 101 * 10 * 8)
    # The two rows of the grid have a panel of 12 x 12 elements each, its column has one of 12 x 24.
    panels = {name: by_kernel["summa"].variants[name].replicated_bytes for name in VARIANTS}
    assert by_kernel["summa"].copy_bytes == (2 * 12 * 12 + 12 * 24) * 8
    assert panels["mpi"] == 2 * (12 * 12 + 12 * 24) * 8


def test_solves_take_turns_and_have_a_control(built: Path, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    words = ("--kernel", "poisson", "--poisson-rows", "33", "--min-repetitions", "16", "--max-repetitions", "16")
    recorded(built / "hybrid_kernels", path, *words, toolchain=MPICH)
    (point,) = (line for line in map(json.loads, path.read_text().splitlines()) if line["type"] == "point")
    orders = {str(one) for one in point["series"]["order"]}
    assert {"".join(sorted(order)) for order in orders} == {"1234"}
    assert {pair for order in orders for pair in pairwise(order)} == set(permutations("1234", 2))
    table = kernels_table([load_kernels(path)])
    assert (table["control"] > 0).all() and count_of_controls(table).controls == 1
    assert (table["handover_ns"] > 0).all()


@RARE
@pytest.mark.timeout(600)
def test_shared_data_are_kept_once_per_node(built: Path, tmp_path: Path) -> None:
    words = ("--kernel", "summa,bpmf", "--summa-order", "512", "--bpmf-items", "8000", "--iterations", "6")
    found = measured(built, tmp_path / "record.jsonl", MPICH, *words)
    for point in found.points:
        hybrid = point.variants["hybrid"]
        assert 1 <= hybrid.replicated_bytes / point.copy_bytes < 1.1
        assert hybrid.replicated_pss_bytes == pytest.approx(hybrid.replicated_bytes, rel=0.1)
    # The operating system counts the same. Of summa it does not: on a grid of 2 x 1 pure MPI never touches one panel.
    summa, bpmf = (point.variants for point in found.points)
    assert summa["mpi"].replicated_pss_bytes < 0.8 * summa["mpi"].replicated_bytes
    for variant in bpmf.values():
        assert variant.replicated_pss_bytes == pytest.approx(variant.replicated_bytes, rel=0.1)
    saved = bpmf["mpi"].replicated_bytes - bpmf["hybrid"].replicated_bytes
    assert bpmf["mpi"].growth_bytes - bpmf["hybrid"].growth_bytes == pytest.approx(saved, rel=0.15)


@pytest.mark.parametrize(
    ("toolchain", "ranks", "words"),
    [
        (MPICH, 2, ("--virtual-node-ranks", "1")),
        pytest.param(MPICH, 3, (), marks=RARE),
        pytest.param(MPICH, 3, ("--virtual-node-ranks", "2"), marks=RARE),
        pytest.param(MPICH, 4, (), marks=RARE),
        pytest.param(MPICH, 4, ("--virtual-node-ranks", "2"), marks=RARE),
        pytest.param(MPICH, 4, ("--virtual-node-ranks", "2", "--round-robin"), marks=RARE),
        pytest.param(MPICH, 4, ("--virtual-node-ranks", "3"), marks=RARE),
        pytest.param(MPICH, 8, (), marks=RARE),
        pytest.param(MPICH, 8, ("--virtual-node-ranks", "3"), marks=RARE),
        pytest.param(OPENMPI, 2, (), marks=RARE),
        pytest.param(OPENMPI, 4, ("--virtual-node-ranks", "2"), marks=RARE),
    ],
    ids=str,
)
@pytest.mark.timeout(600)
def test_results_do_not_depend_on_ranks_nodes_or_library(
    build_for: Build, two_ranks: KernelsRecord, tmp_path: Path, toolchain: str, ranks: int, words: tuple[str, ...]
) -> None:
    """Of one process, too: the variant `openmp` is one where there is one node."""
    barrier = ("--start", "barrier") if ranks > 2 else ()  # ranks that share cores are late for any deadline
    path = tmp_path / "record.jsonl"
    found = measured(build_for(toolchain), path, toolchain, *SMALL, *barrier, *words, ranks=ranks)
    assert ends(found) == ends(two_ranks)
    if words:
        assert set(kernels_table([found])["nodes_are"]) == {"virtual"}


def test_memory_is_measured_without_times(built: Path, tmp_path: Path) -> None:
    """As the campaign does where ranks share cores."""
    words = ("--kernel", "bpmf", "--bpmf-items", "404", "--iterations", "6", "--start", "barrier", "--memory-only")
    found, printed = measured_and_printed(built, tmp_path / "record.jsonl", MPICH, *words, ranks=4)
    (point,) = found.points
    for way, variant in point.variants.items():
        row = re.search(rf"^ *bpmf +404 +{way} +(\d+) +(\d+) +(\d+) ", printed, re.MULTILINE)
        assert row, printed
        assert tuple(map(int, row.groups())) == (variant.growth_bytes, variant.replicated_bytes, point.copy_bytes)
    assert (found.memory_only, point.repetitions, point.data_errors) == (True, 0, 0)
    table = kernels_table([found]).set_index("variant")
    assert table["valid"].all() and not table["reliable"].any()
    assert table["copies_per_node"].to_dict() == pytest.approx({"mpi": 4, "openmp": 1, "hybrid": 1}, abs=0.1)


@RARE
def test_another_seed_is_another_chain(built: Path, two_ranks: KernelsRecord, tmp_path: Path) -> None:
    found = measured(built, tmp_path / "r.jsonl", MPICH, "--kernel", "bpmf", *SMALL, "--seed", "2")
    assert ends(found)["bpmf"][1] != ends(two_ranks)["bpmf"][1]


# ---- ratings from a file ----


def matrix_market(entries: list[tuple[int, int, float]], rows: int, columns: int) -> str:
    lines = [f"{row + 1} {column + 1} {value!r}" for row, column, value in entries]
    return "\n".join(("%%MatrixMarket matrix coordinate real general", f"{rows} {columns} {len(entries)}", *lines, ""))


def test_the_error_falls_to_the_planted_noise(built: Path, tmp_path: Path) -> None:
    rng, noise, (rows, columns) = np.random.default_rng(1), 0.25, (120, 100)
    products = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, columns))
    rated = products + noise * rng.normal(size=products.shape)
    entries = [(i, j, float(rated[i, j])) for i in range(rows) for j in range(columns) if rng.random() < 0.8]
    rng.shuffle(entries)
    file = tmp_path / "ratings.mtx"
    file.write_text(matrix_market([(int(i), int(j), value) for i, j, value in entries], rows, columns))
    words = ("--kernel", "bpmf", "--ratings", str(file), "--noise", str(noise))
    found = measured(built, tmp_path / "r.jsonl", MPICH, *words)
    assert found.ratings == "ratings.mtx"
    assert 0.9 * noise < found.points[0].error < 1.15 * noise


def read_by_the_program(built: Path, *files: Path) -> list[str]:
    """What the reader says of each file: rows, columns, entries and a sum of them; or why it is refused."""
    done = subprocess.run(
        [built / "ratings_truth", *files], capture_output=True, text=True, check=False, timeout=60, errors="replace"
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


PLACES = st.integers(1, 30)
NUMBERS = st.one_of(st.floats(-1e6, 1e6), st.integers(-9, 9).map(float))
FEW = settings(max_examples=10)


@FEW
@given(rows=PLACES, columns=PLACES, data=st.data())
def test_what_is_written_is_read(built: Path, tmp_path: Path, rows: int, columns: int, data: st.DataObject) -> None:
    places = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    there = data.draw(st.dictionaries(places, NUMBERS, min_size=1, max_size=20))
    entries = [(row, column, value) for (row, column), value in there.items()]
    text = matrix_market(entries, rows, columns)
    file = tmp_path / "a.mtx"
    file.write_text(text.replace("\n", "\n% a comment\n\n", 1) if data.draw(st.booleans()) else text)
    (line,) = read_by_the_program(built, file)
    assert line.split()[:3] == [str(rows), str(columns), str(len(entries))]
    total = sum(value * (row + 1) + column + 1 for row, column, value in sorted(entries))
    assert float(line.split()[3]) == pytest.approx(total, rel=1e-9, abs=1e-6)


@FEW
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_in_one_line(built: Path, tmp_path: Path, data: st.DataObject) -> None:
    whole = matrix_market([(0, 0, 1.5), (2, 1, -3.0), (1, 3, 1e300)], 3, 4).encode()
    files = []
    for number in range(20):
        cut = data.draw(st.integers(0, len(whole)))
        other = data.draw(st.binary(max_size=6))
        skipped = data.draw(st.integers(0, 12))
        file = tmp_path / f"{number}.mtx"
        file.write_bytes(whole[:cut] + other + whole[cut + skipped :])
        files.append(file)
    for line, file in zip(read_by_the_program(built, *files), files, strict=True):
        assert line.startswith(f"--ratings: {file}") or re.fullmatch(r"\d+ \d+ \d+ \S+", line)


HEAD = "%%MatrixMarket matrix coordinate real general\n"
REFUSED = [
    ("", "line 0: the file is empty"),
    ("1 1 1\n", "it must be '%%MatrixMarket matrix coordinate real general'"),
    ("%%MatrixMarket matrix array real general\n", "only 'matrix coordinate real general'"),
    ("%%MatrixMarket matrix coordinate pattern symmetric\n", "only 'matrix coordinate real general'"),
    (HEAD, "truncated: the line with rows, columns and entries is missing"),
    (HEAD + "3 4\n", "line 2: it must have the numbers of rows, columns and entries"),
    (HEAD + "3 99999999999 1\n1 1 1\n", "each from 1 to 2147483647"),
    (HEAD + "3 4 2\n1 1 1\n", "truncated: it has 1 of 2 entries"),
    (HEAD + "3 4 1\n1 1 1\n2 2 1\n", "line 4: there are more entries than the file says"),
    (HEAD + "3 4 1\n4 1 1\n", "line 3: the row must be a whole number from 1 to 3"),
    (HEAD + "3 4 1\n0 1 1\n", "line 3: the row must be a whole number from 1 to 3"),
    (HEAD + "3 4 1\n1 5 1\n", "line 3: the column must be a whole number from 1 to 4"),
    (HEAD + "3 4 1\n1 1 nan\n", "line 3: the third word must be a finite number"),
    (HEAD + "3 4 1\n1 1\n", "line 3: the third word must be a finite number"),
    (HEAD + "3 4 1\n1 1 1 1\n", "line 3: the third word must be a finite number, and the last one"),
    (HEAD + "3 4 2\n1 2 1\n1 2 3\n", "row 1, column 2 is there twice"),
]


def test_what_is_no_matrix_of_ratings_says_why(built: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.mtx" for number in range(len(REFUSED))]
    for file, (text, _) in zip(files, REFUSED, strict=True):
        file.write_text(text)
    for line, (_, says) in zip(read_by_the_program(built, *files), REFUSED, strict=True):
        assert says in line


# ---- bad input, wrong data ----


@RARE
@pytest.mark.needs("mount")
def test_windows_that_exceed_the_shared_memory_are_refused_with_both_sizes(built: Path) -> None:
    line, environment = launch_line(built / "hybrid_kernels", "--kernel", "bpmf", "--bpmf-items", "600000")
    small = f"mount -t tmpfs -o size=64m tmpfs /dev/shm && exec {shlex.join(line)}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", small],
        capture_output=True, text=True, check=False, timeout=240, env=environment,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.search(
        r"--bpmf-items: bpmf of size 600000: the window of node 0 has 960\d{5} bytes, and its shared memory "
        r"\(/dev/shm\) has room for \d+ bytes: choose a smaller size",
        only_line("hybrid_kernels", done.stderr),
    )
