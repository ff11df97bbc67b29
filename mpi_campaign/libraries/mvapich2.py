"""MVAPICH2, until 2.3: built on MPICH's older device ch3."""

from mpi_campaign.libraries import ch4
from mpi_campaign.libraries.launchers.hydra import MVAPICH_HYDRA
from mpi_campaign.libraries.library import Library, StartedBy
from mpi_campaign.libraries.settings import (
    Answer,
    Impossible,
    Request,
    Settings,
    moved_by_the_program,
    same,
    where_copies_are_refused,
)


def _wire(request: Request) -> Answer:
    # Only builds for TCP/IP (ch3:sock, ch3:nemesis) have TCP. Where no program tells the device, the case is judged by
    # the bytes on the link.
    device = ch4.device(request.prefix)
    if device.startswith(("ch3:mrail", "ch3:psm")):
        return Impossible(
            f"MVAPICH2 was built on {device}, which has no TCP: over a wire it takes a build on ch3:nemesis or ch3:sock"
        )
    # CH3_NOLOCAL keeps ranks of one node off shared memory; with MPIR_CVAR_NOLOCAL, ch4's, 2.3.7 carried nothing.
    return Settings({"MV2_USE_SHARED_MEM": "0", "MPIR_CVAR_NEMESIS_NETMOD": "tcp", "MPIR_CVAR_CH3_NOLOCAL": "1"})


# The variable's name since 2.0, and MPICH's old name for it. The library reads both.
_async = same(MV2_ASYNC_PROGRESS="1", MPICH_ASYNC_PROGRESS="1")

LIBRARY = Library(
    title="MVAPICH2",
    package="mvapich2",
    launchers=(StartedBy(MVAPICH_HYDRA),),
    reports=r"MVAPICH2 Version\s*:\s*(\d[\w.]*)",
    # MVAPICH2 2.3 binds each rank to one core by itself, and then provides MPI_THREAD_SINGLE only. Without that, Hydra
    # binds the ranks, progress threads may run, and MPI_THREAD_MULTIPLE is provided. (The other launcher, mpirun_rsh,
    # binds nothing: with it, ranks of several cores need the library's own binding.) The warning that is switched off
    # is about that binding.
    always=where_copies_are_refused(
        same(MV2_ENABLE_AFFINITY="0", MV2_USE_THREAD_WARNING="0", MV2_ASYNC_PROGRESS="0", MPICH_ASYNC_PROGRESS="0"),
        MV2_SMP_USE_CMA="0",
    ),
    networks={"shm": same(MV2_USE_SHARED_MEM="1"), "wire": _wire, "tcp": ch4.NETWORKS["tcp"]},
    configurations={
        "async": _async,
        # MV2_ENABLE_PROGRESS_AFFINITY chooses a core by itself, and works only with the library's own binding.
        "dedicated": moved_by_the_program(_async),
        "dedicated_unbound": _async,
    },
    variables=("MV2_*", *ch4.VARIABLES),
    controls=("MV2_ASYNC_PROGRESS", "MV2_ENABLE_AFFINITY", "MV2_USE_SHARED_MEM", *ch4.CONTROLS),
)
