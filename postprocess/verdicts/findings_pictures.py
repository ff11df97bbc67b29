"""Counterparts of the papers' figures, drawn from what was measured here: maps, and charts of the families."""

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pandas as pd

from postprocess.drawing.look import Room
from postprocess.drawing.text import duration, ratio
from postprocess.families import registry, sampled_table
from postprocess.families.family import Page
from postprocess.records.run import Run
from postprocess.verdicts.acceptance import Criterion
from postprocess.verdicts.findings import Finding, Judged, rows_of
from postprocess.verdicts.verdict_page import Grid

ACROSS, UP = "comm_target_ns", "comp_target_ns"
"""The axes of the maps of Denis et al. 2022."""


def maps(found: Sequence[Judged], tables: Mapping[str, pd.DataFrame]) -> Iterator[Grid]:
    """For each finding about a figure with maps, a map of each library that was judged: the median over its launches at
    each point, and whether it is within the bounds that decide."""
    for one in found:
        criterion = one.finding.decides
        if criterion is None or not has_map(one.finding):
            continue
        for number, library in enumerate(one.of_libraries):
            rows = rows_of(tables[criterion.family.name], one.finding, library)
            place = anchor(one.finding) if number == 0 else ""
            yield _map(one.finding, criterion, library, _of_case(rows, criterion), place)


def has_map(finding: Finding) -> bool:
    """Whether a finding is about a figure with maps."""
    return finding.decides is not None and "figure" in finding.at and ACROSS in finding.decides.family.columns


def anchor(finding: Finding) -> str:
    """The id of the first map of a finding on the page."""
    return f"{finding.paper_key}-{finding.name}"


def _of_case(rows: pd.DataFrame, criterion: Criterion) -> pd.DataFrame:
    """The rows that a criterion is about, at all points of the map."""
    for name, values in criterion.where.items():
        if name in rows and name not in (ACROSS, UP):
            rows = rows[rows[name].isin(values)]
    return rows


def _map(finding: Finding, criterion: Criterion, library: str, rows: pd.DataFrame, place: str) -> Grid:
    columns = sorted(rows[ACROSS].unique())
    cells = {place: _cell(of, criterion) for place, of in rows.groupby([ACROSS, UP])}
    lines = [
        (duration(up), [cells.get((across, up), ("", "", "")) for across in columns])
        for up in sorted(rows[UP].unique(), reverse=True)
    ]
    return Grid(
        f"{finding.at}: {finding.claim} {library}: {criterion.words}", list(map(duration, columns)), lines, "-", place
    )


def _cell(rows: pd.DataFrame, criterion: Criterion) -> tuple[str, str, str]:
    """Of a point: its CSS class, its value and a title."""
    sound = rows[sampled_table.sound(rows)]
    counting = rows if sound.empty else sound
    value = float(counting[criterion.metric].median())
    low, high = criterion.bounds
    css = "unknown" if sound.empty else "good" if low <= value <= high else "bad"
    return css, ratio(value), f"{len(sound)} of {len(rows)} sound"


def charts(found: Sequence[Judged], runs: Sequence[Run]) -> Iterator[SimpleNamespace]:
    """The charts of the families that have the same curves as figures of the papers of these findings."""
    papers = {one.finding.paper_key for one in found}
    for run in runs:
        for family in registry.FAMILIES:
            for section in family.sections:
                view: Any = section.view(Page(run, room=Room(rows=1)), registry.found(run, family))
                for chart in getattr(view, "charts", ()):
                    if any(_is_of(chart.figures, paper) for paper in papers):
                        yield chart


def _is_of(figures: str, paper_key: str) -> bool:
    """Whether a chart's words about figures, such as `figure 15 of Zhou et al. 2020`, name a paper."""
    return paper_key[:-4] in figures.lower() and paper_key[-4:] in figures
