"""The JSON Schema of a record's lines, made from the descriptions of the programs.

A record whose header names the hash of the description at hand has all fields that it describes, and no others. What
another version of a program wrote is held against the kinds of the fields that both know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

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
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "text": _TEXT,
    "truth": {"type": "boolean"},
    "integers": {"type": "array", "items": {"type": "integer"}},
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "texts": {"type": "array", "items": _TEXT},
    "lists": _TABLE,
    "pairs of integers": _TABLE,
    "counts or nulls": {"type": "array", "items": {"type": ["integer", "null"], "minimum": 0}},
    "texts by name": _by_name(_TEXT),
    "values by name": _by_name({"type": "array", "items": _VALUE}),
    "value by name": _by_name(_VALUE),
    "series": _by_name(_COUNTS),
    "spreads": _by_name(_SPREAD),
    "tables": _by_name(_TABLE),
}
"""The schemas of the kinds of `Described`."""


def validators(program: str, description_hash: str) -> dict[str, Draft202012Validator]:
    """The validators of the lines of a program's record, by type of line."""
    description = descriptions().get(program)
    return _validators(program, description is not None and description.hash == description_hash)


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
    schema = dict(_OF_KIND[field.kind])
    if field.members and field.kind == "object":
        schema = _object(field.members, strict)
    elif field.members:
        schema = {"type": "array", "items": _object(field.members, strict)}
    if field.values and strict:
        schema = {"enum": list(field.values)}
    if field.or_null or not strict:
        return {"anyOf": [schema, {"type": "null"}]} | ({"properties": schema.get("properties", {})})
    return schema


def _plan_parameters(description: Description, strict: bool) -> Json:
    parameters = {}
    for option in description.options:
        if option.parameter:
            item = {"enum": list(option.choices)} if option.choices and strict else _VALUE
            parameters[option.parameter] = {"type": "array", "items": item}
    return {"type": "object", "properties": parameters, "additionalProperties": not strict}


def _own(kind: Points, description: Description, strict: bool) -> Json:
    axes = [
        Described(option.parameter, kind="value") for option in description.options
        if option.parameter and not option.of_plan
    ]  # fmt: skip
    items = {"series": _COUNTS, "spreads": _SPREAD, "rank_medians": _COUNTS, "thread_medians": _TABLE,
             "rank_samples": _TABLE}  # fmt: skip
    schema: dict[str, Any] = {
        name: {
            "type": "object",
            "properties": {field.name: item for field in getattr(kind, name)},
            "required": [field.name for field in getattr(kind, name) if not field.may_lack] if strict else [],
            "additionalProperties": not strict,
        }
        for name, item in items.items()
    }
    parameters = _object(kind.parameters, strict)
    parameters["properties"] |= {axis.name: _VALUE for axis in axes}
    return {**schema, "parameters": parameters, "own": _object(kind.own, strict)}
