"""Writing records of version 4 (`benchmarks/common/description.json`). Python makes lines of records nowhere else.

Our programs write their records themselves. This module is for records that are put together here: of a program of
others, whose output was read, or of several launches.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

from postprocess.records.envelope import SCHEMA, VERSION
from postprocess.records.fields import Json, Nanoseconds
from postprocess.records.header import Header, HeaderClock, Placement, Plan
from postprocess.records.record import Footer, Point


def write_record(path: Path, header: Header, points: Iterable[Point], footer: Footer) -> None:
    """Write a whole record into a new file. Raises OSError where the file exists or cannot be written."""
    with path.open("x", encoding="utf-8") as stream:
        write_line(stream, header_line(header))
        count = 0
        for count, point in enumerate(points, start=1):  # noqa: B007 - how many there are
            write_line(stream, point_line(point))
        write_line(stream, footer_line(footer, count))


def write_line(stream: TextIO, line: Mapping[str, Any]) -> None:
    """Write one line. It is on the disk when this returns. Raises OSError where it cannot be written."""
    stream.write(json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n")
    stream.flush()
    os.fsync(stream.fileno())


def header_line(header: Header) -> Json:
    """The first line. Where a program does not tell its placement, nodes, cores and progress are null too."""
    placed = bool(header.placement)
    return {
        "type": "header",
        "schema": SCHEMA,
        "schema_version": VERSION,
        "family": header.family,
        "method": header.method,
        "benchmark": header.benchmark,
        "toolchain": header.toolchain,
        "provider": header.provider,
        "configuration": header.configuration,
        "network": header.network,
        "command_line": list(header.command_line),
        "started_utc": header.started_utc,
        "mpi_library_version": header.mpi_library_version,
        "mpi_standard": header.mpi_standard,
        "thread_level_required": header.thread_level_required or None,
        "thread_level_provided": header.thread_level_provided or None,
        "ranks": header.ranks,
        "nodes": header.nodes if placed else None,
        "threads_per_rank": header.threads_per_rank if placed else None,
        "physical_cores": header.physical_cores if placed else None,
        "oversubscribed": header.oversubscribed if placed else None,
        "shared_core": header.shared_core if placed else None,
        "progress": dict(vars(header.progress)) if placed else None,
        "placement": [_placement(rank) for rank in header.placement],
        "timer": None if header.timer is None else dict(vars(header.timer)),
        "start_method": header.start_method or None,
        "seed": header.seed,
        "build": header.build or None,
        "environment": dict(header.environment),
        "mpi_variables": None if header.mpi_variables is None else dict(header.mpi_variables),
        "clock": None if header.clock is None else _clock(header.clock),
        "plan": _plan(header.plan),
        "own": header.own,
        "metadata": header.metadata,
    }


def _placement(rank: Placement) -> Json:
    threads = {
        name: [dict(vars(thread)) for thread in getattr(rank, name)] for name in ("mpi_threads", "helper_threads")
    }
    return {**vars(rank), "compute_cpusets": list(rank.compute_cpusets), **threads}


def _clock(clock: HeaderClock) -> Json:
    return dict(vars(clock))


def _plan(plan: Plan) -> Json:
    return {**vars(plan), "parameters": {name: list(values) for name, values in plan.parameters.items()}}


def point_line(point: Point) -> Json:
    """The line of a point."""
    reached = point.interval_relative_reached
    line: Json = {
        "type": "point",
        "index": point.index,
        "parameters": dict(point.parameters),
        "repetitions": point.repetitions,
        "warmup_repetitions": point.warmup_repetitions,
        "late_repetitions": point.late_repetitions,
        "discarded_repetitions": point.discarded_repetitions,
        "stop_reason": point.stop_reason or None,
        "interval_relative_reached": None if math.isnan(reached) else reached,
        "data_errors": point.data_errors,
        "start_method": point.start_method or None,
        "clock": None if point.clock is None else dict(vars(point.clock)),
        "series": _lists(point.series),
        "warmup": _lists(point.warmup),
        "spreads": {name: _lists(vars(spread)) for name, spread in point.spreads.items()},
        "rank_medians": _lists(point.rank_medians),
    }
    for name in ("thread_medians", "rank_samples"):
        tables = getattr(point, name)
        if tables is not None:
            line[name] = _lists(tables)
    return {**line, "own": point.own}


def _lists(arrays: Mapping[str, Nanoseconds]) -> Json:
    return {name: values.tolist() for name, values in arrays.items()}


def footer_line(footer: Footer, points: int) -> Json:
    """The last line.  points: the number of points before it."""
    return {
        "type": "footer",
        "complete": footer.complete,
        "reason": footer.reason,
        "points": points,
        "wall_seconds": footer.wall_seconds,
        "measured_seconds": footer.measured_seconds,
        "spent_seconds": None if footer.spent_seconds is None else dict(footer.spent_seconds),
        "clock_residual_ns": footer.clock_residual_ns,
        "clock_synchronisations": footer.clock_synchronisations,
        "clock_synchronisation_seconds": footer.clock_synchronisation_seconds,
        "clock_refusal": footer.clock_refusal,
        "mpi_thread_cpu_ns": [list(rank) for rank in footer.mpi_thread_cpu_ns],
        "helper_thread_cpu_ns": [list(rank) for rank in footer.helper_thread_cpu_ns],
        "tcp_bytes_sent": list(footer.tcp_bytes_sent or ()),
        "own": footer.own,
    }
