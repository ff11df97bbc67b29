"""The matrix of the family: whether a blocking collective leaves CPU time idle, and what a message costs the CPU."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from postprocess.drawing.columns import first_of
from postprocess.drawing.matrix import CANNOT_TELL, Cell, Word
from postprocess.drawing.text import percent
from postprocess.families import axes
from postprocess.families.cpu_overhead.axes import AXES
from postprocess.families.cpu_overhead.claims import LEAST_CHANGE, average, compared, judged
from postprocess.families.cpu_overhead.record import BLOCKING
from postprocess.families.matrix_rows import rows_in
from postprocess.families.sampled_table import estimate_of, same_case
from postprocess.statistics.metrics import ratio_estimate

IDLE = "the share of a blocking call that the CPU is idle"
OVERHEAD = "o / L: the CPU time of a message at each end over its time in the network"
LEAVES = Word("leaves idle", "good", "leaves {} of a CPU idle", "leave {} of a CPU idle")
TAKES = Word("takes all", "bad", "takes all of the CPU", "take all of the CPU")
LESS = Word("network longer", "even", "takes the network longer than a CPU", "take the network longer than a CPU")
MORE = Word("CPU longer", "even", "takes a CPU longer than the network", "take a CPU longer than the network")


def cells_of(table: pd.DataFrame) -> list[Cell]:
    """A cell for each case and collective of `cpu_table`, and for each pair of places of its messages."""
    return [*_of_calls(table[table["way"] == BLOCKING]), *_of_messages(table[table["pair"] != ""])]


def _of_calls(calls: pd.DataFrame) -> Iterator[Cell]:
    place = rows_in(calls, "cpu_overhead")
    for _, rows in calls.groupby(same_case(AXES), sort=False):
        good = rows[rows["reliable"].astype(bool)]
        idle, first = average(good, "idle_share"), first_of(rows)
        yield Cell(
            place(first),
            str(first[axes.OPERATION.name]),
            {"above": LEAVES, "below": TAKES}.get(judged(idle, LEAST_CHANGE), CANNOT_TELL),
            idle.numbers,
            counted=len(good),
            points=len(rows),
            words=percent,
            unit=" idle",
            measure=IDLE,
            noun="collective",
            why="the interval holds both answers" if len(good) else "no point is reliable",
        )


def _of_messages(messages: pd.DataFrame) -> Iterator[Cell]:
    place = rows_in(messages, "cpu_overhead")
    for (*_, pair), rows in messages.groupby([*same_case(AXES), "pair"], sort=False):
        row = first_of(rows.sort_values("message_bytes", kind="stable"))
        overhead, latency = (estimate_of(row, f"run_{name}_ns") for name in ("o", "L"))
        is_time = bool(np.nan_to_num(latency.value, nan=-1) >= 0)
        known = {"below": LESS, "above": MORE}.get(compared(overhead, latency), CANNOT_TELL)
        yield Cell(
            place(row),
            str(pair).replace("_", " "),
            known if is_time else CANNOT_TELL,
            ratio_estimate(overhead, latency).numbers,
            counted=int(row["launches_reliable"]),
            points=int(row["launches"]),
            unit=" x",
            par=1.0,
            measure=OVERHEAD,
            noun="pair",
            why="the intervals of o and L touch" if is_time else "L is below 0 or not known",
        )
