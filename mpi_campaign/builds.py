"""The one CMake project, built once per toolchain, in a folder that stays: a second build compiles nothing."""

import hashlib
from pathlib import Path

import scipy_openblas32

from mpi_campaign import ROOT, STATE, libraries, machine

SOURCES = ROOT / "benchmarks"
PROGRAMS = ("compute_alone", "mpi_impact", "nbc_overlap", "timing_selfcheck")


def folder(environment: str, mpicc: str) -> Path:
    """Where a toolchain's programs lie. A build folder cannot be moved, nor used for another compiler: both are in
    its name."""
    made_of = f"{ROOT} {mpicc}"
    return STATE / "build" / f"{environment}-{hashlib.sha256(made_of.encode()).hexdigest()[:6]}"


def options(mpicc: str) -> list[str]:
    """CMake's options, each a word. Raises CampaignError where there is no C compiler."""
    return [
        "-GNinja",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCAMPAIGN_TESTS=OFF",
        f"-DBLAS_ROOT={Path(scipy_openblas32.__file__).parent}",
        f"-DCMAKE_C_COMPILER={machine.compiler()}",
        f"-DMPI_C_COMPILER={mpicc}",
    ]


def missing_functions(build: Path) -> frozenset[str]:
    """Collectives that the library of a build folder lacks, as MPI functions: `MPI_Bcast_init`.

    What CMake could not link; `nbc_overlap --list` tells the same. Nothing where nothing has been configured yet.
    """
    listed = build / "missing_functions.txt"
    return frozenset(listed.read_text().split()) if listed.is_file() else frozenset()


def mpi_function(collective: str) -> str:
    """The MPI function of a collective's name: `MPI_Bcast_init` of `bcast_init`."""
    return f"MPI_{collective.capitalize()}"


def environment(family: str, version: str, prefix: str) -> dict[str, str]:
    """Variables that the library's compiler wrapper needs."""
    request = libraries.Request(Path(prefix), version, "basic", "native", libraries.Placement(1, 1))
    return dict(libraries.library(family).always(request).env)
