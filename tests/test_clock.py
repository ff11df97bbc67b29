"""The clock and the start on clocks whose truth is known: the real exchange over a real MPI, faults injected.

`ARTIFICIAL_CLOCK` (benchmarks/tests/artificial_clock.h) gives every rank a clock of its own; rank 0's is the machine's,
so that every rank knows the true global time. Errors are held against what was injected, and against the round trips
by which no exchange can know better: not against what a quiet machine would show. The rare tests ask the same between
two nodes of a box, whose ranks talk over TCP.
"""

import functools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpi_campaign.launching.nodes import Layout
from postprocess.families import sampled
from postprocess.families.nbc_overlap.record import load_overlap
from tests.support import check_record, launch

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi")]

BASELINE_SECONDS = 2.0
HOLD_SECONDS = 2.0
SECONDS = (BASELINE_SECONDS, HOLD_SECONDS)
BRIEF = (0.5, 0.5)  # where no drift is looked at
STARTS = 100
CLOCKS_APART_SECONDS = 100.0


BETWEEN_TWO = Layout(clock_offset_seconds=0)
"""Two nodes that share the machine's clock, so that it is known how the artificial clocks are apart."""


@pytest.fixture(
    params=[
        pytest.param(None, id="on a node"),
        pytest.param(BETWEEN_TWO, id="between two", marks=[pytest.mark.rare, pytest.mark.needs("nodes")]),
    ]
)
def layout(request: pytest.FixtureRequest) -> Layout | None:
    """The nodes that the ranks are on; None for this machine."""
    nodes: Layout | None = request.param
    return nodes


@functools.cache
def looked_at(built: Path, faults: str, layout: Layout | None) -> dict[str, Any]:
    """What `known_truth` sees on these clocks, for all tests of them; `truth` asks it anew."""
    return truth(built, faults, layout=layout)


def truth(
    built: Path, faults: str | dict[str, str], ranks: int = 2, seconds: tuple[float, float] = SECONDS, **how: Any
) -> dict[str, Any]:
    words = (*map(str, seconds), str(STARTS))
    env = {"ARTIFICIAL_CLOCK": faults} if isinstance(faults, str) else faults
    done = launch(built / "known_truth", *words, ranks=ranks, env=env, **how)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.mark.parametrize(
    ("offset_s", "drift_ppm", "jitter_ns"),
    [
        (3, 40, 300),
        (1000, -80, 0),
        pytest.param(3, 40, 0, marks=pytest.mark.rare),
        pytest.param(0.5, 0, 1000, marks=pytest.mark.rare),
    ],
)
def test_offset_and_drift_are_recovered(
    built: Path, layout: Layout | None, offset_s: float, drift_ppm: float, jitter_ns: float
) -> None:
    seen = looked_at(built, f"offset_s={offset_s},drift_ppm={drift_ppm},jitter_ns={jitter_ns}", layout)
    assert (seen["method"], seen["clocks"], seen["refusal"]) == ("interpolated", 2, "")
    # A measurement is wrong by half its round trip and the errors of reading; the drift by both its ends'. Which
    # measurements an offset rests on is the clock's choice: none is worse than the one with the longest trip.
    error_ns = seen["longest_trip_ns"] / 2 + jitter_ns + 200
    assert abs(seen["drift_ppm"] - abs(drift_ppm)) < 2 * error_ns / (BASELINE_SECONDS * 1e9) * 1e6
    assert seen["error_at_once_ns"] < error_ns
    assert seen["error_of_deadline_ns"] < error_ns
    # Extrapolated as far as the baseline is long: three times the error of one end.
    assert seen["error_after_hold_ns"] < 3 * error_ns
    assert seen["error_of_interpolation_ns"] < error_ns


def test_without_drift_correction_the_drift_is_the_error(built: Path, layout: Layout | None) -> None:
    seen = looked_at(built, "offset_s=3,drift_ppm=40,jitter_ns=300", layout)
    drifted_ns = 40e-6 * HOLD_SECONDS * 1e9
    # Between nodes, a measurement may be wrong by more than the drift.
    error_ns = max(drifted_ns / 4, seen["longest_trip_ns"] / 2)
    assert seen["residual_without_drift_ns"] == pytest.approx(drifted_ns, abs=error_ns)
    assert seen["residual_after_hold_ns"] < error_ns
    assert seen["error_after_hold_ns"] < error_ns


def test_where_no_socket_connects_messages_of_mpi_serve(built: Path) -> None:
    faults = {"ARTIFICIAL_CLOCK": "offset_s=3,drift_ppm=40", "LD_PRELOAD": str(built / "deaf_preload.so")}
    seen = truth(built, faults, seconds=BRIEF)
    assert (seen["method"], seen["refusal"]) == ("interpolated", "")
    assert seen["error_at_once_ns"] < seen["longest_trip_ns"] / 2 + 200


@pytest.mark.rare
@pytest.mark.needs("nodes")
def test_a_thread_that_shares_the_core_is_not_in_the_round_trips(built: Path) -> None:
    """The thread takes time slices of milliseconds; messages of MPI would wait for them."""
    seen = truth(built, {"ARTIFICIAL_CLOCK": "offset_s=3,drift_ppm=40"}, layout=BETWEEN_TWO, configuration="async")
    assert (seen["method"], seen["refusal"]) == ("interpolated", "")
    time_slice_ns = 1e6
    assert seen["longest_trip_ns"] < time_slice_ns
    assert max(seen["error_at_once_ns"], seen["error_of_interpolation_ns"]) < seen["longest_trip_ns"] / 2 + 200


def test_a_clock_whose_rate_changes_is_followed_and_not_refused(built: Path, layout: Layout | None) -> None:
    """As a daemon that disciplines clocks does; in the middle of the baseline."""
    drifts = []
    for _attempt in range(3):
        seen = truth(built, "offset_s=3,drift_ppm=20,rate_ppm=10,rate_after_s=1.3", layout=layout)
        assert (seen["method"], seen["refusal"]) == ("interpolated", "")
        # A measurement that was disturbed is held against a line that does not yet know all of the new rate. Not
        # followed at all, the clock would be wrong by the whole change over the whole hold.
        not_followed_ns = 10e-6 * HOLD_SECONDS * 1e9
        assert seen["error_of_interpolation_ns"] < seen["longest_trip_ns"] / 2 + not_followed_ns / 2
        drifts.append(seen["drift_ppm"])
        if drifts[-1] == pytest.approx(30, abs=6):  # else a long trip has left the last line with too little of it
            return
    pytest.fail(f"the new rate of 30 ppm was never found: {drifts}")


def test_ranks_start_together_although_their_clocks_are_seconds_apart(built: Path, layout: Layout | None) -> None:
    injected_s = 3
    seen = looked_at(built, f"offset_s={injected_s},drift_ppm=40,jitter_ns=300", layout)
    assert len(seen["start_imbalance_ns"]) + seen["late"] == STARTS
    # Late ones are thrown away at 20 us; what counts is bounded by that, the clock's error and the look at the time.
    # On a crowded machine a rank is preempted after many looks. Starts that miss the drift are all 80 us apart.
    assert len(seen["start_imbalance_ns"]) > 0
    undisturbed = np.quantile(seen["start_imbalance_ns"], 0.25)
    assert undisturbed < max(1e-5 * injected_s * 1e9, seen["longest_trip_ns"] / 2)
    settle_ns = 3_000_000
    assert seen["wait_to_settle_ns"] > 0.99 * settle_ns


def test_a_shared_clock_is_recognised_and_not_corrected(built: Path) -> None:
    seen = truth(built, "", ranks=3, seconds=BRIEF)
    assert (seen["method"], seen["clocks"], seen["drift_ppm"]) == ("shared", 1, 0)
    assert seen["error_after_hold_ns"] == seen["error_of_interpolation_ns"] == 0


@pytest.mark.parametrize(
    ("ranks", "nodes"), [pytest.param(4, 2, marks=pytest.mark.rare), pytest.param(5, 5, marks=pytest.mark.rare), (6, 3)]
)
def test_clocks_are_found_whatever_the_kernel_says_and_synchronised_in_log_rounds(
    built: Path, ranks: int, nodes: int
) -> None:
    """All ranks are under one boot of one kernel, and still there are several clocks."""
    seen = truth(built, f"offset_s=3,drift_ppm=10,nodes={nodes}", ranks=ranks, seconds=BRIEF)
    assert (seen["method"], seen["clocks"]) == ("interpolated", nodes)
    assert seen["rounds"] == math.ceil(math.log2(nodes)) + math.ceil(math.log2(math.ceil(ranks / nodes)))


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        # while timestamps are taken; a shared clock has no baseline to wait for
        ("offset_s=3,drift_ppm=20,step_ns=5e6,step_after_s=3.5", "was set"),
        pytest.param("offset_s=3,step_ns=-5e6,step_after_s=3.5", "was set", marks=pytest.mark.rare),
        ("step_ns=5e6,step_after_s=1.2", "away from theirs"),
        ("offset_s=3,backwards_ns=700", "goes backwards"),
    ],
)
def test_a_clock_that_steps_or_goes_backwards_is_refused(
    built: Path, layout: Layout | None, faults: str, says: str
) -> None:
    seen = truth(built, faults, layout=layout)
    assert seen["method"] == "none"
    assert "rank 1" in seen["refusal"]
    assert says in seen["refusal"]
    assert "error_of_interpolation_ns" not in seen  # nothing is interpolated across a step


def test_a_step_while_sizes_are_searched_does_not_mislead_the_search(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    words = ("--threads", "1", "--collective", "ibcast", "--comm-times", "64ms", "--comp-times", "16ms", "--quiet")
    faults = {"ARTIFICIAL_CLOCK": "offset_s=3,drift_ppm=20,step_ns=500e6,step_after_s=2.0"}
    launch(built / "nbc_overlap_artificial", *words, "--budget-seconds", "4", "--record", str(record), env=faults)
    loaded = load_overlap(record)
    assert loaded.footer is not None
    assert "rank 1" in loaded.footer.clock_refusal
    for point in loaded.points:
        # Sized by measurements, or not measured at all: never by default.
        assert point.repetitions == 0 or (point.comm_calibration.time_ns > 0 and point.comp_calibration.time_ns > 0)


GRID = ("--comm-times", "2ms", "--comp-times", "2ms", "--threads", "1", "--collective", "ibcast", "--quiet")


def test_a_benchmark_does_not_notice_that_its_clocks_are_apart(
    built: Path, tmp_path: Path, layout: Layout | None
) -> None:
    record = tmp_path / "record.jsonl"
    drift_ppm = 40
    faults = {"ARTIFICIAL_CLOCK": f"offset_s=3,drift_ppm={drift_ppm}"}
    words, grid = ("--budget-seconds", "6", "--record", str(record)), GRID
    if layout:  # whose clocks are seconds apart, too, and whose links take longer
        layout = replace(layout, clock_offset_seconds=CLOCKS_APART_SECONDS)
        grid = ("--comm-times", "32ms", *GRID[2:])
    done = launch(built / "nbc_overlap_artificial", *grid, *words, env=faults, layout=layout)
    assert done.returncode == 0, done.stderr
    check_record(record)
    loaded = load_overlap(record)
    (point,) = loaded.points
    assert (point.start_method, point.clock.method) == ("deadline", "interpolated")
    assert loaded.header.clock is not None
    assert loaded.header.clock.clocks == 2
    # Nothing of the seconds between the clocks, nor of their drift, is in the times.
    assert point.t_measured_ns.min() > 0
    assert point.t_measured_ns.max() < 1e9
    if layout:
        assert loaded.header.nodes == 2
        assert sampled.invalid_reasons(point) == []
        # The drift is known as well as its ends are: by half a round trip each.
        assert point.clock.drift_ppm == pytest.approx(drift_ppm, abs=drift_ppm / 2)


def test_a_repetition_that_a_rank_began_late_counts_from_the_agreed_moment(built: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    faults = {"ARTIFICIAL_CLOCK": "offset_s=1000", "LD_PRELOAD": str(built / "stall_preload.so")}
    words = ("--budget-seconds", "5", "--record", str(record))
    done = launch(built / "nbc_overlap_artificial", *GRID, *words, env=faults)
    assert done.returncode == 0, done.stderr
    check_record(record)
    (point,) = load_overlap(record).points
    all_late = point.late_starts == len(point.PARTS)
    assert point.late_repetitions == np.count_nonzero(point.late_starts)
    assert all_late.any()
    # A rank pauses for 40 ms, of which the slack of a start takes 20 ms at most. On a crowded machine a few are late by
    # themselves, and by less.
    for name in point.PARTS:
        times = getattr(point, name)
        assert np.median(times[all_late]) > np.median(times[point.late_starts == 0]) + 15e6


@pytest.mark.parametrize(
    ("faults", "steps"),
    [
        ("offset_s=3,backwards_ns=700", False),
        pytest.param("offset_s=3,step_ns=5e6,step_after_s=5", True, marks=pytest.mark.rare),
    ],
)
def test_without_a_clock_ranks_start_from_a_barrier_and_the_record_says_so(
    built: Path, tmp_path: Path, faults: str, *, steps: bool
) -> None:
    record = tmp_path / "record.jsonl"
    # An interval that is never reached: the step happens while the point is measured.
    long = ("--interval", "0.0001", "--max-repetitions", "100000") if steps else ("--max-repetitions", "30")
    words = ("--budget-seconds", "10", *long, "--record", str(record))
    done = launch(built / "nbc_overlap_artificial", *GRID, *words, env={"ARTIFICIAL_CLOCK": faults})
    assert done.returncode == 0, done.stderr
    check_record(record)
    loaded = load_overlap(record)
    (point,) = loaded.points
    assert loaded.footer is not None
    assert "rank 1" in loaded.footer.clock_refusal
    assert (point.start_method, point.clock.method, point.clock.residual_ns) == ("barrier", "none", None)
    assert point.repetitions > 0
    if steps:
        assert point.discarded_repetitions > 0  # what was measured with the clock that stepped
    else:
        assert "goes backwards" in done.stderr
