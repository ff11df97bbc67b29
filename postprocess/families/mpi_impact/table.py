"""The cost of an idle MPI library: r_mpi_impact of every computation time of every impact record.

Section 3.2.1 of Denis et al. 2022, equation (2). The time of a launch is that of its slowest rank, where a rank's time
is the median over its repetitions. Ratios are made within pairs of consecutive launches, one of each program
(`metrics.r_mpi_impact`).

valid       There are at least 2 pairs of launches, so that the ratio has an interval.
reliable    Valid, the case did not fail, and
            * the width of the 95 % interval is at most 25 % of the ratio: a wider interval could not tell the 1.27 of
              figure 9 from 1;
            * the ranks computed at the same time: all ranks of a host computed, counted or not, works of this size
              during at least 80 % of their counted time, over all launches;
            * both programs computed on the same CPUs.
flags       The reference without MPI varies between launches by more than 10 % (noise), or has a trend over them
            (p < 0.01, more than 2 %); or the work takes a time that is more than 20 % off its target.

Oversubscribed and shared cores are properties of the placement, in columns of their own.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy

from postprocess.drawing.columns import Column, Columns, estimate, number, plain
from postprocess.drawing.text import change, duration, percent
from postprocess.families import axes, sampled_table
from postprocess.families.mpi_impact.record import COMPUTE_ALONE, FAMILY, MPI_IMPACT, ImpactRecord, Launch, Target
from postprocess.families.sampled import TOO_WIDE
from postprocess.records.header import NAMED
from postprocess.statistics import control
from postprocess.statistics.launches import likely
from postprocess.statistics.metrics import Floats, as_float, divided, r_mpi_impact

FIGURE_9_NS = 512_000_000
"""The computation time of figure 9."""

FEWEST_PAIRS = 2
FOR_CONTROL = 2 * FEWEST_PAIRS
"""The fewest pairs of launches of which every second one is held against the others."""
CANNOT_TELL = "cannot tell"
WIDEST_INTERVAL = 0.25
LEAST_TOGETHER = 0.80
SPREAD_LIMIT = 0.10
TARGET_LIMIT = 0.20
DRIFT_LIMIT = 0.02
DRIFT_P_VALUE = 0.01

AXES = axes.FamilyAxes(FAMILY, (axes.COMP_TARGET,), apart=(axes.COMPUTATION,))
CASE = [
    "toolchain", "provider", "network", "configuration", "computation", "ranks", "nodes", "threads_per_rank",
    "given_up_cores", "repeat",
]  # fmt: skip
"""The columns that identify a case. `repeat` counts the repeats of a case in a run from 1."""

COLUMNS = [
    *CASE, NAMED, "comp_target_ns", "work_size", "t_comp_ref_ns", "t_comp_passive_mpi_ns",
    "r_mpi_impact", "r_mpi_impact_ci95_low", "r_mpi_impact_ci95_high", "r_mpi_impact_by_rank",
    "pairs", "repetitions", "together_share", "ref_spread_relative", "ref_drift_relative", "ref_drift_p_value",
    "progress_cpu_share", "valid", "reliable", "unreliable_reasons", "flags", "oversubscribed", "shared_core",
    "complete", "record",
]  # fmt: skip
"""The columns of `impact_table`, in order.

Times are in nanoseconds, geometric means over launches. `repetitions` is per launch. `r_mpi_impact_by_rank` is a list
of each rank's own ratio. `progress_cpu_share` is the CPU time, while the processes computed, of the threads that MPI
started and of the application's progress threads, relative to one core per rank.
"""


def impact_metrics(record: ImpactRecord) -> dict[str, float]:
    """The numbers of a record in which regressions are looked for; numbers that are not finite are left out.

    They are the ratio at 512 ms or the nearest time, its interval, and the largest ratio.
    """
    table = impact_table([record])
    shown = highlighted(table).iloc[0]
    numbers = {
        name: float(shown[name]) for name in table.columns if name.startswith("r_mpi_impact") and name[-4:] != "rank"
    }
    numbers["r_mpi_impact_max"] = float(table["r_mpi_impact"].max())
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def shown_reliable(record: ImpactRecord) -> bool:
    """Whether the ratio of a record at 512 ms or the nearest time is reliable."""
    return bool(highlighted(impact_table([record]))["reliable"].all())


def pairs_of(record: ImpactRecord) -> list[tuple[Launch, Launch]]:
    """Pairs of consecutive launches, one of each program: (with MPI, without MPI). Unpaired launches are left out."""
    pairs = []
    for first, second in zip(record.launches[::2], record.launches[1::2], strict=False):
        by_program = {launch.program: launch for launch in (first, second)}
        if len(by_program) == 2:
            pairs.append((by_program[MPI_IMPACT], by_program[COMPUTE_ALONE]))
    return pairs


def rank_times_ns(launch: Launch, index: int) -> Floats:
    """Each rank's median over the repetitions of the computation time `index` of a launch, in nanoseconds."""
    return np.array([float(np.median(times)) for times in launch.points[index].t_comp_ns])


def together_shares(targets: Sequence[Target], launches: Sequence[Launch]) -> Floats:
    """By computation time, the share of the ranks' counted time in which all ranks of a host computed such works.

    A rank computes works of a size, counted or not, from its first warm-up to the end of the timetable's slot, or of
    its last counted repetition, if that is later. The timetable begins, on each host, as late as all beginnings allow.
    The counted time is summed over hosts and launches; NaN without a launch.
    """
    slots = np.cumsum([0, *(target.slot_ns for target in targets)])
    warmups = np.array([target.warmup_repetitions for target in targets])
    common, counted = np.zeros(len(targets)), np.zeros(len(targets))
    for launch in launches:
        windows = np.array([point.windows_utc_ns for point in launch.points], np.float64)
        works = np.array([rank_times_ns(launch, index) for index in range(len(targets))])
        hosts = np.array([place.host for place in launch.places])
        for host in np.unique(hosts):
            begins, ends = np.moveaxis(windows[:, hosts == host], 2, 0)
            first = begins - warmups[:, np.newaxis] * works[:, hosts == host]
            timetable = float((first - slots[:-1, np.newaxis]).min())
            last = np.maximum(ends, timetable + slots[1:, np.newaxis])
            all_from, all_to = first.max(axis=1, keepdims=True), last.min(axis=1, keepdims=True)
            common += np.maximum(np.minimum(ends, all_to) - np.maximum(begins, all_from), 0).sum(axis=1)
            counted += (ends - begins).sum(axis=1)
    return divided(common, counted)


def same_places(record: ImpactRecord) -> bool:
    """Whether every launch computed on the same CPUs of the same hosts."""
    places = {tuple((place.host, place.compute_cpusets) for place in launch.places) for launch in record.launches}
    return len(places) <= 1


def _rows(record: ImpactRecord, failed: Sequence[str]) -> Iterator[dict[str, Any]]:
    header, pairs = record.header, pairs_of(record)
    case = sampled_table.case_of(header, AXES)
    case["repeat"] = case.pop("launch")
    launches = [launch for pair in pairs for launch in pair]
    busy, shares = _progress_cpu_share(record), together_shares(record.targets, launches)
    for index, target in enumerate(record.targets):
        passive = np.array([rank_times_ns(mpi, index).max() for mpi, _ in pairs])
        alone = np.array([rank_times_ns(without, index).max() for _, without in pairs])
        ratios = r_mpi_impact(passive, alone)
        value, low, high = ratios.numbers
        reference = geometric_mean(alone)
        spread = float((alone.max() - alone.min()) / np.median(alone)) if alone.size > 1 else math.nan
        drift, p_value = _trend(alone)
        together = float(shares[index])
        reasons = [*failed, *_unreliable_reasons(record, len(pairs), (high - low) / value, together)]
        yield {
            **case,
            "comp_target_ns": target.comp_target_ns,
            "work_size": target.work_size,
            "t_comp_ref_ns": reference,
            "t_comp_passive_mpi_ns": geometric_mean(passive),
            **sampled_table.columns_of_estimates({"r_mpi_impact": ratios}),
            "r_mpi_impact_by_rank": _by_rank(pairs, index, header.ranks),
            "pairs": len(pairs),
            "repetitions": target.repetitions,
            "together_share": together,
            "ref_spread_relative": spread,
            "ref_drift_relative": drift,
            "ref_drift_p_value": p_value,
            "progress_cpu_share": busy,
            "valid": len(pairs) >= FEWEST_PAIRS,
            "reliable": not reasons,
            "unreliable_reasons": reasons,
            "flags": list(_flags(reference, target.comp_target_ns, spread, drift, p_value)),
            **sampled_table.columns_of_record(record),
        }


def controls(records: Iterable[ImpactRecord]) -> control.Count:
    """The count of the controls: each computation without MPI in every second pair of launches, against the others."""
    without = [
        np.array([rank_times_ns(alone, index).max() for _, alone in pairs_of(record)])
        for record in records
        for index in range(len(record.targets))
    ]
    paired = [one[: one.size // 2 * 2] for one in without if one.size >= FOR_CONTROL]
    found = [r_mpi_impact(one[1::2], one[::2]) for one in paired]
    return control.count((as_float(one.low), as_float(one.high)) for one in found)


def told(row: Mapping[Any, Any]) -> str:
    """The verdict with ``likely`` before it where it rests on few launches."""
    words = verdict(row)
    return words if words == CANNOT_TELL else f"{likely(row['pairs'])}{words}"


impact_table = sampled_table.maker(COLUMNS, _rows)
"""One row per computation time of each record; the columns are COLUMNS."""


def geometric_mean(times: Floats) -> float:
    """The geometric mean; NaN for no times, or if any is not above 0."""
    return float(np.exp(np.log(times).mean())) if times.size and np.all(times > 0) else math.nan


def _by_rank(pairs: Sequence[tuple[Launch, Launch]], index: int, ranks: int) -> list[float]:
    if not pairs:
        return [math.nan] * ranks
    with_mpi = np.array([rank_times_ns(mpi, index) for mpi, _ in pairs])
    without = np.array([rank_times_ns(alone, index) for _, alone in pairs])
    return [as_float(r_mpi_impact(with_mpi[:, rank], without[:, rank]).value) for rank in range(ranks)]


def _progress_cpu_share(record: ImpactRecord) -> float:
    shares = []
    computing_ns = sum(target.slot_ns for target in record.targets) * record.header.ranks
    for launch in record.launches:
        if launch.program == MPI_IMPACT and computing_ns:
            spent = (*launch.mpi_thread_cpu_ns, *launch.helper_thread_cpu_ns)
            shares.append(sum(map(sum, spent)) / computing_ns)
    return float(np.mean(shares)) if shares else math.nan


def _trend(times: Floats) -> tuple[float, float]:
    """The Theil-Sen change from the first to the last launch, relative to the median, and its Mann-Kendall p-value."""
    if times.size < 4 or np.ptp(times) == 0:
        return math.nan, math.nan
    order = np.arange(times.size)
    slope = float(scipy.stats.theilslopes(times, order).slope)
    p_value = float(scipy.stats.kendalltau(order, times).pvalue)
    return slope * (times.size - 1) / float(np.median(times)), p_value


def _unreliable_reasons(record: ImpactRecord, pairs: int, width: float, together: float) -> list[str]:
    if pairs < FEWEST_PAIRS:
        return [f"fewer than {FEWEST_PAIRS} pairs of launches ({pairs})"]
    reasons = []
    if not width <= WIDEST_INTERVAL:
        reasons.append(f"{TOO_WIDE} ({percent(width)} of the ratio, more than {percent(WIDEST_INTERVAL)})")
    if not together >= LEAST_TOGETHER:
        reasons.append(f"not simultaneous: all ranks computed together for {percent(together)} of the time only")
    if not same_places(record):
        reasons.append("launches computed on different CPUs")
    return reasons


def _flags(reference: float, target_ns: int, spread: float, drift: float, p_value: float) -> Iterator[str]:
    off = reference / target_ns - 1
    if abs(off) > TARGET_LIMIT:
        more = "more" if off > 0 else "less"
        yield f"the work takes {duration(reference)}, {percent(abs(off))} {more} than the time that it stands for"
    if spread > SPREAD_LIMIT:
        yield f"noise: the reference varies by {percent(spread)} between launches"
    if p_value < DRIFT_P_VALUE and abs(drift) > DRIFT_LIMIT:
        yield f"drift: the reference changed by {change(drift)} over the launches"


def highlighted(rows: pd.DataFrame) -> pd.DataFrame:
    """For each record the row whose computation time is 512 ms, or nearest to it on a logarithmic axis."""
    if rows.empty:
        return rows
    away = np.abs(np.log(rows["comp_target_ns"].to_numpy(dtype=float) / FIGURE_9_NS))
    nearest = pd.Series(away, index=rows.index).groupby([rows["record"]]).idxmin()
    chosen: pd.DataFrame = rows.loc[sorted(nearest)]
    return chosen


def verdict(row: Mapping[Any, Any]) -> str:
    """The verdict that follows from the interval of a ratio, in words."""
    low, high = row["r_mpi_impact_ci95_low"], row["r_mpi_impact_ci95_high"]
    if not row["reliable"] or not (math.isfinite(low) and math.isfinite(high)):
        return CANNOT_TELL
    if low > 1:
        return f"slower by {change(row['r_mpi_impact'] - 1)}"
    if high < 1:
        return "faster than without MPI: the reference was disturbed"
    return f"no slowdown seen, at most {change(high - 1)}"


SHOWN = Columns((
    *sampled_table.leading(AXES),
    plain("computation"),
    number("comp", "comp_target_ns", duration),
    number("without MPI", "t_comp_ref_ns", duration),
    number("idle MPI", "t_comp_passive_mpi_ns", duration),
    *estimate("r_mpi_impact", "r_mpi_impact", right=False),
    Column("pairs x reps", lambda row: f"{row['pairs']} x {row['repetitions']}", right=True),
    Column("verdict", told),
    sampled_table.REMARKS,
))  # fmt: skip
"""The columns of a table of `impact_table` for a reader."""
