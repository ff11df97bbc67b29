"""The family `peers`: benchmarks of other projects, shown beside ours."""

from postprocess.families.family import Audit, Family, Numbers, Section
from postprocess.families.peers.cells import cells_of
from postprocess.families.peers.output import FORMATS
from postprocess.families.peers.record import FAMILY, PeerRecord, peer_record, peer_wire_bytes
from postprocess.families.peers.table import (
    PEER_COLUMNS,
    PEERS_NOTE,
    peers_table,
    peers_table_text,
    peers_view,
    programs_of,
)
from postprocess.records.run import failed_records


def _numbers(record: PeerRecord, _basic: PeerRecord | None) -> Numbers:
    """The overlap that the program printed, by message size in bytes."""
    printed = [result for result in record.results if not result.reason]
    return Numbers({f"overlap_percent_{result.message_bytes}": result.overlap_percent for result in printed})


PEERS = Family(
    name=FAMILY,
    title="what other benchmarks say",
    benchmarks=tuple(FORMATS),
    view=peer_record,
    table=lambda run, records, beside: peers_table(records, beside, failed_records(run.manifest)),
    columns=PEER_COLUMNS,
    text=lambda found: "" if found.table.empty else f"{peers_table_text(found.table)}\n\n{PEERS_NOTE}",
    cells=lambda found: cells_of(found.table),
    sections=(
        Section(
            "peers",
            "Other benchmarks",
            40,
            f"{FAMILY}/templates/section.html",
            lambda _page, found: peers_view(found.records, found.table),
        ),
    ),
    numbers=_numbers,
    audit=Audit(payload=peer_wire_bytes, programs=programs_of),
)
