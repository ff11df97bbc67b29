"""Version 1 of `mpi-campaign.impact`: the records of `mpi_impact`, in which a line of its own begins each launch.

What that line says stands in `own` of each of the launch's points; a launch without a point, which was cut off, is left
out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from postprocess.records.adapters.own_programs import header_of_own_program
from postprocess.records.fields import Fields, Json, Nanoseconds, fail
from postprocess.records.format import Format, PointReader
from postprocess.records.header import Header, Plan
from postprocess.records.parts import footer_of, progress_of
from postprocess.records.record import Footer, Point

SCHEMA = "mpi-campaign.impact"
FAMILY = "mpi_impact"
_OF_LAUNCH = ("started_utc", "wall_seconds", "command_line", "places", "mpi_thread_cpu_ns", "helper_thread_cpu_ns")


def _header(line: Fields) -> Header:
    return replace(
        header_of_own_program(line, FAMILY),
        progress=progress_of(line.inside("progress")),
        mpi_variables=line.strings("mpi_variables"),
        plan=_plan(line.inside("plan")),
    )


def _plan(plan: Fields) -> Plan:
    targets = tuple(target.positive("comp_target_ns") for target in plan.each("targets"))
    if not targets:
        fail(plan.where, "no computation time")
    return Plan(
        parameters={"comp_target_ns": targets, "computation": (plan.text("computation"),)},
        sizes_given=plan.flag("sizes_given"),
        own={name: plan.value[name] for name in ("targets", "launches") if name in plan.value},
    )


class _Lines:
    """Reads the launches and points of one record, line by line. ``launch`` is what the latest launch's line says."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.points = 0
        self.launches = 0
        self.in_launch = 0
        self.program = ""
        self.launch: Json = {}

    def read(self, line: Fields) -> Point | None:
        """A point; None for a line that begins a launch."""
        if line.value.get("type") == "point":
            return self._point(line)
        self.program = line.text("program")
        if line.count("launch") != self.launches:
            fail(line.where, f"launch {line.count('launch')} where {self.launches} is next")
        for name in _OF_LAUNCH:
            if name not in line.value:
                fail(line.where, f"{name} is missing")
        self.launch = {name: line.value[name] for name in _OF_LAUNCH}
        self.launches += 1
        self.in_launch = 0
        return None

    def _point(self, line: Fields) -> Point:
        if not self.launches:
            fail(line.where, "a point before the first launch")
        launch = self.launches - 1
        if line.count("launch") != launch:
            fail(line.where, f"a point of launch {line.count('launch')} among those of {launch}")
        targets = len(self.header.plan.parameters["comp_target_ns"])
        if line.count("index") != self.in_launch or self.in_launch >= targets:
            fail(line.where, f"point {line.count('index')} where {self.in_launch} of {targets} is next")
        times = self._times(line)
        point = Point(
            index=self.points,
            parameters={
                "comp_target_ns": line.count("comp_target_ns"),
                "work_size": line.count("work_size"),
                "launch": launch,
                "program": self.program,
            },
            repetitions=times.shape[1],
            rank_samples={"t_comp_ns": times},
            own={"launch": self.launch, **_own(line)},
            where=line.where,
        )
        self.points += 1
        self.in_launch += 1
        return point

    def _times(self, line: Fields) -> Nanoseconds:
        """The times of a point, (ranks, repetitions). Raises RecordError unless all ranks have as many."""
        times, ranks = line.items("t_comp_ns"), self.header.ranks
        if len(times) != ranks:
            fail(line.where, f"t_comp_ns is not of {ranks} ranks")
        by_rank = Fields({str(rank): values for rank, values in enumerate(times)}, line.where, "t_comp_ns.")
        first = by_rank.times("0")
        return np.array([first, *(by_rank.times(str(rank), len(first)) for rank in range(1, ranks))], dtype=np.int64)


def _own(line: Fields) -> Json:
    return {"window_utc_ns": line.value["window_utc_ns"]} if "window_utc_ns" in line.value else {}


def _footer(line: Fields, _header: Header, _points: int) -> Footer:
    return footer_of(line)


def _points(header: Header) -> PointReader:
    return _Lines(header).read


FORMAT = Format(
    schema=SCHEMA,
    versions=(1,),
    kinds=("launch", "point"),
    otherwise="neither a launch, a point nor a footer",
    header=_header,
    points=_points,
    footer=_footer,
    schema_file=lambda _line: "impact-v1.schema.json",
)
