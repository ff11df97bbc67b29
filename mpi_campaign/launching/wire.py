"""Run a command over a wire: a rate-limited loopback in a network namespace of its own.

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
import subprocess
import sys
from pathlib import Path

from pyroute2 import IPRoute

from mpi_campaign.networks import rates
from mpi_campaign.processes import signals

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
EXIT_NO_WIRE = 3

# With segments of 64 KiB, the loopback's default, the bounded buffers hold too few segments for TCP: sometimes a
# receiver waits 40 ms for the next segment before it acknowledges.
LONGEST_MTU = 9000
QUEUE_LATENCY = "100ms"
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

    Raises WireError where the machine does not allow it.
    """
    outside = _namespace()
    unshare_as_any_user(CLONE_NEWNET, "network namespace")
    if _namespace() == outside:
        raise WireError("the new network namespace is the old one: nothing was changed")


def limit_link(netlink: IPRoute, index: int, rate: str) -> None:
    """Limit the rate at which a link sends. index: the number of its interface."""
    bucket = {"rate": rates.bytes_per_second(rate), "burst": rates.burst_bytes(rate)}
    netlink.tc("add", "tbf", index, 0x10000, **bucket, latency=QUEUE_LATENCY)


def socket_bytes(text: str) -> int:
    """The most bytes of a socket's buffer; the usual number for an empty text. Raises WireError with the legal ones."""
    number = int(text) if text.isdecimal() else 0 if text else USUAL_SOCKET_BYTES
    if not LEAST_SOCKET_BYTES <= number <= MOST_SOCKET_BYTES:
        raise WireError(
            f"{SOCKET_BYTES} is '{text}': a whole number of bytes from {LEAST_SOCKET_BYTES} to {MOST_SOCKET_BYTES}"
        )
    return number


def bound_buffers() -> None:
    """Bound the buffers of TCP sockets in this network namespace. Raises WireError for a bound that is none."""
    most = socket_bytes(os.environ.get(SOCKET_BYTES, ""))
    for buffers in ("tcp_wmem", "tcp_rmem"):
        Path("/proc/sys/net/ipv4", buffers).write_text(f"{LEAST_SOCKET_BYTES} {min(65536, most)} {most}")


def limit_loopback(rate: str) -> None:
    """Bring up the namespace's loopback, limit its rate, and bound the buffers. Raises WireError."""
    try:
        with IPRoute() as netlink:
            loopback = netlink.link_lookup(ifname="lo")[0]
            netlink.link("set", index=loopback, mtu=min(rates.packet_bytes(rate), LONGEST_MTU), state="up")
            limit_link(netlink, loopback, rate)
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
