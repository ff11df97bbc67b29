"""What pages share: templates whose values are escaped and cleaned, data for a page's script, a policy that lets
nothing in from outside."""

from __future__ import annotations

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
    """For pages and styles: every value is cleaned of control characters and escaped, and a missing one is an error.

    folders: where further templates are.
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
    """What a page's template needs to embed its style and script, and to allow just these."""
    return {
        "style": Markup(style),
        "style_hash": _digest(style),
        "script": Markup(script),
        "script_hash": _digest(script),
    }


def script(name: str) -> str:
    """A page's own script."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def packed(value: object) -> str:
    """Data for a page's script: JSON, of a dataclass its fields, every text cleaned as in a template.

    Packed with gzip it is a tenth as large, and in base64 no name from outside can be markup.
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


def write(output: Path, page: str) -> Path:
    """Write a page, whole or not at all. Raises OSError."""
    partial = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)
    return output


def _digest(text: str) -> str:
    """What a content security policy knows a style or script by."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
