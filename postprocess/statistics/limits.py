"""What counts as a difference, said once: for comparisons, histories, references and the command line; and how far off
its target time a size may be."""

from dataclasses import dataclass

CALIBRATION_LIMIT = 0.20
"""Of what was measured with a size that was found, from the time that it was found for."""
LEAST_RATIO = 0.03
LEAST_DIFFERENCE = 0.10
FALSE_DISCOVERY_RATE = 0.01
"""What is promised of false alarms, 1 % of comparisons, where all cases of a launch move together as well: then a rate
of so much calls either none of them or, that often, all."""
HISTORY_RATE = 0.05
"""Of changes in a history: they are of runs, often six of each state, and a rank test of so few in which one bad night
lies in the middle of the other state (p = 0.015) does not get to 1 %."""

CONCLUSIVE = 0.02
"""The width that the interval of a median may have, relative to it, on a machine that supports conclusions. A part of
the time that is no larger, taken away by others, cannot move a median further."""


@dataclass(frozen=True)
class Limits:
    """What counts: the smallest ratio (0.03 is 3 %) and difference that matter, and the false-discovery rate.

    Raises ValueError where one of them is none.
    """

    least_ratio: float = LEAST_RATIO
    least_difference: float = LEAST_DIFFERENCE
    rate: float = FALSE_DISCOVERY_RATE

    def __post_init__(self) -> None:
        if not 0 < self.least_ratio <= 10:
            raise ValueError(f"{self.least_ratio:g} is no least ratio: above 0, at most 10 (0.03 is 3 %)")
        if not 0 < self.least_difference <= 10:
            raise ValueError(f"{self.least_difference:g} is no least difference: above 0, at most 10")
        if not 0 < self.rate < 1:
            raise ValueError(f"{self.rate:g} is no false-discovery rate: between 0 and 1")
