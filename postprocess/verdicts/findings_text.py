"""Findings of papers in words: for the terminal, for the end of a run, and as a page."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import SimpleNamespace

from postprocess.drawing.matrix import wrapped
from postprocess.drawing.text import clean, plural
from postprocess.families import papers
from postprocess.verdicts.acceptance import FAIL, NOT_TESTED, PASS, Result
from postprocess.verdicts.findings import (
    CANNOT_TELL,
    DEPENDS,
    DOES_NOT_HOLD,
    HOLDS,
    IMPLEMENTED,
    MEASURE_IT,
    MEASURED,
    NOT_MEASURABLE,
    NOT_MEASURED,
    VERDICTS,
    Judged,
)
from postprocess.verdicts.findings_pictures import anchor, has_map
from postprocess.verdicts.verdict_page import Grid, Row, View, measured_words

_INDENT = " " * (max(map(len, VERDICTS)) + 4)
_OF_LIBRARY = {PASS: HOLDS, FAIL: DOES_NOT_HOLD, NOT_TESTED: CANNOT_TELL}
_OF_SEVERAL = {
    HOLDS: "hold",
    DOES_NOT_HOLD: "do not hold",
    DEPENDS: "depend on the library",
    CANNOT_TELL: "cannot be told",
}
"""The words of a verdict after a number."""
MORE = "./campaign findings RUN... --commands"


def lines(found: Sequence[Judged], width: int, *, every: bool, why: bool) -> list[str]:
    """A paragraph for each finding, below the paper that it is of.  every: also of findings that were not measured.
    why: with what decides it, and why it cannot be told."""
    told = []
    for key, of_paper in groupby(found, key=lambda one: one.finding.paper_key):
        its = list(of_paper)
        shown = [one for one in its if every or one.verdict in MEASURED]
        told += ["", *wrapped([cited(key)], width), *wrapped([_counted(its)], width)]
        told += [line for one in shown for line in _paragraph(one, width, why=why)]
    return [*told[1:], "", *wrapped([summary(found)], width)]


def cited(key: str) -> str:
    """A paper as the report cites it.  key: the name of its file of findings."""
    return str(getattr(papers, f"{key[:-4]}_{key[-4:]}".upper()))


def _counted(found: Sequence[Judged]) -> str:
    return f"{plural(len(found), 'finding')}: {_words(found, VERDICTS)}"


def _words(found: Sequence[Judged], verdicts: Sequence[str]) -> str:
    """How many findings have each of these verdicts."""
    counts = {verdict: sum(one.verdict == verdict for one in found) for verdict in verdicts}
    return ", ".join(
        f"{count} {verdict if count == 1 else _OF_SEVERAL.get(verdict, verdict)}"
        for verdict, count in counts.items()
        if count
    )


def _paragraph(one: Judged, width: int, *, why: bool) -> Iterator[str]:
    said = [f"{one.finding.at}: {one.finding.claim}"]
    paper = f"paper: {one.finding.paper}" if one.finding.paper else ""
    if why:
        said += [paper, f"here: {one.finding.decides.words}" if one.of_libraries and one.finding.decides else ""]
        said += [f"  {of_library(name, result)}{_evidence(result)}" for name, result in one.of_libraries.items()]
        said += [one.why]
    else:
        here = "; ".join(of_library(name, result) for name, result in one.of_libraries.items())
        said += [" ".join(filter(None, [paper, f"here: {here}" if here else one.why]))]
    first, *others = (line for text in said if text for line in wrapped([clean(text)], max(width - len(_INDENT), 40)))
    yield f"  {one.verdict}".ljust(len(_INDENT)) + first
    yield from (_INDENT + line for line in others)


def of_library(name: str, result: Result) -> str:
    """What a library was found to do."""
    return f"{' '.join(filter(None, [name, *measured_words(result)]))} {_OF_LIBRARY[result.verdict]}"


def _evidence(result: Result) -> str:
    """Why nothing can be told; empty where something is."""
    return f": {'; '.join(result.evidence)}" if result.verdict == NOT_TESTED else ""


def markdown(found: Sequence[Judged], command: str, where: Sequence[str]) -> Iterator[tuple[str, str]]:
    """For each paper the name of its file of findings, and its page in Markdown: what was decided, those first that do
    not hold; then what was not measured.

    command: what writes the pages.  where: where the runs were made, a line for each.
    """
    for key, of_paper in groupby(found, key=lambda one: one.finding.paper_key):
        its = list(of_paper)
        lines = [f"# {cited(key)}", "", f"Written by `{command}`.", "", *(f"- {line}" for line in where), ""]
        lines += [f"{_counted(its)}. Numbers are 95 % intervals, over all libraries that are named.", ""]
        lines += _markdown_table(its)
        for verdict in (NOT_MEASURED, NOT_MEASURABLE):
            reasons: dict[str, list[str]] = {}
            for one in its:
                if one.verdict == verdict:
                    reasons.setdefault(_cell(one.why.removeprefix(MEASURE_IT)), []).append(one.finding.at)
            if reasons:
                lines += ["", f"## {verdict.capitalize()}", ""]
                lines += [f"- {'; '.join(dict.fromkeys(ats))}: {why}" for why, ats in reasons.items()]
        yield key, "\n".join(lines) + "\n"


def _markdown_table(found: Sequence[Judged]) -> Iterator[str]:
    yield from ("| verdict | at | claim | in the paper | here |", "| --- | --- | --- | --- | --- |")
    for one in _ranked(found):
        if one.verdict in MEASURED and one.verdict != CANNOT_TELL:
            told = {name: result for name, result in one.of_libraries.items() if result.verdict != NOT_TESTED}
            here = _here(replace(one, of_libraries=told)) if one.verdict == DEPENDS else _together(one, told)
            cells = (one.verdict, one.finding.at, one.finding.claim, one.finding.paper, "<br>".join(here))
            yield f"| {' | '.join(map(_cell, cells))} |"


def _together(one: Judged, told: Mapping[str, Result]) -> Iterator[str]:
    """What was measured with libraries that agree, in a line: from the least lower end of an interval to the largest
    upper end."""
    assert one.finding.decides is not None
    yield f"{one.finding.decides.asked}:"
    ends = [end for one in told.values() for end in (one.low, one.value, one.high) if not math.isnan(end)]
    yield f"{min(ends):.3g} to {max(ends):.3g}, {', '.join(told)}"


def _here(one: Judged, *, points: bool = False) -> Iterator[str]:
    """What was measured, a line for each library, below what it must be.  points: with how many points decided."""
    assert one.finding.decides is not None
    yield f"{one.finding.decides.asked}:"
    for name, result in one.of_libraries.items():
        own = _OF_LIBRARY[result.verdict]
        told = [name, *measured_words(result), f"({own})" * (own != one.verdict)]
        yield " ".join(filter(None, [*told, f"({result.evidence[0]})" if points and result.evidence else ""]))


def _cell(text: str) -> str:
    """A text as it may stand in a cell of a table."""
    return clean(text).replace("|", "\\|")


def summary(found: Sequence[Judged]) -> str:
    """How many findings were measured, and what came of them; what else could be measured."""
    decidable = sum(one.verdict != IMPLEMENTED for one in found)
    measured = sum(one.verdict in MEASURED for one in found)
    words, lacking = _words(found, MEASURED), sum(one.verdict == NOT_MEASURED for one in found)
    more = f"; {lacking} more can be measured here ({MORE})" if lacking else ""
    papers_words = plural(len({one.finding.paper_key for one in found}), "paper")
    return f"{measured} of {decidable} findings of {papers_words} measured" + (f": {words}{more}" if words else more)


def commands(found: Sequence[Judged]) -> list[str]:
    """The commands that measure what was not measured and can be here, each once, with the number of its findings."""
    asked = Counter(one.finding.command for one in found if one.verdict == NOT_MEASURED)
    return [f"{command}  # {plural(count, 'finding')}" for command, count in asked.items()]


HEADS = ("verdict", "at", "claim", "in the paper", "here")
"""Of the columns of `rows`."""


def rows(found: Sequence[Judged], *, linked: bool = False) -> list[Row]:
    """A row for each finding: those first that do not hold.  linked: to its map, on a page that has it."""
    return [
        Row(
            one.verdict,
            [
                f"{one.finding.paper_key}, {one.finding.at}",
                one.finding.claim,
                one.finding.paper,
                _in_a_line(one) if one.of_libraries else one.why,
            ],
            "-",
            link=f"#{anchor(one.finding)}" if linked and one.of_libraries and has_map(one.finding) else "",
        )
        for one in _ranked(found)
    ]


def _in_a_line(one: Judged) -> str:
    asked, *libraries = _here(one, points=True)
    return f"{asked} {' · '.join(libraries)}"


def _ranked(found: Sequence[Judged]) -> list[Judged]:
    """Findings in the order in which a reader wants to know of them."""
    order = (DOES_NOT_HOLD, DEPENDS, HOLDS, CANNOT_TELL, NOT_MEASURED, NOT_MEASURABLE, IMPLEMENTED)
    return sorted(found, key=lambda one: order.index(one.verdict))


def view(
    found: Sequence[Judged], runs: str, grids: Sequence[Grid] = (), charts: Sequence[SimpleNamespace] = ()
) -> View:
    """The page of findings.  grids, charts: the counterparts of figures (`findings_pictures`)."""
    return View(
        title="What the papers found, here",
        subtitle=f"runs {runs}",
        answer=summary(found),
        table_title="Findings",
        heads=HEADS,
        rows=rows(found, linked=bool(grids)),
        nothing="No findings.",
        remarks=[f"{key}: {_counted(list(its))}" for key, its in groupby(found, lambda one: one.finding.paper_key)],
        grids=grids,
        grids_key="Blue and bold: as the paper found; red and bold: not; dashed: not sound. The time of the "
        "communication grows to the right, that of the computation upwards.",
        charts=charts,
        rows_first=True,
    )
