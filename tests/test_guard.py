"""Nothing that a campaign starts outlives it, whoever is killed and however."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.processes import guard

# A launcher as MPI has them: children in sessions of their own, which ignore what a terminal sends.
FAMILY = """
import os, signal, subprocess, sys, time
marker = sys.argv[1]
for _ in range(2):
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)"
    rank = f"import signal, time; {ignore}; time.sleep(300) # {marker}"
    subprocess.Popen([sys.executable, "-c", rank], start_new_session=True)
print("started", flush=True)
time.sleep(float(sys.argv[2]))
"""


def alive(marker: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def gone(marker: str, within_seconds: float = 20) -> bool:
    deadline = time.monotonic() + within_seconds
    while alive(marker) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(marker)


def start(marker: str, seconds: float) -> subprocess.Popen[str]:
    """A parent that starts a guard that starts the family, as `campaign run` does."""
    parent = (
        "import os, subprocess, sys; "
        "sys.exit(subprocess.call([sys.executable, '-m', 'mpi_campaign.processes.guard', str(os.getpid()), '--', "
        f"sys.executable, '-c', {FAMILY!r}, {marker!r}, '{seconds}'], start_new_session=True))"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


@pytest.fixture
def marker(request: pytest.FixtureRequest) -> str:
    return f"guarded-{os.getpid()}-{request.node.name}"


def test_children_that_left_their_session_end_with_the_command(marker: str) -> None:
    process = start(marker, 0.2)
    assert process.wait(timeout=20) == 0
    assert gone(marker)


def test_kill_9_of_the_campaign_ends_everything(marker: str) -> None:
    process = start(marker, 300)
    assert len(alive(marker)) >= 3
    process.kill()
    assert gone(marker)


def test_an_interrupt_ends_everything(marker: str) -> None:
    process = start(marker, 300)
    guards = [
        pid for pid in alive(marker) if b"mpi_campaign.processes.guard" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    for pid in guards:
        with suppress(ProcessLookupError):  # its parent, ended a line above, takes the guard along
            os.kill(pid, signal.SIGTERM)
    assert process.wait(timeout=30) != 0
    assert gone(marker)


def test_descendants_sees_grandchildren() -> None:
    child = subprocess.Popen(["sh", "-c", "sleep 30 & wait"])
    try:
        deadline = time.monotonic() + 5
        while not guard.descendants(child.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(guard.descendants(child.pid)) == 1
    finally:
        for pid in [*guard.descendants(child.pid), child.pid]:
            os.kill(pid, signal.SIGKILL)
        child.wait()
