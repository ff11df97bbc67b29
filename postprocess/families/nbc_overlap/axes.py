"""The axes of overlap: the parameters in which its points differ."""

from collections.abc import Mapping
from typing import Any

from postprocess.families import axes

AXES = (
    axes.BENCHMARK, axes.COLLECTIVE, axes.SYSTEM, axes.TOOLCHAIN, axes.PROVIDER, axes.CONFIGURATION, axes.NETWORK,
    axes.RANKS, axes.NODES, axes.NODE_SET, axes.THREADS, axes.GIVEN_UP, axes.CACHE, axes.COMPUTATION,
    axes.TEST_INTERVAL, axes.LAUNCH, axes.COMM_TARGET, axes.COMP_TARGET,
)  # fmt: skip
OF_RECORD = (axes.COMPUTATION, axes.TEST_INTERVAL, axes.CACHE)
"""The parameters that are the same for all points of a record, apart from the placement."""
OF_BASIC = tuple(axis for axis in OF_RECORD if axis.of_basic)
"""The axes of `OF_RECORD` for each of whose values there is a separate `basic`."""
BESIDE_BASIC = tuple(axis for axis in OF_RECORD if not axis.of_basic)
"""The axes of `OF_RECORD` in which cases may differ from the `basic` that they are compared with."""


def as_in_basic(case: Mapping[Any, Any]) -> bool:
    """Whether a case, apart from its configuration, is measured as `basic` is: computing without MPI_Test."""
    return all(axis.is_usual(case[axis.name]) for axis in BESIDE_BASIC)
