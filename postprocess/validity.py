"""What a point may be used for: `valid`, `reliable`, and what else a reader should know of it (`flags`).

valid       There are at least 6 valid repetitions (fewer have no interval) and no data error. The medians are right.
reliable    Valid, and the value answers the question at this cell of the map:
            * the 95 % interval of r_overhead is at most 0.5 wide, so that it can tell overlap (0) from
              serialisation (1);
            * both sizes reach their target time: status neither `unreachable` nor `not_monotonic`, and within 20 %,
              or the cell stands in the wrong place of the map;
            * the clocks agree to within 10 % of the shorter reference, by which they could shift the ratio.
flags       Worth knowing, but the ratio stands, because it is made of the references that were measured, not of the
            targets: a size off its target by less; a measured reference more than 20 % off the target that its size
            was calibrated for; references that moved by more than 10 % against those of `basic` on the same sizes (the
            very effect that r_overhead_vs_basic is there to show); most repetitions started late; a start by barrier.

Oversubscribed and shared cores are properties of the placement, in columns of their own; they make nothing unreliable.
"""

from __future__ import annotations

import math

from postprocess.load import Calibration, Point
from postprocess.metrics import MIN_REPETITIONS, Estimate, as_float
from postprocess.text import duration, percent, ratio

WIDEST_INTERVAL = 0.5
CALIBRATION_LIMIT = 0.20
REFERENCE_LIMIT = 0.10
CLOCK_LIMIT = 0.10


def invalid_reasons(point: Point) -> list[str]:
    """Why a point's medians cannot be used at all; empty when they can."""
    reasons = []
    if point.stop_reason == "not_measured":
        reasons.append("not measured")
    elif point.repetitions < MIN_REPETITIONS:
        reasons.append(f"fewer than {MIN_REPETITIONS} repetitions ({point.repetitions})")
    if point.data_errors:
        reasons.append(f"wrong data received ({point.data_errors} errors)")
    return reasons


def unreliable_reasons(point: Point, overhead: Estimate, shorter_ref_ns: float) -> list[str]:
    """Why a point's r_overhead does not answer the question at its cell, the reasons of `invalid_reasons` included."""
    calibration = [
        *_calibration_reasons("message size", "communication size", point.comm_calibration),
        *_calibration_reasons("matrix size", "computation size", point.comp_calibration),
    ]
    if point.stop_reason == "not_measured":
        return invalid_reasons(point) + calibration
    reasons = invalid_reasons(point)
    width = as_float(overhead.high) - as_float(overhead.low)
    if width > WIDEST_INTERVAL:
        reasons.append(f"interval too wide ({ratio(width) if math.isfinite(width) else 'unbounded'})")
    elif math.isnan(width) and point.repetitions >= MIN_REPETITIONS:
        reasons.append("no ratio: a reference time is 0")
    reasons += calibration
    if point.clock_residual_ns > CLOCK_LIMIT * shorter_ref_ns:
        reasons.append(f"clocks disagree by {duration(point.clock_residual_ns)}")
    return reasons


def flags(point: Point, start_method: str, comm_ref_ns: float, comp_ref_ns: float) -> list[str]:
    """What a reader should know of a point although its ratio stands; `moved_flags` is apart."""
    if point.stop_reason == "not_measured":
        return []
    found = []
    for name, calibration, ref_ns, target_ns in (
        ("communication", point.comm_calibration, comm_ref_ns, point.comm_target_ns),
        ("computation", point.comp_calibration, comp_ref_ns, point.comp_target_ns),
    ):
        if calibration.status == "off_target" and abs(calibration.error_relative) <= CALIBRATION_LIMIT:
            found.append(f"{name} size off target by {percent(abs(calibration.error_relative))}")
        if calibration.status != "given" and target_ns and abs(ref_ns / target_ns - 1) > CALIBRATION_LIMIT:
            found.append(f"{name} alone took {duration(ref_ns)} for a target of {duration(target_ns)}")
    if point.late_repetitions > point.repetitions:
        found.append(f"{point.late_repetitions} repetitions thrown away: a rank started late")
    if start_method == "barrier":
        found.append("ranks started by a barrier, not by a clock")
    return found


def moved_flags(comm_change: float, comp_change: float) -> list[str]:
    """The references that moved against those of basic on the same sizes, from their relative changes."""
    changes = (("communication", comm_change), ("computation", comp_change))
    return [
        f"{name} reference moved by {percent(change)} against basic"
        for name, change in changes
        if abs(change) > REFERENCE_LIMIT
    ]


def _calibration_reasons(size: str, name: str, calibration: Calibration) -> list[str]:
    if calibration.status == "unreachable":
        return [f"no {size} reaches this time"]
    if calibration.status == "not_monotonic":
        return [f"larger {size}s were faster: none could be chosen for this time"]
    if calibration.time_ns and abs(calibration.error_relative) > CALIBRATION_LIMIT:
        return [f"{name} off target by {percent(abs(calibration.error_relative))}"]
    return []
