"""The family `transfer_overlap`: whether programming a solver for overlap pays (White & Bova 1999, section III)."""

from __future__ import annotations

from postprocess.families.family import Found, Metric
from postprocess.families.papers import WHITE_1999
from postprocess.families.sampled_family import sampled_family, slower
from postprocess.families.transfer_overlap.axes import AXES
from postprocess.families.transfer_overlap.inside import AUDIT, INSIDE
from postprocess.families.transfer_overlap.record import transfer_record
from postprocess.families.transfer_overlap.table import COLUMNS, SHOWN, record_numbers, transfer_table
from postprocess.families.transfer_overlap.verdict import verdict_text


def _verdicts(found: Found) -> str:
    return verdict_text(found.table)


TRANSFER_OVERLAP = sampled_family(
    AXES,
    "programming a solver for overlap",
    36,
    heading="Programming for overlap",
    papers=(WHITE_1999,),
    view=transfer_record,
    table=transfer_table,
    columns=COLUMNS,
    metrics=(
        Metric("t_overlap_ns", "time of a solve that overlaps", ratio=True, usual=True),
        Metric("improvement", "improvement by overlap", ratio=False, better="larger", state="reliable", usual=True),
        Metric("improvement_vs_basic", "improvement over basic", ratio=False, better="larger", state="reliable"),
    ),
    numbers=record_numbers,
    bounds=slower("t_ratio_to_nonoverlap"),
    text=(lambda found: SHOWN.text(found.table), _verdicts),
    short_text=_verdicts,
    inside=INSIDE,
    audit=AUDIT,
)
