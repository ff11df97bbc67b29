"""What the processes of records of this family observed about themselves, and what judges its records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from postprocess.drawing.text import duration, size
from postprocess.families import axes, sampled_inside, sampled_table
from postprocess.families.family import Audit, Details
from postprocess.families.sync_overlap.axes import AXES
from postprocess.families.sync_overlap.record import SyncRecord
from postprocess.records.header import keeps_apart

MESSAGES = 5
"""Messages in a repetition that have data."""


def _words(record: SyncRecord) -> str:
    return f"{AXES.words(sampled_table.case_of(record.header, AXES))}, late receiver"


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
    was to be measured.

    Beside a progress thread that shares the core of its rank there may be no valid point: that is what was found.
    """
    errors = any(point.data_errors for point in record.points)
    if record.complete and _never_sends(record) and not errors:
        if not any(math.isfinite(point.idle_pss_total_bytes) for point in record.points):
            yield "the kernel does not tell the memory of a process"
    elif errors or not record.header.shared_core:
        yield from sampled_inside.wrong(record)


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


INSIDE = sampled_inside.observed(_words, _covered, _facts)
AUDIT = Audit(wrong, communicated_ns, payload_bytes)
