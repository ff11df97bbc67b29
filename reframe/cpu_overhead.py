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


@rfm.simple_test
class cpu_overhead(MeasuredTest, Parameters):
    descr = "CPU time of collectives"
    benchmark = "cpu_overhead"


@rfm.simple_test
class loggp(MeasuredTest, LogGPParameters):
    descr = "parameters of the LogGP model"
    benchmark = "loggp"
