"""Kernels with one copy of the data per node (Zhou et al. 2020, section 5.3): one test, which solves all of them.

    hybrid_kernels %configuration=basic %method=campaign

It takes nothing from another case: the variants run in turn in the same launch. Where ranks share cores, only memory is
measured.
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

Parameters: Any = own_parameters("hybrid_kernels")


@rfm.simple_test
class hybrid_kernels(MeasuredTest, Parameters):
    descr = "kernels with one copy per node"
    benchmark = "hybrid_kernels"

    def benchmark_options(self) -> list[str]:
        crowded = ["--memory-only"] if self.placement.oversubscribed else []
        own = [*crowded, *self.point_options(), *self.start_options(), *self.settle_options(), *self.budget_options()]
        return ["--grid", self.grid, *own]
