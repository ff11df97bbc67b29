"""Work on the archive as a whole: list and verify its runs, export and import runs, delete old ones."""

import hashlib
import json
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from mpi_campaign.archive import packs, public_copy, references, run_folders
from mpi_campaign.archive.consistency import MACHINE
from mpi_campaign.archive.provenance import STEM
from mpi_campaign.archive.run_folders import MANIFEST, RUN, RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.systems.known_systems import TAKEN
from postprocess.drawing.columns import aligned
from postprocess.drawing.text import clean, size
from postprocess.families import registry as families
from postprocess.records.fields import RecordError
from postprocess.records.run import MANIFEST_SCHEMA, MANIFEST_VERSION, Run
from postprocess.records.storage import record_files, run_files

INCOMING = ".incoming"
LEFT_SECONDS = 86400.0
"""Age of temporary folders, in seconds, after which they are leftovers of a killed process."""


STATUSES = ("complete", "incomplete")
"""What the manifest of an exported run says of it."""


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
    """Every run of an archive, oldest first. A broken run hides no other run."""
    return [_entry(run) for run in run_folders.runs(root)]


def _entry(run: RunFolder) -> Entry:
    size_bytes = 0
    try:
        size_bytes = sum(path.stat().st_size for path in run_files(run.path).values())
        manifest = run_folders.read_manifest(run)
        cases = [str(case["result"]) for case in manifest["cases"]]
        return Entry(
            run.system,
            run.run,
            str(manifest["suite"]),
            str(manifest["status"]),
            str(manifest["host"]["name"]),
            tuple(str(toolchain["toolchain"]) for toolchain in manifest["toolchains"]),
            cases.count("pass"),
            cases.count("skip"),
            len(cases),
            size_bytes,
        )
    except (CampaignError, OSError, KeyError, TypeError) as error:
        lacking = f"it lacks {error}" if isinstance(error, KeyError) else "something in it is of another type"
        is_ours = isinstance(error, (CampaignError, OSError))
        what = str(error) if is_ours else f"{MANIFEST} is not what a run writes: {lacking}"
        return Entry(run.system, run.run, "", "", "", (), 0, 0, 0, size_bytes, what)


def list_text(listed: Sequence[Entry]) -> str:
    """What `results list` prints."""
    if not listed:
        return "no runs yet: ./campaign run makes one"
    heads = ["system", "run", "suite", "status", "host", "toolchains", "passed", "skipped", "size"]
    lines = [
        [entry.system, entry.run, entry.suite, entry.status or "unreadable", entry.host, ", ".join(entry.toolchains),
         f"{entry.passed}/{entry.cases - entry.skipped}", str(entry.skipped), size(entry.bytes)]
        for entry in listed
    ]  # fmt: skip
    troubles = [f"{entry.system}/{entry.run}: {entry.trouble}" for entry in listed if entry.trouble]
    return "\n".join([aligned(heads, lines, right={6, 7, 8}), *troubles])


def list_json(listed: Sequence[Entry]) -> str:
    """What `results list --json` prints."""
    return json.dumps([asdict(entry) for entry in listed], indent=1, ensure_ascii=False)


def faults(
    run: RunFolder, tell: Callable[[int, int], None] = lambda _done, _total: None, loaded: Run | None = None
) -> Iterator[str]:
    """The faults of an archived run, a line each: files that changed, are missing or were added, and records that
    violate their schema.

    tell: is called with the numbers of records read and of all records.  loaded: the run with its records, where they
    were loaded already: they are not loaded again.
    """
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
    files_in_run = run_files(run.path)
    files_in_run.pop(MANIFEST, None)
    for name in sorted(set(checksums) | set(files_in_run) if checksums else []):
        if name not in files_in_run:
            yield f"{clean(name)}: missing"
        elif name not in checksums:
            yield f"{clean(name)}: not of this run: it has no checksum"
        else:
            try:
                if checksums[name] != "sha256:" + _digest(files_in_run[name]):
                    yield f"{clean(name)}: not the file that was archived: its checksum differs"
            except OSError as error:
                yield f"{clean(name)}: cannot be read: {error.strerror}"
    paths = record_files(run.records_folder)
    records = {} if loaded is None else {record.path: record for record in loaded.records}
    for number, path in enumerate(paths):
        tell(number, len(paths))
        try:
            families.validate(path, records.get(path))
        except RecordError as error:
            yield str(error)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        digest = hashlib.sha256()
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def export(run: RunFolder, target: Path, *, public: bool = False, incomplete: bool = False) -> Path:
    """Write a run into a single file, which `results import` takes.

    public: without words that tell whose run it is.  incomplete: also what there is of a run that is not complete, and
    stays marked as that.  Raises CampaignError where the file cannot be written, the run is not complete, or it cannot
    be made public.
    """
    run_folders.check_outside(target)
    if not run.is_complete and not incomplete:
        how = "--incomplete exports what it has"
        raise CampaignError(f"run '{run.run}' is not complete: go on with {run_folders.resume_words(run)}; {how}")
    if target.exists():
        raise CampaignError(f"{target} is there already: give another file with -o")
    for fault in faults(run) if run.is_complete else ():
        raise CampaignError(f"run {run.run}: {fault}; nothing was exported, nobody could import it")
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    copy = target.with_name(f".{run.run}.{os.getpid()}")
    try:
        if public:
            public_copy.write(run, copy)
        elif not run.is_complete:
            shutil.copytree(run.path, copy)
            run_folders.seal(copy, run_folders.read_manifest(run))
        with tarfile.open(fresh, "w:xz", format=tarfile.PAX_FORMAT, dereference=True) as pack:
            for name, path in run_files(copy if copy.is_dir() else run.archived).items():
                pack.add(path, arcname=f"{run.run}/{name}", filter=_timeless if public else _anonymous)
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
    """An entry of a pack without times and owners: a run always packs to the same file."""
    member.mtime, member.mode = 0, 0o644
    return _anonymous(member)


def sources_of(source: Path, root: Path) -> list[Path]:
    """The packs and run folders to import. A folder of an archive, or of a system, stands for its complete runs."""
    folder = source.resolve()
    if not folder.is_dir() or run_folders.has_manifest(folder) or root.is_relative_to(folder):
        return [source]
    beside = [run for run in run_folders.runs(folder.parent) if run.system == folder.name]
    return [run.stored for run in (*run_folders.runs(folder), *beside) if run.is_complete] or [source]


def take_in(source: Path, root: Path, system: str) -> tuple[RunFolder, bool]:
    """Import a pack of `export`, or a run's folder. Returns the run, and whether it is new in this archive.

    The run is verified before it is moved into its place. Nothing in it is executed, and no path leaves its folder.
    system: the name of the system under which the archive keeps it; empty means the run's own. Raises CampaignError.
    """
    try:
        with _incoming(root) as incoming:
            folder = _taken(source, incoming, root, system)
            manifest = _manifest_of(folder, source, system)
            run = RunFolder(root, system or str(manifest["system"]), str(manifest["run"]))
            for fault in faults(RunFolder(incoming, "", folder.name)):
                raise CampaignError(f"{source}: {fault}; nothing was imported")
            if _is_archived(run, manifest, source):
                return run, False
            if not system:
                _same_machine(run, manifest, source)
            run.archived.parent.mkdir(parents=True, exist_ok=True)
            try:
                run_folders.put(folder, run.archived)
            except OSError:
                if _is_archived(run, manifest, source):  # another process has just imported the run
                    return run, False
                raise
    except OSError as error:
        raise CampaignError(f"{error.filename or root}: {error.strerror or error}; nothing was imported") from error
    return run, True


@contextmanager
def _incoming(root: Path) -> Iterator[Path]:
    """A new temporary folder in the archive, for a run that is imported or deleted. Old leftovers are removed."""
    home = root / INCOMING
    folder = _new_folder(home)
    for left in home.iterdir():
        with suppress(FileNotFoundError):  # another process has just removed it
            if left.stat().st_mtime < time.time() - LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            home.rmdir()  # fails where another process uses the folder


def _is_archived(run: RunFolder, manifest: dict[str, Any], source: Path) -> bool:
    """Whether the archive has the run already. Raises CampaignError where another run has its name."""
    if not (run.archived.is_dir() or run.partial.is_dir()):
        return False
    if run.archived.is_dir() and run_folders.read_manifest(run) == manifest:
        return True
    raise CampaignError(f"{source}: another run is archived as {run.path}; nothing was imported")


def _new_folder(home: Path) -> Path:
    while True:
        try:
            home.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(dir=home))
        except FileNotFoundError:  # another process has just removed the home folder
            continue
        except FileExistsError:  # another process has just removed it while this one looked
            if home.exists() and not home.is_dir():
                raise


def _taken(source: Path, target: Path, root: Path, system: str) -> Path:
    """A run in the target folder, unpacked or copied. Raises CampaignError."""
    if source.is_dir():
        return _copied(source, target, root, system)
    try:
        return packs.unpack(source, target)
    except CampaignError as error:
        raise CampaignError(f"{error}; nothing was imported") from error


def _copied(source: Path, target: Path, root: Path, system: str) -> Path:
    """Copy a run's folder. Raises CampaignError for a folder that is no run, before anything is copied."""
    source = source.resolve()
    if root.is_relative_to(source):
        raise CampaignError(f"{source} is no run, but a folder that holds this archive; nothing was imported")
    _manifest_of(source, source, system)
    of_run = run_files(source)
    packs.check_size(sum(path.stat().st_size for path in of_run.values()), source)
    for name, path in of_run.items():
        copy = target / source.name / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    return target / source.name


def _manifest_of(folder: Path, source: Path, system: str) -> dict[str, Any]:
    """Raises CampaignError for a broken manifest, or names in it that cannot be names of folders."""
    try:
        manifest = run_folders.read_manifest(RunFolder(folder.parent, "", folder.name))
    except CampaignError as error:  # its message names the temporary folder
        why = clean(str(error).replace(f"{folder}/", ""))
        raise CampaignError(f"{source}: {why}; nothing was imported") from error
    if manifest.get("schema") != MANIFEST_SCHEMA or manifest.get("status") not in STATUSES:
        raise CampaignError(f"{source}: its {MANIFEST} is not that of an exported run; nothing was imported")
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
    """Raises CampaignError where the system is another machine here (`consistency`).

    It is the same one if some run here is of the machine of the given run, or of a run beside that in its own archive:
    a machine may have been replaced while its system kept the name.
    """
    its, here = manifest.get("host") or {}, []
    for host in _hosts(run.root, run.system):
        if _machine(host) == _machine(its):
            return
        here.append(host)
    beside = _hosts(source.absolute().parent.parent, source.absolute().parent.name) if source.is_dir() else iter(())
    if here and not any(_machine(run) in map(_machine, here) for run in beside):
        raise CampaignError(
            f"{source}: it is of system '{run.system}' on {clean(its.get('name'))} ({clean(its.get('cpu'))}), here "
            f"'{run.system}' is {clean(here[0].get('name'))} ({clean(here[0].get('cpu'))}): give it another name "
            f"with --system, or --system {run.system} if its machine was replaced"
        )


def _hosts(root: Path, system: str) -> Iterator[dict[str, Any]]:
    """The hosts of a system's runs whose manifests can be read, newest first."""
    for run in reversed(list(run_folders.runs(root))):
        if run.system == system and (manifest := run_folders.manifest_or_none(run)):
            yield manifest.get("host") or {}


def _machine(host: dict[str, Any]) -> list[Any]:
    return [host.get(name) for name in MACHINE]


def old_runs(root: Path, system: str, keep: int | None, days: float | None, *, partial: bool) -> list[RunFolder]:
    """The runs to delete: all but the newest `keep` of each system, and of these only runs older than `days`.

    partial: choose among runs that were never completed, else among complete runs.
    Runs from which references were made stay, and so do runs whose sizes a run that stays took over. The examples that
    come with the campaign stay unless their system is named.
    """
    in_use = references.runs_in_use(root)
    to_delete: list[RunFolder] = []
    everything = list(run_folders.runs(root))
    examples = run_folders.EXAMPLE if root.resolve() == run_folders.RESULTS.resolve() else None
    candidates = [run for run in everything if (run.system == system if system else run.system != examples)]
    for name in dict.fromkeys(run.system for run in candidates):
        runs = [run for run in candidates if run.system == name and run.is_complete != partial]
        if keep is not None:
            runs = runs[: max(len(runs) - keep, 0)]
        if days is not None:
            limit = (datetime.now(timezone.utc) - timedelta(days=days)).strftime("%Y%m%dT%H%M%SZ")
            runs = [run for run in runs if run.run < limit]
        to_delete += [run for run in runs if (run.system, run.run) not in in_use]
    while needed := {_sizes_of(run) for run in everything if run not in to_delete} & {run.run for run in to_delete}:
        to_delete = [run for run in to_delete if run.run not in needed]
    return to_delete


def _sizes_of(run: RunFolder) -> str:
    """The name of the run whose sizes a run took over; empty where it took over none."""
    options = run_folders.manifest_or_none(run).get("options") or {}
    return Path(str(options.get("sizes_of") or "")).name.removesuffix(packs.ENDING)


def throw_away(runs: Sequence[RunFolder]) -> None:
    """Delete runs and what was rendered from them. A run leaves the archive first, so that nobody reads half of it.
    Raises CampaignError where a run cannot be deleted, or may be measuring now."""
    growing = next((run for run in runs if run_folders.grows(run) and not run.is_complete), None)
    if growing is not None:
        raise CampaignError(f"a campaign is measuring {growing.run}: wait until it has ended; nothing was deleted")
    for run in runs:
        try:
            with _incoming(run.stored.parent) as away:  # on its own disk; of a link, only the link is deleted
                run.stored.rename(away / run.stored.name)
            run_folders.lock_of(run).unlink(missing_ok=True)  # a campaign that was killed left it
            for beside in (run.report.parent, run.session):
                shutil.rmtree(beside, ignore_errors=True)
        except OSError as error:
            raise CampaignError(f"{error.filename or run.path} cannot be deleted: {error.strerror}") from error
