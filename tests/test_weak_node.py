"""Nodes of a cluster in a box are slowed on purpose: a run of each node finds them, and names no other one.
`test_postprocess_acceptance.py` and `test_postprocess_whole_machine.py` have the same on synthetic records."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import resolving
from postprocess.families import registry
from postprocess.families.whole_machine.entry import WHOLE_MACHINE
from postprocess.families.whole_machine.verdict import judged as judged_cases
from postprocess.records.run import load_run
from tests.test_runs_on_nodes import CAMPAIGN, OUTSIDE

pytestmark = [
    pytest.mark.slow, pytest.mark.rare, pytest.mark.needs("mpi"), pytest.mark.needs("nodes"), pytest.mark.timeout(900),
    pytest.mark.skipif(len(machine.core_cpus()) < 2, reason="two nodes need a core each"),
]  # fmt: skip

WEAK = "node2"
RATE, SLOW_RATE = "1gbit", "100mbit"
# Half as much again. Each way of slowing a node takes more than that, and nothing here takes as much from any other.
BOUND = 1.5
# Six points, the fewest that have an interval. Over the slow link 16 ms are 200 kB, over the others 1.6 ms.
POINTS = ("--comm-time", "16ms", *(word for ms in range(1, 7) for word in ("--comp-time", f"{ms}ms")))
RUN = (
    *("--toolchain", resolving.DEFAULT_TOOLCHAINS[0], "--configuration", "basic", "--collective", "ialltoall"),
    *("--budget-seconds", "100", *POINTS),
)

SLOW_LINK = f"""
from mpi_campaign.launching.netlink import IPRoute
from mpi_campaign.launching.wire import limit_link
netlink = IPRoute()
link = netlink.link_lookup(ifname="e0")[0]
netlink.tc("del", "htb", link, 0x10000)
limit_link(netlink, link, "{SLOW_RATE}")
"""
# Computes on the node's core half of the time, in pieces much shorter than a computation, so that each has its share.
SOAKER = """
import time
while True:
    end = time.monotonic() + 0.0003
    while time.monotonic() < end:
        pass
    time.sleep(0.0002)
"""


# Gives the ranks of the node, which share cores with those of all others, less of them.
LESS_CPU = """
import os, pathlib, time
while True:
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            own = os.readlink(process / "ns/uts") == os.readlink("/proc/self/ns/uts")
            if own and (process / "comm").read_text().strip() == "whole_machine":
                os.setpriority(os.PRIO_PROCESS, int(process.name), 6)
                (process / "autogroup").write_text("6")
        except OSError:
            pass
    time.sleep(0.2)
"""


def on_weak_node(code: str, node: str = WEAK) -> str:
    """The words of a shell that run a Python program on a node."""
    program = shlex.join(["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", code])
    return f'"$MPI_CAMPAIGN_NODE_AGENT" {node} {shlex.quote(program)}'


def in_cluster(nodes: int, rate: str, before: str, run: list[str], folder: Path) -> None:
    """A run in a cluster in a box. before: is run on the head node before it."""
    words = [
        CAMPAIGN,
        "cluster",
        "--nodes",
        str(nodes),
        "--rate",
        rate,
        "--",
        "sh",
        "-c",
        f"{before}\n{shlex.join(run)}",
    ]
    done = subprocess.run(words, cwd=folder, env=OUTSIDE, capture_output=True, text=True, check=False, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr


def judged(folder: Path, nodes: int, before: str = "", *words: str) -> dict[str, dict[str, Any]]:
    """What `accept` says of a run of each node of a cluster, by the name of the criterion. before: is run on the head
    node before the run."""
    criteria = {
        "computation": {"metric": "t_comp_ref_ns", "hosts": nodes},
        "link": {"metric": "t_comm_ref_ns", "where": {"nodes": 2}, "hosts": nodes},
    }
    common = {"by": "host", "at_most": BOUND}
    document = {"criteria": [{"name": name, **common, **own} for name, own in criteria.items()]}
    (folder / "criteria.yaml").write_text(json.dumps(document))  # which is YAML
    output = ("--output", str(folder / "archive"))
    asked = ("--nodes", str(nodes), "--each-node", "--one-after-the-other")
    in_cluster(nodes, RATE, before, [CAMPAIGN, "run", *asked, *RUN, *words, *output], folder)
    accepted = subprocess.run(
        [CAMPAIGN, "accept", "last", "--criteria", str(folder / "criteria.yaml"), "--json", *output],
        cwd=folder, env=OUTSIDE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert accepted.returncode in (0, 1), accepted.stderr
    print(accepted.stdout)
    return {result["name"]: result for result in json.loads(accepted.stdout)["criteria"]}


def named(result: dict[str, Any]) -> list[str]:
    """The nodes that a criterion calls weak."""
    lines = [line for line in result["evidence"] if line.startswith("weak node: ")]
    return [line.removeprefix("weak node: ").partition(",")[0] for line in lines]


def check_found(result: dict[str, Any]) -> None:
    assert result["verdict"] == "FAIL"
    assert named(result) == [WEAK]
    low, high = result["ci95"]
    assert BOUND < low <= result["value"] <= high
    assert any(f"[{low:.3f}, {high:.3f}]" in line for line in result["evidence"])


def test_a_node_with_a_slow_link_is_found_and_its_computation_is_not_blamed(tmp_path: Path) -> None:
    found = judged(tmp_path, 3, on_weak_node(SLOW_LINK))
    check_found(found["link"])
    assert named(found["computation"]) == []


def test_a_node_whose_core_is_used_by_something_else_is_found(tmp_path: Path) -> None:
    # With a core each, only one rank fits on a node alone: that is skipped, and the pair is compared within itself.
    found = judged(tmp_path, 2, f"{on_weak_node(SOAKER)} &", "--ranks-per-node", "1")
    check_found(found["computation"])


def test_where_no_node_is_slowed_none_is_named(tmp_path: Path) -> None:
    """The negative control."""
    found = judged(tmp_path, 3)
    assert [named(result) for result in found.values()] == [[], []]


@pytest.mark.parametrize(
    ("kind", "node", "code"), [("", "", ""), ("link", "node2", SLOW_LINK), ("node", "node4", LESS_CPU)]
)
def test_all_nodes_at_once_are_told_apart(tmp_path: Path, kind: str, node: str, code: str) -> None:
    """Over links of a rate at which messages need little CPU. All nodes share the cores of this machine."""
    before = f"{on_weak_node(code, node)} {'&' * (code is LESS_CPU)}" if code else ""
    asked = ("--nodes", "6", "--each-node", "--oversubscribe", "--repeat", "3", "--message-bytes", "65536")
    words = (*asked, "--toolchain", resolving.DEFAULT_TOOLCHAINS[0], "--budget-seconds", "120")
    output = ("--output", str(tmp_path / "archive"))
    in_cluster(6, "4mbit", before.replace(SLOW_RATE, "2mbit"), [CAMPAIGN, "run", *words, *output], tmp_path)
    (path,) = (tmp_path / "archive" / "cluster-in-a-box").glob("2*")
    (case,) = judged_cases(registry.found(load_run(path), WHOLE_MACHINE).table)
    assert [(fault.kind, fault.names) for fault in case.faults] == ([(kind, (node,))] if kind else [])
