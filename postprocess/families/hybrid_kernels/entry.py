"""The family `hybrid_kernels`: kernels in three variants (Zhou et al. 2020, section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from postprocess.families import sampled
from postprocess.families.family import (
    STATE,
    Bound,
    Family,
    Found,
    Inside,
    Launches,
    Metric,
    Page,
    Section,
    TableFile,
)  # fmt: skip
from postprocess.families.hybrid_kernels import inside
from postprocess.families.hybrid_kernels.axes import AXES
from postprocess.families.hybrid_kernels.record import FAMILY, KernelsRecord, kernels_record
from postprocess.families.hybrid_kernels.table import COLUMNS, SHOWN, kernels_table, record_numbers
from postprocess.records.run import Run, failed_records
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Kernels with one copy per node"
FILE = "hybrid_kernels.parquet"
METRICS = (
    Metric("ratio_to_mpi", "time of a kernel / of its variant of pure MPI", ratio=True, state="reliable", usual=True),
)
BOUNDS = (Bound("hybrid_ratio_to_mpi", absolute=False, margin=LEAST_RATIO),)
"""What a regression shows in: the kernels take longer with hybrid collectives than with those of MPI beside."""
_TEMPLATES = f"{FAMILY}/templates"


def _table(run: Run, records: Sequence[KernelsRecord]) -> pd.DataFrame:
    return kernels_table(records, failed_records(run.manifest))


def _text(found: Found) -> str:
    return SHOWN.text(found.table)


def _view(page: Page, found: Found) -> Any:
    from postprocess.families.hybrid_kernels.section import kernels_view  # noqa: PLC0415 - it takes a second to load

    return page.once(FAMILY, lambda: kernels_view(found.table, page.links.get(FAMILY, ()), page.room.whole))


def _pictures(page: Page, found: Found, folder: Path) -> Mapping[str, list[Path]]:
    from postprocess.drawing.curve_plot import write_charts  # noqa: PLC0415 - likewise
    from postprocess.families.hybrid_kernels.charts import charts  # noqa: PLC0415 - likewise

    drawn = write_charts(charts(found.table), folder, FAMILY, page.look.kinds)
    return {FAMILY: drawn} if drawn else {}


HYBRID_KERNELS = Family(
    name=FAMILY,
    title="kernels with one copy per node",
    benchmarks=(FAMILY,),
    view=kernels_record,
    table=_table,
    columns=COLUMNS,
    axes=AXES,
    metrics=METRICS,
    files=(TableFile(FILE),),
    launches=Launches(
        columns={FILE: (*(one.name for one in AXES), *(one.name for one in METRICS), *STATE)},
        of_files=lambda _run, tables: tables[0],
        of_table=lambda table: table,
    ),
    text=_text,
    short_text=_text,
    nothing="no kernel was measured",
    sections=(
        Section("hybrid_kernels", TITLE, 36, f"{_TEMPLATES}/section.html", _view, pictures=_pictures),
        Section("hybrid_kernels-reading", TITLE, 36, f"{_TEMPLATES}/reading.html", _view, "reading"),
    ),
    inside=Inside(inside.words, inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=sampled.points_or_ratio,
    bounds=BOUNDS,
    wrong=inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
