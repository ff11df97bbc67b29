"""A batch system and a network are one entry each: a copy of the project that has one more of both knows all of it."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from mpi_campaign import ROOT
from mpi_campaign.schedulers import registry

ACME = '''"""Acme."""

from mpi_campaign.schedulers.hosts import Allocation, Host, Read, Variables, expand, job_of
from mpi_campaign.schedulers.scheduler import Scheduler


def _allocation(variables: Variables, _read: Read) -> Allocation:
    hosts = tuple(map(Host, expand(variables["ACME_HOSTS"])))
    return Allocation(job_of(variables, "ACME_JOB"), hosts, len(hosts))


SCHEDULER = Scheduler(
    title="Acme",
    name="acme",
    signs=("ACME_HOSTS",),
    allocation=_allocation,
    start=("acmesh", "{host}"),
    start_needs=("ACME_*",),
    reframe={"acme": ""},
    submit="acmesub",
    cancel=("acmedel",),
    job_id="ACME_JOB",
    of_jobs=("ACME_*",),
    of_clients=("ACME_SERVER",),
    naming={"ACME_HOSTS": "host"},
)
'''
ADDED = (
    ("mpi_campaign/schedulers/registry.py", "schedulers import flux,", "schedulers import acme, flux,"),
    ("mpi_campaign/schedulers/registry.py", "    flux.SCHEDULER,\n", "    acme.SCHEDULER,\n    flux.SCHEDULER,\n"),
    (
        "mpi_campaign/networks/registry.py",
        '    "native": Network(',
        '    "verbs": Network("verbs between nodes", between_nodes=True),\n    "native": Network(',
    ),
    (
        "mpi_campaign/libraries/mpich.py",
        '    networks={\n        "shm"',
        '    networks={\n        "verbs": same(FI_PROVIDER="verbs"),\n        "shm"',
    ),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("project")
    for name in ("mpi_campaign", "postprocess", "results/schema", "systems"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "tmp-*"))
    (folder / "mpi_campaign" / "schedulers" / "acme.py").write_text(ACME)
    for path, before, after in ADDED:
        text = (folder / path).read_text()
        assert text.count(before) == 1, (path, before)
        (folder / path).write_text(text.replace(before, after))
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "follow_one_more.py"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_no_other_module_names_what_is_a_batch_systems_own() -> None:
    """Slurm is named elsewhere too: `slurm_description` asks it what it has, and a cluster in a box runs it."""
    others = [one for one in registry.SCHEDULERS if not one.is_described]
    words = {command[0] for one in others for command in (one.start, one.cancel) if command}
    words -= {one.name for one in others}  # by which launchers name it too
    variables = {name.removesuffix("*") for one in others for name in (*one.of_jobs, *one.of_clients) if "_" in name}
    pattern = re.compile("|".join(rf"\b{re.escape(word)}" for word in sorted(words | variables)))
    naming = [
        path
        for folder in ("mpi_campaign", "reframe", "postprocess")
        for path in (ROOT / folder).rglob("*.py")
        if path.parent.name != "schedulers" and pattern.search(path.read_text())
    ]
    assert naming == []


def test_a_batch_system_is_one_entry(found: dict[str, object]) -> None:
    assert found["found"] == "acme job 12, 2 nodes: n1, n2"
    assert found["started with"] == ["acmesh", "n2"]
    assert found["submitted to"] == "Acme"
    to_job, to_session, to_launch = (found[f"to a {who}"] for who in ("job", "session", "launch"))
    assert isinstance(to_job, dict) and isinstance(to_session, dict) and isinstance(to_launch, dict)
    assert {name for name in to_job if name.startswith("ACME")} == {"ACME_JOB", "ACME_HOSTS", "ACME_SERVER"}
    assert {name for name in to_session if name.startswith("ACME")} == {"ACME_SERVER"}
    assert not [name for name in to_launch if name.startswith("ACME")]
    assert isinstance(found["kept out"], dict) and found["kept out"]["ACME_JOB"] == "12"
    assert found["in words"] == [
        "Acme: not tested, no job of it ever ran here", "verbs between nodes"
    ]  # fmt: skip


def test_a_network_is_one_entry(found: dict[str, object]) -> None:
    assert found["partitions"] == {"native": "cpu", "verbs": "cpu-tcp"}
    assert found["refused"] == "partition 'cpu' has no network 'verbs', only native: --partition cpu-tcp"
    assert isinstance(found["mpich"], dict) and found["mpich"]["env"]["FI_PROVIDER"] == "verbs"
    assert found["openmpi"] == {"reason": "Open MPI has no verbs"}
    assert found["option"] == "shm|wire[:RATE]|tcp|verbs|native"
