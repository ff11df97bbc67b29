"""`campaign setup`: fetch or build toolchains and benchmarks before anything is measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi_campaign.archive import run_folders
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

    @property
    def given(self) -> list[str]:
        """The options that were given, as they are typed."""
        return [f"--{name}" for name, value in vars(self).items() if value]


def setup(asked: Mapping[str, Any], spack_setup: SpackSetup, words: list[str]) -> int:
    """Returns the exit code. asked: fields of Options. Raises CampaignError where nothing can be built."""
    options = Options(**asked)
    if options.provider != "spack" and spack_setup.given:
        raise CampaignError(f"{spack_setup.given[0]} is for --provider spack")
    if spack_setup.lock is not None and len(options.toolchains) != 1:
        raise CampaignError("--lock is of one toolchain: say of which with one --toolchain")
    if spack_setup.lock is not None and spack_setup.fresh:
        raise CampaignError("--fresh makes a lock anew, --lock takes one as it is: give one of them")
    if options.provider == "spack":
        check(options)
        with resolving.locked(print):
            tool.remember(spack=spack_setup.spack, packages=spack_setup.packages)
            if spack_setup.clone or not tool.is_there():
                tool.clone(print)
                tool.remember(spack=spack_setup.spack, packages=spack_setup.packages)  # what was given stays
            _prepare(options, spack_setup)
    return Campaign(options, run_folders.RESULTS, words).build()


def _prepare(options: Options, spack_setup: SpackSetup) -> None:
    """Forget what will be made anew or tried again, and put a given lock in place."""
    beside = peers.packages_of(list(benchmarks_of(options)))
    if spack_setup.lock is not None:
        (name,) = options.toolchains
        provider.of_lock(name, options.system, beside).take(spack_setup.lock, tool.find())
    if spack_setup.fresh:
        for environment in provider.wanted(options.toolchains, options.system, beside):
            environment.forget()
        installed.forget_failed()
