"""How an amount grows with a number: the exponent of a power law, with its interval."""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from postprocess.statistics.metrics import Estimate


def power_law(numbers: ArrayLike, amounts: ArrayLike) -> Estimate:
    """The p of amount ~ number^p, by least squares of the logarithms, with its 95 % interval by Student's t.

    numbers, amounts: 1-d, of the same length, all above 0; at least three, and two different numbers. The interval says
    how well one power fits all amounts; whether an amount would be another one the next time is not in it.
    """
    x, y = (np.log(np.asarray(values, dtype=np.float64)) for values in (numbers, amounts))
    x, y = x - x.mean(), y - y.mean()
    power = (x @ y) / (x @ x)
    left = y - power * x
    reach = scipy.special.stdtrit(x.size - 2, 0.975) * np.sqrt((left @ left) / (x.size - 2) / (x @ x))
    return Estimate(np.asarray(power), np.asarray(power - reach), np.asarray(power + reach))
