"""A copy of a run that does not tell whose run it is: `results export --public`."""

import getpass
import hashlib
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpi_campaign import ROOT, STATE
from mpi_campaign.archive import run_folders
from mpi_campaign.archive.aliases import Originals, Replacer, found_in, namer, still_there
from mpi_campaign.archive.provenance import SPACK_FOLDER, SYSTEM_FOLDER
from mpi_campaign.archive.run_folders import LOG_FILES, MANIFEST, PUBLIC, RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.benchmarks.registry import AXES
from postprocess.drawing.text import clean, short
from postprocess.records.storage import RECORD, run_files

KEY = STATE / "public-copies.key"
"""The file with the clone's secret key of aliases: a host has the same alias in all copies that the clone makes."""
KEY_BYTES = 32
IDENTITY = (
    "toolchain", "provider", "environment", "network", "configuration", "benchmark",
    *(name for name, axis in AXES.items() if axis.kind == "text"),
)  # fmt: skip
"""The fields that tell cases apart and match them in comparisons."""
SESSION_LOG = "logs/reframe.log"


def is_public(manifest: dict[str, Any]) -> bool:
    """Whether a run is a public copy already."""
    return isinstance(manifest.get(PUBLIC), dict)


def write(run: RunFolder, target: Path) -> None:
    """Make a folder with the public copy of an archived run. A public copy stays as it is. Raises CampaignError where
    something in the run cannot be made public, OSError where the copy cannot be written."""
    manifest = run_folders.read_manifest(run)
    target.mkdir()
    if is_public(manifest):
        shutil.copytree(run.path, target, dirs_exist_ok=True)
        return
    parts = _parts_of(run.path, manifest)
    texts = {path: _text(run, path) for path in parts.kept if not path.name.endswith(RECORD)}
    originals = _originals(manifest, [*texts.values(), *_heads(parts)])
    _check_names(run, manifest, parts, originals)
    replacer = Replacer(originals, namer(_key()), frozenset(_identity(manifest)))
    for path in parts.kept:
        text = texts[path] if path in texts else _record_text(run, path)
        _write(run, path, target, _replaced(replacer, path.relative_to(run.path), text), originals)
    copy = _manifest(manifest, replacer, run.path, target)
    _check_left(run, MANIFEST, json.dumps(copy, ensure_ascii=False), originals)
    _seal(target, copy, parts, replacer)


@dataclass
class _Parts:
    """The files of a run that its copy keeps, and the names of those that the copy leaves out."""

    kept: list[Path] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)


def _parts_of(folder: Path, manifest: dict[str, Any]) -> _Parts:
    """Which files of a run its copy keeps.

    It leaves out the log of a case that passed, and the session's log where all passed. It always leaves out tables
    and ReFrame's reports beside junit.xml: records and manifest have the same content.
    """
    good = {f"logs/{Path(str(case['record'])).name.removesuffix(RECORD)}{suffix}"
            for case in manifest["cases"] if case.get("result") == "pass" and case.get("record")
            for suffix in LOG_FILES.values()}  # fmt: skip
    if all(case.get("result") == "pass" for case in manifest["cases"]):
        good.add(SESSION_LOG)
    parts = _Parts()
    for name, path in run_files(folder).items():
        if name in good:
            parts.logs.append(name)
        elif name.endswith(".parquet"):
            parts.tables.append(name)
        elif name.startswith("reframe-report"):
            parts.reports.append(name)
        elif name != MANIFEST:
            parts.kept.append(path)
    return parts


def _text(run: RunFolder, path: Path) -> str:
    """The text of a file. Raises CampaignError where it is no text: nothing can be replaced in it."""
    data = path.read_bytes()
    if b"\0" in data:
        raise _refused(run, f"{path.relative_to(run.path)} is no text, in which nothing can be replaced")
    return data.decode("utf-8", "surrogateescape")


def _record_text(run: RunFolder, path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(run, f"{path.relative_to(run.path)} is not UTF-8") from error


def _heads(parts: _Parts) -> Iterator[str]:
    """The part of records that is not measured: the strings of each line."""
    for path in parts.kept:
        if path.name.endswith(RECORD):
            lines = path.read_bytes().decode("utf-8", "replace").split("\n")
            yield "\n".join(line for line in lines if '"host"' in line or line.startswith('{"type":"header"'))


def _refused(run: RunFolder, why: str) -> CampaignError:
    return CampaignError(f"run {run.run} cannot be made public: {clean(why)}")


def _originals(manifest: dict[str, Any], texts: list[str]) -> Originals:
    """Names and folders to replace: those of the run, and those of the person who exports it."""
    originals = _of_here() | _of_manifest(manifest) | found_in(json.dumps(manifest, ensure_ascii=False))
    for text in texts:
        originals |= found_in(text)
    return originals


def _of_here() -> Originals:
    clones = {str(ROOT), str(ROOT.resolve())}
    homes, users = set(), set()
    with suppress(RuntimeError):  # this user number has no home
        homes = {str(Path.home()), str(Path.home().resolve())} - {"/"}
    with suppress(ImportError, KeyError, OSError):  # nor a name
        users = {getpass.getuser()}
    hosts = {socket.gethostname()} - {"", "localhost"}
    return Originals(clones=frozenset(clones), homes=frozenset(homes), hosts=frozenset(hosts), users=frozenset(users))


def _with_hosts(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects in a manifest that may have the facts of a `host`: the manifest, sessions, nodes."""
    nodes = [node for part in (manifest, *(manifest.get("jobs") or [])) for node in part.get("nodes") or []]
    return [manifest, *(manifest.get("sessions") or []), *nodes]


def _of_manifest(manifest: dict[str, Any]) -> Originals:
    hosts = {str(host["name"]) for part in _with_hosts(manifest) if (host := part.get("host") or {}).get("name")}
    options = manifest.get("options") or {}
    toolchains = manifest.get("toolchains") or []
    prefixes = {str(toolchain["prefix"]) for toolchain in toolchains if toolchain.get("prefix")}
    prefixes |= {str(assignment).rpartition("=")[2] for assignment in options.get("peer_prefixes") or []}
    command = str(manifest.get("reframe_command") or "")
    clones = {command.partition(" -C ")[2].partition("/systems/")[0].strip("'\"")}
    return Originals(
        clones=frozenset(clone for clone in clones if clone.startswith("/")),
        prefixes=frozenset(prefix for prefix in prefixes if prefix.startswith("/")),
        hosts=frozenset(hosts - {"localhost"}),
    )


def _identity(manifest: dict[str, Any]) -> Iterator[str]:
    """The words that comparisons match by. A copy must not change them."""
    yield from (str(manifest.get(name) or "") for name in ("run", "system", "suite"))
    for entry in (*manifest["cases"], *manifest["toolchains"]):
        yield from (str(entry[name]) for name in IDENTITY if entry.get(name))


def _check_names(run: RunFolder, manifest: dict[str, Any], parts: _Parts, originals: Originals) -> None:
    """Raises CampaignError where a word that comparisons match by contains a name to replace."""
    files = [path.name for path in parts.kept]
    for word in (*_identity(manifest), *files):
        if name := still_there(originals, word):
            raise _refused(
                run,
                f"'{short(word)}', by which it is compared or filed, has '{name}' in it, the name of a host, a user or "
                "an account; measure again under another name of the system or toolchain",
            )


def _key() -> bytes:
    """The clone's secret key, made on first use. Raises CampaignError."""
    try:
        if not KEY.is_file():
            _make_key()
        return bytes.fromhex(KEY.read_text())
    except ValueError as error:
        raise CampaignError(f"{KEY} is no key that aliases can be made with: delete it, another is made") from error
    except OSError as error:
        raise CampaignError(f"{KEY} cannot be made or read ({error.strerror}): this clone must be writable") from error


def _make_key() -> None:
    KEY.parent.mkdir(parents=True, exist_ok=True)
    fresh = KEY.with_name(f".{KEY.name}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        stream.write(secrets.token_hex(KEY_BYTES))
    try:
        with suppress(FileExistsError):  # where several processes make a key, the first one stays
            os.link(fresh, KEY)
    finally:
        fresh.unlink()


def _replaced(replacer: Replacer, name: Path, text: str) -> str:
    if name.suffix == ".json" or name.name.endswith((RECORD, ".lock")):
        return replacer.json(text)
    return replacer.settings(text) if name.parts[0] == SYSTEM_FOLDER else replacer.text(text)


def _write(run: RunFolder, path: Path, target: Path, text: str, originals: Originals) -> None:
    """Raises CampaignError."""
    name = path.relative_to(run.path)
    _check_left(run, str(name), text, originals)
    copy = target / name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(text.encode("utf-8", "surrogateescape"))


def _check_left(run: RunFolder, name: str, text: str, originals: Originals) -> None:
    """Raises CampaignError where a text still contains a name: no such copy is written."""
    if left := still_there(originals, text):
        raise _refused(run, f"{name} has '{left}' where it cannot be replaced")


def _manifest(manifest: dict[str, Any], replacer: Replacer, source: Path, target: Path) -> dict[str, Any]:
    """The run's manifest after replacement, for the copy."""
    for with_host in _with_hosts(manifest):
        if (with_host.get("host") or {}).get("name"):
            with_host["host"]["name"] = replacer.name("host", str(with_host["host"]["name"]))
    copy: dict[str, Any] = json.loads(replacer.json(json.dumps(manifest)))
    for before, after in zip(manifest["toolchains"], copy["toolchains"], strict=True):
        if before.get("spack"):
            after["spack"]["lock_sha256"] = _digest_of_lock(before, source, target)
    return copy


def _digest_of_lock(toolchain: dict[str, Any], source: Path, target: Path) -> str:
    """The digest of the copy's lock, where the run's manifest has the digest of the run's lock."""
    digest = str(toolchain["spack"]["lock_sha256"])
    for lock in sorted((source / SPACK_FOLDER).glob("*")):
        if hashlib.sha256(lock.read_bytes()).hexdigest() == digest:
            return hashlib.sha256((target / SPACK_FOLDER / lock.name).read_bytes()).hexdigest()
    return digest


def _seal(target: Path, manifest: dict[str, Any], parts: _Parts, replacer: Replacer) -> None:
    aliases: dict[str, list[str]] = {}
    for kind, alias in sorted(replacer.used):
        aliases.setdefault(kind, []).append(alias)
    left_out = {"logs_of_passed_cases": parts.logs, "tables": parts.tables, "reframe_reports": parts.reports}
    manifest[PUBLIC] = {"aliases": aliases, "left_out": left_out}
    run_folders.seal(target, manifest)
