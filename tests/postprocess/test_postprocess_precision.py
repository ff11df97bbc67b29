"""How well this project measures: numbers on records whose right answer is known, the page, the pictures."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from postprocess.quality import precision, precision_plot, precision_text, stop_rules
from postprocess.quality.precision import NOT_JUDGED, NOT_MEASURED, NOT_REACHED, REACHED, Precision, PrecisionRecords
from postprocess.quality.precision_text import BEGIN, END, PageError
from postprocess.records.fields import RecordError
from tests.postprocess import synthetic_selfcheck as synthetic

RUN = {"toolchain": "openmpi@5.0.11", "started_utc": "2026-01-01T00:00:00Z", "commit": "abc", "command": "figures"}
TRUTH = {
    "faults": "offset_s=3,drift_ppm=40", "hold_seconds": 10.0, "error_at_once_ns": 30, "error_of_deadline_ns": 40,
    "residual_at_once_ns": 70, "start_imbalance_ns": list(range(100)), "late": 2, "error_after_hold_ns": 300,
    "residual_after_hold_ns": 350, "residual_without_drift_ns": 400_000, "error_of_interpolation_ns": 60,
    "method": "interpolated", "refusal": "",
}  # fmt: skip


def residuals(at_once: float, later: float, clocks: int) -> dict[str, Any]:
    looks = [(0, at_once), (10, later)]
    return synthetic.clock(
        clocks=clocks,
        method="shared" if clocks == 1 else "interpolated",
        residuals=[
            {"after_seconds": after, "with_drift_ns": value, "without_drift_ns": 2 * value} for after, value in looks
        ],
    )


def long_series(spread: float, seed: int) -> list[int]:
    values = 500_000 * (1 + spread * np.random.default_rng(seed).standard_normal(1 + 2 * stop_rules.LONGEST))
    return [int(value) for value in values]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole run on a machine that is quiet."""
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    starts = [
        synthetic.start("deadline", range(1, 1001), [5000]),
        synthetic.start("mpi_barrier", range(1000, 101_000, 100)),
        synthetic.start("dissemination", range(500, 50_500, 50)),
    ]
    for number in (1, 2, 3):
        lines = [synthetic.header(), residuals(50 + number, 100, 1), *starts, synthetic.footer()]
        synthetic.write(tmp_path / f"within-{number:02}.jsonl", lines)
    lines = [synthetic.header(nodes=2), residuals(900, 2500, 2), *starts, synthetic.footer()]
    synthetic.write(tmp_path / "between-01.jsonl", lines)
    for name in ("truth-within-01", "truth-between-01"):
        (tmp_path / f"{name}.json").write_text(json.dumps(TRUTH))
    for number in range(11):
        works = synthetic.launch({target: target * (1 + number / 1000) for target in synthetic.TARGETS_NS})
        synthetic.write(tmp_path / f"launch-{number:02}.jsonl", [synthetic.header(), *works, synthetic.footer()])
    kinds = ("computation", "communication")
    series = [synthetic.work(kind, 500_000, long_series(0.01, seed)) for seed, kind in enumerate(kinds)]
    synthetic.write(tmp_path / "series-500us-01.jsonl", [synthetic.header(), *series, synthetic.footer()])
    return tmp_path


def precision_of(folder: Path) -> tuple[Precision, PrecisionRecords]:
    records = precision.load(folder)
    return precision.summarise(records), records


def tables(page: str) -> list[list[list[str]]]:
    """Every Markdown table as rows of cells; the line below the head is checked and left out."""
    found = []
    for block in re.findall(r"(?:^\|.*\|$\n?)+", page, re.MULTILINE):
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block.strip().splitlines()]
        assert len({len(row) for row in rows}) == 1, block
        assert set(rows[1]) == {"---"}
        found.append([rows[0], *rows[2:]])
    return found


@pytest.mark.parametrize("percent", [50, 95, 99])
@pytest.mark.parametrize("count", [20, 500])
def test_the_interval_of_a_percentile_covers_it_as_often_as_it_says(percent: int, count: int) -> None:
    truth = float(stats.expon.ppf(percent / 100))
    random = np.random.default_rng(percent + count)
    found = [precision.quantile_interval(random.exponential(size=count), percent) for _ in range(2000)]
    covered = np.mean([one.low <= truth <= one.high for one in found])
    assert covered > 0.94
    assert all(one.low <= one.value <= one.high for one in found)


def test_a_percentile_that_no_sample_bounds_is_open() -> None:
    known = precision.quantile_interval(range(1, 21), 99)
    assert (known.value, known.high) == (20, math.inf)
    assert math.isnan(precision.quantile_interval([], 50).value)


def test_every_aim_is_held_against_its_own_number(folder: Path) -> None:
    found, _ = precision_of(folder)
    held = {one.what: one for one in precision.aims(found)}
    assert held["residual, at once, within a node"].values[0][1] == precision.Known(52, 51, 53)
    assert held["residual, at once, within a node"].verdict == REACHED
    assert held["residual, at once, between nodes"].verdict == REACHED
    assert held["residual, after 10 s, between nodes"].verdict == NOT_REACHED
    assert held["true error, artificial clocks, after 10 s, between nodes"].values[0][1].value == 300
    assert held["start imbalance p95, within a node"].values[0][1].value == 950
    assert held["variation of launches, computation"].verdict == REACHED
    assert held["interval of the median at the adaptive stop, communication"].verdict == REACHED
    speed = held["OSU's 1000 repetitions / adaptive stop, computation"]
    assert speed.verdict == REACHED
    assert speed.values[0][1].low > 3


def test_what_was_not_measured_is_said(folder: Path) -> None:
    for path in (*folder.glob("*between*"), *folder.glob("series*"), *folder.glob("launch-0[4-9]*")):
        path.unlink()
    (folder / "run.json").write_text(json.dumps({**RUN, "no_nodes": "no user namespaces"}))
    found, records = precision_of(folder)
    for held in precision.aims(found, records.no_nodes):
        if any(word in held.what for word in ("between", "adaptive")):
            assert held.verdict == NOT_MEASURED, held
        if "launches" in held.what:
            assert held.verdict == NOT_JUDGED, held
    page = precision_text.part_of_page(found, records, {})
    assert "no user namespaces" in page
    assert "fewer than ten launches | not judged |" in page


def test_a_run_that_left_nothing_is_a_page_all_the_same(folder: Path) -> None:
    for path in folder.glob("*-*"):
        path.unlink()
    found, records = precision_of(folder)
    assert {one.verdict for one in precision.aims(found)} == {NOT_MEASURED}
    assert tables(precision_text.part_of_page(found, records, {}))
    assert precision_plot.write_pictures(found, folder / "pictures") == {}


def test_a_partial_run_says_so_and_judges_nothing_that_it_did_not_come_to(folder: Path) -> None:
    for path in (*folder.glob("within*"), *folder.glob("between*"), *folder.glob("truth*"), *folder.glob("series*")):
        path.unlink()
    for path in sorted(folder.glob("launch*"))[1:]:
        path.unlink()
    works = [synthetic.work("computation", target, [target] * 20) for target in (500_000, 4_000_000)]
    works.append(synthetic.work("communication", 500_000, [500_000] * 20))
    synthetic.write(folder / "launch-00.jsonl", [synthetic.header(), *works])
    (folder / "run.json").write_text(json.dumps({**RUN, "interrupted": "interrupted in launch 1 of 27"}))
    found, records = precision_of(folder)
    page = precision_text.part_of_page(found, records, {})
    assert "### Values" not in page
    assert page.index("**Partial: interrupted in launch 1 of 27") < page.index("### Provenance")
    assert "not held for" not in page
    assert "### Clock" not in page
    for held in precision.aims(found, records.no_nodes, records.interrupted):
        if "variation of launches" in held.what:
            assert [target for target, _ in held.values] == ["500000", "4000000"]
        else:
            assert (held.verdict, held.missing) == (NOT_MEASURED, "interrupted before it")
    (folder / "launch-00.jsonl").unlink()
    found, records = precision_of(folder)
    assert "too little was measured" in precision_text.part_of_page(found, records, {})
    assert precision_text.verdict_lines(found, records) == []


def test_a_busy_machine_is_said_before_the_tables(folder: Path) -> None:
    (folder / "run.json").write_text(json.dumps({**RUN, "busy": "other programs took 15 % before"}))
    found, records = precision_of(folder)
    page = precision_text.part_of_page(found, records, {})
    assert page.index("**The machine was busy: other programs took 15 % before") < page.index("### ")
    assert len(precision_text.warnings(found, records)) == 1


def test_what_is_not_reached_says_what_varies(folder: Path) -> None:
    for number, path in enumerate(sorted(folder.glob("launch*"))):
        works = synthetic.launch({target: target * (1 + number / 50) for target in synthetic.TARGETS_NS})
        synthetic.write(path, [synthetic.header(), *works, synthetic.footer()])
    found, records = precision_of(folder)
    page = precision_text.part_of_page(found, records, {})
    assert "- computation, launches: even the fastest repetition varies" in page


def test_every_rule_is_asked_of_every_series(folder: Path) -> None:
    found, _ = precision_of(folder)
    assert [(one.kind, one.rule) for one in found.stops] == [
        (kind, rule) for kind in ("computation", "communication") for rule in stop_rules.NAMES
    ]
    for one in found.stops:
        assert len(one.replays) + one.unended == 2
        if one.rule == stop_rules.FIXED_1000:
            assert [replay.repetitions for replay in one.replays] == [1100, 1100]
            assert [replay.seconds for replay in one.replays] == pytest.approx([0.55, 0.55], rel=0.01)


def test_artificial_clocks_are_told_apart_from_those_that_were_found(folder: Path) -> None:
    found, _ = precision_of(folder)
    true = [one for one in found.clocks if not math.isnan(one.true.value)]
    assert {(one.where, one.what) for one in true} == {
        (where, f"artificial: {TRUTH['faults']}") for where in ("within", "between")
    }
    assert [one.without_drift.value for one in true if one.after_seconds == 10] == [400_000, 400_000]


def test_the_page_has_its_tables_and_the_pictures_open(folder: Path) -> None:
    found, records = precision_of(folder)
    drawn = precision_plot.write_pictures(found, folder / "pictures")
    assert set(drawn) == set(precision_text.PICTURES)
    for path in drawn.values():
        root = ElementTree.parse(path).getroot()
        assert root.tag.endswith("svg")
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: ?(?:\w+ )?([\d.]+)px", path.read_text())]
        assert sizes
        assert min(sizes) >= 9
    page = precision_text.part_of_page(found, records, {name: f"x/{name}.svg" for name in drawn})
    assert len(tables(page)) == 6
    assert precision_text.rules_csv(found).count("\n") == 1 + len(found.stops)
    assert page.count("![") == 4
    assert "abc" in page


def test_the_part_is_written_anew_and_the_rest_stays() -> None:
    page = f"# Title\n\nprose\n\n{BEGIN}\nold\n{END}\n\nmore\n"
    once = precision_text.into_page(page, "new\n")
    assert once == f"# Title\n\nprose\n\n{BEGIN}\n\nnew\n\n{END}\n\nmore\n"
    assert precision_text.into_page(once, "new") == once
    for wrong in ("prose", f"{END} {BEGIN}", BEGIN):
        with pytest.raises(PageError, match="figures: begin"):
            precision_text.into_page(wrong, "new")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(RecordError, match=r"run\.json"):
        precision.load(tmp_path / "nothing")
    (folder / "truth-within-01.json").write_text("{")
    with pytest.raises(RecordError, match="truth-within"):
        precision.load(folder)
