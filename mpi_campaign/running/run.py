"""`campaign run`: resolve, plan, measure through ReFrame, archive, report."""

import json
import shlex
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mpi_campaign import files
from mpi_campaign.archive import consistency, run_folders, system_sizes
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.children import environ
from mpi_campaign.doctor.load import Load
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, CampaignError, explained
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.benchmark import AT_ONCE
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, programs_of
from mpi_campaign.planning.checks import check
from mpi_campaign.planning.options import Options, benchmarks_of, grid_of
from mpi_campaign.planning.placing import choose_network, in_words, partition_of, place
from mpi_campaign.planning.plan import Plan
from mpi_campaign.planning.plan_of_options import make_plan
from mpi_campaign.processes import guarded
from mpi_campaign.processes.progress import Progress, duration
from mpi_campaign.running import batch, ending, node_probe, reframe_session, same_sizes, session_words, sessions
from mpi_campaign.running import manifest as manifests
from mpi_campaign.running.case_results import build_error, is_good, results
from mpi_campaign.running.reframe_session import Session
from mpi_campaign.running.rounds import Rounds
from mpi_campaign.running.session_progress import Watch
from mpi_campaign.systems import allocation, topology
from mpi_campaign.systems.known_systems import Partition
from mpi_campaign.this_machine import host, machine
from mpi_campaign.toolchains import builds, peers, resolving
from mpi_campaign.toolchains.resolving import Toolchain
from mpi_campaign.toolchains.spack import installed
from postprocess.drawing.text import plural

STEPS = 6
SETUP_STEPS = 3


class Campaign:
    """One invocation of `campaign run`. With `resume`, it goes on with that interrupted run.

    marks: what the manifest says of the run besides, by `run_folders.MARKS`.  is_answered: who asked for it tells what
    it found.  folder: the run, once there is one.
    """

    def __init__(
        self,
        options: Options,
        output: Path,
        words: list[str],
        resume: RunFolder | None = None,
        marks: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.options = options
        self.output = output
        self.words = words
        self.resume = resume
        self.marks = marks
        self.folder: RunFolder | None = None
        self.is_answered = run_folders.JUDGED in marks
        self.progress = Progress(STEPS - self.is_answered)
        self.say = self.progress.detail
        self.sizes_of = run_folders.find(options.sizes_of, output) if options.sizes_of else None
        self.later = ""
        self.request: batch.Request | None = None
        """What is asked of the batch system; None where launches are on this machine."""
        self.not_had: dict[str, CampaignError] = {}
        self.switches: dict[str, str] = {}

    def run(self, *, dry_run: bool) -> int:
        """Do the whole run. Returns the exit code. Raises CampaignError where nothing can run."""
        if self.resume and (measured := consistency.other_methods(self.resume)):
            raise CampaignError(
                f"run '{self.resume.run}' was begun by another version of the campaign, which measured "
                f"{'; '.join(measured)}: begin a new run"
            )
        self._look()
        load = Load()
        compiler = machine.compiler()
        placed = place(self.options)
        self.say(
            f"{machine.cpu_model()}, {machine.cores().physical} cores; {in_words(placed)} computing threads; {compiler}"
        )
        network, notes = choose_network(self.options)
        partition = partition_of(self.options, network)
        limited = self._look_at_limits(partition, placed)
        resolved = self._find_toolchains()
        environ.let(self.options.environment, partition.requested())
        self.say(f"{', '.join(toolchain.toolchain for toolchain in resolved)}; network {network}")
        self.say(*environ.summary(environ.kept_out(), environ.requested()))
        plan = make_plan(self.options, resolved, network, *placed, built=False)
        self._check_networks(plan)
        system_sizes.read(system_sizes.path_of(self.output, self.options.system))  # refused before anything is measured
        notes += plan.skips()
        notes += filter(None, [plan.too_short()])
        notes += load.notes() if partition.here else []
        self.say(*notes, *self._tellable(plan))
        notes = [*limited, *self._skipped(), *notes]
        if any(benchmark.by_node == AT_ONCE for benchmark in benchmarks_of(self.options).values()):
            hosts = partition.in_hand.names if partition.in_hand is not None else ()
            self.switches = topology.switches_of(self.options.system, hosts)
        if dry_run:
            with tempfile.TemporaryDirectory() as scratch:
                return self._dry_run(run_folders.start(Path(scratch), self.options.system), plan)
        folder = self.folder = self.resume or run_folders.start(self.output, self.options.system)
        if not self.resume and (later := run_folders.later_than(folder)):
            self.later = later
            notes.append(f"the clock was set back: run {later} is of a later time than now, and stays the newest one")
            self.say(notes[-1])
        try:
            with guarded.alone(self.say):
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
            self.say(f"{trouble}; what was measured is kept: mend that, then {run_folders.resume_words(folder)}")
            print(f"run: {folder.path}")
            return EXIT_FAILED

    def _tellable(self, plan: Plan) -> list[str]:
        """What the run will be able to tell."""
        from mpi_campaign.archive import earlier_launches  # noqa: PLC0415 - pandas takes a second to load

        cases = [case.as_dict() for case in plan.to_measure]
        return earlier_launches.tellable_lines(self.options.system, self.output, cases)

    def fetch(self) -> None:
        """Fetch what a run needs from a network, and nothing else. Raises CampaignError."""
        check(self.options)
        peers.provide(list(benchmarks_of(self.options)), self._resolve(), self.say)

    def build(self) -> int:
        """Find the toolchains and build the benchmarks with them. Measures nothing. Returns the exit code. Raises
        CampaignError where nothing can be built."""
        self.progress = Progress(SETUP_STEPS)
        self.say = self.progress.detail
        self._look()
        self.say(str(machine.compiler()))
        resolved = self._find_toolchains()
        network, _notes = choose_network(self.options)
        plan = make_plan(self.options, resolved, network, *place(self.options), built=False)
        self.progress.step("building the benchmarks")
        with tempfile.TemporaryDirectory() as scratch, guarded.alone(self.say):
            folder = run_folders.start(Path(scratch), self.options.system)
            try:
                session, broken = self._build(folder, plan, resolved, lambda: None)
                outcomes = reframe_session.outcomes(folder.session / run_folders.REPORT)
                failed = [outcome for outcome in outcomes if outcome.failed]
                for build in failed:
                    self.progress.line(f"FAIL {build.environment}: {build_error(build)}")
            finally:
                shutil.rmtree(folder.session, ignore_errors=True)
        if session.interrupted:
            return EXIT_INTERRUPTED
        return EXIT_FAILED if failed or broken or self.not_had else EXIT_GOOD

    def _look(self) -> None:
        check(self.options)
        environ.let(self.options.environment, {})
        self.progress.step("looking at this machine")

    def _look_at_limits(self, partition: Partition, placed: Sequence[Placement]) -> list[str]:
        """Say what limits launches: here, this machine and the job that this process is in; elsewhere the batch system.

        Returns notes for the manifest. Raises CampaignError where the batch system does not give what is asked for, or
        there is none.
        """
        if not partition.here:
            nodes = max(placement.nodes for placement in placed)
            self.request = batch.check(batch.request_of(self.options, partition), nodes)
            return []
        batch.refuse_options_of_jobs(self.options)
        allocated = allocation.finding()
        if allocated:
            self.say(f"{allocated.subject}: {allocated.seen}")
        limited = _limits(placed)
        self.say(*limited)
        return limited

    def _find_toolchains(self) -> list[Toolchain]:
        self.progress.step("finding the toolchains")
        resolved = self._resolve()
        names = {toolchain.toolchain for toolchain in resolved}
        if self.is_answered and len(names) == 1:
            raise CampaignError(
                f"both sides are {names.pop()}: give two libraries, or two names (NAME@old=PREFIX, NAME@new=PREFIX)"
            )
        peers.provide(list(benchmarks_of(self.options)), resolved, self.say)
        return resolved

    def _resolve(self) -> list[Toolchain]:
        options = self.options
        if options.provider == "spack":
            return self._concretized()
        resolved: dict[str, Toolchain] = {}  # by environment: `mpich@5.0` and `mpich@5.0.2` may be the same one
        names: list[str] = []
        asked = options.toolchains or suites.SUITES[options.suite].toolchains
        for text in dict.fromkeys(one for each in asked for one in resolving.expanded(each, self.say)):
            spec = resolving.parse(text)
            try:
                toolchain = resolving.resolve(spec, self.say)
            except CampaignError as error:
                self.not_had[text] = error
                continue
            if (other := resolved.setdefault(toolchain.environment, toolchain)) != toolchain:
                raise CampaignError(
                    f"{other.toolchain} and {toolchain.toolchain} have the same name in ReFrame: two runs"
                )
            names.append(text if spec.prefix else toolchain.toolchain)
        needs_all = self.resume or self.is_answered
        if self.not_had and (needs_all or not resolved):  # what was begun with a library does not end without it
            raise next(iter(self.not_had.values()))
        self.say(*self._skipped())
        self.options = replace(options, toolchains=tuple(dict.fromkeys(names)))
        return list(resolved.values())

    def _concretized(self) -> list[Toolchain]:
        """The toolchains that Spack makes. One of a range that it cannot make is skipped. Raises CampaignError."""
        asked = self.options.toolchains
        names = [one for each in asked for one in resolving.expanded_by_spack(each, self.say)]
        beside = peers.packages_of(list(benchmarks_of(self.options)))
        began = time.monotonic()

        def concretized(*some: str) -> list[Toolchain]:
            return resolving.resolve_spack(
                some,
                self.options.system,
                beside,
                self.say,
                lambda: self.progress.status(f"      concretizing, {duration(time.monotonic() - began)}"),
            )

        if len(names) == len(asked):
            return concretized(*names)
        found = []
        for name in names:
            try:
                found += concretized(name)
            except CampaignError as error:
                self.not_had[name] = error
        if not found:
            raise next(iter(self.not_had.values()))
        self.say(*self._skipped())
        self.options = replace(self.options, toolchains=tuple(name for name in names if name not in self.not_had))
        return found

    def _check_networks(self, plan: Plan) -> None:
        """Refuse to go on with a run over other networks than it was begun over. Raises CampaignError."""
        if self.resume is None:
            return
        begun = {str(case.get("network")) for case in run_folders.read_manifest(self.resume).get("cases") or []}
        now = {case.network for case in plan.cases}
        if begun and not now <= begun:
            raise CampaignError(
                f"run '{self.resume.run}' was begun over {', '.join(sorted(begun))}, and here it would go on over "
                f"{', '.join(sorted(now - begun))}: go on where it was begun, or begin a new run"
            )

    def _skipped(self) -> list[str]:
        return [f"skipped {text}: {str(error).removeprefix(text).lstrip(': ')}" for text, error in self.not_had.items()]

    def _build(
        self, folder: RunFolder, plan: Plan, resolved: Sequence[Toolchain], on_end: Callable[[], object]
    ) -> tuple[Session, str]:
        """Do all builds before anything is measured. Returns the session, and why ReFrame itself failed.

        A failed build of our benchmarks is reported with its cases. If Spack could not build another benchmark, this
        prints why, since our own build is good without it.
        """
        watch = Watch(self.progress, plan, folder, on_end)
        by_spack = [(toolchain.toolchain, toolchain.spack) for toolchain in resolved if toolchain.spack is not None]
        before = {name: installed.failed(build) for name, build in by_spack}
        session = reframe_session.run([*session_words.of_builds(folder, plan), "--run"], watch.on_event, watch.on_tick)
        for name, build in by_spack:
            for package in installed.failed(build):
                if package not in before[name]:
                    self.say(f"{name}: {installed.why_lacking(build, package)}")
        broken = sessions.why_broken(session, reframe_session.outcomes(folder.session / run_folders.REPORT))
        if broken:
            self.say(broken)
        return session, broken

    def _command(self, folder: RunFolder, plan: Plan) -> list[str]:
        return session_words.of_round(folder, plan, resumed=self.resume is not None)

    def _rounds(self, folder: RunFolder, plan: Plan, unchecked: Collection[str] = ()) -> Rounds:
        return Rounds(
            folder, plan, self.progress, self.words, self.sizes_of, self.request, unchecked, self.resume is not None
        )

    def _dry_run(self, folder: RunFolder, plan: Plan) -> int:
        jobs: list[batch.Job] = []
        if self.request is None:
            words = [*self._command(folder, plan), "--dry-run"]
        else:
            jobs, _ = self._rounds(folder, plan).jobs(self.request)
            words = [*batch.command(folder, self.options.system, self.request, self.options.suite), "--dry-run"]
        self.say(shlex.join(words))
        session = reframe_session.run(words, lambda _event: None, lambda: None)
        script = batch.script_of(folder, jobs[0].number) if jobs else ""
        shutil.rmtree(folder.session)
        if session.interrupted:
            return EXIT_INTERRUPTED
        launches_of = Counter(replace(case, repeat=1).label for case in plan.to_measure)
        self.say(*(f"run {label}" + f", {count} launches" * (count > 1) for label, count in launches_of.items()))
        if session.exit_code != 0:
            raise CampaignError(f"ReFrame's dry run ended with {session.exit_code}: {session.complaint}")
        if self.request is not None:
            self.say(*batch.in_words(self.request, jobs))
            self.progress.line(f"the first job script:\n{script}")
        launches, expected = len(plan.to_measure), plan.expected_in_words
        time = f" in {expected}" if expected else ""
        self.say(f"dry run: {plural(launches, 'launch')} would be made{time}; nothing was measured")
        return EXIT_GOOD

    def _measure(self, folder: RunFolder, plan: Plan, resolved: list[Toolchain], notes: list[str]) -> int:
        before = run_folders.read_manifest(folder) if self.resume else {}
        manifest = manifests.of_run(
            folder,
            plan,
            resolved,
            notes,
            command_line=self.words,
            reframe_command=[*self._command(folder, plan), "--run"],
            before=before,
            later_run=self.later,
        )
        manifest |= self.marks
        unchecked = manifests.unchecked(before, plan)
        manifest["cases"] = list(results(folder, plan, [], unchecked=unchecked))
        run_folders.write_manifest(folder, manifest)
        manifests.keep_sources(folder, resolved)
        folder.session.mkdir(parents=True, exist_ok=True)  # missing where a run of another clone is resumed
        facts = {name: manifest[name] for name in ("run", "system", "suite", "campaign", "environment")}
        facts |= {"switches": self.switches} if self.switches else {}
        files.write_atomically(folder.session / "metadata.json", json.dumps(facts) + "\n")
        self._look_at_nodes(folder, plan, manifest)

        def harvest() -> None:
            run_folders.harvest(folder)

        self.progress.step("building the benchmarks")
        if builds.all_built(resolved, programs_of(benchmarks_of(plan.options))):
            self.say("nothing has changed since they were built")
        else:
            build, broken = self._build(folder, plan, resolved, harvest)
            if build.interrupted or broken:
                cut_off = dict.fromkeys((case.stem for case in plan.to_measure), broken)
                manifest["cases"] = list(results(folder, plan, [], cut_off=cut_off, unchecked=unchecked))
                return self._close(folder, manifest, interrupted=build.interrupted)
        plan = self._plan_again(folder, plan, resolved, manifest, unchecked)
        self._note(manifest, same_sizes.recall(folder, plan))
        launches = len(plan.to_measure)
        numbers = {BENCHMARKS[case.benchmark].points(*grid_of(plan.options)) for case in plan.to_measure}
        points = numbers.pop() if len(numbers) == 1 else 0
        cells = f" of {plural(points, 'point')}" if points else ""
        time = f", {plan.expected_in_words}" if plan.expected_in_words else ""
        self.progress.step(f"measuring {plural(launches, 'case')}{cells}{time}")
        done = self._rounds(folder, plan, unchecked)
        done.carry_out(manifest, Watch(self.progress, plan, folder, harvest))
        plan = done.plan
        manifest["cases"] = list(
            results(
                folder,
                plan,
                done.outcomes,
                interrupted=done.interrupted,
                cut_off=done.cut_off,
                unchecked=done.unchecked,
            )
        )
        manifest["finished_utc"] = run_folders.now_utc()
        checked = partial(is_good, folder, done.outcomes, unchecked=done.unchecked)
        self._note(manifest, same_sizes.keep(folder, plan, self.sizes_of, checked))
        return self._close(folder, manifest, interrupted=done.interrupted)

    def _note(self, manifest: dict[str, Any], lines: list[str]) -> None:
        manifest["notes"] += lines
        self.say(*lines)

    def _close(self, folder: RunFolder, manifest: dict[str, Any], *, interrupted: bool) -> int:
        return ending.close(
            folder, manifest, self.progress, self._skipped(), interrupted=interrupted, is_answered=self.is_answered
        )

    def _look_at_nodes(self, folder: RunFolder, plan: Plan, manifest: dict[str, Any]) -> None:
        """Describe the nodes in hand in the manifest, and say in what they differ and what they lack."""
        in_hand = partition_of(self.options, plan.network).in_hand
        if in_hand is None:
            return
        numbers = sorted({number for placement in plan.placements for number in placement.numbers})
        seen = node_probe.look_at(in_hand, tuple(numbers), folder.session)
        now = [node.as_facts() for node in seen]
        manifest["nodes"] = [*(node for node in manifest["nodes"] if node not in now), *now]
        notes = node_probe.notes(seen, max(placement.ranks_per_node for placement in plan.placements))
        manifest["notes"] = list(dict.fromkeys([*manifest["notes"], *notes]))
        self.say(*notes)
        run_folders.write_manifest(folder, manifest)

    def _plan_again(
        self,
        folder: RunFolder,
        plan: Plan,
        resolved: list[Toolchain],
        manifest: dict[str, Any],
        unchecked: Collection[str],
    ) -> Plan:
        """The plan after the builds, which show what collectives each library lacks. Raises CampaignError where no case
        is left. A new run then leaves no folder behind."""
        try:
            new_plan = make_plan(self.options, resolved, plan.network, *plan.placements)
        except CampaignError:
            if not self.resume:
                run_folders.leave_nothing(folder)
            raise
        self._note(manifest, new_plan.skips(but=plan.skipped))
        manifest["case_budget_seconds"] = new_plan.case_budget_seconds
        manifest["reframe_command"] = shlex.join([*self._command(folder, new_plan), "--run"])
        manifest["cases"] = list(results(folder, new_plan, [], unchecked=unchecked))
        run_folders.write_manifest(folder, manifest)
        return new_plan


def _limits(placed: Sequence[Placement]) -> list[str]:
    """Warnings about limits of this machine that disturb ranks with these placements, a line each."""
    cores = min(max(placement.cores_per_node for placement in placed), machine.cores().physical)
    return host.notes(host.findings(machine.limits(), cores, max(placement.ranks_per_node for placement in placed)))
