"""The family `timing_selfcheck`: how steady a machine is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from postprocess.drawing.columns import aligned
from postprocess.drawing.text import duration
from postprocess.families.family import Family, Found
from postprocess.families.timing_selfcheck.record import FAMILY, Selfcheck, selfcheck_record
from postprocess.records.run import Run
from postprocess.records.storage import record_name

COLUMNS = (
    "toolchain", "provider", "network", "ranks", "nodes", "threads_per_rank", "kind", "target_ns", "size",
    "repetitions", "late", "t_median_ns", "reason", "oversubscribed", "complete", "record",
)  # fmt: skip
HEADS = ("toolchain", "network", "what", "target", "median", "repetitions", "late", "why not")


def _table(_run: Run, records: Sequence[Selfcheck]) -> pd.DataFrame:
    """One row per amount of work of every record; the columns are COLUMNS. Times are in nanoseconds."""
    rows = [
        {
            **{name: getattr(record.header, name) for name in (*COLUMNS[:6], "oversubscribed")},
            "kind": work.kind,
            "target_ns": work.target_ns,
            "size": work.size,
            "repetitions": len(work.samples_ns),
            "late": work.late,
            "t_median_ns": float(np.median(work.samples_ns)) if len(work.samples_ns) else float("nan"),
            "reason": work.reason,
            "complete": not record.incomplete,
            "record": record_name(record.path),
        }
        for record in records
        for work in record.works
    ]
    table: pd.DataFrame = pd.DataFrame(rows, columns=list(COLUMNS))
    return table


def _text(found: Found) -> str:
    lines = [
        [
            *(str(row[name]) for name in ("toolchain", "network", "kind")),
            *(duration(row[name]) for name in ("target_ns", "t_median_ns")),
            *(str(row[name]) for name in ("repetitions", "late", "reason")),
        ]
        for row in found.table.to_dict("records")
    ]
    return aligned(HEADS, lines, {3, 4, 5, 6}) if lines else ""


TIMING_SELFCHECK = Family(
    name=FAMILY,
    title="how steady a machine is",
    benchmarks=(FAMILY,),
    view=selfcheck_record,
    table=_table,
    columns=COLUMNS,
    text=_text,
)
