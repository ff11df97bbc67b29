"""The control of a comparison: a thing measured against itself, in the same way as the things that are compared. Its
ratio is 1 in truth, so its interval says how far the other ratios can be trusted. Pure functions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from postprocess.statistics.metrics import CONFIDENCE, Estimate, as_float, ratio_estimate, series_estimate

FASTER, SLOWER, CANNOT_TELL = "faster", "slower", "cannot tell"
_TAIL = 0.05
"""How seldom more intervals exclude 1 than `Count.limit`, where each does so with the probability that it may."""


def off_by(control: Estimate) -> float:
    """The factor by which a ratio may be off: 1 where the control's interval has 1 in it, else that of its far end;
    infinite where there is no interval."""
    low, high = as_float(control.low), as_float(control.high)
    if not (math.isfinite(low) and math.isfinite(high)):
        return math.inf
    return 1.0 if low <= 1 <= high else max(1 / low, high)


def widened(ratio: Estimate, factor: float) -> Estimate:
    """The ratio with both ends of its interval moved outwards by this factor, of `off_by`."""
    return Estimate(ratio.value, np.float64(as_float(ratio.low) / factor), np.float64(as_float(ratio.high) * factor))


def by_order(times: ArrayLike, order: ArrayLike, part: int) -> Estimate:
    """A part's time after the part of the number before it, by its time before that part. 1 where it finds the same,
    whatever ran before it.

    times: a value per repetition, > 0.  order: likewise, in which order the parts ran: a decimal digit each, from 1.
    part: the number of the part that the times are of; the part before the first one is the last.
    """
    values = np.asarray(times, dtype=np.float64)
    orders, place = np.unique(np.asarray(order), return_inverse=True)
    texts = [str(int(one)) for one in orders]
    other = str(part - 1 or len(texts[0]))
    after = np.array([one.index(other) < one.index(str(part)) for one in texts])[place]
    return ratio_estimate(series_estimate(values[after]), series_estimate(values[~after]))


def verdict(estimate: Estimate) -> str:
    """`faster`, `slower` or `cannot tell`, from the interval of a ratio."""
    low, high = as_float(estimate.low), as_float(estimate.high)
    return FASTER if high < 1 else SLOWER if low > 1 else CANNOT_TELL


@dataclass(frozen=True)
class Count:
    """How many of `controls` intervals exclude 1. Of 95 % intervals at most 5 % may."""

    excluding: int
    controls: int

    @property
    def limit(self) -> int:
        """The most that chance explains: so many or fewer, with a probability of 95 %, where 5 % may exclude 1 and the
        controls are independent."""
        return int(stats.binom.ppf(1 - _TAIL, self.controls, 1 - CONFIDENCE)) if self.controls else 0

    @property
    def words(self) -> str:
        """The count for a reader; empty without controls."""
        if not self.controls:
            return ""
        return (
            f"control: {self.excluding} of {self.controls} intervals exclude 1; binomial limit {self.limit} at 5 %"
            f"{': more than chance explains' if self.excluding > self.limit else ''}"
        )


def count(intervals: Iterable[tuple[float, float]]) -> Count:
    """The count of these controls, each the ends of an interval. One without an interval does not count."""
    known = [(low, high) for low, high in intervals if math.isfinite(low) and math.isfinite(high)]
    return Count(sum(not low <= 1 <= high for low, high in known), len(known))
