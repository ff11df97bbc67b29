"""PBS."""

from mpi_campaign.schedulers.hosts import of_file
from mpi_campaign.schedulers.scheduler import Scheduler, hosts_in

SCHEDULER = Scheduler(
    title="PBS",
    name="pbs",
    signs=("PBS_NODEFILE",),
    allocation=of_file("PBS_NODEFILE", "tasks", "PBS_JOBID"),
    start=("pbs_tmrsh", "{host}"),
    takes_words=True,
    start_needs=("PBS_*",),
    reframe={"pbs": "", "pbspro": ""},
    submit="qsub",
    directive="PBS",
    account="-A {}",
    cancel=("qdel",),
    job_id="PBS_JOBID",
    on_each_node=("pbsdsh", "-u", "--"),
    hosts=hosts_in("PBS_NODEFILE"),
    access=("-q workq",),
    whole_nodes=("-l place=scatter:excl",),
    own_options=("-J", "-N", "-o", "-e"),
    of_jobs=("PBS_*",),
    of_clients=("PBS_CONF_FILE", "PBS_SERVER", "PBS_DEFAULT"),
    naming={
        "PBS_O_HOST": "host", "PBS_SERVER": "host", "PBS_DEFAULT": "host", "PBS_O_LOGNAME": "user",
        "PBS_ACCOUNT": "account",
    },
)  # fmt: skip
