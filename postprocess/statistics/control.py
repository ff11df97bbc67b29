"""The control of a comparison: a thing measured against itself, in the same way as the things that are compared. Its
ratio is 1 in truth, so its interval says how far the other ratios can be trusted. Pure functions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy
from numpy.typing import ArrayLike

from postprocess.statistics.metrics import CONFIDENCE, Estimate, Floats, as_float, ratio_estimate, series_estimate

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


def count_by_order(parts: Iterable[tuple[ArrayLike, ArrayLike, int]]) -> "Count":
    """The count of the times of parts directly after the part of the number before theirs, by their times elsewhere,
    which are 1 where a part finds the same, whatever ran before it. Parts of equal lengths at once, which takes less
    time.

    parts: of each part its times, a value per repetition, > 0; likewise in which order the parts ran, a decimal digit
    each, from 1 (the first of them also ended the repetition before, turns.h); and its number; the part before the
    first one is the last.
    """
    parted: dict[tuple[int, int], list[tuple[Floats, Floats]]] = {}
    for times, order, part in parts:
        after, before = _parted(times, order, part)
        parted.setdefault((after.size, before.size), []).append((after, before))
    found = (
        ratio_estimate(*(series_estimate(np.array(side)) for side in zip(*same, strict=True)))
        for same in parted.values()
    )
    return count(interval for one in found for interval in zip(one.low.tolist(), one.high.tolist(), strict=True))


def count_by_halves(series: Iterable[ArrayLike]) -> "Count":
    """The count of the ratios of the second half of each series to its first half, which are 1 where nothing drifts."""
    halves = [np.array_split(np.asarray(times, dtype=np.float64), 2) for times in series]
    found = [ratio_estimate(series_estimate(second), series_estimate(first)) for first, second in halves]
    return count((as_float(one.low), as_float(one.high)) for one in found)


def _parted(times: ArrayLike, order: ArrayLike, part: int) -> tuple[Floats, Floats]:
    """The times directly after the part of the number before it, and the others."""
    values = np.asarray(times, dtype=np.float64)
    after = np.array([_is_after(one, part) for one in np.asarray(order).tolist()], dtype=bool)
    return values[after], values[~after]


@cache
def _is_after(order: int, part: int) -> bool:
    digits = str(order)
    return digits.index(str(part - 1 or len(digits))) + 1 == digits.index(str(part))


def verdict(estimate: Estimate) -> str:
    """`faster`, `slower` or `cannot tell`, from the interval of a ratio."""
    low, high = as_float(estimate.low), as_float(estimate.high)
    return FASTER if high < 1 else SLOWER if low > 1 else CANNOT_TELL


@dataclass(frozen=True)
class Count:
    """How many of `controls` intervals exclude 1. Of 95 % intervals at most 5 % may.  unknown: controls without an
    interval, of too few repetitions."""

    excluding: int
    controls: int
    unknown: int = 0

    @property
    def limit(self) -> int:
        """The most that chance explains: so many or fewer, with a probability of 95 %, where 5 % may exclude 1 and the
        controls are independent."""
        share, missed = 1 - _TAIL, 1 - CONFIDENCE
        most = math.ceil(scipy.special.bdtrik(share, self.controls, missed)) if self.controls else 0
        return most - int(most > 0 and scipy.special.bdtr(most - 1, self.controls, missed) >= share)

    @property
    def words(self) -> str:
        """The count for a reader; empty without controls."""
        if not self.controls:
            return f"control: none of {self.unknown} has repetitions enough for an interval" if self.unknown else ""
        return (
            f"control: {self.excluding} of {self.controls} intervals exclude 1; binomial limit {self.limit} at 5 %"
            f"{': more than chance explains' if self.excluding > self.limit else ''}"
            f"{f'; {self.unknown} without an interval, of too few repetitions' if self.unknown else ''}"
        )


def count(intervals: Iterable[tuple[float, float]]) -> Count:
    """The count of these controls, each the ends of an interval."""
    every = list(intervals)
    known = [(low, high) for low, high in every if math.isfinite(low) and math.isfinite(high)]
    return Count(sum(not low <= 1 <= high for low, high in known), len(known), len(every) - len(known))
