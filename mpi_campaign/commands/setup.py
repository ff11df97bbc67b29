"""The command `setup`: fetch or build toolchains and benchmarks before anything is measured."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mpi_campaign.archive import run_folders
from mpi_campaign.children import environ
from mpi_campaign.commands.options import environment_option
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.checks import check
from mpi_campaign.planning.options import Options, benchmarks_of
from mpi_campaign.running.run import Campaign
from mpi_campaign.toolchains import peers, resolving
from mpi_campaign.toolchains.spack import installed, provider, tool


@dataclass(frozen=True)
class SpackSetup:
    """Options that concern Spack alone: its folder, its packages, the lock."""

    spack: Path | None
    packages: Path | None
    lock: Path | None
    clone: bool
    fresh: bool


@click.command("setup")
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
def command(**asked: Any) -> int:
    """Fetch or build MPI libraries and the benchmarks; measure nothing.

    On a login node with a network, so that `run` needs none. With --provider spack it says what it will build first.
    """
    asked |= {name: tuple(dict.fromkeys(asked[name])) for name in ("toolchains", "benchmarks")}
    asked["environment"] = environ.resolved(asked["environment"])
    of_spack = SpackSetup(**{name: asked.pop(name) for name in ("spack", "packages", "lock", "clone", "fresh")})
    options = Options(**asked)
    if options.provider != "spack" and (given := [name for name, value in vars(of_spack).items() if value]):
        raise CampaignError(f"--{given[0]} is for --provider spack")
    if of_spack.lock is not None and len(options.toolchains) != 1:
        raise CampaignError("--lock is of one toolchain: say of which with one --toolchain")
    if of_spack.lock is not None and of_spack.fresh:
        raise CampaignError("--fresh makes a lock anew, --lock takes one as it is: give one of them")
    if options.provider == "spack":
        check(options)
        with resolving.locked(print):
            tool.remember(spack=of_spack.spack, packages=of_spack.packages)
            if of_spack.clone or not tool.is_there():
                tool.clone(print)
                tool.remember(spack=of_spack.spack, packages=of_spack.packages)  # what was given stays
            _prepare(options, of_spack)
    return Campaign(options, run_folders.RESULTS, ["./campaign", *sys.argv[1:]]).build()


def _prepare(options: Options, of_spack: SpackSetup) -> None:
    """Forget what will be made anew or tried again, and put a given lock in place."""
    beside = peers.packages_of(list(benchmarks_of(options)))
    if of_spack.lock is not None:
        (name,) = options.toolchains
        provider.of_lock(name, options.system, beside).take(of_spack.lock, tool.find())
    if of_spack.fresh:
        for environment in provider.wanted(options.toolchains, options.system, beside):
            environment.forget()
        installed.forget_failed()
