"""What is paid once, on the slowest rank, by number of ranks and size of a window: the counterpart of table 2 of Zhou
et al. 2020; and after how many calls they have saved as much time, with the trials and without."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from postprocess.drawing.columns import Column, Columns, number, rows_of
from postprocess.drawing.text import duration, size
from postprocess.families import sampled_table
from postprocess.families.hybrid.axes import AXES, WHOLE
from postprocess.families.hybrid.claims import OWN_CHOICE
from postprocess.families.hybrid.record import HybridRecord
from postprocess.families.hybrid.table import case_of, pays_back_words
from postprocess.statistics.metrics import median_estimate

ONCE: Mapping[str, str] = {
    "comm_create_ns": "communicators",
    "comm_create_with_table_ns": "with a table of all ranks",
    "gather_create_ns": "parameters of an allgather",
    "memory_create_8_bytes_ns": "memory, 8 B",
    "memory_create_64_kib_ns": "memory, 64 KiB",
    "memory_create_1_mib_ns": "memory, 1 MiB",
}
"""What is paid once, each with a head of a column."""
OF_RANKS = "of_ranks"
COLUMNS = (*AXES.case, "shared_nodes", "nodes_are", OF_RANKS, *sampled_table.names_of_estimates(ONCE), "record")
"""The columns of `once_table`. `of_ranks`: how many of the ranks pay it. Times are medians, in ns, with their 95 %
intervals; NaN where there is none."""


def once_table(records: Sequence[HybridRecord]) -> pd.DataFrame:
    """A row for each record and each number of its ranks for which it was measured; the columns are COLUMNS."""
    made: pd.DataFrame = pd.DataFrame([row for record in records for row in _rows(record)], columns=list(COLUMNS))
    return made


def _rows(record: HybridRecord) -> Iterator[dict[str, Any]]:
    of_all = {record.header.ranks: record.one_off_ns} if any(map(len, record.one_off_ns.values())) else {}
    for ranks, times in sorted({**record.one_off_of_fewer_ns, **of_all}.items()):
        row = {**case_of(record), OF_RANKS: ranks, "record": record.name}
        for name in ONCE:
            row |= sampled_table.columns_of_estimates({name: median_estimate(times.get(name, ()))})
        yield row


def _with_interval(row: Mapping[Any, Any], name: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in sampled_table.ENDS)
    ends = f" [{duration(low)}, {duration(high)}]" if math.isfinite(low) else ""
    return f"{duration(value)}{ends}" if math.isfinite(value) else ""


SHOWN = Columns((
    *sampled_table.leading(AXES),
    number("ranks", OF_RANKS),
    *(Column(head, partial(_with_interval, name=name), right=True) for name, head in ONCE.items()),
))  # fmt: skip
"""The columns of a table of `once_table` for a reader."""


def pays_back(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """After how many calls of each size the own choice pays back what is paid once: heads, and a row of cells for each
    case and collective of a table of `hybrid_table`. A dash: it is not surely faster."""
    own = table[(table["variant"] == OWN_CHOICE) & (table["timed"] == WHOLE) & table["valid"]]
    sizes = sorted(set(own["message_bytes"]))
    keys = [*AXES.case, "operation"]
    rows = []
    for _, of_case in own.groupby(keys, sort=False, dropna=False):
        cells = {row["message_bytes"]: pays_back_words(row) or "–" for row in rows_of(of_case)}
        first = rows_of(of_case)[0]
        rows.append(
            [
                f"{sampled_table.case_words(AXES, first)}, {first['ranks']} ranks",
                str(first["operation"]),
                *(cells.get(one, "") for one in sizes),
            ]
        )
    return ["library", "collective", *map(size, sizes)], rows
