"""Who waits is told for whom, and by nobody who is gone."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.processes import locks
from tests.support import NOWHERE

# Words: the file, seconds to hold it, whatever else its command line has.
HOLD = """
import sys, time
from pathlib import Path
from mpi_campaign.processes import locks
def say(text):
    print(text, flush=True)
with locks.open_lock(Path(sys.argv[1])) as lock, locks.held(lock, "somebody works", say):
    say("held")
    time.sleep(float(sys.argv[2]))
"""


def hold(path: Path, seconds: float, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), str(seconds), *words], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_who_waits_is_told_for_which_command_and_since_when(tmp_path: Path) -> None:
    first = hold(tmp_path / "lock", 2, "--toolchain", "openmpi@5.0.11")
    assert line_of(first) == "held\n"
    second = hold(tmp_path / "lock", 0)
    told = line_of(second)
    assert told.startswith("somebody works (`")
    assert "--toolchain openmpi@5.0.11`" in told
    assert f"process {first.pid}, since {time.strftime('%Y-')}" in told
    assert line_of(second) == "held\n"
    assert (first.wait(), second.wait()) == (0, 0)
    assert (tmp_path / "lock").read_text() == ""


def test_one_that_was_killed_is_named_no_more(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = hold(path, 300)
    assert line_of(first) == "held\n"
    first.kill()
    first.wait()
    assert json.loads(path.read_text())["pid"] == first.pid
    with locks.open_lock(path) as lock:
        assert locks.holder_of(lock) is None
        assert locks.take(lock)
        second = hold(path, 0)
        told = line_of(second)
        assert "which one is not known" in told
        assert str(first.pid) not in told
        locks.note_holder(lock)
        assert f"process {os.getpid()}," in line_of(second)
    assert line_of(second) == "held\n"


def test_another_process_of_the_same_number_is_not_taken_for_the_holder(tmp_path: Path) -> None:
    with locks.open_lock(tmp_path / "lock") as lock:
        locks.note_holder(lock)
        holder = locks.holder_of(lock)
        assert holder is not None
        (tmp_path / "lock").write_text(json.dumps({**asdict(holder), "began": "1"}))
        assert locks.holder_of(lock) is None
        (tmp_path / "lock").write_text(json.dumps({**asdict(holder), "began": "1", "host": "elsewhere"}))
        assert "on elsewhere" in str(locks.holder_of(lock))


@given(st.one_of(st.binary(max_size=80), st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["pid", "began", "host", "command", "since"]), inner, max_size=5),
).map(lambda value: json.dumps(value).encode())))  # fmt: skip
def test_whatever_is_in_the_file_misleads_nobody(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "lock"
    path.write_bytes(content)
    with locks.open_lock(path) as lock:
        assert str(locks.holder_of(lock)).isprintable()


def test_an_interrupt_ends_the_waiting(tmp_path: Path) -> None:
    with locks.open_lock(tmp_path / "lock") as lock:
        assert locks.take(lock)
        process = hold(tmp_path / "lock", 0)
        assert "waiting" in line_of(process)
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=30)[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1])
def test_a_second_set_up_says_for_which_it_waits(clone: Path, number: int) -> None:
    (clone / ".campaign").mkdir()
    words = [sys.executable, str(clone / "campaign"), "list"]
    with locks.open_lock(clone / ".campaign" / "setup.lock") as lock:
        assert locks.take(lock)
        lock.write("1 1 `./campaign run`, process 1, since 2020-01-01 00:00:00")  # of one that is gone
        lock.flush()
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, **NOWHERE})
        assert process.stderr is not None
        assert "setting it up (which one is not known): waiting" in process.stderr.readline()
        began = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        os.ftruncate(lock.fileno(), 0)
        os.pwrite(lock.fileno(), f"{os.getpid()} {began} `./campaign run`, process 7, since now".encode(), 0)
        assert "setting it up (`./campaign run`, process 7, since now): waiting" in process.stderr.readline()
        process.send_signal(number)
        assert "interrupted during set-up" in process.communicate(timeout=30)[1]
    assert process.returncode == 130


def test_a_set_up_says_in_its_lock_who_it_is(clone: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(clone / "campaign"), "list", "--json"], capture_output=True, text=True, check=False,
        env={**os.environ, **NOWHERE},
    )  # fmt: skip
    assert done.returncode == 2
    assert "`./campaign list --json`, process " in (clone / ".campaign" / "setup.lock").read_text()
