"""`basic` of nbc_overlap: the fixture that its other configurations and the benchmarks beside it depend on."""

import os
from typing import Any

import reframe.utility.sanity as sn
from overlap_base import MeasuredTest
from reframe.core.builtins import parameter, run_after, run_before

from mpi_campaign.archive import references, run_folders
from mpi_campaign.launching import wire
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks import COMPUTATIONS
from mpi_campaign.toolchains import builds


class NbcOverlap(MeasuredTest):
    """What `basic` and the configurations held against it have in common."""

    benchmark = "nbc_overlap"

    def benchmark_options(self) -> list[str]:
        case = self.case
        options = ["--grid", self.grid, "--cache", case.cache, "--computation", case.computation]
        for option, times in (("--comm-times", self.comm_times), ("--comp-times", self.comp_times)):
            if times:
                options += [option, times]
        if case.test_interval_ns:
            options += ["--test-interval", f"{case.test_interval_ns}ns"]
        if self.network.startswith("wire"):
            options += ["--settle", f"{wire.settle_ns(self.wire_rate)}ns"]
        if self.budget_seconds:
            options += ["--budget-seconds", str(self.budget_seconds)]
        return options + self.sizes_options()

    @run_after("setup")
    def library_has_the_collective(self) -> None:
        function = builds.mpi_function(self.case.collective)
        missing = function in builds.missing_functions(self.build.programs)
        self.skip_if(missing, f"{self.case.toolchain} has no {function}")

    @run_before("performance")
    def metrics(self) -> None:
        """Everything that `postprocess` makes of the record, as performance variables."""
        from postprocess.families.nbc_overlap.points import record_metrics  # noqa: PLC0415
        from postprocess.families.nbc_overlap.record import message_sizes  # noqa: PLC0415

        if self.is_dry_run():
            return
        basic = self.basic_test()
        found = record_metrics(
            self.staged(run_folders.RECORD), None if basic is None else basic.staged(run_folders.RECORD)
        )
        sizes = message_sizes(self.staged(run_folders.RECORD))
        if not references.is_of_sizes(self.current_system.name, self.reference_key, sizes):
            self.hold_against_none("which is of other sizes (--sizes-of)", references.OF_SIZES)
        if not references.enough_reliable(found):
            self.hold_against_none("less than half of its points are reliable")
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit_of(name)) for name, value in found.items()
        }


def unit_of(name: str) -> str:
    """The unit of a number of `record_metrics`."""
    if name.startswith("points"):
        return "points"
    return "percent" if name.endswith("_percent") else "ratio"


class nbc_overlap_basic(NbcOverlap):
    """`basic`: the fixture that the others take their sizes and references from."""

    descr = "overlap of a nonblocking collective, the library as it comes"
    gives_sizes = True
    collective = parameter(list(suites.loaded(os.environ.get(suites.LOADED, ""))))
    computation = parameter(list(COMPUTATIONS))

    def identify(self) -> dict[str, Any]:
        return {"configuration": "basic", "collective": self.collective, "computation": self.computation}
