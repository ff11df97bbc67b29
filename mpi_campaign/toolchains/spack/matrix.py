"""What spack.yaml and a system's definitions.yaml ask for: MPI libraries as Spack specs, and other benchmarks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from mpi_campaign import ROOT
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import registry

MANIFEST = ROOT / "spack.yaml"
SYSTEMS = ROOT / "systems"
GENERAL = SYSTEMS / "general" / "spack"
DEFINITIONS = "definitions.yaml"
PACKAGE = "mpi-overlap-benchmarks"

SPEC = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)(?:@=?(?P<version>[\w.,:-]+))?(?P<rest>.*)", re.DOTALL)
VARIANT = re.compile(r"\s*[+~][\w-]+")


@dataclass(frozen=True)
class Line:
    """One MPI library of the matrix, as a spec: `mpich@5.0 device=ch4 +vci`.

    asked: of a line that the matrix does not have, the suffix by which a person asked for it: `+vci`.
    """

    spec: str
    asked: str = ""

    def _part(self, name: str) -> str:
        match = SPEC.fullmatch(self.spec)
        return (match[name] or "").strip() if match else ""

    @property
    def package(self) -> str:
        return self._part("name")

    @property
    def version(self) -> str:
        """As far as the line says it; empty where it does not."""
        return self._part("version")

    @property
    def rest(self) -> str:
        """Variants and dependencies."""
        return self._part("rest")

    @property
    def family(self) -> str:
        return registry.family_of_package(self.package)

    @property
    def switched_on(self) -> frozenset[str]:
        """Its variants that are switches and on: `+vci`."""
        return frozenset(re.findall(r"\+[\w-]+", self.rest.partition("^")[0]))


@dataclass(frozen=True)
class Matrix:
    """lines: MPI libraries, in the order of the file.  peers: other benchmarks, as specs."""

    scope: Path
    lines: tuple[Line, ...]
    peers: tuple[str, ...]

    def suffix(self, line: Line) -> str:
        """What tells a line from another one of the same library and version: `+vci`; empty where none is there."""
        if line not in self.lines:
            return line.asked
        same = [one for one in self.lines if (one.package, one.version) == (line.package, line.version)]
        others = [one.switched_on for one in same if one != line]
        return "".join(sorted(line.switched_on - frozenset.intersection(*others))) if others else ""

    def name(self, line: Line) -> str:
        """As a person asks for it: FAMILY@VERSION, with its suffix."""
        version = f"@{line.version}" if line.version else ""
        return f"{line.family}{version}{self.suffix(line)}"

    def beside(self, packages: Sequence[str]) -> list[str]:
        """Its other benchmarks of these packages, as specs: the file may ask for a version."""
        return [one for one in self.peers if Line(one).package in packages]


def scope_of(system: str) -> Path:
    """The folder of a system's Spack settings; the general one where it has none."""
    own = SYSTEMS / system / "spack"
    return own if own.is_dir() else GENERAL


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping; empty where there is no file. Raises CampaignError where it is not one."""
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, yaml.YAMLError) as error:  # ValueError: text that is not UTF-8
        said = " ".join(str(error).split())
        raise CampaignError(f"{path} cannot be read, correct it (docs/spack.md): {said}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise CampaignError(f"{path} holds no mapping: see docs/spack.md")
    return found


@lru_cache
def matrix(system: str) -> Matrix:
    """A system's. Raises CampaignError where its definitions.yaml lacks a list of MPI libraries, or names one twice."""
    scope = scope_of(system)
    path = scope / DEFINITIONS
    lists: dict[str, list[str]] = {}
    for entry in _definitions(path):
        for name, values in entry.items():
            if isinstance(values, list):
                lists.setdefault(name, []).extend(map(str, values))
    if not lists.get("mpis"):
        raise CampaignError(f"{path} has no list `mpis` of MPI libraries: see docs/spack.md")
    for one in (*lists["mpis"], *lists.get("peers", ())):
        if SPEC.fullmatch(one) is None:
            raise CampaignError(f"{path}: '{one}' is not a Spack spec such as openmpi@5.0 fabrics=ucx")
    found = Matrix(scope, tuple(map(Line, lists["mpis"])), tuple(lists.get("peers", ())))
    _check_names(path, found)
    return found


def _definitions(path: Path) -> Sequence[dict[str, Any]]:
    found = read_yaml(path).get("definitions", [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise CampaignError(f"{path}: `definitions` is not a list of lists with names: see docs/spack.md")
    if any("when" in one for one in found):
        raise CampaignError(f"{path}: `when` is Spack's alone to decide: write one list, or a system for each machine")
    return found


def _check_names(path: Path, found: Matrix) -> None:
    """Raises CampaignError for two lines of one name: nobody could ask for either, and both would be one toolchain."""
    named: dict[str, Line] = {}
    for line in found.lines:
        other = named.setdefault(found.name(line), line)
        if other is not line:
            raise CampaignError(
                f"{path}: '{other.spec}' and '{line.spec}' are both called {found.name(line)}: leave one out, or let "
                "them differ in version or in a variant that is a switch (+vci)"
            )


def contains(versions: str, version: str) -> bool:
    """Whether a version is among those that a spec says after `@`: `5.0`, `4.1:4.9`, `5:`, `4.1.6,5.0`; empty: any.

    A bound stands for everything that begins with it, as in Spack: 4.9.3 is in `4.1:4.9`, and 2.3.7-1 in `2.3.7`.
    """
    asked = _components(version)
    for part in versions.split(","):
        low, colon, high = (one.strip() for one in part.partition(":"))
        first, last = _components(low), _components(high if colon else low)
        if asked >= first and asked[: len(last)] <= last:
            return True
    return False


def _components(version: str) -> tuple[tuple[bool, int, str], ...]:
    """For comparison; letters come before numbers: 5.0rc1 before 5.0.1."""
    parts = re.findall(r"[0-9]+|[A-Za-z]+", version)
    return tuple((part.isdecimal(), int(part) if part.isdecimal() else 0, part.lstrip("0")) for part in parts)


def choose(text: str, matrix_: Matrix) -> Line:
    """The line that a person means by NAME@VERSION: one of the matrix, or one that it does not have.

    One that it has not takes over the variants of the line whose version it refines, `5.0.8` of `openmpi@5.0`, of
    `openmpi@5:` or of `openmpi`. The end of a version that begins with a dash may be left out: `2.3.7` means
    `mvapich2@2.3.7-1`. A name is a library's as this project calls it, or Spack's.  Raises CampaignError for what is
    neither.
    """
    match = re.fullmatch(r"(?P<name>[a-z][a-z0-9-]*)(?:@(?P<version>[\w.,:-]+?))?(?P<suffix>(?:[+~][\w-]+)*)", text)
    if match is None:
        raise CampaignError(
            f"toolchain '{text}' is not of the form NAME[@VERSION][+VARIANT], such as openmpi@5.0.8 or mpich@5.0+vci"
        )
    name, version, suffix = match["name"], match["version"] or "", match["suffix"]
    package = registry.package_of_family(name)
    same = [one for one in matrix_.lines if one.package == package]
    for one in same:
        if text == matrix_.name(one) or (one.version == version and matrix_.suffix(one) == suffix):
            return one
    for one in same:
        if one.version.startswith(f"{version}-") and matrix_.suffix(one) == suffix:
            return one
    if not version and not same:
        known = ", ".join(map(matrix_.name, matrix_.lines))
        raise CampaignError(f"toolchain '{text}': the matrix of {matrix_.scope} has no {name}; it has: {known}")
    refines = [one for one in same if contains(one.version, version) and matrix_.suffix(one) == suffix]
    if version and not re.search("[,:]", version) and refines:
        model = max(refines, key=lambda one: len(one.version))  # of openmpi and openmpi@5.0 the latter
        return Line(f"{package}@{version}{' ' if model.rest else ''}{model.rest}", suffix)
    return Line(f"{package}{f'@{version}' if version else ''}{f' {suffix}' if suffix else ''}", suffix)
