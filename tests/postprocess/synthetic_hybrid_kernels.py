"""Records of hybrid_kernels that no machine wrote, with a known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tests.postprocess import synthetic

Lines: TypeAlias = list[dict[str, Any]]

KERNELS = {"summa": (362, "MPI_Bcast"), "poisson": (256, "MPI_Allreduce"), "bpmf": (2000, "MPI_Allgather")}
"""Sizes and collectives."""
COPY_BYTES = 320_000
_LINES = {"mpi": 13, "openmp": 22, "hybrid": 19}
_COPIES = {"mpi": 2, "openmp": 1, "hybrid": 2}
_MEASURED_COPIES = {"mpi": 2, "openmp": 1, "hybrid": 1}


@dataclass(frozen=True)
class Truth:
    """What the variants take.

    solve_ns: the time of `mpi`.  collectives: the share of collectives in it.  ratios: of the others' times to it; what
    they save, they save in collectives.
    noise: relative deviation of a repetition, the same for all variants.  ratio_noise: deviation of a ratio alone.
    control: how much longer pure MPI takes when it is solved once more.  far: so many of the last repetitions ran in
    another state of the cores, in which all but `mpi` take three times as long.
    """

    solve_ns: float = 8e6
    collectives: float = 0.4
    ratios: Mapping[str, float] = field(default_factory=lambda: {"openmp": 1.1, "hybrid": 0.9})
    noise: float = 0.05
    ratio_noise: float = 0.0
    control: float = 1.0
    far: int = 0


USUAL = Truth()
THE_SAME = Truth(ratios={"openmp": 1.0, "hybrid": 1.0}, ratio_noise=0.01)
"""The negative control: variants that take equally long."""


def point(
    index: int = 0, truth: Truth = USUAL, kernel: str = "bpmf", repetitions: int = 21, **changes: Any
) -> dict[str, Any]:
    """A point whose median times and ratios are the truth's."""
    rng = np.random.default_rng(index)
    size, collective = KERNELS[kernel]
    together = np.exp(synthetic.around_0(rng, truth.noise, repetitions))
    series = {}
    far = np.arange(repetitions) >= repetitions - truth.far
    for name, ratio in {"mpi": 1.0, **truth.ratios, "mpi_again": truth.control}.items():
        alone = np.exp(synthetic.around_0(rng, truth.ratio_noise, repetitions)) if name != "mpi" else 1.0
        longer = np.where(far, 3, 1) if name != "mpi" else 1
        series[f"t_{name}_ns"] = truth.solve_ns * ratio * together * alone * longer
        series[f"t_{name}_compute_ns"] = truth.solve_ns * (1 - truth.collectives) * together
    series["handover_least_ns"] = np.where(far, 160.0, 40.0)
    series["handover_most_ns"] = 1.1 * series["handover_least_ns"]
    series["order"] = np.resize([1243, 2314, 3421, 4132], repetitions)
    replicated = kernel != "poisson"
    own = {
        "iterations": 20,
        "error": 0.5,
        "digest": "0123456789abcdef",
        "collective": collective,
        "copy_bytes": COPY_BYTES if replicated else 0,
        "pinned": True,
        "variants": {
            name: {
                "lines": _LINES[name],
                "memory_bytes": 36_000_000 + COPY_BYTES * _COPIES[name],
                "growth_bytes": COPY_BYTES * _COPIES[name] + 4096,
                "shared_bytes": 26_000_000,
                "replicated_bytes": COPY_BYTES * _COPIES[name] if replicated else 0,
                "replicated_pss_bytes": COPY_BYTES * _MEASURED_COPIES[name] if replicated else 0,
            }
            for name in _LINES
        },
    }
    line = synthetic.sampled_point(index, {"kernel": kernel, "size": size}, series, own)
    return synthetic.changed(line, **changes)


def header(
    kernels: Sequence[str], own: Mapping[str, Any] | None = None, ranks: int = 2, **changes: Any
) -> dict[str, Any]:
    """The first line. own: changes of its own object."""
    parameters = {
        "kernel": list(kernels), "size": [KERNELS[one][0] for one in kernels], "method": ["campaign"],
        "virtual_node_ranks": [(own or {}).get("virtual_node_ranks", 0)],
    }  # fmt: skip
    of_record = {
        "shared_nodes": 1, "virtual_node_ranks": 0, "dgemm": "OpenBLAS", "ratings": "generated", "noise": 0.5,
        "bpmf_iterations": 20, "memory_only": False,
        **(own or {}),
    }  # fmt: skip
    return synthetic.header_of("hybrid_kernels", parameters, of_record, changes, ranks=ranks, network="shm", method=2)


def record(truth: Truth = USUAL, kernels: Sequence[str] = tuple(KERNELS), **header_changes: Any) -> Lines:
    """The lines of a complete record: a point for each kernel."""
    first = header(kernels, **header_changes)
    points = [point(i, truth, kernel) for i, kernel in enumerate(kernels)]
    return synthetic.whole(first, points)
