"""The environment of a launch: what passes, what entries say, what a person let in, and which libraries come first."""

from pathlib import Path

from mpi_campaign.children import environ
from mpi_campaign.libraries.registry import LIBRARIES
from mpi_campaign.libraries.settings import Settings


def whole(prefix: Path, settings: Settings, threads: int) -> dict[str, str]:
    """The whole environment of a launch on this machine.

    threads: computing threads of a rank.
    """
    libraries_path = own_libraries(prefix, settings)
    return environ.built(environ.LAUNCH, settings.env, computing(threads), libraries=libraries_path)


def computing(threads: int) -> dict[str, str]:
    """Variables by which OpenMP and BLAS have as many threads as compute."""
    return {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}


def own_libraries(prefix: Path, settings: Settings) -> str:
    """A search path on which a toolchain's own libraries, and what its wheel keeps beside them, are found first."""
    folders = ("lib", "lib64", *(folder for entry in LIBRARIES.values() for folder in entry.folders))
    below = (str(prefix / name) for name in folders if (prefix / name).is_dir())
    return ":".join(filter(None, [*below, settings.env.get("LD_LIBRARY_PATH", "")]))
