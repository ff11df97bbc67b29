"""What programs say of themselves is what stands beside their sources, and what docs/fields.md says.

Where a change is meant, remove the file: the test writes it anew, and its difference is looked at before it is
committed.
"""

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from postprocess.records.description import RECORD, Described, Description, Points, descriptions, record_description

PAGE = ROOT / "docs" / "fields.md"
COMMON = "nbc_overlap"
"""The program that has all options which programs share."""


def _held(path: Path, text: str) -> None:
    if not path.exists():
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: remove it and run this test"


def _described(program: Path, what: str) -> str:
    return subprocess.run([program, "--describe", what], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.needs("mpi")
def test_the_description_of_a_program_is_its_print(built: Path) -> None:
    _held(RECORD, _described(built / COMMON, "record"))
    for folder in sorted(path for path in (ROOT / "benchmarks").iterdir() if (path / "main.c").is_file()):
        for path in sorted(folder.glob("*description.json")):
            program = path.name.removesuffix("_description.json") if "_" in path.name else folder.name
            _held(path, _described(built / program, "program"))


def _rows(fields: Iterable[Described], prefix: str = "") -> Iterator[str]:
    for field in fields:
        kind = f"{field.kind}{' or null' * field.or_null}{', may be left out' * field.may_lack}"
        yield f"| `{prefix}{field.name}` | {kind} | {field.help} |"
        yield from _rows(field.members, f"{prefix}{field.name}.")


def _table(title: str, rows: Iterable[str]) -> Iterator[str]:
    body = list(rows)
    if body:
        yield from ("", f"{title}:", "", "| Field | Kind | Meaning |", "| --- | --- | --- |", *body)


def _axes(description: Description) -> Iterator[str]:
    for option in description.options:
        if option.parameter:
            values = ", ".join(f"`{name}`" for name in option.choices)
            also = f": {values}" if 0 < len(option.choices) <= 20 else ""
            yield f"| `{option.parameter}` | {option.kind} | `--{option.name}`{also} |"


def _points(kind: Points) -> Iterator[str]:
    yield from _table("Parameters of a point beside the axes", _rows(kind.parameters))
    yield from _table("`series`", _rows(kind.series))
    yield from _table("`spreads`", _rows(kind.spreads))
    yield from _table("`rank_medians`", _rows(kind.rank_medians))
    yield from _table("`thread_medians`", _rows(kind.thread_medians))
    yield from _table("`own` of a point", _rows(kind.own))


def page() -> str:
    """The text of docs/fields.md."""
    record = record_description()
    lines = [
        "# The fields of a record",
        "",
        "This page is made of what the programs print (`PROGRAM --describe program`). [records.md](records.md) says how",
        "they belong together.",
    ]
    for title, fields in (("Header", record.header), ("Point", record.point), ("Footer", record.footer)):
        lines += ["", f"## {title}", *_table("Of every program", _rows(fields))]
    for program, description in descriptions().items():
        lines += ["", f"## {program}", *_table("Axes, in `plan.parameters`", _axes(description))]
        lines += _table("`plan.own`", _rows(description.plan))
        lines += _table("`own` of the header", _rows(description.header))
        for kind in description.points:
            lines += _points(kind)
    return "\n".join(lines) + "\n"


def test_the_page_of_fields_is_what_the_programs_print() -> None:
    _held(PAGE, page())
