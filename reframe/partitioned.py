"""Sending parts of a buffer as threads finish them (Gillis et al. 2023): one test per configuration and approach.

    partitioned %configuration=async %basic.approach=many %basic.noise=last

Every configuration takes the work sizes of the delays from `basic` of the identical case, which is a fixture: measured
once, whatever depends on it.
"""

from typing import Any

import reframe as rfm
from case_axes import basics_parameters, own_parameters
from measured import MeasuredTest
from reframe.core.builtins import fixture

from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from mpi_campaign.libraries import registry
from mpi_campaign.planning.benchmarks.choices import STREAMS


class Partitioned(MeasuredTest):
    """The common part of `basic` and of the other configurations."""

    benchmark = "partitioned"

    def benchmark_options(self) -> list[str]:
        options = ["--grid", self.grid, "--reproducer", run_folders.REPRODUCER]
        return [
            *options,
            *self.start_options(),
            *self.point_options(),
            *self.settle_options(),
            *self.budget_options(),
            *self.sizes_options(),
        ]

    def launch_variables(self, purpose: str, inside: environ.Requested) -> dict[str, str]:
        """For the approach `streams`, the library reserves a stream for each thread. A user's own number counts."""
        variables = super().launch_variables(purpose, inside)
        if self.case.parameters["approach"] != STREAMS:
            return variables
        library = registry.library(self.current_environ.extras["family"])
        return {**library.streams(self.computing_threads).env, **variables}


BasicsParameters: Any = basics_parameters("partitioned")
OwnParameters: Any = own_parameters("partitioned")


class partitioned_basic(Partitioned, BasicsParameters):
    """`basic`: the fixture that the others take their sizes from."""

    descr = "parts of a buffer sent as threads finish them, the library as it comes"
    gives_sizes = True


@rfm.simple_test
class partitioned(Partitioned, OwnParameters):
    """A configuration beside `basic`; for `basic` itself the fixture's record is what is judged."""

    descr = "parts of a buffer sent as threads finish them"
    basic = fixture(partitioned_basic, scope="environment")
