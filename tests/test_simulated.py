"""LogGP parameters, the equations, and machines with faults under SimGrid, a simulator in which the truth is planted.

Its ranks are threads of one process, so that only programs without threads of their own run in it. Their times are
simulated. The records lie in a temporary folder and never come into an archive.
"""

import itertools
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mpi_campaign import ROOT
from postprocess.families.cpu_overhead.table import any_record, cpu_table
from postprocess.families.whole_machine.entry import WHOLE_MACHINE, MachineRecord, machine_table
from postprocess.families.whole_machine.verdict import judged
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
HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
"""
PLATFORM = f"""{HEAD}<platform version="4.1">
  <cluster id="c" prefix="node-" radical="0-{HOSTS - 1}" suffix="" speed="1Gf" bw="1GBps" lat="{LINK_LATENCY_NS}ns"/>
</platform>
"""
PLANTED = (
    f"smpi/os:0:{SEND_NS}e-9:0", f"smpi/or:0:{RECEIVE_NS}e-9:0", "smpi/ois:0:0:0", "smpi/bw-factor:0:1",
    "smpi/lat-factor:0:1", "network/TCP-gamma:0", "network/crosstraffic:0",
    # The algorithms that the equations describe.
    "smpi/barrier:ompi_bruck", "smpi/bcast:binomial_tree", "smpi/reduce:binomial", "smpi/allreduce:redbcast",
    # Reading the clock takes a while, so that waiting for a time ends.
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
    succeed(
        str(tools / "cmake"), "--build", str(folder / "build"), "--target", "loggp", "cpu_overhead", "whole_machine"
    )

    def run(
        program: str, ranks: int, clock_ns: int, *words: str, waiting_bytes: int = ALL_EAGER, platform: str = ""
    ) -> Path:
        """clock_ns: the time of reading the clock.  waiting_bytes: the smallest message that waits for its receiver.
        platform: another machine."""
        (folder / "platform.xml").write_text(platform or PLATFORM)
        (folder / "hosts").write_text("".join(f"node-{number}\n" for number in range(ranks)))
        record = folder / f"{program}-{ranks}-{waiting_bytes}.jsonl"
        record.unlink(missing_ok=True)
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


@dataclass(frozen=True)
class Machine:
    """Nodes below switches, and what is planted: a node that computes slower, a link with half its rate, and an uplink
    with half its rate. -1: none.  below: how many nodes are below one switch, all of which can send at once."""

    nodes: int
    below: int = 4
    slow_node: int = -1
    slow_link: int = -1
    slow_switch: int = -1

    @property
    def platform(self) -> str:
        nodes, switches = range(self.nodes), range(self.nodes // self.below)
        link = '<link id="{}" bandwidth="{}Bps" latency="5us" sharing_policy="SPLITDUPLEX"/>'
        lines = [f'<host id="node-{node}" speed="{0.7 if node == self.slow_node else 1}Gf"/>' for node in nodes]
        lines += [link.format(f"l{node}", 5e8 if node == self.slow_link else 1e9) for node in nodes]
        full = self.below * 1e9
        lines += [link.format(f"u{switch}", full / 2 if switch == self.slow_switch else full) for switch in switches]
        for first, second in itertools.combinations(nodes, 2):
            ways = [("UP", f"l{first}"), ("DOWN", f"l{second}")]
            if first // self.below != second // self.below:
                ways[1:1] = [("UP", f"u{first // self.below}"), ("DOWN", f"u{second // self.below}")]
            crossed = "".join(f'<link_ctn id="{name}" direction="{direction}"/>' for direction, name in ways)
            lines.append(f'<route src="node-{first}" dst="node-{second}">{crossed}</route>')
        zone = "\n".join(['<zone id="z" routing="Full">', *lines, "</zone>"])
        return f'{HEAD}<platform version="4.1">{zone}</platform>\n'

    @property
    def truth(self) -> set[tuple[str, tuple[str, ...]]]:
        named = {
            "node": ("node-", self.slow_node),
            "link": ("node-", self.slow_link),
            "switch": ("s", self.slow_switch),
        }
        return {(kind, (f"{name}{number}",)) for kind, (name, number) in named.items() if number >= 0}

    def measured(self, simulate: Simulate, folder: Path) -> MachineRecord:
        """The record of this machine."""
        switches = {f"node-{node}": f"s{node // self.below}" for node in range(self.nodes)}
        (folder / "metadata.json").write_text(json.dumps({"switches": switches}))
        facts = ("--metadata", str(folder / "metadata.json"))
        words = (*facts, "--threads", "1", "--start", "deadline", "--message-bytes", "1048576")
        path = simulate("whole_machine", self.nodes, 1000, *words, platform=self.platform)
        found: MachineRecord = WHOLE_MACHINE.view(load_record(path))
        return found


def test_three_faults_of_sixteen_nodes_are_named_in_each_of_twenty_machines(simulate: Simulate, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for number in range(21):
        planted = (int(rng.integers(16)), int(rng.integers(16)), int(rng.integers(4))) if number else ()
        machine = Machine(16, 4, *planted)
        (case,) = judged(machine_table([machine.measured(simulate, tmp_path)]))
        assert {(fault.kind, fault.names) for fault in case.faults} == machine.truth, machine
