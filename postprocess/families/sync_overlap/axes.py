"""The axes of a point of this family."""

from postprocess.drawing.text import size
from postprocess.families import axes
from postprocess.families.family import Axis
from postprocess.families.sync_overlap.record import FAMILY

MESSAGE_BYTES = Axis("message_bytes", "message", usual=0, of="point", kind="integer", unit="bytes", words=size)
AXES = axes.FamilyAxes(FAMILY, (MESSAGE_BYTES,))
