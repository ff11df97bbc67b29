"""The axes of a point of this family."""

from __future__ import annotations

from postprocess.drawing.text import size
from postprocess.families import axes
from postprocess.families.family import Axis
from postprocess.families.sync_overlap.record import FAMILY

MESSAGE_BYTES = Axis("message_bytes", "message", usual=0, of="point", kind="integer", unit="bytes", words=size)
AXES = axes.with_parameters(
    FAMILY,
    axes.TOOLCHAIN, axes.PROVIDER, axes.CONFIGURATION, axes.NETWORK, axes.RANKS, axes.NODES, axes.THREADS,
    axes.GIVEN_UP, axes.LAUNCH, MESSAGE_BYTES,
)  # fmt: skip
CASE = tuple(one.name for one in AXES if one.of != "point")
"""The columns that identify a launch of a case. `launch` counts the repeats of a case in a run from 1."""
OF_RECORD = axes.of_records(FAMILY)
