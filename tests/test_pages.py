"""What a family shows of a made-up run, as text: what `show` prints of it, and its part of the report.

`data/pages/<family>.txt` is how it was when somebody last looked at it. Where a change is meant, remove the file: the
test writes it anew, and its difference is looked at before it is committed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from postprocess.drawing.matrix import matrix_text, notes, sentences
from postprocess.families import registry
from postprocess.records.run import Run, load_run
from postprocess.report.html import render_report
from tests.postprocess import (
    synthetic,
    synthetic_cpu_overhead,
    synthetic_guidelines,
    synthetic_hybrid,
    synthetic_hybrid_kernels,
    synthetic_impact,
    synthetic_partitioned,
    synthetic_sync_overlap,
    synthetic_transfer_overlap,
    synthetic_whole_machine,
)
from tests.postprocess.synthetic_cpu_overhead import SLEEPS
from tests.postprocess.synthetic_hybrid import FASTER
from tests.postprocess.synthetic_partitioned import EARLY
from tests.postprocess.synthetic_sync_overlap import COPIED, HELPED, PULLED
from tests.postprocess.synthetic_transfer_overlap import OVERLAPS, SERIALISED
from tests.postprocess.test_postprocess_report import Page, timed_run
from tests.support import check_record

FEW = synthetic_sync_overlap.Sweep(sizes=(0, 65536, 1048576))
PAGES = ROOT / "tests" / "data" / "pages"
Lines = list[dict[str, Any]]


def _hybrid() -> list[Lines]:
    truth = replace(FASTER, by_size={800: 1.2}, ratio_noise=0.002)
    settings = ("usual", "shared_memory")
    words = (("bcast", "allreduce"), ("spin", "barrier"), (8, 800, 1048576))
    return [synthetic_hybrid.record(truth, *words, asked={"intranode": one}) for one in settings]


RECORDS: dict[str, Callable[[], Sequence[Lines]]] = {
    "nbc_overlap": lambda: [
        synthetic.sweep(grid=(8, 16)),
        synthetic.sweep(synthetic.PERFECT, grid=(8, 16), configuration="async"),
    ],
    "mpi_impact": lambda: [synthetic_impact.synthetic(16, synthetic_impact.slowed(1.1))],
    "partitioned": lambda: [
        synthetic_partitioned.record("part", sizes=synthetic_partitioned.SIZES[::2]),
        synthetic_partitioned.record("many", replace(EARLY, times_slower=1.5), sizes=synthetic_partitioned.SIZES[::2]),
        synthetic_partitioned.record(
            "layer", sizes=synthetic_partitioned.SIZES[-2:], aggregations=(0, 4096), ratios=(0,)
        ),
    ],
    "cpu_overhead": lambda: [
        synthetic_cpu_overhead.record(SLEEPS, operations=("barrier", "bcast"), works=(0.625, 0.3125)),
        synthetic_cpu_overhead.messages_record(),
    ],
    "transfer_overlap": lambda: [
        synthetic_transfer_overlap.record(OVERLAPS),
        synthetic_transfer_overlap.record(SERIALISED, configuration="async"),
    ],
    "sync_overlap": lambda: [
        synthetic_sync_overlap.record(PULLED, FEW),
        synthetic_sync_overlap.record(COPIED, FEW, protocol="copied"),
        synthetic_sync_overlap.record(HELPED, FEW, configuration="async"),
        synthetic_sync_overlap.record(PULLED, FEW, send="late"),
    ],
    "hybrid": _hybrid,
    "hybrid_kernels": lambda: [synthetic_hybrid_kernels.record()],
    "guidelines": lambda: [
        synthetic_guidelines.record({"gather_by_allgather": 1.9}, launch=launch) for launch in (1, 2, 3)
    ],
    "whole_machine": lambda: [
        synthetic_whole_machine.record(slow_nodes={3: 1.6}, slow_links={5: 2.0}, launch=launch) for launch in (1, 2, 3)
    ],
}


def text_of(run: Run) -> str:
    """The text of a report, and what pointers and screen readers are told, a line for each piece. Without the findings
    of papers, whose sentences are data."""
    page = Page(re.sub(r'<section id="findings">.*?</section>', "", render_report(run), flags=re.S))
    told = [words for _, one in page.elements for name, words in one.items() if name in ("title", "aria-label")]
    return "\n".join((*filter(None, (" ".join(text.split()) for text in page.texts)), "", *dict.fromkeys(told), ""))


def check(name: str, found: str) -> None:
    page = PAGES / f"{name}.txt"
    if not page.exists():
        page.parent.mkdir(exist_ok=True)
        page.write_text(found, encoding="utf-8")
        pytest.fail(f"{page} was written anew: look at it")
    assert found == page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RECORDS)
def test_a_family_shows_what_it_showed(tmp_path: Path, name: str) -> None:
    for path in synthetic.written(tmp_path / "run" / "records", RECORDS[name]()):
        check_record(path)
    run, family = load_run(tmp_path / "run"), registry.BY_NAME[name]
    found = registry.found(run, family)
    assert found.table["valid"].all() and not (*run.problems, *registry.problems(run))[1:]  # it has no manifest
    cells, untold = registry.cells(run, family)
    assert cells and not untold
    matrix = "\n".join([*matrix_text(cells, 110), *sentences(cells), *notes(cells)])
    check(name, f"{matrix}\n\n{family.text(found)}\n\n{text_of(run)}")


@pytest.mark.parametrize(
    ("name", "made"), [("with trouble", partial(synthetic.smoke_run, grid=(8, 16))), ("with clocks", timed_run)]
)
def test_a_whole_report_says_what_it_said(tmp_path: Path, name: str, made: Callable[[Path], Path]) -> None:
    """Of cases that failed or were skipped, records that were cut, and all that is told of how it was timed."""
    check(name, text_of(load_run(made(tmp_path / "run"))))
