"""Configurations of the programs by hand: what each promises is there, or the run fails; hung runs say where."""

import itertools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign.libraries import recording
from mpi_campaign.this_machine import machine
from mpi_campaign.this_machine.host import cpu_list
from mpi_campaign.toolchains import resolving
from postprocess.families.nbc_overlap.record import OverlapRecord, load_overlap
from tests.support import check_record, launch

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS[:2]
BOTH = pytest.mark.parametrize("toolchain", [OPENMPI, MPICH])
ONE_POINT = (
    "--collective", "ibcast", "--comm-times", "2ms", "--comp-times", "2ms", "--max-repetitions", "5", "--quiet",
)  # fmt: skip

Build = Callable[[str], Path]


def sizes_file(path: Path) -> Path:
    """Sizes for ONE_POINT of two ranks, so that nothing is calibrated."""
    path.write_text(
        "schema mpi-campaign.sizes 4\nranks 2\nthreads_per_rank 1\ncomputation dgemm\n"
        "message ibcast 2000000 262144 converged 2000000\nwork 2000000 200 converged 2000000\n"
    )
    return path


def lines(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if re.match(r"(nbc_overlap|mpi_impact): ", line)]


def one_line(stderr: str) -> str:
    (line,) = lines(stderr)
    return line


def measured(build_for: Build, toolchain: str, tmp_path: Path, configuration: str, *words: str) -> OverlapRecord:
    """Two ranks with a core each; the record keeps the library's own variables."""
    record = tmp_path / "record.jsonl"
    sizes = sizes_file(tmp_path / "sizes.txt")
    family = toolchain.partition("@")[0]
    kept = (*recording.environment(family), *recording.controls(family))
    done = launch(
        build_for(toolchain) / "nbc_overlap", *ONE_POINT, "--configuration", configuration, "--sizes", str(sizes),
        "--record", str(record), *kept, *words, toolchain=toolchain, configuration=configuration, network="wire",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    check_record(record)
    return load_overlap(record)


def header_of(path: Path) -> dict[str, Any]:
    header = json.loads(path.read_text().splitlines()[0])
    assert isinstance(header, dict)
    return header


@BOTH
@pytest.mark.parametrize(
    ("configuration", "source", "level"),
    [("basic", "none", "funneled"), ("async", "library", "funneled"), ("apphelper", "application", "multiple")],
)
def test_the_record_says_whose_progress_thread_there_is(
    build_for: Build, tmp_path: Path, toolchain: str, configuration: str, source: str, level: str
) -> None:
    record = measured(build_for, toolchain, tmp_path, configuration)
    header = record.header
    assert (header.configuration, header.progress.source) == (configuration, source)
    assert header_of(record.path)["thread_level_required"] == level
    assert record.footer is not None
    if configuration == "apphelper":
        assert [len(times) for times in record.footer.helper_thread_cpu_ns] == [1, 1]
        assert all(time > 0 for (time,) in record.footer.helper_thread_cpu_ns)
    else:
        assert record.footer.helper_thread_cpu_ns == ((), ())
    transports = {"openmpi": "pml", "mpich": "MPIR_CVAR_CH4_NETMOD"}
    variables = header_of(record.path)["mpi_variables"]
    family = toolchain.partition("@")[0]
    assert transports[family] in variables
    if family == "openmpi":  # a variable that is true or false
        assert variables["mpi_yield_when_idle"] in {"true", "false"}


@pytest.mark.rare  # a build of its own
def test_the_progress_thread_of_intel_mpi_survives_what_ranks_tell_each_other(build_for: Build, tmp_path: Path) -> None:
    """It crashed in most launches where rank 0 gathered a derived datatype."""
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        measured(build_for, "intel@2021.18.1", folder, "async")


@BOTH
def test_looking_at_control_variables_leaves_the_thread_level_as_it_is(
    build_for: Build, tmp_path: Path, toolchain: str
) -> None:
    build = build_for(toolchain)
    words = (*ONE_POINT, "--configuration", "apphelper", "--sizes", str(sizes_file(tmp_path / "sizes.txt")))
    done = launch(
        build / "nbc_overlap", *words, env={"LD_PRELOAD": str(build / "tool_preload.so")}, toolchain=toolchain,
        configuration="apphelper", network="native",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("call", "listed"), [("MPI_Comm_split_type", True), ("MPI_Ibcast", False)])
def test_a_thread_that_the_library_starts_late_is_seen(
    build_for: Build, tmp_path: Path, call: str, *, listed: bool
) -> None:
    """After MPI_Init, before or while it is measured: in basic, which was to have none that works."""
    path = tmp_path / "record.jsonl"
    built = build_for(MPICH)
    done = launch(
        built / "nbc_overlap", *ONE_POINT, "--sizes", str(sizes_file(tmp_path / "sizes.txt")), "--record", str(path),
        env={"LD_PRELOAD": str(built / "late_preload.so"), "LATE_CALL": call}, toolchain=MPICH,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    check_record(path)
    record = load_overlap(path)
    assert record.footer is not None
    for place, spent in zip(record.header.placement, record.footer.mpi_thread_cpu_ns, strict=True):
        assert ("late" in [thread.name for thread in place.mpi_threads]) is listed
        assert len(spent) == len(place.mpi_threads) + (not listed)
        assert spent[-1] > 0


@BOTH
@pytest.mark.parametrize(("configuration", "by"), [("dedicated", ""), ("apphelper", "program")])
def test_a_rank_with_one_core_shares_it_with_the_progress_thread_and_says_so(
    build_for: Build, tmp_path: Path, toolchain: str, configuration: str, by: str
) -> None:
    header = measured(build_for, toolchain, tmp_path, configuration).header
    assert header.progress.given_up_cores == 0
    assert header.progress.pinned_by == (by or ("program" if toolchain == OPENMPI else "library"))
    if len(machine.core_cpus()) == 2:
        assert header.oversubscribed
        assert header.shared_core
    for rank in header.placement:
        bound = rank.helper_threads if configuration == "apphelper" else rank.mpi_threads
        assert rank.dedicated_cpuset in [thread.cpuset for thread in bound]


@pytest.mark.parametrize(
    ("toolchain", "configuration"),
    [
        *itertools.product((OPENMPI, MPICH), ("dedicated", "apphelper", "dedicated_unbound", "basic_reduced")),
        pytest.param("intel@2021.18.1", "dedicated_unbound", marks=pytest.mark.rare),  # a build of its own
    ],
)
def test_a_rank_with_more_cores_gives_one_up(
    build_for: Build, tmp_path: Path, toolchain: str, configuration: str
) -> None:
    """One rank alone with all cores: a computation beside an idle library, which needs no second rank."""
    path = tmp_path / "record.jsonl"
    cpus = [core[0] for core in machine.core_cpus()]
    done = launch(
        build_for(toolchain) / "mpi_impact", "--configuration", configuration, "--comp-times", "1ms", "--seconds",
        "0.05", "--record", str(path), ranks=1, threads=len(cpus), toolchain=toolchain, configuration=configuration,
        network="wire",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    header = header_of(path)
    (rank,) = header["placement"]
    assert header["progress"]["given_up_cores"] == 1
    assert header["threads_per_rank"] == len(rank["compute_cpusets"]) == len(cpus) - 1
    assert not header["oversubscribed"]
    bound = configuration in ("dedicated", "apphelper")
    if bound:
        assert str(cpus[-1]) not in rank["compute_cpusets"]
        assert not header["shared_core"]
    assert bool(rank["dedicated_cpuset"]) is bound
    if configuration == "dedicated_unbound":
        assert any(set(cpus) <= cpu_list(thread["cpuset"]) for thread in rank["mpi_threads"])
    assert bool(rank["helper_threads"]) is (configuration == "apphelper")
    footer = json.loads(path.read_text().splitlines()[-1])
    (helpers,) = footer["helper_thread_cpu_ns"]
    assert len(helpers) == (configuration == "apphelper")
    # no request is open: a helper that polled all the same would take as long as the computation
    assert sum(helpers) < 0.5 * 50_000_000


def test_the_dedicated_cpu_can_be_chosen(build_for: Build, tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    first = str(machine.core_cpus()[0][0])
    done = launch(
        build_for(MPICH) / "mpi_impact", "--configuration", "apphelper", "--dedicated-cpus", first, "--comp-times",
        "1ms", "--seconds", "0.05", "--record", str(path), ranks=1,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (rank,) = header_of(path)["placement"]
    assert rank["helper_threads"] == [{"name": "app_helper", "cpuset": first}]
    assert first not in rank["compute_cpusets"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--configuration", "apphelper", "--dedicated-cpus", "8000"], "may not use CPU 8000; choose from"),
        (["--configuration", "apphelper", "--dedicated-cpus", "0-1"], "whole number"),
        (["--configuration", "async", "--dedicated-cpus", "0"], "gives no core up"),
        (["--configuration", "apphelper", "--move-progress-threads"], "no thread to move"),
        (["--configuration", "apphelper", "--threads", "4096"], "ask for at most"),
        (["--configuration", "apphelper", "--test-interval", "100us"], "no two threads"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(build_for: Build, words: list[str], says: str) -> None:
    program = "nbc_overlap" if "--test-interval" in words else "mpi_impact"
    done = launch(build_for(MPICH) / program, *words, ranks=1)
    assert done.returncode == 2, done.stderr
    assert says in one_line(done.stderr)


@BOTH
def test_a_thread_level_that_is_too_low_is_refused_with_a_record(
    build_for: Build, tmp_path: Path, toolchain: str
) -> None:
    path = tmp_path / "record.jsonl"
    built = build_for(toolchain)
    done = launch(
        built / "nbc_overlap", *ONE_POINT, "--configuration", "apphelper", "--record", str(path),
        env={"LD_PRELOAD": str(built / "level_preload.so")}, toolchain=toolchain,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "provides the thread level funneled; configuration apphelper needs multiple" in one_line(done.stderr)
    check_record(path)
    assert "needs multiple" in load_overlap(path).incomplete


@pytest.mark.parametrize(
    ("configuration", "env", "says"),
    [
        ("dedicated", {}, "none bound to the dedicated core"),
        ("apphelper", {"OMP_PROC_BIND": "false"}, "a computing thread may run on CPUs"),
    ],
)
def test_what_was_promised_and_is_absent_fails_the_run(
    build_for: Build, tmp_path: Path, configuration: str, env: dict[str, str], says: str
) -> None:
    """All cores for one rank, and a library that nobody told to start or bind anything."""
    path = tmp_path / "record.jsonl"
    done = launch(
        build_for(MPICH) / "mpi_impact", "--configuration", configuration, "--comp-times", "1ms", "--seconds", "0.05",
        "--record", str(path), ranks=1, env=env,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert says in one_line(done.stderr)
    footer = json.loads(path.read_text().splitlines()[-1])
    assert footer["complete"] is False
    assert says in footer["reason"]


def test_the_watch_is_no_thread_of_the_library(build_for: Build, tmp_path: Path) -> None:
    (tmp_path / "watched").mkdir()
    without = measured(build_for, MPICH, tmp_path, "basic")
    watched = measured(build_for, MPICH, tmp_path / "watched", "basic", "--limit-seconds", "200")
    count = [len(rank.mpi_threads) for rank in without.header.placement]
    assert [len(rank.mpi_threads) for rank in watched.header.placement] == count
    assert watched.complete


@pytest.mark.parametrize(
    ("call", "configuration", "where", "toolchain"),
    [
        # Both libraries hang in MPI_Wait; each other call is rare under one of them or under both.
        pytest.param(*hang, toolchain, marks=() if toolchain in usual else pytest.mark.rare)
        for *hang, usual in (
            ("MPI_Wait", "basic", r"MPI_Wait of MPI_Ibcast: point 0 \(2 ms x 2 ms\), repetition \d+", (OPENMPI, MPICH)),
            ("MPI_Test", "apphelper", r"the helper thread's MPI_Test of MPI_Ibcast: point 0 .*", (MPICH,)),
            ("MPI_Finalize", "basic", r"MPI_Finalize", ()),
            ("MPI_Init_thread", "basic", r"MPI_Init", (MPICH,)),
        )
        for toolchain in (OPENMPI, MPICH)
    ],
)
def test_a_hung_run_says_where_each_rank_is_and_ends(
    build_for: Build, tmp_path: Path, toolchain: str, call: str, configuration: str, where: str
) -> None:
    path = tmp_path / "record.jsonl"
    built = build_for(toolchain)
    limit = {"MPI_Finalize": "10", "MPI_Init_thread": "2"}.get(call, "6")  # what comes before it is measured
    done = launch(
        built / "nbc_overlap", *ONE_POINT, "--configuration", configuration, "--limit-seconds", limit, "--sizes",
        str(sizes_file(tmp_path / "sizes.txt")), "--record", str(path), toolchain=toolchain, timeout=60,
        env={"LD_PRELOAD": str(built / "hang_preload.so"), "HANG_CALL": call, "HANG_WAIT": "1"},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    hung = [line for line in lines(done.stderr) if " hangs in " in line]
    if call == "MPI_Init_thread":
        assert len(hung) == 2
        assert all(
            re.fullmatch(rf"nbc_overlap: a rank on {re.escape(os.uname().nodename)} hangs in {where}", line)
            for line in hung
        )
        assert not path.exists()
        return
    assert sum(re.fullmatch(rf"nbc_overlap: rank 1 hangs in {where}", line) is not None for line in hung) == 1, (
        done.stderr
    )
    assert sum(line.startswith("nbc_overlap: rank 0 hangs in ") for line in hung) == 1
    check_record(path)
    record = load_overlap(path)
    if call == "MPI_Finalize":
        assert record.complete
    else:
        assert re.search(r"not over after 6 s \(--limit-seconds\): rank 0 hangs in ", record.incomplete)
