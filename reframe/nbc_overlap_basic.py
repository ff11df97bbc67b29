"""`basic` of nbc_overlap: the fixture that its other configurations and the benchmarks beside it depend on."""

from typing import Any

import reframe.utility.sanity as sn
from case_axes import basics_parameters
from overlap_base import MeasuredTest
from reframe.core.builtins import run_before

from mpi_campaign.archive import references, run_folders
from mpi_campaign.launching import wire


class NbcOverlap(MeasuredTest):
    """What `basic` and the configurations held against it have in common."""

    benchmark = "nbc_overlap"

    def benchmark_options(self) -> list[str]:
        options = ["--grid", self.grid]
        for option, times in (("--comm-times", self.comm_times), ("--comp-times", self.comp_times)):
            if times:
                options += [option, times]
        if self.network.startswith("wire"):
            options += ["--settle", f"{wire.settle_ns(self.wire_rate)}ns"]
        if self.budget_seconds:
            options += ["--budget-seconds", str(self.budget_seconds)]
        return options + self.sizes_options()

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


Parameters: Any = basics_parameters("nbc_overlap")


class nbc_overlap_basic(NbcOverlap, Parameters):
    """`basic`: the fixture that the others take their sizes and references from."""

    descr = "overlap of a nonblocking collective, the library as it comes"
    gives_sizes = True
