"""Records that are damaged in every way, and what a loader may do with them: read them, or say why not in one line."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from postprocess.records.fields import RecordError
from tests.postprocess.synthetic import text

_JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.one_of(st.integers(-5, 5), st.text(max_size=2), st.none()), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [path, *(place for key, child in children for place in _places(child, (*path, key)))]


@st.composite
def anything_anywhere(draw: st.DrawFn, original: list[dict[str, Any]]) -> bytes:
    """The lines of a record of which one value, wherever it stands, is another one or gone."""
    place = draw(st.sampled_from(_places(original)[1:]))
    lines: Any = copy.deepcopy(original)
    target = lines
    for key in place[:-1]:
        target = target[key]
    if draw(st.booleans()):
        del target[place[-1]]
    else:
        target[place[-1]] = draw(_JUNK)
    return text(lines).encode(errors="surrogatepass")


@st.composite
def damaged_bytes(draw: st.DrawFn, original: list[dict[str, Any]]) -> bytes:
    """The lines of a record of which some bytes are other ones, more or fewer."""
    whole = text(original).encode()
    start, length = draw(st.integers(0, len(whole))), draw(st.integers(0, 40))
    return whole[:start] + draw(st.binary(max_size=40)) + whole[start + length :]


def loads_or_says_why(load: Callable[[Path], object], path: Path) -> None:
    """Whatever is raised but a RecordError of one printable line, with file and line number, is a fault of `load`."""
    try:
        load(path)
    except RecordError as error:
        message = str(error)
        assert message.startswith(f"{path.name}:")
        assert message.split(":")[1].isdigit()
        assert "\n" not in message
        assert message.isprintable()
