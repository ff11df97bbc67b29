"""Batch systems, by ReFrame's name: the commands for a job that ReFrame has no answer to.

ReFrame submits jobs, watches them and cancels its own. This table has what the campaign itself does: ask why a job
waits, cancel jobs whose campaign is gone, and start one process on each node of a job.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mpi_campaign.children import asking, environ
from mpi_campaign.errors import CampaignError
from postprocess.drawing.text import plural

ASKING_SECONDS = 20.0


@dataclass(frozen=True)
class Scheduler:
    """A batch system.

    title: for people.
    watched: how ReFrame learns that a job has ended, where that is the difference between two entries.
    tested: what of it really ran in this project's tests; empty where only its job scripts are tested.
    is_slurm: whether Slurm's commands tell what partitions there are.
    account: an option with a place for the value.
    cancel: a command that job ids are added to.
    waiting: a command that job ids, joined by commas, are added to. It prints ID|STATE|REASON of each job that is in
    the queue or runs. () where there is none.
    unknown_job: what that command says on standard error of the id of a job that has ended.
    down: a command that names of hosts, joined by commas, are added to. It prints those that are lost. () where there
    is none.
    job_id: the variable with a job's id in the job.
    on_each_node: a command in a job, with a place for the number of nodes, that a program is added to. It starts one
    process on each node. () where there is none: each host of the job is then asked in turn.
    hosts: shell words that write the hosts of a job, in the job.
    access: what `access` of a partition may look like.
    whole_nodes: options for nodes that nobody else uses, beside what ReFrame writes. Like those of `access`, they may
    have places: {nodes}, and {cpus} of all nodes together.
    own_options: options that the campaign and ReFrame write themselves, or that make several jobs of one. A person's
    own would contradict them.
    leaves_access_out: ReFrame does not write the options of `access` into job scripts, so that the campaign does.
    counts_cores: ReFrame asks for nodes by their number of cores.
    """

    title: str
    account: str
    cancel: tuple[str, ...]
    waiting: tuple[str, ...]
    job_id: str
    hosts: str
    on_each_node: tuple[str, ...] = ()
    access: tuple[str, ...] = ()
    whole_nodes: tuple[str, ...] = ()
    own_options: tuple[str, ...] = ()
    leaves_access_out: bool = False
    counts_cores: bool = False
    tested: str = ""
    unknown_job: str = ""
    down: tuple[str, ...] = ()
    watched: str = ""
    is_slurm: bool = False

    def is_own(self, option: str) -> bool:
        """Whether an option, with its value, is one of `own_options`.

        Slurm's commands also take the beginning of a long name, and a value right behind a short one.
        """
        name = re.split(r"[=\s]", option)[0]
        if not self.is_slurm:
            return name in self.own_options
        if name.startswith("--"):
            return any(own.startswith(name) for own in self.own_options)
        return name[:2] in self.own_options

    @property
    def in_words(self) -> str:
        """What it is, and whether it was tested."""
        what = f"{self.title}, {self.watched}" if self.watched else self.title
        return f"{what}: {self.tested or 'not tested, no job of it ever ran here'}"


def _hosts_in(variable: str) -> str:
    """Shell words that write the hosts in the file that a variable names."""
    return f'$(cut -d " " -f 1 "${{{variable}:-/dev/null}}" | sort -u | paste -s -d ,)'


_SLURM = Scheduler(
    title="Slurm",
    tested="tested",
    account="--account={}",
    cancel=("scancel",),
    waiting=("squeue", "--noheader", "--format=%i|%T|%r", "--jobs"),
    job_id="SLURM_JOB_ID",
    hosts="${SLURM_JOB_NODELIST:-}",
    on_each_node=(
        "srun",
        "--nodes={nodes}",
        "--ntasks={nodes}",
        "--ntasks-per-node=1",
        "--cpu-bind=none",
        "--mpi=none",
    ),
    unknown_job="Invalid job id",
    down=("sinfo", "--noheader", "--Node", "--states=down,fail", "--format=%N", "--nodes"),
    watched="jobs watched with squeue",
    is_slurm=True,
    own_options=(
        "--nodes",
        "-N",
        "--ntasks",
        "-n",
        "--ntasks-per-node",
        "--time",
        "-t",
        "--array",
        "-a",
        "--job-name",
        "-J",
        "--output",
        "-o",
        "--error",
        "-e",
    ),
)

_PBS = Scheduler(
    title="PBS",
    account="-A {}",
    cancel=("qdel",),
    waiting=(),
    job_id="PBS_JOBID",
    hosts=_hosts_in("PBS_NODEFILE"),
    on_each_node=("pbsdsh", "-u", "--"),
    access=("-q workq",),
    whole_nodes=("-l place=scatter:excl",),
    own_options=("-J", "-N", "-o", "-e"),
)

SCHEDULERS: Mapping[str, Scheduler] = {
    "squeue": _SLURM,
    "slurm": replace(_SLURM, watched="jobs watched with sacct"),
    "pbs": _PBS,
    "pbspro": _PBS,
    "torque": Scheduler(
        title="Torque",
        tested="tested with Slurm's commands of the same names; no job of Torque ever ran here",
        account="-A {}",
        cancel=("qdel",),
        waiting=(),
        job_id="PBS_JOBID",
        hosts=_hosts_in("PBS_NODEFILE"),
        on_each_node=("pbsdsh", "-u"),
        access=("-q batch",),
        whole_nodes=("-W x=NACCESSPOLICY:SINGLEJOB",),
        own_options=("-t", "-N", "-o", "-e"),
    ),
    "oar": Scheduler(
        title="OAR",
        account="--project={}",
        cancel=("oardel",),
        waiting=(),
        job_id="OAR_JOB_ID",
        hosts=_hosts_in("OAR_NODEFILE"),
        access=("-q default",),
        own_options=("--array", "-n", "--name", "-O", "--stdout", "-E", "--stderr"),
        counts_cores=True,
    ),
    "sge": Scheduler(
        title="Grid Engine",
        tested="tested with Debian's Grid Engine 8.1.9",
        account="-A {}",
        cancel=("qdel",),
        waiting=(),
        job_id="JOB_ID",
        hosts=_hosts_in("PE_HOSTFILE"),
        access=("-q all.q", "-pe mpi {cpus}"),
        whole_nodes=("-S /bin/bash",),
        own_options=("-t", "-N", "-o", "-e"),
        leaves_access_out=True,
    ),
}
"""Schedulers of ReFrame that jobs of a campaign are submitted to."""

IN_HAND_ONLY: Mapping[str, str] = {
    "flux": "Flux: no jobs are submitted; a run in an allocation finds its nodes: not tested, no job ever ran here"
}
"""Batch systems that jobs are not submitted to, in whose allocations a campaign runs: what `list` says of them."""


@dataclass(frozen=True)
class Waiting:
    """A job that is queued or runs: PENDING or RUNNING, and the batch system's reason why it does not run."""

    state: str
    reason: str

    @property
    def is_pending(self) -> bool:
        return self.state == "PENDING"


ENDED_BY_FORCE: Mapping[str, str] = {
    "CANCELLED": "was cancelled",
    "TIMEOUT": "reached its time limit",
    "NODE_FAIL": "lost a node",
    "PREEMPTED": "was preempted",
    "OUT_OF_MEMORY": "ran out of memory",
}
"""States of jobs that the batch system has ended, in words that follow the name of a job."""


def filled(option: str, nodes: int, cpus: int) -> str:
    """An option with its places filled. cpus: of all nodes together."""
    return option.replace("{nodes}", str(nodes)).replace("{cpus}", str(cpus))


def find(name: str) -> Scheduler:
    """The scheduler by ReFrame's name. Raises CampaignError with the legal names."""
    if name not in SCHEDULERS:
        raise CampaignError(
            f"jobs cannot be submitted to scheduler '{name}': one of {', '.join(SCHEDULERS)}, or local inside of a job"
        )
    return SCHEDULERS[name]


def parse_waiting(text: str) -> dict[str, Waiting]:
    """The jobs in lines of ID|STATE|REASON, by id; other lines are left out."""
    matches = (re.fullmatch(r"([^|\s]+)\|([A-Z_]+)\|(.*)", line.strip()) for line in text.splitlines())
    return {match[1]: Waiting(match[2], match[3].strip()) for match in matches if match}


def waiting(scheduler: Scheduler, jobs: Sequence[str]) -> dict[str, Waiting] | None:
    """The jobs of these ids that are queued or run; None where the batch system does not say."""
    if not jobs:
        return {}
    if not scheduler.waiting:
        return None
    words = [*scheduler.waiting, ",".join(jobs)]
    answer = asking.ask(words, env=environ.built(environ.SESSION), seconds=ASKING_SECONDS)
    return parse_waiting(answer.stdout) if answer.good or scheduler.unknown_job in answer.stderr else None


def how_ended(scheduler: Scheduler, job: str) -> str:
    """How the batch system ended a job that would have gone on, in words that follow its name.

    Empty where it did not, or does not tell.
    """
    if not scheduler.waiting:
        return ""
    words = [*scheduler.waiting, job, "--states=all"]
    answer = asking.ask(words, env=environ.built(environ.SESSION), seconds=ASKING_SECONDS)
    found = parse_waiting(answer.stdout).get(job)
    return ENDED_BY_FORCE.get(found.state, "") if found else ""


def has_ended(scheduler: Scheduler, job: str) -> bool | None:
    """Whether a job is neither queued nor runs any more; None where the batch system does not say."""
    found = waiting(scheduler, [job])
    return None if found is None else job not in found


def nodes_down(scheduler: Scheduler, hosts: Sequence[str]) -> list[str]:
    """Those of the hosts that the batch system has lost; empty where it does not say."""
    if not scheduler.down or not hosts:
        return []
    words = [*scheduler.down, ",".join(hosts)]
    answer = asking.ask(words, env=environ.built(environ.SESSION), seconds=ASKING_SECONDS)
    return [host for host in hosts if host in answer.stdout.split()]


def cancel(scheduler: Scheduler, jobs: Sequence[str]) -> None:
    """Cancel jobs. Those that have ended already are no error.

    Raises CampaignError where the command is missing or does not answer, or where the batch system neither takes it nor
    says that the jobs have ended.
    """
    if not jobs:
        return
    answer = asking.ask([*scheduler.cancel, *jobs], env=environ.built(environ.SESSION), seconds=ASKING_SECONDS)
    unknown = bool(scheduler.unknown_job) and scheduler.unknown_job in answer.stderr  # one of them has ended long ago
    refused = not answer.good and not unknown and scheduler.waiting and waiting(scheduler, jobs) != {}
    if answer.trouble or refused:
        lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
        why = answer.trouble or f"says: {(lines or [f'exit code {answer.exit_code}'])[-1]}"
        raise CampaignError(
            f"{plural(len(jobs), 'job')} not cancelled ({', '.join(jobs)}): {' '.join(scheduler.cancel)} {why}"
        )
