"""ReFrame settings of the nodes of a cluster in a box: namespaces of this machine."""

from mpi_campaign.site import local_processor, partition, site

COMMON = {"scheduler": "local", "launcher": "mpiexec", "max_jobs": 1, "processor": local_processor(), "nodes": "node-3893f319"}

site_configuration = site(
    name="cluster-in-a-box",
    descr="nodes that are namespaces of this machine",
    hostnames=[".*"],
    partitions=[
        partition("tcp", "tcp", descr="ranks of different nodes talk TCP", **COMMON),
        partition("native", "native", descr="ranks talk as the library chooses", **COMMON),
    ],
)
