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
WAY = Axis(
    "way",
    "way",
    usual="blocking",
    of="point",
    values={
        "blocking": "the blocking call; its reference is the same call again, as a control",
        "nonblocking": "the nonblocking call, and MPI_Wait at once",
        "testing": "the nonblocking call, and MPI_Test until it is complete",
        "sleeping": "the same, with sleeps between the tests that grow with the time waited",
        "soaking": "the blocking call, beside a thread of the lowest priority on the same core",
        "working": "the nonblocking call, a fixed amount of work, and MPI_Wait",
        "once": "one blocking call from a common start, as the equations of the LogGP model have it",
        "late": "one blocking call, for which the last rank comes late; only the ranks that wait for it count",
    },
)
"""How a rank spends the time of a collective."""
LATENESS = Axis(
    "lateness_ns", "late by", usual=0, of="point", kind="integer", unit="ns",
    words=lambda lateness: f"{duration(lateness)} late",
)  # fmt: skip
"""By how much the last rank comes late to a call of the way `late`; 0 for the other ways."""
PAIR = Axis(
    "pair",
    "between",
    usual="",  # empty for collectives
    of="point",
    values={"within_node": "two ranks of a node", "between_nodes": "a rank of one node and a rank of another"},
)
"""The ranks between which messages of `loggp` go."""
AXES = axes.FamilyAxes(FAMILY, (COMMUNICATOR, MESSAGE_BYTES, WAY, LATENESS, PAIR), apart=(axes.OPERATION,))
