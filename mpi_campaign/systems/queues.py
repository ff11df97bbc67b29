"""What the campaign asks of a batch system beside what ReFrame does: why jobs wait, whether and how they have ended, to
cancel them. ReFrame submits jobs and polls them; a poll that fails does not end a job."""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mpi_campaign.children import asking, environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers.scheduler import Scheduler
from postprocess.drawing.text import plural

ASKING_SECONDS = 20.0


THERE, ENDED, GONE, SILENT = "there", "ended", "gone", "silent"
"""What a batch system answers about a job: that it waits or runs, or will again; that it has ended; nothing about this
job; nothing at all."""
GONE_SECONDS = 30.0
"""A job that no answer names for so long has ended."""
SILENCE_SECONDS = 1800.0
"""A job about which nothing was answered for so long is given up."""


@dataclass(frozen=True)
class Queued:
    """A job in a batch system's answer: its state, such as PENDING, and why it has it."""

    state: str
    reason: str


def parse(text: str) -> dict[str, Queued]:
    """The jobs in lines of ID|STATE|REASON, by id; other lines are left out."""
    matches = (re.fullmatch(r"([^|\s]+)\|([A-Z_]+)\|(.*)", line.strip()) for line in text.splitlines())
    return {match[1]: Queued(match[2], match[3].strip()) for match in matches if match}


def _ask(words: Sequence[str], jobs: Sequence[str]) -> asking.Answer:
    return asking.ask([*words, ",".join(jobs)], env=environ.built(environ.SESSION), seconds=ASKING_SECONDS)


def look(scheduler: Scheduler, jobs: Sequence[str]) -> dict[str, Queued] | None:
    """What the batch system says of these jobs, by id; None where it does not answer."""
    answer = _ask(scheduler.states, jobs)
    return parse(answer.stdout) if answer.good or scheduler.unknown_job in answer.stderr else None


def state(scheduler: Scheduler, job: str) -> str:
    """THERE, ENDED, GONE or SILENT. A batch system that cannot be asked is silent."""
    if not scheduler.states:
        return SILENT
    answer = _ask(scheduler.states, [job])
    if queued := parse(answer.stdout).get(job):
        return ENDED if queued.state in scheduler.final else THERE
    if scheduler.unknown_job in answer.stderr:
        return ENDED  # it was forgotten
    return GONE if answer.good else SILENT


def how_ended(scheduler: Scheduler, job: str) -> str:
    """How the batch system ended a job that would have gone on, in words that follow its name. Empty where it did not,
    or does not tell."""
    job_state = (look(scheduler, [job]) or {}).get(job) if scheduler.states else None
    return scheduler.final.get(job_state.state, "") if job_state else ""


class Watched:
    """A job whose state is asked for again and again. It has not ended because one answer lacks it, or none comes."""

    def __init__(self) -> None:
        self.answered = time.monotonic()
        self.gone_since: float | None = None

    def has_ended(self, state: str) -> bool:
        """Whether the job has ended, by what is answered now and what was before."""
        now = time.monotonic()
        if state == SILENT:
            return now - self.answered > SILENCE_SECONDS
        self.answered = now
        self.gone_since = (self.gone_since or now) if state == GONE else None
        return state == ENDED or (self.gone_since is not None and now - self.gone_since > GONE_SECONDS)


class PatientPoll:
    """ReFrame's poll of its jobs, in a thread. Where the batch system's command fails or hangs, no test ends for that.
    good: whether the last one has ended well."""

    def __init__(self, poll: Callable[..., None]) -> None:
        self.poll = poll
        self.good = True
        self.thread = threading.Thread()

    def __call__(self, *jobs: Any) -> None:
        if not self.thread.is_alive():
            self.thread = threading.Thread(target=self._try, args=jobs, daemon=True)
            self.thread.start()
        self.thread.join(ASKING_SECONDS)
        self.good &= not self.thread.is_alive()

    def _try(self, *jobs: Any) -> None:
        self.good = False
        with contextlib.suppress(Exception):  # whatever it did not understand in an answer
            self.poll(*jobs)
            self.good = True


def nodes_down(scheduler: Scheduler, hosts: Sequence[str]) -> list[str]:
    """Those of the hosts that the batch system has lost; empty where it does not say."""
    if not scheduler.down or not hosts:
        return []
    down = _ask(scheduler.down, hosts).stdout.split()
    return [host for host in hosts if host in down]


def cancel(scheduler: Scheduler, jobs: Sequence[str]) -> None:
    """Cancel jobs. Those that have ended already are no error. Raises CampaignError where the command is missing or
    does not answer, or where the batch system neither takes it nor says that the jobs have ended."""
    if not jobs:
        return
    answer = asking.ask([*scheduler.cancel, *jobs], env=environ.built(environ.SESSION), seconds=ASKING_SECONDS)
    # Where the batch system cannot be asked, a refusal may mean that the jobs have ended.
    asked = jobs if scheduler.states and not answer.good else ()
    may_go_on = any(state(scheduler, job) in (THERE, SILENT) for job in asked)
    if answer.trouble or may_go_on:
        says = "" if answer.trouble else "says: "
        raise CampaignError(
            f"{plural(len(jobs), 'job')} not cancelled ({', '.join(jobs)}): {' '.join(scheduler.cancel)} "
            f"{says}{answer.why}"
        )
