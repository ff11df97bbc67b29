"""The plan of a run: options are checked, ranks are placed, cases are planned or skipped with a reason."""

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from mpi_campaign import ROOT
from mpi_campaign.children import environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import launches
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.placement import Numbers, Placement, first
from mpi_campaign.libraries.settings import Impossible, Request
from mpi_campaign.networks import registry as networks
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks import placed
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.choice import Where
from mpi_campaign.planning.benchmarks.point_values import PointValue
from mpi_campaign.planning.benchmarks.registry import (
    BENCHMARKS,
    BY_SESSION,
    CHOICES,
    POINT_VALUES,
    values_of,
    with_axis,
)
from mpi_campaign.planning.cases import Case
from mpi_campaign.processes.progress import duration
from mpi_campaign.systems import known_systems, nodes_in_hand
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds, peers, resolving
from mpi_campaign.toolchains.resolving import Toolchain
from mpi_campaign.toolchains.spack import matrix
from postprocess.drawing.text import plural
from postprocess.families.axes import NODE_SET, told_to_library
from postprocess.families.family import Value

PROVIDERS: Mapping[str, str] = {
    "wheels": "MPI libraries from PyPI, and installed ones (NAME@VERSION=PREFIX)",
    "spack": "MPI libraries that Spack builds, or has as externals",
}

MANIFEST_VERSION = 1

# The benchmarks refuse more: spinning ranks share a core by time slices of milliseconds.
MOST_RANKS_PER_CORE = 16

# Time that is not spent measuring: once per run, per session after the first, and per launch. It comes off the budget.
FIXED_SECONDS = 20.0
ROUND_SECONDS = 4.0
LAUNCH_SECONDS = 2.5
SHORTEST_CASE_SECONDS = 2.0
# After so many times its budget a program begins no more repetitions (benchmarks/common/sampling/budget.c).
OVERTIME_FACTOR = 3.0
# A case that takes longer than LIMIT_SECONDS plus this many times its budget is hung.
LIMIT_FACTOR = 4.0
LIMIT_SECONDS = 120.0
LIMIT_WITHOUT_BUDGET_SECONDS = 12 * 3600.0
# More than anybody waits for.
LONGEST_SECONDS = 30 * 86400.0
MOST_REPEATS = 1000
MOST_NODES = 100_000
USUAL_RANKS = 2
"""The ranks of a run on one node. On several nodes each has one, as in Denis et al. 2022."""
# Legal target times. Shorter ones are no longer than the delay of a start; with longer ones, nine repetitions of a
# point take minutes.
SHORTEST_TARGET_NS = 1_000
LONGEST_TARGET_NS = 10_000_000_000


MOST_BENCHMARKS = 3
"""A line about skipped cases names at most so many benchmarks."""


@dataclass(frozen=True)
class Options:
    """What a person asked for. The manifest keeps it, so that --resume asks for the same.

    axes: the values that were asked for, by axis, as they were typed. An axis is left out where nothing was asked for,
    and where a run has a single value that is the usual one.
    points: likewise the values of axes of points, by `PointValues.name`. An axis that is of cases in one benchmark and
    of points in another is in both.
    ranks: on all nodes together; 0 where that was not asked for.
    each_node: each of the nodes alone, then pairs of them, instead of all together.
    partition: of the system, by its name in the settings; empty: the first one with the network.
    account, job_time_limit, most_wait, max_jobs, scheduler_options: of jobs of a batch system; empty or 0: as usual.
    """

    system: str = "local"
    suite: str = "smoke"
    toolchains: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    points: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    comm_times: tuple[str, ...] = ()
    comp_times: tuple[str, ...] = ()
    network: str = ""
    repeat: int = 1
    ranks: int = 0
    nodes: tuple[int, ...] = ()
    each_node: bool = False
    ranks_per_node: tuple[int, ...] = ()
    threads_per_rank: tuple[int, ...] = ()
    budget_seconds: float = -1.0
    case_limit_seconds: float = 0.0
    oversubscribe: bool = False
    peer_prefixes: tuple[str, ...] = ()
    provider: str = "wheels"
    interleave: bool = False
    sizes_of: str = ""
    environment: tuple[str, ...] = ()
    partition: str = ""
    account: str = ""
    job_time_limit: str = ""
    most_wait: str = ""
    max_jobs: int = 0
    scheduler_options: tuple[str, ...] = ()

    @classmethod
    def of(cls, **asked: Any) -> "Options":
        """Options from keywords in which axes stand beside the other fields, under their `Choice.key`, and axes of
        points under their names."""
        points = {name: asked.pop(name, ()) for name in POINT_VALUES}
        suite = suites.SUITES.get(asked.get("suite", cls.suite))
        if suite and not any(points.values()) and {*asked.get("benchmarks", ())} <= {*suite.benchmarks}:
            points = {**points, **suite.points}
        axes = {}
        for choice in CHOICES.values():
            given = asked.pop(choice.key, ())
            texts = (given,) if isinstance(given, str) else given
            if texts and (choice.several or texts != (str(choice.usual),)):
                axes[choice.name] = texts
        points |= {name: texts for name, texts in axes.items() if name in points}
        return cls(**asked, axes=axes, points={name: texts for name, texts in points.items() if texts})

    def as_dict(self) -> dict[str, Any]:
        """The keywords of `of`, which manifests store."""
        values: dict[str, Any] = {}
        for option in fields(self):
            if option.name == "axes":
                values |= self._axes_as_dict()
            elif option.name == "points":
                values |= {name: self.points.get(name, ()) for name in POINT_VALUES}
            else:
                values[option.name] = getattr(self, option.name)
        return values

    def _axes_as_dict(self) -> dict[str, str | tuple[str, ...]]:
        values: dict[str, str | tuple[str, ...]] = {}
        for name, choice in CHOICES.items():
            texts = self.axes.get(name, ())
            values[choice.key] = texts if choice.several else next(iter(texts), str(choice.usual))
        return values

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> "Options":
        """The options of an archived run. Raises KeyError, TypeError or ValueError where the manifest has none."""
        version = manifest["schema_version"]
        if type(version) is not int or not 1 <= version <= MANIFEST_VERSION:
            raise ValueError(f"schema version {version}; this campaign reads up to {MANIFEST_VERSION}")
        asked: dict[str, Any] = {}
        for name, given in manifest["options"].items():
            asked[name] = tuple(given) if isinstance(given, list) else given
        if type(threads := asked.get("threads_per_rank")) is int:  # an old run, which has a single number
            asked["threads_per_rank"] = (threads,) if threads else ()
        for name, usual in cls().as_dict().items():
            value = asked.setdefault(name, usual)  # the run is older than the option
            legal_type = (int, float) if isinstance(usual, float) else type(usual)
            element = int if name in ("nodes", "ranks_per_node", "threads_per_rank") else str
            if not isinstance(value, legal_type) or (
                isinstance(value, tuple) and not all(isinstance(v, element) for v in value)
            ):
                raise TypeError(f"{name} is {value!r}")
        return cls.of(**asked)


Session: TypeAlias = tuple[str, Mapping[str, Value]]
"""What all cases of a ReFrame session have in common: the network, and the values of the axes that have a single value
per session (BY_SESSION)."""


@dataclass(frozen=True)
class Round:
    """What one ReFrame session measures: the cases of one repeat, of these environments and configurations, over one
    network.

    axes: the values of the axes that have a single value per session (BY_SESSION), such as the cores per rank.
    basic_repeat: the repeat of `basic` that gives the cases their sizes and references. 0 means the same repeat, which
    this session measures unless an earlier one did.
    """

    repeat: int
    environments: tuple[str, ...]
    configurations: tuple[str, ...]
    basic_repeat: int = 0
    axes: Mapping[str, Value] = field(default_factory=dict, hash=False)
    network: str = ""

    @property
    def session(self) -> Session:
        """What its cases have in common (`session_of`)."""
        return self.network, self.axes

    def has(self, case: Case) -> bool:
        """Whether the round measures the case: to judge it, or as the `basic` of cases to judge."""
        is_measured = case.configuration in self.configurations or (case == case.basic and not self.basic_repeat)
        is_of_session = case.environment in self.environments and session_of(case) == self.session
        return case.repeat == self.repeat and is_of_session and is_measured


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

    network: that of its cases. Cases of benchmarks within a node, and of suites, may have others (`_networks_of`).
    placements: every placement of ranks that a case of the run has.
    skipped: the reason by the stem of the case.
    """

    options: Options
    network: str
    placements: tuple[Placement, ...]
    cases: tuple[Case, ...]
    skipped: Mapping[str, str]

    def skips(self, known: Collection[str] = ()) -> list[str]:
        """Which cases are skipped and why, a line for each reason.  known: stems of cases that are left out."""
        of_reason: dict[str, list[Case]] = {}
        for case in self.cases:
            if case.stem in self.skipped and case.stem not in known:
                of_reason.setdefault(self.skipped[case.stem], []).append(case)
        return [f"skipped: {reason} ({_cases_in_words(cases)})" for reason, cases in of_reason.items()]

    @property
    def to_measure(self) -> list[Case]:
        """The launches: every case that is not skipped, and the `basic` that it needs, each once."""
        not_skipped = [case for case in self.cases if case.stem not in self.skipped]
        basics = [case.basic for case in not_skipped if case.basic is not None]
        return list({case.stem: case for case in [*basics, *not_skipped]}.values())

    @property
    def sides(self) -> list[tuple[str, str]]:
        """(environment, configuration) of every case to judge. `basic` comes first: the others take its sizes."""
        not_skipped = [case for case in self.cases if case.stem not in self.skipped]
        not_skipped.sort(key=lambda case: case.configuration != "basic")
        return list(dict.fromkeys((case.environment, case.configuration) for case in not_skipped))

    @cached_property
    def rounds(self) -> list[Round]:
        """The sessions in their order.

        With --interleave, the sides take turns, A B B A …, so that a machine that drifts favours neither. Where `basic`
        is a side of its own, it is not measured again for the others: they take the sizes of its first launch.
        """
        repeats = range(1, max(case.repeat for case in self.cases) + 1)
        sides = self.sides
        if self.options.interleave:
            with_basic = {environment for environment, configuration in sides if configuration == "basic"}
            turns = [
                Round(
                    repeat,
                    (environment,),
                    (configuration,),
                    int(environment in with_basic and configuration != "basic"),
                )
                for repeat in repeats
                for environment, configuration in (sides if repeat % 2 else sides[::-1])
            ]
        else:
            environments = tuple(dict.fromkeys(environment for environment, _ in sides))
            configurations = tuple(dict.fromkeys(configuration for _, configuration in sides))
            turns = [Round(repeat, environments, configurations) for repeat in repeats]
        not_skipped = [case for case in self.cases if case.stem not in self.skipped]
        sessions: list[Session] = []
        for case in self.cases:
            if (session := session_of(case)) not in sessions:
                sessions.append(session)
        measured = [(case.repeat, session_of(case), case.environment, case.configuration) for case in not_skipped]
        return [
            replace(turn, network=session[0], axes=session[1])
            for turn in turns
            for session in sessions
            if any(
                (turn.repeat, session, *side) in measured
                for side in itertools.product(turn.environments, turn.configurations)
            )
        ]

    def placement_of(self, turn: Round) -> Placement:
        """The placement of a round's ranks."""
        values = {name: turn.axes[name] for name in placed.PLACED}
        return next(
            placement for placement in self.placements if placed.values_of(placement, self.placements) == values
        )

    def begins(self, turn: Round) -> bool:
        """Whether a round is the first of its session, on whatever nodes. The first one calibrates the sizes, later
        ones take them over."""
        session = _on_any_nodes(turn.session)
        return turn == next(other for other in self.rounds if _on_any_nodes(other.session) == session)

    def first_launches(self, case: Case) -> list[Case]:
        """The first launches of a case and of the same case on other nodes, in their order, its own at last."""
        session, earlier = session_of(case), []
        for turn in self.rounds:
            if _on_any_nodes(turn.session) == _on_any_nodes(session):
                earlier.append(replace(case, repeat=1, parameters={**case.parameters, **turn.axes}))
            if turn.session == session:
                break
        return list({one.stem: one for one in earlier}.values())

    @property
    def grid(self) -> suites.Grid:
        """The target times that the overlap is measured on."""
        return grid_of(self.options)

    @property
    def overhead_seconds(self) -> float:
        """Wall time of the run that is in no case's budget."""
        return FIXED_SECONDS + LAUNCH_SECONDS * len(self.to_measure) + ROUND_SECONDS * (len(self.rounds) - 1)

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
        least = self.grid.least_case_seconds if self.has_suites_budget and suite.grows else SHORTEST_CASE_SECONDS
        return max(least, self._divided(budget - self.overhead_seconds))

    def _seconds(self, case: Case, budget_seconds: float) -> float:
        """The budget of a launch where a launch of nbc_overlap has `budget_seconds`."""
        benchmark = BENCHMARKS[case.benchmark]
        launches = benchmark.launches(1, enough=self.enough_launches)  # of those asked for, each has a whole budget
        own = self.has_suites_budget
        return benchmark.seconds(budget_seconds, self.grid, case.parameters, launches, of_suite=own)

    @property
    def enough_launches(self) -> bool:
        """Whether a case has as many launches as its benchmark needs."""
        return suites.SUITES[self.options.suite].enough_launches

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

        Empty where the budget suffices.
        """
        each = self.case_budget_seconds
        least = max((BENCHMARKS[case.benchmark].least_seconds(self.grid) for case in self.to_measure), default=0.0)
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
        """Wall time of all launches, one after the other; 0 where no budget bounds them."""
        return sum(map(self.expected_seconds, self.to_measure))

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


def check_clone() -> None:
    """Refuse a clone where nothing can be built. Raises CampaignError."""
    awkward = re.sub(r"[\w./+@%,:=~-]", "", str(ROOT))
    if awkward:
        raise CampaignError(
            f"the path of this clone, {ROOT}, holds '{awkward}', which ReFrame and the compiler wrappers of MPI do not "
            "take: move the clone to a path without it"
        )


def check(options: Options) -> None:
    """Refuse options that make no sense, before anything is installed. Raises CampaignError."""
    check_clone()
    _check_names(options)
    _check_numbers(options)
    _check_toolchains(options)
    environ.asked(options.environment)
    peers.check_prefixes(options.peer_prefixes)


def check_turns(options: Options) -> None:
    """Refuse --interleave in a new run that has no repeats to take turns in. Raises CampaignError."""
    if options.interleave and options.repeat < 2:
        raise CampaignError(
            "--interleave lets toolchains and configurations take turns, A B B A: add --repeat 2, or more"
        )


def _check_toolchains(options: Options) -> None:
    if options.provider == "spack":
        rows = matrix.matrix(options.system)
        for text in options.toolchains:
            matrix.choose(text, rows)
        return
    for text in options.toolchains:
        resolving.parse(text)


def _check_names(options: Options) -> None:
    kind, rate = networks.kind(options.network), networks.rate(options.network)
    most_nodes = max(options.nodes, default=1)
    if kind in NETWORKS and NETWORKS[kind].of_one_node and most_nodes > 1:
        others = " or ".join(name for name, one in NETWORKS.items() if not one.of_one_node)
        raise CampaignError(
            f"--network {kind} is inside of one node: with --nodes {most_nodes}, ask for --network {others}"
        )
    checks: list[tuple[str, tuple[str, ...], Iterable[str]]] = [
        ("system", (options.system,), known_systems.available()),
        ("suite", (options.suite,), suites.SUITES),
        ("provider", (options.provider,), PROVIDERS),
        ("configuration", options.configurations, CONFIGURATIONS),
        ("benchmark", options.benchmarks, BENCHMARKS),
        ("network", (kind,) if options.network else (), NETWORKS),
    ]
    for what, values, legal in checks:
        for value in values:
            if value not in legal:
                raise CampaignError(f"there is no {what} '{value}'; there are: {', '.join(legal)}")
    for name, texts in options.axes.items():
        for text in texts:
            CHOICES[name].read(text)
    _check_suite(options)
    for name, texts in options.points.items():
        POINT_VALUES[name].read(texts)
    partitions = known_systems.load(options.system, options.partition).partitions
    if kind and kind not in partitions:
        of_system = known_systems.load(options.system).partitions
        if kind not in of_system:
            raise CampaignError(
                f"system '{options.system}' has no partition for '{kind}'; it has: {', '.join(of_system)}"
            )
        other = known_systems.beside(options.system, options.partition, kind) or of_system[kind]
        raise CampaignError(
            f"partition '{options.partition}' has no network '{kind}', only {', '.join(partitions)}: "
            f"--partition {other.name}"
        )
    check_rate = NETWORKS[kind].check_rate if rate else None
    if rate and check_rate is None:
        rated = [networks.with_rate(name) for name, one in NETWORKS.items() if one.usual_rate]
        have = f"only {' and '.join(map(networks.kind, rated))} {'has' if len(rated) == 1 else 'have'} a rate"
        raise CampaignError(f"network '{options.network}': {have}, e.g. {rated[0]}")
    if check_rate is not None:
        try:
            check_rate(rate)
        except ValueError as error:
            raise CampaignError(f"network '{options.network}': {error}") from error


def _check_suite(options: Options) -> None:
    """Refuse what a suite with fixed contents has nothing to say about. Raises CampaignError."""
    suite = suites.SUITES[options.suite]
    if not suite.fixed:
        return
    others = "or take another --suite"
    for benchmark in options.benchmarks:
        if benchmark not in suite.benchmarks:
            raise CampaignError(
                f"--suite {options.suite} is about {', '.join(suite.benchmarks)} only: leave out "
                f"--benchmark {benchmark}, {others}"
            )
    for name, texts in options.axes.items():
        of_suite = suite.axes.get(name, ())
        for text in texts:
            if of_suite and CHOICES[name].read(text) not in of_suite:
                raise CampaignError(
                    f"--suite {options.suite} has {CHOICES[name].option} {', '.join(map(str, of_suite))} only: leave "
                    f"out {CHOICES[name].option} {text}, {others}"
                )


def _check_numbers(options: Options) -> None:
    budget, limit = options.budget_seconds, options.case_limit_seconds
    benchmarks = benchmarks_of(options)
    fewest = max(benchmark.fewest_ranks for benchmark in benchmarks.values())
    names = [name for name, benchmark in benchmarks.items() if benchmark.fewest_ranks == fewest]
    verb = "needs" if len(names) == 1 else "need"
    numbers = [nodes * each for nodes, each in shapes(options)]
    ranks = min(numbers)
    need = f"{' and '.join(names)} {verb} at least {fewest}{_benchmarks_for(ranks)}"
    in_pairs = [name for name, benchmark in benchmarks.items() if benchmark.pairs]
    odd = next((number for number in numbers if number % 2), 0)
    wrong = {
        f"--repeat {options.repeat}: a whole number from 1 to {MOST_REPEATS}": not 1 <= options.repeat <= MOST_REPEATS,
        f"{plural(ranks, 'rank')}: {need}": ranks < fewest,
        f"{plural(odd, 'rank')}: {' and '.join(in_pairs)} measures between pairs of ranks: ask for an even number": (
            bool(in_pairs) and odd > 0
        ),
        f"--threads-per-rank {min(options.threads_per_rank, default=0)}: a whole number from 1, or 0 for all cores": (
            min(options.threads_per_rank, default=0) < 0
        ),
        f"--budget-seconds {budget:g}: a number of seconds up to {LONGEST_SECONDS:.0f}, or 0 for no bound": (
            not budget <= LONGEST_SECONDS or (budget < 0 and budget != Options.budget_seconds)
        ),
        f"--case-limit-seconds {limit:g}: a number of seconds from 1 to {LONGEST_SECONDS:.0f}": (
            not limit <= LONGEST_SECONDS or (limit < 1 and limit != Options.case_limit_seconds)
        ),
    }
    for message, applies in wrong.items():
        if applies:
            raise CampaignError(message)
    grid = grid_of(options)
    sized_by = [BENCHMARKS[benchmark.basic_of or name] for name, benchmark in benchmarks.items()]
    if options.comm_times and not any(benchmark.points(grid) for benchmark in sized_by):
        raise CampaignError("--comm-time is of the overlap's map: add --benchmark nbc_overlap, or leave it out")
    _check_used(options, benchmarks)
    if options.each_node:
        _check_each_node(options, benchmarks)


def _check_each_node(options: Options, asked: Mapping[str, Benchmark]) -> None:
    """Refuse what --each-node does not go with. Raises CampaignError."""
    by_node = ", ".join(name for name, benchmark in BENCHMARKS.items() if benchmark.by_node)
    others = " and ".join(name for name, benchmark in asked.items() if not benchmark.by_node)
    wrong = {
        "--each-node measures the nodes of one number: ask for it with --nodes, from 2": (
            len(options.nodes) != 1 or options.nodes[0] < 2
        ),
        "--each-node: nodes have different numbers of ranks together: use --ranks-per-node instead of --ranks": (
            bool(options.ranks)
        ),
        f"--each-node compares nodes by {by_node}: leave out --benchmark {others}": bool(others),
    }
    for message, applies in wrong.items():
        if applies:
            raise CampaignError(message)


def _check_used(options: Options, asked: Mapping[str, Benchmark]) -> None:
    """Refuse an axis that none of the benchmarks has. Raises CampaignError."""
    for name in options.axes:
        _check_had(name, CHOICES[name].option, asked)
    for name, texts in options.points.items():
        _check_had(name, POINT_VALUES[name].option, asked)
        own = [values for one in asked.values() if (values := one.point_values_named(name)) is not None]
        if own and not any(benchmark.has(name) for benchmark in asked.values()):
            for values in own:
                if word := values.unknown(texts):
                    raise CampaignError(values.refusal(word))


def _check_had(name: str, option: str, asked: Iterable[str]) -> None:
    having = with_axis(name)
    if not any(benchmark in having for benchmark in asked):
        add = " or ".join(having)
        raise CampaignError(f"{option} is nothing to {', '.join(asked)}: add --benchmark {add}, or leave it out")


def _benchmarks_for(ranks: int) -> str:
    """The end of a refusal of a number of ranks: the benchmarks that can have so many; empty where none can."""
    enough = [name for name, benchmark in BENCHMARKS.items() if benchmark.fewest_ranks <= ranks]
    return f"; {ranks} may be asked for with --benchmark {' or '.join(enough)} alone" if enough else ""


def grid_of(options: Options) -> suites.Grid:
    """The grid that was asked for, else the suite's. Raises CampaignError for a text that is no legal time."""
    axes = []
    for option, texts in (("--comm-time", options.comm_times), ("--comp-time", options.comp_times)):
        axes.append([suites.nanoseconds(option, text, zero=False) for text in texts])
        for text, time in zip(texts, axes[-1], strict=True):
            if not SHORTEST_TARGET_NS <= time <= LONGEST_TARGET_NS:
                raise CampaignError(
                    f"{option} {text}: from {SHORTEST_TARGET_NS // 1000} us to {LONGEST_TARGET_NS // 10**9} s"
                )
    suite = suites.SUITES[options.suite]
    return suites.grid_with(suite.grid.name, *(axis or suite.map_times_ns for axis in axes))


def shapes(options: Options) -> list[tuple[int, int]]:
    """Every number of nodes that was asked for, each with a number of ranks per node.

    Raises CampaignError for numbers below 1, and for ranks that the nodes cannot have equally many of.
    """
    asked = options.nodes or (1,)
    for option, numbers in (("--nodes", asked), ("--ranks-per-node", options.ranks_per_node)):
        for number in numbers:
            if not 1 <= number <= MOST_NODES:
                raise CampaignError(f"{option} {number}: a whole number from 1 to {MOST_NODES}")
    if options.ranks < 0:
        raise CampaignError(f"--ranks {options.ranks}: a whole number from 1")
    if options.ranks_per_node and options.ranks:
        raise CampaignError("--ranks counts all ranks, --ranks-per-node those of each node: ask for one of them")
    if options.ranks_per_node:
        return list(itertools.product(asked, options.ranks_per_node))
    if not options.ranks:
        return [(nodes, usual_ranks(nodes)) for nodes in asked]
    for nodes in asked:
        if options.ranks % nodes:
            raise CampaignError(
                f"--ranks {options.ranks} cannot be the same number on each of {nodes} nodes: ask for a multiple of "
                f"{nodes}, or use --ranks-per-node"
            )
    return [(nodes, options.ranks // nodes) for nodes in asked]


def place(options: Options) -> list[Placement]:
    """A placement for each number of nodes, ranks per node and cores per rank that was asked for.

    Raises CampaignError for too few nodes or cores.
    """
    threads = options.threads_per_rank or (0,)
    asked = _node_sets(options) if options.each_node else [(*shape, ()) for shape in shapes(options)]
    return list(dict.fromkeys(_placement(options, *one, each) for one, each in itertools.product(asked, threads)))


def _node_sets(options: Options) -> list[tuple[int, int, Numbers]]:
    """Each node alone, then each with the next one, and the last with the first: how many nodes, with how many ranks on
    each, and their numbers.

    So each node is in two pairs, and a node that makes both slow is told from its partners.
    """
    (count,) = options.nodes
    alone = [(number,) for number in first(count)]
    pairs = [(number, number + 1) for number in first(count - 1)] + ([(1, count)] if count > 2 else [])
    return [
        (len(numbers), ranks, numbers)
        for numbers in (*alone, *pairs)
        for ranks in options.ranks_per_node or (usual_ranks(len(numbers)),)
    ]


def usual_ranks(nodes: int) -> int:
    """The ranks of each node where nothing else is asked for."""
    return 1 if nodes > 1 else USUAL_RANKS


def in_hand(options: Options) -> Options:
    """The options on the system of the nodes in hand, where several nodes are asked for and there are some."""
    if max(options.nodes, default=1) == 1:
        return options
    whose = known_systems.JOB if nodes_in_hand.is_job() else known_systems.BOX if nodes_in_hand.is_box() else ""
    return replace(options, system=known_systems.IN_HAND[whose]) if whose else options


def _more_nodes(partition: known_systems.Partition) -> str:
    """The end of a refusal of a number of nodes: where there are more."""
    if partition.nodes or not partition.here:
        return ""
    return ": start in a job of a batch system, as by salloc, or ask for --system cluster-in-a-box"


def _placement(options: Options, nodes: int, ranks: int, chosen: Numbers, threads_per_rank: int) -> Placement:
    partition = known_systems.load(options.system, options.partition).partition(options.network)
    needed = max(options.nodes) if chosen else nodes
    if partition.most_nodes is not None and needed > partition.most_nodes:
        raise CampaignError(
            f"--nodes {needed}: {partition.whose_nodes} {plural(partition.most_nodes, 'node')}{_more_nodes(partition)}"
        )
    node = partition.shape(chosen or first(nodes))
    cores = node.cores
    placement = Placement.on(node, ranks, threads_per_rank, nodes=nodes, crowding=options.oversubscribe, chosen=chosen)
    on_each = " on each node" if nodes > 1 else ""
    crowd = f"{plural(ranks, 'rank')} of {plural(placement.threads_per_rank, 'thread')}"
    if ranks > MOST_RANKS_PER_CORE * cores:
        raise CampaignError(
            f"{plural(ranks, 'rank')} on {plural(cores, 'core')}{on_each}: above {MOST_RANKS_PER_CORE} on a core, "
            "starting together takes longer than what is measured: ask for fewer with --ranks"
        )
    if placement.cores_per_node > MOST_RANKS_PER_CORE * cores:
        raise CampaignError(
            f"{crowd} on {plural(cores, 'core')}{on_each}: "
            f"at most {MOST_RANKS_PER_CORE} threads on a core: ask for fewer with --threads-per-rank or --ranks"
        )
    if node.shared and not options.oversubscribe:
        raise CampaignError(
            f"{nodes} nodes share the {plural(cores, 'core')} of this machine: ask for fewer with --nodes, or run it "
            "marked as oversubscribed with --oversubscribe"
        )
    if placement.oversubscribed and not options.oversubscribe:
        raise CampaignError(
            f"{crowd} need{'s' * (ranks == 1)} {plural(placement.cores_per_node, 'core')}{on_each}, "
            f"{partition.whose} {cores}: ask for less with --ranks or --threads-per-rank, or run it marked as "
            "oversubscribed with --oversubscribe"
        )
    return placement


def choose_network(options: Options) -> tuple[str, list[str]]:
    """The network, one that the system has, and notes to print about the choice.

    Raises CampaignError where the network that was asked for cannot be had, or where none can.
    """
    kind, rate = networks.kind(options.network), networks.rate(options.network)
    partitions = known_systems.load(options.system, options.partition).partitions
    chosen = kind or next((name for name in partitions if NETWORKS[name].usual), next(iter(partitions)))
    instead = NETWORKS[chosen].instead if not kind else ""
    if instead in partitions and all(one.within_a_node for one in benchmarks_of(options).values()):
        return instead, []
    network, refusal = networks.with_rate(chosen, rate), partitions[chosen].why_not()
    if refusal is None:
        benchmarks = benchmarks_of(options)
        within = [name for name, one in benchmarks.items() if _network_of(options, one, network) != network]
        return network, [f"measured over {instead}, not over {chosen}: {', '.join(within)}"] if within else []
    if kind:
        others = [name for name in partitions if name != kind]
        take = f"; use --network {' or '.join(others)}" if others else ""
        raise CampaignError(f"network '{options.network}' cannot be had here: {refusal}{take}")
    if instead not in partitions:
        raise CampaignError(
            f"no {chosen} can be had here ({refusal}), and system '{options.system}' has no partition for {instead}; "
            f"it has: {', '.join(partitions)}: choose another one with --network"
        )
    return instead, [f"no {chosen} on this machine ({refusal}), so that runs use {NETWORKS[chosen].without_it}"]


def _networks_of(options: Options, benchmark: Benchmark, network: str) -> tuple[str, ...]:
    """The networks of a benchmark's cases in a run over `network`: those of the suite as far as they can be had, else
    one. A network with a rate can be had only where the run chose it, since a machine may refuse it."""
    kind = networks.kind(network)
    several = suites.SUITES[options.suite].networks
    if options.network or kind not in several or max(options.nodes, default=1) > 1:
        return (_network_of(options, benchmark, network),)
    partitions = known_systems.load(options.system, options.partition).partitions
    had = {one: one for one in several if one in partitions and not NETWORKS[one].usual_rate}
    had |= {kind: network}
    return tuple(had[one] for one in several if one in had)


def _network_of(options: Options, benchmark: Benchmark, network: str) -> str:
    """The network of a benchmark's cases in a run over `network`. Where a person asked for none, a benchmark that is
    about memory within a node has the one instead of that, if there is one."""
    instead = networks.of(network).instead
    if options.network or not benchmark.within_a_node or not instead:
        return network
    return instead if instead in known_systems.load(options.system, options.partition).partitions else network


def _identity(toolchain: Toolchain) -> tuple[str, str]:
    return toolchain.toolchain, toolchain.provider


def _cases_in_words(cases: Sequence[Case]) -> str:
    """A single case by its name, several by their number and benchmarks: `4 cases of nbc_overlap, sync_overlap`."""
    if len(cases) == 1:
        return cases[0].label
    benchmarks = dict.fromkeys(case.benchmark for case in cases)
    of = ", ".join(benchmarks) if len(benchmarks) <= MOST_BENCHMARKS else f"{len(benchmarks)} benchmarks"
    return f"{plural(len(cases), 'case')} of {of}"


def make_plan(
    options: Options,
    resolved: list[Toolchain],
    network: str,
    *placements: Placement,
    built: bool = True,
) -> Plan:
    """All cases that were asked for; impossible ones are skipped with a reason.

    placements: one for each number of cores per rank that was asked for.
    built: Spack has built everything. Before, a benchmark that Spack will build does not count as missing. Which
    collectives a library lacks is also known only after the build.
    Raises CampaignError where nothing is left to run.
    """
    twice = [
        toolchain
        for toolchain in resolved
        if [(two.toolchain, two.provider) for two in resolved].count(_identity(toolchain)) > 1
    ]
    if twice:
        prefixes = ", ".join(toolchain.prefix for toolchain in twice)
        raise CampaignError(
            f"{twice[0].toolchain} is asked for from several prefixes ({prefixes}): no record "
            "could tell them apart, run them one after the other"
        )
    cases = []
    skipped = {}
    suite = suites.SUITES[options.suite]
    for placement, toolchain, (name, benchmark) in itertools.product(
        placements, resolved, benchmarks_of(options).items()
    ):
        for its_network, (configuration, cell) in itertools.product(
            _networks_of(options, benchmark, network), _combinations(options, benchmark)
        ):
            parameters = {**cell, **placed.values_of(placement, placements)}
            question = Question(
                toolchain,
                parameters,
                options.peer_prefixes,
                built,
                CONFIGURATIONS[configuration].computing_threads(placement.threads_per_rank),
                placement.ranks,
                suite.grid.name,
                _points_of(options, benchmark, parameters),
                _memory_of_a_rank(options, its_network, placement),
            )
            reason = _why_impossible(options, question, benchmark, configuration, its_network, placement)
            reason = reason or suite.left_out(its_network, configuration, parameters)
            for repeat in range(1, benchmark.launches(options.repeat, enough=suite.enough_launches) + 1):
                case = Case(
                    toolchain=toolchain.toolchain,
                    provider=toolchain.provider,
                    environment=toolchain.environment,
                    network=its_network,
                    configuration=configuration,
                    benchmark=name,
                    parameters=parameters,
                    repeat=repeat,
                )
                cases.append(case)
                if reason:
                    skipped[case.stem] = reason
    _check_points(options, cases)
    plan = _within_budget(Plan(options, network, placements, tuple(cases), skipped))
    if not plan.to_measure:
        reasons = "; ".join(_reasons(options, cases, skipped))
        raise CampaignError(f"nothing can run: {reasons} (what can: ./campaign list)")
    if options.interleave and len(plan.sides) < 2:
        raise CampaignError(
            f"--interleave lets toolchains and configurations take turns, and there is {' '.join(plan.sides[0])} only: "
            "name at least two with --toolchain or --configuration"
        )
    return plan


def _reasons(options: Options, cases: Sequence[Case], skipped: Mapping[str, str]) -> list[str]:
    """Why no case can run. Where nobody asked for a configuration, those of `basic`, which needs the least, suffice:
    what others need beside is not why it cannot run."""
    of_basic = [skipped[case.stem] for case in cases if case.configuration == "basic" and case.stem in skipped]
    return list(dict.fromkeys(skipped.values() if options.configurations else of_basic or skipped.values()))


def _points_of(
    options: Options, benchmark: Benchmark, parameters: Mapping[str, Value]
) -> dict[str, tuple[PointValue, ...]]:
    """The values of axes of points that were asked for, as far as a case with these parameters has them."""
    return {
        values.name: values.read(options.points[values.name])
        for values in benchmark.point_values
        if values.name in options.points and values.has(parameters)
    }


def _memory_of_a_rank(options: Options, network: str, placement: Placement) -> int:
    """A rank's share of the memory that may be used on its node, in bytes; 0 where its node is another machine."""
    partition = known_systems.load(options.system, options.partition).partition(network)
    return machine.allowed_memory_bytes() // placement.ranks_per_node if partition.here else 0


def _check_points(options: Options, cases: Sequence[Case]) -> None:
    """Refuse values of an axis of points that no case has. Raises CampaignError."""
    benchmarks = {case.benchmark: BENCHMARKS[case.benchmark] for case in cases}
    having = {name for case in cases for name in _points_of(options, benchmarks[case.benchmark], case.parameters)}
    for name in options.points:
        if name not in having and not any(benchmark.has(name) for benchmark in benchmarks.values()):
            own = (values for one in benchmarks.values() if (values := one.point_values_named(name)) is not None)
            of = " or ".join(dict.fromkeys(values.of for values in own))
            raise CampaignError(f"{POINT_VALUES[name].option} is for {of} only: leave it out, or ask for that too")


def _within_budget(plan: Plan) -> Plan:
    """The plan without the last values of an axis, such as collectives, for which a suite's own budget has no time on
    this machine. Values that a person asked for stay."""
    suite = suites.SUITES[plan.options.suite]
    axis = suite.leaves_out
    if not axis or axis in plan.options.axes or plan.options.budget_seconds >= 0:
        return plan
    for value in reversed(suite.axes[axis][1:]):
        if not plan.to_measure or not plan.too_short():
            break
        time = f"{plan.options.suite}'s {suite.budget_seconds:.0f} s"
        reason = f"no time for it within {time}: {CHOICES[axis].option} {value} measures it"
        left_out = {case.stem: reason for case in plan.cases if case.parameters[axis] == value}
        plan = replace(plan, skipped={**left_out, **plan.skipped})
    return plan


def benchmarks_of(options: Options) -> dict[str, Benchmark]:
    """The benchmarks that were asked for, else the suite's, by name."""
    of_suite = suites.SUITES[options.suite].benchmarks
    if options.each_node:
        of_suite = tuple(name for name in of_suite if BENCHMARKS[name].by_node)
    return {name: BENCHMARKS[name] for name in options.benchmarks or of_suite}


def axes_of(options: Options, benchmark: Benchmark) -> dict[str, tuple[Value, ...]]:
    """The values that cases of a benchmark have, by axis: those that were asked for, else the suite's.

    Axes that the benchmark lacks are left out, unless all cases of a run share a single value of them.
    """
    return {
        name: values_of(options.suite, choice, options.axes)
        for name, choice in CHOICES.items()
        if benchmark.has(name) or not choice.several
    }


def configurations_of(options: Options, benchmark: Benchmark) -> tuple[str, ...]:
    """The configurations that were asked for, else those of the suite in which the benchmark can run."""
    usual = suites.SUITES[options.suite].configurations
    return options.configurations or tuple(name for name in usual if name in benchmark.configurations)


def _combinations(options: Options, benchmark: Benchmark) -> Iterator[tuple[str, dict[str, Value]]]:
    """Every combination of a configuration and a value of each axis."""
    axes = axes_of(options, benchmark)
    usual = {name: choice.usual for name, choice in CHOICES.items()}
    for configuration in configurations_of(options, benchmark):
        for values in itertools.product(*axes.values()):
            yield configuration, {**usual, **dict(zip(axes, values, strict=True))}


def _why_impossible(
    options: Options, question: Question, benchmark: Benchmark, configuration: str, network: str, placement: Placement
) -> str:
    """Why a case cannot be had; empty where it can."""
    toolchain = question.toolchain
    if configuration not in benchmark.configurations:
        return f"{benchmark.test} runs in {', '.join(benchmark.configurations)} only"
    if placement.ranks < benchmark.fewest_ranks:
        return f"{plural(placement.ranks, 'rank')} of a node alone: {benchmark.test} needs {benchmark.fewest_ranks}"
    partition = known_systems.load(options.system, options.partition).partition(network)
    request = Request(
        Path(toolchain.prefix),
        toolchain.version,
        configuration,
        network,
        placement,
        here=partition.here,
        launcher=partition.launcher,
        hosts=partition.hosts(placement.numbers),
        told=told_to_library(question.parameters),
    )
    answer = launches.launch(toolchain.family, request)
    if isinstance(answer, Impossible):
        return answer.reason
    where = Where(configuration, toolchain.toolchain, builds.programs(toolchain))
    reasons = [choice.impossible(question.parameters[choice.name], where) for choice in benchmark.choices]
    reason = next(filter(None, reasons), None) or benchmark.impossible(question)
    return reason.reason if reason is not None else ""
