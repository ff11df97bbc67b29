"""The family `hybrid`: collectives that keep one copy of the data per node (Zhou et al. 2020)."""

from __future__ import annotations

from postprocess.families import sampled, sampled_inside
from postprocess.families.family import Bound, Condition, Family, Found, Inside, Metric, Over, TableFile
from postprocess.families.hybrid import claims, inside, once, overlap, state
from postprocess.families.hybrid.axes import AXES
from postprocess.families.hybrid.record import FAMILY, hybrid_record
from postprocess.families.hybrid.table import COLUMNS, SETTING, SHOWN, hybrid_table, record_numbers
from postprocess.families.papers import ZHOU_2020
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Collectives with one copy per node"
FILE = "hybrid.parquet"
ONCE_FILE = "hybrid_once.parquet"
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
BOUNDS = (Bound("whole_ratio_to_library", absolute=False, margin=LEAST_RATIO),)
"""What a regression shows in: writing, collective and reading take longer than with the MPI library beside."""


def _text(found: Found) -> str:
    paid_once = once.SHOWN.text(once.once_table(found.records))
    return "\n\n".join(
        filter(None, [SHOWN.text(found.table), paid_once, overlap.text(found.table), claims.text(found.table)])
    )


HYBRID = Family(
    name=FAMILY,
    title="collectives with one copy per node",
    benchmarks=(FAMILY,),
    papers=(ZHOU_2020,),
    view=hybrid_record,
    table=sampled.table_by(hybrid_table),
    columns=COLUMNS,
    axes=AXES,
    metrics=METRICS,
    over=(Over("ratio_to_best_library", SETTING, "best_setting"),),
    files=(TableFile(FILE), TableFile(ONCE_FILE, lambda found: once.once_table(found.records))),
    launches=sampled.launches(FILE, AXES, METRICS),
    text=_text,
    short_text=lambda found: claims.text(found.table),
    nothing="no hybrid collective was measured",
    sections=sampled.sections(FAMILY, TITLE, 35),
    inside=Inside(inside.words, sampled_inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=sampled.points_or_ratio,
    bounds=BOUNDS,
    wrong=sampled_inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
