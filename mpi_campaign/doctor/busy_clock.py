"""Whether the common clock stays right beside busy threads, such as a progress thread on the core of a rank."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mpi_campaign.children import environ
from mpi_campaign.launching import node_agent, nodes
from mpi_campaign.libraries import launches
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Hosts, Impossible, Request, Settings
from mpi_campaign.this_machine import machine
from mpi_campaign.this_machine.findings import NOTE, Finding, finding
from mpi_campaign.toolchains.resolving import Toolchain
from postprocess.drawing.text import duration
from postprocess.families.timing_selfcheck.record import Selfcheck, load_selfcheck
from postprocess.records.fields import RecordError

SECTIONS = ("--only", "clock,start", "--hold", "0.5", "--starts", "100")
UNRELIABLE_SHARE = 0.1
"""The share of its shortest time by which clocks may disagree in a point of the maps. Some families allow less (their
`validity`)."""
SHORTEST_TIME_NS = 500_000
"""The shortest time of the suites' points."""
_WITHOUT = "points of progress threads that share a core will be unreliable: give them cores of their own"
_BUSY = "import os, sys\nos.sched_setaffinity(0, [int(sys.argv[1])])\nwhile os.getppid() == int(sys.argv[2]): pass"


@dataclass(frozen=True)
class Place:
    """A launch beside busy threads. where: in words.  record: None where there is none, and trouble says why."""

    where: str
    record: Path | None
    trouble: str = ""


def between_nodes(toolchain: Toolchain, placement: Placement) -> Settings | Impossible:
    """The settings of a launch over two nodes in a box, with as many ranks as on this one."""
    if refusal := machine.nodes_refusal():
        return Impossible(refusal)
    hosts = Hosts(tuple(nodes.Layout().hosts), str(node_agent.AGENT))
    spread = Placement(len(hosts.names), placement.ranks // len(hosts.names), placement.threads_per_rank)
    request = Request(Path(toolchain.prefix), toolchain.version, "basic", "tcp", placement)
    return launches.launch(toolchain.family, replace(request, placement=spread, hosts=hosts))


@contextlib.contextmanager
def busy(cpus: Sequence[int]) -> Iterator[None]:
    """A busy process on each of these CPUs, until the end of the context."""
    words = [sys.executable, "-c", _BUSY]
    processes = [
        subprocess.Popen([*words, str(cpu), str(os.getpid())], env=environ.built(environ.LAUNCH)) for cpu in cpus
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def findings(places: Sequence[Place]) -> Iterator[Finding]:
    """What was seen in each place, with the limit that makes a point unreliable."""
    for place in places:
        name = f"busy clock, {place.where}"
        try:
            yield _judged(name, load_selfcheck(place.record)) if place.record else _unknown(name, place.trouble)
        except RecordError as error:
            yield _unknown(name, str(error))


def _unknown(name: str, why: str) -> Finding:
    return Finding(name, NOTE, f"not measured: {why}", "points of progress threads that share a core will show it")


def _judged(name: str, record: Selfcheck) -> Finding:
    clock = record.clock
    if clock is None or clock.method == "none" or not clock.residuals:
        why = clock.refusal or clock.reason if clock else "the launch ended early"
        return Finding(name, NOTE, f"beside a busy thread per core there is no common clock: {why}", _WITHOUT)
    residual = max(residual.with_drift_ns for residual in clock.residuals)
    deadlines = [
        start.imbalance_ns for start in record.starts if start.method == "deadline" and start.imbalance_ns.size
    ]
    apart = f"; ranks began apart by {duration(float(np.percentile(deadlines[0], 95)))} (p95)" if deadlines else ""
    limit = UNRELIABLE_SHARE * SHORTEST_TIME_NS
    seen = f"beside a busy thread per core {clock.method}, off by {duration(residual)}{apart}; the limit for times of "
    seen += f"{duration(SHORTEST_TIME_NS)} is {duration(limit)}"
    return finding(name, seen, not residual <= limit, _WITHOUT)
