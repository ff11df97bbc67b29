"""The family `sync_overlap`: a message to a receiver that is late (White & Bova 1999)."""

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
from postprocess.families.sync_overlap import inside
from postprocess.families.sync_overlap.axes import AXES
from postprocess.families.sync_overlap.record import FAMILY, SyncRecord, sync_record
from postprocess.families.sync_overlap.table import COLUMNS, SHOWN, record_numbers, sync_table
from postprocess.families.sync_overlap.verdict import verdict_text
from postprocess.records.run import Run, failed_records
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Messages to a late receiver"
FILE = "sync_overlap.parquet"
METRICS = (
    Metric(
        "recv_over_wait",
        "completion of a late receive / the sender's computation",
        ratio=True,
        state="reliable",
        usual=True,
    ),
    Metric("t_whole_ns", "time of a whole transfer to a receiver that waits", ratio=True),
)
_TEMPLATES = f"{FAMILY}/templates"


def _table(run: Run, records: Sequence[SyncRecord]) -> pd.DataFrame:
    return sync_table(records, failed_records(run.manifest))


def _asked(_run: str, tables: Sequence[Any]) -> Any:
    """The rows of the sizes that were asked for: the others differ between launches."""
    return tables[0].filter(tables[0]["asked"])


def _text(found: Found) -> str:
    return "" if found.table.empty else f"{SHOWN.text(found.table)}\n\n{verdict_text(found.table)}"


def _short_text(found: Found) -> str:
    return verdict_text(found.table)


def _view(page: Page, found: Found) -> Any:
    from postprocess.families.sync_overlap.section import sync_view  # noqa: PLC0415 - it takes a second to load

    return page.once(FAMILY, lambda: sync_view(found.table, page.links.get(FAMILY, ()), page.room.whole))


def _pictures(page: Page, found: Found, folder: Path) -> Mapping[str, list[Path]]:
    from postprocess.drawing.curve_plot import write_charts  # noqa: PLC0415 - likewise
    from postprocess.families.sync_overlap.charts import charts  # noqa: PLC0415 - likewise

    drawn = write_charts(charts(found.table), folder, "sync-overlap", page.look.kinds)
    return {FAMILY: drawn} if drawn else {}


def _unit_of(name: str) -> str:
    kinds = {"points": "points", "range_bytes": "bytes", "t_whole_ns": "ns"}
    return next((unit for beginning, unit in kinds.items() if name.startswith(beginning)), "ratio")


SYNC_OVERLAP = Family(
    name=FAMILY,
    title="messages to a late receiver",
    benchmarks=(FAMILY,),
    view=sync_record,
    table=_table,
    columns=COLUMNS,
    axes=AXES,
    metrics=METRICS,
    files=(TableFile(FILE),),
    launches=Launches(
        columns={FILE: (*(one.name for one in AXES), *(one.name for one in METRICS), *STATE, "asked")},
        of_files=_asked,
        of_table=lambda table: table[table["asked"].astype(bool)],
    ),
    text=_text,
    short_text=_short_text,
    nothing="no message to a late receiver was measured",
    sections=(
        Section("sync-overlap", TITLE, 35, f"{_TEMPLATES}/section.html", _view, pictures=_pictures),
        Section("sync-overlap-verdicts", TITLE, 35, f"{_TEMPLATES}/card.html", _view, "found"),
        Section("sync-overlap-reading", TITLE, 35, f"{_TEMPLATES}/reading.html", _view, "reading"),
    ),
    inside=Inside(inside.words, inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=_unit_of,
    bounds=(
        Bound("recv_over_wait", absolute=False, margin=LEAST_RATIO),
        Bound("t_whole_ns", absolute=False, margin=LEAST_RATIO),
    ),
    wrong=inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
