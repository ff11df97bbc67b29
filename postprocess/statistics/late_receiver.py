"""What became of a message whose receiver was late (White & Bova 1999), from intervals.

Nothing here is a bare threshold on a median: an answer is given where 95 % intervals allow it, and else it is UNCLEAR.
All times are in one unit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from postprocess.statistics.metrics import Estimate, as_float

FULL, INCOMPLETE, NONE, UNCLEAR = "full", "incomplete", "none", "unclear"
OUTCOMES = (FULL, INCOMPLETE, NONE, UNCLEAR)
NEITHER, SENDER, RECEIVER, EITHER, BOTH, NOTHING = "neither", "sender", "receiver", "either", "both", "nothing"
THIRD_PARTY, ONE_SIDED, TWO_SIDED = "third party", "one sided", "two sided"
_TRANSFER = {NEITHER: THIRD_PARTY, SENDER: ONE_SIDED, RECEIVER: ONE_SIDED, EITHER: ONE_SIDED, BOTH: TWO_SIDED}


def outcome(after_wait: Estimate, whole: Estimate, trip: Estimate) -> str:
    """The overlap of synchronisation with computation (section II, figures 2 and 9).

    after_wait: when MPI_Recv completed after the sender called MPI_Wait; negative where it completed before.
    whole: the time of a transfer of which nothing can have moved before.  trip: a message of nothing, there and back.

    FULL: MPI_Recv completed before MPI_Wait was called. INCOMPLETE: it completed later, but in less than a whole
    transfer, even if the handshake had been made before; the intervals are disjoint. NONE: it took a whole transfer, as
    far as can be seen (`unseen_share`).
    """
    if as_float(after_wait.high) < 0:
        return FULL
    if not as_float(after_wait.low) > 0:
        return UNCLEAR
    saved_at_least = as_float(whole.low) - as_float(after_wait.high) - as_float(trip.high)
    if math.isnan(saved_at_least):
        return UNCLEAR
    return INCOMPLETE if saved_at_least > 0 else NONE


def unseen_share(after_wait: Estimate, whole: Estimate, trip: Estimate) -> float:
    """The largest share of the transfer that may have been done before MPI_Wait without `outcome` seeing it.

    The sum of the intervals' widths towards each other and of the handshake, relative to a whole transfer.
    """
    whole_value = as_float(whole.value)
    hidden = (
        as_float(after_wait.high) - as_float(after_wait.value) + whole_value - as_float(whole.low) + as_float(trip.high)
    )
    return hidden / whole_value if whole_value > 0 else math.nan


def moved_share(after_wait: Estimate, whole: Estimate) -> float:
    """The share of a whole transfer that was done before MPI_Wait: 1 - after_wait / whole, of medians, not clamped."""
    whole_value = as_float(whole.value)
    return 1 - as_float(after_wait.value) / whole_value if whole_value > 0 else math.nan


def arrives(arrived: Estimate, message_bytes: int) -> bool | None:
    """Whether a message arrives as a whole, from the bytes that were there; None where the interval has both."""
    if as_float(arrived.low) >= message_bytes:
        return True
    return False if as_float(arrived.high) < message_bytes else None


def completes(after_wait: Estimate) -> bool | None:
    """Whether MPI_Wait of the receiver completes before the sender calls MPI_Wait; None where the interval has both."""
    if as_float(after_wait.high) < 0:
        return True
    return False if as_float(after_wait.low) > 0 else None


def who_progresses(alone: bool | None, with_sender: bool | None, with_receiver: bool | None) -> str:
    """Who must be inside MPI for a transfer to proceed (section III).

    alone, with_sender, with_receiver: whether it proceeds to its end while neither rank is inside MPI, while only the
    sender is, while only the receiver is; None where that is not clear.
    """
    if alone is not False:
        return NEITHER if alone else UNCLEAR
    if with_sender is None or with_receiver is None:
        return UNCLEAR
    if with_sender and with_receiver:
        return EITHER
    return SENDER if with_sender else RECEIVER if with_receiver else BOTH


def transfer_kind(who: str) -> str:
    """The paper's word for `who_progresses`: two sided, one sided or third party; empty where it is not known."""
    return _TRANSFER.get(who, "")


@dataclass(frozen=True)
class Stretch:
    """Neighbouring sizes with one outcome: the smallest and the largest that were measured, bytes."""

    outcome: str
    first: int
    last: int


def stretches(sizes: Sequence[tuple[int, str]]) -> list[Stretch]:
    """The stretches of sizes with their outcomes, from the smallest size, without those that are UNCLEAR."""
    found: list[Stretch] = []
    for size, of_size in sorted(sizes):
        if of_size == UNCLEAR:
            continue
        if found and found[-1].outcome == of_size:
            found[-1] = Stretch(of_size, found[-1].first, size)
        else:
            found.append(Stretch(of_size, size, size))
    return found


def full_range(found: Sequence[Stretch]) -> tuple[float, bool]:
    """The range of full overlap from the smallest size on, and whether its end was found.

    The range is the largest size up to which all outcomes are FULL; NaN where the smallest is not, or there is none.
    """
    if not found or found[0].outcome != FULL:
        return math.nan, bool(found)
    return float(found[0].last), len(found) > 1
