"""The axes of a point of this family."""

from postprocess.drawing.text import plural, size
from postprocess.families import axes
from postprocess.families.family import Axis
from postprocess.families.partitioned.record import FAMILY

MESSAGE_BYTES = Axis(
    "message_bytes", "message", usual=0, of="point", kind="integer", unit="bytes", words=size
)  # fmt: skip
"""The whole buffer, which all partitions together fill."""
PARTITIONS_SEND = Axis(
    "partitions_send", "partitions", short="parts", usual=0, of="point", kind="integer",
    words=lambda count: plural(count, "partition"),
)  # fmt: skip
PARTITIONS_RECEIVE = Axis(
    "partitions_receive", "partitions received", short="received", usual=0, of="point", kind="integer",
    words="{} received".format,
)  # fmt: skip
AGGREGATION = Axis(
    "aggregation_bytes", "aggregation", usual=0, of="point", kind="integer", unit="bytes",
    words=lambda most_bytes: f"up to {size(most_bytes)} together" if most_bytes else "none together",
)  # fmt: skip
"""The most bytes of partitions that are sent in one message; 0: each partition is a message."""
DELAY_RATIO = Axis("delay_ratio", "delay", usual=0, of="point", kind="number", words="γβ {:g}".format)
"""The planned delay, relative to the time of one partition: gamma beta, as equation 4 has it."""

OF_POINT = (MESSAGE_BYTES, PARTITIONS_SEND, PARTITIONS_RECEIVE, AGGREGATION, DELAY_RATIO)
AXES = axes.FamilyAxes(FAMILY, OF_POINT, apart=(axes.APPROACH,))
