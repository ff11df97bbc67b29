"""The tables of `cpu_overhead` for a reader: blocking calls, other ways of spending the time, availability, LogGP."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from postprocess.drawing.columns import Columns, circumstances
from postprocess.drawing.text import duration, duration_and_interval, interval, percent, ratio, size
from postprocess.families import axes, sampled_table
from postprocess.families.cpu_overhead.axes import AXES
from postprocess.families.cpu_overhead.claims import sentences
from postprocess.families.cpu_overhead.loggp_table import run_remarks
from postprocess.families.cpu_overhead.record import BLOCKING, LATE, ONCE, WORKING
from postprocess.records.header import NAMED


def _case_cells(row: Mapping[Any, Any]) -> list[str]:
    return [str(row["toolchain"]), str(row["network"]), AXES.words(row)]


def _point_cells(row: Mapping[Any, Any]) -> list[str]:
    return [
        *_case_cells(row),
        str(row["operation"]),
        str(row["communicator_ranks"]),
        size(row["message_bytes"]) if row["message_bytes"] else "",
        str(row["launch"]),
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
        "; ".join(sampled_table.remarks(row)),
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
        "; ".join(sampled_table.remarks(row)),
    ]


def _late_cells(row: Mapping[Any, Any]) -> list[str]:
    """The texts of a row of the way `late`. Times are those of the ranks that wait for the late one."""
    return [
        *_point_cells(row),
        duration(row["lateness_ns"]),
        duration(row["t_wall_ns"]),
        *_with_interval(row, "cpu_share"),
        duration(row["idle_ns"]),
        ratio(row["thread_cpu_share"]),
        _count(row["voluntary_switches"] * row["calls"]),
        _count(row["involuntary_switches"] * row["calls"]),
        str(row["repetitions"]),
        "; ".join(sampled_table.remarks(row)),
    ]


def _node_cells(row: Mapping[Any, Any]) -> list[str]:
    return [
        *_point_cells(row),
        *_with_interval(row, "ranks_cpus"),
        *_with_interval(row, "node_cpus"),
        *_with_interval(row, "softirq_cpus"),
        str(row["repetitions"]),
        "; ".join(sampled_table.remarks(row)),
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


def _time(row: Mapping[Any, Any], name: str) -> str:
    """A time with its interval."""
    value, *ends = (float(row[f"{name}{end}"]) for end in sampled_table.ENDS)
    return duration_and_interval(value, *ends) if math.isfinite(value) else ""


def _per_byte(row: Mapping[Any, Any], name: str, unit: str = "ns") -> str:
    """A time per byte with its interval, all in one unit: ns with three decimals, or ps with one."""
    scale, decimals = {"ns": (1, 3), "ps": (1000, 1)}[unit]
    value, *ends = (scale * row[f"{name}{end}"] for end in sampled_table.ENDS)
    known = f" [{ends[0]:.{decimals}f}, {ends[1]:.{decimals}f}]" if ends[0] <= ends[1] else ""
    return f"{value:.{decimals}f} {unit}{known}" if math.isfinite(value) else ""


def _threshold(row: Mapping[Any, Any], of: str) -> str:
    """Up to which size a message does not wait for its receiver."""
    eager, waiting = row[f"{of}eager_bytes"], row[f"{of}waiting_bytes"]
    known = [f"to {eager:.0f} B"] if math.isfinite(eager) else []
    return ", ".join([*known, *([f"not {waiting:.0f} B"] if math.isfinite(waiting) else [])])


def _parameter_cells(row: Mapping[Any, Any], of: str = "") -> list[str]:
    """The texts of the parameters.  of: before the names of their columns."""
    at_most = {
        name: "≤ " if row[f"{of}{name[0]}_hidden"] and math.isfinite(row[f"{of}{name}"]) else ""
        for name in ("g_ns", "G_ns_per_byte")
    }
    return [
        _time(row, f"{of}L_ns"),
        _time(row, f"{of}o_send_ns"),
        _time(row, f"{of}o_recv_ns"),
        f"{at_most['g_ns']}{_time(row, f'{of}g_ns')}",
        f"{at_most['G_ns_per_byte']}{_per_byte(row, f'{of}G_ns_per_byte')}",
        _per_byte(row, f"{of}gamma_hot_ns_per_byte", "ps"),
        _per_byte(row, f"{of}gamma_cold_ns_per_byte", "ps"),
        _threshold(row, of),
    ]


def _pair_cells(row: Mapping[Any, Any]) -> list[str]:
    return [*_case_cells(row), str(row["pair"]).replace("_", " ")]


def _run_cells(row: Mapping[Any, Any]) -> list[str]:
    """The texts of what all launches of a run say of a pair."""
    alone = "one launch: no interval contains what differs between launches"
    if row["launches"] > 1:
        said = [*run_remarks(row), *circumstances(row)]
    else:
        said = [*sampled_table.remarks(row), *([alone] if row["launches"] else [])]
    return [
        *_pair_cells(row),
        str(row["launches"]),
        *_parameter_cells(row, "run_"),
        "; ".join(said),
    ]


def _launch_cells(row: Mapping[Any, Any]) -> list[str]:
    return [*_pair_cells(row), str(row["launch"]), *_parameter_cells(row), "; ".join(sampled_table.remarks(row))]


def _predicted_cells(row: Mapping[Any, Any]) -> list[str]:
    """The texts of a prediction. Where its time of the network is below 0, it says nothing of the CPU's share."""
    share = ratio(row["predicted_cpu_ns"] / row["predicted_ns"] if row["predicted_ns"] else math.nan)
    return [
        *_point_cells(row),
        _time(row, "t_once_ns"),
        _time(row, "predicted_ns"),
        ratio(row["t_once_ns"] / row["predicted_ns"] if row["predicted_ns"] else math.nan),
        _time(row, "t_wall_ns"),
        _time(row, "t_cpu_ns"),
        _time(row, "predicted_cpu_ns"),
        ratio(row["cpu_share"]),
        share if row["predicted_network_ns"] >= 0 else "no prediction: L is below 0",
        "; ".join(sampled_table.remarks(row)),
    ]


def _count(number: float) -> str:
    return f"{number:.0f}" if math.isfinite(number) else ""


_HEADS = ("toolchain", "network", "configuration", "collective", "ranks", "message", "launch")
BLOCKING_CALLS = Columns(
    heads=(
        *_HEADS, "time", "CPU share", "95 %", "user", "95 %", "idle", "95 %", "idle time", "thread", "again", "95 %",
        "waits", "preempted", "calls", "reps", "remarks",
    ),
    right=frozenset(range(4, 22)),
    cells=_blocking_cells,
)  # fmt: skip
WAYS = Columns(
    heads=(
        *_HEADS, "way", "time", "x blocking", "95 %", "CPU share", "CPU change", "95 %", "soaked", "95 %", "reps",
        "remarks",
    ),
    right=frozenset({4, 5, 6, *range(8, 17)}),
    cells=_way_cells,
)  # fmt: skip
LATE_RANKS = Columns(
    heads=(
        *_HEADS, "late by", "time", "CPU share", "95 %", "idle time", "thread", "waits", "preempted", "reps",
        "remarks",
    ),
    right=frozenset(range(4, 16)),
    cells=_late_cells,
)  # fmt: skip
NODES = Columns(
    heads=(*_HEADS, "of ranks", "95 %", "of the node", "95 %", "soft interrupts", "95 %", "reps", "remarks"),
    right=frozenset(range(4, 14)),
    cells=_node_cells,
)
AVAILABILITY = Columns(
    heads=(*_HEADS, "available", "95 %", "steps"), right=frozenset(range(4, 10)), cells=_availability_cells
)

_PAIR_HEADS = ("toolchain", "network", "configuration", "between")
_PARAMETER_HEADS = (
    "L", "o send", "o receive", "g", "G per byte", "γ/B, cached", "γ/B, not cached", "eager", "remarks",
)  # fmt: skip
LOGGP_PARAMETERS = Columns(
    heads=(*_PAIR_HEADS, "launches", *_PARAMETER_HEADS),
    right=frozenset(range(4, 12)),
    cells=_run_cells,
)
LOGGP_LAUNCHES = Columns(
    heads=(*_PAIR_HEADS, "launch", *_PARAMETER_HEADS),
    right=frozenset(range(4, 12)),
    cells=_launch_cells,
)
PREDICTED = Columns(
    heads=(
        *_HEADS, "one call", "predicted", "ratio", "in a batch", "CPU time", "predicted", "CPU share", "predicted",
        "remarks",
    ),
    right=frozenset(range(4, 15)),
    cells=_predicted_cells,
)  # fmt: skip


def leading_columns(columns: Columns) -> int:
    """How many columns of a table say what a row is of, before those that say what was found."""
    return len(_PAIR_HEADS) + 1 if columns in (LOGGP_PARAMETERS, LOGGP_LAUNCHES) else len(_HEADS)


def blocking_calls(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of blocking calls."""
    chosen: pd.DataFrame = table[table["way"] == BLOCKING]
    return chosen


def other_ways(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of other ways of spending the time, without those that have a table of their own."""
    chosen: pd.DataFrame = table[~table["way"].isin([BLOCKING, WORKING, ONCE, LATE, ""])]
    return chosen


def late_ranks(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of calls for which a rank came late."""
    chosen: pd.DataFrame = table[table["way"] == LATE]
    return chosen


def of_nodes(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of blocking calls of all ranks, as far as the CPU time of the node is known."""
    calls = blocking_calls(table)
    all_ranks = calls["communicator_ranks"] == calls.groupby("record")["communicator_ranks"].transform("max")
    chosen: pd.DataFrame = calls[all_ranks & calls["node_cpus"].notna()]
    return chosen


def availabilities(table: pd.DataFrame) -> pd.DataFrame:
    """A row per collective, communicator and size of a record whose availability was searched, with its `steps`."""
    steps = table[table["way"] == WORKING]
    cell = ["record", "operation", "communicator_ranks", "message_bytes"]
    counts = steps.groupby(cell)["way"].transform("size")
    one_each: pd.DataFrame = steps.copy().assign(steps=counts).drop_duplicates(cell)
    return one_each


def parameters_of_launches(table: pd.DataFrame) -> pd.DataFrame:
    """A row per record and pair of the LogGP parameters: that of the smallest messages."""
    messages = table[table["pair"] != ""].sort_values("message_bytes", kind="stable")
    chosen: pd.DataFrame = messages.drop_duplicates(["record", "pair"]).sort_index()
    return chosen


def parameters(table: pd.DataFrame) -> pd.DataFrame:
    """A row per case and pair: that of the first launch that has them, which tells of all launches, too."""
    launches = parameters_of_launches(table).sort_values("valid", ascending=False, kind="stable")
    case = [name for name in AXES.case if name != axes.LAUNCH.name]
    chosen: pd.DataFrame = launches.drop_duplicates([*case, NAMED, "pair"]).sort_index()
    return chosen


def launches_of_many(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of `parameters_of_launches` of cases with several launches."""
    launches = parameters_of_launches(table)
    chosen: pd.DataFrame = launches[launches["launches"] > 1]
    return chosen


def predicted(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of which the LogGP model predicts something."""
    chosen: pd.DataFrame = table[table["predicted_ns"].notna()]
    return chosen


def tables(table: pd.DataFrame) -> Iterator[tuple[str, Columns, pd.DataFrame]]:
    """Yield the tables that have rows: title, columns, rows."""
    yield from (
        (title, columns, rows)
        for title, columns, rows in (
            ("Blocking collectives", BLOCKING_CALLS, blocking_calls(table)),
            ("Other ways of spending the time of a collective", WAYS, other_ways(table)),
            ("Waiting for a rank that comes late", LATE_RANKS, late_ranks(table)),
            ("CPUs that are busy on the node of rank 0 during blocking collectives", NODES, of_nodes(table)),
            ("Work that fits beside the nonblocking collective", AVAILABILITY, availabilities(table)),
            ("Parameters of the LogGP model", LOGGP_PARAMETERS, parameters(table)),
            ("Parameters of each launch", LOGGP_LAUNCHES, launches_of_many(table)),
            ("What the LogGP model predicts of blocking collectives", PREDICTED, predicted(table)),
        )
        if not rows.empty
    )


def cpu_text(table: pd.DataFrame) -> str:
    """All tables as text, each under its title, and what they say in sentences; empty for an empty table."""
    shown = list(tables(table))
    parts = [f"{title}:\n{columns.text(rows)}" for title, columns, rows in shown]
    said = sentences(table) if shown else []
    return "\n\n".join([*parts, *(["\n".join(said)] if said else [])])
