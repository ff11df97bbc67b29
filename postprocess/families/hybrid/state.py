"""In which states the cores were while the points of a run were measured, by their `handovers`."""

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from postprocess.families.handovers import handover_ns, in_state, words
from postprocess.families.hybrid.record import HybridPoint

OTHER_POINT = 2.0
"""Hand-overs of points that differ by a larger factor are those of different states. Measured in two runs on virtual
machines of two cores: the medians of points in one state are 21 to 34 ns, in the other 139 to 190 ns. The factor is
half-way between them, the root of 139 / 34."""
NEAR = "near"
NAMES = (NEAR, "far", "farther", "farthest")
"""The names of states where there are several, the one with the shortest hand-overs first."""


def in_one_state(point: HybridPoint) -> tuple[HybridPoint, int]:
    """The point with the repetitions that ran in the state in which most ran, and how many were left out.

    Where the record has no hand-overs, or no two ranks share a node, these are all repetitions.
    """
    kept = in_state(point)
    if kept is None:
        return point, 0
    left = replace(
        point,
        repetitions=int(kept.sum()),
        t_ns={batch: times[kept] for batch, times in point.t_ns.items()},
        handover_least_ns=point.handover_least_ns[kept],
        handover_most_ns=point.handover_most_ns[kept],
    )
    return left, int((~kept).sum())


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
    given = set(names)
    return " and ".join(one for one in NAMES if one in given)


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
