"""Records of versions of a solver: improvement and bound against known answers, verdicts, pictures and report."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.families.transfer_overlap import entry
from postprocess.families.transfer_overlap.axes import CONTROLS, NOTHING, PIPELINED
from postprocess.families.transfer_overlap.charts import charts
from postprocess.families.transfer_overlap.entry import SECTION, TRANSFER_OVERLAP
from postprocess.families.transfer_overlap.record import load_transfer_overlap
from postprocess.families.transfer_overlap.table import record_numbers, transfer_table
from postprocess.families.transfer_overlap.verdict import (
    CANNOT_TELL,
    NOT,
    PAYS,
    Found,
    Verdict,
    verdict_text,
    verdicts,
)
from postprocess.statistics.metrics import Estimate
from postprocess.statistics.transfer_overlap import improvement, improvement_bound
from tests.postprocess import synthetic
from tests.postprocess.synthetic_transfer_overlap import OVERLAPS, SERIALISED, VERSIONS, Lines, Truth, point, record

TESTED = tuple(name for name in VERSIONS if name not in CONTROLS)


def table_of(path: Path, *records: Lines) -> pd.DataFrame:
    return transfer_table([load_transfer_overlap(file) for file in synthetic.written(path, records)])


def row_of(path: Path, truth: Truth = SERIALISED, *, header: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The row of a record of one point."""
    lines = record(truth, versions=("overlap",), **(header or {}))
    lines[1] = point(truth=truth, **changes)
    return table_of(path, lines).iloc[0]


@pytest.mark.parametrize(
    ("nonoverlap", "overlap", "percent"), [(55.61, 14.85, 73.30), (15.32, 14.59, 4.77), (12.48, 12.54, -0.48)]
)
def test_the_improvement_of_table_ii(nonoverlap: float, overlap: float, percent: float) -> None:
    """White & Bova print 73.3, 4.1 and -0.4; the times of the last two rows give other numbers."""
    assert 100 * float(improvement(nonoverlap, overlap)) == pytest.approx(percent, abs=0.005)


def test_perfect_overlap_improves_by_the_bound_and_at_most_by_half() -> None:
    assert float(improvement_bound(1.0, 1.0)) == 0.5
    assert float(improvement_bound(1.0, 3.0)) == float(improvement_bound(3.0, 1.0)) == 0.25
    assert float(improvement_bound(0.0, 1.0)) == 0.0
    assert np.isnan(improvement_bound([0.0, math.nan], [0.0, 1.0])).all()
    assert np.isnan(improvement([0.0, math.nan], [1.0, 1.0])).all()


@given(st.floats(1e-3, 1e9), st.floats(1e-3, 1e9))
def test_the_bound_is_the_improvement_of_the_longer_time_alone(comm: float, comp: float) -> None:
    expected = float(improvement(comm + comp, max(comm, comp)))
    assert float(improvement_bound(comm, comp)) == pytest.approx(expected, abs=1e-9)


def test_the_values_are_the_truths_and_the_interval_holds_them(tmp_path: Path) -> None:
    for name, row in table_of(tmp_path, record(OVERLAPS)).set_index("variant").iterrows():
        expected = 0.0 if name in CONTROLS else 0.15
        assert row["improvement"] == pytest.approx(expected, abs=1e-6)
        assert row["improvement_ci95_low"] <= expected <= row["improvement_ci95_high"]
        assert row["improvement_joint_ci95_low"] <= row["improvement_ci95_low"]
        assert row["improvement_ci95_high"] <= row["improvement_joint_ci95_high"]
        assert row["bound"] == pytest.approx(0.0 if name == NOTHING else 0.2, abs=1e-6)
        assert not row["above_bound"]
        assert not row["flags"]


def test_a_thread_that_makes_both_versions_slow_brings_nothing_over_basic(tmp_path: Path) -> None:
    slow = Truth(improvement=0.15, comm_ns=3 * SERIALISED.comm_ns, comp_ns=3 * SERIALISED.comp_ns)
    table = table_of(tmp_path, record(SERIALISED), record(slow, configuration="async"))
    overlap = table[table["variant"] == "overlap"].set_index("configuration")
    assert overlap.loc["async", "improvement"] == pytest.approx(0.15, abs=1e-6)
    for configuration, expected in (("basic", 0.0), ("async", 1 - 3 * 0.85)):
        row = overlap.loc[configuration]
        assert row["improvement_vs_basic_ci95_low"] < expected < row["improvement_vs_basic_ci95_high"]
    assert "every version loses" in verdict_text(table)
    alone = table_of(tmp_path / "alone", record(slow, configuration="async"))
    assert alone["improvement_vs_basic"].isna().all()


def test_an_improvement_above_the_bound_is_flagged_as_a_fault_of_the_baseline(tmp_path: Path) -> None:
    """As with MPT 1.2.1.1 in table II: 73 % where at most 50 % are possible."""
    row = row_of(tmp_path, Truth(improvement=0.733))
    assert row["above_bound"]
    assert row["flags"] == [
        "the improvement is above the bound of 20.0 %: the version without overlap takes longer than its parts"
    ]
    (verdict,) = verdicts(table_of(tmp_path, record(Truth(improvement=0.733))))
    assert verdict.words.endswith("that is more than the times allow: the version without overlap is at fault")
    at_the_bound = row_of(tmp_path, Truth(improvement=0.2))
    assert not at_the_bound["above_bound"]


@pytest.mark.parametrize(("longer", "stands"), [(1.0, True), (1.08, True), (1.12, False), (3.0, False)])
def test_a_bound_of_parts_that_take_longer_than_the_whole_is_none(tmp_path: Path, longer: float, stands: bool) -> None:
    """As where a progress thread comes into the computation alone. The improvement stands: its times are others."""
    lines = record(OVERLAPS, versions=("overlap",))
    for name in ("t_comm_ns", "t_comp_ns"):
        lines[1]["series"][name] = [round(longer * time) for time in lines[1]["series"][name]]
    table = table_of(tmp_path, lines)
    row = table.iloc[0]
    assert row["parts_of_whole"] == pytest.approx(longer, rel=0.01)
    assert row["reliable"] and row["bound_stands"] == stands
    assert [flag.endswith(": the bound does not hold") for flag in row["flags"]] == [True] * (not stands)
    (verdict,) = verdicts(table)
    assert ("the times allow 20.0 %" in verdict.words) == stands
    assert ("what the times allow is not known" in verdict.words) != stands
    (chart,) = charts(table)
    assert any(curve.name.endswith(": bound") for curve in chart.curves) == stands


def test_a_computation_that_is_disturbed_in_most_repetitions_gives_no_bound(tmp_path: Path) -> None:
    """Its interval holds both states."""
    lines = record(OVERLAPS, versions=("overlap",))
    times = lines[1]["series"]["t_comp_ns"]
    lines[1]["series"]["t_comp_ns"] = [time * (2 if i % 7 < 4 else 1) for i, time in enumerate(times)]
    row = table_of(tmp_path, lines).iloc[0]
    assert row["parts_of_whole_ci95_low"] < 1.05 and row["parts_of_whole"] > 1.5
    assert not row["bound_stands"]


def test_unequal_parts_are_flagged(tmp_path: Path) -> None:
    lines = record(versions=("overlap",))
    lines[1]["own"]["imbalance"] = 1.5
    assert table_of(tmp_path, lines).iloc[0]["flags"] == [
        "the largest part of the grid has 50 % more points than the mean"
    ]


@pytest.mark.parametrize(
    ("truth", "outcome", "says"),
    [
        (OVERLAPS, PAYS, " brings 15.0 % ["),
        (SERIALISED, NOT, "likely does not pay: the best version"),
        (Truth(improvement=-0.2), NOT, "likely does not pay"),
        (Truth(improvement=0.01, spread=0.04), CANNOT_TELL, "; the times allow 20.0 %"),
        (Truth(improvement=-0.2, of={"persistent": 0.1}), PAYS, "likely pays: persistent brings 10.0 %"),
        (replace(OVERLAPS, of={NOTHING: 0.08}), CANNOT_TELL, "the control nothing must bring nothing"),
        (replace(OVERLAPS, of={"nonoverlap": -0.08}), CANNOT_TELL, "the control nonoverlap must bring nothing"),
    ],
)
def test_an_answer_for_each_application(tmp_path: Path, truth: Truth, outcome: str, says: str) -> None:
    (verdict,) = verdicts(table_of(tmp_path, record(truth)))
    assert verdict.outcome == outcome
    assert says in verdict.words


def test_the_best_version_is_the_one_that_brings_most_for_sure(tmp_path: Path) -> None:
    """A wide interval, whose middle is higher, does not win."""
    table = table_of(tmp_path, record(OVERLAPS))
    neighborhood = table["variant"] == "neighborhood"
    table.loc[neighborhood, ["improvement", "improvement_joint_ci95_low"]] = [0.16, 0.05]
    (verdict,) = verdicts(table)
    assert verdict.versions[0].variant != "neighborhood" and verdict.versions[-1].variant == "neighborhood"


def test_what_leaves_an_answer_open_is_what_is_shown_of_it() -> None:
    surely_none, open_ = ((-0.02, -0.03, -0.01), (-0.05, -0.1, 0.04))
    versions = tuple(
        Found(name, Estimate(*map(np.float64, numbers)), Estimate(*map(np.float64, numbers)), 0.5, 0.5, 3, False)
        for name, numbers in (("a", surely_none), ("b", open_))
    )
    verdict = Verdict({}, versions, "", "", (0, 8, 0))
    assert (verdict.outcome, verdict.deciding) == (CANNOT_TELL, versions[1])
    assert replace(verdict, versions=versions[:1]).deciding == versions[0]
    assert replace(verdict, versions=()).deciding is None


def test_references_that_stand_still_are_not_said_to_drift(tmp_path: Path) -> None:
    table = table_of(tmp_path, record(OVERLAPS, unknowns=(1, 16)))
    assert not table["reference_drifts"].any()
    assert table["reference_fastest_ns"].notna().all()
    assert (np.abs(table["improvement_change"].to_numpy(np.float64)) < 0.02).all()
    assert "drift" not in verdict_text(table)


def test_an_exchange_of_nothing_has_a_faster_reference_and_is_no_drift(tmp_path: Path) -> None:
    """Its reference exchanges nothing either."""
    table = table_of(tmp_path, record(OVERLAPS)).set_index("variant")
    assert table.loc[NOTHING, "t_nonoverlap_ns"] < 0.9 * table.loc["overlap", "t_nonoverlap_ns"]
    assert not table["reference_drifts"].any()
    assert table["reference_fastest_ns"].nunique() == 1


def test_a_reference_that_drifts_over_the_versions_is_flagged_and_their_improvements_stand(tmp_path: Path) -> None:
    slower = {"persistent": 0.5, "neighborhood": 0.2}
    drifting = table_of(tmp_path, record(replace(OVERLAPS, slower=slower, noise=0.01)))
    steady = table_of(tmp_path, record(replace(OVERLAPS, noise=0.01)))
    assert drifting["reference_drifts"].all() and drifting["reliable"].all()
    for (_, row), (_, other) in zip(drifting.iterrows(), steady.iterrows(), strict=True):
        assert row["improvement"] == pytest.approx(other["improvement"], abs=1e-6)
        assert [("different states of the machine" in flag) for flag in row["flags"]] == (
            [True] if row["variant"] in slower else []
        )
    (verdict,) = verdicts(drifting)
    assert verdict.outcome == PAYS
    assert verdict.drifts.startswith("the reference drifts over the versions, from 5 ms to 7.5 ms: each version is")
    assert verdict.drifts in verdict_text(drifting)
    (of_two,) = verdicts(table_of(tmp_path, record(replace(OVERLAPS, slower=slower, noise=0.01)), record(OVERLAPS)))
    assert of_two.drifts.startswith("the reference drifts over the versions in 1 of 2 launches, from ")
    view = SECTION.view(drifting, (), 5)
    assert view is not None and view.verdicts[0][-1] == [verdict.drifts]


def test_a_drift_smaller_than_what_matters_is_none(tmp_path: Path) -> None:
    table = table_of(tmp_path, record(replace(OVERLAPS, slower={"persistent": 0.02}, noise=0.001)))
    assert not table["reference_drifts"].any()


def test_a_jump_of_the_machine_within_a_point_spoils_no_improvement_made_within_repetitions(tmp_path: Path) -> None:
    row = row_of(tmp_path, replace(OVERLAPS, jumps={"overlap": 1.0}, noise=0.01), repetitions=40)
    assert row["reliable"]
    assert row["improvement"] == pytest.approx(0.15, abs=0.005)
    assert row["reference_change"] == pytest.approx(1.0, rel=0.02)
    assert row["flags"] == ["its reference changed by +99 % from the earlier to the later half"]
    few = row_of(tmp_path, replace(OVERLAPS, jumps={"overlap": 1.0}), repetitions=11)
    assert math.isnan(few["reference_change"])  # halves of 5 have no interval


def test_an_improvement_that_changes_within_a_point_is_that_of_no_state(tmp_path: Path) -> None:
    row = row_of(tmp_path, replace(OVERLAPS, later={"overlap": 0.08}), repetitions=40)
    assert row["improvement_ci95_high"] - row["improvement_ci95_low"] < 0.10
    assert row["improvement_change"] == pytest.approx(0.08, abs=0.01)
    assert row["unreliable_reasons"] == [
        "the improvement changed by +0.08 from the earlier to the later half of the repetitions"
    ]


def test_applications_are_systems_libraries_and_configurations(tmp_path: Path) -> None:
    table = table_of(
        tmp_path, record(OVERLAPS, unknowns=(1, 16)), record(SERIALISED, unknowns=(1,), configuration="async")
    )
    found = verdicts(table)
    assert [(one.values["configuration"], one.values["unknowns"], one.outcome) for one in found] == [
        ("basic", 1, PAYS), ("basic", 16, PAYS), ("async", 1, NOT),
    ]  # fmt: skip


def test_three_launches_make_an_answer_sure_and_unreliable_points_do_not_count(tmp_path: Path) -> None:
    for launches, words in ((2, "likely pays: "), (3, "pays: ")):
        (several,) = verdicts(table_of(tmp_path, *[record(OVERLAPS)] * launches))
        assert several.words.startswith(words)
    lines = record(OVERLAPS)
    for line in lines[1:-1]:
        line["data_errors"] = 1
    (verdict,) = verdicts(table_of(tmp_path, lines))
    assert verdict.words == "cannot tell: no point is reliable"
    assert verdict.unreliable == (8, 8, 0)  # what is wrong is not faster


def test_residuals_that_differ_where_they_must_not_are_a_fault(tmp_path: Path) -> None:
    good = record()
    bad = record()
    bad[3]["own"]["history"] = "0" * 16
    paths = [synthetic.write(tmp_path / f"{number}.jsonl", lines) for number, lines in enumerate((good, bad))]
    first, second = (load_transfer_overlap(path) for path in paths)
    assert not list(entry.wrong(first))
    assert list(entry.wrong(second)) == [
        "residuals of versions differ that must be the same, on 10 000 points with 1 unknown each"
    ]
    told = dict(entry.INSIDE.covered([first]))
    assert told["Residuals"] == "10 000 points with 1 unknown each: the same bits in 6 solvers"
    assert "2 different ones in 12 solvers" in dict(entry.INSIDE.covered([first, second]))["Residuals"]


def test_the_payload_is_what_all_solves_exchanged(tmp_path: Path) -> None:
    versions = ("overlap", PIPELINED, NOTHING)
    on_wire, shared = (
        load_transfer_overlap(
            synthetic.write(tmp_path / f"{network[:4]}.jsonl", record(versions=versions, network=network))
        )
        for network in ("wire:2gbit", "shm")
    )
    assert entry.payload_bytes(on_wire) == 2 * 3 * 21 * 44 * 1600
    assert entry.payload_bytes(shared) == 0


def test_the_numbers_of_a_record(tmp_path: Path) -> None:
    def numbers_of(truth: Truth) -> dict[str, float]:
        return record_numbers(load_transfer_overlap(synthetic.write(tmp_path / "r.jsonl", record(truth))))

    assert numbers_of(OVERLAPS) == {
        "t_ratio_to_nonoverlap": pytest.approx(0.85, abs=1e-6), "points": 8, "points_valid": 8, "points_reliable": 8,
    }  # fmt: skip
    assert numbers_of(SERIALISED)["t_ratio_to_nonoverlap"] == pytest.approx(1.0, abs=1e-6)
    assert {bound.metric for bound in TRANSFER_OVERLAP.bounds} <= set(numbers_of(OVERLAPS))
