"""Version 1 of `mpi-campaign.selfcheck`: the records of `timing_selfcheck`, with a type of line per section."""

from __future__ import annotations

from dataclasses import replace

from postprocess.records.adapters.own_programs import header_of_own_program
from postprocess.records.fields import Fields, Nanoseconds
from postprocess.records.format import Format, PointReader
from postprocess.records.header import Header, Parameter
from postprocess.records.parts import footer_of, header_clock_of
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
"""The keys of `own` by section. Their values are those in the line; the view of the family checks them."""


def _header(line: Fields) -> Header:
    """The header. This program gives up no core and asks for no control variables."""
    return replace(
        header_of_own_program(line, FAMILY, helpers=False),
        seed=line.count("seed"),
        clock=header_clock_of(line.inside("clock")),
    )


class _Lines:
    """Reads the sections of one record, line by line. The index of a point is its place among them."""

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
            stop_reason=line.text("stop_reason") if section == "work" else "",
            series=series,
            own={name: line.value[name] for name in _OWN[section] if name in line.value},
            where=line.where,
        )
        self.points += 1
        return point


def _points(header: Header) -> PointReader:
    return _Lines(header).read


def _footer(line: Fields, _header: Header, _points: int) -> Footer:
    return footer_of(line)


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
