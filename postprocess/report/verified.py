"""What the processes of a run found out about themselves: placement, progress, clocks, builds and variables.

Nothing here is what a configuration was asked for: it is what the record of each benchmark says was seen from inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from postprocess.drawing.text import duration, size
from postprocess.families import registry
from postprocess.families.family import Details, Family, Inside
from postprocess.records.fields import Json
from postprocess.records.header import Placement, Progress
from postprocess.records.run import Run


@dataclass(frozen=True)
class _RankView:
    rank: int
    host: str
    node: int
    cpuset: str
    compute: str
    dedicated: str
    threads: list[str]


@dataclass(frozen=True)
class Verified:
    """What the processes of one library, network and configuration said about themselves."""

    name: str
    facts: Details
    ranks: list[_RankView]


@dataclass(frozen=True)
class Told:
    """Records of one family that tell where they ran."""

    family: Family
    inside: Inside
    records: tuple[Any, ...]


def told_of(run: Run) -> list[Told]:
    """The records of a run that tell where they ran, by family."""
    found = [(one, one.inside, registry.read(run, one).records) for one in registry.FAMILIES]
    return [Told(family, inside, records) for family, inside, records in found if inside is not None and records]


def verified_of(told: Iterable[Told]) -> list[Verified]:
    """What is verified of each library, network and configuration, an idle library by itself."""
    return [_verified(name, one) for name, one in _configurations(told).items()]


def builds_of(told: Iterable[Told]) -> list[tuple[str, Json]]:
    """Toolchain and build, each different one once."""
    headers = [record.header for one in told for record in one.records]
    found = {(header.toolchain, repr(header.build)): header.build for header in headers}
    return [(toolchain, build) for (toolchain, _), build in found.items()]


def environments_of(told: Iterable[Told]) -> list[tuple[str, list[str], list[str]]]:
    """Name, variables and command lines of each configuration, each different one once."""
    return [
        (
            name,
            sorted({f"{key}={value}" for r in same.records for key, value in r.header.environment.items()}),
            list(dict.fromkeys(" ".join(r.header.command_line) for r in same.records)),
        )
        for name, same in _configurations(told).items()
    ]


def _configurations(told: Iterable[Told]) -> dict[str, Told]:
    """By name the records of each library, network and configuration."""
    found: dict[str, Told] = {}
    for one in told:
        for record in one.records:
            h = record.header
            name = f"{h.toolchain}, {h.network}, {one.inside.words(record)}"
            before = found[name].records if name in found else ()
            found[name] = Told(one.family, one.inside, (*before, record))
    return found


def _verified(name: str, told: Told) -> Verified:
    headers = [record.header for record in told.records]

    def values(texts: Iterable[object]) -> str:
        return "; ".join(dict.fromkeys(map(str, texts)))

    facts = [
        ("MPI library", values(h.mpi_library_version.strip().partition("\n")[0] for h in headers)),  # MPICH says a page
        ("MPI standard", values(h.mpi_standard for h in headers)),
        ("thread level", values(f"{h.thread_level_required} asked, {h.thread_level_provided} given" for h in headers)),
        ("processes", values(f"{h.ranks} on {h.nodes} node(s), {h.threads_per_rank} thread(s) each" for h in headers)),
        ("physical cores", values(h.physical_cores for h in headers)),
        ("oversubscribed", values("yes" if h.oversubscribed else "no" for h in headers)),
        ("shared core", values("yes" if h.shared_core else "no" for h in headers)),
        ("progress thread", values(map(_progress_words, (h.progress for h in headers)))),
        ("TCP connections carried", _carried(told)),
        ("transport, as the library was told or chose", _variables(headers)),
        *told.inside.timing(told.records),
    ]
    every = [(record.header.placement, spent) for record in told.records for spent in told.inside.spent(record)]
    # A rank that records found in different places has a line for each, with the time that it was there.
    cpu_ns = {place: [0] * (len(_threads(place)) + 1) for h in headers for place in h.placement}
    seconds = dict.fromkeys(cpu_ns, 0.0)
    for placement, spent in every:
        for i, place in enumerate(placement):
            seconds[place] += spent.seconds
            known = cpu_ns[place]
            own, its = (times[i] if i < len(times) else () for times in (spent.mpi_ns, spent.helper_ns))
            there = len(place.mpi_threads)
            for j, time in (*enumerate(own[:there]), *enumerate(its[: len(place.helper_threads)], start=there)):
                known[j] += time
            known[-1] += sum(own[there:])
    ranks = [
        _RankView(
            rank=place.rank,
            host=place.host,
            node=place.node,
            cpuset=place.cpuset,
            compute=" | ".join(place.compute_cpusets) or "-",
            dedicated=place.dedicated_cpuset or "-",
            threads=[
                f"{name} on {cpuset}: {_of_cpu(time, seconds[place])}"
                for (name, cpuset), time in zip(_threads(place), times[:-1], strict=True)
            ]
            + [f"started by the library while it was measured: {duration(time)} of CPU" for time in times[-1:] if time],
        )
        for place, times in sorted(cpu_ns.items(), key=lambda item: item[0].rank)
    ]
    return Verified(name, [(fact, value) for fact, value in facts if value], ranks)


def _of_cpu(time_ns: int, seconds: float) -> str:
    """CPU time of so many seconds; where a record was cut off nobody knows of any."""
    return f"{duration(time_ns)} of CPU in {seconds:.1f} s" if seconds > 0 else "CPU time is not known"


def _threads(place: Placement) -> list[tuple[str, str]]:
    """Name and CPUs of the threads that MPI started, and after them of the application's own progress threads."""
    own = [(f"{thread.name or 'helper'} (the application's)", thread.cpuset) for thread in place.helper_threads]
    return [(thread.name, thread.cpuset) for thread in place.mpi_threads] + own


def _progress_words(progress: Progress) -> str:
    """Whose, who binds it, and what is given up for it."""
    owners = {"none": "none asked for", "library": "the library's", "application": "the application's"}
    binders = {"none": "", "library": ", bound by the library", "program": ", bound by the benchmark"}
    whose, by = owners.get(progress.source, progress.source), binders.get(progress.pinned_by, "")
    given_up = f", {progress.given_up_cores} core(s) of each rank given up" if progress.given_up_cores else ""
    return f"{whose}{by}{given_up}"


def _carried(told: Told) -> str:
    """Over all ranks and records, and whether that is what went between nodes; empty where some do not say."""
    payload = told.family.payload
    if payload is None:
        return ""
    ends = [record.footer.tcp_bytes_sent if record.footer else None for record in told.records]
    ranks = [rank for sent in ends if sent is not None for rank in sent]
    known = [rank for rank in ranks if rank is not None]
    whole = len(known) == len(ranks) and None not in ends and known
    if not whole:
        return ""
    between = sum(map(payload, told.records))
    over = "over TCP" if sum(known) >= between else "over something else"
    went = f", and at least {size(between)} had to go between nodes: they went {over}" if between else ""
    return f"{size(sum(known))}{went}"


def _variables(headers: Sequence[Any]) -> str:
    """Control variables of MPI_T."""
    found = {f"{name}={value}" for h in headers for name, value in (h.mpi_variables or {}).items() if value}
    return ", ".join(sorted(found))
