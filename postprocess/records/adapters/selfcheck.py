"""Version 1 of `mpi-campaign.selfcheck`: the records of `timing_selfcheck`, with a type of line per section."""

from __future__ import annotations

import math

from postprocess.records.adapters.record import metadata_of
from postprocess.records.envelope import header_clock_of, placement_of, timer_of
from postprocess.records.fields import Fields, Nanoseconds, fail
from postprocess.records.format import Format, PointReader
from postprocess.records.header import NO_PLAN, NO_PROGRESS_KNOWN, Header, Parameter
from postprocess.records.record import Footer, Point

SCHEMA = "mpi-campaign.selfcheck"
FAMILY = "timing_selfcheck"
_OWN = {
    "timer": ("name", "resolution_ns", "overhead_ns", "backwards_ns"),
    "clock": (
        "method", "refusal", "reason", "clocks", "rounds", "synchronisations", "synchronisation_seconds",
        "shortest_trip_ns", "drift_ppm", "baseline_seconds", "residuals",
    ),
    "start": ("reason", "late_imbalance_ns"),
    "noise": (
        "host", "cpu", "seconds", "threshold_ns", "detours", "share", "longest_ns", "detour_lengths_ns", "truncated",
    ),
    "work": ("calibration", "reason"),
}  # fmt: skip
"""The sections, and what stands in `own` of each as it stands in the line; whoever reads it says what is wrong."""


def _header(line: Fields) -> Header:
    """Nobody gives up a core here, and control variables were not asked for."""
    header = Header(
        schema=SCHEMA,
        schema_version=line.count("schema_version"),
        family=FAMILY,
        method=1,
        benchmark=line.text("benchmark"),
        toolchain=line.text("toolchain"),
        provider=line.text("provider"),
        configuration=line.text("configuration"),
        network=line.text("network"),
        command_line=line.texts("command_line"),
        started_utc=line.text("started_utc"),
        mpi_library_version=line.text("mpi_library_version"),
        mpi_standard=line.text("mpi_standard"),
        thread_level_required=line.text("thread_level_required"),
        thread_level_provided=line.text("thread_level_provided"),
        ranks=line.count("ranks"),
        nodes=line.count("nodes"),
        threads_per_rank=line.count("threads_per_rank"),
        physical_cores=line.count("physical_cores"),
        oversubscribed=line.flag("oversubscribed"),
        shared_core=line.flag("shared_core"),
        progress=NO_PROGRESS_KNOWN,
        placement=tuple(placement_of(rank, helpers=False) for rank in line.each("placement")),
        timer=timer_of(line.inside("timer")),
        start_method="",
        seed=line.count("seed"),
        build=line.mapping("build"),
        environment=line.strings("environment"),
        mpi_variables=None,
        clock=header_clock_of(line.inside("clock")),
        plan=NO_PLAN,
        own={},
        metadata=metadata_of(line),
        where=line.where,
    )
    if not 0 < header.ranks == len(header.placement):
        fail(line.where, f"{header.ranks} ranks, but {len(header.placement)} placements")
    return header


class _Lines:
    """The lines of one record; the place of each is its index."""

    def __init__(self, _header: Header) -> None:
        self.points = 0

    def read(self, line: Fields) -> Point:
        section = line.text("type")
        parameters: dict[str, Parameter] = {"section": section}
        series: dict[str, Nanoseconds] = {}
        repetitions = 0
        if section == "start":
            parameters["method"] = line.text("method")
            repetitions, imbalance = line.count("repetitions"), line.times("imbalance_ns")
            series = {"start_imbalance_ns": imbalance} if imbalance.size else {}
        elif section == "noise":
            parameters |= {name: line.count(name) for name in ("rank", "thread")}
        elif section == "work":
            parameters |= {"kind": line.text("kind"), "target_ns": line.count("target_ns"), "size": line.count("size")}
            repetitions = len(line.items("samples_ns"))
            series = {"t_ns": line.times("samples_ns"), "elapsed_ns": line.times("elapsed_ns", repetitions)}
        point = Point(
            index=self.points,
            parameters=parameters,
            repetitions=repetitions,
            warmup_repetitions=line.count("warmup_repetitions") if section == "work" else 0,
            late_repetitions=line.count("late") if section in ("start", "work") else 0,
            discarded_repetitions=0,
            stop_reason=line.text("stop_reason") if section == "work" else "",
            interval_relative_reached=math.nan,
            data_errors=0,
            start_method="",
            clock=None,
            series=series,
            warmup={},
            spreads={},
            rank_medians={},
            thread_medians=None,
            rank_samples=None,
            own={name: line.value[name] for name in _OWN[section] if name in line.value},
            where=line.where,
        )
        self.points += 1
        return point


def _points(header: Header) -> PointReader:
    return _Lines(header).read


def _footer(line: Fields, _header: Header, _points: int) -> Footer:
    return Footer(
        complete=line.flag("complete"),
        reason=line.text("reason"),
        wall_seconds=line.number("wall_seconds"),
        measured_seconds=None,
        clock_residual_ns=None,
        clock_synchronisations=None,
        clock_synchronisation_seconds=None,
        clock_refusal="",
        mpi_thread_cpu_ns=(),
        helper_thread_cpu_ns=(),
        tcp_bytes_sent=None,
        own={},
        where=line.where,
    )


FORMAT = Format(
    schema=SCHEMA,
    versions=(1,),
    kinds=tuple(_OWN),
    otherwise="not a line of a self-check",
    header=_header,
    points=_points,
    footer=_footer,
    schema_file=lambda _line: "selfcheck-v1.schema.json",
)
