"""Read record files into dataclasses, whatever their family.

A record is JSON Lines: a header, points, a footer, which `envelope` reads. A file that was cut off (no footer, half a
last line) or refused (``complete: false``, with or without points) still loads; `Record.incomplete` says why it is not
whole. Every other fault raises `RecordError` with one line, ``file:line: what is wrong``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from postprocess.drawing.text import clean
from postprocess.records import envelope, schema
from postprocess.records.fields import Fields, Json, fail, lines_of
from postprocess.records.header import Header
from postprocess.records.record import Footer, Point, Record, View

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

OLDER = tuple(f"mpi-campaign.{name}" for name in ("record", "impact", "peer", "selfcheck"))
"""The schemas that records had before version 4."""
LAST_READER = "16f9088b"
"""The last commit of this project that reads them."""


def load_record(path: Path | str) -> Record:
    """Read one record file, of any family.

    Raises RecordError where the file cannot be read, is no record, is of another version, or has any fault except that
    it was cut off.
    """
    path = Path(path)
    return _record(path, lines_of(path))


def load_header(path: Path) -> Header:
    """The header of a record file, of which no other line is looked at. Raises RecordError."""
    where, value = next(lines_of(path), ("", None))
    if value is None:
        fail(where or f"{clean(path.name)}:1", "it has no header")
    return envelope.read_header(_first(value, where))


def loads(view: Callable[[Record], View]) -> Callable[[Path | str], View]:
    """What reads one record file as a family's own type, made by `view`. It raises RecordError like `load_record`, and
    where the record is none of the family."""
    return lambda path: view(load_record(path))


def load_valid_record(path: Path | str) -> Record:
    """Read one record file as `load_record` does, and check every line against what its program says of it.

    Raises RecordError, also at the first line that does not conform or is cut. A missing footer is no fault. Needs
    `jsonschema`.
    """
    path = Path(path)
    return _record(path, list(_valid_lines(path)))  # a list: a line that does not conform is found first


def _record(path: Path, lines: Iterable[tuple[str, Json | None]]) -> Record:
    """The record with these lines, as `lines_of` yields them. Raises RecordError."""
    header: Header | None = None
    footer: Footer | None = None
    points: list[Point] = []
    indices: set[int] = set()
    incomplete = "no footer: the measurement was cut off"
    for where, value in lines:
        if header is None:
            if value is None:
                fail(where, "cut off before the end of the header")
            header = envelope.read_header(_first(value, where))
        elif value is None:
            incomplete = "the last line is cut"
        elif footer is not None:
            fail(where, "a line after the footer")
        elif value.get("type") == "footer":
            footer = envelope.read_footer(Fields(value, where), len(points))
            incomplete = "" if footer.complete else footer.reason or "the footer says that it is not complete"
        elif value.get("type") == "point":
            point = envelope.read_point(Fields(value, where), header)
            if point.index in indices:
                fail(where, f"point {point.index} appears twice")
            indices.add(point.index)
            points.append(point)
        else:
            fail(where, "neither a point nor a footer")
    if header is None:
        fail(f"{clean(path.name)}:1", "the file is empty")
    return Record(path, header, footer, incomplete, tuple(points))


def _first(value: Json, where: str) -> Fields:
    """The first line of a record. Raises RecordError where it is no header, or of another version."""
    name, line = value.get("schema"), Fields(value, where)
    if value.get("type") != "header" or name not in OLDER:
        fail(where, "not the record of a benchmark: its first line is no header")
    version = line.count("schema_version")
    if version > envelope.VERSION:
        fail(where, f"schema version {version} is newer than {envelope.VERSION}, the one that this program reads")
    if name != envelope.SCHEMA or version != envelope.VERSION:
        fail(
            where,
            f"version {version} of {name}: this program reads version {envelope.VERSION} of {envelope.SCHEMA}; "
            f"commit {LAST_READER} of it reads older ones",
        )
    return line


def validate_lines(path: Path | str) -> None:
    """Check every line of a file against what its program says of it, without loading it as a record.

    The file is a record, or what one program wrote of a record that several programs write. Raises RecordError at the
    first line that does not conform or is cut. Needs `jsonschema`.
    """
    for _ in _valid_lines(Path(path)):
        pass


def _valid_lines(path: Path) -> Iterator[tuple[str, Json | None]]:
    """The lines of `lines_of`, each checked against its schema before it is yielded. Raises RecordError."""
    validators: dict[str, Draft202012Validator] = {}
    for where, value in lines_of(path):
        if value is None:
            fail(where, "the last line is cut")
        if not validators:
            first = _first({**value, "type": "header"} if value.get("type") == "process" else value, where)
            program = first.text("program" if value.get("type") == "process" else "benchmark")
            validators = schema.validators(program, first.text("family"), str(first.value.get("description", "")))
        validator = validators.get(str(value.get("type")))
        if validator is None:
            fail(where, f"none of {', '.join(validators)}")
        fault = schema.worst_fault(validator, value)
        if fault is not None:
            fail(where, clean(fault)[:300])
        yield where, value
