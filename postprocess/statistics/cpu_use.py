"""What a blocking call leaves of the CPU (Hoefler et al. 2006, section 3), elementwise. Nothing is clamped.

Times of one call or of one batch of calls are in one unit; shares have none. NaN where the wall time is not above 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from postprocess.statistics.metrics import Floats


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
