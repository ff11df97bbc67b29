"""Run a command over a wire: a loopback in a network namespace of its own, with a limited rate in each direction.

    python -m mpi_campaign.launching.wire --rate 2gbit [--report FILE] -- mpiexec -n 2 ...

The command works as root, and for any user where the kernel allows unprivileged user namespaces. It needs neither `ip`
nor `tc`. The namespace disappears with its last process. The machine's own loopback is never changed: before every
change, the program checks that the namespace is not the caller's.

The report, written when the command has ended, has the number of bytes that the link carried: it proves that messages
took the wire.
"""

import argparse
import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

from mpi_campaign.launching.netlink import (
    ETH_P_IP,
    NLM_F_ACK,
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REQUEST,
    RTM_NEWTFILTER,
    IPRoute,
)
from mpi_campaign.networks import rates
from mpi_campaign.processes import signals

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
EXIT_NO_WIRE = 3

LONGEST_MTU = 9000
HEADERS_BYTES = 512  # an upper bound of what TCP leaves free for headers in its longest packet
# A queue that drops nothing: it holds the buffers of all sockets in the shortest packets.
QUEUE_PACKETS = 10000
# The wire is the same on all machines: the usual algorithm differs, and BBR paces by itself and slows down on purpose
# every ten seconds.
CONGESTION_CONTROL = "reno"
DIRECTIONS = 2
TCA_KIND, TCA_OPTIONS, TCA_BPF_OPS_LEN, TCA_BPF_OPS = 1, 2, 4, 5
ROOT = 0x10000
# Of a TCP packet, the half of its connection is told by its ports: class 2 where the source's number is the larger one.
# Classic BPF (code, jump if true, jump if false, operand), of IPv4 packets without options; no privilege outside of the
# namespace is needed for it.
_NETWORK_HEADER = 0xFFF00000
BY_PORTS = (
    (0x28, 0, 0, _NETWORK_HEADER + 22),  # destination port
    (0x07, 0, 0, 0),
    (0x28, 0, 0, _NETWORK_HEADER + 20),  # source port
    (0x2D, 0, 1, 0),
    (0x06, 0, 0, ROOT + 2),
    (0x06, 0, 0, ROOT + 1),
)
# Larger socket buffers hide megabytes of a message from the sender and make serialised communication look overlapped.
LEAST_SOCKET_BYTES, USUAL_SOCKET_BYTES, MOST_SOCKET_BYTES = 4096, 131072, 1 << 30
SOCKET_BYTES = "CAMPAIGN_WIRE_SOCKET_BYTES"
"""Environment variable: the most bytes of a socket's buffer, to see what these buffers do."""


class WireError(Exception):
    """A wire cannot be made; the message says why, in one line."""


def _namespace() -> tuple[int, int]:
    status = Path("/proc/self/ns/net").stat()
    return status.st_dev, status.st_ino


def unshare(flags: int) -> None:
    """Move this process into new namespaces. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def unshare_as_any_user(flags: int, what: str) -> bool:
    """Move this process into new namespaces. Where it lacks the privilege, it enters a new user namespace as well.

    Returns whether it entered a user namespace.  what: the namespaces in words, for errors.  Raises WireError where the
    machine does not allow it.
    """
    try:
        unshare(flags)
    except OSError as refused:
        uid, gid = os.getuid(), os.getgid()
        try:
            unshare(CLONE_NEWUSER | flags)
            # The user has the same number inside and outside, so that files keep their owner.
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        except OSError as error:
            raise WireError(
                f"no {what}: {refused.strerror} without privilege, and no user namespace: {error.strerror} "
                "(an administrator can allow it: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)"
            ) from error
        return True
    return False


def enter() -> None:
    """Move this process into a new network namespace, and into a new user namespace where it lacks the privilege.
    Raises WireError where the machine does not allow it."""
    outside = _namespace()
    unshare_as_any_user(CLONE_NEWNET, "network namespace")
    if _namespace() == outside:
        raise WireError("the new network namespace is the old one: nothing was changed")


def limit_link(netlink: IPRoute, index: int, rate: str, directions: int = 1) -> None:
    """Limit the rate at which a link sends, and the length of its packets.  index: the number of its interface.
    directions: 2 for a loopback, which sends both directions of a connection. Each has a bucket of its own."""
    packet = rates.packet_bytes(rate)
    netlink.link(
        "set", index=index, mtu=min(packet, LONGEST_MTU), gso_max_size=packet + HEADERS_BYTES, txqlen=QUEUE_PACKETS
    )
    netlink.tc("add", "htb", index, ROOT, default=1)
    bucket = {"rate": rates.bytes_per_second(rate), "burst": rates.burst_bytes(rate)}
    for direction in range(1, directions + 1):
        # quantum: with a class per direction and nothing to share it decides nothing, but the kernel warns without it.
        netlink.tc(
            "add-class", "htb", index, ROOT + direction, parent=ROOT, **bucket, cburst=bucket["burst"], quantum=packet
        )
    if directions == DIRECTIONS:
        _tell_directions(index)


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _tell_directions(index: int) -> None:
    """Add the filter that chooses the class of a direction. Raises OSError. The message is put together here, because
    pyroute2 knows no filters by classic BPF."""
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in BY_PORTS)
    options = _attribute(TCA_BPF_OPS_LEN, struct.pack("H", len(BY_PORTS))) + _attribute(TCA_BPF_OPS, program)
    of_packets = 1 << 16 | socket.htons(ETH_P_IP)
    message = struct.pack("iiIII", socket.AF_UNSPEC, index, 0, ROOT, of_packets)
    message += _attribute(TCA_KIND, b"bpf\0") + _attribute(TCA_OPTIONS, options)
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.send(struct.pack("IHHII", 16 + len(message), RTM_NEWTFILTER, flags, 1, 0) + message)
        error = -struct.unpack_from("i", netlink.recv(4096), 16)[0]
    if error:
        raise OSError(error, os.strerror(error))


def socket_bytes(text: str) -> int:
    """The most bytes of a socket's buffer; the usual number for an empty text. Raises WireError with the legal ones."""
    number = int(text) if text.isdecimal() else 0 if text else USUAL_SOCKET_BYTES
    if not LEAST_SOCKET_BYTES <= number <= MOST_SOCKET_BYTES:
        raise WireError(
            f"{SOCKET_BYTES} is '{text}': a whole number of bytes from {LEAST_SOCKET_BYTES} to {MOST_SOCKET_BYTES}"
        )
    return number


def buffers_words(most: int) -> str:
    """The least, the usual and the most bytes of a socket's buffer, as the kernel takes them."""
    return f"{LEAST_SOCKET_BYTES} {min(65536, most)} {most}"


def bound_buffers() -> None:
    """Bound the buffers of TCP sockets in this network namespace, and choose how they avoid congestion. Raises
    WireError for a bound that is none."""
    most = socket_bytes(os.environ.get(SOCKET_BYTES, ""))
    for buffers in ("tcp_wmem", "tcp_rmem"):
        Path("/proc/sys/net/ipv4", buffers).write_text(buffers_words(most))
    Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text(CONGESTION_CONTROL)


def limit_loopback(rate: str) -> None:
    """Bring up the namespace's loopback, limit its rate, and bound the buffers. Raises WireError."""
    try:
        with IPRoute() as netlink:
            loopback = netlink.link_lookup(ifname="lo")[0]
            limit_link(netlink, loopback, rate, DIRECTIONS)
            netlink.link("set", index=loopback, state="up")
        bound_buffers()
    except WireError:
        raise
    except Exception as error:  # pyroute2 has a class of errors per netlink family
        raise WireError(f"the loopback's rate cannot be limited: {error}") from error


def link_bytes() -> int:
    """The number of bytes that this namespace's loopback has carried."""
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == "lo":
            return int(counters.split()[0])
    return 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="wire", description="Run a command over a rate-limited loopback.")
    parser.add_argument("--rate", required=True, help="e.g. 2gbit")
    parser.add_argument("--report", type=Path, help="write the bytes carried here, as JSON")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    try:
        rates.bytes_per_second(options.rate)
        enter()
        limit_loopback(options.rate)
    except (WireError, ValueError) as error:
        print(f"wire: {error}", file=sys.stderr)
        return EXIT_NO_WIRE
    libc, orphaned = ctypes.CDLL(None), signals.for_orphans()
    signals.keep_ignored()
    try:
        # This process has one thread, so that code between fork and exec is safe.
        child = subprocess.Popen(options.command, preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, orphaned))  # noqa: PLW1509
    except OSError as error:
        print(f"wire: {options.command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    signals.handle(lambda received, _frame: child.send_signal(received))
    status = child.wait()
    if options.report:
        options.report.write_text(json.dumps({"rate": options.rate, "link_bytes": link_bytes()}) + "\n")
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
