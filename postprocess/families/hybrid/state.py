"""In which state the cores were while a point was measured: how long ranks of a node take to hand a cache line to each
other.

A virtual machine can change its state while it measures: the host moves a virtual core, and data between two cores take
another way. A time in one state says nothing about one in another. So each repetition has the least and the most time
of the hand-overs after its batches. A repetition is in the state of its point where both lie within a factor of
SAME_STATE of the median over the point.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from postprocess.drawing.text import duration
from postprocess.families.hybrid.record import HybridPoint

SAME_STATE = 1.5
"""Hand-overs of a point that differ by a larger factor are those of different states: the times in one state lie closer
to each other, and those of the other state are 4 times as long or more."""
OTHER_POINT = 2.0
"""The same between points. Measured in two runs on virtual machines of two cores: the medians of points in one state
are 21 to 34 ns, in the other 139 to 190 ns. The factor is half-way between them, the root of 139 / 34."""
NEAR = "near"
NAMES = (NEAR, "far", "farther", "farthest")
"""The names of states where there are several, the one with the shortest hand-overs first."""


def in_one_state(point: HybridPoint) -> tuple[HybridPoint, int]:
    """The point with the repetitions that ran in the state in which most ran, and how many were left out.

    Where the record has no hand-overs, or no two ranks share a node, these are all repetitions.
    """
    typical = handover_ns(point)
    if not typical > 0:
        return point, 0
    kept = (point.handover_least_ns >= typical / SAME_STATE) & (point.handover_most_ns <= typical * SAME_STATE)
    if kept.all():
        return point, 0
    left = replace(
        point,
        repetitions=int(kept.sum()),
        t_ns={batch: times[kept] for batch, times in point.t_ns.items()},
        handover_least_ns=point.handover_least_ns[kept],
        handover_most_ns=point.handover_most_ns[kept],
    )
    return left, int((~kept).sum())


def handover_ns(point: HybridPoint) -> float:
    """The median time of a hand-over, ns; NaN where it is not known or no two ranks share a node.

    Of two times in the middle it is the shorter one: between the times of two states there is no state.
    """
    every = np.concatenate([point.handover_least_ns, point.handover_most_ns])
    median = float(np.quantile(every, 0.5, method="lower")) if every.size else math.nan
    return median if median > 0 else math.nan


def begins(handovers_ns: Sequence[float]) -> list[float]:
    """The shortest hand-over of each state but the first: those of a state lie within a factor of OTHER_POINT of the
    next."""
    known = sorted({one for one in handovers_ns if math.isfinite(one)})
    return [after for before, after in itertools.pairwise(known) if after > OTHER_POINT * before]


def name(handover_ns: float, of_states: Sequence[float]) -> str:
    """The name of the state of a hand-over, one of NAMES. Empty where there is one state, or the hand-over is not
    known. of_states: as of `begins`."""
    if not of_states or not math.isfinite(handover_ns):
        return ""
    return NAMES[min(bisect.bisect_right(of_states, handover_ns), len(NAMES) - 1)]


def joined(names: Iterable[str]) -> str:
    """The names of states, the shortest hand-overs first: ``near and far``."""
    there = set(names)
    return " and ".join(one for one in NAMES if one in there)


def words(time_ns: float) -> str:
    """The time of a hand-over in words; empty where it is not known."""
    return duration(time_ns) if math.isfinite(time_ns) else ""


def left_out_words(left_out: int, repetitions: int) -> list[str]:
    """The remark on a point of which repetitions were left out; none where all count."""
    return [f"{left_out} of {repetitions} repetitions left out: the cores were in another state"] if left_out else []


def choice_words(point: HybridPoint) -> list[str]:
    """The remark on a point whose way was chosen while the cores were in another state than in its repetitions."""
    then, since = float(point.choice_handover_ns), handover_ns(point)
    if not (then > 0 and since > 0 and max(then, since) > OTHER_POINT * min(then, since)):
        return []
    return [f"its way was chosen when the cores were in another state: a hand-over took {words(then)}"]


def differing(handovers_ns: Sequence[float]) -> list[str]:
    """The remark on a point that was measured with several settings of the MPI library in different states of the
    cores; none where the state was the same, or is not known. handovers_ns: one of each setting."""
    known = [one for one in handovers_ns if math.isfinite(one)]
    if not known or max(known) <= OTHER_POINT * min(known):
        return []
    times = f"{words(min(known))} to {words(max(known))}"
    return [f"the cores were in other states with other settings: a hand-over took {times}"]
