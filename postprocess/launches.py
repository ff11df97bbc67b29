"""Launches of archived runs as one table, made fast: what comparisons, histories and references start from.

A row is one point of one launch. Times and `r_overhead` are made here from the samples, by today's formulas, so that
runs which an older version archived compare fairly. Ratios that need every rank's own samples, or those of another
configuration, are taken from the archived table of points; only records have what they are made of.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from postprocess import metrics
from postprocess.effects import Integers, repetition_medians
from postprocess.fields import RecordError, fail
from postprocess.load import load_run
from postprocess.points import CASE, points_of
from postprocess.text import clean

CELL = ["comm_target_ns", "comp_target_ns"]
SIZES = ["message_bytes", "work_size"]
TIMES = ["t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns"]
ARCHIVED = ["r_overhead_vs_basic", "r_comm", "r_comp_slowdown"]
WORDS = [
    "benchmark", "collective", "system", "toolchain", "provider", "configuration", "network", "cache", "computation",
]  # fmt: skip
"""Those of CASE that are text."""

_STATE = ["valid", "reliable", "complete", "oversubscribed"]
COLUMNS = [*CASE, *CELL, *SIZES, *TIMES, "r_overhead", *ARCHIVED, *_STATE, "run"]


def launch_table(folders: Iterable[Path]) -> tuple[pd.DataFrame, list[str]]:
    """The launches of run folders, columns COLUMNS, texts as categories; and what could not be read, a line each.

    A run that cannot be read loses no other one. Its name, and that of its system, are those of its folders: under
    these it was put into this archive.
    """
    tables, problems = [], []
    for folder in folders:
        try:
            tables.append(run_launches(folder))
        except RecordError as error:
            problems.append(f"{clean(folder.name)}: {error}")
    return joined(tables), problems


def run_launches(folder: Path) -> pd.DataFrame:
    """`launch_table` of one run.

    Its tables are what was archived, by their checksums; where they lack something, because an older version made them,
    its records say the same. Raises RecordError where neither can be read, or the tables are not of one run.
    """
    system = folder.parent.parent.name if folder.parent.name == ".partial" else folder.parent.name
    tables = _tables(folder)
    found = points_of(load_run(folder)) if tables is None else _from_tables(folder, *tables)
    table: pd.DataFrame = found.assign(system=system, run=folder.name)[COLUMNS].copy()
    for name in (*WORDS, "run"):
        table[name] = table[name].astype("category")
    itself = (table["configuration"] == "basic") & (table["test_interval_ns"] == 0)
    table.loc[itself, "r_overhead_vs_basic"] = np.nan  # it would be said twice
    return table


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


def _tables(folder: Path) -> tuple[pa.Table, pa.Table] | None:
    """A run's tables of points and samples; None where there are none, or of an older version. Raises RecordError."""
    try:
        checksums = json.loads((folder / "manifest.json").read_bytes()).get("checksums") or {}
    except (OSError, ValueError, AttributeError):
        checksums = {}
    found = []
    for name, columns in (("points.parquet", _OF_POINTS), ("samples.parquet", _OF_SAMPLES)):
        try:
            data = (folder / name).read_bytes()
            expected = checksums.get(name)
            if expected not in (None, "sha256:" + hashlib.sha256(data).hexdigest()):
                fail(name, "not the file that was archived: its checksum differs")
            source = pa.BufferReader(data)
            if set(columns) - set(pq.read_schema(source).names):
                return None
            source.seek(0)
            words = [column for column in columns if column in WORDS]
            found.append(pq.read_table(source, columns=columns, read_dictionary=words))
        except FileNotFoundError:
            return None
        except (OSError, pa.ArrowException) as error:
            fail(name, clean(" ".join(str(error).split()))[:200])
    points, samples = found
    return points, samples


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
