"""Controls, whose truth is 1: by what they are off, and how many may be by chance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from postprocess.statistics import control
from postprocess.statistics.metrics import Estimate, median_estimate


def estimate(low: float, high: float) -> Estimate:
    return Estimate(np.float64((low + high) / 2), np.float64(low), np.float64(high))


@pytest.mark.parametrize(
    ("low", "high", "factor"),
    [(0.99, 1.01, 1), (1.0, 1.2, 1), (1.01, 1.05, 1.05), (0.8, 0.9, 1.25), (math.nan, math.nan, math.inf)],
)
def test_a_ratio_is_widened_by_the_far_end_of_a_control_that_excludes_1(low: float, high: float, factor: float) -> None:
    assert control.off_by(estimate(low, high)) == pytest.approx(factor)
    wider = control.widened(estimate(0.8, 0.9), factor)
    assert (wider.value, wider.low, wider.high) == pytest.approx((0.85, 0.8 / factor, 0.9 * factor))


def test_the_limit_is_that_of_the_binomial_distribution() -> None:
    assert control.count([(math.nan, math.nan)]).words == ""
    found = control.count([(0.9, 1.1)] * 18 + [(1.01, 1.1), (0.9, 0.99), (math.nan, 2)])
    assert (found.excluding, found.controls, found.limit) == (2, 20, 3)
    assert control.Count(37, 216).limit == 16
    assert "more than chance" in control.Count(17, 216).words and "more than" not in control.Count(16, 216).words


def test_controls_that_differ_by_chance_alone_seldom_exceed_the_limit() -> None:
    rng = np.random.default_rng(1)
    over = 0
    for _ in range(200):
        found = [median_estimate(np.exp(rng.normal(0, 0.05, 21)) / np.exp(rng.normal(0, 0.05, 21))) for _ in range(20)]
        counted = control.count((float(one.low), float(one.high)) for one in found)
        over += counted.excluding > counted.limit
    assert over <= 20  # 5 % of 200, and three standard deviations of that number


@pytest.mark.parametrize("factor", [1.0, 1.2])
def test_a_part_that_finds_something_else_after_another_is_told(factor: float) -> None:
    """Planted: part 2 takes longer wherever part 1 ran before it."""
    rng = np.random.default_rng(5)
    order = np.array([123, 132, 213, 231, 312, 321] * 20)
    after = np.isin(order, (123, 132, 312))
    times = 1e6 * rng.normal(1, 0.01, order.size) * np.where(after, factor, 1)
    found = control.by_order(times, order, 2)
    assert found.low <= factor <= found.high
    assert control.count([(float(found.low), float(found.high))]).excluding == (factor != 1)
