"""Collectives with one copy of the data per node (Zhou et al. 2020): one test, which measures all of them.

    hybrid %configuration=basic

It takes nothing from another case: the MPI library that it is compared with runs in the same launch.
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

from mpi_campaign.launching import wire

Parameters: Any = own_parameters("hybrid")


@rfm.simple_test
class hybrid(MeasuredTest, Parameters):
    descr = "collectives with one copy per node"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    benchmark = "hybrid"

    def benchmark_options(self) -> list[str]:
        options = ["--grid", self.grid]
        if self.network.startswith("wire"):
            options += ["--settle", f"{wire.settle_ns(self.wire_rate)}ns"]
        if self.budget_seconds:
            options += ["--budget-seconds", str(self.budget_seconds)]
        return options
