"""All benchmarks, and all axes of their cases."""

from collections.abc import Iterable, Mapping

from mpi_campaign.libraries.settings import BIND_RANK
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.benchmarks.choice import Asked, Choice
from mpi_campaign.planning.benchmarks.cpu_overhead import CPU_OVERHEAD, LOGGP
from mpi_campaign.planning.benchmarks.guidelines import GUIDELINES
from mpi_campaign.planning.benchmarks.hybrid import HYBRID
from mpi_campaign.planning.benchmarks.hybrid_kernels import HYBRID_KERNELS
from mpi_campaign.planning.benchmarks.mpi_impact import MPI_IMPACT
from mpi_campaign.planning.benchmarks.nbc_overlap import NBC_OVERLAP, TIMES, map_name
from mpi_campaign.planning.benchmarks.partitioned import PARTITIONED
from mpi_campaign.planning.benchmarks.peers import PEERS
from mpi_campaign.planning.benchmarks.placed import PLACED
from mpi_campaign.planning.benchmarks.sync_overlap import SYNC_OVERLAP
from mpi_campaign.planning.benchmarks.transfer_overlap import TRANSFER_OVERLAP
from mpi_campaign.planning.benchmarks.whole_machine import WHOLE_MACHINE
from postprocess.families.family import Axis, Value

BENCHMARKS: dict[str, Benchmark] = {
    "nbc_overlap": NBC_OVERLAP,
    "mpi_impact": MPI_IMPACT,
    "partitioned": PARTITIONED,
    "cpu_overhead": CPU_OVERHEAD,
    "loggp": LOGGP,
    "transfer_overlap": TRANSFER_OVERLAP,
    "sync_overlap": SYNC_OVERLAP,
    "hybrid": HYBRID,
    "hybrid_kernels": HYBRID_KERNELS,
    "guidelines": GUIDELINES,
    "whole_machine": WHOLE_MACHINE,
    **PEERS,
}
USUAL_BENCHMARK = "nbc_overlap"
"""The benchmark whose name is left out of the names of its cases."""

CHOICES: Mapping[str, Choice] = {
    choice.name: choice for benchmark in BENCHMARKS.values() for choice in benchmark.choices
}
"""Every axis of cases that can be asked for."""

POINT_CHOICES: Mapping[str, Choice] = {
    choice.name: choice for benchmark in BENCHMARKS.values() for choice in benchmark.point_choices
}
"""Every axis of points that can be asked for. Benchmarks may differ in the legal values."""

_ALL: Mapping[str, Choice] = {**CHOICES, **PLACED}

AXES: Mapping[str, Axis] = {name: choice.axis for name, choice in _ALL.items()}
"""Every axis of a case, in the order of words and of file names."""

BY_SESSION: Mapping[str, Choice] = {name: choice for name, choice in _ALL.items() if choice.by_session}
"""The axes that have a single value per ReFrame session."""


def values_of(suite: str, choice: Choice, asked: Asked) -> tuple[Value, ...]:
    """The values of an axis to measure: those that were asked for, else the suite's."""
    return choice.values_of(asked.get(choice.name, ()), suites.SUITES[suite].values(choice.axis))


def loading(planned: Mapping[str, Iterable[Value]]) -> dict[str, str]:
    """The environment variables with which ReFrame makes tests of the values that a run measures."""
    own = (choice.loading(list(planned.get(axis, ()))) for axis, choice in CHOICES.items())
    return {name: value for variables in own for name, value in variables.items()}


def programs_of(benchmarks: Iterable[str]) -> set[str]:
    """The programs that these benchmarks launch, and those of which they need the `basic`."""
    needed = {one for name in benchmarks for one in (name, BENCHMARKS[name].basic_of) if one}
    own = {name: BENCHMARKS[name].programs for name in needed}
    return {BIND_RANK}.union(*((name,) if programs is None else programs for name, programs in own.items()))


def with_axis(name: str) -> list[str]:
    """The benchmarks that have an axis of cases, or one of points, of which values can be asked for."""
    return [benchmark for benchmark, entry in BENCHMARKS.items() if entry.named(name)]


def points_name(benchmark: str, grid: str, asked: Asked) -> str:
    """The name of the points of a case, under which its references are kept: of the map, and of what was asked for of
    other axes."""
    entry = BENCHMARKS[benchmark]
    own = [(choice, entry.asked_of(choice, asked)) for choice in entry.point_choices if choice not in TIMES]
    texts = [(choice, "-".join(map(choice.text, choice.values_of(given)))) for choice, given in own if given]
    return map_name(grid, asked) + "".join(f"_{choice.name}_{text}" for choice, text in texts)


def suites_of(benchmark: str, configuration: str, parameters: Mapping[str, Value]) -> set[str]:
    """The suites that a case belongs to. Axes that any text or number is a value of do not count."""
    limited = [
        choice for axis, choice in CHOICES.items() if choice.legal and not choice.by_session and axis in parameters
    ]
    return {
        name
        for name, suite in suites.SUITES.items()
        if benchmark in suite.benchmarks
        and configuration in suite.configurations
        and all(parameters[choice.name] in suite.values(choice.axis) for choice in limited)
    }
