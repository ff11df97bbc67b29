"""The axes of a row of this family."""

from postprocess.drawing.text import size
from postprocess.families import axes
from postprocess.families.family import Axis
from postprocess.families.hybrid.record import FAMILY

ALONE, WHOLE = "collective", "whole"

OPERATION = Axis("operation", "operation", usual="", of="point")
"""The collective, one of `operations.OPERATIONS`."""
VARIANT = Axis("variant", "variant", usual="", of="point")
"""How the hybrid library makes it."""
TIMED = Axis("timed", "timed", usual="", of="point")
"""What is timed: `collective`, the collective alone, or `whole`: write, collective, and first read by every rank."""
MESSAGE_BYTES = Axis("message_bytes", "message", usual=0, of="point", kind="integer", unit="bytes", words=size)
"""The buffer, or the block of one rank (`Operation.per_rank`)."""
AXES = axes.FamilyAxes(FAMILY, (OPERATION, VARIANT, TIMED, MESSAGE_BYTES))
