"""Where the ranks of a run are: the nodes, the ranks and cores on each, the network."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.placement import Numbers, Placement, first
from mpi_campaign.networks import registry as networks
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.options import MOST_NODES, MOST_RANKS_PER_CORE, Options, benchmarks_of
from mpi_campaign.systems import known_systems, nodes_in_hand
from postprocess.drawing.text import plural

USUAL_RANKS = 2
"""The ranks of a run on one node. On several nodes each has one, as in Denis et al. 2022."""


def partition_of(options: Options, network: str) -> known_systems.Partition:
    """The partition of the system in which launches over a network are."""
    return known_systems.load(options.system, options.partition).partition(network)


def shapes(options: Options) -> list[tuple[int, int]]:
    """Every number of nodes that was asked for, each with a number of ranks per node. Raises CampaignError for numbers
    below 1, and for ranks that the nodes cannot have equally many of."""
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
        of_suite = suites.SUITES[options.suite].ranks_per_node if asked == (1,) else ()
        return [(nodes, ranks) for nodes in asked for ranks in of_suite or (usual_ranks(nodes),)]
    for nodes in asked:
        if options.ranks % nodes:
            raise CampaignError(
                f"--ranks {options.ranks} cannot be the same number on each of {nodes} nodes: ask for a multiple of "
                f"{nodes}, or use --ranks-per-node"
            )
    return [(nodes, options.ranks // nodes) for nodes in asked]


def place(options: Options) -> list[Placement]:
    """A placement for each number of nodes, ranks per node and cores per rank that was asked for. Raises CampaignError
    for too few nodes or cores."""
    threads = options.threads_per_rank or (0,)
    asked = _node_sets(options) if options.one_after_the_other else [(*shape, ()) for shape in shapes(options)]
    return list(dict.fromkeys(_placement(options, *shape, each) for shape, each in itertools.product(asked, threads)))


def _node_sets(options: Options) -> list[tuple[int, int, Numbers]]:
    """Each node alone, then each with the next one, and the last with the first: how many nodes, with how many ranks on
    each, and their numbers. So each node is in two pairs, and a node that makes both slow is told from its partners."""
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
    partition = partition_of(options, options.network)
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
    """The network, one that the system has, and notes to print about the choice. Raises CampaignError where the network
    that was asked for cannot be had, or where none can."""
    kind, rate = networks.kind(options.network), networks.rate(options.network)
    partitions = known_systems.load(options.system, options.partition).partitions
    chosen = kind or next((name for name in partitions if NETWORKS[name].usual), next(iter(partitions)))
    instead = NETWORKS[chosen].instead if not kind else ""
    if instead in partitions and all(benchmark.within_a_node for benchmark in benchmarks_of(options).values()):
        return instead, []
    network, refusal = networks.with_rate(chosen, rate), partitions[chosen].why_not()
    if refusal is None:
        benchmarks = benchmarks_of(options)
        within = [name for name, benchmark in benchmarks.items() if _network_of(options, benchmark, network) != network]
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


def networks_of(options: Options, benchmark: Benchmark, network: str) -> tuple[str, ...]:
    """The networks of a benchmark's cases in a run over `network`: those of the suite as far as they can be had, else
    one. A network with a rate can be had only where the run chose it, since a machine may refuse it."""
    kind = networks.kind(network)
    several = suites.SUITES[options.suite].networks
    if options.network or kind not in several or max(options.nodes, default=1) > 1:
        return (_network_of(options, benchmark, network),)
    partitions = known_systems.load(options.system, options.partition).partitions
    had = {name: name for name in several if name in partitions and not NETWORKS[name].usual_rate}
    of_kind = (name for name in several if networks.kind(name) == kind and networks.rate(name))
    had |= {name: networks.with_rate(kind, networks.rate(name)) for name in of_kind} | {kind: network}
    return tuple(had[name] for name in several if name in had)


def _network_of(options: Options, benchmark: Benchmark, network: str) -> str:
    """The network of a benchmark's cases in a run over `network`. Where a person asked for none, a benchmark that is
    about memory within a node has the one instead of that, if there is one."""
    instead = networks.of(network).instead
    if options.network or not benchmark.within_a_node or not instead:
        return network
    return instead if instead in known_systems.load(options.system, options.partition).partitions else network


def in_words(placed: Sequence[Placement]) -> str:
    """The ranks of placements, and the threads of each rank: `2 ranks x 1, 4 ranks on 2 nodes x 1`."""
    threads: dict[str, list[str]] = {}
    for placement in placed:
        where = f" on {placement.nodes} nodes" if placement.nodes > 1 else ""
        on = threads.setdefault(f"{plural(placement.ranks, 'rank')}{where}", [])
        words = f"{placement.threads_per_rank}{' (oversubscribed)' * placement.oversubscribed}"
        if words not in on:
            on.append(words)
    return ", ".join(f"{ranks} x {', '.join(numbers)}" for ranks, numbers in threads.items())
