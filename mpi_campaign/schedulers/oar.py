"""OAR."""

from collections import Counter

from mpi_campaign.schedulers.hosts import Allocation, Host, Read, Variables, job_of, names_in
from mpi_campaign.schedulers.scheduler import Scheduler, hosts_in


def _allocation(variables: Variables, read: Read) -> Allocation:
    """The file of hosts has a line for each core."""
    lines = Counter(names_in(variables["OAR_NODEFILE"], read))
    hosts = tuple(Host(name, cores=count) for name, count in lines.items())
    return Allocation(job_of(variables, "OAR_JOB_ID", "OAR_JOBID"), hosts, len(hosts))


SCHEDULER = Scheduler(
    title="OAR",
    name="oar",
    signs=("OAR_NODEFILE",),
    allocation=_allocation,
    start=("oarsh", "{host}"),
    start_needs=("OAR_*",),
    reframe={"oar": ""},
    submit="oarsub",
    directive="OAR",
    account="--project={}",
    cancel=("oardel",),
    job_id="OAR_JOB_ID",
    hosts=hosts_in("OAR_NODEFILE"),
    access=("-q default",),
    own_options=("--array", "-n", "--name", "-O", "--stdout", "-E", "--stderr"),
    counts_cores=True,
    of_jobs=("OAR_*",),
    naming={"OAR_USER": "user", "OAR_PROJECT_NAME": "account"},
)
