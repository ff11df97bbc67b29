"""The steps of a series of libraries, on synthetic launches with known answers."""

import numpy as np
import pytest
from numpy.typing import NDArray

from postprocess.statistics.effects import Effects, false_discovery_adjusted
from postprocess.statistics.steps import effects_of_steps

RATE = 0.01


def of_series(values: NDArray[np.float64]) -> Effects:
    """The effects of neighbours of series.  values: of each launch, (cases, libraries, launches)."""
    cases, libraries, launches = values.shape
    both = np.stack([values[:, :-1], values[:, 1:]], axis=2).ravel()  # case, step, side, launch
    steps = np.arange(cases * (libraries - 1))
    neighbours = np.column_stack([np.arange(libraries - 1), np.arange(1, libraries)])
    return effects_of_steps(
        steps.repeat(2 * launches),
        np.tile(np.arange(2).repeat(launches), steps.size),
        both,
        np.tile(np.arange(launches), 2 * steps.size),
        np.tile(neighbours, (cases, 1)),
        steps // (libraries - 1),
        np.zeros(steps.size, np.int64),
    )


def told(found: Effects) -> NDArray[np.bool_]:
    return np.asarray(false_discovery_adjusted(found.p_value) <= RATE)


@pytest.mark.parametrize("libraries", [6, 28])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_where_nothing_differs_states_of_launches_are_no_steps(libraries: int, share: float) -> None:
    rng = np.random.default_rng([libraries, round(10 * share)])
    wrong = 0
    for _ in range(15):
        shape = (8, libraries, 3)
        values = 0.02 * rng.standard_normal(shape) + 0.5 * (rng.random(shape) < share)
        wrong += bool(told(of_series(values)).any())
    assert wrong <= 1  # of 15 series, of which one in a hundred is expected to have a wrong step


def test_steps_are_found_where_they_are_planted_beside_cases_with_states() -> None:
    rng = np.random.default_rng(1)
    values = 0.02 * rng.standard_normal((8, 20, 3))
    values[4:] += 0.5 * (rng.random((4, 20, 3)) < 0.5)
    values[:2, 12:] += 0.2
    found = of_series(values)
    places = np.flatnonzero(told(found))
    assert list(places) == [11, 19 + 11]
    assert found.effect[places] == pytest.approx(0.2, abs=0.06)


def test_the_interval_has_what_was_planted_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    values = rng.standard_normal((40, 15, 3)) + 0.7 * np.arange(15)[None, :, None]
    found = of_series(values)
    assert np.mean((found.low < 0.7) & (found.high > 0.7)) == pytest.approx(0.95, abs=0.02)


def test_launches_that_one_library_lacks_are_left_out_and_few_tell_nothing() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((6, 10, 4))
    values[:, 3, 2:] = np.nan
    values[:, 6, 3] = np.nan
    found = of_series(values)
    p_value, launches = found.p_value.reshape(6, 9), found.launches.reshape(6, 9, 2)
    assert np.isnan(p_value[:, 2:4]).all() and np.isfinite(np.delete(p_value, [2, 3], axis=1)).all()
    assert (launches[0, :, 0] == [4, 4, 2, 2, 4, 3, 3, 4, 4]).all()
    assert np.isnan(of_series(np.ones((1, 4, 3))).p_value).all()  # they do not differ at all
