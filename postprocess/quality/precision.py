"""How precisely this project measures, in numbers: starts, clocks, stop rules, launches of one `campaign figures`.

`load` reads the folder of records that such a run leaves, `summarise` computes all numbers, and `aims` compares them
with what a quiet machine should reach. Times are nanoseconds, unless a name says otherwise; ratios have no unit; what
is not known is NaN. `precision_text` and `precision_plot` show the numbers.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import ArrayLike

from postprocess.families.timing_selfcheck.judgement import (
    RESIDUAL_AIM_WITHIN_NS,
    RESIDUAL_AIMS_BETWEEN_NS,
    START_AIM_NS,
    YES_LIMIT,
    Steadiness,
    compared,
    percentile,
    variation_interval,
)
from postprocess.families.timing_selfcheck.record import Selfcheck, Work, load_selfcheck
from postprocess.quality import stop_rules
from postprocess.records.fields import Fields, Json, Nanoseconds, fail
from postprocess.statistics.metrics import CONFIDENCE, as_float

WITHIN, BETWEEN, LAUNCH, SERIES = GROUPS = ("within", "between", "launch", "series")
TRUTH_WITHIN, TRUTH_BETWEEN = TRUTHS = ("truth-within", "truth-between")
"""The beginnings of the names of record files: `within-01.jsonl`, `truth-between-01.json`, ..."""

RUN = "run.json"
PERCENTS = (50, 95, 99)
HOLD_AIM_SECONDS = 10.0
LAUNCHES_AIM = 10
SPEED_AIM = 3.0

REACHED, NOT_REACHED, NOT_JUDGED, NOT_MEASURED = ("reached", "not reached", "not judged", "not measured")


@dataclass(frozen=True)
class Known:
    """A number with its 95 % interval, or with the smallest and the largest value; the table that has it says which."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Truth:
    """What `known_truth` saw on clocks whose truth is known: errors against the truth, the largest over ranks.

    ``error_after_hold_ns`` is the error of the extrapolated clock, ``residual_*`` what an exchange saw of an error.
    """

    where: str
    faults: str
    hold_seconds: float
    error_at_once_ns: float
    error_after_hold_ns: float
    error_of_interpolation_ns: float
    residual_at_once_ns: float
    residual_after_hold_ns: float
    residual_without_drift_ns: float
    imbalance_ns: Nanoseconds
    late: int
    refusal: str


@dataclass(frozen=True)
class PrecisionRecords:
    """All records of one run. ``run`` is its provenance; ``no_nodes``: why none are between nodes."""

    run: Json
    within: tuple[Selfcheck, ...]
    between: tuple[Selfcheck, ...]
    launches: tuple[Selfcheck, ...]
    series: tuple[Selfcheck, ...]
    truths: tuple[Truth, ...]

    @property
    def no_nodes(self) -> str:
        return str(self.run.get("no_nodes", ""))

    @property
    def interrupted(self) -> str:
        """In which launch the run was interrupted; empty for a whole run."""
        return str(self.run.get("interrupted", ""))


@dataclass(frozen=True)
class Starts:
    """How far apart ranks start by one method. ``percentiles`` are those of PERCENTS.

    ``late``: starts that do not count, because a rank missed the deadline, and that are not in ``imbalance_ns``.
    """

    where: str
    method: str
    launches: int
    late: int
    imbalance_ns: Nanoseconds
    percentiles: tuple[Known, ...]


@dataclass(frozen=True)
class ClockError:
    """The error of the common clock some time after it was synchronised: the median launch, the best and the worst.

    ``what`` says which clocks these were. ``with_drift`` and ``without_drift`` are what an exchange sees of the error
    with and without correction of the drift; ``true`` is the error itself.
    """

    where: str
    what: str
    after_seconds: float
    launches: int
    with_drift: Known
    without_drift: Known
    true: Known

    @property
    def moment(self) -> str:
        """``at once``, or after how many seconds."""
        return "at once" if self.after_seconds < 1 else f"after {self.after_seconds:.0f} s"


@dataclass(frozen=True)
class Replay:
    """What one rule would have cost on one series, and what it would have estimated."""

    seconds: float
    repetitions: int
    width_relative: float
    error_relative: float
    reached: bool


@dataclass(frozen=True)
class Stops:
    """One rule on every series of one work. ``unended``: how often a series ended before the rule did."""

    kind: str
    target_ns: int
    rule: str
    replays: tuple[Replay, ...]
    unended: int

    @property
    def narrow(self) -> int:
        """On how many series the interval of the median was at most as wide as asked."""
        return sum(one.width_relative <= stop_rules.ASKED_WIDTH for one in self.replays)

    def spread(self, of: Callable[[Replay], float]) -> Known:
        return spread([of(one) for one in self.replays])

    def close(self, limit: float) -> int:
        """On how many series the estimate was off the median of the whole series by `limit` at most, relative to it."""
        return sum(abs(one.error_relative) <= limit for one in self.replays)


@dataclass(frozen=True)
class Faster:
    """The wall time of 1000 fixed repetitions over that of the adaptive stop, series by series.

    The warm-ups of the fixed repetitions are left out. ``pairs``: the number of series on which both reached the asked
    width; only these are compared.
    """

    kind: str
    target_ns: int
    ratio: Known
    pairs: int
    series: int


@dataclass(frozen=True)
class Variation:
    """Coefficients of variation over launches of each launch's median, mean and minimum, with 95 % intervals."""

    kind: str
    target_ns: int
    launches: int
    median: Known
    mean: Known
    minimum: Known
    width_relative: float
    trouble: str


@dataclass(frozen=True)
class Precision:
    """All numbers that are shown."""

    starts: tuple[Starts, ...]
    clocks: tuple[ClockError, ...]
    stops: tuple[Stops, ...]
    faster: tuple[Faster, ...]
    variations: tuple[Variation, ...]

    @property
    def launches(self) -> int:
        """The largest number of launches that are compared."""
        return max((variation.launches for variation in self.variations), default=0)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show. One launch alone does not tell how launches vary."""
        return not (self.starts or self.clocks or self.stops or self.launches > 1)


def load(folder: Path) -> PrecisionRecords:
    """Read what a run of `campaign figures` left, whole or interrupted. Raises RecordError."""
    try:
        run = json.loads((folder / RUN).read_text())
    except (OSError, ValueError) as error:
        fail(str(folder / RUN), f"cannot be read: {error}")
    records = {group: tuple(map(load_selfcheck, sorted(folder.glob(f"{group}-*.jsonl")))) for group in GROUPS}
    truths = tuple(load_truth(path, group) for group in TRUTHS for path in sorted(folder.glob(f"{group}-*.json")))
    return PrecisionRecords(run, records[WITHIN], records[BETWEEN], records[LAUNCH], records[SERIES], truths)


def load_truth(path: Path, where: str) -> Truth:
    """Read one output of `known_truth` with what it was started with (``faults``, ``hold_seconds``)."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        fail(path.name, f"cannot be read: {error}")
    line = Fields(value, path.name)

    def number(key: str) -> float:
        return line.number(key) if key in value else math.nan

    return Truth(
        where=where.removeprefix("truth-"),
        faults=line.text("faults"),
        hold_seconds=line.number("hold_seconds"),
        **{one.name: number(one.name) for one in fields(Truth) if one.name.startswith(("error_", "residual_"))},
        imbalance_ns=line.times("start_imbalance_ns") if "start_imbalance_ns" in value else np.array([], np.int64),
        late=int(number("late")) if "late" in value else 0,
        refusal=line.text("refusal"),
    )


def summarise(records: PrecisionRecords) -> Precision:
    """Compute all numbers from the records of a run."""
    stops = _stops(records.series)
    return Precision(
        starts=_starts(records),
        clocks=(
            *_clocks(records.within, WITHIN),
            *_clocks(records.between, BETWEEN),
            *(truth for where in (WITHIN, BETWEEN) for truth in _true_clocks(records.truths, where)),
        ),
        stops=stops,
        faster=_faster(records.series),
        variations=tuple(map(_variation, compared(records.launches))),
    )


def spread(values: Iterable[float]) -> Known:
    """The median, the smallest and the largest of the values that are not NaN; NaN where there are none."""
    known = [value for value in values if not math.isnan(value)]
    return Known(float(np.median(known)), min(known), max(known)) if known else Known(math.nan, math.nan, math.nan)


def quantile_interval(samples: ArrayLike, percent: float) -> Known:
    """A percentile with its 95 % interval from order statistics: whatever the distribution, of independent samples.

    The ranks are those of David and Nagaraja, Order Statistics, section 7.1: [x(i), x(j)] holds the q-quantile of n
    samples with probability P(i <= B < j), B ~ Binomial(n, q). Where there are too few samples for a bound, the upper
    bound is infinite, and the lower bound is 0, because the samples are times.
    """
    values = np.sort(np.asarray(samples, dtype=np.float64))
    n, q, tail = len(values), percent / 100, (1 - CONFIDENCE) / 2
    if n == 0:
        return Known(math.nan, math.nan, math.nan)
    low, high = int(scipy.stats.binom.ppf(tail, n, q)), int(scipy.stats.binom.ppf(1 - tail, n, q)) + 1
    return Known(
        percentile(values, percent),
        as_float(values[low - 1]) if low >= 1 else 0.0,
        as_float(values[high - 1]) if high <= n else math.inf,
    )


def _starts(records: PrecisionRecords) -> tuple[Starts, ...]:
    starts = []
    for where, group in ((WITHIN, records.within), (BETWEEN, records.between)):
        for method in ("deadline", "mpi_barrier", "dissemination"):
            lines = [line for one in group for line in one.starts if line.method == method and len(line.imbalance_ns)]
            late = sum(line.late for line in lines)
            starts.append(_starts_of(where, method, [line.imbalance_ns for line in lines], late))
            if method == "deadline" and late:
                every = [np.concatenate([line.imbalance_ns, line.late_imbalance_ns]) for line in lines]
                starts.append(_starts_of(where, "deadline, late ones too", every, 0))
    for where in (WITHIN, BETWEEN):
        truths = [truth for truth in records.truths if truth.where == where and len(truth.imbalance_ns)]
        starts.append(
            _starts_of(where, "true deadline", [one.imbalance_ns for one in truths], sum(one.late for one in truths))
        )
    return tuple(one for one in starts if one.launches)


def _starts_of(where: str, method: str, launches: Sequence[Nanoseconds], late: int) -> Starts:
    all_of_them = np.concatenate(launches) if launches else np.array([], np.int64)
    known = tuple(quantile_interval(all_of_them, percent) for percent in PERCENTS)
    return Starts(where, method, len(launches), late, all_of_them, known)


def _clocks(records: Sequence[Selfcheck], where: str) -> list[ClockError]:
    clocks = [record.clock for record in records if record.clock and record.clock.residuals]
    looks = sorted({number for clock in clocks for number in range(len(clock.residuals))})
    errors = []
    for number in looks:
        residuals = [clock.residuals[number] for clock in clocks if number < len(clock.residuals)]
        several = any(clock.clocks > 1 for clock in clocks)
        errors.append(
            ClockError(
                where=where,
                what="two clocks, 100 s apart" if several else "one clock",
                after_seconds=float(np.median([one.after_seconds for one in residuals])),
                launches=len(residuals),
                with_drift=spread(residual.with_drift_ns for residual in residuals),
                without_drift=spread(one.without_drift_ns for one in residuals),
                true=spread([]),
            )
        )
    return errors


def _true_clocks(truths: Sequence[Truth], where: str) -> list[ClockError]:
    here = [truth for truth in truths if truth.where == where and not truth.refusal]
    if not here:
        return []
    what, hold = f"artificial: {here[0].faults}", here[0].hold_seconds
    return [
        ClockError(
            where, what, 0.0, len(here),
            spread(one.residual_at_once_ns for one in here), spread([]),
            spread(one.error_at_once_ns for one in here),
        ),
        ClockError(
            where, what, hold, len(here),
            spread(one.residual_after_hold_ns for one in here), spread(one.residual_without_drift_ns for one in here),
            spread(one.error_after_hold_ns for one in here),
        ),
    ]  # fmt: skip


def _works(records: Sequence[Selfcheck]) -> dict[tuple[str, int], list[Work]]:
    """The series that are long enough for every rule, by kind and target time."""
    works_of: dict[tuple[str, int], list[Work]] = {}
    for record in records:
        for work in record.works:
            if len(stop_rules.begins(len(work.samples_ns))) > 0:
                works_of.setdefault((work.kind, work.target_ns), []).append(work)
    return dict(sorted(works_of.items(), key=lambda item: (item[0][0] != "computation", item[0][1])))


def replay(work: Work, rule: str, begin: int) -> Replay | None:
    """What a rule that begins at sample `begin` would have done; None where the series ends before the rule."""
    stop = stop_rules.RULES[rule](work.samples_ns, begin)
    if stop is None:
        return None
    return Replay(
        seconds=float(work.elapsed_ns[stop.end - 1] - work.elapsed_ns[begin - 1]) / 1e9,
        repetitions=stop.end - begin,
        width_relative=stop.width_relative,
        error_relative=stop.estimate / float(np.median(work.samples_ns)) - 1,
        reached=stop.reached,
    )


def _stops(records: Sequence[Selfcheck]) -> tuple[Stops, ...]:
    stops = []
    for (kind, target), works in _works(records).items():
        for rule in stop_rules.NAMES:
            replays = [replay(work, rule, begin) for work in works for begin in stop_rules.begins(len(work.samples_ns))]
            ended = tuple(one for one in replays if one)
            stops.append(Stops(kind, target, rule, ended, len(replays) - len(ended)))
    return tuple(stops)


def _faster(records: Sequence[Selfcheck]) -> tuple[Faster, ...]:
    comparisons = []
    repetitions, warmups = stop_rules.OSU_REPETITIONS["small"]
    for (kind, target), works in _works(records).items():
        ratios, series = [], 0
        for work in works:
            for begin in stop_rules.begins(len(work.samples_ns)):
                series += 1
                ours, theirs = replay(work, stop_rules.ADAPTIVE, begin), replay(work, stop_rules.FIXED_1000, begin)
                if ours and theirs and max(ours.width_relative, theirs.width_relative) <= stop_rules.ASKED_WIDTH:
                    counted = work.elapsed_ns[begin + warmups + repetitions - 1] - work.elapsed_ns[begin + warmups - 1]
                    ratios.append(float(counted) / 1e9 / ours.seconds)
        comparisons.append(Faster(kind, target, spread(ratios), len(ratios), series))
    return tuple(comparisons)


def _variation(one: Steadiness) -> Variation:
    median, mean, minimum = (
        Known(cv, *variation_interval(cv, one.launches)) for cv in (one.cv_median, one.cv_mean, one.cv_minimum)
    )
    return Variation(
        one.kind, one.target_ns, one.launches, median, mean, minimum, one.interval_relative, one.trouble
    )  # fmt: skip


def verdict(values: Sequence[float], limit: float) -> str:
    """REACHED or NOT_REACHED: whether all values are at most the limit. NOT_MEASURED without values, or with NaN."""
    if not values or any(map(math.isnan, values)):
        return NOT_MEASURED
    return REACHED if max(values) <= limit else NOT_REACHED


@dataclass(frozen=True)
class Aim:
    """An aim, and the values that are judged by it with where each is from. ``missing``: why they are not judged."""

    what: str
    limit: float
    values: tuple[tuple[str, Known], ...]
    at_least: bool = False
    missing: str = ""

    @property
    def verdict(self) -> str:
        values = [known.value for _, known in self.values]
        if self.missing:
            return NOT_MEASURED if all(map(math.isnan, values)) else NOT_JUDGED
        return verdict([-value for value in values], -self.limit) if self.at_least else verdict(values, self.limit)


def aims(precision: Precision, no_nodes: str = "", interrupted: str = "") -> list[Aim]:
    """What a quiet machine should reach, with what was measured, in the order in which it is shown."""
    listed = [*_clock_aims(precision, no_nodes), *_start_aims(precision, no_nodes)]
    targets = sorted({variation.target_ns for variation in precision.variations})
    for kind in ("computation", "communication"):
        here = {one.target_ns: one for one in precision.variations if one.kind == kind}
        widths = tuple(
            (str(stop.target_ns), stop.spread(lambda replay: replay.width_relative))
            for stop in precision.stops
            if stop.kind == kind and stop.rule == stop_rules.ADAPTIVE
        )
        listed.append(Aim(f"interval of the median at the adaptive stop, {kind}", YES_LIMIT, widths))
        trouble = "; ".join(dict.fromkeys(one.trouble for one in here.values() if one.trouble))
        few = trouble or (
            "" if all(one.launches >= LAUNCHES_AIM for one in here.values()) else "fewer than ten launches"
        )
        cvs = tuple((str(target), here[target].median if target in here else spread([])) for target in targets)
        listed.append(Aim(f"variation of launches, {kind}", YES_LIMIT, cvs, missing=few))
    for kind in ("computation", "communication"):
        ratios = tuple((str(faster.target_ns), faster.ratio) for faster in precision.faster if faster.kind == kind)
        alone = "no series on which both reached the width" if any(math.isnan(one.value) for _, one in ratios) else ""
        what = f"OSU's 1000 repetitions / adaptive stop, {kind}"
        listed.append(Aim(what, SPEED_AIM, ratios, at_least=True, missing=alone))
    return [replace(aim, missing=_unmeasured(aim, interrupted)) for aim in listed]


def _unmeasured(aim: Aim, interrupted: str) -> str:
    """Why the values of an aim are not judged. That the run was interrupted before it goes before other reasons."""
    nothing = all(math.isnan(known.value) for _, known in aim.values)
    return "interrupted before it" if nothing and interrupted else aim.missing


def _clock_aims(precision: Precision, no_nodes: str) -> list[Aim]:
    listed = []
    at_once, later = RESIDUAL_AIMS_BETWEEN_NS
    for where, real, limits in (
        (WITHIN, True, (RESIDUAL_AIM_WITHIN_NS, RESIDUAL_AIM_WITHIN_NS)),
        (BETWEEN, True, (at_once, later)),
        (BETWEEN, False, (at_once, later)),
    ):
        for limit, held_for in zip(limits, (0.0, HOLD_AIM_SECONDS), strict=True):
            rows = [
                clock
                for clock in precision.clocks
                if clock.where == where
                and math.isnan(clock.true.value) == real
                and (clock.after_seconds >= held_for if held_for else clock.after_seconds < 1)
            ]
            moment = f"after {HOLD_AIM_SECONDS:g} s" if held_for else "at once"
            kind = "residual" if real else "true error, artificial clocks"
            place = "within a node" if where == WITHIN else "between nodes"
            values = tuple(("", row.with_drift if real else row.true) for row in rows)
            missing = "" if rows or not held_for else f"not held for {HOLD_AIM_SECONDS:g} s"
            missing = (no_nodes if where == BETWEEN else "") or missing
            listed.append(Aim(f"{kind}, {moment}, {place}", limit, values, missing=missing))
    return listed


def _start_aims(precision: Precision, no_nodes: str) -> list[Aim]:
    listed = []
    for where, place in ((WITHIN, "within a node"), (BETWEEN, "between nodes")):
        values = tuple(
            ("", start.percentiles[1])
            for start in precision.starts
            if start.where == where and start.method == "deadline"
        )
        missing = no_nodes if where == BETWEEN else ""
        listed.append(Aim(f"start imbalance p95, {place}", START_AIM_NS, values, missing=missing))
    return listed
