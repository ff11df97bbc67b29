"""Records of partitioned communication: their gains against a known truth, what may be used, pictures and report."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mpi_campaign import ROOT
from mpi_campaign.verdicts import baseline
from postprocess.drawing.curve_view import chart_view
from postprocess.drawing.curves import DOTTED
from postprocess.families import axes, registry, sampled_inside
from postprocess.families.family import unit_of
from postprocess.families.partitioned import entry
from postprocess.families.partitioned.charts import charts
from postprocess.families.partitioned.entry import PARTITIONED
from postprocess.families.partitioned.record import load_partitioned
from postprocess.families.partitioned.table import partitioned_table, record_numbers
from postprocess.records.run import load_run
from postprocess.statistics.metrics import series_estimate
from postprocess.verdicts.acceptance import FAIL, PASS, judge, read_criteria
from tests.postprocess import synthetic
from tests.postprocess.synthetic_partitioned import (
    DELAY_RATIO,
    EARLY,
    LATE,
    SIZES,
    Lines,
    Truth,
    point,
    record,
    transfer_ns,
    true_gain,
)
from tests.support import check_record, example

LARGE = 1 << 24


def table_of(path: Path, *records: Lines) -> pd.DataFrame:
    return partitioned_table([load_partitioned(file) for file in synthetic.written(path, records)])


def row_of(
    path: Path, *, truth: Truth = EARLY, noise: str = "last", oversubscribed: bool = False, **changes: Any
) -> Any:
    """The row of a record of one point."""
    lines = record(sizes=(LARGE,), ratios=(DELAY_RATIO,), noise=noise, oversubscribed=oversubscribed)
    lines[1] = point(truth=truth, message_bytes=LARGE, **changes)
    return table_of(path, lines).iloc[0]


@pytest.mark.parametrize("truth", [EARLY, LATE, replace(EARLY, times_slower=1.3)])
def test_gains_are_the_truths(tmp_path: Path, truth: Truth) -> None:
    table = table_of(tmp_path, record(truth=truth))
    for row in table.to_dict("records"):
        expected = true_gain(truth, row["message_bytes"], row["messages"], row["delay_ratio"], row["partitions_send"])
        assert row["gain"] == pytest.approx(expected, rel=2e-3)
        assert row["gain_ci95_low"] <= row["gain"] <= row["gain_ci95_high"]
        assert row["gain_ci95_high"] - row["gain_ci95_low"] < 0.03 * row["gain"]


def test_the_gain_of_figure_8_is_reached_by_what_sends_early_and_by_nothing_else(tmp_path: Path) -> None:
    early, late = (row_of(tmp_path, truth=truth) for truth in (EARLY, LATE))
    assert early["gain"] == pytest.approx(8 / 3, rel=0.02)
    assert early["gain_model"] == pytest.approx(8 / 3, rel=0.02)
    assert early["gain_vs_model"] == pytest.approx(1, rel=0.01)
    assert late["gain"] == pytest.approx(1, rel=0.01)
    assert late["gain_model"] == pytest.approx(8 / 3, rel=0.02)
    assert late["gain_vs_model"] == pytest.approx(3 / 8, rel=0.02)


def test_noise_that_both_times_share_does_not_widen_the_gain(tmp_path: Path) -> None:
    """A gain is made within repetitions: a machine that is slower by a half now and then changes no ratio."""
    shaken = row_of(tmp_path, truth=replace(EARLY, common_noise=0.4))
    assert shaken["t_ns_ci95_high"] - shaken["t_ns_ci95_low"] > 0.1 * shaken["t_ns"]
    assert shaken["gain_ci95_high"] - shaken["gain_ci95_low"] < 0.02 * shaken["gain"]
    assert shaken["reliable"]


@pytest.mark.parametrize("common", [0.0, 0.3])
def test_the_interval_of_a_gain_covers_the_truth(common: float) -> None:
    """Of 600 synthetic points with independent noise at least 93.5 % hold the true gain."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(600):
        together = np.exp(common * rng.standard_normal(15))
        reference, times = together * np.exp(0.05 * rng.standard_normal((2, 15)))
        found = series_estimate(2.5 * reference / times)
        held += bool(found.low <= 2.5 <= found.high)
    assert held / 600 >= 0.935


def test_nothing_is_clamped(tmp_path: Path) -> None:
    row = row_of(tmp_path, truth=replace(LATE, times_slower=30), delay_ratio=0)
    assert row["gain"] == pytest.approx(1 / 30, rel=0.01)
    assert row["availability"] == pytest.approx(-29, rel=0.01)
    assert row["overhead"] == pytest.approx(30, rel=0.01)
    fast = row_of(tmp_path, truth=replace(EARLY, times_slower=0.1))
    assert fast["gain"] > fast["partitions_send"]  # impossible, and said as it is


def test_the_metrics_of_temucin_are_those_of_the_samples(tmp_path: Path) -> None:
    row = row_of(tmp_path)
    reference, delay, after = row["t_ref_ns"], row["t_delay_ns"], row["t_after_last_ns"]
    assert row["overhead"] == pytest.approx((delay + after) / reference, rel=0.02)
    assert row["availability"] == pytest.approx(1 - after / reference, rel=0.02)
    assert row["early_bird_share"] == pytest.approx(delay / (delay + after), rel=0.02)
    assert row["perceived_bytes_per_second"] == pytest.approx(1e9 * LARGE / after, rel=0.02)
    assert row["perceived_bytes_per_second"] > 2 * EARLY.bytes_per_second  # more than the network has


def test_the_model_uses_the_bandwidth_of_the_run_where_the_reference_is_not_longer_than_the_latency(
    tmp_path: Path,
) -> None:
    lines = record(sizes=(8,), ratios=(0,))
    lines[1] = point(message_bytes=8, delay_ratio=0, latency_ns=5_000.0)
    (row,) = table_of(tmp_path, lines).to_dict("records")
    assert row["gain_model"] == pytest.approx(1 / 4, rel=1e-3)
    assert any("not longer than the latency" in flag for flag in row["flags"])


def test_the_buffer_of_several_neighbours_is_as_many_times_as_large(tmp_path: Path) -> None:
    """16 MiB to each of 2 neighbours, in the time of one: the bandwidth is twice as high. 7 of 8 messages go early."""
    of_two = row_of(tmp_path, truth=LATE, messages=8, neighbours=2, different_neighbours=1, repetitions=22)
    alone = row_of(tmp_path, truth=LATE, repetitions=22)
    assert of_two["perceived_bytes_per_second"] == pytest.approx(2 * alone["perceived_bytes_per_second"])
    reference, latency = alone["t_ref_ns"], EARLY.latency_ns
    after_delay = reference + 7 * latency - alone["t_delay_ns"]
    assert of_two["gain_model"] == pytest.approx(reference / after_delay, rel=0.01)
    assert any("its 2 neighbours are 1 different ranks: start 4 ranks" in flag for flag in of_two["flags"])


def test_without_latency_there_is_no_model_and_still_a_gain(tmp_path: Path) -> None:
    unread: dict[str, Any] = {"latency_readings_ns": [], "transfer_readings_ns": []}
    row = row_of(tmp_path, latency_ns=None, bytes_per_second=None, **unread)
    assert row["reliable"] and math.isfinite(row["gain"])
    assert math.isnan(row["gain_model"]) and math.isnan(row["gain_vs_model"])
    assert any("no model" in flag for flag in row["flags"])
    assert not any("guessed" in flag for flag in row["flags"])
    assert any("guessed bandwidth" in flag for flag in row_of(tmp_path, delay_guessed=True)["flags"])


@pytest.mark.parametrize("noise", axes.NOISE.values)
def test_only_a_delay_of_the_last_partition_can_be_off_its_plan(tmp_path: Path, noise: str) -> None:
    """Beta is read as half of what the delays were planned by. With other noises D is a sum over partitions."""
    slow = [2 * transfer_ns(EARLY) - round(EARLY.latency_ns)] * 9
    row = row_of(
        tmp_path, noise=noise, delay_ratio=2 * DELAY_RATIO,
        latency_readings_ns=[round(EARLY.latency_ns)] * 9, transfer_readings_ns=slow,
    )  # fmt: skip
    off_plan = (
        "gamma beta was 2.50 [2.50, 2.50], planned was 5: the bandwidth was 0.50 times the one that it was planned by"
    )
    assert (off_plan in row["flags"]) is (noise == "last")
    assert row["delay_ratio_measured"] == pytest.approx(2.5, rel=2e-3)
    assert row["reliable"]  # the model uses the delay that was measured
    on_plan = row_of(tmp_path, noise=noise)
    assert not any("gamma beta" in flag for flag in on_plan["flags"])


@pytest.mark.parametrize(
    ("found", "took", "says"),
    [
        (1.0, 1.0, ""),
        (1.05, 1.04, ""),  # both within what the search and the readings allow
        (0.95, 1.0, ""),
        (0.86, 1.0, "the work that was found takes 0.86 times as long as planned"),
        (1.04, 1.35, "the computation took 1.35 times as long as when its work was searched"),
        (1.2, 0.8, ""),  # one makes up for the other: the point stands where it was planned
    ],
)
def test_a_delay_off_its_plan_says_why(tmp_path: Path, found: float, took: float, says: str) -> None:
    """found: the time of the work when it was searched, relative to the target. took: relative to that."""
    lines = record(sizes=(LARGE,), ratios=(DELAY_RATIO,))
    series, own = lines[1]["series"], lines[1]["own"]
    series["t_delay_ns"] = [round(found * took * time) for time in series["t_delay_ns"]]
    own["delay_calibration"].update(time_ns=round(found * own["delay_target_ns"]), error_relative=found - 1)
    (row,) = table_of(tmp_path, lines).to_dict("records")
    flags = [flag for flag in row["flags"] if "gamma beta" in flag]
    assert [flag.partition("planned was 2.5: ")[2] for flag in flags] == ([says] if says else [])


def test_a_longer_delay_says_what_became_of_its_time(tmp_path: Path) -> None:
    lines = record(sizes=(LARGE,), ratios=(DELAY_RATIO,))
    series = lines[1]["series"]
    (row,) = table_of(tmp_path, lines).to_dict("records")
    assert math.isnan(row["t_computing_cpu_ns"])  # an older record
    planned = series["t_delay_ns"]
    series["t_delay_ns"] = [round(1.5 * time) for time in planned]
    series["t_computing_cpu_ns"] = [round(1.2 * time) for time in planned]
    series["t_computing_waiting_ns"] = [round(0.25 * time) for time in planned]
    (row,) = table_of(tmp_path, lines).to_dict("records")
    assert row["t_computing_cpu_ns"] == pytest.approx(0.8 * row["t_delay_ns"], rel=1e-3)
    assert row["t_computing_waiting_ns"] == pytest.approx(row["t_delay_ns"] / 6, rel=1e-3)
    (flag,) = [flag for flag in row["flags"] if "gamma beta" in flag]
    assert flag.endswith(" of CPU time, 105 µs of waiting for a CPU)")
    series["t_computing_cpu_ns"] = series["t_computing_waiting_ns"] = [0] * len(planned)
    (row,) = table_of(tmp_path, lines).to_dict("records")
    assert math.isnan(row["t_computing_waiting_ns"])  # too short to be read


def test_latency_and_bandwidth_are_those_of_the_whole_launch(tmp_path: Path) -> None:
    """The ranks were disturbed when the delays were planned, and at few of the points."""
    lines = record()
    rng = np.random.default_rng(3)
    for line in lines[1:-1]:
        slower = 1.6 if line["index"] in (0, 5, 7) else 1.0
        count = 5 if line["index"] == 0 else 1
        own = line["own"]
        own["transfer_readings_ns"] = [round(slower * transfer_ns(EARLY) * x) for x in rng.uniform(0.99, 1.01, count)]
        own["latency_readings_ns"] = [round(slower * EARLY.latency_ns)] * count
        own["bytes_per_second"] = EARLY.bytes_per_second / 1.6
    row = table_of(tmp_path, lines).iloc[-1]
    assert row["bytes_per_second"] == pytest.approx(EARLY.bytes_per_second, rel=0.01)
    assert row["bytes_per_second_ci95_low"] < EARLY.bytes_per_second < row["bytes_per_second_ci95_high"]
    assert row["latency_ns"] == EARLY.latency_ns
    assert row["delay_ratio_measured"] == pytest.approx(DELAY_RATIO, rel=0.01)
    assert row["gain_model"] == pytest.approx(8 / 3, rel=0.02)


def test_flags_leave_a_point_reliable(tmp_path: Path) -> None:
    lines = record(sizes=(LARGE,), ratios=(0,))
    lines[1] = point(message_bytes=LARGE, delay_ratio=0, late_repetitions=100, start_method="barrier")
    lines[1]["series"]["t_delay_ns"] = [10**6] * 21
    (row,) = table_of(tmp_path, lines).to_dict("records")
    assert row["reliable"]
    flags = " ".join(row["flags"])
    for words in ("no delay was planned", "started late", "by a barrier"):
        assert words in flags
    lines[1] = synthetic.without_clock(lines[1])
    (row,) = table_of(tmp_path, lines).to_dict("records")
    assert row["valid"]
    assert not row["reliable"]


def test_a_case_that_failed_is_not_reliable(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "records" / "a.jsonl", record())
    table = partitioned_table([load_partitioned(path)], {"records/a.jsonl": ("a case", "rank 1 shares a core")})
    assert not table["reliable"].any()
    assert table["unreliable_reasons"][0][0] == "the case failed: rank 1 shares a core"


@pytest.mark.parametrize("approach", ["part", "part_coarse", "single", "layer", "rma_fence"])
def test_records_of_every_approach_conform_to_the_schema(tmp_path: Path, approach: str) -> None:
    lines = record(approach, aggregations=(0, 4096))
    check_record(synthetic.write(tmp_path / "a.jsonl", lines))
    unmeasured = [lines[0], point(approach=approach, repetitions=0, delay_calibration=None), *lines[-1:]]
    unmeasured[-1]["points"] = 1
    check_record(synthetic.write(tmp_path / "b.jsonl", unmeasured))


def test_the_numbers_of_a_record_are_geometric_means(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "a.jsonl", record(truth=replace(EARLY, times_slower=1.25)))
    loaded = load_partitioned(path)
    numbers, table = record_numbers(loaded), partitioned_table([loaded])
    assert numbers["t_ratio_to_single"] == pytest.approx(float(np.exp(np.log(1 / table["gain"]).mean())))
    assert numbers["gain_vs_model"] == pytest.approx(1 / 1.25, rel=0.01)
    assert (numbers["points"], numbers["points_valid"], numbers["points_reliable"]) == (12, 12, 12)
    assert PARTITIONED.numbers is not None
    assert PARTITIONED.numbers(loaded, None).doubt == ""
    assert {unit_of(name) for name in numbers} == {"ratio", "points"}
    assert {bound.metric for bound in PARTITIONED.bounds} <= set(numbers)


def test_the_model_is_held_against_long_messages_with_a_delay(tmp_path: Path) -> None:
    """Gains of short messages are far from a model that adds up their latencies, in both directions."""
    lines = record()
    place = next(i for i, line in enumerate(lines[1:-1], 1) if line["parameters"]["message_bytes"] < 1 << 20)
    lines[place]["series"]["t_ns"] = [time * 100 for time in lines[place]["series"]["t_ns"]]
    loaded = load_partitioned(synthetic.write(tmp_path / "a.jsonl", lines))
    assert record_numbers(loaded)["gain_vs_model"] == pytest.approx(1, rel=0.01)
    short = record(sizes=(1024,))
    assert "gain_vs_model" not in record_numbers(load_partitioned(synthetic.write(tmp_path / "b.jsonl", short)))


def test_a_reference_of_the_models_share_is_a_bound_from_below() -> None:
    (bound,) = [bound for bound in PARTITIONED.bounds if bound.metric == "gain_vs_model"]
    middle, low, high, unit = baseline.reference_of(bound, [0.9, 1.0, 1.0, 1.1])
    assert (middle, high, unit) == (1.0, None, "ratio")
    deviation, quantile = 0.0816497, 2.3533634  # of the four; of Student's t with three degrees of freedom, 95 %
    assert middle * (1 + low) == pytest.approx((1 - quantile * deviation * 1.25**0.5) / 1.03, abs=1e-4)


OF_FAMILY = ("family", "benchmark", "plan")


def test_what_was_sent_and_what_is_wrong(tmp_path: Path) -> None:
    lines = record(sizes=(1000,), ratios=(0,), network="wire:2gbit")
    loaded = load_partitioned(synthetic.write(tmp_path / "a.jsonl", lines))
    assert entry.payload_bytes(loaded) == 2 * 21 * 1000
    shared = load_partitioned(synthetic.write(tmp_path / "b.jsonl", [{**lines[0], "network": "shm"}, *lines[1:]]))
    assert entry.payload_bytes(shared) == 0
    several = [{**synthetic.header(ranks=4), **{name: lines[0][name] for name in OF_FAMILY}}, *lines[1:]]
    for rank in (2, 3):
        several[0]["placement"][rank]["node"] = 1
    nodes = load_partitioned(
        synthetic.write(tmp_path / "e.jsonl", [{**several[0], "network": "native"}, *several[1:-1]])
    )
    assert entry.payload_bytes(nodes) == 2 * 2 * 21 * 1000  # two pairs
    assert entry.communicated_ns(loaded) == sum(lines[1]["series"]["t_ref_ns"])
    assert list(sampled_inside.wrong(loaded)) == []
    lines[1]["data_errors"] = 7
    wrong = load_partitioned(synthetic.write(tmp_path / "c.jsonl", lines))
    assert list(sampled_inside.wrong(wrong)) == ["7 wrong values were received"]
    lines[1] = point(message_bytes=1000, delay_ratio=0, repetitions=2)
    few = load_partitioned(synthetic.write(tmp_path / "d.jsonl", lines))
    assert list(sampled_inside.wrong(few)) == ["none of its 1 points is valid: fewer than 6 repetitions (2)"]


def test_charts_pale_what_is_unreliable_and_count_what_has_no_value(tmp_path: Path) -> None:
    lines = record(ratios=(0,))
    lines[1] = point(0, message_bytes=SIZES[0], delay_ratio=0, repetitions=0)
    lines[2] = point(1, message_bytes=SIZES[1], delay_ratio=0, truth=replace(EARLY, own_noise=0.5))
    (chart,) = charts(table_of(tmp_path, lines))
    assert chart.left_out == 1
    assert [mark.pale for mark in chart.curves[0].marks] == [True, False, False, False, False]
    assert chart.notes == [
        "1 mark pale: not reliable, the table says why", "1 point without a value left out",
    ]  # fmt: skip
    view = chart_view(chart)
    assert view.curves[0].marks[0].opacity < view.curves[0].marks[1].opacity
    assert all(0 <= mark.y <= view.height and 0 <= mark.x <= view.width for mark in view.curves[0].marks)


def test_launches_of_one_case_are_one_curve(tmp_path: Path) -> None:
    records = [record(ratios=(0,), metadata={"case": {"repeat": repeat}}) for repeat in (1, 2)]
    table = table_of(tmp_path, *records)
    assert sorted(set(table["launch"])) == [1, 2]
    (chart,) = charts(table)
    assert [len(curve.marks) for curve in chart.curves if curve.style.line != DOTTED] == [len(SIZES)] * 2


TARGETS = ROOT / "docs" / "benchmarks" / "partitioned-targets.yaml"
AS_THEY_ARE = {
    ("mpich@5.0.2", "basic", "part"): LATE,
    ("intel@2021.18.1", "basic", "part"): LATE,
    ("mpich@5.0.2", "basic", "single"): LATE,
    **{("openmpi@5.0.11", "basic", name): LATE for name in ("part", "many", "layer")},
    **{("openmpi@5.0.11", "async", name): EARLY for name in ("part", "many", "layer")},
}
"""What the libraries do, by toolchain, configuration and approach."""


@pytest.mark.parametrize(
    ("case", "truth", "fails"),
    [
        (None, EARLY, []),
        (("intel@2021.18.1", "basic", "part"), EARLY, ["a library that sends everything at the end gains nothing"]),
        (
            ("mpich@5.0.2", "basic", "single"),
            replace(LATE, times_slower=0.95),
            ["one message against itself is nowhere faster"],
        ),
        (
            ("mpich@5.0.2", "basic", "single"),
            replace(LATE, times_slower=1.05),
            ["one message against itself is nowhere slower"],
        ),
        (("openmpi@5.0.11", "basic", "many"), EARLY, ["without progress nothing is gained above the eager limit"]),
        (
            ("openmpi@5.0.11", "basic", "layer"),
            replace(LATE, times_slower=1.1),
            ["without progress nothing is lost above the eager limit"],
        ),
        (("openmpi@5.0.11", "async", "part"), LATE, ["with a progress thread the gain is at least 0.9 of the model's"]),
    ],
)
def test_the_targets_of_the_page_tell_a_control_that_fails(
    tmp_path: Path, case: tuple[str, str, str] | None, truth: Truth, fails: list[str]
) -> None:
    records = [
        record(
            approach, truth if (toolchain, configuration, approach) == case else usual, sizes=(1 << 20, 1 << 22),
            toolchain=toolchain, configuration=configuration,
        )
        for (toolchain, configuration, approach), usual in AS_THEY_ARE.items()
    ]  # fmt: skip
    results = judge(read_criteria(TARGETS), {"partitioned": table_of(tmp_path, *records)}, [])
    assert [one.criterion.name for one in results if one.verdict == FAIL] == fails
    assert {one.verdict for one in results} <= {PASS, FAIL}


@pytest.mark.parametrize("runs", [("20261126T134811Z-27f947", "20261126T135831Z-6c52f8")])
def test_the_archived_runs_of_the_page_miss_none_of_its_targets(runs: tuple[str, ...]) -> None:
    """Those about every point are not tested where the interval of a point is too wide, since repetitions depend on
    each other: one launch of these runs is too short for that."""
    found = [registry.found(load_run(example(run)), PARTITIONED).table for run in runs]
    results = judge(read_criteria(TARGETS), {"partitioned": pd.concat(found, ignore_index=True)}, [])
    assert len(results) == 6
    assert all(one.verdict != FAIL for one in results)
    assert sum(one.verdict == PASS for one in results) >= 3
