"""The archive: run folders that grow under .partial, are renamed into place once, and are never written again.

    results/<system>/.partial/<run>/     a run that grows, or was interrupted
    results/<system>/<run>/              a run in which every case has a whole record
    results/<system>/reports/<run>/      what was rendered from it, which can be made again

A run folder holds manifest.json, records/, logs/, points.parquet and samples.parquet.
"""

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
from typing import Any, TextIO

from mpi_campaign import ROOT, STATE, files
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.cases import Case
from mpi_campaign.processes import locks

RESULTS = ROOT / "results"
EXAMPLE = "example"
"""The system of RESULTS whose runs come with the campaign."""
MANIFEST = "manifest.json"
RUN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
"""Names of runs."""
PUBLIC = "public"
"""Key of a manifest: of a public copy, what was replaced in it and left out of it (`public_copy`)."""
LAST = re.compile(r"last(?:~(\d{1,6}))?")

# What ReFrame writes about a session, and the archive keeps.
REPORT = "reframe-report.json"
JUNIT = "junit.xml"
SESSION_FILES = (REPORT, JUNIT)

# Files of a test in its stage folder.
RECORD = "record.jsonl"
SIZES = "sizes.json"
WIRE_REPORT = "wire.json"
CASE = "case.json"
STDOUT = "rfm_job.out"
STDERR = "rfm_job.err"

# Name in the stage folder -> suffix in the run folder's records/, after the case's stem.
RECORD_FILES: Mapping[str, str] = {RECORD: ".jsonl", SIZES: ".sizes.json", WIRE_REPORT: ".wire.json"}
LOG_FILES: Mapping[str, str] = {STDOUT: ".out", STDERR: ".err", "rfm_job.sh": ".sh"}


def resume_words(folder: "RunFolder") -> str:
    """The command that goes on with a run."""
    elsewhere = "" if folder.root == RESULTS else f" --output {shlex.quote(str(folder.root))}"
    return f"./campaign run --resume {folder.run}{elsewhere}"


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
    def archived(self) -> Path:
        return self.root / self.system / self.run

    @property
    def path(self) -> Path:
        return self.archived if self.archived.is_dir() else self.partial

    @property
    def session(self) -> Path:
        """Where ReFrame stages while the run grows: beside the clone's other state, since ReFrame takes no blanks and
        quotes in its paths, and an archive may lie anywhere."""
        return STATE / "sessions" / self.run

    @property
    def report(self) -> Path:
        return self.root / self.system / "reports" / self.run / "report.html"

    @property
    def records_folder(self) -> Path:
        return self.path / "records"


def start(root: Path, system: str) -> RunFolder:
    """A new run folder. Raises CampaignError where it cannot be made."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    folder = RunFolder(root, system, f"{stamp}-{secrets.token_hex(3)}")
    for place in (folder.session, folder.partial / "logs", folder.records_folder):
        try:
            place.mkdir(parents=True)
        except OSError as error:
            raise CampaignError(
                f"{place} cannot be made ({error.strerror}): give a folder that can be written with --output DIR"
                if place != folder.session
                else f"{place} cannot be made ({error.strerror}): this clone must be writable"
            ) from error
    return folder


def find(reference: str, root: Path) -> RunFolder:
    """The run that a person names: its folder, its name, `last`, or `last~N`, the N-th before it of the same system.

    Raises CampaignError with the runs there are.
    """
    path = Path(reference)
    if (path / MANIFEST).is_file():
        path = path.resolve()
        home = path.parent.parent if path.parent.name == ".partial" else path.parent
        return RunFolder(home.parent, home.name, path.name)
    known = list(runs(root))
    of_system = [one for one in known if one.system == known[-1].system]
    if (back := LAST.fullmatch(reference)) and int(back[1] or 0) < len(of_system):
        return of_system[-1 - int(back[1] or 0)]
    named = [one for one in known if reference in (one.run, f"{one.system}/{one.run}")]
    if len(named) == 1:
        return named[0]
    if named:
        where = " or ".join(str(one.path) for one in named)
        raise CampaignError(f"there are {len(named)} runs '{reference}': give the folder, {where}")
    names = ", ".join(one.run for one in known[-5:]) or "none yet"
    raise CampaignError(
        f"there is no run '{reference}' under {root}; give a run's folder, its name, SYSTEM/NAME, `last` or `last~1` "
        f"(newest: {names})"
    )


def readable(reference: str, root: Path) -> RunFolder:
    """`find`, and where that run was cut off, what its last case had measured is gathered first."""
    folder = find(reference, root)
    if folder.path == folder.partial:
        harvest(folder)
    return folder


def later_than(folder: RunFolder) -> str:
    """The name of a run of its system that says that it began later than this one, which begins now; or nothing."""
    names = [one.run for one in runs(folder.root) if one.system == folder.system and RUN.fullmatch(one.run)]
    return max((name for name in names if name > folder.run), default="")


@contextmanager
def growing(folder: RunFolder) -> Iterator[None]:
    """While a run grows, from whatever clone or machine: nobody else goes on with it, or throws it away.

    Raises CampaignError where somebody else has it.
    """
    path = lock_of(folder)
    with open_lock(path) as lock:
        if not _locked(lock, path):
            raise CampaignError(
                f"run '{folder.run}' grows already, in another campaign{locks.by(lock)}: wait until that has ended"
            )
        locks.note_holder(lock)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def grows(folder: RunFolder) -> bool:
    """Whether a campaign, of whatever clone, is measuring it."""
    path = lock_of(folder)
    if not path.exists():
        return False
    with open_lock(path) as lock:
        return not _locked(lock, path)


def lock_of(folder: RunFolder) -> Path:
    """The file that is locked while a run grows: beside it, since what is in it is archived."""
    return folder.archived.with_name(f".{folder.run}.lock")


def open_lock(path: Path) -> TextIO:
    """A file to be locked, for a whole group: NFS locks what is open for writing. Raises OSError."""
    lock = locks.open_lock(path)
    with suppress(PermissionError):  # of another member of the group, who has seen to it
        os.fchmod(lock.fileno(), 0o666)
    return lock


def _locked(lock: TextIO, path: Path) -> bool:
    """Whether it could be locked, and is still the file of that name."""
    try:
        if not locks.is_had(lock):
            return False
        return os.fstat(lock.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def check_outside(path: Path) -> None:
    """Nothing in the archive is ever overwritten, nor added to. Raises CampaignError for a path inside a run."""
    run = next((one for one in path.resolve().parents if RUN.fullmatch(one.name) and has_manifest(one)), None)
    if run is not None:
        raise CampaignError(f"{path} is in the run {run.name}, in which nothing is changed: give another file")


def runs(root: Path) -> Iterator[RunFolder]:
    """Every run under a results folder, oldest first."""
    found = [
        RunFolder(root, home.name, run.name)
        for home in _folders(root)
        for run in (*_folders(home), *_folders(home / ".partial"))
        if has_manifest(run)
    ]
    yield from sorted(dict.fromkeys(found), key=lambda one: (one.run, one.system))


def _folders(path: Path) -> list[Path]:
    try:
        there = list(path.iterdir())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return [one for one in there if not one.name.startswith(".") and _is_folder(one)]


def _is_folder(path: Path) -> bool:
    """Not where that cannot be seen, which hides nothing beside it."""
    try:
        return path.is_dir()
    except OSError:
        return False


def has_manifest(run: Path) -> bool:
    """Also where that cannot be seen: whoever reads the run says why."""
    try:
        return (run / MANIFEST).is_file()
    except OSError:
        return True


DIFFERS = "not what was archived: its checksum differs"
OWN_DIGEST = "sha256"  # key of a manifest; older runs have none
# What else may stand there is as well null, from a version that did not know it.
OBJECTS, LISTS = ("host", "campaign", "options", "checksums"), ("toolchains", "cases", "sessions")


def read_manifest(folder: RunFolder) -> dict[str, Any]:
    """The manifest, whose OBJECTS are objects and whose LISTS are lists of such where they are there.

    Raises CampaignError where it cannot be read.
    """
    path = folder.path / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(manifest, ensure_ascii=False).encode("utf-8")  # half a surrogate pair is no text
    except (OSError, ValueError, RecursionError) as error:
        raise CampaignError(f"{path} cannot be read: {error}") from error
    if not isinstance(manifest, dict):
        raise CampaignError(f"{path} is not a manifest: restore it, or name another run")
    wrong = next((name for name in OBJECTS if not isinstance(manifest.get(name) or {}, dict)), None)
    wrong = wrong or next((name for name in LISTS if not _is_list_of_objects(manifest.get(name) or [])), None)
    packages = [one.get("packages") or [] for one in manifest.get("toolchains") or []] if not wrong else []
    if wrong or not all(map(_is_list_of_objects, packages)):
        raise CampaignError(f"{path} is not what a run writes: '{wrong or 'packages'}' is of another type")
    return manifest


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def write_manifest(folder: RunFolder, manifest: Mapping[str, Any]) -> None:
    """Write it whole or not at all."""
    files.write_atomically(folder.path / MANIFEST, _laid_out(manifest))


def _laid_out(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"


def staged(folder: RunFolder, name: str) -> list[Path]:
    """The files of a name in the stage folders of a session, which may come and go meanwhile."""
    return sorted(Path(place, name) for place, _, names in os.walk(folder.session / "stage") if name in names)


def harvest(folder: RunFolder) -> dict[str, Case]:
    """Take records and logs out of the stage folders. Returns every case that got as far as a stage folder, by stem."""
    found: dict[str, Case] = {}
    for description in staged(folder, CASE):
        try:
            case = Case.from_dict(json.loads(description.read_text()))
        except (OSError, ValueError, TypeError, AttributeError):
            continue  # cut off while it was written: the case is missing
        found[case.stem] = case
        for names, target in ((RECORD_FILES, "records"), (LOG_FILES, "logs")):
            for name, suffix in names.items():
                source = description.parent / name
                kept = folder.partial / target / f"{case.stem}{suffix}"
                if source.exists() and not (name == RECORD and is_complete(kept)):
                    with suppress(FileNotFoundError):  # ReFrame has just emptied the folder for the next launch
                        shutil.copyfile(source, kept)
    return found


def keep_session(folder: RunFolder, number: int) -> None:
    """What ReFrame says of its session number so much, from 1, into the run: `junit.xml`, then `junit.2.xml`, ..."""
    for name in SESSION_FILES:
        stem, _, suffix = name.partition(".")
        if (folder.session / name).exists():
            kept = folder.partial / (name if number == 1 else f"{stem}.{number}.{suffix}")
            shutil.copyfile(folder.session / name, kept)


def is_complete(record: Path) -> bool:
    """Whether a file ends with a record's footer that says complete."""
    try:
        footer = json.loads(record.read_text(encoding="utf-8").rstrip().rpartition("\n")[2])
    except (OSError, ValueError):
        return False
    return isinstance(footer, dict) and footer.get("type") == "footer" and footer.get("complete") is True


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of what a manifest says, itself left out, however it is laid out."""
    told = json.loads(json.dumps({key: value for key, value in manifest.items() if key != OWN_DIGEST}))
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def differs(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest is not what was archived, by its own checksum, which older runs and growing ones lack."""
    return OWN_DIGEST in manifest and manifest[OWN_DIGEST] != manifest_digest(manifest)


def finish(folder: RunFolder, manifest: dict[str, Any]) -> None:
    """Put the run in its place, complete, with checksums of everything in it, the manifest included."""
    shutil.rmtree(folder.session, ignore_errors=True)
    seal(folder.partial, manifest)
    folder.partial.rename(folder.archived)


def seal(place: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest of the run that lies in a folder, with checksums of everything in it, the manifest included.

    Raises OSError.
    """
    manifest["checksums"] = {
        str(path.relative_to(place)): "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
    manifest[OWN_DIGEST] = manifest_digest(manifest)
    files.write_atomically(place / MANIFEST, _laid_out(manifest))
