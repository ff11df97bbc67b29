"""Curves of a run: the gain of giving up a core, over sizes and cores, and the effect of calling MPI_Test.

Each `Chart` is drawn twice from the same numbers: by `chart_plot` for papers, and as SVG in the report.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.text import cores, duration, interval, ratio
from postprocess.families.axes import TEST_INTERVAL
from postprocess.families.nbc_overlap.axes import OF_RECORD
from postprocess.families.nbc_overlap.break_even import break_even_table
from postprocess.families.nbc_overlap.diagnosis import deciding_ratio
from postprocess.families.nbc_overlap.maps import launch_words
from postprocess.families.nbc_overlap.summary import case_notes
from postprocess.families.nbc_overlap.tables import remarks
from postprocess.records.header import NAMED
from postprocess.statistics.metrics import Estimate, as_float, median_estimate, per_work_estimate

CORES = (2, 4, 8, 16, 32, 64, 128)
"""The numbers of cores for which the gain of giving some up is predicted."""

Row = Mapping[Any, Any]


@dataclass(frozen=True)
class Mark:
    """A value with its 95 % interval (NaN if unknown) at the category ``place``. ``remarks``: what is wrong with it."""

    place: int
    value: float
    low: float
    high: float
    remarks: str = ""

    @property
    def words(self) -> str:
        """Value, interval and remarks."""
        bounds = interval(self.low, self.high)
        return "; ".join(text for text in (f"{ratio(self.value)} {bounds}".removesuffix(" -"), self.remarks) if text)


@dataclass(frozen=True)
class Series:
    """Marks of one curve. ``predicted`` marks were not measured at their categories."""

    name: str
    marks: tuple[Mark, ...]
    predicted: bool = False


@dataclass(frozen=True)
class Chart:
    """Ratios over categories, with a line at the ratio where nothing is gained or lost.

    ``kind`` and ``case`` name the file of its picture.
    """

    kind: str
    what: str
    case: str
    x_name: str
    y_name: str
    categories: tuple[str, ...]
    series: tuple[Series, ...]
    line: float = 1.0

    @property
    def title(self) -> str:
        """What the chart shows, and of which case."""
        return f"{self.what}: {self.case}"

    @property
    def range(self) -> tuple[float, float]:
        """The ends of the ratio's axis.

        They include the line, every value, and the ends of intervals unless they lie more than ten times the range of
        the values outside it.
        """
        marks = [mark for series in self.series for mark in series.marks]
        values = [self.line, *(mark.value for mark in marks)]
        low, high = min(values), max(values)
        room = 10 * max(high - low, 0.1)
        ends = [end for mark in marks for end in (mark.low, mark.high) if math.isfinite(end)]
        low = min([low, *(end for end in ends if end > low - room)])
        high = max([high, *(end for end in ends if end < high + room)])
        space = 0.06 * (high - low) or 0.1
        return low - space, high + space


def charts_of(points: pd.DataFrame) -> list[Chart]:
    """All charts that can be made from the table `points_of(run)`."""
    rows = [{str(key): value for key, value in row.items()} for row in points.to_dict("records")]
    return [*gain_charts(points), *interval_charts(rows)]


def gain_charts(points: pd.DataFrame) -> list[Chart]:
    """The speed-up by work of giving up a core: over the sizes of the map's diagonal, and over the number of cores."""
    gains = [{str(k): v for k, v in row.items()} for row in break_even_table(points).to_dict("records")]
    by_index = {(row["record"], row["index"]): row for row in points.to_dict("records")}
    whole = {_place(row): row for row in by_index.values()}
    pairs = [(row, whole[_place(row)]) for row in gains]
    rows = [{**row, "remarks": "; ".join(remarks(point)), "failed": point["failed"]} for row, point in pairs]
    charts = []
    for key, same in _grouped(rows, ("toolchain", "network", "collective", "cores_per_rank")).items():
        diagonal = [row for row in same if row["comm_target_ns"] == row["comp_target_ns"]]
        targets = sorted({row["comm_target_ns"] for row in diagonal})
        series = tuple(
            Series(
                name,
                tuple(
                    _column_mark(targets.index(row["comm_target_ns"]), row, "speedup_vs_basic_per_work", row["remarks"])
                    for row in sorted(part, key=lambda row: row["comm_target_ns"])
                ),
            )
            for (name,), part in _grouped([{**row, "name": _name(row)} for row in diagonal], ("name",)).items()
        )
        if targets:
            *names, share = key
            case = f"{' '.join(names)}, {cores(share)}"
            axes = ("communication and computation time", "times basic")
            times = tuple(duration(target) for target in targets)
            charts.append(Chart("gain", "Speed-up by the work done", case, *axes, times, series))
    for key, same in _grouped(rows, ("toolchain", "network", "collective")).items():
        chart = _cores_chart(" ".join(key), same, whole)
        charts += [chart] if chart.series else []
    return charts


def _cores_chart(name: str, rows: Sequence[Row], whole: Mapping[tuple[Any, ...], Row]) -> Chart:
    """The median over the map at each number of cores: measured, and predicted from each number that was measured."""
    measured_on = sorted({int(row["cores_per_rank"]) for row in rows})
    numbers = sorted({*CORES, *measured_on})
    series = []
    for (configuration,), same in _grouped([{**r, "name": _name(r)} for r in rows], ("name",)).items():
        measured: list[Mark] = []
        for (on,), part in _grouped(same, ("cores_per_rank",)).items():
            usable = _usable(part)
            if not usable:
                continue
            gained = median_estimate([whole[_place(row)]["speedup_vs_basic"] for row in usable])
            given_up = usable[0]["given_up_cores"]
            note = "; ".join(case_notes(pd.DataFrame([whole[_place(row)] for row in part])))
            # As in `metrics.break_even_estimate`: the times per thread stay the same, and n - g of n threads compute.
            by_work = {
                i: per_work_estimate(gained, n - given_up, given_up) for i, n in enumerate(numbers) if n > given_up
            }
            marks = [_estimate_mark(i, estimate, note) for i, estimate in by_work.items()]
            series.append(Series(f"{configuration}, predicted from {on} cores", tuple(marks), predicted=True))
            measured += (mark for mark in marks if numbers[mark.place] == on)
        if measured:
            series.append(Series(f"{configuration}, measured", tuple(sorted(measured, key=lambda mark: mark.place))))
    what, axes = (
        "From how many cores giving one up pays, median over the map",
        ("cores per rank", "times basic, by work"),
    )
    return Chart("cores", what, name, *axes, tuple(map(str, numbers)), tuple(series))


def interval_charts(rows: Iterable[Row]) -> list[Chart]:
    """The median overhead ratio of each map over the interval of MPI_Test, for cases with several intervals."""
    charts = []
    names_of_one = ("toolchain", "network", "collective", *(one.name for one in OF_RECORD if one != TEST_INTERVAL))
    for key, same in _grouped(rows, names_of_one).items():
        # "Never" is first and the longest interval second, so that calls become more frequent to the right.
        intervals = sorted({int(row["test_interval_ns"]) for row in same}, key=lambda ns: -ns if ns else -math.inf)
        if len(intervals) < 2:
            continue
        series = []
        for (configuration, share), part in _grouped(same, ("configuration", NAMED)).items():
            name = f"{configuration}, {cores(share)}" if share else configuration
            marks = []
            for (every,), maps in sorted(_grouped(part, ("test_interval_ns",)).items(), reverse=True):
                usable = _usable(maps)
                overhead = median_estimate([row[deciding_ratio(row)] for row in usable])
                if usable and math.isfinite(as_float(overhead.value)):
                    alone = sum(not math.isfinite(row["r_overhead_vs_basic"]) for row in usable)
                    notes = case_notes(pd.DataFrame(maps), alone, len(usable))
                    note = "; ".join([*notes, *_own_references(usable)])
                    marks.append(_estimate_mark(intervals.index(int(every)), overhead, note))
            if marks:
                series.append(Series(str(name), tuple(sorted(marks, key=lambda mark: mark.place))))
        names = tuple(duration(ns) if ns else "never" for ns in intervals)
        what = "r_overhead with MPI_Test, against basic where that can be, median over the map"
        axes = ("MPI_Test every", "r_overhead")
        if series:
            charts.append(Chart("mpi-test", what, " ".join(map(str, key)), *axes, names, tuple(series)))
    return charts


def _name(row: Row) -> str:
    """`launch_words` without the number of cores, which stands beside it."""
    return launch_words({**row, NAMED: 0})


def _own_references(rows: Sequence[Row]) -> list[str]:
    """A note on the number of points where the own references decide although there is a basic; empty if none."""
    own = sum(deciding_ratio(row) == "r_overhead" and math.isfinite(row["r_overhead_vs_basic"]) for row in rows)
    return [f"own references at {own} of {len(rows)}, faster than basic's"] if own else []


def _grouped(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def _usable(rows: Sequence[Row]) -> list[Row]:
    """The rows that `points.usable` would choose; rows without the column `valid` are valid."""
    valid = [row for row in rows if row.get("valid", True) and not row["failed"]]
    reliable = [row for row in valid if row["reliable"]]
    return reliable if 2 * len(reliable) >= len(valid) else valid


def _place(row: Row) -> tuple[Any, ...]:
    names = ("toolchain", "provider", "network", "configuration", "collective", "ranks", "nodes", "threads_per_rank")
    asked = (one.name for one in OF_RECORD)
    return tuple(row[name] for name in (*names, *asked, "launch", "comm_target_ns", "comp_target_ns"))


def _estimate_mark(place: int, estimate: Estimate, words: str) -> Mark:
    value, low, high = (as_float(part) for part in (estimate.value, estimate.low, estimate.high))
    return Mark(place, value, low, high, words)


def _column_mark(place: int, row: Row, name: str, words: str) -> Mark:
    value, low, high = (float(np.float64(row[f"{name}{end}"])) for end in ("", "_ci95_low", "_ci95_high"))
    return Mark(place, value, low, high, words)
