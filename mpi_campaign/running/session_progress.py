"""Follow a ReFrame session: what runs, how far it is, how long it still takes."""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import grid_of
from mpi_campaign.planning.plan import Plan, Round
from mpi_campaign.processes.progress import Countdown, Progress, duration
from mpi_campaign.running import case_results
from mpi_campaign.running.reframe_session import Event

VERDICTS = {"OK": "ok  ", "FAIL": "FAIL", "SKIP": "skip", "CUT": "interrupted"}
BUILDS = {
    "RUN": "building for",
    "OK": "built for",
    "FAIL": "BUILD FAILED for",
    "SKIP": "not built for",
    "CUT": "interrupted while it was built for",
}
HARVEST_SECONDS = 60.0
"""How often records are gathered while the session goes on. It takes time from the next launch, which runs already."""
TAKING_OVER_SECONDS = 1.0
"""About so long ReFrame takes for a case that the run has already."""
DEPENDENCIES_FAILED = "dependencies failed"
"""ReFrame's reason for skipping a test whose fixture failed."""


class Watch:
    """Follows the session's events and shows its progress."""

    def __init__(self, progress: Progress, plan: Plan, folder: RunFolder, on_end: Callable[[], object]) -> None:
        self.progress = progress
        self.folder = folder
        self.on_end = on_end
        self.turn = plan.rounds[0]
        self.cases = plan.to_measure
        self.plan = plan
        self.countdown = Countdown(len(plan.to_measure), plan.expected_measuring_seconds)
        self.running: Case | None = None
        self.not_built: set[str] = set()  # environments
        self.launched = 0.0  # Unix time; an older record belongs to the launch before
        self.harvested = time.monotonic()
        self.there: Collection[str] = ()

    def measure(self, rounds: Sequence[Round], there: Collection[str]) -> None:
        """Only the cases of these rounds are measured, but for some that are taken over.  there: their stems."""
        self.there = there
        self.cases = [case for case in self.cases if any(turn.has(case) for turn in rounds)]
        self.countdown = Countdown(len(self.cases), sum(map(self._expected_seconds, self.cases)))

    def _expected_seconds(self, case: Case) -> float:
        seconds = self.plan.expected_seconds(case)
        return min(seconds, TAKING_OVER_SECONDS) if case.stem in self.there else seconds

    def begin_again(self, rounds: Sequence[Round]) -> None:
        """All cases of these rounds are still to be measured, also those that have ended."""
        before, self.running = self.cases, None
        self.cases = [case for case in self.plan.to_measure if case in before or any(turn.has(case) for turn in rounds)]
        back = [case for case in self.cases if case not in before]
        self.countdown.put_back(len(back), sum(map(self._expected_seconds, back)))

    def _case(self, event: Event) -> Case | None:
        """The case that an event's launch measures; None where nothing is launched: a build, a `basic` that its fixture
        has measured, or one that an earlier session has."""
        for case in self.cases:
            if case.environment == event.environment and case.launched_by == event.name and self.turn.has(case):
                values = case.as_dict()
                if all(str(values.get(name, value)) == value for name, value in event.parameters.items()):
                    return case
        return None

    def on_event(self, event: Event) -> None:
        case = self._case(event)
        if case is None:
            if event.test.startswith("build_benchmarks"):
                tell = self.progress.status if event.what == "RUN" else self.progress.line
                tell(f"      {BUILDS[event.what]} {event.environment}")
                if event.what == "FAIL":
                    self.not_built.add(event.environment)
            return
        if event.what == "RUN":
            self.running = case
            self.launched = time.time()
            self.countdown.begin(self._expected_seconds(case))
            self.on_tick()
            return
        taken = self.countdown.end()
        self.running = None
        self.cases.remove(case)
        if event.what == "FAIL" or time.monotonic() - self.harvested >= HARVEST_SECONDS:
            self.on_end()
            self.harvested = time.monotonic()
        reason = self._reason(event, case)
        self.progress.line(
            f"  {self.countdown.done:3d}/{self.countdown.total} {VERDICTS[event.what]} {case.label}, "
            f"{duration(taken)}{f' [{reason}]' if reason else ''}; {self.countdown.left}"
        )

    def _reason(self, event: Event, case: Case) -> str:
        """Why a case was skipped or failed, as far as it is known now; empty where it is not."""
        if event.reason == DEPENDENCIES_FAILED and event.environment in self.not_built:
            return "the build failed"
        if event.reason == DEPENDENCIES_FAILED and case.basic not in (None, case):
            return "basic, whose sizes it needs, failed"
        return case_results.known_early(self.folder, self.plan, case) if event.what == "FAIL" else event.reason

    def on_tick(self) -> None:
        if self.running is None or not self.progress.status_due:
            return
        points = 0
        with suppress(FileNotFoundError):  # ReFrame has just emptied the folder for the next launch
            written = {record: record.stat().st_mtime for record in run_folders.staged(self.folder, run_folders.RECORD)}
            newest = max(written, key=lambda record: written[record], default=None)
            if newest is not None and written[newest] >= self.launched:
                points = newest.read_bytes().count(b'"type":"point"')
        expected = BENCHMARKS[self.running.benchmark].points(*grid_of(self.plan.options))
        planned = f" of {expected}" if expected else ""
        self.progress.status(
            f"  {self.countdown.done + 1:3d}/{self.countdown.total} {self.running.label}: "
            f"{points}{planned} points; {self.countdown.left}"
        )
