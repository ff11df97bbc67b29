"""The registry of all families of benchmarks, in the order in which they are shown, one line each."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from postprocess.drawing.look import Look, check
from postprocess.drawing.matrix import Cell
from postprocess.families.cpu_overhead.entry import CPU_OVERHEAD
from postprocess.families.family import Axis, Family, Found, Metric
from postprocess.families.guidelines.entry import GUIDELINES
from postprocess.families.hybrid.entry import HYBRID
from postprocess.families.hybrid_kernels.entry import HYBRID_KERNELS
from postprocess.families.matrix_rows import ROW, with_cases
from postprocess.families.mpi_impact.entry import MPI_IMPACT
from postprocess.families.nbc_overlap.entry import NBC_OVERLAP
from postprocess.families.partitioned.entry import PARTITIONED
from postprocess.families.peers.entry import PEERS
from postprocess.families.sync_overlap.entry import SYNC_OVERLAP
from postprocess.families.timing_selfcheck.entry import TIMING_SELFCHECK
from postprocess.families.transfer_overlap.entry import TRANSFER_OVERLAP
from postprocess.families.whole_machine.entry import WHOLE_MACHINE
from postprocess.records.fields import Json
from postprocess.records.header import NAMED
from postprocess.records.parquet import write_table
from postprocess.records.reading import load_record, load_valid_record, validate_lines
from postprocess.records.record import Record
from postprocess.records.run import RESULTS, Run, Views, cases_of, views_of

TEMPLATES = Path(__file__).resolve().parent
"""The folder to which `Section.template` is relative."""

FAMILIES: tuple[Family, ...] = (
    NBC_OVERLAP,
    MPI_IMPACT,
    PARTITIONED,
    CPU_OVERHEAD,
    TRANSFER_OVERLAP,
    SYNC_OVERLAP,
    HYBRID,
    HYBRID_KERNELS,
    GUIDELINES,
    WHOLE_MACHINE,
    replace(PEERS, beside=NBC_OVERLAP),
    TIMING_SELFCHECK,
)
MAIN = FAMILIES[0]
"""The family that is used where none is given."""
SHOWN = tuple(sorted(FAMILIES, key=lambda family: FAMILIES.index(family.beside or family)))
"""The families in the order of their matrices: what other benchmarks say stands after what it is about."""
BY_NAME: Mapping[str, Family] = {family.name: family for family in FAMILIES}
BY_BENCHMARK: Mapping[str, Family] = {name: family for family in FAMILIES for name in family.benchmarks}
"""The families by the name of each of their programs."""


_BY_KIND = (axis for of in ("case", "launch", "point") for family in FAMILIES for axis in family.axes if axis.of == of)
AXES: tuple[Axis, ...] = tuple({axis.name: axis for axis in _BY_KIND}.values())
"""The axes of all families, each once. A family that lacks one of them counts as having its usual value."""
METRICS: Mapping[str, Metric] = {metric.name: metric for family in FAMILIES for metric in family.metrics}
FAMILY_OF: Mapping[str, Family] = {metric.name: family for family in FAMILIES for metric in family.metrics}
"""The families by the name of each of their metrics."""


def of_benchmark(name: str) -> Family:
    """The family of a program. Raises KeyError for a name that no family has."""
    return BY_BENCHMARK[name]


def load(path: Path, family: Family) -> Any:
    """Read a record file as a record of `family`. Raises RecordError."""
    return family.view(load_record(path))


def validate(path: Path, record: Record | None = None) -> None:
    """Check a record file: every line against what its program says of it, and the record by its family's view.

    record: what `load_record` made of the file, where it was loaded already. Raises RecordError.
    """
    if record is None:
        record = load_valid_record(path)
    else:
        validate_lines(path)
    family = BY_NAME.get(record.family)
    if family is not None:
        family.view(record)


def read(run: Run, family: Family) -> Views[Any]:
    """The records of a family in a run, and a line about each record that cannot be read; made once per run."""
    return views_of(run, family.name, family.view)


def found(run: Run, family: Family) -> Found:
    """The records and the table of a family in a run, made once per run."""

    def make() -> Found:
        records = read(run, family).records
        return Found(run, records, _table(run, family) if records else _without_records(family.name).copy(deep=False))

    return run.once((found, family.name), make)


@cache
def _without_records(name: str) -> pd.DataFrame:
    """The table of a family in a run that has no record of it: most runs have a few families only."""
    return _table(Run(Path(), {}, (), ()), BY_NAME[name])


def _table(run: Run, family: Family) -> pd.DataFrame:
    """The table. Its texts are Python's: those of Arrow take twice as long where a table is cut into small parts. A run
    names its cases by their cores per rank; where those of a family have one number, nothing is named by it."""
    beside = (found(run, family.beside).table,) if family.beside is not None else ()
    table: pd.DataFrame = family.table(run, read(run, family).records, *beside)
    made: pd.DataFrame = table.astype(dict.fromkeys(table.select_dtypes("str").columns, object)).copy()
    if NAMED in made and made[NAMED].nunique() == 1:
        made[NAMED] = 0
    return made


def cells(run: Run, family: Family) -> tuple[list[Cell], list[Json]]:
    """The cells of the matrix of a family in a run, also of cases without a result; and those of these cases that have
    no cell, because another launch has one at their place."""
    of_table = found(run, family)
    cases = [
        case
        for case in cases_of(run.manifest)
        if case.get("benchmark") in family.benchmarks and case.get("result") in RESULTS and case.keys() >= ROW
    ]
    return with_cases([] if of_table.table.empty else family.cells(of_table), cases, family.name)


def problems(run: Run) -> tuple[str, ...]:
    """A line about each record that its family cannot read; `run.problems` has the other unreadable records."""
    return tuple(problem for family in FAMILIES for problem in read(run, family).problems)


def write_tables(run: Run) -> list[Path]:
    """Write the tables of a run into its folder as Parquet, each whole or not at all, and return their paths.

    Raises OSError.
    """
    written = []
    for family in FAMILIES:
        for file in family.files:
            results = found(run, family)
            table = results.table if file.table is None else file.table(results)
            if file.even_empty or not table.empty:
                written.append(write_table(table, run.path / file.name))
    return written


def look(
    palette: str = Look.palette, metrics: Iterable[str] = (), kinds: Iterable[str] = Look.kinds, *, dim: bool = False
) -> Look:
    """The `Look` with these settings. Raises ValueError, in one line with the legal values, for an unknown name."""
    asked = Look(palette, dim, tuple(metrics))
    check(
        "metric", asked.metrics, [name for family in FAMILIES for section in family.sections for name in section.drawn]
    )
    return replace(asked, kinds=tuple(kinds))
