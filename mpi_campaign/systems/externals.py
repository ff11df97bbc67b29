"""Installed packages of this machine, in the form of Spack's packages.yaml."""

import importlib.metadata
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import scipy_openblas32
import yaml

from mpi_campaign.children import asking
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import registry
from mpi_campaign.libraries.identity import launcher_version
from mpi_campaign.libraries.library import Library
from mpi_campaign.toolchains import resolving
from mpi_campaign.toolchains.spack import matrix, tool

COMPILERS = ("gcc", "llvm")
BUILD_TOOLS = ("cmake", "gmake")
WHEEL_BLAS = "scipy-openblas32"


@dataclass(frozen=True)
class Externals:
    """packages: the mapping of packages.yaml.  missing: what was not found, a line each."""

    packages: Mapping[str, Any]
    missing: tuple[str, ...]
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def libraries(self) -> list[str]:
        """The MPI libraries among the packages, as specs: name and version."""
        names = [entry.package for entry in registry.LIBRARIES.values()]
        return [spec for name in names for spec in _specs(self.packages.get(name, {}))]


def _specs(entry: Mapping[str, Any]) -> Iterator[str]:
    for external in entry.get("externals", []):
        match = matrix.SPEC.match(str(external["spec"]))
        if match and match["version"]:
            yield f"{match['name']}@{match['version']}"


def find(spack: tool.Spack, say: Callable[[str], None]) -> Externals:
    """Ask Spack in a temporary folder, and add what Spack cannot find. say: is called with each step. Raises
    CampaignError where Spack cannot look."""
    names = [entry.package for entry in registry.LIBRARIES.values()]
    packages: dict[str, Any] = {}
    tool.HOME.mkdir(parents=True, exist_ok=True)
    wheels = [Path(toolchain.prefix) for toolchain in resolving.load() if toolchain.provider == "wheels"]
    with tempfile.TemporaryDirectory(dir=tool.HOME) as scratch:
        folder = Path(scratch)
        repositories = {"builtin": str(spack.packages / tool.BUILTIN)} if spack.packages else {}
        (folder / "spack.yaml").write_text(
            yaml.safe_dump({"spack": {"repos": repositories, "specs": [], "view": False}})
        )
        why_not = tool.lacks_packages(spack, folder)
        if why_not is not None:
            raise CampaignError(why_not)
        looks: list[tuple[str, Sequence[str]]] = [
            ("tools", ()),
            ("compilers and MPI libraries", (*COMPILERS, *names)),
            *((f"wheel in {prefix.name}", ("--path", str(prefix / "bin"), *names)) for prefix in wheels),
        ]
        for number, (what, words) in enumerate(looks, 1):
            say(f"  looking    {what}: spack external find, {number} of {len(looks)}, up to a minute")
            _look(spack, folder, *words)
        settings = matrix.read_yaml(folder / "spack.yaml").get("spack", {})
        packages = dict(settings.get("packages", {}))
    left_out = dict.fromkeys((*_add_installed(packages), *_wheels_left_out()))
    for name in packages:
        if name not in names and "externals" in packages[name]:
            list(_one_per_version(packages, name))
    notes = [note for name in names if name in packages for note in _one_per_version(packages, name)]
    blas, how = _openblas()
    packages["openblas"] = {"externals": [blas], "buildable": False}
    libraries = registry.LIBRARIES.values()
    missing = [f"{entry.title} (Spack: {entry.package})" for entry in libraries if entry.package not in packages]
    if not any(name in packages for name in COMPILERS):
        missing.append("a C compiler (gcc or llvm)")
    missing += [f"{name}, which builds of the benchmarks need" for name in BUILD_TOOLS if name not in packages]
    return Externals(packages, (*missing, *left_out), (*notes, how))


def _look(spack: tool.Spack, folder: Path, *words: str) -> None:
    done = spack.call("external", "find", *words, folder=folder)
    if not done.good:
        output = done.stdout + done.stderr
        hint = tool.hint(output)
        raise CampaignError(
            f"Spack cannot look for what is installed: {tool.complaint(output)}{f' ({hint})' * bool(hint)}"
        )


def _add_installed(packages: dict[str, Any]) -> Iterator[str]:
    """Add MPI libraries on PATH that Spack did not find: it cannot read every distribution's Open MPI. Yields a line
    for each library that cannot be an external, with the reason."""
    for family, entry in registry.LIBRARIES.items():
        for name in (f"mpiexec.{family}", "mpiexec"):
            launcher = shutil.which(name)
            if launcher is None:
                continue
            version = launcher_version(family, asking.ask([launcher, "--version"]).text)
            spec = f"{entry.package}@{version}"
            of_package = packages.get(entry.package, {})
            if version is None or not matrix.SPEC.fullmatch(spec) or spec in _specs(of_package):
                continue
            home = Path(launcher).parent.parent
            prefix = entry.spack_prefix(version, home)
            if prefix is None:
                yield _left_out(entry, spec, home)
                continue
            external = {"spec": spec, "prefix": str(prefix)}
            packages[entry.package] = {**of_package, "externals": [*of_package.get("externals", []), external]}


def _wheels_left_out() -> Iterator[str]:
    """A line for each wheel whose layout is not the one in which Spack looks for the library."""
    for toolchain in resolving.load():
        entry, prefix = registry.library(toolchain.family), Path(toolchain.prefix)
        if toolchain.provider == "wheels" and entry.spack_prefix(toolchain.version, prefix) is None:
            yield _left_out(entry, f"{entry.package}@{toolchain.version}", prefix)


def _left_out(entry: Library, spec: str, home: Path) -> str:
    return f"{spec} is in {home}, but Spack takes it from {entry.spack_layout} alone: run it without --provider spack"


def _one_per_version(packages: dict[str, Any], name: str) -> Iterator[str]:
    """Keep one external per version: no name could tell others apart. Yields a line for each that is dropped."""
    by_version: dict[str, Any] = {}
    for external in sorted(
        packages[name].get("externals", []), key=lambda external: "shims" in str(external["prefix"])
    ):
        version = next(_specs({"externals": [external]}), "")
        if version in by_version:
            yield f"{version} is in {by_version[version]['prefix']} and in {external['prefix']}: the second is left out"
        else:
            by_version[version] = external
    packages[name] = {**packages[name], "externals": list(by_version.values())}


def _openblas() -> tuple[dict[str, str], str]:
    """An OpenBLAS as an external, which Spack cannot find by itself, and words that name it."""
    answer = asking.ask(["pkg-config", "--modversion", "openblas"])
    version = answer.stdout.strip() if answer.good else ""
    header = next(Path("/usr/include").glob("**/openblas*/cblas.h"), None) if version else None
    if header is not None and re.fullmatch(r"[\d.]+", version):
        return {"spec": f"openblas@{version}", "prefix": "/usr"}, f"OpenBLAS {version} of this system"
    version = ".".join(importlib.metadata.version(WHEEL_BLAS).split(".")[:3])
    prefix = str(Path(scipy_openblas32.__file__).parent)
    return {"spec": f"openblas@{version}", "prefix": prefix}, f"OpenBLAS {version} of the wheel {WHEEL_BLAS} in .venv"
