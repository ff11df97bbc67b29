"""What families have in common whose points are sampled until they have enough repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import ArrayLike

from postprocess.drawing.text import duration, percent
from postprocess.families.family import (
    STATE,
    Axis,
    Found,
    Launches,
    Metric,
    Numbers,
    Page,
    Section,
    doubt_about,
)
from postprocess.records.fields import Fields, Nanoseconds, fail
from postprocess.records.header import Header, bucket_ns
from postprocess.records.record import Clock, Point
from postprocess.records.run import Run, failed_records
from postprocess.statistics import control
from postprocess.statistics.metrics import MIN_REPETITIONS, Estimate, as_float

if TYPE_CHECKING:
    import pandas as pd

    from postprocess.drawing.curves import Chart


class SampledPoint(Protocol):
    """A point of a record."""

    @property
    def stop_reason(self) -> str: ...
    @property
    def repetitions(self) -> int: ...
    @property
    def data_errors(self) -> int: ...


class StartedPoint(SampledPoint, Protocol):
    """A point whose repetitions all ranks start together."""

    @property
    def start_method(self) -> str: ...
    @property
    def warmup_repetitions(self) -> int: ...
    @property
    def late_repetitions(self) -> int: ...
    @property
    def late_starts(self) -> Nanoseconds: ...
    @property
    def clock(self) -> Clock: ...


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a point was repeated. The points of a family can derive from it.

    order: in which order the parts of each repetition ran, a decimal digit each, from 1.  late_starts: how many starts
    of each repetition a rank was late at. Both are int64, a value per valid repetition; empty in records that threw
    late repetitions away.  PARTS: the names of the series of the parts, in the order of their numbers.  part_times:
    these series.
    """

    PARTS: ClassVar[tuple[str, ...]] = ()

    index: int
    start_method: str
    repetitions: int
    warmup_repetitions: int
    late_repetitions: int
    discarded_repetitions: int
    stop_reason: str
    interval_relative_reached: float
    data_errors: int
    clock: Clock
    order: LaterSeries
    late_starts: LaterSeries

    @property
    def part_times(self) -> tuple[ArrayLike, ...]:
        return tuple(getattr(self, name) for name in self.PARTS)


Times: TypeAlias = Nanoseconds
"""A series of times above 0, as `point_as` reads it."""
LaterSeries: TypeAlias = Nanoseconds
"""A series that is empty in records that lack it, likewise."""
_OF_START = ("order", "late_starts")


def sampling_of(point: Point) -> dict[str, Any]:
    """The fields of `Sampling`. Raises RecordError where the clock or the number of repetitions is null."""
    for name in ("clock", "repetitions"):
        if getattr(point, name) is None:
            fail(point.where, f"{name} is null")
    own = {one.name: getattr(point, one.name) for one in fields(Sampling) if one.name not in _OF_START}
    return own | {name: point.series.get(name, np.zeros(0, np.int64)) for name in _OF_START}


def check_starts(point: Point) -> None:
    """Raises RecordError where a point has an imbalance of starts without a clock, or a clock without it."""
    if (point.clock is not None and point.clock.method != "none") != ("start_imbalance_ns" in point.series):
        fail(point.where, "series.start_imbalance_ns does not fit the clock")


def order_controls(points: Iterable[Sampling]) -> control.Count:
    """The count of the controls of what the points' parts find: each part against itself, of the repetitions in which
    it ran after the part before it in `PARTS` and those in which it ran before that part. In truth the ratio is 1."""
    return control.count(
        (as_float(found.low), as_float(found.high))
        for point in points
        for number, times in enumerate(point.part_times, 1)
        if point.order.size and np.any(times)
        for found in [control.by_order(times, point.order, number)]
    )


def times_of(point: Point, name: str, *, above_0: bool = True) -> Nanoseconds:
    """A series of a point. Raises RecordError where it is missing or, if its times are above 0, has a time of 0."""
    times = point.series.get(name)
    if times is None:
        fail(point.where, f"series.{name} is missing")
    if above_0 and times.size and not np.min(times) > 0:
        fail(point.where, f"series.{name} has a time of 0")
    return times


_SERIES: Mapping[str, Callable[[Point, str], Nanoseconds]] = {
    "Nanoseconds": lambda point, name: times_of(point, name, above_0=False),
    "Times": times_of,
    "LaterSeries": lambda point, name: point.series.get(name, np.zeros(0, np.int64)),
}
Sampled = TypeVar("Sampled", bound=Sampling)


def point_as(
    kind: type[Sampled],
    point: Point,
    parameters: Iterable[str],
    older: Mapping[str, Any] | None = None,
    /,
    **given: Any,
) -> Sampled:
    """A family's own type of point. What is not given is read: the series, the parameters of these names, and the rest
    of the point's own part, as `Fields.made` does.

    older: what older records lack. Raises RecordError where the point does not fit.
    """
    sampling = sampling_of(point)
    ways = {one.name: _SERIES[str(one.type)] for one in fields(kind) if str(one.type) in _SERIES}
    series = {name: way(point, name) for name, way in ways.items() if name not in {**given, **sampling}}
    check_starts(point)
    asked = Fields(dict(point.parameters), point.where, "parameters.")
    read = asked.read(kind, parameters)
    return Fields({**(older or {}), **point.own}, point.where).made(kind, **sampling, **series, **read, **given)


NOT_MEASURED = "not measured"
FEW_BUCKETS = 4
"""The reason of a point without repetitions."""


def invalid_reasons(point: SampledPoint) -> list[str]:
    """Reasons why a point's medians cannot be used at all; empty if they can."""
    reasons = []
    if point.stop_reason == "not_measured":
        reasons.append(NOT_MEASURED)
    elif point.repetitions < MIN_REPETITIONS:
        reasons.append(f"fewer than {MIN_REPETITIONS} repetitions ({point.repetitions})")
    if point.data_errors:
        reasons.append(f"wrong data received ({point.data_errors} errors)")
    return reasons


def too_wide(ratio: Estimate, widest: float) -> list[str]:
    """The reason why a ratio is not known well; empty where it is. widest: of its interval, as a share of the ratio."""
    width = (as_float(ratio.high) - as_float(ratio.low)) / as_float(ratio.value)
    if not width > widest:  # there is no interval of too few repetitions, which is a reason of its own
        return []
    return [f"the interval is {100 * width:.0f} % of the ratio wide, more than {100 * widest:.0f} %"]


def clock_reasons(point: StartedPoint, share: float, of_ns: float) -> list[str]:
    """The reason why times over ranks are not known: there was no common clock, or its residual is above this share of
    the shortest of these times."""
    if point.clock.method == "none":
        return ["no common clock: times are the longest of the ranks' own durations"]
    residual_ns = point.clock.residual_ns
    if residual_ns is None or not residual_ns > share * of_ns:
        return []
    return [f"clocks disagree by {duration(residual_ns)}, more than {percent(share)} of {duration(of_ns)}"]


def within_bucket(header: Header, of_ns: float) -> list[str]:
    """The remark on a transfer that takes less than a few times the time in which a wire's bucket fills.

    A part of the bucket's size passes at once after a pause. of_ns: the time of the whole message.
    """
    bucket = bucket_ns(header)
    if not 0 < of_ns < FEW_BUCKETS * bucket:
        return []
    return [
        f"within_bucket: {duration(of_ns)} is less than {FEW_BUCKETS} times the {duration(bucket)} of the wire's "
        "bucket, which passes at once after a pause"
    ]


def flags_of_start(point: StartedPoint) -> Iterator[str]:
    """The flags of late repetitions, of a start at a barrier, and of a clock whose error is not known."""
    late = point.late_repetitions
    if point.stop_reason in ("late", "spoilt"):
        yield f"stopped because a rank came too late too often: {point.repetitions} repetitions kept"
    elif not point.late_starts.size and late > point.repetitions:
        yield f"{late} repetitions thrown away: a rank started late"
    elif point.late_starts.size and late > point.repetitions / 2:
        yield f"in {late} of {point.repetitions} repetitions a rank started late; their times run from the agreed start"
    if point.start_method == "barrier":
        yield "ranks started by a barrier, not by a clock"
    if point.clock.method != "none" and point.clock.residual_ns is None:
        yield "how far the clocks disagree is not known"


def table_by(
    make: Callable[[Sequence[Any], Mapping[str, tuple[str, str]]], pd.DataFrame],
) -> Callable[[Run, Sequence[Any]], pd.DataFrame]:
    """The `table` of a family: what `make` makes of its records and the run's `failed_records`."""

    def table(run: Run, records: Sequence[Any]) -> pd.DataFrame:
        return make(records, failed_records(run.manifest))

    return table


@dataclass(frozen=True)
class Compared:
    """Which rows of a family's table are compared between launches.

    columns: the columns of the table that the functions read.  rows: returns a truth value for each row.
    only: by the name of a metric that several rows repeat, which rows it is compared of, likewise.
    """

    columns: tuple[str, ...]
    rows: Callable[[pd.DataFrame], pd.Series[Any]]
    only: Mapping[str, Callable[[pd.DataFrame], pd.Series[Any]]] = field(default_factory=dict)

    def of_file(self, table: Any) -> Any:
        """The part of an archived table, of PyArrow, that is compared."""
        told = table.select(list(self.columns)).to_pandas()
        for name, having in self.only.items():
            values = table[name].to_pandas().where(having(told))
            table = table.set_column(table.column_names.index(name), name, pa.array(values))
        return table.filter(pa.array(self.rows(told)))

    def of_table(self, table: pd.DataFrame) -> pd.DataFrame:
        """The part of a table that is compared."""
        values = {name: table[name].where(having(table)) for name, having in self.only.items()}
        chosen: pd.DataFrame = table.assign(**values)[self.rows(table)]
        return chosen


def launches(file: str, axes: Sequence[Axis], metrics: Sequence[Metric], compared: Compared | None = None) -> Launches:
    """The `launches` of a family that archives its table as `file`. compared: None for all rows."""
    columns = (*(one.name for one in axes), *(one.name for one in metrics), *STATE)
    if compared is None:
        return Launches({file: columns}, of_files=lambda _run, tables: tables[0], of_table=lambda table: table)
    return Launches(
        {file: tuple(dict.fromkeys((*columns, *compared.columns)))},
        of_files=lambda _run, tables: compared.of_file(tables[0]),
        of_table=compared.of_table,
    )


@dataclass(frozen=True)
class Drawing:
    """How the report shows the table of a family.

    view: makes what the templates read, from the table, the addresses of pictures, and the most rows of a table; None
    for an empty table.
    charts: yields the charts of the table.
    more: adds to a view what only the records tell; None where the table tells all.
    """

    view: Callable[[pd.DataFrame, Sequence[str], int], Any]
    charts: Callable[[pd.DataFrame], Iterable[Chart]]
    more: Callable[[Any, Sequence[Any], int], Any] | None = None

    def whole_view(self, found: Found, files: Sequence[str], most_rows: int) -> Any:
        """What the templates read of the results of a run."""
        made = self.view(found.table, files, most_rows)
        return made if made is None or self.more is None else self.more(made, found.records, most_rows)


def sections(family: str, title: str, order: int) -> tuple[Section, ...]:
    """The parts of the report of a family: a section with its pictures, a card of the first section, and a paragraph of
    "How to read this". Their templates are section.html, card.html and reading.html in the family's folder `templates`.

    The module section.py of the folder has the `DRAWING`. It is imported when the report is made: that takes a second.
    """
    anchor, templates = family.replace("_", "-"), f"{family}/templates"

    def drawing() -> Drawing:
        made: Drawing = import_module(f"postprocess.families.{family}.section").DRAWING
        return made

    def view(page: Page, found: Found) -> Any:
        return page.once(family, lambda: drawing().whole_view(found, page.links.get(family, ()), page.room.whole))

    def pictures(page: Page, found: Found, folder: Path) -> Mapping[str, list[Path]]:
        from postprocess.drawing.curve_plot import write_charts  # noqa: PLC0415 - it takes a second to load

        drawn = write_charts(drawing().charts(found.table), folder, anchor, page.look.kinds)
        return {family: drawn} if drawn else {}

    return (
        Section(anchor, title, order, f"{templates}/section.html", view, pictures=pictures),
        Section(f"{anchor}-verdicts", title, order, f"{templates}/card.html", view, "found"),
        Section(f"{anchor}-reading", title, order, f"{templates}/reading.html", view, "reading"),
    )


def numbers_by(record_numbers: Callable[[Any], Mapping[str, float]]) -> Callable[[Any, Any], Numbers]:
    """The `numbers` of a family whose records say all themselves: what `record_numbers` finds in a record, with the
    doubt about it. The record of `basic` adds nothing."""

    def numbers(record: Any, _basic: Any) -> Numbers:
        values = record_numbers(record)
        return Numbers(values, doubt=doubt_about(values))

    return numbers


def points_or_ratio(name: str) -> str:
    """The unit of a number that sums up a record, in a family whose numbers are counts of points and ratios."""
    return "points" if name.startswith("points") else "ratio"


_SEEN_BY_THE_LIBRARY = "virtual, seen by the MPI library"
_VIRTUAL = "virtual"
VIRTUAL_NODES = (_VIRTUAL, _SEEN_BY_THE_LIBRARY)
"""Words of `nodes_are` for groups of ranks of one node: what crosses between them crosses memory."""


def nodes_are(nodes: int, shared_nodes: int, virtual_node_ranks: int, *, numa: bool = False) -> str:
    """What the nodes are on which a copy is shared: `real`; `NUMA domains`; or one of VIRTUAL_NODES.

    nodes: the nodes that the ranks find out by host and boot.  shared_nodes: the groups that share a copy.
    virtual_node_ranks: the ranks of a virtual node, of which the MPI library does not know; 0 without.  numa: whether a
    group is a NUMA domain.
    """
    if virtual_node_ranks:
        return _VIRTUAL
    if numa:
        return "NUMA domains"
    return "real" if shared_nodes == nodes else _SEEN_BY_THE_LIBRARY
