"""Intel MPI's launcher: made from Hydra, with variables of its own for CPUs."""

from mpi_campaign.libraries.launchers.hydra import LOCAL_RANK, hosts_options
from mpi_campaign.libraries.launchers.launcher import Launcher, bound_by_program
from mpi_campaign.libraries.settings import Answer, Hosts, Request, Settings


def _here(_request: Request) -> Settings:
    return Settings(options=("-bootstrap", "fork", "-rmk", "user", "-iface", "lo"))


def _place(request: Request) -> Settings:
    placement = request.placement
    if placement.oversubscribed:
        return Settings({"I_MPI_PIN": "0"})
    if placement.shares:
        masks = ",".join(hex(sum(1 << cpu for cpu in share)) for share in placement.shares)
        return Settings({"I_MPI_PIN_DOMAIN": f"[{masks}]"}, binds=True)
    return Settings({"I_MPI_PIN_CELL": "core", "I_MPI_PIN_DOMAIN": f"{placement.threads_per_rank}:compact"})


def _across(request: Request, hosts: Hosts) -> Answer:
    starter = ("-bootstrap", "ssh", "-bootstrap-exec", hosts.agent)
    settings = Settings({"I_MPI_PIN": "0"}, (*starter, *hosts_options(request, hosts)))
    return settings + bound_by_program(request.placement, LOCAL_RANK)


INTEL_HYDRA = Launcher(
    title="Intel MPI's launcher",
    here=_here,
    place=_place,
    across=_across,
    hand_over=lambda name, value: ("-genv", name, value),
    version_pattern=r"Intel\(R\) MPI Library.* Version (\d[\w.]*)",
)
