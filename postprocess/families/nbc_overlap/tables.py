"""Tables for the terminal: plain text in aligned columns, with names made safe to print."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from postprocess.drawing.columns import Column, Columns, circumstances, estimate, number, plain, remarked
from postprocess.drawing.text import clean, duration, percent, ratio, size
from postprocess.families.axes import configuration_words
from postprocess.families.nbc_overlap.break_even import (
    break_even_table,
    cores_words,
    counts,
    measured_words,
    node_words,
)
from postprocess.families.nbc_overlap.diagnosis import UNRELIABLE, Diagnosis, MapDiagnosis
from postprocess.families.nbc_overlap.record import OverlapRecord
from postprocess.families.nbc_overlap.summary import summarise
from postprocess.records.record import SPENT


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
    return _POINTS.text(points) or "no points"


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
    return _BREAK_EVEN.text(break_even_table(points))


def remarks(point: Mapping[Any, Any]) -> list[str]:
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


def _break_even_interval(row: Mapping[Any, Any]) -> str:
    return f"[{', '.join(cores_words(row[f'break_even_cores_ci95_{end}']) for end in ('low', 'high'))}]"


def _break_even_remarks(row: Mapping[Any, Any]) -> str:
    return ", ".join([*([] if row["reliable"] else ["unreliable"]), *circumstances(row)])


_CASE = (plain("toolchain"), plain("network"), Column("configuration", configuration_words), plain("collective"))
_TARGETS = (
    number("comm", "comm_target_ns", duration), number("comp", "comp_target_ns", duration),
    number("message", "message_bytes", size),
)  # fmt: skip
_POINTS = Columns((
    *_CASE,
    *_TARGETS[:2],
    *estimate("r_overhead", "r_overhead", right=False),
    *estimate("vs basic", "r_overhead_vs_basic", right=False),
    number("speed-up", "speedup_vs_basic", ratio),
    remarked(remarks),
    Column("diagnosis", lambda row: Diagnosis.of(row).words),
    number("per work", "speedup_vs_basic_per_work", ratio),
    number("r_comm", "r_comm", ratio),
    number("r_comp", "r_comp_slowdown", ratio),
    *_TARGETS[2:],
    number("work", "work_size"),
    number("t_comm_ref", "t_comm_ref_ns", duration),
    number("t_comp_ref", "t_comp_ref_ns", duration),
    number("t_measured", "t_measured_ns", duration),
    number("reps", "repetitions"),
    number("width", "interval_relative_reached", percent),
))  # fmt: skip
_BREAK_EVEN = Columns((
    *_CASE,
    number("cores", "cores_per_rank"),
    *_TARGETS,
    *estimate("per work", "speedup_vs_basic_per_work", right=False),
    number("vs reduced", "speedup_vs_reduced", ratio),
    number("pays from", "break_even_cores", cores_words),
    Column("95 %", _break_even_interval),
    Column("per node", node_words, right=True),
    Column("pays here", lambda row: row["pays"] + ("" if counts(row) else "?")),
    Column("measured", measured_words),
    Column("remarks", _break_even_remarks),
))  # fmt: skip
