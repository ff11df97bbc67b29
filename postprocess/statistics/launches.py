"""What several launches of a case say of a number: pure functions on NumPy arrays and columns of tables.

The launch is the unit. Its repetitions share what differs between launches, such as the place of buffers in memory, so
that an interval of one launch says how well that launch is known, and not how well the case is.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import CONFIDENCE, UNKNOWN, Estimate

WIDENED = {3: 1.5, 4: 1.5}
"""By what an interval of so many launches is wider than Student's, as launches are not normal: some have two states.
Of 191 recorded cases of five benchmarks Student's interval foretells the median of the other launches in 92, 92 and
95 % of splits, with 3, 4 and 5 launches; with these factors it is 94, 94 and 95 %, the least 91, 91 and 93 % (LogGP's
parameters and `cpu_overhead`, which have two states), the most 98, 98 and 97 % (`transfer_overlap`, `sync_overlap`,
`partitioned`). A factor chosen on all benchmarks but one is from 1.2 to 1.8. A variance moderated by the other cases of
the same table makes intervals narrower, but holds no more often; one moderated by other runs of the system holds in
94 to 95 %, but a report knows no other runs."""


def over_launches(values: ArrayLike, lows: ArrayLike, highs: ArrayLike, *, confidence: float = CONFIDENCE) -> Estimate:
    """The median over launches, with an interval that contains what differs between them.

    values, lows, highs: the estimate of each launch. Launches whose value is not known do not count; all NaN without
    any. From LEAST_LAUNCHES on the interval is Student's, of their mean, with one degree of freedom less than launches,
    and reaches to the median; that of few launches is wider, by WIDENED. Noise within launches is part of it. It is
    wide with few: 3.7 standard deviations of launches with 3, 2.4 with 4, 1.2 with 5. The truth of 3 launches lies
    within the smallest and the largest in 75 % only.
    """
    value, low, high = (np.asarray(part, np.float64) for part in (values, lows, highs))
    known = np.isfinite(value)
    value, low, high = value[known], low[known], high[known]
    if not value.size:
        return UNKNOWN
    middle = np.sort(value)[[(value.size - 1) // 2, value.size // 2]].mean()  # numpy's median takes twice as long
    if value.size < LEAST_LAUNCHES:
        return Estimate(np.asarray(middle), np.asarray(low.min()), np.asarray(high.max()))
    reach = _students(confidence, value.size - 1) * value.std(ddof=1) / math.sqrt(value.size)
    reach *= WIDENED.get(value.size, 1.0)
    ends = (min(value.mean() - reach, middle), max(value.mean() + reach, middle))
    return Estimate(np.asarray(middle), *map(np.asarray, ends))


@lru_cache
def _students(confidence: float, freedom: int) -> float:
    """Student's quantile of a two-sided interval."""
    return float(scipy.special.stdtrit(freedom, (1 + confidence) / 2))


def of_rows(rows: pd.DataFrame, name: str, interval: str = "", confidence: float = CONFIDENCE) -> Estimate:
    """`over_launches` of a column of a table whose rows differ in nothing but the launch.

    interval: the name that its interval's columns begin with, where it is another one.
    """
    ends = (rows[f"{interval or name}_ci95_{end}"].to_numpy(np.float64) for end in ("low", "high"))
    return over_launches(rows[name].to_numpy(np.float64), *ends, confidence=confidence)


def likely(launches: Any) -> str:
    """The word before an answer that rests on fewer than LEAST_LAUNCHES launches."""
    return "likely " if launches < LEAST_LAUNCHES else ""
