"""Hydra, the launcher of MPICH and of libraries that are made from it, and Intel MPI's, which is made from Hydra."""

from dataclasses import replace

from mpi_campaign.libraries.launchers.launcher import Launcher, bound_by_program
from mpi_campaign.libraries.settings import Answer, Hosts, Request, Settings, same_options

LOCAL_RANK = "MPI_LOCALRANKID"
_NO_FILE = {"HYDRA_CONFIG_FILE": "/dev/null"}
_UNBOUND = Settings(options=("-bind-to", "none"))


def _place(request: Request) -> Settings:
    """Hydra itself would bind the memory of a rank too, and fail where a container's filter refuses that."""
    placement = request.placement
    if placement.oversubscribed:
        return _UNBOUND
    if placement.shares:
        return _UNBOUND + bound_by_program(placement, LOCAL_RANK)
    return Settings(options=("-bind-to", f"core:{placement.threads_per_rank}"))


def _hosts_options(request: Request, hosts: Hosts) -> tuple[str, ...]:
    """Options for the hosts, and the number of ranks on each. No batch system is asked for hosts."""
    return ("-rmk", "user", "-hosts", ",".join(hosts.names), "-ppn", str(request.placement.ranks_per_node))


def _across(request: Request, hosts: Hosts) -> Answer:
    starter = ("-launcher", "ssh", "-launcher-exec", hosts.agent)
    settings = Settings(_NO_FILE, (*starter, *_hosts_options(request, hosts))) + _UNBOUND
    return settings + bound_by_program(request.placement, LOCAL_RANK)


HYDRA = Launcher(
    title="Hydra",
    # Its processes communicate over loopback, which every machine and every wire has.
    here=same_options("-launcher", "fork", "-rmk", "user", "-iface", "lo", **_NO_FILE),
    place=_place,
    across=_across,
    hand_over=lambda name, value: ("-genv", name, value),
    version_pattern=r"HYDRA build details:\s+Version:\s+(\d[\w.]*)",
)

MVAPICH_HYDRA = replace(HYDRA, title="MVAPICH's Hydra", version_pattern="", rank_variables=("MV2_COMM_WORLD_RANK",))
"""MVAPICH's Hydra. Its `--version` prints MPICH's version, not MVAPICH's, so that it has no pattern."""


def _intel_place(request: Request) -> Settings:
    """Intel MPI has variables of its own for CPUs."""
    placement = request.placement
    if placement.oversubscribed:
        return Settings({"I_MPI_PIN": "0"})
    if placement.shares:
        masks = ",".join(hex(sum(1 << cpu for cpu in share)) for share in placement.shares)
        return Settings({"I_MPI_PIN_DOMAIN": f"[{masks}]"}, binds=True)
    return Settings({"I_MPI_PIN_CELL": "core", "I_MPI_PIN_DOMAIN": f"{placement.threads_per_rank}:compact"})


def _intel_across(request: Request, hosts: Hosts) -> Answer:
    starter = ("-bootstrap", "ssh", "-bootstrap-exec", hosts.agent)
    settings = Settings({"I_MPI_PIN": "0"}, (*starter, *_hosts_options(request, hosts)))
    return settings + bound_by_program(request.placement, LOCAL_RANK)


INTEL_HYDRA = Launcher(
    title="Intel MPI's launcher",
    here=same_options("-bootstrap", "fork", "-rmk", "user", "-iface", "lo"),
    place=_intel_place,
    across=_intel_across,
    hand_over=lambda name, value: ("-genv", name, value),
    version_pattern=r"Intel\(R\) MPI Library.* Version (\d[\w.]*)",
)
