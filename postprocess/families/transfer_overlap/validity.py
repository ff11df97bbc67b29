"""Whether a point is `valid` and `reliable`, and what else a reader should know about it (`flags`).

valid       There are at least 6 valid repetitions (fewer have no interval) and no wrong data: the residual of every
            solve had the bits that it must have, and the pipelined version converged within two iterations of the
            others. The medians are right.
reliable    Valid, the case did not fail, and
            * the 95 % interval of the improvement is at most 0.10 wide;
            * the improvement does not surely differ by more than 3 % between the earlier and the later half of the
              repetitions: otherwise its median is that of neither state (`drift`);
            * there is a common clock, and its residual is at most 1 % of a solve, because a solve is timed from the
              first rank's start to the last one's end. It must be known, and no clock drift by more than 500 ppm;
            * the ranks are not oversubscribed: a rank that waits for a core has not overlapped anything.
flags       Worth knowing, but the improvement stands:
            * its whole interval is above that of the bound: the version without overlap is at fault, as that of one
              library was in the paper (table II);
            * exchanges and computation, each measured alone, take together more than 10 % longer than a whole solve
              without overlap. A part took longer alone than in the solve, so that the bound does not hold. (10 % of a
              solve in either part move the bound by less than 0.10, the widest interval of a reliable improvement);
            * a control has an improvement whose interval is not around 0;
            * the reference is surely slower than that of another version of the launch by more than 3 %, or in one half
              of the repetitions than in the other. The improvement is made within repetitions, so it stands; but
              versions were measured in different states, and are not compared with each other;
            * the largest part has more than 10 % more points than the mean: ranks wait for that rank;
            * most repetitions started late, or so many that measuring stopped;
            * repetitions were started by a barrier.
"""

from collections.abc import Iterator

from postprocess.drawing.text import change, duration, interval, percent, percent_with_decimal
from postprocess.families import sampled
from postprocess.families.transfer_overlap import drift
from postprocess.families.transfer_overlap.axes import CONTROLS
from postprocess.families.transfer_overlap.record import TransferPoint
from postprocess.statistics.metrics import Estimate, as_float

WIDEST_INTERVAL = 0.10
CLOCK_LIMIT = 0.01
IMBALANCE_LIMIT = 1.10
PARTS_LIMIT = 1.10


def unreliable_reasons(
    point: TransferPoint, improvement: Estimate, improvement_change: Estimate, *, oversubscribed: bool
) -> list[str]:
    """Reasons why the improvement of a point answers nothing. They include `invalid_reasons`.

    improvement_change: how much larger it is in the later half of the repetitions (`drift.change_of_ratio`).
    """
    reasons = sampled.invalid_reasons(point)
    if point.stop_reason == "not_measured":
        return reasons
    reasons += sampled.wide_share(point, "improvement", improvement, WIDEST_INTERVAL)
    if drift.is_sure(improvement_change):
        reasons.append(
            f"the improvement changed by {as_float(improvement_change.value):+.2f} from the earlier to the later half "
            "of the repetitions"
        )
    shorter_ns = min(sampled.median(point.t_nonoverlap_ns), sampled.median(point.t_overlap_ns))
    reasons += sampled.reasons_of_times(point, CLOCK_LIMIT, shorter_ns, oversubscribed=oversubscribed)
    return reasons


def is_above(improvement: Estimate, bound: Estimate) -> bool:
    """Whether an improvement is surely larger than the bound, and above 0."""
    return as_float(improvement.low) > max(as_float(bound.high), 0.0)


def bound_stands(parts: Estimate) -> bool:
    """Whether the parts of a solve, each alone, are not much longer than the whole.  parts: `parts_of_whole`."""
    return not as_float(parts.value) > PARTS_LIMIT


def drift_flags(point: TransferPoint, between: drift.Between, reference_change: Estimate) -> Iterator[str]:
    """The flags of a reference that did not stand still.  between: the references of all versions of the launch."""
    if point.index in between.slower:
        took = duration(sampled.median(point.t_nonoverlap_ns))
        yield (
            f"its reference takes {took}, that of another version of the launch {duration(between.fastest)}: they were "
            "measured in different states of the machine"
        )
    if drift.is_sure(reference_change):
        yield f"its reference changed by {change(as_float(reference_change.value))} from the earlier to the later half"


def flags(point: TransferPoint, improvement: Estimate, bound: Estimate, parts: Estimate) -> Iterator[str]:
    """The flags of a point.  parts: as in `bound_stands`."""
    if not point.repetitions:
        return
    low, high = as_float(improvement.low), as_float(improvement.high)
    if not bound_stands(parts):
        alone = (duration(sampled.median(times)) for times in (point.t_comm_ns, point.t_comp_ns))
        yield (
            f"alone, the exchanges take {next(alone)} and the computation {next(alone)}, together "
            f"{as_float(parts.value):.2f} times the solve without overlap: the bound does not hold"
        )
    if point.variant in CONTROLS:
        if low > 0 or high < 0:
            around = interval(low, high, words=percent_with_decimal)
            yield f"a control with an improvement of {around}, which is not 0: the comparison is disturbed"
    elif bound_stands(parts) and is_above(improvement, bound):
        yield (
            f"the improvement is above the bound of {percent_with_decimal(as_float(bound.value))}: "
            "the version without overlap takes longer than its parts"
        )
    if point.imbalance > IMBALANCE_LIMIT:
        yield f"the largest part of the grid has {percent(point.imbalance - 1)} more points than the mean"
    yield from sampled.flags_of_start(point)
