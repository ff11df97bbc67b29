"""`basic` of nbc_overlap: the fixture that its other configurations and the benchmarks beside it depend on."""

from typing import Any

from case_axes import basics_parameters
from measured import MeasuredTest


class NbcOverlap(MeasuredTest):
    """The common part of `basic` and of the configurations that are compared with it."""

    benchmark = "nbc_overlap"

    def benchmark_options(self) -> list[str]:
        return [*super().benchmark_options(), *self.sizes_options()]


Parameters: Any = basics_parameters("nbc_overlap")


class nbc_overlap_basic(NbcOverlap, Parameters):
    """`basic`: the fixture that the others take their sizes and references from."""

    descr = "overlap of a nonblocking collective, the library as it comes"
    gives_sizes = True
