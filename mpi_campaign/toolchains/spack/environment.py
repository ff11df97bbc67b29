"""A Spack environment for each toolchain, made from spack.yaml: concretized once, then installed from its lock.

An environment lies in .campaign/spack/environments/<system>/<toolchain>/:

    spack.yaml        spack.yaml of the clone, with one MPI library and absolute paths
    spack.lock        Spack's result; kept until one of its inputs changes
    made-from         a digest of the inputs: spack.yaml, the system's settings, the recipe
    description.json  Spack's description of the lock: prefixes, hashes, externals, compilers, and commits of Spack

While an environment is concretized anew, its draft lies beside it in .new-<toolchain>.
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

# Files of a system that have no influence on a lock: the list of libraries (each line has a lock of its own), and the
# mirrors from which built packages are fetched.
NOT_OF_THE_LOCK = (matrix.DEFINITIONS, "mirrors.yaml")

# Folders of Spack, for systems whose settings name none.
DEFAULTS = {
    "config": {
        "install_tree": {"root": str(tool.HOME / "opt")},
        "build_stage": [str(tool.HOME / "stage")],
        "source_cache": str(tool.HOME / "sources"),
    }
}


@dataclass(frozen=True)
class Environment:
    """The Spack environment of a toolchain.  folder: its folder.  line: its MPI library.  peers: other benchmarks in
    it, as specs."""

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
        """The environment's spack.yaml. Raises CampaignError where the clone's spack.yaml cannot be used."""
        given = matrix.read_yaml(matrix.MANIFEST).get("spack")
        if not isinstance(given, dict):
            raise CampaignError(f"{matrix.MANIFEST} has no `spack:`: see docs/spack.md")
        scope = matrix.scope_of(self.system)
        repositories = {name: _absolute(path) for name, path in _named(given, "repos").items()}
        if packages is not None:
            repositories["builtin"] = str(packages / tool.BUILTIN)
        sources = _named(given, "develop")
        develop = {name: dict(_named(sources, name)) for name in sources}
        for source in develop.values():
            source.update({"path": _absolute(source["path"])} if "path" in source else {})
        settings = {
            **given,
            "include": [str(scope), str(tool.HOME / "defaults")],
            "repos": repositories,
            "develop": develop,
            "specs": [f"{name} ^{self.line.spec}" for name in (f"{matrix.PACKAGE}@main", *self.peers)],
            "concretizer": {**_named(given, "concretizer"), "unify": True},
            "view": False,
        }
        heading = f"# Made from {matrix.MANIFEST}: change that one.\n"
        return heading + yaml.safe_dump({"spack": settings}, sort_keys=False, width=110)

    def digest(self, packages: Path | None) -> str:
        """A digest of everything that a lock depends on, and of the machine that it is for."""
        scope = matrix.scope_of(self.system)
        sha256 = hashlib.sha256(f"{platform.machine()} {machine.os_release()}\n{self.text(packages)}".encode())
        settings = (path for path in sorted(scope.glob("*.yaml")) if path.name not in NOT_OF_THE_LOCK)
        for path in (*settings, RECIPE):
            sha256.update(path.read_bytes())
        return sha256.hexdigest()

    def is_concretized(self, packages: Path | None) -> bool:
        """Whether there is a lock that was made from the present inputs."""
        try:
            return self.lock.is_file() and (self.folder / "made-from").read_text() == self.digest(packages)
        except FileNotFoundError:
            return False

    def forget(self) -> None:
        """Let the environment be concretized anew. The old lock stays until that is done."""
        (self.folder / "made-from").unlink(missing_ok=True)

    @property
    def draft(self) -> "Environment":
        """The environment in a draft folder beside its own, in which it is made before it is moved into place."""
        return replace(self, folder=self.folder.with_name(f".new-{self.folder.name}"))

    def prepare(self, packages: Path | None) -> None:
        """Write the environment without a lock. Raises CampaignError where that fails."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with _written(self.folder):
            self.folder.mkdir(parents=True)
            defaults = tool.HOME / "defaults" / "config.yaml"
            defaults.parent.mkdir(parents=True, exist_ok=True)
            files.write_atomically(defaults, yaml.safe_dump(DEFAULTS))
            files.write_atomically(self.manifest, self.text(packages))
            files.write_atomically(self.folder / "made-from", self.digest(packages))

    def take(self, lock: Path, spack: tool.Spack) -> None:
        """Write the environment anew, with a lock that was kept elsewhere or with its own.

        Raises CampaignError where the lock is broken, or is for another library or machine, for sources in another
        folder, or for externals that are gone.
        """
        _check_lock(lock, self.line, spack.machine())
        self.draft.prepare(spack.packages)
        with _written(self.folder):
            shutil.copyfile(lock, self.draft.lock)
        self.settle()

    def settle(self) -> None:
        """Move the draft, which has a lock now, into place. Raises CampaignError where that fails."""
        with _written(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.draft.folder.rename(self.folder)

    def concrete_version(self) -> str:
        """The version of the MPI library in the description; empty where there is no description yet."""
        try:
            description = json.loads((self.folder / "description.json").read_text())
            mpi = {root["mpi"] for root in description["roots"]}
            return next(str(node["version"]) for node in description["nodes"] if node["hash"] in mpi)
        except (OSError, ValueError, KeyError, TypeError, StopIteration):
            return ""

    def description(self, spack: tool.Spack) -> dict[str, Any]:
        """Spack's description of the lock, and the commits that it was made with. Spack is asked once per lock. Raises
        CampaignError where Spack cannot read the lock."""
        path = self.folder / "description.json"
        lock = self.lock.read_bytes()
        digest = hashlib.sha256(lock).hexdigest()
        try:
            described = json.loads(path.read_text())
            commits_known = all("commit" in repository for repository in described["repositories"])
            if described["lock_sha256"] == digest and commits_known:
                return dict(described)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        done = spack.call("python", str(DESCRIBE), folder=self.folder)
        try:
            described = json.loads(done.stdout.strip().rpartition("\n")[2])
            made_by = json.loads(lock).get("spack") or described["spack"]  # a lock names the Spack that made it
        except ValueError as error:
            complaint = tool.complaint(done.stdout + done.stderr)
            raise CampaignError(f"{self.folder}: Spack cannot read the lock: {complaint}") from error
        described["spack"] = {name: str(made_by.get(name) or "") for name in ("version", "commit")}
        for repository in described["repositories"]:
            repository["commit"] = machine.commit_of(Path(repository["root"]))
        described["lock_sha256"] = digest
        files.write_atomically(path, json.dumps(described, indent=1) + "\n")
        return dict(described)


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    """Turn an OSError while writing a folder into a CampaignError."""
    try:
        yield
    except OSError as error:
        raise CampaignError(f"{folder} cannot be made ({error.strerror}): this clone must be writable") from error


def _named(document: Mapping[str, Any], section: str) -> dict[str, Any]:
    """A section of spack.yaml, which must be a mapping; empty where it is missing. Raises CampaignError otherwise."""
    mapping = document.get(section) or {}
    if not isinstance(mapping, dict):
        raise CampaignError(f"{matrix.MANIFEST}: `{section}` must have names, as it came: see docs/spack.md")
    return mapping


def _absolute(path: Any) -> Any:
    """A path in the clone as an absolute path. A git repository, or a path that begins with a variable, stays."""
    return str(ROOT / path) if isinstance(path, str) and not path.startswith(("$", "~")) else path


def _check_lock(lock: Path, line: matrix.Line, here: tuple[str, str]) -> None:
    """Raises CampaignError where a lock is broken, or is not for this library, machine or clone.  here: platform and
    operating system of this machine, as Spack calls them."""
    try:
        content = json.loads(lock.read_text())
        nodes = content["concrete_specs"]
        roots = {nodes[root["hash"]]["name"] for root in content["roots"]}
        versions = {str(node["name"]): str(node["version"]) for node in nodes.values()}
        systems = {(str(node["arch"]["platform"]), str(node["arch"]["platform_os"])) for node in nodes.values()}
        targets = {_target(node["arch"]["target"]) for node in nodes.values()}
        places = {node["parameters"].get("dev_path") for node in nodes.values()}
        externals = {
            f"{node['name']}@{node['version']}": str(node["external"]["path"] or "")
            for node in nodes.values()
            if node.get("external")
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CampaignError(f"{lock} is not a lock of Spack's ({error!r}): give the spack.lock of a run") from error
    anew = "leave the lock out, so that it is concretized anew"
    if matrix.PACKAGE not in roots:
        raise CampaignError(f"{lock} has no {matrix.PACKAGE}: give the spack.lock of a run")
    has = versions.get(line.package)
    if has is None or not matrix.contains(line.version, has):
        instead = f"{line.package}@{has}" if has else f"no {line.package}"
        raise CampaignError(f"{lock} has {instead}, not {line.package}@{line.version}: say of which toolchain it is")
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
    """The first of these microarchitectures whose programs this machine cannot run, and the machine's own, in words.
    None where this machine can run all of them."""
    host = archspec.cpu.host()
    for name in sorted(names):
        target = archspec.cpu.TARGETS.get(name)
        if target is not None and not target <= host:
            return f"{name}, this machine is {host.name}"
    return None


def _target(target: Any) -> str:
    """The name of a microarchitecture in a lock: a name, or an object with all properties."""
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
    environments: Sequence[Environment],
    say: Callable[[str], None],
    on_tick: Callable[[], None],
    at_once: int,
) -> None:
    """Make a lock for every environment without a lock of what is asked for now. Raises CampaignError, with Spack's own
    reason, for the first environment that cannot be concretized. The others keep their new locks."""
    missing = [environment for environment in environments if not environment.is_concretized(spack.packages)]
    if not missing:
        return
    say(f"concretizing {', '.join(environment.line.spec for environment in missing)}: a minute or two each, once")
    for lacking in missing:
        lacking.draft.prepare(spack.packages)
    output_of = tool.together(
        spack, {environment.draft.folder: ["concretize"] for environment in missing}, on_tick, at_once
    )
    failed = [
        environment
        for environment in missing
        if environment.draft.folder in output_of or not environment.draft.lock.is_file()
    ]
    for lacking in missing:
        if lacking not in failed:
            lacking.settle()
            lacking.description(spack)  # now, while the commits are those that made the lock
    if failed:
        lacking = failed[0]
        why = output_of.get(lacking.draft.folder, "")
        rows = matrix.matrix(lacking.system)
        names = ", ".join(map(rows.name, rows.lines))
        todo = tool.hint(why)
        raise CampaignError(
            f"'{lacking.line.spec}' cannot be concretized: {tool.complaint(why)}{f' ({todo})' if todo else ''}; "
            f"the system's matrix has {names}; all that Spack said is in {lacking.draft.folder / 'log'}"
        )


def overview(description: Mapping[str, Any]) -> list[str]:
    """Lines for a person: the packages that are external, those that are installed, and those that will be built."""
    to_build = "to be built, unless a binary cache has it"
    kinds: dict[str, list[str]] = {"external": [], "installed": [], to_build: []}
    for node in description["nodes"]:
        # The description cannot tell what is installed: it is as old as the lock.
        is_installed = Path(node["prefix"], ".spack").is_dir()
        kind = "external" if node["external"] else "installed" if is_installed else to_build
        kinds[kind].append(f"{node['name']}@{node['version']}")
    return [f"{kind}: {', '.join(sorted(packages))}" for kind, packages in kinds.items() if packages]
