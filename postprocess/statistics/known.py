"""What earlier runs of a system tell of how much its launches differ: pure functions on NumPy arrays.

From one launch on each side nobody knows how much they differ by chance. Earlier runs of the same system tell it:

1. The variance between launches of a case is that of all its runs, moderated by that of the other cases of its family
   (`effects.common_spread`, Smyth 2004): a random effect by case, shrunk to its family.
2. The next run is not like the average one: it may be noisier, and launches have outliers. So each run is held against
   what the others foretell (in FOLDS parts at most): the distance of a launch to the others of its run, over the scale
   that the other runs give its case. Student's t is fitted to the outer quantiles, each part with the same weight: its
   tail is as heavy as what was seen, whatever the middle looks like.
3. Its degrees of freedom are at most those of the launches of all runs but one, where each run counts once, however
   many cases it has (as blocks do in `effects`). With few runs the tail is long for that reason alone.

Nothing is known from fewer than FEWEST_RUNS. A family without earlier runs does not learn from others: logarithms of
times, shares and ratios of several programs do not vary alike.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from postprocess.statistics.effects import Integers, Known, common_spread, moderated_variance
from postprocess.statistics.metrics import Floats

FEWEST_RUNS = 3
"""The fewest runs that tell how much the next one may be unlike them."""
FOLDS = 10
INNER, OUTER = 0.90, (0.98, 0.99, 0.995)
"""The quantiles of distances to which Student's t is fitted: the inner one, and of the outer ones the one with the
heaviest tail."""
POINTS = 200
"""The quantiles that stand for the distances of a part."""
MEDIAN_OVER_MEAN = math.pi / 2
"""The variance of the median of many normal values over that of their mean: no less than that of few."""
FREEDOM = (1.0, 100.0)
"""The least and the most degrees of freedom."""


@dataclass(frozen=True)
class _Values:
    """Launches of groups with several, those of a group side by side: arrays of one length.

    squares, freedom: of each launch its part of its group's sum of squares and degrees of freedom.  apart: its distance
    to the median of the others of its group, over what that is of a standard deviation.
    """

    case: Integers
    run: Integers
    group: Integers
    squares: Floats
    freedom: Floats
    apart: Floats


def known(case: ArrayLike, run: ArrayLike, group: ArrayLike, value: ArrayLike, cases: int) -> Known:
    """What launches of earlier runs tell of each case, numbered from 0 to cases - 1.

    case: the number of each launch's case; those of other cases of the family are `cases` and more.  run: the number of
    its run, in the order of time.  group: launches of a group differ in nothing that is known of. Where runs are the
    unit, a group has a value of each run.  value: the launch's median, of a scale on which differences are of interest.
    """
    case, run, group = (np.asarray(part, np.int64) for part in (case, run, group))
    values = _values(case, run, group, np.asarray(value, np.float64))
    runs, number = np.unique(values.run, return_inverse=True)
    total = max(int(values.case.max(initial=-1)) + 1, cases)
    nothing = Known(np.full(cases, math.nan), np.zeros(cases), runs.size)
    if runs.size < FEWEST_RUNS:
        return nothing
    fold = number * min(FOLDS, runs.size) // runs.size
    points = []
    for held in (fold == one for one in range(fold.max() + 1)):
        with np.errstate(divide="ignore", invalid="ignore"):  # of launches that do not differ at all
            over = values.apart[held] / _scales(values, ~held, total)[values.case[held]]
        if np.isfinite(over).any():
            points.append(np.nanquantile(over, (np.arange(POINTS) + 0.5) / POINTS))
    of_run = np.zeros(runs.size)
    its_runs, its = np.unique(number + runs.size * values.group, return_inverse=True)
    np.maximum.at(of_run, its_runs % runs.size, np.bincount(its, values.freedom))
    scale = _scales(values, np.ones(number.size, bool), total)[:cases]
    if not points or not np.isfinite(scale).any() or (most := float(of_run.sum() - of_run.max())) < 1:
        return nothing
    inner, *outer = np.quantile(np.concatenate(points), (INNER, *OUTER))
    freedom = min(*(tail_freedom(float(of / inner), place) for of, place in zip(outer, OUTER, strict=True)), most)
    width = float(inner / scipy.special.stdtrit(freedom, (1 + INNER) / 2))
    return Known((width * scale) ** 2, np.where(np.isfinite(scale), freedom, 0.0), runs.size)


def tail_freedom(ratio: float, outer: float) -> float:
    """The degrees of freedom, within FREEDOM, of the Student's t whose absolute value has this ratio of its quantile
    `outer` to the quantile INNER."""

    def beyond(freedom: float) -> float:
        near, far = scipy.special.stdtrit(freedom, (1 + np.array([INNER, outer])) / 2)
        return float(far / near) - ratio

    least, most = FREEDOM
    if not beyond(least) > 0:
        return least
    return most if beyond(most) >= 0 else float(scipy.optimize.brentq(beyond, least, most))


def _values(case: Integers, run: Integers, group: Integers, value: Floats) -> _Values:
    order = np.lexsort((value, group))
    case, run, value = case[order], run[order], value[order]
    _, first, its, size = np.unique(group[order], return_index=True, return_inverse=True, return_counts=True)
    n, begin = size[its], first[its]
    mean = np.bincount(its, value, size.size) / size
    several, others = n > 1, np.maximum(n - 1, 1)
    low, high = (
        value[np.minimum(begin + middle + (begin + middle >= np.arange(its.size)), its.size - 1)]
        for middle in ((others - 1) // 2, others // 2)
    )
    of_median = np.where(others > 2, MEDIAN_OVER_MEAN, 1.0) / others
    apart = np.abs(value - (low + high) / 2) / np.sqrt(1 + of_median)
    return _Values(
        case[several],
        run[several],
        its[several],
        ((value - mean[its]) ** 2)[several],
        (1 - 1 / n)[several],
        apart[several],
    )


def _scales(values: _Values, used: NDArray[np.bool_], cases: int) -> Floats:
    """The standard deviation between launches of each case that those used foretell; NaN where they do not."""
    squares, freedom = (np.bincount(values.case[used], part[used], cases) for part in (values.squares, values.freedom))
    spread = common_spread(squares / np.maximum(freedom, 1e-9), freedom)
    return np.sqrt(moderated_variance(squares, freedom, spread.variance, spread.freedom))


def least_found(known: Known, launches: int, share: float, rate: float) -> float:
    """The least effect that is found in this share of the cases, with so many launches on each side, if this share of
    the cases has it; NaN where nothing is known.

    rate: the false-discovery rate. An effect is found where its p-value is at most the rate times the share (Benjamini
    and Hochberg).
    """
    told = known.freedom > 0
    if not told.any():
        return math.nan
    error, freedom = np.sqrt(2 * known.variance[told] / launches), known.freedom[told] + 2 * (launches - 1)
    needed = scipy.special.stdtrit(freedom, 1 - rate * share / 2)

    def lacking(effect: float) -> float:
        return float(scipy.special.stdtr(freedom, effect / error - needed).mean()) - share

    most = float((error * (needed + scipy.special.stdtrit(freedom, (1 + share) / 2))).max())
    return float(scipy.optimize.brentq(lacking, 0.0, most)) if lacking(most) > 0 else most
