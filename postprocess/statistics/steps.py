"""How much neighbours of a series of libraries differ, where all of it tells how much launches do: pure functions.

Each step holds the launches of a library against those of the one before it, which were measured beside them, three of
each as a rule. Three launches may agree by luck: a case with two states, as those beside a progress thread, would have
a step wherever the launches of one library are all in one state and those of the next one all in the other. But the
series has many libraries, and how much launches of one library differ can be seen in all of them. So:

1. The effect is that of `effects` by occasions: the median of the means of all pairs of differences between a launch of
   one library and the one beside it of the other (Hodges and Lehmann 1963).
2. Where nothing differs, such a difference is like that between two launches of one library. Those of all libraries are
   drawn, with either sign: those of the case itself, where its libraries have FEWEST_RESIDUALS degrees of freedom
   together, else those of all cases of its kind, each over its case's standard deviation. Of two states and of wild
   launches there are as many among the draws as there were. Where there are too few of a kind too, normal differences
   are drawn, as wide as Student's t of so many degrees of freedom.
3. The quantiles of the effects that are drawn give the interval, and their tail the p-value, as in `effects`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from postprocess.statistics.effects import (
    DRAWS,
    FEWEST_LAUNCHES,
    FEWEST_RESIDUALS,
    SEED,
    Effects,
    Integers,
    launches_beside,
    median_reach,
    p_values,
    row_shifts,
)  # fmt: skip
from postprocess.statistics.metrics import CONFIDENCE, Floats, divided


def effects_of_steps(
    case: ArrayLike,
    side: ArrayLike,
    value: ArrayLike,
    occasion: ArrayLike,
    libraries: ArrayLike,
    same: ArrayLike,
    alike: ArrayLike,
) -> Effects:
    """Compare the sides of many steps, as `effects.effects` does those of cases.

    case: the number of each launch's step; side, value, occasion: as there.  libraries: the numbers of both libraries
    of each step, (steps, 2).  same: the number of each step's case, which other steps have too, (steps,).  alike: the
    number of its kind, (steps,).
    """
    number, sides, values, occasions = (np.asarray(part) for part in (case, side, value, occasion))
    names, cases, kinds = (np.asarray(part, np.int64) for part in (libraries, same, alike))
    steps = cases.size
    finite = np.isfinite(values)
    number, sides, values, occasions = (part[finite] for part in (number, sides, values, occasions))
    group = 2 * number + sides
    n = np.bincount(group, minlength=2 * steps)
    mean = divided(np.bincount(group, values, 2 * steps), n)
    # A library in the middle of the series is in two steps, but counts once.
    once = np.zeros(2 * steps, bool)
    once[np.unique(cases.repeat(2) * (int(names.max(initial=0)) + 1) + names.ravel(), return_index=True)[1]] = True
    squares = np.bincount(cases[number], (values - mean[group]) ** 2 * once[group], cases.max(initial=-1) + 1)
    freedom = np.bincount(cases.repeat(2), np.maximum(n - 1, 0) * once, squares.size)
    scale = np.sqrt(2 * divided(squares, freedom))

    first, second = launches_beside(number, sides, values, occasions)
    pairs = np.bincount(number[first], minlength=steps)
    effect = np.full(steps, np.nan)
    order = np.argsort(number[first], kind="stable")
    differences = (values[second] - values[first])[order]
    starts = np.cumsum(pairs) - pairs
    for count in np.unique(pairs[2 * pairs >= FEWEST_LAUNCHES]):
        chosen = np.flatnonzero(pairs == count)
        effect[chosen] = row_shifts(np.empty((chosen.size, 0)), differences[starts[chosen, None] + np.arange(count)])

    of_case, between = _between_launches(group, values, once)
    of_case, standardised = cases[of_case // 2], divided(between, scale[cases[of_case // 2]])
    kind_of_case = np.zeros(squares.size, np.int64)
    kind_of_case[cases] = kinds
    low, high, p_value = (np.full(steps, np.nan) for _ in range(3))
    for one in np.unique(cases):
        drawn_from, known = standardised[of_case == one], float(freedom[one])
        if known < FEWEST_RESIDUALS:
            of_kind = kind_of_case == kind_of_case[one]
            drawn_from, known = standardised[of_kind[of_case]], float(freedom[of_kind].sum())
        drawn_from = drawn_from[np.isfinite(drawn_from)] if known >= FEWEST_RESIDUALS else np.empty(0)
        mine = (cases == one) & np.isfinite(effect) & (scale[one] > 0)
        for count in np.unique(pairs[mine]):
            null = _null(int(count), drawn_from, int(freedom[one]))
            chosen = mine & (pairs == count)
            reach = float(np.quantile(null, CONFIDENCE)) * scale[one]
            low[chosen], high[chosen] = effect[chosen] - reach, effect[chosen] + reach
            p_value[chosen] = p_values(np.abs(effect[chosen]) / scale[one], null, float(freedom[one]))
    centres = np.array([np.median(values[group == one]) if n[one] else np.nan for one in range(2 * steps)])
    reaches = median_reach(scale[cases].repeat(2) / math.sqrt(2), n, freedom[cases].repeat(2))
    launches = np.where(pairs[:, None] > 0, pairs[:, None], n.reshape(steps, 2))
    return Effects(effect, low, high, p_value, launches, centres.reshape(steps, 2), reaches.reshape(steps, 2))


def _between_launches(group: Integers, value: Floats, counts: np.ndarray) -> tuple[Integers, Floats]:
    """The differences between any two launches of each group that counts, and their groups."""
    order = np.argsort(group, kind="stable")
    group, value = group[order], value[order]
    of_group, starts, sizes = np.unique(group, return_index=True, return_counts=True)
    found = [(np.empty(0, np.int64), np.empty(0))]
    for size in np.unique(sizes[sizes > 1]):
        chosen = (sizes == size) & counts[of_group]
        table = value[starts[chosen, None] + np.arange(size)]
        one, other = np.triu_indices(int(size), 1)
        found.append((of_group[chosen].repeat(one.size), (table[:, one] - table[:, other]).ravel()))
    groups, differences = zip(*found, strict=True)
    return np.concatenate(groups), np.concatenate(differences)


def _null(count: int, differences: Floats, freedom: int) -> Floats:
    """Draws of the size of the effect of so many differences over their standard deviation, sorted, where nothing
    differs: from these differences, of variance 1, or from normal ones where there are none. The standard deviation is
    that of as many differences as there are degrees of freedom, FEWEST_RESIDUALS at most, which are drawn with them."""
    rng = np.random.default_rng(SEED)
    known = min(freedom, FEWEST_RESIDUALS)
    shape = (DRAWS, count + known)
    ordered = np.sort(np.concatenate([differences, -differences]))
    drawn = rng.choice(ordered, shape) if ordered.size else rng.standard_normal(shape)
    effect = np.abs(row_shifts(np.empty((DRAWS, 0)), drawn[:, :count]))
    deviation = np.sqrt(np.mean(drawn[:, count:] ** 2, axis=1))
    return np.sort(np.divide(effect, deviation, out=np.full(DRAWS, np.inf), where=deviation > 0))
