"""Flux. No jobs are submitted to it: ReFrame's backend always asks for one task on one core."""

from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers.hosts import POSITIVE, Allocation, Read, Variables, job_of, quoted
from mpi_campaign.schedulers.scheduler import Scheduler

_ASK_HOSTS = ("flux", "getattr", "hostlist")


def _allocation(variables: Variables, _read: Read) -> Allocation:
    """FLUX_JOB_NNODES is set in jobs that Flux launches, but not in the first script of an allocation."""
    nodes = variables.get("FLUX_JOB_NNODES", "")
    if nodes and not POSITIVE.fullmatch(nodes):
        raise CampaignError(f"FLUX_JOB_NNODES={quoted(nodes)} is no number of nodes")
    why = f"their names are known to the command `{' '.join(_ASK_HOSTS)}` only"
    return Allocation(job_of(variables, "FLUX_JOB_ID", "FLUX_ENCLOSING_ID"), (), int(nodes or 0), why)


SCHEDULER = Scheduler(
    title="Flux",
    name="flux",
    signs=("FLUX_JOB_ID", "FLUX_URI"),
    allocation=_allocation,
    ask_hosts=_ASK_HOSTS,
    start=("flux", "exec", "--noinput", "--rank={number}"),
    takes_words=True,
    start_needs=("FLUX_*",),
    of_jobs=("FLUX_*",),
)
