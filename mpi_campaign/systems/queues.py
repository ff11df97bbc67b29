"""What the campaign asks of a batch system beside what ReFrame does: why jobs wait, how they ended, to cancel them.

ReFrame submits jobs, watches them and cancels its own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mpi_campaign.children import asking, environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers.scheduler import Scheduler
from postprocess.drawing.text import plural

ASKING_SECONDS = 20.0


@dataclass(frozen=True)
class Waiting:
    """A job that is queued or runs: PENDING or RUNNING, and the batch system's reason why it does not run."""

    state: str
    reason: str

    @property
    def is_pending(self) -> bool:
        return self.state == "PENDING"


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
    if not scheduler.ended:
        return ""
    answer = asking.ask([*scheduler.ended, job], env=environ.built(environ.SESSION), seconds=ASKING_SECONDS)
    found = parse_waiting(answer.stdout).get(job)
    return scheduler.by_force.get(found.state, "") if found else ""


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
