"""Slurm."""

from mpi_campaign.schedulers.hosts import Allocation, Host, Read, Variables, expand, job_of, per_host
from mpi_campaign.schedulers.scheduler import Scheduler

NAME = "slurm"


def _allocation(variables: Variables, _read: Read) -> Allocation:
    """In a step, SLURM_TASKS_PER_NODE describes the step and not the job."""
    job = job_of(variables, "SLURM_JOB_ID", "SLURM_JOBID")
    if variables.get("SLURM_HET_SIZE"):
        return Allocation(job, (), 0, "a heterogeneous job has several lists of hosts, which are not read")
    name = "SLURM_JOB_NODELIST" if variables.get("SLURM_JOB_NODELIST") else "SLURM_NODELIST"
    names = expand(variables[name], name)
    in_a_step = "SLURM_STEP_ID" in variables
    tasks = per_host(variables, "" if in_a_step else "SLURM_TASKS_PER_NODE", len(names))
    cores = per_host(variables, "SLURM_JOB_CPUS_PER_NODE", len(names))
    return Allocation(job, tuple(map(Host, names, tasks, cores)), len(names))


SCHEDULER = Scheduler(
    title="Slurm",
    tested="tested",
    name=NAME,
    signs=("SLURM_JOB_NODELIST", "SLURM_NODELIST"),
    allocation=_allocation,
    start=(
        "srun", "--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist={host}", "--cpu-bind=none",
        "--mpi=none", "--input=none", "--unbuffered", "--quiet",
    ),
    takes_words=True,
    start_needs=("SLURM_CONF",),
    launchers=("srun",),
    reframe={"squeue": "jobs watched with squeue", "slurm": "jobs watched with sacct"},
    submit="sbatch",
    directive="SBATCH",
    template="slurm_settings.py.j2",
    is_described=True,
    account="--account={}",
    cancel=("scancel",),
    states=("squeue", "--noheader", "--format=%i|%T|%r", "--states=all", "--jobs"),
    unknown_job="Invalid job id",
    final={
        "BOOT_FAIL": "lost a node, which did not boot",
        "CANCELLED": "was cancelled",
        "COMPLETED": "",
        "DEADLINE": "reached its deadline",
        "FAILED": "",
        "NODE_FAIL": "lost a node",
        "OUT_OF_MEMORY": "ran out of memory",
        "PREEMPTED": "was preempted",
        "TIMEOUT": "reached its time limit",
    },
    down=("sinfo", "--noheader", "--Node", "--states=down,fail", "--format=%N", "--nodes"),
    job_id="SLURM_JOB_ID",
    on_each_node=(
        "srun", "--nodes={nodes}", "--ntasks={nodes}", "--ntasks-per-node=1", "--cpu-bind=none", "--mpi=none",
    ),
    hosts="${SLURM_JOB_NODELIST:-}",
    gives_whole_nodes=True,
    own_options=(
        "--nodes", "-N", "--ntasks", "-n", "--ntasks-per-node", "--time", "-t", "--array", "-a", "--job-name", "-J",
        "--output", "-o", "--error", "-e",
    ),
    shortens_options=True,
    of_jobs=("SLURM_*", "SLURMD_*"),
    of_clients=("SLURM_CONF",),
    defaults_of_jobs=("SBATCH_*", "SRUN_*"),
    defaults_of_commands=("SALLOC_*", "SINFO_*", "SQUEUE_*", "SCONTROL_*"),
    naming={
        "SLURM_NODELIST": "host", "SLURM_JOB_NODELIST": "host", "SLURMD_NODENAME": "host", "SLURM_SUBMIT_HOST": "host",
        "SLURM_SRUN_COMM_HOST": "host", "SLURM_JOB_USER": "user", "SLURM_JOB_ACCOUNT": "account",
        "SLURM_ACCOUNT": "account",
    },
    telling={
        "SLURM_CLUSTER_NAME": "cluster", "SLURM_WORKING_CLUSTER": "cluster", "SLURM_CLUSTERS": "cluster",
        "SLURM_TOPOLOGY_ADDR": "host", "SLURM_JOB_UID": "user", "SLURM_JOB_GID": "user", "SLURM_JOB_GROUP": "user",
        "SLURM_JOB_QOS": "account", "SLURM_JOB_RESERVATION": "account", "SLURM_WCKEY": "account",
        "SLURM_JOB_COMMENT": "account", "SLURM_JOB_LICENSES": "account",
    },
)  # fmt: skip
