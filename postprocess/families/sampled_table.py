"""What the tables of families have in common: rows, the columns of estimates and those that end each row, the numbers
that sum up a record of sampled points, and the remarks on a row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from postprocess.drawing.columns import Column, circumstances, number, plain, remarked
from postprocess.drawing.text import plural, ratio
from postprocess.families import axes, sampled
from postprocess.families.axes import FamilyAxes
from postprocess.families.sampled import Sampling
from postprocess.records.description import Described, descriptions
from postprocess.records.header import NAMED, Header, named_cores_of, repeat_of
from postprocess.records.record import RecordFile
from postprocess.records.run import failed_reasons
from postprocess.statistics.launches import likely
from postprocess.statistics.launches import over_launches as of_launches
from postprocess.statistics.metrics import Estimate

Row: TypeAlias = dict[str, Any]
"""A row of a table, by the names of its columns."""
ENDS = ("", "_ci95_low", "_ci95_high")
"""What follows the name of an estimate in the names of its columns."""
_OF_SAMPLING = (
    "repetitions", "warmup_repetitions", "late_repetitions", "discarded_repetitions", "data_errors", "stop_reason",
    "interval_relative_reached", "start_method", "index",
)  # fmt: skip
LAST_COLUMNS = (
    *(name for name in _OF_SAMPLING if name != "index"), "clock_method", "clock_residual_ns",
    "valid", "reliable", "unreliable_reasons", "flags", "oversubscribed", "shared_core", "complete", "record", "index",
)  # fmt: skip
"""The columns that end each row: those of `columns_of_point`."""


Rows: TypeAlias = Callable[[Any, Sequence[str]], Iterable[Row]]
"""Makes the rows of a record, from the record and `failed_reasons` of its case."""


def with_own(family: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Columns, and before LAST_COLUMNS those of the fields that points of a family have of their own, each once."""
    own = tuple(name for name in _own_fields(family) if name not in columns)
    first = len(columns) - len(LAST_COLUMNS)
    return (*columns[:first], *own, *columns[first:])


@cache
def _own_fields(family: str) -> Mapping[str, Described]:
    """The numbers, texts and truth values that points of a family have of their own, by name."""
    kinds = (kind for described in descriptions().values() if described.family == family for kind in described.points)
    return {field.name: field for kind in kinds for field in kind.own if field.kind in _LACKING}


_LACKING: Mapping[str, float | str | None] = {"integer": math.nan, "number": math.nan, "text": "", "truth": None}
"""What a row has where a point lacks a field, by the kind of the field."""


def _own_value(field: Described, value: Any) -> Any:
    if value is None:
        return _LACKING[field.kind]
    is_real = field.kind == "number" or (field.kind == "integer" and field.or_null)  # whatever the value of this row
    return float(value) if is_real else value


def _with_own(record: Any, rows: Iterable[Row]) -> Iterable[Row]:
    """The rows of a record's points with the values of these fields."""
    own_of = {point.index: point.own for point in getattr(record, "points", ())}
    fields = _own_fields(record.family)
    for row in rows:
        own = own_of.get(row.get("index"), {})
        yield {name: _own_value(field, own.get(name)) for name, field in fields.items()} | row


def maker(
    columns: Sequence[str], rows: Rows, *truths: str, then: Callable[[list[Row]], Iterable[Row]] = list
) -> Callable[..., pd.DataFrame]:
    """A function that makes a family's table of its records and, where they are known, of `failed_records` of the run.

    truths: which of the columns have truth values, beside `valid` and `reliable`.  then: what is added to the rows.
    """

    def table(records: Sequence[Any], failed: Mapping[str, tuple[str, str]] | None = None) -> pd.DataFrame:
        why = {name: reason for name, (_, reason) in (failed or {}).items()}
        reasons = [(record, failed_reasons(why.get(record.name, ""))) for record in records]
        every = [row for record, failed_why in reasons for row in _with_own(record, rows(record, failed_why))]
        made = pd.DataFrame(list(then(every)), columns=list(columns))
        typed: pd.DataFrame = made.astype(dict.fromkeys(("valid", "reliable", *truths), bool)).copy()
        return typed

    return table


def case_words(own: FamilyAxes, row: Mapping[Any, Any]) -> str:
    """The library, configuration and network of a row: ``mpich@5.0.2, async, shm``."""
    return f"{row['toolchain']}, {own.words(row)}, {row['network']}"


def nodes_words(row: Mapping[Any, Any]) -> str:
    """How many nodes share a copy, and what they are: ``2 nodes (real)``."""
    return f"{plural(int(row['shared_nodes']), 'node')} ({row['nodes_are']})"


def having(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows with a finite value in a column."""
    finite: pd.DataFrame = rows[np.isfinite(rows[column].to_numpy(np.float64))]
    return finite


def same_case(own: FamilyAxes, *without: str) -> list[str]:
    """The columns that tell cases apart, but for these; those of one case may differ in the launch."""
    return [*(name for name in own.case if name not in (axes.LAUNCH.name, *without)), NAMED]


def case_of(header: Header, own: FamilyAxes) -> Row:
    """The columns that are the same for all points of a record: those of a case, and what a table needs to tell
    launches apart."""
    return {
        **{name: getattr(header, name) for name in own.case if hasattr(header, name)},
        **axes.asked(header.plan.parameters, own.asked),
        "given_up_cores": header.progress.given_up_cores,
        "launch": repeat_of(header.metadata) or 1,
        NAMED: named_cores_of(header.metadata),
    }


def names_of_estimates(names: Iterable[str]) -> tuple[str, ...]:
    """The names of the columns of estimates."""
    return tuple(f"{name}{end}" for name in names for end in ENDS)


def columns_of_estimates(found: Mapping[str, Estimate]) -> Row:
    """The columns of estimates by their names: the value, and the ends of its 95 % interval."""
    return {
        f"{name}{end}": value
        for name, estimate in found.items()
        for end, value in zip(ENDS, estimate.numbers, strict=True)
    }


def estimate_of(row: Mapping[Any, Any], name: str) -> Estimate:
    """A number of a row with its interval."""
    return Estimate(*(np.float64(row[f"{name}{end}"]) for end in ENDS))


def columns_of_point(
    record: RecordFile,
    point: Sampling,
    reasons: Sequence[str],
    flags: Iterable[str],
    invalid: Sequence[str] | None = None,
) -> Row:
    """LAST_COLUMNS: how a point was repeated, its clock, what it may be used for, and its record.

    reasons: why it is not reliable.  flags: see `validity`; none of a point without repetitions.
    invalid: why it is not valid; None: its `invalid_reasons`.
    """
    return {
        **{name: getattr(point, name) for name in _OF_SAMPLING},
        "clock_method": point.clock.method,
        "clock_residual_ns": math.nan if point.clock.residual_ns is None else point.clock.residual_ns,
        "valid": not (sampled.invalid_reasons(point) if invalid is None else invalid),
        "reliable": not reasons,
        "unreliable_reasons": list(reasons),
        "flags": list(flags),
        **columns_of_record(record),
    }


def columns_of_record(record: RecordFile) -> Row:
    """The circumstances of a record, and its name."""
    return {
        "oversubscribed": record.header.oversubscribed,
        "shared_core": record.header.shared_core,
        "complete": record.complete,
        "record": record.name,
    }


def over_launches(
    table: pd.DataFrame, keys: Sequence[str], estimates: Sequence[str], doubts: Sequence[str] = ()
) -> pd.DataFrame:
    """A row per point of a case, with the columns of the table and `launches`, in the order of their first launches.

    table: a row per point of each launch, with `valid` and `reliable`.  keys: the columns that tell points apart, of
    any launch.  estimates: the names of numbers with intervals. Over the launches in which the point is valid these are
    `launches.over_launches`; the rest is that of the first of them. The point is reliable if it is in at least half.
    doubts: columns of truth values that hold of the point if they hold in more than half.
    """
    if table.empty:
        without: pd.DataFrame = table.assign(launches=0)
        return without
    truths = {name: table[name].to_numpy(bool) for name in ("valid", "reliable", *doubts)}
    number = table.groupby(list(keys), sort=False, dropna=False).ngroup().to_numpy()
    order = np.argsort(number, kind="stable")
    of_points = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
    good = [places[truths["valid"][places]] for places in of_points]
    first = [(valid if valid.size else places)[0] for valid, places in zip(good, of_points, strict=True)]
    several = np.array([valid.size > 1 for valid in good])
    made = table.iloc[first].reset_index(drop=True).assign(launches=[valid.size for valid in good])
    good = [valid for valid in good if valid.size > 1]
    for name in estimates if good else ():
        parts = [table[f"{name}{end}"].to_numpy(np.float64) for end in ENDS]
        found = [of_launches(*(part[valid] for part in parts)).numbers for valid in good]
        for end, values in zip(ENDS, np.transpose(found), strict=True):
            made[f"{name}{end}"] = _replaced(made[f"{name}{end}"].to_numpy(np.float64), several, values)
    for name in doubts:
        most = [2 * int(truths[name][valid].sum()) > valid.size for valid in good]
        made[name] = _replaced(made[name].to_numpy(bool), several, most)
    half = [2 * int(truths["reliable"][valid].sum()) >= valid.size for valid in good]
    made["reliable"] = _replaced(made["reliable"].to_numpy(bool), several, half)
    typed: pd.DataFrame = made.astype({"valid": bool, "reliable": bool})
    return typed


def _replaced(column: NDArray[Any], where: NDArray[np.bool_], values: ArrayLike) -> NDArray[Any]:
    column = column.copy()
    column[where] = values
    return column


def few_launches_words(count: int) -> str:
    """What is appended to the name of a case of which there are too few launches: they do not tell what differs between
    launches. Empty where there are enough."""
    return f", likely ({plural(count, 'launch')})" if count > 0 and likely(count) else ""


def sound(rows: pd.DataFrame) -> pd.Series[bool]:
    """Whether each row is sound: valid, and nothing is amiss but the width of its interval. What that noise does to a
    result is in the interval of the result."""
    nothing_else = [not sampled.beside_width(reasons) for reasons in rows["unreliable_reasons"]]
    found: pd.Series[bool] = pd.Series(rows["valid"].to_numpy(bool) & np.array(nothing_else, bool), rows.index)
    return found


def usable(table: pd.DataFrame) -> pd.DataFrame:
    """The rows for a summary: the reliable ones, or all valid ones where less than half of these are reliable."""
    enough = 2 * table["reliable"].sum() >= table["valid"].sum()
    chosen: pd.DataFrame = table[table["reliable" if enough else "valid"]]
    return chosen


@dataclass(frozen=True)
class LeftOut:
    """The valid rows that a summary over `usable` rows leaves out, and what it would be with them.

    below, above: how many of them have a value below 1, and at or above it.  reason: the most frequent one, without its
    numbers.  median: over all valid rows.
    """

    below: int
    above: int
    reason: str
    median: float

    @property
    def words(self) -> str:
        """``left out: 4 points below 1, 1 above (mostly interval too wide); median with them 3.68``; or nothing."""
        if not self.below + self.above:
            return ""
        sides = f"{plural(self.below, 'point')} below 1, {self.above} above"
        return f"left out: {sides} (mostly {self.reason}); median with them {ratio(self.median)}"


def left_out(table: pd.DataFrame, values: ArrayLike) -> LeftOut:
    """What `usable` leaves out of a table whose rows have these ratios."""
    value = np.asarray(values, np.float64)
    valid = table["valid"].to_numpy(bool) & np.isfinite(value)
    left = valid & ~table.index.isin(usable(table).index)
    reasons = Counter(rows[0].partition(" (")[0] for rows in table.loc[left, "unreliable_reasons"] if rows)
    reason = reasons.most_common(1)[0][0] if reasons else ""
    below = int((value[left] < 1).sum())
    return LeftOut(below, int(left.sum()) - below, reason, float(np.median(value[valid])) if valid.any() else math.nan)


def uncounted_words(count: int, of_all: int, faster: int, than: str) -> str:
    """How many points a verdict leaves out, of how many, and how many of them are faster; empty where all count."""
    one = count == 1
    words = f"{'is' if one else 'are'} not reliable and {'does' if one else 'do'} not count"
    return f"{count} of {plural(of_all, 'point')} {words}, {faster} faster than {than}" if count else ""


def geometric_mean(values: pd.Series[Any]) -> float:
    """The geometric mean of the finite values above 0 of a column; NaN where there is none."""
    numbers = values.to_numpy(dtype=np.float64)
    known = numbers[np.isfinite(numbers) & (numbers > 0)]
    return float(np.exp(np.log(known).mean())) if known.size else math.nan


def numbers_of(table: pd.DataFrame, numbers: Mapping[str, float]) -> dict[str, float]:
    """The numbers that sum up a record: those that are finite, and the counts of the rows of its table: points,
    points_valid, points_reliable."""
    return {
        **{name: value for name, value in numbers.items() if math.isfinite(value)},
        "points": float(len(table)),
        "points_valid": float(table["valid"].sum()),
        "points_reliable": float(table["reliable"].sum()),
    }


def remarks(row: Mapping[Any, Any]) -> list[str]:
    """The remarks on a row, each a phrase, the worst first."""
    return [*(f"unreliable: {reason}" for reason in row["unreliable_reasons"]), *circumstances(row), *row["flags"]]


def leading(own: FamilyAxes) -> tuple[Column, ...]:
    """The columns with which every table of points begins: library, network, configuration."""
    return plain("toolchain"), plain("network"), Column("configuration", own.words)


REMARKS = remarked(remarks)
LAST = (number("reps", "repetitions"), REMARKS)
"""The columns with which most of them end."""
