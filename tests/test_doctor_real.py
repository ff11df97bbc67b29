"""The doctor on this machine: with a real MPI library, launches of its own, and its raw records."""

import json
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.this_machine.findings import STATES
from postprocess.families.timing_selfcheck.judgement import TARGETS_NS, WORDS
from postprocess.families.timing_selfcheck.record import KINDS, load_selfcheck
from tests.test_doctor import finding_of
from tests.test_guard import gone

# test_doctor.py has the doctor with programs that are made up, test_selfcheck.py the program, test_host.py the command.
pytestmark = [pytest.mark.slow, pytest.mark.rare, pytest.mark.needs("mpi"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def real() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "campaign"), "doctor", "--json", "--launches", "2"], capture_output=True, text=True,
        cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_shape(real: dict[str, Any]) -> None:
    assert {one["state"] for one in real["findings"]} <= set(STATES)
    timing = real["timing"]
    assert timing is not None, real["findings"]
    assert timing["launches"] == 2
    assert [one["target_ns"] for one in timing["verdicts"]] == list(TARGETS_NS)
    assert {one["verdict"] for one in timing["verdicts"]} <= set(WORDS)
    assert timing["timer"]["backwards_ns"] == 0
    assert {one["method"] for one in timing["start"]} == {"deadline", "mpi_barrier", "dissemination"}
    assert len(timing["noise"]) == timing["ranks"] * timing["threads_per_rank"]
    assert {one["kind"] for one in timing["work"]} <= set(KINDS)
    for subject in ("timer", "common clock", "start", "noise", "other load", "steal", "throttling"):
        finding_of(real, subject)


def test_the_numbers_are_those_of_the_raw_records(real: dict[str, Any]) -> None:
    raw = [
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(Path(real["records"]).glob("*.jsonl"))
    ]
    assert len(raw) == 3
    for work in real["timing"]["work"]:
        lines = [
            line
            for record in raw[1:]
            for line in record
            if line["type"] == "point"
            and line["parameters"].items() >= {"kind": work["kind"], "target_ns": work["target_ns"]}.items()
        ]
        assert len({line["parameters"]["size"] for line in lines}) == 1
        medians = [statistics.median(line["series"]["t_ns"]) for line in lines if line["series"]["t_ns"]]
        if len(medians) > 1:
            expected = statistics.stdev(medians) / statistics.mean(medians)
            assert work["cv_median"] == pytest.approx(expected)
        assert work["samples"] == sum(len(line["series"]["t_ns"]) for line in lines)
    for start in real["timing"]["start"]:
        parameters = {"section": "start", "method": start["method"]}
        (line,) = (one for one in raw[0] if one["type"] == "point" and one["parameters"] == parameters)
        assert start["longest_ns"] == max(line["series"]["start_imbalance_ns"])
        assert start["late"] == line["late_repetitions"]


def test_later_launches_do_the_work_alone_on_the_sizes_of_the_first(real: dict[str, Any]) -> None:
    first, *others = (load_selfcheck(path) for path in sorted(Path(real["records"]).glob("*.jsonl")))
    assert first.starts
    assert first.noises
    for other in others:
        assert not other.starts
        assert [(work.kind, work.target_ns, work.size) for work in other.works] == [
            (work.kind, work.target_ns, work.size) for work in first.works
        ]


def test_a_second_doctor_builds_nothing_and_an_interrupt_leaves_nothing(real: dict[str, Any]) -> None:
    programs = {path: path.stat().st_mtime_ns for path in ROOT.glob(".campaign/build/*/timing_selfcheck")}
    assert programs
    before = set(Path(real["records"]).parent.iterdir())
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "campaign"), "doctor", "--json"], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    folder: Path | None = None
    while time.monotonic() < deadline and not (folder and list(folder.glob("*.jsonl"))):
        folder = next(iter(set(Path(real["records"]).parent.iterdir()) - before), None)
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert json.loads(stdout)["records"] == str(folder)
    assert gone(str(folder))
    assert {path: path.stat().st_mtime_ns for path in programs} == programs
