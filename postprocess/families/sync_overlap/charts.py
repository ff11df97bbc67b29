"""The curves of messages to a late receiver: the counterpart of figure 2 of White & Bova 1999.

A chart has the points of one library, network and placement, with a curve per configuration and unusual value, against
the message size. Its value is when MPI_Recv completed, in units of when the sender called MPI_Wait: about 0.5 with full
overlap, as figure 2 has 2 of 4 seconds, and at least 1 with none. Messages of 0 bytes have no place on the axis.
"""

from collections.abc import Iterator

import pandas as pd

from postprocess.drawing.columns import first_of
from postprocess.drawing.curves import COLOURS, MESSAGE, Chart, Curve, Style, ratio_axis
from postprocess.drawing.text import plural
from postprocess.families import axes
from postprocess.families.launch_marks import marks_of
from postprocess.families.sampled_table import having
from postprocess.families.sync_overlap.axes import AXES

VALUE = "recv_over_wait"
FIGURES = "figure 2 of White & Bova 1999"
_VERTICAL = ratio_axis("MPI_Recv completes / sender calls MPI_Wait")
_GROUP = [
    "toolchain", "provider", "network", "ranks", "nodes", "threads_per_rank", axes.NAMED_CORES.name,
]  # fmt: skip
_CYCLE = ("blue", "orange", "green", "red", "violet", "sky", "pink", "olive", "black", "grey")
_MARKERS = ("o", "s", "^", "v", "D")


def charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield the charts of a table of `sync_table`, one for each group of points that has a curve."""
    for (toolchain, _, network, ranks, *_), rows in table.groupby(_GROUP, sort=False):
        drawn = having(rows[rows["message_bytes"] > 0], VALUE)
        if drawn.empty:
            continue
        curves = tuple(_curves(drawn))
        values = [mark.value for curve in curves for mark in curve.marks]
        yield Chart(
            kind=VALUE,
            title=f"Synchronisation overlap: {toolchain}, {network}, {plural(int(str(ranks)), 'rank')}",
            figures=FIGURES,
            horizontal=MESSAGE,
            vertical=_VERTICAL,
            low=0.0,
            high=max(1.2, 1.1 * max(values)),
            curves=curves,
            level=1.0,
            left_out=len(rows) - len(drawn),
            lost="of 0 bytes, or not measured,",
        )


def _curves(drawn: pd.DataFrame) -> Iterator[Curve]:
    by = ["configuration", "given_up_cores", *(axis.name for axis in AXES.asked)]
    for number, (_, rows) in enumerate(drawn.groupby(by, sort=False)):
        name = AXES.words(first_of(rows))
        style = Style(COLOURS[_CYCLE[number % len(_CYCLE)]], marker=_MARKERS[number // len(_CYCLE) % len(_MARKERS)])
        yield Curve(name, style, marks_of(rows, "message_bytes", VALUE, _VERTICAL))
