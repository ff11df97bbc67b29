"""The JSON Schema of a record's lines, made from the descriptions of the programs.

A record whose header names the hash of the description at hand has all fields that it describes, and no others. What
another version of a program wrote is held against the kinds of the fields that both know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from postprocess.records.description import Described, Description, Points, descriptions, record_description
from postprocess.records.fields import Json

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_COUNT: Json = {"type": "integer", "minimum": 0}
_COUNTS: Json = {"type": "array", "items": _COUNT}
_TABLE: Json = {"type": "array", "items": _COUNTS}
_TEXT: Json = {"type": "string"}
_VALUE: Json = {"type": ["number", "string"]}
_SPREAD: Json = {
    "type": "object",
    "required": ["min", "median", "max", "max_rank"],
    "properties": dict.fromkeys(("min", "median", "max", "max_rank"), _COUNTS),
    "additionalProperties": False,
}


def _by_name(item: Json) -> Json:
    return {"type": "object", "additionalProperties": item}


_OF_KIND: Mapping[str, Json] = {
    "integer": _COUNT,
    "number": {"type": "number"},
    "text": _TEXT,
    "truth": {"type": "boolean"},
    "integers": _COUNTS,
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "texts": {"type": "array", "items": _TEXT},
    "lists": _TABLE,
    "lists of texts": {"type": "array", "items": {"type": "array", "items": _TEXT}},
    "counts or nulls": {"type": "array", "items": {"type": ["integer", "null"], "minimum": 0}},
    "texts by name": _by_name(_TEXT),
    "values by name": _by_name({"type": "array", "items": _VALUE}),
    "value by name": _by_name(_VALUE),
    "series": _by_name(_COUNTS),
    "spreads": _by_name(_SPREAD),
    "tables": _by_name(_TABLE),
}
"""The schemas of the kinds of `Described`."""


def validators(program: str, family: str, description_hash: str) -> dict[str, Draft202012Validator]:
    """The validators of the lines of a program's record, by type of line. Programs of others have the description of
    their family."""
    name = program if program in descriptions() else family
    description = descriptions().get(name)
    return _validators(name, description is not None and description.hash == description_hash)


@cache
def _validators(program: str, strict: bool) -> dict[str, Draft202012Validator]:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - only a check of a record needs it

    return {kind: Draft202012Validator(schema) for kind, schema in schemas(descriptions().get(program), strict).items()}


def worst_fault(validator: Draft202012Validator, line: Json) -> str | None:
    """Which field of a line is wrong, and how; None where the line conforms."""
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - likewise

    fault = best_match(validator.iter_errors(line))
    return None if fault is None else f"{'.'.join(map(str, fault.absolute_path)) or 'line'}: {fault.message}"


def schemas(description: Description | None, strict: bool) -> dict[str, Json]:
    """The schemas of the lines of a record, by their type."""
    record = record_description()
    named = {"schema": _TEXT, "schema_version": _COUNT}
    header, point, footer = (
        _object(fields, strict, {"type": {"const": kind}, **more})
        for kind, fields, more in (
            ("header", record.header, named), ("point", record.point, {}), ("footer", record.footer, {}),
        )
    )  # fmt: skip
    if description is not None:
        header["properties"]["own"] = _object(description.header, strict)
        header["properties"]["plan"]["properties"] |= {
            "own": _object(description.plan, strict), "parameters": _plan_parameters(description, strict),
        }  # fmt: skip
        kinds = [_own(kind, description, strict) for kind in description.points]
        if len(kinds) == 1:
            point["properties"] |= kinds[0]
        elif kinds:
            point["anyOf"] = [{"properties": kind} for kind in kinds]
    lines = {"header": header, "point": point, "footer": footer}
    if description is not None and description.process:
        lines["process"] = _object(description.process, strict, {"type": {"const": "process"}, **named})
    return lines


def _object(fields: Iterable[Described], strict: bool, more: Mapping[str, Json] | None = None) -> Json:
    fields = tuple(fields)
    properties = {**(more or {}), **{field.name: _value(field, strict) for field in fields}}
    needed = [*(more or {}), *(field.name for field in fields if not field.may_lack)]
    return {
        "type": "object",
        "properties": properties,
        "required": needed if strict else [],
        "additionalProperties": not strict,
    }


def _value(field: Described, strict: bool) -> Json:
    schema: Json = {"type": "integer"} if field.below_0 else dict(_OF_KIND[field.kind])
    if field.members and field.kind == "object":
        schema = _object(field.members, strict)
    elif field.members:
        schema["items"] = _object(field.members, strict)
    if field.values and strict:
        schema["enum"] = [*field.values, *([None] if field.or_null else [])]
    if field.or_null or not strict:
        schema["type"] = [schema["type"], "null"]
    return schema


def _plan_parameters(description: Description, strict: bool) -> Json:
    parameters = {}
    for option in description.options:
        if option.parameter:
            item = {"enum": list(option.choices)} if option.choices and strict else _VALUE
            parameters[option.parameter] = {"type": "array", "items": item}
    return {"type": "object", "properties": parameters, "additionalProperties": not strict}


def _own(kind: Points, description: Description, strict: bool) -> Json:
    items = {"series": _COUNTS, "spreads": _SPREAD, "rank_medians": _COUNTS, "thread_medians": _TABLE,
             "rank_samples": _TABLE}  # fmt: skip
    schema = {name: _named(getattr(kind, name), item, strict) for name, item in items.items()}
    warmup = _named((series for series in kind.series if series.stops), _COUNTS, strict) | {"required": []}
    axes = {option.parameter: _VALUE for option in description.options if option.parameter and not option.of_plan}
    parameters = _object(kind.parameters, strict, axes)
    return {**schema, "warmup": warmup, "parameters": parameters, "own": _object(kind.own, strict)}


def _named(fields: Iterable[Described], item: Json, strict: bool) -> Json:
    """The schema of an object that has the same kind of value for each of these fields."""
    fields = tuple(fields)
    return {
        "type": "object",
        "properties": {field.name: item for field in fields},
        "required": [field.name for field in fields if not field.may_lack] if strict else [],
        "additionalProperties": not strict,
    }
