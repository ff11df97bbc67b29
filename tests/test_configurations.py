"""Configurations on real libraries, the whole way: planned, launched, verified from inside, archived."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.this_machine import machine
from mpi_campaign.this_machine.host import cpu_list
from postprocess.families.nbc_overlap.record import OverlapRecord, load_overlap
from tests.support import run_path

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi"), pytest.mark.timeout(900)]

TOOLCHAINS = ("mpich@5.0.2", "openmpi@5.0.11")
ASKED = ("dedicated", "apphelper", "dedicated_unbound", "basic_reduced")
SHARE = max(1, machine.cores().physical // 2)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run, whether it passed or not."""
    output = tmp_path_factory.mktemp("archive")
    toolchains = [word for one in TOOLCHAINS for word in ("--toolchain", one)]
    configurations = [word for one in ASKED for word in ("--configuration", one)]
    words = ("--network", "shm", "--collective", "ibcast", "--oversubscribe", "--budget-seconds", "60",
             "--comm-time", "16ms", "--comp-time", "16ms")  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(ROOT / "campaign"), "run", *toolchains, *configurations, *words, "--output", str(output)],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    return run_path(done.stdout)


def cases(run: Path) -> dict[tuple[str, str], dict[str, Any]]:
    manifest = json.loads((run / "manifest.json").read_text())
    return {(case["toolchain"], case["configuration"]): case for case in manifest["cases"]}


def record(run: Path, toolchain: str, configuration: str) -> OverlapRecord:
    case = cases(run)[toolchain, configuration]
    assert case["result"] == "pass", case["reason"]
    return load_overlap(run / case["record"])


def test_what_cannot_be_had_is_skipped_with_its_reason(run: Path) -> None:
    found = cases(run)
    assert set(found) == {(toolchain, one) for toolchain in TOOLCHAINS for one in ASKED}
    for name in ("dedicated", "dedicated_unbound"):
        assert found["openmpi@5.0.11", name]["result"] == "skip"
        assert "shared memory" in found["openmpi@5.0.11", name]["reason"]
    if SHARE == 1:
        for name in ("basic_reduced", "dedicated_unbound"):
            assert found["mpich@5.0.2", name]["reason"] == f"{name} needs 2 cores per rank, there is 1"


@pytest.mark.parametrize(("toolchain", "configuration"), [
    ("mpich@5.0.2", "dedicated"), ("mpich@5.0.2", "apphelper"), ("openmpi@5.0.11", "apphelper"),
])  # fmt: skip
def test_the_progress_thread_has_its_core_and_says_so_where_that_computes(
    run: Path, toolchain: str, configuration: str
) -> None:
    header = record(run, toolchain, configuration).header
    assert header.progress.source == CONFIGURATIONS[configuration].progress
    assert header.progress.pinned_by == ("library" if configuration == "dedicated" else "program")
    assert header.progress.given_up_cores == (SHARE > 1)
    assert header.oversubscribed is header.shared_core is (SHARE == 1)
    assert header.threads_per_rank == max(1, SHARE - 1)
    for rank in header.placement:
        threads = rank.mpi_threads if configuration == "dedicated" else rank.helper_threads
        assert [thread for thread in threads if cpu_list(thread.cpuset) <= cpu_list(rank.dedicated_cpuset)]


@pytest.mark.skipif(SHARE == 1, reason="a rank with one core has none to give up")
@pytest.mark.parametrize(("toolchain", "configuration"), [
    ("mpich@5.0.2", "dedicated_unbound"), ("mpich@5.0.2", "basic_reduced"), ("openmpi@5.0.11", "basic_reduced"),
])  # fmt: skip
def test_the_controls_compute_on_one_core_fewer(run: Path, toolchain: str, configuration: str) -> None:
    header = record(run, toolchain, configuration).header
    assert header.threads_per_rank == SHARE - 1
    assert header.progress.given_up_cores == 1
    assert not header.oversubscribed
