"""What a blocking collective costs the CPU (Hoefler et al. 2006): one test per configuration and collective.

    cpu_overhead %configuration=async %operation=bcast

No case takes anything from `basic`: each searches the number of calls of its batches itself.
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

from mpi_campaign.launching import wire

Parameters: Any = own_parameters("cpu_overhead")


@rfm.simple_test
class cpu_overhead(MeasuredTest, Parameters):
    descr = "CPU time of blocking collectives"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    benchmark = "cpu_overhead"

    def benchmark_options(self) -> list[str]:
        options = ["--grid", self.grid]
        if self.network.startswith("wire"):
            options += ["--settle", f"{wire.settle_ns(self.wire_rate)}ns"]
        if self.budget_seconds:
            options += ["--budget-seconds", str(self.budget_seconds)]
        return options
