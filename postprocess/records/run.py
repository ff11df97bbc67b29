"""A run folder as dataclasses: its manifest, and its records of all families of benchmarks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from postprocess.drawing.text import clean, short
from postprocess.records.fields import Json, RecordError, fail, json_object
from postprocess.records.reading import load_record
from postprocess.records.record import Record
from postprocess.records.storage import record_file, record_files

MANIFEST_SCHEMA = "mpi-campaign.manifest"
MANIFEST_VERSION = 1
PERFORMANCE = "performance"
"""ReFrame's name of the phase in which numbers are held against references."""
RESULTS = ("pass", "skip", "fail", "missing")
"""What can have become of a manifest's case."""

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """A run folder: its manifest (empty when that could not be read), the records of all families by file name, and
    what was wrong with what could not be read.

    ``made`` has what was made of it once (`once`).
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
        """What is made of this run, under a name: made the first time, and the same one again after that."""
        if name not in self.made:
            self.made[name] = make()
        found: T = self.made[name]
        return found


@dataclass(frozen=True)
class Views(Generic[T]):
    """A family's view of its records in a run, by file name, and a line about each of which it can have none."""

    records: tuple[T, ...]
    problems: tuple[str, ...]


def views_of(run: Run, family: str, view: Callable[[Record], T]) -> Views[T]:
    """The records of one family as that sees them, made once per run. view: raises RecordError where that cannot be."""
    return run.once((views_of, family), lambda: _views(run.of(family), view))


def _views(records: tuple[Record, ...], view: Callable[[Record], T]) -> Views[T]:
    seen: list[T] = []
    problems: list[str] = []
    for record in records:
        try:
            seen.append(view(record))
        except RecordError as error:
            problems.append(str(error))
    return Views(tuple(seen), tuple(problems))


def load_run(path: Path | str) -> Run:
    """Read a run folder. A bad record is told in `Run.problems` and does not lose the others.

    Raises RecordError where there is no such folder, or its manifest is of a newer version.
    """
    path = Path(path)
    folder = path / "records"
    if not folder.is_dir() and not (path / "manifest.json").is_file():
        fail(clean(str(path)), "not a run folder: neither manifest.json nor records/ is in it")
    manifest, problems = _manifest(path / "manifest.json")
    manifest, wrong = _checked_cases(path, manifest)
    problems += wrong
    records: list[Record] = []
    files = record_files(folder)
    checksums = manifest.get("checksums")
    for file in files:
        try:
            records.append(load_record(file))
            expected = checksums.get(f"records/{file.name}") if isinstance(checksums, dict) else None
            if expected is not None and expected != "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest():
                problems.append(f"{clean(file.name)}: not the file that was archived: its checksum differs")
        except RecordError as error:
            problems.append(str(error))
    return Run(path, manifest, tuple(records), tuple(problems))


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
    """The manifest with cases whose record is gone as `missing`, and what is wrong with what it says of its cases."""
    problems = []
    cases = []
    for case in cases_of(manifest):
        record, result = case.get("record"), case.get("result")
        name = clean(case.get("case") or record or "a case")
        if result not in RESULTS:
            problems.append(f"manifest.json: {name} has the result {clean(result)!r}, none of {', '.join(RESULTS)}")
        if isinstance(record, str) and not record_file(path / record).is_file():
            problems.append(f"{clean(record)}: missing")
            cases.append({**case, "result": "missing", "reason": f"its record {record} is not there"})
        else:
            cases.append(case)
    if manifest and not cases:
        problems.append("manifest.json: it names no cases, so that nobody knows what became of them")
    return {**manifest, "cases": cases} if cases else manifest, problems


def is_as_asked(case: Json) -> bool:
    """Whether a case of a manifest was measured as it was asked for; it may be worse than its reference."""
    return case.get("result") == "pass" or case.get("fail_phase") == PERFORMANCE


def cases_of(manifest: Json) -> list[Json]:
    """The cases of a run's manifest, whatever else is in it."""
    cases = manifest.get("cases")
    return [case for case in cases if isinstance(case, dict)] if isinstance(cases, list) else []


def failed_records(manifest: Json) -> dict[str, tuple[str, str]]:
    """{record: (case, reason)} of the cases of a run that were not what was asked for: placed otherwise, say, or
    without the progress thread.

    Those that only missed a reference are none: they are what a comparison is to find. Neither is what is missing, as
    all is that a run has not come to yet.
    """
    failed = [case for case in cases_of(manifest) if case.get("result") == "fail" and not is_as_asked(case)]
    return {
        str(case["record"]): (clean(case.get("case") or ""), clean(case.get("reason") or "no reason was given"))
        for case in failed
        if case.get("record")
    }


def failed_reasons(failed: str, whose: str = "the") -> list[str]:
    """That the case of a point failed, which was then not what was asked for, whatever its numbers look like.

    failed: why, as `failed_records` has it; empty where it did not.
    """
    return [f"{whose} case failed: {short(failed)}"] if failed else []
