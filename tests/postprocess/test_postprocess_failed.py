"""A case that failed its verification was not what was asked for: its numbers are shown, and nothing rests on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from postprocess.families import registry
from postprocess.families.mpi_impact.table import verdict
from postprocess.families.nbc_overlap.break_even import break_even_table
from postprocess.families.nbc_overlap.charts import charts
from postprocess.families.nbc_overlap.points import points_of, usable
from postprocess.families.nbc_overlap.summary import summarise
from postprocess.families.nbc_overlap.tables import diagnosis_text
from postprocess.records.as_json import rows_as_json
from postprocess.records.run import PERFORMANCE, load_run
from postprocess.report.html import render_report
from tests.postprocess import synthetic, synthetic_impact
from tests.postprocess.synthetic import Behaviour, sweep

WHY = "the wire carried 7 MiB, less than the payload of 32 MiB"
FAILED: dict[str, Any] = {"result": "fail", "reason": WHY, "fail_phase": "sanity"}
OVERLAPPING = Behaviour(0.05)


def again(lines: list[dict[str, Any]], repeat: int) -> list[dict[str, Any]]:
    """The record of one of several repeats of its case."""
    return [{**lines[0], "metadata": {"case": {"repeat": repeat}}}, *lines[1:]]


def beside_basic(folder: Path, number: int, **said: Any) -> pd.DataFrame:
    """The points of `basic` and of an `async` that overlaps, after the manifest said something of one of them."""
    run = synthetic.run_folder(folder, [sweep(), sweep(OVERLAPPING, configuration="async")])
    return points_of(load_run(synthetic.said_of(run, number, **said)))


def test_points_of_a_failed_case_are_shown_and_not_relied_on(tmp_path: Path) -> None:
    points = beside_basic(tmp_path, 1, **FAILED)
    own = points[points["configuration"] == "async"]
    assert own["valid"].all()
    assert not own["reliable"].any()
    assert {reasons[0] for reasons in own["unreliable_reasons"]} == {f"the case failed: {WHY}"}
    assert set(own["failed"]) == {WHY}
    assert own["r_overhead_vs_basic"].notna().all()
    assert points.loc[points["configuration"] == "basic", "reliable"].all()
    assert {row["failed"] for row in rows_as_json(points)} == {"", WHY}
    assert usable(own).empty


def test_the_reason_is_in_the_archived_table_and_short(tmp_path: Path) -> None:
    run = synthetic.run_folder(tmp_path, [sweep(grid=(16,))])
    registry.write_tables(load_run(synthetic.said_of(run, 0, **{**FAILED, "reason": "it\nfailed " + 300 * "x"})))
    row = pd.read_parquet(run / "points.parquet").iloc[0]
    assert row["failed"].startswith("it failed xxx")
    (reason,) = row["unreliable_reasons"]
    assert reason.startswith("the case failed: it failed xxx")
    assert reason.endswith("x…")
    assert len(reason) < 150


@pytest.mark.parametrize(
    "said",
    [
        {"result": "fail", "reason": "r_overhead is over its reference", "fail_phase": PERFORMANCE},
        {"result": "missing", "reason": "the run was cut off after 5 of its points", "fail_phase": ""},
        {"result": ""},  # of a run that goes on
        {"result": None},
        {"result": "skip", "reason": "no progress thread over shared memory"},
        {**FAILED, "record": None},  # of a case that left no record, whatever else lies there
    ],
)
def test_what_is_not_known_to_have_failed_is_as_good_as_it_looks(tmp_path: Path, said: dict[str, Any]) -> None:
    assert beside_basic(tmp_path, 1, **said)["reliable"].all()


def test_a_run_without_a_manifest_tells_of_no_failure(tmp_path: Path) -> None:
    run = synthetic.said_of(synthetic.run_folder(tmp_path, [sweep()]), 0, **FAILED)
    (run / "manifest.json").unlink()
    assert points_of(load_run(run))["reliable"].all()
    (run / "manifest.json").write_text(json.dumps({"schema": "mpi-campaign.manifest", "cases": [3, None]}))
    assert points_of(load_run(run))["reliable"].all()


def test_what_is_compared_with_a_basic_that_failed_says_so(tmp_path: Path) -> None:
    points = beside_basic(tmp_path, 0, **FAILED)
    own = points.query("configuration == 'async'")
    assert own["r_overhead_vs_basic"].notna().all()
    assert {tuple(reasons) for reasons in own["unreliable_reasons"]} == {(f"basic's case failed: {WHY}",)}
    assert set(own["failed"]) == {f"basic's case failed: {WHY}"}
    assert set(own["launches_vs_basic"]) == {0}
    _, summary = summarise(points)
    assert (summary.shown_verdict, summary.because) == ("cannot tell", "its basic failed")
    assert summary.notes[0] == f"basic's case failed: {WHY}"
    assert (summary.diagnosis.label, summary.diagnosis.words) == ("unreliable", f"basic's case failed: {WHY}")


def on_cores(threads: int, given_up: int, behaviour: Behaviour, configuration: str) -> list[dict[str, Any]]:
    lines = sweep(behaviour, grid=(16,), configuration=configuration, threads_per_rank=threads)
    lines[0]["progress"]["given_up_cores"] = given_up
    return lines


def test_nothing_is_compared_with_a_control_that_failed(tmp_path: Path) -> None:
    records = [
        on_cores(16, 0, synthetic.SERIALISED, "basic"),
        on_cores(15, 1, Behaviour(0.9), "basic_reduced"),
        on_cores(15, 1, OVERLAPPING, "dedicated"),
    ]
    run = synthetic.run_folder(tmp_path, records)
    assert points_of(load_run(run))["speedup_vs_reduced"].notna().tolist() == [False, True, True]
    row = points_of(load_run(synthetic.said_of(run, 1, **FAILED))).iloc[-1]
    assert row["speedup_vs_reduced"] != row["speedup_vs_reduced"]
    assert row["flags"] == [f"not compared with basic_reduced: its case failed: {WHY}"]
    assert row["reliable"]  # what decides was measured against basic


@pytest.mark.parametrize("number", [0, 1])
def test_what_failed_does_not_tell_that_a_core_pays(tmp_path: Path, number: int) -> None:
    records = [on_cores(16, 0, synthetic.SERIALISED, "basic"), on_cores(15, 1, OVERLAPPING, "dedicated")]
    run = synthetic.run_folder(tmp_path, records)
    assert list(break_even_table(points_of(load_run(run)))["pays_on_cores"]) == [[16]]
    failed = points_of(load_run(synthetic.said_of(run, number, **FAILED)))
    assert list(break_even_table(failed)["pays_on_cores"]) == [[]]
    if number:
        assert not [chart for chart in charts(failed) if chart.kind == "cores"]


def test_a_case_that_failed_has_no_verdict(tmp_path: Path) -> None:
    points = beside_basic(tmp_path, 1, **FAILED)
    basic, own = summarise(points)
    assert (basic.verdict, basic.notes) == ("serialises", ())
    assert (own.shown_verdict, own.notes) == ("cannot tell", (f"failed: {WHY}", "shared core"))
    assert (own.points, own.valid, own.reliable, own.because) == (9, 9, 0, "it failed")
    assert (own.diagnosis.label, own.diagnosis.words) == ("unreliable", f"the case failed: {WHY}")
    assert own.diagnosis.advice == f"The case failed: {WHY}: its numbers tell nothing. Mend that, and measure again."
    assert own.notes[0] == f"failed: {WHY}"
    assert "overlap" not in diagnosis_text(points)


def test_a_launch_that_failed_does_not_count_beside_one_that_did_not(tmp_path: Path) -> None:
    """Two of three failed, and are the only ones that overlap."""
    launches = [again(sweep(b), n) for n, b in enumerate((OVERLAPPING, synthetic.SERIALISED, OVERLAPPING), start=1)]
    run = synthetic.run_folder(tmp_path, launches)
    for number in (0, 2):
        synthetic.said_of(run, number, **FAILED)
    (summary,) = summarise(points_of(load_run(run)))
    assert (summary.shown_verdict, summary.points, summary.reliable) == ("serialises", 9, 9)
    assert summary.notes == (f"launch 1 failed: {WHY}", f"launch 3 failed: {WHY}")
    assert summary.diagnosis.words == "no progression at 9 of 9"


def test_an_idle_library_of_a_case_that_failed_tells_nothing(tmp_path: Path) -> None:
    name = "records/impact.jsonl"
    case = {"case": "mpich@5.0.2 shm async mpi_impact", "benchmark": "mpi_impact", "record": name, "result": "pass"}
    run = synthetic.run_folder(tmp_path, [sweep(grid=(16,))], [case])
    synthetic.write(run / name, synthetic_impact.synthetic(16, synthetic_impact.slowed(1.27)))
    good = synthetic_impact.impact_of(load_run(run))
    assert good["reliable"].all()
    synthetic.said_of(run, 1, **FAILED)
    impacts = synthetic_impact.impact_of(load_run(run))
    assert not impacts["reliable"].any()
    assert {reasons[0] for reasons in impacts["unreliable_reasons"]} == {f"the case failed: {WHY}"}
    assert {verdict(row) for row in impacts.to_dict("records")} == {"cannot tell"}
    report = render_report(load_run(run))
    assert f"unreliable: the case failed: {WHY}" in report
