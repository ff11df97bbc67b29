"""The records of other benchmarks: what a program printed, and how it was launched.

`benchmarks/peers/description.json` has the fields that only this family has, and the fields that it lacks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from postprocess.drawing.text import clean
from postprocess.families.peers.output import FORMATS, PeerResult
from postprocess.records.envelope import SCHEMA, VERSION
from postprocess.records.fields import Fields, Json, fail
from postprocess.records.header import Header, Plan
from postprocess.records.reading import loads
from postprocess.records.record import Footer, Point, Record, RecordFile, check_family
from postprocess.records.writing import write_record
from postprocess.statistics import metrics

FAMILY = "peers"
METHOD = 1
PROGRAM = ("name", "version", "path", "sha256", "package", "package_version")
_NUMBERS = ("t_overlapped_us", "t_pure_us", "t_compute_us", "overlap_percent")


@dataclass(frozen=True)
class PeerHeader:
    """The contents of the first line of a peer's record: the case, the program, and how it was launched.

    program: name, version, path, sha256, package and package_version; the last two are empty without a package.
    mpi_library: the shared library that the program is bound to.
    mpi_standard, ranks_reported: as the program printed them; "" and None where it does not print them.
    command_lines: the words of each launch, the launcher first.
    """

    benchmark: str
    toolchain: str
    provider: str
    configuration: str
    network: str
    cache: str
    collective: str
    repeat: int
    ranks: int
    started_utc: str
    program: Mapping[str, str]
    mpi_library: str
    mpi_standard: str
    ranks_reported: int | None
    command_lines: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str]
    metadata: Json


@dataclass(frozen=True)
class PeerRecord(RecordFile):
    """The complete record of another benchmark: fields of its `PeerHeader`, and a result per message size."""

    collective: str
    cache: str
    repeat: int
    program: Mapping[str, str]
    mpi_library: str
    ranks_reported: int | None
    command_lines: tuple[tuple[str, ...], ...]
    results: tuple[PeerResult, ...]


def write_peer_record(path: Path, header: PeerHeader, results: Sequence[PeerResult], wall_seconds: float) -> None:
    """Write a complete record of what a program printed. Raises OSError where `path` exists or cannot be written."""
    points = [_point(index, result, header.collective) for index, result in enumerate(results)]
    footer = Footer(complete=True, reason="", wall_seconds=wall_seconds)
    write_record(path, _first_line(header, results), points, footer)


def _first_line(header: PeerHeader, results: Sequence[PeerResult]) -> Header:
    return Header(
        schema=SCHEMA,
        schema_version=VERSION,
        family=FAMILY,
        method=METHOD,
        benchmark=header.benchmark,
        toolchain=header.toolchain,
        provider=header.provider,
        configuration=header.configuration,
        network=header.network,
        command_line=header.command_lines[0],
        started_utc=header.started_utc,
        mpi_standard=header.mpi_standard,
        ranks=header.ranks,
        environment=header.environment,
        plan=Plan(
            parameters={
                "collective": (header.collective,),
                "cache": (header.cache,),
                "message_bytes": tuple(one.message_bytes for one in results),
            },
            points=len(results),
        ),
        own={
            "repeat": header.repeat,
            "program": dict(header.program),
            "mpi_library": header.mpi_library,
            "ranks_reported": header.ranks_reported,
            "command_lines": [list(words) for words in header.command_lines],
        },
        metadata=header.metadata,
    )


def _point(index: int, result: PeerResult, collective: str) -> Point:
    numbers = {name: getattr(result, name) for name in _NUMBERS}
    return Point(
        index=index,
        parameters={"collective": collective, "message_bytes": result.message_bytes},
        repetitions=result.repetitions,
        own={name: None if math.isnan(value) else value for name, value in numbers.items()} | {"reason": result.reason},
    )


def peer_record(record: Record) -> PeerRecord:
    """A peer's record from a record of any family. Raises RecordError if the record does not fit or is incomplete."""
    check_family(record, FAMILY)
    header, footer = record.header, record.footer
    own = Fields(header.own, header.where)
    if header.benchmark not in FORMATS:
        fail(header.where, f"benchmark is '{clean(header.benchmark)}', not one of {', '.join(FORMATS)}")
    commands = own.items("command_lines")
    if not all(isinstance(one, list) and all(isinstance(word, str) for word in one) for one in commands):
        fail(header.where, "command_lines is not a list of lists of strings")
    if footer is None:
        fail(clean(record.path.name), f"cut off: {record.incomplete.partition(':')[0]}")
    if not footer.complete:
        fail(footer.where, f"not complete: {clean(footer.reason) or 'no reason is given'}")
    if footer.wall_seconds < 0:
        fail(footer.where, f"wall_seconds is {footer.wall_seconds}")
    program = own.inside("program")
    return PeerRecord(
        path=record.path,
        header=header,
        footer=footer,
        incomplete=record.incomplete,
        collective=header.planned_text("collective"),
        cache=header.planned_text("cache"),
        repeat=own.count("repeat"),
        program={name: program.text(name) for name in PROGRAM},
        mpi_library=own.text("mpi_library"),
        ranks_reported=None if own.number_or_none("ranks_reported") is None else own.count("ranks_reported"),
        command_lines=tuple(map(tuple, commands)),
        results=tuple(map(_result, record.points)),
    )


load_peer_record = loads(peer_record)


def _result(point: Point) -> PeerResult:
    own = Fields(point.own, point.where)
    numbers = {name: own.number_or_nan(name) for name in _NUMBERS}
    reason = own.text("reason")
    for name, value in numbers.items():
        if value < 0 or math.isnan(value) != bool(reason):
            fail(point.where, f"{name} is {value}, the reason for giving up '{clean(reason)}'")
    return PeerResult(
        message_bytes=Fields(dict(point.parameters), point.where, "parameters.").count("message_bytes"),
        repetitions=point.repetitions,
        reason=reason,
        **numbers,
    )


def peer_wire_bytes(record: PeerRecord) -> int:
    """A safe lower bound of the payload, in bytes, that crossed a wire. Every repetition communicates twice."""
    alone = [1] * record.header.ranks
    return sum(
        2 * (one.repetitions or 0) * metrics.least_crossing_bytes(record.collective, one.message_bytes, alone)
        for one in record.results
    )
