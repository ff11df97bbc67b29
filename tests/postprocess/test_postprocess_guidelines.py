"""Guidelines with a known truth: which are violated, by how much, and what is called instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from postprocess.families import registry
from postprocess.families.guidelines import verdict
from postprocess.families.guidelines.entry import GUIDELINES
from postprocess.records.run import load_run
from tests.postprocess import synthetic, synthetic_guidelines

PLANTED = {"gather_by_allgather": 1.9, "gatherv_of_equal_blocks": 1.06, "barrier_by_allreduce": 1.2}


def table_of(folder: Path, ratios: Mapping[str, float], launches: Sequence[int] = (1, 2, 3)) -> pd.DataFrame:
    records = [synthetic_guidelines.record(ratios, launch=launch) for launch in launches]
    synthetic.written(folder / "records", records)
    run = load_run(folder)
    found = registry.found(run, GUIDELINES)
    assert not found.run.problems[1:]
    return found.table


def row_of(path: Path, header: Mapping[str, Any] | None = None, **changes: Any) -> Any:
    """The row of a record of one point."""
    first, *_ = synthetic_guidelines.record(**(header or {}))
    synthetic.written(path / "records", [synthetic.whole(first, [synthetic_guidelines.point(**changes)])])
    return registry.found(load_run(path), GUIDELINES).table.iloc[0]


@pytest.mark.parametrize("launches", [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4, 5, 6)])
def test_planted_violations_are_found_and_nothing_else(tmp_path: Path, launches: Sequence[int]) -> None:
    """5 % are allowed to a v-form, and 3 % more are no loss that matters."""
    table = table_of(tmp_path, PLANTED, launches)
    found = verdict.violations(table)
    assert list(found["guideline"]) == ["gather_by_allgather", "gather_by_allgather", "barrier_by_allreduce"]
    assert all(found["guideline_ratio"].between(1.15, 1.95))
    rest = verdict.judged(table)
    rest = rest[~rest["guideline"].isin(PLANTED)]
    assert set(rest.loc[rest["kind"] != verdict.CONTROL, "verdict"]) == {verdict.HOLDS}
    assert set(rest["launches"]) == {len(launches)}


def test_sentences_name_the_largest_loss_and_what_to_call_instead(tmp_path: Path) -> None:
    table = table_of(tmp_path, PLANTED)
    (sentence,) = verdict.sentences(table)
    assert "MPI_Gather of 1 KiB takes 1.9" in sentence or "MPI_Gather of 128 KiB takes 1.9" in sentence
    assert "3 violated" in sentence and "0 of 2 controls violated" in sentence and "TRUST" not in sentence
    worst = verdict.violations(table).iloc[0].to_dict()
    assert verdict.advice(worst).startswith("MPI_Allgather takes 0.5")
    is_barrier = table["guideline"] == "barrier_by_allreduce"
    (sentence,) = verdict.sentences(table.assign(valid=table["valid"] & ~is_barrier))
    assert "2 violated" in sentence and sentence.endswith("1 more point does not count")
    (sentence,) = verdict.sentences(table.assign(valid=False))
    assert sentence.endswith("no point counts")


def test_a_control_that_is_violated_says_so(tmp_path: Path) -> None:
    (sentence,) = verdict.sentences(table_of(tmp_path, {"control": 1.3}))
    assert "DO NOT TRUST THIS: 2 of 2 controls violated" in sentence


def test_each_kind_has_a_cell_with_its_largest_violation(tmp_path: Path) -> None:
    cells = {cell.column: cell for cell in GUIDELINES.cells(registry.found(_run(tmp_path), GUIDELINES))}
    assert set(cells) == {"other calls", "given blocks"}
    assert cells["other calls"].word.state == "bad" and 1.85 < cells["other calls"].value < 1.95
    assert cells["given blocks"].word.state != "bad"


def _run(folder: Path) -> Any:
    table_of(folder, PLANTED)
    return load_run(folder)


def test_false_alarms_and_power_of_planted_ratios() -> None:
    """500 points, three launches that differ by 1 %: of those within what is allowed at most 1 % of the violations are
    false, and of those 10 % above it at least 95 % are found."""
    rng = np.random.default_rng(7)
    found, false, told = 0, 0, 0
    for _ in range(20):
        truth = np.where(np.arange(500) < 50, 1.10, rng.uniform(0.5, 1.03, 500))
        rows = pd.DataFrame(
            {
                "number": np.repeat(np.arange(500), 3), "launch": np.tile([1, 2, 3], 500),
                "call_ns": np.repeat(truth, 3) * np.exp(0.01 * rng.standard_normal(1500)),
                "other_call_ns": np.exp(0.001 * rng.standard_normal(1500)),
            }
        )  # fmt: skip
        violated, _ = verdict.over_three_launches(rows, ["number"], np.full(1500, 1.03))
        found, told = found + int(violated[:50].sum()), told + int(violated.sum())
        false += int(violated[50:].sum())
    assert found >= 0.95 * 20 * 50
    assert false <= 0.01 * max(told, 1)
