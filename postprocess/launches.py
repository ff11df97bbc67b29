"""Launches of archived runs as one table, made fast: what comparisons, histories and references start from.

A row is one point of one launch. Times and `r_overhead` are made here from the samples, by today's formulas, so that
runs which an older version archived compare fairly. Ratios that need every rank's own samples, or those of another
configuration, are taken from the archived table of points; only records have what they are made of.
"""

from __future__ import annotations

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
from postprocess.points import CASE
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
    """`launch_table` of one run. Raises RecordError where its tables cannot be read, or are not of one run."""
    wanted = [*CASE, *CELL, *SIZES, *ARCHIVED, *_STATE, "repetitions"]
    points = _read(folder / "points.parquet", wanted).to_pandas()
    counts = points["repetitions"].to_numpy(np.int64)
    samples = _read(folder / "samples.parquet", ["repetition", *TIMES])
    _check(folder, counts, samples["repetition"].to_numpy())
    series = (samples[name].to_numpy() for name in TIMES)
    medians = dict(zip(TIMES, repetition_medians(series, counts), strict=True))
    overhead = metrics.r_overhead(medians["t_measured_ns"], medians["t_comp_ref_ns"], medians["t_comm_ref_ns"])
    system = folder.parent.parent.name if folder.parent.name == ".partial" else folder.parent.name
    made = points.assign(
        **medians, r_overhead=overhead, system=_constant(system, len(points)), run=_constant(folder.name, len(points))
    )
    table: pd.DataFrame = made[COLUMNS].copy()
    itself = (table["configuration"] == "basic") & (table["test_interval_ns"] == 0)
    table.loc[itself, "r_overhead_vs_basic"] = np.nan  # it would be said twice
    return table


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


def _constant(text: str, length: int) -> Any:
    """A column of one text."""
    return pd.Categorical.from_codes(np.zeros(length, dtype=np.int64), categories=pd.Index([text]))


def _read(path: Path, columns: Sequence[str]) -> pa.Table:
    try:
        return pq.read_table(path, columns=list(columns), read_dictionary=[name for name in columns if name in WORDS])
    except (OSError, pa.ArrowException) as error:
        what = "is not there" if isinstance(error, FileNotFoundError) else " ".join(str(error).split())[:200]
        fail(clean(path.name), clean(what))


def _check(folder: Path, counts: Integers, repetition: Integers) -> None:
    """Samples are those of the points: as many of each, in their order."""
    begins = np.flatnonzero(repetition == 0)
    lengths = np.diff(np.append(begins, repetition.size))
    if not np.array_equal(lengths, counts[counts > 0]):
        fail(clean(folder.name), "samples.parquet and points.parquet are not of one run")
