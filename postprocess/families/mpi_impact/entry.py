"""The family `mpi_impact`: the cost of an idle MPI library for a computation (Denis et al. 2022, section 3.2.1)."""

from __future__ import annotations

from collections.abc import Iterator

from postprocess.families import axes
from postprocess.families.family import STATE, Audit, Family, Inside, Launches, Metric, Numbers, Spent, TableFile
from postprocess.families.mpi_impact.record import FAMILY, ImpactRecord, impact_record
from postprocess.families.mpi_impact.record import MPI_IMPACT as PROGRAM
from postprocess.families.mpi_impact.table import (
    AXES,
    CASE,
    COLUMNS,
    SHOWN,
    highlighted,
    impact_metrics,
    impact_table,
    same_places,
    shown_reliable,
)
from postprocess.families.papers import DENIS_2022
from postprocess.families.sampled_family import sections, slower
from postprocess.records.run import failed_records

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
        Metric(_METRIC, "impact of an idle library", ratio=True, same=("work_size",), state="reliable", usual=True),
    ),
    files=(TableFile("impact.parquet"),),
    launches=Launches(
        columns={"impact.parquet": (*CASE, "comp_target_ns", "work_size", _METRIC, *STATE)},
        of_files=lambda _run, tables: tables[0].rename_columns(
            [_LAUNCH.get(name, name) for name in tables[0].column_names]
        ),
        of_table=lambda table: table.rename(columns=_LAUNCH),
        named_by=axes.NAMED_BY,
    ),
    text=lambda found: SHOWN.text(found.table),
    short_text=lambda found: SHOWN.text(highlighted(found.table)),
    sections=sections(FAMILY, "Impact of an idle library", 30),
    inside=Inside(_words, _spent),
    numbers=_numbers,
    bounds=slower(_METRIC),
    audit=Audit(_wrong),
)
