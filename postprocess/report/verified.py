"""What the processes of a run found out about themselves: placement, progress, clocks, builds and variables.

Nothing here is what a configuration was asked for: it is what the record of each benchmark says was seen from inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from postprocess.drawing.text import drift, duration, size
from postprocess.families.mpi_impact.record import MPI_IMPACT, ImpactRecord
from postprocess.families.nbc_overlap.points import configuration_words, expected_wire_bytes, header_case
from postprocess.families.nbc_overlap.record import OverlapRecord
from postprocess.families.nbc_overlap.report_points import clock_name
from postprocess.families.nbc_overlap.tables import measured_share
from postprocess.records.fields import Json
from postprocess.records.header import Header, Placement, Progress

Details: TypeAlias = list[tuple[str, str]]
AnyRecord: TypeAlias = OverlapRecord | ImpactRecord


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
class _Spent:
    """CPU time of threads in a while, [rank][thread], each rank's in the order of its placement, later ones behind."""

    mpi_ns: tuple[tuple[int, ...], ...]
    helper_ns: tuple[tuple[int, ...], ...]
    seconds: float


def verified_of(records: Iterable[AnyRecord]) -> list[Verified]:
    """What is verified of each library, network and configuration, an idle library by itself."""
    return [_verified(name, same) for name, same in _configurations(records).items()]


def builds_of(records: Iterable[AnyRecord]) -> list[tuple[str, Json]]:
    """Toolchain and build, each different one once."""
    found = {(r.header.toolchain, repr(r.header.build)): r.header.build for r in records}
    return [(toolchain, build) for (toolchain, _), build in found.items()]


def environments_of(records: Iterable[AnyRecord]) -> list[tuple[str, list[str], list[str]]]:
    """Name, variables and command lines of each configuration, each different one once."""
    return [
        (
            name,
            sorted({f"{key}={value}" for r in same for key, value in r.header.environment.items()}),
            list(dict.fromkeys(" ".join(r.header.command_line) for r in same)),
        )
        for name, same in _configurations(records).items()
    ]


def _configurations(records: Iterable[AnyRecord]) -> dict[str, list[AnyRecord]]:
    found: dict[str, list[AnyRecord]] = {}
    for record in records:
        h = record.header
        found.setdefault(f"{h.toolchain}, {h.network}, {_words(record)}", []).append(record)
    return found


def _words(record: AnyRecord) -> str:
    if isinstance(record, OverlapRecord):
        return configuration_words(header_case(record))
    computation = "" if record.computation == "dgemm" else f", {record.computation}"
    return f"{record.header.configuration}{computation}, an idle library"


def _spent(record: AnyRecord) -> list[_Spent]:
    """Of a record that was cut off nothing is known; an idle library's is that of every launch with MPI."""
    if isinstance(record, ImpactRecord):
        computing = sum(target.slot_ns for target in record.targets) / 1e9
        launches = [launch for launch in record.launches if launch.program == MPI_IMPACT]
        return [_Spent(launch.mpi_thread_cpu_ns, launch.helper_thread_cpu_ns, computing) for launch in launches]
    end = record.footer
    return [_Spent(end.mpi_thread_cpu_ns, end.helper_thread_cpu_ns, end.wall_seconds)] if end else []


def _verified(name: str, records: Sequence[AnyRecord]) -> Verified:
    headers = [record.header for record in records]
    timed = [record for record in records if isinstance(record, OverlapRecord)]

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
        ("TCP connections carried", _carried(timed)),
        ("transport, as the library was told or chose", _variables(headers)),
        *_timing(timed),
    ]
    every = [(record.header.placement, spent) for record in records for spent in _spent(record)]
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


def _carried(records: Sequence[OverlapRecord]) -> str:
    """Over all ranks and records, and whether that is what went between nodes; empty where some do not say."""
    ends = [record.footer.tcp_bytes_sent if record.footer else None for record in records]
    ranks = [rank for sent in ends if sent is not None for rank in sent]
    known = [rank for rank in ranks if rank is not None]
    whole = len(known) == len(ranks) and None not in ends and known
    if not whole:
        return ""
    between = sum(map(expected_wire_bytes, records))
    over = "over TCP" if sum(known) >= between else "over something else"
    went = f", and at least {size(between)} had to go between nodes: they went {over}" if between else ""
    return f"{size(sum(known))}{went}"


def _variables(headers: Sequence[Header]) -> str:
    """Control variables of MPI_T."""
    found = {f"{name}={value}" for h in headers for name, value in (h.mpi_variables or {}).items() if value}
    return ", ".join(sorted(found))


def _timing(records: Sequence[OverlapRecord]) -> Details:
    """How repetitions were started, on what clock, and what was thrown away, over records of one configuration."""
    points = [point for record in records for point in record.points]
    headers, footers = [r.header for r in records], [r.footer for r in records if r.footer]
    clocks = [h.clock for h in headers if h.clock]
    starts = dict.fromkeys([p.start_method for p in points] or [h.start_method for h in headers])
    methods = dict.fromkeys([p.clock.method for p in points] or [clock.method for clock in clocks])
    timed = [c for c in clocks if c.method != "none"]
    residuals = [p.clock.residual_ns for p in points if p.clock.method != "none"]
    residuals += [f.clock_residual_ns for f in footers] + [c.residual_ns for c in timed]
    drifts = [p.clock.drift_ppm for p in points if p.clock.method != "none"] + [clock.drift_ppm for clock in timed]
    refusals = dict.fromkeys(
        text for text in (*(c.refusal for c in clocks), *(f.clock_refusal for f in footers)) if text
    )
    made = [f.clock_synchronisations for f in footers if f.clock_synchronisations is not None]
    spent = [f.clock_synchronisation_seconds for f in footers if f.clock_synchronisation_seconds is not None]
    wall = sum(f.wall_seconds for f in footers)
    known = [residual for residual in residuals if residual is not None]
    rates = [abs(ppm) for ppm in drifts if ppm is not None]
    late, discarded = (sum(getattr(p, f"{kind}_repetitions") for p in points) for kind in ("late", "discarded"))
    again = sum(p.recalibrations for p in points)
    facts = [
        ("start of a repetition", "; ".join(starts)),
        ("clock", "; ".join(map(clock_name, methods))),
        ("why there is no clock", "; ".join(refusals)),
        ("distinct clocks", "; ".join(dict.fromkeys(str(clock.clocks) for clock in timed))),
        ("largest residual of the clocks", duration(max(known)) if known else ""),
        ("largest drift of a clock", drift(max(rates)) if rates and list(methods) != ["shared"] else ""),
        (
            "cost of synchronisation",
            f"{sum(made)} times, {duration(1e9 * sum(spent))} of {duration(1e9 * wall)}" if made and spent else "",
        ),
        ("time in repetitions that count", measured_share(records)),
        ("warm-ups left out", _per_point([p.warmup_repetitions for p in points])),
        ("late repetitions thrown away", str(late) if late else ""),
        (
            "other repetitions thrown away",
            f"{discarded}: a point was recalibrated, or its clock refused" if discarded else "",
        ),
        ("recalibrations", str(again) if again else ""),
    ]
    return [(name, value) for name, value in facts if value]


def _per_point(counts: Sequence[int]) -> str:
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return f"{sum(counts)} ({low if low == high else f'{low} to {high}'} at each point)"
