"""Faults of nodes, injected while a run measures on a cluster in a box: the run ends in time, says what happened and
where, keeps what was measured, leaves nothing behind, and can be resumed."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpi_campaign import STATE
from mpi_campaign.archive import run_folders
from mpi_campaign.toolchains import resolving
from tests.test_cluster import CAMPAIGN, OUTSIDE, SERVE, Cluster
from tests.test_nodes import machine_state

pytestmark = [pytest.mark.slow, pytest.mark.needs("nodes"), pytest.mark.needs("mpi"), pytest.mark.timeout(900)]

SYSTEM = "cluster-in-a-box"
LIMIT_SECONDS = 90  # of a case
GRACE_SECONDS = 10
LIBRARIES = resolving.DEFAULT_TOOLCHAINS[:2]
# Three points. The first is over soon, the last takes some seconds.
TIMES = ("--comm-time", "16ms", "--comp-time", "16ms", "--comp-time", "64ms", "--comp-time", "256ms")
AGENT = '"$MPI_CAMPAIGN_NODE_AGENT"'
PROGRAM = "nbc_overlap"
SESSIONS = str(STATE / "sessions")

# Words: a node's interface is brought into this state, `up` or `down`.
LINK = (
    "import sys; from pyroute2 import IPRoute; n = IPRoute(); "
    "n.link('set', index=n.link_lookup(ifname='e0')[0], state=sys.argv[1])"
)

# A folder in memory gets no more space than it uses, and gets space again.
FILL = (
    "used=$(df --output=used -k {0} | tail -n 1); mount -o remount,size=$((used + 8))k {0} && "
    "! cat /dev/zero >{0}/filler 2>/dev/null"
)
EMPTY = "rm -f {0}/filler; mount -o remount,size=1g {0}"

# The clock of the benchmark's ranks is ten seconds ahead on nodes with the file /tmp/jump.
JUMP = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL) {
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    }
    const int code = real(clock, now);
    const int before = errno;
    if (clock == CLOCK_MONOTONIC && strcmp(program_invocation_short_name, "nbc_overlap") == 0 &&
        access("/tmp/jump", F_OK) == 0) {
        now->tv_sec += 10;
    }
    errno = before;
    return code;
}
"""


@dataclass(frozen=True)
class Run:
    """A run in the background of a cluster, whose archive is in the cluster's folder."""

    cluster: Cluster
    words: tuple[str, ...]

    @property
    def archive(self) -> Path:
        return self.cluster.folder / "archive"

    def start(self) -> None:
        line = shlex.join([CAMPAIGN, "run", *self.words, "--output", str(self.archive)])
        for name in ("code", "pid"):
            (self.cluster.folder / name).unlink(missing_ok=True)
        self.cluster.sh(f"({line} & echo $! >pid; wait $!; echo $? >code) >out 2>&1 </dev/null &")

    def output(self) -> str:
        return (self.cluster.folder / "out").read_text()

    def code(self, seconds: float) -> int:
        """The exit code, for which it waits so long at most."""
        wait_until(lambda: bool(read(self.cluster.folder / "code")), seconds, self.output)
        return int(read(self.cluster.folder / "code"))

    def has_a_point(self) -> bool:
        """Whether the record of the case that is being measured has its first point."""
        sessions = [f"{SESSIONS}/{folder.name}" for folder in (self.archive / SYSTEM).glob(".partial/*")]
        look = shlex.join(["grep", "-rqs", f"--include={run_folders.RECORD}", '"type":"point"', *sessions])
        return bool(sessions) and self.cluster.sh(look).returncode == 0

    def points(self) -> list[dict[str, object]]:
        """The points of the newest run in the archive, complete or not."""
        done = subprocess.run(
            [CAMPAIGN, "show", "last", "--json", "--output", str(self.archive)],
            cwd=self.cluster.folder, env=OUTSIDE, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found: list[dict[str, object]] = json.loads(done.stdout)
        return found


def read(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def wait_until(true: Callable[[], bool], seconds: float, explain: Callable[[], object]) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, explain()
        time.sleep(0.1)


def ranks(cluster: Cluster) -> list[int]:
    """The processes of the benchmark on all nodes, which have one numbering."""
    return [int(pid) for pid in cluster.sh(f"pgrep -x {PROGRAM}").stdout.split()]


def shared_memory(cluster: Cluster) -> list[str]:
    """Files in /dev/shm of the nodes, without folders."""
    return cluster.sh(f"for node in node1 node2; do {AGENT} $node 'find /dev/shm -type f'; done").stdout.split()


def on_node(cluster: Cluster, node: str, command: str) -> None:
    done = cluster.sh(f"{AGENT} {node} {shlex.quote(command)}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster of two nodes. When it ends, nothing of it is left on this machine.

    With a parameter, the folder SESSIONS is a file system of its own, which this machine does not see.
    """
    before = machine_state()
    words = [CAMPAIGN, "cluster", "--nodes", "2", "--", sys.executable, "-c", SERVE]
    if getattr(request, "param", None):
        mount = f'mount -t tmpfs -o size=1g none {shlex.quote(SESSIONS)} && exec "$@"'
        words = ["unshare", "--mount", "sh", "-c", mount, "sh", *words]
    with subprocess.Popen(
        words, cwd=tmp_path, env=OUTSIDE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Cluster(process, tmp_path)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=20) == 0
    assert machine_state() == before


@pytest.fixture
def measuring(cluster: Cluster, request: pytest.FixtureRequest) -> Run:
    """A run that has measured its first point of three."""
    run = started(cluster, request.param)
    wait_until(lambda: run.has_a_point() or bool(read(cluster.folder / "code")), 240, run.output)
    assert not read(cluster.folder / "code"), run.output()
    return run


def started(cluster: Cluster, library: str, *words: str) -> Run:
    """A run of one case of three points, or as the words say."""
    options = ("--toolchain", library, "--configuration", "basic", "--collective", "ialltoall", *TIMES)
    limits = ("--budget-seconds", "60", "--case-limit-seconds", str(LIMIT_SECONDS))
    run = Run(cluster, ("--system", SYSTEM, "--nodes", "2", "--network", "tcp", *options, *limits, *words))
    run.start()
    return run


def ends_in_time(run: Run) -> None:
    """No rank is left after the limit and its grace, and no shared memory. Then the campaign ends by itself."""
    wait_until(lambda: not ranks(run.cluster), LIMIT_SECONDS + GRACE_SECONDS, run.output)
    assert run.code(120) == 1, run.output()
    assert shared_memory(run.cluster) == []


def is_kept_and_resumed(run: Run) -> None:
    """The first point is there; the run can be completed."""
    assert len(run.points()) >= 1
    resumed = Run(run.cluster, ("--resume", "last"))
    resumed.start()
    assert resumed.code(400) == 0, resumed.output()
    assert len(resumed.points()) == 3


def failure(run: Run, result: str = "FAIL") -> str:
    """The line that says why the case failed, or is missing."""
    lines = [line for line in run.output().splitlines() if line.startswith(f"{result} ")]
    assert len(lines) == 1, run.output()
    return lines[0]


@pytest.mark.parametrize("measuring", LIBRARIES, indirect=True)
@pytest.mark.rare
def test_a_link_that_is_cut(measuring: Run) -> None:
    def link(state: str) -> None:
        on_node(measuring.cluster, "node2", shlex.join([sys.executable, "-c", LINK, state]))

    link("down")
    ends_in_time(measuring)
    assert re.search(r"node[12]", failure(measuring))
    link("up")
    is_kept_and_resumed(measuring)


@pytest.mark.parametrize("measuring", LIBRARIES, indirect=True)
@pytest.mark.rare
def test_a_rank_that_is_killed(measuring: Run) -> None:
    on_node(measuring.cluster, "node2", f"pkill -9 -x {PROGRAM} --ns $$ --nslist uts")
    ends_in_time(measuring)
    # Where the other rank of Open MPI notices that first, its launcher tells no more than the connection.
    lost = r"a rank lost its connection to one on node2: that rank ended early"
    assert re.search(rf"rank (1 )?on node2 was killed \(SIGKILL\)|{lost}", failure(measuring))
    is_kept_and_resumed(measuring)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.rare
def test_a_node_without_space_of_its_own(cluster: Cluster, library: str) -> None:
    """With one rank on a node no library needs space there, and the record is elsewhere: the run notices nothing."""
    run = started(cluster, library, "--collective", "ibcast")
    wait_until(run.has_a_point, 240, run.output)
    on_node(cluster, "node2", "; ".join(FILL.format(folder) for folder in ("/tmp", "/dev/shm")))
    assert run.code(240) == 0, run.output()
    assert len(run.points()) == 6
    assert shared_memory(cluster) == ["/dev/shm/filler"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system on this machine")
@pytest.mark.parametrize("measuring", LIBRARIES, indirect=True)
@pytest.mark.parametrize("cluster", [True], indirect=True)
@pytest.mark.rare
def test_a_disk_that_is_full(measuring: Run) -> None:
    """The file system on which rank 0 writes the record has no space left."""
    cluster = measuring.cluster
    on_node(cluster, "node1", FILL.format(SESSIONS))
    ends_in_time(measuring)
    reason = failure(measuring, "MISSING")  # ReFrame cannot write its report there either
    assert f"rank 0 on node1 could not write its record: No space left on device (file system {SESSIONS})" in reason
    on_node(cluster, "node1", EMPTY.format(SESSIONS))
    is_kept_and_resumed(measuring)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.rare
def test_a_clock_that_jumps(cluster: Cluster, library: str) -> None:
    """What was measured with the clock that jumped is thrown away. The rest is measured without a common clock."""
    (cluster.folder / "jump.c").write_text(JUMP)
    done = cluster.sh("cc -O2 -shared -fPIC -o jump.so jump.c -ldl")
    assert done.returncode == 0, done.stderr
    run = started(cluster, library, "--env", f"LD_PRELOAD={cluster.folder}/jump.so")
    wait_until(run.has_a_point, 240, run.output)
    on_node(cluster, "node2", "touch /tmp/jump")
    assert run.code(240) == 0, run.output()
    first, *others = run.points()
    assert first["clock_method"] == "interpolated"
    assert others[-1]["clock_method"] == "none"
    assert re.search(r"clock of rank 1 .* was set; rank 1 is on node2", cluster.sh("cat archive/*/*/records/*").stdout)
    assert shared_memory(cluster) == []


@pytest.mark.parametrize("measuring", LIBRARIES, indirect=True)
@pytest.mark.rare
def test_the_campaign_is_killed(measuring: Run) -> None:
    measuring.cluster.sh("kill -9 $(cat pid)")
    assert measuring.code(10) == 128 + 9
    wait_until(
        lambda: not ranks(measuring.cluster) and not shared_memory(measuring.cluster), GRACE_SECONDS, measuring.output
    )
    is_kept_and_resumed(measuring)
