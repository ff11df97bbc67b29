"""Was what was asked for what ran? The same of other benchmarks, whose records tell less than ours."""

from pathlib import Path

from mpi_campaign.planning.cases import Case
from mpi_campaign.running.verify import of_axes, of_carried, of_names
from postprocess.drawing.text import size
from postprocess.families.peers.record import PeerRecord, peer_wire_bytes
from postprocess.records.fields import RecordError
from postprocess.records.reading import load_record


def faults_of_peer(record: PeerRecord, case: Case, basic_path: Path, wire_report: Path) -> list[str]:
    """Everything in which a record is not what its case promised, each as one phrase: what the program is bound to, and
    what that library told it.

    basic_path: the record of `basic` of the identical case, whose library it must have run on.
    """
    header = record.header
    found = [*of_names(header, case, ("benchmark", "toolchain", "provider", "configuration", "network"))]
    found += [*of_axes(header, case), *of_names(record, case, ("repeat",))]
    if record.ranks_reported not in (None, header.ranks):
        found.append(f"it ran on {record.ranks_reported} ranks, not {header.ranks}")
    try:
        standard = load_record(basic_path).header.mpi_standard
    except RecordError as error:
        return [*found, str(error)]
    if header.mpi_standard not in ("", standard):
        found.append(f"its library has MPI {header.mpi_standard}, that of basic {standard}")
    if all(one.reason for one in record.results):
        found.append(f"it gave up on every size: {record.results[0].reason}")
    died = [f"{size(one.message_bytes)}: {one.reason}" for one in record.results if one.died]
    if died:
        found.append(f"{len(died)} of its {len(record.results)} launches died: {'; '.join(died)}")
    if case.network.startswith("wire"):
        found += of_carried(peer_wire_bytes(record), wire_report)
    return found


def faults_of_unread_peer(benchmark: str, error: Exception, exit_code: int | None) -> list[str]:
    """What to say of another benchmark whose output cannot be read: what is wrong with it, and how the job ended."""
    return [f"{benchmark}: {error}", *([f"it ended with exit code {exit_code}"] if exit_code else [])]
