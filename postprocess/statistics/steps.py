"""How much neighbours of a series of libraries differ, where all of it tells how much launches do: pure functions.

Each step holds the launches of a library against those of the one before it, which were measured beside them, three of
each as a rule. Three launches may agree by luck: a case with two states, as those beside a progress thread, would have
a step wherever the launches of one library are all in one state and those of the next one all in the other. But the
series has many libraries, and how much launches of one library differ can be seen in all of them. So:

1. A difference is that between a launch of one library and the one beside it of the other. The effect is the median
   of the means of all pairs of differences, each with itself too (Hodges and Lehmann 1963), as in `effects` by
   occasions.
2. Where nothing differs, such a difference is like that between two launches of one library. These are drawn with
   either sign, each over the standard deviation of its case. They are those of the case itself, where its libraries
   have FEWEST_RESIDUALS degrees of freedom together; else those of all cases of its kind. Where these are too few too,
   normal differences are drawn. So states and wild launches are as frequent among the draws as they were.
3. Each draw of an effect is divided by the standard deviation of as many other draws as the case has degrees of
   freedom, FEWEST_RESIDUALS at most: that of the case is no better known. The quantiles of these ratios give the
   interval, and their tail the p-value. Beyond the last draws the tail falls as that of single differences does, more
   slowly than that of their means: the draws of so few libraries know little of it.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from postprocess.statistics.effects import (
    DRAWN,
    DRAWS,
    FEWEST_LAUNCHES,
    FEWEST_RESIDUALS,
    SEED,
    Effects,
    Integers,
    centres_of,
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

    case: number of each launch's step; side, value, occasion: as there.  libraries: the numbers of both libraries of
    each step, (steps, 2).  same: the number of the case of each step, which other steps have too, (steps,).  alike: the
    number of its kind, (steps,). Launches of different cases are independent.
    """
    number, sides, values, occasions = (np.asarray(part) for part in (case, side, value, occasion))
    library, case_of_step, kinds = (np.asarray(part, np.int64) for part in (libraries, same, alike))
    finite, steps = np.isfinite(values), case_of_step.size
    number, sides, values, occasions = (part[finite] for part in (number, sides, values, occasions))
    group = 2 * number + sides
    n = np.bincount(group, minlength=2 * steps)
    once = _once(library, case_of_step, n)
    residual = values - divided(np.bincount(group, values, 2 * steps), n)[group]
    residual[np.abs(residual) <= 4 * np.finfo(np.float64).eps * np.abs(values)] = 0.0  # they are equal
    cases = int(case_of_step.max(initial=-1)) + 1
    squares = np.bincount(case_of_step[number], residual**2 * once[group], cases)
    freedom = np.bincount(case_of_step.repeat(2), np.maximum(n - 1, 0) * once, cases)
    scale = np.sqrt(2 * divided(squares, freedom))
    scale[scale == 0] = np.nan

    first, second = launches_beside(number, sides, values, occasions)
    pairs = np.bincount(number[first], minlength=steps)
    effect = _shifts(number[first], values[second] - values[first], pairs)
    group_of, between = _between_launches(group, values, once)
    case_of = case_of_step[group_of // 2]
    standardised = between / scale[case_of]
    kind_of_case = np.zeros(cases, np.int64)
    kind_of_case[case_of_step] = kinds
    low, high, p_value = (np.full(steps, np.nan) for _ in range(3))
    for one in np.unique(case_of_step):
        drawn_from, known = standardised[case_of == one], freedom[one]
        if known < FEWEST_RESIDUALS:
            of_kind = kind_of_case == kind_of_case[one]
            drawn_from, known = standardised[of_kind[case_of]], freedom[of_kind].sum()
        drawn_from = drawn_from[np.isfinite(drawn_from)] if known >= FEWEST_RESIDUALS else np.empty(0)
        mine = (case_of_step == one) & np.isfinite(effect) & np.isfinite(scale[one])
        for count in np.unique(pairs[mine]):
            null = _null(min(int(count), int(DRAWN[-1])), drawn_from, int(freedom[one]))
            chosen = mine & (pairs == count)
            reach = null[math.ceil(CONFIDENCE * (null.size - 1))] * scale[one]
            low[chosen], high[chosen] = effect[chosen] - reach, effect[chosen] + reach
            p_value[chosen] = p_values(np.abs(effect[chosen]) / scale[one], null, float(freedom[one]))
    both, paired, of_sides = np.concatenate([first, second]), (pairs > 0)[:, None], n.reshape(steps, 2)
    centres = np.where(paired, *(centres_of(number[i], sides[i], values[i], steps) for i in (both, slice(None))))
    launches = np.where((of_sides > 0).all(axis=1, keepdims=True), pairs[:, None], of_sides)
    reaches = median_reach(scale[case_of_step, None] / math.sqrt(2), launches, freedom[case_of_step, None])
    return Effects(effect, low, high, p_value, launches, centres, reaches)


def _once(library: Integers, case: Integers, launches: Integers) -> NDArray[np.bool_]:
    """Which groups of launches count, so that each library counts once in a case: one in the middle of the series is in
    two steps. launches: of each group."""
    name = case.repeat(2) * (int(library.max(initial=0)) + 1) + library.ravel()
    fullest = np.argsort(-launches, kind="stable")
    once = np.zeros(name.size, bool)
    once[fullest[np.unique(name[fullest], return_index=True)[1]]] = True
    return once


def _shifts(step: Integers, difference: Floats, pairs: Integers) -> Floats:
    """The effect of each step, from the differences on its occasions; NaN where there are too few."""
    effect = np.full(pairs.size, np.nan)
    ordered = difference[np.argsort(step, kind="stable")]
    starts = np.cumsum(pairs) - pairs
    for count in np.unique(pairs[2 * pairs >= FEWEST_LAUNCHES]):
        chosen = np.flatnonzero(pairs == count)
        effect[chosen] = row_shifts(np.empty((chosen.size, 0)), ordered[starts[chosen, None] + np.arange(count)])
    return effect


def _between_launches(group: Integers, value: Floats, counts: NDArray[np.bool_]) -> tuple[Integers, Floats]:
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
    differs: from these differences, of variance 1, or from normal ones where there are none."""
    rng = np.random.default_rng(SEED)
    shape = (DRAWS, count + min(freedom, FEWEST_RESIDUALS))
    ordered = np.sort(np.concatenate([differences, -differences]))
    drawn = rng.choice(ordered, shape) if ordered.size else rng.standard_normal(shape)
    effect = np.abs(row_shifts(np.empty((DRAWS, 0)), drawn[:, :count]))
    deviation = np.sqrt(np.mean(drawn[:, count:] ** 2, axis=1))
    return np.sort(np.divide(effect, deviation, out=np.full(DRAWS, np.inf), where=deviation > 0))
