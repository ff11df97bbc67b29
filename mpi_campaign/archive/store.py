"""What is done with the archive as a whole: list it, verify it, take runs out and in, throw old ones away."""

import gzip
import hashlib
import json
import os
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path, PurePosixPath
from typing import Any

from mpi_campaign.archive import public_copy, references, run_folders
from mpi_campaign.archive.consistency import MACHINE
from mpi_campaign.archive.provenance import STEM
from mpi_campaign.archive.run_folders import MANIFEST, RUN, RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from postprocess.drawing.columns import aligned
from postprocess.drawing.text import clean, size
from postprocess.families import registry as families
from postprocess.records.fields import RecordError
from postprocess.records.run import MANIFEST_SCHEMA, MANIFEST_VERSION
from postprocess.records.storage import record_files

INCOMING = ".incoming"
LEFT_SECONDS = 86400.0
"""What has lain there so long was left by something that was killed."""
LARGEST_BYTES = 64 << 30
"""Of a run that is imported, unpacked: what unpacks to more is no run."""
DEEPEST = 4
"""Parts of a path in a pack, the run's own name among them."""
TAKEN = {"reports", "general", "baseline", "last", *CONFIGURATIONS}
"""Words that mean something else where a system may be named."""


@dataclass(frozen=True)
class Entry:
    """A run, as `results list` shows it. trouble: why its manifest cannot be read; empty where it can."""

    system: str
    run: str
    suite: str
    status: str
    host: str
    toolchains: tuple[str, ...]
    passed: int
    skipped: int
    cases: int
    bytes: int
    trouble: str = ""


def entries(root: Path) -> list[Entry]:
    """Every run of an archive, oldest first; what is wrong with one hides no other."""
    return [_entry(run) for run in run_folders.runs(root)]


def _entry(run: RunFolder) -> Entry:
    size_bytes = 0
    try:
        size_bytes = sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())
        manifest = run_folders.read_manifest(run)
        cases = [str(case["result"]) for case in manifest["cases"]]
        return Entry(
            run.system,
            run.run,
            str(manifest["suite"]),
            str(manifest["status"]),
            str(manifest["host"]["name"]),
            tuple(str(one["toolchain"]) for one in manifest["toolchains"]),
            cases.count("pass"),
            cases.count("skip"),
            len(cases),
            size_bytes,
        )
    except (CampaignError, OSError, KeyError, TypeError) as error:
        lacking = f"it lacks {error}" if isinstance(error, KeyError) else "something in it is of another type"
        known = isinstance(error, (CampaignError, OSError))
        what = str(error) if known else f"{MANIFEST} is not what a run writes: {lacking}"
        return Entry(run.system, run.run, "", "", "", (), 0, 0, 0, size_bytes, what)


def list_text(found: Sequence[Entry]) -> str:
    """What `results list` prints."""
    if not found:
        return "no runs yet: ./campaign run makes one"
    heads = ["system", "run", "suite", "status", "host", "toolchains", "passed", "skipped", "size"]
    lines = [
        [one.system, one.run, one.suite, one.status or "unreadable", one.host, ", ".join(one.toolchains),
         f"{one.passed}/{one.cases - one.skipped}", str(one.skipped), size(one.bytes)]
        for one in found
    ]  # fmt: skip
    troubles = [f"{one.system}/{one.run}: {one.trouble}" for one in found if one.trouble]
    return "\n".join([aligned(heads, lines, right={6, 7, 8}), *troubles])


def list_json(found: Sequence[Entry]) -> str:
    """What `results list --json` prints."""
    return json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False)


def faults(run: RunFolder, tell: Callable[[int, int], None] = lambda _done, _total: None) -> Iterator[str]:
    """What is wrong with an archived run, a line each: files that changed, are missing or were added, and records that
    are not as their schema says.  tell: how many of the records have been read."""
    try:
        manifest = run_folders.read_manifest(run)
    except CampaignError as error:
        yield str(error)
        return
    version = manifest.get("schema_version")
    if type(version) is not int or not 1 <= version <= MANIFEST_VERSION:
        yield f"{MANIFEST}: schema version {clean(version)}; this campaign reads up to {MANIFEST_VERSION}"
    checksums = manifest.get("checksums") or {}
    if not checksums:
        yield f"{MANIFEST}: no checksums: the run was never completed"
    if run_folders.differs(manifest):
        yield f"{MANIFEST}: {run_folders.DIFFERS}"
    there = {str(path.relative_to(run.path)): path for path in sorted(run.path.rglob("*")) if path.is_file()}
    there.pop(MANIFEST, None)
    for name in sorted(set(checksums) | set(there) if checksums else []):
        if name not in there:
            yield f"{clean(name)}: missing"
        elif name not in checksums:
            yield f"{clean(name)}: not of this run: it has no checksum"
        else:
            try:
                if checksums[name] != "sha256:" + _digest(there[name]):
                    yield f"{clean(name)}: not the file that was archived: its checksum differs"
            except OSError as error:
                yield f"{clean(name)}: cannot be read: {error.strerror}"
    paths = record_files(run.records_folder)
    for number, path in enumerate(paths):
        tell(number, len(paths))
        try:
            families.validate(path)
        except RecordError as error:
            yield str(error)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        digest = hashlib.sha256()
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def export(run: RunFolder, target: Path, *, public: bool = False) -> Path:
    """One file that `results import` takes. public: without what tells whose the run is.

    Raises CampaignError where it cannot be written, the run is not complete, or cannot be made public.
    """
    run_folders.check_outside(target)
    if not run.archived.is_dir():
        raise CampaignError(f"run '{run.run}' is not complete: go on with {run_folders.resume_words(run)}")
    if target.exists():
        raise CampaignError(f"{target} is there already: give another file with -o")
    for fault in faults(run):
        raise CampaignError(f"run {run.run}: {fault}; nothing was exported, nobody could import it")
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    copy = target.with_name(f".{run.run}.{os.getpid()}")
    try:
        if public:
            public_copy.write(run, copy)
        with tarfile.open(fresh, "w:gz", format=tarfile.PAX_FORMAT) as pack:
            pack.add(copy if public else run.archived, arcname=run.run, filter=_timeless if public else _anonymous)
        fresh.replace(target)
    except OSError as error:
        raise CampaignError(f"{target} cannot be written ({error.strerror}): give another file with -o") from error
    finally:
        fresh.unlink(missing_ok=True)
        shutil.rmtree(copy, ignore_errors=True)
    return target


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _timeless(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same whenever it is packed."""
    member.mtime, member.mode = 0, 0o755 if member.isdir() else 0o644
    return _anonymous(member)


def sources_of(source: Path, root: Path) -> list[Path]:
    """What a person asks to be imported, run by run: of another archive, or one of its systems, its complete runs."""
    folder = source.resolve()
    if not folder.is_dir() or run_folders.has_manifest(folder) or root.is_relative_to(folder):
        return [source]
    beside = [run for run in run_folders.runs(folder.parent) if run.system == folder.name]
    return [run.archived for run in (*run_folders.runs(folder), *beside) if run.archived.is_dir()] or [source]


def take_in(source: Path, root: Path, system: str) -> tuple[RunFolder, bool]:
    """Import a run that `export` packed, or a run's folder; and whether it was not there before.

    It is verified before it is put in its place; nothing of it is executed, and no path of it leaves its folder.
    system: the name under which it is kept; empty: its own. Raises CampaignError.
    """
    try:
        with _incoming(root) as incoming:
            folder = _copied(source, incoming, root, system) if source.is_dir() else _unpacked(source, incoming)
            manifest = _manifest_of(folder, source, system)
            run = RunFolder(root, system or str(manifest["system"]), str(manifest["run"]))
            for fault in faults(RunFolder(incoming, "", folder.name)):
                raise CampaignError(f"{source}: {fault}; nothing was imported")
            if _is_there(run, manifest, source):
                return run, False
            _same_machine(run, manifest, source)
            run.archived.parent.mkdir(parents=True, exist_ok=True)
            try:
                folder.rename(run.archived)
            except OSError:
                if _is_there(run, manifest, source):  # somebody else has just put it there
                    return run, False
                raise
    except OSError as error:
        raise CampaignError(f"{error.filename or root}: {error.strerror or error}; nothing was imported") from error
    return run, True


@contextmanager
def _incoming(root: Path) -> Iterator[Path]:
    """A folder of one's own in the archive, for what is on its way in or out; what was left there long ago goes."""
    home = root / INCOMING
    own = _own_folder(home)
    for left in home.iterdir():
        with suppress(FileNotFoundError):  # another one has just ended
            if left.stat().st_mtime < time.time() - LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    try:
        yield own
    finally:
        shutil.rmtree(own, ignore_errors=True)
        with suppress(OSError):
            home.rmdir()  # unless another one is on its way


def _is_there(run: RunFolder, manifest: dict[str, Any], source: Path) -> bool:
    """Whether that run is in the archive already. Raises CampaignError where another one has its name."""
    if not (run.archived.is_dir() or run.partial.is_dir()):
        return False
    if run.archived.is_dir() and run_folders.read_manifest(run) == manifest:
        return True
    raise CampaignError(f"{source}: another run is archived as {run.path}; nothing was imported")


def _own_folder(home: Path) -> Path:
    while True:
        try:
            home.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(dir=home))
        except FileNotFoundError:  # another one has just taken its home away
            continue
        except FileExistsError:  # likewise, while this one looked at it
            if home.exists() and not home.is_dir():
                raise


def _copied(source: Path, target: Path, root: Path, system: str) -> Path:
    """A run's folder, copied. Raises CampaignError, before anything is copied, for what is none."""
    source = source.resolve()
    if root.is_relative_to(source):
        raise CampaignError(f"{source} is no run, but a folder that holds this archive; nothing was imported")
    _manifest_of(source, source, system)
    total = 0
    for path in source.rglob("*"):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise CampaignError(f"{path} is neither a file nor a folder, which no run has; nothing was imported")
        total += path.stat().st_size
        _check_size(total, source)
    return Path(shutil.copytree(source, target / source.name))


def _unpacked(source: Path, target: Path) -> Path:
    """The run's folder below the target. Raises CampaignError for what is no archive of one run."""
    try:
        with tarfile.open(source, "r:gz") as pack:
            for member in _checked(pack, source):
                path = target / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                stream = pack.extractfile(member)
                assert stream is not None  # a regular file
                with path.open("xb") as out:
                    shutil.copyfileobj(stream, out)
            while pack.fileobj and pack.fileobj.read(1 << 20):  # to its end, where the checksum of all of it is
                pass
    except (tarfile.TarError, EOFError, ValueError, zlib.error, gzip.BadGzipFile) as error:
        raise CampaignError(f"{source} is no file that `results export` wrote: {error}") from error
    roots = list(target.iterdir())
    if len(roots) != 1:
        raise CampaignError(f"{source} is no file that `results export` wrote: it has not one folder")
    return roots[0]


def _checked(pack: tarfile.TarFile, source: Path) -> Iterator[tarfile.TarInfo]:
    """The regular files of a pack. Raises CampaignError for anything that could be written elsewhere, or has no end."""
    total = 0
    for member in pack:
        path = PurePosixPath(member.name)
        whole = (member.isfile() or member.isdir()) and member.size >= 0
        if path.is_absolute() or ".." in path.parts or len(path.parts) > DEEPEST or not whole:
            raise CampaignError(f"{source}: '{clean(member.name)}' is nothing that a run has; nothing was imported")
        total += member.size
        _check_size(total, source)
        if member.isfile():
            yield member


def _check_size(total: int, source: Path) -> None:
    if total > LARGEST_BYTES:
        raise CampaignError(f"{source}: it is of more than {size(LARGEST_BYTES)}; nothing was imported")


def _manifest_of(folder: Path, source: Path, system: str) -> dict[str, Any]:
    """Raises CampaignError for a manifest that is none, or whose names could be no folders."""
    try:
        manifest = run_folders.read_manifest(RunFolder(folder.parent, "", folder.name))
    except CampaignError as error:  # which names a folder that is gone
        why = clean(str(error).replace(f"{folder}/", ""))
        raise CampaignError(f"{source}: {why}; nothing was imported") from error
    if manifest.get("schema") != MANIFEST_SCHEMA or manifest.get("status") != "complete":
        raise CampaignError(f"{source}: its {MANIFEST} is not that of a complete run; nothing was imported")
    run, name = str(manifest.get("run")), system or str(manifest.get("system"))
    if not RUN.fullmatch(run):
        raise CampaignError(f"{source}: {MANIFEST}: '{clean(run)}' is no run; nothing was imported")
    if not STEM.fullmatch(name) or name.startswith(".") or name in TAKEN:
        raise CampaignError(
            f"{source}: '{clean(name)}' is no name of a system (letters, digits, '_', '.', '-', but not "
            f"{', '.join(sorted(TAKEN))}): give another with --system; nothing was imported"
        )
    return manifest


def _same_machine(run: RunFolder, manifest: dict[str, Any], source: Path) -> None:
    """Raises CampaignError where the newest readable run of that system is of another machine (`consistency`)."""
    for other in reversed(list(run_folders.runs(run.root))):
        if other.system != run.system:
            continue
        try:
            known = run_folders.read_manifest(other)
        except CampaignError:
            continue
        here, there = ((one.get("host") or {}) for one in (known, manifest))
        if any(here.get(name) != there.get(name) for name in MACHINE):
            raise CampaignError(
                f"{source}: it is of system '{run.system}' on {clean(there.get('name'))} ({clean(there.get('cpu'))}), "
                f"here '{run.system}' is {clean(here.get('name'))} ({clean(here.get('cpu'))}): give it another name "
                "with --system"
            )
        return


def old_runs(root: Path, system: str, keep: int | None, days: float | None, *, partial: bool) -> list[RunFolder]:
    """The runs to throw away: all but the newest `keep` of each system, those older than so many days, or, with
    `partial`, of those that were never completed.

    Kept, whatever their age, are references, and runs whose sizes a run that stays took over; the examples that come
    with the campaign, unless their system is named.
    """
    in_use = references.runs_in_use(root)
    found: list[RunFolder] = []
    everything = list(run_folders.runs(root))
    examples = run_folders.EXAMPLE if root.resolve() == run_folders.RESULTS.resolve() else None
    known = [run for run in everything if (run.system == system if system else run.system != examples)]
    for name in dict.fromkeys(run.system for run in known):
        runs = [run for run in known if run.system == name and (run.path == run.partial) == partial]
        if keep is not None:
            runs = runs[: max(len(runs) - keep, 0)]
        if days is not None:
            limit = (datetime.now(timezone.utc) - timedelta(days=days)).strftime("%Y%m%dT%H%M%SZ")
            runs = [run for run in runs if run.run < limit]
        found += [run for run in runs if (run.system, run.run) not in in_use]
    while needed := {_sizes_of(run) for run in everything if run not in found} & {run.run for run in found}:
        found = [run for run in found if run.run not in needed]
    return found


def _sizes_of(run: RunFolder) -> str:
    """The name of the run whose sizes a run took over; empty without one."""
    try:
        options = run_folders.read_manifest(run).get("options") or {}
    except CampaignError:
        return ""
    return Path(str(options.get("sizes_of") or "")).name


def throw_away(runs: Sequence[RunFolder]) -> None:
    """Delete runs, with what was rendered from them: out of the archive first, so that nobody reads half of one.

    Raises CampaignError where one cannot be deleted, or may be measuring now.
    """
    growing = next((run for run in runs if run.path == run.partial and run_folders.grows(run)), None)
    if growing is not None:
        raise CampaignError(f"a campaign is measuring {growing.run}: wait until it has ended; nothing was deleted")
    for run in runs:
        try:
            with _incoming(run.root) as away:
                run.path.rename(away / run.run)
            run_folders.lock_of(run).unlink(missing_ok=True)  # of one that was killed
            for beside in (run.report.parent, run.session):
                shutil.rmtree(beside, ignore_errors=True)
        except OSError as error:
            raise CampaignError(f"{error.filename or run.path} cannot be deleted: {error.strerror}") from error
