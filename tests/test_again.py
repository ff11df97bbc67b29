"""What is measured again after a comparison: what is slower, and nothing else."""

from pathlib import Path

import pandas as pd

from mpi_campaign.planning.options import Options
from mpi_campaign.running.again import libraries, narrowed
from mpi_campaign.verdicts.comparing import ComparisonRequest


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


def test_both_libraries_of_sides_that_name_different_ones_are_measured_again(tmp_path: Path) -> None:
    options = Options.of(suite="nightly", toolchains=("mpich@5.0.2=/opt/mpich",))
    of = {
        ("openmpi@5.0.10,basic", "mpich@5.0.2,basic"): ("openmpi@5.0.10", "mpich@5.0.2=/opt/mpich"),
        ("mpich@5.0.2,basic", "mpich@5.0.2,async"): (),
        ("basic", "mpich@5.0.2"): (),
    }
    for words, both in of.items():
        assert libraries(ComparisonRequest(words), options, tmp_path) == both
