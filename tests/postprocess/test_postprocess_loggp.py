"""The LogGP model: its equations, and its parameters from times with a known truth."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.families import sampled_inside
from postprocess.families.cpu_overhead import claims, entry, loggp_table
from postprocess.families.cpu_overhead.entry import BOUNDS, CPU_OVERHEAD, SECTION
from postprocess.families.cpu_overhead.loggp_record import loggp_record
from postprocess.families.cpu_overhead.shown import cpu_text
from postprocess.families.cpu_overhead.table import COLUMNS, any_record, cpu_table
from postprocess.families.family import unit_of
from postprocess.records.reading import load_record
from postprocess.statistics import loggp
from postprocess.statistics.launches import over_launches
from postprocess.statistics.loggp import Parameters
from postprocess.statistics.metrics import Estimate, Floats
from tests.postprocess import synthetic
from tests.postprocess.synthetic_cpu_overhead import (
    POLLS,
    Lines,
    Messages,
    message_point,
    messages_record,
    point,
    record,
    with_one_more,
)
from tests.support import check_record

LARGE = st.floats(0, 1e6)


def table_of(path: Path, *records: Lines) -> pd.DataFrame:
    return cpu_table([any_record(load_record(file)) for file in synthetic.written(path, records)])


@pytest.mark.parametrize(("ranks", "rounds"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (64, 6), (65, 7)])
def test_rounds_are_the_logarithm_rounded_up(ranks: int, rounds: int) -> None:
    assert loggp.rounds(ranks) == rounds


def test_the_equations_have_the_papers_terms() -> None:
    """Equations 1 to 6 with numbers that show each term: o 1, L 10, G 100, gamma 1000; m 2, P 8."""
    p = Parameters(latency=10, overhead=1, gap_per_byte=100, gamma=1000)
    assert loggp.barrier(p, 8) == loggp.Prediction(cpu=2 * 3, network=10 * 3)
    assert loggp.broadcast(p, 8, 2) == loggp.Prediction(cpu=2 * 3, network=(10 + 200) * 3)
    assert loggp.allreduce(p, 8, 2) == loggp.Prediction(cpu=(4 + 2000) * 3, network=2 * (10 + 200) * 3)
    assert loggp.barrier(p, 8).whole == (2 * 1 + 10) * 3  # 1
    assert loggp.allreduce(p, 8, 2).whole == 2 * (2 * 1 + 10 + 200) * 3 + 2 * 1000 * 3  # 2
    assert loggp.broadcast(p, 8, 2).whole == (2 * 1 + 10 + 200) * 3  # 3


@given(LARGE, LARGE, st.floats(0, 10), st.integers(0, 2**20), st.integers(2, 2**12))
def test_the_cpus_share_of_a_broadcast_falls_with_the_size_and_not_with_the_ranks(
    latency: float, overhead: float, per_byte: float, message_bytes: int, ranks: int
) -> None:
    """The paper's prediction (section 2.2): what is the network's grows with the size."""
    p = Parameters(latency, overhead, per_byte)
    small, large = loggp.broadcast(p, ranks, message_bytes), loggp.broadcast(p, ranks, 2 * message_bytes)
    assert large.cpu == small.cpu
    assert large.network >= small.network
    assert loggp.broadcast(p, 2 * ranks, message_bytes).whole >= small.whole


@given(st.floats(1, 1e6), st.floats(0, 100), st.lists(st.integers(1, 2**24), min_size=2, max_size=9, unique=True))
def test_a_line_is_found_again(gap: float, per_byte: float, sizes: Sequence[int]) -> None:
    found = loggp.line(sizes, [gap + (one - 1) * per_byte for one in sizes])
    times = [found[0] + (one - 1) * found[1] for one in sizes]
    assert times == pytest.approx([gap + (one - 1) * per_byte for one in sizes], rel=1e-6)


@pytest.mark.parametrize(("sizes", "times"), [((8,), (1.0,)), ((8, 8), (1.0, 2.0)), ((8, 16), (1.0, -1.0))])
def test_a_line_needs_two_sizes_and_times_above_0(sizes: Sequence[int], times: Sequence[float]) -> None:
    assert np.isnan(loggp.line(sizes, times)).all()


def test_planted_parameters_are_found_again(tmp_path: Path) -> None:
    truth = Messages(noise=0.0)
    path = synthetic.write(tmp_path / "a.jsonl", messages_record(truth))
    check_record(path)
    table = cpu_table([any_record(load_record(path))])
    assert tuple(table.columns) == COLUMNS
    for row in table.to_dict("records"):
        assert row["L_ns"] == pytest.approx(truth.latency, rel=0.01)
        assert row["o_send_ns"] == pytest.approx(truth.send, rel=0.01)
        assert row["o_recv_ns"] == pytest.approx(truth.receive, rel=0.01)
        assert row["o_ns"] == pytest.approx((truth.send + truth.receive) / 2, rel=0.01)
        assert row["g_ns"] == pytest.approx(truth.gap, rel=0.01)
        assert row["G_ns_per_byte"] == pytest.approx(truth.gap_per_byte, rel=0.01)
        assert row["gamma_hot_ns_per_byte"] == pytest.approx(truth.gamma_hot, rel=0.01)
        assert row["gamma_cold_ns_per_byte"] == pytest.approx(truth.gamma_cold, rel=0.01)
        assert not row["g_hidden"]
        assert row["valid"] and row["reliable"] and not row["flags"]


def test_the_intervals_of_noisy_times_contain_the_truth(tmp_path: Path) -> None:
    truth = Messages(noise=0.03)
    (row, *_) = table_of(tmp_path, messages_record(truth)).to_dict("records")
    for name, value in (("L_ns", truth.latency), ("g_ns", truth.gap), ("G_ns_per_byte", truth.gap_per_byte)):
        assert row[f"{name}_ci95_low"] < value < row[f"{name}_ci95_high"]
        assert row[f"{name}_ci95_high"] - row[f"{name}_ci95_low"] < 0.5 * value


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_a_resample_is_made_of_blocks_of_the_cube_root(n: int, seed: int) -> None:
    found = loggp.resampled(np.random.default_rng(seed), n, 1)[0]
    block = next(one for one in range(1, n + 1) if one**3 >= n)
    assert found.size == n
    assert ((found >= 0) & (found < n)).all()
    follow = (found[1:] - found[:-1] - 1) % n == 0
    assert all(follow[i] for i in range(n - 1) if (i + 1) % block)


def test_the_interval_is_wider_where_repetitions_that_follow_each_other_are_alike() -> None:
    """The same times in another order are independent: of them the median is known better."""
    rng, n = np.random.default_rng(7), 100
    drifts = np.ones(n)
    for i in range(1, n):
        drifts[i] = 1 + 0.6 * (drifts[i - 1] - 1) + rng.normal(0, 0.02)
    drifting, shuffled = (
        loggp.fit([reduced(8, times), reduced(4096, times)]).gamma_hot for times in (drifts, rng.permutation(drifts))
    )
    assert drifting.value == shuffled.value == pytest.approx(0.1, rel=0.02)
    assert drifting.high - drifting.low > 1.2 * (shuffled.high - shuffled.low)


def reduced(message_bytes: int, times: Floats) -> loggp.Times:
    """Times of which only those of reductions vary: they are the given multiples of 0.1 ns per byte."""
    always = {"round_trip": 3000.0, "train": 10000.0, "delayed": 60000.0, "delay": 3500.0, "receive": 100.0}
    constant = {name: np.full(times.size, value + 8 * message_bytes) for name, value in always.items()}
    reductions = 0.1 * message_bytes * times
    return loggp.Times(message_bytes=message_bytes, messages=16, **constant, hot=reductions, cold=reductions)


def test_a_gap_that_is_no_longer_than_o_cannot_be_seen(tmp_path: Path) -> None:
    table = table_of(tmp_path, messages_record(Messages(send=800, gap=100, gap_per_byte=0.0001)))
    assert table["g_hidden"].all()
    assert table.iloc[0]["flags"][0] == "o is not shorter than the gap: g cannot be seen, and is at most this"
    assert table.iloc[0]["g_ns"] == pytest.approx(800, rel=0.05)
    assert "≤ 800 ns [" in cpu_text(table)


def test_gaps_of_long_messages_that_o_hides_bound_the_gap_per_byte(tmp_path: Path) -> None:
    """As of TCP on one machine: the sender is busy with every byte, and only short messages have a gap beyond o."""
    truth = Messages(busy_per_byte=0.3, gap_per_byte=0.2, waiting_bytes=131072, noise=0.0)
    sizes = (8, 64, 8192, 32768, 131072, 262144, 524288)
    table = table_of(tmp_path, messages_record(truth, sizes=sizes))
    row = table.iloc[0]
    assert table["reliable"].all()
    assert row["G_hidden"] and not row["g_hidden"]
    assert (row["G_from_bytes"], row["G_to_bytes"]) == (131072, 524288)
    assert row["G_ns_per_byte"] == pytest.approx(0.3, rel=0.01)
    assert row["g_ns"] == pytest.approx(truth.gap, rel=0.01)
    assert row["L_ns"] == pytest.approx(truth.latency, rel=0.01)
    assert row["flags"] == [
        "o is not shorter than the gaps of messages of 128 KiB to 512 KiB, which G is of: G is at most this"
    ]
    assert "≤ 0.300 ns [0.300, 0.300]" in cpu_text(table)


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=12, unique=True), st.integers(1, 10**6))
def test_long_messages_are_the_largest_of_one_protocol(sizes: list[int], waiting_bytes: int) -> None:
    sizes.sort()
    chosen = [size for size, one in zip(sizes, loggp.long_messages(sizes, waiting_bytes), strict=True) if one]
    of_largest = [size for size in sizes if (size >= waiting_bytes) == (sizes[-1] >= waiting_bytes)]
    others = [size for size in sizes if size not in of_largest]
    assert chosen == next((one for one in (of_largest, others) if len(one) >= 3), sizes)[-3:]


def test_sizes_of_which_o_hides_most_do_not_make_a_line_by_chance(tmp_path: Path) -> None:
    """A gap in the middle was disturbed, so that three sizes seem to be seen: G is of long ones all the same."""
    truth = Messages(busy_per_byte=0.3, gap_per_byte=0.2, waiting_bytes=8192, noise=0.0)
    lines = messages_record(truth, sizes=(8, 64, 8192, 131072, 262144))
    lines[3]["series"]["t_trains_ns"] = [round(1.2 * time) for time in lines[3]["series"]["t_trains_ns"]]
    row = table_of(tmp_path, lines).iloc[0]
    assert (row["G_from_bytes"], row["G_to_bytes"]) == (8192, 262144)


def test_a_line_through_two_gaps_tells_no_gap_per_byte(tmp_path: Path) -> None:
    """Nothing tests it. It is not reliable, and no reference is made of it."""
    messages = loggp_record(load_record(synthetic.write(tmp_path / "two.jsonl", messages_record(sizes=(8, 64)))))
    (reason,) = cpu_table([messages]).iloc[0]["unreliable_reasons"]
    assert reason == "G is of a line through 2 gaps: no third one tests it"
    numbers = loggp_table.numbers_of(messages)
    assert "o_ns" in numbers and "L_ns" not in numbers and "G_ns_per_byte" not in numbers
    falls = table_of(tmp_path, messages_record(Messages(gap=5000, gap_per_byte=-0.01, noise=0.0)))
    assert falls.iloc[0]["unreliable_reasons"] == ["G is surely below 0: the gaps do not grow with the size"]


def test_a_latency_below_0_is_no_time_of_the_network(tmp_path: Path) -> None:
    """The overheads overlap: then nothing is said of the network, nor predicted of the CPU's share."""
    collectives = record(operations=("barrier",))
    table = table_of(tmp_path, collectives, messages_record(Messages(latency=-300, noise=0.0)))
    assert table[table["pair"] != ""].iloc[0]["flags"] == ["L is below 0: the overheads of sender and receiver overlap"]
    assert table.iloc[0]["predicted_network_ns"] == pytest.approx(-300, rel=0.01)  # nothing is clamped
    assert "no prediction: L is below 0" in cpu_text(table)
    *_, (_, verdict) = claims.verdicts(table)
    assert "cannot be told, since L is below 0: the overheads of sender and receiver overlap: o " in verdict


def test_a_line_through_gaps_of_two_protocols_is_not_reliable(tmp_path: Path) -> None:
    """Neither is what rests on it, G and L, of which no reference is made."""
    lines = messages_record(sizes=(8, 512, 32768, 65536))
    lines[2] = message_point(1, Messages(gap=20000), 512, lines[0]["timer"]["overhead_ns"])
    messages = loggp_record(load_record(synthetic.write(tmp_path / "two.jsonl", lines)))
    for row in cpu_table([messages]).to_dict("records"):
        assert row["valid"] and not row["reliable"]
        (reason,) = row["unreliable_reasons"]
        assert reason.endswith("from the line: no single protocol")
    numbers = loggp_table.numbers_of(messages)
    assert "o_ns" in numbers and "L_ns" not in numbers and "G_ns_per_byte" not in numbers


def test_few_repetitions_have_no_interval_and_one_size_has_no_line(tmp_path: Path) -> None:
    lines = messages_record(sizes=(8, 512))
    lines[1] = message_point(0, Messages(), 8, 0.0, repetitions=4)
    row = table_of(tmp_path, lines).iloc[0]
    assert not row["valid"]
    assert math.isnan(row["L_ns"])
    assert row["unreliable_reasons"] == ["fewer than 6 repetitions (4)"]
    with pytest.raises(ValueError, match="two sizes"):
        loggp.fit([])


def test_the_eager_threshold_is_between_sizes_that_differ(tmp_path: Path) -> None:
    """Sizes that were measured to find it change nothing else."""
    asked = messages_record()
    between = copy.deepcopy(asked)
    for size in (8184, 8192):
        between = with_one_more(between, message_point(len(between), Messages(gap=9000), size, 0.0))
    found, few = table_of(tmp_path, between), table_of(tmp_path, asked)
    assert set(found["eager_bytes"]) == {8184} and set(found["waiting_bytes"]) == {8192}
    assert set(few["eager_bytes"]) == {512} and set(few["waiting_bytes"]) == {32768}
    assert "to 8184 B, not 8192 B" in cpu_text(found)
    assert set(found["L_ns"]) == set(few["L_ns"])
    never = table_of(tmp_path, messages_record(Messages(waiting_bytes=1 << 30)))
    assert set(never["eager_bytes"]) == {32768} and never["waiting_bytes"].isna().all()


def test_what_was_not_measured_is_called_so(tmp_path: Path) -> None:
    lines = messages_record(sizes=(8, 64, 512, 32768))
    lines[4] = message_point(3, Messages(), 32768, 0.0, repetitions=0)
    *measured, last = table_of(tmp_path, lines).to_dict("records")
    assert all(row["reliable"] for row in measured)
    assert last["unreliable_reasons"] == ["not measured"]


def test_parameters_of_a_disturbed_machine_are_not_reliable(tmp_path: Path) -> None:
    """The trains of one size were disturbed more than its round trips, so that its gap is below 0."""
    lines = messages_record(Messages(noise=0.3), sizes=(8, 512))
    lines[1]["series"]["t_trains_ns"] = [1] * 21
    row = table_of(tmp_path, lines).iloc[0]
    assert row["valid"] and not row["reliable"]
    predicted = table_of(tmp_path, record(sizes=(8,)), lines).iloc[0]
    assert predicted["flags"] == ["predicted from LogGP parameters that are not reliable"]
    no_line, wide = row["unreliable_reasons"]
    assert no_line.startswith("no line goes through the gaps")
    assert wide.startswith("interval too wide (")


@pytest.fixture
def _few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of many launches, whose times do not vary."""
    monkeypatch.setattr(loggp, "RESAMPLES", 20)


@pytest.mark.usefixtures("_few_resamples")
def test_launches_whose_intervals_agree_are_counted(tmp_path: Path) -> None:
    def launch(number: int, latency: float) -> Lines:
        return messages_record(
            Messages(latency=latency), metadata={"case": {"repeat": number}}, started_utc=f"2026-11-01T02:0{number}:00Z"
        )

    alike = table_of(tmp_path, launch(1, 900), launch(2, 900), launch(3, 900))
    (sentence,) = claims.sentences(alike)
    assert sentence.endswith(
        "of 3 pairs of launches of loggp, within node, the intervals agree for L in 3, o in 3, g in 3, G in 3, "
        "gamma hot in 3, gamma cold in 3"
    )
    (sentence,) = claims.sentences(table_of(tmp_path, launch(1, 900), launch(2, 900), launch(3, 1900)))
    assert "agree for L in 1, o in 3" in sentence
    assert claims.sentences(table_of(tmp_path, launch(1, 900))) == []


@pytest.mark.parametrize("states", [(0.0,), (-0.3, 0.3)])
def test_the_interval_over_launches_contains_what_differs_between_them(states: Sequence[float]) -> None:
    """So two runs agree, also where each launch is in one of two states. Those of launches alone do not."""
    rng, runs, launches = np.random.default_rng(2006), 400, 6
    values = np.exp(rng.choice(states, (runs, launches)) + rng.normal(0, 0.05, (runs, launches)))
    within = [[Estimate(value, 0.99 * value, 1.01 * value) for value in run] for run in values]
    found = [over_launches(run, 0.99 * run, 1.01 * run) for run in values]
    assert np.mean([one.low <= 1 <= one.high for one in found]) > 0.9
    assert np.mean([agree(one, two) for one, two in pairwise(found)]) > 0.9
    assert np.mean([agree(run[0], run[1]) for run in within]) < 0.5


def agree(one: Estimate, two: Estimate) -> bool:
    return bool(one.low <= two.high and two.low <= one.high)


@pytest.mark.usefixtures("_few_resamples")
def test_the_verdict_of_a_message_compares_its_overhead_with_its_latency(tmp_path: Path) -> None:
    def says(messages: Messages) -> str:
        ((_, verdict),) = claims.verdicts(table_of(tmp_path, messages_record(messages)))
        return verdict

    assert "takes more of a CPU at each end than" in says(Messages(latency=10, noise=0.0))
    assert "cannot be told" in says(Messages(latency=(Messages().send + Messages().receive) / 2, noise=0.03))


def of_launches(path: Path, *latencies: float) -> pd.DataFrame:
    """The table of launches with these latencies."""
    lines = [
        messages_record(Messages(latency=latency, noise=0.0), metadata={"case": {"repeat": number}})
        for number, latency in enumerate(latencies, 1)
    ]
    return table_of(path, *lines, record(operations=("barrier",)))


@pytest.mark.usefixtures("_few_resamples")
def test_a_run_of_several_launches_says_what_all_of_them_say(tmp_path: Path) -> None:
    """Its interval, and so that of a prediction, reaches over its launches."""
    table = of_launches(tmp_path, 900, 880, 1000, 940, 920, 910)
    messages, barrier = table[table["pair"] != ""], table.iloc[-1]
    for row in messages.to_dict("records"):
        ends = [row[f"run_L_ns{end}"] for end in ("", "_ci95_low", "_ci95_high")]
        assert ends == pytest.approx([915, 881, 969], rel=0.005)
        assert row["launches"] == row["launches_reliable"] == 6
    overhead = Messages().send + Messages().receive
    predicted = [barrier[f"predicted_ns{end}"] for end in ("", "_ci95_low", "_ci95_high")]
    assert predicted == pytest.approx([overhead + latency for latency in (915, 881, 969)], rel=0.005)
    _, (case, verdict) = claims.verdicts(table)
    assert case == "openmpi@5.0.11, basic, wire:2gbit, within node"
    assert verdict.startswith("a message takes less of a CPU at each end than of the network: o ")
    assert verdict.endswith("L 915 ns [881 ns, 969 ns], from 6 valid launches")
    view = SECTION.view(table, (), 10)
    assert view is not None
    (shown,) = [points for _, points, open_at_once in view.tables if open_at_once]
    assert len(shown.rows) == 1
    text = cpu_text(table)
    assert text.count("Parameters of the LogGP model:") == text.count("Parameters of each launch:") == 1
    assert "of fewer than 3 launches" in cpu_text(of_launches(tmp_path, 900, 880))
    one = of_launches(tmp_path, 900)
    assert "one launch: no interval contains what differs between launches" in cpu_text(one)
    assert "Parameters of each launch:" not in cpu_text(one)
    assert claims.verdicts(one)[-1][1].endswith(", whose interval does not contain what differs between launches")


def test_what_is_predicted_stands_beside_what_is_measured(tmp_path: Path) -> None:
    truth = Messages(noise=0.0)
    collectives = record(operations=("barrier", "bcast", "alltoall"), sizes=(1024,))
    collectives = with_one_more(collectives, point(3, replace(POLLS, latency_ns=3000), way="once"))
    table = table_of(tmp_path, collectives, messages_record(truth))
    of = {row["operation"]: row for row in table[table["way"] != "once"].to_dict("records")}
    barrier = truth.send + truth.receive + truth.latency
    assert of["barrier"]["predicted_ns"] == pytest.approx(barrier, rel=0.01)
    assert of["barrier"]["predicted_cpu_ns"] == pytest.approx(truth.send + truth.receive, rel=0.01)
    assert of["bcast"]["predicted_ns"] == pytest.approx(barrier + 1024 * truth.gap_per_byte, rel=0.01)
    assert math.isnan(of["alltoall"]["predicted_ns"])
    # The equations describe one call whose ranks begin together, whatever a call of a batch takes.
    (batch, once) = table[table["operation"] == "bcast"].to_dict("records")
    assert batch["t_once_ns"] == once["t_wall_ns"] == pytest.approx(3000 + 1024 / 5, rel=0.01)
    assert math.isnan(of["barrier"]["t_once_ns"])
    assert "What the LogGP model predicts of blocking collectives:" in cpu_text(table)


@pytest.mark.parametrize("changed", [{"network": "shm"}, {"toolchain": "mpich@5.0.2"}, {"configuration": "async"}])
def test_parameters_of_other_launches_predict_nothing(tmp_path: Path, changed: dict[str, Any]) -> None:
    table = table_of(tmp_path, record(operations=("bcast",)), messages_record(**changed))
    assert table["predicted_ns"].isna().all()


def test_the_parameters_are_compared_once_per_record(tmp_path: Path) -> None:
    table = table_of(tmp_path, record(works=(0.5,)), messages_record())
    assert CPU_OVERHEAD.launches is not None
    compared = CPU_OVERHEAD.launches.of_table(table)
    assert len(compared[compared["benchmark"] == "loggp"]) == 1
    assert "working" not in set(compared["way"])


def test_a_record_of_messages_tells_its_numbers_payload_and_faults(tmp_path: Path) -> None:
    lines = messages_record()
    found = any_record(load_record(synthetic.write(tmp_path / "a.jsonl", lines)))
    assert entry.payload_bytes(found) == 2 * 600 * 21 * (8 + 512 + 32768)
    assert dict(entry.INSIDE.covered([found])) == {"LogGP parameters": "within node"}
    assert entry.communicated_ns(found) > 0
    assert not list(sampled_inside.wrong(found))
    assert CPU_OVERHEAD.numbers is not None
    numbers = CPU_OVERHEAD.numbers(found, None)
    assert numbers.values["L_ns"] == pytest.approx(900, rel=0.05)
    assert numbers.values["round_trip_ns"] == pytest.approx(2 * (200 + 900 + 300), rel=0.05)
    assert {bound.metric for bound in BOUNDS} - {"t_wall_ns", "t_cpu_ns"} <= set(numbers.values)
    assert numbers.doubt == ""
    assert unit_of("G_ns_per_byte") == "ns/byte"
    lines[1]["data_errors"] = 2
    wrong = any_record(load_record(synthetic.write(tmp_path / "b.jsonl", lines)))
    assert list(sampled_inside.wrong(wrong)) == ["2 wrong values were received"]
