"""Records of kernels: times, ratios and memory against a known truth, what may be used, pictures and report."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from postprocess.families.hybrid_kernels import entry
from postprocess.families.hybrid_kernels.charts import COPIES, GROWTH, MEMORY, OVER_RANKS, TIME, charts
from postprocess.families.hybrid_kernels.record import VARIANTS, load_kernels
from postprocess.families.hybrid_kernels.table import kernels_table, record_numbers
from postprocess.families.hybrid_kernels.verdict import places, verdict_text, verdicts
from tests.postprocess import synthetic
from tests.postprocess.synthetic_hybrid_kernels import COPY_BYTES, THE_SAME, USUAL, Lines, Truth, point, record
from tests.support import check_record


def table_of(path: Path, lines: Lines) -> pd.DataFrame:
    return kernels_table([load_kernels(synthetic.write(path / "a.jsonl", lines))])


def table_over_ranks(path: Path, *counts: int) -> pd.DataFrame:
    """The table of a run whose node has so many ranks in each launch, oversubscribed from 4 on."""
    records = []
    for ranks in counts:
        lines = record(ranks=ranks, oversubscribed=ranks >= 4)
        for line in lines[1:-1]:
            if line["parameters"]["kernel"] == "bpmf":
                line["parameters"]["size"] = 1000 * ranks
                line["own"]["copy_bytes"] = COPY_BYTES * ranks
                for variant, copies in {"mpi": ranks, "openmp": 1, "hybrid": 1.02}.items():
                    line["own"]["variants"][variant]["replicated_bytes"] = round(COPY_BYTES * ranks * copies)
            for variant in line["own"]["variants"].values():
                variant["replicated_pss_bytes"] = None
        records.append(load_kernels(synthetic.write(path / f"{ranks}.jsonl", lines)))
    return kernels_table(records)


def rows_of(path: Path, truth: Truth = USUAL, *, header: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The rows of a record of one point, by variant."""
    lines = record(truth, ("bpmf",), **(header or {}))
    lines[1] = point(truth=truth, **changes)
    return {row["variant"]: row for row in table_of(path, lines).to_dict("records")}


def test_total_is_computation_and_collectives_and_ratios_are_the_truths(tmp_path: Path) -> None:
    rows = rows_of(tmp_path)
    for name, ratio in {"mpi": 1.0, **USUAL.ratios}.items():
        row = rows[name]
        assert row["t_ns"] == pytest.approx(ratio * USUAL.solve_ns, rel=0.01)
        assert row["t_compute_ns"] == pytest.approx(0.6 * USUAL.solve_ns, rel=0.01)
        assert row["t_collective_ns"] == pytest.approx((ratio - 0.6) * USUAL.solve_ns, rel=0.02)
    assert math.isnan(rows["mpi"]["ratio_to_mpi"])
    assert rows["hybrid"]["ratio_to_mpi"] == pytest.approx(0.9, rel=1e-3)
    assert [rows[name]["verdict"] for name in VARIANTS] == ["", "slower", "faster"]
    assert math.isnan(rows["openmp"]["ratio_to_openmp"])
    assert rows["hybrid"]["ratio_to_openmp"] == pytest.approx(0.9 / 1.1, rel=1e-3)
    assert [rows[name]["verdict_to_openmp"] for name in VARIANTS] == ["faster", "", "faster"]


def test_variants_that_take_equally_long_are_not_told_apart(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, THE_SAME)
    assert {rows[name]["verdict"] for name in ("openmp", "hybrid")} == {"cannot tell"}


def test_noise_that_all_variants_share_does_not_widen_a_ratio(tmp_path: Path) -> None:
    row = rows_of(tmp_path, replace(USUAL, noise=0.4))["hybrid"]
    assert row["t_ns_ci95_high"] - row["t_ns_ci95_low"] > 0.1 * row["t_ns"]
    assert row["ratio_to_mpi_ci95_high"] - row["ratio_to_mpi_ci95_low"] < 0.01


@pytest.mark.parametrize(
    ("control", "said"),
    [
        (1.0, ("slower", "faster")),
        (1.03, ("slower", "faster")),  # the differences of 10 % are larger
        (0.97, ("slower", "faster")),
        (1.2, ("cannot tell", "cannot tell")),
        (0.8, ("cannot tell", "cannot tell")),
        (None, ("cannot tell", "cannot tell")),  # as in records of method 1
    ],
)
def test_what_the_control_shows_too_is_no_verdict(tmp_path: Path, control: float | None, said: tuple[str, str]) -> None:
    lines = record(replace(USUAL, ratio_noise=0.002, control=control or 1.0), ("bpmf",))
    if control is None:
        del lines[1]["series"]["t_mpi_again_ns"]
    rows = {row["variant"]: row for row in table_of(tmp_path, lines).to_dict("records")}
    assert (rows["openmp"]["verdict"], rows["hybrid"]["verdict"]) == said
    assert rows["hybrid"]["control"] == pytest.approx(control or math.nan, rel=0.01, nan_ok=True)
    assert any("control" in one for one in rows["hybrid"]["flags"]) == (control != 1.0)


def test_repetitions_in_another_state_of_the_cores_are_left_out(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, replace(USUAL, far=8))
    assert rows["hybrid"]["other_state_repetitions"] == 8
    assert rows["hybrid"]["repetitions"] == 13
    assert rows["hybrid"]["ratio_to_mpi"] == pytest.approx(0.9, rel=1e-3)
    assert rows["hybrid"]["ratio_to_mpi_ci95_high"] < 1 and rows["hybrid"]["control_ci95_high"] < 1.01


def test_memory_is_said_in_bytes_and_in_copies(tmp_path: Path) -> None:
    table = table_of(tmp_path, record())
    rows = {(row["kernel"], row["variant"]): row for row in table.to_dict("records")}
    assert [rows["bpmf", name]["copies_per_node"] for name in VARIANTS] == [2, 1, 2]
    assert [rows["bpmf", name]["measured_copies_per_node"] for name in VARIANTS] == [2, 1, 1]
    assert rows["bpmf", "openmp"]["growth_bytes"] == COPY_BYTES + 4096
    assert math.isnan(rows["poisson", "hybrid"]["copies_per_node"])


def test_memory_that_the_kernel_does_not_tell_is_not_known(tmp_path: Path) -> None:
    lines = record(kernels=("bpmf",))
    for variant in lines[1]["own"]["variants"].values():
        variant.update(memory_bytes=None, growth_bytes=None, shared_bytes=None)
    path = synthetic.write(tmp_path / "b.jsonl", lines)
    check_record(path)
    table = kernels_table([load_kernels(path)])
    assert table["memory_bytes"].isna().all()
    assert {chart.kind for chart in charts(table)} == {TIME}


@pytest.mark.parametrize(
    ("header", "changes", "variant", "reason"),
    [
        ({"network": "wire:2gbit"}, {}, "openmp", "over a wire the variant mpi sends"),
        ({"own": {"virtual_node_ranks": 1, "shared_nodes": 2}}, {}, "hybrid", "the nodes are virtual"),
        ({"own": {"shared_nodes": 2}}, {}, "openmp", "the nodes are virtual, seen by the MPI library"),
    ],
)
def test_what_is_not_reliable_says_why_and_has_no_verdict(
    tmp_path: Path, header: dict[str, Any], changes: dict[str, Any], variant: str, reason: str
) -> None:
    row = rows_of(tmp_path, header=header, **changes)[variant]
    synthetic.check_unreliable(row, reason)
    assert row["verdict"] == "cannot tell"


def test_threads_that_were_not_pinned_make_their_variant_alone_unreliable(tmp_path: Path) -> None:
    lines = record(kernels=("summa",))
    lines[1]["own"]["pinned"] = False
    rows = {row["variant"]: row for row in table_of(tmp_path, lines).to_dict("records")}
    assert rows["openmp"]["unreliable_reasons"] == ["not every thread ran on one CPU of its own"]
    assert rows["hybrid"]["reliable"]
    assert (rows["hybrid"]["verdict"], rows["hybrid"]["verdict_to_openmp"]) == ("faster", "cannot tell")


def test_where_only_memory_is_measured_its_rows_are_valid_and_have_no_verdict(tmp_path: Path) -> None:
    header = {"own": {"memory_only": True}, "oversubscribed": True}
    rows = rows_of(tmp_path, header=header, repetitions=0)
    check_record(tmp_path / "a.jsonl")
    hybrid = rows["hybrid"]
    assert hybrid["valid"] and not hybrid["reliable"]
    assert hybrid["unreliable_reasons"] == ["no times: only memory was measured"]
    assert math.isnan(hybrid["t_ns"]) and hybrid["verdict"] == "cannot tell"
    assert hybrid["memory_bytes"] > 0 and hybrid["copies_per_node"] == pytest.approx(2)
    loaded = load_kernels(tmp_path / "a.jsonl")
    assert list(entry.wrong(loaded)) == []
    said = verdict_text(kernels_table([loaded]))
    assert "no time was measured (no times: only memory was measured)" in said
    # A wrong result is told, and without the option nothing is valid.
    assert not rows_of(tmp_path, header=header, repetitions=0, data_errors=1)["mpi"]["valid"]
    assert not rows_of(tmp_path, repetitions=0)["mpi"]["valid"]
    assert list(entry.wrong(load_kernels(tmp_path / "a.jsonl"))) == ["none of its 1 points is valid: not measured"]


def test_numbers_for_references(tmp_path: Path) -> None:
    found = record_numbers(load_kernels(synthetic.write(tmp_path / "a.jsonl", record())))
    assert found["hybrid_ratio_to_mpi"] == pytest.approx(0.9, rel=1e-3)
    assert (found["points"], found["points_valid"], found["points_reliable"]) == (3, 3, 3)


def test_launches_that_disagree_give_no_verdict(tmp_path: Path) -> None:
    faster = table_of(tmp_path, record())
    slower = table_of(tmp_path, record(replace(USUAL, ratios={"openmp": 1.1, "hybrid": 1.05})))
    again = pd.concat([faster, slower.assign(launch=2)], ignore_index=True)
    (one, *_) = verdicts(again)
    assert one.to_mpi.found.low == pytest.approx(0.9, rel=0.01)
    assert one.to_mpi.found.high == pytest.approx(1.05, rel=0.01)
    assert (one.to_mpi.verdict, one.to_openmp.verdict) == ("cannot tell", "faster")


def test_memory_is_drawn_over_the_ranks_of_a_node(tmp_path: Path) -> None:
    table = table_over_ranks(tmp_path, 8, 2, 4)
    drawn = {(one.kind, one.title.split(": ")[1].split(" ")[0]): one for one in charts(table)}
    assert {kind for kind, _ in drawn} == {TIME, *(f"{OVER_RANKS}_{what}" for what in (MEMORY, GROWTH, COPIES))}
    copies = drawn[f"{OVER_RANKS}_{COPIES}", "bpmf"]
    assert "bpmf of sizes 2000 to 8000" in copies.title and "some ranks share cores" in copies.title
    assert {
        curve.name: [(mark.place, pytest.approx(mark.value, abs=0.001)) for mark in curve.marks]
        for curve in copies.curves
    } == {
        "mpi": [(2, 2), (4, 4), (8, 8)],
        "openmp": [(2, 1), (4, 1), (8, 1)],
        "hybrid": [(2, 1.02), (4, 1.02), (8, 1.02)],
    }
    assert len(drawn[f"{OVER_RANKS}_{MEMORY}", "poisson"].curves) == 6
    assert len(drawn[f"{OVER_RANKS}_{GROWTH}", "poisson"].curves) == 3
    assert (f"{OVER_RANKS}_{COPIES}", "poisson") not in drawn
    target = {place.where.split(", ")[3]: place.memory for place in places(table)}
    assert target["8 ranks"].split(": ")[1].startswith("does not hold")  # summa's two copies
    doubts = {one.where.split(", ")[3]: one.doubt for one in verdicts(table)}
    assert doubts == {"2 ranks": "", "4 ranks": "oversubscribed: ranks share cores", "8 ranks": doubts["4 ranks"]}


def test_wrong_results_are_told(tmp_path: Path) -> None:
    lines = record(kernels=("bpmf",))
    lines[1]["data_errors"] = 2
    loaded = load_kernels(synthetic.write(tmp_path / "a.jsonl", lines))
    assert list(entry.wrong(loaded)) == ["2 results were wrong"]
