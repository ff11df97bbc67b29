"""Records of hybrid that no machine wrote, with a known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from postprocess.families.hybrid.operations import OPERATIONS
from tests.postprocess import synthetic

Lines: TypeAlias = list[dict[str, Any]]

SIZES = (8, 4096, 262144)
BATCH_NS = 500_000
TRIALS_NS = 28_000_000


@dataclass(frozen=True)
class Truth:
    """How much longer calls of the hybrid library take than those of the MPI library.

    whole, alone: ratios of the times; `by_size` replaces that of the whole at some sizes, `by_variant` that of some
    variants.  papers: the ratio of the paper's own method.
    handover_ns: how long the cores take to hand a cache line to each other.  far: so many of the last repetitions ran
    in another state of the cores, in which that takes four times as long, and all ratios are `far_ratio`.
    hidden: of a computation between start and wait, as long as both, where there are several nodes: how much of the
    shorter of the two is hidden. None: there are no such batches.
    noise: relative deviation of a repetition, the same for both libraries.  ratio_noise: deviation of the ratio alone.
    """

    whole: float = 0.8
    alone: float = 0.1
    by_size: Mapping[int, float] = field(default_factory=dict)
    by_variant: Mapping[str, float] = field(default_factory=dict)
    papers: float = 1.0
    handover_ns: float = 60.0
    far: int = 0
    far_ratio: float = 3.0
    hidden: float | None = None
    latency_ns: float = 400.0
    bytes_per_second: float = 5e9
    noise: float = 0.05
    ratio_noise: float = 0.0


FASTER = Truth()
SLOWER = Truth(whole=1.25)
THE_SAME = Truth(whole=1.0, alone=1.0, ratio_noise=0.01)
"""The negative control: a library against itself."""


def library_ns(truth: Truth, message_bytes: int) -> float:
    """The time of one whole call of the MPI library; alone it takes half of that."""
    return truth.latency_ns + 1e9 * message_bytes / truth.bytes_per_second


def point(
    index: int = 0,
    truth: Truth = FASTER,
    operation: str = "bcast",
    variant: str = "spin",
    message_bytes: int = 4096,
    repetitions: int = 21,
    **changes: Any,
) -> dict[str, Any]:
    """A point whose median times and ratios are the truth's."""
    rng = np.random.default_rng([index, message_bytes])
    whole = library_ns(truth, message_bytes)
    call_ns = {
        "library_whole": whole,
        "hybrid_whole": whole * truth.by_variant.get(variant, truth.by_size.get(message_bytes, truth.whole)),
        "papers_whole": whole * truth.papers, "library_alone": whole / 2, "hybrid_alone": whole / 2 * truth.alone,
        "papers_alone": whole / 2 * truth.papers,
    }  # fmt: skip
    if truth.hidden is not None:
        steps, computation = whole / 2, whole / 4
        call_ns |= {"steps": steps, "computation": computation}
        call_ns |= {"overlap": steps + (1 - truth.hidden) * computation}
    calls = {name: max(1, round(1.1 * BATCH_NS / time)) for name, time in call_ns.items()}
    together = np.exp(synthetic.around_0(rng, truth.noise, repetitions))
    far = np.arange(repetitions) >= repetitions - truth.far
    far_ns = dict.fromkeys(call_ns, 4 * call_ns["library_whole"])
    far_ns |= {name: truth.far_ratio * far_ns[name] for name in call_ns if name.startswith("hybrid")}
    handover_ns = np.where(far, 4 * truth.handover_ns, truth.handover_ns)
    series = {"handover_least_ns": handover_ns, "handover_most_ns": 1.1 * handover_ns}
    for name, time in call_ns.items():
        alone = 1.0 if name.startswith("library") else np.exp(synthetic.around_0(rng, truth.ratio_noise, repetitions))
        series[f"t_{name}_ns"] = calls[name] * np.where(far, far_ns[name], time) * together * alone
    parameters = {"operation": operation, "variant": variant, "message_bytes": message_bytes}
    own = {
        **{f"{name}_calls": number for name, number in calls.items()},
        "evicts": False,
        **({"computation_units": 3} if truth.hidden is not None else {}),
        **({"node_method": "each", "papers_node_method": "leader"} if OPERATIONS[operation].reduces else {}),
        "trials_ns": TRIALS_NS if variant in ("spin", "paper") else 0,
        "choice_handover_ns": int(truth.handover_ns),
    }
    return synthetic.changed(synthetic.sampled_point(index, parameters, series, own), **changes)


ONE_OFF = {
    "comm_create_ns": [110_000, 100_000, 130_000], "comm_create_with_table_ns": [120_000, 125_000, 130_000],
    "gather_create_ns": [9_000, 9_000, 10_000], "memory_create_8_bytes_ns": [80_000, 85_000, 90_000],
    "memory_create_64_kib_ns": [80_000, 85_000, 90_000], "memory_create_1_mib_ns": [80_000, 85_000, 95_000],
}  # fmt: skip


def header(
    operations: Sequence[str] = ("bcast",),
    variants: Sequence[str] = ("spin",),
    sizes: Sequence[int] = SIZES,
    own: Mapping[str, Any] | None = None,
    asked: Mapping[str, str | int] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """The first line. own: changes of its own object.  asked: unusual values of axes of the case."""
    parameters = {
        "operation": list(operations), "variant": list(variants), "message_bytes": list(sizes),
        "intranode": ["usual"], "cache": ["warm"], "method": ["campaign"], "virtual_node_ranks": [0],
        **{name: [value] for name, value in (asked or {}).items()},
    }  # fmt: skip
    of_record = {
        "shared_nodes": 1, "virtual_node_ranks": 0, "numa": False, "blocks": True, "cutoff_bytes": 2048,
        "node_ranks": [2], "one_off": ONE_OFF, "one_off_of_fewer": [],
        **(own or {}),
    }  # fmt: skip
    return synthetic.header_of("hybrid", parameters, of_record, changes, network="shm", method=5)


def record(
    truth: Truth = FASTER,
    operations: Sequence[str] = ("bcast",),
    variants: Sequence[str] = ("spin",),
    sizes: Sequence[int] = SIZES,
    **header_changes: Any,
) -> Lines:
    """The lines of a complete record: a point for each collective, variant and size."""
    cells = [(one, variant, size) for one in operations for variant in variants for size in sizes]
    first = header(operations, variants, sizes, **header_changes)
    points = [point(i, truth, *cell) for i, cell in enumerate(cells)]
    return synthetic.whole(first, points)
