"""Records of messages to a late receiver: answers against a known truth, what may be used, pictures and report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from postprocess.drawing import page
from postprocess.families import registry
from postprocess.families.family import Found
from postprocess.families.sync_overlap import entry
from postprocess.families.sync_overlap.charts import charts
from postprocess.families.sync_overlap.entry import SECTION, SYNC_OVERLAP
from postprocess.families.sync_overlap.memory import growth_sentences, memory_table
from postprocess.families.sync_overlap.planted import expected, planted_rows, planted_sentence
from postprocess.families.sync_overlap.record import load_sync_overlap
from postprocess.families.sync_overlap.table import record_numbers, sync_table
from postprocess.families.sync_overlap.verdict import Verdict, verdict_text, verdicts
from postprocess.statistics import late_receiver
from postprocess.statistics.growth import power_law
from postprocess.statistics.metrics import Estimate, median_estimate
from postprocess.verdicts.acceptance import FAIL, PASS, Result, judge, read_criteria
from tests.postprocess import synthetic
from tests.postprocess.synthetic_sync_overlap import (
    COPIED,
    EAGER,
    HELPED,
    PULLED,
    SIZES,
    Lines,
    Sweep,
    Truth,
    header,
    point,
    record,
    whole_ns,
)
from tests.support import check_record


def table_of(path: Path, *records: Lines) -> pd.DataFrame:
    return sync_table([load_sync_overlap(file) for file in synthetic.written(path, records)])


def row_of(path: Path, truth: Truth = EAGER, *, header: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The row of a record of one point."""
    lines = record(truth, Sweep(sizes=(65536,)), **(header or {}))
    lines[1] = point(truth=truth, **changes)
    return table_of(path, lines).iloc[0]


FULL, INCOMPLETE, NONE = late_receiver.FULL, late_receiver.INCOMPLETE, late_receiver.NONE
RECEIVER, BOTH, NEITHER = late_receiver.RECEIVER, late_receiver.BOTH, late_receiver.NEITHER


@pytest.mark.parametrize(
    ("truth", "outcomes", "who", "range_bytes", "ends"),
    [
        (EAGER, (FULL, FULL, FULL, FULL, NONE), (RECEIVER, RECEIVER, RECEIVER, BOTH), 65536, True),
        (COPIED, (FULL, FULL, FULL, FULL, INCOMPLETE), (RECEIVER, RECEIVER, RECEIVER, BOTH), 65536, True),
        (PULLED, (FULL,) * 5, (RECEIVER,) * 4, 1048576, False),
        (HELPED, (FULL,) * 5, (NEITHER,) * 4, 1048576, False),
    ],
)
def test_the_answers_are_the_truths(
    tmp_path: Path, truth: Truth, outcomes: tuple[str, ...], who: tuple[str, ...], range_bytes: int, ends: bool
) -> None:
    table = table_of(tmp_path, record(truth))
    assert tuple(table["outcome"]) == outcomes
    assert tuple(table["who_progresses"]) == (late_receiver.NOTHING, *who)
    assert set(table["range_bytes"]) == {range_bytes}
    assert set(table["range_ends"]) == {ends}
    for row in table.to_dict("records"):
        assert row["recv_over_wait"] == pytest.approx(0.5 if row["outcome"] == FULL else 1, abs=0.05)
        assert row["t_whole_ns"] == pytest.approx(whole_ns(truth, row["message_bytes"]), rel=0.02, abs=5)


def test_what_is_said_of_a_case_rests_on_all_its_launches(tmp_path: Path) -> None:
    """Three launches that agree say what one says, surely; one of three that is another leaves its sizes open."""
    one = table_of(tmp_path, record(EAGER))

    def said(*launches: pd.DataFrame) -> Verdict:
        together = [table.assign(launch=number, record=str(number)) for number, table in enumerate(launches, 1)]
        (found,) = verdicts(pd.concat(together, ignore_index=True))
        return found

    alone, agreeing = said(one), said(one, one, one)
    assert "likely" in alone.scenario and "likely" not in agreeing.scenario
    assert agreeing.sentences == alone.sentences
    differing = said(one, one, table_of(tmp_path / "b", record(PULLED)))
    assert "1 size unclear" in differing.sentences
    assert not any("no overlap" in sentence for sentence in differing.sentences)


def test_a_part_that_moved_early_is_told_as_a_share(tmp_path: Path) -> None:
    row = row_of(tmp_path, COPIED, message_bytes=262144)
    assert row["outcome"] == INCOMPLETE
    assert row["moved_share"] == pytest.approx(0.25, abs=0.02)
    assert np.isnan(row["unseen_share"])


def test_what_the_handshake_saves_is_no_overlap(tmp_path: Path) -> None:
    """A rendezvous whose handshake was made before MPI_Wait is faster than a whole transfer, and moved no data."""
    saved = replace(EAGER, early_bytes=8192, trip_ns=2000)  # 8 KiB at 5 GB/s are 1.6 us
    assert row_of(tmp_path, saved, message_bytes=262144)["outcome"] == NONE
    assert row_of(tmp_path, replace(saved, trip_ns=200), message_bytes=262144)["outcome"] == INCOMPLETE


CONTROL = "the negative control, a message sent when the computation is done,"


def test_the_negative_control_shows_nothing_and_says_where_it_does(tmp_path: Path) -> None:
    lines = record(PULLED, send="late")
    (verdict,) = verdicts(table_of(tmp_path, lines))
    assert verdict.sentences == (f"{CONTROL} shows no overlap, as it must, at 2 of 5 sizes",)
    assert verdict.unreliable == "3 of 5 points not reliable"  # a small transfer is shorter than the trip
    assert verdict.good_control and not verdict.outcomes
    lines[3] = point(2, PULLED, 4096)
    broken = table_of(tmp_path, lines)
    (verdict,) = verdicts(broken)
    assert "shows overlap, where there is none, at 4096 bytes: do not trust this run" in verdict.sentences[0]
    assert any("do not trust this run" in flag for flag in broken.iloc[2]["flags"])
    assert not verdict.good_control and verdict.outcomes


@pytest.mark.parametrize(
    ("repetitions", "says", "unreliable"),
    [
        ((21, 21), "none of its 2 points is reliable", "2 of 2 points not reliable"),
        ((21, 1), "none of its 2 points is reliable", "2 of 2 points not reliable, 1 of them not valid"),
        ((1, 0), "none of its 2 points is valid", ""),
        ((21,), "its only point is not reliable", "1 of 1 point not reliable"),
    ],
)
def test_a_negative_control_without_a_reliable_point_claims_nothing(
    tmp_path: Path, repetitions: tuple[int, ...], says: str, unreliable: str
) -> None:
    sizes = (0, 64)[: len(repetitions)]
    lines = record(PULLED, Sweep(sizes=sizes), send="late")
    for index, (size, count) in enumerate(zip(sizes, repetitions, strict=True)):
        lines[1 + index] = point(index, PULLED, size, count, control=True)
    (verdict,) = verdicts(table_of(tmp_path, lines))
    assert verdict.sentences == verdict.outcomes == (f"{CONTROL} tells nothing: {says}",)
    assert verdict.unreliable == unreliable
    assert not verdict.good_control


def card(table: pd.DataFrame) -> str:
    """The text of the report's card, its lines without indentation."""
    folder = Path(registry.__file__).parent
    template = page.environment(folder).get_template("sync_overlap/templates/card.html")
    return template.render(section={"view": SECTION.view(table, (), 10)})


@pytest.mark.parametrize(
    ("valid", "outcomes", "unreliable"),
    [
        (
            (0,),
            ("full overlap at 0 bytes; 2 larger sizes have no valid and clear outcome",),
            "2 of 3 points not reliable, 2 of them not valid",
        ),
        (
            (0, 64),
            ("full overlap up to 64 bytes; a larger size has no valid and clear outcome",),
            "1 of 3 points not reliable, 1 of them not valid",
        ),
        (
            (64, 65536),
            ("full overlap from 64 bytes to 65536 bytes (64 KiB), the largest size that was measured",),
            "1 of 3 points not reliable, 1 of them not valid",
        ),
        ((), ("no answer: none of its 3 points is valid",), ""),
    ],
)
def test_the_range_is_of_valid_points_and_says_what_is_not_known(
    tmp_path: Path, valid: tuple[int, ...], outcomes: tuple[str, ...], unreliable: str
) -> None:
    sizes = (0, 64, 65536)
    lines = record(EAGER, Sweep(sizes=sizes), configuration="async", shared_core=True)
    for index, size in enumerate(sizes):
        lines[1 + index] = point(index, EAGER, size, repetitions=21 if size in valid else 0)
    table = table_of(tmp_path, lines)
    (verdict,) = verdicts(table)
    assert verdict.outcomes == outcomes
    assert verdict.unreliable == unreliable
    assert outcomes[0] in card(table)


def test_sizes_need_not_be_monotonic(tmp_path: Path) -> None:
    sweep = Sweep(sizes=(64, 4096, 65536), between=(32768,), truths={4096: replace(EAGER, full_up_to=0)})
    table = table_of(tmp_path, record(EAGER, sweep))
    assert list(table["asked"]) == [True, True, False, True]
    (verdict,) = verdicts(table)
    assert verdict.sentences[:3] == (
        "full overlap at 64 bytes",
        "no overlap at 4096 bytes (4 KiB)",
        "full overlap from 32768 bytes (32 KiB) to 65536 bytes (64 KiB), the largest size that was measured",
    )


def test_the_eager_limit_stands_beside_the_range_where_it_can_be_read(tmp_path: Path) -> None:
    first = header()
    told: dict[str, Any] = {"metadata": {**first["metadata"], "eager_limit_variable": "btl_tcp_eager_limit"}}
    text = verdict_text(table_of(tmp_path, record(mpi_variables={"btl_tcp_eager_limit": "65536"}, **told)))
    assert "the library's eager limit is 65536 bytes (64 KiB), says btl_tcp_eager_limit" in text
    unreadable: tuple[Any, ...] = (None, {}, {"btl_tcp_eager_limit": "-1"})
    for variables in unreadable:
        text = verdict_text(table_of(tmp_path, record(mpi_variables=variables, **told)))
        assert "the library's eager limit is not readable" in text


def test_the_memory_of_idle_ranks_is_told_even_where_nothing_could_be_timed(tmp_path: Path) -> None:
    for repetitions in (21, 0):
        lines = record(EAGER, Sweep(sizes=(65536,)))
        lines[1] = point(repetitions=repetitions)
        (verdict,) = verdicts(table_of(tmp_path, lines))
        assert verdict.sentences[-1] == "memory of 2 idle ranks: 38.1 MiB, 19.1 MiB each"
    unknown = point(own={**lines[1]["own"], "idle_pss_total_bytes": None})
    assert not any("memory" in line for line in verdict_text(table_of(tmp_path, [lines[0], unknown])).splitlines())


def planted_record(truth: Truth, configuration: str = "basic", network: str = "shm", **told: Any) -> Lines:
    """A record whose library lets the receiver copy a large message within a node."""
    known = {**header()["metadata"], "single_copy_by": "receiver"}
    return record(truth, configuration=configuration, network=network, metadata=known, **told)


@pytest.mark.parametrize(
    ("lines", "wrong", "right"),
    [
        (planted_record(PULLED), {}, {64, 1048576}),
        (planted_record(EAGER), {1048576}, {64}),
        (planted_record(EAGER, network="wire:2gbit"), {}, {64, 1048576}),
        (planted_record(PULLED, network="tcp"), {}, {64}),
        (planted_record(PULLED, network="tcp", protocol="eager"), {}, {64, 4096, 65536}),
        (planted_record(COPIED, protocol="copied"), {}, {64, 1048576}),
        (planted_record(PULLED, protocol="copied"), {1048576}, {64}),
        (planted_record(EAGER, protocol="eager"), {}, {64, 4096, 65536, 1048576}),
        (planted_record(replace(EAGER, full_up_to=4096), protocol="eager"), {65536}, {64, 4096, 1048576}),
        (planted_record(replace(EAGER, full_up_to=4096), protocol="rendezvous"), {}, {64, 65536, 1048576}),
        (planted_record(EAGER, protocol="rendezvous"), {65536}, {64, 1048576}),
        (planted_record(HELPED, "async"), {}, {64, 4096, 65536, 1048576}),
        (planted_record(PULLED, "async"), {64, 4096, 65536, 1048576}, {}),
        (planted_record(PULLED, send="late"), {}, set(SIZES)),
    ],
)
def test_what_was_planted_must_be_found(tmp_path: Path, lines: Lines, wrong: set[int], right: set[int]) -> None:
    table = table_of(tmp_path, lines)
    found = {answer: set(rows["message_bytes"]) for answer, rows in table.groupby("as_expected")}
    assert found.get("no", set()) == set(wrong)
    assert found.get("yes", set()) == set(right)
    assert len(planted_rows(table)) == len(wrong) + len(right)
    for row in table.to_dict("records"):
        size = row["message_bytes"]
        assert any("not as planted" in flag for flag in row["flags"]) == (size in wrong)
        known = 0.0 if size in wrong else 1.0 if size in right else np.nan
        for end in ("", "_ci95_low", "_ci95_high"):
            assert row[f"planted_right{end}"] == pytest.approx(known, nan_ok=True)


def test_planted_answers_that_a_setting_without_effect_would_get_are_told_from_the_others(tmp_path: Path) -> None:
    """Of a lowered limit, the answer at 64 bytes would be right, too, if the setting did nothing."""
    usual = planted_record(replace(EAGER, full_up_to=65536), network="wire:2gbit")
    lowered = planted_record(replace(EAGER, full_up_to=4096), network="wire:2gbit", protocol="rendezvous")
    sentence = planted_sentence(table_of(tmp_path, usual, lowered))
    assert "; 1 of 3 must differ from the answer of basic and default at their size, and the others would" in sentence
    assert "must differ" not in planted_sentence(table_of(tmp_path, lowered))


TARGETS = ROOT / "docs" / "benchmarks" / "sync_overlap-targets.yaml"
WIRE = "wire:2gbit:duplex"
AS_PLANTED = {
    **{("shm", "basic", protocol): EAGER for protocol in ("default", "eager", "copied")},
    ("shm", "basic", "rendezvous"): replace(EAGER, full_up_to=4096),
    **{(WIRE, "basic", protocol): EAGER for protocol in ("default", "eager")},
    (WIRE, "basic", "rendezvous"): replace(EAGER, full_up_to=4096),
    (WIRE, "async", "default"): HELPED,
}
"""What libraries do, by network, configuration and protocol."""


def planted_run(tmp_path: Path, changed: Mapping[tuple[str, str, str, str], Truth]) -> list[Result]:
    """The results of the page's targets. changed: what a library does instead, by toolchain, network, configuration and
    protocol."""
    records = []
    for toolchain in ("mpich@5.0.2", "openmpi@5.0.11", "intel@2021.18.1"):
        copies = toolchain != "intel@2021.18.1"
        known = {**header()["metadata"], **({"single_copy_by": "receiver"} if copies else {})}
        for (network, configuration, protocol), truth in AS_PLANTED.items():
            usual = PULLED if copies and (network, protocol) == ("shm", "default") else truth
            found = changed.get((toolchain, network, configuration, protocol), usual)
            lines = record(
                found, toolchain=toolchain, metadata=known, network=network, configuration=configuration,
                protocol=protocol,
            )  # fmt: skip
            records.append(lines)
    return list(judge(read_criteria(TARGETS), {"sync_overlap": table_of(tmp_path, *records)}, []))


def test_the_targets_of_the_page_pass_where_everything_is_found_as_planted(tmp_path: Path) -> None:
    assert [one.verdict for one in planted_run(tmp_path, {})] == [PASS] * 12


@pytest.mark.parametrize(
    ("case", "truth", "fails"),
    [
        (("mpich@5.0.2", "shm", "basic", "default"), EAGER, "single copy by the kernel on"),
        (("intel@2021.18.1", "shm", "basic", "copied"), PULLED, "single copy off"),
        (("openmpi@5.0.11", "shm", "basic", "eager"), PULLED, "above the raised limit, within a node"),
        (("mpich@5.0.2", WIRE, "basic", "eager"), replace(EAGER, full_up_to=4096), "eager limit raised, over the wire"),
        (("intel@2021.18.1", WIRE, "basic", "rendezvous"), PULLED, "eager limit lowered, over the wire"),
        (("openmpi@5.0.11", WIRE, "async", "default"), PULLED, "progress thread"),
    ],
)
def test_the_targets_of_the_page_tell_a_case_that_is_not_as_planted(
    tmp_path: Path, case: tuple[str, str, str, str], truth: Truth, fails: str
) -> None:
    failed = [one.criterion.name for one in planted_run(tmp_path, {case: truth}) if one.verdict == FAIL]
    assert [name.partition(":")[0] for name in failed] == [fails]


def test_a_planted_answer_may_be_unclear(tmp_path: Path) -> None:
    must = expected({"send": "early", "configuration": "basic", "network": "shm", "protocol": "eager"}, 65536, "")
    assert must is not None
    unclear = late_receiver.UNCLEAR
    answers = {
        (FULL, RECEIVER): "yes", (unclear, RECEIVER): "unclear", (FULL, unclear): "unclear", (unclear, BOTH): "no",
    }  # fmt: skip
    assert {found: must.answer(*found) for found in answers} == answers
    found = planted_rows(table_of(tmp_path, planted_record(EAGER, protocol="eager")))
    rows = found.assign(as_expected=list(answers.values()), reliable=True)
    assert planted_sentence(rows) == "of 4 planted answers, 1 as they must be, 2 unclear, 1 wrong"
    rows["reliable"] = [True, False, False, True]
    assert planted_sentence(rows).endswith(", 1 wrong; 2 of the 4 rest on points that are not reliable")
    assert planted_sentence(rows.head(0)) == ""


def idle(ranks: int, protocol: str, total: float) -> Lines:
    """A record of so many ranks, whose memory is `total` bytes. The library names its fragments."""
    names = ["cells", "cell_bytes"]
    lines = record(
        EAGER, Sweep(sizes=(64,)), protocol=protocol, ranks=ranks,
        metadata={**header()["metadata"], "fragment_variables": names},
        mpi_variables={"cells": "64", "cell_bytes": "8192"},
    )  # fmt: skip
    lines[1]["own"]["idle_pss_total_bytes"] = round(total)
    return lines


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_the_memory_of_a_raised_limit_is_told_by_the_number_of_ranks(tmp_path: Path, power: float) -> None:
    numbers = (2, 4, 8, 16)
    default = [idle(ranks, "default", 2e7 * ranks) for ranks in numbers]
    eager = [idle(ranks, "eager", 2e7 * ranks + 1e5 * ranks**power) for ranks in numbers]
    memory = memory_table(table_of(tmp_path, *default, *eager))
    raised = memory[memory["protocol"] == "eager"]
    assert list(raised["ranks"]) == list(numbers)
    assert list(raised["extra_bytes"]) == pytest.approx([1e5 * ranks**power for ranks in numbers], abs=1)
    assert memory[memory["protocol"] == "default"]["extra_bytes"].isna().all()
    assert set(memory["fragments"]) == {64} and set(memory["fragment_bytes"]) == {8192}
    usual, extra = growth_sentences(memory)
    assert "basic: the memory of idle ranks grows as the ranks to the power of 1.00" in usual
    assert f"beyond that of the protocol default grows as the ranks to the power of {power:.2f}" in extra


def test_a_record_of_the_memory_alone_is_good(tmp_path: Path) -> None:
    """It has one point, without repetitions, about which nothing is expected."""
    lines = record(EAGER, Sweep(sizes=(0,)), send="never", ranks=16, oversubscribed=True)
    lines[1] = point(0, EAGER, 0, repetitions=0, ranks=16)
    path = synthetic.write(tmp_path / "a.jsonl", lines)
    check_record(path)
    found = load_sync_overlap(path)
    assert not list(entry.wrong(found)) and not entry.INSIDE.covered([found])
    table = sync_table([found])
    assert "no message was sent: the memory of idle ranks alone was measured" in card(table)
    no_run: Any = None
    shown = SYNC_OVERLAP.text(Found(no_run, (found,), table))
    assert "outcome" not in shown and "fragments of a rank" in shown
    view = SECTION.view(table, [], 100)
    assert view is not None and not view.points.count
    assert not list(verdicts(table)) and planted_rows(table).empty and not list(charts(table))
    assert list(memory_table(table)["total_bytes"]) == [16 * 20_000_000]
    lines[1]["own"]["idle_pss_total_bytes"] = None
    untold = load_sync_overlap(synthetic.write(tmp_path / "b.jsonl", lines))
    assert list(entry.wrong(untold)) == ["the kernel does not tell the memory of a process"]


@pytest.mark.parametrize("shared", [True, False])
def test_only_beside_a_thread_on_its_core_a_record_may_have_no_valid_point(tmp_path: Path, shared: bool) -> None:
    lines = record(EAGER, Sweep(sizes=(64,)), configuration="async", shared_core=shared)
    lines[1] = point(message_bytes=64, repetitions=5)
    path = synthetic.write(tmp_path / "a.jsonl", lines)
    found = load_sync_overlap(path)
    fault = "none of its 1 points is valid: fewer than 6 repetitions (5)"
    assert list(entry.wrong(found)) == ([] if shared else [fault])
    assert not sync_table([found])["valid"].any()


def test_memory_that_does_not_grow_has_no_power(tmp_path: Path) -> None:
    records = [idle(ranks, protocol, 2e7 * ranks) for ranks in (2, 4, 8) for protocol in ("default", "eager")]
    assert ": no growth can be told" in list(growth_sentences(memory_table(table_of(tmp_path, *records))))[1]
    one = memory_table(table_of(tmp_path, idle(2, "eager", 4e7)))
    assert not list(growth_sentences(one))
    assert one["extra_bytes"].isna().all()


@given(st.floats(-3, 3), st.floats(1e-3, 1e6))
def test_the_exponent_of_a_power_law_is_found(power: float, factor: float) -> None:
    numbers = np.array([2.0, 4.0, 8.0, 16.0])
    found = power_law(numbers, factor * numbers**power)
    assert float(found.value) == pytest.approx(power, abs=1e-6)
    assert float(found.low) <= float(found.value) <= float(found.high)


@pytest.mark.parametrize(
    ("truth", "header", "changes", "reason"),
    [
        (replace(EAGER, bytes_per_second=3e7), {}, {}, "the receiver was late by 10 ms, a transfer takes"),
        (replace(EAGER, full_up_to=0, trip_ns=1e5), {}, {}, "incomplete overlap of up to"),
    ],
)
def test_what_is_not_reliable_says_why(
    tmp_path: Path, truth: Truth, header: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    synthetic.check_unreliable(row_of(tmp_path, truth, header=header, **changes), reason)


def test_repetitions_that_were_thrown_away_are_told(tmp_path: Path) -> None:
    thrown_away = row_of(tmp_path / "many", EAGER, discarded_repetitions=40)["flags"]
    assert thrown_away[0].startswith("40 repetitions thrown away beside 21: ") and len(thrown_away) == 1
    assert row_of(tmp_path / "few", EAGER, discarded_repetitions=1)["flags"] == []


def test_repetitions_that_disagree_are_unclear(tmp_path: Path) -> None:
    lines = record(EAGER, Sweep(sizes=(65536,)))
    other = point(0, replace(EAGER, full_up_to=0))["series"]
    for name, values in lines[1]["series"].items():
        values[::2] = other[name][::2]
    row = table_of(tmp_path, lines).iloc[0]
    assert (row["outcome"], row["who_progresses"]) == (late_receiver.UNCLEAR, late_receiver.UNCLEAR)
    assert row["unreliable_reasons"] == [
        "the interval of the outcome has both: before and after MPI_Wait",
        "who progresses differs between repetitions",
    ]


def estimate(low: float, high: float) -> Estimate:
    return Estimate(*(np.asarray(value) for value in ((low + high) / 2, low, high)))


@given(
    st.floats(-1e9, 1e9), st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 1e6), st.floats(0, 1e6)
)
def test_an_outcome_is_given_only_where_the_intervals_allow_it(
    after: float, after_width: float, whole: float, whole_width: float, trip: float, trip_width: float
) -> None:
    found = late_receiver.outcome(
        estimate(after, after + after_width), estimate(whole, whole + whole_width), estimate(trip, trip + trip_width)
    )
    if found == FULL:
        assert after + after_width < 0
    elif found == late_receiver.UNCLEAR:
        assert after <= 0 <= after + after_width
    else:
        assert after > 0
        assert (found == INCOMPLETE) == (whole - (after + after_width) - (trip + trip_width) > 0)


def test_who_progresses_follows_from_the_three_answers() -> None:
    expected: dict[tuple[bool | None, ...], str] = {
        (False, False, False): late_receiver.BOTH, (False, True, False): late_receiver.SENDER,
        (False, False, True): late_receiver.RECEIVER, (False, True, True): late_receiver.EITHER,
    }  # fmt: skip
    for alone, sender, receiver in product((True, False, None), repeat=3):
        found = late_receiver.who_progresses(alone, sender, receiver)
        if alone:
            assert found == late_receiver.NEITHER
        else:
            assert found == expected.get((alone, sender, receiver), late_receiver.UNCLEAR)


def test_arrival_is_clear_only_where_all_of_the_interval_agrees() -> None:
    assert late_receiver.arrives(median_estimate(np.full(9, 64)), 64) is True
    assert late_receiver.arrives(median_estimate(np.full(9, 56)), 64) is False
    assert late_receiver.arrives(median_estimate(np.array([0, 0, 0, 0, 0, 64, 64, 64, 64])), 64) is None


@given(st.lists(st.tuples(st.integers(0, 1 << 30), st.sampled_from(late_receiver.OUTCOMES)), max_size=30))
def test_stretches_cover_every_clear_size_once(sizes: list[tuple[int, str]]) -> None:
    once = list({size: (size, outcome) for size, outcome in sizes}.values())
    found = late_receiver.stretches(once)
    for size, outcome in once:
        holding = [one for one in found if one.first <= size <= one.last]
        assert [one.outcome for one in holding] == [outcome] or outcome == late_receiver.UNCLEAR
    for one, two in pairwise(found):
        assert one.last < two.first
        assert one.outcome != two.outcome


def test_the_numbers_for_references_are_of_the_sizes_that_were_asked_for(tmp_path: Path) -> None:
    between = record(EAGER, Sweep(between=(524288, 262144)))
    path, more = synthetic.write(tmp_path / "a.jsonl", record()), synthetic.write(tmp_path / "b.jsonl", between)
    numbers, others = record_numbers(load_sync_overlap(path)), record_numbers(load_sync_overlap(more))
    assert numbers["recv_over_wait"] == pytest.approx((4 * 0.5 + 1) / 5, abs=0.02)
    assert numbers["range_bytes"] == 65536
    assert others["recv_over_wait"] == numbers["recv_over_wait"]
    assert (numbers["points"], others["points"]) == (5, 7)
    assert {bound.metric for bound in SYNC_OVERLAP.bounds} <= set(numbers)
    assert SYNC_OVERLAP.numbers is not None
    assert SYNC_OVERLAP.numbers(load_sync_overlap(path), None).doubt == ""


def test_only_sizes_that_were_asked_for_are_compared(tmp_path: Path) -> None:
    table = table_of(tmp_path, record(EAGER, Sweep(between=(524288,))))
    assert SYNC_OVERLAP.launches is not None
    assert list(SYNC_OVERLAP.launches.of_table(table)["message_bytes"]) == list(SIZES)


def test_the_payload_is_what_all_parts_send(tmp_path: Path) -> None:
    found = load_sync_overlap(synthetic.write(tmp_path / "a.jsonl", record(network="wire:2gbit")))
    assert entry.payload_bytes(found) == 5 * 21 * sum(SIZES)
    assert entry.payload_bytes(replace(found, header=replace(found.header, network="shm"))) == 0
