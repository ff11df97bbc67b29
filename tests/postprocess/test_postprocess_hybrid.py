"""Records of hybrid collectives: ratios and verdicts against a known truth, what may be used, pictures and report."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mpi_campaign import ROOT
from postprocess.drawing.curve_plot import chart_figure
from postprocess.drawing.curve_view import chart_view
from postprocess.families import registry, sampled_inside
from postprocess.families.hybrid import claims, entry, once, overlap
from postprocess.families.hybrid.axes import ALONE, WHOLE
from postprocess.families.hybrid.charts import METHODS, charts
from postprocess.families.hybrid.entry import BOUNDS, HYBRID, SECTION, verdicts
from postprocess.families.hybrid.operations import OPERATIONS as EVERY
from postprocess.families.hybrid.operations import PAPERS as OPERATIONS
from postprocess.families.hybrid.record import load_hybrid
from postprocess.families.hybrid.table import hybrid_table, record_numbers
from postprocess.families.sampled_table import having
from postprocess.verdicts.acceptance import FAIL, NOT_TESTED, PASS, Criteria, judge, read_criteria
from tests.postprocess import synthetic
from tests.postprocess.synthetic_hybrid import (
    FASTER,
    ONE_OFF,
    SIZES,
    SLOWER,
    THE_SAME,
    TRIALS_NS,
    Lines,
    Truth,
    library_ns,
    point,
    record,
)
from tests.support import check_record

VARIANTS = ("spin", "barrier")
WITH_CONTROL = (*VARIANTS, "paper")
"""The own choice, and the paper's own method for every collective."""


def table_of(path: Path, *records: Lines) -> pd.DataFrame:
    return hybrid_table([load_hybrid(file) for file in synthetic.written(path, records)])


ALL_SIZES = (8, 800, 4096, 1048576)
"""Those without which no target holds."""
SETTINGS = ("usual", "shared_memory", "point_to_point")


def glance(table: pd.DataFrame) -> list[claims.Glance]:
    points = claims.cases(table)
    return claims.at_a_glance(points, claims.targets(points))


def whole_run(truth: Truth, operations: Sequence[str] = ("bcast",), variants: Sequence[str] = ("spin",)) -> list[Lines]:
    """The records of a run that has all that targets are about: a launch per setting of the MPI library."""
    return [record(truth, operations, variants, ALL_SIZES, asked={"intranode": one}) for one in SETTINGS]


def partial_run(
    truth: Truth, usual: Sequence[int], shared: Sequence[int], point_to_point: Sequence[int]
) -> list[Lines]:
    """The same with other sizes; without those of a setting, there is no launch of it."""
    of_setting = zip(SETTINGS, (usual, shared, point_to_point), strict=True)
    return [record(truth, sizes=sizes, asked={"intranode": one}) for one, sizes in of_setting if sizes]


def rows_of(path: Path, truth: Truth = FASTER, *, header: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The rows of a record of one point, by what they time."""
    lines = record(truth, sizes=(4096,), **(header or {}))
    lines[1] = point(truth=truth, **changes)
    return {row["timed"]: row for row in table_of(path, lines).to_dict("records")}


@pytest.mark.parametrize("truth", [FASTER, SLOWER, THE_SAME])
def test_times_and_ratios_are_the_truths(tmp_path: Path, truth: Truth) -> None:
    for row in table_of(tmp_path, record(truth)).to_dict("records"):
        whole = row["timed"] == WHOLE
        ratio = truth.whole if whole else truth.alone
        time_ns = library_ns(truth, row["message_bytes"]) / (1 if whole else 2)
        assert row["t_library_ns"] == pytest.approx(time_ns, rel=0.01)
        assert row["t_ns"] == pytest.approx(ratio * time_ns, rel=0.02)
        assert row["ratio_to_library"] == pytest.approx(ratio, rel=0.01)
        assert row["ratio_to_library_ci95_low"] <= row["ratio_to_library"] <= row["ratio_to_library_ci95_high"]


@pytest.mark.parametrize(
    ("truth", "says"), [(FASTER, "faster"), (SLOWER, "slower"), (THE_SAME, "cannot tell")], ids=str
)
def test_a_verdict_is_what_the_interval_says(tmp_path: Path, truth: Truth, says: str) -> None:
    assert rows_of(tmp_path, truth)[WHOLE]["verdict"] == says


def test_noise_that_both_libraries_share_does_not_widen_the_ratio(tmp_path: Path) -> None:
    row = rows_of(tmp_path, replace(FASTER, noise=0.4))[WHOLE]
    assert row["t_ns_ci95_high"] - row["t_ns_ci95_low"] > 0.1 * row["t_ns"]
    assert row["ratio_to_library_ci95_high"] - row["ratio_to_library_ci95_low"] < 0.01


def test_a_wide_interval_on_one_side_of_1_is_a_verdict_and_not_a_reliable_ratio(tmp_path: Path) -> None:
    row = rows_of(tmp_path, Truth(whole=0.3, ratio_noise=0.3))[WHOLE]
    assert row["verdict"] == "faster"
    assert not row["reliable"]
    assert "% of the ratio" in row["unreliable_reasons"][0]


@pytest.mark.parametrize(
    ("header", "changes", "reason"),
    [
        ({"own": {"virtual_node_ranks": 1, "shared_nodes": 2}}, {}, "the nodes are virtual"),
        ({"own": {"shared_nodes": 2}}, {}, "the nodes are virtual, seen by the MPI library"),
        ({"network": "wire:2gbit"}, {}, "over a wire the MPI library sends"),
    ],
)
def test_what_is_not_reliable_says_why_and_has_no_verdict(
    tmp_path: Path, header: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    row = rows_of(tmp_path, header=header, **changes)[WHOLE]
    synthetic.check_unreliable(row, reason)
    assert row["verdict"] == "cannot tell"


def test_the_collective_alone_within_a_node_is_said_to_be_no_copy(tmp_path: Path) -> None:
    rows = rows_of(tmp_path)
    assert rows[ALONE]["flags"] == ["a wait against a copy"]
    assert rows[WHOLE]["flags"] == []
    # An allreduce reduces, with either library.
    table = table_of(tmp_path / "b", record(operations=("allreduce",)))
    assert not any(table["flags"])


def settings_of(tmp_path: Path, operation: str = "bcast", **truths: Truth) -> pd.DataFrame:
    """The table of a launch per setting of the MPI library."""
    return table_of(
        tmp_path,
        *(
            record(truth, (operation,), ("spin", "barrier", "paper"), (4096,), asked={"intranode": setting})
            for setting, truth in truths.items()
        ),
    )


def test_the_best_setting_of_the_library_is_the_one_that_it_is_fastest_with(tmp_path: Path) -> None:
    table = settings_of(tmp_path, usual=FASTER, shared_memory=SLOWER, point_to_point=Truth(whole=0.2))
    whole = table[table["timed"] == WHOLE]
    assert set(whole["baseline"]) == {"library, usual", "library, shared memory", "library, point to point"}
    assert set(whole["settings"]) == {"usual, shared_memory, point_to_point"}
    assert set(whole["best_setting"]) == {"shared_memory"}
    assert whole["ratio_to_best_library"].to_numpy() == pytest.approx(1.25, rel=0.01)
    assert set(whole["best_verdict"]) == {"slower"}
    assert set(whole[whole["intranode"] == "usual"]["verdict"]) == {"faster"}
    assert {tuple(row[3:]) for row in verdicts(whole)} == {("", "4 KiB", "")}


def test_one_setting_is_the_best_of_itself(tmp_path: Path) -> None:
    table = table_of(tmp_path, record())
    for end in ("", "_ci95_low", "_ci95_high"):
        assert (table[f"ratio_to_best_library{end}"] == table[f"ratio_to_library{end}"]).all()
    assert (table["best_verdict"] == table["verdict"]).all()


def test_a_variant_is_compared_with_the_papers_own_method(tmp_path: Path) -> None:
    row = rows_of(tmp_path, Truth(whole=0.6, papers=1.2))[WHOLE]
    assert row["ratio_to_papers_own"] == pytest.approx(0.5, rel=0.02)
    assert row["ratio_to_papers_own_ci95_low"] <= 0.5 <= row["ratio_to_papers_own_ci95_high"]


def test_repetitions_in_another_state_of_the_cores_are_left_out(tmp_path: Path) -> None:
    row = rows_of(tmp_path, Truth(whole=0.8, far=6, noise=0.0))[WHOLE]
    assert row["ratio_to_library"] == pytest.approx(0.8, rel=0.01)
    assert row["t_library_ns"] == pytest.approx(library_ns(FASTER, 4096), rel=0.01)
    assert (row["repetitions"], row["other_state_repetitions"]) == (15, 6)
    assert row["handover_ns"] == pytest.approx(63, rel=0.1)
    assert row["flags"] == ["6 of 21 repetitions left out: the cores were in another state"]
    # Too few are left in any one state.
    assert not rows_of(tmp_path, Truth(far=4), repetitions=8)[WHOLE]["valid"]
    # Half of them in each state: one state counts, and nothing between the two.
    half = rows_of(tmp_path, Truth(far=10), repetitions=20)[WHOLE]
    assert (half["valid"], half["repetitions"], half["handover_ns"]) == (True, 10, 60)


def test_settings_that_were_measured_in_different_states_say_so(tmp_path: Path) -> None:
    table = settings_of(tmp_path, usual=FASTER, shared_memory=Truth(whole=1.25, handover_ns=240))
    whole = table[table["timed"] == WHOLE]
    says = "the cores were in other states with other settings: a hand-over took 60 ns to 240 ns"
    assert all(one == [says] for one in whole["flags"])
    assert set(whole["best_handover_ns"]) == {240}
    assert claims.targets(claims.cases(table))["handover_ns"].iloc[0] == 240
    same = settings_of(tmp_path / "b", usual=FASTER, shared_memory=SLOWER)
    assert not any(same[same["timed"] == WHOLE]["flags"])


def target(table: pd.DataFrame, words: str = "at most 1.05") -> dict[str, Any]:
    """The only target whose words have these."""
    (row,) = [row for row in claims.targets(claims.cases(table)).to_dict("records") if words in row["target"]]
    return {str(name): value for name, value in row.items()}


@pytest.mark.parametrize(
    ("truth", "says"),
    [(FASTER, "holds"), (SLOWER, "missed"), (Truth(whole=1.05, ratio_noise=0.01), "cannot be told")],
    ids=("faster", "slower", "as the bound"),
)
def test_a_claim_is_judged_by_intervals(tmp_path: Path, truth: Truth, says: str) -> None:
    row = target(table_of(tmp_path, *whole_run(truth)))
    assert (row["operation"], row["timed"], row["setting"], row["verdict"]) == ("bcast", WHOLE, "usual", says)
    assert row["ratio"] == pytest.approx(truth.whole, rel=0.01)
    assert row["ratio_ci95_low"] <= row["ratio"] <= row["ratio_ci95_high"]
    assert row["missed_bytes"] == ([4096, 1048576] if says == "missed" else [])  # the claim is about these sizes


def test_a_claim_rests_on_all_launches_of_a_case(tmp_path: Path) -> None:
    """Of five launches a slow one alone misses nothing, and lets nothing hold."""
    fast, slow = (table_of(tmp_path / str(truth.whole), *whole_run(truth)) for truth in (FASTER, SLOWER))

    def judged(*launches: pd.DataFrame) -> dict[str, Any]:
        return target(pd.concat([table.assign(launch=n) for n, table in enumerate(launches, 1)], ignore_index=True))

    assert [judged(*tables)["verdict"] for tables in ([fast] * 3, [slow] * 3)] == ["holds", "missed"]
    mixed = judged(fast, fast, slow, fast, fast)
    assert (mixed["verdict"], mixed["ratio"]) == ("cannot be told", pytest.approx(FASTER.whole, rel=0.01))
    assert "likely" in judged(fast)["library"] and "likely" not in mixed["library"]


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[0].update(oversubscribed=True),
        lambda lines: lines[0]["own"].update(virtual_node_ranks=1, shared_nodes=2),
        lambda lines: lines[3].update(data_errors=1),
    ],
    ids=("oversubscribed", "virtual nodes", "wrong data at one size"),
)
def test_a_claim_with_a_doubtful_point_cannot_be_told(tmp_path: Path, change: Any) -> None:
    records = whole_run(FASTER)
    assert target(table_of(tmp_path, *records))["verdict"] == "holds"
    for lines in records:
        change(lines)
    assert target(table_of(tmp_path / "b", *records))["verdict"] == "cannot be told"


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ((ALL_SIZES, (), ()), "only usual was measured"),
        (((), ALL_SIZES, ALL_SIZES), "only shared memory and point to point were measured"),
        (([8, 4096, 65536],) * 3, "1 MiB was not measured with each setting"),
        ((ALL_SIZES, [8, 800, 4096, 65536], ALL_SIZES), "64 KiB and 1 MiB were not measured with each setting"),
    ],
    ids=("one setting", "not the usual one", "no long messages", "sizes that one setting lacks"),
)
def test_a_claim_does_not_hold_beyond_what_was_measured(
    tmp_path: Path, sizes: tuple[Sequence[int], Sequence[int], Sequence[int]], says: str
) -> None:
    table = table_of(tmp_path, *partial_run(FASTER, *sizes))
    row = target(table)
    assert (row["verdict"], row["lacking"]) == ("cannot be told", says)
    assert f"cannot be told: {says}" in claims.text(table)
    ((_, (faster,)),) = claims.break_evens(claims.cases(table))
    assert faster == f"bcast: cannot be told, {says}"
    # What is missed with one setting, or at one size, is missed.
    row = target(table_of(tmp_path / "b", *partial_run(SLOWER, *sizes)))
    assert (row["verdict"], row["lacking"]) == ("missed", "")


def test_a_claim_does_not_hold_with_a_record_that_was_cut(tmp_path: Path) -> None:
    records = whole_run(FASTER)
    records[2].pop()
    row = target(table_of(tmp_path, *records))
    assert (row["verdict"], row["lacking"]) == ("cannot be told", "a record is incomplete")


def test_nothing_is_claimed_of_a_library_against_itself(tmp_path: Path) -> None:
    """The negative control."""
    table = table_of(tmp_path, *whole_run(THE_SAME, OPERATIONS, WITH_CONTROL))
    found = claims.targets(claims.cases(table))
    alone = found[found["timed"] == ALONE]
    assert len(alone) == 3 and set(alone["verdict"]) == {"missed"}
    assert set(found[found["target"].str.contains("paper's own")]["verdict"]) == {"cannot be told"}
    ((_, faster),) = claims.break_evens(claims.cases(table))
    assert faster == ["allgather: at no size", "bcast: at no size", "allreduce: at no size"]


@pytest.mark.parametrize(
    ("own", "control", "says"),
    [
        (0.8, 1.0, "holds"),
        (1.2, 1.0, "missed"),
        (0.8, 0.9, "holds"),
        (0.8, 0.7, "cannot be told"),
        (0.8, 1.4, "cannot be told"),
        (1.2, 1.1, "missed"),
        (1.2, 0.7, "cannot be told"),
        (1.2, 1.4, "cannot be told"),
    ],
)
def test_a_ratio_to_the_papers_own_method_counts_beyond_what_this_method_differs_from_itself(
    tmp_path: Path, own: float, control: float, says: str
) -> None:
    truth = Truth(by_variant={"spin": own, "barrier": control}, ratio_noise=0.002)
    row = target(table_of(tmp_path, *whole_run(truth, variants=VARIANTS)), "paper's own")
    assert (row["ratio"], row["verdict"]) == (pytest.approx(own, rel=0.01), says)
    assert row["control_least"] == pytest.approx(control, rel=0.01) == row["control_most"]


def test_without_a_control_nothing_is_said_about_the_papers_own_method(tmp_path: Path) -> None:
    row = target(table_of(tmp_path, *whole_run(FASTER)), "paper's own")
    assert row["verdict"] == "cannot be told" and math.isnan(row["control_least"])
    assert claims.OF_CASE.cells(row)[claims.OF_CASE.heads.index("control")] == ""
    truth = Truth(by_variant={"spin": 0.8, "barrier": 1.0}, ratio_noise=0.002)
    lines, *others = whole_run(truth, variants=VARIANTS)
    assert target(table_of(tmp_path / "b", lines, *others), "paper's own")["verdict"] == "holds"
    lines[1 + len(ALL_SIZES)].update(data_errors=1)  # a point of the control
    row = target(table_of(tmp_path / "c", lines, *others), "paper's own")
    assert (row["verdict"], row["lacking"]) == ("cannot be told", "")


def test_a_control_is_of_the_same_setting(tmp_path: Path) -> None:
    off = Truth(by_variant={"spin": 0.8, "barrier": 0.5})
    right = Truth(by_variant={"spin": 0.8, "barrier": 1.0}, ratio_noise=0.002)
    row = target(settings_of(tmp_path, usual=off, shared_memory=right), "paper's own")
    assert (row["control_least"], row["control_most"]) == (pytest.approx(0.5, rel=0.01), pytest.approx(1.0, rel=0.01))
    assert row["verdict"] == "cannot be told"


NIGHTLY_SIZES = (8, 64, 800, 4096, 16384, 65536, 262144, 1048576)


def criteria_of(claim: claims.Claim, operation: str) -> Criteria:
    """The criterion of the file of targets that states the same."""
    whole = read_criteria(ROOT / "docs" / "benchmarks" / "hybrid-targets.yaml")
    (found,) = (
        one
        for one in whole.criteria
        if one.metric == claim.column
        and one.at_most == pytest.approx(claim.bound, rel=1e-12)
        and one.where["operation"] == (operation,)
        and one.where["timed"] == (claim.timed,)
        and one.where["message_bytes"]
        == tuple(size for size in NIGHTLY_SIZES if claim.least_bytes <= size <= claim.most_bytes)
    )
    return replace(whole, criteria=(found,))


def test_the_file_of_targets_states_every_claim() -> None:
    for claim in claims.CLAIMS:
        for operation in claim.operations:
            (found,) = criteria_of(claim, operation).criteria
            assert found.where["variant"] == (claims.OWN_CHOICE,)
            assert set(found.where["intranode"]) == set(claim.settings)
            assert (found.take, found.at_least) == ("max", None)


WORDS = {claims.HOLDS: PASS, claims.MISSED: FAIL, claims.CANNOT_TELL: NOT_TESTED}


@pytest.mark.parametrize(
    ("truth", "header"),
    [
        (replace(FASTER, ratio_noise=0.002), {}),
        (replace(FASTER, papers=0.7), {}),
        (SLOWER, {}),
        (THE_SAME, {}),
        (Truth(whole=0.3, ratio_noise=0.3), {}),
        (Truth(by_variant={"spin": 0.8, "barrier": 0.7, "paper": 1.2}, ratio_noise=0.002), {}),
        (FASTER, {"oversubscribed": True}),
        (FASTER, {"own": {"virtual_node_ranks": 1, "shared_nodes": 2}}),
    ],
    ids=("faster", "paper's faster", "slower", "the same", "wide", "controls that are off", "shared cores", "virtual"),
)
def test_the_report_and_accept_judge_alike(tmp_path: Path, truth: Truth, header: dict[str, Any]) -> None:
    records = [
        record(truth, OPERATIONS, WITH_CONTROL, NIGHTLY_SIZES, asked={"intranode": one}, **header) for one in SETTINGS
    ]
    table = table_of(tmp_path, *records)
    found = {
        (row["target"], row["operation"]): row["verdict"]
        for row in claims.targets(claims.cases(table)).to_dict("records")
    }
    assert len(found) == sum(len(claim.operations) for claim in claims.CLAIMS)
    for claim in claims.CLAIMS:
        for operation in claim.operations:
            (result,) = judge(criteria_of(claim, operation), {"hybrid": table}, [])
            assert result.verdict == WORDS[found[claim.what, operation]], result


@pytest.mark.parametrize("doubt", [False, True])
def test_accept_counts_a_ratio_to_the_best_setting_once_and_names_this_setting(tmp_path: Path, *, doubt: bool) -> None:
    truths = {"usual": FASTER, "shared_memory": replace(SLOWER, by_size={16384: 1.5}), "point_to_point": FASTER}
    records = [
        record(truth, ("bcast",), sizes=NIGHTLY_SIZES, asked={"intranode": one}) for one, truth in truths.items()
    ]
    table = table_of(tmp_path, *records)
    if doubt:  # one of three rows is doubtful, so the point is
        doubtful = (table["intranode"] == "usual") & (table["message_bytes"] == 16384)
        table = table.assign(valid=table["valid"] & ~doubtful)
    (claim,) = (one for one in claims.CLAIMS if one.kind == claims.LONG and "bcast" in one.operations)
    (result,) = judge(criteria_of(claim, "bcast"), {"hybrid": table}, [])
    if doubt:
        assert result.evidence[0] == "only 4 of 5 points are sound, all are needed"
    else:
        assert result.evidence[0] == "5 of 5 points, of 1 launch, are sound and count"
        assert "1.5, " in result.evidence[1] and "intranode shared_memory" in result.evidence[1]
        assert "message_bytes 16384" in result.evidence[1]


def test_faster_from_a_size_on_is_said(tmp_path: Path) -> None:
    table = table_of(tmp_path, *whole_run(replace(FASTER, by_size={8: 0.5, 4096: 1.2})))
    ((_, faster),) = claims.break_evens(claims.cases(table))
    assert faster == ["bcast: from 1 MiB on"]
    said = claims.text(table).splitlines()
    assert said[-1].endswith("surely faster than the library at its best: bcast: from 1 MiB on")
    assert len(said) == 1 + len(claims.targets(claims.cases(table))) + 1


def test_what_fewer_ranks_pay_once_is_told(tmp_path: Path) -> None:
    fewer = [{"ranks": 2, **ONE_OFF}, {"ranks": 4, **ONE_OFF}]
    lines = record(own={"one_off_of_fewer": fewer})
    lines[0].update({name: value for name, value in synthetic.header(8).items() if name in ("ranks", "placement")})
    path = synthetic.write(tmp_path / "a.jsonl", lines)
    check_record(path)
    loaded = load_hybrid(path)
    table = once.once_table([loaded])
    assert list(table[once.OF_RANKS]) == [2, 4, 8]
    assert set(table["comm_create_ns"]) == {110_000} and set(table["memory_create_1_mib_ns"]) == {85_000}
    shown = once.SHOWN.text(table).splitlines()
    assert len(shown) == 4 and "memory, 64 KiB" in shown[0] and "110 µs" in shown[3]
    view = SECTION.view(hybrid_table([loaded]), (), 100, [loaded])
    assert view is not None and view.once.count == 3
    assert once.once_table([]).empty


def test_what_is_paid_once_is_paid_back_by_calls_that_save_time(tmp_path: Path) -> None:
    windows = {
        "memory_create_8_bytes_ns": [1000],
        "memory_create_64_kib_ns": [90_000],
        "memory_create_1_mib_ns": [10**6],
    }
    sizes = (8, 4096, 262144, 4 << 20)
    lines = record(FASTER, ("allgather", "bcast"), sizes=sizes, own={"one_off": {**ONE_OFF, **windows}})
    table = table_of(tmp_path, lines)
    whole = table[table["timed"] == WHOLE].set_index(["operation", "message_bytes"])
    for operation, memory_ns in (
        ("bcast", (1000, 90_000, 10**6, 10**6)),
        ("allgather", (90_000, 90_000, 10**6, 10**6)),  # of two blocks
    ):
        for size, window_ns in zip(sizes, memory_ns, strict=True):
            saved = 0.2 * library_ns(FASTER, size)
            row = whole.loc[(operation, size)]
            once_ns = 110_000 + window_ns
            assert row["pays_back_without_trials_calls"] == pytest.approx(once_ns / saved, rel=0.05)
            assert row["pays_back_calls"] == pytest.approx((once_ns + TRIALS_NS) / saved, rel=0.05)
    heads, cells = once.pays_back(table)
    assert heads == ["library", "collective", "8 B", "4 KiB", "256 KiB", "4 MiB"]
    assert [row[1] for row in cells] == ["allgather", "bcast"]
    shown = [math.ceil(whole.loc[("bcast", 8), f"pays_back{what}_calls"]) for what in ("", "_without_trials")]
    assert re.findall(r"\d+", cells[1][2]) == list(map(str, shown))
    # The medians differ, but not surely.
    noisy = table_of(tmp_path / "c", record(Truth(whole=0.98, ratio_noise=0.1)))
    saves = noisy["t_ns"] < noisy["t_library_ns"]
    unsure = saves & (noisy["verdict"] != "faster")
    assert unsure.any() and noisy["pays_back_calls"][unsure].isna().all()
    slower = table_of(tmp_path / "b", record(SLOWER))
    assert slower["pays_back_calls"][slower["timed"] == WHOLE].isna().all()
    assert {cell for row in once.pays_back(slower)[1] for cell in row[2:]} == {"–"}


def test_the_answers_at_a_glance_are_those_of_the_targets(tmp_path: Path) -> None:
    truth = Truth(by_size={4096: 1.2}, ratio_noise=0.002)
    rows = glance(table_of(tmp_path, *whole_run(truth, OPERATIONS, WITH_CONTROL)))
    assert [row.operation for row in rows] == list(OPERATIONS)
    found = dict(zip(claims.KINDS, rows[2].answers, strict=True))
    assert found[claims.SHORT] == ("holds", "0.80 at 800 B") or found[claims.SHORT][1].startswith("0.80 at ")
    assert found[claims.LONG] == ("missed", "1.20 at 4 KiB")
    assert rows[0].answers[0] == ("", "")  # no target for short messages
    assert rows[0].faster == "from 1 MiB on"
    smoke = glance(table_of(tmp_path / "b", record(FASTER, OPERATIONS, WITH_CONTROL, (8, 4096))))
    assert {answer for row in smoke for answer in row.answers if answer[0]} == {
        ("cannot be told", "only usual was measured"), ("cannot be told", "1 MiB was not measured"),
    }  # fmt: skip
    assert {row.faster for row in smoke} == {"cannot be told, only usual was measured"}


def test_collectives_beyond_the_paper_have_answers_and_no_targets(tmp_path: Path) -> None:
    beyond = [one for one in EVERY if one not in OPERATIONS]
    records = whole_run(replace(FASTER, by_size={8: 1.2}, ratio_noise=0.002), beyond, WITH_CONTROL)
    for number, lines in enumerate(records):
        check_record(synthetic.write(tmp_path / "checked" / f"{number}.jsonl", lines))
    table = table_of(tmp_path, *records)
    assert beyond == ["reduce_scatter_block", "alltoall"]
    assert claims.targets(claims.cases(table)).empty
    assert [(row.operation, row.faster) for row in glance(table)] == [(name, "from 800 B on") for name in beyond]
    assert "reduce_scatter_block: from 800 B on, alltoall: from 800 B on" in claims.text(table)
    view = SECTION.view(table, (), 100)
    assert view is not None and not view.targets
    assert {chart.figures for chart in charts(table)} == {""}
    # Beside what the paper does with its own collectives: the control of a reduction is another variant.
    controls = table[["operation", "variant"]][table["control"] == table["ratio_to_papers_own"]].drop_duplicates()
    assert {tuple(one) for one in controls.to_numpy()} >= {("reduce_scatter_block", "paper"), ("alltoall", "barrier")}
    assert set(table[table["operation"] == "reduce_scatter_block"]["node_method"]) == {"each"}


TWO_NODES: dict[str, Any] = {
    "nodes": 2,
    "own": {"shared_nodes": 2, "node_ranks": [1, 1]},
    "placement": [{**place, "node": place["rank"]} for place in synthetic.header(2)["placement"]],
}


@pytest.mark.parametrize(
    ("hidden", "noise", "says"),
    [
        (0.75, 0.0, "hides some"),
        (0.0, 0.1, "cannot tell"),
        (-0.5, 0.0, "takes longer than both"),
        (1.0, 0.0, "hides some"),
    ],
)
def test_what_a_computation_between_start_and_wait_hides_is_told(
    tmp_path: Path, hidden: float, noise: float, says: str
) -> None:
    truth = Truth(hidden=hidden, noise=0.0, ratio_noise=noise)
    lines = record(truth, sizes=(4096,), **TWO_NODES)
    check_record(synthetic.write(tmp_path / "a.jsonl", lines))
    loaded = load_hybrid(tmp_path / "a.jsonl")
    table = hybrid_table([loaded])
    (row,) = having(table, "r_overhead").to_dict("records")
    assert row["timed"] == ALONE
    assert row["r_overhead"] == pytest.approx(1 - hidden, abs=0.01 if not noise else 0.5)
    assert row["r_overhead_ci95_low"] <= row["r_overhead"] <= row["r_overhead_ci95_high"]
    whole_ns = library_ns(truth, 4096)
    assert row["t_steps_ns"] == pytest.approx(whole_ns / 2, rel=0.01 + noise)
    assert row["t_computation_ns"] == pytest.approx(whole_ns / 4, rel=0.01 + noise)
    assert overlap.verdict(row) == says
    assert says in overlap.text(table).splitlines()[1]
    view = SECTION.view(table, (), 100)
    assert view is not None and view.overlap.count == 1
    # A computation moves nothing between nodes; the other batches do, and take time.
    (one,) = loaded.points
    moving = [batch for batch in one.calls if batch != "computation"]
    assert entry.payload_bytes(loaded) == 21 * 4096 * sum(one.calls[batch] for batch in moving)
    assert entry.communicated_ns(loaded) == sum(one.t_ns[batch].sum() for batch in moving)


def test_over_virtual_nodes_and_on_one_node_nothing_is_said_to_be_hidden(tmp_path: Path) -> None:
    virtual = {"virtual_node_ranks": 1, "shared_nodes": 2, "node_ranks": [1, 1]}
    (row,) = having(
        table_of(tmp_path, record(Truth(hidden=0.75, noise=0.0), sizes=(4096,), own=virtual)), "r_overhead"
    ).to_dict("records")
    assert (row["nodes_are"], overlap.verdict(row)) == ("virtual", "cannot tell")
    one_node = table_of(tmp_path / "b", record())
    assert having(one_node, "r_overhead").empty and overlap.text(one_node) == ""


def test_the_numbers_for_references_are_geometric_means(tmp_path: Path) -> None:
    truth = replace(FASTER, by_size={8: 0.4, 262144: 1.6})
    path = synthetic.write(tmp_path / "a.jsonl", record(truth))
    numbers = record_numbers(load_hybrid(path))
    assert numbers["whole_ratio_to_library"] == pytest.approx((0.4 * 0.8 * 1.6) ** (1 / 3), rel=0.01)
    assert numbers["alone_ratio_to_library"] == pytest.approx(0.1, rel=0.01)
    assert (numbers["points"], numbers["points_valid"], numbers["points_reliable"]) == (3, 3, 3)
    assert {bound.metric for bound in BOUNDS} <= set(numbers)
    assert HYBRID.numbers is not None
    assert HYBRID.numbers(load_hybrid(path), None).doubt == ""
    shared = synthetic.write(tmp_path / "b.jsonl", record(oversubscribed=True))
    assert HYBRID.numbers(load_hybrid(shared), None).doubt


def test_a_way_that_was_chosen_in_another_state_is_told(tmp_path: Path) -> None:
    lines = record(operations=("allreduce",))
    lines[1]["own"] |= {"choice_handover_ns": 240, "node_method": "leader"}
    table = hybrid_table([load_hybrid(synthetic.write(tmp_path / "a.jsonl", lines))])
    first = table[table["index"] == lines[1]["index"]]
    assert all(
        "its way was chosen when the cores were in another state: a hand-over took 240 ns" in one
        for one in first["flags"]
    )
    assert all("its own choice is the paper's method 2" in one for one in first["flags"])
    assert set(first["node_method"]) == {"leader"} and set(first["papers_node_method"]) == {"leader"}
    others = table[table["index"] != lines[1]["index"]]
    assert len(others) and not any("cho" in " ".join(one) for one in others["flags"])


def test_a_curve_has_points_of_one_state_of_the_cores(tmp_path: Path) -> None:
    table = table_of(tmp_path, record(operations=OPERATIONS, variants=VARIANTS))
    largest = table["message_bytes"].max()
    apart = table.assign(handover_ns=np.where(table["message_bytes"] == largest, 240.0, 60.0))
    together, split = list(charts(table)), list(charts(apart))
    assert len(split) == len(together)
    for one, two in zip(together, split, strict=True):
        assert one.notes == []
        assert two.notes == [
            "near: hand-overs of 60 ns to 60 ns",
            "far: hand-overs of 240 ns to 240 ns",
            "hollow marks: far",
        ]
        curves = {curve.name: curve for curve in two.curves}
        assert set(curves) == {name for curve in one.curves for name in (curve.name, f"{curve.name}, far")}
        for name, curve in curves.items():
            far = name.endswith(", far")
            assert curve.style.hollow == far
            assert [mark.place for mark in curve.marks] == ([largest] if far else sorted(set(SIZES) - {largest}))
        (library, *_) = (curve for curve in one.curves if curve.name in ("MPI library", "spin"))
        assert curves[library.name].style.colour == curves[f"{library.name}, far"].style.colour
    # As hollow marks in either picture.
    assert [curve.hollow for curve in chart_view(split[0]).curves] == [curve.style.hollow for curve in split[0].curves]
    faces = [line.get_markerfacecolor() for line in chart_figure(split[0]).axes[0].lines if line.get_marker() == "o"]
    assert "white" in faces and len(set(faces)) > 1


def test_the_state_of_the_cores_is_said_where_targets_are_missed(tmp_path: Path) -> None:
    run = whole_run(replace(SLOWER, by_size={8: 0.5, 800: 0.5}))
    table = table_of(tmp_path, *run)
    far = np.where(table["message_bytes"] == 4096, 240.0, 60.0)
    apart = table.assign(handover_ns=far, best_handover_ns=far)
    for found, state, states in ((table, "", ""), (apart, "near and far", " (near and far)")):
        row = target(found)
        assert (row["verdict"], row["missed_bytes"], row["state"]) == ("missed", [4096, 1048576], state)
        ((_, faster),) = claims.break_evens(claims.cases(found))
        assert faster == [f"bcast: at no size{states}"]
    assert "missed (" not in claims.counts_words(claims.targets(claims.cases(table)))
    only = apart[apart["message_bytes"] != 1048576]
    assert target(only)["state"] == "far"
    assert "1 missed (1 far)" in claims.counts_words(claims.targets(claims.cases(only)))
    answers = dict(zip(claims.KINDS, glance(only)[0].answers, strict=True))
    assert answers[claims.LONG] == ("missed", "1.25 at 4 KiB, far")
    view = SECTION.view(only, (), 100)
    assert view is not None
    assert view.states == ["near: hand-overs of 60 ns to 60 ns", "far: hand-overs of 240 ns to 240 ns"]


def test_the_papers_two_methods_have_a_chart_with_the_cutoff(tmp_path: Path) -> None:
    truth = Truth(by_variant={"method1": 1.0, "method2": 0.5}, noise=0.0)
    run = [record(truth, ("allreduce",), ("spin", "method1", "method2"), asked={"intranode": one}) for one in SETTINGS]
    table = table_of(tmp_path, *run)
    found = [chart for chart in charts(table) if chart.kind == METHODS]
    assert ["whole" if "writing" in chart.title else "alone" for chart in found] == ["whole", "alone"]
    assert all("allreduce" in chart.title and chart.figures.startswith("figure 15") for chart in found)
    assert [curve.name for curve in found[0].curves] == [one.replace("_", " ") for one in SETTINGS]
    assert all(
        (mark.place, mark.words) == (size, "0.50")
        for curve in found[0].curves
        for mark, size in zip(curve.marks, SIZES, strict=True)
    )
    assert found[0].upright == 2048 and "upright line: the cut-off of 2 KiB" in found[0].notes
    assert chart_view(found[0]).upright > 0
    short = table[table["message_bytes"] < 2048]
    assert all(chart_view(chart).upright == -1 for chart in charts(short))
    # Times of different states have no ratio.
    other = (table["variant"] == "method1") & (table["message_bytes"] == 4096)
    apart = [chart for chart in charts(table.assign(handover_ns=np.where(other, 240.0, 60.0))) if chart.kind == METHODS]
    assert [mark.place for mark in apart[0].curves[0].marks] == [8, 262144]
    assert apart[0].left_out == len(SETTINGS)
    assert not any(chart.kind == METHODS for chart in charts(table[table["variant"] != "method1"]))


def test_what_is_said_of_the_processes(tmp_path: Path) -> None:
    loaded = load_hybrid(synthetic.write(tmp_path / "a.jsonl", record(operations=OPERATIONS, network="shm")))
    assert entry.INSIDE.covered([loaded]) == [("Hybrid collectives", ", ".join(OPERATIONS))]
    facts = dict(entry.INSIDE.timing([loaded]))
    assert facts["ranks that share a copy"] == "1 group, real"
    assert list(sampled_inside.wrong(loaded)) == []
    assert entry.communicated_ns(loaded) > 0
    assert entry.payload_bytes(loaded) == 0  # one node
    over = load_hybrid(synthetic.write(tmp_path / "b.jsonl", record(sizes=(4096,), network="wire:2gbit")))
    (one,) = over.points
    assert entry.payload_bytes(over) == 21 * 4096 * (one.calls["library_whole"] + one.calls["library_alone"])
    assert registry.BY_NAME["hybrid"] is HYBRID
