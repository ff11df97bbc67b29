"""Hydra, the launcher of MPICH and of libraries that are made from it."""

from collections.abc import Sequence
from dataclasses import replace

from mpi_campaign.libraries.launchers.launcher import Launcher, bound_by_program
from mpi_campaign.libraries.settings import Answer, Hosts, Request, Settings

LOCAL_RANK = "MPI_LOCALRANKID"
_NO_FILE = {"HYDRA_CONFIG_FILE": "/dev/null"}


def _here(_request: Request) -> Settings:
    # Hydra's processes communicate over loopback, which every machine and every wire has.
    return Settings(_NO_FILE, ("-launcher", "fork", "-rmk", "user", "-iface", "lo"))


def _place(request: Request) -> Settings:
    placement = request.placement
    if placement.oversubscribed:
        return Settings(options=("-bind-to", "none"))
    if placement.shares:
        return Settings(options=("-bind-to", f"user:{','.join(map(_list, placement.shares))}"), binds=True)
    return Settings(options=("-bind-to", f"core:{placement.threads_per_rank}"))


def _list(cpus: Sequence[int]) -> str:
    """CPUs by the kernel's numbers, as Hydra reads them.

    Hydra copies the list into memory that is one byte too short. That does harm at lengths for which malloc leaves no
    room behind the memory; a leading zero gives the list another length.
    """
    text = "+".join(map(str, cpus))
    return f"0{text}" if len(text) % 8 == 0 else text


def hosts_options(request: Request, hosts: Hosts) -> tuple[str, ...]:
    """Options for the hosts, and the number of ranks on each. No batch system is asked for hosts."""
    return ("-rmk", "user", "-hosts", ",".join(hosts.names), "-ppn", str(request.placement.ranks_per_node))


def _across(request: Request, hosts: Hosts) -> Answer:
    starter = ("-launcher", "ssh", "-launcher-exec", hosts.agent)
    options = (*starter, *hosts_options(request, hosts), "-bind-to", "none")
    return Settings(_NO_FILE, options) + bound_by_program(request.placement, LOCAL_RANK)


HYDRA = Launcher(
    title="Hydra",
    here=_here,
    place=_place,
    across=_across,
    hand_over=lambda name, value: ("-genv", name, value),
    says=r"HYDRA build details:\s+Version:\s+(\d[\w.]*)",
)

MVAPICH_HYDRA = replace(HYDRA, title="MVAPICH's Hydra", says="", rank_variables=("MV2_COMM_WORLD_RANK",))
"""MVAPICH's Hydra. Its `--version` prints MPICH's version, not MVAPICH's, so that it has no pattern."""
