"""What was promised and is absent is a fault: judged from records made for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import verify
from mpi_campaign.cases import Case
from tests.postprocess import synthetic

PAYLOAD_BYTES = 10**15


def judge(
    tmp_path: Path, lines: list[dict[str, Any]], link_bytes: int | None = PAYLOAD_BYTES, **case: str
) -> list[str]:
    basic = synthetic.write(tmp_path / "basic.jsonl", synthetic.sweep(grid=(16,)))
    record = synthetic.write(tmp_path / "record.jsonl", lines)
    wire = tmp_path / "wire.json"
    if link_bytes is not None:
        wire.write_text(json.dumps({"rate": "2gbit", "link_bytes": link_bytes}))
    first = {name: lines[0][name] for name in ("toolchain", "provider", "network", "configuration", "benchmark")}
    named: dict[str, Any] = {**first, "environment": "openmpi-5_0_11", "collective": "ibcast", **case}
    wanted = Case(**named)
    family, _, version = wanted.toolchain.partition("@")
    return verify.faults_of_file(record, wanted, family, version, basic, wire)


def async_lines(**changes: Any) -> list[dict[str, Any]]:
    return synthetic.sweep(synthetic.PERFECT, grid=(16,), configuration="async", **changes)


def test_a_good_record_has_no_fault(tmp_path: Path) -> None:
    assert judge(tmp_path, synthetic.sweep(grid=(16,))) == []
    assert judge(tmp_path, async_lines()) == []


def test_a_record_that_was_cut_off(tmp_path: Path) -> None:
    assert "cut off" in judge(tmp_path, synthetic.sweep(grid=(16,))[:-1])[0]


def test_a_record_without_one_valid_point(tmp_path: Path) -> None:
    lines = synthetic.sweep(repetitions=3, grid=(16,))
    assert "none of its 1 points is valid: fewer than 6 repetitions (3)" in judge(tmp_path, lines)[0]


def test_wrong_values_received(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,))
    lines[1]["data_errors"] = 3
    assert judge(tmp_path, lines) == ["3 wrong values were received"]


@pytest.mark.parametrize(
    ("says", "fault"),
    [
        ("MPICH Version: 5.0.2", "not Open MPI"),
        ("Open MPI v4.1.8, package", "version 4.1.8, not 5.0.11"),
        ("", "not Open MPI: nothing"),
    ],
)
def test_another_library_than_was_promised(tmp_path: Path, says: str, fault: str) -> None:
    assert fault in judge(tmp_path, synthetic.sweep(grid=(16,), mpi_library_version=says))[0]


def test_a_library_may_leave_out_the_end_of_its_version(tmp_path: Path) -> None:
    says: dict[str, Any] = {"mpi_library_version": "Intel(R) MPI Library 2021.18 for Linux* OS"}
    lines = synthetic.sweep(grid=(16,), toolchain="intel@2021.18.1", **says)
    assert judge(tmp_path, lines) == []
    lines = synthetic.sweep(grid=(16,), toolchain="intel@2021.17.1", **says)
    assert judge(tmp_path, lines) == ["the library says that it is version 2021.18, not 2021.17.1"]


def test_two_threads_on_one_core(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,))
    lines[0]["placement"][1]["compute_cpusets"] = ["0"]
    assert judge(tmp_path, lines) == ["2 computing threads are bound to CPU 0 of node 0"]
    lines[0]["oversubscribed"] = True
    assert judge(tmp_path, lines) == []


def test_async_without_a_progress_thread(tmp_path: Path) -> None:
    lines = async_lines()
    for rank in lines[0]["placement"]:
        rank["mpi_threads"] = []
    found = judge(tmp_path, lines)
    assert [fault.split(":")[0] for fault in found[:2]] == [f"rank {rank} has no progress thread" for rank in (0, 1)]


def test_a_progress_thread_that_did_nothing(tmp_path: Path) -> None:
    lines = async_lines()
    lines[-1]["mpi_thread_cpu_ns"] = [[0], [0]]
    assert "did nothing" in judge(tmp_path, lines)[0]


def test_a_wire_that_carried_too_little(tmp_path: Path) -> None:
    lines = synthetic.sweep(grid=(16,))
    assert "something else was used" in judge(tmp_path, lines, link_bytes=1000)[0]
    (tmp_path / "wire.json").unlink()
    assert "left no report" in judge(tmp_path, lines, link_bytes=None)[0]


def test_another_case_than_was_asked_for(tmp_path: Path) -> None:
    assert judge(tmp_path, synthetic.sweep(grid=(16,)), network="wire:1gbit") == [
        "network is wire:2gbit, not wire:1gbit"
    ]
