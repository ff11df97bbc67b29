"""Findings of papers on machines whose truth is planted: each holds, fails, or is open for the right reason."""

import itertools
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from postprocess.families.sampled_table import names_of_estimates
from postprocess.records.header import SIMULATED
from postprocess.records.run import load_run
from postprocess.verdicts import findings, findings_pictures, findings_text
from postprocess.verdicts.acceptance import Criterion
from postprocess.verdicts.findings import (
    CANNOT_TELL,
    DEPENDS,
    DOES_NOT_HOLD,
    HOLDS,
    IMPLEMENTED,
    MEASURE_IT,
    NOT_MEASURABLE,
    NOT_MEASURED,
    Finding,
    FindingsError,
    Judged,
    Machine,
)
from postprocess.verdicts.verdict_page import render
from tests.support import example

EVERY = findings.read_all()
DECIDED = [one for one in EVERY if one.decides is not None]
LARGE = Machine(cores=1024, nodes=1024)
LIBRARY = "openmpi@5.0.11"


def named(one: Finding) -> str:
    return f"{one.paper_key}-{one.name}"


def planted(one: Criterion, *, meets: bool, library: str = LIBRARY, network: str = "shm") -> pd.DataFrame:
    """Points of all that a criterion asks for, that meet it or clearly do not."""
    low, high = one.bounds
    inside = (low + high) / 2 if np.isfinite([low, high]).all() else low + 1 if np.isfinite(low) else high - 1
    beyond = high + 1 if np.isfinite(high) else low - 1
    value = inside if meets else beyond
    rows: list[dict[str, Any]] = []
    for values in itertools.product(*one.where.values()):
        row: dict[str, Any] = dict.fromkeys(one.family.columns, "")
        row |= dict.fromkeys((axis.name for axis in one.family.axes if axis.kind != "text"), 1_000_000)
        row |= dict.fromkeys(names_of_estimates([one.metric]), value) | {one.metric: value}
        row |= {"toolchain": library, "valid": True, "unreliable_reasons": [], "complete": True}
        row |= {"oversubscribed": False, "shared_core": False, "network": network} | dict(
            zip(one.where, values, strict=True)
        )
        if one.points == "diagonal":
            row["comp_target_ns"] = row["comm_target_ns"]
        rows.append({name: of for name, of in row.items() if name in {*one.family.columns, *one.where}})
    table: pd.DataFrame = pd.DataFrame(rows)
    if one.over is not None:  # what it is divided by is 1
        names = [one.over.metric, *names_of_estimates([one.over.metric])]
        if one.over.where == one.where:
            table = table.assign(**dict.fromkeys((name for name in names if name in one.family.columns), 1.0))
        else:
            others = table.assign(**{name: values[0] for name, values in one.over.where.items()})
            others = others.assign(**dict.fromkeys((name for name in names if name in table), 1.0))
            table = pd.concat([table, others], ignore_index=True)
    return table


def verdict(one: Finding, *tables: tuple[Criterion, pd.DataFrame], machine: Machine = LARGE) -> Judged:
    by_family: dict[str, list[pd.DataFrame]] = {}
    for criterion, table in tables:
        by_family.setdefault(criterion.family.name, []).append(table)
    joined = {name: pd.concat(parts, ignore_index=True) for name, parts in by_family.items()}
    (found,) = findings.judged([one], joined, machine)
    return found


def place_of(one: Finding) -> dict[str, str]:
    """A library and a network that a finding is about."""
    library = f"{one.libraries[0]}@1" if one.libraries else LIBRARY
    return {"library": library, "network": f"{one.networks[0]}:2gbit" if one.networks else "shm"}


@pytest.mark.parametrize("one", DECIDED, ids=named)
def test_each_holds_where_it_is_planted_and_not_where_the_contrary_is(one: Finding) -> None:
    assert one.decides is not None
    alone, of = replace(one, control=None), place_of(one)
    for meets, told in ((True, HOLDS), (False, DOES_NOT_HOLD)):
        found = verdict(alone, (one.decides, planted(one.decides, meets=meets, **of)))
        assert found.verdict == told, found.of_libraries
    assert verdict(alone).verdict == NOT_MEASURED
    assert one.measure in verdict(alone).why


@pytest.mark.parametrize("one", [one for one in DECIDED if one.control is not None], ids=named)
def test_a_finding_whose_control_comes_out_the_same_way_is_none(one: Finding) -> None:
    assert one.decides is not None and one.control is not None
    of = place_of(one)
    own, control = one.decides, one.control
    for meets, told in ((True, HOLDS), (False, CANNOT_TELL)):
        mine = planted(own, meets=True, **of)
        others = planted(control, meets=meets, **of)
        if own.family is control.family and own.metric != control.metric:
            mine = mine.assign(**values_of(others, control.metric))
            others = others.assign(**values_of(mine, own.metric))
        found = verdict(one, (own, mine), (control, others))
        assert found.verdict == told, found.of_libraries


def values_of(rows: pd.DataFrame, metric: str) -> dict[str, Any]:
    """The value of a metric, with its ends."""
    return {name: rows.iloc[0][name] for name in (metric, *names_of_estimates([metric])) if name in rows}


def test_libraries_are_judged_one_by_one() -> None:
    one = replace(DECIDED[0], control=None, libraries=())
    assert one.decides is not None
    tables = [(one.decides, planted(one.decides, meets=meets, library=f"{meets}@1")) for meets in (True, False)]
    found = verdict(one, *tables)
    assert (found.verdict, set(found.of_libraries)) == (DEPENDS, {"True@1", "False@1"})
    assert verdict(replace(one, libraries=("True",)), *tables).verdict == HOLDS


def test_what_was_simulated_does_not_count() -> None:
    one = replace(DECIDED[0], control=None, networks=())
    assert one.decides is not None
    simulated = planted(one.decides, meets=True).assign(network=SIMULATED)
    assert verdict(one, (one.decides, simulated)).verdict == NOT_MEASURED


def test_what_a_machine_lacks_is_named() -> None:
    one = replace(DECIDED[0], needs={"cores_per_rank": 2, "nodes": 2})
    found = verdict(one, machine=Machine(cores=1, nodes=1))
    assert found.verdict == NOT_MEASURABLE
    assert "2 nodes, there are 1" in found.why and "2 cores in a node, there are 1" in found.why
    assert verdict(one, machine=Machine(cores=2, nodes=2)).verdict == NOT_MEASURED


def test_an_interval_that_holds_the_bound_tells_nothing() -> None:
    one = replace(DECIDED[0], control=None)
    assert one.decides is not None
    wide = planted(one.decides, meets=True).assign(
        **{f"{one.decides.metric}_ci95_low": -np.inf, f"{one.decides.metric}_ci95_high": np.inf}
    )
    assert verdict(one, (one.decides, wide)).verdict == CANNOT_TELL


PRINTED = {
    "denis2022": {"figure": 25, "equation": 4, "algorithm": 1},
    "gillis2023": {"figure": 8, "table": 2, "equation": 9},
    "hoefler2006": {"figure": 3, "table": 1, "equation": 6},
    "white1999": {"figure": 11, "table": 2},
    "zhou2020": {"figure": 19, "table": 2},
}
"""How many figures, tables, numbered equations and algorithms a paper has."""
ROMAN = {"I": 1, "II": 2}


def told_of(at: str, kind: str) -> set[int]:
    """The numbers of the figures, or of another kind, that the place of a finding names."""

    def number(text: str) -> int:
        return ROMAN.get(text) or int(re.sub(r"\D", "", text))

    numbers: set[int] = set()
    one = r"\(?[\dIV]+\w?\)?"
    for listed in re.findall(rf"{kind} ({one})|{kind}s ({one}(?:(?:, | and | to ){one})*)", at):
        ends = [[number(end) for end in part.split(" to ")] for part in re.split(", | and ", "".join(listed))]
        numbers |= {one for end in ends for one in range(end[0], end[-1] + 1)}
    return numbers


@pytest.mark.parametrize("paper", PRINTED)
def test_each_figure_table_and_equation_of_a_paper_has_a_finding(paper: str) -> None:
    for kind, count in PRINTED[paper].items():
        told = {one for found in EVERY if found.paper_key == paper for one in told_of(found.at, kind)}
        assert told == set(range(1, count + 1)), kind


def test_every_entry_says_what_it_is() -> None:
    for one in EVERY:
        (found,) = findings.judged([one], {}, LARGE)
        assert found.verdict in (NOT_MEASURED, NOT_MEASURABLE, IMPLEMENTED)
        assert found.why
        assert findings_text.cited(one.paper_key)
    assert len({one.paper_key for one in EVERY}) == 5


def test_words_and_json_say_the_same() -> None:
    one = replace(DECIDED[0], control=None)
    assert one.decides is not None
    found = [verdict(one, (one.decides, planted(one.decides, meets=True)))]
    document = json.loads(findings.as_json(found, [{"run": "r", "system": "s"}]))
    assert [(entry["name"], entry["verdict"]) for entry in document["findings"]] == [(one.name, HOLDS)]
    text = "\n".join(findings_text.lines(found, 80, every=False, why=True))
    assert max(map(len, text.splitlines())) <= 80
    assert LIBRARY in text and HOLDS in text
    assert findings_text.commands([*found, verdict(one), verdict(one)]) == [f"{one.command}  # 2 findings"]
    assert findings_text.view(found, "r").rows[0].verdict == HOLDS


def test_a_figure_with_maps_has_one_of_each_library_that_says_where_the_bound_is_met() -> None:
    one = next(one for one in DECIDED if one.name == "figure-6-openmpi-ibcast")
    assert one.decides is not None
    rows = planted(one.decides, meets=True)
    rows = pd.concat([rows.assign(comm_target_ns=time_ns) for time_ns in (1_000_000, 2_000_000)], ignore_index=True)
    rows.loc[1, one.decides.metric] = 0.0
    rows = pd.concat([rows, rows.iloc[:1].assign(comp_target_ns=4_000_000, valid=False)], ignore_index=True)
    tables = {one.decides.family.name: rows}
    found = findings.judged([replace(one, control=None)], tables, LARGE)
    (grid,) = findings_pictures.maps(found, tables)
    assert (grid.columns, [name for name, _ in grid.rows]) == (["1 ms", "2 ms"], ["4 ms", "1 ms"])
    (above, below) = ([css for css, _, _ in cells] for _, cells in grid.rows)
    assert (above, below) == (["unknown", ""], ["good", "bad"])
    assert LIBRARY in grid.title and one.claim in grid.title
    (row,) = findings_text.view(found, "r", [grid]).rows
    assert row.link == f"#{grid.id}"


def test_a_kept_run_has_the_charts_of_the_papers_figures() -> None:
    """Each is of a figure of the paper that is asked for, and the page shows it."""
    run = load_run(example("20261126T135831Z-6c52f8"))
    found = [one for one in findings.of_run(run) if one.finding.paper_key == "gillis2023"]
    charts = list(findings_pictures.charts(found, [run]))
    assert charts and all("Gillis et al. 2023" in chart.figures for chart in charts)
    text = render(findings_text.view(found, "RUN", charts=charts))
    assert all(chart.title in text for chart in charts)
    assert not list(findings_pictures.charts([one for one in findings.of_run(run) if one not in found][:1], [run]))


def test_the_page_of_the_docs_has_what_was_measured_and_why_the_rest_was_not() -> None:
    run = load_run(example("20261126T135831Z-6c52f8"))
    found = findings.of_run(run)
    pages = dict(findings_text.markdown(found, "COMMAND", ["PLACE"]))
    for one in found:
        text = pages[one.finding.paper_key]
        shown = one.finding.claim.replace("|", "\\|") in text
        assert shown == (one.verdict in (HOLDS, DOES_NOT_HOLD, DEPENDS))
        assert one.why.removeprefix(MEASURE_IT) in text or shown or one.verdict == IMPLEMENTED
        assert one.finding.at.replace("|", "\\|") in text or one.verdict == IMPLEMENTED
    assert all("COMMAND" in text and "PLACE" in text for text in pages.values())


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("{at: a, claim: c, implemented_by: x}", "has no name"),
        ("{name: n, claim: c, implemented_by: x}", "lacks 'at'"),
        ("{name: n, at: a, claim: c}", "one of decides"),
        ("{name: n, at: a, claim: c, implemented_by: x, not_measurable: y}", "one of decides"),
        ("{name: n, at: a, claim: c, implemented_by: x, colour: y}", "'colour' is unknown"),
        ("{name: n, at: a, claim: c, measure: m, decides: {metric: r_overheat, at_most: 1}}", "r_overheat"),
        ("{name: n, at: a, claim: c, implemented_by: x, needs: {cores: many}}", "a whole number"),
        ("{name: n, at: a, claim: c, decides: {metric: t_comp_ref_ns, by: host, at_most: 1}}", "campaign accept"),
    ],
)
def test_a_wrong_entry_is_named(entry: str, says: str) -> None:
    with pytest.raises(FindingsError, match=says):
        findings.read("paper2000", f"findings:\n  - {entry}\n")
    twice = "findings:\n  - &one {name: n, at: a, claim: c, implemented_by: x}\n  - *one\n"
    with pytest.raises(FindingsError, match="two findings"):
        findings.read("paper2000", twice)
