"""What programs say of themselves is what stands beside their sources, and what docs/fields.md says.

A file that differs is written anew, and the test fails once: its difference is looked at before it is committed.
"""

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from postprocess.records.description import RECORD, Described, Description, Points, descriptions, record_description

PAGE = ROOT / "docs" / "fields.md"
COMMON = "nbc_overlap"
"""The program that has all options which programs share."""
WITHOUT = ("bind_rank",)
"""Programs that write no record."""


def _held(path: Path, text: str) -> None:
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if before != text:
        path.write_text(text, encoding="utf-8")
    assert before == text, f"{path} was out of date and is written anew: look at its difference"


def _described(program: Path, what: str) -> str:
    return subprocess.run([program, "--describe", what], capture_output=True, text=True, check=True).stdout


def _place(program: str, family: str) -> Path:
    """Where a program's description stands."""
    name = "description.json" if program == family else f"{program}_description.json"
    return ROOT / "benchmarks" / family / name


@pytest.mark.slow
@pytest.mark.needs("mpi")
def test_the_description_of_a_program_is_its_print(built: Path) -> None:
    _held(RECORD, _described(built / COMMON, "record"))
    for program in (built / "programs.txt").read_text().split():
        if program not in WITHOUT:
            text = _described(built / program, "program")
            _held(_place(program, json.loads(text)["family"]), text)


def _rows(fields: Iterable[Described], prefix: str = "") -> Iterator[str]:
    before: tuple[Described, ...] = ()  # an object after one of the same fields does not repeat them
    for field in fields:
        kind = f"{field.kind}{' or null' * field.or_null}{', may be left out' * field.may_lack}"
        yield f"- `{prefix}{field.name}` ({kind}): {field.help}"
        if field.members != before:
            yield from _rows(field.members, f"{prefix}{field.name}.")
        before = field.members


def _table(title: str, rows: Iterable[str]) -> Iterator[str]:
    body = list(rows)
    if body:
        yield from ("", f"{title}:", "", *body)


def _axes(description: Description) -> Iterator[str]:
    for option in description.options:
        if option.parameter:
            values = ", ".join(f"`{name}`" for name in option.choices)
            also = f": {values}" if 0 < len(option.choices) <= 20 else ""
            yield f"- `{option.parameter}`: `--{option.name}`{also}"


_PARTS = {
    "parameters": "Parameters of a point beside the axes", "series": "`series`", "spreads": "`spreads`",
    "rank_medians": "`rank_medians`", "thread_medians": "`thread_medians`", "own": "`own` of a point",
}  # fmt: skip


def _points(kinds: Sequence[Points]) -> Iterator[str]:
    """Each part of the points of a program, and each field once: kinds of points differ in a few."""
    for part, title in _PARTS.items():
        fields = {field.name: field for kind in reversed(kinds) for field in getattr(kind, part)}
        yield from _table(title, _rows(sorted(fields.values(), key=lambda field: _order(field, kinds, part))))


def _order(field: Described, kinds: Sequence[Points], part: str) -> tuple[int, int]:
    """Of the first kind that has the field, and its place there."""
    names = [[other.name for other in getattr(kind, part)] for kind in kinds]
    number = next(number for number, of_kind in enumerate(names) if field.name in of_kind)
    return number, names[number].index(field.name)


def page() -> str:
    """The text of docs/fields.md."""
    record = record_description()
    lines = [
        "# The fields of a record",
        "",
        "This page is made of what the programs print (`PROGRAM --describe program`). [records.md](records.md) says",
        "how they belong together.",
    ]
    for title, fields in (("Header", record.header), ("Point", record.point), ("Footer", record.footer)):
        lines += ["", f"## {title}", *_table("Of every program", _rows(fields))]
    for program, description in descriptions().items():
        lines += ["", f"## {program}", *_table("Axes, in `plan.parameters`", _axes(description))]
        lines += _table("`plan.own`", _rows(description.plan))
        lines += _table("`own` of the header", _rows(description.header))
        lines += _points(description.points)
    return "\n".join(lines) + "\n"


def test_the_page_of_fields_is_what_the_programs_print() -> None:
    _held(PAGE, page())
