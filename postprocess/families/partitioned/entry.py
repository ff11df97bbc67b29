"""The family `partitioned`: sending parts of a buffer as threads finish them (Gillis et al. 2023)."""

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
from postprocess.families.partitioned import inside
from postprocess.families.partitioned.axes import AXES
from postprocess.families.partitioned.record import FAMILY, PartitionedRecord, partitioned_record
from postprocess.families.partitioned.summary import summary_text
from postprocess.families.partitioned.table import (
    COLUMNS,
    SHOWN,
    partitioned_table,
    record_numbers,
)
from postprocess.families.partitioned.verdict import verdict_text
from postprocess.records.run import Run, failed_records
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Partitioned communication"
FILE = "partitioned.parquet"
METRICS = (
    Metric("t_ns", "time of a buffer in parts", ratio=True, usual=True),
    Metric("gain", "gain over one message", ratio=True, better="larger", state="reliable", usual=True),
)
_TEMPLATES = f"{FAMILY}/templates"


def _table(run: Run, records: Sequence[PartitionedRecord]) -> pd.DataFrame:
    return partitioned_table(records, failed_records(run.manifest))


def _text(found: Found) -> str:
    return "" if found.table.empty else f"{SHOWN.text(found.table)}\n\n{verdict_text(found.table)}"


def _short_text(found: Found) -> str:
    return summary_text(found.table)


def _view(page: Page, found: Found) -> Any:
    from postprocess.families.partitioned.section import partitioned_view  # noqa: PLC0415 - it takes a second to load

    return page.once(FAMILY, lambda: partitioned_view(found.table, page.links.get(FAMILY, ()), page.room.whole))


def _pictures(page: Page, found: Found, folder: Path) -> Mapping[str, list[Path]]:
    from postprocess.drawing.curve_plot import write_charts  # noqa: PLC0415 - likewise
    from postprocess.families.partitioned.charts import charts  # noqa: PLC0415 - likewise

    drawn = write_charts(charts(found.table), folder, FAMILY, page.look.kinds)
    return {FAMILY: drawn} if drawn else {}


PARTITIONED = Family(
    name=FAMILY,
    title="partitioned communication",
    benchmarks=(FAMILY,),
    view=partitioned_record,
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
    nothing="no partitioned communication was measured",
    sections=(
        Section("partitioned", TITLE, 33, f"{_TEMPLATES}/section.html", _view, pictures=_pictures),
        Section("partitioned-verdicts", TITLE, 33, f"{_TEMPLATES}/card.html", _view, "found"),
        Section("partitioned-reading", TITLE, 33, f"{_TEMPLATES}/reading.html", _view, "reading"),
    ),
    inside=Inside(inside.words, inside.spent, inside.covered, inside.timing),
    numbers=sampled.numbers_by(record_numbers),
    unit_of=sampled.points_or_ratio,
    bounds=(Bound("t_ratio_to_single", absolute=False, margin=LEAST_RATIO),),
    wrong=inside.wrong,
    communicated_ns=inside.communicated_ns,
    payload=inside.payload_bytes,
)
