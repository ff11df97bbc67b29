"""The suites, written in one place: what each runs, and within what time.

A suite is a ReFrame mode, which sets grid, budget and time limit, and a tag, which selects its tests: by hand,
`reframe --mode=smoke --tag=smoke`. `campaign run` divides the budget of the whole suite among its cases itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass

COLLECTIVES = ("ibcast", "ireduce", "iallgather", "ialltoall", "iallreduce")
# Those that the paper measures everywhere (section 5.3).
PAPERS_FOUR = COLLECTIVES[:4]


@dataclass(frozen=True)
class Suite:
    """grid: name of the benchmark's grid of communication x computation times.

    points: its cells.  budget_seconds: wall time of the whole suite, 0 where only the repetitions bound it.
    case_seconds, limit: what a ReFrame mode gives a case when it is started by hand: its budget, and its time limit.
    """

    purpose: str
    grid: str
    points: int
    budget_seconds: float
    case_seconds: float
    limit: str
    collectives: tuple[str, ...] = COLLECTIVES


SUITES: Mapping[str, Suite] = {
    "smoke": Suite("a first look: 3 x 3 points around 16 ms", "smoke", 9, 245, 12, "5m", PAPERS_FOUR),
    "nightly": Suite("regressions: 6 x 6 points from 1 to 32 ms", "nightly", 36, 3600, 170, "20m"),
    "acceptance": Suite("acceptance: 12 x 12 points from 500 us to 1 s", "full", 144, 43200, 2100, "3h"),
    "full": Suite("the paper's map: 12 x 12 points, as long as the intervals take", "full", 144, 0, 0, "12h"),
}
