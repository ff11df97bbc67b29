"""The family `nbc_overlap`: overlap of nonblocking collectives (Denis et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from postprocess.families import sampled_inside
from postprocess.families.family import (
    Acceptance,
    Audit,
    Bound,
    ByNode,
    Family,
    Found,
    Inside,
    Numbers,
    Section,
    TableFile,
    doubt_about,
)
from postprocess.families.nbc_overlap import inside
from postprocess.families.nbc_overlap.axes import AXES
from postprocess.families.nbc_overlap.launches import LAUNCHES, METRICS
from postprocess.families.nbc_overlap.maps import METRICS as DRAWN
from postprocess.families.nbc_overlap.points import COLUMNS, expected_wire_bytes, points_of, record_metrics, samples_of
from postprocess.families.nbc_overlap.record import FAMILY, OverlapRecord, message_sizes, overlap_record
from postprocess.families.nbc_overlap.tables import (
    break_even_text,
    diagnosis_text,
    measured_share_text,
    points_table_text,
    summary_table,
)
from postprocess.families.papers import DENIS_2022
from postprocess.statistics.launches import ONE_LAUNCH
from postprocess.statistics.limits import LEAST_DIFFERENCE, LEAST_RATIO


def _text(found: Found) -> str:
    """The table of points, the diagnoses of the maps, and the table of break-even points."""
    points, share = found.table, measured_share_text(found.records)
    return _parts(points_table_text(points), share, diagnosis_text(points), break_even_text(points))


def _short_text(found: Found) -> str:
    """A line per case, and the diagnoses of the maps."""
    of_one = ONE_LAUNCH if found.table["launch"].nunique() == 1 else ""
    return _parts(summary_table(found.table), of_one, measured_share_text(found.records), diagnosis_text(found.table))


def _parts(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def _numbers(record: OverlapRecord, basic: OverlapRecord | None) -> Numbers:
    values = record_metrics(record, basic)
    return Numbers(values, message_sizes(record), doubt_about(values))


def _of_report(name: str) -> Callable[..., Any]:
    """A function of `report` that is imported when it is first called, because `report` loads matplotlib."""

    def call(*given: Any) -> Any:
        from postprocess.families.nbc_overlap import report  # noqa: PLC0415 - it takes a second to load

        return getattr(report, name)(*given)

    return call


_TEMPLATES = "nbc_overlap/templates"

NBC_OVERLAP = Family(
    name=FAMILY,
    title="overlap of nonblocking collectives",
    benchmarks=(FAMILY,),
    papers=(DENIS_2022,),
    view=overlap_record,
    table=lambda run, _records: points_of(run),
    columns=tuple(COLUMNS),
    axes=AXES,
    metrics=METRICS,
    files=(
        TableFile("points.parquet", even_empty=True),
        TableFile("samples.parquet", lambda found: samples_of(found.run), even_empty=True),
    ),
    launches=LAUNCHES,
    text=_text,
    short_text=_short_text,
    sections=(
        Section("verdicts", "Verdicts", 10, f"{_TEMPLATES}/cards.html", _of_report("cards"), "found"),
        Section(
            "maps",
            "Maps",
            10,
            f"{_TEMPLATES}/maps.html",
            _of_report("maps"),
            pictures=_of_report("pictures"),
            drawn=tuple(DRAWN),
            style=_of_report("style"),
            rest=_of_report("rest"),
        ),
        Section("curves", "Curves", 20, f"{_TEMPLATES}/curves.html", _of_report("curves")),
        Section("points", "All points", 70, f"{_TEMPLATES}/points.html", _of_report("all_points")),
        Section("overlap", "Overlap", 10, f"{_TEMPLATES}/reading.html", _of_report("reading"), "reading"),
    ),
    inside=Inside(inside.words, sampled_inside.spent, inside.covered, inside.timing),
    numbers=_numbers,
    bounds=(
        Bound("r_overhead", absolute=True, margin=LEAST_DIFFERENCE),
        Bound("r_overhead_vs_basic", absolute=True, margin=LEAST_DIFFERENCE),
        Bound("t_comm_ref_ratio_to_sizes", absolute=False, margin=LEAST_RATIO, of_sizes=True),
    ),
    acceptance=Acceptance(
        by_node=ByNode(("t_comp_ref_ns", "t_comm_ref_ns"), inside.rank_times, waiting=("t_comm_ref_ns",))
    ),
    audit=Audit(sampled_inside.wrong, inside.communicated_ns, expected_wire_bytes),
)
