"""JSON Lines read with care: numbered lines, typed keys, and one line of error that names file, line and key."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

from postprocess.drawing.text import clean

if TYPE_CHECKING:  # NumPy loads slowly, and a help is made of axes, which import this module
    import numpy as np
    from numpy.typing import NDArray

Json: TypeAlias = dict[str, Any]
Nanoseconds: TypeAlias = "NDArray[np.int64]"
Positive: TypeAlias = int
"""A whole number from 1, as `Fields.made` reads it."""
FloatOrNan: TypeAlias = float
"""A number, NaN for null, likewise."""
Made = TypeVar("Made")

_INT64_MAX = 2**63 - 1


class RecordError(ValueError):
    """A record file or a run folder that cannot be read; the message is one line, ``file:line: what is wrong``."""


def fail(where: str, message: str) -> NoReturn:
    """Raise RecordError about a place, ``file:line``. Names in the message may come from outside: it is cleaned."""
    raise RecordError(f"{where}: {clean(message)}")


def lines_of(path: Path) -> Iterator[tuple[str, Json | None]]:
    """Yield the place of every line, ``file:line``, and its JSON object, which is None where the last line was cut.

    A last line that lacks nothing but its newline is whole. Raises RecordError where the file cannot be read, or where
    a line is no JSON object.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        fail(clean(str(path)), f"cannot be read: {error.strerror}")
    *whole, tail = data.split(b"\n")
    for number, line in enumerate(whole, start=1):
        where = f"{clean(path.name)}:{number}"
        yield where, _object(line, where)
    if tail:
        where = f"{clean(path.name)}:{len(whole) + 1}"
        try:
            json.loads(tail.decode("utf-8"))
        except (ValueError, RecursionError):
            yield where, None
            return
        yield where, _object(tail, where)


def _object(line: bytes, where: str) -> Json:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        fail(where, "not UTF-8")
    return json_object(text, where)


def json_object(text: str, where: str) -> Json:
    """The JSON object that a text is. Raises RecordError for any other text."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(name)

    try:
        value = json.loads(text, parse_constant=refuse)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # raises for half a surrogate pair
    except (ValueError, RecursionError):
        fail(where, "not JSON")
    if not isinstance(value, dict):
        fail(where, "not a JSON object")
    return value


class Fields:
    """Typed access to one JSON object, whose errors name the line and the key."""

    def __init__(self, value: Json, where: str, name: str = "") -> None:
        self.value, self.where, self.name = value, where, name

    def _get(self, key: str, is_legal: Callable[[Any], bool], expected: str) -> Any:
        if key not in self.value:
            fail(self.where, f"{self.name}{key} is missing")
        value = self.value[key]
        if not is_legal(value):
            fail(self.where, f"{self.name}{key} is not {expected}")
        return value

    def text(self, key: str) -> str:
        return str(self._get(key, lambda v: isinstance(v, str), "a string"))

    def flag(self, key: str) -> bool:
        return bool(self._get(key, lambda v: isinstance(v, bool), "true or false"))

    def count(self, key: str) -> int:
        return int(self._get(key, is_count, "a whole number"))

    def count_or_none(self, key: str) -> int | None:
        return None if self.value.get(key, 0) is None else self.count(key)

    def flag_or_none(self, key: str) -> bool | None:
        return None if self.value.get(key, 0) is None else self.flag(key)

    def positive(self, key: str) -> int:
        return int(self._get(key, lambda v: is_count(v) and v > 0, "a whole number from 1"))

    def number(self, key: str) -> float:
        return float(self._get(key, is_number, "a number"))

    def number_or_nan(self, key: str) -> float:
        value = self._get(key, lambda v: v is None or is_number(v), "a number or null")
        return float("nan") if value is None else float(value)

    def number_or_none(self, key: str) -> float | None:
        value = self.number_or_nan(key)
        return None if math.isnan(value) else value

    def items(self, key: str) -> list[Any]:
        return list(self._get(key, lambda v: isinstance(v, list), "a list"))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self._get(key, lambda v: list_of(v, lambda x: isinstance(x, str)), "a list of strings"))

    def counts(self, key: str) -> tuple[int, ...]:
        return tuple(self._get(key, lambda v: list_of(v, is_count), "a list of whole numbers"))

    def counts_or_none(self, key: str) -> tuple[int | None, ...]:
        expected = "a list of whole numbers or nulls"
        return tuple(self._get(key, lambda v: list_of(v, lambda x: x is None or is_count(x)), expected))

    def count_lists(self, key: str) -> tuple[tuple[int, ...], ...]:
        expected = "a list of lists of whole numbers"
        return tuple(map(tuple, self._get(key, lambda v: list_of(v, lambda row: list_of(row, is_count)), expected)))

    def times(self, key: str, length: int | None = None) -> Nanoseconds:
        """Whole nanoseconds from 0.  length: how many values there must be."""
        values = self.counts(key)
        if length is not None and len(values) != length:
            fail(self.where, f"{self.name}{key} has {len(values)} values, not {length}")
        return _array(values)

    def times_table(self, key: str, rows: int, columns: int) -> Nanoseconds:
        """Whole nanoseconds from 0, of shape (rows, columns)."""
        values = self.count_lists(key)
        if len(values) != rows or any(len(row) != columns for row in values):
            fail(self.where, f"{self.name}{key} is not {rows} lists of {columns} values")
        return _array(values).reshape(rows, columns)

    def strings(self, key: str) -> dict[str, str]:
        expected = "an object of strings"
        return dict(
            self._get(key, lambda v: isinstance(v, dict) and all(isinstance(x, str) for x in v.values()), expected)
        )

    def mapping(self, key: str) -> Json:
        return dict(self._get(key, lambda v: isinstance(v, dict), "an object"))

    def inside(self, key: str) -> Fields:
        return Fields(self.mapping(key), self.where, f"{self.name}{key}.")

    def each(self, key: str) -> Iterator[Fields]:
        for index, value in enumerate(self.items(key)):
            name = f"{self.name}{key}[{index}]"
            if not isinstance(value, dict):
                fail(self.where, f"{name} is not an object")
            yield Fields(value, self.where, name + ".")

    def made(self, kind: type[Made], /, **given: Any) -> Made:
        """A dataclass of this object's values: each field that is not given is read by its name, as its type says."""
        names = [one.name for one in fields(kind) if one.name not in given]  # type: ignore[arg-type]
        return kind(**given, **self.read(kind, names))

    def read(self, kind: type, names: Iterable[str]) -> dict[str, Any]:
        """The values of these fields of a dataclass, likewise."""
        types = {one.name: str(one.type) for one in fields(kind)}
        return {name: BY_TYPE[types[name]](self, name) for name in names}


BY_TYPE: Mapping[str, Callable[[Fields, str], Any]] = {
    "str": Fields.text,
    "bool": Fields.flag,
    "int": Fields.count,
    "Positive": Fields.positive,
    "int | None": Fields.count_or_none,
    "bool | None": Fields.flag_or_none,
    "float": Fields.number,
    "FloatOrNan": Fields.number_or_nan,
    "float | None": Fields.number_or_none,
    "tuple[str, ...]": Fields.texts,
    "tuple[int, ...]": Fields.counts,
    "tuple[tuple[int, ...], ...]": Fields.count_lists,
    "Nanoseconds": Fields.times,
    "Json": Fields.mapping,
    "Mapping[str, str]": Fields.strings,
}
"""How a field of a dataclass is read, by its type as the source writes it."""


def _array(values: Sequence[Any]) -> Nanoseconds:
    import numpy as np  # noqa: PLC0415

    return np.array(values, dtype=np.int64)


def is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _INT64_MAX


def is_number(value: object) -> bool:
    if type(value) is int:
        return abs(value) <= _INT64_MAX
    return type(value) is float and math.isfinite(value)


def list_of(value: object, is_legal: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(is_legal, value))
