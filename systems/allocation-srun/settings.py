"""ReFrame settings of the nodes of the Slurm job in which the campaign runs, where srun starts the ranks."""

from mpi_campaign.site import local_processor, partition, site

COMMON = {"scheduler": "local", "launcher": "srun", "max_jobs": 1, "processor": local_processor(), "nodes": "job"}

site_configuration = site(
    name="allocation-srun",
    descr="the nodes of the Slurm job in which the campaign runs, with srun",
    hostnames=[".*"],
    partitions=[
        partition("native", "native", descr="ranks talk as the library chooses", **COMMON),
        partition("tcp", "tcp", descr="ranks of different nodes talk TCP", **COMMON),
    ],
)
