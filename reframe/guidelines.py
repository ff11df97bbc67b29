"""Whether a call is slower than others that do the same: one test per configuration.

guidelines %configuration=basic
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from measured import MeasuredTest

Parameters: Any = own_parameters("guidelines")


@rfm.simple_test
class guidelines(MeasuredTest, Parameters):
    descr = "calls against others that do the same"
    benchmark = "guidelines"
