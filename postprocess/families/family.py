"""The description of a family of benchmarks that the rest of the code works with.

`registry.FAMILIES` holds one `Family` for each family. Code that shows, checks, archives or compares results loops over
them and names no family. Planning and launching import this module too, so it must load neither pandas nor matplotlib.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from postprocess.drawing.look import PLAIN, ROOM, Look, Room
from postprocess.drawing.matrix import Cell
from postprocess.statistics.limits import Limits

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa  # type: ignore[import-untyped]
    from numpy.typing import NDArray

    from postprocess.records.description import Option
    from postprocess.records.record import Record
    from postprocess.records.run import Run
    from postprocess.statistics.metrics import Floats

Value: TypeAlias = str | int | float
"""A value of an axis."""
Details: TypeAlias = list[tuple[str, str]]
"""Facts, each with its title."""
Made = TypeVar("Made")


@dataclass(frozen=True)
class Axis:
    """A parameter in which measurements can differ.

    name: the name of its column in tables and of its field in a case.
    title: its name for people, for instance in the head of a column.
    short: the title for narrow columns; empty where the title serves there too.
    usual: the value that names leave out. Families without this axis count as having it. None: names always contain
    the value.
    of: what differs in it: the cases of a run, the points of one case, or the launches of one case.
    kind: the type of its values.
    unit: the unit of its numbers, "ns" or "bytes"; empty for texts and plain numbers.
    of_basic: True where `basic` is measured with each value. False where `basic` is measured with the usual value only,
    and the cases of all values take their sizes and references from it.
    values: the legal values, each with its meaning; empty where any text or number is legal, or where the values are
    defined elsewhere.
    words: writes a value for people, ``MPI_Test every 100 µs``.
    in_file_name: writes a value for the names of files, ``test100000ns``.
    in_every_label: labels of cases for people have the usual value, too.
    sets_library: each unusual value stands for settings of the MPI library, which the library's entry has.
    option: the option of a program that takes its values; None where there is none.
    """

    name: str
    title: str
    usual: Value | None = None
    of: Literal["case", "point", "launch"] = "case"
    kind: Literal["text", "integer", "number"] = "text"
    unit: str = ""
    of_basic: bool = True
    values: Mapping[str, str] = field(default_factory=dict, hash=False)
    words: Callable[[Any], str] = str
    in_file_name: Callable[[Any], str] = str
    short: str = ""
    in_every_label: bool = False
    sets_library: bool = False
    option: Option | None = None

    @property
    def head(self) -> str:
        """The title for a narrow column."""
        return self.short or self.title

    def is_usual(self, value: Value) -> bool:
        """Whether names leave a value out, because it is the usual one."""
        return self.usual is not None and value == self.usual


@dataclass(frozen=True)
class Condition:
    """What must be alike on both sides of a comparison: it decides a metric, and the benchmark cannot choose it.

    name: another metric of the same family.  factor: by how much its medians on the two sides may differ.
    words: says that they differ more, as the reason why a verdict cannot be told.
    """

    name: str
    factor: float
    words: str


@dataclass(frozen=True)
class Metric:
    """A quantity that can be compared between launches: a column of `Launches`.

    ratio: whether its effect is a ratio; otherwise it is a difference.
    better: which values are better, the smaller or the larger ones.
    same: the names of those of `axes.SIZES` that must be equal on both sides of a comparison.
    state: the column of `STATE` that must be true for a launch to count.
    usual: whether it is compared by default.
    with_work: how it depends on the work done: a time grows in proportion, a rate falls, anything else stays.
    condition: what must be alike on both sides; None where nothing is known that would have to be.
    least: the least difference that matters, of a difference that is no share of anything; else that of `Limits`.
    below_0: why a change is neither better nor worse if one of its ends is below 0; empty where this is no matter.
    better_words: what a side does that is better by this metric, such as `is faster`, for the answers of a run; empty
    where these leave the metric out.
    covariate: another metric of the same family that tells how fast the cores were in a launch, because no library can
    change it in `basic`; empty where there is none.
    """

    name: str
    title: str
    ratio: bool
    better: Literal["smaller", "larger"] = "smaller"
    same: tuple[str, ...] = ()
    state: Literal["valid", "sound"] = "valid"
    usual: bool = False
    with_work: Literal["time", "rate", "neither"] = "neither"
    condition: Condition | None = None
    least: float | None = None
    below_0: str = ""
    better_words: str = ""
    covariate: str = ""

    def has_direction(self, values: Floats) -> NDArray[np.bool_]:
        """Whether a change from or to each value is better or worse."""
        return ~(values < (0 if self.below_0 else -math.inf))

    def least_difference(self, limits: Limits) -> float:
        """The least difference that matters, where the effect is a difference."""
        return limits.least_difference if self.least is None else self.least

    def times_least(self, effect: float, limits: Limits) -> float:
        """An effect in units of the least that matters."""
        if self.ratio:
            return abs(math.log(effect)) / math.log1p(limits.least_ratio)
        return abs(effect) / self.least_difference(limits)

    def has_effect(self, values: Floats) -> NDArray[np.bool_]:
        """Whether an effect can be formed of each value: it is finite and, for a ratio, above 0."""
        return (values > 0) & (values < math.inf) if self.ratio else abs(values) < math.inf

    def is_worse(self, value: float, other: float, limits: Limits) -> bool:
        """Whether `value` is worse than `other` by at least the least difference that matters."""
        low, high = (other, value) if self.better == "smaller" else (value, other)
        return high >= (low * (1 + limits.least_ratio) if self.ratio else low + self.least_difference(limits))


@dataclass(frozen=True)
class Over:
    """A metric that is over all values of an axis, such as the largest ratio over the settings of an MPI library. Rows
    that differ in nothing but this axis have the same value of it.

    metric, axis: their names.  decides: the column with the value of the axis that the metric is of.
    """

    metric: str
    axis: str
    decides: str


@dataclass(frozen=True)
class Bound:
    """A number of a record that is checked against a reference value.

    absolute: whether the reference is 0, because 0 is best, and the bound a value above it; otherwise the reference is
    the median, and the bound a fraction above it, or below it where larger values are better.
    margin: the least difference that matters.
    of_sizes: whether only runs on the same sizes share the reference.
    better: which values are better, the smaller or the larger ones. Of the absolute ones it is the smaller.
    """

    metric: str
    absolute: bool
    margin: float
    of_sizes: bool = False
    better: Literal["smaller", "larger"] = "smaller"


@dataclass(frozen=True)
class Numbers:
    """The numbers that sum up a record, for ReFrame and for references.

    sizes: a digest of the sizes that the record ran on; empty where the sizes do not matter.
    doubt: why the numbers must not be compared with a reference; empty where they may be.
    """

    values: Mapping[str, float]
    sizes: str = ""
    doubt: str = ""


LEAST_RELIABLE = 0.5
"""The least share of a record's valid points that must be reliable for its numbers to be compared with references."""


def doubt_about(values: Mapping[str, float]) -> str:
    """`Numbers.doubt` of a record whose numbers have `points_valid` and `points_reliable`."""
    enough = values.get("points_reliable", 0.0) >= LEAST_RELIABLE * values.get("points_valid", float("inf"))
    return "" if enough else "less than half of its points are reliable"


@dataclass(frozen=True)
class Found:
    """The results of one family in a run: the records that can be read, and the table made from them."""

    run: Run
    records: tuple[Any, ...]
    table: pd.DataFrame


@dataclass(frozen=True)
class TableFile:
    """A table that is archived with a run.

    table: makes it; None where it is the table of the family.
    even_empty: whether it is written even if it has no rows.
    """

    name: str
    table: Callable[[Found], pd.DataFrame] | None = None
    even_empty: bool = False


@dataclass(frozen=True)
class Launches:
    """How to get the launches of a run from its archived tables, without reading its records.

    columns: the columns to read, by the name of the table's file.
    of_files: joins the tables, given in the order of `columns`, to one table with the family's axes, sizes and metrics,
    and the columns of `STATE_OF_POINTS`. Its first argument is the run's name, for the message of a RecordError.
    of_table: makes the same table from the family's table in memory.
    named_by: the columns that always name a series in histories. Any other axis names a series only where its value is
    unusual. Acknowledged alarms are recognised by these names: see `axes.NAMED_BY`.
    """

    columns: Mapping[str, tuple[str, ...]]
    of_files: Callable[[str, Sequence[pa.Table]], pa.Table]
    of_table: Callable[[pd.DataFrame], pd.DataFrame]
    named_by: tuple[str, ...] = ()


LONGEST_NS = 2.0**53
"""No time is longer, in nanoseconds: 104 days."""


def is_time(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each number can be a time in nanoseconds: neither negative nor infinite, nor longer than any run."""
    return (values >= 0) & (values <= LONGEST_NS)


STATE = ("valid", "sound", "complete", "oversubscribed")
"""The columns of truth values that every launch has. `sound`: it is valid, and nothing is amiss but the width of its
interval. The noise of its repetitions is in how much launches differ; without the noisy ones that would be understated,
and those that are left would be no random choice."""
STATE_OF_POINTS = ("valid", "unreliable_reasons", "complete", "oversubscribed")
"""The columns of a family's table from which `STATE` is made."""


@dataclass(frozen=True)
class Spent:
    """The CPU time of a launch's threads, other than its computing threads.

    mpi_ns: nanoseconds of the threads that MPI started, [rank][thread]: first the threads of the rank's placement in
    that order, then the threads that were started later.
    helper_ns: nanoseconds of the application's progress threads, [rank][thread].
    seconds: how long the ranks computed and communicated meanwhile.
    wall_seconds: how long the launch took.
    """

    mpi_ns: tuple[tuple[int, ...], ...]
    helper_ns: tuple[tuple[int, ...], ...]
    seconds: float
    wall_seconds: float


@dataclass(frozen=True)
class Inside:
    """What a family's processes observed about themselves: where and how they ran.

    A record has a `header` with placement, build and environment, a `name`, and the reason why it is `incomplete`.

    words: describes the configuration of a record for people.
    spent: returns the CPU times of a record's threads, for every launch with MPI; none for a record that was cut off.
    covered: returns facts about what the records of a run measured.
    timing: returns facts about how the records of one configuration were timed.
    """

    words: Callable[[Any], str]
    spent: Callable[[Any], list[Spent]]
    covered: Callable[[Sequence[Any]], Details] = lambda _records: []
    timing: Callable[[Sequence[Any]], Details] = lambda _records: []


@dataclass(frozen=True)
class RankTimes:
    """A time of every rank at one point, for comparing nodes with each other.

    axes: the point's values on the axes that differ within a record.
    size: the message or work size of the point.
    index: the point's index in its record.
    by_rank: the time of each rank, in nanoseconds; NaN for ranks that take no part.
    good: whether the point has enough repetitions and no wrong data.
    """

    axes: Mapping[str, Value]
    size: int
    index: int
    by_rank: Sequence[float]
    good: bool


@dataclass(frozen=True)
class ByNode:
    """The times by which nodes can be compared with each other.

    metrics: the names of the times.
    times: returns the times of a record for one of these names.
    axes: those of points that a criterion can ask for values of.
    waiting: those of the names whose times ranks spend waiting for each other, so that the slowest node of a record
    makes all its nodes slow.
    """

    metrics: tuple[str, ...]
    times: Callable[[Any, str], Iterator[RankTimes]]
    axes: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """The report of one run while it is being made.

    links: the addresses of pictures, by the names that `Section.pictures` returned.
    """

    run: Run
    look: Look = PLAIN
    room: Room = ROOM
    links: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _made: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """Return what `make` returns; for each name of a page `make` is called only once."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made


@dataclass(frozen=True)
class Section:
    """A part of the report.

    name: its anchor in the page, `#name`.  title: its heading.
    order: its position among the parts of the same `place`.
    template: a file below postprocess/families/ or postprocess/drawing/templates/; it reads the view as `section.view`.
    view: makes what the template shows from the page and the family's results. Where it returns None, the part is left
    out.
    place: a section of the page, a card of the first section, or a paragraph of "How to read this".
    pictures: draws a page's pictures into a folder, and returns their paths by the names used in `Page.links`.
    drawn: the names of the metrics that these can show.
    style: returns variables for the page's style sheet.  rest: returns data that the page's script shows later.
    """

    name: str
    title: str
    order: int
    template: str
    view: Callable[[Page, Found], Any]
    place: Literal["page", "found", "reading"] = "page"
    pictures: Callable[[Page, Found, Path], Mapping[str, list[Path]]] | None = None
    drawn: tuple[str, ...] = ()
    style: Callable[[Page, Found], dict[str, Any]] = lambda _page, _found: {}
    rest: Callable[[Page, Found], dict[str, Any]] = lambda _page, _found: {}


@dataclass(frozen=True)
class Audit:
    """What judges the records of a family, and traces them back.

    wrong: returns a phrase for each fault in what a record measured.
    communicated_ns: returns the time in nanoseconds that all repetitions of a record communicated alone; None where it
    is not measured.
    payload: returns a lower bound of the bytes that crossed a record's network; None where it is not known.
    programs: returns the programs of other projects that made a run's records: for each the toolchain, the program's
    description from the header, and the MPI library that it is bound to.
    """

    wrong: Callable[[Any], Iterator[str]] = lambda _record: iter(())
    communicated_ns: Callable[[Any], float] | None = None
    payload: Callable[[Any], int] | None = None
    programs: Callable[[Sequence[Any]], Sequence[tuple[str, Mapping[str, str], str]]] = lambda _records: ()


@dataclass(frozen=True)
class Acceptance:
    """What `accept` must know of a family, beside which of its columns have an interval.

    counted: the columns that are counted, not timed. They have no interval, and are the same where ranks share cores.
    over: the columns that are over all values of an axis.
    by_node: the times by which nodes are compared; None where they are not compared.
    """

    counted: tuple[str, ...] = ()
    over: tuple[Over, ...] = ()
    by_node: ByNode | None = None


BY_INTERVALS = Acceptance()
"""That of a family with intervals alone."""


@dataclass(frozen=True)
class Family:
    """One family of benchmarks.

    name: its name in records and for `show --benchmark`.  title: its name for people.
    benchmarks: the names of its programs in cases and headers.
    papers: the papers whose methods it follows, as the report cites them (`families.papers`).
    view: makes this family's own record type from a record. Raises RecordError where the record does not fit.
    axes: the parameters in which its points differ.
    metrics: the quantities that are compared between launches.
    table: makes the table of a run and its records, one row per point. Where `beside` is set, that family's table is
    its third argument. Callers use `registry.found`, which makes the table once.
    columns: the names of the table's columns.
    beside: the family with whose results its own are shown side by side.
    files: its tables that are archived with a run.
    launches: how its launches are read from archived tables; None where they are not compared.
    text: its table for the terminal; empty where there is nothing to show.
    cells: makes the cells of its matrix: what each library did in each configuration.
    sections: its parts of the report.
    inside: what its processes observed about themselves; None where its records do not tell where they ran.
    audit: what judges its records.
    numbers: returns the numbers of a view, compared with the view of `basic`'s record on the same sizes, which is None
    where there is none. `unit_of` has their units.
    bounds: the numbers that are checked against a reference.
    acceptance: what `accept` must know.
    """

    name: str
    title: str
    benchmarks: tuple[str, ...]
    view: Callable[[Record], Any]
    table: Callable[..., pd.DataFrame]
    columns: tuple[str, ...]
    text: Callable[[Found], str]
    cells: Callable[[Found], list[Cell]] = lambda _found: []
    papers: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()
    metrics: tuple[Metric, ...] = ()
    beside: Family | None = None
    files: tuple[TableFile, ...] = ()
    launches: Launches | None = None
    sections: tuple[Section, ...] = ()
    inside: Inside | None = None
    audit: Audit = field(default_factory=Audit)
    numbers: Callable[[Any, Any | None], Numbers] | None = None
    bounds: tuple[Bound, ...] = ()
    acceptance: Acceptance = BY_INTERVALS

    @property
    def sizes(self) -> tuple[str, ...]:
        """The columns of the sizes that calibration found for a point."""
        return tuple(dict.fromkeys(name for metric in self.metrics for name in metric.same))


_UNITS = {
    r"points.*": "points", r".*_ns": "ns", r".*_ns_per_byte": "ns/byte", r".*_bytes": "bytes",
    r".*_percent": "percent", r"overlap_percent_\d+": "%",
}  # fmt: skip


def unit_of(number: str) -> str:
    """The unit of one of `Family.numbers`, by its name."""
    return next((unit for pattern, unit in _UNITS.items() if re.fullmatch(pattern, number)), "ratio")
