"""PALS, the launcher of HPE's systems: in a job of a batch system it starts ranks itself, without an agent."""

from mpi_campaign.libraries.launchers.launcher import Launcher, bound_by_program
from mpi_campaign.libraries.settings import Answer, Hosts, Request, Settings

LOCAL_RANK = "PALS_LOCAL_RANKID"
_UNBOUND = Settings(options=("--cpu-bind", "none"))


def _across(request: Request, hosts: Hosts) -> Answer:
    placed = ("--hosts", ",".join(hosts.names), "--ppn", str(request.placement.ranks_per_node))
    return Settings(options=placed) + _UNBOUND + bound_by_program(request.placement, LOCAL_RANK)


PALS = Launcher(
    title="PALS",
    place=lambda request: _UNBOUND + bound_by_program(request.placement, LOCAL_RANK),
    across=_across,
    hand_over=lambda name, value: ("--env", f"{name}={value}"),
    rank_variables=("PALS_RANKID",),
)
