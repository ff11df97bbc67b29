"""Verdicts on partitioned communication: which approach, from which size, and when it cannot be told."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.drawing.text import size
from postprocess.families.partitioned.record import load_partitioned
from postprocess.families.partitioned.summary import summaries
from postprocess.families.partitioned.table import partitioned_table
from postprocess.families.partitioned.verdict import (
    ABOVE,
    ALWAYS,
    BELOW,
    CROSSES,
    NEVER,
    BreakEven,
    Found,
    Verdict,
    break_even,
    choice_words,
    choices_words,
    verdict_text,
    verdicts,
)
from postprocess.families.sampled import FEW_BUCKETS
from tests.postprocess import synthetic
from tests.postprocess.synthetic_partitioned import DELAY_RATIO, EARLY, LATE, SIZES, Lines, point, record

SLOWER = replace(EARLY, times_slower=1.2)


def table_of(path: Path, *records: Lines) -> pd.DataFrame:
    return partitioned_table([load_partitioned(file) for file in synthetic.written(path, records)])


def only_verdict(path: Path, *records: Lines) -> Verdict:
    (verdict,) = verdicts(table_of(path, *records))
    return verdict


def delayed(approach: str = "part", **changes: object) -> Lines:
    return record(approach, ratios=(DELAY_RATIO,), **changes)  # type: ignore[arg-type]


def named(verdict: Verdict, message_bytes: int) -> list[str]:
    (choice,) = [choice for choice in verdict.choices if choice.message_bytes == message_bytes]
    return [option.words for option in choice.best]


def test_one_message_is_best_for_small_buffers_and_early_parts_for_large_ones(tmp_path: Path) -> None:
    verdict = only_verdict(tmp_path, delayed("part"), delayed("many", truth=SLOWER))
    assert named(verdict, SIZES[0]) == ["single (basic)"]
    assert named(verdict, SIZES[-1]) == ["part (basic)"]
    largest = verdict.choices[-1]
    assert largest.gain is not None
    assert largest.gain.low <= largest.gain.value <= largest.gain.high
    assert not largest.gains_nothing
    assert largest.gain.value == pytest.approx(8 / 3, rel=0.02)
    (first, *_), (*_, last) = choices_words(verdict.choices)[0], choices_words(verdict.choices)[-1]
    assert first.startswith("8 B")
    assert last.startswith("likely part (basic), at 16 MiB 2.6")


def test_approaches_that_are_as_fast_cannot_be_told_apart(tmp_path: Path) -> None:
    verdict = only_verdict(tmp_path, delayed("part"), delayed("many"))
    assert sorted(named(verdict, SIZES[-1])) == ["many (basic)", "part (basic)"]
    words = choice_words(verdict.choices[-1])
    assert "times as fast as one message" in words and "not told from" in words


def test_what_sends_everything_at_the_end_cannot_be_told_from_one_message(tmp_path: Path) -> None:
    """The negative control: MPICH and Intel MPI send when the last partition is ready."""
    verdict = only_verdict(tmp_path, delayed("part", truth=LATE))
    assert all(choice.is_single and choice.gains_nothing for choice in verdict.choices)
    assert choice_words(verdict.choices[-1]) == "cannot tell one message from part (basic)"
    ((option, found, launches),) = verdict.break_evens
    assert (option.approach, launches) == ("part", 1)
    assert found.state == NEVER
    assert found.words == "faster at no measured size up to 16 MiB"


@pytest.mark.parametrize(("gain", "sure"), [(1.02, False), (0.98, False), (1.05, True), (0.95, True)])
def test_a_gain_that_is_surely_there_and_too_small_to_count_is_no_answer(
    tmp_path: Path, gain: float, sure: bool
) -> None:
    """Its interval is narrower than a thousandth. What counts as a difference is 3 %, as in `compare`."""
    truth = replace(LATE, times_slower=1 / gain, own_noise=1e-4, common_noise=0.0)
    table = table_of(tmp_path, delayed("many", truth=truth))
    assert not table["gain_ci95_low"].le(1).eq(table["gain_ci95_high"].ge(1)).any()
    (verdict,) = verdicts(table)
    option = "many (basic)" if gain > 1 else "single (basic)"
    assert named(verdict, SIZES[-1])[:1] == [option]
    assert (len(named(verdict, SIZES[-1])) == 1) is sure
    ((_, found, _),) = verdict.break_evens
    assert found.state == (ALWAYS if sure and gain > 1 else NEVER)


def test_a_measured_single_stands_for_itself(tmp_path: Path) -> None:
    verdict = only_verdict(tmp_path, delayed("part", truth=replace(LATE, times_slower=2)), delayed("single"))
    assert named(verdict, SIZES[-1]) == ["single (basic)"]
    assert [option.approach for option, _, _ in verdict.break_evens] == ["part"]


def test_configurations_are_compared_by_their_times(tmp_path: Path) -> None:
    """A progress thread that makes everything 1.5 times slower has the same gain, and is not the answer."""
    slow = replace(EARLY, bytes_per_second=EARLY.bytes_per_second / 1.5)
    verdict = only_verdict(tmp_path, delayed(), delayed(truth=slow, configuration="async"))
    assert named(verdict, SIZES[-1]) == ["part (basic)"]
    assert {option.configuration for option, _, _ in verdict.break_evens} == {"basic", "async"}


def test_a_progress_thread_that_slows_the_computation_down_is_judged_by_the_time_to_solution(tmp_path: Path) -> None:
    """With 2.5 partitions of work and a gain of 8 / 3, computing more than twice as long costs more than is gained."""
    for slower, fastest in ((1.5, "part (async)"), (3, "single (basic)")):
        asynchronous = delayed("part", configuration="async")
        for line in asynchronous[1:-1]:
            line["series"]["t_delay_ns"] = [round(slower * time) for time in line["series"]["t_delay_ns"]]
        verdict = only_verdict(tmp_path, delayed("single"), asynchronous)
        assert named(verdict, SIZES[-1]) == [fastest]


def test_what_goes_to_several_neighbours_is_a_scenario_of_its_own(tmp_path: Path) -> None:
    """It sends as much again to each neighbour, so its times are no others'."""
    of_two = delayed("part_neighbours")
    for line in of_two[1:-1]:
        line["own"].update(neighbours=2, different_neighbours=2)
    table = table_of(tmp_path, delayed("part"), of_two)
    assert [verdict.values["neighbours"] for verdict in verdicts(table)] == [1, 2]
    assert "2 ranks of 1 core, 2 neighbours, 4 partitions" in verdict_text(table)


def test_a_launch_in_which_all_was_fast_is_no_better_approach(tmp_path: Path) -> None:
    """Times of different launches are not compared: `part` gains nothing, in a launch on a network twice as fast."""
    lucky = replace(LATE, times_slower=1.1, bytes_per_second=2 * LATE.bytes_per_second)
    verdict = only_verdict(
        tmp_path, delayed("part", truth=lucky), delayed("many", truth=replace(LATE, times_slower=1.2))
    )
    assert named(verdict, SIZES[-1]) == ["single (basic)"]


def test_scenarios_stand_apart(tmp_path: Path) -> None:
    table = table_of(tmp_path, record(), record(noise="uniform"), record(sent=8), record(toolchain="mpich@5.0.2"))
    assert len(verdicts(table)) == 2 * 4
    text = verdict_text(table)
    for words in ("mpich@5.0.2 over wire:2gbit", "8 partitions", "γβ 0", "γβ 2.5", "noise uniform"):
        assert words in text


def test_only_reliable_points_count(tmp_path: Path) -> None:
    verdict = only_verdict(tmp_path, delayed(oversubscribed=True))
    faster = sum(table_of(tmp_path, delayed(oversubscribed=True))["gain"] > 1)
    assert verdict.unreliable == (len(SIZES), len(SIZES), faster)
    assert not verdict.choices[-1].best
    assert choice_words(verdict.choices[-1]) == "cannot tell: no point is reliable"
    assert not verdict.break_evens
    table = table_of(tmp_path, delayed(oversubscribed=True))
    assert (
        f"{len(SIZES)} of {len(SIZES)} points are not reliable and do not count, {faster} faster than one message"
        in verdict_text(table)
    )


def test_launches_are_pooled_and_make_it_sure(tmp_path: Path) -> None:
    launches = [delayed(metadata={"case": {"repeat": repeat}}) for repeat in (1, 2, 3)]
    faster = [delayed("many", truth=SLOWER, metadata={"case": {"repeat": repeat}}) for repeat in (1, 2, 3)]
    verdict = only_verdict(tmp_path, *launches, *faster)
    assert verdict.choices[-1].launches == 3
    assert not choice_words(verdict.choices[-1]).startswith("likely")


def test_an_empty_table_has_no_verdict() -> None:
    assert verdicts(partitioned_table([])) == ()
    assert summaries(verdicts(partitioned_table([]))) == []
    assert verdict_text(partitioned_table([])) == ""


def test_a_summary_says_for_each_library_where_it_pays_most_and_how_often(tmp_path: Path) -> None:
    table = table_of(tmp_path, record("part"), record("part", truth=LATE, toolchain="mpich@5.0.2"))
    late, early = summaries(verdicts(table))
    assert (late.library, early.library) == ("mpich@5.0.2 over wire:2gbit", "openmpi@5.0.11 over wire:2gbit")
    assert late.most == "sending early surely pays in no case"
    assert late.cases == f"of {len(SIZES)} cases in which a partition is late: it cannot be told in {len(SIZES)}"
    assert late.others == f"of {len(SIZES)} cases in which nothing is late: it cannot be told in {len(SIZES)}"
    assert early.most.startswith("sending early pays most for 16 MiB, 2 ranks of 1 core, 4 partitions, γβ 2.5: ")
    assert "likely part (basic), 2.6" in early.most
    for is_late, words in ((True, early.cases), (False, early.others)):
        of_these = [verdict for verdict in verdicts(table) if verdict.has_something_late is is_late]
        answers = [choice for verdict in of_these[1:] for choice in verdict.choices if choice.pays_early]
        paying = "sending early pays" if is_late else "another approach is faster than one message"
        assert (f"{paying} in {len(answers)} (" in words) is bool(answers)
    assert "one message is fastest in" in early.cases
    unsure = table_of(tmp_path, delayed(oversubscribed=True))
    assert summaries(verdicts(unsure))[0].most == "sending early surely pays in no case"
    assert "not reliable" in summaries(verdicts(unsure))[0].unreliable


def test_what_is_as_fast_without_a_delay_is_not_said_to_be_sent_early(tmp_path: Path) -> None:
    """MPICH in shared memory: `part` sends nothing early, and is faster by its protocol, with and without a delay."""
    by_protocol = record("part", truth=replace(LATE, times_slower=0.7))
    (only,) = summaries(verdicts(table_of(tmp_path / "late", by_protocol)))
    assert only.most == "sending early surely pays in no case"
    same = f"an approach is faster than one message, but as much without a delay, in {len(SIZES)} ("
    assert only.cases.startswith(f"of {len(SIZES)} cases in which a partition is late: {same}")
    delayed_choice = next(
        v for v in verdicts(table_of(tmp_path / "late", by_protocol)) if v.has_something_late
    ).choices[-1]
    assert delayed_choice.is_faster and not delayed_choice.pays_early
    assert ", but as much without a delay (1.43 [" in choice_words(delayed_choice)
    (unknown,) = summaries(
        verdicts(table_of(tmp_path / "only", delayed("part", truth=replace(LATE, times_slower=0.7))))
    )
    assert unknown.most.startswith("sending early pays most for ")  # without a delay it was not measured
    (early,) = summaries(verdicts(table_of(tmp_path / "early", record("part"))))
    assert early.most.startswith("sending early pays most for 16 MiB")
    assert "as much without a delay" not in early.most + early.cases


@pytest.mark.parametrize(("network", "told"), [("wire:2gbit:duplex", True), ("wire:2gbit", False), ("shm", False)])
def test_messages_within_a_few_buckets_of_a_wire_count_in_no_advice(tmp_path: Path, network: str, told: bool) -> None:
    """What was said of runs over the wire as it was before stays."""
    lines = record("part", ratios=(DELAY_RATIO,))
    reference = table_of(tmp_path / "before", lines)["t_ref_ns"]
    bucket = int(reference.median() / FEW_BUCKETS)
    lines[0] |= {"network": network, "command_line": ["partitioned", "--settle", f"{bucket}ns"]}
    table = table_of(tmp_path / "after", lines)
    within = (reference < FEW_BUCKETS * bucket).to_numpy() & told
    assert table["reliable"].tolist() == (~within).tolist()
    assert within.any() == told


def test_a_gain_above_the_number_of_partitions_is_not_where_it_pays_most(tmp_path: Path) -> None:
    """After a pause a wire lets the last part pass at once: that is no early sending."""
    fast, usual = replace(EARLY, times_slower=0.4), record("part", ratios=(DELAY_RATIO,))
    usual[1:-1] = [
        point(place, truth=fast if place == len(SIZES) - 1 else EARLY, message_bytes=message_bytes)
        for place, message_bytes in enumerate(SIZES)
    ]
    table = table_of(tmp_path, usual)
    said = table["flags"].map(lambda flags: any("more than N theta = 4, which early" in flag for flag in flags))
    assert said.tolist() == (table["gain_ci95_low"] > 4).tolist()
    assert said.sum() == 1 and said.iloc[-1]
    (one,) = summaries(verdicts(table))
    assert one.most.startswith(f"sending early pays most for {size(SIZES[-2])}, ")
    assert f"{size(SIZES[-1])})" in one.cases  # it pays there too
    usual[1:-1] = [point(0, truth=fast, message_bytes=SIZES[-1])]
    usual[-1]["points"] = 1
    (alone,) = summaries(verdicts(table_of(tmp_path / "alone", usual)))
    words = "sending early pays only with gains above the number of partitions, which it alone cannot bring, the least"
    assert alone.most.startswith(f"{words} for 16 MiB")


def test_a_single_partition_is_not_said_to_be_sent_early(tmp_path: Path) -> None:
    """It has no other that it could be earlier than. That `layer` can be faster than one message is said as that."""
    alone = [
        record("layer", truth=replace(EARLY, times_slower=0.9), ratios=ratios, sent=1) for ratios in ((0,), (0, 2))
    ]
    (only,), (with_delay,) = (summaries(verdicts(table_of(tmp_path / str(i), lines))) for i, lines in enumerate(alone))
    assert only.most == with_delay.most == "no partition was late, so nothing could be sent early"
    assert (only.cases, with_delay.cases) == ("", "")
    faster = f"another approach is faster than one message in {len(SIZES)} ("
    assert only.others.startswith(f"of {len(SIZES)} cases in which nothing is late: {faster}")
    assert "early" not in only.others


def test_neighbours_with_one_answer_are_joined(tmp_path: Path) -> None:
    ranges = [where for where, _ in choices_words(only_verdict(tmp_path, delayed()).choices)]
    assert len(ranges) < len(SIZES)
    assert ranges[0].startswith("8 B to ") and ranges[-1].endswith("16 MiB")


def gains(*values: float, width: float = 0.02) -> list[Found]:
    return [Found(value, value * (1 - width), value * (1 + width), 1) for value in values]


def sizes(count: int) -> list[int]:
    return [1 << (10 + 2 * place) for place in range(count)]


def test_the_break_even_size_is_a_bracket_of_measured_sizes() -> None:
    """Between 16 and 128 KiB a line in logarithms crosses 1 at 30 KiB. Measured there, sending early is slower."""
    measured = [1 << 14, 1 << 17, 1 << 20]
    found = break_even(measured, gains(0.5, 4.0, 1.2))
    assert found == BreakEven(CROSSES, 1 << 14, 1 << 20, low=1 << 14, high=1 << 17)
    assert found.words == "faster from a size between 16 KiB and 128 KiB on"
    between = [1 << 14, 3 << 13, 1 << 15, 3 << 14, 1 << 16, 1 << 17]
    finer = break_even(between, gains(0.45, 0.57, 0.58, 0.54, 1.1, 3.4))
    assert (finer.low, finer.high) == (3 << 14, 1 << 16)


def test_what_is_not_reliable_or_cannot_be_told_is_within_the_bracket() -> None:
    assert break_even(sizes(4), [*gains(0.5), None, *gains(1.2, 1.1)]).words == (
        "faster from a size between 1 KiB and 16 KiB on"
    )
    undecided = break_even(sizes(5), [*gains(0.5), *gains(1.0, 1.1, width=0.2), *gains(2, 2)])
    assert (undecided.state, undecided.low, undecided.high) == (CROSSES, 1 << 10, 1 << 16)
    above = break_even(sizes(5), [*gains(0.5, 2), None, *gains(2, 2)])
    assert (above.low, above.high) == (1 << 10, 1 << 16)  # not 4 KiB: at 16 KiB it is not known
    nothing_below = break_even(sizes(3), [None, *gains(2, 2)])
    assert (nothing_below.state, nothing_below.high) == (BELOW, 1 << 12)
    assert break_even(sizes(2), [None, None]).words == "cannot tell: no point is reliable"


def test_an_unknown_end_is_said() -> None:
    found = break_even(sizes(4), [*gains(0.5, 2, 2), None])
    assert found.words == "faster from a size between 1 KiB and 4 KiB on, surely up to 16 KiB"
    found = break_even(sizes(5), [*gains(0.5, 2), None, *gains(1.0, 1.0, width=0.01)])
    assert found.words == "faster from a size between 1 KiB and 4 KiB on, surely up to 4 KiB, and no longer at 64 KiB"


def test_a_gain_that_never_crosses_says_so() -> None:
    assert break_even(sizes(3), gains(0.5, 0.6, 0.9)) == BreakEven(NEVER, 1 << 10, 1 << 14)
    assert break_even(sizes(3), gains(1.5, 1.6, 1.9)) == BreakEven(ALWAYS, 1 << 10, 1 << 14)
    assert "no measured size up to 16 KiB" in break_even(sizes(3), gains(0.5, 0.6, 0.9)).words
    assert "every measured size from 1 KiB" in break_even(sizes(3), gains(1.5, 1.6, 1.9)).words


def test_half_an_answer_is_given_as_half_an_answer() -> None:
    below = break_even(sizes(3), gains(1.0, 1.0, 1.9, width=0.1))
    assert (below.state, below.high) == (BELOW, 1 << 14)
    assert math.isnan(below.low) and "whether below that too cannot be told" in below.words
    above = break_even(sizes(3), gains(0.5, 1.0, 1.0, width=0.1))
    assert (above.state, above.low) == (ABOVE, 1 << 10)
    assert math.isnan(above.high) and "whether above that cannot be told" in above.words
    assert break_even(sizes(3), [*gains(0.5, 0.5), None]).state == ABOVE
    first = break_even(sizes(3), [*gains(1.5), *gains(1.0, width=0.1), *gains(1.9)])
    assert (first.state, first.high) == (BELOW, 1 << 14)


def test_what_is_faster_for_messages_that_fit_into_buffers_is_so_no_longer_for_long_ones() -> None:
    """Open MPI without a progress thread: four messages within its limit travel early, longer ones do not."""
    found = break_even(sizes(5), gains(0.5, 2, 3, 1.0, 1.0, width=0.02))
    assert (found.state, found.low, found.high, found.ends) == (CROSSES, 1 << 10, 1 << 12, sizes(5)[3])
    assert found.words.endswith(f" on, and no longer at {size(sizes(5)[3])}")
    assert math.isnan(break_even(sizes(5), gains(0.5, 2, 3, 1.0, 1.0, width=0.1)).ends)  # it may still be there
    below = break_even(sizes(3), gains(2, 2, 1.0, width=0.02))
    assert (below.state, below.high, below.ends) == (BELOW, 1 << 10, sizes(3)[2])
    assert break_even(sizes(2), gains(2, 0.5)).ends == 1 << 12


@given(values=st.lists(st.floats(0.05, 20) | st.none(), min_size=1, max_size=8), width=st.floats(0, 0.5))
def test_a_break_even_size_lies_between_measured_sizes(values: list[float | None], width: float) -> None:
    measured = sizes(len(values))
    known = [None if value is None else gains(value, width=width)[0] for value in values]
    found = break_even(measured, known)
    assert found.words
    gain_at = dict(zip(measured, known, strict=True))
    if math.isfinite(found.low):
        slow = gain_at[int(found.low)]
        assert slow is not None and slow.low <= 1 and slow.high < 1.03
    if math.isfinite(found.high):
        until = min(end for end in (found.ends, found.surely * 2, math.inf) if not math.isnan(end))
        assert all(gain and gain.low > 1 for one, gain in gain_at.items() if found.high <= one < until)
    assert (found.state == CROSSES) == (found.low < found.high)
