"""What an idle MPI library costs a computation (Denis et al. 2022, section 3.2.1): one test per configuration.

    mpi_impact %configuration=async %basic.computation=dgemm

Each test launches `mpi_impact` and `compute_alone`, which has no MPI, in turn, with one launcher, one binding and the
sizes that `basic` found, which is a fixture: measured once, whatever depends on it.
"""

import shlex
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from overlap_base import MeasuredTest
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, parameter, run_after, run_before, sanity_function
from reframe.core.exceptions import SanityError

from mpi_campaign import archive, site, suites, verify
from mpi_campaign.benchmarks import BENCHMARKS, COMPUTATIONS
from postprocess.impact import impact_metrics
from postprocess.impact_record import load_impact


class MpiImpact(MeasuredTest):
    """What `basic` and the other configurations have in common."""

    benchmark = "mpi_impact"

    def benchmark_options(self) -> list[str]:
        return ["--computation", self.case.computation, "--limit-seconds", f"{self.hung_after_seconds:.1f}"]

    @run_before("run")
    def prepare(self) -> None:
        """The launches in turn are started by a program of ours, which is told the launcher's own command line."""
        super().prepare()
        if self.finished_record() is not None:
            return
        self.job.num_tasks = self.num_tasks
        self.job.num_cpus_per_task = self.num_cpus_per_task
        launcher = self.job.launcher.run_command(self.job)
        basic = self.basic_test()
        options = ["--programs", str(self.build.build_folder), "--launcher", launcher, "--record", archive.RECORD]
        options += ["--save-sizes", archive.SIZES] if basic is None else ["--sizes", str(basic.staged(archive.SIZES))]
        if self.budget_seconds:
            options += ["--budget-seconds", str(self.budget_seconds)]
        words = [*self.common_options(), *self.benchmark_options()]
        self.job.launcher = getlauncher("local")()
        self.executable = site.python_command()
        self.executable_opts = ["-m", "mpi_campaign.impact_launches", *map(shlex.quote, [*options, "--", *words])]

    @sanity_function
    def what_was_asked_is_what_ran(self) -> bool:
        extras = self.current_environ.extras
        basic = self.basic_test()
        found = verify.faults_of_impact_file(
            self.staged(archive.RECORD),
            self.case,
            extras["family"],
            extras["version"],
            None if basic is None else basic.staged(archive.RECORD),
        )
        if self.job.exitcode:
            found.append(f"it ended with exit code {self.job.exitcode}")
        if found:
            raise SanityError("; ".join(found))
        return True

    @run_before("performance")
    def metrics(self) -> None:
        """What `postprocess` makes of the record, as performance variables."""
        if not self.is_dry_run():
            self.perf_variables = {
                name: sn.make_performance_function(sn.defer(value), "ratio")
                for name, value in impact_metrics(load_impact(self.staged(archive.RECORD))).items()
            }


class mpi_impact_basic(MpiImpact):
    """`basic`: the fixture that the others take their sizes from."""

    descr = "what an idle MPI library costs a computation, the library as it comes"
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

    @run_after("init")
    def tag_suites(self) -> None:
        self.tags = {
            name
            for name, suite in suites.SUITES.items()
            if self.benchmark in suite.benchmarks
            and self.configuration in suite.configurations
            and self.basic.computation in suite.computations
        }

    def identify(self) -> dict[str, Any]:
        return {**self.basic.identify(), "configuration": self.configuration}

    def basic_test(self) -> MeasuredTest | None:
        return None if self.configuration == "basic" else self.basic

    def finished_record(self) -> dict[Path, str] | None:
        if self.configuration == "basic":
            return {self.basic.staged(name): name for name in self.record_files()}
        return super().finished_record()
