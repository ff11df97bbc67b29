"""Toolchains that Spack builds or has as externals: they are concretized and described here."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import registry
from mpi_campaign.libraries.identity import wrong_launcher
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains.spack import environment, installed, matrix, tool
from mpi_campaign.toolchains.spack.build import Build


@dataclass(frozen=True)
class Found:
    """A toolchain as Spack concretized it. `resolving` makes a `Toolchain` from it."""

    name: str
    family: str
    version: str
    prefix: Path
    build: Build


def find(
    names: Sequence[str],
    system: str,
    peers: Sequence[str],
    say: Callable[[str], None],
    on_tick: Callable[[], None] = lambda: None,
) -> list[Found]:
    """Concretize the toolchains of these names, without building them. No names mean the system's whole matrix.

    peers: packages of other benchmarks to have beside ours; those that the system does not name are left out.
    Raises CampaignError where a toolchain cannot be had.
    """
    spack = tool.find()
    rows = matrix.matrix(system)
    places = wanted(names, system, peers)
    say(f"Spack {spack.version} ({spack.executable}); libraries of {rows.scope}")
    environment.concretize(spack, places, say, on_tick, machine.cores().physical)
    toolchains = [_described(spack, place, rows) for place in places]
    for toolchain, place in zip(toolchains, places, strict=True):
        if not Path(toolchain.build.prefix).is_dir():
            say(f"{toolchain.name}: {'; '.join(environment.overview(place.description(spack)))}")
        for package in installed.failed(toolchain.build):
            say(f"{toolchain.name}: {installed.why_lacking(toolchain.build, package)}")
    return toolchains


def wanted(names: Sequence[str], system: str, peers: Sequence[str]) -> list[environment.Environment]:
    """The environments of these names, or of the system's whole matrix. peers: as in `find`."""
    rows = matrix.matrix(system)
    beside = rows.beside(peers)
    lines = list(dict.fromkeys(_line(name, rows, system, beside) for name in names)) or list(rows.lines)
    return [environment.of(system, line, beside) for line in lines]


def of_lock(name: str, system: str, peers: Sequence[str]) -> environment.Environment:
    """The environment for a lock that a person gives, by the name of its toolchain. Unlike `wanted`, it maps no exact
    name (openmpi@5.0.10) to a line that was concretized to it (openmpi@5.0)."""
    rows = matrix.matrix(system)
    return environment.of(system, matrix.choose(name, rows), rows.beside(peers))


def _line(name: str, rows: matrix.Matrix, system: str, peers: Sequence[str]) -> matrix.Line:
    """The line that a name means: the chosen line where it has a lock, else a line that was concretized to exactly this
    name, as openmpi@5.0 was to openmpi@5.0.10."""
    chosen = matrix.choose(name, rows)
    if environment.of(system, chosen, peers).lock.is_file():
        return chosen
    for line in rows.lines:
        version = environment.of(system, line, peers).concrete_version()
        if version and name == f"{line.family}@{version}{rows.suffix(line)}":
            return line
    return chosen


def _described(spack: tool.Spack, place: environment.Environment, rows: matrix.Matrix) -> Found:
    description = place.description(spack)
    roots = {root["name"]: root for root in description["roots"]}
    ours = roots[matrix.PACKAGE]
    peers = [matrix.Line(spec).package for spec in place.peers]
    mpi = next(node for node in description["nodes"] if node["hash"] == ours["mpi"])
    build = Build(
        environment=str(place.folder),
        hash=ours["hash"],
        spec=ours["full"],
        prefix=ours["prefix"],
        mpi_hash=mpi["hash"],
        mpi_spec=mpi["spec"],
        external=mpi["external"],
        compiler=ours["compiler"],
        architecture=ours["architecture"],
        spack_version=description["spack"]["version"].partition(" ")[0],
        spack_commit=description["spack"]["commit"],
        spack_executable=str(spack.executable),
        repositories=tuple((entry["namespace"], entry["commit"]) for entry in description["repositories"]),
        lock_sha256=description["lock_sha256"],
        peers=tuple((name, roots[name]["hash"], roots[name]["prefix"]) for name in peers if name in roots),
    )
    family = registry.family_of_package(mpi["name"])
    name = f"{family}@{mpi['version']}{rows.suffix(place.line)}"
    toolchain = Found(name, family, mpi["version"], Path(ours["mpi_home"]), build)
    _check_here(name, ours["architecture"], description["nodes"])
    if build.external:
        check_external(toolchain)
    return toolchain


def _check_here(name: str, architecture: str, nodes: Sequence[Mapping[str, Any]]) -> None:
    """Raises CampaignError where this machine cannot run a toolchain, or lacks an external of its lock."""
    foreign = environment.foreign_target([architecture.rpartition("-")[2]])
    if foreign is not None:
        raise CampaignError(
            f"{name} was concretized for {foreign}: give this machine a system of its own (./campaign systems init "
            "NAME), or concretize for it with ./campaign setup --provider spack --fresh"
        )
    for node in nodes:
        if node["external"] and node["prefix"] not in ("", "None") and not Path(node["prefix"]).is_dir():
            raise CampaignError(
                f"{name}: the external {node['name']}@{node['version']} is in {node['prefix']}, which is not there "
                "(any more): correct it in the system's spack/packages.yaml"
            )


def check_external(toolchain: Found) -> None:
    """Raises CampaignError where an external library is not in the prefix, or not of the version, in packages.yaml."""
    launcher = program(toolchain.prefix, toolchain.family, "mpiexec")
    compiler = program(toolchain.prefix, toolchain.family, "mpicc")
    where = "the system's spack/packages.yaml"
    if not (os.access(launcher, os.X_OK) and os.access(compiler, os.X_OK)):
        raise CampaignError(
            f"{toolchain.name}: the external's prefix {toolchain.prefix} has no bin/mpicc and bin/mpiexec (any more): "
            f"correct it in {where}"
        )
    wrong = wrong_launcher(toolchain.family, toolchain.version, launcher)
    if wrong is not None:
        raise CampaignError(f"{toolchain.name}: {wrong.what}: correct the external in {where}")


def program(prefix: Path, family: str, name: str) -> Path:
    """The path of `mpicc` or `mpiexec` of a library. Debian and Ubuntu name it mpicc.openmpi, for example."""
    suffixed = prefix / "bin" / f"{name}.{family}"
    return suffixed if suffixed.is_file() else prefix / "bin" / name


def install_variables(build: Build) -> dict[str, str]:
    """The variables that a build script exports, so that Spack uses this clone's caches and no settings of the user."""
    spack = tool.Spack(Path(build.spack_executable), build.spack_version)
    return spack.variables
