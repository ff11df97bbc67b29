"""Collectives with one copy of the data per node (Zhou et al. 2020): one test, which measures all of them.

    hybrid %configuration=basic

It takes nothing from another case: the MPI library that it is compared with runs in the same launch.
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

Parameters: Any = own_parameters("hybrid")


@rfm.simple_test
class hybrid(MeasuredTest, Parameters):
    descr = "collectives with one copy per node"
    benchmark = "hybrid"
