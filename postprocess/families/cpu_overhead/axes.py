"""The axes of the points of this family."""

from postprocess.drawing.text import duration, size
from postprocess.families import axes
from postprocess.families.family import Axis

FAMILY = "cpu_overhead"

MESSAGE_BYTES = Axis(
    "message_bytes", "message", usual=0, of="point", kind="integer", unit="bytes", words=size
)  # fmt: skip
"""The buffer, or the block of one rank; 0 for a barrier."""
COMMUNICATOR = Axis(
    "communicator_ranks", "of ranks", usual=0, of="point", kind="integer", words="{} ranks".format
)  # fmt: skip
"""The ranks that take part in the collective: the first ones of the launch."""
WAY = axes.described(FAMILY, "way", "way", usual="blocking", of="point")
"""How a rank spends the time of a collective."""
LATENESS = Axis(
    "lateness_ns", "late by", usual=0, of="point", kind="integer", unit="ns",
    words=lambda lateness: f"by {duration(lateness)}",
)  # fmt: skip
"""By how much the last rank comes late to a call of the way `late`; what each rank works in a batch of `skewed`; 0 for
the other ways."""
PAIR = axes.described("loggp", "pair", "between", usual="", of="point")
"""The ranks between which messages of `loggp` go."""
AXES = axes.FamilyAxes(FAMILY, (COMMUNICATOR, MESSAGE_BYTES, WAY, LATENESS, PAIR), apart=(axes.OPERATION,))
