"""Two libraries in turn until it is known which is slower: the run ends then, and its answers keep their rate."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.planning.options import Options
from mpi_campaign.planning.plan_of_options import make_plan
from mpi_campaign.processes.progress import Progress
from mpi_campaign.running import batch, in_job, sessions
from mpi_campaign.running import judged as measuring
from mpi_campaign.running.job import EVENTS, Description, Script
from mpi_campaign.running.reframe_session import Session
from mpi_campaign.running.rounds import Rounds
from mpi_campaign.running.sessions import Done, Order
from mpi_campaign.schedulers import registry as schedulers
from mpi_campaign.systems import known_systems, nodes_in_hand
from mpi_campaign.systems.nodes_in_hand import InHand
from mpi_campaign.toolchains import resolving
from mpi_campaign.verdicts import answering, judging
from postprocess.records.description import descriptions
from postprocess.statistics.effects import effects, false_discovery_adjusted
from postprocess.statistics.limits import Limits
from postprocess.statistics.looks import LOOKS, rate_of_each
from postprocess.verdicts.compare import USUAL
from tests.archives import archived, cut_off, name_of
from tests.support import MPI, Command, refused
from tests.test_plan import MPICH, OPENMPI

MAPS, SEARCHES = 8, 200


def judged(root: Path, sides: tuple[str, str], launches: int, slower: float, question: judging.Asked) -> RunFolder:
    """A run of two libraries, the second one slower by a factor."""
    return archived(
        root, name_of(1), toolchains=sides, slower={sides[1]: slower}, launches=launches, noise=0.01,
        manifest=question.marks,
    )  # fmt: skip


SIDES = ("mpich@5.0.2", "mpich@5.0.1")
QUESTION = judging.Asked.among(1, Limits(), sides=SIDES, metrics=USUAL)


def test_a_slower_library_is_told_by_a_few_launches_and_not_by_one(tmp_path: Path) -> None:
    several, one = (judged(tmp_path / str(n), SIDES, n, 1.2, QUESTION) for n in (8, 1))
    assert judging.is_decided(several)
    assert not judging.is_decided(one)
    assert judging.answer(several, "", {}) == 1


def test_the_second_side_is_held_against_the_first_whatever_their_names_are(tmp_path: Path) -> None:
    faster = judged(tmp_path, SIDES, 8, 1 / 1.2, QUESTION)
    assert judging.answer(faster, "", {}) == 0
    assert judging.compared(faster).count("faster") > 0


def test_a_run_that_is_looked_at_often_has_a_part_of_the_rate_in_its_report_too(tmp_path: Path) -> None:
    folder = judged(tmp_path, SIDES, 3, 1.0, QUESTION)
    counts = answering.limits_of(run_folders.read_manifest(folder))
    assert counts.rate * len(LOOKS) <= Limits.rate
    assert judging.compared(folder).limits == counts


def test_looking_several_times_keeps_the_rate_of_false_alarms() -> None:
    rng = np.random.default_rng(5)
    rate, alarms = 0.2, 0
    side = np.tile([0, 1], MAPS * LOOKS[-1])
    case = np.repeat(np.arange(MAPS), 2 * LOOKS[-1])
    launch = np.tile(np.repeat(np.arange(LOOKS[-1]), 2), MAPS)
    for _ in range(SEARCHES):
        value = rng.standard_normal(side.size)
        looks = [effects(case[launch < n], side[launch < n], value[launch < n], MAPS).p_value for n in LOOKS]
        alarms += any(np.nanmin(false_discovery_adjusted(p)) <= rate_of_each(rate) for p in looks)
    assert alarms / SEARCHES <= rate


def test_a_plan_is_cut_after_the_launches_that_decided() -> None:
    plan = make_plan(Options(suite="judge"), [OPENMPI, MPICH], "shm", Placement(1, 2, 1))
    cut = plan.up_to(3)
    assert {case.repeat for case in plan.to_measure} == set(range(1, LOOKS[-1] + 1))
    assert cut.rounds == [turn for turn in plan.rounds if turn.repeat <= 3]
    assert plan.expected_measuring_seconds <= 600


def test_a_run_ends_when_its_time_is_over_but_not_before_launches_can_tell(tmp_path: Path) -> None:
    plan = make_plan(Options(suite="judge", budget_seconds=60), [OPENMPI, MPICH], "shm", Placement(1, 2, 1))
    folder = RunFolder(tmp_path, "here", name_of(1))
    system = known_systems.load("cluster-in-a-box", "")
    partition = replace(system.partition("native"), scheduler="slurm")
    request = batch.request_of(Options(system=system.name), partition)
    (_, (job,)) = Rounds(folder, plan, Progress(1), [], judged=True).jobs(request)
    looks = [order.launches for order in job.orders]
    assert len(looks) == len(plan.rounds)
    assert [launches for launches in looks if launches] == list(range(LOOKS[0], LOOKS[-1] + 1))
    assert judging.why_enough(folder, 4, job.budget_seconds - 1, job.budget_seconds) == ""
    assert "not decided" in judging.why_enough(folder, 4, job.budget_seconds + 1, job.budget_seconds)


def test_a_job_ends_with_the_session_that_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path, "here", name_of(1))
    script = Script(1, 1, 0, 0, 0, (), {}, (), "ID", "")
    orders = tuple(Order(("reframe",), launches=launches) for launches in (0, 3, 4, 5))
    job = Description(folder, 1, orders, script, lease_seconds=0)
    batch.write([job])
    (job.folder / EVENTS).touch()
    ended = Done("", "", Session(0, interrupted=False, output=[]), ())
    monkeypatch.setattr(sessions, "carry_out", lambda orders, *_: (ended for _ in orders))
    monkeypatch.setattr(judging, "is_decided", lambda _folder: True)
    monkeypatch.setattr(nodes_in_hand, "look", lambda: InHand("a job has", ("n1",), ("n1",), (((0,),),), {}))
    assert in_job.carry_out(job) == 0
    follower = batch.Follower(folder, schedulers.find("slurm"), [job], print, print)
    follower.tick()
    assert follower.enough == {0: (3, "decided")}
    assert len(follower.sessions[0]) == 2


@pytest.mark.parametrize(
    ("there", "measured"),
    [("mpich@5.0.1", ("mpich@5.0.1", "mpich@5.0.2")), ("mpich@5.0.2", None), ("openmpi@5.0.8", None)],
)
def test_a_release_that_is_new_is_measured_once_beside_the_one_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, measured: tuple[str, str] | None
) -> None:
    asked = []
    releases = ["mpich@4.3.2", "mpich@5.0.1", "mpich@5.0.2"]
    monkeypatch.setattr(resolving, "expanded", lambda *_: releases)
    monkeypatch.setattr(measuring, "measure", lambda question, *_: asked.append(question.sides))
    archived(tmp_path, name_of(1), toolchains=(there,))
    measuring.newest("mpich", USUAL, tmp_path, [])
    assert asked == ([measured] if measured else [])


def test_a_new_release_whose_run_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[judging.Asked] = []
    monkeypatch.setattr(resolving, "expanded", lambda *_: ["mpich@5.0.1", "mpich@5.0.2"])
    monkeypatch.setattr(measuring, "measure", lambda question, *_: asked.append(question))
    archived(tmp_path, name_of(1), toolchains=("mpich@5.0.1",))
    measuring.newest("mpich", USUAL, tmp_path, [])
    now = descriptions()["nbc_overlap"].method
    begun = archived(tmp_path, name_of(2), toolchains=asked[0].sides, manifest=asked[0].marks, method=now)
    cut_off(begun)
    measuring.newest("mpich", USUAL, tmp_path, [])
    assert asked[1:] == asked[:1]
    begun.partial.rename(begun.archived)
    assert measuring.newest("mpich", USUAL, tmp_path, []) is None
    with pytest.raises(CampaignError, match="'MPICH' is no library"):
        measuring.newest("MPICH", USUAL, tmp_path, [])


def test_a_release_that_cannot_be_had_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(*_: object) -> None:
        raise CampaignError("no wheel for this machine")

    monkeypatch.setattr(resolving, "expanded", lambda *_: ["mpich@5.0.1", "mpich@5.0.2"])
    monkeypatch.setattr(measuring, "measure", lacking)
    archived(tmp_path, name_of(1), toolchains=("mpich@5.0.1",))
    assert measuring.newest("mpich", USUAL, tmp_path, []) is None
    assert "skipped mpich@5.0.2: no wheel" in capsys.readouterr().err


def test_two_sides_that_are_one_are_refused(inside: Command) -> None:
    refused(inside("judge", MPI, MPI), MPI, "two")


def test_two_words_for_one_library_are_refused_before_anything_is_measured(inside: Command, tmp_path: Path) -> None:
    same = f"{MPI}={resolving.resolve(resolving.parse(MPI), lambda *_: None).prefix}"
    done = inside("judge", MPI, same, "--output", str(tmp_path / "archive"))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"campaign: both sides are {MPI}:")
    assert not list(run_folders.runs(tmp_path / "archive"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--build", "make {revision}"), "{prefix}"),
        (("--build", "make {revision} {prefix}"), "--library"),
        (("--build", "make {revision} {prefix}", "--library", "mpich"), "git says"),
        (("--rate", "2"), "rate"),
        (("--metric", "speed"), "metric"),
    ],
)
def test_what_cannot_be_judged_is_refused(inside: Command, tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    refused(inside("judge", "v1", "v2", "--repository", str(tmp_path), *words), why)
