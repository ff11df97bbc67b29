"""Curves: their numbers are those of the tables, a prediction is called one, and marks say what is wrong."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

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
    edges_of_times,
    ratio_axis,
    solid_and_pale,
    sure_values,
    time_axis,
)
from postprocess.drawing.look import Look
from postprocess.drawing.text import size
from postprocess.families.launch_marks import mark_of
from postprocess.families.nbc_overlap.break_even import break_even_table
from postprocess.families.nbc_overlap.charts import charts
from postprocess.families.nbc_overlap.map_plot import write_maps
from postprocess.families.nbc_overlap.points import points_of
from postprocess.families.nbc_overlap.summary import summarise
from postprocess.records.run import Run, load_run
from postprocess.report.html import render_report
from tests.postprocess import synthetic
from tests.postprocess.synthetic import Behaviour, sweep

CORES = 4


def dedicated(speedup: float, threads: int = CORES) -> list[dict[str, Any]]:
    """A sweep in which all points but for noise are so much faster than a serialising basic, with a core given up."""
    # On the diagonal basic takes 2 units: 1 + r_overhead = 2 / speedup.
    behaviour = Behaviour(2 / speedup - 1, comm=0.05, noise=1e-4)
    progress = {"source": "library", "pinned_by": "library", "given_up_cores": 1}
    return sweep(behaviour, grid=(16,), configuration="dedicated", threads_per_rank=threads - 1, progress=progress)


def test_charts_of_nothing(tmp_path: Path) -> None:
    run = load_run(synthetic.smoke_run(tmp_path / "run"))
    assert list(charts(points_of(run))) == []


@pytest.fixture
def gain(tmp_path: Path) -> Run:
    basic = sweep(Behaviour(1.0, noise=1e-4), grid=(16,), threads_per_rank=CORES)
    return load_run(synthetic.run_folder(tmp_path / "gain-run", [basic, dedicated(1.6)]))


def test_gain_of_a_core_given_up(gain: Run) -> None:
    over_sizes, over_cores = charts(points_of(gain))
    (curve,) = over_sizes.curves
    assert curve.name == "dedicated"
    (mark,) = curve.marks
    assert over_sizes.horizontal.words(mark.place) == "16 ms"
    assert mark.value == pytest.approx(1.6 * (CORES - 1) / CORES, rel=1e-3)
    assert mark.low <= mark.value <= mark.high

    predicted, measured = over_cores.curves
    assert not predicted.style.marker and measured.style.marker
    values = {mark.place: mark.value for mark in predicted.marks}
    # It pays from n > s / (s - 1) = 2.67 cores on.
    assert values[2] == pytest.approx(0.8, rel=1e-3)
    assert values[4] == pytest.approx(1.2, rel=1e-3)
    assert values[128] == pytest.approx(1.6 * 127 / 128, rel=1e-3)
    assert [(mark.place, mark.value) for mark in measured.marks] == [(4, values[4])]
    assert (predicted.name, measured.name) == ("dedicated, predicted from 4 cores", "dedicated, measured")
    assert all(chart.low < mark.low and mark.high < chart.high for chart in (over_sizes,) for mark in curve.marks)


def on_cores(lines: list[dict[str, Any]], cores: int) -> list[dict[str, Any]]:
    """As a run with several numbers of cores per rank has it."""
    lines[0]["metadata"] = {"case": {"cores_per_rank": cores}}
    return lines


def test_a_run_on_several_numbers_of_cores_measures_from_how_many_giving_one_up_pays(tmp_path: Path) -> None:
    """With speed-ups of 1.4, 1.5 and 1.6 on 2, 4 and 8 cores, by work 0.7, 1.125 and 1.4."""
    basic = Behaviour(1.0, noise=1e-4)
    records = [
        on_cores(lines, cores)
        for cores, speedup in ((2, 1.4), (4, 1.5), (8, 1.6))
        for lines in (sweep(basic, grid=(16,), threads_per_rank=cores), dedicated(speedup, cores))
    ]
    run = load_run(synthetic.run_folder(tmp_path / "run", records))
    points = points_of(run)
    *over_sizes, over_cores = charts(points)
    assert [chart.title.rpartition(", ")[2] for chart in over_sizes] == [f"{n} cores per rank" for n in (2, 4, 8)]
    assert [curve.name for chart in over_sizes for curve in chart.curves] == ["dedicated"] * 3
    *predicted, measured = over_cores.curves
    assert [curve.name for curve in predicted] == [f"dedicated, predicted from {n} cores" for n in (2, 4, 8)]
    found = {mark.place: mark.value for mark in measured.marks}
    assert found == pytest.approx({2: 0.7, 4: 1.125, 8: 1.4}, rel=1e-3)
    table = break_even_table(points)
    assert {tuple(cores) for cores in table["pays_on_cores"]} == {(4, 8)}
    assert {tuple(cores) for cores in table["does_not_pay_on_cores"]} == {(2,)}
    assert [one.configuration for one in summarise(points)] == [
        f"{name}, {cores} cores per rank" for cores in (2, 4, 8) for name in ("basic", "dedicated")
    ]
    assert "dedicated, 4 cores per rank" in render_report(run)


def test_charts_of_mpi_test(tmp_path: Path) -> None:
    def tested(overhead: float, interval_ns: int) -> list[dict[str, Any]]:
        lines = sweep(Behaviour(overhead, noise=1e-4), grid=(8, 16))
        lines[0]["plan"]["parameters"]["test_interval_ns"] = [interval_ns]
        return lines

    run = load_run(
        synthetic.run_folder(tmp_path / "run", [tested(1.0, 0), tested(0.6, 1_000_000), tested(0.3, 100_000)])
    )
    points = points_of(run)
    assert set(points["test_interval_ns"]) == {0, 1_000_000, 100_000}
    (chart,) = charts(points)
    assert list(map(chart.horizontal.words, chart.places)) == ["never", "1 ms", "100 µs"]
    (curve,) = chart.curves
    assert [mark.value for mark in curve.marks] == pytest.approx([1.0, 0.6, 0.3], abs=1e-2)


def test_curves_of_mpi_test_tell_what_their_medians_hide(tmp_path: Path) -> None:
    def tested(overhead: float, interval_ns: int, **header: Any) -> list[dict[str, Any]]:
        lines = sweep(Behaviour(overhead, noise=1e-4), grid=(8, 16), **header)
        lines[0]["plan"]["parameters"]["test_interval_ns"] = [interval_ns]
        return lines

    cut_off = tested(0.6, 1_000_000, oversubscribed=True)[:-1]
    run = load_run(synthetic.run_folder(tmp_path / "run", [tested(1.0, 0), cut_off, tested(0.3, 100_000)]))
    (chart,) = charts(points_of(run))
    (curve,) = chart.curves
    assert [mark.words.partition("; ")[2] for mark in curve.marks] == ["", "oversubscribed; incomplete", ""]
    assert [mark.pale for mark in curve.marks] == [False, True, False]

    alone = [tested(1.0, 0, configuration="async"), tested(0.3, 100_000, configuration="async")]
    run = load_run(synthetic.run_folder(tmp_path / "alone", alone))
    (chart,) = charts(points_of(run))
    (curve,) = chart.curves
    assert {mark.words.partition("; ")[2] for mark in curve.marks} == {"no basic at 4 of 4; shared core"}
    assert "where that can be" in chart.title
    page = render_report(run)
    assert (
        page.count("no basic at 4 of 4; shared core") == 2 * 2 + 1
    )  # beside the mark, in the table, and below the chart

    # Half as long computing as basic does: what hides nothing looks like overlap against basic's references.
    fast = tested(1.0, 100_000)
    for line in fast[1:-1]:
        for name in ("t_measured_ns", "t_comp_ref_ns", "t_comm_ref_ns"):
            line["series"][name] = [value // 2 for value in line["series"][name]]
    run = load_run(synthetic.run_folder(tmp_path / "fast", [tested(1.0, 0), fast]))
    (chart,) = charts(points_of(run))
    (curve,) = chart.curves
    assert curve.marks[-1].words.endswith("own references at 4 of 4, faster than basic's")


def test_the_curve_over_cores_tells_what_its_medians_hide(tmp_path: Path) -> None:
    basic = sweep(Behaviour(1.0, noise=1e-4), grid=(16,), threads_per_rank=CORES)
    lines = dedicated(1.6)
    lines[0]["oversubscribed"] = True
    run = load_run(synthetic.run_folder(tmp_path / "run", [basic, lines]))
    _, over_cores = charts(points_of(run))
    assert {mark.words.partition("; ")[2] for curve in over_cores.curves for mark in curve.marks} == {
        "oversubscribed; shared core"
    }


def test_charts_are_drawn(gain: Run, tmp_path: Path) -> None:
    files = write_maps(gain, points_of(gain), tmp_path / "maps", Look(kinds=("svg", "pdf")))["charts"]
    assert [file.name for file in files if file.suffix == ".svg"] == [
        "curves-Speed-up-by-the-work-done-openmpi-5-0-11-wire-2gbit-ibcast-4-cores-per-rank.svg",
        "curves-From-how-many-cores-giving-one-up-pays-median-over-the-map-openmpi-5-0-11-wire-2gbit-ibcast.svg",
    ]
    assert len(files) == 2 * 2
    shown = [" ".join(ET.parse(file).getroot().itertext()) for file in files if file.suffix == ".svg"]
    for words in shown:
        assert "run 20261121T010203Z-ab12cd; system local" in words
    for expected in ("16 ms", "dedicated", "shared core (dedicated at 16 ms)"):
        assert expected in shown[0]
    for expected in ("128", "dedicated, predicted from 4 cores", "dedicated, measured"):
        assert expected in shown[1]


def test_charts_stand_in_the_report(gain: Run) -> None:
    charts = re.findall(r"<figure.*?</figure>", render_report(gain), flags=re.DOTALL)
    assert len(charts) == 2
    for chart in charts:
        drawing = ET.fromstring(chart[chart.index("<svg") : chart.index("</svg>") + 6])
        width, height = (float(part) for part in drawing.attrib["viewBox"].split()[2:])
        places = [re.findall(r"[\d.]+", mark.attrib["d"])[:2] for mark in drawing.iter("path")]
        assert places
        for x, y in places:
            assert 0 < float(x) < width and 0 < float(y) < height
    for expected in ("1.20 [1.", "predicted from 4 cores", "Speed-up by the work done"):
        assert any(expected in chart for chart in charts), expected


# -- curves ------------------------------------------------------------------------------------------------------------


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


def test_an_interval_of_a_time_that_reaches_below_0_is_drawn_to_the_edge() -> None:
    """Few launches that differ much have one."""
    curves = (Curve("a", Style(), (Mark(8, 10.0, -5.0, 25.0, "10"), Mark(16, 20.0, 15.0, 25.0, "20"))),)
    low, high = edges_of_times(curves)
    assert (low, high) == (10 / 1.5, 25 * 1.5)
    view = chart_view(replace(chart(*curves), vertical=time_axis("time"), low=low, high=high))
    first, second = view.curves[0].marks
    assert first.low > second.low > second.y > second.high >= 0
    assert view.y_ticks


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
