"""The commands about machines: `systems`, `doctor`, `figures`, `cluster`."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from mpi_campaign.commands.options import Kept, job_options, json_option, toolchain_option, was_given
from mpi_campaign.errors import EXIT_GOOD, EXIT_INTERRUPTED, CampaignError

PROBE_LIMIT = "5 minutes"
"""The usual time limit of a probe job, in minutes: `probing.LIMIT_SECONDS`, which is not imported for a help."""


@click.group()
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
@json_option(help="One object, for programs.")
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

    if system not in (systems := known_systems.available()):
        raise CampaignError(f"there is no system '{system}'; there are: {', '.join(systems)}")
    progress = Progress(0, sys.stderr)
    options = Options(system=system, partition=partition, **asked)
    return probing.probe(options, nodes or 0, progress.line, progress.status)


@click.command()
@json_option(help="One object, for programs.")
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
        print(
            json.dumps(
                {**probe.as_json(), "disturbances": [vars(finding) for finding in probe.disturbances()]}, indent=1
            )
        )
    else:
        print(findings.as_text([*probe.findings(), *probe.of_nodes(), *probe.disturbances()]))
    return int(probe.exit_code)


@click.command()
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


@click.command()
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
