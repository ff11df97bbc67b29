"""Options that the two launchers of Open MPI share: ORTE until version 4, PRRTE since version 5."""

from collections.abc import Callable

from mpi_campaign.libraries.launchers.launcher import Across, bound_by_program
from mpi_campaign.libraries.settings import Answer, Hosts, Impossible, Request, Settings

RANK_VARIABLE = "OMPI_COMM_WORLD_RANK"
LOCAL_RANK = "OMPI_COMM_WORLD_LOCAL_RANK"


def place(request: Request) -> Settings:
    """Settings that bind ranks, by BIND_RANK where CPUs are known. Both launchers number CPUs in an order of their own,
    which differs between versions; BIND_RANK takes the kernel's numbers."""
    placement = request.placement
    unbound = Settings(options=("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"))
    if placement.oversubscribed:
        return unbound
    if placement.shares:
        return unbound + bound_by_program(placement, LOCAL_RANK)
    return Settings(options=("--map-by", f"slot:PE={placement.threads_per_rank}", "--bind-to", "core"))


def across(starter: Callable[[str], tuple[str, ...]]) -> Across:
    """The field `across` of both launchers.  starter: a function of the agent that returns the options which name it,
    and which keep the launcher from asking a batch system for hosts."""

    def across_by(request: Request, hosts: Hosts) -> Answer:
        if any(map(str.isspace, hosts.agent)):
            return Impossible(
                f"Open MPI takes the agent '{hosts.agent}' apart at its spaces: use a clone whose path has none"
            )
        each = request.placement.ranks_per_node
        names = ",".join(f"{name}:{each}" for name in hosts.names)
        placed = ("--host", names, "--map-by", f"ppr:{each}:node:OVERSUBSCRIBE", "--bind-to", "none")
        return Settings(options=(*starter(hosts.agent), *placed)) + bound_by_program(request.placement, LOCAL_RANK)

    return across_by


def hand_over(name: str, value: str) -> tuple[str, ...]:
    """The options that set a variable for the ranks."""
    return ("-x", f"{name}={value}")
