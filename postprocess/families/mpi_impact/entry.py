"""The family `mpi_impact`: the cost of an idle MPI library for a computation (Denis et al. 2022, section 3.2.1)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import duration, interval, percent, ratio
from postprocess.families import axes
from postprocess.families.family import (
    STATE_OF_POINTS,
    Audit,
    Details,
    Family,
    Inside,
    Launches,
    Metric,
    Numbers,
    Spent,
    TableFile,
)
from postprocess.families.mpi_impact.cells import cells_of
from postprocess.families.mpi_impact.charts import RATIO, case_words, charts, in_order
from postprocess.families.mpi_impact.record import FAMILY, ImpactRecord, impact_record
from postprocess.families.mpi_impact.record import MPI_IMPACT as PROGRAM
from postprocess.families.mpi_impact.table import (
    AXES,
    CASE,
    COLUMNS,
    SHOWN,
    controls,
    highlighted,
    impact_metrics,
    impact_table,
    same_places,
    shown_reliable,
    told,
)
from postprocess.families.papers import DENIS_2022
from postprocess.families.sampled_family import sections, slower
from postprocess.records.run import failed_records

HEADS = ("library and configuration", "computation", "r_mpi_impact [95 %]", "verdict", "CPU of progress threads")


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report, and its card.

    cases: their texts, under HEADS, and whether they are doubtful.
    """
    ordered = in_order(table)
    return {
        "heads": HEADS,
        "cases": [(_cells(row), not row["reliable"]) for row in rows_of(in_order(highlighted(table)))],
        "points": SHOWN.view(ordered, most_rows),
    }


def _cells(row: Mapping[Any, Any]) -> list[str]:
    again = f" ({row['repeat']})" if row["repeat"] > 1 else ""
    return [
        f"{row['toolchain']} {case_words(row)}{again}, {row['network']}, {row['computation']}",
        duration(row["comp_target_ns"]),
        f"{ratio(row[RATIO])} {interval(row[f'{RATIO}_ci95_low'], row[f'{RATIO}_ci95_high'])}",
        told(row),
        percent(row["progress_cpu_share"]),
    ]


SECTION = CurveSection(charts, _view)


_METRIC = "r_mpi_impact"
_LAUNCH = {"repeat": "launch"}
"""The column with the number of a launch: its name in this family's table, and its name in `Launches`."""


def _words(record: ImpactRecord) -> str:
    asked = axes.asked(record.header.plan.parameters, AXES.asked)
    return f"{record.header.configuration}{axes.unusual_words(asked, AXES.asked)}, an idle library"


def _spent(record: ImpactRecord) -> list[Spent]:
    computing = sum(target.slot_ns for target in record.targets) / 1e9
    return [
        Spent(launch.mpi_thread_cpu_ns, launch.helper_thread_cpu_ns, computing, launch.wall_seconds)
        for launch in record.launches
        if launch.program == PROGRAM
    ]


def _timing(records: Sequence[ImpactRecord]) -> Details:
    words = controls(records).words
    return [("computing without MPI against itself, every second launch", words)] if words else []


def _numbers(record: ImpactRecord, _basic: ImpactRecord | None) -> Numbers:
    doubt = "" if shown_reliable(record) else "the impact of an idle library is not reliable"
    return Numbers(impact_metrics(record), doubt=doubt)


def _wrong(record: ImpactRecord) -> Iterator[str]:
    if not same_places(record):
        yield "its launches did not compute on the same CPUs"


MPI_IMPACT = Family(
    name=FAMILY,
    title="impact of an idle library",
    benchmarks=(FAMILY,),
    papers=(DENIS_2022,),
    view=impact_record,
    table=lambda run, records: impact_table(records, failed_records(run.manifest)),
    columns=tuple(COLUMNS),
    axes=AXES.every,
    metrics=(
        Metric(
            _METRIC,
            "impact of an idle library",
            ratio=True,
            same=("work_size",),
            state="sound",
            usual=True,
            better_words="costs a computation less while it is idle",
        ),
    ),
    files=(TableFile("impact.parquet"),),
    launches=Launches(
        columns={"impact.parquet": (*CASE, "comp_target_ns", "work_size", _METRIC, *STATE_OF_POINTS)},
        of_files=lambda _run, tables: tables[0].rename_columns(
            [_LAUNCH.get(name, name) for name in tables[0].column_names]
        ),
        of_table=lambda table: table.rename(columns=_LAUNCH),
        named_by=axes.NAMED_BY,
    ),
    text=lambda found: SHOWN.text(found.table),
    cells=lambda found: cells_of(found.table),
    sections=sections(FAMILY, "Impact of an idle library", 30, SECTION),
    inside=Inside(_words, _spent, timing=_timing),
    numbers=_numbers,
    bounds=slower(_METRIC),
    audit=Audit(_wrong),
)
