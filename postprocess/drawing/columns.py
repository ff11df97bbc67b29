"""Plain tables for the terminal, and the remarks that the tables of several families share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from postprocess.drawing.text import clean


def circumstances(point: Mapping[Any, Any], prefix: str = "") -> list[str]:
    """The remarks that every table makes on a point, reliable or not. `prefix` precedes the names of its columns."""
    return [
        *(["oversubscribed"] if point[f"{prefix}oversubscribed"] else []),
        *(["shared core"] if point[f"{prefix}shared_core"] else []),
        *([] if point[f"{prefix}complete"] else ["incomplete record"]),
    ]


def aligned(heads: Sequence[str], lines: Sequence[Sequence[str]], right: set[int]) -> str:
    """A table of lines of cells under heads, without a final newline. The columns in `right` are flushed right."""
    rows = [list(map(clean, row)) for row in (heads, *lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
