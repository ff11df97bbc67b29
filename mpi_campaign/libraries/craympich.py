"""Cray MPICH of HPE's programming environment, made from MPICH: by its manual page intro_mpi and what it prints with
MPICH_ENV_DISPLAY."""

from mpi_campaign.libraries import ch4
from mpi_campaign.libraries.launchers.pals import PALS
from mpi_campaign.libraries.launchers.srun import SRUN_CRAY
from mpi_campaign.libraries.library import Library, StartedBy
from mpi_campaign.libraries.settings import moved_by_the_program, nothing, same, within_a_node

_async = same(MPICH_ASYNC_PROGRESS="1")

LIBRARY = Library(
    title="Cray MPICH",
    package="cray-mpich",
    launchers=(StartedBy(SRUN_CRAY), StartedBy(PALS)),
    reports=r"CRAY MPICH version (\d[\w.]*)",
    always=same(MPICH_ASYNC_PROGRESS="0", MPICH_MAX_THREAD_SAFETY="multiple"),
    networks={"shm": nothing},
    configurations={
        "async": _async,
        "dedicated": moved_by_the_program(_async),
        "dedicated_unbound": _async,  # the thread inherits the rank's cpuset
    },
    settings={"protocol": {"copied": within_a_node(same(MPICH_SMP_SINGLE_COPY_MODE="NONE"))}},
    without={
        "wire": "how to keep Cray MPICH on TCP between ranks of one node is not known",
        "tcp": "how to keep Cray MPICH on TCP is not known: --network native takes Slingshot",
    },
    variables=("PALS_*", *ch4.VARIABLES),
    controls=ch4.CONTROLS,
    binary_interface=ch4.BINARY_INTERFACE,
    tested=False,
)
