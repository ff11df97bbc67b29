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
ASKED = re.compile(
    r"(?P<name>[a-z][a-z0-9-]*)(?:@(?P<version>[\w.,:-]+?))?(?P<variants>(?:[+~][\w-]+)*)"
    r"(?P<dependencies>(?:\^[a-z][a-z0-9-]*@[\w.:-]+)*)"
)
"""What a person asks for: NAME[@VERSION][+VARIANT][^DEPENDENCY@VERSION]."""
DEPENDENCY = re.compile(r"\^\s*(?P<name>[a-z][a-z0-9-]*)(?:@(?P<version>[\w.,:-]+))?")
VARIANT = re.compile(r"\s*[+~][\w-]+")


@dataclass(frozen=True)
class Line:
    """One MPI library of the matrix, as a spec: `mpich@5.0 device=ch4 +vci`.  asked: of a line that the matrix does not
    have, the suffix by which a person asked for it: `+vci`, `^ucx@1.18`."""

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
        """The version as the line says it; empty where it does not."""
        return self._part("version")

    @property
    def rest(self) -> str:
        """Variants and dependencies."""
        return self._part("rest")

    @property
    def family(self) -> str:
        return registry.family_of_package(self.package)

    @property
    def told_by(self) -> frozenset[str]:
        """What tells it from others in a name: its variants that are switches and on, `+vci`, and the versions of its
        dependencies, `^ucx@1.18`."""
        dependencies = {f"^{name}@{version}" for name, version in DEPENDENCY.findall(self.rest) if version}
        return frozenset(re.findall(r"\+[\w-]+", self.rest.partition("^")[0])) | dependencies


@dataclass(frozen=True)
class Matrix:
    """lines: MPI libraries, in the order of the file.  peers: other benchmarks, as specs."""

    scope: Path
    lines: tuple[Line, ...]
    peers: tuple[str, ...]

    def suffix(self, line: Line) -> str:
        """The suffix that tells a line from others of the same library and version: `+vci`. Empty without others."""
        if line not in self.lines:
            return line.asked
        same = [other for other in self.lines if (other.package, other.version) == (line.package, line.version)]
        others = [other.told_by for other in same if other != line]
        return "".join(sorted(line.told_by - frozenset.intersection(*others))) if others else ""

    def name(self, line: Line) -> str:
        """The name by which a person asks for a line: FAMILY@VERSION, with its suffix."""
        version = f"@{line.version}" if line.version else ""
        return f"{line.family}{version}{self.suffix(line)}"

    def beside(self, packages: Sequence[str]) -> list[str]:
        """The matrix's specs of other benchmarks with these packages. A spec may have a version."""
        return [peer for peer in self.peers if Line(peer).package in packages]


def scope_of(system: str) -> Path:
    """The folder of a system's Spack settings; the general one where it has none."""
    systems_folder = SYSTEMS / system / "spack"
    return systems_folder if systems_folder.is_dir() else GENERAL


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping; empty where there is no file. Raises CampaignError where it is not one."""
    try:
        mapping = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, yaml.YAMLError) as error:  # ValueError: text that is not UTF-8
        reason = " ".join(str(error).split())
        raise CampaignError(f"{path} cannot be read, correct it (docs/spack.md): {reason}") from error
    if mapping is None:
        return {}
    if not isinstance(mapping, dict):
        raise CampaignError(f"{path} holds no mapping: see docs/spack.md")
    return mapping


@lru_cache
def matrix(system: str) -> Matrix:
    """The matrix of a system. Raises CampaignError where definitions.yaml lacks a list of MPI libraries, or names a
    library twice."""
    scope = scope_of(system)
    path = scope / DEFINITIONS
    lists: dict[str, list[str]] = {}
    for entry in _definitions(path):
        for name, values in entry.items():
            if isinstance(values, list):
                lists.setdefault(name, []).extend(map(str, values))
    if not lists.get("mpis"):
        raise CampaignError(f"{path} has no list `mpis` of MPI libraries: see docs/spack.md")
    for spec in (*lists["mpis"], *lists.get("peers", ())):
        if SPEC.fullmatch(spec) is None:
            raise CampaignError(f"{path}: '{spec}' is not a Spack spec such as openmpi@5.0 fabrics=ucx")
    made = Matrix(scope, tuple(map(Line, lists["mpis"])), tuple(lists.get("peers", ())))
    _check_names(path, made)
    return made


def _definitions(path: Path) -> Sequence[dict[str, Any]]:
    definitions = read_yaml(path).get("definitions", [])
    if not isinstance(definitions, list) or not all(isinstance(entry, dict) for entry in definitions):
        raise CampaignError(f"{path}: `definitions` is not a list of lists with names: see docs/spack.md")
    if any("when" in entry for entry in definitions):
        raise CampaignError(f"{path}: `when` is Spack's alone to decide: write one list, or a system for each machine")
    return definitions


def _check_names(path: Path, matrix_: Matrix) -> None:
    """Raises CampaignError for two lines with the same name: both would be the same toolchain."""
    line_of_name: dict[str, Line] = {}
    for line in matrix_.lines:
        other = line_of_name.setdefault(matrix_.name(line), line)
        if other is not line:
            raise CampaignError(
                f"{path}: '{other.spec}' and '{line.spec}' are both called {matrix_.name(line)}: leave one out, or let "
                "them differ in version, in a variant that is a switch (+vci), or in a dependency's version (^ucx@1.18)"
            )


def contains(versions: str, version: str) -> bool:
    """Whether a version is among those that a spec says after `@`: `5.0`, `4.1:4.9`, `5:`, `4.1.6,5.0`; empty: any. A
    bound stands for everything that begins with it, as in Spack: 4.9.3 is in `4.1:4.9`, and 2.3.7-1 in `2.3.7`."""
    components = _components(version)
    for part in versions.split(","):
        low, colon, high = (end.strip() for end in part.partition(":"))
        first, last = _components(low), _components(high if colon else low)
        if components >= first and components[: len(last)] <= last:
            return True
    return False


def _components(version: str) -> tuple[tuple[bool, int, str], ...]:
    """The parts of a version, to compare. Letters come before numbers: 5.0rc1 before 5.0.1."""
    parts = re.findall(r"[0-9]+|[A-Za-z]+", version)
    return tuple((part.isdecimal(), int(part) if part.isdecimal() else 0, part.lstrip("0")) for part in parts)


def choose(text: str, matrix_: Matrix) -> Line:
    """The line that a person means by NAME@VERSION: a line of the matrix, or a new line.

    A new line takes over the variants of the line whose version it refines: `5.0.8` refines `openmpi@5.0`, `openmpi@5:`
    and `openmpi`. The end of a version from a dash on may be left out: `2.3.7` means `mvapich2@2.3.7-1`. NAME is this
    project's name of a library, or Spack's. Versions of dependencies take the place of those that the line has.  Raises
    CampaignError for any other text.
    """
    match = ASKED.fullmatch(re.sub(r"\s*\^\s*", "^", text))
    if match is None:
        raise CampaignError(
            f"toolchain '{text}' is not of the form NAME[@VERSION][+VARIANT][^DEPENDENCY@VERSION], such as "
            "openmpi@5.0.8, mpich@5.0+vci or openmpi@5.0.8^ucx@1.18"
        )
    if match["dependencies"]:
        whole = match[0]
        named = next((line for line in matrix_.lines if whole == matrix_.name(line)), None)
        return named or _with(choose(whole.removesuffix(match["dependencies"]), matrix_), match, matrix_)
    name, version, suffix = match["name"], match["version"] or "", match["variants"]
    package = registry.package_of_family(name)
    same = [line for line in matrix_.lines if line.package == package]
    for candidate in same:
        if text == matrix_.name(candidate) or (candidate.version == version and matrix_.suffix(candidate) == suffix):
            return candidate
    for candidate in same:
        if candidate.version.startswith(f"{version}-") and matrix_.suffix(candidate) == suffix:
            return candidate
    if not version and not same:
        names = ", ".join(map(matrix_.name, matrix_.lines))
        raise CampaignError(f"toolchain '{text}': the matrix of {matrix_.scope} has no {name}; it has: {names}")
    refines = [line for line in same if contains(line.version, version) and matrix_.suffix(line) == suffix]
    if version and not re.search("[,:]", version) and refines:
        model = max(refines, key=lambda line: len(line.version))  # openmpi@5.0 rather than openmpi
        return Line(f"{package}@{version}{' ' if model.rest else ''}{model.rest}", suffix)
    return Line(f"{package}{f'@{version}' if version else ''}{f' {suffix}' if suffix else ''}", suffix)


def _with(line: Line, asked: re.Match[str], matrix_: Matrix) -> Line:
    """A line with dependencies of the versions that were asked for."""
    spec = line.spec
    for name, version in DEPENDENCY.findall(asked["dependencies"]):
        wanted = f"^{name}@{version}"
        there = re.compile(rf"\^\s*{name}(?:@[\w.,:-]+)?(?![\w-])")
        spec = there.sub(wanted, spec, count=1) if there.search(spec) else f"{spec} {wanted}"
    dependencies = sorted(set(re.findall(r"\^[^^]+", asked["dependencies"])))
    return Line(spec, matrix_.suffix(line) + "".join(dependencies))
