"""What several launches of a case say of a number: pure functions on NumPy arrays and columns of tables.

The launch is the unit. Its repetitions share what differs between launches, such as the place of buffers in memory, so
that an interval of one launch says how well that launch is known, and not how well the case is.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import CONFIDENCE, UNKNOWN, Estimate


def over_launches(values: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, confidence: float = CONFIDENCE) -> Estimate:
    """The median over launches, with an interval that contains what differs between them.

    values, lows, highs: the estimate of each launch. Launches whose value is not known do not count; all NaN without
    any. From LEAST_LAUNCHES on the interval is Student's, of their mean, with one degree of freedom less than launches,
    and reaches to the median. Noise within launches is part of it. It is wide with few: 2.5 standard deviations of
    launches with 3, 1.2 with 5. The truth of 3 launches lies within the smallest and the largest in 75 % only.
    """
    value, low, high = (np.asarray(part, np.float64) for part in (values, lows, highs))
    known = np.isfinite(value)
    value, low, high = value[known], low[known], high[known]
    if not value.size:
        return UNKNOWN
    middle = np.median(value)
    if value.size < LEAST_LAUNCHES:
        return Estimate(np.asarray(middle), np.asarray(low.min()), np.asarray(high.max()))
    reach = stats.t.ppf((1 + confidence) / 2, value.size - 1) * value.std(ddof=1) / math.sqrt(value.size)
    ends = (min(value.mean() - reach, middle), max(value.mean() + reach, middle))
    return Estimate(np.asarray(middle), *map(np.asarray, ends))


def of_rows(rows: pd.DataFrame, name: str, interval: str = "", confidence: float = CONFIDENCE) -> Estimate:
    """`over_launches` of a column of a table whose rows differ in nothing but the launch.

    interval: the name that its interval's columns begin with, where it is another one.
    """
    ends = (rows[f"{interval or name}_ci95_{end}"].to_numpy(np.float64) for end in ("low", "high"))
    return over_launches(rows[name].to_numpy(np.float64), *ends, confidence=confidence)


def likely(launches: Any) -> str:
    """The word before an answer that rests on fewer than LEAST_LAUNCHES launches."""
    return "likely " if launches < LEAST_LAUNCHES else ""
