"""Overlap of nonblocking collectives (Denis et al. 2022): one test per configuration, collective and computation.

    nbc_overlap %configuration=async %test_interval_ns=0 %basic.collective=ibcast %basic.computation=dgemm

Every configuration takes message and work sizes from `basic` of the identical toolchain, network, ranks and grid,
which is a fixture: measured once, whatever depends on it.
"""

from pathlib import Path
from typing import Any

import reframe as rfm
from nbc_overlap_basic import NbcOverlap, nbc_overlap_basic
from overlap_base import MeasuredTest
from reframe.core.builtins import fixture, parameter, run_after

from mpi_campaign import libraries, suites


@rfm.simple_test
class nbc_overlap(NbcOverlap):
    """A configuration beside `basic`; for `basic` itself the fixture's record is what is judged."""

    descr = "overlap of a nonblocking collective beside basic"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    configuration = parameter(list(libraries.CONFIGURATIONS))
    test_interval_ns = parameter([0], type=int)
    basic = fixture(nbc_overlap_basic, scope="environment")

    @run_after("init")
    def tag_suites(self) -> None:
        self.tags = {name for name, suite in suites.SUITES.items() if self.is_of(suite)}

    def is_of(self, suite: suites.Suite) -> bool:
        measured = (suite.configurations, suite.collectives, suite.computations)
        own = (self.configuration, self.basic.collective, self.basic.computation)
        return all(value in values for value, values in zip(own, measured, strict=True))

    def identify(self) -> dict[str, Any]:
        own = {"configuration": self.configuration, "test_interval_ns": self.test_interval_ns}
        return {**self.basic.identify(), **own}

    @property
    def measured_by_fixture(self) -> bool:
        return bool(self.configuration == "basic" and self.test_interval_ns == 0)

    def basic_test(self) -> MeasuredTest | None:
        return None if self.measured_by_fixture else self.basic

    def finished_record(self) -> dict[Path, str] | None:
        if self.measured_by_fixture:
            return {self.basic.staged(name): name for name in self.record_files()}
        return super().finished_record()
