"""Which nodes, links, paths and switches of a machine are slow: pure functions on NumPy arrays.

Each pair of nodes has a time, of messages that they exchange. A slow link of a node makes all of its pairs slow, a slow
path the one pair that uses it, and a slow uplink of a switch all pairs with one node below it and one elsewhere. A pair
that uses several of them takes as long as the slowest, or as all together, or between. What one cause explains is not
explained by several: causes are added one by one, each time the one that explains most, and a cause that the others
make superfluous is taken out again. A cause must explain more than chance does with any of all possible causes of its
kind, in all but a share of healthy machines, however large. Deviations are judged by Huber's loss, so that a pair that
is wild for a reason of its own does not blame its nodes. Pairs below one switch and pairs across switches have a usual
time each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Kind = Literal["link", "switch", "path"]
Possible = tuple[Kind, int, Integers]

ALARMS = 0.01
"""The share of healthy machines of which anything is named, over all that is looked at."""
LEAST_SLOWER = 0.05
"""What is slower by less does not matter."""
HUBER = 2.5
"""Beyond so many standard deviations the loss grows in proportion."""
NORMAL_MAD = 1.4826
"""The standard deviation of normal values over the median of their absolute deviations."""
MEDIAN_ERROR = 1.2533
"""The standard error of a median of normal values over that of their mean."""
MAD_EFFICIENCY = 0.37
"""Of the median absolute deviation of normal values, against their standard deviation (Huber 1981)."""
NORMAL_VALUES = 40_000
"""So many are drawn."""
LEAST_SPREAD = 1e-3
STARTS = (1.0, 0.5)
"""A slow switch of four slows half of all pairs across: the healthy ones are then looked for among the fastest."""
ROUNDS, LOOKS = 20, 3
FEWEST = 6
"""Nothing is told from fewer pairs or nodes."""
HEALTHY = 0.4
"""The least share of pairs that nothing makes slow."""


@dataclass(frozen=True)
class Cause:
    """Why some pairs are slow.

    number: of the node whose link it is, of the switch, or of the pair whose path it is.  slower: how many times as
    long its pairs take, with the ends of its 95 % interval.
    """

    kind: Kind
    number: int
    slower: tuple[float, float, float]


def causes(
    pairs: ArrayLike,
    times: ArrayLike,
    switches: ArrayLike | None = None,
    rounds: ArrayLike | None = None,
    *,
    alarms: float = ALARMS,
) -> list[Cause]:
    """The causes that are surely there, the one that slows most first.

    pairs: the nodes of each pair, (pairs, 2).  times: of each pair, above 0; NaN where it is not known.  switches: the
    number of the switch of each node, (nodes,); None where it is not known.  rounds: of each pair, which pairs were
    measured at the same time; None: all.  alarms: the share of healthy machines of
    which a cause is named.
    """
    nodes, time = np.asarray(pairs, np.int64).reshape(-1, 2), np.asarray(times, np.float64)
    below = None if switches is None else np.asarray(switches, np.int64)
    group = np.zeros(len(nodes), np.int64) if below is None else (below[nodes[:, 0]] != below[nodes[:, 1]]).astype(int)
    known = time > 0
    known &= np.bincount(group[known], minlength=2)[group] >= FEWEST
    if not known.any():
        return []
    logs = np.log(np.where(known, time, 1.0))
    judged = np.flatnonzero(known)
    together = np.zeros(len(nodes), np.int64) if rounds is None else np.asarray(rounds, np.int64)
    possible = _possible(nodes, judged, below, together)
    fits = (_fit_from(logs, group, known, possible, share, alarms) for share in STARTS)
    _, spread, found = min(fits, key=lambda fit: fit[0])
    quantile = float(-scipy.special.stdtrit(_freedom(judged.size, len(found)), 0.025))
    made: dict[tuple[Kind, int], Cause] = {}  # of a switch, that of the round in which it slows most
    for place, effect in sorted(found.items(), key=lambda one: one[1]):
        kind, number, its = possible[place]
        error = quantile * MEDIAN_ERROR / np.sqrt(its.size)
        slower, low, high = (math.exp(effect + side * spread * error) for side in (0, -1, 1))
        made[kind, number] = Cause(kind, number, (slower, low, high))
    return sorted(made.values(), key=lambda cause: -cause.slower[0])


def _fit_from(
    logs: Floats, group: Integers, known: NDArray[np.bool_], possible: list[Possible], share: float, alarms: float
) -> tuple[float, float, dict[int, float]]:
    """A fit that looks for the healthy pairs among this share of the fastest: how badly it fits, the standard deviation
    of pairs, and the chosen causes by their places, with their effects, logarithms."""
    groups = [one for one in (0, 1) if (group[known] == one).any()]
    usual = np.zeros(2)
    for one in groups:
        usual[one] = _of_healthy(logs[known & (group == one)], share)[0]
    count = int(np.count_nonzero(known))
    of_kind = Counter(kind for kind, _, _ in possible)
    spread, found = _of_healthy((logs - usual[group])[known], share)[1], dict[int, float]()
    for _ in range(LOOKS):
        freedom = _freedom(count, len(found))
        cost_of = {kind: _sure(freedom, alarms / len(of_kind) / number) for kind, number in of_kind.items()}
        costs = np.array([cost_of[kind] for kind, _, _ in possible])
        fit = _Fit((logs - usual[group]) / spread, possible, costs, math.log1p(LEAST_SLOWER) / spread)
        found = {place: spread * effect for place, effect in fit.chosen().items()}
        slowest, together = _bounds(logs.size, possible, found)
        rest = logs - _nearest(logs - usual[group], slowest, together)
        told = known & (slowest == together)  # what is left of a pair that several slow tells nothing
        for one in groups:
            usual[one] = np.median(rest[told & (group == one)]) if (told & (group == one)).any() else usual[one]
        spread = _spread((rest - usual[group])[told], len(found))
    misfit = _loss((rest - usual[group])[known] / spread).sum() + 2 * count * math.log(spread)
    return float(misfit + sum(costs[place] for place in found)), spread, found


def slow_alone(times: ArrayLike, *, alarms: float = ALARMS) -> list[tuple[int, tuple[float, float, float]]]:
    """The nodes that are surely slower alone than the others: the place of each, and how many times as long it takes,
    with its 95 % interval.  times: of each node, above 0; NaN where it is not known.  alarms: as of `causes`.

    The generalised ESD test of Rosner 1983 (Technometrics 25, 165-172), for slow outliers alone.
    """
    time = np.asarray(times, np.float64)
    known = np.flatnonzero(time > 0)
    if known.size < FEWEST:
        return []
    slowest_first = known[np.argsort(-time[known], kind="stable")]
    logs = np.log(time[slowest_first])
    count = 0
    for found in range(1, int((1 - HEALTHY) * logs.size) + 1):
        left, rest = logs.size - found, logs[found - 1 :]
        quantile = float(-scipy.special.stdtrit(left - 1, alarms / (left + 1)))
        bound = left * quantile / math.sqrt((left - 1 + quantile**2) * (left + 1))
        if rest[0] - rest.mean() > bound * rest.std(ddof=1):
            count = found
    others = logs[count:]
    usual, freedom = float(others.mean()), others.size - 1
    reach = float(-scipy.special.stdtrit(freedom, 0.025) * others.std(ddof=1)) * math.sqrt(1 + 1 / others.size)
    slow = [(int(node), float(log) - usual) for node, log in zip(slowest_first[:count], logs, strict=False)]
    least = math.log1p(LEAST_SLOWER)
    return [(node, (math.exp(by), math.exp(by - reach), math.exp(by + reach))) for node, by in slow if by > least]


def _freedom(values: int, causes_found: int) -> float:
    """The degrees of freedom of the standard deviation of so many values, by the median of absolute deviations."""
    return max(MAD_EFFICIENCY * (values - causes_found), 1.0)


def _sure(freedom: float, alarms: float) -> float:
    """The loss that a deviation has by chance in this share of cases. That the standard deviation is known from few
    values makes it larger."""
    return float(_loss(np.array(-scipy.special.stdtrit(freedom, alarms))))


def _spread(rest: Floats, causes_found: int) -> float:
    """The standard deviation of what is left, of which a few are wild."""
    freedom = max(rest.size - causes_found - 1, 1)
    return max(float(np.median(np.abs(rest))) * NORMAL_MAD * math.sqrt(rest.size / freedom), LEAST_SPREAD)


def _of_healthy(logs: Floats, share: float = 1.0) -> tuple[float, float]:
    """The middle and the standard deviation of the healthy ones, of which there are at least HEALTHY: those of the
    shortest interval that has so many of all, among this share of the fastest."""
    ordered = np.sort(logs)
    count = _count(ordered.size)
    first, width = _shortest(ordered[np.newaxis, : max(math.ceil(share * ordered.size), count)], count)
    middle = float(np.median(ordered[first[0] : first[0] + count]))
    return middle, max(float(width[0]) / _width_of_normal(ordered.size), LEAST_SPREAD)


def _count(size: int) -> int:
    return max(math.ceil(HEALTHY * size), 2)


def _shortest(ordered: Floats, count: int) -> tuple[Integers, Floats]:
    """Of each row, where its shortest interval begins that has so many values, and how wide that is."""
    widths = ordered[:, count - 1 :] - ordered[:, : ordered.shape[1] - count + 1]
    return np.argmin(widths, axis=1), widths.min(axis=1)


@cache
def _width_of_normal(size: int) -> float:
    """The median width of the shortest interval of so many normal values, in standard deviations."""
    draws = max(NORMAL_VALUES // size, 50)
    values = np.random.default_rng(size).standard_normal((draws, size))
    return float(np.median(_shortest(np.sort(values, axis=1), _count(size))[1]))


def _possible(nodes: Integers, known: Integers, switches: Integers | None, rounds: Integers) -> list[Possible]:
    """Each possible cause with the pairs that it makes slow. An uplink is shared by the pairs of a round, so that its
    effect may differ from round to round: it is a cause in all, and in each."""
    found: list[Possible] = [("path", int(pair), np.array([pair])) for pair in known]
    ends = np.concatenate([nodes[known, 0], nodes[known, 1]])
    order = np.argsort(ends, kind="stable")
    twice = np.tile(known, 2)[order]
    numbers, first = np.unique(ends[order], return_index=True)
    for number, its in zip(numbers, np.split(twice, first[1:]), strict=True):
        if its.size > 1:  # of a node in one pair, nobody can tell its link from the path
            found.append(("link", int(number), its))
    if switches is None:
        return found
    for number in np.unique(switches):
        below = switches[nodes[known]] == number
        across = known[below[:, 0] != below[:, 1]]
        if np.count_nonzero(switches == number) > 1:
            of_rounds = [across[rounds[across] == one] for one in np.unique(rounds[across])]
            parts = [across, *of_rounds] if len(of_rounds) > 1 else [across]
            found += [("switch", int(number), its) for its in parts if its.size > 1]
    return found


def _loss(deviation: Floats) -> Floats:
    """Huber's, as a deviance: of a normal deviation its square."""
    size = np.abs(deviation)
    return np.where(size <= HUBER, size**2, HUBER * (2 * size - HUBER))


def _bounds(size: int, possible: list[Possible], effects: Mapping[int, float]) -> tuple[Floats, Floats]:
    """By pair, the largest effect of what it uses, and all of them together; 0 without a cause."""
    slowest, together = np.zeros(size), np.zeros(size)
    for place, effect in effects.items():
        its = possible[place][2]
        slowest[its] = np.maximum(slowest[its], effect)
        together[its] += effect
    return slowest, together


def _nearest(deviation: Floats, slowest: Floats, together: Floats) -> Floats:
    """What causes explain of deviations: the nearest value between both bounds."""
    return np.clip(deviation, slowest, together)


@dataclass(frozen=True)
class _Fit:
    """Chooses the causes of deviations, which are in standard deviations.

    costs: of each possible cause, by how much it must lower the deviance.  least: the smallest effect that matters.
    """

    deviation: Floats
    possible: list[Possible]
    costs: Floats
    least: float

    def chosen(self) -> dict[int, float]:
        """The chosen causes by their places, with their effects."""
        found: dict[int, float] = {}
        others = self._explained(found)
        gains = np.array([self._gain(place, others) for place in range(len(self.possible))])
        of_pair: dict[int, list[int]] = {}
        for place, (_, _, its) in enumerate(self.possible):
            for pair in its.tolist():
                of_pair.setdefault(pair, []).append(place)
        for _ in self.possible:
            best, before = int(np.argmax(gains)), set(found)
            if not gains[best] > 0:
                break
            found[best] = self._effect(best, self._explained(found))
            self._settle(found)
            for place in [one for one in found if one != best]:
                without = {other: effect for other, effect in found.items() if other != place}
                if not self._gain(place, self._explained(without)) > 0:
                    found = without
                    self._settle(found)
            others = self._explained(found)
            changed = {best, *before, *found}
            for place in {other for one in changed for pair in self.possible[one][2] for other in of_pair[int(pair)]}:
                gains[place] = 0.0 if place in found else self._gain(place, others)
        return {place: effect for place, effect in found.items() if effect >= self.least}

    def _explained(self, effects: Mapping[int, float]) -> tuple[Floats, Floats]:
        return _bounds(self.deviation.size, self.possible, effects)

    def _effect(self, place: int, others: tuple[Floats, Floats]) -> float:
        """That of a cause: the median of its pairs that no other cause slows, if there are such."""
        its = self.possible[place][2]
        free = its[others[1][its] == 0]
        return float(np.median(self.deviation[free if free.size else its]))

    def _gain(self, place: int, others: tuple[Floats, Floats]) -> float:
        """By how much more than it costs a cause lowers the deviance. others: the bounds of other causes."""
        its, effect = self.possible[place][2], self._effect(place, others)
        if effect < self.least:
            return 0.0
        slowest, together, own = others[0][its], others[1][its], self.deviation[its]
        before = _loss(own - _nearest(own, slowest, together))
        after = _loss(own - _nearest(own, np.maximum(slowest, effect), together + effect))
        return float((before - after).sum() - self.costs[place])

    def _settle(self, found: dict[int, float]) -> None:
        """Set the effects of the chosen causes, one after the other until none moves."""
        for _ in range(ROUNDS):
            moved = 0.0
            for place, effect in list(found.items()):
                without = {other: of_other for other, of_other in found.items() if other != place}
                found[place] = self._effect(place, self._explained(without))
                moved = max(moved, abs(found[place] - effect))
            if moved < 1e-3:
                return
