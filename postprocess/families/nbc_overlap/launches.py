"""Launches of overlap as the archived tables have them.

Times and `r_overhead` are made here from the samples, by today's formulas, so that runs which an older version archived
compare fairly. Ratios that need every rank's own samples, or those of another configuration, are taken from the
archived tables; only records have what they are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from postprocess.drawing.text import clean
from postprocess.families.family import STATE, Launches, Metric
from postprocess.families.nbc_overlap.axes import AXES, BESIDE_BASIC, SIZES
from postprocess.records.fields import fail
from postprocess.statistics import metrics
from postprocess.statistics.effects import Integers, repetition_medians

METRICS = (
    Metric("t_measured_ns", "time with overlap", ratio=True, same=("message_bytes", "work_size"), usual=True,
           with_work="time"),
    Metric("t_comm_ref_ns", "communication alone", ratio=True, same=("message_bytes",), usual=True),
    Metric("t_comp_ref_ns", "computation alone", ratio=True, same=("work_size",), with_work="time"),
    Metric("r_overhead", "overhead ratio", ratio=False, state="reliable", usual=True),
    Metric("r_overhead_vs_basic", "overhead ratio against basic", ratio=False, state="reliable", usual=True),
    Metric("r_comm", "communication concurrency ratio", ratio=False, state="reliable"),
    Metric("r_comp_slowdown", "computation slowdown ratio", ratio=False, state="reliable"),
    Metric("speedup_vs_basic", "speed-up over basic", ratio=True, state="reliable", better="larger",
           with_work="rate"),
)  # fmt: skip
TIMES = ("t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns")
AGAINST_BASIC = ("r_overhead_vs_basic", "speedup_vs_basic")
ARCHIVED = (*AGAINST_BASIC, "r_comm", "r_comp_slowdown")


def _of_files(run: str, tables: Sequence[pa.Table]) -> pa.Table:
    """The points, with what is made of their samples. Raises RecordError."""
    points, samples = tables
    counts = points["repetitions"].to_numpy().astype(np.int64)
    _check(run, counts, samples["repetition"].to_numpy())
    series = (samples[name].to_numpy() for name in TIMES)
    medians = dict(zip(TIMES, repetition_medians(series, counts), strict=True))
    overhead = metrics.r_overhead(medians["t_measured_ns"], medians["t_comp_ref_ns"], medians["t_comm_ref_ns"])
    for name, values in (*medians.items(), ("r_overhead", overhead)):
        points = points.append_column(name, pa.array(values))
    itself = _is_reference(points.select(["configuration", *(one.name for one in BESIDE_BASIC)]).to_pandas())
    for name in AGAINST_BASIC:
        against = pc.if_else(pa.array(itself), pa.scalar(None, pa.float64()), points[name].cast(pa.float64()))
        points = points.set_column(points.column_names.index(name), name, against)
    return points


def _of_table(points: pd.DataFrame) -> pd.DataFrame:
    itself = _is_reference(points)
    table: pd.DataFrame = points.assign(**{name: points[name].where(~itself) for name in AGAINST_BASIC})
    return table


def _is_reference(points: pd.DataFrame) -> pd.Series[Any]:
    """Whether a launch is what others are compared with: against itself it would be said twice, or that 1 is 1."""
    itself: pd.Series[Any] = points["configuration"] == "basic"
    for one in BESIDE_BASIC:
        itself &= points[one.name] == one.usual
    return itself


def _check(run: str, counts: Integers, repetition: Integers) -> None:
    """Samples are those of the points: as many of each, in their order."""
    begins = np.flatnonzero(repetition == 0)
    lengths = np.diff(np.append(begins, repetition.size))
    if not np.array_equal(lengths, counts[counts > 0]):
        fail(clean(run), "samples.parquet and points.parquet are not of one run")


LAUNCHES = Launches(
    columns={
        "points.parquet": (*(one.name for one in (*AXES, *SIZES)), *ARCHIVED, *STATE, "repetitions"),
        "samples.parquet": ("repetition", *TIMES),
    },
    of_files=_of_files,
    of_table=_of_table,
)
