"""A table of what other benchmarks conclude beside what ours concludes, and its texts.

Times of another benchmark come from another start, another computation and other statistics. They are compared only
with the times of the same program in `basic`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from postprocess.drawing.columns import aligned, circumstances
from postprocess.drawing.text import interval, ratio, short, size
from postprocess.families.axes import ASKED_FOR, PARAMETERS, asked
from postprocess.families.peers.output import FORMATS, PeerResult
from postprocess.families.peers.record import PeerRecord

# Message sizes that differ by a larger factor are not compared.
SIZE_FACTOR = 1.25

OURS = (
    "comm_target_ns", "comp_target_ns", "r_overhead", "r_overhead_ci95_low", "r_overhead_ci95_high",
    "r_overhead_vs_basic", "r_overhead_vs_basic_ci95_low", "r_overhead_vs_basic_ci95_high",
    "speedup_vs_basic", "speedup_vs_basic_ci95_low", "speedup_vs_basic_ci95_high", "r_comm", "r_comp_slowdown",
    "overlap_osu_percent", "overlap_imb_percent", "diagnosis", "reliable", "oversubscribed", "shared_core", "complete",
    "failed",
)  # fmt: skip
"""The columns of `points_of` that are shown beside a peer's result."""

PEER_COLUMNS = (
    "benchmark", "program", "toolchain", "provider", "network", "configuration", "collective", "repeat",
    "message_bytes", "peer_repetitions", "peer_t_pure_us", "peer_t_overlapped_us", "peer_t_compute_us",
    "peer_overlap_percent", "peer_overlap_unclamped_percent", "peer_times_its_basic", "peer_reason",
    "peer_failed",
    "our_message_bytes", *(f"our_{name}" for name in OURS),
)  # fmt: skip


def peers_table(
    records: Sequence[PeerRecord], points: pd.DataFrame, failed: Mapping[str, tuple[str, str]] | None = None
) -> pd.DataFrame:
    """One row per result of another benchmark, with our point at the nearest cell; the columns are `PEER_COLUMNS`.

    The nearest cell has the same toolchain, network, configuration and collective. Its message size is the same or the
    closest one, within a factor of SIZE_FACTOR, because `basic` may have calibrated a size again while measuring. Its
    computation is about as long as its communication, which is how long the other benchmarks try to compute.

    peer_times_its_basic is the program's overlapped time over its overlapped time in `basic`, for the same size in the
    same run; NaN if its `basic` failed. No other times are compared. Missing values are NaN, and None in our columns.
    failed: `failed_records` of the run; peer_failed and our_failed give the reasons, or are empty.
    """
    why = {name: reason for name, (_, reason) in (failed or {}).items()}
    basics = {
        _size_of(record, result): result.t_overlapped_us
        for record in records
        for result in record.results
        if record.header.configuration == "basic" and record.name not in why
    }
    rows = [
        _row(record, result, basics, points) | {"peer_failed": why.get(record.name, "")}
        for record in records
        for result in record.results
    ]
    table: pd.DataFrame = pd.DataFrame(rows, columns=list(PEER_COLUMNS))
    return table


def _size_of(record: PeerRecord, result: PeerResult) -> Hashable:
    h = record.header
    return (
        h.benchmark, h.toolchain, h.provider, h.network, h.ranks, record.collective, record.repeat,
        result.message_bytes,
    )  # fmt: skip


def _row(
    record: PeerRecord, result: PeerResult, basics: Mapping[Hashable, float], points: pd.DataFrame
) -> dict[str, Any]:
    h = record.header
    basic = basics.get(_size_of(record, result), math.nan)
    ours = _nearest(record, result, points)
    return {
        "benchmark": h.benchmark,
        "program": " ".join(filter(None, (record.program.get("name"), record.program.get("version")))),
        **{name: getattr(h, name) for name in ("toolchain", "provider", "network", "configuration")},
        "collective": record.collective,
        "repeat": record.repeat,
        "message_bytes": result.message_bytes,
        "peer_repetitions": result.repetitions,
        "peer_t_pure_us": result.t_pure_us,
        "peer_t_overlapped_us": result.t_overlapped_us,
        "peer_t_compute_us": result.t_compute_us,
        "peer_overlap_percent": result.overlap_percent,
        "peer_overlap_unclamped_percent": math.nan if result.reason else FORMATS[h.benchmark].overlap_percent(result),
        "peer_times_its_basic": result.t_overlapped_us / basic if basic > 0 else math.nan,
        "peer_reason": result.reason,
        "our_message_bytes": ours.get("message_bytes"),
        **{f"our_{name}": ours.get(name) for name in OURS},
    }


def _nearest(record: PeerRecord, result: PeerResult, points: pd.DataFrame) -> dict[str, Any]:
    """The valid point of ours that is nearest to a peer's result, as a row of `points`; empty if there is none."""
    h = record.header
    close = points["message_bytes"].between(result.message_bytes / SIZE_FACTOR, result.message_bytes * SIZE_FACTOR)
    like = points["valid"] & (points["message_bytes"] > 0) & close
    theirs = asked(h.plan.parameters, PARAMETERS["peers"])
    for axis in ASKED_FOR:
        if axis.name in points:
            like &= points[axis.name] == theirs.get(axis.name, axis.usual)
    for name in ("toolchain", "provider", "network", "configuration", "ranks"):
        like &= points[name] == getattr(h, name)
    found = points[like].to_dict("records")
    if not found:
        return {}

    def distance(row: Mapping[Hashable, Any]) -> tuple[int, float, float]:
        size_apart = abs(math.log(row["message_bytes"] / result.message_bytes))
        off_diagonal = abs(math.log(row["comp_target_ns"] / row["comm_target_ns"]))
        return abs(row["launch"] - record.repeat), size_apart, off_diagonal

    return {str(name): value for name, value in min(found, key=distance).items()}


PEER_HEADS = (
    *("toolchain", "network", "configuration", "collective", "message"),
    *("program", "it says", "not clamped", "x its basic", "r_overhead", "95 %", "vs basic", "95 %"),
    *("speed-up", "95 %", "r_comm", "r_comp", "OSU's", "IMB's", "diagnosis", "remarks"),
)
_RIGHT = {4, 6, 7, 8, 9, 11, 13, 15, 16, 17, 18}


def peer_cells(row: Mapping[Hashable, Any]) -> list[str]:
    """The texts of a row of `peers_table`, under `PEER_HEADS`."""
    return [
        *(str(row[name]) for name in ("toolchain", "network", "configuration", "collective")),
        size(row["message_bytes"]),
        str(row["program"]),
        *(_percent(row[f"peer_overlap_{name}percent"]) for name in ("", "unclamped_")),
        ratio(row["peer_times_its_basic"]),
        *_with_interval(row, "r_overhead"),
        *_with_interval(row, "r_overhead_vs_basic"),
        *_with_interval(row, "speedup_vs_basic"),
        *(ratio(_number_of(row, name)) for name in ("r_comm", "r_comp_slowdown")),
        *(_percent(_number_of(row, f"overlap_{name}_percent")) for name in ("osu", "imb")),
        "-" if pd.isna(row["our_diagnosis"]) else str(row["our_diagnosis"]),
        "; ".join(peer_remarks(row)),
    ]


def peers_table_text(table: pd.DataFrame) -> str:
    """`peers_table` for the terminal, without a final newline."""
    lines = [peer_cells(row) for row in table.to_dict("records")]
    return aligned(PEER_HEADS, lines, _RIGHT) if lines else "no other benchmark ran"


def programs_of(records: Sequence[PeerRecord]) -> list[tuple[str, Mapping[str, str], str]]:
    """The programs of the records, each once: toolchain, program as in its header, and the MPI library that it uses."""
    by_hash = {
        (r.header.toolchain, r.program["sha256"]): (r.header.toolchain, r.program, r.mpi_library) for r in records
    }
    return list(by_hash.values())


def peer_remarks(row: Mapping[Hashable, Any]) -> list[str]:
    """The remarks on a row of `peers_table`: how far our values may be used, and why values are missing."""
    notes = [f"its case failed: {short(row['peer_failed'])}"] if row["peer_failed"] else []
    if pd.isna(row["our_reliable"]):
        notes.append("no valid point of ours at this size")
    else:
        unreliable = f"our case failed: {short(row['our_failed'])}" if row["our_failed"] else "ours is unreliable"
        notes += [] if row["our_reliable"] else [unreliable]
        notes += circumstances(row, "our_")
        if row["our_message_bytes"] != row["message_bytes"]:
            notes.append(f"ours at {size(row['our_message_bytes'])}")
    if row["peer_reason"]:
        notes.append(f"{row['program']}: {row['peer_reason']}")
    return notes


def _number_of(row: Mapping[Hashable, Any], name: str) -> float:
    value = row[f"our_{name}"]
    return math.nan if value is None else float(value)


def _with_interval(row: Mapping[Hashable, Any], name: str) -> tuple[str, str]:
    low, high = (_number_of(row, f"{name}_ci95_{end}") for end in ("low", "high"))
    return ratio(_number_of(row, name)), interval(low, high)


def _percent(value: float) -> str:
    return f"{value:.0f} %" if math.isfinite(value) else "-"


PEERS_NOTE = (
    "Up to “x its basic” is what the other program concludes, with its own computation and statistics. After it is "
    "ours at the same message size, with computation as long as basic's communication, and what OSU's and IMB's "
    "formulas make of our own samples. Times of different programs are not compared: x its basic is the program's "
    "own overlapped time over the one that it had in basic. Another program does not tell whether its progress "
    "thread was there: the same settings are verified in our own record of the same configuration."
)
"""The note that is shown wherever the table is shown."""


def peers_view(records: Sequence[PeerRecord], table: pd.DataFrame) -> dict[str, Any] | None:
    """What the report shows of `peers_table`; None where no other benchmark ran."""
    rows = [peer_cells(row) for row in table.to_dict("records")]
    view = {"note": PEERS_NOTE, "heads": PEER_HEADS, "rows": rows, "programs": programs_of(records)}
    return view if rows else None
