"""What a run was made with, and the commands that repeat it."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import click

from mpi_campaign.archive import packs, run_folders
from mpi_campaign.archive.run_folders import RUN, RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning import checks
from mpi_campaign.planning.options import Options
from mpi_campaign.systems import known_systems
from mpi_campaign.toolchains.resolving import NAME, VERSION, Package
from mpi_campaign.toolchains.spack.build import Build
from postprocess.drawing.text import clean, short
from postprocess.records import nodes, variables
from postprocess.records.header import Header, version_in_short
from postprocess.records.host_limits import limits_words

COMMIT = re.compile(r"[0-9a-f]{40}")
DIGEST = re.compile(r"[0-9a-f]{64}")
STEM = re.compile(r"[A-Za-z0-9_.-]{1,128}")
SYSTEM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
SPACK_FOLDER = "spack"
SYSTEM_FOLDER = "system"  # in a run's folder: a copy of systems/<system>


def lock_of(environment: str) -> str:
    """The name, in a run's folder, of the Spack lock of a toolchain. environment: its ReFrame environment."""
    return f"{SPACK_FOLDER}/{environment}.spack.lock"


def manifest_of(environment: str) -> str:
    """The name, in a run's folder, of the spack.yaml of a toolchain. environment: its ReFrame environment."""
    return f"{SPACK_FOLDER}/{environment}.spack.yaml"


@dataclass(frozen=True)
class RecordFacts:
    """Facts from the records of a run.  headers: of our records.  programs: of other benchmarks (`Audit.programs`).
    carried: the bytes that TCP connections carried, in words, by library, network and configuration."""

    headers: Sequence[Header]
    programs: Sequence[tuple[str, Mapping[str, str], str]]
    carried: Sequence[tuple[str, str]] = ()


def as_text(manifest: Mapping[str, Any], records: RecordFacts) -> str:
    """What `show --provenance` prints."""
    return "\n".join(map(clean, _lines(manifest, records)))  # a manifest may come from anybody


def _lines(manifest: Mapping[str, Any], records: RecordFacts) -> Iterator[str]:
    campaign, host = manifest.get("campaign", {}), manifest.get("host", {})
    changed = {True: ", with changes", False: "", None: ", not known whether changed"}.get(campaign.get("dirty"), "")
    yield f"run         {manifest.get('run')}, {manifest.get('status')}, {manifest.get('started_utc')}"
    unknown = campaign.get("commit_unknown")
    why = f" ({unknown})" if unknown else changed
    yield f"campaign    {campaign.get('version')}, commit {campaign.get('commit')}{why}"
    yield (
        f"machine     {host.get('name')}: {host.get('cpu')}, {host.get('cores')} cores, {host.get('os')}, kernel "
        f"{host.get('kernel')}"
    )
    if limits := limits_words(host):
        yield f"limits      {limits}"
    for name, node in nodes.nodes_of(manifest).items():
        yield f"node        {name}: {nodes.in_words(node)}"
    for title, words in variables.details(manifest):
        yield f"{title.partition(' of ')[0].replace('into launches', 'in'):<12}{words}"
    yield f"command     {shlex.join(map(str, manifest.get('command_line', [])))}"
    for name, words in records.carried:
        yield f"over TCP    {name}: {words}"
    for entry in manifest.get("toolchains", []):
        yield ""
        yield from _toolchain_lines(entry, records)


def _toolchain_lines(entry: Mapping[str, Any], records: RecordFacts) -> Iterator[str]:
    yield f"toolchain   {entry.get('toolchain')} from {entry.get('provider')}, in {entry.get('prefix')}"
    for package in entry.get("packages", []):
        yield f"  wheel     {package.get('name')} {package.get('version')} sha256:{package.get('sha256')}"
    if entry.get("spack"):
        try:
            yield from _spack_lines(Build.from_json(entry["spack"]), str(entry.get("environment")))
        except (KeyError, TypeError, ValueError) as error:
            yield f"  spack     cannot be read: {error!r}"
    identity = (entry.get("toolchain"), entry.get("provider"))
    headers = [
        record_header
        for record_header in records.headers
        if (record_header.toolchain, record_header.provider) == identity
    ]
    builds = [(header.build, f", {header.build.get('blas')}" * ("blas" in header.build)) for header in headers]
    yield from dict.fromkeys(
        f"  built     by {build.get('compiler')} with {build.get('flags')}, commit {build.get('commit')}"
        f"{', changed' * (build.get('dirty') is True)}{blas}"
        for build, blas in builds
    )
    yield from dict.fromkeys(f"  says      {version_in_short(header.mpi_library_version)}" for header in headers)
    for toolchain, program, library in records.programs:
        if toolchain == entry.get("toolchain"):
            package = f" of {program.get('package')} {program.get('package_version')}" if program.get("package") else ""
            yield f"  beside    {program.get('name')} {program.get('version')}{package} sha256:{program.get('sha256')}"
            yield f"  bound to  {library}"


def _spack_lines(build: Build, environment: str) -> Iterator[str]:
    yield f"  library   {build.mpi_spec} /{build.mpi_hash}, {'external' if build.external else 'built by Spack'}"
    yield f"  programs  {build.spec.partition(chr(10))[0].strip()} /{build.hash}"
    yield f"  compiler  {build.compiler}, {build.architecture}"
    yield f"  Spack     {build.spack_version} {build.spack_commit}".rstrip()
    for namespace, commit in build.repositories:
        yield f"  packages  {namespace} {commit or '(not a git clone)'}"
    yield f"  lock      {lock_of(environment)} sha256:{build.lock_sha256}"
    for name, digest, _prefix in build.peers:
        yield f"  beside    {name} /{digest}"


def steps(folder: RunFolder, run_command: click.Command) -> list[str]:
    """The commands that build a run's toolchains again and repeat the run. They are made from the checked manifest.
    run_command: the click command `campaign run`.  Raises CampaignError for a manifest that no run can have."""
    manifest = run_folders.read_manifest(folder)
    try:
        options = Options.from_manifest(manifest)
        commit = str(manifest["campaign"]["commit"])
        toolchains = [_entry(entry) for entry in manifest["toolchains"]]
        dirty = manifest["campaign"]["dirty"]
        cases = [dict(case) for case in manifest["cases"]]
    except KeyError as error:
        raise CampaignError(
            f"{folder.path / run_folders.MANIFEST} is not what a run writes: it has no {error}"
        ) from error
    except (AttributeError, TypeError, ValueError) as error:
        raise CampaignError(f"{folder.path / run_folders.MANIFEST} is not what a run writes: {error}") from error
    networks = {str(case.get("network")) for case in cases}
    network = networks.pop() if len(networks) == 1 else options.network
    names = tuple(_name(folder, options, entry) for entry in toolchains)
    options = replace(options, toolchains=names, network=network)
    system = _system_lines(folder, options)
    foreign = system and options.system not in known_systems.available()
    here = replace(options, peer_prefixes=())  # what these folders hold is checked where the run is repeated
    checks.check(replace(here, system=Options.system, network="", partition="") if foreign else here)
    if odd := next((prefix for prefix in options.peer_prefixes if not prefix.isprintable()), None):
        raise CampaignError(f"{folder.path / run_folders.MANIFEST}: '{clean(odd)}' is no name of a folder")
    sizes_of = Path(options.sizes_of).name.removesuffix(packs.ENDING)
    if options.sizes_of and not (RUN.fullmatch(sizes_of) and options.sizes_of.isprintable()):
        raise CampaignError(
            f"{folder.path / run_folders.MANIFEST}: '{clean(options.sizes_of)}' is no run to take sizes of"
        )
    lines = ["# in a clone of this project:"]
    if COMMIT.fullmatch(commit):
        lines.append(f"git checkout {commit}")
        if dirty:
            lines.append("# the clone had changes that this commit does not have")
    else:
        unknown = short(manifest["campaign"].get("commit_unknown") or "")
        lines.append(f"# which commit it was is not known{': ' * bool(unknown)}{unknown}")
    lines += system
    made = dict.fromkeys(line for entry in toolchains if entry.get("spack") for line in _spack_notes(entry["spack"]))
    lines += [*made, *(line for entry in toolchains for line in _toolchain_steps(folder, options, entry))]
    if started := clean(manifest.get("reframe_command") or ""):
        lines.insert(1, f"# the run started ReFrame so: {started}")
    return [*lines, _run_line(options, run_command)]


def _system_lines(folder: RunFolder, options: Options) -> list[str]:
    """Commands that give another clone the system's description; none for the system that every clone has."""
    system_copy = folder.path / SYSTEM_FOLDER
    name = options.system
    if name == Options.system or not SYSTEM_NAME.fullmatch(name) or not (system_copy / "settings.py").is_file():
        return []
    return [
        f"# systems/{name} as it was, for a clone that has none; look at its settings.py before: ReFrame runs it",
        f"test -d systems/{name} || cp -R {shlex.quote(str(system_copy))} systems/{name}",
    ]


def _spack_notes(build: Mapping[str, Any]) -> Iterator[str]:
    """Comments that say which Spack and which recipes made a lock."""
    version, commit = str(build.get("spack_version")), str(build.get("spack_commit"))
    if VERSION.fullmatch(version):
        yield f"# Spack {version}{f' at {commit}' if COMMIT.fullmatch(commit) else ''}"
    for namespace, at in build.get("repositories", []):
        if STEM.fullmatch(str(namespace)) and COMMIT.fullmatch(str(at)):
            yield f"# Spack's packages {namespace} at {at}"


def _entry(given: Mapping[str, Any]) -> dict[str, Any]:
    """A toolchain from its entry in a manifest. Raises KeyError, TypeError, ValueError or AttributeError for an entry
    that is no toolchain."""
    if given.get("spack"):
        Build.from_json(given["spack"])
    packages = given.get("packages") or []
    read = [Package(*(str(package[field.name]) for field in fields(Package))) for package in packages]
    return {**given, "packages": read}


def _name(folder: RunFolder, options: Options, entry: Mapping[str, Any]) -> str:
    """A toolchain as a person asks for it. Raises CampaignError where its name is not legal."""
    name, provider = str(entry.get("toolchain")), str(entry.get("provider"))
    family, _, version = name.partition("@")
    if (
        not NAME.fullmatch(family)
        or not VERSION.fullmatch(version)
        or (provider == "spack") != (options.provider == "spack")
    ):
        raise CampaignError(f"{folder.path / run_folders.MANIFEST}: '{name}' from {provider} is no toolchain")
    given = next((text for text in options.toolchains if text.startswith(f"{name}=")), None)
    return given or name if provider == "prefix" else name


def _toolchain_steps(folder: RunFolder, options: Options, entry: Mapping[str, Any]) -> Iterator[str]:
    environment = str(entry.get("environment", ""))
    if not STEM.fullmatch(environment):
        raise CampaignError(f"{folder.path / run_folders.MANIFEST}: '{environment}' is no name of an environment")
    if entry.get("spack"):
        lock = folder.path / lock_of(environment)
        name = str(entry.get("toolchain"))
        if not lock.is_file():
            raise CampaignError(f"{lock} is not there: without it the build of {name} cannot be made again")
        words = ["./campaign", "setup", "--provider", "spack", "--toolchain", name, "--lock", str(lock)]
        words += ["--system", options.system] if options.system != Options.system else []
        words += ["--suite", options.suite] if options.suite != Options.suite else []
        words += [word for name in options.benchmarks for word in ("--benchmark", name)]
        yield shlex.join(words)
        return
    for package in entry["packages"]:
        if STEM.fullmatch(package.name) and STEM.fullmatch(package.version) and DIGEST.fullmatch(package.sha256):
            yield f"# {package.name} {package.version} is fetched; its hash was sha256:{package.sha256}"


def _run_line(options: Options, run_command: click.Command) -> str:
    """`./campaign run` with the options that differ from their defaults."""
    flags = {parameter.name: max(parameter.opts, key=len) for parameter in run_command.params}
    words: list[str] = ["./campaign", "run"]
    usual = Options().as_dict()
    for name, value in options.as_dict().items():
        flag = str(flags.get(name) or "")
        if value == usual[name] or not flag:  # an axis that shares its option with another benchmark's is told by that
            continue
        values: Sequence[Any] = value if isinstance(value, tuple) else (value,)
        for text in values:
            words += [flag] if text is True else [flag, f"{text:g}" if isinstance(text, float) else str(text)]
    return shlex.join(words)
