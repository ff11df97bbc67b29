"""The marks of curves, from the rows of a family's table."""

import math

import pandas as pd

from postprocess.drawing.curves import ChartAxis, Mark
from postprocess.drawing.text import interval, ratio
from postprocess.statistics import launches


def mark_of(place: float, rows: pd.DataFrame, name: str, axis: ChartAxis) -> Mark:
    """The mark of rows that differ in nothing but the launch; of those that are reliable, if there are any.

    Value and interval are `launches.of_rows` of the column.
    """
    reliable = rows[rows["reliable"].astype(bool)]
    shown = reliable if len(reliable) else rows
    numbers = launches.of_rows(shown, name).numbers
    return Mark(place, *numbers, _words(*numbers, axis), pale=reliable.empty)


def marks_of(rows: pd.DataFrame, against: str, name: str, axis: ChartAxis) -> tuple[Mark, ...]:
    """The marks of rows that differ in nothing but the launch and the place, which is the number in a column."""
    needed = rows[[*dict.fromkeys((against, "reliable", name, f"{name}_ci95_low", f"{name}_ci95_high"))]]
    return tuple(mark_of(int(str(place)), of_place, name, axis) for place, of_place in needed.groupby(against))


def _words(value: float, low: float, high: float, axis: ChartAxis) -> str:
    if axis.words is ratio:
        return f"{ratio(value)} {interval(low, high)}"
    known = math.isfinite(low) and math.isfinite(high)
    return f"{axis.words(value)} [{axis.words(low)}, {axis.words(high)}]" if known else axis.words(value)
