"""What several launches say together, and which points of a map are sure together."""

import numpy as np
import pytest

from postprocess.statistics.effects import sure_at
from postprocess.statistics.launches import over_launches
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import CONFIDENCE, median_estimate, series_estimate


@pytest.mark.parametrize("launches", [LEAST_LAUNCHES, 5, 9])
def test_an_interval_of_launches_covers_the_truth(launches: int) -> None:
    """Also where each launch is known far better than launches agree: the launches' own intervals miss it."""
    value = np.random.default_rng(1).normal(10, 1, (2000, launches))
    found = [over_launches(of, of - 0.01, of + 0.01) for of in value]
    assert np.mean([one.low <= 10 <= one.high for one in found]) == pytest.approx(CONFIDENCE, abs=0.015)
    assert np.mean([one.min() - 0.01 <= 10 <= one.max() + 0.01 for one in value[:, :3]]) < 0.8


def test_few_launches_have_an_interval_that_holds_their_own() -> None:
    found = over_launches([2.0, np.nan, 4.0], [1.0, np.nan, 3.5], [3.0, np.nan, 9.0])
    assert [found.value, found.low, found.high] == [3, 1, 9]
    assert np.isnan([over_launches([], [], []).value, over_launches([np.nan], [0.0], [1.0]).low]).all()


@pytest.mark.parametrize(("phi", "plain"), [(0.0, 0.95), (0.3, 0.92), (0.5, 0.85)])
def test_neighbours_that_are_alike_make_an_interval_wider(phi: float, plain: float) -> None:
    rng, n = np.random.default_rng(2), 60
    values = rng.standard_normal((2000, n))
    for i in range(1, n):
        values[:, i] = phi * values[:, i - 1] + np.sqrt(1 - phi**2) * values[:, i]
    series, independent = series_estimate(values), median_estimate(values)
    assert (series.low <= independent.low).all() and (series.high >= independent.high).all()
    assert np.mean((series.low <= 0) & (series.high >= 0)) > CONFIDENCE - 0.01
    assert np.mean((independent.low <= 0) & (independent.high >= 0)) == pytest.approx(plain, abs=0.03)


def test_points_of_a_map_are_sure_together() -> None:
    """One of forty by itself would be sure of what may be chance."""
    lonely = [(0.4, 0.3, 0.49), *[(0.5, 0.0, 1.0)] * 39]
    assert sure_at(lonely[:1], 0.5).all()
    assert not sure_at(lonely, 0.5).any()
    assert sure_at([(0.4, 0.3, 0.49)] * 40, 0.5).all()
    assert sure_at([(0.1, 0.1, 0.1), (np.nan, np.nan, np.nan)], [0.5, 0.5]).tolist() == [True, False]
