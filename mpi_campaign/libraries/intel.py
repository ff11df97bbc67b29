"""Intel MPI."""

from pathlib import Path

from mpi_campaign.libraries import ch4
from mpi_campaign.libraries.launchers.hydra import INTEL_HYDRA
from mpi_campaign.libraries.launchers.srun import SRUN_PMI2
from mpi_campaign.libraries.library import Library, StartedBy
from mpi_campaign.libraries.settings import (
    LOWERED_LIMIT,
    RAISED_LIMIT,
    Answer,
    Impossible,
    Request,
    Settings,
    moved_by_the_program,
    same,
    unless_over_wire,
    within_a_node,
)

# Folders in which wheels and installers put the library and its fabrics.
_FOLDERS = ("lib", "lib/release", "opt/mpi/libfabric/lib", "libfabric/lib")


def _always(request: Request) -> Settings:
    # From 2019 to the first release of 2021, only the build release_mt has progress threads; later releases have one
    # build. Every configuration uses release_mt where it exists, so that configurations are compared, not builds.
    before = ("lib/release_mt",) if (request.prefix / "lib" / "release_mt").is_dir() else ()
    path = ":".join(f"{request.prefix}/{folder}" for folder in (*before, *_FOLDERS))
    return Settings({"I_MPI_ROOT": str(request.prefix), "LD_LIBRARY_PATH": path, "I_MPI_ASYNC_PROGRESS": "0"})


def _tcp(request: Request, fabrics: str) -> Settings:
    env = {"I_MPI_FABRICS": fabrics, "FI_PROVIDER": "tcp"}
    if (request.prefix / "lib" / "libtcp-fi.so").exists():  # the wheel keeps its providers beside the library
        env["FI_PROVIDER_PATH"] = str(request.prefix / "lib")
    return Settings(env)


def _wire(request: Request) -> Settings:
    # Without COLL_INTRANODE, short blocking broadcasts and reductions go through shared memory whatever the fabric is.
    return _tcp(request, "ofi") + Settings({"I_MPI_COLL_INTRANODE": "pt2pt"})


_async = same(I_MPI_ASYNC_PROGRESS="1")


def _unbound(request: Request) -> Answer:
    if request.major < 2019:
        return _async(request)  # not bound without I_MPI_ASYNC_PROGRESS_PIN
    # Since 2019 the library always binds the thread: without a list, to the last CPUs of the node.
    return moved_by_the_program(_async)(request)


def _dedicated(request: Request) -> Answer:
    # A list with one CPU for each progress thread of the node, in the order of ranks.
    cpus = request.placement.dedicated_cpus
    if not cpus:
        return moved_by_the_program(_async)(request)
    pinned = ",".join(map(str, cpus))
    one_each = {"I_MPI_ASYNC_PROGRESS_THREADS": "1", "I_MPI_ASYNC_PROGRESS_PIN": pinned}
    return _async(request) + Settings(one_each)


def _rendezvous(request: Request) -> Answer:
    """Within a node, a message of more than a few cells waits for its receiver: the cells are made small. Over TCP, the
    provider keeps a message that nobody receives yet up to a limit, and then takes no more from the socket."""
    if request.network == "shm":
        return Settings({"I_MPI_SHM_CELL_FWD_SIZE": "1024", "I_MPI_SHM_CELL_BWD_SIZE": "1024"})
    return _saved(request, LOWERED_LIMIT)


def _eager(request: Request) -> Answer:
    if request.network == "shm":
        return Impossible("no variable was found that raises the eager limit of Intel MPI within a node")
    return _saved(request, RAISED_LIMIT)


def _saved(request: Request, limit: int) -> Answer:
    if request.network == "native":
        return Impossible("Intel MPI chooses its transport over --network native itself; each has an eager limit")
    return Settings({"FI_TCP_MAX_SAVED_SIZE": str(limit)})


def _spack_prefix(version: str, prefix: Path) -> Path | None:
    """The prefix that Spack must be given, which looks for the library in mpi/VERSION below it. None for a wheel, whose
    bin/ lies in the prefix itself."""
    home = prefix.resolve()  # mpi/latest is a link
    folders = (version, ".".join(version.split(".")[:2]))  # the folder has two numbers from 2021.11 on
    fits = home.parent.name == "mpi" and home.name in folders and (home / "bin" / "mpicc").is_file()
    return home.parent.parent if fits else None


LIBRARY = Library(
    title="Intel MPI",
    package="intel-oneapi-mpi",
    launchers=(StartedBy(INTEL_HYDRA), StartedBy(SRUN_PMI2)),
    reports=r"Intel\(R\) MPI Library (\d[\w.]*)",
    always=_always,
    networks={"shm": same(I_MPI_FABRICS="shm"), "wire": _wire, "tcp": lambda request: _tcp(request, "shm:ofi")},
    configurations={"async": _async, "dedicated": _dedicated, "dedicated_unbound": _unbound},
    settings={
        "protocol": {"copied": within_a_node(same(I_MPI_SHM_CMA="0")), "eager": _eager, "rendezvous": _rendezvous},
        "library_setting": {
            "yielding": same(I_MPI_THREAD_YIELD="3", I_MPI_THREAD_SLEEP="100"),
            "blocking": same(I_MPI_WAIT_MODE="1"),
            # As its reference names them: dissemination; binomial; reduce + bcast, each binomial. Not the algorithms
            # within a node.
            "modelled": same(
                I_MPI_COLL_INTRANODE="pt2pt",
                I_MPI_ADJUST_BARRIER="1",
                I_MPI_ADJUST_BCAST="1",
                I_MPI_ADJUST_ALLREDUCE="3",
                I_MPI_ADJUST_REDUCE="2",
            ),
        },
        "intranode": {
            "shared_memory": unless_over_wire(same(I_MPI_COLL_INTRANODE="shm")),
            "point_to_point": unless_over_wire(same(I_MPI_COLL_INTRANODE="pt2pt")),
        },
    },
    variables=("I_MPI_*", *ch4.VARIABLES),
    set_by_launcher=("I_MPI_HYDRA_*", "I_MPI_MPIRUN*", "I_MPI_ROOT*", "I_MPI_INFO_*", "I_MPI_INTERNAL_*"),
    controls=(
        "I_MPI_FABRICS",
        "I_MPI_OFI_PROVIDER",
        "I_MPI_ASYNC_PROGRESS*",
        "I_MPI_SHM",
        "I_MPI_SHM_CMA",
        *ch4.CONTROLS,
    ),
    wheels=("impi-rt", "impi-devel"),
    known_wheels=("2021.18.1",),
    spack_prefix=_spack_prefix,
    spack_layout="PREFIX/mpi/VERSION/bin",
    binary_interface=ch4.BINARY_INTERFACE,
)
