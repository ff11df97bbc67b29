"""Other people's benchmarks beside ours, as the registry has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from postprocess.families.family import Family, Found, Page, Read, Section
from postprocess.families.peers.outputs import (
    FORMATS,
    PEER_COLUMNS,
    PEERS_NOTE,
    PeerRecord,
    load_peer_record,
    load_peers,
    peer_wire_bytes,
    peers_summary_text,
    peers_table,
    peers_table_text,
    peers_view,
    programs_of,
)
from postprocess.records.load import PEER_SCHEMA, Run, failed_records

NAME = "peers"


def _read(run: Run) -> Read:
    records, problems = load_peers(run)
    return Read(tuple(records), tuple(problems))


def _table(run: Run, records: Sequence[PeerRecord], beside: pd.DataFrame) -> pd.DataFrame:
    return peers_table(records, beside, failed_records(run.manifest))


def _view(_page: Page, found: Found) -> Any:
    return peers_view(found.records, found.table)


PEERS = Family(
    name=NAME,
    title="what other benchmarks say",
    benchmarks=tuple(FORMATS),
    schema=PEER_SCHEMA,
    load=load_peer_record,
    validate=load_peer_record,
    read=_read,
    table=_table,
    columns=PEER_COLUMNS,
    text=lambda found: "" if found.table.empty else peers_table_text(found.table),
    short_text=lambda found: peers_summary_text(found.table),
    note=PEERS_NOTE,
    nothing="no other benchmark ran",
    shown=False,
    sections=(Section("peers", "Other benchmarks", 40, f"{NAME}/templates/section.html", _view),),
    programs=programs_of,
    payload=peer_wire_bytes,
)
