"""What a run answers of itself, beside the run before it and the baseline; and that nothing later changes it."""

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from mpi_campaign.archive import packs, references, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.verdicts import answering, sides
from postprocess.verdicts.answers import Answers, lines, sentences
from postprocess.verdicts.compare import SLOWER
from tests.archives import archived, name_of
from tests.support import Command

THREE = ("intel@2021.18.1", "mpich@5.0.2", "openmpi@5.0.11")
HOST = {"name": "node-0", "cpu": "Some CPU", "cores": 2}


def night(root: Path, day: int, factor: float = 1.0, cpu: str = "Some CPU", **header: Any) -> RunFolder:
    return archived(root, name_of(day), factor=factor, manifest={"host": {**HOST, "cpu": cpu}}, **header)


def rows_of(answers: Answers) -> list[str]:
    """Every verdict of the questions that are about the run alone, with its q-value."""
    own = [one for question in answers.questions if not question.apart for one in question.pairs.values()]
    return [one.rows.to_csv() for one in own]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Three libraries, the second slower by a tenth, after a night with the last one."""
    root = tmp_path_factory.mktemp("archive")
    night(root, 1)
    return archived(root, name_of(5), toolchains=THREE, slower={THREE[1]: 1.1}, launches=5, manifest={"host": HOST})


def test_libraries_and_the_run_before_are_answered(three: RunFolder) -> None:
    libraries, before = answering.of_run(three).questions
    assert {names: comparison.count(SLOWER) > 0 for names, comparison in libraries.pairs.items()} == {
        THREE[:2]: True, THREE[::2]: False, THREE[1:]: False,
    }  # fmt: skip
    assert f"{THREE[0]} is faster with overlap than {THREE[1]}" in sentences(libraries)[0]
    assert list(before.pairs) == [(name_of(1), name_of(5))]
    assert "nothing is slower" in sentences(before)[0]


def test_the_commands_that_are_named_show_the_same_pairs(three: RunFolder, inside: Command) -> None:
    for question in answering.of_run(three).questions:
        words = question.more.split()
        assert words[0] == "./campaign"
        shown = inside(*words[1:]).stdout
        assert all(f"{b} against {a}: " in shown for a, b in question.pairs)


def test_many_releases_are_held_against_the_one_before_and_the_newest_against_other_libraries(tmp_path: Path) -> None:
    releases = [f"intel@2021.{number}.0" for number in (2, 9, 10, 11)]
    slower = dict.fromkeys(releases[2:], 1.2)
    folder = archived(tmp_path, name_of(1), toolchains=(*releases, THREE[-1]), slower=slower, launches=5)
    libraries, in_turn = answering.of_run(folder).questions
    assert list(libraries.pairs) == [(releases[-1], THREE[-1])]
    assert list(in_turn.pairs) == list(pairwise(releases))
    told = sentences(in_turn)
    assert told and all(f"{releases[1]} is faster with overlap than {releases[2]}" in one for one in told[:1])
    assert not any(releases[0] in one or releases[3] in one for one in told)


def test_a_kept_run_is_asked_for_its_libraries_and_their_configurations(tmp_path: Path) -> None:
    """Of one launch a case, so that all of them together have one line that says why nothing is told."""
    name = "20261122T003034Z-8c753b"
    (tmp_path / "example").mkdir()
    shutil.copy(run_folders.RESULTS / "example" / f"{name}{packs.ENDING}", tmp_path / "example")
    answers = answering.of_run(RunFolder(tmp_path, "example", name))
    libraries, *configurations = answers.questions
    assert len(libraries.pairs) == 3
    assert [one.group for one in configurations] == list(THREE)
    assert {a for one in configurations for a, _ in one.pairs} == {"basic"}
    assert [b for _, b in configurations[-1].pairs] == ["apphelper", "async", "dedicated"]
    assert f"{THREE[0]},basic {THREE[0]},apphelper" in configurations[0].more
    why, first = lines(answers)
    assert "comparisons could not be decided, nothing of" in why
    assert first == answering.FIRST + answering.NEXT


def test_a_run_of_one_side_says_that_there_is_nothing_to_compare(tmp_path: Path) -> None:
    assert lines(answering.of_run(night(tmp_path, 1))) == [answering.ONE_SIDED, answering.FIRST + answering.NEXT]


def test_what_a_run_says_of_itself_stays_and_the_run_before_is_the_newest_that_compares(tmp_path: Path) -> None:
    root = tmp_path
    this = archived(root, name_of(9), toolchains=THREE[1:], launches=5, manifest={"host": HOST})
    first = answering.of_run(this)
    assert first.notes == (answering.FIRST + answering.NEXT,)
    night(root, 2)
    night(root, 3)
    night(root, 4, method=7)
    night(root, 5, cpu="Another")
    night(root, 6, network="shm")
    night(root, 10, factor=2.0)
    night(root, 7).archived.rename(root / "here" / ".partial" / name_of(7))
    later = answering.of_run(this)
    assert rows_of(later) == rows_of(first)
    assert [list(one.pairs) for one in later.questions if one.apart] == [[(name_of(3), name_of(9))]]


def test_the_baseline_is_answered_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (references, sides):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    root = tmp_path / "results"
    names = [night(root, day).run for day in (1, 2, 3, 4, 5)]
    this = night(root, 8, factor=1.2)
    path = references.path_of("here")
    path.parent.mkdir(parents=True)
    path.write_text(
        yaml.safe_dump({references.OWN: {"schema_version": references.VERSION, "runs": [*names, this.run]}})
    )
    baseline = answering.of_run(this).questions[-1]
    ((names_of_sides, comparison),) = baseline.pairs.items()
    assert names_of_sides == ("the baseline", this.run)
    assert comparison.runs[0] == tuple(f"here/{name}" for name in names)
    assert comparison.count(SLOWER) == 16
    path.write_text("nothing")
    assert any("the baseline" in note for note in answering.of_run(this).notes)
