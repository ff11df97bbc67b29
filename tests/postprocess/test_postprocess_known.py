"""What earlier runs tell: few false verdicts of one launch against one, large differences found, on known truth."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from postprocess.statistics.effects import Known, effects, false_discovery_adjusted
from postprocess.statistics.known import known, least_found
from postprocess.statistics.limits import FALSE_DISCOVERY_RATE, NIGHT_RATE
from postprocess.statistics.metrics import Floats
from postprocess.statistics.newest import newest
from postprocess.verdicts.compare import SAME, SLOWER, UNKNOWN, compare
from postprocess.verdicts.tellable import tellable
from tests.postprocess.test_postprocess_compare import hybrid, launches, verdicts

CASES = 200
Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_normal(shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.asarray((rng.lognormal(0, 0.8, shape) - 1.38) / 1.3)


def tailed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.asarray(rng.standard_t(3, shape) / math.sqrt(3))


def learnt(noise: Noise, rng: np.random.Generator, runs: int, each: int, loads: float = 0.0) -> tuple[Known, Floats]:
    """What runs tell of cases whose launches differ by about 1 %, each case by its own; the spread of each case in the
    run after them. loads: how much runs differ in that, as a standard deviation of logarithms."""
    own = 0.01 * np.exp(0.5 * rng.standard_normal(CASES))
    load = np.exp(loads * rng.standard_normal(runs + 1))
    value = own[:, None, None] * load[:runs, None] * noise(rng, (CASES, runs, each))
    case, run, _ = np.indices(value.shape)
    return known(case.ravel(), run.ravel(), (case * runs + run).ravel(), value.ravel(), CASES), own * load[runs]


def told(noise: Noise, runs: int, each: int, loads: float, slower: float) -> float:
    """In how many cases of a fifth that is slower a difference of one launch and one is told; of all, if none is."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        knows, own = learnt(noise, rng, runs, each, loads)
        is_slower = (np.arange(CASES) % 5 == 0) & (slower > 0)
        pair = own[:, None] * noise(rng, (CASES, 2)) + np.outer(is_slower * math.log1p(slower), [0, 1])
        judged = effects(np.repeat(np.arange(CASES), 2), np.tile([0, 1], CASES), pair.ravel(), CASES, known=knows)
        differs = false_discovery_adjusted(judged.p_value) <= FALSE_DISCOVERY_RATE
        found.append(differs[is_slower].mean() if slower else differs.mean())
    return float(np.mean(found))


@pytest.mark.parametrize("noise", [normal, skewed, tailed])
@pytest.mark.parametrize(("runs", "each", "loads"), [(3, 3, 0.0), (10, 3, 0.0), (10, 2, 0.7)])
def test_one_launch_against_one_is_hardly_ever_called_different_where_it_is_not(
    noise: Noise, runs: int, each: int, loads: float
) -> None:
    assert told(noise, runs, each, loads, 0.0) <= 0.002


def test_one_launch_against_one_tells_what_is_large_against_what_is_known() -> None:
    assert told(normal, 20, 3, 0.0, 0.10) > 0.85
    assert told(normal, 3, 3, 0.0, 0.30) > 0.85


def test_what_few_runs_and_unlike_runs_tell_has_longer_tails() -> None:
    alike, few, unlike = (
        learnt(normal, np.random.default_rng(1), runs, 3, loads)[0].freedom[0]
        for runs, loads in ((20, 0.0), (3, 0.0), (20, 1.0))
    )
    assert few <= 4 < alike
    assert unlike < alike / 2


def test_two_runs_tell_nothing() -> None:
    knows, _ = learnt(normal, np.random.default_rng(1), 2, 3)
    assert np.isnan(knows.variance).all()
    assert not knows.freedom.any()


def test_a_case_without_launches_of_its_own_learns_from_its_family() -> None:
    rng = np.random.default_rng(2)
    case, run, _ = np.indices((50, 6, 3))
    value = 0.02 * rng.standard_normal(case.shape)
    knows = known(case.ravel() + 1, run.ravel(), (case * 6 + run).ravel(), value.ravel(), 1)
    assert math.sqrt(knows.variance[0]) == pytest.approx(0.02, rel=0.25)


def test_the_least_difference_is_found_in_as_many_cases_as_it_says() -> None:
    knows = Known(np.full(2000, 0.01**2), np.full(2000, 30.0), 20)
    least = least_found(knows, 3, 31 / 36, 0.01)
    rng = np.random.default_rng(3)
    sides = 0.01 * rng.standard_normal((2000, 2, 3)).mean(axis=2)
    off = np.abs(sides[:, 1] - sides[:, 0] + least)
    assert np.mean(off > 2.9 * 0.01 * math.sqrt(2 / 3)) == pytest.approx(31 / 36, abs=0.06)
    assert least_found(knows, 6, 31 / 36, 0.01) < least
    assert math.isnan(least_found(Known(np.array([math.nan]), np.zeros(1), 0), 3, 31 / 36, 0.01))


# -- the newest night --------------------------------------------------------------------------------------------------


def rings(values: Floats, slower: NDArray[np.bool_]) -> tuple[float, int]:
    """The share of the slower series whose newest nights ring, and how many others do. NaN: a night without a value."""
    series = [row[np.isfinite(row)] for row in values]
    numbers = [np.flatnonzero(np.isfinite(row)) for row in values]
    found = newest(series, numbers, [()] * len(series), [0] * len(series))
    adjusted = false_discovery_adjusted([one.p_value if one else math.nan for one in found])
    ring = adjusted <= NIGHT_RATE
    return float(ring[slower].mean()) if slower.any() else 0.0, int(ring[~slower].sum())


def test_a_library_that_is_slower_from_its_third_night_on_rings_in_that_night_where_the_system_is_known() -> None:
    rng = np.random.default_rng(1)
    values = 0.01 * np.exp(0.4 * rng.standard_normal((300, 1))) * rng.standard_normal((300, 40))
    new = np.arange(300) % 3 == 0
    values[new, :-3] = math.nan
    values[new, -1] += math.log(1.1)
    share, others = rings(values, new)
    assert share >= 0.95
    assert others <= 2


def test_nights_without_a_change_are_quiet_from_the_third_on() -> None:
    for noise in (normal, skewed, tailed):
        values = 0.02 * noise(np.random.default_rng(4), (100, 30))
        assert not any(rings(values[:, :n], np.zeros(100, bool))[1] for n in range(3, 31))


def test_where_nights_are_bad_at_times_one_bad_night_is_no_change() -> None:
    rng = np.random.default_rng(5)
    values = 0.01 * rng.standard_normal((60, 60))
    values[:, [11, 25, 33, 48, 59]] += 0.3
    assert rings(values, np.zeros(60, bool)) == (0.0, 0)


# -- comparisons -------------------------------------------------------------------------------------------------------


def earlier(runs: int = 12, count: int = 3, seed: int = 100, loads: float = 0.0, between: float = 0.0) -> pd.DataFrame:
    """Earlier runs. between: by how much all of a run is slower or faster."""
    rng = np.random.default_rng(seed)
    return pd.concat(
        launches(math.exp(between * rng.standard_normal()), count=count, seed=seed + run, run=f"e{run:02d}")
        for run in range(runs)
    )


def test_one_launch_of_each_side_is_enough_where_earlier_runs_tell_how_much_they_differ() -> None:
    a, b, again = launches(count=1), launches(1.1, count=1, seed=2), launches(count=1, seed=3)
    assert verdicts(compare(a, b)) == {UNKNOWN}
    slower = compare(a, b, earlier=earlier())
    assert verdicts(slower) == {SLOWER}
    assert any("12 earlier runs" in remark for remark in slower.remarks)
    assert verdicts(compare(a, again, earlier=earlier())) <= {SAME, UNKNOWN}
    assert verdicts(compare(a, b, earlier=earlier(2))) == {UNKNOWN}


def test_runs_that_are_compared_tell_nothing_of_themselves() -> None:
    a, b = launches(count=1), launches(1.1, count=1, seed=2)
    assert verdicts(compare(a, b, earlier=pd.concat([a, b, earlier(2)]))) == {UNKNOWN}


def test_launches_of_two_runs_are_judged_by_how_much_runs_differ() -> None:
    """Launches of one run are alike, those of another run are all slower: that happens every night."""
    a, b = launches(count=2, run="one"), launches(1.1, count=2, seed=2, run="two")
    assert verdicts(compare(a, b)) == {UNKNOWN}
    assert verdicts(compare(a, b, earlier=earlier(between=0.1))) == {UNKNOWN}
    assert verdicts(compare(a, b, earlier=earlier())) == {SLOWER}


def test_another_method_tells_nothing() -> None:
    a, b = (launches(factor, count=1, seed=seed, method=2) for factor, seed in ((1.0, 1), (1.1, 2)))
    assert verdicts(compare(a, b, earlier=earlier())) == {UNKNOWN}


@pytest.mark.parametrize("far", [30.0, 150.0])
def test_launches_in_another_state_are_no_spread(far: float) -> None:
    """In each run two launches were in another state of the cores, and slower. Where that is seen, it is no noise."""
    runs = []
    for run in range(12):
        table = hybrid(1.0, 30, 31, 29, far, far).assign(run=f"e{run:02d}")
        noise = np.exp(0.003 * np.random.default_rng(run).standard_normal(len(table)))
        slow = np.where(table["launch"] > 3, 1.5, 1.0)
        runs.append(table.assign(ratio_to_library=table["ratio_to_library"] * noise * slow))
    found = compare(hybrid(1.0, 30), hybrid(1.1, 30), metrics=["ratio_to_library"], earlier=pd.concat(runs))
    assert verdicts(found, "ratio_to_library") == ({SLOWER} if far > 100 else {UNKNOWN})


def test_a_plan_tells_a_smaller_difference_with_more_launches_and_nothing_of_what_is_not_known() -> None:
    one, three = (tellable(earlier(), "nbc_overlap", "x", launches) for launches in (1, 3))
    per_cent = [float(words.partition("difference of ")[2].partition(" %")[0]) for words in (one, three)]
    assert 3 <= per_cent[1] <= per_cent[0] <= 10
    assert tellable(earlier(), "partitioned", "x", 3) == tellable(earlier(2), "nbc_overlap", "x", 3) == ""
