"""A cluster in a box: what its nodes are, Slurm on them with real MPI libraries, and that nothing of it is left."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.children import environ
from mpi_campaign.launching import accounting, node_agent, slurm
from mpi_campaign.processes import guard
from mpi_campaign.toolchains import resolving
from tests.support import Command, as_another_user, refused, running, succeed
from tests.test_nodes import machine_state

pytestmark = pytest.mark.beside_others

CAMPAIGN = str(ROOT / "campaign")
JOB_SECONDS = 60
TIMED_OUT = 124
OUTSIDE = {name: value for name, value in os.environ.items() if not environ.is_of_batch_system(name)}

# Runs on node0: for each line of standard input, a command for sh, it answers with a line of JSON.
SERVE = """
import json, subprocess, sys
for line in sys.stdin:
    done = subprocess.run(["sh", "-c", json.loads(line)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
"""


PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static char payload[1 << 20];
int main(int argc, char **argv)
{
    char host[64];
    int given, rank, size, beside;
    MPI_Comm node;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &beside);
    gethostname(host, sizeof host);
    MPI_Bcast(payload, sizeof payload, MPI_CHAR, 0, MPI_COMM_WORLD);
    printf("rank %d of %d on %s with %d\\n", rank, size, host, beside);
    MPI_Comm_free(&node);
    return MPI_Finalize();
}
"""


@dataclass(frozen=True)
class Cluster:
    """A live cluster, and the folder in which its command runs."""

    process: subprocess.Popen[str]
    folder: Path

    def sh(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command on node0."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return subprocess.CompletedProcess(command, *json.loads(self.process.stdout.readline()))

    def states(self) -> dict[str, str]:
        done = self.sh("sinfo --noheader --Node --format '%N %T'")
        return dict(line.split() for line in done.stdout.splitlines())

    def job(self, *lines: str, options: str = "--nodes=2") -> tuple[str, str]:
        """Run a batch job of these lines. Returns its exit code as Slurm tells it, and its output."""
        (self.folder / "job.sh").write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
        done = self.sh(f"sbatch --parsable {options} --output=%j.out job.sh")
        assert done.returncode == 0, done.stderr
        number = done.stdout.strip()
        deadline = time.monotonic() + JOB_SECONDS
        while True:
            facts = dict(
                word.partition("=")[::2] for word in self.sh(f"scontrol --oneliner show job {number}").stdout.split()
            )
            if facts.get("JobState") in {"COMPLETED", "FAILED", "NODE_FAIL", "CANCELLED"}:
                return facts["ExitCode"], (self.folder / f"{number}.out").read_text()
            assert time.monotonic() < deadline, facts
            time.sleep(0.1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two nodes with Slurm, for all tests here that look at one."""
    folder = tmp_path_factory.mktemp("cluster")
    words = [CAMPAIGN, "cluster", "--nodes", "2", "--rate", "10gbit", "--slurm", "--", sys.executable, "-c", SERVE]
    with subprocess.Popen(
        words, cwd=folder, env=OUTSIDE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Cluster(process, folder)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(timeout=20) == 0
        finally:
            process.terminate()


def in_folder(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`./campaign cluster` with these words, typed in another folder."""
    return subprocess.run(
        [CAMPAIGN, "cluster", *words],
        cwd=folder,
        env={**OUTSIDE, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


# --- nodes without Slurm


@pytest.mark.needs("nodes")
def test_each_node_has_folders_and_a_clock_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("")
    look = "touch /tmp/$(hostname) /run/$(hostname); ls; ls /tmp; ls /run; grep monotonic /proc/self/timens_offsets"
    script = f'for node in node0 node1 node2; do "$MPI_CAMPAIGN_NODE_AGENT" $node {shlex.quote(look)}; done; exit 7'
    done = in_folder(tmp_path, "--nodes", "2", "--", "sh", "-c", script)
    assert done.returncode == 7, done.stderr
    beside = {name for path in (tmp_path, ROOT) if path.is_relative_to("/tmp") for name in path.parts[2:3]}
    expected: list[str] = []
    for number in range(3):
        host = f"node{number}"
        expected += ["here", *sorted({host, *beside}), "cluster", host, "monotonic", str(100 * number), "0"]
    assert done.stdout.split() == expected


@pytest.mark.needs("nodes")
def test_what_would_end_with_the_cluster_is_refused(tmp_path: Path) -> None:
    """/tmp of a node is in memory. The folder in which the cluster was started is not, even if it is below /tmp."""
    words = shlex.join([sys.executable, CAMPAIGN, "results", "list", "--output"])
    script = "".join(f"{words} {path}; echo $?; " for path in ("/tmp/new/results", "/run/cluster", "results"))
    done = in_folder(tmp_path, "--nodes", "1", "--", "sh", "-c", script)
    assert done.stdout.split()[:2] == ["2", "2"]
    assert done.stdout.split()[-1] == "0", done.stderr
    new, common = done.stderr.splitlines()
    assert "--output /tmp/new/results: this folder is in the memory of the cluster in a box" in new
    assert "--output /run/cluster: " in common


@pytest.mark.needs("nodes")
def test_the_shell_runs_on_limited_links_and_in_no_other_allocation(tmp_path: Path) -> None:
    look = (
        "from pyroute2 import IPRoute; n = IPRoute(); i = n.link_lookup(ifname='e0')[0]; "
        "print([m.get_attr('TCA_KIND') for m in n.get_qdiscs(index=i)])"
    )
    there = shlex.quote(shlex.join([sys.executable, "-c", look]))
    shell = tmp_path / "shell"
    shell.write_text(f'#!/bin/sh\n"$MPI_CAMPAIGN_NODE_AGENT" node1 {there}; env\n')
    shell.chmod(0o755)
    around = {"SHELL": str(shell), "SLURM_JOB_ID": "12", "PBS_NODEFILE": "/nodes"}
    limited = in_folder(tmp_path, "--nodes", "1", "--rate", "1gbit", **around).stdout
    assert "'htb'" in limited
    assert not {"SLURM_JOB_ID", "PBS_NODEFILE", "TMPDIR"} & {line.partition("=")[0] for line in limited.splitlines()}
    assert "'htb'" not in in_folder(tmp_path, "--nodes", "1", **around).stdout


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (("--nodes", "0"), ("0 nodes", "1 to 64")),
        (("--nodes", "65"), ("65 nodes", "1 to 64")),
        (("--nodes", "many"), ("many",)),
        ((), ("--nodes",)),
        (("--nodes", "2", "--rate", "fast"), ("'fast'", "1mbit to 32gbit")),
        (("--nodes", "2", "--rate", "0gbit"), ("'0gbit'", "1mbit to 32gbit")),
    ],
)
def test_bad_input_ends_in_one_line(inside: Command, words: tuple[str, ...], fragments: tuple[str, ...]) -> None:
    refused(inside("cluster", *words), *fragments)


def test_a_folder_of_each_node_is_no_place_to_start() -> None:
    refused(in_folder(Path("/tmp"), "--nodes", "2", "--", "true"), "/tmp", "another folder")


def test_slurm_that_is_not_installed_is_named(inside: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(slurm, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(inside("cluster", "--nodes", "2", "--slurm"), "slurmctld, slurmd", f"Debian, Ubuntu: {slurm.PACKAGES}")
    monkeypatch.setattr(slurm, "PROGRAMS", ())
    refused(inside("cluster", "--nodes", "2", "--accounting"), "--accounting needs slurmdbd", accounting.PACKAGES)


@pytest.mark.needs("user-namespaces")
def test_a_machine_that_allows_no_namespaces_is_told(tmp_path: Path) -> None:
    words = [CAMPAIGN, "cluster", "--nodes", "2", "--", "true"]
    forbid = f"echo 0 > /proc/sys/user/max_pid_namespaces && exec {shlex.join(words)}"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", forbid],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    refused(done, "no process namespace", "sysctl user.max_user_namespaces")


@pytest.mark.needs("nodes")
def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = in_folder(tmp_path, "--nodes", "1", "--", "/nonexistent/program")
    assert (done.returncode, done.stderr) == (127, "campaign: /nonexistent/program: No such file or directory\n")


# --- Slurm


def test_settings_name_the_head_and_the_others() -> None:
    lines = slurm.settings(["node0", "node1", "node2"], 4, 1000, "me").splitlines()
    assert {"SlurmctldHost=node0", "SlurmUser=me", "SlurmdUser=me"} <= set(lines)
    assert "NodeName=node1,node2 CPUs=4 RealMemory=1000 State=UNKNOWN" in lines


def test_with_accounting_jobs_and_accounts_are_known() -> None:
    lines = slurm.settings(["node0", "node1"], 4, 1000, "me", with_accounting=True).splitlines()
    assert {"AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=node0"} <= set(lines)
    assert "StorageUser=me" in accounting.settings("node0", "me", "/socket").splitlines()


@pytest.mark.needs("slurm")
def test_all_nodes_are_idle_before_the_command_starts(cluster: Cluster) -> None:
    assert cluster.states() == {"node1": "idle", "node2": "idle"}
    assert cluster.sh("sinfo --noheader --format '%R %D'").stdout == "cpu 2\n"
    assert cluster.sh("scontrol ping").stdout == "Slurmctld(primary) at node0 is UP\n"
    assert cluster.sh("srun --nodes=2 hostname").stdout.split() in (["node1", "node2"], ["node2", "node1"])


@pytest.mark.needs("slurm")
def test_the_key_is_the_users_alone(cluster: Cluster) -> None:
    assert cluster.sh(f"stat --format %a {slurm.MUNGE} {slurm.MUNGE_KEY}").stdout == "700\n400\n"
    assert not node_agent.COMMON_FOLDER.exists()


@pytest.mark.needs("slurm")
def test_a_job_has_an_exit_code_and_knows_its_allocation(cluster: Cluster) -> None:
    doctor = shlex.join([CAMPAIGN, "doctor", "--no-timing"])
    code, output = cluster.job(f"{doctor} | grep allocation", "echo $SLURM_SUBMIT_HOST", "exit 3")
    assert code == "3:0"
    first, last = output.splitlines()
    assert first.startswith("good ")
    assert first.endswith(", 2 nodes: node1, node2")
    assert last == "node0"


def program(mpi: resolving.Toolchain, folder: Path) -> str:
    source = folder / "program.c"
    source.write_text(PROGRAM)
    built = folder / f"program-{mpi.toolchain}"
    succeed(mpi.mpicc, str(source), "-o", str(built))
    return shlex.quote(str(built))


ONE_RANK_PER_NODE = ["rank 0 of 2 on node1 with 1", "rank 1 of 2 on node2 with 1"]


@pytest.mark.needs("slurm")
@pytest.mark.needs("mpi")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("toolchain", "options"), [("mpich@5.0.2", "-ppn 1"), ("openmpi@5.0.11", "--map-by ppr:1:node")]
)
def test_a_batch_job_starts_a_rank_on_each_node(cluster: Cluster, toolchain: str, options: str) -> None:
    mpi = resolving.resolve(resolving.parse(toolchain), print)
    launch = f"{shlex.quote(str(mpi.mpiexec))} -n 2 {options} {program(mpi, cluster.folder)}"
    as_root = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    code, output = cluster.job(as_root, launch)
    assert (code, sorted(output.splitlines())) == ("0:0", ONE_RANK_PER_NODE)


@pytest.mark.needs("slurm")
@pytest.mark.needs("mpi")
@pytest.mark.needs("pmix")
@pytest.mark.slow
def test_srun_starts_ranks_by_pmix(cluster: Cluster) -> None:
    mpi = resolving.resolve(resolving.parse("openmpi@5.0.11"), print)
    for _attempt in range(3):
        # On a crowded machine Slurm's plugin of PMIx may wait for ever at the start of a step.
        done = cluster.sh(f"timeout --kill-after=5 60 srun --nodes=2 --mpi=pmix {program(mpi, cluster.folder)}")
        if done.returncode != TIMED_OUT:
            break
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, ONE_RANK_PER_NODE), done.stderr


@pytest.mark.needs("slurm")
@pytest.mark.rare
def test_a_slurmd_that_was_killed_is_missed(cluster: Cluster) -> None:
    """The last test of the cluster: it has one node less then."""
    assert cluster.sh(""" "$MPI_CAMPAIGN_NODE_AGENT" node2 'kill -9 $(cat /run/slurmd.pid)' """).returncode == 0
    deadline = time.monotonic() + JOB_SECONDS
    while (states := cluster.states())["node2"] == "idle":
        assert time.monotonic() < deadline, states
        time.sleep(0.2)
    assert states["node1"] == "idle"
    assert states["node2"] in {"idle*", "down*", "down"}


@pytest.mark.needs("slurm")
def test_a_slurmd_that_does_not_start_is_told_in_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "slurmd"
    broken.write_text("#!/bin/sh\necho 'slurmd: fatal: it is broken' >&2\necho 'slurmd: bye' >&2\nexit 1\n")
    broken.chmod(0o755)
    done = in_folder(
        tmp_path, "--nodes", "1", "--slurm", "--", "touch", "started", PATH=f"{tmp_path}:{OUTSIDE['PATH']}"
    )
    refused(done, "slurmd on node1 ended with 1: slurmd: fatal: it is broken")
    assert not (tmp_path / "started").exists()


@pytest.mark.needs("slurm")
@pytest.mark.needs("another-user")
@pytest.mark.rare
def test_an_ordinary_user_gets_slurm_too() -> None:
    words = ("-m", "mpi_campaign", "cluster", "--nodes", "2", "--slurm", "--", "srun", "--nodes=2", "id", "--user")
    command, environment = as_another_user(*words)
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, ["65534", "65534"]), done.stderr


# --- the end


def namespaces(pids: Iterable[int]) -> dict[int, int]:
    """The process namespaces of those of these processes that are in another one than this process."""
    own = Path("/proc/self/ns/pid").stat().st_ino
    found = {}
    for pid in pids:
        with suppress(OSError):  # it ended meanwhile
            found[pid] = Path(f"/proc/{pid}/ns/pid").stat().st_ino
    return {pid: inode for pid, inode in found.items() if inode != own}


def living_in(inode: int) -> list[int]:
    """All processes in a process namespace. One that is over and waits for its parent to ask is not among them."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid, found in namespaces(pids).items() if found == inode and running(pid)]


def files_of_slurm() -> set[Path]:
    """Files and control groups on this machine whose names are those of a cluster's parts."""
    folders = [Path(name) for name in ("/tmp", "/run", "/dev/shm", "/var/log", "/var/spool", "/var/lib/munge")]
    folders += [path for path in Path("/sys/fs/cgroup").glob("*") if path.is_dir()]
    words = ("slurm", "munge", "pmix", "spool", "cluster", "node0", "node1")
    return {
        path
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if any(word in path.name for word in words)
    }


@pytest.mark.needs("slurm")
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("SIGKILL", -signal.SIGKILL),
        pytest.param("SIGINT", 128 + signal.SIGINT, marks=pytest.mark.rare),
        pytest.param("command", 7, marks=pytest.mark.rare),
    ],
)
def test_nothing_is_left(end: str, code: int, tmp_path: Path) -> None:
    before = machine_state(), files_of_slurm()
    script = "srun --nodes=1 sleep 300 & while ! squeue -h -t running | grep -q .; do sleep 0.1; done; echo up; "
    script += "while ! test -e end; do sleep 0.1; done; exit 7" if end == "command" else "exec sleep 300"
    words = [CAMPAIGN, "cluster", "--nodes", "1", "--slurm", "--", "sh", "-c", script]
    with subprocess.Popen(words, cwd=tmp_path, env=OUTSIDE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        started = namespaces(guard.descendants(process.pid))
        (inode,) = set(started.values())
        assert len(started) >= 10  # four daemons, two steps, three that hold nodes, the first one
        if end == "command":
            (tmp_path / "end").touch()
        else:
            process.send_signal(signal.Signals[end])
        assert process.wait(timeout=20) == code
        deadline = time.monotonic() + 10
        while living_in(inode) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert not living_in(inode)
    assert (machine_state(), files_of_slurm()) == before
