"""Pages with the verdicts of a comparison, a history or an acceptance: one template with a table and filters."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing import page
from postprocess.drawing.matrix_view import MatrixView
from postprocess.drawing.text import duration, plural
from postprocess.families import registry
from postprocess.families.family import Axis
from postprocess.statistics.metrics import Floats
from postprocess.verdicts import compare_text, verdict_matrix
from postprocess.verdicts.acceptance import FAIL, NOT_TESTED, PASS, Criteria, Result
from postprocess.verdicts.compare import FASTER, METRICS, SAME, SLIGHT, SLOWER, UNKNOWN, Comparison, group_columns
from postprocess.verdicts.compare_text import (
    MATRIX_KEY,
    POINT_AXES,
    Pairs,
    axes_in_use,
    cell_words,
    effect_words,
    interval_words,
    names_of,
    target_words,
    value_cells,
    value_words,
)
from postprocess.verdicts.findings import DEPENDS, DOES_NOT_HOLD, HOLDS, IMPLEMENTED, NOT_MEASURABLE, NOT_MEASURED
from postprocess.verdicts.history import WAVE, Change, Series
from postprocess.verdicts.launches import numbered
from postprocess.verdicts.silence import Silence


@dataclass(frozen=True)
class Room:
    """What a page has room for, so that a browser shows it at once.

    rows: the most rows of its table. Rows without a change are left out first, and the page says so.
    drawn: the most maps, and the most curves: those with the largest changes.
    """

    rows: int
    drawn: int


LARGE, SMALL = Room(rows=5000, drawn=100), Room(rows=500, drawn=8)
"""The room of a page that a person asks for, and of one of very many."""
SILENT = "not measured"
"""The word for cases that are not measured any more, in the place of a verdict."""
CSS = {
    **dict.fromkeys((SLOWER, FAIL, DOES_NOT_HOLD), "bad"), **dict.fromkeys((FASTER, PASS, HOLDS), "good"),
    **dict.fromkeys((SAME, SLIGHT, DEPENDS), "same"),
    **dict.fromkeys((UNKNOWN, WAVE, NOT_TESTED, SILENT, NOT_MEASURED, NOT_MEASURABLE, IMPLEMENTED), "unknown"),
}  # fmt: skip
_ORDER = (SLOWER, FASTER, SLIGHT, UNKNOWN, SAME)
"""The order of a comparison's rows."""
_FILTERS = ("verdict", "toolchain", "configuration", "collective", "metric")
_WIDTH, _HEIGHT, _LEFT = 760, 150, 70


@dataclass(frozen=True)
class Row:
    """A row of the table.  filters: the place of its value in each filter.  bar: low, value, high, from 0 to 100.
    link: the address of its picture; empty where there is none."""

    verdict: str
    cells: Sequence[str]
    filters: str
    bar: tuple[float, float, float] | None = None
    link: str = ""

    @property
    def css(self) -> str:
        """The CSS class of its verdict."""
        return CSS[self.verdict]


@dataclass(frozen=True)
class Grid:
    """A map of one case and metric: rows from the largest value down. A cell is (CSS class, words, title)."""

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, str, str]]]]
    filters: str
    id: str = ""


@dataclass(frozen=True)
class Plot:
    """A case over runs, in the coordinates of its picture. A dot has its words and its run. An interval is its place
    and its ends."""

    id: str
    title: str
    filters: str
    ticks: Sequence[tuple[float, str]]
    dots: Sequence[tuple[float, float, str, str]]
    intervals: Sequence[tuple[float, float, float]]
    states: Sequence[tuple[float, float, float]]
    changes: Sequence[tuple[float, str, str]]
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT


@dataclass(frozen=True)
class Matrix:
    """Every side against every other side. A cell is (id of its part of the page, CSS class, words, title), or None
    where there is no such pair."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, str, str, str] | None]]]


@dataclass(frozen=True)
class View:
    """The content of a page, or of a part of a page, which has an `id` of its own.

    frames: the first picture, a matrix for each metric.  grids_key: what the colours of `grids` mean.  charts: as
    `curve_view.chart_view` makes them.  links: (name, address) of other pages.  runs: the address of
    the folder with a page for each run, if there is one.  rows_first: the table stands before the maps.
    """

    title: str
    subtitle: str
    answer: str
    table_title: str
    heads: Sequence[str]
    rows: Sequence[Row]
    nothing: str
    remarks: Sequence[str] = ()
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    grids: Sequence[Grid] = ()
    grids_key: str = "Red and bold: slower; blue and bold: faster; dashed: cannot tell."
    charts: Sequence[SimpleNamespace] = ()
    series: Sequence[Plot] = ()
    facts: Sequence[tuple[str, str]] = ()
    signatures: Sequence[str] = ()
    id: str = ""
    matrix: Matrix | None = None
    frames: Sequence[MatrixView] = ()
    parts: Sequence[View] = ()
    links: Sequence[tuple[str, str]] = ()
    runs: str = ""
    rows_first: bool = False


def render(view: View) -> str:
    """The page as HTML text."""
    environment = page.environment()
    style = environment.get_template("verdicts.css").render()
    embedded = page.embedded(style, page.script("verdicts.js"))
    return environment.get_template("verdicts.html").render(view=view, matrix_key=MATRIX_KEY, **embedded)


def comparisons_view(pairs: Pairs, facts: Sequence[tuple[str, str]] = (), room: Room = LARGE) -> View:
    """The page of all pairs of sides. Of one pair: maps of every case and metric, then a line per comparison, what
    changed first. Of more pairs a matrix, then a part for each, which share the rows and maps that a page may have.
    """
    filters = page.Filters(*_FILTERS)
    if len(pairs) == 1:
        ((sides, comparison),) = pairs.items()
        return replace(_pair_view(comparison, sides, filters, room), facts=facts)
    words = compare_text.sides_of(pairs)
    each = Room(max(1, room.rows // len(pairs)), max(1, room.drawn // len(pairs)))
    parts = {
        sides: _pair_view(comparison, sides, filters, each, id=f"pair-{number}")
        for number, (sides, comparison) in enumerate(pairs.items(), 1)
    }
    cells = {
        sides: (parts[sides].id, cell_css(comparison), cell_words(comparison), parts[sides].answer)
        for sides, comparison in pairs.items()
    }
    slower = sum(comparison.count(SLOWER) > 0 for comparison in pairs.values())
    silent = sum(comparison.count(UNKNOWN) == len(comparison.rows) for comparison in pairs.values())
    unknown = f"; of {silent} nothing can be told" if silent else ""
    return View(
        title=f"Which of {', '.join(words)} is slower?",
        subtitle=_limits_words(next(iter(pairs.values()))),
        answer=f"something is slower in {slower} of {len(pairs)} pairs{unknown}",
        table_title="",
        heads=(),
        rows=(),
        nothing="",
        filters=filters.kinds,
        facts=facts,
        matrix=Matrix(words[1:], [(one, [cells.get((one, two)) for two in words[1:]]) for one in words[:-1]]),
        parts=list(parts.values()),
    )


def cell_css(comparison: Comparison) -> str:
    """The CSS class of a pair in the matrix: that of the first verdict in its table."""
    return next((CSS[verdict] for verdict in _ORDER if comparison.count(verdict)), CSS[UNKNOWN])


def _limits_words(comparison: Comparison) -> str:
    limits = comparison.limits
    of_their_own = [
        f", {name} from {duration(METRICS[name].least_difference(limits))}"
        for name in comparison.rows["metric"].unique()
        if METRICS[name].least is not None
    ]
    return (
        f"a time counts from {100 * limits.least_ratio:g} %, a ratio from {limits.least_difference:g}"
        f"{''.join(of_their_own)}; false-discovery rate {limits.rate:g}"
    )


def _pair_view(comparison: Comparison, sides: Sequence[str], filters: page.Filters, room: Room, id: str = "") -> View:
    """The page of one pair of sides, or its part."""
    rows = comparison.rows
    order = {verdict: place for place, verdict in enumerate(_ORDER)}
    shown = rows.iloc[np.argsort(rows["verdict"].map(order).to_numpy(), kind="stable")[: room.rows]]
    answer, *remarks = compare_text.summary(comparison, sides).splitlines()
    if len(shown) < len(rows):
        remarks.append(f"the table has {len(shown)} of {len(rows)} comparisons; all are in --json")
    axes = axes_in_use(shown)
    table = [_comparison_row(row, filters, comparison, axes) for row in shown.to_dict("records")]
    grids, maps = _grids(comparison, filters, room.drawn)
    if len(grids) < maps:
        remarks.append(f"of {maps} maps the {len(grids)} with most changes are drawn")
    return View(
        title=f"Is {sides[1]} slower than {sides[0]}?",
        subtitle=f"A: {sides[0]} · B: {sides[1]} · {_limits_words(comparison)}",
        answer=answer,
        remarks=[line.strip() for line in remarks] + compare_text.missing_lines(comparison, sides),
        table_title=f"All comparisons{f' of {sides[1]} against {sides[0]}' * bool(id)}",
        heads=["verdict", "toolchain", "network", "configuration", "collective", *(axis.title for axis in axes),
               "metric", "A", "B", "B against A", "95 %", comparison.units, "why it cannot be told", "interval"],
        rows=table,
        nothing="Nothing was compared.",
        frames=verdict_matrix.of_comparison(comparison, sides),
        grids=grids,
        filters=filters.kinds,
        id=id,
    )  # fmt: skip


def _case_filters(filters: page.Filters, row: Mapping[Any, Any], verdict: str = "") -> str:
    toolchain, _network, configuration, collective = names_of(row)
    return filters.places(verdict, toolchain, configuration, collective, row["metric"])


def _comparison_row(row: Mapping[Any, Any], filters: page.Filters, comparison: Comparison, axes: Sequence[Axis]) -> Row:
    reason = row["reason"]
    if row["verdict"] == UNKNOWN and not reason:
        reason = f"{comparison.units} differ too much"
    cells = [
        *names_of(row),
        *target_words(row, axes),
        *value_cells(row),
        f"{row['launches_a']}, {row['launches_b']}",
        reason if row["verdict"] == UNKNOWN else "",
    ]
    return Row(row["verdict"], cells, _case_filters(filters, row, row["verdict"]), _bar(row, comparison))


def _bar(row: Mapping[Any, Any], comparison: Comparison) -> tuple[float, float, float] | None:
    """The interval from 0 to 100: 50 is no difference, the ends are five times what counts. None without interval."""
    if not (math.isfinite(row["effect_ci95_low"]) and math.isfinite(row["effect_ci95_high"])):
        return None
    metric, limits = METRICS[row["metric"]], comparison.limits
    ratio = metric.ratio
    scale = 5 * (math.log1p(limits.least_ratio) if ratio else metric.least_difference(limits))
    ends = []
    for name in ("effect_ci95_low", "effect", "effect_ci95_high"):
        value = row[name]
        if ratio:
            value = math.log(value) if value > 0 else math.nan
        place = 50 + 50 * value / scale if math.isfinite(value) else 50.0
        ends.append(round(min(max(place, 0.0), 100.0), 1))
    return ends[0], ends[1], ends[2]


def _grids(comparison: Comparison, filters: page.Filters, most: int) -> tuple[list[Grid], int]:
    """The maps of cases and metrics, at most so many, those with most changes; and how many maps there are.

    A map has two axes. Cases that differ in a third one are on different maps, whose titles have its value.
    """
    rows = comparison.rows
    number, count = np.zeros(len(rows), np.int64), 0
    axes: dict[str, tuple[Axis | None, Axis | None]] = {}
    for metric in rows["metric"].unique():
        here = (rows["metric"] == metric).to_numpy()
        axes[metric] = _map_axes(metric, rows[here])
        others = [axis.name for axis in _other_axes(rows, axes[metric])]
        own, maps = numbered(rows[here], [*group_columns(rows), *others])
        number[here] = own + count
        count += len(maps)
    changed = np.bincount(number, rows["verdict"].isin([SLOWER, FASTER]), count)
    drawn = np.isin(number, np.argsort(-changed, kind="stable")[:most])
    rows_of: dict[int, list[dict[Hashable, Any]]] = defaultdict(list)
    for place, row in zip(number[drawn], rows[drawn].to_dict("records"), strict=True):
        rows_of[int(place)].append(row)
    return [_grid(of_map, axes[of_map[0]["metric"]], filters) for _, of_map in sorted(rows_of.items())], count


def _grid(rows: Sequence[Mapping[Hashable, Any]], axes: tuple[Axis | None, Axis | None], filters: page.Filters) -> Grid:
    """The map of some cases."""
    across, up = axes
    first = rows[0]
    metric = METRICS[first["metric"]]
    cells = {(_value(across, row), _value(up, row)): row for row in rows}
    columns = sorted({x for x, _ in cells})
    which = target_words(first, _other_axes(first, axes))
    title = ", ".join(filter(None, [*names_of(first), *which, f"{metric.title}{', %' * metric.ratio}"]))
    grows = [f"{axis.title} {where}" for axis, where in ((across, "to the right"), (up, "upwards")) if axis is not None]
    ordinates = sorted({y for _, y in cells}, reverse=True)
    heads, names = _words(across, columns), _words(up, ordinates)
    lines = [(name, [_grid_cell(cells.get((x, y))) for x in columns]) for name, y in zip(names, ordinates, strict=True)]
    return Grid(f"{title}: {', '.join(grows)}" if grows else title, heads, lines, _case_filters(filters, first))


def _map_axes(metric: str, rows: pd.DataFrame) -> tuple[Axis | None, Axis | None]:
    """The horizontal and the vertical axis of the maps of a metric's cases: the two with most values, in the order of
    the family; None where it has none."""
    own = [one for one in registry.FAMILY_OF[metric].axes if one.of == "point"]
    most = sorted(own, key=lambda axis: rows[axis.name].nunique())[-2:]
    across, up = ([None, None, *(one for one in own if one in most)])[-2:]
    return across, up


def _other_axes(row: Container[Any], drawn: Sequence[Axis | None]) -> list[Axis]:
    """The axes of points in which cases of different maps differ, of those that a table or a row has."""
    return [axis for axis in POINT_AXES if axis.name in row and axis not in drawn]


def _value(axis: Axis | None, row: Mapping[Hashable, Any]) -> Any:
    return 0 if axis is None else row[axis.name]


def _words(axis: Axis | None, values: Sequence[Any]) -> list[str]:
    """The values of an axis. Where the usual one is the only one, it says nothing."""
    return [
        "" if axis is None or (len(values) == 1 and axis.is_usual(value)) else axis.words(value) for value in values
    ]


def _grid_cell(row: Mapping[Any, Any] | None) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    words = effect_words(row["metric"], row["effect"])
    title = " ".join(filter(None, [row["verdict"], words, interval_words(row), row["reason"]]))
    return CSS[row["verdict"]], words.removesuffix(" %"), title


def history_view(
    title: str,
    changes: Sequence[tuple[Change, str, str, str]],
    series: Sequence[Series],
    answer: str,
    coverage: str = "",
    silent: Sequence[Silence] = (),
    room: Room = LARGE,
) -> View:
    """The page of a history: what is silent; each change with what may explain it, and its case over the runs.

    changes: (change, its state, the last run of its series, what explains it).  coverage: in how many series there are
    runs enough to look for changes.  silent: what is not measured any more.
    """
    filters = page.Filters(*_FILTERS)
    rows = []
    changed: dict[tuple[str, ...], list[Change]] = defaultdict(list)
    for change, *_ in changes:
        changed[change.key].append(change)
    axes = axes_in_use(pd.DataFrame([dict(change.case) for change, *_ in changes]))
    for silence in silent[: room.rows]:
        cells = [silence.state, silence.name, silence.since, *names_of(silence.case), *[""] * (len(axes) + 5),
                 plural(silence.nights, "night"), f"{silence.why}; last measured in {silence.last}"]  # fmt: skip
        rows.append(Row(SILENT, cells, _case_filters(filters, {**silence.case, "metric": ""}, SILENT)))
    for change, state, last, explained in changes[-room.rows :]:
        numbers = (change.value_before, change.value_after, change.effect, change.low, change.high)
        names = ("value_a", "value_b", "effect", "effect_ci95_low", "effect_ci95_high")
        row = {**change.case, "metric": change.metric, **dict(zip(names, numbers, strict=True))}
        cells = [
            state, change.name, change.run, *names_of(row), *target_words(change.case, axes), *value_cells(row),
            f"{change.runs[0]}, {change.runs[1]}", "; ".join(filter(None, [explained, f"last measured in {last}"])),
        ]  # fmt: skip
        rows.append(Row(change.verdict, cells, _case_filters(filters, row, change.verdict)))
    steps = {key: max(change.size for change in of_one) for key, of_one in changed.items()}
    drawn = set(sorted(steps, key=lambda key: -steps[key])[: room.drawn])
    plots = [
        _plot(one, changed[key], filters, number)
        for number, (one, key) in enumerate((one, one.key) for one in series)
        if key in drawn
    ]
    remarks = [coverage] if coverage else []
    if len(rows) < len(changes) + len(silent):
        remarks.append(f"the table has {len(rows)} of {len(changes) + len(silent)} rows, the last; all are in --json")
    if len(drawn) < len(changed):
        remarks.append(f"drawn are the {len(drawn)} series with the largest changes, of {len(changed)} that changed")
    return View(
        title=title,
        subtitle="one value per run: the median of its launches",
        answer=answer,
        table_title="All changes",
        heads=["change", "state", "name", "since", "toolchain", "network", "configuration", "collective",
               *(axis.title for axis in axes), "metric", "before", "since then", "change", "95 %", "runs",
               "what else changed; last measured"],
        rows=rows,
        nothing="No change was found.",
        frames=verdict_matrix.of_history(changes, series),
        remarks=remarks,
        series=plots,
        filters=filters.kinds,
    )  # fmt: skip


def _plot(series: Series, changes: Sequence[Change], filters: page.Filters, number: int) -> Plot:
    row = {**series.case, "metric": series.metric}
    named = ", ".join(filter(None, names_of(row)))
    targets = " and ".join(filter(None, target_words(series.case)))
    several = len(set(series.toolchains)) > 1
    title = f"{named}, {targets}: {METRICS[series.metric].title}"
    return plot_of(
        series.runs, series.values, title, partial(value_words, series.metric),
        notes=series.toolchains if several else (), places=series.changes, changes=changes,
        filters=_case_filters(filters, row), id=f"n{number}",
    )  # fmt: skip


def plot_of(
    runs: Sequence[str],
    values: Floats,
    title: str,
    words: Callable[[float], str],
    *,
    intervals: tuple[Floats, Floats] | None = None,
    notes: Sequence[str] = (),
    places: Sequence[int] | None = None,
    changes: Sequence[Change] = (),
    filters: str = "-",
    id: str,
) -> Plot:
    """Values over runs.  words: of a value.  intervals: the low and the high end of each value's interval, NaN where it
    is not known.  notes: one more word for each run.  places: the indices at which a new state begins, if the levels of
    states are to be drawn."""
    drawn = np.concatenate([values, *(intervals or ())])
    low, high = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    reach = (high - low) or abs(high) or 1.0
    step = (_WIDTH - _LEFT - 10) / max(values.size - 1, 1)

    def x(index: float) -> float:
        return round(_LEFT + 5 + step * index, 1)

    def y(value: float) -> float:
        return round(10 + (_HEIGHT - 40) * (1 - (value - low) / reach), 1)

    ends = [] if places is None else [0, *places, values.size]
    at = {run: index for index, run in enumerate(runs)}
    noted = [", ".join(parts) for parts in zip(runs, notes, strict=True)] if notes else runs
    return Plot(
        id=id,
        title=title,
        filters=filters,
        ticks=[(y(value), words(value)) for value in dict.fromkeys((low, high))],
        dots=[
            (x(i), y(value), f"{noted[i]}: {words(value)}", run)
            for i, (run, value) in enumerate(zip(runs, values.tolist(), strict=True))
        ],
        intervals=[(x(i), y(a), y(b)) for i, (a, b) in enumerate(zip(*intervals or ((), ()), strict=True)) if a < b],
        states=[(x(a), x(b - 1), y(float(np.median(values[a:b])))) for a, b in itertools.pairwise(ends) if b > a],
        changes=[(x(at[change.run] - 0.5), CSS[change.verdict], change.run[:8]) for change in changes],
    )


def acceptance_view(
    criteria: Criteria, results: Sequence[Result], run: str, facts: Sequence[tuple[str, str]] = ()
) -> View:
    """The page of an acceptance, to be printed and signed."""
    counts = {verdict: sum(result.verdict == verdict for result in results) for verdict in (PASS, FAIL, NOT_TESTED)}
    return View(
        title=criteria.title,
        subtitle=f"run {run}",
        answer=acceptance_answer(results),
        table_title="Criteria",
        heads=["verdict", "criterion", "what it asks", "measured", "95 %", "evidence"],
        rows=[
            Row(
                one.verdict,
                [one.criterion.name, one.criterion.words, *measured_words(one), "; ".join(one.evidence)],
                "-",
            )
            for one in results
        ],
        nothing="No criteria.",
        remarks=[f"{count} {verdict}" for verdict, count in counts.items()],
        facts=facts,
        signatures=("for the supplier: name, date", "for the customer: name, date"),
    )


def acceptance_answer(results: Sequence[Result]) -> str:
    """The answer in a line: accepted only if every criterion passes."""
    failed = sum(result.verdict == FAIL for result in results)
    untested = sum(one.verdict == NOT_TESTED for one in results)
    if failed:
        return f"FAIL: {failed} of {len(results)} criteria fail"
    return f"NOT TESTED: {untested} of {len(results)} criteria" if untested else f"PASS: all {len(results)} criteria"


def measured_words(one: Result) -> tuple[str, str]:
    """A criterion's value and its interval."""
    if math.isnan(one.value):
        return "", ""
    known = not (math.isnan(one.low) or math.isnan(one.high))
    return f"{one.value:.4g}", f"[{one.low:.4g}, {one.high:.4g}]" if known else ""
