"""The points of a sweep as a grid of cells, as in the heat maps of section 5.2, for pictures and for the report."""

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from postprocess.drawing.text import clean, ratio
from postprocess.families.axes import configuration_words, unusual_words
from postprocess.families.family import Axis
from postprocess.families.nbc_overlap import diagnosis
from postprocess.families.nbc_overlap.axes import BESIDE_BASIC, OF_BASIC, OF_RECORD
from postprocess.families.nbc_overlap.points import case_of, launch_numbers
from postprocess.families.nbc_overlap.record import OverlapRecord, overlaps_of
from postprocess.records.fields import Json
from postprocess.records.header import named_cores_of, node_set_of, repeat_of
from postprocess.records.run import Run
from postprocess.records.run_words import RESULT_WORDS

MARKS = {
    "?": "unreliable: by its interval, a size, a disturbed basic, clocks, or a failed case; the details say which",
    "U": "diagnosis unreliable, not the ratio: the intervals leave room for several; the details say which",
    "O": "oversubscribed: more busy threads than physical cores",
    "S": "shared core: the progress thread may run on a core that computes",
    "R": "reference moved: by more than 10 % against basic on the same sizes",
    "I": "incomplete record: the measurement was cut off after this point",
}
"""The letters beside a value, and their meanings."""

DIAGNOSES = {
    diagnosis.OVERLAP: "o", diagnosis.PARTIAL: "p", diagnosis.NONE: "n", diagnosis.COMM: "m", diagnosis.COMP: "c",
    diagnosis.SERIALISED: "s", diagnosis.CONTENTION: "x",
}  # fmt: skip
"""The letter of each diagnosis. An unreliable point has a mark instead: a question mark or a U."""

FAR = 100
FAR_WORDS = f"means less: its two times are {FAR} times apart or more, and noise of the longer hides the shorter"
"""The corners of a map, where the times differ by orders of magnitude, "may be safely ignored" (section 5.2)."""


@dataclass(frozen=True)
class MapRatio:
    """A ratio that maps show.

    name: its column of the points table.  scale: its scale in `colour.SCALES`.  family: metrics of a family share a
    picture.
    """

    name: str
    title: str
    scale: str
    family: str


METRICS: Mapping[str, MapRatio] = {
    metric.name: metric
    for metric in (
        MapRatio("r_overhead", "r_overhead, own references", "overhead", "overhead"),
        MapRatio("r_overhead_vs_basic", "r_overhead, basic's references", "overhead", "overhead"),
        MapRatio("r_comm", "r_comm", "comm", "concurrency"),
        MapRatio("r_comp_slowdown", "r_comp_slowdown", "comp", "concurrency"),
        MapRatio("speedup_vs_basic_per_work", "speed against basic, by the work done", "speedup", "speed"),
    )
}
"""The metrics by name, in the order in which they stand side by side."""


_NO_COMPARISON = {
    "basic was not measured": "no basic",
    "basic had other sizes": "other sizes",
    "basic is not valid": "basic invalid",
}
"""Beginnings of `vs_basic_reason`, each with a short form that fits into a cell."""


@dataclass(frozen=True)
class Cell:
    """A cell of a map. ``point`` is its row of the points table; None where the record ends before this point."""

    point: dict[str, Any] | None

    @property
    def empty(self) -> str:
        """Why the cell has no valid value, in a word or two; empty if it has one."""
        if self.point is None:
            return "missing"
        if self.point["stop_reason"] == "not_measured":
            return "not measured"
        if self.point["data_errors"]:
            return "wrong data"
        return "" if self.point["valid"] else "too few"

    @property
    def marks(self) -> str:
        """The letters of `MARKS` that apply, in the order of `MARKS`; empty without a valid value."""
        p = self.point
        if p is None or self.empty:
            return ""
        applies = {
            "?": not p["reliable"],
            "U": p["reliable"] and p.get("diagnosis") == diagnosis.UNRELIABLE,
            "O": p["oversubscribed"],
            "S": p["shared_core"],
            "R": p["reference_moved"],
            "I": not p["complete"],
        }
        return "".join(letter for letter in MARKS if applies[letter])

    @property
    def diagnosis(self) -> str:
        """The diagnosis of the point if it is one of `DIAGNOSES`; otherwise empty."""
        label = "" if self.point is None or self.empty else str(self.point.get("diagnosis") or "")
        return label if label in DIAGNOSES else ""

    @property
    def signs(self) -> str:
        """The signs below the value: the letter of the diagnosis, then the marks."""
        return DIAGNOSES.get(self.diagnosis, "") + self.marks

    def value(self, metric: str) -> float:
        """The metric's value; NaN without a valid value."""
        return math.nan if self.point is None or self.empty else float(self.point[metric])

    def label(self, metric: str) -> str:
        """The text of the cell without its signs: the value, or why there is none."""
        if self.empty or self.point is None:
            return self.empty
        if math.isfinite(self.point[metric]):
            return ratio(float(self.point[metric]))
        reason = str(self.point["vs_basic_reason"]) if "_vs_basic" in metric else ""
        return next((word for start, word in _NO_COMPARISON.items() if reason.startswith(start)), "no ratio")


@dataclass(frozen=True)
class Sweep:
    """One collective of one record. Targets ascend; ``cells`` is keyed by (communication, computation) target in ns."""

    case: dict[str, Any]
    record: OverlapRecord
    comm_targets_ns: tuple[int, ...]
    comp_targets_ns: tuple[int, ...]
    cells: dict[tuple[int, int], Cell]

    @property
    def title(self) -> str:
        """The case in words, without control characters."""
        launch = f" launch {self.case['launch']}" if self.case["launch"] > 1 else ""
        names = " ".join(str(self.case[k]) for k in ("toolchain", "network", "configuration", "collective"))
        return clean(f"{names}{launch}{unusual_words(self.case)}")

    @property
    def metrics(self) -> tuple[MapRatio, ...]:
        """The ratios to show. The reference `basic` has no ratios against basic."""
        is_reference = diagnosis.is_reference(self.case)
        return tuple(m for m in METRICS.values() if not (is_reference and "_vs_basic" in m.name))

    @property
    def deciding(self) -> MapRatio:
        """The overhead ratio of the overview: against basic's references, or the own ones for the reference `basic`.

        A progress thread that slows everything down cannot improve it.
        """
        return [m for m in self.metrics if m.family == "overhead"][-1]

    def far(self, comm_target_ns: int, comp_target_ns: int) -> bool:
        """Whether a cell is so far off the diagonal that its value means less."""
        return max(comm_target_ns, comp_target_ns) >= FAR * min(comm_target_ns, comp_target_ns)

    @property
    def has_far(self) -> bool:
        """Whether any cell is `far` off the diagonal."""
        return any(self.far(*place) for place in self.cells)


@dataclass(frozen=True)
class Panel:
    """A place among maps that stand side by side: a sweep, or a case without one. ``trouble`` says what went wrong."""

    toolchain: str
    network: str
    configuration: str
    collective: str
    sweep: Sweep | None
    trouble: str

    @property
    def column(self) -> tuple[str, str, str]:
        """The key that all collectives of a library and configuration share."""
        return self.toolchain, self.network, self.configuration

    @property
    def skipped(self) -> bool:
        """Whether the case was skipped, so that it has no sweep."""
        return self.sweep is None and self.trouble.startswith(f"{RESULT_WORDS['skip']}: ")


SWEPT = "nbc_overlap"
"""The benchmark that makes maps."""


def panels_of(sweeps: Sequence[Sweep], cases: Iterable[Json]) -> list[Panel]:
    """A panel for every sweep, in the order of `side_by_side`, and then for every case of `cases` without a sweep.

    cases: the cases of the manifest. Only those of this benchmark that did not pass are shown.
    """
    troubles: dict[Hashable, list[Json]] = {}
    for case in cases:
        if case.get("benchmark", SWEPT) == SWEPT and case.get("result") != "pass":
            troubles.setdefault(_key(case), []).append(case)
    panels, shown = [], set()
    for sweep in side_by_side(sweeps):
        keys = [key for key in _keys(sweep) if key in troubles]
        shown.update(keys)
        result = "; ".join(trouble_words(case) for key in keys for case in troubles[key])
        reason = sweep.record.incomplete
        cut = (f"incomplete: {reason}" if reason not in result else "incomplete") if reason else ""
        panels.append(_panel(sweep.case, sweep, "; ".join(words for words in (result, cut) if words)))
    absent = [case for key, same in troubles.items() if key not in shown for case in same]
    return [*panels, *(_panel(_named(case), None, trouble_words(case)) for case in absent)]


def _panel(case: Mapping[str, Any], sweep: Sweep | None, trouble: str) -> Panel:
    return Panel(
        toolchain=str(case["toolchain"]),
        network=str(case["network"]),
        configuration=launch_words(case),
        collective=str(case["collective"]),
        sweep=sweep,
        trouble=trouble,
    )


def launch_words(case: Mapping[str, Any]) -> str:
    """The configuration of a case, with the number of its launch from the second on: ``async, launch 2``."""
    launch = f", launch {case['launch']}" if case["launch"] > 1 else ""
    return f"{configuration_words(case)}{launch}"


def trouble_words(case: Json) -> str:
    """The result and reason of a case of the manifest: ``skipped: the library has no progress thread``."""
    result = str(case.get("result") or "")
    return f"{RESULT_WORDS.get(result, result)}: {case.get('reason') or 'no reason was given'}"


def _key(case: Json) -> Hashable:
    """The key of a case of the manifest: its record or, without one, all its parameters."""
    return case["record"] if isinstance(case.get("record"), str) else tuple(_named(case).values())


def _keys(sweep: Sweep) -> list[Hashable]:
    """Every `_key` that a case of this sweep may have."""
    named = {name: sweep.case[name] for name in _named({})}
    return list(
        dict.fromkeys((sweep.record.name, *(tuple(one.values()) for one in (named, {**named, "provider": ""}))))
    )


def _named(case: Json) -> dict[str, Any]:
    """The parameters that a case of the manifest shares with the case of a sweep.

    A manifest that is older than a parameter gets its usual value, and an empty provider.
    """
    words = ("toolchain", "provider", "network", "configuration", "collective")
    texts = {name: "" if case.get(name) is None else str(case[name]) for name in words}
    return {
        **texts,
        **{axis.name: _value(case.get(axis.name), axis) for axis in OF_RECORD},
        "launch": repeat_of({"case": case}) or 1,
        "named_cores": named_cores_of({"case": case}),
        "node_set": node_set_of({"case": case}),
    }


def _value(archived: Any, axis: Axis) -> Any:
    """The value that a manifest has for an axis; the usual value where it has none of the right type."""
    return archived if archived and isinstance(archived, type(axis.usual)) else axis.usual


def legend(sweeps: Iterable[Sweep], faded: bool = False) -> list[tuple[str, str]]:
    """The signs in the cells of these sweeps, with their meanings; if `faded`, also the meaning of faded cells."""
    shown = list(sweeps)
    cells = [cell for sweep in shown for cell in sweep.cells.values()]
    diagnoses = {cell.diagnosis for cell in cells}
    signs = [(letter, name) for name, letter in DIAGNOSES.items() if name in diagnoses]
    signs += [(letter, words) for letter, words in MARKS.items() if any(letter in cell.marks for cell in cells)]
    values = (cell.value(metric.name) for sweep in shown for cell in sweep.cells.values() for metric in sweep.metrics)
    if not all(map(math.isfinite, values)):
        signs.append(("grey", "no value, and why"))
    if faded and any(sweep.has_far for sweep in shown):
        signs.append(("faded", FAR_WORDS))
    return signs


def sweeps_of(run: Run, points: pd.DataFrame) -> list[Sweep]:
    """Every collective of every record of a run, in the order of the records; `points` is `points_of(run)`."""
    records = overlaps_of(run).records
    launches = launch_numbers(records)
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in points.to_dict("records"):
        rows.setdefault((str(row["record"]), str(row["collective"])), []).append({str(k): v for k, v in row.items()})
    system = str(run.manifest.get("system") or "")
    return [
        _sweep(r, case_of(r, collective, launches[r.name, collective], system), rows.get((r.name, collective), []))
        for r in records
        for collective in r.collectives
    ]


def file_key(sweep: Sweep) -> str:
    """The key of a sweep's files in the result of `write_maps`: ``records/x.jsonl ibcast``."""
    return f"{sweep.record.name} {sweep.case['collective']}"


def map_anchor(record: str, collective: str) -> str:
    """The place in the report of the maps of a collective of a record: ``map-x-ibcast``."""
    return re.sub(r"[^\w.-]+", "-", f"map {Path(record).stem} {collective}")


def side_by_side(sweeps: Sequence[Sweep]) -> list[Sweep]:
    """Sorted so that the configurations of one library, network and collective stand together, basic first."""

    def names(sweep: Sweep, *columns: str) -> tuple[Any, ...]:
        return tuple(sweep.case[column] for column in columns)

    library = ("toolchain", "provider", "network")
    ranks: dict[tuple[Any, ...], int] = {}
    for sweep in sweeps:
        ranks.setdefault(names(sweep, *library), len(ranks))
        ranks.setdefault(names(sweep, *library, "collective"), len(ranks))
        ranks.setdefault(names(sweep, "configuration"), len(ranks))
        ranks.setdefault(names(sweep, "nodes", "node_set"), len(ranks))

    def place(sweep: Sweep) -> tuple[int, ...]:
        return (
            ranks[names(sweep, *library)],
            ranks[names(sweep, *library, "collective")],
            ranks[names(sweep, "nodes", "node_set")],
            sweep.case["named_cores"],
            *(not axis.is_usual(sweep.case[axis.name]) for axis in OF_BASIC),
            0 if sweep.case["configuration"] == "basic" else 1 + ranks[names(sweep, "configuration")],
            *(sweep.case[one.name] for one in BESIDE_BASIC),
            sweep.case["launch"],
        )

    return sorted(sweeps, key=place)


def _sweep(record: OverlapRecord, case: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Sweep:
    comm = sorted({*record.planned_comm_targets_ns, *(row["comm_target_ns"] for row in rows)})
    comp = sorted({*record.planned_comp_targets_ns, *(row["comp_target_ns"] for row in rows)})
    measured = {(row["comm_target_ns"], row["comp_target_ns"]): row for row in rows}
    cells = {(x, y): Cell(measured.get((x, y))) for x in comm for y in comp}
    return Sweep(case, record, tuple(comm), tuple(comp), cells)
