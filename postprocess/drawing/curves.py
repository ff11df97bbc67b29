"""Curves of a family as data: a value with its interval against a size, a number of ranks or anything else.

Each `Chart` is drawn twice from the same numbers: by `curve_plot` for papers, and by `curve_view` in the report. A mark
is pale where its point is not reliable, and so is the line to it and from it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from postprocess.drawing.text import duration, plural, quotient, ratio, size

SOLID, DASHED, DASH_DOTTED, DOTTED = "-", "--", "-.", ":"
"""How a line is drawn, as matplotlib names it."""
SIDE_BY_SIDE, WIDEST = 0.14, 0.6
"""How far the marks of neighbouring curves are from each other on a named axis, and all of a place at most."""
PALE = 0.3
"""The opacity of a mark that is not reliable, as a share of that of its curve."""
COLOURS = {
    "black": "#000000", "blue": "#0072b2", "orange": "#e69f00", "pink": "#cc79a7", "green": "#009e73",
    "red": "#d55e00", "sky": "#56b4e9", "violet": "#5d3a9b", "olive": "#8a8a00", "grey": "#777777",
}  # fmt: skip
"""Colours which colour-blind readers can tell apart: Okabe and Ito's, violet, olive and grey."""


@dataclass(frozen=True)
class Mark:
    """A value with its 95 % interval (NaN if unknown) at a place of the horizontal axis."""

    place: float
    value: float
    low: float
    high: float
    words: str
    pale: bool = False


@dataclass(frozen=True)
class Style:
    """The look of a curve.

    marker: one of `curve_view.SHAPES`; empty: only its line is drawn.  opacity: above 0, at most 1.  hollow: whether
    only the outline of its marks is drawn.
    """

    colour: str = COLOURS["grey"]
    marker: str = "o"
    line: str = SOLID
    opacity: float = 1.0
    hollow: bool = False


@dataclass(frozen=True)
class Curve:
    """Marks with a name, ascending by their places."""

    name: str
    style: Style
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class ChartAxis:
    """An axis of a chart: a scale for places or values.

    words: how a number on it is written.  named: its places, 0, 1, 2 ..., stand for names without an order, so that no
    line joins marks, and those of several curves stand side by side.  binary: its numbers are bytes, of which round
    ones are of KiB, MiB and so on.
    """

    name: str
    log: bool
    words: Callable[[float], str]
    named: bool = False
    binary: bool = False


MESSAGE = ChartAxis("message", log=True, words=lambda place: size(int(place)))
NODES = ChartAxis("nodes", log=True, words=lambda place: str(int(place)))
RANKS = ChartAxis("ranks", log=True, words=lambda place: str(int(place)))


def time_axis(name: str) -> ChartAxis:
    """A logarithmic axis of times in nanoseconds."""
    return ChartAxis(name, log=True, words=duration)


def ratio_axis(name: str) -> ChartAxis:
    """A linear axis of numbers without a unit."""
    return ChartAxis(name, log=False, words=ratio)


def quotient_axis(name: str) -> ChartAxis:
    """A linear axis of ratios of times, of which small ones matter, too."""
    return ChartAxis(name, log=False, words=quotient)


@dataclass(frozen=True)
class Chart:
    """A picture with curves.

    kind: which of the family's charts it is.  figures: the figures of a paper that have the same curves, and the paper.
    low, high: the values at the lower and the upper edge.  level: the value of a line across the picture, such as the
    gain 1; NaN for none.  upright: the place of an upright line; NaN for none.  left_out: how many points cannot be
    drawn, and lost: why not.  values_are: what marks with an interval are.  pale_are: why marks are pale.
    remarks: what else a reader should know, a phrase each.
    """

    kind: str
    title: str
    figures: str
    horizontal: ChartAxis
    vertical: ChartAxis
    low: float
    high: float
    curves: tuple[Curve, ...]
    level: float = math.nan
    left_out: int = 0
    lost: str = "without a value"
    upright: float = math.nan
    remarks: tuple[str, ...] = ()
    values_are: str = "medians"
    pale_are: str = "not reliable, the table says why"

    @property
    def places(self) -> list[float]:
        """The places of the horizontal axis that have a mark, ascending."""
        return sorted({mark.place for curve in self.curves for mark in curve.marks})

    @property
    def has_upright(self) -> bool:
        """Whether the upright line is between its places."""
        return bool(self.places) and self.places[0] <= self.upright <= self.places[-1]

    @property
    def notes(self) -> list[str]:
        """What a reader should know of what is shown, a phrase each."""
        pale = sum(mark.pale for curve in self.curves for mark in curve.marks if curve.style.marker)
        return [
            *([f"{plural(pale, 'mark')} pale: {self.pale_are}"] if pale else []),
            *([f"{plural(self.left_out, 'point')} {self.lost} left out"] if self.left_out else []),
            *self.remarks,
        ]

    def shifts(self) -> list[float]:
        """How far the marks of each curve are drawn from their places."""
        marked = [number for number, curve in enumerate(self.curves) if curve.style.marker and self.horizontal.named]
        step = min(SIDE_BY_SIDE, WIDEST / max(len(marked), 1))
        by_number = {number: (order - (len(marked) - 1) / 2) * step for order, number in enumerate(marked)}
        return [by_number.get(number, 0.0) for number in range(len(self.curves))]

    def joins(self, curve: Curve) -> bool:
        """Whether one of its curves has a line: marks at names are not joined."""
        return not (self.horizontal.named and curve.style.marker)

    def lines(self, curve: Curve) -> tuple[list[list[Mark]], list[list[Mark]]]:
        """The pieces of the line of one of its curves, as of `solid_and_pale`."""
        return solid_and_pale(curve) if self.joins(curve) else ([], [])

    def shown_places(self, most: int) -> list[float]:
        """At most so many of the places, evenly spread, for the labels of the axis; the first one is among them."""
        places = self.places
        return places[:: math.ceil(len(places) / most)] if places else []

    def ticks(self) -> list[float]:
        """Round values between the edges, for the labels of the vertical axis.

        Powers of ten of a logarithmic axis, with 3 between them where they are few; else steps of 1, 2 or 5.
        """
        low, high = self.low, self.high
        if self.vertical.log:
            powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            factors = (1, 3) if len(powers) <= 4 else (1,)
            return [
                factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high
            ]
        unit = 1024.0 ** math.floor(math.log(high - low, 1024)) if self.vertical.binary and high - low >= 1 else 1.0
        magnitude = unit * 10.0 ** math.floor(math.log10((high - low) / unit))
        step = next(s for s in (magnitude, magnitude / 2, magnitude / 5, magnitude / 10) if (high - low) / s >= 4)
        return [float(number) for number in np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step]


def sure_values(curves: Sequence[Curve]) -> tuple[float, float]:
    """The smallest and the largest value of all marks, with the intervals of those that are not pale."""
    shown = _sure(curves)
    return min(shown), max(shown)


def edges_of_times(curves: Sequence[Curve]) -> tuple[float, float]:
    """The edges of a logarithmic axis of times. An interval that reaches below 0 is drawn as far as the edge."""
    shown = [number for number in _sure(curves) if number > 0]
    return min(shown) / 1.5, 1.5 * max(shown)


def _sure(curves: Sequence[Curve]) -> list[float]:
    return [
        number
        for curve in curves
        for mark in curve.marks
        for number in ((mark.value,) if mark.pale else (mark.value, mark.low, mark.high))
        if math.isfinite(number)
    ]


def solid_and_pale(curve: Curve) -> tuple[list[list[Mark]], list[list[Mark]]]:
    """The pieces of a curve's line: those between marks that are reliable, and the others, which are drawn pale."""
    pieces: tuple[list[list[Mark]], list[list[Mark]]] = ([], [])
    for one, two in zip(curve.marks, curve.marks[1:], strict=False):
        of_kind = pieces[one.pale or two.pale]
        if of_kind and of_kind[-1][-1] is one:
            of_kind[-1].append(two)
        else:
            of_kind.append([one, two])
    return pieces
