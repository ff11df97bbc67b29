"""What programs say of themselves is what stands beside their sources, and what `campaign list --fields` prints.

A file that differs is written anew, and the test fails once: its difference is looked at before it is committed.
"""

import json
import subprocess
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from postprocess.records import fields_text
from postprocess.records.description import RECORD, descriptions

COMMON = "nbc_overlap"
"""The program that has all options which programs share."""
WITHOUT = ("bind_rank",)
"""Programs that write no record."""


def _held(path: Path, text: str) -> None:
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if before != text:
        path.write_text(text, encoding="utf-8")
    assert before == text, f"{path} was out of date and is written anew: look at its difference"


def _described(program: Path, what: str) -> str:
    return subprocess.run([program, "--describe", what], capture_output=True, text=True, check=True).stdout


def _place(program: str, family: str) -> Path:
    """Where a program's description stands."""
    name = "description.json" if program == family else f"{program}_description.json"
    return ROOT / "benchmarks" / family / name


@pytest.mark.slow
def test_the_description_of_a_program_is_its_print(built: Path) -> None:
    _held(RECORD, _described(built / COMMON, "record"))
    for program in (built / "programs.txt").read_text().split():
        if program not in WITHOUT:
            text = _described(built / program, "program")
            _held(_place(program, json.loads(text)["family"]), text)


@pytest.mark.parametrize("name", fields_text.names())
def test_each_field_of_a_program_is_told_once_below_its_part(name: str) -> None:
    told = list(fields_text.lines(name))
    assert json.loads(fields_text.as_json(name))
    parts: list[set[str]] = []
    for line in told:
        if line.startswith("  "):
            assert line not in parts[-1]
            parts[-1].add(line)
        else:
            parts.append(set())
    assert all(parts)
    if name in descriptions():
        every = {option.parameter for option in descriptions()[name].options if option.parameter}
        assert every <= {line.split()[0].rstrip(":") for part in parts for line in part}
