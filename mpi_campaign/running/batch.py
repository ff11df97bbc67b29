"""A run whose launches are in jobs of a batch system: which jobs, their submission through ReFrame, and their end."""

import json
import math
import secrets
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mpi_campaign import files
from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.options import Options
from mpi_campaign.planning.plan import Plan, Round
from mpi_campaign.processes.progress import duration
from mpi_campaign.running import job, node_probe, reframe_session
from mpi_campaign.running.job import Description, Script
from mpi_campaign.running.reframe_session import Event, Outcome, Session
from mpi_campaign.running.sessions import Order
from mpi_campaign.schedulers import hosts as hosts_of
from mpi_campaign.schedulers import registry as schedulers
from mpi_campaign.schedulers.scheduler import Scheduler, filled
from mpi_campaign.systems import known_systems, queues, site, slurm_description
from mpi_campaign.systems.known_systems import Partition
from mpi_campaign.systems.slurm_description import limit_text
from postprocess.drawing.text import first_of, plural

USUAL_WAIT_SECONDS = 24 * 3600
MOST_JOBS = 1000
MOST_NAMED = 4
"""So many nodes are named in a line."""
# A job's time limit: what its cases are expected to take, that many times, and the start of the job.
LIMIT_FACTOR = 1.5
LIMIT_EXTRA_SECONDS = 600
LOOK_SECONDS = 15.0
"""How often the batch system is asked why a job waits."""
CANCEL_SECONDS = 90.0
"""How long cancelled jobs may take to end."""
SUBMIT = "submit"
NOT_SUBMITTED = "it could not be submitted: "


@dataclass(frozen=True)
class Request:
    """What a person asked of the batch system.

    limit_seconds: of each job; None: from the budget.  most_wait_seconds: how long a job may wait in the queue.
    at_once: how many jobs may be in the queue.  longest_seconds, most_nodes: that a job may have, by the settings, or
    as the batch system says after `check`; None where it is not limited, or not known.  out_of_service: nodes of the
    partition that take no job, in words, as the batch system says after `check`.
    """

    partition: Partition
    scheduler: Scheduler
    limit_seconds: int | None
    most_wait_seconds: int
    at_once: int
    options: tuple[str, ...]
    longest_seconds: int | None
    most_nodes: int | None = None
    out_of_service: tuple[str, ...] = ()


def request_of(options: Options, partition: Partition) -> Request:
    """Raises CampaignError for options that are none, and for a launcher that the jobs of the scheduler do not have."""
    scheduler = schedulers.find(partition.scheduler)
    own = next((other for other in schedulers.SCHEDULERS if partition.launcher in other.launchers), scheduler)
    if own.title != scheduler.title:
        raise CampaignError(
            f"partition '{partition.name}': {partition.launcher} starts ranks in jobs of {own.title} only, its "
            f"scheduler is {scheduler.title}: launcher='{known_systems.OWN_LAUNCHER}' in its settings"
        )
    if not 0 <= options.max_jobs <= MOST_JOBS:
        raise CampaignError(f"--max-jobs {options.max_jobs}: a whole number from 1 to {MOST_JOBS}")
    for text in (options.account, *options.scheduler_options):
        if not text.isprintable() or text != text.strip():
            raise CampaignError(f"{text!r} is no account and no option of a batch system: one line, as sbatch has it")
    for option in options.scheduler_options:
        if not option.startswith("-"):
            raise CampaignError(f"--scheduler-option '{option}': an option of {scheduler.title} begins with -")
        if scheduler.is_own(option):
            raise CampaignError(
                f"--scheduler-option '{option}': the campaign says itself how many jobs there are, on how many nodes, "
                "for how long, and where they write: --nodes, --time-limit, --max-jobs"
            )
    account = (scheduler.account.format(shlex.quote(options.account)),) if options.account else ()
    return Request(
        partition,
        scheduler,
        _seconds("--time-limit", options.job_time_limit) if options.job_time_limit else None,
        _seconds("--max-wait", options.most_wait) if options.most_wait else USUAL_WAIT_SECONDS,
        options.max_jobs or partition.jobs_at_once,
        (*account, *options.scheduler_options),
        partition.longest_seconds,
    )


def refuse_options_of_jobs(options: Options) -> None:
    """Raises CampaignError where a person asks for jobs to be so or so, and no job is submitted."""
    if any((options.account, options.job_time_limit, options.most_wait, options.max_jobs, options.scheduler_options)):
        raise CampaignError(
            f"system '{options.system}' submits no jobs: --account, --time-limit, --max-wait, --max-jobs and "
            "--scheduler-option are of jobs; --budget-seconds says how long a run may measure"
        )


def _seconds(option: str, text: str) -> int:
    """A time as Slurm has it. Raises CampaignError where it is none, or has no end."""
    try:
        seconds = slurm_description.seconds_of(text)
    except ValueError as error:
        raise CampaignError(f"{option} {error}") from error
    if not seconds:
        raise CampaignError(f"{option} {text}: a time with an end, such as 30, 2:00:00 or 1-00:00:00")
    return seconds


def check(request: Request, nodes: int) -> Request:
    """Refuse what the partition does not give, as far as the batch system tells. nodes: of the largest job. Returns the
    request with what a job may have now. Raises CampaignError."""
    if not request.scheduler.is_described:
        return request
    name = slurm_description.partition_named_in(request.partition.access)
    described = slurm_description.ask()
    by_name = {partition.name: partition for partition in described.partitions}
    partition = by_name.get(name) if name else next(filter(lambda each: each.is_default, by_name.values()), None)
    whose = f"partition '{request.partition.name}' of the settings"
    if partition is None:
        raise CampaignError(f"{whose}: Slurm has no partition '{name}'; it has: {', '.join(by_name)}")
    if partition.state != "UP":
        raise CampaignError(f"{whose}: Slurm's partition '{partition.name}' is {partition.state}, and starts no jobs")
    limit = partition.longest_seconds
    if limit is not None and request.limit_seconds is not None and request.limit_seconds > limit:
        raise CampaignError(
            f"--time-limit {limit_text(request.limit_seconds)}: Slurm's partition '{partition.name}' gives a job at "
            f"most {limit_text(limit)}"
        )
    of_partition = described.nodes_of(partition.name)
    out_of_service = tuple(str(node) for node in of_partition if not node.is_usable)
    usable = len(of_partition) - len(out_of_service)
    most = min(usable, partition.most_nodes or usable)
    if nodes > most:
        why = f": {first_of(out_of_service, MOST_NAMED)}" if usable == most and out_of_service else ""
        raise CampaignError(
            f"--nodes {nodes}: Slurm's partition '{partition.name}' gives a job at most {plural(most, 'node')}{why}"
        )
    longest = min(filter(None, (limit, request.longest_seconds)), default=None)
    return replace(request, longest_seconds=longest, most_nodes=most, out_of_service=out_of_service)


@dataclass(frozen=True)
class Job:
    """A job of a plan: the rounds that it measures, on so many nodes.  seconds: how long they are expected to take; 0
    where no budget bounds them.  cores_per_node: that its ranks need; 0: its ranks may share fewer."""

    number: int
    nodes: int
    rounds: tuple[Round, ...]
    seconds: float
    cores_per_node: int = 0


def jobs_of(plan: Plan, first: int = 1, is_whole: Callable[[str], bool] = lambda _stem: False) -> list[Job]:
    """The jobs of a plan, one for each number of nodes: whatever is compared is measured on the same nodes. Where each
    node is measured, there is one job, with all nodes.

    first: the number of the first one.  is_whole: whether a case, by its stem, has a complete record already that was
    checked. A job of such cases alone is left out.
    """
    by_nodes: dict[int, list[Round]] = {}
    for turn in plan.rounds:
        nodes = max(plan.options.nodes) if plan.options.one_after_the_other else plan.placement_of(turn).nodes
        by_nodes.setdefault(nodes, []).append(turn)
    jobs: list[Job] = []
    for nodes, rounds in by_nodes.items():
        cases = [case for case in plan.to_measure if any(turn.has(case) for turn in rounds)]
        if not all(is_whole(case.stem) for case in cases):
            seconds = sum(map(plan.expected_seconds, cases))
            cores = max(plan.placement_of(turn).cores_per_node for turn in rounds)
            needed = 0 if plan.options.oversubscribe else cores
            jobs.append(Job(first + len(jobs), nodes, tuple(rounds), seconds, needed))
    return jobs


def limit_seconds(request: Request, seconds: float) -> int:
    """The time limit of a job that is expected to take so long; 0: it is not limited, or the batch system limits it.
    Raises CampaignError where the job would not end within its limit."""
    longest = request.longest_seconds
    limit = request.limit_seconds or longest
    if request.limit_seconds is None and seconds:
        limit = math.ceil((LIMIT_FACTOR * seconds + LIMIT_EXTRA_SECONDS) / 60) * 60
        limit = min(limit, longest) if longest else limit
    if limit is not None and seconds > limit:
        more = "take another --partition" if limit == longest else "for more with --time-limit"
        raise CampaignError(
            f"a job would measure for about {duration(seconds)}, and its time limit is {duration(limit)}: ask for "
            f"fewer cases or a smaller --budget-seconds, or {more}"
        )
    return limit or 0


def adopt(folder: RunFolder, scheduler: Scheduler, before: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The jobs of an earlier campaign of the run, as the manifest has them, with how they ended meanwhile.

    before: the jobs in the manifest. Those that still wait or run are cancelled. What they measured is in the archive.
    Raises CampaignError where the batch system does not say that they have ended: beside them, nothing is measured.
    """
    open_ids = [str(entry["id"]) for entry in before if entry.get("id") and "ended_utc" not in entry]
    queues.cancel(scheduler, open_ids)
    _wait_for_end(scheduler, open_ids)
    run_folders.harvest(folder)
    adopted = []
    for job_before in before:
        entry = dict(job_before)
        place = folder.jobs / str(entry.get("number"))
        if "ended_utc" not in entry:
            log = job.script_log(files.read(place / job.SCRIPT_LOG))
            nodes = node_probe.read(place)
            reason = "" if log.exit_code == 0 else "the campaign that had submitted it was gone"
            entry |= {**_times(log), "hosts": _hosts(log, nodes), "reason": reason}
            entry["nodes"] = [seen.as_facts() for seen in nodes]
        adopted.append(entry)
    return adopted


def _wait_for_end(scheduler: Scheduler, ids: Sequence[str]) -> None:
    """Wait until jobs that were cancelled have ended; of a batch system that nothing can be asked, do not wait. Raises
    CampaignError where they have not ended within CANCEL_SECONDS, or the batch system does not say so."""
    deadline = time.monotonic() + CANCEL_SECONDS
    left = {name: queues.Watched() for name in ids if scheduler.states}
    while left:
        states = {name: queues.state(scheduler, name) for name in left}
        left = {name: watched for name, watched in left.items() if not watched.has_ended(states[name])}
        if left and time.monotonic() > deadline:
            which = f"{plural(len(ids), 'job')} of this run ({', '.join(ids)})"
            left_over = [name for name in left if states[name] == queues.THERE]
            why = f"still there: {', '.join(left_over)}" if left_over else f"{scheduler.title} does not answer"
            raise CampaignError(f"{which} may not have ended, {why}: go on with it when {scheduler.title} says so")
        time.sleep(1.0)


def _times(log: job.ScriptLog) -> dict[str, Any]:
    return {"started_utc": log.started_utc, "ended_utc": log.ended_utc, "exit_code": log.exit_code}


def _hosts(log: job.ScriptLog, nodes: Sequence[node_probe.Seen]) -> list[str]:
    """The hosts of a job that looked around, or else those that the batch system told the job script."""
    if nodes or not log.hosts:
        return [seen.name for seen in nodes]
    try:
        return hosts_of.expand(log.hosts)
    except CampaignError:
        return [log.hosts]


def describe(
    folder: RunFolder, request: Request, planned: Job, orders: Sequence[Order], budget_seconds: float = 0.0
) -> Description:
    """The description of a job. Slurm gives whole nodes to a job without orders, which finds out what they are: it does
    not ask for the CPUs of the settings. Other batch systems give a job the CPUs that it asks for.

    budget_seconds: of the run.
    """
    scheduler, partition = request.scheduler, request.partition
    cores = partition.declared.cores if partition.declared is not None else 1
    asked = (*(partition.access if scheduler.leaves_access_out else ()), *scheduler.whole_nodes)
    asks_for_cpus = not scheduler.counts_cores and (bool(orders) or not scheduler.gives_whole_nodes)
    cpus = planned.nodes * (partition.cpus_per_node or 1)
    script = Script(
        nodes=planned.nodes,
        tasks_per_node=cores if scheduler.counts_cores else 1,
        cpus_per_node=partition.cpus_per_node if asks_for_cpus else 0,
        limit_seconds=limit_seconds(request, planned.seconds),
        most_wait_seconds=request.most_wait_seconds,
        options=(*(filled(option, planned.nodes, cpus) for option in asked), *request.options),
        exports=dict(word.split("=", 1) for word in environ.assignment()),
        on_each_node=scheduler.on_each_node,
        job_id=scheduler.job_id,
        hosts=scheduler.hosts,
    )
    return Description(
        folder, planned.number, tuple(orders), script, cores_per_node=planned.cores_per_node,
        budget_seconds=max(budget_seconds, 0.0),
    )  # fmt: skip


def write(descriptions: Sequence[Description]) -> None:
    """Make the jobs' folders, each with its description."""
    for description in descriptions:
        description.folder.mkdir(parents=True, exist_ok=True)
        files.write_atomically(
            description.folder / job.DESCRIPTION, json.dumps(asdict(description), indent=1, default=str) + "\n"
        )


def command(folder: RunFolder, system: str, request: Request, suite: str) -> list[str]:
    """ReFrame's command line that submits the jobs, without the option that says what to do with them."""
    loading = {"MPI_CAMPAIGN_JOBS": str(folder.jobs), site.MAX_JOBS: str(request.at_once)}
    return reframe_session.command(
        settings=known_systems.SYSTEMS / system / "settings.py",
        folder=folder.session / SUBMIT,
        partition=f"{system}:{request.partition.name}",
        files=["batch_job"],
        tests="^batch_job",
        environments=[site.WITHOUT_MPI],
        mode=suite,
        policy="async" if request.at_once > 1 else "serial",
        loading=loading,
    )


def in_words(request: Request, jobs: Sequence[Job]) -> list[str]:
    """Lines about jobs that would be submitted: how many, on how many nodes, for how long at most."""
    lines = []
    hours = 0.0
    for asked in jobs:
        seconds = limit_seconds(request, asked.seconds)
        hours += asked.nodes * seconds / 3600
        limit = f"at most {duration(seconds)}" if seconds else "no time limit is asked for"
        expected = f", about {duration(asked.seconds)} of measuring" if asked.seconds else ""
        lines.append(f"job {asked.number}: {plural(asked.nodes, 'node')}, {limit}{expected}")
    nodes = sum(asked.nodes for asked in jobs)
    cost = f", at most {hours:.1f} node hours" if hours else ""
    lines.append(f"{plural(len(jobs), 'job')}, {plural(nodes, 'node')} in all{cost}")
    return lines


def script_of(folder: RunFolder, number: int) -> str:
    """The job script that ReFrame has written for a job; empty where there is none."""
    scripts = map(files.read, (folder.session / SUBMIT).rglob("rfm_job.sh"))
    return next((f"{text}\n" for text in scripts if f"{folder.jobs / str(number)} " in text), "")


@dataclass
class Ended:
    """How a job ended.  stage: the folder with its script and its output, where it was submitted.  reason: why it did
    not do all that it should; empty where it did.  enough: after how many launches of each case it ended because they
    told, and why; None where it did not."""

    description: Description
    job_id: str
    log: job.ScriptLog
    stage: Path | None
    nodes: list[node_probe.Seen]
    sessions: list[dict[str, Any]]
    reason: str = ""
    enough: tuple[int, str] | None = None

    def as_json(self) -> dict[str, Any]:
        """The job for the manifest."""
        return {
            "number": self.description.number,
            "id": self.job_id,
            "nodes_asked": self.description.script.nodes,
            "hosts": _hosts(self.log, self.nodes),
            **_times(self.log),
            "reason": self.reason,
            "nodes": [seen.as_facts() for seen in self.nodes],
        }


@dataclass
class Follower:
    """Follows jobs by the files that they write: hands on their events, and keeps their lease.

    on_event: is called with job, session and event, both numbers from 0.  on_again: is called with a job that begins,
    also when its batch system has started it again.
    """

    folder: RunFolder
    scheduler: Scheduler
    descriptions: Sequence[Description]
    say: Callable[[str], None]
    status: Callable[[str], None]
    on_event: Callable[[int, int, Event], None] = lambda _job, _session, _event: None
    on_tick: Callable[[], None] = lambda: None
    on_submit: Callable[[], None] = lambda: None
    on_again: Callable[[int], None] = lambda _job: None
    sessions: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    enough: dict[int, tuple[int, str]] = field(default_factory=dict)
    _read: dict[int, int] = field(default_factory=dict)
    _owner: str = field(default_factory=lambda: secrets.token_hex(4))
    _beats: int = 0
    _beaten: float = -math.inf
    _looked: float = -math.inf
    _known: dict[str, float] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)

    def tick(self) -> None:
        """Do all that is due. It is called twice a second."""
        now = time.monotonic()
        if now - self._beaten >= job.BEAT_SECONDS:
            self._beats += 1
            files.write_atomically(self.folder.jobs / job.LEASE, f"{self._owner} {self._beats}\n")
            self._beaten = now
        waits = self._waiting(now)
        for number, description in enumerate(self.descriptions):
            self._follow(number, description)
        if waits:
            self.status(f"      {waits}")
        else:
            self.on_tick()

    def ids(self) -> dict[int, str]:
        """The jobs' ids by their place, of those that were submitted."""
        ids = {}
        for number, description in enumerate(self.descriptions):
            if text := files.read(description.folder / job.SUBMITTED).strip():
                ids[number] = text
        return ids

    def log(self, number: int) -> job.ScriptLog:
        """What the script of a job has noted, by the job's place."""
        return job.script_log(files.read(self.descriptions[number].folder / job.SCRIPT_LOG))

    def _follow(self, number: int, description: Description) -> None:
        path = description.folder / job.EVENTS
        try:
            with path.open("rb") as file:
                file.seek(self._read.get(number, 0))
                new = file.read()
        except OSError:
            return
        ended_lines = new[: new.rfind(b"\n") + 1]
        self._read[number] = self._read.get(number, 0) + len(ended_lines)
        for line in ended_lines.decode(errors="replace").splitlines():
            message = json.loads(line)
            if "event" in message:
                self.on_event(number, message["session"], Event(**message["event"]))
            elif "say" in message:
                self.say(message["say"])
            elif "began" in message:
                if message["began"]:
                    self.say(
                        f"job {self.log(number).job} runs again, on {message['host']}: what it measured is replaced"
                    )
                self.sessions.pop(number, None)
                self.enough.pop(number, None)
                self.on_again(number)
            elif "ended" in message:
                self.sessions.setdefault(number, []).append(message)
            elif "enough" in message:
                self.enough[number] = (message["enough"], message["why"])

    def _waiting(self, now: float) -> str:
        """What waits in the queue, in words; empty where nothing does."""
        ids = self.ids()
        for number, name in ids.items():
            if name not in self._known:
                self._known[name] = now
                self.on_submit()
                self.say(f"job {name} is in the queue, for {plural(self.descriptions[number].script.nodes, 'node')}")
            if name not in self._started and (log := self.log(number)).started_utc:
                self._started.add(name)
                self.reasons.pop(name, None)
                self.say(
                    f"job {name} has started on {log.host}, after {duration(now - self._known[name])} in the queue"
                )
        queued = [name for name in ids.values() if name not in self._started]
        if queued and now - self._looked >= LOOK_SECONDS:
            self._looked = now
            for name, reason in self._why_queued(queued).items():
                if reason not in ("None", self.reasons.get(name)):
                    self.reasons[name] = reason
                    self.say(f"job {name} waits: {reason}")
        if len(queued) < len(ids):
            return ""
        words = [
            f"job {name} waits in the queue, {duration(now - self._known[name])}"
            + (f": {self.reasons[name]}" if name in self.reasons else "")
            for name in queued
        ]
        return "; ".join(words)

    def _why_queued(self, queued: Sequence[str]) -> dict[str, str]:
        """Why jobs wait, by id, as the batch system tells."""
        if not self.scheduler.states:
            return {}
        states = queues.look(self.scheduler, queued)
        if states is None:
            return dict.fromkeys(queued, f"{self.scheduler.title} does not answer")
        return {name: state.reason for name, state in states.items() if state.state == "PENDING"}


def submit(words: Sequence[str], follower: Follower) -> Session:
    """Submit all jobs through ReFrame, and wait until they have ended. Whatever ends this leaves no job behind."""
    follower.tick()
    try:
        session = reframe_session.run([*words, "--run"], lambda _event: follower.tick(), follower.tick)
    finally:
        _leave_no_job(follower)
    follower.tick()
    return session


def _leave_no_job(follower: Follower) -> None:
    """Cancel the jobs that did not do all that they should: one may still run, or be queued again."""
    logs = {name: follower.log(number) for number, name in follower.ids().items()}
    try:
        queues.cancel(follower.scheduler, [name for name, log in logs.items() if log.exit_code != 0])
    except CampaignError as error:  # what was measured is archived all the same
        follower.say(f"{error}; they end by themselves when they notice that this campaign is gone")


def ended(follower: Follower, session: Session) -> list[Ended]:
    """How each job has ended."""
    of_jobs = reframe_session.outcomes(follower.folder.session / SUBMIT / run_folders.REPORT)
    outcomes = {outcome.stem: outcome for outcome in of_jobs}
    ids = follower.ids()
    all_ended = []
    for number, description in enumerate(follower.descriptions):
        name, outcome = ids.get(number, ""), outcomes.get(description.name)
        log = follower.log(number)
        done = follower.sessions.get(number, [])
        enough = follower.enough.get(number)
        is_whole = log.exit_code == 0 and (enough is not None or len(done) == len(description.orders))
        why = _force(follower, description, name, log)
        if not why and not is_whole:
            why = _why(follower, description, name, log, outcome, session)
        stage = Path(outcome.folder) if outcome else None
        all_ended.append(Ended(description, name, log, stage, node_probe.read(description.folder), done, why, enough))
    return all_ended


def _force(follower: Follower, description: Description, name: str, log: job.ScriptLog) -> str:
    """What the batch system did to a job that had started, in one sentence; empty where the job ended by itself. If the
    job's first node is lost, what runs there may go on, and end well: its launches fail."""
    if not name or log.started_utc is None:
        return ""
    how = queues.how_ended(follower.scheduler, name)
    if not how:
        return ""
    down = queues.nodes_down(follower.scheduler, [seen.name for seen in node_probe.read(description.folder)])
    which = f": {', '.join(down)} {'is' if len(down) == 1 else 'are'} down" if down else ""
    return f"job {name} on {log.host} {how}{which}"


def _why(
    follower: Follower,
    description: Description,
    name: str,
    log: job.ScriptLog,
    outcome: Outcome | None,
    session: Session,
) -> str:
    """Why a job did not do all that it should, in one sentence."""
    if session.interrupted and log.started_utc is None:
        return f"interrupted before {f'job {name}' if name else 'the job'} started"
    if session.interrupted:
        return f"job {name} on {log.host}: interrupted"
    if not name:
        refusal = files.read(description.folder / job.REFUSED).strip()
        return f"{NOT_SUBMITTED}{refusal or (outcome.fail_reason if outcome else '') or session.complaint}"
    if log.exit_code is None and follower.scheduler.states and queues.state(follower.scheduler, name) == queues.SILENT:
        return f"job {name}: {follower.scheduler.title} does not answer, and may still have it"
    if log.started_utc is None and name in follower.reasons:
        return f"job {name} never started; the batch system's reason: {follower.reasons[name]}"
    if log.started_utc is None:
        return f"job {name} left no file: it never started, or its nodes do not share {description.folder}"
    if full := files.why_full(description.folder):
        return f"job {name} on {log.host} could not write what it did: {full}"
    if log.exit_code is None:
        return f"job {name} on {log.host} was ended by force"
    output = files.read(Path(outcome.folder) / run_folders.STDERR) if outcome else ""
    words = [line.removeprefix("campaign: ") for line in output.splitlines() if line.startswith("campaign: ")]
    return f"job {name} on {log.host}: {words[-1] if words else f'it ended with exit code {log.exit_code}'}"


def outcomes_of(description: Description, session: Mapping[str, Any]) -> list[Outcome]:
    """How each test of a session in a job ended. session: what the job said of it."""
    return reframe_session.outcomes(description.folder / f"{session['ended'] + 1}.{run_folders.REPORT}")


def session_of(session: Mapping[str, Any], provenance: Mapping[str, Any], end: Ended) -> dict[str, Any]:
    """A session in a job, for the manifest. provenance: of the campaign that has submitted the job."""
    times = {name: session[name] for name in ("began_utc", "ended_utc", "exit_code")}
    return {**times, **provenance, "host": session["host"], "job": end.job_id}


def keep_session(folder: RunFolder, description: Description, session: Mapping[str, Any], number: int) -> None:
    """Archive ReFrame's reports on a session in a job. number: of the session in the run, from 1."""
    for name in run_folders.SESSION_FILES:
        source = description.folder / f"{session['ended'] + 1}.{name}"
        if source.exists():
            shutil.copyfile(source, folder.session / name)
    run_folders.keep_session(folder, number)


def refusal(scheduler: Scheduler, end: Ended) -> CampaignError:
    """The error of a job that could not be submitted."""
    return CampaignError(f"{scheduler.title} refuses the job: {end.reason.removeprefix(NOT_SUBMITTED)}")


def keep_logs(folder: RunFolder, end: Ended) -> None:
    """Archive what a job's script printed, the script, and what it noted about its start and end."""
    logs = folder.partial / "logs"
    kept = {end.description.folder / job.SCRIPT_LOG: ".txt"}
    if end.stage is not None:
        kept |= {end.stage / run_folders.STDOUT: ".out", end.stage / run_folders.STDERR: ".err"}
        kept |= {end.stage / "rfm_job.sh": ".sh"}
    for source, suffix in kept.items():
        if source.is_file():
            shutil.copyfile(source, logs / f"{end.description.name}{suffix}")
    if text := files.read(end.description.folder / job.SESSION_LOG):
        with (logs / "reframe.log").open("a", encoding="utf-8") as log:
            log.write(f"{text}\n")


def cancel(folder: RunFolder) -> list[str]:
    """Cancel the jobs of a run that have not ended. Returns their ids. Raises CampaignError where the run has no jobs,
    or where they cannot be cancelled."""
    manifest = run_folders.read_manifest(folder)
    jobs = manifest.get("jobs") or []
    if not jobs:
        raise CampaignError(f"run '{folder.run}' has no jobs of a batch system")
    open_ids = [str(entry["id"]) for entry in jobs if entry.get("id") and "ended_utc" not in entry]
    options = manifest.get("options") or {}
    system = known_systems.load(folder.system, str(options.get("partition") or ""))
    scheduler = schedulers.find(system.partition(str(options.get("network") or "")).scheduler)
    queues.cancel(scheduler, open_ids)
    return open_ids
