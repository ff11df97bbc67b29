"""What programs say of themselves: the tables from which they read options and write records.

`PROGRAM --describe program` prints them as JSON, and `benchmarks/<family>/description.json` is that print, which a test
holds against the program; a second program of a family has `<program>_description.json`. What all records have in
common is in `benchmarks/common/description.json`, the print of `--describe record`. The records of programs of others
are described beside the code that writes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from postprocess.records.fields import Json

_ROOT = Path(__file__).resolve().parents[2]
RECORD = _ROOT / "benchmarks" / "common" / "description.json"
_PROGRAMS = ("benchmarks/*/*description.json", "postprocess/families/*/description.json")


@dataclass(frozen=True)
class Described:
    """A field of a record, or a series of a point.

    kind: ``integer``, ``number``, ``text``, ``truth``, ``integers``, ``object``, ``objects``, or in words what stands
    there.  members: the fields of an object, or of each object.  values: the legal texts; empty where any is.
    or_null, may_lack: whether it may be null, or be left out.  stops: a series until whose interval is narrow a point
    is repeated.  below_0: an integer that may be below 0; others are counts.
    """

    name: str
    help: str = ""
    kind: str = "series"
    unit: str = ""
    or_null: bool = False
    may_lack: bool = False
    stops: bool = False
    below_0: bool = False
    values: tuple[str, ...] = ()
    members: tuple[Described, ...] = ()


@dataclass(frozen=True)
class Option:
    """An option of a program.

    parameter: the name of its values in a record; empty where it is no axis.  of_plan: no point takes its value from
    it.  choices: the legal texts and what each means.  minimum, maximum: of numbers; None for other kinds.
    multiple_of: what each number is a multiple of.  ascending: whether a list must ascend.  most: how many values
    it may have; None: any number.
    default: the value where the option is not given; None where there is none, or where it is a list.
    grids: the values on each grid, by its name.
    """

    name: str
    kind: str
    help: str
    parameter: str = ""
    of_plan: bool = False
    minimum: float | None = None
    maximum: float | None = None
    multiple_of: int = 1
    ascending: bool = False
    most: int | None = None
    default: int | float | str | None = None
    choices: Mapping[str, str] = field(default_factory=dict, hash=False)
    grids: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Points:
    """What the record has of the points of one kind. ``parameters`` are those beside the axes of the options."""

    parameters: tuple[Described, ...] = ()
    series: tuple[Described, ...] = ()
    spreads: tuple[Described, ...] = ()
    rank_medians: tuple[Described, ...] = ()
    thread_medians: tuple[Described, ...] = ()
    rank_samples: tuple[Described, ...] = ()
    own: tuple[Described, ...] = ()


@dataclass(frozen=True)
class Description:
    """What a program has of its own. ``text`` is what it prints.

    ``method`` is the number of the method by which it measures; 0 where it tells none.  ``process`` are the fields of
    the first line that each process writes, of a program without MPI.
    """

    program: str
    family: str
    method: int
    options: tuple[Option, ...]
    plan: tuple[Described, ...]
    header: tuple[Described, ...]
    points: tuple[Points, ...]
    process: tuple[Described, ...] = ()
    text: str = field(default="", repr=False)

    @cached_property
    def hash(self) -> str:
        """What the header of its records says of this description: FNV-1a, 64 bits, in hexadecimal, of the text
        without its last newline."""
        value = 14695981039346656037
        for byte in self.text.rstrip("\n").encode():
            value = (value ^ byte) * 1099511628211 % 2**64
        return f"{value:016x}"

    def option(self, parameter: str) -> Option:
        """The option of which a record has the values under this name. Raises LookupError where there is none."""
        options = {option.parameter: option for option in self.options if option.parameter}
        if parameter not in options:
            raise LookupError(
                f"{self.program} has no option whose values are {parameter!r} in a record: is its description what the "
                "program prints now (tests/test_descriptions.py)?"
            )
        return options[parameter]


@dataclass(frozen=True)
class RecordDescription:
    """What is the same in all records: the fields of their three kinds of lines. Options are those of all programs."""

    options: tuple[Option, ...]
    header: tuple[Described, ...]
    point: tuple[Described, ...]
    footer: tuple[Described, ...]


@cache
def descriptions() -> Mapping[str, Description]:
    """All descriptions, by the name of the program."""
    paths = sorted(path for pattern in _PROGRAMS for path in _ROOT.glob(pattern) if path != RECORD)
    return {description.program: description for description in map(_read, paths)}


@cache
def families() -> tuple[str, ...]:
    """The families of the programs, by name."""
    return tuple(sorted({description.family for description in descriptions().values()}))


@cache
def record_description() -> RecordDescription:
    """The description of what is the same in all records."""
    value = json.loads(RECORD.read_text(encoding="utf-8"))
    lines = {name: _fields(value[name]) for name in ("header", "point", "footer")}
    return RecordDescription(_options(value["options"]), **lines)


def _read(path: Path) -> Description:
    text = path.read_text(encoding="utf-8")
    value = json.loads(text)
    points = tuple(Points(**{name: _fields(own) for name, own in kind.items()}) for kind in value.get("points", ()))
    plan, header, process = (_fields(value.get(name, ())) for name in ("plan", "header", "process"))
    options = _options(value["options"])
    return Description(
        value["program"], value["family"], value.get("method", 0), options, plan, header, points, process, text
    )


def _fields(values: Sequence[Json]) -> tuple[Described, ...]:
    return tuple(
        Described(
            **{name: value for name, value in values_of.items() if name not in ("values", "members")},
            values=tuple(values_of.get("values", ())),
            members=_fields(values_of.get("members", ())),
        )
        for values_of in values
    )


def _options(values: Sequence[Json]) -> tuple[Option, ...]:
    return tuple(
        Option(
            **{name: value for name, value in option.items() if name not in ("choices", "grids")},
            choices={choice["name"]: choice.get("help", "") for choice in option.get("choices", ())},
            grids={name: tuple(numbers) for name, numbers in option.get("grids", {}).items()},
        )
        for option in values
    )
