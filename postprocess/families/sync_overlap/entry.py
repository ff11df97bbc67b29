"""The family `sync_overlap`: a message to a receiver that is late (White & Bova 1999)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postprocess.families import sampled, sampled_inside
from postprocess.families.family import Bound, Family, Found, Inside, Metric, TableFile
from postprocess.families.papers import WHITE_1999
from postprocess.families.sync_overlap import inside
from postprocess.families.sync_overlap.axes import AXES
from postprocess.families.sync_overlap.memory import SHOWN as MEMORY
from postprocess.families.sync_overlap.memory import growth_sentences, memory_table
from postprocess.families.sync_overlap.planted import SHOWN as PLANTED
from postprocess.families.sync_overlap.planted import planted_rows, planted_sentence
from postprocess.families.sync_overlap.record import FAMILY, sync_record
from postprocess.families.sync_overlap.table import COLUMNS, SHOWN, record_numbers, sync_table, with_messages
from postprocess.families.sync_overlap.verdict import verdict_text
from postprocess.statistics.limits import LEAST_RATIO

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Messages to a late receiver"
FILE = "sync_overlap.parquet"
METRICS = (
    Metric(
        "recv_over_wait",
        "completion of a late receive / the sender's computation",
        ratio=True,
        state="reliable",
        usual=True,
    ),
    Metric("t_whole_ns", "time of a whole transfer to a receiver that waits", ratio=True),
)


def _asked(table: pd.DataFrame) -> pd.Series[Any]:
    """Whether each row is of a size that was asked for: the other sizes differ between launches."""
    return table["asked"].astype(bool)


def _text(found: Found) -> str:
    if found.table.empty:
        return ""
    tables = [
        SHOWN.text(with_messages(found.table)),
        PLANTED.text(planted_rows(found.table)),
        MEMORY.text(memory_table(found.table)),
    ]
    return "\n\n".join(filter(None, [*tables, _short_text(found)]))


def _short_text(found: Found) -> str:
    planted = planted_sentence(found.table)
    growth = growth_sentences(memory_table(found.table))
    return "\n".join(filter(None, [verdict_text(found.table), planted, *growth]))


def _unit_of(name: str) -> str:
    kinds = {"points": "points", "range_bytes": "bytes", "t_whole_ns": "ns"}
    return next((unit for beginning, unit in kinds.items() if name.startswith(beginning)), "ratio")


SYNC_OVERLAP = Family(
    name=FAMILY,
    title="messages to a late receiver",
    benchmarks=(FAMILY,),
    papers=(WHITE_1999,),
    view=sync_record,
    table=sampled.table_by(sync_table),
    columns=COLUMNS,
    axes=AXES,
    metrics=METRICS,
    files=(TableFile(FILE),),
    launches=sampled.launches(FILE, AXES, METRICS, sampled.Compared(("asked",), _asked)),
    text=_text,
    short_text=_short_text,
    nothing="no message to a late receiver was measured",
    sections=sampled.sections(FAMILY, TITLE, 35),
    inside=Inside(inside.words, sampled_inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=_unit_of,
    bounds=(
        Bound("recv_over_wait", absolute=False, margin=LEAST_RATIO),
        Bound("t_whole_ns", absolute=False, margin=LEAST_RATIO),
    ),
    wrong=inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
