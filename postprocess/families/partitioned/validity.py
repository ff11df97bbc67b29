"""Whether a point is `valid` and `reliable`, and what else a reader should know about it (`flags`).

valid       There are at least 6 valid repetitions (fewer have no interval) and no data error. The medians are right.
reliable    Valid, the case did not fail, and
            * the 95 % interval of the gain is at most 25 % of the gain wide;
            * there is a common clock, and its residual is at most 10 % of the shorter of the two times, because both
              are times between ranks. It must be known, and no clock drift by more than 500 ppm;
            * over a wire, one message takes longer than a few times the time in which its bucket fills: else a
              partition that follows a pause passes at once;
            * the ranks are not oversubscribed: threads that share a core take turns, and delay each other by time
              slices that are longer than most messages.
flags       Worth knowing, but the gain stands:
            * with the noise `last`, where D is the planned delay, the interval of the measured gamma beta is wholly
              beyond what planning promises: the work is searched to within 5 % of its target, and the target follows
              from a beta that is known to within 5 %. The flag names the largest of the causes. The model uses the
              delay that was measured. With the other noises D is a sum over partitions, which is not planned;
            * no delay was planned, and still the last partition was ready later than the first one by more than 10 % of
              the reference: the model uses the delay that was measured;
            * the reference is not longer than the latency, so that the model uses the bandwidth of the run;
            * the interval of the gain is wholly above the number of partitions, N theta, which is the most that sending
              early brings in the model: the last part was faster than the same part of one message;
            * latency or bandwidth is not known, so that there is no model;
            * the delay was planned with a guessed bandwidth: its ratio is not that of this network;
            * there are fewer ranks than neighbours;
            * most repetitions started late, or so many that measuring stopped;
            * repetitions were started by a barrier.

Shared cores and cold caches have columns of their own and make no point unreliable.
"""

import math
from collections.abc import Iterator

from postprocess.drawing.text import duration, percent, ratio, with_interval
from postprocess.families import sampled
from postprocess.families.axes import NOISE
from postprocess.families.partitioned.record import Network, PartitionedPoint
from postprocess.statistics.metrics import MIN_REPETITIONS, Estimate, as_float

WIDEST_INTERVAL = 0.25
CLOCK_LIMIT = 0.10
DELAY_MATTERS = 0.10
PLANNED_WITHIN = 1.05**2
"""How far gamma beta may be from the planned one, as a factor, if planning went as `benchmarks/partitioned` intends:
`tolerance` of delays.c for the work times `bandwidth_tolerance` of pipeline.c for beta."""


def unreliable_reasons(point: PartitionedPoint, gain: Estimate, *, oversubscribed: bool) -> list[str]:
    """Reasons why the gain of a point does not answer which approach is faster. They include `invalid_reasons`."""
    reasons = sampled.invalid_reasons(point)
    if point.stop_reason == "not_measured":
        return reasons
    width = as_float(gain.high) - as_float(gain.low)
    relative = width / as_float(gain.value) if as_float(gain.value) > 0 else math.nan
    if point.repetitions >= MIN_REPETITIONS and not relative <= WIDEST_INTERVAL:
        reasons.append(f"{sampled.TOO_WIDE} ({percent(relative)} of the gain, more than {percent(WIDEST_INTERVAL)})")
    reasons += sampled.reasons_of_times(
        point, CLOCK_LIMIT, min(sampled.median(point.t_ns), sampled.median(point.t_ref_ns))
    )
    if oversubscribed:
        reasons.append("oversubscribed: threads share cores")
    return reasons


def flags(
    point: PartitionedPoint, noise: str, network: Network, delay_ratio: Estimate, gain: Estimate
) -> Iterator[str]:
    """The flags of a point. network: of its launch.  delay_ratio: the measured gamma beta."""
    if point.stop_reason == "not_measured":
        return
    reference, delay = sampled.median(point.t_ref_ns), sampled.median(point.t_delay_ns)
    if noise == NOISE.usual and point.delay_target_ns and _is_off_plan(point.delay_ratio, delay_ratio):
        measured = with_interval(*delay_ratio.numbers)
        yield f"gamma beta was {measured}, planned was {point.delay_ratio:g}: {_why_off_plan(point, network)}"
    if not point.delay_target_ns and delay > DELAY_MATTERS * reference:
        yield f"no delay was planned, and the last partition was ready {duration(delay)} after the first one"
    if point.partitions_send > 1 and gain.low > point.partitions_send:
        yield (
            f"the gain is more than N theta = {point.partitions_send}, which early sending cannot bring: the last part "
            "was faster than as much of one message, such as after a pause on a wire"
        )
    if math.isnan(network.latency_ns.value) or math.isnan(network.bytes_per_second.value):
        yield "no model: the run has no latency and no bandwidth"
    elif reference <= network.latency_ns.value:
        yield "the reference is not longer than the latency: the model uses the bandwidth of the run"
    if point.delay_guessed:
        yield "the delay was planned with a guessed bandwidth: none could be measured"
    if point.different_neighbours < point.neighbours:
        yield (
            f"its {point.neighbours} neighbours are {point.different_neighbours} different ranks: "
            f"start {2 * point.neighbours} ranks"
        )
    yield from sampled.flags_of_start(point)


def _is_off_plan(planned: float, measured: Estimate) -> bool:
    return bool(measured.high < planned / PLANNED_WITHIN or measured.low > planned * PLANNED_WITHIN)


def _why_off_plan(point: PartitionedPoint, network: Network) -> str:
    """The largest of the factors whose product is the measured gamma beta relative to the planned one, in words."""
    delay, target = sampled.median(point.t_delay_ns), point.delay_target_ns
    searched = (point.delay_calibration.time_ns if point.delay_calibration else 0) or target  # 0: not known
    causes = (
        (searched / target, "the work that was found takes {} times as long as planned"),
        (delay / searched, f"the computation took {{}} times as long as when its work was searched{_account(point)}"),
        (
            as_float(network.bytes_per_second.value) / point.bytes_per_second,
            "the bandwidth was {} times the one that it was planned by",
        ),
    )
    known = [cause for cause in causes if math.isfinite(cause[0]) and cause[0] > 0]
    factor, words = max(known, key=lambda cause: abs(math.log(cause[0])))
    return words.format(ratio(factor))


def _account(point: PartitionedPoint) -> str:
    """What became of the time of the computation, in words; empty where it was not read."""
    if not point.t_computing_cpu_ns.any():
        return ""
    cpu, waiting = sampled.median(point.t_computing_cpu_ns), sampled.median(point.t_computing_waiting_ns)
    return f" ({duration(cpu)} of CPU time, {duration(waiting)} of waiting for a CPU)"
