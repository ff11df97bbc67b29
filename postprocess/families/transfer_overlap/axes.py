"""The axes of a point of this family."""

from postprocess.families import axes
from postprocess.families.transfer_overlap.record import FAMILY

NONOVERLAP, NOTHING, PIPELINED = "nonoverlap", "nothing", "pipelined"
CONTROLS = (NONOVERLAP, NOTHING)
"""The versions that cannot bring anything: the reference against itself, and an exchange of nothing."""
VARIANT = axes.described(FAMILY, "variant", "version", usual="", of="point")
"""The version of the solver."""
AXES = axes.FamilyAxes(FAMILY, (VARIANT,), apart=(axes.GRID_POINTS, axes.UNKNOWNS))
