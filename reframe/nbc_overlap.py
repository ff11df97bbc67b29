"""Overlap of nonblocking collectives (Denis et al. 2022): one test per configuration, collective and computation.

    nbc_overlap %configuration=async %test_interval_ns=0 %basic.collective=ibcast %basic.computation=dgemm

Every configuration takes message and work sizes from `basic` of the identical toolchain, network, ranks and grid,
which is a fixture: measured once, whatever depends on it.
"""

from typing import Any

import reframe as rfm
from nbc_overlap_basic import NbcOverlap, nbc_overlap_basic
from overlap_base import MeasuredTest
from reframe.core.builtins import fixture, parameter, run_after

from mpi_campaign.libraries.configurations import CONFIGURATIONS


@rfm.simple_test
class nbc_overlap(NbcOverlap):
    """A configuration beside `basic`; for `basic` itself the fixture's record is what is judged."""

    descr = "overlap of a nonblocking collective beside basic"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    configuration = parameter(list(CONFIGURATIONS))
    test_interval_ns = parameter([0], type=int)
    basic = fixture(nbc_overlap_basic, scope="environment")

    @run_after("init")
    def who_tests(self) -> None:
        reason = CONFIGURATIONS[self.configuration].without_tests
        self.skip_if(bool(self.test_interval_ns and reason), reason)

    def identify(self) -> dict[str, Any]:
        # Before set-up the fixture is known by its parameters only.
        return {
            "configuration": self.configuration,
            "test_interval_ns": self.test_interval_ns,
            "collective": self.basic.collective,
            "computation": self.basic.computation,
        }

    @property
    def measured_by_fixture(self) -> bool:
        return bool(self.configuration == "basic" and self.test_interval_ns == 0)

    def basic_test(self) -> MeasuredTest | None:
        return None if self.measured_by_fixture else self.basic
