"""Where a series of nights changes for good, when nights are correlated: pure functions on NumPy arrays.

A series is a sequence of states, each with its level, and noise: an autoregression of order 1, because a night is like
the night before (Chakar et al. 2017, "A robust approach for estimating change-points in the mean of an AR(1) process",
doi:10.3150/15-BEJ782). Nobody knows how much alike they are: a series that wanders without any step looks like a calm
one with steps. So steps are weighed under every correlation of CORRELATIONS.

1. A bad night or two are no state. Values are clipped to OUTLIER times the noise around a running median, which three
   nights at the end of the series can move.
2. `ruptures` proposes the places of 1, 2, 3, ... steps: those of least squares.
3. The evidence of a set of steps is its likelihood, averaged over levels and the width of the noise (Zellner's prior
   with the information of one night: Liang et al. 2008, doi:10.1198/016214507000001337) and over correlations, divided
   by the number of nights for each step, as it could be at any of them. The set with most evidence is taken.
4. The p-value of a step is the evidence without it over the evidence with it. Where nothing changes, such a ratio falls
   below p on any night of a growing series with a probability of at most p (Ville 1939): one may ask every night.
5. How likely each correlation is, is learnt from all other series (empirical Bayes). With one series, all are equally
   likely.

A wave is weighed in the same way. If it has much more evidence than any steps, steps are searched in what it leaves.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from postprocess.statistics.metrics import CONFIDENCE, Floats

NEWER = 3
"""The fewest nights of a state."""
NEEDED = 12
"""The fewest nights of a series in which steps are searched."""
NEIGHBOURS = 9
"""The nights of the running median."""
OUTLIER = 3.0
CORRELATIONS = np.append(np.linspace(0, 0.9, 10), 0.95)
"""Of a night with the night before."""
ANY = np.full(CORRELATIONS.size, 1 / CORRELATIONS.size)
SLOWEST = 400
PERIODS = np.geomspace(10, SLOWEST, 60)
"""Of a wave, in nights. Shorter ones, such as a week, are noise."""
TURNS = 1.5
"""The fewest turns of a wave."""
DOUBT = 0.01
"""A wave is one if its evidence, times this, is still more than that of steps."""
AHEAD = 2
"""So many larger numbers of steps are tried after one that has less evidence: a step and its end come together."""
_NUMBERS = 4_000_000
"""The most numbers in an array."""


@dataclass(frozen=True)
class Contrast:
    """A state against another: the difference of their levels, the ends of its 95 % interval, the p-value."""

    effect: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Wave:
    """A wave: its period in nights, its highest level minus its lowest, the p-value."""

    period: float
    height: float
    p_value: float


@dataclass(frozen=True)
class _Equations:
    """The normal equations of levels, for each correlation. matrix: (correlations, levels, levels); right:
    (correlations, levels); square: the sum of squares, (correlations,)."""

    matrix: Floats
    right: Floats
    square: Floats

    @functools.cached_property
    def levels(self) -> Floats:
        """The levels of least squares, (correlations, levels)."""
        return np.asarray(np.linalg.solve(self.matrix, self.right[..., None])[..., 0])

    @property
    def remains(self) -> Floats:
        """The sum of squares that is left, (correlations,)."""
        left = self.square - np.einsum("...i,...i->...", self.right, self.levels)
        return np.asarray(np.maximum(left, 1e-12 * self.square))

    def joined(self, one: int, other: int) -> _Equations:
        """The same with one level for two states."""
        of = np.arange(self.right.shape[-1])
        of[other] = one
        join = np.delete(np.eye(of.size)[of], other, axis=1)
        return _Equations(join.T @ self.matrix @ join, self.right @ join, self.square)


@dataclass(frozen=True)
class _Steps:
    """Steps, and for each correlation the logarithm of their evidence; nothing: of none, and what none leaves."""

    places: tuple[int, ...]
    values: Floats
    nothing: tuple[Floats, Floats]

    @property
    def nights(self) -> int:
        """Their number."""
        return self.values.size

    @functools.cached_property
    def equations(self) -> _Equations:
        """Those of the levels between places."""
        return _equations(self.values, self.places)

    def nearby(self, step: int) -> list[_Equations]:
        """The equations where a step is at its place, or at one of those nearby."""
        ends = [0, *self.places, self.nights]
        at = self.places[step]
        places = range(max(ends[step] + NEWER, at - NEWER), min(ends[step + 2] - NEWER, at + NEWER) + 1)
        return [_equations(self.values, [*self.places[:step], one, *self.places[step + 1 :]]) for one in places]

    @functools.cached_property
    def evidence(self) -> Floats:
        """The logarithm of their evidence for each correlation."""
        return self.evidence_of(_equations(self.values, self.places))  # which most steps need this once only

    def evidence_of(self, equations: _Equations) -> Floats:
        """The same of other steps."""
        more = equations.right.shape[-1] - 1
        likelihood, remains = self.nothing
        gain = _gain(equations.remains / remains, self.nights, more)
        return np.asarray(likelihood + gain - more * math.log(self.nights))


@dataclass(frozen=True)
class States:
    """The states of a series, each with its level, on a wave or not. likely: how likely each correlation was before;
    middle: what was taken off all values."""

    steps: _Steps
    likely: Floats
    wave: Wave | None
    middle: float

    @property
    def places(self) -> tuple[int, ...]:
        """The first night of each state but the first."""
        return self.steps.places

    @property
    def levels(self) -> Floats:
        """That of each state."""
        return np.asarray(self.middle + self._weight @ self.steps.equations.levels)

    @functools.cached_property
    def _weight(self) -> Floats:
        """How likely each correlation is, where steps are these."""
        return _weights(self.steps.evidence, self.likely)

    def contrast(self, one: int, other: int) -> Contrast:
        """State `other` against state `one`."""
        equations, weights = self.steps.equations, self._weight
        with_it, without = (
            np.logaddexp.reduce(_sums(np.array([self.steps.evidence_of(of) for of in places]), self.likely))
            for places in (self.steps.nearby(other - 1), [equations.joined(one, other)])
        )
        apart = np.zeros(len(self.places) + 1)
        apart[[one, other]] = -1, 1
        freedom = self.steps.nights - apart.size - 1
        effects = equations.levels @ apart
        effect = float(weights @ effects)
        variances = np.einsum("i,gij,j->g", apart, np.linalg.inv(equations.matrix), apart) * equations.remains / freedom
        error = math.sqrt(weights @ (variances + (effects - effect) ** 2))
        reach = float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
        return Contrast(effect, effect - reach, effect + reach, math.exp(min(0.0, float(without - with_it))) / 2)


def states_of(series: Sequence[Floats]) -> list[States | None]:
    """The states of each series, its nights in the order of time; None where there is one state and no wave."""
    of_length: dict[int, list[int]] = defaultdict(list)
    for number, values in enumerate(series):
        if values.size >= NEEDED:
            of_length[values.size].append(number)
    candidates: dict[int, _Candidate] = {}
    weight = np.tile(ANY, (len(series), 1))
    for nights, numbers in of_length.items():
        for part in np.array_split(numbers, -(-len(numbers) * nights * ANY.size // _NUMBERS)):
            values = calm(np.array([series[one] for one in part]))
            weight[part] = _weights(_nothing(values)[0], ANY)
            candidates |= {int(part[one]): _Candidate(values[one]) for one in np.flatnonzero(_moves(values))}
    for number, candidate in candidates.items():
        weight[number] = candidate.weight
    of_all = ANY + weight.sum(axis=0)
    found: list[States | None] = [None] * len(series)
    for number, candidate in candidates.items():
        found[number] = candidate.states((of_all - weight[number]) / len(series))
    return found


def calm(values: Floats) -> Floats:
    """Values of shape (series, nights) without outliers."""
    noise = noise_of(values)[:, None]
    middle = scipy.ndimage.median_filter(values, (1, NEIGHBOURS), mode="mirror")
    return np.asarray(np.clip(values, middle - OUTLIER * noise, middle + OUTLIER * noise))


def noise_of(values: Floats) -> Floats:
    """The standard deviation between nights, from the median step between neighbours: changes hardly move it."""
    return np.asarray(np.median(np.abs(np.diff(values)), axis=-1) / (scipy.special.ndtri(0.75) * math.sqrt(2)))


@dataclass(frozen=True)
class _Waves:
    """A wave of each period: its parts (periods, 3, nights), their equations, and the logarithm of its evidence for
    each correlation, (periods, correlations)."""

    parts: Floats
    equations: _Equations
    evidence: Floats

    def values(self, which: int, likely: Floats) -> Floats:
        """The wave of one period around 0."""
        levels = _weights(self.evidence[which], likely) @ self.equations.levels[which]
        return np.asarray(levels[1:] @ self.parts[which, 1:])


class _Candidate:
    """A series that may have steps: the sets of steps with the most evidence so far, and the evidence of a wave
    of each period, (periods, correlations)."""

    def __init__(self, values: Floats) -> None:
        self.middle = float(values.mean())
        self.values = values - self.middle
        self.steps = list(_proposed(self.values))
        self.of_waves = _waves(self.values).evidence

    @property
    def weight(self) -> Floats:
        """How likely each correlation is, when any is as likely before, and any number of steps."""
        evidence = [*(steps.evidence for steps in self.steps), *self.of_waves]
        return _weights(np.logaddexp.reduce(evidence), ANY)

    def states(self, likely: Floats) -> States | None:
        """The states, when correlations are so likely."""
        best, most = self._best(likely)
        of_period = _sums(self.of_waves, likely)
        if of_period.size and (p_value := math.exp(min(0.0, most - of_period.max()))) < DOUBT:
            which = int(np.argmax(of_period))
            wave = _waves(self.values).values(which, likely)
            without = _Candidate(self.values - wave)
            rest, _ = without._best(likely)
            of = Wave(float(PERIODS[which]), float(np.ptp(wave)), p_value)
            return States(rest, likely, of, self.middle + without.middle)
        return States(best, likely, None, self.middle) if best.places else None

    def _best(self, likely: Floats) -> tuple[_Steps, float]:
        evidence = _sums(np.array([steps.evidence for steps in self.steps]), likely)
        most = int(np.argmax(evidence))
        return self.steps[most], float(evidence[most])


def _proposed(values: Floats) -> Iterator[_Steps]:
    """Steps at 0, 1, 2, ... places, until more of them have less evidence."""
    nights, best, behind = values.size, -math.inf, 0
    nothing = _nothing(values)
    import ruptures  # type: ignore[import-untyped]  # noqa: PLC0415  # it loads for half a second

    detector = ruptures.KernelCPD(kernel="linear", min_size=NEWER).fit(values[:, None])
    for count in range(nights // (2 * NEWER)):
        places = tuple(map(int, detector.predict(n_bkps=count)[:-1])) if count else ()
        steps = _Steps(places, values, nothing)
        yield steps
        evidence = float(_sums(steps.evidence, ANY))
        best, behind = (evidence, 0) if evidence > best else (best, behind + 1)
        if behind > AHEAD:
            return


def _equations(values: Floats, places: Sequence[int]) -> _Equations:
    """Of the levels between places."""
    nights = values.size
    which = np.searchsorted(places, np.arange(nights), side="right")
    return _normal(values, np.eye(len(places) + 1)[:, which])


def _normal(values: Floats, parts: Floats) -> _Equations:
    """Of values (nights,) that are a sum of parts (..., parts, nights)."""
    white, whites = _whitened(values), np.swapaxes(_whitened(parts), -3, -2)
    return _Equations(
        whites @ np.swapaxes(whites, -2, -1), (whites @ white[..., None])[..., 0], (white**2).sum(axis=-1)
    )


def _whitened(values: Floats) -> Floats:
    """Values (..., nights) without each correlation: (..., correlations, nights)."""
    white = np.sqrt(1 - CORRELATIONS[:, None] ** 2) * values[..., None, :]
    white[..., 1:] = values[..., None, 1:] - CORRELATIONS[:, None] * values[..., None, :-1]
    return np.asarray(white)


def _nothing(values: Floats) -> tuple[Floats, Floats]:
    """Of values (..., nights) without steps: the logarithm of the likelihood of each correlation, and the sum of
    squares that it leaves, (..., correlations)."""
    nights = values.shape[-1]
    white, one = _whitened(values), _whitened(np.ones(nights))
    own, square = (one**2).sum(axis=-1), (white**2).sum(axis=-1)
    remains = np.maximum(square - np.einsum("...gn,gn->...g", white, one) ** 2 / own, 1e-12 * square + 1e-300)
    return (np.log1p(-(CORRELATIONS**2)) - np.log(own) - (nights - 1) * np.log(remains)) / 2, remains


def _sums(evidence: Floats, likely: Floats) -> Floats:
    """The logarithm of evidence over all correlations, (..., correlations), which are so likely."""
    most = evidence.max(axis=-1, keepdims=True)
    return np.asarray(most[..., 0] + np.log(np.exp(evidence - most) @ likely))


def _weights(evidence: Floats, likely: Floats) -> Floats:
    """How likely each correlation is after evidence, (..., correlations), that were so likely before."""
    weights = likely * np.exp(evidence - evidence.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _gain(remains: Floats, nights: int, more: int) -> Floats:
    """The logarithm of the Bayes factor of so many more levels, which leave so large a share of the squares."""
    return np.asarray((nights - 1 - more) / 2 * math.log1p(nights) - (nights - 1) / 2 * np.log1p(nights * remains))


def _moves(values: Floats) -> NDArray[np.bool_]:
    """In which series (series, nights) some nights in a row have more evidence than none, if nights are independent.
    This takes a small part of the time that all else takes for a series."""
    nights = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    square = (centred**2).sum(axis=1)
    sums = np.pad(np.cumsum(centred, axis=1), ((0, 0), (1, 0)))
    most = np.zeros(len(values))
    for length in range(NEWER, nights):
        apart = ((sums[:, length:] - sums[:, :-length]) ** 2).max(axis=1)
        most = np.maximum(most, apart * nights / (length * (nights - length)))
    remains = np.divide(square - most, square, out=np.ones(len(values)), where=square > 0)
    return np.asarray(_gain(np.maximum(remains, 0), nights, 1) > math.log(nights))


def _waves(values: Floats) -> _Waves:
    """Those of every period that the nights are enough for."""
    nights = values.size
    periods = PERIODS[nights >= PERIODS * TURNS]
    turns = 2 * np.pi * np.arange(nights) / periods[:, None]
    parts = np.stack([np.ones_like(turns), np.cos(turns), np.sin(turns)], axis=1)
    equations = _normal(values, parts)
    likelihood, remains = _nothing(values)
    gain = _gain(equations.remains / remains, nights, 2)
    return _Waves(parts, equations, likelihood + gain - math.log(max(periods.size, 1)))
