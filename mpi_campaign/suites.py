"""The suites, written in one place: what each runs, and within what time.

A suite is a ReFrame mode: `reframe --mode smoke` sets the same variables as `campaign run --suite smoke`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

COLLECTIVES = ("ibcast", "ireduce", "iallgather", "ialltoall", "iallreduce")


@dataclass(frozen=True)
class Suite:
    """grid: name of the benchmark's grid of communication x computation times.

    points: its cells.  budget_seconds: wall time of the whole suite, 0 where only the repetitions bound it.
    """

    purpose: str
    grid: str
    points: int
    budget_seconds: float


SUITES: Mapping[str, Suite] = {
    "smoke": Suite("a first look: 3 x 3 points around 16 ms", "smoke", 9, 285),
    "nightly": Suite("regressions: 6 x 6 points from 1 to 32 ms", "nightly", 36, 3600),
    "acceptance": Suite("a machine's or a library's acceptance: 12 x 12 points from 500 us to 1 s", "full", 144, 43200),
    "full": Suite("the paper's map: 12 x 12 points from 500 us to 1 s, as long as the intervals take", "full", 144, 0),
}
