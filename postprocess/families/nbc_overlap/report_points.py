"""Points as the report shows them: as cells of maps, and as rows of the full table."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from postprocess.drawing.colour import NO_LEVEL, PALETTES, SCALES, class_colour, hexadecimal, level_class, text_colour
from postprocess.drawing.look import Room
from postprocess.drawing.page import Filters
from postprocess.drawing.text import change, drift, duration, interval, percent, ratio, size, with_interval, work
from postprocess.families.nbc_overlap.diagnosis import UNRELIABLE, Diagnosis
from postprocess.families.nbc_overlap.maps import (
    DIAGNOSES,
    MARKS,
    METRICS,
    Cell,
    MapRatio,
    Panel,
    Sweep,
    file_key,
    launch_words,
    map_anchor,
)
from postprocess.families.nbc_overlap.tables import clock_name, remarks
from postprocess.families.sampled_table import ENDS
from postprocess.records.as_json import NEVER

Numbers: TypeAlias = Mapping[tuple[str, int], int]
"""The row number of each point, by (record, index)."""


@dataclass(frozen=True)
class CellView:
    """A cell of a map. ``css`` has the classes of its colour and state; ``row`` is its point's row number, or None."""

    label: str
    signs: str
    css: str
    title: str
    spoken: str
    row: int | None


@dataclass(frozen=True)
class MapView:
    """A map of one metric. ``names`` are the views in which it is shown."""

    title: str
    names: str
    columns: list[str]
    rows: list[tuple[str, list[CellView]]]


@dataclass(frozen=True)
class PanelView:
    """The maps of one configuration of a collective, or why there are none.

    ``number`` counts panels from 1. ``filters``: see `Filters`. ``anchor`` leads here from the matrix. ``across`` and
    ``up`` are the numbers of columns and rows.
    """

    number: int
    library: str
    configuration: str
    collective: str
    filters: str
    maps: list[MapView]
    anchor: str
    across: int
    up: int
    files: list[str]
    remark: str


Groups: TypeAlias = Mapping[str, Mapping[str, Sequence[PanelView]]]
"""The views of panels, by library and network, then by collective."""


@dataclass(frozen=True)
class Pages:
    """A list of `total` elements of which `size` are shown at a time; `things` names them."""

    things: str
    total: int
    size: int

    @property
    def several(self) -> bool:
        """Whether there is more than one page."""
        return self.total > self.size


def level_styles(classes: Iterable[str]) -> dict[str, list[tuple[str, str, str]]]:
    """For each palette: (class, background colour, text colour)."""
    used = [NO_LEVEL, *sorted({*classes} - {NO_LEVEL})]
    styles: dict[str, list[tuple[str, str, str]]] = {}
    for palette in PALETTES:
        backgrounds = [(name, class_colour(name, palette)) for name in used]
        styles[palette] = [(name, hexadecimal(rgb), hexadecimal(text_colour(rgb))) for name, rgb in backgrounds]
    return styles


def gradients() -> dict[str, dict[str, str]]:
    """For each palette and scale: the stops of a CSS gradient."""
    return {
        palette: {
            name: ", ".join(
                f"{hexadecimal(rgb)} {100 * (value - scale.low) / (scale.high - scale.low):.0f}%"
                for value, rgb in scale.stops(palette)
            )
            for name, scale in SCALES.items()
        }
        for palette in PALETTES
    }


def tick_places() -> dict[str, list[int]]:
    """For each scale: the places of its ticks, in per cent of its length."""
    return {
        name: [round(100 * (tick - scale.low) / (scale.high - scale.low)) for tick in scale.ticks]
        for name, scale in SCALES.items()
    }


def views_of(sweeps: Iterable[Sweep]) -> dict[str, str]:
    """The titles of the views that a reader can choose, by name: families of metrics, everything, single metrics."""
    shown = {metric.name for sweep in sweeps for metric in sweep.metrics}
    single = {name: metric.title for name, metric in METRICS.items() if name in shown}
    families = {"overhead": "r_overhead, both references", "concurrency": "r_comm | r_comp_slowdown"}
    return {**families, "everything": "everything", **single}


def panel_views(
    panels: Iterable[Panel], filters: Filters, numbers: Numbers, files: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, list[PanelView]]]:
    """The views of the panels, by library and network, then by collective."""
    groups: dict[str, dict[str, list[PanelView]]] = {}
    for number, panel in enumerate(panels, start=1):
        library, sweep = f"{panel.toolchain}, {panel.network}", panel.sweep
        view = PanelView(
            number=number,
            library=library,
            configuration=panel.column[-1],
            collective=panel.collective,
            filters=filters.places(library, panel.column[-1], panel.collective),
            maps=[_map_view(sweep, metric, numbers) for metric in sweep.metrics] if sweep and sweep.cells else [],
            anchor=map_anchor(sweep.record.name, panel.collective) if sweep else "",
            across=len(sweep.comm_targets_ns) if sweep else 0,
            up=len(sweep.comp_targets_ns) if sweep else 0,
            files=list(files.get(file_key(sweep), ())) if sweep else [],
            remark=panel.trouble,
        )
        groups.setdefault(library, {}).setdefault(panel.collective, []).append(view)
    return groups


def every_panel(groups: Groups) -> list[PanelView]:
    """The views of all panels."""
    return [panel for collectives in groups.values() for same in collectives.values() for panel in same]


def pages_of(groups: Groups, points: int, room: Room) -> dict[str, Pages]:
    """The pages of the maps and of the table of `points` rows. A page of maps has at least one case."""
    panels = every_panel(groups)
    cases = max(1, room.drawn // max([1, *(panel.across * panel.up for panel in panels)]))
    few = points <= room.whole
    return {
        "maps": Pages("cases", len(panels), len(panels) if few else cases),
        "points": Pages("points", points, points if few else room.rows),
    }


def row_filters(filters: Filters, point: Mapping[str, Any]) -> str:
    """The numbers of a point's library, configuration and collective."""
    library = f"{point['toolchain']}, {point['network']}"
    return filters.places(library, launch_words(point), str(point["collective"]))


def _map_view(sweep: Sweep, metric: MapRatio, numbers: Numbers) -> MapView:
    # The reference basic is shown among the ratios against basic, too: its own references are basic's.
    others = [m.name for m in METRICS.values() if m.family == metric.family and m not in sweep.metrics]
    names = [metric.family, metric.name, *(others if metric == sweep.deciding else [])]
    rows = [
        (duration(comp), [_cell_view(sweep, comm, comp, metric, numbers) for comm in sweep.comm_targets_ns])
        for comp in reversed(sweep.comp_targets_ns)
    ]
    return MapView(metric.title, " ".join(names), [duration(comm) for comm in sweep.comm_targets_ns], rows)


def _cell_view(sweep: Sweep, comm: int, comp: int, metric: MapRatio, numbers: Numbers) -> CellView:
    cell = sweep.cells[comm, comp]
    value = cell.value(metric.name)
    states = [level_class(metric.scale, value)]
    states += ["far"] if sweep.far(comm, comp) and math.isfinite(value) else []
    states += ["doubtful"] if "?" in cell.marks else []
    spoken = [*([cell.diagnosis] if cell.diagnosis else []), *(MARKS[m].partition(":")[0] for m in cell.marks)]
    point = cell.point
    return CellView(
        label=cell.label(metric.name),
        signs=cell.signs,
        css=" ".join(states),
        title=_title(cell, metric, sweep.record.incomplete),
        spoken=", ".join(spoken),
        row=numbers[point["record"], point["index"]] if point is not None else None,
    )


def _title(cell: Cell, metric: MapRatio, incomplete: str) -> str:
    """The tool tip of a cell, for pages without a script. Only the map of r_overhead has the remarks."""
    point = cell.point
    if point is None:
        return "the record ends before this point" + (f": {incomplete}" if incomplete else "")
    bounds = interval(*(float(point.get(f"{metric.name}_ci95_{end}", math.nan)) for end in ("low", "high")))
    facts = [f"95 % {bounds}"] if bounds != "-" else []
    facts += [Diagnosis.of(point).words] if cell.diagnosis else []
    facts += remarks(dict(point)) if metric.name == "r_overhead" else []
    return "; ".join(facts)


def estimate(point: Mapping[str, Any], metric: str) -> str:
    """A value with its interval, ``0.18 [0.12, 0.24]``; the value alone without an interval, ``-`` without a value."""
    if metric not in point:
        return "-"
    low, high = (float(point.get(f"{metric}_ci95_{end}", math.nan)) for end in ("low", "high"))
    return with_interval(point[metric], low, high)


def _repetitions(point: Mapping[str, Any]) -> str:
    late = f", {point['late_repetitions']} started late" if point["late_repetitions"] else ""
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
        "spoilt": "stopped because too many were spoilt",
    }
    reason = stop.get(point["stop_reason"], str(point["stop_reason"]).replace("_", " "))
    reached = f"widest interval {percent(point['interval_relative_reached'])}"
    return f"{point['repetitions']}{late}{discarded}; {reason}; {reached}"


def _recalibrated(point: Mapping[str, Any]) -> str:
    times = point["recalibrations"]
    return f"{times} {'time' if times == 1 else 'times'}, because a reference had moved" if times else "-"


def _clock_words(point: Mapping[str, Any]) -> str:
    parts = [str(point["start_method"]), clock_name(str(point["clock_method"]))]
    if point["clock_method"] != "none":
        known = math.isfinite(point["clock_residual_ns"])
        parts.append(f"to {duration(point['clock_residual_ns'])}" if known else "residual not known")
        if point["clock_method"] != "shared" and math.isfinite(point["clock_drift_ppm"]):
            parts.append(f"drift {drift(point['clock_drift_ppm'])}")
    return ", ".join(parts)


def _reference_words(point: Mapping[str, Any], what: str) -> str:
    terms = (("communication", point[f"comm_ref_{what}"]), ("computation", point[f"comp_ref_{what}"]))
    return ", ".join(f"{name} {change(value)}" for name, value in terms if math.isfinite(value)) or "-"


def _how_measured(point: Mapping[str, Any]) -> str:
    facts = [
        ("warm-ups left out", str(point["warmup_repetitions"])),
        ("recalibrated", _recalibrated(point)),
        ("start and clock", _clock_words(point)),
        ("drift of the references", _reference_words(point, "drift_relative")),
        ("references against calibration", _reference_words(point, "moved_relative")),
        ("caches", f"cold, {point['buffer_sets']} sets of buffers" if point["cache"] == "cold" else "-"),
    ]
    return "; ".join(f"{name} {words}" for name, words in facts if words != "-")


def _diagnosis(point: Mapping[str, Any]) -> str:
    label = str(point["diagnosis"] or "")
    letter = DIAGNOSES.get(label)
    if label == UNRELIABLE:
        others = f", or {', '.join(point['diagnosis_alternatives'])}" if len(point["diagnosis_alternatives"]) else ""
        return f"{label}{others}"
    words = Diagnosis.of(point).words if label else "-"
    return f"{letter}: {words}" if letter else words


def _cores(point: Mapping[str, Any]) -> str:
    """The number of cores from which giving some up pays, with its interval; infinity is written as `NEVER`."""
    numbers = (point[f"break_even_cores{end}"] for end in ENDS)
    value, low, high = (NEVER if number == math.inf else ratio(number) for number in numbers)
    return value if "-" in (low, high) else f"{value} [{low}, {high}]"


def _percent(name: str) -> Callable[[Mapping[str, Any]], str]:
    def shown(point: Mapping[str, Any]) -> str:
        value = float(point.get(name, math.nan))
        return f"{value:.1f} %" if math.isfinite(value) else "-"

    return shown


def _text(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda point: str(point.get(name) or "-")


def _time(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda point: duration(float(point.get(name, math.nan)))


def _estimate(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda point: estimate(point, name)


def _slowest_thread(point: Mapping[str, Any]) -> str:
    """The slowest computing thread and how slow it is; ``-`` if ranks have one thread."""
    times = float(point.get("slowest_thread_relative", math.nan))
    return "-" if math.isnan(times) else f"{ratio(times)} times the median one: {point['slowest_thread']}"


COLUMNS: Mapping[str, tuple[Callable[[Mapping[str, Any]], str], str]] = {
    "library": (_text("toolchain"), ""),
    "network": (_text("network"), ""),
    "configuration": (launch_words, ""),
    "collective": (_text("collective"), ""),
    "communication": (_time("comm_target_ns"), "n"),
    "computation": (_time("comp_target_ns"), "n"),
    "r_overhead [95 %]": (_estimate("r_overhead"), "n"),
    "against basic [95 %]": (_estimate("r_overhead_vs_basic"), "n"),
    "speed against basic [95 %]": (_estimate("speedup_vs_basic"), "n"),
    "speed by work [95 %]": (_estimate("speedup_vs_basic_per_work"), "n"),
    "speed against as many threads [95 %]": (_estimate("speedup_vs_reduced"), "n"),
    "pays from cores [95 %]": (_cores, "n"),
    "r_comm": (_estimate("r_comm"), "n"),
    "r_comp_slowdown": (_estimate("r_comp_slowdown"), "n"),
    "of it exposed communication [95 %]": (_estimate("r_exposed"), "n"),
    "of it interference [95 %]": (_estimate("r_interference"), "n"),
    "diagnosis": (_diagnosis, "words"),
    "confidence": (_text("diagnosis_confidence"), ""),
    "remarks": (lambda point: "; ".join(remarks(dict(point))) or "-", "words"),
    "t_measured": (_time("t_measured_ns"), "n"),
    "t_comm_ref": (_time("t_comm_ref_ns"), "n"),
    "t_comp_ref": (_time("t_comp_ref_ns"), "n"),
    "OSU would say": (_percent("overlap_osu_percent"), "n"),
    "IMB would say": (_percent("overlap_imb_percent"), "n"),
    "message": (lambda point: f"{size(point['message_bytes'])} ({point['message_bytes']} bytes)", "n"),
    "work per thread": (lambda point: work(point["work_size"], point["computation"]), ""),
    "calls of MPI_Test": (_text("test_calls"), "n"),
    "time in MPI_Test": (lambda point: duration(point["t_test_ns"]) if point["t_test_ns"] else "-", "n"),
    "slowest thread": (_slowest_thread, "words"),
    "repetitions": (_repetitions, "words"),
    "how it was measured": (_how_measured, "words"),
}
"""The columns of the table of all points, by heading: what writes a cell, and the class of the cells."""


def table_of(points: Sequence[Mapping[str, Any]]) -> tuple[list[tuple[str, str]], list[list[str]]]:
    """The headings (text, class) and the cells of every point.

    Columns that are ``-`` for all points are left out; any other ``-`` becomes an empty cell.
    """
    rows = [[cell_text(point) for cell_text, _ in COLUMNS.values()] for point in points]
    filled = [i for i, _ in enumerate(COLUMNS) if any(row[i] != "-" for row in rows)]
    heads = list(COLUMNS.items())
    cells = [["" if row[i] == "-" else row[i] for i in filled] for row in rows]
    return [(heads[i][0], heads[i][1][1]) for i in filled], cells


def level_classes(groups: Groups) -> set[str]:
    """The classes of all colours that the maps use."""
    cells = (cell for panel in every_panel(groups) for view in panel.maps for _, row in view.rows for cell in row)
    return {cell.css.split(" ")[0] for cell in cells}
