"""`campaign baseline`: of which runs references are made, what they are, and what then uses them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mpi_campaign import archive, references, sides
from tests.archives import archived, fail, name_of
from tests.support import Command, refused

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
    refused(inside("baseline", *names[:2], "--output", str(root)), "fewer than 3 runs have it")
    done = inside("baseline", *names, "--output", str(root))
    assert done.returncode == 0, done.stderr
    assert "4 references from 3 runs" in done.stdout
    found = bounds(systems)
    assert set(found) == {f"{KEY}.{collective}" for collective in ("ibcast", "ireduce")}
    bound = found[f"{KEY}.ibcast"]["r_overhead"]
    assert [bound[0], bound[1], bound[3]] == [0, None, "ratio"]
    assert 1.05 < bound[2] < 1.25  # it serialises, and 0.1 more is what counts
    assert references.runs_of("here") == names


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
    refused(inside("baseline", str(other.path), *words), "fewer than 3 runs")
    partial = archive.start(root, "here")
    archive.write_manifest(partial, {})
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
