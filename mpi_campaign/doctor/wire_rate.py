"""How long messages take on a wire, beside their bytes divided by its rate: there, back, and both ways at once.

    python -m mpi_campaign.launching.wire --rate 2gbit -- python -m mpi_campaign.doctor.wire_rate 131072,1048576 21

It needs no MPI library: two threads hold the ends of one connection of TCP. Only payload is counted: the headers of
packets (0.7 % of packets of 9000 bytes, 1.5 % of 4500) make a message take longer than that.
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

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


class _Ends:
    """Both ends of a connection. The second one has a thread."""

    def __init__(self) -> None:
        server = socket.create_server(("127.0.0.1", 0))
        self.ends = (socket.create_connection(server.getsockname()), server.accept()[0])
        for end in self.ends:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def seconds(self, size: int, senders: Sequence[int]) -> float:
        """From a sender's start to its receiver's end: of several that send at once, the longest. How far their starts
        are apart is not the wire's."""
        together = threading.Barrier(2 * len(senders))
        began, ended = [0.0] * len(self.ends), [0.0] * len(self.ends)
        threads = [threading.Thread(target=self._send, args=(i, size, together, began)) for i in senders]
        threads += [threading.Thread(target=self._receive, args=(1 - i, size, together, ended)) for i in senders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return max(ended[1 - i] - began[i] for i in senders)

    def _send(self, end: int, size: int, together: threading.Barrier, began: list[float]) -> None:
        data = bytes(size)
        together.wait()
        time.sleep(PAUSE_SECONDS)
        began[end] = time.monotonic()
        self.ends[end].sendall(data)

    def _receive(self, end: int, size: int, together: threading.Barrier, ended: list[float]) -> None:
        into = memoryview(bytearray(size))
        together.wait()
        received = 0
        while received < size:
            received += self.ends[end].recv_into(into[received:])
        ended[end] = time.monotonic()


def main(arguments: Sequence[str]) -> int:
    sizes, repetitions = map(int, arguments[0].split(",")), int(arguments[1])
    ends = _Ends()
    senders = dict(zip(WAYS, ([0], [1], [0, 1]), strict=True))
    ends.seconds(1 << 20, [0, 1])  # windows grow
    print(
        json.dumps(
            {
                size: {way: [ends.seconds(size, who) for _ in range(repetitions)] for way, who in senders.items()}
                for size in sizes
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
