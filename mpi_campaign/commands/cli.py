"""The commands that a person types. A command imports what it needs when it is called, so that it starts at once."""

import functools
import importlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mpi_campaign import __version__
from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from mpi_campaign.commands import testing
from mpi_campaign.commands.paths import Kept
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, EXIT_WRONG_USE, CampaignError
from postprocess.drawing.text import plural
from postprocess.statistics.limits import HISTORY_RATE, Limits

Function = TypeVar("Function", bound=Callable[..., Any])
SHORT_FORMS = {"peers": "peers", "impact": "mpi_impact"}
"""Options of `show`, and the `--benchmark` that each stands for."""
PROBE_LIMIT = "5 minutes"
"""The usual time limit of a probe job, in minutes: `probing.LIMIT_SECONDS`, which is not imported for a help."""
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class Commands(click.Group):
    """The commands, of which `run` is loaded late."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[:1] == ["run"]:
            load_run()
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, message="%(prog)s %(version)s")
def campaign() -> None:
    """Measure how MPI libraries overlap communication with computation, and say how sure the answer is.

    `campaign run` needs no argument. Exit codes: 0 good, 1 a test failed or something is slower,
    2 wrong use or nothing could run, 130 interrupted.
    """


def output_option(function: Function) -> Function:
    return click.option(
        "--output",
        type=Kept(file_okay=False),
        default=run_folders.RESULTS,
        show_default="results/",
        help="Folder of the archive.",
    )(function)


def toolchain_option(function: Function) -> Function:
    words = "The MPI library to measure with. Default: the first of `run`'s."
    return click.option("--toolchain", metavar="NAME@VERSION[=PREFIX]", help=words)(function)


def environment_option(function: Function) -> Function:
    return click.option(
        "--env",
        "environment",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="Let a variable into launches and builds; they get none of this shell's that steer them. May be repeated.",
    )(function)


def together(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Decorators as one, which stand in a help in this order."""
    return lambda function: functools.reduce(lambda done, option: option(done), reversed(options), function)


def job_options(usual_limit: str) -> Callable[[Function], Function]:
    """Options of jobs of a batch system, as fields of the plan's `Options`. usual_limit: of a job, in words."""
    return together(
        click.option(
            "--account", default="", help="The account that pays for the jobs, where the batch system asks for one."
        ),
        click.option(
            "--time-limit", "job_time_limit", default="", metavar="TIME",
            help=f"Of each job: 30 (minutes), 2:00:00, 1-00:00:00. Default: {usual_limit}.",
        ),
        click.option(
            "--max-wait", "most_wait", default="", metavar="TIME",
            help="How long each job may wait in the queue. Default: 1-00:00:00, a day.",
        ),
        click.option(
            "--scheduler-option", "scheduler_options", multiple=True, metavar="OPTION",
            help="Of each job, as the batch system has it: --scheduler-option=--qos=long. May be repeated.",
        ),
    )  # fmt: skip


def limits_options(usual: Limits) -> Callable[[Function], Function]:
    """Options that say what counts as a difference: `least_ratio`, `least_difference` and `rate`."""

    def of(name: str, value: float, words: str) -> Callable[[Function], Function]:
        return click.option(name, type=float, default=value, show_default=True, help=words)

    return together(
        of("--least-ratio", usual.least_ratio, "Smaller changes of a time do not count."),
        of("--least-difference", usual.least_difference, "Smaller changes of a ratio do not count."),
        of("--rate", usual.rate, "Expected share of false discoveries among the differences found."),
    )


# Its options are made of the axes of every benchmark. It is loaded when it is called, or asked for its help.
campaign.add_command(click.Command("run", short_help="Build, measure, archive and report."))


def load_run() -> click.Command:
    """The command `run`, with its options."""
    importlib.import_module("mpi_campaign.commands.run")
    return campaign.commands["run"]


def was_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


@campaign.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_(*, as_json: bool) -> int:
    """Systems, toolchains, benchmarks, configurations, suites: available, or why not."""
    from mpi_campaign.commands import listing  # noqa: PLC0415

    everything = listing.everything()
    print(json.dumps(everything, indent=1) if as_json else listing.as_text(everything))
    return EXIT_GOOD


@campaign.command()
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="A list of objects, one per point.")
@click.option("--benchmark", default="", metavar="NAME", help="Show a single benchmark, or a family of benchmarks.")
@click.option("--peers", is_flag=True, help="Results of other benchmarks beside ours: --benchmark peers.")
@click.option("--impact", is_flag=True, help="Cost of an idle library to a computation: --benchmark mpi_impact.")
@click.option("--provenance", is_flag=True, help="Machine, libraries, builds and commits of the run.")
@output_option
def show(run: str, output: Path, *, as_json: bool, **asked: Any) -> int:
    """Every point of RUN (its folder, its name, `last` or SYSTEM/last) with its metrics and validity.

    Exit code 1: a record cannot be read, or is not what was archived. A line names it.
    """
    folder = run_folders.readable(run, output.resolve())
    from mpi_campaign.archive import rendering  # noqa: PLC0415

    chosen = [name for name, is_chosen in asked.items() if is_chosen]
    if len(chosen) > 1:
        raise CampaignError(f"{' and '.join(f'--{name}' for name in chosen)}: ask for one of them")
    loaded = rendering.load(folder)
    benchmark = str(asked["benchmark"]) or next((SHORT_FORMS[name] for name in chosen if name in SHORT_FORMS), "")
    problems, failures = rendering.problems(folder, loaded), rendering.failures(loaded)
    if asked["provenance"]:
        print(rendering.provenance_as_json(folder) if as_json else rendering.provenance_text(folder, loaded))
    elif benchmark:
        family = rendering.family_named(benchmark, loaded)
        if not rendering.has(loaded, family, benchmark):
            _complain((*problems, *failures))
            raise CampaignError(rendering.lacks_words(loaded, benchmark))
        tell = rendering.table_as_json if as_json else rendering.table_text
        print(tell(loaded, family, benchmark))
    else:
        print(rendering.as_json(loaded) if as_json else rendering.full_table(loaded))
    _complain((*problems, *failures))
    return _code(folder, problems)


def _complain(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"campaign: {line}", file=sys.stderr)


def _code(folder: run_folders.RunFolder, problems: Sequence[str]) -> int:
    """The exit code of a command that shows a run: 1 where a complete one is not what was archived, or a record of it
    cannot be read, so that what is shown lacks something that was measured."""
    return EXIT_FAILED if problems and folder.archived.is_dir() else EXIT_GOOD


@campaign.command()
@click.argument("sides", nargs=-1, required=True, metavar="A B [C ...]")
@click.option(
    "--within", default="", metavar="SIDE", help="Compare these runs only: a run, dates or a system, as for a side."
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="t_measured_ns, t_comm_ref_ns, t_comp_ref_ns, r_overhead, r_overhead_vs_basic, r_mpi_impact, t_ns, gain, "
    "t_wall_ns, cpu_share, availability, round_trip_ns, L_ns, o_ns, g_ns, G_ns_per_byte, recv_over_wait, t_overlap_ns, "
    "improvement, ratio_to_library, handover_ns, ratio_to_mpi, improvement_vs_basic, r_comm, r_comp_slowdown, "
    "speedup_vs_basic or t_whole_ns. May be repeated. Default: all but t_comp_ref_ns, handover_ns and the last five.",
)
@limits_options(Limits())
@click.option("--all", "every", is_flag=True, help="Every case, not only those that changed.")
@click.option("--json", "as_json", is_flag=True, help="One object, for programs.")
@click.option("--markdown", "as_markdown", is_flag=True, help="For a pull request.")
@click.option("--junit", type=Kept(dir_okay=False), help="Write a JUnit file too.")
@click.option("--html", type=Kept(dir_okay=False), help="Write a page to look at too.")
@output_option
def compare(
    sides: tuple[str, ...],
    output: Path,
    junit: Path | None,
    html: Path | None,
    *,
    as_json: bool,
    as_markdown: bool,
    **asked: Any,
) -> int:
    """Is B slower than A? Each case: slower, faster, same, or cannot tell, and how sure that is.

    A side is a run (a folder, a name, `last`, `last~1`), a toolchain (openmpi@5.0.11, openmpi), a configuration, a
    system, dates (2026-11-01..2026-11-20) or several of these joined by commas, which must all hold. Where no side
    names runs, they are of the newest run that has all sides. The launch is the unit: measure with --repeat.
    Exit code 1: something is slower.
    """
    from mpi_campaign.verdicts import comparing  # noqa: PLC0415

    if as_json and as_markdown:
        raise CampaignError("--json and --markdown: ask for one of them")
    form = "json" if as_json else "markdown" if as_markdown else ""
    request = comparing.ComparisonRequest(words=sides, **asked)
    files = {kind: path for kind, path in (("junit", junit), ("html", html)) if path is not None}
    return comparing.run(request, output.resolve(), form, files)


@campaign.command()
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--criteria", type=click.Path(path_type=Path, dir_okay=False), required=True, help="What a machine must do: YAML."
)
@click.option("--json", "as_json", is_flag=True, help="One object, for programs.")
@click.option("--junit", type=Kept(dir_okay=False), help="Write a JUnit file too.")
@click.option("--html", type=Kept(dir_okay=False), help="Write a page to print and sign too.")
@output_option
def accept(
    runs: tuple[str, ...], criteria: Path, output: Path, junit: Path | None, html: Path | None, *, as_json: bool
) -> int:
    """Hold RUNS against written criteria: PASS, FAIL or NOT TESTED for each, with evidence.

    Several runs are one acceptance, such as one of each node, on the sizes of the first (`run --sizes-of`).
    docs/acceptance.md says how criteria are written. Exit code 1: not all of them pass.
    """
    from mpi_campaign.verdicts import accepting  # noqa: PLC0415

    files = {kind: path for kind, path in (("junit", junit), ("html", html)) if path is not None}
    folders = [run_folders.readable(run, output.resolve()) for run in runs]
    return accepting.run(folders, criteria, files, as_json=as_json)


@campaign.command()
@click.argument("run")
@output_option
def reproduce(run: str, output: Path) -> int:
    """Print the commands that build the toolchains of RUN again and repeat the run."""
    from mpi_campaign.archive import provenance  # noqa: PLC0415

    folder = run_folders.find(run, output.resolve())
    print("\n".join(provenance.steps(folder, load_run())))
    return EXIT_GOOD


@campaign.command()
@click.argument("run")
@output_option
def cancel(run: str, output: Path) -> int:
    """Cancel the jobs of RUN that wait or run. What they measured is kept: go on with `run --resume`."""
    from mpi_campaign.running import batch  # noqa: PLC0415

    folder = run_folders.find(run, output.resolve())
    jobs = batch.cancel(folder)
    print(f"cancelled: {', '.join(jobs)}" if jobs else "no job of it waits or runs")
    return EXIT_GOOD


@campaign.command()
@click.option("--provider", default="wheels", show_default=True, help="Where MPI libraries come from: wheels or spack.")
@click.option("--system", default="local", show_default=True, help="A folder of systems/.")
@click.option("--suite", default="smoke", show_default=True, help="Fetch or build for this suite.")
@click.option(
    "--toolchain",
    "toolchains",
    multiple=True,
    metavar="NAME@VERSION[=PREFIX]",
    help="As of `run`. May be repeated. Default: the suite's; with Spack, all of the system's.",
)
@click.option(
    "--benchmark", "benchmarks", multiple=True, help="As of `run`: other benchmarks are built for it. May be repeated."
)
@click.option("--spack", type=click.Path(path_type=Path), help="The Spack to use from now on: a folder with bin/spack.")
@click.option("--packages", type=click.Path(path_type=Path), help="A clone of Spack's packages to use from now on.")
@click.option("--clone", is_flag=True, help="Clone Spack and its packages into this clone, and use them.")
@click.option("--lock", type=click.Path(path_type=Path, dir_okay=False), help="A run's spack.lock: build just that.")
@click.option("--fresh", is_flag=True, help="Concretize anew, and try again what could not be built.")
@environment_option
def setup(
    spack: Path | None, packages: Path | None, lock: Path | None, *, clone: bool, fresh: bool, **asked: Any
) -> int:
    """Fetch or build MPI libraries and the benchmarks; measure nothing.

    On a login node with a network, so that `run` needs none. With --provider spack it says what it will build first.
    """
    from mpi_campaign.commands import prepare  # noqa: PLC0415

    asked |= {name: tuple(dict.fromkeys(asked[name])) for name in ("toolchains", "benchmarks")}
    asked["environment"] = environ.resolved(asked["environment"])
    spack_setup = prepare.SpackSetup(spack, packages, lock, clone=clone, fresh=fresh)
    return prepare.setup(asked, spack_setup, ["./campaign", *sys.argv[1:]])


@campaign.command()
@click.argument("runs", nargs=-1, required=True)
@output_option
def baseline(runs: tuple[str, ...], output: Path) -> int:
    """Make the references of a system from RUNS: what later runs are held against.

    Writes systems/SYSTEM/references.yaml, which ReFrame's tests read. Nothing oversubscribed, unreliable or incomplete
    becomes a reference, and nothing that fewer than three runs have.
    """
    from mpi_campaign.verdicts import baseline as making  # noqa: PLC0415

    folders = list(dict.fromkeys(run_folders.find(run, output.resolve()) for run in runs))
    made = making.make(folders)
    written = making.write(folders[0].system, made)
    for line in made.left_out:
        print(f"left out: {line}")
    print(f"{made.references} references from {len(folders)} runs: {written}")
    return EXIT_GOOD


@campaign.command()
@click.argument("side", default="")
@click.option("--metric", "metrics", multiple=True, help="As of `compare`. May be repeated.")
@limits_options(Limits(rate=HISTORY_RATE))
@click.option("--json", "as_json", is_flag=True, help="One object, for programs.")
@click.option("--acknowledge", "names", multiple=True, metavar="ALARM", help="Keep an alarm quiet. May be repeated.")
@click.option("--because", default="", help="Why the alarm is acknowledged; is stored with it.")
@click.option("--html", type=Kept(dir_okay=False), help="Write a page with plots too.")
@output_option
def history(
    side: str, output: Path, names: tuple[str, ...], because: str, html: Path | None, *, as_json: bool, **asked: Any
) -> int:
    """Since when is a case slower or silent, and why? Over all runs, or those of a SIDE as of `compare`.

    It takes twelve nights with one set of sizes (`run --sizes-of RUN`). Exit code 1: an alarm that nobody acknowledged.
    With --acknowledge, the named alarms are kept quiet, and nothing else is done.
    """
    from mpi_campaign.verdicts import alarms, comparing  # noqa: PLC0415

    root = output.resolve()
    if bool(names) != bool(because):
        raise CampaignError("--acknowledge ALARM --because TEXT: one needs the other")
    if names and (as_json or html):
        raise CampaignError("--acknowledge shows nothing: leave out --json and --html")
    metrics = asked.pop("metrics")
    request = alarms.HistoryRequest(side, metrics, comparing.limits(**asked))
    if names:
        for line in alarms.acknowledge(names, because, request, root):
            print(f"acknowledged: {line}")
        return EXIT_GOOD
    return alarms.run(request, root, html, as_json=as_json)


@campaign.group()
def results() -> None:
    """The archive: list and verify its runs, export and import runs, delete old ones."""


@results.command("list")
@click.option("--json", "as_json", is_flag=True, help="A list of objects, for programs.")
@output_option
def results_list(output: Path, *, as_json: bool) -> int:
    """List every run: system, suite, whether it is complete, toolchains, cases that passed, size."""
    from mpi_campaign.archive import store  # noqa: PLC0415

    entries = store.entries(output.resolve())
    print(store.list_json(entries) if as_json else store.list_text(entries))
    return EXIT_GOOD


@results.command("verify")
@click.argument("runs", nargs=-1)
@output_option
def results_verify(runs: tuple[str, ...], output: Path) -> int:
    """Check that RUNS (default: all complete ones) are as they were archived, by checksums and by record schemas.

    Exit code 1: a run is not. Copies, clocks that were set back and systems of several machines are named too.
    """
    from mpi_campaign.archive import consistency, store  # noqa: PLC0415
    from mpi_campaign.processes.progress import Progress  # noqa: PLC0415

    root = output.resolve()
    folders = [run_folders.find(run, root) for run in runs] or [
        run for run in run_folders.runs(root) if run.is_complete
    ]
    bad = 0
    progress = Progress(len(folders))
    for number, folder in enumerate(folders, 1):
        name = f"{folder.system}/{folder.run}, {number} of {len(folders)}"

        def tell(done: int, of: int, name: str = name) -> None:
            progress.status(f"{name}: {done} of {of} records")

        faults = list(store.faults(folder, tell))
        progress.status("")
        bad += bool(faults)
        print(f"{'FAULT' if faults else 'good '} {folder.system}/{folder.run}")
        for fault in faults:
            print(f"      {fault}")
    for remark in consistency.together(folders)[1]:
        print(f"NOTE  {remark}")
    print(f"{len(folders) - bad} of {len(folders)} runs are what was archived")
    return EXIT_FAILED if bad else EXIT_GOOD


@results.command("export")
@click.argument("run")
@click.option("-o", "target", type=Kept(dir_okay=False), help="Default: RUN.tar.xz here.")
@click.option(
    "--public", is_flag=True, help="Names of hosts, users and folders are replaced; default: RUN.public.tar.xz here."
)
@output_option
def results_export(run: str, target: Path | None, output: Path, *, public: bool) -> int:
    """Pack RUN into one file, for `results import` on another machine.

    A public copy says in its manifest which kinds of names were replaced, and which files were left out of it.
    """
    from mpi_campaign.archive import packs, store  # noqa: PLC0415

    folder = run_folders.find(run, output.resolve())
    usual = f"{folder.run}{'.public' * public}{packs.ENDING}"
    print(store.export(folder, (target or Path(usual)).absolute(), public=public))
    return EXIT_GOOD


@results.command("import")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--system", default="", help="Keep the runs under this name of a system. Default: their own.")
@output_option
def results_import(sources: tuple[Path, ...], system: str, output: Path) -> int:
    """Take runs of another machine into the archive: files of `results export`, runs' folders, another archive's.

    They are verified first. Nothing of them is executed, nothing in the archive is overwritten. A run that is refused
    does not keep others out.
    """
    from mpi_campaign.archive import store  # noqa: PLC0415

    root = output.resolve()
    refused = 0
    for source in (source_ for given in sources for source_ in store.sources_of(given, root)):
        try:
            folder, new = store.take_in(source, root, system)
            print(f"{'imported' if new else 'was there already'}: {folder.path}", flush=True)
        except CampaignError as error:
            refused += 1
            print(f"campaign: {error}", file=sys.stderr)
    return EXIT_WRONG_USE if refused else EXIT_GOOD


@results.command("prune")
@click.option("--system", default="", help="Delete only runs of this system.")
@click.option("--keep", type=click.IntRange(min=0), help="Keep the newest N runs of each system.", metavar="N")
@click.option(
    "--older-than-days",
    "days",
    type=click.FloatRange(0, 36500),
    metavar="DAYS",
    help="Delete only runs older than DAYS.",
)
@click.option("--partial", is_flag=True, help="Delete runs that were never completed, not complete ones.")
@click.option("--yes", is_flag=True, help="Delete the runs. Without --yes they are only listed.")
@output_option
def results_prune(output: Path, system: str, keep: int | None, days: float | None, *, partial: bool, yes: bool) -> int:
    """Delete old runs. Runs that references were made from stay, and runs whose sizes a run that stays took over."""
    from mpi_campaign.archive import store  # noqa: PLC0415

    if days is not None and math.isnan(days):
        raise CampaignError("--older-than-days nan: give a number of days")
    if keep is None and days is None:
        raise CampaignError("which ones? --keep N keeps the newest N of each system, --older-than-days DAYS newer ones")
    old = store.old_runs(output.resolve(), system, keep, days, partial=partial)
    for folder in old:
        stays = f" (a link: {folder.path.resolve()} stays)" if folder.path.is_symlink() else ""
        print(f"{'deleting' if yes else 'would delete'} {folder.system}/{folder.run}{stays}")
    if yes:
        store.throw_away(old)
    elif old:
        print(f"{plural(len(old), 'run')}; nothing was deleted: add --yes")
    if not old:
        print("there is nothing to delete")
    return EXIT_GOOD


@campaign.group()
def systems() -> None:
    """Descriptions of machines, in systems/."""


@systems.command("init")
@click.argument("name")
@click.option("--force", is_flag=True, help="Write over a description that is there.")
@click.option("--scheduler", default="", help="ReFrame's name of the batch system (./campaign list). Default: look.")
@click.option(
    "--launcher",
    type=click.Choice(["mpiexec", "srun"]),
    default="mpiexec",
    show_default=True,
    help="What starts ranks in jobs of Slurm: the MPI library's own launcher, or Slurm's.",
)
def systems_init(name: str, *, force: bool, scheduler: str, launcher: str) -> int:
    """Write systems/NAME: for Slurm, its partitions and nodes; for another batch system, a template to complete.

    Without a batch system: for this machine, its cores, its MPI libraries, what Spack finds installed.
    """
    from mpi_campaign.processes.progress import Progress  # noqa: PLC0415
    from mpi_campaign.systems import new_system  # noqa: PLC0415

    print(new_system.write(name, force=force, say=Progress(0).line, scheduler=scheduler, launcher=launcher))
    return EXIT_GOOD


@systems.command("check")
@click.argument("name")
@click.option("--partition", default="", help="Default: the first one.")
@click.option("--nodes", type=click.IntRange(min=1), help="Default: 2, or 1 where there is one.")
@job_options(PROBE_LIMIT)
@click.option("--json", "as_json", is_flag=True, help="One object, for programs.")
def systems_check(name: str, partition: str, nodes: int | None, *, as_json: bool, **asked: Any) -> int:
    """What a job on system NAME really gets: a probe job of a minute. Exit code 1: not what the settings say."""
    from mpi_campaign.this_machine import findings  # noqa: PLC0415

    probe = _probe(name, partition, nodes, asked)
    if as_json:
        print(json.dumps(probe.as_json(), indent=1))
    else:
        print(findings.as_text([*probe.findings(), *probe.of_nodes()]))
    return int(probe.exit_code)


def _probe(system: str, partition: str, nodes: int | None, asked: dict[str, Any]) -> Any:
    """The probe job on a system. asked: of `job_options`."""
    from mpi_campaign.planning.options import Options  # noqa: PLC0415
    from mpi_campaign.processes.progress import Progress  # noqa: PLC0415
    from mpi_campaign.running import probing  # noqa: PLC0415
    from mpi_campaign.systems import known_systems  # noqa: PLC0415

    if system not in (known := known_systems.available()):
        raise CampaignError(f"there is no system '{system}'; there are: {', '.join(known)}")
    progress = Progress(0, sys.stderr)
    options = Options(system=system, partition=partition, **asked)
    return probing.probe(options, nodes or 0, progress.line, progress.status)


@campaign.command()
@click.argument("run")
@click.option("-o", "target", type=Kept(dir_okay=False), help="Where to write the HTML file.")
@click.option(
    "--maps",
    type=Kept(file_okay=False),
    help="Folder of the maps as pictures. Default: `maps` beside the run's report, `NAME-maps` beside NAME.html of -o.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="Draw r_overhead, r_overhead_vs_basic, r_comm, r_comp_slowdown or speedup_vs_basic_per_work. May be repeated. "
    "Default: all but the last.",
)
@click.option(
    "--palette", default="paper", show_default=True, help="paper: blue, green, yellow, red; safe: for the colour-blind."
)
@click.option("--dim", is_flag=True, help="Fade cells whose two times differ by orders of magnitude.")
@click.option("--format", "formats", metavar="LIST", default="svg,png", show_default=True, help="Of svg, png, pdf.")
@output_option
def report(run: str, output: Path, target: Path | None, maps: Path | None, *, dim: bool, **asked: Any) -> int:
    """Write the report of RUN again, and its maps as pictures.

    Exit code 1: a record cannot be read, or is not what was archived. A line names it.
    """
    folder = run_folders.readable(run, output.resolve())
    from mpi_campaign.archive import rendering  # noqa: PLC0415

    kinds = tuple(dict.fromkeys(asked["formats"].split(",")))
    look = rendering.look(asked["palette"], tuple(dict.fromkeys(asked["metrics"])), kinds, dim=dim)
    loaded = rendering.load(folder)
    written = rendering.write_report(folder, loaded, target and target.absolute(), maps and maps.absolute(), look)
    print(f"report: {written}")
    _complain(problems := rendering.problems(folder, loaded))
    return _code(folder, problems)


@campaign.command()
@click.option("--json", "as_json", is_flag=True, help="One object, for programs.")
@click.option("--no-timing", is_flag=True, help="Only look; measure nothing.")
@toolchain_option
@click.option("--system", default="", help="Look at nodes of this system, by a short job; measure nothing.")
@click.option("--partition", default="", help="Of that system. Default: the first one.")
@click.option("--nodes", type=click.IntRange(min=1), help="Nodes to look at. Default: 2, or 1 where there is one.")
@job_options(PROBE_LIMIT)
@click.option(
    "--launches",
    type=click.IntRange(min=1, max=1000),
    default=10,
    show_default=True,
    help="How often the same work is launched, to see how launches differ.",
)
def doctor(
    toolchain: str | None,
    launches: int,
    system: str,
    partition: str,
    nodes: int | None,
    *,
    as_json: bool,
    no_timing: bool,
    **asked: Any,
) -> int:
    """What this machine lacks, what disturbs it, and whether it can support conclusions.

    Takes about a minute and a half, in which nothing else should run; with --no-timing, seconds. With --system it is
    about nodes of a system: a line for each node, and what disturbs it.
    """
    if system:
        if wrong := [
            f"--{name.replace('_', '-')}" for name in ("toolchain", "launches", "no_timing") if was_given(name)
        ]:
            raise CampaignError(f"--system measures nothing on the nodes: leave out {', '.join(wrong)}")
        return _doctor_of_nodes(_probe(system, partition, nodes, asked), as_json=as_json)
    if wrong := [name for name in ("partition", "nodes", *asked) if was_given(name)]:
        raise CampaignError(f"{', '.join(wrong)}: of jobs, add --system NAME")
    if no_timing and was_given("launches"):
        raise CampaignError("--launches says how often to measure, --no-timing to measure nothing: leave out one")
    from mpi_campaign.doctor import examination  # noqa: PLC0415
    from mpi_campaign.doctor.selfcheck import STEPS, Selfcheck, refuse_unknown  # noqa: PLC0415
    from mpi_campaign.processes.progress import Progress  # noqa: PLC0415
    from mpi_campaign.toolchains import resolving  # noqa: PLC0415

    spec = resolving.parse(toolchain or resolving.DEFAULT_TOOLCHAINS[0])
    refuse_unknown(spec)
    check = None if no_timing else Selfcheck(spec, launches, Progress(STEPS, sys.stderr))
    examined = examination.examine(check)
    print(json.dumps(examined.as_json(), indent=1) if as_json else examined.as_text())
    return EXIT_INTERRUPTED if examined.interrupted else EXIT_GOOD


def _doctor_of_nodes(probe: Any, *, as_json: bool) -> int:
    """Print what a probe job has found on nodes. Returns the exit code."""
    from mpi_campaign.this_machine import findings  # noqa: PLC0415

    if as_json:
        print(json.dumps({**probe.as_json(), "disturbances": [vars(one) for one in probe.disturbances()]}, indent=1))
    else:
        print(findings.as_text([*probe.findings(), *probe.of_nodes(), *probe.disturbances()]))
    return int(probe.exit_code)


@campaign.command()
@click.option(
    "--out",
    type=Kept(file_okay=False),
    help="A new or an empty folder; `docs` writes docs/measurement.md anew. Default: a new one under .campaign/.",
)
@toolchain_option
@click.option("--quick", is_flag=True, help="Half a minute: fewer launches, two target times, clocks held for 2 s.")
def figures(out: Path | None, toolchain: str | None, *, quick: bool) -> int:
    """How well this project measures here: starts, clocks, stop rules, launches, as tables and pictures.

    Takes about six minutes, in which nothing else should run.
    """
    from mpi_campaign.doctor import measuring_precision  # noqa: PLC0415
    from mpi_campaign.toolchains import resolving  # noqa: PLC0415

    spec = resolving.parse(toolchain or resolving.DEFAULT_TOOLCHAINS[0])
    plan = measuring_precision.QUICK if quick else measuring_precision.WHOLE
    return measuring_precision.Run(plan, spec, out, ["./campaign", *sys.argv[1:]])()


@campaign.command()
@click.option("--nodes", "count", type=int, required=True, help="Nodes beside the head node: 1 to 64.")
@click.option("--rate", help="Of each node's link in each direction, e.g. 2gbit. Default: not limited.")
@click.option("--slurm", "with_slurm", is_flag=True, help="Slurm on the nodes, in a partition `cpu`.")
@click.option("--accounting", "with_accounting", is_flag=True, help="Slurm with accounting: slurmdbd and MariaDB.")
@click.argument("words", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def cluster(count: int, rate: str | None, words: tuple[str, ...], *, with_slurm: bool, with_accounting: bool) -> None:
    """A cluster in a box for as long as COMMAND, by default your shell, runs.

    Its nodes are namespaces of this machine, with networks, host names, clocks, /dev/shm, /tmp and /run of their own.
    COMMAND runs on the head node, node0; its exit code is the command's. docs/cluster.md says what this cannot show.
    """
    from mpi_campaign.launching import cluster as box  # noqa: PLC0415

    box.become(count, rate, words, with_slurm=with_slurm, with_accounting=with_accounting)


@campaign.command(context_settings={"ignore_unknown_options": True})
@click.option("--quick", is_flag=True, help="Leave out what launches MPI or a browser.")
@click.option("--all", "rare", is_flag=True, help="Also what is slow and rarely fails: for a nightly run.")
@click.option(
    "--require",
    default="",
    metavar="LIST",
    help=f"Parts that must be here, by comma ({', '.join(testing.PARTS)}): lacking one fails.",
)
@click.argument("pytest_options", nargs=-1, type=click.UNPROCESSED)
def test(require: str, pytest_options: tuple[str, ...], *, quick: bool, rare: bool) -> int:
    """The test suite. What this machine lacks is skipped by name."""
    if quick and rare:
        raise CampaignError("--quick leaves out what is slow, --all adds what is slower: give one of them")
    return testing.run(quick=quick, rare=rare, require=require, pytest_options=pytest_options)
