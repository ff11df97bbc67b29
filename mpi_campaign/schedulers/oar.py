"""OAR."""

from mpi_campaign.schedulers.hosts import of_file
from mpi_campaign.schedulers.scheduler import Scheduler, hosts_in

SCHEDULER = Scheduler(
    title="OAR",
    name="oar",
    signs=("OAR_NODEFILE",),
    allocation=of_file("OAR_NODEFILE", "cores", "OAR_JOB_ID", "OAR_JOBID"),
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
