"""The table of points: known answers, validity, the comparison with basic, JSON and Parquet."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.families import registry
from postprocess.families.axes import configuration_words
from postprocess.families.nbc_overlap import validity
from postprocess.families.nbc_overlap.break_even import COLUMNS as BREAK_EVEN_COLUMNS
from postprocess.families.nbc_overlap.break_even import break_even_table
from postprocess.families.nbc_overlap.diagnosis import UNRELIABLE
from postprocess.families.nbc_overlap.points import (
    COLUMNS,
    expected_wire_bytes,
    points_of,
    points_table,
    record_metrics,
    samples_of,
)
from postprocess.families.nbc_overlap.record import Reference, load_overlap
from postprocess.families.nbc_overlap.summary import point_verdict, summarise
from postprocess.families.nbc_overlap.tables import (
    break_even_text,
    diagnosis_text,
    measured_share,
    measured_share_text,
    points_table_text,
)
from postprocess.records.as_json import rows_as_json
from postprocess.records.run import load_run
from postprocess.statistics import metrics
from tests.postprocess import synthetic
from tests.postprocess.synthetic import MS, Behaviour, point, sweep


def table(tmp_path: Path, *records: list[dict[str, Any]]) -> pd.DataFrame:
    paths = [synthetic.write(tmp_path / f"{i}.jsonl", lines) for i, lines in enumerate(records)]
    return points_table([load_overlap(path) for path in paths])


TERMS = ("communication", "computation")
CLOCK = point()["clock"]


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
        *(f"{x} alone took 12 ms for a target of 8 ms" for x in TERMS),
        *(f"{x} reference moved by 50 % against basic" for x in TERMS),
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
    assert row["launches_vs_basic"] == 0


def test_basic_with_other_sizes_or_invalid_is_no_basic(tmp_path: Path) -> None:
    own = sweep(grid=(16,), configuration="async")
    for basic_point, reason in (
        (
            point(message_bytes=77),
            f"basic had other sizes: 77 bytes, matrices of order {point()['parameters']['work_size']}",
        ),
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
    assert list(points["launches_vs_basic"]) == [2, 2, 2, 2, 2]  # basic has two, async three


def test_one_launch_of_a_side_is_one_launch(tmp_path: Path) -> None:
    basic, own = sweep(grid=(16,)), sweep(grid=(16,), configuration="async")
    assert list(table(tmp_path, basic, own, own)["launches_vs_basic"]) == [1, 1, 1]
    assert list(table(tmp_path, basic, basic, own)["launches_vs_basic"]) == [2, 2, 1]


def numbered(lines: list[dict[str, Any]], repeat: object, second: int = 0) -> list[dict[str, Any]]:
    """The record of a repeat of its case, as the campaign's metadata tell."""
    metadata = {"case": {"repeat": repeat}}
    return [{**lines[0], "metadata": metadata, "started_utc": f"2026-11-21T01:02:{second:02}Z"}, *lines[1:]]


def test_a_launch_keeps_its_number_where_one_before_it_left_no_record(tmp_path: Path) -> None:
    """So that the second `async` stands beside the second `basic`, which took twice as long."""
    slow = Behaviour(1.0, reference_factor=2.0)
    points = table(
        tmp_path,
        numbered(sweep(grid=(16,)), 1, 10),
        numbered(sweep(slow, grid=(16,)), 2, 20),
        numbered(sweep(grid=(16,), configuration="async"), 2, 30),
        numbered(sweep(grid=(16,), configuration="async"), 3, 40),
    )
    assert list(points["launch"]) == [1, 2, 2, 3]
    assert list(points["speedup_vs_basic"].round(6)) == [1, 1, 2, 2]  # the third has the last basic before it
    alone = table(
        tmp_path / "alone", numbered(sweep(slow, grid=(16,)), 2), numbered(sweep(grid=(16,), configuration="async"), 1)
    )
    assert alone["vs_basic_reason"].iloc[-1] == "basic was not measured at this point"


@pytest.mark.parametrize("repeats", [(1, 1), (2, None), (None, 7), ("2", "1"), (0, -1), (2, 10**30), (True, 2)])
def test_launches_that_are_not_told_apart_are_numbered_by_time(tmp_path: Path, repeats: tuple[object, object]) -> None:
    later, first = (numbered(sweep(grid=(16,)), repeat, 10 * n) for repeat, n in zip(repeats, (2, 1), strict=True))
    assert list(table(tmp_path, later, first)["launch"]) == [2, 1]


def test_a_launch_counts_at_the_points_that_are_valid_in_it(tmp_path: Path) -> None:
    """The third launch of `async`, or of `basic`, has too few repetitions at the first cell, and was cut off before
    the last one: there two launches of a side count, however many there are."""

    def spoilt(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        few = point(0, PAYS, 8 * MS, 8 * MS, repetitions=4, given=True)
        return [lines[0], few, *lines[2:4]]

    basic, own = sweep(grid=(8, 16)), sweep(PAYS, grid=(8, 16), configuration="async")
    basics, owns = [basic] * 2, [own] * 2
    for number, launches in enumerate(([*basics, basic, *owns, spoilt(own)], [*basics, spoilt(basic), *owns, own])):
        points = table(tmp_path / str(number), *launches)
        first = points[(points["configuration"] == "async") & (points["launch"] == 1)]
        assert list(first["launches_vs_basic"]) == [2, 3, 3, 2]
        assert list(first["diagnosis_confidence"]) == ["likely", "clear", "clear", "likely"]


def test_a_launch_that_failed_counts_nowhere(tmp_path: Path) -> None:
    basic, own = sweep(grid=(16,)), sweep(PAYS, grid=(16,), configuration="async")
    run = synthetic.run_folder(tmp_path, [basic, basic, own, own])
    assert set(points_of(load_run(run))["launches_vs_basic"]) == {2}
    for number in (1, 3):
        failed = synthetic.said_of(run, number, result="fail", reason="no progress thread")
        points = points_of(load_run(failed))
        assert list(points[points["configuration"] == "async"]["launches_vs_basic"]) == [1, 1]
        assert points["diagnosis_confidence"].iloc[2] == "likely"
        synthetic.said_of(run, number, result="pass")


CALIBRATION = {"status": "converged", "time_ns": 16 * MS, "error_relative": 0.0, "measurements": 7}


@pytest.mark.parametrize(
    ("changes", "valid", "reasons"),
    [
        ({}, True, []),
        ({"repetitions": 5}, False, ["fewer than 6 repetitions (5)"]),
        ({"repetitions": 6}, True, []),
        ({"data_errors": 1}, False, ["wrong data received (1 errors)"]),
        ({"repetitions": 0}, False, ["not measured"]),
        ({"comm_calibration": {**CALIBRATION, "status": "no_message", "error_relative": -0.99}}, True, []),
        ({"comm_calibration": {**CALIBRATION, "status": "unreachable"}}, True, ["no message size reaches this time"]),
        (
            {"repetitions": 0, "comm_calibration": {**CALIBRATION, "status": "unreachable"}},
            False,
            ["not measured", "no message size reaches this time"],
        ),
        ({"comp_calibration": {**CALIBRATION, "status": "unreachable"}}, True, ["no work size reaches this time"]),
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
        ({"comp_calibration": {**CALIBRATION, "status": "given", "error_relative": 0.9}}, True, []),
        ({"comp_calibration": {**CALIBRATION, "status": "given", "time_ns": 0, "error_relative": -1.0}}, True, []),
        (
            {"clock": {**CLOCK, "method": "interpolated", "residual_ns": 3.0 * MS}},
            True,
            ["clocks disagree by 3 ms, more than 10 % of 16 ms"],
        ),
        ({"clock": {**CLOCK, "method": "interpolated", "residual_ns": 1.6 * MS}}, True, []),
        (
            {"clock": {**CLOCK, "method": "interpolated", "residual_ns": None}},
            True,
            ["how far the clocks disagree is not known"],
        ),
        (
            {"clock": {**CLOCK, "method": "interpolated", "residual_ns": 1e3, "drift_ppm": -2300.0}},
            True,
            ["a clock seems to drift by -2300 ppm, as no oscillator does"],
        ),
        ({"stop_reason": "late", "repetitions": 5}, False, ["fewer than 6 repetitions (5)"]),
        ({"stop_reason": "late", "repetitions": 0}, False, ["fewer than 6 repetitions (0)"]),
        ({"stop_reason": "late"}, True, []),
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


def test_the_thread_that_the_others_wait_for_is_named(tmp_path: Path) -> None:
    """A progress thread that is not bound takes a core from one of several computing threads."""
    lines = sweep(grid=(16,), threads_per_rank=3)
    for rank, place in enumerate(lines[0]["placement"]):
        place["compute_cpusets"] = [str(3 * rank + thread) for thread in range(3)]
    lines[1]["thread_medians"]["t_comp_ns"] = [[10, 10, 11], [10, 15, 10]]
    row = table(tmp_path, lines).iloc[0]
    assert (row["slowest_thread_relative"], row["slowest_thread"]) == (1.5, "rank 1, CPU 4")
    assert math.isnan(single(tmp_path)["slowest_thread_relative"])


@pytest.mark.parametrize(("value", "half"), [(-1, 0.5), (0, 0.25), (0.5, 0.375), (1, 0.5), (5, 1.5)])
def test_how_wide_an_interval_may_be_is_in_proportion_on_both_sides_of_one(value: float, half: float) -> None:
    """It matters not on which side of 1 the interval lies."""
    for factor, narrow in ((0.99, True), (1.01, False)):
        ends = (value, value - factor * half, value + factor * half)
        assert (not validity.too_wide(metrics.Estimate(*map(np.float64, ends)))) == narrow


def test_the_ratio_that_decides_must_be_narrow_whatever_the_own_references_are(tmp_path: Path) -> None:
    """A progress thread makes its own references erratic: nothing that the ratio against basic's would need."""
    own = sweep(Behaviour(0.9), grid=(16,), configuration="async")
    refs = own[1]["series"]["t_comm_ref_ns"]
    own[1]["series"]["t_comm_ref_ns"] = [time * (3 if i % 2 else 1) for i, time in enumerate(refs)]
    row = table(tmp_path, sweep(grid=(16,)), own).iloc[-1]
    assert row["r_overhead_ci95_low"] < 0.5 < row["r_overhead_ci95_high"]
    assert row["r_overhead_vs_basic"] == pytest.approx(0.9, abs=0.01)
    assert (row["reliable"], row["unreliable_reasons"]) == (True, [])
    alone = table(tmp_path / "alone", own).iloc[0]
    assert alone["unreliable_reasons"][0].startswith("interval too wide (")


@pytest.mark.parametrize(("late_takes", "differs"), [(1.0, False), (3.0, True)])
def test_late_repetitions_count_and_the_punctual_ones_are_told_where_they_differ(
    tmp_path: Path, late_takes: float, *, differs: bool
) -> None:
    line = point(repetitions=21)
    late = np.arange(21) % 3 != 0
    series = line["series"]
    punctual = np.median(np.array(series["t_measured_ns"])[~late])
    series["t_measured_ns"] = (
        np.where(late, late_takes * np.array(series["t_measured_ns"]), punctual).astype(int).tolist()
    )
    series["late_starts"] = late.astype(int).tolist()
    row = single(tmp_path, series=series, late_repetitions=int(late.sum()), repetitions=21)
    comm, comp = (np.median(np.array(series[name])[~late]) for name in ("t_comm_ref_ns", "t_comp_ref_ns"))
    assert row["r_overhead_punctual"] == pytest.approx((punctual - max(comm, comp)) / min(comm, comp), rel=1e-6)
    told = [one for one in row["flags"] if "7 of 21 repetitions that no rank started late" in one]
    assert bool(told) is differs
    assert (row["r_overhead"] > row["r_overhead_punctual"] + 1) is differs


def test_flags_do_not_make_a_point_unreliable(tmp_path: Path) -> None:
    off = {**CALIBRATION, "status": "off_target", "error_relative": 0.12}
    row = single(tmp_path, comm_calibration=off, late_repetitions=20)
    assert row["reliable"]
    assert row["flags"] == ["communication size off target by 12 %", "20 repetitions thrown away: a rank started late"]


@pytest.mark.parametrize(("factor", "reliable"), [(1.19, True), (0.81, True), (1.21, False), (0.79, False)])
def test_a_reference_far_from_its_target_is_in_the_wrong_place_of_the_map(
    tmp_path: Path, factor: float, reliable: bool
) -> None:
    """Unless its size was given: then the cell stands where the size stands, and only a flag says where that is."""
    behaviour = Behaviour(1.0, reference_factor=factor)
    row = single(tmp_path, behaviour=behaviour)
    assert (row["reliable"], len(row["unreliable_reasons"]), row["flags"]) == (reliable, 0 if reliable else 2, [])
    given = single(tmp_path, behaviour=behaviour, comm_calibration=GIVEN, comp_calibration=GIVEN)
    assert (given["reliable"], given["flags"]) == (True, row["unreliable_reasons"])


def test_why_a_cell_is_in_the_wrong_place_is_said_once_of_each_term(tmp_path: Path) -> None:
    far = Behaviour(1.0, reference_factor=1.5)
    took = [f"{term} alone took 24 ms for a target of 16 ms" for term in TERMS]
    assert single(tmp_path, behaviour=far)["unreliable_reasons"] == took
    off = {**CALIBRATION, "status": "off_target", "error_relative": 0.5}
    row = single(tmp_path, behaviour=far, comm_calibration=off)
    assert row["unreliable_reasons"] == ["communication size off target by 50 %", took[1]]


def drift(comm: tuple[float | None, float | None], comp: tuple[float | None, float | None]) -> dict[str, Any]:
    names = ("change_relative", "p_value")
    return {
        "reference_drift": {"comm": dict(zip(names, comm, strict=True)), "comp": dict(zip(names, comp, strict=True))}
    }


QUIET = (0.0, 0.9)
GIVEN = {**CALIBRATION, "status": "given"}


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({}, []),
        # A drift has to be both beyond chance and wider than was asked (0.1 here).
        (drift((0.11, 0.0099), QUIET), ["communication reference drifted by +11 % during the point"]),
        (drift(QUIET, (-0.11, 0.0)), ["computation reference drifted by -11 % during the point"]),
        (drift((0.11, 0.01), QUIET), []),
        (drift((0.1, 0.0), QUIET), []),
        (drift((None, None), (0.5, None)), []),
        (
            drift((0.2, 0.0), (0.3, 0.0)),
            [
                "communication reference drifted by +20 % during the point",
                "computation reference drifted by +30 % during the point",
            ],
        ),
        # A given size is of another library: what it took there says nothing.
        ({"comm_calibration": {**GIVEN, "time_ns": 7 * MS}, "reference_moved": {"comm": 16 / 7 - 1, "comp": 0.0}}, []),
        # Late starts: said once.
        ({"late_repetitions": 11}, []),
        ({"late_repetitions": 12}, ["12 repetitions thrown away: a rank started late"]),
        (
            {"late_repetitions": 12, "stop_reason": "late"},
            ["stopped because a rank came too late too often: 11 repetitions kept"],
        ),
        # Start and clock.
        ({"start_method": "barrier"}, ["ranks started by a barrier, not by a clock"]),
        ({"clock": {**CLOCK, "residual_ns": 0.0}}, []),
        # What is no flag.
        ({"recalibrations": 1, "discarded_repetitions": 20, "buffer_sets": 9}, []),
        ({"warmup_repetitions": 0, "warmup": {f"t_{t}_ns": [] for t in ("measured", "comm_ref", "comp_ref")}}, []),
    ],
)
def test_flags(tmp_path: Path, changes: dict[str, Any], flags: list[str]) -> None:
    row = single(tmp_path, **changes)
    assert (row["flags"], row["reliable"]) == (flags, True)


def beside_basic(tmp_path: Path, own: Behaviour, **basic: Any) -> dict[Any, Any]:
    """The row of an `async` beside a `basic` whose point has these changes."""
    lines = [synthetic.header(), point(**basic), synthetic.footer(1)]
    rows = table(tmp_path, lines, sweep(own, grid=(16,), configuration="async"))
    row: dict[Any, Any] = rows.iloc[-1].to_dict()
    return row


SLOWED = Behaviour(1.0, reference_factor=1.15)


@pytest.mark.parametrize(
    ("basic", "reasons"),
    [
        (
            {"behaviour": SLOWED},
            [f"basic's {term} alone takes +15 % against the time that its size was calibrated for" for term in TERMS],
        ),
        (drift((0.11, 0.0), QUIET), ["basic's communication reference drifted by +11 % during the point"]),
        (
            {"comm_calibration": {**CALIBRATION, "status": "unreachable"}},
            ["basic is not reliable here: no message size reaches this time"],
        ),
        (
            {"behaviour": Behaviour(1.0, reference_factor=1.5), "reference_moved": {"comm": 0.0, "comp": None}},
            [f"basic is not reliable here: {term} alone took 24 ms for a target of 16 ms" for term in TERMS],
        ),
        ({"reference_moved": {"comm": 0.1, "comp": -0.1}}, []),
        ({"behaviour": SLOWED, "comm_calibration": GIVEN, "comp_calibration": GIVEN}, []),
        (drift((0.1, 0.0), QUIET), []),
        (
            {
                "comm_calibration": {**CALIBRATION, "status": "no_message", "error_relative": -0.99},
                "reference_moved": {"comm": 0.5, "comp": 0.0},
            },
            [],
        ),
    ],
)
def test_nothing_is_held_against_a_disturbed_basic(tmp_path: Path, basic: dict[str, Any], reasons: list[str]) -> None:
    row = beside_basic(tmp_path, Behaviour(0.1), **basic)
    assert (row["reliable"], row["unreliable_reasons"], row["vs_basic_reason"]) == (not reasons, reasons, "")
    assert (row["diagnosis"] == UNRELIABLE) == bool(reasons)
    assert math.isfinite(row["r_overhead_vs_basic"])


def test_a_disturbed_basic_makes_everything_else_look_better(tmp_path: Path) -> None:
    """The numbers are shown as they are, and it is said why nobody should believe them."""
    row = beside_basic(tmp_path, Behaviour(0.1), behaviour=SLOWED)
    assert row["r_overhead_vs_basic"] == pytest.approx((1.1 - 1.15) / 1.15, abs=1e-6)
    assert row["speedup_vs_basic"] == pytest.approx(2.3 / 1.1, abs=1e-6)
    assert row["diagnosis_advice"].startswith("Cannot tell: basic's communication alone takes +15 %")
    noisy = beside_basic(tmp_path, Behaviour(0.1), behaviour=synthetic.NOISY)
    assert any(reason.startswith("basic is not reliable here: interval too") for reason in noisy["unreliable_reasons"])


def test_a_ratio_that_is_below_0_for_sure_is_flagged_and_shown(tmp_path: Path) -> None:
    row = beside_basic(tmp_path, synthetic.NEGATIVE)
    assert row["r_overhead_vs_basic"] == pytest.approx(-0.2, abs=1e-6)
    (flag,) = row["flags"]
    ends = r"-0\.20 \[-0\.\d\d, -0\.\d\d\]"
    assert re.fullmatch(
        rf"r_overhead_vs_basic {ends} is below 0: a reference was disturbed, or is slower in basic", flag
    )
    assert row["reliable"]
    assert beside_basic(tmp_path, synthetic.PERFECT)["flags"] == []
    assert len(single(tmp_path, behaviour=synthetic.NEGATIVE)["flags"]) == 1
    assert single(tmp_path, behaviour=synthetic.NEGATIVE, repetitions=5)["flags"] == []


def test_mpi_test_that_was_never_called_is_flagged(tmp_path: Path) -> None:
    lines = sweep(grid=(16,))
    lines[0]["plan"]["parameters"]["test_interval_ns"] = [10**9]
    row = table(tmp_path, sweep(grid=(16,)), lines).iloc[-1]
    assert row["flags"] == ["MPI_Test was never called: the computation is one piece"]
    lines[1]["own"]["test_calls"] = 1
    assert table(tmp_path, sweep(grid=(16,)), lines).iloc[-1]["flags"] == []


@pytest.mark.parametrize(("change", "flagged"), [(0.02, False), (0.021, True), (-0.021, True)])
def test_a_drift_of_two_per_cent_is_none_however_narrow_the_interval(
    tmp_path: Path, change: float, flagged: bool
) -> None:
    first = synthetic.header()
    first["plan"]["interval_relative"] = 0.001
    lines = [first, point(**drift((change, 0.001), QUIET)), synthetic.footer(1)]
    assert bool(table(tmp_path, lines).iloc[0]["flags"]) == flagged


def test_without_a_clock(tmp_path: Path) -> None:
    lines = [synthetic.header(), synthetic.without_clock(point()), synthetic.footer(1)]
    row = table(tmp_path, lines).iloc[0]
    assert row["valid"]
    assert not row["reliable"]
    assert row["flags"] == ["ranks started by a barrier, not by a clock"]
    assert (row["start_method"], row["clock_method"]) == ("barrier", "none")
    assert math.isnan(row["clock_residual_ns"])
    assert "no common clock" in summarise(table(tmp_path, lines))[0].notes
    own = sweep(grid=(16,), configuration="async")
    assert not table(tmp_path, lines, own).iloc[-1]["reliable"]
    assert table(tmp_path, sweep(grid=(16,)), own).iloc[-1]["reliable"]


def test_start_by_barrier_is_a_property_of_the_point(tmp_path: Path) -> None:
    lines = sweep(grid=(8, 16), start_method="barrier")
    lines[1]["start_method"] = "barrier"
    assert list(table(tmp_path, lines)["start_method"]) == ["barrier", "deadline", "deadline", "deadline"]
    assert summarise(table(tmp_path, lines))[0].notes == ("started by a barrier",)


def test_cold_caches_are_a_case_of_their_own(tmp_path: Path) -> None:
    """Not another launch of the warm one, and never held against its basic."""

    def cold(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        lines[0]["plan"]["parameters"]["cache"] = ["cold"]
        for line in lines[1:-1]:
            line["own"]["buffer_sets"] = 4
        return lines

    points = table(tmp_path, sweep(grid=(16,)), cold(sweep(grid=(16,))), cold(sweep(grid=(16,), configuration="async")))
    assert list(points["cache"]) == ["warm", "cold", "cold"]
    assert list(points["launch"]) == [1, 1, 1]
    assert list(points["vs_basic_reason"]) == ["", "", ""]
    assert points["flags"].map(len).sum() == 0
    assert [s.name for s in summarise(points)] == [
        "openmpi@5.0.11, wire:2gbit, basic",
        "openmpi@5.0.11, wire:2gbit, basic, cold caches",
        "openmpi@5.0.11, wire:2gbit, async, cold caches",
    ]
    assert points_table_text(points).count("cold caches") == 2
    alone = table(tmp_path, sweep(grid=(16,)), cold(sweep(grid=(16,), configuration="async")))
    assert alone.iloc[-1]["vs_basic_reason"] == "basic was not measured at this point"


def test_columns_of_what_happened_to_a_point(tmp_path: Path) -> None:
    moved = {"comm": 0.03, "comp": None}
    row = single(
        tmp_path,
        **drift((0.05, 0.2), (None, None)),
        reference_moved=moved,
        recalibrations=2,
        discarded_repetitions=9,
        clock={"method": "interpolated", "residual_ns": 700.0, "synchronisations": 3, "drift_ppm": 12.5},
    )
    assert {
        name: row[name]
        for name in COLUMNS
        if name.startswith(("clock", "comm_ref", "comp_ref")) and row[name] == row[name]
    } == {
        "clock_method": "interpolated",
        "clock_residual_ns": 700.0,
        "clock_drift_ppm": 12.5,
        "comm_ref_drift_relative": 0.05,
        "comm_ref_drift_p_value": 0.2,
        "comm_ref_moved_relative": 0.03,
    }
    assert (row["recalibrations"], row["discarded_repetitions"], row["warmup_repetitions"]) == (2, 9, 2)
    assert (row["buffer_sets"], row["cache"], row["start_method"]) == (1, "warm", "deadline")


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_drifted_is_beyond_chance_and_beyond_what_was_asked(change: float, p_value: float, asked: float) -> None:
    reference = Reference(change, p_value, None)
    expected = p_value < 0.01 and abs(change) > 0.02 and abs(change) > asked
    assert validity.drifted(reference, asked) == expected


def test_json_is_strict_and_keeps_whole_numbers(tmp_path: Path) -> None:
    run = load_run(synthetic.smoke_run(tmp_path))
    rows = rows_as_json(points_of(run))
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


def test_samples_without_a_clock_have_no_imbalance(tmp_path: Path) -> None:
    lines = sweep(grid=(8, 16))
    lines[1] = synthetic.without_clock(lines[1])
    run_dir = synthetic.run_folder(tmp_path, [lines])
    registry.write_tables(load_run(run_dir))
    samples = pd.read_parquet(run_dir / "samples.parquet")
    assert samples["start_imbalance_ns"].isna().sum() == lines[1]["repetitions"]
    assert set(samples["start_imbalance_ns"].dropna()) == {50}
    alone = synthetic.run_folder(tmp_path / "alone", [[lines[0], lines[1], synthetic.footer(1)]])
    registry.write_tables(load_run(alone))
    schemas = [pq.read_schema(folder / "samples.parquet") for folder in (run_dir, alone)]
    assert schemas[0].equals(schemas[1])
    assert schemas[0].field("start_imbalance_ns").type == "int64"


def test_parquet_holds_points_and_samples(tmp_path: Path) -> None:
    run_dir = synthetic.smoke_run(tmp_path)
    files = registry.write_tables(load_run(run_dir))
    assert [f.name for f in files] == ["points.parquet", "samples.parquet"]
    points, samples = (pd.read_parquet(f) for f in files)
    run = load_run(run_dir)
    assert len(points) == len(points_of(run))
    assert list(points["unreliable_reasons"].iloc[0]) == []
    assert len(samples) == sum(p.repetitions or 0 for r in run.records for p in r.points) == len(samples_of(run))
    assert samples["t_measured_ns"].dtype == "int64"
    assert {pq.read_schema(files[0]).field(name).type for name in ("clock_drift_ppm", "comm_ref_drift_p_value")} == {
        "double"
    }
    assert not list(run_dir.glob(".*"))


def test_nothing_measured_is_no_error(tmp_path: Path) -> None:
    run_dir = synthetic.run_folder(tmp_path, [sweep()[:1]])
    run = load_run(run_dir)
    points = points_of(run)
    assert (len(points), len(samples_of(run)), rows_as_json(points)) == (0, 0, [])
    assert summarise(points) == []
    assert points_table_text(points) == "no points"
    registry.write_tables(load_run(run_dir))
    assert record_metrics(load_overlap(run.records[0].path)) == dict.fromkeys(
        ("points", "points_valid", "points_reliable", "points_diagnosed", "points_overlap"), 0
    )


def test_record_metrics(tmp_path: Path) -> None:
    behaviour = Behaviour(0.25, comm=0.3)
    basic = load_overlap(synthetic.write(tmp_path / "basic.jsonl", sweep()))
    own = load_overlap(synthetic.write(tmp_path / "own.jsonl", sweep(behaviour, configuration="async")))
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
    size = lines[1]["parameters"]["message_bytes"]
    path = synthetic.write(tmp_path / "r.jsonl", lines)
    assert expected_wire_bytes(load_overlap(path)) == 2 * 11 * size * 3  # wire: every rank apart
    lines[0]["network"] = "native"
    on_two_nodes = load_overlap(synthetic.write(path, lines))
    assert expected_wire_bytes(on_two_nodes) == 2 * 11 * size  # one crossing between two nodes


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


@pytest.mark.parametrize(("lacking", "shown"), [(0, "overlaps"), (2, "overlaps"), (3, "overlaps?"), (9, "overlaps?")])
def test_a_verdict_is_doubtful_where_basic_lacks_more_than_a_quarter_of_its_points(
    tmp_path: Path, lacking: int, shown: str
) -> None:
    basic = sweep()
    for line in basic[1 : 1 + lacking]:
        line["parameters"]["message_bytes"] += 1
    own = summarise(table(tmp_path, basic, sweep(PAYS, configuration="async")))[1]
    assert (own.reliable, own.shown_verdict) == (9, shown)
    assert [note for note in own.notes if "basic" in note] == ([f"no basic at {lacking} of 9"] if lacking else [])
    assert own.because.endswith(f" where there is one to compare with, at {9 - lacking} of them") == (0 < lacking < 9)


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
    heads, *full = points_table_text(points).splitlines()
    rows, remarks = full[: len(points)], dict(line.strip().split(": ", 1) for line in full[len(points) :])
    assert "remarks" in heads
    (not_measured,) = [number for number, remark in remarks.items() if remark == "not valid: not measured"]
    assert not_measured in rows[19].split()
    assert len(set(remarks.values())) == len(remarks), "a remark of several points stands once"


def test_the_share_of_the_time_that_counts_is_of_all_whole_records(tmp_path: Path) -> None:
    def took(wall_seconds: float, measured_seconds: float) -> list[dict[str, Any]]:
        lines = sweep(grid=(16,))
        lines[-1] |= {"wall_seconds": wall_seconds, "measured_seconds": measured_seconds}
        return lines

    paths = [synthetic.write(tmp_path / f"{n}.jsonl", lines) for n, lines in enumerate((took(30, 27.5), took(10, 9)))]
    cut = synthetic.write(tmp_path / "cut.jsonl", took(1000, 1)[:-1])
    records = [load_overlap(path) for path in (*paths, cut)]
    assert measured_share(records) == "91.2 % of 40 s"
    assert measured_share_text(records).startswith("91.2 % of 40 s were spent in repetitions that count")
    assert measured_share([load_overlap(cut)]) == measured_share_text([load_overlap(cut)]) == ""


def test_where_the_rest_of_the_time_went_is_told_by_its_parts_the_largest_first(tmp_path: Path) -> None:
    spent = {"start_up": 1, "calibration": 2.5, "warm_up": 0.5, "thrown_away": 0.0, "clock": 0.25, "between": 1.5}
    paths = []
    for number, factor in enumerate((1, 3)):
        lines = sweep(grid=(16,))
        seconds = {name: factor * value for name, value in spent.items()}
        lines[-1] |= {"wall_seconds": factor * 10, "measured_seconds": factor * 4, "spent_seconds": seconds}
        paths.append(synthetic.write(tmp_path / f"{number}.jsonl", lines))
    assert measured_share_text(list(map(load_overlap, paths))) == (
        "40.0 % of 40 s were spent in repetitions that count; the rest in calibration 25.0 %, between repetitions "
        "(starts agreed on and waited for, messages checked) 15.0 %, start 10.0 %, warm-up 5.0 %, clocks 2.5 %, "
        "repetitions that were thrown away 0.0 %"
    )


def test_hostile_names_cannot_reach_the_terminal(tmp_path: Path) -> None:
    points = table(tmp_path, sweep(toolchain="evil\x1b[2J\u202e\n@1"))
    for text, lines in ((points_table_text(points), 10), (diagnosis_text(points), 3)):
        assert all(line.isprintable() for line in text.split("\n"))
        assert len(text.split("\n")) == lines


def test_mpi_test_and_another_computation_are_cases_of_their_own(tmp_path: Path) -> None:
    def with_plan(lines: list[dict[str, Any]], **plan: Any) -> list[dict[str, Any]]:
        lines[0]["plan"]["parameters"] |= {name: [value] for name, value in plan.items()}
        return lines

    points = table(
        tmp_path,
        sweep(grid=(16,)),
        with_plan(sweep(Behaviour(0.5), grid=(16,)), test_interval_ns=100_000),
        with_plan(sweep(Behaviour(0.9), grid=(16,)), computation="triad"),
        with_plan(sweep(grid=(16,), configuration="async"), computation="triad", test_interval_ns=100_000),
    )
    assert list(points["launch"]) == [1, 1, 1, 1]
    assert [configuration_words(row) for row in points.to_dict("records")] == [
        "basic",
        "basic, MPI_Test every 100 µs",
        "basic, triad",
        "async, triad, MPI_Test every 100 µs",
    ]
    # MPI_Test is an axis beside the configurations; computations are never compared with each other.
    assert list(points["speedup_vs_basic"].round(2)) == [1.0, 1.33, 1.0, 0.95]


def on_cores(
    threads: int, given_up: int, behaviour: Behaviour, configuration: str, **changes: Any
) -> list[dict[str, Any]]:
    """One point of 16 ms by 16 ms of a configuration that computes with so many threads."""
    lines = sweep(behaviour, grid=(16,), configuration=configuration, threads_per_rank=threads, **changes)
    lines[0]["progress"]["given_up_cores"] = given_up
    return lines


def test_a_core_that_is_given_up_is_counted(tmp_path: Path) -> None:
    """Sixteen cores: basic serialises, 32 ms for the work of 16; dedicated overlaps, 16.8 ms for the work of 15."""
    rows = table(
        tmp_path,
        on_cores(16, 0, synthetic.SERIALISED, "basic"),
        on_cores(15, 1, Behaviour(0.05), "dedicated"),
        on_cores(15, 1, Behaviour(0.9), "basic_reduced"),
        on_cores(16, 0, Behaviour(0.6), "async"),
        on_cores(15, 1, Behaviour(1.4), "dedicated_unbound"),
    ).set_index("configuration")
    assert set(rows["vs_basic_reason"]) == {""}
    speedup = 32 / 16.8
    dedicated = rows.loc["dedicated"]
    assert dedicated["speedup_vs_basic"] == pytest.approx(speedup, rel=1e-6)
    assert dedicated["speedup_vs_basic_per_work"] == pytest.approx(15 / 16 * speedup, rel=1e-6)
    assert dedicated["speedup_vs_reduced"] == pytest.approx(1.9 * 16 / 16.8, rel=1e-6)
    assert dedicated["break_even_cores"] == pytest.approx(32 / (32 - 16.8), rel=1e-6)
    for name in ("speedup_vs_basic_per_work", "speedup_vs_reduced", "break_even_cores", "r_comm", "r_comp_slowdown"):
        assert dedicated[f"{name}_ci95_low"] < dedicated[name] < dedicated[f"{name}_ci95_high"]
    assert rows.loc["basic_reduced", "speedup_vs_reduced"] == 1
    words = {s.configuration: s.because for s in summarise(rows.reset_index())}
    assert words["dedicated"].endswith("1.90 times basic's speed (1.79 by the work done, on 1 core fewer per rank)")
    assert words["async"].endswith("1.25 times basic's speed")
    for name in ("basic", "async"):  # they give nothing up
        assert math.isnan(rows.loc[name, "break_even_cores"])
        assert math.isnan(rows.loc[name, "speedup_vs_reduced"])
        assert rows.loc[name, "speedup_vs_basic_per_work"] == rows.loc[name, "speedup_vs_basic"]
    assert rows.loc["dedicated_unbound", "break_even_cores"] == math.inf
    as_json = {row["configuration"]: row for row in rows_as_json(rows.reset_index())}
    assert as_json["dedicated_unbound"]["break_even_cores"] == "never"
    assert as_json["dedicated_unbound"]["break_even_cores_ci95"] == ["never", "never"]
    assert as_json["basic"]["break_even_cores"] is None


def test_configurations_on_another_number_of_cores_are_not_compared(tmp_path: Path) -> None:
    rows = table(
        tmp_path,
        on_cores(15, 0, synthetic.SERIALISED, "basic"),
        on_cores(14, 1, synthetic.SERIALISED, "basic_reduced"),
        on_cores(15, 1, Behaviour(0.05), "dedicated"),
    )
    assert rows.iloc[-1]["vs_basic_reason"] == "basic was not measured at this point"
    assert math.isnan(rows.iloc[-1]["break_even_cores"])
    assert math.isnan(rows.iloc[-1]["speedup_vs_reduced"])


def test_the_control_counts_only_where_it_is_the_same_work_and_valid(tmp_path: Path) -> None:
    for control in (point(message_bytes=77), point(repetitions=4), point(work_size=78)):
        lines = on_cores(1, 1, synthetic.SERIALISED, "basic_reduced")
        lines[1] = control
        own = on_cores(1, 1, Behaviour(0.05), "dedicated")
        assert math.isnan(table(tmp_path, lines, own).iloc[-1]["speedup_vs_reduced"])


def test_intervals_of_large_runs_are_approximate_and_say_so(tmp_path: Path) -> None:
    whole, without = sweep(synthetic.CONTENTION, grid=(16,)), sweep(synthetic.CONTENTION, grid=(16,))
    del without[1]["rank_samples"], without[1]["thread_medians"]
    full, large = (table(tmp_path, lines).iloc[0] for lines in (whole, without))
    assert not any("approximate" in flag for flag in full["flags"])
    assert large["flags"] == [
        "intervals of r_comm and r_comp_slowdown are approximate: no rank's own samples were kept"
    ]
    for name in ("r_comm", "r_comp_slowdown"):
        assert large[name] == pytest.approx(full[name], rel=1e-6)
        assert (
            0.9 * full[name] < large[f"{name}_ci95_low"] < large[name] < large[f"{name}_ci95_high"] < 1.1 * full[name]
        )
    assert math.isnan(large["overlap_osu_percent"])


def test_what_other_suites_would_say(tmp_path: Path) -> None:
    """Communication hidden at the price of a computation three times as long: they see 90 % of overlap."""
    row = table(tmp_path, sweep(Behaviour(2.1, comm=0.1, comp_slowdown=3.0), grid=(16,))).iloc[0]
    assert row["overlap_osu_percent"] == pytest.approx(90, abs=1)
    assert row["overlap_imb_percent"] == pytest.approx(100 * 0.9 / 3, abs=1)
    assert row["r_overhead"] == pytest.approx(2.1, abs=0.01)
    assert row["r_interference"] == pytest.approx(2.0, abs=0.01)
    assert row["r_exposed"] == pytest.approx(0.1, abs=0.05)


def test_mpi_test_is_time_inside_mpi(tmp_path: Path) -> None:
    """A tenth of the communication in MPI_Test: r_comm has it, the computation has not."""
    lines = sweep(Behaviour(0.6, comm=0.5), grid=(16,))
    lines[0]["plan"]["parameters"]["test_interval_ns"] = [100_000]
    line, spent = lines[1], 1_600_000
    line["own"]["test_calls"] = 160
    line["spreads"]["t_test_ns"] = synthetic.spread([spent] * 11)
    line["rank_samples"]["t_test_ns"] = [[spent] * 11] * 2
    row = table(tmp_path, sweep(grid=(16,)), lines).iloc[-1]
    assert (row["test_calls"], row["t_test_ns"]) == (160, spent)
    assert row["r_comm"] == pytest.approx(0.6, abs=0.01)
    assert row["r_comp_slowdown"] == pytest.approx(1.0, abs=0.01)


def test_break_even_is_predicted_and_measured(tmp_path: Path) -> None:
    """Overlap halves the time, but for 5 %: one core of two is too many, one of sixteen is not."""
    points = table(
        tmp_path,
        *(
            on_cores(cores - given_up, given_up, behaviour, configuration)
            for cores in (2, 16)
            for configuration, given_up, behaviour in (
                ("basic", 0, synthetic.SERIALISED),
                ("dedicated", 1, Behaviour(0.05)),
                ("dedicated_unbound", 1, Behaviour(1.2)),
                ("async", 0, Behaviour(0.3)),
            )
        ),
    )
    found = break_even_table(points)
    assert list(found.columns) == BREAK_EVEN_COLUMNS
    assert list(found["configuration"]) == ["dedicated", "dedicated_unbound"] * 2
    assert list(found["cores_per_rank"]) == [2, 2, 16, 16]
    assert list(found["pays"]) == ["likely no", "likely no", "likely yes", "likely no"]  # of one launch each
    assert list(found["pays_on_cores"]) == [[16], [], [16], []]
    assert list(found["does_not_pay_on_cores"]) == [[2], [2, 16], [2], [2, 16]]
    assert found["break_even_cores"][0] == pytest.approx(32 / 15.2, rel=1e-6)
    lines = break_even_text(points).splitlines()
    assert len(lines) == 5
    assert re.search(r" 3 +\[3, 3\] +6 +likely no +pays on 16; not on 2 +shared core$", lines[1])
    assert re.search(r" never +\[never, never\] +never +likely no +not on 2, 16 +shared core$", lines[2])


PAYS, PAYS_NOT, EVEN = Behaviour(0.05), Behaviour(1.2), Behaviour(0.875)
"""On 15 of 16 cores, against a basic that serialises: 15 / 16 * 2 / 1.875 is exactly 1."""


@pytest.mark.parametrize(
    ("launches", "words", "pays", "does_not"),
    [
        ((PAYS,) * 3, ["yes"] * 3, [16], []),
        ((PAYS_NOT,) * 3, ["no"] * 3, [], [16]),
        ((PAYS, PAYS, EVEN), ["yes", "yes", "cannot tell"], [16], []),
        ((PAYS, PAYS, PAYS_NOT), ["yes", "yes", "no"], [], []),  # it cannot be told
        ((PAYS,) * 2, ["likely yes"] * 2, [16], []),
        ((PAYS,), ["likely yes"], [16], []),
        ((EVEN,), ["cannot tell"], [], []),
    ],
)
def test_launches_must_agree_on_what_pays(
    tmp_path: Path, launches: tuple[Behaviour, ...], words: list[str], pays: list[int], does_not: list[int]
) -> None:
    basic = on_cores(16, 0, synthetic.SERIALISED, "basic")
    found = break_even_table(table(tmp_path, *[basic] * 3, *(on_cores(15, 1, one, "dedicated") for one in launches)))
    assert list(found["pays"]) == words
    assert list(found["pays_on_cores"]) == [pays] * len(launches)
    assert list(found["does_not_pay_on_cores"]) == [does_not] * len(launches)


def test_what_pays_is_told_by_good_points_alone(tmp_path: Path) -> None:
    basic = on_cores(16, 0, synthetic.SERIALISED, "basic")
    disturbed = on_cores(16, 0, synthetic.SERIALISED, "basic")
    disturbed[1]["own"]["reference_moved"] = {"comm": 0.0, "comp": 0.18}
    good = on_cores(15, 1, PAYS, "dedicated")
    unreliable = on_cores(15, 1, PAYS, "dedicated")
    unreliable[1]["own"]["comm_calibration"] = {**CALIBRATION, "status": "unreachable"}
    crowded = on_cores(15, 1, PAYS, "dedicated", oversubscribed=True)
    for first, own, counts, remarks in (
        (basic, good, True, "shared core"),
        (disturbed, good, False, "unreliable, shared core"),
        (basic, unreliable, False, "unreliable, shared core"),
        (basic, crowded, False, "oversubscribed, shared core"),
        (basic, good[:-1], False, "shared core, incomplete record"),  # cut off
    ):
        points = table(tmp_path, first, own)
        found = break_even_table(points)
        assert list(found["pays"]) == ["likely yes"]
        assert list(found["pays_on_cores"]) == [[16] if counts else []]
        (line,) = break_even_text(points).splitlines()[1:]
        assert re.search(rf" likely yes{'' if counts else '[?]'}  .*  {remarks}$", line)


def test_nobody_gave_up_a_core(tmp_path: Path) -> None:
    points = table(tmp_path, sweep(grid=(16,)), sweep(grid=(16,), configuration="async"))
    assert break_even_text(points) == ""
    assert list(break_even_table(points.iloc[:0]).columns) == BREAK_EVEN_COLUMNS
