"""Records of sync_overlap that no machine wrote, with a known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tests.postprocess import synthetic

Lines: TypeAlias = list[dict[str, Any]]

SIZES = (0, 64, 4096, 65536, 1048576)
DELAY_NS = 10_000_000.0


@dataclass(frozen=True)
class Truth:
    """What a library does with a message to a late receiver.

    full_up_to: the largest size, in bytes, that needs no sender after MPI_Isend.
    early_bytes: of a larger message, so many bytes move before MPI_Wait.
    neither, sender, receiver: the share of a message that arrives while neither, only the sender, and only the receiver
    is inside MPI; the receive is posted first. None of receiver: as `full_up_to` says.
    noise: relative deviation of a time.  trip_ns: a message of nothing, there and back.
    """

    full_up_to: float = float("inf")
    early_bytes: int = 0
    neither: float = 0.0
    sender: float = 0.0
    receiver: bool | None = None
    latency_ns: float = 1000.0
    bytes_per_second: float = 5e9
    noise: float = 0.01
    trip_ns: float = 2000.0


EAGER = Truth(full_up_to=65536)
"""Eager up to 64 KiB, rendezvous above."""
COPIED = Truth(full_up_to=65536, early_bytes=65536)
"""A shared buffer of 64 KiB: figure 9 of the paper."""
PULLED = Truth()
"""The receiver takes a message of any size."""
HELPED = Truth(neither=1.0, sender=1.0)
"""A progress thread moves the data."""


def whole_ns(truth: Truth, message_bytes: float) -> float:
    """The time of a whole transfer."""
    return truth.latency_ns + 1e9 * message_bytes / truth.bytes_per_second


def after_wait_ns(truth: Truth, message_bytes: int) -> float:
    """When MPI_Recv completes after the sender called MPI_Wait, if the sender computes for two delays."""
    if message_bytes <= truth.full_up_to:
        return whole_ns(truth, message_bytes) - DELAY_NS
    return whole_ns(truth, message_bytes - truth.early_bytes)


def point(
    index: int = 0,
    truth: Truth = EAGER,
    message_bytes: int = 65536,
    repetitions: int = 21,
    ranks: int = 2,
    *,
    control: bool = False,
    **changes: Any,
) -> dict[str, Any]:
    """A point whose medians are the truth's. control: the message is sent when the computation is done."""
    rng = np.random.default_rng([index, message_bytes])

    def noisy(value: float) -> Any:
        return value * (1 + synthetic.around_0(rng, truth.noise, repetitions))

    whole = whole_ns(truth, message_bytes)
    wait = noisy(2 * DELAY_NS)
    after = noisy(whole if control else after_wait_ns(truth, message_bytes))
    proceeds = truth.receiver if truth.receiver is not None else message_bytes <= truth.full_up_to
    alone_wait = noisy(1.1 * DELAY_NS)
    send = noisy(DELAY_NS)
    series = {
        "t_recv_ns": wait + after, "t_wait_ns": wait, "t_whole_recv_ns": send + noisy(whole), "t_whole_send_ns": send,
        "t_round_trip_ns": noisy(truth.trip_ns),
        "t_receiver_recv_ns": noisy(0.1 * DELAY_NS + whole) if proceeds and not control else alone_wait + noisy(whole),
        "t_receiver_wait_ns": alone_wait,
        "arrived_neither_bytes": np.full(repetitions, 0 if control else truth.neither * message_bytes // 8 * 8),
        "arrived_sender_bytes": np.full(repetitions, 0 if control else truth.sender * message_bytes // 8 * 8),
    }  # fmt: skip
    own = {
        "delay_ns": round(DELAY_NS), "delay_units": 50, "transfer_ns": round(whole),
        "idle_pss_total_bytes": ranks * 20_000_000, "idle_pss_largest_bytes": 21_000_000,
        "idle_pss_anonymous_bytes": ranks * 4_000_000, "idle_pss_shared_bytes": ranks * 6_000_000,
    }  # fmt: skip
    rank_medians = {
        "t_isend_ns": [500 if repetitions else 0] + [0] * (ranks - 1),
        "t_delay_ns": [round(DELAY_NS * (2 if rank == 0 else 1)) for rank in range(ranks)],
    }
    line = synthetic.sampled_point(
        index, {"message_bytes": message_bytes}, series, own, warmup={"t_recv_ns": []}, rank_medians=rank_medians
    )
    return synthetic.changed(line, **changes)


def header(
    sizes: Sequence[int] = SIZES, send: str = "early", protocol: str = "default", ranks: int = 2, **changes: Any
) -> dict[str, Any]:
    """The first line."""
    parameters = {"message_bytes": list(sizes), "send": [send], "protocol": [protocol]}
    own = {"sender": 0, "receiver": ranks // 2, "least_delay_ns": round(DELAY_NS), "bisects": True}
    first = synthetic.header_of("sync_overlap", parameters, own, changes, ranks=ranks)
    first["plan"]["points"] = None
    return first


@dataclass(frozen=True)
class Sweep:
    """The sizes of a record: those that were asked for, and those between them, each with a truth of its own if any."""

    sizes: Sequence[int] = SIZES
    between: Sequence[int] = ()
    truths: Mapping[int, Truth] = field(default_factory=dict)


def record(truth: Truth = EAGER, sweep: Sweep | None = None, send: str = "early", **header_changes: Any) -> Lines:
    """The lines of a complete record: a point for each size."""
    of = sweep or Sweep()
    first = header(of.sizes, send, **header_changes)
    points = [
        point(i, of.truths.get(size, truth), size, ranks=first["ranks"], control=send == "late")
        for i, size in enumerate((*of.sizes, *of.between))
    ]
    return [first, *points, synthetic.footer(len(points), first["ranks"])]
