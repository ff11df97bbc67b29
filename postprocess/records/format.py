"""A schema of records, as the one reader takes it: how its lines become the dataclasses of `header` and `record`."""

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
"""Reads the lines between header and footer, in their order; None for a line that is no point by itself."""


@dataclass(frozen=True)
class Format:
    """One schema, of one or several versions. Its functions raise RecordError.

    kinds: the types of the lines between header and footer; else, what is said of a line of another type.
    points: given the header, what reads those lines. footer: given also how many points stand before it.
    schema_file: given the first line, the name of its JSON schema in `SCHEMA_FOLDER`.
    """

    schema: str
    versions: tuple[int, ...]
    kinds: tuple[str, ...]
    otherwise: str
    header: Callable[[Fields], Header]
    points: Callable[[Header], PointReader]
    footer: Callable[[Fields, Header, int], Footer]
    schema_file: Callable[[Fields], str]
