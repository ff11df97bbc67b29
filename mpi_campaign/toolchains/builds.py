"""The one CMake project, built once per toolchain, in a folder that stays: a second build compiles nothing."""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from mpi_campaign import ROOT, STATE
from mpi_campaign.children import environ
from mpi_campaign.libraries import registry
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Request
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains.resolving import Toolchain
from mpi_campaign.toolchains.spack import installed

SOURCES = ROOT / "benchmarks"
SHARE = "share/mpi_campaign_benchmarks"
BUILT = "built.txt"
"""In a folder of programs: a digest of what they were made from, and the names of those that were."""
REQUESTED = "let_in.txt"
PROGRAMS = "programs.txt"


def folder(environment: str, mpicc: str) -> Path:
    """Where a toolchain's programs lie. A build folder cannot be moved, nor used for another MPI library: both are in
    its name."""
    made_of = f"{ROOT} {mpicc}"
    return STATE / "build" / f"{environment}-{hashlib.sha256(made_of.encode()).hexdigest()[:6]}"


def programs(toolchain: Toolchain) -> Path:
    """The folder with a toolchain's programs: the build folder, or where Spack installs them."""
    if toolchain.spack is not None:
        return Path(toolchain.spack.prefix, "bin")
    return folder(toolchain.environment, toolchain.mpicc)


def fingerprint() -> str:
    """A digest of everything that the programs are built from."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*")):
        inside = path.relative_to(SOURCES)
        left_by_spack = inside.parts[0].startswith(("build-", "spack-build-"))
        if path.is_file() and not left_by_spack and "__pycache__" not in inside.parts:
            digest.update(f"{inside}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def options(mpicc: str) -> list[str]:
    """CMake's options, each a word. Raises CampaignError where there is no C compiler."""
    import scipy_openblas32  # noqa: PLC0415

    return [
        "-GNinja",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCAMPAIGN_TESTS=OFF",
        f"-DBLAS_ROOT={Path(scipy_openblas32.__file__).parent}",
        f"-DCMAKE_C_COMPILER={machine.compiler()}",
        f"-DMPI_C_COMPILER={mpicc}",
    ]


def anew(build: Path) -> list[str]:
    """CMake's option to configure a folder anew, where it was configured for another C compiler or with other variables
    of a person. On its own, CMake would configure it anew too, but without our other options.

    Raises CampaignError where there is no C compiler.
    """
    try:
        cached = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    except OSError:
        return []
    noted = build / REQUESTED
    same = (noted.read_text() if noted.is_file() else "") == _requested()
    return ["--fresh"] if not same or (cached and cached[1] != str(machine.compiler())) else []


def note_requested(build: Path) -> None:
    """Note the person's variables with which a folder is about to be configured."""
    build.mkdir(parents=True, exist_ok=True)
    (build / REQUESTED).write_text(_requested())


def made_from(mpicc: str) -> str:
    """A digest of everything that the programs of a folder are made from: the sources, their state in git, which the
    programs tell, and CMake's options. Raises CampaignError where there is no C compiler."""
    made = (fingerprint(), str(machine.git_state()), *options(mpicc), _requested())
    return hashlib.sha256("\n".join(made).encode()).hexdigest()


def note_built(programs: Path, made_from: str, names: Iterable[str]) -> None:
    """Note what programs of a folder were made from, now that they are built (`made_from` before the build).

    names: of these programs; empty: all. Others that were made from the same stay noted.
    """
    before = built(programs)
    others = before[1:] if before[:1] == [made_from] else []
    every = dict.fromkeys([*others, *(list(names) or _listed(programs, PROGRAMS))])
    (programs / BUILT).write_text("".join(f"{word}\n" for word in (made_from, *every)))


def built(programs: Path) -> list[str]:
    """What `note_built` wrote; empty where nothing was built, or a build failed."""
    try:
        return (programs / BUILT).read_text().split()
    except OSError:
        return []


def is_built(programs: Path, mpicc: str, names: Collection[str]) -> bool:
    """Whether a build by hand would compile nothing: nothing has changed, and the programs are there.  names: of these
    programs; empty: all. Raises CampaignError where there is no C compiler."""
    noted, needed = built(programs), set(names) or set(_listed(programs, PROGRAMS))
    return noted[:1] == [made_from(mpicc)] and needed <= set(noted[1:]) and are_there(programs, needed)


def are_there(programs: Path, names: Collection[str]) -> bool:
    """Whether a folder has these programs; without names, every one in the list that CMake's `add_benchmark` writes."""
    needed = names or _listed(programs, PROGRAMS)
    return bool(needed) and all((programs / name).is_file() for name in needed)


def missing_functions(build: Path) -> frozenset[str]:
    """Collectives that the library of a folder of programs lacks, as MPI functions: `MPI_Bcast_init`. CMake could not
    link them; `nbc_overlap --list` tells the same. Empty where nothing has been configured yet."""
    return frozenset(_listed(build, "missing_functions.txt"))


def _listed(programs: Path, name: str) -> list[str]:
    """The words of a list that CMake wrote beside the programs, or installed. None where nothing has been configured
    yet."""
    places = (programs, programs.parent / SHARE)
    listed = next((path for place in places if (path := place / name).is_file()), None)
    return listed.read_text().split() if listed is not None else []


def environment(family: str, version: str, prefix: str) -> dict[str, str]:
    """Variables that the library's compiler wrapper needs."""
    request = Request(Path(prefix), version, "basic", "native", Placement(1, 1, 1))
    return dict(registry.library(family).always(request).env)


def _requested() -> str:
    """The person's variables that would make a different build, one to a line."""
    inside = environ.requested()
    return "".join(f"{name}={inside[name]}\n" for name in sorted(inside) if environ.steers_builds(name))


def all_built(resolved: Sequence[Toolchain], names: Collection[str]) -> bool:
    """Whether nothing is left to build of these programs. Installed libraries always need a look of CMake."""
    by_spack = [toolchain.spack for toolchain in resolved if toolchain.spack]
    by_hand = [toolchain for toolchain in resolved if not toolchain.spack]
    sources = fingerprint()
    return not any(installed.to_install(build, sources) for build in by_spack) and all(
        toolchain.provider == "wheels" and is_built(programs(toolchain), toolchain.mpicc, names)
        for toolchain in by_hand
    )
