"""Launches of overlap, read from the archived tables.

Times and `r_overhead` are computed here from the samples, by today's formulas, so that runs archived by an older
version compare fairly. Ratios that need every rank's own samples, or the samples of another configuration, cannot be
computed from the tables, and are taken from them as archived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from postprocess.drawing.text import clean
from postprocess.families.axes import NAMED_BY, SIZES
from postprocess.families.family import STATE_OF_POINTS, Launches, Metric, is_time
from postprocess.families.nbc_overlap.axes import AXES, BESIDE_BASIC
from postprocess.records.fields import fail
from postprocess.statistics import metrics
from postprocess.statistics.effects import Integers, repetition_medians

METRICS = (
    Metric("t_measured_ns", "time with overlap", ratio=True, same=("message_bytes", "work_size"), usual=True,
           with_work="time", better_words="is faster with overlap", covariate="t_comp_ref_ns"),
    Metric("t_comm_ref_ns", "communication alone", ratio=True, same=("message_bytes",), usual=True),
    Metric("t_comp_ref_ns", "computation alone", ratio=True, same=("work_size",), with_work="time"),
    Metric("r_overhead", "overhead ratio", ratio=False, state="sound", usual=True,
           better_words="hides more"),
    Metric("r_overhead_vs_basic", "overhead ratio against basic", ratio=False, state="sound", usual=True),
    Metric("r_comm", "communication concurrency ratio", ratio=False, state="sound"),
    Metric("r_comp_slowdown", "computation slowdown ratio", ratio=False, state="sound"),
    Metric("speedup_vs_basic", "speed-up over basic", ratio=True, state="sound", better="larger",
           with_work="rate"),
)  # fmt: skip
TIMES = ("t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns")
AGAINST_BASIC = ("r_overhead_vs_basic", "speedup_vs_basic")
ARCHIVED = (*AGAINST_BASIC, "r_comm", "r_comp_slowdown")


def _of_files(run: str, tables: Sequence[pa.Table]) -> pa.Table:
    """The table of points with the times and the ratio computed from the samples. They are infinite at points with a
    sample that is no time. Raises RecordError.
    """
    points, samples = tables
    counts = points["repetitions"].to_numpy().astype(np.int64)
    _check(run, counts, samples["repetition"].to_numpy())
    series = [samples[name].to_numpy() for name in TIMES]
    wrong = np.zeros(counts.size, dtype=bool)
    for number, times in enumerate(series):
        if not is_time(times).all():
            wrong[np.repeat(np.arange(counts.size), counts)[~is_time(times)]] = True
            series[number] = np.where(is_time(times), times, 0)
    medians = dict(zip(TIMES, repetition_medians(series, counts), strict=True))
    for of_points in medians.values():
        of_points[wrong] = np.nan
    overhead = metrics.r_overhead(medians["t_measured_ns"], medians["t_comp_ref_ns"], medians["t_comm_ref_ns"])
    for name, values in (*medians.items(), ("r_overhead", overhead)):
        points = points.append_column(name, pa.array(np.where(wrong, np.inf, values)))
    reference = _is_reference(points.select(["configuration", *(axis.name for axis in BESIDE_BASIC)]).to_pandas())
    for name in AGAINST_BASIC:
        against = pc.if_else(pa.array(reference), pa.scalar(None, pa.float64()), points[name].cast(pa.float64()))
        points = points.set_column(points.column_names.index(name), name, against)
    return points


def _of_table(points: pd.DataFrame) -> pd.DataFrame:
    reference = _is_reference(points)
    against = {name: points[name].where(~reference) for name in AGAINST_BASIC}
    table: pd.DataFrame = points.assign(**against)
    return table


def _is_reference(points: pd.DataFrame) -> pd.Series[Any]:
    """Whether each launch is the reference `basic`.

    Its ratios against basic are left out: they repeat r_overhead, and its speed-up over itself is always 1.
    """
    reference: pd.Series[Any] = points["configuration"] == "basic"
    for axis in BESIDE_BASIC:
        reference &= points[axis.name] == axis.usual
    return reference


def _check(run: str, counts: Integers, repetition: Integers) -> None:
    """Fail unless the samples match the points: as many samples as repetitions, in the same order."""
    begins = np.flatnonzero(repetition == 0)
    lengths = np.diff(np.append(begins, repetition.size))
    if not np.array_equal(lengths, counts[counts > 0]):
        fail(clean(run), "samples.parquet and points.parquet are not of one run")


LAUNCHES = Launches(
    columns={
        "points.parquet": (
            *(axis.name for axis in (*AXES, *SIZES)),
            *ARCHIVED,
            *STATE_OF_POINTS,
            "repetitions",
        ),
        "samples.parquet": ("repetition", *TIMES),
    },
    of_files=_of_files,
    of_table=_of_table,
    named_by=NAMED_BY,
)
