"""The diagnosis of a point and of a whole map: a label for why it overlaps or not, a confidence, and advice.

A diagnosis is made from the overhead ratio and its two parts (`metrics`), each with its interval. `r_exposed` is the
time spent outside the computation beyond the unavoidable; `r_interference` is the time that the computation lost. Both
are in units of the shorter activity, which is the most that overlap can gain, and their sum is `r_overhead`. They agree
with r_comm and r_comp_slowdown: r_exposed > 1 exactly where the communication took longer than alone, and
r_interference > 0 exactly where the computation did. But they give both losses the same weight anywhere in the map:
losing 3 % of a computation that is ten times as long as the communication loses a third of what could be gained.

A configuration other than `basic` is compared with the references of `basic`, if `basic` was measured. A progress
thread that slows everything down slows its own references too, and so looks like overlap against these. There is one
exception, where the configuration's own references decide: they surely show less than half hidden, and basic's surely
more than half. Fewer threads may compute the same work faster, because each has more of the memory, and then look like
overlap against basic's references.

    r_overhead  r_interference   r_exposed   label                                  Denis et al. 2022
    <= 0.25     any              any         overlap                                section 3.3
    > 0.25      <= 0.1           < 0.75      partial progression                    3.3.1, 6.1: a first step
    > 0.25      <= 0.1           0.75..1.1   no progression                         3.3.1
    > 0.25      <= 0.1           > 1.1       communication slowdown                 6.1: Ireduce
    > 0.25      > 0.1            < 0.75      computation slowdown                   3.3.2
    > 0.25      > 0.1            0.75..1.1   serialised with computation slowdown   7.2.4
    > 0.25      > 0.1            > 1.1       contention                             3.3.3

Where r_overhead is at most 0.5, more than half is hidden. A large r_exposed can then only mean that the computation was
faster than its reference, so r_exposed counts as below 0.75.

A label is possible if the three intervals leave room for it. If one label is possible, the diagnosis is `clear`. If two
or three are possible, it is `likely`: the label is that of the values, and the other labels are named. If more are
possible, or the interval of r_overhead reaches from overlap (0.25) to serialisation (0.75), the point is `unreliable`;
so is a point that `validity` calls unreliable. A diagnosis is `likely` at most where `basic` was not measured, and
where the case or `basic` has fewer than three launches: how much launches differ is not known then.

A communication ratio near 1 alone is never taken for no progression. Time that communication lost to interference hides
in the computation (section 3.2.2). It shows in r_interference or, where communication overlaps but slowly, in a map
whose points overlap as soon as the computation is longer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from postprocess.drawing.text import duration, ratio, short
from postprocess.families.nbc_overlap.axes import as_in_basic
from postprocess.families.sampled import is_within_bucket
from postprocess.families.sampled_table import estimate_of
from postprocess.statistics.effects import sure_at
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import (
    MIN_REPETITIONS,
    Estimate,
    as_float,
    least_cores,
    median_estimate,
    most_ranks_on_a_node,
)

OVERLAP = "overlap"
PARTIAL = "partial progression"
NONE = "no progression"
COMM = "communication slowdown"
COMP = "computation slowdown"
SERIALISED = "serialised with computation slowdown"
CONTENTION = "contention"
UNRELIABLE = "unreliable"
LABELS = (OVERLAP, PARTIAL, NONE, COMM, COMP, SERIALISED, CONTENTION, UNRELIABLE)

CLEAR, LIKELY = "clear", "likely"

OVERLAP_LIMIT = 0.25
HALF = 0.5
EXPOSED_LIMIT = 0.75
SLOWER_LIMIT = 1.1
INTERFERENCE_LIMIT = 0.1
MOST_POSSIBLE = 3
SHARE = 0.75
MIXED = "mixed"

UNKNOWN, NOWHERE = "unknown", "nowhere"
"""The values of the column `progresses_in` that do not name configurations."""

BASIC_FAILED = "basic's case failed: "
"""The beginning of the column `failed` where the case of `basic` failed, and not the point's own case."""

REDUCTIONS = ("reduce", "scan")
"""Parts of the names of collectives that compute on their data: Ireduce, Iallreduce, Iexscan and others."""

Bounds: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Diagnosis:
    """A label of `LABELS`, a confidence (CLEAR, LIKELY, UNRELIABLE), the other possible labels, and advice in words."""

    label: str
    confidence: str
    alternatives: tuple[str, ...] = ()
    advice: str = ""

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> Diagnosis:
        """Return the diagnosis in a row of `points_of`."""
        names = ("diagnosis", "diagnosis_confidence", "diagnosis_alternatives", "diagnosis_advice")
        label, confidence, alternatives, advice = (row[name] for name in names)
        return cls(label, confidence, tuple(alternatives), advice)

    @property
    def words(self) -> str:
        """The label and its alternatives, ``no progression (or partial progression)``.

        A `likely` label without alternatives becomes ``likely overlap``. `unreliable` is given without alternatives.
        """
        if self.label == UNRELIABLE or self.confidence == CLEAR:
            return self.label
        return f"{self.label} (or {', '.join(self.alternatives)})" if self.alternatives else f"{LIKELY} {self.label}"


def is_reference(case: Mapping[Any, Any]) -> bool:
    """Whether other cases are compared with this case: `basic`, computing without MPI_Test."""
    return bool(case["configuration"] == "basic" and as_in_basic(case))


def is_reduced_reference(case: Mapping[Any, Any]) -> bool:
    """Whether a case is the control that separates the loss of a core from a slowdown: `basic_reduced`, computing
    without MPI_Test."""
    return bool(case["configuration"] == "basic_reduced" and as_in_basic(case))


def label_of(overhead: float, exposed: float, interference: float) -> str:
    """The label of three values, by the table of this module; `unreliable` unless all three are finite."""
    if not all(map(math.isfinite, (overhead, exposed, interference))):
        return UNRELIABLE
    if overhead <= OVERLAP_LIMIT:
        return OVERLAP
    slowed = interference > INTERFERENCE_LIMIT
    if overhead <= HALF or exposed < EXPOSED_LIMIT:
        return COMP if slowed else PARTIAL
    if exposed <= SLOWER_LIMIT:
        return SERIALISED if slowed else NONE
    return CONTENTION if slowed else COMM


def _label(*estimates: Estimate) -> str:
    return label_of(*(as_float(estimate.value) for estimate in estimates))


_ANY: Bounds = (-math.inf, math.inf)
_REGIONS: tuple[tuple[str, Bounds, Bounds, Bounds], ...] = (
    (OVERLAP, (-math.inf, OVERLAP_LIMIT), _ANY, _ANY),
    *(
        (label, overhead, exposed, interference)
        for interference, labels in (
            ((-math.inf, INTERFERENCE_LIMIT), (PARTIAL, NONE, COMM)),
            ((INTERFERENCE_LIMIT, math.inf), (COMP, SERIALISED, CONTENTION)),
        )
        for label, overhead, exposed in (
            (labels[0], (OVERLAP_LIMIT, HALF), _ANY),
            (labels[0], (HALF, math.inf), (-math.inf, EXPOSED_LIMIT)),
            (labels[1], (HALF, math.inf), (EXPOSED_LIMIT, SLOWER_LIMIT)),
            (labels[2], (HALF, math.inf), (SLOWER_LIMIT, math.inf)),
        )
    ),
)
"""Labels, each with the bounds of r_overhead, r_exposed and r_interference between which it applies."""


def possible_labels(overhead: Estimate, exposed: Estimate, interference: Estimate) -> tuple[str, ...]:
    """Every label for which three intervals leave room, in the order of `LABELS`.

    The two parts add up to r_overhead, so a label is excluded where its parts would add up to more than the upper bound
    of r_overhead. It is not excluded where they add up to less: the parts must not rule out a label, and a verdict,
    that the interval of r_overhead allows. The label of the values is always included, because medians add up only
    approximately.
    """
    possible = {_label(overhead, exposed, interference)}
    for label, *bounds in _REGIONS:
        parts = zip((overhead, exposed, interference), bounds, strict=True)
        rooms = [(max(float(x.low), low), min(float(x.high), high)) for x, (low, high) in parts]
        total, first, second = rooms
        if all(low <= high for low, high in rooms) and first[0] + second[0] <= total[1]:
            possible.add(label)
    return tuple(label for label in LABELS if label in possible)


def diagnosed(overhead: Estimate, exposed: Estimate, interference: Estimate) -> Diagnosis:
    """The diagnosis that follows from the three intervals alone, without advice."""
    if not all(map(math.isfinite, (*overhead.numbers, *exposed.numbers, *interference.numbers))):
        return Diagnosis(UNRELIABLE, UNRELIABLE)
    possible = possible_labels(overhead, exposed, interference)
    if len(possible) > MOST_POSSIBLE or (overhead.low <= OVERLAP_LIMIT and overhead.high >= EXPOSED_LIMIT):
        return Diagnosis(UNRELIABLE, UNRELIABLE, possible)
    label = _label(overhead, exposed, interference)
    others = tuple(other for other in possible if other != label)
    return Diagnosis(label, LIKELY if others else CLEAR, others)


def deciding_ratio(row: Mapping[Any, Any]) -> str:
    """The name of the overhead ratio that decides about a row of `points_of`.

    It is r_overhead_vs_basic where the row has it, except for a row that looks like overlap only because it is faster
    than basic's references; otherwise r_overhead.
    """
    return "r_overhead_vs_basic" if _has_basic(row) and not _faster(row) else "r_overhead"


def _has_basic(row: Mapping[Any, Any]) -> bool:
    return math.isfinite(row["r_overhead_vs_basic"])


def only_faster(own_low: float, against_basic_high: float) -> bool:
    """Whether surely less than half is hidden against the own references, and surely more than half against basic's.

    The own references decide in this case. `own_low` is the lower bound of r_overhead and `against_basic_high` the
    upper bound of r_overhead_vs_basic; False if either is NaN.
    """
    return bool(against_basic_high < HALF <= own_low)


def _faster(row: Mapping[Any, Any]) -> bool:
    return only_faster(row["r_overhead_ci95_low"], row["r_overhead_vs_basic_ci95_high"])


def diagnose(row: Mapping[Any, Any]) -> Diagnosis:
    """The diagnosis of a row of `points_of`, which needs all columns except those of the diagnosis itself."""
    metric = deciding_ratio(row)
    parts = (estimate_of(row, name) for name in (metric, "r_exposed", "r_interference"))
    found = diagnosed(*parts)
    if not row["reliable"]:
        possible = found.alternatives if found.label == UNRELIABLE else (found.label, *found.alternatives)
        found = Diagnosis(UNRELIABLE, UNRELIABLE, possible)
    alone = metric == "r_overhead" and not is_reference(row)
    if found.confidence == CLEAR and (alone or row["launches_vs_basic"] < LEAST_LAUNCHES):
        found = Diagnosis(found.label, LIKELY)
    return Diagnosis(found.label, found.confidence, found.alternatives, advice_for(found, row))


def failure_words(failed: str) -> str:
    """The column `failed` in words: ``the case failed: REASON`` or ``basic's case failed: REASON``."""
    return short(failed) if failed.startswith(BASIC_FAILED) else f"the case failed: {short(failed)}"


_TAKE_LONGER_MESSAGES = "The wire's bucket lets much of the message pass at once: take longer ones (--comm-time)."


def advice_for(found: Diagnosis, row: Mapping[Any, Any]) -> str:
    """Advice to the user for a diagnosis of a row of `points_of`."""
    if row["failed"]:
        why = failure_words(row["failed"])
        return f"{why[0].upper()}{why[1:]}: its numbers tell nothing. Mend that, and measure again."
    if found.label == UNRELIABLE:
        why = "; ".join(row["unreliable_reasons"]) or "the intervals leave room for too much"
        return f"Cannot tell: {why}. Measure longer (--budget-seconds), or on a quieter machine."
    if is_within_bucket(row):
        return _TAKE_LONGER_MESSAGES
    words = [*_warnings(row), *_ADVICE[found.label](row)]
    return " ".join(words)


def _warnings(row: Mapping[Any, Any]) -> list[str]:
    words = _case_warnings(row)
    if _apparent(row):
        words.append(
            f"Against its own references it looks like overlap (r_overhead {ratio(row['r_overhead'])}), because it "
            f"slows these down too; against those of basic it is {ratio(row['r_overhead_vs_basic'])}."
        )
    return words


def _case_warnings(row: Mapping[Any, Any]) -> list[str]:
    words = []
    if row["oversubscribed"]:
        words.append("There are fewer cores than threads: this tells of the machine more than of the library.")
    if row["test_interval_ns"] and not _tests(row):
        words.append(
            "MPI_Test was never called, the computation being one piece: take a shorter interval (--test-interval), or "
            "a longer computation."
        )
    if not is_reference(row) and not _has_basic(row):
        words.append("There is no basic to compare with: slowing down its own references looks like overlap, too.")
    if _faster(row):
        words.append(
            "It is faster than basic on the same work, and only therefore looks like overlap against basic's "
            f"references (r_overhead_vs_basic {ratio(row['r_overhead_vs_basic'])})."
        )
    return words


def _apparent(row: Mapping[Any, Any]) -> bool:
    """Whether surely more than half is hidden against the own references, and surely less than half against basic's:
    the opposite of `only_faster`."""
    return bool(row["r_overhead_ci95_high"] < HALF <= row["r_overhead_vs_basic_ci95_low"])


def _progress_thread(row: Mapping[Any, Any]) -> bool:
    return row["configuration"] in ("async", "dedicated", "dedicated_unbound", "apphelper")


def _progresses_anyway(row: Mapping[Any, Any]) -> bool:
    """Whether the library has progress threads without being asked for them."""
    return "basic" in row["progresses_in"].split(", ")


def _ways(row: Mapping[Any, Any]) -> str:
    """The ways to make a call progress that this library offers on this network, in words."""
    known = row["progresses_in"]
    own = {UNKNOWN: ["the library's progress thread, where it has one (async)"], NOWHERE: []}.get(known)
    if own is None:
        asked = [name for name in known.split(", ") if name in ("async", "dedicated")]
        own = [] if _progresses_anyway(row) or not asked else [f"its progress thread ({', '.join(asked)})"]
    ways = [*own, "one of the application's own (apphelper)", "MPI_Test while computing (--test-interval)"]
    return f"{', '.join(ways[:-1])}{',' * (len(ways) > 2)} or {ways[-1]}"


def _tests(row: Mapping[Any, Any]) -> bool:
    """Whether MPI_Test was called while computing. A computation shorter than the interval never calls it."""
    return bool(row["test_interval_ns"] and row["test_calls"])


def _testing_costs(row: Mapping[Any, Any]) -> bool:
    """Whether MPI_Test took more than half of the exposed time (`r_exposed`)."""
    if not _tests(row):
        return False
    shorter_ns = min(row["t_comp_ref_ns"], row["t_comm_ref_ns"])
    return bool(row["t_test_ns"] > HALF * row["r_exposed"] * shorter_ns > 0)


_TESTING = (
    "Most of what is lost is spent inside MPI_Test: the CPU moves the data there, which hides nothing, or it is called "
    "too often: try longer intervals (--test-interval).",
)


def _reduces(row: Mapping[Any, Any]) -> bool:
    return any(word in row["collective"] for word in REDUCTIONS)


_REDUCTION = "A reduction needs the CPU besides the network: whoever progresses it takes time from computation."


def _overlap_words(row: Mapping[Any, Any]) -> list[str]:
    low, high = (row[f"speedup_vs_basic_per_work_ci95_{end}"] for end in ("low", "high"))
    if not is_reference(row) and not _has_basic(row):
        return ["Measure basic beside it (--configuration basic)."]
    if not row["given_up_cores"]:
        return ["Communication is hidden: nothing to do."]
    if not math.isfinite(low):
        return ["Communication is hidden; what the core given up costs is not known: measure basic beside it."]
    gain = f"{ratio(row['speedup_vs_basic_per_work'])} times basic's work per time"
    likely = "likely " if row["launches_vs_basic"] < LEAST_LAUNCHES else ""
    if low > 1:
        return [f"Communication is hidden, and that is {likely}worth the core given up: {gain}."]
    if high < 1:
        missed = f"Communication is hidden, but the core given up is {likely}missed more: {gain}."
        return [missed, *_break_even_words(row)]
    return [f"Communication is hidden; whether that is worth the core given up cannot be told: {gain}."]


def _break_even_words(row: Mapping[Any, Any]) -> list[str]:
    cores = row["break_even_cores"]
    if math.isnan(cores):
        return []
    if math.isinf(cores):
        return ["It would not pay on any number of cores."]
    on_node = most_ranks_on_a_node(int(row["ranks"]), int(row["nodes"]))
    node = f" ({least_cores(cores, on_node)} per node)" if on_node > 1 else ""
    return [f"It would pay from {least_cores(cores)} cores per rank on{node}, if times per thread stay what they are."]


def _partial_words(row: Mapping[Any, Any]) -> list[str]:
    if _testing_costs(row):
        return ["Some of it progresses while computing.", *_TESTING]
    if _tests(row):
        return ["Some of it progresses while computing: shorter intervals of MPI_Test may hide more (--test-interval)."]
    if _progress_thread(row):
        return [
            "Some of it progresses while computing: the progress thread gets to run too rarely, or serves a part only.",
            *_free_core_words(row),
        ]
    return [
        "A first step is hidden, as by a network card or a buffer; the rest waits for MPI_Wait.",
        f"Try {_ways(row)}.",
    ]


def _none_words(row: Mapping[Any, Any]) -> list[str]:
    if _testing_costs(row):
        return [*_TESTING]
    if _tests(row):
        return ["Not even MPI_Test makes it progress: call it more often (--test-interval), or use a progress thread."]
    if _progress_thread(row):
        return [
            "The progress thread does not progress this call: it gets no time, or does not serve this transport.",
            *_free_core_words(row),
            *([_REDUCTION] if _reduces(row) else []),
        ]
    if _progresses_anyway(row):
        return [f"The library's progress threads do not progress this call: try {_ways(row)}."]
    return [f"The library progresses only inside MPI calls: try {_ways(row)}."]


def _comm_words(row: Mapping[Any, Any]) -> list[str]:
    return [
        "The call takes longer than alone, the computation does not suffer: starting it and waiting at once is faster.",
        *(_TESTING if _testing_costs(row) else []),
        *([_REDUCTION] if _reduces(row) else []),
        *(_free_core_words(row) if _progress_thread(row) else []),
    ]


def _comp_words(row: Mapping[Any, Any]) -> list[str]:
    hidden = (
        "Communication is hidden, but" if row["r_exposed"] <= OVERLAP_LIMIT else "Some communication is hidden, and"
    )
    return [f"{hidden} the computation pays for it.", *_slowed_words(row)]


def _slowed_words(row: Mapping[Any, Any]) -> list[str]:
    if _tests(row) and not _progress_thread(row):
        return ["Cutting the computation for MPI_Test costs that: try longer intervals (--test-interval)."]
    if _progress_thread(row):
        words = _free_core_words(row)
        return words or ["The progress thread has a core of its own: caches or memory are what they share."]
    if row["computation"] == "triad":
        return ["No thread of the library computes beside it: communication and computation share the memory."]
    if _progresses_anyway(row):
        return ["The library's progress threads, caches, memory or interrupts are what they share."]
    return ["No progress thread was asked for: caches, memory or interrupts are what they share."]


def _free_core_words(row: Mapping[Any, Any]) -> list[str]:
    if (
        row["configuration"] == "dedicated_unbound"
    ):  # checked first: its core may be shared, too, but binding mends that
        return ["The progress thread is not bound to the free core: bind it (dedicated)."]
    if row["shared_core"] and row["configuration"] in ("dedicated", "apphelper"):
        return [
            "The progress thread was to have a core of its own and shares one with computation: give each rank two "
            "cores or more (--threads-per-rank 2, with fewer --ranks)."
        ]
    if row["shared_core"]:
        return [
            "The progress thread shares a core with computation: leave one core free for it (dedicated), or use one "
            "that polls only while a request is open (apphelper)."
        ]
    return []


_ADVICE: dict[str, Callable[[Mapping[Any, Any]], list[str]]] = {
    OVERLAP: _overlap_words,
    PARTIAL: _partial_words,
    NONE: _none_words,
    COMM: _comm_words,
    COMP: _comp_words,
    SERIALISED: lambda row: ["Nothing is hidden, and the computation is slowed down.", *_slowed_words(row)],
    CONTENTION: lambda row: [
        "Both take longer than alone: computing first and communicating afterwards is faster.",
        *_slowed_words(row),
    ],
}


@dataclass(frozen=True)
class MapDiagnosis:
    """The diagnosis of a whole map.

    label: the label that at least three quarters of the diagnosed points share; otherwise `mixed`. Where less than half
    of the valid points are diagnosed, it is the label of all valid points taken together, or `unreliable`.
    words: which label is where in the map.
    advice: for the most frequent label; in a `mixed` map for the most frequent label other than `overlap`.
    confidence: `clear` where at least three quarters of the points behind the label are `clear`; otherwise `likely`.
    The points behind `mixed` are all diagnosed ones. A label of all points taken together is always `likely`.
    """

    label: str
    words: str
    advice: str
    confidence: str

    @property
    def title(self) -> str:
        """The label, preceded by `likely` where that is the confidence."""
        return f"{LIKELY} {self.label}" if self.confidence == LIKELY else self.label


@dataclass(frozen=True)
class _Rule:
    """A region of the map that can be described in words.

    comm, comp: bounds of the target times in nanoseconds; the upper bound is excluded.
    comp_per_comm: bounds of computation time over communication time, both included.
    if_overlap: how to interpret overlap in this region.
    """

    words: str
    comm: Bounds = _ANY
    comp: Bounds = _ANY
    comp_per_comm: Bounds = _ANY
    if_overlap: str = ""

    def holds(self, row: Mapping[Any, Any]) -> bool:
        comm, comp = row["comm_target_ns"], row["comp_target_ns"]
        within = self.comm[0] <= comm < self.comm[1] and self.comp[0] <= comp < self.comp[1]
        return bool(within and self.comp_per_comm[0] * comm <= comp <= self.comp_per_comm[1] * comm)


FIT = 0.85
"""A rule describes where a label is if this share of the points inside the rule or with the label is both."""

_FIRST_STEP = "A first step of the algorithm is hidden as long as the computation is short; the rest is not"
_SLOWLY = "Communication does go on behind the computation, but slowly: it needs more time there than alone"


def map_diagnosis(rows: Sequence[Mapping[Any, Any]]) -> MapDiagnosis:
    """The diagnosis of a map, from the rows of `points_of` of all launches of one case.

    Launches that failed are left out, and so are messages that a wire's bucket lets pass at once. If all failed, the
    diagnosis is `unreliable`, with the reason of the failure.
    """
    not_failed = [row for row in rows if not row["failed"]]
    if rows and not not_failed:
        why, advice = failure_words(rows[0]["failed"]), rows[0]["diagnosis_advice"]
        return MapDiagnosis(UNRELIABLE, why, advice, UNRELIABLE)
    rows = [row for row in not_failed if not is_within_bucket(row)]
    if not rows and not_failed:
        return MapDiagnosis(UNRELIABLE, "every message is too short for the wire", _TAKE_LONGER_MESSAGES, UNRELIABLE)
    known = [row for row in rows if row["diagnosis"] != UNRELIABLE]
    valid = [row for row in rows if row["valid"]]
    few = 2 * len(known) < len(valid)
    if few:
        together = _together(rows, valid)
        if together.label != UNRELIABLE or not known:
            return together
    counts = Counter(str(row["diagnosis"]) for row in known)
    if not known:
        advice = Counter(row["diagnosis_advice"] for row in rows).most_common(1)[0][0]
        return MapDiagnosis(UNRELIABLE, f"none of {len(rows)} points can be diagnosed", advice, UNRELIABLE)
    main, number = max(counts.items(), key=lambda item: (item[1], -LABELS.index(item[0])))
    rules = _rules(known)
    where = {
        label: _rule_of(label, known, rules) for label in sorted(counts, key=lambda x: (-counts[x], LABELS.index(x)))
    }
    parts = [
        f"{label} at {counts[label]} of {len(rows)}{f', {rule.words}' if rule else ''}" for label, rule in where.items()
    ]
    if short := len(not_failed) - len(rows):
        parts.append(f"too short for the wire at {short}")
    if left := len(rows) - len(known):
        parts.insert(0 if few else len(parts), f"{UNRELIABLE} at {left}{f' of {len(rows)}' if few else ''}")
    reading = _reading(where, main)
    label = UNRELIABLE if few else main if number >= SHARE * len(known) else MIXED
    # A mixed map gets advice for the part that does not overlap.
    to_mend = next((name for name in where if name != OVERLAP), main) if label == MIXED else main
    advice = _map_advice(to_mend, [row for row in known if row["diagnosis"] == to_mend])
    if few:
        advice = _MEASURE_LONGER if main == OVERLAP else f"{_MEASURE_LONGER} {advice}"
    words = _sentences("; ".join(parts), reading, _apparent_words(known))
    return MapDiagnosis(label, words, advice, _map_confidence(label, known))


def _map_confidence(label: str, known: Sequence[Mapping[Any, Any]]) -> str:
    if label == UNRELIABLE:
        return UNRELIABLE
    behind = [row for row in known if label in (MIXED, row["diagnosis"])]
    clear = sum(row["diagnosis_confidence"] == CLEAR for row in behind)
    return CLEAR if clear >= SHARE * len(behind) else LIKELY


_MEASURE_LONGER = "Measure longer (--budget-seconds), or on a quieter machine."


def _map_advice(label: str, rows: Sequence[Mapping[Any, Any]]) -> str:
    """The advice for the row with the median deciding ratio."""
    typical = sorted(rows, key=lambda row: float(row[deciding_ratio(row)]))[len(rows) // 2]
    return " ".join((*_case_warnings(typical), *_ADVICE[label](typical)))


def _sentences(*texts: str) -> str:
    return ". ".join(text for text in texts if text)


def _apparent_words(rows: Sequence[Mapping[Any, Any]]) -> str:
    """At how many points only the own references show overlap, in words; empty if there are none."""
    names = ("r_overhead", "r_overhead_vs_basic")
    own, basic = (
        sure_at([(row[name], row[f"{name}_ci95_low"], row[f"{name}_ci95_high"]) for row in rows], HALF)
        for name in names
    )
    apparent = sum(map(_apparent, (row for row, *sure in zip(rows, own, basic, strict=True) if all(sure))))
    if not apparent:
        return ""
    where = f"At {apparent} of {len(rows)} points" if len(rows) > 1 else "Here"
    return f"{where} it looks like overlap against its own references, because it slows these down too"


def _together(rows: Sequence[Mapping[Any, Any]], valid: Sequence[Mapping[Any, Any]]) -> MapDiagnosis:
    """The diagnosis of a map whose points are mostly unreliable: all valid points count as repetitions of one point."""
    values = [[row[name] for name in (deciding_ratio(row), "r_exposed", "r_interference")] for row in valid]
    columns = zip(*(triple for triple in values if all(map(math.isfinite, triple))), strict=True)
    estimates = [median_estimate(column) for column in columns] or [median_estimate([])] * 3
    found = diagnosed(*estimates)
    few = (
        f"most points are unreliable; those that are valid, {len(valid)} of {len(rows)}, taken together: {found.words}"
    )
    if found.label == UNRELIABLE:
        if len(valid) < MIN_REPETITIONS:
            number = (
                f"{len(valid)} of {len(rows)} that are valid are"
                if len(valid) > 1
                else f"1 of {len(rows)} that is valid is"
            )
            few = f"most points are unreliable; the {number} too few to be taken together"
        return MapDiagnosis(UNRELIABLE, few, _MEASURE_LONGER, UNRELIABLE)
    words, advice = _sentences(few, _apparent_words(valid)), _map_advice(found.label, valid)
    return MapDiagnosis(found.label, words, advice, LIKELY)


def _reading(where: Mapping[str, _Rule | None], main: str) -> str:
    if main == OVERLAP:
        return ""
    rules = (where.get(label) for label in (OVERLAP, PARTIAL))
    return next((rule.if_overlap for rule in rules if rule and rule.if_overlap), "")


def _rules(rows: Sequence[Mapping[Any, Any]]) -> list[_Rule]:
    """Regions that a reader can check by eye, the simplest first.

    A collective without a message (Ibarrier) takes the same time for every target, so that only regions of the
    computation time are returned for it.
    """
    comm, comp = (sorted({int(row[name]) for row in rows})[1:] for name in ("comm_target_ns", "comp_target_ns"))
    sized = any(row["message_bytes"] for row in rows)
    rules = []
    for k in (1, 2, 4, 8) if sized else ():
        times = {1: "as long as", 2: "twice as long as"}.get(k, f"{k} times as long as")
        share = {1: "at most as long as", 2: "at most half of"}.get(k, f"at most 1/{k} of")
        short, slow = (_FIRST_STEP, _SLOWLY) if k > 1 else ("", "")
        rules += [
            _Rule(f"where the computation is {share} the communication", comp_per_comm=(0, 1 / k), if_overlap=short),
            _Rule(
                f"where the computation is at least {times} the communication",
                comp_per_comm=(k, math.inf),
                if_overlap=slow,
            ),
        ]
    for more, bounds in ((True, lambda t: (t, math.inf)), (False, lambda t: (0, t))):
        words = "{} or more" if more else "less than {}"
        rules += [_Rule(f"where the computation takes {words.format(duration(t))}", comp=bounds(t)) for t in comp]
        if sized:
            rules += [_Rule(f"where the communication takes {words.format(duration(t))}", comm=bounds(t)) for t in comm]
            rules += [
                _Rule(f"where both take {words.format(duration(t))}", comm=bounds(t), comp=bounds(t))
                for t in sorted({*comm, *comp})
            ]
    return rules


def _rule_of(label: str, rows: Sequence[Mapping[Any, Any]], rules: Sequence[_Rule]) -> _Rule | None:
    """The rule that best describes where a label is; None where no rule fits.

    A label at one point only, or at most points, gets no rule.
    """
    has = [row["diagnosis"] == label for row in rows]
    best, fit = None, FIT
    if not 1 < sum(has) < SHARE * len(has):
        return None
    for rule in rules:
        covered = [rule.holds(row) for row in rows]
        both = sum(a and b for a, b in zip(has, covered, strict=True))
        either = sum(a or b for a, b in zip(has, covered, strict=True))
        if both / either > fit:
            best, fit = rule, both / either
    return best
