"""What several libraries have of MPICH: its names of variables, and, where they are built on its device ch4, that
device's progress thread and networks."""

import re
from collections.abc import Mapping
from pathlib import Path

from mpi_campaign.children import asking
from mpi_campaign.libraries.settings import Answer, Request, Rule, Settings, moved_by_the_program, same

# "Will initiate an additional thread"; the thread level becomes MPI_THREAD_MULTIPLE, whatever was asked for.
_async = same(MPIR_CVAR_ASYNC_PROGRESS="1")


def _dedicated(request: Request) -> Answer:
    # A list with one CPU for each rank of the node, in the order of ranks; too short a one aborts MPI_Init. Since 4.0.
    cpus = request.placement.dedicated_cpus
    if request.major < 4 or not cpus:
        return moved_by_the_program(_async)(request)
    pinned = ",".join(map(str, cpus))
    return Settings({"MPIR_CVAR_ASYNC_PROGRESS": "1", "MPIR_CVAR_PROGRESS_THREAD_AFFINITY": pinned})


NETWORKS: Mapping[str, Rule] = {
    # NOLOCAL keeps ranks of one node off shared memory.
    # A build with UCX alone goes round it, and is told by UCX's own variables.
    "wire": same(
        MPIR_CVAR_NOLOCAL="1",
        MPIR_CVAR_CH4_NETMOD="ofi",
        FI_PROVIDER="tcp",
        UCX_TLS="tcp,self",
        UCX_NET_DEVICES="lo",
    ),
}

CONFIGURATIONS: Mapping[str, Rule] = {
    "async": _async,
    "dedicated": _dedicated,
    "dedicated_unbound": _async,  # the thread inherits the rank's cpuset
}

# TCP between nodes, shared memory within each.
between_nodes = same(MPIR_CVAR_CH4_NETMOD="ofi", FI_PROVIDER="tcp", UCX_TLS="tcp,sm,self")

# The names that all that comes from MPICH has.
VARIABLES = ("MPICH_*", "MPIR_*")
CONTROLS = (
    "MPIR_CVAR_CH4_NETMOD", "MPIR_CVAR_CH4_SHM", "MPIR_CVAR_NOLOCAL", "MPIR_CVAR_ODD_EVEN_CLIQUES",
    "MPIR_CVAR_OFI_USE_PROVIDER", "MPIR_CVAR_ASYNC_PROGRESS", "MPIR_CVAR_PROGRESS_THREAD_AFFINITY",
    "MPIR_CVAR_NUM_CLIQUES", "MPIR_CVAR_CH4_NUM_VCIS", "MPIR_CVAR_CH4_GLOBAL_PROGRESS", "MPIR_CVAR_PROGRESS_MAX_*",
)  # fmt: skip
BINARY_INTERFACE = "MPICH's"


def device(prefix: Path) -> str:
    """What an MPICH or a library made of it was built on, `ch4:ofi`, as its own program says; empty where none does."""
    for name, *options in (("mpichversion.mpich",), ("mpichversion",), ("mpiname", "-a")):
        answer = asking.ask([prefix / "bin" / name, *options])
        match = re.search(r"Device:\s*(\S+)", answer.stdout) or re.search(r"\b(ch[34]:\S+)", answer.stdout)
        if match:
            return match[1]
    return ""
