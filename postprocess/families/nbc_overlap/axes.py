"""In what points of overlap differ."""

from collections.abc import Mapping
from typing import Any

from postprocess.families import axes

AXES = axes.with_parameters(
    "nbc_overlap",
    axes.BENCHMARK, axes.COLLECTIVE, axes.SYSTEM, axes.TOOLCHAIN, axes.PROVIDER, axes.CONFIGURATION, axes.NETWORK,
    axes.RANKS, axes.NODES, axes.THREADS, axes.GIVEN_UP, axes.CACHE, axes.COMPUTATION, axes.TEST_INTERVAL,
    axes.LAUNCH, axes.COMM_TARGET, axes.COMP_TARGET,
)  # fmt: skip
SIZES = (axes.MESSAGE, axes.WORK)
"""What was found for a point, by calibration, and must be the same where times are compared."""
OF_RECORD = axes.of_records("nbc_overlap")
"""What all points of a record have in common beside where they ran."""
OF_BASIC = tuple(one for one in OF_RECORD if one.of_basic)
"""Those in which cases differ from cases of another `basic`."""
BESIDE_BASIC = tuple(one for one in OF_RECORD if not one.of_basic)
"""Those in which cases differ from their own `basic`."""


def as_in_basic(case: Mapping[Any, Any]) -> bool:
    """Whether a case, but for its configuration, is as `basic` measures it: its computation without MPI_Test."""
    return all(one.is_usual(case[one.name]) for one in BESIDE_BASIC)
