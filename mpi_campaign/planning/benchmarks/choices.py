"""Axes of cases that differ from the defaults of `Choice`: entries by the name of the axis.

An axis without an entry works too, with the defaults.
"""

from collections.abc import Mapping

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning import suite_rows, suites
from mpi_campaign.planning.benchmarks.choice import Choice, Where
from mpi_campaign.toolchains import builds
from postprocess.families import axes


def _lacks_function(collective: str, where: Where) -> Impossible | None:
    """Why a collective cannot be measured. What a library lacks is known after the benchmarks were built with it."""
    function = axes.COLLECTIVE.values[collective]
    lacking = where.programs is not None and function in builds.missing_functions(where.programs)
    return Impossible(f"{where.toolchain} has no {function}") if lacking else None


def _cannot_test(interval_ns: int, where: Where) -> Impossible | None:
    reason = CONFIGURATIONS[where.configuration].without_tests
    return Impossible(reason) if interval_ns and reason else None


def _cannot_send_so(approach: str, where: Where) -> Impossible | None:
    """Why an approach cannot be measured: the library lacks a function that it calls."""
    function = function_of_approach(approach)
    lacking = where.programs is not None and function in builds.missing_functions(where.programs)
    return Impossible(f"{where.toolchain} has no {function}") if lacking else None


def function_of_approach(approach: str) -> str:
    """The function that an approach calls and that not every library has; empty where there is none.

    MPI 4.0 introduced partitioned communication. Streams are an extension of MPICH.
    """
    if approach == STREAMS:
        return "MPIX_Stream_create"
    return "MPI_Psend_init" if approach.partition("_")[0] == "part" else ""


STREAMS = "streams"


_ENTRIES = (
    Choice(
        axes.COLLECTIVE,
        tests=suites.FIVE,
        impossible=_lacks_function,
        about=f"Such as {', '.join(suites.FIVE)}; `campaign list` names all.",
    ),
    Choice(
        axes.TEST_INTERVAL,
        always=(0,),
        impossible=_cannot_test,
        about="Also measure with MPI_Test called this often while computing, e.g. 100us.",
        metavar="DURATION",
    ),
    Choice(axes.CACHE, several=False, about="Buffers of messages: warm or cold."),
    Choice(
        axes.METHOD,
        several=False,
        about="How it is measured: campaign, or paper: as the paper did that the benchmark measures again.",
    ),
    Choice(axes.COMPUTATION, chosen="What the threads compute"),
    Choice(axes.FIGURE, tests=("none",), chosen="The points of a figure of the paper"),
    Choice(axes.NOISE, tests=("last",), chosen="Which partitions are ready late"),
    Choice(axes.INTERFACES, tests=("usual",), chosen="Virtual interfaces of the library"),
    Choice(axes.LIBRARY_SETTING, chosen="How the library waits, or which algorithms it uses"),
    Choice(axes.SEND, chosen="When the sender sends"),
    Choice(axes.PROTOCOL, chosen="How the library transfers a message"),
    Choice(axes.INTRANODE, chosen="How collectives go within a node"),
    Choice(
        axes.APPROACH,
        tests=suites.APPROACHES,
        impossible=_cannot_send_so,
        about="How a buffer that several threads fill is sent, such as part, many or layer; `campaign list` names all.",
    ),
    Choice(
        axes.OPERATION,
        about="The blocking collective that is measured, such as bcast; `campaign list` names all. hybrid has "
        "allgather, bcast, allreduce, reduce_scatter_block and alltoall.",
    ),
    Choice(
        axes.GRID_POINTS,
        tests=suite_rows.GRIDS_OF_SOLVERS,
        about="Points of the grid on which a solver is measured, such as 10000.",
        metavar="N",
    ),
    Choice(
        axes.UNKNOWNS,
        tests=suite_rows.UNKNOWNS_OF_SOLVERS,
        about="Unknowns per point of that grid.",
        metavar="N",
    ),
    Choice(
        axes.VIRTUAL_NODE_RANKS,
        about="Ranks of a virtual node, of which the MPI library does not know; 0: the nodes there are.",
        metavar="N",
    ),
)

OWN: Mapping[str, Choice] = {entry.name: entry for entry in _ENTRIES}


def of_family(family: str) -> tuple[Choice, ...]:
    """The axes of a family's cases."""
    return tuple(OWN.get(axis.name) or Choice(axis) for axis in axes.PARAMETERS.get(family, ()))
