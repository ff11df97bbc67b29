"""LSF. No jobs are submitted to it, because ReFrame's backend does not ask for nodes as a campaign needs them."""

from collections import Counter

from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers.hosts import HOST, POSITIVE, Allocation, Host, Read, Variables, job_of, quoted
from mpi_campaign.schedulers.scheduler import Scheduler


def _allocation(variables: Variables, _read: Read) -> Allocation:
    """The variable has pairs of a host and its slots."""
    text = variables["LSB_MCPU_HOSTS"]
    names, counts = text.split()[::2], text.split()[1::2]
    if (
        not names
        or len(names) != len(counts)
        or not all(map(HOST.fullmatch, names))
        or not all(map(POSITIVE.fullmatch, counts))
    ):
        raise CampaignError(f"LSB_MCPU_HOSTS={quoted(text)} is no list of hosts and slots such as n1 4 n2 4")
    slots: Counter[str] = Counter()
    for name, count in zip(names, counts, strict=True):
        slots[name] += int(count)
    hosts = tuple(Host(name, tasks=count) for name, count in slots.items())
    return Allocation(job_of(variables, "LSB_JOBID"), hosts, len(hosts))


SCHEDULER = Scheduler(
    title="LSF",
    name="lsf",
    signs=("LSB_MCPU_HOSTS",),
    allocation=_allocation,
    start=("blaunch", "-n", "-no-shell", "{host}"),
    takes_words=True,
    start_needs=("LSB_*", "LSF_*", "LS_*"),
    programs="{LSF_BINDIR}",
    directive="BSUB",
    of_jobs=("LSB_*", "LSF_*", "LS_*"),
    of_clients=("LSF_ENVDIR", "LSF_BINDIR", "LSF_LIBDIR", "LSF_SERVERDIR"),
    naming={"LSB_SUB_HOST": "host", "LSB_SUB_USER": "user", "LSB_PROJECT_NAME": "account"},
)
