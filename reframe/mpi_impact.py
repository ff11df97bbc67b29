"""What an idle MPI library costs a computation (Denis et al. 2022, section 3.2.1): one test per configuration.

    mpi_impact %configuration=async %basic.computation=dgemm

Each test launches `mpi_impact` and `compute_alone`, which has no MPI, in turn, with one launcher, one binding and the
sizes that `basic` found, which is a fixture: measured once, whatever depends on it.
"""

import shlex
from typing import Any

import reframe as rfm
from case_axes import basics_parameters, own_parameters
from measured import MeasuredTest
from reframe.core.builtins import fixture, run_before

from mpi_campaign.archive import run_folders
from mpi_campaign.libraries import recording
from mpi_campaign.systems import site


class MpiImpact(MeasuredTest):
    """The common part of `basic` and of the other configurations."""

    benchmark = "mpi_impact"

    @run_before("run")
    def prepare(self) -> None:
        """A program of ours starts the launches in turn, and gets the launcher's command line as an option."""
        super().prepare()
        if self.finished_record() is not None:
            return
        launcher = self.launcher_words()
        options = ["--programs", str(self.build.programs), "--launcher", launcher, "--record", run_folders.RECORD]
        options += recording.ranks(self.current_environ.extras["family"], self.current_environ.extras["version"])
        options += self.sizes_options()
        options += ["--limit-seconds", f"{self.hung_after_seconds:.1f}"]
        options += [*self.budget_options(), *self.point_options()]
        words = [*self.common_options(), *self.axis_options()]
        module = ["-m", "mpi_campaign.launching.impact_launches"]
        self.start_without_launcher(site.python_command(), [*module, *map(shlex.quote, [*options, "--", *words])])


BasicsParameters: Any = basics_parameters("mpi_impact")
OwnParameters: Any = own_parameters("mpi_impact")


class mpi_impact_basic(MpiImpact, BasicsParameters):
    """`basic`: the fixture that the others take their sizes from."""

    descr = "what an idle MPI library costs a computation, the library as it comes"
    gives_sizes = True


@rfm.simple_test
class mpi_impact(MpiImpact, OwnParameters):
    """A configuration; for `basic` itself the fixture's record is what is judged."""

    descr = "what an idle MPI library costs a computation"
    basic = fixture(mpi_impact_basic, scope="environment")
