"""The table of hybrid collectives: for each point a row for the collective alone and one for the whole, with the ratio
to the MPI library, its verdict and its validity.

All times are of one call: those of a batch divided by its calls. A ratio is made within repetitions, in which the
batches follow each other, so that what disturbs both sides cancels: its value is the median over repetitions, and the
95 % interval is that of a median, distribution free, from order statistics. Repetitions in another state of the cores
than most of the point (`state`) are left out.

    ratio_to_library   t_ns / t_library_ns: below 1 the hybrid library is faster
    ratio_to_best_library  the largest `ratio_to_library` over the settings of the MPI library that the run measured
                       (the axis `intranode`): each setting has a launch of its own, in which the hybrid library is the
                       common yardstick, so that no times of different launches are compared
    ratio_to_papers_own    t_ns / the time of the paper's own method, in the same repetitions
    control            the same ratio of the paper's own method to itself, which should be 1, at the same place: of the
                       same collective, size and setting of the MPI library
    ratio_to_papers_own_widened    ratio_to_papers_own with a wider interval: where the interval of the control excludes
                       1, both ends are moved outwards by the factor of its far end (`off_by`)
    r_overhead         where there are several nodes, of the collective alone: the overlap ratio of a computation
                       between its two steps (`overlap`)
    verdict            `faster` or `slower` where the whole interval is on that side of 1, however wide it is, and
                       there are no other doubts; else `cannot tell`
    best_verdict       the same of `ratio_to_best_library`
    pays_back_calls    after how many calls the time saved is that of making the communicators and the node's memory for
                       a buffer of this size, and of the trials; NaN where the verdict is not `faster`, and where a
                       record does not say how long trials took
    pays_back_without_trials_calls  the same without the trials

The interval of `ratio_to_best_library` reaches from the largest lower to the largest upper end over the settings: its
upper end bounds the ratio to the best setting whichever that is, because it bounds that of each.

Nothing is clamped. `validity` says what a row may be used for.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Column, Columns, estimate, number, plain
from postprocess.drawing.text import duration, quotient, size
from postprocess.families import axes, handovers, sampled, sampled_table
from postprocess.families.hybrid import state, validity
from postprocess.families.hybrid.axes import ALONE, AXES, WHOLE
from postprocess.families.hybrid.operations import OPERATIONS
from postprocess.families.hybrid.record import BATCHES_OF_NODES, HybridPoint, HybridRecord
from postprocess.families.sampled_table import LAST, leading
from postprocess.records.header import NAMED
from postprocess.statistics import control
from postprocess.statistics.control import CANNOT_TELL, FASTER, verdict
from postprocess.statistics.metrics import (
    UNKNOWN,
    Estimate,
    as_float,
    overhead_estimate,
    series_estimate,
    series_estimates,
)

_BATCHES: Mapping[str, tuple[str, str, str]] = {
    WHOLE: ("hybrid_whole", "library_whole", "papers_whole"), ALONE: ("hybrid_alone", "library_alone", "papers_alone"),
}  # fmt: skip
_OWN = ("t_ns", "t_library_ns", "ratio_to_library", "ratio_to_papers_own")
PAPERS_RATIO, WIDENED = "ratio_to_papers_own", "ratio_to_papers_own_widened"
_OF_NODES = ("t_steps_ns", "t_computation_ns", "t_overlap_ns", "r_overhead")
ESTIMATES = (*_OWN, WIDENED, "ratio_to_best_library", *_OF_NODES)
SETTING = axes.INTRANODE.name
_ALL_BUT_SETTING = (
    *(name for name in AXES.case if name != SETTING), "shared_nodes", "nodes_are", "operation", "variant", "timed",
    "message_bytes",
)  # fmt: skip
_PLACED = ["ranks", "shared_nodes", "nodes_are", axes.VIRTUAL_NODE_RANKS.name]
"""What decides, beside the machine, which cores hand cache lines to each other."""
_OF_CONTROL = (*AXES.case, "operation", "timed", "message_bytes")
"""What a row and its control have in common."""
_OF_POINT = ("operation", "variant", "message_bytes")
COLUMNS = sampled_table.with_own(AXES.family, (
    *AXES.case, NAMED, "operation", "variant", "timed", "message_bytes", "baseline", "shared_nodes",
    "fewest_node_ranks", "most_node_ranks", "nodes_are", "blocks",
    *sampled_table.names_of_estimates(ESTIMATES), "control", "best_setting", "settings",
    "handover_ns", "best_handover_ns", "other_state_repetitions", "t_mean_ns", "t_library_mean_ns",
    "verdict", "best_verdict", "pays_back_calls",
    "pays_back_without_trials_calls", "comm_create_ns", "memory_create_ns", "cutoff_bytes",
    "calls", "library_calls", "doubtful", *sampled_table.LAST_COLUMNS,
))  # fmt: skip
"""The columns of `hybrid_table`, in order.

Times are medians of one call, in nanoseconds, sizes in bytes; ratios have no unit. An unknown value is NaN. `calls` and
`library_calls` are those of a batch. `t_mean_ns` and `t_library_mean_ns` are means, as Zhou et al. report times.
`t_steps_ns`, `t_computation_ns`, `t_overlap_ns`: the two steps of the collective alone, the computation alone, and the
computation between the steps; NaN on a single node, and in rows of the whole.
`doubtful`: there are reasons against a verdict, not only a wide interval.
`settings` are those of the MPI library that were compared, `best_setting` the one with which it was fastest.
`evicts`: ranks evicted from their caches what they had read. `node_method`: how a reduction was made within the
node, and `papers_node_method` in the batches by the paper's own method; "" where nothing says it.
`handover_ns`: the median time in which ranks of a node handed a cache line to each other, NaN where it is not known or
no two ranks share a node; `best_handover_ns`: that beside `best_setting`. `other_state_repetitions`: repetitions that
were left out, because it was another.
"""


def _with_controls(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with `control` and `ratio_to_papers_own_widened`."""
    controls = {
        _values(row, _OF_CONTROL): row for row in rows if row["variant"] == OPERATIONS[row["operation"]].papers_own
    }
    return [{**row, **_beside_control(row, controls.get(_values(row, _OF_CONTROL)))} for row in rows]


def _beside_control(row: Mapping[str, Any], beside: Mapping[str, Any] | None) -> dict[str, float]:
    """The columns of a row that its control tells. beside: the row of the paper's own method itself."""
    known = beside is not None and not beside["doubtful"]
    factor = (
        control.off_by(sampled_table.estimate_of(beside, PAPERS_RATIO)) if beside is not None and known else math.inf
    )
    return {
        **sampled_table.columns_of_estimates(
            {WIDENED: control.widened(sampled_table.estimate_of(row, PAPERS_RATIO), factor)}
        ),
        "control": math.nan if beside is None else beside[PAPERS_RATIO],
    }


def count_of_controls(table: pd.DataFrame) -> control.Count:
    """The controls of a table of `hybrid_table` that are not doubtful, alone and whole."""
    own = table["variant"] == table["operation"].map(lambda name: OPERATIONS[name].papers_own)
    rows = table[own.astype(bool) & ~table["doubtful"]]
    return control.count(zip(rows[f"{PAPERS_RATIO}_ci95_low"], rows[f"{PAPERS_RATIO}_ci95_high"], strict=True))


def _with_best(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with `ratio_to_best_library`, `best_setting` and `settings`, where there is a valid one."""
    beside: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if row["valid"]:
            beside.setdefault(_values(row, _ALL_BUT_SETTING), []).append(row)
    return [{**row, **_among(row, beside.get(_values(row, _ALL_BUT_SETTING), ()))} for row in rows]


def _among(row: Mapping[str, Any], others: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The columns of a row that depend on other settings. others: the valid rows of each, the same otherwise."""
    return {**_best_of(others), "flags": [*row["flags"], *state.differing([one["handover_ns"] for one in others])]}


def _best_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The columns about the best of the settings; rows: a row of each, which are the same otherwise."""
    if not rows:
        return {}
    ratios = [sampled_table.estimate_of(row, "ratio_to_library") for row in rows]
    best = Estimate(*(np.max([getattr(one, end) for one in ratios]) for end in ("value", "low", "high")))
    largest = rows[int(np.argmax([one.value for one in ratios]))]
    return {
        **sampled_table.columns_of_estimates({"ratio_to_best_library": best}),
        "best_verdict": CANNOT_TELL if any(row["doubtful"] for row in rows) else verdict(best),
        "best_setting": largest[SETTING],
        "best_handover_ns": largest["handover_ns"],
        "settings": ", ".join(row[SETTING] for row in rows),
    }


def _values(row: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def case_of(record: HybridRecord) -> dict[str, Any]:
    """The columns that are the same for all points of a record."""
    header = record.header
    return {
        **sampled_table.case_of(header, AXES),
        "shared_nodes": record.shared_nodes,
        "fewest_node_ranks": min(record.node_ranks, default=math.nan),
        "most_node_ranks": max(record.node_ranks, default=math.nan),
        "nodes_are": sampled.nodes_are(header.nodes, record.shared_nodes, record.virtual_node_ranks, numa=record.numa),
        "blocks": record.blocks,
        "comm_create_ns": record.comm_create_ns,
        "cutoff_bytes": record.cutoff_bytes,
    }


def _rows(record: HybridRecord, failed: Sequence[str]) -> Iterator[dict[str, Any]]:
    header, case = record.header, case_of(record)
    for every in record.points:
        point, left_out = state.in_one_state(every)
        for timed, (own, library, papers) in _BATCHES.items():
            t_ns, t_library_ns = (point.t_ns[batch] / point.calls[batch] for batch in (own, library))
            series = {"t_ns": t_ns, "t_library_ns": t_library_ns, "ratio_to_library": t_ns / t_library_ns}
            if papers in point.t_ns:
                series["ratio_to_papers_own"] = t_ns / (point.t_ns[papers] / point.calls[papers])
            found = {
                "ratio_to_papers_own": UNKNOWN,
                **series_estimates(series),
                **(_of_nodes(point) if timed == ALONE else dict.fromkeys(_OF_NODES, UNKNOWN)),
            }
            doubts = [
                *failed,
                *validity.doubts(
                    point, (own, library), case["nodes_are"], header.network, oversubscribed=header.oversubscribed
                ),
            ]
            answer = CANNOT_TELL if doubts else verdict(found["ratio_to_library"])
            reasons = [*doubts, *sampled.too_wide(found["ratio_to_library"], validity.WIDEST_INTERVAL)]
            blocks = header.ranks if OPERATIONS[point.operation].per_rank else 1
            memory_create_ns = record.memory_create_ns(blocks * point.message_bytes)
            once = record.comm_create_ns + memory_create_ns
            flags = [
                *validity.flags(point, alone=timed == ALONE, shared_nodes=record.shared_nodes),
                *handovers.left_out_words(left_out, every.repetitions),
                *state.choice_words(point),
            ]
            yield {
                **case,
                "baseline": f"library, {case[SETTING].replace('_', ' ')}",
                "doubtful": bool(doubts),
                "best_verdict": CANNOT_TELL,
                "best_setting": "",
                "settings": "",
                "handover_ns": handovers.handover_ns(point),
                "best_handover_ns": math.nan,
                "other_state_repetitions": left_out,
                "timed": timed,
                "t_mean_ns": float(t_ns.mean()) if t_ns.size else math.nan,
                "t_library_mean_ns": float(t_library_ns.mean()) if t_library_ns.size else math.nan,
                **sampled_table.columns_of_estimates(found),
                **{name: getattr(point, name) for name in _OF_POINT},
                "verdict": answer,
                "memory_create_ns": memory_create_ns,
                "trials_ns": point.trials_ns,
                "pays_back_calls": pays_back_calls(once + point.trials_ns, found, answer),
                "pays_back_without_trials_calls": pays_back_calls(once, found, answer),
                "calls": point.calls[own],
                "library_calls": point.calls[library],
                **sampled_table.columns_of_point(record, point, reasons, flags),
            }


hybrid_table = sampled_table.maker(COLUMNS, _rows, "doubtful", then=lambda rows: _with_controls(_with_best(rows)))
"""Two rows per point of each record; the columns are COLUMNS."""


def _of_nodes(point: HybridPoint) -> dict[str, Estimate]:
    """The columns of `_OF_NODES`: times of one call, and their overlap ratio."""
    if BATCHES_OF_NODES[0] not in point.t_ns:
        return dict.fromkeys(_OF_NODES, UNKNOWN)
    times = [series_estimate(point.t_ns[batch] / point.calls[batch]) for batch in BATCHES_OF_NODES]
    steps, computation, both = times
    return dict(zip(_OF_NODES, (*times, overhead_estimate(both, computation, steps)), strict=True))


def with_states(table: pd.DataFrame) -> pd.DataFrame:
    """The table with `state` and `best_state`: the names of the states of the cores in `handover_ns` and
    `best_handover_ns`, among all rows of as many ranks and nodes. Empty where these rows have one state."""
    named: pd.DataFrame = table.assign(state="", best_state="")
    for _, rows in table.groupby(_PLACED, dropna=False):
        begins = state.begins(rows["handover_ns"].tolist())
        for column in ("state", "best_state"):
            times = rows[column.replace("state", "handover_ns")]
            named.loc[rows.index, column] = [state.name(one, begins) for one in times]
    return named


def states_words(rows: pd.DataFrame, column: str = "state") -> list[str]:
    """For each state of the cores that the rows have, how long hand-overs took in it. column: that with its name."""
    times = column.replace("state", "handover_ns")
    found = [(name, rows[rows[column] == name][times]) for name in state.NAMES if (rows[column] == name).any()]
    return [f"{one}: hand-overs of {handovers.words(of.min())} to {handovers.words(of.max())}" for one, of in found]


def pays_back_calls(once_ns: float, found: Mapping[str, Estimate], answer: str) -> float:
    """After how many calls the time that they save is `once_ns`; NaN where that is not known, or they are not surely
    faster. answer: their verdict."""
    saved = as_float(found["t_library_ns"].value) - as_float(found["t_ns"].value)
    return once_ns / saved if answer == FASTER and saved > 0 else math.nan


def record_numbers(record: HybridRecord) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame. Numbers that are not finite are left out.

    whole_ratio_to_library, alone_ratio_to_library: geometric means over the reliable points of the variant `spin`, or
    all valid ones where less than half of these are reliable. Counts: points, points_valid, points_reliable.
    """
    table = hybrid_table([record])
    own = table[table["variant"] == "spin"]
    numbers = {
        f"{name}_ratio_to_library": sampled_table.geometric_mean(
            sampled_table.usable(own[own["timed"] == timed])["ratio_to_library"]
        )
        for name, timed in (("whole", WHOLE), ("alone", ALONE))
    }
    return sampled_table.numbers_of(table[table["timed"] == WHOLE], numbers)


def pays_back_words(row: Mapping[Any, Any]) -> str:
    """After how many calls what is paid once is paid back: ``812 (31 without trials)``; empty where they are not surely
    faster, and ``?`` where it is not known how long trials took."""
    every, without = row["pays_back_calls"], row["pays_back_without_trials_calls"]
    if not math.isfinite(without):
        return ""
    known = f"{math.ceil(every)}" if math.isfinite(every) else "?"
    return f"{known} ({math.ceil(without)} without trials)" if row["trials_ns"] != 0 else known


def _with_interval(head: str, name: str) -> tuple[Column, Column]:
    """A ratio and its interval; both are empty where the ratio is not known."""
    value, ends = estimate(head, name, quotient)

    def known(column: Column) -> Column:
        return Column(column.head, lambda row: column.cell(row) if math.isfinite(row[name]) else "", right=True)

    return known(value), known(ends)


SHOWN = Columns((
    *leading(AXES),
    plain("collective", "operation"),
    plain("variant"),
    plain("timed"),
    number("message", "message_bytes", size),
    number("library", "t_library_ns", duration),
    number("hybrid", "t_ns", duration),
    *_with_interval("ratio", "ratio_to_library"),
    plain("hybrid is", "verdict"),
    *_with_interval("to best", "ratio_to_best_library"),
    Column("best is", lambda row: str(row["best_setting"]).replace("_", " ")),
    *_with_interval("to paper's", "ratio_to_papers_own"),
    Column("pays back", pays_back_words, right=True),
    number("hand-over", "handover_ns", handovers.words),
    *LAST,
))  # fmt: skip
"""The columns of a table of `hybrid_table` for a reader."""
