"""Whether programming for overlap pays: J. B. White III and S. W. Bova, "Where's the Overlap? An Analysis of Popular
MPI Implementations", 1999, section III.

Pure functions on numbers and NumPy arrays, elementwise; nothing here knows of records. Times have any unit, the same
for all arguments. Nothing is clamped. NaN gives NaN, and so does a denominator that is not above 0.
"""

import numpy as np
from numpy.typing import ArrayLike

from postprocess.statistics.metrics import Estimate, Floats, divided, ratio_estimate


def improvement(t_nonoverlap: ArrayLike, t_overlap: ArrayLike) -> Floats:
    """(t_nonoverlap - t_overlap) / t_nonoverlap: above 0, the overlap version is faster.

    The equation of section III.B has the opposite sign. Tables I and II of the paper have this one: 55.61 s and 14.85 s
    give the 73.3 % that table II prints. Its other rows print 4.1 % and -0.4 % for times that give 4.8 % and -0.5 %.
    """
    before, after = np.asarray(t_nonoverlap, np.float64), np.asarray(t_overlap, np.float64)
    return divided(before - after, before)


def improvement_estimate(t_nonoverlap: Estimate, t_overlap: Estimate) -> Estimate:
    """The improvement with its interval, from the medians of both times, which are of different repetitions."""
    left = ratio_estimate(t_overlap, t_nonoverlap)
    return Estimate(1 - left.value, 1 - left.high, 1 - left.low)


def improvement_bound(t_comm: ArrayLike, t_comp: ArrayLike) -> Floats:
    """min(t_comm, t_comp) / (t_comm + t_comp): the improvement of perfect overlap, at most 1/2.

    Section III.A has the limit of 1/2, for communication and computation that take equally long. An improvement above
    the bound shows that the version without overlap does worse than to add up both times.
    """
    comm, comp = np.asarray(t_comm, np.float64), np.asarray(t_comp, np.float64)
    return divided(np.minimum(comm, comp), comm + comp)


def parts_of_whole(t_comm: ArrayLike, t_comp: ArrayLike, t_nonoverlap: ArrayLike) -> Floats:
    """(t_comm + t_comp) / t_nonoverlap: what the parts, each alone, take of a solve that does them one after the other.

    A solve may have more than these parts, so that this is below 1. Above 1, a part took longer alone than in a solve.
    """
    comm, comp = np.asarray(t_comm, np.float64), np.asarray(t_comp, np.float64)
    return divided(comm + comp, np.asarray(t_nonoverlap, np.float64))
