"""Runs of the campaign on several nodes of a cluster in a box, with real MPI libraries: each rank is where it was asked
to be, and what ranks of different nodes say to each other goes from node to node."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from mpi_campaign.launching import node_agent, slurm
from mpi_campaign.schedulers import registry
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import resolving
from postprocess.families.nbc_overlap.points import expected_wire_bytes
from postprocess.families.nbc_overlap.record import OverlapRecord, load_overlap
from postprocess.records.nodes import nodes_of
from tests.support import MPI

pytestmark = [pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi"), pytest.mark.needs("nodes")]

CAMPAIGN = str(ROOT / "campaign")
OUTSIDE = {name: value for name, value in os.environ.items() if not environ.is_of_batch_system(name)}
SHORT = ("--collective", "ibcast", "--budget-seconds", "42")
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
    folder: Path, nodes: int, *words: str, time: str = "16ms", options: Sequence[str] = (), before: str = ""
) -> Measured:
    """./campaign run with these words in a cluster of as many nodes.

    time: of communication and of computation, one that is also reached where others use the processors.  options: of
    the cluster.  before: what comes before the command on the head node, such as `salloc --nodes=2`.
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


# How a run comes to its nodes: the options of the cluster, those of the run, and what comes before it.
IN_THE_BOX = ((), (), "")
IN_A_JOB = (("--slurm",), ("--system", "allocation", "--network", "tcp"), "salloc --quiet --nodes=2")
IN_A_JOB_BY_SRUN = (("--slurm",), ("--system", "allocation-srun", "--network", "tcp"), "salloc --quiet --nodes=2")


@pytest.mark.skipif(len(machine.core_cpus()) < 2, reason="two nodes need a core each")
@pytest.mark.parametrize(
    ("options", "words", "before"),
    [
        # Where there is Slurm, launchers in its job stand for those in the box, too.
        pytest.param(*IN_THE_BOX, id="box", marks=() if slurm.lacking() else pytest.mark.rare),
        pytest.param(*IN_A_JOB, id="job", marks=pytest.mark.needs("slurm")),
        # tests/test_batch_live.py has srun in a job that the campaign submits.
        pytest.param(*IN_A_JOB_BY_SRUN, id="job, srun", marks=[pytest.mark.needs("slurm"), pytest.mark.rare]),
    ],
)
def test_both_libraries_run_on_two_nodes_in_basic_and_async(
    tmp_path: Path, options: Sequence[str], words: Sequence[str], before: str
) -> None:
    measured = run_in_box(tmp_path, 2, *TOOLCHAINS, *TWO_CONFIGURATIONS, *words, options=options, before=before)
    check_placed(measured, 2)
    assert set(measured.records) == {
        (name, configuration) for name in resolving.DEFAULT_TOOLCHAINS for configuration in ("basic", "async")
    }
    for (name, configuration), record in measured.records.items():
        threads = [len(rank.mpi_threads) for rank in record.header.placement]
        beside = [len(rank.mpi_threads) for rank in measured.records[name, "basic"].header.placement]
        assert (configuration == "basic") != all(more > fewer for more, fewer in zip(threads, beside, strict=True))


@pytest.mark.rare  # a plan of it is tested without launches
def test_more_nodes_than_cores_run_oversubscribed_and_say_so(tmp_path: Path) -> None:
    count = len(machine.core_cpus()) + 2
    measured = run_in_box(tmp_path, count, *TOOLCHAINS, "--configuration", "basic", "--oversubscribe", time="30ms")
    check_placed(measured, count, oversubscribed=True)
    assert "oversubscribed" in measured.report


# --- jobs of other batch systems: what they set, and stand-ins for their commands, written as their manuals have them

JOB_OF = {
    "slurm": "export SLURM_JOB_ID=12 SLURM_JOB_NODELIST=node[1-2]",
    "pbs": r"printf 'node1\nnode1\nnode2\n' > hosts; export PBS_JOBID=12.server PBS_NODEFILE=$PWD/hosts",
    "oar": r"printf 'node1\nnode2\n' > hosts; export OAR_JOB_ID=12 OAR_NODEFILE=$PWD/hosts",
    "grid engine": (
        r"printf 'node1 1 all.q@node1 UNDEFINED\nnode2 1 all.q@node2 UNDEFINED\n' > hosts; "
        "export JOB_ID=12 PE_HOSTFILE=$PWD/hosts"
    ),
    "lsf": "export LSB_JOBID=12 LSB_MCPU_HOSTS='node1 1 node2 1'",
    "flux": "export FLUX_URI=local:///run/flux/local",
}
COMMAND_OF = {
    "slurm": """
        for word in "$@"; do case $word in --nodelist=*) host=${word#*=};; esac; done
        while [ "${1#--}" != "$1" ]; do shift; done; in_words "$@"
    """,
    "pbs": 'host=$1; shift; in_words "$@"',
    "lsf": '[ "$1 $2" = "-n -no-shell" ] || exit 2; host=$3; shift 3; in_words "$@"',
    "oar": 'host=$1; shift; in_a_line "$@"',
    "grid engine": '[ "$1 $2" = "-inherit -nostdin" ] || exit 2; host=$3; shift 3; in_a_line "$@"',
    "flux": """
        case "$1" in
        getattr) [ "$2" = hostlist ] && [ "$FLUX_URI" ] && echo "node[1-2]";;
        exec) [ "$2" = --noinput ] || exit 2; rank=${3#--rank=}; host=node$((rank + 1)); shift 3; in_words "$@";;
        esac
    """,
}


@pytest.mark.rare
@pytest.mark.parametrize("scheduler", JOB_OF)
def test_the_variables_of_a_job_are_enough(tmp_path: Path, scheduler: str) -> None:
    """No batch system runs here: a shell sets what each sets, and its command reaches the nodes as node-agent does."""
    folder = tmp_path / "commands"
    folder.mkdir()
    agent = shlex.quote(str(node_agent.AGENT))
    quote = f"{shlex.quote(sys.executable)} -c 'import shlex, sys; print(shlex.join(sys.argv[1:]))'"
    functions = f"""
        unset {node_agent.JOB_VARIABLE}
        in_words() {{ exec {agent} "$host" "$({quote} "$@")"; }}
        in_a_line() {{ exec {agent} "$host" "$*"; }}
    """
    (folder / "body").write_text(functions + COMMAND_OF[scheduler])
    name = registry.IN_HAND[scheduler].start[0]
    told = " ".join(f"{one}='$(printenv {one})'" for one in (node_agent.NODES_VARIABLE, node_agent.PYTHON_VARIABLE))
    make = f'(echo "#!/bin/sh"; echo "export {told}"; cat commands/body) > commands/{name}; chmod +x commands/{name}'
    before = f"{make}; export PATH=$PWD/commands:$PATH; {JOB_OF[scheduler]};"
    words = ("--toolchain", MPI, "--configuration", "basic", "--network", "tcp")
    measured = run_in_box(tmp_path, 2, *words, before=before)
    check_placed(measured, 2)
    manifest = json.loads((measured.folder / run_folders.MANIFEST).read_text())
    assert manifest["system"] == "allocation"
