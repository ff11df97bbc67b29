"""The family `sync_overlap`: a message to a receiver that is late (White & Bova 1999)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import duration, size
from postprocess.families import axes, sampled_inside
from postprocess.families.family import Audit, Details, Found, Metric
from postprocess.families.papers import WHITE_1999
from postprocess.families.sampled_family import Compared, sampled_family, slower
from postprocess.families.sync_overlap.axes import AXES
from postprocess.families.sync_overlap.cells import cells_of
from postprocess.families.sync_overlap.charts import charts
from postprocess.families.sync_overlap.memory import SHOWN as MEMORY
from postprocess.families.sync_overlap.memory import growth_sentences, memory_table
from postprocess.families.sync_overlap.planted import SHOWN as PLANTED
from postprocess.families.sync_overlap.planted import planted_rows, planted_sentence
from postprocess.families.sync_overlap.record import SyncRecord, sync_record
from postprocess.families.sync_overlap.table import COLUMNS, SHOWN, record_numbers, sync_table, with_messages
from postprocess.families.sync_overlap.verdict import verdict_text, verdicts
from postprocess.records.header import keeps_apart

MESSAGES = 5
"""Messages in a repetition that have data."""


def _never_sends(record: SyncRecord) -> bool:
    """Whether a record has the memory of idle ranks alone."""
    return axes.SENT_NEVER in record.header.plan.parameters.get(axes.SEND.name, ())


def _covered(records: Sequence[SyncRecord]) -> Details:
    sizes = {point.message_bytes for record in records if not _never_sends(record) for point in record.points}
    words = f"{len(sizes)}, from {size(min(sizes))} to {size(max(sizes))}" if sizes else ""
    return [("Messages to a late receiver", words)]


def _facts(records: Sequence[SyncRecord]) -> Details:
    delays = [point.t_delay_ns for record in records for point in record.points if point.repetitions]
    return [("delay of the receiver", f"{duration(min(delays))} to {duration(max(delays))}" if delays else "")]


def wrong(record: SyncRecord) -> Iterator[str]:
    """A phrase if a record received wrong data, or is complete without a valid point, or without the memory that alone
    was to be measured."""
    if not (record.complete and _never_sends(record)) or any(point.data_errors for point in record.points):
        yield from sampled_inside.wrong(record)
    elif not any(math.isfinite(point.idle_pss_total_bytes) for point in record.points):
        yield "the kernel does not tell the memory of a process"


def communicated_ns(record: SyncRecord) -> float:
    """The time of all reference transfers of a record, in ns."""
    return sum(float((point.t_whole_recv_ns - point.t_whole_send_ns).sum()) for point in record.points)


def payload_bytes(record: SyncRecord) -> int:
    """A lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    On a `wire` every rank is a place of its own; elsewhere a node is one.
    """
    header = record.header
    nodes = {place.rank: place.node for place in header.placement}
    apart = keeps_apart(header.network) or nodes.get(record.sender) != nodes.get(record.receiver)
    return MESSAGES * sum(point.repetitions * point.message_bytes for point in record.points) if apart else 0


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report. planted, memory: tables; None where there is nothing to show."""
    planted, memory = planted_rows(table), memory_table(table)
    return {
        "verdicts": list(verdicts(table)),
        "planted": None if planted.empty else PLANTED.view(planted, most_rows),
        "planted_sentence": planted_sentence(table),
        "memory": None if memory.empty else MEMORY.view(memory, most_rows),
        "growth": list(growth_sentences(memory)),
        "points": SHOWN.view(with_messages(table), most_rows),
    }


INSIDE = sampled_inside.observed(AXES, "late receiver", _covered, _facts)
SECTION = CurveSection(charts, _view)
METRICS = (
    Metric(
        "recv_over_wait",
        "completion of a late receive / the sender's computation",
        ratio=True,
        state="sound",
        usual=True,
        better_words="completes a late receive earlier",
    ),
    Metric("t_whole_ns", "time of a whole transfer to a receiver that waits", ratio=True),
)


def _verdicts(found: Found) -> str:
    growth = growth_sentences(memory_table(found.table))
    return "\n".join(filter(None, [verdict_text(found.table), planted_sentence(found.table), *growth]))


SYNC_OVERLAP = sampled_family(
    AXES,
    "messages to a late receiver",
    35,
    papers=(WHITE_1999,),
    view=sync_record,
    table=sync_table,
    columns=COLUMNS,
    metrics=METRICS,
    # Sizes that were not asked for differ between launches, and what is sent late is the control, the same everywhere.
    compared=Compared(
        ("asked", axes.SEND.name),
        lambda table: table["asked"].astype(bool) & (table[axes.SEND.name] == axes.SEND.usual),
    ),
    numbers=record_numbers,
    bounds=slower("recv_over_wait", "t_whole_ns"),
    text=(
        lambda found: SHOWN.text(with_messages(found.table)),
        lambda found: PLANTED.text(planted_rows(found.table)),
        lambda found: MEMORY.text(memory_table(found.table)),
        _verdicts,
    ),
    cells=cells_of,
    section=SECTION,
    inside=INSIDE,
    audit=Audit(wrong, communicated_ns, payload_bytes),
)
