"""The matrices of comparisons and histories: a planted change is in its cell, and nowhere else."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from postprocess.verdicts.compare import compare
from postprocess.verdicts.history import changes_of
from postprocess.verdicts.verdict_matrix import of_comparison, of_history
from tests.postprocess.test_postprocess_compare import launches
from tests.postprocess.test_postprocess_history import nights, with_changes

SIDES = ("mpich@1", "mpich@2")


@pytest.mark.parametrize(
    ("factor", "spread", "word"),
    [(1.1, 0.005, "slower"), (1 / 1.1, 0.005, "faster"), (1.0, 0.005, "the same"), (1.03, 0.1, "cannot tell")],
)
def test_a_cell_sums_up_the_points_of_a_case(factor: float, spread: float, word: str) -> None:
    a, b = (
        pd.concat(
            [
                launches(own, collective="ibcast", seed=seed, spread=spread),
                launches(collective="ireduce", seed=seed + 7),
            ],
            ignore_index=True,
        )
        for own, seed in ((1.0, 1), (factor, 2))
    )
    first = of_comparison(compare(a, b), SIDES)[0]
    assert (first.title, first.columns) == ("Time with overlap", ["ibcast", "ireduce"])
    ((_, configuration, (changed, unchanged)),) = first.rows
    assert configuration == "as it comes"
    assert changed is not None and unchanged is not None
    assert (changed.cell.word.text, unchanged.cell.word.text) == (word, "the same")
    assert changed.cell.points == 12 and changed.cell.counted == (0 if word == "cannot tell" else 12)
    value, low, high = changed.cell.estimate
    assert low < value < high and value == pytest.approx(factor, rel=2 * spread)
    assert (changed.number is not None) and (word == "cannot tell") == bool(changed.cell.why)


@pytest.mark.parametrize(("others", "word"), [(1 / 1.2, "mixed"), (1.0, "slower in parts"), (1.2, "slower")])
def test_a_few_slower_points_are_not_hidden_by_the_others(others: float, word: str) -> None:
    b = launches(others, seed=2)
    b.loc[b["comm_target_ns"] <= 3_000_000, "t_measured_ns"] *= 1.2 / others
    ((_, _, (cell,)),) = of_comparison(compare(launches(), b), SIDES)[0].rows
    assert cell is not None and cell.cell.word.text == word


def test_a_history_says_what_has_become_slower_and_since_when() -> None:
    series = [with_changes(nights({0: 1e7, 30: 1.2e7})), with_changes(nights({0: 1e7}, seed=2))]
    other = with_changes(nights({0: 1e7}, seed=3))
    calm = replace(other, case={**other.case, "collective": "y"})
    changes = changes_of(series)
    told = [(one, "ALARM", one.run, "kernel: 6.1 -> 6.2") for one in changes]
    (view,) = of_history(told, [*series, calm])
    ((_, _, cells),) = view.rows
    slower, as_before = (one.cell for one in cells if one is not None)
    run = changes[0].run
    assert slower.word.text == f"slower since {run[:4]}-{run[4:6]}-{run[6:8]}"
    assert (slower.counted, slower.points) == (1, 2)
    assert slower.value == pytest.approx(1.2, rel=0.02)
    assert view.remarks.startswith(f"{slower.word.text}: kernel: 6.1 -> 6.2")
    assert as_before.word.text == "as before" and math.isnan(as_before.value)
    young = replace(series[0], case={**series[0].case, "collective": "z"}, runs=series[0].runs[-2:], states=None)
    known = [(changes[0], "acknowledged", changes[0].run, ""), (replace(changes[0], case=calm.case), "better", "", "")]
    ((_, _, cells),) = of_history(known, [*series, calm, young])[0].rows
    words = [one.cell.word.text.partition(" since")[0] for one in cells if one is not None]
    assert words == ["slower", "faster", "too few nights"]
    assert "acknowledged" in next(one.cell.word.text for one in cells if one is not None)
    assert of_history([(one, "acknowledged", one.run, "") for one in changes], series) == []
