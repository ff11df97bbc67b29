"""Conclusions from the records of `timing_selfcheck`: how steady a machine is, and what can be concluded on it.

Pure functions of records and numbers; values that cannot be computed are NaN. Times are in nanoseconds.

The verdict on a time (`judge`) asks two questions of the medians on which every metric rests. Is the 95 % interval of
one launch's median narrow? Do the medians of several launches of the same work agree? Neither implies the other:
repetitions of a launch share its memory layout, its placement and its time of day, so that a narrow interval around
its median says nothing about the next launch (Kalibera and Jones, Rigorous benchmarking in reasonable time, ISMM 2013;
Hunold and Carpen-Amarie, Reproducible MPI benchmarking is still not as easy as you think, IEEE TPDS 27(12), 2016).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import groupby
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from postprocess.drawing.text import duration, share
from postprocess.families.timing_selfcheck.record import KINDS, Clock, Noise, Residual, Selfcheck, Start, Timer, Work
from postprocess.records.fields import Json
from postprocess.statistics.limits import CALIBRATION_LIMIT, CONCLUSIVE
from postprocess.statistics.metrics import CONFIDENCE, as_float, series_estimate

TARGETS_NS = (500_000, 4_000_000, 16_000_000, 64_000_000)

YES, WITH_CARE, NO, NOT_MEASURED = WORDS = ("yes", "with care", "no", "not measured")
YES_LIMIT = CONCLUSIVE
"""The aim on a quiet machine, for the relative interval of a median and for the coefficient of variation of launches.
"""
CARE_LIMIT = 0.05
"""The limit of the same two numbers above which a machine is noisy."""

START_AIM_NS = 1000.0
"""The aim for the 95th percentile of the start imbalance on a quiet machine."""
RESIDUAL_AIM_WITHIN_NS = 200.0
"""The aim for the clock error within a node, at any time after the synchronisation."""
RESIDUAL_AIMS_BETWEEN_NS = (1000.0, 2000.0)
"""The aims for the clock error between nodes: at the synchronisation, and later (10 s)."""

TICK_RATES_HZ = (100, 250, 300, 1000)
"""The tick rates with which a kernel can be built (CONFIG_HZ, kernel/Kconfig.hz of Linux)."""
TICK_TOLERANCE = 0.10

COMPARED_LAUNCHES = 2
FEW_LAUNCHES = 5
"""With fewer launches, the smallest difference is large because little is known, not because the launches differ."""


@dataclass(frozen=True)
class StartProfile:
    """The start imbalance of a method: percentiles over the repetitions in which no rank was late."""

    method: str
    repetitions: int
    late: int
    p50_ns: float
    p95_ns: float
    p99_ns: float
    longest_ns: float


@dataclass(frozen=True)
class CoreNoise:
    """The interruptions of a core. ``tick_hz`` is the kernel's tick rate that matches the detours' rate; 0: none."""

    rank: int
    thread: int
    host: str
    cpu: int
    seconds: float
    threshold_ns: float
    detours_per_second: float
    p50_ns: float
    p99_ns: float
    longest_ns: float
    share: float
    tick_hz: int


@dataclass(frozen=True)
class Steadiness:
    """The steadiness of an amount of work over all launches.

    median_ns: the median over launches of each launch's median.
    interval_relative: the median over launches of the width of the median's interval over the median.
    cv_median, cv_mean, cv_minimum: the coefficient of variation, over launches, of their medians, means and minima.
    trouble: why these numbers are not known; empty if they are.
    """

    kind: str
    target_ns: int
    size: int
    launches: int
    samples: int
    late: int
    median_ns: float
    interval_relative: float
    cv_median: float
    cv_median_ci95: tuple[float, float]
    cv_mean: float
    cv_minimum: float
    smallest_difference_relative: float
    trouble: str


@dataclass(frozen=True)
class Verdict:
    """Whether conclusions can be drawn at a target time. ``reasons`` is the evidence; ``advice`` is empty for a yes."""

    target_ns: int
    word: str
    smallest_difference_relative: float
    reasons: tuple[str, ...]
    advice: str


@dataclass(frozen=True)
class Summary:
    """The conclusions from all launches of a machine, library and placement.

    launches: the number of launches that were compared.
    """

    launches: int
    timer: Timer | None
    clock: Clock | None
    starts: tuple[StartProfile, ...]
    cores: tuple[CoreNoise, ...]
    work: tuple[Steadiness, ...]
    verdicts: tuple[Verdict, ...]


def summarise(records: Sequence[Selfcheck], targets_ns: Sequence[int] = TARGETS_NS) -> Summary:
    """The summary of records in the order of time, of which the first is of the launch that measured everything."""
    work = compared(records)
    starts = next((record.starts for record in records if record.starts), ())
    noises = next((record.noises for record in records if record.noises), ())
    return Summary(
        launches=max((steadiness.launches for steadiness in work), default=0),
        timer=next((record.timer for record in records if record.timer), None),
        clock=next((record.clock for record in records if record.clock), None),
        starts=tuple(map(start_profile, starts)),
        cores=tuple(map(core_noise, noises)),
        work=work,
        verdicts=verdicts(work, targets_ns),
    )


def as_json(summary: Summary) -> Json:
    """The summary as JSON. Keys are written out with their units; values that are not known are null."""
    return {
        "launches": summary.launches,
        "timer": _plain(summary.timer),
        "clock": _plain(summary.clock),
        "start": [_plain(start) for start in summary.starts],
        "noise": [_plain(one) for one in summary.cores],
        "work": [_plain(work) for work in summary.work],
        "verdicts": [
            {"target_ns": verdict.target_ns, "verdict": verdict.word, **_plain(verdict, "target_ns", "word")}
            for verdict in summary.verdicts
        ],
    }


def _plain(value: Any, *without: str) -> Any:
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.name not in without}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def percentile(values: ArrayLike, percent: float) -> float:
    """The smallest of the values that is at least as large as `percent` per cent of them; NaN without values."""
    array = np.asarray(values, dtype=np.float64)
    return as_float(np.percentile(array, percent, method="inverted_cdf")) if array.size else math.nan


def start_profile(start: Start) -> StartProfile:
    """The percentiles of a method's start imbalance."""
    values = start.imbalance_ns
    p50, p95, p99, longest = (percentile(values, percent) for percent in (50, 95, 99, 100))
    return StartProfile(start.method, len(values), start.late, p50, p95, p99, longest)


def residual_is_large(clock: Clock, residual: Residual) -> bool:
    """Whether the ranks' clocks disagree by more than the aim."""
    at_once, later = RESIDUAL_AIMS_BETWEEN_NS
    between = at_once if residual.after_seconds < 1 else later
    return not residual.with_drift_ns <= (RESIDUAL_AIM_WITHIN_NS if clock.clocks == 1 else between)


def core_noise(noise: Noise) -> CoreNoise:
    """The profile of a core's detours. Percentiles are over the lengths that the record keeps."""
    rate = noise.detours / noise.seconds if noise.seconds > 0 else math.nan
    return CoreNoise(
        rank=noise.rank,
        thread=noise.thread,
        host=noise.host,
        cpu=noise.cpu,
        seconds=noise.seconds,
        threshold_ns=noise.threshold_ns,
        detours_per_second=rate,
        p50_ns=percentile(noise.detour_lengths_ns, 50),
        p99_ns=percentile(noise.detour_lengths_ns, 99),
        longest_ns=float(noise.longest_ns),
        share=noise.share,
        tick_hz=tick_of(rate, noise.share),
    )


def tick_of(detours_per_second: float, share_of_time: float) -> int:
    """The kernel's tick rate, in Hz, that matches the rate of detours to within TICK_TOLERANCE; 0 if none matches.

    This is a hint, because only the rate is compared: the rate includes other detours, and leaves out ticks that are
    shorter than the threshold. A core that loses more than YES_LIMIT of its time loses it to something other than the
    tick, so that 0 is returned for it.
    """
    if share_of_time > YES_LIMIT:
        return 0
    near = (hz for hz in TICK_RATES_HZ if abs(detours_per_second / hz - 1) <= TICK_TOLERANCE)
    return next(near, 0)


def coefficient_of_variation(values: ArrayLike) -> float:
    """The standard deviation of a sample (n - 1) over its mean; NaN for fewer than two values."""
    array = np.asarray(values, dtype=np.float64)
    return as_float(array.std(ddof=1) / array.mean()) if array.size > 1 and array.mean() > 0 else math.nan


def variation_interval(cv: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a coefficient of variation of n values; (NaN, NaN) for fewer than two values.

    It is the chi-square interval of a normal standard deviation, which is good for the few per cent that matter here.
    With ten launches it reaches from 0.69 to 1.83 times `cv`.
    """
    if n < 2 or math.isnan(cv):
        return math.nan, math.nan
    tail = (1 - CONFIDENCE) / 2
    low, high = (math.sqrt((n - 1) / float(scipy.special.chdtri(n - 1, 1 - q))) for q in (1 - tail, tail))
    return cv * low, cv * high


def smallest_difference(cv: float, launches: int, interval_relative: float, compared: int = COMPARED_LAUNCHES) -> float:
    """The smallest relative difference that is not chance, when `compared` launches of each side are compared.

    Fisher's least significant difference at 95 % (The Design of Experiments, 1935; here for two means):

        t(0.975; launches - 1) * s * sqrt(1 / compared + 1 / compared)

    s is the spread of the launches' medians: their coefficient of variation `cv` over `launches` launches, but at least
    interval_relative / (2 * 1.96), the standard error of a launch's median. (`cv` includes this error already, but a
    few launches may agree by chance.) A difference of exactly this size is detected half of the time, a difference of
    twice the size almost always (97 times of 100). NaN for fewer than two launches.
    """
    if launches < 2 or math.isnan(cv):
        return math.nan
    normal = float(scipy.special.ndtri((1 + CONFIDENCE) / 2))
    spread = max(cv, 0.0 if math.isnan(interval_relative) else interval_relative / (2 * normal))
    return float(scipy.special.stdtrit(launches - 1, (1 + CONFIDENCE) / 2)) * spread * math.sqrt(2 / compared)


def compared(records: Sequence[Selfcheck]) -> tuple[Steadiness, ...]:
    """The steadiness of every amount of work over all launches except the first.

    The first launch is left out because it searched the sizes before it measured, and so used other memory than the
    later launches, which are alike. Work that no later launch measured is taken from the first launch.
    """
    first, later = (
        {(KINDS.index(work.kind), work.target_ns): work for work in steadiness_of(part)}
        for part in (records[:1], records[1:])
    )
    measured = {key: work for key, work in later.items() if work.launches}
    return tuple(work for _, work in sorted({**later, **first, **measured}.items()))


def steadiness_of(records: Iterable[Selfcheck]) -> tuple[Steadiness, ...]:
    """The steadiness of every amount of work in these launches, sorted by kind and target time."""

    def key(work: Work) -> tuple[int, int]:
        return KINDS.index(work.kind), work.target_ns

    works = sorted((work for record in records for work in record.works), key=key)
    return tuple(_steadiness(list(group)) for _, group in groupby(works, key))


def _steadiness(works: list[Work]) -> Steadiness:
    """The steadiness of an amount of work over its launches. Launches without samples do not count."""
    first = works[0]
    measured = [work for work in works if len(work.samples_ns)]
    series = [work.samples_ns.astype(np.float64) for work in measured]
    medians = [series_estimate(one) for one in series]
    widths = [as_float((one.high - one.low) / one.value) for one in medians]
    median = float(np.median([as_float(one.value) for one in medians])) if medians else math.nan
    width = float(np.median(widths)) if widths else math.nan
    cv = coefficient_of_variation([as_float(one.value) for one in medians])
    return Steadiness(
        kind=first.kind,
        target_ns=first.target_ns,
        size=first.size,
        launches=len(measured),
        samples=sum(map(len, series)),
        late=sum(work.late for work in works),
        median_ns=median,
        interval_relative=width,
        cv_median=cv,
        cv_median_ci95=variation_interval(cv, len(measured)),
        cv_mean=coefficient_of_variation([one.mean() for one in series]),
        cv_minimum=coefficient_of_variation([one.min() for one in series]),
        smallest_difference_relative=smallest_difference(cv, len(measured), width),
        trouble=_trouble(works, median, width),
    )


def _trouble(works: list[Work], median_ns: float, width: float) -> str:
    calibration = works[0].calibration
    if calibration and calibration.status == "unreachable":
        return f"no size of the {works[0].kind} reaches this time"
    if calibration and calibration.status == "not_searched":
        return f"no size of the {works[0].kind} was looked for: the time was up"
    if math.isnan(median_ns):
        return works[0].reason or "no samples"
    return "too few samples for an interval" if math.isnan(width) else ""


def is_off_target(work: Steadiness) -> bool:
    """Whether the median time is off its target by more than CALIBRATION_LIMIT."""
    return abs(work.median_ns / work.target_ns - 1) > CALIBRATION_LIMIT


def judge(interval_relative: float, cv_median: float) -> str:
    """The word for an amount of work: `yes` if both numbers are at most YES_LIMIT, `with care` if both are at most
    CARE_LIMIT, otherwise `no`.

    It is `not measured` where interval_relative is NaN. With a single launch cv_median is NaN, and the word is at best
    `with care`, because the differences between launches are not known.
    """
    if math.isnan(interval_relative):
        return NOT_MEASURED
    known = [value for value in (interval_relative, cv_median) if not math.isnan(value)]
    if max(known) > CARE_LIMIT:
        return NO
    return YES if len(known) == 2 and max(known) <= YES_LIMIT else WITH_CARE


def verdicts(work: Sequence[Steadiness], targets_ns: Sequence[int] = TARGETS_NS) -> tuple[Verdict, ...]:
    """A verdict per target time: the worse word of computation and communication, because conclusions need both."""
    words = {target: _words(work, target) for target in targets_ns}
    good = [target for target, by_kind in words.items() if _worst(by_kind.values()) in (YES, WITH_CARE)]
    return tuple(_verdict(work, target, words[target], good) for target in targets_ns)


def _words(work: Sequence[Steadiness], target_ns: int) -> dict[str, str]:
    here = {one.kind: one for one in work if one.target_ns == target_ns}
    return {kind: _word(here[kind]) if kind in here else NOT_MEASURED for kind in KINDS}


def _word(one: Steadiness) -> str:
    """The word for an amount of work; at best `with care` where its time is off the target."""
    if one.trouble:
        return NOT_MEASURED
    return _worst([judge(one.interval_relative, one.cv_median), WITH_CARE if is_off_target(one) else YES])


def _worst(words: Iterable[str]) -> str:
    present = set(words)
    return next(word for word in (NO, NOT_MEASURED, WITH_CARE, YES) if word in present)


def _verdict(work: Sequence[Steadiness], target_ns: int, words: dict[str, str], good: Sequence[int]) -> Verdict:
    here = [one for one in work if one.target_ns == target_ns]
    word = _worst(words.values())
    differences = [one.smallest_difference_relative for one in here if not one.trouble]
    reasons = [_evidence(one) for one in here]
    reasons += [f"{kind}: no samples" for kind in KINDS if kind not in {one.kind for one in here}]
    return Verdict(
        target_ns=target_ns,
        word=word,
        smallest_difference_relative=float(np.max(differences)) if len(differences) == len(KINDS) else math.nan,
        reasons=tuple(reasons),
        advice=_advice(word, [one for one in here if not one.trouble], target_ns, good),
    )


def _evidence(one: Steadiness) -> str:
    if one.trouble:
        return f"{one.kind}: {one.trouble}"
    launches = "launches not compared" if math.isnan(one.cv_median) else f"launches {share(one.cv_median)}"
    off = f"takes {duration(one.median_ns)}, " if is_off_target(one) else ""
    return f"{one.kind}: {off}interval {share(one.interval_relative)}, {launches}"


def _advice(word: str, measured: Sequence[Steadiness], target_ns: int, good: Sequence[int]) -> str:
    if word in (YES, NOT_MEASURED):
        return ""
    advice = ["end what disturbs this machine"] if any(one.interval_relative > CARE_LIMIT for one in measured) else []
    if any(one.interval_relative > YES_LIMIT for one in measured):
        advice.append("give it more repetitions (a larger --budget-seconds)")
    if any(one.cv_median > YES_LIMIT for one in measured):
        advice.append("launch every case several times (--repeat) and trust no single launch")
    if any(one.launches < FEW_LAUNCHES and one.smallest_difference_relative > 1 for one in measured):
        advice.append("compare more launches (--launches): these are too few to tell a difference")
    if any(math.isnan(one.cv_median) for one in measured):
        advice.append("compare several launches (--launches) first")
    if any(map(is_off_target, measured)):
        advice.append("start the doctor again: the search for a size of this time was disturbed")
    longer = [target for target in good if target > target_ns]
    if word == NO and longer:
        advice.append(f"or measure at {duration(longer[0])}, where this machine is steadier")
    return "; ".join(advice)
