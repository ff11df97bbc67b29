"""What the checks share: the build of the benchmarks, and a measuring test that places, launches and verifies.

A benchmark's check file derives from `MeasuredTest`, says which executable and which options, and nothing else.

What reads records is imported where it is used: it loads pandas and SciPy, and for every test that ReFrame makes it
goes through all modules that are loaded (`inspect.stack`).
"""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError
from reframe.core.logging import getlogger

from mpi_campaign.archive import references, run_folders
from mpi_campaign.children import environ
from mpi_campaign.launching.wire import WIRE_RATE
from mpi_campaign.libraries import launch_environment, launches, recording
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Impossible, Request, Settings
from mpi_campaign.planning import suites
from mpi_campaign.planning.cases import Case
from mpi_campaign.systems import known_systems, site
from mpi_campaign.this_machine import host, machine
from mpi_campaign.toolchains import builds
from mpi_campaign.toolchains.spack import installed, provider
from mpi_campaign.toolchains.spack.build import Build


class BuildBenchmarks(rfm.CompileOnlyRegressionTest):
    """The one CMake project, built once per environment, in a folder that stays: a second run compiles nothing.

    With toolchains of Spack's it is Spack that builds it, and the MPI library where that is no external.
    """

    descr = "build the benchmarks"
    build_system: Any = "CMake"  # ReFrame makes an object of it
    sourcesdir = None
    build_time_limit = "10m"

    @property
    def programs(self) -> Path:
        """The folder that they are in when they have been built."""
        return Path(self.current_environ.extras["programs"])

    @run_after("setup")
    def choose_build_system(self) -> None:
        extras = self.current_environ.extras
        if extras["spack"] is None:
            return
        self.made_by = Build.from_json(extras["spack"])
        self.build_time_limit = "12h"  # of an MPI library and all below it
        self.fingerprint = builds.fingerprint()  # before they are read: what changes meanwhile is built the next time
        self.to_install = installed.to_install(self.made_by, self.fingerprint)
        self.build_system = "Spack" if self.to_install else "CustomBuild"

    @run_before("compile")
    def configure(self) -> None:
        if self.current_environ.extras["spack"] is None:
            self.configure_cmake()
        elif self.to_install:
            self.configure_spack()
        else:
            self.build_system.commands = ["echo nothing has changed since Spack built it"]

    def configure_spack(self) -> None:
        """From the lock only. What other benchmarks lack, a source that no network brings, is no fault of ours."""
        build = self.made_by
        ours, *peers = self.to_install
        jobs = f"-j{machine.cores().physical}"
        spack = shlex.quote(build.spack_executable)
        notes = {one: shlex.quote(str(installed.note(one, prefix))) for one, prefix in build.prefixes.items()}
        left = f"{shlex.quote(str(builds.SOURCES))}/build-*-{ours[:7]}"  # objects of sources that were newer then
        self.prebuild_cmds = [
            *environ.script(environ.SPACK, site.exported(self), provider.install_variables(build)),
            f'spack() {{ {spack} --color=never "$@"; }}',
            f'for old in {left}; do if [ -L "$old" ]; then rm -rf "$(readlink -f "$old")" "$old"; fi; done',
            f"mkdir -p {shlex.quote(str(installed.note(ours, build.prefix).parent))}; rm -f {notes[ours]}",
        ]
        self.build_system.environment = build.environment
        # A cached build of ours has the hash of these sources, whatever they were when it was built.
        # One that is there is of other sources; Spack would go by the time that files were last written.
        changed = not installed.is_built(build, self.fingerprint)
        again = ["--overwrite", "-y"] if changed and Path(build.prefix).is_dir() else []
        options = [jobs, "--only-concrete", "--use-buildcache=package:never,dependencies:auto", *again]
        self.build_system.install_opts = [*options, f"/{ours}"]
        install = f"spack -e {build.environment} install {jobs} --only-concrete"
        logs = {one: shlex.quote(str(installed.log(one, prefix))) for one, prefix in build.prefixes.items()}
        self.postbuild_cmds = [
            f"echo {self.fingerprint} > {notes[ours]}",
            *(
                f"{install} /{one} > {logs[one]} 2>&1 && said={installed.INSTALLED} || said={installed.FAILED}; "
                f"cat {logs[one]}; echo $said > {notes[one]}"
                for one in peers
            ),
        ]

    def configure_cmake(self) -> None:
        """By hand, with the toolchain's mpicc."""
        extras = self.current_environ.extras
        self.made_from = builds.made_from(extras["mpicc"])
        if not self.is_dry_run():
            (self.programs / builds.BUILT).unlink(missing_ok=True)  # until all of them are built again
            builds.note_let_in(self.programs)
        self.build_system.builddir = shlex.quote(str(self.programs))
        self.build_system.configuredir = shlex.quote(str(builds.SOURCES))
        self.build_system.flags_from_environ = False
        self.build_system.max_concurrency = None
        self.build_system.config_opts = [
            shlex.quote(option) for option in (*builds.anew(self.programs), *builds.options(extras["mpicc"]))
        ]
        wrapper = builds.environment(extras["family"], extras["version"], extras["prefix"])
        inside = site.let_into(self.current_partition)
        own = launch_environment.own_libraries(Path(extras["prefix"]), Settings(wrapper))
        variables = environ.added(environ.BUILD, wrapper, inside=inside, libraries=own)
        self.prebuild_cmds = environ.script(environ.BUILD, site.exported(self), variables)

    @run_after("compile")
    def note_built(self) -> None:
        if self.current_environ.extras["spack"] is None and not self.is_dry_run():
            builds.note_built(self.programs, self.made_from)

    @sanity_function
    def executables_exist(self) -> Any:
        return sn.all(sn.path_isfile(self.programs / name) for name in builds.PROGRAMS)


class MeasuredTest(rfm.RunOnlyRegressionTest):
    """Places and launches one process group of a benchmark, verifies its record, and hands metrics to ReFrame.

    A subclass says which benchmark, which case of it (`identify`), and the benchmark's own options
    (`benchmark_options`). Metrics come from `postprocess`; here is no formula.
    """

    #: Ranks, and the share of each in cores, one computing thread of `basic` on each. 0: all cores, divided evenly.
    ranks = variable(int, value=2)
    threads_per_rank = variable(int, value=0)
    #: Run although there are too few cores; the record says so.
    oversubscribe = variable(bool, value=False)
    #: Name of the benchmark's grid; a suite (ReFrame mode) sets it.
    grid = variable(str, value="smoke")
    #: Times instead of those of the grid's axes, as the benchmark reads them: 500us,8ms.
    comm_times = variable(str, value="")
    comp_times = variable(str, value="")
    #: Wall time that the process group may take; 0: no bound but the repetitions.
    budget_seconds = variable(float, value=0.0)
    #: Buffers: the same for every repetition, or in turn, so that none is found in a cache.
    cache = variable(str, value="warm")
    #: Rate of the wire, on partitions that are one.
    wire_rate = variable(str, value=WIRE_RATE)
    #: Facts about the run for the record's header: a JSON file.
    metadata_file = variable(str, value="")
    #: A folder with records of an interrupted run, or of a run's earlier sessions: what is complete there is not
    #: measured again.
    resume_from = variable(str, value="")
    #: A folder with files of sizes, each named as the case of `basic` that takes them over instead of calibrating.
    sizes_from = variable(str, value="")
    #: The share of each rank where a run has several such numbers: it is part of the case's name.
    cores_per_rank = variable(int, value=0)
    #: Which of several repeats of the same cases this is.
    repeat = variable(int, value=1)
    #: Which repeat of `basic` gives the others their sizes and references; 0: the same one.
    basic_repeat = variable(int, value=0)

    #: Name of the case's files; in the report, so that results are matched by it.
    case_stem = variable(str, value="", loggable=True)
    #: Under which the system's references of this case are found.
    reference_key = variable(str, value="", loggable=True)

    sourcesdir = None
    time_limit = "10m"
    benchmark = ""
    #: Whether it is the fixture `basic`, from which others take sizes and references.
    gives_sizes = False
    build = fixture(BuildBenchmarks, scope="environment")

    def identify(self) -> dict[str, Any]:
        """The fields of Case in which tests of this benchmark differ: configuration, collective, ..."""
        raise NotImplementedError

    def benchmark_options(self) -> list[str]:
        """The benchmark's own options."""
        raise NotImplementedError

    @property
    def measured_by_fixture(self) -> bool:
        """Whether this very case is what its fixture `basic` has measured already: then it is only judged."""
        return False

    @property
    def is_borrowed(self) -> bool:
        """Whether an earlier session has measured this, and only gives it to others here."""
        return bool(self.gives_sizes and self.basic_repeat)

    def basic_test(self) -> "MeasuredTest | None":
        """The test that measured `basic` of the identical case; None for `basic` itself."""
        return None

    def sizes_options(self) -> list[str]:
        """`basic` saves the sizes that it finds, or takes over what it is given; all others take those of basic."""
        basic = self.basic_test()
        if basic is not None:
            return ["--sizes", str(basic.staged(run_folders.SIZES))]
        given = Path(self.sizes_from) / f"{self.case.stem}{run_folders.RECORD_FILES[run_folders.SIZES]}"
        if not self.sizes_from or not given.is_file():
            return ["--save-sizes", run_folders.SIZES]
        shutil.copyfile(given, self.staged(run_folders.SIZES))
        return ["--sizes", run_folders.SIZES]

    @property
    def network(self) -> str:
        kind = self.current_partition.extras["network"]
        return f"wire:{self.wire_rate}" if kind == "wire" else kind

    @property
    def times(self) -> suites.Grid:
        """What the overlap is measured on. Raises CampaignError for a time that is none."""
        axes = (
            [suites.nanoseconds(name, text, zero=False) for text in given.split(",")] if given else []
            for name, given in (("comm_times", self.comm_times), ("comp_times", self.comp_times))
        )
        return suites.grid_with(self.grid, *axes)

    @property
    def case(self) -> Case:
        extras = self.current_environ.extras
        named = {"collective": "", **self.identify()}
        return Case(
            toolchain=extras["toolchain"],
            provider=extras["provider"],
            environment=self.current_environ.name,
            network=self.network,
            benchmark=self.benchmark,
            repeat=self.basic_repeat if self.is_borrowed else self.repeat,
            cache=self.cache,
            cores_per_rank=self.cores_per_rank,
            **named,
        )

    def staged(self, name: str) -> Path:
        return Path(self.stagedir) / name

    @property
    def computing_threads(self) -> int:
        """Of each rank, in this configuration: its share of cores, or one fewer."""
        return CONFIGURATIONS[self.case.configuration].computing_threads(self.threads_per_rank)

    @run_after("init")
    def tag_suites(self) -> None:
        self.tags = {name for name, one in suites.SUITES.items() if one.measures(self.benchmark, self.identify())}

    @run_after("setup")
    def place(self) -> None:
        """How many ranks, on how many cores each; skipped with the reason where that cannot be."""
        self.case_stem = self.case.stem
        there = known_systems.of_reframe(self.current_partition, here=self.is_local())
        placement = Placement.on(there.node, self.ranks, self.threads_per_rank, crowding=self.oversubscribe)
        self.threads_per_rank = placement.threads_per_rank
        self.skip_if(
            placement.oversubscribed and not self.oversubscribe,
            f"{self.ranks} ranks of {self.threads_per_rank} threads need {placement.cores_per_node} cores, there are "
            f"{there.node.cores}",
        )
        self.reference_key = references.key(self.case, self.times.name, self.ranks, self.threads_per_rank)
        accepted = references.path_of(self.current_system.name)
        if accepted.is_file():
            self.reference = {"$ref": str(accepted)}
        self.num_tasks = self.ranks
        self.num_cpus_per_task = self.threads_per_rank
        if self.network.startswith("wire"):
            refusal = there.why_not()
            self.skip_if(refusal is not None, refusal)
        extras = self.current_environ.extras
        self.allowed_cpus = host.list_text(there.node.all_cpus)
        request = Request(
            Path(extras["prefix"]),
            extras["version"],
            self.case.configuration,
            self.network,
            placement,
            here=there.here,
            launcher=there.launcher,
        )
        answer = launches.launch(extras["family"], request)
        if isinstance(answer, Impossible):
            self.skip(answer.reason)
        else:
            self.launch = answer
            self.shares = [host.list_text(share) for share in placement.shares if self.launch.binds]

    @run_after("setup")
    def is_there_to_borrow(self) -> None:
        lacking = self.is_borrowed and self.finished_record() is None
        self.skip_if(lacking, "the first launch of basic, whose sizes are needed, failed")

    @run_before("run")
    def prepare(self) -> None:
        """The command line: launcher, its environment, the benchmark and its options, all quoted."""
        finished = self.finished_record()
        if finished is not None:
            self.adopt(finished)
            return
        self.staged(run_folders.CASE).write_text(json.dumps(self.case.as_dict()) + "\n")
        purpose = environ.LAUNCH if self.is_local() else environ.JOB
        inside = site.let_into(self.current_partition)
        variables = self.launch_variables(purpose, inside)
        self.prerun_cmds = environ.script(purpose, [*site.exported(self), *inside], variables)
        self.job.launcher.options = list(map(shlex.quote, self.launch.launcher_options(self.build.programs)))
        if self.network.startswith("wire"):
            self.job.launcher.modifier = site.python_command()
            self.job.launcher.modifier_options = [
                "-m",
                "mpi_campaign.launching.wire",
                "--rate",
                shlex.quote(self.wire_rate),
                "--report",
                run_folders.WIRE_REPORT,
                "--",
            ]
        self.staged("metadata.json").write_text(json.dumps(self.metadata()) + "\n")
        program, *options = map(shlex.quote, self.words())
        self.executable, self.executable_opts = program, options

    def launch_variables(self, purpose: str, inside: environ.LetIn) -> dict[str, str]:
        """What a launch has beside that which passes."""
        own = launch_environment.own_libraries(Path(self.current_environ.extras["prefix"]), self.launch)
        threads = launch_environment.computing(self.computing_threads)
        return environ.added(purpose, self.launch.env, threads, inside=inside, libraries=own)

    def words(self) -> list[str]:
        """The program and its options."""
        program = str(self.build.programs / self.benchmark)
        own = ["--collective", self.case.collective, "--limit-seconds", f"{self.hung_after_seconds:.1f}"]
        return [program, *self.common_options(), *own, "--record", run_folders.RECORD, *self.benchmark_options()]

    @property
    def hung_after_seconds(self) -> float:
        """A little less than the time limit: a program that is not over by then says where each rank is, and ends."""
        limit = float(self.time_limit)
        return max(limit - 10, 0.8 * limit)

    def common_options(self) -> list[str]:
        """Options that all our benchmarks have: what the record's header says, threads, the configuration's own."""
        case = self.case
        return [
            "--toolchain",
            case.toolchain,
            "--provider",
            case.provider,
            "--configuration",
            case.configuration,
            "--network",
            case.network,
            "--threads",
            str(self.computing_threads),
            "--metadata",
            "metadata.json",
            *recording.environment(self.current_environ.extras["family"]),
            *recording.controls(self.current_environ.extras["family"]),
            *self.launch.program,
        ]

    def metadata(self) -> dict[str, Any]:
        """Provenance for the record's header."""
        extras = self.current_environ.extras
        given = Path(self.metadata_file)
        facts = json.loads(given.read_text()) if given.is_file() else {}  # gone when a run's command is typed again
        made = {name: extras[name] for name in ("prefix", "packages", "spack") if extras[name] is not None}
        progresses_in = launches.progresses_in(
            extras["family"], Path(extras["prefix"]), extras["version"], self.network
        )
        placed = {"allowed_cpus": self.allowed_cpus, "shares": self.shares}
        return {**facts, **made, **placed, "progresses_in": progresses_in, "case": self.case.as_dict()}

    def record_files(self) -> dict[str, str]:
        """What a measurement leaves: {its name here: suffix in the archive}."""
        without = set() if self.network.startswith("wire") else {run_folders.WIRE_REPORT}
        if self.basic_test() is not None:
            without.add(run_folders.SIZES)
        return {name: suffix for name, suffix in run_folders.RECORD_FILES.items() if name not in without}

    def finished_record(self) -> dict[Path, str] | None:
        """Where a complete record of this very case is to be had without measuring: {file: its name here}.

        On resuming, the interrupted run has it; where sides take turns, an earlier session has that of `basic`. None
        where it must be measured.
        """
        if self.measured_by_fixture:
            return {self.basic.staged(name): name for name in self.record_files()}
        folder = Path(self.resume_from)
        if self.resume_from and run_folders.is_complete(folder / f"{self.case.stem}.jsonl"):
            return {folder / f"{self.case.stem}{suffix}": name for name, suffix in self.record_files().items()}
        return None

    def hold_against_none(self, why: str, *names: str) -> None:
        """Take away what the case's numbers would be held against, all of it or that of these names, and say why."""
        bounds = getattr(self.reference, "data", {}).get(self.reference_key, {})
        gone = [name for name in names or tuple(bounds) if bounds.pop(name, None) is not None]
        if gone:
            getlogger().warning(f"{', '.join(gone)}: not held against the reference, {why}")

    def adopt(self, files: dict[Path, str]) -> None:
        """Instead of a measurement, copy what another one wrote: {source: name here}."""
        copies = [f"cp {shlex.quote(str(source))} {name}" for source, name in files.items()]
        self.job.launcher = getlauncher("local")()
        self.executable, self.executable_opts = copies[0], []
        self.postrun_cmds = copies[1:]

    @sanity_function
    def what_was_asked_is_what_ran(self) -> bool:
        from mpi_campaign.running import verify  # noqa: PLC0415

        extras = self.current_environ.extras
        basic = self.basic_test()
        found = verify.faults_of_file(
            self.staged(run_folders.RECORD),
            self.case,
            extras["family"],
            extras["version"],
            None if basic is None else basic.staged(run_folders.RECORD),
            self.staged(run_folders.WIRE_REPORT),
        )
        if self.job.exitcode:
            found.append(f"it ended with exit code {self.job.exitcode}")
        if found:
            raise SanityError("; ".join(found))
        return True
