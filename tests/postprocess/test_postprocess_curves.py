"""Curves of families as data, and their places in the report."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from postprocess.drawing.curve_plot import chart_figure
from postprocess.drawing.curve_view import SHAPES, chart_view
from postprocess.drawing.curves import (
    MESSAGE,
    PALE,
    RANKS,
    Chart,
    ChartAxis,
    Curve,
    Mark,
    Style,
    ratio_axis,
    solid_and_pale,
    sure_values,
    time_axis,
)
from postprocess.drawing.text import size
from postprocess.families.launch_marks import mark_of


def mark(place: float, value: float, pale: bool = False) -> Mark:
    return Mark(place, value, 0.9 * value, 1.1 * value, str(value), pale)


def chart(*curves: Curve, low: float = 1.0, high: float = 1e6) -> Chart:
    return Chart("time", "Time", "figure 1 of a paper", MESSAGE, time_axis("time"), low, high, curves)


CURVE = Curve("a", Style(), (mark(8, 10), mark(64, 100), mark(512, 1000, pale=True), mark(4096, 1e4), mark(8192, 2e4)))


def test_the_line_is_pale_to_and_from_a_mark_that_is_pale() -> None:
    solid, pale = solid_and_pale(CURVE)
    assert [[one.place for one in piece] for piece in solid] == [[8, 64], [4096, 8192]]
    assert [[one.place for one in piece] for piece in pale] == [[64, 512, 4096]]
    view = chart_view(chart(CURVE))
    assert [opacity for _, opacity in view.curves[0].lines] == [1.0, 1.0, PALE]
    assert [one.opacity for one in view.curves[0].marks] == [1.0, 1.0, PALE, 1.0, 1.0]
    assert view.notes == ["1 mark pale: not reliable, the table says why"]


def test_places_are_logarithmic_or_linear_and_stay_in_the_picture() -> None:
    view = chart_view(replace(chart(CURVE), high=1e3))
    xs = [one.x for one in view.curves[0].marks]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)  # 8, 64, 512
    assert view.curves[0].marks[3].y == view.curves[0].marks[4].y  # both above the edge
    assert view.level == -1
    assert [words for _, words in view.x_ticks] == ["8 B", "64 B", "512 B", "4 KiB", "8 KiB"]
    ratios = Chart(
        "gain", "Gain", "", RANKS, ratio_axis("gain"), 0.0, 2.0, (Curve("b", Style(), (mark(2, 1.0),)),), level=1.0
    )
    middle = chart_view(ratios)
    assert middle.level == middle.curves[0].marks[0].y
    assert middle.y_ticks[0][1] == "0.00"


def test_a_curve_without_marks_is_a_line() -> None:
    view = chart_view(chart(Curve("model", Style(marker=""), CURVE.marks)))
    assert view.curves[0].marks == [] and view.curves[0].lines and view.curves[0].shape == SHAPES[""]
    assert view.notes == []


def test_a_mark_is_of_the_reliable_launches_if_there_are_any() -> None:
    rows = pd.DataFrame({
        "t": [1.0, 3.0, 100.0], "t_ci95_low": [0.5, 2.0, 90.0], "t_ci95_high": [1.5, 4.0, 110.0],
        "reliable": [True, True, False],
    })  # fmt: skip
    found = mark_of(8, rows, "t", time_axis("time"))
    assert (found.value, found.low, found.high, found.pale) == (2.0, 0.5, 4.0, False)
    assert found.words == "2 ns [0.5 ns, 4 ns]"
    alone = mark_of(8, rows[2:], "t", ratio_axis("gain"))
    assert (alone.value, alone.pale) == (100.0, True)
    assert sure_values([Curve("a", Style(), (found, alone))]) == (0.5, 100.0)


def test_an_interval_that_is_not_known_is_not_drawn() -> None:
    unknown = Mark(8, 10.0, math.nan, math.nan, "10")
    (shown,) = chart_view(chart(Curve("a", Style(), (unknown,)))).curves[0].marks
    assert (shown.low, shown.high) == (-1, -1)


def test_marks_at_names_stand_side_by_side_and_no_line_joins_them() -> None:
    names = ChartAxis("variant", log=False, words=lambda place: ("mpi", "openmp", "hybrid")[int(place)], named=True)
    marks = tuple(mark(place, 10.0 + place) for place in range(3))
    curves = (Curve("total", Style(), marks), Curve("part", Style(), marks), Curve("bound", Style(marker=""), marks))
    shown = replace(chart(*curves), horizontal=names)
    view = chart_view(shown)
    total, part, bound = view.curves
    assert total.lines == part.lines == [] and not total.joined
    assert len(bound.lines) == 1 and bound.joined
    for (label, words), left, right in zip(view.x_ticks, total.marks, part.marks, strict=True):
        assert left.x < label < right.x, words
        assert right.x - left.x < view.x_ticks[1][0] - view.x_ticks[0][0]
    assert [words for _, words in view.x_ticks] == ["mpi", "openmp", "hybrid"]
    axes = chart_figure(shown).axes[0]
    joined = [line for line in axes.lines if len(line.get_xdata()) > 1]  # type: ignore[arg-type]
    assert len(joined) == 1


@pytest.mark.parametrize(
    ("highest", "words"),
    [
        (33.4 * 2**20, ["0 B", "5 MiB", "10 MiB", "15 MiB", "20 MiB", "25 MiB", "30 MiB"]),
        (900.0, [f"{number} B" for number in range(0, 901, 100)]),
        (2.5 * 2**30, ["0 B", "512 MiB", "1 GiB", "1.5 GiB", "2 GiB", "2.5 GiB"]),
    ],
)
def test_round_sizes_are_multiples_of_binary_units(highest: float, words: list[str]) -> None:
    memory = ChartAxis("memory", log=False, words=size, binary=True)
    shown = replace(chart(CURVE), vertical=memory, low=0.0, high=highest)
    assert [memory.words(value) for value in shown.ticks()] == words
