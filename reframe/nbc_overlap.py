"""Overlap of nonblocking collectives (Denis et al. 2022): one test per configuration and collective.

    nbc_overlap %configuration=async %basic.collective=ibcast

Every configuration takes message and matrix sizes from `basic` of the identical toolchain, network, ranks and grid,
which is a fixture: measured once, whatever depends on it.
"""

from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from overlap_base import MeasuredTest
from reframe.core.builtins import fixture, parameter, run_after, run_before

from mpi_campaign import archive, libraries, suites
from postprocess.points import record_metrics


class NbcOverlap(MeasuredTest):
    """What `basic` and the configurations held against it have in common."""

    benchmark = "nbc_overlap"

    def benchmark_options(self) -> list[str]:
        options = ["--grid", self.grid, "--cache", self.cache]
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

    def identify(self) -> tuple[str, str]:
        return "basic", self.collective


@rfm.simple_test
class nbc_overlap(NbcOverlap):
    """A configuration beside `basic`; for `basic` itself the fixture's record is what is judged."""

    descr = "overlap of a nonblocking collective beside basic"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    configuration = parameter(list(libraries.CONFIGURATIONS))
    basic = fixture(nbc_overlap_basic, scope="environment")

    @run_after("init")
    def tag_suites(self) -> None:
        self.tags = {name for name, suite in suites.SUITES.items() if self.basic.collective in suite.collectives}

    def identify(self) -> tuple[str, str]:
        return self.configuration, self.basic.collective

    def basic_test(self) -> MeasuredTest | None:
        return None if self.configuration == "basic" else self.basic

    def finished_record(self) -> dict[Path, str] | None:
        if self.configuration == "basic":
            return {self.basic.staged(name): name for name in self.record_files()}
        return super().finished_record()
