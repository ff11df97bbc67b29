"""Other benchmarks beside ours: found only where they run on the asked library, launched, read, archived and shown."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.cases import Case
from mpi_campaign.running.peers import faults_of_peer, faults_of_unread_peer
from mpi_campaign.toolchains import peers, resolving
from postprocess.families.peers.output import DIED, PeerResult, read_output
from postprocess.families.peers.record import PROGRAM, PeerHeader, load_peer_record, write_peer_record
from postprocess.records.fields import RecordError
from tests.postprocess import synthetic
from tests.support import Command, run_path, succeed

DATA = ROOT / "tests" / "data" / "peers"
INTEL = peers.PEERS["imb_nbc"].wheel

NAN = math.nan
SIZES = """
message ibcast 8000000 1000 converged 8000000
message ibcast 16000000 20000000 converged 16000000
message ibcast 32000000 20000000 unreachable 16000000
message ibcast 64000000 0 not_searched 0
message ireduce 8000000 2000 converged 8000000
"""


def resolved(name: str) -> resolving.Toolchain:
    return resolving.resolve(resolving.parse(name), print)


def found(benchmark: str, name: str, *folders: str, collective: str = "ibcast") -> peers.Program | str:
    toolchain = resolved(name)
    return peers.find(benchmark, collective, toolchain.family, Path(toolchain.prefix), folders)


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs under OSU's names, built with Open MPI."""
    folder = tmp_path_factory.mktemp("osu") / "prefix"
    programs = folder / peers.BELOW[2]
    programs.mkdir(parents=True)
    compiler = resolved("openmpi@5.0.11").mpicc
    succeed(compiler, "-Wall", "-Wextra", "-Werror", "-o", str(programs / "osu_ibcast"), str(DATA / "fake_osu.c"))
    for name in ("osu_iallgather", "osu_iallreduce"):
        shutil.copy(programs / "osu_ibcast", programs / name)
    return folder


# -- which program -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", [INTEL, "mpich@5.0.2"])
def test_the_program_in_intels_wheel_serves_libraries_with_mpichs_interface(name: str) -> None:
    resolved(INTEL)
    program = found("imb_nbc", name)
    assert isinstance(program, peers.Program)
    assert program.mpi_library.is_relative_to(Path(resolved(name).prefix).resolve())
    facts = program.facts()
    assert (facts["name"], facts["package"], facts["package_version"]) == ("IMB-NBC", "impi-rt", "2021.18.1")
    assert len(facts["sha256"]) == 64


@pytest.mark.slow
def test_a_program_that_would_take_another_library_is_not_used(fakes: Path) -> None:
    resolved(INTEL)
    reason = found("imb_nbc", "openmpi@5.0.11")
    assert isinstance(reason, str)
    assert "another binary interface than Open MPI" in reason
    assert "--peer-prefix" in reason
    wheel = found("imb_nbc", "openmpi@5.0.11", resolved(INTEL).prefix)
    assert isinstance(wheel, str)
    assert "needs libmpi.so.12, which this library does not have" in wheel
    assert isinstance(found("osu", "openmpi@5.0.11", str(fakes)), peers.Program)
    other = found("osu", "mpich@5.0.2", str(fakes))
    assert isinstance(other, str)
    assert "libmpi.so.40" in other


def test_what_is_no_program_of_mpi_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "osu_ibcast").write_text("#!/bin/sh\necho 5\n")
    assert isinstance(found("osu", "openmpi@5.0.11", str(tmp_path)), str)  # it cannot be executed: not seen at all
    (tmp_path / "osu_ibcast").chmod(0o755)
    reason = found("osu", "openmpi@5.0.11", str(tmp_path))
    assert isinstance(reason, str)
    assert "is not linked to a shared library of MPI" in reason


def test_where_nothing_of_a_peer_is_there_one_reason_serves_all_collectives(fakes: Path) -> None:
    none = {found("osu", "openmpi@5.0.11", collective=name) for name in peers.COLLECTIVES}
    assert len(none) == 1
    assert "no program of the OSU Micro-Benchmarks" in str(none.pop())
    assert "no osu_ireduce" in str(found("osu", "openmpi@5.0.11", str(fakes), collective="ireduce"))


def test_a_collective_with_sizes_of_another_meaning_is_refused() -> None:
    reason = found("imb_nbc", "openmpi@5.0.11", collective="ibarrier")
    assert isinstance(reason, str)
    assert "ibarrier" in reason


def test_a_folder_without_any_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="osu_ibcast"):
        peers.check_prefixes([str(tmp_path)])


# -- which launches ----------------------------------------------------------------------------------------------------


def planned(tmp_path: Path, benchmark: str, budget_seconds: float = 20.0) -> list[peers.Launch]:
    sizes = tmp_path / "sizes.txt"
    sizes.write_text(SIZES)
    return peers.launches(benchmark, "ibcast", 2, sizes, budget_seconds)


def test_every_size_of_basic_is_launched_once(tmp_path: Path) -> None:
    for benchmark in peers.PEERS:
        assert [one.message_bytes for one in planned(tmp_path, benchmark)] == [1000, 20_000_000]


def test_a_size_is_that_of_the_point_where_computation_is_as_long_as_communication(tmp_path: Path) -> None:
    points = "point ibcast 1000000 2000000 7 9\npoint ibcast 1000000 1000000 8 9\npoint ireduce 1000000 1000000 9 9\n"
    path = tmp_path / "sizes.txt"
    path.write_text(f"message ibcast 1000000 6 converged 1000100\n{points}")
    assert [one.message_bytes for one in peers.launches("osu", "ibcast", 2, path, 1.0)] == [8]


def test_imb_is_told_of_sizes_that_it_would_cap(tmp_path: Path) -> None:
    small, large = planned(tmp_path, "imb_nbc")
    peers.write_lengths(tmp_path, [small, large])
    assert (tmp_path / large.lengths).read_text() == "20000000\n"
    for one, log2 in ((small, "22"), (large, "25")):
        words = one.arguments
        assert words[words.index("-msglog") + 1] == log2
        assert words[words.index("-msglen") + 1] == one.lengths
        assert words[-1] == "Ibcast"


def test_osu_gets_fewer_repetitions_where_time_is_short(tmp_path: Path) -> None:
    assert [one.repetitions for one in planned(tmp_path, "osu", 1000.0)] == [100, 100]
    assert [one.repetitions for one in planned(tmp_path, "osu", 4.0)] == [73, 31]
    assert [one.repetitions for one in planned(tmp_path, "osu", 0.1)] == [10, 10]


@pytest.mark.parametrize(
    ("message_bytes", "ranks", "memory"),
    [(1000, 2, 512 * 2**20), (2**28, 2, 512 * 2**20), (20_000_000, 64, 1_280_000_000), (2**30, 8, 2**33)],
)
def test_osu_is_given_memory_enough_not_to_shorten_a_message(message_bytes: int, ranks: int, memory: int) -> None:
    words = peers.PEERS["osu"].launch(peers.Work("ialltoall", ranks, message_bytes, 10**7, 20.0)).arguments
    assert words == (
        "-m", f"{message_bytes}:{message_bytes}", "-M", str(memory), "-i", "100", "-x", "10",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "# message ibcast", "message ibcast", "message ibcast 1 two converged 3", "\xff"])
def test_sizes_that_say_nothing_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sizes.txt"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(CampaignError, match="basic"):
        peers.launches("osu", "ibcast", 2, path, 1.0)


def test_reports_of_several_launches_over_the_wire_are_added(tmp_path: Path) -> None:
    parts = [tmp_path / "1.wire.json", tmp_path / "wire.json"]
    for part, carried in zip(parts, (7, 5), strict=True):
        part.write_text(json.dumps({"rate": "2gbit", "link_bytes": carried}))
    peers.add_wire_reports(parts, parts[-1])
    assert json.loads(parts[-1].read_text()) == {"rate": "2gbit", "link_bytes": 12}
    parts[0].unlink()
    with pytest.raises(CampaignError, match="left no report"):
        peers.add_wire_reports(parts, parts[-1])


# -- in a run ----------------------------------------------------------------------------------------------------------


def run_of(folder: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], Path, dict[str, Any]]:
    """`./campaign run` over shared memory: what it printed, the run's folder, its manifest."""
    line = [sys.executable, str(ROOT / "campaign"), "run", "--network", "shm", "--output", str(folder), *words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)
    run = run_path(done.stdout)
    return done, run, json.loads((run / "manifest.json").read_text())


def reasons(manifest: dict[str, Any], benchmark: str) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Result and reason of each of a benchmark's cases, by toolchain, configuration and collective."""
    return {
        (case["toolchain"], case["configuration"], case["collective"]): (case["result"], case["reason"])
        for case in manifest["cases"]
        if case["benchmark"] == benchmark
    }


@pytest.mark.beside_others
@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.needs("mpi")
@pytest.mark.timeout(900)
def test_imb_on_mpich_beside_ours(tmp_path: Path, campaign: Command) -> None:
    resolved(INTEL)
    done, run, manifest = run_of(
        tmp_path, "--benchmark", "nbc_overlap", "--benchmark", "imb_nbc", "--collective", "ibcast",
        "--configuration", "basic", "--configuration", "async", "--toolchain", "mpich@5.0.2", "--budget-seconds", "24",
        "--comm-time", "8ms", "--comp-time", "8ms",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    theirs = reasons(manifest, "imb_nbc")
    assert set(theirs) == {("mpich@5.0.2", configuration, "ibcast") for configuration in ("basic", "async")}
    assert set(theirs.values()) == {("pass", "")}
    assert "IMB-NBC 2021.11" in done.stdout
    shown = json.loads(campaign("show", str(run), "--peers", "--json").stdout)
    measured = [row for row in shown if not row["peer_reason"]]  # on a busy machine IMB may give up a size
    assert {(row["toolchain"], row["configuration"]) for row in measured} == {key[:2] for key in theirs}
    for row in measured:
        assert 0 <= row["peer_overlap_percent"] <= 100
        assert row["peer_repetitions"] > 0
        assert row["peer_times_its_basic"] == 1 or row["configuration"] != "basic"
    ours = json.loads(campaign("show", str(run), "--json").stdout)
    assert {point["benchmark"] for point in ours} == {"nbc_overlap"}
    (sizes,) = (run / "records").glob("*.basic.nbc_overlap.*.sizes.txt")
    wanted = [one.message_bytes for one in peers.launches("imb_nbc", "ibcast", 2, sizes, 1.0)]
    for configuration in ("basic", "async"):
        assert [row["message_bytes"] for row in shown if row["configuration"] == configuration] == wanted
    text = campaign("show", str(run), "--peers").stdout
    assert "Times of different programs are not compared" in text
    report = next(line for line in done.stdout.splitlines() if line.startswith("report: "))
    assert "What other benchmarks say" in Path(report.removeprefix("report: ")).read_text()


FAKED = ("iallgather", "iallreduce", "ireduce")


@pytest.mark.beside_others
@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.needs("mpi")
@pytest.mark.timeout(900)
def test_a_peer_that_is_missing_killed_or_prints_something_else_fails_alone(
    tmp_path: Path, fakes: Path, campaign: Command
) -> None:
    done, run, manifest = run_of(
        tmp_path, "--benchmark", "osu", "--toolchain", "openmpi@5.0.11", "--configuration", "basic",
        *(word for name in FAKED for word in ("--collective", name)),
        "--comm-time", "4ms", "--comm-time", "16ms", "--comp-time", "8ms",
        "--budget-seconds", "36", "--peer-prefix", str(fakes),
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    theirs = {key[2]: value for key, value in reasons(manifest, "osu").items()}
    assert theirs["iallgather"][0] == "fail"
    assert "bottles of beer" in theirs["iallgather"][1]
    assert theirs["iallreduce"][0] == "fail"
    shown = json.loads(campaign("show", str(run), "--peers", "--json").stdout)
    reduced = [row for row in shown if row["collective"] == "iallreduce"]
    assert len(reduced) == 2  # a launch for each size that was found
    assert f"1 of its {len(reduced)} launches died" in theirs["iallreduce"][1]
    overlaps = [row["peer_overlap_percent"] for row in reduced if not row["peer_reason"]]
    assert overlaps == [80.0] * (len(reduced) - 1)
    (died,) = [row["peer_reason"] for row in reduced if row["peer_reason"]]
    assert "exit code" in died
    assert theirs["ireduce"][0] == "skip"
    assert "osu_ireduce" in theirs["ireduce"][1]
    assert not list((run / "records").glob("*ireduce*"))
    assert " failed" in done.stdout  # nothing is summed up of it; what its other launches printed is told all the same
    told = [line for line in campaign("show", str(run), "--peers").stdout.splitlines() if "iallreduce" in line]
    assert any("80 %" in line and "its case failed" in line for line in told)


# -- what it was promised to be ----------------------------------------------------------------------------------------


MEASURED = PeerResult(1_000_000, 5, 30.0, 15.0, 15.0, 0.0)


def faults(tmp_path: Path, link_bytes: int = 10**12, **changes: Any) -> list[str]:
    """Of a peer's record over the wire, which is as promised but for the changes of its header; results may be one."""
    header = synthetic.header()
    results = changes.pop("results", (MEASURED,))
    case = Case(
        header["toolchain"], header["provider"], "openmpi-5_0_11", "wire:2gbit", "basic", "imb_nbc",
        {"collective": "ibcast"},
    )  # fmt: skip
    promised: dict[str, Any] = {
        name: case.as_dict()[name]
        for name in ("benchmark", "toolchain", "provider", "configuration", "network", "cache", "collective", "repeat")
    }
    seen = {
        "ranks": 2, "started_utc": "2026-01-01T00:00:00Z", "program": dict.fromkeys(PROGRAM, ""), "mpi_library": "",
        "mpi_standard": header["mpi_standard"], "ranks_reported": 2, "command_lines": (("mpiexec", "IMB-NBC"),),
        "environment": {},
        "metadata": {},
    }  # fmt: skip
    path = tmp_path / "peer.jsonl"
    path.unlink(missing_ok=True)
    write_peer_record(path, PeerHeader(**{**promised, **seen, **changes}), results, 1.0)
    basic = synthetic.write(tmp_path / "basic.jsonl", synthetic.sweep(grid=(16,)))
    wire = tmp_path / "wire.json"
    wire.write_text(json.dumps({"rate": "2gbit", "link_bytes": link_bytes}))
    return faults_of_peer(load_peer_record(path), case, basic, wire)


def test_a_peer_as_promised_has_no_fault(tmp_path: Path) -> None:
    assert faults(tmp_path) == []
    assert faults(tmp_path, mpi_standard="", ranks_reported=None) == []  # OSU tells neither


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"configuration": "async"}, "configuration is async, not basic"),
        ({"collective": "ireduce"}, "collective is ireduce, not ibcast"),
        ({"ranks_reported": 4}, "it ran on 4 ranks, not 2"),
        ({"mpi_standard": "9.9"}, "its library has MPI 9.9, that of basic"),
        ({"link_bytes": 9_999_999}, "less than the payload of 10000000"),
        ({"results": (PeerResult(8, None, NAN, NAN, NAN, NAN, "time-out."),)}, "it gave up on every size: time-out."),
        (
            {"results": (MEASURED, PeerResult(8, None, NAN, NAN, NAN, NAN, f"{DIED}, with exit code 9"))},
            "1 of its 2 launches died: ",
        ),
    ],
)
def test_a_peer_that_is_not_what_was_promised(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    (found,) = faults(tmp_path, **changes)
    assert words in found


def test_a_peer_that_cannot_be_read_says_what_it_printed_and_how_it_ended() -> None:
    with pytest.raises(RecordError) as caught:
        read_output("imb_nbc", "Killed by a signal\n", "ibcast", [8])
    printed, ended = faults_of_unread_peer("imb_nbc", caught.value, 137)
    assert printed.startswith("imb_nbc: ")
    assert "'Killed by a signal'" in printed
    assert ended == "it ended with exit code 137"
    for nothing in (0, None):
        assert faults_of_unread_peer("imb_nbc", caught.value, nothing) == [printed]
