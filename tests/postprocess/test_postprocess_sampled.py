"""What all families have in common: points that may not be used say why, and a record that does not fit is refused."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.families import registry, sampled
from postprocess.families.hybrid.axes import WHOLE
from postprocess.families.mpi_impact.record import COMPUTE_ALONE
from postprocess.records.fields import RecordError
from postprocess.records.reading import load_record
from postprocess.records.run import load_run
from tests.postprocess import (
    synthetic,
    synthetic_cpu_overhead,
    synthetic_guidelines,
    synthetic_hybrid,
    synthetic_hybrid_kernels,
    synthetic_impact,
    synthetic_partitioned,
    synthetic_sync_overlap,
    synthetic_transfer_overlap,
    synthetic_whole_machine,
    test_postprocess_cpu_overhead,
    test_postprocess_guidelines,
    test_postprocess_hybrid,
    test_postprocess_hybrid_kernels,
    test_postprocess_partitioned,
    test_postprocess_sync_overlap,
    test_postprocess_transfer_overlap,
    test_postprocess_whole_machine,
)
from tests.postprocess.fuzzing import anything_anywhere, damaged_bytes, loads_or_says_why

Lines = list[dict[str, Any]]

ROW: dict[str, Callable[..., Any]] = {
    "cpu_overhead": test_postprocess_cpu_overhead.row_of,
    "guidelines": test_postprocess_guidelines.row_of,
    "hybrid": lambda path, **how: test_postprocess_hybrid.rows_of(path, **how)[WHOLE],
    "hybrid_kernels": lambda path, **how: test_postprocess_hybrid_kernels.rows_of(path, **how)["hybrid"],
    "whole_machine": test_postprocess_whole_machine.row_of,
    "partitioned": lambda path, header, **how: test_postprocess_partitioned.row_of(path, **header, **how),
    "sync_overlap": test_postprocess_sync_overlap.row_of,
    "transfer_overlap": test_postprocess_transfer_overlap.row_of,
}
"""The row of a record of one point."""


@pytest.mark.parametrize("family", ROW)
@pytest.mark.parametrize(
    ("header", "changes", "reason"),
    [
        ({"oversubscribed": True}, {}, "oversubscribed: "),
        ({}, {"repetitions": 5}, "fewer than 6 repetitions (5)"),
        ({}, {"data_errors": 3}, "wrong data received (3 errors)"),
        ({}, {"repetitions": 0}, "not measured"),
        ({}, synthetic.CLOCKS_DISAGREE, "clocks disagree by"),
    ],
)
def test_a_point_that_may_not_be_used_says_why(
    tmp_path: Path, family: str, header: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    row = ROW[family](tmp_path, header=header, **changes)
    assert not row["reliable"] and any(one.startswith(reason) for one in row["unreliable_reasons"])
    assert bool(row["valid"]) is not reason.startswith(("fewer", "wrong", "not measured"))
    assert row.get("verdict", "cannot tell") == "cannot tell"


@pytest.mark.parametrize(
    ("family", "truth"),
    [
        ("partitioned", replace(synthetic_partitioned.EARLY, own_noise=0.5)),
        ("transfer_overlap", synthetic_transfer_overlap.Truth(spread=0.3)),
    ],
)
def test_a_wide_interval_is_not_reliable(tmp_path: Path, family: str, truth: Any) -> None:
    row = ROW[family](tmp_path, header={}, truth=truth)
    assert row["valid"] and not row["reliable"]
    assert not sampled.beside_width(row["unreliable_reasons"])


RECORD: dict[str, Callable[[], Lines]] = {
    "cpu_overhead": lambda: synthetic_cpu_overhead.record(sizes=(8, 1024)),
    "loggp": synthetic_cpu_overhead.messages_record,
    "guidelines": synthetic_guidelines.record,
    "hybrid": lambda: synthetic_hybrid.record(operations=("allreduce",)),
    "hybrid_kernels": lambda: synthetic_hybrid_kernels.record(kernels=("bpmf",)),
    "whole_machine": synthetic_whole_machine.record,
    "mpi_impact": lambda: synthetic_impact.synthetic(4, synthetic_impact.slowed(1)),
    "partitioned": lambda: synthetic_partitioned.record(sizes=(1 << 20,)),
    "sync_overlap": lambda: synthetic_sync_overlap.record(sweep=synthetic_sync_overlap.Sweep(sizes=(64,))),
    "transfer_overlap": lambda: synthetic_transfer_overlap.record(versions=("overlap",)),
}
SAMPLED = [name for name in RECORD if name not in ("loggp", "mpi_impact")]

WRONG: list[tuple[str, Callable[[Lines], object], str]] = [
    *((name, lambda lines: lines[1]["series"].pop("start_imbalance_ns"), "start_imbalance_ns is missing")
      for name in SAMPLED),
    ("cpu_overhead", lambda lines: lines[1]["series"].pop("t_cpu_ns"), "series.t_cpu_ns is missing"),
    ("cpu_overhead", lambda lines: lines[1]["series"]["t_wall_ns"].__setitem__(0, 0), "t_wall_ns has a time of 0"),
    ("cpu_overhead", lambda lines: lines[1]["rank_medians"].pop("t_cpu_ns"), "rank_medians.t_cpu_ns is missing"),
    ("cpu_overhead", lambda lines: lines[1]["own"].pop("calls"), "calls"),
    ("guidelines", lambda lines: lines[1]["series"].pop("t_right_ns"), "series.t_right_ns is missing"),
    ("guidelines", lambda lines: lines[1]["series"]["t_left_ns"].__setitem__(0, 0), "has a time of 0"),
    ("guidelines", lambda lines: lines[1]["own"].update(allowed_percent=0), "allowed_percent"),
    ("loggp", lambda lines: lines[1]["series"].pop("t_trains_ns"), "series.t_trains_ns is missing"),
    ("loggp", lambda lines: lines[1]["own"].update(messages_of_train=1), "messages_of_train is 1, not at least 2"),
    ("loggp", lambda lines: lines[1]["own"].pop("trains"), "trains"),
    ("hybrid", lambda lines: lines[1]["parameters"].update(operation="scan"), "'scan': one of allgather, bcast, all"),
    ("hybrid", lambda lines: lines[1]["series"].pop("t_hybrid_whole_ns"), "series.t_hybrid_whole_ns is missing"),
    ("hybrid", lambda lines: lines[1]["series"]["t_library_alone_ns"].__setitem__(0, 0), "has a time of 0"),
    ("hybrid", lambda lines: lines[1]["own"].update(hybrid_alone_calls=0), "hybrid_alone_calls"),
    ("hybrid", lambda lines: lines[1]["own"].pop("papers_whole_calls"), "papers_whole_calls is missing"),
    ("hybrid", lambda lines: lines[1]["own"].pop("node_method"), "node_method"),  # how an allreduce was made
    ("hybrid", lambda lines: lines[1]["series"].pop("handover_most_ns"), "series.handover_most_ns is missing"),
    ("hybrid", lambda lines: lines[0]["own"].pop("one_off"), "one_off"),
    ("hybrid", lambda lines: lines[0]["own"].update(shared_nodes=0), "shared_nodes"),
    ("hybrid_kernels", lambda lines: lines[1]["series"].pop("t_hybrid_compute_ns"), "t_hybrid_compute_ns is missing"),
    ("whole_machine", lambda lines: lines[1]["series"].pop("t_slowest_ns"), "series.t_slowest_ns is missing"),
    ("whole_machine", lambda lines: lines[1]["rank_medians"].pop("t_own_ns"), "rank_medians.t_own_ns is missing"),
    ("whole_machine", lambda lines: lines[1]["rank_medians"]["t_own_ns"].pop(), "t_own_ns has 7 values, not 8"),
    ("whole_machine", lambda lines: lines[1]["own"]["partners"].pop(), "7 partners of 8 nodes"),
    ("whole_machine", lambda lines: lines[2]["own"]["partners"].__setitem__(0, 8), "8 is none of 8 nodes"),
    ("mpi_impact", lambda lines: lines[0].update(ranks=3), "3 ranks, but 2 placements"),
    ("mpi_impact", lambda lines: lines[0]["plan"]["own"].update(targets=[]), "no computation time"),
    ("mpi_impact", lambda lines: lines[0]["plan"]["own"].update(launches=["other"] * 4), "something else"),
    ("mpi_impact", lambda lines: lines[1]["parameters"].update(program=COMPUTE_ALONE), "planned was mpi_impact"),
    ("mpi_impact", lambda lines: lines[2]["parameters"].update(program=COMPUTE_ALONE), "another program than mpi_imp"),
    ("mpi_impact", lambda lines: lines[1]["parameters"].update(launch=1), "launch 1 where 0 is next"),
    ("mpi_impact", lambda lines: lines[1]["own"]["launch"].update(places=[]), "0 places"),
    ("mpi_impact", lambda lines: lines[2]["parameters"].update(work_size=1), "other work"),
    ("mpi_impact", lambda lines: lines[2]["rank_samples"]["t_comp_ns"][1].pop(), "not 2 lists of 3 values"),
    ("mpi_impact", lambda lines: lines[2]["rank_samples"]["t_comp_ns"][1].__setitem__(0, -1), "whole numbers"),
    ("mpi_impact", lambda lines: lines[2]["rank_samples"].clear(), "rank_samples.t_comp_ns is missing"),
    ("mpi_impact", lambda lines: lines[2]["own"].update(window_utc_ns=[[1], [2]]), "window_utc_ns"),
    ("mpi_impact", lambda lines: lines.insert(3, {"type": "remark"}), "neither a point"),
    ("mpi_impact", lambda lines: lines.__setitem__(slice(5, None), [synthetic_impact.footer(4)]), "of 4 launches"),
    ("partitioned", lambda lines: lines[0]["plan"]["parameters"].update(approach=["part", "many"]), "is not one text"),
    ("partitioned", lambda lines: lines[0]["plan"]["parameters"].pop("noise"), "noise is not one text"),
    ("partitioned", lambda lines: lines[1]["parameters"].update(approach="many"), "is many, planned was part"),
    ("partitioned", lambda lines: lines[1]["parameters"].update(message_bytes=0), "message_bytes is not a whole"),
    ("partitioned", lambda lines: lines[1]["parameters"].update(partitions_receive=3), "4 partitions sent and 3 rec"),
    ("partitioned", lambda lines: lines[1]["parameters"].update(delay_ratio=-1), "delay_ratio is below 0"),
    ("partitioned", lambda lines: lines[1]["series"].pop("t_after_last_ns"), "series.t_after_last_ns is missing"),
    ("partitioned", lambda lines: lines[1]["series"].update(t_ns=[0] * 21), "series.t_ns has a time of 0"),
    ("partitioned", lambda lines: lines[1]["own"].update(neighbours=0), "neighbours is not a whole number from 1"),
    ("partitioned", lambda lines: lines[1]["own"].update(latency_ns=0.0), "latency_ns is not above 0"),
    ("partitioned", lambda lines: lines[1]["own"].update(bytes_per_second=-1.0), "bytes_per_second is not above 0"),
    ("partitioned", lambda lines: lines[1]["own"].update(delay_calibration=[]), "delay_calibration is not an object"),
    ("partitioned", lambda lines: lines[1].update(clock=None), "clock is null"),
    ("partitioned", lambda lines: lines[1].update(repetitions=None), "21 values, not 0"),
    ("sync_overlap", lambda lines: lines[1]["series"].pop("t_wait_ns"), "series.t_wait_ns is missing"),
    ("sync_overlap", lambda lines: lines[1]["series"]["arrived_sender_bytes"].__setitem__(0, 72), "more bytes than"),
    ("sync_overlap", lambda lines: lines[1]["rank_medians"].pop("t_delay_ns"), "rank_medians.t_delay_ns is missing"),
    ("sync_overlap", lambda lines: lines[1]["own"].pop("delay_ns"), "delay_ns"),
    ("transfer_overlap", lambda lines: lines[1]["series"].pop("t_comm_ns"), "series.t_comm_ns is missing"),
    ("transfer_overlap", lambda lines: lines[1]["own"].pop("history"), "history"),
    ("transfer_overlap", lambda lines: lines[1]["parameters"].update(unknowns=0), "unknowns"),
    ("transfer_overlap", lambda lines: lines[1]["series"]["t_comp_ns"].__setitem__(0, 0), "has a time of 0"),
]  # fmt: skip
"""What of a record of a benchmark is wrong, and what is said of it."""


@pytest.mark.parametrize(("benchmark", "spoil", "says"), WRONG)
def test_a_record_that_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, benchmark: str, spoil: Callable[[Lines], object], says: str
) -> None:
    lines = copy.deepcopy(RECORD[benchmark]())
    spoil(lines)
    with pytest.raises(RecordError, match=r"a\.jsonl:\d") as caught:
        registry.load(synthetic.write(tmp_path / "a.jsonl", lines), registry.of_benchmark(benchmark))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


EVERY = {"nbc_overlap": synthetic.sweep(grid=(16,)), **{name: make() for name, make in RECORD.items()}}


@pytest.mark.parametrize("benchmark", EVERY)
@given(data=st.data())
def test_any_record_is_a_table_or_refused_in_one_line(tmp_path: Path, benchmark: str, data: st.DataObject) -> None:
    family, path = registry.of_benchmark(benchmark), tmp_path / "records" / "r.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data.draw(st.one_of(anything_anywhere(EVERY[benchmark]), damaged_bytes(EVERY[benchmark]))))
    loads_or_says_why(lambda file: registry.load(file, family), path)
    run = load_run(tmp_path)
    registry.found(run, family)
    assert all(problem.isprintable() for problem in (*run.problems, *registry.problems(run)))


@pytest.mark.parametrize(
    ("network", "of_ns", "sent_bytes", "within"),
    [
        ("wire:2gbit:duplex", 2_000_000, math.inf, True),  # 10 times what the bucket lets pass at once
        ("wire:2gbit:duplex", 2_400_000, math.inf, False),
        ("wire:2gbit:duplex", 500_000, 8_000, False),  # all of it takes 32 us at the rate
        ("wire:2gbit:duplex", 500_000, 0, False),
        ("wire:0gbit:duplex", 500_000, 8_000, False),
        ("wire:2gbit", 500_000, math.inf, False),  # of another version of the wire
        ("shm", 500_000, math.inf, False),
    ],
)
def test_a_transfer_that_the_wires_bucket_makes_faster_is_told(
    tmp_path: Path, network: str, of_ns: float, sent_bytes: float, within: bool
) -> None:
    lines = synthetic.sweep(grid=(8,))
    lines[0] |= {"network": network, "command_line": ["nbc_overlap", "--settle", "200000ns"]}
    header = load_record(synthetic.write(tmp_path / "a.jsonl", lines)).header
    assert bool(sampled.within_bucket(header, of_ns, sent_bytes)) == within
