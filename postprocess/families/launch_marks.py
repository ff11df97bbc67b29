"""The marks of curves, from the rows of a family's table."""

import math

import numpy as np
import pandas as pd

from postprocess.drawing.curves import ChartAxis, Mark
from postprocess.drawing.text import interval, ratio
from postprocess.statistics import launches
from postprocess.statistics.metrics import Floats


def mark_of(place: float, rows: pd.DataFrame, name: str, axis: ChartAxis) -> Mark:
    """The mark of rows that differ in nothing but the launch; of those that are reliable, if there are any.

    Value and interval are `launches.of_rows` of the column.
    """
    return _mark(place, _columns(rows, name), axis)


def marks_of(rows: pd.DataFrame, against: str, name: str, axis: ChartAxis) -> tuple[Mark, ...]:
    """The marks of rows that differ in nothing but the launch and the place, which is the number in a column."""
    places, columns = rows[against].to_numpy(np.float64), _columns(rows, name)
    known = np.unique(places[np.isfinite(places)])
    return tuple(_mark(int(place), columns[:, places == place], axis) for place in known)


def _columns(rows: pd.DataFrame, name: str) -> Floats:
    """Whether rows are reliable, and their values with both ends of their intervals: (4, rows). Arrays, because cutting
    tables into small ones takes long."""
    names = ("reliable", name, f"{name}_ci95_low", f"{name}_ci95_high")
    return np.array([rows[one].to_numpy(np.float64) for one in names])


def _mark(place: float, columns: Floats, axis: ChartAxis) -> Mark:
    reliable = columns[0] > 0
    numbers = launches.over_launches(*columns[1:, reliable if reliable.any() else slice(None)]).numbers
    return Mark(place, *numbers, _words(*numbers, axis), pale=not reliable.any())


def _words(value: float, low: float, high: float, axis: ChartAxis) -> str:
    if axis.words is ratio:
        return f"{ratio(value)} {interval(low, high)}"
    known = math.isfinite(low) and math.isfinite(high)
    return f"{axis.words(value)} [{axis.words(low)}, {axis.words(high)}]" if known else axis.words(value)
