"""What the processes of a run observed about themselves: placement, progress, clocks, builds and variables.

Everything here comes from the records of the benchmarks, and nothing from the settings that the run was asked for.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from postprocess.drawing.text import duration, plural, size
from postprocess.families import registry
from postprocess.families.family import Details, Family, Inside
from postprocess.records.fields import Json
from postprocess.records.header import Placement, Progress, version_in_short
from postprocess.records.run import Run


@dataclass(frozen=True)
class Verified:
    """What the processes of a library, network and configuration observed about themselves.

    name: without the library.  ranks: where each ran.
    """

    library: str
    name: str
    facts: Details
    ranks: list[SimpleNamespace]


@dataclass(frozen=True)
class OfLibrary:
    """What is the same in all configurations of a library, and what else each of them observed."""

    name: str
    facts: Details
    configurations: list[Verified]


@dataclass(frozen=True)
class Observed:
    """Records of a family whose processes observed where they ran (`Family.inside`)."""

    family: Family
    inside: Inside
    records: tuple[Any, ...]


def observed_in(run: Run) -> list[Observed]:
    """The records of a run whose processes observed where they ran, for each family that has any."""
    by_family = [(family, family.inside, registry.read(run, family).records) for family in registry.FAMILIES]
    return [
        Observed(family, inside, records) for family, inside, records in by_family if inside is not None and records
    ]


def verified_of(observed: Iterable[Observed]) -> list[Verified]:
    """The observations about each library, network and configuration. An idle library has an entry of its own."""
    return [_verified(name, part) for name, part in _configurations(observed).items()]


def by_library(verified: Sequence[Verified]) -> tuple[Details, list[OfLibrary]]:
    """What is the same in all configurations, and the libraries; each fact is told once."""
    of_all = _same(verified)
    libraries = []
    for name in dict.fromkeys(one.library for one in verified):
        its = [_without(one, of_all) for one in verified if one.library == name]
        facts = _same(its)
        libraries.append(OfLibrary(name, facts, [_without(one, facts) for one in its]))
    return of_all, libraries


def _same(verified: Sequence[Verified]) -> Details:
    """The facts that several configurations all have; none of a single one."""
    facts = verified[0].facts if len(verified) > 1 else []
    return [fact for fact in facts if all(fact in one.facts for one in verified)]


def _without(one: Verified, facts: Details) -> Verified:
    return replace(one, facts=[fact for fact in one.facts if fact not in facts])


def carried_of(observed: Iterable[Observed]) -> list[tuple[str, str]]:
    """The bytes that TCP connections carried, in words, by library, network and configuration; without those of which
    that is not known."""
    carried = ((name, _carried(part)) for name, part in _configurations(observed).items())
    return [(name, words) for name, words in carried if words]


def builds_of(observed: Iterable[Observed]) -> list[tuple[str, Json]]:
    """Pairs of a toolchain and a build; each different pair once."""
    headers = [record.header for part in observed for record in part.records]
    builds = {(header.toolchain, repr(header.build)): header.build for header in headers}
    return [(toolchain, build) for (toolchain, _), build in builds.items()]


def environments_of(observed: Iterable[Observed]) -> list[tuple[str, list[str], list[str]]]:
    """The name, the variables and the commands of the configurations of a library that have the same variables: of each
    program the first command, and how many others its records have."""
    alike: dict[tuple[str, tuple[str, ...]], dict[str, Observed]] = {}
    for name, same in _configurations(observed).items():
        variables = sorted({f"{key}={value}" for r in same.records for key, value in r.header.environment.items()})
        alike.setdefault((same.records[0].header.toolchain, tuple(variables)), {})[name] = same
    found = []
    for (_, of_all), by_name in alike.items():
        of_program: dict[tuple[str, ...], dict[str, None]] = {}
        for record in (one for same in by_name.values() for one in same.records):
            command = record.header.command_line
            of_program.setdefault(command[:1], {})[" ".join(command)] = None
        lines = []
        for first, *others in of_program.values():
            lines.append(first)
            if others:
                lines.append(f"# {plural(len(others), 'other command')} of this program: see its records")
        name, *more = by_name
        title = f"{name}, and {plural(len(more), 'more configuration')}" if more else name
        found.append((title, list(of_all), lines))
    return found


def _configurations(observed: Iterable[Observed]) -> dict[str, Observed]:
    """The records of each library, network and configuration, by its name."""
    by_name: dict[str, Observed] = {}
    for part in observed:
        for record in part.records:
            h = record.header
            name = f"{h.toolchain}, {h.network}, {part.inside.words(record)}"
            before = by_name[name].records if name in by_name else ()
            by_name[name] = Observed(part.family, part.inside, (*before, record))
    return by_name


def _verified(name: str, observed: Observed) -> Verified:
    headers = [record.header for record in observed.records]

    def values(texts: Iterable[object]) -> str:
        return "; ".join(dict.fromkeys(map(str, texts)))

    facts = [
        ("MPI library", values(version_in_short(h.mpi_library_version) for h in headers)),
        ("MPI standard", values(h.mpi_standard for h in headers)),
        ("thread level", values(f"{h.thread_level_required} asked, {h.thread_level_provided} given" for h in headers)),
        (
            "processes",
            values(
                f"{h.ranks} on {plural(h.nodes, 'node')}, {plural(h.threads_per_rank, 'thread')} each" for h in headers
            ),
        ),
        ("physical cores", values(h.physical_cores for h in headers)),
        ("oversubscribed", values("yes" if h.oversubscribed else "no" for h in headers)),
        ("shared core", values("yes" if h.shared_core else "no" for h in headers)),
        ("progress thread", values(map(_progress_words, (h.progress for h in headers)))),
        ("TCP connections carried", _carried(observed)),
        ("transport, as the library was told or chose", _variables(headers)),
        *observed.inside.timing(observed.records),
    ]
    every = [(record.header.placement, spent) for record in observed.records for spent in observed.inside.spent(record)]
    # A rank that ran in different places has a line for each place, with the time that it spent there.
    cpu_ns = {place: [0] * (len(_threads(place)) + 1) for h in headers for place in h.placement}
    seconds = dict.fromkeys(cpu_ns, 0.0)
    for placement, spent in every:
        for i, place in enumerate(placement):
            seconds[place] += spent.seconds
            known = cpu_ns[place]
            own, its = (times[i] if i < len(times) else () for times in (spent.mpi_ns, spent.helper_ns))
            placed = len(place.mpi_threads)
            for j, time in (*enumerate(own[:placed]), *enumerate(its[: len(place.helper_threads)], start=placed)):
                known[j] += time
            known[-1] += sum(own[placed:])
    ranks = [
        SimpleNamespace(
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
    library, _, configuration = name.partition(", ")
    return Verified(library, configuration, [(fact, value) for fact, value in facts if value], ranks)


def _of_cpu(time_ns: int, seconds: float) -> str:
    """The CPU time within `seconds`, in words. A record that was cut off has no CPU time."""
    return f"{duration(time_ns)} of CPU in {seconds:.1f} s" if seconds > 0 else "CPU time is not known"


def _threads(place: Placement) -> list[tuple[str, str]]:
    """The name and the CPUs of each thread that MPI started, then of each of the application's own progress threads."""
    own = [(f"{thread.name or 'helper'} (the application's)", thread.cpuset) for thread in place.helper_threads]
    return [(thread.name, thread.cpuset) for thread in place.mpi_threads] + own


def _progress_words(progress: Progress) -> str:
    """The owner of a progress thread, who binds it, and the cores given up for it, in words."""
    owners = {"none": "none asked for", "library": "the library's", "application": "the application's"}
    binders = {"none": "", "library": ", bound by the library", "program": ", bound by the benchmark"}
    whose, by = owners.get(progress.source, progress.source), binders.get(progress.pinned_by, "")
    given_up = f", {plural(progress.given_up_cores, 'core')} of each rank given up" if progress.given_up_cores else ""
    return f"{whose}{by}{given_up}"


def _carried(observed: Observed) -> str:
    """The bytes that TCP connections carried, over all ranks and records, and whether these are the bytes that had to
    go between nodes; empty if any rank's number is not known."""
    payload = observed.family.audit.payload
    if payload is None:
        return ""
    ends = [record.footer.tcp_bytes_sent if record.footer else None for record in observed.records]
    ranks = [rank for sent in ends if sent is not None for rank in sent]
    known = [rank for rank in ranks if rank is not None]
    is_complete = len(known) == len(ranks) and None not in ends and known
    if not is_complete:
        return ""
    between = sum(map(payload, observed.records))
    carrier = "over TCP" if sum(known) >= between else "over something else"
    went = f", and at least {size(between)} had to go between nodes: they went {carrier}" if between else ""
    return f"{size(sum(known))}{went}"


def _variables(headers: Sequence[Any]) -> str:
    """The control variables of MPI_T that have a value, in words."""
    assignments = {f"{name}={value}" for h in headers for name, value in (h.mpi_variables or {}).items() if value}
    return ", ".join(sorted(assignments))
