"""Whether a computation between the two steps of a collective, start and wait, hides what goes on between nodes.

Three batches of each repetition tell it, where there are several nodes: the two steps without a computation, the
computation alone, and the computation between the two steps. From their medians follows the overlap ratio of Denis et
al. 2022 with its interval (`metrics.overhead_estimate`): 0 where all is hidden that can be, 1 where nothing is.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from postprocess.drawing.columns import Column, Columns, estimate, number, plain
from postprocess.drawing.text import duration, size
from postprocess.families import sampled_table
from postprocess.families.hybrid.axes import AXES
from postprocess.statistics.control import CANNOT_TELL

HIDES, COSTS = "hides some", "takes longer than both"


def verdict(row: Mapping[Any, Any]) -> str:
    """What the interval of a row's overlap ratio says: on which side of 1, both in turn, it lies."""
    if row["doubtful"]:
        return CANNOT_TELL
    return HIDES if row["r_overhead_ci95_high"] < 1 else COSTS if row["r_overhead_ci95_low"] > 1 else CANNOT_TELL


SHOWN = Columns((
    Column("library", partial(sampled_table.case_words, AXES)),
    Column("nodes", lambda row: f"{row['shared_nodes']}, {row['nodes_are']}"),
    plain("collective", "operation"),
    plain("variant"),
    number("message", "message_bytes", size),
    number("start and wait", "t_steps_ns", duration),
    number("computation", "t_computation_ns", duration),
    number("between the two", "t_overlap_ns", duration),
    *estimate("overlap ratio", "r_overhead"),
    Column("computing between", verdict),
))  # fmt: skip
"""The columns of a table of rows that have an overlap ratio, for a reader."""


def text(table: pd.DataFrame) -> str:
    """The table for the terminal; empty without several nodes."""
    return SHOWN.text(sampled_table.having(table, "r_overhead"))
