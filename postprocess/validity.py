"""What a point may be used for: `valid`, `reliable`, and what else a reader should know of it (`flags`).

valid       There are at least 6 valid repetitions (fewer have no interval) and no data error. The medians are right.
reliable    Valid, and the value answers the question at this cell of the map:
            * the 95 % interval of the ratio that decides (r_overhead_vs_basic where there is a basic to compare with,
              `diagnosis.deciding_ratio`) can tell overlap (0) from serialisation (1): it is at most 0.5 wide, or
              nothing of it is below 1;
            * both sizes reach their target time: status none of `unreachable`, `not_searched` and `not_monotonic`, and
              within 20 %,
              or the cell stands in the wrong place of the map;
            * the clocks agree to within 10 % of the shorter reference, by which they could shift the ratio. How far
              they agree may be unknown: that is no disagreement of 0, but a flag.
flags       Worth knowing, but the ratio stands, because it is made of the references that were measured, not of the
            targets: a size off its target by less; a measured reference more than 20 % off the target that its size
            was calibrated for, or, of a given size, more than 10 % off the time that it had when it was calibrated;
            references that moved by more than 10 % against those of `basic` on the same sizes (the very effect that
            r_overhead_vs_basic is there to show); a reference that drifted during the point (the trend has p < 0.01
            and changes it by more than 2 % and by more than the asked width of the interval); most repetitions
            started late, or so many that measuring stopped for it; a start by barrier; no common clock (times over
            ranks are then the longest of the ranks' own durations), at this point or at that of `basic`.

Oversubscribed and shared cores are properties of the placement, cold caches one of the plan, in columns of their own;
they make nothing unreliable. Neither does a recalibration, which mended something: the details of the point tell it.
"""

from __future__ import annotations

import math

from postprocess.load import Calibration, Point, Reference
from postprocess.metrics import MIN_REPETITIONS, Estimate, as_float
from postprocess.text import change, duration, percent, ratio

WIDEST_INTERVAL = 0.5
SERIALISED = 1.0
CALIBRATION_LIMIT = 0.20
REFERENCE_LIMIT = 0.10
CLOCK_LIMIT = 0.10
DRIFT_LIMIT = 0.02
DRIFT_P_VALUE = 0.01


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


def unreliable_reasons(point: Point, deciding: Estimate, shorter_ref_ns: float) -> list[str]:
    """Why the overhead ratio that decides about a point does not answer the question at its cell, the reasons of
    `invalid_reasons` included."""
    calibration = [
        *_calibration_reasons("message size", "communication size", point.comm_calibration),
        *_calibration_reasons("work size", "computation size", point.comp_calibration),
    ]
    if point.stop_reason == "not_measured":
        return invalid_reasons(point) + calibration
    reasons = invalid_reasons(point)
    low, high = as_float(deciding.low), as_float(deciding.high)
    width = high - low
    if width > WIDEST_INTERVAL and not low >= SERIALISED:
        reasons.append(f"interval too wide ({ratio(width) if math.isfinite(width) else 'unbounded'})")
    elif math.isnan(width) and point.repetitions >= MIN_REPETITIONS:
        reasons.append("no ratio: a reference time is 0")
    reasons += calibration
    if point.clock.residual_ns is not None and point.clock.residual_ns > CLOCK_LIMIT * shorter_ref_ns:
        reasons.append(f"clocks disagree by {duration(point.clock.residual_ns)}")
    return reasons


def flags(point: Point, asked_width: float, comm_ref_ns: float, comp_ref_ns: float) -> list[str]:
    """What a reader should know of a point although its ratio stands; `moved_flags` is apart.

    `asked_width` is the width of the medians' intervals, relative to them, at which the point would have been done.
    """
    if point.stop_reason == "not_measured":
        return []
    found = []
    for name, calibration, reference, ref_ns, target_ns in (
        ("communication", point.comm_calibration, point.comm_reference, comm_ref_ns, point.comm_target_ns),
        ("computation", point.comp_calibration, point.comp_reference, comp_ref_ns, point.comp_target_ns),
    ):
        if calibration.status == "off_target" and abs(calibration.error_relative) <= CALIBRATION_LIMIT:
            found.append(f"{name} size off target by {percent(abs(calibration.error_relative))}")
        sized = calibration.status not in ("given", "no_message")
        if sized and target_ns and abs(ref_ns / target_ns - 1) > CALIBRATION_LIMIT:
            found.append(f"{name} alone took {duration(ref_ns)} for a target of {duration(target_ns)}")
        moved = reference.moved_relative
        if calibration.status == "given" and moved is not None and abs(moved) > REFERENCE_LIMIT:
            found.append(f"{name} alone takes {change(moved)} against the time that its size was calibrated for")
        if drifted(reference, asked_width):
            found.append(f"{name} reference drifted by {change(reference.change_relative or 0)} during the point")
    if point.stop_reason == "late":
        found.append(
            f"stopped because too many repetitions started late: {point.late_repetitions} thrown away, "
            f"{point.repetitions} kept"
        )
    elif point.late_repetitions > point.repetitions:
        found.append(f"{point.late_repetitions} repetitions thrown away: a rank started late")
    if point.start_method == "barrier":
        found.append("ranks started by a barrier, not by a clock")
    if point.clock.method == "none":
        found.append("no common clock: times over ranks are the longest of the ranks' own durations")
    elif point.clock.residual_ns is None:
        found.append("how far the clocks disagree is not known")
    return found


def drifted(reference: Reference, asked_width: float) -> bool:
    """Whether a reference changed while its point was measured: beyond chance, and by an amount that matters."""
    if reference.p_value is None or reference.change_relative is None:
        return False
    return reference.p_value < DRIFT_P_VALUE and abs(reference.change_relative) > max(asked_width, DRIFT_LIMIT)


def moved_flags(comm_change: float, comp_change: float) -> list[str]:
    """The references that moved against those of basic on the same sizes, from their relative changes."""
    changes = (("communication", comm_change), ("computation", comp_change))
    return [
        f"{name} reference moved by {percent(change)} against basic"
        for name, change in changes
        if abs(change) > REFERENCE_LIMIT
    ]


def _calibration_reasons(size: str, name: str, calibration: Calibration) -> list[str]:
    if calibration.status == "not_searched":
        return [f"no {size} was looked for: the time was up"]
    if calibration.status == "unreachable":
        return [f"no {size} reaches this time"]
    if calibration.status == "not_monotonic":
        return [f"larger {size}s were faster: none could be chosen for this time"]
    if calibration.status == "no_message":
        return []
    if calibration.time_ns and abs(calibration.error_relative) > CALIBRATION_LIMIT:
        return [f"{name} off target by {percent(abs(calibration.error_relative))}"]
    return []
