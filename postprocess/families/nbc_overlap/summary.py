"""The summary of the points of a case, and its verdict in plain words.

A point's verdict comes from the 95 % interval of its deciding overhead ratio (`diagnosis.deciding_ratio`), never from
the median alone. For a configuration other than basic this is usually the ratio against basic's references, because
against references that the progress thread itself slowed down everything looks like overlap.

    slower than serialised   the interval is entirely above 1.1
    partly overlaps          it is entirely between 0.25 and 0.75
    overlaps                 otherwise, it is entirely below 0.5: more than half of the shorter activity is hidden
    serialises               otherwise, it is entirely above 0.5: less than half is hidden
    cannot tell              it holds 0.5

Where at least half of the valid points are reliable, a case has the verdict that three quarters of the reliable points
share; of the points that are counted on a side of 0.5, at most 5 % are expected to be wrong. If `overlaps` and `partly
overlaps` together make up three quarters, it is `partly overlaps`; if `serialises` and `slower than serialised` do, it
is `serialises`; otherwise it is `mixed`. Where fewer points are reliable, launches decide if there are enough of them:
of each the median ratio of its sound points, and the verdict comes from the 95 % interval over launches. With fewer
launches all valid points are taken together as if they were repetitions of one point (at least 6 points): the verdict
comes from the distribution-free 95 % interval of the median of their ratios, and is not sure. A point is that of all
launches that did not fail (`over_launches`); if all launches of a case failed, its verdict is `cannot tell`.

The verdict says how much overlaps, and `diagnosis` says why, from the same ratio and its two parts. They cannot
contradict each other: a point that is clearly `overlap` overlaps, and a point that overlaps is never `no progression`,
`communication slowdown`, `serialised with computation slowdown` or `contention`.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.text import clean, interval, ratio, short
from postprocess.families import sampled_table
from postprocess.families.axes import configuration_words
from postprocess.families.family import Found
from postprocess.families.nbc_overlap.diagnosis import (
    BASIC_FAILED,
    HALF,
    SHARE,
    SLOWER_LIMIT,
    MapDiagnosis,
    deciding_ratio,
    diagnose,
    is_reference,
    map_diagnosis,
)
from postprocess.families.nbc_overlap.points import CASE, ESTIMATES, diagnosis_columns, median, usable
from postprocess.families.nbc_overlap.validity import too_wide
from postprocess.families.sampled import beside_width
from postprocess.records.header import NAMED
from postprocess.statistics import launches
from postprocess.statistics.effects import sure_at
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import UNKNOWN, Estimate, as_float, break_even_estimate, median_estimate

OVERLAPS, PARTLY, CANNOT_TELL = "overlaps", "partly overlaps", "cannot tell"
SERIALISES, SLOWER, MIXED = "serialises", "slower than serialised", "mixed"
PARTLY_LIMITS = (0.25, 0.75)


GROUP = [*(name for name in CASE if name != "launch"), NAMED]
_ANY = ("reference_moved", "oversubscribed", "shared_core")
OFF_SIZES = (
    "a computation takes much more or less time than when its size was found: the machine was busy then, or is another "
    "one; --calibrate anew finds sizes again"
)
MOST_OFF = 1.5
"""So many times as long, or as short, a computation may take as when its size was found. Nothing else computes then, so
that no library changes it."""


Place: TypeAlias = tuple[int, int]
"""A point of a map: its times of computation and communication."""


def place_of(row: Mapping[Any, Any]) -> Place:
    return row["comp_target_ns"], row["comm_target_ns"]


@dataclass(frozen=True)
class Summary:
    """The summary of all launches of a case. Medians, minimum and maximum are over `usable` points; NaN without any.

    able: the number of valid points whose launch did not fail.
    without_basic: the number of usable points without a basic to compare with; 0 for the reference `basic` itself.
    together_low, together_high: the interval of the median deciding ratio over all points counted in `able`; over
    launches where `by_launch`.  sound: the places of the points that are sound in at least half of their launches.
    rows: those of the points, over all launches.
    overhead, gained: of `usable` points, the median r_overhead and the median speed-up over basic, by the work done
    where cores were given up. Their intervals go from the median of the points' lower ends to that of the upper ends;
    `gained` is over launches where these are enough.
    """

    case: dict[str, Any]
    points: int
    valid: int
    reliable: int
    able: int
    sound: frozenset[Place]
    by_launch: bool
    without_basic: int
    r_overhead: float
    r_overhead_min: float
    r_overhead_max: float
    r_overhead_vs_basic: float
    speedup_vs_basic: float
    speedup_vs_basic_per_work: float
    together_low: float
    together_high: float
    overhead: Estimate
    gained: Estimate
    verdicts: Counter[str]
    diagnosis: MapDiagnosis
    notes: tuple[str, ...]
    rows: Sequence[Mapping[Any, Any]]

    @property
    def together(self) -> bool:
        """Whether all valid points are taken together because less than half of them are reliable."""
        return 2 * self.reliable < self.able

    @property
    def counting(self) -> frozenset[Place]:
        """The places of the points that the numbers of the case rest on."""
        if self.together and self.by_launch:
            return self.sound
        return frozenset(place_of(row) for row in self.rows if row["reliable"])

    @property
    def verdict(self) -> str:
        """The verdict of the case."""
        return point_verdict(self.together_low, self.together_high) if self.together else case_verdict(self.verdicts)

    @property
    def shown_verdict(self) -> str:
        """The verdict for people, with a question mark where it is not sure.

        It is not sure where it rests on unreliable points. Nor is it where more than a quarter of its points have no
        basic: the references that decide there may themselves be slow.
        """
        return self.verdict if self.is_sure or self.verdict == CANNOT_TELL else f"{self.verdict}?"

    @property
    def is_sure(self) -> bool:
        """Whether what is said of the case rests on reliable points, or on launches, that have a basic."""
        decided = len(self.sound) if self.together else self.reliable
        enough = self.by_launch or not self.together
        return enough and self.without_basic <= (1 - SHARE) * decided

    @property
    def name(self) -> str:
        """The library, network and configuration, ``openmpi@5.0.11, wire:2gbit, async``, without control characters."""
        return clean(", ".join((*(str(self.case[key]) for key in ("toolchain", "network")), self.configuration)))

    @property
    def configuration(self) -> str:
        """The configuration in words: ``async``, ``async, cold caches``."""
        return configuration_words(self.case)

    @property
    def _per_work(self) -> str:
        if not self.case["given_up_cores"]:
            return ""
        cores = self.case["given_up_cores"]
        fewer = f"{cores} {'core' if cores == 1 else 'cores'} fewer per rank"
        return f" ({ratio(self.speedup_vs_basic_per_work)} by the work done, on {fewer})"

    @property
    def because(self) -> str:
        """The evidence for the verdict, in words."""
        kind, count = ("valid", self.able) if self.together else ("reliable", self.reliable)
        if not count:
            failed = "its basic failed" if any(BASIC_FAILED in note for note in self.notes) else "it failed"
            return failed if self.valid else f"none of {self.points} points is valid"
        text = (
            f"median r_overhead {ratio(self.r_overhead)} over {count} {kind} {'point' if count == 1 else 'points'} "
            f"({ratio(self.r_overhead_min)} to {ratio(self.r_overhead_max)})"
        )
        if not is_reference(self.case):
            text += (
                f", {ratio(self.r_overhead_vs_basic)} against basic's references, "
                f"{ratio(self.speedup_vs_basic)} times basic's speed{self._per_work}"
                if math.isfinite(self.r_overhead_vs_basic)
                else ", no basic to compare with"
            )
            if 0 < self.without_basic < count:
                text += f" where there is one to compare with, at {count - self.without_basic} of them"
        if self.verdict == MIXED:
            text += "; " + ", ".join(f"{name} at {number}" for name, number in self.verdicts.most_common())
        if self.together and math.isfinite(self.together_low):
            bounds = interval(self.together_low, self.together_high)
            how = "over launches" if self.by_launch else "together"
            text += f"; {self.reliable or 'none'} of them reliable by itself, {how} {bounds}"
        return text


def summarise(points: pd.DataFrame) -> list[Summary]:
    """One `Summary` per case, in the order of the table `points_of`: of its points over all launches."""
    summaries = []
    for key, part in points.groupby(GROUP, sort=False):
        failures = tuple(_failures(part)) if part["launch"].nunique() > 1 else ()
        case = dict(zip(GROUP, key, strict=True))
        sound = rows_of(part[sampled_table.sound(part)])
        summaries.append(_summary(case, over_launches(part), failures, sound))
    return summaries


def summaries_of(found: Found) -> list[Summary]:
    """The summaries of a run, made once."""
    return found.run.once(summaries_of, lambda: summarise(found.table))


def over_launches(points: pd.DataFrame) -> pd.DataFrame:
    """A row per point of a case, with the columns of `points_of`, in the order of their first launches.

    Of several launches that did not fail and in which the point is valid, estimates are `launches.over_launches`; the
    rest is that of the first. The point is reliable if at least half of them find nothing amiss but a wide interval,
    and their common interval is not too wide. It is diagnosed anew.
    """
    keys = [*GROUP, "comm_target_ns", "comp_target_ns"]
    if points["launch"].nunique() < 2:
        return points
    of_point: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows_of(points):
        of_point.setdefault(tuple(row[key] for key in keys), []).append(row)
    found = [_one(rows) for rows in of_point.values()]
    table: pd.DataFrame = pd.DataFrame(found, columns=points.columns)
    typed: pd.DataFrame = table.astype({"valid": bool, "reliable": bool})
    return typed


def _one(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    good = [row for row in rows if row["valid"] and not row["failed"]]
    first = (good or rows)[0]
    if len(good) < 2:
        return first
    names = (name for name in ESTIMATES if name != "break_even_cores")  # infinite where it never pays
    of_launches = {name: [[row[f"{name}{end}"] for row in good] for end in sampled_table.ENDS] for name in names}
    first = first | sampled_table.columns_of_estimates(
        {name: launches.over_launches(*parts) for name, parts in of_launches.items()}
    )
    gained = sampled_table.estimate_of(first, "speedup_vs_basic")
    cores = break_even_estimate(gained, int(first["given_up_cores"]))
    first |= sampled_table.columns_of_estimates({"break_even_cores": cores})
    first |= {name: any(row[name] for row in good) for name in _ANY}
    amiss = [beside_width(row["unreliable_reasons"]) for row in good]
    most = [reasons for reasons in amiss if reasons]
    deciding = sampled_table.estimate_of(first, deciding_ratio(first))
    reasons = [*(most[0] if 2 * len(most) > len(amiss) else []), *too_wide(deciding)]
    first |= {"unreliable_reasons": reasons, "reliable": not reasons}
    return first | diagnosis_columns(diagnose(first))


def point_verdict(low: float, high: float) -> str:
    """The verdict for an interval of an overhead ratio, by the table of this module; `cannot tell` for NaN."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return CANNOT_TELL
    if low > SLOWER_LIMIT:
        return SLOWER
    if PARTLY_LIMITS[0] < low and high < PARTLY_LIMITS[1]:
        return PARTLY
    if high < 0.5:
        return OVERLAPS
    return SERIALISES if low > 0.5 else CANNOT_TELL


def case_verdict(verdicts: Counter[str]) -> str:
    """The verdict of a case, from the number of its reliable points with each verdict."""
    needed = SHARE * verdicts.total()
    if not needed:
        return CANNOT_TELL
    for verdict in (OVERLAPS, SLOWER, CANNOT_TELL):
        if verdicts[verdict] >= needed:
            return verdict
    if verdicts[OVERLAPS] + verdicts[PARTLY] >= needed:
        return PARTLY
    return SERIALISES if verdicts[SERIALISES] + verdicts[SLOWER] >= needed else MIXED


def _by_launch(
    sound: Sequence[Mapping[str, Any]], points: int, name_of: Callable[[Mapping[str, Any]], str]
) -> Estimate:
    """The median over the sound points of a launch, over launches. Of each, half of the points are needed; NaN where
    such launches are too few.

    sound: the sound rows of all launches.  name_of: the column that a row is asked for.
    """
    by_launch: dict[int, list[tuple[float, float, float]]] = {}
    for row in sound:
        numbers = sampled_table.estimate_of(row, name_of(row)).numbers
        if np.isfinite(numbers).all():
            by_launch.setdefault(row["launch"], []).append(numbers)
    medians = [np.median(of_launch, axis=0) for of_launch in by_launch.values() if 2 * len(of_launch) >= points]
    return launches.over_launches(*np.transpose(medians)) if len(medians) >= LEAST_LAUNCHES else UNKNOWN


def _summary(
    case: dict[str, Any], points: pd.DataFrame, failures: tuple[str, ...], sound: Sequence[Mapping[str, Any]]
) -> Summary:
    """failures: notes on launches that failed, of which `points` may have no row.  sound: the sound rows of all
    launches."""
    chosen = usable(points)
    overhead = chosen["r_overhead"]
    rows = rows_of(points)
    able = points[points["valid"] & (points["failed"] == "")]
    without_basic = 0 if is_reference(case) else int(chosen["r_overhead_vs_basic"].isna().sum())
    deciding = [row[deciding_ratio(row)] for row in rows if row["valid"] and not row["failed"]]
    over_all = _by_launch(sound, len(points), deciding_ratio)
    by_launch = bool(np.isfinite(over_all.numbers).all())
    together = over_all if by_launch else median_estimate(deciding)
    gain = "speedup_vs_basic_per_work" if case["given_up_cores"] else "speedup_vs_basic"
    gained = _by_launch(sound, len(points), lambda _row: gain)
    seen = Counter(map(place_of, sound))
    left = sampled_table.left_out(able, deciding).words
    return Summary(
        case=case,
        points=len(points),
        valid=int(points["valid"].sum()),
        reliable=int(points["reliable"].sum()),
        able=len(able),
        sound=frozenset(place for place, count in seen.items() if 2 * count >= max(seen.values())),
        by_launch=by_launch,
        without_basic=without_basic,
        r_overhead=median(overhead),
        r_overhead_min=float(overhead.min()),
        r_overhead_max=float(overhead.max()),
        r_overhead_vs_basic=median(chosen["r_overhead_vs_basic"]),
        speedup_vs_basic=median(chosen["speedup_vs_basic"]),
        speedup_vs_basic_per_work=median(chosen["speedup_vs_basic_per_work"]),
        together_low=as_float(together.low),
        together_high=as_float(together.high),
        overhead=_typical(chosen, "r_overhead"),
        gained=gained if np.isfinite(gained.numbers).all() else _typical(chosen, gain),
        verdicts=Counter(_verdicts([row for row in rows if row["reliable"]])),
        diagnosis=map_diagnosis(rows),
        notes=(*failures, *([left] if left else []), *case_notes(points, without_basic, len(chosen))),
        rows=rows,
    )


def _typical(points: pd.DataFrame, name: str) -> Estimate:
    ends = [points[f"{name}{end}"].to_numpy(np.float64) for end in sampled_table.ENDS]
    known = np.isfinite(ends).all(axis=0)
    return Estimate(*(np.median(end[known]) for end in ends)) if known.any() else UNKNOWN


def _verdicts(rows: Sequence[Mapping[Any, Any]]) -> list[str]:
    """The verdicts of the points of a map. A sentence counts them, so at most 5 % of those that tell something are
    expected to be wrong (`effects.sure_at`, by the limit of a verdict that is nearest); of others it cannot be told."""
    deciding = [sampled_table.estimate_of(row, deciding_ratio(row)).numbers for row in rows]
    found = [point_verdict(low, high) for _, low, high in deciding]
    limits = {SLOWER: (SLOWER_LIMIT,), PARTLY: PARTLY_LIMITS}
    nearest = [
        min(limits.get(verdict, (HALF,)), key=lambda limit: abs(limit - value))
        for (value, *_), verdict in zip(deciding, found, strict=True)
    ]
    sure = sure_at(deciding, nearest)
    return [verdict if is_sure else CANNOT_TELL for verdict, is_sure in zip(found, sure, strict=True)]


def _failures(points: pd.DataFrame) -> Iterator[str]:
    """A note for each launch that failed, with the reason; the launch is named where there are several."""
    several = points["launch"].nunique() > 1
    bad = points[points["failed"] != ""]
    for launch, reason in dict(zip(bad["launch"], bad["failed"], strict=True)).items():
        beside = reason.startswith(BASIC_FAILED)
        words = short(reason) if beside else f"failed: {short(reason)}"
        yield f"launch {launch}{':' * beside} {words}" if several else words


def case_notes(points: pd.DataFrame, without_basic: int = 0, chosen: int = 0) -> tuple[str, ...]:
    """Notes for a reader of a number that sums up `points`.

    chosen: how many of the points the number rests on.  without_basic: how many of these have no basic to compare with.
    """
    able = points[points["failed"] == ""]
    notes = list(_failures(points))
    if 2 * int(points["reliable"].sum()) < int(able["valid"].sum()):
        notes.append("few points reliable")
    if without_basic:
        notes.append(f"no basic at {without_basic} of {chosen}")
    if points["oversubscribed"].any():
        notes.append("oversubscribed")
    if points["shared_core"].any():
        notes.append("shared core")
    if not points["complete"].all():
        notes.append("incomplete")
    if (points["clock_method"] == "none").any():
        notes.append("no common clock")
    elif (points["start_method"] == "barrier").any():
        notes.append("started by a barrier")
    if moved := int(points["reference_moved"].sum()):
        notes.append(f"reference moved at {moved} of {len(points)}")
    if (points["configuration"] == "basic").all() and _is_off(points["comp_ref_moved_relative"]):
        notes.append(OFF_SIZES)
    return tuple(notes)


def _is_off(moved: "pd.Series[Any]") -> bool:
    """Whether times are far from those that their sizes had when they were found.  moved: by so much relative to it."""
    ratio = 1 + float(moved.median())
    return not 1 / MOST_OFF <= ratio <= MOST_OFF and math.isfinite(ratio)
