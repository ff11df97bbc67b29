"""What everybody else knows of a family of benchmarks: `registry.FAMILIES` holds one `Family` each, and whoever shows,
checks, archives or compares goes through them and names none.

It is imported by what plans and launches as well, so that it loads neither pandas nor matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from postprocess.drawing.look import PLAIN, ROOM, Look, Room
from postprocess.statistics.limits import Limits

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa  # type: ignore[import-untyped]

    from postprocess.records.record import Record
    from postprocess.records.run import Run

Value: TypeAlias = str | int | float
"""Of an axis."""
Details: TypeAlias = list[tuple[str, str]]
"""Facts, each with its title."""
Made = TypeVar("Made")


@dataclass(frozen=True)
class Axis:
    """One thing in which what is measured can differ.

    name: its column in tables, its field of a case.
    title: for people, such as the head of a column.  short: the same where there is little room; empty: the title.
    usual: the value that is not worth a word, and that of everything which has no such axis; None where there is none:
    the value is always told.
    of: what differs in it: the cases of a run, the points of one case, or the launches of one case.
    kind: of its values.
    unit: of its numbers, "ns" or "bytes"; empty of texts and plain numbers.
    of_basic: `basic` is measured with each of its values; else with the usual one, and gives its sizes and references
    to the cases of all values.
    values: all that it can have, each with what it is; empty where that is any text or number, or where others know it.
    words: a value for people, ``MPI_Test every 100 µs``.
    in_file_name: a value in the names of files, ``test100000ns``.
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

    @property
    def head(self) -> str:
        """Of a narrow column."""
        return self.short or self.title

    def is_usual(self, value: Value) -> bool:
        """Whether a value is not worth a word."""
        return self.usual is not None and value == self.usual


@dataclass(frozen=True)
class Metric:
    """One thing that can be compared between launches: a column of `Launches`.

    ratio: its effect is a ratio, else a difference.
    better: which values are, the smaller or the larger ones.
    same: the columns, of `Family.sizes`, that must be the same on both sides.
    state: the column that must be true of a launch for it to count.
    usual: whether it is compared without being asked for.
    with_work: how it changes with the work that is done: a time in proportion, a rate inversely, anything else not.
    """

    name: str
    title: str
    ratio: bool
    better: Literal["smaller", "larger"] = "smaller"
    same: tuple[str, ...] = ()
    state: Literal["valid", "reliable"] = "valid"
    usual: bool = False
    with_work: Literal["time", "rate", "neither"] = "neither"

    def is_worse(self, value: float, other: float, limits: Limits) -> bool:
        """Whether a value is worse than another one by so much that it matters."""
        low, high = (other, value) if self.better == "smaller" else (value, other)
        return high >= (low * (1 + limits.least_ratio) if self.ratio else low + limits.least_difference)


@dataclass(frozen=True)
class Bound:
    """Which number of a record has a reference: `absolute`, because all is well at 0, or a fraction above its median.

    margin: what a difference must at least be to matter.  of_sizes: only runs on the same sizes have it in common.
    """

    metric: str
    absolute: bool
    margin: float
    of_sizes: bool = False


@dataclass(frozen=True)
class Numbers:
    """A record in a few numbers, for ReFrame and for references.

    sizes: a digest of the sizes that it ran on, empty where that does not matter.  doubt: why they are held against no
    reference; empty where they may be.
    """

    values: Mapping[str, float]
    sizes: str = ""
    doubt: str = ""


@dataclass(frozen=True)
class Found:
    """What a run has of one family: the records that can be read, and the table that is made of them."""

    run: Run
    records: tuple[Any, ...]
    table: pd.DataFrame


@dataclass(frozen=True)
class TableFile:
    """A table that is archived with a run: that of the family, or another one that `table` makes.

    even_empty: also where the run has nothing of the kind.
    """

    name: str
    table: Callable[[Found], pd.DataFrame] | None = None
    even_empty: bool = False


@dataclass(frozen=True)
class Launches:
    """How the launches of a run come from its archived tables, without reading its records.

    columns: those that are needed, by the table's file.
    of_files: the tables, in that order, as one with the columns of the axes, sizes and metrics that the family has, and
    `STATE`. The first argument is the run's name, for the words of a RecordError.
    of_table: the same of the family's table, made of the records.
    """

    columns: Mapping[str, tuple[str, ...]]
    of_files: Callable[[str, Sequence[pa.Table]], pa.Table]
    of_table: Callable[[pd.DataFrame], pd.DataFrame]


STATE = ("valid", "reliable", "complete", "oversubscribed")
"""Columns of every launch, true or not."""


@dataclass(frozen=True)
class Spent:
    """CPU time of threads in a while, [rank][thread], in nanoseconds: those that MPI started, each rank's in the order
    of its placement and later ones behind, and the application's progress threads.

    seconds: how long ranks computed and communicated meanwhile.  wall_seconds: how long the launch took.
    """

    mpi_ns: tuple[tuple[int, ...], ...]
    helper_ns: tuple[tuple[int, ...], ...]
    seconds: float
    wall_seconds: float


def _no_facts(_records: Sequence[Any]) -> Details:
    return []


@dataclass(frozen=True)
class Inside:
    """What a family's records tell of where and how they ran, as seen from inside. Each has a `header` with placement,
    build and environment, a `name`, and says why it is `incomplete`.

    words: of a record, the configuration as people read it.
    spent: of a record, what its threads took, of every launch with MPI; nothing of one that was cut off.
    covered: of the records of a run, what was measured in it.
    timing: of the records of one configuration, how they were timed.
    """

    words: Callable[[Any], str]
    spent: Callable[[Any], list[Spent]]
    covered: Callable[[Sequence[Any]], Details] = _no_facts
    timing: Callable[[Sequence[Any]], Details] = _no_facts


@dataclass(frozen=True)
class RankTimes:
    """One time of every rank at one point, to hold nodes against each other.

    axes: the point's values of those axes of the family that differ within a record.  size: what it was done with.
    index: of the point in its record.  good: enough repetitions, and no wrong data.
    """

    axes: Mapping[str, Value]
    size: int
    index: int
    by_rank: Sequence[float]
    good: bool


@dataclass(frozen=True)
class ByNode:
    """What nodes can be held against each other by.

    metrics: names of times.  times: those of a record, of one of the metrics.
    """

    metrics: tuple[str, ...]
    times: Callable[[Any, str], Iterator[RankTimes]]


@dataclass(frozen=True)
class Page:
    """A report that is being made.

    links: addresses of pictures, by the names that the sections' `pictures` gave them.
    """

    run: Run
    look: Look = PLAIN
    room: Room = ROOM
    links: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _made: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """What `make` returns, which is called for a page and a name only once."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made


@dataclass(frozen=True)
class Section:
    """A part of the report.

    name: of its place in the page's addresses, `#name`.  title: for people.
    order: where it stands among the parts of the same place.
    template: a file below postprocess/families/ or postprocess/drawing/templates/, which finds the view as
    `section.view`.
    view: what the template shows, of a page and what its run has of the family; None: the part is left out.
    place: a section of the page, a card of the first section, or a paragraph of "How to read this".
    pictures: draws a page's pictures into a folder; their paths by the names that the view finds links under.
    """

    name: str
    title: str
    order: int
    template: str
    view: Callable[[Page, Found], Any]
    place: Literal["page", "found", "reading"] = "page"
    pictures: Callable[[Page, Found, Path], Mapping[str, list[Path]]] | None = None


def _nothing(*_given: Any) -> dict[str, Any]:
    return {}


def _no_text(*_given: Any) -> str:
    return ""


def _none(_given: Any) -> tuple[Any, ...]:
    return ()


@dataclass(frozen=True)
class Family:
    """One family of benchmarks.

    name, title: for people, and for `show --benchmark`.
    benchmarks: the names of its programs, as cases and headers have them.
    view: a record as this family sees it. Raises RecordError where it cannot be one.
    axes: in what its points differ.  sizes: what was found for a point, by calibration.
    metrics: what is compared.
    table: of a run and its records, a row per point, the columns in `columns`; `beside`'s table is a third argument
    where there is one. Whoever wants it asks `registry.found`, which makes it once.
    columns: of the table.
    beside: the family that its results are set beside.
    files: its tables that are archived with a run.
    launches: None where nothing is compared.
    named_by: the columns that name every series in histories; of the other axes those do in which it is unusual. Alarms
    have their names of them, by which is known what was acknowledged: see `axes.NAMED_BY`.
    text, short_text: its table for the terminal, all of it and a few lines; empty where there is nothing to say.
    note: what is to be said where its table is asked for.  nothing: what is said where it is empty.
    shown: whether `show RUN` has it without being asked.
    sections: of the report.  style: variables of the page's style.  rest: what the page's script shows by and by.
    drawn: names of the metrics that its pictures can show.
    inside: None where its records do not tell where they ran.
    programs: of a run's records, other people's programs that ran: toolchain, program, the MPI library it is bound to.
    numbers: computed from the view of a record and that of `basic`'s record on the same sizes, which is None where
    there is none.  unit_of: the unit of a number by its name.
    bounds: which of them have references.
    by_node: None where nodes are not compared.
    wrong: of a record, what is wrong with what it measured, a phrase each.
    communicated_ns: of a record, how long it communicated alone, all repetitions together; None where that is not
    measured.
    payload: of a record, a lower bound of the bytes that crossed its network; None where that is not known.
    """

    name: str
    title: str
    benchmarks: tuple[str, ...]
    view: Callable[[Record], Any]
    table: Callable[..., pd.DataFrame]
    columns: tuple[str, ...]
    axes: tuple[Axis, ...] = ()
    sizes: tuple[Axis, ...] = ()
    metrics: tuple[Metric, ...] = ()
    beside: Family | None = None
    files: tuple[TableFile, ...] = ()
    launches: Launches | None = None
    named_by: tuple[str, ...] = ()
    text: Callable[[Found], str] = _no_text
    short_text: Callable[[Found], str] = _no_text
    note: str = ""
    nothing: str = "nothing was measured"
    shown: bool = True
    sections: tuple[Section, ...] = ()
    style: Callable[[Page, Found], dict[str, Any]] = _nothing
    rest: Callable[[Page, Found], dict[str, Any]] = _nothing
    drawn: tuple[str, ...] = ()
    inside: Inside | None = None
    programs: Callable[[Sequence[Any]], Sequence[tuple[str, Mapping[str, str], str]]] = _none
    numbers: Callable[[Any, Any | None], Numbers] | None = None
    unit_of: Callable[[str], str] = lambda _name: "ratio"
    bounds: tuple[Bound, ...] = ()
    by_node: ByNode | None = None
    wrong: Callable[[Any], Iterator[str]] = lambda _record: iter(())
    communicated_ns: Callable[[Any], float] | None = None
    payload: Callable[[Any], int] | None = None
