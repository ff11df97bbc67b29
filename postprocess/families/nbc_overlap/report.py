"""The sections of the report about overlap: cards, maps, curves, the table of all points, and how to read them."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from postprocess.drawing.colour import FADED, SCALES, level_class, tick_classes
from postprocess.drawing.columns import rows_of
from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.page import Filters
from postprocess.drawing.text import percent
from postprocess.families.family import Found, Page
from postprocess.families.nbc_overlap import validity
from postprocess.families.nbc_overlap.cells import tiles_of
from postprocess.families.nbc_overlap.charts import charts
from postprocess.families.nbc_overlap.maps import METRICS, legend, panels_of, sweeps_of
from postprocess.families.nbc_overlap.report_points import (
    every_panel,
    gradients,
    level_classes,
    level_styles,
    pages_of,
    panel_views,
    row_filters,
    table_of,
    tick_places,
    views_of,
)
from postprocess.families.nbc_overlap.summary import OVERLAPS, PARTLY, SERIALISES, SLOWER, Summary, summaries_of
from postprocess.records.run import cases_of

_VERDICT_RATIOS = {OVERLAPS: 0.0, PARTLY: 0.5, SERIALISES: 1.0, SLOWER: 1.6}


def _shown(page: Page, found: Found) -> SimpleNamespace:
    """What the maps and the table of all points show. They link to each other: a cell leads to its row of the table.

    maps: `scales` has the words of the ticks, by scale.  points: `rows` has the rows of the first page, each with its
    filters, and `all_rows` those of all pages.
    """
    return page.once("overlap", lambda: _made(page, found.table))


def _made(page: Page, points: pd.DataFrame) -> SimpleNamespace:
    run = page.run
    rows = rows_of(points)
    numbers = {(row["record"], row["index"]): number for number, row in enumerate(rows, start=1)}
    sweeps = sweeps_of(run, points)
    filters = Filters("library", "configuration", "collective")
    groups = panel_views(panels_of(sweeps, cases_of(run.manifest)), filters, numbers, page.links)
    heads, cells = table_of(rows)
    table = [(row_filters(filters, row), texts) for row, texts in zip(rows, cells, strict=True)]
    pages = pages_of(groups, len(table), page.room)
    maps = SimpleNamespace(
        views=views_of(sweeps),
        filters=filters,
        scales={name: list(SCALES[name].ticks.values()) for name in dict.fromkeys(m.scale for m in METRICS.values())},
        legend=legend(sweeps, faded=True),
        overview=page.links.get("overview", ()),
        pages=pages,
        groups=groups,
    )
    has_table = (run.path / "points.parquet").is_file()
    first_page = table[: pages["points"].size]
    return SimpleNamespace(
        maps=maps,
        points=SimpleNamespace(pages=pages, heads=heads, rows=first_page, all_rows=table, has_table=has_table),
    )


def cards(_page: Page, found: Found) -> dict[str, Any] | None:
    """The verdicts of all cases, by library, network and configuration; None if there are no points."""
    verdicts: dict[str, list[Summary]] = {}
    for summary in summaries_of(found):
        verdicts.setdefault(summary.name, []).append(summary)
    return {"verdicts": verdicts, "verdict_class": verdict_class} if verdicts else None


def maps(page: Page, found: Found) -> SimpleNamespace | None:
    """The maps; None if the run has no panel."""
    shown = _shown(page, found).maps
    return shown if shown.groups else None


def curves(page: Page, found: Found) -> Any:
    """The curves; None if there are none."""
    view = CurveSection(charts, lambda _points, _most_rows: {}).view(found.table, page.links.get("charts", ()), 0)
    return view if view is not None and view.charts else None


def all_points(page: Page, found: Found) -> SimpleNamespace | None:
    """The table of all points; None where there are no maps."""
    return _shown(page, found).points if maps(page, found) else None


def reading(page: Page, found: Found) -> dict[str, Any] | None:
    """The limits for "How to read this"; None where there are no maps."""
    return {"validity": validity, "percent": percent} if maps(page, found) else None


def style(page: Page, found: Found) -> dict[str, Any]:
    """The variables of the style sheet: the colours of the levels that are used, of and of the scales."""
    shown = _shown(page, found).maps
    chips = {verdict_class(verdict) for verdict in _VERDICT_RATIOS}
    tiles = {tile.css for one in summaries_of(found) for line in tiles_of(one) for tile in line}
    ticks = tick_classes(METRICS["r_overhead"].scale)
    return {
        "palettes": level_styles({*level_classes(shown.groups), *chips, *tiles, *ticks}),
        "gradients": gradients(),
        "ticks": tick_places(),
        "views": shown.views,
        "faded": round(100 * FADED),
    }


def rest(page: Page, found: Found) -> dict[str, Any]:
    """The maps and rows of the pages after the first one."""
    shown = _shown(page, found)
    pages = shown.maps.pages
    drawn = {panel.number: panel.maps for panel in every_panel(shown.maps.groups)}
    return {
        "maps": {number: views for number, views in drawn.items() if number > pages["maps"].size},
        "rows": shown.points.all_rows[pages["points"].size :],
    }


def pictures(page: Page, found: Found, folder: Path) -> dict[str, list[Path]]:
    """Draw maps and curves into `folder`, and return their paths as `write_maps` does."""
    from postprocess.families.nbc_overlap.map_plot import write_maps  # noqa: PLC0415 - it takes a second to load

    return write_maps(page.run, found.table, folder, page.look)


def verdict_class(verdict: str) -> str:
    """The class of a verdict's colour."""
    return level_class(METRICS["r_overhead"].scale, _VERDICT_RATIOS.get(verdict, math.nan))
