"""Records of partitioned communication that no machine wrote, with a known truth: that of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from postprocess.families.partitioned.record import LATENCY_BYTES
from postprocess.statistics import pipelining
from tests.postprocess import synthetic

Lines: TypeAlias = list[dict[str, Any]]

SIZES = (8, 1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 24)
DELAY_RATIO = 2.5
TRANSFER_BYTES = 1 << 22


@dataclass(frozen=True)
class Truth:
    """What a library does.

    early: whether it sends each message as soon as it is ready; else all of them after the last one.
    times_slower: how many times longer than the model's its times are.
    common_noise: relative deviation of a repetition, the same for the approach and the reference.
    own_noise: relative deviation of the gain.
    """

    early: bool = True
    latency_ns: float = 1_220.0
    bytes_per_second: float = 25e9
    times_slower: float = 1.0
    common_noise: float = 0.02
    own_noise: float = 0.004


EARLY = Truth()
LATE = replace(EARLY, early=False)
"""A library that sends everything when the last partition is ready."""


def transfer_ns(truth: Truth) -> int:
    """The time of the message that the bandwidth is read from."""
    return round(truth.latency_ns + 1e9 * (TRANSFER_BYTES - LATENCY_BYTES) / truth.bytes_per_second)


def messages_of(approach: str, message_bytes: int, sent: int, together: int) -> int:
    """How many messages an approach sends for a buffer."""
    if approach == "single":
        return 1
    if not together:
        return sent
    in_one = max(1, together * sent // message_bytes)
    return -(-sent // in_one)


def true_gain(truth: Truth, message_bytes: int, messages: int, delay_ratio: float, sent: int) -> float:
    """The gain of the model, or of a library that is late."""
    delay = delay_ratio * message_bytes / sent / truth.bytes_per_second
    times = (message_bytes, truth.bytes_per_second, delay if truth.early else 0.0, 1e-9 * truth.latency_ns)
    return float(pipelining.predicted_gain(messages if truth.early else 1, *times)) / truth.times_slower


def point(
    index: int = 0,
    truth: Truth = EARLY,
    approach: str = "part",
    message_bytes: int = 1 << 20,
    sent: int = 4,
    received: int = 0,
    together: int = 0,
    delay_ratio: float = DELAY_RATIO,
    repetitions: int = 21,
    **changes: Any,
) -> dict[str, Any]:
    """A point whose median gain is the truth's. received: 0: as many partitions as are sent."""
    rng = np.random.default_rng([index, message_bytes, sent])
    messages = messages_of(approach, message_bytes, sent, together)
    gain = true_gain(truth, message_bytes, messages, delay_ratio, sent)
    reference = truth.latency_ns + 1e9 * message_bytes / truth.bytes_per_second
    delay_ns = round(1e9 * delay_ratio * message_bytes / sent / truth.bytes_per_second)
    common = synthetic.around_0(rng, truth.common_noise, repetitions)
    alone = synthetic.around_0(rng, truth.own_noise, repetitions)
    references = reference * np.exp(common)
    times = np.maximum(1, references / (gain * np.exp(alone)))
    calibration = {"status": "converged", "time_ns": delay_ns, "error_relative": 0.0, "measurements": 5}
    parameters = {
        "approach": approach, "message_bytes": message_bytes, "partitions_send": sent,
        "partitions_receive": received or sent, "aggregation_bytes": together, "delay_ratio": delay_ratio,
    }  # fmt: skip
    series = {
        "t_ns": times, "t_ref_ns": np.maximum(1, references), "t_delay_ns": delay_ns + np.arange(repetitions) % 3,
        "t_after_last_ns": times,
    }  # fmt: skip
    own = {
        "delay_target_ns": delay_ns, "work_size": delay_ns, "delay_guessed": False,
        "delay_calibration": calibration if delay_ns else None, "messages": messages, "neighbours": 1,
        "different_neighbours": 1, "transfer_bytes": TRANSFER_BYTES, "latency_readings_ns": [round(truth.latency_ns)],
        "transfer_readings_ns": [transfer_ns(truth)], "latency_ns": truth.latency_ns,
        "bytes_per_second": truth.bytes_per_second,
    }  # fmt: skip
    line = synthetic.sampled_point(index, parameters, series, own, warmup_repetitions=2)
    return synthetic.changed(line, **changes)


def header(approach: str = "part", noise: str = "last", cache: str = "warm", **changes: Any) -> dict[str, Any]:
    """The first line. The values of the points are added by `record`."""
    parameters = {"approach": [approach], "noise": [noise], "cache": [cache], "method": ["campaign"]}
    parameters |= {"interfaces": ["usual"], "figure": ["none"]}
    usual = {"command_line": ["partitioned", "--approach", approach], "thread_level_required": "multiple"}
    return synthetic.header_of("partitioned", parameters, {}, changes, **usual)


_OF_PLAN = ("message_bytes", "partitions_send", "aggregation_bytes", "delay_ratio")


def record(
    approach: str = "part",
    truth: Truth = EARLY,
    sizes: Sequence[int] = SIZES,
    ratios: Sequence[float] = (0, DELAY_RATIO),
    aggregations: Sequence[int] = (0,),
    sent: int = 4,
    noise: str = "last",
    cache: str = "warm",
    **header_changes: Any,
) -> Lines:
    """The lines of a complete record: a point for each size, delay and aggregation."""
    received = max(1, sent // 4) if approach == "part_coarse" else sent
    cells = [(together, ratio, size) for together in aggregations for ratio in ratios for size in sizes]
    points = [
        point(i, truth, approach, size, sent, received, together, ratio)
        for i, (together, ratio, size) in enumerate(cells)
    ]
    first = header(approach, noise, cache, **header_changes)
    for name in _OF_PLAN:
        first["plan"]["parameters"][name] = list(dict.fromkeys(line["parameters"][name] for line in points))
    return synthetic.whole(first, points)


def run_folder(path: Path, records: Sequence[Lines]) -> Path:
    """A run folder with these records, without a manifest."""
    for number, lines in enumerate(records):
        synthetic.write(path / "records" / f"{number:03}.jsonl", lines)
    return path
