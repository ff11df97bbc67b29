"""r_mpi_impact: its formula and interval against a known truth, and records whole, cut off and wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from postprocess.drawing.look import Look
from postprocess.families import registry
from postprocess.families.mpi_impact.record import COMPUTE_ALONE, MPI_IMPACT, load_impact
from postprocess.families.mpi_impact.table import SHOWN, controls, highlighted, impact_table, told, verdict
from postprocess.records.fields import RecordError
from postprocess.records.run import load_run
from postprocess.report.html import write_report
from postprocess.statistics.metrics import Floats, r_mpi_impact
from tests.postprocess.synthetic import write
from tests.postprocess.synthetic_impact import BLOCK, TARGETS_NS, footer, impact_of, slowed, synthetic
from tests.postprocess.test_postprocess_report import Page
from tests.support import check_record

DRAWN = Look(kinds=("svg", "png"))


def middle_row(path: Path) -> dict[str, Any]:
    """The row of 512 ms."""
    return {str(key): value for key, value in impact_table([load_impact(path)]).to_dict("records")[1].items()}


def test_the_ratio_is_that_of_figure_9() -> None:
    """Figure 9's 1.27: with and without MPI, in pairs that all agree, the interval shrinks to it."""
    found = r_mpi_impact(np.array([1.27, 1.27, 1.27]), np.array([1.0, 1.0, 1.0]))
    assert [float(part) for part in (found.value, found.low, found.high)] == pytest.approx([1.27, 1.27, 1.27])


def test_the_interval_is_students_of_the_logarithms() -> None:
    """Two pairs, ratios 1.1 and 1.3: mean of logarithms +- 12.706 standard errors, by hand."""
    found = r_mpi_impact([1.1, 2.6], [1.0, 2.0])
    mean, half = math.log(1.1 * 1.3) / 2, 12.7062047 * (math.log(1.3) - math.log(1.1)) / 2
    assert float(found.value) == pytest.approx(math.exp(mean))
    assert float(found.low) == pytest.approx(math.exp(mean - half))
    assert float(found.high) == pytest.approx(math.exp(mean + half))


def test_what_cannot_be_computed_is_nan_and_never_clamped() -> None:
    assert math.isnan(float(r_mpi_impact([], []).value))
    alone = r_mpi_impact([2.0], [1.0])
    assert float(alone.value) == 2.0
    assert math.isnan(float(alone.low)) and math.isnan(float(alone.high))
    assert math.isnan(float(r_mpi_impact([2.0, 1.0], [1.0, 0.0]).value))
    assert float(r_mpi_impact([0.5, 0.5], [1.0, 1.0]).value) == 0.5
    with pytest.raises(ValueError, match="pairs"):
        r_mpi_impact([1.0, 2.0], [1.0])


def test_a_drift_of_the_machine_cancels_in_the_order_a_b_b_a() -> None:
    """Every launch is 1 % slower than the one before it: first the one program follows the other, then the reverse."""
    times = [1.01**launch * (1.2 if program == MPI_IMPACT else 1.0) for launch, program in enumerate(BLOCK * 3)]
    with_mpi = [time for time, program in zip(times, BLOCK * 3, strict=True) if program == MPI_IMPACT]
    without = [time for time, program in zip(times, BLOCK * 3, strict=True) if program == COMPUTE_ALONE]
    assert float(r_mpi_impact(with_mpi, without).value) == pytest.approx(1.2)
    assert float(r_mpi_impact(times[::2], times[1::2]).value) != pytest.approx(1.2, rel=1e-3)  # A B A B would not


@pytest.mark.parametrize("pairs", [2, 3, 4, 6, 12])
@pytest.mark.parametrize("kind", ["normal", "lognormal", "bimodal"])
def test_the_interval_covers_the_truth(pairs: int, kind: str) -> None:
    """Of 2000 synthetic cases with a known ratio at least 93.5 % hold it; launches differ, repetitions add nothing."""
    random = np.random.default_rng(pairs * 1000 + len(kind))
    shape = (2000, pairs)

    def draw() -> Floats:
        noise: Floats = random.standard_normal(shape)
        if kind == "normal":
            return 1 + 0.05 * noise
        if kind == "lognormal":
            return np.exp(0.2 * noise)
        return np.where(random.random(shape) < 0.3, 1.1, 1.0) * (1 + 0.01 * noise)

    above, below = 1.27 * draw(), draw()
    held = 0
    for passive, alone in zip(above, below, strict=True):
        found = r_mpi_impact(passive, alone)
        held += bool(found.low <= 1.27 <= found.high)
    assert held / 2000 >= 0.935


def test_a_whole_record_has_a_row_per_computation_time_and_says_slower(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", synthetic(8, slowed(1.27)))
    check_record(path)
    table = impact_table([load_impact(path)])
    assert list(table["comp_target_ns"]) == list(TARGETS_NS)
    assert table["r_mpi_impact"].to_numpy() == pytest.approx([1.27] * 3, rel=2e-3)
    assert (table["r_mpi_impact_ci95_low"] < 1.27).all() and (table["r_mpi_impact_ci95_high"] > 1.27).all()
    assert (table["r_mpi_impact_ci95_low"] > 1.2).all()
    assert table["valid"].all() and table["reliable"].all()
    assert table["t_comp_ref_ns"].to_numpy() == pytest.approx(1.01 * np.array(TARGETS_NS), rel=5e-3)  # the slower rank
    assert [len(ranks) for ranks in table["r_mpi_impact_by_rank"]] == [2, 2, 2]
    (shown,) = highlighted(table).to_dict("records")
    assert shown["comp_target_ns"] == 512_000_000
    assert verdict(shown).startswith("slower by +27")
    assert "shared core" in SHOWN.text(table)


def test_computing_without_mpi_is_held_against_itself(tmp_path: Path) -> None:
    record = load_impact(write(tmp_path / "a.jsonl", synthetic(16, slowed(1.27))))
    found = controls([record])
    assert (found.excluding, found.controls) == (0, len(TARGETS_NS))
    few = load_impact(write(tmp_path / "few.jsonl", synthetic(4, slowed(1.27))))
    assert controls([few]).words == ""


def test_two_pairs_of_launches_are_likely_and_three_are_sure(tmp_path: Path) -> None:
    def said(launches: int) -> str:
        return told(middle_row(write(tmp_path / f"{launches}.jsonl", synthetic(launches, slowed(1.27)))))

    assert (said(4), said(6)) == ("likely slower by +27 %", "slower by +27 %")


def test_no_impact_is_said_as_such_and_an_impossible_one_too(tmp_path: Path) -> None:
    def said(factor: float) -> str:
        return verdict(middle_row(write(tmp_path / "a.jsonl", synthetic(12, slowed(factor)))))

    assert said(1.0).startswith("no slowdown seen")
    assert said(0.9).startswith("faster than without MPI")


@pytest.mark.parametrize(
    ("launches", "says"),
    [(1, "fewer than 2 pairs of launches (0)"), (3, "fewer than 2 pairs of launches (1)"), (0, "(0)")],
)
def test_too_few_launches_are_no_result(tmp_path: Path, launches: int, says: str) -> None:
    row = middle_row(write(tmp_path / "a.jsonl", synthetic(launches, slowed(1))))
    assert not row["valid"] and not row["reliable"]
    assert says in row["unreliable_reasons"][0]
    assert verdict(row) == "cannot tell"


def test_processes_that_did_not_compute_together_are_unreliable(tmp_path: Path) -> None:
    def late(launch: int, rank: int) -> int:
        return 20_000_000 * rank  # of 48 ms, of 1.5 s, of 3 s

    table = impact_table([load_impact(write(tmp_path / "a.jsonl", synthetic(4, slowed(1), late)))])
    assert list(table["reliable"]) == [False, True, True]
    assert "not simultaneous" in table["unreliable_reasons"][0][0]
    assert table["together_share"][0] < 0.8 < table["together_share"][1]


def test_processes_of_different_hosts_need_not_compute_together(tmp_path: Path) -> None:
    lines = synthetic(4, slowed(1), lambda _, rank: 20_000_000 * rank)
    for line in lines[1:-1]:
        line["own"]["launch"]["places"][1]["host"] = "n1"
    table = impact_table([load_impact(write(tmp_path / "a.jsonl", lines))])
    assert list(table["reliable"]) == [True, True, True]
    assert list(table["together_share"]) == [1, 1, 1]


def test_noise_and_drift_between_launches_are_flagged(tmp_path: Path) -> None:
    def time_of(program: str, launch: int, rank: int, target_ns: int) -> float:
        return target_ns * (1 + 0.03 * launch)

    row = middle_row(write(tmp_path / "a.jsonl", synthetic(16, time_of)))
    assert any(flag.startswith("noise") for flag in row["flags"])
    assert any(flag.startswith("drift") for flag in row["flags"])
    assert any("the time that it stands for" in flag for flag in row["flags"])


def test_wide_launches_cannot_tell(tmp_path: Path) -> None:
    def time_of(program: str, launch: int, rank: int, target_ns: int) -> float:
        return target_ns * (1.5 if launch == 2 else 1)

    row = middle_row(write(tmp_path / "a.jsonl", synthetic(8, time_of)))
    assert "wide" in row["unreliable_reasons"][0]
    assert verdict(row) == "cannot tell"


def test_other_cpus_are_no_comparison(tmp_path: Path) -> None:
    lines = synthetic(4, slowed(1))
    place = {"host": "n0", "cpuset": "0-1", "compute_cpusets": ["1"]}
    next(line for line in lines[1:] if line["parameters"]["launch"] == 2)["own"]["launch"]["places"][0] = place
    row = middle_row(write(tmp_path / "a.jsonl", lines))
    assert "launches computed on different CPUs" in row["unreliable_reasons"]


def test_a_record_that_was_cut_off_keeps_its_whole_launches(tmp_path: Path) -> None:
    whole = "".join(json.dumps(line) + "\n" for line in synthetic(6, slowed(1.1)))
    path = tmp_path / "a.jsonl"
    lines = whole.splitlines(keepends=True)
    for cut in range(len(lines[0]), len(whole), 97):
        path.write_text(whole[:cut])
        record = load_impact(path)
        assert not record.complete
        assert len(record.launches) <= whole[:cut].count('"type": "point"') // len(TARGETS_NS) + 1
        assert all(len(launch.points) == len(TARGETS_NS) for launch in record.launches)
        impact_table([record])
    path.write_text(lines[0][:-9])
    with pytest.raises(RecordError, match="cut off before the end of the header"):
        load_impact(path)


def test_what_ended_early_says_why(tmp_path: Path) -> None:
    lines = synthetic(4, slowed(1))[:-1]
    record = load_impact(write(tmp_path / "a.jsonl", [*lines, footer(12, False, "launch 4 ended")]))
    assert record.incomplete == "launch 4 ended"
    assert "incomplete record" in SHOWN.text(impact_table([record]))


def table_of(path: Path) -> pd.DataFrame:
    return impact_table([load_impact(path)])


def test_a_run_may_hold_such_records_alone(tmp_path: Path) -> None:
    write(tmp_path / "records" / "a.jsonl", synthetic(4, slowed(1.1)))
    run = load_run(tmp_path)
    assert run.records == run.of("mpi_impact")
    assert [problem for problem in run.problems if "a.jsonl" in problem] == []
    assert len(impact_of(run)) == len(TARGETS_NS)


def test_pictures_parquet_and_the_report_show_it(tmp_path: Path) -> None:
    run_folder = tmp_path / "run"
    for name, configuration, factor in (("b", "basic", 1.0), ("a", "async", 1.27), ("<c>", "<x> & $y$", 1.1)):
        lines = synthetic(6, slowed(factor))
        lines[0].update(configuration=configuration, oversubscribed=configuration == "basic")
        write(run_folder / "records" / f"{name}.jsonl", lines)
    run = load_run(run_folder)
    table = impact_of(run)
    *_, written = registry.write_tables(run)
    assert written.name == "impact.parquet"
    again = pd.read_parquet(written)
    assert list(again.columns) == list(table.columns)
    assert again["r_mpi_impact"].tolist() == table["r_mpi_impact"].tolist()
    report, *pictures = write_report(run_folder, tmp_path / "report" / "report.html", look=DRAWN)
    assert [picture.suffix for picture in pictures] == [".svg", ".png"] * 2  # at 512 ms, and at all times
    drawn = pictures[0].read_text()
    assert "mpich@5.0.2" in drawn
    assert "basic (oversubscribed, shared core)" in drawn
    assert "512 ms" in drawn
    page = report.read_text()
    assert "Impact of an idle library" in page
    assert "slower by +27" in page
    assert "<x>" not in page
    assert f"maps/{pictures[1].name}" in page
    names = [text for text in ("basic", "async", "&lt;x&gt;") if text in page]
    assert names == ["basic", "async", "&lt;x&gt;"]


def test_a_report_of_it_alone_has_nothing_of_what_was_not_measured(tmp_path: Path) -> None:
    lines = synthetic(6, slowed(1.27))
    lines[0].update(environment={"MPIR_CVAR_ASYNC_PROGRESS": "1"}, command_line=["mpi_impact", "--ranks", "2"])
    write(tmp_path / "records" / "a.jsonl", lines)
    page = Page(write_report(tmp_path, tmp_path / "r" / "report.html")[0].read_text())
    assert page.open == []
    sections = [a["id"] for a in page.all("section") if "id" in a]
    assert sections == ["answers", "found", "mpi-impact", "verified", "reading", "provenance"]
    assert [a["href"] for a in page.all("a")][: len(sections)] == [f"#{name}" for name in sections]
    for expected in (
        "Libraries mpich@5.0.2", "Configurations async", "mpich@5.0.2 async (shared core), shm, dgemm : slower by +27",
        "mpich@5.0.2, shm, async, an idle library", "async on 0-1: 15 ns of CPU in", "funneled asked, multiple given",
        "MPIR_CVAR_ASYNC_PROGRESS=1", "mpi_impact --ranks 2", "Benchmark built for mpich@5.0.2", "OpenBLAS",
    ):  # fmt: skip
        assert expected in page.text, expected
    assert "r_overhead" not in page.text


def test_a_record_that_cannot_be_read_is_told_and_loses_no_other(tmp_path: Path) -> None:
    write(tmp_path / "records" / "a.jsonl", synthetic(4, slowed(1)))
    wrong = synthetic(4, slowed(1))
    wrong[2]["rank_samples"]["t_comp_ns"] = []
    write(tmp_path / "records" / "b.jsonl", wrong)
    write(tmp_path / "records" / "c.jsonl", synthetic(4, slowed(1))[:-1])
    page = write_report(tmp_path, tmp_path / "r" / "report.html")[0].read_text()
    assert "b.jsonl:3" in page
    assert "c.jsonl: no footer" in page
    assert set(impact_of(load_run(tmp_path))["record"]) == {"records/a.jsonl", "records/c.jsonl"}


def test_a_reliable_ratio_of_a_record_that_was_cut_off_is_marked_wherever_it_stands(tmp_path: Path) -> None:
    write(tmp_path / "records" / "a.jsonl", synthetic(6, slowed(1.27))[:-1])
    assert impact_of(load_run(tmp_path))["reliable"].all()
    report, *pictures = write_report(tmp_path, tmp_path / "r" / "report.html", look=DRAWN)
    page = Page(report.read_text())
    marked = "async (shared core, incomplete record)"
    assert page.text.count(f"mpich@5.0.2 {marked}, shm, dgemm") == 2  # in the card, and in the section
    assert marked in pictures[0].read_text()
    write(tmp_path / "records" / "a.jsonl", synthetic(6, slowed(1.27)))
    assert "incomplete record" not in write_report(tmp_path, tmp_path / "whole" / "report.html")[0].read_text()


def test_a_run_without_such_records_says_nothing_of_them(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    assert [path.name for path in registry.write_tables(load_run(tmp_path))] == ["points.parquet", "samples.parquet"]
    assert impact_of(load_run(tmp_path)).empty
    report, *pictures = write_report(tmp_path, tmp_path / "r" / "report.html", look=DRAWN)
    assert pictures == []
    assert "idle library" not in report.read_text()
