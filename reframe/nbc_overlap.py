"""Overlap of nonblocking collectives (Denis et al. 2022): one test per configuration, collective and computation.

    nbc_overlap %configuration=async %test_interval_ns=0 %basic.collective=ibcast %basic.computation=dgemm

Every configuration takes message and matrix sizes from `basic` of the identical toolchain, network, ranks and grid,
which is a fixture: measured once, whatever depends on it.
"""

from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from overlap_base import MeasuredTest
from reframe.core.builtins import fixture, parameter, run_after, run_before

from mpi_campaign import archive, libraries, suites
from mpi_campaign.benchmarks import COMPUTATIONS
from postprocess.points import record_metrics


class NbcOverlap(MeasuredTest):
    """What `basic` and the configurations held against it have in common."""

    benchmark = "nbc_overlap"

    def benchmark_options(self) -> list[str]:
        case = self.case
        options = ["--grid", self.grid, "--cache", case.cache]
        if case.computation != "dgemm":
            options += ["--computation", case.computation]
        if case.test_interval_ns:
            options += ["--test-interval", f"{case.test_interval_ns}ns"]
        if self.budget_seconds:
            options += ["--budget-seconds", str(self.budget_seconds)]
        basic = self.basic_test()
        sizes = ["--save-sizes", archive.SIZES] if basic is None else ["--sizes", str(basic.staged(archive.SIZES))]
        return options + sizes

    @run_before("performance")
    def metrics(self) -> None:
        """Everything that `postprocess` makes of the record, as performance variables."""
        if self.is_dry_run():
            return
        basic = self.basic_test()
        found = record_metrics(self.staged(archive.RECORD), None if basic is None else basic.staged(archive.RECORD))
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), "points" if name.startswith("points") else "ratio")
            for name, value in found.items()
        }


class nbc_overlap_basic(NbcOverlap):
    """`basic`: the fixture that the others take their sizes and references from."""

    descr = "overlap of a nonblocking collective, the library as it comes"
    collective = parameter(list(suites.COLLECTIVES))
    computation = parameter(list(COMPUTATIONS))

    def identify(self) -> dict[str, Any]:
        return {"configuration": "basic", "collective": self.collective, "computation": self.computation}


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
