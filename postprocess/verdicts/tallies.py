"""How many comparisons have which verdict, and the median effect over all of them."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from postprocess.verdicts.compare import FASTER, SAME, SLIGHT, SLOWER, UNKNOWN, are_ratios


@dataclass(frozen=True)
class Tally:
    """The verdicts on B, beside A, of cases of one metric: how many of each.

    same: those that do not differ by what counts; slight: how many of these differ slightly.
    effect, low, high: the median effect of B against A over the `known` cases that have an interval, and its own
    interval; NaN where there is none. All of these cases count: those with a verdict are those with large effects.
    launches: the fewest and the most launches, or runs, of a side of a decided case.
    """

    better: int
    worse: int
    same: int
    slight: int
    unknown: int
    known: int
    effect: float
    low: float
    high: float
    launches: tuple[int, int]

    @property
    def decided(self) -> int:
        """How many cases have a verdict."""
        return self.better + self.worse + self.same

    @property
    def total(self) -> int:
        """How many cases were compared."""
        return self.decided + self.unknown


def tally(rows: pd.DataFrame, *, turned: bool = False) -> Tally:
    """Count rows of a `Comparison`.  turned: as if A and B had changed places.

    The interval of the median effect goes from the median of the intervals' lower ends to that of the upper ends. If
    all cases of a launch move together, that is an interval of the same confidence as each of theirs; if they do not,
    it is wider than it need be.
    """
    counts = rows["verdict"].value_counts()
    ends = rows[["effect", "effect_ci95_low", "effect_ci95_high"]].to_numpy(np.float64)
    if turned:
        ratios = are_ratios(rows)[:, np.newaxis]
        ends = np.where(ratios, 1 / np.where(ratios, ends, 1), -ends)[:, [0, 2, 1]]
    known = ends[np.isfinite(ends).all(axis=1)]
    effect, low, high = np.median(known, axis=0) if len(known) else (math.nan,) * 3
    launches = rows.loc[rows["verdict"] != UNKNOWN, ["launches_a", "launches_b"]].to_numpy()
    better, worse = (int(counts.get(verdict, 0)) for verdict in (FASTER, SLOWER))
    return Tally(
        worse if turned else better,
        better if turned else worse,
        int(counts.get(SAME, 0)) + int(counts.get(SLIGHT, 0)),
        int(counts.get(SLIGHT, 0)),
        int(counts.get(UNKNOWN, 0)),
        len(known),
        float(effect),
        float(low),
        float(high),
        (int(launches.min()), int(launches.max())) if launches.size else (0, 0),
    )
