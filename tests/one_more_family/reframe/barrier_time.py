"""How long barriers take: one test per configuration."""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

Parameters: Any = own_parameters("barrier_time")


@rfm.simple_test
class barrier_time(MeasuredTest, Parameters):
    descr = "barriers"

    benchmark = "barrier_time"

    def benchmark_options(self) -> list[str]:
        return ["--barriers", "1,100", *self.budget_options()]
