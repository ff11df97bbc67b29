"""The family `timing_selfcheck`: how steady a machine is."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Columns, number, plain
from postprocess.drawing.text import duration
from postprocess.families.family import Family
from postprocess.families.timing_selfcheck.record import FAMILY, Selfcheck, selfcheck_record
from postprocess.records.run import Run
from postprocess.records.storage import record_name

COLUMNS = (
    "toolchain", "provider", "network", "ranks", "nodes", "threads_per_rank", "kind", "target_ns", "size",
    "repetitions", "late", "t_median_ns", "reason", "oversubscribed", "complete", "record",
)  # fmt: skip


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


SHOWN = Columns((
    plain("toolchain"),
    plain("network"),
    plain("what", "kind"),
    number("target", "target_ns", duration),
    number("median", "t_median_ns", duration),
    number("repetitions"),
    number("late"),
    plain("why not", "reason"),
))  # fmt: skip

TIMING_SELFCHECK = Family(
    name=FAMILY,
    title="how steady a machine is",
    benchmarks=(FAMILY,),
    view=selfcheck_record,
    table=_table,
    columns=COLUMNS,
    text=lambda found: SHOWN.text(found.table),
)
