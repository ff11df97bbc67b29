"""Records of cpu_overhead that no machine wrote, with a known truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tests.postprocess import synthetic

Lines: TypeAlias = list[dict[str, Any]]

SIZES = (8, 1024, 262144)


@dataclass(frozen=True)
class Truth:
    """What a library does.

    cpu_share, thread_share: CPU time of the process, and of the calling thread, relative to the wall time.
    noise: relative deviation of a repetition, the same for all of its times.
    share_noise: deviation of the CPU share of a repetition.
    user_share: of the CPU time of the process.
    voluntary, involuntary: context switches of a batch.
    softirq_cpus: CPUs of the node that are busy in soft interrupts, beside the ranks' CPU time.
    available: the share of a collective's time in which work beside it takes nothing from it.
    """

    cpu_share: float = 1.0
    thread_share: float = 1.0
    latency_ns: float = 900.0
    bytes_per_second: float = 5e9
    user_share: float = 0.9
    softirq_cpus: float = 0.0
    available: float = 0.0
    noise: float = 0.05
    share_noise: float = 0.0
    voluntary: int = 0
    involuntary: int = 1


POLLS = Truth()
SLEEPS = Truth(cpu_share=0.3, thread_share=0.3, share_noise=0.01, voluntary=40)
HELPED = Truth(cpu_share=2.0)
"""A library with a progress thread that polls beside the caller."""


def true_time_ns(truth: Truth, message_bytes: int) -> float:
    """The time of one call."""
    return truth.latency_ns + 1e9 * message_bytes / truth.bytes_per_second


def point(
    index: int = 0,
    truth: Truth = POLLS,
    operation: str = "bcast",
    message_bytes: int = 1024,
    repetitions: int = 21,
    ranks: int = 2,
    way: str = "blocking",
    work: float = 0.0,
    lateness_ns: int = 0,
    **changes: Any,
) -> dict[str, Any]:
    """A point whose median time and share are the truth's.

    work: that beside the call, relative to its time.  lateness_ns: of `late`; 0: as older records, which do not tell.
    """
    rng = np.random.default_rng([index, message_bytes])
    call_ns = true_time_ns(truth, message_bytes)
    calls = max(1, round(11e6 / call_ns))
    noise = np.exp(synthetic.around_0(rng, truth.noise, repetitions))
    wall = calls * call_ns * noise * (1 + max(0.0, work - truth.available))
    share = truth.cpu_share + synthetic.around_0(rng, truth.share_noise, repetitions)
    reference = calls * call_ns * noise * np.exp(synthetic.around_0(rng, 0.003, repetitions))
    series = {
        "t_wall_ns": wall, "t_cpu_ns": wall * share, "t_thread_cpu_ns": wall * truth.thread_share,
        "voluntary_switches": np.full(repetitions, truth.voluntary),
        "involuntary_switches": np.full(repetitions, truth.involuntary), "t_reference_wall_ns": reference,
        "t_reference_cpu_ns": reference * share, "t_user_all_ranks_ns": ranks * wall * share * truth.user_share,
        "t_system_all_ranks_ns": ranks * wall * share * (1 - truth.user_share),
        "t_soaked_all_ranks_ns": np.zeros(repetitions), "t_work_ns": reference * work, "t_node_window_ns": 1.01 * wall,
        "t_node_busy_ns": 1.01 * wall * (ranks * share + truth.softirq_cpus),
        "t_node_softirq_ns": 1.01 * wall * truth.softirq_cpus, "t_node_ranks_ns": 1.01 * wall * ranks * share,
    }  # fmt: skip
    medians = {name: int(np.median(series[name])) if repetitions else 0 for name in list(series)[:3]}
    parameters = {
        "operation": operation, "communicator_ranks": ranks, "message_bytes": message_bytes, "way": way,
        **({"lateness_ns": lateness_ns} if lateness_ns else {}),
    }  # fmt: skip
    line = synthetic.sampled_point(
        index,
        parameters,
        series,
        {"calls": calls, "reference_calls": calls, "work_units": round(1000 * work)},
        warmup_repetitions=1,
        warmup={"t_wall_ns": [round(1.2 * calls * call_ns)]},
        rank_medians={name: [value] * ranks for name, value in medians.items()},
    )
    return synthetic.changed(line, **changes)


OWN = {
    "cpu_clock_step_ns": 500, "kernel_tick_ns": 4_000_000, "batch_target_ns": 10_000_000,
    "node_tick_ns": 10_000_000, "node_cpus": 4,
}  # fmt: skip
"""What the header has of its own."""


def header(operations: Sequence[str] = ("bcast",), sizes: Sequence[int] = SIZES, **changes: Any) -> dict[str, Any]:
    """The first line."""
    parameters = {
        "operation": list(operations), "communicator_ranks": [changes.get("ranks", 2)], "message_bytes": list(sizes),
        "way": ["blocking", "working"], "library_setting": ["usual"], "method": ["campaign"],
    }  # fmt: skip
    command_line = ["cpu_overhead", "--collective", *operations]
    return synthetic.header_of("cpu_overhead", parameters, OWN, changes, method=2, command_line=command_line)


def record(
    truth: Truth = POLLS,
    operations: Sequence[str] = ("bcast",),
    sizes: Sequence[int] = SIZES,
    works: Sequence[float] = (),
    **header_changes: Any,
) -> Lines:
    """The lines of a complete record: a point for each collective and size; a barrier has one.

    works: the steps of a search for availability, for the last of these cells.
    """
    cells = [(one, size) for one in operations for size in (sizes if one != "barrier" else (0,))]
    first = header(operations, sizes, **header_changes)
    ranks = first["ranks"]
    points = [point(i, truth, one, size, ranks=ranks) for i, (one, size) in enumerate(cells)]
    for work in works:
        points.append(point(len(points), truth, *cells[-1], ranks=ranks, way="working", work=work))
    return synthetic.whole(first, points)


def with_one_more(lines: Lines, one: dict[str, Any]) -> Lines:
    """The lines of a complete record and one point more."""
    *before, footer = lines
    before[0]["plan"]["points"] += 1
    return [*before, one, {**footer, "points": footer["points"] + 1}]


@dataclass(frozen=True)
class Messages:
    """The truth of messages: parameters of the LogGP model, in ns, and ns per byte.

    busy_per_byte: what o of the sender grows by with every byte, as where the sender copies or sends them itself.
    waiting_bytes: the smallest message that waits for its receiver.
    """

    latency: float = 900.0
    send: float = 200.0
    receive: float = 300.0
    gap: float = 450.0
    gap_per_byte: float = 0.25
    busy_per_byte: float = 0.0
    gamma_hot: float = 0.1
    gamma_cold: float = 0.4
    waiting_bytes: int = 8192
    noise: float = 0.01


def message_point(index: int, truth: Messages, message_bytes: int, clock_ns: float, repetitions: int = 21) -> Any:
    """A point of `loggp` whose medians are the truth's."""
    rng = np.random.default_rng([index, message_bytes])
    trains, messages, exchanges, delay = 40, 16, 600, 10 * abs(truth.latency)
    bytes_ns = (message_bytes - 1) * truth.gap_per_byte
    send = truth.send + (message_bytes - 1) * truth.busy_per_byte
    round_trip = 2 * (truth.send + truth.latency + bytes_ns + truth.receive)
    between = max(send, truth.receive, truth.gap + bytes_ns)
    medians = {
        "t_round_trips_ns": exchanges * round_trip, "t_trains_ns": trains * (round_trip + (messages - 1) * between),
        "t_delayed_trains_ns": trains * (round_trip + (messages - 1) * max(send + delay, between)),
        "t_delays_ns": trains * (messages - 1) * delay, "t_receives_ns": exchanges * (truth.receive + clock_ns),
        "t_sends_ns": exchanges * (delay if message_bytes >= truth.waiting_bytes else truth.send),
        "t_reductions_hot_ns": exchanges * message_bytes * truth.gamma_hot,
        "t_reductions_cold_ns": exchanges * message_bytes * truth.gamma_cold,
    }  # fmt: skip
    noise = np.exp(synthetic.around_0(rng, truth.noise, repetitions))
    own = {
        "partner_rank": 1, "round_trips": exchanges, "trains": trains, "messages_of_train": messages,
        "reductions": exchanges,
    }  # fmt: skip
    line = synthetic.sampled_point(
        index,
        {"pair": "within_node", "message_bytes": message_bytes},
        {name: median * noise for name, median in medians.items()},
        own,
        warmup_repetitions=1,
        warmup={"t_round_trips_ns": [1], "t_trains_ns": [1]},
    )
    del line["series"]["start_imbalance_ns"]
    return line


def messages_record(
    truth: Messages = Messages(), sizes: Sequence[int] = (8, 512, 32768), **header_changes: Any
) -> Lines:
    """The lines of a complete record of `loggp`."""
    first = header(**header_changes)
    first["benchmark"], first["seed"], first["own"] = "loggp", None, {}
    first["plan"]["parameters"] = {"pair": ["within_node"], "message_bytes": list(sizes)}
    clock_ns = first["timer"]["overhead_ns"]
    points = [message_point(i, truth, size, clock_ns) for i, size in enumerate(sizes)]
    return synthetic.whole(first, points)
