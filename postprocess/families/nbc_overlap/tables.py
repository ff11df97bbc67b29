"""Tables for the terminal: plain text in aligned columns, with names made safe to print."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from postprocess.drawing.columns import aligned, circumstances
from postprocess.drawing.text import clean, duration, interval, percent, ratio, size
from postprocess.families.axes import configuration_words
from postprocess.families.nbc_overlap.break_even import (
    break_even_table,
    cores_words,
    counts,
    measured_words,
    node_words,
)
from postprocess.families.nbc_overlap.diagnosis import UNRELIABLE, Diagnosis, MapDiagnosis, is_reference
from postprocess.families.nbc_overlap.record import OverlapRecord
from postprocess.families.nbc_overlap.summary import summarise
from postprocess.records.record import SPENT


def summary_table(points: pd.DataFrame) -> str:
    """One line per toolchain, network, configuration and collective of `points_of(run)`, without a final newline.

    r_overhead is the median over the `usable` points, with [min, max]. "per work" is the speed-up by the work done:
    cores that were given up do no work. "reliable" counts reliable / valid / all points.
    """
    heads = [
        *("toolchain", "network", "configuration", "collective", "r_overhead", "[min, max]"),
        *("vs basic", "speed-up", "per work", "reliable", "verdict", "diagnosis", "notes"),
    ]
    lines = []
    for s in summarise(points):
        reference = is_reference(s.case)
        lines.append(
            [
                *(str(s.case[key]) for key in ("toolchain", "network")),
                s.configuration,
                str(s.case["collective"]),
                ratio(s.r_overhead),
                interval(s.r_overhead_min, s.r_overhead_max),
                "" if reference else ratio(s.r_overhead_vs_basic),
                "" if reference else ratio(s.speedup_vs_basic),
                "" if reference else ratio(s.speedup_vs_basic_per_work),
                f"{s.reliable}/{s.valid}/{s.points}",
                s.shown_verdict,
                s.diagnosis.title,
                ", ".join(s.notes),
            ]
        )
    return aligned(heads, lines, right={4, 6, 7, 8, 9}) if lines else "no points"


def diagnosis_text(points: pd.DataFrame) -> str:
    """The diagnosis of each map, and the advice, which collectives of a configuration share if it is the same."""
    summaries = summarise(points)
    lines: list[str] = []
    for name in dict.fromkeys(s.name for s in summaries):
        same = [s for s in summaries if s.name == name]
        lines.append(name)
        for advice in dict.fromkeys(s.diagnosis.advice for s in same):
            lines += [
                f"  {clean(s.case['collective'])}{_confidence(s.diagnosis)}: {clean(s.diagnosis.words)}"
                for s in same
                if s.diagnosis.advice == advice
            ]
            lines.append(f"    {clean(advice)}")
    return "\n".join(lines)


def _confidence(found: MapDiagnosis) -> str:
    return f" ({found.confidence})" if found.confidence != UNRELIABLE else ""


def points_table_text(points: pd.DataFrame) -> str:
    """One line per point of `points_of(run)`, without a final newline: sizes, medians, ratios and remarks."""
    heads = [
        *("toolchain", "network", "configuration", "collective", "comm", "comp", "message", "work"),
        *("t_comm_ref", "t_comp_ref", "t_measured", "r_overhead", "95 %", "vs basic", "95 %", "speed-up"),
        *("per work", "r_comm", "r_comp", "reps", "width", "diagnosis", "remarks"),
    ]
    lines = [
        [
            *(str(p[key]) for key in ("toolchain", "network")),
            configuration_words(p),
            str(p["collective"]),
            *(duration(p[key]) for key in ("comm_target_ns", "comp_target_ns")),
            size(p["message_bytes"]),
            str(p["work_size"]),
            *(duration(p[key]) for key in ("t_comm_ref_ns", "t_comp_ref_ns", "t_measured_ns")),
            ratio(p["r_overhead"]),
            interval(p["r_overhead_ci95_low"], p["r_overhead_ci95_high"]),
            ratio(p["r_overhead_vs_basic"]),
            interval(p["r_overhead_vs_basic_ci95_low"], p["r_overhead_vs_basic_ci95_high"]),
            *(ratio(p[key]) for key in ("speedup_vs_basic", "speedup_vs_basic_per_work", "r_comm", "r_comp_slowdown")),
            str(p["repetitions"]),
            percent(p["interval_relative_reached"]),
            Diagnosis.of(p).words,
            "; ".join(remarks(p)),
        ]
        for p in points.to_dict("records")
    ]
    return aligned(heads, lines, right=set(range(4, 21)) - {12, 14}) if lines else "no points"


def measured_share(records: Iterable[OverlapRecord]) -> str:
    """The share of the benchmark's wall time spent in repetitions that count; empty if no record has a footer."""
    footers = [record.footer for record in records if record.footer is not None]
    wall = sum(footer.wall_seconds for footer in footers)
    share = 100 * sum(footer.measured_seconds or 0.0 for footer in footers) / wall if wall > 0 else math.nan
    return f"{share:.1f} % of {wall:.0f} s" if math.isfinite(share) else ""


def measured_share_text(records: Iterable[OverlapRecord]) -> str:
    """`measured_share` as a line for the terminal, with the uses of the rest of the time."""
    listed = list(records)
    share = measured_share(listed)
    return f"{share} were spent in repetitions that count; the rest in {_rest(listed)}" if share else ""


def _rest(records: Sequence[OverlapRecord]) -> str:
    """The uses of the wall time outside repetitions that count, the largest first.

    Older records do not have the parts; their uses are listed without numbers.
    """
    footers = [record.footer for record in records if record.footer is not None]
    if not all(footer.spent_seconds for footer in footers):
        return "calibration, warm-up, starts, checks of the data, and what was thrown away"
    wall = sum(footer.wall_seconds for footer in footers)
    shares = {name: sum((footer.spent_seconds or {})[name] for footer in footers) / wall for name in SPENT}
    largest_first = sorted(shares, key=lambda name: -shares[name])
    return ", ".join(f"{SPENT[name]} {100 * shares[name]:.1f} %" for name in largest_first)


def break_even_text(points: pd.DataFrame) -> str:
    """The table of `break_even_table` for the terminal; empty if no case gave up a core."""
    heads = [
        *("toolchain", "network", "configuration", "collective", "cores", "comm", "comp", "message"),
        *("per work", "95 %", "vs reduced", "pays from", "95 %", "per node", "pays here", "measured", "remarks"),
    ]
    lines = [
        [
            *(str(p[key]) for key in ("toolchain", "network")),
            configuration_words(p),
            str(p["collective"]),
            str(p["cores_per_rank"]),
            *(duration(p[key]) for key in ("comm_target_ns", "comp_target_ns")),
            size(p["message_bytes"]),
            ratio(p["speedup_vs_basic_per_work"]),
            interval(p["speedup_vs_basic_per_work_ci95_low"], p["speedup_vs_basic_per_work_ci95_high"]),
            ratio(p["speedup_vs_reduced"]),
            cores_words(p["break_even_cores"]),
            f"[{', '.join(cores_words(p[f'break_even_cores_ci95_{end}']) for end in ('low', 'high'))}]",
            node_words(p),
            p["pays"] + ("" if counts(p) else "?"),
            measured_words(p),
            ", ".join([*([] if p["reliable"] else ["unreliable"]), *circumstances(p)]),
        ]
        for p in break_even_table(points).to_dict("records")
    ]
    return aligned(heads, lines, right={*range(4, 9), 10, 11, 13}) if lines else ""


def remarks(point: dict[Any, Any]) -> list[str]:
    """The remarks on a row of `points_of`, the worst first."""
    kind = "unreliable" if point["valid"] else "not valid"
    return [
        *(f"{kind}: {reason}" for reason in point["unreliable_reasons"]),
        *circumstances(point),
        *point["flags"],
        *([point["vs_basic_reason"]] if point["vs_basic_reason"] else []),
    ]


def clock_name(method: str) -> str:
    """The name of a clock's method in words."""
    return {"none": "no common clock"}.get(method, f"{method} clock")
