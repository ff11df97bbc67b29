"""Sizes that a launch takes over instead of calibrating them, so that launches to be compared do the same work.

Sizes belong to the system (`archive.system_sizes`). Where it has none for a case, the first library of the run that
measures the case finds them (`handed_sizes`), in the order of the command line or of the suite. That favours none: a
size only says where on the map a cell is, and each ratio is made of the library's own times at that size, measured side
by side.
"""

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mpi_campaign.archive import run_folders, system_sizes
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.archive.system_sizes import Machine, Sizes
from mpi_campaign.errors import CampaignError
from mpi_campaign.files import read
from mpi_campaign.launching import key_values
from mpi_campaign.launching.key_values import MESSAGE, WORK
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.planning.benchmarks.registry import points_name
from mpi_campaign.planning.cases import Case
from mpi_campaign.planning.options import ANEW, OWN, grid_of
from mpi_campaign.planning.placing import partition_of
from mpi_campaign.planning.plan import Plan, Round
from mpi_campaign.running.handed_sizes import SUFFIX
from mpi_campaign.this_machine import machine
from postprocess.drawing.text import plural
from postprocess.statistics.limits import CALIBRATION_LIMIT

FOLDER = "sizes"
OF_SYSTEM = "system_sizes"
"""The folder of a session with those of the system, by `system_sizes.key`."""
JSON = ".sizes.json"
"""What archived runs of older versions have."""
NOT_FOUND = {"not_searched", "not_monotonic"}
"""The states of sizes that were not found because the launch was too short or disturbed: another one may find them."""


@dataclass(frozen=True)
class TakenOver:
    """The sizes that a case takes over: the first of the sources that is there is copied to the target.  case: the
    case's label."""

    case: str
    sources: tuple[Path, ...]
    target: Path


def taken_over(folder: RunFolder, plan: Plan, turn: Round, of: RunFolder | None) -> list[TakenOver]:
    """The sizes that the launches of a round take over. They are copied into the session's folder for sizes.

    of: a run whose sizes are taken over: those of the same case, else those of the same case of another toolchain.
    Without `of`, a case takes those of the first library of the run that has some, from its first launch, on whatever
    nodes that was, and else those of the system. Where each library has its own, those of its own first launch.
    """
    is_own = plan.options.calibrate == OWN
    orders = []
    for case in _calibrating(plan):
        if not turn.has(case):
            continue
        later = [replace(case, repeat=repeat) for repeat in range(2, case.repeat)]  # where no first one found them
        launches = [
            replace(launch, environment=environment)
            for same in (plan.first_launches(case), later)
            for environment in ((case.environment,) if is_own else plan.environments)
            for launch in same
        ]
        sources = [folder.partial / "records" / f"{launch.stem}{SUFFIX}" for launch in launches]
        if of is not None and (source := _of_run(of, case)) is not None:
            sources.insert(0, source)
        if not is_own:
            sources.append(_of_system(folder, plan, case))
        orders.append(TakenOver(case.label, tuple(sources), folder.session / FOLDER / f"{case.stem}{SUFFIX}"))
    return orders


def hand_over(orders: Sequence[TakenOver]) -> list[str]:
    """Copy the sizes. Returns the labels of the cases without sizes to take over: they are calibrated.

    Raises CampaignError where an archived file cannot be read.
    """
    without = []
    for order in orders:
        order.target.parent.mkdir(exist_ok=True)
        source = next(filter(Path.is_file, order.sources), None)
        if source is None:
            without.append(order.case)
        elif source.name.endswith(JSON):
            order.target.write_text(key_values.from_json(source), encoding="utf-8")
        else:
            shutil.copyfile(source, order.target)
    return without


def recall(folder: RunFolder, plan: Plan) -> list[str]:
    """Put the sizes that the system has into the session's folder. Returns lines that say whose sizes the run takes.
    Raises CampaignError where the system's file cannot be read."""
    options = plan.options
    if options.calibrate == OWN:
        return ["sizes: each library finds its own (--calibrate own); times of different libraries are not compared"]
    path = system_sizes.path_of(folder.root, folder.system)
    kept, answers = system_sizes.read(path), defaultdict[str, set[str]](set)
    for case in _calibrating(plan):
        name, here = _key(plan, case), _machine(plan, case)
        entries = kept.get(name, [])
        known = system_sizes.of_machine(entries, here)
        if known is not None and options.calibrate != ANEW:
            source = _of_system(folder, plan, case)
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(known.text, encoding="utf-8")
        if any(name in names for names in answers.values()):  # a library before this one in the run has told
            continue
        if options.sizes_of:
            answer = f"those of run {options.sizes_of}, where it has some"
        elif known is not None and options.calibrate != ANEW:
            answer = f"those of the system, which {known.toolchain} found in run {known.run}"
        else:
            answer = f"{case.toolchain} finds them, the first library of the run; {path} keeps them for all others"
        if known is not None and options.calibrate == ANEW:
            answer += f", in place of those of run {known.run}: a new series begins"
        if known is None and entries:
            answer += f"; those that it has are of another machine ({entries[0].machine}), and are not used"
        answers[answer].add(name)
    return [f"sizes of {plural(len(names), 'case')}: {answer}" for answer, names in answers.items()]


def keep(folder: RunFolder, plan: Plan, of: RunFolder | None, is_good: Callable[[Case], bool]) -> list[str]:
    """Keep, for the system, the sizes that it had none for; of a run that finds them anew, all. Only those of good
    launches are kept, where every size was searched for.  of: as of `taken_over`.  Returns lines about sizes that are
    not kept, and where many are off their targets."""
    if plan.options.calibrate == OWN:
        return []
    path, done = system_sizes.path_of(folder.root, folder.system), set[str]()
    new: system_sizes.Kept = {}
    off: list[bool] = []
    try:
        kept = system_sizes.read(path)
        for case in (case for turn in plan.rounds for case in _calibrating(plan) if turn.has(case)):
            name, here = _key(plan, case), _machine(plan, case)
            text = read(folder.partial / "records" / f"{case.stem}{SUFFIX}")
            if name in done or not text or not is_good(case) or NOT_FOUND & {*text.split()}:
                continue
            done.add(name)
            entries = kept.get(name, [])
            if system_sizes.of_machine(entries, here) is None or plan.options.calibrate == ANEW:
                found = Sizes(here, *_found(folder, case, of), tuple(text.splitlines()))
                new[name] = [*(entry for entry in entries if entry.machine != here), found]
                off += _off_target(text)
        if new:
            system_sizes.write(path, kept | new)
    except (CampaignError, OSError) as error:
        return [f"sizes are not kept for later runs: {error}"]
    lines = []
    if lacking := {_key(plan, case) for case in _calibrating(plan)} - done:
        lines.append(f"sizes of {plural(len(lacking), 'case')} are not kept: no good launch searched for all of them")
    if 2 * sum(off) > len(off):
        far = f"{sum(off)} of {len(off)} sizes are more than {CALIBRATION_LIMIT:.0%} off their target times"
        lines.append(f"{far}: was this machine busy? --calibrate anew finds them again")
    return lines


def _off_target(text: str) -> list[bool]:
    """Of each size that was found, whether it is far off its target time."""
    lines = [line.split() for line in text.splitlines()]
    found = [(int(line[-4]), int(line[-1])) for line in lines if line[:1] in ([MESSAGE], [WORK]) and line[-1] != "0"]
    return [abs(time_ns / target_ns - 1) > CALIBRATION_LIMIT for target_ns, time_ns in found]


def _found(folder: RunFolder, case: Case, of: RunFolder | None) -> tuple[str, str, str, str]:
    """By which library the sizes of a case were found, in which run, by which commit, and when."""
    source = None if of is None else _of_run(of, case)
    run = folder if of is None or source is None else of
    manifest = run_folders.read_manifest(run)
    environment = case.environment if source is None else source.name.partition(".")[0]
    names = {entry.get("environment"): str(entry["toolchain"]) for entry in manifest["toolchains"]}
    return names.get(environment, environment), run.run, str(manifest["campaign"]["commit"]), manifest["started_utc"]


def _calibrating(plan: Plan) -> Iterator[Case]:
    """The launches that calibrate where they have no sizes to take over: those of `basic`, those of the first library
    first."""
    return (case for case in plan.to_measure if case == case.basic)


def _placement(plan: Plan, case: Case) -> Placement:
    return plan.placement_of(next(turn for turn in plan.rounds if turn.has(case)))


def _key(plan: Plan, case: Case) -> str:
    placement = _placement(plan, case)
    grid = points_name(case.benchmark, *grid_of(plan.options))
    return system_sizes.key(case, grid, placement.ranks, placement.threads_per_rank)


def _machine(plan: Plan, case: Case) -> Machine:
    """What ranks run on. The model of a CPU is known of this machine only."""
    partition = partition_of(plan.options, case.network)
    cpu = machine.cpu_model() if partition.here else f"partition {partition.name}"
    return Machine(cpu, partition.shape(_placement(plan, case).numbers).cores)


def _of_system(folder: RunFolder, plan: Plan, case: Case) -> Path:
    return folder.session / OF_SYSTEM / f"{_key(plan, case)}{SUFFIX}"


def _of_run(run: RunFolder, case: Case) -> Path | None:
    stem = replace(case, repeat=1).stem
    rest = stem.partition(".")[2]  # without the environment
    patterns = (f"{name}{suffix}" for name in (stem, f"*.{rest}") for suffix in (SUFFIX, JSON))
    return next((path for pattern in patterns for path in sorted(run.records_folder.glob(pattern))), None)
