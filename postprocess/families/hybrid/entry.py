"""The family `hybrid`: collectives that keep one copy of the data per node (Zhou et al. 2020)."""

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
from postprocess.families.hybrid import inside
from postprocess.families.hybrid.axes import AXES
from postprocess.families.hybrid.claims import sentences
from postprocess.families.hybrid.record import FAMILY, HybridRecord, hybrid_record
from postprocess.families.hybrid.table import COLUMNS, SHOWN, hybrid_table, record_numbers
from postprocess.records.run import Run, failed_records
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Collectives with one copy per node"
FILE = "hybrid.parquet"
METRICS = (
    Metric("ratio_to_library", "time of a hybrid collective / of MPI's", ratio=True, state="reliable", usual=True),
)
BOUNDS = (Bound("whole_ratio_to_library", absolute=False, margin=LEAST_RATIO),)
"""What a regression shows in: writing, collective and reading take longer than with the MPI library beside."""
_TEMPLATES = f"{FAMILY}/templates"


def _table(run: Run, records: Sequence[HybridRecord]) -> pd.DataFrame:
    return hybrid_table(records, failed_records(run.manifest))


def _text(found: Found) -> str:
    return "\n".join([SHOWN.text(found.table), *sentences(found.table)])


def _view(page: Page, found: Found) -> Any:
    from postprocess.families.hybrid.section import hybrid_view  # noqa: PLC0415 - it takes a second to load

    return page.once(FAMILY, lambda: hybrid_view(found.table, page.links.get(FAMILY, ()), page.room.whole))


def _pictures(page: Page, found: Found, folder: Path) -> Mapping[str, list[Path]]:
    from postprocess.drawing.curve_plot import write_charts  # noqa: PLC0415 - likewise
    from postprocess.families.hybrid.charts import charts  # noqa: PLC0415 - likewise

    drawn = write_charts(charts(found.table), folder, FAMILY, page.look.kinds)
    return {FAMILY: drawn} if drawn else {}


HYBRID = Family(
    name=FAMILY,
    title="collectives with one copy per node",
    benchmarks=(FAMILY,),
    view=hybrid_record,
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
    nothing="no hybrid collective was measured",
    sections=(
        Section("hybrid", TITLE, 35, f"{_TEMPLATES}/section.html", _view, pictures=_pictures),
        Section("hybrid-reading", TITLE, 35, f"{_TEMPLATES}/reading.html", _view, "reading"),
    ),
    inside=Inside(inside.words, inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=sampled.points_or_ratio,
    bounds=BOUNDS,
    wrong=inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
