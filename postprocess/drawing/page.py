"""HTML pages: templates that clean and escape values, packed data for scripts, and a content security policy."""

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
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


_LEAST_FOLDED = 2000
_UNSCRIPTED = '<p class="soft" data-unscripted>This page is large: only a browser with scripts shows this part.</p>'


class Rest:
    """What a page has packed, for its script to show later: some data, and the folded parts of a large page.

    data: by name; nothing is packed where all of it is empty and no part was folded away.  light: a page of at most so
    many characters has everything in it for a browser without scripts.
    """

    def __init__(self, data: Mapping[str, Any], light: int) -> None:
        self._data, self._light, self._folded = data, light, list[Markup]()

    def lightened(self, caller: Callable[[], str]) -> Markup:
        """The page that a template calls this with. If it is not light, closed `<details>` of some length are empty,
        and packed. Parts within parts stay within."""
        html = str(caller())
        if len(html) <= self._light:
            return Markup(html)
        kept: list[str] = []
        depth = begin = end = 0
        is_open = False
        for tag in re.finditer(r"<(/?)(details|summary)\b[^>]*>", html):
            closes, name = tag.groups()
            if name == "details":
                is_open = " open" in tag[0] if depth == 0 else is_open
                depth += -1 if closes else 1
            elif depth == 1 and closes:
                begin = tag.end()
            if depth == 0 and not is_open and tag.start() - begin >= _LEAST_FOLDED:
                kept += [html[end:begin], f'<div data-folded="{len(self._folded)}">{_UNSCRIPTED}</div>']
                self._folded.append(Markup(html[begin : tag.start()]))
                end = tag.start()
        return Markup("".join([*kept, html[end:]]))

    def packed(self) -> str:
        """All of it, to be called when the page is rendered; empty where there is nothing."""
        return packed({**self._data, "folded": self._folded}) if self._folded or any(self._data.values()) else ""


def packed(value: object) -> str:
    """Data for a page's script: JSON, compressed with gzip and encoded in base64.

    A dataclass becomes an object of its fields; texts that are no markup are cleaned as in a template. Compression
    makes the data ten times smaller; base64 makes sure that no name from outside is read as markup.
    """
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _plain(value: object) -> object:
    if isinstance(value, str):
        return str(value) if isinstance(value, Markup) else clean(value)
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
