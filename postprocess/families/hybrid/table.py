"""The table of hybrid collectives: for each point a row for the collective alone and one for the whole, with the ratio
to the MPI library, its verdict and its validity.

All times are of one call: those of a batch divided by its calls. The ratio is made within repetitions, in which the
batches of both libraries follow each other, so that what disturbs both cancels: its value is the median over
repetitions, and the 95 % interval is that of a median, distribution free, from order statistics.

    ratio_to_library   t_ns / t_library_ns: below 1 the hybrid library is faster
    verdict            `faster` or `slower` where the whole interval is on that side of 1, however wide it is, and
                       there are no other doubts; else `cannot tell`
    pays_back_calls    after how many calls the time saved is that of making the communicators and the node's memory;
                       NaN where nothing is saved

Nothing is clamped. `validity` says what a row may be used for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Columns, circumstances
from postprocess.drawing.text import duration, interval, ratio, size
from postprocess.families import axes, sampled
from postprocess.families.hybrid import validity
from postprocess.families.hybrid.axes import ALONE, CASE, WHOLE
from postprocess.families.hybrid.record import HybridRecord
from postprocess.records.header import NAMED, named_cores_of, repeat_of
from postprocess.records.run import failed_reasons
from postprocess.statistics.metrics import Estimate, as_float, median_estimate

FASTER, SLOWER, CANNOT_TELL = "faster", "slower", "cannot tell"
LIBRARY = "library, default"
"""The baseline: the MPI library as it comes, with the settings that the run gave to every launch."""
_BATCHES: Mapping[str, tuple[str, str]] = {
    WHOLE: ("hybrid_whole", "library_whole"), ALONE: ("hybrid_alone", "library_alone"),
}  # fmt: skip
_ESTIMATES = ("t_ns", "t_library_ns", "ratio_to_library")
_OF_POINT = (
    "operation", "variant", "message_bytes", "repetitions", "warmup_repetitions",
    "late_repetitions", "discarded_repetitions", "data_errors", "stop_reason", "interval_relative_reached",
    "start_method", "index",
)  # fmt: skip
COLUMNS = (
    *CASE, NAMED, "operation", "variant", "timed", "message_bytes", "baseline", "shared_nodes", "nodes_are", "blocks",
    *(f"{name}{end}" for name in _ESTIMATES for end in ("", "_ci95_low", "_ci95_high")),
    "verdict", "pays_back_calls", "comm_create_ns", "memory_create_ns", "cutoff_bytes", "calls", "library_calls",
    "repetitions", "warmup_repetitions", "late_repetitions", "discarded_repetitions", "data_errors", "stop_reason",
    "interval_relative_reached", "start_method", "clock_method", "clock_residual_ns",
    "valid", "reliable", "unreliable_reasons", "flags", "oversubscribed", "shared_core", "complete", "record", "index",
)  # fmt: skip
"""The columns of `hybrid_table`, in order.

Times are medians of one call, in nanoseconds, sizes in bytes; ratios have no unit. An unknown value is NaN. `calls` and
`library_calls` are those of a batch.
"""


def hybrid_table(records: Sequence[HybridRecord], failed: Mapping[str, tuple[str, str]] | None = None) -> pd.DataFrame:
    """Two rows per point of each record; the columns are COLUMNS. failed: `failed_records` of the run."""
    why = {name: reason for name, (_, reason) in (failed or {}).items()}
    rows = [row for record in records for row in _rows(record, why.get(record.name, ""))]
    whole = pd.DataFrame(rows, columns=list(COLUMNS))
    table: pd.DataFrame = whole.astype({"valid": bool, "reliable": bool})  # an empty table needs these types, too
    return table


def case_of(record: HybridRecord) -> dict[str, Any]:
    """The columns that are the same for all points of a record."""
    header = record.header
    return {
        **{name: getattr(header, name) for name in CASE if hasattr(header, name)},
        "given_up_cores": header.progress.given_up_cores,
        "launch": repeat_of(header.metadata) or 1,
        NAMED: named_cores_of(header.metadata),
        "baseline": LIBRARY,
        "shared_nodes": record.shared_nodes,
        "nodes_are": sampled.nodes_are(header.nodes, record.shared_nodes, record.virtual_node_ranks, numa=record.numa),
        "blocks": record.blocks,
        "comm_create_ns": record.comm_create_ns,
        "memory_create_ns": record.memory_create_ns,
        "cutoff_bytes": record.cutoff_bytes,
    }


def _rows(record: HybridRecord, failed: str) -> Iterator[dict[str, Any]]:
    header, case = record.header, case_of(record)
    for point in record.points:
        for timed, (own, library) in _BATCHES.items():
            t_ns, t_library_ns = (point.t_ns[batch] / point.calls[batch] for batch in (own, library))
            found = {
                "t_ns": median_estimate(t_ns),
                "t_library_ns": median_estimate(t_library_ns),
                "ratio_to_library": median_estimate(t_ns / t_library_ns),
            }
            doubts = [
                *failed_reasons(failed),
                *validity.doubts(point, (own, library), case["nodes_are"], oversubscribed=header.oversubscribed),
            ]
            reasons = [*doubts, *validity.too_wide(found["ratio_to_library"])]
            once = record.comm_create_ns + record.memory_create_ns
            yield {
                **case,
                "timed": timed,
                **{column: value for name in _ESTIMATES for column, value in _columns(name, found[name])},
                **{name: getattr(point, name) for name in _OF_POINT},
                "verdict": CANNOT_TELL if doubts else verdict(found["ratio_to_library"]),
                "pays_back_calls": pays_back_calls(once, found["t_library_ns"], found["t_ns"]),
                "calls": point.calls[own],
                "library_calls": point.calls[library],
                "clock_method": point.clock.method,
                "clock_residual_ns": math.nan if point.clock.residual_ns is None else point.clock.residual_ns,
                "valid": not sampled.invalid_reasons(point),
                "reliable": not reasons,
                "unreliable_reasons": reasons,
                "flags": validity.flags(point, alone=timed == ALONE, shared_nodes=record.shared_nodes),
                "oversubscribed": header.oversubscribed,
                "shared_core": header.shared_core,
                "complete": record.complete,
                "record": record.name,
            }


def verdict(estimate: Estimate) -> str:
    """`faster`, `slower` or `cannot tell`, from the interval of a ratio."""
    low, high = as_float(estimate.low), as_float(estimate.high)
    return FASTER if high < 1 else SLOWER if low > 1 else CANNOT_TELL


def pays_back_calls(once_ns: float, t_library: Estimate, t_own: Estimate) -> float:
    """After how many calls the time that they save is `once_ns`; NaN where they save none."""
    saved = as_float(t_library.value) - as_float(t_own.value)
    return once_ns / saved if saved > 0 else math.nan


def _columns(name: str, estimate: Estimate) -> Iterator[tuple[str, float]]:
    yield name, as_float(estimate.value)
    yield f"{name}_ci95_low", as_float(estimate.low)
    yield f"{name}_ci95_high", as_float(estimate.high)


def record_numbers(record: HybridRecord) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame. Numbers that are not finite are left out.

    whole_ratio_to_library, alone_ratio_to_library: geometric means over the reliable points of the variant `spin`, or
    all valid ones where less than half of these are reliable. Counts: points, points_valid, points_reliable.
    """
    table = hybrid_table([record])
    numbers: dict[str, float] = {
        f"{name}_ratio_to_library": _geometric_mean(table, timed)
        for name, timed in (("whole", WHOLE), ("alone", ALONE))
    }
    for name, column in (("points", None), ("points_valid", "valid"), ("points_reliable", "reliable")):
        whole = table[table["timed"] == WHOLE]
        numbers[name] = float(len(whole) if column is None else whole[column].sum())
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _geometric_mean(table: pd.DataFrame, timed: str) -> float:
    own = table[(table["timed"] == timed) & (table["variant"] == "spin")]
    enough = 2 * own["reliable"].sum() >= own["valid"].sum()
    values = own[own["reliable" if enough else "valid"]]["ratio_to_library"].to_numpy(np.float64)
    known = values[np.isfinite(values) & (values > 0)]
    return float(np.exp(np.log(known).mean())) if known.size else math.nan


def configuration_words(row: Mapping[Any, Any]) -> str:
    """The configuration of a row and its unusual values."""
    return axes.configuration_words(row, (axes.NAMED_CORES,))


def remarks(row: Mapping[Any, Any]) -> list[str]:
    """The remarks on a row, each a phrase, the worst first."""
    return [*(f"unreliable: {reason}" for reason in row["unreliable_reasons"]), *circumstances(row), *row["flags"]]


def _cells(row: Mapping[Any, Any]) -> list[str]:
    return [
        str(row["toolchain"]),
        str(row["network"]),
        configuration_words(row),
        str(row["operation"]),
        str(row["variant"]),
        str(row["timed"]),
        size(row["message_bytes"]),
        duration(row["t_library_ns"]),
        duration(row["t_ns"]),
        ratio(row["ratio_to_library"]),
        interval(row["ratio_to_library_ci95_low"], row["ratio_to_library_ci95_high"]),
        str(row["verdict"]),
        f"{row['pays_back_calls']:.0f}" if math.isfinite(row["pays_back_calls"]) else "",
        str(row["repetitions"]),
        "; ".join(remarks(row)),
    ]


SHOWN = Columns(
    heads=(
        "toolchain", "network", "configuration", "collective", "variant", "timed", "message", "library", "hybrid",
        "ratio", "95 %", "hybrid is", "pays back", "reps", "remarks",
    ),
    right=frozenset((6, 7, 8, 9, 10, 12, 13)),
    cells=_cells,
)  # fmt: skip
"""The columns of a table of `hybrid_table` for a reader."""
