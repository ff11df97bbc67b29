"""Jobs of batch systems: which a plan has, their scripts, their lease, and what is read in what they leave."""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.options import Options
from mpi_campaign.planning.placing import place
from mpi_campaign.planning.plan_of_options import make_plan
from mpi_campaign.running import batch, in_job, job, manifest, node_probe, probing, reframe_session
from mpi_campaign.running.job import Description
from mpi_campaign.running.same_sizes import TakenOver
from mpi_campaign.running.sessions import Order
from mpi_campaign.schedulers import registry as schedulers
from mpi_campaign.schedulers.scheduler import Scheduler
from mpi_campaign.systems import known_systems, queues, slurm_description
from mpi_campaign.systems.known_systems import Partition
from mpi_campaign.systems.nodes_in_hand import InHand
from postprocess.drawing.text import size
from tests.test_plan import MPICH, OPENMPI

# Job scripts as ReFrame writes them; CLONE stands for the clone, PYTHON for its interpreter, RUN for the run.
SCRIPTS = ROOT / "tests" / "data" / "job_scripts"
SETTINGS = """
from mpi_campaign.site import partition, site
site_configuration = site(name="cluster", hostnames=[".*"], partitions=[
    partition(name, "native", scheduler=name, launcher="mpiexec", access=access, max_jobs=2, most_nodes=16,
              time_limit="1d0h0m0s",
              processor={"num_cpus": 128, "num_cpus_per_core": 2, "num_cpus_per_socket": 64, "num_sockets": 2})
    for name, access in (("squeue", ["--partition=cpu"]), ("pbspro", ["-q cpu"]), ("torque", ["-q cpu"]),
                         ("oar", ["-q cpu"]), ("sge", ["-q cpu", "-pe mpi {cpus}"]))
])
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "settings.py").write_text(SETTINGS)
    monkeypatch.setattr(known_systems, "SYSTEMS", tmp_path)
    known_systems.load.cache_clear()
    yield
    known_systems.load.cache_clear()


@pytest.fixture
def run() -> Iterator[RunFolder]:
    folder = RunFolder(Path("/results"), "cluster", f"test-{secrets.token_hex(4)}")
    yield folder
    shutil.rmtree(folder.session, ignore_errors=True)


def request_of(**asked: object) -> batch.Request:
    options = Options.of(system="cluster", **asked)
    return batch.request_of(options, known_systems.load("cluster", options.partition).partition("native"))


@pytest.mark.usefixtures("cluster")
def test_all_that_is_compared_is_in_one_job() -> None:
    options = Options.of(
        system="cluster", nodes=(1, 4), launches=2, configurations=("basic", "async"),
        collectives=("ibcast",), threads_per_rank=(1, 2),
    )  # fmt: skip
    plan = make_plan(options, [MPICH, OPENMPI], "native", *place(options))
    one, four = batch.jobs_of(plan)
    assert (one.nodes, four.nodes) == (1, 4)
    assert [turn for turn in plan.rounds if turn in one.rounds] == list(one.rounds)  # in the order of the plan
    assert len(one.rounds) + len(four.rounds) == len(plan.rounds)
    measured = {(case.environment, case.configuration, case.repeat) for case in plan.to_measure}
    for job_ in (one, four):
        of_job = [case for case in plan.to_measure if any(turn.has(case) for turn in job_.rounds)]
        assert {(case.environment, case.configuration, case.repeat) for case in of_job} == measured
        assert {case.parameters["nodes"] for case in of_job} == {job_.nodes}
        assert job_.seconds == sum(map(plan.expected_seconds, of_job))


@pytest.mark.usefixtures("cluster")
def test_each_node_is_measured_in_one_job_that_has_them_all() -> None:
    way = {"each_node": True, "one_after_the_other": True, "collectives": ("ibcast",)}
    options = Options.of(system="cluster", nodes=(4,), threads_per_rank=(1,), **way)
    (one,) = batch.jobs_of(make_plan(options, [MPICH], "native", *place(options)))
    assert (one.nodes, len(one.rounds)) == (4, 8)


@pytest.mark.usefixtures("cluster")
def test_a_job_of_cases_that_were_measured_is_left_out() -> None:
    options = Options.of(system="cluster", nodes=(1, 2), configurations=("basic",), collectives=("ibcast",))
    plan = make_plan(options, [MPICH], "native", *place(options))
    (left,) = batch.jobs_of(plan, 3, lambda stem: "2nodes" not in stem)
    assert (left.number, left.nodes) == (3, 2)
    assert batch.jobs_of(plan, 1, lambda _stem: True) == []


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("result", ["missing", "fail"])
def test_a_case_whose_record_nobody_found_good_is_in_a_job_again(result: str) -> None:
    options = Options.of(system="cluster", nodes=(1, 2), configurations=("basic",), collectives=("ibcast",))
    plan = make_plan(options, [MPICH], "native", *place(options))
    checked, unchecked = plan.to_measure
    cases = [{"case": checked.label, "result": "pass"}, {"case": unchecked.label, "result": result}]
    stems = manifest.unchecked({"cases": cases}, plan)
    assert stems == {unchecked.stem}
    (again,) = batch.jobs_of(plan, 1, lambda stem: stem not in stems)
    assert again.nodes == 2


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("asked", "seconds", "limit"),
    [
        ({}, 600.0, 1500),  # one and a half times that, and ten minutes
        ({}, 0.0, 86400),
        ({"job_time_limit": "30"}, 600.0, 1800),
        ({"job_time_limit": "1-00:00:00"}, 0.0, 86400),
    ],
)
def test_the_time_limit_of_a_job(asked: dict[str, str], seconds: float, limit: int) -> None:
    assert batch.limit_seconds(request_of(**asked), seconds) == limit


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(("asked", "seconds"), [({"job_time_limit": "5"}, 301.0), ({}, 90_000.0)])
def test_a_job_that_would_not_end_is_refused(asked: dict[str, str], seconds: float) -> None:
    with pytest.raises(CampaignError, match=r"a job would measure for about .*, and its time limit is"):
        batch.limit_seconds(request_of(**asked), seconds)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"job_time_limit": "soon"}, "--time-limit 'soon' is no time limit"),
        ({"job_time_limit": "UNLIMITED"}, "--time-limit UNLIMITED: a time with an end"),
        ({"max_jobs": -1}, "--max-jobs -1: a whole number from 1"),
        ({"account": "a\nb"}, "is no account"),
        ({"scheduler_options": ("--qos=x\n#SBATCH --nice",)}, "no option of a batch system"),
        ({"scheduler_options": ("qos=long",)}, "--scheduler-option 'qos=long': an option of Slurm begins with -"),
        *(
            ({"scheduler_options": (own,)}, f"--scheduler-option '{own}': the campaign says itself how many jobs")
            for own in ("--array=1-2", "--arr=1-2", "-a1-2", "--nodes 1", "-N1", "--time=5", "--ntasks-per-node=2")
        ),
        ({"partition": "sge", "scheduler_options": ("-t 1-2",)}, "--scheduler-option '-t 1-2': the campaign says"),
        ({"partition": "gpu"}, "no partition 'gpu'; it has: squeue, pbspro, torque, oar, sge"),
    ],
)
def test_options_of_jobs_that_are_none(asked: dict[str, object], words: str) -> None:
    with pytest.raises(CampaignError) as refused:
        request_of(**asked)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("partition", "option"),
    [("squeue", "--nodelist=a"), ("squeue", "--begin=now"), ("squeue", "-C gpu"), ("sge", "-tc 4"), ("oar", "-p gpu")],
)
def test_other_options_are_passed_on(partition: str, option: str) -> None:
    assert request_of(partition=partition, scheduler_options=(option,)).options == (option,)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("raise SystemExit(3)", "cannot be used (SystemExit: 3)"),
        ("import os\nos._exit(3)", "cannot be used (SystemExit: os._exit(3))"),
        (SETTINGS.replace("max_jobs=2", "maxjobs=2"), "has no setting 'maxjobs'; did you mean 'max_jobs'?"),
        (
            SETTINGS.replace("most_nodes=16", "most_nodes=0"),
            "most_nodes 0 of partition 'squeue': a whole number from 1",
        ),
        (
            SETTINGS.replace('["--partition=cpu"]', '"--partition=cpu"'),
            "access '--partition=cpu' of partition 'squeue'",
        ),
        (SETTINGS.replace("partition(name,", "partition('cpu',"), "system 'cluster': 5 partitions are called 'cpu'"),
        (SETTINGS.replace("partition(name,", "partition('2 ' + name,"), "no partition can be called '2 squeue'"),
        (SETTINGS.replace('name="cluster"', 'name="other"'), "names the system 'other', its folder 'cluster'"),
    ],
)
def test_settings_that_are_wrong_are_one_line(
    wrong: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "settings.py").write_text(wrong)
    monkeypatch.setattr(known_systems, "SYSTEMS", tmp_path)
    known_systems.load.cache_clear()
    with pytest.raises(CampaignError) as refused:
        known_systems.load("cluster")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "docs/adding.md" in str(refused.value)


@pytest.mark.usefixtures("cluster")
def test_no_slurm_where_a_run_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CampaignError, match=r"^there is no Slurm here, no scontrol on PATH: .*$"):
        batch.check(request_of(partition="squeue"), 2)


@pytest.mark.usefixtures("cluster")
def test_a_job_asks_for_no_more_than_its_partition_gives_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings say a day; meanwhile Slurm gives half an hour, and two of 16 nodes."""
    shape = slurm_description.Shape(2, 32, 2, 128)
    nodes = tuple(slurm_description.Node(f"n{number}", shape, ("cpu",), "IDLE") for number in (1, 2))
    partition = slurm_description.Partition("cpu", "UP", True, 2, 1800, None)
    described = slurm_description.Description("c", False, (partition,), nodes)
    monkeypatch.setattr(slurm_description, "ask", lambda: described)
    asked = batch.check(request_of(partition="squeue"), 2)
    assert (asked.longest_seconds, asked.most_nodes) == (1800, 2)
    assert [batch.limit_seconds(asked, seconds) for seconds in (0.0, 60.0, 1500.0)] == [1800, 720, 1800]
    with pytest.raises(CampaignError, match=r"its time limit is 30 min 0 s: .*, or take another --partition$"):
        batch.limit_seconds(asked, 1801.0)
    with pytest.raises(CampaignError, match=r"^--nodes 3: Slurm's partition 'cpu' gives a job at most 2 nodes$"):
        batch.check(request_of(partition="squeue"), 3)
    with pytest.raises(CampaignError, match=r"^--time-limit 0:31:00: .* gives a job at most 0:30:00$"):
        batch.check(request_of(partition="squeue", job_time_limit="31"), 2)


def with_nodes(monkeypatch: pytest.MonkeyPatch, *states: str, most_nodes: int | None = None) -> None:
    """Slurm's partition has nodes in these states, each with its reason in parentheses, if any."""
    shape = slurm_description.Shape(2, 32, 2, 128)
    nodes = []
    for number, text in enumerate(states, start=1):
        state, _, reason = text.partition(" (")
        nodes.append(slurm_description.Node(f"n{number}", shape, ("cpu",), state, reason=reason.rstrip(")")))
    partition = slurm_description.Partition("cpu", "UP", True, len(states), None, most_nodes)
    described = slurm_description.Description("c", False, (partition,), tuple(nodes))
    monkeypatch.setattr(slurm_description, "ask", lambda: described)


def probe_of(request: batch.Request, nodes: int, *, interrupted: bool = False) -> probing.Probe:
    """A probe whose job has left nothing."""
    description = Description(
        RunFolder(Path("/results"), "cluster", "r"), 1, (), job.Script(nodes, 1, 0, 300, 60, (), {}, (), "", "")
    )
    end = batch.Ended(description, "12", job.script_log(""), None, [], [])
    return probing.Probe(request, nodes, end, interrupted)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("states", "most", "state", "seen"),
    [
        (["IDLE"] * 16, None, "", ""),
        (["IDLE"] * 16 + ["DOWN"], None, "", ""),  # a job has as many as the settings say
        (
            ["ALLOCATED"] * 15 + ["IDLE+DRAIN (bad disk)"],
            None,
            "note",
            r"15 of the 16 .*: n16 is IDLE.DRAIN .bad disk.$",
        ),
        (["IDLE"] * 20, 8, "note", "8 of the 16 nodes of the settings$"),
        (["IDLE+CLOUD+POWERED_DOWN", "MIXED+PLANNED", "IDLE~", "ALLOCATED+RESERVED"] * 4, None, "", ""),
        (["IDLE"] * 15 + ["IDLE*"], None, "note", r"15 of the 16 .*: n16 is IDLE\*$"),
        (["IDLE"] * 15 + ["IDLE+INVALID_REG"], None, "note", r"15 of the 16 .*: n16 is IDLE.INVALID_REG$"),
        (["IDLE"] * 2 + ["DOWN"] * 14, None, "note", r"2 of the 16 .*: (n\d is DOWN, ){4}and 10 more$"),
    ],
)
def test_nodes_that_take_no_job_are_told(
    monkeypatch: pytest.MonkeyPatch, states: list[str], most: int | None, state: str, seen: str
) -> None:
    with_nodes(monkeypatch, *states, most_nodes=most)
    found = probe_of(batch.check(request_of(partition="squeue"), 1), 1).findings()
    told = [one for one in found if one.subject == "nodes"]
    assert [one.state for one in told] == ([state] if state else [])
    assert all(re.search(seen, one.seen) for one in told), told


@pytest.mark.usefixtures("cluster")
def test_a_refusal_names_the_nodes_that_take_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    with_nodes(monkeypatch, "IDLE", "IDLE+DRAIN (bad disk)")
    with pytest.raises(CampaignError, match=r"^--nodes 2: .* at most 1 node: n2 is IDLE\+DRAIN \(bad disk\)$"):
        batch.check(request_of(partition="squeue"), 2)
    with_nodes(monkeypatch, "IDLE", "IDLE", "DOWN", most_nodes=1)  # they would not help
    with pytest.raises(CampaignError, match=r"^--nodes 2: .* gives a job at most 1 node$"):
        batch.check(request_of(partition="squeue"), 2)


@pytest.mark.parametrize(
    ("job_id", "interrupted", "reason"),
    [
        ("12", True, "interrupted before job 12 started"),
        ("12", False, "job 12 never started; the batch system's reason: Resources"),
    ],
)
def test_why_a_job_never_started(run: RunFolder, job_id: str, interrupted: bool, reason: str) -> None:
    description = Description(run, 1, (), job.Script(1, 1, 0, 300, 60, (), {}, (), "", ""))
    batch.write([description])
    if job_id:
        (description.folder / job.SUBMITTED).write_text(job_id)
    follower = batch.Follower(
        folder=run,
        scheduler=answering("true"),
        descriptions=[description],
        say=lambda _line: None,
        status=lambda _line: None,
        reasons={"12": "Resources"},
    )
    session = reframe_session.Session(1, interrupted, [])
    assert [end.reason for end in batch.ended(follower, session)] == [reason]


def test_jobs_go_to_schedulers_that_are_known() -> None:
    def refusal(scheduler: str, launcher: str) -> str:
        with pytest.raises(CampaignError) as refused:
            batch.request_of(Options(), Partition("cpu", "native", scheduler, launcher, {}))
        return str(refused.value)

    assert "scheduler 'lsf': one of squeue, slurm, pbs, pbspro, torque, oar, sge" in refusal("lsf", "mpiexec")
    assert "partition 'cpu': srun starts ranks in jobs of Slurm only, its scheduler is PBS" in refusal("pbspro", "srun")


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    "scheduler",
    ["squeue", *(pytest.param(name, marks=pytest.mark.rare) for name in ("pbspro", "torque", "oar", "sge"))],
)
def test_the_script_of_a_job(scheduler: str, run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environ.LET_IN, json.dumps({"UCX_TLS": "rc,$(date)"}))
    request = request_of(
        partition=scheduler, account="me & you", job_time_limit="2:00:00", scheduler_options=("--qos=long",)
    )
    jobs = [batch.Job(number, nodes, (), 600.0) for number, nodes in ((1, 4), (2, 8))]
    batch.write([batch.describe(run, request, one, [Order(("reframe",))]) for one in jobs])
    words = batch.command(run, "cluster", request, "smoke")
    session = reframe_session.run([*words, "--dry-run"], lambda _event: None, lambda: None)
    assert session.exit_code == 0, session.output
    script = batch.script_of(run, 1)
    script = script.replace(str(ROOT), "CLONE").replace("CLONE/.venv/bin/python", "PYTHON").replace(run.run, "RUN")
    assert script == (SCRIPTS / f"{scheduler}.sh").read_text()


def test_a_description_is_read_back(tmp_path: Path) -> None:
    sizes = (TakenOver("a case", (tmp_path / "a", tmp_path / "b"), tmp_path / "c"),)
    script = job.Script(
        2, 1, 64, 600, 86400, ("--qos=x",), {"A": "b c"}, ("srun", "--nodes={nodes}"), "SLURM_JOB_ID", "$HOSTS"
    )
    one = Description(RunFolder(tmp_path, "cluster", "r"), 3, (Order(("a", "b c"), sizes, "the first launch"),), script)
    (tmp_path / "job.json").write_text(json.dumps(asdict(one), default=str))
    assert Description.read(tmp_path / "job.json") == one
    assert job.on_each_node(script, ["true"]) == ["srun", "--nodes=2", "true"]


@given(st.text())
def test_whatever_a_job_script_leaves_is_read(text: str) -> None:
    log = job.script_log(text)
    assert log.exit_code is None or 0 <= log.exit_code <= 999


def test_what_a_job_script_notes() -> None:
    text = "job=12\nhost=n1\nhosts=n[1-2]\nstarted_utc=2026-11-25T10:00:00Z\n"
    assert job.script_log(text) == job.ScriptLog("12", "n1", "n[1-2]", "2026-11-25T10:00:00Z")
    ended = job.script_log(text + "exit_code=130\nended_utc=2026-11-25T10:00:01Z\n")
    assert (ended.exit_code, ended.ended_utc) == (130, "2026-11-25T10:00:01Z")


@pytest.mark.parametrize(
    ("stdout", "stderr", "words"),
    [
        (
            "",
            "sbatch: error: invalid partition specified: nope\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
            "invalid partition specified: nope; Invalid partition name specified",
        ),
        ("", "sbatch: a note\nsbatch: error: Batch job submission failed: No access", "No access"),
        (
            "",
            'Unable to run job: unknown queue "short".\nExiting.\n',
            'Unable to run job: unknown queue "short".; Exiting.',
        ),
        ("There are not enough resources for your request\n", "\n", "There are not enough resources for your request"),
        ("", "", ""),
    ],
)
def test_the_refusal_of_a_job_in_one_line(stdout: str, stderr: str, words: str) -> None:
    assert job.refusal(stdout, stderr) == words


@pytest.mark.parametrize("words", ["x" * 1000, "a\x1b[31mb"])
def test_a_refusal_is_short_and_can_be_printed(words: str) -> None:
    said = job.refusal("", words)
    assert len(said) <= job.LONGEST_REFUSAL
    assert said.isprintable()


def path_without(command: str, folder: Path) -> str:
    """A PATH on which a command is not found, and everything else is: below `folder` are links to the rest."""

    def without(found: Path) -> Path:
        if not (found / command).exists():
            return found
        links = Path(tempfile.mkdtemp(dir=folder))
        for program in found.iterdir():
            if program.name != command:
                (links / program.name).symlink_to(program)
        return links

    return os.pathsep.join(str(without(Path(found))) for found in os.environ["PATH"].split(os.pathsep))


@pytest.mark.slow
@pytest.mark.rare
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("scheduler", "command", "script", "reason"),
    [
        ("squeue", "sbatch", "echo 'sbatch: error: no such QOS' >&2; exit 1", "no such QOS"),
        ("pbspro", "qsub", "echo 'qsub: Unknown queue' >&2; exit 170", "Unknown queue"),
        ("torque", "qsub", "exit 3", "ended with exit code 3, and said nothing"),
        ("oar", "oarsub", "echo 'There are not enough resources'; exit 6", "There are not enough resources"),
        ("sge", "qsub", "echo 'Unable to run job: denied.' >&2; exit 1", "Unable to run job: denied."),
        ("sge", "qsub", "", "there is no qsub on PATH"),
    ],
)
def test_a_batch_system_that_refuses_a_job_says_why(
    scheduler: str,
    command: str,
    script: str,
    reason: str,
    run: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if script:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / command).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / command).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    else:
        monkeypatch.setenv("PATH", path_without(command, tmp_path))
    request = request_of(partition=scheduler)
    description = batch.describe(run, request, batch.Job(1, 2, (), 600.0), [Order(("reframe",))])
    batch.write([description])
    follower = batch.Follower(run, request.scheduler, [description], lambda _text: None, lambda _text: None)
    session = batch.submit(batch.command(run, "cluster", request, "smoke"), follower)
    (end,) = batch.ended(follower, session)
    assert str(batch.refusal(request.scheduler, end)).startswith(f"{request.scheduler.title} refuses the job: ")
    assert reason in end.reason
    assert "\n" not in end.reason


def test_a_job_ends_when_its_campaign_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    lease = in_job.Lease(path, 0.4)
    path.write_text("me 1")
    lease.wait()  # the campaign is there
    for beat in range(2, 8):
        path.write_text(f"me {beat}")
        time.sleep(0.1)
        lease.check()
    with pytest.raises(in_job.LeaseGone):
        while True:
            time.sleep(0.05)
            lease.check()


def test_a_job_ends_when_another_campaign_goes_on_with_its_run(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    path.write_text("before 9")
    lease = in_job.Lease(path, 0.4)
    path.write_text("me 1")
    lease.wait()
    path.write_text("me 2")
    time.sleep(0.15)
    lease.check()
    path.write_text("another 1")
    time.sleep(0.15)
    with pytest.raises(in_job.LeaseGone):
        lease.check()


def test_a_job_that_starts_when_its_campaign_is_gone_measures_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    path.write_text("me 7")
    with pytest.raises(in_job.LeaseGone):
        in_job.Lease(path, 0.2).wait()


def test_nodes_with_fewer_cores_than_ranks_need_are_named() -> None:
    cpus = (((0,), (1,)), ((0,),), ((1,),))
    found = InHand("slurm job 12 has", ("n1", "n2", "n3"), ("n1", "n2", "n3"), cpus, {})
    in_job.check_cores(found, 1)
    with pytest.raises(CampaignError, match="needs 2 cores on each node: n2 gives it 1, n3 gives it 1; correct"):
        in_job.check_cores(found, 2)


def test_nodes_that_differ_are_named() -> None:
    here = node_probe.look()
    same = [replace(here, host={**here.host, "name": f"n{number}"}) for number in (1, 2, 3)]
    assert node_probe.differences(same) == []
    more = {**same[2].host, "kernel": "another", "memory_bytes": 1 << 40}
    odd = replace(same[2], host=more, governor="powersave", c_library="musl 1.2")
    assert node_probe.differences([*same[:2], odd]) == [
        f"n3: kernel is another, on the others {here.host['kernel']}",
        f"n3: governor is powersave, on the others {here.governor}",
        f"n3: C library is musl 1.2, on the others {here.c_library}",
        f"n3: memory is 1024 GiB, on the others {size(here.host['memory_bytes'])}",
    ]
    less = replace(same[2], host={**same[2].host, "memory_bytes": round(0.99 * here.host["memory_bytes"])})
    assert node_probe.differences([*same[:2], less]) == []


def test_nodes_with_little_shared_memory_are_named() -> None:
    here = node_probe.look()
    little = {"shm_bytes": 64 << 20, "shm_free_bytes": 16 << 20}
    seen = [replace(here, host={**here.host, "name": f"n{number}", **more}) for number, more in ((1, {}), (2, little))]
    seen[0].host["shm_free_bytes"] = 1 << 30
    (line,) = node_probe.little_shared_memory(seen, 4)
    assert line.startswith("n2: /dev/shm: 16 MiB free of 64 MiB for 4 ranks: ")


def test_a_node_is_read_back_and_told_in_a_line(tmp_path: Path) -> None:
    assert node_probe.main([str(tmp_path)]) == 0
    (tmp_path / node_probe.NODES / "cut-off.json").write_text('{"host": {"na')
    (seen,) = node_probe.read(tmp_path)
    assert "core" in seen.in_words()
    assert "\n" not in seen.in_words()
    assert "findings" not in seen.as_facts()


def answering(script: str) -> Scheduler:
    """Slurm whose commands are a shell script; its arguments are those that the commands get."""
    slurm = schedulers.find("squeue")
    return replace(slurm, states=("sh", "-c", script, "squeue"), down=("sh", "-c", script, "sinfo"))


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ("echo '12|RUNNING|None'", queues.THERE),
        ("echo '12|SUSPENDED|None'", queues.THERE),
        ("echo '12|NODE_FAIL|None'", queues.ENDED),
        ("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", queues.ENDED),
        ("true", queues.GONE),
        (
            "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
            queues.SILENT,
        ),
        ("sleep 60", queues.SILENT),
    ],
)
def test_what_a_batch_system_answers_about_a_job(monkeypatch: pytest.MonkeyPatch, script: str, state: str) -> None:
    monkeypatch.setattr(queues, "ASKING_SECONDS", 0.5)
    assert queues.state(answering(script), "12") == state


def test_no_single_answer_ends_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    watched = queues.Watched()
    assert not watched.has_ended(queues.GONE)
    now += queues.GONE_SECONDS + 1
    assert not watched.has_ended(queues.THERE)  # the answers that lacked it were wrong
    assert not watched.has_ended(queues.GONE)
    now += queues.GONE_SECONDS + 1
    assert watched.has_ended(queues.GONE)
    assert not watched.has_ended(queues.SILENT)
    now += queues.SILENCE_SECONDS + 1
    assert watched.has_ended(queues.SILENT)
    assert queues.Watched().has_ended(queues.ENDED)


def test_a_poll_that_fails_or_hangs_ends_no_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "ASKING_SECONDS", 0.2)
    answered = threading.Event()
    polls: tuple[tuple[Callable[..., Any], bool], ...] = ((bool, True), (dict.popitem, False), (answered.wait, False))
    for poll, good in polls:
        patient = queues.PatientPoll(poll)
        patient()
        assert patient.good is good
    answered.set()
    patient()  # once more, after the one that hung
    patient()
    assert patient.good


def test_a_job_script_hands_on_signals_and_waits_for_what_it_started(tmp_path: Path) -> None:
    """A batch system may send a signal to the script alone."""
    script = job.Script(1, 1, 0, 300, 60, (), {}, (), "JOB", "")
    command = "bash -c 'trap \"sleep 0.5; exit 130\" TERM; touch begun; for _ in $(seq 600); do sleep 0.1; done'"
    lines = [*job.script_lines(script), " ".join([command, *job.IN_BACKGROUND]), *job.WAITING]
    process = subprocess.Popen(["bash", "-c", "\n".join(lines)], cwd=tmp_path)
    while not (tmp_path / "begun").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGUSR1)
    assert process.wait(timeout=30) == 130
    assert job.script_log((tmp_path / job.SCRIPT_LOG).read_text()).exit_code == 130


NO_ANSWER = "echo 'error: Unable to contact slurm controller (connect failure)' >&2; exit 1"


@pytest.mark.parametrize(
    ("cancelling", "asking", "says"),
    [
        (NO_ANSWER, NO_ANSWER, "1 job not cancelled (12): sh -c .* says: error: Unable to contact slurm controller"),
        ("true", NO_ANSWER, "1 job of this run (12) may not have ended, Slurm does not answer: go on with it when"),
        ("true", "echo '12|COMPLETING|None'", "1 job of this run (12) may not have ended, still there: 12: go on"),
        ("true", "echo '12|CANCELLED|None'", ""),
    ],
)
def test_a_run_goes_on_only_when_its_earlier_jobs_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cancelling: str, asking: str, says: str
) -> None:
    monkeypatch.setattr(batch, "CANCEL_SECONDS", 0.2)
    scheduler = replace(answering(asking), cancel=("sh", "-c", cancelling, "scancel"))
    folder = run_folders.start(tmp_path, "local")
    known = [{"number": 1, "id": "12"}, {"number": 2, "id": "13", "ended_utc": "2026-01-01T00:00:00Z"}]
    if says:
        with pytest.raises(CampaignError, match=re.escape(says).replace(r"\.\*", ".*")):
            batch.adopt(folder, scheduler, known)
    else:
        assert [one["id"] for one in batch.adopt(folder, scheduler, known)] == ["12", "13"]


def test_nodes_that_are_lost_are_named() -> None:
    assert queues.nodes_down(answering('test "$1" = n1,n2 && echo n2'), ["n1", "n2"]) == ["n2"]
    assert queues.nodes_down(answering("exit 1"), ["n1", "n2"]) == []
    assert queues.nodes_down(schedulers.find("torque"), ["n1"]) == []
