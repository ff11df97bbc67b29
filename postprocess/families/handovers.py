"""How long ranks of a node took to hand a cache line to each other, beside what was timed: the state of the cores.

A virtual machine can change its state while it measures: the host moves a virtual core, and data between two cores take
another way. A time in one state says nothing about one in another. So each repetition has the least and the most time
of the hand-overs after its parts. A repetition is in the state of its point where both lie within a factor of
SAME_STATE of the median over the point.
"""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from postprocess.drawing.text import duration
from postprocess.records.fields import Nanoseconds

SAME_STATE = 1.5
"""Hand-overs of a point that differ by a larger factor are those of different states: the times in one state lie closer
to each other, and those of the other state are 4 times as long or more."""


class Point(Protocol):
    """A point with the least and the most hand-over of each valid repetition; empty where they were not timed."""

    @property
    def handover_least_ns(self) -> Nanoseconds: ...
    @property
    def handover_most_ns(self) -> Nanoseconds: ...


def handover_ns(point: Point) -> float:
    """The median time of a hand-over, ns; NaN where it is not known or no two ranks share a node.

    Of two times in the middle it is the shorter one: between the times of two states there is no state.
    """
    every = np.concatenate([point.handover_least_ns, point.handover_most_ns])
    median = float(np.quantile(every, 0.5, method="lower")) if every.size else math.nan
    return median if median > 0 else math.nan


def in_state(point: Point) -> NDArray[np.bool_] | None:
    """Which repetitions ran in the state in which most ran. None: all of them, or that is not known."""
    typical = handover_ns(point)
    if not typical > 0 or point.handover_least_ns.size != point.handover_most_ns.size:
        return None
    kept = (point.handover_least_ns >= typical / SAME_STATE) & (point.handover_most_ns <= typical * SAME_STATE)
    return None if kept.all() else kept


def words(time_ns: float) -> str:
    """The time of a hand-over in words; empty where it is not known."""
    return duration(time_ns) if math.isfinite(time_ns) else ""


def left_out_words(left_out: int, repetitions: int) -> list[str]:
    """The remark on a point of which repetitions were left out; none where all count."""
    return [f"{left_out} of {repetitions} repetitions left out: the cores were in another state"] if left_out else []
