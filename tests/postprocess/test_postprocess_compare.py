"""Verdicts on two sides: each word where it belongs, cases matched, sizes respected, and said in every form."""

import itertools
import json
import math
import os
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from postprocess.families import registry
from postprocess.records import kept as kept_module
from postprocess.records.run import load_run
from postprocess.statistics.limits import Limits
from postprocess.verdicts import compare_text, verdict_page
from postprocess.verdicts import launches as launches_module
from postprocess.verdicts.compare import (
    FASTER,
    KEY,
    METRICS,
    SAME,
    SLIGHT,
    SLOWER,
    UNKNOWN,
    Comparison,
    compare,
    confirmed,
)
from postprocess.verdicts.kept_launches import KeptLaunches
from postprocess.verdicts.launches import launch_table
from tests.postprocess import synthetic, synthetic_impact
from tests.postprocess.test_postprocess_report import Page

SIDES = ("before", "after")


USUAL_VALUES = {axis.name: axis.usual for axis in registry.AXES if axis.usual is not None}


def launches(
    factor: float = 1.0, count: int = 6, cases: int = 12, seed: int = 1, spread: float = 0.005, **columns: Any
) -> pd.DataFrame:
    """`count` launches of `cases` points, whose times are 10 ms and up, times `factor`."""
    rng = np.random.default_rng(seed)
    rows = []
    for launch in range(1, count + 1):
        for case in range(cases):
            row: dict[str, Any] = dict.fromkeys(KEY, "x") | USUAL_VALUES | dict.fromkeys(METRICS, math.nan) | {
                "benchmark": "nbc_overlap", "ranks": 2, "nodes": 1, "threads_per_rank": 1, "given_up_cores": 0,
                "cache": "warm", "computation": "dgemm", "configuration": "basic", "collective": "ibcast",
                "comm_target_ns": 1_000_000 * (case + 1), "comp_target_ns": 1_000_000, "launch": launch,
                "message_bytes": 1000 * (case + 1), "work_size": 100,
            }  # fmt: skip
            own = factor * np.exp(spread * rng.standard_normal(3))
            row |= dict(zip(("t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns"), 1e7 * (case + 1) * own, strict=True))
            row |= {"r_overhead": 0.5 + spread * rng.standard_normal()}
            row |= {"valid": True, "sound": True, "complete": True, "oversubscribed": False, "run": "r"}
            rows.append(row | columns)
    table: pd.DataFrame = pd.DataFrame(rows)
    return table


def verdicts(found: Comparison, metric: str = "t_measured_ns") -> set[str]:
    return set(found.rows.loc[found.rows["metric"] == metric, "verdict"])


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0, SAME), (1.1, SLOWER), (1 / 1.1, FASTER), (1.01, SAME), (1.005, SAME)]
)
def test_each_verdict_has_its_change(factor: float, verdict: str) -> None:
    assert verdicts(compare(launches(), launches(factor, seed=2))) == {verdict}


def test_what_is_not_slower_again_is_not_called_slower() -> None:
    """Of two collectives that were slower in a night, one is slower when it is measured again."""

    def night(factor_of_ibcast: float, factor_of_ireduce: float, seed: int) -> pd.DataFrame:
        parts = [
            launches(factor_of_ibcast, seed=seed),
            launches(factor_of_ireduce, seed=seed + 1, collective="ireduce"),
        ]
        return pd.concat(parts, ignore_index=True)

    before = night(1, 1, 1)
    first, again = compare(before, night(1.1, 1.1, 3)), compare(before, night(1.1, 1, 5))
    found = confirmed(first, again, "RUN")
    slower = found.rows[found.rows["verdict"] == SLOWER]
    refuted = found.rows[found.rows["reason"].str.startswith("not confirmed")]
    assert set(slower["collective"]) == {"ibcast"} and set(refuted["collective"]) == {"ireduce"}
    assert len(slower) == len(refuted) == first.count(SLOWER) / 2
    assert set(refuted["verdict"]) == {UNKNOWN}
    assert found.count(SAME) == first.count(SAME)
    assert "of 48 slower, 24 confirmed, 24 not confirmed" in found.remarks[0]
    assert confirmed(first, compare(before, before.iloc[:0]), "RUN").count(SLOWER) == first.count(SLOWER)


def test_a_slowdown_is_refuted_by_an_interval_that_lies_nearer_to_no_change_and_not_by_one_that_holds_it() -> None:
    """Measured again, it cannot be told whether it is slower: too much noise. But 30 % it is not, and 5 % it may be."""
    before, much, little = launches(), launches(1.3, seed=2), launches(1.05, seed=3)
    again = compare(before, launches(1.05, spread=0.05, seed=4))
    assert verdicts(again) == {UNKNOWN}
    assert verdicts(confirmed(compare(before, much), again, "RUN")) == {UNKNOWN}
    found = compare(before, little)
    assert verdicts(confirmed(found, again, "RUN")) == verdicts(found) == {SLOWER}
    worse = compare(before, launches(1.1, seed=5))
    assert verdicts(confirmed(compare(before, much), worse, "RUN")) == {SLOWER}  # less slow than before, yet slower


def test_what_varies_too_much_cannot_be_told() -> None:
    found = compare(launches(spread=0.05), launches(1.03, spread=0.05, seed=2))
    assert verdicts(found) == {UNKNOWN}
    more = compare_text.launches_needed(found)
    assert 6 < more <= compare_text.MOST_ADVISED
    assert f"(--repeat {more})" in compare_text.summary(found, SIDES)


def test_what_hundreds_of_launches_would_have_to_tell_is_said_to_be_beyond_this_noise() -> None:
    found = compare(launches(spread=0.2), launches(1.03, spread=0.2, seed=2))
    assert compare_text.launches_needed(found) > compare_text.MOST_ADVISED
    said = compare_text.summary(found, SIDES)
    assert "it would take more than 100 launches of each side; measure on a quieter machine" in said
    assert "--repeat" not in said


def test_with_one_launch_each_nothing_can_be_told_and_the_reason_is_said() -> None:
    found = compare(launches(count=1), launches(2.0, count=1))
    assert verdicts(found) == {UNKNOWN}
    assert set(found.rows["reason"]) == {"too few launches: 6 of both sides together are the least (--repeat 3)"}


def test_a_change_is_that_of_the_case_that_changed() -> None:
    after = launches(seed=2)
    slow = after["comm_target_ns"] == 3_000_000
    after.loc[slow, "t_measured_ns"] *= 1.2
    found = compare(launches(), after)
    changed = found.rows[found.rows["verdict"] == SLOWER]
    assert changed[["metric", "comm_target_ns"]].to_numpy().tolist() == [["t_measured_ns", 3_000_000]]
    assert changed["effect"].iloc[0] == pytest.approx(1.2, rel=0.02)
    assert found.count(FASTER) == 0


def test_less_overhead_is_better_and_its_change_is_a_difference() -> None:
    after = launches(seed=2).assign(r_overhead=lambda table: table["r_overhead"] - 0.4)
    found = compare(launches(), after, metrics=["r_overhead"])
    assert verdicts(found, "r_overhead") == {FASTER}
    assert found.rows["effect"].to_numpy() == pytest.approx(-0.4, abs=0.02)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0, SAME), (1.1, FASTER), (1 / 1.1, SLOWER), (1.01, SAME), (1 / 1.01, SAME)]
)
def test_more_speed_up_is_better(factor: float, verdict: str) -> None:
    before, after = (
        launches(seed=seed).assign(
            speedup_vs_basic=lambda table: 1.3e7 * table["message_bytes"] / table["t_measured_ns"]
        )
        for seed in (1, 2)
    )
    after["speedup_vs_basic"] *= factor
    found = compare(before, after, metrics=["speedup_vs_basic"])
    assert verdicts(found, "speedup_vs_basic") == {verdict}
    assert found.rows["effect"].to_numpy() == pytest.approx(factor, rel=0.02)
    assert f'failures="{12 * (verdict == SLOWER)}"' in compare_text.comparison_junit(found, SIDES)


def test_a_time_and_a_speed_up_that_grow_together_are_slower_and_faster() -> None:
    """Each by its own direction, in one comparison."""
    before, after = (
        launches(factor, seed=seed).assign(speedup_vs_basic=lambda table: table["t_measured_ns"] / 1e7)
        for seed, factor in ((1, 1.0), (2, 1.1))
    )
    found = compare(before, after, metrics=["t_measured_ns", "speedup_vs_basic"])
    assert verdicts(found, "t_measured_ns") == {SLOWER}
    assert verdicts(found, "speedup_vs_basic") == {FASTER}


def test_beside_what_computes_on_all_cores_a_speed_up_is_that_of_as_much_work() -> None:
    """1.6 times as fast with 3 of 4 cores is 1.2 times by the work done."""
    on_all, on_less = (
        launches(seed=seed, speedup_vs_basic=speedup, threads_per_rank=threads, given_up_cores=4 - threads)
        for seed, speedup, threads in ((1, 1.2, 4), (2, 1.6, 3))
    )
    rows = compare(on_all, on_less, ["given_up_cores"], ["speedup_vs_basic"]).rows
    assert rows["value_b"].tolist() == pytest.approx([1.2] * 12)


@pytest.mark.parametrize(
    ("name", "value", "other", "worse"),
    [
        ("t_measured_ns", 103.1, 100.0, True), ("t_measured_ns", 102.9, 100.0, False),
        ("t_measured_ns", 90.0, 100.0, False), ("r_overhead", 0.61, 0.5, True), ("r_overhead", 0.4, 0.5, False),
        ("r_overhead", 0.59, 0.5, False), ("speedup_vs_basic", 1.0, 1.031, True),
        ("speedup_vs_basic", 1.0, 1.029, False), ("speedup_vs_basic", 2.0, 1.0, False),
    ],
)  # fmt: skip
def test_worse_is_what_the_metric_says(name: str, value: float, other: float, worse: bool) -> None:
    assert METRICS[name].is_worse(value, other, Limits()) is worse


def test_overhead_below_zero_can_be_compared() -> None:
    before, after = (launches(seed=seed).assign(r_overhead=-0.05) for seed in (1, 2))
    after["r_overhead"] += 0.001 * np.arange(len(after)) / len(after)
    assert set(compare(before, after, metrics=["r_overhead"]).rows["verdict"]) <= {SAME, UNKNOWN}


def test_times_of_other_sizes_are_not_compared() -> None:
    after = launches(seed=2).assign(message_bytes=lambda table: table["message_bytes"] + 1)
    found = compare(launches(), after)
    assert verdicts(found, "t_measured_ns") == verdicts(found, "t_comm_ref_ns") == {UNKNOWN}
    reasons = found.rows.loc[found.rows["metric"] == "t_comm_ref_ns", "reason"]
    assert reasons.str.contains("messages of other sizes").all()
    assert verdicts(found, "r_overhead") == {SAME}
    assert verdicts(compare(launches(), after, metrics=["t_comp_ref_ns"]), "t_comp_ref_ns") == {SAME}


def test_of_several_sizes_that_which_both_sides_have_is_compared() -> None:
    other = launches(count=2, seed=3).assign(message_bytes=7)
    before = pd.concat([launches(), other], ignore_index=True)
    found = compare(before, launches(seed=2), metrics=["t_comm_ref_ns"])
    assert set(found.rows["launches_a"]) == {6}
    assert verdicts(found, "t_comm_ref_ns") == {SAME}


def test_launches_that_do_not_count_are_left_out_and_that_is_said() -> None:
    found = compare(launches(valid=False), launches(seed=2))
    assert set(found.rows.loc[found.rows["metric"] == "t_measured_ns", "reason"]) == {"no valid launch of A"}
    found = compare(launches(), launches(seed=2, sound=False))
    assert set(found.rows.loc[found.rows["metric"] == "r_overhead", "reason"]) == {"no sound launch of B"}
    assert verdicts(found) == {SAME}


def test_a_time_that_is_not_above_0_has_no_ratio_and_that_is_said() -> None:
    """To leave out the negative launches alone would bias the rest."""
    after = launches(seed=2)
    below = (after["comm_target_ns"] == 12_000_000) & (after["launch"] == 3)
    after.loc[below, "t_measured_ns"] = -5.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = compare(launches(), after, metrics=["t_measured_ns"]).rows.set_index("comm_target_ns")
    assert rows.loc[12_000_000, "reason"] == "a launch of B is not above 0: no ratio"
    assert set(rows["verdict"].drop(12_000_000)) == {SAME}
    assert rows.loc[12_000_000, "verdict"] == UNKNOWN


def test_a_time_that_may_be_below_0_is_compared_by_difference() -> None:
    """As L of LogGP, which is found as a difference of times. What matters is a time, and not a share of it."""
    latency = METRICS["L_ns"]
    assert latency.least_difference(Limits()) == 100
    assert latency.has_effect(np.array([-1000.0, 0.0])).all()
    assert latency.is_worse(-950, -1100, Limits()) and not latency.is_worse(-1050, -1100, Limits())
    before, after = launches(), launches(seed=2)
    before["L_ns"] = before["t_measured_ns"] % 50 + 100
    after["L_ns"] = after["t_measured_ns"] % 50 + 600
    found = compare(before, after, metrics=["L_ns"])
    assert verdicts(found, "L_ns") == {SLOWER}
    assert {compare_text.effect_words("L_ns", round(one, -2)) for one in found.rows["effect"]} == {"+500 ns"}


@pytest.mark.parametrize("latencies", [(-1100, -600), (-600, -1100), (-200, 300), (300, -200), (-1100, -1100)])
def test_a_latency_below_0_is_neither_slower_nor_faster_nor_the_same(latencies: tuple[float, float]) -> None:
    """The overheads overlap: a change says nothing of the network. It is shown, and counts as no test."""
    both = [launches(seed=seed).assign(L_ns=lambda t: t["t_measured_ns"] % 50) for seed in (1, 2)]
    sides = [one.assign(L_ns=one["L_ns"] + latency) for one, latency in zip(both, latencies, strict=True)]
    found = compare(sides[0], sides[1], metrics=["L_ns"])
    assert verdicts(found, "L_ns") == {UNKNOWN}
    (reason,) = set(found.rows["reason"])
    assert reason.startswith("below 0 on a side: the overheads of sender and receiver overlap")
    assert np.isfinite(found.rows["effect"]).all() and found.rows["q_value"].isna().all()


def test_a_time_that_one_side_could_not_measure_is_told_of() -> None:
    times = ["t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns"]
    after = launches(seed=2)
    lost = after["comm_target_ns"] == 12_000_000
    after.loc[lost, [*times, "r_overhead"]] = math.nan
    after.loc[lost, ["valid", "sound"]] = False
    rows = compare(launches(), after).rows
    told = rows[rows["comm_target_ns"] == 12_000_000]
    assert dict(zip(told["metric"], told["reason"], strict=True)) == dict.fromkeys(times[:2], "no valid launch of B")
    assert set(told["verdict"]) == {UNKNOWN}


def test_cases_of_one_side_alone_are_listed() -> None:
    found = compare(launches(), launches(seed=2, cases=10))
    assert found.only_a["comm_target_ns"].tolist() == [11_000_000, 12_000_000]
    assert found.only_b.empty
    assert "only in before: x x basic ibcast, 2 points" in compare_text.comparison_text(found, SIDES)


def test_what_the_sides_differ_in_is_no_part_of_a_case() -> None:
    after = launches(seed=2, toolchain="y", provider="z")
    assert compare(launches(), after).rows.empty
    found = compare(launches(), after, differ=["toolchain", "provider"])
    assert len(found.rows) == 12 * 3  # what basic is held against is not there
    assert "toolchain" not in found.rows


def test_nothing_in_common_is_said() -> None:
    found = compare(launches(), launches(collective="ireduce"))
    assert "no case in common" in compare_text.comparison_text(found, SIDES)
    assert json.loads(compare_text.comparisons_json({SIDES: found}))["cases"] == []


def test_an_empty_side_is_no_crash() -> None:
    assert compare(launches(), launches().iloc[:0]).rows.empty


def test_every_form_says_the_same() -> None:
    after = launches(1.1, seed=2)
    found = compare(launches(), after)
    text = compare_text.comparison_text(found, SIDES)
    assert text.count("\nslower") == 24
    assert (
        "after against before: 24 slower, 0 faster, 0 slightly different, 12 same, 0 cannot tell, of 36 comparisons"
        in text
    )
    document = json.loads(compare_text.comparisons_json({SIDES: found}))
    assert document["verdicts"] == {"slower": 24, "faster": 0, "slightly different": 0, "same": 12, "cannot tell": 0}
    assert document["cases"][0]["effect"] == pytest.approx(1.1, rel=0.02)
    suite = ElementTree.fromstring(compare_text.comparison_junit(found, SIDES))
    assert (suite.get("tests"), suite.get("failures")) == ("36", "24")
    assert len(suite.findall("testcase/failure")) == 24
    markdown = compare_text.comparison_markdown(found, SIDES)
    assert markdown.count("| **slower** |") == 24


@pytest.mark.parametrize("count", [1, 30])
def test_a_pull_request_takes_the_markdown_of_any_comparison(count: int) -> None:
    """Of 60 maps with long names, and of many sides: the number of cases is told, what does not fit is counted."""
    before, after = (
        pd.concat([launches(factor, seed=seed, toolchain="n" * 600 + str(one)) for one in range(60)])
        for seed, factor in ((1, 1.0), (2, 1.2))
    )
    found = compare(before, after)
    names = [f"side{number}" * 20 for number in range(count + 1)]
    markdown = compare_text.comparisons_markdown(dict.fromkeys(itertools.pairwise(names), found))
    assert len(markdown) < 60_000
    assert f"{60 * 24} slower" in markdown
    assert " more, in --json and --html" in markdown
    assert len(compare_text.comparison_text(found, SIDES).splitlines()) < 500


def test_hostile_names_of_several_sides_stay_text() -> None:
    words = ("a", "b|<img src=x onerror=alert(1)>`c_d`", "</script><b>\n\x1b[31m")
    tables = [launches(factor, seed=seed) for seed, factor in enumerate((1.0, 1.0, 1.2), 1)]
    pairs = {(words[i], words[j]): compare(tables[i], tables[j]) for i, j in itertools.combinations(range(3), 2)}
    page = Page(verdict_page.render(verdict_page.comparisons_view(pairs, [("runs of A", "<b>r1")])))
    assert page.open == []
    assert page.all("img") == page.all("b") == []
    assert "b|<img src=x onerror=alert(1)>`c_d`" in page.text
    markdown = compare_text.comparisons_markdown(pairs)
    heads, _, *lines = markdown.splitlines()[:4]
    assert [line.replace("\\|", "").count("|") for line in (heads, *lines)] == [4] * 3
    assert "<" not in markdown
    assert "\x1b" not in markdown + compare_text.comparisons_text(pairs)
    assert json.loads(compare_text.comparisons_json(pairs))["matrix"][words[0]][words[2]]["slower"] == 24
    assert len(ElementTree.fromstring(compare_text.comparisons_junit(pairs))) == 3


def test_what_a_page_has_room_for_is_shared_out_among_the_pairs() -> None:
    found = compare(launches(), launches(1.1, seed=2))
    room = verdict_page.Room(rows=30, drawn=2)
    view = verdict_page.comparisons_view({("a", "b"): found, ("a", "c"): found, ("b", "c"): found}, room=room)
    assert [(len(part.rows), len(part.grids)) for part in view.parts] == [(10, 1)] * 3
    assert "the table has 10 of 36 comparisons; all are in --json" in view.parts[0].remarks


@pytest.mark.parametrize(
    "limits",
    [{"least_ratio": 0.0}, {"least_ratio": math.nan}, {"least_difference": -1.0}, {"rate": 1.0}, {"rate": 0.0}],
)
def test_limits_that_are_none_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="is no"):
        Limits(**limits)


def test_a_size_names_no_case_where_it_was_calibrated_and_does_where_it_was_asked_for() -> None:
    """`message_bytes` is a size of nbc_overlap and an axis of partitioned."""
    before, after = launches(), launches(seed=2).assign(message_bytes=lambda table: table["message_bytes"] + 8)
    found = compare(before, after, metrics=["r_overhead"])
    assert len(found.rows) == 12
    assert set(found.rows["message_bytes"]) == {0}
    assert set(compare(before, after, metrics=["t_comm_ref_ns"]).rows["reason"]) == {
        "A and B have messages of other sizes: each was calibrated by itself"
    }
    asked = [launches(seed=seed, t_ns=1e6 + seed).assign(benchmark="partitioned", comm_target_ns=0) for seed in (1, 2)]
    before, after = asked
    found = compare(before, after, metrics=["t_ns"])
    assert sorted(found.rows["message_bytes"]) == [1000 * number for number in range(1, 13)]


def test_what_an_idle_library_costs_is_compared_too(tmp_path: Path) -> None:
    """Three runs of each side: the library costs 2 %, and then 20 %."""
    sides = []
    for costs in (1.02, 1.2):
        folders = []
        for number in range(3):
            run = synthetic.run_folder(tmp_path / "here" / f"{costs}-{number}", [synthetic.sweep(grid=(8,))])
            varies = synthetic_impact.slowed(costs * (1 + 0.001 * number))
            synthetic.write(run / "records" / "impact.jsonl", synthetic_impact.synthetic(8, varies))
            registry.write_tables(load_run(run))
            folders.append(run)
        table, problems = launch_table(folders)
        assert not problems
        sides.append(table)
    before, after = sides
    found = compare(before, after, metrics=["r_mpi_impact"])
    assert verdicts(found, "r_mpi_impact") == {SLOWER}
    assert len(found.rows) == len(synthetic_impact.TARGETS_NS)
    assert found.rows["effect"].tolist() == pytest.approx([1.2 / 1.02] * 3, rel=1e-3)
    for text in (compare_text.comparison_text(found, SIDES), compare_text.comparison_junit(found, SIDES)):
        assert "mpi_impact" in text
        assert "0 ns" not in text


def test_what_another_method_measured_is_left_out_and_named(tmp_path: Path) -> None:
    """Whether launches are read from the archived tables or from the records."""
    older, newer = (synthetic.sweep(grid=(8,)) for _ in range(2))
    newer[0]["method"] = older[0]["method"] + 1
    folders = [synthetic.run_folder(tmp_path / "here" / f"{i}", [lines]) for i, lines in enumerate((older, newer))]
    for _ in range(2):
        table, (line,) = launch_table(folders)
        assert set(table["run"]) == {"1"}
        assert line.startswith("nbc_overlap of 0 is left out: it was measured by method 1")
        for folder in folders:
            registry.write_tables(load_run(folder))
    assert set(launch_table(folders[:1])[0]["run"]) == {"0"}


def test_a_new_method_of_one_benchmark_leaves_out_nothing_of_another(tmp_path: Path) -> None:
    folders = []
    for method in (1, 2):
        run = synthetic.run_folder(tmp_path / "here" / str(method), [synthetic.sweep(grid=(8,))])
        impact = synthetic_impact.synthetic(8, synthetic_impact.slowed(1.1))
        impact[0]["method"] = method
        synthetic.write(run / "records" / "mpi_impact.jsonl", impact)
        assert launches_module.methods_of(run) == {"nbc_overlap": 1, "mpi_impact": method}
        folders.append(run)
    table, (*_, line) = launch_table(folders)  # the other lines: records without a checksum
    assert line.startswith("mpi_impact of 1 is left out")
    assert dict(table.groupby("benchmark", observed=True)["run"].nunique()) == {"mpi_impact": 1, "nbc_overlap": 2}


def test_a_launch_with_a_wide_interval_counts_and_one_without_a_clock_does_not(tmp_path: Path) -> None:
    """Whether launches are read from the archived tables or from the records."""
    noisy = synthetic.sweep(synthetic.NOISY, grid=(8,), collective="ibcast")
    first, *points, last = synthetic.sweep(synthetic.NOISY, grid=(8,), collective="ireduce")
    unclocked = [first, *map(synthetic.without_clock, points), last]
    folder = synthetic.run_folder(tmp_path / "here" / "run", [noisy, unclocked])
    run = load_run(folder)
    assert not registry.found(run, registry.BY_NAME["nbc_overlap"]).table["reliable"].any()
    of_records, _ = launch_table([folder])
    registry.write_tables(run)
    of_tables, problems = launch_table([folder])
    assert not problems
    for table in (of_records, of_tables):
        assert dict(zip(table["collective"], table["sound"], strict=True)) == {"ibcast": True, "ireduce": False}


def test_a_damaged_table_is_one_line_and_no_crash(tmp_path: Path) -> None:
    """Without a manifest there is no checksum that would tell."""
    folder = tmp_path / "here" / "run"
    synthetic.run_folder(folder, [synthetic.sweep(grid=(8,))])
    registry.write_tables(load_run(folder))
    (folder / "manifest.json").unlink()
    rng = np.random.default_rng(1)
    told = 0
    for name in ("points.parquet", "samples.parquet"):
        good = (folder / name).read_bytes()
        for damage in range(40):
            data = bytearray(good)
            if damage % 4:
                for place in rng.integers(0, len(data), 1 + damage):
                    data[place] = rng.integers(0, 256)
            else:
                del data[rng.integers(0, len(data)) :]
            (folder / name).write_bytes(data)
            _, problems = launch_table([folder])
            assert all(problem.startswith("run: ") and "\n" not in problem for problem in problems)
            told += len(problems)
        (folder / name).write_bytes(good)
    assert told > 20
    assert launch_table([folder])[1] == []


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("repetitions", ["many"] * 1), ("repetitions", [None]), ("collective", [7]), ("valid", ["yes"]),
        ("message_bytes", [[1]]), ("r_comm", ["none"]), ("unreliable_reasons", [[1]]), ("unreliable_reasons", ["wide"]),
    ],
)  # fmt: skip
def test_a_table_of_other_types_is_one_line_and_no_crash(tmp_path: Path, column: str, values: list[Any]) -> None:
    folder, other = (tmp_path / "here" / name for name in ("run", "other"))
    for one in (folder, other):
        synthetic.run_folder(one, [synthetic.sweep(grid=(8,))])
        registry.write_tables(load_run(one))
        manifest = json.loads((one / "manifest.json").read_text())
        manifest["checksums"] = {}
        (one / "manifest.json").write_text(json.dumps(manifest))
    points = pq.read_table(folder / "points.parquet")
    place = points.schema.get_field_index(column)
    pq.write_table(points.set_column(place, column, pa.array(values)), folder / "points.parquet")
    table, (problem,) = launch_table([folder, other])
    assert problem.startswith(f"run: points.parquet: {column} ")
    assert set(table["run"]) == {"other"}


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, -1.0, 1e300])
@pytest.mark.filterwarnings("error")
def test_a_point_with_an_impossible_number_is_not_valid_and_a_line_says_so(tmp_path: Path, number: float) -> None:
    folder = tmp_path / "here" / "run"
    synthetic.run_folder(folder, [synthetic.sweep(grid=(8, 16))])
    registry.write_tables(load_run(folder))
    (folder / "manifest.json").unlink()
    for name, column in (("samples.parquet", "t_comm_ref_ns"), ("points.parquet", "r_comm")):
        table = pq.read_table(folder / name)
        values = table[column].to_numpy().astype(np.float64)
        values[0 if name == "samples.parquet" else 1] = number
        place = table.schema.get_field_index(column)
        pq.write_table(table.set_column(place, column, pa.array(values)), folder / name)
    table, (problem,) = launch_table([folder])
    of_points = abs(number) > 1  # nan and negative values of a ratio are no fault: it was not measured, or below 0
    assert f"{1 + of_points} point" in problem
    assert table["valid"].tolist() == [False, *[not of_points], True, True]
    assert np.isfinite(table.loc[2:, ["t_comm_ref_ns", "r_comm"]].to_numpy()).all()


def test_records_stand_in_for_tables_that_are_not_there_and_say_what_is_wrong_with_them(tmp_path: Path) -> None:
    folder = tmp_path / "here" / "run"
    synthetic.run_folder(folder, [synthetic.sweep(grid=(8,)), synthetic.sweep(grid=(8,), collective="ireduce")])
    record = folder / "records" / "000.jsonl"
    record.write_text("{" + record.read_text())
    table, (problem,) = launch_table([folder])
    assert problem == "run: 000.jsonl:1: not JSON"
    assert set(table["collective"]) == {"ireduce"}
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "schema_version": 99}))
    _, (newer,) = launch_table([folder])
    assert "schema version 99 is newer" in newer


def test_launches_of_records_are_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here" / "run"
    synthetic.run_folder(folder, [synthetic.sweep(grid=(8,)), synthetic.sweep(grid=(8,), collective="ireduce")])
    bad = folder / "records" / "000.jsonl"
    bad.write_text("{" + bad.read_text())
    kept = KeptLaunches(tmp_path / "kept")
    (tmp_path / "kept" / "of older code").mkdir(parents=True)
    first, problems = launch_table([folder], kept=kept)
    assert problems == ["run: 000.jsonl:1: not JSON"]
    assert len(list((tmp_path / "kept").iterdir())) == 1
    with monkeypatch.context() as unreadable:
        unreadable.setattr(launches_module, "load_run", lambda _folder: pytest.fail("the records were read again"))
        again, told_again = launch_table([folder], kept=kept)
    pd.testing.assert_frame_equal(again, first)
    assert told_again == problems
    bad.write_text(bad.read_text()[1:])
    both, problems = launch_table([folder], kept=kept)
    assert set(both["collective"]) == {"ibcast", "ireduce"} and problems == []
    for file in (tmp_path / "kept").rglob("*.parquet"):
        file.write_bytes(b"PAR1")
    pd.testing.assert_frame_equal(launch_table([folder], kept=kept)[0], both)


def test_of_what_is_kept_the_oldest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, files = tmp_path / "here" / "run", kept_module.Kept(tmp_path / "kept")
    synthetic.run_folder(folder, [synthetic.sweep(grid=(8,))])
    monkeypatch.setattr(kept_module, "MOST_KEPT", 2)
    for number in range(4):
        files.keep(lambda path: path.write_text("x"), folder, number)
        os.utime(files.path(folder, number), (number, number))
    assert [files.path(folder, number).exists() for number in range(4)] == [False, False, True, True]


def test_a_page_of_pairs_of_which_nothing_can_be_told_says_so() -> None:
    good, few = compare(launches(), launches(seed=2)), compare(launches(count=1), launches(count=1, seed=2))
    view = verdict_page.comparisons_view({("a", "b"): good, ("a", "c"): few, ("b", "c"): few})
    assert view.answer == "something is slower in 0 of 3 pairs; of 2 nothing can be told"
    assert verdict_page.comparisons_view({("a", "b"): good, ("a", "c"): good}).answer.endswith("0 of 2 pairs")


def hybrid(factor: float, *handovers_ns: float) -> pd.DataFrame:
    """Launches of `hybrid`, each with a time of a hand-over."""
    table = launches(factor, count=len(handovers_ns), cases=4, benchmark="hybrid")
    made: pd.DataFrame = table.assign(
        ratio_to_library=table["t_measured_ns"] / 1e8,
        handover_ns=[handovers_ns[launch - 1] for launch in table["launch"]],
        t_measured_ns=math.nan,
    )
    return made


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((30, 31, 29, 30), (31, 30, 30, 30), SLOWER),
        ((30, 31, 29, 30), (150, 140, 155, 150), UNKNOWN),
        ((150, 31, 29, 30), (30, 31, 150, 30), SLOWER),  # most were in one state
        ((math.nan,) * 4, (150, 140, 155, 150), SLOWER),  # an older record does not say
    ],
    ids=("near", "near and far", "mostly near", "not known"),
)
def test_sides_in_other_states_of_the_cores_are_not_compared(
    before: tuple[float, ...], after: tuple[float, ...], verdict: str
) -> None:
    found = compare(hybrid(1.0, *before), hybrid(1.3, *after), metrics=("ratio_to_library",))
    assert verdicts(found, "ratio_to_library") == {verdict}
    reasons = set(found.rows["reason"])
    says = "the cores were near each other on one side and far apart on the other (--metric handover_ns)"
    assert reasons == ({says} if verdict == UNKNOWN else {""})
    if verdict == UNKNOWN:
        assert f"cannot tell: 4 x {says}" in compare_text.summary(found, SIDES)
        handed = compare(hybrid(1.0, *before), hybrid(1.3, *after), metrics=("handover_ns",))
        assert verdicts(handed, "handover_ns") == {SLOWER}


def in_maps(factor: float, seed: int, **asked: Any) -> pd.DataFrame:
    """Launches of eight maps of nine points, which are noisy."""
    collectives = [f"c{number}" for number in range(8)]
    parts = [
        launches(factor, 3, 9, 100 * seed + place, 0.03, collective=name, **asked)
        for place, name in enumerate(collectives)
    ]
    return pd.concat(parts, ignore_index=True)


def test_all_points_of_a_map_tell_what_none_of_them_tells() -> None:
    before, after = in_maps(1.0, 1), in_maps(1.08, 2)
    of_points = compare(before, after).rows
    assert (of_points.loc[of_points["metric"] == "t_measured_ns", "verdict"] == SLOWER).mean() < 0.5
    found = compare(before, after, of_maps=True)
    assert len(found.rows[found.rows["metric"] == "t_measured_ns"]) == 8
    assert not found.rows["oversubscribed"].any()
    assert verdicts(found) == {SLOWER}
    assert verdicts(found, "r_overhead") == {SAME}
    assert found.rows.loc[found.rows["metric"] == "t_measured_ns", "effect"].mean() == pytest.approx(1.08, rel=0.02)


def test_maps_in_which_nothing_differs_are_not_told_apart() -> None:
    changed = [len(compare(in_maps(1.0, seed), in_maps(1.0, seed + 50), of_maps=True).changed) for seed in range(1, 9)]
    assert sum(changed) == 0


def test_a_launch_that_lacks_the_slow_points_of_a_map_is_no_faster_one() -> None:
    """Points are 1 to 9 times as long as the first; a launch with too few of them does not count."""
    before, after = in_maps(1.0, 1), in_maps(1.0, 2)
    slow = (after["launch"] == 2) & (after["comm_target_ns"] > 5_000_000)
    after.loc[slow, ["valid", "sound"]] = False
    assert not len(compare(before, after, of_maps=True).changed)
    after.loc[(after["launch"] == 2) & (after["comm_target_ns"] > 3_000_000), ["valid", "sound"]] = False
    counted = compare(before, after, of_maps=True).rows
    assert set(counted["launches_b"]) == {2}


def test_points_of_other_sizes_count_for_nothing_in_a_map() -> None:
    before, after = in_maps(1.0, 1), in_maps(1.0, 2)
    other = after["comm_target_ns"] <= 3_000_000
    after.loc[other, "t_comm_ref_ns"] *= 3
    after.loc[other, "message_bytes"] *= 3
    found = compare(before, after, of_maps=True)
    assert verdicts(found, "t_comm_ref_ns") <= {SAME, UNKNOWN}
    assert not len(found.changed)


@pytest.mark.parametrize("what", ["not sound", "of other sizes"])
def test_a_map_that_cannot_be_compared_is_told_of(what: str) -> None:
    before, after = in_maps(1.0, 1), in_maps(1.0, 2)
    metric = "r_overhead" if what == "not sound" else "t_comm_ref_ns"
    if what == "not sound":
        after["sound"] = False
    else:
        after["message_bytes"] *= 3
    found = compare(before, after, of_maps=True).rows
    rows = found[found["metric"] == metric]
    assert len(rows) == 8 and set(rows["verdict"]) == {UNKNOWN}
    assert rows["reason"].str.contains("half of the map's points").all()


def test_what_surely_differs_by_less_than_counts_is_slightly_different() -> None:
    """Between the same and slower: its interval has differences that count, and no equality."""
    a, b = launches(1, 12, 9, 1, 0.012), launches(1.025, 12, 9, 2, 0.012)
    rows = compare(a, b, limits=Limits(least_ratio=0.03)).rows
    rows = rows[rows["metric"] == "t_measured_ns"]
    slight = rows[rows["verdict"] == SLIGHT]
    assert len(slight) > len(rows) / 2
    assert (slight["effect_ci95_low"] > 1).all() and (slight["effect"] < 1.03).all()
    assert (slight["effect_ci95_high"] > 1.03).all()
