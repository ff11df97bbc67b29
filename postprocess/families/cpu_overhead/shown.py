"""The tables of `cpu_overhead` for a reader: blocking calls, other ways of spending the time, and availability."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from postprocess.drawing.columns import Columns, circumstances
from postprocess.drawing.text import duration, interval, percent, ratio, size
from postprocess.families.cpu_overhead.record import BLOCKING, WORKING
from postprocess.families.cpu_overhead.table import configuration_words


def remarks(row: Mapping[Any, Any]) -> list[str]:
    """The remarks on a row, each a phrase, the worst first."""
    return [*(f"unreliable: {reason}" for reason in row["unreliable_reasons"]), *circumstances(row), *row["flags"]]


def _point_cells(row: Mapping[Any, Any]) -> list[str]:
    return [
        str(row["toolchain"]),
        str(row["network"]),
        configuration_words(row),
        str(row["operation"]),
        str(row["communicator_ranks"]),
        size(row["message_bytes"]) if row["message_bytes"] else "",
    ]


def _with_interval(row: Mapping[Any, Any], name: str) -> list[str]:
    return [ratio(row[name]), interval(row[f"{name}_ci95_low"], row[f"{name}_ci95_high"])]


def _blocking_cells(row: Mapping[Any, Any]) -> list[str]:
    """The texts of a row of `cpu_table`. Context switches are those of a batch."""
    return [
        *_point_cells(row),
        duration(row["t_wall_ns"]),
        *_with_interval(row, "cpu_share"),
        *_with_interval(row, "user_share"),
        *_with_interval(row, "idle_share"),
        duration(row["idle_ns"]),
        ratio(row["thread_cpu_share"]),
        *_with_interval(row, "slowdown"),
        _count(row["voluntary_switches"] * row["calls"]),
        _count(row["involuntary_switches"] * row["calls"]),
        str(row["calls"]),
        str(row["repetitions"]),
        "; ".join(remarks(row)),
    ]


def _way_cells(row: Mapping[Any, Any]) -> list[str]:
    return [
        *_point_cells(row),
        str(row["way"]),
        duration(row["t_wall_ns"]),
        *_with_interval(row, "slowdown"),
        ratio(row["cpu_share"]),
        *_with_interval(row, "cpu_change"),
        *_with_interval(row, "soaked_share"),
        str(row["repetitions"]),
        "; ".join(remarks(row)),
    ]


def _availability_cells(row: Mapping[Any, Any]) -> list[str]:
    known = math.isfinite(row["availability"])
    ends = f"{percent(row['availability_ci95_low'])} to {percent(row['availability_ci95_high'])}"
    at_least = f"at least {percent(row['availability_ci95_low'])}" if row["availability_ci95_low"] >= 0 else "not known"
    return [
        *_point_cells(row),
        percent(row["availability"]) if known else "",
        ends if known else at_least,
        str(row["steps"]),
    ]


def _count(number: float) -> str:
    return f"{number:.0f}" if math.isfinite(number) else ""


_HEADS = ("toolchain", "network", "configuration", "collective", "ranks", "message")
BLOCKING_CALLS = Columns(
    heads=(
        *_HEADS, "time", "CPU share", "95 %", "user", "95 %", "idle", "95 %", "idle time", "thread", "again", "95 %",
        "waits", "preempted", "calls", "reps", "remarks",
    ),
    right=frozenset(range(4, 21)),
    cells=_blocking_cells,
)  # fmt: skip
WAYS = Columns(
    heads=(
        *_HEADS, "way", "time", "x blocking", "95 %", "CPU share", "CPU change", "95 %", "soaked", "95 %", "reps",
        "remarks",
    ),
    right=frozenset({4, 5, *range(7, 15)}),
    cells=_way_cells,
)  # fmt: skip
AVAILABILITY = Columns(
    heads=(*_HEADS, "available", "95 %", "steps"), right=frozenset(range(4, 9)), cells=_availability_cells
)


def blocking_calls(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of blocking calls."""
    chosen: pd.DataFrame = table[table["way"] == BLOCKING]
    return chosen


def other_ways(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of other ways of spending the time, without the steps of the search for availability."""
    chosen: pd.DataFrame = table[~table["way"].isin([BLOCKING, WORKING])]
    return chosen


def availabilities(table: pd.DataFrame) -> pd.DataFrame:
    """A row per collective, communicator and size of a record whose availability was searched, with its `steps`."""
    steps = table[table["way"] == WORKING]
    cell = ["record", "operation", "communicator_ranks", "message_bytes"]
    counts = steps.groupby(cell)["way"].transform("size")
    one_each: pd.DataFrame = steps.assign(steps=counts).drop_duplicates(cell)
    return one_each


def tables(table: pd.DataFrame) -> Iterator[tuple[str, Columns, pd.DataFrame]]:
    """Yield the tables that have rows: title, columns, rows."""
    yield from (
        (title, columns, rows)
        for title, columns, rows in (
            ("Blocking collectives", BLOCKING_CALLS, blocking_calls(table)),
            ("Other ways of spending the time of a collective", WAYS, other_ways(table)),
            ("Work that fits beside the nonblocking collective", AVAILABILITY, availabilities(table)),
        )
        if not rows.empty
    )


def cpu_text(table: pd.DataFrame) -> str:
    """All tables as text, each under its title where there are several; empty for an empty table."""
    shown = list(tables(table))
    return "\n\n".join(f"{title}:\n{columns.text(rows)}" for title, columns, rows in shown)
