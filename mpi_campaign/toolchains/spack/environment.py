"""One Spack environment per toolchain, made from spack.yaml: concretized once, then only installed from its lock.

It lies in .campaign/spack/environments/<system>/<toolchain>/:

    spack.yaml        spack.yaml of the clone, with one MPI library and absolute paths
    spack.lock        what Spack made of it; kept until something that it was made from changes
    made-from         a digest of that: spack.yaml, the system's settings, the recipe
    description.json  what Spack says of the lock: prefixes, hashes, externals, compilers; whose commits made it

What is concretized anew lies in .new-<toolchain> beside it until it has a lock.
"""

import hashlib
import json
import platform
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import archspec.cpu
import yaml

from mpi_campaign import ROOT, files
from mpi_campaign.errors import CampaignError
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains.spack import matrix, tool

ENVIRONMENTS = tool.HOME / "environments"
REPOSITORY = ROOT / "benchmarks" / "spack_repo" / "campaign"
RECIPE = REPOSITORY / "packages" / "mpi_overlap_benchmarks" / "package.py"
DESCRIBE = Path(__file__).with_name("describe.py")

# Files of a system that do not change what is concretized: the list (each line has a lock of its own), and where built
# packages are fetched from.
NOT_OF_THE_LOCK = (matrix.DEFINITIONS, "mirrors.yaml")

# Where Spack puts things when the system's own settings do not say.
DEFAULTS = {
    "config": {
        "install_tree": {"root": str(tool.HOME / "opt")},
        "build_stage": [str(tool.HOME / "stage")],
        "source_cache": str(tool.HOME / "sources"),
    }
}


@dataclass(frozen=True)
class Environment:
    """folder: where it lies. line: its MPI library. peers: other benchmarks in it, as specs."""

    folder: Path
    system: str
    line: matrix.Line
    peers: tuple[str, ...]

    @property
    def lock(self) -> Path:
        return self.folder / "spack.lock"

    @property
    def manifest(self) -> Path:
        return self.folder / "spack.yaml"

    def text(self, packages: Path | None) -> str:
        """Its spack.yaml. Raises CampaignError where the clone's cannot be used."""
        whole = matrix.read_yaml(matrix.MANIFEST).get("spack")
        if not isinstance(whole, dict):
            raise CampaignError(f"{matrix.MANIFEST} has no `spack:`: see docs/spack.md")
        scope = matrix.scope_of(self.system)
        repositories = {name: _absolute(path) for name, path in _named(whole, "repos").items()}
        if packages is not None:
            repositories["builtin"] = str(packages / tool.BUILTIN)
        sources = _named(whole, "develop")
        develop = {name: dict(_named(sources, name)) for name in sources}
        for one in develop.values():
            one.update({"path": _absolute(one["path"])} if "path" in one else {})
        mine = {
            **whole,
            "include": [str(scope), str(tool.HOME / "defaults")],
            "repos": repositories,
            "develop": develop,
            "specs": [f"{name} ^{self.line.spec}" for name in (f"{matrix.PACKAGE}@main", *self.peers)],
            "concretizer": {**_named(whole, "concretizer"), "unify": True},
            "view": False,
        }
        heading = f"# Made from {matrix.MANIFEST}: change that one.\n"
        return heading + yaml.safe_dump({"spack": mine}, sort_keys=False, width=110)

    def digest(self, packages: Path | None) -> str:
        """Of everything that a lock depends on, and of the machine that it is for."""
        scope = matrix.scope_of(self.system)
        found = hashlib.sha256(f"{platform.machine()} {machine.os_release()}\n{self.text(packages)}".encode())
        settings = (path for path in sorted(scope.glob("*.yaml")) if path.name not in NOT_OF_THE_LOCK)
        for path in (*settings, RECIPE):
            found.update(path.read_bytes())
        return found.hexdigest()

    def is_concretized(self, packages: Path | None) -> bool:
        """Whether its lock is of what is asked for now."""
        try:
            return self.lock.is_file() and (self.folder / "made-from").read_text() == self.digest(packages)
        except FileNotFoundError:
            return False

    def forget(self) -> None:
        """Have it concretized anew; its lock stays until that is done."""
        (self.folder / "made-from").unlink(missing_ok=True)

    @property
    def draft(self) -> "Environment":
        """The same in a folder beside it, where it is made before it takes its place."""
        return replace(self, folder=self.folder.with_name(f".new-{self.folder.name}"))

    def prepare(self, packages: Path | None) -> None:
        """Begin it, without a lock. Raises CampaignError where that cannot be written."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with _written(self.folder):
            self.folder.mkdir(parents=True)
            defaults = tool.HOME / "defaults" / "config.yaml"
            defaults.parent.mkdir(parents=True, exist_ok=True)
            files.write_atomically(defaults, yaml.safe_dump(DEFAULTS))
            files.write_atomically(self.manifest, self.text(packages))
            files.write_atomically(self.folder / "made-from", self.digest(packages))

    def take(self, lock: Path, spack: tool.Spack) -> None:
        """Begin it anew with a lock that was kept elsewhere, or with its own.

        Raises CampaignError where that lock is none, of another library, of another machine, of sources that lie
        elsewhere, or of externals that are gone.
        """
        _check_lock(lock, self.line, spack.machine())
        self.draft.prepare(spack.packages)
        with _written(self.folder):
            shutil.copyfile(lock, self.draft.lock)
        self.settle()

    def settle(self) -> None:
        """Its draft, which has a lock now, takes its place. Raises CampaignError where that cannot be written."""
        with _written(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.draft.folder.rename(self.folder)

    def concrete_version(self) -> str:
        """Of its MPI library, as far as it has been described; empty where it has not."""
        try:
            found = json.loads((self.folder / "description.json").read_text())
            mpi = {root["mpi"] for root in found["roots"]}
            return next(str(node["version"]) for node in found["nodes"] if node["hash"] in mpi)
        except (OSError, ValueError, KeyError, TypeError, StopIteration):
            return ""

    def description(self, spack: tool.Spack) -> dict[str, Any]:
        """What Spack says of the lock, and the commits that it was made with: asked once per lock.

        Raises CampaignError where Spack says nothing.
        """
        kept = self.folder / "description.json"
        lock = self.lock.read_bytes()
        digest = hashlib.sha256(lock).hexdigest()
        try:
            found = json.loads(kept.read_text())
            if found["lock_sha256"] == digest and all("commit" in one for one in found["repositories"]):
                return dict(found)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        done = spack.call("python", str(DESCRIBE), folder=self.folder)
        try:
            found = json.loads(done.stdout.strip().rpartition("\n")[2])
            made_by = json.loads(lock).get("spack") or found["spack"]  # a lock says who made it
        except ValueError as error:
            said = tool.complaint(done.stdout + done.stderr)
            raise CampaignError(f"{self.folder}: Spack cannot read the lock: {said}") from error
        found["spack"] = {name: str(made_by.get(name) or "") for name in ("version", "commit")}
        for one in found["repositories"]:
            one["commit"] = machine.commit_of(Path(one["root"]))
        found["lock_sha256"] = digest
        files.write_atomically(kept, json.dumps(found, indent=1) + "\n")
        return dict(found)


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    """What cannot be written in here is a CampaignError."""
    try:
        yield
    except OSError as error:
        raise CampaignError(f"{folder} cannot be made ({error.strerror}): this clone must be writable") from error


def _named(whole: Mapping[str, Any], section: str) -> dict[str, Any]:
    """A section of spack.yaml that has names. Raises CampaignError where it has none."""
    found = whole.get(section) or {}
    if not isinstance(found, dict):
        raise CampaignError(f"{matrix.MANIFEST}: `{section}` must have names, as it came: see docs/spack.md")
    return found


def _absolute(path: Any) -> Any:
    """A path of the clone as it is elsewhere; what is none (a git repository), or begins with a variable, as it is."""
    return str(ROOT / path) if isinstance(path, str) and not path.startswith(("$", "~")) else path


def _check_lock(lock: Path, line: matrix.Line, here: tuple[str, str]) -> None:
    """here: platform and operating system of this machine, as Spack calls them."""
    try:
        whole = json.loads(lock.read_text())
        nodes = whole["concrete_specs"]
        roots = {nodes[root["hash"]]["name"] for root in whole["roots"]}
        versions = {str(one["name"]): str(one["version"]) for one in nodes.values()}
        systems = {(str(one["arch"]["platform"]), str(one["arch"]["platform_os"])) for one in nodes.values()}
        targets = {_target(one["arch"]["target"]) for one in nodes.values()}
        places = {one["parameters"].get("dev_path") for one in nodes.values()}
        externals = {
            f"{one['name']}@{one['version']}": str(one["external"]["path"] or "")
            for one in nodes.values()
            if one.get("external")
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CampaignError(f"{lock} is not a lock of Spack's ({error!r}): give the spack.lock of a run") from error
    anew = "leave the lock out, so that it is concretized anew"
    if matrix.PACKAGE not in roots:
        raise CampaignError(f"{lock} has no {matrix.PACKAGE}: give the spack.lock of a run")
    has = versions.get(line.package)
    if has is None or not matrix.contains(line.version, has):
        there = f"{line.package}@{has}" if has else f"no {line.package}"
        raise CampaignError(f"{lock} has {there}, not {line.package}@{line.version}: say of which toolchain it is")
    for other in sorted(systems):
        if all(here) and other != here:
            raise CampaignError(f"{lock} is for {'-'.join(other)}, this machine is {'-'.join(here)}: {anew}")
    foreign = foreign_target(targets)
    if foreign is not None:
        raise CampaignError(f"{lock} is for {foreign}: {anew}")
    sources = str(ROOT / "benchmarks")
    elsewhere = next((path for path in places if path not in (None, sources)), None)
    if elsewhere is not None:
        raise CampaignError(
            f"{lock} is of a clone whose benchmarks lie in {elsewhere}, this one's in {sources}: clone to that, or "
            f"{anew}"
        )
    for spec, prefix in externals.items():
        if prefix and not Path(prefix).is_dir():
            raise CampaignError(f"{lock} takes {spec} from {prefix}, which is not there: install it there, or {anew}")


def foreign_target(names: Iterable[str]) -> str | None:
    """Of these microarchitectures the first whose programs this machine cannot run, and what this machine is."""
    host = archspec.cpu.host()
    for name in sorted(names):
        target = archspec.cpu.TARGETS.get(name)
        if target is not None and not target <= host:
            return f"{name}, this machine is {host.name}"
    return None


def _target(target: Any) -> str:
    """The microarchitecture's name; Spack writes one of its own in full."""
    return str(target["name"] if isinstance(target, dict) else target)


def of(system: str, line: matrix.Line, peers: Sequence[str]) -> Environment:
    """The environment of one line of a system's matrix."""
    name = re.sub(r"[^A-Za-z0-9.+-]+", "_", line.spec).strip("_")
    if len(name) > 80:
        name = f"{name[:60]}-{hashlib.sha256(line.spec.encode()).hexdigest()[:8]}"
    folder = ENVIRONMENTS / system / (f"{name}-peers" if peers else name)
    return Environment(folder, system, line, tuple(peers))


def concretize(
    spack: tool.Spack,
    wanted: Sequence[Environment],
    say: Callable[[str], None],
    on_tick: Callable[[], None],
    at_once: int,
) -> None:
    """Give a lock to every environment that has none of what is asked for now.

    Raises CampaignError with Spack's own reason for the first that cannot be concretized; the others keep theirs.
    """
    missing = [one for one in wanted if not one.is_concretized(spack.packages)]
    if not missing:
        return
    say(f"concretizing {', '.join(one.line.spec for one in missing)}: a minute or two each, once")
    for one in missing:
        one.draft.prepare(spack.packages)
    said = tool.together(spack, {one.draft.folder: ["concretize"] for one in missing}, on_tick, at_once)
    failed = [one for one in missing if one.draft.folder in said or not one.draft.lock.is_file()]
    for one in missing:
        if one not in failed:
            one.settle()
            one.description(spack)  # with the commits of now
    if failed:
        one = failed[0]
        why = said.get(one.draft.folder, "")
        rows = matrix.matrix(one.system)
        names = ", ".join(map(rows.name, rows.lines))
        todo = tool.hint(why)
        raise CampaignError(
            f"'{one.line.spec}' cannot be concretized: {tool.complaint(why)}{f' ({todo})' if todo else ''}; "
            f"the system's matrix has {names}; all that Spack said is in {one.draft.folder / 'log'}"
        )


def _is_installed(node: Mapping[str, Any]) -> bool:
    """A description is as old as its lock: what has been installed since leaves this folder."""
    return Path(node["prefix"], ".spack").is_dir()


def overview(description: Mapping[str, Any]) -> list[str]:
    """What is installed already, what has a prefix of its own, and what will be built: lines for a person."""
    ahead = "to be built, unless a binary cache has it"
    kinds: dict[str, list[str]] = {"external": [], "installed": [], ahead: []}
    for node in description["nodes"]:
        kind = "external" if node["external"] else "installed" if _is_installed(node) else ahead
        kinds[kind].append(f"{node['name']}@{node['version']}")
    return [f"{kind}: {', '.join(sorted(found))}" for kind, found in kinds.items() if found]
