"""What a run says about the claims of Zhou et al. 2020 and about what the hybrid library is meant to reach.

Each is a bound of a ratio over a range of message sizes. It holds where the 95 % intervals of all points lie on its
side, no point is doubtful, and nothing that it is about is lacking (`lacking`): with every setting of the MPI library,
the least and the largest size of the target, in complete records. It is missed where the interval of a point that is
not doubtful lies on the other side. Otherwise it cannot be told.

A ratio to the paper's own method has a control: the ratio of this method to itself, of the same size and with the same
setting of the MPI library. Where the interval of the control excludes 1, the ratio may be off by as much as the far end
of that interval is. So the interval that is judged is `ratio_to_papers_own_widened`.

`docs/benchmarks/hybrid-targets.yaml` states the same bounds for `campaign accept`, which judges the same columns.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pandas as pd

from postprocess.drawing.columns import Column, Columns, first_of, plain, rows_of
from postprocess.drawing.text import quotient, ratio, size
from postprocess.families import axes, handovers, sampled_table
from postprocess.families.hybrid import state
from postprocess.families.hybrid.axes import ALONE, AXES, WHOLE
from postprocess.families.hybrid.operations import OPERATIONS, PAPERS
from postprocess.families.hybrid.table import ESTIMATES, PAPERS_RATIO, SETTING, WIDENED, count_of_controls, with_states
from postprocess.statistics import control
from postprocess.statistics.control import FASTER

RatioColumn: TypeAlias = Literal["ratio_to_library", "ratio_to_best_library", "ratio_to_papers_own_widened"]
HOLDS, MISSED, CANNOT_TELL = "holds", "missed", "cannot be told"
SHORT, LONG, BY_ITSELF, PAPERS_OWN = "short messages", "long messages", "collective alone", "paper's own method"
KINDS = (SHORT, LONG, BY_ITSELF, PAPERS_OWN)
"""The kinds of claims: of a collective there is at most one of each. The first two are about writing and reading."""
OWN_CHOICE = "spin"
"""The variant that is the hybrid library's own choice."""
LEAST_BYTES, MOST_BYTES = 8, 1024 * 1024
"""The messages that targets are about."""


@dataclass(frozen=True)
class Claim:
    """A ratio of the hybrid library's own choice is at most `bound` for messages of `least_bytes` up to `most_bytes`.

    kind: one of KINDS.  column: the ratio whose intervals are judged.  setting: of the MPI library; empty where the
    claim is about all of them.
    first_bytes, last_bytes: the least and the largest size in this range that the suite `nightly` measures. Without
    them the claim cannot hold.
    """

    what: str
    kind: str
    column: RatioColumn
    timed: str
    operations: tuple[str, ...]
    bound: float
    least_bytes: int = 0
    most_bytes: float = math.inf
    first_bytes: int = LEAST_BYTES
    last_bytes: int = MOST_BYTES
    setting: str = ""

    @property
    def shown(self) -> str:
        """The column whose interval is shown: that which was measured."""
        return PAPERS_RATIO if self.column == WIDENED else self.column

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings of the MPI library that the claim is about."""
        return (self.setting,) if self.setting else tuple(axes.INTRANODE.values)

    def covers(self, row: dict[str, Any]) -> bool:
        return (
            row["variant"] == OWN_CHOICE
            and row["timed"] == self.timed
            and row["operation"] in self.operations
            and self.least_bytes <= row["message_bytes"] <= self.most_bytes
            and self.setting in ("", row[SETTING])
        )


_BEST: RatioColumn = "ratio_to_best_library"
_PAPERS: RatioColumn = "ratio_to_papers_own_widened"
_COPIES, _REDUCES = ("allgather", "bcast"), ("allreduce",)
CLAIMS = (
    Claim(
        "from 4 KiB, at most 1.05 times the library at its best", LONG, _BEST, WHOLE, _COPIES, 1.05,
        least_bytes=4096, first_bytes=4096,
    ),
    Claim(
        "below 1 KiB, at most 1.10 times the library at its best", SHORT, _BEST, WHOLE, _REDUCES, 1.10,
        most_bytes=1023, last_bytes=800,
    ),
    Claim(
        "from 1 KiB, at most 1.05 times the library at its best", LONG, _BEST, WHOLE, _REDUCES, 1.05,
        least_bytes=1024, first_bytes=4096,
    ),
    Claim(
        "from 4 KiB, at least twice as fast as the library at its best", BY_ITSELF, _BEST, ALONE, _COPIES, 1 / 2,
        least_bytes=4096, first_bytes=4096,
    ),
    Claim(
        "from 4 KiB, at least 1.3 times as fast as the library as it comes (the paper: 27 to 82 % faster)",
        BY_ITSELF, "ratio_to_library", ALONE, _REDUCES, 1 / 1.3,
        least_bytes=4096, first_bytes=4096, setting=str(axes.INTRANODE.usual),
    ),
    Claim(
        "never slower than by the paper's own method, whichever setting the MPI library has",
        PAPERS_OWN, _PAPERS, WHOLE, PAPERS, 1.0,
    ),
)  # fmt: skip
_GROUP = [
    "toolchain", "provider", "network", "configuration", "ranks", "nodes", "shared_nodes", "nodes_are",
    "virtual_node_ranks", "cache", "method", "threads_per_rank", "given_up_cores",
]  # fmt: skip
_POINT = [*_GROUP, SETTING, "operation", "variant", "timed", "message_bytes", "state", "best_state"]

COLUMNS = (
    "library", "operation", "timed", "target", "kind", "verdict", "lacking", "bound", "ratio", "ratio_ci95_low",
    "ratio_ci95_high", "message_bytes", "setting", "control_least", "control_most", "handover_ns", "missed_bytes",
    "state",
)  # fmt: skip
"""The columns of `targets`. `library` says the whole case, `kind` is one of KINDS. `lacking` says what was not
measured, where that is why the verdict is not that the target holds. `ratio` is the largest, at `message_bytes` and
with the `setting` of the MPI library; `handover_ns` is the state of the cores there. `control_least` and
`control_most` are the least and the largest ratio of the paper's own method to itself at the sizes and settings of the
target; NaN for a target that is about another ratio. `missed_bytes` are the sizes at which the target is surely
missed. `state` names the state of the cores at these sizes, or at the largest ratio of a target that is not missed;
empty where the run has one state."""


def cases(table: pd.DataFrame) -> list[pd.DataFrame]:
    """The points of each case of a table of `hybrid_table`, over all launches in which the cores were in the same
    state."""
    points = sampled_table.over_launches(with_states(table), _POINT, ESTIMATES, ["doubtful"])
    several = points["launches"] > 1
    points.loc[several, "best_verdict"] = [
        control.CANNOT_TELL if row["doubtful"] else control.verdict(sampled_table.estimate_of(row, _BEST))
        for row in rows_of(points[several])
    ]
    return [rows for _, rows in points.groupby(_GROUP, sort=False)]


def targets(points: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """A row for each case, claim and collective of `cases`; the columns are COLUMNS."""
    found = [one for rows in points for one in of_claims(_where(rows), rows_of(rows))]
    made: pd.DataFrame = pd.DataFrame(found, columns=list(COLUMNS))
    return made


def break_evens(points: Sequence[pd.DataFrame]) -> list[tuple[str, list[str]]]:
    """For each of `cases`: from which size on each collective, written and read, is surely
    faster than with the MPI library at its best, or what lacks to tell, a phrase per collective."""
    return [
        (_where(rows), [f"{operation}: {words}" for operation, words in _faster(rows_of(rows)).items()])
        for rows in points
    ]


GLANCE = ("library", "collective", "surely faster", *KINDS)
"""The heads of `at_a_glance`."""


@dataclass(frozen=True)
class Glance:
    """A collective of a case. faster: from which size on it is surely faster than the library at its best, or what
    lacks to tell.  answers: of each of KINDS the verdict, empty where there is no such target, and what explains it."""

    library: str
    operation: str
    faster: str
    answers: list[tuple[str, str]]


def at_a_glance(points: Sequence[pd.DataFrame], of_claims: pd.DataFrame) -> list[Glance]:
    """A row for each case and collective, under the heads of GLANCE. points: of `cases`.  of_claims: its `targets`."""
    judged = {
        (row["library"], row["operation"], row["kind"]): (str(row["verdict"]), short_words(row))
        for row in rows_of(of_claims)
    }
    return [
        Glance(
            where := _where(rows), operation, words, [judged.get((where, operation, kind), ("", "")) for kind in KINDS]
        )
        for rows in points
        for operation, words in _faster(rows_of(rows)).items()
    ]


def short_words(row: Mapping[str, Any]) -> str:
    """What explains a verdict: what lacks, or the largest ratio, its size and the state of the cores."""
    at = f"{_ratio_words(row).partition(' [')[0]} at {size(row['message_bytes'])}"
    return str(row["lacking"]) or ", ".join(filter(None, [at, row["state"]]))


def counts_words(of_targets: pd.DataFrame) -> str:
    """How many targets hold: ``5 of 13 targets hold, 6 missed (4 far, 2 near), 2 cannot be told``."""
    counts = [int((of_targets["verdict"] == verdict).sum()) for verdict in (HOLDS, MISSED, CANNOT_TELL)]
    states = of_targets[of_targets["verdict"] == MISSED]["state"].value_counts()
    missed = ", ".join(f"{count} {one}" for one, count in states.items() if one)
    return (
        f"{counts[0]} of {len(of_targets)} targets hold, {counts[1]} missed{f' ({missed})' if missed else ''}, "
        f"{counts[2]} cannot be told"
    )


def _where(rows: pd.DataFrame) -> str:
    first = first_of(rows) | {SETTING: axes.INTRANODE.usual}
    return sampled_table.case_words(AXES, first) + sampled_table.few_launches_words(int(rows["launches"].max()))


def of_claims(library: str, rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for claim in CLAIMS:
        for operation in claim.operations:
            covered = [row for row in rows if claim.covers(row) and row["operation"] == operation]
            if any(math.isfinite(row[claim.column]) for row in covered):
                counted = sum(not row["doubtful"] for row in covered)
                counts = {"points": len(covered), "counted": counted}
                yield {"library": library, "operation": operation, **counts, **_judged(covered, claim)}


def lacking(rows: Sequence[Mapping[str, Any]], settings: Sequence[str], first_bytes: int, last_bytes: int) -> str:
    """What the rows of one collective lack to say something about these settings of the MPI library and messages from
    `first_bytes` to `last_bytes`; empty where it is nothing."""
    sizes = {one: {row["message_bytes"] for row in rows if row[SETTING] == one and row["valid"]} for one in settings}
    measured = [setting for setting in settings if sizes[setting]]
    if len(measured) < len(settings):
        return f"only {_measured([one.replace('_', ' ') for one in measured])}" if measured else "nothing is valid"
    every = {first_bytes, last_bytes}.union(*sizes.values())
    if absent := sorted(one for one in every if not all(one in of_setting for of_setting in sizes.values())):
        return f"{_measured(list(map(size, absent)), 'not ')}{' with each setting' if len(settings) > 1 else ''}"
    return "" if all(row["complete"] for row in rows) else "a record is incomplete"


def _measured(names: Sequence[str], negation: str = "") -> str:
    named = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return f"{named} {'were' if len(names) > 1 else 'was'} {negation}measured"


def _judged(rows: Sequence[dict[str, Any]], claim: Claim) -> dict[str, Any]:
    """The columns about a claim. rows: those that the claim covers, of which at least one has the ratio."""
    low, high = f"{claim.column}_ci95_low", f"{claim.column}_ci95_high"
    lacks = lacking(rows, claim.settings, claim.first_bytes, claim.last_bytes)
    missed = [row for row in rows if row[low] > claim.bound and not row["doubtful"]]
    sure = all(row[high] <= claim.bound and not row["doubtful"] for row in rows)
    controls = [row["control"] for row in rows if claim.column == WIDENED and math.isfinite(row["control"])]
    largest = max((row for row in rows if math.isfinite(row[claim.column])), key=lambda row: float(row[claim.column]))
    of_best = claim.column == _BEST
    states = [row["best_state" if of_best else "state"] for row in (missed or [largest])]
    return {
        "timed": claim.timed,
        "target": claim.what,
        "kind": claim.kind,
        "verdict": MISSED if missed else HOLDS if sure and not lacks else CANNOT_TELL,
        "lacking": "" if missed else lacks,
        "bound": claim.bound,
        "ratio": largest[claim.column],
        "ratio_ci95_low": largest[f"{claim.shown}_ci95_low"],
        "ratio_ci95_high": largest[f"{claim.shown}_ci95_high"],
        "message_bytes": largest["message_bytes"],
        "setting": largest["best_setting" if of_best else SETTING],
        "control_least": min(controls, default=math.nan),
        "control_most": max(controls, default=math.nan),
        "handover_ns": largest["best_handover_ns" if of_best else "handover_ns"],
        "missed_bytes": sorted({row["message_bytes"] for row in missed}),
        "state": state.joined(states),
    }


def _faster(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """By collective, from which size on it is surely faster, and in which states of the cores it was measured; or what
    lacks to tell."""
    found = {}
    for operation in OPERATIONS:
        own = [
            row
            for row in rows
            if (row["operation"], row["variant"], row["timed"]) == (operation, OWN_CHOICE, WHOLE) and row["valid"]
        ]
        not_faster = [row["message_bytes"] for row in own if row["best_verdict"] != FASTER]
        from_then_on = [row["message_bytes"] for row in own if row["message_bytes"] > max(not_faster, default=0)]
        if own:
            lacks = lacking(own, tuple(axes.INTRANODE.values), LEAST_BYTES, MOST_BYTES)
            words = f"from {size(min(from_then_on))} on" if from_then_on else "at no size"
            states = state.joined(row["best_state"] for row in own)
            found[operation] = f"{CANNOT_TELL}, {lacks}" if lacks else f"{words} ({states})" if states else words
    return found


def _ratio_words(row: Mapping[Any, Any]) -> str:
    """The largest ratio with its interval, as far as that is known: with three decimals where two do not tell on which
    side of the bound its ends are."""
    values, bound = [row["ratio"], row["ratio_ci95_low"], row["ratio_ci95_high"]], row["bound"]
    close = any(math.isfinite(one) and ratio(one) == ratio(bound) for one in values)
    texts = [f"{value:.3f}" if close and math.isfinite(value) else quotient(value) for value in values]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]" if all(map(math.isfinite, values)) else texts[0]


def _largest(row: Mapping[Any, Any]) -> str:
    """The largest ratio with its interval, as far as that is known, its message size and the MPI library's setting."""
    return f"{_ratio_words(row)} at {size(row['message_bytes'])}, {str(row['setting']).replace('_', ' ')}"


def _control(row: Mapping[Any, Any]) -> str:
    """The paper's own method against itself: its least and largest ratio."""
    ends = (row["control_least"], row["control_most"])
    return f"{ratio(ends[0])} to {ratio(ends[1])}" if all(map(math.isfinite, ends)) else ""


OF_CASE = Columns((
    Column("collective, timed", lambda row: f"{row['operation']}, {row['timed']}"),
    plain("target"),
    Column("verdict", lambda row: ": ".join(filter(None, [row["verdict"], row["lacking"]]))),
    Column("largest ratio", _largest),
    Column("control", _control),
    Column("hand-over", lambda row: ", ".join(filter(None, [handovers.words(row["handover_ns"]), row["state"]])), True),
    Column("missed at", lambda row: ", ".join(map(size, row["missed_bytes"]))),
))  # fmt: skip
"""The columns of a table of `targets` of one case."""
TARGETS = Columns((plain("library"), *OF_CASE.columns))
"""The columns of a table of `targets` of several cases, for the terminal."""


def text(table: pd.DataFrame) -> str:
    """The targets and the sizes from which on the hybrid library is faster, for the terminal; empty without points."""
    points = cases(table)
    faster = [
        f"{library}: written and read, surely faster than the library at its best: {', '.join(words)}"
        for library, words in break_evens(points)
        if words
    ]
    return "\n".join(filter(None, [TARGETS.text(targets(points)), *faster, count_of_controls(table).words]))
