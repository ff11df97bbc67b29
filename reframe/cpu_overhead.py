"""What a collective costs the CPU (Hoefler et al. 2006): one test per configuration, collective and library setting;
and the parameters of the LogGP model: one test per configuration.

    cpu_overhead %configuration=async %operation=bcast %library_setting=usual
    loggp %configuration=async

No case takes anything from `basic`: each searches the number of calls of its batches itself.
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

Parameters: Any = own_parameters("cpu_overhead")
LogGPParameters: Any = own_parameters("loggp")


class OfCpuOverhead(MeasuredTest):
    """The common part of both tests."""

    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]

    def benchmark_options(self) -> list[str]:
        return ["--grid", self.grid, *self.point_options(), *self.settle_options(), *self.budget_options()]


@rfm.simple_test
class cpu_overhead(OfCpuOverhead, Parameters):
    descr = "CPU time of collectives"
    benchmark = "cpu_overhead"


@rfm.simple_test
class loggp(OfCpuOverhead, LogGPParameters):
    descr = "parameters of the LogGP model"
    benchmark = "loggp"
