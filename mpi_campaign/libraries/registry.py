"""The one registry of MPI libraries: what each is called, and where its entry is.

A library is a file beside this one and a line of `LIBRARIES`. Its entry says, as environment variables, launcher
options and options of the benchmark, how it is made to use shared memory or TCP only, and how its progress thread is
started and bound; and what it cannot do, with the reason that users read. What starts its ranks, and binds them, is an
entry of `launchers/`. No other package names a variable or an option of an MPI library.
docs/adding-a-library.md says what a library costs, docs/configurations.md is the page for people.
"""

from collections.abc import Mapping

from mpi_campaign.libraries import intel, madmpi, mpich, mvapich, mvapich2, openmpi
from mpi_campaign.libraries.library import Library
from mpi_campaign.libraries.unknown import UNKNOWN

LIBRARIES: Mapping[str, Library] = {
    "openmpi": openmpi.LIBRARY,
    "mpich": mpich.LIBRARY,
    "intel": intel.LIBRARY,
    "mvapich2": mvapich2.LIBRARY,
    "mvapich": mvapich.LIBRARY,
    "madmpi": madmpi.LIBRARY,
}

# Those whose wheels a person gets who names none.
USUAL = ("openmpi", "mpich")

# Named in the literature, and not to be had: why.
NOT_TO_BE_HAD: Mapping[str, str] = {
    "mpc": "PyPI has no wheel of MPC, and Spack's package mpc is another one, of arithmetic; an installed "
    "one, mpc@VERSION=PREFIX, is served as a library that is not known",
}


def library(family: str) -> Library:
    """The entry of a family; an unknown MPI is served as plain `basic`."""
    return LIBRARIES.get(family, UNKNOWN)


def package_of_family(family: str) -> str:
    """Spack's name of a library that this project calls so; that of one it does not know is the same."""
    return LIBRARIES[family].package if family in LIBRARIES else family


def family_of_package(package: str) -> str:
    """What this project calls a library of Spack's."""
    return next((family for family, entry in LIBRARIES.items() if entry.package == package), package)
