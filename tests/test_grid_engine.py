"""A system with Grid Engine, in a cluster in a box: described, checked and measured on, by jobs and inside of one."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from postprocess.families.nbc_overlap.record import load_overlap
from tests.support import MPI
from tests.test_batch_live import CAMPAIGN, FOUR_CASES, OUTSIDE, Box, check_placed, good, refused

pytestmark = [
    pytest.mark.slow, pytest.mark.rare, pytest.mark.needs("nodes"), pytest.mark.needs("grid-engine"),
    pytest.mark.timeout(1500),
]  # fmt: skip

# A time of communication that is also reached where other processes use the processor.
MEASURE = (
    f"run --toolchain {MPI} --benchmark nbc_overlap --configuration basic --collective ibcast --nodes 2 "
    "--comm-time 16ms --comp-time 16ms --budget-seconds 60"
)
START = ("sh", str(ROOT / "tests" / "grid_engine.sh"))
# Each node has one slot; the settings are of the machine on which they were made.
ONE_SLOT = f"sed -i 's/\\(_cpus[a-z_]*\": \\)[0-9]*/\\11/' {ROOT}/systems/$SYSTEM/settings.py; "


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    system = f"tmp-sge-{os.getpid()}"
    subprocess.run([CAMPAIGN, "setup", "--toolchain", MPI], env=OUTSIDE, capture_output=True, check=True)
    yield Box(system, tmp_path_factory.mktemp("box"), unpacked(), START)
    shutil.rmtree(ROOT / "systems" / system, ignore_errors=True)


def unpacked() -> tuple[str, ...]:
    """Words that show unpacked packages as if they were installed; none where they are."""
    if "MPI_CAMPAIGN_GRID_ENGINE" not in os.environ:
        return ()
    root = Path(os.environ["MPI_CAMPAIGN_GRID_ENGINE"]).resolve()
    folders = " ".join(name for name in ("lib", "share") if (root / "usr" / name).is_dir())
    lay = f'for name in {folders}; do mount -t overlay -o "lowerdir=$0/usr/$name:/usr/$name" none /usr/$name; done'
    return ("unshare", "--mount", "sh", "-ec", f'{lay}; exec "$@"', str(root))


def test_a_system_with_grid_engine_is_described_checked_and_measured_on(box: Box) -> None:
    init, check, queue, cancelled, first, run = box.sh(
        "campaign systems init $SYSTEM --force --scheduler sge",
        f"{ONE_SLOT} campaign systems check $SYSTEM --json",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --scheduler-option='-q nosuch'",
        f"(campaign {FOUR_CASES} > first.txt 2>&1; echo rc=$? >> first.txt) & "
        "until_said '1/4 '; campaign cancel last --output $OUT; wait",
        "cat first.txt",
        f"campaign {MEASURE} --system $SYSTEM --output $OUT --time-limit 20",
        options=(),
    )
    good(init)
    probe = json.loads(good(check))
    assert {finding["state"] for finding in probe["findings"]} == {"good"}
    assert probe["job"]["hosts"] == ["node1", "node2"]
    refused(queue, "Grid Engine refuses the job: ", "nosuch")
    assert re.fullmatch(r"cancelled: \d+\n", good(cancelled))  # a job that was refused has a number too
    assert "rc=1" in first.stdout
    assert re.search(r"job \d+ has started on node", good(run))
    (job,) = box.manifest()["jobs"]
    assert (job["exit_code"], job["hosts"], job["reason"]) == (0, ["node1", "node2"], "")
    check_placed(box.records(), 2)


def test_a_run_in_a_job_of_grid_engine(box: Box) -> None:
    """The nodes are those of PE_HOSTFILE. The job starts on one of them, and qrsh reaches the other one."""
    (run,) = box.sh(
        "cd $OUT/.. && printf '%s\\n' '#!/bin/bash' '#$ -S /bin/bash' '#$ -cwd' '#$ -pe mpi 2' '#$ -sync yes' "
        f"'#$ -j yes' '{CAMPAIGN} {MEASURE} --output {box.folder}/in-hand' >job.sh && qsub -V job.sh; cat job.sh.o*",
        options=(),
    )
    assert "grid engine job 1, 2 nodes: node1, node2" in good(run)
    records = (box.folder / "in-hand" / "allocation").glob("2*/records/*.jsonl")
    check_placed([load_overlap(path) for path in records], 2)
