"""`timing_selfcheck`: its record against the schema, what it refuses, what happens when a clock fails."""

import json
import os
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign.doctor import selfcheck
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds, resolving
from postprocess.records.reading import load_record, validate_lines
from tests.support import cannot_measure, corruption, launch

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi")]

RANKS = 2
STARTS = 60
REPETITIONS = 12
TARGETS_NS = [300_000, 2_000_000]
QUICK = ("--hold", "0.2", "--starts", str(STARTS), "--noise-seconds", "0.2", "--threads", "1")
WORK = ("--targets", "300us,2ms", "--repetitions", str(REPETITIONS))
ONE_RANK = "one rank: nothing to compare"

Line = dict[str, Any]


def read(record: Path) -> list[Line]:
    """Every line, each validated against the family's schema."""
    validate_lines(record)
    assert load_record(record).family == "timing_selfcheck"
    return [json.loads(text) for text in record.read_text().splitlines()]


def measure(
    program: Path, folder: Path, *words: str, ranks: int = RANKS, env: dict[str, str] | None = None
) -> list[Line]:
    """The lines of a run that must end well."""
    record = folder / "selfcheck.jsonl"
    done = launch(program, *words, "--record", str(record), ranks=ranks, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return read(record)


def of(lines: Iterable[Line], section: str) -> list[Line]:
    """The points of a section: their parameters and what is their own, and beside these the members of the envelope."""
    points = (line for line in lines if line["type"] == "point" and line["parameters"]["section"] == section)
    return [{**line, **line["parameters"], **line["own"]} for line in points]


def sections(lines: Iterable[Line]) -> list[str]:
    """What the lines are: their type, or for a point its section."""
    return [line["parameters"]["section"] if line["type"] == "point" else line["type"] for line in lines]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def whole(built: Path, folder: Path) -> list[Line]:
    """All sections on two ranks; leaves its sizes in `folder`."""
    (folder / "metadata.json").write_text('{"why": "a test"}')
    words = ("--save-sizes", str(folder / "sizes.txt"), "--metadata", str(folder / "metadata.json"))
    return measure(built / "timing_selfcheck", folder, *QUICK, *WORK, *words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--only", "sleep"], "timer, clock, start, noise, work"),
        (["--targets", "4ms,1ms"], "ascend"),
        (["--repetitions", "5", "--interval", "0.02"], "--interval"),
        (["--max-repetitions", "5"], "--repetitions"),
        (["--sizes", "a", "--save-sizes", "b"], "--save-sizes"),
        (["--only", "noise", "--save-sizes", "b"], "work"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_is_one_line_and_exit_code_2(built: Path, words: list[str], says: str) -> None:
    cannot_measure(built / "timing_selfcheck", says, *words)


def test_the_sections_come_in_order_and_the_record_is_whole(whole: list[Line]) -> None:
    kinds = ["header", "timer", "clock", *["start"] * 3, *["noise"] * RANKS, *["work"] * 2 * len(TARGETS_NS), "footer"]
    assert sections(whole) == kinds
    header, footer = whole[0], whole[-1]
    assert header["ranks"] == RANKS
    assert header["metadata"] == {"why": "a test"}
    assert [place["rank"] for place in header["placement"]] == list(range(RANKS))
    assert footer["complete"]
    assert footer["reason"] == ""
    assert footer["points"] == len(kinds) - 2
    assert not [line["own"]["reason"] for line in whole if line["own"].get("reason")]
    parameters = header["plan"]["parameters"]
    assert parameters == {"section": ["timer", "clock", "start", "noise", "work"], "target_ns": TARGETS_NS}
    assert header["plan"]["max_repetitions"] == REPETITIONS


def test_the_clock_is_looked_at_at_once_and_after_the_hold(whole: list[Line]) -> None:
    (clock,) = of(whole, "clock")
    assert clock["method"] == "shared"
    assert clock["clocks"] == clock["rounds"] == 1
    at_once, later = clock["residuals"]
    assert at_once["after_seconds"] < 0.2 <= later["after_seconds"]
    assert at_once["with_drift_ns"] == at_once["without_drift_ns"]  # one clock: there is no drift


def test_every_start_is_counted_once(whole: list[Line]) -> None:
    starts = {line["method"]: line for line in of(whole, "start")}
    assert list(starts) == ["deadline", "mpi_barrier", "dissemination"]
    for line in starts.values():
        assert line["repetitions"] == len(line["series"]["start_imbalance_ns"])
        assert line["late_repetitions"] == len(line["late_imbalance_ns"])
        assert line["repetitions"] + line["late_repetitions"] == STARTS
    assert starts["mpi_barrier"]["late_repetitions"] == starts["dissemination"]["late_repetitions"] == 0


def test_the_noise_of_every_thread_adds_up(whole: list[Line]) -> None:
    noise = of(whole, "noise")
    assert [(line["rank"], line["thread"]) for line in noise] == [(rank, 0) for rank in range(RANKS)]
    assert len({(line["host"], line["cpu"]) for line in noise}) == RANKS  # bound to cores of their own
    for line in noise:
        lengths = line["detour_lengths_ns"]
        assert line["seconds"] >= 0.2
        assert min(lengths, default=line["threshold_ns"] + 1) > line["threshold_ns"] == 1000
        if line["truncated"]:
            assert len(lengths) == 10000 < line["detours"]
        else:
            assert len(lengths) == line["detours"]
            assert max(lengths, default=0) == line["longest_ns"]
            assert line["share"] == pytest.approx(sum(lengths) / (line["seconds"] * 1e9), rel=1e-6)


def test_the_work_is_sampled_as_often_as_asked_and_its_median_is_that_of_the_samples(whole: list[Line]) -> None:
    work = of(whole, "work")
    kinds = ("computation", "communication")
    assert [(line["kind"], line["target_ns"]) for line in work] == [(k, t) for k in kinds for t in TARGETS_NS]
    for line in work:
        samples, elapsed = line["series"]["t_ns"], line["series"]["elapsed_ns"]
        assert line["calibration"]["measurements"] > 0
        if line["stop_reason"] == "not_measured":  # a machine so noisy that no size could be found
            assert line["calibration"]["status"] == "unreachable"
            continue
        assert line["stop_reason"] == "repetitions"
        assert len(samples) == len(elapsed) == line["repetitions"] >= REPETITIONS
        assert len(line["warmup"]["t_ns"]) == line["warmup_repetitions"]
        low, high = sorted(samples)[0], sorted(samples)[-1]
        assert line["interval_relative_reached"] <= (high - low) / statistics.median(samples)
        # A sample is the slowest rank's; when it ended, rank 0 says, which may have been faster.
        assert elapsed == sorted(elapsed)
        assert elapsed[-1] >= sum(samples) / 2


def test_sizes_are_reused_and_nothing_is_calibrated(whole: list[Line], folder: Path, built: Path) -> None:
    program, sizes = built / "timing_selfcheck", folder / "sizes.txt"
    found = {(line["kind"], line["target_ns"]): line for line in of(whole, "work")}
    words = ("--only", "work", *QUICK, *WORK, "--sizes", str(sizes))
    (folder / "again").mkdir()
    for line in of(measure(program, folder / "again", *words), "work"):
        before = found[line["kind"], line["target_ns"]]
        assert line["size"] == before["size"]
        if before["calibration"]["status"] not in ("unreachable", "not_monotonic"):
            assert line["calibration"]["status"] == "given"
        assert line["calibration"]["measurements"] == 0
        assert line["calibration"]["time_ns"] == before["calibration"]["time_ns"]
    other_target = ("--only", "work", "--targets", "5ms", "--threads", "1", "--sizes", str(sizes))
    cannot_measure(program, "5000000 ns", *other_target)
    cannot_measure(program, "2 ranks", *words, ranks=1)


def test_only_what_was_asked_for(built: Path, tmp_path: Path) -> None:
    lines = measure(built / "timing_selfcheck", tmp_path, *QUICK, "--only", "noise,timer", "--threads", "2")
    assert sections(lines) == ["header", "timer", *["noise"] * 2 * RANKS, "footer"]
    assert [(line["rank"], line["thread"]) for line in of(lines, "noise")] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert lines[0]["oversubscribed"] == (lines[0]["physical_cores"] < 4)


def test_one_rank_measures_what_has_a_sense(built: Path, tmp_path: Path) -> None:
    lines = measure(built / "timing_selfcheck", tmp_path, *QUICK, *WORK, ranks=1)
    (clock,) = of(lines, "clock")
    assert clock["reason"] == ONE_RANK
    assert clock["residuals"] == []
    for start in of(lines, "start"):
        assert start["reason"] == ONE_RANK
        assert start["repetitions"] == start["late_repetitions"] == 0
        assert start["series"] == {}
    assert len(of(lines, "timer")) == len(of(lines, "noise")) == 1
    for line in of(lines, "work"):
        if line["kind"] == "communication":
            assert line["reason"] == ONE_RANK
            assert line["stop_reason"] == "not_measured"
            assert line["series"]["t_ns"] == []
            assert line["calibration"] is None
        else:
            assert len(line["series"]["t_ns"]) >= REPETITIONS
    assert lines[-1]["complete"]


def test_more_ranks_than_cores_are_said_to_be(built: Path, tmp_path: Path) -> None:
    ranks = 2 * len(os.sched_getaffinity(0))
    words = (
        "--hold", "0", "--starts", "10", "--noise-seconds", "0.05", "--threads", "1", "--only", "clock,start,noise",
    )  # fmt: skip
    lines = measure(built / "timing_selfcheck", tmp_path, *words, ranks=ranks)
    assert lines[0]["oversubscribed"]
    assert len(of(lines, "noise")) == ranks
    assert {line["repetitions"] + line["late_repetitions"] for line in of(lines, "start")} == {10}
    assert len(of(lines, "clock")[0]["residuals"]) == 1  # no hold: at once only


def test_ranks_with_clocks_of_their_own(built: Path, tmp_path: Path) -> None:
    env = {"ARTIFICIAL_CLOCK": "offset_s=3,drift_ppm=40"}
    words = (*QUICK, "--only", "clock,start")
    lines = measure(built / "timing_selfcheck_artificial", tmp_path, *words, env=env)
    (clock,) = of(lines, "clock")
    assert clock["method"] == "interpolated"
    assert clock["clocks"] == 2
    assert clock["baseline_seconds"] >= 0.2
    assert len(clock["residuals"]) == 2
    for start in of(lines, "start"):
        imbalance_ns = start["series"]["start_imbalance_ns"]
        assert len(imbalance_ns) + len(start["late_imbalance_ns"]) == STARTS
        assert max(imbalance_ns, default=0) < 1e9  # not the 3 s between the clocks


@pytest.mark.parametrize("fault", ["backwards_ns=5000", "offset_s=1,step_ns=1e8,step_after_s=1.5"])
def test_a_clock_that_cannot_be_trusted_is_named_and_not_used(built: Path, tmp_path: Path, fault: str) -> None:
    words = ("--hold", "1.5", "--starts", "20", "--targets", "300us", "--repetitions", "6", "--threads", "1")
    program = built / "timing_selfcheck_artificial"
    lines = measure(program, tmp_path, *words, "--only", "clock,start,work", env={"ARTIFICIAL_CLOCK": fault})
    (clock,) = of(lines, "clock")
    assert clock["method"] == "none"
    assert "rank 1" in clock["refusal"]
    assert clock["residuals"] == []
    for start in of(lines, "start"):
        assert clock["refusal"] in start["reason"]
        assert start["series"] == {}
        assert start["late_imbalance_ns"] == []
        assert start["repetitions"] == (0 if start["method"] == "deadline" else 20)
    for line in of(lines, "work"):
        assert line["reason"]
        assert line["late_repetitions"] == 0  # nobody is late for a barrier
        assert line["start_method"] == "barrier"
    assert lines[-1]["complete"]


def test_a_record_is_never_written_over(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text("precious")
    cannot_measure(built / "timing_selfcheck", str(record), "--only", "timer", "--record", str(record))
    assert record.read_text() == "precious"


def test_one_flipped_byte_fails_the_run(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    corrupt = corruption(built, rank=1, wait=5)
    words = ("--only", "timer,work", "--targets", "1ms", "--threads", "1", "--record", str(record))
    done = launch(built / "timing_selfcheck", *words, env=corrupt)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"timing_selfcheck: rank 1 received wrong data from MPI_Ibcast", done.stderr), done.stderr
    footer = read(record)[-1]
    assert not footer["complete"]
    assert "rank 1" in footer["reason"]


@pytest.mark.rare
def test_another_compiler_builds_anew_in_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CMake would begin again by itself, without the options that it was given."""
    monkeypatch.setattr(builds, "STATE", tmp_path)
    toolchain = resolving.resolve(resolving.parse(resolving.DEFAULT_TOOLCHAINS[0]), print)
    first = selfcheck.build(toolchain)
    folder = builds.folder(toolchain.environment, toolchain.mpicc)
    assert builds.anew(folder) == []
    other = tmp_path / "bin" / "other-cc"
    other.parent.mkdir()
    other.symlink_to(machine.compiler())
    monkeypatch.setenv("CC", str(other))
    assert builds.anew(folder) == ["--fresh"]
    assert selfcheck.build(toolchain) == first
    assert builds.anew(folder) == []
