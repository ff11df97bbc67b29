"""What a collective leaves of the CPU (Hoefler et al. 2006, section 3). Nothing is clamped.

Times of one call or of one batch of calls are in one unit; shares have none. NaN where the wall time is not above 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from postprocess.statistics.metrics import Estimate, Floats, as_float, scaled


def cpu_share(t_cpu: ArrayLike, t_wall: ArrayLike) -> Floats:
    """CPU time relative to wall time: 1 where one thread polls all the time, above 1 where several threads compute."""
    cpu, wall = np.asarray(t_cpu, dtype=np.float64), np.asarray(t_wall, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(wall > 0, cpu / wall, np.nan)


def idle_share(t_cpu: ArrayLike, t_wall: ArrayLike) -> Floats:
    """The share of the time of a call in which one CPU is idle, the y axis of figure 1 from above: 1 - `cpu_share`."""
    return 1 - cpu_share(t_cpu, t_wall)


def idle_time(t_cpu: ArrayLike, t_wall: ArrayLike) -> Floats:
    """The time of a call in which one CPU is idle (figures 2 and 3), in the unit of its arguments."""
    return np.asarray(t_wall, dtype=np.float64) - np.asarray(t_cpu, dtype=np.float64)


def ticks_of(time_ns: float, tick_ns: float) -> int:
    """How often the kernel looked during a time; 0 where it does not tell."""
    return round(time_ns / tick_ns) if tick_ns > 0 and time_ns > 0 else 0


def tick_share(of_ns: float, rest_ns: float, tick_ns: float) -> Estimate:
    """The share of a CPU time that the kernel counted as one of two kinds, with its 95 % interval.

    of_ns, rest_ns: the time counted as that kind, such as user, and as the other kind, such as system. The kernel
    divides a CPU time by what it saw at the ticks of its clock: a sample of time / tick_ns ticks. The interval is that
    of `binomial_share`. It contains the share also where that is above 1 or below 0, because
    ticks were counted beyond the ends of a time. All NaN without a tick.
    """
    total = of_ns + rest_ns
    ticks = ticks_of(total, tick_ns)
    if ticks < 1:
        return Estimate(np.float64(math.nan), np.float64(math.nan), np.float64(math.nan))
    share = of_ns / total
    binomial = binomial_share(min(max(round(share * ticks), 0), ticks), ticks)
    return Estimate(np.float64(share), np.minimum(binomial.low, share), np.maximum(binomial.high, share))


def binomial_share(found: float, of: float) -> Estimate:
    """The share `found` / `of`, with its 95 % interval (Clopper and Pearson). `of` is above 0."""
    low = float(scipy.special.betaincinv(found, of - found + 1, 0.025)) if found > 0 else 0.0
    high = float(scipy.special.betaincinv(found + 1, of - found, 0.975)) if found < of else 1.0
    return Estimate(np.float64(found / of), np.float64(low), np.float64(high))


def average_of_tick_shares(shares: Floats, wholes: Floats, ticks: Floats) -> Estimate:
    """The average of several shares that were divided by ticks, with its 95 % interval.

    shares, wholes, ticks: arrays of one element or more; `ticks` says how often the kernel looked to find the share in
    its whole. What the ticks of one share have missed says nothing about another. So the average is a share of as many
    ticks as give it the variance that it has, and the interval is that of `binomial_share` with those (Korn, Graubard
    1998, "Confidence intervals for proportions with small expected number of positive counts estimated from survey
    data"). NaN where an element is NaN, and without ticks.
    """
    weights = wholes / wholes.sum()
    with np.errstate(divide="ignore"):
        effective = 1 / np.sum(weights**2 / ticks)
    share = float(shares.sum() / wholes.sum())
    if not (math.isfinite(share) and effective > 0):
        return Estimate(np.float64(math.nan), np.float64(math.nan), np.float64(math.nan))
    return scaled(binomial_share(share * effective, effective), float(wholes.mean()))


GROWTH_LIMIT = 1.05
"""A collective with work beside it takes as long as without, as far as this factor."""


@dataclass(frozen=True)
class Step:
    """A step of the search for the work that fits beside an open collective.

    work: the time of the work, relative to that of the collective alone.
    growth: the time of both together, relative to that of the collective alone.
    """

    work: Estimate
    growth: Estimate


def availability(steps: Sequence[Step]) -> Estimate:
    """How much of a collective's time an application can compute: the knee of its time over the work beside it.

    As the availability of Sandia's mpi_overhead (Lawry et al. 2002, COMB), for collectives and with an interval. The
    work of a step fits where the interval of its growth ends below `GROWTH_LIMIT`, and does not fit where it begins
    above. The interval of the knee reaches from the largest work that fits, below all that do not fit, to the smallest
    that does not fit; its value is the middle. Without work every collective has its own time, so the lower end is at
    least 0. All NaN without steps; the value and the upper end are NaN where no step is known not to fit.
    """
    known = [step for step in steps if math.isfinite(as_float(step.growth.low))]
    if not known:
        return Estimate(np.float64(math.nan), np.float64(math.nan), np.float64(math.nan))
    too_much = [as_float(step.work.high) for step in known if as_float(step.growth.low) > GROWTH_LIMIT]
    high = min(too_much, default=math.nan)
    fits = [as_float(step.work.low) for step in known if as_float(step.growth.high) <= GROWTH_LIMIT]
    low = max((work for work in fits if not work >= high), default=0.0)
    return Estimate(np.float64((low + high) / 2), np.float64(low), np.float64(high))
