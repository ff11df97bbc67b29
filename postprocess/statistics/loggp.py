"""The LogGP model: its parameters from measured times, and what it predicts of collectives. Nothing is clamped.

A message of m bytes takes o on the sender, L in the network, (m - 1) G more for its bytes, and o on the receiver. The
sender can send the next one after the gap g. Times are in ns, G and gamma in ns per byte.

Sources: A. Alexandrov et al., "LogGP", 1995 (the model); T. Hoefler et al., "A Case for Non-Blocking Collective
Operations", 2006, equations 1 to 6 (predictions); T. Hoefler, A. Lichei, W. Rehm, "Low-Overhead LogGP Parameter
Assessment for Modern Interconnection Networks", 2007 (o of the sender, g, G, L; sizes of one protocol have a line of
their own); F. Ino, N. Fujimoto, K. Hagihara, "LogGPS: A Parallel Computational Model for Synchronization Analysis",
2001 (S, the size from which a message waits for its receiver, divides the protocols); T. Kielmann, H. E. Bal,
K. Verstoep, "Fast Measurement of LogP Parameters for Message Passing Platforms", 2000 (o of the receiver);
D. N. Politis, J. P. Romano, "A Circular Block-Resampling Procedure for Stationary Data", 1992, and P. Hall,
J. L. Horowitz, B.-Y. Jing, "On Blocking Rules for the Bootstrap with Dependent Data", 1995 (intervals).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from postprocess.statistics.metrics import MIN_REPETITIONS, Estimate, Floats, as_float, divided

Indices: TypeAlias = NDArray[np.int64]

RESAMPLES = 500
_SEED = 2006


@dataclass(frozen=True)
class Parameters:
    """latency, overhead (the mean of sender's and receiver's), gap in ns; gap_per_byte, gamma in ns per byte."""

    latency: float
    overhead: float
    gap_per_byte: float
    gamma: float = 0.0


@dataclass(frozen=True)
class Prediction:
    """The time of a collective in ns: that of the CPU and that of the network, which sum up to its whole."""

    cpu: float
    network: float

    @property
    def whole(self) -> float:
        return self.cpu + self.network


def rounds(ranks: int) -> int:
    """ceil(log2 P): the rounds of a tree, or of dissemination, over P ranks. Raises ValueError below 1 rank."""
    if ranks < 1:
        raise ValueError(f"{ranks} ranks: a collective has at least 1")
    return (ranks - 1).bit_length()


def barrier(p: Parameters, ranks: int, _message_bytes: int = 0) -> Prediction:
    """Dissemination (equations 1 and 4): (2 o + L) ceil(log2 P)."""
    return Prediction(2 * p.overhead * rounds(ranks), p.latency * rounds(ranks))


def broadcast(p: Parameters, ranks: int, message_bytes: int) -> Prediction:
    """A binomial tree (equations 3 and 6): (2 o + L + m G) ceil(log2 P)."""
    return Prediction(2 * p.overhead * rounds(ranks), (p.latency + message_bytes * p.gap_per_byte) * rounds(ranks))


def allreduce(p: Parameters, ranks: int, message_bytes: int) -> Prediction:
    """Binomial trees, to reduce and to broadcast (equations 2 and 5): (2 (2 o + L + m G) + m gamma) ceil(log2 P)."""
    return Prediction(
        (4 * p.overhead + message_bytes * p.gamma) * rounds(ranks),
        2 * (p.latency + message_bytes * p.gap_per_byte) * rounds(ranks),
    )


MODELLED: Mapping[str, Callable[[Parameters, int, int], Prediction]] = {
    "barrier": barrier,
    "bcast": broadcast,
    "allreduce": allreduce,
}
"""The equations by the name of the collective."""


@dataclass(frozen=True)
class Times:
    """What was measured with messages of one size: arrays with a value per repetition, in ns, of one exchange.

    round_trip: PRTT(1, 0, s).  train: PRTT(n, 0, s).  delayed: PRTT(n, d, s).  delay: d.  messages: n.
    receive: MPI_Recv of a message that has arrived.  hot, cold: MPI_Reduce_local.
    """

    message_bytes: int
    messages: int
    round_trip: Floats
    train: Floats
    delayed: Floats
    delay: Floats
    receive: Floats
    hot: Floats
    cold: Floats

    @cached_property
    def send_overhead(self) -> Floats:
        """o of the sender: (PRTT(n, d, s) - PRTT(1, 0, s)) / (n - 1) - d, where d is longer than a round trip."""
        return (self.delayed - self.round_trip) / (self.messages - 1) - self.delay

    @cached_property
    def gap(self) -> Floats:
        """From a message to the next: (PRTT(n, 0, s) - PRTT(1, 0, s)) / (n - 1).

        It is g + (s - 1) G, or o of the sender or of the receiver where one of them is longer.
        """
        return (self.train - self.round_trip) / (self.messages - 1)


@dataclass(frozen=True)
class Fitted:
    """The parameters of messages of all sizes, with 95 % intervals.

    latency: L, without o.  send_overhead, receive_overhead: o of messages of the smallest size.
    gap, gap_per_byte: g and G, of the sizes whose gaps o does not hide, where these are at least LEAST_SIZES and two
    of them are long. Otherwise G is of the longest messages of one protocol (`long_messages`).
    gamma_hot: of operands that are in a cache, of the largest size up to HOT_BYTES.  gamma_cold: of others, of the
    largest size.
    hides_gap: o is as long as the gap of the smallest size. Then g cannot be seen, and `gap` is this gap, which is an
    upper bound of g.
    hides_gap_per_byte: the sender or the receiver is busy for as long as the gaps of the sizes that G is of. Then one
    of them copies the bytes, or sends them itself, and G is the time per byte of that, an upper bound of G.
    misfit: the largest difference of a measured gap from the fitted line, relative to the line, of those sizes.
    fitted_bytes: the sizes that the line goes through, ascending.
    """

    latency: Estimate
    send_overhead: Estimate
    receive_overhead: Estimate
    gap: Estimate
    gap_per_byte: Estimate
    gamma_hot: Estimate
    gamma_cold: Estimate
    hides_gap: bool
    hides_gap_per_byte: bool
    misfit: float
    fitted_bytes: tuple[int, ...]

    @property
    def parameters(self) -> Parameters:
        """The values, with o as the mean of both, and gamma of operands in a cache."""
        overhead = (as_float(self.send_overhead.value) + as_float(self.receive_overhead.value)) / 2
        return Parameters(
            as_float(self.latency.value), overhead, as_float(self.gap_per_byte.value), as_float(self.gamma_hot.value)
        )


def line(sizes: Sequence[int], times: ArrayLike) -> tuple[Floats, Floats]:
    """g and G of the line g + (s - 1) G through times, (…, sizes): least squares of relative differences, so that all
    sizes weigh the same. NaN where a time is not above 0, or there are fewer than two sizes."""
    measured = np.asarray(times, dtype=np.float64)
    possible = (measured > 0).all(axis=-1, keepdims=True) & (len(set(sizes)) > 1)
    weight = np.where(possible, 1 / np.where(measured > 0, measured, 1), np.nan)
    x = np.asarray(sizes, dtype=np.float64) - 1
    share = weight**2 / (weight**2).sum(axis=-1, keepdims=True)
    place, mean = (share * x).sum(axis=-1), (share * measured).sum(axis=-1)
    apart = x - place[..., np.newaxis]
    per_byte = divided((share * apart * measured).sum(axis=-1), (share * apart**2).sum(axis=-1))
    return mean - per_byte * place, per_byte


HOT_BYTES = 65536
"""Two operands of this size fit into half of a second-level cache of 256 KiB. Whether two larger ones stay in that
cache depends on where their pages happen to lie, which differs between launches."""
LEAST_SIZES = 3
"""Any line goes through two gaps, so that nothing tests it."""
LEAST_SEEN = 1.05
"""A gap that is no longer than this factor times o of the sender or of the receiver is taken for that o."""


def _is_seen(times: Times) -> bool:
    longest = max(_median(times.send_overhead), _median(times.receive))
    return bool(_median(times.gap) > LEAST_SEEN * longest)


def long_messages(sizes: Sequence[int], waiting_bytes: float = math.nan) -> list[bool]:
    """Which sizes are the LEAST_SIZES largest ones of one protocol, the one of the largest size, if it has so many.

    sizes: ascending.  waiting_bytes: the smallest size that waits for its receiver; NaN where none does. Otherwise the
    sizes are those of the other protocol; where that has too few of them, too, of both.
    """
    waits = [size >= waiting_bytes for size in sizes]
    protocols = [[i for i, one in enumerate(waits) if one == of] for of in (waits[-1], not waits[-1])]
    everything = list(range(len(sizes)))
    chosen = next((one for one in protocols if len(one) >= LEAST_SIZES), everything)[-LEAST_SIZES:]
    return [i in chosen for i in everything]


def fit(of_sizes: Sequence[Times], waiting_bytes: float = math.nan) -> Fitted:
    """The parameters from the medians of what was measured. Raises ValueError without two sizes.

    waiting_bytes: the smallest size that waits for its receiver; NaN where none does.

    o and L are those of the smallest size s: L = PRTT(1, 0, s) / 2 - o_send - o_receive - (s - 1) G. The intervals are
    percentiles over resampled repetitions (bootstrap, 500 resamples, always the same ones; `resampled`). They do not
    contain what differs between launches, as those of `launches.over_launches` do.
    """
    ordered = sorted(of_sizes, key=lambda one: one.message_bytes)
    if len({one.message_bytes for one in ordered}) < 2:
        raise ValueError("g and G need messages of at least two sizes")
    seen = [_is_seen(one) for one in ordered]
    sizes = [one.message_bytes for one in ordered]
    long = long_messages(sizes, waiting_bytes)
    long_seen = sum(one for one, is_long in zip(seen, long, strict=True) if is_long)
    fitted = seen if sum(seen) >= LEAST_SIZES and long_seen > 1 else long
    whole = [np.arange(one.round_trip.size) for one in ordered]
    rng = np.random.default_rng(_SEED)
    value = _fit_of(ordered, whole, fitted, seen[0])
    if min(n.size for n in whole) < MIN_REPETITIONS:  # too few to say anything about an interval
        low = high = np.full_like(value, np.nan)
    else:
        again = [resampled(rng, n.size, RESAMPLES) for n in whole]
        low, high = np.percentile(_fit_of(ordered, again, fitted, seen[0]), [2.5, 97.5], axis=1)
    latency, send, receive, gap, per_byte, hot, cold, first = (
        Estimate(*map(np.float64, ends)) for ends in zip(value, low, high, strict=True)
    )
    line_of = [as_float(first.value) + (one.message_bytes - 1) * as_float(per_byte.value) for one in ordered]
    differences = [
        abs(_median(one.gap) / expected - 1) if expected > 0 else math.nan
        for one, expected, chosen in zip(ordered, line_of, fitted, strict=True)
        if chosen
    ]
    return Fitted(
        latency=latency,
        send_overhead=send,
        receive_overhead=receive,
        gap=gap,
        gap_per_byte=per_byte,
        gamma_hot=hot,
        gamma_cold=cold,
        hides_gap=not seen[0],
        hides_gap_per_byte=any(chosen and not one for one, chosen in zip(seen, fitted, strict=True)),
        misfit=float(max(differences)),
        fitted_bytes=tuple(size for size, chosen in zip(sizes, fitted, strict=True) if chosen),
    )


def resampled(rng: np.random.Generator, n: int, resamples: int) -> Indices:
    """Which of n repetitions each resample has, (resamples, n), in the order of measuring: whole blocks of consecutive
    ones.

    Repetitions that follow each other are alike: the CPU's frequency and other processes change slowly. One by one they
    would count as independent, and the intervals would be too narrow. A block has the cube root of n repetitions,
    rounded up (Hall, Horowitz, Jing 1995), may begin anywhere, and after the last repetition comes the first one
    (Politis, Romano 1992).
    """
    block = math.ceil(round(n ** (1 / 3), 9))  # the cube root of 27 is 3, and not a little more
    begins = rng.integers(0, n, (resamples, -(-n // block)))
    return np.asarray((begins[..., None] + np.arange(block)).reshape(resamples, -1)[:, :n] % n, dtype=np.int64)


def _median(values: Floats) -> Floats:
    """As numpy's over the last axis, in a sixth of its time for twenty values."""
    ordered, n = np.sort(values, axis=-1), values.shape[-1]
    if not n:
        return np.full(values.shape[:-1], np.nan)
    middle = (ordered[..., (n - 1) // 2] + ordered[..., n // 2]) / 2
    return np.asarray(np.where(np.isnan(ordered[..., -1]), np.nan, middle))  # NaN is last


def _fit_of(ordered: Sequence[Times], repetitions: Sequence[Indices], fitted: Sequence[bool], sees_gap: bool) -> Floats:
    """L, o_send, o_receive, g, G, gamma hot, gamma cold and the start of the line, from some repetitions of each size:
    (8,), or (8, resamples) where `repetitions` has those of several resamples.

    fitted: the sizes that the line goes through.  sees_gap: o does not hide the gap of the first size. Then g is the
    start of a line that goes through that size, or the gap of that size less that of its bytes. Else g is this gap.
    """
    gaps = [_median(one.gap[of]) for one, of in zip(ordered, repetitions, strict=True)]
    start, per_byte = line(
        [one.message_bytes for one, chosen in zip(ordered, fitted, strict=True) if chosen],
        np.stack([gap for gap, chosen in zip(gaps, fitted, strict=True) if chosen], axis=-1),
    )
    first, of_first = ordered[0], repetitions[0]
    is_hot = [one.message_bytes <= HOT_BYTES for one in ordered]
    hottest = max(sum(is_hot) - 1, 0)  # sizes ascend
    reduced = [(ordered[hottest].hot, hottest), (ordered[-1].cold, len(ordered) - 1)]
    send, receive = _median(first.send_overhead[of_first]), _median(first.receive[of_first])
    latency = _median(first.round_trip[of_first]) / 2 - send - receive - (first.message_bytes - 1) * per_byte
    gammas = [_median(times[repetitions[i]]) / ordered[i].message_bytes for times, i in reduced]
    of_bytes = (first.message_bytes - 1) * per_byte
    gap = (start if fitted[0] else gaps[0] - of_bytes) if sees_gap else gaps[0]
    return np.array([latency, send, receive, gap, per_byte, *gammas, start])
