"""Launches of archived runs as one table, made fast: what comparisons, histories and references start from.

A row is one point of one launch; or, of `mpi_impact`, one computation time of one of its cases, which has many launches
of two programs and counts as one: its communication target and its message are 0. Times and `r_overhead` are made here
from the samples, by today's formulas, so that runs which an older version archived compare fairly. Ratios that need
every rank's own samples, or those of another configuration, are taken from the archived tables; only records have what
they are made of.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from postprocess.drawing.text import clean
from postprocess.families.mpi_impact.record import impacts_of
from postprocess.families.mpi_impact.table import CASE as IMPACT_CASE
from postprocess.families.mpi_impact.table import impact_of, impact_table
from postprocess.families.nbc_overlap.points import CASE, points_of
from postprocess.records.fields import RecordError, fail
from postprocess.records.load import MANIFEST_VERSION, failed_records, load_run
from postprocess.records.storage import record_files
from postprocess.statistics import metrics
from postprocess.statistics.effects import Integers, repetition_medians

CELL = ["comm_target_ns", "comp_target_ns"]
SIZES = ["message_bytes", "work_size"]
TIMES = ["t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns"]
AGAINST_BASIC = ["r_overhead_vs_basic", "speedup_vs_basic"]
ARCHIVED = [*AGAINST_BASIC, "r_comm", "r_comp_slowdown"]
WORDS = [
    "benchmark", "collective", "system", "toolchain", "provider", "configuration", "network", "cache", "computation",
]  # fmt: skip
"""Those of CASE that are text."""

_STATE = ["valid", "reliable", "complete", "oversubscribed"]
_IMPACT = "r_mpi_impact"
COLUMNS = [*CASE, *CELL, *SIZES, *TIMES, "r_overhead", *ARCHIVED, _IMPACT, *_STATE, "run"]


def _type_of(name: str) -> Any:
    """The Arrow type of one of COLUMNS."""
    if name in (*WORDS, "run"):
        return pa.dictionary(pa.int32(), pa.string())
    if name in _STATE:
        return pa.bool_()
    return pa.float64() if name in (*TIMES, "r_overhead", *ARCHIVED, _IMPACT) else pa.int64()


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
    itself = (table["configuration"] == "basic") & (table["test_interval_ns"] == 0)
    table.loc[itself, AGAINST_BASIC] = np.nan  # it would be said twice, or that 1 is 1
    return table


def _run_launches(folder: Path) -> tuple[pa.Table, tuple[str, ...]]:
    """`launch_table` of one run, of _SCHEMA, and which of its records could not be read.

    Its tables are what was archived, by their checksums; where they lack something, because an older version made them,
    or the run is not complete, its records say the same. Without cases that were not what was asked for, which is said.
    Raises RecordError where neither can be read, or the tables are not of one run.
    """
    partial = folder.parent.name == ".partial"
    system = folder.parent.parent.name if partial else folder.parent.name
    refused = _refused(folder)
    named = ["record", "failed"] if refused else []  # older tables compare with a basic that failed as with any
    wanted = (("points.parquet", [*_OF_POINTS, *named]), ("samples.parquet", _OF_SAMPLES))
    kept = None if partial else _tables(folder, wanted)
    problems = tuple(f"{label} is left out, it failed: {reason}" for label, reason in refused.values())
    if kept is None:
        run = load_run(folder)
        impacts, unread = impacts_of(run)
        problems = (*problems, *run.problems, *unread)
        parts = [_arrow(points_of(run)), _of_impacts(impact_table(impacts))]
    else:
        parts = [_from_tables(folder, *kept), _impacts(folder)]
    named_so = {"system": system, "run": folder.name}
    return pa.concat_tables([_in_schema(part, refused, named_so) for part in parts if part.num_rows]), problems


def _in_schema(part: pa.Table, refused: Iterable[str], named: Mapping[str, str]) -> pa.Table:
    """Rows with _SCHEMA, without those of refused records, with these values everywhere. Raises RecordError."""
    try:
        if refused:
            part = part.filter(pc.invert(pc.is_in(part["record"].cast(pa.string()), pa.array(refused, pa.string()))))
        columns = []
        for field in _SCHEMA:
            if field.name in named:
                everywhere = pa.array(np.zeros(part.num_rows, np.int32))
                column = pa.DictionaryArray.from_arrays(everywhere, pa.array([named[field.name]]))
            elif field.name not in part.column_names:
                column = pa.nulls(part.num_rows, field.type)
            else:
                column = part[field.name]
                if column.type != field.type and field.name in WORDS:
                    column = column.cast(pa.string()).dictionary_encode()
                column = column.cast(field.type)
            columns.append(column)
        return pa.table(columns, schema=_SCHEMA)
    except pa.ArrowException as error:
        fail("points.parquet", clean(" ".join(str(error).split()))[:200])


def _arrow(rows: pd.DataFrame) -> pa.Table:
    """Those columns of a table that a launch has."""
    wanted = [name for name in (*COLUMNS, "record") if name in rows]
    return pa.Table.from_pandas(rows[wanted], preserve_index=False)


def _refused(folder: Path) -> dict[str, tuple[str, str]]:
    """`failed_records` of a run folder. Raises RecordError."""
    try:
        return failed_records(_manifest(folder))
    except RecordError:
        if folder.parent.name == ".partial":
            return {}  # its records tell what there is
        raise


def _impacts(folder: Path) -> pa.Table:
    """What an idle library cost, of a run whose points are in tables. Raises RecordError."""
    records = record_files(folder / "records")
    if not (folder / "impact.parquet").exists() and not any("mpi_impact" in file.name for file in records):
        return _SCHEMA.empty_table()
    kept = _tables(folder, (("impact.parquet", [*_OF_IMPACT, "record"]),))
    return _of_impacts(impact_of(load_run(folder)) if kept is None else kept[0].to_pandas())


def _of_impacts(impacts: pd.DataFrame) -> pa.Table:
    """Rows of `impact_table` with those of COLUMNS that they have; they have no place on a map."""
    nowhere = {"comm_target_ns": 0, "message_bytes": 0, "test_interval_ns": 0}
    table: pd.DataFrame = impacts[[*_OF_IMPACT, "record"]].rename(columns={"repeat": "launch"})
    return _arrow(table.assign(benchmark="mpi_impact", collective="", cache="warm", **nowhere))


_OF_IMPACT = [*IMPACT_CASE, "comp_target_ns", "work_size", _IMPACT, *_STATE]
_OF_POINTS = [*CASE, *CELL, *SIZES, *ARCHIVED, *_STATE, "repetitions"]
_OF_SAMPLES = ["repetition", *TIMES]


def _from_tables(folder: Path, points: pa.Table, samples: pa.Table) -> pa.Table:
    """The points, with what is made of their samples."""
    counts = points["repetitions"].to_numpy().astype(np.int64)
    _check(folder, counts, samples["repetition"].to_numpy())
    series = (samples[name].to_numpy() for name in TIMES)
    medians = dict(zip(TIMES, repetition_medians(series, counts), strict=True))
    overhead = metrics.r_overhead(medians["t_measured_ns"], medians["t_comp_ref_ns"], medians["t_comm_ref_ns"])
    for name, values in (*medians.items(), ("r_overhead", overhead)):
        points = points.append_column(name, pa.array(values))
    return points


def _tables(folder: Path, wanted: Iterable[tuple[str, Sequence[str]]]) -> list[pa.Table] | None:
    """Tables of a run, each with these columns; None where one is not there, or of an older version.

    Raises RecordError.
    """
    checksums = _checksums(folder)
    found = []
    for name, columns in wanted:
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
                if found[-1][column].null_count and column not in (*ARCHIVED, _IMPACT, *TIMES):
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
        right = text if named else pa.types.is_boolean(kind) if column in _STATE else number
        if not right and not pa.types.is_null(kind):  # of no rows
            fail(name, f"{column} is of type {clean(kind)}, which is not that of a run's tables")


def _check(folder: Path, counts: Integers, repetition: Integers) -> None:
    """Samples are those of the points: as many of each, in their order."""
    begins = np.flatnonzero(repetition == 0)
    lengths = np.diff(np.append(begins, repetition.size))
    if not np.array_equal(lengths, counts[counts > 0]):
        fail(clean(folder.name), "samples.parquet and points.parquet are not of one run")
