"""What the reader of records knows of a schema: how lines become the dataclasses of `header` and `record`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from postprocess.records.fields import Fields
from postprocess.records.header import Header
from postprocess.records.record import Footer, Point

SCHEMA_FOLDER = Path(__file__).resolve().parents[2] / "results" / "schema"

PointReader: TypeAlias = Callable[[Fields], Point | None]
"""Called with each line between header and footer, in order. Returns its point; None for a line that is no point."""


@dataclass(frozen=True)
class Format:
    """One schema, of one or several versions. Its functions raise RecordError.

    kinds: the types of the lines between header and footer.  otherwise: the error about a line of another type.
    header: reads the first line.  points: takes the header and returns what reads the lines of `kinds`.
    footer: takes the last line, the header, and the number of points between them.
    schema_file: takes the first line and returns the name of its JSON schema in `SCHEMA_FOLDER`.
    """

    schema: str
    versions: tuple[int, ...]
    kinds: tuple[str, ...]
    otherwise: str
    header: Callable[[Fields], Header]
    points: Callable[[Header], PointReader]
    footer: Callable[[Fields, Header, int], Footer]
    schema_file: Callable[[Fields], str]
