"""The report of a run: one HTML file that needs nothing else and no script, and the maps as pictures beside it."""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import jinja2
import pandas as pd
from markupsafe import Markup

from postprocess.colour import NO_VALUE, SCALES, hexadecimal, text_colour
from postprocess.diagnosis import is_reference
from postprocess.fields import Json
from postprocess.load import Placement, Record, Run, load_run
from postprocess.maps import MARKS, RESULT_WORDS, Cell, Metric, Panel, Sweep, cases_of, panels_of, run_name, sweeps_of
from postprocess.plot import PLAIN, Look, file_key, write_maps
from postprocess.points import configuration_words, header_case, points_of
from postprocess.summary import CANNOT_TELL, MIXED, OVERLAPS, PARTLY, SERIALISES, SLOWER, Summary, summarise
from postprocess.table import remarks
from postprocess.text import change, clean, drift, duration, interval, percent, ratio, size, work

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_PANEL = ("toolchain", "network", "configuration", "collective")
_CASE_FIELDS = ("case", *_PANEL, "result", "reason")
_VERDICT_RATIOS = {OVERLAPS: 0.0, PARTLY: 0.5, SERIALISES: 1.0, SLOWER: 1.6}

Details: TypeAlias = list[tuple[str, str]]


@dataclass(frozen=True)
class _CellView:
    label: str
    marks: str
    css: str
    spoken: str
    details: Details
    row: int | None


@dataclass(frozen=True)
class _MapView:
    title: str
    caption: str
    columns: list[str]
    rows: list[tuple[str, list[_CellView]]]


@dataclass(frozen=True)
class _PanelView:
    """What stands under one configuration of a collective: its maps, or why there is none."""

    configuration: str
    maps: list[_MapView]
    files: list[str]
    remark: str


@dataclass(frozen=True)
class _RankView:
    rank: int
    host: str
    node: int
    cpuset: str
    compute: str
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
    maps = write_maps(run, points, maps_folder or output.parent / "maps", look)
    links = {key: [_link(f, output.parent) for f in files] for key, files in maps.items()}
    page = render_report(run, points, links)
    partial = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)
    return [output, *(file for files in maps.values() for file in files)]


def render_report(run: Run, points: pd.DataFrame, files: Mapping[str, Sequence[str]] | None = None) -> str:
    """The report as HTML text. `files` holds links to pictures by `plot.file_key` and ``"overview"``."""
    files = files or {}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rows = [{str(k): v for k, v in row.items()} for row in points.to_dict("records")]
    numbers = {(row["record"], row["index"]): number for number, row in enumerate(rows, start=1)}
    sweeps = sweeps_of(run, points)
    cases = [_texts(case, _CASE_FIELDS) for case in cases_of(run)]
    style = _style(environment, sweeps)
    return environment.get_template("report.html").render(
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        run_name=run_name(run),
        subtitle=_subtitle(run),
        incomplete=_incomplete(run, cases),
        ran=_ran(run, cases),
        verdicts=_by_name(summarise(points)),
        verdict_class=lambda verdict: verdict.replace(" ", "-"),
        notes=[str(note) for note in _list(run.manifest.get("notes"))],
        groups=_groups(panels_of(sweeps, cases_of(run)), numbers, files),
        overview=files.get("overview", ()),
        marks=MARKS,
        troubles=[case for case in cases if case["result"] != "pass"],
        passed=sum(case["result"] == "pass" for case in cases),
        verified=_verified(run.records),
        rows=[(number, row, _row_cells(row), remarks(row)) for number, row in enumerate(rows, start=1)],
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


def _style(environment: jinja2.Environment, sweeps: Iterable[Sweep]) -> str:
    values = {
        cell.value(metric.name)
        for s in sweeps
        for cell in s.cells.values()
        for metric in s.metrics
        if metric.family == "overhead"
    }
    backgrounds = {_css_class(value): SCALES["overhead"].colour(value) for value in values if math.isfinite(value)}
    backgrounds |= {
        verdict.replace(" ", "-"): SCALES["overhead"].colour(value) for verdict, value in _VERDICT_RATIOS.items()
    }
    backgrounds |= {name.replace(" ", "-"): NO_VALUE for name in (MIXED, CANNOT_TELL, "no-value")}
    scale = SCALES["overhead"]
    low, high = scale.low, scale.high
    return environment.get_template("style.css").render(
        colours=sorted((name, hexadecimal(rgb), hexadecimal(text_colour(rgb))) for name, rgb in backgrounds.items()),
        gradient=", ".join(
            f"{hexadecimal(rgb)} {100 * (v - low) / (high - low):.0f}%" for v, rgb in scale.stops("paper")
        ),
    )


def _css_class(value: float) -> str:
    return "c" + hexadecimal(SCALES["overhead"].colour(value))[1:] if math.isfinite(value) else "no-value"


def _incomplete(run: Run, cases: Sequence[Mapping[str, str]]) -> list[str]:
    """Why this is not all of a run; empty where it is."""
    reasons = list(run.problems)
    status = run.manifest.get("status")
    if run.manifest and status != "complete":
        reasons.append(f"the run is marked {status or 'without a status'}")
    missing = sum(case["result"] == "missing" for case in cases)
    if missing:
        reasons.append(f"{missing} {'case is' if missing == 1 else 'cases are'} missing")
    return reasons + [f"{r.name}: {r.incomplete}" for r in run.records if r.incomplete]


def _by_name(summaries: Iterable[Summary]) -> dict[str, list[Summary]]:
    found: dict[str, list[Summary]] = {}
    for summary in summaries:
        found.setdefault(summary.name, []).append(summary)
    return found


def _groups(
    panels: Iterable[Panel], numbers: Mapping[tuple[str, int], int], files: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, list[_PanelView]]]:
    """Panels by library and network, then by collective."""
    groups: dict[str, dict[str, list[_PanelView]]] = {}
    for panel in panels:
        sweep = panel.sweep
        metrics = [metric for metric in sweep.metrics if metric.family == "overhead"] if sweep else []
        view = _PanelView(
            configuration=panel.column[-1],
            maps=[_map_view(sweep, metric, numbers) for metric in metrics] if sweep else [],
            files=list(files.get(file_key(sweep), ())) if sweep else [],
            remark=panel.trouble,
        )
        groups.setdefault(f"{panel.toolchain}, {panel.network}", {}).setdefault(panel.collective, []).append(view)
    return groups


def _map_view(sweep: Sweep, metric: Metric, numbers: Mapping[tuple[str, int], int]) -> _MapView:
    rows = [
        (
            duration(comp),
            [
                _cell_view(sweep.cells[comm, comp], metric, numbers, sweep.record.incomplete)
                for comm in sweep.comm_targets_ns
            ],
        )
        for comp in reversed(sweep.comp_targets_ns)
    ]
    return _MapView(
        title=metric.title,
        caption=f"{sweep.title}: {metric.title}",
        columns=[duration(comm) for comm in sweep.comm_targets_ns],
        rows=rows,
    )


def _cell_view(cell: Cell, metric: Metric, numbers: Mapping[tuple[str, int], int], incomplete: str) -> _CellView:
    point = cell.point
    missing = "the record ends before this point" + (f": {incomplete}" if incomplete else "")
    return _CellView(
        label=cell.label(metric.name),
        marks=cell.marks,
        css=_css_class(cell.value(metric.name)),
        spoken=", ".join(MARKS[letter].partition(":")[0] for letter in cell.marks),
        details=_details(point) if point is not None else [("No value", missing)],
        row=numbers[point["record"], point["index"]] if point is not None else None,
    )


def _estimate(point: Mapping[str, Any], metric: str) -> str:
    bounds = interval(point[f"{metric}_ci95_low"], point[f"{metric}_ci95_high"])
    return f"{ratio(point[metric])} {bounds}" if bounds != "-" else ratio(point[metric])


def _details(point: Mapping[str, Any]) -> Details:
    facts = [
        ("r_overhead [95 %]", _estimate(point, "r_overhead")),
        ("t_measured", duration(point["t_measured_ns"])),
        ("t_comm_ref", duration(point["t_comm_ref_ns"])),
        ("t_comp_ref", duration(point["t_comp_ref_ns"])),
        ("r_comm", ratio(point["r_comm"])),
        ("r_comp_slowdown", ratio(point["r_comp_slowdown"])),
        ("message", f"{size(point['message_bytes'])} ({point['message_bytes']} bytes)"),
        ("work per thread", work(point["work_size"], point["computation"])),
        ("repetitions", _repetitions(point)),
        ("warm-ups left out", str(point["warmup_repetitions"])),
        ("recalibrated", _recalibrated(point)),
        ("start and clock", _clock_words(point)),
        ("drift of the references", _reference_words(point, "drift_relative")),
        ("references against calibration", _reference_words(point, "moved_relative")),
        ("caches", f"cold, {point['buffer_sets']} sets of buffers" if point["cache"] == "cold" else "-"),
    ]
    if not is_reference(point):
        facts[1:1] = [
            ("against basic [95 %]", _estimate(point, "r_overhead_vs_basic")),
            ("speed against basic [95 %]", _estimate(point, "speedup_vs_basic")),
        ]
    if found := remarks(dict(point)):
        facts.append(("remarks", "; ".join(found)))
    return [(term, value) for term, value in facts if value != "-"]


def _repetitions(point: Mapping[str, Any]) -> str:
    late = f", {point['late_repetitions']} late ones thrown away" if point["late_repetitions"] else ""
    causes = [
        *(["the point was recalibrated"] if point["recalibrations"] else []),
        *(["its clock was refused"] if point["clock_method"] == "none" or not point["recalibrations"] else []),
    ]
    count = point["discarded_repetitions"]
    discarded = f", {count} thrown away because {' or '.join(causes)}" if count else ""
    stop = {
        "interval": "interval reached",
        "repetitions": "most that were allowed",
        "budget": "budget spent",
        "late": "stopped because too many started late",
    }
    reason = stop.get(point["stop_reason"], str(point["stop_reason"]).replace("_", " "))
    reached = f"widest interval {percent(point['interval_relative_reached'])}"
    return f"{point['repetitions']}{late}{discarded}; {reason}; {reached}"


def _recalibrated(point: Mapping[str, Any]) -> str:
    times = point["recalibrations"]
    return f"{times} {'time' if times == 1 else 'times'}, because a reference had moved" if times else "-"


def _clock_words(point: Mapping[str, Any]) -> str:
    parts = [str(point["start_method"]), _clock_name(str(point["clock_method"]))]
    if point["clock_method"] != "none":
        known = math.isfinite(point["clock_residual_ns"])
        parts.append(f"to {duration(point['clock_residual_ns'])}" if known else "residual not known")
        if point["clock_method"] != "shared" and math.isfinite(point["clock_drift_ppm"]):
            parts.append(f"drift {drift(point['clock_drift_ppm'])}")
    return ", ".join(parts)


def _clock_name(method: str) -> str:
    return {"none": "no common clock"}.get(method, f"{method} clock")


def _reference_words(point: Mapping[str, Any], what: str) -> str:
    terms = (("communication", point[f"comm_ref_{what}"]), ("computation", point[f"comp_ref_{what}"]))
    return ", ".join(f"{name} {change(value)}" for name, value in terms if math.isfinite(value)) or "-"


def _row_cells(point: Mapping[str, Any]) -> list[str]:
    launch = f" ({point['launch']})" if point["launch"] > 1 else ""
    return [
        *(str(point[key]) for key in ("toolchain", "network")),
        f"{configuration_words(point)}{launch}",
        str(point["collective"]),
        *(duration(point[key]) for key in ("comm_target_ns", "comp_target_ns")),
        size(point["message_bytes"]),
        str(point["work_size"]),
        *(duration(point[key]) for key in ("t_comm_ref_ns", "t_comp_ref_ns", "t_measured_ns")),
        *(_estimate(point, metric) for metric in ("r_overhead", "r_overhead_vs_basic", "speedup_vs_basic")),
        *(ratio(point[key]) for key in ("r_comm", "r_comp_slowdown")),
        str(point["repetitions"]),
    ]


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
        *_timing(records),
    ]
    cpu_ns: dict[Placement, list[int]] = {}
    for record in records:
        spent = record.footer.mpi_thread_cpu_ns if record.footer else ()
        for i, place in enumerate(record.header.placement):
            times = spent[i] if i < len(spent) else ()
            known = cpu_ns.setdefault(place, [0] * len(place.mpi_threads))
            for j, time in enumerate(times[: len(known)]):
                known[j] += time
    wall = sum(record.footer.wall_seconds for record in records if record.footer)
    ranks = [
        _RankView(
            rank=place.rank,
            host=place.host,
            node=place.node,
            cpuset=place.cpuset,
            compute=" | ".join(place.compute_cpusets) or "-",
            threads=[
                f"{thread.name} on {thread.cpuset}: {duration(time)} of CPU in {wall:.1f} s"
                for thread, time in zip(place.mpi_threads, times, strict=True)
            ],
        )
        for place, times in sorted(cpu_ns.items(), key=lambda item: item[0].rank)
    ]
    return _Verified(name, facts, ranks)


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
        ("clock", "; ".join(map(_clock_name, methods))),
        ("why there is no clock", "; ".join(refusals)),
        ("distinct clocks", "; ".join(dict.fromkeys(str(clock.clocks) for clock in timed))),
        ("largest residual of the clocks", duration(max(known)) if known else ""),
        ("largest drift of a clock", drift(max(rates)) if rates and list(methods) != ["shared"] else ""),
        (
            "cost of synchronisation",
            f"{sum(made)} times, {duration(1e9 * sum(spent))} of {duration(1e9 * wall)}" if made and spent else "",
        ),
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
