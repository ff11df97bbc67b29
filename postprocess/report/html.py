"""The report of a run: one HTML file that needs nothing else, and the maps as pictures beside it.

Without a script all of it is there to be read; of a large run (`report_points.Room`) the first page of its table and of
its maps. The page's own script (templates/report.js) lets a reader choose what is shown, turns such pages, and shows a
point's row of the table beside its cell.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import pandas as pd

from postprocess.drawing import page
from postprocess.drawing.colour import FADED, PALETTES, SCALES
from postprocess.drawing.text import percent
from postprocess.families.mpi_impact.plot import write_impacts
from postprocess.families.mpi_impact.record import impacts_of
from postprocess.families.mpi_impact.section import impact_view
from postprocess.families.mpi_impact.table import impact_of, impact_table
from postprocess.families.nbc_overlap import validity
from postprocess.families.nbc_overlap.chart_plot import COLOURS
from postprocess.families.nbc_overlap.charts import charts_of
from postprocess.families.nbc_overlap.map_plot import PLAIN, Look, write_maps
from postprocess.families.nbc_overlap.maps import METRICS, RESULT_WORDS, legend, panels_of, run_name, sweeps_of
from postprocess.families.nbc_overlap.points import points_of
from postprocess.families.nbc_overlap.record import overlaps_of
from postprocess.families.nbc_overlap.report_charts import chart_view
from postprocess.families.nbc_overlap.report_points import (
    ROOM,
    Filters,
    Room,
    glance_of,
    gradients,
    level_class,
    level_classes,
    level_styles,
    pages_of,
    panel_views,
    row_filters,
    table_of,
    tick_places,
    views_of,
)
from postprocess.families.nbc_overlap.summary import OVERLAPS, PARTLY, SERIALISES, SLOWER, Summary, summarise
from postprocess.families.peers.record import peer_records_of
from postprocess.families.peers.table import peers_view
from postprocess.records import let_in
from postprocess.records.fields import Json
from postprocess.records.host_limits import limits_words, value_words
from postprocess.records.run import Run, cases_of, failed_records, load_run
from postprocess.report.verified import AnyRecord, Details, builds_of, environments_of, verified_of

_PANEL = ("toolchain", "network", "configuration", "collective")
_CASE_FIELDS = ("case", *_PANEL, "result", "reason")
# Of a message; the campaign keeps less of it.
LONGEST_MESSAGE = 5000
_VERDICT_RATIOS = {OVERLAPS: 0.0, PARTLY: 0.5, SERIALISES: 1.0, SLOWER: 1.6}


def write_report(
    run_dir: Path | str, output_html: Path | str, maps_folder: Path | None = None, look: Look = PLAIN
) -> list[Path]:
    """Write the report of a run, complete or not, and its maps, into the folder `maps` beside it if no other is given.

    Returns the paths written, the report first. The run folder is only read. Each file appears whole or not at all.
    Raises RecordError where the run cannot be read, OSError where the report cannot be written.
    """
    run, output = load_run(run_dir), Path(output_html)
    points = points_of(run)
    output.parent.mkdir(parents=True, exist_ok=True)
    pictures = maps_folder or output.parent / "maps"
    maps = write_maps(run, points, pictures, look)
    if impacts := write_impacts(impact_of(run), pictures, look.kinds):
        maps["impact"] = impacts
    links = {key: [_link(f, output.parent) for f in files] for key, files in maps.items()}
    page.write(output, render_report(run, points, links, look))
    return [output, *(file for files in maps.values() for file in files)]


def render_report(
    run: Run,
    points: pd.DataFrame,
    files: Mapping[str, Sequence[str]] | None = None,
    look: Look = PLAIN,
    room: Room = ROOM,
) -> str:
    """The report as HTML text, in the palette of the look at first.

    `files` holds links to pictures by `map_plot.file_key` and ``"overview"``, ``"impact"``.
    """
    files = files or {}
    environment = page.environment()
    rows = [{str(k): v for k, v in row.items()} for row in points.to_dict("records")]
    numbers = {(row["record"], row["index"]): number for number, row in enumerate(rows, start=1)}
    sweeps = sweeps_of(run, points)
    cases = [_case_texts(case) for case in cases_of(run.manifest)]
    panels = panels_of(sweeps, cases_of(run.manifest))
    filters = Filters(panels)
    groups = panel_views(panels, filters, numbers, files)
    views = views_of(sweeps)
    style = _style(environment, level_classes(groups), views)
    heads, cells = table_of(rows)
    table = [(row_filters(filters, row), told) for row, told in zip(rows, cells, strict=True)]
    maps = {panel.number: panel.maps for same in groups.values() for panels in same.values() for panel in panels}
    pages = pages_of(groups, len(table), room)
    overlaps, impacts = overlaps_of(run), impacts_of(run)
    records: list[AnyRecord] = [*overlaps.records, *impacts.records]
    unread = (*overlaps.problems, *impacts.problems, *peer_records_of(run).problems)
    rest = {
        "maps": {number: views for number, views in maps.items() if number > pages["maps"].size},
        "rows": table[pages["points"].size :],
    }
    return environment.get_template("report.html").render(
        **page.embedded(style, page.script("report.js")),
        look=look,
        validity=validity,
        percent=percent,
        palettes=PALETTES,
        views=views,
        filters=filters,
        scales={name: list(SCALES[name].ticks.values()) for name in dict.fromkeys(m.scale for m in METRICS.values())},
        run_name=run_name(run),
        subtitle=_subtitle(run),
        incomplete=_incomplete(run, records, unread, cases),
        impact=impact_view(impact_table(impacts.records, failed_records(run.manifest)), files.get("impact", ())),
        ran=_ran(run, records, cases),
        verdicts=_by_name(summarise(points)),
        verdict_class=_verdict_class,
        notes=[str(note) for note in _list(run.manifest.get("notes"))],
        groups=groups,
        glance=glance_of(groups),
        overview=files.get("overview", ()),
        charts=[chart_view(chart) for chart in charts_of(points)],
        chart_files=files.get("charts", ()),
        legend=legend(sweeps, faded=True),
        troubles=[case for case in cases if case["result"] != "pass"],
        passed=sum(case["result"] == "pass" for case in cases),
        peers=peers_view(run, points),
        verified=verified_of(records),
        heads=heads,
        rows=table[: pages["points"].size],
        pages=pages,
        rest=page.packed(rest) if any(rest.values()) else "",
        has_table=(run.path / "points.parquet").is_file(),
        provenance=_provenance(run),
        commands=_commands(run),
        toolchains=_toolchains(run),
        builds=builds_of(records),
        environments=environments_of(records),
        checksums=sorted(_dict(run.manifest.get("checksums")).items()),
    )


def _link(file: Path, start: Path) -> str:
    """A relative link from a folder to a file."""
    return quote(Path(os.path.relpath(file, start)).as_posix())


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[Json]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _texts(source: Json, fields: Iterable[str]) -> dict[str, str]:
    """The fields as text, empty where they are absent: a manifest may lack any of them."""
    return {name: "" if source.get(name) is None else str(source[name]) for name in fields}


def _subtitle(run: Run) -> str:
    known = _texts(run.manifest, ("system", "suite", "started_utc"))
    parts = [f"Run {run_name(run)}", f"system {known['system']}", f"suite {known['suite']}", known["started_utc"]]
    return ", ".join(part for part in parts if part and not part.endswith(" "))


def _ran(run: Run, records: Sequence[AnyRecord], cases: Sequence[Mapping[str, str]]) -> Details:
    """What ran, on what, in a few facts."""
    host = _dict(run.manifest.get("host"))
    results = [f"{sum(c['result'] == r for c in cases)} {word}" for r, word in RESULT_WORDS.items()]
    facts = [
        ("Libraries", ", ".join(dict.fromkeys(r.header.toolchain for r in records))),
        ("Networks", ", ".join(dict.fromkeys(r.header.network for r in records))),
        ("Configurations", ", ".join(dict.fromkeys(r.header.configuration for r in records))),
        ("Collectives", ", ".join(dict.fromkeys(c for r in overlaps_of(run).records for c in r.collectives))),
        ("Machine", ", ".join(str(host[key]) for key in ("name", "cpu", "os") if host.get(key))),
        ("Limits", limits_words(host)),
        *((title.capitalize(), words) for title, words in let_in.details(run.manifest)),
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
    """A case of the manifest in texts. `message` has the lines of what ended early; none in older manifests."""
    said = case.get("message")
    return {
        **_texts(case, _CASE_FIELDS),
        "message": said[:LONGEST_MESSAGE].splitlines() if isinstance(said, str) else [],
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


def _style(environment: jinja2.Environment, classes: Iterable[str], views: Iterable[str]) -> str:
    chips = {_verdict_class(verdict) for verdict in _VERDICT_RATIOS}
    return environment.get_template("style.css").render(
        palettes=level_styles({*classes, *chips}),
        gradients=gradients(),
        ticks=tick_places(),
        views=views,
        faded=round(100 * FADED),
        series=COLOURS,
    )


def _verdict_class(verdict: str) -> str:
    value = _VERDICT_RATIOS.get(verdict, math.nan)
    return level_class(METRICS["r_overhead"], value)


def _incomplete(
    run: Run, records: Iterable[AnyRecord], unread: Iterable[str], cases: Sequence[Mapping[str, str]]
) -> list[str]:
    """Why this is not all of a run; empty where it is."""
    reasons = list(run.problems)
    status = run.manifest.get("status")
    if run.manifest and status != "complete":
        reasons.append(f"the run is marked {status or 'without a status'}")
    missing = sum(case["result"] == "missing" for case in cases)
    if missing:
        reasons.append(f"{missing} {'case is' if missing == 1 else 'cases are'} missing")
    cut = [f"{record.name}: {record.incomplete}" for record in records if record.incomplete]
    return [*reasons, *unread, *cut]


def _by_name(summaries: Iterable[Summary]) -> dict[str, list[Summary]]:
    found: dict[str, list[Summary]] = {}
    for summary in summaries:
        found.setdefault(summary.name, []).append(summary)
    return found
