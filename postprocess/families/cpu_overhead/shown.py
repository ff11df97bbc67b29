"""The tables of `cpu_overhead` for a reader: blocking calls, other ways of spending the time, availability, LogGP."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from postprocess.drawing.columns import Column, Columns, circumstances, estimate, number, plain
from postprocess.drawing.text import duration, duration_and_interval, percent, ratio, size
from postprocess.families import sampled_table
from postprocess.families.cpu_overhead.axes import AXES
from postprocess.families.cpu_overhead.claims import of_all_ranks, sentences
from postprocess.families.cpu_overhead.loggp_table import run_remarks
from postprocess.families.cpu_overhead.record import BLOCKING, ONCE, OUT_OF_STEP, WITH_LATE, WORKING
from postprocess.families.sampled_table import LAST, REMARKS, having, leading, same_case


def _count(number: float) -> str:
    return f"{number:.0f}" if math.isfinite(number) else ""


def _available(row: Mapping[Any, Any]) -> str:
    """Between which ends it lies; only the lower one may be known."""
    low, high = (percent(row[f"availability_ci95_{end}"]) for end in ("low", "high"))
    at_least = f"at least {low}" if row["availability_ci95_low"] >= 0 else "not known"
    return f"{low} to {high}" if math.isfinite(row["availability"]) else at_least


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


def _parameters(of: str = "") -> tuple[Column, ...]:
    """The columns of the parameters.  of: before the names of those of the table."""

    def time(name: str) -> Callable[[Mapping[Any, Any]], str]:
        return lambda row: _time(row, of + name)

    def at_most(letter: str, name: str, words: Callable[[Mapping[Any, Any], str], str]) -> Column:
        """Where the parameter is hidden, its value is the most that it can be."""

        def cell(row: Mapping[Any, Any]) -> str:
            hidden = row[f"{of}{letter}_hidden"] and math.isfinite(row[of + name])
            return f"{'≤ ' if hidden else ''}{words(row, of + name)}"

        return Column("G per byte" if letter == "G" else letter, cell, right=True)

    return (
        Column("L", time("L_ns"), right=True),
        Column("o send", time("o_send_ns"), right=True),
        Column("o receive", time("o_recv_ns"), right=True),
        at_most("g", "g_ns", _time),
        at_most("G", "G_ns_per_byte", _per_byte),
        Column("γ/B, cached", lambda row: _per_byte(row, f"{of}gamma_hot_ns_per_byte", "ps"), right=True),
        Column("γ/B, not cached", lambda row: _per_byte(row, f"{of}gamma_cold_ns_per_byte", "ps"), right=True),
        Column("eager", lambda row: _threshold(row, of)),
    )


def _run_remarks(row: Mapping[Any, Any]) -> str:
    """What all launches of a run say of a pair."""
    alone = "one launch: no interval contains what differs between launches"
    if row["launches"] > 1:
        return "; ".join([*run_remarks(row), *circumstances(row)])
    return "; ".join([*sampled_table.remarks(row), *([alone] if row["launches"] else [])])


def _predicted_share(row: Mapping[Any, Any]) -> str:
    """Where the predicted time of the network is below 0, it says nothing of the CPU's share."""
    share = ratio(row["predicted_cpu_ns"] / row["predicted_ns"] if row["predicted_ns"] else math.nan)
    return share if row["predicted_network_ns"] >= 0 else "no prediction: L is below 0"


def _times(*columns: tuple[str, str]) -> Iterator[Column]:
    """Columns of times with their intervals, by their heads."""
    for head, name in columns:
        yield Column(head, partial(_time, name=name), right=True)


_POINT = (
    *leading(AXES), plain("collective", "operation"), number("ranks", "communicator_ranks"),
    number("message", "message_bytes", lambda count: size(count) if count else ""), number("launch"),
)  # fmt: skip
_TIME = number("time", "t_wall_ns", duration)
_IDLE = number("idle time", "idle_ns", duration)
_THREAD = number("thread", "thread_cpu_share", ratio)
_SWITCHES = (
    Column("waits", lambda row: _count(row["voluntary_switches"] * row["calls"]), right=True),
    Column("preempted", lambda row: _count(row["involuntary_switches"] * row["calls"]), right=True),
)
"""Context switches are those of a batch."""
BLOCKING_CALLS = Columns((
    *_POINT, _TIME, *estimate("CPU share", "cpu_share"), *estimate("user", "user_share"),
    *estimate("idle", "idle_share"), _IDLE, _THREAD, *estimate("again", "slowdown"), *_SWITCHES, number("calls"), *LAST,
))  # fmt: skip
WAYS = Columns((
    *_POINT, plain("way"), _TIME, *estimate("x blocking", "slowdown"), number("CPU share", "cpu_share", ratio),
    *estimate("CPU change", "cpu_change"), *estimate("soaked", "soaked_share"), *LAST,
))  # fmt: skip
LATE_RANKS = Columns((
    *_POINT, plain("way"), number("late by", "lateness_ns", duration), _TIME, *estimate("CPU share", "cpu_share"),
    _IDLE, _THREAD, *_SWITCHES, *LAST,
))  # fmt: skip
"""Times are those of the other ranks."""
STEPS = Columns((
    *_POINT, plain("way"), Column("work a call", lambda row: duration(row["lateness_ns"] / row["calls"]), right=True),
    _TIME, *estimate("x reference", "slowdown"), number("CPU share", "cpu_share", ratio), *_SWITCHES, *LAST,
))  # fmt: skip
NODES = Columns((
    *_POINT, *estimate("of ranks", "ranks_cpus"), *estimate("of the node", "node_cpus"),
    *estimate("soft interrupts", "softirq_cpus"), *LAST,
))  # fmt: skip
AVAILABILITY = Columns((
    *_POINT,
    number("available", "availability", lambda share: percent(share) if math.isfinite(share) else ""),
    Column("95 %", _available, right=True), number("steps"),
))  # fmt: skip
_PAIR = (*leading(AXES), Column("between", lambda row: str(row["pair"]).replace("_", " ")))
LOGGP_PARAMETERS = Columns((*_PAIR, number("launches"), *_parameters("run_"), Column("remarks", _run_remarks)))
LOGGP_LAUNCHES = Columns((*_PAIR, number("launch"), *_parameters(), REMARKS))
PREDICTED = Columns((
    *_POINT, *_times(("one call", "t_once_ns"), ("predicted", "predicted_ns")),
    Column(
        "ratio", lambda row: ratio(row["t_once_ns"] / row["predicted_ns"] if row["predicted_ns"] else math.nan), True
    ),
    *_times(("in a batch", "t_wall_ns"), ("CPU time", "t_cpu_ns"), ("predicted", "predicted_cpu_ns")),
    number("CPU share", "cpu_share", ratio), Column("predicted", _predicted_share, right=True), REMARKS,
))  # fmt: skip


def _parameters_of_launches(table: pd.DataFrame) -> pd.DataFrame:
    """A row per record and pair of the LogGP parameters: that of the smallest messages."""
    messages = table[table["pair"] != ""].sort_values("message_bytes", kind="stable")
    chosen: pd.DataFrame = messages.drop_duplicates(["record", "pair"]).sort_index()
    return chosen


def tables(table: pd.DataFrame) -> Iterator[tuple[str, Columns, int, pd.DataFrame]]:
    """Yield the tables that have rows: title, columns, rows; and how many columns say what a row is of."""
    way, of_case, of_pair = table["way"], len(_POINT), len(_PAIR) + 1
    blocking = table[way == BLOCKING]
    searched = table[way == WORKING].copy()
    cell = ["record", "operation", "communicator_ranks", "message_bytes"]
    searches = searched.assign(steps=searched.groupby(cell)["way"].transform("size")).drop_duplicates(cell)
    launches = _parameters_of_launches(table)
    # Of each case and pair the first launch that has parameters, which tells of all launches, too.
    of_first = launches.sort_values("valid", ascending=False, kind="stable")
    of_first = of_first.drop_duplicates([*same_case(AXES), "pair"]).sort_index()
    shown = (
        ("Blocking collectives", BLOCKING_CALLS, of_case, blocking),
        (
            "Other ways of spending the time of a collective", WAYS, of_case,
            table[~way.isin([BLOCKING, WORKING, ONCE, *WITH_LATE, *OUT_OF_STEP, ""])],
        ),
        ("While a rank comes late", LATE_RANKS, of_case, table[way.isin(WITH_LATE)]),
        ("With work before or beside each call", STEPS, of_case, table[way.isin(OUT_OF_STEP)]),
        (
            "CPUs that are busy on the node of rank 0 during blocking collectives", NODES, of_case,
            having(of_all_ranks(blocking), "node_cpus"),
        ),
        ("Work that fits beside the nonblocking collective", AVAILABILITY, of_case, searches),
        ("Parameters of the LogGP model", LOGGP_PARAMETERS, of_pair, of_first),
        ("Parameters of each launch", LOGGP_LAUNCHES, of_pair, launches[launches["launches"] > 1]),
        ("What the LogGP model predicts of blocking collectives", PREDICTED, of_case, having(table, "predicted_ns")),
    )  # fmt: skip
    yield from (one for one in shown if not one[-1].empty)


def cpu_text(table: pd.DataFrame) -> str:
    """All tables as text, each under its title, and what they say in sentences; empty for an empty table."""
    shown = list(tables(table))
    parts = [f"{title}:\n{columns.text(rows)}" for title, columns, _, rows in shown]
    words = sentences(table) if shown else []
    return "\n\n".join([*parts, *(["\n".join(words)] if words else [])])
