"""The family `hybrid`: collectives that keep one copy of the data per node (Zhou et al. 2020)."""

from __future__ import annotations

from postprocess.families.family import Acceptance, Condition, Found, Metric, Over, TableFile
from postprocess.families.hybrid import claims, once, overlap, state
from postprocess.families.hybrid.axes import AXES
from postprocess.families.hybrid.inside import AUDIT, INSIDE
from postprocess.families.hybrid.record import hybrid_record
from postprocess.families.hybrid.table import COLUMNS, SETTING, SHOWN, hybrid_table, record_numbers
from postprocess.families.papers import ZHOU_2020
from postprocess.families.sampled_family import sampled_family, slower

METRICS = (
    Metric(
        "ratio_to_library", "time of a hybrid collective / of MPI's", ratio=True, state="reliable", usual=True,
        condition=Condition(
            "handover_ns", state.OTHER_POINT,
            "the cores were near each other on one side and far apart on the other (--metric handover_ns)",
        ),
    ),
    Metric("handover_ns", "time in which ranks of a node hand a cache line on", ratio=True),
)  # fmt: skip
BOUNDS = slower("whole_ratio_to_library")
"""What a regression shows in: writing, collective and reading take longer than with the MPI library beside."""


def _claims(found: Found) -> str:
    return claims.text(found.table)


HYBRID = sampled_family(
    AXES,
    "collectives with one copy per node",
    35,
    papers=(ZHOU_2020,),
    view=hybrid_record,
    table=hybrid_table,
    columns=COLUMNS,
    metrics=METRICS,
    files=(TableFile("hybrid_once.parquet", lambda found: once.once_table(found.records)),),
    numbers=record_numbers,
    bounds=BOUNDS,
    text=(
        lambda found: SHOWN.text(found.table),
        lambda found: once.SHOWN.text(once.once_table(found.records)),
        lambda found: overlap.text(found.table),
        _claims,
    ),
    short_text=_claims,
    inside=INSIDE,
    audit=AUDIT,
    acceptance=Acceptance(over=(Over("ratio_to_best_library", SETTING, "best_setting"),)),
)
