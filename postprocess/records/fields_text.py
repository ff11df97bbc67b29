"""The fields of a record in words, as the programs describe them, and the columns of the tables that are made of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from postprocess.records.description import RECORD, Described, Description, Points, descriptions, record_description

EVERY = "record"
"""The name of what the records of all programs have."""

_PARTS = {
    "parameters": "parameters of a point beside the axes", "series": "series", "spreads": "spreads",
    "rank_medians": "rank_medians", "thread_medians": "thread_medians", "own": "own of a point",
}  # fmt: skip
_OF_EVERY_TABLE = "every table of points"


@cache
def tables() -> Mapping[str, Mapping[str, Any]]:
    """By the name of a table's file, or _OF_EVERY_TABLE: `of`, the family that has it; `rows`, what a row is; and
    `columns`, the meaning of columns by their names, with commas between them."""
    text = Path(__file__).with_name("columns.yaml").read_text(encoding="utf-8")
    read: Mapping[str, Mapping[str, Any]] = yaml.safe_load(text)
    return read


def names() -> list[str]:
    """Of what `lines` knows the fields."""
    return [EVERY, *descriptions()]


def lines(name: str) -> Iterator[str]:
    """The fields of the record of a program, or of EVERY, below the part of the record that has them."""
    if name == EVERY:
        record = record_description()
        for title, fields in (("header", record.header), ("point", record.point), ("footer", record.footer)):
            yield from _table(title, _rows(fields))
        yield from _table(f"columns of {_OF_EVERY_TABLE}", _columns(tables()[_OF_EVERY_TABLE]))
        return
    description = descriptions()[name]
    yield from _table("axes, in plan.parameters", _axes(description))
    yield from _table("plan.own", _rows(description.plan))
    yield from _table("own of the header", _rows(description.header))
    for part, title in _PARTS.items():
        yield from _table(title, _rows(_each_once(description.points, part)))
    for file, table in tables().items():
        if table.get("of") == description.family:
            yield from _table(f"columns of {file}", [table["rows"], *_columns(table)])


def as_json(name: str) -> str:
    """The same for programs: what the program prints of itself, or what is told of EVERY."""
    text = RECORD.read_text(encoding="utf-8") if name == EVERY else descriptions()[name].text
    return text.rstrip("\n")


def _columns(table: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{columns}: {meaning}" for columns, meaning in table["columns"].items())


def _table(title: str, rows: Iterable[str]) -> Iterator[str]:
    body = list(rows)
    if body:
        yield from (f"{title}:", *(f"  {row}" for row in body))


def _rows(fields: Iterable[Described], prefix: str = "") -> Iterator[str]:
    before: tuple[Described, ...] = ()  # an object after one of the same fields does not repeat them
    for field in fields:
        kind = f"{field.kind}{' or null' * field.or_null}{', may be left out' * field.may_lack}"
        yield f"{prefix}{field.name} ({kind}): {field.help}"
        if field.members != before:
            yield from _rows(field.members, f"{prefix}{field.name}.")
        before = field.members


def _axes(description: Description) -> Iterator[str]:
    for option in description.options:
        if option.parameter:
            also = f": {', '.join(option.choices)}" if option.choices else ""
            yield f"{option.parameter}: --{option.name}{also}"


def _each_once(kinds: Sequence[Points], part: str) -> list[Described]:
    """The fields of a part of the points, each once: kinds of points differ in a few. A field stands where the first
    kind that has it has it."""
    return list({field.name: field for kind in kinds for field in getattr(kind, part)}.values())
