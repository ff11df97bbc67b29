"""Torque. Its jobs have PBS's variables, so that an allocation of it is taken for one of PBS."""

from mpi_campaign.schedulers.scheduler import Scheduler, hosts_in

SCHEDULER = Scheduler(
    title="Torque",
    tested="tested with Slurm's commands of the same names; no job of Torque ever ran here",
    reframe={"torque": ""},
    submit="qsub",
    directive="PBS",
    account="-A {}",
    cancel=("qdel",),
    job_id="PBS_JOBID",
    on_each_node=("pbsdsh", "-u"),
    hosts=hosts_in("PBS_NODEFILE"),
    access=("-q batch",),
    whole_nodes=("-W x=NACCESSPOLICY:SINGLEJOB",),
    own_options=("-t", "-N", "-o", "-e"),
)
