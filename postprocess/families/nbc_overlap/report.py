"""The sections of the report about overlap: cards, maps, curves, the table of all points, and how to read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from postprocess.drawing.colour import FADED, SCALES
from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import percent
from postprocess.families.family import Found, Page
from postprocess.families.nbc_overlap import validity
from postprocess.families.nbc_overlap.charts import charts
from postprocess.families.nbc_overlap.map_plot import write_maps
from postprocess.families.nbc_overlap.maps import METRICS, legend, panels_of, sweeps_of
from postprocess.families.nbc_overlap.report_points import (
    Filters,
    Pages,
    PanelView,
    glance_of,
    gradients,
    level_class,
    level_classes,
    level_styles,
    pages_of,
    panel_views,
    row_filters,
    table_of,
    tick_places,
    views_of,
)
from postprocess.families.nbc_overlap.summary import OVERLAPS, PARTLY, SERIALISES, SLOWER, Summary, summarise
from postprocess.records.run import cases_of

_VERDICT_RATIOS = {OVERLAPS: 0.0, PARTLY: 0.5, SERIALISES: 1.0, SLOWER: 1.6}


@dataclass(frozen=True)
class Cards:
    """The verdict of every case, by library, network and configuration."""

    verdicts: Mapping[str, Sequence[Summary]]
    verdict_class: Callable[[str], str]


@dataclass(frozen=True)
class Maps:
    """The section with the maps.

    scales: the words of the ticks, by scale.  groups: panels by library and network, then by collective.
    """

    views: Mapping[str, str]
    filters: Filters
    scales: Mapping[str, Sequence[str]]
    legend: Sequence[tuple[str, str]]
    overview: Sequence[str]
    glance: tuple[list[tuple[str, str]], dict[str, list[PanelView | None]]]
    pages: Mapping[str, Pages]
    groups: Mapping[str, Mapping[str, Sequence[PanelView]]]


@dataclass(frozen=True)
class Points:
    """The table of all points.

    rows: the rows of the first page, each with its filters.  all_rows: the rows of all pages.
    """

    pages: Mapping[str, Pages]
    heads: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, Sequence[str]]]
    all_rows: Sequence[tuple[str, Sequence[str]]]
    has_table: bool


@dataclass(frozen=True)
class Reading:
    """The limits that the paragraph on how to read maps and points quotes."""

    validity: Any
    percent: Callable[[float], str]


@dataclass(frozen=True)
class _Shown:
    """The two sections that link to each other: a cell of a map leads to its row of the table."""

    maps: Maps
    points: Points


def _shown(page: Page, found: Found) -> _Shown:
    return page.once("overlap", lambda: _made(page, found.table))


def _made(page: Page, points: pd.DataFrame) -> _Shown:
    run = page.run
    rows = [{str(k): v for k, v in row.items()} for row in points.to_dict("records")]
    numbers = {(row["record"], row["index"]): number for number, row in enumerate(rows, start=1)}
    sweeps = sweeps_of(run, points)
    panels = panels_of(sweeps, cases_of(run.manifest))
    filters = Filters(panels)
    groups = panel_views(panels, filters, numbers, page.links)
    heads, cells = table_of(rows)
    table = [(row_filters(filters, row), texts) for row, texts in zip(rows, cells, strict=True)]
    pages = pages_of(groups, len(table), page.room)
    maps = Maps(
        views=views_of(sweeps),
        filters=filters,
        scales={name: list(SCALES[name].ticks.values()) for name in dict.fromkeys(m.scale for m in METRICS.values())},
        legend=legend(sweeps, faded=True),
        overview=page.links.get("overview", ()),
        glance=glance_of(groups),
        pages=pages,
        groups=groups,
    )
    has_table = (run.path / "points.parquet").is_file()
    return _Shown(maps, Points(pages, heads, table[: pages["points"].size], table, has_table))


def cards(_page: Page, found: Found) -> Cards | None:
    """The verdicts of all cases; None if there are no points."""
    verdicts: dict[str, list[Summary]] = {}
    for summary in summarise(found.table):
        verdicts.setdefault(summary.name, []).append(summary)
    return Cards(verdicts, verdict_class) if verdicts else None


def maps(page: Page, found: Found) -> Maps | None:
    """The maps; None if the run has no panel."""
    shown = _shown(page, found).maps
    return shown if shown.groups else None


def curves(page: Page, found: Found) -> Any:
    """The curves; None if there are none."""
    view = CurveSection(charts, lambda _points, _most_rows: {}).view(found.table, page.links.get("charts", ()), 0)
    return view if view is not None and view.charts else None


def all_points(page: Page, found: Found) -> Points | None:
    """The table of all points; None where there are no maps."""
    return _shown(page, found).points if maps(page, found) else None


def reading(page: Page, found: Found) -> Reading | None:
    """The limits for "How to read this"; None where there are no maps."""
    return Reading(validity, percent) if maps(page, found) else None


def style(page: Page, found: Found) -> dict[str, Any]:
    """The variables of the style sheet: the colours of the levels that are used, of and of the scales."""
    shown = _shown(page, found).maps
    chips = {verdict_class(verdict) for verdict in _VERDICT_RATIOS}
    return {
        "palettes": level_styles({*level_classes(shown.groups), *chips}),
        "gradients": gradients(),
        "ticks": tick_places(),
        "views": shown.views,
        "faded": round(100 * FADED),
    }


def rest(page: Page, found: Found) -> dict[str, Any]:
    """The maps and rows of the pages after the first one."""
    shown = _shown(page, found)
    pages = shown.maps.pages
    drawn = {p.number: p.maps for same in shown.maps.groups.values() for panels in same.values() for p in panels}
    return {
        "maps": {number: views for number, views in drawn.items() if number > pages["maps"].size},
        "rows": shown.points.all_rows[pages["points"].size :],
    }


def pictures(page: Page, found: Found, folder: Path) -> dict[str, list[Path]]:
    """Draw maps and curves into `folder`, and return their paths as `write_maps` does."""
    return write_maps(page.run, found.table, folder, page.look)


def verdict_class(verdict: str) -> str:
    """The class of a verdict's colour."""
    return level_class(METRICS["r_overhead"], _VERDICT_RATIOS.get(verdict, math.nan))
