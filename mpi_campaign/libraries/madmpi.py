"""MadMPI, the MPI of NewMadeleine."""

from mpi_campaign.libraries.launchers.others import PADICO
from mpi_campaign.libraries.library import Library, StartedBy
from mpi_campaign.libraries.settings import moved_by_the_program, same_options

LIBRARY = Library(
    title="MadMPI",
    package="nmad",
    launchers=(StartedBy(PADICO),),
    # pioman polls on a thread of its own, rather than when a core is idle or a timer expires.
    configurations={"dedicated": moved_by_the_program(same_options(*PADICO.hand_over("PIOM_DEDICATED", "1")))},
    without={
        "async": "MadMPI's basic already progresses, by pioman: there is nothing more to ask for",
        "dedicated_unbound": "MadMPI's basic already progresses, by pioman: basic_reduced is that control",
        "wire": "how to keep MadMPI on TCP between ranks of one node is not known",
    },
    progresses=True,
    variables=("PIOM_*", "NMAD_*", "PADICO_*"),
    tested=False,
)
