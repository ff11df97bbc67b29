"""The colours of maps: a continuous scale for each kind of ratio, in two palettes.

`paper` is the palette of Denis et al. 2022, section 5.2. The overhead ratio is blue below 0, green at 0, yellow at 1
and red above; the concurrency ratios go from blue (best) to red (worst). Its green and red look alike to one man in
twelve. `safe` goes from dark violet through blue and pale yellow to orange. Readers with deuteranopia, protanopia or
tritanopia can tell its colours apart, too.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Rgb: TypeAlias = tuple[float, float, float]

PALETTES = {"paper": "as in the paper: blue, green, yellow, red", "safe": "colour-blind safe: violet, blue, orange"}
"""The palettes by name, each with a description."""

LEVELS = 80
"""The number of steps of a scale on a page: fine enough for the eye, and few enough to be classes of a style sheet."""

_BLUE, _TEAL, _GREEN, _YELLOW, _RED = (
    (0.19, 0.42, 0.80),
    (0.45, 0.75, 0.72),
    (0.22, 0.66, 0.36),
    (1.00, 0.88, 0.34),
    (0.80, 0.17, 0.15),
)
_SAFE_VIOLET, _SAFE_BLUE, _SAFE_PALE, _SAFE_ORANGE = (
    (0.27, 0.05, 0.40),
    (0.20, 0.50, 0.80),
    (0.98, 0.95, 0.78),
    (0.78, 0.30, 0.05),
)


@dataclass(frozen=True)
class Scale:
    """The colour scale of a kind of ratio.

    values: ascending ratios.
    palettes: for each palette a colour (red, green, blue from 0 to 1) per value. Colours are mixed between two values,
    and stay the same beyond the first and the last value.
    ticks: the values that a colour bar names, with their names.
    """

    values: tuple[float, ...]
    palettes: Mapping[str, tuple[Rgb, ...]]
    ticks: Mapping[float, str]

    @property
    def low(self) -> float:
        """The smallest value of the scale."""
        return self.values[0]

    @property
    def high(self) -> float:
        """The largest value of the scale."""
        return self.values[-1]

    def stops(self, palette: str) -> list[tuple[float, Rgb]]:
        """The values of the scale with their colours in a palette."""
        return list(zip(self.values, self.palettes[palette], strict=True))

    def colour(self, value: float, palette: str = "paper") -> Rgb:
        """The colour of a finite ratio. Raises ValueError for a ratio that is not finite."""
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a finite ratio")
        place = min(max(value, self.low), self.high)
        for (low, first), (high, second) in pairwise(self.stops(palette)):
            if place <= high:
                return mixed(first, second, (place - low) / (high - low))
        raise AssertionError("the last value is the highest")

    def level(self, value: float) -> int:
        """The step of a finite ratio, from 0 to `LEVELS`."""
        return round(LEVELS * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low))

    def level_value(self, level: int) -> float:
        """The ratio of a step."""
        return self.low + (self.high - self.low) * level / LEVELS


SCALES: Mapping[str, Scale] = {
    "overhead": Scale(
        (-0.5, 0.0, 1.0, 2.0),
        {"paper": (_BLUE, _GREEN, _YELLOW, _RED), "safe": (_SAFE_VIOLET, _SAFE_BLUE, _SAFE_PALE, _SAFE_ORANGE)},
        {-0.5: "-0.5", 0.0: "0 overlap", 1.0: "1 serialised", 2.0: "2 slower"},
    ),
    "comm": Scale(
        (0.0, 0.5, 1.0, 2.0),
        {"paper": (_BLUE, _TEAL, _YELLOW, _RED), "safe": (_SAFE_BLUE, (0.59, 0.725, 0.79), _SAFE_PALE, _SAFE_ORANGE)},
        {0.0: "0 hidden", 1.0: "1 as if alone", 2.0: "2 slower"},
    ),
    "comp": Scale(
        (1.0, 1.125, 1.25, 1.5),
        {"paper": (_BLUE, _TEAL, _YELLOW, _RED), "safe": (_SAFE_BLUE, (0.59, 0.725, 0.79), _SAFE_PALE, _SAFE_ORANGE)},
        {1.0: "1 untouched", 1.25: "1.25", 1.5: "1.5 slower"},
    ),
    "speedup": Scale(
        (0.5, 1.0, 1.5, 2.0),
        {"paper": (_RED, _YELLOW, _GREEN, _BLUE), "safe": (_SAFE_ORANGE, _SAFE_PALE, _SAFE_BLUE, _SAFE_VIOLET)},
        {0.5: "0.5 slower", 1.0: "1 the same", 1.5: "1.5 faster", 2.0: "2"},
    ),
}
"""The scale of each kind of ratio that maps show."""

NO_VALUE: Rgb = (0.85, 0.85, 0.85)
FADED = 0.35
"""The share of its colour that a faded cell keeps."""


NO_LEVEL = "none"
"""The class of a place without a value."""


def level_class(scale: str, value: float) -> str:
    """The class of a value's colour: the name of the scale and the step on it, or `NO_LEVEL`."""
    return f"{scale}{SCALES[scale].level(value)}" if math.isfinite(value) else NO_LEVEL


def tick_classes(scale: str) -> dict[str, str]:
    """The name of each tick of a scale, by the class of its colour."""
    return {level_class(scale, value): name for value, name in SCALES[scale].ticks.items()}


def scale_of(name: str) -> str:
    """The scale of a class of `level_class` but `NO_LEVEL`."""
    return name.rstrip("0123456789")


def class_colour(name: str, palette: str = "paper") -> Rgb:
    """The colour of a class of `level_class`."""
    if name == NO_LEVEL:
        return NO_VALUE
    scale = scale_of(name)
    return SCALES[scale].colour(SCALES[scale].level_value(int(name.removeprefix(scale))), palette)


def mixed(first: Rgb, second: Rgb, share: float) -> Rgb:
    """A mixture of two colours, with `share` of the second colour."""
    red, green, blue = (a + share * (b - a) for a, b in zip(first, second, strict=True))
    return red, green, blue


def faded(rgb: Rgb) -> Rgb:
    """The colour mixed with white, with `FADED` of its strength."""
    return mixed((1.0, 1.0, 1.0), rgb, FADED)


def text_colour(background: Rgb) -> Rgb:
    """Black or white, whichever has more contrast: at least 4.5 on every background, as WCAG 2 requires."""
    black, white = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    return max((black, white), key=lambda ink: contrast(ink, background))


def contrast(one: Rgb, other: Rgb) -> float:
    """The contrast of two colours by WCAG 2, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def hexadecimal(rgb: Rgb) -> str:
    """The colour as ``#rrggbb``."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _luminance(rgb: Rgb) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
