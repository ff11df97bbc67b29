"""The table of points: known answers, validity, the comparison with basic, JSON and Parquet."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from postprocess import metrics
from postprocess.load import load_record, load_run
from postprocess.points import (
    COLUMNS,
    expected_wire_bytes,
    points_as_json,
    points_of,
    points_table,
    record_metrics,
    samples_of,
    write_parquet,
)
from postprocess.summary import point_verdict, summarise
from postprocess.table import points_table_text, summary_table
from tests.postprocess import synthetic
from tests.postprocess.synthetic import MS, Behaviour, point, sweep


def table(tmp_path: Path, *records: list[dict[str, Any]]) -> pd.DataFrame:
    paths = [synthetic.write(tmp_path / f"{i}.jsonl", lines) for i, lines in enumerate(records)]
    return points_table([load_record(path) for path in paths])


def single(tmp_path: Path, **changes: Any) -> dict[Any, Any]:
    """The row of a record with one point."""
    row: dict[Any, Any] = table(tmp_path, [synthetic.header(), point(**changes), synthetic.footer(1)]).iloc[0].to_dict()
    return row


@pytest.mark.parametrize(
    "behaviour", [synthetic.SERIALISED, synthetic.PERFECT, synthetic.CONTENTION, synthetic.NEGATIVE]
)
def test_known_answers(tmp_path: Path, behaviour: Behaviour) -> None:
    points = table(tmp_path, sweep(behaviour))
    assert list(points.columns) == COLUMNS
    assert len(points) == 9
    np.testing.assert_allclose(points["r_overhead"], behaviour.overhead, atol=1e-6)
    np.testing.assert_allclose(points["r_comm"], behaviour.comm, atol=1e-6)
    np.testing.assert_allclose(points["r_comp_slowdown"], behaviour.comp_slowdown, atol=1e-6)
    assert (points["r_overhead_ci95_low"] <= points["r_overhead"]).all()
    assert (points["r_overhead"] <= points["r_overhead_ci95_high"]).all()
    assert points["valid"].all()
    assert points["reliable"].all()
    pd.testing.assert_series_equal(points["r_overhead_vs_basic"], points["r_overhead"], check_names=False)
    assert (points["speedup_vs_basic"] == 1).all()


def test_overlap_with_slowed_references_is_not_overlap_against_basic(tmp_path: Path) -> None:
    slowed = Behaviour(0.1, reference_factor=1.5)
    points = table(tmp_path, sweep(), sweep(slowed, configuration="async"))
    own = points[(points["configuration"] == "async") & (points["comm_target_ns"] == points["comp_target_ns"])]
    np.testing.assert_allclose(own["r_overhead"], 0.1, atol=1e-6)
    np.testing.assert_allclose(own["r_overhead_vs_basic"], 0.65, atol=1e-6)
    np.testing.assert_allclose(own["speedup_vs_basic"], 2 / 1.65, atol=1e-6)
    assert own["reference_moved"].all()
    assert own["reliable"].all()
    assert own["flags"].iloc[0] == [
        f"{x} reference moved by 50 % against basic" for x in ("communication", "computation")
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"toolchain": "mpich@5.0.2"}, "basic was not measured at this point"),
        ({"provider": "prefix"}, "basic was not measured at this point"),
        ({"network": "shm"}, "basic was not measured at this point"),
        ({"threads_per_rank": 2}, "basic was not measured at this point"),
        ({"ranks": 4}, "basic was not measured at this point"),
        ({"collective": "ireduce"}, "basic was not measured at this point"),
    ],
)
def test_basic_of_another_case_is_no_basic(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    ranks = changes.get("ranks", 2)
    placement = synthetic.header(ranks=ranks, configuration="async")["placement"]
    own = sweep(grid=(16,), configuration="async", **{"placement": placement, **changes})
    row = table(tmp_path, sweep(grid=(16,)), own).iloc[-1]
    assert row["configuration"] == "async"
    assert row["vs_basic_reason"] == reason
    assert math.isnan(row["r_overhead_vs_basic"])
    assert math.isnan(row["speedup_vs_basic"])


def test_basic_with_other_sizes_or_invalid_is_no_basic(tmp_path: Path) -> None:
    own = sweep(grid=(16,), configuration="async")
    for basic_point, reason in (
        (point(message_bytes=77), f"basic had other sizes: 77 bytes, matrices of order {point()['matrix_size']}"),
        (point(repetitions=4), "basic is not valid at this point: fewer than 6 repetitions (4)"),
        (point(data_errors=3), "basic is not valid at this point: wrong data received (3 errors)"),
    ):
        row = table(tmp_path, [synthetic.header(), basic_point, synthetic.footer(1)], own).iloc[-1]
        assert row["vs_basic_reason"] == reason
        assert math.isnan(row["r_overhead_vs_basic"])


def test_launches_are_counted_and_compared_in_order(tmp_path: Path) -> None:
    def at(second: int, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**lines[0], "started_utc": f"2026-11-21T01:02:{second:02}Z"}, *lines[1:]]

    slow = Behaviour(1.0, reference_factor=2.0)
    points = table(
        tmp_path,
        at(30, sweep(slow, grid=(16,))),
        at(10, sweep(grid=(16,))),
        at(20, sweep(grid=(16,), configuration="async")),
        at(40, sweep(grid=(16,), configuration="async")),
        at(50, sweep(grid=(16,), configuration="async")),
    )
    assert list(points["launch"]) == [2, 1, 1, 2, 3]
    assert list(points["speedup_vs_basic"].round(6)) == [1, 1, 1, 2, 2]


CALIBRATION = {"status": "converged", "time_ns": 16 * MS, "error_relative": 0.0, "measurements": 7}


@pytest.mark.parametrize(
    ("changes", "valid", "reasons"),
    [
        ({}, True, []),
        ({"repetitions": 5}, False, ["fewer than 6 repetitions (5)"]),
        ({"repetitions": 6}, True, []),
        ({"data_errors": 1}, False, ["wrong data received (1 errors)"]),
        ({"repetitions": 0}, False, ["not measured"]),
        ({"comm_calibration": {**CALIBRATION, "status": "unreachable"}}, True, ["no message size reaches this time"]),
        (
            {"repetitions": 0, "comm_calibration": {**CALIBRATION, "status": "unreachable"}},
            False,
            ["not measured", "no message size reaches this time"],
        ),
        ({"comp_calibration": {**CALIBRATION, "status": "unreachable"}}, True, ["no matrix size reaches this time"]),
        (
            {"comm_calibration": {**CALIBRATION, "status": "not_monotonic"}},
            True,
            ["larger message sizes were faster: none could be chosen for this time"],
        ),
        (
            {"comm_calibration": {**CALIBRATION, "status": "off_target", "error_relative": -0.23}},
            True,
            ["communication size off target by 23 %"],
        ),
        (
            {"comp_calibration": {**CALIBRATION, "status": "given", "error_relative": 0.9}},
            True,
            ["computation size off target by 90 %"],
        ),
        ({"comp_calibration": {**CALIBRATION, "status": "given", "time_ns": 0, "error_relative": -1.0}}, True, []),
        ({"clock": {"method": "interpolated", "residual_ns": 3.0 * MS}}, True, ["clocks disagree by 3 ms"]),
    ],
)
def test_validity(tmp_path: Path, changes: dict[str, Any], valid: bool, reasons: list[str]) -> None:
    row = single(tmp_path, **changes)
    assert (row["valid"], row["reliable"], row["unreliable_reasons"]) == (valid, not reasons, reasons)


def test_a_wide_interval_is_unreliable(tmp_path: Path) -> None:
    row = single(tmp_path, behaviour=synthetic.NOISY)
    assert row["valid"]
    assert not row["reliable"]
    assert row["unreliable_reasons"][0].startswith("interval too wide (")


def test_flags_do_not_make_a_point_unreliable(tmp_path: Path) -> None:
    off = {**CALIBRATION, "status": "off_target", "error_relative": 0.12}
    row = single(tmp_path, comm_calibration=off, late_repetitions=20, behaviour=Behaviour(1.0, reference_factor=1.5))
    assert row["reliable"]
    assert row["flags"] == [
        "communication size off target by 12 %",
        "communication alone took 24 ms for a target of 16 ms",
        "computation alone took 24 ms for a target of 16 ms",
        "20 repetitions thrown away: a rank started late",
    ]


def test_json_is_strict_and_keeps_whole_numbers(tmp_path: Path) -> None:
    run = load_run(synthetic.smoke_run(tmp_path))
    rows = points_as_json(points_of(run))
    again = json.loads(json.dumps(rows, allow_nan=False))
    assert again == rows
    assert len(rows) == 53
    for row in rows:
        assert type(row["message_bytes"]) is int
        assert type(row["valid"]) is bool
        assert len(row["r_overhead_ci95"]) == len(row["r_overhead_vs_basic_ci95"]) == 2
        assert "r_overhead_ci95_low" not in row
    missing = next(row for row in rows if row["stop_reason"] == "not_measured")
    assert (missing["r_overhead"], missing["r_overhead_ci95"]) == (None, [None, None])


def test_parquet_holds_points_and_samples(tmp_path: Path) -> None:
    run_dir = synthetic.smoke_run(tmp_path)
    files = write_parquet(run_dir)
    assert [f.name for f in files] == ["points.parquet", "samples.parquet"]
    points, samples = (pd.read_parquet(f) for f in files)
    run = load_run(run_dir)
    assert len(points) == len(points_of(run))
    assert list(points["unreliable_reasons"].iloc[0]) == []
    assert len(samples) == sum(p.repetitions for r in run.records for p in r.points) == len(samples_of(run))
    assert samples["t_measured_ns"].dtype == "int64"
    assert not list(run_dir.glob(".*"))


def test_nothing_measured_is_no_error(tmp_path: Path) -> None:
    run_dir = synthetic.run_folder(tmp_path, [sweep()[:1]])
    run = load_run(run_dir)
    points = points_of(run)
    assert (len(points), len(samples_of(run)), points_as_json(points)) == (0, 0, [])
    assert summarise(points) == []
    assert summary_table(points) == points_table_text(points) == "no points"
    write_parquet(run_dir)
    assert record_metrics(run.records[0].path) == {"points": 0, "points_valid": 0, "points_reliable": 0}


def test_record_metrics(tmp_path: Path) -> None:
    basic = synthetic.write(tmp_path / "basic.jsonl", sweep())
    own = synthetic.write(tmp_path / "own.jsonl", sweep(Behaviour(0.25, comm=0.3), configuration="async"))
    found = record_metrics(own, basic)
    assert found["r_overhead"] == pytest.approx(0.25, abs=1e-6)
    assert found["r_overhead_diagonal"] == pytest.approx(0.25, abs=1e-6)
    assert found["r_overhead_vs_basic"] == pytest.approx(0.25, abs=1e-6)
    assert found["speedup_vs_basic"] > 1
    assert found["t_comm_ref_ratio_to_target"] == pytest.approx(1)
    assert (found["points"], found["points_valid"], found["points_reliable"]) == (9, 9, 9)
    alone = record_metrics(own)
    assert "r_overhead_vs_basic" not in alone
    assert record_metrics(basic)["speedup_vs_basic"] == 1


def test_expected_wire_bytes(tmp_path: Path) -> None:
    lines = sweep(grid=(16,), repetitions=11, ranks=4, nodes=2)
    for place in lines[0]["placement"]:
        place["node"] = place["rank"] // 2
    size = lines[1]["message_bytes"]
    path = synthetic.write(tmp_path / "r.jsonl", lines)
    assert expected_wire_bytes(path) == 2 * 11 * size * 3  # wire: every rank apart
    lines[0]["network"] = "native"
    assert expected_wire_bytes(synthetic.write(path, lines)) == 2 * 11 * size  # one crossing between two nodes


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.0, 0.3, "overlaps"),
        (-0.4, -0.1, "overlaps"),
        (0.2, 0.45, "overlaps"),
        (0.3, 0.6, "partly overlaps"),
        (0.26, 0.45, "partly overlaps"),
        (0.2, 0.6, "cannot tell"),
        (0.6, 0.9, "serialises"),
        (0.5, 1.0, "cannot tell"),
        (0.1, 2.0, "cannot tell"),
        (0.9, 1.2, "serialises"),
        (1.05, 1.3, "serialises"),
        (1.2, 1.3, "slower than serialised"),
        (math.nan, math.nan, "cannot tell"),
    ],
)
def test_verdict_of_a_point(low: float, high: float, verdict: str) -> None:
    assert point_verdict(low, high) == verdict


@pytest.mark.parametrize(
    ("behaviour", "verdict"),
    [
        (synthetic.SERIALISED, "serialises"),
        (synthetic.PERFECT, "overlaps"),
        (Behaviour(0.5), "partly overlaps"),
        (synthetic.CONTENTION, "slower than serialised"),
        (synthetic.NEGATIVE, "overlaps"),
    ],
)
def test_verdict_of_a_case(tmp_path: Path, behaviour: Behaviour, verdict: str) -> None:
    (summary,) = summarise(table(tmp_path, sweep(behaviour)))
    assert summary.verdict == verdict
    assert summary.name == "openmpi@5.0.11, wire:2gbit, basic"


def test_noisy_points_are_taken_together(tmp_path: Path) -> None:
    (summary,) = summarise(table(tmp_path, sweep(Behaviour(1.0, noise=0.4), grid=(14, 16, 18))))
    assert (summary.reliable, summary.valid, summary.verdict) == (0, 9, "serialises")
    assert summary.because == (
        "median r_overhead 1.00 over 9 valid points (1.00 to 1.00); "
        "none of them reliable by itself, together [1.00, 1.00]"
    )
    (few,) = summarise(table(tmp_path, sweep(Behaviour(1.0, noise=0.4), grid=(14, 16))))
    assert (few.valid, few.verdict) == (4, "cannot tell")


@pytest.mark.parametrize("noise", [0.1, 0.3])
@pytest.mark.parametrize(("truth", "wrong"), [(0.0, {"serialises", "slower than serialised"}), (1.0, {"overlaps"})])
def test_points_taken_together_do_not_say_the_opposite(truth: float, wrong: set[str], noise: float) -> None:
    """Nine noisy points of 7 repetitions, all on the diagonal, 2000 times."""
    rng = np.random.default_rng(7)
    times = [np.median(t * (1 + noise * rng.standard_normal((2000, 9, 7))), axis=-1) for t in (1 + truth, 1, 1)]
    together = metrics.median_estimate(metrics.r_overhead(*times))
    verdicts = [point_verdict(low, high) for low, high in zip(together.low, together.high, strict=True)]
    assert sum(verdict in wrong for verdict in verdicts) <= 0.01 * len(verdicts)


def test_verdict_is_against_basic_where_there_is_one(tmp_path: Path) -> None:
    slowed = Behaviour(0.0, reference_factor=2.0)
    points = table(tmp_path, sweep(grid=(16,)), sweep(slowed, grid=(16,), configuration="async"))
    basic, own = summarise(points)
    assert (basic.verdict, own.verdict) == ("serialises", "serialises")
    assert own.because == (
        "median r_overhead 0.00 over 1 reliable point (0.00 to 0.00), 1.00 against basic's references, "
        "1.00 times basic's speed"
    )


def test_mixed_verdict_counts(tmp_path: Path) -> None:
    lines = sweep(grid=(8, 16))
    lines[1] = point(0, synthetic.PERFECT, 8 * MS, 8 * MS)
    lines[2] = point(1, synthetic.PERFECT, 8 * MS, 16 * MS)
    (summary,) = summarise(table(tmp_path, lines))
    assert summary.verdict == "mixed"
    assert summary.because.endswith("; overlaps at 2, serialises at 2")


def test_tables_for_the_terminal(tmp_path: Path) -> None:
    run = load_run(synthetic.smoke_run(tmp_path))
    points = points_of(run)
    short = summary_table(points).splitlines()
    assert len(short) == 1 + 6
    assert short[3].split() == [
        *("openmpi@5.0.11", "wire:2gbit", "async", "ibcast", "0.18", "[-0.20,", "0.18]", "0.18", "1.38", "7/8/9"),
        *("overlaps", "shared", "core"),
    ]
    full = points_table_text(points).splitlines()
    assert len(full) == 1 + len(points)
    assert "not valid: not measured" in full[20]


def test_hostile_names_cannot_reach_the_terminal(tmp_path: Path) -> None:
    points = table(tmp_path, sweep(toolchain="evil\x1b[2J\u202e\n@1"))
    for text in (summary_table(points), points_table_text(points)):
        assert all(line.isprintable() for line in text.split("\n"))
        assert len(text.split("\n")) in (2, 10)
