"""The archive: run folders that grow under .partial, are renamed into place once, and are never written again.

    results/<system>/.partial/<run>/     a run that grows, or was interrupted
    results/<system>/<run>/              a run in which every case has a whole record
    results/<system>/<run>.tar.xz        such a run, packed by `results export`; it is read like its folder
    results/<system>/reports/<run>/      what was rendered from it, which can be made again

A run folder holds manifest.json, records/, logs/, points.parquet and samples.parquet.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from mpi_campaign import ROOT, STATE, files
from mpi_campaign.archive import packs
from mpi_campaign.errors import CampaignError, explained
from mpi_campaign.processes import locks
from postprocess.records.storage import run_files

if TYPE_CHECKING:
    from mpi_campaign.planning.cases import Case

RESULTS = ROOT / "results"
EXAMPLE = "example"
"""The system in RESULTS whose runs come with the campaign."""
MANIFEST = "manifest.json"
RUN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
"""Names of runs."""
PACKED = re.compile(RUN.pattern + re.escape(packs.ENDING))
PUBLIC = "public"
"""Key of a public copy's manifest: what was replaced in the copy and left out of it (`public_copy`)."""
LAST = re.compile(r"last(?:~(\d{1,6}))?")

# Files that ReFrame writes about a session and that the archive keeps.
REPORT = "reframe-report.json"
AGAIN_OF = "again_of"
"""In a manifest: the run of which this one measures some cases again."""
JUDGED = "judged"
"""In a manifest: what is asked of a run that ends as soon as it can tell its two libraries apart (`judging.Asked`)."""
MARKS = (AGAIN_OF, JUDGED)
"""Keys that only manifests of such runs have."""
JUNIT = "junit.xml"
SESSION_FILES = (REPORT, JUNIT)

# Files of a test in its stage folder.
RECORD = "record.jsonl"
SIZES = "sizes.txt"
WIRE_REPORT = "wire.json"
CASE = "case.json"
STDOUT = "rfm_job.out"
STDERR = "rfm_job.err"
REPRODUCER = "reproducer.c"
"""A program that shows a fault of an MPI library; there is one where a benchmark has found such a fault."""

# Name in the stage folder -> suffix in the run folder's records/, after the case's stem.
RECORD_FILES: Mapping[str, str] = {RECORD: ".jsonl", SIZES: ".sizes.txt", WIRE_REPORT: ".wire.json"}
LOG_FILES: Mapping[str, str] = {
    STDOUT: ".out", STDERR: ".err", "rfm_job.sh": ".sh", REPRODUCER: ".reproducer.c",
}  # fmt: skip


PUBLIC_COPIES = STATE / "public"
"""The public copies of runs, which a site for everybody is made from."""


def resume_words(folder: "RunFolder") -> str:
    """The command that goes on with a run."""
    return f"./campaign run --resume {folder.run}{elsewhere_words(folder.root)}"


def elsewhere_words(root: Path) -> str:
    """The option of a command that names the archive; empty of the usual one, and of public copies, which have none."""
    return "" if root == RESULTS or root.is_relative_to(PUBLIC_COPIES) else f" --output {shlex.quote(str(root))}"


def now_utc() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class RunFolder:
    """A run on its way or archived: `root` is the folder of all systems."""

    root: Path
    system: str
    run: str

    @property
    def partial(self) -> Path:
        return self.root / self.system / ".partial" / self.run

    @property
    def pack(self) -> Path:
        """The file of the run where it is packed."""
        return self.root / self.system / f"{self.run}{packs.ENDING}"

    @property
    def is_complete(self) -> bool:
        """Whether the archive has the complete run, as a folder, which may be a link to nowhere, or packed."""
        folder = self.root / self.system / self.run
        return self._is_packed or folder.is_dir() or folder.is_symlink()

    @property
    def stored(self) -> Path:
        """The folder or the file that the archive has of the run."""
        return self.pack if self._is_packed else self.path

    @property
    def archived(self) -> Path:
        """The folder of the complete run; that of a packed one lies elsewhere. Raises CampaignError."""
        return packs.folder_of(self.pack) if self._is_packed else self.root / self.system / self.run

    @property
    def _is_packed(self) -> bool:
        return not (self.root / self.system / self.run).is_dir() and self.pack.is_file()

    @property
    def path(self) -> Path:
        return self.archived if self.is_complete else self.partial

    @property
    def session(self) -> Path:
        """The folder in which ReFrame stages while the run grows. It is in the clone, because ReFrame takes no blanks
        and quotes in its paths, and an archive may lie anywhere."""
        return STATE / "sessions" / self.run

    @property
    def jobs(self) -> Path:
        """The folder with a folder for each job of a batch system, while the run grows."""
        return self.session / "jobs"

    @property
    def report(self) -> Path:
        return self.root / self.system / "reports" / self.run / "report.html"

    @property
    def records_folder(self) -> Path:
        return self.path / "records"


def start(root: Path, system: str) -> RunFolder:
    """A new run folder. Raises CampaignError where it cannot be made."""
    folder = RunFolder(root, system, files.name_by_time())
    for place in (folder.session, folder.partial / "logs", folder.records_folder):
        try:
            place.mkdir(parents=True)
        except OSError as error:
            raise CampaignError(
                f"{place} cannot be made ({explained(error)}): give a folder that can be written with --output DIR"
                if place != folder.session
                else f"{place} cannot be made ({explained(error)}): this clone must be writable"
            ) from error
    return folder


def find(reference: str, root: Path, system: str = "") -> RunFolder:
    """The run that a person names by folder, name, `last`, or `last~N`, which is the N-th before `last` in its system.

    system: whose newest run `last` is; without it, and without one in SYSTEM/last, that of the newest run of all.
    Raises CampaignError, which lists the latest runs.
    """
    all_runs = list(runs(root))
    path = Path(reference)
    if (path / MANIFEST).is_file():
        path = path.resolve()
        for run in all_runs:
            if run.stored.resolve() == path:  # it may be a link: the run is in this archive nevertheless
                return run
        home = path.parent.parent if path.parent.name == ".partial" else path.parent
        return RunFolder(home.parent, home.name, path.name)
    matching = [run for run in all_runs if reference in (run.run, f"{run.system}/{run.run}")]
    packed = next(filter(_is_pack, (path, Path(f"{path}{packs.ENDING}"))), None)
    if packed and not matching:
        return _packed_run(packed.resolve())
    named, slash, word = reference.rpartition("/")
    if back := LAST.fullmatch(word):
        system = named if slash else system
        if system and system not in (systems := {run.system for run in all_runs}):
            raise CampaignError(
                f"no run under {root} is of a system '{system}'; there are: {', '.join(sorted(systems))}"
            )
        of_system = [run for run in all_runs if run.system == (system or all_runs[-1].system)]
        if int(back[1] or 0) < len(of_system):
            return of_system[-1 - int(back[1] or 0)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        where = " or ".join(str(run.path) for run in matching)
        raise CampaignError(f"there are {len(matching)} runs '{reference}': give the folder, {where}")
    names = ", ".join(f"{run.system}/{run.run}" for run in all_runs[-5:]) or "none yet"
    raise CampaignError(
        f"there is no run '{reference}'{f' of {system}' if system else ''} under {root}; give a run's folder, its "
        f"name, SYSTEM/NAME, `last`, `last~1` or SYSTEM/last (newest: {names})"
    )


def ended(root: Path) -> list[RunFolder]:
    """Every run of which no more will come unless somebody goes on with it: all but those that grow, oldest first."""
    return [run for run in runs(root) if run.is_complete or not grows(run)]


def readable(reference: str, root: Path) -> RunFolder:
    """The run that `find` returns. If it was cut off, the results of its last case are gathered first."""
    folder = find(reference, root)
    if folder.path == folder.partial:
        harvest(folder)
    return folder


def leave_nothing(folder: RunFolder) -> None:
    """Delete the folders of a run in which nothing could be measured."""
    for gone in (folder.partial, folder.session):
        shutil.rmtree(gone, ignore_errors=True)


def later_than(folder: RunFolder) -> str:
    """The name of a run of the same system whose time is later than that of this run, which begins now; else empty."""
    names = [run.run for run in runs(folder.root) if run.system == folder.system and RUN.fullmatch(run.run)]
    return max((name for name in names if name > folder.run), default="")


@contextmanager
def growing(folder: RunFolder) -> Iterator[None]:
    """Lock a run while it grows: nobody else, on any clone or machine, can continue or delete it. Raises CampaignError
    where somebody else has the lock."""
    path = lock_of(folder)
    with open_lock(path) as lock:
        if not _locked(lock, path):
            holder = locks.holder_in_parentheses(lock)
            raise CampaignError(
                f"run '{folder.run}' grows already, in another campaign{holder}: wait until that has ended"
            )
        locks.note_holder(lock)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def grows(folder: RunFolder) -> bool:
    """Whether a campaign of any clone is measuring the run."""
    path = lock_of(folder)
    try:
        if not path.exists():
            return False
        with open_lock(path) as lock:
            return not _locked(lock, path)
    except OSError:  # read-only: nobody measures into it from here, and nobody can say who does from elsewhere
        return False


def lock_of(folder: RunFolder) -> Path:
    """The file that is locked while a run grows. It lies beside the run, because the run's files are archived."""
    return folder.root / folder.system / f".{folder.run}.lock"


def open_lock(path: Path) -> TextIO:
    """A file to lock, which a whole group may write: NFS locks files that are open for writing. Raises OSError."""
    lock = locks.open_lock(path)
    with suppress(PermissionError):  # another member of the group owns the file and has set its mode
        os.fchmod(lock.fileno(), 0o666)
    return lock


def _locked(lock: TextIO, path: Path) -> bool:
    """Whether the file could be locked and still has its name."""
    try:
        if not locks.take(lock):
            return False
        return os.fstat(lock.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def check_outside(path: Path) -> None:
    """Raises CampaignError for a path inside a run: nothing in the archive is overwritten or added to."""
    parents = (*path.absolute().parents, *path.resolve().parents)  # a run, or a folder in it, may be a link
    run = next((folder for folder in parents if has_manifest(folder) and (folder / "records").is_dir()), None)
    run = run or (path if _is_pack(path) else None)
    if run is not None:
        raise CampaignError(f"{path} is in the run {run.name}, in which nothing is changed: give another file")


def runs(root: Path) -> Iterator[RunFolder]:
    """Every run under a results folder, oldest first. A run's folder may be a link elsewhere; where it leads nowhere,
    its reader says so. A link to a run beside it is no other run."""
    run_list = [
        RunFolder(root, home.name, run.name)
        for home in _folders(root)
        for run in (*_folders(home), *_folders(home / ".partial"))
        if (has_manifest(run) or (run.parent == home and RUN.fullmatch(run.name) and (run / "records").is_dir()))
        and not (run.is_symlink() and run.resolve().parent == home.resolve())
    ]
    run_list += [
        _packed_run(path) for home in _folders(root) for path in home.glob(f"*{packs.ENDING}") if _is_pack(path)
    ]
    yield from sorted(dict.fromkeys(run_list), key=lambda run: (run.run, run.system))


def _is_pack(path: Path) -> bool:
    """Whether a path is the file of a packed run; false where permissions hide that."""
    try:
        return PACKED.fullmatch(path.name) is not None and path.is_file()
    except OSError:
        return False


def _packed_run(path: Path) -> RunFolder:
    return RunFolder(path.parent.parent, path.parent.name, path.name.removesuffix(packs.ENDING))


def _folders(path: Path) -> list[Path]:
    try:
        entries = list(path.iterdir())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return [folder for folder in entries if not folder.name.startswith(".") and _is_folder(folder)]


def _is_folder(path: Path) -> bool:
    """Whether a path is a folder, or a run that is a link; false where permissions hide that."""
    try:
        return path.is_dir() or (path.is_symlink() and RUN.fullmatch(path.name) is not None)
    except OSError:
        return False


def has_manifest(run: Path) -> bool:
    """Whether a folder has a manifest; true where permissions or a link to nowhere hide that, so that the reader of the
    run says why."""
    try:
        return (run / MANIFEST).is_file() or (run.is_symlink() and not run.exists())
    except OSError:
        return True


DIFFERS = "not what was archived: its checksum differs"
OWN_DIGEST = "sha256"  # key of a manifest; older runs have none
# Values of other keys may be null, in manifests of versions without these keys.
OBJECTS, LISTS = ("host", "campaign", "options", "checksums"), ("toolchains", "cases", "sessions")


def read_manifest(folder: RunFolder) -> dict[str, Any]:
    """The manifest. Its OBJECTS are objects and its LISTS are lists of objects, where it has them. Raises CampaignError
    where it cannot be read."""
    path = folder.path / MANIFEST
    if folder.path.is_symlink() and not folder.path.exists():
        raise CampaignError(f"{folder.path} is a link to {folder.path.readlink()}, which is not there")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(manifest, ensure_ascii=False).encode("utf-8")  # refuses half a surrogate pair
    except (OSError, ValueError, RecursionError) as error:
        raise CampaignError(f"{path} cannot be read ({error}): {_another(folder)}") from error
    if not isinstance(manifest, dict):
        raise CampaignError(f"{path} is not a manifest: {_another(folder)}")
    wrong = next((name for name in OBJECTS if not isinstance(manifest.get(name) or {}, dict)), None)
    wrong = wrong or next((name for name in LISTS if not _is_list_of_objects(manifest.get(name) or [])), None)
    packages = [toolchain.get("packages") or [] for toolchain in manifest.get("toolchains") or []] if not wrong else []
    if wrong or not all(map(_is_list_of_objects, packages)):
        raise CampaignError(f"{path} is not what a run writes: '{wrong or 'packages'}' is of another type")
    return manifest


def manifest_or_none(folder: RunFolder) -> dict[str, Any]:
    """The manifest; empty where it cannot be read."""
    try:
        return read_manifest(folder)
    except CampaignError:
        return {}


def _another(folder: RunFolder) -> str:
    """What to do about a manifest that cannot be used. A run that is only being imported is in no system yet."""
    return (
        f"restore it, name another run, or remove {folder.path}" if folder.system else "restore it, or name another run"
    )


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(element, dict) for element in value)


def write_manifest(folder: RunFolder, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, all or nothing."""
    files.write_atomically(folder.path / MANIFEST, _laid_out(manifest))


def _laid_out(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"


def staged(folder: RunFolder, name: str) -> list[Path]:
    """The files of a name in the stage folders of a session or its jobs. They may appear and disappear meanwhile."""
    stages = (folder.session / "stage", *folder.jobs.glob("*/stage"))
    return sorted(Path(place, name) for stage in stages for place, _, names in os.walk(stage) if name in names)


def staged_cases(folder: RunFolder) -> Iterator[tuple[Path, "Case"]]:
    """The stage folder of each case that has one, and the case."""
    from mpi_campaign.planning.cases import Case  # noqa: PLC0415 - of the axes of every benchmark

    for description in staged(folder, CASE):
        with suppress(OSError, ValueError, TypeError, AttributeError):  # the file was cut off: the case is missing
            yield description.parent, Case.from_dict(json.loads(description.read_text()))


def harvest(folder: RunFolder) -> dict[str, "Case"]:
    """Copy records and logs out of the stage folders. Returns every case that has a stage folder, by stem."""
    cases: dict[str, Case] = {}
    for place, case in staged_cases(folder):
        cases[case.stem] = case
        for names, target in ((RECORD_FILES, "records"), (LOG_FILES, "logs")):
            for name, suffix in names.items():
                source = place / name
                copy = folder.partial / target / f"{case.stem}{suffix}"
                if not _is_copied(source, copy) and not (name == RECORD and is_complete(copy)):
                    with suppress(FileNotFoundError):  # ReFrame has just emptied the folder for the next launch
                        shutil.copyfile(source, copy)
    return cases


def _is_copied(source: Path, copy: Path) -> bool:
    """Whether a file was copied since it was written."""
    try:
        new, old = source.stat(), copy.stat()
    except FileNotFoundError:
        return False
    return old.st_size == new.st_size and old.st_mtime_ns >= new.st_mtime_ns


def keep_session(folder: RunFolder, number: int) -> None:
    """Copy ReFrame's reports on a session into the run. number: from 1; `junit.xml`, then `junit.2.xml`, ..."""
    for name in SESSION_FILES:
        stem, _, suffix = name.partition(".")
        if (folder.session / name).exists():
            copy = folder.partial / (name if number == 1 else f"{stem}.{number}.{suffix}")
            shutil.copyfile(folder.session / name, copy)


def is_complete(record: Path) -> bool:
    """Whether a file ends with the footer of a complete record."""
    try:
        footer = json.loads(record.read_text(encoding="utf-8").rstrip().rpartition("\n")[2])
    except (OSError, ValueError):
        return False
    return isinstance(footer, dict) and footer.get("type") == "footer" and footer.get("complete") is True


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of a manifest's content, whatever its layout, without the digest itself."""
    content = json.loads(json.dumps({key: value for key, value in manifest.items() if key != OWN_DIGEST}))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def differs(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest differs from what was archived, by its own checksum. Old and growing runs have none."""
    return OWN_DIGEST in manifest and manifest[OWN_DIGEST] != manifest_digest(manifest)


def finish(folder: RunFolder, manifest: dict[str, Any]) -> None:
    """Move a complete run into its place, with checksums of everything in it, the manifest included."""
    shutil.rmtree(folder.session, ignore_errors=True)
    seal(folder.partial, manifest)
    put(folder.partial, folder.archived)


def put(run: Path, place: Path) -> None:
    """Move a run's folder into its place, all or nothing, also where that is on another disk. Raises OSError."""
    if run.is_symlink():  # the words of a link may be true in its own folder only
        place.symlink_to(run.resolve())
        run.unlink()
        return
    try:
        run.rename(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        fresh = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        try:
            shutil.copytree(run, fresh)
            fresh.rename(place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(run)


def seal(place: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest of the run in a folder, with checksums of everything in it, the manifest included. Raises
    OSError."""
    manifest["checksums"] = {
        name: "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in run_files(place).items()
        if name != MANIFEST
    }
    manifest[OWN_DIGEST] = manifest_digest(manifest)
    files.write_atomically(place / MANIFEST, _laid_out(manifest))
