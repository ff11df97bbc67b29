"""Whether the reference stood still: every version of the solver is timed beside solves of its own without overlap.

These are the same solves for all versions of a launch but `nothing`, so they must take equally long. Where they do not,
the machine changed meanwhile. Two changes are told apart.

between versions    The reference of one version is surely slower than that of another by more than the least
                    difference that matters (3 %). "Surely" rests on intervals that hold for all versions of the launch
                    at once (C. E. Bonferroni 1936). What each version brings stands, since it is made within
                    repetitions, of solves side by side. Which version brings most does not: they were measured in
                    different states.
within a point      The same of the later half of a point's repetitions beside the earlier half. A drift or a jump of
                    the reference alone spoils nothing but its median. Where the improvement differs surely by more than
                    3 % between the halves, the point was measured in two states, and its median is that of neither.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from postprocess.families.transfer_overlap.axes import NOTHING
from postprocess.families.transfer_overlap.record import TransferPoint
from postprocess.statistics.limits import LEAST_RATIO
from postprocess.statistics.metrics import CONFIDENCE, MIN_REPETITIONS, Estimate, Floats, as_float, series_estimate

_OF_HALF = 1 - (1 - CONFIDENCE) / 2
"""The confidence of the median of each half, so that both hold at once."""


@dataclass(frozen=True)
class Between:
    """The references of the versions of a launch on one system, in ns.

    fastest, slowest: the shortest and the longest of their medians; NaN with fewer than two references.
    slower: the versions, by their indices, whose reference is surely slower than the fastest one.
    """

    fastest: float
    slowest: float
    slower: frozenset[int]

    @property
    def drifts(self) -> bool:
        """Whether the references surely differ."""
        return bool(self.slower)


def between_versions(points: Sequence[TransferPoint]) -> Between:
    """Whether the references of points of one system agree. Points with too few repetitions do not count."""
    alike = [point for point in points if point.variant != NOTHING and point.t_nonoverlap_ns.size >= MIN_REPETITIONS]
    if len(alike) < 2:
        return Between(math.nan, math.nan, frozenset())
    confidence = 1 - (1 - CONFIDENCE) / len(alike)
    found = {point.index: series_estimate(point.t_nonoverlap_ns, confidence) for point in alike}
    medians = [as_float(one.value) for one in found.values()]
    highs = [as_float(one.high) for one in found.values()]
    fastest = min((high for high in highs if math.isfinite(high)), default=math.nan)
    slower = frozenset(index for index, one in found.items() if as_float(one.low) > (1 + LEAST_RATIO) * fastest)
    return Between(min(medians), max(medians), slower)


def change_of_times(times: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Estimate:
    """By how much the later half of the repetitions is slower than the earlier one, relative; NaN for too few."""
    earlier, later = _halves(times.astype(np.float64))
    return Estimate(later.value / earlier.value - 1, later.low / earlier.high - 1, later.high / earlier.low - 1)


def change_of_ratio(values: Floats) -> Estimate:
    """By how much a ratio is larger in the later half of the repetitions than in the earlier one; NaN for too few."""
    earlier, later = _halves(values)
    return Estimate(later.value - earlier.value, later.low - earlier.high, later.high - earlier.low)


def is_sure(change: Estimate) -> bool:
    """Whether a change is surely larger than the least difference that matters, upwards or downwards."""
    return as_float(change.low) > LEAST_RATIO or as_float(change.high) < -LEAST_RATIO


def _halves(values: Floats) -> tuple[Estimate, Estimate]:
    """The medians of the earlier and of the later half, with intervals that hold at once."""
    half = values.size // 2
    if half < MIN_REPETITIONS:
        unknown = series_estimate([])
        return unknown, unknown
    return series_estimate(values[:half], _OF_HALF), series_estimate(values[-half:], _OF_HALF)
