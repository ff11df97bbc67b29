"""The search for the first bad one: the planted one is found, whatever cannot be judged is stepped around."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.statistics.bisection import BAD, GOOD, UNJUDGED, search


@st.composite
def series(draw: st.DrawFn) -> tuple[int, int, frozenset[int]]:
    """A number of revisions, the first bad one, and those that cannot be judged; the ends can."""
    count = draw(st.integers(2, 300))
    return (
        count,
        draw(st.integers(1, count - 1)),
        draw(st.frozensets(st.integers(1, max(count - 2, 1)))) - {0, count - 1},
    )


@given(series())
def test_only_what_cannot_be_judged_is_left_around_the_planted_one(planted: tuple[int, int, frozenset[int]]) -> None:
    count, first_bad, unjudged = planted
    found = search(count, lambda one: UNJUDGED if one in unjudged else BAD if one >= first_bad else GOOD)
    assert found.last_good < first_bad <= found.first_bad
    assert set(range(found.last_good + 1, found.first_bad)) <= unjudged
    assert len(dict(found.asked)) == len(found.asked)


@given(series())
def test_each_answer_halves_what_is_left(planted: tuple[int, int, frozenset[int]]) -> None:
    count, first_bad, _ = planted
    found = search(count, lambda one: BAD if one >= first_bad else GOOD)
    assert found.first_bad == found.last_good + 1
    assert found.first_bad == first_bad
    assert len(found.asked) <= math.ceil(math.log2(count))


def test_a_stretch_that_does_not_build_costs_few_builds() -> None:
    found = search(1000, lambda one: UNJUDGED if 480 <= one < 540 else BAD if one >= 700 else GOOD)
    assert found.first_bad == 700
    assert len(found.asked) <= 12


def test_one_alone_has_no_ends() -> None:
    with pytest.raises(ValueError, match="1"):
        search(1, lambda _: GOOD)
