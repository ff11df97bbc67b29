"""The family `nbc_overlap`: overlap of nonblocking collectives (Denis et al. 2022)."""

from collections.abc import Iterator, Sequence

from postprocess.drawing.text import drift, duration
from postprocess.families import sampled_inside
from postprocess.families.axes import configuration_words
from postprocess.families.family import (
    Acceptance,
    Audit,
    Bound,
    ByNode,
    Details,
    Family,
    Found,
    Inside,
    Numbers,
    RankTimes,
    Section,
    TableFile,
    doubt_about,
)
from postprocess.families.nbc_overlap import report
from postprocess.families.nbc_overlap.axes import AXES
from postprocess.families.nbc_overlap.cells import cells_of
from postprocess.families.nbc_overlap.launches import LAUNCHES, METRICS
from postprocess.families.nbc_overlap.maps import METRICS as DRAWN
from postprocess.families.nbc_overlap.points import (
    COLUMNS,
    expected_wire_bytes,
    header_case,
    points_of,
    record_metrics,
    samples_of,
)
from postprocess.families.nbc_overlap.record import FAMILY, OverlapRecord, message_sizes, overlap_record
from postprocess.families.nbc_overlap.tables import (
    break_even_text,
    clock_name,
    diagnosis_text,
    measured_share,
    measured_share_text,
    points_table_text,
)
from postprocess.families.papers import DENIS_2022
from postprocess.families.sampled import order_controls
from postprocess.families.sampled_inside import LATE_WORDS
from postprocess.statistics.limits import LEAST_DIFFERENCE, LEAST_RATIO
from postprocess.statistics.metrics import MIN_REPETITIONS


def _covered(records: Sequence[OverlapRecord]) -> Details:
    """The collectives that the records measured."""
    return [("Collectives", ", ".join(dict.fromkeys(name for record in records for name in record.collectives)))]


def _communicated_ns(record: OverlapRecord) -> float:
    """The time of communication alone, summed over all repetitions, in nanoseconds."""
    return sum(float(point.t_comm_ref_ns.sum()) for point in record.points)


def _rank_times(record: OverlapRecord, metric: str) -> Iterator[RankTimes]:
    """The reference times of every rank at each point; `metric` is t_comp_ref_ns or t_comm_ref_ns."""
    computed = metric == "t_comp_ref_ns"
    for point in record.points:
        yield RankTimes(
            axes={
                "collective": point.collective,
                "comm_target_ns": point.comm_target_ns,
                "comp_target_ns": point.comp_target_ns,
            },
            size=point.work_size if computed else point.message_bytes,
            index=point.index,
            by_rank=(point.rank_comp_ref_ns if computed else point.rank_comm_ref_ns).tolist(),
            good=not point.data_errors and point.repetitions >= MIN_REPETITIONS,
        )


def _timing(records: Sequence[OverlapRecord]) -> Details:
    """Facts about starts, clocks and discarded repetitions, over the records of one configuration."""
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
        ("parts against themselves, by what ran before them", order_controls(points).words),
        ("warm-ups left out", _per_point([p.warmup_repetitions for p in points])),
        (LATE_WORDS[bool(points and points[0].late_starts.size)], str(late) if late else ""),
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


def _text(found: Found) -> str:
    """The table of points, the diagnoses of the maps, and the table of break-even points."""
    points, share = found.table, measured_share_text(found.records)
    parts = (points_table_text(points), share, diagnosis_text(points), break_even_text(points))
    return "\n\n".join(filter(None, parts))


def _numbers(record: OverlapRecord, basic: OverlapRecord | None) -> Numbers:
    values = record_metrics(record, basic)
    return Numbers(values, message_sizes(record), doubt_about(values))


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
    cells=cells_of,
    sections=(
        Section("verdicts", "Verdicts", 10, f"{_TEMPLATES}/cards.html", report.cards, "found"),
        Section(
            "maps",
            "Maps",
            10,
            f"{_TEMPLATES}/maps.html",
            report.maps,
            pictures=report.pictures,
            drawn=tuple(DRAWN),
            style=report.style,
            rest=report.rest,
        ),
        Section("curves", "Curves", 20, f"{_TEMPLATES}/curves.html", report.curves),
        Section("points", "All points", 70, f"{_TEMPLATES}/points.html", report.all_points),
        Section("overlap", "Overlap", 10, f"{_TEMPLATES}/reading.html", report.reading, "reading"),
    ),
    inside=Inside(lambda record: configuration_words(header_case(record)), sampled_inside.spent, _covered, _timing),
    numbers=_numbers,
    bounds=(
        Bound("r_overhead", absolute=True, margin=LEAST_DIFFERENCE),
        Bound("r_overhead_vs_basic", absolute=True, margin=LEAST_DIFFERENCE),
        Bound("t_comm_ref_ratio_to_sizes", absolute=False, margin=LEAST_RATIO, of_sizes=True),
    ),
    acceptance=Acceptance(by_node=ByNode(("t_comp_ref_ns", "t_comm_ref_ns"), _rank_times, waiting=("t_comm_ref_ns",))),
    audit=Audit(sampled_inside.wrong, _communicated_ns, expected_wire_bytes),
)
