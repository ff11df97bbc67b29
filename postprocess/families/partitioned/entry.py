"""The family `partitioned`: sending parts of a buffer as threads finish them (Gillis et al. 2023)."""

from __future__ import annotations

from postprocess.families.family import Bound, Metric
from postprocess.families.papers import GILLIS_2023
from postprocess.families.partitioned.axes import AXES
from postprocess.families.partitioned.inside import AUDIT, INSIDE
from postprocess.families.partitioned.record import partitioned_record
from postprocess.families.partitioned.summary import summary_text
from postprocess.families.partitioned.table import COLUMNS, SHOWN, partitioned_table, record_numbers
from postprocess.families.partitioned.verdict import verdict_text
from postprocess.families.sampled_family import sampled_family, slower
from postprocess.statistics.limits import LEAST_RATIO

PARTITIONED = sampled_family(
    AXES,
    "partitioned communication",
    33,
    papers=(GILLIS_2023,),
    view=partitioned_record,
    table=partitioned_table,
    columns=COLUMNS,
    metrics=(
        Metric("t_ns", "time of a buffer in parts", ratio=True, usual=True),
        Metric("gain", "gain over one message", ratio=True, better="larger", state="reliable", usual=True),
    ),
    numbers=record_numbers,
    bounds=(*slower("t_ratio_to_single"), Bound("gain_vs_model", absolute=False, margin=LEAST_RATIO, better="larger")),
    text=(lambda found: SHOWN.text(found.table), lambda found: verdict_text(found.table)),
    short_text=lambda found: summary_text(found.table),
    inside=INSIDE,
    audit=AUDIT,
)
