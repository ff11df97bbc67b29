"""Settings that several libraries share because they are made from MPICH: names of variables, and the progress thread
and networks of its device ch4."""

import functools
import re
from collections.abc import Mapping
from pathlib import Path

from mpi_campaign.children import asking
from mpi_campaign.libraries.settings import (
    LOWERED_LIMIT,
    RAISED_LIMIT,
    Always,
    Answer,
    Request,
    Rule,
    Settings,
    moved_by_the_program,
    same,
    unless_over_wire,
    where_copies_are_refused,
    within_a_node,
)

# MPICH: "Will initiate an additional thread". The thread level becomes MPI_THREAD_MULTIPLE, whatever was requested.
_async = same(MPIR_CVAR_ASYNC_PROGRESS="1")


def _dedicated(request: Request) -> Answer:
    # Since 4.0: a list with one CPU per rank of the node, in the order of ranks. MPI_Init aborts on a shorter list.
    cpus = request.placement.dedicated_cpus
    if request.major < 4 or not cpus:
        return moved_by_the_program(_async)(request)
    pinned = ",".join(map(str, cpus))
    return Settings({"MPIR_CVAR_ASYNC_PROGRESS": "1", "MPIR_CVAR_PROGRESS_THREAD_AFFINITY": pinned})


NETWORKS: Mapping[str, Rule] = {
    # NOLOCAL keeps ranks of one node off shared memory. A build with UCX alone ignores it, so that UCX's own variables
    # are set too.
    "wire": same(
        MPIR_CVAR_NOLOCAL="1", MPIR_CVAR_CH4_NETMOD="ofi", FI_PROVIDER="tcp", UCX_TLS="tcp,self", UCX_NET_DEVICES="lo"
    ),
    "tcp": same(MPIR_CVAR_CH4_NETMOD="ofi", FI_PROVIDER="tcp", UCX_TLS="tcp,sm,self"),
}

CONFIGURATIONS: Mapping[str, Rule] = {
    "async": _async,
    "dedicated": _dedicated,
    "dedicated_unbound": _async,  # the thread inherits the rank's cpuset
}

# In shared memory a message of more than a cell waits for its receiver, unless the kernel copies it (CMA).
_CELL, _PACKED = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE", "MPIR_CVAR_CH4_PACK_BUFFER_SIZE"
_CELLS = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS"
_THRESHOLD = "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD"
_NO_SINGLE_COPY = {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}
_HEADER = 4096  # more than the header of a message takes


def always(**env: str) -> Always:
    """These settings of every launch, and those that all devices ch4 need."""
    return where_copies_are_refused(same(MPIR_CVAR_ASYNC_PROGRESS="0", **env), **_NO_SINGLE_COPY)


def _limited(cell: int, threshold: int) -> Rule:
    """A rule that limits eager messages to so many bytes, in shared memory and over OFI."""

    def rule(request: Request) -> Answer:
        if request.network == "shm":
            return Settings({**_NO_SINGLE_COPY, _CELL: str(cell), _PACKED: str(max(cell, 16384))})
        return Settings({_THRESHOLD: str(threshold)})

    return rule


# MPICH 5.0.2 ends with "Message truncated" in MPI_Init with a threshold of 64.
PROTOCOLS: Mapping[str, Rule] = {
    "copied": within_a_node(same(**_NO_SINGLE_COPY)),
    "eager": _limited(RAISED_LIMIT + _HEADER, RAISED_LIMIT),
    "rendezvous": _limited(1024, LOWERED_LIMIT),
}


def eager_limit(request: Request) -> str:
    """The control variable with the largest eager message, where a network's transport is known."""
    return {"shm": _CELL, "wire": _THRESHOLD, "tcp": _THRESHOLD}.get(request.network.partition(":")[0], "")


def fragments(request: Request) -> tuple[str, ...]:
    """The cells of a rank in shared memory. Over OFI, buffers are the provider's."""
    return (_CELLS, _CELL) if request.network == "shm" else ()


def streams(count: int) -> Settings:
    """Settings by which each rank can make so many streams: MPIX_Stream_create takes a virtual interface that was
    reserved when MPI started."""
    return Settings({"MPIR_CVAR_CH4_RESERVE_VCIS": str(count)})


def interfaces_per_thread(request: Request) -> Answer:
    """As many virtual interfaces as a rank has threads, a progress thread included. Communicators use them in turn."""
    return Settings({"MPIR_CVAR_CH4_NUM_VCIS": str(request.placement.threads_per_rank)})


# Values of the axis `library_setting`. The device's own collectives are switched off, which have other algorithms.
YIELDING = same(MPIR_CVAR_ENABLE_HEAVY_YIELD="1")
MODELLED = same(
    MPIR_CVAR_DEVICE_COLLECTIVES="none",
    MPIR_CVAR_BARRIER_INTRA_ALGORITHM="k_dissemination",
    MPIR_CVAR_BARRIER_DISSEM_KVAL="2",
    MPIR_CVAR_BCAST_INTRA_ALGORITHM="binomial",
    MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM="tree",
    MPIR_CVAR_ALLREDUCE_TREE_TYPE="knomial_1",
    MPIR_CVAR_ALLREDUCE_TREE_KVAL="2",
)


def _within_a_node_by(algorithm: str) -> Rule:
    """A rule that chooses the algorithm of bcast, reduce and allreduce within a node: `release_gather`, through shared
    memory, or `mpir`, by messages. Where it cannot be used, as with MPI_THREAD_MULTIPLE, the library ends with an error
    instead of taking another one in silence."""
    chosen = {f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": algorithm for name in ("BCAST", "REDUCE", "ALLREDUCE")}
    return unless_over_wire(same(MPIR_CVAR_COLLECTIVE_FALLBACK="error", **chosen))


INTRANODE: Mapping[str, Rule] = {
    "shared_memory": _within_a_node_by("release_gather"),
    "point_to_point": _within_a_node_by("mpir"),
}

# Names of variables in all libraries that are made from MPICH.
VARIABLES = ("MPICH_*", "MPIR_*")
CONTROLS = (
    "MPIR_CVAR_CH4_NETMOD", "MPIR_CVAR_CH4_SHM", "MPIR_CVAR_NOLOCAL", "MPIR_CVAR_ODD_EVEN_CLIQUES",
    "MPIR_CVAR_OFI_USE_PROVIDER", "MPIR_CVAR_ASYNC_PROGRESS", "MPIR_CVAR_PROGRESS_THREAD_AFFINITY",
    "MPIR_CVAR_NUM_CLIQUES", "MPIR_CVAR_CH4_NUM_VCIS", "MPIR_CVAR_CH4_RESERVE_VCIS", "MPIR_CVAR_CH4_GLOBAL_PROGRESS",
    "MPIR_CVAR_PROGRESS_MAX_*",
    "MPIR_CVAR_*_POSIX_INTRA_ALGORITHM", "MPIR_CVAR_COLLECTIVE_FALLBACK",
    "MPIR_CVAR_CH4_CMA_ENABLE", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS",
    "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD",
)  # fmt: skip
BINARY_INTERFACE = "MPICH's"
SHARED_MEMORY = ("mpich_shm_*",)


@functools.cache
def device(prefix: Path) -> str:
    """The device that an MPICH, or a library made from it, was built on: `ch4:ofi`. Its own program is asked for that;
    empty where there is none or it does not say."""
    for name, *options in (("mpichversion.mpich",), ("mpichversion",), ("mpiname", "-a")):
        answer = asking.ask([prefix / "bin" / name, *options])
        match = re.search(r"Device:\s*(\S+)", answer.stdout) or re.search(r"\b(ch[34]:\S+)", answer.stdout)
        if match:
            return match[1]
    return ""
