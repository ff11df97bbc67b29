"""The rounds of a plan are carried out: on this machine, or in jobs of a batch system."""

import shlex
import shutil
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi_campaign import files
from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.plan import Plan, Round
from mpi_campaign.processes.progress import Progress
from mpi_campaign.running import batch, case_results, node_probe, same_sizes, session_words, sessions, verify
from mpi_campaign.running import manifest as manifests
from mpi_campaign.running.job import Description
from mpi_campaign.running.reframe_session import Event, Outcome
from mpi_campaign.running.session_progress import Watch
from mpi_campaign.running.sessions import Order
from postprocess.drawing.text import plural
from postprocess.statistics.looks import LOOKS


@dataclass
class Rounds:
    """The rounds of a run.

    command_line: of the campaign, as it was typed.  sizes_of: the run whose sizes are taken over.  request: what is
    asked of the batch system; None where the rounds are carried out on this machine.  unchecked: stems of cases whose
    records an earlier campaign of the run did not find good, and of those that nobody checked since.  outcomes,
    interrupted, cut_off: how the tests ended, whether an interrupt ended them, and why cases were cut off, by stem.
    judged: the run ends once its libraries are told apart; the plan then loses what need not be measured any more.
    """

    folder: RunFolder
    plan: Plan
    progress: Progress
    command_line: list[str]
    sizes_of: RunFolder | None = None
    request: batch.Request | None = None
    unchecked: Collection[str] = ()
    resumed: bool = False
    judged: bool = False

    def __post_init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.interrupted = False
        self.cut_off: dict[str, str] = {}
        self.good_before = {case.stem for case in self.plan.to_measure if self._is_good(case.stem)}

    def carry_out(self, manifest: dict[str, Any], watch: Watch) -> None:
        """Raises CampaignError where the batch system takes no job."""
        self.judged = run_folders.JUDGED in manifest
        self._write_plan()
        if self.request is None:
            self._here(manifest, watch)
        else:
            self._in_jobs(self.request, manifest, watch)

    def _is_recorded(self, stem: str) -> bool:
        return run_folders.is_complete(self.folder.partial / "records" / f"{stem}.jsonl")

    def _is_good(self, stem: str) -> bool:
        """Whether an earlier campaign of the run has measured a case, and found its record good."""
        return stem not in self.unchecked and self._is_recorded(stem)

    def _is_done(self, turn: Round) -> bool:
        return all(self._is_good(case.stem) for case in self.plan.to_measure if turn.has(case))

    def _watch_only(self, turns: Sequence[Round], watch: Watch) -> None:
        """Of a run that goes on, count what is left."""
        if self.resumed:
            watch.measure(turns, self.good_before)

    def _write_plan(self) -> None:
        planned = "".join(f"{case.stem}\n" for case in self.plan.to_measure)
        files.write_atomically(self.folder.session / session_words.PLANNED, planned)

    def _order(self, turn: Round, place: Path | None = None) -> Order:
        """A round as a session. place: as of `session_words.of_round`."""
        whose = "" if self.plan.begins(turn) else "the first launch"
        if self.sizes_of is not None:
            whose = f"run {self.sizes_of.run}"
        words = [*session_words.of_round(self.folder, self.plan, turn, place, resumed=self.resumed), "--run"]
        sizes = same_sizes.taken_over(self.folder, self.plan, turn, self.sizes_of)
        last = [other for other in self.plan.rounds if other.repeat == turn.repeat][-1]
        is_look = self.judged and turn == last and turn.repeat >= LOOKS[0]
        return Order(tuple(words), tuple(sizes), whose, turn.repeat * is_look)

    def _here(self, manifest: dict[str, Any], watch: Watch) -> None:
        folder, plan = self.folder, self.plan

        def on_event(number: int, event: Event) -> None:
            watch.turn = turns[number]
            watch.on_event(event)

        began = time.monotonic()
        before = set(filter(self._is_recorded, (case.stem for case in plan.to_measure)))
        # A run that is judged looks at its libraries at the end of rounds, so it goes through all of them.
        skips = self.resumed and not self.judged
        turns = [turn for turn in plan.rounds if not (skips and self._is_done(turn))]
        self._watch_only(turns, watch)
        orders = [self._order(turn) for turn in turns]
        carried_out = sessions.carry_out(orders, folder.session, self.progress.detail, on_event, watch.on_tick)
        for turn, order, done in zip(turns, orders, carried_out, strict=False):
            self.outcomes += done.outcomes
            manifest["sessions"].append(
                {
                    "began_utc": done.began_utc,
                    "ended_utc": done.ended_utc,
                    "exit_code": done.session.exit_code,
                    **manifests.of_session(self.command_line),
                }
            )
            sessions.append_output(folder.partial / "logs" / "reframe.log", done.session.output)
            run_folders.harvest(folder)
            run_folders.keep_session(folder, len(manifest["sessions"]))
            self.interrupted = done.session.interrupted
            self._note_untold([turn], done.outcomes)
            self._note_results(manifest)
            if done.broken:
                self.progress.detail(done.broken)
                self.cut_off = self._cut_off_by_full_disk() or dict.fromkeys(
                    (case.stem for case in plan.to_measure), done.broken
                )
            elif self.interrupted or turn == turns[-1]:
                continue
            elif order.launches and (why := self._why_enough(order.launches, time.monotonic() - began)):
                self._end_with(order.launches, why)
                break
            elif turn.repeat == 1:
                new = [case for case in plan.to_measure if turn.has(case) and case.stem not in before]
                self._show({case.benchmark for case in new})

    def _note_untold(self, turns: Sequence[Round], outcomes: Sequence[Outcome]) -> None:
        """Note the cases of which ReFrame has not told how they ended, as where it was killed: nobody has checked their
        records."""
        told = {outcome.stem for outcome in outcomes}
        stems = {case.stem for case in self.plan.to_measure if any(turn.has(case) for turn in turns)}
        self.unchecked = {*self.unchecked, *(stems - told - self.good_before)}

    def _note_results(self, manifest: dict[str, Any]) -> None:
        """Note in the manifest what is known so far, for looks at a run that goes on, and in case this process is
        killed."""
        known = case_results.results(
            self.folder, self.plan, self.outcomes, interrupted=self.interrupted, unchecked=self.unchecked
        )
        manifest["cases"] = list(known)
        run_folders.write_manifest(self.folder, manifest)

    def _why_enough(self, launches: int, seconds: float) -> str:
        """As `judging.why_enough`. The next session waits for the answer."""
        from mpi_campaign.verdicts import judging  # noqa: PLC0415 - pandas takes a second to load

        return judging.why_enough(self.folder, launches, seconds, self.plan.options.budget_seconds)

    def _end_with(self, launches: int, why: str) -> None:
        """Measure nothing more than these launches of each case."""
        self.progress.line(f"      {why} after {plural(launches, 'launch')} of each case")
        self.plan = self.plan.up_to(launches)
        self._write_plan()

    def _show(self, benchmarks: Collection[str]) -> None:
        """Show what these benchmarks found so far, if there are any, and write the report of it. The next session waits
        for both, so that nothing is measured then. Of a run that is judged the answer is awaited instead."""
        if not benchmarks or self.judged:
            return
        from mpi_campaign.archive import matrices, rendering, window  # noqa: PLC0415 - pandas takes a second to load
        from postprocess.verdicts.answers import NOT_ASKED  # noqa: PLC0415 - likewise

        with suppress(CampaignError):
            run = rendering.load(self.folder)
            self.progress.line(*matrices.so_far(run, benchmarks, window.window()))
            self.progress.line(f"      so far: {rendering.write_report(self.folder, run, NOT_ASKED)}")

    def _cut_off_by_full_disk(self) -> dict[str, str]:
        """Why cases were cut off, where the file system on which launches and ReFrame write is full; else empty.
        ReFrame's report cannot be written there either."""
        records = self.folder.partial / "records"
        stems = [case.stem for case in self.plan.to_measure]
        whys = {stem: verify.unwritten(records / f"{stem}.jsonl", self.folder.session) for stem in stems}
        return {stem: why for stem, why in whys.items() if why}

    def jobs(self, request: batch.Request, first: int = 1) -> tuple[list[batch.Job], list[Description]]:
        """The jobs of the plan, numbered from `first`, and their descriptions, which are written."""
        folder = self.folder

        jobs = batch.jobs_of(self.plan, first, self._is_good)
        descriptions = []
        for job in jobs:
            orders = [self._order(turn, folder.jobs / str(job.number)) for turn in job.rounds]
            descriptions.append(batch.describe(folder, request, job, orders, self.plan.options.budget_seconds))
        shutil.rmtree(folder.jobs, ignore_errors=True)
        batch.write(descriptions)
        return jobs, descriptions

    def _in_jobs(self, request: batch.Request, manifest: dict[str, Any], watch: Watch) -> None:
        folder, plan, say = self.folder, self.plan, self.progress.detail
        before = batch.adopt(folder, request.scheduler, manifest["jobs"])
        jobs, descriptions = self.jobs(request, len(before) + 1)
        self._watch_only([turn for job in jobs for turn in job.rounds], watch)

        def on_event(number: int, session: int, event: Event) -> None:
            watch.turn = jobs[number].rounds[session]
            watch.on_event(event)

        def on_submit() -> None:
            ids = follower.ids()
            manifest["jobs"] = [*before, *({"number": job.number, "id": ids.get(n)} for n, job in enumerate(jobs))]
            run_folders.write_manifest(folder, manifest)

        follower = batch.Follower(
            folder=folder,
            scheduler=request.scheduler,
            descriptions=descriptions,
            say=say,
            status=self.progress.status,
            on_event=on_event,
            on_tick=watch.on_tick,
            on_submit=on_submit,
            on_again=lambda number: watch.begin_again(jobs[number].rounds),
        )
        words = batch.command(folder, plan.options.system, request, plan.options.suite)
        sessions.append_output(folder.partial / "logs" / "reframe.log", [shlex.join([*words, "--run"])])
        session = batch.submit(words, follower) if jobs else None
        run_folders.harvest(folder)
        all_ended = batch.ended(follower, session) if session else []
        if all_ended and not self.resumed and not any(end.job_id for end in all_ended):
            run_folders.leave_nothing(folder)
            if session and session.interrupted:
                raise KeyboardInterrupt
            raise batch.refusal(request.scheduler, all_ended[0])
        for launches, why in filter(None, (end.enough for end in all_ended)):
            self._end_with(launches, why)
        for job, end in zip(jobs, all_ended, strict=False):
            before.append(end.as_json())
            batch.keep_logs(folder, end)
            ranks = max(plan.placement_of(turn).ranks_per_node for turn in job.rounds)
            notes = [f"job {end.job_id}: {line}" for line in node_probe.notes(end.nodes, ranks)]
            manifest["notes"] += notes
            say(*notes)
            self._note_untold(job.rounds[len(end.sessions) :][:1], ())
            for number, of_session in enumerate(end.sessions):
                told = batch.outcomes_of(end.description, of_session)
                self._note_untold(job.rounds[number : number + 1], told)
                self.outcomes += told
                manifest["sessions"].append(batch.session_of(of_session, manifests.of_session(self.command_line), end))
                batch.keep_session(folder, end.description, of_session, len(manifest["sessions"]))
            if end.nodes:
                manifest["host"] = end.nodes[0].host
            if end.reason:
                self.progress.line(f"FAIL {end.reason}")
                cases = [case for case in plan.to_measure if any(turn.has(case) for turn in job.rounds)]
                self.cut_off |= {case.stem: end.reason for case in cases}
        manifest["jobs"] = before
        self.interrupted = bool(session and session.interrupted)
