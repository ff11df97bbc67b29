"""Build `timing_selfcheck` and launch it, as a benchmark is launched: same placement, same lock, same guard."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpi_campaign import STATE, files
from mpi_campaign.children import causes, environ
from mpi_campaign.doctor import busy_clock
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import nodes
from mpi_campaign.libraries import launch_environment, launches, recording
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import BIND_RANK, Impossible, Request, Settings
from mpi_campaign.planning import checks
from mpi_campaign.processes import guarded
from mpi_campaign.processes.progress import Countdown, Progress
from mpi_campaign.systems import known_systems
from mpi_campaign.this_machine import host, machine
from mpi_campaign.toolchains import builds, resolving
from mpi_campaign.toolchains.resolving import Toolchain

PROGRAM = "timing_selfcheck"
RECORDS = STATE / "selfcheck"
SIZES = "sizes.txt"
NETWORK = "shm"
RANKS = 2
# Of each work in each launch, as many as take a few seconds in all. The interval of their median reaches from the 8th
# smallest to the 8th largest, so that single disturbances do not widen it.
REPETITIONS = 25
STEPS = 3

# Expected time of the first launch, which looks at everything, and of each later one, until times are known.
FIRST_SECONDS = 35.0
NEXT_SECONDS = 6.0
# A launch that takes longer is hung.
LIMIT_SECONDS = 300.0
# Time between looks at a launch. It is long, because a look takes time from the launch.
POLL_SECONDS = 2.0


@dataclass
class Measured:
    """The records of the launches in the order of time, and the trouble that ended them early; empty without trouble.
    log: the output of the launch that failed, where it could be written.  stuck: the next launch would fail too."""

    toolchain: str
    placement: Placement
    folder: Path
    record_paths: list[Path] = field(default_factory=list)
    beside_busy: list[busy_clock.Place] = field(default_factory=list)
    trouble: str = ""
    log: Path | None = None
    stuck: bool = False
    interrupted: bool = False


class Selfcheck:
    """The launches of one toolchain on this machine: one that looks at everything, then `launches` of the same work."""

    def __init__(self, spec: resolving.Spec, launches: int, progress: Progress) -> None:
        self.spec = spec
        self.launches = launches
        self.progress = progress

    def measure(self, before: Callable[[], None]) -> Measured:
        """Build and launch. `before` is called just before the launches, when nobody else measures.

        Raises CampaignError where nothing can be launched: no compiler, too few cores, no toolchain; KeyboardInterrupt
        before the first launch.
        """
        checks.check_clone()
        self.progress.step(f"finding {self.spec.toolchain}")
        toolchain, placement, settings = prepare(self.spec, self.progress.detail)
        with guarded.alone(self.progress.detail):
            self.progress.step(f"building {PROGRAM}")
            program = build(toolchain)
            before()
            folder = RECORDS / files.name_by_time()
            folder.mkdir(parents=True)
            return self._launch_all(_Launch(toolchain, placement, settings, program, folder))

    def _launch_all(self, launch: "_Launch") -> Measured:
        measured = Measured(launch.toolchain.toolchain, launch.placement, launch.folder)
        launches = self.launches + 1
        self.progress.step(f"measuring with {measured.toolchain}: {launches} launches")
        countdown = Countdown(self.launches, NEXT_SECONDS * self.launches)
        for number in range(1, launches + 1):
            first = number == 1
            countdown.begin()
            self.progress.detail(
                f"1 of {launches}: everything, about {FIRST_SECONDS + NEXT_SECONDS * countdown.total:.0f} s left"
                if first
                else f"{number} of {launches}: work, {countdown.left}"
            )
            record = launch.folder / f"launch-{number:02}.jsonl"
            ended = launch.run(record, launch.sections(first=first))
            if record.is_file():
                measured.record_paths.append(record)
            measured.interrupted = ended.interrupted
            if ended.interrupted:
                measured.trouble = f"interrupted in launch {number} of {launches}"
            elif ended.exit_code != 0:
                measured.trouble = f"launch {number} of {launches} failed: {ended.complaint}"
                measured.log, measured.stuck = ended.log, ended.log is None
            if measured.trouble:
                break
            if not first:
                countdown.end()
        if not measured.trouble:
            self.progress.detail("the clock beside busy threads")
            measured.beside_busy = list(self._beside_busy(launch, measured))
        return measured

    def _beside_busy(self, launch: "_Launch", measured: Measured) -> Iterator[busy_clock.Place]:
        """Launches beside a busy thread on each core, here and over two nodes in a box, until one is interrupted."""
        between = busy_clock.between_nodes(launch.toolchain, launch.placement)
        for where, network, settings in (("one node", NETWORK, launch.settings), ("two nodes", "tcp", between)):
            if isinstance(settings, Impossible):
                yield busy_clock.Place(where, None, settings.reason)
                continue
            record = launch.folder / f"busy-{network}.jsonl"
            with busy_clock.busy(machine.cores().cpus):
                ended = replace(launch, settings=settings, network=network).run(record, busy_clock.SECTIONS)
            if ended.interrupted:
                measured.interrupted, measured.trouble = True, "interrupted beside busy threads"
                return
            good = ended.exit_code == 0
            yield busy_clock.Place(where, record if good else None, "" if good else ended.complaint)


@dataclass(frozen=True)
class _Ended:
    exit_code: int
    interrupted: bool
    complaint: str
    log: Path | None  # None: it could not be written


@dataclass(frozen=True)
class _Launch:
    toolchain: Toolchain
    placement: Placement
    settings: Settings
    program: Path
    folder: Path
    network: str = NETWORK

    def sections(self, *, first: bool) -> tuple[str, ...]:
        """The first launch looks at everything, and saves the sizes that the others take."""
        sizes = str(self.folder / SIZES)
        look = ("--save-sizes", sizes) if first else ("--only", "work", "--sizes", sizes)
        return ("--repetitions", str(REPETITIONS), *look)

    def words(self, record: Path, sections: Sequence[str]) -> list[str]:
        """The command line of one launch."""
        line = [
            str(resolving.path_folder(self.toolchain) / "mpiexec"),
            "-n",
            str(self.placement.ranks),
            *self.settings.launcher_options(self.program.parent),
            str(self.program),
            *("--toolchain", self.toolchain.toolchain),
            *("--provider", self.toolchain.provider),
            *("--network", self.network),
            *recording.environment(self.toolchain.family, environ.requested()),
            *("--threads", str(self.placement.threads_per_rank)),
            *("--record", str(record)),
            *sections,
            "--quiet",
        ]
        return line if self.network == NETWORK else nodes.Layout().command(line)

    def run(self, record: Path, sections: Sequence[str]) -> _Ended:
        env = launch_environment.of_launch(Path(self.toolchain.prefix), self.settings, self.placement.threads_per_rank)
        ended = guarded.run(
            self.words(record, sections),
            lambda _line: None,
            lambda: None,
            env=env,
            poll_seconds=POLL_SECONDS,
            limit_seconds=LIMIT_SECONDS,
        )
        log = record.with_suffix(".log")
        try:
            log.write_text("".join(f"{line}\n" for line in ended.output))
        except OSError as error:
            return _Ended(ended.exit_code or 1, ended.interrupted, f"{log}: {error.strerror}", None)
        why = f"it hung: no end within {LIMIT_SECONDS:.0f} s" if ended.hung else complaint(ended)
        return _Ended(ended.exit_code or int(ended.hung), ended.interrupted, why, log)


def prepare(spec: resolving.Spec, say: Callable[[str], None]) -> tuple[Toolchain, Placement, Settings]:
    """A toolchain, and where and how two ranks of it are launched on this machine. Raises CampaignError where they
    cannot be."""
    machine.compiler()
    node = known_systems.this_node()
    placement = Placement.on(node, RANKS, 0)
    if placement.oversubscribed:
        raise CampaignError(f"two ranks need two cores, this machine allows {node.cores}")
    toolchain = resolving.resolve(spec, say)
    request = Request(Path(toolchain.prefix), toolchain.version, "basic", NETWORK, placement)
    settings = launches.launch(toolchain.family, request)
    if isinstance(settings, Impossible):
        raise CampaignError(f"{toolchain.toolchain}: {settings.reason}")
    return toolchain, placement, settings


def complaint(ended: guarded.Ended, programs: Sequence[str] = (PROGRAM,)) -> str:
    """Why a launch failed: a program's own line, else the cause in the launcher's output."""
    return causes.complaint("\n".join(ended.output), programs, ended.exit_code, host.shm_bytes(Path("/"))[1])


def refuse_unknown(spec: resolving.Spec) -> None:
    """Refuse a toolchain that does not exist, and install none. Raises CampaignError. Where that cannot be known,
    because no registry answers, nothing is refused."""
    if spec.prefix or spec.family not in resolving.WHEELS:
        with contextlib.suppress(OSError):  # a full disk, say: a finding, when it is measured with
            resolving.resolve(spec, lambda _text: None)
        return
    resolving.existing(spec)


def build(toolchain: Toolchain, target: str = PROGRAM, *, tests: bool = False) -> Path:
    """A program, built for the toolchain where the benchmarks are built; nothing is compiled a second time.

    tests: in a folder beside it, where the programs of the tests are built too.  Raises CampaignError with the
    compiler's first error.
    """
    folder = builds.folder(toolchain.environment, toolchain.mpicc)
    folder = folder.with_name(f"{folder.name}-tests") if tests else folder
    options = [*builds.options(toolchain.mpicc), *(["-DCAMPAIGN_TESTS=ON"] if tests else [])]
    programs = Path(sys.prefix, "bin")
    path = f"{resolving.path_folder(toolchain)}:{programs}:{os.environ.get('PATH', os.defpath)}"
    wrapper = builds.environment(toolchain.family, toolchain.version, toolchain.prefix)
    libraries_path = launch_environment.own_libraries(Path(toolchain.prefix), Settings(wrapper))
    env = environ.built(environ.BUILD, wrapper, {"PATH": path}, libraries=libraries_path)
    configure = ["-S", str(builds.SOURCES), "-B", str(folder), *builds.anew(folder), *options]
    for words in (configure, ["--build", str(folder), "--target", target, BIND_RANK]):
        ended = guarded.run([str(programs / "cmake"), *words], lambda _line: None, lambda: None, env=env)
        if ended.interrupted:
            raise KeyboardInterrupt
        if ended.exit_code != 0:
            what = causes.of_build("\n".join(ended.output)) or f"it ended with exit code {ended.exit_code}"
            raise CampaignError(f"{target} cannot be built with {toolchain.toolchain}: {what}")
    return folder / target
