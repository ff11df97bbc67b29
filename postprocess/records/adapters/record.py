"""Versions 1 to 3 of `mpi-campaign.record`: the records of `nbc_overlap` before it shared its lines with others.

Version 1 had one start method for all points and one set of buffers, kept no warm-ups, and neither recalibrated nor
discarded repetitions. Version 2 had no calls of MPI_Test and no cores that are given up, and called the size of work
`matrix_size`. What a version does not have is null, None or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from postprocess.records.adapters.own_programs import header_of_own_program
from postprocess.records.envelope import SCHEMA
from postprocess.records.fields import Fields, Json, Nanoseconds
from postprocess.records.format import Format, PointReader
from postprocess.records.header import Header, Plan, Progress
from postprocess.records.parts import (
    check_points,
    clock_of,
    footer_of,
    header_clock_of,
    progress_of,
    spread_of,
)
from postprocess.records.record import Clock, Footer, Point, Spread

FAMILY = "nbc_overlap"
_SERIES = ("t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns")
_TERMS = ("t_call_ns", "t_comp_ns", "t_test_ns", "t_wait_ns")
_RANK_SAMPLES = (*_TERMS, "t_comm_ref_ns", "t_comp_ref_ns")
_RANK_MEDIANS = ("t_mpi_ns", "t_comm_ref_ns", "t_comp_ns", "t_comp_ref_ns")
_THREAD_MEDIANS = ("t_comp_ns", "t_comp_ref_ns")
_NO_DRIFT = {"change_relative": None, "p_value": None}
_OWN: Mapping[str, tuple[int, object]] = {
    "comm_calibration": (1, None),
    "comp_calibration": (1, None),
    "recalibrations": (2, 0),
    "buffer_sets": (2, 1),
    "reference_drift": (2, {"comm": _NO_DRIFT, "comp": _NO_DRIFT}),
    "reference_moved": (2, {"comm": None, "comp": None}),
    "test_calls": (3, 0),
}
"""The keys of `own`: the version since which lines have a key, and its value in older versions."""


def _header(line: Fields) -> Header:
    version = line.count("schema_version")
    return replace(
        header_of_own_program(line, FAMILY, helpers=version >= 3),
        progress=_progress(line, version),
        start_method=line.text("start_method"),
        seed=line.count("seed"),
        mpi_variables=None if version < 3 else line.strings("mpi_variables"),
        clock=None if version == 1 else header_clock_of(line.inside("clock")),
        plan=_plan(line.inside("plan"), version),
    )


def _progress(line: Fields, version: int) -> Progress:
    if version < 3:  # `async` was the only configuration with a progress thread
        return Progress("none" if line.text("configuration") == "basic" else "library", "none", 0)
    return progress_of(line.inside("progress"))


def _plan(plan: Fields, version: int) -> Plan:
    return Plan(
        parameters={
            "collective": plan.texts("collectives"),
            "comm_target_ns": plan.counts("comm_targets_ns"),
            "comp_target_ns": plan.counts("comp_targets_ns"),
            "cache": ("warm" if version == 1 else plan.text("cache"),),
            "computation": ("dgemm" if version < 3 else plan.text("computation"),),
            "test_interval_ns": (0 if version < 3 else plan.count("test_interval_ns"),),
        },
        points=plan.count("points"),
        budget_seconds=plan.number("budget_seconds"),
        interval_relative=plan.number("interval_relative"),
        min_repetitions=plan.count("min_repetitions"),
        max_repetitions=plan.count("max_repetitions"),
        sizes_given=plan.flag("sizes_given"),
    )


def _points(header: Header) -> PointReader:
    def read(line: Fields) -> Point:
        return _point(line, header)

    return read


def _point(line: Fields, header: Header) -> Point:
    version = header.schema_version
    samples, medians = line.inside("samples"), line.inside("rank_medians")
    n = line.count("repetitions")
    never = np.zeros(n, dtype=np.int64)
    clock = _clock(line.inside("clock"), version)
    imbalance = samples.times("start_imbalance_ns", 0 if clock.method == "none" else n)
    old_names = {"t_mpi_ns": "t_call_plus_wait_ns"} if version < 3 else {}
    return Point(
        index=line.count("index"),
        parameters={
            "collective": line.text("collective"),
            "comm_target_ns": line.count("comm_target_ns"),
            "comp_target_ns": line.count("comp_target_ns"),
            "message_bytes": line.count("message_bytes"),
            "work_size": line.count("matrix_size" if version < 3 else "work_size"),
        },
        repetitions=n,
        warmup_repetitions=line.count("warmup_repetitions"),
        late_repetitions=line.count("late_repetitions"),
        discarded_repetitions=0 if version == 1 else line.count("discarded_repetitions"),
        stop_reason=line.text("stop_reason"),
        interval_relative_reached=line.number_or_nan("interval_relative_reached"),
        data_errors=line.count("data_errors"),
        start_method=header.start_method if version == 1 else line.text("start_method"),
        clock=clock,
        series={name: samples.times(name, n) for name in _SERIES}
        | ({} if clock.method == "none" else {"start_imbalance_ns": imbalance}),
        warmup=_warmup(line, version),
        spreads={
            name: Spread(never, never, never, never)
            if name == "t_test_ns" and version < 3
            else spread_of(samples.inside(name), n)
            for name in _TERMS
        },
        rank_medians={name: medians.times(old_names.get(name, name), header.ranks) for name in _RANK_MEDIANS},
        thread_medians=_thread_medians(line, header),
        rank_samples=_rank_samples(line, header.ranks, n, version),
        own=_own(line, version),
        where=line.where,
    )


def _clock(line: Fields, version: int) -> Clock:
    return Clock(line.text("method"), line.number("residual_ns"), None, None) if version == 1 else clock_of(line)


def _warmup(line: Fields, version: int) -> dict[str, Nanoseconds]:
    if version == 1:
        return {}
    samples, n = line.inside("warmup_samples"), line.count("warmup_repetitions")
    return {name: samples.times(name, n) for name in _SERIES}


def _rank_samples(line: Fields, ranks: int, repetitions: int, version: int) -> dict[str, Nanoseconds] | None:
    if "rank_samples" not in line.value:
        return None
    samples, shape = line.inside("rank_samples"), (ranks, repetitions)
    return {
        name: np.zeros(shape, dtype=np.int64)
        if name == "t_test_ns" and version < 3
        else samples.times_table(name, *shape)
        for name in _RANK_SAMPLES
    }


def _thread_medians(line: Fields, header: Header) -> dict[str, Nanoseconds] | None:
    if header.schema_version < 3 or "thread_medians" not in line.value:
        return None
    medians, shape = line.inside("thread_medians"), (header.ranks, header.threads_per_rank)
    return {name: medians.times_table(name, *shape) for name in _THREAD_MEDIANS}


def _own(line: Fields, version: int) -> Json:
    """The values of `_OWN`, as they are in the line. They are checked by the view of the family."""
    own: Json = {}
    for name, (since, before) in _OWN.items():
        if version < since:
            own[name] = before
        elif name in line.value:
            own[name] = line.value[name]
    return own


def _footer(line: Fields, header: Header, points: int) -> Footer:
    version = header.schema_version
    check_points(line, points)
    return replace(
        footer_of(line),
        measured_seconds=line.number("measured_seconds"),
        clock_residual_ns=line.number_or_none("clock_residual_ns"),
        clock_synchronisations=None if version == 1 else line.count("clock_synchronisations"),
        clock_synchronisation_seconds=None if version == 1 else line.number("clock_synchronisation_seconds"),
        clock_refusal="" if version == 1 else line.text("clock_refusal"),
        mpi_thread_cpu_ns=line.count_lists("mpi_thread_cpu_ns"),
        helper_thread_cpu_ns=() if version < 3 else line.count_lists("helper_thread_cpu_ns"),
        tcp_bytes_sent=None if version < 3 else line.counts_or_none("tcp_bytes_sent"),
    )


def _schema_file(line: Fields) -> str:
    return f"record-v{line.count('schema_version')}.schema.json"


FORMAT = Format(
    schema=SCHEMA,
    versions=(1, 2, 3),
    kinds=("point",),
    otherwise="neither a point nor a footer",
    header=_header,
    points=_points,
    footer=_footer,
    schema_file=_schema_file,
)
