"""Curves of a run: the gain of giving up a core, over sizes and cores, and the effect of calling MPI_Test."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.curves import COLOURS, DASHED, Chart, ChartAxis, Curve, Mark, Style, ratio_axis, sure_values
from postprocess.drawing.text import cores, duration, with_interval
from postprocess.families.axes import TEST_INTERVAL
from postprocess.families.nbc_overlap.axes import OF_RECORD
from postprocess.families.nbc_overlap.break_even import gave_up
from postprocess.families.nbc_overlap.diagnosis import deciding_ratio
from postprocess.families.nbc_overlap.maps import launch_words
from postprocess.families.nbc_overlap.points import usable
from postprocess.families.nbc_overlap.summary import case_notes
from postprocess.families.nbc_overlap.tables import remarks
from postprocess.families.sampled_table import estimate_of
from postprocess.records.header import NAMED
from postprocess.statistics.metrics import Estimate, as_float, median_estimate, per_work_estimate

CORES = (2, 4, 8, 16, 32, 64, 128)
"""The numbers of cores for which the gain of giving some up is predicted."""
GAIN, OVER_CORES, MPI_TEST = "gain", "cores", "mpi-test"
"""The kinds of charts."""
LEVEL = 1.0
"""Where nothing is gained or lost."""
_LOOKS = (("blue", "o"), ("red", "s"), ("green", "D"), ("pink", "^"), ("orange", "v"), ("sky", "x"), ("black", "o"))
"""The colour and the marker of each configuration of a chart."""
_SIZES = ChartAxis("communication and computation time", log=True, words=duration)
_CORES = ChartAxis("cores per rank", log=True, words=lambda place: str(int(place)))
_PER_WORK = "speedup_vs_basic_per_work"
_MAP = ["toolchain", "network", "collective"]


def charts(points: pd.DataFrame) -> Iterator[Chart]:
    """Yield all charts that can be made from the table `points_of(run)`."""
    gains = gave_up(points)
    named = gains.assign(name=[launch_words({**row, NAMED: 0}) for row in rows_of(gains)])  # cores stand beside it
    for (*names, share), rows in named.groupby([*_MAP, "cores_per_rank"], sort=False):
        diagonal = rows[rows["comm_target_ns"] == rows["comp_target_ns"]].sort_values("comm_target_ns", kind="stable")
        curves = [
            (str(name), list(map(_mark_of_point, rows_of(of_name))))
            for name, of_name in diagonal.groupby("name", sort=False)
        ]
        if curves:
            title = f"Speed-up by the work done: {' '.join(map(str, names))}, {cores(share)}"
            yield _chart(GAIN, title, _SIZES, "times basic", curves)
    for names, rows in named.groupby(_MAP, sort=False):
        curves = list(_over_cores(rows))
        if curves:
            title = f"From how many cores giving one up pays, median over the map: {' '.join(map(str, names))}"
            yield _chart(OVER_CORES, title, _CORES, "times basic, by work", curves)
    yield from _over_intervals(points)


def _over_cores(rows: pd.DataFrame) -> Iterator[tuple[str, list[Mark]]]:
    """The median over the map at each number of cores: measured, and predicted from each number that was measured."""
    numbers = sorted({*CORES, *map(int, rows["cores_per_rank"])})
    for configuration, of_name in rows.groupby("name", sort=False):
        measured: list[Mark] = []
        for on, part in of_name.groupby("cores_per_rank", sort=False):
            chosen = usable(part)
            if chosen.empty:
                continue
            gained = median_estimate(chosen["speedup_vs_basic"].to_numpy(np.float64))
            given_up = int(chosen["given_up_cores"].iloc[0])
            note = "; ".join(case_notes(part))
            # As in `metrics.break_even_estimate`: the times per thread stay the same, and n - g of n threads compute.
            marks = [_mark(n, per_work_estimate(gained, n - given_up, given_up), note) for n in numbers if n > given_up]
            yield f"{configuration}, predicted from {on} cores", marks
            measured += (mark for mark in marks if mark.place == on)
        if measured:
            yield f"{configuration}, measured", sorted(measured, key=lambda mark: mark.place)


def _over_intervals(points: pd.DataFrame) -> Iterator[Chart]:
    """The median overhead ratio of each map over the interval of MPI_Test, for cases with several intervals."""
    for names, same in points.groupby([*_MAP, *(axis.name for axis in OF_RECORD if axis != TEST_INTERVAL)], sort=False):
        # "Never" is first and the longest interval second, so that calls become more frequent to the right.
        intervals = sorted(set(map(int, same[TEST_INTERVAL.name])), key=lambda ns: -ns if ns else -math.inf)
        if len(intervals) < 2:
            continue
        curves = []
        for (configuration, share), part in same.groupby(["configuration", NAMED], sort=False):
            maps = [(place, part[part[TEST_INTERVAL.name] == every]) for place, every in enumerate(intervals)]
            marks = [mark for place, rows in maps for mark in _mark_of_map(place, rows)]
            if marks:
                curves.append((f"{configuration}, {cores(int(str(share)))}" if share else str(configuration), marks))
        words = partial(_interval_words, intervals)
        horizontal = ChartAxis("MPI_Test every", log=False, words=words)
        what = "r_overhead with MPI_Test, against basic where that can be, median over the map"
        if curves:
            yield _chart(MPI_TEST, f"{what}: {' '.join(map(str, names))}", horizontal, "r_overhead", curves)


def _interval_words(intervals: Sequence[int], place: float) -> str:
    return duration(every) if (every := intervals[int(place)]) else "never"


def _mark_of_map(place: int, rows: pd.DataFrame) -> Iterator[Mark]:
    chosen = rows_of(usable(rows))
    overhead = median_estimate([row[deciding_ratio(row)] for row in chosen])
    if chosen and math.isfinite(as_float(overhead.value)):
        with_basic = [math.isfinite(row["r_overhead_vs_basic"]) for row in chosen]
        notes = list(case_notes(rows, with_basic.count(False), len(chosen)))
        own = sum(has and deciding_ratio(row) == "r_overhead" for has, row in zip(with_basic, chosen, strict=True))
        if own:
            notes.append(f"own references at {own} of {len(chosen)}, faster than basic's")
        yield _mark(place, overhead, "; ".join(notes))


def _mark_of_point(row: dict[str, object]) -> Mark:
    return _mark(int(str(row["comm_target_ns"])), estimate_of(row, _PER_WORK), "; ".join(remarks(row)))


def _mark(place: int, estimate: Estimate, note: str) -> Mark:
    number = with_interval(*estimate.numbers)
    return Mark(place, *estimate.numbers, f"{number}; {note}" if note else number, pale=bool(note))


def _chart(
    kind: str, title: str, horizontal: ChartAxis, vertical: str, named: Sequence[tuple[str, Sequence[Mark]]]
) -> Chart:
    """The chart of these marks by the names of their curves. Those of one configuration share a look; what is predicted
    is a dashed line."""
    configurations = list(dict.fromkeys(name.partition(",")[0] for name, _ in named))
    curves = []
    for name, marks in named:
        colour, marker = _LOOKS[configurations.index(name.partition(",")[0]) % len(_LOOKS)]
        style = Style(COLOURS[colour], marker)
        is_predicted = ", predicted from " in name
        curves.append(Curve(name, replace(style, marker="", line=DASHED) if is_predicted else style, tuple(marks)))
    noted: dict[str, list[str]] = {}
    for curve in curves:
        for mark in curve.marks if curve.style.marker else ():
            if mark.pale:
                words = mark.words.partition("; ")[2]
                noted.setdefault(words, []).append(f"{curve.name} at {horizontal.words(mark.place)}")
    low, high = sure_values(curves)
    low, high = min(low, LEVEL), max(high, LEVEL)
    space = 0.06 * (high - low) or 0.1
    return Chart(
        kind=kind,
        title=title,
        figures="",
        horizontal=horizontal,
        vertical=ratio_axis(vertical),
        low=low - space,
        high=high + space,
        curves=tuple(curves),
        level=LEVEL,
        pale_are="with a remark",
        remarks=tuple(f"{words} ({', '.join(places)})" for words, places in noted.items()),
    )
