"""How options, libraries and placements become cases, planned or skipped with a reason."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import launches
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Impossible, Request
from mpi_campaign.networks import registry as networks
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks import placed
from mpi_campaign.planning.benchmarks.benchmark import Benchmark, Question
from mpi_campaign.planning.benchmarks.choice import Where
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, CHOICES
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import Options, axes_of, benchmarks_of, configurations_of, grid_of
from mpi_campaign.planning.placing import networks_of, partition_of
from mpi_campaign.planning.plan import Plan
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds
from mpi_campaign.toolchains.resolving import Toolchain
from postprocess.drawing.text import plural
from postprocess.families.axes import RANKS_PER_NODE, library_settings
from postprocess.families.family import Value


def _identity(toolchain: Toolchain) -> tuple[str, str]:
    return toolchain.toolchain, toolchain.provider


def make_plan(
    options: Options, resolved: list[Toolchain], network: str, *placements: Placement, built: bool = True
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
    not_looked_at = _asked_for(options)
    grid, asked = grid_of(options)
    for placement, toolchain, (name, benchmark) in itertools.product(
        placements, resolved, benchmarks_of(options).items()
    ):
        if placement.ranks < benchmark.fewest_ranks and suite.ranks_per_node:
            continue
        its_networks = networks_of(options, benchmark, network)
        alone = {"network"} if len(its_networks) == 1 and not suite.fixed else set()
        for its_network, (configuration, cell) in itertools.product(its_networks, _combinations(options, benchmark)):
            parameters = {**cell, **placed.values_of(placement, placements)}
            called = networks.kind(its_network) if its_network == network else networks.without_version(its_network)
            of_case = {**parameters, "configuration": configuration, "network": called}
            if not suite.has(name, of_case, not_looked_at | alone):
                continue
            question = Question(
                toolchain,
                parameters,
                options.peer_prefixes,
                built,
                CONFIGURATIONS[configuration].computing_threads(placement.threads_per_rank),
                placement.ranks,
                grid,
                benchmark.point_values(asked, parameters),
                _memory_of_a_rank(options, its_network, placement),
            )
            reason = _why_impossible(options, question, benchmark, configuration, its_network, placement)
            for repeat in range(1, benchmark.launches(options.launches, suite.launches) + 1):
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
    return plan


def _asked_for(options: Options) -> set[str]:
    """What a person asked for: names of axes, `configuration`, `network`."""
    given = {
        "configuration": options.configurations,
        "network": options.network,
        RANKS_PER_NODE.name: options.ranks or options.ranks_per_node or options.nodes,
    }
    return {name for name, asked in given.items() if asked} | set(options.asked)


def _reasons(options: Options, cases: Sequence[Case], skipped: Mapping[str, str]) -> list[str]:
    """Why no case can run. Where nobody asked for a configuration, those of `basic`, which needs the least, suffice:
    what others need beside is not why it cannot run."""
    of_basic = [skipped[case.stem] for case in cases if case.configuration == "basic" and case.stem in skipped]
    return list(dict.fromkeys(skipped.values() if options.configurations else of_basic or skipped.values()))


def _memory_of_a_rank(options: Options, network: str, placement: Placement) -> int:
    """A rank's share of the memory that may be used on its node, in bytes; 0 where its node is another machine."""
    partition = partition_of(options, network)
    return machine.allowed_memory_bytes() // placement.ranks_per_node if partition.here else 0


def _check_points(options: Options, cases: Sequence[Case]) -> None:
    """Refuse values of an axis of points that no case has. Raises CampaignError."""
    benchmarks = {case.benchmark: BENCHMARKS[case.benchmark] for case in cases}
    having = {
        name for case in cases for name in benchmarks[case.benchmark].point_values(options.asked, case.parameters)
    }
    for name in options.asked:
        own = [choice for benchmark in benchmarks.values() for choice in benchmark.named(name)]
        if own and name not in having and all(choice.of_points for choice in own):
            of = " or ".join(dict.fromkeys(choice.only_for for choice in own))
            raise CampaignError(f"{own[0].option} is for {of} only: leave it out, or ask for that too")


def _within_budget(plan: Plan) -> Plan:
    """The plan without the last values of an axis, such as collectives, for which a suite's own budget has no time on
    this machine. Values that a person asked for stay."""
    suite = suites.SUITES[plan.options.suite]
    axis = suite.leaves_out
    if not axis or axis in plan.options.asked or plan.options.budget_seconds >= 0:
        return plan
    for value in reversed(suite.axes[axis][1:]):
        if not plan.to_measure or not plan.too_short():
            break
        time = f"{plan.options.suite}'s {suite.budget_seconds:.0f} s"
        reason = f"no time for it within {time}: {CHOICES[axis].option} {value} measures it"
        left_out = {case.stem: reason for case in plan.cases if case.parameters[axis] == value}
        plan = replace(plan, skipped={**left_out, **plan.skipped})
    return plan


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
    partition = partition_of(options, network)
    request = Request(
        Path(toolchain.prefix),
        toolchain.version,
        configuration,
        network,
        placement,
        here=partition.here,
        launcher=partition.launcher,
        hosts=partition.hosts(placement.numbers),
        axes=library_settings(question.parameters),
    )
    answer = launches.launch(toolchain.family, request)
    if isinstance(answer, Impossible):
        return answer.reason
    where = Where(configuration, toolchain.toolchain, builds.programs(toolchain))
    reasons = [choice.impossible(question.parameters[choice.name], where) for choice in benchmark.choices]
    reason = next(filter(None, reasons), None) or benchmark.impossible(question)
    return reason.reason if reason is not None else ""
