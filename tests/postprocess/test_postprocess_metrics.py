"""The formulas on known numbers, and the coverage of the intervals on synthetic series with known medians."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from postprocess.statistics import metrics
from postprocess.statistics.metrics import Estimate, median_estimate, overhead_estimate, ratio_estimate

TIMES = st.floats(1.0, 1e12)


@pytest.mark.parametrize(
    ("measured", "comp", "comm", "expected"),
    [
        (20, 20, 10, 0.0),  # perfect overlap
        (30, 20, 10, 1.0),  # serialised
        (40, 20, 10, 2.0),  # worse
        (15, 20, 10, -0.5),  # an imprecise reference; not clamped
        (30, 10, 20, 1.0),  # the longer one is the communication
        (10, 10, 0, math.nan),
    ],
)
def test_overhead_ratio(measured: float, comp: float, comm: float, expected: float) -> None:
    assert float(metrics.r_overhead(measured, comp, comm)) == pytest.approx(expected, nan_ok=True)


@given(TIMES, TIMES, st.floats(0, 3))
def test_overhead_ratio_gives_back_what_was_put_in(comp: float, comm: float, share: float) -> None:
    measured = max(comp, comm) + share * min(comp, comm)
    tolerance = 1e-9 * max(comp, comm) / min(comp, comm) + 1e-9
    assert float(metrics.r_overhead(measured, comp, comm)) == pytest.approx(share, abs=tolerance)


def test_concurrency_ratios_take_the_worst_rank_against_its_own_reference() -> None:
    assert metrics.r_comm([5, 12, 3], [10, 10, 2]) == 1.5
    assert metrics.r_comp_slowdown([10, 13], [10, 10]) == 1.3
    assert metrics.r_comm([5, 7], [10, 0]) == 0.5
    assert math.isnan(metrics.r_comm([5, 7], [0, 0]))


@pytest.mark.parametrize(
    ("overall", "compute", "pure", "printed"),
    [
        (665.10, 424.78, 412.18, 41.70),  # Denis et al. 2022, figure 11: Ibcast and Ireduce, Open MPI
        (1226.44, 706.79, 681.85, 23.79),
        (2098.49, 1888.42, 1832.79, 88.54),  # figure 12: Ialltoall and Ireduce, MPICH with its progress thread
        (851.56, 663.64, 643.58, 70.80),
    ],
)
def test_the_overlap_that_osu_prints(overall: float, compute: float, pure: float, printed: float) -> None:
    assert float(metrics.overlap_osu_percent(overall, compute, pure)) == pytest.approx(printed, abs=0.005)


@pytest.mark.parametrize(
    ("overlapped", "pure", "cpu", "printed"),
    [(2281.20, 1888.82, 2052.86, 80.89), (981.55, 790.55, 803.90, 76.24)],  # figure 13: Ialltoall and Ireduce, MPICH
)
def test_the_overlap_that_imb_prints(overlapped: float, pure: float, cpu: float, printed: float) -> None:
    assert float(metrics.overlap_imb_percent(overlapped, cpu, pure)) == pytest.approx(printed, abs=0.005)


def test_overlap_of_other_suites_is_not_clamped() -> None:
    assert float(metrics.overlap_osu_percent(30, 10, 10)) == -100
    assert float(metrics.overlap_imb_percent(30, 10, 10)) == -100
    assert float(metrics.overlap_imb_percent(5, 10, 10)) == 150
    assert math.isnan(float(metrics.overlap_osu_percent(5, 10, 0)))
    assert math.isnan(float(metrics.overlap_imb_percent(5, 0, 0)))


def test_median_interval_is_the_narrowest_that_is_sure() -> None:
    assert all(metrics.median_interval_rank(n) is None for n in range(6))
    for n in range(6, 300):
        k = metrics.median_interval_rank(n)
        assert k is not None
        assert 1 - 2 * stats.binom.cdf(k, n, 0.5) >= 0.95 > 1 - 2 * stats.binom.cdf(k + 1, n, 0.5)


def test_median_of_few_samples() -> None:
    nothing = median_estimate([])
    assert all(math.isnan(float(x)) for x in (nothing.value, nothing.low, nothing.high))
    few = median_estimate([3, 1, 2, 5, 4])
    assert few.value == 3
    assert math.isnan(float(few.low))
    six = median_estimate([3, 1, 2, 5, 4, 6])
    assert [float(x) for x in (six.low, six.value, six.high)] == [1, 3.5, 6]


Generator = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


def _bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """60 % around a mode whose position makes 1 the median, 40 % half as long again: a daemon that wakes up."""
    spread = 0.03
    mode = 1 - spread * stats.norm.ppf(0.5 / 0.6)
    return np.where(rng.random(shape) < 0.6, mode, 1.5) + spread * rng.standard_normal(shape)


SERIES: dict[str, Generator] = {
    "normal": lambda rng, shape: 1 + 0.1 * rng.standard_normal(shape),
    "wide": lambda rng, shape: 1 + 0.25 * rng.standard_normal(shape),
    "lognormal": lambda rng, shape: np.exp(0.3 * rng.standard_normal(shape)),
    "bimodal": _bimodal,
    "tied": lambda rng, shape: np.round((1 + 0.1 * rng.standard_normal(shape)) * 20) / 20,
}
TRIPLES = {
    "overlap": (20.0, 20.0, 18.0), "diagonal": (36.0, 18.0, 18.0), "serialised": (36.0, 20.0, 16.0),
    "negative": (19.0, 20.0, 20.0), "corner": (21.0, 20.0, 5.0), "worse": (50.0, 20.0, 18.0),
}  # fmt: skip
TRIALS = 4000


@pytest.mark.parametrize("n", [6, 7, 8, 9, 10, 15, 30, 100])
@pytest.mark.parametrize("kind", SERIES)
def test_coverage_of_the_overhead_interval(kind: str, n: int) -> None:
    rng = np.random.default_rng([n, len(kind)])
    covered = []
    for measured, comp, comm in TRIPLES.values():
        estimates = [median_estimate(t * SERIES[kind](rng, (TRIALS, n))) for t in (measured, comp, comm)]
        found = overhead_estimate(*estimates)
        truth = (measured - max(comp, comm)) / min(comp, comm)
        covered.append(np.mean((found.low <= truth) & (truth <= found.high)))
    assert min(covered) >= 0.935  # 95 % less the noise of 4000 trials and the 0.5 % that bimodal series lose
    assert np.mean(covered) >= 0.95


@pytest.mark.parametrize("n", [6, 9, 20])
@pytest.mark.parametrize(
    ("shared", "wider"),
    [((0, 0, 0), (0.95, 1.05)), ((1, 1, 1), (0.0, 0.7)), ((1, 1, 0), (0.0, 0.9)), ((1, -1, -1), (1.2, 2.0))],
)
def test_coverage_where_the_times_of_a_repetition_vary_together(
    shared: tuple[int, int, int], wider: tuple[float, float], n: int
) -> None:
    """What slows whole repetitions down makes the interval narrower; what slows one part instead of others, wider."""
    rng = np.random.default_rng([n, *np.abs(shared)])
    covered, widths = [], []
    for truths in TRIPLES.values():
        common, *own = rng.standard_normal((4, TRIALS, n))
        times = [t * np.exp(0.08 * (s * common + one / 3)) for t, s, one in zip(truths, shared, own, strict=True)]
        found, alone = metrics.overhead_of_repetitions(*times), overhead_estimate(*map(metrics.series_estimate, times))
        truth = float(metrics.r_overhead(*truths))
        covered.append(np.mean((found.low <= truth) & (truth <= found.high)))
        widths.append(np.median((found.high - found.low) / (alone.high - alone.low)))
        assert np.all((found.low <= found.value) & (found.value <= found.high))
    assert min(covered) >= 0.93
    assert wider[0] < np.mean(widths) < wider[1]


@pytest.mark.parametrize("n", [6, 9, 15, 30])
@pytest.mark.parametrize("kind", SERIES)
def test_coverage_of_the_parts_of_the_overhead(kind: str, n: int) -> None:
    """On the diagonal too, where it is not known which of the two references is the longer one."""
    rng = np.random.default_rng([n, len(kind), 2])
    for comp, comm in ((20.0, 18.0), (18.0, 18.0), (10.0, 20.0), (40.0, 10.0)):
        for lost, outside in ((0.0, 1.0), (0.0, 0.5), (0.6, 0.2), (0.4, 1.5)):
            shorter = min(comp, comm)
            truths = (comp + lost * shorter, max(comm - comp, 0) + outside * shorter, comp, comm)
            found = [median_estimate(t * SERIES[kind](rng, (TRIALS, n))) for t in truths]
            exposed = metrics.exposed_estimate(found[1], found[2], found[3])
            interference = metrics.interference_estimate(found[0], found[2], found[3])
            for part, truth in ((exposed, outside), (interference, lost)):
                rounding = 1e-9
                assert np.mean((part.low <= truth + rounding) & (truth - rounding <= part.high)) >= 0.93


@pytest.mark.parametrize("n", [6, 9, 30])
@pytest.mark.parametrize("kind", SERIES)
def test_coverage_of_the_speedup_interval(kind: str, n: int) -> None:
    rng = np.random.default_rng([n, len(kind)])
    basic, own = (median_estimate(t * SERIES[kind](rng, (TRIALS, n))) for t in (36.0, 24.0))
    found = ratio_estimate(basic, own)
    assert np.mean((found.low <= 1.5) & (found.high >= 1.5)) >= 0.94


SAMPLES = st.lists(st.integers(1, 10**12), min_size=6, max_size=30)


@given(SAMPLES, SAMPLES, SAMPLES)
def test_interval_holds_its_value_whatever_the_samples(a: list[int], b: list[int], c: list[int]) -> None:
    found = overhead_estimate(*map(median_estimate, (a, b, c)))
    assert found.low <= found.value <= found.high


@given(st.integers(-100, 100), st.integers(1, 100), st.integers(2, 50))
def test_interval_without_spread_is_a_point(x: int, y: int, n: int) -> None:
    def fixed(value: float) -> Estimate:
        return Estimate(*[np.array(float(value))] * 3)

    found = ratio_estimate(fixed(x), fixed(y))
    assert [float(found.low), float(found.high)] == pytest.approx([x / y, x / y], abs=1e-9)


def test_ratio_interval_is_a_root_of_the_difference_interval() -> None:
    """The definition of MOVER for ratios, checked by its own means: numerator - R denominator just reaches 0."""
    x = Estimate(np.array(3.0), np.array(-1.0), np.array(5.0))
    y = Estimate(np.array(10.0), np.array(8.0), np.array(13.0))
    found = ratio_estimate(x, y)
    for bound, end in ((found.low, "low"), (found.high, "high")):
        scaled = Estimate(bound * y.value, *sorted((bound * y.low, bound * y.high)))
        assert float(getattr(metrics.difference_estimate(x, scaled), end)) == pytest.approx(0, abs=1e-9)


def test_ratio_is_unbounded_where_the_denominator_may_be_zero() -> None:
    x = Estimate(np.array(3.0), np.array(-1.0), np.array(5.0))
    found = ratio_estimate(x, Estimate(np.array(1.0), np.array(0.0), np.array(2.0)))
    assert (float(found.low), float(found.high)) == (-math.inf, math.inf)


CROSSINGS: dict[tuple[int, ...], dict[str, int]] = {
    (1, 1, 1, 1): {"ibcast": 3, "ireduce": 3, "iallreduce": 4, "iallgather": 12, "ialltoall": 12, "bcast_init": 3},
    (2, 2): {
        "MPI_Ialltoall": 8,
        "iallgather": 4,
        "alltoall_init": 8,
        "MPI_Allgather_init": 4,
        "iallgatherv": 4,
        "ialltoallv": 4,
        "iexscan": 1,
    },
    (4,): {"iallreduce": 0, "ialltoall": 0, "ineighbor_alltoall": 0},
    (1, 1): {
        "iexotic": 0,
        "ibarrier": 0,
        "ialltoallw": 1,
        "ineighbor_allgather": 2,
        "ineighbor_allgatherv": 1,
        "ineighbor_alltoall": 4,
        "ineighbor_alltoallv": 2,
    },
    (2, 1, 1): {"igather": 2, "iscatter": 2, "igatherv": 1, "iscatterv": 1},
    (1, 1, 1): {"ireduce_scatter_block": 6, "ireduce_scatter": 6, "iscan": 2},
    (3,): {"reduce_scatter_init": 0},
    (2, 2, 2): {"ineighbor_alltoallw": 3},
}
"""Of how many times a message crosses between groups of ranks at least, by their sizes."""


@pytest.mark.parametrize("groups", CROSSINGS)
def test_least_crossing_bytes(groups: tuple[int, ...]) -> None:
    found = {name: metrics.least_crossing_bytes(name, 1000, groups) for name in CROSSINGS[groups]}
    assert found == {name: 1000 * crossings for name, crossings in CROSSINGS[groups].items()}


@pytest.mark.parametrize("ranks", [1, 2, 8, 64])
@pytest.mark.parametrize("n", [6, 9, 15, 30])
@pytest.mark.parametrize("kind", ["normal", "lognormal", "bimodal"])
def test_coverage_of_the_largest_ratio_over_ranks(kind: str, n: int, ranks: int) -> None:
    """Ranks that are all alike, where the maximum is biased most, and one rank that is apart."""
    rng = np.random.default_rng([n, ranks, len(kind)])
    trials = 400 if ranks > 8 else 2000
    for apart in (1.0, 1.2):
        truth = np.ones((ranks, 1))
        truth[ranks // 2] = apart
        times, references = (truth_of * SERIES[kind](rng, (trials, ranks, n)) for truth_of in (truth, 1.0))
        found = metrics.largest_rank_ratio_estimate(times, references)
        assert np.mean((found.low <= apart) & (apart <= found.high)) >= 0.935
        assert np.all((found.low <= found.value) & (found.value <= found.high))


def test_the_bias_of_a_maximum_is_in_its_interval_not_in_its_bounds() -> None:
    """The largest of 64 ratios that are all 1 is above 1; where the interval begins is not."""
    rng = np.random.default_rng(1)
    times, references = (1 + 0.1 * rng.standard_normal((200, 64, 15)) for _ in range(2))
    found = metrics.largest_rank_ratio_estimate(times, references)
    assert np.mean(found.value > 1.05) > 0.9
    assert np.mean(found.low > 1) <= 0.05


def test_largest_ratio_of_few_or_broken_ranks() -> None:
    few = metrics.largest_rank_ratio_estimate([[2.0] * 5, [3.0] * 5], [[1.0] * 5] * 2)
    assert (float(few.value), math.isnan(float(few.low)), math.isnan(float(few.high))) == (3.0, True, True)
    without = metrics.largest_rank_ratio_estimate([[2.0] * 9, [3.0] * 9], [[1.0] * 9, [0.0] * 9])
    assert [float(x) for x in (without.low, without.value, without.high)] == [2.0, 2.0, 2.0]
    nothing = metrics.largest_rank_ratio_estimate([[2.0] * 9], [[0.0] * 9])
    assert all(math.isnan(float(x)) for x in (nothing.low, nothing.value, nothing.high))


def test_the_peers_do_not_see_a_slow_computation() -> None:
    """Hidden communication, and a computation that takes twice its time for it: both call that overlap."""
    osu, imb = metrics.peers_overlap_percent([[1.0] * 6] * 2, [[20.0] * 6] * 2, [[10.0] * 6] * 2)
    assert (osu, imb) == (90.0, 45.0)
    # IMB takes the rank whose overlapped time is the longest, OSU the mean over ranks.
    osu, imb = metrics.peers_overlap_percent([[1.0] * 6, [11.0] * 6], [[10.0] * 6] * 2, [[10.0] * 6] * 2)
    assert [osu, imb] == pytest.approx([40.0, -10.0])


def test_break_even() -> None:
    def at(value: float, low: float, high: float, given_up: int = 1) -> list[float]:
        found = metrics.break_even_estimate(Estimate(*map(np.array, (value, low, high))), given_up)
        return [float(x) for x in (found.low, found.value, found.high)]

    assert at(1.25, 1.2, 1.5) == pytest.approx([3.0, 5.0, 6.0])
    assert at(1.25, 0.9, 1.5) == pytest.approx([3.0, 5.0, math.inf])
    assert at(0.8, 0.7, 1.0) == [math.inf, math.inf, math.inf]
    assert at(1.25, 1.2, 1.5, given_up=2) == pytest.approx([6.0, 10.0, 12.0])
    assert all(map(math.isnan, at(1.25, 1.2, 1.5, given_up=0)))
    assert all(map(math.isnan, at(math.nan, math.nan, math.nan)))


@given(st.floats(1.001, 50), st.integers(2, 500))
def test_break_even_is_where_the_work_per_time_is_equal(speedup: float, cores: int) -> None:
    one = Estimate(*[np.array(speedup)] * 3)
    pays = (cores - 1) / cores * speedup > 1
    needed = float(metrics.break_even_estimate(one, 1).value)
    assert pays == (cores > needed) or needed == pytest.approx(cores)


@given(st.floats(1.001, 50), st.integers(1, 4), st.integers(1, 500))
def test_from_the_least_number_of_cores_on_it_pays_by_the_work_done(speedup: float, given_up: int, ranks: int) -> None:
    one = Estimate(*[np.array(speedup)] * 3)
    needed = float(metrics.break_even_estimate(one, given_up).value)
    least = int(metrics.least_cores(needed))
    assert least > given_up
    assert float(metrics.per_work_estimate(one, least - given_up, given_up).value) > 1 or least == pytest.approx(needed)
    if least - 1 > given_up:
        assert float(metrics.per_work_estimate(one, least - 1 - given_up, given_up).value) < 1 + 1e-9
    assert metrics.least_cores(needed, ranks) == ranks * least


def test_the_work_done_is_that_of_the_threads_that_compute() -> None:
    assert metrics.work_share([16, 15, 1], [0, 1, 3]).tolist() == [1.0, 0.9375, 0.25]
    assert metrics.least_cores(math.inf, 4) == math.inf
    assert math.isnan(metrics.least_cores(math.nan))
    assert [metrics.most_ranks_on_a_node(ranks, 2) for ranks in (1, 2, 3, 4)] == [1, 1, 2, 2]


def test_exposure_and_interference_make_up_the_overhead() -> None:
    def fixed(value: float) -> Estimate:
        return Estimate(*[np.array(float(value))] * 3)

    for comp, comm in ((20, 10), (10, 20), (15, 15)):
        for t_comp, outside in ((20, 0), (20, 10), (33, 4), (10, 25)):
            parts = (
                metrics.exposed_estimate(fixed(outside), fixed(comp), fixed(comm)),
                metrics.interference_estimate(fixed(t_comp), fixed(comp), fixed(comm)),
            )
            whole = metrics.r_overhead(t_comp + outside, comp, comm)
            assert sum(float(part.value) for part in parts) == pytest.approx(float(whole))
            assert (float(parts[0].value) > 1) == (outside > comm)
