"""The family `hybrid_kernels`: kernels in three variants (Zhou et al. 2020, section 5.3)."""

from __future__ import annotations

from postprocess.families.family import Acceptance, Found, Metric
from postprocess.families.hybrid_kernels.axes import AXES
from postprocess.families.hybrid_kernels.inside import AUDIT, INSIDE
from postprocess.families.hybrid_kernels.record import kernels_record
from postprocess.families.hybrid_kernels.table import COLUMNS, MEMORY, SHOWN, by_ranks, kernels_table, record_numbers
from postprocess.families.hybrid_kernels.verdict import verdict_text
from postprocess.families.papers import ZHOU_2020
from postprocess.families.sampled_family import sampled_family, slower

METRICS = (
    Metric("ratio_to_mpi", "time of a kernel / of its variant of pure MPI", ratio=True, state="reliable", usual=True),
)
BOUNDS = slower("hybrid_ratio_to_mpi")
"""What a regression shows in: the kernels take longer with hybrid collectives than with those of MPI beside."""


def _verdicts(found: Found) -> str:
    return verdict_text(found.table)


HYBRID_KERNELS = sampled_family(
    AXES,
    "kernels with one copy per node",
    36,
    papers=(ZHOU_2020,),
    view=kernels_record,
    table=kernels_table,
    columns=COLUMNS,
    metrics=METRICS,
    numbers=record_numbers,
    bounds=BOUNDS,
    text=(lambda found: SHOWN.text(found.table), lambda found: MEMORY.text(by_ranks(found.table)), _verdicts),
    short_text=_verdicts,
    inside=INSIDE,
    audit=AUDIT,
    acceptance=Acceptance(counted=("copies_per_node", "measured_copies_per_node")),
)
