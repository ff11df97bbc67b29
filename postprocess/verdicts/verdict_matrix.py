"""The first picture of a comparison and of a history: for each metric a cell for every case, which sums up its points.

Rows are libraries and configurations, columns what was measured, as in the matrix of a run.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from postprocess.drawing.matrix import CANNOT_TELL, CONFIGURATIONS, UNKNOWN, Cell, Row, State, Word
from postprocess.drawing.matrix_view import MatrixView, matrix_view
from postprocess.drawing.text import capitalised, without_common
from postprocess.families.family import Metric
from postprocess.statistics.newest import BEFORE
from postprocess.verdicts.compare import FASTER, METRICS, SAME, SLIGHT, SLOWER, Comparison, group_columns
from postprocess.verdicts.compare import UNKNOWN as UNDECIDED
from postprocess.verdicts.compare_text import effect_words, names_of
from postprocess.verdicts.history import Change, Series
from postprocess.verdicts.launches import numbered
from postprocess.verdicts.tallies import Tally, tally

WORDS = {
    SLOWER: Word("slower", "bad", "is slower", "are slower"),
    FASTER: Word("faster", "good", "is faster", "are faster"),
    SAME: Word("the same", "even", "is the same", "are the same"),
    SLIGHT: Word(SLIGHT, "even", f"is {SLIGHT}", f"are {SLIGHT}"),
}
IN_PARTS = {
    SLOWER: Word("slower in parts", "bad", "is slower in parts", "are slower in parts"),
    FASTER: Word("faster in parts", "good", "is faster in parts", "are faster in parts"),
}
"""Where no more points differ than are the same."""
MIXED = Word("mixed", "even", "is slower in parts, faster in others", "are slower in parts, faster in others")
RINGS, BETTER = "ALARM", "better"
"""The states of a change that somebody should look at, and of one for the better."""
_SINCE: Mapping[str, tuple[str, State]] = {
    RINGS: ("slower since {}", "bad"),
    "acknowledged": ("slower since {}, acknowledged", "even"),
    BETTER: ("faster since {}", "good"),
}
"""The word of a cell and its colour, by the state of its changes, the one that matters most first."""
AS_BEFORE = Word("as before", "even", "is as before", "are as before")
TOO_FEW = Word("too few nights", "unknown", "has too few nights", "have too few nights")


def cells_of(comparison: Comparison, sides: Sequence[str]) -> list[tuple[str, list[Cell]]]:
    """The title and the cells of each metric that was compared.  sides: A and B in words; a cell is about B."""
    there = set(comparison.rows["metric"])
    return [
        (capitalised(metric.title), _of_metric(comparison.rows[comparison.rows["metric"] == name], metric, sides[1]))
        for name, metric in METRICS.items()
        if name in there
    ]


def of_comparison(comparison: Comparison, sides: Sequence[str]) -> list[MatrixView]:
    """The matrix of each metric that was compared."""
    return [matrix_view(title, "", cells) for title, cells in cells_of(comparison, sides)]


def of_history(changes: Sequence[tuple[Change, str, str, str]], series: Iterable[Series]) -> list[MatrixView]:
    """A matrix for each metric of which a change stands.  changes: (change, its state, last run, what explains it)."""
    by_series: dict[tuple[str, ...], list[tuple[Change, str, str]]] = defaultdict(list)
    for change, state, _, explained in changes:
        by_series[change.key].append((change, state, explained))
    found: dict[str, dict[tuple[Row, str], list[Series]]] = defaultdict(lambda: defaultdict(list))
    for one in series:
        found[one.metric][_place(one.case, "")].append(one)
    return [
        matrix_view(
            capitalised(metric.title),
            "",
            _shortened([_since(place, its, by_series, metric) for place, its in found[name].items()]),
        )
        for name, metric in METRICS.items()
        if any(state in (RINGS, BETTER) for one in _all(found[name]) for _, state, _ in by_series[one.key])
    ]


def _all(by_place: Mapping[tuple[Row, str], Sequence[Series]]) -> list[Series]:
    return [one for its in by_place.values() for one in its]


def _place(case: Mapping[Any, Any], side: str) -> tuple[Row, str]:
    """The row and the column of a case.  side: what a cell is about, where cases differ in their libraries."""
    toolchain, network, configuration, what = names_of(dict(case))
    first, comma, rest = configuration.partition(",")
    return Row(toolchain or side, network, f"{CONFIGURATIONS.get(first, first)}{comma}{rest}"), what


def _of_metric(rows: pd.DataFrame, metric: Metric, side: str) -> list[Cell]:
    """The cells of the comparisons of one metric."""
    number, groups = numbered(rows, [*group_columns(rows), "placement"])
    parts = (part for _, part in rows.groupby(number, sort=True))
    cases = zip(groups.to_dict("records"), parts, strict=True)
    return _shortened([_compared(_place(case, side), part, metric) for case, part in cases])


def _shortened(cells: Sequence[Cell]) -> list[Cell]:
    """The cells, whose rows leave out what is said of all of them; that is a note on each, which is shown once."""
    left, common = without_common([cell.row.configuration for cell in cells])
    return [
        replace(cell, row=cell.row._replace(configuration=words), notes=(*cell.notes, *[common] * bool(common)))
        for cell, words in zip(cells, left, strict=True)
    ]


def _compared(place: tuple[Row, str], rows: pd.DataFrame, metric: Metric) -> Cell:
    found = tally(rows)
    unknown = rows[rows["verdict"] == UNDECIDED]["reason"]
    return Cell(
        *place,
        _word(found),
        (found.effect, found.low, found.high),
        counted=found.decided,
        points=found.total,
        words=partial(effect_words, metric.name),
        par=_par(metric),
        measure=f"{metric.title} against the other side, in the median of all points",
        why=str(unknown.mode()[0] or "launches differ too much") if len(unknown) else "",
    )


def _word(found: Tally) -> Word:
    if not found.decided:
        return CANNOT_TELL
    if found.worse and found.better:
        return MIXED
    differs = SLOWER if found.worse else FASTER
    if not found.worse + found.better:
        return WORDS[SLIGHT if found.slight else SAME]
    return WORDS[differs] if found.worse + found.better > found.same else IN_PARTS[differs]


def _since(
    place: tuple[Row, str],
    series: Sequence[Series],
    changes: Mapping[tuple[str, ...], Sequence[tuple[Change, str, str]]],
    metric: Metric,
) -> Cell:
    """Whether a case is slower than before, and since when: of the series with the largest change."""
    every = [told for one in series for told in changes[one.key]]
    state = next((state for state in _SINCE if any(told[1] == state for told in every)), "")
    chosen = [told for told in every if told[1] == state]
    largest = max(chosen, key=lambda told: told[0].size, default=None)
    change = largest[0] if largest else None
    is_known = any(len(one.runs) > BEFORE for one in series)
    word = _since_word(state, change.run) if change else AS_BEFORE if is_known else TOO_FEW
    return Cell(
        *place,
        word,
        (change.effect, change.low, change.high) if change else UNKNOWN,
        counted=len(chosen),
        points=len(series),
        words=partial(effect_words, metric.name),
        par=_par(metric),
        measure=f"{metric.title}: the largest change that stands",
        notes=(f"{word.text}: {largest[2] or 'nothing else changed'}",) if largest else (),
    )


def _since_word(state: str, run: str) -> Word:
    text, colour = _SINCE[state]
    does = text.format(f"{run[:4]}-{run[4:6]}-{run[6:8]}")
    return Word(does, colour, f"is {does}", f"are {does}")


def _par(metric: Metric) -> float:
    return 1.0 if metric.ratio else 0.0
