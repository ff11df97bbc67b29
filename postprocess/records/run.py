"""A run folder as dataclasses: its manifest, and its records of all families of benchmarks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from postprocess.drawing.text import clean, short
from postprocess.records.fields import Json, RecordError, fail, json_object
from postprocess.records.reading import load_record
from postprocess.records.record import Record
from postprocess.records.storage import record_files

MANIFEST_SCHEMA = "mpi-campaign.manifest"
MANIFEST_VERSION = 1
PERFORMANCE = "performance"
"""ReFrame's name of the phase in which numbers are compared with references."""
RESULTS = ("pass", "skip", "fail", "missing")
"""The results that a case of a manifest can have."""
_REPEAT = re.compile(r" \(repeat \d+\)|, repeat \d+")

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """A run folder: its manifest, which is empty where it cannot be read, the records of all families in the order of
    their file names, and a line about everything that cannot be read.

    ``made`` has the results of `once`, by name.
    """

    path: Path
    manifest: Json
    records: tuple[Record, ...]
    problems: tuple[str, ...]
    made: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def of(self, family: str) -> tuple[Record, ...]:
        """The records of one family."""
        return tuple(record for record in self.records if record.family == family)

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, which is called at the first call with this name only."""
        if name not in self.made:
            self.made[name] = make()
        result: T = self.made[name]
        return result


@dataclass(frozen=True)
class Views(Generic[T]):
    """A family's views of its records in a run, in the order of their file names, and a line about each bad record."""

    records: tuple[T, ...]
    problems: tuple[str, ...]


def views_of(run: Run, family: str, view: Callable[[Record], T]) -> Views[T]:
    """The views of a run's records of one family, made once per run.  view: raises RecordError for a bad record."""
    return run.once((views_of, family), lambda: _views(run.of(family), view))


def _views(records: tuple[Record, ...], view: Callable[[Record], T]) -> Views[T]:
    viewed: list[T] = []
    problems: list[str] = []
    for record in records:
        try:
            viewed.append(view(record))
        except RecordError as error:
            problems.append(str(error))
    return Views(tuple(viewed), tuple(problems))


def load_run(path: Path | str) -> Run:
    """Read a run folder. `Run.problems` has a line about each record that cannot be read; the others are read.

    Raises RecordError where there is no such folder, or its manifest is of a newer version.
    """
    path = Path(path)
    folder = path / "records"
    if path.is_symlink() and not path.exists():
        fail(clean(str(path)), f"a link to {path.readlink()}, which is not there")
    if not folder.is_dir() and not (path / "manifest.json").is_file():
        fail(clean(str(path)), "not a run folder: neither manifest.json nor records/ is in it")
    manifest, problems = _manifest(path / "manifest.json")
    manifest, wrong = _checked_cases(path, manifest)
    problems += wrong
    records: list[Record] = []
    checksums = manifest.get("checksums")
    for file in record_files(folder):
        try:
            records.append(load_record(file))
            problems += _not_archived(file, checksums if isinstance(checksums, dict) else {})
        except RecordError as error:
            problems.append(str(error))
    return Run(path, manifest, tuple(records), tuple(problems))


def _not_archived(file: Path, checksums: Json) -> list[str]:
    """A line where a record file is not what was archived.

    checksums: those of the manifest; empty while a run grows.
    """
    expected = checksums.get(f"records/{file.name}")
    if expected is None:
        return [f"{clean(file.name)}: not of this run: it has no checksum"] if checksums else []
    if expected != "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest():
        return [f"{clean(file.name)}: not the file that was archived: its checksum differs"]
    return []


def _manifest(path: Path) -> tuple[Json, list[str]]:
    try:
        manifest = json_object(path.read_text(encoding="utf-8"), path.name)
    except (OSError, UnicodeDecodeError):
        return {}, ["manifest.json: missing or unreadable"]
    except RecordError as error:
        return {}, [str(error)]
    if manifest.get("schema") != MANIFEST_SCHEMA:
        return {}, ["manifest.json: not the manifest of a campaign"]
    version = manifest.get("schema_version")
    if type(version) is int and version > MANIFEST_VERSION:
        fail(
            path.name, f"schema version {version} is newer than {MANIFEST_VERSION}, the newest that this program reads"
        )
    return manifest, []


def _checked_cases(path: Path, manifest: Json) -> tuple[Json, list[str]]:
    """The manifest, in which cases without their record file are `missing`; and a line about each fault of a case."""
    problems = []
    cases = []
    for case in cases_of(manifest):
        record, result = case.get("record"), case.get("result")
        name = clean(case.get("case") or record or "a case")
        if result not in RESULTS:
            problems.append(f"manifest.json: {name} has the result {clean(result)!r}, none of {', '.join(RESULTS)}")
        if isinstance(record, str) and not (path / record).is_file():
            problems.append(f"{clean(record)}: missing")
            cases.append({**case, "result": "missing", "reason": f"its record {record} is not there"})
        else:
            cases.append(case)
    if manifest and not cases:
        problems.append("manifest.json: it names no cases, so that nobody knows what became of them")
    return {**manifest, "cases": cases} if cases else manifest, problems


def is_as_asked(case: Json) -> bool:
    """Whether a case of a manifest was measured as it was asked for. It may be worse than its reference."""
    return case.get("result") == "pass" or case.get("fail_phase") == PERFORMANCE


def cases_of(manifest: Json) -> list[Json]:
    """The cases that a manifest lists; entries that are no objects are left out."""
    cases = manifest.get("cases")
    return [case for case in cases if isinstance(case, dict)] if isinstance(cases, list) else []


def failed_records(manifest: Json) -> dict[str, tuple[str, str]]:
    """{record: (case, reason)} for the cases of a run that were not measured as asked for: placed otherwise, for
    example, or without the progress thread.

    A case that only missed a reference is not among them: comparisons must find it. Nor is a missing case, because in a
    run that goes on every case is missing that has not been measured yet.
    """
    failed = [case for case in cases_of(manifest) if case.get("result") == "fail" and not is_as_asked(case)]
    return {
        str(case["record"]): (clean(case.get("case") or ""), clean(case.get("reason") or "no reason was given"))
        for case in failed
        if case.get("record")
    }


def without_repeat(case: str) -> str:
    """The name of a case without the number of its launch."""
    return _REPEAT.sub("", case)


def failed_reasons(failed: str, whose: str = "the") -> list[str]:
    """The reason that a point of a failed case is not reliable, as a list; empty where the case did not fail.

    Such a point is not what was asked for, whatever its numbers are.  failed: the reason in `failed_records`; empty
    where the case did not fail.
    """
    return [f"{whose} case failed: {short(failed)}"] if failed else []
