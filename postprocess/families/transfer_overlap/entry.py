"""The family `transfer_overlap`: whether programming a solver for overlap pays (White & Bova 1999, section III)."""

from __future__ import annotations

from postprocess.families import sampled, sampled_inside
from postprocess.families.family import Bound, Family, Found, Inside, Metric, TableFile
from postprocess.families.papers import WHITE_1999
from postprocess.families.transfer_overlap import inside
from postprocess.families.transfer_overlap.axes import AXES
from postprocess.families.transfer_overlap.record import FAMILY, transfer_record
from postprocess.families.transfer_overlap.table import COLUMNS, SHOWN, record_numbers, transfer_table
from postprocess.families.transfer_overlap.verdict import verdict_text
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Programming for overlap"
FILE = "transfer_overlap.parquet"
METRICS = (
    Metric("t_overlap_ns", "time of a solve that overlaps", ratio=True, usual=True),
    Metric(
        "improvement", "improvement by overlap", ratio=False, better="larger", state="reliable", usual=True
    ),
    Metric("improvement_vs_basic", "improvement over basic", ratio=False, better="larger", state="reliable"),
)  # fmt: skip


def _text(found: Found) -> str:
    return "" if found.table.empty else f"{SHOWN.text(found.table)}\n\n{verdict_text(found.table)}"


TRANSFER_OVERLAP = Family(
    name=FAMILY,
    title="programming a solver for overlap",
    benchmarks=(FAMILY,),
    papers=(WHITE_1999,),
    view=transfer_record,
    table=sampled.table_by(transfer_table),
    columns=COLUMNS,
    axes=AXES,
    metrics=METRICS,
    files=(TableFile(FILE),),
    launches=sampled.launches(FILE, AXES, METRICS),
    text=_text,
    short_text=lambda found: verdict_text(found.table),
    nothing="no solver was measured",
    sections=sampled.sections(FAMILY, TITLE, 36),
    inside=Inside(inside.words, sampled_inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=sampled.points_or_ratio,
    bounds=(Bound("t_ratio_to_nonoverlap", absolute=False, margin=LEAST_RATIO),),
    wrong=inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
