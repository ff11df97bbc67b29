"""`campaign compare`: sides found in an archive, verdicts, forms and exit codes; what names nothing is refused."""

import hashlib
import itertools
import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign.archive import consistency, earlier_launches, run_folders, store
from mpi_campaign.errors import CampaignError
from mpi_campaign.verdicts import comparing, sides
from postprocess.statistics import effects
from postprocess.verdicts.history import manifest_changes
from tests.archives import archived, crash, fail, name_of
from tests.support import Command, refused

TEXT = st.text(max_size=5)
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXT)
BOTH = ("openmpi@4.1.8", "openmpi@5.0.11")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nights 1 to 3 alike, 4 slower by a tenth, 5 with two versions, and another system."""
    root = tmp_path_factory.mktemp("archive")
    for day in (1, 2, 3):
        archived(root, name_of(day))
    archived(root, name_of(4), factor=1.1)
    archived(root, name_of(5), toolchains=BOTH, slower={BOTH[1]: 1.1}, launches=5)
    archived(root, name_of(2, 1), system="there", factor=1.2)
    return root


def test_a_run_against_the_one_before_it(root: Path, campaign: Command, inside: Command) -> None:
    done = campaign("compare", name_of(3), name_of(4), "--output", str(root))
    assert done.returncode == 1, done.stderr
    assert f"{name_of(4)} against {name_of(3)}: 16 slower, 0 faster, 0 slightly different, 8 same" in done.stdout
    back = inside("compare", name_of(4), name_of(3), "--output", str(root))
    assert back.returncode == 0
    assert "0 slower, 16 faster" in back.stdout
    alike = inside("compare", name_of(2), name_of(3), "--output", str(root))
    assert alike.returncode == 0
    assert "0 slower, 0 faster, 0 slightly different, 24 same" in alike.stdout


def test_the_newest_run_is_named_before_another_is_measured(root: Path) -> None:
    assert sides.pinned("here,last~1", root) == f"here,here/{name_of(4)}"
    assert sides.parse(sides.pinned("here,last~1", root), root).runs == sides.parse("here,last~1", root).runs
    assert sides.pinned("openmpi@5.0.11,async", root) == "openmpi@5.0.11,async"


def test_a_run_says_what_its_launches_can_tell_once_earlier_runs_know_it(tmp_path: Path) -> None:
    cases = [{"benchmark": "nbc_overlap", "network": "wire:2gbit", "repeat": 3}]
    known = []
    for day in (1, 2, 3):
        system = archived(tmp_path, name_of(day), launches=3).system
        known.append(earlier_launches.tellable_lines(system, tmp_path, cases) != [earlier_launches.NOT_KNOWN])
    assert known == [False, False, True]


def test_versions_side_by_side_in_the_newest_run_that_has_both(root: Path, inside: Command) -> None:
    done = inside("compare", *BOTH, "--output", str(root), "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["verdicts"]["slower"] == 16
    assert {(case["launches_a"], case["launches_b"]) for case in document["cases"]} == {(5, 5)}


def test_what_a_run_has_counts_case_by_case_unless_it_still_grows(tmp_path: Path, inside: Command) -> None:
    runs = [archived(tmp_path, name_of(day), toolchains=BOTH, launches=1) for day in (1, 2, 3)]
    for run in runs[1:]:
        crash(run, "ireduce")
    with run_folders.growing(runs[2]):
        done = inside("compare", *BOTH, "--output", str(tmp_path), "--json")
        assert json.loads(done.stdout)["runs_a"] == [f"here/{name_of(2)}"]
    assert f"run {name_of(2)} is not complete" in done.stderr
    found = json.loads(inside("compare", "..2026-11-01", "2026-11-02..", "--output", str(tmp_path), "--json").stdout)
    assert found["runs_b"] == [f"here/{name_of(day)}" for day in (2, 3)]
    assert {case["collective"] for case in found["cases"]} == {"ibcast"}


def test_nights_against_nights(tmp_path: Path, inside: Command) -> None:
    """A night is the unit then, and too few of them tell nothing, however many launches each has."""
    for day in range(1, 8):
        archived(tmp_path, name_of(day), factor=1.1 if day > 4 else 1.0)
    done = inside("compare", "..2026-11-04", "2026-11-05..", "--output", str(tmp_path), "--markdown")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("**slower**") == 16
    found = json.loads(inside("compare", "..2026-11-02", "2026-11-05..", "--json", "--output", str(tmp_path)).stdout)
    assert (found["unit"], found["verdicts"]["cannot tell"]) == ("run", 24)
    assert "too few runs" in next(iter(found["cannot_tell"]))


def test_systems_by_their_newest_runs(root: Path, inside: Command) -> None:
    done = inside("compare", name_of(3), "there", "--output", str(root))
    assert done.returncode == 1, done.stderr
    assert "16 slower" in done.stdout
    assert "note: each side is one run" in done.stdout


def test_a_newest_run_that_is_damaged_is_named_and_so_are_those_that_are_compared(
    tmp_path: Path, inside: Command
) -> None:
    archived(tmp_path, name_of(1), launches=6)
    for day in (2, 3):
        archived(tmp_path, name_of(day), system="there", factor=1.2, launches=6)
    (tmp_path / "there" / name_of(3) / "points.parquet").write_bytes(b"changed")
    done = inside("compare", "here", "there", "--output", str(tmp_path))
    assert f"{name_of(3)}: points.parquet" in done.stderr
    assert f"there: run there/{name_of(2)}" in done.stdout
    found = json.loads(inside("compare", "here", "there", "--json", "--output", str(tmp_path)).stdout)
    assert found["runs_b"] == [f"there/{name_of(2)}"]


def test_tables_whose_manifest_tells_nothing_are_not_believed(tmp_path: Path, inside: Command) -> None:
    for day in (1, 2):
        archived(tmp_path, name_of(day))
    manifest = tmp_path / "here" / name_of(1) / "manifest.json"
    manifest.write_text(manifest.read_text() + "}")
    done = inside("compare", name_of(1), name_of(2), "--output", str(tmp_path))
    refused(done, f"{name_of(1)}: manifest.json: cannot be read")


def test_two_files_are_not_written_into_one(root: Path, tmp_path: Path, inside: Command) -> None:
    one = str(tmp_path / "one")
    refused(inside("compare", "last~1", "last", "--output", str(root), "--html", one, "--junit", one), "is also --")
    assert not Path(one).exists()


def test_what_only_one_side_names_is_no_difference(root: Path, inside: Command) -> None:
    """Of a run with two libraries and one with one: those of the same library are compared, and no others."""
    done = inside("compare", name_of(5), f"{name_of(3)},openmpi@5.0.11", "--output", str(root), "--json")
    found = json.loads(done.stdout)
    assert {case["toolchain"] for case in found["cases"]} == {"openmpi@5.0.11"}
    assert {case["toolchain"] for case in found["only_in_a"]} == {"openmpi@4.1.8"}


@pytest.mark.parametrize("then_slow", [False, True])
def test_two_libraries_that_were_measured_again_are_held_against_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, then_slow: bool
) -> None:
    """Where the library of A is as slow the second time, it was the machine."""
    both = ("openmpi@5.0.10", "openmpi@5.0.11")
    for day in (1, 2, 3):
        slower = {both[1]: 1.5} | ({both[0]: 1.5} if then_slow and day == 3 else {})
        archived(tmp_path, name_of(day), toolchains=both, slower=slower, launches=6)
    words = (f"{name_of(1)},{both[0]}", f"{name_of(2)},{both[1]}")
    asked = comparing.ComparisonRequest(words, metrics=("t_measured_ns",), again=name_of(3))
    assert comparing.run(asked, tmp_path, "", {}) == (0 if then_slow else 1)
    assert (", 0 confirmed" if then_slow else ", 0 not confirmed") in capsys.readouterr().out


def test_more_than_two_sides_make_a_matrix(root: Path, tmp_path: Path, inside: Command) -> None:
    names = [name_of(day) for day in (1, 3, 4)]
    done = inside("compare", *names, "--output", str(root))
    assert done.returncode == 1, done.stderr
    assert "16 / 0 / 24" in done.stdout
    assert " 0 / 0 / 24" in done.stdout
    assert done.stdout.count("\nslower") == 32
    assert f"{names[2]} against {names[0]}: 16 slower" in done.stdout
    found = json.loads(inside("compare", *names, "--json", "--output", str(root)).stdout)
    pairs = list(itertools.combinations(names, 2))
    assert [(one["a"], one["b"]) for one in found["pairs"]] == pairs
    assert found["sides"] == names
    cells = {(one, two): cell for one, row in found["matrix"].items() for two, cell in row.items()}
    assert list(cells) == pairs
    counts = {"slower": 16, "faster": 0, "slightly different": 0, "same": 8, "cannot tell": 0, "compared": 24}
    assert cells[names[1], names[2]] == counts
    target = tmp_path / "matrix.xml"
    assert inside("compare", *names, "--junit", str(target), "--output", str(root)).returncode == 1
    suites = ElementTree.parse(target).getroot()
    assert [suite.get("name") for suite in suites] == [f"{b} against {a}" for a, b in pairs]
    assert [(suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("24", "0"),
        ("24", "16"),
        ("24", "16"),
    ]
    marked = inside("compare", *names, "--markdown", "--output", str(root)).stdout
    assert marked.splitlines()[:4] == [
        f"| against | {names[1]} | {names[2]} |",
        "| --- | --- | --- |",
        f"| {names[0]} | 0 / 0 / 24 | 16 / 0 / 24 |",
        f"| {names[1]} |  | 16 / 0 / 24 |",
    ]
    assert marked.count("**slower**") == 32
    every = inside("compare", *names, "--markdown", "--all", "--output", str(root)).stdout
    assert every.count("**slower**") == 32
    assert every.count("\n| ") == marked.count("\n| ") + 40 + 2  # 72 cases; a pair without a change has a head now


def test_the_false_discovery_rate_is_that_of_all_pairs(root: Path, inside: Command) -> None:
    names = [name_of(day) for day in (1, 3, 4)]
    found = json.loads(inside("compare", *names, "--json", "--output", str(root)).stdout)
    rows = [case for one in found["pairs"] for case in one["cases"] if case["p_value"] is not None]
    adjusted = effects.false_discovery_adjusted([case["p_value"] for case in rows])
    assert [case["q_value"] for case in rows] == pytest.approx(list(adjusted))


def test_a_build_server_gets_a_file(root: Path, tmp_path: Path, inside: Command) -> None:
    target = tmp_path / "a b.xml"
    done = inside("compare", name_of(3), name_of(4), "--junit", str(target), "--output", str(root))
    assert done.returncode == 1
    assert ElementTree.parse(target).getroot().get("failures") == "16"
    full = inside("compare", name_of(3), name_of(4), "--junit", "/dev/full", "--output", str(root))
    refused(full, "/dev/full cannot be written (No space left on device)")


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["last"], ["two sides at least"]),
        (["last", "nothing"], ["there is no run 'nothing'", "configuration", "2026-11-01"]),
        (["last", "opnmpi"], ["'opnmpi' is no run", "did you mean openmpi"]),
        (["openmpi@5.0.1", "openmpi@4.1.8"], ["no run has openmpi@5.0.1; there are: openmpi@5.0.11, "]),
        (["last", "2026-13-01.."], ["'2026-13-01' is no date", "month"]),
        (["last", "2026-11-05..2026-11-04"], ["the first date is after the last one"]),
        (["openmpi@5.0.11,mpich@5.0.2", "last"], ["names two of one kind", "mpich@5.0.2"]),
        (["openmpi@4.1.8", "mpich@5.0.2"], ["no run has mpich@5.0.2", "openmpi@4.1.8", "openmpi@5.0.11"]),
        (["last", "last,mpich@5.0.2"], ["side 'last,mpich@5.0.2' has no launches"]),
        (["last", "last~1", "--metric", "speed"], ["there is no metric 'speed'", "t_measured_ns"]),
        (["last", "last~1", "--least-ratio", "0"], ["0 is no least ratio"]),
        (["last", "last~1", "--rate", "nan"], ["no false-discovery rate"]),
        (["baseline", "last"], ["baseline", "no system has references"]),
        ([",", "last"], ["names no side"]),
        (["last~1", "last~1"], ["sides 'last~1' and 'last~1' have", "launches in common"]),
        (["openmpi@5.0.11", "basic"], ["launches in common", "narrow them"]),
        (["last,openmpi@4.1.8", name_of(1)], ["have no case in common", f"only in {name_of(1)}: openmpi@5.0.11"]),
        ([name_of(1), name_of(2), "--metric", "r_mpi_impact"], ["no case of", "has r_mpi_impact"]),
        (["last", "last~1", "--within", "async"], ["--within 'async' names more than runs"]),
        (["last", "last~99"], ["there is no run 'last~99'"]),
        (["last", "last~1", "--json", "--markdown"], ["--json and --markdown"]),
    ],
)
def test_bad_input_is_one_line(root: Path, inside: Command, words: list[str], fragments: list[str]) -> None:
    refused(inside("compare", *words, "--output", str(root)), *fragments)


def test_a_run_that_cannot_be_read_loses_no_other(tmp_path: Path, inside: Command) -> None:
    for day in (1, 2, 3):
        archived(tmp_path, name_of(day))
    (tmp_path / "here" / name_of(1) / "samples.parquet").write_bytes(b"PAR1 not")  # its checksum says so
    done = inside("compare", "2026-11-01..2026-11-02", name_of(3), "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "24 same" in done.stdout
    assert f"{name_of(1)}: samples.parquet" in done.stderr
    shutil.rmtree(tmp_path / "here" / name_of(2))
    alone = inside("compare", "2026-11-01..2026-11-02", name_of(3), "--output", str(tmp_path))
    refused(alone, "side '2026-11-01..2026-11-02' has no launches", "its checksum differs")


def test_runs_that_do_not_fit_together_are_named_and_hide_nothing_else(tmp_path: Path, inside: Command) -> None:
    for day in (1, 2, 3, 4):
        ends = {1: "03", 2: "01", 3: "03", 4: "03"}[day]
        began = "2026-11-03T02:59:00Z" if day == 4 else f"2026-11-{day:02d}T02:00:00Z"
        sessions = [{"began_utc": began, "ended_utc": f"2026-11-{day:02d}T{ends}:00:00Z"}]
        host = {"name": "node-0", "cpu": "Some CPU" if day < 4 else "Another", "cores": 2}
        of_second = "Odd CPU" if day == 4 else "Some CPU"
        nodes = [{"host": {"name": name, "cpu": cpu}} for name, cpu in (("n1", "Some CPU"), ("n2", of_second))]
        archived(tmp_path, name_of(day), manifest={"sessions": sessions, "host": host, "nodes": nodes})
    shutil.copytree(tmp_path / "here" / name_of(1), tmp_path / "here" / name_of(9))
    done = inside("compare", "..2026-11-03", "2026-11-04..", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "nothing can be told, of 24 comparisons" in done.stdout  # of four nights in all
    verified = inside("results", "verify", "--output", str(tmp_path)).stdout
    names = {day: f"here/{name_of(day)}" for day in (1, 2, 3, 4, 9)}
    for said in (
        f"run {names[9]} is left out: it is a copy of {names[1]}",
        f"run {names[2]} ended at 2026-11-02T01:00:00Z, before it began",
        f"runs {names[3]} and {names[4]} overlap in time on node-0",
        "system here has runs of different machines",
        "system here has runs on nodes of different CPUs, their times are not of one: Some CPU (n1, n2), Odd CPU (n2)",
    ):
        assert said in done.stderr
        assert said in verified
    archived(tmp_path, name_of(10), manifest={"later_run": name_of(4)})
    said = inside("compare", "..2026-11-03", "2026-11-04..", "--output", str(tmp_path)).stderr
    assert f"run here/{name_of(10)} began when {name_of(4)}, of a later time, was there already" in said
    alone = inside("compare", name_of(1), name_of(9), "--output", str(tmp_path))
    refused(alone, f"side '{name_of(9)}' has no launches", "it is a copy of")


@given(st.data())
def test_a_manifest_of_anything_hides_no_run(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever stands in it, what is asked of manifests alone ends, without an exception."""
    whole = {
        "checksums": {"records/a.jsonl": "sha256:0"}, "host": {"name": "a", "cpu": "b", "cores": 2},
        "sessions": [{"began_utc": "2026", "ended_utc": "2027"}], "cases": [{"result": "pass"}], "suite": "smoke",
        "status": "complete", "toolchains": [{"toolchain": "x@1", "packages": [{"name": "x", "version": "1"}]}],
        "seen": {"nodes": ["a"], "variables": {"x@1": {"OMP": ["1"]}}, "builds": {"x@1": {"flags": ["-O3"]}}},
        "later_run": name_of(2),
    }  # fmt: skip
    name = data.draw(st.sampled_from(sorted(whole)))
    junk = data.draw(st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner)))
    changed = {**whole, name: junk}
    folder = tmp_path / "results" / "here" / name_of(1)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(changed))
    runs = list(run_folders.runs(tmp_path / "results"))
    assert consistency.together(runs)[0] == runs
    assert [one.run for one in store.entries(tmp_path / "results")] == [name_of(1)]
    assert manifest_changes(whole, changed) is not None
    assert all("\n" not in fault for fault in store.faults(runs[0]))


def test_tables_of_an_older_version_are_made_again_from_the_records(tmp_path: Path, inside: Command) -> None:
    for day in (1, 2):
        archived(tmp_path, name_of(day))
    before = inside("compare", name_of(1), name_of(2), "--json", "--output", str(tmp_path)).stdout
    for name in ("points.parquet", "samples.parquet"):
        path = tmp_path / "here" / name_of(1) / name
        pq.write_table(pq.read_table(path).drop_columns(["collective"]), path)
        manifest = path.with_name("manifest.json")
        document = json.loads(manifest.read_text())
        document["checksums"][name] = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        manifest.write_text(json.dumps(document))
    assert inside("compare", name_of(1), name_of(2), "--json", "--output", str(tmp_path)).stdout == before


def test_tables_of_two_runs_are_not_mixed(tmp_path: Path, inside: Command) -> None:
    for day, collectives in ((1, 3), (2, 2)):
        archived(tmp_path, name_of(day), launches=collectives)
    other = tmp_path / "here" / name_of(2) / "samples.parquet"
    other.write_bytes((tmp_path / "here" / name_of(1) / "samples.parquet").read_bytes())
    manifest = other.with_name("manifest.json")
    document = json.loads(manifest.read_text())
    del document["checksums"]["samples.parquet"]
    manifest.write_text(json.dumps(document))
    done = inside("compare", name_of(1), name_of(2), "--output", str(tmp_path))
    assert done.returncode == 2
    assert "are not of one run" in done.stderr


@pytest.mark.parametrize("tables", [True, False])
def test_what_was_not_what_was_asked_for_is_left_out_and_what_missed_a_reference_is_not(
    tmp_path: Path, inside: Command, tables: bool
) -> None:
    runs = [archived(tmp_path, name_of(day), factor=1 + day / 10) for day in (1, 2)]
    if not tables:
        (runs[1].path / "points.parquet").unlink()
    words = ("compare", name_of(1), name_of(2), "--json", "--output", str(tmp_path))
    fail(runs[1], "ibcast", "performance")
    done = inside(*words)
    assert {case["collective"] for case in json.loads(done.stdout)["cases"]} == {"ibcast", "ireduce"}
    fail(runs[1], "ibcast", "sanity")
    done = inside(*words, "--junit", str(tmp_path / "a.xml"))
    missing = [
        case for case in ElementTree.parse(tmp_path / "a.xml").iter("testcase") if case.get("classname") == "missing"
    ]
    assert ["ibcast" in str(case.get("name")) and case.find("skipped") is not None for case in missing] == [True]
    document = json.loads(done.stdout)
    assert {case["collective"] for case in document["cases"]} == {"ireduce"}
    assert {case["collective"] for case in document["only_in_a"]} == {"ibcast"}
    assert done.stderr.count("is left out in 3 launches, it failed: no progress thread") == 1


def test_what_was_simulated_is_compared_with_nothing(tmp_path: Path, inside: Command) -> None:
    """Whether the records say so themselves, or only their library does."""
    marks: list[dict[str, Any]] = [
        {"network": "simulated"}, {"network": "simulated"}, {"mpi_library_version": "SMPI Version 3.32"},
    ]  # fmt: skip
    names = [archived(tmp_path, name_of(day), launches=1, **mark).run for day, mark in enumerate(marks, 1)]
    where = ("--output", str(tmp_path))
    for pair in itertools.combinations(names, 2):
        done = inside("compare", *pair, *where)
        assert done.returncode == 2
        assert "has no launches" in done.stderr
    history = inside("history", *where)
    assert history.returncode == 2
    assert history.stderr.count("what was simulated is left out: simulated times are not compared") == 3
    assert "no run has a launch" in history.stderr
    criteria = tmp_path / "criteria.yaml"
    criteria.write_text("criteria: [{name: it serialises, metric: r_overhead, at_least: 0.8}]\n")
    for name in names:
        done = inside("accept", name, "--criteria", str(criteria), *where)
        refused(done, "is simulated; only measured times are accepted")
    refused(inside("baseline", *names, *where), "no reference can be made of these runs", "x simulated")


def test_last_is_of_one_system(root: Path) -> None:
    assert [run_folders.find(name, root).run for name in ("last", "last~1", "last~4")] == [
        name_of(day) for day in (5, 4, 1)
    ]
    assert run_folders.find("there/last", root) == run_folders.find("last", root, "there")
    for words in ("there,last", "last,there"):
        assert [run.run for run in sides.parse(words, root).runs or ()] == [name_of(2, 1)]
    with pytest.raises(CampaignError, match="there is no run 'last~5'"):
        run_folders.find("last~5", root)  # the sixth run is of another system


def test_the_bare_name_of_a_library_is_its_newest_version_there(root: Path, inside: Command) -> None:
    done = inside("compare", "openmpi@4.1.8", "openmpi", "--output", str(root), "--json")
    assert json.loads(done.stdout)["b"] == BOTH[1]
    assert f"openmpi is {BOTH[1]}" in done.stderr
    refused(inside("compare", "openmpi", "intel", "--output", str(root)), "there is no run 'intel'", *BOTH)


def test_two_kept_runs_are_compared_case_by_case(inside: Command) -> None:
    runs = ("20261126T104932Z-d8d782", "20261126T140147Z-56b94e")
    compared = inside("compare", *runs, "--metric", "recv_over_wait", "--json")
    assert compared.returncode in (0, 1), compared.stderr
    cases = json.loads(compared.stdout)["cases"]
    assert cases and {case["metric"] for case in cases} == {"recv_over_wait"}
    assert {"protocol", "send", "message_bytes"} <= set(cases[0])
