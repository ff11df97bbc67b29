"""Records of `timing_selfcheck` that were never measured, so that the right answers are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.postprocess import synthetic

Line = dict[str, Any]
TARGETS_NS = (500_000, 4_000_000, 16_000_000, 64_000_000)


CALIBRATION = {"status": "converged", "error_relative": 0.0, "measurements": 7}


def header(**changes: Any) -> Line:
    """The first line of a record."""
    plan = {
        "parameters": {"section": ["timer", "clock", "start", "noise", "work"], "target_ns": list(TARGETS_NS)},
        **dict.fromkeys(
            ("points", "budget_seconds", "interval_relative", "min_repetitions", "max_repetitions", "sizes_given")
        ),
        "own": {},
    }
    own = {"family": "timing_selfcheck", "benchmark": "timing_selfcheck", "start_method": None, "plan": plan}
    return {**synthetic.header(), "network": "shm", **own, **changes}


section = synthetic.bare_point  # the place of its line is its index (`write`)


def timer(**changes: Any) -> Line:
    own = {"name": "CLOCK_MONOTONIC", "resolution_ns": 20, "overhead_ns": 21.5, "backwards_ns": 0}
    return section({"section": "timer"}, {**own, **changes})


def clock(**changes: Any) -> Line:
    own = {
        "method": "interpolated", "refusal": "", "reason": "", "clocks": 2, "rounds": 1,
        "synchronisations": 4, "synchronisation_seconds": 0.02, "shortest_trip_ns": 900.0, "drift_ppm": -1.5,
        "baseline_seconds": 1.0,
        "residuals": [
            {"after_seconds": 0, "with_drift_ns": 120, "without_drift_ns": 130},
            {"after_seconds": 10, "with_drift_ns": 400, "without_drift_ns": 15000},
        ],
    }  # fmt: skip
    return section({"section": "clock"}, {**own, **changes})


def start(method: str, imbalance_ns: Iterable[int], late: Iterable[int] = ()) -> Line:
    imbalance, lates = list(imbalance_ns), list(late)
    return section(
        {"section": "start", "method": method}, {"reason": "", "late_imbalance_ns": lates},
        repetitions=len(imbalance), late_repetitions=len(lates), series={"start_imbalance_ns": imbalance},
    )  # fmt: skip


def noise(lengths_ns: Sequence[int], seconds: float = 2.0, **changes: Any) -> Line:
    parameters = {"section": "noise", "rank": changes.pop("rank", 0), "thread": changes.pop("thread", 0)}
    own = {
        "host": "here", "cpu": 0, "seconds": seconds, "threshold_ns": 1000,
        "detours": len(lengths_ns), "share": sum(lengths_ns) / (1e9 * seconds),
        "longest_ns": max(lengths_ns, default=0), "detour_lengths_ns": list(lengths_ns), "truncated": False,
    }  # fmt: skip
    return section(parameters, {**own, **changes})


def work(kind: str, target_ns: int, samples_ns: Sequence[int], **changes: Any) -> Line:
    """A change of `late` is one of the late repetitions; one of what stands in `own` is one of that."""
    ends = np.cumsum(np.asarray(samples_ns, dtype=np.int64))
    own = {"calibration": {**CALIBRATION, "time_ns": target_ns}, "reason": ""}
    own |= {name: changes.pop(name) for name in own if name in changes}
    late = changes.pop("late", 0)
    series = {"t_ns": [int(one) for one in samples_ns], "elapsed_ns": changes.pop("elapsed_ns", ends.tolist())}
    return section(
        {"section": "work", "kind": kind, "target_ns": target_ns, "size": changes.pop("size", 512)}, own,
        **{"repetitions": len(samples_ns), "stop_reason": "repetitions", "series": series, "late_repetitions": late,
           **changes},
    )  # fmt: skip


def footer(complete: bool = True, reason: str = "") -> Line:
    """How many points stand before it, `write` fills in."""
    return {
        **synthetic.footer(0), "points": None, "complete": complete, "reason": reason, "wall_seconds": 3.5,
        "measured_seconds": None, "mpi_thread_cpu_ns": [], "helper_thread_cpu_ns": [], "tcp_bytes_sent": [],
    }  # fmt: skip


def around(median_ns: float, width_relative: float, count: int = 21) -> list[int]:
    """Samples whose median is this and whose 95 % interval is exactly so wide: evenly spread, the smallest first, the
    largest last, the others in an order in which neighbours do not resemble each other."""
    assert count == 21  # the interval is from the 6th smallest to the 6th largest: 10 of the 20 steps
    step = width_relative * median_ns / 10
    order = (0, *(8 * index % 19 + 1 for index in range(19)), 20)
    return [round(median_ns + step * (index - 10)) for index in order]


def launch(medians_ns: dict[int, float], width_relative: float = 0.01) -> list[Line]:
    """The work of one launch: computation and communication the same at every target."""
    return [
        work(kind, target, around(median, width_relative))
        for kind in ("computation", "communication")
        for target, median in medians_ns.items()
    ]


def numbered(lines: Iterable[Line]) -> list[Line]:
    """The lines with the index of each point, and how many there are."""
    found: list[Line] = []
    for place, line in enumerate(lines):
        more = {"point": {"index": place - 1}, "footer": {"points": place - 1}}.get(str(line.get("type")), {})
        found.append({**line, **more})
    return found


def write(path: Path, lines: Iterable[Line]) -> Path:
    return synthetic.write(path, numbered(lines))


def quiet_machine(number: int = 0) -> list[Line]:
    """A whole record of a first launch; `number` shifts the medians by as many thousandths."""
    return [
        header(), timer(), clock(),
        start("deadline", range(10, 510, 5), [9000]), start("mpi_barrier", range(100, 5100, 50)),
        start("dissemination", range(50, 2550, 25)),
        noise([2000] * 500), noise([2000] * 500, rank=1, cpu=1),
        *launch({target: target * (1 + number / 1000) for target in TARGETS_NS}), footer(),
    ]  # fmt: skip
