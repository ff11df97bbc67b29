"""LogGP parameters and the equations under SimGrid, a simulator in which the truth is planted.

Its ranks are threads of one process, so that only programs without threads of their own run in it. Their times are
simulated. The records lie in a temporary folder and never come into an archive.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from postprocess.families.cpu_overhead.table import any_record, cpu_table
from postprocess.records.reading import load_record
from postprocess.statistics import loggp

pytestmark = [
    pytest.mark.rare,  # a build with another MPI, and minutes of simulation
    pytest.mark.slow,
    pytest.mark.needs("simgrid"),
    pytest.mark.timeout(1800),
]

HOSTS = 64
LINK_LATENCY_NS, BYTES_PER_SECOND = 5000, 1e9  # a message takes two links
SEND_NS, RECEIVE_NS = 1000, 2000
TRUTH = loggp.Parameters(
    latency=2 * LINK_LATENCY_NS, overhead=(SEND_NS + RECEIVE_NS) / 2, gap_per_byte=1e9 / BYTES_PER_SECOND
)
PLATFORM = f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="node-" radical="0-{HOSTS - 1}" suffix="" speed="1Gf" bw="1GBps" lat="{LINK_LATENCY_NS}ns"/>
</platform>
"""
PLANTED = (
    f"smpi/os:0:{SEND_NS}e-9:0", f"smpi/or:0:{RECEIVE_NS}e-9:0", "smpi/ois:0:0:0", "smpi/bw-factor:0:1",
    "smpi/lat-factor:0:1", "network/TCP-gamma:0", "network/crosstraffic:0",
    # The algorithms that the equations describe.
    "smpi/barrier:ompi_bruck", "smpi/bcast:binomial_tree", "smpi/reduce:binomial", "smpi/allreduce:redbcast",
    # The programs compute nothing; reading the clock takes a while, so that waiting for a time ends.
    "smpi/simulate-computation:no",
)  # fmt: skip
ALL_EAGER = 100_000_000
"""Every message is shorter: it is sent at once, without waiting for its receiver."""
Simulate = Callable[..., Path]


def succeed(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.fixture(scope="module")
def simulate(tmp_path_factory: pytest.TempPathFactory) -> Simulate:
    """A function that runs a program on simulated hosts, and returns its record."""
    folder = tmp_path_factory.mktemp("simulated")
    tools = ROOT / ".venv" / "bin"
    shim = ROOT / "benchmarks" / "tests" / "simulated_mpi.h"
    flags = "-fPIC -w -D_GNU_SOURCE -DSMPI_NO_OVERRIDE_MALLOC -I/usr/include/smpi -include smpi/smpi_helpers.h"
    succeed(
        str(tools / "cmake"), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}",
        "-S", str(ROOT / "benchmarks"), "-B", str(folder / "build"), "-DCAMPAIGN_TESTS=OFF", "-DCAMPAIGN_WERROR=OFF",
        "-DMPI_C_COMPILER=smpicc", f"-DCMAKE_C_FLAGS={flags} -include {shim}", "-DCMAKE_EXE_LINKER_FLAGS=-shared",
        f"-DBLAS_ROOT={blas_root()}",
    )  # fmt: skip
    succeed(str(tools / "cmake"), "--build", str(folder / "build"), "--target", "loggp", "cpu_overhead")
    (folder / "platform.xml").write_text(PLATFORM)
    (folder / "hosts").write_text("".join(f"node-{number}\n" for number in range(HOSTS)))

    def run(program: str, ranks: int, clock_ns: int, *words: str, waiting_bytes: int = ALL_EAGER) -> Path:
        """clock_ns: the time of reading the clock.  waiting_bytes: the smallest message that waits for its receiver."""
        record = folder / f"{program}-{ranks}-{waiting_bytes}.jsonl"
        thresholds = (f"smpi/{name}-thresh:{waiting_bytes}" for name in ("async-small", "send-is-detached"))
        succeed(
            "smpirun", "-np", str(ranks), "-platform", str(folder / "platform.xml"), "-hostfile", str(folder / "hosts"),
            *(f"--cfg={setting}" for setting in (*PLANTED, *thresholds, f"smpi/wtime:{clock_ns}e-9")),
            "--log=root.thres:critical",
            str(folder / "build" / program), *words, "--min-repetitions", "6", "--max-repetitions", "6",
            "--network", "simulated", "--provider", "simulated", "--record", str(record),
        )  # fmt: skip
        # Not held against its schema: the program begins in real time, before the simulated clock, which starts at 0.
        return record

    return run


def blas_root() -> Path:
    import scipy_openblas32  # noqa: PLC0415

    return Path(scipy_openblas32.__file__).parent


def test_planted_parameters_are_found_within_5_percent(simulate: Simulate) -> None:
    table = cpu_table([any_record(load_record(simulate("loggp", 2, 10, "--start", "barrier")))])
    assert len(table) == 8
    assert table["valid"].all()
    row = table.iloc[0]
    assert row["pair"] == "between_nodes"
    assert row["o_send_ns"] == pytest.approx(SEND_NS, rel=0.05)
    assert row["o_recv_ns"] == pytest.approx(RECEIVE_NS, rel=0.05)
    assert row["L_ns"] == pytest.approx(TRUTH.latency, rel=0.05)
    assert row["G_ns_per_byte"] == pytest.approx(TRUTH.gap_per_byte, rel=0.05)
    assert row["g_hidden"]  # SimGrid has no gap beside o
    assert table["waiting_bytes"].isna().all()
    assert set(table["network"]) == {"simulated"}


@pytest.mark.parametrize("waiting_bytes", [1000, 8192, 65544])
def test_a_planted_eager_threshold_is_found_exactly(simulate: Simulate, waiting_bytes: int) -> None:
    """Messages are multiples of 8 bytes long, and so is the threshold."""
    record = simulate("loggp", 2, 10, "--start", "barrier", waiting_bytes=waiting_bytes)
    table = cpu_table([any_record(load_record(record))])
    assert set(table["waiting_bytes"]) == {waiting_bytes}
    assert set(table["eager_bytes"]) == {waiting_bytes - 8}


def test_the_equations_hold_within_20_percent_for_short_messages(simulate: Simulate) -> None:
    """Of calls whose ranks begin together: from a deadline, one call at a time."""
    record = simulate(
        "cpu_overhead", HOSTS, 1000, "--start", "deadline", "--calls", "1", "--ways", "blocking", "--message-bytes",
        "8", "--communicators", "2,4,8,16,32,64", "--collective", "barrier,bcast,allreduce",
    )  # fmt: skip
    rows = cpu_table([any_record(load_record(record))]).to_dict("records")
    assert len(rows) == 18
    for row in rows:
        predicted = loggp.MODELLED[row["operation"]](TRUTH, row["communicator_ranks"], row["message_bytes"])
        assert row["t_wall_ns"] == pytest.approx(predicted.whole, rel=0.2), row
