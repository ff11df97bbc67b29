"""What an idle MPI library costs a computation (Denis et al. 2022, section 3.2.1): one test per configuration.

    mpi_impact %configuration=async %basic.computation=dgemm

Each test launches `mpi_impact` and `compute_alone`, which has no MPI, in turn, with one launcher, one binding and the
sizes that `basic` found, which is a fixture: measured once, whatever depends on it.
"""

import shlex
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from overlap_base import MeasuredTest
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, parameter, run_before, sanity_function
from reframe.core.exceptions import SanityError

from mpi_campaign.archive import run_folders
from mpi_campaign.libraries import recording
from mpi_campaign.planning.benchmarks import BENCHMARKS, COMPUTATIONS
from mpi_campaign.systems import site


class MpiImpact(MeasuredTest):
    """What `basic` and the other configurations have in common."""

    benchmark = "mpi_impact"

    def benchmark_options(self) -> list[str]:
        return ["--computation", self.case.computation]

    @run_before("run")
    def prepare(self) -> None:
        """The launches in turn are started by a program of ours, which is told the launcher's own command line."""
        super().prepare()
        if self.finished_record() is not None:
            return
        self.job.num_tasks = self.num_tasks
        self.job.num_cpus_per_task = self.num_cpus_per_task
        launcher = self.job.launcher.run_command(self.job)
        options = ["--programs", str(self.build.programs), "--launcher", launcher, "--record", run_folders.RECORD]
        options += recording.ranks(self.current_environ.extras["family"], self.current_environ.extras["version"])
        options += self.sizes_options()
        options += ["--limit-seconds", f"{self.hung_after_seconds:.1f}"]
        if self.budget_seconds:
            options += ["--budget-seconds", str(self.budget_seconds)]
        if self.comp_times:
            options += ["--comp-times", self.comp_times]
        words = [*self.common_options(), *self.benchmark_options()]
        self.job.launcher = getlauncher("local")()
        self.executable = site.python_command()
        self.executable_opts = [
            "-m",
            "mpi_campaign.launching.impact_launches",
            *map(shlex.quote, [*options, "--", *words]),
        ]

    @sanity_function
    def what_was_asked_is_what_ran(self) -> bool:
        from mpi_campaign.running import verify  # noqa: PLC0415

        extras = self.current_environ.extras
        basic = self.basic_test()
        found = verify.faults_of_impact_file(
            self.staged(run_folders.RECORD),
            self.case,
            extras["family"],
            extras["version"],
            None if basic is None else basic.staged(run_folders.RECORD),
        )
        if self.job.exitcode:
            found.append(f"it ended with exit code {self.job.exitcode}")
        if found:
            raise SanityError("; ".join(found))
        return True

    @run_before("performance")
    def metrics(self) -> None:
        """What `postprocess` makes of the record, as performance variables."""
        from postprocess.families.mpi_impact.record import load_impact  # noqa: PLC0415
        from postprocess.families.mpi_impact.table import impact_metrics, shown_reliable  # noqa: PLC0415

        if self.is_dry_run():
            return
        record = load_impact(self.staged(run_folders.RECORD))
        if not shown_reliable(record):
            self.hold_against_none("it is not reliable")
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), "ratio")
            for name, value in impact_metrics(record).items()
        }


class mpi_impact_basic(MpiImpact):
    """`basic`: the fixture that the others take their sizes from."""

    descr = "what an idle MPI library costs a computation, the library as it comes"
    gives_sizes = True
    computation = parameter(list(COMPUTATIONS))

    def identify(self) -> dict[str, Any]:
        return {"configuration": "basic", "computation": self.computation}


@rfm.simple_test
class mpi_impact(MpiImpact):
    """A configuration; for `basic` itself the fixture's record is what is judged."""

    descr = "what an idle MPI library costs a computation"
    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    configuration = parameter(list(BENCHMARKS["mpi_impact"].configurations))
    basic = fixture(mpi_impact_basic, scope="environment")

    def identify(self) -> dict[str, Any]:
        # Before set-up the fixture is known by its parameters only.
        return {"configuration": self.configuration, "computation": self.basic.computation}

    @property
    def measured_by_fixture(self) -> bool:
        return bool(self.configuration == "basic")

    def basic_test(self) -> MeasuredTest | None:
        return None if self.measured_by_fixture else self.basic
