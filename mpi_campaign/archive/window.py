"""The window that a run is shown in: its width, and whether it has colours."""

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Any

import click

from postprocess.drawing.colour import class_colour
from postprocess.drawing.matrix import Halves, Paint, State

LEAST_WIDTH = 80
COLOURS: dict[State, dict[str, Any]] = {
    "good": {"fg": "green", "bold": True},
    "even": {"fg": "blue", "bold": True},
    "bad": {"fg": "red", "bold": True},
    "unknown": {"dim": True},
}


@dataclass(frozen=True)
class Window:
    """What is printed on.  width: its characters.  is_terminal: whether lines are cut to it.  paint: colours a word.
    halves: draws small maps; None where there are no colours."""

    width: int
    is_terminal: bool
    paint: Paint
    halves: Halves | None = None


def window() -> Window:
    """The window of standard output: at least LEAST_WIDTH wide; without colours where there are none, or none are
    wanted (https://no-color.org)."""
    is_terminal = sys.stdout.isatty()
    coloured = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = max(LEAST_WIDTH, shutil.get_terminal_size().columns)
    if not coloured:
        return Window(width, is_terminal, lambda text, _state: text)
    draws = "utf" in str(sys.stdout.encoding).lower()
    return Window(width, is_terminal, _coloured, _halves if draws else None)


def _halves(upper: str, lower: str) -> str:
    return click.style("\N{UPPER HALF BLOCK}", fg=_colour(upper), bg=_colour(lower) if lower else None)


def _colour(name: str) -> int:
    """The nearest of a terminal's 256 colours to that of a class."""
    red, green, blue = (round(5 * part) for part in class_colour(name))
    return 16 + 36 * red + 6 * green + blue


def _coloured(text: str, state: State) -> str:
    return click.style(text, **COLOURS[state])
