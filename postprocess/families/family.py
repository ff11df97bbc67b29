"""What everybody else knows of a family of benchmarks: `registry.FAMILIES` holds one `Family` each, and whoever shows,
checks, archives or compares goes through them and names none.

It is imported by what plans and launches as well, so that it loads neither pandas nor matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from postprocess.statistics.limits import Limits

Value: TypeAlias = str | int | float
"""Of an axis."""


@dataclass(frozen=True)
class Axis:
    """One thing in which what is measured can differ.

    name: its column in tables, its field of a case.
    title: for people, such as the head of a column.
    usual: the value that is not worth a word, and that of everything which has no such axis; None where there is none:
    the value is always told.
    of: what differs in it: the cases of a run, the points of one case, or the launches of one case.
    kind: of its values.
    unit: of its numbers, "ns" or "bytes"; empty of texts and plain numbers.
    values: all that it can have, each with what it is; empty where that is any text or number, or where others know it.
    words: a value for people, ``MPI_Test every 100 µs``.
    in_file_name: a value in the names of files, ``test100000ns``.
    """

    name: str
    title: str
    usual: Value | None = None
    of: Literal["case", "point", "launch"] = "case"
    kind: Literal["text", "integer", "number"] = "text"
    unit: str = ""
    values: Mapping[str, str] = field(default_factory=dict, hash=False)
    words: Callable[[Any], str] = str
    in_file_name: Callable[[Any], str] = str

    def is_usual(self, value: Value) -> bool:
        """Whether a value is not worth a word."""
        return self.usual is not None and value == self.usual


@dataclass(frozen=True)
class Metric:
    """One thing that can be compared between launches: a column of the family's table.

    ratio: its effect is a ratio, else a difference.
    better: which values are, the smaller or the larger ones.
    same: the columns, of `Family.sizes`, that must be the same on both sides.
    state: the column that must be true of a launch for it to count.
    usual: whether it is compared without being asked for.
    """

    name: str
    title: str
    ratio: bool
    better: Literal["smaller", "larger"] = "smaller"
    same: tuple[str, ...] = ()
    state: Literal["valid", "reliable"] = "valid"
    usual: bool = False

    def is_worse(self, value: float, other: float, limits: Limits) -> bool:
        """Whether a value is worse than another one by so much that it matters."""
        low, high = (other, value) if self.better == "smaller" else (value, other)
        return high >= (low * (1 + limits.least_ratio) if self.ratio else low + limits.least_difference)
