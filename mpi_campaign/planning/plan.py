"""What a run is asked to do, and what of it can be: options checked, ranks placed, cases planned or skipped."""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mpi_campaign import ROOT
from mpi_campaign.children import environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import wire
from mpi_campaign.launching.wire import WIRE_RATE
from mpi_campaign.libraries import launches
from mpi_campaign.libraries.configurations import CONFIGURATIONS, NETWORKS
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Impossible, Request
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks import placed
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.choice import Where
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, BY_SESSION, CHOICES, values_of, with_axis
from mpi_campaign.planning.cases import Case
from mpi_campaign.systems import known_systems
from mpi_campaign.toolchains import builds, peers, resolving
from mpi_campaign.toolchains.resolving import Toolchain
from mpi_campaign.toolchains.spack import matrix
from postprocess.families.family import Value

PROVIDERS: Mapping[str, str] = {
    "wheels": "MPI libraries from PyPI, and installed ones (NAME@VERSION=PREFIX)",
    "spack": "MPI libraries that Spack builds, or has as externals",
}

MANIFEST_VERSION = 1

# The benchmarks refuse more: spinning ranks share a core by time slices of milliseconds.
MOST_RANKS_PER_CORE = 16

# What a run takes beside its measurements, a session after its first one, and a case beside its points; they come off
# the budget.
FIXED_SECONDS = 20.0
ROUND_SECONDS = 4.0
LAUNCH_SECONDS = 2.5
SHORTEST_CASE_SECONDS = 2.0
# A case is hung when it takes this much longer than its budget.
LIMIT_FACTOR = 4.0
LIMIT_SECONDS = 120.0
LIMIT_WITHOUT_BUDGET_SECONDS = 12 * 3600.0
# More than anybody waits for.
LONGEST_SECONDS = 30 * 86400.0
MOST_REPEATS = 1000
# Target times: below, a start is as late as they are long; above, nine repetitions of a point take minutes.
SHORTEST_TARGET_NS = 1_000
LONGEST_TARGET_NS = 10_000_000_000


@dataclass(frozen=True)
class Options:
    """What a person asked for. Kept in the manifest, so that --resume asks for the same.

    axes: by axis, the values that were asked for, as they were typed; an axis of which none was, or of which a run has
    one value and that is the usual one, is not there.
    """

    system: str = "local"
    suite: str = "smoke"
    toolchains: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    comm_times: tuple[str, ...] = ()
    comp_times: tuple[str, ...] = ()
    network: str = ""
    repeat: int = 1
    ranks: int = 2
    threads_per_rank: tuple[int, ...] = ()
    budget_seconds: float = -1.0
    case_limit_seconds: float = 0.0
    oversubscribe: bool = False
    peer_prefixes: tuple[str, ...] = ()
    provider: str = "wheels"
    interleave: bool = False
    sizes_of: str = ""
    environment: tuple[str, ...] = ()

    @classmethod
    def of(cls, **asked: Any) -> "Options":
        """With axes beside the other fields, under the names that the command line and manifests have of them."""
        axes = {}
        for choice in CHOICES.values():
            given = asked.pop(choice.key, ())
            texts = (given,) if isinstance(given, str) else given
            if texts and (choice.several or texts != (str(choice.usual),)):
                axes[choice.name] = texts
        return cls(**asked, axes=axes)

    def as_dict(self) -> dict[str, Any]:
        """What `of` takes, and manifests have."""
        told: dict[str, Any] = {}
        for one in fields(self):
            told |= self._axes_as_dict() if one.name == "axes" else {one.name: getattr(self, one.name)}
        return told

    def _axes_as_dict(self) -> dict[str, str | tuple[str, ...]]:
        told: dict[str, str | tuple[str, ...]] = {}
        for name, choice in CHOICES.items():
            texts = self.axes.get(name, ())
            told[choice.key] = texts if choice.several else next(iter(texts), str(choice.usual))
        return told

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> "Options":
        """What a run was asked for. Raises KeyError, TypeError or ValueError where the manifest does not say it."""
        version = manifest["schema_version"]
        if type(version) is not int or not 1 <= version <= MANIFEST_VERSION:
            raise ValueError(f"schema version {version}; this campaign reads up to {MANIFEST_VERSION}")
        asked: dict[str, Any] = {}
        for name, one in manifest["options"].items():
            asked[name] = tuple(one) if isinstance(one, list) else one
        if type(one := asked.get("threads_per_rank")) is int:  # of a run that could have one number only
            asked["threads_per_rank"] = (one,) if one else ()
        for name, usual in cls().as_dict().items():
            value = asked.setdefault(name, usual)  # an option that is younger than the run
            wanted = (int, float) if isinstance(usual, float) else type(usual)
            element = int if name == "threads_per_rank" else str
            if not isinstance(value, wanted) or (
                isinstance(value, tuple) and not all(isinstance(v, element) for v in value)
            ):
                raise TypeError(f"{name} is {value!r}")
        return cls.of(**asked)


@dataclass(frozen=True)
class Round:
    """What one ReFrame session measures: the cases of one repeat, of these environments and configurations.

    axes: their values of the axes of which a session has one (BY_SESSION), such as the cores per rank.
    basic_repeat: the launch of `basic` whose sizes and references they take; 0: that of the same repeat, which is
    measured in this very session unless it was before.
    """

    repeat: int
    environments: tuple[str, ...]
    configurations: tuple[str, ...]
    basic_repeat: int = 0
    axes: Mapping[str, Value] = field(default_factory=dict, hash=False)

    def has(self, case: Case) -> bool:
        """Whether it is one of the cases to judge, or the `basic` that is measured for them."""
        wanted = case.configuration in self.configurations or (case == case.basic and not self.basic_repeat)
        same = case.environment in self.environments and session_of(case) == self.axes
        return case.repeat == self.repeat and same and wanted


def session_of(case: Case) -> dict[str, Value]:
    """Its values of the axes of which a ReFrame session has one."""
    return {name: case.parameters[name] for name in BY_SESSION}


@dataclass(frozen=True)
class Plan:
    """What will run: cases to measure, and cases that are skipped with the reason.

    placements: all that its cases have.
    """

    options: Options
    network: str
    placements: tuple[Placement, ...]
    cases: tuple[Case, ...]
    skipped: Mapping[str, str]  # reason by the case's stem

    @property
    def to_measure(self) -> list[Case]:
        """Launches: every case that is not skipped, and the `basic` that it needs, each once."""
        wanted = [case for case in self.cases if case.stem not in self.skipped]
        basics = [one.basic for one in wanted if one.basic is not None]
        return list({case.stem: case for case in [*basics, *wanted]}.values())

    @property
    def sides(self) -> list[tuple[str, str]]:
        """(environment, configuration) of everything to judge, `basic` first: its sizes are those of the others."""
        wanted = [case for case in self.cases if case.stem not in self.skipped]
        wanted.sort(key=lambda case: case.configuration != "basic")
        return list(dict.fromkeys((case.environment, case.configuration) for case in wanted))

    @cached_property
    def rounds(self) -> list[Round]:
        """The sessions in their order. Interleaved, the sides take turns, A B B A …: a machine that drifts does not
        decide between them. Where `basic` is one of them, and thus not measured for the others, these take what its
        first launch found."""
        repeats = range(1, self.options.repeat + 1)
        sides = self.sides
        if self.options.interleave:
            own = {environment for environment, configuration in sides if configuration == "basic"}
            turns = [
                Round(repeat, (environment,), (configuration,), int(environment in own and configuration != "basic"))
                for repeat in repeats
                for environment, configuration in (sides if repeat % 2 else sides[::-1])
            ]
        else:
            environments = tuple(dict.fromkeys(environment for environment, _ in sides))
            configurations = tuple(dict.fromkeys(configuration for _, configuration in sides))
            turns = [Round(repeat, environments, configurations) for repeat in repeats]
        wanted = [case for case in self.cases if case.stem not in self.skipped]
        sessions: list[dict[str, Value]] = []
        for case in self.cases:
            if (axes := session_of(case)) not in sessions:
                sessions.append(axes)
        there = [(session_of(case), case.environment, case.configuration) for case in wanted]
        return [
            replace(turn, axes=axes)
            for turn in turns
            for axes in sessions
            if any((axes, *side) in there for side in itertools.product(turn.environments, turn.configurations))
        ]

    def placement_of(self, turn: Round) -> Placement:
        """Where the ranks of a round are."""
        wanted = {name: turn.axes[name] for name in placed.PLACED}
        return next(one for one in self.placements if placed.values_of(one, self.placements) == wanted)

    def begins(self, turn: Round) -> bool:
        """Whether it is the first round with its axes, which calibrates the sizes of those that follow."""
        return turn == next(one for one in self.rounds if one.axes == turn.axes)

    @property
    def grid(self) -> suites.Grid:
        """What the overlap is measured on."""
        return grid_of(self.options)

    @property
    def overhead_seconds(self) -> float:
        """What the run takes beside the cases' budgets."""
        return FIXED_SECONDS + LAUNCH_SECONDS * len(self.to_measure) + ROUND_SECONDS * (len(self.rounds) - 1)

    @property
    def case_budget_seconds(self) -> float:
        """The run's budget, divided among the launches by their benchmarks' shares; 0 where there is none."""
        suite = suites.SUITES[self.options.suite]
        own = self.options.budget_seconds < 0
        budget = suite.budget_seconds if own else self.options.budget_seconds
        if budget == 0:
            return 0.0
        shares = sum(BENCHMARKS[case.benchmark].share for case in self.to_measure)
        least = self.grid.least_case_seconds if own and suite.grows else SHORTEST_CASE_SECONDS
        return max(least, (budget - self.overhead_seconds) / shares)

    def too_short(self) -> str:
        """That the budget leaves cases less than their fewest repetitions take, and which one would not; or nothing."""
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
        """What a launch takes, started and ended; 0 where nothing bounds it."""
        budget = self.case_budget_seconds
        return LAUNCH_SECONDS + budget * BENCHMARKS[case.benchmark].share if budget else 0.0

    @property
    def expected_measuring_seconds(self) -> float:
        """What all launches take, one after the other; 0 where nothing bounds them."""
        return sum(map(self.expected_seconds, self.to_measure))

    @property
    def case_limit_seconds(self) -> float:
        """A case that takes longer is hung."""
        if self.options.case_limit_seconds:
            return self.options.case_limit_seconds
        budget = self.case_budget_seconds
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
    """Refuse what cannot be meant, before anything is installed. Raises CampaignError."""
    check_clone()
    _check_names(options)
    _check_numbers(options)
    _check_toolchains(options)
    environ.asked(options.environment)
    peers.check_prefixes(options.peer_prefixes)


def check_turns(options: Options) -> None:
    """Refuse a new run in which nothing takes turns. Raises CampaignError."""
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
    kind, _, rate = options.network.partition(":")
    named: list[tuple[str, tuple[str, ...], Iterable[str]]] = [
        ("system", (options.system,), known_systems.available()),
        ("suite", (options.suite,), suites.SUITES),
        ("provider", (options.provider,), PROVIDERS),
        ("configuration", options.configurations, CONFIGURATIONS),
        ("benchmark", options.benchmarks, BENCHMARKS),
        ("network", (kind,) if options.network else (), NETWORKS),
    ]
    for what, values, legal in named:
        for value in values:
            if value not in legal:
                raise CampaignError(f"there is no {what} '{value}'; there are: {', '.join(legal)}")
    for name, texts in options.axes.items():
        for text in texts:
            CHOICES[name].read(text)
    there = known_systems.load(options.system).partitions
    if kind and kind not in there:
        raise CampaignError(f"system '{options.system}' has no partition for '{kind}'; it has: {', '.join(there)}")
    if rate and kind != "wire":
        raise CampaignError(f"network '{options.network}': only wire has a rate, e.g. wire:{WIRE_RATE}")
    if rate:
        try:
            wire.rate_bytes_per_second(rate)
        except ValueError as error:
            raise CampaignError(f"network '{options.network}': {error}") from error


def _check_numbers(options: Options) -> None:
    budget, limit = options.budget_seconds, options.case_limit_seconds
    asked = benchmarks_of(options)
    fewest = max(benchmark.fewest_ranks for benchmark in asked.values())
    names = [name for name, benchmark in asked.items() if benchmark.fewest_ranks == fewest]
    need = f"{' and '.join(names)} need{'s' * (len(names) == 1)} at least {fewest}{_alone(options.ranks)}"
    wrong = {
        f"--repeat {options.repeat}: a whole number from 1 to {MOST_REPEATS}": not 1 <= options.repeat <= MOST_REPEATS,
        f"--ranks {options.ranks}: {need}": options.ranks < fewest,
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
    sized_by = [BENCHMARKS[benchmark.basic_of or name] for name, benchmark in asked.items()]
    if options.comm_times and not any(benchmark.points(grid) for benchmark in sized_by):
        raise CampaignError("--comm-time is of the overlap's map: add --benchmark nbc_overlap, or leave it out")
    _check_used(options, asked)


def _check_used(options: Options, asked: Mapping[str, Benchmark]) -> None:
    """Refuse what none of the benchmarks that were asked for has. Raises CampaignError."""
    for name in options.axes:
        if not any(benchmark.has(name) for benchmark in asked.values()):
            raise CampaignError(
                f"{CHOICES[name].option} is nothing to {', '.join(asked)}: add --benchmark {with_axis(name)[0]}, or "
                "leave it out"
            )


def _alone(ranks: int) -> str:
    """Behind a refusal of so many ranks: what may have them."""
    enough = [name for name, benchmark in BENCHMARKS.items() if benchmark.fewest_ranks <= ranks]
    return f"; {ranks} may be asked for with --benchmark {' or '.join(enough)} alone" if enough else ""


def grid_of(options: Options) -> suites.Grid:
    """What was asked for, else the suite's. Raises CampaignError for a time that is none, or out of bounds."""
    axes = []
    for option, texts in (("--comm-time", options.comm_times), ("--comp-time", options.comp_times)):
        axes.append([suites.nanoseconds(option, text, zero=False) for text in texts])
        for text, time in zip(texts, axes[-1], strict=True):
            if not SHORTEST_TARGET_NS <= time <= LONGEST_TARGET_NS:
                raise CampaignError(
                    f"{option} {text}: from {SHORTEST_TARGET_NS // 1000} us to {LONGEST_TARGET_NS // 10**9} s"
                )
    return suites.grid_with(suites.SUITES[options.suite].grid.name, *axes)


def place(options: Options) -> list[Placement]:
    """Ranks on a node's cores, for each number of them per rank. Raises CampaignError where there are too few."""
    return list(dict.fromkeys(_placed(options, threads) for threads in options.threads_per_rank or (0,)))


def _placed(options: Options, threads_per_rank: int) -> Placement:
    there = known_systems.load(options.system).partition(options.network)
    cores = there.node.cores
    found = Placement.on(there.node, options.ranks, threads_per_rank, crowding=options.oversubscribe)
    if found.ranks > MOST_RANKS_PER_CORE * cores:
        raise CampaignError(
            f"{found.ranks} ranks on {cores} core{'s' * (cores > 1)}: above {MOST_RANKS_PER_CORE} on a core, starting "
            "together takes longer than what is measured: ask for fewer with --ranks"
        )
    if found.cores_per_node > MOST_RANKS_PER_CORE * cores:
        raise CampaignError(
            f"{found.ranks} rank{'s' * (found.ranks > 1)} of {found.threads_per_rank} threads on {cores} "
            f"core{'s' * (cores > 1)}: at most {MOST_RANKS_PER_CORE} threads on a core: ask for fewer with "
            "--threads-per-rank or --ranks"
        )
    if found.oversubscribed and not options.oversubscribe:
        raise CampaignError(
            f"{found.ranks} ranks of {found.threads_per_rank} threads need {found.cores_per_node} cores, {there.whose} "
            f"{cores}: ask for less with --ranks or --threads-per-rank, or run it marked as oversubscribed with "
            "--oversubscribe"
        )
    return found


SHM_SERIALISES = "over which most libraries overlap nothing without a progress thread"


def choose_network(options: Options) -> tuple[str, list[str]]:
    """The network, one of those that the system has, and what must be said about it.

    Raises CampaignError where the one that was asked for cannot be, or none.
    """
    kind, _, rate = options.network.partition(":")
    there = known_systems.load(options.system).partitions
    if kind in ("shm", "native"):
        return kind, []
    if not kind and "wire" not in there:
        return next(iter(there)), []
    network = f"wire:{rate or WIRE_RATE}"
    refusal = there["wire"].why_not()
    if refusal is None:
        return network, []
    if kind == "wire":
        raise CampaignError(f"network '{options.network}' cannot be had here: {refusal}; use --network shm")
    if "shm" not in there:
        raise CampaignError(
            f"no wire can be had here ({refusal}), and system '{options.system}' has no partition for shm; it has: "
            f"{', '.join(there)}: choose another one with --network"
        )
    return "shm", [f"no wire on this machine ({refusal}): shared memory instead, {SHM_SERIALISES}"]


def _name(toolchain: Toolchain) -> tuple[str, str]:
    return toolchain.toolchain, toolchain.provider


def make_plan(
    options: Options,
    resolved: list[Toolchain],
    network: str,
    *placements: Placement,
    built: bool = True,
) -> Plan:
    """All cases that were asked for; what the registry knows to be impossible is skipped with its reason.

    placements: ranks on cores, once for each number of cores per rank that was asked for.
    Which collectives a library lacks is known from when the benchmarks have been built with it.  built: everything that
    Spack builds is there; else another benchmark that it will build is not missed yet.
    Raises CampaignError where nothing is left to run.
    """
    twice = [one for one in resolved if [(two.toolchain, two.provider) for two in resolved].count(_name(one)) > 1]
    if twice:
        raise CampaignError(
            f"{twice[0].toolchain} is asked for from several prefixes ({', '.join(one.prefix for one in twice)}): "
            "no record could tell them apart, run them one after the other"
        )
    cases = []
    skipped = {}
    for placement, toolchain, (name, benchmark) in itertools.product(
        placements, resolved, benchmarks_of(options).items()
    ):
        for configuration, cell in _cells(options, benchmark):
            parameters = {**cell, **placed.values_of(placement, placements)}
            question = Question(toolchain, parameters, options.peer_prefixes, built)
            reason = _impossible(options, question, benchmark, configuration, network, placement)
            for repeat in range(1, options.repeat + 1):
                case = Case(
                    toolchain=toolchain.toolchain,
                    provider=toolchain.provider,
                    environment=toolchain.environment,
                    network=network,
                    configuration=configuration,
                    benchmark=name,
                    parameters=parameters,
                    repeat=repeat,
                )
                cases.append(case)
                if reason:
                    skipped[case.stem] = reason
    plan = _within_budget(Plan(options, network, placements, tuple(cases), skipped))
    if not plan.to_measure:
        reasons = "; ".join(dict.fromkeys(skipped.values()))
        raise CampaignError(f"nothing can run: {reasons} (what can: ./campaign list)")
    if options.interleave and len(plan.sides) < 2:
        raise CampaignError(
            f"--interleave lets toolchains and configurations take turns, and there is {' '.join(plan.sides[0])} only: "
            "name at least two with --toolchain or --configuration"
        )
    return plan


def _within_budget(plan: Plan) -> Plan:
    """Without the values, such as the last collectives, that a suite's own budget has no room for on this machine; what
    was asked for stays."""
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
    """What was asked for, else the suite's."""
    names = options.benchmarks or suites.SUITES[options.suite].benchmarks
    return {name: BENCHMARKS[name] for name in names}


def axes_of(options: Options, benchmark: Benchmark) -> dict[str, tuple[Value, ...]]:
    """By axis, the values that cases of a benchmark have: those that were asked for, else the suite's; of an axis that
    it does not have, the usual one, or the one that all cases of the run have."""
    return {
        name: values_of(options.suite, choice, options.axes)
        for name, choice in CHOICES.items()
        if benchmark.has(name) or not choice.several
    }


def configurations_of(options: Options, benchmark: Benchmark) -> tuple[str, ...]:
    """The configurations that were asked for, else those of the suite that the benchmark can be run in."""
    usual = suites.SUITES[options.suite].configurations
    return options.configurations or tuple(name for name in usual if name in benchmark.configurations)


def _cells(options: Options, benchmark: Benchmark) -> Iterator[tuple[str, dict[str, Value]]]:
    """Every combination of a configuration and values of all axes."""
    axes = axes_of(options, benchmark)
    usual = {name: choice.usual for name, choice in CHOICES.items()}
    for configuration in configurations_of(options, benchmark):
        for values in itertools.product(*axes.values()):
            yield configuration, {**usual, **dict(zip(axes, values, strict=True))}


def _impossible(
    options: Options, question: Question, benchmark: Benchmark, configuration: str, network: str, placement: Placement
) -> str:
    """Why a case cannot be had; empty where it can."""
    toolchain = question.toolchain
    if configuration not in benchmark.configurations:
        return f"{benchmark.test} runs in {', '.join(benchmark.configurations)} only"
    there = known_systems.load(options.system).partition(network)
    request = Request(
        Path(toolchain.prefix),
        toolchain.version,
        configuration,
        network,
        placement,
        here=there.here,
        launcher=there.launcher,
    )
    answer = launches.launch(toolchain.family, request)
    if isinstance(answer, Impossible):
        return answer.reason
    where = Where(configuration, toolchain.toolchain, builds.programs(toolchain))
    reasons = [one.impossible(question.parameters[one.name], where) for one in benchmark.choices]
    reason = next(filter(None, reasons), None) or benchmark.impossible(question)
    return reason.reason if reason is not None else ""
