"""The family `partitioned`: sending parts of a buffer as threads finish them (Gillis et al. 2023)."""

from __future__ import annotations

from postprocess.families import sampled, sampled_inside
from postprocess.families.family import Bound, Family, Found, Inside, Metric, TableFile
from postprocess.families.papers import GILLIS_2023
from postprocess.families.partitioned import inside
from postprocess.families.partitioned.axes import AXES
from postprocess.families.partitioned.record import FAMILY, partitioned_record
from postprocess.families.partitioned.summary import summary_text
from postprocess.families.partitioned.table import (
    COLUMNS,
    SHOWN,
    partitioned_table,
    record_numbers,
)
from postprocess.families.partitioned.verdict import verdict_text
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Partitioned communication"
FILE = "partitioned.parquet"
METRICS = (
    Metric("t_ns", "time of a buffer in parts", ratio=True, usual=True),
    Metric("gain", "gain over one message", ratio=True, better="larger", state="reliable", usual=True),
)


def _text(found: Found) -> str:
    return "" if found.table.empty else f"{SHOWN.text(found.table)}\n\n{verdict_text(found.table)}"


PARTITIONED = Family(
    name=FAMILY,
    title="partitioned communication",
    benchmarks=(FAMILY,),
    papers=(GILLIS_2023,),
    view=partitioned_record,
    table=sampled.table_by(partitioned_table),
    columns=COLUMNS,
    axes=AXES,
    metrics=METRICS,
    files=(TableFile(FILE),),
    launches=sampled.launches(FILE, AXES, METRICS),
    text=_text,
    short_text=lambda found: summary_text(found.table),
    nothing="no partitioned communication was measured",
    sections=sampled.sections(FAMILY, TITLE, 33),
    inside=Inside(inside.words, sampled_inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=sampled.points_or_ratio,
    bounds=(
        Bound("t_ratio_to_single", absolute=False, margin=LEAST_RATIO),
        Bound("gain_vs_model", absolute=False, margin=LEAST_RATIO, better="larger"),
    ),
    wrong=sampled_inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
