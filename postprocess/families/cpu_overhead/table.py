"""The table of blocking collectives and the CPU: one row per point, with its shares and its validity.

All values are of one call: those of a batch divided by its calls. Shares are made within repetitions, so that what
disturbs both times cancels: their value is the median over repetitions, and the 95 % interval is that of a median,
distribution free, from order statistics (`metrics.median_estimate`). The ratio of two medians would take both as
independent.

    cpu_share         t_cpu / t_wall           `cpu_use.cpu_share`: the process, all threads
    thread_cpu_share  t_thread_cpu / t_wall    the same of the calling thread alone
    idle_share        1 - cpu_share            `cpu_use.idle_share`
    idle_ns           t_wall - t_cpu           `cpu_use.idle_time`

t_wall is that of the slowest rank, from the first begin to the last end; t_cpu that of the rank that used most. So no
rank is idle for less than idle_share. Nothing is clamped: with a progress thread, a process uses two CPUs, and its
idle share is about -1.

`validity` says what a point may be used for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Columns, circumstances
from postprocess.drawing.text import duration, interval, ratio, size
from postprocess.families import axes
from postprocess.families.cpu_overhead import validity
from postprocess.families.cpu_overhead.axes import CASE
from postprocess.families.cpu_overhead.record import CpuPoint, CpuRecord
from postprocess.records.header import NAMED, named_cores_of, repeat_of
from postprocess.records.run import failed_reasons
from postprocess.statistics import cpu_use
from postprocess.statistics.metrics import Estimate, Floats, as_float, median_estimate

_ESTIMATES = (
    "t_wall_ns", "t_cpu_ns", "t_thread_cpu_ns", "idle_ns", "cpu_share", "thread_cpu_share", "idle_share",
    "voluntary_switches", "involuntary_switches",
)  # fmt: skip
_OF_POINT = (
    "message_bytes", "calls", "repetitions", "warmup_repetitions", "late_repetitions", "discarded_repetitions",
    "data_errors", "stop_reason", "interval_relative_reached", "start_method", "index",
)  # fmt: skip
COLUMNS = (
    *CASE, NAMED, "message_bytes",
    *(f"{name}{end}" for name in _ESTIMATES for end in ("", "_ci95_low", "_ci95_high")),
    "cpu_all_ranks_ns", "calls", "cpu_clock_step_ns",
    "repetitions", "warmup_repetitions", "late_repetitions", "discarded_repetitions", "data_errors", "stop_reason",
    "interval_relative_reached", "start_method", "clock_method", "clock_residual_ns",
    "valid", "reliable", "unreliable_reasons", "flags", "oversubscribed", "shared_core", "complete", "record", "index",
)  # fmt: skip
"""The columns of `cpu_table`, in order.

Times and switches are medians of one call, times in nanoseconds, sizes in bytes; shares have no unit. An unknown value
is NaN. `calls` are those of a batch.
"""


def cpu_table(records: Sequence[CpuRecord], failed: Mapping[str, tuple[str, str]] | None = None) -> pd.DataFrame:
    """One row per point of each record; the columns are COLUMNS. failed: `failed_records` of the run."""
    why = {name: reason for name, (_, reason) in (failed or {}).items()}
    rows = [row for record in records for row in _rows(record, why.get(record.name, ""))]
    whole = pd.DataFrame(rows, columns=list(COLUMNS))
    table: pd.DataFrame = whole.astype({"valid": bool, "reliable": bool})  # an empty table needs these types, too
    return table


def case_of(record: CpuRecord) -> dict[str, Any]:
    """The columns that are the same for all points of a record."""
    header = record.header
    return {
        **{name: getattr(header, name) for name in CASE if hasattr(header, name)},
        "given_up_cores": header.progress.given_up_cores,
        "launch": repeat_of(header.metadata) or 1,
        NAMED: named_cores_of(header.metadata),
    }


def values_of(point: CpuPoint) -> dict[str, Floats]:
    """The values of a point by the names of their columns, a value per repetition, of one call."""
    batch, cpu = point.t_wall_ns, point.t_cpu_ns
    counted = ("t_wall_ns", "t_cpu_ns", "t_thread_cpu_ns", "voluntary_switches", "involuntary_switches")
    return {
        **{name: getattr(point, name) / point.calls for name in counted},
        "idle_ns": cpu_use.idle_time(cpu, batch) / point.calls,
        "cpu_share": cpu_use.cpu_share(cpu, batch),
        "thread_cpu_share": cpu_use.cpu_share(point.t_thread_cpu_ns, batch),
        "idle_share": cpu_use.idle_share(cpu, batch),
    }


def _rows(record: CpuRecord, failed: str) -> Iterator[dict[str, Any]]:
    header, case = record.header, case_of(record)
    for point in record.points:
        found = {name: median_estimate(values) for name, values in values_of(point).items()}
        reasons = [
            *failed_reasons(failed),
            *validity.unreliable_reasons(
                point, found["cpu_share"], record.cpu_clock_step_ns, oversubscribed=header.oversubscribed
            ),
        ]
        yield {
            **case,
            axes.OPERATION.name: point.operation,
            **{column: value for name in _ESTIMATES for column, value in _columns(name, found[name])},
            **{name: getattr(point, name) for name in _OF_POINT},
            "cpu_all_ranks_ns": point.cpu_all_ranks_ns / point.calls,
            "cpu_clock_step_ns": record.cpu_clock_step_ns,
            "clock_method": point.clock.method,
            "clock_residual_ns": math.nan if point.clock.residual_ns is None else point.clock.residual_ns,
            "valid": not validity.invalid_reasons(point),
            "reliable": not reasons,
            "unreliable_reasons": reasons,
            "flags": validity.flags(point),
            "oversubscribed": header.oversubscribed,
            "shared_core": header.shared_core,
            "complete": record.complete,
            "record": record.name,
        }


def _columns(name: str, estimate: Estimate) -> Iterator[tuple[str, float]]:
    yield name, as_float(estimate.value)
    yield f"{name}_ci95_low", as_float(estimate.low)
    yield f"{name}_ci95_high", as_float(estimate.high)


def usable(table: pd.DataFrame) -> pd.DataFrame:
    """The points for a summary: the reliable ones, or all valid ones where less than half of these are reliable."""
    enough = 2 * table["reliable"].sum() >= table["valid"].sum()
    chosen: pd.DataFrame = table[table["reliable" if enough else "valid"]]
    return chosen


def geometric_mean(values: pd.Series[Any]) -> float:
    """The geometric mean of the values above 0 of a column; NaN where there is none."""
    numbers = values.to_numpy(dtype=np.float64)
    known = numbers[np.isfinite(numbers) & (numbers > 0)]
    return float(np.exp(np.log(known).mean())) if known.size else math.nan


def record_numbers(record: CpuRecord) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame. Numbers that are not finite are left out.

    Geometric means over the `usable` points, so that each size weighs the same: t_wall_ns and t_cpu_ns, of one call,
    and cpu_share. Counts: points, points_valid, points_reliable.
    """
    table = cpu_table([record])
    chosen = usable(table)
    numbers = {
        **{name: geometric_mean(chosen[name]) for name in ("t_wall_ns", "t_cpu_ns", "cpu_share")},
        "points": float(len(table)),
        "points_valid": float(table["valid"].sum()),
        "points_reliable": float(table["reliable"].sum()),
    }
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def configuration_words(row: Mapping[Any, Any]) -> str:
    """The configuration of a row and its unusual values, without the collective."""
    return axes.configuration_words(row, (axes.NAMED_CORES,))


def remarks(row: Mapping[Any, Any]) -> list[str]:
    """The remarks on a row, each a phrase, the worst first."""
    return [*(f"unreliable: {reason}" for reason in row["unreliable_reasons"]), *circumstances(row), *row["flags"]]


def _cells(row: Mapping[Any, Any]) -> list[str]:
    """The texts of a row of `cpu_table`. Context switches are those of a batch."""
    return [
        str(row["toolchain"]),
        str(row["network"]),
        configuration_words(row),
        str(row["operation"]),
        size(row["message_bytes"]) if row["message_bytes"] else "",
        duration(row["t_wall_ns"]),
        ratio(row["cpu_share"]),
        interval(row["cpu_share_ci95_low"], row["cpu_share_ci95_high"]),
        ratio(row["idle_share"]),
        interval(row["idle_share_ci95_low"], row["idle_share_ci95_high"]),
        duration(row["idle_ns"]),
        ratio(row["thread_cpu_share"]),
        _count(row["voluntary_switches"] * row["calls"]),
        _count(row["involuntary_switches"] * row["calls"]),
        str(row["calls"]),
        str(row["repetitions"]),
        "; ".join(remarks(row)),
    ]


def _count(number: float) -> str:
    return f"{number:.0f}" if math.isfinite(number) else ""


SHOWN = Columns(
    heads=(
        "toolchain", "network", "configuration", "collective", "message", "time", "CPU share", "95 %", "idle", "95 %",
        "idle time", "thread", "waits", "preempted", "calls", "reps", "remarks",
    ),
    right=frozenset(range(4, 16)),
    cells=_cells,
)  # fmt: skip
"""The columns of a table of `cpu_table` for a reader."""
