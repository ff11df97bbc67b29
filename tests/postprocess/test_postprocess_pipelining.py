"""The model of pipelined communication: the paper's own numbers, its limits, and what holds for all arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.statistics import pipelining as model

TOLERANCE = 1e-4
CLOCK_HZ = 3.5e9
BYTES_PER_SECOND = 25e9


def rate_of(arithmetic: float, communication: float, imbalance: float, theta: int) -> float:
    """The paper's delay rate, in s/byte, at the noise and the clock of appendix A.2."""
    mu = model.computation_rate(arithmetic, communication, CLOCK_HZ)
    return float(model.delay_rate(mu, theta, model.relative_deviation(0.04, imbalance)))


def fft_rate(theta: int) -> float:
    return rate_of(5, 1, 0, theta)


def stencil_rate(theta: int) -> float:
    return rate_of(1 / 13, (66 / 64) ** 3 - 1, 0.5, theta)


@pytest.mark.parametrize(
    ("rate", "theta", "printed"),
    [
        (fft_rate, 1, 7.1428),
        (fft_rate, 2, 187.1936),
        (fft_rate, 8, 1263.67),
        (stencil_rate, 1, 15.3398),
        (stencil_rate, 2, 46.92385411),
        (stencil_rate, 8, 228.21310932),
    ],
)
def test_delay_rates_are_those_of_appendix_a2(rate: Callable[[int], float], theta: int, printed: float) -> None:
    assert float(model.microseconds_per_megabyte(rate(theta))) == pytest.approx(printed, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("rate", "threads", "theta", "printed"),
    [
        (fft_rate, 8, 1, 1.0228),
        (fft_rate, 8, 2, 1.4134),
        (fft_rate, 8, 8, 1.9748),
        # The text says 8 threads; the printed gains are those of 4.
        (stencil_rate, 4, 1, 1.1060),
        (stencil_rate, 4, 2, 1.1718),
        (stencil_rate, 4, 8, 1.2169),
    ],
)
def test_gains_are_those_of_appendix_a2(rate: Callable[[int], float], threads: int, theta: int, printed: float) -> None:
    found = model.gain_of_delay_rate(threads, theta, rate(theta), BYTES_PER_SECOND)
    assert float(found) == pytest.approx(printed, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("threads", "theta", "microseconds_per_megabyte", "exact"),
    [(8, 1, 1, 8 / 7.975), (8, 1, 10, 8 / 7.75), (8, 8, 1000, 64 / 39), (4, 1, 100, 8 / 3)],
)
def test_gains_of_sections_2_2_1_and_4_3(
    threads: int, theta: int, microseconds_per_megabyte: float, exact: float
) -> None:
    """The paper prints 1.003, 1.032, 1.641, and 2.67 for figure 8."""
    rate = model.seconds_per_byte(microseconds_per_megabyte)
    found = float(model.gain_of_delay_rate(threads, theta, rate, BYTES_PER_SECOND))
    assert found == pytest.approx(exact, rel=1e-12)
    assert round(found, 3) in (1.003, 1.032, 1.641, 2.667)


@pytest.mark.parametrize(("threads", "theta", "rate"), [(8, 1, fft_rate), (8, 8, fft_rate), (4, 2, stencil_rate)])
def test_equation_4_is_the_ratio_of_equations_2_and_3(threads: int, theta: int, rate: Callable[[int], float]) -> None:
    part, count = 1e6, threads * theta
    delay = model.delay_seconds(rate(theta), part)
    bulk = model.bulk_seconds(count, part, BYTES_PER_SECOND)
    pipelined = model.pipelined_seconds(count, part, BYTES_PER_SECOND, delay)
    expected = float(model.gain_of_delay_rate(threads, theta, rate(theta), BYTES_PER_SECOND))
    assert float(model.gain(bulk, pipelined)) == pytest.approx(expected, rel=1e-12)
    assert float(model.predicted_gain(count, count * part, BYTES_PER_SECOND, delay)) == pytest.approx(expected)


def test_times_by_hand() -> None:
    """4 partitions of 1 MB at 1 GB/s, 1 ms each, 2.5 ms late: 0.5 ms are left of the first three, and the last."""
    assert float(model.bulk_seconds(4, 1e6, 1e9)) == pytest.approx(4e-3)
    assert float(model.pipelined_seconds(4, 1e6, 1e9, 2.5e-3)) == pytest.approx(1.5e-3)
    assert float(model.pipelined_seconds(4, 1e6, 1e9, 9.0)) == pytest.approx(1e-3)
    assert float(model.bulk_seconds(4, 1e6, 1e9, 1e-4)) == pytest.approx(4.1e-3)
    assert float(model.pipelined_seconds(4, 1e6, 1e9, 2.5e-3, 1e-4)) == pytest.approx(3 * 1.1e-3 - 2.5e-3 + 1.1e-3)


def test_the_latency_alone_is_equation_5() -> None:
    for count in (1, 4, 32, 128):
        small = float(model.predicted_gain(count, 1e-6, BYTES_PER_SECOND, 0.0, 1e-6))
        assert small == pytest.approx(float(model.small_message_gain(count)), rel=1e-6)
    assert float(model.small_message_gain(32)) == 1 / 32


def test_the_latency_shifts_the_gain_from_equation_5_to_equation_4() -> None:
    """From 1 / N for small messages, through 1, to the gain of large ones: as figure 8 has it."""
    sizes = np.logspace(0, 10, 60)
    delay = model.delay_seconds(model.seconds_per_byte(100), sizes / 4)
    found = model.predicted_gain(4, sizes, BYTES_PER_SECOND, delay, 1.22e-6)
    assert float(found[0]) == pytest.approx(1 / 4, rel=1e-3)
    assert float(found[-1]) == pytest.approx(8 / 3, rel=1e-3)
    assert np.all(np.diff(found) > 0)


def test_the_computation_of_a_partition_has_the_mean_and_deviation_of_equation_7() -> None:
    mean, deviation = model.computation_seconds(1e-10, 1e6, model.relative_deviation(0.04, 0.5))
    assert (float(mean), float(deviation)) == pytest.approx((1e-4, 2.7e-5))
    # Section A.1: the delay is that of the last of theta partitions, one deviation late, from the first, one early.
    theta, sigma = 9, 0.27
    last = 1e-4 * (theta + math.sqrt(theta) * sigma)
    rate = model.delay_rate(1e-10, theta, sigma)
    assert float(model.delay_seconds(rate, 1e6)) == pytest.approx(last - 1e-4 * (1 - sigma))


def test_nan_gives_nan() -> None:
    assert math.isnan(float(model.predicted_gain(4, 1e6, math.nan, 0.0)))
    assert math.isnan(float(model.pipelined_seconds(4, 1e6, 1e9, math.nan)))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: model.predicted_gain(0, 1e6, 1e9, 0.0), "partitions is below 1"),
        (lambda: model.predicted_gain(4, -1.0, 1e9, 0.0), "message_bytes is below 0"),
        (lambda: model.predicted_gain(4, 1e6, 0.0, 0.0), "bytes_per_second is not above 0"),
        (lambda: model.predicted_gain(4, 1e6, 1e9, -1e-9), "delay_seconds is below 0"),
        (lambda: model.predicted_gain(4, 1e6, 1e9, 0.0, -1e-9), "latency_seconds is below 0"),
        (lambda: model.gain(1.0, 0.0), "pipelined_seconds is not above 0"),
        (lambda: model.computation_rate(5, 0, CLOCK_HZ), "communication_intensity is not above 0"),
        (lambda: model.delay_rate(1e-10, [1, 0], 0.0), "partitions_per_thread is below 1"),
        (lambda: model.relative_deviation(-0.1, 0.0), "system_noise is below 0"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


def test_the_metrics_of_temucin_by_hand() -> None:
    """A delay of 30, 10 after it, where one message takes 40: nothing gained in t_part, three quarters hidden."""
    assert float(model.communication_overhead(30, 10, 40)) == 1
    assert float(model.availability(10, 40)) == 0.75
    assert float(model.early_bird_share(30, 10)) == 0.75
    assert float(model.perceived_bandwidth(1e6, 1e-3)) == pytest.approx(1e9)


def test_the_metrics_of_temucin_are_never_clamped() -> None:
    assert float(model.availability(100, 40)) == -1.5
    assert float(model.communication_overhead(0, 400, 40)) == 10
    assert float(model.early_bird_share(0, 10)) == 0
    assert math.isinf(float(model.perceived_bandwidth(8, 0)))
    assert math.isnan(float(model.availability(10, 0)))
    assert math.isnan(float(model.early_bird_share(0, 0)))


PARTITIONS = st.integers(1, 256)
BYTES = st.floats(1, 1e10)
BANDWIDTHS = st.floats(1e6, 1e12)
TIMES = st.floats(0, 10)
ROUNDING = 1e-9


@given(partitions=PARTITIONS, size=BYTES, bandwidth=BANDWIDTHS, delay=TIMES)
def test_without_latency_the_gain_is_from_1_to_the_number_of_partitions(
    partitions: int, size: float, bandwidth: float, delay: float
) -> None:
    found = float(model.predicted_gain(partitions, size, bandwidth, delay))
    assert 1 - ROUNDING <= found <= partitions * (1 + ROUNDING)


@given(partitions=PARTITIONS, size=BYTES, bandwidth=BANDWIDTHS, delay=TIMES, latency=st.floats(0, 1))
def test_with_latency_the_gain_is_from_equation_5_to_the_number_of_partitions(
    partitions: int, size: float, bandwidth: float, delay: float, latency: float
) -> None:
    found = float(model.predicted_gain(partitions, size, bandwidth, delay, latency))
    assert float(model.small_message_gain(partitions)) * (1 - ROUNDING) <= found <= partitions * (1 + ROUNDING)


@given(partitions=PARTITIONS, size=BYTES, bandwidth=BANDWIDTHS, delays=st.tuples(TIMES, TIMES), latency=st.floats(0, 1))
def test_the_gain_does_not_fall_as_the_delay_grows(
    partitions: int, size: float, bandwidth: float, delays: tuple[float, float], latency: float
) -> None:
    short, long = (float(model.predicted_gain(partitions, size, bandwidth, delay, latency)) for delay in sorted(delays))
    assert short <= long * (1 + ROUNDING)


@given(theta=st.integers(1, 255), sigma=st.floats(0, 2))
def test_the_delay_rate_grows_with_the_partitions_per_thread(theta: int, sigma: float) -> None:
    assert float(model.delay_rate(1e-10, theta, sigma)) < float(model.delay_rate(1e-10, theta + 1, sigma))
