"""The family `sync_overlap`: a message to a receiver that is late (White & Bova 1999)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postprocess.families.family import Found, Metric
from postprocess.families.papers import WHITE_1999
from postprocess.families.sampled_family import Compared, sampled_family, slower
from postprocess.families.sync_overlap.axes import AXES
from postprocess.families.sync_overlap.inside import AUDIT, INSIDE
from postprocess.families.sync_overlap.memory import SHOWN as MEMORY
from postprocess.families.sync_overlap.memory import growth_sentences, memory_table
from postprocess.families.sync_overlap.planted import SHOWN as PLANTED
from postprocess.families.sync_overlap.planted import planted_rows, planted_sentence
from postprocess.families.sync_overlap.record import sync_record
from postprocess.families.sync_overlap.table import COLUMNS, SHOWN, record_numbers, sync_table, with_messages
from postprocess.families.sync_overlap.verdict import verdict_text

if TYPE_CHECKING:
    import pandas as pd

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


def _verdicts(found: Found) -> str:
    growth = growth_sentences(memory_table(found.table))
    return "\n".join(filter(None, [verdict_text(found.table), planted_sentence(found.table), *growth]))


SYNC_OVERLAP = sampled_family(
    AXES,
    "messages to a late receiver",
    35,
    papers=(WHITE_1999,),
    view=sync_record,
    table=sync_table,
    columns=COLUMNS,
    metrics=METRICS,
    compared=Compared(("asked",), _asked),
    numbers=record_numbers,
    bounds=slower("recv_over_wait", "t_whole_ns"),
    text=(
        lambda found: SHOWN.text(with_messages(found.table)),
        lambda found: PLANTED.text(planted_rows(found.table)),
        lambda found: MEMORY.text(memory_table(found.table)),
        _verdicts,
    ),
    short_text=_verdicts,
    inside=INSIDE,
    audit=AUDIT,
)
