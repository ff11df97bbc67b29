"""Whether programming a solver for overlap pays (White & Bova 1999): one test per configuration and system.

    transfer_overlap %configuration=async %grid_points=10000 %unknowns=16

Every case measures all versions of the solver in turn. No case takes anything from `basic`: the work is the same.
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

Parameters: Any = own_parameters("transfer_overlap")


@rfm.simple_test
class transfer_overlap(MeasuredTest, Parameters):
    descr = "versions of a solver that overlap communication and computation"
    benchmark = "transfer_overlap"

    def benchmark_options(self) -> list[str]:
        return [*self.point_options(), *self.settle_options(), *self.budget_options()]
