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
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from postprocess import metrics
from postprocess.effects import Integers, repetition_medians
from postprocess.fields import RecordError, fail
from postprocess.impact import CASE as IMPACT_CASE
from postprocess.impact import impact_of, impact_table
from postprocess.impact_record import impacts_of
from postprocess.load import MANIFEST_VERSION, is_as_asked, load_run
from postprocess.points import CASE, points_of
from postprocess.text import clean

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
    return joined(tables), problems


def _run_or_why_not(folder: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    try:
        return run_launches(folder)
    except RecordError as error:
        return joined([]), (str(error),)


def run_launches(folder: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """`launch_table` of one run, and which of its records could not be read.

    Its tables are what was archived, by their checksums; where they lack something, because an older version made them,
    or the run is not complete, its records say the same. Without cases that were not what was asked for, which is said.
    Raises RecordError where neither can be read, or the tables are not of one run.
    """
    partial = folder.parent.name == ".partial"
    system = folder.parent.parent.name if partial else folder.parent.name
    refused = _refused(folder)
    named = ["record"] if refused else []
    wanted = (("points.parquet", [*_OF_POINTS, *named]), ("samples.parquet", _OF_SAMPLES))
    kept = None if partial else _tables(folder, wanted)
    problems = tuple(f"{label} is left out, it failed: {reason}" for label, reason in refused.values())
    if kept is None:
        run = load_run(folder)
        impacts, unread = impacts_of(run)
        problems = (*problems, *run.problems, *unread)
        parts = [points_of(run), _in_columns(impact_table(impacts))]
    else:
        parts = [_from_tables(folder, *kept), _impacts(folder)]
    if refused:
        parts = [part[~part["record"].isin(list(refused))] for part in parts]
    return joined([_as_launches(part.assign(system=system, run=folder.name)) for part in parts]), problems


def _refused(folder: Path) -> dict[str, tuple[str, str]]:
    """{record: (case, reason)} of the cases of a run that were not what was asked for: placed otherwise, say, or
    without the progress thread. Those that only missed a reference are none: they are what a comparison is to find.
    """
    try:
        cases = _manifest(folder).get("cases") or []
    except RecordError:
        if folder.parent.name == ".partial":
            return {}  # its records tell what there is
        raise
    failed = [
        one
        for one in (cases if isinstance(cases, list) else [])
        if isinstance(one, dict) and one.get("result") == "fail" and not is_as_asked(one)
    ]
    return {
        str(one["record"]): (clean(one.get("case")), clean(one.get("reason"))) for one in failed if one.get("record")
    }


def _as_launches(found: pd.DataFrame) -> pd.DataFrame:
    table: pd.DataFrame = found.reindex(columns=COLUMNS)
    for name in (*WORDS, "run"):
        table[name] = table[name].astype("category")
    itself = (table["configuration"] == "basic") & (table["test_interval_ns"] == 0)
    table.loc[itself, AGAINST_BASIC] = np.nan  # it would be said twice, or that 1 is 1
    return table


def _impacts(folder: Path) -> pd.DataFrame:
    """What an idle library cost, of a run whose points are in tables. Raises RecordError."""
    there = (folder / "impact.parquet").exists() or any((folder / "records").glob("*mpi_impact*.jsonl"))
    if not there:
        return _in_columns(impact_table([]))
    kept = _tables(folder, (("impact.parquet", [*_OF_IMPACT, "record"]),))
    return _in_columns(impact_of(load_run(folder)) if kept is None else kept[0].to_pandas())


def _in_columns(impacts: pd.DataFrame) -> pd.DataFrame:
    """Rows of `impact_table` with those of COLUMNS that they have; they have no place on a map."""
    nowhere = {"comm_target_ns": 0, "message_bytes": 0, "test_interval_ns": 0}
    table: pd.DataFrame = impacts[[*_OF_IMPACT, "record"]].rename(columns={"repeat": "launch"})
    whole: pd.DataFrame = table.assign(benchmark="mpi_impact", collective="", cache="warm", **nowhere)
    return whole


_OF_IMPACT = [*IMPACT_CASE, "comp_target_ns", "work_size", _IMPACT, *_STATE]
_OF_POINTS = [*CASE, *CELL, *SIZES, *ARCHIVED, *_STATE, "repetitions"]
_OF_SAMPLES = ["repetition", *TIMES]


def _from_tables(folder: Path, points: pa.Table, samples: pa.Table) -> pd.DataFrame:
    """The points, with what is made of their samples."""
    found: pd.DataFrame = points.to_pandas()
    counts = found["repetitions"].to_numpy(np.int64)
    _check(folder, counts, samples["repetition"].to_numpy())
    series = (samples[name].to_numpy() for name in TIMES)
    medians = dict(zip(TIMES, repetition_medians(series, counts), strict=True))
    overhead = metrics.r_overhead(medians["t_measured_ns"], medians["t_comp_ref_ns"], medians["t_comm_ref_ns"])
    table: pd.DataFrame = found.assign(**medians, r_overhead=overhead)
    return table


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
            schema = pq.read_schema(source)
            if set(columns) - set(schema.names):
                return None
            _check_types(name, schema, columns)
            source.seek(0)
            words = [
                column for column in columns if column in WORDS and not pa.types.is_null(schema.field(column).type)
            ]
            found.append(pq.read_table(source, columns=list(columns), read_dictionary=words))
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
        named = column in WORDS or column == "record"
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        right = text if named else pa.types.is_boolean(kind) if column in _STATE else number
        if not right and not pa.types.is_null(kind):  # of no rows
            fail(name, f"{column} is of type {clean(kind)}, which is not that of a run's tables")


def joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tables of launches one below the other, their categories made the same."""
    some = [table for table in tables if len(table)]
    if not some:
        empty: pd.DataFrame = pd.DataFrame(columns=COLUMNS)
        return empty
    whole: dict[str, Any] = {}
    for name in COLUMNS:
        columns = [table[name] for table in some]
        if name in WORDS or name == "run":
            whole[name] = pd.api.types.union_categoricals(columns) if len(columns) > 1 else columns[0]
        else:
            whole[name] = np.concatenate([column.to_numpy() for column in columns])
    table: pd.DataFrame = pd.DataFrame(whole)
    return table


def _check(folder: Path, counts: Integers, repetition: Integers) -> None:
    """Samples are those of the points: as many of each, in their order."""
    begins = np.flatnonzero(repetition == 0)
    lengths = np.diff(np.append(begins, repetition.size))
    if not np.array_equal(lengths, counts[counts > 0]):
        fail(clean(folder.name), "samples.parquet and points.parquet are not of one run")
