"""What planning and launching need to know of a benchmark."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning.benchmarks.choice import Asked, Choice
from mpi_campaign.toolchains.resolving import Toolchain
from postprocess.families.family import Value


@dataclass(frozen=True)
class Question:
    """A case that may be impossible for a reason that its benchmark knows.

    built: Spack has built everything. Before, a benchmark that Spack will build does not count as missing.
    threads: the computing threads of each rank.  ranks: of all nodes together.
    grid: the name of the grid. points: the values that were asked for instead of the grid's, by `Choice.name`, as far
    as the case has them.
    memory_bytes: a rank's share of the memory of its node; 0 where it is not known.
    """

    toolchain: Toolchain
    parameters: Mapping[str, Value]
    peer_prefixes: tuple[str, ...]
    built: bool
    threads: int = 1
    ranks: int = 1
    grid: str = ""
    points: Mapping[str, tuple[Value, ...]] = field(default_factory=dict, hash=False)
    memory_bytes: int = 0


IN_TURN, AT_ONCE = "in turn", "at once"


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    test: name of the ReFrame test of reframe/ that launches it.
    tests_file: name of the file that has this test, where it is another name.
    programs: those of ours that it launches; None: the one of its name.
    choices: the axes in which its cases differ, beside the configuration. Other axes have their usual values.
    point_choices: the axes of the points within a case of which a user can ask for values.
    configurations: the configurations in which it can run.
    basic_of: the benchmark whose `basic` is measured first, because the cases take their sizes and references from
    it: the benchmark itself, another benchmark, or "" where the cases need no `basic`.
    fixture: name of the test that measures its `basic`, where that is a fixture of `test`. Then `test` only judges
    what the fixture measured.
    share: the budget of a case relative to the budget of a case of nbc_overlap.
    fewest_ranks: the smallest number of ranks that makes sense.
    pairs: whether it measures between pairs of ranks, so that their number must be even.
    fewest_nodes: the smallest number of nodes.
    by_node: how nodes are compared by its times (`Acceptance.by_node`): IN_TURN, where each is measured alone, then
    pairs of them; AT_ONCE in each launch; or empty.
    within_a_node: it is about memory that the ranks of a node share, which a wire between them would keep from the MPI
    library. Where nothing else is asked for, its network is shm, also beside benchmarks over a wire.
    points: from the name of the grid and what was asked for, how many points a case has; 0 where the benchmark has no
    map.  least_seconds: an estimate of the time for the fewest repetitions of them; 0 where it is not known.
    most_seconds: the longest budget of a case that makes sense, of all its launches together, by the name of the grid.
    It holds where the budget is a suite's own, and gives way to least_seconds.
    needed_seconds: from the values of a case's axes, an estimate of the time for the fewest repetitions of a launch,
    for axes that make it longer than its part of most_seconds. Then it is the budget of the launch.
    own_launches: how many launches a case has in any suite that makes more than one; None: as many as the suite has.
    impossible: why a case cannot run. Configurations and axes are asked for their own reasons first.
    """

    title: str
    test: str
    programs: tuple[str, ...] | None = None
    choices: tuple[Choice, ...] = ()
    point_choices: tuple[Choice, ...] = ()
    configurations: tuple[str, ...] = tuple(CONFIGURATIONS)
    basic_of: str = ""
    fixture: str = ""
    share: float = 1.0
    fewest_ranks: int = 2  # collectives need somebody to communicate with
    pairs: bool = False
    fewest_nodes: int = 1
    by_node: str = ""
    within_a_node: bool = False
    points: Callable[[str, Asked], int] = lambda _grid, _asked: 0
    tests_file: str = ""
    least_seconds: Callable[[str, Asked], float] = lambda _grid, _asked: 0.0
    most_seconds: Mapping[str, float] = field(default_factory=dict, hash=False)
    needed_seconds: Callable[[Mapping[str, Value]], float] = lambda _parameters: 0.0
    own_launches: int | None = None
    impossible: Callable[[Question], Impossible | None] = lambda _question: None

    @property
    def file(self) -> str:
        """The name of the file of reframe/ that has its test."""
        return self.tests_file or self.test

    def seconds(
        self,
        budget_seconds: float,
        grid: str,
        asked: Asked,
        parameters: Mapping[str, Value],
        launches: int,
        *,
        of_suite: bool,
    ) -> float:
        """The budget of a launch where a launch of nbc_overlap has `budget_seconds`, which is above 0.

        asked: values of points.  parameters: the values of the case's axes.  launches: of the case.  of_suite: the
        budget is a suite's own.
        """
        share = budget_seconds * self.share
        if not of_suite:
            return share
        most, needed = self.most_seconds.get(grid, math.inf) / launches, self.needed_seconds(parameters)
        most = max(most, self.least_seconds(grid, asked))
        return needed if needed > most else min(share, most)

    def launches(self, repeat: int, of_suite: int) -> int:
        """How many launches a case has: the `repeat` that a person asked for; 0: as many as usual.

        of_suite: how many the suite makes, `Suite.launches`.
        """
        return repeat or (of_suite if of_suite == 1 or self.own_launches is None else self.own_launches)

    def has(self, axis: str) -> bool:
        return any(choice.name == axis for choice in self.choices)

    def named(self, name: str) -> list[Choice]:
        """Its axis of cases or of points of that name, if it has one."""
        return [choice for choice in (*self.choices, *self.point_choices) if choice.name == name]

    def point_values(self, asked: Asked, parameters: Mapping[str, Value]) -> dict[str, tuple[Value, ...]]:
        """The values that were asked for of axes of points, as far as a case with these parameters has them."""
        own = ((choice, self.asked_of(choice, asked)) for choice in self.point_choices if choice.has(parameters))
        return {choice.name: choice.values_of(texts) for choice, texts in own if texts}

    def asked_of(self, choice: Choice, asked: Asked) -> Sequence[str]:
        """What was asked for of one of its axes of points, by its own name or by that of all benchmarks."""
        return asked.get(f"{self.test}.{choice.name}") or asked.get(choice.name, ())

    def point_words(self, asked: Asked, parameters: Mapping[str, Value]) -> list[str]:
        """The words of the program's command line for them."""
        values = self.point_values(asked, parameters)
        return [
            word
            for choice in self.point_choices
            if choice.name in values
            for word in choice.words(*values[choice.name])
        ]
