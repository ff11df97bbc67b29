"""Nothing that a campaign starts outlives it, whoever is killed and however."""

import mmap
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.launching import node_agent, shared_memory
from mpi_campaign.processes import guard
from mpi_campaign.running import leftovers
from mpi_campaign.systems import nodes_in_hand
from mpi_campaign.systems.nodes_in_hand import InHand

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


def start(marker: str, seconds: float, afterwards: Sequence[str] = ()) -> subprocess.Popen[str]:
    """A parent that starts a guard that starts the family, as `campaign run` does."""
    parent = (
        "import os, subprocess, sys; "
        f"sys.exit(subprocess.call([sys.executable, '-m', 'mpi_campaign.processes.guard', *{list(afterwards)!r}, "
        "str(os.getpid()), '--', "
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


def test_what_was_left_is_removed_when_everything_has_ended(marker: str, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    look = f"pgrep -fc '[#] {marker}' >{seen}.new; echo $0 >>{seen}.new; mv {seen}.new {seen}"
    process = start(marker, 300, ["sh", "-c", look])
    process.kill()
    deadline = time.monotonic() + 20
    while not seen.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    processes, seconds = seen.read_text().split()
    assert int(processes) == 0
    assert 0 <= float(seconds) < 20


def test_shared_memory_that_nobody_uses_any_more_is_removed(tmp_path: Path) -> None:
    names = ["mpich_shm_a", "mpich_shm_open", "mpich_shm_mapped", "mpich_shm_old", "another"]
    for name in names:
        (tmp_path / name).write_bytes(bytes(4096))
    os.utime(tmp_path / "mpich_shm_old", (0, 0))
    (tmp_path / "mpich_shm_folder").mkdir()
    with (tmp_path / "mpich_shm_open").open(), (tmp_path / "mpich_shm_mapped").open("r+b") as file:
        with mmap.mmap(file.fileno(), 4096):
            file.close()
            assert shared_memory.left(tmp_path, ["mpich_shm_*"], 60) == [tmp_path / "mpich_shm_a"]
        assert len(shared_memory.left(tmp_path, ["mpich_shm_*", "*_a"], 60)) == 2
    assert shared_memory.left(tmp_path, [], 60) == []


def test_nodes_that_could_not_be_cleaned_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nodes that do not answer, and one that is not asked because they took all the time."""
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\ncase $1 in quick) echo mpich_shm_a;; *) sleep 60;; esac\n")
    agent.chmod(0o755)
    hosts = ("quick", "silent1", "silent2", "late")
    in_hand = InHand("slurm job 1 has", hosts, hosts, (((0,),),) * len(hosts), {})
    monkeypatch.setenv(nodes_in_hand.IN_HAND, in_hand.as_text())
    monkeypatch.setattr(node_agent, "AGENT", agent)
    monkeypatch.setattr(leftovers, "ASKING_SECONDS", 1.0)
    monkeypatch.setattr(leftovers, "BEGIN_WITHIN_SECONDS", 0.7)
    monkeypatch.setattr(leftovers, "ASKED_AT_ONCE", 2)
    assert leftovers.main(["mpich_shm_*", "60"]) == 0
    removed, left = capsys.readouterr().out.splitlines()
    assert removed == "quick: removed /dev/shm/mpich_shm_a, which a rank had left"
    assert "on 3 nodes: silent1, silent2, late (the agent on silent1: does not end within 1 s)" in left
    assert leftovers.not_cleaned([removed, left]) == [left]


def test_the_node_of_a_session_is_cleaned_even_if_its_job_starts_nothing_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\necho 'srun: error: Slurm job 1 has expired' >&2; exit 1\n")
    agent.chmod(0o755)
    names = (os.uname().nodename, "another-node")
    in_hand = InHand("slurm job 1 has", ("n1", "n2"), names, (((0,),),) * 2, {})
    monkeypatch.setenv(nodes_in_hand.IN_HAND, in_hand.as_text())
    monkeypatch.setattr(node_agent, "AGENT", agent)
    left = Path("/dev/shm") / f"mpi_campaign_{secrets.token_hex(8)}"
    left.write_bytes(bytes(4096))
    try:
        assert leftovers.main([left.name, "60"]) == 0
        assert not left.exists()
    finally:
        left.unlink(missing_ok=True)
    removed, not_cleaned = capsys.readouterr().out.splitlines()
    assert removed == f"n1: removed /dev/shm/{left.name}, which a rank had left"
    assert "on 1 node: n2 (the agent on n2: srun: error: Slurm job 1 has expired)" in not_cleaned


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
