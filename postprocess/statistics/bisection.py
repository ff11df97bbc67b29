"""The search for the first bad one of a series that begins good and ends bad: pure.

Those that cannot be judged, because they do not build or nothing can be told of them, are stepped around. Then several
may be left among which the first bad one is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

GOOD, BAD, UNJUDGED = "good", "bad", "unjudged"
FIRST_DISTANCE = 1 / 8
"""How far from all that could not be judged the next one is, of those that are left: neighbours share a fault."""


@dataclass(frozen=True)
class Found:
    """What a search found, by positions in the series.

    last_good, first_bad: those between them could not be judged.  asked: what was asked, in order, with its verdict.
    """

    last_good: int
    first_bad: int
    asked: tuple[tuple[int, str], ...]


def most_questions(count: int) -> int:
    """How often it should be measured at most: twice as often as where each of `count` can be judged."""
    return 2 * math.ceil(math.log2(max(count - 1, 1)))


def search(count: int, ask: Callable[[int], str]) -> Found:
    """Find the first bad one of `count`, of which the first is good and the last is bad.

    ask: GOOD, BAD or UNJUDGED of the one at a position.  Raises ValueError for fewer than two.
    """
    if count < 2:
        raise ValueError(f"a series of {count} has no good and bad end")
    good, bad = 0, count - 1
    asked: dict[int, str] = {}
    while (position := _next(good, bad, asked)) is not None:
        verdict = asked[position] = ask(position)
        if verdict == GOOD:
            good = position
        elif verdict == BAD:
            bad = position
    return Found(good, bad, tuple(asked.items()))


def _next(good: int, bad: int, asked: dict[int, str]) -> int | None:
    """The one nearest to the middle that was not asked yet, away from those that could not be judged; None where there
    is none."""
    left = [position for position in range(good + 1, bad) if position not in asked]
    unjudged = [position for position, verdict in asked.items() if verdict == UNJUDGED and good < position < bad]
    middle, distance = (good + bad) / 2, (bad - good) * FIRST_DISTANCE
    while left:
        away = [one for one in left if all(abs(one - other) >= distance for other in unjudged)]
        if away:
            return min(away, key=lambda one: (abs(one - middle), one))
        distance /= 2
    return None
