"""Differences between launches: intervals that hold, alarms that are few, changes that are found, on known truth."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from postprocess.statistics import control, effects
from postprocess.statistics.effects import Effects, sure_at
from postprocess.statistics.launches import over_launches
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import CONFIDENCE, Estimate, Floats, median_estimate, series_estimate

CASES = 400
Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_normal(shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Most launches alike, some slower: what a machine does."""
    return np.asarray((rng.lognormal(0, 0.8, shape) - math.exp(0.32)) / 1.3)


def two_states(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """A launch gets one of two placements of its memory."""
    return np.where(rng.random(shape) < 0.7, -0.6, 1.4) + 0.2 * rng.standard_normal(shape)


def simulated(
    noise: Noise, launches: tuple[int, int], truth: float = 0.0, spread: float = 0.02, seed: int = 1
) -> Effects:
    """CASES cases, whose launches differ by about `spread`, each case by its own; side 1 is longer by `truth`."""
    rng = np.random.default_rng(seed)
    own = spread * np.exp(0.4 * rng.standard_normal(CASES))
    case, side, value = [], [], []
    for which, n in enumerate(launches):
        drawn = noise(rng, (CASES, n)) * own[:, None] + truth * which
        case.append(np.repeat(np.arange(CASES), n))
        side.append(np.full(CASES * n, which))
        value.append(drawn.ravel())
    return effects.effects(np.concatenate(case), np.concatenate(side), np.concatenate(value), CASES)


@pytest.mark.parametrize("noise", [normal, skewed, two_states])
@pytest.mark.parametrize("launches", [(3, 3), (5, 5), (10, 10), (10, 1)])
def test_the_interval_holds_the_truth(noise: Noise, launches: tuple[int, int]) -> None:
    """Where launches are in one of two states, three or five of them are often all in one: that cannot be seen."""
    held = []
    for seed in range(5):
        found = simulated(noise, launches, truth=0.05, seed=seed)
        held.append((found.low <= 0.05) & (found.high >= 0.05))
    assert np.mean(held) >= (0.80 if noise is two_states else 0.92)


@pytest.mark.parametrize(("noise", "median"), [(normal, 0.0), (skewed, (1 - math.exp(0.32)) / 1.3)])
@pytest.mark.parametrize("launches", [(3, 3), (5, 5), (10, 10), (10, 1)])
def test_the_interval_of_each_side_holds_its_median(noise: Noise, median: float, launches: tuple[int, int]) -> None:
    held = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = 0.02 * np.exp(0.4 * rng.standard_normal(CASES))[:, None] * median + [0.0, 0.05]
        found = simulated(noise, launches, truth=0.05, seed=seed)
        held.append(np.abs(found.centres - truth) <= found.reaches)
    assert np.mean(held, axis=(0, 1)).min() >= 0.92


@pytest.mark.parametrize("noise", [normal, skewed, two_states])
@pytest.mark.parametrize("launches", [(3, 3), (5, 5), (14, 1)])
def test_where_nothing_differs_hardly_anything_is_found(noise: Noise, launches: tuple[int, int]) -> None:
    found = sum(
        int((effects.false_discovery_adjusted(simulated(noise, launches, seed=seed).p_value) <= 0.05).sum())
        for seed in range(10)
    )
    assert found <= (0.02 if noise is two_states else 0.01) * 10 * CASES


@pytest.mark.parametrize("noise", [normal, skewed, two_states])
def test_a_change_of_many_times_the_noise_is_found(noise: Noise) -> None:
    adjusted = effects.false_discovery_adjusted(simulated(noise, (5, 5), truth=0.2).p_value)
    assert np.mean(adjusted <= 0.05) > 0.95


def test_three_launches_that_agree_by_luck_are_not_believed() -> None:
    rng = np.random.default_rng(4)
    value = 0.05 * rng.standard_normal((50, 2, 3))
    value[0] = [[0.0, 1e-9, 2e-9], [0.03, 0.03 + 1e-9, 0.03 + 2e-9]]
    case = np.repeat(np.arange(50), 6)
    side = np.tile(np.repeat([0, 1], 3), 50)
    found = effects.effects(case, side, value.ravel(), 50)
    assert found.low[0] < 0 < found.high[0]


def test_with_one_launch_on_each_side_nothing_is_known_but_the_effect() -> None:
    found = effects.effects([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 1.5, 2.0, 2.0], 2)
    assert found.effect.tolist() == [0.5, 0.0]
    for unknown in (found.low, found.high, found.p_value):
        assert np.isnan(unknown).all()
    more = effects.effects([0] * 5, [0, 0, 0, 1, 1], [1.0, 1.1, 1.2, 2.0, 2.1], 1)
    assert np.isnan(more.p_value).all()
    assert np.isfinite(effects.effects([0] * 6, [0, 0, 0, 1, 1, 1], [1.0, 1.1, 1.2, 2.0, 2.1, 2.2], 1).p_value).all()


def test_a_case_with_few_launches_learns_from_the_others() -> None:
    rng = np.random.default_rng(5)
    case = np.append(np.repeat(np.arange(30), 6), [30] * 6)
    side = np.tile([0, 0, 0, 0, 0, 1], 31)
    value = np.append(0.01 * rng.standard_normal(180), [0.0, 0.001, -0.001, 0.0, 0.001, 0.5])
    found = effects.effects(case, side, value, 31)
    assert found.low[30] > 0


def test_sides_of_about_as_many_launches_share_a_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many counts of launches an archive has, and whichever side has more."""
    asked = []
    real = effects.null_distribution

    def counted(first: int, second: int, freedom: float, residuals: Floats) -> Floats:
        asked.append((first, second))
        return real(first, second, freedom, residuals, draws=2000)

    monkeypatch.setattr(effects, "null_distribution", counted)
    rng = np.random.default_rng(1)
    sizes = [(int(a), int(b)) for a, b in rng.integers(3, 400, (200, 2))] + [(9, 10), (10, 9), (8, 11), (11, 8)]
    case = np.concatenate([np.full(a + b, i) for i, (a, b) in enumerate(sizes)])
    side = np.concatenate([np.repeat([0, 1], pair) for pair in sizes])
    found = effects.effects(case, side, rng.standard_normal(case.size), len(sizes))
    assert len(asked) == len(set(asked)) < 90
    assert all(a <= b <= 30 for a, b in asked)
    assert np.isfinite(found.p_value).all()


@pytest.mark.parametrize("blocks", [1, 12])
@pytest.mark.parametrize("launches", [3, 5])
def test_cases_of_the_same_launches_are_no_witnesses_of_each_other(blocks: int, launches: int) -> None:
    """All 36 cases of a map are slow in the same launches; at 5 %, one comparison of twenty may have any alarm."""
    cases, comparisons = 36 * blocks, 40
    case = np.repeat(np.arange(cases), 2 * launches)
    side = np.tile(np.repeat([0, 1], launches), cases)
    alarms = 0
    for seed in range(comparisons):
        rng = np.random.default_rng(seed)
        together = np.repeat(rng.standard_normal((blocks, 2 * launches)), 36, axis=0)
        value = 0.05 * together + 0.002 * rng.standard_normal((cases, 2 * launches))
        found = effects.effects(case, side, value.ravel(), cases, np.arange(cases) // 36)
        alarms += bool((effects.false_discovery_adjusted(found.p_value) <= 0.05).any())
    assert alarms <= 6  # of 40 at 5 %, more are seen once in 300 times


def on_occasions(
    drift: float, truth: float, seed: int, launches: int = 6, cases: int = 48, noise: Noise = normal
) -> tuple[Effects, Effects]:
    """Two sides measured in turn, four maps of 12 cases, on a machine whose speed differs by `drift` between occasions,
    in its own way for each map: compared by sides, and by occasions where that tells more."""
    rng = np.random.default_rng(seed)
    case = np.repeat(np.arange(cases), 2 * launches)
    side = np.tile(np.repeat([0, 1], launches), cases)
    occasion = np.tile(np.arange(launches), 2 * cases)
    moved = np.repeat(drift * rng.standard_normal((cases // 12, 1, launches)), 12, axis=0)
    value = moved + 0.03 * noise(rng, (cases, 2, launches)) + truth * np.array([0.0, 1.0])[:, None]
    compared = case, side, value.ravel(), cases, np.arange(cases) // 12
    return effects.effects(*compared), effects.effects(*compared, occasion=occasion)


@pytest.mark.parametrize("noise", [normal, skewed])
@pytest.mark.parametrize("launches", [3, 6])
@pytest.mark.parametrize("drift", [0.0, 0.1])
def test_what_an_occasion_does_to_both_sides_is_in_no_interval(drift: float, launches: int, noise: Noise) -> None:
    """Whether the machine drifts or not, the truth is held, and where nothing differs nothing is found."""
    held, alarms = [], 0
    for seed in range(6):
        _, same = on_occasions(drift, 0.0, seed, launches, noise=noise)
        _, found = on_occasions(drift, 0.1, seed, launches, noise=noise)
        held.append((found.low <= 0.1) & (found.high >= 0.1))
        alarms += int((effects.false_discovery_adjusted(same.p_value) <= 0.05).sum())
    assert np.mean(held) >= 0.92
    assert alarms <= 0.01 * 6 * 48


def test_occasions_tell_more_where_the_machine_drifts_and_no_less_where_it_does_not() -> None:
    by_side, found = on_occasions(0.1, 0.1, 1)
    assert np.median(found.high - found.low) < 0.5 * np.median(by_side.high - by_side.low)
    assert np.mean(effects.false_discovery_adjusted(found.p_value) <= 0.05) > 0.9
    by_side, found = on_occasions(0.0, 0.1, 1)
    assert np.median(found.high - found.low) <= np.median(by_side.high - by_side.low)


def test_occasions_that_one_side_lacks_are_left_out() -> None:
    rng = np.random.default_rng(3)
    drift = 0.1 * rng.standard_normal(4)
    rows = [(case, side, on) for case in range(20) for side in (0, 1) for on in range(4) if (side, on) != (1, 3)]
    case, side, occasion = np.array(rows).T
    value = drift[occasion] + 0.01 * rng.standard_normal(case.size)
    found = effects.effects(case, side, value, 20, occasion=occasion)
    assert (found.launches == 3).all()
    here = occasion < 3
    only = effects.effects(case[here], side[here], value[here], 20, occasion=occasion[here])
    np.testing.assert_array_equal(found.effect, only.effect)
    np.testing.assert_array_equal(found.low, only.low)


def test_what_is_far_beyond_all_draws_is_surer_than_one_draw_of_all() -> None:
    null = np.sort(np.abs(np.random.default_rng(1).standard_t(4, 50_000)))
    found = effects.p_values(np.array([0.0, 2.776, 4.604, 30.0, 300.0]), null, 4.0)
    assert found[0] == 1.0
    assert found[1:3] == pytest.approx([0.05, 0.01], rel=0.1)
    assert found[3:] == pytest.approx(2 * stats.t.sf([30.0, 300.0], 4), rel=0.6)
    ordered = effects.p_values(np.linspace(0, 50, 5000), null, 4.0)
    assert (np.diff(ordered) <= 0).all()


def test_a_side_that_is_missing_leaves_no_number() -> None:
    found = effects.effects([0, 0, 0], [0, 0, 0], [1.0, 1.1, 1.2], 1)
    assert np.isnan(found.effect[0])
    assert found.launches.tolist() == [[3, 0]]


def test_values_that_are_not_finite_are_left_out() -> None:
    found = effects.effects([0] * 5, [0, 0, 1, 1, 1], [1.0, math.nan, 2.0, math.inf, 2.0], 1)
    assert found.launches.tolist() == [[1, 2]]
    assert found.effect[0] == 1.0


def test_sides_change_places_and_so_does_the_sign() -> None:
    rng = np.random.default_rng(6)
    case, side = np.repeat(np.arange(40), 8), np.tile(np.repeat([0, 1], 4), 40)
    value = rng.standard_normal(320)
    there = effects.effects(case, side, value, 40)
    back = effects.effects(case, 1 - side, value, 40)
    np.testing.assert_allclose(there.effect, -back.effect)
    np.testing.assert_allclose(there.low, -back.high)
    np.testing.assert_array_equal(there.p_value, back.p_value)


def test_the_common_spread_is_recovered() -> None:
    rng = np.random.default_rng(7)
    worth, common, freedom = 8.0, 0.04, 4.0
    truth = common * worth / rng.chisquare(worth, 20000)
    variance = truth * rng.chisquare(freedom, 20000) / freedom
    found = effects.common_spread(variance, np.full(20000, freedom))
    assert found.variance == pytest.approx(common, rel=0.05)
    assert found.freedom == pytest.approx(worth, rel=0.1)


def test_cases_that_differ_no_more_than_chance_have_one_variance() -> None:
    rng = np.random.default_rng(8)
    variance = 0.25 * rng.chisquare(4, 30) / 4
    spread = effects.common_spread(variance, np.full(30, 4.0))
    assert 4 < spread.freedom <= 29 * 4
    of_three = effects.common_spread(variance, np.full(30, 4.0), np.arange(30) // 10)
    assert of_three.freedom <= 2 * 4
    assert effects.common_spread(variance, np.full(30, 4.0), np.zeros(30)).freedom == 0


def test_few_cases_have_nothing_in_common() -> None:
    assert effects.common_spread([1.0, 2.0], [4, 4]).freedom == 0
    np.testing.assert_allclose(effects.moderated_variance([4.0, 8.0], [4, 0], math.nan, 0), [1.0, math.nan])


@given(st.floats(1e-4, 1e4))
def test_the_inverse_of_trigamma(x: float) -> None:
    assert effects.inverse_trigamma(float(special.polygamma(1, x))) == pytest.approx(x, rel=1e-6)


def test_with_normal_launches_and_no_common_variance_t_is_students() -> None:
    null = effects.null_distribution(1, 6, 0.0, np.empty(0))
    for confidence in (0.5, 0.9, 0.95):
        assert np.quantile(null, confidence) > 0
    two = effects.null_distribution(2, 2, 0.0, np.empty(0))  # the median of two is their mean
    assert np.quantile(two, 0.95) == pytest.approx(stats.t.ppf(0.975, 2), rel=0.03)


def test_the_false_discovery_rate_by_hand() -> None:
    adjusted = effects.false_discovery_adjusted([0.01, math.nan, 0.04, 0.03])
    np.testing.assert_allclose(adjusted, [0.03, math.nan, 0.04, 0.04])
    assert np.isnan(effects.false_discovery_adjusted([math.nan])).all()


@given(st.lists(st.lists(st.integers(0, 2**53), max_size=7), max_size=12))
def test_medians_of_repetitions_are_those_of_numpy(series: list[list[int]]) -> None:
    counts = np.array([len(one) for one in series], dtype=np.int64)
    laid = np.array([value for one in series for value in one], dtype=np.int64)
    (found,) = effects.repetition_medians([laid], counts)
    expected = [np.median(np.array(one, dtype=np.float64)) if one else math.nan for one in series]
    np.testing.assert_allclose(found, expected)


# -- launches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("launches", [LEAST_LAUNCHES, 5, 9])
def test_an_interval_of_launches_covers_the_truth(launches: int) -> None:
    """Also where each launch is known far better than launches agree: the launches' own intervals miss it."""
    value = np.random.default_rng(1).normal(10, 1, (2000, launches))
    found = [over_launches(of, of - 0.01, of + 0.01) for of in value]
    assert np.mean([one.low <= 10 <= one.high for one in found]) > CONFIDENCE - 0.015
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


# -- control -----------------------------------------------------------------------------------------------------------


def estimate(low: float, high: float) -> Estimate:
    return Estimate(np.float64((low + high) / 2), np.float64(low), np.float64(high))


@pytest.mark.parametrize(
    ("low", "high", "factor"),
    [(0.99, 1.01, 1), (1.0, 1.2, 1), (1.01, 1.05, 1.05), (0.8, 0.9, 1.25), (math.nan, math.nan, math.inf)],
)
def test_a_ratio_is_widened_by_the_far_end_of_a_control_that_excludes_1(low: float, high: float, factor: float) -> None:
    assert control.off_by(estimate(low, high)) == pytest.approx(factor)
    wider = control.widened(estimate(0.8, 0.9), factor)
    assert (wider.value, wider.low, wider.high) == pytest.approx((0.85, 0.8 / factor, 0.9 * factor))


def test_the_limit_is_that_of_the_binomial_distribution() -> None:
    assert control.count([]).words == ""
    assert "none of 1" in control.count([(math.nan, math.nan)]).words
    found = control.count([(0.9, 1.1)] * 18 + [(1.01, 1.1), (0.9, 0.99), (math.nan, 2)])
    assert (found.excluding, found.controls, found.unknown, found.limit) == (2, 20, 1, 3)
    assert control.Count(37, 216).limit == 16
    assert "more than chance" in control.Count(17, 216).words and "more than" not in control.Count(16, 216).words


def test_controls_that_differ_by_chance_alone_seldom_exceed_the_limit() -> None:
    rng = np.random.default_rng(1)
    over = 0
    for _ in range(200):
        found = [median_estimate(np.exp(rng.normal(0, 0.05, 21)) / np.exp(rng.normal(0, 0.05, 21))) for _ in range(20)]
        counted = control.count((float(one.low), float(one.high)) for one in found)
        over += counted.excluding > counted.limit
    assert over <= 20  # 5 % of 200, and three standard deviations of that number


@pytest.mark.parametrize("factor", [1.0, 1.2])
def test_a_part_that_finds_something_else_after_another_is_told(factor: float) -> None:
    """Planted: part 2 takes longer wherever part 1 ran directly before it."""
    rng = np.random.default_rng(5)
    order = np.array([123, 132, 213, 231, 312, 321] * 20)
    after = np.isin(order, (123, 312))
    times = 1e6 * rng.normal(1, 0.01, order.size) * np.where(after, factor, 1)
    assert control.count_by_order([(times, order, 2)]).excluding == (factor != 1)


def test_a_series_that_drifts_differs_between_its_halves() -> None:
    rng = np.random.default_rng(5)
    still = [1e6 * rng.normal(1, 0.01, 60) for _ in range(20)]
    assert control.count_by_halves(still).excluding <= control.count_by_halves(still).limit
    drifting = [times * np.linspace(1, 1.1, times.size) for times in still]
    assert control.count_by_halves(drifting).excluding == len(drifting)
