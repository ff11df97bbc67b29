"""What is to be known of a benchmark to plan and to launch it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks.choice import Choice
from mpi_campaign.planning.suites import Grid
from mpi_campaign.toolchains.resolving import Toolchain
from postprocess.families.family import Value


@dataclass(frozen=True)
class Question:
    """A case that may be impossible for a reason that a benchmark knows. built: everything that Spack builds is there;
    else another benchmark that it will build is not missed yet."""

    toolchain: Toolchain
    parameters: Mapping[str, Value]
    peer_prefixes: tuple[str, ...]
    built: bool


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    test: name of the ReFrame test of reframe/ that launches it.
    choices: the axes that its cases differ in beside the configuration; of the others, they have the usual values.
    configurations: those that it can be run in.
    basic_of: the benchmark whose `basic` is measured before any of its cases, because they take their sizes and
    references from it; itself, another one, or "" where there is none.
    fixture: name of the test that measures its `basic`, where that is a fixture of `test`, which then only judges it.
    share: of what a case of nbc_overlap has of the run's budget, what one of its own has.
    fewest_ranks: that it makes sense with.
    points: how many a case of it has on a grid; 0 where it has no map.
    least_seconds: about what the fewest repetitions of a case's points take; 0 where nobody knows.
    impossible: why it cannot run there; what configurations and axes know of themselves is asked before.
    """

    title: str
    test: str
    choices: tuple[Choice, ...] = ()
    configurations: tuple[str, ...] = tuple(CONFIGURATIONS)
    basic_of: str = ""
    fixture: str = ""
    share: float = 1.0
    fewest_ranks: int = 2  # collectives need somebody to communicate with
    points: Callable[[Grid], int] = lambda _grid: 0
    least_seconds: Callable[[Grid], float] = lambda _grid: 0.0
    impossible: Callable[[Question], Impossible | None] = lambda _question: None

    def has(self, axis: str) -> bool:
        return any(choice.name == axis for choice in self.choices)
