"""ParaStation MPI, made from MPICH: by its guides and the sources of its communication library, pscom."""

from mpi_campaign.libraries import ch4
from mpi_campaign.libraries.launchers.hydra import HYDRA
from mpi_campaign.libraries.launchers.srun import SRUN_PMIX
from mpi_campaign.libraries.library import Library, StartedBy
from mpi_campaign.libraries.settings import moved_by_the_program, same

_async = same(MPIR_CVAR_ASYNC_PROGRESS="1")
# A path is switched off with 0, and preferred with a number above 1.
_TCP = {"PSP_TCP": "2", "PSP_OPENIB": "0", "PSP_UCP": "0"}

LIBRARY = Library(
    title="ParaStation MPI",
    package="parastationmpi",
    launchers=(StartedBy(HYDRA), StartedBy(SRUN_PMIX)),
    always=same(MPIR_CVAR_ASYNC_PROGRESS="0"),
    networks={"shm": same(PSP_SHM="2"), "wire": same(PSP_SHM="0", **_TCP), "tcp": same(PSP_SHM="3", **_TCP)},
    configurations={
        "async": _async,
        "dedicated": moved_by_the_program(_async),
        "dedicated_unbound": _async,  # the thread inherits the rank's cpuset
    },
    variables=("PSP_*", *ch4.VARIABLES),
    controls=ch4.CONTROLS,
    binary_interface=ch4.BINARY_INTERFACE,
    tested=False,
)
