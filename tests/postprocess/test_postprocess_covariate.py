"""Launches at an equal value of a covariate: what the machine did is taken out, what a library does is not."""

import numpy as np
import pandas as pd
import pytest

from postprocess.statistics import covariate, effects
from postprocess.statistics.effects import Effects
from postprocess.verdicts import compare_text
from postprocess.verdicts.compare import SLOWER, UNKNOWN, Comparison, compare
from tests.postprocess.test_postprocess_compare import launches

MAPS, POINTS, LAUNCHES = 10, 9, 3
DRIFT, FOLLOWS = 0.1, 0.5
"""By how much the cores' speed differs between launches, and how much of that the time with overlap follows."""


def library(seed: int, factor: float = 1.0, computes: float = 1.0, run: str = "r") -> pd.DataFrame:
    """Launches of MAPS maps on cores whose speed differs from launch to launch.  factor: of the time with overlap.
    computes: of the computation alone."""
    rng = np.random.default_rng(seed)
    parts = []
    for place in range(MAPS):
        one = launches(factor, LAUNCHES, POINTS, 100 * seed + place, 0.01, collective=f"c{place}", run=run)
        slow = np.exp(DRIFT * rng.standard_normal(LAUNCHES + 1))[one["launch"]]
        parts.append(
            one.assign(
                t_measured_ns=one["t_measured_ns"] * slow**FOLLOWS,
                t_comp_ref_ns=one["t_comp_ref_ns"] * slow * computes / factor,
            )
        )
    table: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return table


def of_maps(a: pd.DataFrame, b: pd.DataFrame) -> tuple[Comparison, pd.DataFrame]:
    found = compare(a, b, of_maps=True)
    rows: pd.DataFrame = found.rows[found.rows["metric"] == "t_measured_ns"]
    return found, rows


def test_a_slower_library_is_found_on_cores_that_are_not_equally_fast() -> None:
    a, b = library(1), library(2, 1.1)
    found, rows = of_maps(a, b)
    assert set(rows["verdict"]) == {SLOWER}
    assert rows["effect"].to_numpy() == pytest.approx(1.1, rel=0.03)
    assert set(rows["at_equal"]) == {"t_comp_ref_ns"}
    assert any(
        "at equal computation alone" in remark and f"in {MAPS} comparisons" in remark for remark in found.remarks
    )
    assert "at equal computation alone" in compare_text.summary(found, ("a", "b"))
    without, rows = of_maps(a.assign(t_comp_ref_ns=np.nan), b.assign(t_comp_ref_ns=np.nan))
    assert (rows["verdict"] == UNKNOWN).sum() > MAPS / 2
    assert not any("at equal" in remark for remark in without.remarks)


def test_points_are_compared_so_too() -> None:
    a, b = library(1), library(2, 1.1)
    rows = compare(a, b).rows
    assert (rows.loc[rows["metric"] == "t_measured_ns", "verdict"] == SLOWER).mean() > 0.9
    assert set(rows.loc[rows["metric"] != "t_measured_ns", "at_equal"]) == {""}


@pytest.mark.parametrize("seeds", [range(1, 4), pytest.param(range(4, 13), marks=pytest.mark.rare)])
def test_libraries_between_which_nothing_differs_are_not_told_apart(seeds: range) -> None:
    assert sum(len(of_maps(library(seed), library(seed + 50))[0].changed) for seed in seeds) == 0


def test_a_library_that_slows_the_computation_itself_is_compared_as_it_is() -> None:
    """Its thread takes a core from the computation: at an equal value of that nothing would be left of its cost."""
    found, rows = of_maps(library(1), library(2, 1.4**FOLLOWS, computes=1.4))
    assert set(rows["at_equal"]) == {""}
    assert rows["effect"].median() == pytest.approx(1.4**FOLLOWS, rel=0.1)
    assert not any("at equal" in remark for remark in found.remarks)


@pytest.mark.parametrize("where", ["another run", "beside a progress thread"])
def test_only_neighbours_in_basic_are_compared_so(where: str) -> None:
    """A machine that has become slower, and a thread beside the computation, are what is asked about."""
    a, b = library(1), library(2, run="later" if where == "another run" else "r")
    if where != "another run":
        a, b = a.assign(configuration="async"), b.assign(configuration="async")
    assert set(of_maps(a, b)[1]["at_equal"]) == {""}


def test_of_several_pairs_those_are_adjusted_whose_computation_is_the_same() -> None:
    """One library in the middle of a series computes slower: what both of its pairs tell of that is opposite."""
    rng = np.random.default_rng(3)
    pairs, blocks, count = 4, 8, 3
    axes = np.meshgrid(range(pairs), range(blocks), (0, 1), range(count), indexing="ij")
    pair, block, side, occasion = (one.ravel() for one in axes)
    slower = 0.3 * ((pair == 1) & (side == 1) | (pair == 2) & (side == 0))
    speed = DRIFT * rng.standard_normal(pair.size) + slower
    case = pair * blocks + block
    given = (FOLLOWS * speed, speed, case, side, case, occasion)
    changed = covariate.at_equal(*given, pair) != given[0]
    assert [bool(changed[pair == one].any()) for one in range(pairs)] == [True, False, False, True]
    few = case < 2 * blocks  # 64 degrees of freedom: each launch is in two pairs
    value, *others = (one[few] for one in (*given, pair))
    assert (covariate.at_equal(value, *others) == value).all()


def simulated(seed: int, truth: float, follows: float, blocks: int, count: int, computes: float = 0.0) -> Effects:
    """Cases that are each a block, beside each other on `count` occasions."""
    rng = np.random.default_rng(seed)
    case, side, occasion = (one.ravel() for one in np.meshgrid(range(blocks), (0, 1), range(count), indexing="ij"))
    speed = DRIFT * rng.standard_normal(case.size)
    value = follows * speed + 0.02 * rng.standard_normal(case.size) + truth * side
    covered = speed + 0.005 * rng.standard_normal(case.size) + computes * side
    adjusted = covariate.at_equal(value, covered, case, side, case, occasion)
    return effects.effects(case, side, adjusted, blocks, occasion=occasion)


@pytest.mark.parametrize("follows", [0.5, 0.0], ids=["follows", "does not follow"])
@pytest.mark.parametrize(("blocks", "count"), [(10, 3), (14, 3), (5, 6)])
def test_the_interval_holds_the_truth(blocks: int, count: int, follows: float) -> None:
    found = [simulated(seed, 0.05, follows, blocks, count) for seed in range(40)]
    held = np.mean([(one.low <= 0.05) & (one.high >= 0.05) for one in found])
    assert held >= 0.92


def test_of_a_difference_in_the_covariate_that_is_not_seen_little_is_taken_away() -> None:
    """A computation that is slower by 3 % for one library, beside cores that differ by 10 %."""
    effect = np.concatenate([simulated(seed, 0.05, 0.5, 8, 3, computes=0.03).effect for seed in range(40)])
    assert 0.05 - 0.5 * 0.03 - 0.005 <= np.mean(effect) <= 0.055


def test_too_few_launches_tell_no_slope() -> None:
    value, other = np.arange(8.0), np.arange(8.0)
    case, side, occasion = np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2), np.tile([0, 1], 4)
    assert covariate.at_equal(value, other, case, side, case, occasion) is value
