"""`campaign figures`: how precisely this project measures on this machine, as tables and pictures.

Launches `timing_selfcheck` and, where the truth must be known, `known_truth`, within a node and between two that are
namespaces of this machine (`nodes.py`); `postprocess` makes numbers, tables and pictures of what they leave.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mpi_campaign import ROOT, STATE, files
from mpi_campaign.children import environ
from mpi_campaign.doctor import busy_clock, disturbances, selfcheck
from mpi_campaign.doctor.load import Load
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, CampaignError
from mpi_campaign.launching import nodes
from mpi_campaign.libraries import launch_environment, recording
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Impossible, Settings
from mpi_campaign.planning.checks import check_clone
from mpi_campaign.processes import guarded
from mpi_campaign.processes.progress import Progress, duration
from mpi_campaign.this_machine import machine
from mpi_campaign.this_machine.findings import GOOD
from mpi_campaign.toolchains import resolving
from mpi_campaign.toolchains.resolving import Toolchain
from postprocess.drawing.text import share
from postprocess.families.timing_selfcheck.record import load_selfcheck
from postprocess.quality import precision, precision_plot, precision_text, stop_rules
from postprocess.quality.precision import BETWEEN, LAUNCH, RUN, SERIES, TRUTH_BETWEEN, TRUTH_WITHIN, WITHIN
from postprocess.quality.precision_text import PageError
from postprocess.records.fields import RecordError
from postprocess.statistics.limits import CONCLUSIVE as DISTURBING_SHARE

MACHINE = Path("/")
FOLDER = STATE / "figures"
DOCS = ROOT / "docs"
PAGE = "measurement.md"
PICTURES = "measurement"
RECORDS = "records"

FAULTS = "offset_s=3,drift_ppm=40"
TRUTH = "known_truth"
STEPS = 4
LOAD_SECONDS = 1.0
POLL_SECONDS = 2.0
# A launch that takes longer than this, and this many times its expected time, is hung.
LEAST_LIMIT_SECONDS, LIMIT_TIMES = 120.0, 10.0
SIZES = "sizes.txt"
START_UP_SECONDS = 1.5


@dataclass(frozen=True)
class Plan:
    """How much is measured.  repeats: launches for clocks and starts, in each place.  truths: such launches with
    artificial clocks.  series: by target, the number of launches, and how often every rule begins anew in each."""

    hold_seconds: float
    starts: int
    repeats: int
    truths: int
    launches: int
    targets: tuple[str, ...]
    series: tuple[tuple[str, int, int], ...]


WHOLE = Plan(10.0, 2000, 3, 2, 10, ("500us", "4ms", "16ms", "64ms"), (("500us", 2, 3), ("4ms", 2, 2), ("16ms", 1, 1)))
QUICK = Plan(2.0, 500, 1, 1, 3, ("500us", "4ms"), (("500us", 1, 1),))
MILLISECONDS = {"500us": 0.5, "4ms": 4.0, "16ms": 16.0, "64ms": 64.0}


@dataclass(frozen=True)
class Step:
    """A launch. `record` is the file that it writes, `needs` a file that it reads."""

    what: str
    seconds: float
    words: list[str]
    env: dict[str, str]
    record: Path
    needs: Path | None = None

    @property
    def is_truth(self) -> bool:
        return self.record.suffix == ".json"


@dataclass
class Launches:
    """The command lines of everything, for one toolchain."""

    toolchain: Toolchain
    placement: Placement
    within: Settings
    between: Settings | Impossible
    folder: Path
    plan: Plan
    program: Path = Path()
    truth: Path = Path()

    def steps(self) -> Iterator[Step]:
        """The launches in their order: sizes are found first, the most important launches follow."""
        plan, launches = self.plan, self.plan.launches + 1  # the first one finds the sizes and is not compared
        work = 2 * selfcheck.REPETITIONS * sum(MILLISECONDS[target] for target in plan.targets) / 1e3
        targets, each = ",".join(plan.targets), ("--repetitions", str(selfcheck.REPETITIONS))
        sizes = self.folder / SIZES
        for number in range(1, launches + 1):
            first = number == 1
            what = f"work, launch {number} of {launches}" + (", finds the sizes" if first else "")
            given = ("--save-sizes" if first else "--sizes", str(sizes))
            yield self._selfcheck(
                what, LAUNCH, number, work + (10 if first else 0.5),
                ("--only", "work", "--targets", targets, *each, *given), None if first else sizes,
            )  # fmt: skip
        for number in range(1, plan.repeats + 1):
            hold = ("--only", "clock,start", "--hold", f"{plan.hold_seconds:g}", "--starts", str(plan.starts))
            yield self._selfcheck("clock and start within a node", WITHIN, number, plan.hold_seconds + 1, hold)
            yield from self._between(number, 2 * plan.hold_seconds + 2, hold)
        for number in range(1, plan.truths + 1):
            yield from self._truth(TRUTH_WITHIN, number)
            yield from self._truth(TRUTH_BETWEEN, number)
        for target, times, count in plan.series:
            repetitions = stop_rules.LONGEST * count + 1
            words = ("--only", "work", "--targets", target, "--repetitions", str(repetitions), "--sizes", str(sizes))
            for number in range(1, times + 1):
                name = f"{SERIES}-{target}"
                seconds = 2 * repetitions * (MILLISECONDS[target] + 0.1) / 1e3
                yield self._selfcheck(f"{repetitions} repetitions of {target}", name, number, seconds, words, sizes)

    def _label(self, record: Path, network: str) -> list[str]:
        return [
            *("--toolchain", self.toolchain.toolchain, "--provider", self.toolchain.provider, "--network", network),
            *("--threads", str(self.placement.threads_per_rank), "--record", str(record), "--quiet"),
            *recording.environment(self.toolchain.family, environ.requested()),
        ]

    def _mpiexec(self, settings: Settings) -> list[str]:
        launcher = str(resolving.path_folder(self.toolchain) / "mpiexec")
        return [launcher, "-n", str(self.placement.ranks), *settings.launcher_options(self.program.parent)]

    def _env(self, settings: Settings) -> dict[str, str]:
        return launch_environment.of_launch(Path(self.toolchain.prefix), settings, self.placement.threads_per_rank)

    def _selfcheck(
        self, what: str, group: str, number: int, seconds: float, words: tuple[str, ...], needs: Path | None = None
    ) -> Step:
        record = self.folder / f"{group}-{number:02}.jsonl"
        line = [*self._mpiexec(self.within), str(self.program), *words, *self._label(record, "shm")]
        return Step(what, seconds, line, self._env(self.within), record, needs)

    def _between(self, number: int, seconds: float, words: tuple[str, ...]) -> Iterator[Step]:
        if isinstance(self.between, Settings):
            record = self.folder / f"{BETWEEN}-{number:02}.jsonl"
            line = [*self._mpiexec(self.between), str(self.program), *words, *self._label(record, "tcp")]
            line = nodes.Layout().command(line)
            yield Step("clock and start between two nodes", seconds, line, self._env(self.between), record)

    def _truth(self, where: str, number: int) -> Iterator[Step]:
        settings = self.within if where == TRUTH_WITHIN else self.between
        if isinstance(settings, Impossible):
            return
        hold = f"{self.plan.hold_seconds:g}"
        # The variable is set beside the program: launchers differ in what they hand on.
        program = [str(shutil.which("env") or "env"), f"ARTIFICIAL_CLOCK={FAULTS}", str(self.truth)]
        line = [*self._mpiexec(settings), *program, hold, hold, str(self.plan.starts)]
        if where == TRUTH_BETWEEN:
            line = nodes.Layout(clock_offset_seconds=0).command(line)  # all nodes read the machine's one clock
        what = f"artificial clocks {'within a node' if where == TRUTH_WITHIN else 'between two nodes'}"
        record = self.folder / f"{where}-{number:02}.json"
        yield Step(what, 2 * self.plan.hold_seconds + 2, line, self._env(settings), record)


@dataclass
class Run:
    """One run of the command."""

    plan: Plan
    spec: resolving.Spec
    out: Path | None
    words: list[str]
    progress: Progress = field(default_factory=lambda: Progress(STEPS, sys.stderr))
    about: dict[str, Any] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    interrupted: bool = False

    def __call__(self) -> int:
        """Measure, write, tell. Returns the exit code. Raises CampaignError where nothing can be measured."""
        check_clone()
        into_docs = self.out is not None and self.out.resolve() == DOCS.resolve()
        if into_docs:
            _page_with("", DOCS / PAGE)
        folder = _new_folder(None if into_docs else self.out)
        launches = self._prepare(folder / RECORDS)
        with guarded.alone(self.progress.detail):
            self.progress.step(f"building {selfcheck.PROGRAM} and {TRUTH}")
            launches.program = selfcheck.build(launches.toolchain)
            launches.truth = selfcheck.build(launches.toolchain, TRUTH, tests=True)
            self._measure(launches)
        self.progress.step("tables and pictures")
        records = precision.load(folder / RECORDS)
        computed = precision.summarise(records)
        part = precision_text.part_of_page(computed, records, _draw(computed, folder))
        (folder / PAGE).write_text(part + "\n")
        print("\n".join(precision_text.verdict_lines(computed, records)))
        for line in precision_text.warnings(computed, records):
            print(f"campaign: {line}", file=sys.stderr)
        if into_docs and not self.interrupted:
            part = precision_text.part_of_page(computed, records, _draw(computed, DOCS))
            files.write_atomically(DOCS / PAGE, _page_with(part, DOCS / PAGE))
            print(f"page: {DOCS / PAGE}")
        print(f"figures: {folder / PAGE}")
        return EXIT_INTERRUPTED if self.interrupted else EXIT_FAILED if self.troubles else EXIT_GOOD

    def _prepare(self, folder: Path) -> Launches:
        self.progress.step(f"finding {self.spec.toolchain}")
        toolchain, placement, within = selfcheck.prepare(self.spec, self.progress.detail)
        self.about = {
            "toolchain": toolchain.toolchain,
            "command": " ".join(self.words),
            "note": precision_text.what_is_short(self.plan.hold_seconds, self.plan.launches),
            **_about_machine(placement),
        }
        between = busy_clock.between_nodes(toolchain, placement)
        if isinstance(between, Impossible):
            self.about["no_nodes"] = between.reason
            self.progress.detail(f"between two nodes nothing is measured: {between.reason}")
        return Launches(toolchain, placement, within, between, folder, self.plan)

    def _measure(self, launches: Launches) -> None:
        steps = list(launches.steps())
        left = sum(step.seconds + START_UP_SECONDS for step in steps)
        launches.folder.mkdir(parents=True)
        self.progress.step(f"measuring: {len(steps)} launches, about {duration(left)}")
        self.about["started_utc"] = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        load = _Load(machine.cores().cpus)
        if load.share_before > DISTURBING_SHARE:
            self.progress.detail(
                f"other programs take {share(load.share_before)} of the cores' time: it will be seen in the figures"
            )
        for number, step in enumerate(steps, start=1):
            self.progress.detail(f"{number} of {len(steps)}: {step.what}, about {duration(left)} left")
            left -= step.seconds + START_UP_SECONDS
            self._launch(step)
            if self.interrupted:
                self.about["interrupted"] = f"interrupted in launch {number} of {len(steps)}"
                break
            load.look()
        self.about.update(load.seen())
        self.about["library"] = _library(launches.folder)
        self.about["trouble"] = "; ".join(self.troubles)
        (launches.folder / RUN).write_text(json.dumps(self.about, indent=1) + "\n")

    def _launch(self, step: Step) -> None:
        if step.needs and not step.needs.is_file():
            self.troubles.append(f"{step.what}: not started, the sizes were not found")
            return
        limit = LEAST_LIMIT_SECONDS + LIMIT_TIMES * step.seconds
        ended = guarded.run(
            step.words, lambda _line: None, lambda: None, env=step.env, poll_seconds=POLL_SECONDS, limit_seconds=limit
        )
        step.record.with_suffix(".log").write_text("".join(f"{line}\n" for line in ended.output))
        self.interrupted = ended.interrupted
        if ended.interrupted:
            return
        if ended.hung:
            self.troubles.append(f"{step.what}: it hung, no end within {limit:.0f} s")
        elif ended.exit_code != 0:
            complaint = selfcheck.complaint(ended, (selfcheck.PROGRAM, TRUTH, "nodes"))
            self.troubles.append(f"{step.what}: {complaint}")
        elif step.is_truth:
            self._keep_truth(step, ended.output)

    def _keep_truth(self, step: Step, output: list[str]) -> None:
        line = next((line for line in output if line.startswith("{")), "")
        try:
            seen = json.loads(line)
        except ValueError:
            self.troubles.append(f"{step.what}: {TRUTH} printed no object")
            return
        about = {"faults": FAULTS, "hold_seconds": self.plan.hold_seconds, "command": step.words}
        step.record.write_text(json.dumps({**about, **seen}) + "\n")


def _new_folder(out: Path | None) -> Path:
    """The folder to write to. It does not exist or is empty; it is made when there is something to write. Raises
    CampaignError where the folder is not empty, or cannot be made."""
    if out is None:
        folder = FOLDER / files.name_by_time()
    else:
        folder = out.resolve()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            shown = "" if out == Path() else f" {out}"  # '' and '.' are the same path
            raise CampaignError(f"--out{shown}: it is there already; name a new or an empty folder, or docs")
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise CampaignError(f"{folder}: cannot be made, {existing} is no folder that can be written to")
    return folder


class _Load(Load):
    """Watches what others take from the cores: for LOAD_SECONDS, while this process sleeps, and until the latest look.

    Looks are taken between launches, because the time of a child counts as this process's only after the child's end.
    """

    def __init__(self, cpus: Sequence[int]) -> None:
        super().__init__(cpus)
        self.look_before(LOAD_SECONDS)
        self.until_look = disturbances.CpuTime(0, 0, 0)
        self.others_until_look: float | None = None

    def look(self) -> None:
        """Take a look: note what others have taken until now."""
        self.until_look, self.others_until_look = self.taken, self.others

    def seen(self) -> dict[str, str]:
        """Facts for the page. Without a launch that has ended, only the load before is known."""
        meanwhile = {} if self.others_until_look is None else {"meanwhile": self.others_until_look}
        load = disturbances.other_load({"before": self.share_before, **meanwhile}, "")
        steal = disturbances.steal(self.until_look, "meanwhile")
        facts = {"seconds": f"{self.passed:.0f}", "load": load.seen}
        if meanwhile:
            facts["steal"] = steal.seen
        busy = [f"other programs took {load.seen}"] if load.state != GOOD else []
        busy += [f"the hypervisor took {steal.seen}"] if steal.state != GOOD else []
        if busy:
            facts["busy"] = f"{'; '.join(busy)}; more than {share(DISTURBING_SHARE)} disturbs"
        return facts


def _about_machine(placement: Placement) -> dict[str, str]:
    facts, git = machine.host_facts(), machine.git_state()
    unknown = f" ({git.why_unknown})" if git.why_unknown else ""
    return {
        "commit": git.commit + (", with changes" if git.dirty else "") + unknown,
        "machine": f"{facts['cpu']}, {facts['cores']} cores, {int(facts['memory_bytes']) >> 30} GiB; {facts['os']}, "
        f"kernel {facts['kernel']}",
        "placement": f"{placement.ranks}, {placement.threads_per_rank} computing threads each; over shared memory "
        "within a node, over TCP and a veth pair between two",
        "work": "computation: DGEMM; communication: MPI_Ibcast and MPI_Wait",
    }


def _library(folder: Path) -> str:
    """The first line of the library's version string; empty without a record."""
    for path in sorted(folder.glob("*.jsonl")):
        try:
            version = load_selfcheck(path).header.mpi_library_version
        except RecordError:
            continue
        return str(version).partition("\n")[0].strip()
    return ""


def _page_with(part: str, path: Path) -> str:
    try:
        page = path.read_text()
    except OSError as error:
        raise CampaignError(
            f"{path}: {error.strerror}; the figures go into it: git checkout -- docs/{PAGE}, or give another --out"
        ) from error
    try:
        return precision_text.into_page(page, part)
    except PageError as error:
        raise CampaignError(f"{path}: {error}") from error


def _draw(computed: precision.Precision, folder: Path) -> dict[str, str]:
    """Draw the pictures, and write the table of all stop rules beside them. Returns their paths relative to the
    folder, by name."""
    drawn = precision_plot.write_pictures(computed, folder / PICTURES)
    if computed.stops:
        drawn[precision_text.RULES] = folder / PICTURES / f"{precision_text.RULES}.csv"
        drawn[precision_text.RULES].write_text(precision_text.rules_csv(computed))
    return {name: path.relative_to(folder).as_posix() for name, path in drawn.items()}
