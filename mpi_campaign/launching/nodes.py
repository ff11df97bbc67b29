"""Run a command on nodes that are no machines: namespaces of this one, joined by a network of their own.

    python -m mpi_campaign.launching.nodes --count 2 [--rate 10gbit] [--clock-offset-seconds 100] \
        [--report FILE] -- mpiexec ...

Each node has a host name (node0, node1, ...), a network interface e0, a /dev/shm, a /etc/hosts, a CLOCK_MONOTONIC and,
where there are enough, processor cores of its own. The interfaces are joined by a bridge; nothing leads outside. The
command runs on node0. It reaches the others through AGENT, which an MPI launcher is given in the place of ssh;
registry.across_nodes says how. What the nodes share is the file system: files are where they are outside. TMPDIR is a
folder of the node's own.

Works as root, or for any user where the kernel allows unprivileged user namespaces. It needs neither `ip` nor `tc`.
Nothing of the machine is touched: whatever is changed is first checked to be in another namespace than the caller's.

Everything vanishes with the command, and with whoever is killed, by whatever signal: all of it is in one process
namespace, whose first process dies with the one that is started here, and which the kernel empties when that is so.
"""

import argparse
import contextlib
import ctypes
import json
import math
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from pyroute2 import IPRoute

from mpi_campaign.launching import node_agent
from mpi_campaign.launching.node_agent import Node
from mpi_campaign.launching.wire import (
    PR_SET_PDEATHSIG,
    WireError,
    bound_buffers,
    limit_link,
    rate_bytes_per_second,
    unshare,
    unshare_as_any_user,
)
from mpi_campaign.processes import signals
from mpi_campaign.this_machine import machine

AGENT = Path(__file__).with_name("node-agent")

CLONE_NEWPID = 0x20000000
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
# What it takes to enter a namespace that one owns: CAP_SYS_CHROOT, CAP_SYS_PTRACE, CAP_SYS_ADMIN.
ENTERING = (18, 19, 21)
CAPABILITY_VERSION = 0x20080522

EXIT_BAD_INPUT = 2
EXIT_NO_NODES = 3
EXIT_NO_COMMAND = 127
GRACE_SECONDS = 8
MESSAGE_BYTES = 65536

MOST_NODES = 64
LARGEST_OFFSET_SECONDS = 10**6
INTERFACE = "e0"
NETWORK = "10.213.0"
SHARED_MEMORY = Path("/dev/shm")
NODE_TMPDIR = SHARED_MEMORY / "tmp"  # launchers' session folders, which are called by host name and process number
TIME_OFFSETS = Path("/proc/self/timens_offsets")


class NodesError(Exception):
    """Nodes cannot be had; the message says why, in one line."""


@dataclass(frozen=True)
class Layout:
    """How many nodes, how fast the link of each is (None: as fast as it can), how far apart their clocks are.

    Node k's CLOCK_MONOTONIC is k * clock_offset_seconds ahead of the machine's; 0: all nodes read the machine's.
    Raises ValueError with the legal values.
    """

    count: int = 2
    rate: str | None = None
    clock_offset_seconds: float = 100.0

    def __post_init__(self) -> None:
        if not 2 <= self.count <= MOST_NODES:
            raise ValueError(f"{self.count} nodes: 2 to {MOST_NODES} can be made")
        if not (math.isfinite(self.clock_offset_seconds) and 0 <= self.clock_offset_seconds <= LARGEST_OFFSET_SECONDS):
            raise ValueError(f"a clock offset of {self.clock_offset_seconds:g} s: 0 to {LARGEST_OFFSET_SECONDS} s")
        if self.rate is not None:
            rate_bytes_per_second(self.rate)

    @property
    def own_clocks(self) -> bool:
        return self.clock_offset_seconds > 0

    @property
    def hosts(self) -> list[str]:
        return [f"node{number}" for number in range(self.count)]

    def command(self, words: Sequence[str], report: Path | None = None) -> list[str]:
        """What to start, in the clone or with it on PYTHONPATH, to run these words on node0."""
        options = ["--count", str(self.count), "--clock-offset-seconds", str(self.clock_offset_seconds)]
        options += ["--rate", self.rate] if self.rate else []
        options += ["--report", str(report)] if report else []
        return [sys.executable, "-m", "mpi_campaign.launching.nodes", *options, "--", *words]


def address(number: int) -> str:
    """Of node `number`."""
    return f"{NETWORK}.{number + 1}"


def shares(cores: Sequence[Sequence[int]], count: int) -> list[set[int]]:
    """Each node's processors: as many whole cores as every node can have; all, where there are fewer than nodes."""
    each = len(cores) // count
    if each == 0:
        return [{cpu for core in cores for cpu in core}] * count
    return [{cpu for core in cores[each * number : each * (number + 1)] for cpu in core} for number in range(count)]


# --- small things that Python has no call for


def _check(result: int, what: str) -> None:
    if result != 0:
        raise NodesError(f"{what}: {os.strerror(ctypes.get_errno())}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: Path, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [word.encode() if word is not None else None for word in (source, str(target), kind)]
    result = _libc().mount(*words, ctypes.c_ulong(flags), data.encode() if data else None)
    _check(result, f"{target} cannot be mounted")


def _namespaces() -> dict[str, int]:
    """This process's namespaces: inode by kind."""
    return {entry.name: entry.stat().st_ino for entry in Path("/proc/self/ns").iterdir()}


def _leave(flags: int, kinds: Sequence[str], outside: Mapping[str, int]) -> None:
    """Move into new namespaces, and make sure that they are not those that were outside."""
    try:
        unshare(flags)
    except OSError as error:
        raise NodesError(f"no {', '.join(kinds)} namespace: {error.strerror}") from error
    inside = _namespaces()
    for kind in kinds:
        if inside[kind] == outside.get(kind):
            raise NodesError(f"the new {kind} namespace is the old one: nothing was changed")


def _die_with_parent(number: int) -> None:
    _libc().prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def _keep_capabilities() -> None:
    """Let programs that are started keep what it takes to enter nodes: in a user namespace only root's would."""

    class Header(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))

    class Data(ctypes.Structure):
        _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))

    header, data = Header(CAPABILITY_VERSION, 0), (Data * 2)()
    libc = _libc()
    _check(libc.capget(ctypes.byref(header), data), "capabilities cannot be read")
    for capability in ENTERING:
        data[0].inheritable |= 1 << capability
    _check(libc.capset(ctypes.byref(header), data), "capabilities cannot be made inheritable")
    for capability in ENTERING:
        _check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0), "capabilities cannot be kept")


# --- helpers: processes that hold namespaces, and work inside them step by step

Steps = Generator[str, str, None]


class _Helper:
    """A process that takes one step for each message; a step's failure is the answer."""

    def __init__(self, steps: Callable[[], Steps]) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._channel.close()
            self._serve(steps(), theirs)
        theirs.close()

    @staticmethod
    def _serve(steps: Steps, channel: socket.socket) -> NoReturn:
        try:
            channel.recv(MESSAGE_BYTES)
            answer = next(steps)
            while True:
                channel.send(f"+{answer}".encode())
                answer = steps.send(channel.recv(MESSAGE_BYTES).decode())
        except Exception as error:  # whatever it is, its text is the answer
            channel.send(f"-{error}".encode())
        finally:
            os._exit(EXIT_NO_NODES)

    def step(self, message: str = "go") -> str:
        """Take the next step. Raises NodesError where it fails."""
        self._channel.send(message.encode())
        answer = self._channel.recv(MESSAGE_BYTES).decode()
        if not answer.startswith("+"):
            raise NodesError(answer[1:] or "a process that holds a node ended")
        return answer[1:]


def _switch(outside: Mapping[str, int], rate: str | None) -> Steps:
    """The network between the nodes: a bridge in a namespace of its own, a link to each node's holder."""
    _leave(node_agent.CLONE_NEWNET, ["net"], outside)
    holders = json.loads((yield ""))
    _quiet_network()
    with IPRoute() as netlink:
        netlink.link("add", ifname="bridge", kind="bridge")
        bridge = netlink.link_lookup(ifname="bridge")[0]
        netlink.link("set", index=bridge, state="up")
        for number, pid in enumerate(holders):
            netlink.link("add", ifname=f"node{number}", kind="veth", peer={"ifname": INTERFACE, "net_ns_pid": pid})
            link = netlink.link_lookup(ifname=f"node{number}")[0]
            netlink.link("set", index=link, master=bridge, state="up")
            if rate:
                limit_link(netlink, link, rate)
    while True:
        yield ""


def _node(number: int, layout: Layout, outside: Mapping[str, int], processors: set[int]) -> Steps:
    """One node: leave the machine, wait for the link, set it up, count."""
    os.sched_setaffinity(0, processors)
    agent = node_agent
    _leave(
        agent.CLONE_NEWNET | agent.CLONE_NEWUTS | agent.CLONE_NEWIPC | agent.CLONE_NEWNS,
        ["net", "uts", "ipc", "mnt", *(["time"] if layout.own_clocks else [])],
        outside,
    )
    _mount("none", Path("/"), None, MS_REC | MS_PRIVATE)
    _own_files(layout)
    name = layout.hosts[number].encode()
    _check(_libc().sethostname(name, len(name)), "the host name cannot be set")
    yield str(node_agent.network_namespace())
    _quiet_network()
    with IPRoute() as netlink:
        loopback, link = (netlink.link_lookup(ifname=name)[0] for name in ("lo", INTERFACE))
        netlink.link("set", index=loopback, state="up")
        netlink.addr("add", index=link, address=address(number), prefixlen=24, broadcast=f"{NETWORK}.255")
        netlink.link("set", index=link, state="up")
        if layout.rate:
            limit_link(netlink, link, layout.rate)
    if layout.rate:
        bound_buffers()
    while True:
        yield json.dumps(_carried())


def _own_files(layout: Layout) -> None:
    """A /etc/hosts with all nodes, a /dev/shm, and a /proc that numbers processes as the nodes do."""
    flags = MS_NOSUID | MS_NODEV
    _mount("hosts", SHARED_MEMORY, "tmpfs", flags, "size=1m")
    hosts = SHARED_MEMORY / "hosts"
    lines = ["127.0.0.1 localhost", *(f"{address(number)} {name}" for number, name in enumerate(layout.hosts))]
    hosts.write_text("\n".join(lines) + "\n")
    hosts.chmod(0o644)
    _mount(str(hosts), Path("/etc/hosts"), None, MS_BIND)
    _check(_libc().umount2(str(SHARED_MEMORY).encode(), MNT_DETACH), f"{SHARED_MEMORY} cannot be unmounted")
    _own_devices()
    _mount("shm", SHARED_MEMORY, "tmpfs", flags, "mode=1777")
    NODE_TMPDIR.mkdir()
    NODE_TMPDIR.chmod(0o1777)
    # A container may hide parts of /proc and so forbid another one; the old one has the same processes, renumbered.
    with contextlib.suppress(NodesError):
        _mount("proc", Path("/proc"), "proc", flags | MS_NOEXEC)


def _own_devices() -> None:
    """Show the node's network devices in /sys and no others, and leave the rest of it as it is."""
    fresh = SHARED_MEMORY
    with contextlib.suppress(NodesError):  # see /proc above
        _mount("sysfs", fresh, "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        for folder in ("class/net", "devices/virtual/net"):
            _mount(str(fresh / folder), Path("/sys", folder), None, MS_BIND)
        _check(_libc().umount2(str(fresh).encode(), MNT_DETACH), f"{fresh} cannot be unmounted")


def _quiet_network() -> None:
    """No IPv6 in this network namespace: nothing is sent that was not asked for."""
    switch = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")
    if switch.exists():
        switch.write_text("1")


def _carried() -> dict[str, int]:
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == INTERFACE:
            fields = counters.split()
            return {"received_bytes": int(fields[0]), "sent_bytes": int(fields[8])}
    raise NodesError(f"{INTERFACE} is gone")


# --- the first process of the nodes' process namespace


def _new_clock(outside: Mapping[str, int], ahead_seconds: float) -> None:
    """Give processes that are forked from now on a CLOCK_MONOTONIC that is ahead of this process's."""
    if "time" not in outside:
        raise NodesError("this kernel has no time namespaces: --clock-offset-seconds 0 does without")
    fields = TIME_OFFSETS.read_text().split()  # may not be 0: a container's
    base_ns = int(fields[1]) * 10**9 + int(fields[2])
    _leave(node_agent.CLONE_NEWTIME, ["time_for_children"], {"time_for_children": outside["time"]})
    seconds, nanoseconds = divmod(base_ns + round(ahead_seconds * 1e9), 10**9)
    try:
        TIME_OFFSETS.write_text(f"monotonic {seconds} {nanoseconds}\n")
    except OSError as error:
        raise NodesError(f"a clock cannot be set {ahead_seconds:g} s ahead: {error.strerror}") from error


class _Inside:
    """What the first process does: make the nodes, run the command on node0, wait, report."""

    def __init__(
        self, layout: Layout, outside: Mapping[str, int], report: Path | None, blocked: set[int | signal.Signals]
    ) -> None:
        self._layout = layout
        self._blocked = blocked
        self._outside = outside
        self._report = report
        self._helpers: list[_Helper] = []
        self._command: int | None = None

    def run(self, words: Sequence[str]) -> int:
        if os.getpid() != 1:
            raise NodesError("the new process namespace is the old one: nothing was changed")
        signals.handle(self._stop)
        nodes = self._make()
        self._command = self._start(words, nodes)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)
        status = self._wait()
        if self._report:
            self._write(self._report)
        return status

    def _make(self) -> list[Node]:
        layout, outside = self._layout, self._outside
        switch = _Helper(lambda: _switch(outside, layout.rate))
        switch.step()
        holders = []
        for number, processors in enumerate(shares(machine.cores_of_process(), layout.count)):
            if layout.own_clocks:
                _new_clock(outside, number * layout.clock_offset_seconds)
            holders.append(_Helper(lambda n=number, p=processors: _node(n, layout, outside, p)))  # type: ignore[misc]
        networks = [int(holder.step()) for holder in holders]
        switch.step(json.dumps([holder.pid for holder in holders]))
        for holder in holders:
            holder.step()
        self._helpers = holders
        return [
            Node(name, address(number), holder.pid, network, layout.own_clocks)
            for number, (name, holder, network) in enumerate(zip(layout.hosts, holders, networks, strict=True))
        ]

    def _start(self, words: Sequence[str], nodes: Sequence[Node]) -> int:
        pid = os.fork()
        if pid:
            return pid
        try:
            os.environ[node_agent.NODES_VARIABLE] = ",".join(map(str, nodes))
            os.environ["MPI_CAMPAIGN_NODES_PYTHON"] = sys.executable
            os.environ["TMPDIR"] = str(NODE_TMPDIR)
            node_agent.enter(nodes[0])
            signals.handle(signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)
            os.execvp(words[0], list(words))
        except OSError as error:
            print(f"nodes: {words[0]}: {error.strerror}", file=sys.stderr, flush=True)
        except node_agent.AgentError as error:
            print(f"nodes: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(EXIT_NO_COMMAND)

    def _wait(self) -> int:
        """For the command, while orphans are collected."""
        helpers = {helper.pid for helper in self._helpers}
        while True:
            pid, status = os.wait()
            if pid == self._command:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            if pid in helpers:
                raise NodesError("a process that holds a node was killed")

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        """Tell the command; what it has not ended after a while ends with this process."""
        if self._command is None:
            os._exit(128 + number)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._command, number)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(128 + number))
        signal.alarm(GRACE_SECONDS)

    def _write(self, report: Path) -> None:
        carried = [json.loads(helper.step()) for helper in self._helpers]
        nodes = {
            "rate": self._layout.rate,
            "link_bytes": sum(node["received_bytes"] for node in carried),
            "nodes": dict(zip(self._layout.hosts, carried, strict=True)),
        }
        report.write_text(json.dumps(nodes) + "\n")


def _first_process(
    layout: Layout,
    words: Sequence[str],
    outside: Mapping[str, int],
    report: Path | None,
    blocked: set[int | signal.Signals],
) -> int:
    try:
        return _Inside(layout, outside, report, blocked).run(words)
    except (NodesError, WireError) as error:
        print(f"nodes: {error}", file=sys.stderr, flush=True)
    except OSError as error:
        print(f"nodes: {error.filename or 'the system'}: {error.strerror}", file=sys.stderr, flush=True)
    return EXIT_NO_NODES


def run(layout: Layout, words: Sequence[str], report: Path | None = None) -> int:
    """Run the command on node0; its exit code, or 128 + the signal that ended it. For a process of its own.

    Raises NodesError where the machine does not allow it.
    """
    _die_with_parent(signals.for_orphans())  # more exactly: with the thread that started this process
    outside = _namespaces()
    try:
        if unshare_as_any_user(CLONE_NEWPID, "process namespace"):
            _keep_capabilities()
    except WireError as error:
        raise NodesError(str(error)) from error
    alive, ours = os.pipe()
    signals.keep_ignored()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signals.ENDING)  # until there is someone to tell
    first = os.fork()
    if first == 0:
        code = EXIT_NO_NODES
        try:
            os.close(ours)
            _die_with_parent(signal.SIGKILL)
            if not select.select([alive], [], [], 0)[0]:  # readable: its parent died before the kernel was asked
                code = _first_process(layout, words, outside, report, blocked)
        finally:
            os._exit(code)
    signals.handle(lambda received, _frame: os.kill(first, received))
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    _, status = os.waitpid(first, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"nodes: {message}", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)


def main(arguments: list[str]) -> int:
    parser = _Parser(
        prog="nodes",
        usage="python -m mpi_campaign.launching.nodes [OPTIONS] -- COMMAND ...",
        description="Run a command on node0 of a few nodes that are namespaces of this machine.",
        allow_abbrev=False,
    )
    parser.add_argument("--count", type=int, default=2, help=f"nodes, 2 to {MOST_NODES} (2)")
    parser.add_argument("--rate", help="of each node's link in each direction, e.g. 10gbit (unlimited)")
    parser.add_argument(
        "--clock-offset-seconds",
        type=float,
        default=100.0,
        help="node k's CLOCK_MONOTONIC is k times that ahead; 0: all have the machine's (100)",
    )
    parser.add_argument("--report", type=Path, help="write the bytes that each node's link carried here, as JSON")
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    words = arguments[split + 1 :]
    if not words:
        parser.error("nothing to run: the command follows after --")
    if options.report and not options.report.absolute().parent.is_dir():
        parser.error(f"--report {options.report}: its folder does not exist")
    try:
        layout = Layout(options.count, options.rate, options.clock_offset_seconds)
    except ValueError as error:
        parser.error(str(error))
    try:
        return run(layout, words, options.report.absolute() if options.report else None)
    except NodesError as error:
        print(f"nodes: {error}", file=sys.stderr)
        return EXIT_NO_NODES


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
