"""The environment of a launch: variables that pass, those of the library's entry, those that were let in, and the
search path of shared libraries."""

from pathlib import Path

from mpi_campaign.children import environ
from mpi_campaign.libraries.registry import LIBRARIES
from mpi_campaign.libraries.settings import Settings


def of_launch(prefix: Path, settings: Settings, threads: int) -> dict[str, str]:
    """The whole environment of a launch on this machine. threads: computing threads of a rank."""
    libraries_path = own_libraries(prefix, settings)
    return environ.built(environ.LAUNCH, settings.env, computing(threads), libraries=libraries_path)


def computing(threads: int) -> dict[str, str]:
    """Variables by which OpenMP starts that many threads, and BLAS one."""
    return {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}


def own_libraries(prefix: Path, settings: Settings) -> str:
    """The search path of a toolchain's libraries: folders of its prefix, then LD_LIBRARY_PATH of its settings."""
    folders = ("lib", "lib64", *(folder for entry in LIBRARIES.values() for folder in entry.folders))
    below = (str(prefix / name) for name in folders if (prefix / name).is_dir())
    return ":".join(filter(None, [*below, settings.env.get("LD_LIBRARY_PATH", "")]))
