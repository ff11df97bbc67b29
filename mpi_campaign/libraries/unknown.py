"""The entry for an MPI library that is not in the registry: configurations that need no setting of the library."""

from mpi_campaign.libraries.launchers.unknown import UNKNOWN_LAUNCHER
from mpi_campaign.libraries.library import Library, StartedBy

_ADD_IT = "is not known: add it to mpi_campaign/libraries/ (docs/adding.md)"

UNKNOWN = Library(
    title="an MPI library that the campaign does not know",
    package="",
    launchers=(StartedBy(UNKNOWN_LAUNCHER),),
    without={
        "wire": f"how to keep this library on TCP {_ADD_IT}",
        **dict.fromkeys(
            ("async", "dedicated", "dedicated_unbound"), f"how to start this library's progress thread {_ADD_IT}"
        ),
    },
)
