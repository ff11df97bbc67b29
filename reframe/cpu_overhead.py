"""What a blocking collective costs the CPU (Hoefler et al. 2006): one test per configuration and collective.

    cpu_overhead %configuration=async %basic.operation=bcast

`basic` is a fixture: measured once, whatever is compared with it.
"""

from typing import Any

import reframe as rfm
from case_axes import basics_parameters, own_parameters
from measured import MeasuredTest
from reframe.core.builtins import fixture

from mpi_campaign.launching import wire


class CpuOverhead(MeasuredTest):
    """The common part of `basic` and of the other configurations."""

    benchmark = "cpu_overhead"

    def benchmark_options(self) -> list[str]:
        options = ["--grid", self.grid]
        if self.network.startswith("wire"):
            options += ["--settle", f"{wire.settle_ns(self.wire_rate)}ns"]
        if self.budget_seconds:
            options += ["--budget-seconds", str(self.budget_seconds)]
        return options


BasicsParameters: Any = basics_parameters("cpu_overhead")
OwnParameters: Any = own_parameters("cpu_overhead")


class cpu_overhead_basic(CpuOverhead, BasicsParameters):
    """`basic`: the fixture that progress threads of other configurations are compared with."""

    descr = "CPU time of blocking collectives, the library as it comes"
    gives_sizes = True


@rfm.simple_test
class cpu_overhead(CpuOverhead, OwnParameters):
    """A configuration beside `basic`; for `basic` itself the fixture's record is what is judged."""

    descr = "CPU time of blocking collectives"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    basic = fixture(cpu_overhead_basic, scope="environment")

    @property
    def measured_by_fixture(self) -> bool:
        return self.is_basic

    def basic_test(self) -> MeasuredTest | None:
        return None if self.measured_by_fixture else self.basic
