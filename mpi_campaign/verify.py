"""Was what was asked for what ran? Judged from the record, which saw it from inside the process.

What was promised and is absent is a fault, and fails the case: a wrong library, ranks that share a core, an `async`
without a progress thread, a wire that carried less than the payload.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mpi_campaign import libraries
from mpi_campaign.cases import Case
from postprocess.fields import RecordError
from postprocess.impact import same_places
from postprocess.impact_record import Header as ImpactHeader
from postprocess.impact_record import ImpactRecord, load_impact
from postprocess.load import Header, Record, load_record
from postprocess.peers import PeerRecord, peer_wire_bytes
from postprocess.points import expected_wire_bytes
from postprocess.validity import invalid_reasons


def faults_of_file(
    path: Path, case: Case, family: str, version: str, basic_path: Path | None, wire_report: Path
) -> list[str]:
    """`faults` of record files; a file that cannot be read is a fault."""
    try:
        record = load_record(path)
        basic = load_record(basic_path) if basic_path else None
    except RecordError as error:
        return [str(error)]
    return faults(record, case, family, version, basic, wire_report)


def faults(record: Record, case: Case, family: str, version: str, basic: Record | None, wire_report: Path) -> list[str]:
    """Everything in which a record is not what its case promised, each as one phrase; empty when all is well.

    basic: the record of `basic` of the identical case, which other configurations are held against.
    wire_report: what the wire's launcher wrote; read only where the network is a wire.
    """
    header = record.header
    found = [*_of_completeness(record), *_of_identity(header, case, family, version), *_of_placement(header)]
    if case.configuration != "basic" and basic is not None:
        found += _of_progress(record, basic)
    if case.network.startswith("wire"):
        found += _of_wire(record, wire_report)
    return found


def faults_of_peer(record: PeerRecord, case: Case, basic_path: Path, wire_report: Path) -> list[str]:
    """The same of another benchmark's record, which tells less: what it is bound to, and what that library told it.

    basic_path: the record of `basic` of the identical case, whose library it must have run on.
    """
    header = record.header
    found = [
        f"{name} is {getattr(header, name)}, not {getattr(case, name)}"
        for name in ("benchmark", "toolchain", "provider", "configuration", "network", "cache", "collective", "repeat")
        if getattr(header, name) != getattr(case, name)
    ]
    if header.ranks_reported not in (None, header.ranks):
        found.append(f"it ran on {header.ranks_reported} ranks, not {header.ranks}")
    try:
        standard = load_record(basic_path).header.mpi_standard
    except RecordError as error:
        return [*found, str(error)]
    if header.mpi_standard not in ("", standard):
        found.append(f"its library has MPI {header.mpi_standard}, that of basic {standard}")
    if all(one.reason for one in record.results):
        found.append(f"it gave up on every size: {record.results[0].reason}")
    if case.network.startswith("wire"):
        found += _of_carried(peer_wire_bytes(record), wire_report)
    return found


def faults_of_impact_file(path: Path, case: Case, family: str, version: str, basic_path: Path | None) -> list[str]:
    """The same of a record of what an idle library costs."""
    try:
        record = load_impact(path)
        basic = load_impact(basic_path) if basic_path else None
    except RecordError as error:
        return [str(error)]
    found = [record.incomplete] if record.incomplete else []
    found += [*_of_identity(record.header, case, family, version), *_of_placement(record.header)]
    if record.header.computation != case.computation:
        found.append(f"computation is {record.header.computation}, not {case.computation}")
    if not same_places(record):
        found.append("its launches did not compute on the same CPUs")
    if basic is not None:
        found += _of_idle_progress(record, basic)
    return found


def _of_idle_progress(record: ImpactRecord, basic: ImpactRecord) -> Iterator[str]:
    """A progress thread that was promised must be there. It may sleep: there is nothing to do."""
    source = record.header.progress.source
    for rank, base in zip(record.header.placement, basic.header.placement, strict=False):
        if source == "library" and len(rank.mpi_threads) <= len(base.mpi_threads):
            yield (
                f"rank {rank.rank} has no progress thread: {len(rank.mpi_threads)} threads of the library, "
                f"{len(base.mpi_threads)} in basic"
            )
        if source == "application" and not rank.helper_threads:
            yield f"rank {rank.rank} has no progress thread of the application's own"


def _of_completeness(record: Record) -> Iterator[str]:
    if not record.complete:
        yield record.incomplete
    errors = sum(point.data_errors for point in record.points)
    if errors:
        yield f"{errors} wrong values were received"
    elif record.complete and all(invalid_reasons(point) for point in record.points):
        reasons = dict.fromkeys(reason for point in record.points for reason in invalid_reasons(point))
        yield f"none of its {len(record.points)} points is valid: {', '.join(reasons) or 'there is none'}"


def _of_identity(header: Header | ImpactHeader, case: Case, family: str, version: str) -> Iterator[str]:
    for name in ("toolchain", "provider", "configuration", "network", "benchmark"):
        if getattr(header, name) != getattr(case, name):
            yield f"{name} is {getattr(header, name)}, not {getattr(case, name)}"
    reported = libraries.reported_version(family, header.mpi_library_version)
    first_line = header.mpi_library_version.strip().splitlines()[0] if header.mpi_library_version.strip() else "nothing"
    if reported is None:
        yield f"the library says that it is not {libraries.library(family).title}: {first_line}"
    elif reported and not libraries.same_version(version, reported):
        yield f"the library says that it is version {reported}, not {version}"


def _of_placement(header: Header | ImpactHeader) -> Iterator[str]:
    if header.oversubscribed:
        return  # said in the record, and in all that is made of it
    users = Counter(
        (rank.node, cpuset) for rank in header.placement for cpuset in rank.compute_cpusets if cpuset.isdigit()
    )
    for (node, cpu), count in users.items():
        if count > 1:
            yield f"{count} computing threads are bound to CPU {cpu} of node {node}"


def _of_progress(record: Record, basic: Record) -> Iterator[str]:
    """A progress thread must be there, beyond what basic has, and must have used the processor more than basic's did.

    A count alone proves nothing: libraries start idle threads of their own.
    """
    for rank, base in zip(record.header.placement, basic.header.placement, strict=False):
        if len(rank.mpi_threads) <= len(base.mpi_threads):
            yield (
                f"rank {rank.rank} has no progress thread: {len(rank.mpi_threads)} threads of the library, "
                f"{len(base.mpi_threads)} in basic"
            )
    if record.footer is not None and basic.footer is not None:
        busy, idle = _thread_cpu_share(record), _thread_cpu_share(basic)
        if busy <= idle:
            yield f"the progress thread did nothing: {busy:.2%} of the run's time on the CPU, {idle:.2%} in basic"


def _thread_cpu_share(record: Record) -> float:
    """CPU time of the library's own threads, all ranks together, as a share of the ranks' wall time."""
    assert record.footer is not None
    spent = sum(sum(rank) for rank in record.footer.mpi_thread_cpu_ns)
    return float(spent / max(1.0, record.footer.wall_seconds * 1e9 * record.header.ranks))


def _of_wire(record: Record, wire_report: Path) -> Iterator[str]:
    return _of_carried(expected_wire_bytes(record), wire_report)


def _of_carried(expected: int, wire_report: Path) -> Iterator[str]:
    try:
        carried = int(json.loads(wire_report.read_text())["link_bytes"])
    except (OSError, ValueError, KeyError) as error:
        yield f"the wire's launcher left no report ({error})"
        return
    if carried < expected:
        yield f"the wire carried {carried} bytes, less than the payload of {expected}: something else was used"
