"""What is measured again after a comparison: what is slower, and nothing else."""

import pandas as pd

from mpi_campaign.planning.options import Options
from mpi_campaign.running.again import narrowed


def test_only_what_is_slower_is_measured_again() -> None:
    prefix = "mpich@4.3=/opt/mpich"
    asked = Options.of(
        suite="nightly", toolchains=("openmpi@5.0.11", prefix), configurations=("basic", "async"), network="shm",
        calibrate="own", environment=("A=1",), collectives=("ibcast", "ireduce"),
    )  # fmt: skip
    slower = pd.DataFrame(
        {
            "toolchain": "mpich@4.3",
            "benchmark": ["nbc_overlap", "nbc_overlap", "partitioned"],
            "configuration": "async",
            "collective": ["ibcast", "ibcast", "none"],
            "approach": ["none", "none", "part"],
        }
    )
    found = narrowed(asked, slower, 600)
    assert (found.toolchains, found.configurations) == ((prefix,), ("async",))
    assert found.benchmarks == ("nbc_overlap", "partitioned")
    assert (found.asked["collective"], found.asked["approach"]) == (("ibcast",), ("part",))
    assert (found.budget_seconds, found.launches, found.calibrate) == (600, 0, "")  # as many as the suite has
    assert (found.suite, found.network, found.environment) == (asked.suite, asked.network, asked.environment)
    of_libraries = narrowed(asked, slower.drop(columns="toolchain"), 600)
    assert of_libraries.toolchains == asked.toolchains
