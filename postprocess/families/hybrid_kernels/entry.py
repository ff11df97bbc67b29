"""The family `hybrid_kernels`: kernels in three variants (Zhou et al. 2020, section 5.3)."""

from __future__ import annotations

from postprocess.families import sampled, sampled_inside
from postprocess.families.family import Bound, Family, Found, Inside, Metric, TableFile
from postprocess.families.hybrid_kernels import inside
from postprocess.families.hybrid_kernels.axes import AXES
from postprocess.families.hybrid_kernels.record import FAMILY, kernels_record
from postprocess.families.hybrid_kernels.table import (
    COLUMNS,
    MEMORY,
    SHOWN,
    by_ranks,
    kernels_table,
    record_numbers,
)
from postprocess.families.hybrid_kernels.verdict import verdict_text
from postprocess.families.papers import ZHOU_2020
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Kernels with one copy per node"
FILE = "hybrid_kernels.parquet"
METRICS = (
    Metric("ratio_to_mpi", "time of a kernel / of its variant of pure MPI", ratio=True, state="reliable", usual=True),
)
BOUNDS = (Bound("hybrid_ratio_to_mpi", absolute=False, margin=LEAST_RATIO),)
"""What a regression shows in: the kernels take longer with hybrid collectives than with those of MPI beside."""


def _text(found: Found) -> str:
    parts = (SHOWN.text(found.table), MEMORY.text(by_ranks(found.table)), verdict_text(found.table))
    return "\n\n".join(parts) if parts[0] else ""


HYBRID_KERNELS = Family(
    name=FAMILY,
    title="kernels with one copy per node",
    benchmarks=(FAMILY,),
    papers=(ZHOU_2020,),
    view=kernels_record,
    table=sampled.table_by(kernels_table),
    columns=COLUMNS,
    counted=("copies_per_node", "measured_copies_per_node"),
    axes=AXES,
    metrics=METRICS,
    files=(TableFile(FILE),),
    launches=sampled.launches(FILE, AXES, METRICS),
    text=_text,
    short_text=lambda found: verdict_text(found.table),
    nothing="no kernel was measured",
    sections=sampled.sections(FAMILY, TITLE, 36),
    inside=Inside(inside.words, sampled_inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=sampled.points_or_ratio,
    bounds=BOUNDS,
    wrong=inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
