"""Curves: their numbers are those of the tables, a prediction is called one, and marks say what is wrong."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from postprocess.drawing.look import Look
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
    files = write_maps(gain, points_of(gain), tmp_path / "maps", Look(kinds=("svg", "png", "pdf")))["charts"]
    assert [file.name for file in files if file.suffix == ".svg"] == [
        "curves-Speed-up-by-the-work-done-openmpi-5-0-11-wire-2gbit-ibcast-4-cores-per-rank.svg",
        "curves-From-how-many-cores-giving-one-up-pays-median-over-the-map-openmpi-5-0-11-wire-2gbit-ibcast.svg",
    ]
    assert len(files) == 2 * 3
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
        places = [mark.attrib["transform"] for mark in drawing.iter("path") if "transform" in mark.attrib]
        assert places
        for x, y in (re.findall(r"[\d.]+", place) for place in places):
            assert 0 < float(x) < width and 0 < float(y) < height
    for expected in ("1.20 [1.", "predicted from 4 cores", "Speed-up by the work done"):
        assert any(expected in chart for chart in charts), expected
