"""`guidelines` under real MPI libraries: each statement is measured, and a slowed call is found."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.toolchains import resolving
from postprocess.families.guidelines import verdict
from postprocess.families.guidelines.entry import GUIDELINES, guideline_table
from postprocess.records.reading import load_record
from tests.support import recorded

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

OPENMPI, MPICH = resolving.DEFAULT_TOOLCHAINS
BRIEF = ("--message-bytes", "1024", "--max-repetitions", "6", "--budget-seconds", "120", "--quiet")
DESCRIPTION = json.loads((ROOT / "benchmarks" / "guidelines" / "description.json").read_text(encoding="utf-8"))
NEEDS_FOUR = {"allreduce_of_half", "alltoall_of_half"}


def names() -> set[str]:
    (option,) = (one for one in DESCRIPTION["options"] if one["name"] == "guideline")
    return {choice["name"] for choice in option["choices"]}


@pytest.mark.parametrize(("toolchain", "ranks"), [(OPENMPI, 2), (MPICH, 3)])
def test_every_statement_is_measured_or_named_as_lacking(
    build_for: Callable[[str], Path], tmp_path: Path, toolchain: str, ranks: int
) -> None:
    path = tmp_path / "record.jsonl"
    recorded(build_for(toolchain) / "guidelines", path, *BRIEF, toolchain=toolchain, ranks=ranks)
    found = GUIDELINES.view(load_record(path))
    lacking = set(filter(None, found.header.own["lacking"].split(",")))
    assert {point.guideline for point in found.points} == names() - lacking
    assert lacking >= NEEDS_FOUR
    assert all(point.data_errors == 0 and point.repetitions >= 6 for point in found.points)


def test_a_slowed_call_violates_its_guideline(built: Path, tmp_path: Path) -> None:
    """MPI_Start, which only the left side calls, and which waits for nobody, takes 21 times as long. The control stays
    as it is."""
    path = tmp_path / "record.jsonl"
    slow = {"LD_PRELOAD": str(built / "slow_preload.so"), "SLOW_CALLS": "MPI_Start", "SLOW_PERCENT": "2000"}
    words = ("--guideline", "allreduce_init_start,control", *BRIEF)
    recorded(built / "guidelines", path, *words, toolchain=MPICH, env=slow)
    table = guideline_table([GUIDELINES.view(load_record(path))])
    verdicts = dict(zip(table["guideline"], verdict.judged(table)["verdict"], strict=True))
    assert verdicts["allreduce_init_start"] == verdict.VIOLATED
    assert verdicts["control"] != verdict.VIOLATED
