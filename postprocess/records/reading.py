"""Read record files into dataclasses, whatever their family and the version of their schema.

A record is JSON Lines: a header, points, a footer. Version 4 is one format for all families (`envelope`). Each older
schema has an adapter, which makes the same dataclasses of its lines. A file that was cut off (no footer, half a last
line) or refused (``complete: false``, with or without points) still loads; `Record.incomplete` says why it is not
whole. Every other fault raises `RecordError` with one line, ``file:line: what is wrong``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postprocess.drawing.text import clean
from postprocess.records import envelope
from postprocess.records.adapters import impact, peer, record, selfcheck
from postprocess.records.fields import Fields, Json, fail, lines_of
from postprocess.records.format import SCHEMA_FOLDER, Format, PointReader
from postprocess.records.header import Header
from postprocess.records.record import Footer, Point, Record

if TYPE_CHECKING:
    import jsonschema
    from referencing import Resource

FORMATS: tuple[Format, ...] = (record.FORMAT, envelope.FORMAT, impact.FORMAT, selfcheck.FORMAT, peer.FORMAT)
VERSIONS: Mapping[str, tuple[int, ...]] = {
    schema: tuple(version for one in FORMATS if one.schema == schema for version in one.versions)
    for schema in dict.fromkeys(one.schema for one in FORMATS)
}
"""The versions that are read, by schema."""


def load_record(path: Path | str) -> Record:
    """Read one record file, of any family and version.

    Raises RecordError where the file cannot be read, is no record, is of a newer version, or has any fault except that
    it was cut off.
    """
    path = Path(path)
    return _record(path, lines_of(path))


def load_valid_record(path: Path | str) -> Record:
    """Read one record file as `load_record` does, and check every line against the JSON schema of its version.

    Raises RecordError, also at the first line that does not conform or is cut. A missing footer is no fault. Needs
    `jsonschema`.
    """
    path = Path(path)
    return _record(path, list(_valid_lines(path)))  # a list: a line that does not conform is found first


def _record(path: Path, lines: Iterable[tuple[str, Json | None]]) -> Record:
    """The record with these lines, as `lines_of` yields them. Raises RecordError."""
    form: Format | None = None
    header: Header | None = None
    read: PointReader | None = None
    footer: Footer | None = None
    points: list[Point] = []
    indices: set[int] = set()
    incomplete = "no footer: the measurement was cut off"
    for where, value in lines:
        if form is None or header is None or read is None:
            if value is None:
                fail(where, "cut off before the end of the header")
            first = Fields(value, where)
            form = format_of(first)
            header = form.header(first)
            read = form.points(header)
        elif value is None:
            incomplete = "the last line is cut"
        elif footer is not None:
            fail(where, "a line after the footer")
        elif value.get("type") == "footer":
            footer = form.footer(Fields(value, where), header, len(points))
            incomplete = "" if footer.complete else footer.reason or "the footer says that it is not complete"
        elif value.get("type") in form.kinds:
            point = read(Fields(value, where))
            if point is None:
                continue
            if point.index in indices:
                fail(where, f"point {point.index} appears twice")
            indices.add(point.index)
            points.append(point)
        else:
            fail(where, form.otherwise)
    if header is None:
        fail(f"{clean(path.name)}:1", "the file is empty")
    return Record(path, header, footer, incomplete, tuple(points))


def format_of(first: Fields) -> Format:
    """The format that a first line names. Raises RecordError for a schema or a version that is not read."""
    schema = first.value.get("schema")
    if first.value.get("type") != "header" or not isinstance(schema, str) or schema not in VERSIONS:
        fail(first.where, "not the record of a benchmark: its first line is no header")
    version = first.count("schema_version")
    versions = VERSIONS[schema]
    if version not in versions:
        *before, last = map(str, versions)
        legal = f"the versions that this program reads: {' and '.join(filter(None, (', '.join(before), last)))}"
        newer = version > versions[-1]
        fail(first.where, f"schema version {version} is {'newer than' if newer else 'none of'} {legal}")
    return next(one for one in FORMATS if one.schema == schema and version in one.versions)


def validate_lines(path: Path | str) -> None:
    """Check every line of a file against the JSON schema of its version, without loading it as a record.

    The file is a record, or what one program wrote of a record that several programs write. Raises RecordError at the
    first line that does not conform or is cut. Needs `jsonschema`.
    """
    for _ in _valid_lines(Path(path)):
        pass


def _valid_lines(path: Path) -> Iterator[tuple[str, Json | None]]:
    """The lines of `lines_of`, each checked against its JSON schema before it is yielded. Raises RecordError."""
    validators: dict[str, jsonschema.Draft202012Validator] = {}
    for where, value in lines_of(path):
        if value is None:
            fail(where, "the last line is cut")
        if not validators:
            first = Fields({**value, "type": "header"} if value.get("type") == "process" else value, where)
            validators = _validators(format_of(first).schema_file(first))
        validator = validators.get(str(value.get("type")))
        if validator is None:
            fail(where, f"none of {', '.join(validators)}")
        fault = next(iter(sorted(validator.iter_errors(value), key=lambda e: list(map(str, e.absolute_path)))), None)
        if fault is not None:
            fail(where, clean(f"{'.'.join(map(str, fault.absolute_path)) or 'line'}: {fault.message}")[:300])
        yield where, value


@cache
def _validators(schema_file: str) -> dict[str, jsonschema.Draft202012Validator]:
    """The validators of a schema in `SCHEMA_FOLDER`, by type of line. References lead to schemas in the same folder."""
    import jsonschema  # noqa: PLC0415 - only this needs it
    from referencing import Registry  # noqa: PLC0415

    registry: Registry[Any] = Registry(retrieve=_resource)  # type: ignore[call-arg]
    kinds = [entry["$ref"].rpartition("/")[2] for entry in _schema(schema_file)["oneOf"]]
    return {
        kind: jsonschema.Draft202012Validator({"$ref": f"{schema_file}#/$defs/{kind}"}, registry=registry)
        for kind in kinds
    }


def _resource(name: str) -> Resource[Any]:
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    return DRAFT202012.create_resource(_schema(name))


@cache
def _schema(name: str) -> Json:
    found: Json = json.loads((SCHEMA_FOLDER / name).read_text(encoding="utf-8"))
    return found
