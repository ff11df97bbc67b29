"""Answers from comparisons with a planted truth: who is faster, who is alike, what cannot be told; and their page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from postprocess.records.run import load_run
from postprocess.report.html import render_report
from postprocess.verdicts.answers import Answers, Question, lines, matrices, sentences
from postprocess.verdicts.compare import Comparison, compare, over_all
from postprocess.verdicts.tallies import tally
from tests.postprocess import synthetic
from tests.postprocess.test_postprocess_compare import launches
from tests.postprocess.test_postprocess_report import HOSTILE, Page

COMMAND = "./campaign compare mpich@1 openmpi@1 --within last"


def library(name: str, factor: float = 1.0, **asked: Any) -> pd.DataFrame:
    return launches(factor, **{"count": 3, "toolchain": name, "system": "here", **asked})


def question(sides: Mapping[str, pd.DataFrame], **asked: Any) -> Question:
    """Every side against the first one."""
    (first, one), *others = sides.items()
    found = over_all([compare(one, two, ["toolchain"]) for _, two in others])
    pairs = {(first, name): comparison for (name, _), comparison in zip(others, found, strict=True)}
    return Question("Libraries against each other", COMMAND, pairs, **asked)


def times(comparison: Comparison) -> pd.DataFrame:
    found: pd.DataFrame = comparison.rows[comparison.rows["metric"] == "t_measured_ns"]
    return found


def test_a_slower_library_is_named_and_by_how_much() -> None:
    asked = question({"mpich@1": library("mpich@1"), "openmpi@1": library("openmpi@1", 1.1, seed=2)})
    rows = times(*asked.pairs.values())
    found, back = tally(rows), tally(rows, turned=True)
    assert (found.worse, found.better, found.same, found.unknown) == (12, 0, 0, 0)
    assert found.low < 1.1 < found.high
    assert (back.better, back.worse) == (12, 0)
    assert [back.effect, back.low, back.high] == pytest.approx([1 / found.effect, 1 / found.high, 1 / found.low], 1e-3)
    faster, hides = sentences(asked)
    assert faster.startswith("mpich@1 is faster with overlap than openmpi@1 in 12 of 12 decided cases: -9.")
    assert hides.startswith("neither mpich@1 nor openmpi@1 hides more in 12 of 12")


def test_one_library_under_two_names_is_alike() -> None:
    for seed in range(3):
        told = sentences(question({"a@1": library("a@1", seed=seed), "b@1": library("b@1", seed=100 + seed)}))
        assert len(told) == 2
        assert all(line.startswith("neither a@1 nor b@1 ") for line in told)


def test_what_nobody_can_tell_is_said_once_with_the_reason_and_what_to_do() -> None:
    alone = {name: library(name, count=1) for name in ("a@1", "b@1", "c@1")}
    asked = question(alone)
    assert sentences(asked) == []
    (only,) = lines(Answers((asked,)))
    assert "too few launches" in only
    assert "--repeat 3" in only


def test_what_one_metric_cannot_tell_stands_beside_what_the_other_tells() -> None:
    second = library("b@1", 1.1, seed=2, sound=False)
    asked = question({"a@1": library("a@1"), "b@1": second})
    faster, hides = sentences(asked)
    assert faster.startswith("a@1 is faster with overlap than b@1")
    assert hides == "whether a@1 or b@1 hides more cannot be told in any of 12 cases"
    assert "no sound launch of B" in lines(Answers((asked,)))[-1]


def test_the_median_is_over_all_cases_also_those_without_a_verdict() -> None:
    """Of a difference by 3 % those cases are decided first in which it happens to be larger."""
    one, two = (library("a@1", factor, cases=200, spread=0.01, seed=seed) for seed, factor in ((1, 1.0), (2, 1.03)))
    rows = times(compare(one, two))
    found = tally(rows)
    assert 0 < found.decided < found.total == found.known
    assert found.effect == pytest.approx(np.median(rows["effect"]))
    assert found.low < 1.03 < found.high


def test_what_other_benchmarks_decide_stands_in_a_line() -> None:
    def both(name: str, factor: float, seed: int) -> pd.DataFrame:
        overlap, solver = library(name, seed=seed), library(name, factor, seed=seed + 9)
        nothing = dict.fromkeys(("t_measured_ns", "r_overhead", "t_comm_ref_ns"), np.nan)
        solver = solver.assign(t_overlap_ns=solver["t_measured_ns"], benchmark="transfer_overlap", **nothing)
        every: pd.DataFrame = pd.concat([overlap, solver], ignore_index=True)
        return every

    told = sentences(question({"a@1": both("a@1", 1.0, 1), "b@1": both("b@1", 0.8, 2)}))
    assert told[0].startswith("neither a@1 nor b@1 is faster with overlap")
    assert told[-1] == "other benchmarks, decided cases: b@1 solves faster with overlap (12 of 12)"


def test_since_the_last_run_the_worst_case_is_named() -> None:
    now = library("a@1", 1.1, seed=2)
    now.loc[now["comm_target_ns"] == 7_000_000, "t_measured_ns"] *= 1.5
    asked = question({"before": library("a@1"), "now": now}, apart=True)
    (told,) = [line for line in sentences(asked) if not line.startswith("note: ")]
    assert told.startswith("slower in 24 of 36 decided comparisons, faster in 0, ")
    assert "7 ms 1 ms: time with overlap +6" in told
    alike = question({"before": library("a@1"), "now": library("a@1", seed=2)}, apart=True)
    assert sentences(alike)[0].startswith("nothing is slower: faster in 0, no different by what counts in 36 of 36")


def test_matrices_have_what_the_sentences_count() -> None:
    names = ("basic", "async", "dedicated")
    sides = {name: library("x@1", 1 + 0.1 * number, seed=number + 1) for number, name in enumerate(names)}
    asked = [question(sides, group=library_) for library_ in ("x@1", "y@1")]
    grids = matrices(Answers(tuple(asked)))
    assert [grid.title for grid in grids] == ["time with overlap", "overhead ratio"]
    assert list(grids[0].columns) == ["async", "dedicated"]
    assert [name for name, _ in grids[0].rows] == ["x@1", "y@1"]
    assert {cell.counts for _, cells in grids[0].rows for cell in cells if cell} == {"12 / 0 / 12"}
    against = matrices(Answers((question(sides),)))[0]
    assert [name for name, _ in against.rows] == ["basic"]
    assert all(len(sentences(one)) == 2 for one in asked)  # of a configuration whether it is faster


def test_the_report_begins_with_the_answers(tmp_path: Path) -> None:
    sides = {"mpich@1": library("mpich@1"), HOSTILE: library("openmpi@1", 1.1, seed=2)}
    answers = Answers((question(sides),), ("there is no earlier run",))
    run = load_run(synthetic.run_folder(tmp_path / "run", [synthetic.sweep(grid=(8, 16))]))
    page = Page(render_report(run, answers=answers))
    assert page.open == []
    assert [one["id"] for one in page.all("section") if "id" in one][:3] == ["answers", "found", "sides"]
    assert "mpich@1 is faster with overlap than" in page.text
    assert COMMAND in page.text and "there is no earlier run" in page.text
    assert "12 / 0 / 12" in page.text
    assert not page.all("alert")
    assert "Compared" not in Page(render_report(run)).text
