"""The report of a run: one HTML file that needs nothing else, and the maps as pictures beside it.

Without a script all of it is there to be read; of a large run (`report_points.Room`) the first page of its table and of
its maps. The page's own script (templates/report.js) lets a reader choose what is shown, turns such pages, and shows a
point's row of the table beside its cell.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import jinja2
import pandas as pd

from postprocess import page
from postprocess.chart_plot import COLOURS
from postprocess.charts import charts_of
from postprocess.colour import FADED, PALETTES, SCALES
from postprocess.fields import Json
from postprocess.impact import impact_of
from postprocess.impact_plot import write_impacts
from postprocess.impact_record import impacts_of
from postprocess.impact_view import impact_view
from postprocess.load import Header, Placement, Progress, Record, Run, load_run
from postprocess.maps import METRICS, RESULT_WORDS, cases_of, legend, panels_of, run_name, sweeps_of
from postprocess.peers import peers_view
from postprocess.plot import PLAIN, Look, write_maps
from postprocess.points import configuration_words, expected_wire_bytes, header_case, points_of
from postprocess.report_charts import chart_view
from postprocess.report_points import (
    ROOM,
    Filters,
    Room,
    clock_name,
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
from postprocess.summary import OVERLAPS, PARTLY, SERIALISES, SLOWER, Summary, summarise
from postprocess.table import measured_share
from postprocess.text import drift, duration, size

_PANEL = ("toolchain", "network", "configuration", "collective")
_CASE_FIELDS = ("case", *_PANEL, "result", "reason")
_VERDICT_RATIOS = {OVERLAPS: 0.0, PARTLY: 0.5, SERIALISES: 1.0, SLOWER: 1.6}

Details: TypeAlias = list[tuple[str, str]]


@dataclass(frozen=True)
class _RankView:
    rank: int
    host: str
    node: int
    cpuset: str
    compute: str
    dedicated: str
    threads: list[str]


@dataclass(frozen=True)
class _Verified:
    """What the processes of one library, network and configuration said about themselves."""

    name: str
    facts: Details
    ranks: list[_RankView]


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

    `files` holds links to pictures by `plot.file_key` and ``"overview"``, ``"impact"``.
    """
    files = files or {}
    environment = page.environment()
    rows = [{str(k): v for k, v in row.items()} for row in points.to_dict("records")]
    numbers = {(row["record"], row["index"]): number for number, row in enumerate(rows, start=1)}
    sweeps = sweeps_of(run, points)
    cases = [_texts(case, _CASE_FIELDS) for case in cases_of(run)]
    panels = panels_of(sweeps, cases_of(run))
    filters = Filters(panels)
    groups = panel_views(panels, filters, numbers, files)
    views = views_of(sweeps)
    style = _style(environment, level_classes(groups), views)
    heads, cells = table_of(rows)
    table = [(row_filters(filters, row), told) for row, told in zip(rows, cells, strict=True)]
    maps = {panel.number: panel.maps for same in groups.values() for panels in same.values() for panel in panels}
    pages = pages_of(groups, len(table), room)
    rest = {
        "maps": {number: views for number, views in maps.items() if number > pages["maps"].size},
        "rows": table[pages["points"].size :],
    }
    return environment.get_template("report.html").render(
        **page.embedded(style, page.script("report.js")),
        look=look,
        palettes=PALETTES,
        views=views,
        filters=filters,
        scales={name: list(SCALES[name].ticks.values()) for name in dict.fromkeys(m.scale for m in METRICS.values())},
        run_name=run_name(run),
        subtitle=_subtitle(run),
        incomplete=_incomplete(run, cases),
        impact=impact_view(impact_of(run), files.get("impact", ())),
        ran=_ran(run, cases),
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
        verified=_verified(run.records),
        heads=heads,
        rows=table[: pages["points"].size],
        pages=pages,
        rest=page.packed(rest) if any(rest.values()) else "",
        has_table=(run.path / "points.parquet").is_file(),
        provenance=_provenance(run),
        commands=_commands(run),
        toolchains=_toolchains(run),
        builds=_builds(run.records),
        environments=_environments(run.records),
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


def _ran(run: Run, cases: Sequence[Mapping[str, str]]) -> Details:
    """What ran, on what, in a few facts."""
    host = _dict(run.manifest.get("host"))
    results = [f"{sum(c['result'] == r for c in cases)} {word}" for r, word in RESULT_WORDS.items()]
    facts = [
        ("Libraries", ", ".join(dict.fromkeys(r.header.toolchain for r in run.records))),
        ("Networks", ", ".join(dict.fromkeys(r.header.network for r in run.records))),
        ("Configurations", ", ".join(dict.fromkeys(r.header.configuration for r in run.records))),
        ("Collectives", ", ".join(dict.fromkeys(c for r in run.records for c in r.collectives))),
        ("Machine", ", ".join(str(host[key]) for key in ("name", "cpu", "os") if host.get(key))),
        ("Cases", ", ".join(text for text in results if not text.startswith("0 "))),
    ]
    return [(name, value) for name, value in facts if value]


def _provenance(run: Run) -> Details:
    names = ("run", "system", "suite", "status", "started_utc", "finished_utc")
    facts = [(name.replace("_", " "), text) for name, text in _texts(run.manifest, names).items()]
    for part in ("campaign", "host"):
        facts += [
            (f"{part} {name}".replace("_", " "), str(value)) for name, value in _dict(run.manifest.get(part)).items()
        ]
    return [(name, value) for name, value in facts if value]


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


def _incomplete(run: Run, cases: Sequence[Mapping[str, str]]) -> list[str]:
    """Why this is not all of a run; empty where it is."""
    reasons = list(run.problems)
    status = run.manifest.get("status")
    if run.manifest and status != "complete":
        reasons.append(f"the run is marked {status or 'without a status'}")
    missing = sum(case["result"] == "missing" for case in cases)
    if missing:
        reasons.append(f"{missing} {'case is' if missing == 1 else 'cases are'} missing")
    impacts, unread = impacts_of(run)
    cut = [(record.name, record.incomplete) for record in run.records]
    cut += [(record.name, record.incomplete) for record in impacts]
    return [*reasons, *unread, *(f"{name}: {why}" for name, why in cut if why)]


def _by_name(summaries: Iterable[Summary]) -> dict[str, list[Summary]]:
    found: dict[str, list[Summary]] = {}
    for summary in summaries:
        found.setdefault(summary.name, []).append(summary)
    return found


def _configurations(records: Iterable[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        h = record.header
        words = configuration_words(header_case(h))
        found.setdefault(f"{h.toolchain}, {h.network}, {words}", []).append(record)
    return found


def _verified(records: Iterable[Record]) -> list[_Verified]:
    return [_verified_of(name, same) for name, same in _configurations(records).items()]


def _verified_of(name: str, records: Sequence[Record]) -> _Verified:
    headers = [record.header for record in records]

    def values(texts: Iterable[object]) -> str:
        return "; ".join(dict.fromkeys(map(str, texts)))

    facts = [
        ("MPI library", values(h.mpi_library_version.strip().partition("\n")[0] for h in headers)),  # MPICH says a page
        ("MPI standard", values(h.mpi_standard for h in headers)),
        ("thread level", values(f"{h.thread_level_required} asked, {h.thread_level_provided} given" for h in headers)),
        ("processes", values(f"{h.ranks} on {h.nodes} node(s), {h.threads_per_rank} thread(s) each" for h in headers)),
        ("physical cores", values(h.physical_cores for h in headers)),
        ("oversubscribed", values("yes" if h.oversubscribed else "no" for h in headers)),
        ("shared core", values("yes" if h.shared_core else "no" for h in headers)),
        ("progress thread", values(map(_progress_words, (h.progress for h in headers)))),
        ("TCP connections carried", _carried(records)),
        ("transport, as the library was told or chose", _variables(headers)),
        *_timing(records),
    ]
    cpu_ns: dict[Placement, list[int]] = {}
    for record in records:
        spent, helpers = (
            (record.footer.mpi_thread_cpu_ns, record.footer.helper_thread_cpu_ns) if record.footer else ((), ())
        )
        for i, place in enumerate(record.header.placement):
            known = cpu_ns.setdefault(place, [0] * (len(_threads(place)) + 1))
            own, its = (times[i] if i < len(times) else () for times in (spent, helpers))
            there = len(place.mpi_threads)
            for j, time in (*enumerate(own[:there]), *enumerate(its[: len(place.helper_threads)], start=there)):
                known[j] += time
            known[-1] += sum(own[there:])
    wall = sum(record.footer.wall_seconds for record in records if record.footer)
    ranks = [
        _RankView(
            rank=place.rank,
            host=place.host,
            node=place.node,
            cpuset=place.cpuset,
            compute=" | ".join(place.compute_cpusets) or "-",
            dedicated=place.dedicated_cpuset or "-",
            threads=[
                f"{name} on {cpuset}: {duration(time)} of CPU in {wall:.1f} s"
                for (name, cpuset), time in zip(_threads(place), times[:-1], strict=True)
            ]
            + [f"started by the library while it was measured: {duration(time)} of CPU" for time in times[-1:] if time],
        )
        for place, times in sorted(cpu_ns.items(), key=lambda item: item[0].rank)
    ]
    return _Verified(name, facts, ranks)


def _threads(place: Placement) -> list[tuple[str, str]]:
    """Name and CPUs of the threads that MPI started, and after them of the application's own progress threads."""
    own = [(f"{thread.name or 'helper'} (the application's)", thread.cpuset) for thread in place.helper_threads]
    return [(thread.name, thread.cpuset) for thread in place.mpi_threads] + own


def _progress_words(progress: Progress) -> str:
    """Whose, who binds it, and what is given up for it."""
    owners = {"none": "none asked for", "library": "the library's", "application": "the application's"}
    binders = {"none": "", "library": ", bound by the library", "program": ", bound by the benchmark"}
    whose, by = owners.get(progress.source, progress.source), binders.get(progress.pinned_by, "")
    given_up = f", {progress.given_up_cores} core(s) of each rank given up" if progress.given_up_cores else ""
    return f"{whose}{by}{given_up}"


def _carried(records: Sequence[Record]) -> str:
    """Over all ranks and records, and whether that is what went between nodes; empty where some do not say."""
    ends = [record.footer.tcp_bytes_sent if record.footer else None for record in records]
    ranks = [rank for sent in ends if sent is not None for rank in sent]
    known = [rank for rank in ranks if rank is not None]
    whole = len(known) == len(ranks) and None not in ends and known
    if not whole:
        return ""
    between = sum(map(expected_wire_bytes, records))
    over = "over TCP" if sum(known) >= between else "over something else"
    went = f", and at least {size(between)} had to go between nodes: they went {over}" if between else ""
    return f"{size(sum(known))}{went}"


def _variables(headers: Sequence[Header]) -> str:
    """Control variables of MPI_T."""
    found = {f"{name}={value}" for h in headers for name, value in (h.mpi_variables or {}).items() if value}
    return ", ".join(sorted(found))


def _timing(records: Sequence[Record]) -> Details:
    """How repetitions were started, on what clock, and what was thrown away, over records of one configuration."""
    points = [point for record in records for point in record.points]
    headers, footers = [r.header for r in records], [r.footer for r in records if r.footer]
    clocks = [h.clock for h in headers if h.clock]
    starts = dict.fromkeys([p.start_method for p in points] or [h.start_method for h in headers])
    methods = dict.fromkeys([p.clock.method for p in points] or [clock.method for clock in clocks])
    timed = [c for c in clocks if c.method != "none"]
    residuals = [p.clock.residual_ns for p in points if p.clock.method != "none"]
    residuals += [f.clock_residual_ns for f in footers] + [c.residual_ns for c in timed]
    drifts = [p.clock.drift_ppm for p in points if p.clock.method != "none"] + [clock.drift_ppm for clock in timed]
    refusals = dict.fromkeys(
        text for text in (*(c.refusal for c in clocks), *(f.clock_refusal for f in footers)) if text
    )
    made = [f.clock_synchronisations for f in footers if f.clock_synchronisations is not None]
    spent = [f.clock_synchronisation_seconds for f in footers if f.clock_synchronisation_seconds is not None]
    wall = sum(f.wall_seconds for f in footers)
    known = [residual for residual in residuals if residual is not None]
    rates = [abs(ppm) for ppm in drifts if ppm is not None]
    late, discarded = (sum(getattr(p, f"{kind}_repetitions") for p in points) for kind in ("late", "discarded"))
    again = sum(p.recalibrations for p in points)
    facts = [
        ("start of a repetition", "; ".join(starts)),
        ("clock", "; ".join(map(clock_name, methods))),
        ("why there is no clock", "; ".join(refusals)),
        ("distinct clocks", "; ".join(dict.fromkeys(str(clock.clocks) for clock in timed))),
        ("largest residual of the clocks", duration(max(known)) if known else ""),
        ("largest drift of a clock", drift(max(rates)) if rates and list(methods) != ["shared"] else ""),
        (
            "cost of synchronisation",
            f"{sum(made)} times, {duration(1e9 * sum(spent))} of {duration(1e9 * wall)}" if made and spent else "",
        ),
        ("time in repetitions that count", measured_share(records)),
        ("warm-ups left out", _per_point([p.warmup_repetitions for p in points])),
        ("late repetitions thrown away", str(late) if late else ""),
        (
            "other repetitions thrown away",
            f"{discarded}: a point was recalibrated, or its clock refused" if discarded else "",
        ),
        ("recalibrations", str(again) if again else ""),
    ]
    return [(name, value) for name, value in facts if value]


def _per_point(counts: Sequence[int]) -> str:
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return f"{sum(counts)} ({low if low == high else f'{low} to {high}'} at each point)"


def _builds(records: Iterable[Record]) -> list[tuple[str, Json]]:
    found = {(r.header.toolchain, repr(r.header.build)): r.header.build for r in records}
    return [(toolchain, build) for (toolchain, _), build in found.items()]


def _environments(records: Iterable[Record]) -> list[tuple[str, list[str], list[str]]]:
    """Name, variables and command lines of each configuration, each different one once."""
    return [
        (
            name,
            sorted({f"{key}={value}" for r in same for key, value in r.header.environment.items()}),
            list(dict.fromkeys(" ".join(r.header.command_line) for r in same)),
        )
        for name, same in _configurations(records).items()
    ]
