"""Acceptance criteria: read with care, held against points and nodes; what was not measured is not passed."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from postprocess.families.hybrid_kernels.record import load_kernels
from postprocess.families.hybrid_kernels.table import kernels_table
from postprocess.families.hybrid_kernels.verdict import MOST_COPIES, places
from postprocess.families.mpi_impact.record import load_impact
from postprocess.families.mpi_impact.table import impact_table
from postprocess.families.nbc_overlap.points import points_of
from postprocess.families.nbc_overlap.record import OverlapRecord, load_overlap, overlaps_of
from postprocess.records.run import load_run
from postprocess.verdicts.acceptance import (
    FAIL,
    FAMILIES_OF,
    NOT_TESTED,
    PASS,
    Criteria,
    CriteriaError,
    Result,
    judge,
    read_criteria,
)
from postprocess.verdicts.verdict_page import acceptance_answer
from tests.postprocess import synthetic, synthetic_hybrid_kernels, synthetic_impact

NOTHING = {"nbc_overlap": pd.DataFrame(), "mpi_impact": pd.DataFrame()}
"""The tables of a run that measured nothing."""


def criteria(tmp_path: Path, text: str) -> Criteria:
    path = tmp_path / "criteria.yaml"
    path.write_text(text)
    return read_criteria(path)


def one(tmp_path: Path, *lines: str) -> Criteria:
    return criteria(tmp_path, "criteria:\n  - name: it\n" + "".join(f"    {line}\n" for line in lines))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    overlaps = replace(synthetic.SERIALISED, overhead=0.1)
    records = [synthetic.sweep(collective="ireduce"), synthetic.sweep(overlaps)]
    return synthetic.run_folder(tmp_path / "run", records)


def judged(run: Path, found: Criteria, **changes: Any) -> Result:
    loaded = load_run(run)
    points = points_of(loaded).assign(**changes)
    (result,) = judge(found, NOTHING | {"nbc_overlap": points}, overlaps_of(loaded).records)
    return result


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        (["where: {collective: ibcast}", "at_most: 0.3"], PASS),
        (["where: {collective: ireduce}", "at_most: 0.3"], FAIL),
        (["where: {collective: ireduce}", "at_least: 0.5"], PASS),
        (["where: {collective: ibcast}", "at_least: 0.5"], FAIL),
        (["where: {collective: ireduce}", "at_most: 1.0"], NOT_TESTED),
        (["take: max", "at_most: 0.3"], FAIL),
        (["take: min", "at_most: 0.3"], PASS),
        (["where: {collective: iscan}", "at_most: 0.3"], NOT_TESTED),
        (["where: {nodes: 64}", "at_most: 0.3"], NOT_TESTED),
        (["where: {collective: ibcast, ranks: 2}", "points: diagonal", "at_most: 0.3"], PASS),
    ],
)
def test_a_criterion(run: Path, tmp_path: Path, lines: list[str], verdict: str) -> None:
    result = judged(run, one(tmp_path, "metric: r_overhead", *lines))
    assert result.verdict == verdict, result


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"oversubscribed": True}, "oversubscribed"),
        ({"complete": False}, "incomplete"),
        ({"valid": False}, "only 0 of 9 points are sound"),
    ],
)
def test_what_does_not_count_is_not_passed(run: Path, tmp_path: Path, changes: dict[str, bool], reason: str) -> None:
    found = one(tmp_path, "metric: r_overhead", "where: {collective: ibcast}", "at_most: 0.9")
    assert judged(run, found).verdict == PASS
    result = judged(run, found, **changes)
    assert result.verdict == NOT_TESTED
    assert reason in result.evidence[0]


def test_a_case_that_failed_is_not_tested_whatever_else_there_is(run: Path, tmp_path: Path) -> None:
    loaded = load_run(run)
    table = points_of(loaded)
    trouble = {"benchmark": "nbc_overlap", "collective": "iscan", "configuration": "basic", "result": "fail",
               "reason": "rank 1 died", "case": "basic iscan"}  # fmt: skip

    def verdict(*lines: str) -> Result:
        found = one(tmp_path, "metric: r_overhead", "at_most: 2", *lines)
        return judge(
            found, {"nbc_overlap": table, "mpi_impact": pd.DataFrame()}, overlaps_of(loaded).records, [trouble]
        )[0]

    assert verdict().evidence == ("basic iscan: fail, rank 1 died",)
    assert verdict("where: {collective: [ibcast, iscan]}").verdict == NOT_TESTED
    assert verdict("where: {collective: [ibcast, ireduce]}").verdict == PASS


def test_what_is_not_there_is_answered_with_what_there_is(run: Path, tmp_path: Path) -> None:
    result = judged(run, one(tmp_path, "metric: r_overhead", "where: {collective: ibkast}", "at_most: 2"))
    assert result.evidence == ("nothing of the kind was measured; collective is ibcast, ireduce there",)


def test_all_that_is_asked_for_must_have_been_measured(run: Path, tmp_path: Path) -> None:
    """A configuration that was skipped is in no table."""
    where = "where: {collective: [ibcast, ireduce], configuration: [basic, async]}"
    result = judged(run, one(tmp_path, "metric: r_overhead", "at_most: 2", where))
    assert result.verdict == NOT_TESTED
    assert result.evidence == ("not all that it asks for was measured: no collective ibcast, configuration async",)


def test_what_is_never_reached_counts(run: Path, tmp_path: Path) -> None:
    found = one(tmp_path, "metric: r_overhead", "where: {collective: ibcast}", "at_most: 4")
    table = points_of(load_run(run))
    half = table.index % 2 == 0
    names = [f"r_overhead{end}" for end in ("", "_ci95_low", "_ci95_high")]
    ends = {name: table[name].where(half, math.inf) for name in names}
    assert judged(run, found).verdict == PASS
    assert judged(run, found, **ends).verdict == FAIL


def test_an_extreme_of_points_needs_all_of_them(run: Path, tmp_path: Path) -> None:
    found = one(tmp_path, "metric: r_overhead", "take: max", "at_most: 5")
    assert judged(run, found).verdict == PASS
    table = points_of(load_run(run))
    assert judged(run, found, valid=table.index != 3).verdict == NOT_TESTED


QUOTIENT = ("metric: t_wall_ns", "where: {operation: alltoall}", "over: {operation: allreduce}")


def of_launches(alltoall: Sequence[float], allreduce: Sequence[float], **changes: Any) -> dict[str, pd.DataFrame]:
    """Times of two operations, a launch each, with intervals of 1 % to either side."""
    rows = [
        dict.fromkeys(FAMILIES_OF["t_wall_ns"][0].columns, "")
        | {"operation": operation, "launch": launch, "repeat": launch, "t_wall_ns": value}
        | {"t_wall_ns_ci95_low": 0.99 * value, "t_wall_ns_ci95_high": 1.01 * value}
        | {"valid": True, "complete": True, "oversubscribed": False}
        for operation, values in (("alltoall", alltoall), ("allreduce", allreduce))
        for launch, value in enumerate(values, 1)
    ]
    return {"cpu_overhead": pd.DataFrame(rows).assign(**changes)}


def test_a_quotient_is_of_launches_side_by_side(tmp_path: Path) -> None:
    """Launches that differ by much, in which one is always twice the other: so is the value, and sure."""
    twice = of_launches([200.0, 400.0, 800.0, 300.0], [100.0, 200.0, 400.0, 150.0])
    for bound, verdict in (("at_least: 1.9", PASS), ("at_most: 1.9", FAIL)):
        (result,) = judge(one(tmp_path, *QUOTIENT, bound), twice, [])
        assert (result.verdict, result.value) == (verdict, 2.0)
    (few,) = judge(one(tmp_path, *QUOTIENT, "at_least: 1.9"), of_launches([200.0], [100.0]), [])
    assert (few.low, few.high) == pytest.approx((2 * 0.99 / 1.01, 2 * 1.01 / 0.99))


def test_launches_in_which_a_bound_is_never_reached_are_not_left_out(tmp_path: Path) -> None:
    never = of_launches([math.inf, math.inf, math.inf, 8.0], [])
    (result,) = judge(one(tmp_path, *QUOTIENT[:2], "at_most: 16"), never, [])
    assert (result.verdict, result.value) == (FAIL, math.inf)


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        (of_launches([200.0, 210.0, 220.0], []), "nothing of the kind"),
        (of_launches([200.0, 210.0, 220.0], [-1.0, 1.0, 0.5]), "not surely above 0"),
        (of_launches([200.0, 210.0, 220.0], [100.0, 100.0, 110.0], valid=False), "only 0 of 3 points"),
    ],
)
def test_a_quotient_of_what_is_not_known_is_not_tested(
    tmp_path: Path, tables: dict[str, pd.DataFrame], why: str
) -> None:
    (result,) = judge(one(tmp_path, *QUOTIENT, "at_least: 1"), tables, [])
    assert result.verdict == NOT_TESTED
    assert why in result.evidence[0]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (("over: {}",), "over takes metric and conditions"),
        (("over: {operation: allreduce}", "take: max"), "medians and means"),
        (("over: {metric: r_overhead}",), "has no metric 'r_overhead'"),
        (("over: {colour: red}",), "'colour' is unknown"),
    ],
)
def test_a_quotient_that_cannot_be_meant_is_refused(tmp_path: Path, lines: tuple[str, ...], says: str) -> None:
    with pytest.raises(CriteriaError, match=says):
        one(tmp_path, *QUOTIENT[:2], *lines, "at_least: 1")


def nodes(tmp_path: Path, factors: list[float]) -> tuple[OverlapRecord, ...]:
    """One rank on each node, whose computation alone takes a factor longer."""
    lines = synthetic.sweep(ranks=len(factors), nodes=len(factors))
    for rank, place in enumerate(lines[0]["placement"]):
        place |= {"host": f"n{rank}", "node": rank}
    for line in lines[1:-1]:
        line["rank_medians"]["t_comp_ref_ns"] = [
            round(time * factor) for time, factor in zip(line["rank_medians"]["t_comp_ref_ns"], factors, strict=True)
        ]
    return (load_overlap(synthetic.write(tmp_path / "nodes.jsonl", lines)),)


def test_a_weak_node_is_named(tmp_path: Path) -> None:
    found = one(tmp_path, "metric: t_comp_ref_ns", "by: host", "at_most: 1.05")
    (good,) = judge(found, NOTHING, nodes(tmp_path, [1, 1.01, 1, 0.99]))
    assert good.verdict == PASS, good
    (weak,) = judge(found, NOTHING, nodes(tmp_path, [1, 1.2, 1, 0.99]))
    assert weak.verdict == FAIL
    assert any(line.startswith("weak node: n1, 1.2") for line in weak.evidence)
    both = one(tmp_path, "metric: t_comp_ref_ns", "by: host", "at_most: 1.05", "at_least: 0.9")
    (fast,) = judge(both, NOTHING, nodes(tmp_path, [1, 1, 1, 0.5]))
    assert fast.verdict == FAIL
    (alone,) = judge(found, NOTHING, nodes(tmp_path, [1.0]))
    assert alone.verdict == NOT_TESTED


def test_nodes_that_must_be_there_are_missed(tmp_path: Path) -> None:
    records = nodes(tmp_path, [1, 1.01, 1, 0.99])
    words = ("metric: t_comp_ref_ns", "by: host", "at_most: 1.05")
    for hosts, verdict, said in (
        ("4", PASS, ""),
        ("64", NOT_TESTED, "4 nodes were compared, not 64"),
        ("[n0, n3]", PASS, ""),
        ("[n0, n7, n9]", NOT_TESTED, "not compared: n7, n9"),
    ):
        (result,) = judge(one(tmp_path, *words, f"hosts: {hosts}"), NOTHING, records)
        assert result.verdict == verdict
        assert said in result.evidence[0]
    found = one(tmp_path, *words, "hosts: 64")
    assert found.criteria[0].words.endswith("all cases, 64 nodes")
    (weak,) = judge(found, NOTHING, nodes(tmp_path, [1, 1.2, 1, 0.99]))
    assert weak.verdict == FAIL
    assert "4 nodes were compared, not 64" in weak.evidence


def test_the_impact_of_an_idle_library_is_held_against_its_bound(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", synthetic_impact.synthetic(16, synthetic_impact.slowed(1.1)))
    table = impact_table([load_impact(path)])
    for bound, verdict in (("at_most: 1.02", FAIL), ("at_most: 1.2", PASS)):
        found = one(tmp_path, "metric: r_mpi_impact", f"where: {{configuration: {table['configuration'][0]}}}", bound)
        (result,) = judge(found, {"nbc_overlap": pd.DataFrame(), "mpi_impact": table}, [])
        assert result.verdict == verdict, result
    with pytest.raises(CriteriaError, match="where takes benchmark, toolchain"):
        one(tmp_path, "metric: r_mpi_impact", "where: {collective: ibcast}", "at_most: 1")


def test_rows_of_a_kind_that_cannot_have_the_metric_do_not_count(tmp_path: Path) -> None:
    """Pure MPI has no ratio to itself. A row that only failed to get its ratio is not sound, and counts."""
    path = synthetic.write(tmp_path / "r.jsonl", synthetic_hybrid_kernels.record())
    table = kernels_table([load_kernels(path)])

    def verdict(table: pd.DataFrame, *lines: str) -> Result:
        found = one(tmp_path, "metric: ratio_to_mpi", "take: max", "at_most: 1.3", *lines)
        return judge(found, {"hybrid_kernels": table}, [])[0]

    assert verdict(table).verdict == PASS
    assert verdict(table).evidence[0] == (
        "6 of 6 points, of 1 launch, are sound and count; 3 more are of a kind that has no ratio_to_mpi"
    )
    asked_for = verdict(table, "where: {variant: [mpi, hybrid]}")
    assert asked_for.evidence[0] == "only 3 of 6 points are sound, all are needed"
    failed = (table["variant"] == "hybrid") & (table["kernel"] == "bpmf")
    without = table.assign(
        ratio_to_mpi=table["ratio_to_mpi"].mask(failed), valid=table["valid"].mask(failed, other=False)
    )
    assert verdict(without).verdict == NOT_TESTED
    assert "only 5 of 6 points are sound" in verdict(without).evidence[0]
    invalid = table.assign(valid=table["valid"].mask(table["variant"] == "mpi", other=False))
    assert "only 6 of 9 points are sound" in verdict(invalid).evidence[0]
    assert verdict(table, "where: {benchmark: hybrid_kernels}").verdict == PASS
    assert verdict(table, "where: {benchmark: hybrid}").evidence == (
        "nothing of the kind was measured; benchmark is hybrid_kernels there",
    )


@pytest.mark.parametrize(
    ("copies", "errors", "verdict", "says"),
    [
        (1.05, 0, PASS, "holds"),
        (2.0, 0, FAIL, "does not hold"),
        (1.05, 1, NOT_TESTED, "cannot be told, summa of size 362 is not valid"),
    ],
    ids=("one copy", "two copies", "a wrong result"),
)
def test_what_is_counted_needs_no_cores_and_no_interval(
    tmp_path: Path, copies: float, errors: int, verdict: str, says: str
) -> None:
    """Copies in memory, where ranks share cores and no time was measured. The report judges alike."""
    lines = synthetic_hybrid_kernels.record(oversubscribed=True, own={"memory_only": True})
    for index, kernel in enumerate(synthetic_hybrid_kernels.KERNELS):
        line = synthetic_hybrid_kernels.point(
            index, kernel=kernel, repetitions=0, data_errors=errors if kernel == "summa" else 0
        )
        line["own"]["variants"]["hybrid"]["replicated_pss_bytes"] = round(copies * line["own"]["copy_bytes"])
        lines[1 + index] = line
    table = kernels_table([load_kernels(synthetic.write(tmp_path / "r.jsonl", lines))])
    found = read_criteria(ROOT / "docs" / "benchmarks" / "hybrid-targets.yaml")
    (of_kernels,) = (criterion for criterion in found.criteria if criterion.metric == "measured_copies_per_node")
    assert of_kernels.at_most == MOST_COPIES
    (result,) = judge(replace(found, criteria=(of_kernels,)), {"hybrid_kernels": table}, [])
    assert result.verdict == verdict, result
    (place,) = places(table)
    assert f": {says}; " in place.memory
    timed = judge(
        one(tmp_path, "metric: t_ns", "where: {benchmark: hybrid_kernels}", "at_most: 1"), {"hybrid_kernels": table}, []
    )[0]
    assert timed.evidence == ("it was measured oversubscribed",)


@pytest.mark.parametrize("metric", FAMILIES_OF)
def test_cases_of_every_family_can_be_chosen_by_benchmark(tmp_path: Path, metric: str) -> None:
    for family in FAMILIES_OF[metric]:
        for benchmark in family.benchmarks:
            document = one(tmp_path, f"metric: {metric}", f"where: {{benchmark: {benchmark}}}", "at_most: 1")
            (found,) = document.criteria
            assert (found.family, found.where) == (family, {"benchmark": (benchmark,)})


def test_a_metric_of_several_benchmarks_needs_one_unless_the_main_one_has_it(tmp_path: Path) -> None:
    (of_overlap,) = one(tmp_path, "metric: r_overhead", "at_most: 1").criteria
    assert of_overlap.family.name == "nbc_overlap"
    (of_hybrid,) = one(tmp_path, "metric: r_overhead", "where: {benchmark: [hybrid]}", "at_most: 1").criteria
    assert of_hybrid.family.name == "hybrid"
    for where in ("where: {}", "where: {benchmark: nbc_overlap}", "where: {benchmark: [partitioned, cpu_overhead]}"):
        with pytest.raises(CriteriaError, match=r"choose one by where: .*, of partitioned, cpu_overhead, loggp"):
            one(tmp_path, "metric: availability", where, "at_least: 0.5")


def test_nodes_measured_in_turn_are_compared_on_the_same_sizes_only(tmp_path: Path) -> None:
    found = one(tmp_path, "metric: t_comp_ref_ns", "by: host", "at_most: 1.05")

    def node(host: str, factor: float, work: int = 5) -> OverlapRecord:
        lines = synthetic.sweep(host=host)
        for line in lines[1:-1]:
            line["parameters"]["work_size"] = work
            line["rank_medians"]["t_comp_ref_ns"] = [round(factor * t) for t in line["rank_medians"]["t_comp_ref_ns"]]
        return load_overlap(synthetic.write(tmp_path / f"{host}.jsonl", lines))

    nodes_ = [node("n0", 1.0), node("n1", 1.01), node("n2", 1.2), node("n3", 0.99)]
    (weak,) = judge(found, NOTHING, nodes_)
    assert weak.verdict == FAIL
    assert [line for line in weak.evidence if line.startswith("weak node: ")] == [weak.evidence[1]]
    assert "n2, 1.2" in weak.evidence[1]
    (other,) = judge(found, NOTHING, [node("n0", 1.0), node("n1", 1.5, work=7)])
    assert other.verdict == NOT_TESTED
    unlike = [node("n0", 1.0), node("n1", 1.01), node("n2", 1.5, work=7)]
    (result,) = judge(found, NOTHING, unlike)
    assert result.verdict == NOT_TESTED
    assert "not comparable" in result.evidence[0]
    assert "n2" in result.evidence[0]
    (weak,) = judge(found, NOTHING, [*unlike, node("n3", 1.2)])
    assert weak.verdict == FAIL
    assert "n2" in weak.evidence[-1]


@pytest.mark.parametrize("weak", ["n0", "n2", None])
def test_a_node_with_a_weak_link_is_told_from_the_partners_that_wait_for_it(tmp_path: Path, weak: str | None) -> None:
    """Pairs in a ring of four: both nodes of a pair take equally long, because each waits for the other."""
    found = one(tmp_path, "metric: t_comm_ref_ns", "by: host", "at_most: 1.05", "hosts: 4")

    def pair(first: str, second: str) -> OverlapRecord:
        lines = synthetic.sweep(ranks=2, nodes=2)
        for rank, host in enumerate((first, second)):
            lines[0]["placement"][rank] |= {"host": host, "node": rank}
        for line in lines[1:-1]:
            factor = 1.3 if weak in (first, second) else 1
            line["rank_medians"]["t_comm_ref_ns"] = [round(factor * t) for t in line["rank_medians"]["t_comm_ref_ns"]]
        return load_overlap(synthetic.write(tmp_path / f"{first}-{second}.jsonl", lines))

    pairs = [pair(f"n{number}", f"n{(number + 1) % 4}") for number in range(4)]
    (result,) = judge(found, NOTHING, pairs)
    assert result.verdict == (FAIL if weak else PASS)
    named = [line for line in result.evidence if line.startswith("weak node: ")]
    assert [line.split(",")[0] for line in named] == ([f"weak node: {weak}"] if weak else [])


def test_a_node_whose_interval_holds_the_bound_is_perhaps_weak(tmp_path: Path) -> None:
    lines = synthetic.sweep(ranks=4, nodes=4)
    for rank, place in enumerate(lines[0]["placement"]):
        place |= {"host": f"n{rank}", "node": rank}
    for number, line in enumerate(lines[1:-1]):
        times = line["rank_medians"]["t_comp_ref_ns"]
        line["rank_medians"]["t_comp_ref_ns"] = [*times[:3], round(times[3] * (1.2 if number % 3 else 1.0))]
    record = load_overlap(synthetic.write(tmp_path / "nodes.jsonl", lines))
    (result,) = judge(one(tmp_path, "metric: t_comp_ref_ns", "by: host", "at_most: 1.1"), NOTHING, [record])
    assert result.verdict == NOT_TESTED
    assert [line for line in result.evidence if "weak" in line] == [
        "perhaps weak: n3, 1.200 [1.000, 1.200] of the median node"
    ]


def test_accepted_only_if_every_criterion_passes(run: Path, tmp_path: Path) -> None:
    loaded = load_run(run)

    def answer(*bounds: float) -> str:
        text = "".join(f"  - {{name: c{i}, metric: r_overhead, at_most: {b}}}\n" for i, b in enumerate(bounds))
        found = criteria(tmp_path, f"criteria:\n{text}")
        return acceptance_answer(
            judge(found, {"nbc_overlap": points_of(loaded), "mpi_impact": pd.DataFrame()}, overlaps_of(loaded).records)
        )

    assert answer(2, 3) == "PASS: all 2 criteria"
    assert answer(2, -1) == "FAIL: 1 of 2 criteria fail"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no list 'criteria'"),
        ("criteria: []", "no list 'criteria'"),
        ("a: [", "is no YAML"),
        ("title: x\nextra: 1\ncriteria: [{metric: r_overhead, at_most: 1}]", "'extra' is unknown"),
        ("criteria: [5]", "criterion 1 is no list of names"),
        ("criteria: [{metric: speed, at_most: 1}]", "metric 'speed': one of"),
        ("criteria: [{metric: r_overhead}]", "neither at_most nor at_least"),
        ("criteria: [{metric: r_overhead, at_most: .nan}]", "'nan' is no bound"),
        ("criteria: [{metric: r_overhead, at_most: yes}]", "'True' is no bound"),
        ("criteria: [{metric: r_overhead, at_most: 1, at_mots: 2}]", "'at_mots' is unknown"),
        (
            "criteria: [{metric: r_overhead, at_most: 1, where: {colour: red}}]",
            "where: 'colour' is unknown; where takes",
        ),
        ("criteria: [{metric: r_overhead, at_most: 1, where: 5}]", "where takes"),
        ("criteria: [{metric: r_overhead, at_most: 1, at_most: 2}]", "'at_most' is there twice"),
        ("criteria: [{metric: r_overhead, at_most: 1, at_least: 2}]", "at_least 2 is above at_most 1"),
        ("criteria: [{metric: r_overhead, at_most: 1, points: some}]", "points 'some'"),
        ("criteria: [{metric: r_overhead, at_most: 1, take: best}]", "take 'best'"),
        ("criteria: [{metric: r_overhead, by: host, at_most: 1}]", "metric 'r_overhead': one of t_comp_ref_ns"),
        ("criteria: [{metric: t_comp_ref_ns, by: rack, at_most: 1}]", "by 'rack'"),
        ("criteria: [{name: a, metric: r_comm, at_most: 1}, {name: a, metric: r_comm, at_most: 2}]", "two criteria"),
        ("criteria: [{metric: t_comp_ref_ns, by: host, take: max, at_most: 1}]", "take is not for by: host"),
        ("criteria: [{metric: r_overhead, take: [max], at_most: 1}]", "take '"),
        ("criteria: [{metric: r_overhead, hosts: 4, at_most: 1}]", "hosts is for by: host"),
        ("criteria: [{metric: t_comp_ref_ns, by: host, hosts: 1, at_most: 1}]", "hosts '1': how many"),
        ("criteria: [{metric: t_comp_ref_ns, by: host, hosts: [1], at_most: 1}]", "a list of their names"),
        ("criteria: [{metric: t_measured_ns, at_most: 1}]", "metric 't_measured_ns': one of"),
        ("criteria: [{metric: r_comm, at_most: 1, where: {comm_target_ns: 1e6}}]", "it takes whole numbers"),
        ("criteria: [{metric: r_comm, at_most: 1, where: {collective: []}}]", "it takes words"),
        ("criteria: [{metric: gain, at_least: 1, where: {delay_ratio: much}}]", "it takes numbers, such as 2.5"),
        (f"criteria: [{{metric: r_comm, at_most: {'9' * 400}}}]", "is no bound"),
        ("title: 2026-02-30\ncriteria: [{metric: r_comm, at_most: 1}]", "is no YAML"),
        ('title: "\\ud800"\ncriteria: [{metric: r_comm, at_most: 1}]', "is no YAML"),
        ("criteria: !!python/object/apply:os.system ['true']", "is no YAML"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CriteriaError, match=message) as refused:
        criteria(tmp_path, text)
    assert "\n" not in str(refused.value)


@given(st.data())
def test_any_document_is_read_or_refused_in_a_line(tmp_path: Path, data: st.DataObject) -> None:
    """Anything in the place of any value."""
    scalar = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.dates())
    junk = st.recursive(scalar, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(scalar, inner, max_size=2))
    criterion: dict[str, Any] = {
        "name": "a", "metric": "r_comm", "where": {"ranks": 2}, "points": "all", "take": "max", "at_most": 1,
    }  # fmt: skip
    key = data.draw(st.sampled_from([*criterion, "by", "hosts", "at_least"]))
    document = {"title": "t", "criteria": [{**criterion, key: data.draw(junk)}]}
    try:
        criteria(tmp_path, yaml.safe_dump(document, allow_unicode=data.draw(st.booleans())))
    except CriteriaError as error:
        assert "\n" not in str(error)
