"""Sending to a receiver that is late (White & Bova 1999): one test per configuration, moment of sending and protocol.

    sync_overlap %configuration=async %send=early %protocol=copied

No case takes anything from `basic`: each searches the sizes at which its own outcome changes.
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

Parameters: Any = own_parameters("sync_overlap")


@rfm.simple_test
class sync_overlap(MeasuredTest, Parameters):
    descr = "messages to a late receiver"
    benchmark = "sync_overlap"

    def benchmark_options(self) -> list[str]:
        asked = self.point_options()
        only = ["--only-these"] if asked else []
        return ["--grid", self.grid, *asked, *only, *self.settle_options(), *self.budget_options()]
