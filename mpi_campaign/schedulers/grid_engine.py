"""Grid Engine."""

from collections import Counter

from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers.hosts import HOST, POSITIVE, Allocation, Host, Read, Variables, job_of, lines_of, quoted
from mpi_campaign.schedulers.scheduler import Scheduler, hosts_in


def _allocation(variables: Variables, read: Read) -> Allocation:
    """The file has a line with a host and its slots for each queue from which the host has some."""
    path = variables["PE_HOSTFILE"]
    slots: Counter[str] = Counter()
    for line in lines_of(path, read):
        words = line.split()
        if len(words) < 2 or not HOST.fullmatch(words[0]) or not POSITIVE.fullmatch(words[1]):
            raise CampaignError(f"{quoted(path)}: {quoted(line)} is no line with a host and its slots")
        slots[words[0]] += int(words[1])
    hosts = tuple(Host(name, tasks=count) for name, count in slots.items())
    return Allocation(job_of(variables, "JOB_ID"), hosts, len(hosts))


_OF_JOBS = ("SGE_*", "PE_*", "JOB_ID", "JOB_NAME", "NSLOTS", "NHOSTS", "NQUEUES", "TASK_ID", "ARC")

SCHEDULER = Scheduler(
    title="Grid Engine",
    tested="tested with Debian's Grid Engine 8.1.9",
    name="grid engine",
    signs=("PE_HOSTFILE",),
    allocation=_allocation,
    start=("qrsh", "-inherit", "-nostdin", "{host}"),
    start_needs=(*_OF_JOBS, "QUEUE"),
    programs="{SGE_ROOT}/bin/{ARC}",
    reframe={"sge": ""},
    submit="qsub",
    directive="$",
    account="-A {}",
    cancel=("qdel",),
    job_id="JOB_ID",
    hosts=hosts_in("PE_HOSTFILE"),
    access=("-q all.q", "-pe mpi {cpus}"),
    whole_nodes=("-S /bin/bash",),
    own_options=("-t", "-N", "-o", "-e"),
    leaves_access_out=True,
    of_jobs=(*_OF_JOBS, "ENVIRONMENT", "HOSTNAME"),
    of_clients=("SGE_ROOT", "SGE_CELL", "SGE_CLUSTER_NAME", "SGE_QMASTER_PORT", "SGE_EXECD_PORT"),
    naming={"SGE_O_HOST": "host", "SGE_O_LOGNAME": "user"},
    telling={"SGE_CLUSTER_NAME": "cluster", "SGE_CELL": "cluster"},
)
