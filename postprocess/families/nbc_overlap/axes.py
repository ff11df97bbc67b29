"""In what points of overlap differ."""

from postprocess.families import axes

AXES = axes.with_parameters(
    "nbc_overlap",
    axes.BENCHMARK, axes.COLLECTIVE, axes.SYSTEM, axes.TOOLCHAIN, axes.PROVIDER, axes.CONFIGURATION, axes.NETWORK,
    axes.RANKS, axes.NODES, axes.THREADS, axes.GIVEN_UP, axes.CACHE, axes.COMPUTATION, axes.TEST_INTERVAL,
    axes.LAUNCH, axes.COMM_TARGET, axes.COMP_TARGET,
)  # fmt: skip
SIZES = (axes.MESSAGE, axes.WORK)
"""What was found for a point, by calibration, and must be the same where times are compared."""
