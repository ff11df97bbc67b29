"""What `show` and `report` answer where a run lacks what is asked for, or a record of it is damaged: alike for every
family of benchmarks."""

from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

from mpi_campaign.archive import first_screen, rendering
from mpi_campaign.archive.matrices import fitted
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.archive.window import Window
from postprocess.drawing.columns import aligned
from postprocess.families import registry
from postprocess.records.run import Run, load_run
from tests.archives import EVERY, archived, name_of
from tests.support import Command, refused

FAMILIES = ("nbc_overlap", "mpi_impact", "partitioned", "cpu_overhead", "hybrid", "hybrid_kernels", "sync_overlap")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return archived(tmp_path, name_of(1), **EVERY)


@pytest.mark.parametrize("words", [(), ("--json",)], ids=("table", "JSON"))
def test_what_a_run_has_no_record_of_is_refused_with_what_it_has(
    inside: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    run = str(archived(tmp_path, name_of(1)).path)
    for name in ("hybrid", "hybrid_kernels", "cpu_overhead", "loggp", "peers", "osu"):
        refused(
            inside("show", run, "--benchmark", name, *words),
            f"run {name_of(1)} has no record of {name}; it has nbc_overlap (overlap of nonblocking collectives)",
        )
    refused(inside("show", run, "--impact", *words), "has no record of mpi_impact")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_damaged_record_is_named_and_the_rest_is_shown(
    inside: Command, run: RunFolder, tmp_path: Path, family: str
) -> None:
    loaded = load_run(run.path)
    path = registry.read(loaded, registry.BY_NAME[family]).records[0].path
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[1][: len(lines[1]) // 2] + "\n", *lines[2:]]))
    page = tmp_path / "report.html"
    commands: list[tuple[str, ...]] = [("show",)]
    if family == "hybrid":  # the others are alike
        commands += [("show", "--json"), ("show", "--provenance"), ("report", "-o", str(page))]
    for command, *words in commands:
        done = inside(command, str(run.path), *words)
        assert done.returncode == 1, done.stderr
        told = [line for line in done.stderr.splitlines() if line.startswith("campaign: ")]
        assert len(told) == 1 and path.name in told[0], done.stderr
        assert done.stdout
    assert page.is_file() == (family == "hybrid")


def test_a_run_that_grows_may_have_a_record_that_is_being_written(inside: Command, run: RunFolder) -> None:
    run.partial.parent.mkdir(parents=True, exist_ok=True)
    run.archived.rename(run.partial)
    path = next(iter(sorted((run.partial / "records").glob("*.jsonl"))))
    path.write_text("{")
    done = inside("show", str(run.partial))
    assert done.returncode == 0
    assert path.name in done.stderr


def test_the_first_screen_names_every_family_and_fits_a_window_without_a_terminal(
    inside: Command, run: RunFolder
) -> None:
    done = inside("show", str(run.path))
    lines = done.stdout.splitlines()
    loaded = load_run(run.path)
    for family in registry.FAMILIES:
        if not registry.found(loaded, family).table.empty:
            assert any(line.lower().startswith(family.title.lower()) for line in lines), family.name
    assert max(map(len, lines)) <= 80 or all(str(run.path.parent) in line for line in lines if len(line) > 80)
    assert "\x1b" not in done.stdout
    assert lines[-1].endswith("--points") and "report" in lines[-2]


def test_points_are_had_as_a_table_and_as_comma_separated_values(inside: Command, run: RunFolder) -> None:
    table = registry.found(load_run(run.path), registry.MAIN).table
    read = pd.read_csv(StringIO(inside("show", str(run.path), "--csv").stdout))
    assert list(read.columns) == list(table.columns)
    assert read["t_measured_ns"].tolist() == table["t_measured_ns"].tolist()
    ibcast = inside("show", str(run.path), "--points", "--collective", "ibcast").stdout
    assert sum(" ibcast " in line for line in ibcast.splitlines()) >= int((table["collective"] == "ibcast").sum()) > 0
    refused(inside("show", str(run.path), "--collective", "nothing"), "has no point of 'nothing'; it has: ")


def test_a_table_is_cut_to_the_window_and_a_sentence_is_not() -> None:
    row = ["openmpi", *(f"{number}.00" for number in range(12))]
    table = aligned(["toolchain", *"abcdefghijkl"], [row, [*row[:1], *row[:0:-1]]], set(range(1, 13)))
    sentence = "A sentence that is longer than the window is wide, and that nobody wants to read cut off."
    head, *lines = fitted(f"{table}\n{sentence}", 40)
    assert head == "toolchain openmpi" and all(len(line) <= 40 for line in lines)
    assert [line[-1] for line in lines[:3]] == ["…"] * 3 and lines[0].split()[:2] == ["a", "b"]
    assert " ".join(" ".join(lines[3:]).split()) == sentence
    assert fitted(f"{table}\n{sentence}", 400) == [*table.splitlines(), sentence]


def test_the_first_screen_of_a_finished_run_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_screen, "STATE", tmp_path / "state")
    folder = archived(tmp_path, name_of(1))
    narrow, wide = (Window(width, is_terminal=False, paint=lambda text, _: text) for width in (80, 200))
    read: list[RunFolder] = []

    def load(of: RunFolder) -> Run:
        read.append(of)
        return load_run(of.path)

    monkeypatch.setattr(rendering, "load", load)
    shown = [first_screen.read(folder, on).lines for on in (narrow, narrow, wide, wide)]
    assert shown[0] == shown[1] != shown[2] == shown[3] and len(read) == 2
    next(folder.records_folder.glob("*.jsonl")).write_text("damaged")
    assert first_screen.read(folder, narrow).problems and len(read) == 3
