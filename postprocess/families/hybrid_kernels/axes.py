"""The axes of a row of this family."""

from postprocess.families import axes
from postprocess.families.family import Axis
from postprocess.families.hybrid_kernels.record import FAMILY

KERNEL = Axis("kernel", "kernel", usual="", of="point")
"""The kernel: `summa`, `poisson` or `bpmf`."""
SIZE = Axis("size", "size", usual=0, of="point", kind="integer")
"""The order of the matrices, the rows of the grid, or the rows of the matrix of ratings."""
VARIANT = Axis("variant", "variant", usual="", of="point")
"""How the kernel is programmed: `mpi`, `openmp` or `hybrid`."""
AXES = axes.FamilyAxes(FAMILY, (KERNEL, SIZE, VARIANT))
