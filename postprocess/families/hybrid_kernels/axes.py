"""The axes of a row of this family."""

from __future__ import annotations

from postprocess.families import axes
from postprocess.families.family import Axis
from postprocess.families.hybrid_kernels.record import FAMILY

KERNEL = Axis("kernel", "kernel", usual="", of="point")
"""The kernel: `summa`, `poisson` or `bpmf`."""
SIZE = Axis("size", "size", usual=0, of="point", kind="integer")
"""The order of the matrices, the rows of the grid, or the rows of the matrix of ratings."""
VARIANT = Axis("variant", "variant", usual="", of="point")
"""How the kernel is programmed: `mpi`, `openmp` or `hybrid`."""
AXES = axes.with_parameters(
    FAMILY,
    axes.TOOLCHAIN, axes.PROVIDER, axes.CONFIGURATION, axes.NETWORK, axes.RANKS, axes.NODES, axes.THREADS,
    axes.GIVEN_UP, axes.LAUNCH, KERNEL, SIZE, VARIANT,
)  # fmt: skip
CASE = tuple(one.name for one in AXES if one.of != "point")
"""The columns that identify a launch of a case. `launch` counts the repeats of a case in a run from 1."""
