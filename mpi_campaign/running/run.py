"""`campaign run`: resolve, plan, measure through ReFrame, archive, report."""

import json
import shutil
import signal
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mpi_campaign import __version__, files
from mpi_campaign.archive import provenance, run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import environ
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, CampaignError, explained
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.networks import registry as networks
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks import point_values
from mpi_campaign.planning.benchmarks.benchmark import Benchmark
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, BY_SESSION, loading
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.checks import check
from mpi_campaign.planning.making import make_plan
from mpi_campaign.planning.options import MANIFEST_VERSION, Options, axes_of, benchmarks_of, configurations_of
from mpi_campaign.planning.placing import choose_network, place
from mpi_campaign.planning.plan import Plan, Round
from mpi_campaign.processes import guarded, signals
from mpi_campaign.processes.progress import Progress, duration
from mpi_campaign.running import batch, node_probe, reframe_session, same_sizes, sessions, verify
from mpi_campaign.running.case_results import build_error, failure_lines, results
from mpi_campaign.running.job import Description
from mpi_campaign.running.other_load import OtherLoad
from mpi_campaign.running.reframe_session import Event, Outcome, Session
from mpi_campaign.running.session_progress import Watch
from mpi_campaign.running.sessions import Order
from mpi_campaign.systems import allocation, known_systems, site
from mpi_campaign.systems.known_systems import Partition
from mpi_campaign.this_machine import host, machine
from mpi_campaign.toolchains import builds, peers, resolving
from mpi_campaign.toolchains.resolving import Toolchain
from mpi_campaign.toolchains.spack import installed, matrix
from postprocess.drawing.text import plural
from postprocess.families.family import Value
from postprocess.records import host_limits

STEPS = 6
SETUP_STEPS = 3

Measured = tuple[list[Outcome], bool, Mapping[str, str]]
"""How the tests of all sessions ended, whether an interrupt ended them, and why cases were cut off, by stem."""


class Campaign:
    """One invocation of `campaign run`. With `resume`, it goes on with that interrupted run."""

    def __init__(self, options: Options, output: Path, words: list[str], resume: RunFolder | None = None) -> None:
        self.options = options
        self.output = output
        self.words = words
        self.resume = resume
        self.progress = Progress(STEPS)
        self.sizes_of = run_folders.find(options.sizes_of, output) if options.sizes_of else None
        self.later = ""
        self.request: batch.Request | None = None
        self.unchecked: set[str] = set()
        self.not_had: dict[str, CampaignError] = {}

    def run(self, *, dry_run: bool) -> int:
        """Do the whole run. Returns the exit code. Raises CampaignError where nothing can run."""
        check(self.options)
        environ.let(self.options.environment, {})
        self.progress.step("looking at this machine")
        load = OtherLoad()
        compiler = machine.compiler()
        placed = place(self.options)
        self._say(
            f"{machine.cpu_model()}, {machine.cores().physical} cores; {_in_words(placed)} computing threads; "
            f"{compiler}"
        )
        network, notes = choose_network(self.options)
        partition = self._partition(network)
        limited = self._look_at_limits(partition, placed)
        self.progress.step("finding the toolchains")
        resolved = self._resolve()
        peers.provide(list(benchmarks_of(self.options)), resolved, self._say)
        environ.let(self.options.environment, partition.let_in())
        self._say(f"{', '.join(toolchain.toolchain for toolchain in resolved)}; network {network}")
        for line in environ.summary(environ.kept_out(), environ.let_in()):
            self._say(line)
        plan = make_plan(self.options, resolved, network, *placed, built=False)
        notes += plan.skips()
        notes += filter(None, [plan.too_short()])
        notes += load.notes() if partition.here else []
        for note in notes:
            self._say(note)
        notes = [*limited, *self._skipped(), *notes]
        if dry_run:
            with tempfile.TemporaryDirectory() as scratch:
                return self._dry_run(run_folders.start(Path(scratch), self.options.system), plan)
        folder = self.resume or run_folders.start(self.output, self.options.system)
        if not self.resume and (later := run_folders.later_than(folder)):
            self.later = later
            notes.append(f"the clock was set back: run {later} is of a later time than now, and stays the newest one")
            self._say(notes[-1])
        try:
            with guarded.alone(self._say):
                if folder.archived.is_dir():
                    raise CampaignError(
                        f"run '{folder.run}' has been completed meanwhile: there is nothing to go on with"
                    )
                with run_folders.growing(folder):
                    return self._measure(folder, plan, resolved, notes)
        except KeyboardInterrupt:  # a second interrupt, while the results of the first were archived
            if not run_folders.has_manifest(folder.path):
                raise
            self.progress.line(f"interrupted, what was measured is kept: {run_folders.resume_words(folder)}")
            return EXIT_INTERRUPTED
        except OSError as error:
            trouble = f"{error.filename2 or error.filename or folder.path}: {explained(error)}"
            if not run_folders.has_manifest(folder.path):
                shutil.rmtree(folder.session, ignore_errors=True)
                raise CampaignError(f"{trouble}; nothing was measured: mend that, then start again") from error
            self._say(f"{trouble}; what was measured is kept: mend that, then {run_folders.resume_words(folder)}")
            print(f"run: {folder.path}")
            return EXIT_FAILED

    def fetch(self) -> None:
        """Fetch what a run needs from a network, and nothing else. Raises CampaignError."""
        check(self.options)
        peers.provide(list(benchmarks_of(self.options)), self._resolve(), self._say)

    def _look_at_limits(self, partition: Partition, placed: Sequence[Placement]) -> list[str]:
        """Say what limits launches: here, this machine and the job that this process is in; elsewhere the batch system.

        Returns notes for the manifest. Raises CampaignError where the batch system does not give what is asked for, or
        there is none.
        """
        if not partition.here:
            self._request(partition.network)
            return []
        batch.refuse_options_of_jobs(self.options)
        allocated = allocation.finding()
        if allocated:
            self._say(f"{allocated.subject}: {allocated.seen}")
        limited = _limits(placed)
        for note in limited:
            self._say(note)
        return limited

    def build(self) -> int:
        """Find the toolchains and build the benchmarks with them. Measures nothing. Returns the exit code.

        Raises CampaignError where nothing can be built.
        """
        self.progress = Progress(SETUP_STEPS)
        check(self.options)
        environ.let(self.options.environment, {})
        self.progress.step("looking at this machine")
        self._say(str(machine.compiler()))
        self.progress.step("finding the toolchains")
        resolved = self._resolve()
        peers.provide(list(benchmarks_of(self.options)), resolved, self._say)
        network, _notes = choose_network(self.options)
        plan = make_plan(self.options, resolved, network, *place(self.options), built=False)
        self.progress.step("building the benchmarks")
        with tempfile.TemporaryDirectory() as scratch, guarded.alone(self._say):
            folder = run_folders.start(Path(scratch), self.options.system)
            watch = Watch(self.progress, plan, folder, on_end=lambda: None)
            try:
                session = self._build(folder, plan, watch, resolved)
                failed = [
                    outcome
                    for outcome in reframe_session.outcomes(folder.session / run_folders.REPORT)
                    if outcome.failed
                ]
                for build in failed:
                    self.progress.line(f"FAIL {build.environment}: {build_error(build)}")
            finally:
                shutil.rmtree(folder.session, ignore_errors=True)
        if session.interrupted:
            return EXIT_INTERRUPTED
        broken = self._broken(session, failed)
        return EXIT_FAILED if failed or broken or self.not_had else EXIT_GOOD

    def _resolve(self) -> list[Toolchain]:
        options = self.options
        if options.provider == "spack":
            began = time.monotonic()
            beside = peers.packages_of(list(benchmarks_of(options)))
            return resolving.resolve_spack(
                options.toolchains,
                options.system,
                beside,
                self._say,
                lambda: self.progress.status(f"      concretizing, {duration(time.monotonic() - began)}"),
            )
        resolved: dict[str, Toolchain] = {}  # by environment: `mpich@5.0` and `mpich@5.0.2` may be the same one
        names: list[str] = []
        for text in options.toolchains or suites.SUITES[options.suite].toolchains:
            spec = resolving.parse(text)
            try:
                found = resolving.resolve(spec, self._say)
            except CampaignError as error:
                self.not_had[text] = error
                continue
            if (other := resolved.setdefault(found.environment, found)) != found:
                raise CampaignError(f"{other.toolchain} and {found.toolchain} have the same name in ReFrame: two runs")
            names.append(text if spec.prefix else found.toolchain)
        if self.not_had and (self.resume or not resolved):  # what was begun with a library does not end without it
            raise next(iter(self.not_had.values()))
        for line in self._skipped():
            self._say(line)
        self.options = replace(options, toolchains=tuple(dict.fromkeys(names)))
        return list(resolved.values())

    def _skipped(self) -> list[str]:
        return [f"skipped {text}: {str(error).removeprefix(text).lstrip(': ')}" for text, error in self.not_had.items()]

    def _say(self, text: str) -> None:
        self.progress.line(f"      {text}")

    def _session(
        self,
        folder: RunFolder,
        plan: Plan,
        environments: Iterable[str],
        *,
        files: Iterable[str],
        tests: str,
        policy: str,
        place: Path | None = None,
        network: str = "",
        **given: dict[str, str],
    ) -> list[str]:
        """ReFrame's command line, without the option that says what to do with the tests.

        place: the folder of a job in which it is carried out; by default it is carried out here.
        network: of its tests; by default the plan's.
        """
        in_job = {site.IN_JOB: "1"} if place else {}
        return reframe_session.command(
            settings=known_systems.SYSTEMS / self.options.system / "settings.py",
            folder=place or folder.session,
            partition=f"{self.options.system}:{self._partition(network or plan.network).name}",
            files=files,
            tests=tests,
            environments=list(environments),
            mode=self.options.suite,
            policy=policy,
            loading={**loading(self.options.axes), **in_job},
            **given,
        )

    def _build(self, folder: RunFolder, plan: Plan, watch: Watch, resolved: Sequence[Toolchain]) -> Session:
        """Do all builds, several at once, before anything is measured.

        A failed build of our benchmarks is reported with its cases. If Spack could not build another benchmark, this
        prints why, since our own build is good without it.
        """
        environments = dict.fromkeys(case.environment for case in plan.to_measure)
        words = [
            *self._session(
                folder, plan, environments, files=["build_benchmarks"], tests="^build_benchmarks", policy="async"
            ),
            "--run",
        ]
        by_spack = [(toolchain.toolchain, toolchain.spack) for toolchain in resolved if toolchain.spack is not None]
        before = {name: installed.failed(build) for name, build in by_spack}
        session = reframe_session.run(words, watch.on_event, watch.on_tick)
        for name, build in by_spack:
            for package in installed.failed(build):
                if package not in before[name]:
                    self._say(f"{name}: {installed.why_lacking(build, package)}")
        return session

    def _values(self, benchmark: Benchmark, axis: str, cases: Iterable[Case]) -> list[Value]:
        """The values of an axis that the cases have, in the order in which the run measures them."""
        planned = {case.parameters[axis] for case in cases}
        return [value for value in axes_of(self.options, benchmark)[axis] if value in planned]

    def _patterns(self, benchmark: Benchmark, to_measure: Sequence[Case]) -> list[str]:
        """Patterns of the display names of the ReFrame tests of these cases, one for the configurations that are
        measured with the same values of the axes.

        Configurations of which every case is skipped are left out: ReFrame would measure their fixtures first.
        """
        names = [choice.name for choice in benchmark.choices if choice.legal and not choice.by_session]
        together: dict[tuple[tuple[Value, ...], ...], list[str]] = {}
        for configuration in configurations_of(self.options, benchmark):
            cases = [case for case in to_measure if case.configuration == configuration]
            if cases:
                values = tuple(tuple(self._values(benchmark, name, cases)) for name in names)
                together.setdefault(values, []).append(configuration)
        sides = [
            {"configuration": configurations, **dict(zip(names, values, strict=True))}
            for values, configurations in together.items()
        ]
        return [reframe_session.pattern(benchmark.test, side) for side in sides]

    def _command(
        self, folder: RunFolder, plan: Plan, turn: Round | None = None, place: Path | None = None
    ) -> list[str]:
        """The command line that measures a round of the plan, by default the first. place: as of `_session`."""
        turn = turn or plan.rounds[0]
        variables = {
            "ranks": str(plan.placement_of(turn).ranks),
            "threads_per_rank": str(plan.placement_of(turn).threads_per_rank),
            "budget_seconds": f"{plan.case_budget_seconds:.1f}",
            "budget_from": "suite" if plan.has_suites_budget else "user",
            "enough_launches": str(plan.enough_launches).lower(),
            "time_limit": f"{plan.case_limit_seconds:.0f}s",
            "metadata_file": str(folder.session / "metadata.json"),
        }
        taken_over = self.resume or self.options.interleave
        given_sizes = self.options.sizes_of or self.resume or not plan.begins(turn)
        unusual = {
            "points": point_values.as_text(self.options.points),
            "wire_rate": networks.rate(turn.network),
            "oversubscribe": "yes" * self.options.oversubscribe,
            "peer_prefix": ":".join(self.options.peer_prefixes),
            "resume_from": str(folder.partial / "records") if taken_over else "",
            "repeat": str(turn.repeat) if turn.repeat > 1 else "",
            "basic_repeat": str(turn.basic_repeat or ""),
            "sizes_from": str(folder.session / same_sizes.FOLDER) if given_sizes else "",
        }
        variables |= {name: value for name, value in unusual.items() if value}
        variables |= plan.grid.times_other_than(suites.SUITES[self.options.suite].grid)
        for (
            name,
            choice,
        ) in BY_SESSION.items():  # an axis with a single value per run is always set, even to its usual value
            if not choice.several or turn.axes[name] != choice.usual:
                variables[name] = str(turn.axes[name])
        files, tests, parameters = [], [], {}
        for name, benchmark in benchmarks_of(self.options).items():
            to_measure = [
                case
                for case in plan.cases
                if case.benchmark == name and case.stem not in plan.skipped and turn.has(case)
            ]
            if not to_measure:
                continue
            for choice in benchmark.choices:
                # Where any value is legal, ReFrame makes tests of those asked for.
                if not choice.by_session and not choice.legal:
                    values = self._values(benchmark, choice.name, to_measure)
                    if values != [choice.usual]:
                        parameters[f"{benchmark.test}.{choice.name}"] = ",".join(map(str, values))
            files.append(benchmark.file)
            tests += self._patterns(benchmark, to_measure)
        return self._session(
            folder,
            plan,
            turn.environments,
            files=dict.fromkeys(files),
            tests="|".join(tests),
            policy="serial",
            place=place,
            network=turn.network,
            variables=variables,
            parameters=parameters,
        )

    def _dry_run(self, folder: RunFolder, plan: Plan) -> int:
        jobs: list[batch.Job] = []
        if self._partition(plan.network).here:
            words = [*self._command(folder, plan), "--dry-run"]
        else:
            jobs, _ = self._describe_jobs(folder, plan)
            request = self._request(plan.network)
            words = [*batch.command(folder, self.options.system, request, self.options.suite), "--dry-run"]
        self._say(reframe_session.typed(words))
        session = reframe_session.run(words, lambda _event: None, lambda: None)
        script = batch.script_of(folder, jobs[0].number) if jobs else ""
        shutil.rmtree(folder.session)
        if session.interrupted:
            return EXIT_INTERRUPTED
        for case in plan.cases:
            reason = plan.skipped.get(case.stem)
            self._say(f"skip {case.label}: {reason}" if reason else f"run  {case.label}")
        if session.exit_code != 0:
            raise CampaignError(f"ReFrame's dry run ended with {session.exit_code}: {session.complaint}")
        if jobs:
            for line in batch.in_words(request, jobs):
                self._say(line)
            self.progress.line(f"the first job script:\n{script}")
        launches, expected = len(plan.to_measure), plan.expected_in_words
        time = f" in {expected}" if expected else ""
        self._say(f"dry run: {plural(launches, 'case')} would be measured{time}; nothing was")
        return EXIT_GOOD

    def _measure(self, folder: RunFolder, plan: Plan, resolved: list[Toolchain], notes: list[str]) -> int:
        manifest = self._manifest(folder, plan, resolved, notes)
        manifest["cases"] = list(results(folder, plan, []))
        run_folders.write_manifest(folder, manifest)
        keep_sources(folder, resolved)
        folder.session.mkdir(parents=True, exist_ok=True)  # missing where a run of another clone is resumed
        facts = {name: manifest[name] for name in ("run", "system", "suite", "campaign", "environment")}
        files.write_atomically(folder.session / "metadata.json", json.dumps(facts) + "\n")
        self._look_at_nodes(folder, plan, manifest)
        watch = Watch(self.progress, plan, folder, on_end=lambda: run_folders.harvest(folder))
        self.progress.step("building the benchmarks")
        if _all_built(resolved):
            self._say("nothing has changed since they were built")
        else:
            build = self._build(folder, plan, watch, resolved)
            broken = self._broken(build, reframe_session.outcomes(folder.session / run_folders.REPORT))
            if build.interrupted or broken:
                manifest["cases"] = list(results(folder, plan, [], cut_off=_all_of(plan, broken)))
                return self._close(folder, manifest, interrupted=build.interrupted)
        plan = self._plan_again(folder, plan, resolved, manifest)
        watch = Watch(self.progress, plan, folder, on_end=lambda: run_folders.harvest(folder))
        launches = len(plan.to_measure)
        numbers = {BENCHMARKS[case.benchmark].points(plan.grid) for case in plan.to_measure}
        points = numbers.pop() if len(numbers) == 1 else 0
        cells = f" of {plural(points, 'point')}" if points else ""
        time = f", {plan.expected_in_words}" if plan.expected_in_words else ""
        self.progress.step(f"measuring {plural(launches, 'case')}{cells}{time}")
        self._say(str(manifest["reframe_command"]))
        carry_out = self._measure_here if self._partition(plan.network).here else self._measure_in_jobs
        outcomes, interrupted, cut_off = carry_out(folder, plan, manifest, watch)
        manifest["cases"] = list(results(folder, plan, outcomes, interrupted=interrupted, cut_off=cut_off))
        manifest["finished_utc"] = run_folders.now_utc()
        return self._close(folder, manifest, interrupted=interrupted)

    def _look_at_nodes(self, folder: RunFolder, plan: Plan, manifest: dict[str, Any]) -> None:
        """Describe the nodes in hand in the manifest, and say in what they differ and what they lack."""
        in_hand = self._partition(plan.network).in_hand
        if in_hand is None:
            return
        numbers = sorted({number for placement in plan.placements for number in placement.numbers})
        seen = node_probe.look_at(in_hand, tuple(numbers), folder.session)
        now = [node.as_facts() for node in seen]
        manifest["nodes"] = [*(node for node in manifest["nodes"] if node not in now), *now]
        ranks = max(placement.ranks_per_node for placement in plan.placements)
        told = [*node_probe.differences(seen), *node_probe.little_shared_memory(seen, ranks)]
        manifest["notes"] = list(dict.fromkeys([*manifest["notes"], *told]))
        for note in told:
            self._say(note)
        run_folders.write_manifest(folder, manifest)

    def _partition(self, network: str) -> Partition:
        return known_systems.load(self.options.system, self.options.partition).partition(network)

    def _order(self, folder: RunFolder, plan: Plan, turn: Round, place: Path | None = None) -> Order:
        """A round of the plan as a session. place: as of `_session`."""
        whose = ""
        if self.sizes_of is not None or not plan.begins(turn):
            whose = f"run {self.sizes_of.run}" if self.sizes_of is not None else "the first launch"
        words = [*self._command(folder, plan, turn, place), "--run"]
        return Order(tuple(words), tuple(same_sizes.taken_over(folder, plan, turn, self.sizes_of)), whose)

    def _measure_here(self, folder: RunFolder, plan: Plan, manifest: dict[str, Any], watch: Watch) -> Measured:
        """Carry out all rounds on this machine."""
        outcomes: list[Outcome] = []
        interrupted = False
        cut_off: dict[str, str] = {}

        def on_event(number: int, event: Event) -> None:
            watch.turn = plan.rounds[number]
            watch.on_event(event)

        orders = [self._order(folder, plan, turn) for turn in plan.rounds]
        for done in sessions.carry_out(orders, folder.session, self._say, on_event, watch.on_tick):
            outcomes += done.outcomes
            manifest["sessions"].append(
                {
                    "began_utc": done.began_utc,
                    "ended_utc": done.ended_utc,
                    "exit_code": done.session.exit_code,
                    **self._provenance(),
                }
            )
            sessions.append_output(folder.partial / "logs" / "reframe.log", done.session.output)
            run_folders.harvest(folder)
            run_folders.keep_session(folder, len(manifest["sessions"]))
            interrupted = done.session.interrupted
            if broken := self._broken(done.session, done.outcomes):
                cut_off = _by_full_disk(folder, plan) or _all_of(plan, broken)
        return outcomes, interrupted, cut_off

    def _request(self, network: str) -> batch.Request:
        """What is asked of the batch system. It was asked once what it gives."""
        if self.request is None:
            nodes = max(placement.nodes for placement in place(self.options))
            self.request = batch.check(batch.request_of(self.options, self._partition(network)), nodes)
        return self.request

    def _describe_jobs(
        self, folder: RunFolder, plan: Plan, first: int = 1
    ) -> tuple[list[batch.Job], list[Description]]:
        """The jobs of the plan, numbered from `first`, and their descriptions, which are written."""
        request = self._request(plan.network)
        records = folder.partial / "records"

        def is_whole(stem: str) -> bool:
            return stem not in self.unchecked and run_folders.is_complete(records / f"{stem}.jsonl")

        jobs = batch.jobs_of(plan, first, is_whole)
        descriptions = []
        for one in jobs:
            place = folder.jobs / str(one.number)
            orders = [self._order(folder, plan, turn, place) for turn in one.rounds]
            descriptions.append(batch.describe(folder, request, one, orders))
        shutil.rmtree(folder.jobs, ignore_errors=True)
        batch.write(descriptions)
        return jobs, descriptions

    def _measure_in_jobs(self, folder: RunFolder, plan: Plan, manifest: dict[str, Any], watch: Watch) -> Measured:
        """Carry out all rounds in jobs of the batch system."""
        request = self._request(plan.network)
        before = batch.adopt(folder, request.scheduler, manifest["jobs"])
        jobs, descriptions = self._describe_jobs(folder, plan, len(before) + 1)

        def on_event(number: int, session: int, event: Event) -> None:
            watch.turn = jobs[number].rounds[session]
            watch.on_event(event)

        def on_again(number: int) -> None:
            watch.begin_again(jobs[number].rounds)

        def on_submit() -> None:
            ids = follower.ids()
            manifest["jobs"] = [*before, *({"number": one.number, "id": ids.get(n)} for n, one in enumerate(jobs))]
            run_folders.write_manifest(folder, manifest)

        follower = batch.Follower(
            folder=folder,
            scheduler=request.scheduler,
            descriptions=descriptions,
            say=self._say,
            status=self.progress.status,
            on_event=on_event,
            on_tick=watch.on_tick,
            on_submit=on_submit,
            on_again=on_again,
        )
        words = batch.command(folder, self.options.system, request, self.options.suite)
        self._say(reframe_session.typed([*words, "--run"]))
        session = batch.submit(words, follower) if jobs else None
        outcomes: list[Outcome] = []
        cut_off: dict[str, str] = {}
        run_folders.harvest(folder)
        all_ended = batch.ended(follower, session) if session else []
        if all_ended and not self.resume and not any(end.job_id for end in all_ended):
            self._leave_nothing(folder)
            if session and session.interrupted:
                raise KeyboardInterrupt
            raise batch.refusal(request.scheduler, all_ended[0])
        for one, end in zip(jobs, all_ended, strict=False):
            before.append(end.as_json())
            batch.keep_logs(folder, end)
            ranks = max(plan.placement_of(turn).ranks_per_node for turn in one.rounds)
            about_nodes = [*node_probe.differences(end.nodes), *node_probe.little_shared_memory(end.nodes, ranks)]
            notes = [f"job {end.job_id}: {line}" for line in about_nodes]
            manifest["notes"] += notes
            for note in notes:
                self._say(note)
            for told in end.sessions:
                outcomes += batch.outcomes_of(end.description, told)
                manifest["sessions"].append(batch.session_of(told, self._provenance(), end))
                batch.keep_session(folder, end.description, told, len(manifest["sessions"]))
            if end.nodes:
                manifest["host"] = end.nodes[0].host
            if end.reason:
                self.progress.line(f"FAIL {end.reason}")
                cut_off |= {case.stem: end.reason for case in plan.to_measure if any(r.has(case) for r in one.rounds)}
        manifest["jobs"] = before
        return outcomes, bool(session and session.interrupted), cut_off

    def _leave_nothing(self, folder: RunFolder) -> None:
        """Delete the folders of a run in which nothing could be measured."""
        for gone in (folder.partial, folder.session):
            shutil.rmtree(gone, ignore_errors=True)

    def _plan_again(self, folder: RunFolder, plan: Plan, resolved: list[Toolchain], manifest: dict[str, Any]) -> Plan:
        """The plan after the builds, which show what collectives each library lacks.

        Raises CampaignError where no case is left. A new run then leaves no folder behind.
        """
        try:
            new_plan = make_plan(self.options, resolved, plan.network, *plan.placements)
        except CampaignError:
            if not self.resume:
                self._leave_nothing(folder)
            raise
        notes = new_plan.skips(known=plan.skipped)
        for note in notes:
            self._say(note)
        manifest["notes"] += notes
        manifest["case_budget_seconds"] = new_plan.case_budget_seconds
        manifest["reframe_command"] = reframe_session.typed([*self._command(folder, new_plan), "--run"])
        manifest["cases"] = list(results(folder, new_plan, []))
        run_folders.write_manifest(folder, manifest)
        return new_plan

    def _manifest(self, folder: RunFolder, plan: Plan, resolved: list[Toolchain], notes: list[str]) -> dict[str, Any]:
        before = run_folders.read_manifest(folder) if self.resume else {}
        names = ("started_utc", "later_run", "command_line", "campaign", "host", "environment")
        began: dict[str, Any] = {name: before[name] for name in names if name in before}
        now = self._provenance()
        # Of a run in jobs, `host` is a node.
        compared = ("campaign", *(["host"] if self._partition(plan.network).here else []), "environment")
        moved = [name for name in compared if name in began and _is_another(name, began[name], now[name])]
        if moved:
            notes = [*notes, f"resumed with another {' and another '.join(moved)}: see the sessions"]
        missing = {case["case"] for case in before.get("cases", []) if case["result"] == "missing"}
        self.unchecked = {case.stem for case in plan.cases if case.label in missing}
        notes_before = map(str, before.get("notes") or [])  # they apply to what was measured before
        notes = list(dict.fromkeys([*notes_before, *notes]))
        return {
            "schema": "mpi-campaign.manifest",
            "schema_version": MANIFEST_VERSION,
            "run": folder.run,
            "system": folder.system,
            "suite": self.options.suite,
            "status": "incomplete",
            "started_utc": run_folders.now_utc(),
            "later_run": self.later,  # not empty: the clock was set back
            "finished_utc": None,
            **now,
            "reframe_command": reframe_session.typed([*self._command(folder, plan), "--run"]),
            "options": self.options.as_dict(),
            "toolchains": [{**asdict(toolchain), "environment": toolchain.environment} for toolchain in resolved],
            "case_budget_seconds": plan.case_budget_seconds,
            "cases": [],
            "sessions": before.get("sessions", []),
            "jobs": before.get("jobs", []),
            "nodes": before.get("nodes", []),
            "notes": notes,
            **began,
        }

    def _provenance(self) -> dict[str, Any]:
        """The command line, campaign, host and environment of one session. A resumed run has several sessions."""
        git = machine.git_state()
        campaign = {"version": __version__, "commit": git.commit, "dirty": git.dirty}
        if git.why_unknown:
            campaign["commit_unknown"] = git.why_unknown
        return {
            "command_line": self.words,
            "campaign": campaign,
            "host": machine.host_facts(),
            "environment": environ.as_recorded(),
        }

    def _broken(self, session: Session, outcomes: Sequence[Outcome]) -> str:
        """Why ReFrame itself failed, rather than a test, which is said; empty where it did not."""
        if not sessions.is_broken(session, outcomes):
            return ""
        why = f"ReFrame ended with {session.exit_code}: {session.complaint}"
        self._say(why)
        return why

    def _close(self, folder: RunFolder, manifest: dict[str, Any], *, interrupted: bool) -> int:
        from mpi_campaign.archive import rendering  # noqa: PLC0415 - pandas and matplotlib take a second to load
        from postprocess.families import registry  # noqa: PLC0415 - likewise

        # This takes a few seconds. An interrupt would leave an archive with half of its files.
        signals.handle(signal.SIG_IGN)
        self.progress.step("archiving")
        cases = manifest["cases"]
        complete = all(
            case["result"] == "skip"
            or (
                case["result"] != "missing"  # of a whole record: the run was cut off before it was checked
                and case["record"]
                and run_folders.is_complete(folder.partial / case["record"])
            )
            for case in cases
        )
        manifest["status"] = "complete" if complete else "incomplete"
        run_folders.write_manifest(folder, manifest)
        run = rendering.load(folder)
        manifest["seen"] = rendering.seen(run)
        run_folders.write_manifest(folder, manifest)
        registry.write_tables(run)
        if complete:
            run_folders.finish(folder, manifest)
        run = rendering.moved(run, folder)
        self.progress.step("writing the report")
        unwritten = ""
        try:
            where = f"report: {rendering.write_report(folder, run)}"
        except CampaignError as error:
            unwritten = f"no report: {error} (./campaign report {folder.run} -o FILE)"
            where = unwritten
        self.progress.line("")
        for table in rendering.short_tables(run):
            self.progress.line(table)
            self.progress.line("")
        bad = [case for case in cases if case["result"] in ("fail", "missing")]
        for line in (*failure_lines(cases), *self._skipped()):
            self.progress.line(line)
        if not complete:
            self.progress.line(f"incomplete, what was measured is kept: {run_folders.resume_words(folder)}")
        self.progress.line(where)
        self.progress.line(f"run: {folder.path}")
        if interrupted:
            return EXIT_INTERRUPTED
        return EXIT_FAILED if bad or unwritten or self.not_had else EXIT_GOOD


def _all_of(plan: Plan, why: str) -> dict[str, str]:
    """The same reason for all cases, by stem; an empty one is none."""
    return {case.stem: why for case in plan.to_measure}


def _by_full_disk(folder: RunFolder, plan: Plan) -> dict[str, str]:
    """Why cases were cut off, by stem, where the file system on which launches and ReFrame write is full; else empty.

    ReFrame's report cannot be written there either.
    """
    records = folder.partial / "records"
    whys = {case.stem: verify.unwritten(records / f"{case.stem}.jsonl", folder.session) for case in plan.to_measure}
    return {stem: why for stem, why in whys.items() if why}


def _in_words(placed: Sequence[Placement]) -> str:
    """The ranks of placements, and the threads of each rank: `2 ranks x 1, 4 ranks on 2 nodes x 1`."""
    threads: dict[str, list[str]] = {}
    for placement in placed:
        where = f" on {placement.nodes} nodes" if placement.nodes > 1 else ""
        on = threads.setdefault(f"{plural(placement.ranks, 'rank')}{where}", [])
        words = f"{placement.threads_per_rank}{' (oversubscribed)' * placement.oversubscribed}"
        if words not in on:
            on.append(words)
    return ", ".join(f"{ranks} x {', '.join(numbers)}" for ranks, numbers in threads.items())


def _limits(placed: Sequence[Placement]) -> list[str]:
    """Warnings about limits of this machine that disturb ranks with these placements, a line each."""
    cores = min(max(placement.cores_per_node for placement in placed), machine.cores().physical)
    return host.notes(host.findings(machine.limits(), cores, max(placement.ranks_per_node for placement in placed)))


def _is_another(part: str, before: Any, now: Mapping[str, Any]) -> bool:
    """Whether a part of a manifest differs from what the run began with."""
    if part != "host" or not isinstance(before, dict):
        return bool(before != now)
    known, still = host_limits.known_in_both(before, now)
    return known != still


def _all_built(resolved: list[Toolchain]) -> bool:
    """Whether nothing is left to build. Installed libraries always need a look of CMake: they may have changed."""
    by_spack = [toolchain.spack for toolchain in resolved if toolchain.spack]
    by_hand = [toolchain for toolchain in resolved if not toolchain.spack]
    sources = builds.fingerprint()
    return not any(installed.to_install(build, sources) for build in by_spack) and all(
        toolchain.provider == "wheels" and builds.is_built(toolchain) for toolchain in by_hand
    )


def keep_sources(folder: RunFolder, resolved: list[Toolchain]) -> None:
    """Archive what a run was made from: the system's description, unless every clone has it, and the files from which
    Spack builds the toolchains."""
    system_copy = folder.partial / provenance.SYSTEM_FOLDER
    if folder.system != Options.system:
        system_copy.mkdir(exist_ok=True)
        shutil.copyfile(known_systems.SYSTEMS / folder.system / "settings.py", system_copy / "settings.py")
    for toolchain in resolved:
        if toolchain.spack is not None:
            (folder.partial / provenance.SPACK_FOLDER).mkdir(exist_ok=True)
            shutil.copyfile(
                toolchain.spack.folder / "spack.lock", folder.partial / provenance.lock_of(toolchain.environment)
            )
            shutil.copyfile(
                toolchain.spack.folder / "spack.yaml", folder.partial / provenance.manifest_of(toolchain.environment)
            )
    if any(toolchain.spack for toolchain in resolved):
        (system_copy / "spack").mkdir(parents=True, exist_ok=True)
        for path in matrix.scope_of(folder.system).glob("*.yaml"):
            shutil.copyfile(path, system_copy / "spack" / path.name)
