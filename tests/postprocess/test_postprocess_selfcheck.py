"""What self-checks say of a machine, on records whose right answer is known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from postprocess.families.timing_selfcheck import judgement as selfcheck
from postprocess.families.timing_selfcheck.judgement import (
    NO,
    NOT_MEASURED,
    WITH_CARE,
    YES,
    Steadiness,
    Summary,
    summarise,
)
from postprocess.families.timing_selfcheck.record import load_selfcheck
from postprocess.records.fields import RecordError
from tests.postprocess import synthetic_selfcheck as synthetic

TARGET = 4_000_000


def summary_of(folder: Path, launches: list[list[dict[str, Any]]], *targets: int) -> Summary:
    """Of launches given by their lines without header and footer, after a first one as the first of them."""
    paths = [
        synthetic.write(folder / f"{number}.jsonl", [synthetic.header(), *lines, synthetic.footer()])
        for number, lines in enumerate([launches[0], *launches])
    ]
    return summarise([load_selfcheck(path) for path in paths], targets or (TARGET,))


def with_variation(cv: float) -> list[float]:
    """Medians of ten launches around TARGET with exactly this coefficient of variation."""
    plain = np.arange(10) - 4.5
    return list(TARGET * (1 + cv * plain / plain.std(ddof=1)))


def verdict_at(folder: Path, width: float, cv: float) -> selfcheck.Verdict:
    found = summary_of(folder, [synthetic.launch({TARGET: median}, width) for median in with_variation(cv)])
    (verdict,) = found.verdicts
    return verdict


# -- reading -----------------------------------------------------------------------------------------------------------


def test_a_whole_record(tmp_path: Path) -> None:
    found = load_selfcheck(synthetic.write(tmp_path / "a.jsonl", synthetic.quiet_machine()))
    assert (found.incomplete, found.wall_seconds, found.header.toolchain) == ("", 3.5, "openmpi@5.0.11")
    assert found.clock is not None
    assert [one.without_drift_ns for one in found.clock.residuals] == [130, 15000]
    assert len(found.starts) == 3
    assert len(found.noises) == 2
    assert len(found.works) == 8


@pytest.mark.parametrize("lines", [3, 5, 8])
def test_a_record_that_was_cut_off_keeps_what_it_has(tmp_path: Path, lines: int) -> None:
    path = synthetic.write(tmp_path / "a.jsonl", synthetic.quiet_machine()[:lines])
    assert load_selfcheck(path).incomplete.startswith("no footer")
    path.write_text(path.read_text() + '{"type":"wor')
    found = load_selfcheck(path)
    assert found.incomplete == "the last line is cut"
    assert found.timer is not None


def test_a_refused_run_says_why(tmp_path: Path) -> None:
    lines = [synthetic.header(), synthetic.footer(False, "one rank: nothing to compare")]
    assert load_selfcheck(synthetic.write(tmp_path / "a.jsonl", lines)).incomplete == "one rank: nothing to compare"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([synthetic.header(ranks="two")], "ranks is not a whole number"),
        ([synthetic.header(), {"type": "weather"}], "a.jsonl:2: neither a point nor a footer"),
        ([synthetic.header(), synthetic.timer(overhead_ns=None)], "overhead_ns is not a number"),
        ([synthetic.header(), synthetic.start("horn", [1])], "method is none of deadline"),
        ([synthetic.header(), synthetic.work("sleep", TARGET, [1])], "kind is neither"),
        ([synthetic.header(), synthetic.work("computation", TARGET, [-1])], "series.t_ns is not a list"),
    ],
)  # fmt: skip
def test_what_is_no_self_check_is_refused_in_one_line(
    tmp_path: Path, lines: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(RecordError) as error:
        load_selfcheck(synthetic.write(tmp_path / "a.jsonl", lines))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# -- the machine's profile ---------------------------------------------------------------------------------------------


def test_percentiles_are_values_that_were_seen(tmp_path: Path) -> None:
    found = summary_of(tmp_path, [[synthetic.start("deadline", range(1, 101), [7, 8])]])
    (profile,) = found.starts
    assert (profile.p50_ns, profile.p95_ns, profile.p99_ns, profile.longest_ns) == (50, 95, 99, 100)
    assert (profile.repetitions, profile.late) == (100, 2)


def test_a_start_by_which_all_were_late_has_no_percentiles(tmp_path: Path) -> None:
    (profile,) = summary_of(tmp_path, [[synthetic.start("deadline", [], [7])]]).starts
    assert math.isnan(profile.p95_ns)


@pytest.mark.parametrize(
    ("per_second", "tick_hz"),
    [(100, 100), (250, 250), (263, 250), (1000, 1000), (1090, 1000), (10, 0), (170, 0), (600, 0), (5000, 0), (0, 0)],
)
def test_a_tick_is_recognised_by_its_rate(tmp_path: Path, per_second: int, tick_hz: int) -> None:
    (core,) = summary_of(tmp_path, [[synthetic.noise([3000] * (per_second * 2), seconds=2.0)]]).cores
    assert (core.detours_per_second, core.tick_hz) == (per_second, tick_hz)


def test_what_takes_much_time_is_no_tick(tmp_path: Path) -> None:
    quiet, loud = ([80_000] * 250, [81_000] * 250)  # 2.0 and 2.025 % of a second
    cores = summary_of(tmp_path, [[synthetic.noise(quiet, 1.0), synthetic.noise(loud, 1.0, rank=1)]]).cores
    assert [core.tick_hz for core in cores] == [250, 0]


def test_a_core_is_described_by_its_detours(tmp_path: Path) -> None:
    lengths = [*([2000] * 98), 50_000, 9_000_000]
    (core,) = summary_of(tmp_path, [[synthetic.noise(lengths, seconds=1.0, cpu=3)]]).cores
    assert (core.cpu, core.p50_ns, core.p99_ns, core.longest_ns) == (3, 2000, 50_000, 9_000_000)
    assert core.share == pytest.approx(sum(lengths) / 1e9)


@pytest.mark.parametrize(
    ("clocks", "after_seconds", "with_drift_ns", "large"),
    [
        (1, 0, 200, False), (1, 0, 201, True), (1, 10, 201, True),
        (2, 0, 1000, False), (2, 0, 1001, True), (2, 10, 2000, False), (2, 10, 2001, True), (2, 0, None, True),
    ],
)  # fmt: skip
def test_a_residual_is_held_against_what_is_aimed_at(
    tmp_path: Path, clocks: int, after_seconds: float, with_drift_ns: float | None, large: bool
) -> None:
    residual = {"after_seconds": after_seconds, "with_drift_ns": with_drift_ns, "without_drift_ns": None}
    clock = summary_of(tmp_path, [[synthetic.clock(clocks=clocks, residuals=[residual])]]).clock
    assert clock is not None
    assert selfcheck.residual_is_large(clock, clock.residuals[0]) is large


# -- launches ----------------------------------------------------------------------------------------------------------


def test_coefficient_of_variation() -> None:
    assert selfcheck.coefficient_of_variation([9, 10, 11]) == pytest.approx(0.1)
    assert selfcheck.coefficient_of_variation([10, 10]) == 0
    assert math.isnan(selfcheck.coefficient_of_variation([10]))
    assert math.isnan(selfcheck.coefficient_of_variation([]))


def test_the_interval_of_a_variation_covers_the_truth() -> None:
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(1000):
        values = random.normal(1.0, 0.02, 10)
        low, high = selfcheck.variation_interval(selfcheck.coefficient_of_variation(values), 10)
        covered += low <= 0.02 <= high
    assert stats.binomtest(covered, 1000, 0.95).pvalue > 1e-4


def test_median_mean_and_minimum_vary_each_in_their_own_way(tmp_path: Path) -> None:
    launches = []
    for number in range(10):
        samples = synthetic.around(TARGET, 0.01)
        samples[0] -= 1000 * number  # the smallest alone
        samples[-1] += 21_000 * number  # and, much more, the largest
        launches.append([synthetic.work("computation", TARGET, samples)])
    (found,) = summary_of(tmp_path, launches).work
    step = np.arange(10).std(ddof=1)
    assert found.cv_median == 0
    assert found.cv_mean == pytest.approx(step * 20_000 / 21 / (TARGET + 4.5 * 20_000 / 21), rel=1e-3)
    assert found.cv_minimum == pytest.approx(step * 1000 / (0.99 * TARGET - 4500), rel=1e-3)


def test_a_launch_is_steady_by_its_own_interval(tmp_path: Path) -> None:
    widths = [0.01] * 6 + [0.30] * 4  # the median launch's counts
    (found, *_) = summary_of(tmp_path, [synthetic.launch({TARGET: TARGET}, width) for width in widths]).work
    assert found.interval_relative == pytest.approx(0.01, rel=1e-3)
    assert (found.launches, found.samples, found.median_ns) == (10, 210, TARGET)


def test_the_smallest_difference_is_what_two_launches_against_two_can_tell() -> None:
    """Simulated: of equal sides, one in twenty differs by more."""
    expected = float(stats.t.ppf(0.975, 9)) * 0.02
    assert selfcheck.smallest_difference(0.02, 10, 0.0) == pytest.approx(expected)
    random = np.random.default_rng(3)
    trials, told = 4000, 0
    for _ in range(trials):
        seen = random.normal(1.0, 0.02, 10)  # what a doctor saw of the machine
        difference = random.normal(1.0, 0.02, 2).mean() - random.normal(1.0, 0.02, 2).mean()
        limit = selfcheck.smallest_difference(selfcheck.coefficient_of_variation(seen), 10, 0.0)
        told += abs(difference) > limit
    assert stats.binomtest(told, trials, 0.05).pvalue > 1e-4


def test_the_smallest_difference_is_never_less_than_one_launch_can_know() -> None:
    assert selfcheck.smallest_difference(0.0, 10, 0.04) == pytest.approx(2.262 * 0.04 / (2 * 1.96), rel=1e-3)
    assert math.isnan(selfcheck.smallest_difference(math.nan, 1, 0.04))


# -- verdicts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "cv", "word"),
    [
        (0.010, 0.010, YES), (0.0199, 0.0199, YES),
        (0.0202, 0.010, WITH_CARE), (0.010, 0.0202, WITH_CARE), (0.0499, 0.0499, WITH_CARE),
        (0.0502, 0.010, NO), (0.010, 0.0502, NO), (0.30, 0.30, NO),
    ],
)  # fmt: skip
def test_a_verdict_needs_both_the_interval_and_the_launches(tmp_path: Path, width: float, cv: float, word: str) -> None:
    verdict = verdict_at(tmp_path, width, cv)
    assert verdict.word == word
    assert bool(verdict.advice) is (word != YES)
    assert len(verdict.reasons) == 2


@pytest.mark.parametrize(
    ("interval", "cv", "word"),
    [
        (0.02, 0.02, YES), (math.nextafter(0.02, 1), 0, WITH_CARE), (0, math.nextafter(0.02, 1), WITH_CARE),
        (0.05, 0.05, WITH_CARE), (math.nextafter(0.05, 1), 0, NO), (0, math.nextafter(0.05, 1), NO),
        (math.nan, 0, NOT_MEASURED), (0, math.nan, WITH_CARE), (0.06, math.nan, NO),
    ],
)  # fmt: skip
def test_the_limits_themselves_are_good(interval: float, cv: float, word: str) -> None:
    assert selfcheck.judge(interval, cv) == word


def test_few_launches_that_tell_nothing_are_advised_to_be_more(tmp_path: Path) -> None:
    few, many = ([synthetic.launch({TARGET: (1 + i % 2) * TARGET}) for i in range(n)] for n in (3, 12))
    (few_verdict,) = summary_of(tmp_path, few).verdicts
    (many_verdict,) = summary_of(tmp_path, many).verdicts
    assert few_verdict.smallest_difference_relative > 1
    assert "more launches (--launches)" in few_verdict.advice
    assert "more launches (--launches)" not in many_verdict.advice


def test_the_worse_of_computation_and_communication_counts(tmp_path: Path) -> None:
    launches = [
        [
            synthetic.work("computation", TARGET, synthetic.around(TARGET, 0.01)),
            synthetic.work("communication", TARGET, synthetic.around(median, 0.01)),
        ]
        for median in with_variation(0.10)
    ]
    (verdict,) = summary_of(tmp_path, launches).verdicts
    assert verdict.word == NO
    assert verdict.reasons == (
        "computation: interval 1.0 %, launches 0.0 %",
        "communication: interval 1.0 %, launches 10 %",
    )
    assert verdict.smallest_difference_relative == pytest.approx(2.262 * 0.10, rel=1e-3)


def test_a_noisy_time_points_at_a_longer_one_that_is_not(tmp_path: Path) -> None:
    launches = [
        synthetic.launch({TARGET: median, 16_000_000: 16_000_000, 64_000_000: 64_000_000})
        for median in with_variation(0.10)
    ]
    found = summary_of(tmp_path, launches, TARGET, 16_000_000, 64_000_000)
    assert [one.word for one in found.verdicts] == [NO, YES, YES]
    assert "measure at 16 ms" in found.verdicts[0].advice


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (None, "communication: no samples"),
        (synthetic.work("communication", TARGET, [TARGET] * 5), "too few samples"),
        (synthetic.work("communication", TARGET, [], calibration=None, reason="one rank: nothing"), "one rank"),
        (
            synthetic.work(
                "communication", TARGET, [],
                calibration={"status": "unreachable", "time_ns": 0, "error_relative": 0, "measurements": 9},
            ),
            "no size of the communication reaches this time",
        ),
        (
            synthetic.work(
                "communication", TARGET, [],
                calibration={"status": "not_searched", "time_ns": 0, "error_relative": 0, "measurements": 0},
            ),
            "no size of the communication was looked for: the time was up",
        ),
    ],
)  # fmt: skip
def test_what_was_not_measured_is_no_verdict(tmp_path: Path, line: dict[str, Any] | None, reason: str) -> None:
    lines = [synthetic.work("computation", TARGET, synthetic.around(TARGET, 0.01)), *([line] if line else [])]
    (verdict,) = summary_of(tmp_path, [lines, lines]).verdicts
    assert verdict.word == NOT_MEASURED
    assert math.isnan(verdict.smallest_difference_relative)
    assert any(reason in one for one in verdict.reasons)


@pytest.mark.parametrize(("factor", "word"), [(0.81, YES), (1.19, YES), (0.79, WITH_CARE), (1.21, WITH_CARE)])
def test_a_size_of_another_time_needs_care(tmp_path: Path, factor: float, word: str) -> None:
    launches = [synthetic.launch({TARGET: factor * TARGET}) for _ in range(3)]
    (verdict,) = summary_of(tmp_path, launches).verdicts
    assert verdict.word == word
    assert ("takes" in verdict.reasons[0]) is ("disturbed" in verdict.advice) is (word == WITH_CARE)


def test_the_launch_that_searched_is_compared_with_none(tmp_path: Path) -> None:
    shifts = (500, 0, 1, 2)
    paths = [synthetic.write(tmp_path / f"{n}.jsonl", synthetic.quiet_machine(n)) for n in shifts]
    found = summarise([load_selfcheck(path) for path in paths])
    assert found.launches == 3
    assert {one.launches for one in found.work} == {3}
    assert max(one.cv_median for one in found.work) == pytest.approx(0.001, rel=0.01)
    alone = summarise([load_selfcheck(paths[0])])  # an interrupt came: better that one than none
    assert alone.launches == 1
    assert alone.work[0].median_ns == 1.5 * alone.work[0].target_ns


def test_one_launch_alone_never_says_yes(tmp_path: Path) -> None:
    (verdict,) = summary_of(tmp_path, [synthetic.launch({TARGET: TARGET}, 0.001)]).verdicts
    assert verdict.word == WITH_CARE
    assert "--launches" in verdict.advice
    assert math.isnan(verdict.smallest_difference_relative)


def test_nothing_at_all(tmp_path: Path) -> None:
    found = summarise([])
    assert [one.word for one in found.verdicts] == [NOT_MEASURED] * 4
    assert found.launches == 0
    json.dumps(selfcheck.as_json(found), allow_nan=False)


def test_json_has_units_and_no_nan(tmp_path: Path) -> None:
    paths = [synthetic.write(tmp_path / f"{n}.jsonl", synthetic.quiet_machine(n)) for n in range(3)]
    found = summarise([load_selfcheck(path) for path in paths])
    document = json.loads(json.dumps(selfcheck.as_json(found), allow_nan=False))
    assert [one["target_ns"] for one in document["verdicts"]] == list(synthetic.TARGETS_NS)
    assert {one["verdict"] for one in document["verdicts"]} == {YES}
    assert document["timer"]["overhead_ns"] == 21.5
    assert [one["method"] for one in document["start"]] == ["deadline", "mpi_barrier", "dissemination"]
    assert len(document["noise"]) == 2
    assert {one["kind"] for one in document["work"]} == {"computation", "communication"}
    assert set(document["work"][0]) == set(Steadiness.__dataclass_fields__)
    one_launch = selfcheck.as_json(summarise([load_selfcheck(paths[0])]))
    assert one_launch["work"][0]["cv_median_ci95"] == [None, None]
