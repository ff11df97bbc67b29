"""When to stop repeating: this project's rule and those of other suites, asked of the very same recorded series.

A rule is a pure function of times in the order in which they were measured (nanoseconds) and of the place where it
begins. It returns the samples that it would have kept, and the place of the first sample that it would not have needed.

`adaptive` is the rule of the C programs (`benchmarks/common/sampling/series.h`, `stats.h`, the section "work" of
`timing_selfcheck`), written a second time: `tests/postprocess` compare both, function by function and on
records.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from postprocess.records.fields import Nanoseconds
from postprocess.statistics.metrics import as_float, median_estimate, median_interval_rank

ASKED_WIDTH = 0.02
"""The width that is asked of the 95 % interval of the median, relative to the median."""

FEWEST_FOR_WARMUP = 6
BELIEVED_DEVIATIONS = 2.0
OUTLIVED_PARTS = 4
LOOK_PARTS = 6
FEWEST_WITHOUT_EXTREMES = 9
BELIEVED_CONFIDENCE = 0.999
BELIEVED_WIDTHS = 2.0
MOST_REPETITIONS = 1000
"""The repetitions after which `timing_selfcheck --interval` stops, whether the interval is reached or not."""

OSU_REPETITIONS = {"small": (1000, 100), "large": (100, 10)}
"""OSU Micro-Benchmarks 7, collectives: timed and untimed repetitions of messages up to 8192 bytes, and above."""

PCOMM_REPETITIONS, PCOMM_WARMUPS = 150, 1
PCOMM_CONFIDENCE, PCOMM_HALF_WIDTH, PCOMM_RUNS = 0.90, 0.05, 50
"""bench-pcomm (Gillis et al. 2023, section 4): measured again while half the 90 % Student interval of the mean is more
than 5 % of it, 50 times at most."""


@dataclass(frozen=True)
class Stop:
    """What a rule did. ``end`` is the index after the last repetition that it needed, ``kept`` those it would report.

    ``reached``: the rule's own condition was met. ``estimate``: the rule's own, a median or a mean.
    """

    end: int
    kept: Nanoseconds
    reached: bool
    estimate: float

    @property
    def width_relative(self) -> float:
        """The width of the 95 % interval of the kept samples' median, relative to the median; NaN without interval."""
        median = median_estimate(self.kept)
        return as_float((median.high - median.low) / median.value) if as_float(median.value) > 0 else math.nan


Rule: TypeAlias = Callable[[Nanoseconds, int], "Stop | None"]
"""Takes times and where to begin. Returns None where the series ends before the rule does."""


def warmup_of(times: Nanoseconds) -> int:
    """How many leading samples are a transient, slower than what follows: `series_warmup` of series.h."""
    n = len(times)
    if n < FEWEST_FOR_WARMUP:
        return 0
    ordered = np.sort(times)
    below, upto = np.searchsorted(ordered, times, "left"), np.searchsorted(ordered, times, "right")
    ranks = (below + upto - n).astype(np.float64)  # twice the ranks, minus their mean
    squares_of_all = float((ranks**2).sum())
    cuts = np.arange(1, n // 2 + 1)
    sums = np.cumsum(ranks)[: n // 2]
    squares_left = squares_of_all - np.cumsum(ranks**2)[: n // 2]
    left = (n - cuts).astype(np.float64)
    spread = np.maximum(0, squares_left - sums * sums / left) / (left * left)
    c = cuts.astype(np.float64)
    variance = squares_of_all / (n - 1) * (1 - c / n) / c
    believed = sums / c >= BELIEVED_DEVIATIONS * np.sqrt(variance)
    believed[0] |= bool(times[0] == ordered[-1] > ordered[-2])
    better: NDArray[np.bool_] = believed & (spread < squares_of_all / (float(n) * float(n)))
    return int(cuts[np.argmin(np.where(better, spread, np.inf))]) if better.any() else 0


def warmup_matters(times: Nanoseconds, warmup: int, by_relative: float) -> bool:
    """Whether the first `warmup` samples are slower than the others, in the median: `warmup_matters` of samples.c."""
    return bool(_median(times[:warmup]) > _median(times[warmup:]) * (1 + by_relative)) if warmup > 0 else False


def _median(times: Nanoseconds) -> int:
    ordered = np.sort(times)
    lower, upper = int(ordered[(len(times) - 1) // 2]), int(ordered[len(times) // 2])
    return lower + (upper - lower) // 2


def outlived(count: int, warmup: int) -> bool:
    """Whether enough samples follow a warm-up to believe that its end was seen: `series_outlived` of series.h."""
    return warmup <= count // OUTLIVED_PARTS


def looks(most: int, fewest: int = FEWEST_WITHOUT_EXTREMES) -> Iterator[int]:
    """Yield the numbers of samples, up to `most`, at which the interval is looked at: `series_look` of series.h."""
    look = max(1, fewest)
    while look <= most:
        yield look
        look += 1 if look < LOOK_PARTS else look // LOOK_PARTS


def settled(times: Nanoseconds, asked_relative: float) -> bool:
    """Whether the interval is narrow, and may be believed to be: `stats_settled` of stats.h."""
    n = len(times)
    k = median_interval_rank(n)
    if k is None:
        return False
    ordered, median = np.sort(times), _median(times)
    if median <= 0 or float(ordered[n - 1 - k] - ordered[k]) / median > asked_relative:
        return False
    cautious = median_interval_rank(n, BELIEVED_CONFIDENCE) or 0
    return float(ordered[n - 1 - cautious] - ordered[cautious]) <= BELIEVED_WIDTHS * asked_relative * median


def adaptive(
    times: Nanoseconds, begin: int = 0, asked_relative: float = ASKED_WIDTH, most: int = MOST_REPETITIONS
) -> Stop | None:
    """The rule of this project: until the 95 % interval of the median is narrow, or `most` samples are kept.

    At a few numbers of samples (`looks`) it finds the warm-up, and stops if enough samples have followed it and what
    follows it is `settled`. From `most` samples on it looks after every sample, since a warm-up may have to be made up
    for. A warm-up counts only if it is slower by half the asked width. The estimate is the median.
    """
    series = times[begin:]
    at_looks = set(looks(len(series)))
    for count in range(FEWEST_WITHOUT_EXTREMES, len(series) + 1):
        if count < most and count not in at_looks:
            continue
        warmup = warmup_of(series[:count])
        warmup = warmup if warmup_matters(series[:count], warmup, asked_relative / 2) else 0
        kept = series[warmup:count]
        enough = len(kept) >= FEWEST_WITHOUT_EXTREMES
        reached = enough and outlived(count, warmup) and settled(kept, asked_relative)
        if reached or (enough and len(kept) >= most):
            return Stop(begin + count, kept, reached, float(np.median(kept)))
    return None


def fixed(times: Nanoseconds, begin: int, repetitions: int, warmups: int) -> Stop | None:
    """A fixed number of repetitions after a fixed number of warm-ups. The estimate is the mean."""
    end = begin + warmups + repetitions
    if end > len(times):
        return None
    kept = times[begin + warmups : end]
    return Stop(end, kept, True, float(kept.mean()))


def rerun(times: Nanoseconds, begin: int = 0) -> Stop | None:
    """The rule of bench-pcomm: the whole measurement again, until the Student interval of its mean is narrow.

    The estimate is the mean of the last measurement; the ones before are thrown away.
    """
    quantile = float(scipy.special.stdtrit(PCOMM_REPETITIONS - 1, (1 + PCOMM_CONFIDENCE) / 2))
    stop = None
    for _ in range(PCOMM_RUNS):
        stop = fixed(times, begin, PCOMM_REPETITIONS, PCOMM_WARMUPS)
        if stop is None:
            return None
        half = quantile * float(stop.kept.std(ddof=1)) / math.sqrt(PCOMM_REPETITIONS)
        if half <= PCOMM_HALF_WIDTH * stop.estimate:
            return stop
        begin = stop.end
    return stop and Stop(stop.end, stop.kept, False, stop.estimate)


ADAPTIVE, FIXED_1000, FIXED_100, RERUN = NAMES = ("adaptive", "1000 fixed", "100 fixed", "rerun until 5 %")

RULES: dict[str, Rule] = {
    ADAPTIVE: adaptive,
    FIXED_1000: lambda times, begin: fixed(times, begin, *OSU_REPETITIONS["small"]),
    FIXED_100: lambda times, begin: fixed(times, begin, *OSU_REPETITIONS["large"]),
    RERUN: rerun,
}
LONGEST = sum(OSU_REPETITIONS["small"])
"""The repetitions within which the fixed rules end, and nearly always the other rules."""


def begins(count: int) -> Sequence[int]:
    """The places where rules begin in a series of `count` samples: LONGEST apart, from 1 on.

    The first sample is left out, because its start is not known.
    """
    return range(1, count - LONGEST + 1, LONGEST)
