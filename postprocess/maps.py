"""The points of one sweep as a grid: what the heat maps of section 5.2 show, for plot and report alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from postprocess.load import Record, Run
from postprocess.points import case_of, is_reference, launch_numbers, unusual_words
from postprocess.text import clean, ratio

MARKS = {
    "?": "unreliable: the interval is too wide, or a size misses its target; the details say which",
    "O": "oversubscribed: more busy threads than physical cores",
    "S": "shared core: the progress thread may run on a core that computes",
    "R": "reference moved by more than 10 % against basic on the same sizes",
    "I": "incomplete record: the measurement was cut off after this point",
}
"""The letters beside a value, and what they mean."""


@dataclass(frozen=True)
class Cell:
    """One place of a grid. ``point`` is the row of the points table, None where the record ends before it."""

    point: dict[str, Any] | None

    @property
    def empty(self) -> str:
        """Why there is no value to be trusted, in a word or two; empty where there is one."""
        if self.point is None:
            return "missing"
        if self.point["stop_reason"] == "not_measured":
            return "not measured"
        if self.point["data_errors"]:
            return "wrong data"
        return "" if self.point["valid"] else "too few"

    @property
    def marks(self) -> str:
        """The letters of `MARKS` that apply, in that order; none where there is no value."""
        p = self.point
        if p is None or self.empty:
            return ""
        found = {
            "?": not p["reliable"],
            "O": p["oversubscribed"],
            "S": p["shared_core"],
            "R": p["reference_moved"],
            "I": not p["complete"],
        }
        return "".join(letter for letter in MARKS if found[letter])

    def value(self, metric: str) -> float:
        """The metric's value, NaN where there is none to be trusted."""
        return math.nan if self.point is None or self.empty else float(self.point[metric])

    def label(self, metric: str) -> str:
        """What stands in the cell, without its marks."""
        if self.empty or self.point is None:
            return self.empty
        return ratio(float(self.point[metric])) if math.isfinite(self.point[metric]) else "no basic"


@dataclass(frozen=True)
class Sweep:
    """One collective of one record. Targets ascend; ``cells`` is keyed by (communication, computation) target in ns."""

    case: dict[str, Any]
    record: Record
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
    def metrics(self) -> tuple[str, ...]:
        """The overhead ratios to show: against basic too where this is not basic."""
        return ("r_overhead",) if is_reference(self.case) else ("r_overhead", "r_overhead_vs_basic")

    @property
    def marks(self) -> str:
        """The marks that any of its cells has."""
        used = "".join(cell.marks for cell in self.cells.values())
        return "".join(letter for letter in MARKS if letter in used)


METRIC_TITLES = {
    "r_overhead": "r_overhead, own references",
    "r_overhead_vs_basic": "r_overhead, basic's references",
}


def sweeps_of(run: Run, points: pd.DataFrame) -> list[Sweep]:
    """Every collective of every record of a run, in the order of the records; `points` is `points_of(run)`."""
    launches = launch_numbers(run.records)
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in points.to_dict("records"):
        rows.setdefault((str(row["record"]), str(row["collective"])), []).append({str(k): v for k, v in row.items()})
    system = str(run.manifest.get("system") or "")
    return [
        _sweep(r, case_of(r, collective, launches[r.name, collective], system), rows.get((r.name, collective), []))
        for r in run.records
        for collective in r.collectives
    ]


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

    def place(sweep: Sweep) -> tuple[int, ...]:
        return (
            ranks[names(sweep, *library)],
            ranks[names(sweep, *library, "collective")],
            *(sweep.case["cache"] == "cold", sweep.case["computation"] != "dgemm"),
            0 if sweep.case["configuration"] == "basic" else 1 + ranks[names(sweep, "configuration")],
            sweep.case["test_interval_ns"],
            sweep.case["launch"],
        )

    return sorted(sweeps, key=place)


def _sweep(record: Record, case: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Sweep:
    planned = record.header
    comm = sorted({*planned.planned_comm_targets_ns, *(row["comm_target_ns"] for row in rows)})
    comp = sorted({*planned.planned_comp_targets_ns, *(row["comp_target_ns"] for row in rows)})
    found = {(row["comm_target_ns"], row["comp_target_ns"]): row for row in rows}
    cells = {(x, y): Cell(found.get((x, y))) for x in comm for y in comp}
    return Sweep(case, record, tuple(comm), tuple(comp), cells)
