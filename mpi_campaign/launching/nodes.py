"""Run a command on nodes that are made of namespaces of this machine, joined by a network of their own.

    python -m mpi_campaign.launching.nodes --count 2 [--rate 10gbit] [--clock-offset-seconds 100] \
        [--report FILE] -- mpiexec ...

Each node has a host name (node0, node1, ...), a network interface e0, a /dev/shm, a /etc/hosts, a CLOCK_MONOTONIC and,
where there are enough, processor cores of its own. A bridge joins the interfaces; no route leads outside. The command
runs on node0. An MPI launcher reaches the other nodes through AGENT instead of ssh, as `Hosts` of a request
tells it. The nodes share the file system: files have the same paths as outside. TMPDIR is a folder of each node.
`mpi_campaign.launching.cluster` makes the same nodes with a head node, and with a /tmp and a /run of each node.

The command works as root, and for any user where the kernel allows unprivileged user namespaces. It needs neither `ip`
nor `tc`. It changes nothing of the machine: before every change it checks that the namespace is not the caller's.

All nodes end with the command, and also when the process that is started here is killed by any signal: they are in one
process namespace, whose first process dies with that process, and the kernel then kills all others in the namespace.
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

from mpi_campaign.launching import node_agent
from mpi_campaign.launching.netlink import IPRoute
from mpi_campaign.launching.node_agent import AGENT, COMMON_FOLDER, OWN_FOLDERS, SHARED_MEMORY, Node
from mpi_campaign.launching.wire import (
    PR_SET_PDEATHSIG,
    WireError,
    bound_buffers,
    limit_link,
    unshare,
    unshare_as_any_user,
)
from mpi_campaign.networks import rates
from mpi_campaign.processes import signals
from mpi_campaign.this_machine import machine

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
# Capabilities that a process needs to enter a node: CAP_SYS_CHROOT, CAP_SYS_PTRACE, CAP_SYS_ADMIN.
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
NODE_TMPDIR = SHARED_MEMORY / "tmp"  # launchers' session folders, which are called by host name and process number
TIME_OFFSETS = Path("/proc/self/timens_offsets")


class NodesError(Exception):
    """Nodes cannot be made; the message says why, in one line."""


@dataclass(frozen=True)
class Layout:
    """The nodes to make.

    count: number of nodes.  rate: of each node's link, such as 10gbit; None: not limited.
    clock_offset_seconds: node k's CLOCK_MONOTONIC is k times that ahead of the machine's; 0: nodes have no clocks of
    their own.  head: whether node0 is a head node, beside `count` others; it may use all processors. Then each node has
    the folders OWN_FOLDERS of its own, and all have COMMON_FOLDER.  shared: folders that all nodes see nevertheless, as
    absolute paths without links.  Raises ValueError with the legal values.
    """

    count: int = 2
    rate: str | None = None
    clock_offset_seconds: float = 100.0
    head: bool = False
    shared: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        fewest = 1 if self.head else 2
        if not fewest <= self.count <= MOST_NODES:
            raise ValueError(f"{self.count} nodes: {fewest} to {MOST_NODES} can be made")
        for folder in OWN_FOLDERS if self.head else ():
            if folder in self.shared:
                raise ValueError(f"{folder} is a folder of each node: start in another folder")
        if not (math.isfinite(self.clock_offset_seconds) and 0 <= self.clock_offset_seconds <= LARGEST_OFFSET_SECONDS):
            raise ValueError(f"a clock offset of {self.clock_offset_seconds:g} s: 0 to {LARGEST_OFFSET_SECONDS} s")
        if self.rate is not None:
            rates.bytes_per_second(self.rate)

    @property
    def own_clocks(self) -> bool:
        return self.clock_offset_seconds > 0

    @property
    def hosts(self) -> list[str]:
        """The names of all nodes, the head node's among them."""
        return [f"node{number}" for number in range(self.count + self.head)]

    def processors(self) -> list[set[int]]:
        """The processors of each of the hosts."""
        cores = machine.cores_of_process()
        head = [{cpu for core in cores for cpu in core}] if self.head else []
        return head + shares(cores, self.count)

    def command(self, words: Sequence[str], report: Path | None = None) -> list[str]:
        """The command that runs these words on node0. It works in the clone, and where PYTHONPATH has the clone."""
        options = ["--count", str(self.count), "--clock-offset-seconds", str(self.clock_offset_seconds)]
        options += ["--rate", self.rate] if self.rate else []
        options += ["--report", str(report)] if report else []
        return [sys.executable, "-m", "mpi_campaign.launching.nodes", *options, "--", *words]


def address(number: int) -> str:
    """The network address of a node."""
    return f"{NETWORK}.{number + 1}"


def shares(cores: Sequence[Sequence[int]], count: int) -> list[set[int]]:
    """The processors of each node: equally many whole cores; all processors where there are fewer cores than nodes.
    cores: the processors of each core.  count: number of nodes."""
    each = len(cores) // count
    if each == 0:
        return [{cpu for core in cores for cpu in core}] * count
    return [{cpu for core in cores[each * number : each * (number + 1)] for cpu in core} for number in range(count)]


# --- system calls that Python has no function for


def _check(result: int, message: str) -> None:
    """Raises NodesError with this message and the reason in errno, where a call did not return 0."""
    if result != 0:
        raise NodesError(f"{message}: {os.strerror(ctypes.get_errno())}")


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
    """Move this process into new namespaces. Raises NodesError where a namespace is still the one outside.  flags: of
    `unshare`.  kinds: names of the namespaces.  outside: inodes of the namespaces outside, by kind."""
    try:
        unshare(flags)
    except OSError as error:
        raise NodesError(f"no {', '.join(kinds)} namespace: {error.strerror}") from error
    inside = _namespaces()
    for kind in kinds:
        if inside[kind] == outside.get(kind):
            raise NodesError(f"the new {kind} namespace is the old one: nothing was changed")


def _die_with_parent(number: int) -> None:
    """Ask the kernel for this signal when the parent dies."""
    _libc().prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def _keep_capabilities() -> None:
    """Let programs that this process executes keep the capabilities ENTERING. In a user namespace, a user other than
    root would lose them with exec."""

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


# --- helpers: processes that hold namespaces and work in them step by step

Steps = Generator[str, str, None]


class _Helper:
    """A child process that takes one step for each message, and answers with the step's result or error. An answer
    begins with `+`, or with `-` for an error, which ends the process."""

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
        """Let the process take its next step. Returns its result. Raises NodesError where the step fails."""
        self._channel.send(message.encode())
        answer = self._channel.recv(MESSAGE_BYTES).decode()
        if not answer.startswith("+"):
            raise NodesError(answer[1:] or "a process that holds a node ended")
        return answer[1:]


def _switch(outside: Mapping[str, int], rate: str | None) -> Steps:
    """The steps that make the network of the nodes: a bridge in a namespace of its own, and a link to each node."""
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
    """The steps that make a node: enter new namespaces, set up the link, then report the carried bytes at each step."""
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


def _own_folders(shared: Sequence[Path]) -> None:
    """Mount an empty folder on each of OWN_FOLDERS. The folders `shared` stay visible there."""
    kept = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in sorted(set(shared))}
    for folder, mode in OWN_FOLDERS.items():
        _mount(folder.name, folder, "tmpfs", MS_NOSUID | MS_NODEV, mode)
    for path, descriptor in kept.items():
        if not path.is_dir():
            path.mkdir(parents=True)
            _mount(f"/proc/self/fd/{descriptor}", path, None, MS_BIND | MS_REC)
        os.close(descriptor)


def _own_files(layout: Layout) -> None:
    """Mount an /etc/hosts with all nodes, a /dev/shm, and a /proc of the nodes' process namespace."""
    if layout.head:
        _own_folders([*layout.shared, COMMON_FOLDER])
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
    # A container that hides parts of /proc forbids a second /proc. The old one shows the same processes, with the
    # numbers that they have outside.
    with contextlib.suppress(NodesError):
        _mount("proc", Path("/proc"), "proc", flags | MS_NOEXEC)


def _own_devices() -> None:
    """Show only the node's network devices in /sys. The rest of /sys stays as it is."""
    new_sys = SHARED_MEMORY  # a place for the node's /sys while parts of it are mounted
    with contextlib.suppress(NodesError):  # a container may forbid it, as it may for /proc
        _mount("sysfs", new_sys, "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        for folder in ("class/net", "devices/virtual/net"):
            _mount(str(new_sys / folder), Path("/sys", folder), None, MS_BIND)
        _check(_libc().umount2(str(new_sys).encode(), MNT_DETACH), f"{new_sys} cannot be unmounted")


def _quiet_network() -> None:
    """Switch IPv6 off in this network namespace, so that the kernel sends no packets of its own."""
    switch = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")
    if switch.exists():
        switch.write_text("1")


def _carried() -> dict[str, int]:
    """The bytes that the node's link has received and sent. Raises NodesError where there is no link."""
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == INTERFACE:
            fields = counters.split()
            return {"received_bytes": int(fields[0]), "sent_bytes": int(fields[8])}
    raise NodesError(f"{INTERFACE} is gone")


# --- the first process of the nodes' process namespace


def _clock_offset_ns(outside: Mapping[str, int]) -> int:
    """How far CLOCK_MONOTONIC is ahead of the kernel's; not 0 where a container has an offset. After `_new_clock` the
    file has the offset of the new clock."""
    if "time" not in outside:
        raise NodesError("this kernel has no time namespaces: only `nodes --clock-offset-seconds 0` works")
    fields = TIME_OFFSETS.read_text().split()
    return int(fields[1]) * 10**9 + int(fields[2])


def _new_clock(outside: Mapping[str, int], base_ns: int, ahead_seconds: float) -> None:
    """Set the CLOCK_MONOTONIC of processes that are forked from now on: `base_ns`, plus `ahead_seconds`."""
    _leave(node_agent.CLONE_NEWTIME, ["time_for_children"], {"time_for_children": outside["time"]})
    seconds, nanoseconds = divmod(base_ns + round(ahead_seconds * 1e9), 10**9)
    try:
        TIME_OFFSETS.write_text(f"monotonic {seconds} {nanoseconds}\n")
    except OSError as error:
        raise NodesError(f"a clock cannot be set {ahead_seconds:g} s ahead: {error.strerror}") from error


@dataclass(frozen=True)
class Caller:
    """For whom nodes are made.

    name: it begins every message.  exit_no_nodes: the exit code where nodes cannot be made.  prepare: is called in the
    first process with all nodes, before the command starts; what it starts ends with the nodes. It raises NodesError.
    """

    name: str = "nodes"
    exit_no_nodes: int = EXIT_NO_NODES
    prepare: Callable[[Sequence[Node]], None] = lambda _nodes: None

    def complain(self, message: str) -> None:
        print(f"{self.name}: {message}", file=sys.stderr, flush=True)


class _Inside:
    """The work of the first process: make the nodes, run the command on node0, wait for it, write the report.  outside:
    inodes of the namespaces outside, by kind.  blocked: the signals that the command is to have blocked."""

    def __init__(
        self,
        layout: Layout,
        outside: Mapping[str, int],
        report: Path | None,
        blocked: set[int | signal.Signals],
        caller: Caller,
    ) -> None:
        self._layout = layout
        self._blocked = blocked
        self._outside = outside
        self._report = report
        self._caller = caller
        self._helpers: list[_Helper] = []
        self._command: int | None = None

    def run(self, words: Sequence[str]) -> int:
        if os.getpid() != 1:
            raise NodesError("the new process namespace is the old one: nothing was changed")
        signals.handle(self._stop)
        nodes = self._make()
        signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)  # only now: the processes that hold nodes stay deaf
        self._caller.prepare(nodes)
        self._command = self._start(words, nodes)
        status = self._wait()
        if self._report:
            self._write(self._report)
        return status

    def _make(self) -> list[Node]:
        layout, outside = self._layout, self._outside
        if layout.head:
            _leave(node_agent.CLONE_NEWNS, ["mnt"], outside)
            _mount("none", Path("/"), None, MS_REC | MS_PRIVATE)
            _own_folders(layout.shared)
            COMMON_FOLDER.mkdir()
        switch = _Helper(lambda: _switch(outside, layout.rate))
        switch.step()
        holders = []
        base_ns = _clock_offset_ns(outside) if layout.own_clocks else 0
        for number, processors in enumerate(layout.processors()):
            if layout.own_clocks:
                _new_clock(outside, base_ns, number * layout.clock_offset_seconds)
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
            os.environ[node_agent.PYTHON_VARIABLE] = sys.executable
            os.environ["MPI_CAMPAIGN_NODE_AGENT"] = str(AGENT)
            os.environ["TMPDIR"] = str(NODE_TMPDIR)
            if self._layout.head:
                os.environ[node_agent.HEAD_VARIABLE] = nodes[0].name
                del os.environ["TMPDIR"]  # /tmp is each node's own
            node_agent.enter(nodes[0])
            signals.handle(signal.SIG_DFL)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it
            signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)
            os.execvp(words[0], list(words))
        except OSError as error:
            self._caller.complain(f"{words[0]}: {error.strerror}")
        except node_agent.AgentError as error:
            self._caller.complain(str(error))
        finally:
            os._exit(EXIT_NO_COMMAND)

    def _wait(self) -> int:
        """Wait for the command, and collect orphans meanwhile. Returns its exit code, or 128 + the signal's number."""
        helpers = {helper.pid for helper in self._helpers}
        while True:
            pid, status = os.wait()
            if pid == self._command:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            if pid in helpers:
                raise NodesError("a process that holds a node was killed")

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        """Pass a signal on to the command. After GRACE_SECONDS this process ends, and with it all that still runs."""
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
    caller: Caller,
) -> int:
    try:
        return _Inside(layout, outside, report, blocked, caller).run(words)
    except (NodesError, WireError) as error:
        caller.complain(str(error))
    except OSError as error:
        caller.complain(f"{error.filename or 'the system'}: {error.strerror}")
    return caller.exit_no_nodes


def run(layout: Layout, words: Sequence[str], report: Path | None = None, caller: Caller | None = None) -> int:
    """Run the command on node0. Returns its exit code, or 128 + the number of the signal that ended it.

    It changes the calling process, so that a process should do nothing else. Raises NodesError where the machine does
    not allow nodes.
    """
    caller = caller or Caller()
    _die_with_parent(signals.for_orphans())  # the kernel means the thread that started this process
    outside = _namespaces()
    try:
        if unshare_as_any_user(CLONE_NEWPID, "process namespace"):
            _keep_capabilities()
    except WireError as error:
        raise NodesError(str(error)) from error
    alive, ours = os.pipe()
    signals.keep_ignored()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signals.ENDING)  # until a handler can pass them on
    first = os.fork()
    if first == 0:
        code = caller.exit_no_nodes
        try:
            os.close(ours)
            _die_with_parent(signal.SIGKILL)
            if not select.select([alive], [], [], 0)[0]:  # readable: the parent died before the kernel was asked
                code = _first_process(layout, words, outside, report, blocked, caller)
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
