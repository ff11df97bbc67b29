"""Launches of two sides at an equal value of another quantity: analysis of covariance (Cochran 1957, "Analysis of
covariance: its nature and uses", doi:10.2307/2527916).

The cores of a machine are not equally fast in all launches. A quantity of the same launch that the sides cannot change,
the covariate, tells how fast they were: a computation without any call of MPI, beside no thread of the library. What
follows it within each side is taken out of the values before the sides are compared.
"""

import numpy as np
import scipy

from postprocess.statistics.effects import Integers
from postprocess.statistics.metrics import CONFIDENCE, Floats, divided

FEWEST_FREEDOM = 40
"""The fewest degrees of freedom for a slope. With fewer, its error makes intervals too narrow: of those with 32, 92 %
hold a planted truth, of those with 40 94 %."""
FEWEST_DECIDING = 5
"""The fewest launches of equal weight that would tell the slope as well. With fewer, a single slow launch decides it,
and explains itself."""


def at_equal(
    value: Floats,
    covariate: Floats,
    case: Integers,
    side: Integers,
    block: Integers,
    occasion: Integers,
    pair: Integers | None = None,
) -> Floats:
    """The values, each as it would be with the mean of both sides' covariate in its case; unchanged where that is not
    known.

    All arrays are in the order of the launches. Value and covariate are on scales on which one follows the other in
    proportion.  block: the same launches measured all cases of a block, and count once.  occasion: the number of the
    launch; launches of both sides with the same one were measured beside each other.  pair: of which pair of sides the
    launch is; all are of one by default.

    One slope serves all cases: that of the residuals within case and side. Nothing changes where too few launches tell
    it, nor in a pair where the covariate itself differs between the sides: then it is a part of what is compared.
    """
    cases = int(case.max(initial=-1)) + 1
    finite = np.isfinite(covariate) & np.isfinite(value)
    count = np.bincount(2 * case[finite] + side[finite], minlength=2 * cases).reshape(-1, 2)
    complete = (count > 0).all(axis=1) & (np.bincount(case, ~finite, cases) == 0)
    used = complete[case]
    if not used.any():
        return value
    group = 2 * case[used] + side[used]
    means = [divided(np.bincount(group, one[used], 2 * cases), count.ravel()) for one in (value, covariate)]
    of_value, of_covariate = (one[used] - mean[group] for one, mean in zip((value, covariate), means, strict=True))
    centre = means[1].reshape(-1, 2).mean(axis=1)[case[used]]
    apart = covariate[used] - centre
    pairs = np.zeros(value.size, np.int64) if pair is None else pair
    of_all = np.unique(pairs[used])
    times = 1 + (of_all.size > 1)  # of neighbours in a series most are in two pairs
    if not _is_known(of_covariate, block[used], side[used], occasion[used], times):
        return value
    for one in of_all:
        mine = used & (pairs == one)
        if _differs(apart[mine[used]], block[mine], side[mine], occasion[mine], of_all.size):
            apart[mine[used]] = 0.0
    slope = float(np.sum(of_value * of_covariate)) / float(np.sum(of_covariate**2))
    adjusted: Floats = value.copy()
    adjusted[used] -= slope * apart
    return adjusted


def _is_known(residual: Floats, block: Integers, side: Integers, occasion: Integers, times: int) -> bool:
    """Whether enough launches tell a slope, by the mean residual of the covariate of each in a block.  times: how often
    a launch is among them."""
    launches, place = np.unique(np.column_stack([block, side, occasion]), axis=0, return_inverse=True)
    of_launch = divided(np.bincount(place.ravel(), residual), np.bincount(place.ravel()))
    freedom = (len(launches) - len(np.unique(launches[:, :2], axis=0))) / times
    squares, fourth = float(np.sum(of_launch**2)), float(np.sum(of_launch**4))
    return freedom >= FEWEST_FREEDOM and fourth > 0 and squares**2 / fourth >= times * FEWEST_DECIDING


def _differs(apart: Floats, block: Integers, side: Integers, occasion: Integers, tests: int) -> bool:
    """Whether the covariate differs between sides, by Student's test of each block's difference on each occasion, one
    of so many tests."""
    names, place = np.unique(np.column_stack([block, occasion]), axis=0, return_inverse=True)
    name = 2 * place.ravel() + side
    count, total = (np.bincount(name, one, 2 * len(names)).reshape(-1, 2) for one in (None, apart))
    both = (count > 0).all(axis=1)
    differences = np.diff(total[both] / count[both]).ravel()
    if differences.size < 2:
        return True
    error = float(differences.std(ddof=1)) / np.sqrt(differences.size)
    reach = float(scipy.special.stdtrit(differences.size - 1, 1 - (1 - CONFIDENCE) / 2 / tests)) * error
    return bool(abs(differences.mean()) > reach)
