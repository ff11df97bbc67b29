"""The limits of what counts as a difference: for comparisons, histories, references and the command line. And how far
off its target time a size may be."""

from dataclasses import dataclass

CALIBRATION_LIMIT = 0.20
"""The largest relative difference between the time measured with a calibrated size and the target of that size."""
MIN_REPETITIONS = 6
"""Fewer samples have no distribution-free 95 % interval of the median: 1 - 2 / 2^5 < 0.95 <= 1 - 2 / 2^6."""
LEAST_LAUNCHES = 3
"""With fewer, how much launches differ is not known: two agree by luck too often. What is said of a case is `likely` at
most, and its interval is one that holds the launches' own."""
LEAST_RATIO = 0.03
LEAST_DIFFERENCE = 0.10
FALSE_DISCOVERY_RATE = 0.01
"""The promised rate of false alarms: 1 % of comparisons. It also holds where all cases of a launch move together: then
either no case is called different or, at this rate, all of them."""
HISTORY_RATE = 0.05
"""The same of changes in a history: a bound, also where it is asked after every night, and far from reached. About 1 %
of series without any change have an alarm after any of 60 nights (`tests/benchmarks/history_trust.py`)."""
NIGHT_RATE = 1 / 365
"""The same of what the newest nights say, of all series of a history together, in a night: in a year without any change
something rings in one night."""

LARGEST_LEAST = 10.0
"""The largest difference that may be called the least that matters."""

CONCLUSIVE = 0.02
"""The largest width of a median's interval, relative to the median, on a machine that supports conclusions. It also
limits the share of the time that others take, because a share of that size cannot move a median further."""


@dataclass(frozen=True)
class Limits:
    """The smallest ratio (0.03 is 3 %) and the smallest difference that matter, and the false-discovery rate.

    Raises ValueError for a value out of its range.
    """

    least_ratio: float = LEAST_RATIO
    least_difference: float = LEAST_DIFFERENCE
    rate: float = FALSE_DISCOVERY_RATE

    def __post_init__(self) -> None:
        if not 0 < self.least_ratio <= LARGEST_LEAST:
            raise ValueError(f"{self.least_ratio:g} is no least ratio: above 0, at most 10 (0.03 is 3 %)")
        if not 0 < self.least_difference <= LARGEST_LEAST:
            raise ValueError(f"{self.least_difference:g} is no least difference: above 0, at most 10")
        if not 0 < self.rate < 1:
            raise ValueError(f"{self.rate:g} is no false-discovery rate: between 0 and 1")
