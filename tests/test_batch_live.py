"""A system with Slurm, in a cluster in a box: described, checked, measured on, and what is left when something dies."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT, STATE
from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import environ
from mpi_campaign.toolchains import resolving
from postprocess.families.nbc_overlap.points import expected_wire_bytes
from postprocess.families.nbc_overlap.record import OverlapRecord, load_overlap
from postprocess.families.sampled import invalid_reasons
from tests.support import MPI

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("slurm"), pytest.mark.timeout(1500)]

CAMPAIGN = str(ROOT / "campaign")
OUTSIDE = {name: value for name, value in os.environ.items() if not environ.is_of_batch_system(name)}
RUN = (
    f"run --toolchain {MPI} --benchmark nbc_overlap --configuration basic --configuration async --nodes 2 "
    "--collective ibcast"
)
# A time that is also reached where other processes use the processor.
MEASURE = f"{RUN} --comm-time 16ms --comp-time 16ms --budget-seconds 20"
# Four cases, and longer ones.
FOUR_CASES = (
    f"{RUN} --collective ireduce --comm-time 16ms --comp-time 16ms --budget-seconds 60 --system $SYSTEM --output $OUT"
)
SECONDS = 1200
# The ranks of the case that is measured stand still: the case does not end by itself.
STAND_STILL = "until [ $(pgrep -x nbc_overlap | tee ranks | wc -l) = 2 ]; do sleep 0.1; done; kill -STOP $(cat ranks)"


@dataclass(frozen=True)
class Box:
    """A cluster in a box that lives as long as one script; a system was described there, and is deleted afterwards.

    outside: words before those that make the cluster.  on_head: words before those that run on its head node.
    """

    system: str
    folder: Path
    outside: tuple[str, ...] = ()
    on_head: tuple[str, ...] = ()

    def sh(
        self, *lines: str, nodes: int = 2, options: Sequence[str] = ("--slurm",)
    ) -> list[subprocess.CompletedProcess[str]]:
        """Run each of the lines on the head node of a new cluster. options: of the cluster.

        `campaign` is the command, SYSTEM and OUT stand for the system and the archive, and `until_said` waits until the
        campaign has written a text to first.txt.
        """
        program = (
            "import json, subprocess, sys\n"
            "pipes = {'stdin': subprocess.DEVNULL, 'capture_output': True, 'text': True}\n"
            "for line in json.loads(sys.argv[1]):\n"
            "    done = subprocess.run(['bash', '-c', line], **pipes)\n"
            "    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)\n"
        )
        beginning = (
            f'campaign() {{ {sys.executable} {CAMPAIGN} "$@"; }}; SYSTEM={self.system}; OUT={self.folder}/out; '
            'until_said() { for _ in $(seq 900); do grep -q "$1" first.txt && return; sleep 0.2; done; }; '
        )
        (self.folder / "first.txt").unlink(missing_ok=True)  # of another cluster
        text = json.dumps([beginning + line for line in lines])
        command = [*self.on_head, sys.executable, "-c", program, text]
        words = [*self.outside, CAMPAIGN, "cluster", "--nodes", str(nodes), *options, "--", *command]
        done = subprocess.run(
            words, cwd=self.folder, env=OUTSIDE, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        return [subprocess.CompletedProcess(line, *one) for line, one in zip(lines, answers, strict=True)]

    def newest(self) -> RunFolder:
        """The newest run."""
        return run_folders.find("last", self.folder / "out")

    def manifest(self) -> dict[str, Any]:
        """Of the newest run."""
        return run_folders.read_manifest(self.newest())

    def records(self) -> list[OverlapRecord]:
        """Of the newest run."""
        return [load_overlap(path) for path in sorted(self.newest().records_folder.glob("*.jsonl"))]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    system = f"tmp-box-{os.getpid()}"
    # The box has no network.
    subprocess.run([CAMPAIGN, "setup"], env=OUTSIDE, capture_output=True, check=True)
    yield Box(system, tmp_path_factory.mktemp("box"))
    shutil.rmtree(ROOT / "systems" / system, ignore_errors=True)


def good(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refused(done: subprocess.CompletedProcess[str], *fragments: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    for fragment in fragments:
        assert fragment in line


def daemon(words: str) -> str:
    """The process of a daemon of Slurm in the box: it has a numbering of processes of its own."""
    return f"$(pgrep -f '^[^ ]*/{words}')"


@pytest.mark.needs("pmix")
def test_a_system_is_described_checked_and_measured_on(box: Box) -> None:
    both = f"{MEASURE} --toolchain {resolving.DEFAULT_TOOLCHAINS[0]} --network tcp --budget-seconds 24"
    init, check, dry, run, account, partition, nodes, limit = box.sh(
        "campaign systems init $SYSTEM --launcher srun",
        "campaign systems check $SYSTEM --json",
        f"campaign {MEASURE} --system $SYSTEM --dry-run --account me",
        f"campaign {both} --system $SYSTEM --output $OUT",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --scheduler-option=--gres=gpu:1",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --partition gpu",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --nodes 3",
        f"scontrol update PartitionName=cpu MaxTime=10; campaign {MEASURE} --system $SYSTEM --time-limit 11",
    )
    assert "partition  cpu: 2 nodes can be used" in good(init)

    probe = json.loads(good(check))
    assert {finding["state"] for finding in probe["findings"]} == {"good"}
    assert probe["job"]["hosts"] == ["node1", "node2"]

    assert "#SBATCH --account=me" in good(dry)
    assert "job 1: 2 nodes, at most" in dry.stdout

    manifest = box.manifest()
    assert "has started on node1" in run.stdout, run.stdout + run.stderr
    (job,) = manifest["jobs"]  # all that is compared is in one
    assert (job["exit_code"], job["hosts"], job["reason"]) == (0, ["node1", "node2"], "")
    assert job["started_utc"] <= job["ended_utc"]
    assert manifest["host"]["name"] == "node1"  # where it was measured, not where it was typed
    assert [session["job"] for session in manifest["sessions"]] == [job["id"]] * 2  # libraries take turns
    assert [case["nodes"] for case in manifest["cases"]] == [2] * 4
    assert {case["result"] for case in manifest["cases"]} <= {"pass", "fail"}  # shared cores: no number is judged
    check_placed(box.records(), 2)
    assert {(one.header.toolchain, one.header.configuration) for one in box.records()} == {
        (toolchain, configuration) for toolchain in resolving.DEFAULT_TOOLCHAINS for configuration in ("basic", "async")
    }
    scripts = [path.read_text() for path in (box.newest().path / "logs").glob("*async*.sh")]
    assert len(scripts) == 2
    assert all("srun --jobid" in script for script in scripts)

    refused(account, "Slurm refuses the job: Invalid generic resource (gres) specification")
    refused(partition, f"system '{box.system}' has no partition 'gpu'; it has: cpu")
    refused(nodes, "--nodes 3", "2 nodes")
    refused(limit, "--time-limit 0:11:00", "'cpu' gives a job at most 0:10:00")
    assert len(list(run_folders.runs(box.folder / "out"))) == 1  # what was refused leaves no run


def check_placed(records: Sequence[OverlapRecord], nodes: int) -> None:
    """One rank ran on each node, all in one world, on the CPUs of its share; the payload went from node to node."""
    for record in records:
        header = record.header
        assert (header.nodes, header.ranks) == (nodes, nodes)
        assert [rank.host for rank in header.placement] == [f"node{number}" for number in range(1, nodes + 1)]
        assert header.clock is not None
        assert header.clock.clocks == nodes
        by_host: dict[str, Any] = header.metadata.get("by_host") or {}
        shares = {host: of_host["shares"][0] for host, of_host in by_host.items()}
        assert not shares or {rank.host: rank.cpuset for rank in header.placement} == shares
        assert header.oversubscribed != bool(shares)  # where nodes share cores, ranks are not bound
        assert record.footer is not None
        assert 0 < expected_wire_bytes(record) <= sum(sent or 0 for sent in record.footer.tcp_bytes_sent or ())


@pytest.mark.rare
@pytest.mark.needs("mpi")
@pytest.mark.needs("pmix")
@pytest.mark.parametrize(
    ("nodes", "time", "options", "others"),
    [(2, "10ms", "", ("intel@2021.18.1", "openmpi@4.1.8", "mpich@4.2.3")), (4, "100ms", "--oversubscribe", ())],
)
@pytest.mark.parametrize("launcher", ["mpiexec", "srun"])
def test_jobs_of_many_nodes_by_each_launcher(
    box: Box, launcher: str, nodes: int, time: str, options: str, others: tuple[str, ...]
) -> None:
    """Libraries are started by their own launchers, and by srun with PMIx or PMI-2.

    A rank of Open MPI 5 that srun starts may crash in MPI_Init (open-mpi/ompi#12495). `--resume` launches it again.
    """
    toolchains = (*resolving.DEFAULT_TOOLCHAINS, *others)
    named = " ".join(f"--toolchain {name}" for name in toolchains)
    times = f"--comm-time {time} --comp-time {time} --budget-seconds {60 * len(toolchains)}"
    again = "|| campaign run --resume last --output $OUT" if launcher == "srun" else ""
    subprocess.run([CAMPAIGN, "setup", *named.split()], env=OUTSIDE, capture_output=True, check=True)
    init, run = box.sh(
        f"campaign systems init $SYSTEM --force --launcher {launcher}",
        f"campaign run --system $SYSTEM --network tcp {named} --benchmark nbc_overlap --configuration basic "
        f"--collective ibcast {times} --nodes {nodes} {options} "
        f"--output $OUT {again} {again}",
        nodes=nodes,
    )
    good(init)
    good(run)
    assert "FAIL" not in run.stdout or "FAIL openmpi@5.0.11" in run.stdout
    manifest = box.manifest()
    for job in manifest["jobs"]:
        assert job["hosts"] == [f"node{number}" for number in range(1, nodes + 1)]
    assert {case["result"] for case in manifest["cases"]} == {"pass"}
    records = box.records()
    assert {record.header.toolchain for record in records} == set(toolchains)
    check_placed(records, nodes)
    assert not [reason for record in records for point in record.points for reason in invalid_reasons(point)]
    scripts = [path.read_text() for path in (box.newest().path / "logs").glob("*.sh")]
    assert any("srun --jobid" in script for script in scripts) == (launcher == "srun")


@pytest.mark.rare
@pytest.mark.needs("slurm-accounting")
def test_slurm_with_accounting(box: Box) -> None:
    """ReFrame's scheduler `slurm`, which asks sacct; and accounts that Slurm knows, or refuses."""
    accounts, init, check, refused_one, run, told = box.sh(
        "sacctmgr --immediate add account physics && sacctmgr --immediate add user $(id --user --name) account=physics",
        "campaign systems init $SYSTEM --force && grep scheduler systems/$SYSTEM/settings.py",
        "campaign systems check $SYSTEM --account physics",
        "campaign systems check $SYSTEM --account nobodys",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --account physics",
        "sacct --allusers --allocations --noheader --parsable2 --format=JobID,Account,State,ExitCode",
        options=["--accounting"],
    )
    good(accounts)
    good(check)
    assert '"scheduler": "slurm"' in (ROOT / "systems" / box.system / "settings.py").read_text(), init.stdout
    refused(refused_one, "Slurm refuses the job: Invalid account or account/partition combination specified")
    (job,) = box.manifest()["jobs"]
    assert (job["exit_code"], job["hosts"], job["reason"]) == (0, ["node1", "node2"], ""), run.stdout + run.stderr
    assert good(told).splitlines() == ["1|physics|COMPLETED|0:0", "2|physics|COMPLETED|0:0"]


@pytest.mark.rare
@pytest.mark.needs("slurm-torque")
def test_torques_commands(box: Box) -> None:
    """ReFrame's scheduler `torque`, by Slurm's commands of the names of Torque's."""
    init, check, run, job = box.sh(
        "campaign systems init $SYSTEM --force --scheduler torque",
        f"sed -i 's/-q batch/-q cpu/; s/\\(_cpus[a-z_]*\": \\)[0-9]*/\\11/' {ROOT}/systems/$SYSTEM/settings.py; "
        "campaign systems check $SYSTEM --json",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --time-limit 20",
        "scontrol show job 2",
    )
    good(init)
    probe = json.loads(good(check))
    assert {finding["state"] for finding in probe["findings"]} == {"good"}
    (job_,) = box.manifest()["jobs"]
    assert (job_["exit_code"], job_["hosts"], job_["reason"]) == (0, ["node1", "node2"], ""), run.stdout + run.stderr
    assert "TimeLimit=00:20:00" in good(job)


@pytest.mark.rare
def test_jobs_of_a_run_may_be_in_the_queue_at_once(box: Box) -> None:
    """--max-jobs, --time-limit and --scheduler-option reach Slurm; one node and two nodes are two jobs."""
    init, run, jobs = box.sh(
        "campaign systems init $SYSTEM --force",
        f"campaign {MEASURE} --nodes 1 --system $SYSTEM --output $OUT --max-jobs 2 --time-limit 20 "
        "--scheduler-option=--comment=ours",
        "scontrol --oneliner show job",
        nodes=3,
    )
    good(init)
    both = [dict(word.partition("=")[::2] for word in line.split()) for line in good(jobs).splitlines()]
    assert [(job["TimeLimit"], job["Comment"]) for job in both] == [("00:20:00", "ours")] * 2, run.stdout
    assert sorted(job["NumNodes"] for job in both) == ["1", "2"]
    first, second = sorted(both, key=lambda job: job["StartTime"])
    assert second["StartTime"] < first["EndTime"]
    assert [job["reason"] for job in box.manifest()["jobs"]] == ["", ""]


@pytest.mark.rare
def test_jobs_whose_campaign_is_gone_end_and_a_resumed_run_takes_them_over(box: Box) -> None:
    init, killed, queue, silent, resumed, again = box.sh(
        "campaign systems init $SYSTEM --force",
        # The head node dies: neither the campaign nor its guard can cancel the job.
        f"(campaign {FOUR_CASES} --case-limit-seconds 900 > first.txt 2>&1 & ); until_said '1/4 '; "
        "campaign=$(pgrep -f '^[^ ]*python[^ ]* -m mpi_campaign run'); guard=$(pgrep -P $campaign); "
        f"kill -9 $campaign $guard $(pgrep -P $guard); squeue --noheader; {STAND_STILL}",
        'for _ in $(seq 300); do [ -z "$(squeue --noheader)" ] && break; sleep 1; done; scontrol show job 1',
        f"kill -9 {daemon('slurmctld')}; campaign run --resume last --output $OUT",
        "PATH=$PATH:/usr/sbin slurmctld; until scontrol ping | grep -q UP; do sleep 0.2; done; "
        "campaign run --resume last --output $OUT",
        "campaign run --resume last --output $OUT",
    )
    good(init)
    assert "rfm_batc" in good(killed)  # the job goes on for a while
    assert "JobState=FAILED" in good(queue)
    refused(silent, "Slurm does not answer")
    manifest = box.manifest()
    assert [job["exit_code"] for job in manifest["jobs"]] == [130, 0]
    assert manifest["jobs"][0]["reason"] == "the campaign that had submitted it was gone"
    assert all(case["record"] for case in manifest["cases"])
    assert "job 2 has started" in resumed.stdout
    refused(again, "is complete")


@pytest.mark.rare
def test_a_cancelled_run_says_so_and_goes_on(box: Box) -> None:
    _, cancelled, first, waited = box.sh(
        "campaign systems init $SYSTEM --force",
        f"(campaign {FOUR_CASES} > first.txt 2>&1; echo rc=$? >> first.txt) & "
        "until_said '1/4 '; campaign cancel last --output $OUT; wait",
        "cat first.txt",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --max-wait 0:05 --scheduler-option=--begin=now+1hour",
    )
    assert good(cancelled) == "cancelled: 1\n"
    assert "rc=1" in first.stdout
    assert "job 1 on node1 was cancelled" in first.stdout
    assert "\nFAIL job 1 " in first.stdout
    assert first.stdout.count("FAIL ") == 1  # no case failed by itself
    assert waited.returncode == 1
    assert "never started; the batch system's reason: BeginTime" in waited.stdout


@pytest.mark.rare
def test_a_node_that_does_not_share_the_file_system(box: Box) -> None:
    def hide(node: str) -> str:
        return f'"$MPI_CAMPAIGN_NODE_AGENT" {node} "mount -t tmpfs none {STATE / "sessions"}"'

    init, one, neither, run = box.sh(
        "campaign systems init $SYSTEM --force",
        f"{hide('node2')} && campaign systems check $SYSTEM --json",
        f"{hide('node1')} && campaign systems check $SYSTEM --json",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT",
    )
    good(init)
    assert (one.returncode, neither.returncode, run.returncode) == (1, 1, 1), one.stderr + neither.stderr + run.stderr
    (lacking,) = [finding for finding in json.loads(one.stdout)["findings"] if finding["state"] == "lacking"]
    assert lacking["seen"] == "2 nodes asked for, 1 node wrote a file: node1"
    assert "do not share" in lacking["advice"]
    (lacking,) = [finding for finding in json.loads(neither.stdout)["findings"] if finding["state"] == "lacking"]
    assert "left no file: it never started, or its nodes do not share" in lacking["seen"]
    assert "left no file: it never started, or its nodes do not share" in run.stdout
    assert {case["result"] for case in box.manifest()["cases"]} == {"missing"}


@pytest.mark.rare
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("scancel 1", "job 1 on node1 was cancelled"),
        (f"kill -9 {daemon('slurmd -D -N node2')}", "job 1 on node1 lost a node: node2 is down"),
        (f"kill -9 {daemon('slurmd -D -N node1')}", "job 1 on node1 lost a node: node1 is down"),
    ],
    ids=["cancelled", "other node", "first node"],
)
def test_what_ends_a_job(box: Box, fault: str, reason: str) -> None:
    init, run, mended, resumed = box.sh(
        "campaign systems init $SYSTEM --force",
        f"(campaign {FOUR_CASES} > first.txt 2>&1; echo rc=$? >> first.txt) & until_said '1/4 '; "
        f"{STAND_STILL}; {fault}; time wait; cat first.txt",
        'for node in node1 node2; do pgrep -f "^[^ ]*/slurmd -D -N $node" >/dev/null || '
        '"$MPI_CAMPAIGN_NODE_AGENT" $node "mkdir -p /run/slurmd; PATH=$PATH:/usr/sbin slurmd -N $node"; done; '
        "for _ in $(seq 60); do sinfo --noheader --states=idle --format=%D | grep -q 2 && break; sleep 1; done; sinfo",
        "campaign run --resume last --output $OUT",
    )
    good(init)
    assert "rc=1" in run.stdout
    assert reason in run.stdout
    minutes, seconds = re.findall(r"^real\t(\d+)m([\d.]+)s", run.stderr, re.MULTILINE)[0]
    assert 60 * int(minutes) + float(seconds) < 90
    assert "idle" in good(mended)
    manifest = box.manifest()
    assert [job["reason"] for job in manifest["jobs"]] == [reason, ""], resumed.stdout
    assert all(case["record"] for case in manifest["cases"])
    assert re.search(r"\b1/[123] ", resumed.stdout)  # at least one case was kept


@pytest.mark.rare
def test_a_controller_that_restarts_ends_no_job(box: Box) -> None:
    init, run, resumed = box.sh(
        "campaign systems init $SYSTEM --force",
        f"(campaign {FOUR_CASES} > first.txt 2>&1; echo rc=$? >> first.txt) & until_said '1/4 '; "
        f"kill -9 {daemon('slurmctld')}; sleep 25; PATH=$PATH:/usr/sbin slurmctld; wait; cat first.txt; "
        "cp $(ls -t $OUT/*/.partial/*/manifest.json | head -n 1) first.json",
        "campaign run --resume last --output $OUT",
    )
    good(init)
    first = json.loads((box.folder / "first.json").read_text())
    (job,) = first["jobs"]
    assert (job["exit_code"], job["reason"]) == (0, ""), run.stdout
    assert len(first["sessions"]) == 1  # the campaign waited for its end
    # srun starts no rank without slurmctld: a case that was launched meanwhile says so.
    lost = [case["reason"] for case in first["cases"] if not case["record"]]
    assert lost
    assert all("srun: error: " in reason for reason in lost), lost
    assert all(case["record"] for case in box.manifest()["cases"]), resumed.stdout


@pytest.mark.rare
def test_polls_that_fail_end_no_job_and_one_that_runs_again_replaces_what_it_measured(box: Box) -> None:
    """ReFrame's scheduler `slurm` asks sacct, which fails here all the time; for a while squeue fails too."""
    fail = (
        "mkdir -p bin; echo 'test ! -e fail && exec /usr/bin/squeue \"$@\"; exit $(cat fail)' > bin/squeue; "
        "chmod +x bin/squeue; export PATH=$PWD/bin:$PATH; "
    )
    init, run, queue = box.sh(
        "campaign systems init $SYSTEM --force --scheduler slurm",
        f"{fail} (campaign {FOUR_CASES} --scheduler-option=--requeue > first.txt 2>&1; echo rc=$? >> first.txt) & "
        "until_said '1/4 '; scontrol requeue 1; until squeue --noheader --format=%T | grep PENDING; do sleep 1; done; "
        "scontrol update JobId=1 StartTime=now; until_said 'runs again'; "
        "for code in 1 0; do echo $code > fail; sleep 10; done; rm fail; wait; cat first.txt",
        "squeue --noheader --states=all --format=%T",
    )
    good(init)
    assert "FAIL job" not in run.stdout
    assert good(queue) == "COMPLETED\n"
    manifest = box.manifest()
    (job,), (session,) = manifest["jobs"], manifest["sessions"]
    assert (job["exit_code"], job["reason"]) == (0, "")
    written = [path.stat().st_mtime for path in box.newest().records_folder.glob("*.jsonl")]
    assert len(written) == 4
    assert min(written) > datetime.fromisoformat(session["began_utc"].replace("Z", "+00:00")).timestamp()


@pytest.mark.rare
def test_nodes_with_fewer_cores_than_said(box: Box) -> None:
    """Slurm says that a node has twice the cores, and so do the settings that are made of what it says."""
    init, run, asked_for_less = box.sh(
        "sed -i 's/CPUs=1 /CPUs=2 /' $SLURM_CONF; pkill -x slurmctld; while pgrep -x slurmctld; do sleep 0.1; done; "
        "PATH=$PATH:/usr/sbin slurmctld; "
        "for _ in $(seq 100); do sinfo --noheader --states=idle --format=%D | grep -q 2 && break; sleep 0.2; done; "
        "scontrol reconfigure; campaign systems init $SYSTEM --force",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --threads-per-rank 1",
    )
    assert "2 nodes can be used, each with 2 cores" in good(init)
    assert run.returncode == 1, run.stdout + run.stderr
    reason = "job 1 on node1: the job needs 2 cores on each node: node1 gives it 1, node2 gives it 1; correct the"
    assert reason in run.stdout
    assert {case["result"] for case in box.manifest()["cases"]} <= {"pass", "fail"}, asked_for_less.stdout
    assert all(case["record"] for case in box.manifest()["cases"]), asked_for_less.stdout
