"""A system with Slurm, in a cluster in a box: described, checked, measured on, and what is left when something dies."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from tests.support import MPI

pytestmark = [pytest.mark.slow, pytest.mark.needs("slurm"), pytest.mark.timeout(1500)]

CAMPAIGN = str(ROOT / "campaign")
OUTSIDE = {name: value for name, value in os.environ.items() if not environ.is_of_batch_system(name)}
MEASURE = (
    f"run --toolchain {MPI} --benchmark nbc_overlap --configuration basic --configuration async --nodes 2 "
    "--collective ibcast --comm-time 1ms --comp-time 1ms --budget-seconds 20"
)
SECONDS = 1200


@dataclass(frozen=True)
class Box:
    """A cluster in a box that lives as long as one script; a system was described there, and is deleted afterwards."""

    system: str
    folder: Path

    def sh(self, *lines: str) -> list[subprocess.CompletedProcess[str]]:
        """Run each of the lines on the head node of a new cluster of two nodes.

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
        text = json.dumps([beginning + line for line in lines])
        words = [CAMPAIGN, "cluster", "--nodes", "2", "--slurm", "--", sys.executable, "-c", program, text]
        done = subprocess.run(
            words, cwd=self.folder, env=OUTSIDE, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        return [subprocess.CompletedProcess(line, *one) for line, one in zip(lines, answers, strict=True)]

    def manifest(self) -> dict[str, Any]:
        """Of the newest run."""
        found = run_folders.find("last", self.folder / "out")
        return run_folders.read_manifest(found)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    system = f"tmp-box-{os.getpid()}"
    # The box has no network.
    subprocess.run([CAMPAIGN, "setup", "--toolchain", MPI], env=OUTSIDE, capture_output=True, check=True)
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


def test_a_system_is_described_checked_and_measured_on(box: Box) -> None:
    init, check, dry, run, account, partition, nodes, limit = box.sh(
        "campaign systems init $SYSTEM",
        "campaign systems check $SYSTEM --json",
        f"campaign {MEASURE} --system $SYSTEM --dry-run --account me",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT",
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
    (session,) = manifest["sessions"]
    assert session["job"] == job["id"]
    assert [case["nodes"] for case in manifest["cases"]] == [2, 2]
    assert {case["result"] for case in manifest["cases"]} <= {"pass", "fail"}  # shared cores: no number is judged
    records = list((run_folders.find("last", box.folder / "out").records_folder).glob("*.jsonl"))
    assert len(records) == 2
    for record in records:
        header = json.loads(record.read_text().splitlines()[0])
        assert {rank["host"] for rank in header["placement"]} == {"node1", "node2"}

    refused(account, "Slurm refuses the job: Invalid generic resource (gres) specification")
    refused(partition, f"system '{box.system}' has no partition 'gpu'; it has: cpu")
    refused(nodes, "--nodes 3", "2 nodes")
    refused(limit, "--time-limit 0:11:00", "'cpu' gives a job at most 0:10:00")
    assert len(list(run_folders.runs(box.folder / "out"))) == 1  # what was refused leaves no run


@pytest.mark.rare
def test_jobs_whose_campaign_is_gone_end_and_a_resumed_run_takes_them_over(box: Box) -> None:
    # After the first case, the job has more to measure than the two minutes in which it notices that.
    both = f"{MEASURE} --collective ireduce --budget-seconds 260 --system $SYSTEM --output $OUT"
    init, killed, queue, resumed, again = box.sh(
        "campaign systems init $SYSTEM --force",
        # The head node dies: neither the campaign nor its guard can cancel the job.
        f"(campaign {both} > first.txt 2>&1 & ); until_said '1/4 '; "
        "campaign=$(pgrep -f '^[^ ]*python[^ ]* -m mpi_campaign run'); guard=$(pgrep -P $campaign); "
        "kill -9 $campaign $guard $(pgrep -P $guard); squeue --noheader",
        'for _ in $(seq 300); do [ -z "$(squeue --noheader)" ] && break; sleep 1; done; scontrol show job 1',
        "campaign run --resume last --output $OUT",
        "campaign run --resume last --output $OUT",
    )
    good(init)
    assert "rfm_batc" in good(killed)  # the job goes on for a while
    assert "JobState=FAILED" in good(queue)
    manifest = box.manifest()
    assert [job["exit_code"] for job in manifest["jobs"]] == [130, 0]
    assert manifest["jobs"][0]["reason"] == "the campaign that had submitted it was gone"
    assert all(case["record"] for case in manifest["cases"])
    assert "job 2 has started" in resumed.stdout
    refused(again, "is complete")


@pytest.mark.rare
def test_a_cancelled_run_says_so_and_goes_on(box: Box) -> None:
    both = f"{MEASURE} --collective ireduce --budget-seconds 60 --system $SYSTEM --output $OUT"
    _, cancelled, first, waited = box.sh(
        "campaign systems init $SYSTEM --force",
        f"(campaign {both} > first.txt 2>&1; echo rc=$? >> first.txt) & "
        "until_said '1/4 '; campaign cancel last --output $OUT; wait",
        "cat first.txt",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --max-wait 0:05 --scheduler-option=--begin=now+1hour",
    )
    assert good(cancelled) == "cancelled: 1\n"
    assert "rc=1" in first.stdout
    assert "job 1 on node1 was cancelled" in first.stdout
    assert waited.returncode == 1
    assert "never started; the batch system's reason: BeginTime" in waited.stdout
