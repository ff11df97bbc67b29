"""ReFrame settings of the nodes of the job in which the campaign runs, whichever batch system started that job."""

from mpi_campaign.site import local_processor, partition, site

COMMON = {"scheduler": "local", "launcher": "mpiexec", "max_jobs": 1, "processor": local_processor(), "nodes": "job"}

site_configuration = site(
    name="allocation",
    descr="the nodes of the job in which the campaign runs",
    hostnames=[".*"],
    partitions=[
        partition("native", "native", descr="ranks talk as the library chooses", **COMMON),
        partition("tcp", "tcp", descr="ranks of different nodes talk TCP", **COMMON),
    ],
)
