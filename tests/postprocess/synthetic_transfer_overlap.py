"""Records of transfer_overlap that no machine wrote, with a known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from postprocess.families.transfer_overlap.axes import CONTROLS, NOTHING, PIPELINED, VARIANT
from tests.postprocess import synthetic

Lines: TypeAlias = list[dict[str, Any]]

VERSIONS = tuple(VARIANT.values)
HISTORY = "a8e4fb3465456efb"


@dataclass(frozen=True)
class Truth:
    """What a library does.

    improvement: of every version that is no control.  of: that of single versions.
    comm_ns, comp_ns: of a solve; the solve without overlap takes both.
    slower: by versions, by how much the machine is slower while they are measured, relative.  jumps: likewise, by how
    much more in the later half of their repetitions.  later: likewise, what they bring more there.
    noise: relative deviation of a repetition, the same for all of its times.  spread: deviation of an improvement.
    """

    improvement: float = 0.0
    of: Mapping[str, float] = field(default_factory=dict)
    slower: Mapping[str, float] = field(default_factory=dict)
    jumps: Mapping[str, float] = field(default_factory=dict)
    later: Mapping[str, float] = field(default_factory=dict)
    comm_ns: float = 1e6
    comp_ns: float = 4e6
    noise: float = 0.05
    spread: float = 0.004


SERIALISED = Truth()
OVERLAPS = Truth(improvement=0.15)


def point(
    index: int = 0,
    truth: Truth = SERIALISED,
    variant: str = "overlap",
    grid_points: int = 10_000,
    unknowns: int = 1,
    repetitions: int = 21,
    **changes: Any,
) -> dict[str, Any]:
    """A point whose median improvement is the truth's; a control has none."""
    rng = np.random.default_rng([index, grid_points, unknowns])
    gained = 0.0 if variant in CONTROLS else truth.improvement
    gained = truth.of.get(variant, gained)
    comm = 0.0 if variant == NOTHING else truth.comm_ns
    is_later = np.arange(repetitions) >= repetitions / 2
    common = np.exp(synthetic.around_0(rng, truth.noise, repetitions))
    common = common * (1 + truth.slower.get(variant, 0.0)) * (1 + truth.jumps.get(variant, 0.0) * is_later)
    gains = gained + truth.later.get(variant, 0.0) * is_later
    before = (comm + truth.comp_ns) * common
    series = {
        "t_nonoverlap_ns": before,
        "t_overlap_ns": before * (1 - gains + synthetic.around_0(rng, truth.spread, repetitions)),
        "t_comm_ns": comm * common,
        "t_comp_ns": truth.comp_ns * common,
    }
    other = variant in (PIPELINED, NOTHING)
    parameters = {"grid_points": grid_points, "unknowns": unknowns, "variant": variant}
    own = {
        "iterations": 44 + (variant == PIPELINED), "residual": 8.1e-9, "history": f"{index:016x}" if other else HISTORY,
        "reference_iterations": 44, "reference_residual": 8.2e-9, "partitioner": "bisection", "edge_cut": 199,
        "interface_points": 200, "imbalance": 1.0, "messages": 0 if variant == NOTHING else 2,
        "exchanged_bytes": 0 if variant == NOTHING else 1600 * unknowns,
    }  # fmt: skip
    warmup = {"t_nonoverlap_ns": [round(1.2 * (comm + truth.comp_ns))], "t_overlap_ns": [round(truth.comp_ns)]}
    line = synthetic.sampled_point(index, parameters, series, own, warmup_repetitions=1, warmup=warmup)
    return synthetic.changed(line, **changes)


def header(
    versions: Sequence[str] = VERSIONS,
    grid_points: Sequence[int] = (10_000,),
    unknowns: Sequence[int] = (1,),
    **changes: Any,
) -> dict[str, Any]:
    """The first line."""
    parameters = {"grid_points": list(grid_points), "unknowns": list(unknowns), "variant": list(versions)}
    return synthetic.header_of("transfer_overlap", parameters, {}, changes)


def record(
    truth: Truth = SERIALISED,
    versions: Sequence[str] = VERSIONS,
    grid_points: Sequence[int] = (10_000,),
    unknowns: Sequence[int] = (1,),
    **header_changes: Any,
) -> Lines:
    """The lines of a complete record: a point for each grid, number of unknowns and version."""
    cells = [(size, each, one) for size in grid_points for each in unknowns for one in versions]
    first = header(versions, grid_points, unknowns, **header_changes)
    points = [point(i, truth, one, size, each) for i, (size, each, one) in enumerate(cells)]
    return synthetic.whole(first, points)
