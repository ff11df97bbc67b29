"""The gain of pipelined communication: the model of Gillis, Raffenetti, Zhou, Guo, Thakur (2023),
doi:10.1145/3605573.3605599, sections 2.1 and 2.2 and appendix A.

Pure functions on numbers and NumPy arrays, elementwise; nothing here knows of records. All units are SI: seconds,
bytes, bytes per second, hertz; a rate of delay or of computation is in seconds per byte (`microseconds_per_megabyte`
for the paper's unit, whose megabyte is 10^6 bytes). Ratios have no unit. Nothing is clamped except where an equation
has a maximum. NaN gives NaN. Each function raises ValueError where an argument is out of its range.

Words: a message is cut into `partitions`, N_part = N theta, of which `threads`, N, send `partitions_per_thread`, theta,
each. `delay_seconds`, D, is the time from the first partition that is ready to the last one.

The latency. The paper has one limit for large messages (equations 2 to 4), without latency, and one for small messages
(equation 5), with nothing else. Here both are one formula: a message of m bytes takes alpha + m / beta, where alpha is
the latency, and messages follow each other.

    T_b = alpha + N_part S_part / beta
    T_p = max((N_part - 1) (alpha + S_part / beta) - D, 0) + alpha + S_part / beta

With alpha = 0 these are equations 2 and 3. As S_part and D go to 0, T_b / T_p goes to 1 / N_part, which is equation 5.
The formula assumes, as equation 5 does, that latencies of consecutive messages add up. A library that sends the next
message before the last one has arrived does better than that.

Beside the model stand the four metrics of Temuçin, Grant, Afsahi (2022), doi:10.1145/3545008.3545088, section 3:
`communication_overhead`, `perceived_bandwidth`, `availability` and `early_bird_share`. They call the moment when the
last partition is ready the join of the threads.
"""

import numpy as np
from numpy.typing import ArrayLike

from postprocess.statistics.metrics import Floats, divided

FLOPS_PER_CYCLE = 8
"""The floating-point operations per cycle of a core in equation 6."""
_PER_MICROSECOND_PER_MEGABYTE = 1e-12


def microseconds_per_megabyte(seconds_per_byte: ArrayLike) -> Floats:
    """A rate in the paper's unit, µs/MB, of 10^6 bytes."""
    return np.asarray(seconds_per_byte, dtype=np.float64) / _PER_MICROSECOND_PER_MEGABYTE


def seconds_per_byte(microseconds_per_megabyte: ArrayLike) -> Floats:
    """A rate of the paper's unit, µs/MB, in seconds per byte."""
    return np.asarray(microseconds_per_megabyte, dtype=np.float64) * _PER_MICROSECOND_PER_MEGABYTE


def gain(bulk_seconds: ArrayLike, pipelined_seconds: ArrayLike) -> Floats:
    """Equation 1: eta = T_b / T_p. Both times are above 0."""
    return _above_0("bulk_seconds", bulk_seconds) / _above_0("pipelined_seconds", pipelined_seconds)


def bulk_seconds(
    partitions: ArrayLike, partition_bytes: ArrayLike, bytes_per_second: ArrayLike, latency_seconds: ArrayLike = 0.0
) -> Floats:
    """Equation 2: T_b, all partitions in one message after the last one is ready; with `latency_seconds` as above."""
    count, time = _parts(partitions, partition_bytes, bytes_per_second)
    return _from_0("latency_seconds", latency_seconds) + count * time


def pipelined_seconds(
    partitions: ArrayLike,
    partition_bytes: ArrayLike,
    bytes_per_second: ArrayLike,
    delay_seconds: ArrayLike,
    latency_seconds: ArrayLike = 0.0,
) -> Floats:
    """Equation 3: T_p, each partition in a message of its own as soon as it is ready, without the computation.

    The delay hides at most all messages but the last one. `latency_seconds` as above.
    """
    count, time = _parts(partitions, partition_bytes, bytes_per_second)
    each = _from_0("latency_seconds", latency_seconds) + time
    return np.maximum((count - 1) * each - _from_0("delay_seconds", delay_seconds), 0) + each


def predicted_gain(
    partitions: ArrayLike,
    message_bytes: ArrayLike,
    bytes_per_second: ArrayLike,
    delay_seconds: ArrayLike,
    latency_seconds: ArrayLike = 0.0,
) -> Floats:
    """Equation 1 of equations 2 and 3, for a message of `message_bytes` in so many partitions of one size.

    Without latency it is from 1 to `partitions`, and it never falls as the delay grows. Of one partition it is 1.
    """
    part = _from_0("message_bytes", message_bytes) / _from_1("partitions", partitions)
    return gain(
        bulk_seconds(partitions, part, bytes_per_second, latency_seconds),
        pipelined_seconds(partitions, part, bytes_per_second, delay_seconds, latency_seconds),
    )


def gain_of_delay_rate(
    threads: ArrayLike, partitions_per_thread: ArrayLike, delay_rate: ArrayLike, bytes_per_second: ArrayLike
) -> Floats:
    """Equation 4: eta of large messages, N theta / max(N theta - gamma_theta beta, 1).

    The theta of gamma is an index, not a factor: `delay_rate` is gamma of just these partitions per thread, in seconds
    per byte. The paper's numbers follow from that.
    """
    count = _from_1("threads", threads) * _from_1("partitions_per_thread", partitions_per_thread)
    hidden = _from_0("delay_rate", delay_rate) * _above_0("bytes_per_second", bytes_per_second)
    return count / np.maximum(count - hidden, 1)


def small_message_gain(partitions: ArrayLike) -> Floats:
    """Equation 5: eta where latency is all that counts, 1 / (N theta)."""
    return 1 / _from_1("partitions", partitions)


def computation_rate(
    arithmetic_intensity: ArrayLike, communication_intensity: ArrayLike, clock_hz: ArrayLike
) -> Floats:
    """Equation 6: mu = AI / CI / (8 F), the seconds that a core computes per byte that it sends.

    arithmetic_intensity: operations per byte of memory.  communication_intensity: bytes sent per byte of memory.
    """
    operations_per_byte_sent = _from_0("arithmetic_intensity", arithmetic_intensity) / _above_0(
        "communication_intensity", communication_intensity
    )
    return operations_per_byte_sent / (FLOPS_PER_CYCLE * _above_0("clock_hz", clock_hz))


def relative_deviation(system_noise: ArrayLike, imbalance: ArrayLike) -> Floats:
    """The sigma of section A.1, (epsilon + delta) / 2: the deviation of a computation, relative to its time.

    system_noise: epsilon, of the machine.  imbalance: delta, of the algorithm's own branches.
    """
    return (_from_0("system_noise", system_noise) + _from_0("imbalance", imbalance)) / 2


def computation_seconds(rate: ArrayLike, partition_bytes: ArrayLike, sigma: ArrayLike) -> tuple[Floats, Floats]:
    """Equation 7: mean and standard deviation of the normal distribution of a partition's computation, in seconds.

    Equation 7 has it per byte; section A.1 multiplies it with the size of the partition.
    """
    mean = _from_0("rate", rate) * _from_0("partition_bytes", partition_bytes)
    return mean, mean * _from_0("sigma", sigma)


def delay_seconds(delay_rate: ArrayLike, partition_bytes: ArrayLike) -> Floats:
    """Equation 8: D = gamma_theta S_part."""
    return _from_0("delay_rate", delay_rate) * _from_0("partition_bytes", partition_bytes)


def delay_rate(rate: ArrayLike, partitions_per_thread: ArrayLike, sigma: ArrayLike) -> Floats:
    """Equation 9: gamma_theta = mu (theta + sigma (sqrt(theta) + 1) - 1), in seconds per byte.

    rate: mu, of `computation_rate`.  sigma: of `relative_deviation`.
    """
    theta = _from_1("partitions_per_thread", partitions_per_thread)
    root: Floats = np.sqrt(theta)
    return _from_0("rate", rate) * (theta + _from_0("sigma", sigma) * (root + 1) - 1)


def communication_overhead(delay: ArrayLike, after_last: ArrayLike, reference: ArrayLike) -> Floats:
    """Overhead of Temuçin et al.: t_part / t_pt2pt, with t_part = delay + after_last, all of one unit.

    t_part is the time during which at least one partition is ready and has not arrived. It is the whole time from the
    first partition that is ready to the completion, as long as the next partition is ready before the one before it has
    arrived; where it is not, this is an upper bound. NaN where `reference` is not above 0.
    """
    return divided(_sum(delay, after_last), reference)


def perceived_bandwidth(message_bytes: ArrayLike, after_last_seconds: ArrayLike) -> Floats:
    """Perceived bandwidth of Temuçin et al., in bytes per second: the whole message in the time after the last
    partition is ready. Infinite where that time is 0."""
    with np.errstate(divide="ignore"):
        bytes_per_second = _from_0("message_bytes", message_bytes) / _from_0("after_last_seconds", after_last_seconds)
    return np.asarray(bytes_per_second)


def availability(after_last: ArrayLike, reference: ArrayLike) -> Floats:
    """Application availability of Temuçin et al., 1 - t_after_join / t_pt2pt, both of one unit.

    1: all communication was hidden. 0: as long after the join as one message takes. Below 0: longer. NaN where
    `reference` is not above 0.
    """
    return 1 - divided(after_last, reference)


def early_bird_share(delay: ArrayLike, after_last: ArrayLike) -> Floats:
    """Early-bird communication of Temuçin et al., t_before_join / t_part, with t_part as in `communication_overhead`
    and t_before_join = delay.

    It is a share of time, not of data: a library that sends everything after the last partition is ready has the same
    share as one that sends at once, if it takes as long. NaN where both times are 0.
    """
    return divided(delay, _sum(delay, after_last))


def _sum(one: ArrayLike, other: ArrayLike) -> Floats:
    return np.asarray(one, dtype=np.float64) + np.asarray(other, dtype=np.float64)


def _parts(partitions: ArrayLike, partition_bytes: ArrayLike, bytes_per_second: ArrayLike) -> tuple[Floats, Floats]:
    """The number of partitions, and the time of one partition without latency, in seconds."""
    time = _from_0("partition_bytes", partition_bytes) / _above_0("bytes_per_second", bytes_per_second)
    return _from_1("partitions", partitions), time


def _from_0(name: str, value: ArrayLike) -> Floats:
    numbers = np.asarray(value, dtype=np.float64)
    if np.any(numbers < 0):
        raise ValueError(f"{name} is below 0")
    return numbers


def _above_0(name: str, value: ArrayLike) -> Floats:
    numbers = np.asarray(value, dtype=np.float64)
    if np.any(numbers <= 0):
        raise ValueError(f"{name} is not above 0")
    return numbers


def _from_1(name: str, value: ArrayLike) -> Floats:
    numbers = np.asarray(value, dtype=np.float64)
    if np.any(numbers < 1):
        raise ValueError(f"{name} is below 1")
    return numbers
