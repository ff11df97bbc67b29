"""The releases of a library, each against the one before it: planted steps are found, and nothing else."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.verdicts import sides, versioning
from postprocess.records.reading import load_header
from postprocess.verdicts import versions
from postprocess.verdicts.compare import FASTER, SLOWER
from tests.archives import archived, name_of
from tests.support import Command, refused

RELEASES = ("mpich@3.4.3", "mpich@4.3.2", "mpich@5.0.2", "mpich@10.0.1", "mpich@10.0.2", "mpich@11.0.0")
SLOWER_BY = {"mpich@4.3.2": 1.2, "mpich@5.0.2": 1.2, "openmpi@5.0.11": 1.5}
"""The second release is slower by a fifth, and from the fourth on they are as fast as the first."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    root = tmp_path_factory.mktemp("archive")
    return archived(root, name_of(1), toolchains=(*RELEASES, "openmpi@5.0.11"), slower=SLOWER_BY, launches=5)


def test_a_step_is_between_the_releases_where_it_was_planted(run: RunFolder, inside: Command) -> None:
    done = inside("versions", "mpich", str(run.path), "--metric", "t_measured_ns", "--json")
    document = json.loads(done.stdout)
    assert document["releases"] == list(RELEASES) and document["cases"]
    for case in document["cases"]:
        assert list(case["values"]) == list(RELEASES)
        verdicts = {step["after"]: step["verdict"] for step in case["steps"]}
        assert verdicts[RELEASES[1]] == SLOWER
        assert verdicts[RELEASES[2]] not in (SLOWER, FASTER)
        assert verdicts[RELEASES[3]] == FASTER
        assert case["steps"][0]["ci95"][0] < 1.2 < case["steps"][0]["ci95"][1]
        for one in case["values"].values():
            assert 0.9 * one["value"] < one["ci95"][0] < one["value"] < one["ci95"][1] < 1.1 * one["value"]


def test_cases_are_chosen_by_words_of_their_names(run: RunFolder, inside: Command) -> None:
    asked = ("versions", "mpich", str(run.path), "--metric", "t_measured_ns", "--json")
    every = [case["case"] for case in json.loads(inside(*asked).stdout)["cases"]]
    words = " ".join(every[0][:-1])  # without the metric
    chosen = [case["case"] for case in json.loads(inside(*asked, "--case", words).stdout)["cases"]]
    assert chosen == every[:1] and len(every) > 1
    refused(inside(*asked, "--case", "nonsense"), "name of no case")


def test_each_case_is_told_with_every_release_in_order_within_the_window(run: RunFolder, tmp_path: Path) -> None:
    pairs = versioning._steps("mpich", [run], "", ("t_measured_ns",))
    text = versions.lines("mpich", pairs, {}, 80, every=True)
    assert max(map(len, text)) <= 80
    assert len(versions.cases_of(pairs)) == 2
    said = " ".join(" ".join(text).split())
    for case in versions.cases_of(pairs):
        told = said.partition(", ".join(filter(None, case.names)))[2]
        places = [told.find(f" {name.partition('@')[2]} ") for name in RELEASES]
        assert -1 not in places and places == sorted(places)
    page = versions.view("mpich", pairs, {}, "RUN")
    assert {row.verdict for row in page.rows} == {SLOWER, FASTER}
    assert len(page.series) == 2
    files = {form: tmp_path / f"page.{form}" for form in ("html", "markdown")}
    assert versioning.run("mpich", [run], "", ("t_measured_ns",), files, form="") == 0
    for written in files.values():
        assert "release by release" in written.read_text()
    assert files["markdown"].read_text().count("\n| ") == 2 + len(page.rows)


def test_what_fails_is_told_with_the_releases_with_which_it_does(run: RunFolder) -> None:
    measured = [
        (case, "a rank crashed" * (case.toolchain in RELEASES[:2] and case.parameters["collective"] == "ibcast"))
        for case, _ in versioning._measured([run, run])
    ]
    measured += [(replace(case, toolchain=RELEASES[3]), "a rank hung") for case, _ in measured[-1:]]
    failures = versioning._failures(measured, RELEASES)
    always, sometimes = versions.failure_words(failures, RELEASES)
    first, second, _, last, *_ = (name.partition("@")[2] for name in RELEASES)
    assert f"ibcast: fails with {first} to {second} (2 releases): a rank crashed" in always
    assert f"ireduce: fails in some launches with {last} (1 release): a rank hung" in sometimes


def test_a_release_with_which_a_case_failed_hides_no_step(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    table, problems = sides.launches_of([run])
    lacks = (table["toolchain"] == RELEASES[1]) & (table["collective"] == "ibcast")
    monkeypatch.setattr(sides, "launches_of", lambda _runs: (table[~lacks], problems))
    cases = versions.cases_of(versioning._steps("mpich", [run], "", ("t_measured_ns",)))
    (ibcast,), (ireduce,) = ([case for case in cases if name in case.names] for name in ("ibcast", "ireduce"))
    step = ibcast.steps[RELEASES[2]]
    assert (step.before, step.row["verdict"]) == (RELEASES[0], SLOWER)
    assert list(ibcast.values) == [RELEASES[0], *RELEASES[2:]]
    assert [step.before for step in ireduce.steps.values()] == list(RELEASES[:-1])
    lacks |= table["toolchain"].isin(RELEASES[3:5]) & (table["collective"] == "ibcast")  # few steps are left of it
    cases = versions.cases_of(versioning._steps("mpich", [run], "", ("t_measured_ns",)))
    assert [case.steps[RELEASES[2]].row["verdict"] for case in cases if "ibcast" in case.names] == [SLOWER]
    lacks_metric = table["collective"] == "ibcast"
    table.loc[lacks_metric, "t_measured_ns"] = float("nan")
    pairs = versioning._steps("mpich", [run], "", ("t_measured_ns",))
    assert not len(pairs[RELEASES[0], RELEASES[2]].rows)


@pytest.mark.parametrize(
    "ascending",
    [
        ("mpich@3.4.3", "mpich@3.4.3.post1", "mpich@4.1.9", "mpich@4.1.10", "mpich@5.0.0rc1", "mpich@5.0.0"),
        ("openmpi@5.0.8+ucx", "openmpi@5.0.11+ucx"),
    ],
)
def test_candidates_come_before_their_release_and_builds_of_a_kind_are_a_library(ascending: tuple[str, ...]) -> None:
    assert len({sides.release(name)[0] for name in (*ascending, "openmpi@5.0.9")}) == 2
    places = [sides.release(name)[1] for name in ascending]
    assert places == sorted(set(places))


def test_since_a_release_the_older_ones_are_left_out(run: RunFolder) -> None:
    pairs = versioning._steps("mpich", [run], "10.0.2", ("t_measured_ns",))
    assert list(pairs) == [(RELEASES[4], RELEASES[5])]


@pytest.mark.parametrize(("library", "since"), [("openmpi", ""), ("mpich", "11"), ("intel", "")])
def test_one_release_alone_is_refused_with_the_command_that_measures_more(
    run: RunFolder, library: str, since: str
) -> None:
    with pytest.raises(CampaignError, match=rf"two releases of {library}.*'{library}@\*'"):
        versioning._steps(library, [run], since, ("t_measured_ns",))


def test_what_a_release_tells_of_itself_is_compared_case_by_case(run: RunFolder) -> None:
    header = load_header(next((run.path / "records").glob("*.jsonl")))
    old = replace(header, mpi_standard="4.0", mpi_variables={"A": "0", "B": "1"})
    new = replace(header, mpi_standard="4.1", mpi_variables={"A": "2", "C": ""})
    changes = ["A 0 -> 2", "B 1 -> none", "C none -> empty", "MPI 4.0 -> 4.1"]
    assert versions.own_changes({"case": old}, {"case": new, "another": old}) == changes
    assert versions.own_changes({"case": old}, {"case": old}) == []
    assert versions.own_changes({"case": old}, {"another": new}) == []
