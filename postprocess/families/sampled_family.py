"""Makes a `Family` whose points are sampled from what it does not share with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]

from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.matrix import Cell
from postprocess.families.axes import FamilyAxes
from postprocess.families.family import (
    BY_INTERVALS,
    STATE_OF_POINTS,
    Acceptance,
    Audit,
    Bound,
    Family,
    Found,
    Inside,
    Launches,
    Metric,
    Numbers,
    Page,
    Section,
    TableFile,
    doubt_about,
)
from postprocess.records.record import Record
from postprocess.records.run import failed_records
from postprocess.records.run_words import provenance_words
from postprocess.statistics.limits import LEAST_RATIO

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Compared:
    """Which rows of a family's table are compared between launches.

    columns: the columns of the table that the functions read.  rows: returns a truth value for each row.
    only: by the name of a metric that several rows repeat, which rows it is compared of, likewise.
    """

    columns: tuple[str, ...]
    rows: Callable[[pd.DataFrame], pd.Series[Any]]
    only: Mapping[str, Callable[[pd.DataFrame], pd.Series[Any]]] = field(default_factory=dict)

    def of_file(self, table: Any) -> Any:
        """The part of an archived table, of PyArrow, that is compared."""
        decisive = table.select(list(self.columns)).to_pandas()
        for name, having in self.only.items():
            values = table[name].to_pandas().where(having(decisive))
            table = table.set_column(table.column_names.index(name), name, pa.array(values))
        return table.filter(pa.array(self.rows(decisive)))

    def of_table(self, table: pd.DataFrame) -> pd.DataFrame:
        """The part of a table that is compared."""
        values = {name: table[name].where(having(table)) for name, having in self.only.items()}
        chosen: pd.DataFrame = table.assign(**values)[self.rows(table)]
        return chosen


def _launches(axes: FamilyAxes, metrics: Sequence[Metric], compared: Compared | None) -> Launches:
    """compared: None for all rows."""
    more = compared.columns if compared else ()
    own = (*(axis.name for axis in axes.every), *(metric.name for metric in metrics))
    names = dict.fromkeys((*own, *STATE_OF_POINTS, *more))
    return Launches(
        {f"{axes.family}.parquet": tuple(names)},
        of_files=lambda _run, tables: compared.of_file(tables[0]) if compared else tables[0],
        of_table=compared.of_table if compared else lambda table: table,
    )


def sections(family: str, title: str, order: int, section: CurveSection) -> tuple[Section, ...]:
    """The parts of the report of a family: a section with its pictures, a card of the first section, and a paragraph of
    "How to read this". They are those of section.html, card.html and reading.html that its folder `templates` has."""
    anchor, templates = family.replace("_", "-"), f"{family}/templates"

    def view(page: Page, found: Found) -> Any:
        shown = (found.table, page.links.get(family, ()), page.room.whole, found.records)
        return page.once(family, lambda: section.view(*shown))

    def pictures(page: Page, found: Found, folder: Path) -> Mapping[str, list[Path]]:
        from postprocess.drawing.curve_plot import write_charts  # noqa: PLC0415 - it takes a second to load

        drawn = write_charts(
            section.charts(found.table), folder, anchor, page.look.kinds, provenance_words(found.run, found.records)
        )
        return {family: drawn} if drawn else {}

    every = (
        Section(anchor, title, order, f"{templates}/section.html", view, pictures=pictures),
        Section(f"{anchor}-verdicts", title, order, f"{templates}/card.html", view, "found"),
        Section(f"{anchor}-reading", title, order, f"{templates}/reading.html", view, "reading"),
    )
    return tuple(one for one in every if (Path(__file__).parent / one.template).is_file())


def shown(words: Callable[[pd.DataFrame], str]) -> Callable[[Found], str]:
    """A text of a family's results that its table alone tells."""
    return lambda found: words(found.table)


def slower(*numbers: str) -> tuple[Bound, ...]:
    """Numbers that must not rise above their references by the least ratio that matters."""
    return tuple(Bound(name, absolute=False, margin=LEAST_RATIO) for name in numbers)


def sampled_family(
    axes: FamilyAxes,
    title: str,
    order: int,
    *,
    view: Callable[[Record], Any],
    table: Callable[[Sequence[Any], Mapping[str, tuple[str, str]]], pd.DataFrame],
    columns: tuple[str, ...],
    numbers: Callable[[Any], Mapping[str, float]],
    metrics: tuple[Metric, ...],
    text: Iterable[Callable[[Found], str]],
    cells: Callable[[pd.DataFrame], list[Cell]],
    section: CurveSection,
    inside: Inside,
    audit: Audit,
    papers: tuple[str, ...],
    bounds: tuple[Bound, ...] = (),
    heading: str = "",
    benchmarks: tuple[str, ...] = (),
    compared: Compared | None = None,
    files: tuple[TableFile, ...] = (),
    acceptance: Acceptance = BY_INTERVALS,
) -> Family:
    """A family whose table is archived under its name.

    section, heading: of its `sections`, the heading, if not the title.  order: their place.
    table: makes its table from its records and the run's `failed_records`.  files: its further tables.
    numbers: those of a record, which needs no `basic` beside it.
    text: the parts of its text, of which empty ones are left out.
    cells: those of its matrix, of its table.
    benchmarks: the names of its programs, if not its own name alone.  compared: None where all rows are.
    """

    def numbers_of(record: Any, _basic: Any) -> Numbers:
        values = numbers(record)
        return Numbers(values, doubt=doubt_about(values))

    def whole_text(found: Found) -> str:
        return "" if found.table.empty else "\n\n".join(filter(None, (part(found) for part in text)))

    return Family(
        name=axes.family,
        title=title,
        benchmarks=benchmarks or (axes.family,),
        papers=papers,
        view=view,
        table=lambda run, records: table(records, failed_records(run.manifest)),
        columns=columns,
        axes=axes.every,
        metrics=metrics,
        files=(TableFile(f"{axes.family}.parquet"), *files),
        launches=_launches(axes, metrics, compared),
        text=whole_text,
        cells=lambda found: cells(found.table),
        sections=sections(axes.family, heading or title[0].upper() + title[1:], order, section),
        inside=inside,
        audit=audit,
        numbers=numbers_of,
        bounds=bounds,
        acceptance=acceptance,
    )
