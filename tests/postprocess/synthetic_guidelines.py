"""Records of guidelines that no machine wrote, with a known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tests.postprocess import synthetic

Lines: TypeAlias = list[dict[str, Any]]

SIDES: Mapping[str, tuple[str, str, str, int]] = {
    "allreduce_by_reduce_bcast": ("other calls", "MPI_Allreduce", "MPI_Reduce, MPI_Bcast", 100),
    "gather_by_allgather": ("other calls", "MPI_Gather", "MPI_Allgather", 100),
    "gatherv_of_equal_blocks": ("given blocks", "MPI_Gatherv of equal blocks", "MPI_Gather", 105),
    "barrier_by_allreduce": ("other calls", "MPI_Barrier", "MPI_Allreduce of a number", 100),
    "control": ("control", "MPI_Allreduce", "MPI_Allreduce", 100),
}
"""By guideline its kind, both sides, and the share of the right side's time that is allowed, in percent."""
SIZES = (1024, 131072)
CALLS = 100
NOISE = 0.01
"""The relative deviation of a batch's time."""


def point(
    index: int = 0,
    guideline: str = "gather_by_allgather",
    message_bytes: int = 1024,
    ratio: float = 0.8,
    repetitions: int = 21,
    seed: int = 1,
    **changes: Any,
) -> dict[str, Any]:
    """A point whose left side takes, in truth, `ratio` of the time of the right side."""
    rng = np.random.default_rng([seed, index])
    kind, left, right, allowed = SIDES[guideline]
    right_ns = 500_000 + message_bytes
    series: dict[str, Any] = {
        "t_left_ns": right_ns * ratio * (1 + synthetic.around_0(rng, NOISE, repetitions)),
        "t_right_ns": right_ns * (1 + synthetic.around_0(rng, NOISE, repetitions)),
        "order": [12 if number % 2 else 21 for number in range(repetitions)],
        "late_starts": [0] * repetitions,
    }
    own = {
        "kind": kind, "left": left, "right": right, "allowed_percent": allowed, "vector_bytes": message_bytes,
        "calls": CALLS,
    }  # fmt: skip
    parameters = {"guideline": guideline, "message_bytes": message_bytes}
    line = synthetic.sampled_point(index, parameters, series, own, warmup={"t_left_ns": [], "t_right_ns": []})
    return synthetic.changed(line, **changes)


def record(
    ratios: Mapping[str, float] | None = None, sizes: Sequence[int] = SIZES, launch: int = 1, **header_changes: Any
) -> Lines:
    """The lines of a complete record.

    ratios: the true ratio of each guideline; 0.8 for all, and 1 for the control, where it is left out.  launch: from 1;
    each differs a little from the others.
    """
    truth = {name: 1.0 if name == "control" else 0.8 for name in SIDES} | dict(ratios or {})
    rng = np.random.default_rng([launch])
    places = [(name, size) for name in truth for size in ((0,) if name == "barrier_by_allreduce" else sizes)]
    points = [
        point(index, name, size, truth[name] * float(np.exp(0.002 * rng.standard_normal())), seed=launch)
        for index, (name, size) in enumerate(places)
    ]
    parameters = {"guideline": list(truth), "message_bytes": list(sizes)}
    changes = {"metadata": {"case": {"repeat": launch}}} | header_changes
    first = synthetic.header_of("guidelines", parameters, {"lacking": ""}, changes)
    return synthetic.whole(first, points)
