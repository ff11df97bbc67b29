"""How long messages take on a wire, beside their bytes divided by its rate: there, back, and both ways at once.

    python -m mpi_campaign.launching.wire --rate 2gbit -- python -m mpi_campaign.doctor.wire_rate 131072,1048576 21

It needs no MPI library: two processes hold the ends of one connection of TCP. Only payload is counted: the headers of
packets (0.7 % of packets of 9000 bytes, 1.5 % of 4500) make a message take longer than that.
"""

import contextlib
import itertools
import json
import multiprocessing
import select
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from mpi_campaign import ROOT
from mpi_campaign.children import asking
from mpi_campaign.networks import rates
from postprocess.statistics.metrics import as_float, median_estimate

WAYS = ("there", "back", "both ways")
RATES = ("50mbit", "500mbit", "2gbit")
"""A slow, a middle and a fast wire."""
SIZES = (128 << 10, 1 << 20)
PAUSE_SECONDS = 0.002  # the bucket fills, as it does before each start of a benchmark
LIMIT_SECONDS = 60.0
WARM_UPS = 10
"""The first messages of a size and way do not count: the first ten both ways at once take a few per cent longer."""
GONE = "the other end of the connection is gone"


@dataclass(frozen=True)
class Way:
    """Messages of one size in one way: their median time and its 95 % interval, relative to bytes divided by rate."""

    message_bytes: int
    way: str
    ratio: float
    low: float
    high: float


def measure(rate: str, sizes: Sequence[int], repetitions: int) -> list[Way]:
    """Make a wire and measure over it. Raises OSError with the reason where that fails."""
    words = [sys.executable, "-m", "mpi_campaign.launching.wire", "--rate", rate, "--"]
    words += [sys.executable, "-m", "mpi_campaign.doctor.wire_rate", ",".join(map(str, sizes)), str(repetitions)]
    answer = asking.ask(words, cwd=ROOT, seconds=LIMIT_SECONDS)
    if not answer.good:
        raise OSError(answer.trouble or (answer.stderr.strip() or f"exit code {answer.exit_code}").splitlines()[-1])
    times = json.loads(answer.stdout)
    return [_relative(int(size), way, seconds, rate) for size, ways in times.items() for way, seconds in ways.items()]


def _relative(size: int, way: str, seconds: Sequence[float], rate: str) -> Way:
    estimate = median_estimate(np.asarray(seconds) * rates.bytes_per_second(rate) / size)
    return Way(size, way, *map(as_float, (estimate.value, estimate.low, estimate.high)))


class _End:
    """An end of the connection, in a process of its own that one thread carries on, as a rank of an MPI library is."""

    def __init__(self, connection: socket.socket, other: Connection) -> None:
        """other: a pipe to the other end's process, which is not on the wire."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        self.connection, self.other = connection, other
        self.waits = {True: select.poll(), False: select.poll()}
        self.waits[True].register(connection, select.POLLIN | select.POLLOUT)
        self.waits[False].register(connection, select.POLLIN)

    def told(self) -> Any:
        """What the other end says next. Raises ConnectionError where it is gone."""
        try:
            return self.other.recv()
        except EOFError:
            raise ConnectionError(GONE) from None

    def transfer(self, start: float, sent_bytes: int, received_bytes: int) -> tuple[float, float]:
        """Sends and receives so many bytes at once. Returns when it began and when the last byte had arrived. Raises
        ConnectionError where the other end is gone."""
        outgoing, incoming = memoryview(bytes(sent_bytes)), memoryview(bytearray(received_bytes))
        time.sleep(max(0.0, start - time.monotonic()))
        began = time.monotonic()
        arrived = began
        while outgoing or incoming:
            self.waits[bool(outgoing)].poll()
            if outgoing:
                with contextlib.suppress(BlockingIOError):
                    outgoing = outgoing[self.connection.send(outgoing) :]
            if incoming:
                with contextlib.suppress(BlockingIOError):
                    received = self.connection.recv_into(incoming)
                    if not received:
                        raise ConnectionError(GONE)
                    incoming, arrived = incoming[received:], time.monotonic()
        return began, arrived


def _transfers(size: int, way: str) -> tuple[int, int]:
    """The bytes that the first and the second end send."""
    return size * (way != "back"), size * (way != "there")


def _follow(end: _End, schedule: Sequence[tuple[int, str]], others: Sequence[socket.socket | Connection]) -> None:
    """What the second end's process does.  others: the first end, of which it has copies."""
    for one in others:
        one.close()
    with contextlib.suppress(ConnectionError):  # the first end says what is wrong
        for size, way in schedule:
            there, back = _transfers(size, way)
            end.other.send(end.transfer(end.told(), back, there))


def _lead(end: _End, schedule: Sequence[tuple[int, str]]) -> list[float]:
    """What the first end does. Returns the seconds of each transfer from a sender's start to its receiver's end: of two
    at once, the longest. How far their starts are apart is not the wire's. Raises ConnectionError likewise."""
    seconds = []
    for size, way in schedule:
        there, back = _transfers(size, way)
        start = time.monotonic() + PAUSE_SECONDS
        end.other.send(start)
        began, arrived = end.transfer(start, there, back)
        others_began, others_arrived = end.told()
        seconds.append(max(others_arrived - began if there else 0.0, arrived - others_began if back else 0.0))
    return seconds


def main(arguments: Sequence[str]) -> int:
    sizes, repetitions = map(int, arguments[0].split(",")), int(arguments[1])
    kinds = [(size, way) for size in sizes for way in WAYS]
    of_each = WARM_UPS + repetitions
    schedule = [kind for kind in kinds for _ in range(of_each)]
    processes = multiprocessing.get_context("fork")
    ours, theirs = processes.Pipe()
    with socket.create_server(("127.0.0.1", 0)) as server:
        first = socket.create_connection(server.getsockname())
        second = server.accept()[0]
    processes.Process(target=_follow, args=(_End(second, theirs), schedule, (first, ours)), daemon=True).start()
    second.close()
    theirs.close()
    seconds = iter(_lead(_End(first, ours), schedule))
    times: dict[int, dict[str, list[float]]] = {}
    for size, way in kinds:
        times.setdefault(size, {})[way] = list(itertools.islice(seconds, of_each))[WARM_UPS:]
    print(json.dumps(times))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
