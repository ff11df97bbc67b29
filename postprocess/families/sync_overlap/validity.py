"""Whether a point is `valid` and `reliable`, and what else a reader should know about it (`flags`).

valid       There are at least 6 valid repetitions (fewer have no interval) and no data error. The times are right.
reliable    Valid, the case did not fail, and
            * the outcome and who progresses are clear from the intervals;
            * the receiver was late by at least 10 times a whole transfer, so that the transfer takes little of the
              delay;
            * an outcome of `none`: at most half of the transfer could have been done before without being seen;
            * there is a common clock, and its residual is at most 1 % of the delay;
            * the ranks are not oversubscribed: a rank without a core is late for reasons of its own.
flags       Worth knowing, but the answers stand:
            * MPI_Isend took more than a tenth of the delay: the sender waited in it;
            * the negative control shows overlap;
            * ranks were started by a barrier, or in most repetitions a rank was late;
            * more repetitions were thrown away than a tenth of those that count.
"""

from collections.abc import Iterator

from postprocess.drawing.text import duration, percent, plural
from postprocess.families import sampled
from postprocess.families.sync_overlap.record import SyncPoint
from postprocess.statistics import late_receiver
from postprocess.statistics.metrics import Estimate, as_float

DELAY_PER_TRANSFER = 10
UNSEEN_LIMIT = 0.5
CLOCK_LIMIT = 0.01
ISEND_LIMIT = 0.1
MOST_THROWN_AWAY = 0.1


def unreliable_reasons(
    point: SyncPoint, outcome: str, who: str, whole: Estimate, unseen: float, *, oversubscribed: bool
) -> list[str]:
    """Reasons why the answers of a point may be wrong. They include `invalid_reasons`.

    outcome, who: the answers.  whole: the time of a whole transfer.  unseen: `late_receiver.unseen_share`.
    """
    reasons = sampled.invalid_reasons(point)
    if not point.repetitions:
        return reasons
    if outcome == late_receiver.UNCLEAR:
        reasons.append("the interval of the outcome has both: before and after MPI_Wait")
    if who == late_receiver.UNCLEAR:
        reasons.append("who progresses differs between repetitions")
    transfer = as_float(whole.value)
    if not point.t_delay_ns >= DELAY_PER_TRANSFER * transfer:
        reasons.append(f"the receiver was late by {duration(point.t_delay_ns)}, a transfer takes {duration(transfer)}")
    if outcome == late_receiver.NONE and not unseen <= UNSEEN_LIMIT:
        reasons.append(f"incomplete overlap of up to {percent(unseen)} of the transfer could not be seen")
    reasons += sampled.reasons_of_times(point, CLOCK_LIMIT, point.t_delay_ns, oversubscribed=oversubscribed)
    return reasons


def flags(point: SyncPoint, outcome: str, *, control: bool) -> Iterator[str]:
    """The flags of a point. control: it is the negative control, whose sender sends late."""
    if not point.repetitions:
        return
    if control and outcome in (late_receiver.FULL, late_receiver.INCOMPLETE):
        yield "the negative control shows overlap, where there is none: do not trust this run"
    if point.t_isend_ns > ISEND_LIMIT * point.t_delay_ns:
        yield f"MPI_Isend took {duration(point.t_isend_ns)}"
    yield from sampled.flags_of_start(point)
    if point.discarded_repetitions > MOST_THROWN_AWAY * point.repetitions:
        yield (
            f"{plural(point.discarded_repetitions, 'repetition')} thrown away beside {point.repetitions}: ranks were "
            "disturbed in them, so that what is kept is a choice"
        )
