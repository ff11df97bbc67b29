"""The launchers of Open MPI: ORTE until version 4, PRRTE since version 5."""

from mpi_campaign.libraries.launchers.launcher import Launcher, bound_by_program
from mpi_campaign.libraries.settings import Answer, Hosts, Impossible, Request, Settings, same_options

LOCAL_RANK = "OMPI_COMM_WORLD_LOCAL_RANK"


def _place(request: Request) -> Settings:
    """Settings that bind ranks, by BIND_RANK where CPUs are known. Both launchers number CPUs in an order of their own,
    which differs between versions; BIND_RANK takes the kernel's numbers."""
    placement = request.placement
    unbound = Settings(options=("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"))
    if placement.oversubscribed:
        return unbound
    if placement.shares:
        return unbound + bound_by_program(placement, LOCAL_RANK)
    return Settings(options=("--map-by", f"slot:PE={placement.threads_per_rank}", "--bind-to", "core"))


def _launcher(title: str, here: tuple[str, ...], agent: tuple[str, ...], asks_nobody: tuple[str, ...]) -> Launcher:
    """here: options by which it stays on this machine.  agent: those that the path of the agent follows.  asks_nobody:
    those that keep it from asking a batch system for hosts."""

    def across(request: Request, hosts: Hosts) -> Answer:
        if any(map(str.isspace, hosts.agent)):
            return Impossible(
                f"Open MPI takes the agent '{hosts.agent}' apart at its spaces: use a clone whose path has none"
            )
        each = request.placement.ranks_per_node
        names = ",".join(f"{name}:{each}" for name in hosts.names)
        placed = ("--host", names, "--map-by", f"ppr:{each}:node:OVERSUBSCRIBE", "--bind-to", "none")
        options = (*agent, hosts.agent, *asks_nobody, *placed)
        return Settings(options=options) + bound_by_program(request.placement, LOCAL_RANK)

    return Launcher(
        title=title,
        here=same_options(*here, *asks_nobody),
        place=_place,
        across=across,
        hand_over=lambda name, value: ("-x", f"{name}={value}"),
        version_pattern=r"\((?:Open MPI|OpenRTE)\) (\d[\w.]*)",
        rank_variables=("OMPI_COMM_WORLD_RANK",),
    )


# Batch systems that a launcher would ask for a list of hosts; `^` excludes them.
ORTE = _launcher(
    "Open MPI's launcher until version 4",
    ("--mca", "plm", "isolated"),
    ("--mca", "plm", "rsh", "--mca", "plm_rsh_agent"),
    ("--mca", "ras", "^slurm,tm,lsf,gridengine,loadleveler,alps", "--mca", "orte_default_hostfile", "none"),
)
# PRRTE has no option to stay on one machine. Its component `ssh` calls ssh only where there is another machine.
# It writes files in the temporary folder by which debuggers and the like find it, named by its process number. If it is
# killed they stay, and end the next launcher that gets this number: "PMIx server's listener thread failed to start".
PRRTE = _launcher(
    "Open MPI's launcher since version 5",
    ("--prtemca", "plm", "ssh"),
    ("--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent"),
    (
        *("--prtemca", "ras", "^slurm,pbs,lsf,gridengine,flux", "--prtemca", "prte_default_hostfile", "none"),
        *("--prtemca", "pmix_tool_support", "0"),
    ),
)
