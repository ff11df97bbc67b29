"""Labels on points of each kind, on the edges between them, on noisy series with known causes, and of whole maps."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from postprocess.families.nbc_overlap import diagnosis
from postprocess.families.nbc_overlap.diagnosis import (
    CLEAR,
    COMM,
    COMP,
    CONTENTION,
    LABELS,
    LIKELY,
    MIXED,
    NONE,
    OVERLAP,
    PARTIAL,
    SERIALISED,
    UNKNOWN,
    UNRELIABLE,
    Diagnosis,
    diagnosed,
    label_of,
    map_diagnosis,
    possible_labels,
)
from postprocess.families.nbc_overlap.points import points_table
from postprocess.families.nbc_overlap.record import load_overlap
from postprocess.families.nbc_overlap.summary import OVERLAPS, SERIALISES, point_verdict, summarise
from postprocess.families.nbc_overlap.tables import diagnosis_text
from postprocess.families.sampled import FEW_BUCKETS
from postprocess.statistics import metrics
from postprocess.statistics.metrics import Estimate, as_float, median_estimate
from tests.postprocess import synthetic
from tests.postprocess.synthetic import MS, Behaviour, sweep

KINDS = {
    OVERLAP: Behaviour(0.02, comm=0.02), PARTIAL: Behaviour(0.5, comm=0.5), NONE: Behaviour(1.0, comm=1.0),
    COMM: Behaviour(1.6, comm=1.6), COMP: Behaviour(0.65, comm=0.05, comp_slowdown=1.6),
    SERIALISED: Behaviour(1.5, comm=1.0, comp_slowdown=1.5), CONTENTION: Behaviour(1.9, comm=1.5, comp_slowdown=1.4),
}  # fmt: skip


def table(folder: Path, *records: list[dict[str, Any]]) -> pd.DataFrame:
    files = [synthetic.write(folder / f"{i}.jsonl", lines) for i, lines in enumerate(records)]
    return points_table([load_overlap(file) for file in files])


@pytest.mark.parametrize("label", KINDS)
def test_each_kind_has_its_label(tmp_path: Path, label: str) -> None:
    for launches, confidence in ((1, LIKELY), (3, CLEAR)):
        row = table(tmp_path, *[sweep(KINDS[label], grid=(16,))] * launches).iloc[0]
        assert (row["diagnosis"], row["diagnosis_confidence"], row["diagnosis_alternatives"]) == (label, confidence, [])
    assert row["diagnosis_advice"]


@pytest.mark.parametrize("label", KINDS)
def test_each_kind_has_its_label_against_basic(tmp_path: Path, label: str) -> None:
    """Clear only where both have three launches: the intervals do not hold what differs between these."""
    basic, own = sweep(grid=(16,)), sweep(KINDS[label], grid=(16,), configuration="async")
    for launches, confidence in (
        ((basic, own), LIKELY),
        ((basic, own, own), LIKELY),
        ((basic, own) * 2, LIKELY),
        ((basic, own) * 3, CLEAR),
    ):
        rows = table(tmp_path, *launches)
        found = rows[rows["configuration"] == "async"]
        assert set(found["diagnosis"]) == {label}
        assert set(found["diagnosis_confidence"]) == {confidence}
        assert list(found["diagnosis_alternatives"]) == [[]] * len(found)


@pytest.mark.parametrize(
    ("overhead", "exposed", "interference", "label"),
    [
        (0.25, 5.0, 5.0, OVERLAP),
        (-0.3, -0.3, 0.0, OVERLAP),
        (0.26, 0.26, 0.0, PARTIAL),
        (0.74, 0.74, 0.1, PARTIAL),
        (0.75, 0.75, 0.0, NONE),
        (1.1, 1.1, 0.0, NONE),
        (1.11, 1.11, 0.0, COMM),
        (0.4, 0.29, 0.11, COMP),
        (5.0, 0.74, 4.0, COMP),
        (0.86, 0.75, 0.11, SERIALISED),
        (1.3, 1.11, 0.19, CONTENTION),
        (0.5, 1.2, -0.7, PARTIAL),  # more than half is hidden, whatever its parts say
        (0.51, 1.2, -0.69, COMM),
        (math.nan, 1.0, 0.0, UNRELIABLE),
        (1.0, math.inf, 0.0, UNRELIABLE),
    ],
)
def test_edges(overhead: float, exposed: float, interference: float, label: str) -> None:
    assert label_of(overhead, exposed, interference) == label


ANYTHING = st.floats(allow_nan=True, allow_infinity=True)
PART = st.floats(-1, 5)
WIDTH = st.floats(0, 1)


@given(ANYTHING, ANYTHING, ANYTHING)
def test_labels_are_total(overhead: float, exposed: float, interference: float) -> None:
    assert label_of(overhead, exposed, interference) in LABELS


def around(value: float, below: float, above: float) -> Estimate:
    return Estimate(*map(np.asarray, (value, value - below, value + above)))


BOX = st.tuples(PART, PART, *[WIDTH] * 6)


def box(drawn: tuple[float, ...]) -> tuple[Estimate, Estimate, Estimate]:
    exposed, interference, *widths = drawn
    values = (exposed + interference, exposed, interference)
    overhead, first, second = (around(v, *widths[2 * i : 2 * i + 2]) for i, v in enumerate(values))
    return overhead, first, second


@given(BOX)
def test_one_possible_label_is_clear_and_many_are_none(drawn: tuple[float, ...]) -> None:
    intervals = box(drawn)
    possible, found = possible_labels(*intervals), diagnosed(*intervals)
    assert found.label in LABELS
    assert (found.confidence == UNRELIABLE) == (found.label == UNRELIABLE)
    if found.label != UNRELIABLE:
        assert {found.label, *found.alternatives} == set(possible)
        assert (found.confidence == CLEAR) == (len(possible) == 1)


@given(BOX, st.floats(0, 1), st.floats(0, 1))
def test_every_truth_within_the_intervals_is_possible(drawn: tuple[float, ...], a: float, b: float) -> None:
    overhead, exposed, interference = box(drawn)
    x = as_float(exposed.low + a * (exposed.high - exposed.low))
    y = as_float(interference.low + b * (interference.high - interference.low))
    assume(overhead.low <= x + y <= overhead.high)
    assert label_of(x + y, x, y) in possible_labels(overhead, exposed, interference)


@given(BOX, st.tuples(*[WIDTH] * 6))
def test_wider_intervals_never_make_it_surer(drawn: tuple[float, ...], more: tuple[float, ...]) -> None:
    narrow = box(drawn)
    wide = [Estimate(x.value, x.low - more[2 * i], x.high + more[2 * i + 1]) for i, x in enumerate(narrow)]
    assert set(possible_labels(*narrow)) <= set(possible_labels(*wide))
    before, after = (diagnosed(*intervals) for intervals in (narrow, wide))
    surest_first = (CLEAR, diagnosis.LIKELY, UNRELIABLE)
    assert surest_first.index(before.confidence) <= surest_first.index(after.confidence)


@given(PART, PART, st.floats(0, 3))
def test_more_time_outside_or_lost_never_looks_better(exposed: float, interference: float, more: float) -> None:
    """Each term by itself, the overhead growing with it."""
    scale = {OVERLAP: 0, PARTIAL: 1, COMP: 1, NONE: 2, SERIALISED: 2, COMM: 3, CONTENTION: 3}
    slowed = (COMP, SERIALISED, CONTENTION)
    before = label_of(exposed + interference, exposed, interference)
    assert scale[label_of(exposed + more + interference, exposed + more, interference)] >= scale[before]
    after = label_of(exposed + interference + more, exposed, interference + more)
    assert (after in slowed) or (before not in slowed)
    assert before == OVERLAP or after != OVERLAP


@given(BOX)
def test_diagnosis_and_verdict_do_not_contradict_each_other(drawn: tuple[float, ...]) -> None:
    intervals = box(drawn)
    verdict, found = point_verdict(*intervals[0].numbers[1:]), diagnosed(*intervals)
    if found.label == OVERLAP and found.confidence == CLEAR:
        assert verdict == OVERLAPS
    if verdict == OVERLAPS:
        assert found.label in (OVERLAP, PARTIAL, COMP, UNRELIABLE)
    elif verdict != "cannot tell":
        assert OVERLAP not in (found.label,) or found.confidence == LIKELY


def test_intervals_that_leave_two_labels_name_both() -> None:
    found = diagnosed(around(0.75, 0.05, 0.05), around(0.74, 0.05, 0.05), around(0.01, 0.02, 0.02))
    assert (found.label, found.confidence, found.alternatives) == (PARTIAL, LIKELY, (NONE,))
    assert found.words == "partial progression (or no progression)"


@pytest.mark.parametrize("half", [0.3, 0.5, 2.0])
def test_wide_intervals_are_unreliable(half: float) -> None:
    exposed, interference = around(0.4, half, half), around(0.1, half, half)
    assert diagnosed(around(0.5, half, half), exposed, interference).label == UNRELIABLE


def test_the_box_is_cut_by_what_the_overhead_allows() -> None:
    """Each part alone could be many things; together they make up a small overhead, so that none was serialised."""
    found = possible_labels(around(0.4, 0.02, 0.02), around(0.2, 0.2, 0.9), around(0.2, 0.05, 0.05))
    assert found == (COMP,)


def test_a_slowed_reference_does_not_pass_for_overlap(tmp_path: Path) -> None:
    """A progress thread that takes half of the core all the time: 0.05 against itself, 1.1 against basic."""
    slowed = Behaviour(0.05, comm=0.05, reference_factor=2.0)
    rows = table(tmp_path, sweep(grid=(16,)), sweep(slowed, grid=(16,), configuration="async"))
    row = rows.iloc[-1]
    assert row["r_overhead"] == pytest.approx(0.05, abs=0.01)
    assert row["r_overhead_vs_basic"] == pytest.approx(1.1, abs=0.01)
    assert (row["diagnosis"], row["diagnosis_confidence"]) == (COMP, LIKELY)
    assert row["diagnosis_advice"].startswith(
        "Against its own references it looks like overlap (r_overhead 0.05), because it slows these down too; against "
        "those of basic it is 1.10. Communication is hidden, but the computation pays for it. The progress thread "
        "shares a core with computation: leave one core free for it (dedicated)"
    )
    alone = table(tmp_path / "alone", sweep(slowed, grid=(16,), configuration="async")).iloc[0]
    assert (alone["diagnosis"], alone["diagnosis_confidence"]) == (OVERLAP, LIKELY)
    assert "There is no basic to compare with" in alone["diagnosis_advice"]


def test_a_faster_reference_does_not_pass_for_overlap(tmp_path: Path) -> None:
    """Fewer threads, each having more of the memory, serialise: 1 against themselves, 0 against basic."""
    faster = Behaviour(1.0, reference_factor=0.5)
    rows = table(tmp_path, sweep(grid=(16,)), sweep(faster, grid=(16,), configuration="basic_reduced"))
    row = rows.iloc[-1]
    assert row["r_overhead_vs_basic"] == pytest.approx(0, abs=0.01)
    assert row["r_exposed"] == pytest.approx(1, abs=0.05)
    assert row["diagnosis"] == NONE
    assert row["diagnosis_advice"].startswith("It is faster than basic on the same work, and only therefore looks like")
    assert summarise(rows)[-1].verdict == SERIALISES


def test_time_in_mpi_test_is_told_from_waiting(tmp_path: Path) -> None:
    own = configured("basic", KINDS[NONE], test_interval_ns=10**5)
    for line in own:
        if line["type"] == "point":
            line["spreads"]["t_test_ns"] = line["spreads"]["t_wait_ns"]
    advice = table(tmp_path, sweep(grid=(16,)), own).iloc[-1]["diagnosis_advice"]
    assert "Most of what is lost is spent inside MPI_Test" in advice
    assert "more often" not in advice


def test_what_is_not_reliable_is_not_diagnosed(tmp_path: Path) -> None:
    lines = sweep(grid=(16,))
    lines[1] = synthetic.point(0, synthetic.NOISY)
    row = table(tmp_path, lines).iloc[0]
    assert (row["diagnosis"], row["diagnosis_confidence"]) == (UNRELIABLE, UNRELIABLE)
    assert row["diagnosis_advice"].startswith("Cannot tell: interval too wide")
    lines[1] = synthetic.point(0, repetitions=0)
    assert table(tmp_path, lines).iloc[0]["diagnosis_advice"].startswith("Cannot tell: not measured")


def configured(configuration: str, behaviour: Behaviour, **changes: Any) -> list[dict[str, Any]]:
    collective, interval = changes.pop("collective", "ibcast"), changes.pop("test_interval_ns", 0)
    given_up, calls = changes.pop("given_up_cores", 0), changes.pop("test_calls", 16 if interval else 0)
    lines = sweep(behaviour, grid=(16,), configuration=configuration, collective=collective, **changes)
    lines[0]["plan"]["parameters"]["test_interval_ns"] = [interval]
    lines[0]["progress"]["given_up_cores"] = given_up
    lines[1]["own"]["test_calls"] = calls
    return lines


def offering(configurations: list[str], lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """In which configurations the campaign knew that the library has progress threads."""
    lines[0]["metadata"] = {**(lines[0]["metadata"] or {}), "progresses_in": configurations}
    return lines


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (
            configured("basic", KINDS[NONE]),
            "progresses only inside MPI calls: try the library's progress thread, where it has one (async), one of the",
        ),
        (
            offering(["async", "dedicated", "dedicated_unbound"], configured("basic", KINDS[NONE])),
            "try its progress thread (async, dedicated), one of the application's own (apphelper), or MPI_Test",
        ),
        (
            offering([], configured("basic", KINDS[NONE])),
            "progresses only inside MPI calls: try one of the application's own (apphelper) or MPI_Test while",
        ),
        (
            offering(["basic", "async"], configured("basic", KINDS[NONE])),
            "The library's progress threads do not progress this call: try one of the application's own (apphelper) or",
        ),
        (offering(["basic"], configured("basic", KINDS[COMP])), "The library's progress threads, caches, memory or"),
        (configured("basic", KINDS[COMP]), "No progress thread was asked for: caches, memory or interrupts"),
        (offering([], configured("basic", KINDS[PARTIAL])), "Try one of the application's own (apphelper) or MPI_Test"),
        (configured("basic", KINDS[PARTIAL]), "A first step is hidden"),
        (configured("basic", KINDS[COMM], collective="ireduce"), "A reduction needs the CPU"),
        (configured("async", KINDS[NONE], shared_core=True), "shares a core with computation: leave one core free"),
        (configured("async", KINDS[NONE], shared_core=False), "does not serve this transport"),
        (configured("dedicated", KINDS[COMP], shared_core=False), "caches or memory are what they share"),
        (configured("dedicated_unbound", KINDS[COMP], shared_core=False), "not bound to the free core: bind it"),
        (configured("dedicated_unbound", KINDS[COMP], shared_core=True), "not bound to the free core: bind it"),
        (configured("async", KINDS[COMP]), "Communication is hidden, but the computation pays"),
        (
            configured("async", Behaviour(1.1, comm=0.5, comp_slowdown=1.6)),
            "Some communication is hidden, and the computation pays for it",
        ),
        (configured("dedicated", KINDS[COMP], shared_core=True), "give each rank two cores or more"),
        (configured("apphelper", KINDS[COMP], shared_core=True), "give each rank two cores or more"),
        (configured("basic", KINDS[NONE], test_interval_ns=10**6), "call it more often (--test-interval)"),
        (configured("basic", KINDS[COMP], test_interval_ns=10**3), "try longer intervals"),
        (configured("basic", KINDS[NONE], oversubscribed=True), "There are fewer cores than threads"),
        (configured("basic", KINDS[CONTENTION]), "computing first and communicating afterwards is faster"),
        (configured("async", KINDS[SERIALISED]), "Nothing is hidden, and the computation is slowed down"),
    ],
)
def test_advice_is_of_the_case(tmp_path: Path, own: list[dict[str, Any]], words: str) -> None:
    collective = own[0]["plan"]["parameters"]["collective"][0]
    row = table(tmp_path, sweep(grid=(16,), collective=collective), own).iloc[-1]
    assert words in row["diagnosis_advice"]


@pytest.mark.parametrize("label", [PARTIAL, NONE, COMP])
def test_mpi_test_that_was_never_called_is_not_to_blame(tmp_path: Path, label: str) -> None:
    own = configured("basic", KINDS[label], test_interval_ns=10**9, test_calls=0)
    advice = table(tmp_path, sweep(grid=(16,)), own).iloc[-1]["diagnosis_advice"]
    assert advice.startswith(
        "MPI_Test was never called, the computation being one piece: take a shorter interval (--test-interval), or a "
        "longer computation."
    )
    for blamed in ("Not even MPI_Test", "shorter intervals of MPI_Test", "Cutting the computation"):
        assert blamed not in advice


@pytest.mark.parametrize(
    ("threads", "overhead", "words"),
    [
        (15, 0.05, "that is likely worth the core given up: 1.79 times basic's work per time"),
        (1, 0.05, "is likely missed more: 0.95 times basic's work per time. It would pay from 3 cores per rank on"),
    ],
)
def test_overlap_with_a_core_given_up_is_weighed(tmp_path: Path, threads: int, overhead: float, words: str) -> None:
    own = configured("dedicated", Behaviour(overhead, comm=overhead), threads_per_rank=threads, given_up_cores=1)
    basic = sweep(grid=(16,), threads_per_rank=threads + 1)
    row = table(tmp_path, basic, own).iloc[-1]
    assert row["diagnosis"] == OVERLAP
    assert words in row["diagnosis_advice"]
    again = table(tmp_path, *(basic, own) * 3).iloc[-1]
    assert words.replace("likely ", "") in again["diagnosis_advice"]


def test_every_label_has_advice_in_every_configuration(tmp_path: Path) -> None:
    for label, behaviour in KINDS.items():
        for i, configuration in enumerate(("basic", "async", "dedicated", "apphelper", "dedicated_unbound")):
            own = configured(configuration, behaviour, collective="iallreduce")
            row = table(tmp_path / f"{label}{i}", sweep(grid=(16,), collective="iallreduce"), own).iloc[-1]
            assert row["diagnosis"] == label
            assert row["diagnosis_advice"].endswith(".")


Cause = tuple[float, float, float]
"""How much of the communication goes on behind the computation, how much slower it is, what the computation loses in
units of the shorter activity; each within 5 % of that, or of 1 for the first."""

CAUSES: dict[str, Cause] = {
    OVERLAP: (1.0, 1.0, 0.0), PARTIAL: (0.5, 1.0, 0.0), NONE: (0.0, 1.0, 0.0), COMM: (0.0, 1.5, 0.0),
    COMP: (1.0, 1.0, 0.6), SERIALISED: (0.0, 1.0, 0.5), CONTENTION: (0.0, 1.5, 0.5),
}  # fmt: skip


def simulated(rng: np.random.Generator, cause: Cause, n: int, noise: float) -> diagnosis.Diagnosis:
    """A point of n repetitions with a known cause: times to within `noise`, 5 % of them disturbed by half as much."""
    comm, comp = 16.0 * 2.0 ** rng.integers(-1, 2), 16.0
    progress, slower, lost = (x * (1 + 0.05 * rng.uniform(-1, 1)) for x in cause)
    hidden = min(progress, 1) * min(comm, comp)

    def series(time: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        disturbed = np.where(rng.random(n) < 0.05, 1.5, 1.0)
        return time * np.exp(noise * rng.standard_normal(n)) * disturbed

    computed = series(comp + lost * min(comm, comp))
    outside = series(slower * comm - hidden) if slower * comm > hidden else np.zeros(n)
    measured, alone_comm, alone_comp = computed + outside, series(comm), series(comp)
    m, x, y, c, o = map(median_estimate, (measured, alone_comp, alone_comm, computed, outside))
    found = (
        metrics.overhead_estimate(m, x, y),
        metrics.exposed_estimate(o, x, y),
        metrics.interference_estimate(c, x, y),
    )
    return diagnosed(*found)


def confusion(n: int, noise: float, trials: int = 200) -> dict[str, Counter[str]]:
    """Known cause -> how often each label was found."""
    rng = np.random.default_rng([n, round(1000 * noise)])
    return {
        label: Counter(simulated(rng, cause, n, noise).label for _ in range(trials)) for label, cause in CAUSES.items()
    }


@pytest.mark.parametrize(("n", "noise", "least"), [(11, 0.02, 0.85), (30, 0.02, 0.95), (30, 0.05, 0.7)])
def test_known_causes_are_found_in_noisy_series(n: int, noise: float, least: float) -> None:
    for cause, found in confusion(n, noise).items():
        total = found.total()
        assert found[cause] >= least * total, (cause, found)
        assert total - found[cause] - found[UNRELIABLE] <= 0.05 * total, (cause, found)


@pytest.mark.parametrize("n", [6, 11, 30])
def test_a_clear_diagnosis_of_noisy_series_is_right(n: int) -> None:
    rng = np.random.default_rng(n)
    for noise in (0.02, 0.1, 0.3):
        found = [(label, simulated(rng, cause, n, noise)) for label, cause in CAUSES.items() for _ in range(50)]
        clear = [label == point.label for label, point in found if point.confidence == CLEAR]
        assert sum(clear) >= 0.97 * len(clear)


def grid(labels: dict[tuple[int, int], str], **row: Any) -> list[dict[str, Any]]:
    """Rows of a map with these labels; the ratios are those of the label."""
    rows = []
    for (comm, comp), label in labels.items():
        behaviour = KINDS.get(label, KINDS[NONE])
        parts = {"r_exposed": behaviour.comm, "r_interference": behaviour.comp_slowdown - 1}
        ratios = {"r_overhead": behaviour.overhead, "r_overhead_vs_basic": behaviour.overhead, **parts}
        bounds = {f"{name}_ci95_{end}": value for name, value in ratios.items() for end in ("low", "high")}
        case = {"configuration": "basic", "collective": "ibcast", "computation": "dgemm", "test_interval_ns": 0}
        flags = {"valid": True, "oversubscribed": False, "shared_core": False, "failed": "", "flags": []}
        library = {"given_up_cores": 0, "progresses_in": UNKNOWN}
        speedup = {f"speedup_vs_basic_per_work{end}": 1.0 for end in ("", "_ci95_low", "_ci95_high")}
        place = {"comm_target_ns": comm * MS, "comp_target_ns": comp * MS, "message_bytes": comm * MS // 4}
        shown = {"diagnosis": label, "diagnosis_advice": f"advice for {label}", "diagnosis_confidence": CLEAR}
        rows.append(ratios | bounds | case | flags | library | speedup | place | shown | row)
    return rows


SIX = (1, 2, 4, 8, 16, 32)


@pytest.mark.parametrize(("likely", "confidence"), [(0, CLEAR), (9, CLEAR), (10, LIKELY), (36, LIKELY)])
def test_a_map_is_as_sure_as_three_quarters_of_the_points_behind_its_label(likely: int, confidence: str) -> None:
    rows = grid({(x, y): OVERLAP for x in SIX for y in SIX})
    for row in rows[:likely]:
        row["diagnosis_confidence"] = LIKELY
    found = map_diagnosis(rows)
    assert (found.label, found.confidence) == (OVERLAP, confidence)
    assert found.title == (OVERLAP if confidence == CLEAR else "likely overlap")


def test_how_sure_a_map_is_goes_by_the_points_that_have_its_label() -> None:
    labels = {(x, y): OVERLAP if x < 32 else NONE for x in SIX for y in SIX}
    rows = grid(labels)
    for row in rows:
        if row["diagnosis"] == NONE:
            row["diagnosis_confidence"] = LIKELY
    assert map_diagnosis(rows).confidence == CLEAR
    half = grid({place: OVERLAP if place[0] < 8 else NONE for place in labels})
    for row in half[:10]:
        row["diagnosis_confidence"] = LIKELY
    found = map_diagnosis(half)
    assert (found.label, found.confidence) == (MIXED, LIKELY)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Diagnosis(OVERLAP, CLEAR), "overlap"),
        (Diagnosis(OVERLAP, LIKELY), "likely overlap"),  # one launch against one of basic
        (Diagnosis(OVERLAP, LIKELY, (PARTIAL,)), "overlap (or partial progression)"),
        (Diagnosis(UNRELIABLE, UNRELIABLE, (OVERLAP, NONE)), "unreliable"),
    ],
)
def test_how_sure_a_point_is_stands_in_its_words(found: Diagnosis, words: str) -> None:
    assert found.words == words


def test_a_map_of_one_label() -> None:
    found = map_diagnosis(grid({(x, y): NONE for x in SIX for y in SIX}))
    assert (found.label, found.confidence, found.words) == (NONE, CLEAR, "no progression at 36 of 36")
    assert found.title == NONE
    assert "progresses only inside MPI calls" in found.advice


@pytest.mark.parametrize(
    ("overlaps", "words"),
    [
        (
            lambda x, y: 4 * y <= x,
            "overlap at 10 of 36, where the computation is at most 1/4 of the communication. A first step of the "
            "algorithm is hidden as long as the computation is short; the rest is not",
        ),
        (
            lambda x, y: y >= 4 * x,
            "overlap at 10 of 36, where the computation is at least 4 times as long as the communication. "
            "Communication does go on behind the computation, but slowly: it needs more time there than alone",
        ),
        (lambda x, y: x >= 16, "overlap at 12 of 36, where the communication takes 16 ms or more"),
        (lambda x, y: y < 4, "overlap at 12 of 36, where the computation takes less than 4 ms"),
        (lambda x, y: x >= 8 and y >= 8, "overlap at 9 of 36, where both take 8 ms or more"),
        (lambda x, y: (x * y) % 3 == 1 and x == 4, "overlap at 3 of 36"),
    ],
)
def test_a_map_says_where_it_overlaps(overlaps: Any, words: str) -> None:
    found = map_diagnosis(grid({(x, y): OVERLAP if overlaps(x, y) else NONE for x in SIX for y in SIX}))
    assert found.words.endswith(words)
    assert found.words.startswith("no progression at")
    assert found.label == (NONE if 4 * sum(overlaps(x, y) for x in SIX for y in SIX) <= 36 else MIXED)


def test_without_a_message_only_the_computation_is_a_region() -> None:
    labels = {(x, y): OVERLAP if y >= 16 else NONE for x in SIX for y in SIX}
    found = map_diagnosis(grid(labels, collective="ibarrier", message_bytes=0))
    assert found.words.endswith("overlap at 12 of 36, where the computation takes 16 ms or more")
    ratio_region = {(x, y): OVERLAP if y >= 4 * x else NONE for x in SIX for y in SIX}
    assert map_diagnosis(grid(ratio_region, collective="ibarrier", message_bytes=0)).words.endswith("at 10 of 36")


def test_one_row_of_a_map_has_regions_too() -> None:
    labels = {(16, y): OVERLAP if y <= 4 else NONE for y in SIX}
    assert "where the computation is at most 1/4 of the communication" in map_diagnosis(grid(labels)).words


def test_a_single_point_makes_no_region() -> None:
    labels = {(x, y): NONE for x in SIX for y in SIX} | {(32, 1): OVERLAP}
    assert map_diagnosis(grid(labels)).words == "no progression at 35 of 36; overlap at 1 of 36"


def test_unreliable_points_are_counted_and_do_not_decide() -> None:
    labels = {(x, y): OVERLAP if x >= 4 else UNRELIABLE for x in SIX for y in SIX}
    found = map_diagnosis(grid(labels))
    assert (found.label, found.words) == (OVERLAP, "overlap at 24 of 36; unreliable at 12")
    nothing = map_diagnosis(grid(dict.fromkeys(labels, UNRELIABLE), valid=False))
    assert (nothing.label, nothing.words) == (UNRELIABLE, "none of 36 points can be diagnosed")
    assert nothing.advice == "advice for unreliable"


def test_messages_that_a_wires_bucket_lets_pass_at_once_decide_and_advise_nothing(tmp_path: Path) -> None:
    rows = grid({(x, y): NONE if x < 4 else OVERLAP for x in SIX for y in SIX})
    for row in rows:
        row["flags"] = ["within_bucket: too short"] * (row["comm_target_ns"] < 4 * MS)
    found = map_diagnosis(rows)
    assert (found.label, found.words) == (OVERLAP, "overlap at 24 of 24; too short for the wire at 12")
    of_all = map_diagnosis([{**row, "flags": ["within_bucket: too short"]} for row in rows])
    assert of_all.label == UNRELIABLE and "take longer ones" in of_all.advice
    lines = configured("basic", synthetic.SERIALISED)
    lines[0] |= {"network": "wire:2gbit:duplex", "command_line": ["nbc_overlap", "--settle", f"{2 * MS}ns"]}
    advised = table(tmp_path, lines)
    within = advised["t_comm_ref_ns"] < FEW_BUCKETS * 2 * MS
    assert within.any()
    assert set(advised.loc[within, "diagnosis_advice"]) == {of_all.advice}


def test_points_that_say_too_little_alone_are_taken_together() -> None:
    found = map_diagnosis(grid({(x, y): UNRELIABLE for x in SIX for y in SIX}))
    assert (found.label, found.confidence) == (NONE, LIKELY)
    assert found.words == "most points are unreliable; those that are valid, 36 of 36, taken together: no progression"
    rows = grid({(x, y): UNRELIABLE for x in SIX for y in SIX})
    rows[0]["r_overhead_vs_basic"] = rows[0]["r_overhead"] = math.nan  # a reference was 0
    assert map_diagnosis(rows).label == NONE
    few = map_diagnosis(grid({(16, y): UNRELIABLE for y in (1, 2, 4)}))
    assert (few.label, few.confidence, few.title) == (UNRELIABLE, UNRELIABLE, UNRELIABLE)
    assert few.words == "most points are unreliable; the 3 of 3 that are valid are too few to be taken together"
    assert few.advice.startswith("Measure longer")


def test_a_few_points_that_overlap_do_not_advise_about_a_map_that_says_nothing() -> None:
    labels = {(x, y): UNRELIABLE for x in (8, 16, 32) for y in (8, 16, 32)}
    rows = grid({**labels, (8, 8): OVERLAP})
    for row in rows:
        row["r_exposed"] = row["r_interference"] = math.nan
    found = map_diagnosis(rows)
    assert (found.label, found.advice.partition(" (")[0]) == (UNRELIABLE, "Measure longer")


def test_what_can_be_told_of_few_points_is_told_although_the_map_is_unreliable() -> None:
    rows = grid({(x, y): COMP if y >= 16 else UNRELIABLE for x in SIX for y in SIX})
    for row in rows:  # all together: anything
        row["r_overhead_vs_basic"] = row["r_overhead"] = 0.1 if row["comm_target_ns"] < 8 * MS else 3.0
    found = map_diagnosis(rows)
    assert found.label == UNRELIABLE
    assert found.words == ("unreliable at 24 of 36; computation slowdown at 12 of 36")
    assert "the computation pays for it" in found.advice


def test_what_looks_like_overlap_is_counted_over_the_map() -> None:
    rows = grid({(x, 16): COMP for x in SIX}, configuration="async", shared_core=True)
    for row in rows[:4]:
        row["r_overhead_ci95_high"] = 0.1
    found = map_diagnosis(rows)
    assert found.words.endswith(
        ". At 4 of 6 points it looks like overlap against its own references, because it slows these down too"
    )
    assert found.advice.startswith(
        "Communication is hidden, but the computation pays for it. The progress thread shares"
    )


def test_the_diagnosis_and_what_to_do_are_told(tmp_path: Path) -> None:
    slowed = Behaviour(0.05, comm=0.05, reference_factor=2.0)
    rows = table(tmp_path, sweep(grid=(16,)), sweep(slowed, grid=(16,), configuration="async"))
    assert [s.diagnosis.title for s in summarise(rows)] == ["likely no progression", "likely computation slowdown"]
    words = diagnosis_text(rows).splitlines()
    assert [line for line in words if not line.startswith("    ")] == [
        "openmpi@5.0.11, wire:2gbit, basic",
        "  ibcast (likely): no progression at 1 of 1",
        "openmpi@5.0.11, wire:2gbit, async",
        "  ibcast (likely): computation slowdown at 1 of 1. Here it looks like overlap against its own references, "
        "because it slows these down too",
    ]
    assert "leave one core free for it (dedicated)" in words[-1]
    assert [s.diagnosis.label for s in summarise(rows)] == [NONE, COMP]
