"""Options that make no sense are refused, before anything is installed."""

import re
from collections.abc import Iterable, Mapping

from mpi_campaign import ROOT
from mpi_campaign.children import environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.networks import registry as networks
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.benchmark import AT_ONCE, IN_TURN, Benchmark
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, CHOICES, with_axis
from mpi_campaign.planning.options import CALIBRATE, PROVIDERS, Options, benchmarks_of
from mpi_campaign.planning.placing import shapes
from mpi_campaign.systems import known_systems
from mpi_campaign.toolchains import peers, resolving
from mpi_campaign.toolchains.spack import matrix
from postprocess.drawing.text import plural

# More than anybody waits for.
LONGEST_SECONDS = 30 * 86400.0
MOST_REPEATS = 1000


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
    if options.calibrate and options.sizes_of:
        raise CampaignError(f"--sizes-of takes sizes over, --calibrate {options.calibrate} finds them: leave out one")
    environ.asked(options.environment)
    peers.check_prefixes(options.peer_prefixes)


def _check_toolchains(options: Options) -> None:
    if options.provider == "spack":
        rows = matrix.matrix(options.system)
        for text in options.toolchains:
            matrix.choose(text, rows)
        return
    for text in options.toolchains:
        if not resolving.RANGE.fullmatch(text):
            resolving.parse(text)


def _check_names(options: Options) -> None:
    kind, rate = networks.kind(options.network), networks.rate(options.network)
    most_nodes = max(options.nodes, default=1)
    if kind in NETWORKS and NETWORKS[kind].of_one_node and most_nodes > 1:
        others = " or ".join(name for name, network in NETWORKS.items() if not network.of_one_node)
        raise CampaignError(
            f"--network {kind} is inside of one node: with --nodes {most_nodes}, ask for --network {others}"
        )
    checks: list[tuple[str, tuple[str, ...], Iterable[str]]] = [
        ("system", (options.system,), known_systems.available()),
        ("suite", (options.suite,), suites.SUITES),
        ("provider", (options.provider,), PROVIDERS),
        ("configuration", options.configurations, CONFIGURATIONS),
        ("calibrate", (options.calibrate,) if options.calibrate else (), CALIBRATE),
        ("benchmark", options.benchmarks, BENCHMARKS),
        ("network", (kind,) if options.network else (), NETWORKS),
    ]
    for what, values, legal in checks:
        for value in values:
            if value not in legal:
                raise CampaignError(f"there is no {what} '{value}'; there are: {', '.join(legal)}")
    _check_asked(options)
    _check_suite(options)
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
        rated = [networks.with_rate(name) for name, network in NETWORKS.items() if network.usual_rate]
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
    for name, texts in options.asked.items():
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
    if suites.SUITES[options.suite].ranks_per_node and not (options.ranks or options.ranks_per_node):
        numbers = [max(numbers)]  # the suite's own: each benchmark has those that suffice
    ranks = min(numbers)
    need = f"{' and '.join(names)} {verb} at least {fewest}{_benchmarks_for(ranks)}"
    in_pairs = [name for name, benchmark in benchmarks.items() if benchmark.pairs]
    odd = next((number for number in numbers if number % 2), 0)
    wrong = {
        f"--repeat {options.launches}: a whole number from 1 to {MOST_REPEATS}": (
            options.launches not in range(MOST_REPEATS + 1)  # 0: nobody asked for a number
        ),
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
    if options.each_node:
        _check_each_node(options, benchmarks)
    elif options.one_after_the_other:
        raise CampaignError("--one-after-the-other is how --each-node measures: add it, or leave this out")
    for name, benchmark in benchmarks.items():
        if min(options.nodes, default=1) < benchmark.fewest_nodes:
            raise CampaignError(f"--benchmark {name} needs {benchmark.fewest_nodes} nodes: ask for them with --nodes")


def _check_each_node(options: Options, asked: Mapping[str, Benchmark]) -> None:
    """Refuse what --each-node does not go with. Raises CampaignError."""
    way = IN_TURN if options.one_after_the_other else AT_ONCE
    by_node = ", ".join(name for name, benchmark in BENCHMARKS.items() if benchmark.by_node == way)
    others = " and ".join(name for name, benchmark in asked.items() if benchmark.by_node != way)
    other_way = {benchmark.by_node for benchmark in asked.values()} == {IN_TURN} and way == AT_ONCE
    instead = ", or add --one-after-the-other" if other_way else ""
    wrong = {
        "--each-node measures the nodes of one number: ask for it with --nodes, from 2": (
            len(options.nodes) != 1 or options.nodes[0] < 2
        ),
        "--each-node: nodes have different numbers of ranks together: use --ranks-per-node instead of --ranks": (
            bool(options.ranks) and options.one_after_the_other
        ),
        f"--each-node compares nodes {way} by {by_node}: leave out --benchmark {others}{instead}": bool(others),
    }
    for message, applies in wrong.items():
        if applies:
            raise CampaignError(message)


def _check_asked(options: Options) -> None:
    """Refuse an axis that none of the benchmarks has, and what is no value of it. Raises CampaignError."""
    benchmarks = benchmarks_of(options)
    for name, texts in options.asked.items():
        having = with_axis(name)
        own = [choice for benchmark in benchmarks.values() for choice in benchmark.named(name)]
        if not own:
            option = BENCHMARKS[having[0]].named(name)[0].option
            in_turn = options.each_node and any(BENCHMARKS[one].by_node == IN_TURN for one in having)
            more = "--one-after-the-other" if in_turn else f"--benchmark {' or '.join(having)}"
            add = f"add {more}, or leave it out"
            raise CampaignError(f"{option} is nothing to {', '.join(benchmarks)}: {add}")
        for choice in own:
            choice.values_of(texts)
        if all(choice.shared for choice in own):
            for text in texts:
                own[0].read(text)


def _benchmarks_for(ranks: int) -> str:
    """The end of a refusal of a number of ranks: the benchmarks that can have so many; empty where none can."""
    enough = [name for name, benchmark in BENCHMARKS.items() if benchmark.fewest_ranks <= ranks]
    return f"; {ranks} may be asked for with --benchmark {' or '.join(enough)} alone" if enough else ""
