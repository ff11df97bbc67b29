"""Impact records that no machine wrote, with a known truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pandas as pd

from postprocess.families import registry
from postprocess.families.mpi_impact.entry import MPI_IMPACT as MPI_IMPACT_FAMILY
from postprocess.families.mpi_impact.record import COMPUTE_ALONE, MPI_IMPACT
from postprocess.records.run import Run
from tests.postprocess import synthetic as base

Lines: TypeAlias = list[dict[str, Any]]

TARGETS_NS = (16_000_000, 512_000_000, 1_024_000_000)
BLOCK = (MPI_IMPACT, COMPUTE_ALONE, COMPUTE_ALONE, MPI_IMPACT)
REPETITIONS = 3
BEGIN_NS = 1_700_000_000_000_000_000
HEADER = base.header(
    host="n0", family="mpi_impact", benchmark="mpi_impact", toolchain="mpich@5.0.2", network="shm",
    configuration="async", mpi_library_version="MPICH Version: 5.0.2", start_method=None, seed=None, clock=None,
)  # fmt: skip


def target(time_ns: int) -> dict[str, Any]:
    calibration = {"status": "given", "time_ns": time_ns, "error_relative": 0.0, "measurements": 0}
    return {
        "comp_target_ns": time_ns, "work_size": time_ns // 1000, "calibration": calibration,
        "warmup_repetitions": 0, "repetitions": REPETITIONS, "slot_ns": 4 * time_ns,
    }  # fmt: skip


def synthetic(
    launches: int, time_of: Callable[[str, int, int, int], float], late_ns: Callable[[int, int], int] = lambda *_: 0
) -> Lines:
    """The lines of a record: time_of(program, launch, rank, target_ns) is the time of every repetition."""
    programs = [BLOCK[i % 4] for i in range(launches)]
    plan = {
        "parameters": {"comp_target_ns": list(TARGETS_NS), "computation": ["dgemm"]},
        "points": launches * len(TARGETS_NS), "budget_seconds": None, "interval_relative": None,
        "min_repetitions": None, "max_repetitions": None, "sizes_given": True,
        "own": {"targets": [target(t) for t in TARGETS_NS], "launches": programs},
    }  # fmt: skip
    lines: Lines = [{**HEADER, "plan": plan}]
    for number, program in enumerate(programs):
        places = [{"host": "n0", "cpuset": str(rank), "compute_cpusets": [str(rank)]} for rank in range(2)]
        launch = {
            "started_utc": "2026-01-01T00:00:00Z", "wall_seconds": 1.0, "command_line": [program], "places": places,
            "mpi_thread_cpu_ns": [[5], [5]] if program == MPI_IMPACT else [],
            "helper_thread_cpu_ns": [[], []] if program == MPI_IMPACT else [],
        }  # fmt: skip
        for place, time_ns in enumerate(TARGETS_NS):
            slot_ns = sum(target(before)["slot_ns"] for before in TARGETS_NS[:place])
            times = [[round(time_of(program, number, rank, time_ns))] * REPETITIONS for rank in range(2)]
            begins = [BEGIN_NS + slot_ns + late_ns(number, rank) for rank in range(2)]
            windows = [[begins[rank], begins[rank] + sum(times[rank])] for rank in range(2)]
            parameters = {
                "comp_target_ns": time_ns, "work_size": time_ns // 1000, "launch": number, "program": program,
            }  # fmt: skip
            own = {"window_utc_ns": windows, "launch": launch}
            of_point = {"index": len(lines) - 1, "repetitions": REPETITIONS, "rank_samples": {"t_comp_ns": times}}
            lines.append(base.bare_point(parameters, own, **of_point))
    lines.append(footer(launches * len(TARGETS_NS)))
    return lines


def footer(points: int, complete: bool = True, reason: str = "") -> dict[str, Any]:
    without = ("measured_seconds", "clock_residual_ns", "clock_synchronisations", "clock_synchronisation_seconds")
    told: dict[str, Any] = dict.fromkeys(without)
    told |= {name: [] for name in ("mpi_thread_cpu_ns", "helper_thread_cpu_ns", "tcp_bytes_sent")}
    return base.footer(points, complete=complete, reason=reason, **told)


def slowed(by: float) -> Callable[[str, int, int, int], float]:
    """MPI makes everything slower by a factor; launches vary a little, the slower rank is rank 1."""

    def time_of(program: str, launch: int, rank: int, target_ns: int) -> float:
        varies = 1 + 0.001 * (launch * 7 % 5)
        return target_ns * (1 + 0.01 * rank) * varies * (by if program == MPI_IMPACT else 1)

    return time_of


def impact_of(run: Run) -> pd.DataFrame:
    """The table of a run's impact records."""
    return registry.found(run, MPI_IMPACT_FAMILY).table
