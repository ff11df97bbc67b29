"""The settings of one launch of a benchmark, or the reason why the launch is impossible."""

from dataclasses import replace
from pathlib import Path

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.launchers.launcher import Launcher
from mpi_campaign.libraries.library import Library
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.registry import library
from mpi_campaign.libraries.settings import Answer, Hosts, Impossible, Request, Rule, Settings, nothing
from mpi_campaign.libraries.versions import NEWER_THAN_ALL
from mpi_campaign.networks import registry as networks
from postprocess.drawing.text import plural


def launch(family: str, request: Request) -> Answer:
    """Environment and options of one launch, or the reason why it is impossible.

    Settings are added in this order, and later variables replace earlier ones: those of every launch, this machine and
    binding or else the hosts, network, flavour, configuration, what else the library is told, the core given up.
    """
    entry = library(family)
    launcher = entry.launcher(request.launcher, request.version)
    if launcher is None:
        return Impossible(_not_started(entry, request))
    network = entry.network(networks.kind(request.network))
    here = launcher.here if request.here else nothing
    placing = (_across(launcher, request.hosts),) if request.hosts else (here, launcher.place)
    chosen = (
        network,
        *(entry.flavours[name] for name in request.flavours if name in entry.flavours),
        entry.configuration(request.configuration),
        *(entry.setting(axis, value) for axis, value in request.axes.items()),
    )
    answer = _added(request, entry.always(request), *placing, *chosen)
    return answer if isinstance(answer, Impossible) else _with_core_given_up(request, answer)


def _across(launcher: Launcher, hosts: Hosts) -> Rule:
    def rule(request: Request) -> Answer:
        answer = launcher.across(request, hosts)
        return answer if isinstance(answer, Impossible) else Settings(hosts.variables) + answer

    return rule


def _not_started(entry: Library, request: Request) -> str:
    """The reason for a launcher that the library's entry does not name."""
    launchers = (f"{started.launcher.title} ({', '.join(started.launcher.commands)})" for started in entry.launchers)
    return f"how {request.launcher} starts ranks of {entry.title} is not known; known: {'; '.join(launchers)}"


def _with_core_given_up(request: Request, settings: Settings) -> Answer:
    configuration, placement = CONFIGURATIONS[request.configuration], request.placement
    if not configuration.gives_up_core:
        return settings
    if placement.oversubscribed:
        crowd = (
            f"{plural(placement.ranks, 'rank')} of {plural(placement.threads_per_rank, 'thread')} "
            "have none of their own here"
        )
        return Impossible(f"{request.configuration} keeps a core of each rank free of computation; {crowd}")
    if placement.threads_per_rank == 1:
        needs = f"{request.configuration} needs 2 cores per rank, there is 1"
        if not configuration.bound:
            return Impossible(needs)
        if not placement.crowding:
            return Impossible(f"{needs}; --oversubscribe runs it on that one, marked as oversubscribed")
    if placement.cpus:
        cpus = ",".join(map(str, placement.dedicated_cpus))
        settings += Settings(program=("--dedicated-cpus", cpus))
    return settings


def _added(request: Request, settings: Settings, *rules: Rule | Impossible) -> Answer:
    """These settings and those of the rules; the reason of the first rule that is impossible."""
    for rule in rules:
        answer = rule if isinstance(rule, Impossible) else rule(request)
        if isinstance(answer, Impossible):
            return answer
        settings += answer
    return settings


def progresses_in(family: str, prefix: Path, version: str, network: str) -> tuple[str, ...]:
    """The configurations in which the library has progress threads of its own over a network, with 2 cores per rank."""
    if library(family).progresses:
        return tuple(CONFIGURATIONS)
    enough = Placement(nodes=2, ranks_per_node=2, threads_per_rank=2)
    return tuple(
        name
        for name, configuration in CONFIGURATIONS.items()
        if configuration.progress == "library"
        and isinstance(launch(family, Request(prefix, version, name, network, enough)), Settings)
    )


def limits(family: str, configuration: str, placement: Placement) -> dict[str, str]:
    """{network: reason} of the networks over which a family cannot run a configuration.  placement: on one node. For a
    network between nodes, it is that of each of two."""
    reasons = {}
    for network, what in networks.NETWORKS.items():
        placed = replace(placement, nodes=2) if what.between_nodes else placement
        answer = launch(family, Request(Path("/"), str(NEWER_THAN_ALL), configuration, network, placed))
        if isinstance(answer, Impossible):
            reasons[network] = answer.reason
    return reasons
