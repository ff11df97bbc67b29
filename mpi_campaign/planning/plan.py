"""The plan of a run: its cases, in which order they are launched, and how the budget is divided among them."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks import placed
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, BY_SESSION, USUAL_BENCHMARK
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import OWN, Options, grid_of
from mpi_campaign.processes.progress import duration
from postprocess.drawing.text import plural
from postprocess.families.axes import NODE_SET
from postprocess.families.family import Value

# Time that is not spent measuring: once per run, per session after the first, and per launch. It comes off the budget.
# ReFrame loads the tests of a session in 2 s where it has one benchmark, in 6 s where it has those of `nightly`.
FIXED_SECONDS = 20.0
ROUND_SECONDS = 5.0
LAUNCH_SECONDS = 2.5
SHORTEST_CASE_SECONDS = 2.0
# After so many times its budget a program begins no more repetitions (benchmarks/common/sampling/budget.c).
OVERTIME_FACTOR = 3.0
# A case that takes longer than LIMIT_SECONDS plus this many times its budget is hung.
LIMIT_FACTOR = 4.0
LIMIT_SECONDS = 120.0
LIMIT_WITHOUT_BUDGET_SECONDS = 12 * 3600.0

MOST_BENCHMARKS = 3
"""A line about skipped cases names at most so many benchmarks."""

Session: TypeAlias = tuple[str, Mapping[str, Value]]
"""What all cases of a ReFrame session have in common: the network, and the values of the axes that have a single value
per session (BY_SESSION)."""


@dataclass(frozen=True)
class Round:
    """What one ReFrame session measures: the cases of one repeat, of these environments in turn, over one network.

    axes: the values of the axes that have a single value per session (BY_SESSION), such as the cores per rank.
    stems: of its cases; None: of all cases that have this in common.
    """

    repeat: int
    environments: tuple[str, ...]
    axes: Mapping[str, Value] = field(default_factory=dict, hash=False)
    network: str = ""
    stems: frozenset[str] | None = None

    @property
    def session(self) -> Session:
        """What its cases have in common (`session_of`)."""
        return self.network, self.axes

    def has(self, case: Case) -> bool:
        """Whether the round measures the case: to judge it, or as the `basic` of cases to judge."""
        mine = (case.repeat, session_of(case)) == (self.repeat, self.session) and case.environment in self.environments
        return mine and (self.stems is None or case.stem in self.stems)


def session_of(case: Case) -> Session:
    """What a case has in common with all of its session."""
    return case.network, {name: case.parameters[name] for name in BY_SESSION}


def _on_any_nodes(session: Session) -> Session:
    """The session without the axis that says which nodes it is on."""
    network, axes = session
    return network, {name: value for name, value in axes.items() if name != NODE_SET.name}


@dataclass(frozen=True)
class Plan:
    """What a run measures, and which cases it skips.

    network: that of its cases. Cases of benchmarks within a node, and of suites, may have others (`networks_of`).
    placements: every placement of ranks that a case of the run has.
    skipped: the reason by the stem of the case.
    """

    options: Options
    network: str
    placements: tuple[Placement, ...]
    cases: tuple[Case, ...]
    skipped: Mapping[str, str]

    def skips(self, but: Collection[str] = ()) -> list[str]:
        """Which cases are skipped and why, a line for each reason, with all libraries of which it is said.

        but: stems of cases that are left out.
        """
        of_reason: dict[str, list[Case]] = {}
        for case in self.cases:
            if case.stem in self.skipped and case.stem not in but:
                of_reason.setdefault(self.skipped[case.stem].removeprefix(case.toolchain), []).append(case)
        return [f"skipped: {_said_of(cases, reason)} ({_cases_in_words(cases)})" for reason, cases in of_reason.items()]

    @property
    def to_measure(self) -> list[Case]:
        """The launches: every case that is not skipped, and the `basic` that it needs, each once."""
        not_skipped = [case for case in self.cases if case.stem not in self.skipped]
        basics = [case.basic for case in not_skipped if case.basic is not None]
        return list({case.stem: case for case in [*basics, *not_skipped]}.values())

    def up_to(self, repeat: int) -> "Plan":
        """The plan without its later repeats."""
        return replace(self, cases=tuple(case for case in self.cases if case.repeat <= repeat))

    @property
    def environments(self) -> tuple[str, ...]:
        """The ReFrame names of the libraries, in the order in which they were asked for."""
        return tuple(dict.fromkeys(case.environment for case in self.cases if case.stem not in self.skipped))

    @cached_property
    def rounds(self) -> list[Round]:
        """The sessions in their order.

        Libraries take turns with each case, A B C in one repeat and C B A in the next, so that their launches are
        neighbours in time and a machine that drifts favours none. Where each case has one launch, nothing is told apart
        by how much these differ, and a library has a session of its own: what it found is shown before the next one.
        The first of them is two, so that the first map is seen soon. A session has all configurations, so that `basic`
        is beside what is compared with it.
        """
        sessions: list[Session] = []
        measured: list[tuple[int, str, Session]] = []
        for case in self.cases:
            if (session := session_of(case)) not in sessions:
                sessions.append(session)
            if case.stem not in self.skipped:
                measured.append((case.repeat, case.environment, session))
        last = max(case.repeat for case in self.cases)
        together = [self.environments] if last > 1 else [(name,) for name in self.environments]
        turns = [
            Round(repeat, tuple(name for name in names if (repeat, name, (network, axes)) in measured), axes, network)
            for repeat in range(1, last + 1)
            for network, axes in sessions
            for names in together
        ]
        there = [turn for turn in turns if turn.environments]
        if last == 1:
            there[:1] = self._first_apart(there[0])
        return [replace(turn, environments=turn.environments[:: 1 if turn.repeat % 2 else -1]) for turn in there]

    def _first_apart(self, turn: Round) -> list[Round]:
        """The round as two: its first case in all configurations, then the others, unless these need its `basic`."""
        cases = [case for case in self.to_measure if turn.has(case)]
        alike = {case.stem for case in cases if replace(case, configuration=cases[0].configuration) == cases[0]}
        others = [case for case in cases if case.stem not in alike]
        if not others or any(case.basic is not None and case.basic.stem in alike for case in others):
            return [turn]
        return [replace(turn, stems=frozenset(stems)) for stems in (alike, {case.stem for case in others})]

    def placement_of(self, turn: Round) -> Placement:
        """The placement of a round's ranks."""
        values = {name: turn.axes[name] for name in placed.PLACED}
        return next(
            placement for placement in self.placements if placed.values_of(placement, self.placements) == values
        )

    def begins(self, turn: Round) -> bool:
        """Whether a round is the first of its session, on whatever nodes; where each library calibrates its own sizes,
        the first of its libraries. It calibrates the sizes that nobody has found yet, later ones take them over."""

        def whose(one: Round) -> tuple[Session, frozenset[str]]:
            libraries = one.environments if self.options.calibrate == OWN else ()
            return _on_any_nodes(one.session), frozenset(libraries)

        first = next(other for other in self.rounds if whose(other) == whose(turn))
        return turn == replace(first, stems=turn.stems)

    def first_launches(self, case: Case) -> list[Case]:
        """The first launches of a case and of the same case on other nodes, in their order, its own at last."""
        session, earlier = session_of(case), []
        for turn in self.rounds:
            if _on_any_nodes(turn.session) == _on_any_nodes(session):
                earlier.append(replace(case, repeat=1, parameters={**case.parameters, **turn.axes}))
            if turn.session == session:
                break
        return list({launch.stem: launch for launch in earlier}.values())

    @property
    def overhead_seconds(self) -> float:
        """Wall time of the run that is in no case's budget."""
        return FIXED_SECONDS + LAUNCH_SECONDS * len(self.to_measure) + self.turning_seconds

    @property
    def turning_seconds(self) -> float:
        """Wall time of the sessions after the first, without their launches."""
        return ROUND_SECONDS * (len(self.rounds) - 1)

    @property
    def has_suites_budget(self) -> bool:
        """Whether the budget is the suite's own, and no user's."""
        return self.options.budget_seconds < 0

    @cached_property
    def case_budget_seconds(self) -> float:
        """The budget of a launch of nbc_overlap, from which `Benchmark.seconds` has that of any other; 0 where the run
        has no budget."""
        suite = suites.SUITES[self.options.suite]
        budget = suite.budget_seconds if self.has_suites_budget else self.options.budget_seconds
        if budget == 0:
            return 0.0
        grows = self.has_suites_budget and suite.grows
        least = BENCHMARKS[USUAL_BENCHMARK].least_seconds(*grid_of(self.options)) if grows else SHORTEST_CASE_SECONDS
        return max(least, self._divided(budget - self.overhead_seconds))

    def _seconds(self, case: Case, budget_seconds: float) -> float:
        """The budget of a launch where a launch of nbc_overlap has `budget_seconds`."""
        benchmark = BENCHMARKS[case.benchmark]
        suite = suites.SUITES[self.options.suite]
        launches = benchmark.launches(0, suite.launches)  # --repeat changes their number, not how long each is
        grid, asked = grid_of(self.options)
        own = self.has_suites_budget
        return benchmark.seconds(budget_seconds, grid, asked, case.parameters, launches, of_suite=own)

    def _divided(self, seconds: float) -> float:
        """The budget of a launch of nbc_overlap with which all launches together take `seconds`.

        Launches divide them by the shares of their benchmarks. Of a suite's own budget, no launch gets more than makes
        sense for its case: the others divide the rest.
        """
        seconds -= sum(self._seconds(case, 0.0) for case in self.to_measure)
        left = [case for case in self.to_measure if not self._seconds(case, 0.0)]
        while left:
            each = seconds / sum(BENCHMARKS[case.benchmark].share for case in left)
            limited = [case for case in left if self._seconds(case, each) < each * BENCHMARKS[case.benchmark].share]
            if not limited:
                return each
            seconds -= sum(self._seconds(case, each) for case in limited)
            stems = {case.stem for case in limited}
            left = [case for case in left if case.stem not in stems]
        return max(self._seconds(case, math.inf) / BENCHMARKS[case.benchmark].share for case in self.to_measure)

    def budget_of(self, case: Case) -> float:
        """The budget of a launch; 0 where the run has no budget."""
        return self._seconds(case, self.case_budget_seconds) if self.case_budget_seconds else 0.0

    def too_short(self) -> str:
        """A warning that names a long enough budget, where a case's budget is shorter than its fewest repetitions.
        Empty where the budget suffices."""
        each = self.case_budget_seconds
        least = max(
            (BENCHMARKS[case.benchmark].least_seconds(*grid_of(self.options)) for case in self.to_measure), default=0.0
        )
        if not 0 < each < least:
            return ""
        shares = sum(BENCHMARKS[case.benchmark].share for case in self.to_measure)
        enough = math.ceil(self.overhead_seconds + least * shares)
        return (
            f"the budget leaves {each:.0f} s to a case, the fewest repetitions of its points take about {least:.0f} s: "
            f"some may not be measured; --budget-seconds {enough} is enough"
        )

    def expected_seconds(self, case: Case) -> float:
        """Wall time of a launch, start and end included; 0 where no budget bounds it."""
        budget = self.budget_of(case)
        return LAUNCH_SECONDS + budget if budget else 0.0

    @property
    def expected_measuring_seconds(self) -> float:
        """Wall time of all launches, one after the other, in their sessions; 0 where no budget bounds them."""
        seconds = sum(map(self.expected_seconds, self.to_measure))
        return seconds + self.turning_seconds if seconds else 0.0

    @property
    def overtime_seconds(self) -> float:
        """By how much longer they may take: where a progress thread of the library shares the cores of the ranks, the
        fewest repetitions may take several times the budget."""
        sharing = (case for case in self.to_measure if CONFIGURATIONS[case.configuration].shares_cores)
        return sum((OVERTIME_FACTOR - 1) * self.budget_of(case) for case in sharing)

    @property
    def expected_in_words(self) -> str:
        """How long measuring takes, in words: `about 60 s`. Empty where no budget bounds it."""
        seconds, more = self.expected_measuring_seconds, self.overtime_seconds
        if not seconds:
            return ""
        longest = (
            f", and up to {duration(seconds + more)} since progress threads share the ranks' cores" if more else ""
        )
        return f"about {duration(seconds)}{longest}"

    @property
    def case_limit_seconds(self) -> float:
        """The time limit of a case: one that takes longer is hung."""
        if self.options.case_limit_seconds:
            return self.options.case_limit_seconds
        budget = max(map(self.budget_of, self.to_measure))
        return LIMIT_SECONDS + LIMIT_FACTOR * budget if budget else LIMIT_WITHOUT_BUDGET_SECONDS


def _said_of(cases: Sequence[Case], reason: str) -> str:
    """A reason, with the libraries of which it is said where it begins with a space: `each of a@1, a@2 has no …`."""
    libraries = list(dict.fromkeys(case.toolchain for case in cases)) if reason.startswith(" ") else []
    return ("each of " if len(libraries) > 1 else "") + ", ".join(libraries) + reason


def _cases_in_words(cases: Sequence[Case]) -> str:
    """A single case by its name, several by their number and benchmarks: `4 cases of nbc_overlap, sync_overlap`."""
    if len(cases) == 1:
        return cases[0].label
    benchmarks = dict.fromkeys(case.benchmark for case in cases)
    of = ", ".join(benchmarks) if len(benchmarks) <= MOST_BENCHMARKS else f"{len(benchmarks)} benchmarks"
    return f"{plural(len(cases), 'case')} of {of}"
