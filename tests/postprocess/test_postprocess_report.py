"""The report and the maps: everything is in them, nothing from outside escapes into markup, files appear whole."""

from __future__ import annotations

import hashlib
import html
import json
import math
import re
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from postprocess.drawing import text
from postprocess.drawing.look import USUAL_KINDS, Look
from postprocess.families.nbc_overlap import diagnosis
from postprocess.families.nbc_overlap.maps import legend, sweeps_of
from postprocess.families.nbc_overlap.points import points_of
from postprocess.records.run import load_run
from postprocess.report.html import render_report, write_report
from postprocess.report.verified import observed_in, verified_of
from tests.postprocess import synthetic
from tests.postprocess.synthetic import sweep

HOSTILE = "<script>alert(1)</script>\"'\u2028$x^{$\x1b[2J</style>&amp;{{7*7}}"
ROOT = Path(__file__).parents[2]
VOID = {"meta", "br", "link", "input"}


class Page(HTMLParser):
    """What a test asks of a page: elements with their attributes, text, ids, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def report(run_dir: Path) -> str:
    """Without pictures, which take their time."""
    return render_report(load_run(run_dir))


def test_threads_that_a_library_started_while_it_was_measured_are_told(tmp_path: Path) -> None:
    lines = synthetic.sweep(synthetic.SERIALISED, (8, 16))
    lines[-1]["mpi_thread_cpu_ns"][1].append(500_000_000)
    text = " ".join(Page(report(synthetic.run_folder(tmp_path / "run", [lines]))).text.split())
    assert text.count("started by the library while it was measured: 500 ms of CPU") == 1


def test_cpu_time_is_told_of_the_time_that_a_rank_was_at_its_place(tmp_path: Path) -> None:
    elsewhere = synthetic.sweep(synthetic.SERIALISED, (8,), configuration="async", collective="ireduce")
    for rank, place in enumerate(elsewhere[0]["placement"]):
        place["cpuset"] = place["compute_cpusets"][0] = str(4 + rank)
    elsewhere[-1] |= {"wall_seconds": 100.0, "mpi_thread_cpu_ns": [[7_000_000_000], [7_000_000_000]]}
    both = [
        synthetic.sweep(synthetic.SERIALISED, (8,), configuration="async", collective=c) for c in ("ibcast", "iscan")
    ]
    (found,) = verified_of(observed_in(load_run(synthetic.run_folder(tmp_path / "run", [*both, elsewhere]))))
    assert [(rank.rank, rank.cpuset, rank.threads) for rank in found.ranks] == [
        (0, "0", ["async on 0-1: 6.4 s of CPU in 25.0 s"]),
        (0, "4", ["async on 0-1: 7 s of CPU in 100.0 s"]),
        (1, "1", ["async on 0-1: 6.4 s of CPU in 25.0 s"]),
        (1, "5", ["async on 0-1: 7 s of CPU in 100.0 s"]),
    ]
    (found,) = verified_of(observed_in(load_run(synthetic.run_folder(tmp_path / "cut", [*both, elsewhere[:-1]]))))
    assert found.ranks[0].threads == ["async on 0-1: 6.4 s of CPU in 25.0 s"]
    assert found.ranks[1].threads == ["async on 0-1: CPU time is not known"]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("smoke")
    paths = write_report(synthetic.smoke_run(folder / "run"), folder / "out" / "report.html", look=Look(kinds=("svg",)))
    assert paths[0] == folder / "out" / "report.html"
    assert all(path.stat().st_size for path in paths)
    assert not list((folder / "out").rglob(".*"))
    return folder, paths[0].read_text(encoding="utf-8")


def test_report_is_well_formed_and_self_contained(smoke: tuple[Path, str]) -> None:
    page = Page(smoke[1])
    assert page.open == []
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert not {"img", "iframe", "link", "object", "form"} & {tag for tag, _ in page.elements}
    assert not [a for _, a in page.elements if "src" in a or "style" in a or any(name.startswith("on") for name in a)]
    for href in (link["href"] for link in page.all("a") if "href" in link):
        assert href[1:] in ids if href.startswith("#") else (smoke[0] / "out" / href).is_file()
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    (style,) = re.findall(r"<style>(.*?)</style>", smoke[1], flags=re.DOTALL)
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (script,) = re.findall(r"<script>(.*?)</script>", smoke[1], flags=re.DOTALL)
    own = (ROOT / "postprocess" / "drawing" / "templates" / "report.js").read_text(encoding="utf-8")
    assert script == own
    allowed = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; script-src 'sha256-{allowed}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function|fetch|XMLHttp|import", own)
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style
    assert "@media (max-width" in style


def test_cells_are_accessible(smoke: tuple[Path, str]) -> None:
    page = Page(smoke[1])
    ids = {a["id"]: tag for tag, a in page.elements if "id" in a}
    cells = [a for a in page.all("td") if "headers" in a]
    # A map of r_overhead, r_comm and r_comp_slowdown each; beside basic two more, against it.
    assert len(cells) == 9 * (3 * 3 + 3 * 5)
    assert len(page.all("caption")) == 24
    for cell in cells:
        assert [ids[name] for name in cell["headers"].split()] == ["th", "th"]
    links = [a["href"] for a in page.all("a") if a.get("href", "").startswith("#p") and a["href"][2:].isdigit()]
    assert len(links) == len(cells) - 5  # one point is missing
    assert {ids[link[1:]] for link in links} == {"tr"}
    assert page.all("html")[0]["lang"] == "en"


def test_the_look_is_the_one_asked_for(tmp_path: Path) -> None:
    run_dir = synthetic.run_folder(tmp_path / "run", [sweep(grid=(8,))])
    paths = write_report(
        run_dir, tmp_path / "out" / "r.html", tmp_path / "a b" / "maps", Look("safe", True, kinds=USUAL_KINDS)
    )
    page = Page(paths[0].read_text(encoding="utf-8"))
    assert page.all("html")[0]["data-palette"] == "safe"
    assert "data-dim" in page.all("html")[0]
    pictures = [unquote(a["href"]) for a in page.all("a") if a.get("href", "").endswith((".svg", ".png"))]
    assert len(pictures) == 10
    assert {(tmp_path / "out" / link).resolve() for link in pictures} == {path.resolve() for path in paths[1:]}


def timed_run(folder: Path, cache: str = "warm") -> Path:
    """Three points, each with something to tell of how it was measured, the last one without a clock."""
    clock = {"method": "interpolated", "residual_ns": 412.0, "synchronisations": 3, "drift_ppm": -12.46}
    drift = {"comm": {"change_relative": 0.31, "p_value": 0.0001}, "comp": {"change_relative": -0.004, "p_value": 0.5}}
    points = [
        synthetic.point(
            0, recalibrations=1, discarded_repetitions=9, clock=clock, reference_drift=drift, buffer_sets=6
        ),
        synthetic.point(1, comm_ns=32_000_000, stop_reason="late", late_repetitions=40, clock=clock),
        synthetic.without_clock(synthetic.point(2, comm_ns=8_000_000, discarded_repetitions=4)),
    ]
    lines = [synthetic.header(), *points, synthetic.footer(3, clock_refusal="rank 1's clock stepped by 3 ms")]
    lines[0]["clock"] |= {"method": "interpolated", "clocks": 2, "rounds": 3, "drift_ppm": 11.0}
    lines[0]["plan"]["parameters"]["cache"] = [cache]
    lines[-1] |= {"clock_residual_ns": 1234.0, "clock_synchronisations": 9, "clock_synchronisation_seconds": 0.52}
    return synthetic.run_folder(folder, [lines])


def test_a_refused_record_shows_why(tmp_path: Path) -> None:
    lines = synthetic.refused("one rank only: there is nothing to communicate with", ranks=1)
    page = Page(report(synthetic.run_folder(tmp_path / "run", [lines])))
    assert "records/000.jsonl: one rank only: there is nothing to communicate with" in page.text
    assert "incomplete: one rank only" in page.text
    assert any(a.get("title", "").startswith("the record ends before this point: one rank") for a in page.all("a"))
    assert "No point was measured." in page.text


def hostile_run(folder: Path) -> Path:
    """Every string that comes from outside is hostile, the keys of open mappings too."""
    keys = ("benchmark", "toolchain", "provider", "network", "mpi_library_version", "mpi_standard")
    names: dict[str, Any] = dict.fromkeys(keys, HOSTILE)
    records = [sweep(grid=(8, 16), host=HOSTILE, **names)]
    records.append(sweep(grid=(8, 16), host=HOSTILE, configuration=HOSTILE, collective=HOSTILE, **names))
    for lines in records:
        lines[0]["command_line"] = [HOSTILE]
        lines[0]["environment"] = {HOSTILE: HOSTILE}
        lines[0]["build"] |= {"compiler": HOSTILE, "flags": HOSTILE}
        lines[0]["clock"] |= {"method": HOSTILE, "refusal": HOSTILE}
        lines[0]["plan"]["parameters"]["cache"] = [HOSTILE]
        lines[0]["placement"][0] |= {"cpuset": HOSTILE, "compute_cpusets": [HOSTILE]}
        lines[0]["placement"][0]["mpi_threads"] = [{"name": HOSTILE, "cpuset": HOSTILE}]
        lines[1] |= {"stop_reason": HOSTILE, "start_method": HOSTILE}
        lines[1]["clock"] |= {"method": HOSTILE, "residual_ns": None}
        lines[2]["own"]["comm_calibration"]["status"] = HOSTILE
        lines[-1] |= {"complete": False, "reason": HOSTILE, "clock_refusal": HOSTILE}
    trouble = {**synthetic.case(sweep(toolchain=HOSTILE, network="shm"), None, HOSTILE, HOSTILE), "message": HOSTILE}
    words = ("run", "system", "suite", "status", "started_utc", "reframe_command")
    changes: dict[str, Any] = dict.fromkeys(words, HOSTILE)
    return synthetic.run_folder(
        folder,
        records,
        [trouble],
        **changes,
        notes=[HOSTILE],
        host={HOSTILE: HOSTILE, "name": HOSTILE},
        campaign={HOSTILE: HOSTILE},
        toolchains=[{"toolchain": HOSTILE, "packages": [{"name": HOSTILE, "sha256": HOSTILE}]}],
        checksums={HOSTILE: HOSTILE},
    )


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    source = report(hostile_run(tmp_path / "run"))
    page = Page(source)
    assert page.open == []
    assert page.all("script") == [{}]
    assert source.count("</style>") == 1
    assert "alert(1)" not in html.unescape(re.sub(r"<style>.*?</style>|&lt;script&gt;alert\(1\)", "", source))
    assert "<script>alert(1)</script>" in page.text
    assert "{{7*7}}" in page.text
    assert not [c for c in source if not c.isprintable() and c != "\n"]
    assert {tag for tag, a in page.elements if any(name.startswith("on") for name in a)} == set()


def test_a_grid_of_microseconds_to_a_second(tmp_path: Path) -> None:
    grid = [500_000 * 2**i for i in range(12)]
    lines = sweep(grid=(1,))
    points = [synthetic.point(i, comm_ns=x, comp_ns=y) for i, (x, y) in enumerate((x, y) for x in grid for y in grid)]
    lines[0]["plan"]["points"] = 144
    lines[0]["plan"]["parameters"] |= {"comm_target_ns": grid, "comp_target_ns": grid}
    run_dir = synthetic.run_folder(tmp_path / "run", [[lines[0], *points, synthetic.footer(144)]])
    source = report(run_dir)
    assert len([a for a in Page(source).all("td") if "headers" in a]) == 3 * 144
    for label in ("500 µs", "1.02 s", "64 ms"):
        assert label in source


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text('{"schema": "mpi-campaign.manifest"}'),
        lambda folder: (folder / "manifest.json").write_text(
            json.dumps(
                {"schema": "mpi-campaign.manifest"}
                | dict.fromkeys(("cases", "toolchains", "notes", "host", "campaign", "checksums", "command_line"), 7)
            )
        ),
        lambda folder: (folder / "manifest.json").write_text(
            json.dumps(
                {"schema": "mpi-campaign.manifest", "host": {"name": None}}
                | {key: [None, {}, "x", [1]] for key in ("cases", "toolchains", "notes", "command_line")}
            )
        ),
        lambda folder: [file.unlink() for file in folder.glob("records/*")],
        lambda folder: [file.write_text("nonsense\n") for file in folder.glob("records/*")],
        lambda folder: [file.write_text(file.read_text().split("\n")[0]) for file in folder.glob("records/*")],
    ],
)
def test_any_run_folder_has_a_report(tmp_path: Path, damage: Any) -> None:
    run_dir = synthetic.run_folder(tmp_path / "run", [sweep(grid=(8, 16))])
    damage(run_dir)
    page = Page(report(run_dir))
    assert page.open == []
    assert "How to read this" in page.text


def test_a_case_that_failed_shows_its_whole_message_below_its_reason(tmp_path: Path) -> None:
    lines = sweep(grid=(8, 16))
    said = "mpiexec: cannot start <b>it</b>\n    indented\x1b[2J\n" + "x" * 9000
    told = {**synthetic.case(lines, None, "fail", "there is no ssh"), "message": said}
    other = synthetic.case(sweep(grid=(8, 16), configuration="async"), None, "fail", "no progress thread")
    odd = {**synthetic.case(sweep(grid=(8, 16), configuration="dedicated"), None, "fail", "odd"), "message": [1, 2]}
    source = report(synthetic.run_folder(tmp_path / "run", [lines], [told, other, odd]))
    assert (
        source.count("<summary>All that it said</summary>") == 1
    )  # of the others, as in older manifests, none is kept
    (shown,) = re.findall(r"All that it said</summary><pre>\n(.*?)</pre>", source, re.DOTALL)
    assert shown.startswith(
        "mpiexec: cannot start &lt;b&gt;it&lt;/b&gt;\n    indented\N{REPLACEMENT CHARACTER}[2J\nxxx"
    )
    assert len(shown) < 6000
    assert source.index("there is no ssh") < source.index("mpiexec: cannot start")


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    missing = synthetic.case(sweep(collective="ireduce"), None, "missing", "interrupted")
    run_dir = synthetic.run_folder(tmp_path / "run", [sweep(grid=(8,))], [missing], status="incomplete")
    text_of = Page(report(run_dir)).text
    assert "the run is marked incomplete" in text_of
    assert "1 case is missing" in text_of
    assert "missing: interrupted" in text_of


def test_records_with_the_same_fault_share_a_line(tmp_path: Path) -> None:
    collectives = ("ibcast", "ireduce", "iscan")
    cut = [sweep(collective=one, grid=(8,))[:-1] for one in collectives]
    text_of = Page(report(synthetic.run_folder(tmp_path / "run", cut, status="incomplete"))).text
    each = "3 records, from records/000.jsonl to records/002.jsonl, each: no footer: the measurement was cut off"
    assert each in text_of
    assert text_of.index("the run is marked incomplete") < text_of.index(each)


def test_every_cell_with_a_value_has_a_diagnosis_or_a_mark_that_says_there_is_none(tmp_path: Path) -> None:
    run = load_run(synthetic.run_folder(tmp_path / "run", [sweep(grid=(8, 16))]))
    points = points_of(run).assign(
        diagnosis=[diagnosis.SERIALISED, diagnosis.UNRELIABLE, diagnosis.UNRELIABLE, diagnosis.OVERLAP],
        reliable=[True, True, False, True],
    )
    (found,) = sweeps_of(run, points)
    assert [cell.signs for cell in found.cells.values()] == ["s", "U", "?", "o"]
    assert [letter for letter, _ in legend([found])] == ["o", "s", "?", "U"]


def test_durations() -> None:
    shown = [text.duration(ns) for ns in (0, 7.5, 999, 999_600, 8_000_000, 16_384_000, 1_024_000_000, math.nan)]
    assert shown == ["0 ns", "7.5 ns", "999 ns", "1 ms", "8 ms", "16.4 ms", "1.02 s", "-"]


def test_changes_and_drifts() -> None:
    shown = [text.change(x) for x in (0.18, -0.004, 0.0, -0.0001, 0.021, -0.09949, 0.0995, 1.5, math.nan)]
    assert shown == ["+18 %", "-0.4 %", "0 %", "0 %", "+2.1 %", "-9.9 %", "+10 %", "+150 %", "-"]
    assert [text.drift(x) for x in (12.46, -0.0314, 0.0, 123.0, math.nan)] == [
        *("12 ppm", "0.031 ppm", "0 ppm", "120 ppm", "-")
    ]


def test_sizes_and_ratios() -> None:
    assert [text.size(n) for n in (0, 12, 1024, 1536 * 1024, 3 << 30)] == ["0 B", "12 B", "1 KiB", "1.5 MiB", "3 GiB"]
    assert [text.ratio(x) for x in (-0.001, 0.184, 1.0, 123.4, math.nan)] == ["0.00", "0.18", "1.00", "123", "-"]
    assert [text.percent(x) for x in (0.234, -0.004, -0.02, math.nan)] == ["23 %", "0 %", "-2 %", "-"]
    assert text.clean("a\x00b\nc\u202e") == "a\ufffdb c\ufffd"


@pytest.mark.parametrize(
    ("network", "nodes", "sent", "says"),
    [
        ("native", 2, 2_400_000_000, "had to go between nodes: they went over TCP"),
        ("native", 2, 4_000, "had to go between nodes: they went over something else"),
        ("native", 1, 4_000, ""),
        ("native", 2, None, ""),
        ("wire:2gbit", 1, 2_400_000_000, "they went over TCP"),
        ("shm", 1, 4_000, ""),
    ],
)
def test_what_went_between_nodes_is_held_against_what_tcp_carried(
    tmp_path: Path, network: str, nodes: int, sent: int | None, says: str
) -> None:
    """A fast network that the library did not use is seen, where nobody knows which one it should have been."""
    lines = sweep(grid=(8,), network=network, nodes=nodes)
    for rank in lines[0]["placement"]:
        rank["node"] = rank["rank"] % nodes
    lines[-1]["tcp_bytes_sent"] = [sent, sent]
    told = Page(report(synthetic.run_folder(tmp_path / "run", [lines]))).text
    assert ("had to go between nodes" in told) is bool(says)
    assert says in told
