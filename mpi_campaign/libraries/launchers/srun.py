"""srun, Slurm's launcher, on the nodes of a job of Slurm: its ranks find each other by PMIx or by PMI-2."""

from mpi_campaign.libraries.launchers.launcher import Across, Launcher, bound_by_program
from mpi_campaign.libraries.settings import Answer, Hosts, Impossible, Request, Settings
from mpi_campaign.schedulers import slurm

LOCAL_RANK = "SLURM_LOCALID"
_IN_JOBS_ONLY = "srun starts ranks in a job of Slurm only: take --system allocation-srun in one, or a system with Slurm"


def _without_hosts(request: Request) -> Answer:
    # The hosts of a job that is still to be submitted are not known yet: its case can be planned.
    return Impossible(_IN_JOBS_ONLY) if request.here else Settings()


def _across(plugin: str) -> Across:
    """The field `across` for ranks that find each other by this plug-in of Slurm."""

    def across(request: Request, hosts: Hosts) -> Answer:
        job, placement = hosts.job, request.placement
        if job is None or job.scheduler != slurm.NAME:
            return Impossible(_IN_JOBS_ONLY)
        # The job's CPUs are shared with the step in which the campaign itself runs, and with other steps of the job.
        # The campaign has placed the ranks: Slurm neither counts their CPUs nor binds them.
        options = (
            f"--jobid={job.number}",
            "--overlap",
            "--overcommit",
            f"--mpi={plugin}",
            f"--nodelist={','.join(hosts.names)}",
            f"--nodes={placement.nodes}",
            f"--ntasks={placement.ranks}",
            f"--ntasks-per-node={placement.ranks_per_node}",
            "--distribution=block",
            "--cpu-bind=none",
            "--kill-on-bad-exit=1",
        )
        return Settings(job.variables, options) + bound_by_program(placement, LOCAL_RANK)

    return across


def _launcher(plugin: str, title: str) -> Launcher:
    return Launcher(
        title=title,
        place=_without_hosts,
        across=_across(plugin),
        hand_over=lambda name, value: (f"--export=ALL,{name}={value}",),
        commands=("srun",),
    )


SRUN_PMIX = _launcher("pmix", "Slurm's launcher with PMIx")
SRUN_PMI2 = _launcher("pmi2", "Slurm's launcher with PMI-2")
SRUN_CRAY = _launcher("cray_shasta", "Slurm's launcher with HPE's PMI")
