"""Nodes that are namespaces: each is a machine of its own to what runs there; the real machine is never touched."""

import errno
import json
import os
import shlex
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import node_agent, nodes
from mpi_campaign.launching.netlink import IPRoute
from mpi_campaign.libraries import launches
from mpi_campaign.libraries.placement import Cpus, NodeShape, Placement, first
from mpi_campaign.libraries.settings import Answer, Hosts, Impossible, Request, Settings
from mpi_campaign.planning import options, placing
from mpi_campaign.schedulers import registry
from mpi_campaign.schedulers.scheduler import Scheduler
from mpi_campaign.systems import nodes_in_hand
from mpi_campaign.systems.nodes_in_hand import InHand
from tests.support import as_another_user
from tests.test_guard import alive, gone

pytestmark = pytest.mark.beside_others

OFFSET_SECONDS = 1000.25
AGENT = str(node_agent.AGENT)
QUOTED_AGENT = shlex.quote(AGENT)

# What a node is, as a program there sees it. Words: a folder that all nodes see, the node's name.
LOOK = """
import json, os, socket, sys, time
from pathlib import Path
folder, name = sys.argv[1:]
Path("/dev/shm", name).touch()
(Path(folder) / name).write_text(json.dumps({
    "host": socket.gethostname(),
    "address": socket.gethostbyname(name),
    "clock": time.clock_gettime_ns(time.CLOCK_MONOTONIC),
    "shm": sorted(os.listdir("/dev/shm")),
    "temporary": os.environ["TMPDIR"],
    "devices": sorted(os.listdir("/sys/class/net")),
    "processors": sorted(os.sched_getaffinity(0)),
    "namespaces": {entry.name: entry.stat().st_ino for entry in Path("/proc/self/ns").iterdir()},
    "process": os.getpid() == int(Path("/proc/self").resolve().name),
}))
"""

# On node0: send to a server on node1, and to the outside. Word: the outside's address.
TALK = """
import errno, shlex, socket, subprocess, sys
server = ("import socket; s = socket.create_server(('', 7000)); print('up', flush=True); peer, _ = s.accept()\\n"
          "while peer.recv(65536): pass")
node1 = subprocess.Popen([sys.argv[1], "node1", shlex.join([sys.executable, "-c", server])], stdout=subprocess.PIPE)
node1.stdout.readline()
with socket.create_connection(("node1", 7000)) as client:
    client.sendall(bytes(1_000_000))
node1.wait()
with socket.socket() as outside:
    print(errno.errorcode[outside.connect_ex((sys.argv[2], 7000))])
"""

# Starts, on each node, a process in a session of its own that ignores what a terminal sends.
# Words: agent, marker, seconds.
FAMILY = """
import shlex, subprocess, sys, time
agent, marker, seconds = sys.argv[1:]
ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)"
rank = f"import signal, time; {ignore}; print(flush=True); time.sleep(300) # {marker}"
for host in ("node0", "node1"):
    words = [agent, host, f"exec {shlex.quote(sys.executable)} -c '{rank}'"]
    subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE).stdout.readline()
print("started", flush=True)
time.sleep(float(seconds))
"""


def on_nodes(*words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mpi_campaign.launching.nodes", *options, "--", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


def machine_state() -> dict[str, object]:
    """What nodes could do harm to."""
    with IPRoute() as netlink:
        links = [
            (link["index"], link.get_attr("IFLA_IFNAME"), link["flags"], link.get_attr("IFLA_QDISC"))
            for link in netlink.get_links()
        ]
        addresses = [(found["index"], found.get_attr("IFA_ADDRESS")) for found in netlink.get_addr()]
    return {
        "links": links, "addresses": addresses, "mounts": Path("/proc/self/mountinfo").read_text(),
        "host": socket.gethostname(), "hosts": Path("/etc/hosts").read_text(),
        "buffers": Path("/proc/sys/net/ipv4/tcp_wmem").read_text(),
        "namespaces": {entry.name: entry.stat().st_ino for entry in Path("/proc/self/ns").iterdir()},
    }  # fmt: skip


def looks(folder: Path, *options: str) -> tuple[dict[str, dict[str, object]], int, int]:
    """What LOOK sees on two nodes, and the machine's clock before and after."""
    script = folder / "look.py"
    script.write_text(LOOK)
    look = shlex.join([sys.executable, str(script), str(folder)])
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    done = on_nodes("sh", "-c", f"{look} node0 && {QUOTED_AGENT} node1 {shlex.quote(look)} node1", options=options)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert done.returncode == 0, done.stderr
    return {host: json.loads((folder / host).read_text()) for host in ("node0", "node1")}, before, after


@pytest.mark.needs("nodes")
def test_a_node_is_a_machine_to_what_runs_there(tmp_path: Path) -> None:
    before = machine_state()
    seen, start, end = looks(tmp_path, "--clock-offset-seconds", str(OFFSET_SECONDS), "--rate", "1gbit")
    for number, host in enumerate(("node0", "node1")):
        node = seen[host]
        assert (node["host"], node["address"]) == (host, nodes.address(number))
        assert node["shm"] == sorted([host, "tmp"])
        assert node["temporary"] == "/dev/shm/tmp"
        assert node["process"]
        clock = node["clock"]
        assert isinstance(clock, int)
        assert start < clock - number * round(OFFSET_SECONDS * 1e9) < end
    theirs = [seen[host]["namespaces"] for host in seen]
    ours = {entry.name: entry.stat().st_ino for entry in Path("/proc/self/ns").iterdir()}
    for kind in ("net", "uts", "ipc", "mnt", "time"):
        assert len({inodes[kind] for inodes in [*theirs, ours]}) == 3, kind  # type: ignore[index]
    assert machine_state() == before
    assert not {"node0", "node1"} & set(os.listdir("/dev/shm"))  # noqa: PTH208


@pytest.mark.needs("nodes")
def test_nodes_may_share_the_machines_clock(tmp_path: Path) -> None:
    seen, start, end = looks(tmp_path, "--clock-offset-seconds", "0")
    for host in seen:
        clock = seen[host]["clock"]
        assert isinstance(clock, int)
        assert start < clock < end


@pytest.mark.needs("nodes")
def test_nodes_reach_each_other_and_nothing_else(tmp_path: Path) -> None:
    with IPRoute() as netlink:
        addresses = [found.get_attr("IFA_ADDRESS") for found in netlink.get_addr(family=socket.AF_INET)]
    outside = next((address for address in addresses if not address.startswith("127.")), "192.0.2.1")
    report = tmp_path / "nodes.json"
    script = tmp_path / "talk.py"
    script.write_text(TALK)
    done = on_nodes(sys.executable, str(script), AGENT, outside, options=("--report", str(report)))
    assert done.stdout == f"{errno.errorcode[errno.ENETUNREACH]}\n", done.stderr
    told = json.loads(report.read_text())
    assert 1_000_000 < told["nodes"]["node0"]["sent_bytes"] < 2_000_000
    assert 1_000_000 < told["nodes"]["node1"]["received_bytes"] < 2_000_000


@pytest.mark.needs("nodes")
def test_the_agent_is_like_ssh(tmp_path: Path) -> None:
    words = f"{QUOTED_AGENT} -x -p 22 me@node1 'hostname; pwd; echo' '\"$WORD\"'"
    here = on_nodes("sh", "-c", f"cd {shlex.quote(str(tmp_path))} && WORD='a  b' {words}")
    assert here.stdout == f"node1\n{tmp_path}\na  b\n", here.stderr
    assert on_nodes(AGENT, "node1", "exit 7").returncode == 7
    assert on_nodes(AGENT, nodes.address(1), "hostname").stdout == "node1\n"
    for wrong in (["node2", "true"], ["node1"], []):
        refused = on_nodes(AGENT, *wrong)
        assert refused.returncode == 255
        assert refused.stderr.startswith("node-agent: ")
        assert "node0, node1" in refused.stderr
        assert refused.stderr.count("\n") == 1
    outside = subprocess.run([AGENT, "node1", "true"], capture_output=True, text=True, check=False)
    assert outside.returncode != 0
    assert "cluster in a box" in outside.stderr


@pytest.mark.needs("nodes")
def test_the_exit_code_is_the_commands() -> None:
    assert on_nodes("sh", "-c", "exit 7").returncode == 7
    assert on_nodes("sh", "-c", "kill -9 $$").returncode == 128 + 9
    missing = on_nodes("/nonexistent/mpiexec")
    assert missing.returncode == 127
    assert missing.stderr.startswith("nodes: /nonexistent/mpiexec")


@pytest.mark.needs("nodes")
@pytest.mark.parametrize("end", ["command", "SIGTERM", "SIGKILL", "SIGKILL of its parent"])
def test_nothing_is_left(end: str) -> None:
    before = machine_state()
    marker = f"on-nodes-{os.getpid()}-{end.replace(' ', '-')}"
    layout = nodes.Layout()
    words = layout.command([sys.executable, "-c", FAMILY, AGENT, marker, "0.2" if end == "command" else "300"])
    if end == "SIGKILL of its parent":
        words = [sys.executable, "-c", f"import subprocess; subprocess.call({words!r})"]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    if end == "SIGTERM":
        process.terminate()
    elif end != "command":
        assert len(alive(marker)) >= 4
        process.kill()
    process.wait(timeout=30)
    assert gone(marker)
    assert machine_state() == before


def test_what_enters_namespaces_has_one_thread() -> None:
    """A process of several threads may not enter a user namespace; numpy and OpenBLAS start some where they are
    imported."""
    code = "import os, mpi_campaign.launching.{}; print(len(os.listdir('/proc/self/task')))"
    for module in ("nodes", "wire", "cluster"):
        words = [sys.executable, "-c", code.format(module)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True)
        assert done.stdout == "1\n", module


@pytest.mark.needs("nodes")
@pytest.mark.needs("another-user")
def test_an_ordinary_user_gets_nodes_through_a_user_namespace() -> None:
    look = f"{QUOTED_AGENT} node1 'hostname; id -u; grep monotonic /proc/self/timens_offsets'"
    words, environment = as_another_user(
        "-m", "mpi_campaign.launching.nodes", "--rate", "1gbit", "--", "sh", "-c", look
    )
    done = subprocess.run(words, capture_output=True, text=True, cwd="/", check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["node1", "65534", "monotonic", "100", "0"]


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (("--count", "1"), "2 to 64"),
        (("--count", "many"), "many"),
        (("--rate", "fast"), "2gbit"),
        (("--clock-offset-seconds", "-1"), "0 to 1000000"),
        (("--clock-offset-seconds", "nan"), "0 to 1000000"),
        (("--report", "/nonexistent/report.json"), "does not exist"),
        (("--colour",), "--colour"),
    ],
)
def test_bad_options_end_in_one_line(options: tuple[str, ...], fragment: str) -> None:
    done = on_nodes("true", options=options)
    assert done.returncode == 2
    assert done.stderr.startswith("nodes: ")
    assert fragment in done.stderr
    assert done.stderr.count("\n") == 1


def test_nothing_to_run_ends_in_one_line() -> None:
    done = on_nodes()
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "after --" in done.stderr


@given(st.integers(1, 16), st.integers(1, 4), st.integers(2, 20))
def test_nodes_share_no_core_unless_there_are_too_few(cores: int, threads: int, count: int) -> None:
    cpus = [[core * threads + thread for thread in range(threads)] for core in range(cores)]
    shares = nodes.shares(cpus, count)
    assert len(shares) == count
    assert len({len(share) for share in shares}) == 1
    if cores >= count:
        assert sum(map(len, shares)) == len(set.union(*shares))
        assert all(len(share) >= threads for share in shares)
    else:
        assert all(share == {cpu for core in cpus for cpu in core} for share in shares)


@given(st.lists(st.builds(node_agent.Node, st.sampled_from(["node0", "node12"]), st.just("10.213.0.1"),
                          st.integers(1, 10**7), st.integers(1, 2**32), st.booleans())))  # fmt: skip
def test_nodes_are_told_to_the_agent_in_a_variable(known: list[node_agent.Node]) -> None:
    assert node_agent.nodes_of(",".join(map(str, known))) == known


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(
    WORDS,
    st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), WORDS),
    st.sampled_from(list(registry.IN_HAND.values())),
)
def test_a_command_on_a_host_of_a_job_has_the_environment_of_the_launch_alone(
    value: str, others: dict[str, str], scheduler: Scheduler
) -> None:
    of_job = {
        "start": scheduler.start, "takes_words": scheduler.takes_words, "id": "12", "hosts": ["n6", "n7"],
        "variables": {"SLURM_CONF": "of the job"},
    }  # fmt: skip
    job = json.dumps(of_job)
    variables = {**others, "PATH": os.defpath, "VALUE": value, "SLURM_CONF": "of the job"}
    words = node_agent.job_command(job, "n7", "env -0; pwd", variables, "/usr")
    start = [word.format(host="n7", job="12", number=1) for word in scheduler.start]
    assert words[: len(start)] == start
    there = words[len(start) :] if scheduler.takes_words else ["sh", "-c", words[len(start)]]
    *lines, folder = subprocess.run(there, capture_output=True, check=True).stdout.decode().split("\0")
    told = dict(line.split("=", 1) for line in lines)
    del variables["SLURM_CONF"]
    assert folder == "/usr\n"
    assert {name: told[name] for name in variables} == variables
    assert set(told) - set(variables) <= {"PWD", "OLDPWD", "_", "SHLVL"}


@given(st.lists(st.sampled_from([((0,), (1,)), ((0, 2), (1, 3)), ((4,), (5,), (6,))]), min_size=1, max_size=9))
def test_nodes_in_hand_are_handed_over(cpus: list[Cpus]) -> None:
    hosts = tuple(f"n{number}" for number in range(len(cpus)))
    names = tuple(f"{host}.site" for host in hosts)
    found = InHand("slurm job 12 has", hosts, names, tuple(cpus), {"NEEDED": "yes"})
    assert InHand.from_text(found.as_text()) == found
    numbers = first(len(cpus))[-2:]
    shape, chosen = found.shape(numbers), cpus[-2:]
    assert shape.cores == min(map(len, chosen))
    assert len(shape.by_host or (1,)) == len({of_host[: shape.cores] for of_host in chosen})
    assert found.of(numbers).names == hosts[-2:]
    assert found.names_of(numbers) == names[-2:]


def test_nodes_of_one_machine_divide_the_cores_that_they_share_while_there_are_enough() -> None:
    cpus: tuple[Cpus, ...] = (((0,), (1,)), ((0,), (1,)), ((0,), (1,)))
    names = ("n0", "n1", "n2")
    of_job = InHand("slurm job 12 has", names, names, cpus, {}).shape((1, 2, 3))
    assert (of_job.shared, of_job.cores) == (False, 2)
    box = InHand.from_text(InHand("the box has", names, names, cpus, {}, one_machine=True).as_text())
    assert box.shape((2,)) == NodeShape(2, ((0,), (1,)))
    assert box.shape((2, 3)) == NodeShape(1, by_host=(("n1", ((0,),)), ("n2", ((1,),))))
    assert box.shape((1, 2, 3)).shared
    placed = Placement.on(box.shape((1, 2, 3)), 1, 0, nodes=3)
    assert (placed.threads_per_rank, placed.oversubscribed, placed.shares) == (1, True, ())


def test_nodes_that_share_cores_are_refused_unless_the_run_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("n0", "n1", "n2")
    box = InHand("the box has", names, names, (((0,), (1,)),) * 3, {}, one_machine=True)
    monkeypatch.setattr(nodes_in_hand, "look", lambda **_box: box)
    asked = options.Options(system="cluster-in-a-box", network="tcp", nodes=(3,))
    with pytest.raises(CampaignError, match=r"3 nodes share the 2 cores of this machine.*--oversubscribe"):
        placing.place(asked)
    (placed,) = placing.place(replace(asked, oversubscribe=True))
    assert (placed.nodes, placed.ranks, placed.oversubscribed) == (3, 3, True)
    with pytest.raises(CampaignError, match="--nodes 4: the box has 3 nodes"):
        placing.place(replace(asked, nodes=(4,)))


def test_the_registry_tells_launchers_about_nodes() -> None:
    def across(family: str, version: str, agent: str = "/opt/agent") -> Answer:
        hosts = Hosts(("node0", "node1"), agent, {"NEEDED": "yes"})
        request = Request(Path("/opt/mpi"), version, "basic", "native", Placement(2, 2, 1), hosts=hosts)
        return launches.launch(family, request)

    for family, version, per_node in (
        ("openmpi", "5.0.11", "ppr:2:node:OVERSUBSCRIBE"),
        ("openmpi", "4.1.8", "ppr:2:node:OVERSUBSCRIBE"),
        ("mpich", "5.0.2", "2"),
        ("intel", "2021.18.1", "2"),
    ):
        answer = across(family, version)
        assert isinstance(answer, Settings)
        assert {"/opt/agent", per_node} <= set(answer.options)
        assert answer.env["NEEDED"] == "yes"
    for answer in (across("openmpi", "5.0.11", "/o p/agent"), across("mympi", "1")):
        assert isinstance(answer, Impossible)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('echo \'{"host": "n1", "cpus": [[0]], "content": null}\'', "another file system than this host"),
        ("echo 'srun: error: no step' >&2; exit 1", "srun: error: no step; each node must see"),
        ("exit 3", "exit code 3"),
    ],
)
def test_a_node_that_cannot_be_used_is_named_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, said: str
) -> None:
    agent = tmp_path / "agent"
    agent.write_text(f"#!/bin/sh\n{answer}\n")
    agent.chmod(0o755)
    monkeypatch.setattr(node_agent, "AGENT", agent)
    monkeypatch.delenv(nodes_in_hand.IN_HAND, raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    nodes_in_hand.look.cache_clear()
    with pytest.raises(CampaignError, match=r"^n1 cannot be used: ") as raised:
        nodes_in_hand.look()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert nodes_in_hand.IN_HAND not in os.environ
