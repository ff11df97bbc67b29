"""The metrics of Denis, Jaeger, Jeannot, Reynier (2022), doi:10.1002/cpe.7168, section 3, with their intervals.

Pure functions on numbers and NumPy arrays; nothing here knows of records. All times of one call are in one unit
(nanoseconds in this project); ratios have none. Nothing is ever clamped: a ratio below 0 says that a reference is
imprecise, above 1 that overlapping was worse than not trying (section 3.1). What cannot be computed is NaN.

Intervals. The 95 % interval of a median is distribution free, from order statistics. Those of the three medians in a
ratio are combined by MOVER, the method of variance estimates recovery, of Zou and Donner 2008 (Statistics in Medicine
27(10), differences) and Donner and Zou 2012 (Statistical Methods in Medical Research 21(4), ratios). Its assumptions
are mild (independent estimates, each with an interval that is right by itself), the interval need not be symmetric,
and it covered the truth in 94.5 to 99.9 % of simulated series of 6 to 100 repetitions: normal, lognormal, bimodal and
tied, on the diagonal of the map too, where longer and shorter reference are the same (`tests/postprocess` repeats
that). It is cautious with few repetitions, because order statistics come in steps: 9 give a narrower interval than 8.
Repetitions of one launch depend on each other, which `series_estimate` allows for. Launches differ: `launches`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from postprocess.statistics import limits

Floats: TypeAlias = NDArray[np.float64]

CONFIDENCE = 0.95
MIN_REPETITIONS = limits.MIN_REPETITIONS
MOST_CORRELATED = 0.95
"""The largest correlation of neighbours that is believed: at 1 nothing would be known."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; arrays of one shape, or numbers. NaN bounds where there are too few samples."""

    value: Floats
    low: Floats
    high: Floats

    @property
    def numbers(self) -> tuple[float, float, float]:
        """The value and the ends, where they are single numbers."""
        return as_float(self.value), as_float(self.low), as_float(self.high)


UNKNOWN = Estimate(*[np.array(math.nan)] * 3)
"""The estimate of what is not known."""


def r_overhead(t_measured: ArrayLike, t_comp_ref: ArrayLike, t_comm_ref: ArrayLike) -> Floats:
    """Overhead ratio, section 3.1, equation (1), elementwise.

    0 is perfect overlap, 1 serialised. Takes medians of global times: max(end) - min(start) over ranks.
    NaN where the shorter reference is not above 0.
    """
    comp, comm = np.asarray(t_comp_ref, dtype=np.float64), np.asarray(t_comm_ref, dtype=np.float64)
    return divided(np.asarray(t_measured, dtype=np.float64) - np.maximum(comp, comm), np.minimum(comp, comm))


def r_comm(t_mpi: ArrayLike, t_comm_ref: ArrayLike) -> float:
    """Communication concurrency ratio, section 3.2.2, equation (4), of the rank where it is largest.

    `t_mpi` is t_call + t_wait, and what was spent in MPI_Test where that was called between them. Both arguments hold
    one value per rank, that rank's own median. Ranks whose reference is 0 are left out; NaN if all.
    """
    return _largest(divided(t_mpi, t_comm_ref))


def r_comp_slowdown(t_comp: ArrayLike, t_comp_ref: ArrayLike) -> float:
    """Computation slowdown ratio, section 3.2.2, equation (3), of the rank with the largest; arguments as `r_comm`."""
    return _largest(divided(t_comp, t_comp_ref))


def overlap_osu_percent(t_measured: ArrayLike, t_comp: ArrayLike, t_comm_ref: ArrayLike) -> Floats:
    """The overlap that the OSU Micro-Benchmarks (5 to 7, `print_stats_nbc`) make of these times, elementwise.

    100 - 100 (t_measured - t_comp) / t_comm_ref. OSU takes means over all ranks, and prints 0 where the overlap is
    below 0; here it is not clamped. NaN where t_comm_ref is not above 0.
    """
    measured, comp = np.asarray(t_measured, dtype=np.float64), np.asarray(t_comp, dtype=np.float64)
    return 100 - 100 * divided(measured - comp, t_comm_ref)


def overlap_imb_percent(t_measured: ArrayLike, t_comp: ArrayLike, t_comm_ref: ArrayLike) -> Floats:
    """The overlap that the Intel MPI Benchmarks (IMB-NBC, `IMB_display_times`) make of these times, elementwise.

    100 (t_comm_ref + t_comp - t_measured) / max(t_comm_ref, t_comp). IMB takes the times of the rank with the largest
    t_measured, and t_comp of the overlapped repetitions. IMB clamps the overlap to 0 to 100; here it is not clamped.
    NaN where both times are 0.
    """
    measured, comp = np.asarray(t_measured, dtype=np.float64), np.asarray(t_comp, dtype=np.float64)
    comm = np.asarray(t_comm_ref, dtype=np.float64)
    return 100 * divided(comm + comp - measured, np.maximum(comm, comp))


def largest_rank_ratio_estimate(times: ArrayLike, references: ArrayLike) -> Estimate:
    """`r_comm` or `r_comp_slowdown` with its interval, from every rank's samples, both (…, ranks, repetitions).

    The value is the largest ratio of medians over ranks. It is the maximum of noisy values, and so biased upwards, the
    more the more ranks there are. The interval is not biased. Its upper end is the largest of the ranks' upper ends,
    each at 97.5 %: the upper end of the rank that truly has the largest ratio is enough.
    Its lower end is the m-th largest of the ranks' lower ends, each with an error of at most 2.5 % m / ranks: where m
    of them are above the truth, m have erred, and by Markov's inequality that happens in at most 2.5 %, however ranks
    depend on each other. m is 1 (Bonferroni) where there are repetitions enough for such a small error, else the
    smallest for which there are. Ranks whose reference is not above 0 are left out.
    """
    numerator, denominator = np.asarray(times, dtype=np.float64), np.asarray(references, dtype=np.float64)
    ranks, n = numerator.shape[-2:]
    plain = ratio_estimate(series_estimate(numerator), series_estimate(denominator))
    largest = Estimate(*(_largest_over_ranks(part) for part in _parts(plain)))
    confidences = {m: 1 - (1 - CONFIDENCE) * m / ranks for m in range(1, ranks + 1)}
    m = next((m for m, sure in confidences.items() if median_interval_rank(n, sure) is not None), None)
    if m is None:
        return largest
    low = ratio_estimate(series_estimate(numerator, confidences[m]), series_estimate(denominator, confidences[m])).low
    low = np.sort(np.where(np.isnan(low), -np.inf, low), axis=-1)[..., ranks - m]
    return Estimate(largest.value, np.where(np.isfinite(largest.value), low, np.nan), largest.high)


def peers_overlap_percent(t_mpi: ArrayLike, t_comp: ArrayLike, t_comm_ref: ArrayLike) -> tuple[float, float]:
    """`overlap_osu_percent` and `overlap_imb_percent` of the samples of a point, each (ranks, repetitions).

    OSU takes means over repetitions and ranks, IMB the means of the rank whose overlapped time is the longest. Both
    take the time of the computation in the overlapped repetitions, so that its slowdown cancels.
    """
    mpi, comp, pure = (np.asarray(t, dtype=np.float64) for t in (t_mpi, t_comp, t_comm_ref))
    if not mpi.size:
        return math.nan, math.nan
    overall = mpi + comp
    osu = overlap_osu_percent(overall.mean(), comp.mean(), pure.mean())
    slowest = int(overall.mean(axis=1).argmax())
    imb = overlap_imb_percent(overall[slowest].mean(), comp[slowest].mean(), pure[slowest].mean())
    return as_float(osu), as_float(imb)


def work_share(threads: ArrayLike, given_up_cores: ArrayLike) -> Floats:
    """The work done where cores are given up, as a share of the work of all cores of a rank's share, elementwise.

    Work is the same per thread, so the share is threads / (threads + given_up_cores). 1 where no core was given up.
    """
    computing = np.asarray(threads, dtype=np.float64)
    return divided(computing, computing + np.asarray(given_up_cores, dtype=np.float64))


def per_work_estimate(speedup: Estimate, threads: int, given_up_cores: int) -> Estimate:
    """The speed-up per work done, from the speed-up on the same work per thread.  threads: those that compute."""
    return scaled(speedup, as_float(work_share(threads, given_up_cores)))


def break_even_estimate(speedup: Estimate, given_up_cores: int) -> Estimate:
    """The number of cores per rank above which it pays to give up some, from the speed-up on the same work per thread.

    n cores do n units of work in t_basic. The n - g cores that are left do n - g units in t_basic / speedup, which is
    more work per time where n > g speedup / (speedup - 1). This holds as far as the time of a thread's work and that of
    the communication do not depend on n. The number is infinite, which means never, where the speed-up is not above 1,
    and NaN where no core was given up.
    """
    if given_up_cores <= 0:
        return Estimate(*[np.full(np.shape(speedup.value), np.nan)] * 3)

    def cores(s: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.isnan(s), np.nan, np.where(s > 1, given_up_cores / (1 - 1 / s), np.inf))

    return Estimate(cores(speedup.value), cores(speedup.high), cores(speedup.low))


def least_cores(break_even_cores: float, ranks_per_node: int = 1) -> float:
    """The first whole number of cores above `break_even_estimate`, times the ranks on a node; infinity and NaN stay."""
    return (math.floor(break_even_cores) + 1) * ranks_per_node if math.isfinite(break_even_cores) else break_even_cores


def most_ranks_on_a_node(ranks: int, nodes: int) -> int:
    """How many ranks the fullest node has, where they are spread as evenly as can be."""
    return -(-ranks // nodes)


@cache
def median_interval_rank(n: int, confidence: float = CONFIDENCE) -> int | None:
    """k such that [k-th smallest, k-th largest] of n samples (k from 0) holds the median with at least `confidence`.

    The largest k with 1 - 2 P(Binomial(n, 1/2) <= k) >= confidence, whatever the distribution; ties only add to it.
    None where even [minimum, maximum] does not (n < 6 at 95 %).
    """
    k = math.ceil(scipy.special.bdtrik((1 - confidence) / 2, n, 0.5)) + 1 if n > 0 else -1
    while k >= 0 and 1 - 2 * float(scipy.special.bdtr(k, n, 0.5)) < confidence:
        k -= 1
    return k if k >= 0 else None


def median_estimate(samples: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """The median over the last axis with its distribution-free interval; all NaN where there is no sample."""
    return _median_of_ascending(np.sort(np.asarray(samples, dtype=np.float64), axis=-1), confidence)


def _median_of_ascending(values: Floats, confidence: float) -> Estimate:
    n = values.shape[-1]
    nothing = np.full(values.shape[:-1], np.nan)
    if n == 0:
        return Estimate(nothing, nothing, nothing)
    middle = (values[..., (n - 1) // 2] + values[..., n // 2]) / 2
    k = median_interval_rank(n, confidence)
    return Estimate(middle, nothing, nothing) if k is None else Estimate(middle, values[..., k], values[..., n - 1 - k])


def series_estimate(samples: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """`median_estimate` of repetitions in the order in which they were measured, which may depend on each other.

    The ends of the interval lie farther from the median by the root of `dependence`, within what was measured. Other
    ranks instead, farther from the middle, would soon be those of the extremes, and one detour would decide the width.
    Of series whose neighbours correlate by 0.4 the interval covers the median in 91 % (9 samples) to 96 % (100), where
    `median_estimate` covers it in 87 %; of independent ones it is 4 % (100 samples) to 11 % (15) wider than needed
    (`tests/benchmarks/interval_trust.py`). At 0.6 nine samples cover it in 83 %.
    """
    order, ascending = _in_order(np.asarray(samples, dtype=np.float64))
    found = _median_of_ascending(ascending, confidence)
    if not order.shape[-1]:
        return found
    farther = np.sqrt(_dependence(_centred_ranks(order, ascending))) - 1
    low, high = found.low - farther * (found.value - found.low), found.high + farther * (found.high - found.value)
    most = ascending[..., -1]  # NaN where there is one
    return Estimate(found.value, np.maximum(low, np.minimum(ascending[..., 0], most)), np.minimum(high, most))


def series_estimates(series: Mapping[str, ArrayLike]) -> dict[str, Estimate]:
    """`series_estimate` of series of repetitions, by name: those of equal length at once, which takes less time."""
    values = {name: np.asarray(samples, dtype=np.float64) for name, samples in series.items()}
    found: dict[str, Estimate] = {}
    for size in {one.size for one in values.values()}:
        names = [name for name, one in values.items() if one.size == size]
        together = series_estimate(np.array([values[name] for name in names]))
        found |= {name: Estimate(*(part[i] for part in _parts(together))) for i, name in enumerate(names)}
    return {name: found[name] for name in series}


def _dependence(ranks: Floats) -> Floats:
    """How many samples in order tell as much as one independent sample, at least 1: (1 + r) / (1 - r), over the last
    axis. r is the correlation of the ranks of neighbours, which outliers cannot spoil, where it is above 0: as found,
    and 1/n, by which it is too small in n independent samples. It is that of a first-order autoregression (Bayley and
    Hammersley 1946, doi:10.2307/2983560).

    ranks: those of `_centred_ranks`."""
    together = np.einsum("...i,...i->...", ranks[..., 1:], ranks[..., :-1])
    square = np.einsum("...i,...i->...", ranks, ranks)
    r = np.divide(together, square, out=np.zeros(ranks.shape[:-1]), where=square > 0) + 1 / ranks.shape[-1]
    r = np.minimum(np.maximum(r, 0), MOST_CORRELATED)
    return np.asarray((1 + r) / (1 - r))


def _in_order(values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The places of ascending values over the last axis, and these values."""
    order = np.argsort(values, axis=-1)
    return order, values[order] if values.ndim == 1 else np.take_along_axis(values, order, axis=-1)


def _centred_ranks(order: NDArray[np.intp], ascending: Floats) -> Floats:
    """The ranks over the last axis of values in their own order, less their mean; equal values share theirs. From what
    `_in_order` found. `scipy.stats.rankdata` takes ten times as long."""
    last = order.shape[-1] - 1
    places = np.arange(last + 1)
    differs = ascending[..., 1:] != ascending[..., :-1]
    shared = places - last / 2
    if not differs.all():
        begins, ends = np.zeros(order.shape, np.intp), np.full(order.shape, last)
        begins[..., 1:], ends[..., :-1] = np.where(differs, places[1:], 0), np.where(differs, places[:-1], last)
        begins = np.maximum.accumulate(begins, axis=-1)
        ends = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
        shared = (begins + ends - last) / 2
    ranks = np.empty(order.shape)
    if order.ndim == 1:  # the same, sooner
        ranks[order] = shared
    else:
        np.put_along_axis(ranks, order, shared, axis=-1)
    return ranks


def mean_estimate(samples: ArrayLike, confidence: float = 0.90) -> Estimate:
    """The mean with its interval by Student's distribution, as Gillis et al. 2023 report times (section 4).

    The interval is NaN below two samples. Times are skewed: where nothing else asks for a mean, use `median_estimate`.
    """
    values = np.asarray(samples, dtype=np.float64)
    n = values.size
    if n == 0:
        return Estimate(np.asarray(math.nan), np.asarray(math.nan), np.asarray(math.nan))
    mean = values.mean()
    half = scipy.special.stdtrit(n - 1, (1 + confidence) / 2) * values.std(ddof=1) / math.sqrt(n) if n > 1 else math.nan
    return Estimate(np.asarray(mean), np.asarray(mean - half), np.asarray(mean + half))


def difference_estimate(left: Estimate, right: Estimate) -> Estimate:
    """left - right by MOVER (Zou and Donner 2008, equation 5)."""
    value = left.value - right.value
    below = np.hypot(left.value - left.low, right.high - right.value)
    above = np.hypot(left.high - left.value, right.value - right.low)
    return Estimate(value, value - below, value + above)


def ratio_estimate(numerator: Estimate, denominator: Estimate) -> Estimate:
    """numerator / denominator by MOVER (Donner and Zou 2012), for a numerator of any sign.

    A bound is the ratio R at which the MOVER interval of ``numerator - R * denominator`` just reaches 0. Which end of
    the denominator's interval that takes follows from the sign of R. NaN unless the denominator is above 0; unbounded
    above where the denominator's interval reaches 0.
    """
    x, y = numerator, denominator
    low = _ratio_bound(x.value, x.low, y, -1.0)
    high = _ratio_bound(x.value, x.high, y, +1.0)
    return Estimate(divided(x.value, y.value), low, high)


def overhead_estimate(measured: Estimate, comp: Estimate, comm: Estimate) -> Estimate:
    """`r_overhead` with its interval, from the medians of t_measured, t_comp_ref and t_comm_ref with theirs."""
    longer = Estimate(*(np.maximum(a, b) for a, b in zip(_parts(comp), _parts(comm), strict=True)))
    interval = ratio_estimate(difference_estimate(measured, longer), _shorter(comp, comm))
    value = r_overhead(measured.value, comp.value, comm.value)
    return Estimate(value, np.minimum(interval.low, value), np.maximum(interval.high, value))  # rounding apart


def overhead_of_repetitions(t_measured: ArrayLike, t_comp_ref: ArrayLike, t_comm_ref: ArrayLike) -> Estimate:
    """`r_overhead` with its interval, from the three times of each repetition, which lie over the last axis.

    What slows a whole repetition down, such as the rate of a clock, is in all three times and hardly in the ratio. The
    interval of `overhead_estimate`, which takes them for independent, is multiplied on each side by the root of
    Var(t_measured - longer - r shorter) over the sum of the three variances, by the rank correlations of the times.
    MOVER has the same term for two estimates (Zou and Donner 2008, section 2). It is half as wide where all three vary
    together, and covers the truth in 94 to 100 %; where one part is slow instead of others, it is half as wide again
    and covers in 97 %, where `overhead_estimate` does in 90 % (`tests/benchmarks/interval_trust.py`).
    """
    comp, comm = np.asarray(t_comp_ref, dtype=np.float64), np.asarray(t_comm_ref, dtype=np.float64)
    measured, of_comp, of_comm = (series_estimate(times) for times in (t_measured, comp, comm))
    found = overhead_estimate(measured, of_comp, of_comm)
    comm_is_longer = (of_comm.value > of_comp.value)[..., None]
    longer, shorter = np.where(comm_is_longer, comm, comp), np.where(comm_is_longer, comp, comm)
    terms = np.stack([np.asarray(t_measured, dtype=np.float64), -longer, -found.value[..., None] * shorter])
    of_terms, correlations = series_estimate(terms), _rank_correlations(terms)

    def factor(reaches: Floats) -> Floats:
        together = np.einsum("i...,ij...,j...->...", reaches, correlations, reaches)
        factor = np.sqrt(np.maximum(divided(together, (reaches**2).sum(axis=0)), 0))
        return np.where(np.isfinite(factor), factor, 1)

    low = found.value - (found.value - found.low) * factor(of_terms.value - of_terms.low)
    high = found.value + (found.high - found.value) * factor(of_terms.high - of_terms.value)
    return Estimate(found.value, low, high)


def _rank_correlations(terms: Floats) -> Floats:
    """Spearman's correlation of each of the series (i, …, n) with each other one: (i, j, …). 0 of a constant one.

    Correlations of two series are smaller by 1/n, so that none of few repetitions counts as perfect.
    """
    n = terms.shape[-1]
    ranks = _centred_ranks(*_in_order(terms))
    products = np.einsum("i...n,j...n->ij...", ranks, ranks)
    lengths = np.sqrt((ranks**2).sum(axis=-1))
    found = np.nan_to_num(divided(products, lengths[:, None] * lengths[None]))
    same = np.eye(len(terms)).reshape((len(terms),) * 2 + (1,) * (terms.ndim - 2))
    return np.asarray(np.where(same == 1, found, found * (1 - 1 / max(n, 1))))


def r_mpi_impact(t_comp_passive_mpi: ArrayLike, t_comp_ref: ArrayLike) -> Estimate:
    """MPI impact ratio, section 3.2.1, equation (2): computation beside an idle MPI library / without any.

    Both arguments hold one time per pair of launches, one with and one without MPI, measured one after the other. The
    launch is the unit: repetitions of one launch share its memory, its cores' state and whatever else ran then, and
    are not independent. The value is the geometric mean of the pairs' ratios, so that a slow drift of the machine,
    which the order A B B A puts once before and once behind, cancels; the 95 % interval is Student's of the mean of
    their logarithms. It assumes that those are independent and about normal, which medians of many repetitions are,
    and is wide with few pairs: 12.7 standard errors with 2, 2.6 with 6. NaN bounds with one pair, all NaN with none,
    or where a time is not above 0.
    """
    above = np.asarray(t_comp_passive_mpi, dtype=np.float64)
    below = np.asarray(t_comp_ref, dtype=np.float64)
    nothing = np.array(math.nan)
    if above.shape != below.shape or above.ndim != 1:
        raise ValueError(f"pairs of launches are needed, not {above.shape} and {below.shape}")
    if above.size == 0 or not (np.all(above > 0) and np.all(below > 0)):
        return Estimate(nothing, nothing, nothing)
    logarithms = np.log(above / below)
    mean = logarithms.mean()
    if logarithms.size == 1:
        return Estimate(np.exp(mean), nothing, nothing)
    error = logarithms.std(ddof=1) / math.sqrt(logarithms.size)
    reach = float(scipy.special.stdtrit(logarithms.size - 1, (1 + CONFIDENCE) / 2)) * error
    return Estimate(np.exp(mean), np.exp(mean - reach), np.exp(mean + reach))


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """An estimate times a known factor above 0."""
    return Estimate(*(factor * part for part in _parts(estimate)))


def exposed_estimate(outside: Estimate, comp: Estimate, comm: Estimate) -> Estimate:
    """The part of `r_overhead` spent outside the computation: 0 where all is hidden that can be, 1 where nothing is.

    `outside` is the median of t_measured - t_comp, t_comp that of the slowest rank in the same repetition. Even perfect
    overlap leaves exposed the part of the communication for which the computation is too short:
    (outside - max(t_comm_ref - t_comp_ref, 0)) / min(t_comp_ref, t_comm_ref). Above 1 exactly where `outside` is longer
    than the communication alone. Where, by its interval, the communication may be shorter than the computation, the
    unavoidable part may be 0. MOVER treats 0 as a bound that is rarely reached, but here 0 is often the truth: the
    upper end allows for it.
    """
    longer_by, shorter = difference_estimate(comm, comp), _shorter(comp, comm)
    unavoidable = Estimate(*(np.maximum(part, 0) for part in _parts(longer_by)))
    exposed = ratio_estimate(difference_estimate(outside, unavoidable), shorter)
    none_unavoidable = ratio_estimate(outside, shorter).high
    high = np.where(longer_by.low <= 0, np.maximum(exposed.high, none_unavoidable), exposed.high)
    return Estimate(exposed.value, exposed.low, high)


def interference_estimate(t_comp: Estimate, comp: Estimate, comm: Estimate) -> Estimate:
    """The part of `r_overhead` that the computation lost, (t_comp - t_comp_ref) / min(t_comp_ref, t_comm_ref).

    `t_comp` is the median of the slowest rank's computation in the overlapped repetitions. The sum of this and
    `exposed_estimate` is `r_overhead`, except that medians are not additive.
    """
    return ratio_estimate(difference_estimate(t_comp, comp), _shorter(comp, comm))


def reference_change(own: float, basic: float) -> float:
    """The change of a reference against that of `basic` on the same work: own / basic - 1; NaN where basic has none."""
    return own / basic - 1 if basic > 0 else math.nan


def _other_groups(groups: Sequence[int]) -> int:
    return len(groups) - 1


def _every_group(groups: Sequence[int]) -> int:
    return len(groups) if len(groups) > 1 else 0


def _ranks_outside_roots_group(groups: Sequence[int]) -> int:
    return sum(groups[1:])


def _ranks_times_other_groups(groups: Sequence[int]) -> int:
    return sum(groups) * (len(groups) - 1)


def _pairs_between_groups(groups: Sequence[int]) -> int:
    return sum(g * (sum(groups) - g) for g in groups)


def _twice_every_group(groups: Sequence[int]) -> int:
    return 2 * _every_group(groups)


# How many blocks cross between groups of ranks, by the collective's name without `i` and `_init`. The functions take
# the sizes of the groups, first that of rank 0's group.
_CROSSINGS: dict[str, Callable[[Sequence[int]], int]] = {
    "bcast": _other_groups,
    "gather": _ranks_outside_roots_group,
    "gatherv": _ranks_outside_roots_group,
    "scatter": _ranks_outside_roots_group,
    "scatterv": _ranks_outside_roots_group,
    "allgather": _ranks_times_other_groups,
    "allgatherv": _ranks_times_other_groups,
    "alltoall": _pairs_between_groups,
    "alltoallv": _pairs_between_groups,
    "alltoallw": _pairs_between_groups,
    "reduce": _other_groups,
    "allreduce": _every_group,
    "reduce_scatter_block": _ranks_times_other_groups,
    "reduce_scatter": _ranks_times_other_groups,
    "scan": _other_groups,
    "exscan": _other_groups,
    "neighbor_allgather": _every_group,
    "neighbor_allgatherv": _every_group,
    "neighbor_alltoall": _twice_every_group,
    "neighbor_alltoallv": _twice_every_group,
    "neighbor_alltoallw": _twice_every_group,
}
# Collectives with blocks of different sizes, of which it is not known which cross: each block is at least half of the
# mean. (In an Iallgatherv or an Ireduce_scatter all blocks cross, each as often as the others.)
_HALVES = {
    "gatherv", "scatterv", "alltoallv", "alltoallw",
    "neighbor_allgatherv", "neighbor_alltoallv", "neighbor_alltoallw",
}  # fmt: skip


def least_crossing_bytes(collective: str, message_bytes: int, groups: Sequence[int]) -> int:
    """A lower bound, in bytes, of what one call of a collective moves between groups of ranks, by any algorithm.

    `groups` holds the number of ranks in each group (one rank each where every message takes the network; one group per
    node otherwise); `message_bytes` is what one rank hands to the call, as the record schema has it. Every group but
    the root's takes in (Ibcast) or gives out (Ireduce) the whole buffer, every group gives it out (Iallreduce), each
    contribution reaches every other group (Iallgather), each block between groups crosses (Ialltoall), and that of a
    rank outside the root's group (Igather, Iscatter). In an Ireduce_scatter every group gives out what it adds to the
    blocks of the ranks outside. The last rank of an Iscan or Iexscan needs something of every other group. On the ring
    of the neighbourhood collectives every group gives out one contribution (Ineighbor_allgather) or, as a ring that
    leaves a group comes back, takes part in two edges, each of two blocks (Ineighbor_alltoall).
    The bound is 0 for Ibarrier and for unknown collectives.
    """
    name = collective.lower().removeprefix("mpi_")
    name = name.removesuffix("_init") if name.endswith("_init") else name.removeprefix("i")
    crossings = _CROSSINGS.get(name)
    if crossings is None:
        return 0
    return message_bytes * crossings(groups) // (2 if name in _HALVES else 1)


def _shorter(comp: Estimate, comm: Estimate) -> Estimate:
    return Estimate(*(np.minimum(a, b) for a, b in zip(_parts(comp), _parts(comm), strict=True)))


def _parts(estimate: Estimate) -> tuple[Floats, Floats, Floats]:
    return estimate.value, estimate.low, estimate.high


def divided(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Quotients; NaN where the denominator is not above 0."""
    x, y = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    return np.asarray(np.divide(x, y, out=np.full(np.broadcast(x, y).shape, np.nan), where=y > 0))


def _largest_over_ranks(ratios: Floats) -> Floats:
    largest = np.max(np.where(np.isnan(ratios), -np.inf, ratios), axis=-1)
    return np.where(np.isneginf(largest), np.nan, largest)


def _largest(ratios: Floats) -> float:
    known = ratios[np.isfinite(ratios)]
    return float(known.max()) if known.size else math.nan


def _ratio_bound(x: Floats, x_bound: Floats, y: Estimate, side: float) -> Floats:
    """The root R, below (side -1) or above (side 1) x / y, of (x - R y)^2 = (x - x_bound)^2 + R^2 d^2."""
    positive = np.asarray(x_bound) >= 0  # R has the sign of x_bound
    d = np.where(positive == (side < 0), y.high - y.value, y.value - y.low)
    a = x - x_bound
    root = np.sqrt(np.maximum(a**2 * y.value**2 + d**2 * x**2 - a**2 * d**2, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Two forms of one root: the one that adds numbers of one sign, so that nothing cancels.
        straight = (x * y.value + side * root) / (y.value**2 - d**2)
        inverse = (x**2 - a**2) / (x * y.value - side * root)
    bound = np.where(side * x >= 0, straight, inverse)
    unbounded = (positive == (side > 0)) & (y.low <= 0)
    return np.asarray(np.where(y.value > 0, np.where(unbounded, side * np.inf, bound), np.nan), dtype=np.float64)


def as_float(value: Any) -> float:
    """A NumPy scalar or 0-d array as a plain number."""
    return float(np.asarray(value))
