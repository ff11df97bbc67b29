"""Records of blocking collectives: their shares against a known truth, what may be used, pictures and report."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from postprocess.families import axes
from postprocess.families.cpu_overhead import claims, entry
from postprocess.families.cpu_overhead.charts import SHARE, USER, charts, rank_charts
from postprocess.families.cpu_overhead.entry import BOUNDS, CPU_OVERHEAD
from postprocess.families.cpu_overhead.record import load_cpu_overhead
from postprocess.families.cpu_overhead.shown import cpu_text
from postprocess.families.cpu_overhead.table import cpu_table, record_numbers
from postprocess.statistics import cpu_use
from tests.postprocess import synthetic
from tests.postprocess.synthetic_cpu_overhead import (
    HELPED,
    OWN,
    POLLS,
    SIZES,
    SLEEPS,
    Lines,
    Truth,
    point,
    record,
    true_time_ns,
    with_one_more,
)

DATA = Path(__file__).parents[1] / "data"

ALL = tuple(axes.OPERATION.values)


def table_of(path: Path, *records: Lines) -> pd.DataFrame:
    return cpu_table([load_cpu_overhead(file) for file in synthetic.written(path, records)])


def row_of(path: Path, truth: Truth = POLLS, *, header: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The row of a record of one point."""
    lines = record(truth, sizes=(1024,), **(header or {}))
    lines[1] = point(truth=truth, **changes)
    return table_of(path, lines).iloc[0]


@pytest.mark.parametrize("truth", [POLLS, SLEEPS, HELPED])
def test_times_and_shares_are_the_truths(tmp_path: Path, truth: Truth) -> None:
    for row in table_of(tmp_path, record(truth)).to_dict("records"):
        time_ns = true_time_ns(truth, row["message_bytes"])
        assert row["t_wall_ns"] == pytest.approx(time_ns, rel=1e-3)
        assert row["cpu_share"] == pytest.approx(truth.cpu_share, abs=1e-3)
        assert row["idle_share"] == pytest.approx(1 - truth.cpu_share, abs=1e-3)
        assert row["thread_cpu_share"] == pytest.approx(truth.thread_share, abs=1e-3)
        assert row["idle_ns"] == pytest.approx((1 - truth.cpu_share) * time_ns, abs=0.03 * time_ns)
        assert row["cpu_all_ranks_ns"] == pytest.approx(2 * truth.cpu_share * time_ns, rel=0.03)
        assert row["cpu_share_ci95_low"] <= row["cpu_share"] <= row["cpu_share_ci95_high"]
        assert row["reliable"]


def test_a_process_with_a_progress_thread_is_idle_for_less_than_nothing_and_says_so(tmp_path: Path) -> None:
    row = row_of(tmp_path, HELPED)
    assert row["idle_share"] == pytest.approx(-1, abs=1e-3)
    assert row["flags"] == ["other threads of the process used 100 % of the time on a CPU"]


def test_a_collective_against_itself_is_no_slower_and_costs_no_more(tmp_path: Path) -> None:
    row = row_of(tmp_path, SLEEPS)
    assert row["slowdown_ci95_low"] <= 1 <= row["slowdown_ci95_high"]
    assert row["cpu_change_ci95_low"] - 1e-6 <= 0 <= row["cpu_change_ci95_high"] + 1e-6


def test_user_and_system_time_are_shares_of_the_wall_time_with_the_interval_of_their_ticks(tmp_path: Path) -> None:
    row = row_of(tmp_path, replace(SLEEPS, user_share=0.75))
    assert row["user_share"] == pytest.approx(0.3 * 0.75, rel=0.02)
    assert row["system_share"] == pytest.approx(0.3 * 0.25, rel=0.02)
    # 21 batches of 11 ms on 2 ranks, 30 % on the CPU, are about 35 ticks of 4 ms: 75 % of them are 55 to 89 %.
    assert row["user_share_ci95_low"] == pytest.approx(0.3 * 0.57, rel=0.1)
    assert row["user_share_ci95_high"] == pytest.approx(0.3 * 0.88, rel=0.1)


def test_the_interval_of_a_share_of_ticks_is_right_in_95_of_100_cases() -> None:
    rng = np.random.default_rng(1)
    found = [cpu_use.tick_share(4e6 * n, 4e6 * (200 - n), 4e6) for n in rng.binomial(200, 0.1, 2000)]
    assert np.mean([one.low <= 0.1 <= one.high for one in found]) >= 0.95


@pytest.mark.parametrize("ticks", [(20, 20, 20, 20), (10, 20, 80, 200)])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_the_interval_of_an_average_of_shares_is_right_in_95_of_100_cases(share: float, ticks: tuple[int, ...]) -> None:
    """Also where the shares differ, the wholes do, and the kernel counted a few ticks in all."""
    rng = np.random.default_rng(1)
    wholes, shares = np.array([1, 0.9, 1, 0.8]), share * np.array([0.5, 1, 1, 1.5])
    truth = float((shares * wholes).mean())
    averages = [
        cpu_use.average_of_tick_shares(found / ticks * wholes, wholes, np.array(ticks))
        for found in rng.binomial(ticks, shares, (2000, 4))
    ]
    assert np.mean([one.low <= truth <= one.high for one in averages]) >= 0.95


def of_the_process(table: pd.DataFrame) -> list[str]:
    """The sentences about a table, but for those about the whole node and the negative control."""
    others = ("CPUs of the node", "negative control")
    return [sentence for sentence in claims.sentences(table) if not any(words in sentence for words in others)]


def test_the_interval_of_an_average_contains_what_differs_between_launches(tmp_path: Path) -> None:
    launches = []
    for launch, share in enumerate((0.2, 0.24, 0.28), 1):
        lines = record(replace(SLEEPS, cpu_share=share, thread_share=share), operations=("allreduce",))
        lines[0]["metadata"] = {"case": {"repeat": launch}}
        launches.append(lines)
    one, three = (
        claims.average(table_of(tmp_path / str(len(some)), *some), "cpu_share") for some in (launches[:1], launches)
    )
    assert one.high < 0.22 and three.value == pytest.approx(0.24, abs=0.01)
    assert three.low < 0.2 and three.high > 0.28
    assert "likely" not in claims.sentences(table_of(tmp_path / "all", *launches))[0]


@pytest.mark.parametrize(
    ("share", "says"),
    [
        (0.2, "below the 30 % of MPICH2 1.0.3, above the 10 % of LAM/MPI 7.1.2"),
        (0.3, "whether it is below the 30 % of MPICH2 1.0.3 cannot be told"),
        (1.0, "above the 30 % of MPICH2 1.0.3, above the 10 % of LAM/MPI 7.1.2"),
    ],
)
def test_a_claim_of_the_paper_is_judged_only_where_the_interval_excludes_its_threshold(
    tmp_path: Path, share: float, says: str
) -> None:
    truth = replace(SLEEPS, cpu_share=share, thread_share=share)
    (of_all, of_user) = of_the_process(table_of(tmp_path, record(truth, operations=("allreduce",))))
    assert says in of_all
    assert of_all.startswith("openmpi@5.0.11, basic, wire:2gbit, likely (1 launch): MPI_Allreduce takes ")
    assert "of the CPU in user mode" in of_user
    assert of_user.endswith("; the paper says so of more than 8 nodes, and these are 2 ranks")
    crowded = table_of(tmp_path, record(truth, operations=("allreduce",), oversubscribed=True))
    (nothing,) = of_the_process(crowded)
    assert "no point of MPI_Allreduce is reliable" in nothing


def test_what_the_librarys_own_waiting_changes_is_told_by_cpu_time(tmp_path: Path) -> None:
    def of(truth: Truth) -> list[str]:
        usual, yielding = record(POLLS), record(truth)
        yielding[0]["plan"]["parameters"]["library_setting"] = ["yielding"]
        return of_the_process(table_of(tmp_path, usual, yielding))

    (same,) = of(POLLS)
    assert (
        "basic, wire:2gbit, likely (1 launch): setting the library to yielding waits changes nothing for sure" in same
    )
    assert same.endswith(": the CPU share (3 points), the time of a call (3 points)")
    share, time = of(SLEEPS)
    assert "with the library set to yielding waits the CPU share falls from 100 % to 30 %" in share
    assert time.endswith("yielding waits does not change for sure: the time of a call (3 points)")
    time, share = sorted(of(replace(POLLS, latency_ns=90_000)), key=len)[::-1]
    assert "the time of a call rises from 902 ns to 90 µs in bcast of 8 B on 2 ranks, where it changes most" in time
    assert "does not change for sure: the CPU share (3 points)" in share


def test_a_setting_is_the_cause_only_of_what_several_launches_show(tmp_path: Path) -> None:
    """The launches of one side may differ by more than the two sides do: then nothing is said to change."""

    def of(usual: tuple[float, ...], yielding: tuple[float, ...]) -> str:
        lines = []
        for setting, latencies in (("usual", usual), ("yielding", yielding)):
            for number, latency in enumerate(latencies, 1):
                one = record(replace(POLLS, latency_ns=latency), sizes=(1024,), metadata={"case": {"repeat": number}})
                one[0]["plan"]["parameters"]["library_setting"] = [setting]
                lines.append(one)
        return "\n".join(of_the_process(table_of(tmp_path, *lines)))

    slow = (9000, 10000, 11000)
    assert "; that is from 1 launch of each, and launches differ, so the cause cannot be told" in of((1000,), (9000,))
    assert "rises from" in of((1000, 1100, 1200), slow)
    assert of((1000, 1100, 1200), slow).count("that is over 3 launches or more of each") == 1
    assert "rises" not in of((1000, 1100, 12000), slow)


def test_a_setting_that_lets_another_thread_in_changes_something(tmp_path: Path) -> None:
    """Also where the process uses as much CPU time as before, because it polls."""

    def of(setting: str, soaked: float) -> Lines:
        one = point(1, POLLS, way="soaking")
        one["series"]["t_soaked_all_ranks_ns"] = [round(2 * soaked * wall) for wall in one["series"]["t_wall_ns"]]
        lines = with_one_more(record(POLLS, sizes=(1024,)), one)
        lines[0]["plan"]["parameters"]["library_setting"] = [setting]
        return lines

    *_, changed, unchanged = of_the_process(table_of(tmp_path, of("usual", 0.0), of("yielding", 0.7)))
    assert "the share of a thread of the lowest priority rises from 0 % to 70 % in bcast of 1 KiB on 2 ranks" in changed
    assert "does not change for sure: the CPU share (1 point), the time of a call (1 point)" in unchanged


def test_a_rank_that_comes_late_shows_what_waiting_costs_the_others(tmp_path: Path) -> None:
    """The library yields, but only in a wait that is long enough: in shorter ones it polls.

    Older records do not tell how long: it was the least time of a batch.
    """

    def of(setting: str, waits: Truth) -> Lines:
        lines = with_one_more(record(POLLS, sizes=(1024,)), point(1, POLLS, way="late", work=0.9))
        lines = with_one_more(lines, point(2, waits, way="late", work=0.9, lateness_ns=2_000_000_000))
        lines[0]["plan"]["parameters"]["library_setting"] = [setting]
        return lines

    table = table_of(tmp_path, of("usual", POLLS), of("yielding", SLEEPS))
    assert list(table[table["way"] == "late"]["lateness_ns"]) == 2 * [10_000_000, 2_000_000_000]
    assert set(table[table["way"] != "late"]["lateness_ns"]) == {0}
    text = cpu_text(table)
    assert "While a rank comes late:" in text
    usual, usual_long, yielding, yielding_long, changed, _ = of_the_process(table)
    waits = "ranks that wait {} for one that comes late take so much of the CPU meanwhile, in 1 reliable point: bcast"
    assert f"{waits.format('10 ms')} 100 % [100 %, 100 %]" in usual
    assert f"{waits.format('2 s')} 100 % [100 %, 100 %]" in usual_long
    assert f"library yielding, wire:2gbit, likely (1 launch): {waits.format('10 ms')} 100 %" in yielding
    assert f"library yielding, wire:2gbit, likely (1 launch): {waits.format('2 s')} 30 %" in yielding_long
    assert "falls from 100 % to 30 % in bcast of 1 KiB on 2 ranks, for which a rank comes late by 2 s, where" in changed


def test_a_setting_that_changes_nothing_is_told_so_of_the_waits_that_were_measured(tmp_path: Path) -> None:
    def of(setting: str) -> Lines:
        lines = with_one_more(record(POLLS, sizes=(1024,)), point(1, POLLS, way="late", work=0.9))
        lines[0]["plan"]["parameters"]["library_setting"] = [setting]
        return lines

    *_, unchanged = of_the_process(table_of(tmp_path, of("usual"), of("blocking")))
    assert "changes nothing for sure: the CPU share (2 points; waits of 10 ms for a late rank), the time" in unchanged


@pytest.mark.parametrize(
    ("truth", "says"),
    [
        (
            POLLS,
            "blocking collectives leave no CPU time idle: 0 % [0 %, 0 %] of their time, on average over 3 reliable",
        ),
        (SLEEPS, "leave CPU time idle, which nonblocking ones could give back: 70 % [69 %, 71 %] of their time"),
        (replace(SLEEPS, involuntary=100), "no blocking collective has a reliable point"),
    ],
)
def test_the_verdict_says_whether_there_is_cpu_time_to_give_back(tmp_path: Path, truth: Truth, says: str) -> None:
    ((case, verdict),) = claims.verdicts(table_of(tmp_path, record(truth)))
    assert case == "openmpi@5.0.11, basic, wire:2gbit, likely (1 launch)"
    assert says in verdict


def test_what_the_kernel_does_for_the_network_is_beside_the_ranks(tmp_path: Path) -> None:
    """The negative control: without soft interrupts the node is busy with its ranks only."""
    (row,) = table_of(tmp_path, record(replace(POLLS, softirq_cpus=0.5), sizes=(262144,))).to_dict("records")
    assert row["ranks_cpus"] == pytest.approx(2, rel=0.01)
    assert row["node_cpus"] == pytest.approx(2.5, rel=0.01)
    assert row["softirq_cpus"] == pytest.approx(0.5, rel=0.01)
    # 21 batches of 11 ms on 4 CPUs are about 95 ticks of 10 ms: one eighth of them is 7 to 21 %.
    assert row["softirq_cpus_ci95_low"] == pytest.approx(4 * 0.066, rel=0.1)
    assert row["softirq_cpus_ci95_high"] == pytest.approx(4 * 0.209, rel=0.1)
    quiet = table_of(tmp_path, record(POLLS))
    assert (quiet["softirq_cpus"] == 0).all()
    (sentence,) = [sentence for sentence in claims.sentences(quiet) if "negative control" not in sentence]
    assert "CPUs of the node are busy, 0.00 [0.00, " in sentence
    assert "; 2.00 [2.00, 2.00] are charged to the ranks, on average over 3 points" in sentence


@pytest.mark.parametrize(
    ("factor", "says"),
    [
        (1.0, "differs in 0 of 3 reliable points, 0 % [0 %, 71 %]; 5 % are expected"),
        (1.1, "differs in 3 of 3 reliable points, 100 % [29 %, 100 %]; 5 % are expected: the times vary more than"),
    ],
)
def test_the_negative_control_is_counted(tmp_path: Path, factor: float, says: str) -> None:
    lines = record(POLLS)
    for line in lines[1:-1]:
        times = line["series"]["t_reference_wall_ns"]
        line["series"]["t_reference_wall_ns"] = [round(factor * time) for time in times]
    (sentence,) = [one for one in claims.sentences(table_of(tmp_path, lines)) if "negative control" in one]
    assert sentence.startswith("openmpi@5.0.11, basic, wire:2gbit, likely (1 launch): the negative control, the")
    assert says in sentence


def test_a_node_that_is_busy_beyond_its_cpus_is_shown_so(tmp_path: Path) -> None:
    """Ticks are counted at the ends of windows, too. Nothing is clamped."""
    lines = record(replace(POLLS, softirq_cpus=2.1), sizes=(262144,))
    (row,) = table_of(tmp_path, lines).to_dict("records")
    assert row["node_cpus"] == row["node_cpus_ci95_high"] == pytest.approx(4.1, rel=0.01)
    assert row["node_cpus_ci95_low"] == pytest.approx(3.85, rel=0.01)


def test_the_cpu_time_of_a_node_that_nobody_tells_is_not_known(tmp_path: Path) -> None:
    untold = record(sizes=(8,))
    untold[1]["series"]["t_node_busy_ns"] = [0] * 21
    table = table_of(tmp_path, untold)
    assert table["node_cpus"].isna().all()
    assert "CPUs that are busy" not in cpu_text(table)


def test_a_way_of_waiting_is_held_against_the_blocking_call(tmp_path: Path) -> None:
    """The negative control: the same wait again saves nothing. The positive one: a wait that uses a third."""

    def of(relative: float) -> str:
        lines = record(POLLS, sizes=(1024,))
        other = point(1, POLLS, way="sleeping")
        other["series"]["t_cpu_ns"] = [round(relative * value) for value in other["series"]["t_cpu_ns"]]
        (sentence,) = of_the_process(table_of(tmp_path, with_one_more(lines, other)))
        return sentence

    assert "waiting by 'sleeping' saves no CPU time for sure, in 1 point" in of(1.0)
    assert "waiting by 'sleeping' takes 67 % [67 %, 67 %] less CPU time than the blocking call" in of(0.33)


def test_ranks_out_of_step_are_told_with_what_nonblocking_calls_hide_of_it(tmp_path: Path) -> None:
    lines = record(POLLS, sizes=(1024,))
    for way, slowdown in {"even": 1.0, "even_working": 0.99, "skewed": 1.4, "skewed_working": 0.8}.items():
        made = point(len(lines) - 1, POLLS, way=way, lateness_ns=10_000_000)
        for name in ("t_wall_ns", "t_cpu_ns"):
            made["series"][name] = [round(slowdown * time) for time in made["series"]["t_reference_wall_ns"]]
        lines = with_one_more(lines, made)
    table = table_of(tmp_path, lines)
    by_way = table.set_index("way")["slowdown"]
    assert by_way.drop("blocking").to_dict() == pytest.approx(
        {"even": 1.0, "even_working": 0.99, "skewed": 1.4, "skewed_working": 0.8}, rel=1e-3
    )
    said = " ".join(of_the_process(table))
    assert "bcast 140 %" in said and "bcast 80 %" in said and "bcast 99 %" in said
    assert "With work before or beside each call" in cpu_text(table)


def test_the_idle_time_is_drawn_over_the_ranks_of_communicators(tmp_path: Path) -> None:
    lines = record(SLEEPS, sizes=(1024,), ranks=4, placement=synthetic.header(4)["placement"])
    for ranks, latency_ns in ((2, 400), (3, 600)):
        assert list(rank_charts(table_of(tmp_path, lines))) == []  # fewer than three make no curve
        smaller = point(ranks, replace(SLEEPS, latency_ns=latency_ns), ranks=ranks)
        smaller["index"] = ranks - 1
        medians = smaller["rank_medians"].items()
        smaller["rank_medians"] = {name: [*values, *[0] * (4 - ranks)] for name, values in medians}
        lines = with_one_more(lines, smaller)
    (chart,) = rank_charts(table_of(tmp_path, lines))
    assert chart.places == [2, 3, 4]
    first, second, third = chart.curves[0].marks
    assert first.value < second.value < third.value
    assert list(rank_charts(table_of(tmp_path, record(SLEEPS)))) == []


WORKS = (0.625, 0.3125, 0.47, 0.55)


def test_the_availability_of_a_collective_is_compared_once(tmp_path: Path) -> None:
    """Every way of waiting repeats it. From an archived table and from a new one the same is compared."""
    truth = replace(SLEEPS, available=0.5)
    one = point(9, truth, message_bytes=1024, way="nonblocking")
    table = table_of(tmp_path, with_one_more(record(truth, sizes=(1024,), works=WORKS), one))
    assert table["availability"].notna().all()
    launches = CPU_OVERHEAD.launches
    assert launches is not None
    fresh = launches.of_table(table)
    assert set(fresh["way"]) == {"blocking", "nonblocking"}
    assert set(fresh[fresh["availability"].notna()]["way"]) == {"blocking"}
    archived = launches.of_files(
        "RUN", [pa.Table.from_pandas(table[list(columns)]) for columns in launches.columns.values()]
    )
    again = archived.to_pandas()
    assert list(again["way"]) == list(fresh["way"])
    assert list(again["availability"].isna()) == list(fresh["availability"].isna())
    assert again["t_wall_ns"].notna().all()


@pytest.mark.parametrize(
    ("available", "low", "high", "says"),
    [(0.5, 0.47, 0.625, "47 % to 62 %"), (0.0, 0.0, 0.3125, "0 % to 31 %"), (1.0, 0.625, math.nan, "at least 62 %")],
)
def test_availability_is_the_work_from_which_a_collective_takes_longer(
    tmp_path: Path, available: float, low: float, high: float, says: str
) -> None:
    table = table_of(tmp_path, record(replace(SLEEPS, available=available), sizes=(8, 1024), works=WORKS))
    of_size = table[table["message_bytes"] == 1024]
    assert len(of_size) == 1 + len(WORKS)
    for row in of_size.to_dict("records"):
        assert row["availability_ci95_low"] == pytest.approx(low, abs=0.01)
        assert row["availability_ci95_high"] == pytest.approx(high, abs=0.01, nan_ok=True)
    assert table[table["message_bytes"] == 8]["availability"].isna().all()
    (sentence,) = [one for one in claims.sentences(table) if "fits beside a nonblocking" in one]
    assert sentence.endswith(f"a share of its time: ibcast {says} (1 KiB)")
    assert "Work that fits beside the nonblocking collective" in cpu_text(table)


def test_noise_that_both_times_share_does_not_widen_the_share(tmp_path: Path) -> None:
    row = row_of(tmp_path, replace(SLEEPS, noise=0.4, share_noise=0.001))
    assert row["t_wall_ns_ci95_high"] - row["t_wall_ns_ci95_low"] > 0.1 * row["t_wall_ns"]
    assert row["cpu_share_ci95_high"] - row["cpu_share_ci95_low"] < 0.01


@pytest.mark.parametrize(
    ("truth", "header", "changes", "reason"),
    [
        (replace(SLEEPS, share_noise=0.1), {}, {}, "interval too wide ("),
        (replace(SLEEPS, voluntary=0, involuntary=0), {}, {}, "idle for 70 % of the time, but others had the CPU"),
        (replace(SLEEPS, voluntary=3, involuntary=5), {}, {}, "idle for 70 % of the time, but others had the CPU"),
        (POLLS, {"own": {**OWN, "cpu_clock_step_ns": 4_000_000}}, {}, "the CPU clock advances"),
    ],
)
def test_what_is_not_reliable_says_why(
    tmp_path: Path, truth: Truth, header: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    synthetic.check_unreliable(row_of(tmp_path, truth, header=header, **changes), reason)


def test_the_numbers_for_references_are_geometric_means(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "a.jsonl", record(SLEEPS))
    numbers = record_numbers(load_cpu_overhead(path))
    times = [true_time_ns(SLEEPS, size) for size in SIZES]
    mean = math.exp(sum(map(math.log, times)) / len(times))
    assert numbers["t_wall_ns"] == pytest.approx(mean, rel=0.01)
    assert numbers["t_cpu_ns"] == pytest.approx(0.3 * mean, rel=0.03)
    assert numbers["cpu_share"] == pytest.approx(0.3, abs=1e-3)
    assert (numbers["points"], numbers["points_reliable"]) == (3, 3)
    assert {bound.metric for bound in BOUNDS} & set(numbers) == {"t_wall_ns", "t_cpu_ns"}
    assert CPU_OVERHEAD.numbers is not None
    assert CPU_OVERHEAD.numbers(load_cpu_overhead(path), None).doubt == ""
    shared = synthetic.write(tmp_path / "b.jsonl", record(SLEEPS, oversubscribed=True))
    assert CPU_OVERHEAD.numbers(load_cpu_overhead(shared), None).doubt


@pytest.mark.parametrize(
    ("operation", "blocks"),
    [
        ("barrier", 0), ("bcast", 3), ("gather", 3), ("scatter", 3), ("allgather", 12), ("alltoall", 12),
        ("reduce", 3), ("allreduce", 4), ("reduce_scatter_block", 12), ("scan", 3),
    ],
)  # fmt: skip
def test_the_payload_is_the_least_that_any_algorithm_moves(tmp_path: Path, operation: str, blocks: int) -> None:
    """Over a wire each rank is alone; within one node nothing crosses; two nodes of two ranks exchange their blocks."""
    lines = record(operations=(operation,), sizes=(1024,), ranks=4, placement=synthetic.header(4)["placement"])
    found = load_cpu_overhead(synthetic.write(tmp_path / "a.jsonl", lines))
    (one,) = found.points
    assert entry.payload_bytes(found) == blocks * one.message_bytes * 2 * one.calls * one.repetitions
    inner = replace(found, header=replace(found.header, network="shm"))
    assert entry.payload_bytes(inner) == 0
    lines[0]["network"] = "native"
    for place in lines[0]["placement"]:
        place["node"] = place["rank"] // 2
    lines[0]["nodes"] = 2
    two = load_cpu_overhead(synthetic.write(tmp_path / "b.jsonl", lines))
    between = {
        "barrier": 0, "bcast": 1, "gather": 2, "scatter": 2, "allgather": 4, "alltoall": 8, "allreduce": 2,
        "reduce_scatter_block": 4,
    }  # fmt: skip
    expected = between.get(operation, 1) * one.message_bytes * 2 * one.calls * one.repetitions
    assert entry.payload_bytes(two) == expected


def test_idle_times_that_are_not_above_0_are_left_out_and_counted(tmp_path: Path) -> None:
    table = table_of(tmp_path, record(HELPED))
    _, share = charts(table)
    assert share.low < -1
    few = table_of(tmp_path, record(HELPED, sizes=(8,)), record(SLEEPS, sizes=(64, 512)))
    assert [chart.kind for chart in charts(few)] == [USER, SHARE]  # two sizes with idle time make no curve
    mixed = table_of(tmp_path, record(HELPED, sizes=(8,)), record(SLEEPS, sizes=(64, 512, 4096)))
    _, _, time = charts(mixed)
    assert time.notes == ["1 point not surely above 0, or not measured, left out"]
