"""The family `transfer_overlap`: whether programming a solver for overlap pays (White & Bova 1999, section III)."""

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
from postprocess.families.transfer_overlap import inside
from postprocess.families.transfer_overlap.axes import AXES
from postprocess.families.transfer_overlap.record import FAMILY, TransferRecord, transfer_record
from postprocess.families.transfer_overlap.table import COLUMNS, SHOWN, record_numbers, transfer_table
from postprocess.families.transfer_overlap.verdict import verdict_text
from postprocess.records.run import Run, failed_records
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Programming for overlap"
FILE = "transfer_overlap.parquet"
METRICS = (
    Metric("t_overlap_ns", "time of a solve that overlaps", ratio=True, usual=True),
    Metric(
        "improvement", "improvement by overlap", ratio=False, better="larger", state="reliable", usual=True
    ),
)  # fmt: skip
_TEMPLATES = f"{FAMILY}/templates"


def _table(run: Run, records: Sequence[TransferRecord]) -> pd.DataFrame:
    return transfer_table(records, failed_records(run.manifest))


def _text(found: Found) -> str:
    return "" if found.table.empty else f"{SHOWN.text(found.table)}\n\n{verdict_text(found.table)}"


def _short_text(found: Found) -> str:
    return verdict_text(found.table)


def _view(page: Page, found: Found) -> Any:
    from postprocess.families.transfer_overlap.section import transfer_view  # noqa: PLC0415 - it takes a second to load

    return page.once(FAMILY, lambda: transfer_view(found.table, page.links.get(FAMILY, ()), page.room.whole))


def _pictures(page: Page, found: Found, folder: Path) -> Mapping[str, list[Path]]:
    from postprocess.drawing.curve_plot import write_charts  # noqa: PLC0415 - likewise
    from postprocess.families.transfer_overlap.charts import charts  # noqa: PLC0415 - likewise

    drawn = write_charts(charts(found.table), folder, "transfer-overlap", page.look.kinds)
    return {FAMILY: drawn} if drawn else {}


TRANSFER_OVERLAP = Family(
    name=FAMILY,
    title="programming a solver for overlap",
    benchmarks=(FAMILY,),
    view=transfer_record,
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
    short_text=_short_text,
    nothing="no solver was measured",
    sections=(
        Section("transfer-overlap", TITLE, 36, f"{_TEMPLATES}/section.html", _view, pictures=_pictures),
        Section("transfer-overlap-verdicts", TITLE, 36, f"{_TEMPLATES}/card.html", _view, "found"),
        Section("transfer-overlap-reading", TITLE, 36, f"{_TEMPLATES}/reading.html", _view, "reading"),
    ),
    inside=Inside(inside.words, inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=sampled.points_or_ratio,
    bounds=(Bound("t_ratio_to_nonoverlap", absolute=False, margin=LEAST_RATIO),),
    wrong=inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
