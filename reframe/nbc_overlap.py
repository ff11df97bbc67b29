"""Overlap of nonblocking collectives (Denis et al. 2022): one test per configuration, collective and computation.

    nbc_overlap %configuration=async %test_interval_ns=0 %basic.collective=ibcast %basic.computation=dgemm

Every configuration takes message and work sizes from `basic` of the identical toolchain, network, ranks and grid,
which is a fixture: measured once, whatever depends on it.
"""

from typing import Any

import reframe as rfm
from case_axes import own_parameters
from nbc_overlap_basic import NbcOverlap, nbc_overlap_basic
from reframe.core.builtins import fixture

Parameters: Any = own_parameters("nbc_overlap")


@rfm.simple_test
class nbc_overlap(NbcOverlap, Parameters):
    """A configuration beside `basic`; for `basic` itself the fixture's record is what is judged."""

    descr = "overlap of a nonblocking collective beside basic"
    basic = fixture(nbc_overlap_basic, scope="environment")
