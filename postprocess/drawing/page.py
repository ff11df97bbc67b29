"""HTML pages: templates that clean and escape values, packed data for scripts, and a content security policy."""

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from postprocess.drawing.text import clean

TEMPLATES = Path(__file__).resolve().parent / "templates"


def environment(*folders: Path) -> jinja2.Environment:
    """The jinja2 environment for pages and styles.

    It removes control characters from every value and escapes it; a missing value is an error.
    folders: further folders with templates.
    """
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, *folders]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def embedded(style: str, script: str) -> dict[str, Any]:
    """The variables with which a template embeds its style and script, and allows only these by their hashes."""
    return {
        "style": Markup(style),
        "style_hash": _digest(style),
        "script": Markup(script),
        "script_hash": _digest(script),
    }


def script(name: str) -> str:
    """The text of a script in the folder of templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def packed(value: object) -> str:
    """Data for a page's script: JSON, compressed with gzip and encoded in base64.

    A dataclass becomes an object of its fields, and texts are cleaned as in a template. Compression makes the data ten
    times smaller; base64 makes sure that no name from outside is read as markup.
    """
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _plain(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return _plain(vars(value)) if is_dataclass(value) else value


class Filters:
    """The values by which a reader can choose what a page shows, by their kind, in the order in which they appear.

    An element of the page carries the place of its value of each kind, ``"0 2 1"``; ``-`` where it has none, so that it
    is always shown.
    """

    def __init__(self, *kinds: str) -> None:
        self.kinds: dict[str, list[str]] = {kind: [] for kind in kinds}

    def places(self, *values: str) -> str:
        """The place of an element's value of each kind."""
        return " ".join(self._place(known, value) for known, value in zip(self.kinds.values(), values, strict=True))

    @staticmethod
    def _place(known: list[str], value: str) -> str:
        if value and value not in known:
            known.append(value)
        return str(known.index(value)) if value else "-"


def write(output: Path, page: str) -> Path:
    """Write a page, whole or not at all, and return its path. Raises OSError."""
    partial = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)
    return output


def _digest(text: str) -> str:
    """The SHA-256 hash of a style or script for the content security policy, in base64."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
