"""Standard input, output and error that are closed or full: a command runs, or says why not in one line."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from tests.support import NOWHERE, refused

EXAMPLE = "results/example/20261124T180346Z-8d4bb0"
CLOSED = (">&-", "2>&-", "<&-", "<&- >&- 2>&-")


def shell(line: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    words = line.replace("./campaign", f"'{sys.executable}' campaign").replace("python ", f"'{sys.executable}' ")
    return subprocess.run(
        ["sh", "-c", words], cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )


@functools.cache
def as_usual(command: str) -> subprocess.CompletedProcess[str]:
    return shell(command)


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize(
    "command",
    ["./campaign results list", pytest.param("python -m mpi_campaign results list", marks=pytest.mark.rare)],
)
def test_a_command_runs_without_what_is_closed(command: str, closed: str) -> None:
    usual, done = as_usual(command), shell(f"{command} {closed}")
    assert done.returncode == usual.returncode == 0, done.stderr
    assert done.stdout == ("" if ">&-" in closed.split() else usual.stdout)
    assert done.stderr == ""


@pytest.mark.parametrize("closed", CLOSED)
def test_wrong_use_ends_with_2_without_what_is_closed(closed: str) -> None:
    done = shell(f"./campaign show nosuch {closed}")
    if "2>&-" in closed:
        assert (done.returncode, done.stderr) == (2, "")
    else:
        refused(done, "nosuch")


@pytest.mark.rare
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_no_file_of_a_set_up_gets_the_number_of_what_is_closed(clone: Path, closed: str) -> None:
    """Here it ends soon, since there is no registry; its log holds what pip said, and nothing of ours."""
    done = shell(f"./campaign list {closed}", clone, NOWHERE)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert ("no package registry can be reached" in done.stderr) == ("2>&-" not in closed)
    log = (clone / ".campaign" / "setup.log").read_text()
    assert "set-up" not in log
    assert "campaign:" not in log


@pytest.mark.parametrize(
    "command",
    [
        "./campaign",
        "./campaign list",
        f"./campaign show {EXAMPLE}",
        pytest.param("./campaign run --dry-run --network shm", marks=pytest.mark.rare),
    ],
)
def test_output_that_cannot_be_written_is_said_in_one_line(command: str) -> None:
    refused(shell(f"{command} >/dev/full"), "standard output", "No space left on device")


def test_complaints_that_cannot_be_written_change_no_exit_code() -> None:
    assert shell("./campaign list 2>/dev/full").returncode == 0
    assert shell("./campaign show nosuch 2>/dev/full").returncode == 2
    assert shell("./campaign list >/dev/full 2>/dev/full").returncode == 2
