"""Does programming for overlap pay here? The answer for each application: a system, in one library and configuration.

A version pays where its improvement is surely above 0. It does not pay where it surely brings less than the least
difference that matters (3 %). Otherwise it cannot be told. "Surely" rests on the interval that holds for all versions
of the case at once, and only reliable points count. Several launches count by `launches.over_launches`; with fewer than
three an answer is `likely` at most.

Every version has solves of the reference beside its own. Where the reference drifts over the versions of a launch
(`drift`), what each brings stands, and so does the answer. Which of them brings most is not told then: a sentence says
so.

The controls are judged beside it. Where an exchange of nothing, or the reference against itself, surely brings more or
costs more than the least difference, the comparison is disturbed and nothing is claimed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import made_once
from postprocess.drawing.text import duration, interval, percent_with_decimal, plural, with_interval
from postprocess.families import axes
from postprocess.families.sampled_table import uncounted_words
from postprocess.families.transfer_overlap.axes import CONTROLS
from postprocess.families.transfer_overlap.table import points_text
from postprocess.statistics import launches
from postprocess.statistics.limits import LEAST_RATIO
from postprocess.statistics.metrics import CONFIDENCE, Estimate, as_float

PAYS, NOT, CANNOT_TELL = "pays", "does not pay", "cannot tell"
SUMS_MATTER = 0.8
"""Where exchanges and computation are less than this share of a whole solve, the bound is not one of the solve."""
APPLICATION = (
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "threads_per_rank", "given_up_cores",
    axes.NAMED_CORES.name, "grid_points", "unknowns",
)  # fmt: skip
"""The columns that name an application."""


@dataclass(frozen=True)
class Found:
    """What a version brings, over the launches that measured it.

    improvement: `launches.over_launches`.  vs_basic: likewise, over the version without overlap in `basic`; NaN where
    that is not known.  bound: the median of those that stand (`validity.bound_stands`); NaN where none does.
    share_of_whole: what the shorter of exchanges and computation is of the whole solve without overlap, likewise. The
    solve has global sums besides, which neither of the two contains, so this is less than the bound.
    """

    variant: str
    improvement: Estimate
    vs_basic: Estimate
    bound: float
    share_of_whole: float
    launches: int
    above_bound: bool

    @property
    def outcome(self) -> str:
        """One of PAYS, NOT, CANNOT_TELL."""
        if self.improvement.low > 0:
            return PAYS
        return NOT if self.improvement.high < LEAST_RATIO else CANNOT_TELL


@dataclass(frozen=True)
class Verdict:
    """The answer for one application.

    values: by the names in APPLICATION.  versions: what those bring that have a reliable point, first the one that
    brings most for sure.
    disturbed: a sentence about a control that is surely not 0; empty where there is none.
    drifts: a sentence about a reference that drifted over the versions of a launch; empty where none did.
    unreliable: how many of its points do not count, of how many, and how many of them are valid
    and show an improvement.
    """

    values: Mapping[str, Any]
    versions: tuple[Found, ...]
    disturbed: str
    drifts: str
    unreliable: tuple[int, int, int]

    @property
    def outcome(self) -> str:
        """Whether programming for overlap pays: one of PAYS, NOT, CANNOT_TELL."""
        if self.disturbed or not self.versions:
            return CANNOT_TELL
        outcomes = {found.outcome for found in self.versions}
        if PAYS in outcomes:
            return PAYS
        return CANNOT_TELL if CANNOT_TELL in outcomes else NOT

    @property
    def deciding(self) -> Found | None:
        """The version that the outcome rests on: the best one, or of those that leave it open the one that may bring
        most. None where none has a reliable point."""
        open_ = [found for found in self.versions if found.outcome == CANNOT_TELL]
        if open_ and self.outcome == CANNOT_TELL and not self.disturbed:
            return max(open_, key=lambda found: as_float(found.improvement.high))
        return self.versions[0] if self.versions else None

    @property
    def words(self) -> str:
        """The answer in a sentence."""
        if not self.versions:
            return "cannot tell: no point is reliable"
        if self.disturbed:
            return f"cannot tell: {self.disturbed}"
        best = self.versions[0]
        likely = launches.likely(min(found.launches for found in self.versions))
        brings = f"{best.variant} brings {with_interval(*best.improvement.numbers, percent_with_decimal)}"
        allowed = f"the times allow {percent_with_decimal(best.bound)}"
        if not math.isfinite(best.bound):
            allowed = "what the times allow is not known, since its parts alone take longer than a solve"
        if best.share_of_whole < SUMS_MATTER * best.bound:
            allowed += (
                f" of exchanges and computation, which leave out the solver's sums: "
                f"{percent_with_decimal(best.share_of_whole)} of the whole solve"
            )
        if self.outcome == PAYS:
            others = [found.variant for found in self.versions[1:] if found.outcome == PAYS]
            beside = f"; so do {', '.join(others)}" if others else ""
            fault = "; that is more than the times allow: the version without overlap is at fault" if (
                best.above_bound
            ) else ""  # fmt: skip
            return f"{likely}pays: {brings}, {allowed}{beside}{fault}"
        if self.outcome == NOT:
            return f"{likely}does not pay: the best version, {brings}, {allowed}"
        open_ = [
            f"{found.variant} {interval(*found.improvement.numbers[1:], words=percent_with_decimal)}"
            for found in self.versions
            if found.outcome == CANNOT_TELL
        ]
        return f"cannot tell: {', '.join(open_)}; {allowed}"


@made_once
def verdicts(table: pd.DataFrame) -> tuple[Verdict, ...]:
    """The verdicts on a table of `transfer_table`, one for each application, in the order of its rows."""
    return tuple(
        _verdict(dict(zip(APPLICATION, key, strict=True)), rows)
        for key, rows in table.groupby(list(APPLICATION), sort=False)
    )


def _verdict(values: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    good = rows[rows["reliable"] & np.isfinite(rows["improvement_joint_ci95_low"].to_numpy(np.float64))]
    versions = max(good["variant"].nunique(), 1)
    found = [_found(str(variant), of_variant, versions) for variant, of_variant in good.groupby("variant", sort=False)]
    brought = sorted((one for one in found if one.variant not in CONTROLS), key=lambda one: -float(one.improvement.low))
    ends = [(one.variant, one.improvement.numbers[1:]) for one in found if one.variant in CONTROLS]
    disturbed = "; ".join(
        f"the control {variant} must bring nothing, and brings {interval(low, high)}"
        for variant, (low, high) in ends
        if low > LEAST_RATIO or high < -LEAST_RATIO
    )
    left_out = rows[~rows["reliable"]]
    unreliable = (len(left_out), len(rows), int((left_out["valid"] & (left_out["improvement"] > 0)).sum()))
    return Verdict(values, tuple(brought), disturbed, _drifts(rows), unreliable)


def _drifts(rows: pd.DataFrame) -> str:
    """The sentence about the references of an application, of its launches together."""
    drifting = rows[rows["reference_drifts"]]
    if drifting.empty:
        return ""
    count, of_all = drifting["record"].nunique(), rows["record"].nunique()
    where = f" in {count} of {plural(of_all, 'launch')}" if of_all > 1 else ""
    fastest, slowest = drifting["reference_fastest_ns"].min(), drifting["reference_slowest_ns"].max()
    return (
        f"the reference drifts over the versions{where}, from {duration(fastest)} to {duration(slowest)}: each version "
        "is compared with the reference beside it, so what it brings stands, and which one brings most does not"
    )


def _found(variant: str, rows: pd.DataFrame, versions: int) -> Found:
    """What a version brings. versions: how many the application has; intervals hold for all of them at once."""
    standing = rows[rows["bound_stands"]]
    shorter = standing[["t_comm_ns", "t_comp_ns"]].min(axis=1)
    return Found(
        variant=variant,
        improvement=launches.of_rows(rows, "improvement", "improvement_joint", 1 - (1 - CONFIDENCE) / versions),
        vs_basic=launches.of_rows(rows, "improvement_vs_basic"),
        bound=float(standing["bound"].median()),
        share_of_whole=float((shorter / standing["t_nonoverlap_ns"]).median()),
        launches=int(rows["record"].nunique()),
        above_bound=bool(rows["above_bound"].all()),
    )


def application_words(values: Mapping[str, Any]) -> str:
    """The application for people."""
    parts = [
        f"{values['toolchain']} over {values['network']}",
        axes.configuration_words(values, (axes.NAMED_CORES,)),
        plural(int(values["ranks"]), "rank"),
        f"{points_text(values['grid_points'])} points",
        plural(int(values["unknowns"]), "unknown") + " each",
    ]
    return ", ".join(parts)


def notes(verdict: Verdict) -> list[str]:
    """What else to know of an application, each a sentence."""
    return [one for one in (basic_words(verdict), unreliable_words(verdict), verdict.drifts) if one]


def basic_words(verdict: Verdict) -> str:
    """What the version that brings most over `basic` brings there; empty for `basic`, and where that is not known."""
    known = [version for version in verdict.versions if np.isfinite(version.vs_basic.value)]
    if not known or verdict.values["configuration"] == "basic":
        return ""
    best = max(known, key=lambda one: float(one.vs_basic.low))
    value, low, high = best.vs_basic.numbers
    compared = "over the version without overlap in basic"
    if all(one.vs_basic.high < 0 for one in known):
        longer = f"{percent_with_decimal(-value)} {interval(-high, -low, words=percent_with_decimal)}"
        return f"{compared}, every version loses: {best.variant} takes longer by {longer}"
    brings = f"{percent_with_decimal(value)} {interval(low, high, words=percent_with_decimal)}"
    return f"{compared}, {best.variant} brings {brings}"


def unreliable_words(verdict: Verdict) -> str:
    """How many points of an application do not count; empty where all do."""
    return uncounted_words(*verdict.unreliable, "the version without overlap")


def verdict_text(table: pd.DataFrame) -> str:
    """The verdicts for the terminal; empty for an empty table."""
    lines = []
    for verdict in verdicts(table):
        lines.append(f"{application_words(verdict.values)}: programming for overlap: {verdict.words}")
        lines += [f"  {note}" for note in notes(verdict)]
    return "\n".join(lines)
