"""The axes of cases, each written down once, and the families whose cases differ in them.

Whoever asks for, plans, names, launches, checks, shows or compares a case goes through these and names none. What a
command line, a suite and a program know beside it is in `mpi_campaign.planning.benchmarks`.
"""

from collections.abc import Mapping

from postprocess.drawing.text import cores, duration
from postprocess.families.family import Axis

# "": of a benchmark without collectives. Where there are some, one is always told.
COLLECTIVE = Axis("collective", "collective", usual="")
COMPUTATION = Axis(
    "computation",
    "computation",
    usual="dgemm",
    values={
        "dgemm": "a matrix multiplication per thread (Denis et al. 2022)",
        "triad": "a[i] = b[i] + s c[i] per thread, over vectors larger than the caches",
    },
)
# How often MPI_Test is called while computing; 0: never.
TEST_INTERVAL = Axis(
    "test_interval_ns",
    "MPI_Test every",
    usual=0,
    kind="integer",
    unit="ns",
    words=lambda every: f"MPI_Test every {duration(every)}",
    in_file_name=lambda every: f"test{every}ns",
)
CACHE = Axis(
    "cache",
    "caches",
    usual="warm",
    values={
        "warm": "every repetition uses the same buffers",
        "cold": "buffers in turn, so many that none is found in a cache",
    },
    words=lambda state: f"{state} caches",
)
# The share of each rank where a run has several such numbers; 0 where it has one.
CORES_PER_RANK = Axis(
    "cores_per_rank",
    "cores per rank",
    usual=0,
    kind="integer",
    words=cores,
    in_file_name=lambda count: f"{count}cores",
)

CASE_AXES: Mapping[str, tuple[Axis, ...]] = {
    "nbc_overlap": (COLLECTIVE, COMPUTATION, TEST_INTERVAL, CACHE),
    "mpi_impact": (COMPUTATION,),
    "peers": (COLLECTIVE, CACHE),
}
"""By family, in the order of words and of file names."""

PLACED_AXES = (CORES_PER_RANK,)
"""How ranks are placed: every case has them, behind its own."""
