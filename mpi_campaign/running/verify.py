"""Did a case run as it was asked to? Judged from its record, which the benchmark wrote from inside the processes.

A broken promise is a fault, and fails the case: a wrong library, ranks that share a core, a wire that carried less than
the payload, a progress thread that is absent, did nothing or is not where it belongs.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpi_campaign import files
from mpi_campaign.libraries import registry
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.identity import reported_version
from mpi_campaign.libraries.versions import same_version
from mpi_campaign.networks import registry as networks
from mpi_campaign.networks.network import Proof
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS
from mpi_campaign.planning.cases import Case
from mpi_campaign.this_machine.host import cpu_list
from postprocess.drawing.text import plural
from postprocess.families import registry as families
from postprocess.families.axes import CORES_PER_RANK, NODES
from postprocess.families.family import Family
from postprocess.records.fields import RecordError
from postprocess.records.header import KEEPING_APART, Header, Placement, Thread

LEAST_WORK = 0.01
"""The least CPU time of a progress thread at work, relative to the time of communication alone.

In the archived runs, the least that a progress thread used is 11 %: it sleeps while the network works. Threads that a
library starts and leaves idle used 0.4 % at most.
"""
STARTING_NS = 20_000_000
"""CPU time that a library's idle threads may take to start. In the archived runs they take 8 ms at most, in runs of 9 s
and in one of 100 min."""


def faults_of_file(
    path: Path, case: Case, library: str, version: str, basic_path: Path | None, wire_report: Path
) -> list[str]:
    """The `faults` of a record file. A file that cannot be read is a fault too."""
    family = families.of_benchmark(case.benchmark)
    try:
        record = families.load(path, family)
        basic = families.load(basic_path, family) if basic_path else None
    except RecordError as error:
        return [unwritten(path, path.parent) or str(error)]
    if record.incomplete and (why := unwritten(path, path.parent)):
        return [why]
    return faults(record, case, library, version, basic, wire_report)


def unwritten(record: Path, folder: Path) -> str:
    """That a record was cut off because the file system of a folder is full; empty where that is not full.  record:
    what there is of the record, which names the node of rank 0.  folder: where the rank wrote it."""
    full = files.why_full(folder)
    if not full or not record.exists():
        return full
    host = _host_of_rank_0(record)
    return f"rank 0{f' on {host}' if host else ''} could not write its record: {full}"


def _host_of_rank_0(record: Path) -> str:
    """The host of rank 0 by the header of a record; empty where there is no whole header."""
    try:
        with record.open(encoding="utf-8") as stream:
            header = json.loads(stream.readline())
        return next(str(place["host"]) for place in header["placement"] if place["rank"] == 0)
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return ""


def faults(record: Any, case: Case, library: str, version: str, basic: Any, wire_report: Path) -> list[str]:
    """Every difference between a record and what its case promised, each as one phrase; empty when there is none.

    record: a record of the family of the case's benchmark, with a header that says where the ranks ran.
    library, version: family and version of the toolchain's MPI library.
    basic: the record of `basic` of the identical case, with which other configurations are compared; None without it.
    wire_report: the file that the network's launcher wrote. It is read only where the network has a link of its own.
    """
    header, family = record.header, families.of_benchmark(case.benchmark)
    all_faults = [record.incomplete] if record.incomplete else []
    all_faults += [*family.audit.wrong(record), *_of_identity(header, case, library, version), *of_axes(header, case)]
    all_faults += [*_of_nodes(header, case), *_of_share(header, case), *_of_cpus(header), *_of_placement(header)]
    if header.configuration == case.configuration:
        for spent in family.inside.spent(record) if family.inside is not None else ():
            all_faults += _of_idle_threads(header, library, spent.mpi_ns, spent.wall_seconds)
    if header.configuration == case.configuration != "basic":
        progresses = registry.library(library).progresses
        all_faults += _of_configuration(header, basic.header if basic else None, progresses=progresses)
        all_faults += _of_work(record, None if progresses else basic, family)
    if (payload := family.audit.payload) is not None:
        all_faults += _of_way(record, networks.of(case.network).proof, payload, wire_report)
    return list(dict.fromkeys(all_faults))


def _of_way(record: Any, proof: Proof, payload: Callable[[Any], int], wire_report: Path) -> Iterator[str]:
    """The faults of the bytes that a record shows, by what proves that messages took its network."""
    sent = _tcp_bytes(record)
    if proof == Proof.LINK:
        yield from of_carried(payload(record), wire_report)
    if proof in (Proof.LINK, Proof.TCP) and sent is not None and sent < (expected := payload(record)):
        yield f"the ranks sent {sent} bytes over TCP, less than the payload of {expected}: something else was used"
    if proof == Proof.NO_TCP and sent is not None:
        # In the least payload, the ranks of a node count as one where they share memory; here each counts alone.
        least = payload(replace(record, header=replace(record.header, network=KEEPING_APART[0])))
        if 0 < least <= sent:
            yield f"the ranks sent {sent} bytes over TCP, as much as the payload of {least}, instead of sharing memory"


def of_names(of: object, case: Case, names: Iterable[str]) -> Iterator[str]:
    """A fault for each of these fields in which a record, or its header, differs from its case."""
    for name in names:
        if getattr(of, name) != getattr(case, name):
            yield f"{name} is {getattr(of, name)}, not {getattr(case, name)}"


def of_axes(header: Header, case: Case) -> Iterator[str]:
    """A fault for each axis whose value in the record is not that of the case."""
    for choice in BENCHMARKS[case.benchmark].choices:
        name, expected = choice.name, case.parameters[choice.name]
        planned = header.plan.parameters.get(name, ())
        if expected not in planned:
            yield f"{name} is {', '.join(map(str, planned)) or 'not told'}, not {expected}"


def _of_identity(header: Header, case: Case, family: str, version: str) -> Iterator[str]:
    yield from of_names(header, case, ("toolchain", "provider", "configuration", "network", "benchmark"))
    reported = reported_version(family, header.mpi_library_version)
    first_line = header.mpi_library_version.strip().splitlines()[0] if header.mpi_library_version.strip() else "nothing"
    if reported is None:
        yield f"the library says that it is not {registry.library(family).title}: {first_line}"
    elif reported and not same_version(version, reported):
        yield f"the library says that it is version {reported}, not {version}"


def _of_share(header: Header, case: Case) -> Iterator[str]:
    share = header.threads_per_rank + header.progress.given_up_cores
    expected = case.parameters[CORES_PER_RANK.name]
    if expected and not header.oversubscribed and share != expected:
        yield f"each rank has {share} cores, not {expected}"


def _of_nodes(header: Header, case: Case) -> Iterator[str]:
    """There must be as many ranks as was asked for, on as many nodes and on these, and each must have equally many.
    Ranks that do not find each other are worlds of one rank each."""
    if header.ranks != (asked := header.metadata.get("ranks", header.ranks)):
        yield f"the run was of {plural(header.ranks, 'rank')}, not of {asked}"
    hosts = sorted({rank.host for rank in header.placement})
    if header.nodes != (expected := case.parameters[NODES.name]):
        yield f"the ranks ran on {plural(header.nodes, 'node')} ({', '.join(hosts)}), not on {expected}"
    if hosts != (wanted := sorted(header.metadata.get("hosts", hosts))):
        yield f"the ranks ran on {', '.join(hosts)}, not on {', '.join(wanted)}"
    ranks_on = Counter((rank.node, rank.host) for rank in header.placement)
    if len(set(ranks_on.values())) > 1:
        each = ", ".join(f"{count} on {host}" for (_, host), count in sorted(ranks_on.items()))
        yield f"the nodes do not have equally many ranks: {each}"


def _of_cpus(header: Header) -> Iterator[str]:
    """Every rank must run on CPUs that the campaign may use on its host. A bound rank must run on those that it got."""
    by_host = header.metadata.get("by_host", {})
    before: Counter[int] = Counter()  # ranks by node
    for rank in header.placement:
        placed = by_host.get(rank.host, {}) if by_host else header.metadata
        allowed, shares, local = placed.get("allowed_cpus", ""), placed.get("shares", []), before[rank.node]
        before[rank.node] += 1
        mine, where = cpu_list(rank.cpuset), f"rank {rank.rank} on {rank.host} may run on CPUs {rank.cpuset}"
        if by_host and not placed:
            yield f"rank {rank.rank} runs on {rank.host}, which is none of the hosts: {', '.join(by_host)}"
        elif allowed and not mine <= cpu_list(allowed):
            yield f"{where}; the campaign may use CPUs {allowed} only"
        elif local < len(shares) and not mine <= cpu_list(shares[local]):
            yield f"{where}; its share is CPUs {shares[local]}"


def _of_placement(header: Header) -> Iterator[str]:
    if header.oversubscribed:
        return  # the record says so, and so do all tables and reports
    users = Counter(
        (rank.node, cpuset) for rank in header.placement for cpuset in rank.compute_cpusets if cpuset.isdigit()
    )
    for (node, cpu), count in users.items():
        if count > 1:
            yield f"{count} computing threads are bound to CPU {cpu} of node {node}"


def _of_configuration(header: Header, basic: Header | None, *, progresses: bool) -> Iterator[str]:
    """Faults in what the configuration promises (CONFIGURATIONS), compared with `basic` where that was measured.
    progresses: the library has progress threads in `basic` too."""
    configuration = CONFIGURATIONS[header.configuration]
    if header.progress.source != configuration.progress:
        yield f"its progress thread is of {header.progress.source}, not of {configuration.progress}"
        return
    if basic is not None and basic.ranks != header.ranks:
        yield f"{header.ranks} ranks, {basic.ranks} in basic"
        return
    yield from _of_computing_threads(header, basic)
    if configuration.bound:
        yield from _of_dedicated_cores(header)
    if configuration.progress == "application":
        yield from _of_helper_threads(header)
    elif basic is not None:
        yield from _of_library_threads(header, basic, progresses=progresses)


def _of_computing_threads(header: Header, basic: Header | None) -> Iterator[str]:
    """Each rank must compute on as many threads as in `basic`, less the cores that it gave up. A rank gives up one core
    where the configuration says so; a bound rank that is oversubscribed may keep it."""
    configuration, given_up = CONFIGURATIONS[header.configuration], header.progress.given_up_cores
    if given_up != configuration.gives_up_core and not (configuration.bound and header.oversubscribed):
        yield f"each rank gave up {given_up} cores, not {int(configuration.gives_up_core)}"
    if basic is not None and header.threads_per_rank != basic.threads_per_rank - given_up:
        beside = f"{basic.threads_per_rank} in basic, {given_up} given up"
        yield f"{header.threads_per_rank} threads of each rank compute: {beside}"


def _of_dedicated_cores(header: Header) -> Iterator[str]:
    for rank in header.placement:
        dedicated = cpu_list(rank.dedicated_cpuset)
        if not dedicated:
            yield f"rank {rank.rank} has no dedicated core"
        elif not header.oversubscribed and any(cpu_list(cpuset) & dedicated for cpuset in rank.compute_cpusets):
            yield f"rank {rank.rank} computes on CPU {rank.dedicated_cpuset}, its dedicated core"


def _of_helper_threads(header: Header) -> Iterator[str]:
    """Every rank must have a progress thread of the application, on its dedicated core."""
    if header.thread_level_provided != "multiple":
        yield f"the library provides MPI_THREAD_{header.thread_level_provided.upper()}, not MPI_THREAD_MULTIPLE"
    for rank in header.placement:
        if not rank.helper_threads:
            yield f"rank {rank.rank} has no progress thread of the application"
        yield from _of_binding(rank, rank.helper_threads, len(rank.helper_threads))


def _of_library_threads(header: Header, basic: Header, *, progresses: bool) -> Iterator[str]:
    """The library must have a progress thread where one is promised, and else no more threads than in `basic`. The
    thread must run where the configuration puts it."""
    configuration = CONFIGURATIONS[header.configuration]
    is_promised = configuration.progress == "library"
    for rank, base in zip(header.placement, basic.placement, strict=True):
        more = len(rank.mpi_threads) - (0 if progresses else len(base.mpi_threads))
        beside = f"{len(rank.mpi_threads)} threads of the library, {len(base.mpi_threads)} in basic"
        if is_promised and more <= 0:
            yield f"rank {rank.rank} has no progress thread: {beside}"
        elif not is_promised and len(rank.mpi_threads) > len(base.mpi_threads):
            yield f"rank {rank.rank} has a progress thread, and was to have none: {beside}"
        elif configuration.bound:
            yield from _of_binding(rank, rank.mpi_threads, 1 if progresses else more)
        elif is_promised and configuration.gives_up_core:
            yield from _of_freedom(rank, 1 if progresses else more)


def _of_work(record: Any, basic: Any, family: Family) -> Iterator[str]:
    """Each rank's progress thread must have used the processor, the library's more than its threads did in basic.

    A count alone proves nothing: libraries start idle threads of their own, which wake up now and then. Where nothing
    is communicated a progress thread may sleep: there is nothing to do.
    """
    source, footer = CONFIGURATIONS[record.header.configuration].progress, record.footer
    communicated_ns = family.audit.communicated_ns(record) if family.audit.communicated_ns is not None else 0.0
    if footer is None or not communicated_ns:
        return
    if source == "application":
        busy, idle = footer.helper_thread_cpu_ns, [0.0] * record.header.ranks
    elif source == "library" and basic is not None and basic.footer is not None:
        busy = footer.mpi_thread_cpu_ns
        longer = footer.wall_seconds / max(basic.footer.wall_seconds, 1e-9)
        idle = [sum(spent) * longer for spent in basic.footer.mpi_thread_cpu_ns]
    else:
        return
    for number, (spent, unasked) in enumerate(zip(busy, idle, strict=False)):
        worked = (sum(spent) - unasked) / communicated_ns
        if spent and worked < LEAST_WORK:  # a missing thread is a fault of its own
            beyond = " more than in basic" if source == "library" else ""
            yield (
                f"rank {number}'s progress thread did nothing: of the time of communication alone it was {worked:.1%} "
                f"on the CPU{beyond}"
            )


def _of_idle_threads(
    header: Header, family: str, cpu_ns: Sequence[Sequence[float]], wall_seconds: float
) -> Iterator[str]:
    """Where no progress thread was asked for, the library's threads must not use the processor as one does.

    The limit is a share of the whole wall time, because a thread that polls uses all of it. This is checked only where
    the campaign chose the transport and knows how to switch the progress thread off. Otherwise whatever the library
    does by itself, with a network's own threads for example, belongs to its `basic`.

    cpu_ns: CPU time by rank and by thread that the library started.
    """
    entry = registry.library(family)
    facts = (
        "async" in entry.configurations and not entry.progresses and not networks.of(header.network).chosen_by_library
    )
    if not facts or CONFIGURATIONS[header.configuration].progress == "library":
        return
    for number, spent in enumerate(cpu_ns):
        if sum(spent) > LEAST_WORK * wall_seconds * 1e9 + STARTING_NS:
            yield (
                f"rank {number}'s threads of the library used {sum(spent) / 1e9:.1f} s of CPU in "
                f"{wall_seconds:.1f} s: they make progress, and were not to"
            )


def _of_binding(rank: Placement, threads: Sequence[Thread], fewest: int) -> Iterator[str]:
    """At least `fewest` of these threads must be bound to the rank's dedicated core."""
    dedicated = cpu_list(rank.dedicated_cpuset)
    if not dedicated:
        return  # the missing dedicated core is a fault of its own
    elsewhere = [thread.cpuset for thread in threads if not cpu_list(thread.cpuset) <= dedicated]
    if len(threads) - len(elsewhere) < fewest:
        yield (
            f"rank {rank.rank}'s progress thread may run on CPU {elsewhere[-1]}, not on its dedicated core "
            f"{rank.dedicated_cpuset} alone"
        )


def _of_freedom(rank: Placement, fewest: int) -> Iterator[str]:
    """At least `fewest` of the library's threads must be free to run on more than one core of the rank."""
    free = [
        thread
        for thread in rank.mpi_threads
        if len(cpu_list(thread.cpuset)) * rank.physical_cores > len(cpu_list(rank.cpuset))
    ]
    if len(free) < fewest:
        bound = next(thread.cpuset for thread in rank.mpi_threads if thread not in free)
        yield f"rank {rank.rank}'s progress thread is bound to CPU {bound}, and was not to be bound to a core"


def _tcp_bytes(record: Any) -> int | None:
    """Bytes that the connections of all ranks sent; None where the record does not say."""
    sent = record.footer.tcp_bytes_sent if record.footer is not None else None
    counted = [rank for rank in sent or () if rank is not None]
    return sum(counted) if sent is not None and len(counted) == len(sent) else None


def of_carried(expected: int, wire_report: Path) -> Iterator[str]:
    """A wire must have carried at least the payload, by the report of its launcher."""
    try:
        carried = int(json.loads(wire_report.read_text())["link_bytes"])
    except (OSError, ValueError, KeyError) as error:
        yield f"the wire's launcher left no report ({error})"
        return
    if carried < expected:
        yield f"the wire carried {carried} bytes, less than the payload of {expected}: something else was used"
