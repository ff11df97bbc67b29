"""Tables of the records of a run: one row per point with its metrics and validity, and the samples in long form."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from postprocess.drawing.text import work
from postprocess.families import axes, sampled, sampled_table
from postprocess.families.nbc_overlap import validity
from postprocess.families.nbc_overlap.axes import AXES, OF_BASIC, OF_RECORD
from postprocess.families.nbc_overlap.diagnosis import (
    BASIC_FAILED,
    NOWHERE,
    OVERLAP,
    UNKNOWN,
    UNRELIABLE,
    Diagnosis,
    diagnose,
    is_reduced_reference,
    is_reference,
    only_faster,
)
from postprocess.families.nbc_overlap.record import OverlapPoint, OverlapRecord, Reference, overlaps_of
from postprocess.records.header import NAMED, Header, keeps_apart, named_cores_of, node_set_of, repeat_of
from postprocess.records.record import GIVEN
from postprocess.records.run import Run, failed_reasons, failed_records
from postprocess.statistics import metrics
from postprocess.statistics.metrics import Estimate, as_float, median_estimate, series_estimate, series_estimates

CASE = [axis.name for axis in AXES if axis.of != "point"]
"""The columns that identify a sweep: all axes except the place in the grid. `launch` counts repeats from 1."""


_RECORD_RATIOS = [
    "r_overhead", "r_overhead_vs_basic", "speedup_vs_basic", "speedup_vs_basic_per_work",
    "r_comm", "r_comp_slowdown", "r_exposed", "r_interference", "overlap_osu_percent", "overlap_imb_percent",
]  # fmt: skip

ESTIMATES = [
    "r_overhead", "r_overhead_vs_basic", "r_exposed", "r_interference", "r_comm", "r_comp_slowdown",
    "speedup_vs_basic", "speedup_vs_basic_per_work", "speedup_vs_reduced", "break_even_cores",
]  # fmt: skip

COLUMNS = [
    *CASE, NAMED, "comm_target_ns", "comp_target_ns", "message_bytes", "work_size",
    "t_comm_ref_ns", "t_comp_ref_ns", "t_measured_ns",
    *sampled_table.names_of_estimates(ESTIMATES), "vs_basic_reason",
    "launches_vs_basic",
    "diagnosis", "diagnosis_confidence", "diagnosis_alternatives", "diagnosis_advice",
    "overlap_osu_percent", "overlap_imb_percent", "test_calls", "t_test_ns",
    "slowest_thread_relative", "slowest_thread",
    "repetitions", "warmup_repetitions", "late_repetitions", "r_overhead_punctual", "discarded_repetitions",
    "recalibrations", "data_errors", "stop_reason", "interval_relative_reached",
    "start_method", "clock_method", "clock_residual_ns", "clock_drift_ppm", "buffer_sets",
    *(f"{term}_ref_{what}" for term in ("comm", "comp")
      for what in ("drift_relative", "drift_p_value", "moved_relative")),
    "valid", "reliable", "unreliable_reasons", "flags", "reference_moved",
    "oversubscribed", "shared_core", "progresses_in", "complete", "failed", "record", "index",
]  # fmt: skip
"""The columns of `points_of`, in order. Times in nanoseconds (medians), sizes in bytes, ratios without unit.

A value that the record does not know is NaN. `comm_ref_drift_…` is the trend of t_comm_ref over the point.
`comm_ref_moved_relative` is how far its median is off the time for which its size was calibrated. `reference_moved`
says whether a reference moved against the reference of `basic`. `failed` says why the point's case failed or, after
`BASIC_FAILED`, why the case of the `basic` that it is compared with failed; it is empty if neither failed.
"""


@dataclass(frozen=True)
class _Measured:
    """A point with its medians and record. `launch` is the number of its launch, `failed` why that launch failed."""

    record: OverlapRecord
    launch: int
    failed: str
    point: OverlapPoint
    overhead: Estimate
    """`r_overhead`, against the point's own references."""
    measured: Estimate
    comm: Estimate
    comp: Estimate
    computed: Estimate
    """The computation time of the slowest rank in the overlapped repetitions."""
    outside: Estimate
    """The rest of the time of the overlapped repetitions."""

    @classmethod
    def of(cls, record: OverlapRecord, launch: int, failed: str, point: OverlapPoint) -> _Measured:
        slowest = point.t_comp_ns.max
        series = {
            "measured": point.t_measured_ns,
            "comm": point.t_comm_ref_ns,
            "comp": point.t_comp_ref_ns,
            "computed": slowest,
            "outside": point.t_measured_ns - slowest,
        }
        overhead = metrics.overhead_of_repetitions(point.t_measured_ns, point.t_comp_ref_ns, point.t_comm_ref_ns)
        return cls(record, launch, failed, point, overhead, **series_estimates(series))

    @property
    def refs_ns(self) -> tuple[float, float]:
        """The median times of communication alone and computation alone, in nanoseconds."""
        return as_float(self.comm.value), as_float(self.comp.value)

    @property
    def cell(self) -> Hashable:
        """The key that a point shares with the points that it is compared with, in any launch.

        It holds the cores that a rank may use: those that it computes on and those that it gives up.
        """
        h, p = self.record.header, self.point
        same = axes.asked(h.plan.parameters, OF_BASIC).values()
        share = h.threads_per_rank + h.progress.given_up_cores
        case = (h.benchmark, h.toolchain, h.provider, h.network, h.ranks, h.nodes, node_set_of(h.metadata), share)
        return (*case, *same, p.collective, p.comm_target_ns, p.comp_target_ns)

    @property
    def repeated(self) -> Hashable:
        """The key that a point shares with the same point in the other launches of its case."""
        p = self.point
        return (_launch_case(self.record, p.collective), p.comm_target_ns, p.comp_target_ns)


_Launches: TypeAlias = dict[Hashable, dict[int, _Measured]]
"""Points by a key that they share, and below it by the number of their launch."""


@dataclass(frozen=True)
class _Beside:
    """The points that a point is compared with.

    basics, reduced: the points of `basic` and of `basic_reduced`, by `cell`.
    good: the valid points of launches that did not fail, by `repeated`.
    """

    basics: _Launches
    reduced: _Launches
    good: _Launches

    @classmethod
    def of(cls, points: Iterable[_Measured]) -> _Beside:
        beside = cls(defaultdict(dict), defaultdict(dict), defaultdict(dict))
        for m in points:
            case = header_case(m.record)
            if is_reference(case):
                beside.basics[m.cell][m.launch] = m
            if is_reduced_reference(case):
                beside.reduced[m.cell][m.launch] = m
            if not m.failed and not sampled.invalid_reasons(m.point):
                beside.good[m.repeated][m.launch] = m
        return beside

    def good_launches(self, m: _Measured, basic: _Measured) -> int:
        """The number of good launches of a point or of its `basic`, whichever has fewer."""
        return min(len(self.good.get(point.repeated, ())) for point in (m, basic))


def points_of(run: Run) -> pd.DataFrame:
    """One row per point of a run, in the order of its records; the columns are `COLUMNS`.

    `r_overhead` uses the point's own references, `r_overhead_vs_basic` the references of `basic` on the same sizes.
    `speedup_vs_basic` is basic's t_measured over the point's own. Where `basic` has no comparable point, the last two
    and all columns derived from them are NaN, and `vs_basic_reason` says why. Where basic's point is not reliable or
    its case failed, they are numbers, but the point is not reliable. `launches_vs_basic` is the number of launches that
    did not fail and in which the point is valid, of the case or of `basic`, whichever has fewer; 0 without a
    comparison. `r_exposed` and `r_interference` are the two parts of the deciding overhead ratio
    (`diagnosis.deciding_ratio`). `unreliable_reasons`, `flags` and `diagnosis_alternatives` hold lists of strings.
    """
    return points_table(overlaps_of(run).records, str(run.manifest.get("system") or ""), failed_records(run.manifest))


def points_table(
    records: Sequence[OverlapRecord], system: str = "", failed: Mapping[str, tuple[str, str]] | None = None
) -> pd.DataFrame:
    """The table `points_of` for records that need not be in a run folder.

    system: the system of the run; empty: the system in the records' metadata.
    failed: `failed_records` of the run.
    """
    launches = launch_numbers(records)
    why = {name: reason for name, (_, reason) in (failed or {}).items()}
    points = [
        _Measured.of(r, launches[r.name, p.collective], why.get(r.name, ""), p) for r in records for p in r.points
    ]
    beside = _Beside.of(points)
    rows = pd.DataFrame([_row(m, beside, system) for m in points], columns=COLUMNS)
    table: pd.DataFrame = rows.astype({"valid": bool, "reliable": bool})  # an empty table needs these types, too
    return table


def samples_of(run: Run) -> pd.DataFrame:
    """One row per repetition of every point: the case, the place in the grid, and each term in integer nanoseconds.

    t_call, t_comp, t_test and t_wait have the minimum, median and maximum over ranks, and the rank with the maximum.
    start_imbalance_ns is missing (NA) where there was no common clock. Warm-ups are left out.
    """
    system = str(run.manifest.get("system") or "")
    records = overlaps_of(run).records
    launches = launch_numbers(records)
    measured = [(r, p) for r in records for p in r.points if p.repetitions]
    empty: pd.DataFrame = pd.DataFrame(columns=[*CASE, "record", "index"])
    if not measured:
        return empty
    labels = pd.DataFrame(
        [
            _case(r, launches[r.name, p.collective], p, system) | {"record": r.name, "index": p.index}
            for r, p in measured
        ]
    )
    counts = [p.repetitions for _, p in measured]
    columns = [_samples(p) for _, p in measured]
    joined = {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
    rows = labels.loc[labels.index.repeat(counts)].reset_index(drop=True).assign(**joined)
    table: pd.DataFrame = rows.astype({"start_imbalance_ns": "Int64"})
    return table


def usable(points: pd.DataFrame) -> pd.DataFrame:
    """The points for a summary: the reliable ones, or all valid ones where less than half of these are reliable.

    Points of cases that failed are left out.
    """
    return sampled_table.usable(points[points["failed"] == ""])


def median(values: pd.Series[Any]) -> float:
    """The median of the finite values of a column; NaN, without a warning, if there are none."""
    numbers = values.to_numpy(dtype=np.float64)
    return as_float(median_estimate(numbers[np.isfinite(numbers)]).value)


def record_metrics(record: OverlapRecord, basic: OverlapRecord | None = None) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame's performance variables. Numbers that are not finite are left out.

    `basic` is the record of `basic` to compare with. Medians over the `usable` points:
    r_overhead, r_overhead_vs_basic, speedup_vs_basic, speedup_vs_basic_per_work, r_comm, r_comp_slowdown, r_exposed,
    r_interference, overlap_osu_percent, overlap_imb_percent, t_comm_ref_ratio_to_target and t_comp_ref_ratio_to_target
    (measured reference over target), and r_overhead_diagonal (comm_target == comp_target).
    Where sizes were given, also t_comm_ref_ratio_to_sizes and t_comp_ref_ratio_to_sizes: the measured reference over
    the time that the size took when it was calibrated.
    Counts: points, points_valid, points_reliable, points_diagnosed and points_overlap (diagnosed as `overlap`).
    """
    everything = points_table([record] if basic is None else [basic, record])
    points = everything.iloc[len(everything) - len(record.points) :]
    chosen = usable(points)
    numbers = {name: median(chosen[name]) for name in _RECORD_RATIOS}
    diagonal = usable(points[points["comm_target_ns"] == points["comp_target_ns"]])
    numbers["r_overhead_diagonal"] = median(diagonal["r_overhead"])
    for term in ("comm", "comp"):
        numbers[f"t_{term}_ref_ratio_to_target"] = median(chosen[f"t_{term}_ref_ns"] / chosen[f"{term}_target_ns"])
        if all(getattr(p, f"{term}_calibration").status == GIVEN for p in record.points):
            numbers[f"t_{term}_ref_ratio_to_sizes"] = median(1 + chosen[f"{term}_ref_moved_relative"])
    numbers["points_diagnosed"] = float((points["diagnosis"] != UNRELIABLE).sum())
    numbers["points_overlap"] = float((points["diagnosis"] == OVERLAP).sum())
    return sampled_table.numbers_of(points, numbers)


def expected_wire_bytes(record: OverlapRecord) -> int:
    """A safe lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    Each repetition communicates twice, once for the reference and once overlapped. On a `wire` every rank has a
    network end of its own; on other networks the ranks of a node share one. Unknown collectives count as 0 bytes.
    """
    header = record.header
    if keeps_apart(header.network):
        groups = [1] * header.ranks
    else:
        nodes = [place.node for place in header.placement]
        groups = [nodes.count(node) for node in sorted(set(nodes))]
    return sum(
        2 * p.repetitions * metrics.least_crossing_bytes(p.collective, p.message_bytes, groups) for p in record.points
    )


def launch_numbers(records: Sequence[OverlapRecord]) -> dict[tuple[str, str], int]:
    """The number of each launch by (record name, collective): the repeat of its case that its record states.

    A launch keeps its number where an earlier launch left no record, so that it is compared with the launch of `basic`
    of the same number. Where a record of a case states no repeat, or two state the same, the launches of the case are
    numbered from 1 by their start times.
    """
    cases: dict[Hashable, list[tuple[OverlapRecord, str]]] = defaultdict(list)
    for record in sorted(records, key=lambda r: (r.header.started_utc, r.path.name)):
        for collective in record.collectives:
            cases[_launch_case(record, collective)].append((record, collective))
    numbers: dict[tuple[str, str], int] = {}
    for launches in cases.values():
        stated = [repeat for record, _ in launches if (repeat := repeat_of(record.header.metadata)) is not None]
        by_time = range(1, len(launches) + 1)
        repeats = stated if len(set(stated)) == len(launches) else by_time
        numbers |= {(record.name, name): number for (record, name), number in zip(launches, repeats, strict=True)}
    return numbers


def _launch_case(record: OverlapRecord, collective: str) -> Hashable:
    """The key that all launches of a case share."""
    return (*header_case(record).values(), collective)


def header_case(record: OverlapRecord) -> dict[str, Any]:
    """The columns `CASE` and `NAMED` that are the same for all points of a record."""
    h, asked = record.header, axes.asked(record.header.plan.parameters, OF_RECORD)
    placed = {
        "node_set": node_set_of(h.metadata),
        "given_up_cores": h.progress.given_up_cores,
        NAMED: named_cores_of(h.metadata),
    }
    elsewhere = {"collective", "system", "launch", *asked, *placed}
    own = {name: getattr(h, name) for name in CASE if name not in elsewhere}
    return own | asked | placed


def case_of(record: OverlapRecord, collective: str, launch: int, system: str = "") -> dict[str, Any]:
    """The columns `CASE` and `NAMED` of one collective of a record."""
    values = header_case(record) | {
        "collective": collective,
        "system": system or str(record.header.metadata.get("system") or ""),
        "launch": launch,
    }
    return {name: values[name] for name in (*CASE, NAMED)}


def _case(record: OverlapRecord, launch: int, point: OverlapPoint, system: str) -> dict[str, Any]:
    return {
        **case_of(record, point.collective, launch, system),
        "comm_target_ns": point.comm_target_ns,
        "comp_target_ns": point.comp_target_ns,
        "message_bytes": point.message_bytes,
        "work_size": point.work_size,
    }


def _row(m: _Measured, beside: _Beside, system: str) -> dict[str, Any]:
    h, p = m.record.header, m.point
    overhead, (comm_ref, comp_ref) = m.overhead, m.refs_ns
    flags = validity.flags(p, comm_ref, comp_ref, m.record.interval_relative, m.record.test_interval_ns)
    flags += sampled.within_bucket(h, comm_ref, math.inf if p.message_bytes else 0)

    basic, reason = _basic_of(m, beside.basics)
    moved: list[str] = []
    doubts: list[str] = []
    against_basic = speedup = metrics.UNKNOWN
    deciding, refs = overhead, m
    if basic is not None:
        against_basic = metrics.overhead_estimate(m.measured, basic.comp, basic.comm)
        if not only_faster(as_float(overhead.low), as_float(against_basic.high)):
            deciding, refs = against_basic, basic
        speedup = _speedup(m, basic)
        moved = validity.moved_flags(
            metrics.reference_change(comm_ref, as_float(basic.comm.value)),
            metrics.reference_change(comp_ref, as_float(basic.comp.value)),
        )
        if basic is not m:
            doubts = validity.basic_reasons(basic.point, basic.overhead, *basic.refs_ns, basic.failed)
    own = [*failed_reasons(m.failed), *validity.unreliable_reasons(p, deciding, comm_ref, comp_ref)]
    unreliable = [*own, *doubts]
    given_up = h.progress.given_up_cores
    alike = _comparable(m, beside.reduced)
    if alike is not None and alike is not m and alike.failed:
        flags += [f"not compared with basic_reduced: {why}" for why in failed_reasons(alike.failed, "its")]
        alike = None
    r_comm, r_comp, approximate = _rank_ratios(m)
    if approximate:
        flags.append("intervals of r_comm and r_comp_slowdown are approximate: no rank's own samples were kept")
    punctual = _punctual_overhead(p)
    if not as_float(overhead.low) <= punctual <= as_float(overhead.high) and not math.isnan(punctual):
        flags.append(
            f"r_overhead is {punctual:.2f} in the {p.repetitions - p.late_repetitions} of {p.repetitions} repetitions "
            "that no rank started late"
        )
    row = {
        **_case(m.record, m.launch, p, system),
        "t_comm_ref_ns": comm_ref,
        "t_comp_ref_ns": comp_ref,
        "t_measured_ns": as_float(m.measured.value),
        **sampled_table.columns_of_estimates(
            {
                "r_overhead": overhead,
                "r_overhead_vs_basic": against_basic,
                "speedup_vs_basic": speedup,
                "speedup_vs_basic_per_work": metrics.per_work_estimate(speedup, h.threads_per_rank, given_up),
                "speedup_vs_reduced": metrics.UNKNOWN if alike is None else _speedup(m, alike),
                "break_even_cores": metrics.break_even_estimate(speedup, given_up),
                "r_comm": r_comm,
                "r_comp_slowdown": r_comp,
                "r_exposed": metrics.exposed_estimate(m.outside, refs.comp, refs.comm),
                "r_interference": metrics.interference_estimate(m.computed, refs.comp, refs.comm),
            }
        ),
        "vs_basic_reason": reason,
        "launches_vs_basic": 0 if basic is None else beside.good_launches(m, basic),
        **_peers_columns(p),
        "test_calls": p.test_calls,
        "t_test_ns": as_float(median_estimate(p.t_test_ns.max).value),
        **_slowest_thread(h, p),
        **sampled_table.columns_of_point(
            m.record, p, unreliable, [*flags, *moved, *validity.negative_flags(against_basic)]
        ),
        "r_overhead_punctual": punctual,
        "recalibrations": p.recalibrations,
        "clock_drift_ppm": _or_nan(p.clock.drift_ppm),
        "buffer_sets": p.buffer_sets,
        **_reference_columns("comm_ref", p.comm_reference),
        **_reference_columns("comp_ref", p.comp_reference),
        "reference_moved": bool(moved),
        "progresses_in": _progresses_in(h),
        "failed": m.failed or (f"{BASIC_FAILED}{basic.failed}" if basic is not None and basic.failed else ""),
    }
    return row | diagnosis_columns(diagnose(row))


def diagnosis_columns(found: Diagnosis) -> dict[str, Any]:
    """The columns of a diagnosis."""
    return {
        "diagnosis": found.label,
        "diagnosis_confidence": found.confidence,
        "diagnosis_alternatives": list(found.alternatives),
        "diagnosis_advice": found.advice,
    }


def _punctual_overhead(point: OverlapPoint) -> float:
    """`r_overhead` of the repetitions that no rank started late. NaN where all or too few are, or none was kept."""
    punctual = point.late_starts == 0
    if punctual.all() or np.count_nonzero(punctual) < metrics.MIN_REPETITIONS:
        return math.nan
    times = (np.median(getattr(point, name)[punctual]) for name in ("t_measured_ns", "t_comp_ref_ns", "t_comm_ref_ns"))
    return as_float(metrics.r_overhead(*times))


def _slowest_thread(header: Header, point: OverlapPoint) -> dict[str, Any]:
    """The computing thread that is slowest in the overlapped repetitions, relative to the median thread of its rank."""
    medians = point.thread_medians
    if medians is None or medians.t_comp_ns.size == 0 or medians.t_comp_ns.shape[1] < 2:
        return {"slowest_thread_relative": math.nan, "slowest_thread": ""}
    usual = np.median(medians.t_comp_ns, axis=1, keepdims=True)
    relative = medians.t_comp_ns / np.where(usual > 0, usual, np.nan)
    if np.isnan(relative).all():
        return {"slowest_thread_relative": math.nan, "slowest_thread": ""}
    rank, thread = (int(i) for i in np.unravel_index(int(np.nanargmax(relative)), relative.shape))
    cpus = header.placement[rank].compute_cpusets
    place = f"CPU {cpus[thread]}" if thread < len(cpus) else f"thread {thread}"
    return {"slowest_thread_relative": float(relative[rank, thread]), "slowest_thread": f"rank {rank}, {place}"}


def _progresses_in(header: Header) -> str:
    """The configurations in which the library has progress threads, as the campaign recorded them.

    `NOWHERE` if there are none, `UNKNOWN` if the campaign recorded nothing.
    """
    named = header.metadata.get("progresses_in")
    if not isinstance(named, list):
        return UNKNOWN
    return ", ".join(map(str, named)) or NOWHERE


def _basic_of(m: _Measured, basics: _Launches) -> tuple[_Measured | None, str]:
    """The point of `basic` to compare with, or None and the reason why there is none.

    It is of the launch with the same number or, where `basic` lacks that, of its last launch before it.
    """
    if is_reference(header_case(m.record)):
        return m, ""
    basic = _last_before(m, basics)
    if basic is None:
        return None, "basic was not measured at this point"
    b = basic.point
    if not _same_sizes(m, basic):
        return None, f"basic had other sizes: {b.message_bytes} bytes, {work(b.work_size, m.record.computation)}"
    if invalid := sampled.invalid_reasons(b):
        return None, f"basic is not valid at this point: {', '.join(invalid)}"
    return basic, ""


def _last_before(m: _Measured, others: _Launches) -> _Measured | None:
    """The point of `others` at the same cell, of the same launch or else of the last launch before it."""
    by_launch = others.get(m.cell, {})
    launch = max((launch for launch in by_launch if launch <= m.launch), default=None)
    return None if launch is None else by_launch[launch]


def _same_sizes(m: _Measured, other: _Measured) -> bool:
    return (m.point.message_bytes, m.point.work_size) == (other.point.message_bytes, other.point.work_size)


def _comparable(m: _Measured, reduced: _Launches) -> _Measured | None:
    """The valid point of `basic_reduced` with the same sizes and as many cores given up; None if there is none."""
    other = m if is_reduced_reference(header_case(m.record)) else _last_before(m, reduced)
    if other is None or not _same_sizes(m, other) or sampled.invalid_reasons(other.point):
        return None
    return other if other.record.header.progress.given_up_cores == m.record.header.progress.given_up_cores else None


def _speedup(m: _Measured, other: _Measured) -> Estimate:
    """The speed-up of a point over `other`; exactly 1 if they are the same point."""
    if other is not m:
        return metrics.ratio_estimate(other.measured, m.measured)
    return Estimate(*[np.array(1.0)] * 3) if m.point.repetitions else metrics.UNKNOWN


def _rank_ratios(m: _Measured) -> tuple[Estimate, Estimate, bool]:
    """`r_comm` and `r_comp_slowdown`, and whether their intervals are approximate.

    Where the record does not keep the samples of every rank, the relative width of the intervals is that of the same
    ratios made from the slowest rank of each repetition.
    """
    p = m.point
    if not p.repetitions:
        return metrics.UNKNOWN, metrics.UNKNOWN, False
    if (own := p.rank_samples) is not None:
        mpi = own.t_call_ns + own.t_test_ns + own.t_wait_ns
        return (
            metrics.largest_rank_ratio_estimate(mpi, own.t_comm_ref_ns),
            metrics.largest_rank_ratio_estimate(own.t_comp_ns, own.t_comp_ref_ns),
            False,
        )
    slowest = series_estimate(p.t_call_ns.max + p.t_test_ns.max + p.t_wait_ns.max)
    return (
        _as_wide(metrics.r_comm(p.rank_mpi_ns, p.rank_comm_ref_ns), metrics.ratio_estimate(slowest, m.comm)),
        _as_wide(
            metrics.r_comp_slowdown(p.rank_comp_ns, p.rank_comp_ref_ns), metrics.ratio_estimate(m.computed, m.comp)
        ),
        True,
    )


def _as_wide(value: float, like: Estimate) -> Estimate:
    known = as_float(like.value) > 0
    return (
        metrics.scaled(like, value / as_float(like.value))
        if known
        else Estimate(np.array(value), metrics.UNKNOWN.low, metrics.UNKNOWN.high)
    )


def _peers_columns(p: OverlapPoint) -> dict[str, float]:
    osu = imb = math.nan
    if (own := p.rank_samples) is not None:
        mpi = own.t_call_ns + own.t_test_ns + own.t_wait_ns
        osu, imb = metrics.peers_overlap_percent(mpi, own.t_comp_ns, own.t_comm_ref_ns)
    return {"overlap_osu_percent": osu, "overlap_imb_percent": imb}


def _reference_columns(name: str, reference: Reference) -> dict[str, float]:
    return {
        f"{name}_drift_relative": _or_nan(reference.change_relative),
        f"{name}_drift_p_value": _or_nan(reference.p_value),
        f"{name}_moved_relative": _or_nan(reference.moved_relative),
    }


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _samples(p: OverlapPoint) -> dict[str, Any]:
    """The columns of `samples_of` that differ between the repetitions of a point."""
    columns: dict[str, Any] = {"repetition": np.arange(p.repetitions)}
    columns |= {name: getattr(p, name) for name in ("t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns")}
    for term in ("t_call", "t_comp", "t_test", "t_wait"):
        spread = getattr(p, f"{term}_ns")
        columns |= {f"{term}_{statistic}_ns": getattr(spread, statistic) for statistic in ("min", "median", "max")}
        columns[f"{term}_max_rank"] = spread.max_rank
    clocked = len(p.start_imbalance_ns) == p.repetitions
    return columns | {"start_imbalance_ns": p.start_imbalance_ns if clocked else np.full(p.repetitions, np.nan)}
