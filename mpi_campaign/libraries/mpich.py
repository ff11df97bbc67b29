"""MPICH."""

from mpi_campaign.libraries import ch4
from mpi_campaign.libraries.launchers.hydra import HYDRA
from mpi_campaign.libraries.launchers.srun import SRUN_PMI2
from mpi_campaign.libraries.library import Library, StartedBy
from mpi_campaign.libraries.settings import Answer, Impossible, Request, Rule, same


def _unless_finalize_hangs(rule: Rule) -> Rule:
    """The rule, except for MPICH 4.0 on UCX over TCP (Debian's build), whose MPI_Finalize hangs.

    The first rank that has finished UCX waits for the others in PMI, and progresses UCX no more; the last flush of the
    others waits for that rank. Most runs with the library's progress thread hung, and none without it.
    """

    def checked(request: Request) -> Answer:
        if (
            request.network.startswith(("wire", "tcp"))
            and request.is_of(4, 0)
            and ch4.device(request.prefix) == "ch4:ucx"
        ):
            return Impossible(
                f"MPICH {request.version} on UCX hangs in MPI_Finalize over TCP after its progress thread ran: "
                "take a newer one, one on OFI, or --network shm"
            )
        return rule(request)

    return checked


def _modelled(request: Request) -> Answer:
    if request.major < 5:
        return Impossible(f"the names of the algorithms of MPICH {request.version} are not known here; 5.0 has them")
    return ch4.MODELLED(request)


LIBRARY = Library(
    title="MPICH",
    package="mpich",
    launchers=(StartedBy(HYDRA), StartedBy(SRUN_PMI2)),
    reports=r"MPICH Version:\s*(\d[\w.]*)",
    always=same(MPIR_CVAR_ASYNC_PROGRESS="0"),
    networks=ch4.NETWORKS,
    configurations={name: _unless_finalize_hangs(rule) for name, rule in ch4.CONFIGURATIONS.items()},
    eager_limit=ch4.eager_limit,
    fragments=ch4.fragments,
    single_copy_by="receiver",
    streams=ch4.streams,
    settings={
        "protocol": ch4.PROTOCOLS,
        "library_setting": {"yielding": ch4.YIELDING, "modelled": _modelled},
        "interfaces": {"per_thread": ch4.interfaces_per_thread},
        "intranode": ch4.INTRANODE,
    },
    variables=ch4.VARIABLES,
    controls=ch4.CONTROLS,
    wheels=("mpich",),
    known_wheels=("5.0.2", "4.2.3"),
    folders=("lib/mpich", "lib/mpich/ucx"),
    binary_interface=ch4.BINARY_INTERFACE,
    shared_memory=ch4.SHARED_MEMORY,
)
