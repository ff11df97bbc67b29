"""The axes that families of benchmarks share, each written once; a family says which of them it has.

Whoever asks for, plans, names, launches, checks, shows or compares a case goes through these and names none. What a
command line, a suite and a program know beside it is in `mpi_campaign.planning.benchmarks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from postprocess.drawing.text import cores, duration
from postprocess.families.family import Axis, Value

BENCHMARK = Axis("benchmark", "benchmark")
COLLECTIVE = Axis("collective", "collective", usual="")  # of a benchmark without collectives
SYSTEM = Axis("system", "system", words="system {}".format)
TOOLCHAIN = Axis("toolchain", "toolchain")
PROVIDER = Axis("provider", "provider", words="from {}".format)
CONFIGURATION = Axis("configuration", "configuration")
NETWORK = Axis("network", "network")
RANKS = Axis("ranks", "ranks", kind="integer", words="{} ranks".format)
NODES = Axis("nodes", "nodes", kind="integer", words="{} nodes".format)
THREADS = Axis("threads_per_rank", "threads per rank", kind="integer", words="{} threads per rank".format)
GIVEN_UP = Axis("given_up_cores", "cores given up", kind="integer", words="{} cores given up".format)
NAMED_CORES = Axis("named_cores", "cores per rank", usual=0, kind="integer", words=cores)
"""The cores of a rank's share in a run that has several such numbers, so that names tell them. It says nothing that the
other axes of placement do not, so that nothing is matched by it."""
CACHE = Axis(
    "cache",
    "caches",
    usual="warm",
    values={
        "warm": "every repetition uses the same buffers",
        "cold": "buffers in turn, so many that none is found in a cache",
    },
    words="{} caches".format,
)
COMPUTATION = Axis(
    "computation",
    "computation",
    usual="dgemm",
    values={
        "dgemm": "a matrix multiplication per thread (Denis et al. 2022)",
        "triad": "a[i] = b[i] + s c[i] per thread, over vectors larger than the caches",
    },
)
TEST_INTERVAL = Axis(
    "test_interval_ns", "MPI_Test", usual=0, kind="integer", unit="ns", of_basic=False,
    words=lambda interval_ns: f"MPI_Test every {duration(interval_ns)}", in_file_name="test{}ns".format,
)  # fmt: skip
CORES_PER_RANK = Axis(
    "cores_per_rank", "cores per rank", usual=0, kind="integer", words=cores, in_file_name="{}cores".format
)
"""The share of each rank where a run has several such numbers; 0 where it has one."""
LAUNCH = Axis("launch", "launch", usual=1, of="launch", kind="integer")
COMM_TARGET = Axis(
    "comm_target_ns", "communication", short="comm", usual=0, of="point", kind="integer", unit="ns", words=duration
)  # fmt: skip
COMP_TARGET = Axis(
    "comp_target_ns", "computation", short="comp", usual=0, of="point", kind="integer", unit="ns", words=duration
)  # fmt: skip
MESSAGE = Axis("message_bytes", "messages", usual=0, of="point", kind="integer", unit="bytes")
WORK = Axis("work_size", "work", usual=0, of="point", kind="integer")

NAMED_BY = (
    *(BENCHMARK.name, COLLECTIVE.name, SYSTEM.name, TOOLCHAIN.name, PROVIDER.name, CONFIGURATION.name, NETWORK.name),
    *(RANKS.name, NODES.name, THREADS.name, GIVEN_UP.name, CACHE.name, COMPUTATION.name, TEST_INTERVAL.name),
    *(COMM_TARGET.name, COMP_TARGET.name, "oversubscribed"),
)
"""What names a series in histories, of every family that was compared when alarms began to have names. What was
acknowledged is known by it, so that it stays: an axis that is added names a series only where it is unusual."""
PARAMETERS: Mapping[str, tuple[Axis, ...]] = {
    "nbc_overlap": (COLLECTIVE, COMPUTATION, TEST_INTERVAL, CACHE),
    "mpi_impact": (COMPUTATION,),
    "peers": (COLLECTIVE, CACHE),
}
"""By family, what its cases can be asked to differ in, in the order of words and of file names; a family without such
axes is not named."""
PLACEMENT = (SYSTEM, PROVIDER, RANKS, NODES, THREADS, GIVEN_UP)
"""What is only told where what is beside each other differs in it."""
ASKED_FOR = tuple(dict.fromkeys(one for own in PARAMETERS.values() for one in own))
"""What cases of any family can be asked to differ in."""
_BESIDE = (one for one in ASKED_FOR if one != COLLECTIVE)
UNUSUAL = tuple(dict.fromkeys((NAMED_CORES, CACHE, COMPUTATION, TEST_INTERVAL, *_BESIDE)))
"""What is told behind the name of a configuration where it is not as usual, in this order."""


def of_records(family: str) -> tuple[Axis, ...]:
    """What cases of a family can be asked to differ in and all points of a record have in common."""
    return tuple(one for one in PARAMETERS.get(family, ()) if one != COLLECTIVE)


def asked(parameters: Mapping[str, Sequence[Value]], axes: Iterable[Axis]) -> dict[str, Any]:
    """The values of axes that a record's plan tells; of one that it does not know, the usual one."""
    return {one.name: next(iter(parameters.get(one.name, ())), one.usual) for one in axes}


def with_parameters(family: str, *axes: Axis) -> tuple[Axis, ...]:
    """The axes of a family in the order of its columns: those that are named, and behind those of cases what else its
    cases can be asked to differ in."""
    cases = [one for one in axes if one.of == "case"]
    return tuple(dict.fromkeys((*cases, *PARAMETERS.get(family, ()), *axes)))


def unusual_words(case: Mapping[Any, Any], axes: Iterable[Axis] = UNUSUAL) -> str:
    """What is not as usual with a case, behind its name: ``, cold caches``, ``, triad, MPI_Test every 100 µs``.

    An axis that the case does not have says nothing.
    """
    told = (one.words(case[one.name]) for one in axes if one.name in case and not one.is_usual(case[one.name]))
    return "".join(f", {words}" for words in told)


def configuration_words(case: Mapping[Any, Any], axes: Iterable[Axis] = UNUSUAL) -> str:
    """The configuration of a row or of a case as headings name it: ``async, cold caches``, ``basic, triad``."""
    return f"{case['configuration']}{unusual_words(case, axes)}"
