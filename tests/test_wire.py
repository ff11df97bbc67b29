"""The wire: a loopback of its own, limited, counted; the machine's own is never touched."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.doctor import wire_rate
from mpi_campaign.launching import wire
from mpi_campaign.launching.netlink import IPRoute
from mpi_campaign.networks import rates
from tests.support import as_another_user

SEND = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def drain():
    peer, _ = server.accept()
    while peer.recv(65536): pass
reader = threading.Thread(target=drain); reader.start()
client = socket.create_connection(server.getsockname())
client.sendall(bytes(1_000_000)); client.close(); reader.join()
"""


def over_wire(
    *words: str, report: Path | None = None, env: dict[str, str] | None = None, rate: str = "1gbit"
) -> subprocess.CompletedProcess[str]:
    options = ["--report", str(report)] if report else []
    return subprocess.run(
        [sys.executable, "-m", "mpi_campaign.launching.wire", "--rate", rate, *options, "--", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=env,
        check=False,
    )


def queueing_of_loopback() -> list[str]:
    with IPRoute() as netlink:
        index = netlink.link_lookup(ifname="lo")[0]
        return [message.get_attr("TCA_KIND") for message in netlink.get_qdiscs(index=index)]


@pytest.mark.needs("wire")
def test_the_link_counts_what_crossed_it(tmp_path: Path) -> None:
    report = tmp_path / "wire.json"
    done = over_wire(sys.executable, "-c", SEND, report=report)
    assert done.returncode == 0, done.stderr
    assert 1_000_000 < json.loads(report.read_text())["link_bytes"] < 2_000_000


BUFFER = "import socket; print(socket.socket().getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))"


@pytest.mark.needs("wire")
@pytest.mark.parametrize(("most", "says"), [("20480", ""), ("12k", "wire: CAMPAIGN_WIRE_SOCKET_BYTES is '12k'")])
def test_the_buffers_of_sockets_can_be_bound(monkeypatch: pytest.MonkeyPatch, most: str, says: str) -> None:
    monkeypatch.setenv(wire.SOCKET_BYTES, most)
    done = over_wire(sys.executable, "-c", BUFFER)
    assert (done.stdout.strip() == "20480") is (says == "")
    assert done.stderr.startswith(says)


SEND_AFTER_A_PAUSE = """
import socket, threading, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
def receive(left):
    while left: left -= len(peer.recv(left))
for _ in range(3):
    time.sleep(0.2)
    reader = threading.Thread(target=receive, args=(300_000,)); reader.start()
    began = time.monotonic()
    client.sendall(bytes(300_000)); reader.join()
    print(time.monotonic() - began)
"""


@pytest.mark.needs("wire")
@pytest.mark.parametrize("rate", ["20mbit", "50mbit", "400mbit", "2gbit"])
def test_a_wire_that_was_idle_owes_no_more_than_it_says(rate: str) -> None:
    """Else what is timed after a computation is faster than what is timed after communication."""
    done = over_wire(sys.executable, "-c", SEND_AFTER_A_PAUSE, rate=rate)
    least = (300_000 - rates.burst_bytes(rate) - rates.packet_bytes(rate)) / rates.bytes_per_second(rate)
    assert len(done.stdout.split()) == 3, done.stderr
    for took in map(float, done.stdout.split()):
        assert took > 0.98 * least


@given(st.integers(1, 32_000))
def test_a_wire_settles_soon(mbit: int) -> None:
    rate = f"{mbit}mbit"
    owed = rates.bucket_bytes(rate)
    assert rates.settle_ns(rate) >= owed / rates.bytes_per_second(rate) * 1e9
    if mbit >= 50:
        assert rates.settle_ns(rate) < 1_000_000


BOTH_WAYS = """
import socket, threading, time
server = socket.create_server(("127.0.0.1", 0))
ends = [socket.create_connection(server.getsockname()), server.accept()[0]]
def receive(end):
    left = 500_000
    while left: left -= len(end.recv(left))
def take(senders):
    threads = [threading.Thread(target=receive, args=(ends[1 - i],)) for i in senders]
    threads += [threading.Thread(target=ends[i].sendall, args=(bytes(500_000),)) for i in senders]
    began = time.monotonic()
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return time.monotonic() - began
for senders in ([0], [1], [0, 1]): print(min(take(senders) for _ in range(5)))
"""


@pytest.mark.needs("wire")
def test_both_directions_have_a_rate_of_their_own() -> None:
    """Slow enough that no machine is busy with it: the shortest of five is the wire's."""
    done = over_wire(sys.executable, "-c", BOTH_WAYS, rate="50mbit")
    there, back, both = map(float, done.stdout.split())
    assert min(there, back) > 0.95 * 0.08, done.stderr
    assert both < 1.5 * max(there, back)


@pytest.mark.needs("wire")
def test_inside_is_limited_and_outside_is_as_before() -> None:
    look = "import sys; sys.path.insert(0, 'tests'); import test_wire; print(test_wire.queueing_of_loopback())"
    before = queueing_of_loopback()
    buffers = Path("/proc/sys/net/ipv4/tcp_wmem").read_text()
    done = over_wire(sys.executable, "-c", look)
    assert "htb" in done.stdout, done.stderr
    assert queueing_of_loopback() == before
    assert "htb" not in before
    assert Path("/proc/sys/net/ipv4/tcp_wmem").read_text() == buffers


@pytest.mark.needs("wire")
def test_the_exit_code_is_the_commands() -> None:
    assert over_wire("sh", "-c", "exit 7").returncode == 7
    assert over_wire("sh", "-c", "kill -9 $$").returncode == 128 + 9
    missing = over_wire("/nonexistent/mpiexec")
    assert missing.returncode == 127
    assert missing.stderr.startswith("wire: /nonexistent/mpiexec")


@pytest.mark.needs("wire")
@pytest.mark.needs("another-user")
def test_an_ordinary_user_gets_a_wire_through_a_user_namespace() -> None:
    words, environment = as_another_user("-m", "mpi_campaign.launching.wire", "--rate", "1gbit", "--", "id", "-u")
    done = subprocess.run(words, capture_output=True, text=True, cwd="/", check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, "65534\n"), done.stderr


@given(st.integers(1, 32), st.sampled_from(["gbit"]))
def test_rates_are_bits_per_second(number: int, unit: str) -> None:
    assert rates.bytes_per_second(f"{number}{unit}") == number * 10**9 // 8


@given(st.text(max_size=12))
def test_other_rates_are_refused(text: str) -> None:
    try:
        assert rates.bytes_per_second(text) >= 125_000
    except ValueError as error:
        assert "2gbit" in str(error)


@pytest.mark.needs("wire")
def test_a_rate_is_measured_in_each_way_and_a_wire_that_cannot_be_made_is_told() -> None:
    seen = wire_rate.measure("50mbit", [65536], 3)
    assert [one.way for one in seen] == list(wire_rate.WAYS)
    assert all(one.ratio > 0.8 for one in seen)  # no faster than the rate, but for the bucket and a packet or two
    with pytest.raises(OSError, match="not a rate"):
        wire_rate.measure("fast", [65536], 3)
