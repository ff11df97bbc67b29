"""What is known of single axes beside what `Choice` takes for granted: entries by the axis's name.

An axis that has none here is asked for, planned and told to programs all the same.
"""

from collections.abc import Mapping

from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.settings import Impossible
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.choice import Choice, Where
from mpi_campaign.toolchains import builds
from postprocess.families import axes


def _lacks_function(collective: str, where: Where) -> Impossible | None:
    """Which functions a library lacks is known from when the benchmarks have been built with it."""
    function = builds.mpi_function(collective)
    lacking = where.programs is not None and function in builds.missing_functions(where.programs)
    return Impossible(f"{where.toolchain} has no {function}") if lacking else None


def _tests_alone(every_ns: int, where: Where) -> Impossible | None:
    reason = CONFIGURATIONS[where.configuration].without_tests
    return Impossible(reason) if every_ns and reason else None


_ENTRIES = (
    Choice(
        axes.COLLECTIVE,
        values={name: builds.mpi_function(name) for name in suites.COLLECTIVES},
        tests=suites.loaded,
        variable=suites.LOADED,
        impossible=_lacks_function,
        about=f"Such as {', '.join(suites.FIVE)}; `campaign list` names all.",
    ),
    Choice(
        axes.TEST_INTERVAL,
        always=(0,),
        told=lambda option, every: (option, f"{every}ns") if every else (),
        impossible=_tests_alone,
        about="Also measure with MPI_Test called this often while computing, e.g. 100us.",
        metavar="DURATION",
    ),
    Choice(axes.CACHE, several=False, about="Buffers of messages: warm or cold."),
)

OWN: Mapping[str, Choice] = {one.name: one for one in _ENTRIES}


def of_family(family: str) -> tuple[Choice, ...]:
    """The axes of a family's cases."""
    return tuple(OWN.get(axis.name) or Choice(axis) for axis in axes.PARAMETERS.get(family, ()))
