"""How much one series of launches differs from another, and how sure that is: pure functions on NumPy arrays.

The launch is the unit: repetitions of one launch share its memory, its connections and whatever else ran then, and are
not independent (Kalibera and Jones 2013, "Rigorous benchmarking in reasonable time", doi:10.1145/2464157.2464160). A
launch enters with one number, the median of its repetitions. Two sides of a case have few launches, often three to
five, but a comparison has many cases, and how much launches differ is much the same in similar cases. Cases that the
same launches measured, a block, may all move together: a slow launch may be slow in all of them. So:

1. The variance between launches of each case is moderated by that of all others (Smyth 2004, "Linear models and
   empirical Bayes methods", doi:10.2202/1544-6115.1027): a case with three launches that agree by luck is not believed.
   Each block counts once in how much is known of the others: a thousand cases of the same six launches count as six
   launches. Cases of other kinds, such as those beside a progress thread, have another variance in common.
2. The effect is the median of all differences between a launch of one side and one of the other (Hodges and Lehmann
   1963, "Estimates of location based on rank tests", doi:10.1214/aoms/1177704172): of six normal launches a side it
   varies less by 8 % than the difference of the medians, and one wild launch moves it little. t is the effect over
   its standard error. Where the sides were measured on the same occasions, a launch of each beside one of the other, a
   machine that drifts moves both. Then the difference on each occasion may count as one launch, and the effect is the
   median of the means of all pairs of these, each with itself too: what the occasion did to both sides is in no
   interval. Occasions that one side lacks are left out. As there are half as many differences as launches, this is done
   only where it makes the median interval of all cases narrower.
3. The distribution of t where nothing differs comes from a bootstrap of launches. Residuals of all launches, each over
   the scale of its case, are drawn for both sides and multiplied by the root of a variance, which is drawn from the
   common distribution of variances; t is computed from them. One such distribution serves all cases with about as many
   launches. Its quantiles give the interval (bootstrap-t), and its tail the p-value; beyond the last draws the tail is
   that of Student's t. Outliers among the launches are part of the distribution. Where there are too few independent
   residuals to draw from, normal residuals are drawn. Differences are drawn with either sign: where nothing differs,
   the sides could change places.
4. The false-discovery rate is controlled over all cases (Benjamini and Hochberg 1995).

There is no interval and no p-value with fewer than FEWEST_LAUNCHES on both sides together, unless earlier runs tell how
launches of the case differ (`Known`, of `statistics.known`), nor where no case tells how launches differ.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from postprocess.statistics.metrics import CONFIDENCE, Floats, divided

Integers = NDArray[np.int64]

DRAWS = 40_000
"""The number of draws that make the distribution of t."""
TAIL_DRAWS = 30
"""The number of draws in the tail. Beyond the least of them the distribution goes on as Student's t, with the launches'
own degrees of freedom: in a comparison of many cases p-values must be smaller than 1 / DRAWS. The probability of a tail
of so many draws is known to a fifth."""
DRAWN = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30])
"""The numbers of launches that are drawn for a side: the largest of them that the side has. So one distribution serves
all sides with about as many launches. Fewer launches have longer tails: launches left out make intervals wider."""
FEWEST_RESIDUALS = 40
"""The fewest independent residuals to draw from."""
FEWEST_CASES = 5
"""The fewest cases for a common variance. With fewer cases each case has its own variance."""
LEAST_VARIANCE = 1e-4
"""The least variance, relative to the median variance, that counts. Less comes from a coarse clock, or from luck."""
FEWEST_LAUNCHES = 6
"""The fewest launches of both sides together for an interval: among fewer, agreement may be luck."""
SEED = 20221129


@dataclass(frozen=True)
class Effects:
    """The effects of all cases: arrays in the order of the cases' numbers.

    effect: by how much the launches of side 1 are above those of side 0; low, high: its 95 % interval; p_value: that of
    no difference. NaN where they are not known. launches: their number, (cases, 2); centres: the sides' medians,
    (cases, 2); reaches: half of the 95 % interval of each centre, (cases, 2), NaN where it is not known.
    Of cases that are compared by occasions these are the launches on occasions that both sides have.
    """

    effect: Floats
    low: Floats
    high: Floats
    p_value: Floats
    launches: Integers
    centres: Floats
    reaches: Floats


def either(first: ArrayLike, one: Effects, other: Effects) -> Effects:
    """The effects of one of two: of each case for which `first` is true those of `one`, else those of `other`."""
    chosen = np.asarray(first, bool)

    def parts(name: str) -> Any:
        both = getattr(one, name), getattr(other, name)
        return np.where(chosen if both[0].ndim == 1 else chosen[:, None], *both)

    return Effects(*(parts(field.name) for field in fields(Effects)))


@dataclass(frozen=True)
class Spread:
    """The common variance between launches, and its degrees of freedom, which are 0 where there is no such variance."""

    variance: float
    freedom: float


@dataclass(frozen=True)
class Known:
    """The variance between launches of each case, as earlier runs know it: arrays in the order of the cases' numbers.

    Two launches differ by Student's t of `freedom`, times the root of twice the variance.  variance: NaN where nothing
    is known, and freedom: 0.  runs: the number of runs that tell it.
    """

    variance: Floats
    freedom: Floats
    runs: int


def effects(
    case: ArrayLike,
    side: ArrayLike,
    value: ArrayLike,
    cases: int,
    block: ArrayLike | None = None,
    known: Known | None = None,
    occasion: ArrayLike | None = None,
    alike: ArrayLike | None = None,
) -> Effects:
    """Compare the two sides of many cases.

    case: number of each launch's case, 0 to cases - 1; side: 0 or 1; value: the launch's median, of any scale on which
    differences are of interest (the logarithm, for ratios). Launches whose value is not finite are left out.  block:
    the number of each case's block, (cases,). The same launches measured all cases of a block. Default: each case is a
    block.  known: of what cases with fewer than FEWEST_LAUNCHES learn.  occasion: the number of the occasion on which
    each launch was measured. Cases with FEWEST_LAUNCHES on occasions on which each side has one are compared by these,
    where this tells more. Default: none is.  alike: the number of the kind of each case, (cases,). Cases of a kind have
    a variance in common, and so have all those of kinds with fewer than FEWEST_CASES. Default: all are of one kind.
    """
    blocks = np.arange(cases) if block is None else np.asarray(block, np.int64)
    number, sides, values = np.asarray(case, np.int64), np.asarray(side, np.int64), np.asarray(value, np.float64)
    occasions = None if occasion is None else np.asarray(occasion, np.int64)
    kinds = _kinds(np.zeros(cases, np.int64) if alike is None else np.asarray(alike, np.int64))
    parts, order = [], np.argsort(kinds, kind="stable")
    for kind in np.unique(kinds) if cases else [-1]:
        chosen = np.flatnonzero(kinds == kind)
        place = np.full(cases, -1)
        place[chosen] = np.arange(chosen.size)
        mine = kinds[number] == kind
        parts.append(
            _of_kind(
                place[number[mine]],
                sides[mine],
                values[mine],
                np.unique(blocks[chosen], return_inverse=True)[1],
                None if known is None else Known(known.variance[chosen], known.freedom[chosen], known.runs),
                None if occasions is None else occasions[mine],
            )
        )
    back = np.argsort(order)
    return Effects(*(np.concatenate([getattr(part, one.name) for part in parts])[back] for one in fields(Effects)))


def _kinds(alike: Integers) -> Integers:
    """The kind of each case, -1 of those with fewer than FEWEST_CASES."""
    kinds, place, count = np.unique(alike, return_inverse=True, return_counts=True)
    return np.where(count < FEWEST_CASES, -1, kinds)[place]


def _of_kind(
    number: Integers, sides: Integers, values: Floats, blocks: Integers, known: Known | None, occasion: Integers | None
) -> Effects:
    """The effects of cases that are alike."""
    cases = blocks.size
    by_side = _effects(number, sides, values, cases, blocks, known)
    if occasion is None:
        return by_side
    first, second = launches_beside(number, sides, values, occasion)
    pairs = np.bincount(number[first], minlength=cases)
    enough = 2 * pairs >= FEWEST_LAUNCHES
    first, second = first[enough[number[first]]], second[enough[number[second]]]
    of_cases, ones = number[first], np.ones(first.size, np.int64)
    by_occasion = _effects(of_cases, ones, values[second] - values[first], cases, blocks, None, differences=True)
    widths = np.array([(one.high - one.low)[enough] for one in (by_side, by_occasion)])
    widths = widths[:, np.isfinite(widths).all(axis=0)]
    if widths.shape[1] < FEWEST_CASES or not np.less(*np.median(widths[::-1], axis=1)):
        return by_side
    both = np.concatenate([first, second])
    centres = centres_of(number[both], sides[both], values[both], cases)
    return Effects(
        effect=np.where(enough, by_occasion.effect, by_side.effect),
        low=np.where(enough, by_occasion.low, by_side.low),
        high=np.where(enough, by_occasion.high, by_side.high),
        p_value=np.where(enough, by_occasion.p_value, by_side.p_value),
        launches=np.where(enough[:, None], pairs[:, None], by_side.launches),
        centres=np.where(enough[:, None], centres, by_side.centres),
        reaches=np.where(
            enough[:, None], by_side.reaches * np.sqrt(divided(by_side.launches, pairs[:, None])), by_side.reaches
        ),
    )


def launches_beside(case: Integers, side: Integers, value: Floats, occasion: Integers) -> tuple[Integers, Integers]:
    """The places of the launches of side 0 and, in the same order, of those of side 1 on the same occasion of a case,
    where each side has one."""
    name = case * (int(occasion.max(initial=0)) + 1) + occasion
    places = []
    for one in (0, 1):
        mine = np.flatnonzero((side == one) & np.isfinite(value))
        names, first, count = np.unique(name[mine], return_index=True, return_counts=True)
        places.append((names[count == 1], mine[first[count == 1]]))
    (names_a, a), (names_b, b) = places
    _, in_a, in_b = np.intersect1d(names_a, names_b, assume_unique=True, return_indices=True)
    return a[in_a], b[in_b]


def _by_group(case: Integers, side: Integers, value: Floats) -> tuple[Integers, Floats]:
    """The group, twice the case and the side, of each launch with a finite value, and the values: sorted by both."""
    finite = np.isfinite(value)
    group = 2 * case[finite] + side[finite]
    by_value = np.argsort(value[finite])
    order = by_value[np.argsort(group[by_value], kind="stable")]  # np.lexsort takes twice as long
    return group[order], value[finite][order]


def centres_of(case: Integers, side: Integers, value: Floats, cases: int) -> Floats:
    """The medians of both sides of each case, (cases, 2)."""
    group, values = _by_group(case, side, value)
    count = np.bincount(group, minlength=2 * cases)
    return _medians(values, np.cumsum(count) - count, count).reshape(cases, 2)


def _effects(
    case: Integers,
    side: Integers,
    value: Floats,
    cases: int,
    blocks: Integers,
    known: Known | None,
    *,
    differences: bool = False,
) -> Effects:
    """The effects of launches. differences: the values are those of the sides on each occasion, which stand on side
    1."""
    group, values = _by_group(case, side, value)
    count = np.bincount(group, minlength=2 * cases)
    first = np.cumsum(count) - count
    centre = _medians(values, first, count)
    mean = divided(np.bincount(group, values, 2 * cases).astype(np.float64), count)
    residual = values - mean[group]
    squares = np.bincount(group, residual**2, 2 * cases).reshape(cases, 2).sum(axis=1)
    n = count.reshape(cases, 2)
    centres = centre.reshape(cases, 2)
    own_freedom = np.maximum(n - 1, 0).sum(axis=1).astype(np.float64)
    spread = common_spread(divided(squares, own_freedom), own_freedom, blocks)
    scale = np.sqrt(moderated_variance(squares, own_freedom, spread.variance, spread.freedom))
    enough = _largest_of_blocks(n.sum(axis=1), blocks).sum() >= FEWEST_RESIDUALS
    drawn_from = _standardised(residual, group, count, scale) if enough else np.empty(0)
    if differences:
        drawn_from = np.sort(np.concatenate([drawn_from, -drawn_from]))
    few = (2 if differences else 1) * n.sum(axis=1) < FEWEST_LAUNCHES
    freedom = np.where(few, 0.0, spread.freedom)
    if known is not None:
        freedom = np.where(few, known.freedom, freedom)
        scale = np.where(few, np.sqrt(moderated_variance(squares, own_freedom, known.variance, known.freedom)), scale)

    effect = _shifts(values, first, count, differences=differences)
    error = scale * np.sqrt(np.divide(1.0, n, out=np.zeros(n.shape), where=n > 0).sum(axis=1))
    sure = np.isfinite(effect) & np.isfinite(error) & (error > 0) & (~few | (freedom > 0))
    low, high, p_value = (np.full(cases, np.nan) for _ in range(3))
    drawn = np.sort(DRAWN[np.searchsorted(DRAWN, n, side="right") - 1], axis=1)
    alike = np.column_stack([drawn, few, freedom])
    for kind in np.unique(alike[sure], axis=0):
        chosen = sure & (alike == kind).all(axis=1)
        fewer, more, learnt, common = int(kind[0]), int(kind[1]), bool(kind[2]), float(kind[3])
        null = null_distribution(fewer, more, common, np.empty(0) if learnt else drawn_from)
        reach = float(np.quantile(null, CONFIDENCE)) * error[chosen]
        low[chosen], high[chosen] = effect[chosen] - reach, effect[chosen] + reach
        tail = fewer + more - np.count_nonzero(kind[:2]) + common * learnt
        p_value[chosen] = p_values(np.abs(effect[chosen]) / error[chosen], null, tail)
    reaches = np.where(sure[:, None], median_reach(scale[:, None], n, (own_freedom + freedom)[:, None]), np.nan)
    return Effects(effect, low, high, p_value, n, centres, reaches)


def median_reach(scale: ArrayLike, launches: ArrayLike, freedom: ArrayLike) -> Floats:
    """Half of the 95 % interval of a median of normal launches, whose scale is known with so many degrees of freedom.

    The standard error of a median is at most that of a mean times the root of pi / 2, and near to that with many
    launches.
    """
    n = np.asarray(launches, np.float64)
    error = np.asarray(scale, np.float64) * np.sqrt(divided(np.full(n.shape, math.pi / 2), n))
    quantile = scipy.special.stdtrit(np.asarray(freedom, np.float64), (1 + CONFIDENCE) / 2)
    return np.asarray(quantile * error)


def p_values(t: Floats, null: Floats, freedom: float) -> Floats:
    """The probability of |t| at least so large where nothing differs.

    null: draws of |t|, sorted.  freedom: degrees of freedom of the tail.
    """
    probability = (null.size - np.searchsorted(null, t, side="left") + 1) / (null.size + 1)
    edge = null[-min(TAIL_DRAWS, null.size)]
    far = t > edge
    if far.any() and np.isfinite(edge):
        share = (TAIL_DRAWS + 1) / (null.size + 1)
        probability[far] = share * scipy.special.stdtr(freedom, -t[far]) / scipy.special.stdtr(freedom, -edge)
    return np.asarray(probability)


def common_spread(variances: ArrayLike, freedoms: ArrayLike, block: ArrayLike | None = None) -> Spread:
    """The variance that cases have in common, by Smyth 2004, section 6.2: a scaled F distribution, by its moments.

    variances: of each case between its launches.  freedoms: their degrees of freedom.  block: as in `effects`. Cases
    without degrees of freedom, or in which nothing varies at all (a clock that is too coarse), do not count. With fewer
    than FEWEST_CASES there is no common variance. Its degrees of freedom for a case of one block are at most those of
    the launches of all other blocks, where each block counts as one case.
    """
    variance, freedom = np.asarray(variances, np.float64), np.asarray(freedoms, np.float64)
    blocks = np.arange(variance.size) if block is None else np.asarray(block, np.int64)
    counts = (freedom > 0) & (variance > 0)
    counts &= variance > LEAST_VARIANCE * np.median(variance[counts]) if counts.any() else counts
    if counts.sum() < FEWEST_CASES:
        return Spread(math.nan, 0.0)
    half = freedom[counts] / 2
    e = np.log(variance[counts]) - scipy.special.digamma(half) + np.log(half)
    beyond = float(e.var(ddof=1) - scipy.special.polygamma(1, half).mean())
    known = _largest_of_blocks(freedom[counts], blocks[counts])
    most = float(known.sum() - known.max())
    if most <= 0:
        return Spread(math.nan, 0.0)
    if beyond <= 0:  # cases differ no more than so few launches make them differ
        return Spread(float(np.exp(e.mean())), most)
    worth = 2 * inverse_trigamma(beyond)
    common = float(np.exp(e.mean() + scipy.special.digamma(worth / 2) - math.log(worth / 2)))
    return Spread(common, min(worth, most))


def moderated_variance(squares: ArrayLike, freedoms: ArrayLike, common: ArrayLike, worth: ArrayLike) -> Floats:
    """The variance of each case, drawn towards a common one, from its sum of squares; NaN where nothing is known.

    worth: the degrees of freedom of the common variance; 0 where there is none.
    """
    square, freedom, centre, weight = (np.asarray(part, np.float64) for part in (squares, freedoms, common, worth))
    return divided(np.where(weight > 0, weight * centre, 0.0) + square, weight + freedom)


def inverse_trigamma(value: float) -> float:
    """The x above 0 whose trigamma is the value, which is above 0."""
    low, high = min(1 / math.sqrt(value), 1 / value) / 2, 1 / value + 1
    return float(scipy.optimize.brentq(lambda x: float(scipy.special.polygamma(1, x)) - value, low, high, xtol=1e-12))


def null_distribution(
    first: int, second: int, common_freedom: float, residuals: Floats, draws: int = DRAWS, seed: int = SEED
) -> Floats:
    """Draws of |t| where nothing differs, sorted, for `first` launches on one side and `second` on the other; with 0
    for `first`, for differences on `second` occasions.

    residuals: from which launches are drawn, of variance 1; normal ones are drawn where there are fewer than
    FEWEST_RESIDUALS.  common_freedom: the degrees of freedom of the common variance, which is 1 here. Each draw has its
    own variance, as each case has.
    """
    rng = np.random.default_rng(seed)
    shape = (draws, first + second)
    drawn = rng.choice(residuals, shape) if residuals.size >= FEWEST_RESIDUALS else rng.standard_normal(shape)
    if common_freedom > 0:
        drawn = drawn * np.sqrt(common_freedom / rng.chisquare(common_freedom, (draws, 1)))
    a, b = drawn[:, :first], drawn[:, first:]
    sides = [part for part in (a, b) if part.shape[1]]
    squares = np.sum([part.var(axis=1) * part.shape[1] for part in sides], axis=0)
    freedom = first + second - len(sides)
    scale = np.sqrt(moderated_variance(squares, np.full(draws, float(freedom)), 1.0, common_freedom))
    error = scale * math.sqrt(sum(1 / part.shape[1] for part in sides))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(row_shifts(a, b)) / error
    return np.sort(np.where(np.isnan(t), np.inf, t))


def false_discovery_adjusted(p_values: ArrayLike) -> Floats:
    """The least false-discovery rate at which each p-value counts (Benjamini and Hochberg); NaN stays NaN."""
    p = np.asarray(p_values, np.float64)
    adjusted = np.full(p.shape, np.nan)
    known = np.isfinite(p)
    descending = np.argsort(p[known])[::-1]
    rates = p[known][descending] * descending.size / np.arange(descending.size, 0, -1)
    adjusted[np.flatnonzero(known)[descending]] = np.minimum(np.minimum.accumulate(rates), 1)
    return adjusted


def sure_at(estimates: ArrayLike, limits: ArrayLike, rate: float = 1 - CONFIDENCE) -> NDArray[np.bool_]:
    """Which of many values are surely on their side of a limit: of those, at most `rate` are expected to be wrong.

    estimates: value, low and high of the 95 % interval of each, (values, 3).  limits: one, or one for each. The half of
    an interval that reaches towards the limit is taken for that of a normal distribution, and false discoveries are
    controlled over all values.
    An interval without width is sure.
    """
    value, low, high = np.asarray(estimates, np.float64).reshape(-1, 3).T
    limit = np.asarray(limits, np.float64)
    half = np.where(value > limit, value - low, high - value)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(value - limit) / half * scipy.special.ndtri((1 + CONFIDENCE) / 2)
    adjusted = false_discovery_adjusted(2 * scipy.special.ndtr(-distance))
    return np.asarray(adjusted <= rate)


def repetition_medians(values: Iterable[NDArray[Any]], counts: Integers) -> list[Floats]:
    """For each series the medians over the repetitions of each point; NaN for a point without repetitions.

    values: the series, in which the repetitions of all points lie end to end.  counts: the repetitions of each point.
    Points with as many repetitions are sorted together, so that a million points take a second.
    """
    first = np.cumsum(counts) - counts
    same = [(int(n), np.flatnonzero(counts == n)) for n in np.unique(counts) if n > 0]
    medians = []
    for series in values:
        of_points = np.full(counts.shape, np.nan)
        for n, points in same:
            regular = points.size == counts.size
            table = series[: points.size * n].reshape(-1, n) if regular else series[first[points, None] + np.arange(n)]
            of_points[points] = _row_medians(table)
        medians.append(of_points)
    return medians


def _largest_of_blocks(values: Floats | Integers, blocks: Integers) -> Floats:
    """The largest value of each block's cases: what the block tells if all its cases move together."""
    largest = np.zeros(int(blocks.max(initial=-1)) + 1)
    np.maximum.at(largest, blocks, values)
    return largest


def _row_medians(table: NDArray[Any]) -> Floats:
    """The median of each row. No value may be NaN."""
    n = table.shape[1]
    low, high = (n - 1) // 2, n // 2
    ordered = np.sort(table, axis=1)  # of short rows faster than np.partition
    median: Floats = (ordered[:, low].astype(np.float64) + ordered[:, high]) / 2
    return median


def row_shifts(first: Floats, second: Floats) -> Floats:
    """By how much the values of the second table are above those of the first, row by row, by Hodges and Lehmann;
    where the first has no columns, above 0. No value may be NaN."""
    rows, n = second.shape
    if first.shape[1]:
        pairs = second[:, :, None] - first[:, None, :]
    else:
        one, other = np.triu_indices(n)
        pairs = (second[:, one] + second[:, other]) / 2
    return _row_medians(pairs.reshape(rows, -1))


def _shifts(values: Floats, first: Integers, count: Integers, *, differences: bool) -> Floats:
    """The shift of each case, from the values of both its sides, which lie end to end; NaN where a side has none."""
    starts, n = first.reshape(-1, 2), count.reshape(-1, 2)
    shift = np.full(len(n), np.nan)
    there = n[:, 1] > 0 if differences else (n > 0).all(axis=1)
    for launches in np.unique(n[there], axis=0):
        same = np.flatnonzero(there & (n == launches).all(axis=1))
        a, b = (values[starts[same, side, None] + np.arange(launches[side])] for side in (0, 1))
        shift[same] = row_shifts(a, b)
    return shift


def _medians(values: Floats, first: Integers, count: Integers) -> Floats:
    """The medians of groups of values, which are sorted and lie end to end; NaN for an empty group."""
    median = np.full(count.shape, np.nan)
    some = count > 0
    low, high = first[some] + (count[some] - 1) // 2, first[some] + count[some] // 2
    median[some] = (values[low] + values[high]) / 2
    return median


def _standardised(residual: Floats, group: Integers, count: Integers, scale: Floats) -> Floats:
    """Residuals over the scales of their cases, together of variance 1, from sides with at least two launches."""
    n = count[group]
    with np.errstate(divide="ignore", invalid="ignore"):
        all_ = residual * np.sqrt(n / (n - 1)) / scale[group // 2]
    kept = all_[(n > 1) & np.isfinite(all_)]
    size = math.sqrt(float(np.mean(kept**2))) if kept.size else 0.0
    return np.sort(kept / size) if size > 0 else np.empty(0)  # sorted: the order of the sides has no effect
