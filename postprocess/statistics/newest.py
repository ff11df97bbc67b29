"""Whether the newest nights of a series are unlike those before: pure functions. They are learnt from three nights
before the newest, of any library of the system.

`nights` needs three nights of a new state, and twelve in all. What is known of all series together needs fewer:

1. How much two nights of a state differ is learnt from all series of a family, of the nights before (`known`). Its tail
   is as heavy as that of all nights that were seen: on a machine with bad nights, one bad night is no change.
2. The newest night is held against the level of the state before, the median of its NEIGHBOURS last nights. So are the
   two newest nights, and so on, by the numbers NEW: of these the one nearest to the level must be unlike it.
3. The newest night alone has half of the probability of an error, all other numbers of nights share the other half.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from postprocess.statistics.effects import Integers
from postprocess.statistics.known import MEDIAN_OVER_MEAN, known
from postprocess.statistics.metrics import CONFIDENCE, Floats
from postprocess.statistics.nights import NEEDED, NEIGHBOURS

BEFORE = 2
"""The fewest nights before."""
NEW = (1, 2, 3, 5, NEEDED - 1 - BEFORE)
"""The numbers of new nights that are tried: with more, `nights` judges the series."""


@dataclass(frozen=True)
class Newest:
    """The newest nights, from index `begin` on, against the nights before: the levels of both, the ends of the 95 %
    interval of their difference, the p-value."""

    begin: int
    before: float
    after: float
    low: float
    high: float
    p_value: float


def newest(
    values: Sequence[Floats], nights: Sequence[Integers], places: Sequence[Sequence[int]], family: Sequence[int]
) -> list[Newest | None]:
    """What the newest nights of each series say; None where nothing is known, or the series ends before the others.

    values: of each series, in the order of time.  nights: likewise the numbers of its nights, the same for all series.
    places: the first night of each state but the first, as `nights.states_of` finds them.  family: the number of the
    family of each series.
    """
    found: list[Newest | None] = [None] * len(values)
    for which in {one for one, of_one in zip(family, values, strict=True) if of_one.size}:
        mine = [number for number, one in enumerate(family) if one == which and values[number].size]
        all_nights = np.unique(np.concatenate([nights[number] for number in mine]))
        size = [values[number].size for number in mine]
        case, night, value = (
            np.repeat(np.arange(len(mine)), size), *(np.concatenate([of[number] for number in mine])
            for of in (nights, values)),
        )  # fmt: skip
        state = np.concatenate(
            [np.searchsorted(places[number], np.arange(values[number].size), side="right") for number in mine]
        )
        group = case * (int(state.max()) + 1) + state
        for new in (one for one in NEW if one <= all_nights.size - BEFORE):
            before = night < all_nights[-new]
            learnt = known(case[before], night[before], group[before], value[before], len(mine))
            share = 2 if new == 1 else 2 * (len(NEW) - 1)
            for place, number in enumerate(mine):
                its = nights[number]
                begin = int(np.searchsorted(its, all_nights[-new]))
                first = places[number][-1] if len(places[number]) else 0
                if learnt.freedom[place] and its[-1] == all_nights[-1] and begin - first >= BEFORE:
                    error = math.sqrt(learnt.variance[place])
                    one = _against(values[number], first, begin, error, float(learnt.freedom[place]), share)
                    other = found[number]
                    found[number] = one if other is None or one.p_value < other.p_value else other
    return found


def _against(values: Floats, first: int, begin: int, error: float, freedom: float, share: int) -> Newest:
    """The nights from `begin` on against the last ones of those since `first`.

    error: of a night.  share: by how much a p-value is multiplied, as several numbers of nights are tried.
    """
    old = values[max(first, begin - NEIGHBOURS) : begin]
    level = float(np.median(old))
    off = values[begin:] - level
    nearest = float(np.abs(off).min()) if np.all(off > 0) or np.all(off < 0) else 0.0
    of_both = error * math.sqrt(1 + (MEDIAN_OVER_MEAN if old.size > BEFORE else 1.0) / old.size)
    p_value = min(1.0, share * 2 * float(scipy.special.stdtr(freedom, -nearest / of_both))) if of_both > 0 else 1.0
    effect, reach = float(np.median(off)), float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * of_both
    return Newest(begin, level, level + effect, effect - reach, effect + reach, p_value)
