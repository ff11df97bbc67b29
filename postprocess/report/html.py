"""The report of a run: a self-contained HTML file, and the maps as pictures beside it.

Without a script a browser shows the whole report; of a large run (`drawing.look.Room`, `page.Rest`) it shows the first
page of the table and of the maps, and no folded parts. With the page's own script (templates/report.js) a reader can
choose what is shown, turn pages, and see a point's row of the table beside its cell.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from postprocess.drawing import page
from postprocess.drawing.colour import PALETTES
from postprocess.drawing.look import PLAIN, ROOM, Look, Room
from postprocess.drawing.matrix_view import matrix_view
from postprocess.drawing.text import capitalised, clean, plural
from postprocess.families import registry
from postprocess.families.family import Details, Page
from postprocess.records import variables
from postprocess.records.fields import Json
from postprocess.records.host_limits import limits_words, value_words
from postprocess.records.run import Run, cases_of, load_run
from postprocess.records.run_words import RESULT_WORDS, ran_words, run_name, together
from postprocess.report.verified import Observed, builds_of, by_library, environments_of, observed_in, verified_of
from postprocess.verdicts import findings_text
from postprocess.verdicts.answers import NOT_ASKED, Answers, matrices, sentences, undecided
from postprocess.verdicts.compare_text import MATRIX_KEY
from postprocess.verdicts.findings import MEASURED, of_run

_PANEL = ("toolchain", "network", "configuration", "collective")
_CASE_FIELDS = ("case", *_PANEL, "result", "reason")
# The most characters of a case's message that are shown; the campaign archives fewer.
LONGEST_MESSAGE = 5000


@dataclass(frozen=True)
class Shown:
    """A part of the page. `view` is what its template shows."""

    name: str
    title: str
    order: int
    template: str
    view: Any


def write_report(
    source: Run | Path | str,
    output_html: Path | str,
    maps_folder: Path | None = None,
    look: Look = PLAIN,
    answers: Answers = NOT_ASKED,
) -> list[Path]:
    """Write the report of a run, complete or not, and its maps.

    source: the run, or its folder, which is only read.
    maps_folder: the folder for the maps; None: the folder `maps` beside the report.  answers: what stands first.
    Returns the paths written, the report first. Each file is written whole or not at all.
    Raises RecordError where the run cannot be read, OSError where a file cannot be written.
    """
    run, output = source if isinstance(source, Run) else load_run(source), Path(output_html)
    output.parent.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, list[Path]] = {}
    for family in registry.FAMILIES:
        for section in family.sections:
            if section.pictures is not None and look.kinds:
                results = registry.found(run, family)
                pictures |= section.pictures(Page(run, look), results, maps_folder or output.parent / "maps")
    links = {key: [_link(f, output.parent) for f in files] for key, files in pictures.items()}
    page.write(output, render_report(run, links, look, answers=answers))
    return [output, *(file for files in pictures.values() for file in files)]


def render_report(
    run: Run,
    links: Mapping[str, Sequence[str]] | None = None,
    look: Look = PLAIN,
    room: Room = ROOM,
    answers: Answers = NOT_ASKED,
) -> str:
    """The report as HTML text. It opens in the palette of the look; a reader can switch to another one.

    links: addresses of pictures, by the names that `Section.pictures` returned.
    """
    report = Page(run, look, room, links or {})
    environment = page.environment(registry.TEMPLATES)
    observed = observed_in(run)
    cases = [_case_texts(case) for case in cases_of(run.manifest)]
    parts = {place: _parts(report, place) for place in ("page", "found", "reading")}
    style: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for family in registry.FAMILIES:
        for section in family.sections:
            results = registry.found(run, family)
            style |= section.style(report, results)
            rest |= section.rest(report, results)
    return environment.get_template("report.html").render(
        **page.embedded(environment.get_template("style.css").render(**style), page.script("report.js")),
        look=look,
        palettes=PALETTES,
        run_name=run_name(run),
        heading=_heading(run),
        subtitle=_subtitle(run),
        incomplete=_incomplete(run, observed, cases),
        sections=sorted(
            [*parts["page"], *_answers(run, answers, parts["page"]), *_own_sections(run, observed, cases, parts)],
            key=lambda part: part.order,
        ),
        rest=page.Rest(rest, room.light),
    )


def _parts(report: Page, place: str) -> list[Shown]:
    """The parts that the families show at a `Section.place`, in order."""
    shown = [
        Shown(
            section.name,
            section.title,
            section.order,
            section.template,
            section.view(report, registry.found(report.run, family)),
        )
        for family in registry.FAMILIES
        for section in family.sections
        if section.place == place
    ]
    return sorted((part for part in shown if part.view is not None), key=lambda part: part.order)


def _answers(run: Run, answers: Answers, page_parts: Sequence[Shown]) -> list[Shown]:
    """The first screen: the matrix of each family, and what the run answers; then the matrices of the comparisons."""
    told = [(question, sentences(question)) for question in answers.questions]
    view = [(question.title, of_one, question.more) for question, of_one in told if of_one]
    last = [*filter(None, [undecided(answers)]), *answers.notes]
    anchors = {part.name for part in page_parts}
    every = [(family, registry.cells(run, family)[0]) for family in registry.SHOWN]
    frames = [
        matrix_view(
            capitalised(family.title),
            next((section.name for section in family.sections if section.name in anchors), ""),
            cells,
        )
        for family, cells in every
        if cells
    ]
    grids = matrices(answers)
    return [
        *([Shown("answers", "Answers", -1, "answers.html", (frames, view, last))] if frames or view or last else []),
        *([Shown("sides", "Side by side", 1, "sides.html", (grids, MATRIX_KEY))] if grids else []),
    ]


def _own_sections(
    run: Run, observed: Sequence[Observed], cases: Sequence[Mapping[str, Any]], parts: Mapping[str, Sequence[Shown]]
) -> list[Shown]:
    """The sections that do not depend on a family of benchmarks."""
    troubles = [case for case in cases if case["result"] != "pass"]
    without = (_alike(troubles), len(cases), sum(case["result"] == "pass" for case in cases))
    verified = verified_of(observed)
    measured = any(not registry.found(run, family).table.empty for family in registry.FAMILIES)
    notes = [str(note) for note in _list(run.manifest.get("notes"))]
    found = (parts["found"], measured, notes)
    files = len(_dict(run.manifest.get("checksums")))
    check = f"./campaign results verify {clean(run_name(run))}"
    checked = [("checksums", f"of {plural(files, 'file')}, in manifest.json: {check}")] * bool(files)
    origin = (
        [*_ran(run, observed, cases), *_provenance(run), *checked], _commands(run),
        _toolchains(run), builds_of(observed), environments_of(observed),
    )  # fmt: skip
    judged = of_run(run) if run.manifest.get("status") == "complete" else []
    told = findings_text.rows([one for one in judged if one.verdict in MEASURED])
    return [
        Shown("found", "Why, and what to do", 0, "found.html", found),
        *([Shown("not-measured", "Not measured", 50, "not_measured.html", without)] if troubles else []),
        *(
            [Shown("findings", "What the papers found", 55, "findings.html", (findings_text.summary(judged), told))]
            if told
            else []
        ),
        *([Shown("verified", "Progress and placement", 60, "verified.html", by_library(verified))] if verified else []),
        Shown("reading", "How to read this", 80, "reading.html", (parts["reading"], _methods(run))),
        Shown("provenance", "Provenance", 90, "provenance.html", origin),
    ]


def _alike(troubles: Iterable[Mapping[str, Any]]) -> list[tuple[list[str], Mapping[str, Any]]]:
    """The names of cases without a result, and the first of them: those that are skipped for one reason together."""
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for number, case in enumerate(troubles):
        found.setdefault(case["reason"] if case["result"] == "skip" else number, []).append(case)
    return [([str(one["case"]) for one in alike], alike[0]) for alike in found.values()]


def _methods(run: Run) -> Details:
    """The papers whose methods the families of the run follow, each after the titles of these families."""
    titles: dict[str, list[str]] = {}
    for family in registry.FAMILIES:
        if registry.read(run, family).records:
            for paper in family.papers:
                titles.setdefault(paper, []).append(family.title)
    return [(" and ".join(of_paper), paper) for paper, of_paper in titles.items()]


def _link(file: Path, start: Path) -> str:
    """The relative link from the folder `start` to a file."""
    return quote(Path(os.path.relpath(file, start)).as_posix())


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[Json]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _texts(source: Json, fields: Iterable[str]) -> dict[str, str]:
    """The fields of `source` as texts. A field that is absent is empty, because a manifest may lack any field."""
    return {name: "" if source.get(name) is None else str(source[name]) for name in fields}


def _heading(run: Run) -> str:
    """What the run is about: the one family that it measured, or the question of them all."""
    measured = [family.title for family in registry.FAMILIES if not registry.found(run, family).table.empty]
    if len(measured) == 1:
        return capitalised(measured[0])
    return "Does MPI communicate while the program computes?"


def _subtitle(run: Run) -> str:
    known = _texts(run.manifest, ("system", "started_utc"))
    parts = [f"Run {run_name(run)}", f"system {known['system']}" * bool(known["system"]), ran_words(run)]
    return ", ".join(filter(None, [*parts, known["started_utc"]]))


def _ran(run: Run, observed: Sequence[Observed], cases: Sequence[Mapping[str, str]]) -> Details:
    """Facts about what ran, and on which machine."""
    host = _dict(run.manifest.get("host"))
    results = [f"{sum(c['result'] == r for c in cases)} {word}" for r, word in RESULT_WORDS.items()]
    headers = [record.header for part in observed for record in part.records]
    facts = [
        ("Libraries", ", ".join(dict.fromkeys(h.toolchain for h in headers))),
        ("Networks", ", ".join(dict.fromkeys(h.network for h in headers))),
        ("Configurations", ", ".join(dict.fromkeys(h.configuration for h in headers))),
        *(fact for part in observed for fact in part.inside.covered(part.records)),
        ("Machine", ", ".join(str(host[key]) for key in ("name", "cpu", "os") if host.get(key))),
        ("Limits", limits_words(host)),
        *((title.capitalize(), words) for title, words in variables.details(run.manifest)),
        ("Cases", ", ".join(text for text in results if not text.startswith("0 "))),
    ]
    return [(name, value) for name, value in facts if value]


def _provenance(run: Run) -> Details:
    names = ("run", "system", "suite", "status", "started_utc", "finished_utc")
    facts = [(name.replace("_", " "), text) for name, text in _texts(run.manifest, names).items()]
    for part in ("campaign", "host"):
        facts += [
            (f"{part} {name}".replace("_", " "), value_words(value))
            for name, value in _dict(run.manifest.get(part)).items()
        ]
    return [(name, value) for name, value in facts if value]


def _case_texts(case: Json) -> dict[str, Any]:
    """A case of the manifest in texts. `message` has the lines of a case that ended early; otherwise it is empty."""
    message = case.get("message")
    return {
        **_texts(case, _CASE_FIELDS),
        "message": message[:LONGEST_MESSAGE].splitlines() if isinstance(message, str) else [],
    }


def _commands(run: Run) -> Details:
    typed = " ".join(map(str, _list(run.manifest.get("command_line"))))
    lines = [("Command", typed), ("ReFrame command", str(run.manifest.get("reframe_command") or ""))]
    return [(title, line) for title, line in lines if line]


def _toolchains(run: Run) -> list[dict[str, Any]]:
    return [
        {
            **_texts(toolchain, ("toolchain", "provider", "prefix", "compiler")),
            "packages": [_texts(p, ("name", "version", "sha256")) for p in _dicts(toolchain.get("packages"))],
        }
        for toolchain in _dicts(run.manifest.get("toolchains"))
    ]


def _incomplete(run: Run, observed: Iterable[Observed], cases: Sequence[Mapping[str, str]]) -> list[str]:
    """Reasons why the report is not of a complete run; empty if it is. Records with the same fault share a line."""
    reasons = []
    status = run.manifest.get("status")
    if run.manifest and status != "complete":
        reasons.append(f"the run is marked {status or 'without a status'}")
    missing = sum(case["result"] == "missing" for case in cases)
    if missing:
        reasons.append(f"{missing} {'case is' if missing == 1 else 'cases are'} missing")
    faults = [line.partition(": ")[::2] for line in (*run.problems, *registry.problems(run))]
    faults += [(record.name, record.incomplete) for part in observed for record in part.records if record.incomplete]
    named = together(((fault, name) for name, fault in faults), "record")
    return [*reasons, *(f"{what}: {fault}" for what, fault in named)]
