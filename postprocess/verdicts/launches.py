"""Launches of archived runs as one table, made fast: what comparisons, histories and references start from.

A row is one point of one launch of any family. It has the axes of all families; what has not one of them has its usual
value there, and of the metrics it has those of its own family.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from postprocess.drawing.text import clean
from postprocess.families import registry
from postprocess.families.family import STATE, Axis, Family, Launches
from postprocess.records.fields import RecordError, fail
from postprocess.records.run import MANIFEST_VERSION, Run, failed_records, load_run
from postprocess.records.storage import record_files

_AXES: Mapping[str, Axis] = {one.name: one for one in (*registry.AXES, *registry.SIZES)}
WORDS = tuple(one.name for one in _AXES.values() if one.kind == "text")
"""The columns that are text."""
COLUMNS = (*_AXES, *registry.METRICS, *STATE, "run")
_KINDS = {"text": pa.dictionary(pa.int32(), pa.string()), "integer": pa.int64(), "number": pa.float64()}


def _type_of(name: str) -> Any:
    """The Arrow type of one of COLUMNS."""
    if name in STATE:
        return pa.bool_()
    if name in registry.METRICS:
        return pa.float64()
    return _KINDS[_AXES[name].kind if name in _AXES else "text"]


# Arrow's own allocator keeps what it was given: comparing a million points then takes half as much again.
pa.set_memory_pool(pa.system_memory_pool())

_SCHEMA = pa.schema([(name, _type_of(name)) for name in COLUMNS])


def launch_table(chosen: Iterable[Path]) -> tuple[pd.DataFrame, list[str]]:
    """The launches of run folders, columns COLUMNS, texts as categories; and what could not be read, a line each.

    A run that cannot be read loses no other one. Its name, and that of its system, are those of its folders: under
    these it was put into this archive.
    """
    folders = list(chosen)
    tables, problems = [], []
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # most of it is done outside of Python's lock
        for folder, (table, unread) in zip(folders, pool.map(_run_or_why_not, folders), strict=True):
            tables.append(table)
            problems += [f"{clean(folder.name)}: {problem}" for problem in unread]
    return _as_launches(tables), problems


def _run_or_why_not(folder: Path) -> tuple[pa.Table, tuple[str, ...]]:
    try:
        return _run_launches(folder)
    except RecordError as error:
        return _SCHEMA.empty_table(), (str(error),)


def _as_launches(tables: list[pa.Table]) -> pd.DataFrame:
    """Tables of _SCHEMA one below the other. The list is emptied: a year of nights need not be there twice."""
    whole = pa.concat_tables([_SCHEMA.empty_table(), *tables]).unify_dictionaries()
    tables.clear()
    table: pd.DataFrame = whole.to_pandas(split_blocks=True, self_destruct=True)
    return table


class _Folder:
    """A run folder, whose records are read once, and only where its tables do not tell."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = path.parent.name == ".partial"
        self.loaded: Run | None = None

    @property
    def system(self) -> str:
        return self.path.parent.parent.name if self.partial else self.path.parent.name

    @property
    def run(self) -> Run:
        """Raises RecordError."""
        if self.loaded is None:
            self.loaded = load_run(self.path)
        return self.loaded


def _run_launches(path: Path) -> tuple[pa.Table, tuple[str, ...]]:
    """`launch_table` of one run, of _SCHEMA, and which of its records could not be read.

    Its tables are what was archived, by their checksums; where they lack something, because an older version made them,
    or the run is not complete, its records say the same. Without cases that were not what was asked for, which is said.
    Raises RecordError where neither can be read, or the tables are not of one run.
    """
    folder = _Folder(path)
    refused = _refused(path)
    problems = tuple(f"{label} is left out, it failed: {reason}" for label, reason in refused.values())
    named_so = {"system": folder.system, "run": path.name}
    parts = [
        _in_schema(part, refused, _own(family) | named_so)
        for family, part in _parts(folder, ["record", "failed"] if refused else [])
        if part.num_rows
    ]
    if folder.loaded is not None:
        problems = (*problems, *folder.run.problems, *registry.problems(folder.run))
    return pa.concat_tables(parts or [_SCHEMA.empty_table()]), problems


def _own(family: Family) -> dict[str, str]:
    """What the rows of a family are named by that its table does not say: of which benchmark they are."""
    return {} if any(one.name == "benchmark" for one in family.axes) else {"benchmark": family.benchmarks[0]}


def _parts(folder: _Folder, named: Sequence[str]) -> Iterator[tuple[Family, pa.Table]]:
    """The launches of each family that has some. Raises RecordError.

    named: the columns that tables need beside those of launches: older ones compare with a `basic` that failed as with
    any, and lack them.
    """
    for family in registry.FAMILIES:
        launches = family.launches
        if launches is None or not _may_have(folder, family, launches):
            continue
        beside = [name for name in named if name in family.columns]
        kept = None if folder.partial else _tables(folder.path, launches, beside)
        if kept is None:
            rows = launches.of_table(registry.found(folder.run, family).table)
            wanted = [name for name in (*COLUMNS, "record") if name in rows]
            yield family, pa.Table.from_pandas(rows[wanted], preserve_index=False)
        else:
            yield family, launches.of_files(folder.path.name, kept)


def _may_have(folder: _Folder, family: Family, launches: Launches) -> bool:
    """Whether a run may have anything of a family: its tables, or, where these are not written empty, its records by
    their names."""
    always = any(file.even_empty for file in family.files)
    if always or folder.loaded is not None or any((folder.path / name).exists() for name in launches.columns):
        return True
    records = record_files(folder.path / "records")
    return any(name in record.name for name in family.benchmarks for record in records)


def _in_schema(part: pa.Table, refused: Iterable[str], named: Mapping[str, str]) -> pa.Table:
    """Rows with _SCHEMA, without those of refused records, with these values everywhere. Raises RecordError."""
    try:
        if refused:
            part = part.filter(pc.invert(pc.is_in(part["record"].cast(pa.string()), pa.array(refused, pa.string()))))
        columns = []
        for field in _SCHEMA:
            if field.name in named:
                column = _everywhere(part.num_rows, field.type, named[field.name])
            elif field.name in part.column_names:
                column = part[field.name]
                if column.type != field.type and field.name in WORDS:
                    column = column.cast(pa.string()).dictionary_encode()
                column = column.cast(field.type)
            elif field.name in _AXES:
                column = _everywhere(part.num_rows, field.type, _AXES[field.name].usual)
            else:
                column = pa.nulls(part.num_rows, field.type)
            columns.append(column)
        return pa.table(columns, schema=_SCHEMA)
    except pa.ArrowException as error:
        fail("points.parquet", clean(" ".join(str(error).split()))[:200])


def _everywhere(rows: int, kind: Any, value: Any) -> Any:
    """A column that has one value."""
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value], pa.string()))
    return pa.array(np.full(rows, value), kind)


def _refused(folder: Path) -> dict[str, tuple[str, str]]:
    """`failed_records` of a run folder. Raises RecordError."""
    try:
        return failed_records(_manifest(folder))
    except RecordError:
        if folder.parent.name == ".partial":
            return {}  # its records tell what there is
        raise


def _tables(folder: Path, launches: Launches, named: Sequence[str]) -> list[pa.Table] | None:
    """Tables of a run with the columns of launches, the first one with those in `named` as well; None where one is not
    there, or of an older version.

    Raises RecordError.
    """
    checksums = _checksums(folder)
    found: list[pa.Table] = []
    for name, wanted in launches.columns.items():
        columns = wanted if found else (*wanted, *named)
        try:
            data = (folder / name).read_bytes()
            expected = checksums.get(name)
            if expected not in (None, "sha256:" + hashlib.sha256(data).hexdigest()):
                fail(name, "not the file that was archived: its checksum differs")
            source = pa.BufferReader(data)
            metadata = pq.read_metadata(source)
            schema = metadata.schema.to_arrow_schema()
            if set(columns) - set(schema.names):
                return None
            _check_types(name, schema, columns)
            source.seek(0)
            words = [
                column for column in columns if column in WORDS and not pa.types.is_null(schema.field(column).type)
            ]
            file = pq.ParquetFile(source, metadata=metadata, read_dictionary=words)
            found.append(file.read(list(columns), use_threads=False))  # runs are read in threads
            for column in columns:
                if found[-1][column].null_count and column not in registry.METRICS:
                    fail(name, f"{column} has no value somewhere")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeError, pa.ArrowException) as error:
            fail(name, clean(" ".join(str(error).split()))[:200])
    return found


def _checksums(folder: Path) -> dict[str, Any]:
    """Of a run's manifest. Raises RecordError."""
    checksums = _manifest(folder).get("checksums") or {}
    if not isinstance(checksums, dict):
        fail("manifest.json", "its checksums are of another type")
    return checksums


def _manifest(folder: Path) -> dict[str, Any]:
    """A run's manifest; empty where there is none. Raises RecordError where it tells nothing: what then lies there may
    be anything, and where it is of a version not known here."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        fail("manifest.json", f"cannot be read: {clean(error)}")
    if not isinstance(manifest, dict):
        fail("manifest.json", "is not a manifest")
    version = manifest.get("schema_version")
    if type(version) is int and version > MANIFEST_VERSION:
        fail("manifest.json", f"schema version {version} is newer than {MANIFEST_VERSION}, the newest that this reads")
    return manifest


def _check_types(name: str, schema: pa.Schema, columns: Sequence[str]) -> None:
    """A foreign table may have the same names. Raises RecordError."""
    for column in columns:
        kind = schema.field(column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        named = column in WORDS or column in ("record", "failed")
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        right = text if named else pa.types.is_boolean(kind) if column in STATE else number
        if not right and not pa.types.is_null(kind):  # of no rows
            fail(name, f"{column} is of type {clean(kind)}, which is not that of a run's tables")
