"""Asking another program: whatever it prints, and however long it takes."""

import os
import sys
import time
from pathlib import Path

import pytest

from mpi_campaign.children import asking
from tests.support import running

SHELL = "/bin/sh"


def test_what_a_program_says_is_read_and_its_end_is_told() -> None:
    answer = asking.ask([SHELL, "-c", "echo out; echo err >&2; exit 3"])
    assert answer == asking.Answer(3, "out\n", "err\n")
    assert answer.text == "out\nerr\n"
    assert not answer.good
    assert asking.ask(["true"]).good


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    assert asking.ask([SHELL, "-c", r"printf 'r\351seau'"]).stdout == "r\N{REPLACEMENT CHARACTER}seau"


def test_a_signal_is_a_negative_code() -> None:
    assert asking.ask([SHELL, "-c", "kill -TERM $$"]).exit_code == -15


@pytest.mark.parametrize("words", [["/nowhere/mpiexec"], ["/etc/passwd"], ["a\0b"]])
def test_one_that_cannot_be_started_is_told(words: list[str]) -> None:
    answer = asking.ask(words)
    assert answer.exit_code is None
    assert answer.trouble.startswith("cannot be started: ")


def test_one_without_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    answer = asking.ask([SHELL, "-c", f"sleep 1000 & echo $! > '{note}'; trap '' TERM; echo first; wait"], seconds=1)
    assert answer == asking.Answer(None, "first\n", "", "does not end within 1 s")
    deadline = time.monotonic() + 60  # the kernel ends it when it gets to it
    while running(int(note.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_of_an_output_without_end_the_beginning_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_BYTES", 1000)
    answer = asking.ask(["yes"], seconds=0.5)
    assert len(answer.stdout) == 1000


def test_a_grandchild_that_keeps_the_output_open_holds_nobody_up() -> None:
    began = time.monotonic()
    assert asking.ask([SHELL, "-c", "sleep 1000 & echo done"]).stdout == "done\n"
    assert time.monotonic() - began < 100


def test_it_has_no_input_and_no_environment_but_the_one_that_it_is_given() -> None:
    program = "import os, sys; print(sys.stdin.read() == '', sorted(os.environ))"
    answer = asking.ask([sys.executable, "-S", "-c", program], env={"LC_ALL": "C.UTF-8", "PATH": os.defpath})
    assert answer.stdout == "True ['LC_ALL', 'PATH']\n"
