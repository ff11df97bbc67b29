"""Runs of the campaign on several nodes of a cluster in a box, with real MPI libraries: each rank is where it was asked
to be, and what ranks of different nodes say to each other goes from node to node."""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import resolving
from postprocess.families.nbc_overlap.points import expected_wire_bytes
from postprocess.families.nbc_overlap.record import OverlapRecord, load_overlap
from postprocess.records.nodes import nodes_of

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi"), pytest.mark.needs("nodes")]

CAMPAIGN = str(ROOT / "campaign")
OUTSIDE = {name: value for name, value in os.environ.items() if not environ.is_of_batch_system(name)}
SHORT = ("--collective", "ibcast", "--budget-seconds", "50")
TOOLCHAINS = [word for name in resolving.DEFAULT_TOOLCHAINS for word in ("--toolchain", name)]
TWO_CONFIGURATIONS = ("--configuration", "basic", "--configuration", "async")


@dataclass(frozen=True)
class Measured:
    """A run in a cluster in a box: its folder, its records by toolchain and configuration, and the bytes that the
    interface of each node sent meanwhile, as the node's kernel counts them."""

    folder: Path
    records: dict[tuple[str, str], OverlapRecord]
    sent_bytes: dict[str, int]

    @property
    def report(self) -> str:
        return (self.folder.parent / "reports" / self.folder.name / "report.html").read_text()


def sent_bytes(counters: str) -> int:
    """What the interface of a node sent, from its /proc/net/dev."""
    (line,) = (line for line in counters.splitlines() if line.strip().startswith("e0:"))
    return int(line.partition(":")[2].split()[8])


def run_in_box(
    folder: Path, nodes: int, *words: str, time: str = "1ms", options: Sequence[str] = (), before: str = ""
) -> Measured:
    """./campaign run with these words in a cluster of as many nodes.

    time: of communication and of computation.  options: of the cluster.  before: what comes before the command on the
    head node, such as `salloc --nodes=2`.
    """
    hosts = [f"node{number}" for number in range(1, nodes + 1)]
    measure = ["--nodes", str(nodes), *SHORT, "--comm-time", time, "--comp-time", time, *words]
    run = shlex.join([CAMPAIGN, "run", "--output", str(folder / "results"), *measure])
    look = "; ".join(f'"$MPI_CAMPAIGN_NODE_AGENT" {host} "cat /proc/net/dev" > {host}.counters' for host in hosts)
    cluster = [CAMPAIGN, "cluster", "--nodes", str(nodes), *options]
    done = subprocess.run(
        [*cluster, "--", "sh", "-c", f"{before} {run}; code=$?; {look}; exit $code"],
        cwd=folder, env=OUTSIDE, capture_output=True, text=True, check=False, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (manifest,) = (folder / "results").glob(f"*/*/{run_folders.MANIFEST}")
    records = [load_overlap(path) for path in sorted((manifest.parent / "records").glob("*.jsonl"))]
    return Measured(
        manifest.parent,
        {(record.header.toolchain, record.header.configuration): record for record in records},
        {host: sent_bytes((folder / f"{host}.counters").read_text()) for host in hosts},
    )


def check_placed(measured: Measured, nodes: int, *, oversubscribed: bool = False) -> None:
    """One rank ran on each node, on the node's own CPUs, and the payload went from node to node."""
    assert measured.records
    payload = 0
    for record in measured.records.values():
        header = record.header
        assert (header.nodes, header.ranks, header.network) == (nodes, nodes, "tcp")
        assert [rank.host for rank in header.placement] == [f"node{number}" for number in range(1, nodes + 1)]
        assert [rank.node for rank in header.placement] == list(range(nodes))
        assert header.oversubscribed == oversubscribed
        assert header.clock is not None
        assert header.clock.clocks == nodes
        if not oversubscribed:
            by_host = header.metadata["by_host"]
            assert [rank.cpuset for rank in header.placement] == [
                by_host[rank.host]["shares"][0] for rank in header.placement
            ]
            assert len({rank.cpuset for rank in header.placement}) == nodes
        assert record.footer is not None
        over_tcp = [bytes_ or 0 for bytes_ in record.footer.tcp_bytes_sent or ()]
        least = expected_wire_bytes(record)
        assert 0 < least <= sum(over_tcp)
        payload += sum(over_tcp)
    described = nodes_of(json.loads((measured.folder / run_folders.MANIFEST).read_text()))
    assert sorted(described) == [f"node{number}" for number in range(1, nodes + 1)]
    assert all(node["host"]["cpu"] == machine.cpu_model() and node["c_library"] for node in described.values())
    # The kernels count headers too, and what launchers say.
    assert payload < sum(measured.sent_bytes.values())
    assert f"{nodes} nodes" in measured.report
    told = subprocess.run(
        [CAMPAIGN, "show", str(measured.folder), "--provenance"], capture_output=True, text=True, check=True
    ).stdout
    assert told.count("had to go between nodes: they went over TCP") == len(measured.records)
    assert all(f"node        node{number}: " in told for number in range(1, nodes + 1))


@pytest.mark.skipif(len(machine.core_cpus()) < 2, reason="two nodes need a core each")
def test_both_libraries_run_on_two_nodes_in_basic_and_async(tmp_path: Path) -> None:
    measured = run_in_box(tmp_path, 2, *TOOLCHAINS, *TWO_CONFIGURATIONS)
    check_placed(measured, 2)
    assert set(measured.records) == {
        (name, configuration) for name in resolving.DEFAULT_TOOLCHAINS for configuration in ("basic", "async")
    }
    for (name, configuration), record in measured.records.items():
        threads = [len(rank.mpi_threads) for rank in record.header.placement]
        beside = [len(rank.mpi_threads) for rank in measured.records[name, "basic"].header.placement]
        assert (configuration == "basic") != all(more > fewer for more, fewer in zip(threads, beside, strict=True))


@pytest.mark.rare
def test_more_nodes_than_cores_run_oversubscribed_and_say_so(tmp_path: Path) -> None:
    nodes = len(machine.core_cpus()) + 2
    measured = run_in_box(tmp_path, nodes, *TOOLCHAINS, "--configuration", "basic", "--oversubscribe", time="30ms")
    check_placed(measured, nodes, oversubscribed=True)
    assert "oversubscribed" in measured.report


@pytest.mark.rare
@pytest.mark.needs("slurm")
@pytest.mark.parametrize("system", ["allocation", "allocation-srun"])
def test_a_run_in_a_job_of_slurm_is_on_its_nodes(tmp_path: Path, system: str) -> None:
    words = (*TOOLCHAINS, *TWO_CONFIGURATIONS, "--system", system, "--network", "tcp")
    measured = run_in_box(tmp_path, 2, *words, options=["--slurm"], before="salloc --quiet --nodes=2")
    check_placed(measured, 2)
    assert len(measured.records) == 4
