"""`partitioned`: what is measured has the delays that were asked for; a run of it over the wire."""

import json
from pathlib import Path

import numpy as np
import pytest

from mpi_campaign.toolchains import resolving
from postprocess.families import axes
from postprocess.families.partitioned.record import LATENCY_BYTES, load_partitioned
from postprocess.statistics.metrics import median_estimate
from tests.support import Command, check_record, launch
from tests.test_partitioned import measured

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS


def test_the_sizes_of_the_method_of_the_paper_are_taken_over(built: Path, tmp_path: Path) -> None:
    """Its delays are times by the clock: the file has targets, and no work."""
    words = ("--approach", "many", "--method", "paper", "--message-bytes", "65536", "--delay-ratios", "2")
    sizes = str(tmp_path / "sizes.txt")
    (first,) = measured(built, tmp_path / "1.jsonl", MPICH, *words, "--save-sizes", sizes, budget_seconds=2).points
    (second,) = measured(built, tmp_path / "2.jsonl", MPICH, *words, "--sizes", sizes, budget_seconds=2).points
    assert first.delay_target_ns == second.delay_target_ns > 0
    assert np.median(second.t_delay_ns) >= second.delay_target_ns


def test_delays_are_planned_anew_where_the_first_readings_were_wrong(built: Path, tmp_path: Path) -> None:
    """A rank's first messages, those of the first series of readings, take 20 times as long."""
    series, messages_of_reading, messages_before = 9, 3, 9
    slow = {
        "LD_PRELOAD": str(built / "slow_preload.so"), "SLOW_CALLS": "MPI_Waitall", "SLOW_PERCENT": "1900",
        "SLOW_FIRST": str(messages_before + series * messages_of_reading),
    }  # fmt: skip
    (point,) = measured(
        built, tmp_path / "record.jsonl", MPICH, "--approach", "many", "--message-bytes", "65536",
        "--delay-ratios", "2", env=slow,
    ).points  # fmt: skip
    latency, transfer = (
        np.median(readings[: len(readings) // series * series].reshape(-1, series), axis=1)
        for readings in (point.latency_readings_ns, point.transfer_readings_ns)
    )
    of_series = 1e9 * (point.transfer_bytes - LATENCY_BYTES) / (transfer - latency)
    assert len(of_series) == 3  # the second disagrees with the first, and the third says whether the second is right
    assert of_series[0] < min(of_series[1:]) / 2
    assert any(point.bytes_per_second == pytest.approx(one) for one in of_series[1:])


def test_a_point_is_repeated_until_its_gain_is_known_twice_as_well_as_its_times(built: Path, tmp_path: Path) -> None:
    asked, most = 0.1, 400
    record = tmp_path / "record.jsonl"
    done = launch(
        built / "partitioned", "--approach", "single", "--message-bytes", "4096,1048576", "--delay-ratios", "0",
        "--interval", str(asked), "--max-repetitions", str(most), "--start", "barrier", "--record", str(record),
        "--quiet", toolchain=MPICH,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for point in load_partitioned(record).points:
        found = median_estimate(point.t_ref_ns / point.t_ns)  # as the rule that stops it sees them
        assert found.high - found.low <= asked / 2 * found.value * (1 + 1e-5) or point.repetitions == most


def test_what_became_of_the_time_of_a_long_delay_is_read(built: Path, tmp_path: Path) -> None:
    """CPU time and waiting for a CPU are what a computation takes; a hypervisor, or an interrupt, may take the rest."""
    found = measured(
        built, tmp_path / "record.jsonl", MPICH, "--approach", "many", "--message-bytes", "16384,16777216",
        "--partitions-per-thread", "4", "--delay-ratios", "2.5", budget_seconds=20,
    )  # fmt: skip
    read = 0
    for point in found.points:
        taken = point.t_computing_cpu_ns + point.t_computing_waiting_ns
        if point.delay_target_ns < 1_000_000:
            assert not taken.any()
        else:
            read += point.repetitions
            assert (point.t_computing_cpu_ns > 0).all()
            assert np.median(taken / point.t_delay_ns) <= 1.01
    assert read


@pytest.mark.parametrize("noise", list(axes.NOISE.values))
@pytest.mark.parametrize("cache", ["warm", pytest.param("cold", marks=pytest.mark.rare)])
def test_noise_decides_which_partitions_are_late(built: Path, tmp_path: Path, noise: str, cache: str) -> None:
    found = measured(
        built, tmp_path / "record.jsonl", MPICH, "--approach", "many", "--noise", noise, "--cache", cache,
        "--message-bytes", "262144", "--partitions-per-thread", "4", "--delay-ratios", "2", "--noise-relative", "0.5",
    )  # fmt: skip
    assert (found.noise, found.cache) == (noise, cache)
    (point,) = found.points
    # From the first partition to the last one: one delay, or the computation of three partitions.
    relative = float(np.median(point.t_delay_ns)) / point.delay_target_ns
    assert 0.5 < relative < 2 if noise == "last" else 1.5 < relative < 6


def test_the_method_of_the_paper_has_its_repetitions_and_a_delay_by_the_clock(built: Path, tmp_path: Path) -> None:
    """Section 4: 150 repetitions, again while half the interval of a mean is more than 5 % of it, at most 50 times."""
    record = tmp_path / "record.jsonl"
    done = launch(
        built / "partitioned", "--approach", "many", "--method", "paper", "--message-bytes", "262144",
        "--delay-ratios", "0,2", "--budget-seconds", "60", "--record", str(record), "--quiet", toolchain=MPICH,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check_record(record)
    for point in load_partitioned(record).points:
        assert (point.repetitions, point.warmup_repetitions) == (150, 0)
        assert point.discarded_repetitions % 150 == 0
        assert point.work_size == 0
        assert abs(float(np.median(point.t_delay_ns)) - point.delay_target_ns) <= 0.1 * point.delay_target_ns


FIELDS = {
    "toolchain", "configuration", "approach", "message_bytes", "threads", "partitions_send", "partitions_receive",
    "delay_ratio", "t_ns", "gain", "gain_ci95", "gain_model", "valid", "reliable",
}  # fmt: skip


@pytest.mark.needs("wire")
@pytest.mark.timeout(600)
def test_a_run_measures_shows_and_reports_it(tmp_path: Path, campaign: Command, inside: Command) -> None:
    """Over a wire, a progress thread lets partitions travel while the last one is computed; nobody else does.

    The budget is for a busy machine: the 100 repetitions of a point take a second or two where nothing disturbs."""
    done = campaign(
        "run", "--benchmark", "partitioned", "--approach", "many", "--toolchain", OPENMPI, "--configuration", "basic",
        "--configuration", "async", "--network", "wire", "--budget-seconds", "60", "--output", str(tmp_path),
        "--message-bytes", "1048576", "--delay-ratio", "0", "--delay-ratio", "2.5",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    run = Path(next(line for line in done.stdout.splitlines() if line.startswith("run: ")).removeprefix("run: "))
    rows = json.loads(inside("show", str(run), "--benchmark", "partitioned", "--json").stdout)
    assert len(rows) == 4
    for row in rows:
        assert set(row) >= FIELDS
        assert len(row["gain_ci95"]) == 2
        assert row["valid"]
    gains = {
        row["configuration"]: row["gain"]
        for row in rows
        if (row["message_bytes"], row["delay_ratio"]) == (1048576, 2.5)
    }
    assert gains["async"] > 1.5 * gains["basic"]  # 4 and 1 where nothing disturbs
    works: dict[tuple[int, float], set[int]] = {}
    for row in rows:
        works.setdefault((row["message_bytes"], row["delay_ratio"]), set()).add(row["work_size"])
    assert all(len(sizes) == 1 for sizes in works.values())
    assert inside("results", "verify", str(run)).returncode == 0
    report = Path(
        next(line for line in done.stdout.splitlines() if line.startswith("report: ")).removeprefix("report: ")
    )
    assert "many" in report.read_text()
    compared = inside("compare", "basic", "async", "--metric", "t_ns", "--json", "--output", str(tmp_path))
    assert compared.returncode == 0, compared.stderr
    cases = json.loads(compared.stdout)["cases"]
    assert {(case["message_bytes"], case["delay_ratio"]) for case in cases} == works.keys()
    assert {(case["approach"], case["verdict"]) for case in cases} == {("many", "cannot tell")}  # one launch each
