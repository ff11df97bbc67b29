"""Whether a point is `valid` and `reliable`, and what else a reader should know about it (`flags`).

valid       There are at least 6 valid repetitions (fewer have no interval) and no data error. The medians are right.
reliable    Valid, the case did not fail, and the value answers the question at this cell of the map:
            * the 95 % interval of the deciding ratio (`diagnosis.deciding_ratio`) can tell overlap (0) from
              serialisation (1): it is at most half as wide as 1 + |ratio|. Noise grows with the times, and 1 + ratio is
              the overlapped time over that of one activity, where both are equally long. A rule that kept a wide
              interval on one side of 1 alone moved medians over reliable points by up to 0.27, this one by up to 0.07
              (`tests/benchmarks/interval_trust.py`);
            * sizes were found: the status is none of `unreachable`, `not_searched` and `not_monotonic`, and the time of
              a size that this launch calibrated was within 20 % of the target then and when it was measured. A cell
              stands where a given size stands: how long it takes a library is what is measured;
            * the point of `basic` that it is compared with is reliable, its case did not fail, none of its references
              drifted by more than 10 %, and none whose size it calibrated is more than 10 % off that time: a disturbed
              `basic` makes everything else look better (or worse);
            * there is a common clock, and its residual is at most 10 % of the shorter reference, because its error can
              shift the ratio by that much. It must be known, and no clock drift by more than 500 ppm.
flags       Worth knowing, but the ratio stands, because it is made from measured references, not from targets:
            * a size is off its target by at most 20 %;
            * the measured reference of a given size is more than 20 % off the target;
            * a reference moved by more than 10 % against that of `basic` on the same sizes, which is the effect that
              r_overhead_vs_basic is there to show;
            * the interval of r_overhead_vs_basic lies below -0.02;
            * a reference drifted during the point: its trend has p < 0.01, and changes it by more than 2 % and by more
              than the requested width of the interval;
            * MPI_Test was requested and never called;
            * most repetitions started late, or so many that measuring stopped;
            * repetitions were started by a barrier.

Oversubscription, shared cores and cold caches have columns of their own and make no point unreliable. A recalibration
makes no point unreliable either, because it corrects the sizes; the details of the point mention it.
"""

import math

from postprocess.drawing.text import change, duration, percent, ratio, with_interval
from postprocess.families import sampled
from postprocess.families.nbc_overlap.record import OverlapPoint, Reference
from postprocess.records.record import GIVEN, Calibration
from postprocess.records.run import failed_reasons
from postprocess.statistics.limits import CALIBRATION_LIMIT
from postprocess.statistics.metrics import MIN_REPETITIONS, Estimate, as_float

WIDEST_INTERVAL = 0.5
REFERENCE_LIMIT = 0.10
CLOCK_LIMIT = 0.10
DRIFT_LIMIT = 0.02
DRIFT_P_VALUE = 0.01


def unreliable_reasons(point: OverlapPoint, deciding: Estimate, comm_ref_ns: float, comp_ref_ns: float) -> list[str]:
    """Reasons why the deciding overhead ratio of a point does not answer the question at its cell of the map.

    They include `sampled.invalid_reasons`. `comm_ref_ns` and `comp_ref_ns` are the medians of the point's own
    references; the references of `basic` are judged by `basic_reasons`.
    """
    sizes = [
        *_size_reasons("message size", "communication", point.comm_calibration, comm_ref_ns, point.comm_target_ns),
        *_size_reasons("work size", "computation", point.comp_calibration, comp_ref_ns, point.comp_target_ns),
    ]
    if point.stop_reason == "not_measured":
        return sampled.invalid_reasons(point) + sizes
    reasons = sampled.invalid_reasons(point)
    width = as_float(deciding.high) - as_float(deciding.low)
    if wide := too_wide(deciding):
        reasons += wide
    elif math.isnan(width) and point.repetitions >= MIN_REPETITIONS:
        reasons.append("no ratio: a reference time is 0")
    reasons += sizes
    return reasons + sampled.reasons_of_times(point, CLOCK_LIMIT, min(comm_ref_ns, comp_ref_ns))


def too_wide(deciding: Estimate) -> list[str]:
    """The reason why an overhead ratio is not known well; empty where it is, or where it has no interval."""
    width = as_float(deciding.high) - as_float(deciding.low)
    if not width > WIDEST_INTERVAL * (1 + abs(as_float(deciding.value))):
        return []
    return [f"{sampled.TOO_WIDE} ({ratio(width) if math.isfinite(width) else 'unbounded'})"]


def basic_reasons(
    basic: OverlapPoint, overhead: Estimate, comm_ref_ns: float, comp_ref_ns: float, failed: str = ""
) -> list[str]:
    """Reasons why a point of `basic` cannot serve for comparisons: its case failed, it is not reliable, or its
    references were disturbed.

    All arguments are those of `basic`; `failed` says why its case failed.
    """
    reasons = failed_reasons(failed, "basic's")
    reasons += [
        f"basic is not reliable here: {x}" for x in unreliable_reasons(basic, overhead, comm_ref_ns, comp_ref_ns)
    ]
    for name, calibration, reference in _terms(basic):
        disturbed = [
            *(_moved(name, reference) if calibration.status not in ("no_message", GIVEN) else []),
            *_drifted(name, reference, REFERENCE_LIMIT),
        ]
        reasons += [f"basic's {words}" for words in disturbed]
    return reasons


def flags(
    point: OverlapPoint, comm_ref_ns: float, comp_ref_ns: float, asked_width: float, test_interval_ns: int
) -> list[str]:
    """The flags of a point, except those of `moved_flags` and `negative_flags`.

    `asked_width` is the requested width of the medians' intervals, relative to the medians.
    """
    if point.stop_reason == "not_measured":
        return []
    found: list[str] = []
    times = {
        "communication": (comm_ref_ns, point.comm_target_ns),
        "computation": (comp_ref_ns, point.comp_target_ns),
    }
    for name, calibration, reference in _terms(point):
        if calibration.status == "off_target" and abs(calibration.error_relative) <= CALIBRATION_LIMIT:
            found.append(f"{name} size off target by {percent(abs(calibration.error_relative))}")
        if calibration.status == GIVEN:
            found += _off_target(name, *times[name])
        found += _drifted(name, reference, asked_width)
    if test_interval_ns and not point.test_calls:
        found.append("MPI_Test was never called: the computation is one piece")
    found += sampled.flags_of_start(point)
    return found


def drifted(reference: Reference, asked_width: float) -> bool:
    """Whether a reference changed during its point by more than chance explains, and by an amount that matters."""
    if reference.p_value is None or reference.change_relative is None:
        return False
    return reference.p_value < DRIFT_P_VALUE and abs(reference.change_relative) > max(asked_width, DRIFT_LIMIT)


def moved_flags(comm_change: float, comp_change: float) -> list[str]:
    """Flags for references that moved against those of basic on the same sizes, from their relative changes."""
    changes = (("communication", comm_change), ("computation", comp_change))
    return [
        f"{name} reference moved by {percent(change)} against basic"
        for name, change in changes
        if abs(change) > REFERENCE_LIMIT
    ]


def negative_flags(against_basic: Estimate) -> list[str]:
    """A flag for an r_overhead_vs_basic whose interval lies below -0.02, which not even perfect overlap explains."""
    if not against_basic.high < -DRIFT_LIMIT:
        return []
    where = with_interval(*against_basic.numbers)
    return [f"r_overhead_vs_basic {where} is below 0: a reference was disturbed, or is slower in basic"]


def _terms(point: OverlapPoint) -> tuple[tuple[str, Calibration, Reference], ...]:
    return (
        ("communication", point.comm_calibration, point.comm_reference),
        ("computation", point.comp_calibration, point.comp_reference),
    )


def _moved(name: str, reference: Reference) -> list[str]:
    moved = reference.moved_relative
    if moved is None or abs(moved) <= REFERENCE_LIMIT:
        return []
    return [f"{name} alone takes {change(moved)} against the time that its size was calibrated for"]


def _drifted(name: str, reference: Reference, asked_width: float) -> list[str]:
    if not drifted(reference, asked_width):
        return []
    return [f"{name} reference drifted by {change(reference.change_relative or 0)} during the point"]


def _size_reasons(size: str, name: str, calibration: Calibration, ref_ns: float, target_ns: int) -> list[str]:
    """Reasons why a size, or the time that it took, puts the cell in the wrong place of the map."""
    if calibration.status == "not_searched":
        return [f"no {size} was looked for: the time was up"]
    if calibration.status == "unreachable":
        return [f"no {size} reaches this time"]
    if calibration.status == "not_monotonic":
        return [f"larger {size}s were faster: none could be chosen for this time"]
    if calibration.status in ("no_message", GIVEN):
        return []
    if calibration.time_ns and abs(calibration.error_relative) > CALIBRATION_LIMIT:
        return [f"{name} size off target by {percent(abs(calibration.error_relative))}"]
    return _off_target(name, ref_ns, target_ns)


def _off_target(name: str, ref_ns: float, target_ns: int) -> list[str]:
    if not target_ns or not abs(ref_ns / target_ns - 1) > CALIBRATION_LIMIT:
        return []
    return [f"{name} alone took {duration(ref_ns)} for a target of {duration(target_ns)}"]
