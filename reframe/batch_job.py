"""Jobs of a batch system, each of which carries out sessions of a run: `campaign run` submits them through ReFrame.

batch_job %number=1

Whatever is compared is measured in one job, on the same nodes: the job starts ReFrame again, which launches one case
after the other on the nodes that the job has.
"""

import contextlib
import os
import shlex
import time
from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError, SpawnedProcessError

from mpi_campaign import ROOT, files
from mpi_campaign.errors import CampaignError
from mpi_campaign.running import job
from mpi_campaign.running.job import Description
from mpi_campaign.schedulers import registry as schedulers
from mpi_campaign.systems import queues, site

JOBS = Path(os.environ.get("MPI_CAMPAIGN_JOBS", "/nonexistent"))
ASK_SECONDS = 2.0
"""How often the batch system is asked for a job."""
NUMBERS = sorted(int(path.parent.name) for path in JOBS.glob(f"*/{job.DESCRIPTION}"))


@rfm.simple_test
class batch_job(rfm.RunOnlyRegressionTest):
    """One job: the description in its folder says what it asks for."""

    descr = "sessions of a run, in a job of a batch system"
    number: Any = parameter(NUMBERS)
    valid_systems = ["*"]
    valid_prog_environs = [site.WITHOUT_MPI]
    sourcesdir = None
    #: Name of the job. The report has it too, so that how it ended is matched by it.
    case_stem = variable(str, value="", loggable=True)

    @run_after("setup")
    def ask(self) -> None:
        """What the job asks of the batch system."""
        self.description = Description.read(JOBS / str(self.number) / job.DESCRIPTION)
        self.case_stem = self.description.name
        script = self.description.script
        self.num_tasks, self.num_tasks_per_node = script.nodes * script.tasks_per_node, script.tasks_per_node
        self.num_cpus_per_task = script.cpus_per_node or None
        self.exclusive_access = True
        self.time_limit = f"{script.limit_seconds}s" if script.limit_seconds else None
        self.job.options = list(script.options)

    @run_before("run")
    def write_script(self) -> None:
        """One process on the job's first node, which starts the others."""
        description = self.description
        self.job.launcher = getlauncher("local")()
        self.prerun_cmds = [
            f"cd {shlex.quote(str(description.folder))} || exit 1",
            *job.script_lines(description.script),
            *(f"export {name}={shlex.quote(value)}" for name, value in description.script.exports.items()),
            f"export PYTHONPATH={shlex.quote(str(ROOT))}",
        ]
        self.executable = site.python_command()
        self.executable_opts = ["-m", "mpi_campaign.running.in_job", job.DESCRIPTION, *job.IN_BACKGROUND]
        self.postrun_cmds = job.WAITING

    @run_before("run")
    def note_id_at_once(self) -> None:
        """Note the id as soon as there is one; a hook after `run` waits until the job has ended. If the job is refused,
        note why."""
        submit = self.job.submit

        def submit_and_note() -> None:
            try:
                submit()
            except SpawnedProcessError as error:
                said = job.refusal(error.stdout or "", error.stderr or "")
                said = said or f"'{error.command}' ended with exit code {error.exitcode}, and said nothing"
                files.write_atomically(self.description.folder / job.REFUSED, f"{said}\n")
                raise
            except FileNotFoundError as error:
                said = f"there is no {error.filename} on PATH: start the campaign where jobs can be submitted"
                files.write_atomically(self.description.folder / job.REFUSED, f"{said}\n")
                raise
            files.write_atomically(self.description.folder / job.SUBMITTED, f"{self.job.jobid}\n")

        self.job.submit = submit_and_note

    @run_before("run")
    def believe_no_single_poll(self) -> None:
        """A job that its script says has ended may be queued again; otherwise the batch system says when it has ended.

        ReFrame takes a job for ended where `squeue` does not answer, and for failed where `sacct` does not. After the
        time that a job may wait it would cancel one that is suspended, or queued again.
        """
        of_jobs = self.current_partition.scheduler
        if not isinstance(of_jobs.poll, queues.PatientPoll):  # jobs that are in the queue at once share it
            of_jobs.poll = queues.PatientPoll(of_jobs.poll)
        finished, scheduler, watched = self.job.finished, schedulers.find(of_jobs.registered_name), queues.Watched()
        asked, most_wait = 0.0, self.description.script.most_wait_seconds

        def state() -> str:
            if scheduler.states:
                return queues.state(scheduler, self.job.jobid)
            if not of_jobs.poll.good:
                return queues.SILENT
            return queues.GONE if finished() else queues.THERE

        def surely_finished() -> bool:
            nonlocal asked
            if time.monotonic() - asked < ASK_SECONDS:
                return False
            log, job_state = self.script_log(), state()
            asked = time.monotonic()
            if log.started_utc is None and 0 < most_wait < time.time() - self.job.submit_time:
                with contextlib.suppress(CampaignError):  # it is tried again
                    queues.cancel(scheduler, [self.job.jobid])
            if (log.exit_code is None or job_state == queues.THERE) and not watched.has_ended(job_state):
                return False
            finished()  # raises why ReFrame has cancelled it
            return True

        self.job.finished = surely_finished
        self.job.wait = lambda: None  # ReFrame's own waits for what it polls

    def script_log(self) -> job.ScriptLog:
        """What the job script has noted, its exit code too: `squeue` forgets jobs that have ended."""
        path = self.description.folder / job.SCRIPT_LOG
        return job.script_log(path.read_text() if path.is_file() else "")

    @sanity_function
    def ended_well(self) -> bool:
        """Whether the script has noted that all went well."""
        log = self.script_log()
        if log.started_utc is None:
            raise SanityError("the job has left no file: it never started, or its nodes do not share this file system")
        if log.exit_code is None:
            raise SanityError("the job was ended before its sessions had")
        if log.exit_code:
            raise SanityError(f"the job ended with exit code {log.exit_code}")
        return True
