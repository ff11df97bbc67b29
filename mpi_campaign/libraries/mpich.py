"""MPICH, on its device ch4 or on the older ch3, which Debian's and Spack's builds may have."""

from mpi_campaign.libraries import ch4
from mpi_campaign.libraries.launchers.hydra import HYDRA
from mpi_campaign.libraries.launchers.srun import SRUN_PMI2
from mpi_campaign.libraries.library import Library, StartedBy
from mpi_campaign.libraries.settings import (
    LOWERED_LIMIT,
    RAISED_LIMIT,
    Answer,
    Impossible,
    Request,
    Rule,
    nothing,
    same,
)

_CH3_LIMIT = "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"


def _is_ch3(request: Request) -> bool:
    return ch4.device(request.prefix).startswith("ch3:")


def _by_device(on_ch4: Rule, on_ch3: Rule) -> Rule:
    """A rule for each device. A build whose device nothing tells counts as one of ch4, which is the usual one."""
    return lambda request: (on_ch3 if _is_ch3(request) else on_ch4)(request)


def _not_on_ch3(what: str, rule: Rule) -> Rule:
    """A rule whose variables are ch4's. what: what they choose."""

    def refused(request: Request) -> Answer:
        return Impossible(f"MPICH {request.version} was built on {ch4.device(request.prefix)}, which has no {what}")

    return _by_device(rule, refused)


def _shared_memory(request: Request) -> Answer:
    if (device := ch4.device(request.prefix)) == "ch3:sock":
        return Impossible(
            f"MPICH {request.version} was built on {device}, which has no shared memory: take --network wire"
        )
    return nothing(request)


def _eager_limit(request: Request) -> str:
    """On ch3 the limit is one over every network."""
    return _CH3_LIMIT if _is_ch3(request) else ch4.eager_limit(request)


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


def _yielding(request: Request) -> Answer:
    if request.is_of(4, 0) or request.major < 4:
        return Impossible(f"MPICH {request.version} has no variable that makes waits give the CPU up")
    return ch4.YIELDING(request)


def _modelled(request: Request) -> Answer:
    if request.major < 5:
        return Impossible(f"the names of the algorithms of MPICH {request.version} are not known here; 5.0 has them")
    return ch4.MODELLED(request)


LIBRARY = Library(
    title="MPICH",
    package="mpich",
    launchers=(StartedBy(HYDRA), StartedBy(SRUN_PMI2)),
    reports=r"MPICH Version:\s*(\d[\w.]*)",
    always=ch4.always(),
    networks={
        "shm": _shared_memory,
        "wire": _by_device(ch4.NETWORKS["wire"], same(MPIR_CVAR_NOLOCAL="1")),
        "tcp": _by_device(ch4.NETWORKS["tcp"], nothing),
    },
    configurations={name: _unless_finalize_hangs(rule) for name, rule in ch4.CONFIGURATIONS.items()},
    eager_limit=_eager_limit,
    fragments=ch4.fragments,
    single_copy_by="receiver",
    streams=ch4.streams,
    settings={
        "protocol": {
            "copied": _not_on_ch3("single copy by the kernel", ch4.PROTOCOLS["copied"]),
            "eager": _by_device(ch4.PROTOCOLS["eager"], same(**{_CH3_LIMIT: str(RAISED_LIMIT)})),
            "rendezvous": _by_device(ch4.PROTOCOLS["rendezvous"], same(**{_CH3_LIMIT: str(LOWERED_LIMIT)})),
        },
        "library_setting": {"yielding": _yielding, "modelled": _modelled},
        "interfaces": {"per_thread": _not_on_ch3("virtual interfaces", ch4.interfaces_per_thread)},
        "intranode": {
            name: _not_on_ch3("choice of collectives within a node", rule) for name, rule in ch4.INTRANODE.items()
        },
    },
    variables=ch4.VARIABLES,
    controls=(*ch4.CONTROLS, _CH3_LIMIT),
    wheels=("mpich",),
    known_wheels=("5.0.2", "4.2.3"),
    folders=("lib/mpich", "lib/mpich/ucx"),
    binary_interface=ch4.BINARY_INTERFACE,
    shared_memory=ch4.SHARED_MEMORY,
)
