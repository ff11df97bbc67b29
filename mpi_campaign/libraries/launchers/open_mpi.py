"""Options that the two launchers of Open MPI share: ORTE until version 4, PRRTE since version 5."""

from collections.abc import Callable, Sequence

from mpi_campaign.libraries.launchers.launcher import Across
from mpi_campaign.libraries.settings import Answer, Impossible, Request, Settings

RANK_VARIABLE = "OMPI_COMM_WORLD_RANK"


def place(request: Request) -> Settings:
    """Settings that bind ranks, by BIND_RANK where CPUs are known.

    Both launchers number CPUs in an order of their own, which differs between versions; BIND_RANK takes the kernel's
    numbers.
    """
    placement = request.placement
    if placement.oversubscribed:
        return Settings(options=("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"))
    if placement.shares:
        lists = ":".join(",".join(map(str, share)) for share in placement.shares)
        return Settings(
            options=("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"),
            binder=("OMPI_COMM_WORLD_LOCAL_RANK", lists),
            binds=True,
        )
    return Settings(options=("--map-by", f"slot:PE={placement.threads_per_rank}", "--bind-to", "core"))


def across(starter: Callable[[str], tuple[str, ...]]) -> Across:
    """The field `across` of both launchers. starter: a function of the agent that returns the options which name it."""

    def across_by(request: Request, agent: str, hosts: Sequence[str]) -> Answer:
        if any(map(str.isspace, agent)):
            return Impossible(
                f"Open MPI takes the agent '{agent}' apart at its spaces: use a clone whose path has none"
            )
        each = request.placement.ranks_per_node
        placed = ("--host", ",".join(f"{host}:{each}" for host in hosts), "--map-by", f"ppr:{each}:node:OVERSUBSCRIBE")
        return Settings(options=(*starter(agent), *placed, "--bind-to", "none"))

    return across_by


def hand_over(name: str, value: str) -> tuple[str, ...]:
    """The options that set a variable for the ranks."""
    return ("-x", f"{name}={value}")
