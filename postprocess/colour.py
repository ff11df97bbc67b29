"""The colours of section 5.2: blue below 0, green at 0, yellow at 1, red above; one continuous scale for every map."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

Rgb: TypeAlias = tuple[float, float, float]

STOPS: tuple[tuple[float, Rgb], ...] = (
    (-0.5, (0.19, 0.42, 0.80)),
    (0.0, (0.22, 0.66, 0.36)),
    (1.0, (1.00, 0.88, 0.34)),
    (2.0, (0.80, 0.17, 0.15)),
)
"""Ratio and colour (red, green, blue from 0 to 1); in between they are mixed, beyond the ends they stay."""

NO_VALUE: Rgb = (0.85, 0.85, 0.85)


def colour(ratio: float) -> Rgb:
    """The colour of a finite overhead ratio."""
    value = min(max(ratio, STOPS[0][0]), STOPS[-1][0])
    for (low, first), (high, second) in pairwise(STOPS):
        if value <= high:
            share = (value - low) / (high - low)
            red, green, blue = (a + share * (b - a) for a, b in zip(first, second, strict=True))
            return red, green, blue
    raise ValueError(f"{ratio} is not a finite ratio")


def text_colour(background: Rgb) -> Rgb:
    """Black or white, whichever has more contrast: at least 4.5, as WCAG 2 asks, on every background."""
    black, white = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    return max((black, white), key=lambda ink: contrast(ink, background))


def contrast(one: Rgb, other: Rgb) -> float:
    """The contrast of two colours by WCAG 2, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def hexadecimal(rgb: Rgb) -> str:
    """``#rrggbb``."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _luminance(rgb: Rgb) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
