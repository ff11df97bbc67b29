"""ReFrame settings of the machine on which the campaign runs: one node, its own cores, no scheduler."""

from mpi_campaign.site import local_processor, partition, site

COMMON = {"scheduler": "local", "launcher": "mpiexec", "max_jobs": 1, "processor": local_processor()}

site_configuration = site(
    name="local",
    descr="this machine",
    hostnames=[".*"],
    partitions=[
        partition("shm", "shm", descr="ranks share memory", **COMMON),
        partition("wire", "wire", descr="ranks talk TCP over a rate-limited loopback of their own", **COMMON),
    ],
)
