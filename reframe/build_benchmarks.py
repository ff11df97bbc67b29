"""Build the benchmarks for every environment, so that no build is left when the first measurement begins.

build_benchmarks                   with --exec-policy=async several toolchains build at once
"""

import reframe as rfm
from build import BuildBenchmarks

from mpi_campaign.planning import suites


@rfm.simple_test
class build_benchmarks(BuildBenchmarks):
    """The measuring tests' own fixture finds everything built after this."""

    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    tags = set(suites.SUITES)
