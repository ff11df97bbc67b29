"""What launches of a case will be able to tell, from how much they differed in earlier runs."""

import math

import numpy as np
import pandas as pd

from postprocess.drawing.text import plural
from postprocess.statistics.known import least_found
from postprocess.statistics.limits import FALSE_DISCOVERY_RATE, Limits
from postprocess.verdicts.compare import KEY, METRICS, USUAL
from postprocess.verdicts.compare_text import value_words
from postprocess.verdicts.earlier import Earlier
from postprocess.verdicts.launches import numbered, with_keys

POINTS, FOUND = 36, 31
"""At so many of the points of a map a difference is found."""
LIBRARY = ("toolchain", "provider")


def tellable(earlier: pd.DataFrame, benchmark: str, network: str, launches: int) -> str:
    """The least difference that so many launches on each side tell, in words; empty where earlier runs do not know it.

    earlier: launches of earlier runs of the system. The metric is the first of the usual ones that they know, a ratio
    before a difference.
    """
    if earlier.empty:
        return ""
    rows = earlier[(earlier["benchmark"] == benchmark).to_numpy() & (earlier["network"] == network).to_numpy()]
    if rows.empty:
        return ""
    number, names = numbered(with_keys(rows), [name for name in KEY if name in rows and name not in LIBRARY])
    past = Earlier(rows, number, np.zeros(len(names), np.int64), tuple(name for name in KEY if name in rows))
    limits = Limits()
    for metric in sorted((METRICS[name] for name in USUAL), key=lambda one: not one.ratio):
        known = past.known(metric, np.arange(len(names)))
        least = least_found(known, launches, FOUND / POINTS, FALSE_DISCOVERY_RATE)
        if math.isfinite(least):
            what = (
                f"{100 * max(math.expm1(least), limits.least_ratio):.0f} %"
                if metric.ratio
                else value_words(metric.name, max(least, metric.least_difference(limits)))
            )
            told = f"{plural(launches, 'launch')} a case tell a difference of {what} at {FOUND} of {POINTS} points"
            return f"{told} ({metric.title}; learnt from {plural(known.runs, 'run')})"
    return ""
