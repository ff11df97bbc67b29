"""A measuring test: it places, launches and verifies one process group of a benchmark.

A benchmark's check file derives from `MeasuredTest`, which says what such a class defines by the end of which phase.

Modules that read records are imported where they are used. They load pandas and SciPy, and ReFrame goes through all
loaded modules (`inspect.stack`) for every test that it makes.
"""

import itertools
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from build import BuildBenchmarks
from case_axes import OfSession, basics_choices, own_choices
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import ReframeSyntaxError, SanityError
from reframe.core.logging import getlogger

from mpi_campaign.archive import references, run_folders
from mpi_campaign.children import environ, kernel
from mpi_campaign.libraries import launch_environment, launches, recording, registry
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.libraries.placement import Cpus, Placement, Shares, first, numbers_of
from mpi_campaign.libraries.settings import Impossible, Request
from mpi_campaign.networks import registry as networks
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.choice import Asked, Where, from_text
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, BY_SESSION, points_name, suites_of
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import OWN
from mpi_campaign.running import handed_sizes
from mpi_campaign.systems import known_systems, site
from mpi_campaign.this_machine import host
from postprocess.families.axes import library_settings
from postprocess.families.family import Value, unit_of


class MeasuredTest(rfm.RunOnlyRegressionTest, OfSession):
    """Places and launches one process group of a benchmark, verifies its record, and hands metrics to ReFrame.

    What a subclass defines, by the end of each phase; where something is missing, the test says so and is not made:

    in its body   `benchmark`, a name of BENCHMARKS; `descr`; `gives_sizes = True` if it is the fixture `basic`; as base
                  class the parameters of `case_axes`: `basics_parameters` of the fixture, `own_parameters` of others
    init          of a benchmark that takes its sizes from `basic`, the fixture `basic`
    setup         nothing; what only a library or a machine can refuse is skipped here
    run           `benchmark_options`, if its options that tell no axis are not the usual ones; `words` or `prepare`, if
                  it is no program of ours that is launched once. At the end of the run the record is in
                  `run_folders.RECORD`
    sanity        nothing: the record is judged by `running.verify`, or by what overrides `verify_record`
    performance   nothing: the numbers are those of its family in `postprocess.families.registry`

    Here is no formula.
    """

    #: Ranks on all nodes together, and the cores of each rank; a thread of `basic` computes on each core. 0: all cores,
    #: divided evenly. The number of nodes is an axis, `nodes`.
    ranks = variable(int, value=2)
    threads_per_rank = variable(int, value=0)
    #: Run although there are too few cores; the record says so.
    oversubscribe = variable(bool, value=False)
    #: Name of the benchmark's grid; a suite (ReFrame mode) sets it.
    grid = variable(str, value="smoke")
    #: Values of axes of points instead of the grid's: a text of `choice.as_text`, such as comm_times:500us,8ms.
    points = variable(str, value="")
    #: Wall time of a case of nbc_overlap, from which that of others follows; 0: only the repetitions bound it.
    budget_seconds = variable(float, value=0.0)
    #: Who set the budget: the name of a suite, then the launches of a case share at most what makes sense for its
    #: benchmark; or `user`.
    budget_from = variable(str, value="user")
    #: Rate of the network, on partitions whose network has one. Empty: the usual rate.
    wire_rate = variable(str, value="")
    #: Facts about the run for the record's header: a JSON file.
    metadata_file = variable(str, value="")
    #: A folder with records of an interrupted run. Cases with a complete record there are not measured again.
    resume_from = variable(str, value="")
    #: A folder with files of sizes. The case of `basic` with the name of a file takes them over instead of calibrating.
    #: Sizes that it finds are put there for the libraries that measure the case after it.
    sizes_from = variable(str, value="")
    #: Whose sizes, as the campaign's option; `own`: no library takes over those of another.
    calibrate = variable(str, value="")
    #: A file with the stems of the cases to measure, one a line. Others are skipped. Empty, or no file: all.
    planned = variable(str, value="")
    #: The number of the repeat of the same cases, from 1.
    repeat = variable(int, value=1)

    #: Name of the case's files. The report has it too, so that results are matched by it.
    case_stem = variable(str, value="", loggable=True)
    #: The key of this case in the system's references.
    reference_key = variable(str, value="", loggable=True)

    valid_systems = ["+mpi"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    time_limit = "10m"
    benchmark = ""
    #: Whether the test is the fixture `basic`, from which others take sizes and references.
    gives_sizes = False
    build = fixture(BuildBenchmarks, scope="environment")

    @classmethod
    def loggable_attrs(cls) -> list[tuple[str, str | None]]:
        """Without `variables`, an old name of `env_vars`: whoever reads it is looked for through the whole stack, and
        ReFrame reads it for each number that it logs."""
        of_reframe: Any = type(cls)
        return [(name, shown) for name, shown in of_reframe.loggable_attrs(cls) if name != "variables"]

    @property
    def asked_configuration(self) -> str:
        return "basic" if self.gives_sizes else str(self.configuration)

    def identify(self) -> dict[str, Value]:
        """The values of the axes that are parameters of this test or of its fixture."""
        if self.gives_sizes:
            return {choice.name: getattr(self, choice.name) for choice in basics_choices(self.benchmark)}
        values = {choice.name: getattr(self, choice.name) for choice in own_choices(self.benchmark)}
        # Before set-up, the fixture only has its parameters.
        return {
            **values,
            **{choice.name: getattr(self.basic, choice.name) for choice in basics_choices(self.benchmark)},
        }

    def axis_options(self) -> list[str]:
        """The benchmark's options for the values of the axes."""
        choices, parameters = BENCHMARKS[self.benchmark].choices, self.case.parameters
        return [word for choice in choices for word in choice.words(parameters[choice.name])]

    def benchmark_options(self) -> list[str]:
        """The benchmark's other options."""
        return ["--grid", self.grid, *self.point_options(), *self.settle_options(), *self.budget_options()]

    def point_options(self) -> list[str]:
        """The benchmark's options for values of its points that were asked for instead of the grid's."""
        return BENCHMARKS[self.benchmark].point_words(self.asked_points, self.case.parameters)

    @property
    def asked_points(self) -> Asked:
        return from_text(self.points)

    @property
    def case_seconds(self) -> float:
        """Wall time of the process group; 0: only the repetitions bound it."""
        if not self.budget_seconds:
            return 0.0
        benchmark, suite = BENCHMARKS[self.benchmark], suites.SUITES.get(self.budget_from)
        launches = benchmark.launches(0, suite.launches if suite is not None else 1)
        grid, of_suite = (self.grid, self.asked_points), suite is not None
        return benchmark.seconds(self.budget_seconds, *grid, self.case.parameters, launches, of_suite=of_suite)

    def budget_options(self) -> list[str]:
        return ["--budget-seconds", f"{self.case_seconds:.1f}"] if self.case_seconds else []

    def settle_options(self) -> list[str]:
        """Over a link with a rate, the time in which the bucket of its rate limit fills again."""
        settle_ns = networks.of(self.network).settle_ns
        return ["--settle", f"{settle_ns(self.rate)}ns"] if settle_ns is not None else []

    def start_options(self) -> list[str]:
        """Ranks that share cores start from a barrier: some of them would be late at every moment that they agree
        on."""
        return ["--start", "barrier"] if self.placement.oversubscribed else []

    @property
    def is_basic(self) -> bool:
        """Whether the test's case is the one that `basic` of its benchmark measures."""
        choices = own_choices(self.benchmark)
        return self.asked_configuration == "basic" and all(
            getattr(self, choice.name) == choice.usual for choice in choices
        )

    @property
    def measured_by_fixture(self) -> bool:
        """Whether the fixture `basic` has measured the test's case already: then the test only judges it."""
        return bool(BENCHMARKS[self.benchmark].fixture) and not self.gives_sizes and self.is_basic

    def basic_test(self) -> "MeasuredTest | None":
        """The test that measured `basic` of the identical case; None in `basic` itself."""
        return None if self.measured_by_fixture else getattr(self, "basic", None)

    def sizes_options(self) -> list[str]:
        """Options for sizes. `basic` saves the sizes that it finds, or takes given ones; others take its sizes."""
        basic = self.basic_test()
        if basic is not None:
            return ["--sizes", str(basic.staged(run_folders.SIZES))]
        given = None
        if self.sizes_from:
            given = handed_sizes.given(Path(self.sizes_from), self.case.stem, own=self.finds_own_sizes)
        if given is None:
            return ["--save-sizes", run_folders.SIZES]
        shutil.copyfile(given, self.staged(run_folders.SIZES))
        return ["--sizes", run_folders.SIZES]

    @property
    def finds_own_sizes(self) -> bool:
        """Whether it takes over no sizes that another library has found."""
        return not self.sizes_from or self.calibrate == OWN

    @run_before("sanity")
    def hand_sizes_on(self) -> None:
        if self.gives_sizes:
            found = self.staged(run_folders.SIZES)
            handed_sizes.hand_on(Path(self.sizes_from), self.case.stem, found, own=self.finds_own_sizes)

    @property
    def network(self) -> str:
        return networks.with_rate(self.current_partition.extras["network"], self.wire_rate)

    @property
    def rate(self) -> str:
        """The rate of the network; empty where it has none."""
        return networks.rate(self.network)

    @property
    def case(self) -> Case:
        extras = self.current_environ.extras
        of_session = {name: getattr(self, name) for name in BY_SESSION}
        return Case(
            toolchain=extras["toolchain"],
            provider=extras["provider"],
            environment=self.current_environ.name,
            network=self.network,
            configuration=self.asked_configuration,
            benchmark=self.benchmark,
            parameters={**of_session, **self.identify()},
            repeat=self.repeat,
        )

    def staged(self, name: str) -> Path:
        return Path(self.stagedir) / name

    @property
    def computing_threads(self) -> int:
        """Computing threads of each rank in this configuration: its cores, or one fewer."""
        return CONFIGURATIONS[self.case.configuration].computing_threads(self.threads_per_rank)

    @run_after("init")
    def refuse_incomplete_subclass(self) -> None:
        """Raises ReframeSyntaxError, a line with the legal values, if a subclass lacks what it must define by now."""
        name = type(self).__name__
        if self.benchmark not in BENCHMARKS:
            raise ReframeSyntaxError(f"{name}: benchmark '{self.benchmark}' is none of {', '.join(BENCHMARKS)}")
        choices = basics_choices(self.benchmark) if self.gives_sizes else own_choices(self.benchmark)
        needed = [*([] if self.gives_sizes else ["configuration"]), *(choice.name for choice in choices)]
        lacking = [name for name in needed if not hasattr(self, name)]
        if lacking:
            made_by = "basics_parameters" if self.gives_sizes else "own_parameters"
            raise ReframeSyntaxError(
                f"{name}: no {', '.join(lacking)}: derive it from case_axes.{made_by}('{self.benchmark}')"
            )
        if BENCHMARKS[self.benchmark].basic_of and not self.gives_sizes and not hasattr(self, "basic"):
            raise ReframeSyntaxError(f"{name}: no basic: define that fixture, or `gives_sizes = True` if it is one")

    @run_after("init")
    def tag_suites(self) -> None:
        self.tags = suites_of(self.benchmark, self.asked_configuration, self.identify())

    @run_after("init")
    def skip_what_no_library_can(self) -> None:
        self.skip_impossible(Where(self.asked_configuration, ""))

    @run_after("setup")
    def skip_what_is_not_planned(self) -> None:
        planned = Path(self.planned)
        if self.planned and planned.is_file():
            self.skip_if(self.case.stem not in planned.read_text().split(), "the run does not measure it")

    @run_after("setup")
    def skip_what_this_library_cannot(self) -> None:
        self.skip_impossible(Where(self.asked_configuration, self.case.toolchain, self.build.programs))

    def skip_impossible(self, where: Where) -> None:
        """Skip the test where its case cannot have the value of an axis."""
        values = self.identify()
        for choice in BENCHMARKS[self.benchmark].choices:
            refusal = choice.impossible(values[choice.name], where) if choice.name in values else None
            self.skip_if(refusal is not None, refusal.reason if refusal is not None else None)

    @run_after("setup")
    def place(self) -> None:
        """Place the ranks on cores. Skips the test, with the reason, where that is impossible."""
        self.case_stem = self.case.stem
        partition = known_systems.of_reframe(self.current_partition, here=self.is_local())
        self.skip_if(
            self.ranks % self.nodes != 0, f"{self.ranks} ranks cannot be the same number on each of {self.nodes} nodes"
        )
        numbers = numbers_of(self.node_set)
        node = partition.shape(numbers or first(self.nodes))
        placement = Placement.on(
            node,
            self.ranks // self.nodes,
            self.threads_per_rank,
            nodes=self.nodes,
            crowding=self.oversubscribe,
            chosen=numbers,
        )
        self.threads_per_rank = placement.threads_per_rank
        self.skip_if(
            placement.oversubscribed and not self.oversubscribe,
            f"{placement.ranks_per_node} ranks of {self.threads_per_rank} threads need {placement.cores_per_node} "
            f"cores on each node, there are {node.cores}",
        )
        points = points_name(self.benchmark, self.grid, self.asked_points)
        self.reference_key = references.key(self.case, points, self.ranks, self.threads_per_rank)
        accepted = references.path_of(self.current_system.name)
        if accepted.is_file():
            self.reference = {"$ref": str(accepted)}
        self.num_tasks = self.ranks
        self.num_tasks_per_node = placement.ranks_per_node if self.nodes > 1 else None
        hosts = partition.hosts(placement.numbers)
        # On hosts in hand, the campaign itself places the ranks, and a batch system's launcher counts no CPUs.
        self.num_cpus_per_task = self.threads_per_rank if hosts is None else None
        refusal = partition.why_not()
        self.skip_if(refusal is not None, refusal)
        extras = self.current_environ.extras
        self.node_shape = node
        in_hand = partition.in_hand
        self.host_names = in_hand.names_of(placement.numbers) if in_hand is not None else ()
        request = Request(
            Path(extras["prefix"]),
            extras["version"],
            self.case.configuration,
            self.network,
            placement,
            here=partition.here,
            launcher=partition.launcher,
            hosts=hosts,
            axes=library_settings(self.case.parameters),
        )
        entry = registry.library(extras["family"])
        copies_once = request.network == "shm" and kernel.COPY not in kernel.refused()
        self.library_facts = {
            "eager_limit_variable": entry.eager_limit(request),
            "fragment_variables": entry.fragments(request),
            "single_copy_by": entry.single_copy_by if copies_once else "",
        }
        answer = launches.launch(extras["family"], request)
        if isinstance(answer, Impossible):
            self.skip(answer.reason)
        else:
            self.launch = answer
            self.placement = placement

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
        if around := networks.of(self.network).launcher:
            self.job.launcher.modifier = site.python_command()
            self.job.launcher.modifier_options = [
                "-m",
                f"mpi_campaign.launching.{around}",
                "--rate",
                shlex.quote(self.rate),
                "--report",
                run_folders.WIRE_REPORT,
                "--",
            ]
        self.staged("metadata.json").write_text(json.dumps(self.metadata()) + "\n")
        program, *options = map(shlex.quote, self.words())
        self.executable, self.executable_opts = program, options

    def launch_variables(self, purpose: str, inside: environ.Requested) -> dict[str, str]:
        """The variables of a launch beside those that pass."""
        libraries = launch_environment.own_libraries(Path(self.current_environ.extras["prefix"]), self.launch)
        threads = launch_environment.computing(self.computing_threads)
        return environ.added(purpose, self.launch.env, threads, inside=inside, libraries=libraries)

    def words(self) -> list[str]:
        """The program and its options."""
        program = str(self.build.programs / self.benchmark)
        record_options = ["--limit-seconds", f"{self.hung_after_seconds:.1f}", "--record", run_folders.RECORD]
        return [program, *self.common_options(), *self.axis_options(), *record_options, *self.benchmark_options()]

    @property
    def hung_after_seconds(self) -> float:
        """A little less than the time limit. A program that still runs then says where each rank is, and ends."""
        limit = float(self.time_limit)
        return max(limit - 10, 0.8 * limit)

    def common_options(self) -> list[str]:
        """Options of all our benchmarks: facts for the record's header, threads, options of the configuration."""
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
            *recording.environment(self.current_environ.extras["family"], site.let_into(self.current_partition)),
            *recording.controls(self.current_environ.extras["family"]),
            *(["--oversubscribed"] if self.node_shape.shared else []),
            *self.launch.program,
        ]

    def metadata(self) -> dict[str, Any]:
        """Provenance for the record's header."""
        extras = self.current_environ.extras
        given = Path(self.metadata_file)
        facts = (
            json.loads(given.read_text()) if given.is_file() else {}
        )  # the file is gone when a person types a run's command again
        made = {name: extras[name] for name in ("prefix", "packages", "spack") if extras[name] is not None}
        progresses_in = launches.progresses_in(
            extras["family"], Path(extras["prefix"]), extras["version"], self.network
        )
        of_library = {name: fact for name, fact in self.library_facts.items() if fact}
        return {
            **facts,
            **made,
            **self.placed(),
            **of_library,
            "progresses_in": progresses_in,
            "case": self.case.as_dict(),
        }

    def placed(self) -> dict[str, Any]:
        """The number of ranks, the CPUs that they may use, those of each rank of a node, and the hosts where they are
        nodes in hand. Where hosts differ in their CPUs, `by_host` has both for each host."""

        def words(cpus: Cpus, shares: Shares) -> dict[str, Any]:
            each = [host.list_text(share) for share in shares if self.launch.binds]
            return {"allowed_cpus": host.list_text(itertools.chain(*cpus)), "shares": each}

        shares_of = dict(self.placement.shares_by_host)
        by_host = {name: words(cpus, shares_of.get(name, ())) for name, cpus in self.node_shape.by_host}
        common = {"ranks": self.ranks, **words(self.node_shape.cpus, self.placement.shares)}
        if self.host_names:
            common["hosts"] = list(self.host_names)
        return {**common, "by_host": by_host} if by_host else common

    def record_files(self) -> dict[str, str]:
        """The files that a measurement leaves: {name here: suffix in the archive}."""
        without = set() if networks.of(self.network).launcher else {run_folders.WIRE_REPORT}
        if self.basic_test() is not None:
            without.add(run_folders.SIZES)
        return {name: suffix for name, suffix in run_folders.RECORD_FILES.items() if name not in without}

    def finished_record(self) -> dict[Path, str] | None:
        """The files of an existing complete record of the case: {file: its name here}; None where it must be measured.

        When a run is resumed, the interrupted run may have the record.
        """
        if self.measured_by_fixture:
            return {self.basic.staged(name): name for name in self.record_files()}
        folder = Path(self.resume_from)
        if self.resume_from and run_folders.is_complete(folder / f"{self.case.stem}.jsonl"):
            files = {folder / f"{self.case.stem}{suffix}": name for name, suffix in self.record_files().items()}
            return {file: name for file, name in files.items() if file.is_file()}  # few families have a file of sizes
        return None

    def remove_references(self, reason: str, *names: str) -> None:
        """Remove references of the case, and log the reason. names: of the metrics; by default all."""
        bounds = getattr(self.reference, "data", {}).get(self.reference_key, {})
        removed = [name for name in names or tuple(bounds) if bounds.pop(name, None) is not None]
        if removed:
            getlogger().warning(f"{', '.join(removed)}: not held against the reference, {reason}")

    def adopt(self, files: dict[Path, str]) -> None:
        """Copy the files of another measurement instead of measuring. files: {source: name here}."""
        copies = [f"cp {shlex.quote(str(source))} {name}" for source, name in files.items()]
        self.start_without_launcher(copies[0], [])
        self.postrun_cmds = copies[1:]

    def start_without_launcher(self, executable: str, options: list[str]) -> None:
        """Let the job start one process without the partition's launcher, rather than ranks."""
        self.job.launcher = getlauncher("local")()
        self.executable, self.executable_opts = executable, options

    def launcher_words(self) -> str:
        """The partition's launcher with its options, as the job would start it."""
        self.job.num_tasks = self.num_tasks
        self.job.num_cpus_per_task = self.num_cpus_per_task
        words: str = self.job.launcher.run_command(self.job)
        return words

    @sanity_function
    def verify_record(self) -> bool:
        from mpi_campaign.running import verify  # noqa: PLC0415

        extras = self.current_environ.extras
        basic = self.basic_test()
        faults = verify.faults_of_file(
            self.staged(run_folders.RECORD),
            self.case,
            extras["family"],
            extras["version"],
            None if basic is None else basic.staged(run_folders.RECORD),
            self.staged(run_folders.WIRE_REPORT),
        )
        if self.job.exitcode:
            faults.append(f"it ended with exit code {self.job.exitcode}")
        if faults:
            raise SanityError("; ".join(faults))
        return True

    @run_before("performance")
    def metrics(self) -> None:
        """The metrics that `postprocess` computes from the record, as performance variables."""
        from postprocess.families import registry as families  # noqa: PLC0415

        family = families.of_benchmark(self.benchmark)
        if self.is_dry_run() or family.numbers is None:
            return
        basic = self.basic_test()
        if basic is not None and basic.benchmark not in family.benchmarks:
            basic = None  # it gives its sizes, and is not compared
        numbers = family.numbers(
            families.load(self.staged(run_folders.RECORD), family),
            None if basic is None else families.load(basic.staged(run_folders.RECORD), family),
        )
        of_sizes = [bound.metric for bound in family.bounds if bound.of_sizes]
        if of_sizes and not references.is_of_sizes(self.current_system.name, self.reference_key, numbers.sizes):
            self.remove_references("which is of other sizes", *of_sizes)
        if numbers.doubt:
            self.remove_references(numbers.doubt)
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit_of(name)) for name, value in numbers.values.items()
        }
