"""Did another benchmark run as it was asked to? Records of other benchmarks tell less than ours."""

from pathlib import Path

from mpi_campaign.networks import registry as networks
from mpi_campaign.networks.network import Proof
from mpi_campaign.planning.cases import Case
from mpi_campaign.running.verify import of_axes, of_carried, of_names
from postprocess.drawing.text import size
from postprocess.families.peers.record import PeerRecord, peer_wire_bytes
from postprocess.records.fields import RecordError
from postprocess.records.reading import load_record


def faults_of_peer(record: PeerRecord, case: Case, basic_path: Path, wire_report: Path) -> list[str]:
    """Every difference between a record and its case, each as one phrase; empty when there is none.  basic_path: the
    record of `basic` of the identical case. The program must have run on the same library."""
    header = record.header
    faults = [*of_names(header, case, ("benchmark", "toolchain", "provider", "configuration", "network"))]
    faults += [*of_axes(header, case), *of_names(record, case, ("repeat",))]
    if record.ranks_reported not in (None, header.ranks):
        faults.append(f"it ran on {record.ranks_reported} ranks, not {header.ranks}")
    try:
        standard = load_record(basic_path).header.mpi_standard
    except RecordError as error:
        return [*faults, str(error)]
    if header.mpi_standard not in ("", standard):
        faults.append(f"its library has MPI {header.mpi_standard}, that of basic {standard}")
    if all(result.reason for result in record.results):
        faults.append(f"it gave up on every size: {record.results[0].reason}")
    died = [f"{size(result.message_bytes)}: {result.reason}" for result in record.results if result.died]
    if died:
        faults.append(f"{len(died)} of its {len(record.results)} launches died: {'; '.join(died)}")
    if networks.of(case.network).proof == Proof.LINK:
        faults += of_carried(peer_wire_bytes(record), wire_report)
    return faults


def faults_of_unread_peer(benchmark: str, error: Exception, exit_code: int | None) -> list[str]:
    """The faults of another benchmark whose output cannot be read: what is wrong with it, and how the job ended."""
    return [f"{benchmark}: {error}", *([f"it ended with exit code {exit_code}"] if exit_code else [])]
