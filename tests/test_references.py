"""`campaign baseline`: of which runs references are made, what they are, and what then uses them."""

import functools
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from mpi_campaign import ROOT
from mpi_campaign.archive import references, run_folders
from mpi_campaign.verdicts import baseline, sides
from postprocess.families import registry
from postprocess.families.nbc_overlap.record import load_overlap, message_sizes
from tests.archives import archived, fail, name_of
from tests.postprocess import synthetic
from tests.support import Command, refused

OF_SIZES = next(bound.metric for bound in registry.MAIN.bounds if bound.of_sizes)
KEY = "smoke.2x1.openmpi-5_0_11.wire_2gbit.basic.nbc_overlap"


@pytest.fixture
def systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone's systems/, with one that is called as those of the synthetic archives."""
    for module in (references, sides):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "systems" / "here").mkdir(parents=True)
    return tmp_path / "systems"


def bounds(systems: Path) -> dict[str, dict[str, list[Any]]]:
    document = yaml.safe_load((systems / "here" / references.FILE).read_text())["nbc_overlap"]
    assert document.pop("$index") == [references.INDEX]
    found: dict[str, dict[str, list[Any]]] = document
    return found


def test_references_are_bounds_of_what_three_runs_had(systems: Path, tmp_path: Path, inside: Command) -> None:
    root = tmp_path / "results"
    names = [archived(root, name_of(day)).run for day in (1, 2, 3)]
    single = [archived(root, name_of(day), launches=1).run for day in (4, 5)]
    refused(inside("baseline", *single, "--output", str(root)), "fewer than 3 launches have it")
    done = inside("baseline", *names, "--output", str(root))
    assert done.returncode == 0, done.stderr
    assert "4 references from 3 runs" in done.stdout
    found = bounds(systems)
    assert set(found) == {f"{KEY}.{collective}" for collective in ("ibcast", "ireduce")}
    bound = found[f"{KEY}.ibcast"]["r_overhead"]
    assert [bound[0], bound[1], bound[3]] == [0, None, "ratio"]
    assert 1.05 < bound[2] < 1.25  # it serialises, and 0.1 more is what counts
    assert references.runs_of("here") == names


@pytest.mark.parametrize("count", [3, 6, 20])
@pytest.mark.parametrize("better", ["smaller", "larger"])
def test_a_reference_is_rarely_exceeded_by_chance_however_few_values_made_it(count: int, better: str) -> None:
    bound = next(one for family in registry.FAMILIES for one in family.bounds if one.better == better)
    bound = replace(bound, absolute=False, margin=0.0)
    rng, side = np.random.default_rng(count), {"smaller": 1, "larger": -1}[better]
    exceeded = []
    for values in 1 + 0.02 * rng.normal(size=(2000, count + 1)):
        value, low, high, _ = baseline.reference_of(bound, values[1:])
        exceeded.append(side * values[0] > side * value * (1 + (low or high)))
    assert 0.035 < np.mean(exceeded) < 0.065


def test_one_good_night_is_a_baseline(systems: Path, tmp_path: Path, inside: Command) -> None:
    root = tmp_path / "results"
    night = archived(root, name_of(1)).run
    done = inside("baseline", night, "--output", str(root))
    assert done.returncode == 0, done.stderr
    assert 1.05 < bounds(systems)[f"{KEY}.ibcast"]["r_overhead"][2] < 1.25
    later = archived(root, name_of(2), factor=1.5).run
    compared = inside("compare", "baseline", later, "--metric", "t_measured_ns", "--output", str(root))
    assert compared.returncode == 1, compared.stdout + compared.stderr  # slower


def test_what_overlaps_better_than_perfectly_still_has_a_bound_that_reframe_takes(
    systems: Path, tmp_path: Path, inside: Command
) -> None:
    root = tmp_path / "results"
    names = [archived(root, name_of(day), overhead=-0.4).run for day in (1, 2, 3)]
    assert inside("baseline", *names, "--output", str(root)).returncode == 0
    assert bounds(systems)[f"{KEY}.ibcast"]["r_overhead"] == [0, None, 0.1, "ratio"]


def test_a_run_with_many_launches_weighs_no_more_than_another(systems: Path, tmp_path: Path, inside: Command) -> None:
    root = tmp_path / "results"
    names = [archived(root, name_of(day), noise=0.0).run for day in (1, 2)]
    names.append(archived(root, name_of(3), noise=0.0, overhead=0.5, launches=20).run)
    assert inside("baseline", *names, "--output", str(root)).returncode == 0
    assert bounds(systems)[f"{KEY}.ibcast"]["r_overhead"][2] > 1.0


def test_what_is_no_measure_of_the_machine_is_left_out(systems: Path, tmp_path: Path, inside: Command) -> None:
    root = tmp_path / "results"
    words = ("--output", str(root))
    names = [archived(root, name_of(day), oversubscribed=True).run for day in (1, 2, 3)]
    refused(inside("baseline", *names, *words), "no reference can be made", "oversubscribed")
    other = archived(root, name_of(4), system="there")
    refused(inside("baseline", names[0], str(other.path), *words), "references are of one system", "here, there")
    partial = run_folders.start(root, "here")
    run_folders.write_manifest(partial, {})
    refused(inside("baseline", partial.run, *words), "is incomplete")
    partial.session.rmdir()
    (systems / "here").rmdir()
    good = [archived(root, name_of(day)).run for day in (5, 6, 7)]
    refused(inside("baseline", *good, *words), "there is no systems/here/", "systems init here")


def test_what_was_worse_than_the_old_reference_makes_the_next_one(
    systems: Path, tmp_path: Path, inside: Command
) -> None:
    """Else references would know only what they let pass; what was not what was asked for makes none."""
    root = tmp_path / "results"
    runs = [archived(root, name_of(day)) for day in (1, 2, 3)]
    for run in runs:
        fail(run, "ibcast", "performance")
        fail(run, "ireduce", "sanity")
    done = inside("baseline", *(run.run for run in runs), "--output", str(root))
    assert done.returncode == 0, done.stderr
    assert list(bounds(systems)) == [f"{KEY}.ibcast"]
    assert "9 x failed, or was not measured" in done.stdout + done.stderr


def test_runs_of_references_are_a_side_and_are_not_pruned(systems: Path, tmp_path: Path, inside: Command) -> None:
    root = tmp_path / "results"
    words = ("--output", str(root))
    refused(inside("compare", "baseline", "last", *words), "no system has references")
    names = [archived(root, name_of(day)).run for day in (1, 2, 3, 4)]
    assert inside("baseline", *names, *words).returncode == 0
    for day in (5, 6, 7):
        archived(root, name_of(day), factor=1.1)
    done = inside("compare", "baseline", "2026-11-05..", *words)
    assert done.returncode == 1, done.stderr
    assert "16 slower" in done.stdout
    refused(inside("compare", "baseline", name_of(2), *words), "launches in common")
    pruned = inside("results", "prune", "--keep", "0", *words).stdout
    assert [day for day in range(1, 8) if name_of(day) in pruned] == [5, 6, 7]
    (systems / "here" / references.FILE).write_text("mpi-campaign: {schema_version: 9, runs: []}")
    refused(inside("compare", "baseline", "last", *words), "schema version 9")


Lines = list[dict[str, Any]]
IMPACT_KEY = "smoke.2x1.mpich-5_0_2.shm.async.mpi_impact"


@functools.cache
def given(ratio: float, larger: int = 1) -> Callable[[Lines], Lines]:
    """Records on sizes of another run, `larger` times as large; `ratio`: of communication to what they stood for."""

    def change(lines: Lines) -> Lines:
        points = [
            synthetic.changed(
                point,
                message_bytes=larger * point["parameters"]["message_bytes"],
                comm_calibration={**point["own"]["comm_calibration"], "status": "given"},
                reference_moved={"comm": ratio - 1, "comp": 0.0},
                series={
                    **point["series"],
                    "t_comm_ref_ns": [round(ratio * point["parameters"]["comm_target_ns"])] * 11,
                },
            )
            for point in lines[1:-1]
        ]
        return [lines[0], *points, lines[-1]]

    return change


def unreliable(lines: Lines) -> Lines:
    """The clocks of three of four points disagree by 5 ms."""
    apart = [{**point, "clock": {**point["clock"], "residual_ns": 5e6}} for point in lines[1:4]]
    return [lines[0], *apart, *lines[4:]]


def cut(lines: Lines) -> Lines:
    return lines[:-1]


@pytest.mark.parametrize(
    ("change", "says"), [(unreliable, "12 x less than half of its points are reliable"), (cut, "12 x incomplete")]
)
def test_what_is_unreliable_or_cut_is_left_out(
    systems: Path, tmp_path: Path, inside: Command, change: Callable[[Lines], Lines], says: str
) -> None:
    root = tmp_path / "results"
    bad = [archived(root, name_of(day), overhead=3.0, launches=2, change=change).run for day in (1, 2, 3)]
    refused(inside("baseline", *bad, "--output", str(root)), "no reference can be made", says)
    good = [archived(root, name_of(day), launches=1).run for day in (4, 5, 6)]
    done = inside("baseline", *bad, *good, "--output", str(root))
    assert done.returncode == 0, done.stderr
    assert f"left out: {says}" in done.stdout
    assert bounds(systems)[f"{KEY}.ibcast"]["r_overhead"][2] < 1.25


def test_times_are_held_against_those_of_the_same_sizes(systems: Path, tmp_path: Path, inside: Command) -> None:
    root = tmp_path / "results"
    same = [
        archived(root, name_of(day), launches=1, noise=0.0, change=given(ratio)).run
        for day, ratio in ((1, 1.0), (2, 1.1), (3, 1.2))
    ]
    other = [archived(root, name_of(day), launches=1, noise=0.0, change=given(9.0, larger=2)).run for day in (4, 5)]
    done = inside("baseline", *other, *same, "--output", str(root))
    assert done.returncode == 0, done.stderr
    assert f"left out: 4 x {OF_SIZES} on other sizes than most runs have" in done.stdout
    # One more value of a normal distribution is below 1.1 + 2.92 * 0.1 * (1 + 1/3)**0.5 in 95 %; 3 % more counts.
    assert bounds(systems)[f"{KEY}.ibcast"][OF_SIZES] == [
        1.1, None, pytest.approx(1.437 * 1.03 / 1.1 - 1, abs=1e-3), "ratio",
    ]  # fmt: skip
    for run, of_these in ((same[0], True), (other[0], False)):
        (record,) = (root / "here" / run / "records").glob("*ibcast.jsonl")
        assert references.is_of_sizes("here", f"{KEY}.ibcast", message_sizes(load_overlap(record))) is of_these
    assert not references.is_of_sizes("there", f"{KEY}.ibcast", "")
    one_each = [archived(root, name_of(day), launches=1, change=given(1.0, day)).run for day in (6, 7, 8)]
    done = inside("baseline", *one_each, "--output", str(root))
    assert f"{OF_SIZES}: fewer than 3 launches have the same sizes" in done.stdout
    assert set(bounds(systems)[f"{KEY}.ibcast"]) == {"r_overhead", "r_overhead_vs_basic"}


CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn

class Held(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs, executable = ["*"], ["*"], "true"
    value = parameter({values})

    @run_after("setup")
    def held_against(self):
        self.reference_key = "{key}"
        self.reference = {{"$ref": "{file}"}}

    @run_before("performance")
    def numbers(self):
        self.perf_variables = {{"{metric}": sn.make_performance_function(sn.defer(self.value), "ratio")}}

    @sanity_function
    def good(self):
        return True

@rfm.simple_test
class {test}(Held):
    pass
"""


@pytest.mark.parametrize(
    ("test", "key", "metric", "bound"),
    [("nbc_overlap", f"{KEY}.ibcast", OF_SIZES, 1.03), ("mpi_impact", IMPACT_KEY, "r_mpi_impact", 1.2 * 1.03)],
)
def test_reframe_asserts_the_bound(
    systems: Path, tmp_path: Path, inside: Command, test: str, key: str, metric: str, bound: float
) -> None:
    root = tmp_path / "results"
    names = [
        archived(root, name_of(day), launches=1, noise=0.0, change=given(1.0), impact=1.2).run for day in (1, 2, 3)
    ]
    assert inside("baseline", *names, "--output", str(root)).returncode == 0
    file = systems / "here" / references.FILE
    value, lower, fraction, _ = yaml.safe_load(file.read_text())[test][key][metric]
    assert value * (1 + fraction) == pytest.approx(bound, rel=2e-3)
    assert lower is None
    words = {"values": [bound - 0.01, bound + 0.01], "key": key, "file": file, "metric": metric, "test": test}
    (tmp_path / "check.py").write_text(CHECK.format(**words))
    done = subprocess.run(
        [ROOT / ".venv" / "bin" / "reframe", "-c", tmp_path / "check.py", "-r", "--nocolor", "--prefix", tmp_path,
         "--report-file", tmp_path / "report.json"],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120,
    )  # fmt: skip
    assert "Ran 2/2 test case(s)" in done.stdout, done.stdout + done.stderr
    assert "1 failure(s)" in done.stdout, done.stdout
    assert f"{metric}={bound + 0.01}" in done.stdout
