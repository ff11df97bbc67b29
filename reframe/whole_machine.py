"""Which nodes, links and switches are slow: one test.

whole_machine %configuration=basic
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

Parameters: Any = own_parameters("whole_machine")


@rfm.simple_test
class whole_machine(MeasuredTest, Parameters):
    descr = "all nodes, links and switches of a machine"
    benchmark = "whole_machine"
