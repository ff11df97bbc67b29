"""One more axis of cases is one entry in one file: a copy of the project gets it, and all parts of it know the axis."""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.toolchains.resolving import Toolchain
from tests.support import copy_of_project

AXES = Path("postprocess/families/axes.py")
OWN = '"nbc_overlap": (COLLECTIVE, COMPUTATION, TEST_INTERVAL, CACHE'
USUAL = "mpich-5_0_2.shm.async.nbc_overlap.ibcast"

# One of each kind, as it is given to ReFrame: a parameter of `basic`, one of the test, a variable of a session.
LAYOUT = """Axis(
    "layout", "layout", usual="rows", values={"rows": "as C has it", "tiles": "a tile after the other"}
)"""
BATCH = """Axis(
    "batch_calls", "batch", usual=1, kind="integer", unit="calls", of_basic=False,
    words="{} calls at once".format, in_file_name="batch{}".format,
)"""
SPREAD = (
    """Axis("spread", "spread", usual=1, kind="integer", words="spread by {}".format, in_file_name="spread{}".format)"""
)


def with_one_more(folder: Path, entry: str) -> dict[str, str]:
    """A copy of the project in which cases of nbc_overlap have one axis more; the environment that finds it."""
    copy_of_project(folder)
    before = (folder / AXES).read_text()
    assert before.count(OWN) == 1
    (folder / AXES).write_text(before.replace(OWN, f"{OWN}, {entry}"))
    return {**os.environ, "PYTHONPATH": str(folder)}


def followed(folder: Path, entry: str, *words: str) -> dict[str, Any]:
    """What each part of a copy with that axis makes of it; words: its name, and two values."""
    environment = with_one_more(folder, entry)
    done = subprocess.run(
        [sys.executable, "tests/follow_axis.py", *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def known_everywhere(found: dict[str, Any], name: str, key: str, asked: list[str], values: list[Any]) -> None:
    """What is the same of every axis; the first of the values is the usual one."""
    option = f"--{key.removesuffix('es' if key.endswith('ches') else 's')}"
    of_overlap = found["help"].partition("Options of nbc_overlap:")[2]
    assert f"  {option} " in of_overlap
    assert option in found["refusal"] or "there is no" in found["refusal"]
    assert found["not of mpi_impact"].startswith(f"{option} is nothing to mpi_impact: add --benchmark nbc_overlap")
    assert found["options"][key] == asked
    assert found["resumed as asked"]
    assert re.findall(rf"{option} (\S+)", found["typed again"]) == asked
    overlap = [case for case in found["cases"] if case["benchmark"] == "nbc_overlap"]
    assert [case[name] for case in overlap] == values
    assert {case[name] for case in found["cases"] if case["benchmark"] == "mpi_impact"} == {values[0]}
    assert found["read again"]
    assert found["older"] == [values[0]]
    assert found["columns"] == [True, True]
    unusual = next(value for value in values if value != values[0])
    assert sorted(found["tables"]["values"], key=str) == sorted([values[0], unusual], key=str)
    assert found["tables"]["faults"][0] == f"{name} is {unusual}, not {values[0]}"
    assert found["compared"]


def test_an_axis_with_listed_values_is_a_parameter_of_basic(tmp_path: Path) -> None:
    found = followed(tmp_path, LAYOUT, "layout", "rows", "tiles")
    known_everywhere(found, "layout", "layouts", ["rows", "tiles"], ["rows", "tiles"])
    assert "there is no layout 'n o n e'; there are: rows, tiles" in found["refusal"]
    assert [entry["name"] for entry in found["listed"]] == ["rows", "tiles"]
    basic = USUAL.replace("async", "basic")
    assert {basic, f"{basic}.tiles", USUAL, f"{USUAL}.tiles"} <= set(found["stems"])
    assert "mpich@5.0.2 shm async ibcast (tiles)" in found["labels"]
    assert set(found["tables"]["named"]) == {"basic", "basic, tiles"}
    assert f"smoke.2x1.{USUAL}.tiles" in found["keys"]
    assert "layout=(rows|tiles)(%|$)" in found["commands"][0]
    assert found["told"] == {"rows": ["--layout", "rows"], "tiles": ["--layout", "tiles"]}


def test_an_axis_that_basic_does_not_differ_in_is_a_parameter_of_the_test(tmp_path: Path) -> None:
    found = followed(tmp_path, BATCH, "batch_calls", "8", "1")
    known_everywhere(found, "batch_calls", "batches", ["8", "1"], [1, 8])
    assert "--batch n o n e: a whole number" in found["refusal"]
    assert found["listed"] is None
    overlap = [stem for stem in found["stems"] if "nbc_overlap" in stem]
    assert overlap == [USUAL.replace("async", "basic"), USUAL, f"{USUAL}.batch8"]
    assert "mpich@5.0.2 shm async ibcast (8 calls at once)" in found["labels"]
    assert set(found["tables"]["named"]) == {"basic", "basic, 8 calls at once"}
    assert f"smoke.2x1.{USUAL}.batch8" in found["keys"]
    assert len(found["commands"]) == 1
    assert "--parameterize=nbc_overlap.batch_calls=1,8" in found["commands"][0]
    assert found["told"]["8"] == ["--batch", "8calls"]


def test_any_other_axis_has_a_session_for_each_value(tmp_path: Path) -> None:
    found = followed(tmp_path, SPREAD, "spread", "1", "4")
    known_everywhere(found, "spread", "spreads", ["1", "4"], [1, 4])
    basic = USUAL.replace("async", "basic")
    overlap = [stem for stem in found["stems"] if "nbc_overlap" in stem]
    assert sorted(overlap) == sorted([basic, f"{basic}.spread4", USUAL, f"{USUAL}.spread4"])
    assert f"smoke.2x1.{USUAL}.spread4" in found["keys"]
    usual, spread = found["commands"]
    assert "--setvar=spread" not in usual
    assert "^mpi_impact" in usual
    assert "--setvar=spread=4" in spread
    assert "^mpi_impact" not in spread


@pytest.mark.parametrize(
    ("entry", "words", "name"),
    [
        (LAYOUT, (), "%basic.layout=tiles"),
        (BATCH, ("-P", "nbc_overlap.batch_calls=1,8"), "%batch_calls=8"),
        (SPREAD, ("-S", "spread=4"), "nbc_overlap %configuration=async"),
    ],
)
def test_reframe_has_tests_of_it(entry: str, words: tuple[str, ...], name: str, tmp_path: Path) -> None:
    environment = with_one_more(tmp_path, entry)
    there = Toolchain("mpich@5.0.2", "mpich", "5.0.2", "wheels", str(tmp_path), "mpicc", "mpiexec")
    (tmp_path / ".campaign").mkdir()
    (tmp_path / ".campaign/toolchains.json").write_text(json.dumps([asdict(there)]))
    done = subprocess.run(
        [str(ROOT / ".venv/bin/reframe"), "-C", "systems/local/settings.py", "-c", "reframe", "--system=local", "-l",
         f"--prefix={tmp_path}", *words],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "skipping test file" not in done.stdout
    assert name in done.stdout
