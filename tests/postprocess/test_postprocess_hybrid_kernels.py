"""Records of kernels: times, ratios and memory against a known truth, what may be used, pictures and report."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from postprocess.families.hybrid_kernels import inside
from postprocess.families.hybrid_kernels.charts import MEMORY, TIME, charts
from postprocess.families.hybrid_kernels.record import VARIANTS, load_kernels
from postprocess.families.hybrid_kernels.section import verdicts
from postprocess.families.hybrid_kernels.table import COLUMNS, SHOWN, kernels_table, record_numbers
from postprocess.records.fields import RecordError
from tests.postprocess import synthetic
from tests.postprocess.synthetic_hybrid_kernels import (
    COPY_BYTES,
    KERNELS,
    THE_SAME,
    USUAL,
    Lines,
    Truth,
    point,
    record,
)
from tests.support import check_record


def table_of(path: Path, lines: Lines) -> pd.DataFrame:
    return kernels_table([load_kernels(synthetic.write(path / "a.jsonl", lines))])


def rows_of(path: Path, truth: Truth = USUAL, *, header: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The rows of a record of one point, by variant."""
    lines = record(truth, ("bpmf",), **(header or {}))
    lines[1] = point(truth=truth, **changes)
    return {row["variant"]: row for row in table_of(path, lines).to_dict("records")}


def test_a_record_is_valid_and_gives_a_row_per_variant(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "a.jsonl", record())
    check_record(path)
    table = kernels_table([load_kernels(path)])
    assert tuple(table.columns) == COLUMNS
    assert [tuple(row) for row in table[["kernel", "variant"]].to_numpy()] == [
        (kernel, variant) for kernel in KERNELS for variant in VARIANTS
    ]
    assert table["valid"].all() and table["reliable"].all()
    assert len(SHOWN.text(table).splitlines()) == len(table) + 1


def test_total_is_computation_and_collectives_and_ratios_are_the_truths(tmp_path: Path) -> None:
    rows = rows_of(tmp_path)
    for name, ratio in {"mpi": 1.0, **USUAL.ratios}.items():
        row = rows[name]
        assert row["t_ns"] == pytest.approx(ratio * USUAL.solve_ns, rel=0.01)
        assert row["t_compute_ns"] == pytest.approx(0.6 * USUAL.solve_ns, rel=0.01)
        assert row["t_collective_ns"] == pytest.approx((ratio - 0.6) * USUAL.solve_ns, rel=0.02)
    assert math.isnan(rows["mpi"]["ratio_to_mpi"])
    assert rows["hybrid"]["ratio_to_mpi"] == pytest.approx(0.9, rel=1e-3)
    assert (rows["mpi"]["verdict"], rows["openmp"]["verdict"], rows["hybrid"]["verdict"]) == ("", "slower", "faster")


def test_variants_that_take_equally_long_are_not_told_apart(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, THE_SAME)
    assert {rows[name]["verdict"] for name in ("openmp", "hybrid")} == {"cannot tell"}


def test_noise_that_all_variants_share_does_not_widen_a_ratio(tmp_path: Path) -> None:
    row = rows_of(tmp_path, replace(USUAL, noise=0.4))["hybrid"]
    assert row["t_ns_ci95_high"] - row["t_ns_ci95_low"] > 0.1 * row["t_ns"]
    assert row["ratio_to_mpi_ci95_high"] - row["ratio_to_mpi_ci95_low"] < 0.01


def test_memory_is_said_in_bytes_and_in_copies(tmp_path: Path) -> None:
    table = table_of(tmp_path, record())
    rows = {(row["kernel"], row["variant"]): row for row in table.to_dict("records")}
    assert [rows["bpmf", name]["copies_per_node"] for name in VARIANTS] == [2, 1, 2]
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
        ({"oversubscribed": True}, {}, "hybrid", "oversubscribed: ranks share cores"),
        ({"network": "wire:2gbit"}, {}, "openmp", "over a wire the variant mpi sends"),
        ({"own": {"virtual_node_ranks": 1, "shared_nodes": 2}}, {}, "hybrid", "the nodes are virtual"),
        ({"own": {"shared_nodes": 2}}, {}, "openmp", "the nodes are virtual, seen by the MPI library"),
        ({}, {"repetitions": 5}, "hybrid", "fewer than 6 repetitions (5)"),
        ({}, {"data_errors": 3}, "hybrid", "wrong data received (3 errors)"),
        ({}, {"repetitions": 0}, "hybrid", "not measured"),
        (
            {},
            {"clock": {"method": "shared", "residual_ns": 1e6, "synchronisations": 2, "drift_ppm": 0.0}},
            "hybrid",
            "clocks disagree by",
        ),
    ],
)
def test_what_is_not_reliable_says_why_and_has_no_verdict(
    tmp_path: Path, header: dict[str, Any], changes: dict[str, Any], variant: str, reason: str
) -> None:
    row = rows_of(tmp_path, header=header, **changes)[variant]
    assert not row["reliable"]
    assert row["verdict"] == "cannot tell"
    assert row["unreliable_reasons"][0].startswith(reason)


def test_threads_that_were_not_pinned_make_their_variant_alone_unreliable(tmp_path: Path) -> None:
    lines = record(kernels=("summa",))
    lines[1]["own"]["pinned"] = False
    rows = {row["variant"]: row for row in table_of(tmp_path, lines).to_dict("records")}
    assert rows["openmp"]["unreliable_reasons"] == ["not every thread ran on one CPU of its own"]
    assert rows["hybrid"]["reliable"]


def test_numbers_for_references(tmp_path: Path) -> None:
    found = record_numbers(load_kernels(synthetic.write(tmp_path / "a.jsonl", record())))
    assert found["hybrid_ratio_to_mpi"] == pytest.approx(0.9, rel=1e-3)
    assert (found["points"], found["points_valid"], found["points_reliable"]) == (3, 3, 3)


def test_the_report_says_time_memory_and_lines(tmp_path: Path) -> None:
    table = table_of(tmp_path, record())
    said = verdicts(table)
    assert len(said) == 2 * len(KERNELS)
    (words,) = [one for one in said if "bpmf" in one and ": hybrid:" in one]
    assert "faster, 0.90 [" in words and "19 lines of its own, +6" in words
    drawn = list(charts(table))
    assert [one.kind for one in drawn] == [TIME, MEMORY] * 3
    assert drawn[0].figures.startswith("figure 17")


def test_wrong_results_are_told(tmp_path: Path) -> None:
    lines = record(kernels=("bpmf",))
    lines[1]["data_errors"] = 2
    loaded = load_kernels(synthetic.write(tmp_path / "a.jsonl", lines))
    assert list(inside.wrong(loaded)) == ["2 results were wrong"]


def test_a_record_without_a_series_is_refused(tmp_path: Path) -> None:
    lines = record(kernels=("bpmf",))
    del lines[1]["series"]["t_hybrid_compute_ns"]
    with pytest.raises(RecordError, match=r"series\.t_hybrid_compute_ns is missing"):
        load_kernels(synthetic.write(tmp_path / "a.jsonl", lines))
