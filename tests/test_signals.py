"""A signal that a process of ours was started to ignore stays ignored, in it and in all that it starts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.processes import guard, signals
from tests.support import ignoring, running

# A command as ReFrame and MPI launchers are: each process of it has handlers of its own, whatever it was started with.
STUBBORN = r"""
import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda *_: os._exit(9))
if len(sys.argv) > 2:
    os.fork()
os.write(1, b"started\n")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
"""
MEASURING = """
import sys
from mpi_campaign.processes import guarded
ended = guarded.run(sys.argv[1:], lambda line: print(line, flush=True), lambda: None, env={}, poll_seconds=0.1)
print(ended.exit_code, ended.interrupted)
"""
PARTS = {
    "guard": [sys.executable, "-m", "mpi_campaign.processes.guard", str(os.getpid()), "--"],
    "measuring": [sys.executable, "-c", MEASURING],
    "wire": [sys.executable, "-m", "mpi_campaign.launching.wire", "--rate", "1gbit", "--"],
    "nodes": [sys.executable, "-m", "mpi_campaign.launching.nodes", "--"],
}
MARKED = [pytest.param(name, marks=pytest.mark.needs(name) if name in ("wire", "nodes") else ()) for name in PARTS]

SOME = (*signals.INTERRUPTING, signal.SIGUSR1)


def start(part: str, until: Path, *ignored: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*PARTS[part], sys.executable, "-c", STUBBORN, str(until), *["twice"] * (part != "wire")], cwd=ROOT,
        stdout=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=ignoring(*ignored),  # noqa: PLW1509 - this process has one thread
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(1 if part == "wire" else 2):  # what a launcher leaves behind is the guard's to end, not the wire's
        assert process.stdout.readline() == "started\n"
    return process


def send_to_all(process: subprocess.Popen[str], number: int) -> None:
    for pid in (process.pid, *guard.descendants(process.pid)):
        os.kill(pid, number)


def ended(pids: set[int]) -> bool:
    """All of them, within a time that is long enough for any machine."""
    deadline = time.monotonic() + 20
    while any(map(running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(pids) and not any(map(running, pids))


@pytest.mark.parametrize("part", MARKED)
def test_an_ignored_signal_to_every_process_ends_none(part: str, tmp_path: Path) -> None:
    process = start(part, tmp_path / "until", *SOME)
    for number in (*SOME, *SOME):
        send_to_all(process, number)
        time.sleep(0.1)
    assert process.poll() is None
    (tmp_path / "until").touch()
    stdout, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert stdout == ("0 False\n" if part == "measuring" else "")


@pytest.mark.parametrize("number", SOME)
@pytest.mark.parametrize("part", MARKED)
def test_a_signal_that_is_not_ignored_ends_all_even_where_others_are(part: str, number: int, tmp_path: Path) -> None:
    process = start(part, tmp_path / "until", *(one for one in signals.ENDING if one != number))
    below = guard.descendants(process.pid)
    process.send_signal(number)
    stdout, _ = process.communicate(timeout=30)
    assert ("True" in stdout) if part == "measuring" else process.returncode != 0
    assert ended(below)


def test_signals_that_are_ignored_for_a_while_count_again() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with signals.ignored():
        assert signals.is_ignored(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


# The parent of the guard and of the nodes.
PARENT = """
import os, subprocess, sys
words = [str(os.getpid()) if word == "PARENT" else word for word in sys.argv[1:]]
sys.exit(subprocess.call(words, start_new_session=True))
"""


@pytest.mark.parametrize("part", MARKED)
def test_kill_9_ends_all_that_ignores_every_other_signal(part: str, tmp_path: Path) -> None:
    words = ["PARENT" if word == str(os.getpid()) else word for word in PARTS[part]]
    parent = [sys.executable, "-c", PARENT] if part in ("guard", "nodes") else []
    process = subprocess.Popen(
        [*parent, *words, sys.executable, "-c", STUBBORN, str(tmp_path / "until")], cwd=ROOT, stdout=subprocess.PIPE,
        text=True,
        preexec_fn=ignoring(*signals.ENDING),  # noqa: PLW1509 - as above
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    below = guard.descendants(process.pid)
    process.kill()
    process.wait()
    assert ended(below)


def test_what_takes_too_long_is_ended_even_where_it_ignores_every_signal() -> None:
    limited = MEASURING.replace("poll_seconds=0.1", "poll_seconds=0.1, limit_seconds=1")
    done = subprocess.run(
        [sys.executable, "-c", limited, "sleep", "300"], cwd=ROOT, capture_output=True, text=True, check=False,
        timeout=60, preexec_fn=ignoring(*signals.ENDING),
    )  # fmt: skip
    assert done.stdout == "137 False\n", done.stderr


@pytest.mark.parametrize("ignored", [(), (signal.SIGHUP,), (signal.SIGTERM, signal.SIGHUP)])
def test_the_executable_hands_on_what_is_ignored(ignored: tuple[int, ...]) -> None:
    """What it would start in .venv prints which signals it was started to ignore."""
    look = (
        "import os, runpy, signal, sys; sys.argv = ['campaign', 'list']; "
        "os.execv = lambda *_: print([int(one) for one in (15, 1, 17) if signal.getsignal(one) is signal.SIG_IGN]); "
        f"runpy.run_path({str(ROOT / 'campaign')!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", look],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=ignoring(*ignored, signal.SIGCHLD),
    )  # without SIGCHLD, no child has an exit code
    assert done.stdout == f"{[int(one) for one in ignored]}\n", done.stderr


@pytest.mark.parametrize("number", signals.ENDING)
def test_an_interrupt_while_the_command_is_loaded_is_one_line(number: int) -> None:
    """Loading takes a second. Here the interrupt comes when `click` is imported."""
    interrupted = (
        "import os, runpy, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == 'click': os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "runpy.run_module('mpi_campaign', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", interrupted], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "campaign: interrupted\n")
