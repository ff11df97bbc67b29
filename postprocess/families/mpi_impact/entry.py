"""The family `mpi_impact`: the cost of an idle MPI library for a computation (Denis et al. 2022, section 3.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from postprocess.families import axes, sampled
from postprocess.families.family import (
    STATE,
    Bound,
    Family,
    Found,
    Inside,
    Launches,
    Metric,
    Numbers,
    Page,
    Section,
    Spent,
    TableFile,
)
from postprocess.families.mpi_impact.record import FAMILY, ImpactRecord, impact_record
from postprocess.families.mpi_impact.record import MPI_IMPACT as PROGRAM
from postprocess.families.mpi_impact.table import (
    CASE,
    COLUMNS,
    OF_RECORD,
    highlighted,
    impact_metrics,
    impact_table,
    impact_text,
    same_places,
    shown_reliable,
)
from postprocess.families.papers import DENIS_2022
from postprocess.statistics.limits import LEAST_RATIO

TITLE = "Impact of an idle library"
AXES = axes.with_parameters(
    "mpi_impact",
    axes.TOOLCHAIN, axes.PROVIDER, axes.CONFIGURATION, axes.NETWORK, axes.RANKS, axes.NODES, axes.THREADS,
    axes.GIVEN_UP, axes.COMPUTATION, axes.LAUNCH, axes.COMP_TARGET,
)  # fmt: skip
_METRIC = "r_mpi_impact"
_LAUNCH = {"repeat": "launch"}
"""The column with the number of a launch: its name in this family's table, and its name in `Launches`."""


def _view(page: Page, found: Found) -> Any:
    from postprocess.families.mpi_impact.section import impact_view  # noqa: PLC0415 - it takes a second to load

    return page.once(FAMILY, lambda: impact_view(found.table, page.links.get("impact", ())))


def _pictures(page: Page, found: Found, folder: Path) -> Mapping[str, list[Path]]:
    from postprocess.families.mpi_impact.plot import write_impacts  # noqa: PLC0415 - likewise

    drawn = write_impacts(found.table, folder, page.look.kinds)
    return {"impact": drawn} if drawn else {}


def _words(record: ImpactRecord) -> str:
    asked = axes.asked(record.header.plan.parameters, OF_RECORD)
    return f"{record.header.configuration}{axes.unusual_words(asked, OF_RECORD)}, an idle library"


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


_TEMPLATES = "mpi_impact/templates"

MPI_IMPACT = Family(
    name=FAMILY,
    title="impact of an idle library",
    benchmarks=(FAMILY,),
    papers=(DENIS_2022,),
    view=impact_record,
    table=sampled.table_by(impact_table),
    columns=tuple(COLUMNS),
    axes=AXES,
    sizes=(axes.WORK,),
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
    ),
    named_by=axes.NAMED_BY,
    text=lambda found: "" if found.table.empty else impact_text(found.table),
    short_text=lambda found: "" if found.table.empty else impact_text(highlighted(found.table)),
    nothing="no impact was measured",
    sections=(
        Section("impact", TITLE, 30, f"{_TEMPLATES}/section.html", _view, pictures=_pictures),
        Section("impact-verdicts", TITLE, 30, f"{_TEMPLATES}/card.html", _view, "found"),
        Section("impact-reading", TITLE, 30, f"{_TEMPLATES}/reading.html", _view, "reading"),
    ),
    inside=Inside(_words, _spent),
    numbers=_numbers,
    bounds=(Bound(_METRIC, absolute=False, margin=LEAST_RATIO),),
    wrong=_wrong,
)
