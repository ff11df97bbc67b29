"""The picture of a machine: a square for each node, in the colour of how much slower than the others it is."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from postprocess.drawing.colour import SCALES, class_colour, hexadecimal, level_class
from postprocess.drawing.text import clean, ratio
from postprocess.families.sampled_table import case_words
from postprocess.families.whole_machine.verdict import ALONE, AXES, PAIR, Case, over_usual

SCALE = "comp"
SIDE = 12
"""Of a square, in units of the picture."""


@dataclass(frozen=True)
class Square:
    """A node.  x, y: of its upper left corner.  words: its name and how much slower it is."""

    x: int
    y: int
    words: str


@dataclass(frozen=True)
class Grid:
    """A picture.  squares: by colour, as in a style sheet.  legend: the colours of named ratios."""

    title: str
    across: int
    up: int
    side: int
    squares: dict[str, list[Square]]
    legend: list[tuple[str, str]]


def grids(case: Case) -> Iterator[Grid]:
    """The nodes of a case alone, and in their pairs: the median over the pairs of each. Nodes below one switch are side
    by side."""
    switch_of = case.rows.groupby("host")["switch"].first()
    hosts = sorted(switch_of.index, key=lambda host: (switch_of[host], _natural(str(host))))
    across = math.ceil(math.sqrt(len(hosts)))
    for part, what in ((ALONE, "computing alone"), (PAIR, "exchanging messages in pairs")):
        rows = case.rows[case.rows["part"] == part]
        if rows.empty:
            continue
        slower = over_usual(rows).groupby(rows["host"]).median()
        squares: dict[str, list[Square]] = defaultdict(list)
        for place, host in enumerate(hosts):
            value = float(slower.get(host, math.nan))
            below = f", switch {clean(switch_of[host])}" if switch_of[host] else ""
            square = Square(SIDE * (place % across), SIDE * (place // across), f"{clean(host)}{below}: {ratio(value)}")
            squares[_colour(value)].append(square)
        yield Grid(
            f"{case_words(AXES, case.row)}: each node {what}, over the median node",
            SIDE * across,
            SIDE * math.ceil(len(hosts) / across),
            SIDE - 1,
            dict(squares),
            [(_colour(value), name) for value, name in SCALES[SCALE].ticks.items()],
        )


def _natural(host: str) -> tuple[str, int, str]:
    """node10 comes after node9."""
    short, _, site = host.partition(".")
    name = short.rstrip("0123456789")
    return name, int(short[len(name) :] or 0), site


def _colour(value: float) -> str:
    return hexadecimal(class_colour(level_class(SCALE, value)))
